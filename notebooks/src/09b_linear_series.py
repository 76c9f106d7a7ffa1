# %% [markdown]
# # 9b · Linear series: how much of tomorrow is in today?
#
# A network reads twenty daily closes of the S&P 500 and forecasts the next one. On six years that it never saw, its $R^2$ is 0.998, where 1 is perfect. Would you trade on it? The first section shows why you shouldn't. The others ask what lies behind it: how much of tomorrow *is* in today, and how sure can we be?
#
# **Afterwards you can** see through a good forecast of a price, fit an autoregression, walk forward through a series, put an error bar on "better", and write a Kalman filter in three lines.
#
# **Before**: lessons 1 (how much context a text needs), 2b (the error of a difference), 6 (attention) and 7 (baselines).
#
# **Runs in** {runs_in}. **Study time** {study}.
#
# **Sources**: Yule (1927) for the autoregression, Kalman (1960) for the filter, Diebold and Mariano (1995) and Clark and West (2007) for the errors of differences. Data: S&P 500 from the package `arch`; US national accounts from `statsmodels`.

# %% tags=["setup", "machine"]
from functools import partial

import matplotlib.pyplot as plt
import torch
from torch import nn
from torch.nn import functional as F
from torch.testing import assert_close

from coursekit import data
from coursekit.evaluate.likelihood import compare_losses
from coursekit.notebook import claim, compare_guess, figure
from coursekit.notebook import keep_sample, scoreboard, setup

_ = setup("09b_linear_series", seed=42)

# %% [markdown]
# ## 9b.1 An $R^2$ of 0.998
#
# We take the closes of 5,031 days as logarithms, so that a difference is a **return**: for small moves, the relative change from one close to the next. A window holds twenty closes and the one that follows.
#
# The network sees each close relative to the latest and forecasts the return $r$ that comes next. Its forecast of the *price* is the latest close times $e^r$. So we have handed it the last close; a network trained on prices finds that one out by itself.

# %%
days, closes = data.sp500()
logs = torch.tensor(closes, dtype=torch.float64).log()
windows = logs.unfold(0, 21, 1)  # 20 days, and the day after
history = windows[:, :20] - windows[:, 19:20]  # relative to the latest close
target = windows[:, 20] - windows[:, 19]  # the return that comes next
year = torch.tensor([day.year for day in days[20:]])  # of that return


# %% [markdown]
# `nn.RNN` is PyTorch's network that reads a series step by step (lesson 9c opens it up). Here it is a black box with 16 hidden units. It learns from the days before a certain year, and its scale comes from those days alone.


# %%
class OurReader(nn.Module):
    def __init__(self):
        super().__init__()
        self.read = nn.RNN(1, 16, batch_first=True)
        self.output = nn.Linear(16, 1)

    def forward(self, x):  # (B, 20) → (B,)
        steps, _ = self.read(x[..., None])
        return self.output(steps[:, -1])[:, 0]


# %%
from coursekit.training.fit import fit
from coursekit.training.optimiser import adamw


def forecast_with(make, first, last, lr=0.001, seed=42, steps=400):
    torch.manual_seed(seed)
    model, scale = make(), target[:first].std()
    x = (history / (4 * scale)).float()  # √20 ≈ 4: over 20 days a price strays about so far
    y = (target / scale).float()
    g = torch.Generator().manual_seed(seed)
    picks = (torch.randint(first, (64,), generator=g) for _ in range(steps))
    batches = ((x[rows], y[rows]) for rows in picks)
    fit(model, adamw(model, lr), batches, steps=steps, loss=F.mse_loss)
    with torch.no_grad():
        return model(x[first:last]).double() * scale


# %% tags=["nbval-ignore-output"]
def row_of(first_year):  # the first window whose forecast is for that year
    return int((year < first_year).sum())


cut = row_of(2013)
forecast = forecast_with(OurReader, cut, len(target))
today, tomorrow = windows[cut:, 19].exp(), windows[cut:, 20].exp()  # in index points
forecast_price = today * forecast.exp()


def r_squared(target, forecast, rival):
    return 1 - (target - forecast).square().mean() / (target - rival).square().mean()


# %% [markdown]
# $R^2 = 1 - \text{mean squared error} / \text{that of a rival}$, and the usual rival is the mean of the targets: 1 is perfect, 0 no better than that mean.
#
# **Predict.** What is the $R^2$ of the forecast "tomorrow's close is today's"?

# %% tags=["predict"]
guess = None  # such as 0.5

# %% tags=["nbval-ignore-output"]
of_last = r_squared(tomorrow, today, tomorrow.mean())
compare_guess(guess, of_last.item())
claim(last_close_r2=of_last, price_r2=r_squared(tomorrow, forecast_price, tomorrow.mean()))
claim(return_r2=r_squared(target[cut:], forecast, target[:cut].mean()))

# %% tags=["figure", "folded", "nbval-ignore-output"]
above, left, right = plt.subplot_mosaic("AA;BC", figsize=(9, 6.5))[1].values()
dates, arrow = days[20 + cut :], {"arrowstyle": "->", "color": "0.4"}
above.plot(dates, tomorrow, color="0.7", linewidth=5)
above.plot(dates, forecast_price, color="C1", linewidth=1)
above.set(ylabel="S&P 500", title="Six unseen years: the forecast hugs the close (grey) …")
left.plot(tomorrow[1270:1300], color="0.7", linewidth=5)
left.plot(forecast_price[1270:1300], color="C1", marker="o", markersize=3)
left.annotate("one day", (15, 2590), (18, 2580), arrowprops=arrow)
left.set(title="… is the last close, a day late …", xlabel="day of trading", ylabel="S&P 500")
right.plot(100 * forecast, 100 * target[cut:], ".", color="C1", markersize=3)
right.axline((0, 0), (1, 1), color="0.4", linestyle=":")
right.set(xlim=(-2, 2), xlabel="forecast return (%); dotted: if it knew", ylabel="return (%)")
right.set_title("… and of the change it knows nothing")
figure("late", alt="Forecast over close for six years; thirty days, one late; a shapeless cloud.")

# %% [markdown]
# The last close scores 0.998, too. Why so high? Because the rival is hopeless: the *mean of those six years*, which nobody could have known in 2013, and from which the index strays by hundreds of points.
#
# So change two things. Forecast the return, not the price: nobody is paid for knowing where the index stands. And take a rival that could have been used: the **mean of the past**, here of the returns before 2013. That is the **out-of-sample $R^2$** (Campbell and Thompson 2008). The network's is 0.000, and with five other seeds it is negative.
#
# **Ask of every forecast: what is left if you take away the last value?** The rest of this lesson is about what is left.
#
# ## 9b.2 Order two: a pendulum that is pelted with peas
#
# Now a series in which there *is* something to know. Yule (1927) thought of a pendulum that boys pelt with peas: it swings, and is pushed at random.
#
# $$x_t = c + a_1 x_{t-1} + a_2 x_{t-2} + e_t, \qquad e_t \sim \mathcal N(0, \sigma^2)$$
#
# This is an **autoregression** of **order** 2, or AR(2). Given the last two values, everything older says nothing more. It is lesson 1's table with two symbols of context, where three numbers take the place of the rows.

# %%
truth = torch.tensor([0.25, 1.5, -0.75], dtype=torch.float64)  # c, a₁, a₂; σ = 1
c, a1, a2 = truth.tolist()
peas = torch.randn(20_000, generator=torch.Generator().manual_seed(42)).tolist()
swing = [1.0, 1.0]
for pea in peas:
    swing.append(c + a1 * swing[-1] + a2 * swing[-2] + pea)
swing = torch.tensor(swing, dtype=torch.float64)

# %% tags=["figure", "folded"]
known = c + a1 * swing[1:-1] + a2 * swing[:-2]  # of each value, before its pea
shown, ax = slice(100, 180), plt.subplots(figsize=(9, 3.4))[1]
ax.vlines(range(80), known[shown], swing[2:][shown], color="C1")
ax.plot(swing[2:][shown], "o", color="0.5", markersize=4)
ax.plot(known[shown], color="C0")
ax.set(xlabel="step", ylabel="$x_t$")
ax.text(2.6, 5.3, "what comes", color="0.4")
ax.text(17, -2.4, "what is foretold", color="C0")
ax.annotate("the pea", (28, 4.1), (22, 5.4), color="C1", arrowprops=arrow)
ax.set_title("Two values foretell the next one, up to a pea")
figure("pendulum", alt="A swinging series, the value two steps foretell, and a small miss at each.")

# %% [markdown]
# How do we find the three numbers from the series? By **least squares**: $c$, $a_1$ and $a_2$ for which the sum of the squared errors is smallest. Linear algebra has a formula for that.

# %%
from coursekit.models.baselines import fit_ar, forecast_ar

lags = torch.stack([torch.ones(20_000), swing[1:-1], swing[:-2]], 1)  # 1, x_{t-1}, x_{t-2}
by_squares = torch.linalg.solve(lags.T @ lags, lags.T @ swing[2:])
print("least squares", by_squares)
assert_close(fit_ar(swing, 2), by_squares, rtol=1e-8, atol=1e-8)  # the library's
claim(ar_off_truth=(by_squares - truth).abs().max())

# %% [markdown]
# With normal noise that *is* maximum likelihood: lesson 1's loss is lowest where the squares are, and [gradient descent ends at the same point](../tests/test_linear_series.py). The estimates miss the truth by 0.012 at most. With 20,000 values the standard errors are 0.0075 for $c$ and 0.0047 for $a_1$ and $a_2$.
#
# ## 9b.3 Growth, one quarter ahead
#
# We forecast the growth of the real gross domestic product of the United States, in per cent a year. The figures are as revised up to 2009; a forecaster of 1985 had others.
#
# We **walk forward**: for each quarter from 1985 on, fit to all quarters before it, forecast one step, move on. Nothing of the future leaks in. Our model is an AR(2). The rivals are the mean of the past, and the last value. The score is the RMSE, the root of the mean squared error.

# %%
gdp = data.us_gdp()
growth = 400 * gdp.values[:, 0].log().diff()  # per cent a year
quarters = gdp.times[1:]
start = next(t for t, quarter in enumerate(quarters) if quarter.year == 1985)


def our_walk(forecast, series):
    return torch.stack([forecast(series[:t]) for t in range(start, len(series))])


def ar_2(past):
    return forecast_ar(past, fit_ar(past, 2))[-1]


forecasts = {
    "mean of the past": our_walk(lambda past: past.mean(), growth),
    "last value": our_walk(lambda past: past[-1], growth),
    "AR(2)": our_walk(ar_2, growth),
}

# %%
from coursekit.evaluate.forecasts import walk_forward

assert_close(forecasts["AR(2)"], walk_forward(ar_2, growth, start))
actual = growth[start:]
squared = {name: (actual - one).square() for name, one in forecasts.items()}
rmse = {name: each.mean().sqrt() for name, each in squared.items()}  # root mean squared error
claim(growth_mean_rmse=rmse["mean of the past"], growth_last_value_rmse=rmse["last value"])
growth_r2 = r_squared(actual, forecasts["AR(2)"], forecasts["mean of the past"])
claim(growth_ar2_rmse=rmse["AR(2)"], growth_ar2_r2=growth_r2)

# %% tags=["figure", "folded"]
above, below = plt.subplots(2, 1, figsize=(9, 6), sharex=True, height_ratios=[2, 1])[1]
above.plot(quarters, growth, color="0.7", linewidth=1.2)
above.plot(quarters[start:], forecasts["mean of the past"], color="C2")
above.plot(quarters[start:], forecasts["AR(2)"], color="C0")
above.axvline(quarters[start], color="0.3", linestyle=":", linewidth=1)
above.text(quarters[start + 2], -7.5, "forecast from here on, one by one")
above.text(quarters[125], 8.5, "mean of the past", color="C2")
above.annotate("AR(2)", (quarters[128], 1.1), (quarters[133], -3.5), color="C0", arrowprops=arrow)
above.set(ylabel="growth of GDP (% a year)", title="An AR(2) follows the economy, at a distance …")
below.plot(quarters[start:], (squared["mean of the past"] - squared["AR(2)"]).cumsum(0), "C0")
below.text(quarters[10], 60, "squared error saved so far,\nmean of the past − AR(2)", color="C0")
below.set(ylabel="(% a year)²", title="… and its lead was won in two recessions")
figure("growth", alt="Growth since 1959, damped forecasts; below, a lead that jumps twice.")

# %% [markdown]
# The AR(2) saves 23 % of the mean's squared error. The last value does worse than the mean: a quarter's noise, repeated, is noise twice.
#
# Is 23 % more than luck? Both forecasts face the same quarters, and fail together when a crisis comes. So don't compare two averages, each with an error of its own. Take the difference *quarter by quarter*, $d_t = e^2_{t,\text{mean}} - e^2_{t,\text{AR}}$, and the standard error of its mean $\bar d$. With $n$ quarters that don't depend on each other it is
#
# $$\sqrt{\gamma_0 / n}, \qquad \gamma_0 = \frac1n \sum_t (d_t - \bar d)^2$$
#
# But bad quarters come in a row, so 99 quarters tell less than 99 independent ones. What neighbours have in common is added (Newey and West 1987). With a memory of $L$ quarters:
#
# $$\sqrt{\Big(\gamma_0 + 2 \sum_{k=1}^{L} \big(1 - \tfrac{k}{L+1}\big)\, \gamma_k\Big) \Big/ n}, \qquad \gamma_k = \frac1n \sum_{t > k} (d_t - \bar d)(d_{t-k} - \bar d)$$
#
# Textbooks advise an $L$ of about $\tfrac34 n^{1/3}$: 4 for 99 quarters, 10 for the days of section 9b.5. The ratio of $\bar d$ to this error is the test of Diebold and Mariano (1995). Beyond 2, chance is an unlikely explanation.

# %% [markdown] tags=["exercise"]
# > **Exercise 9b.1 (build, 20 minutes).** Put the error bar on "better" yourself, in two steps.
# >
# > **Warm-up (5 minutes).** `paired_error(first, second)` takes the squared errors of two forecasts, two tensors of shape (n,), and returns the first formula, a number. Divide by n, not by n − 1.
# >
# > **Build (15 minutes).** `careful_error(first, second, lags)` returns the second formula, with L = `lags`, which may be 0.
# >
# > <details><summary>Hint 1</summary>For n quarters, <code>centred = d - d.mean()</code>. The pairs of quarters k apart are <code>centred[k:]</code> and <code>centred[:-k]</code>; k begins with 1.</details>
# > <details><summary>Hint 2</summary>Each γ is a sum over pairs divided by n, also where there are only n − k pairs.</details>


# %% tags=["stub"]
def paired_error(first, second): ...  # a number


# %% tags=["check"]
from coursekit.exercises import linear_series

linear_series.check_paired_error(paired_error)


# %% tags=["solution"]
def paired_error(first, second):
    difference = first - second
    return difference.std(correction=0) / len(difference) ** 0.5


# %% tags=["stub"]
def careful_error(first, second, lags): ...  # a number


# %% tags=["check"]
linear_series.check_careful_error(careful_error)


# %% tags=["solution"]
def careful_error(first, second, lags):
    n, centred = len(first), (first - second) - (first - second).mean()
    total = centred.square().sum() / n
    for k in range(1, lags + 1):
        total += 2 * (1 - k / (lags + 1)) * (centred[k:] * centred[:-k]).sum() / n
    return (total / n).sqrt()


# %% [markdown]
# The library's `compare_losses` returns $\bar d$ and the ratio. In this lesson **± is two standard errors**, with memory.
#
# **Predict.** 23 %, over 99 quarters: how many standard errors is that, with a memory of four quarters?

# %% tags=["predict"]
guess = None  # such as 3

# %%
of_mean, of_ar = squared["mean of the past"], squared["AR(2)"]
(d, ratio), (_, careful) = (compare_losses(of_mean, of_ar, lags=lags) for lags in (0, 4))
print(f"difference {d:.2f} ± {2 * d / ratio:.2f}; with memory ± {2 * d / careful:.2f}")
compare_guess(guess, careful, unit="standard errors")
claim(growth_ar2_ratio=ratio, growth_ar2_careful_ratio=careful)
claim(growth_crisis_part=(of_mean - of_ar)[-4:-1].sum() / (of_mean - of_ar).sum())

# %% [markdown]
# The difference is 2.2 standard errors, or, with a memory of four quarters, 1.5. Two thirds of it were won from October 2008 to June 2009: 25 years are too short to be sure.
#
# *Not proven* isn't *disproven*, though, and there are two questions (Diebold 2015). *Was I better off with these forecasts?* That is what the ratio answers, errors of fitting included. *Is there anything to know?* For that it is too strict. The mean is an AR(2) with $a_1 = a_2 = 0$, so the AR(2) pays for estimating two numbers more. Clark and West (2007) give the price back, the square of the two forecasts' difference:
#
# $$d_t = e^2_{t,\text{mean}} - \big(e^2_{t,\text{AR}} - (\hat x_{t,\text{mean}} - \hat x_{t,\text{AR}})^2\big)$$
#
# The ratio is formed as before. Only one side counts: beyond 1.65, chance is an unlikely explanation. The test is made for models fitted by least squares. Both limits are rules of thumb for forecasts that are fitted again and again (McCracken 2007).


# %%
def score(name, actual, mean, model, lags, by_least_squares=True):
    base, each = (actual - mean).square(), (actual - model).square()
    gain, ratio = compare_losses(base, each, lags=lags)
    _, clark_west = compare_losses(base, each - (mean - model).square(), lags=lags)
    r2, bar = gain / base.mean().item(), 2 * gain / ratio / base.mean().item()
    known = f"   Clark–West {clark_west:.2f}" if by_least_squares else ""
    print(f"{name:24} R² {r2:7.4f} ± {bar:.4f}{known}")
    return r2, bar, clark_west


past_mean = forecasts["mean of the past"]
of_growth = {"AR(2)": score("AR(2)", actual, past_mean, forecasts["AR(2)"], lags=4)}
claim(growth_ar2_clark_west=of_growth["AR(2)"][2])

# %% [markdown]
# To the second question the answer is a cautious yes: 1.7.
#
# ## 9b.4 A level that moves: the Kalman filter
#
# Suppose that growth has a level which nobody sees, that wanders a little, and that each quarter shows it with noise:
#
# $$x_t = l_t + \text{noise of variance } r, \qquad l_{t+1} = l_t + \text{step of variance } q$$
#
# This is the **local level** model, the simplest **state-space model**: a hidden state, seen through noise. It has no order: [however many values you have read](../tests/test_linear_series.py), the one before them adds something. But all that the past says about the future it says through the level. So keep a *belief about the level*, a mean $m$ with variance $P$.
#
# A value $x$ comes in. How far should it move the belief? The two are averaged, the surer one counts more, and the weight of the value is the **Kalman gain** $k = P / (P + r)$:


# %%
def our_filter(series, r, q, mean, variance):
    means = [mean]
    for x in series.tolist():
        k = variance / (variance + r)  # how much of the news to believe
        mean = mean + k * (x - mean)
        variance = k * r + q  # (1 - k) of the old one is left, and the step adds to it
        means.append(mean)
    return torch.tensor(means, dtype=torch.float64)


# %% [markdown]
# That is the whole **Kalman filter**, for one hidden number, and the library's `filter_local_level` ([source](../coursekit/models/local_level.py)) is the same. If $q = 0$ and nothing is believed at first, each value counts the same. Then the filter is the *mean of the past*, computed one value at a time: **recursive least squares**.

# %%
from coursekit.models.local_level import filter_local_level, fit_local_level

levels = our_filter(growth, r=16.0, q=0.8, mean=3.0, variance=10.0)
library, _ = filter_local_level(growth, noise_var=16.0, level_var=0.8, mean=3.0, variance=10.0)
assert_close(levels, library)
still = our_filter(growth, r=16.0, q=0.0, mean=0.0, variance=1e12)  # knows nothing
means = growth.cumsum(0) / torch.arange(1, len(growth) + 1)
claim(still_level_off_mean=(still[1:] - means).abs().max())

# %% tags=["figure", "folded"]
ax = plt.subplots(figsize=(9, 4))[1]
ax.plot(quarters, growth, color="0.75", linewidth=1)
ax.plot(quarters[1:], still[1:-1], color="C2", linewidth=2)
ax.plot(quarters[1:], levels[1:-1], color="C0", linewidth=2)
ax.text(quarters[100], 12, "q = 0: the mean of all quarters so far", color="C2")
ax.text(quarters[100], 10, "q / r = 0.05: a mean that forgets", color="C0")
ax.set(ylabel="growth of GDP (% a year)", title="Two beliefs about the level of growth")
figure("levels", alt="Growth in grey, a nearly straight mean, and a level that follows slowly.")

# %% [markdown]
# If you believe the level is fixed, each quarter teaches you less. If you believe that it wanders, you stay curious: with $q / r = 0.05$, a round number, the gain settles at 0.2, and a value loses a fifth of its weight with each quarter that passes. A filter with a steady gain is **simple exponential smoothing** (Muth 1960).
#
# How does it compare? The race has four more models, refitted each quarter: an AR(1); the local level, with the likeliest ratio $q / r$; an **ARMA**(1, 1), which is what an AR(1) level looks like through noise; and a **vector autoregression** (VAR), an AR(2) for growth and consumption together.


# %%
from statsmodels.tsa.arima.model import ARIMA
from statsmodels.tsa.vector_ar.var_model import VAR


def local_level(past):
    r, q = fit_local_level(past)
    return filter_local_level(past, noise_var=r, level_var=q)[0][-1]


def arma(past):
    return ARIMA(past.numpy(), order=(1, 0, 1)).fit().forecast(1)[0]


def var_2(past):  # (T, 2), growth first
    return VAR(past.numpy()).fit(2).forecast(past[-2:].numpy(), 1)[0, 0]


# %%
both = torch.stack([growth, 400 * gdp.values[:, 1].log().diff()], 1)  # and of consumption
forecasts["AR(1)"] = walk_forward(
    lambda past: forecast_ar(past, fit_ar(past, 1))[-1], growth, start
)
forecasts["local level"] = walk_forward(local_level, growth, start)
forecasts["ARMA(1, 1)"] = walk_forward(arma, growth, start)
forecasts["VAR(2), consumption"] = walk_forward(var_2, both, start)
for name in list(forecasts)[1:]:
    plain = name not in ("last value", "local level", "ARMA(1, 1)")
    of_growth[name] = score(name, actual, past_mean, forecasts[name], 4, plain)
rmse = [(actual - one).square().mean().sqrt() for one in forecasts.values()][3:]
claim(growth_ar1_rmse=rmse[0], growth_level_rmse=rmse[1])
claim(growth_arma_rmse=rmse[2], growth_var_rmse=rmse[3])
claim(growth_var_clark_west=of_growth["VAR(2), consumption"][2])

keys = {"last_value": "last value", "ar2": "AR(2)", "ar1": "AR(1)", "level": "local level"}
keys |= {"arma": "ARMA(1, 1)", "var": "VAR(2), consumption"}
of_keys = {key: of_growth[name] for key, name in keys.items()}
keep_sample(
    mean=["0"], **{k: [f"{100 * a:.0f} ± {100 * b:.0f}"] for k, (a, b, _) in of_keys.items()}
)

# %% tags=["scoreboard"]
scoreboard("growth")

# %% [markdown]
# Every forecast except "last value" beats the mean, and none by two standard errors; one country and 99 quarters say no more. The best reads a second series: its Clark–West ratio is 2.0. But three models were tried, and at one chance in twenty each, about one in seven such trios has a winner by luck.
#
# ## 9b.5 The index: direction and size
#
# Back to the returns, 2008 to 2018: the mean of the past, an AR(1), and a transformer (lesson 7's, with causal attention over the same twenty days). All are fitted to the years before 2008, 2011, 2014 and 2017, and forecast up to the next of these dates. The transformer's learning rate and steps were chosen on 2005 to 2007. It is an average of three seeds' forecasts.


# %%
from itertools import pairwise

from coursekit.models.series_transformer import SeriesTransformer, SeriesTransformerConfig


class OurAttender(nn.Module):
    def __init__(self):
        super().__init__()
        sizes = SeriesTransformerConfig(context=20, n_layer=1, n_head=2, d_model=16)
        self.model = SeriesTransformer(sizes)

    def forward(self, x):  # (B, 20) → (B,)
        no_calendar = torch.zeros(*x.shape, 3).long()  # lesson 7's model reads three marks a step
        return self.model(x[..., None], no_calendar)[:, -1, 0]


# %% [markdown]
# **Predict.** Which forecasts the return of the next day best?

# %% tags=["predict"]
guess = None  # "mean of the past", "AR(1)" or "transformer"

# %% tags=["nbval-ignore-output"]
ends = [row_of(first_year) for first_year in (2008, 2011, 2014, 2017, 2019)]


def refitted(forecast):  # anew at each end, for the days up to the next
    return torch.cat([forecast(first, last) for first, last in pairwise(ends)])


def ar_1(first, last):
    c, a = fit_ar(target[:first], 1)
    return c + a * target[first - 1 : last - 1]


returns = {
    "mean of the past": refitted(lambda i, j: target[:i].mean().expand(j - i)),
    "AR(1)": refitted(ar_1),
}

# %% tags=["nbval-ignore-output"]
seeds = [partial(forecast_with, OurAttender, seed=seed) for seed in range(3)]
returns["transformer"] = torch.stack([refitted(seed) for seed in seeds]).mean(0)
next_day, flat = target[ends[0] :], returns["mean of the past"]
of_ar = score("AR(1)", next_day, flat, returns["AR(1)"], lags=10)
of_attention = score("transformer", next_day, flat, returns["transformer"], 10, False)
best = max((0, "mean of the past"), (of_ar[0], "AR(1)"), (of_attention[0], "transformer"))
compare_guess(guess, best[1])
since = ends[1] - ends[0]  # 2011 begins
parts = {"AR(1), 2008 to 2010": slice(0, since), "AR(1), 2011 to 2018": slice(since, None)}
early, late = (
    score(name, next_day[k], flat[k], returns["AR(1)"][k], lags=10) for name, k in parts.items()
)
claim(return_ar_clark_west=of_ar[2], return_ar_r2=of_ar[0])
claim(return_ar_clark_west_early=early[2], return_ar_clark_west_late=late[2])
claim(return_ar_r2_late=late[0])
wrong = ((next_day - returns[name]).square() for name in ("transformer", "AR(1)"))
claim(return_ar_ahead_of_transformer=compare_losses(*wrong, lags=10)[1])

# %% tags=["figure", "folded", "nbval-ignore-output"]
plt.figure(figsize=(9, 4))
base = (next_day - flat).square()
for color, (name, made) in zip(("C0", "C3"), list(returns.items())[1:], strict=True):
    so_far = (base - (next_day - made).square()).cumsum(0) / base.sum()
    plt.plot(days[20 + ends[0] :], so_far, color=color, linewidth=1.2)
    plt.text(days[-1], so_far[-1], f" {name}", color=color, va="center")
plt.axhline(0, color="black", linewidth=1)
plt.ylabel("squared error saved so far, as $R^2$")
plt.text(days[3200], 0.0066, "August 2011", color="0.4")
plt.title("Direction: the little that could be won was won in 2008")
figure("returns", alt="The AR(1)'s lead jumps in 2008, again in August 2011, and loses that again.")

# %% [markdown]
# Neither is ahead of the mean by two standard errors. Is there anything to know? There *was*, from 2008 to 2010: the Clark–West ratio is 3.1. Since then the test finds nothing, and the $R^2$ is 0.0004. The transformer, with 3,297 parameters, is level with the AR(1)'s two.
#
# So much for the *direction*. What of the *size* of tomorrow's move, up or down, the **volatility**? Wild days come in spells. Correlate each day with the one $k$ days later: first the returns, then their sizes.

# %%
size = target.abs()


def alike(series, k):  # the correlation of values k apart
    centred = series - series.mean()
    return ((centred[k:] * centred[:-k]).mean() / centred.square().mean()).item()


claim(return_alike=alike(target, 1), size_alike=alike(size, 1), size_alike_50=alike(size, 50))

# %% tags=["figure", "folded"]
apart = range(1, 101)
plt.figure(figsize=(9, 3.6))
for color, series, text in (("C0", target, "return"), ("C1", size, "size of the return")):
    plt.plot(apart, [alike(series, k) for k in apart], ".-", color=color, linewidth=1)
    plt.text(60, 0.23 if color == "C1" else -0.11, text, color=color)
plt.axhline(0, color="black", linewidth=1)
plt.ylim(-0.15, 0.4)
plt.gca().set(xlabel="k, days apart", ylabel="correlation")
plt.title("Direction is forgotten at once, size is remembered for months")
figure("size", alt="Correlations of returns near 0; those of their sizes from 0.35 down to 0.1.")

# %% [markdown] tags=["exercise"]
# > **Exercise 9b.2 (investigate, 25 minutes).** How far back should the fitting window go? Older quarters are more data, but of another economy: after 1984 growth became much calmer. Let `ar_2(past[-w:])` and `past[-w:].mean()` walk with windows of $w$ = 20, 40, 80 quarters and all. Which of the two wants a long past, and why? Is the difference more than its error?
# >
# > | window | AR(2), RMSE | mean, RMSE | difference in standard errors |
# > |---|---|---|---|
# > | 20 quarters | | | |
# > | 40 | | | |
# > | 80 | | | |
# > | all | | | |
# >
# > <details><summary>Hint</summary><code>walk_forward(lambda past: ar_2(past[-40:]), growth, start)</code>. Errors with <code>lags=4</code>.</details>
#
# <details><summary>What we found</summary>
#
# | window | AR(2), RMSE | mean, RMSE | difference in standard errors |
# |---|---|---|---|
# | 20 quarters | 2.51 | 2.39 | −0.8 |
# | 40 | 2.33 | 2.43 | 0.7 |
# | 80 | 2.19 | 2.44 | 1.3 |
# | all | 2.19 | 2.50 | 1.5 |
#
# The AR(2) has three numbers to estimate and wants all the data; the mean has one and would rather forget, a little. None of the differences is two standard errors.
#
# </details>

# %% [markdown]
# ## What you have now
#
# How much of tomorrow is in today? Four series, each forecast from values that came before, against the mean of the past:

# %%
half = 10_000  # the pendulum: fitted to the first half, scored on the other
foretold = forecast_ar(swing, fit_ar(swing[:half], 2))[half - 2 : -1]
answers = {"pendulum": score("pendulum", swing[half:], swing[:half].mean(), foretold, lags=20)}
answers |= {"growth of GDP": of_growth["AR(2)"], "S&P 500: return": of_ar}


def ar_10(first, last):
    return forecast_ar(size[: last - 1], fit_ar(size[:first], 10))[first - 10 :]


usual = refitted(lambda i, j: size[:i].mean().expand(j - i))
by_ar = score("S&P 500: size", size[ends[0] :], usual, refitted(ar_10), lags=10)
answers["S&P 500: size"] = by_ar
claim(swing_r2=answers["pendulum"][0], size_r2=by_ar[0], size_ratio=2 * by_ar[0] / by_ar[1])

# %% tags=["figure", "folded"]
plt.figure(figsize=(8, 3))
for name, (r2, bar, _) in reversed(answers.items()):
    plt.errorbar(r2, name, xerr=bar, fmt="o", color="C0", capsize=4)
plt.axvline(0, color="black", linewidth=1)
plt.ylim(-0.6, 3.6)
plt.xlabel("out-of-sample $R^2$, ± two standard errors")
plt.title("A day ahead, the direction of the index is unknown, its size is not")
figure("answer", alt="R²: pendulum 0.88, growth 0.23 with a long bar, return 0, its size 0.29.")

# %% [markdown]
# - A question for every forecast: what is left without the last value?
# - A walk forward, and an error bar on "better" that is honest about memory.
# - For a hidden state, a belief to update.
# - What still fails: the filter forgets at *one* pace, fixed before it has seen anything. A text is not like that: a name may matter for pages, a comma for a word.
#
# Could a memory *learn* what to keep, and decide anew at each step? That is the question of lesson 9c.

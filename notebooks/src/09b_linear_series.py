# %% [markdown]
# # 9b · Linear models of series: how much of tomorrow is in today?
#
# A network reads twenty daily closes of the S&P 500 and forecasts the next one. On six years that it never saw, its $R^2$ is 0.998, where 1 is perfect. Would you trade on it? The first section shows why you shouldn't; the others ask how much of tomorrow *is* in today, and how sure we are.
#
# **Afterwards you can** see through a good forecast of a price, fit an autoregression, walk forward through a series, say how sure a lead is, ask coins whether chance could have made it, and write a Kalman filter in three lines.
#
# **Before**: lessons 1 (how much context a text needs), 2b (the error of a difference), 6 (attention) and 7 (baselines).
#
# **Runs in** {runs_in}. **Study time** {study}.
#
# **Sources**: Yule (1927) for the autoregression, Kalman (1960) for the filter, Newey and West (1987) and Diebold and Mariano (1995) for the error of a difference. Data: S&P 500 from the package `arch`; US national accounts from `statsmodels`.

# %% tags=["setup", "machine"]
from functools import partial

import matplotlib.pyplot as plt
import torch
from torch import nn
from torch.nn import functional as F
from torch.testing import assert_close

from coursekit import data
from coursekit.evaluate.likelihood import compare_losses, hac_error
from coursekit.notebook import claim, compare_guess, figure
from coursekit.notebook import keep_sample, scoreboard, setup

_ = setup("09b_linear_series", seed=42)

# %% [markdown]
# ## 9b.1 An $R^2$ of 0.998
#
# We take the closes of 5,031 days as logarithms, so that a difference is a **return**: for small moves, the relative change from one close to the next. A window holds twenty closes and the one that follows.
#
# The network sees each close relative to the latest and forecasts the return $r$ that comes next. Its forecast of the *price* is the latest close times $e^r$. It is `nn.RNN`, PyTorch's network that reads a series step by step (lesson 9c opens it up), with 16 hidden units. It learns from the days before 2013.

# %%
days, closes = data.sp500()
logs = torch.tensor(closes, dtype=torch.float64).log()
windows = logs.unfold(0, 21, 1)  # 20 days, and the day after
history = windows[:, :20] - windows[:, 19:20]  # relative to the latest close
target = windows[:, 20] - windows[:, 19]  # the return that comes next
year = torch.tensor([day.year for day in days[20:]])  # of that return


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
    x = (history / (4 * scale)).float()  # n steps typically drift √n of them away; √20 ≈ 4
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


def r_squared(target, forecast, benchmark):
    return 1 - (target - forecast).square().mean() / (target - benchmark).square().mean()


# %% [markdown]
# $R^2 = 1 - \text{mean squared error} / \text{that of a benchmark}$, usually the mean of the targets: 1 is perfect, 0 no better than that.
#
# **Predict.** What is the $R^2$ of the forecast "tomorrow's close is today's", that of a **random walk**?

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
right.set(xlim=(-2, 2), xlabel="forecast return (%); dotted: perfect", ylabel="return (%)")
right.set_title("… and of the change it knows nothing")
figure("late", alt="Forecast over close for six years; thirty days, one late; a shapeless cloud.")

# %% [markdown]
# The last close scores 0.998, too, and we had handed it to the network. Both look good because the benchmark is hopeless: the *mean of those six years*, unknown in 2013, from which the index drifts by hundreds of points. (It is **nonstationary**: it has no level to return to.)
#
# So forecast the return, not the price: nobody is paid for knowing where the index stands. And take a benchmark that could have been used: the **mean of the past**, here of the returns before 2013. That is a form of the **out-of-sample $R^2$** (Campbell and Thompson 2008). The network's is 0 or a little below, whatever its seed.
#
# **Ask of every forecast: what is left if you take away the last value?**
#
# ## 9b.2 Order two: a pendulum pelted with peas
#
# Now a series in which there *is* something to know: Yule's (1927) pendulum. It swings, and boys who pelt it with peas push it at random.
#
# $$x_t=c+a_1 x_{t-1}+a_2 x_{t-2}+e_t, \qquad e_t \sim \mathcal N(0, \sigma^2)$$
#
# This is an **autoregression** of **order** 2, or AR(2). Given the last two values, everything older says nothing more. It is lesson 1's table with two symbols of context, in three numbers.

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
ax.text(2.6, 5.3, "observed", color="0.4")
ax.text(17, -2.4, "forecast", color="C0")
ax.annotate("the pea", (28, 4.1), (22, 5.4), color="C1", arrowprops=arrow)
ax.set_title("Two values predict the next one, up to a pea")
figure("pendulum", alt="A swinging series, the value two steps predict, and a small miss at each.")

# %% [markdown]
# We choose the $c$, $a_1$ and $a_2$ that minimise the sum of the squared errors (**least squares**), which means solving a linear system.

# %%
from coursekit.models.baselines import fit_ar, forecast_ar

lags = torch.stack([torch.ones(20_000), swing[1:-1], swing[:-2]], 1)  # 1, x_{t-1}, x_{t-2}
by_squares = torch.linalg.solve(lags.T @ lags, lags.T @ swing[2:])
print(torch.stack([truth, by_squares]))
assert_close(fit_ar(swing, 2), by_squares, rtol=1e-8, atol=1e-8)  # the library's

# %% [markdown]
# With normal noise that is maximum likelihood, too, given the first two values: $-\ln$ of a normal density is $\tfrac12 (e_t/\sigma)^2$ plus a constant, and lesson 1's loss adds those up.
#
# ## 9b.3 Growth, one quarter ahead
#
# We forecast the growth of the real gross domestic product of the United States, in per cent a year, as published in 2009. (A forecaster in 1985 had only earlier estimates.)
#
# We **walk forward**: for each quarter from 1985 on, fit to all quarters before it, forecast one step, move on. Our model is an AR(2), the pendulum's order: `forecast_ar` forecasts each value from the two before it, and last of all the one still to come. The benchmarks are the mean of the past and the last value. The score is the RMSE, the root of the mean squared error.

# %%
gdp = data.us_gdp()
growth = 400 * gdp.values[:, 0].log().diff()  # per cent a year
quarters = gdp.times[1:]
start = next(t for t, quarter in enumerate(quarters) if quarter.year == 1985)


def our_walk(forecast, series):
    return torch.stack([forecast(series[:t]) for t in range(start, len(series))])


def ar_2(past):
    return forecast_ar(past, fit_ar(past, 2))[-1]  # the last: the quarter to come


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
claim(growth_ar2_rmse=rmse["AR(2)"])
past_mean = forecasts["mean of the past"]
print(f"R² of the AR(2): {r_squared(actual, forecasts['AR(2)'], past_mean):.3f}")

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
# ### Is 23 % luck?
#
# When a crisis comes, both forecasts fail. So take the difference *quarter by quarter*, $d_t = e^2_{t,\text{mean}}-e^2_{t,\text{AR}}$. How far off might its mean $\bar d$ be? If the $n$ quarters are uncorrelated, its standard error is
#
# $$\sqrt{\gamma_0/n}, \qquad \gamma_0=\frac1n \sum_t (d_t-\bar d)^2$$
#
# and the truth is more than two of these away about one time in twenty. *Are* they uncorrelated? Their **autocorrelation** tells: the correlation of each value with the one $k$ steps later.


# %%
def autocorrelation(series, k):
    return torch.corrcoef(torch.stack([series[k:], series[:-k]]))[0, 1].item()


of_mean, of_ar = squared["mean of the past"], squared["AR(2)"]
print("d, k quarters apart:", *(f"{autocorrelation(of_mean - of_ar, k):.2f}" for k in (1, 2, 3)))

# %% [markdown]
# They aren't: good quarters for the AR(2) come in runs. Does it matter? We make 2,000 series of 99 numbers with a true mean of 0 and neighbours correlated by 0.56, too. How many have a mean more than two standard errors from 0, a false alarm?

# %%
pushes = torch.randn(149, 2000, generator=torch.Generator().manual_seed(42)).double()
runs = [pushes[0]]
for push in pushes[1:]:
    runs.append(0.56 * runs[-1] + push)
runs = torch.stack(runs[50:], 1)  # (2000, 99); what came first is forgotten
errors = runs.std(1, correction=0) / 99**0.5  # the root of γ₀ / n
claim(false_alarms=(runs.mean(1).abs() > 2 * errors).double().mean())

# %% [markdown]
# More than one in four, not one in twenty! Where does the formula go wrong? The variance of a sum is the sum of *all* its $n \times n$ covariances. Uncorrelated numbers have only those on the diagonal, $n$ times $\gamma_0$. Ours have more: for each distance $k$ two further diagonals, one on each side. So the variance of $\bar d$ is about
#
# $$\Big(\gamma_0+2 \sum_{k \ge 1} \gamma_k\Big) \Big/n, \qquad \gamma_k=\frac1n \sum_{t>k} (d_t-\bar d)(d_{t-k}-\bar d)$$
#
# Each $\gamma_k$ is an **autocovariance**. But one series estimates the far ones poorly, and with all of them the bracket is always 0, for the centred $d$ add up to 0. So stop at a distance $L$, the **lag truncation**, and let the weight of $\gamma_k$ fall in equal steps from 1 at $k=0$ to 0 at $k=L+1$. The root is the **HAC** standard error, for heteroskedasticity (a variance that changes) and autocorrelation consistent (Newey and West 1987). For quarters we take $L=4$, a year.

# %% [markdown] tags=["exercise"]
# > **Exercise 9b.1 (build, 20 minutes).** Put the error bar on "better".
# >
# > **Warm-up (5 minutes).** `autocovariance(d, k)` returns $\gamma_k$ of a series of shape (n,), a number. It should also work for k = 0.
# >
# > **Build (15 minutes).** `careful_error(first, second, lags)` takes the squared errors of two forecasts and returns the HAC standard error of the mean of their difference, with L = `lags`, which may be 0. First write down the weight of $\gamma_k$.
# >
# > <details><summary>Hint 1</summary>For n quarters, <code>centred = d - d.mean()</code>. The pairs of quarters k apart are <code>centred[k:]</code> and <code>centred[: n - k]</code>. (For k = 0, <code>centred[:-k]</code> is empty.)</details>
# > <details><summary>Hint 2</summary>The weight is 1 − k / (L + 1), and each γ is a sum over pairs divided by n, also where there are only n − k pairs. Don't forget the 2, and that of the variance you want the root.</details>


# %% tags=["stub"]
def autocovariance(d, k): ...  # a number


# %% tags=["check"]
from coursekit.exercises import linear_series
from coursekit.exercises.stub import answer_or

linear_series.check_autocovariance(autocovariance)


# %% tags=["solution"]
def autocovariance(d, k):
    n, centred = len(d), d - d.mean()
    return (centred[k:] * centred[: n - k]).sum() / n


# %% tags=["stub"]
def careful_error(first, second, lags): ...  # a number


# %% tags=["check"]
linear_series.check_careful_error(careful_error)


# %% tags=["solution"]
def careful_error(first, second, lags):
    d = first - second
    total = autocovariance(d, 0)
    for k in range(1, lags + 1):
        total += 2 * (1 - k / (lags + 1)) * autocovariance(d, k)
    return (total / len(d)).sqrt()


# %% [markdown]
# The **ratio** of $\bar d$ to its HAC standard error is the test of Diebold and Mariano (1995). From here on each forecast gets two numbers: **$R^2$ says how large its lead is, the ratio how sure we can be of it.** Below two, we don't claim a lead.


# %%
def score(actual, benchmark, model, lags):
    losses = ((actual - one).square() for one in (benchmark, model))
    _, ratio = compare_losses(*losses, lags)  # the mean difference, and the ratio
    return r_squared(actual, model, benchmark).item(), ratio


def tell(name, r2, ratio):
    print(f"{name:22} R² {r2:7.4f}   ratio {ratio:5.2f}")


# %% [markdown]
# **Predict.** 23 %, over 99 quarters: what is the ratio, with $L = 4$?

# %% tags=["predict"]
guess = None  # such as 3

# %%
_, ratio = score(actual, past_mean, forecasts["AR(2)"], lags=4)
tell("with L = 0", *score(actual, past_mean, forecasts["AR(2)"], lags=0))
compare_guess(guess, ratio, unit="standard errors")
our_error = answer_or(careful_error, hac_error)  # yours, once you have written it
alarms = torch.stack([run.mean().abs() > 2 * our_error(run, 0 * run, 4) for run in runs])
claim(growth_ar2_careful_ratio=ratio, false_alarms_careful=alarms.double().mean())
calm = [one[:-4] for one in (actual, past_mean, forecasts["AR(2)"])]  # no autumn of 2008
tell("without the crisis", *score(*calm, lags=4))
claim(growth_calm_r2=score(*calm, lags=4)[0], growth_calm_ratio=score(*calm, lags=4)[1])

# %% [markdown]
# 2.2 has become 1.5: too little to claim that one was better off with the AR(2). The crisis made its lead larger, not surer: without the last four quarters $R^2$ falls to 13 %, and the ratio is 1.5 again. (The false alarms are down to one in eight, not one in twenty, because $L=4$ still cuts off part of the sum. A longer $L$ would need more quarters.)

# %% [markdown] tags=["exercise"]
# > **Exercise 9b.2 (investigate, 25 minutes).** How far back should the fitting window go? Older quarters add data, but perhaps from a different economy. Let `ar_2(past[-w:])` and `past[-w:].mean()` walk with **rolling** windows of $w$ = 20, 40, 80 quarters and the **expanding** one, all. Fill in the table: each RMSE, and how many standard errors (`compare_losses`, $L=4$) each window is behind all. Which forecast needs a long past, and why?
#
# | window | AR(2): RMSE, standard errors behind all | mean: RMSE, standard errors behind all |
# |---|---|---|
# | 20 | | |
# | 40 | | |
# | 80 | | |
# | all | …, – | …, – |
#
# > <details><summary>Hint</summary><code>walk_forward(lambda past: ar_2(past[-40:]), growth, start)</code>. <code>compare_losses(short, long, lags=4)</code> of their squared errors.</details>
#
# <details><summary>What we found</summary>
#
# | window | AR(2): RMSE, standard errors behind all | mean: RMSE, standard errors behind all |
# |---|---|---|
# | 20 | 2.51, 1.9 | 2.39, −0.9 |
# | 40 | 2.33, 1.8 | 2.43, −0.8 |
# | 80 | 2.19, 0.1 | 2.44, −1.0 |
# | all | 2.19, – | 2.50, – |
#
# The AR(2) has three numbers to estimate and suffers with 20 or 40 quarters, if not quite by two standard errors; 80 are enough. The mean has one and does a little better when it forgets, but by one standard error at most: perhaps its level moves. (Against the mean of 20 quarters, the AR(2) saves 16 %, not 23.)
#
# </details>

# %% [markdown]
# ## 9b.4 A level that moves: the Kalman filter
#
# Suppose that growth has a level which nobody sees, that wanders a little, and that each quarter's figure is that level plus noise:
#
# $$x_t=l_t+\text{noise of variance } r, \qquad l_{t+1}=l_t+\text{step of variance } q$$
#
# This is the **local level** model, the simplest **state-space model**: a hidden state, seen through noise. It has no order: however many values are read, one more adds something. But the past speaks of the future through the level alone. So keep a *belief about the level*, a mean $m$ with variance $P$.
#
# How far should a new value $x$ move it? With weight $k$ on the value, the new mean is $m + k (x - m)$, and its variance
#
# $$(1-k)^2 P+k^2 r$$
#
# since the value's noise has nothing to do with what was believed before. The best $k$ makes this variance least. It is called the **Kalman gain**.

# %% [markdown] tags=["exercise"]
# > **Exercise 9b.3 (build, 15 minutes).** Find $k$ on paper. Then write the step: `kalman_step(mean, variance, x, r, q)` moves the belief by the value `x`, lets the level take its own step, and returns the mean and the variance of what is now believed of the *next* level. All are numbers; `variance` may be 0, `r` isn't.
# >
# > <details><summary>Hint 1</summary>The derivative with respect to k is 2 k r − 2 (1 − k) P. Where is it 0?</details>
# > <details><summary>Hint 2</summary>At that k the variance has become k r. The level's step leaves the mean alone, and adds q to the variance.</details>


# %% tags=["stub"]
def kalman_step(mean, variance, x, r, q): ...  # -> mean, variance


# %% tags=["check"]
linear_series.check_kalman_step(kalman_step)


# %% tags=["solution"]
def kalman_step(mean, variance, x, r, q):
    k = variance / (variance + r)  # how much of the news to believe
    return mean + k * (x - mean), k * r + q


# %%
from coursekit.models.local_level import filter_local_level, fit_local_level, step_level

our_step = answer_or(kalman_step, step_level)


def our_filter(series, r, q, mean, variance):
    means = [mean]
    for x in series.tolist():
        mean, variance = our_step(mean, variance, x, r, q)
        means.append(mean)
    return torch.tensor(means, dtype=torch.float64)


# %% [markdown]
# That is the whole **Kalman filter** for the local level; the library's is `filter_local_level` ([source](../coursekit/models/local_level.py)). If $q = 0$ and nothing is known at first, it is the *mean of the past*, computed one value at a time: [recursive least squares](../tests/test_local_level.py).

# %%
levels = our_filter(growth, r=16.0, q=0.8, mean=3.0, variance=10.0)
library, _ = filter_local_level(growth, noise_var=16.0, level_var=0.8, mean=3.0, variance=10.0)
assert_close(levels, library)
still = our_filter(growth, r=16.0, q=0.0, mean=0.0, variance=1e12)  # knows nothing

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
# Believe the level fixed, and each quarter teaches you less. Believe that it wanders, and you stay curious: with $q / r = 0.05$, the gain settles at 0.2, and a value loses a fifth of its weight with each quarter. That is **simple exponential smoothing**, which Brown and Holt introduced in the 1950s; Muth (1960) showed when it is optimal.
#
# Do such models do better than the AR(2)? We refit four each quarter: an AR(1), the local level with the likeliest $q$ and $r$, an **ARMA**(1, 1), which adds $b\,e_{t-1}$, for the last miss counts, too, and a **vector autoregression** (VAR), which also reads the last two values of the growth of consumption.


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
forecasts["AR(1)"] = walk_forward(lambda x: forecast_ar(x, fit_ar(x, 1))[-1], growth, start)
forecasts["local level"] = walk_forward(local_level, growth, start)
forecasts["ARMA(1, 1)"] = walk_forward(arma, growth, start)
forecasts["VAR(2), consumption"] = walk_forward(var_2, both, start)

# %%
rmse = {name: (actual - one).square().mean().sqrt() for name, one in forecasts.items()}
claim(growth_ar1_rmse=rmse["AR(1)"], growth_level_rmse=rmse["local level"])
claim(growth_arma_rmse=rmse["ARMA(1, 1)"], growth_var_rmse=rmse["VAR(2), consumption"])
rows = {"last_value": "last value", "ar2": "AR(2)", "ar1": "AR(1)", "level": "local level"}
rows |= {"arma": "ARMA(1, 1)", "var": "VAR(2), consumption"}
of_growth = {key: score(actual, past_mean, forecasts[one], 4) for key, one in rows.items()}
board = {key: [f"{100 * r2:.0f}; {ratio:.1f}"] for key, (r2, ratio) in of_growth.items()}
keep_sample(mean=["0"], **board)  # for the scoreboard
claim(growth_best_ratio=max(ratio for _, ratio in of_growth.values()))

# %% tags=["scoreboard"]
scoreboard("growth")

# %% [markdown]
# Only "last value" loses to the mean. The VAR saves most, 35 %. But it is the best of six, which flatters it, and no ratio reaches two.
#
# ## 9b.5 The return: is there anything to know?
#
# Back to the returns, 2008 to 2018, with $L=10$ days. Does a large model find more there than a small one? An AR(1), with two parameters, meets lesson 7's transformer, which has 3,297 and reads the twenty closes by attention. Both are fitted to the years before 2008, 2011, 2014 and 2017, and forecast up to the next of these dates. (The transformer was tuned on 2005 to 2007; its forecast is the average of three seeds'.)


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


# %% tags=["nbval-ignore-output"]
ends = [row_of(first_year) for first_year in (2008, 2011, 2014, 2017, 2019)]


def refitted(forecast):  # anew at each end, for the days up to the next
    return torch.cat([forecast(first, last) for first, last in pairwise(ends)])


def ar_1(first, last, series=target):
    c, a = fit_ar(series[:first], 1)
    return c + a * series[first - 1 : last - 1]


next_day, linear = target[ends[0] :], refitted(ar_1)
flat = refitted(lambda i, j: target[:i].mean().expand(j - i))

# %% tags=["nbval-ignore-output"]
seeds = [partial(forecast_with, OurAttender, seed=seed) for seed in range(3)]
attending = torch.stack([refitted(seed) for seed in seeds]).mean(0)
of_return = score(next_day, flat, linear, lags=10)
ahead = score(next_day, attending, linear, lags=10)
tell("AR(1)", *of_return)
tell("transformer", *score(next_day, flat, attending, lags=10))
tell("AR(1) over that", *ahead)
claim(return_ar1_r2=of_return[0], return_ar_ahead_of_transformer=ahead[1])

# %% [markdown]
# The two can't be told apart. The AR(1)'s $R^2$ is half a per cent, where growth's was 23, yet both ratios are 1.5: *how large* and *how sure* are two questions. (Of the orders 1, 2, 3, 5, 10 and 20 the first has the highest ratio, which flatters it. The next is 1.3.)
#
# ### Could chance have done it?
#
# Was one better off with a forecast? At 1.5, we can't claim that. But there is another question: is there anything to know at all? We make series in which there is nothing. Each keeps the size of every quarter's distance from the mean, and a coin chooses its sign, so that the same crises come at the same time. (This is a **wild bootstrap**: Liu 1988. It takes distances up and down to be equally likely.) Then we walk forward through each, as before, and likewise through days whose returns have had their signs tossed.


# %%
def toss_coins(series, seed):
    g = torch.Generator().manual_seed(seed)
    signs = 2 * torch.randint(2, series.shape, generator=g) - 1
    return series.mean() + signs * (series - series.mean()).abs()


def ratio_of_growth(series):
    mean, model = (walk_forward(one, series, start) for one in (torch.mean, ar_2))
    return score(series[start:], mean, model, lags=4)[1]


def ratio_of_return(series):
    mean = refitted(lambda i, j: series[:i].mean().expand(j - i))
    model = refitted(partial(ar_1, series=series))
    return score(series[ends[0] :], mean, model, lags=10)[1]


# %% [markdown]
# **Predict.** Growth's AR(2) has a ratio of 1.5. Of 1,000 coin-toss series, in how many does its ratio come out as high?

# %% tags=["predict"]
guess = None  # such as 70

# %%
tests = {"growth": (ratio_of_growth, growth), "return": (ratio_of_return, target)}
real, tossed = {}, {}
for name, (ratio_of, series) in tests.items():
    real[name] = ratio_of(series)
    tossed[name] = torch.tensor([ratio_of(toss_coins(series, k)) for k in range(1000)])
as_high = {name: int((tossed[name] >= real[name]).sum()) for name in tests}
compare_guess(guess, as_high["growth"], unit="series")
claim(growth_coins=as_high["growth"], return_coins=as_high["return"])
claim(growth_coins_mean=tossed["growth"].mean(), return_coins_mean=tossed["return"].mean())
claim(return_ratio=real["return"])

# %% tags=["figure", "folded"]
above, left, right = plt.subplot_mosaic("AA;BC", figsize=(9, 6.2))[1].values()
above.plot(quarters[start:], actual, color="0.7", linewidth=5)
above.plot(quarters[start:], toss_coins(growth, 49)[start:], color="C1", marker="o", markersize=3)
above.text(quarters[start + 32], 10, "growth", color="0.5")
above.text(quarters[start + 42], 10, "one coin-toss series", color="C1")
above.set(ylabel="growth (% a year)", title="The same crises, but coins choose the sign …")
for ax, name, color in ((left, "growth", "C0"), (right, "return", "C3")):
    ax.hist(tossed[name], torch.arange(-4, 4, 0.25).tolist(), color="0.75")
    ax.axvline(tossed[name].mean(), color="black", linestyle=":", linewidth=1.5)
    ax.axvline(real[name], color=color, linewidth=3)
    ax.text(real[name] + 0.15, 105, f"{as_high[name]} of 1,000\nas high", color=color)
    ax.set(xlabel="ratio", xlim=(-4, 4), ylim=(0, 150))
left.set(ylabel="coin-toss series", title="… and seldom match growth's AR(2) …")
right.set_title("… or the return's AR(1)")
figure("coins", alt="Growth and a coin-toss twin; two histograms, the real ratio on their right.")

# %% [markdown]
# About one in a hundred, for both. Why is 1.5 so rare? An AR that says $m+\delta$, where the mean $m$ would be right, is wrong by $\delta$ and pays $\delta^2$ for having fitted noise. So with nothing to know the ratio isn't 0 on average, but $-0.5$ (dotted).
#
# | the question | if not, the ratio is | growth, 1.5 | return, 1.5 |
# |---|---|---|---|
# | Was one better off with it? | 0 on average | can't be claimed | can't be claimed |
# | Was there anything to know? | −0.5 on average | 10 of 1,000 as high: probably | 11 of 1,000: probably |
#
# But look at *when*. Of the return's net lead, 2008 and 2009 hold 93 %, 2010 and 2011 another 34 %, and the seven years since then lose 27 %. What little there was to know lay in the panics.
#
# <details><summary>A formula in place of the coins: Clark and West (2007)</summary>
#
# It works where a model **nests** the mean, that is, could have chosen to be it. Give the $\delta^2$ back, quarter by quarter, and then form the ratio. Only a lead counts, so the test is one-sided: chance passes 1.65 about one time in twenty. Growth's AR(2) comes to 1.7, the return's AR(1) to 2.3: the same verdict.
#
# </details>
#
# ## 9b.6 Its size: volatility
#
# And the *size* of tomorrow's return, its absolute value? It measures **volatility**, and wild days come in clusters (**volatility clustering**):

# %% tags=["figure", "folded"]
apart = range(1, 101)
plt.figure(figsize=(9, 3.6))
for color, series, text in (("C0", target, "return"), ("C1", target.abs(), "absolute return")):
    lines = [autocorrelation(series, k) for k in apart]
    plt.plot(apart, lines, ".-", color=color, linewidth=1)
    plt.text(60, 0.23 if color == "C1" else -0.11, text, color=color)
plt.axhline(0, color="black", linewidth=1)
plt.ylim(-0.15, 0.4)
plt.gca().set(xlabel="k, days apart", ylabel="autocorrelation")
plt.title("The return hardly remembers a day, its absolute value remembers months")
figure("size", alt="Autocorrelations of returns near 0; of absolute returns from 0.35 down to 0.1.")

# %% [markdown]
# An AR(10) of the absolute return has an $R^2$ of 0.29 against the mean of the past. But that benchmark is weak. Take one that reads the same ten days: the mean of the last ten absolute returns.
#
# **Predict.** What is the $R^2$ of the AR(10) against *that*?

# %% tags=["predict"]
guess = None  # such as 0.1


# %%
absolute = target.abs()


def ar_10(first, last):
    forecasts = forecast_ar(absolute[: last - 1], fit_ar(absolute[:first], 10))
    return forecasts[first - 10 :]  # they begin with day 10, ours with day `first`


now, fitted = absolute[ends[0] :], refitted(ar_10)
usual = refitted(lambda i, j: absolute[:i].mean().expand(j - i))
ten = absolute.unfold(0, 10, 1).mean(1)[ends[0] - 10 : -1]  # of the ten days before
ar_r2, over_ten = score(now, usual, fitted, lags=120), score(now, ten, fitted, lags=120)
tell("AR(10)", *ar_r2)
tell("mean of the last ten", *score(now, usual, ten, lags=120))
tell("AR(10) over that", *over_ten)
compare_guess(guess, over_ten[0])
claim(absolute_r2=ar_r2[0], absolute_ratio=ar_r2[1], absolute_r2_over_ten=over_ten[0])

# %% [markdown]
# Eleven fitted parameters gain nothing over a ten-day mean. And the ratios of the first two rows are below two, though their $R^2$ is large: volatile spells last for years, and eleven years hold few of them. ($L=120$ days; with $L=10$ they would be 4.0 and 3.8.)
#
# Is there more to know? So far we read sizes alone. Let the *signed* returns of the last five days have a say, too: three numbers, by least squares.


# %%
ten_days, week = absolute.unfold(0, 10, 1).mean(1)[:-1], target.unfold(0, 5, 1).mean(1)[5:-1]
reads = torch.stack([torch.ones(len(week)).double(), ten_days, week], 1)  # from day 10 on


def with_the_sign(first, last):
    past, then = reads[: first - 10], absolute[10:first]
    weights = torch.linalg.solve(past.T @ past, past.T @ then)
    return reads[first - 10 : last - 10] @ weights


signed = refitted(with_the_sign)
of_absolute, over_ar = (score(now, rival, signed, lags=120) for rival in (usual, fitted))
tell("with the sign", *of_absolute)
tell("that over the AR(10)", *over_ar)
claim(signed_r2=of_absolute[0], signed_ratio_over_ar=over_ar[1])

# %% [markdown]
# A win at last: of what the AR(10) leaves, three numbers save 7 %, at a ratio of 2.9. The weight of the week is negative: falls are followed by wilder days than rises, the **leverage effect** (Black 1976).

# %% [markdown]
# ## What you have now
#
# How much of tomorrow is in today?

# %%
half = 10_000  # the pendulum is fitted to the first half, scored on the other
fitted = forecast_ar(swing, fit_ar(swing[:half], 2))[half - 2 : -1]  # they begin with step 2
answers = {"pendulum": score(swing[half:], swing[:half].mean(), fitted, lags=16)}
answers |= {"growth": of_growth["ar2"], "return": of_return, "its absolute value": of_absolute}
claim(pendulum_r2=answers["pendulum"][0])

# %% tags=["figure", "folded"]
plt.figure(figsize=(8.5, 3.2))
for row, (name, (r2, ratio)) in enumerate(reversed(answers.items())):
    gain, error = 100 * r2, abs(200 * r2 / ratio)  # in per cent; two standard errors
    plt.barh(name, gain, xerr=error, height=0.5, color="C0", capsize=4, ecolor="0.3")
    plt.text(gain + error + 3, row - 0.08, f"{gain:.1f} %, ratio {ratio:.1f}", backgroundcolor="w")
plt.axvline(0, color="black", linewidth=1)
plt.gca().set(xlim=(-12, 135), xticks=range(0, 101, 20), xlabel="out-of-sample $R^2$ (% ± 2 SE)")
plt.title("Hardly any of tomorrow's return is in today; a third of its size")
figure("answer", alt="Bars of R²: pendulum 88 %, growth 23 %, return 0.5 %, absolute return 34 %.")

# %% [markdown]
# - Of the pendulum 88 %, which follows from the coefficients that we gave it; the rest is peas. Of growth 23 %, which we can't claim. Of the return half a per cent, in panics. Of its size a third, most of which a ten-day mean captures as well.
# - A question for every forecast, a walk forward, and two numbers: how large, how sure. Coins, to ask what chance can do. For a hidden state, a belief to update.
# - What still fails: the filter forgets at *one* pace, whatever it reads. In a text, a name may matter for pages, a comma for a word.
#
# Could a memory *learn* what to keep, and decide anew at each step? That is the question of lesson 9c.

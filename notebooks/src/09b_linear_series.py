# %% [markdown]
# # 9b · Linear series: how much of tomorrow is in today?
#
# A network reads twenty daily closes of the S&P 500 and forecasts the next one. On six years that it never saw, its $R^2$ is 0.998, where 1 is perfect. Would you trade on it? The first section shows why you shouldn't. The others ask what lies behind it: how much of tomorrow *is* in today, and how sure can we be?
#
# **Afterwards you can** see through a good forecast of a price, fit an autoregression, walk forward through a series, put an error bar on "better", and write a Kalman filter in three lines.
#
# **Before**: lessons 1 (how much context a text needs), 2 (the training loop), 2b (the error of a difference), 6 (attention) and 7 (baselines).
#
# **Runs in** {runs_in}. **Study time** {study}.
#
# **Sources**: the autoregression is Yule's (1927), the filter Kalman's (1960); Durbin and Koopman (2012) is the textbook. Errors of differences: Diebold and Mariano (1995). Data: S&P 500 from the package `arch`; US national accounts from `statsmodels`.

# %% tags=["setup", "machine"]
import matplotlib.pyplot as plt
import torch
from torch import nn
from torch.nn import functional as F
from torch.testing import assert_close

from coursekit import data
from coursekit.evaluate.likelihood import compare_losses, gaussian_nll
from coursekit.notebook import Score, claim, claim_order, compare_guess, figure
from coursekit.notebook import keep_sample, scoreboard, setup

_ = setup("09b_linear_series", seed=42)

# %% [markdown]
# ## 9b.1 An $R^2$ of 0.998
#
# The closes of 5,031 days, as logarithms, so that a difference is a **return**: for small moves, the relative change from one close to the next. A window holds twenty closes and the one that follows. The network sees each close relative to the latest and forecasts the return $r$ that comes next; its forecast of the *price* is the latest close times $e^r$.

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
# The last close scores 0.998, too. Why so high? Because the rival is hopeless: the *mean of those six years*, which nobody could have known in 2013, and from which the index strays by hundreds of points. Against a hopeless rival anything looks good.
#
# So change two things. Forecast the return, not the price: nobody is paid for knowing where the index stands. And take a rival that could have been used: the **mean of the past**, here of the returns before 2013. That is the **out-of-sample $R^2$** (Campbell and Thompson 2008), and the network's is 0.000; with five other seeds it is negative. **Ask of every forecast: what is left if you take away the last value?** The rest of this lesson is about what is left.

# %% [markdown]
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
ax.set_title("Blue: what the last two values say. Orange: the pea. Grey: what comes.")
figure("pendulum", alt="A swinging series, the value two steps foretell, and a small miss at each.")

# %% [markdown]
# How do we find the three numbers from the series? The loss is lesson 1's, the mean negative log-likelihood:
#
# $$-\log p(x_t \mid x_{t-1}, x_{t-2}) = \tfrac12 \ln 2\pi + \ln\sigma + \frac{(x_t - c - a_1 x_{t-1} - a_2 x_{t-2})^2}{2\sigma^2}$$
#
# $c, a_1, a_2$ appear in the square only. So for any $\sigma$ the likelihood is highest where the sum of squares is smallest, and linear algebra has a formula for that.
#
# **Predict.** How far from the truth is the worst of the three numbers, estimated from 20,000 values?

# %% tags=["predict"]
guess = None  # such as 0.1

# %%
lags = torch.stack([torch.ones(20_000), swing[1:-1], swing[:-2]], 1)  # 1, x_{t-1}, x_{t-2}
by_squares = torch.linalg.solve(lags.T @ lags, lags.T @ swing[2:])
compare_guess(guess, (by_squares - truth).abs().max())
print("least squares", by_squares)

# %% [markdown]
# A network has no such formula; it goes downhill. Here is the loop of lesson 2, from zero, with $\ln \sigma$ as a fourth parameter.

# %%
parameters = torch.zeros(4, dtype=torch.float64, requires_grad=True)  # c, a₁, a₂, ln σ
for _ in range(1500):
    loss = gaussian_nll(swing[2:], lags @ parameters[:3], parameters[3]).mean()
    parameters.grad = None
    loss.backward()
    with torch.no_grad():
        parameters -= 0.05 * parameters.grad
by_gradient = parameters.detach()[:3]

# %%
from coursekit.models.baselines import fit_ar, forecast_ar

assert_close(fit_ar(swing, 2), by_squares, rtol=1e-8, atol=1e-8)  # the library's
gaps = [(by_squares - other).abs().max() for other in (truth, by_gradient)]
claim(ar_off_truth=gaps[0], ar_off_gradient=gaps[1])

# %% [markdown]
# With normal noise, least squares *is* maximum likelihood (given the first two values), and gradient descent finds the same point. The estimates miss the truth by 0.012 at most, which is no fault of the method: with 20,000 values the standard errors are 0.0075 for $c$ and 0.0047 for $a_1$ and $a_2$.

# %% [markdown]
# ## 9b.3 How far back?
#
# The pendulum has an order because we gave it one. Does every series? Then we would know how long a past to read. So ask what the $k$-th value back adds when all later ones are known: by how many nats does it lower the loss? If an autoregression that reads $k$ values has errors of standard deviation $\sigma_k$, its loss is $\ln \sigma_k$ plus a constant, so value $k$ adds $\ln \sigma_{k-1} - \ln \sigma_k$.


# %%
def sigma(order):  # of the errors of an autoregression that reads so many values
    part = swing[8 - order :]  # so that the values to forecast are the same for each order
    made = forecast_ar(part, fit_ar(part, order))[:-1]
    return (swing[8:] - made).std(correction=0)


sigmas = torch.stack([sigma(order) for order in range(9)])
adds = {"AR(2)": -sigmas.log().diff()}
swing_r2 = 1 - (sigmas[2] / sigmas[0]) ** 2
print("value 1, 2, 3, … adds", " ".join(f"{gain:.5f}" for gain in adds["AR(2)"]), "nats")

# %% [markdown]
# (So $R^2$ and nats are one thing in two units: if the errors are normal, $R^2 = 1 - \sigma_k^2 / \sigma_0^2$ means that the $k$ values together add $-\tfrac12 \ln(1 - R^2)$ nats.)
#
# Now a **hidden Markov model**. Its state, a mood, is never seen. It switches once in twenty steps, and each step shows one of two symbols, four times in five the one that fits the mood. We can enumerate all sequences and compute exactly how uncertain the next symbol is, given the last $k$.

# %%
switch = torch.tensor([[0.95, 0.05], [0.05, 0.95]], dtype=torch.float64)  # mood → next mood
shows = torch.tensor([[0.8, 0.2], [0.2, 0.8]], dtype=torch.float64)  # mood → symbol
paths = torch.tensor([[0.5, 0.5]], dtype=torch.float64)  # p(symbols so far, mood)
entropy = [0.0]
for _ in range(12):  # 4,096 sequences in the end
    paths = torch.cat([(paths * shows[:, symbol]) @ switch for symbol in (0, 1)])
    p = paths.sum(1)
    entropy.append(-(p * p.log()).sum().item())
given = torch.tensor(entropy, dtype=torch.float64).diff()  # of the next symbol, given k
print("given 0, 1, 2, … symbols:", " ".join(f"{h:.4f}" for h in given), "nats")
mood = adds["a hidden mood"] = -given.diff()
claim(mood_given_1=given[1], mood_given_11=given[11], mood_least_gain=mood.min())
claim(swing_r2=swing_r2, mood_fifth_gain=mood[4], swing_third_gain=adds["AR(2)"][2])

# %% tags=["figure", "folded"]
from coursekit.notebook.pictures import name_lines

ax = plt.subplots(figsize=(8.5, 4.2))[1]
for marker, (name, gain) in zip("oD", adds.items(), strict=True):
    ax.semilogy(range(1, 9), gain[:8], f"{marker}-", label=name)
ax.axhspan(1e-7, 1e-4, color="0.9", zorder=0)
ax.text(3.2, 3e-7, "what chance alone adds, with 20,000 values", color="0.4")
ax.set(xlim=(0.5, 11.5), ylim=(1e-7, 2), xticks=range(1, 9), xlabel="$k$, values back")
ax.set(ylabel="the k-th value adds (nats)", title="One memory ends, one fades")
name_lines(ax)
figure("orders", alt="Gains by lag: the AR(2)'s end after two; the hidden mood's fall slowly.")

# %% [markdown]
# The AR(2)'s first value adds 0.66 nats, the second 0.42, and the third no more than chance. The hidden mood is another matter: given 1, 2, 3 symbols, 0.6397, 0.6184 and 0.6069 nats are left, so the second symbol adds 0.0213, the third 0.0115. Each adds less than the one before, and none adds nothing. It has no order, although the mood itself remembers one step. (In practice a long autoregression will do: from the fifth on, each symbol adds less than 0.003 nats.)
#
# There is a better way than a long past. All that the past says about the future it says through the hidden state. So keep a *belief about the state*, and update it with each value: section 9b.5. First, real data.

# %% [markdown]
# ## 9b.4 Growth, one quarter ahead
#
# The real gross domestic product of the United States, 1959 to 2009, by quarters: we forecast its growth, in per cent a year. (The figures are as revised up to December 2009. A forecaster of 1985 had others, and revised figures can flatter: Stark and Croushore 2001.)
#
# We **walk forward**: for each quarter from 1985 on, fit to all quarters before it, forecast one step, move on. Nothing of the future leaks in. Our model is an AR(2); its order was fixed before we looked at the data. The rivals are the mean of the past, and the last value. The score is the RMSE, the root of the mean squared error.

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
# **Predict.** 23 %, over 99 quarters: how many standard errors is that? Beyond 2 it is hardly chance.

# %% tags=["predict"]
guess = None  # such as 3

# %% [markdown]
# Both forecasts face the same quarters, and fail together when a crisis comes. So don't compare two averages, each with an error of its own. Take the difference *quarter by quarter*, $d_t = e^2_{t,\text{mean}} - e^2_{t,\text{AR}}$, and the standard error of its mean $\bar d$. With $n$ quarters that don't depend on each other it is
#
# $$\sqrt{\gamma_0 / n}, \qquad \gamma_0 = \frac1n \sum_t (d_t - \bar d)^2$$
#
# But bad quarters come in a row, so 99 quarters tell less than 99 independent ones. What neighbours have in common is added (Newey and West 1987; errors of this kind are called **HAC**, for *heteroskedasticity and autocorrelation consistent*). With a memory of $L$ quarters:
#
# $$\sqrt{\Big(\gamma_0 + 2 \sum_{k=1}^{L} \big(1 - \tfrac{k}{L+1}\big)\, \gamma_k\Big) \Big/ n}, \qquad \gamma_k = \frac1n \sum_{t > k} (d_t - \bar d)(d_{t-k} - \bar d)$$
#
# The ratio of $\bar d$ to this error is the test of Diebold and Mariano (1995).

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
# The library's `compare_losses` returns $\bar d$ and the ratio. In this lesson **± is always two standard errors**.

# %%
of_mean, of_ar = squared["mean of the past"], squared["AR(2)"]
for name, each in (("mean of the past", of_mean), ("AR(2)", of_ar)):
    print(f"{name:16} {each.mean():.2f} ± {2 * each.std() / 99**0.5:.2f}")
d, ratio = compare_losses(of_mean, of_ar)
_, careful = compare_losses(of_mean, of_ar, lags=4)
print(f"difference       {d:.2f} ± {2 * d / ratio:.2f}; with memory ± {2 * d / careful:.2f}")
compare_guess(guess, careful, unit="standard errors")
claim_order(ar2_beats_the_mean=(Score(of_ar.mean(), on=actual), Score(of_mean.mean(), on=actual)))
claim(growth_ar2_ratio=ratio, growth_ar2_careful_ratio=careful)
claim(growth_crisis_part=(of_mean - of_ar)[-4:-1].sum() / (of_mean - of_ar).sum())

# %% [markdown]
# Judged by their own errors, the two averages can't be told apart. The paired difference is 2.2 standard errors, or, with a memory of four quarters, 1.5. And two thirds of it were won from October 2008 to June 2009, as the lower picture shows: 25 years are too short to be sure.

# %% [markdown]
# ## 9b.5 A level that moves: the Kalman filter
#
# Suppose that growth has a level which nobody sees, that wanders a little, and that each quarter shows it with noise:
#
# $$x_t = l_t + \text{noise of variance } r, \qquad l_{t+1} = l_t + \text{step of variance } q$$
#
# This is the **local level** model, the simplest **state-space model**: a hidden state, seen through noise. So it has no order (section 9b.3), but a belief about the level is enough, a mean $m$ with variance $P$. A value $x$ comes in. How far should it move the belief? The two are averaged, the surer one counts more, and the weight of the value is the **Kalman gain** $k = P / (P + r)$:


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
# That is the whole **Kalman filter**, for one hidden number, and the library's `filter_local_level` ([source](../coursekit/models/local_level.py)) is the same. If $q = 0$, the level stands still, each value counts the same, and the filter is the *mean of the past*, computed one value at a time: **recursive least squares**.

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
# Whoever believes in a fixed level learns less and less from each quarter. Whoever believes that it wanders stays curious: the gain settles where $k^2 / (1 - k) = q / r$, here at 0.2, and a value loses a fifth of its weight with each quarter that passes. A filter with a steady gain is **simple exponential smoothing** (Muth 1960). It reads the whole past and keeps two numbers of it.
#
# Which belief is right? The filter gives each value a forecast and a variance, hence a likelihood, and `fit_local_level` keeps the likeliest of fifty ratios $q / r$. With a short series that is often near 0 even if the level does move (Stock and Watson 1998), so the race below has both.

# %% [markdown]
# ## 9b.6 The economy: a race
#
# More forecasts of growth, refitted each quarter by least squares or maximum likelihood:
#
# - AR(1), in case one value is enough;
# - the local level, with the likeliest ratio, and with $q / r = 0.05$;
# - **ARMA**(1, 1), $x_t = c + a x_{t-1} + e_t + b e_{t-1}$, where the noise has an echo: what an AR(1) level, seen through noise, looks like;
# - a **vector autoregression** (VAR): an AR(2) whose $x_t$ has two entries, growth *and another series*.


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
one_lag = walk_forward(lambda past: forecast_ar(past, fit_ar(past, 1))[-1], growth, start)
forecasts |= {"AR(1)": one_lag, "local level": walk_forward(local_level, growth, start)}
forecasts["local level, q/r 0.05"] = levels[start:-1]  # of section 9b.5
forecasts["ARMA(1, 1)"] = walk_forward(arma, growth, start)
beside = {"consumption": 400 * gdp.values[:, 1].log().diff()}
beside["unemployment"] = gdp.values[:, 2].diff()
for name, other in beside.items():  # a second column
    forecasts[f"VAR(2), {name}"] = walk_forward(var_2, torch.stack([growth, other], 1), start)


# %%
def against_mean(actual, forecasts, lags):
    base, scores = (actual - forecasts["mean of the past"]).square(), {}
    for name in list(forecasts)[1:]:
        each = (actual - torch.atleast_2d(forecasts[name])).square().mean(0)  # over seeds, if any
        gain, ratio = compare_losses(base, each, lags=lags)
        scores[name] = (gain / base.mean()).item(), (2 * gain / ratio / base.mean()).item()
        print("{:24} {:7.4f} ± {:.4f}".format(name, *scores[name]))
    return scores


print("out-of-sample R²; the bars allow for a memory of four quarters")
of_growth = against_mean(actual, forecasts, lags=4)
rmse = [(actual - one).square().mean().sqrt() for one in forecasts.values()][3:]
claim(growth_ar1_rmse=rmse[0], growth_level_rmse=rmse[1], growth_level_05_rmse=rmse[2])
claim(growth_arma_rmse=rmse[3], growth_var_rmse=rmse[4], growth_var_unemployed_rmse=rmse[5])


# %% tags=["figure", "folded"]
def draw_race(ax, scores, width):
    values, bars = torch.tensor(list(scores.values())).T
    rows = -torch.arange(len(scores))
    ax.errorbar(values, rows, xerr=bars, fmt="o", capsize=3)
    ax.axvline(0, color="black", linewidth=1)
    ax.set_yticks(rows, scores)
    ax.set(xlim=(-width, width), xlabel="out-of-sample $R^2$, ± two standard errors")


ax = plt.subplots(figsize=(8, 3.8))[1]
draw_race(ax, of_growth, 0.9)
ax.set_title("Growth: all but one are ahead of the mean, none for sure")
figure("race", alt="Eight scores with long bars: seven above zero, each bar reaching across it.")

# %% [markdown]
# All but the last value are ahead of the mean, and none by two standard errors; one country and 99 quarters say no more. The best reads a second series, and that consumption helps to forecast output is known (Cochrane 1994). The level with $q / r = 0.05$ does better than the likeliest ratio, but one period decides nothing.

# %% tags=["nbval-ignore-output"]
keys = ("last_value", "ar2", "ar1", "level", "level_05", "arma", "var", "var_unemployed")
saved = zip(keys, of_growth.values(), strict=True)
keep_sample(mean=["0"], **{key: [f"{100 * a:.0f} ± {100 * b:.0f}"] for key, (a, b) in saved})

# %% tags=["scoreboard"]
scoreboard("growth")

# %% [markdown]
# ## 9b.7 The index: a race, and two questions
#
# Back to the returns, 2008 to 2018: the mean of the past, AR(1), the `nn.RNN` of section 9b.1, and a transformer (lesson 7's, with causal attention over the same twenty days). All are fitted to the years before 2008, 2011, 2014 and 2017, and forecast up to the next of these dates. Each network gets a learning rate of its own, chosen on 2005 to 2007 with three seeds; 400 steps are enough there (800 raise no validation $R^2$ by more than 0.001).


# %%
from functools import partial
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
def error_with(make, lr):  # on the years of validation
    span = row_of(2005), row_of(2008)
    made = torch.stack([forecast_with(make, *span, lr, seed) for seed in range(3)])
    return (target[slice(*span)] - made).square().mean().item()


networks = {"RNN": OurReader, "transformer": OurAttender}
best_lr = {}
for name, make in networks.items():
    best_lr[name] = min((0.0003, 0.001, 0.003), key=partial(error_with, make))
print(best_lr)

# %% [markdown]
# **Predict.** Which forecasts the return of the next day best: "mean of the past", "AR(1)", "RNN" or "transformer"?

# %% tags=["predict"]
guess = None  # "mean of the past", "AR(1)", "RNN" or "transformer"

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
for name, make in networks.items():
    seeds = [partial(forecast_with, make, lr=best_lr[name], seed=seed) for seed in range(3)]
    returns[name] = torch.stack([refitted(seed) for seed in seeds])  # (3, days)
days_actual = target[ends[0] :]
print("out-of-sample R²; the bars allow for a memory of ten days")
of_returns = against_mean(days_actual, returns, lags=10)
compare_guess(guess, max(of_returns, key=of_returns.get))

# %% tags=["figure", "folded", "nbval-ignore-output"]
left, right = plt.subplots(1, 2, figsize=(10, 3.8), width_ratios=[1, 1.6])[1]
draw_race(left, of_returns, 0.014)
base = (days_actual - returns["mean of the past"]).square()
for color, (name, made) in zip(("C0", "C1", "C3"), list(returns.items())[1:], strict=True):
    each = (days_actual - torch.atleast_2d(made)).square().mean(0)
    so_far = (base - each).cumsum(0) / base.sum()
    right.plot(days[20 + ends[0] :], so_far, color=color, linewidth=1.2)
    right.text(days[-1], so_far[-1], f" {name}", color=color, va="center")
right.axhline(0, color="black", linewidth=1)
right.set(ylabel="squared error saved so far, as $R^2$", title="… and most of it was won in 2008")
left.set(title="Returns: next to nothing …", xticks=[-0.01, 0, 0.01])
figure(
    "returns", alt="Scores near zero with long bars; the AR(1)'s lead jumps in 2008, then stays."
)

# %% [markdown]
# Nothing is ahead of the mean by two standard errors. Does that say "use the mean"? No: *not proven* isn't *disproven*, and there are two questions.
#
# *Was I better off with these forecasts?* That is what Diebold and Mariano's ratio answers, errors of fitting included. *Is there anything to know?* For that it is too strict: the mean is an AR(1) with $a_1 = 0$, so the AR(1) pays for estimating one number more. Clark and West (2007) give the price back, the square of the two forecasts' difference:
#
# $$d_t = e^2_{t,\text{mean}} - \big(e^2_{t,\text{model}} - (\hat x_{t,\text{mean}} - \hat x_{t,\text{model}})^2\big)$$
#
# The ratio is formed as before. Only one side counts: beyond 1.65 chance is an unlikely explanation. (The test is made for least squares, so only models fitted that way are in it.)


# %%
def clark_west(actual, forecasts, name, lags):
    mean, model = forecasts["mean of the past"], forecasts[name]
    paid = (actual - model).square() - (mean - model).square()
    return compare_losses((actual - mean).square(), paid, lags=lags)[1]


fitted = ("AR(1)", "AR(2)", "VAR(2), consumption", "VAR(2), unemployment")
of_fitted = {name: clark_west(actual, forecasts, name, lags=4) for name in fitted}
print("growth:", ", ".join(f"{name} {ratio:.2f}" for name, ratio in of_fitted.items()))
two, both = of_fitted["AR(2)"], of_fitted["VAR(2), consumption"]
claim(growth_ar2_clark_west=two, growth_var_clark_west=both)
claim(return_ar_clark_west=clark_west(days_actual, returns, "AR(1)", lags=10))
claim(return_ar_r2=of_returns["AR(1)"][0])

# %% tags=["nbval-ignore-output"]
of_mean, of_ar = ((days_actual - returns[n]).square() for n in ("mean of the past", "AR(1)"))
won = (of_mean - of_ar).cumsum(0)
claim(return_ar_first_part=won[ends[1] - ends[0] - 1] / won[-1])  # 2008 to 2010
claim(return_best_ratio=max(2 * score / bar for score, bar in of_returns.values()))
of_nets = [(days_actual - returns[name]).square().mean(0) for name in networks]
ahead = [compare_losses(each, of_ar, lags=10)[1] for each in of_nets]
claim(return_ar_ahead_of_rnn=ahead[0], return_ar_ahead_of_transformer=ahead[1])

# %% [markdown]
# So there *is* something to know. For returns the ratio is 2.3: yesterday's says something about today's. For growth it is 1.7 with two lags and 2.0 with consumption, the best of four that were tried.
#
# Could one have used it? The AR(1) saves half a per cent of the mean's squared error. So little can be worth money (Campbell and Thompson 2008) if it lasts. It didn't: 97 % of it was won from 2008 to 2010. The AR(1), with two numbers, is ahead of both networks, if not for sure; the transformer has 3,297 parameters.

# %% [markdown] tags=["exercise"]
# > **Exercise 9b.2 (investigate, 30 minutes).** Two choices were made for you. *How far back should the fitting window go?* Older quarters are more data, but of another economy: after 1984 growth became much calmer. Let `ar_2(past[-w:])` and `past[-w:].mean()` walk with windows of $w$ = 20, 40, 80 quarters and all. *Which order?* Let AR(0) to AR(8) walk from 1975 to 1984, choose, and only then look at 1985 to 2009. Did validation choose what the test would have chosen? Is the difference more than its error?
# >
# > | window | AR(2), RMSE | mean, RMSE | difference in standard errors |
# > |---|---|---|---|
# > | 20 quarters | | | |
# > | 40 | | | |
# > | 80 | | | |
# > | all | | | |
# >
# > <details><summary>Hint</summary><code>walk_forward(lambda past: ar_2(past[-40:]), growth, start)</code>; for the years of validation, hand it <code>growth[:start]</code> and <code>start - 40</code>. Errors with <code>lags=4</code>.</details>
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
# The AR(2) has three numbers to estimate and wants all the data; the mean has one and would rather forget, a little. Validation chose order 1 (4.55, against 4.64 for order 2), by 0.9 standard errors; on the test, order 1 has 2.26 and order 2 has 2.19. The test would have chosen 4 (2.17), 2.1 standard errors ahead of order 1. But 4 is the winner of nine, picked on the test itself: such a lead is flattered.
#
# </details>

# %% [markdown]
# ## What you have now
#
# How much of tomorrow is in today? That depends on the series:
#
# | from today, forecast tomorrow's … | $R^2$ | nats |
# |---|---|---|
# | position of the pendulum, by AR(2) | 0.884 | 1.08 |
# | growth of GDP, by AR(2), after 1984 | 0.232 | |
# | return of the S&P 500, by AR(1), after 2007 | 0.005 | |
#
# At least that is in today: what an AR finds. The last two rows have error bars that reach across 0, and get no nats: that conversion needs noise of constant size. Of tomorrow's *size*, much is in today: lesson 9c.
#
# - A question for every forecast of a price: what is left without the last value? And an $R^2$ with an honest rival.
# - The autoregression and its order; and for a hidden state, which has none, a belief to update.
# - A walk forward, and an error bar on "better" that isn't too short.
# - What still fails: the filter forgets at *one* pace, fixed before it has seen anything. A text is not like that: a name may matter for pages, a comma for a word.
#
# Could a memory *learn* what to keep, and decide anew at each step? That is the question of lesson 9c.

# %% [markdown]
# # 9b · Linear models of series: how much of tomorrow is in today?
#
# A network reads twenty daily closes of the S&P 500 and forecasts the next one. On six years that it never saw, its $R^2$ is 0.998, where 1 is perfect. Would you trade on it? The first section shows why you shouldn't; the others ask how much of tomorrow *is* in today, and how sure we are.
#
# **Afterwards you can** see through a good forecast of a price, fit an autoregression, walk forward through a series, put an error bar on "better", and write a Kalman filter in three lines.
#
# **Before**: lessons 1 (how much context a text needs), 2b (the error of a difference), 6 (attention) and 7 (baselines).
#
# **Runs in** {runs_in}. **Study time** {study}.
#
# **Sources**: Yule (1927) for the autoregression, Kalman (1960) for the filter, Newey and West (1987) and Diebold and Mariano (1995) for the error of a difference, Clark and West (2007) for nested models. Data: S&P 500 from the package `arch`; US national accounts from `statsmodels`.

# %% tags=["setup", "machine"]
from functools import partial

import matplotlib.pyplot as plt
import torch
from torch import nn
from torch.nn import functional as F
from torch.testing import assert_close

from coursekit import data
from coursekit.evaluate.likelihood import compare_losses, hac_error, r_squared_error
from coursekit.notebook import claim, compare_guess, figure
from coursekit.notebook import keep_sample, scoreboard, setup

_ = setup("09b_linear_series", seed=42)

# %% [markdown]
# ## 9b.1 An $R^2$ of 0.998
#
# We take the closes of 5,031 days as logarithms, so that a difference is a **return**: for small moves, the relative change from one close to the next. A window holds twenty closes and the one that follows.
#
# The network sees each close relative to the latest and forecasts the return $r$ that comes next. Its forecast of the *price* is the latest close times $e^r$. So we have handed it the last close. It is `nn.RNN`, PyTorch's network that reads a series step by step (lesson 9c opens it up), with 16 hidden units. It learns from the days before 2013.

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
# The last close scores 0.998, too, because the benchmark is hopeless: the *mean of those six years*, unknown in 2013, from which the index drifts by hundreds of points. (It is **nonstationary**: it has no level to return to.)
#
# So forecast the return, not the price: nobody is paid for knowing where the index stands. And take a benchmark that could have been used: the **mean of the past**, here of the returns before 2013. That is a form of the **out-of-sample $R^2$** (Campbell and Thompson 2008). The network's is 0.
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
print("truth        ", truth)
print("least squares", by_squares)
assert_close(fit_ar(swing, 2), by_squares, rtol=1e-8, atol=1e-8)  # the library's

# %% [markdown]
# With normal noise that is maximum likelihood, too, given the first two values: $-\ln$ of a normal density is $\tfrac12 (e_t/\sigma)^2$ plus a constant, and lesson 1's loss adds those up.
#
# ## 9b.3 Growth, one quarter ahead
#
# We forecast the growth of the real gross domestic product of the United States, in per cent a year, in the figures of 2009. (A forecaster of 1985 had earlier ones.)
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
growth_r2 = r_squared(actual, forecasts["AR(2)"], forecasts["mean of the past"])
print(f"R² of the AR(2) against the mean of the past: {growth_r2:.3f}")

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
# When a crisis comes, both forecasts fail. So take the difference *quarter by quarter*, $d_t = e^2_{t,\text{mean}}-e^2_{t,\text{AR}}$. How far may its mean $\bar d$ be off? If the $n$ quarters are independent, its standard error is
#
# $$\sqrt{\gamma_0/n}, \qquad \gamma_0=\frac1n \sum_t (d_t-\bar d)^2$$
#
# and the truth is more than two of these away once in twenty times. *Are* they independent? Their **autocorrelation** tells: the correlation of each value with the one $k$ steps later.


# %%
def autocorrelation(series, k):
    centred = series - series.mean()
    return ((centred[k:] * centred[:-k]).sum() / centred.square().sum()).item()


of_mean, of_ar = squared["mean of the past"], squared["AR(2)"]
print("d, k quarters apart:", *(f"{autocorrelation(of_mean - of_ar, k):.2f}" for k in (1, 2, 3)))

# %% [markdown]
# They aren't: good quarters for the AR(2) come in runs. Does it matter? We make 2,000 series of 99 numbers with a true mean of 0, whose neighbours are correlated by 0.56, too, and count how many have a mean more than two standard errors from 0: each a false alarm.

# %%
pushes = torch.randn(149, 2000, generator=torch.Generator().manual_seed(42)).double()
runs = [pushes[0]]
for push in pushes[1:]:
    runs.append(0.56 * runs[-1] + push)
runs = torch.stack(runs[50:], 1)  # (2000, 99); what came first is forgotten


def false_alarms(lags):
    ratios = [compare_losses(run, 0 * run, lags)[1] for run in runs]  # mean / standard error
    return (torch.tensor(ratios).abs() > 2).double().mean()


claim(false_alarms=false_alarms(lags=0))

# %% [markdown]
# More than one in four, not one in twenty! Where does the formula go wrong? The variance of a sum is the sum of *all* its $n \times n$ covariances. Independent numbers have only those on the diagonal, $n$ times $\gamma_0$. Ours have more: for each distance $k$ there are two further diagonals, $(t, t-k)$ and $(t-k, t)$. So the variance of $\bar d$, that of the sum divided by $n^2$, is about
#
# $$\Big(\gamma_0+2 \sum_{k \ge 1} \gamma_k\Big) \Big/n, \qquad \gamma_k=\frac1n \sum_{t>k} (d_t-\bar d)(d_{t-k}-\bar d)$$
#
# But we have one series to estimate each $\gamma_k$ from. Take them all, and what is in the brackets is $(\sum_t (d_t-\bar d))^2/n$: always 0. So stop at a distance $L$, the **lag truncation**, and trust each $\gamma_k$ less than the one before: let its weight fall in equal steps from 1 at $k=0$ to 0 at $k=L+1$. (Then the variance can't come out negative.) The root is the **HAC** standard error, for heteroskedasticity and autocorrelation consistent (Newey and West 1987). For quarters we take $L=4$, a year, for days $L=10$, two weeks.

# %% [markdown] tags=["exercise"]
# > **Exercise 9b.1 (build, 20 minutes).** Put the error bar on "better".
# >
# > **Warm-up (5 minutes).** `paired_error(first, second)` takes the squared errors of two forecasts, of shape (n,), and returns $\sqrt{\gamma_0/n}$, a number: divide by n, not n − 1.
# >
# > **Build (15 minutes).** `careful_error(first, second, lags)` returns the HAC standard error, with L = `lags`, which may be 0. First write down the weight of $\gamma_k$.
# >
# > <details><summary>Hint 1</summary>For n quarters, <code>centred = d - d.mean()</code>. The pairs of quarters k apart are <code>centred[k:]</code> and <code>centred[:-k]</code>; k begins with 1.</details>
# > <details><summary>Hint 2</summary>The weight is 1 − k / (L + 1), and each γ is a sum over pairs divided by n, also where there are only n − k pairs. Don't forget the 2, and that of the variance you want the root.</details>


# %% tags=["stub"]
def paired_error(first, second): ...  # a number


# %% tags=["check"]
from coursekit.exercises import linear_series
from coursekit.exercises.stub import answer_or

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
# `compare_losses` returns $\bar d$ and how many of its HAC standard errors that is.
#
# **Predict.** 23 %, over 99 quarters: how many standard errors is that, with $L = 4$?

# %% tags=["predict"]
guess = None  # such as 3

# %%
(_, ratio), (_, careful) = (compare_losses(of_mean, of_ar, lags=lags) for lags in (0, 4))
print(f"L = 0: {ratio:.1f} standard errors")
compare_guess(guess, careful, unit="standard errors")
claim(growth_ar2_careful_ratio=careful, false_alarms_careful=false_alarms(lags=4))

# %% [markdown]
# 2.2 standard errors have become 1.5: this ratio is the test of Diebold and Mariano (1995). The false alarms are down to one in eight. (Not to one in twenty: 99 quarters are few. Lazarus and colleagues, 2018, advise a longer $L$ and wider limits.)
#
# And how sure is the 23 %? $R^2=1-\rho$, where $\rho$ is the ratio of the two mean squared errors. A crisis raises both, so it moves their ratio less than either. If the true ratio is $\rho$, ours is off by the mean of $z_t=e^2_{t,\text{AR}}-\rho\,e^2_{t,\text{mean}}$, divided by that of $e^2_{t,\text{mean}}$. So we take the HAC standard error of $\bar z$, divide it in the same way, and put in our own ratio for the true one (the **delta method**).


# %%
def score(name, actual, benchmark, model, lags):
    base, each = (actual - benchmark).square(), (actual - model).square()
    rho = each.mean() / base.mean()
    bar = 2 * (our_error(each, rho * base, lags) / base.mean()).item()
    assert_close(bar, 2 * r_squared_error(base, each, lags))  # the library's
    print(f"{name:20} R² {1 - rho:7.4f} ± {bar:.4f}")
    return (1 - rho).item(), bar


our_error = answer_or(careful_error, hac_error)  # yours, once you have written it
past_mean = forecasts["mean of the past"]
_ = score("AR(2)", actual, past_mean, forecasts["AR(2)"], lags=4)
claim(growth_crisis_part=(of_mean - of_ar)[-4:-1].sum() / (of_mean - of_ar).sum())

# %% [markdown]
# From here on, **± is two standard errors of $R^2$**: 23 % ± 17. That bar leaves 0 out, and the ratio, 1.5, doesn't. Why? The bar weighs the mean's errors with $\rho=0.77$, the test with 1, and at 1 the crisis stands out more. Two thirds of the lead were won from October 2008 to June 2009. So the data can't settle it.

# %% [markdown] tags=["exercise"]
# > **Exercise 9b.2 (investigate, 25 minutes).** How far back should the fitting window go? Older quarters are more data, but perhaps of another economy. Let `ar_2(past[-w:])` and `past[-w:].mean()` walk with **rolling** windows of $w$ = 20, 40, 80 quarters and the **expanding** one, all. Fill in the table: each RMSE, and how many standard errors (`compare_losses`, $L=4$) each window is behind all. Which forecast needs a long past, and why?
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
# The AR(2) has three numbers to estimate and suffers with 20 or 40 quarters, if not quite by two standard errors; 80 are enough. The mean has one and does a little better when it forgets, but by one standard error at most.
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
# How far should a new value $x$ move it? With weight $k$ on the value, the new mean is $m + k (x - m)$, and its variance $(1-k)^2 P+k^2 r$. The derivative $2kr-2(1-k)P$ is 0 at $k = P / (P + r)$, the **Kalman gain**; there the variance is $k r$:


# %%
def our_filter(series, r, q, mean, variance):
    means = [mean]
    for x in series.tolist():
        k = variance / (variance + r)  # how much of the news to believe
        mean = mean + k * (x - mean)
        variance = k * r + q  # what is left, and the step adds to it
        means.append(mean)
    return torch.tensor(means, dtype=torch.float64)


# %% [markdown]
# That is the whole **Kalman filter** for the local level; the library's is `filter_local_level` ([source](../coursekit/models/local_level.py)). If $q = 0$ and nothing is known at first, it is the *mean of the past*, computed one value at a time: **recursive least squares**.

# %%
from coursekit.models.local_level import filter_local_level, fit_local_level

levels = our_filter(growth, r=16.0, q=0.8, mean=3.0, variance=10.0)
library, _ = filter_local_level(growth, noise_var=16.0, level_var=0.8, mean=3.0, variance=10.0)
assert_close(levels, library)
still = our_filter(growth, r=16.0, q=0.0, mean=0.0, variance=1e12)  # knows nothing
means = growth.cumsum(0) / torch.arange(1, len(growth) + 1)
assert_close(still[1:], means, rtol=0, atol=1e-8)

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
# Believe the level fixed, and each quarter teaches you less. Believe that it wanders, and you stay curious: with $q / r = 0.05$, the gain settles at 0.2, and a value loses a fifth of its weight with each quarter. With a steady gain it is **simple exponential smoothing** (Muth 1960).
#
# Does any of these do better than the AR(2)? Four more models, refitted each quarter:
#
# | model | the next value $x_t$ |
# |---|---|
# | AR(1) | $c+a\,x_{t-1}+e_t$ |
# | local level | $m$ from the filter; $q$, $r$ by maximum likelihood, since $x_t$ is normal around $m$ with variance $P+r$ |
# | **ARMA**(1, 1) | $c+a\,x_{t-1}+e_t+b\,e_{t-1}$: the last miss counts, too |
# | **vector autoregression** (VAR) | $c+a_1x_{t-1}+a_2x_{t-2}+b_1y_{t-1}+b_2y_{t-2}+e_t$, with $y$ the growth of consumption |


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
rmse = {name: (actual - one).square().mean().sqrt() for name, one in forecasts.items()}
claim(growth_ar1_rmse=rmse["AR(1)"], growth_level_rmse=rmse["local level"])
claim(growth_arma_rmse=rmse["ARMA(1, 1)"], growth_var_rmse=rmse["VAR(2), consumption"])

# %%
rows = {"last_value": "last value", "ar2": "AR(2)", "ar1": "AR(1)", "level": "local level"}
rows |= {"arma": "ARMA(1, 1)", "var": "VAR(2), consumption"}
of_growth = {key: score(one, actual, past_mean, forecasts[one], 4) for key, one in rows.items()}
board = {key: [f"{100 * r2:.0f} ± {100 * bar:.0f}"] for key, (r2, bar) in of_growth.items()}
keep_sample(mean=["0"], **board)  # for the scoreboard
claim(growth_ar2_bar=of_growth["ar2"][1], growth_var_bar=of_growth["var"][1])

# %% tags=["scoreboard"]
scoreboard("growth")

# %% [markdown]
# Every forecast except "last value" beats the mean, four of them by slightly more than their bar. The VAR saves most, 35 %. But it is the best of six, and its bar is the widest of the five.
#
# ## 9b.5 The return: is there anything to know?
#
# Back to the returns, 2008 to 2018: the mean of the past, an AR(1), and a transformer (lesson 7's, over the same twenty days). All are fitted to the years before 2008, 2011, 2014 and 2017, and forecast up to the next of these dates. The transformer was tuned on 2005 to 2007; its forecast is an average of three seeds'.


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
of_return = {}
for name in ("AR(1)", "transformer"):
    of_return[name] = score(name, next_day, flat, returns[name], lags=10)
wrong = ((next_day - returns[name]).square() for name in ("transformer", "AR(1)"))
claim(return_ar_ahead_of_transformer=compare_losses(*wrong, lags=10)[1])

# %% [markdown]
# Both bars include 0, and the transformer, with 3,297 parameters, can't be told from the AR(1) with two. So is there nothing to know?
#
# That is another question. So far we asked whether one was better off with a forecast, and a forecast also pays for what it fitted wrongly. Suppose there is nothing to know. Then the mean $m$ is the best forecast, and an AR that says $m+\delta$ is wrong by $\delta$. Its squared error is
#
# $$(x-m-\delta)^2=(x-m)^2-2\,\delta\,(x-m)+\delta^2$$
#
# The middle term is 0 on average, since $\delta$ was fixed before $x$ came. So it loses by $\delta^2$, the price of fitting. **Clark and West** (2007) give that back before they form the ratio. It works where a model **nests** the mean, that is, could have chosen to be it. Let us try on pure noise: 300 series as long as that of growth, and an AR(2) that walks forward through each.


# %%
def our_ratios(actual, mean, model, lags):  # as it is, and with the price of fitting given back
    base, each = (actual - mean).square(), (actual - model).square()
    price = (mean - model).square()
    return [compare_losses(base, one, lags)[1] for one in (each, each - price)]


def ratios_on_noise(seed):
    noise = torch.randn(len(growth), generator=torch.Generator().manual_seed(seed)).double()
    mean, model = (walk_forward(one, noise, start) for one in (torch.mean, ar_2))
    return our_ratios(noise[start:], mean, model, lags=4)


plain, given_back = torch.tensor([ratios_on_noise(seed) for seed in range(300)]).T
claim(noise_plain=plain.mean(), noise_given_back=given_back.mean())
claim(noise_above_165=(given_back > 1.65).double().mean())

# %% [markdown]
# Now all that nest the mean, growth and the return alike:

# %%
nested = [name for name in rows.values() if name != "last value"]
found = {f"growth: {one}": our_ratios(actual, past_mean, forecasts[one], 4) for one in nested}
found["return: AR(1)"] = our_ratios(next_day, flat, returns["AR(1)"], 10)
for name, (before, after) in found.items():
    print(f"{name:26} as it is {before:.2f}, given back {after:.2f}")
best, last = found["growth: VAR(2), consumption"][1], found["return: AR(1)"][1]
claim(growth_ar_clark_west=found["growth: AR(2)"][1], growth_var_clark_west=best)
claim(return_ar_clark_west=last)
saved = (next_day - flat).square() - (next_day - returns["AR(1)"]).square()
claim(return_crisis_part=saved[year[ends[0] :] < 2010].sum() / saved.sum())

# %% tags=["figure", "folded"]
axes = plt.subplots(2, 1, figsize=(8.5, 4.8), sharex=True, sharey=True)[1]
for k, (ax, ratios) in enumerate(zip(axes, (plain, given_back), strict=True)):
    ax.hist(ratios, torch.arange(-4, 3.3, 0.25).tolist(), color="0.75")
    ax.axvline(0, color="black", linewidth=1)
    ax.set(xlim=(-4, 4), ylabel="series of noise")
    for color, height, name in (("C0", 36, "growth: AR(2)"), ("C3", 22, "return: AR(1)")):
        ax.plot(found[name][k], height, "D", color=color)
        ax.text(found[name][k] + 0.12, height, name, color=color, va="center")
axes[0].text(-3.9, 30, "as it is: on noise (grey)\nthe AR(2) looks harmful")
axes[1].text(-3.9, 30, "price of fitting given back:\nnearly even")
axes[1].axvline(1.65, color="0.4", linestyle=":")
axes[1].set_xlabel("ahead of the mean, in standard errors (dotted: 1.65)")
axes[0].set_title('Ask noise what "no better than the mean" looks like')
figure("noise", alt="Ratios on noise lie below 0; given back, around 0, with ours right of 1.65.")

# %% [markdown]
# On noise, the ratio as it is is $-0.8$ on average: an AR(2) that is merely level with the mean has already found something. Given back, noise comes above 1.65 in 4 % of the series. (Only a lead counts here, so the limit has one side: 1.65, which chance should exceed once in twenty times.) The return's AR(1) stands at 2.3, growth's AR(2) at 1.7 and the VAR, the best of five, at 2.0.
#
# So there probably *was* something to know: in growth by a hair, and in the return half a per cent of the squared error, nine tenths of it won in 2008 and 2009. Whether it is still there, the years since can't tell.
#
# ## 9b.6 Its size: volatility
#
# What of the **absolute return**, which measures tomorrow's **volatility**? Wild days come in clusters (**volatility clustering**), as the autocorrelation shows.

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
of_absolute = score("AR(10)", now, usual, fitted, lags=10)
score("mean of the last ten", now, usual, ten, lags=10)
over_ten = score("AR(10) over that", now, ten, fitted, lags=10)
compare_guess(guess, over_ten[0])
claim(absolute_r2=of_absolute[0], absolute_r2_over_ten=over_ten[0])

# %% [markdown]
# Eleven fitted parameters give no demonstrable gain over a ten-day mean. Much of tomorrow's volatility *is* in the past, and a plain mean finds as much of it as the fit. (Both read sizes alone. Falls are followed by wilder days than rises, the **leverage effect**; Black 1976.)

# %% [markdown]
# ## What you have now
#
# How much of tomorrow is in today?

# %%
half = 10_000  # the pendulum is fitted to the first half, scored on the other
fitted = forecast_ar(swing, fit_ar(swing[:half], 2))[half - 2 : -1]  # they begin with step 2
answers = {"pendulum": score("pendulum", swing[half:], swing[:half].mean(), fitted, lags=16)}
answers |= {"growth of GDP": of_growth["ar2"], "S&P 500: return": of_return["AR(1)"]}
answers["S&P 500: absolute return"] = of_absolute
claim(pendulum_r2=answers["pendulum"][0])

# %% tags=["figure", "folded"]
plt.figure(figsize=(8.5, 3.2))
for row, (name, (r2, bar)) in enumerate(reversed(answers.items())):
    plt.errorbar(r2, name, xerr=bar, fmt="|", markersize=12, color="C0", capsize=4)
    label = f"{100 * r2:.1f} % ± {100 * bar:.1f}"
    plt.text(r2 + bar + 0.02, row, label, va="center", color="C0", backgroundcolor="white")
plt.axvline(0, color="black", linewidth=1)
plt.gca().set(
    xlim=(-0.1, 1.15), ylim=(-0.6, 3.6), xlabel="out-of-sample $R^2$ ± two standard errors"
)
plt.title("Hardly any of tomorrow's return is in today; more of its absolute value")
figure("answer", alt="R²: pendulum 0.88; growth 0.23, wide bar; return 0; absolute return 0.29.")

# %% [markdown]
# - Of the pendulum 88 %; the rest is peas. Of growth 23 %, ± 17. Of the return half a per cent. Of its absolute value 29 %, which a mean of ten days knows, too.
# - A question for every forecast, a walk forward, and an error bar on "better". For a hidden state, a belief to update.
# - What still fails: the filter forgets at *one* pace, whatever it reads. In a text, a name may matter for pages, a comma for a word.
#
# Could a memory *learn* what to keep, and decide anew at each step? That is the question of lesson 9c.

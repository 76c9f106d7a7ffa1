# %% [markdown]
# # 9b · Linear series: how much of tomorrow is in today?
#
# A network reads twenty daily closes of the S&P 500 and forecasts the next one. On six years that it never saw, its $R^2$ is 0.998, where 1 is perfect. And it is worth nothing: a forecaster without a single parameter does as well. So how do you see what a forecast is worth? And how much of tomorrow *is* in today?
#
# **Afterwards you can** see through a good forecast of a price, fit an autoregression in three ways that agree, walk forward through a series, put an error bar on "better", and write a Kalman filter in three lines.
#
# **Before**: lesson 1 (how much context a text needs) and lesson 7 (baselines).
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
# The closes of 5,031 days, as logarithms, so that a difference is a **return**, the relative change from one close to the next. A window holds twenty closes and the one that follows. The network sees each close relative to the latest and forecasts the return $r$ that comes next; its forecast of the *price* is the latest close times $e^r$.

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


def forecast_with(make, first, last, lr=0.003, seed=42, steps=200):
    torch.manual_seed(seed)
    model, scale = make(), target[:first].std()
    x, y = (history / scale / 4).float(), (target / scale).float()
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


def r_squared(target, forecast):
    return 1 - (target - forecast).square().mean() / target.var(correction=0)


# %% [markdown]
# $R^2 = 1 - \text{mean squared error} / \text{variance of the target}$: which part of the variance the forecast explains.
#
# **Predict.** What is the $R^2$ of the forecast "tomorrow's close is today's"?

# %% tags=["predict"]
guess = None  # such as 0.5

# %% tags=["nbval-ignore-output"]
of_last = r_squared(tomorrow, today)
compare_guess(guess, of_last.item())
claim(price_r2=r_squared(tomorrow, forecast_price), last_close_r2=of_last)
claim(return_r2=r_squared(target[cut:], forecast))

# %% tags=["figure", "nbval-ignore-output"]
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
right.text(0.5, -3.7, "dotted: where\nall would lie\nif it knew", color="0.4")
right.set(xlim=(-2, 2), xlabel="forecast return (%)", ylabel="return (%)")
right.set_title("… and of the change it knows nothing")
figure("late", alt="Forecast over close for six years; thirty days, one late; a shapeless cloud.")

# %% [markdown]
# The last close scores 0.998, too. Why so high? Because $R^2$ compares with a rival that nobody would send into the race: the *mean of the six years*, from which the index strays by hundreds of points. Against a hopeless rival anything looks good.
#
# Nobody is paid for knowing where the index stands. What can be earned is the return, and there the network's $R^2$ is 0.000; with five other seeds it is negative, so that the mean return would have been better. **Ask of every forecast: what is left if you take away the last value?** The rest of this lesson is about the part that is left: where it comes from, and how to measure it honestly.

# %% [markdown]
# ## 9b.2 Order two: a pendulum that is pelted with peas
#
# Now a series in which there *is* something to know. Yule (1927) thought of a pendulum that boys pelt with peas: it swings, and is pushed at random.
#
# $$x_t = c + a_1 x_{t-1} + a_2 x_{t-2} + e_t, \qquad e_t \sim \mathcal N(0, \sigma^2)$$
#
# This is an **autoregression** of **order** 2, or AR(2). Given the last two values, each value is normal with mean $c + a_1 x_{t-1} + a_2 x_{t-2}$, and everything older says nothing more. It is lesson 1's table with two symbols of context, with a line in the place of the table: three numbers instead of one row for each context.

# %%
truth = torch.tensor([0.25, 1.5, -0.75], dtype=torch.float64)  # c, a₁, a₂; σ = 1
c, a1, a2 = truth.tolist()
peas = torch.randn(20_000, generator=torch.Generator().manual_seed(42)).tolist()
swing = [1.0, 1.0]
for pea in peas:
    swing.append(c + a1 * swing[-1] + a2 * swing[-2] + pea)
swing = torch.tensor(swing, dtype=torch.float64)

# %% [markdown]
# How do we find the three numbers from the series? The loss is what it has been since lesson 1, the mean negative log-likelihood:
#
# $$-\log p(x_t \mid x_{t-1}, x_{t-2}) = \tfrac12 \ln 2\pi + \ln\sigma + \frac{(x_t - c - a_1 x_{t-1} - a_2 x_{t-2})^2}{2\sigma^2}$$
#
# $c, a_1, a_2$ appear in the square only. So whatever $\sigma$ is, the most likely ones are those with the smallest squares, and for those linear algebra has a formula.

# %%
lags = torch.stack([torch.ones(20_000), swing[1:-1], swing[:-2]], 1)  # 1, x_{t-1}, x_{t-2}
by_squares = torch.linalg.solve(lags.T @ lags, lags.T @ swing[2:])
print("least squares", by_squares)

# %% [markdown]
# A network has no such formula; it goes downhill. Let us do the same here, from zero, with $\ln \sigma$ as a fourth parameter.
#
# **Predict.** Both use 20,000 values. Which one comes closer to the truth: "squares", "gradient", or "same"?

# %% tags=["predict"]
guess = None  # "squares", "gradient" or "same"

# %%
parameters = torch.zeros(4, dtype=torch.float64, requires_grad=True)  # c, a₁, a₂, ln σ
path = []
for _ in range(1500):
    loss = gaussian_nll(swing[2:], lags @ parameters[:3], parameters[3]).mean()  # 1 forward
    parameters.grad = None  # 2 clear
    loss.backward()  # 3 backward
    path.append(parameters.tolist())  # 5 note
    with torch.no_grad():
        parameters -= 0.05 * parameters.grad  # 4 step

# %%
from statsmodels.tsa.ar_model import AutoReg

from coursekit.models.baselines import fit_ar, forecast_ar

by_gradient = parameters.detach()[:3]
theirs = torch.tensor(AutoReg(swing.numpy(), 2).fit().params)
print("gradient     ", by_gradient)
assert_close(fit_ar(swing, 2), by_squares, rtol=1e-8, atol=1e-8)  # the library's
compare_guess(guess, "same")
gaps = [(by_squares - other).abs().max() for other in (truth, by_gradient, theirs)]
claim(ar_off_truth=gaps[0], ar_off_gradient=gaps[1], ar_off_statsmodels=gaps[2])

# %% tags=["figure"]
grid_1, grid_2 = torch.linspace(-0.1, 1.9, 60), torch.linspace(-1.1, 0.8, 60)
pairs = torch.cartesian_prod(grid_1, grid_2).double()
means = by_squares[0] + lags[::20, 1:] @ pairs.T  # every 20th value will do here
losses = (swing[2::20, None] - means).square().mean(0).log().view(60, 60)
plt.figure(figsize=(7.5, 5))
plt.contour(grid_1, grid_2, losses.T, levels=14, cmap="viridis_r", linewidths=0.8)
walk_1, walk_2 = torch.tensor(path)[:, 1:3].T
plt.plot(walk_1, walk_2, "o-", color="C1", markersize=5, markevery=[0, *(2**k for k in range(8))])
plt.plot(by_squares[1], by_squares[2], "k*", markersize=14)
plt.text(-0.07, -0.12, "gradient descent starts", color="C1")
plt.annotate("least squares", (1.47, -0.77), (0.75, -0.98), arrowprops=arrow, fontsize=12)
plt.gca().set(xlabel="$a_1$", ylabel="$a_2$", title="Down the likelihood, to least squares")
figure("descent", alt="Oval contours in the plane of a1 and a2; a path bends into their centre.")

# %% [markdown]
# Least squares *is* maximum likelihood, if the noise is normal, and gradient descent finds the same point, to eight digits and more. The estimates miss the truth by 0.012 at most. That is no fault of the method: 20,000 values don't know more.

# %% [markdown]
# ## 9b.3 What has no order
#
# Is every series an autoregression, if only the order is large enough? Ask what the $k$-th value back still adds once all later ones are known: by how many nats does it lower the entropy of the next value? For a normal series, the entropy given $k$ values is $\ln \sigma_k$ plus a constant, and the Cholesky factor of the covariance matrix has all $\sigma_k$ on its diagonal.
#
# Three processes: our AR(2); a level that follows an AR(1) but is seen through noise; and a hidden mood like lesson 1's, which switches once in twenty steps and shows one of two symbols.


# %%
def gains_of_normal(covariances):  # of values 0, 1, … steps apart
    n = len(covariances)
    distance = (torch.arange(n)[:, None] - torch.arange(n)).abs()
    sigma = torch.linalg.cholesky(covariances[distance]).diagonal()
    return -sigma.log().diff()


ar2 = [1.0, a1 / (1 - a2)]  # autocorrelations: Yule's equations
for _ in range(10):
    ar2.append(a1 * ar2[-1] + a2 * ar2[-2])
noisy = 0.9 ** torch.arange(12.0, dtype=torch.float64)
noisy[0] += 1  # noise of the same variance as the level
gains = {"AR(2)": gains_of_normal(torch.tensor(ar2, dtype=torch.float64))}
gains["a level, seen through noise"] = gains_of_normal(noisy)

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
print("given 1, 2, 3, … symbols:", " ".join(f"{h:.4f}" for h in given[1:]), "nats")
mood = gains["a hidden mood, seen as symbols"] = -given.diff()
claim(mood_given_1=given[1], mood_given_11=given[11], mood_least_gain=mood.min())

# %% tags=["figure"]
from coursekit.notebook.pictures import name_lines

ax = plt.subplots(figsize=(8.5, 4.5))[1]
for marker, (name, gain) in zip("osD", gains.items(), strict=True):
    shown = gain[gain > 1e-9]  # the AR(2)'s are 0, but for rounding
    ax.semilogy(range(1, len(shown) + 1), shown, f"{marker}-", label=name)
ax.plot([2, 2], [gains["AR(2)"][1], 1e-7], ":", color="C0", linewidth=1.5)
ax.text(2.2, 3e-7, "then nothing", color="C0")
ax.set(xlim=(0.5, 16.5), ylim=(1e-7, 2), xticks=range(1, 12), xlabel="$k$, values back")
ax.set(ylabel="the k-th value adds (nats)", title="An order ends, a hidden state's shadow doesn't")
name_lines(ax)
figure("orders", alt="Gains by lag: AR(2) stops after two; the two hidden ones fall on and on.")

# %% [markdown]
# For the AR(2), the third value back adds nothing, to sixteen digits. For the other two, each value adds less than the one before it, and none adds nothing: 0.6397, 0.6184, 0.6069 nats, and on and on. No finite order is enough, although the state itself has one step of memory. What you don't see has a longer shadow than what you see.
#
# Must one keep the whole past, then? No. All that the past says about the future it says through the hidden state. So keep a *belief about the state*, and update it with each value: one probability for the mood; for the level a mean and a variance. Section 9b.5 does it. First, real data.

# %% [markdown]
# ## 9b.4 Growth, one quarter ahead
#
# The gross domestic product of the United States, 1959 to 2009, by quarters: we forecast its growth, in per cent a year. (The figures are those of December 2009, after all revisions. A forecaster of 1985 had others, and errors measured with revised figures can come out too low: Stark and Croushore 2001.)
#
# We **walk forward**: for each quarter from 1985 on, fit on all quarters before it, forecast one step, move on. Nothing from the future can leak in. The rivals are the mean of the past, and the last value.

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
rmse = {name: each.mean().sqrt() for name, each in squared.items()}
claim(growth_mean_rmse=rmse["mean of the past"], growth_last_value_rmse=rmse["last value"])
claim(growth_ar2_rmse=rmse["AR(2)"])
base, ours = (Score(squared[name].mean(), on=actual) for name in ("mean of the past", "AR(2)"))
claim_order(ar2_beats_the_mean=(ours, base))

# %% tags=["figure"]
above, below = plt.subplots(2, 1, figsize=(9, 6), sharex=True, height_ratios=[2, 1])[1]
above.plot(quarters, growth, color="0.7", linewidth=1.2)
above.plot(quarters[start:], forecasts["mean of the past"], color="C2")
above.plot(quarters[start:], forecasts["AR(2)"], color="C0")
above.axvline(quarters[start], color="0.3", linestyle=":", linewidth=1)
above.text(quarters[start - 2], -7.5, "fitted at first", ha="right")
above.text(quarters[start + 2], -7.5, "forecast, one by one")
above.text(quarters[125], 8.5, "mean of the past", color="C2")
above.annotate("AR(2)", (quarters[128], 1.1), (quarters[133], -3.5), color="C0", arrowprops=arrow)
above.set(ylabel="growth of GDP (% a year)", title="An AR(2) follows the economy, at a distance …")
below.plot(quarters[start:], (squared["mean of the past"] - squared["AR(2)"]).cumsum(0), "C0")
below.text(quarters[10], 60, "squared error saved so far,\nmean of the past − AR(2)", color="C0")
below.set(ylabel="(% a year)²", title="… and its lead was won in two recessions")
figure("growth", alt="Growth since 1959, damped forecasts; below, a lead that jumps twice.")

# %% [markdown]
# The AR(2) is ahead of the mean, by an eighth. The last value is behind it: a quarter's noise, repeated, is noise twice.
#
# **Predict.** An eighth, on 99 quarters: how many standard errors is that? Beyond 2 it is hardly chance.

# %% tags=["predict"]
guess = None  # such as 3

# %% [markdown]
# Both forecasts face the same quarters, and fail together when a crisis comes. So don't compare the two averages, each with an error of its own: take the difference *quarter by quarter*, and the error of its mean (Diebold and Mariano 1995). One thing more: bad quarters come in a row, so 99 quarters are not 99 independent ones. The second error below allows for a year of such memory (Newey and West 1987).

# %%
lead = squared["mean of the past"] - squared["AR(2)"]  # of each quarter
for name in ("mean of the past", "AR(2)"):
    print(f"{name:16} {squared[name].mean():.2f} ± {squared[name].std() / 99**0.5:.2f}")
gain, ratio = compare_losses(squared["mean of the past"], squared["AR(2)"])
_, careful = compare_losses(squared["mean of the past"], squared["AR(2)"], lags=4)
print(f"difference       {gain:.2f} ± {gain / ratio:.2f}; with memory ± {gain / careful:.2f}")
compare_guess(guess, careful, unit="standard errors")
claim(growth_ar2_ratio=ratio, growth_ar2_careful_ratio=careful)
claim(growth_crisis_part=lead[-4:-1].sum() / lead.sum())  # October 2008 to June 2009

# %% [markdown]
# Judged by their own errors, the two averages could not be told apart. The paired difference is 2.2 standard errors, or, counted with care, 1.5. And two thirds of it come from the three quarters from October 2008 to June 2009, as the lower picture shows. There is *something* of the next quarter in the last two, most of all in bad times; 25 years are too short to be sure.

# %% [markdown]
# ## 9b.5 A level that moves: the Kalman filter
#
# Suppose that growth has a level which nobody sees, that wanders a little, and that each quarter shows it with noise:
#
# $$x_t = l_t + \text{noise of variance } r, \qquad l_{t+1} = l_t + \text{step of variance } q$$
#
# It is called the **local level** model. It has a hidden state, so by section 9b.3 it has no order. But a belief about the level, a mean $m$ with variance $P$, is enough. A value $x$ comes in. How far should it move the belief? Two uncertain sources, the belief (variance $P$) and the value (variance $r$), are averaged, and the weight of the value is the **Kalman gain** $k = P / (P + r)$:


# %%
def our_filter(series, r, q, mean, variance):
    means, gains = [mean], []
    for x in series.tolist():
        k = variance / (variance + r)  # how much of the news to believe
        mean = mean + k * (x - mean)
        variance = k * r + q  # (1 - k) of the old one is left, and the step adds to it
        means.append(mean)
        gains.append(k)
    return torch.tensor(means, dtype=torch.float64), gains


# %% [markdown]
# That is the whole **Kalman filter**, for one hidden number. The library's `filter_local_level` ([source](../coursekit/models/local_level.py)) is the same, and so is that of `statsmodels`. If $q = 0$, the level stands still, each value counts the same, and the filter is the *mean of the past*, computed one value at a time: **recursive least squares**.

# %%
from statsmodels.tsa.statespace.structural import UnobservedComponents

from coursekit.models.local_level import filter_local_level, fit_local_level, local_level_nll

levels, gains_moving = our_filter(growth, r=16.0, q=0.8, mean=3.0, variance=10.0)
library, _ = filter_local_level(growth, noise_var=16.0, level_var=0.8, mean=3.0, variance=10.0)
assert_close(levels, library)
model = UnobservedComponents(growth.numpy(), "llevel")
model.ssm.initialize_known([3.0], [[10.0]])
model.ssm.tolerance = 0  # never stop updating the variance
theirs = torch.tensor(model.filter([16.0, 0.8]).predicted_state[0])
still, gains_still = our_filter(growth, r=16.0, q=0.0, mean=0.0, variance=1e12)  # knows nothing
means = growth.cumsum(0) / torch.arange(1, len(growth) + 1)
claim(kalman_off_statsmodels=(levels - theirs).abs().max(), steady_gain=gains_moving[-1])
claim(still_level_off_mean=(still[1:] - means).abs().max())

# %% tags=["figure"]
left, right = plt.subplots(1, 2, figsize=(10, 4), width_ratios=[1, 1.6])[1]
left.plot(gains_still[:60], color="C2")
left.plot(gains_moving[:60], color="C0")
left.text(22, 0.06, "level stands still: 1 / n", color="C2")
left.text(16, 0.23, "level wanders: 0.2 for ever", color="C0")
left.set(xlabel="quarters seen", ylabel="Kalman gain $k$", title="How much of the news to believe")
right.plot(quarters, growth, color="0.75", linewidth=1)
right.plot(quarters, still[:-1], color="C2")
right.plot(quarters, levels[:-1], color="C0")
right.text(quarters[100], 12, "the mean of all quarters so far", color="C2")
right.text(quarters[100], 10, "a mean that forgets", color="C0")
right.set(ylabel="growth (% a year)", title="One filter forgets, the other doesn't")
figure("gain", alt="Left: one gain falls as 1/n, one stays at 0.2. Right: two levels over growth.")

# %% [markdown]
# Whoever believes in a fixed level learns less and less from each quarter. Whoever believes that it wanders stays curious: with $q / r = 0.05$, as here, the gain settles at 0.2, and a value loses a fifth of its weight with each quarter that passes. Such a forecast reads the whole past and keeps two numbers of it.
#
# Which belief is right? The filter gives each value a forecast and a variance, hence a likelihood. `fit_local_level` tries fifty ratios $q / r$ and keeps the best; `statsmodels` sends an optimiser uphill.

# %%
past = growth[:start]
(r, q), (r_up, q_up) = (
    fit_local_level(past),
    UnobservedComponents(past.numpy(), "llevel").fit().params,
)
print(f"of all ratios the best is {q / r:.5f}; uphill, one arrives at {q_up / r_up:.5f}")
claim(two_hills=local_level_nll(past, 0.05)[0] - local_level_nll(past, q / r)[0])

# %% [markdown]
# The likelihood has two hills of almost the same height, a quarter of a nat apart: 26 years can't tell a level that all but stands still from one that wanders. An optimiser climbs the hill that it starts on, and here it is the lower one. Trying all ratios takes milliseconds.

# %% [markdown] tags=["exercise"]
# > **Exercise 9b.1 (build, 25 minutes).** Follow something else: the coefficient of an AR(1) without constant, $x_t = a_t x_{t-1} + \text{noise of variance } r$, which wanders, $a_{t+1} = a_t + \text{step of variance } q$. Write `follow_coefficient(series, r, q, mean, variance)`: the last two are the belief about $a$ before the first pair of values. Return a tensor with the belief's mean after each of the T − 1 pairs. (With $q = 0$ this is recursive least squares for a regression.)
# >
# > <details><summary>Hint 1</summary>The belief forecasts mean · x<sub>t−1</sub>, with variance P · x<sub>t−1</sub>² + r, where P is the variance of the belief. Where the level's filter had a 1, there is now an x<sub>t−1</sub>.</details>
# > <details><summary>Hint 2</summary>The gain is the covariance of coefficient and forecast, P · x<sub>t−1</sub>, divided by the forecast's variance. What is left of P is (1 − k · x<sub>t−1</sub>) · P, and then comes the step.</details>


# %% tags=["stub"]
def follow_coefficient(series, r, q, mean, variance): ...  # a tensor (T,), four numbers


# %% tags=["check"]
from coursekit.exercises import linear_series

linear_series.check_follow_coefficient(follow_coefficient)


# %% tags=["solution"]
def follow_coefficient(series, r, q, mean, variance):
    means = []
    for t in range(1, len(series)):
        before, x = series[t - 1], series[t]
        k = variance * before / (variance * before**2 + r)
        mean = mean + k * (x - mean * before)
        variance = (1 - k * before) * variance + q
        means.append(mean)
    return torch.stack(means)


# %% [markdown]
# ## 9b.6 Two races
#
# **The economy.** More rivals, refitted each quarter by maximum likelihood: the local level, and from `statsmodels` **ARMA**(1, 1), an autoregression of order 1 whose noise has an echo one step later (it is what an AR(1) level seen through noise looks like). And a **vector autoregression** (VAR), which forecasts growth from two lags of growth *and of another series*.


# %%
from statsmodels.tsa.arima.model import ARIMA
from statsmodels.tsa.vector_ar.var_model import VAR


def arma(past):
    return ARIMA(past.numpy(), order=(1, 0, 1)).fit().forecast(1)[0]


def local_level(past):
    r, q = fit_local_level(past)
    return filter_local_level(past, noise_var=r, level_var=q)[0][-1]


def var_2(past):  # (T, 2), growth first
    return VAR(past.numpy()).fit(2).forecast(past[-2:].numpy(), 1)[0, 0]


# %%
beside = {"consumption": 400 * gdp.values[:, 1].log().diff()}
beside["unemployment"] = gdp.values[:, 2].diff()
forecasts["local level"] = walk_forward(local_level, growth, start)
forecasts["ARMA(1, 1)"] = walk_forward(arma, growth, start)
for name, other in beside.items():
    forecasts[f"VAR(2) with {name}"] = walk_forward(var_2, torch.stack([growth, other], 1), start)
squared = {name: (actual - one).square() for name, one in forecasts.items()}

# %% [markdown]
# **The index.** The returns of 2008 to 2018: the mean, the last value, AR(1), the `nn.RNN` of section 9b.1, and a transformer (lesson 7's, with causal attention over the same twenty days). All are fitted on the years before 2008, 2011, 2014 and 2017, and forecast up to the next of these dates. Each network gets a learning rate of its own, chosen on 2005 to 2007, and three seeds.


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
        return self.model(x[..., None], torch.zeros(*x.shape, 3).long())[:, -1, 0]


# %% tags=["nbval-ignore-output"]
def error_with(make, lr):  # on the years of validation
    first, last = row_of(2005), row_of(2008)
    made = forecast_with(make, first, last, lr, seed=0)
    return (target[first:last] - made).square().mean().item()


networks = {"RNN": OurReader, "transformer": OurAttender}
learning_rates, best_lr = (0.001, 0.003, 0.01), {}
for name, make in networks.items():
    best_lr[name] = min(learning_rates, key=partial(error_with, make))
print(best_lr)

# %% [markdown]
# **Predict.** Which forecasts the return of the next day best: "mean of the past", "AR(1)", "RNN" or "transformer"?

# %% tags=["predict"]
guess = None  # "mean of the past", "AR(1)", "RNN" or "transformer"

# %% tags=["nbval-ignore-output"]
ends = [row_of(first_year) for first_year in (2008, 2011, 2014, 2017, 2019)]


def errors_of(forecast):  # squared, of each day; fitted anew at each end
    return (target[ends[0] :] - torch.cat([forecast(*span) for span in pairwise(ends)])).square()


def ar_1(first, last):
    return forecast_ar(target[: last - 1], fit_ar(target[:first], 1))[first - last :]


days_squared = {
    "mean of the past": errors_of(lambda i, j: target[:i].mean().expand(j - i)),
    "last value": errors_of(lambda i, j: target[i - 1 : j - 1]),
    "AR(1)": errors_of(ar_1),
}

# %% tags=["nbval-ignore-output"]
for name, make in networks.items():
    seeds = [partial(forecast_with, make, lr=best_lr[name], seed=seed) for seed in range(3)]
    days_squared[name] = torch.stack([errors_of(seed) for seed in seeds]).mean(0)
compare_guess(guess, min(days_squared, key=lambda name: days_squared[name].mean()))

# %% [markdown]
# Both races on one scale: the **out-of-sample $R^2$**, 1 − mean squared error / *that of the mean of the past* (Campbell and Thompson 2008). It is section 9b.1's $R^2$ with a rival that one could have used. The bars are two standard errors of the paired difference, with a memory of four quarters or ten days.


# %% tags=["nbval-ignore-output"]
def against_mean(squared, lags):
    base, scores = squared["mean of the past"], {}
    for name in list(squared)[1:]:
        gain, ratio = compare_losses(base, squared[name], lags=lags)
        scores[name] = ((gain / base.mean()).item(), (gain / ratio / base.mean()).item())
        print("{:24} {:7.3f} ± {:.3f}".format(name, *scores[name]))
    return scores


races = {"growth of US GDP": against_mean(squared, 4), "S&P 500": against_mean(days_squared, 10)}


# %% tags=["figure", "nbval-ignore-output"]
panels, widths = plt.subplots(1, 2, figsize=(10, 3.6))[1], (0.9, 0.014)
for ax, (name, scores), width in zip(panels, races.items(), widths, strict=True):
    values, errors = torch.tensor(list(scores.values())).T
    rows = -torch.arange(len(scores))
    ax.errorbar(values, rows, xerr=2 * errors, fmt="o", capsize=3)
    if values[0] < -width:
        ax.text(-width, 0, f" ◀ −{-values[0]:.2f}", va="center", color="C0")
    ax.axvline(0, color="black", linewidth=1)
    ax.set_yticks(rows, scores)
    ax.set(title=name, xlim=(-width, width), xlabel="out-of-sample $R^2$ (mind the scale)")
plt.suptitle("Growth: memory helps, perhaps. Returns: nothing beats the mean for sure")
figure("races", alt="Scores with bars of two errors: most above zero, all bars but one reach it.")

# %% tags=["nbval-ignore-output"]
rmse = [each.mean().sqrt() for each in squared.values()][-4:]
claim(growth_level_rmse=rmse[0], growth_arma_rmse=rmse[1])
claim(growth_var_rmse=rmse[2], growth_var_unemployed_rmse=rmse[3])
claim(return_best_ratio=max(score / error for score, error in races["S&P 500"].values()))
ahead = compare_losses(days_squared["transformer"], days_squared["AR(1)"], lags=10)[1]
claim(return_ar_ahead_of_transformer=ahead)

# %% [markdown]
# Growth: every model that remembers is ahead of the mean, but none by two standard errors; the best reads a second series, and that consumption helps to forecast output is known (Cochrane 1994). One country and 99 quarters say no more.
#
# Returns: nothing is ahead of the mean by two standard errors. The AR(1) comes closest, by half a per cent or 1.5 errors; the RNN gains less, and the transformer, with 3,297 parameters, is behind the mean. So the forecast to use is the simplest: the mean. (Whoever tries enough seeds and models will find one that is two errors ahead. That is what two errors mean.)

# %% tags=["nbval-ignore-output"]
keys = ("last_value", "ar2", "level", "arma", "var", "var_unemployed")
saved = zip(keys, races["growth of US GDP"].values(), strict=True)
keep_sample(mean=["0"], **{key: [f"{100 * a:.0f} ± {200 * b:.0f}"] for key, (a, b) in saved})

# %% tags=["scoreboard"]
scoreboard("growth")

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
# > <details><summary>Hint</summary><code>walk_forward(lambda past: ar_2(past[-40:]), growth, start)</code>; for the years of validation, hand it <code>growth[:start]</code> and <code>start - 40</code>.</details>
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
# The AR(2) has three numbers to estimate and wants all the data; the mean has one and would rather forget, a little. Validation chose order 1 (4.55, against 4.64 for order 2); the test would have chosen 4 (2.17, against 2.26 for order 1). That is 2.1 standard errors, but 4 is the winner of nine, picked on the test itself: such a lead is flattered.
#
# </details>

# %% [markdown]
# ## What you have now
#
# - A question for every forecast of a price: what is left without the last value? And an $R^2$ with an honest rival.
# - The autoregression, three ways to the same three numbers, and what an order means.
# - The reason why a hidden state has no order, and the way out: keep a belief, and update it.
# - A walk forward, and an error bar on "better" that is not too short.
# - What still fails: the filter forgets at *one* pace, fixed before it has seen anything. A text is not like that: a name may matter for pages, a comma for a word.
#
# Could a memory *learn* what to keep, and decide anew at each step? That is the question of lesson 9c.

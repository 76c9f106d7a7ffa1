# %% [markdown]
# # 7 · Transformers for time series
#
# What changes when a transformer reads numbers instead of tokens: temperatures, prices, people in a street? And does it then forecast better than a rule that fits on one line?
#
# **Afterwards you can** cut a series into windows without letting the future in, factor a path into one-step forecasts, say what prevents look-ahead (not the mask alone), choose between places and calendars, compare shapes instead of values by convolved queries and keys, make attention cheaper and check what that costs, and judge a forecast next to honest baselines.
#
# **Before**: notebooks 4 (causal convolutions, walk-forward) and 6 (attention, blocks, GPT).
#
# **Runs in** {runs_in}.
#
# **Source**: the decoder-only forecaster, convolved queries and LogSparse attention follow Li et al. (2019); ProbSparse attention follows Zhou et al. (2021); sinusoidal codes, Vaswani et al. (2017); GELU, Hendrycks and Gimpel (2016).

# %% tags=["setup", "machine"]
import math

import matplotlib.pyplot as plt
import torch
from torch import nn
from torch.nn import functional as F
from torch.testing import assert_close

from coursekit import data
from coursekit.notebook import claim, figure, setup, show

device = setup("07_time_series_transformers", seed=42)

# %% [markdown]
# ## 7.1 From tokens to values
#
# A language model reads tokens, one of V. Here a step holds a *number*, or several. Three things change: a table of vectors becomes a linear map; the last layer returns a number instead of V logits; the loss is a squared error instead of a cross-entropy. Blocks, heads and cache stay as they are.
#
# **The problem.** There are N related series $z_{i,t}$, such as the load of N electrical transformers, observed up to step $t_0$. Wanted are the next $\tau$ steps of each, the **horizon**. Beside them stand **covariates** $x_{i,t}$ that are known for the steps to come as well: the hour, the weekday, a holiday. One model with shared weights serves all series; the N series are rows of a batch.
#
# The series of this notebook, one hour a step:

# %% tags=["data"]
series = data.hourly()
target = series.columns[0]
print(f"{len(series):,} hours of {series.name}: {target} ({series.unit}) and {series.columns[1:]}")
print(f"from {series.times[0]} to {series.times[-1]}")
print("values:", tuple(series.values.shape), " calendar:", tuple(series.calendar().shape))

# %% [markdown]
# A forecaster gets **windows**: L steps to read, P steps to forecast, cut at every possible place. Windows overlap; that is fine within a part. What must *not* happen: that a step serves as a target in training and in testing. So the series is cut in time first, targets belong to one part each, and only the *past* of a test window may reach back before the cut. The scale (mean and standard deviation) is measured on training rows alone.

# %% tags=["shown"]
from coursekit.windows.forecast import ForecastWindows, split_windows

show(split_windows, ForecastWindows.take)

# %% tags=["data"]
splits = split_windows(series, past=96, horizon=24)
parts = {"train": splits.train, "valid": splits.valid, "test": splits.test}
for name, part in parts.items():
    print(f"{name:5} {len(part):5} windows, targets in rows {part.first:6} to {part.stop - 1:6}")
(past, known, marks), ahead = splits.test.take(torch.arange(3))
print("past", *past.shape, "| known", *known.shape, "| marks", *marks.shape, "→", *ahead.shape)

# %% tags=["data"]
from dataclasses import replace

row_numbers = torch.arange(len(series), dtype=torch.float64)[:, None]
numbered = replace(series, values=row_numbers.expand_as(series.values))  # each value is its row
cut = split_windows(numbered, past=96, horizon=24)
rows = {}
for name, part in {"train": cut.train, "valid": cut.valid, "test": cut.test}.items():
    aimed = cut.scaler.unscale(part.take(torch.arange(len(part)))[1])
    rows[name] = set(aimed.round().long().flatten().tolist())
    assert rows[name] == set(range(parts[name].first, parts[name].stop))

# %% tags=["data"]
shared = rows["train"] & rows["valid"] | rows["valid"] & rows["test"] | rows["train"] & rows["test"]
claim(targets_in_two_parts=len(shared))
assert not known.any()  # nothing but the calendar is known in advance here

# %% [markdown]
# **Many steps from one.** The joint density of the steps to come is a product of one-step densities, by the chain rule:
#
# $$p(z_{t_0+1}, \dots, z_{t_0+\tau} \mid z_{1:t_0}, x_{1:t_0+\tau}) = \prod_{t=t_0+1}^{t_0+\tau} p(z_t \mid z_{1:t-1}, x_{1:t_0+\tau}).$$
#
# Nothing is assumed to be independent: each factor looks back on the whole path. So a model of *one* step is enough, used again and again. Take the simplest, $z_t = 0.8\, z_{t-1} + \varepsilon_t$ with standard normal $\varepsilon_t$ and $z_0 = 0$. The path is jointly normal with a covariance that can be written down. **Predict**: how close is the sum of one-step log densities to the log density of the path?

# %% tags=["nbval-ignore-output"]
steps, decay = 6, 0.8
generator = torch.Generator().manual_seed(42)
path = torch.randn(steps, generator=generator, dtype=torch.float64)
lag = torch.arange(steps)[:, None] - torch.arange(steps)
mixing = torch.where(lag >= 0, decay ** lag.double(), torch.zeros(()).double())  # z = mixing ε
whole = torch.distributions.MultivariateNormal(torch.zeros(steps).double(), mixing @ mixing.T)

# %% tags=["nbval-ignore-output"]
earlier = F.pad(path, (1, 0))[:-1]  # z_{t-1}
terms = torch.distributions.Normal(decay * earlier, 1.0).log_prob(path)
print(f"path {whole.log_prob(path):.6f}; sum of {steps} one-step terms {terms.sum():.6f}")
gap = (terms.sum() - whole.log_prob(path)).abs()
claim(path_density_error=gap)

# %% [markdown]
# With the spread fixed at 1, the log density of a step is $-\tfrac12 (z_t - \hat z_t)^2$ and a constant. So to minimise the squared one-step error is to maximise the likelihood of whole paths.
#
# A slip you will meet: the factors are written $p(z_t \mid z_{1:t-1}, x_{1:t})$, with covariates up to $t$ only, and this is called the chain rule. It isn't. Leaving out $x_{t+1}, x_{t+2}, \dots$ is an extra assumption, and it can be wrong: people shop *before* a holiday, so tomorrow's covariate says something about today.

# %% tags=["nbval-ignore-output"]
holiday = (torch.rand(20_000, generator=generator) < 0.2).double()
noise = torch.randn(20_000, generator=generator, dtype=torch.float64)
sales = noise[:-1] + 3 * holiday[1:]  # busy on the day before

# %% tags=["nbval-ignore-output"]
so_far = torch.stack([torch.ones_like(sales), holiday[:-1]], 1)
and_tomorrow = torch.cat([so_far, holiday[1:, None]], 1)
left = [
    (sales - x @ torch.linalg.lstsq(x, sales[:, None]).solution[:, 0]).square().mean()
    for x in (so_far, and_tomorrow)
]

# %% tags=["nbval-ignore-output"]
print(f"error left with x up to today: {left[0]:.2f}, with tomorrow's too: {left[1]:.2f}")
claim(covariate_ahead_gain=left[0] - left[1])

# %% [markdown]
# (If it matters, give the model tomorrow's holiday as a covariate of today. We keep the assumption, now that it has a name.)
#
# **What one step reads.** To forecast $z_t$ the model may use $z_{t-1}$ and everything before, and $x_t$. So the vector of step t, the **augmented history**, joins the two:
#
# $$y_t = [z_{t-1}, x_t] \in \mathbb{R}^{d+1}.$$

# %%
z = torch.tensor([10.0, 11.0, 12.0, 13.0])
x = torch.tensor([[0.1], [0.2], [0.3], [0.4]])  # one covariate
y = torch.cat([F.pad(z, (1, 0))[:-1, None], x], 1)  # 0 stands before the first step
y

# %% [markdown]
# The library's version takes all columns at once and leaves the known ones in time. Does $y_t$ hold $z_t$? Change one value and see which vectors move:

# %% tags=["shown"]
from coursekit.models.series_transformer import augment

show(augment)

# %%
both = torch.cat([z[:, None], x], 1)[None]  # (B, T, C) = (1, 4, 2); column 1 is known
assert_close(augment(both, known=(1,))[0], y)

# %%
changed = both.clone()
changed[0, 1, 0] += 1  # z of step 1
moved = (augment(changed, (1,)) != augment(both, (1,))).any(-1)[0].tolist()
print("vectors that moved:", [t for t, has in enumerate(moved) if has])
claim(first_vector_moved=moved.index(True))

# %% [markdown] tags=["exercise"]
# > **Exercise 1.** Write `join_history(z, x)`: values z of shape (B, T) and covariates x of shape (B, T, d) in, the vectors $y_t = [z_{t-1}, x_t]$ of shape (B, T, d + 1) out, with 0 in the place of the value before the first. Check: `check_join_history`.
# >
# > <details><summary>Hint 1</summary>Which value leaves at the end, and what comes in at the start?</details>
# > <details><summary>Hint 2</summary><code>torch.cat</code> along the last axis joins (B, T, 1) and (B, T, d).</details>


# %% tags=["stub"]
def join_history(z, x): ...


# %% tags=["check"]
from coursekit.exercises import series as exercises

exercises.check_join_history(join_history)


# %% tags=["solution"]
def join_history(z, x):
    late = torch.cat([torch.zeros_like(z[:, :1]), z[:, :-1]], 1)
    return torch.cat([late[..., None], x], -1)


# %% [markdown]
# One more slip: that $d + 1$ "plays the role of the width of the model", so that these vectors go straight into attention. With hour, weekday, month and holiday $d + 1 = 5$, and 5 channels don't split into 2 heads:

# %%
from coursekit.layers.attention import MultiHeadAttention

refused = ""
try:
    MultiHeadAttention(d_model=5, n_head=2)
except ValueError as refusal:
    refused = str(refusal)
    print("ValueError:", refused)
assert "multiple" in refused

# %%
joined = MultiHeadAttention(8, 2)(nn.Linear(5, 8)(torch.zeros(1, 4, 5)))
assert joined.shape == (1, 4, 8)  # the width of the model, not d + 1

# %% [markdown]
# And even with 6, three channels a head would be few. So a **linear map at the input** gives the model whatever width it wants. (Texts that feed $y_t$ directly also leave out residual connections and normalisation. Without the former hardly any slope reaches the first layers of a deep stack, see 6.5; what the latter is worth, 6.11 measures.)

# %% [markdown]
# ## 7.2 What prevents look-ahead
#
# Now the whole forecaster: linear map, calendar, places, blocks, linear map. It is notebook 6's GPT with other ends, and a `cache` lets it read further steps as there.

# %% tags=["shown"]
from coursekit.models.series_transformer import (
    IteratedForecast,
    OneStep,
    SeriesTransformer,
    SeriesTransformerConfig,
)

show(SeriesTransformer.forward, OneStep)

# %% [markdown]
# The attention is causal: `attend_past` lets step t read itself and earlier steps. Is that what keeps the future out? Often one reads that "the mask ensures that a forecast uses past values only". Put it to a test on a series that nobody can forecast, **white noise**: independent standard normal numbers. The best forecast is 0, and its mean squared error is 1.
#
# Two trainings, equal in all but one point. One forecasts $z_t$ from $y_t, y_{t-1}, \dots$ The other reads $z_t, z_{t-1}, \dots$, through the same causal mask, with target $z_t$: it lacks the shift.
#
# **Predict**: what error does each reach?


# %%
class Unshifted(OneStep):
    def forward(self, values, marks):
        return self.model(values, marks)  # no augment


# %%
def draw_noise(batch, steps, seed):
    chance = torch.Generator().manual_seed(seed)
    while True:
        values = torch.randn(batch, steps, 1, generator=chance)
        yield (values, torch.zeros(batch, steps, 3, dtype=torch.long)), values


# %% tags=["nbval-ignore-output"]
from coursekit.inside.certify import dependence
from coursekit.training.fit import fit
from coursekit.training.optimiser import adamw, warm_up_cosine


# %%
small = SeriesTransformerConfig(context=16, n_layer=1, n_head=2, d_model=16)
plain = {"norm": lambda width: nn.Identity(), "positions": None}
(held_out, blank), _ = next(draw_noise(2000, 16, seed=1))
held_out, blank = held_out.to(device), blank.to(device)

# %% tags=["nbval-ignore-output"]
reached, reads_later = {}, {}
for seen in (Unshifted, OneStep):
    torch.manual_seed(42)
    model = seen(SeriesTransformer(small, **plain)).to(device)
    fit(
        model, adamw(model, 0.03, weight_decay=0.0), draw_noise(32, 16, seed=42),
        steps=300, loss=F.mse_loss, schedule=warm_up_cosine(300),
    )  # fmt: skip
    with torch.no_grad():
        reached[seen.__name__] = F.mse_loss(model(held_out, blank), held_out).item()
    slopes = dependence(lambda values, model=model: model(values, blank[:4]), held_out[:4])
    reads_later[seen.__name__] = slopes.triu(1).max().item(), slopes.diagonal().max().item()
    print(f"{seen.__name__:9}: mean squared error {reached[seen.__name__]:.2g}")

# %% tags=["nbval-ignore-output"]
print("slopes: towards later steps, towards the step itself", reads_later)
claim(noise_unshifted=reached["Unshifted"])
claim(noise_shifted=reached["OneStep"])
claim(noise_later_slope=reads_later["Unshifted"][0])

# %% [markdown]
# Without the shift the model "forecasts" noise almost perfectly. And its mask is in order: no output depends on a *later* input, the slopes are exactly 0. But step t may read step t, and that is where the answer stands. **It takes both: the shift takes the answer out of the step itself, the mask keeps it out of reach in later ones. The mask alone prevents nothing.** A language model has the same shift: its targets are the tokens, one later.
#
# With the shift the error is that of the best forecast there is. Whoever reports an error far below what a series allows should check the shift first.
#
# Most of what can be forecast, is. A wave of period 12 with noise of standard deviation 0.3, at a random phase:


# %%
def draw_waves(batch, steps, seed, period=12, spread=0.3):
    chance = torch.Generator().manual_seed(seed)
    while True:
        phase = period * torch.rand(batch, 1, generator=chance)
        clean = torch.sin(2 * math.pi * (torch.arange(steps) + phase) / period)
        values = clean[..., None] + spread * torch.randn(batch, steps, 1, generator=chance)
        yield (values, torch.zeros(batch, steps, 3, dtype=torch.long)), values


# %%
def train_waves(steps=200, length=36, context=96, **options):
    torch.manual_seed(42)
    sizes = SeriesTransformerConfig(context=context, n_layer=1, n_head=2, d_model=16)
    model = SeriesTransformer(sizes, **options).to(device)
    batches, smooth = draw_waves(16, length, seed=42), warm_up_cosine(steps)
    fit(OneStep(model), adamw(model, 0.01), batches, steps=steps, loss=F.mse_loss, schedule=smooth)
    return model.eval()


# %% tags=["nbval-ignore-output"]
waves = train_waves()
(values, blank), _ = next(draw_waves(500, 36, seed=1))
values, blank = values.to(device), blank.to(device)
with torch.no_grad():
    forecast = IteratedForecast(waves)(values[:, :24], torch.zeros_like(values[:, 24:]), blank)

# %% tags=["nbval-ignore-output"]
ahead = values[:, 24:, 0]
ours, last = F.mse_loss(forecast, ahead), F.mse_loss(values[:, 23:24, 0].expand_as(ahead), ahead)
print(f"12 steps ahead: {ours:.3f}, last value {last:.3f}, noise alone {0.3**2:.3f}")
claim(wave_against_last=ours / last)
# %% [markdown]
# ## 7.3 Where a step stands
#
# Attention without places: what does it do with the order of its input? A slip you will meet: it is "permutation *invariant*, a function of a set". Shuffle the steps and look.
#
# **Predict**: does the output stay, or is it shuffled too? And with a causal rule?

# %% tags=["nbval-ignore-output"]
from coursekit.layers.attention import attend, attend_past

x = torch.randn(1, 7, 16, generator=generator)
order = torch.randperm(7, generator=generator)

# %% tags=["nbval-ignore-output"]
torch.manual_seed(42)
mix = MultiHeadAttention(16, 2, attend)
with torch.no_grad():
    same = (mix(x[:, order]) - mix(x)).abs().max()  # 0 if invariant
    along = (mix(x[:, order]) - mix(x)[:, order]).abs().max()  # 0 if equivariant
    mix.rule = attend_past
    causal = (mix(x[:, order]) - mix(x)[:, order]).abs().max()

# %% tags=["nbval-ignore-output"]
claim(attention_equivariance_error=along)
claim(attention_invariance_error=same)
claim(causal_equivariance_error=causal)

# %% [markdown]
# The output is shuffled *along*: attention is **equivariant**. (A mean over the steps afterwards would be invariant.) With a causal rule not even that holds, since the order decides who reads whom. But within what a step reads, order still counts for nothing, so places must be told.
#
# **Sinusoidal codes** (notebook 6) give step t one sine and cosine for each pair of channels,
#
# $$\text{code}_{t,2i} = \sin(\omega_i t), \quad \text{code}_{t,2i+1} = \cos(\omega_i t), \quad \omega_i = 10000^{-2i/D}, \quad i = 0, \dots, D/2 - 1.$$
#
# They are advertised for series: relative, periodic, unlimited, free of parameters. Each word deserves a measurement. First the formula, in double precision.

# %%
D = 64
t = torch.arange(90, dtype=torch.float64)[:, None]
pair = torch.arange(D // 2)
omega = 10_000 ** (-2 * pair.double() / D)
codes = torch.stack([(omega * t).sin(), (omega * t).cos()], -1).flatten(1)
print("row 0:", codes[0, :6].int().tolist(), "…")
assert codes[0].equal(torch.tensor([0.0, 1.0], dtype=torch.float64).repeat(D // 2))

# %% tags=["nbval-ignore-output"]
from coursekit.layers.position import LearnedPositions, SinusoidalPositions, sinusoidal_codes

assert_close(codes.float(), sinusoidal_codes(90, D), rtol=0, atol=1e-6)
trained = sum(p.numel() for p in SinusoidalPositions(90, D).parameters())
claim(sinusoid_parameters=trained)
norm_error = (codes.square().sum(1) - D / 2).abs().max()
claim(sinusoid_norm_error=norm_error)

# %% [markdown]
# Mind the index. A common version lets i "run over the channels in steps of 2" in a formula that already says 2i. Then the columns 2i and 2i + 1 with i = 0, 2, 4, … are filled:

# %%
slipped = torch.zeros(90, 2 * D, dtype=torch.float64)  # wide enough for all that is filled
for i in range(0, D, 2):
    slipped[:, 2 * i] = (t[:, 0] * 10_000 ** (-2 * i / D)).sin()
    slipped[:, 2 * i + 1] = (t[:, 0] * 10_000 ** (-2 * i / D)).cos()
empty = [(table[:, :D] == 0).all(0).sum() for table in (slipped, sinusoidal_codes(90, D))]
print("columns filled:", slipped[:, :D].any(0).nonzero()[:6, 0].tolist(), "…")
claim(columns_left_empty=empty[0] - empty[1])

# %% [markdown]
# **Relative**: true, and more than that. Seven steps further each pair has turned by $7 \omega_i$, wherever it was: one matrix $R_7$ leads from every code to the one seven steps later. So products of codes depend on the distance only, and each diagonal of their table is constant.

# %% tags=["nbval-ignore-output"]
R, sine, cosine = torch.zeros(D, D).double(), 2 * pair, 2 * pair + 1
R[sine, sine] = R[cosine, cosine] = (7 * omega).cos()
R[sine, cosine] = (7 * omega).sin()
R[cosine, sine] = -(7 * omega).sin()
claim(rotation_error=(codes[:-7] @ R.T - codes[7:]).abs().max())

# %% tags=["nbval-ignore-output"]
products = codes @ codes.T
spread = max(products.diagonal(k).max() - products.diagonal(k).min() for k in range(90))
claim(sinusoid_diagonals=spread)
near, distant = products[0, 1] / (D / 2), products[0, 40] / (D / 2)
claim(sinusoid_nearness=near - distant)

# %% [markdown] tags=["exercise"]
# > **Exercise 2.** Write `rotate_code(code, steps)`: the sinusoidal code of some place, shape (D,), in; the code of the place `steps` later out. The place itself is not given. Check: `check_rotate_code`.
# >
# > <details><summary>Hint 1</summary>$\sin(a + b) = \sin a \cos b + \cos a \sin b$ and $\cos(a + b) = \cos a \cos b - \sin a \sin b$.</details>
# > <details><summary>Hint 2</summary>The sines are <code>code[0::2]</code>, the cosines <code>code[1::2]</code>; the angle of pair i is <code>steps / 10000 ** (2 * i / D)</code>.</details>


# %% tags=["stub"]
def rotate_code(code, steps): ...


# %% tags=["check"]
exercises.check_rotate_code(rotate_code)


# %% tags=["solution"]
def rotate_code(code, steps):
    angle = steps / 10_000 ** (torch.arange(0, len(code), 2) / len(code))
    sine, cosine = code[0::2], code[1::2]
    turned = sine * angle.cos() + cosine * angle.sin(), cosine * angle.cos() - sine * angle.sin()
    return torch.stack(turned, -1).flatten()


# %% [markdown]
# **Periodic**: each channel is, with a wavelength of its own, $2\pi / \omega_i$. But do they contain a day of 24 hours, a year of 12 months or a week of 7 days?

# %% tags=["nbval-ignore-output"]
wavelengths = 2 * math.pi / omega
print("wavelengths:", [round(w, 1) for w in wavelengths[:7].tolist()], "… up to", end=" ")
print(f"{wavelengths[-1]:,.0f}")
off = torch.stack([(wavelengths / period - 1).abs().min() for period in (7, 12, 24)])
for period, share in zip((7, 12, 24), off.tolist(), strict=True):
    print(f"nearest to {period:2}: off by {share:.0%}")
claim(wavelength_off=off.min())

# %% [markdown]
# None. (Wavelengths form a geometric sequence; they know nothing of calendars. With a wavelength 10 % off, five periods later the phase is half a turn wrong.) A network can still *combine* waves to imitate a period over the range that it sees.
#
# **Unlimited**: the formula gives a code for every t. Does a network that was trained on some of them know what to do with others? Let a small network learn a wave of period 7 from the codes of steps 0 to 29, and ask it about steps 30 to 89.
#
# **Predict**: the error inside, and outside? (The wave itself has variance 0.5.)

# %% tags=["nbval-ignore-output"]
torch.manual_seed(42)
places, wave = sinusoidal_codes(90, 32), torch.sin(2 * math.pi * torch.arange(90) / 7)[:, None]
reader = nn.Sequential(nn.Linear(32, 64), nn.ReLU(), nn.Linear(64, 1))
seen = ((places[:30], wave[:30]) for _ in range(1500))
adam = torch.optim.Adam(reader.parameters(), lr=0.01)
lesson = fit(reader, adam, seen, steps=1500, loss=F.mse_loss, schedule=warm_up_cosine(1500))

# %% tags=["nbval-ignore-output"]
with torch.no_grad():
    answer = reader(places)
inside, outside = F.mse_loss(answer[:30], wave[:30]), F.mse_loss(answer[30:], wave[30:])
claim(codes_inside=inside)
claim(codes_outside=outside)

# %% tags=["figure", "nbval-ignore-output"]
ax = plt.subplots(figsize=(8, 3))[1]
ax.plot(wave, color="0.7", label="wave of period 7")
ax.plot(answer, color="C0", lw=1.5, label="network on the codes")
ax.axvspan(0, 29, color="0.93", label="steps it was trained on")
ax.set(xlabel="step", ylabel="value", ylim=(-1.6, 2.6))
ax.legend(ncols=3, loc="upper center", fontsize=9)
figure("extrapolate", alt="The network follows the wave to step 29 exactly, then goes astray.")

# %% [markdown]
# Inside, perfect. Outside it is *worse* than a constant. **Defined everywhere is not learnt everywhere**: the slow channels take values that never occurred in training. So "sinusoidal codes generalise beyond the training range" is true of the codes, and says nothing about the model.
#
# A trained table at least says so: beyond its last row there is none.

# %%
try:
    nn.Embedding(30, D)(torch.tensor(30))
except IndexError as refusal:
    print("IndexError:", refusal)
try:
    LearnedPositions(30, D)(torch.zeros(1, 31, D))
except ValueError as refusal:
    print("ValueError:", refusal)
assert sinusoidal_codes(90, D)[:30].equal(sinusoidal_codes(30, D))  # a longer table: the same rows

# %% [markdown]
# And in a forecaster? The waves of section 7.2, trained on 36 steps, then read up to step 96. The table of trained places has 96 rows; rows 36 and beyond were never trained. For comparison: no places at all, and the rotations of notebook 6, which turn queries and keys by their places.

# %% tags=["nbval-ignore-output"]
from coursekit.layers.position import rotary

kinds = {
    "trained table": {"positions": LearnedPositions},
    "sinusoidal": {"positions": SinusoidalPositions},
    "rotations": {"positions": None, "rule": rotary(attend_past)},
    "none": {"positions": None},
}

# %% tags=["nbval-ignore-output"]
(values, blank), _ = next(draw_waves(500, 96, seed=1))
values, blank = values.to(device), blank.to(device)
print(f"{'places':14} parameters  error at steps 12–35  at steps 36–95")
unseen = {}
for kind, options in kinds.items():
    model = train_waves(**options)
    with torch.no_grad():
        each = (OneStep(model)(values, blank) - values).square().mean((0, 2))
    unseen[kind] = each[12:36].mean().item(), each[36:].mean().item()
    own = sum(p.numel() for p in model.positions.parameters()) if model.positions else 0
    print(f"{kind:14} {own:10,} {unseen[kind][0]:21.3f} {unseen[kind][1]:16.3f}")

# %% tags=["nbval-ignore-output"]
worse = {kind: there / here for kind, (here, there) in unseen.items()}
claim(unseen_places_trained=worse["trained table"])
claim(unseen_places_sinusoidal=worse["sinusoidal"])
claim(seen_places_gain=unseen["sinusoidal"][0] / unseen["none"][0])

# %% [markdown]
# Where it was trained, places help: whoever knows them finds the step one period ago. Beyond, all three lose most of what they had gained, or more than that, and nothing warns you. The model without places changes least. Free of parameters are the codes, not the layers that have to read them.
#
# (The remedy is dull: train on stretches as long as those you will use.)

# %% [markdown]
# ## 7.4 A calendar instead of places
#
# What a series knows about time is rarely "step 1,234". It is Monday, 8 o'clock. Give the model that: a table of vectors for hours, one for weekdays, one for months, joined by a small network.

# %% tags=["shown"]
from coursekit.layers.position import CalendarEmbedding

show(CalendarEmbedding)

# %% [markdown]
# A signal with both rhythms: a daily wave, strong on five days and weak on two, with noise of standard deviation 0.1. Four weeks to learn from, the four weeks after to be judged by. One network reads sinusoidal codes of the hour count, the other the calendar. **Predict**: which is better on the first four weeks, which on the next?

# %% tags=["nbval-ignore-output"]
hour = torch.arange(8 * 7 * 24)
when = torch.stack([hour % 24, hour // 24 % 7, torch.zeros_like(hour)], -1)[None]

# %% tags=["nbval-ignore-output"]
rhythm = torch.sin(2 * math.pi * hour / 24) * torch.where(when[0, :, 1] < 5, 1.0, 0.3)
signal = (rhythm + 0.1 * torch.randn(len(hour), generator=generator))[None, :, None]
cut, inputs, fitted = (
    4 * 7 * 24,
    {"codes": sinusoidal_codes(len(hour), D)[None], "calendar": when},
    {},
)

# %% tags=["nbval-ignore-output"]
torch.manual_seed(42)
readers = {
    "codes": nn.Sequential(nn.Linear(D, 64), nn.ReLU(), nn.Linear(64, 1)),
    "calendar": nn.Sequential(CalendarEmbedding(8, 64), nn.ReLU(), nn.Linear(64, 1)),
}
for name, reader in readers.items():
    batches = ((inputs[name][:, :cut], signal[:, :cut]) for _ in range(600))
    adam = torch.optim.Adam(reader.parameters(), lr=0.01)
    fit(reader, adam, batches, steps=600, loss=F.mse_loss, schedule=warm_up_cosine(600))
    with torch.no_grad():
        fitted[name] = reader(inputs[name])
    errors = (fitted[name] - signal).square()[0]
    print(f"{name:9}: {errors[:cut].mean():.3f} in weeks 1–4, {errors[cut:].mean():.3f} after")

# %% tags=["nbval-ignore-output"]
later = {
    name: F.mse_loss(answer[:, cut:], signal[:, cut:]).item() for name, answer in fitted.items()
}
claim(calendar_later=later["calendar"])
claim(codes_later=later["codes"])


# %% tags=["figure", "nbval-ignore-output"]
ax, shown = plt.subplots(figsize=(8, 3))[1], slice(cut - 72, cut + 120)
ax.plot(hour[shown], signal[0, shown], color="0.75", lw=1, label="signal")
for name, color in {"codes": "C1", "calendar": "C0"}.items():
    ax.plot(hour[shown], fitted[name][0, shown], color=color, lw=1.5, label=f"from {name}")
ax.axvline(cut, color="0.3", ls="--", lw=1)
ax.set(xlabel="hour (trained up to the dashed line)", ylabel="value", ylim=(-1.5, 1.9))
ax.legend(ncols=3, loc="upper left", fontsize=9)
figure(
    "calendar",
    alt="After the training weeks the calendar's curve goes on, that of the codes fails.",
)

# %% [markdown]
# On the first four weeks the codes win, and by more than can be right: their error lies far below that of the noise. Each hour has a code of its own, so the network has learned the noise by heart, too. The calendar repeats by construction: hour 8 of a Monday is one input, whenever it comes. Its limit is just as plain: it knows nothing of a period that is not in the calendar, such as a machine's cycle of 30 hours. For that the model must look at its own past, which is what attention is for.

# %% [markdown]
# ## 7.5 ReLU or GELU
#
# The small network in each block bends its numbers by an **activation**. The first transformers used ReLU, $\max(0, x)$; most later ones GELU, $x\, \Phi(x)$, where $\Phi(x) = \tfrac12 (1 + \operatorname{erf}(x / \sqrt 2))$ is the share of a standard normal distribution below x.

# %% tags=["nbval-ignore-output"]
u = torch.linspace(-4, 4, 80_001, dtype=torch.float64)
gelu_u = u * (1 + torch.erf(u / 2**0.5)) / 2
claim(gelu_error=(gelu_u - F.gelu(u)).abs().max())
low = gelu_u.argmin()
claim(gelu_lowest=gelu_u[low])
claim(gelu_lowest_at=u[low])

# %% [markdown]
# For returns, which are negative half of the time, one reads: "ReLU discards negative inputs, so information on losses is lost; GELU keeps it." Three measurements.
#
# 1. An activation never sees a return. It sees the output of a *linear map* with many units, and where one unit has weight w another can have -w. From the two nothing is lost: $\text{ReLU}(x) - \text{ReLU}(-x) = x$.

# %%
returns = 0.01 * torch.randn(10_000, generator=generator)
widen, narrow = torch.tensor([[1.0], [-1.0]]), torch.tensor([[1.0, -1.0]])
back = (returns[:, None] @ widen.T).relu() @ narrow.T
claim(relu_identity_error=(back[:, 0] - returns).abs().max())

# %% [markdown]
# 2. GELU is *not monotone*: it falls to its minimum -0.170 at -0.752, then rises. So two different inputs have the same output, and below -3 almost nothing is left.

# %% tags=["nbval-ignore-output"]
distance = (gelu_u + 0.1).abs()  # where is it -0.1?
one, two = (u[side][distance[side].argmin()].item() for side in (u < u[low], u > u[low]))
print(f"GELU({one:.3f}) = {F.gelu(torch.tensor(one)):.4f} = GELU({two:.3f})")
far = F.gelu(torch.tensor([-3.0, -6.0]).double())
print(f"GELU(-3) = {far[0]:.4f}, GELU(-6) = {far[1]:.1e}")
claim(gelu_twins=two - one)

# %% [markdown]
# 3. Does it matter? Train the same small forecaster with both, from five starts each, and compare start by start: one-step errors on the validation months, in scaled units. The series is the second column, which has a clear daily rhythm.


# %% tags=["data"]
from coursekit.windows.forecast import draw_forecasts

hours = split_windows(series.only(series.columns[1]), past=72, horizon=24)


# %%
def draw_hours(seed, batch=16):
    """Yield stretches of 96 hours with their calendar; every hour is a target."""
    chance = torch.Generator().manual_seed(seed)
    for (past, _, marks), ahead in draw_forecasts(hours.train, batch, chance):
        values = torch.cat([past, ahead[..., None]], 1)
        yield (values, marks), values


# %% tags=["data"]
(past, _, marks), ahead = hours.valid.take(torch.arange(0, len(hours.valid), 24))
judged = torch.cat([past, ahead[..., None]], 1).to(device), marks.to(device)


# %%
def train_hours(seed, steps=150, **options):
    torch.manual_seed(seed)
    sizes = SeriesTransformerConfig(context=96, n_layer=1, n_head=2, d_model=16)
    model = SeriesTransformer(sizes, relative=True, **options).to(device)
    smooth = {"schedule": warm_up_cosine(steps), "clip": 1.0}
    fit(
        OneStep(model), adamw(model, 0.01), draw_hours(seed), steps=steps, loss=F.mse_loss, **smooth
    )
    with torch.no_grad():
        return model, (OneStep(model)(*judged) - judged[0])[:, 24:].square().mean().item()


# %% tags=["data", "nbval-ignore-output"]
from coursekit.layers.block import gelu

error, bent = {"ReLU": [], "GELU": []}, {}
for seed in range(5):
    for name, activation in {"ReLU": F.relu, "GELU": gelu}.items():
        bent[name], left_over = train_hours(seed, activation=activation)
        error[name].append(left_over)

# %% tags=["data", "nbval-ignore-output"]
gain = torch.tensor(error["ReLU"]) - torch.tensor(error["GELU"])
still = (judged[0][:, 24:] - judged[0][:, 23:-1]).square().mean().item()
for name, row in error.items():
    print(f"{name}: {[round(one, 4) for one in row]}")
print(f"last value: {still:.4f}")
mean_gain, standard_error = gain.mean().item(), gain.std().item() / 5**0.5
print(f"GELU is better by {mean_gain:.4f} ± {standard_error:.4f} (one standard error)")

# %% tags=["data", "nbval-ignore-output"]
ratio = abs(mean_gain) / torch.tensor(error["ReLU"]).mean().item()
claim(gelu_gain_share=ratio)


# %%
def share_near_zero(net):
    """Return, for each hidden unit, the share of steps at which it gives less than 0.001."""
    given = []
    widen, bend = net.blocks[0].feed_forward.expand, net.blocks[0].feed_forward.activation
    hook = widen.register_forward_hook(lambda layer, x, out: given.append(bend(out)))
    with torch.no_grad():
        OneStep(net)(*judged)
    hook.remove()
    return (given[0].abs() < 1e-3).float().mean((0, 1)).sort().values.cpu()


# %% tags=["figure", "nbval-ignore-output"]
ax = plt.subplots(figsize=(8, 3))[1]
for name, net in bent.items():
    each = share_near_zero(net)
    ax.plot(range(1, len(each) + 1), each, ".-", label=f"{name}: {each.mean():.0%} on average")
ax.set(xlabel="hidden unit, sorted", ylabel="share of steps near zero", ylim=(-0.03, 1.03))
ax.legend()
figure("zero-units", alt="Many ReLU units are at zero for most steps; GELU units hardly ever are.")

# %% [markdown]
# ReLU leaves many units at exactly zero at a given step, GELU few. It makes no difference that these runs could show: within a few per cent, either way. ("Keeps the sign of returns" is no reason for GELU.)

# %% [markdown]
# ## 7.6 Comparing shapes: convolved queries and keys
#
# Attention compares a query with keys, step by step. A step's vector holds *one* value. But what a value means depends on what led to it: 3 on the way up and 3 on the way down are different things. Point-wise queries and keys can't tell them apart:

# %%
z = torch.tensor([1.0, 2, 3, 9, 5, 4, 3, 9, 1, 2, 3])  # up to 3, down to 3, up to 3
point = torch.tensor([1.0])  # kernel 1: the value itself
slope = torch.tensor([1.0, 0.0, -1.0])  # kernel 3: the value less the one two steps ago

# %%
score = {}
for name, lags in {"kernel 1": point, "kernel 3": slope}.items():
    padded = F.pad(z, (len(lags) - 1, 0))
    windows = padded.unfold(0, len(lags), 1).flip(-1)  # row t: z_t, z_{t-1}, …
    q = windows @ lags
    score[name] = (q[10] * q[2]).item(), (q[10] * q[6]).item()
    print(
        f"{name}: score with the 3 on the way up {score[name][0]}, on the way down {score[name][1]}"
    )

# %%
apart = {name: up - down for name, (up, down) in score.items()}
claim(shape_blind=apart["kernel 1"])
claim(shape_seen=apart["kernel 3"])

# %% [markdown]
# So let queries and keys be **causal convolutions** of the vectors (Li et al. 2019), with K taps:
#
# $$q_t = \sum_{i=0}^{K-1} y_{t-i}\, F[i].$$
#
# Values stay point-wise: shapes decide *where* to look, the value found there is passed on. A slip you will meet: the query "includes the previous K steps". It is the current one and K - 1 earlier ones.

# %% [markdown] tags=["exercise"]
# > **Exercise 3.** Write `compare_stretches(x, lags)`: a series of shape (T,) and weights F of shape (K,) in, $q_t = \sum_i x_{t-i} F[i]$ of shape (T,) out, with zeros before the start. Check: `check_compare_stretches`.
# >
# > <details><summary>Hint 1</summary>Where must the zeros stand so that no step reads a later one, and how many?</details>
# > <details><summary>Hint 2</summary><code>unfold(0, K, 1)</code> on the padded series gives windows in order of time; lag 0 is the last of a window.</details>


# %% tags=["stub"]
def compare_stretches(x, lags): ...


# %% tags=["check"]
exercises.check_compare_stretches(compare_stretches)


# %% tags=["solution"]
def compare_stretches(x, lags):
    padded = F.pad(x, (len(lags) - 1, 0))
    return padded.unfold(0, len(lags), 1) @ lags.flip(0)


# %% tags=["shown"]
from coursekit.layers.convolution import CausalConv1d, ConvolvedAttention

show(ConvolvedAttention)

# %% [markdown]
# Two things go wrong silently. First the **order of the taps**. PyTorch's "convolution" is a cross-correlation: tap 0 meets the *oldest* step, so lag i belongs to tap K - 1 - i. Write the sum out with both:

# %% tags=["nbval-ignore-output"]
torch.manual_seed(42)
layer = ConvolvedAttention(16, 2, kernel=3)
x = torch.randn(4, 12, 16, generator=generator)
with torch.no_grad():
    weight, q = layer.q.weight, layer.q(x)[:, 2:]
    lagged = [x[:, 2 - i : 12 - i] for i in range(3)]  # y_{t-i}
    right = sum(part @ weight[..., 2 - i].T for i, part in enumerate(lagged))
    wrong = sum(part @ weight[..., i].T for i, part in enumerate(lagged))

# %% tags=["nbval-ignore-output"]
claim(taps_turned=(right - q).abs().max())
claim(taps_not_turned=(wrong - q).abs().max())

# %% [markdown]
# Second the **padding**. To keep T steps, zeros are added: all on the left, or as many on either side ("same"), or the ends are joined in a circle, as the published Informer does for the convolution that projects its input. **Predict**: which of them lets a step read later ones?


# %% tags=["nbval-ignore-output"]
class Symmetric(nn.Conv1d):
    def forward(self, x):
        return super().forward(x.mT).mT


torch.manual_seed(42)
projections = {
    "left": CausalConv1d(5, 16, 3),
    "same": Symmetric(5, 16, 3, padding=1),
    "circular": Symmetric(5, 16, 3, padding=1, padding_mode="circular"),
}

# %% tags=["nbval-ignore-output"]
x = torch.randn(2, 8, 5, generator=generator)
ahead_slope = {}
for name, projection in projections.items():
    found = dependence(projection, x)
    ahead_slope[name] = found.triu(1).max().item()
    print(f"{name:8}: {tuple(projection(x).shape)}, slope to later steps {ahead_slope[name]:.2f}; "
          f"step 4 reads {(found[4] > 0).nonzero().flatten().tolist()}, "
          f"step 0 {(found[0] > 0).nonzero().flatten().tolist()}")  # fmt: skip

# %% tags=["nbval-ignore-output"]
claim(padding_left_leak=ahead_slope["left"])
claim(padding_same_leak=ahead_slope["same"])
claim(padding_circular_leak=ahead_slope["circular"])
reach = int((dependence(projections["left"], x)[4] > 0).sum())
claim(kernel_reach=reach)

# %% [markdown]
# On the way *into* an encoder, which may read everything, "same" is harmless. In a forecaster that is trained one step ahead it hands out answers, and the causal mask in the attention doesn't notice: it guards the attention, not what was mixed into its vectors before. The whole layer, with the instrument of notebook 4, and with kernel 1, where it must be what it was:

# %% tags=["nbval-ignore-output"]
found = dependence(layer, torch.randn(2, 8, 16, generator=generator))
claim(convolved_leak=found.triu(1).max())
torch.manual_seed(42)
single, plain_heads = ConvolvedAttention(16, 2, kernel=1), MultiHeadAttention(16, 2, attend_past)
weights = single.state_dict()
plain_heads.load_state_dict({name: w.flatten(1) for name, w in weights.items()})
x = torch.randn(2, 8, 16, generator=generator)
off = (single(x) - plain_heads(x)).abs().max()
claim(kernel_1_is_plain=off)

# %% [markdown]
# Does it pay? The forecaster of section 7.5 with kernels 1 and 6, three starts each. (Everything else stays: both are `ConvolvedAttention`, and their first queries and keys have the same variance.)

# %% tags=["data", "nbval-ignore-output"]
from functools import partial

by_kernel = {1: [], 6: []}
for kernel, row in by_kernel.items():
    for seed in range(3):
        heads = partial(ConvolvedAttention, kernel=kernel)
        row.append(train_hours(seed, attention=heads)[1])
    print(f"kernel {kernel}: one-step error {[round(one, 4) for one in row]}")
shorter = 1 - torch.tensor(by_kernel[6]) / torch.tensor(by_kernel[1])
print(f"last value {still:.4f}; kernel 6 leaves {shorter.mean():.0%} less, start by start")

# %% tags=["data", "nbval-ignore-output"]
claim(kernel_6_gain_share=shorter.mean())

# %% [markdown]
# It does, for one step ahead. With kernel 1 the network gains less on the last value than it could: it may read 72 hours and more, but with its single block, where it looks can't depend on whether the curve rises or falls. (A second block could: its queries are made from vectors that already mix several steps.) With kernel 6 it can. Whether that carries over to 24 steps, and against honest baselines, is for section 7.11.
#
# The price: K times the weights of two of the four maps, and still T × T scores. The next sections are about the latter.

# %% [markdown]
# ## 7.7 LogSparse: farther back, ever more rarely
#
# Attention compares all T queries with all S keys. A day of hours is nothing; a year of them is 8,760 steps. **Predict**: 4 heads, one example, numbers of four bytes. How many megabytes do the scores alone take at 512 steps, and how many at 4,096?

# %%
from coursekit.layers.attention import attention_weights

for n_steps in (512, 1024, 2048):
    ask, key = torch.zeros(2, 1, 4, n_steps, 8)  # queries and keys: (B, H, T, D)
    scores = ask @ key.mT
    assert scores.nbytes == 4 * 1 * 4 * n_steps * n_steps  # bytes, B, H, T, T
    print(f"{n_steps:5} steps: {scores.nbytes / 1e6:6.1f} MB")
size = 4 * attention_weights(ask, key).nbytes / 1e6  # at 4,096: twice the steps
claim(score_megabytes=size)

# %% [markdown]
# Twice the steps, four times the memory and four times the time. This section and the next describe two cures. They are often named in one breath ("LogSparse / ProbSparse attention"), but have nothing in common except the aim: **LogSparse** fixes *where* each step looks, before it has seen anything; **ProbSparse** decides *who* may look, after a quick glance.
#
# LogSparse (Li et al. 2019): a step reads itself and the steps 1, 2, 4, 8, … before it. Near things closely, far things rarely.

# %%
n_steps = 9
reads = torch.zeros(n_steps, n_steps, dtype=torch.bool)
for t in range(n_steps):
    for back in (0, 1, 2, 4, 8):
        if back <= t:
            reads[t, t - back] = True
reads.int()

# %% tags=["shown"]
from coursekit.layers.log_sparse import allow_log_sparse, attend_log_sparse

show(allow_log_sparse)

# %%
assert torch.equal(allow_log_sparse(n_steps), reads)
counts = allow_log_sparse(4096).sum(-1)
claim(log_sparse_reads=counts.max())
assert all(counts[t] == math.floor(math.log2(t)) + 2 for t in range(1, 4096))

# %% [markdown]
# Thirteen keys instead of 4,096. But step 4,095 doesn't read step 4,092, three before it. It doesn't have to: step 4,094 does (two before), and step 4,095 reads 4,094. What one layer can't reach, the next one can, as in the dilated stack of 4.6. The number of layers until every step has heard of every earlier one is the smallest power of the table above without a gap.
#
# **Predict**: how many layers for 8 steps, for 64, for 128?

# %%
layers_needed = {}
for n_steps in (8, 16, 64, 128):
    reads = heard = allow_log_sparse(n_steps).double()
    layers_needed[n_steps] = 1
    while (heard > 0).sum() < n_steps * (n_steps + 1) / 2:
        heard = reads @ heard
        layers_needed[n_steps] += 1
    needed, ones = layers_needed[n_steps], int(math.log2(n_steps))
    claim(**{f"log-sparse-layers-{n_steps}": needed})

# %% [markdown]
# Each layer spends one power of 2 of the distance, and a distance below 128 has at most seven of them: 127 = 64 + 32 + 16 + 8 + 4 + 2 + 1. So T steps need about log₂ T layers. With fewer, most distances are reached, but not those with many ones.

# %% tags=["figure"]
reads = allow_log_sparse(64).double()
panels = plt.subplots(1, 3, figsize=(10, 3.5), sharey=True)[1]
for ax, power in zip(panels, (1, 2, 6), strict=True):
    ax.imshow(torch.linalg.matrix_power(reads, power) > 0, cmap="Blues", vmin=0, vmax=1.3)
    ax.set(title=f"after {power} layer{'s' * (power > 1)}", xlabel="input step")
    ax.grid(visible=False)
panels[0].set_ylabel("output step")
figure("log-sparse-reach", alt="Diagonals 1, 2, 4, … apart; denser after 2 layers, full after 6.")

# %% [markdown]
# A table of permissions saves nothing by itself: `attend` would compute all scores and throw most away. The library's rule never computes them. All queries read their key at one distance together, as two shifted slices:

# %% tags=["shown"]
show(attend_log_sparse)

# %% tags=["nbval-ignore-output"]
from coursekit.layers.attention import attend, attend_past

draws = torch.Generator().manual_seed(7)
q, k, v = torch.randn(3, 1, 4, 100, 8, generator=draws)
gap = attend_log_sparse(q, k, v) - attend(q, k, v, allow_log_sparse(100))
claim(log_sparse_against_dense=gap.abs().max())

# %% [markdown]
# Is it causal, too? The course has a function that puts this to any rule or model, in two ways: by slopes, and by replacing everything after a step by other numbers. (Why two: in notebook 8 a rule has slopes of exactly 0 to the future and reads it all the same.)

# %% tags=["nbval-ignore-output"]
from coursekit.inside.certify import certify

three = torch.randn(3, 2, 4, 24, 8, generator=draws, dtype=torch.float64)

# %% tags=["nbval-ignore-output"]
for rule in (attend, attend_past, attend_log_sparse):
    print(f"{rule.__name__:18}", certify(rule, *three))
found = certify(attend_log_sparse, *three)
claim(log_sparse_future=found.gradient)
assert found.holds

# %% [markdown]
# **Pyraformer** (Liu et al. 2021) finds another way to the far past: a pyramid. The steps are its base; every C neighbours share a parent, every C parents a grandparent. A node reads its two neighbours on its own level, its C children and its parent. Any step then hears of any other by going up, across and down; with $C = \sqrt[3]{T}$ the pyramid has four levels, whatever T.


# %%
def link_pyramid(levels):
    starts = [sum(levels[:i]) for i in range(len(levels))]
    linked = torch.eye(sum(levels), dtype=torch.bool)
    for i, (start, size) in enumerate(zip(starts, levels, strict=True)):
        node = start + torch.arange(size)
        linked[node[:-1], node[1:]] = True  # its neighbour
        if i + 1 < len(levels):
            linked[node, starts[i + 1] + torch.arange(size) // (size // levels[i + 1])] = True
    return linked | linked.T


# %%
for children in (3, 4, 8):
    n_steps = children**3
    linked = link_pyramid([n_steps, children**2, children, 1]).double()
    heard, hops = linked, 1
    while (heard == 0).any():
        heard, hops = ((heard @ linked) > 0).double(), hops + 1
    cost = linked.sum().item() / n_steps
    print(f"{n_steps:4} steps: {hops} hops between any nodes, {cost:.1f} keys for each step")
    assert hops == 6
claim(pyramid_hops=hops)

# %% [markdown]
# Six layers suffice for any length, and the number of scores grows like T, not T log T. The price: a step hears of the far past through summaries. (Notebook 8 meets a third such idea, the Informer's halving of the sequence between layers.)

# %% [markdown] tags=["exercise"]
# > **Exercise 4.** Write `average_log_sparse(x)`: for a series (T,), the mean of the steps that each step reads in LogSparse, of shape (T,). That is the rule with equal shares. Check: `check_average_log_sparse`.
# >
# > <details><summary>Hint 1</summary>Step 5 reads steps 5, 4, 3 and 1. It has four of them to divide by.</details>
# > <details><summary>Hint 2</summary>Either a table of who reads whom, divided by its row sums, or one shifted copy of <code>x</code> for each distance.</details>


# %% tags=["stub"]
def average_log_sparse(x): ...


# %% tags=["check"]
exercises.check_average_log_sparse(average_log_sparse)


# %% tags=["solution"]
def average_log_sparse(x):
    table = allow_log_sparse(len(x)).to(x.dtype)
    return table @ x / table.sum(-1)


# %% [markdown]
# ## 7.8 ProbSparse: who has something to ask
#
# Look at rows of shares in a trained model: some queries put nearly all on a few keys; others spread it so evenly that their result is almost the mean of all values. The mean is cheap and the same for all. So let only the first kind, the **active** queries, read; give the **lazy** ones the mean (Zhou et al. 2021).
#
# Which are active? For the scores $s_j = q \cdot k_j / \sqrt D$ of one query on S keys, the paper measures
#
# $$M(q) = \ln \sum_j e^{s_j} - \frac1S \sum_j s_j$$
#
# and says that it tells how far the shares $p = \mathrm{softmax}(s)$ are from uniform. In which sense?

# %% tags=["nbval-ignore-output"]
from coursekit.layers.prob_sparse import lse_minus_mean, max_minus_mean

scores = 2 * torch.randn(1000, 32, generator=draws, dtype=torch.float64)
p, uniform = scores.softmax(-1), torch.full((1000, 32), 1 / 32, dtype=torch.float64)
divergence = (uniform * (uniform / p).log()).sum(-1)  # KL(uniform ‖ p)
gap = (lse_minus_mean(scores) - math.log(32) - divergence).abs().max()
claim(measure_is_a_divergence=gap)

# %% tags=["nbval-ignore-output"]
even = lse_minus_mean(torch.full((1, 32), 5.0, dtype=torch.float64))
claim(measure_of_equal_scores=even - math.log(32))
assert lse_minus_mean(scores).min() > math.log(32)  # and only for equal scores

# %% [markdown]
# $M(q) - \ln S = \mathrm{KL}(\text{uniform} \,\|\, p)$, so M is at least ln S, and that for equal scores only. **In that order**: the uniform distribution first. A slip you will meet: "the divergence between the attention distribution and the uniform one", that is $\mathrm{KL}(p \,\|\, \text{uniform})$, and "a large value means that the query attends strongly to few keys".
#
# **Predict** which of two queries M ranks first: one with a score of 5 and seven of 0, or one with a score of -40 and seven of 0.

# %%
two_rows = torch.tensor([[5.0, *[0.0] * 7], [-40.0, *[0.0] * 7]])
share = two_rows.softmax(-1)
other = (share * (8 * share).log().nan_to_num(neginf=0.0)).sum(-1)  # KL(p ‖ uniform)

# %%
for row in range(2):
    print(
        f"M {lse_minus_mean(two_rows)[row]:.2f}, largest share {share[row].max():.3f}, "
        f"KL(p ‖ uniform) {other[row]:.2f}"
    )
claim(near_uniform_row=lse_minus_mean(two_rows)[1])

# %% tags=["figure"]
panels = plt.subplots(1, 2, figsize=(8.5, 3))[1]
bars = {"M": lse_minus_mean(two_rows), "KL(p ‖ uniform)": other}
for ax, (name, nats) in zip(panels, bars.items(), strict=True):
    ax.bar(["one key stands out", "one key is shut out"], nats, color=["C0", "C1"])
    ax.set(ylabel="nats", title=name)
figure("two-readings", alt="M is higher for the near-uniform row; the other divergence is not.")

# %% [markdown]
# The second. Its shares are all but uniform, 1/7 each, and the mean would serve it well; yet it takes a place from a query that needs one. M grows without limit when a single share goes to 0, however even the others are. What we want to know is KL(p ‖ uniform), and M isn't it. (On random rows the two differ less:)

# %% tags=["nbval-ignore-output"]
reverse = (p * (p / uniform).log()).sum(-1)
print(f"the two differ by up to {(divergence - reverse).abs().max():.2f} nats")
ranks = torch.stack([divergence, reverse]).argsort(-1).argsort(-1).double()
claim(divergences_agree=torch.corrcoef(ranks)[0, 1])

# %% [markdown]
# The paper then replaces M by the **highest score minus the mean score**. It costs no exponentials, and lies within ln S below M:

# %%
low, middle = max_minus_mean(scores), lse_minus_mean(scores)
within = ((low <= middle) & (middle <= low + math.log(32))).sum()
claim(measures_within_bounds=within)

# %% [markdown]
# Two more slips on the way. Some write the highest score as an "infinity norm". That takes absolute values:

# %%
tricky = torch.tensor([-9.0, 0.1, 0.2, 0.3])
claim(infinity_norm=torch.linalg.vector_norm(tricky, torch.inf))
assert tricky.max() < 0.31  # what was meant

# %% [markdown]
# And some drop the $\sqrt D$. **Predict** for which of the two measures that matters. Below, 512 queries with 64 channels; how many of the 20 highest stay the same?

# %% tags=["nbval-ignore-output"]
unscaled = torch.randn(512, 64, generator=draws) @ torch.randn(64, 512, generator=draws)
for measure in (max_minus_mean, lse_minus_mean):
    top = [set(measure(x).topk(20).indices.tolist()) for x in (unscaled, unscaled / 8)]
    low, high = (20, 20) if measure is max_minus_mean else (1, 14)
    claim(**{f"without-root-{measure.__name__[:3]}": len(top[0] & top[1])})

# %% [markdown]
# The difference to the mean doubles when all scores do, so its order stays. The logarithm of a sum does not. One more reason for the simpler measure; the library uses it.
#
# **The sample.** To measure all queries against all keys costs as much as what we want to save. So measure on a few keys, drawn once: of T keys, take $\lceil c \ln T \rceil$, with a factor c of 5, and let equally many queries be active.

# %% tags=["shown"]
from coursekit.layers.prob_sparse import count_active, prob_sparse, sample_keys

show(count_active, sample_keys)

# %% [markdown]
# With 4,096 steps that makes 42 active queries, and not nine, as "the Informer uses log N queries" would have it. (The paper's code multiplies the factor with ⌈ln T⌉ and gets 45.) Both ends need care. For 8 steps and c = 5, ⌊5 ln 8⌋ = 10 of them are asked for; for one step, none, and the mean over no score is not a number. Common code stumbles over both.

# %%
print({n: count_active(n) for n in (1, 2, 8, 24, 96, 720, 4096)})
claim(active_of_4096=count_active(4096))

# %% tags=["nbval-ignore-output"]
refusals = []
for n in (8, 1):
    u = math.floor(5 * math.log(n))
    try:
        print(n, "steps,", u, "keys:", torch.zeros(n).topk(u).values.mean())
    except RuntimeError as error:
        refusals.append(str(error))
        print(n, "steps,", u, "keys:", error)
assert len(refusals) == 1
assert "out of range" in refusals[0]

# %% [markdown]
# Now by hand, for one head of 100 steps: sample, measure, choose, read.

# %%
q, k, v = torch.randn(3, 100, 8, generator=draws)
keys = sample_keys(100, count_active(100))  # 24 places
on_sample = q @ k[keys].T / 8**0.5
active = max_minus_mean(on_sample).topk(count_active(100)).indices
mixed = v.mean(0).repeat(100, 1)  # a copy for each query
mixed[active] = (q[active] @ k.T / 8**0.5).softmax(-1) @ v
assert_close(prob_sparse()(q, k, v), mixed, rtol=1e-5, atol=1e-6)

# %% tags=["nbval-ignore-output"]
dense = attend(q, k, v)
lazy = torch.ones(100, dtype=torch.bool).index_fill(0, active, False)
found = prob_sparse()(q, k, v)

# %% tags=["nbval-ignore-output"]
gap = (found[active] - dense[active]).abs().max()
claim(active_rows_are_dense=gap)
gap = (found[lazy] - v.mean(0)).abs().max()
claim(lazy_rows_are_the_mean=gap)
gap = (prob_sparse(100)(q, k, v) - dense).abs().max()
claim(large_factor_is_dense=gap)

# %% [markdown]
# `repeat` makes 100 copies of the mean. With `expand`, which only pretends to, all rows would be the same memory, and a write into one would be a write into all. PyTorch refuses:

# %% tags=["nbval-ignore-output"]
pretended = v.mean(0).expand(100, 8)
refusal = ""
try:
    pretended.scatter_(0, active[:, None].expand(-1, 8), dense[active])
except RuntimeError as error:
    refusal = str(error)
    print(refusal[:98])
assert "single memory location" in refusal

# %% [markdown]
# The library's version does without copies, for speed: a query of zeros has equal scores, so its row *is* the mean, and the active rows are added to it.

# %% tags=["shown"]
from coursekit.layers.prob_sparse import score_sample

show(score_sample, prob_sparse)

# %% [markdown]
# It is a rule like any other: heads are put side by side and mixed as in 6.4.

# %%
from coursekit.layers.attention import MultiHeadAttention

mixer, x = MultiHeadAttention(32, 4, prob_sparse()), torch.randn(2, 100, 32, generator=draws)
assert mixer(x).shape == (2, 100, 32)  # (B, T, C)
assert mixer(x, x[:, :30]).shape == (2, 100, 32)  # 30 keys: any number will do

# %% [markdown]
# One deviation from the paper is deliberate. Its code draws *other* keys for *each query*, and draws anew *in each call*, also when the model is evaluated. **Predict**: by how much do two evaluations of the same input differ?


# %%
def sample_anew(q, k, v):
    keys = torch.randint(len(k), (len(q), count_active(len(k))), generator=draws)
    scores = (q[:, None] * k[keys]).sum(-1)  # k[keys] has shape (T, 24, D)
    active = max_minus_mean(scores).topk(count_active(len(q))).indices
    mixed = v.mean(0).repeat(len(q), 1)
    mixed[active] = attend(q[active], k, v)
    return mixed


# %% tags=["nbval-ignore-output"]
gap = (sample_anew(q, k, v) - sample_anew(q, k, v)).abs().max()
claim(sampled_anew=gap)
gap = (prob_sparse()(q, k, v) - prob_sparse()(q, k, v)).abs().max()
claim(sampled_once=gap)

# %% [markdown]
# In a row that is active in one call and lazy in the other, by as much as an active row differs from the mean; rows that keep their status stay the same. A model that answers differently when asked twice can't be tested, and gathering T · 24 vectors instead of 24 is slow (measured in `benchmarks/probsparse.md`). Here the sample depends on the number of keys and a seed, on nothing else.
#
# Both patterns in one picture: what each of 64 queries gives each of 64 keys.

# %%
q, k = torch.randn(2, 64, 8, generator=draws)
each = torch.eye(64)  # values that show the shares
patterns = {"full": attend, "LogSparse": attend_log_sparse, "ProbSparse": prob_sparse(2)}
shares = {name: rule(q, k, each) for name, rule in patterns.items()}

# %% tags=["figure"]
panels = plt.subplots(1, 3, figsize=(10, 3.5), sharey=True)[1]
for ax, (name, table) in zip(panels, shares.items(), strict=True):
    ax.imshow(table, cmap="Blues", vmin=0, vmax=0.2)
    ax.set(title=name, xlabel="key")
    ax.grid(visible=False)
panels[0].set_ylabel("query")
plt.colorbar(panels[2].images[0], ax=panels, label="share (0.2 or more: darkest)", shrink=0.8)
figure("patterns", alt="Full: all cells. LogSparse: diagonals. ProbSparse: 9 rows, the rest even.")

# %% [markdown]
# LogSparse leaves out *places*, ProbSparse *queries*: every key is read, but only by nine of the 64 rows.

# %% [markdown] tags=["exercise"]
# > **Exercise 5.** Write `gap_to_uniform(scores)`: KL(uniform ‖ p) in nats for each row of scores (…, K), also for scores of several hundred. Check: `check_gap_to_uniform`.
# >
# > <details><summary>Hint 1</summary>It is M minus a constant that depends on K only.</details>
# > <details><summary>Hint 2</summary>e⁴⁰⁰ overflows. <code>logsumexp</code> subtracts the highest score first.</details>


# %% tags=["stub"]
def gap_to_uniform(scores): ...


# %% tags=["check"]
exercises.check_gap_to_uniform(gap_to_uniform)


# %% tags=["solution"]
def gap_to_uniform(scores):
    return scores.logsumexp(-1) - scores.mean(-1) - math.log(scores.shape[-1])


# %% [markdown]
# ## 7.9 What ProbSparse costs, and when it is wrong
#
# Count products of a query with a key. On the sample: T queries, u keys. For the active: u queries, T keys. Together 2 u T, and T more in the library, for the query of zeros. A slip you will meet: to sum M over *all* keys and still call the cost u T. PyTorch can count in the library's functions (2 · D operations a product; the sums of values cost as much as their scores):

# %%
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode


def count_products(work, n_steps):
    inputs = torch.zeros(3, n_steps, 64)  # q, k and v
    with FlopCounterMode(display=False) as counter, sdpa_kernel(SDPBackend.MATH):
        work(*inputs)
    return counter.get_total_flops() // (2 * 64)


# %%
on_sample, on_all, counted = {}, {}, {}
for n in (64, 256, 1024, 4096):
    on_sample[n] = count_products(lambda q, k, v: score_sample(q, k), n)
    on_all[n] = count_products(lambda q, k, v: score_sample(q, k, factor=10_000), n)
    reading = (count_products(prob_sparse(), n) - on_sample[n]) // 2  # half are sums of values
    counted[n] = on_sample[n] + reading
assert all(count == (2 * count_active(n) + 1) * n for n, count in counted.items())
without = on_all[4096] + reading
print(f"4,096 steps: {without:,} without a sample, {counted[4096]:,} with one")
claim(cost_without_sample=without / counted[4096])

# %% [markdown]
# Fifty times more, at 4,096 steps, and still growing: without the sample the scores cost as much as ever; only the softmax and the sums of values are saved. With it, how does the cost grow? Not like T, for u grows as well; a straight line through logarithms of both gives the exponent.


# %%
def growth(lengths, costs):
    x, y = (torch.tensor(values, dtype=torch.float64).log() for values in (lengths, costs))
    return ((x - x.mean()) @ (y - y.mean()) / (x - x.mean()).square().sum()).item()


claim(cost_growth=growth([*counted], [*counted.values()]))

# %% [markdown]
# **When is it wrong?** First: where the glance misses. The paper's argument, in a common version: "the dominant queries are found with probability 1 - O(1/T)". Put a needle in: one query that one key answers perfectly, in otherwise random scores. **Predict**: among 1,024 steps, how often is the needle's query among the 35 that are active?


# %%
def needle_found(n_steps, seed, n_sampled):
    chance = torch.Generator().manual_seed(seed)
    q, k = torch.randn(2, n_steps, 17, generator=chance)
    q[:, 0] = k[:, 0] = 0
    asks, answers = torch.randint(n_steps, (2,), generator=chance).tolist()
    q[asks, 0] = k[answers, 0] = 12  # a channel that only these two use
    keys = sample_keys(n_steps, n_sampled, seed)
    active = max_minus_mean(q @ k[keys].T).topk(count_active(n_steps)).indices
    return asks in active


# %% tags=["nbval-ignore-output"]
print("steps  found  formula  claimed")
recovered = {}
for n_steps in (64, 256, 1024):
    u = count_active(n_steps)
    hits = [needle_found(n_steps, seed, u) for seed in range(400)]
    recovered[n_steps] = sum(hits) / 400
    formula = u / n_steps + (1 - u / n_steps) * u / n_steps
    print(f"{n_steps:5}  {recovered[n_steps]:.3f}  {formula:7.3f}  {1 - 1 / n_steps:.3f}")
    error = 3 * (formula * (1 - formula) / 400) ** 0.5
    claim(**{f"needle-{n_steps}": recovered[n_steps]})

# %% [markdown]
# As often as its key happens to be among the u sampled ones, plus a little luck, a place among the u active queries by chance: $u/T + (1 - u/T)\,u/T$, which tends to **0**, not to 1. With all keys in the sample it is always found:

# %%
hits = sum(needle_found(256, seed, 256) for seed in range(100))
claim(needle_with_all_keys=hits)

# %% [markdown]
# So the argument needs an assumption that it doesn't state: that a query which is peaked on all keys looks peaked on a few of them. True for a query that likes *many* keys better than others; false for one that waits for a single event, such as the same holiday a year ago.
#
# Second: where attention is spread, but not uniform. A lazy row gets the mean of *all* values, not the mean of the half that it prefers. **Predict** the relative error, for gentle scores and for sharp ones, against the factor c; and at c = 5, for 512 steps (32 of them active)?


# %%
def relative_error(factor, sharpness, n_steps=512):
    q, k, v = torch.randn(3, 4, n_steps, 16, generator=torch.Generator().manual_seed(1))
    full = attend(sharpness * q, k, v)
    off = prob_sparse(factor)(sharpness * q, k, v) - full
    return (off.square().mean() / full.square().mean()).sqrt().item()


# %% tags=["nbval-ignore-output"]
factors = (1, 2, 5, 10, 20, 40, 80, 100)
misses = {s: [relative_error(c, s) for c in factors] for s in (0.0, 0.5, 1.0, 3.0)}
for s, values in misses.items():
    print(f"sharpness {s}: ", *(f"{error:.2f}" for error in values))

# %% tags=["nbval-ignore-output"]
claim(error_of_uniform_rows=max(misses[0.0]))
claim(error_at_factor_5=misses[1.0][2])
claim(error_of_all_active=max(row[-1] for row in misses.values()))
assert all((torch.tensor(row).diff() < 0).all() for row in list(misses.values())[1:])

# %% tags=["figure", "nbval-ignore-output"]
for s, values in misses.items():
    plt.plot(factors, values, "o-", label=f"scores of spread {s}")
plt.xscale("log")
plt.gca().xaxis.set_major_formatter("{x:g}")
plt.gca().set(xlabel="factor c", ylabel="error relative to full attention")
plt.legend()
figure("prob-sparse-error", alt="Error falls slowly with the factor and is 0 when all are active.")

# %% [markdown]
# Uniform rows lose nothing, as promised. Any others do: at the usual factor the error is about three quarters of the output itself for scores of spread 1, less for gentler ones, and more for sharper ones, where the mean is worse still. That is *not* an approximation of full attention. ProbSparse works where it works because the model is trained with it and learns to live with 32 active rows. Swapping it into a trained model is another matter.
#
# Third: it is not causal. A query's rank depends on later queries and later keys. Notebook 8 settles that.

# %% [markdown]
# ## 7.10 Which is faster, and from which length on?
#
# Papers answer by counting. Your machine answers with a clock. Four rules: full attention as we wrote it; PyTorch's **fused** kernel, which computes the same without ever storing the shares; LogSparse; ProbSparse. Forward and backward, four heads of 64 channels. Memory first, for it needs no clock: what autograd keeps between forward and backward.

# %%
contenders = {
    "full": attend,
    "fused": lambda q, k, v: F.scaled_dot_product_attention(q, k, v),
    "LogSparse": attend_log_sparse,
    "ProbSparse": prob_sparse(),
}


def kept_bytes(rule, n_steps):
    three, kept = torch.randn(3, 1, 4, n_steps, 64, requires_grad=True), {}
    with torch.autograd.graph.saved_tensors_hooks(
        lambda x: kept.update({x.untyped_storage().data_ptr(): x.untyped_storage().nbytes()}) or x,
        lambda x: x,
    ):
        rule(*three)
    return sum(kept.values())


# %% [markdown]
# **Predict** the four exponents: by what power of T does the kept memory grow?

# %% tags=["nbval-ignore-output"]
lengths = (256, 512, 1024, 2048)
held = {name: [kept_bytes(rule, n) for n in lengths] for name, rule in contenders.items()}
for name, values in held.items():
    shown = "  ".join(f"{value / 1e6:6.1f}" for value in values)
    print(f"{name:10} {shown} MB, growth T^{growth(lengths, values):.2f}")

# %% tags=["nbval-ignore-output"]
claim(full_memory_growth=growth(lengths, held["full"]))
claim(prob_memory_growth=growth(lengths, held["ProbSparse"]))
claim(log_memory_growth=growth(lengths, held["LogSparse"]))

# %% [markdown]
# Only full attention pays T² in memory; the fused kernel trades it for computing the shares again on the way back. In *time* it is still quadratic. **Predict**, for your machine: at 256 steps, which of the four is the fastest? And at which length do the sparse ones overtake the fused kernel?


# %% tags=["machine"]
import time


def clock(rule, n_steps, repeats=3):
    chance, spent = torch.Generator().manual_seed(0), []
    three = torch.randn(3, 1, 4, n_steps, 64, generator=chance).to(device).requires_grad_()
    for _ in range(repeats + 1):
        begin = time.perf_counter()
        result = rule(*three)
        between = time.perf_counter()
        result.sum().backward()
        result[0, 0, 0, 0].item()  # waits for a GPU
        spent.append((between - begin, time.perf_counter() - between))
    return [sorted(times)[repeats // 2] for times in zip(*spent[1:], strict=True)]


# %% tags=["machine"]
longest = {"full": 2048, "fused": 4096, "LogSparse": 8192, "ProbSparse": 8192}
lengths = [2**power for power in range(8, 14)]
clocked = {
    name: {n: clock(rule, n) for n in lengths if n <= longest[name]}
    for name, rule in contenders.items()
}
print("forward + backward in ms")
print(f"{'steps':10}", *(f"{n:>13,}" for n in lengths))
for name, times in clocked.items():
    print(f"{name:10}", *(f"{1e3 * a:6.1f}+{1e3 * b:6.1f}" for a, b in times.values()))
for n in lengths:
    print(f"{n:5} steps: {min((sum(t[n]), name) for name, t in clocked.items() if n in t)[1]}")

# %% tags=["machine"]
exponents = {
    name: growth(*zip(*((n, sum(pair)) for n, pair in times.items() if n >= 512), strict=True))
    for name, times in clocked.items()
}
print({name: f"T^{power:.2f}" for name, power in exponents.items()})

# %% tags=["machine"]
claim(fused_grows_faster=exponents["fused"] - exponents["ProbSparse"])

# %% tags=["figure", "machine"]
for marker, (name, times) in zip("os^D", clocked.items(), strict=True):
    spent = [1e3 * sum(pair) for pair in times.values()]
    plt.plot([*times], spent, marker=marker, label=f"{name}, T^{exponents[name]:.2f}")
plt.xscale("log", base=2)
plt.yscale("log")
plt.gca().set(xlabel="steps T", ylabel="forward and backward (ms)")
plt.legend()
figure("which-is-faster", alt="Time against length: full and fused grow steeper than the others.")

# %% [markdown]
# Read your own table. What is robust: full and fused grow like T² or faster, the other two little faster than T, so beyond some length the sparse ones must win. Where that length lies is up to the machine: some show it from the first row on; on others the many small shifts of LogSparse take longer than a short full table. At a few hundred steps, the length of most forecasting windows, all of it is milliseconds a pass. And speed is only half: 7.9 says what is paid for it. So in what follows full attention is the default, by the fused kernel, and ProbSparse is on trial.

# %% [markdown]
# ## 7.11 A forecast of 24 hours
#
# Now all of it at once: the decoder-only forecaster, one step at a time, with a calendar, on the target of the hourly series. It is trained by one-step errors and then forecasts 24 hours by reading its own forecasts:

# %% tags=["shown"]
from coursekit.evaluate.forecasts import score_forecasts
from coursekit.evaluate.card import HonestyCard
from coursekit.models.series_transformer import IteratedForecast, SeriesTransformer

show(IteratedForecast.forecast_all)

# %% [markdown]
# A forecast is worth what it adds to forecasts that cost nothing. So the **baselines** come first, on the same windows:
#
# - the **last value**, 24 times;
# - **seasonal naive**: the same hour of the day before;
# - **linear**: each hour ahead is a number plus a weighted sum of the last 72 values, counted from the last one; least squares with a penalty on large weights, solved in one go; and the same with a week, 168 values;
# - **AR(72)**: one step is a number plus a weighted sum of the last 72 values, by plain least squares; iterated like the transformer.
#
# They obey the same call, `forecaster(past, known, marks)`, and are scored by the same code: *every* window of the test months, each once, in double precision.

# %% tags=["shown"]
from coursekit.models.baselines import fit_ar, fit_linear, iterate_ar, last_value, seasonal_naive

show(last_value, score_forecasts)

# %% tags=["data"]
from coursekit.windows.forecast import split_windows

table = data.hourly()
day = split_windows(table.only(table.columns[0]), past=72, horizon=24)
for name, part in {"train": day.train, "valid": day.valid, "test": day.test}.items():
    level = part.values[part.first : part.stop].mean()
    print(f"{name:5}: {len(part):5,} windows, mean of the targets {level:5.2f} (scaled)")

# %% [markdown]
# Look at the means: training months have 0 by construction. If the test months lie elsewhere, a model meets levels that it has hardly seen. So each stretch is counted from its own first value, in training and afterwards. That uses nothing from the future, and a baseline that starts from the last value does likewise.


# %%
class FromFirst(nn.Module):
    """Count a window from its first value, and the forecast too."""

    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, past, known, marks):
        level = past[:, :1]
        return self.model(past - level, known, marks) + level[..., 0]


# %%
def draw_days(seed, batch=16):
    chance = torch.Generator().manual_seed(seed)
    for (past, _, marks), ahead in draw_forecasts(day.train, batch, chance):
        values = torch.cat([past, ahead[..., None]], 1)
        yield (values - values[:, :1], marks), values - values[:, :1]


# %%
from dataclasses import replace
from functools import partial
from itertools import pairwise
from time import perf_counter

from coursekit.layers.convolution import ConvolvedAttention
from coursekit.layers.position import CalendarEmbedding

# %%
from coursekit.models.series_transformer import OneStep, SeriesTransformerConfig
from coursekit.training.fit import fit
from coursekit.training.optimiser import adamw, warm_up_cosine


# %%
def train_day(seed, kernel, steps=250):
    torch.manual_seed(seed)
    net = SeriesTransformer(
        SeriesTransformerConfig(context=96, n_layer=2, n_head=4, d_model=32),
        attention=partial(ConvolvedAttention, kernel=kernel),
        calendar=partial(CalendarEmbedding, 4),
        relative=True,
    ).to(device)
    smooth = {"schedule": warm_up_cosine(steps), "clip": 1.0}
    optimiser = adamw(net, 0.003, weight_decay=0.1)
    fit(OneStep(net), optimiser, draw_days(seed), steps=steps, loss=F.mse_loss, **smooth)
    return FromFirst(IteratedForecast(net))


# %% [markdown]
# `relative=True`: the network adds to the value of the step before, so an untrained one is close to the last value. Its settings (two blocks of 32 channels, 250 steps, the rate) were tried out on the validation months. (The test months were seen meanwhile, so don't believe a small lead.) Two versions, kernel 1 and kernel 6, three starts each. **Predict**: an order of the seven, five baselines and two networks, from best to worst.

# %% tags=["data", "nbval-ignore-output"]
(past, _, _), ahead = day.train.take(torch.arange(len(day.train)))
observed = day.train.values[: day.train.stop, 0]

# %% tags=["data", "nbval-ignore-output"]
rules = {
    "last value": last_value,
    "seasonal naive, 24 hours": seasonal_naive(24),
    "linear, 72 hours": fit_linear(past[..., 0], ahead, penalty=100.0),
    "linear, AR(72) iterated": iterate_ar(fit_ar(observed.double(), 72)),
}

# %% tags=["data", "nbval-ignore-output"]
simple = {name: score_forecasts(rule, day.test) for name, rule in rules.items()}
before = {name: score_forecasts(rule, day.valid) for name, rule in rules.items()}
week = split_windows(table.only(table.columns[0]), past=168, horizon=24)
(past, _, _), ahead = week.train.take(torch.arange(len(week.train)))
longer = fit_linear(past[..., 0], ahead, penalty=100.0)
simple["linear, 168 hours"] = score_forecasts(longer, week.test)
before["linear, 168 hours"] = score_forecasts(longer, week.valid)

# %% tags=["data", "nbval-ignore-output"]
iterated = "linear, AR(72) iterated"
simple[iterated] = replace(simple[iterated], parameters=73)  # a function doesn't tell

# %% tags=["data", "nbval-ignore-output"]
learnt, took = {}, {}
for kernel in (1, 6):
    name, begin = f"transformer, kernel {kernel}", perf_counter()
    nets = [train_day(seed, kernel) for seed in range(3)]
    took[name] = (perf_counter() - begin) / 3
    learnt[name] = [score_forecasts(net, day.test) for net in nets]
    before[name] = [score_forecasts(net, day.valid) for net in nets]

# %% [markdown]
# The **honesty card** holds what such a result must not be read without: baselines, number of windows, what the scaler saw, both units, MASE, the look-back that a forecast really depends on, seeds, which row the validation months choose, and what was seen of the test before. It refuses to be made without baselines:

# %%
try:
    HonestyCard(title="wow", baselines={}, models=learnt, scaler=day.scaler, series=day.series)
except ValueError as refusal:
    print("ValueError:", refusal)

# %% tags=["data", "nbval-ignore-output"]
named = {"last value": "last value", "linear": "linear, 72 hours"}
named["seasonal naive"] = "seasonal naive, 24 hours"
card = HonestyCard(
    title=f"{table.name}: {table.columns[0]}, 24 hours ahead",
    baselines=simple, kinds=named, models=learnt, validation=before, seconds=took,
    series=day.series, scaler=day.scaler, seen="scores of earlier settings of the networks",
)  # fmt: skip
card

# %% tags=["data", "nbval-ignore-output"]
both = {name: sum(s.mse for s in scores) / 3 for name, scores in learnt.items()}
best_net, best_rule = min(both.values()), min(score.mse for score in simple.values())
claim(hourly_net_against_last=best_net / simple["last value"].mse)
claim(hourly_net_against_best_rule=best_net / best_rule)


# %% tags=["data", "nbval-ignore-output"]
claim(hourly_linear=simple["linear, 72 hours"].mse)

# %% tags=["figure", "nbval-ignore-output"]
ax = plt.subplots(figsize=(8, 3.6))[1]
ahead_hours = range(1, 25)
for name, score in simple.items():
    ax.plot(ahead_hours, score.mse_by_step, label=name, lw=1.5)
for (name, scores), grey in zip(learnt.items(), ("0.1", "0.55"), strict=True):
    ax.plot(ahead_hours, sum(s.mse_by_step for s in scores) / 3, "--", color=grey, label=name)
ax.set(xlabel="hours ahead", ylabel="mean squared error, scaled", yscale="log")
ax.legend(fontsize=9, ncols=2)
figure(
    "by-hour",
    alt="Error against hours ahead, a curve for each rule and network; linear rules lie lowest.",
)

# %% [markdown]
# Compare your order with the card. On the temperature of the transformer station a network beats the last value and the hour of the day before, in the mean over 24 hours; in the last of them it is behind both (see the picture). It does *not* beat a weighted sum of 72 numbers whose weights come from one system of equations, without a learning rate or a seed. With the stand-in, counts of people in a street, the first places go to the same kind of rule; there a look-back of a week wins clearly, because a Saturday resembles the Saturday before.
#
# Three things to take from the picture:
#
# - The error depends on the hours ahead, and not for all in the same way. A single number hides that; ask for the horizon.
# - The iterated forecasters read their own forecasts. They were fitted to true values, so what they read later is something they never saw in training. The linear rule with one set of weights per hour ahead has no such trouble. The Informer of notebook 8 avoids it, too: it forecasts all hours in one go.
# - Kernel 6 was much better one step ahead in section 7.6: on another column, and with one block instead of two. On the temperature nothing of that is left beyond the spread over three starts, and that already at the first hour. On the stand-in, whose days have a firm shape, the gain stays. On the temperature, one start of each could have told you either.
#
# Why show a transformer that loses? Because this is what happens on small, noisy series, and because a table without the winning rule would have told you the opposite. Zeng et al. (2023) found the same for far larger models, on the temperature series and others. Where it pays: many related series that share one model, long histories, covariates that interact.

# %% [markdown]
# ## 7.12 Eight exchange rates
#
# Money is where such models are most often sold. Eight currencies in US dollars, one row a trading day since 2005 (European Central Bank). All eight are read together and forecast together, one day ahead: the model is **multivariate**, with eight columns in and eight out.
#
# First, how to look good. Forecast tomorrow's *rate* by today's, and report the share of the variance that is explained:

# %% tags=["data"]
rates = data.exchange_rates()
test_rows = [row for row, when in enumerate(rates.times) if when.year >= 2014]
today, tomorrow = rates.values[test_rows[0] - 1 : -1], rates.values[test_rows[0] :]
explained = 1 - (tomorrow - today).square().mean(0) / tomorrow.var(0, correction=0)
print(f"{len(rates):,} days; {', '.join(rates.columns)}; tested on {len(test_rows):,} days")
print("explained by yesterday's rate:", [round(one, 4) for one in explained.tolist()])

# %% tags=["data"]
claim(rate_explained_by_last=explained.min())

# %% [markdown]
# More than 98 % in each currency, by a rule that knows nothing. Any network that has learnt to repeat its input shows the same. So, as in notebook 4, forecast the **return**, the change of the logarithm: the last value then forecasts 0. The scale is one number for all eight, measured on the days before.
#
# **Walk-forward**: train on all days before 2014 and forecast 2014 to 2017; train on all days before 2018, forecast 2018 to 2021; train on all before 2022, forecast the rest.

# %%
changes = 100 * rates.values.log().diff(dim=0)  # % a day
years = torch.tensor([when.year for when in rates.times[1:]])
cuts = [int((years < year).sum()) for year in (2014, 2018, 2022)] + [len(changes)]
spans = list(pairwise(cuts))


# %% [markdown]
# Training draws random stretches of 64 days; every day in them is a target, for all eight columns at once.


# %%
def draw_stretches(rows, seed, steps=64, batch=16):
    chance = torch.Generator().manual_seed(seed)
    blank = torch.zeros(batch, steps, 3, dtype=torch.long)  # no calendar
    while True:
        start = torch.randint(len(rows) - steps + 1, (batch, 1), generator=chance)
        values = rows[start + torch.arange(steps)]
        yield (values, blank), values


# %%
net_sizes = SeriesTransformerConfig(n_column=8, context=64, n_layer=1, n_head=2, d_model=16)


# %% [markdown]
# A network for one span is trained on the days before it, with strong weight decay and few steps: there is little to learn and much to memorise.


# %%
def walk_net(a, b, seed, steps=100):
    """Train on days before a; forecast days a … b - 1, each from the 63 days before it."""
    scale = changes[:a].std()
    rows = (changes / scale).float()
    torch.manual_seed(seed)
    net, smooth = (
        SeriesTransformer(net_sizes).to(device),
        {"schedule": warm_up_cosine(steps), "clip": 1.0},
    )
    batches, optimiser = draw_stretches(rows[:a], seed), adamw(net, 0.003, weight_decay=1.0)
    fit(OneStep(net), optimiser, batches, steps=steps, loss=F.mse_loss, **smooth)
    windows = rows.unfold(0, 64, 1)[a - 63 : b - 63].mT  # the last row is the day to forecast
    with torch.no_grad():
        blank = torch.zeros(*windows.shape[:2], 3, dtype=torch.long, device=device)
        return OneStep(net.eval())(windows.to(device), blank)[:, -1].cpu().double() * scale


# %% [markdown]
# (One call forecasts a day from the 63 before it: `OneStep` never reads the day itself. A check follows.) The linear rules: for each currency two lags of its own, **AR(2)**; and for each all currencies' last two days, 16 numbers, with a penalty on large weights.


# %%
def walk_rules(a, b):
    own = [forecast_ar(one[: b - 1], fit_ar(one[:a], 2))[-(b - a) :] for one in changes.T]
    lags = torch.cat([changes[1:-1], changes[:-2]], 1)  # row t: days t + 1 and t, for day t + 2
    joint = fit_linear(lags[: a - 2], changes[2:a], penalty=1000.0, relative=False)
    return {
        "last value": torch.zeros(b - a, 8).double(),
        "linear, AR(2), own past": torch.stack(own, 1),
        "linear, all eight": lags[a - 2 : b - 2] @ joint.weight + joint.bias,
    }


# %%
from coursekit.models.baselines import forecast_ar

a, b, kept = *spans[0], changes

# %%
day_changed = a + 50
as_it_was = {**walk_rules(a, b), "net": walk_net(a, b, 0, steps=2)}
changes = torch.cat([kept[:day_changed], kept[day_changed:] + 3.0])
changed_later = {**walk_rules(a, b), "net": walk_net(a, b, 0, steps=2)}
changes = kept

# %%
first_moved = {}
for name, forecast in as_it_was.items():
    moved = ((changed_later[name] - forecast).abs() > 1e-9).any(1).nonzero().flatten()
    first_moved[name] = int(moved[0]) if len(moved) else None
print("day 50 and all later ones changed; the first forecast to move:", first_moved)
assert first_moved == dict.fromkeys(as_it_was, 51) | {"last value": None}

# %% [markdown]
# Nothing looks ahead. **Predict**: who wins?

# %% tags=["data", "nbval-ignore-output"]
begin = perf_counter()
pieces = [walk_rules(a, b) for a, b in spans]
for seed in range(2):
    for piece, (a, b) in zip(pieces, spans, strict=True):
        piece[f"transformer, seed {seed}"] = walk_net(a, b, seed)
walk_seconds = (perf_counter() - begin) / 2
missed = {name: changes[cuts[0] :] - torch.cat([p[name] for p in pieces]) for name in pieces[0]}

# %% tags=["data", "nbval-ignore-output"]
from coursekit.evaluate.likelihood import compare_losses

print("mean squared error, (% a day)²; in brackets: against the last value, in standard errors")
print(f"{'':24} " + " ".join(f"{name:>11}" for name in rates.columns))

# %% tags=["data", "nbval-ignore-output"]
against = {}
for name, error in missed.items():
    pairs = zip(error.square().T, missed["last value"].square().T, strict=True)
    if name != "last value":
        against[name] = [compare_losses(one, naive, lags=5)[1] for one, naive in pairs]
    cells = zip(error.square().mean(0).tolist(), against.get(name, [None] * 8), strict=True)
    row = " ".join(f"{mse:.4f} ({'–' if t is None else f'{t:.1f}':>4})" for mse, t in cells)
    print(f"{name:24} {row}")

# %% [markdown]
# And the card, over all eight. Five trading days make a week, so it wants the return of five days before as a row, too; and the years 2010 to 2013, forecast from those before them, are the validation:

# %% tags=["data", "nbval-ignore-output"]
from coursekit.evaluate.forecasts import score_errors
from coursekit.windows.forecast import Scaler
from coursekit.windows.series import TimeSeries


# %% tags=["data", "nbval-ignore-output"]
unit = changes[: cuts[0]].std()
percent = Scaler(torch.zeros(8).double(), unit.expand(8), cuts[0])
facts = {  # days that are read, numbers that are fitted
    "last value": (0, 0),
    "seasonal naive, 5 days": (5, 0),
    "linear, AR(2), own past": (2, 8 * 3),
    "linear, all eight": (2, 8 * 17),
    "transformer": (63, sum(p.numel() for p in SeriesTransformer(net_sizes).parameters())),
}
currencies = [
    TimeSeries(name=one, columns=(one,), times=rates.times[1:], values=value, unit="% a day")
    for one, value in zip(rates.columns, changes.split(1, 1), strict=True)
]


# %% tags=["data"]
def sum_up(name, error, came):
    look_back, parameters = facts[name.split(", seed")[0]]
    forecast, came = ((x / unit).reshape(-1, 1) for x in (came - error, came))
    return score_errors(forecast, came, look_back=look_back, parameters=parameters)


def score_rows(errors, a, b):
    errors = {**errors, "seasonal naive, 5 days": changes[a:b] - changes[a - 5 : b - 5]}
    rows = {name: sum_up(name, error, changes[a:b]) for name, error in errors.items()}
    nets = [rows.pop(name) for name in net_names]
    return rows | {"transformer": nets}


# %% tags=["data", "nbval-ignore-output"]
net_names = [name for name in missed if "transformer" in name]
a, b = (int((years < year).sum()) for year in (2010, 2014))
early = walk_rules(a, b) | {f"transformer, seed {seed}": walk_net(a, b, seed) for seed in range(2)}
validation = score_rows({name: changes[a:b] - made for name, made in early.items()}, a, b)
scored = score_rows(missed, cuts[0], len(changes))
network = {"transformer": scored.pop("transformer")}

# %% tags=["data", "nbval-ignore-output"]
HonestyCard(
    title="Eight exchange rates: returns one day ahead",
    baselines=scored, models=network, validation=validation,
    series=currencies, scaler=percent, seconds={"transformer": walk_seconds},
    seen="not recorded: take it that settings of the network were tried on them",
    kinds={
        "last value": "last value",
        "seasonal naive": "seasonal naive, 5 days",
        "linear": "linear, all eight",
    },
)  # fmt: skip

# %% tags=["data", "nbval-ignore-output"]
daily = {name: error.square().mean(1) for name, error in missed.items()}
rivals = [name for name in daily if name != "last value"]
lead = {name: -compare_losses(daily[name], daily["last value"], lags=5)[1] for name in rivals}
claim(rates_net_lead=max(lead[name] for name in net_names))
claim(rates_linear_lead=max(lead[name] for name in list(daily)[1:3]))

# %% tags=["data", "nbval-ignore-output"]
extra = sum(daily[name].mean() for name in net_names) / 2 / daily["last value"].mean() - 1
claim(rates_net_loss=extra)

# %% [markdown]
# The last value wins or ties, in all eight. The linear rules are level with it in most, and where they differ by two standard errors or more, they are worse. The transformer, with thousands of numbers to fit, loses to a rule without any. Over all eight the difference is about one per cent, but over three thousand days it comes to several standard errors: no accident. (In the brackets of the table a positive number means worse than the last value; a lead below 0 means the same.)
#
# That is no failure of the implementation. On the waves of 7.2 the same class leaves a ninth of the last value's error, most of it noise that nobody can forecast, and on the hourly series it beats the last value, though not the linear rules. Here there is nothing to be found in past rates alone, or so little that these days don't show it. An honest method says so.

# %% [markdown]
# ## What you now have
#
# - Windows whose targets never fall into two parts, a scale from training rows, and the factorisation of a path into one-step forecasts, with the assumption that usually goes unsaid.
# - The shift that prevents look-ahead, and the knowledge that a causal mask alone does not.
# - Places and calendars, each with its limits: codes that are defined everywhere and learnt nowhere but in training; a calendar that knows only calendars.
# - Queries and keys that compare shapes; cheaper attention, what it leaves out, and when it is faster.
# - A forecaster with a cache, and a card that puts baselines, windows, units and seeds next to every result.
#
# **Next**: notebook 8 builds the Informer, which forecasts a long horizon in one go, and puts it to the same test.

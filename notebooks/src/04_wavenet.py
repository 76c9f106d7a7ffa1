# %% [markdown]
# # 4 · WaveNet: more context without crushing it at once
#
# A network that reads eight letters can join them all in one layer, or fuse them two by two. Which is better, what does each cost, and what does the second have to do with a stack of convolutions that produces speech, or reads share prices?
#
# **Afterwards you can** build a network that fuses pairs, normalise over batch *and* time and spot the silent wrong axis, write causal and dilated convolutions, compute what an output reads by formula and measure it by gradient, sample with a cache, and judge a forecast of returns honestly.
#
# **Before**: notebooks 1 and 2 (count tables; embeddings, batch normalisation, training).
#
# **Runs in** {runs_in}.
#
# **Source**: the hierarchical network follows Karpathy's makemore lectures (2022, part 5); dilated causal convolutions and gated blocks follow van den Oord et al. (2016).

# %% tags=["setup", "machine"]
import matplotlib.pyplot as plt
import torch
from torch import nn
from torch.nn import functional as F
from torch.testing import assert_close

from coursekit import data
from coursekit.windows.tokens import word_windows
from coursekit.notebook import claim, figure, setup, show
from coursekit.tokens.vocabulary import Vocabulary

device = setup("04_wavenet", seed=42)
names = data.names()

# %% [markdown]
# ## 4.1 Eight letters at once
#
# The multilayer perceptron of notebook 2 joins the vectors of all its letters and multiplies them with one matrix. Three letters of context became eight: the matrix grew by the same factor, and every unit must find out alone what any two neighbouring letters mean together. That *sh* is one sound is learnt for letters 1 and 2, again for letters 2 and 3, and so on, each time from scratch, and all of it in a single mixing step.
#
# How do the parameters grow? With V = 27 tokens, vectors of 24 numbers and 128 units, at context 8, 16, … 64:

# %%
V = 27
for context in (8, 16, 32, 64):
    crushed = context * 24 * 128  # one matrix over all letters
    levels = context.bit_length() - 1  # fuse two by two: 64, 32, 16, …, 1
    fused = 2 * 24 * 128 + (levels - 1) * 2 * 128 * 128
    print(f"context {context:2}: at once {crushed:7,} weights, in pairs {fused:7,}")

# %% [markdown]
# At once, the weights grow in proportion to the context. In pairs, they grow with its *logarithm*: one more matrix doubles the context. At eight letters that is no saving yet, the pairs even cost more: three matrices instead of one. So the advantage must be measured, not assumed; section 4.4 does.

# %% [markdown]
# ## 4.2 Fusing pairs
#
# Take the eight vectors, join neighbours, and mix each pair into one vector, all four pairs with the *same* matrix. Eight steps become four. Do it again with a second matrix, and a third: two steps, one step. What is left has read everything, but in small bites.
#
# Joining neighbours needs no copying. A tensor of shape (B, T, C) holds its numbers step after step, so two steps of C channels already lie side by side as one step of 2 C:

# %%
x = torch.arange(16.0).view(1, 8, 2)  # one sequence, eight steps, two channels
pairs = x.view(1, 4, 4)
print(pairs[0, 0].tolist(), "are steps", x[0, 0].tolist(), "and", x[0, 1].tolist())
assert pairs.equal(torch.cat([x[:, 0::2], x[:, 1::2]], -1))  # even steps beside odd ones

# %% tags=["shown"]
from coursekit.layers.basic import FlattenConsecutive

show(FlattenConsecutive)

# %% [markdown] tags=["exercise"]
# > **Exercise 1.** Write `fuse_pairs(x)`: (B, T, C) in, (B, T / 2, 2 C) out, each two neighbouring steps side by side. Check: `check_fuse_pairs`.
# >
# > <details><summary>Hint 1</summary>Which steps come first in their pair?</details>
# > <details><summary>Hint 2</summary><code>x[:, 0::2]</code> takes every other step; <code>torch.cat</code> joins along an axis. Or one <code>reshape</code>.</details>


# %% tags=["stub"]
def fuse_pairs(x): ...


# %% tags=["check"]
from coursekit.exercises import wavenet as exercises

exercises.check_fuse_pairs(fuse_pairs)


# %% tags=["solution"]
def fuse_pairs(x):
    batch, steps, channels = x.shape
    return x.reshape(batch, steps // 2, 2 * channels)


# %% [markdown]
# The whole network: vectors, then for each level join, mix, normalise, squash, and a last layer that turns the one remaining step into logits. (`nn.Sequential` runs modules one after the other.)

# %% tags=["shown"]
from coursekit.models.wavenet import PairFusion, PairFusionConfig

show(PairFusion)

# %%
tree, steps = PairFusion(PairFusionConfig(vocab_size=V)), []
for level in tree.levels:
    level.register_forward_hook(lambda module, given, out: steps.append(tuple(out.shape)))
logits = tree(torch.zeros(32, 8, dtype=torch.long))
print("(32, 8, 24) →", " → ".join(map(str, steps)), "→", tuple(logits.shape))
assert [shape[1] for shape in steps] == [4, 2, 1]

# %% [markdown]
# (A **forward hook** is a function that PyTorch calls with what a module was given and what came out.) And the parameters: the table of vectors, three matrices, gain and shift of three normalisations, and the last layer.

# %%
matrices = 48 * 128 + 256 * 128 + 256 * 128
parameters = sum(p.numel() for p in tree.parameters())
claim(fusion_parameters=parameters)


# %% tags=["figure", "nbval-ignore-output"]
def draw_stack(ax, dilations, steps, others=True):
    """Draw what the last output of a stack reads, and with what the other outputs do in grey."""
    last = {(len(dilations), steps - 1)}
    for row in range(len(dilations), 0, -1):
        reach = dilations[row - 1]
        for t in range(steps):
            for source in (t, t - reach):
                used = (row, t) in last
                if source >= 0 and (used or others):
                    color, order = ("C0", 2) if used else ("0.85", 1)
                    ax.plot([source, t], [row - 1, row], color=color, lw=1.6, zorder=order)
                    last |= {(row - 1, source)} if used else set()
    for row in range(len(dilations) + 1):
        for t in range(steps):
            if (row, t) in last or others:
                ax.plot(t, row, "o", ms=9, color="C0" if (row, t) in last else "0.8", zorder=3)
    ax.set(yticks=range(len(dilations) + 1), xticks=range(steps), xlabel="step")
    ax.set_yticklabels(["input", *(f"level {i + 1}" for i in range(len(dilations)))])
    ax.grid(visible=False)


ax = plt.subplots(figsize=(7, 3))[1]
draw_stack(ax, [1, 2, 4], 8, others=False)
ax.set_title("Eight letters, four pairs, two fours, one eight")
figure("tree", alt="A binary tree: eight input dots joined in pairs, up to one dot at the top.")

# %% [markdown]
# Each dot is drawn above the later of its two parts. A slip you will meet: that the context is "split into short pieces *before* the embedding". It isn't. Every letter is looked up alone; what is fused are pairs of *vectors*, then pairs of pairs.

# %% [markdown]
# ## 4.3 Batch normalisation with a time axis
#
# Notebook 2 normalised a batch of vectors, (B, C): each channel over the B examples. Now there are steps too, (B, T, C), often written (N, L, C). A channel should have *one* mean and one variance, taken over examples and steps alike, because the same matrix made it at every step. As shapes: (1, 1, C).
#
# PyTorch's module of the same name accepts three axes, but it wants channels in the *middle*: (N, C, L). What happens to ours? Two cases.
#
# **Predict**: what does it say if there are 4 steps of 6 channels? And if there are 6 steps of 6 channels?

# %%
generator = torch.Generator().manual_seed(42)
x = torch.randn(32, 4, 6, generator=generator)
try:
    nn.BatchNorm1d(6)(x)
except RuntimeError as refusal:
    print("RuntimeError:", refusal)

# %% [markdown]
# It refuses: good luck. With as many steps as channels there is nothing to refuse. Give channel $c$ the mean $10c$, and let PyTorch's module and ours remove it:

# %%
from coursekit.layers.basic import BatchNorm1d

x = torch.randn(32, 6, 6, generator=generator) + 10 * torch.arange(6)
theirs, ours = nn.BatchNorm1d(6)(x), BatchNorm1d(6)(x)

# %%
print("mean of each channel, PyTorch:", [round(m, 2) for m in theirs.mean((0, 1)).tolist()])
print("mean of each step, PyTorch:   ", [round(m, 2) for m in theirs.mean((0, 2)).tolist()])
print("mean of each channel, ours:   ", [round(m, 2) for m in ours.mean((0, 1)).tolist()])

# %%
wrong, right = theirs.mean((0, 1)).abs().max(), ours.mean((0, 1)).abs().max()
claim(wrong_axis_mean=wrong.detach())
claim(right_axis_mean=right.detach())

# %% [markdown]
# No error, no warning, and the module normalised *time*: each step over examples and channels. The channels keep their different means, and what becomes of one channel now depends on the other channels. To use it rightly, swap the axes: `norm(x.mT).mT`.
#
# A third version, the one you get by leaving the two-axis code as it was, averages over the first axis only:

# %%
third = (x - x.mean(0)) / (x.var(0, correction=0) + 1e-5).sqrt()
own = [(out.mean(0).abs() < 1e-5).sum().item() for out in (third, ours)]
print(f"pairs of step and channel with a mean of 0: {own[0]}, with ours {own[1]} of {x[0].numel()}")
claim(separate_statistics=own[0] - own[1])

# %%
swapped = nn.BatchNorm1d(6)(x.mT).mT
assert_close(ours, swapped, rtol=1e-4, atol=1e-4)
assert_close(ours, nn.BatchNorm1d(6)(x.flatten(0, 1)).view(x.shape), rtol=1e-4, atol=1e-4)

# %% [markdown]
# That gives T · C separate statistics. It runs and it trains. But each mean rests on T times fewer numbers and is noisier, and the layer no longer treats steps alike. This one stood in the lecture's network for a while; correcting it improved the loss slightly.

# %% [markdown] tags=["exercise"]
# > **Exercise 2.** Write `normalise_steps(x)`: (B, T, C) in and out, each channel with mean 0 and variance 1 over batch and steps. Use the biased variance, plus 1e-5. Check: `check_normalise_steps`.
# >
# > <details><summary>Hint 1</summary>How many means are there? One for each channel.</details>
# > <details><summary>Hint 2</summary><code>x.mean((0, 1))</code> averages over two axes; <code>correction=0</code> makes <code>var</code> divide by n.</details>


# %% tags=["stub"]
def normalise_steps(x): ...


# %% tags=["check"]
exercises.check_normalise_steps(normalise_steps)


# %% tags=["solution"]
def normalise_steps(x):
    mean, variance = x.mean((0, 1)), x.var((0, 1), correction=0)
    return (x - mean) / (variance + 1e-5).sqrt()


# %% [markdown]
# ## 4.4 A ladder
#
# The lecture trains this very network (context 8, 24 numbers a letter, 128 channels, about 76,600 parameters) for 200,000 steps on batches of 32 windows, with SGD at rate 0.1, then 0.01. It reaches **1.9937** on the development names. That is the figure to beat, and so is the table of notebook 1, which needs no training at all:

# %% tags=["data"]
from coursekit.models.ngram import NGram, count_ngrams, kneser_ney
from coursekit.evaluate.likelihood import mean_nll

vocabulary = Vocabulary(".abcdefghijklmnopqrstuvwxyz")
parts = data.split_words(names)
train, dev, test = (word_windows(part, vocabulary, length=9) for part in parts)
table = NGram(kneser_ney(count_ngrams(train[:, -5:], V)))
counted = mean_nll(table, dev)
print(f"{len(train):,} training windows; Kneser–Ney 5-gram on development names: {counted:.4f}")

# %% [markdown]
# Four rungs, each given about the same time. All choices are made on development names; the test names wait.
#
# 1. **The lecture's recipe**, cut to a tenth: SGD, batches of 32, rate 0.1, then 0.01.
# 2. **Batches of 512, AdamW at a constant rate.** Fewer, larger steps, and strides of the same length for every weight.
# 3. **A schedule**: the rate rises for a tenth of the steps, then falls along a cosine to 0.
# 4. **Each context once.** Many windows share their context, the more so near the start of a name. List each different context once, with the counts of what followed (notebook 2). With eight letters there are still too many for a single batch. But few of them are frequent, and these hold half of all targets: put *them into every batch*, and take the others in turn, with their counts multiplied so that they stand for all others.
#
# **Predict**: which rung makes things worse?

# %% tags=["shown"]
from coursekit.windows.tokens import draw_batches, draw_groups, group_windows

show(draw_groups)

# %% tags=["data"]
contexts, counts = group_windows(train, V)
often = counts.sum(-1) >= 20
print(f"{len(contexts):,} different contexts; {int(often.sum())} of them come 20 times or more")
print(f"and hold {counts[often].sum() / counts.sum():.0%} of all targets")

# %%
from coursekit.models.mlp import MLP, MLPConfig
from coursekit.evaluate.likelihood import table_nll
from coursekit.training.fit import fit
from coursekit.training.optimiser import adamw, warm_up_cosine


tree_sizes = PairFusionConfig(vocab_size=V)  # context 8, 24 numbers a letter, 128 channels


def start(seed=42, kind=PairFusion, config=tree_sizes):
    torch.manual_seed(seed)
    return kind(config).to(device)


def run(model, optimiser, batches, steps, **options):
    options |= {"measure": lambda: mean_nll(model, dev), "every": -(-steps // 10)}
    return model, fit(model, optimiser, batches, steps=steps, **options)


# %% tags=["data"]
def windows_of(size):
    return draw_batches(train, size, torch.Generator().manual_seed(42))


ladder = {}
model, steps = start(), 20_000
falls = {"schedule": lambda step: 1.0 if step < 15_000 else 0.1}
sgd = torch.optim.SGD(model.parameters(), lr=0.1)
ladder["SGD, batches of 32"] = run(model, sgd, windows_of(32), steps, **falls)
model, steps = start(), 3_000
optimiser = adamw(model, 0.01, weight_decay=0.3)
ladder["AdamW, batches of 512"] = run(model, optimiser, windows_of(512), steps)
model, smooth = start(), {"schedule": warm_up_cosine(steps)}
optimiser = adamw(model, 0.01, weight_decay=0.3)
ladder["with a schedule"] = run(model, optimiser, windows_of(512), steps, **smooth)


# %% tags=["data"]
def run_grouped(model, rounds=15):
    steps = rounds * (int((~often).sum()) // 512)
    batches = draw_groups(contexts, counts, 512, torch.Generator().manual_seed(42))
    optimiser = adamw(model, 0.01, weight_decay=0.3)
    return run(model, optimiser, batches, steps, schedule=warm_up_cosine(steps), loss=table_nll)


ladder["each context once"] = tree, history = run_grouped(start())

# %% [markdown]
# The flat network gets the same recipe, the same context and as many parameters: 343 hidden units, batch-normalised too.

# %% tags=["data"]
sizes = MLPConfig(vocab_size=V, context=8, d_embedding=24, d_hidden=343, normalised=True)
flat, flat_history = run_grouped(start(kind=MLP, config=sizes))
print(f"{sum(p.numel() for p in flat.parameters()):,} parameters")

# %% tags=["machine"]
for name, (_, past) in {**ladder, "all at once (flat)": (flat, flat_history)}.items():
    steps, loss = past.measured[-1]
    print(f"{name:22} {steps:6} steps {past.seconds[-1]:5.1f} s: development loss {loss:.4f}")

# %% tags=["figure", "nbval-ignore-output"]
curves = {**ladder, "each context once, flat": (flat, flat_history)}
for (name, (_, past)), mark in zip(curves.items(), "osv^D", strict=True):
    steps, losses = zip(*past.measured, strict=True)
    plt.plot([past.seconds[s - 1] for s in steps], losses, mark + "-", markersize=4, label=name)
plt.axhline(1.9937, color="black", linestyle=":", linewidth=1.4)
label = plt.text(0.01, 1.99, "lecture, 200,000 steps: 1.9937", va="top", fontsize=9)
label.set_transform(plt.gca().get_yaxis_transform())
plt.gca().set(xlabel="seconds of training", ylabel="development loss (nats)", ylim=(1.95, 2.35))
plt.legend()
figure("ladder", alt="Development loss against seconds: four recipes for the tree, one flat.")

# %% tags=["data", "nbval-ignore-output"]
loss = {name: past.measured[-1][1] for name, (_, past) in curves.items()}
best = loss["each context once"]
claim(wavenet_dev_loss=best)
claim(wavenet_ladder_gain=loss["SGD, batches of 32"] - best)
claim(wavenet_group_gain=loss["with a schedule"] - best)
claim(wavenet_over_table=counted - best)
print(f"test loss, computed once: {mean_nll(tree, test):.4f}")

# %% [markdown]
# Below the lecture's loss, with the same network. What share of the lecture's time did it take? Its 200,000 steps are as long as those of our first rung:

# %% tags=["machine"]
first = ladder["SGD, batches of 32"][1]
share = history.seconds[-1] / (first.seconds[-1] / len(first.losses) * 200_000)
claim(wavenet_time_share=share)

# %% [markdown]
# Rung 2 alone makes things *worse*: at a constant high rate AdamW keeps jumping about. It needs the schedule, which ends with small steps. And putting the frequent contexts into every batch takes out most of the noise.
#
# Now the question of this notebook. Is crushing wasteful?

# %% tags=["data", "nbval-ignore-output"]
difference = best - loss["each context once, flat"]
claim(tree_over_flat=difference)

# %% [markdown]
# At eight letters: no. Over five seeds the flat network is on average a hair worse, by less than the seeds differ. In the table it also takes less time for its steps: each context costs the tree 4 + 2 + 1 fusions, the flat network one product. The lecture found the same at a smaller size (2.027 flat, 2.022 fused, with 22,000 parameters); what brought it to 1.9937 was more parameters. The honest case for pairs is not this loss. It is that the context may double for one more matrix, and what the next section shows: the fusions can be shared.
#
# What the model dreams up:

# %% tags=["data", "nbval-ignore-output"]
from coursekit.sample import sample_text

generator = torch.Generator().manual_seed(42)
[sample_text(tree, vocabulary, "." * 8, 20, generator, stop=".") for _ in range(10)]

# %% [markdown]
# ## 4.5 The same network as convolutions
#
# To score a name of eight letters, the tree runs nine times, once for each letter and once for the end. Neighbouring contexts share seven letters, but no pair: the pairs of the next context begin one letter later. Contexts *two* letters apart share three of their four pairs, and contexts four apart also a four. Computing each pair *once* is what a convolution does: it slides the same weights along the sequence.
#
# A **causal** convolution with kernel 2 and **dilation** d mixes each step with the one d earlier, and reads nothing later:
#
# $$y_t = W_0\, x_{t-d} + W_1\, x_t$$
#
# On a tiny sequence, with zeros where there is no earlier step:

# %%
generator = torch.Generator().manual_seed(42)
B, T, C = 2, 7, 3
x = torch.randn(B, T, C, generator=generator)
W = torch.randn(5, C, 2, generator=generator)  # channels out, channels in, taps
d = 2
before = F.pad(x, (0, 0, d, 0))[:, :T]  # the sequence, d steps late
y = before @ W[..., 0].T + x @ W[..., 1].T
y.shape

# %% tags=["shown"]
from coursekit.layers.convolution import convolve

show(convolve)

# %% [markdown]
# `past` is for later: it lets a sequence be read in pieces. Agree with our two lines, and with PyTorch's convolution, which wants channels in the middle and the padding done by hand:

# %%
assert_close(convolve(x, W, dilation=d), y, rtol=1e-5, atol=1e-5)
padded = F.pad(x.mT, (d, 0))
assert_close(F.conv1d(padded, W, dilation=d).mT, y, rtol=1e-5, atol=1e-5)

# %% [markdown] tags=["exercise"]
# > **Exercise 3.** Write `delay_steps(x, steps)`: (B, T, C) in and out, everything `steps` later, zeros at the start. (`steps` is a tensor holding one integer, 0 or more.) Check: `check_delay_steps`.
# >
# > <details><summary>Hint 1</summary><code>roll</code> would bring the end to the start: the future.</details>
# > <details><summary>Hint 2</summary>Put zeros before, then keep the first T steps. Count them from the start: what is <code>[: -0]</code>?</details>


# %% tags=["stub"]
def delay_steps(x, steps): ...


# %% tags=["check"]
exercises.check_delay_steps(delay_steps)


# %% tags=["solution"]
def delay_steps(x, steps):
    zeros = x.new_zeros(len(x), int(steps), x.shape[-1])
    return torch.cat([zeros, x], 1)[:, : x.shape[1]]


# %% [markdown]
# Now the trained tree. Its first level fuses neighbours: dilation 1. The second fuses pairs, whose ends lie two steps apart: dilation 2. The third: dilation 4. The matrix of a level, cut into two halves, *is* the pair $W_0, W_1$.

# %% tags=["shown"]
from coursekit.models.wavenet import DilatedFusion

show(DilatedFusion)

# %% tags=["data", "nbval-ignore-output"]
stack = DilatedFusion(tree).eval()
tokens = torch.tensor([vocabulary.encode("." * 8 + "alexandra")], device=device)
with torch.no_grad():
    everywhere = stack(tokens)
    one_by_one = torch.stack([tree(tokens[:, t - 7 : t + 1]) for t in range(7, 17)], 1)
print("one call:", tuple(everywhere.shape), " ten calls:", tuple(one_by_one.shape))

# %% tags=["data", "nbval-ignore-output"]
difference = (everywhere[:, 7:] - one_by_one).abs().max()
claim(tree_equals_convolutions=difference)

# %% tags=["figure", "nbval-ignore-output"]
ax = plt.subplots(figsize=(8, 3))[1]
draw_stack(ax, [1, 2, 4], 12)
ax.set_title("Dilations 1, 2, 4: the tree (blue), once for every step")
figure("dilated-tree", alt="The tree of the last output in blue among grey lines of all others.")

# %% [markdown]
# The blue tree is the one of section 4.2. Every other output has a tree of its own, and they share their branches (grey).

# %% [markdown]
# ## 4.6 How far does a stack see?
#
# Each layer with kernel k and dilation d looks (k - 1) · d steps further back than the one above it. So an output reads
#
# $$1 + \sum_i (k_i - 1)\, d_i$$
#
# input steps: its **receptive field**.
#
# **Predict**: four layers with kernel 2. How many steps without dilation? How many with dilations 1, 2, 4, 8?

# %% tags=["shown"]
from coursekit.layers.convolution import CausalConv1d, receptive_field

show(receptive_field)

# %% [markdown]
# A formula can be wrong about the code. The **gradient** asks the code: where the slope $\partial y_s/\partial x_t$ isn't 0, output $y_s$ depends on input $x_t$; where no path leads from one to the other, it is exactly 0. (It can be 0 by accident at one point; several random inputs make that unlikely.) `dependence` computes all of them, for any model.

# %% tags=["shown"]
from coursekit.inside.certify import dependence

show(dependence)

# %%
read = {}
for what, dilations in {"plain": (1, 1, 1, 1), "dilated": (1, 2, 4, 8)}.items():
    layers = nn.Sequential(*(CausalConv1d(3, 3, 2, dilation=d) for d in dilations))
    read[what] = dependence(layers, torch.randn(1, 20, 3)) > 0
    seen = int(read[what][-1].sum())
    claim(**{f"{what}-reach": seen})
    assert not read[what].triu(1).any()  # no output reads the future: slopes exactly 0

# %% tags=["figure", "nbval-ignore-output"]
panels = plt.subplots(2, 1, figsize=(8, 6.5))[1]
for ax, dilations in zip(panels, ([1, 1, 1, 1], [1, 2, 4, 8]), strict=True):
    draw_stack(ax, dilations, 16)
    ax.set_title(
        f"Dilations {', '.join(map(str, dilations))}: reads {receptive_field([2] * 4, dilations)}"
    )
figure("stacks", alt="Four layers of lines: undilated reads 5 inputs, dilated all 16 inputs.")

# %% tags=["figure", "nbval-ignore-output"]
panels = plt.subplots(1, 2, figsize=(8, 3.9))[1]
for ax, (what, table) in zip(panels, read.items(), strict=True):
    ax.imshow(table, cmap="Blues", vmin=0, vmax=1.3)
    ax.set(title=f"{what}: what is read", xlabel="input step", ylabel="output step")
    ax.set(xticks=range(0, 20, 4), yticks=range(0, 20, 4))
    ax.grid(visible=False)
figure("reach", alt="Outputs against inputs: a band of 5 and a band of 16 below the diagonal.")

# %% [markdown]
# Five against sixteen, with equally many weights. A slip you will meet: the picture of the *plain* stack used to illustrate the network that fuses pairs. It shows a different one. Fusing pairs means dilations 1, 2, 4, …; three plain layers would read four letters, not eight.

# %% [markdown] tags=["exercise"]
# > **Exercise 4.** Write `receptive_field_of(kernels, dilations)`: the number of input steps that one output of a stack reads; both are lists, one entry a layer. Check: `check_receptive_field`.
# >
# > <details><summary>Hint 1</summary>How many steps does an output read if there is no layer at all?</details>
# > <details><summary>Hint 2</summary>A kernel of k taps has k - 1 gaps between them, each d wide.</details>


# %% tags=["stub"]
def receptive_field_of(kernels, dilations): ...


# %% tags=["check"]
exercises.check_receptive_field(receptive_field_of)


# %% tags=["solution"]
def receptive_field_of(kernels, dilations):
    return 1 + sum((k - 1) * d for k, d in zip(kernels, dilations, strict=True))


# %% [markdown]
# ## 4.7 Gated blocks
#
# The WaveNet of van den Oord et al. (2016) adds three things to dilated convolutions. Each block computes a signal and a **gate**, a number between 0 and 1 that says how much of it passes:
#
# $$z = \tanh(W_f * x) \odot \sigma(W_g * x)$$
#
# ($*$ is a causal convolution, $\odot$ multiplies number by number, and $\sigma$ is here the sigmoid.)
#
# Then z, mixed once more, is *added* to the block's input (a **residual** connection: where the block has nothing to say, it need not disturb), and a **skip** copies z to the output, past all further blocks.

# %% tags=["shown"]
from coursekit.layers.convolution import GatedBlock

show(GatedBlock)

# %% [markdown]
# The whole stack adds up the skips of all blocks; two more layers turn the sum into the output.

# %% tags=["shown"]
from coursekit.models.wavenet import WaveNet, WaveNetConfig

show(WaveNet)

# %% [markdown]
# One step of a block, by hand, and the receptive field of the network that section 4.10 uses:

# %%
block, x = GatedBlock(d_model=3, d_skip=4, kernel=2, dilation=2), torch.randn(1, 5, 3)
w, b = block.filter_and_gate.weight, block.filter_and_gate.bias
mixed = w[..., 0] @ x[0, 2] + w[..., 1] @ x[0, 4] + b  # step 4 and the one two before it
z = mixed[:3].tanh() * mixed[3:].sigmoid()
after, skip = block(x)
assert_close(after[0, 4], x[0, 4] + block.residual(z), rtol=1e-5, atol=1e-6)
assert_close(skip[0, 4], block.skip(z), rtol=1e-5, atol=1e-6)

# %%
config = WaveNetConfig(d_in=2, d_out=2, d_model=8, d_skip=8, dilations=(1, 2, 4, 8, 16, 32))
net = WaveNet(config)
nn.init.normal_(net.output.weight)  # it starts at 0: then nothing would depend on anything
slopes = dependence(net, torch.randn(4, 70, 2))
assert not slopes.triu(1).any()
reads = (slopes[-1] > 0).sum()
claim(wavenet_reach=reads)

# %% [markdown]
# ## 4.8 One set of weights for all positions
#
# A convolution is a window that slides: the same weights at every position. So if the input moves by three steps, the output moves by three steps, and is otherwise the same: **shift equivariance**. Except near the start, where the window hangs over the border and sees zeros.

# %%
layers = nn.Sequential(*(CausalConv1d(3, 3, 2, dilation=d) for d in (1, 2, 4, 8)))
x = torch.randn(1, 40, 3, generator=generator)
with torch.no_grad():
    moved, still = layers(x[:, 3:]), layers(x)[:, 3:]
gap = (moved - still).abs().amax((0, 2))
print("largest difference at the border", round(gap[:15].max().item(), 2))
claim(shift_difference=gap[15:].max())

# %% [markdown]
# That is a virtue where position does not matter, as in a long recording. It is a defect where it does. Take 1,797 handwritten digits of 8 × 8 pixels, each pixel ink or paper, read row by row as a sequence of 64 steps. The network predicts each pixel from those before it: its input at step t is pixel t - 1. A window that slides along this sequence can't know in which row it is. The remedy is **coordinate coding**: tell it, as extra channels, here a one-hot row and a one-hot column.

# %%
pixels = torch.tensor(data.digits(), dtype=torch.float32)
pixels = pixels[torch.randperm(len(pixels), generator=generator)]
ink_train, ink_test = pixels[:1400], pixels[1400:]
place = torch.arange(64)
where = torch.cat([F.one_hot(place // 8, 8), F.one_hot(place % 8, 8)], -1).float()


def read_pixels(ink, coordinates):
    before = F.pad(ink, (1, 0))[:, :-1, None]  # the shift: no pixel sees itself
    return torch.cat([before, where.expand(len(ink), 64, 16)], -1) if coordinates else before


# %% [markdown]
# The network is a small WaveNet with dilations 1, 2, 4, 8. Its baseline: each pixel's share of ink in the training digits, regardless of all others.


# %%
def pixel_nll(logits, ink):
    return 64 * F.binary_cross_entropy_with_logits(logits[..., 0], ink)  # nats a digit


def train_digits(coordinates, seed, steps=150):
    chance = torch.Generator().manual_seed(seed)
    config = WaveNetConfig(d_in=17 if coordinates else 1, d_out=1)
    net, x = start(seed, WaveNet, config), read_pixels(ink_train, coordinates)
    picks = (torch.randint(1400, (50,), generator=chance) for _ in range(steps))
    batches = ((x[i], ink_train[i]) for i in picks)
    options = {"steps": steps, "loss": pixel_nll, "schedule": warm_up_cosine(steps)}
    fit(net, adamw(net, 0.01, weight_decay=0.1), batches, **options)
    with torch.no_grad():
        logits = net(read_pixels(ink_test, coordinates).to(device))
    return pixel_nll(logits, ink_test.to(device)).item()


# %% tags=["nbval-ignore-output"]
share = (ink_train.sum(0) + 1) / (len(ink_train) + 2)
lone = 64 * F.binary_cross_entropy(share.expand_as(ink_test), ink_test)
without, with_them = (
    torch.tensor([train_digits(coordinates, seed) for seed in range(5)])
    for coordinates in (False, True)
)
print(f"each pixel alone       {lone:.2f} nats a digit")
for what, nll in {"without coordinates": without, "with coordinates": with_them}.items():
    print(f"{what:22} {nll.mean():.2f} ± {nll.std() / 5**0.5:.2f} (standard error, five seeds)")

# %% tags=["nbval-ignore-output"]
gain = without - with_them
claim(coordinates_gain=gain.mean())
claim(digits_over_pixels=lone - with_them.mean())

# %% [markdown]
# The coordinates help by much more than the seeds differ. Sharing weights everywhere is a belief about the data, and here it is a little too strong.

# %% [markdown]
# ## 4.9 Trained at once, sampled one by one
#
# Training knows the whole sequence. One call of the network gives the prediction at *every* step, all in parallel. When sampling, step t + 1 needs the token drawn at step t, so there are as many calls as tokens. Count them: a hook on the model counts calls, one on each level counts how many pairs it fuses.


# %%
class Meter:
    """Count the calls of a model, and the pairs that its levels fuse."""

    def __init__(self, tree):
        self.calls = self.pairs = 0
        self.hooks = [level[2].register_forward_hook(self.see) for level in tree.levels]
        self.hooks.append(tree.output.register_forward_hook(self.call))

    def see(self, module, given, out):
        self.pairs += out.shape[:-1].numel()

    def call(self, module, given, out):
        self.calls += 1

    def stop(self):
        for hook in self.hooks:
            hook.remove()
        return self.calls, self.pairs


# %% tags=["data", "nbval-ignore-output"]
word = torch.tensor([vocabulary.encode("." * 7 + ".alexandra.")], device=device)
meter = Meter(tree)
with torch.no_grad():
    logits = stack(word[:, :-1])[0, 7:]
at_once = F.cross_entropy(logits, word[0, 8:]).item()
calls, pairs = meter.stop()
assert_close(at_once, mean_nll(tree, word.unfold(1, 9, 1)[0]), rtol=1e-5, atol=0)
claim(calls_to_score=calls)
print(f"NLL of alexandra: {at_once:.4f} nats a letter, in {calls} call")

# %% [markdown]
# Now sampling. One can run the tree for each letter; run the whole stack on all letters so far; or keep what each level has read, the **cache**, and compute only the new step. That is what `past` and `cache` are for: level i must remember the last $2^i$ inputs, no more. We count the first and the last.

# %% tags=["shown"]
from coursekit.sample import generate

show(generate)

# %% tags=["data", "nbval-ignore-output"]
letters, drawn, meters = 40, {}, {}
for how, model, cached in (
    ("tree, anew for each letter", tree, False),
    ("stack, with a cache", stack, True),
):
    meter, chance = Meter(tree), torch.Generator().manual_seed(1)
    drawn[how] = sample_text(model, vocabulary, "." * 8, letters, chance, cached=cached)
    meters[how] = meter.stop()
    print(f"{how:27} {meters[how][0]} calls, {meters[how][1]:4} pairs: {drawn[how]}")

# %% tags=["data", "nbval-ignore-output"]
plain, cached = meters.values()
assert len(set(drawn.values())) == 1  # the same letters, with and without
claim(calls_to_sample=plain[0])
claim(calls_with_cache=cached[0])
claim(pairs_per_letter=plain[1] / letters)
steps = letters - 1
claim(pairs_with_cache=(cached[1] - 3 * 8) / steps)

# %% [markdown]
# The same letters, about half of the work (after the prompt three pairs a letter in place of seven), and not one call fewer. For a longer context the cache saves more: 6 pairs in place of 63 with 64 letters.
#
# A slip you will meet: that such models "parallelise training *and inference*". Scoring a given sequence is parallel. Generating one is not, cached or not. It holds for every causal model, and so for the transformers of the later notebooks.
#
# What does the clock say? Each call has its fixed cost, so the times differ less than the work:

# %% tags=["machine"]
import time

seconds = {}
for how, model, cached in (("tree", tree, False), ("cache", stack, True)):
    begin, chance = time.perf_counter(), torch.Generator().manual_seed(1)
    sample_text(model, vocabulary, "." * 8, 500, chance, cached=cached)
    seconds[how] = time.perf_counter() - begin
begin = time.perf_counter()
with torch.no_grad():
    stack(torch.zeros(1, 500, dtype=torch.long, device=device))
print(f"all 500 steps in one call: {1000 * (time.perf_counter() - begin):.1f} ms")
print({how: f"{1000 * t:.0f} ms for 500 letters" for how, t in seconds.items()})

# %% [markdown]
# ## 4.10 What can be forecast about share prices?
#
# The S&P 500, daily, 1999 to 2018. A price of today is an excellent forecast for tomorrow, and a useless one: what is earned is the **return**, $r_t = \ln p_t - \ln p_{t-1}$. Two questions: can its *value* be forecast? Can its *size*?

# %%
days, closes = data.sp500()
returns = torch.tensor(closes, dtype=torch.float64).log().diff()
years = torch.tensor([day.year for day in days[1:]])  # the year of each return


def autocorrelation(series, lags):
    centred = series - series.mean()
    total = centred.square().sum()
    return torch.stack([(centred[k:] * centred[:-k]).sum() / total for k in lags])


lags = range(1, 41)
value, size = (autocorrelation(series, lags) for series in (returns, returns.abs()))

# %% tags=["figure", "nbval-ignore-output"]
above, below = plt.subplots(2, 1, figsize=(8, 6))[1]
above.plot(days[1:], 100 * returns, lw=0.6)
above.set(ylabel="return (% a day)", title="S&P 500")
below.plot(lags, size, "o-", ms=4, label="size |r|")
below.plot(lags, value, "s-", ms=4, label="value r")
below.axhspan(
    -2 / len(returns) ** 0.5, 2 / len(returns) ** 0.5, color="0.85", label="noise, ±2 s.e."
)
below.set(xlabel="days between", ylabel="autocorrelation")
below.legend()
figure("returns", alt="Calm and wild spells of returns; sizes stay correlated for 40 days.")

# %% tags=["data"]
claim(size_autocorrelation=size.mean())
claim(value_autocorrelation=value.abs().mean())

# %% [markdown]
# Wild days come in spells: the sizes of returns stay correlated for months. Their values hardly are. (Several lags leave the grey band, the first two among them; but that band is for noise of constant size, and is too narrow here.)
#
# **Walk-forward**: to forecast 2008–2010, fit on all days before 2008; for 2011–2013, fit on all days before 2011; and so on to 2018. Whatever is estimated, including the scale that the inputs are divided by, comes from days before. Each forecast is a mean and a standard deviation, judged on the same days by two scores: the root mean square error (RMSE) of the mean, and the NLL of a normal distribution.

# %% tags=["shown"]
from coursekit.models.baselines import ewma_variance, fit_ar, forecast_ar
from coursekit.evaluate.likelihood import gaussian_nll

show(fit_ar, ewma_variance, gaussian_nll)

# %% [markdown]
# The baselines: the mean of all days before; the last value; AR(2), least squares on two lags; and for the size, the exponentially weighted variance that RiskMetrics (1996) made a standard, and GARCH(1, 1) (Bollerslev 1986), which adds a pull towards the long-run level. The package `arch` fits the latter.

# %%
from arch import arch_model


def baselines(a, b):
    """Forecast days a … b - 1 from what was known before each; parameters from days before a."""
    known, s = returns[:a], returns[:a].std()
    flat = returns.new_ones(b - a)
    m, spread = known.mean() * flat, s.log() * flat
    ar = fit_ar(known, 2)
    ewma = ewma_variance(returns[:b], start=s.item() ** 2)[a:]
    garch = arch_model(100 * known.numpy(), rescale=False).fit(disp="off")
    mu, omega, alpha, beta = garch.params
    v = [garch.conditional_volatility[-1] ** 2]
    for r in 100 * returns[a - 1 : b - 1]:
        v.append(omega + alpha * (r.item() - mu) ** 2 + beta * v[-1])
    return {
        "mean": (m, spread),
        "last value": (returns[a - 1 : b - 1], known.diff().std().log() * flat),
        "AR(2)": (forecast_ar(returns[: b - 1], ar)[-(b - a) :], spread),
        "mean, EWMA variance": (m, ewma.log() / 2),
        "mean, GARCH(1, 1)": (m, (returns.new_tensor(v[1:]) / 1e4).log() / 2),
    }


# %% [markdown]
# The WaveNet reads two channels: the squashed return of a day and the logarithm of its size. It returns two: mean and log standard deviation of the *next* day. With five thousand noisy days, such a network learns the training days by heart. What helps is to tell it something true: *how to read a calm year and a wild one is the same up to scale*. So each training step multiplies the whole history, inputs and targets, by a random factor.


# %%
def features(z):
    return torch.stack([z.tanh(), (z.abs() + 0.05).log()], -1).float()


def stretch(z, stretching, chance):
    """Yield histories and their next days, at random scales, without end."""
    while True:
        factor = (stretching * torch.randn(2, 1, generator=chance)).exp()
        yield features(factor * z[:-1]), (factor * z[1:]).float()


# %%
def next_day_nll(out, target):
    nll = gaussian_nll(target, out[..., 0], out[..., 1])
    return nll[:, config.context :].mean()  # earlier days lack a full context


# %%
def forecast_days(a, b, seed, stretching=0.5, steps=100):
    s = returns[:a].std()
    net, chance = start(seed, WaveNet, config), torch.Generator().manual_seed(seed)
    batches, smooth = stretch(returns[:a] / s, stretching, chance), warm_up_cosine(steps)
    optimiser = adamw(net, 0.005, weight_decay=1.0)
    fit(net, optimiser, batches, steps=steps, loss=next_day_nll, schedule=smooth, clip=0.3)
    with torch.no_grad():
        past = features(returns[None, : b - 1] / s).to(device)
        out = net(past)[0, a - 1 :].cpu().double()
    return out[:, 0] * s, out[:, 1] + s.log()


# %% [markdown]
# Long gradients are shortened (`clip`): without that, some starts went astray. Settings (stretching, clipping, steps, width, decay) were chosen on 2005–2007, fitted on the years before. (Later years were looked at while the inputs were first tried, so don't believe a small lead.) The stretching, for one:


# %% tags=["data", "nbval-ignore-output"]
def first_day(year):
    return int((years < year).sum())


a, b = first_day(2005), first_day(2008)
for stretching in (0.0, 0.5):
    mean, log_scale = forecast_days(a, b, 0, stretching)
    print(f"stretching {stretching}: {gaussian_nll(returns[a:b], mean, log_scale).mean():.4f} nats")
for name, (mean, log_scale) in baselines(a, b).items():
    print(f"{name:20}: {gaussian_nll(returns[a:b], mean, log_scale).mean():.4f} nats")

# %% [markdown]
# (The unit of this NLL is arbitrary: with a standard deviation of 0.01, the density at the mean is about 40. Only differences mean something.)
#
# No look-ahead is claimed easily, so check it: change everything from one day on. The forecast *for* that day must not move; the one for the day after must.

# %%
a, b, held = first_day(2011), first_day(2014), returns
day = a + 100
before = baselines(a, b), forecast_days(a, b, 0, steps=3)
returns = torch.cat([held[:day], held[day:] + 0.03])
after = baselines(a, b), forecast_days(a, b, 0, steps=3)
returns = held
for (was, is_now), name in zip(
    [*((before[0][n], after[0][n]) for n in before[0]), (before[1], after[1])],
    [*before[0], "WaveNet"],
    strict=True,
):
    moved = sum((one - other).abs() for one, other in zip(was, is_now, strict=True)) > 1e-7
    assert not moved[:101].any(), name
    assert moved[101] or name == "mean", name

# %% [markdown]
# **Predict**: which of the scores will the WaveNet win, against whom?

# %% tags=["data", "nbval-ignore-output"]
spans = [(first_day(y), first_day(y + 3)) for y in (2008, 2011, 2014, 2017)]
pieces = [baselines(a, b) for a, b in spans]
for seed in range(3):
    for piece, (a, b) in zip(pieces, spans, strict=True):
        piece[f"WaveNet, seed {seed}"] = forecast_days(a, b, seed)
target = torch.cat([returns[a:b] for a, b in spans])
forecasts = {
    name: [torch.cat(part) for part in zip(*(piece[name] for piece in pieces), strict=True)]
    for name in pieces[0]
}
squared = {name: (target - mean).square() for name, (mean, _) in forecasts.items()}
nll = {name: gaussian_nll(target, *forecast) for name, forecast in forecasts.items()}

# %% [markdown]
# Is a difference more than chance? Diebold and Mariano (1995): take the difference of two losses day by day, and divide its mean by its standard error. Beyond ±2 it is hardly chance.

# %% tags=["shown"]
from coursekit.evaluate.likelihood import compare_losses

show(compare_losses)


# %% tags=["data", "nbval-ignore-output"]
def against(loss, rival):
    """Return how far a loss is above a rival's, in standard errors; "–" if they are the same."""
    return "–" if loss.equal(rival) else f"{compare_losses(loss, rival, lags=10)[1]:.1f}"


print(f"{len(target):,} days, 2008 to 2018; 'against' in standard errors")
print(f"{'':22} RMSE (%)  against mean      NLL  against GARCH")
for name in forecasts:
    rmse = 100 * squared[name].mean().sqrt()
    value = against(squared[name], squared["mean"])
    size = against(nll[name], nll["mean, GARCH(1, 1)"])
    print(f"{name:22} {rmse:8.3f} {value:>13} {nll[name].mean():9.4f} {size:>13}")

# %% [markdown]
# The forecasts of the *value* once more, on a card that every forecast in this course is shown on: baselines first, the number of days scored, what the scale was measured on, two units, the row that the years 2005–2007 choose, and what was seen of the test before. It refuses to be made without baselines; trading days have weeks of five, so the return of five days before is one of them.

# %% tags=["data", "nbval-ignore-output"]
from datetime import datetime

from coursekit.evaluate.forecasts import score_errors
from coursekit.evaluate.card import HonestyCard
from coursekit.windows.forecast import Scaler
from coursekit.windows.series import TimeSeries

scale = returns[: spans[0][0]].std()
percent = Scaler(torch.zeros(1).double(), 100 * scale.double()[None], spans[0][0])
n_trained = sum(p.numel() for p in WaveNet(config).parameters())
daily_returns = TimeSeries(
    name="S&P 500", columns=("return",), unit="% a day", values=100 * returns[:, None],
    times=[datetime(day.year, day.month, day.day) for day in days[1:]],
)  # fmt: skip


# %% tags=["data", "nbval-ignore-output"]
def score_rows(means, a, b):
    """Score the forecasts of days a … b - 1; look-backs and parameters as we know them."""

    def score(mean, look_back, parameters=0):
        forecast, came = mean[:, None] / scale, returns[a:b, None] / scale
        return score_errors(forecast, came, look_back=look_back, parameters=parameters)

    nets = [means[f"WaveNet, seed {k}"] for k in range(3)]
    return {
        "last value": score(means["last value"], 1),
        "seasonal naive, 5 days": score(returns[a - 5 : b - 5], 5),
        "mean of all days before": score(means["mean"], a, 1),
        "linear, AR(2)": score(means["AR(2)"], 2, 3),
        "WaveNet": [score(mean, config.context, n_trained) for mean in nets],
    }


# %% tags=["data", "nbval-ignore-output"]
a, b = first_day(2005), first_day(2008)
earlier = {name: mean for name, (mean, _) in baselines(a, b).items()}
earlier |= {f"WaveNet, seed {k}": forecast_days(a, b, k)[0] for k in range(3)}
means = {name: mean for name, (mean, _) in forecasts.items()}
scored = score_rows(means, spans[0][0], len(returns))
network = {"WaveNet": scored.pop("WaveNet")}

# %% tags=["data", "nbval-ignore-output"]
HonestyCard(
    title="S&P 500: the return of the next day, 2008 to 2018",
    models=network,
    baselines=scored,
    validation=score_rows(earlier, a, b),
    seen="later years, while the inputs were first tried",
    series=daily_returns,
    scaler=percent,
    kinds={
        "last value": "last value",
        "seasonal naive": "seasonal naive, 5 days",
        "linear": "linear, AR(2)",
    },
)

# %% tags=["data", "nbval-ignore-output"]
nets = [name for name in forecasts if name.startswith("WaveNet")]
by_value = [compare_losses(squared[n], squared["mean"], lags=10)[1] for n in nets]
by_size = [compare_losses(nll[n], nll["mean"], lags=10)[0] for n in nets]
claim(sp500_value_gain=max(map(abs, by_value)))
claim(sp500_volatility_gain=-sum(by_size) / 3)
ratio = (squared["last value"].mean() / squared["mean"].mean()).sqrt()
claim(sp500_last_value_ratio=ratio)
together = torch.stack([forecasts["WaveNet, seed 0"][1].exp(), target.abs()])
claim(sp500_scale_correlation=torch.corrcoef(together)[0, 1])

# %% tags=["figure", "nbval-ignore-output"]
test_days = [day for day, year in zip(days[1:], years, strict=True) if year >= 2008]
plt.figure(figsize=(8.5, 4))
plt.plot(test_days, 100 * target.abs(), color="0.75", lw=0.7, label="size of the return")
for name, color in {"WaveNet, seed 0": "C0", "mean, EWMA variance": "C1"}.items():
    plt.plot(test_days, 100 * forecasts[name][1].exp(), color=color, lw=1, label=f"σ: {name}")
plt.gca().set(ylabel="% a day", xlabel="year", ylim=(0, 8))
plt.legend()
figure("volatility", alt="Forecast standard deviations follow the wild and calm spells of returns.")

# %% [markdown]
# The **value**: no. The WaveNet misses by as much as the mean of all days, within chance; so does AR(2), whose lead is within two standard errors. The last value is worse by even more than √2, the price of adding one unpredictable number to another. Who shows you a network that follows a *price* closely has shown you the last value.
#
# The **size**: yes, clearly. Every forecast with a moving variance beats the constant one by several standard errors. Among them the network owes most to the stretching; it is level with GARCH, three parameters that a paper of 1986 offers. A forecast of the size is not a forecast of gains. It says how much may be lost.

# %% [markdown] tags=["exercise"]
# > **Exercise 5.** Write `forecast_variance(returns, start)`: for each day the exponentially weighted variance *forecast for it*, with decay 0.94; `start` is the one for the first day. Check: `check_forecast_variance`.
# >
# > <details><summary>Hint 1</summary>What may the forecast for the second day depend on?</details>
# > <details><summary>Hint 2</summary>Append the forecast first, then update it with the day's return.</details>


# %% tags=["stub"]
def forecast_variance(returns, start): ...


# %% tags=["check"]
exercises.check_forecast_variance(forecast_variance)


# %% tags=["solution"]
def forecast_variance(returns, start):
    forecasts = []
    for r in returns:
        forecasts.append(start)
        start = 0.94 * start + 0.06 * r**2
    return torch.stack(forecasts)


# %% [markdown]
# ## What you now have
#
# - A network that fuses pairs, trained below the lecture's loss in a fraction of its time, and the knowledge that at eight letters this owes nothing to the pairs.
# - Batch normalisation over batch and steps, and the two ways in which it fails silently.
# - Causal dilated convolutions: the same network for every step at once, with a receptive field that doubles with each layer, known by formula and by gradient.
# - A cache, and the difference between scoring in one call and sampling in T.
# - An honest forecast: walk-forward, baselines on the same days, and a verdict that separates the value of a return from its size.
#
# **Next**: so far a token was a letter. Notebook 5 asks what a model should read instead.

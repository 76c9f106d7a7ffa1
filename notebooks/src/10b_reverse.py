# %% [markdown]
# # 10b · An encoder that answers
#
# An encoder reads in both directions and writes nothing. The transformer of 2017 had two halves: the encoder reads a sequence whole, the decoder writes the answer, a token at a time. How does the second half use what the first has read? You build the missing piece, **cross-attention**, train both halves to reverse what they read, and look at what is attended to. Then a warning: a lag that a simple correlation shows at once and attention finds late.
#
# **Before**: lesson 10 (the encoder, padding).
#
# **Runs in** {runs_in}. **Study time** {study}.
#
# **Source**: Vaswani et al. (2017), figure 1. There the norms follow what is added; here they stand before it (pre-norm, lesson 10).

# %% tags=["setup", "machine"]
import matplotlib.pyplot as plt
import numpy as np
import torch
from torch import nn
from torch.nn import functional as F
from torch.testing import assert_close

from coursekit.evaluate.likelihood import next_token_loss
from coursekit.inside.attention_maps import read_attention
from coursekit.notebook import claim, compare_guess, figure, setup
from coursekit.training.fit import fit
from coursekit.training.optimiser import adamw, warm_up_cosine

device = setup("10b_reverse", seed=42)

# %% [markdown]
# ## 10b.1 A second attention
#
# The decoder is a GPT with one part more in each block. After it has looked at what it wrote so far (with the causal mask), it looks at what the encoder made of the source (without one). There the queries come from the decoder, the keys and values from the encoder: cross-attention.

# %% tags=["figure", "folded"]
from coursekit.notebook.diagram import Diagram

d = Diagram()
rows = ["written so far", "norm", "causal attention", "+", "norm ", "cross-attention", "+ "]
rows += ["norm  ", "feed-forward", "+  "]
for k, row in enumerate(rows):
    kind = "data" if not k else "operation" if "+" in row else "parameters"
    d.box(row, 0, k, kind=kind, text=row.strip())
    if k:
        d.arrow(rows[k - 1], row, "q" if row == "cross-attention" else "")
for tail, head in (("written so far", "+"), ("+", "+ "), ("+ ", "+  ")):
    d.arrow(tail, head, route="skip")
d.box("source", 1, 3, kind="data")
d.box("encoder", 1, 4, kind="parameters")
d.box("memory", 1, 5, kind="data")
d.arrow("source", "encoder")
d.arrow("encoder", "memory")
d.arrow("memory", "cross-attention", "k, v")
d.group("decoder block", *rows)
d.draw()
figure(
    "two-halves", alt="A decoder block; its cross-attention takes keys and values from the encoder."
)


# %%
from coursekit.layers.attention import MultiHeadAttention, attend, attend_past
from coursekit.layers.block import Block, DecoderBlock, FeedForward
from coursekit.layers.position import SinusoidalPositions


# %%
class OurDecoderLayer(nn.Module):
    def __init__(self, d, n_head):
        super().__init__()
        self.self_attention = MultiHeadAttention(d, n_head, attend_past, bias=True)
        self.cross_attention = MultiHeadAttention(d, n_head, attend, bias=True)
        self.feed_forward = FeedForward(d)
        self.norm_1, self.norm_2, self.norm_3 = (nn.LayerNorm(d) for _ in range(3))

    def forward(self, x, memory, readable):
        x = x + self.self_attention(self.norm_1(x))
        # new: q from x; k and v from the memory, as far as it is readable
        x = x + self.cross_attention(self.norm_2(x), memory, readable)
        return x + self.feed_forward(self.norm_3(x))


# %% [markdown]
# `memory` is what the encoder returns, (B, S, C), and `readable` says which of its positions are not padding. Same weights as the library's block, same output:

# %%
torch.manual_seed(42)
ours = OurDecoderLayer(12, 3)
parts = [MultiHeadAttention(12, 3, rule, bias=True) for rule in (attend_past, attend)]
library = DecoderBlock(*parts, FeedForward(12), lambda: nn.LayerNorm(12))
library.load_state_dict(ours.state_dict())
x, memory = torch.randn(2, 5, 12), torch.randn(2, 7, 12)
readable = (torch.arange(7) < torch.tensor([[4], [7]]))[:, None, None].expand(2, 1, 5, 7)
assert_close(ours(x, memory, readable), library(x, memory, memory_allowed=readable))

# %% [markdown]
# While it trains, the decoder gets the answer, too: at each step it is to predict the next token from those before it. So what it reads is the answer *shifted by one*, behind a start token. Without the shift it would read what it is asked.

# %% [markdown] tags=["exercise"]
# > **Exercise 10b.1 (warm-up, 5 minutes).** Write `shift_and_start(targets, start)`: what the decoder reads while it learns to write `targets` of shape (B, T).
# >
# > <details><summary>Hint</summary>The last target is never read; the start token takes the first position.</details>


# %% tags=["stub"]
def shift_and_start(targets, start): ...  # (B, T), id -> (B, T)


# %% tags=["check"]
from coursekit.exercises import reverse as exercises

exercises.check_shift_and_start(shift_and_start)


# %% tags=["solution"]
def shift_and_start(targets, start):
    return F.pad(targets[:, :-1], (1, 0), value=start)


# %% [markdown]
# ## 10b.2 Reversing
#
# The task: read 4 to 9 of ten letters, write them in the reverse order, then an end token. (A GPT could be given the source as its prompt instead. Two halves pay where source and answer are in different languages, or where a long source is read once for a short answer, as in speech recognition.)
#
# Sequences are drawn anew for each batch. There are only 10,000 of four letters, and training sees many of them: they are noted, and the test leaves them out.

# %%
from coursekit.sample import write_likeliest

PAD, START, END, LETTERS = 0, 1, 2, "abcdefghij"


# %%
def draw(n, shortest, longest, generator):
    lengths = torch.randint(shortest, longest + 1, (n, 1), generator=generator)
    letters = torch.randint(3, 13, (n, longest), generator=generator)
    step = torch.arange(longest + 1)
    source = letters.where(step[:-1] < lengths, PAD)
    turned = letters.gather(1, (lengths - 1 - step[:-1]).clamp(min=0))
    answer = F.pad(turned, (0, 1)).where(step < lengths, PAD)
    answer = torch.where(step == lengths, END, answer)
    return source.to(device), answer.to(device)


# %%
def write(row):
    return "".join({PAD: "", END: "."}.get(i, LETTERS[i - 3]) for i in row.tolist())


# %%
g = torch.Generator().manual_seed(42)
for source, answer in zip(*draw(3, 4, 9, g), strict=True):
    print(write(source), "→", write(answer))


# %% [markdown]
# The whole transformer: one embedding for both halves, an encoder block of lesson 10 (pre-norm), and your decoder layer.


# %%
class OurTransformer(nn.Module):
    def __init__(self, vocab_size, d=64, n_head=4):
        super().__init__()
        self.embedding, self.positions = nn.Embedding(vocab_size, d), SinusoidalPositions(32, d)
        both_ways = MultiHeadAttention(d, n_head, attend, bias=True)
        self.encoder = Block(both_ways, FeedForward(d), lambda: nn.LayerNorm(d))
        self.decoder, self.head = OurDecoderLayer(d, n_head), nn.Linear(d, vocab_size)
        self.encoder_norm, self.decoder_norm = nn.LayerNorm(d), nn.LayerNorm(d)

    def forward(self, source, written, present):
        readable = present[:, None, None]  # padding is masked as a key, in both halves
        memory = self.encoder(self.positions(self.embedding(source)), readable)
        x = self.positions(self.embedding(written))
        x = self.decoder(x, self.encoder_norm(memory), readable)
        return self.head(self.decoder_norm(x))


# %% tags=["nbval-ignore-output"]
def train_reversal(seed, steps=1000, lr=3e-3):
    torch.manual_seed(seed)
    model, g, seen = OurTransformer(13).to(device), torch.Generator().manual_seed(seed), set()

    def batches():
        while True:
            x, y = draw(32, 4, 9, g)
            seen.update(map(write, x))
            yield (x, our_shift(y, START), x > 0), y.where(y > 0, -100)

    options = {"steps": steps, "schedule": warm_up_cosine(steps), "clip": 1.0}
    fit(model, adamw(model, lr), batches(), loss=next_token_loss, **options)
    return model.eval(), seen


# %% tags=["nbval-ignore-output"]
from coursekit.exercises import answer_or
from coursekit.models.encoder_decoder import shift_right

our_shift = answer_or(shift_and_start, shift_right)  # the library's until yours is there
model, seen = train_reversal(42)
print(sum(len(one) == 4 for one in seen), "of 10,000 sequences of four letters seen in training")

# %% [markdown]
# To write, the decoder gets its own tokens back, one step at a time.

# %% [markdown] tags=["exercise"]
# > **Exercise 10b.2 (build, 15 minutes).** Write `answer_greedily(source, present, model, start, steps)`. `model(source, written, present)` returns logits of shape (B, T, V), one row for each written token. Begin with the start token alone, append the likeliest next token `steps` times, and return what was written, (B, steps), without the start.
# >
# > <details><summary>Hint 1</summary><code>torch.full_like(source[:, :1], start)</code> is what has been written at first.</details>
# > <details><summary>Hint 2</summary>Only the logits of the last position say what comes next; everything written so far goes back in.</details>


# %% tags=["stub"]
def answer_greedily(source, present, model, start, steps): ...  # -> (B, steps)


# %% tags=["check"]
exercises.check_answer_greedily(answer_greedily)


# %% tags=["solution"]
@torch.no_grad()
def answer_greedily(source, present, model, start, steps):
    written = torch.full_like(source[:, :1], start)
    for _ in range(steps):
        best = model(source, written, present)[:, -1].argmax(-1)
        written = torch.cat([written, best[:, None]], 1)
    return written[:, 1:]


# %% [markdown]
# We count a sequence as right if *every* letter of it and the end are.
#
# **Predict.** It was trained on 4 to 9 letters. How many per cent of the sequences of 12 letters does it reverse?

# %% tags=["predict"]
guess = None  # per cent, such as 50


# %% tags=["nbval-ignore-output"]
def library_answer(source, present, model, start, steps):
    return write_likeliest(model, source, start, steps, present)


answer_it = answer_or(answer_greedily, library_answer)


def right(length, n=200):
    source, answer = draw(n, length, length, torch.Generator().manual_seed(length))
    new = torch.tensor([write(row) not in seen for row in source], device=device)
    source, answer = source[new], answer[new]
    written = answer_it(source, source > 0, model, START, length + 1)
    return (written == answer).all(1).float().mean().item()


# %% tags=["nbval-ignore-output"]
lengths = range(1, 15)
found = [right(length) for length in lengths]
trained_lengths = np.mean(found[3:9])
compare_guess(guess, 100 * found[11], unit="per cent")
claim(reverse_accuracy=trained_lengths, reverse_longer=np.mean(found[11:]))

# %% tags=["nbval-ignore-output"]
source = torch.tensor([[LETTERS.index(c) + 3 for c in "deafbig"]], device=device)
answer = F.pad(source.flip(1), (0, 1), value=END)
maps = read_attention(model, source, shift_right(answer, START), source > 0)
weights = maps["decoder.cross_attention"][0].mean(0).cpu()  # the mean of the heads: (8, 7)
claim(weight_on_the_mirror=weights[:7].flip(1).diagonal().mean())

# %% tags=["figure", "folded", "nbval-ignore-output"]
left, ax = plt.subplots(1, 2, figsize=(6.8, 3.4))[1]
left.imshow(weights, cmap="Blues", vmin=0, vmax=1)
left.set_xticks(range(7), write(source[0]))
left.set_yticks(range(8), write(answer[0]))
left.set(xlabel="reads", ylabel="writes", title="Where it looks")
left.grid(visible=False)
ax.bar(lengths, np.multiply(100, found), color=["C0" if 4 <= n <= 9 else "0.7" for n in lengths])
ax.set(xlabel="letters", ylabel="sequences right (per cent)", ylim=(0, 112))
ax.text(6.5, 104, "lengths of training", color="C0", ha="center")
ax.set_title("It fails on longer ones")
figure("reversed", alt="Attention on the antidiagonal; right for 4 to 9 letters, wrong beyond.")

# %% [markdown]
# While it writes the k-th letter, on average 0.6 of the weight lies on the k-th letter from the end: what an algorithm that reads backwards would look like. It is a picture of one network and the mean of its heads, and lesson 10 showed how little such a picture proves; that the answers are right is the stronger evidence. What it has learned holds for the lengths of training. Ten letters it hardly ever reverses, more never: "the last letter" is at another absolute position for each length, and positions beyond the ninth have never been trained. Three letters succeed only some of the time, one and two never, although their positions were trained: it has not learned to end so soon.
#
# ## 10b.3 Does attention find the lag?
#
# Attention weights are often read as "this is where the information comes from". Here we know where it comes from. Let $y_t = x_{t-\Delta} + \text{noise}$: a series that answers another one after $\Delta$ steps. One layer of causal attention with one head reads the values of $x$ with their positions and is to name $y_t$. Its rival is the **cross-correlation**, the correlation of $y_t$ with $x_{t-k}$ for each $k$, computed from the same batches.


# %%
class OurLagModel(nn.Module):
    def __init__(self, d=32):
        super().__init__()
        self.content, self.positions = nn.Linear(1, d), SinusoidalPositions(32, d)
        self.attention, self.head = MultiHeadAttention(d, 1, attend_past), nn.Linear(d, 1)

    def forward(self, x):
        return self.head(self.attention(self.positions(self.content(x[..., None]))))[..., 0]


def draw_pairs(seed, lag, noise, steps=300):
    g = torch.Generator().manual_seed(seed)
    x = torch.randn(steps, 32, 32, generator=g)
    y = x.roll(lag, 2) + noise * torch.randn(x.shape, generator=g)
    y[..., :lag] = 0  # nothing to name yet
    return x.to(device), y.to(device)


# %%
def weight_at_lags(seed, lag, noise, rounds=1):
    torch.manual_seed(seed)
    model, (x, y) = OurLagModel().to(device), draw_pairs(seed, lag, noise)
    batches = [*zip(x, y, strict=True)] * rounds
    if rounds:
        fit(model, adamw(model, 1e-2), batches, steps=len(batches), loss=F.mse_loss)
    weights = read_attention(model, x[:2].flatten(0, 1))["attention"][:, 0].mean(0).cpu()
    return [weights.diagonal(-k)[16 - k :].mean().item() for k in range(13)]


def correlation_at_lags(seed, lag, noise):
    x, y = (one.flatten(0, 1).cpu() for one in draw_pairs(seed, lag, noise))
    pairs = [torch.stack([x[:, 12 - k : 32 - k].flatten(), y[:, 12:].flatten()]) for k in range(13)]
    return [torch.corrcoef(one)[0, 1].item() for one in pairs]


# %% [markdown]
# First with little noise (standard deviation 0.3), for three lags, then for $\Delta = 6$ with noise ten times as large as the signal.
#
# **Predict.** Behind that noise, how much of its weight does the trained attention put on lag 6? All of it would be 1, and equal weights on everything it may read are about 0.04.

# %% tags=["predict"]
guess = None  # a weight, such as 0.5

# %% tags=["nbval-ignore-output"]
clear = {lag: weight_at_lags(42, lag, 0.3) for lag in (3, 6, 9)}
untrained = weight_at_lags(42, 6, 0.3, rounds=0)
noisy, patient = (weight_at_lags(42, 6, 10.0, rounds) for rounds in (1, 10))
correlation = correlation_at_lags(42, 6, 10.0)
compare_guess(guess, noisy[6])
claim(lags_found=sum(np.argmax(curve) == lag for lag, curve in clear.items()))
claim(lag_weight=clear[6][6], lag_weight_untrained=untrained[6], noisy_lag_weight=noisy[6])
claim(patient_lag_weight=patient[6], noisy_correlation=correlation[6])
claim(other_correlations=max(correlation[:6] + correlation[7:]))

# %% tags=["figure", "folded", "nbval-ignore-output"]
left, right_ = plt.subplots(1, 2, figsize=(7, 3.4))[1]
for lag, curve in clear.items():
    left.plot(curve, "o-", color=f"C{lag // 3 - 1}")
    left.text(lag, max(curve) + 0.04, f"Δ={lag}", ha="center", color=f"C{lag // 3 - 1}")
left.plot(untrained, "--", color="0.5")
left.text(12.4, 0.12, "untrained", color="0.5", ha="right")
left.set(xlabel="lag (steps back)", ylabel="attention weight", ylim=(0, 1.12), xlim=(-0.5, 12.5))
left.set_title("Little noise: found")
lines = {"300 batches": noisy, "correlation": correlation}
lines["read ten times"] = patient
for k, (name, curve) in enumerate(lines.items()):
    right_.plot(curve, "o-", color=f"C{k}")
    right_.text(12.4, (0.09, 0.2, 0.5)[k], name, color=f"C{k}", ha="right")
right_.set(xlabel="lag (steps back)", ylim=(-0.04, 1.12), xlim=(-0.5, 12.5))
right_.set_title("Much noise, Δ=6: found late")
plt.setp([left, right_], xticks=range(0, 13, 3))
figure(
    "lag",
    alt="Left: attention peaks at lags 3, 6, 9. Right: at first flat, after ten rounds at 6.",
)

# %% [markdown]
# With little noise it finds each of the three lags. With much noise its weights are nearly flat after 300 batches, while the correlation of the same numbers already stands out at lag 6, if at no more than 0.1. Read the same batches ten times, and attention finds the lag, too. So a flat picture of attention may only say that training isn't over; and where the dependence is linear and weak, the correlation is the quicker way to see it.
#
# %% [markdown]
# ## What you now have
#
# - The transformer, whole: an encoder, a decoder, and the attention between them, built and trained.
# - A way to write: what was written goes back in.
# - Two reasons for care with pictures of attention, and a rival that is simpler.
#
# **What still fails.** Sequences longer than those of training. And all of this reads tokens; lesson 11 makes tokens of a series.

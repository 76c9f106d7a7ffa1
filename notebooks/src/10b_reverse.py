# %% [markdown]
# # 10b · An encoder that answers
#
# An encoder reads in both directions and writes nothing. The transformer of 2017 had two halves: the encoder reads a sequence whole, the decoder writes the answer, a token at a time. How does the second half use what the first has read? You build the missing piece, **cross-attention**, train both halves to reverse what they read, see which position each letter comes from, and find out what they have learned. Reversing stands for translation here: what is written depends on what was read, and for each letter we know on which.
#
# **Before**: lesson 10 (the encoder, padding).
#
# **Runs in** {runs_in}. **Study time** {study}.
#
# **Source**: Vaswani et al. (2017), figure 1. There each norm comes after the addition; here it comes before attention, as in lesson 6 (pre-norm).

# %% tags=["setup", "machine"]
import matplotlib.pyplot as plt
import numpy as np
import torch
from torch import nn
from torch.nn import functional as F
from torch.testing import assert_close

from coursekit.evaluate.likelihood import next_token_loss
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
rows += ["norm  ", "feed-forward", "+  ", "norm, head", "next token"]
for k, row in enumerate(rows):
    kind = "operation" if "+" in row else "parameters"
    kind = "data" if row in ("written so far", "next token") else kind
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
d.group("decoder block", *rows[:-2])
d.draw()
figure(
    "two-halves", alt="A decoder block; its cross-attention takes keys and values from the encoder."
)


# %% [markdown] tags=["exercise"]
# > **Exercise 10b.1 (build, 15 minutes).** Write `cross_attention(x, memory, readable, layer)`. `x`, (B, T, C), comes from the decoder, `memory`, (B, S, C), is what the encoder returned, and `readable`, (B, 1, 1, S), is False where the source is padding. `layer` has four linear maps, `layer.q`, `layer.k`, `layer.v` and `layer.out`, and `layer.n_head` heads. T and S differ. In each head the attention is that of lesson 10: softmax(q kᵀ / √D), with weight 0 where it may not read, times v.
# >
# > <details><summary>Hint 1</summary>Only the queries are made of <code>x</code>.</details>
# > <details><summary>Hint 2</summary><code>part.unflatten(-1, (layer.n_head, -1)).transpose(1, 2)</code> has the shape (B, H, T or S, D). At the end <code>.transpose(1, 2).flatten(-2)</code>, then <code>layer.out</code>.</details>


# %% tags=["stub"]
def cross_attention(x, memory, readable, layer): ...  # -> (B, T, C)


# %% tags=["check"]
from coursekit.exercises import answer_or
from coursekit.exercises import reverse as exercises

exercises.check_cross_attention(cross_attention)


# %% tags=["solution"]
def cross_attention(x, memory, readable, layer):
    q, k, v = layer.q(x), layer.k(memory), layer.v(memory)
    q, k, v = (part.unflatten(-1, (layer.n_head, -1)).transpose(1, 2) for part in (q, k, v))
    scores = (q @ k.mT / q.shape[-1] ** 0.5).masked_fill(~readable, -torch.inf)
    return layer.out((scores.softmax(-1) @ v).transpose(1, 2).flatten(-2))


# %% [markdown]
# The rest of the block you know from lesson 6, so it comes from the library: causal attention over what was written, the feed-forward network, the norms.

# %%
from coursekit.layers.attention import MultiHeadAttention, attend, attend_past, attention_weights
from coursekit.layers.block import Block, DecoderBlock, FeedForward
from coursekit.layers.position import SinusoidalPositions


def library_cross(x, memory, readable, layer):
    return layer(x, memory, readable)


cross = answer_or(cross_attention, library_cross)  # the library's until yours is there


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
        x = x + cross(self.norm_2(x), memory, readable, self.cross_attention)  # new
        return x + self.feed_forward(self.norm_3(x))


# %% [markdown]
# With the same weights its output is that of the library's block, here for five tokens written and seven read. (Until you have solved the exercise, both use the library's attention.)

# %%
torch.manual_seed(42)
ours = OurDecoderLayer(12, 3)
parts = [MultiHeadAttention(12, 3, rule, bias=True) for rule in (attend_past, attend)]
library = DecoderBlock(*parts, FeedForward(12), lambda: nn.LayerNorm(12))
library.load_state_dict(ours.state_dict())
x, memory = torch.randn(2, 5, 12), torch.randn(2, 7, 12)
readable = (torch.arange(7) < torch.tensor([[4], [7]]))[:, None, None]
theirs = library(x, memory, memory_allowed=readable.expand(2, 1, 5, 7))
assert_close(ours(x, memory, readable), theirs)
print(f"largest difference {(ours(x, memory, readable) - theirs).abs().max():.0e}")

# %% [markdown]
# ## 10b.2 Reversing
#
# The task: read 4 to 9 of ten letters, write them in the reverse order, then an end token. (A GPT could be given the source as its prompt instead, and much translation is now done that way. What a separate encoder still offers: it may be of another size than the decoder, and read something other than text, such as the sound in a speech recogniser.)
#
# Sequences are drawn anew for each batch. There are only 10,000 of four letters, and training sees many of them: they are noted, and the test leaves them out.

# %%
PAD, START, END, LETTERS = 0, 1, 2, "abcdefghij"


def draw(n, shortest, longest, generator):
    lengths = torch.randint(shortest, longest + 1, (n,), generator=generator).tolist()
    letters = torch.randint(3, 13, (n, longest), generator=generator).tolist()
    rows = [row[:length] for row, length in zip(letters, lengths, strict=True)]
    source = [row + [PAD] * (longest - len(row)) for row in rows]
    answer = [row[::-1] + [END] + [PAD] * (longest - len(row)) for row in rows]
    return torch.tensor(source, device=device), torch.tensor(answer, device=device)


def write(row):
    return "".join({PAD: "", START: ">", END: "."}.get(i, LETTERS[i - 3]) for i in row.tolist())


g = torch.Generator().manual_seed(42)
for source, answer in zip(*draw(3, 4, 9, g), strict=True):
    print(write(source), "→", write(answer))


# %% [markdown]
# The whole transformer: one embedding for both halves, an encoder block, and your decoder layer.


# %%
class OurTransformer(nn.Module):
    def __init__(self, vocab_size, d=64, n_head=4):
        super().__init__()
        self.embed = nn.Sequential(nn.Embedding(vocab_size, d), SinusoidalPositions(32, d))
        both_ways = MultiHeadAttention(d, n_head, attend, bias=True)
        self.encoder = Block(both_ways, FeedForward(d), lambda: nn.LayerNorm(d))
        self.decoder, self.encoder_norm = OurDecoderLayer(d, n_head), nn.LayerNorm(d)
        self.head = nn.Sequential(nn.LayerNorm(d), nn.Linear(d, vocab_size))

    def encode(self, source, readable):
        return self.encoder_norm(self.encoder(self.embed(source), readable))

    def decode(self, written, memory, readable):
        return self.head(self.decoder(self.embed(written), memory, readable))

    def forward(self, source, written, present):
        readable = present[:, None, None]  # padding is masked as a key, in both halves
        return self.decode(written, self.encode(source, readable), readable)


# %% [markdown]
# To write by itself, the decoder gets its own tokens back, one step at a time.

# %% [markdown] tags=["exercise"]
# > **Exercise 10b.2 (build, 15 minutes).** Write `answer_greedily(source, present, model, start, steps)`. `model(source, written, present)` returns logits of shape (B, T, V), one row for each written token. Begin with the start token alone, append the likeliest next token `steps` times, and return what was written, (B, steps), without the start. (In practice the source is encoded once, and the keys and values are kept; here each step does it all again.)
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
# While it trains, the decoder reads the right answer, not what it would have written itself: **teacher forcing**. At each step it must predict the next token from those before it, so it reads the answer *shifted by one*, after a start token. What if you forget the shift? Train one network with it and one without, for as many steps.
#
# **Predict.** Without the shift the loss falls to almost nothing. What percentage of new sequences of six letters does that network reverse, when it has to write by itself?

# %% tags=["predict"]
guess = None  # per cent, such as 50

# %% tags=["nbval-ignore-output"]
from coursekit.models.encoder_decoder import shift_right


def train_reversal(seed, steps=1000, lr=3e-3, shift=shift_right):
    torch.manual_seed(seed)
    model, g, seen = OurTransformer(13).to(device), torch.Generator().manual_seed(seed), set()

    def batches():
        while True:
            x, y = draw(32, 4, 9, g)
            seen.update(map(write, x))
            yield (x, shift(y, START), x > 0), y.where(y > 0, -100)

    options = {"steps": steps, "schedule": warm_up_cosine(steps), "clip": 1.0}
    history = fit(model, adamw(model, lr), batches(), loss=next_token_loss, **options)
    return model.eval(), seen, history.losses[-1]


model, seen, loss = train_reversal(42)
careless, _, careless_loss = train_reversal(42, shift=lambda answer, start: answer)
print(f"last loss: shifted {loss:.4f}, not shifted {careless_loss:.4f}")
print(sum(len(one) == 4 for one in seen), "of 10,000 sequences of four letters seen in training")

# %% [markdown]
# A sequence counts as right if *every* letter of it and the end are.


# %% tags=["nbval-ignore-output"]
from coursekit.sample import write_likeliest


def library_answer(source, present, model, start, steps):
    return write_likeliest(model, source, start, steps, present)


answer_it = answer_or(answer_greedily, library_answer)


def try_length(model, length, n=200):  # sequences that training has not seen, and their answers
    source, answer = draw(n, length, length, torch.Generator().manual_seed(length))
    new = torch.tensor([write(row) not in seen for row in source], device=device)
    written = answer_it(source[new], source[new] > 0, model, START, length + 4)
    right = (written[:, : length + 1] == answer[new]).all(1).float().mean().item()
    return source[new], written, right


source, written, careless_right = try_length(careless, 6)
compare_guess(guess, 100 * careless_right, unit="per cent")
print("without the shift:", write(source[0]), "→", write(written[0]))
lengths = range(1, 15)
right = {length: try_length(model, length)[2] for length in lengths}
claim(careless_loss=careless_loss, careless_accuracy=careless_right)
claim(reverse_accuracy=np.mean([right[length] for length in range(4, 10)]))

# %% [markdown]
# Without the shift the decoder sees the answer it must predict, and copies it. A loss near 0 in training, and nothing learned about reversing: after the start token, which it never read in training, it writes the end here, and copies that from then on. With the shift it has learned to reverse.
#
# How? Here is one sequence, *deafbig*, with the right answer as what was written so far: the weights of the cross-attention, for each letter to write.

# %% tags=["nbval-ignore-output"]
source = torch.tensor([[LETTERS.index(c) + 3 for c in "deafbig"]], device=device)
answer = F.pad(source.flip(1), (0, 1), value=END)
layer = model.decoder
with torch.no_grad():
    memory = model.encode(source, (source > 0)[:, None, None])
    x = model.embed(shift_right(answer, START))
    asks = layer.norm_2(x + layer.self_attention(layer.norm_1(x)))
    q, k = layer.cross_attention.q(asks), layer.cross_attention.k(memory)
    heads = (layer.cross_attention.n_head, -1)
    q, k = (part.unflatten(-1, heads).transpose(1, 2) for part in (q, k))
    weights = attention_weights(q, k)[0].mean(0).cpu()  # the mean of the heads: (8, 7)
claim(weight_on_the_mirror=weights[:7].flip(1).diagonal().mean())

# %% tags=["figure", "folded", "nbval-ignore-output"]
ax = plt.subplots(figsize=(4.4, 4.4))[1]
ax.imshow(weights, cmap="Blues", vmin=0, vmax=1)
for i, j in np.ndindex(*weights.shape):
    if weights[i, j] > 0.1:
        color = "white" if weights[i, j] > 0.6 else "black"
        ax.text(j, i, f"{weights[i, j]:.1f}", ha="center", va="center", color=color)
ax.set(xticks=range(7), yticks=range(8), xticklabels=write(source[0]), yticklabels=write(answer[0]))
ax.set(xlabel="reads", ylabel="writes", title="One sequence, mean of four heads")
ax.grid(visible=False)
figure("where-it-looks", alt="Weights of the cross-attention: most lie on the antidiagonal.")

# %% [markdown]
# While it writes the k-th letter of this sequence, on average 0.6 of the weight lies on the k-th letter from the end: what an algorithm that reads backwards would look like. But the encoder has mixed the letters before, so a weight on a position is not quite a weight on its letter. To see what a position is *used* for, remove it (an **ablation**): hide one position from the cross-attention, in 200 sequences of seven letters, and count which letters are still right. Then the reverse: show it that one position only.

# %% tags=["nbval-ignore-output"]
source, answer = draw(200, 7, 7, torch.Generator().manual_seed(7))
everything = torch.ones(1, 1, 1, 7, dtype=torch.bool, device=device)
kept, alone = torch.zeros(2, 7, 7)  # the letter to write, the position hidden or shown
with torch.no_grad():
    memory, written = model.encode(source, everything), shift_right(answer, START)
    for one in range(7):
        only = torch.arange(7, device=device) == one
        for table, visible in ((kept, everything & ~only), (alone, everything & only)):
            found = model.decode(written, memory, visible).argmax(-1)
            table[:, one] = (found == answer)[:, :7].float().mean(0).cpu()
mirror = torch.eye(7, dtype=torch.bool).flip(1)
claim(right_without_the_mirror=kept[mirror].mean(), right_without_another=kept[~mirror].mean())
claim(right_with_the_mirror_alone=alone[mirror].min())

# %% tags=["figure", "folded", "nbval-ignore-output"]
ax = plt.subplots(figsize=(4.8, 4.6))[1]
ax.imshow(100 * kept, cmap="Blues", vmin=0, vmax=140)
for i, j in np.ndindex(7, 7):
    color = "C1" if kept[i, j] < 0.7 else "white"
    ax.text(j, i, f"{100 * kept[i, j]:.0f}", ha="center", va="center", color=color)
ax.set_xticks(range(7), [f"{k}" for k in range(1, 8)])
ax.set_yticks(range(7), [f"{k}" for k in range(1, 8)])
ax.set(xlabel="position of the source that is hidden", ylabel="letter of the answer")
ax.set_title("Hide one position, lose one letter\n(per cent right)")
ax.grid(visible=False)
figure(
    "hide-one", alt="Only on the antidiagonal are letters wrong, where the mirrored one is hidden."
)

# %% [markdown]
# Exactly one letter breaks: the one that mirrors the hidden letter falls to guessing (a tenth), and all others stay right. And where the mirrored position is the only one it can see, every letter is right, too. So each letter it writes comes from the memory at the mirrored position.
#
# ## 10b.3 Longer and shorter
#
# **Predict.** It was trained on 4 to 9 letters. What percentage of the sequences of 12 letters does it reverse?

# %% tags=["predict"]
guess = None  # per cent, such as 50


# %%
def up_to_the_end(row):
    text = write(row)
    return text[: text.index(".") + 1] if "." in text else text + "…"


# %% tags=["nbval-ignore-output"]
compare_guess(guess, 100 * right[12], unit="per cent")
for length in (3, 12):
    source, written, _ = try_length(model, length)
    for k in range(3):
        answer = write(source[k].flip(0)) + "."
        verdict = "right" if up_to_the_end(written[k]) == answer else f"not {answer}"
        print(f"{write(source[k]):>12} → {up_to_the_end(written[k]):17} {verdict}")
    if length == 3:
        claim(begins_with_all_three=(written[:, :3] == source.flip(1)).all(1).float().mean())
ends = (written == END).int().argmax(1)  # with twelve: how many letters before the end
claim(three_letters_right=right[3], three_letters_wrong=1 - right[3])
claim(reverse_longer=np.mean([right[n] for n in (12, 13, 14)]))
claim(ends_after_nine_or_ten=((ends == 9) | (ends == 10)).float().mean())
claim(begins_at_the_ninth=(written[:, 0] == source[:, 8]).float().mean())

# %% tags=["figure", "folded", "nbval-ignore-output"]
ax = plt.subplots(figsize=(5.6, 3.2))[1]
values = [100 * right[n] for n in lengths]
ax.bar(lengths, values, color=["C0" if 4 <= n <= 9 else "0.7" for n in lengths])
for n, value in zip(lengths, values, strict=True):
    ax.text(n, value + 2, f"{value:.0f}", ha="center", fontsize=8)
ax.set(xlabel="letters", ylabel="sequences right (per cent)", ylim=(0, 124), xticks=lengths)
ax.set_yticks(range(0, 101, 20))
ax.text(6.5, 112, "lengths of training", color="C0", ha="center")
ax.set_title("It fails on longer and on shorter ones")
figure("lengths", alt="All are right for 4 to 9 letters, some for 3, next to none otherwise.")

# %% [markdown]
# Within the lengths of training every sequence is right, beyond them hardly one, and of the three-letter ones only some: a fifth here, 15 to 58 per cent in three other runs. The printed answers fit this. With three, the letters are nearly always right, but then a fourth often follows: no answer in training had fewer. With twelve, the first letter written is nearly always the *ninth* of the source, not the twelfth. Probably because each position has a vector of its own (sines and cosines, as in lesson 6), and in training no position after the ninth held a letter. And after nine or ten letters it ends: no answer in training was longer than nine. A perfect score says nothing about what the training never had. The field calls this a failure of **length generalisation**; one remedy that is tried is to number the positions in training with growing numbers drawn at random from a longer range, so that none is new later (Ruoss et al. 2023).
#
# ## What you now have
#
# - The transformer, whole: an encoder, a decoder, and the attention between them, built and trained.
# - A way to write: what was written goes back in.
# - A loss near 0 that means nothing, and a perfect score that ends where the training ends.
#
# **What still fails.** Lengths that training didn't have. And all of this reads tokens; lesson 11 makes tokens of a series.

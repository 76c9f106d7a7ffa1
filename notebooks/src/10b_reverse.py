# %% [markdown]
# # 10b · An encoder that answers
#
# An encoder reads in both directions and writes nothing. A GPT writes and reads in one direction. The transformer of 2017 had both halves: the first reads a sequence whole, the second writes the answer, a token at a time. You build the missing piece, and it learns to reverse what it reads. Then two smaller questions about attention: does it find the right lag, and do larger models learn more?
#
# **Before**: lesson 10 (the encoder, padding).
#
# **Runs in** {runs_in}. **Study time** {study}.
#
# **Source**: Vaswani et al. (2017), figure 1, with the norms before what is added.

# %% tags=["setup", "machine"]
import matplotlib.pyplot as plt
import numpy as np
import torch
from torch import nn
from torch.nn import functional as F
from torch.testing import assert_close

from coursekit.evaluate.likelihood import next_token_loss
from coursekit.inside.attention_maps import read_attention
from coursekit.notebook import Score, claim, claim_order, compare_guess, figure, setup
from coursekit.training.fit import fit
from coursekit.training.optimiser import adamw, warm_up_cosine

device = setup("10b_reverse", seed=42)

# %% [markdown]
# ## 10b.1 A second attention
#
# The decoder is a GPT with one layer more in each block. After it has looked at what it wrote so far (with the causal mask), it looks at what the encoder read (without one). There the queries come from the decoder, the keys and values from the encoder: **cross-attention**.

# %% tags=["figure"]
from coursekit.notebook.diagram import Diagram

d = Diagram()
d.box("source", 0, 5, kind="data")
d.box("attention", 0, 4, kind="parameters")
d.box("feed-forward", 0, 3, kind="parameters")
d.box("shifted targets", 1, 5, kind="data")
d.box("causal attention", 1, 4, kind="parameters")
d.box("cross-attention", 1, 3, kind="parameters")
d.box("feed-forward ", 1, 2, kind="parameters")
d.box("next token", 1, 1, kind="data")
d.arrow("source", "attention")
d.arrow("attention", "feed-forward")
d.arrow("feed-forward", "cross-attention", "k, v")
for tail, head in (
    ("shifted targets", "causal attention"),
    ("causal attention", "cross-attention"),
    ("cross-attention", "feed-forward "),
    ("feed-forward ", "next token"),
):
    d.arrow(tail, head, "q" if head == "cross-attention" else "")
d.group("encoder block", "attention", "feed-forward")
d.group("decoder block", "causal attention", "cross-attention", "feed-forward ")
d.draw()
figure("two-halves", alt="An encoder block on the left feeds keys and values to a decoder block.")


# %%
from coursekit.layers.attention import MultiHeadAttention, attend, attend_past
from coursekit.layers.block import DecoderBlock, FeedForward


# %%
class OurDecoderLayer(nn.Module):
    def __init__(self, d, n_head):
        super().__init__()
        self.self_attention = MultiHeadAttention(d, n_head, attend_past, bias=True)
        self.cross_attention = MultiHeadAttention(d, n_head, attend, bias=True)
        self.feed_forward = FeedForward(d)
        self.norm_1, self.norm_2, self.norm_3 = (nn.LayerNorm(d) for _ in range(3))

    def forward(self, x, memory):
        x = x + self.self_attention(self.norm_1(x))
        x = x + self.cross_attention(self.norm_2(x), memory)  # new: q from x, k and v from memory
        return x + self.feed_forward(self.norm_3(x))


# %%
torch.manual_seed(42)
ours = OurDecoderLayer(12, 3)
parts = [MultiHeadAttention(12, 3, rule, bias=True) for rule in (attend_past, attend)]
library = DecoderBlock(*parts, FeedForward(12), lambda: nn.LayerNorm(12))
library.load_state_dict(ours.state_dict())
x, memory = torch.randn(2, 5, 12), torch.randn(2, 7, 12)
assert_close(ours(x, memory), library(x, memory))

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
# The task: read 4 to 9 letters, write them in the reverse order, then an end token. A GPT that sees only the last letters can't begin, because the first letter of the answer is the last one it reads. Sequences are drawn anew for each batch, of ten letters; there are more than a billion of nine letters, so a test sequence was never seen.

# %%
from coursekit.models.encoder_decoder import EncoderDecoder, EncoderDecoderConfig, shift_right
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


# %% tags=["nbval-ignore-output"]
def train_reversal(seed, steps=1000, lr=3e-3):
    torch.manual_seed(seed)
    sizes = {"n_encoder": 1, "n_decoder": 1, "n_head": 4, "d_model": 64}
    model = EncoderDecoder(EncoderDecoderConfig(vocab_size=13, **sizes)).to(device)
    g = torch.Generator().manual_seed(seed)
    drawn = (draw(32, 4, 9, g) for _ in range(steps))
    batches = (((x, shift_right(y, START), x > 0), y.where(y > 0, -100)) for x, y in drawn)
    options = {"steps": steps, "schedule": warm_up_cosine(steps), "clip": 1.0}
    history = fit(model, adamw(model, lr), batches, loss=next_token_loss, **options)
    return model.eval(), history.losses


# %% tags=["nbval-ignore-output"]
model, losses = train_reversal(42)

# %% [markdown]
# To write, the decoder gets its own tokens back, one step at a time. We count a sequence as right if *every* letter of it and the end are.
#
# **Predict.** It was trained on 4 to 9 letters. How many per cent of the sequences of 12 letters does it reverse?

# %% tags=["predict"]
guess = None  # per cent, such as 50


# %% tags=["nbval-ignore-output"]
def right(model, length, n=200):
    source, answer = draw(n, length, length, torch.Generator().manual_seed(length))
    written = write_likeliest(model, source, START, length + 1, source > 0)
    return (written == answer).all(1).float().mean().item()


# %% tags=["nbval-ignore-output"]
lengths = range(1, 15)
found = [right(model, length) for length in lengths]
seen = np.mean(found[3:9])
compare_guess(guess, 100 * found[11], unit="per cent")
claim(reverse_accuracy=seen, reverse_longer=np.mean(found[11:]))

# %% tags=["nbval-ignore-output"]
source = torch.tensor([[LETTERS.index(c) + 3 for c in "deafbig"]], device=device)
answer = F.pad(source.flip(1), (0, 1), value=END)
maps = read_attention(model, source, shift_right(answer, START), source > 0)
weights = maps["decoder.0.cross_attention"][0].mean(0).cpu()

# %% tags=["figure", "nbval-ignore-output"]
left, ax = plt.subplots(1, 2, figsize=(6.8, 3.4))[1]
left.imshow(weights, cmap="Blues", vmin=0, vmax=1)
left.set_xticks(range(7), write(source[0]))
left.set_yticks(range(8), write(answer[0]))
left.set(xlabel="reads", ylabel="writes", title="It reads backwards")
left.grid(visible=False)
ax.bar(lengths, np.multiply(100, found), color=["C0" if 4 <= n <= 9 else "0.7" for n in lengths])
ax.set(xlabel="letters", ylabel="sequences right (per cent)", ylim=(0, 112))
ax.text(6.5, 104, "lengths of training", color="C0", ha="center")
ax.set_title("And knows no other lengths")
figure("reversed", alt="Attention on the antidiagonal; right for 4 to 9 letters, wrong beyond.")

# %% [markdown]
# The picture on the left is the algorithm: while it writes the first letter it reads the last, and so on back. Nobody told it about positions from the end; it found them from the end of the source. On the right is the price: what it learned is a rule for the lengths that it has seen, not the rule.
#
# ## 10b.3 Does attention find the lag?
#
# A series may answer an event after a fixed delay, as a return may answer news. Let $y_t = x_{t-\Delta} + \text{noise}$ with $\Delta = 6$. One layer of causal attention, one head, reads the values of $x$ with their positions and is to name $y_t$. After training, at which lag does its weight lie?

# %% tags=["nbval-ignore-output"]
from coursekit.layers.position import SinusoidalPositions


# %% tags=["nbval-ignore-output"]
class OurLagModel(nn.Module):
    def __init__(self, d=32):
        super().__init__()
        self.content, self.positions = nn.Linear(1, d), SinusoidalPositions(32, d)
        self.attention, self.head = MultiHeadAttention(d, 1, attend_past), nn.Linear(d, 1)

    def forward(self, x):
        return self.head(self.attention(self.positions(self.content(x[..., None]))))[..., 0]


# %% tags=["nbval-ignore-output"]
def lag_weights(seed, lag, steps=300):
    torch.manual_seed(seed)
    model, g = OurLagModel().to(device), torch.Generator().manual_seed(seed)

    def batches():
        while True:
            x = torch.randn(32, 32, generator=g)
            y = x.roll(lag, 1) + 0.3 * torch.randn(32, 32, generator=g)
            y[:, :lag] = 0
            yield x.to(device), y.to(device)

    if steps:
        fit(model, adamw(model, 1e-2), batches(), steps=steps, loss=F.mse_loss)
    weights = read_attention(model, torch.randn(64, 32, generator=g).to(device))["attention"]
    weights = weights[:, 0].mean(0).cpu()
    return [weights.diagonal(-k)[16 - k :].mean().item() for k in range(13)]


# %% tags=["nbval-ignore-output"]
curves = {lag: lag_weights(42, lag) for lag in (3, 6, 9)}
untrained = lag_weights(42, 6, steps=0)

# %% tags=["figure", "nbval-ignore-output"]
plt.figure(figsize=(5.8, 3.4))
for lag, curve in curves.items():
    plt.plot(curve, "o-", color=f"C{lag // 3 - 1}")
    plt.text(lag, max(curve) + 0.03, f"Δ = {lag}", ha="center", color=f"C{lag // 3 - 1}")
plt.plot(untrained, "--", color="0.5")
plt.text(12, untrained[-1] + 0.05, "untrained", color="0.5", ha="center")
plt.gca().set(
    xlabel="lag (steps back)", ylabel="mean attention weight", ylim=(0, 1.1), xlim=(0, 14)
)
plt.title("Attention finds the lag")
figure("lag", alt="Three curves peak at lags 3, 6 and 9; the untrained one is flat.")

# %% tags=["nbval-ignore-output"]
peaks = [int(np.argmax(curve)) for curve in curves.values()]
claim(lag_peak=peaks[1], lag_weight=curves[6][6], lag_weight_untrained=untrained[6])

# %% [markdown]
# It finds each of them. That is what a fixed lag looks like when there is one; and with real returns, where there is hardly any, the same picture would be noise.
#
# ## 10b.4 Three sizes
#
# Last, does size pay? The masked-token training of lesson 10, with three widths, the same text and the same number of steps.

# %% tags=["nbval-ignore-output"]
from coursekit.data.statements import number_words, statements
from coursekit.models.encoder import Encoder, EncoderConfig, MaskedTokenModel
from coursekit.windows.masking import draw_masked, mask_tokens, pad_texts


# %% tags=["nbval-ignore-output"]
train, validation, _ = statements()
ids = number_words([one.text for one in train])
batch = [
    pad_texts([[1, *(ids[w] for w in s.text.split())] for s in p]) for p in (train, validation)
]

# %% tags=["nbval-ignore-output"]
(tokens, present), (t_tokens, t_present) = ([x.to(device) for x in pair] for pair in batch)
hidden, wanted = mask_tokens(
    t_tokens,
    3,
    len(ids),
    torch.Generator().manual_seed(0),
    maskable=t_present & (t_tokens > 3),
    lowest=4,
)


# %% tags=["nbval-ignore-output"]
def score_size(width, seed=42, steps=500):
    torch.manual_seed(seed)
    sizes = EncoderConfig(vocab_size=len(ids), context=24, d_model=width, n_head=2)
    model, g = (
        MaskedTokenModel(Encoder(sizes, std=0.1)).to(device),
        torch.Generator().manual_seed(seed),
    )
    batches = draw_masked(tokens, present, 3, len(ids), 32, g, lowest=4)
    options = {"steps": steps, "schedule": warm_up_cosine(steps), "clip": 1.0}
    fit(model, adamw(model, 4e-3), batches, loss=next_token_loss, **options)
    with torch.no_grad():
        loss = next_token_loss(model.eval()(hidden, t_present), wanted)
    return sum(p.numel() for p in model.parameters()), Score(loss, on=wanted, steps=steps)


# %% tags=["nbval-ignore-output"]
small, middle, large = (score_size(width) for width in (4, 12, 36))
sizes, scores = zip(small, middle, large, strict=True)

# %% tags=["figure", "nbval-ignore-output"]
plt.figure(figsize=(5.8, 3.4))
plt.semilogx(sizes, [score.value for score in scores], "o-")
for size, score in zip(sizes, scores, strict=True):
    plt.text(size * 1.15, score.value + 0.03, f"{size:,}")
plt.gca().set(
    xlabel="weights of the model", ylabel="loss on hidden words (nats)", xlim=(700, 90_000)
)
plt.title("Larger learns more from the same text")
figure("sizes", alt="The loss on hidden words falls with the number of weights.")
claim_order(middle_beats_small=(middle[1], small[1]), large_beats_middle=(large[1], middle[1]))

# %% [markdown]
# ## What you now have
#
# - The transformer of 2017, whole: an encoder, a decoder, and the attention between them.
# - A picture of an algorithm that a network found, and its limit.
# - An attention that finds a lag, and a curve of loss against size.
#
# **What still fails.** Lengths unseen in training. And all of this reads tokens; lesson 11 makes tokens of a series.

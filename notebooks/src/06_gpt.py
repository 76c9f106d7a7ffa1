# %% [markdown]
# # 6 · GPT: each token asks those before it
#
# What is a language model made of? This notebook takes one apart until nothing is left but sums, products and one exponential, puts it together again, checks it against the published one, and trains it.
#
# **Afterwards you can** cut a text into windows without leaking, say what each part of a GPT does and prove it by a measurement, build attention from an average, spot the faults that raise no error (a mask upside down, a scale applied twice, a code that is none), count parameters by hand, train, sample, and judge which of the changes since GPT-2 pay.
#
# **Before**: notebook 2 (embeddings, training, batch normalisation); 1.11 (Kneser–Ney tables); 4.5 and 4.9 (causal, cached); 5.5 (byte pairs) for one table.
#
# **Runs in** {runs_in}.
#
# **Source**: attention and the transformer are by Vaswani et al. (2017); the model is GPT-2 (Radford et al. 2019); the style of building it up follows Karpathy's *nanoGPT*.

# %% tags=["setup", "machine"]
import math

import matplotlib.pyplot as plt
import torch
from torch import nn
from torch.nn import functional as F
from torch.testing import assert_close

from coursekit import data
from coursekit.notebook import claim, figure, setup, show
from coursekit.tokens.vocabulary import Vocabulary

device = setup("06_gpt", seed=42)
text = data.shakespeare()

# %% [markdown]
# ## 6.1 From a text to windows
#
# A **language model** is a function. In goes a piece of text of limited length, out comes a probability for each token that might follow. Nothing else: to write, one draws a token, appends it, lets the first token drop out if the text has become too long, and asks again.
#
# Our tokens are single characters, for then the vocabulary is small and nothing is hidden. The last tenth of the text is kept for validation. **Cut first**, before anything else is done with it; you will see why.

# %% tags=["data"]
vocabulary = Vocabulary.of(text)
tokens = torch.tensor(vocabulary.encode(text))
cut = int(0.9 * len(tokens))
train, valid = tokens[:cut], tokens[cut:]
print(f"{len(text):,} characters: {len(train):,} to train on, {len(valid):,} to validate")
about = {"why": "different characters", "data": "shakespeare", "stand_in": (90, 140)}
claim(text_vocabulary=len(vocabulary))

# %% [markdown]
# Four letters name most sizes in this notebook: **B** texts side by side (batch), **T** steps, **C** channels (numbers in a vector), **V** tokens in the vocabulary. Ids run from 0 to V - 1, not from 1 to V as some texts write, because they are row numbers of a table. Tokens have the shape (B, T), vectors (B, T, C), logits (B, T, V). Other texts use V for values, T for the context and W for anything; here a letter has one meaning.
#
# A training example is a window and the same window one token later. With a context of 6 that is not one question but six, for the model answers after *each* token:

# %% tags=["data"]
assert sorted(set(tokens.tolist())) == list(range(len(vocabulary)))  # 0 … V - 1
inputs, targets = train[:6], train[1:7]
print("inputs ", inputs.tolist(), "\ntargets", targets.tolist())
for t in range(6):
    asked = vocabulary.decode(inputs[: t + 1].tolist())
    print(f"{asked!r:>10} → {vocabulary.decode([int(targets[t])])!r}")

# %% [markdown]
# How many windows does a text of n tokens hold? With context T and a stride of k tokens from start to start, $\lceil (n - T)/k \rceil$, for each also needs its last target. If k < T, neighbours overlap. (`slide_windows` cuts them all, `[::k]` keeps every k-th.)

# %%
from coursekit.windows.tokens import slide_windows

for T, k in ((6, 1), (6, 6), (6, 4), (64, 10)):
    n_windows = len(slide_windows(torch.arange(500), T + 1)[::k])
    assert n_windows == math.ceil((500 - T) / k)
n_windows = len(slide_windows(torch.arange(100), 7)[::4])
claim(windows_of_100=n_windows)

# %% [markdown]
# **Predict**: cut 2,000 characters into windows of 64, stride 1, and put a random tenth of the *windows* aside for validation. Which share of the characters to be predicted there has also been a training target?

# %%
generator = torch.Generator().manual_seed(42)
places = slide_windows(torch.arange(2000), 65)  # where each window reads
order = torch.randperm(len(places), generator=generator)
aside, rest = places[order[: len(order) // 10]], places[order[len(order) // 10 :]]
leaked = torch.isin(aside[:, 1:], rest[:, 1:]).float().mean()
claim(leaked_targets=leaked)

# %% [markdown]
# All of it. Such a "validation loss" measures how well the model has learnt the training text by heart. Cut the text first, and the share is 0 by construction.
#
# Training draws its windows at random. A common sampler picks starts with `randint(0, len(text) - T - 1)`, and looks careful. But `randint` never returns its upper end.
#
# **Predict**: 70 tokens, numbered 0 to 69. Which is the last that this sampler ever uses as a target?

# %% tags=["shown"]
from coursekit.windows.tokens import draw_spans

show(draw_spans)

# %%
numbered = torch.arange(70)
starts = torch.randint(0, 70 - 8 - 1, (10_000,), generator=generator)
claim(slip_last_target=starts.max() + 8)
_, targets = next(draw_spans(numbered, 8, 10_000, generator))
assert set(targets.flatten().tolist()) == set(range(1, 70))  # all but the first
claim(last_target=targets.max())

# %% [markdown]
# One token in a million does not matter. In a text of 70 it does, and a fault that you have seen once you see everywhere.
#
# Now a whole model, as a black box: 16 characters of context, two layers, vectors of 32 numbers. It is untrained, all its numbers were just drawn; sections 6.2 to 6.7 open it. What it returns are **logits**, numbers of any sign; `softmax` turns them into shares that sum to 1.

# %% tags=["data", "nbval-ignore-output"]
from coursekit.models.gpt import GPT, GPTConfig
from coursekit.evaluate.likelihood import perplexity, text_nll

V = len(vocabulary)
model = GPT(GPTConfig(vocab_size=V, context=16, n_layer=2, n_head=4, d_model=32))
inputs, targets = next(draw_spans(train, 16, 64, generator))

# %% tags=["data", "nbval-ignore-output"]
logits = model(inputs)
assert logits.shape == (64, 16, V)
share = logits[0, -1].softmax(-1)
claim(shares_of_next=share.sum().double())

# %% [markdown]
# The **loss** is the mean surprise: minus the logarithm of the probability that the model gave to what came, over all B · T questions. Written out, and as PyTorch has it (which wants the questions in one long row):

# %% tags=["data", "nbval-ignore-output"]
surprise = -logits.log_softmax(-1).gather(-1, targets[..., None])[..., 0]  # (B, T)
theirs = F.cross_entropy(logits.flatten(0, 1), targets.flatten())
claim(loss_by_hand=(surprise.mean() - theirs).abs())

# %% [markdown]
# **Predict** the loss of a model that knows nothing.

# %% tags=["data", "nbval-ignore-output"]
print(f"loss {surprise.mean():.3f}, ln V = {math.log(V):.3f}")
print(f"perplexity {perplexity(surprise.mean().item()):.1f} of {V} characters")
print(f"mean of exp(surprise), which is not the perplexity: {surprise.exp().mean():.1f}")
about = {"why": "0.006 ± 3 × 0.010, the spread of seeds 0–4", "data": "shakespeare"}
above = surprise.mean() - math.log(V)
claim(first_loss_above_uniform=above)

# %% [markdown]
# A guess among V equally likely characters costs ln V. An untrained model should start there: more would mean that it is *sure* of nonsense. **Perplexity** is the exponential of the *mean* (the mean of the exponentials is larger, unless all are equal).
#
# Let the box write: ask, draw, append, ask again. A hook, a function that PyTorch calls before the model, notes how much it reads each time. What comes out is gibberish, and the model itself agrees, for its own text is as surprising to it as any:

# %% tags=["data", "nbval-ignore-output"]
from coursekit.sample import sample_text

lengths = []
hook = model.register_forward_pre_hook(lambda box, given: lengths.append(given[0].shape[1]))
gibberish = sample_text(model, vocabulary, "To be", 300, generator)
hook.remove()
print(repr(gibberish[:70]))

# %% tags=["data", "nbval-ignore-output"]
claim(longest_reading=max(lengths))
nll = text_nll(model, torch.tensor(vocabulary.encode("To be" + gibberish)))
about = {"why": "-0.002 ± 3 × 0.011, the spread of seeds 0–4", "data": "shakespeare"}
claim(gibberish_above_uniform=nll - math.log(V))

# %% [markdown]
# ## 6.2 Vectors, and where they stand
#
# An id is a name, not a quantity: character 40 is not twice character 20. So first the box turns each id into a vector of C numbers: its row of a table, the **embedding**. That is the product of a **one-hot** vector, 1 at the id and 0 elsewhere, with the table as a matrix. Six words, four different ones:

# %%
words = ["to", "be", "or", "not", "to", "be"]
known = sorted(set(words))
ids = torch.tensor([known.index(word) for word in words])
E = torch.randn(len(known), 8, generator=generator)  # V × C
x = E[ids]
one_hot = F.one_hot(ids, len(known)).float()
claim(one_hot_times_table=(one_hot @ E - x).abs().max())

# %% [markdown]
# What the tokens are does not matter, as long as no id exceeds the table. Three words with a small byte-pair vocabulary (notebook 5), trained on our two paragraphs about surfaces, 300 tokens, vectors of 5 numbers:

# %% tags=["nbval-ignore-output"]
from coursekit.tokens.bpe import train_bpe

bpe = train_bpe(data.GEOMETRY, 300)
pieces = bpe.encode("A closed surface")
vectors = nn.Embedding(300, 5)(torch.tensor(pieces)).detach()
for piece, vector in zip(pieces, vectors, strict=True):
    print(f"{bpe.decode([piece])!r:8} {piece:3} ", *(f"{number:6.2f}" for number in vector))
assert vectors.shape == (len(pieces), 5)
claim(largest_piece=max(pieces))

# %% [markdown]
# Random numbers, for now: the table is trained with everything else. It can also be trained alone. **Word2vec** (Mikolov et al. 2013) asks of two words whether they stand together: $\sigma(u \cdot v)$, with σ the sigmoid, which squeezes any number between 0 and 1, should be 1 for a word and its neighbour and 0 for a word and a random one. With all $v = 0$ at first, the loss is $2 \ln 2$.

# %%
script = data.GEOMETRY.lower().split()
lexicon = {word: i for i, word in enumerate(sorted(set(script)))}
story = torch.tensor([lexicon[word] for word in script])
centre, around = (torch.cat(parts) for parts in ((story[:-1], story[1:]), (story[1:], story[:-1])))

# %% tags=["nbval-ignore-output"]
u = torch.randn(len(lexicon), 16, generator=generator, requires_grad=True)
v = torch.zeros(len(lexicon), 16, requires_grad=True)
optimiser, losses = torch.optim.Adam([u, v], lr=0.05), []
for _ in range(100):
    stranger = story[torch.randint(len(story), (len(centre),), generator=generator)]
    near, far = ((u[centre] * v[other]).sum(-1) for other in (around, stranger))
    loss = -(F.logsigmoid(near) + F.logsigmoid(-far)).mean()
    optimiser.zero_grad()
    loss.backward()
    optimiser.step()
    losses.append(loss.item())
assert abs(losses[0] - 2 * math.log(2)) < 1e-5  # v = 0
claim(skip_gram_end=losses[-1])

# %% [markdown]
# Such a table knows which words stand together, not in which order. Nor does ours: both *be* have the same vector. So a **place** must be added. The simplest way is a second table with a row for each place, trained like the first:

# %% tags=["nbval-ignore-output"]
P = torch.randn(6, 8, generator=generator)  # T × C
assert x[1].equal(x[5])
assert not (x + P)[1].equal((x + P)[5])

# %% tags=["shown"]
from coursekit.layers.position import LearnedPositions

show(LearnedPositions)

# %% [markdown]
# The box of 6.1 has such a table. Of *to be or to be* it reads letters, and two of them are *b*:

# %% tags=["data", "nbval-ignore-output"]
bare = model.embedding(torch.tensor([vocabulary.encode("to be or to be")]))
placed = model.positions(bare)
before, after = ((x[0, 3] - x[0, 12]).norm() for x in (bare, placed))
claim(same_word_before=before)
about = {"why": "√(2 · 32) · 0.02 = 0.16; 0.151 ± 3 × 0.019, seeds 0–4", "data": "shakespeare"}
claim(same_word_after=after)

# %% [markdown]
# Does a model need that? Shuffle all characters but the last, and look at the last prediction.
#
# **Predict**: does it change if there are no places, with one block? With two?

# %% tags=["nbval-ignore-output"]
moved, shuffled = {}, torch.tensor([[3, 1, 4, 0, 2, 5]])
models = {
    "no places": (None, 1),
    "places": (LearnedPositions, 1),
    "no places, two blocks": (None, 2),
}
for name, (positions, n_layer) in models.items():
    config = GPTConfig(vocab_size=6, context=6, n_layer=n_layer, n_head=2, d_model=32)
    blind = GPT(config, positions=positions, std=0.3)
    moved[name] = (blind(shuffled) - blind(shuffled.sort().values))[0, -1].abs().max()

# %% tags=["nbval-ignore-output"]
claim(shuffled_without_places=moved["no places"])
about = {"why": "seeds 0–4: 0.23 and more"}
claim(shuffled_with_places=moved["places"])
claim(shuffled_two_blocks=moved["no places, two blocks"])

# %% [markdown]
# One block without places sees a bag of characters. Two blocks do not: in the second, step t reads vectors that have themselves read only what came before *them*, so the ban on reading the future lets order in. (Causal models that are trained without any places do learn where they are: Haviv et al. 2022.) But what is told need not be found out, and without the ban there is no such help, as 6.3 will show.
#
# Vaswani et al. (2017) train no table but compute one, from waves that get slower from channel to channel. For step t and pair of channels i = 0 … C/2 - 1,
#
# $$p_{t,2i} = \sin\frac{t}{10000^{2i/C}} \qquad p_{t,2i+1} = \cos\frac{t}{10000^{2i/C}}$$

# %% tags=["shown"]
from coursekit.layers.position import SinusoidalPositions, sinusoidal_codes

show(sinusoidal_codes)

# %%
codes = sinusoidal_codes(64, 128)
error = 0.0
for t in range(64):
    for i in range(64):
        angle = t / 10000 ** (2 * i / 128)
        pair = torch.tensor([math.sin(angle), math.cos(angle)])
        error = max(error, (codes[t, 2 * i : 2 * i + 2] - pair).abs().max().item())
assert error < 1e-6  # the formula, number by number

# %% tags=["figure", "nbval-ignore-output"]
above, below = plt.subplots(2, 1, figsize=(8.5, 6.4))[1]
image = above.imshow(codes, cmap="vlag", vmin=-1, vmax=1, aspect="auto", interpolation="nearest")
above.set(xlabel="channel", ylabel="step")
above.grid(visible=False)
plt.colorbar(image, ax=above, label="code")
for k, channel in enumerate((0, 1, 4, 5, 16, 17, 32, 33)):
    style = {"color": f"C{k // 2}", "lw": 1.4, "label": f"{channel}"}
    below.plot(codes[:, channel], "--" if k % 2 else "-", **style)
below.set(xlabel="step", ylabel="code")
below.legend(title="channel", loc="center left", bbox_to_anchor=(1, 0.5))
figure(
    "codes", alt="Waves over 64 steps: the first of 128 channels are fast, the last almost still."
)

# %% [markdown]
# Like the hands of a clock: the first channels turn every six steps ($2\pi$), the last hardly move. Channels 0 and 1 (full and dashed) are sine and cosine of one angle, the position of one hand; 32 and 33 need 63 steps for a turn. No two steps have the same set of hands, and none is far from its neighbours. The cosine of the angle between two codes says how similar two places are.
#
# **Predict**: "the nearer, the more similar". Always?

# %% tags=["figure", "nbval-ignore-output"]
unit = F.normalize(sinusoidal_codes(64, 128).double(), dim=-1)
similar = unit @ unit.T
left, right = plt.subplots(1, 2, figsize=(9, 3.8), width_ratios=(1, 1.3))[1]
image = left.imshow(similar[:20, :20], cmap="viridis")
left.set(xlabel="step", ylabel="step", xticks=range(0, 20, 5), yticks=range(0, 20, 5))
left.grid(visible=False)
plt.colorbar(image, ax=left, label="cosine similarity", shrink=0.8)
right.plot(similar[0, :40], "o-", ms=4)
right.set(xlabel="steps between", ylabel="cosine similarity")
figure(
    "similar", alt="Similarity is equal along diagonals; it falls from 1, then wavers downwards."
)

# %% tags=["nbval-ignore-output"]
spread = max(similar[:20, :20].diagonal(k).std(correction=0) for k in range(20))
claim(code_diagonals=spread)
claim(code_neighbours=similar[0, 1])
rises = [k for k in range(2, 40) if similar[0, k - 1] < min(similar[0, k], similar[0, k - 2])]
print("more similar than one step less, again, from", rises, "steps on")
claim(code_first_rise=rises[0])

# %% [markdown]
# Only the distance counts (each diagonal has one colour), and neighbours are similar: 0.970. For eleven steps nearer does mean more similar; from twelve on the curve goes up and down, and it is no longer always true.
#
# A version with two loops that is copied from text to text looks like the formula:


# %%
def copied_codes(length, width):
    codes = torch.zeros(length, width)
    for i in range(1, length + 1):
        for j in range(1, width + 1):
            wave = math.sin if j % 2 == 0 else math.cos
            codes[i - 1, j - 1] = wave(i / 10000 ** (2 * j / width))
    return codes


# %% [markdown]
# **Predict**: how many faults do you find? (There are four.)

# %% tags=["nbval-ignore-output"]
wrong, right = copied_codes(64, 32), sinusoidal_codes(64, 32)
swapped = wrong.unflatten(-1, (-1, 2)).flip(-1).flatten(-2)
print(f"largest difference {(wrong - right).abs().max():.3f};", end=" ")
print(f"steps from 0: {(wrong[:-1] - right[1:]).abs().max():.3f};", end=" ")
print(f"and sin, cos swapped: {(swapped[:-1] - right[1:]).abs().max():.3f}")
claim(copied_codes_error=(wrong - right).abs().max())

# %% tags=["nbval-ignore-output"]
still = [int((c.std(0) < 0.003).sum()) for c in (wrong, right)]
print(f"of 32 channels hardly move in 64 steps: {still[0]} copied, {still[1]} right")
claim(copied_codes_still=still[0] - still[1])

# %% tags=["nbval-ignore-output"]
spread = []
for c in (wrong.double(), right.double()):
    products = c @ c.T
    spread.append(max(products.diagonal(k).max() - products.diagonal(k).min() for k in range(64)))
claim(copied_codes_spread=spread[0])
claim(formula_codes_spread=spread[1])

# %% [markdown]
# 1. Steps are counted from 1.
# 2. So are channels, which swaps sine and cosine.
# 3. The exponent takes twice the channel, not twice the pair: wavelengths up to 10,000², so that most channels stand still.
# 4. Sine and cosine of a pair have different frequencies.
#
# The first two are harmless. The last two are not: no shift and no swap repairs them, and products depend on more than the distance. No error is raised; the shape is right.
#
# How a module keeps such a table matters, too. Here as a plain attribute:


# %%
class PlainCodes(nn.Module):
    def __init__(self, context, d_model):
        super().__init__()
        self.codes = sinusoidal_codes(context, d_model)

    def forward(self, x):
        return x + self.codes


# %% tags=["nbval-ignore-output"]
plain, ours = PlainCodes(64, 8), SinusoidalPositions(64, 8)
try:
    plain(torch.zeros(1, 5, 8))
except RuntimeError as refusal:
    print("5 steps:", refusal)
assert ours(torch.zeros(1, 5, 8)).shape == (1, 5, 8)

# %%
print("moved to another device, plain:", plain.to("meta").codes.device)
print("moved to another device, ours: ", ours.to("meta").codes.device)
assert not plain.state_dict()  # so it isn't saved either
n_buffers = len(list(ours.buffers()))
claim(codes_are_a_buffer=n_buffers)
claim(codes_not_trained=len(list(ours.parameters())))

# %% [markdown]
# A plain tensor stays behind on the CPU, is not saved, and, without the cut to T rows, crashes at every text shorter than the context: that is, at every prompt. A **buffer** moves. (Ours isn't saved either, on purpose: it can be computed.)
#
# Last, the size of the two. Small models of this kind draw the token table with standard deviation 0.02, multiply it by √C, and add sinusoidal codes.

# %% tags=["nbval-ignore-output"]
word = 128**0.5 * 0.02 * torch.randn(1000, 128, generator=generator)
about = {"why": "0.02 √128 = 0.2263 ± 3 standard errors of 128,000 draws"}
claim(scaled_word_size=word.std())
claim(place_size=codes.square().mean().sqrt())

# %% [markdown]
# In a sum of squares the place weighs ten times as much as the word: at first such a model reads mostly where it is, not what is there. It can learn its way out; GPT-2 avoids the question with two trained tables, both small at first.

# %% [markdown]
# ## 6.3 Attention: from an average to a question
#
# So far each word knows itself and its place. How can it learn what stands before it? The simplest way: take the **average** of all vectors up to its own. First with a loop.

# %%
x = (x + P)[None]  # (B, T, C) = (1, 6, 8): one text, with its places
B, T, C = x.shape
average = torch.stack([x[0, : t + 1].mean(0) for t in range(T)])
average.shape

# %% [markdown]
# The first row is the first word itself, the last row the mean of all six. The same as a product of matrices: row t of a triangular table holds the **shares** that step t gives to each step s. And the same once more as a softmax, which turns any numbers, **scores**, into shares: equal scores give equal shares, and $-\infty$ gives exactly 0, because $e^{-\infty} = 0$.

# %% tags=["nbval-ignore-output"]
past = torch.ones(T, T).tril()
share = past / past.sum(-1, keepdim=True)
score = torch.zeros(T, T).masked_fill(past == 0, -torch.inf)
assert_close(score.softmax(-1), share)
claim(average_three_ways=(share @ x[0] - average).abs().max())
share

# %% [markdown]
# An average treats all words alike. But *be* should perhaps look for *to*, and *not* for a verb. So let the scores depend on the words. Each step sends out a **query** ("what am I looking for?"), each offers a **key** ("what am I?") and a **value** ("what do I tell?"), all three made of its vector by a matrix. The score of step t for step s is the product of t's query and s's key:
#
# $$q_t = x_t W_q \quad k_s = x_s W_k \quad v_s = x_s W_v \qquad \text{score}_{ts} = \frac{q_t \cdot k_s}{\sqrt D} \qquad z_t = \sum_s \text{softmax}_s(\text{score}_{ts})\, v_s$$
#
# Queries and keys have D channels; values may have another number. With loops, step by step:

# %%
D = 4
W_q, W_k = (torch.randn(C, D, generator=generator) / C**0.5 for _ in range(2))
W_v = torch.randn(C, 2, generator=generator) / C**0.5
q, k, v = x @ W_q, x @ W_k, x @ W_v
z = torch.zeros(1, T, 2)
for t in range(T):
    score = torch.stack([q[0, t] @ k[0, s] / D**0.5 for s in range(t + 1)])
    for s, portion in enumerate(score.softmax(-1)):
        z[0, t] += portion * v[0, s]

# %% [markdown]
# The loop over s stops at t: a step must not read what it is to predict. As matrices, for all steps at once (`k.mT` swaps the last two axes, so that `q @ k.mT` holds the products of all queries with all keys; `masked_fill` overwrites what is forbidden):

# %% tags=["nbval-ignore-output"]
future = torch.ones(T, T, dtype=torch.bool).triu(1)
score = q @ k.mT / D**0.5  # (B, T, S)
share = score.masked_fill(future, -torch.inf).softmax(-1)
claim(attention_by_loop=(share @ v - z).abs().max())
claim(attention_row_sums=(share.sum(-1) - 1).abs().max())
claim(attention_of_the_future=share[:, future].max())
assert share[0, 0].tolist() == [1, 0, 0, 0, 0, 0]  # the first word has only itself

# %% [markdown]
# That is all of attention; the rest is bookkeeping. Note what it costs: T · S scores, so twice the text is four times the work. In the library it is three functions: the shares, the mixture, and who may read whom.

# %% tags=["shown"]
from coursekit.layers.attention import allow_past, attend, attention_weights

show(attention_weights, attend, allow_past)

# %%
assert_close(attention_weights(q, k, allow_past(T, T)), share)
assert_close(attend(q, k, v, allow_past(T, T)), z)

# %% [markdown] tags=["exercise"]
# > **Exercise 1.** Write `ask(query, keys, values)`: what one query of shape (D,) gets from keys (S, D) and values (S, E), all of which it may read. Check: `check_ask`.
# >
# > <details><summary>Hint 1</summary>Scores first: one number for each key. Don't forget to divide.</details>
# > <details><summary>Hint 2</summary><code>keys @ query</code> has S numbers; shares of S values are added by <code>shares @ values</code>.</details>


# %% tags=["stub"]
def ask(query, keys, values): ...


# %% tags=["check"]
from coursekit.exercises import gpt as exercises

exercises.check_ask(ask)


# %% tags=["solution"]
def ask(query, keys, values):
    scores = keys @ query / len(query) ** 0.5
    return scores.softmax(-1) @ values


# %% [markdown]
# A picture of the shares of the first four words. **Predict**: what does forbidding the future change in the *last* row?


# %% tags=["figure", "nbval-ignore-output"]
def draw_shares(ax, share, labels, title):
    ax.imshow(share, cmap="Blues", vmin=0, vmax=1.6)
    for t, row in enumerate(share):
        for s, portion in enumerate(row):
            ax.text(s, t, f"{portion:.2f}", ha="center", va="center")
    ax.set_xticks(range(len(labels)), labels)
    ax.set_yticks(range(len(labels)), labels)
    ax.set(title=title, xlabel="is read", ylabel="reads")
    ax.grid(visible=False)


left, right = plt.subplots(1, 2, figsize=(8.5, 4))[1]
draw_shares(left, attention_weights(q, k[:, :4])[0, :4], words[:4], "All may be read")
draw_shares(right, share[0, :4, :4], words[:4], "Only the past")
figure("shares", alt="Two tables of shares, four words each; the right one is lower triangular.")

# %% [markdown]
# Nothing: the last word may read all four anyway. Each row sums to 1. (Rounded rows needn't: a table in a text has the last row 0.08, 0.23, 0.44, 0.24, which is 0.99. If shares sum to 0.99 *before* rounding, something is wrong: so check then.)

# %%
printed = sum([0.08, 0.23, 0.44, 0.24])
claim(printed_row_sum=printed)
exact = share[0, :4, :4].double()
assert_close(exact.sum(-1), torch.ones(4).double(), rtol=0, atol=1e-6)

# %% [markdown]
# Three facts about the mixture. Values are **rows** of the matrix v, not its columns, as one can read: a share of 1 on step s returns row s. Adding a constant to all scores of a row changes nothing. And $z_t$ is a weighted mean, so it lies *between* the values that t may read (in their **convex hull**, the smallest shape without dents that holds them all): attention alone can't produce anything larger than what it reads.

# %%
whole = torch.eye(T)[[3]]
assert (whole @ v[0]).equal(v[0, [3]])  # row 3, exactly
claim(one_share_one_row=(whole @ v[0] - v[0, 3]).abs().max())

# %%
scores = torch.randn(5, 7, dtype=torch.float64, generator=generator)
shift = (scores + 100).softmax(-1) - scores.softmax(-1)
assert shift.abs().max() < 1e-12  # in float64

# %%
for t in range(T):
    low, high = v[0, : t + 1].amin(0), v[0, : t + 1].amax(0)
    assert ((z[0, t] >= low - 1e-6) & (z[0, t] <= high + 1e-6)).all()

# %% tags=["figure", "nbval-ignore-output"]
ax = plt.subplots(figsize=(6.2, 4))[1]
for a in v[0]:
    for b in v[0]:
        ax.plot([a[0], b[0]], [a[1], b[1]], color="0.88", lw=1, zorder=1)
ax.scatter(*v[0].T, s=45, label="values v")
ax.scatter(*z[0].T, marker="x", s=60, color="C1", label="mixtures z")
for t in range(T):
    place = {"xytext": (-7, 5), "textcoords": "offset points", "ha": "right"}
    ax.annotate(f"{t + 1} {words[t]}", v[0, t], **place)
    ax.annotate(t + 1, z[0, t], xytext=(5, -14), textcoords="offset points", color="C1")
ax.set(xlabel="first channel", ylabel="second channel")
ax.margins(0.12)
ax.legend()
figure("hull", alt="Six values as dots, joined by lines; six crosses all lie within the outline.")

# %% [markdown]
# Mixture 1 sits on value 1, mixture 2 on the line from 1 to 2, and so on inwards.
#
# ### Why divide by √D?
#
# Let the numbers in q and k be independent with mean 0 and variance 1. Each product has variance 1; their sum, $q \cdot k$, has variance D. So raw scores of wide heads are large, and a softmax of large numbers gives everything to the largest.
#
# **Predict** the largest of 16 shares, on average, for D = 256 without the division.

# %% tags=["nbval-ignore-output"]
n = 100_000
for D in (16, 64, 256):
    queries, keys = (torch.randn(n, D, generator=generator) for _ in range(2))
    product = (queries * keys).sum(-1)
    error = 3 * ((2 + 6 / D) / n) ** 0.5  # three standard errors of a variance
    about = {"why": "1 ± 3 standard errors of 100,000 draws"}
    claim(**{f"score-variance-{D}": product.var() / D})
    mean_error = product.mean().abs() / (D / n) ** 0.5
    assert mean_error < 3  # the mean is 0, within three standard errors


# %% tags=["nbval-ignore-output"]
def largest_share(width, divide, generator, keys=16):
    q = torch.randn(500, 1, width, generator=generator)
    score = (q * torch.randn(500, keys, width, generator=generator)).sum(-1)
    return (score / width**0.5 if divide else score).softmax(-1).amax(-1).mean().item()


sharp = {
    divide: [largest_share(D, divide, generator) for D in (4, 16, 64, 256)]
    for divide in (False, True)
}
claim(largest_share_raw=sharp[False][-1])
claim(largest_share_divided=sharp[True][-1])

# %% [markdown]
# "So each row of scores has variance 1", some texts continue. Not each row: *given* a query, the scores have variance $|q|^2/D$, a number that differs from query to query, the more the narrower the head.


# %% tags=["nbval-ignore-output"]
given = torch.randn(16, generator=generator)
row = given @ torch.randn(16, n, generator=generator) / 4  # scores of one query, D = 16
expected, error = given.square().sum() / 16, 3 * (2 / n) ** 0.5
about = {"why": "|q|²/D ± 3 standard errors of 100,000 draws"}
claim(row_variance_share=row.var() / expected)
print(f"this query: variance {expected:.2f}, not 1")

# %% tags=["figure", "nbval-ignore-output"]
left, right = plt.subplots(1, 2, figsize=(9, 3.8))[1]
for divide, style in ((False, "o--"), (True, "s-")):
    left.plot((4, 16, 64, 256), sharp[divide], style, label="q·k/√D" if divide else "q·k")
left.set(xscale="log", xlabel="channels D of a head", ylabel="largest of 16 shares", ylim=(0, 1))
left.set_xticks((4, 16, 64, 256), ("4", "16", "64", "256"))
left.legend(title="score")
for D in (16, 64, 256):
    rows = torch.randn(20_000, D, generator=generator).square().mean(-1)
    right.hist(rows, 60, range=(0, 2.5), histtype="step", lw=2, label=f"D = {D}", density=True)
right.set(xlabel="variance of the scores of one query", ylabel="density")
right.legend()
figure("width", alt="Raw scores sharpen with width, divided ones don't; row variances lie about 1.")

# %% [markdown]
# Left: with the division the shares are as soft at D = 256 as at 4: training starts with everything heard a little. A share near 1 would also have next to no slope (the softmax's slope is $p(1-p)$), so what was not heard at first would hardly be learnt. Right: the variances of single rows scatter about 1.
#
# How sharp is one row, for a given width and factor? As a still, then with sliders:


# %% tags=["figure", "nbval-ignore-output"]
def draw_sharpness(width=64, factor=1.0):
    chance = torch.Generator().manual_seed(1)
    q, k = torch.randn(width, generator=chance), torch.randn(16, width, generator=chance)
    score = factor * (k @ q) / width**0.5
    plt.bar(range(16), score.softmax(-1))
    plt.axhline(1 / 16, color="black", linestyle=":")
    plt.gca().set(ylim=(0, 1), xlabel="key", ylabel="share", xticks=range(16))
    plt.title(f"D = {width}, scores q·k/√D times {factor:g}")
    plt.grid(axis="x", visible=False)


plt.figure(figsize=(7, 3))
draw_sharpness()
figure("sharpness", alt="Sixteen bars of shares: four above the dotted line of equal shares.")

# %% tags=["live", "nbval-ignore-output"]
from coursekit.notebook.widgets import play

play(draw_sharpness, width=[4, 16, 64, 256, 1024], factor=[0.0, 0.3, 1.0, 3.0, 8.0, 16.0, 32.0])

# %% [markdown]
# ### Who may read whom
#
# A table of true and false says who may read whom, and the field has two conventions for it. In PyTorch's `MultiheadAttention`, True means **forbidden**. In its `scaled_dot_product_attention`, True means **allowed**. So does it in this course, where the argument is called `allowed` and can't be misread.
#
# **Predict**: what does a causal model see, if the table is handed over the wrong way round?

# %% tags=["nbval-ignore-output"]
allowed = allow_past(T, T)
fused = F.scaled_dot_product_attention(q, k, v, attn_mask=allowed)
claim(fused_attention=(fused - z).abs().max())
upside_down = attention_weights(q, k, ~allowed)[0]
assert upside_down[-1].isnan().all()  # the last step has nothing left to read
seen = upside_down[:-1].masked_fill(allowed[:-1], 0).sum(-1)
claim(upside_down_future=seen.min())

# %% [markdown]
# Each step then reads the future and nothing else. Here the slip shows, for the last step has nothing to read: not a number. If each step may also read itself, nothing shows, except a training loss that is too good: the answer is among what is read. Such a loss is the most dangerous one.
#
# Where $-\infty$ goes, before or after the division, is a matter of taste, for $-\infty/\sqrt D = -\infty$. How it is made is not:

# %%
before = (q @ k.mT).masked_fill(future, -torch.inf) / D**0.5
after = (q @ k.mT / D**0.5).masked_fill(future, -torch.inf)
difference = (before.softmax(-1) - after.softmax(-1)).abs().max()
claim(mask_before_or_after=difference)
trap = torch.ones(3, 3).triu(1) * -torch.inf
print(trap)
claim(nan_in_the_trap=trap.isnan().sum())

# %% [markdown]
# Does no step read the future? Don't print, **check**. Two ways: change the last two words and see that nothing moves before them, not even in the last bit; and ask the gradient, for all pairs of steps (notebook 4).

# %%
from coursekit.inside.certify import dependence
from coursekit.layers.attention import MultiHeadAttention, attend_past

mixer = MultiHeadAttention(8, 2, attend_past)

# %%
other = x.clone()
other[:, 4:] += 1
moved = (mixer(x) - mixer(other)).abs().amax((0, 2))
claim(future_changed=moved[:4].max())
assert moved[4:].min() > 0

# %%
slopes = dependence(mixer, x)
claim(future_slope=slopes.triu(1).max())

# %% [markdown]
# The library makes the table from the lengths when it is needed. Other code stores a large one with the module; then it must be a *buffer*, not a parameter, and be cut to the length at hand. Ours has four matrices and nothing else, and takes any length:

# %%
print([name for name, _ in mixer.named_parameters()], len(list(mixer.buffers())), "buffers")
for n in range(1, T + 1):
    assert_close(mixer(x[:, :n]), mixer(x)[:, :n])  # a shorter text gives the same beginning

# %% [markdown]
# This is what lets a GPT train on T questions at once: each output is what the model would have said had the text ended there. Finally, without the ban, attention is blind for order: permute the steps, and the outputs are permuted, no more. That is why 6.2 came first.

# %% tags=["nbval-ignore-output"]
order = torch.tensor([3, 0, 5, 1, 4, 2])
gap = attend(q[:, order], k[:, order], v[:, order]) - attend(q, k, v)[:, order]
claim(permuted_attention=gap.abs().max())

# %% [markdown] tags=["exercise"]
# > **Exercise 2.** Write `causal_weights(scores)`: from scores (…, T, T) to causal shares. A score that may not be used can be anything, even infinite. Check: `check_causal_weights`.
# >
# > <details><summary>Hint 1</summary>Replace what may not be used by -∞. Adding -∞ to it is not the same.</details>
# > <details><summary>Hint 2</summary><code>torch.ones_like(scores, dtype=torch.bool).triu(1)</code> is True where s &gt; t.</details>


# %% tags=["stub"]
def causal_weights(scores): ...


# %% tags=["check"]
exercises.check_causal_weights(causal_weights)


# %% tags=["solution"]
def causal_weights(scores):
    future = torch.ones_like(scores, dtype=torch.bool).triu(1)
    return scores.masked_fill(future, -torch.inf).softmax(-1)


# %% [markdown]
# ## 6.4 Heads
#
# One softmax gives one set of shares. A word may have to ask two things at once: who is the subject, and how long ago was the last full stop? So attention runs in several **heads**: the C channels of queries, keys and values are cut into H pieces of D = C/H, each head attends with its own piece, and the results are put side by side and mixed by one more matrix.
#
# Cutting is a matter of shapes: (B, T, C) → (B, T, H, D) → (B, H, T, D), so that the last two axes are those of 6.3, and the heads count as further texts.

# %% tags=["nbval-ignore-output"]
H, D = 2, 4
W_q, W_k, W_v, W_o = (torch.randn(C, C, generator=generator) / C**0.5 for _ in range(4))
q, k, v = ((x @ W).unflatten(-1, (H, D)).transpose(1, 2) for W in (W_q, W_k, W_v))
heads = attend(q, k, v, allow_past(T, T))  # (B, H, T, D)
side_by_side = heads.transpose(1, 2).flatten(-2)  # (B, T, C)
out = side_by_side @ W_o

# %% tags=["nbval-ignore-output"]
as_sum = sum(heads[:, h] @ W_o[h * D : (h + 1) * D] for h in range(H))
claim(heads_as_a_sum=(out - as_sum).abs().max())

# %% [markdown]
# (`unflatten` cuts an axis in two, `flatten` joins two.) Put side by side and multiplied, or each head multiplied with its rows of the matrix and *added*: the same. Heads don't compete; each writes its own message into the same C channels.

# %% tags=["shown"]
from coursekit.layers.attention import MultiHeadAttention, attend_past

show(MultiHeadAttention.forward, MultiHeadAttention._mix, MultiHeadAttention._split)

# %% [markdown]
# (`rule` is how a head mixes: `attend`, `attend_past`, and more in later notebooks. `attend_past` calls PyTorch's fused kernel, which never stores the shares. `cache` is for sampling, as in 4.9.) Agree with our lines, and with PyTorch's own module, whose three matrices are stacked into one:

# %% tags=["nbval-ignore-output"]
mixer = MultiHeadAttention(C, H, attend_past)
for part, W in zip((mixer.q, mixer.k, mixer.v, mixer.out), (W_q, W_k, W_v, W_o), strict=True):
    part.weight.data = W.T  # PyTorch stores (out, in)

# %% tags=["nbval-ignore-output"]
theirs = nn.MultiheadAttention(C, H, bias=False, batch_first=True)
theirs.in_proj_weight.data = torch.cat([W_q.T, W_k.T, W_v.T])
theirs.out_proj.weight.data = W_o.T

# %% tags=["nbval-ignore-output"]
forbidden = ~allow_past(T, T)  # True = forbidden, in this module
reference = theirs(x, x, x, attn_mask=forbidden, need_weights=False)[0]
assert_close(mixer(x), out, rtol=1e-5, atol=1e-5)
claim(heads_against_pytorch=(mixer(x) - reference).abs().max())

# %% [markdown]
# Queries need not come from the same text as keys and values. In **cross-attention** they ask a `memory`: a translator's half-written sentence asks the original. Then S may differ from T, and nothing is forbidden.

# %% tags=["nbval-ignore-output"]
memory = torch.randn(1, 9, C, generator=generator)
reader = MultiHeadAttention(C, H, attend)
reader.load_state_dict(mixer.state_dict())
assert reader(x, memory).shape == (1, T, C)
reference = theirs(x, memory, memory, need_weights=False)[0]
claim(cross_attention=(reader(x, memory) - reference).abs().max())

# %% [markdown] tags=["exercise"]
# > **Exercise 3.** Write `split_heads(x, n_head)`: (B, T, C) in, (B, H, T, D) out; head h holds channels h · D to (h + 1) · D - 1. Check: `check_split_heads`.
# >
# > <details><summary>Hint 1</summary>Two moves: cut the last axis in two, then swap two axes. A single <code>view</code> mixes up steps and heads without an error.</details>
# > <details><summary>Hint 2</summary><code>x.unflatten(-1, (n_head, -1))</code> has the shape (B, T, H, D).</details>


# %% tags=["stub"]
def split_heads(x, n_head): ...


# %% tags=["check"]
exercises.check_split_heads(split_heads)


# %% tags=["solution"]
def split_heads(x, n_head):
    return x.unflatten(-1, (n_head, -1)).transpose(1, 2)


# %% [markdown]
# ## 6.5 The block
#
# Attention only moves information between steps, and a mixture of values is linear in them. What is found must also be *worked on*. A transformer's **block** does both in turn, and wraps each in two things that make depth possible: a normalisation and an addition.
#
# ### Normalising a vector
#
# Batch normalisation (2.6) takes mean and variance of a channel over the batch, so each example depends on the others. **Layer normalisation** (Ba et al. 2016) takes them over the channels of *one* vector:
#
# $$\hat x = \frac{x - \bar x}{\sqrt{\tfrac1C \sum_c (x_c - \bar x)^2 + \epsilon}} \cdot \text{gain} + \text{shift}$$

# %% tags=["nbval-ignore-output"]
from coursekit.layers.basic import BatchNorm1d

centred = x - x.mean(-1, keepdim=True)
normalised = centred / (centred.square().mean(-1, keepdim=True) + 1e-5).sqrt()
gap = nn.LayerNorm(C)(x) - normalised
claim(layer_norm_against_pytorch=gap.abs().max())

# %% [markdown]
# **Predict**: change the last word. Which outputs change, with the one and with the other?

# %%
other = x.clone()
other[:, 5] += torch.arange(8.0)
moved = {}
for name, norm in {"layer": nn.LayerNorm(C), "batch": BatchNorm1d(C)}.items():
    moved[name] = (norm(x) - norm(other))[:, :5].abs().max().detach()
claim(layer_norm_neighbours=moved["layer"])
assert moved["batch"] > 0.1  # all words change with one of them

# %% [markdown]
# With batch normalisation a later word would change the normalised earlier ones: it reads the future, and no mask in the attention can stop it.
#
# What is the ε for? Take a vector whose channels are all equal:

# %%
flat = torch.full((8,), 3.0)
bare = (flat - flat.mean()) / flat.var(correction=0).sqrt()
claim(constant_without_epsilon=bare.isnan().sum())
claim(constant_with_epsilon=nn.LayerNorm(8)(flat).abs().max())

# %% [markdown]
# ### A small network for each step
#
# **Feed-forward**: widen the vector to 4C channels, bend each, and come back. Every step by itself, with the same weights. GPT-2 bends with **GELU**, $x\,\Phi(x)$: the input times the probability that a standard normal number lies below it. GPT-2 uses an approximation from the days when Φ was slow, $\tfrac{x}{2}\bigl(1 + \tanh(\sqrt{2/\pi}\,(x + 0.044715\,x^3))\bigr)$.
#
# **Predict** the size of its error: a tenth, a hundredth, a thousandth?

# %% tags=["nbval-ignore-output"]
from coursekit.layers.block import gelu

line = torch.linspace(-5, 5, 20_001, dtype=torch.float64)
exact = line * (1 + torch.erf(line / 2**0.5)) / 2
inner = (2 / math.pi) ** 0.5 * (line + 0.044715 * line**3)
approximate = line / 2 * (1 + inner.tanh())
assert_close(gelu(line), approximate)
assert_close(F.gelu(line), exact)
worst = (approximate - exact).abs().max()
claim(gelu_approximation=worst)

# %% tags=["figure", "nbval-ignore-output"]
left, right = plt.subplots(1, 2, figsize=(9, 3.4))[1]
left.plot(line, line.relu(), "--", label="ReLU")
left.plot(line, exact, label="GELU")
left.set(xlabel="input", ylabel="output", xlim=(-4, 3), ylim=(-0.4, 3))
left.legend()
right.plot(line, 1e4 * (approximate - exact))
right.set(xlabel="input", ylabel="tanh form - exact (10⁻⁴)")
figure("gelu", alt="GELU follows ReLU but dips below zero; its tanh form errs by 5 in 10,000.")

# %% [markdown]
# Half a thousandth. It matters in one place only: who loads weights that were trained with one form should compute with that form.

# %% tags=["shown"]
from coursekit.layers.block import FeedForward

show(FeedForward)

# %% tags=["nbval-ignore-output"]
worker = FeedForward(C)
order = torch.tensor([3, 0, 5, 1, 4, 2])
gap = (worker(x[:, order]) - worker(x)[:, order]).abs().max()
claim(feed_forward_permuted=gap)
n_weights = sum(p.numel() for p in worker.parameters())
claim(feed_forward_weights=n_weights)

# %% [markdown]
# ### Adding instead of replacing
#
# A **residual connection** returns $x + f(x)$: where f has nothing to say, x passes. Its virtue shows on the way back. Fifty layers of tanh, and the slope that arrives at the first:
#
# **Predict** how many powers of ten lie between them.


# %%
def first_slope(skip):
    torch.manual_seed(42)
    layers = [nn.Linear(32, 32) for _ in range(50)]
    h = torch.randn(16, 32)
    for layer in layers:
        h = h * skip + layer(h).tanh()
    h.square().mean().backward()
    return layers[0].weight.grad.norm().item()


# %% tags=["nbval-ignore-output"]
slopes = {skip: first_slope(skip) for skip in (False, True)}
print(f"without the addition {slopes[False]:.1e}, with it {slopes[True]:.1e}")
gain = math.log10(slopes[True] / slopes[False])
claim(residual_slope_gain=gain)

# %% [markdown]
# (PyTorch's first weights are small, and tanh flattens: each layer passes on about half of the slope, fifty layers nothing.) The sum passes everything on, plus what the layer adds. So think of a **stream** of C channels, which runs from the first block to the last, and of attention and feed-forward as two kinds of workers that read it and add to it.
#
# For the sum, input and output must have the same width. If not, PyTorch refuses. Except in one case:

# %% tags=["nbval-ignore-output"]
try:
    torch.zeros(6, 16) + nn.Linear(16, 8)(torch.zeros(6, 16))
except RuntimeError as refusal:
    print("16 channels and 8:", refusal)
silent = torch.zeros(6, 16) + nn.Linear(16, 1)(torch.zeros(6, 16))
claim(silent_broadcast=silent.shape[-1])

# %% tags=["shown"]
from coursekit.layers.block import Block

show(Block)

# %% tags=["figure", "nbval-ignore-output"]
from itertools import pairwise

from coursekit.notebook.plot import draw_boxes

stream = {"stream in": (0, 0), "+": (0, 2), " + ": (0, 4), "stream out": (0, 5)}
first = {"normalise": (1, 0.5), "attention\n(reads other steps)": (1, 1.5)}
second = {"normalise ": (1, 2.5), "feed-forward\n(each step by itself)": (1, 3.5)}
arrows = [*pairwise(stream)]
for begin, side, end in (("stream in", first, "+"), ("+", second, " + ")):
    arrows += pairwise([begin, *side, end])
draw_boxes(stream | first | second, arrows)
figure(
    "block", alt="A straight stream with two side paths, each normalised, worked on and added back."
)

# %% [markdown]
# The stream itself is never normalised (**pre-norm**); what the workers read is. If both workers are silent, the block is the identity, exactly. And with the same weights it is PyTorch's encoder layer, told to put norms first, to use our GELU, and not to look ahead. (For the comparison all numbers are shaken: a bias of 0 or a gain of 1 could be forgotten without a trace.)

# %%
from functools import partial

block = Block(
    MultiHeadAttention(C, H, attend_past, bias=True), FeedForward(C), partial(nn.LayerNorm, C)
)
assert block(x).shape == x.shape

# %%
from copy import deepcopy

quiet = deepcopy(block)
for part in (quiet.attention.out, quiet.feed_forward.out):
    nn.init.zeros_(part.weight)
    nn.init.zeros_(part.bias)
claim(silent_block=(quiet(x) - x).abs().max())

# %% tags=["nbval-ignore-output"]
options = {"activation": gelu, "norm_first": True, "batch_first": True, "dropout": 0.0}
theirs, a = nn.TransformerEncoderLayer(C, H, 4 * C, **options), block.attention
with torch.no_grad():
    for p in block.parameters():
        p += 0.1 * torch.randn(p.shape, generator=generator)  # no shift 0, no gain 1
    theirs.self_attn.in_proj_weight.copy_(torch.cat([a.q.weight, a.k.weight, a.v.weight]))
    theirs.self_attn.in_proj_bias.copy_(torch.cat([a.q.bias, a.k.bias, a.v.bias]))

# %% tags=["nbval-ignore-output"]
theirs.self_attn.out_proj.load_state_dict(a.out.state_dict())
theirs.linear1.load_state_dict(block.feed_forward.expand.state_dict())
theirs.linear2.load_state_dict(block.feed_forward.out.state_dict())
theirs.norm1.load_state_dict(block.norm_1.state_dict())
theirs.norm2.load_state_dict(block.norm_2.state_dict())
gap = block(x) - theirs(x, src_mask=forbidden)
claim(block_against_pytorch=gap.abs().max())

# %% [markdown]
# ## 6.6 A stream that does not swell
#
# Each worker reads a *normalised* stream, so whatever the depth it adds about the same amount. Let that be vectors of variance 1, unrelated to each other. With n blocks, two workers each, the stream begins with variance 1 and ends with $1 + 2n$: 97 after 48 blocks. The first words are drowned.
#
# GPT-2's authors draw the last matrix of each worker smaller, by $1/\sqrt{2n}$. Then the sum is $1 + 2n \cdot \frac{1}{2n} = 2$, for any depth.
#
# A common text does two things at once: it multiplies what is added by $1/\sqrt{2n}$ in the forward pass, *and* draws the last matrices smaller by the same factor. Another takes n for the number of blocks in one place and of workers in another.
#
# **Predict** the variance at the end, for both.


# %%
def final_variance(n, factor, seed=42, width=256):
    chance = torch.Generator().manual_seed(seed)
    h = torch.randn(200, width, generator=chance)
    for _ in range(2 * n):
        W = torch.randn(width, width, generator=chance) / width**0.5
        h = h + factor * F.layer_norm(h, (width,)) @ W
    return h.var().item()


# %% tags=["nbval-ignore-output"]
depths = (2, 6, 12, 24)
rules = {
    "no factor": lambda n: 1.0,
    "1/√(2n), once": lambda n: (2 * n) ** -0.5,
    "workers taken for blocks": lambda n: (4 * n) ** -0.5,
    "1/√(2n), twice": lambda n: 1 / (2 * n),
}
swell = {name: [final_variance(n, rule(n)) for n in depths] for name, rule in rules.items()}
print(f"{'blocks':25}", *(f"{n:6}" for n in depths))
for name, values in swell.items():
    print(f"{name:25}", *(f"{value:6.2f}" for value in values))

# %% tags=["nbval-ignore-output"]
about = {"why": "theory ± 3 × 1.6 %, the largest spread of seeds 0–4"}
off = [v / (1 + 2 * n) - 1 for n, v in zip(depths, swell["no factor"], strict=True)]
claim(stream_without_factor=max(map(abs, off)))
off = [v / 2 - 1 for v in swell["1/√(2n), once"]]
claim(stream_with_factor=max(map(abs, off)))
off = [v / 1.5 - 1 for v in swell["workers taken for blocks"]]
claim(stream_miscounted=max(map(abs, off)))
off = [v / (1 + 1 / (2 * n)) - 1 for n, v in zip(depths, swell["1/√(2n), twice"], strict=True)]
claim(stream_factor_twice=max(map(abs, off)))

# %% tags=["figure", "nbval-ignore-output"]
for (name, values), style in zip(swell.items(), ("o-", "s-", "^-", "d-"), strict=True):
    plt.plot(depths, values, style, label=name)
plt.gca().set(xlabel="blocks n", ylabel="variance at the end", yscale="log", xticks=depths)
plt.yticks([1, 2, 5, 10, 20, 50], ["1", "2", "5", "10", "20", "50"])
plt.legend()
figure(
    "swell", alt="Variance over depth: without a factor it climbs to 50, with one it stays at two."
)

# %% [markdown]
# The formulas hold, at every depth. Twice is too much: $1 + 1/(2n)$, about 1.04 for 12 blocks. The workers are then nearly switched off at the start. Miscounting gives 1.5: harmless, but not what was meant. Do it once, in the weights.
#
# That, and $N(0, 0.02^2)$ for all other matrices and tables, is how our GPT starts. Measure it, tensor by tensor:

# %% tags=["nbval-ignore-output"]
torch.manual_seed(42)
gpt = GPT(GPTConfig(vocab_size=65, context=64, n_layer=6, n_head=4, d_model=128))
ratios = {"writes": [], "reads": []}
for name, weight in gpt.named_parameters():
    if weight.dim() == 2:
        writes = name.endswith("out.weight")
        expected = 0.02 / 12**0.5 if writes else 0.02
        ratios["writes" if writes else "reads"].append(weight.std().item() / expected)
for kind, found in ratios.items():
    about = {"why": "within 2 % of 0.02, or 0.02/√12: 2.6 standard errors of the smallest"}
    claim(**{f"first-weights-that-{kind[:-1]}": max(abs(r - 1) for r in found)})

# %% [markdown]
# ## 6.7 The whole GPT
#
# Now nothing in the box is unknown: a table for tokens, one for places, n blocks, a last normalisation, and a last layer that turns C channels into V logits. That layer has no weights of its own: it is the token table again, turned (**tied**). The logit of a token is the product of its vector with the stream.

# %% tags=["figure", "nbval-ignore-output"]
names = ["tokens (B, T)", "token table + places\n(B, T, C)", "block 1", "…", "block n"]
names += ["normalise", "token table, turned\n(B, T, V)", "softmax: shares of the next token"]
path = {name: (0, row) for row, name in enumerate(names)}
side = {"token table\nV × C, tied": (1, 3.5)}
arrows = [*pairwise(names)]
arrows += [("token table\nV × C, tied", names[1]), ("token table\nV × C, tied", names[6])]
draw_boxes(path | side, arrows)
figure(
    "gpt", alt="Tokens pass a table, blocks, a normalisation, and the same table turned, to shares."
)

# %% [markdown]
# The arrows from the side are the tied table, used twice: on the way in to look up, on the way out to compare. By hand, with the parts of a model whose weights were just drawn:

# %% tags=["data", "nbval-ignore-output"]
torch.manual_seed(42)
config = GPTConfig(vocab_size=V, context=64, n_layer=4, n_head=4, d_model=128)
gpt = GPT(config)
inputs, targets = next(draw_spans(train, 64, 8, generator))
stream = gpt.embedding(inputs) + gpt.positions.weight
for block in gpt.blocks:
    stream = stream + block.attention(block.norm_1(stream))
    stream = stream + block.feed_forward(block.norm_2(stream))
logits = gpt.norm(stream) @ gpt.embedding.weight.T
claim(gpt_by_hand=(gpt(inputs) - logits).abs().max())

# %% tags=["shown"]
from coursekit.models.gpt import GPT, GPTConfig

show(GPTConfig, GPT.forward)

# %% [markdown]
# **Count** its parameters. Attention has four matrices, $4C^2 + 4C$ with biases; feed-forward $8C^2 + 5C$; two norms $4C$: a block has $12C^2 + 13C$. To that come two tables and the last norm: $VC + TC + 2C$.
#
# **Predict**: the smallest published GPT-2 has V = 50,257, T = 1,024, C = 768 and 12 blocks. How many parameters?


# %%
def count_by_formula(vocab_size, context, d_model, n_layer):
    block = 12 * d_model**2 + 13 * d_model
    return (vocab_size + context + 2) * d_model + n_layer * block


counted = sum(p.numel() for p in gpt.parameters())
extra = counted - count_by_formula(V, 64, 128, 4)
claim(gpt_parameters_unexplained=extra)
published = count_by_formula(50_257, 1024, 768, 12)
claim(gpt2_parameters=published)

# %% [markdown]
# A small model that is often built first has 38 characters, two blocks of 128 channels, sinusoidal places, which are not parameters, and a bias in the last layer: $38 \cdot 128 + 2\,(12 \cdot 128^2 + 13 \cdot 128) + 2 \cdot 128 + 38$. One version of its code then subtracts the table "because it is shared" and finds 396,838. But `parameters()` lists a shared tensor *once*; nothing is to be subtracted. This model multiplies its token vectors by √C, as in 6.2, which a hook does here. Its first loss, on random characters:

# %% tags=["nbval-ignore-output"]
config = GPTConfig(vocab_size=38, context=128, n_layer=2, n_head=4, d_model=128)
small = GPT(config, positions=SinusoidalPositions, activation=F.relu, residual_std=0.02)
small.head.bias = nn.Parameter(torch.zeros(38))
small.embedding.register_forward_hook(lambda table, given, out: out * 128**0.5)
n_weights = sum(p.numel() for p in small.parameters())
claim(small_parameters=n_weights)

# %% tags=["nbval-ignore-output"]
chance = torch.randint(38, (32, 128), generator=generator)
loss = F.cross_entropy(small(chance)[:, :-1].flatten(0, 1), chance[:, 1:].flatten())
claim(small_first_loss=loss)

# %% [markdown]
# **Tying** saves V · C parameters, and gives the table two teachers. In float64, the slope of the shared table is the sum of the slopes that two separate tables with the same numbers get:

# %% tags=["data", "nbval-ignore-output"]
apart = GPT(gpt.config, tied=False)
apart.load_state_dict(gpt.state_dict())
difference = sum(p.numel() for p in apart.parameters()) - counted
claim(tied_saves=difference / (V * 128))
assert gpt.head.weight is gpt.embedding.weight  # one tensor, not two equal ones

# %% tags=["data", "nbval-ignore-output"]
for one in (gpt.double(), apart.double()):
    F.cross_entropy(one(inputs).flatten(0, 1), targets.flatten()).backward()
both = apart.embedding.weight.grad + apart.head.weight.grad
gap = (gpt.embedding.weight.grad - both).abs().max()
claim(tied_slope=gap)

# %% [markdown]
# Three more properties that a GPT must have, whatever its weights. Its last logits after a text are those after the same text as the beginning of a longer one, or training on all steps at once would be a fraud. A text's logits don't depend on its neighbours in the batch. And the first loss is near ln V.

# %% tags=["data", "nbval-ignore-output"]
gpt = gpt.float()
with torch.no_grad():
    logits = gpt(inputs)
    prefix = [(gpt(inputs[:, :n])[:, -1] - logits[:, n - 1]).abs().max() for n in (1, 7, 33)]
    alone = torch.cat([gpt(row[None]) for row in inputs])
    loss = F.cross_entropy(logits.flatten(0, 1), targets.flatten())
claim(gpt_prefix=max(prefix))
claim(gpt_one_by_one=(alone - logits).abs().max())

# %% tags=["data", "nbval-ignore-output"]
about = {"why": "0.028 ± 3 × 0.031, the spread of seeds 0–4", "data": "shakespeare"}
above, band = loss - math.log(V), (-0.21, 0.1)
claim(gpt_first_loss_above_uniform=above)

# %% [markdown]
# Is it GPT-2? The judge is an independent implementation: Hugging Face's `transformers`, with our weights under GPT-2's names; and back, our model from theirs. (Where the package is not installed, the cell says so. It is one of the course's tests.) Again all weights are shaken first, for at the start every bias is 0.

# %% tags=["data", "nbval-ignore-output"]
with torch.no_grad():
    for p in gpt.parameters():
        p += 0.05 * torch.randn(p.shape, generator=generator)
    logits = gpt(inputs)
print(f"logits now lie between {logits.min():.1f} and {logits.max():.1f}")

# %% tags=["machine"]
from importlib.util import find_spec

from coursekit.models.gpt import from_gpt2, to_gpt2

if find_spec("transformers"):
    from transformers import GPT2Config, GPT2LMHeadModel

    sizes = {"n_positions": 64, "n_embd": 128, "n_layer": 4, "n_head": 4}
    sizes |= {"bos_token_id": 0, "eos_token_id": 0}
    theirs = GPT2LMHeadModel(GPT2Config(vocab_size=V, **sizes)).eval()
    theirs.transformer.load_state_dict(to_gpt2(gpt))
    with torch.no_grad():
        gap = (theirs(inputs).logits - logits).abs().max()
        back = (from_gpt2(theirs.state_dict(), n_head=4)(inputs) - logits).abs().max()
    claim(gpt_against_huggingface=gap)
    claim(gpt_from_huggingface=back)
else:
    print("transformers is not installed: 'pip install transformers' and run this cell again")

# %% [markdown]
# Equal to rounding, in both directions. Any slip of this part, a scale, an axis, a forgotten bias, would show here as a difference hundreds of times larger. So the published weights load too. With a network:
#
# ```python
# from huggingface_hub import hf_hub_download
# from safetensors.torch import load_file
#
# gpt2 = from_gpt2(load_file(hf_hub_download("openai-community/gpt2", "model.safetensors")))
# ```
#
# The likeness is one of details. "The same architecture as GPT-2, GPT-3 and GPT-4", as is written of the small model above, would need learned places and GELU; and GPT-4's architecture has not been published. How much does each detail move the logits of *our* model, with the same weights?

# %% tags=["data", "nbval-ignore-output"]
swaps = {
    "exact GELU": {"activation": F.gelu},
    "ReLU": {"activation": F.relu},
    "sinusoidal places": {"positions": SinusoidalPositions},
    "no look-ahead ban": {"rule": attend},
}
moved = {}
with torch.no_grad():
    for name, change in swaps.items():
        variant = GPT(gpt.config, **change)
        variant.load_state_dict(gpt.state_dict(), strict=name != "sinusoidal places")
        moved[name] = (variant(inputs) - logits).abs().max().item()
        print(f"{name:20} {moved[name]:.1e}")
about = {"why": "3.0 ± 3 × 0.35, the spread of seeds 0–4 and 42", "data": "shakespeare"}
claim(other_places_gap=moved["sinusoidal places"])
about["why"] = "0.88 ± 3 × 0.085, the spread of seeds 0–4 and 42; rounding is 1e-6"
claim(relu_gap=moved["ReLU"])

# %% [markdown]
# ### Slips that cost an evening
#
# Code that is printed but was never run has these. All of them raise an error, which is the best that can happen to a fault:


# %%
class Pairs:
    def __init__(self, windows):
        self.inputs, self.targets = [], []
        for window in windows:
            self.input_ids.append(window[:-1])  # another name than two lines above


# %%
def pick(logits, temperature):
    return (logits / temperature).softmax(-1).argmax(-1)


def pick(logits):  # noqa: F811  (a second one of the same name hides the first)
    return logits.argmax(-1)


# %% tags=["nbval-ignore-output"]
slips = {  # what is raised, a word of its message, and the slip
    "an argument forgotten": (TypeError, "norm", lambda: Block(mixer, worker)),
    "a class never written": (NameError, "TransformerLayer", lambda: TransformerLayer(128)),
    "two names for one thing": (AttributeError, "input_ids", lambda: Pairs([[1, 2, 3]])),
    "softmax along which axis?": (TypeError, "softmax", lambda: torch.softmax(logits)),
    "item(), then cat": (TypeError, "int", lambda: torch.cat([inputs[0], inputs[0, 0].item()])),
    "the hidden first version": (TypeError, "pick() takes 1", lambda: pick(logits, 0.8)),
}

# %% tags=["nbval-ignore-output"]
as_told = 0
for name, (kind, word, action) in slips.items():
    try:
        action()
    except (TypeError, NameError, AttributeError) as problem:
        if type(problem) is kind and word in str(problem):
            as_told += 1
        print(f"{name:26} {type(problem).__name__}: {str(problem).splitlines()[0][:56]}")
claim(slips_that_raise=as_told)

# %% [markdown]
# The faults of this notebook that raise *nothing* are the ones to remember: a sampler that skips the last token, a positional code that isn't one, a mask upside down, a factor applied twice, one channel broadcast to sixteen. A shape test passes all of them. What catches them is what this part did again and again: a second way to the same number.

# %% [markdown]
# ## 6.8 Steps that hold
#
# The model stands; now it must learn. Plain gradient descent takes a step in proportion to the slope. That is awkward here: the slopes of a rare character's vector are tiny, those of a gain are large, and one rate has to serve both. **Adam** (Kingma and Ba 2015) divides each slope by its own recent size. It keeps two averages for every weight, one of the slopes and one of their squares:
#
# $$m \leftarrow \beta_1 m + (1-\beta_1)\,g \qquad v \leftarrow \beta_2 v + (1-\beta_2)\,g^2 \qquad \hat m = \frac{m}{1-\beta_1^t} \qquad \hat v = \frac{v}{1-\beta_2^t}$$
#
# $$\theta \leftarrow \theta - \eta\lambda\,\theta - \eta\,\frac{\hat m}{\sqrt{\hat v} + \epsilon}$$
#
# The term $\eta\lambda\,\theta$ is the weight decay. Standing apart from the slopes, it is not divided by $\sqrt{\hat v}$: that is the **W** of AdamW (Loshchilov and Hutter 2019). Fifty steps by hand, beside PyTorch's:

# %%
generator = torch.Generator().manual_seed(42)
slopes = torch.randn(50, 3, dtype=torch.float64, generator=generator)
rate, b1, b2, decay, eps = 0.01, 0.9, 0.99, 0.1, 1e-8
theta, m, v = torch.ones(3, dtype=torch.float64), 0.0, 0.0
for t, g in enumerate(slopes, 1):
    m, v = b1 * m + (1 - b1) * g, b2 * v + (1 - b2) * g**2
    theta = theta - rate * decay * theta
    theta = theta - rate * (m / (1 - b1**t)) / ((v / (1 - b2**t)).sqrt() + eps)

# %% tags=["nbval-ignore-output"]
theirs = nn.Parameter(torch.ones(3, dtype=torch.float64))
optimiser = torch.optim.AdamW([theirs], lr=rate, betas=(b1, b2), weight_decay=decay)
for g in slopes:
    theirs.grad = g.clone()
    optimiser.step()
claim(adamw_difference=(theta - theirs).abs().max())

# %% [markdown]
# The library has the same, written out, in two parts: where to go, and the step.

# %% tags=["shown"]
from coursekit.training.optimiser import PlainAdamW, adam_direction

show(adam_direction, PlainAdamW)

# %%
ours = nn.Parameter(torch.ones(3, dtype=torch.float64))
optimiser = PlainAdamW([ours], rate, betas=(b1, b2), weight_decay=decay)
for g in slopes:
    ours.grad = g.clone()
    optimiser.step()
assert_close(ours, theirs, rtol=0, atol=1e-12)

# %% [markdown]
# What are the two divisions by $1-\beta^t$ for? Both averages start at 0, so in the first steps they are too small: after one step $m = 0.1\,g$ and $v = (1-\beta_2)\,g^2$. The divisions make up for it, and the first step has length $\eta$ exactly, whatever the slope. A common version of the update leaves them out.
#
# **Predict**: how long is the first step then, in units of $\eta$, with the usual $\beta_2 = 0.999$, and with 0.95, a usual choice for language models? And is the first step the worst?


# %%
def length_uncorrected(t, b2, b1=0.9):
    """Length of step t under a constant slope, without bias correction, in learning rates."""
    return (1 - b1**t) / (1 - b2**t) ** 0.5


for b2 in (0.95, 0.99, 0.999):
    lengths = [length_uncorrected(t, b2) for t in range(1, 501)]
    worst = max(range(500), key=lengths.__getitem__)
    print(f"β₂ = {b2}: first step {lengths[0]:.3f}, longest {lengths[worst]:.2f} at {worst + 1}")

# %%
weight = nn.Parameter(torch.ones(1, dtype=torch.float64))
weight.grad = torch.full_like(weight, 1e-3)
torch.optim.AdamW([weight], lr=0.01, weight_decay=0.0).step()

# %%
claim(corrected_first_step=(1 - weight) / 0.01)

# %%
for b2 in (0.999, 0.95):
    weight = nn.Parameter(torch.ones(1, dtype=torch.float64))
    weight.grad = torch.ones_like(weight)
    optimiser = PlainAdamW([weight], 0.01, betas=(0.9, b2), weight_decay=0.0)
    empty = {"mean": torch.zeros_like(weight.grad), "square": torch.zeros_like(weight.grad)}
    # At a billion steps both divisors are 1: averages that start at 0 stay uncorrected.
    optimiser.state[weight] = {"step": torch.tensor(1e9), **empty}
    optimiser.step()
    first = (1 - weight.item()) / 0.01
    assert abs(first - length_uncorrected(1, b2)) < 1e-6
    claim(**{f"uncorrected-first-step-{str(b2)[2:]}": first})

# %% tags=["figure", "nbval-ignore-output"]
steps = range(1, 1001)
for b2, style in {0.999: "-", 0.99: "--", 0.95: ":"}.items():
    plt.semilogx(steps, [length_uncorrected(t, b2) for t in steps], style, label=f"β₂ = {b2}")
plt.axhline(1, color="grey", linewidth=1, label="corrected")
plt.gca().set(xlabel="step", ylabel="length of the step (learning rates)", ylim=(0, 7))
plt.legend()
figure("uncorrected", alt="Uncorrected steps: far above one for beta 0.999 up to step 1000.")

# %% [markdown]
# With 0.999 the first step is three times too long, the tenth six times, and the effect lasts a thousand steps. With 0.95 the first step is too *short*. (With 0.99 the first step happens to have length 1; the next ones do not.)
#
# Which weights should decay? Matrices and tables, not gains, shifts and biases: notebook 2 said why. On a GPT, do the two groups hold every parameter once, the tied table too? And without slopes, does only one of them move?

# %%
from coursekit.models.gpt import GPT, GPTConfig
from coursekit.training.optimiser import adamw, decay_groups, warm_up_cosine

model = GPT(GPTConfig(vocab_size=65, n_layer=2, d_model=32))
groups = [group["params"] for group in decay_groups(model, 0.1)]
ids = [id(p) for group in groups for p in group]

# %%
assert sorted(ids) == sorted({id(p) for p in model.parameters()})
print(*(f"{len(group)} tensors, {sum(p.numel() for p in group):,} numbers" for group in groups))

# %%
optimiser = adamw(model, lr=0.1, weight_decay=0.5)
with torch.no_grad():
    for p in model.parameters():
        p += 0.1  # biases start at 0, and a 0 can't shrink
        p.grad = torch.zeros_like(p)
before = [[p.detach().norm() for p in group] for group in groups]
optimiser.step()
pairs = zip(groups, before, strict=True)
kept = [[(p.norm() / b).item() for p, b in zip(*pair, strict=True)] for pair in pairs]

# %%
off = max(abs(k - 0.95) for k in kept[0])
claim(gpt_decay=off)
claim(gpt_no_decay=max(abs(k - 1) for k in kept[1]))

# %% [markdown]
# **The rate over time.** At the start the averages of Adam rest on few slopes and the slopes themselves are large and alike, so one begins with short steps: a **warm-up** along a straight line. At the end, long steps only jump around the goal, so the rate falls, along half a **cosine** (Loshchilov and Hutter 2017). In papers, with $s_w$ steps of warm-up of $s_e$ in all:
#
# $$\eta(s) = \eta_\text{max}\,\frac{s}{s_w}\;(s < s_w) \qquad \eta(s) = \eta_\text{min} + \tfrac12(\eta_\text{max}-\eta_\text{min})\Bigl(1 + \cos\pi\tfrac{s-s_w}{s_e-s_w}\Bigr)$$
#
# **Predict** two edges: what does step $s = 0$ do? And what is the rate at $s = 1.5\,s_e$, if someone trains longer than planned?


# %%
def by_formula(s, warm=100, end=1000, top=1e-3, low=1e-5):
    if s < warm:
        return top * s / warm
    return low + 0.5 * (top - low) * (1 + math.cos(math.pi * (s - warm) / (end - warm)))


places = {0: 0.0, 100: 1e-3, 550: (1e-3 + 1e-5) / 2, 1000: 1e-5}
assert all(abs(by_formula(s) - rate) < 1e-12 for s, rate in places.items())
print(f"rate at step 1500: {by_formula(1500):.2e}")

# %% [markdown]
# The first step is computed and thrown away, since its rate is 0. Past the end the formula climbs again, to more than half of the top. The library's version counts steps from 1 in the warm-up and stays down at the end:

# %% tags=["shown"]
show(warm_up_cosine)

# %% tags=["figure", "nbval-ignore-output"]
factor = warm_up_cosine(1000, warm=0.1, floor=0.01)
plt.plot([1000 * by_formula(s) for s in range(1501)], "--", label="formula")
plt.plot([factor(s) for s in range(1501)], label="warm_up_cosine")
plt.axvline(1000, color="grey", linestyle=":")
plt.text(1010, 0.93, "planned end")
plt.gca().set(xlabel="step", ylabel="rate (thousandths)")
plt.legend()
figure("rates", alt="Rates rise for 100 steps, fall to step 1000; then the formula rises again.")

# %%
edges = {99: 1e-3, 100: 1e-3, 550: (1e-3 + 1e-5) / 2, 1000: 1e-5}
error = max(abs(1e-3 * factor(s) - rate) for s, rate in edges.items())
assert all(abs(1e-3 * factor(s) - by_formula(s + 1)) < 1e-12 for s in range(100))
assert all(abs(1e-3 * factor(s) - by_formula(s)) < 1e-12 for s in range(100, 1001))

# %%
claim(schedule_edges=error)
ratio = by_formula(1500) / (1e-3 * factor(1500))
claim(cosine_past_the_end=ratio)
claim(first_rate=factor(0))
claim(rate_past_the_end=factor(1500))

# %% [markdown] tags=["exercise"]
# > **Exercise 4.** Write `lr_at(steps, warm, end, top)`: a tensor with the rate at each of the given steps (numbered from 0). In the first `warm` steps it rises in a line, such that step `warm - 1` has `top` and step 0 is above 0. Then it falls along half a cosine, from `top` at step `warm` to 0 at step `end`, and stays there. `warm` may be 0. Check: `check_lr_at`.
# >
# > <details><summary>Hint 1</summary>Let u be the share of the fall that is done: 0 at <code>warm</code>, 1 at <code>end</code>. Which values of u need care?</details>
# > <details><summary>Hint 2</summary><code>u.clamp(0, 1)</code> holds both ends; <code>torch.where</code> chooses between rise and fall.</details>


# %% tags=["stub"]
def lr_at(steps, warm, end, top): ...


# %% tags=["check"]
exercises.check_lr_at(lr_at)


# %% tags=["solution"]
def lr_at(steps, warm, end, top):
    s = torch.tensor(steps, dtype=torch.float64)
    done = ((s - warm) / (end - warm)).clamp(0, 1)
    fall = top * 0.5 * (1 + torch.cos(math.pi * done))
    return torch.where(s < warm, top * (s + 1) / max(warm, 1), fall)


# %% [markdown]
# **Clipping.** Now and then a batch gives a slope ten times as long as usual. Adam's averages remember it for a hundred steps. So the slopes of *all* parameters are taken as one long vector, and if its norm exceeds $\tau$, usually 1, it is shortened to $\tau$. All parameters share one factor, so the direction stays.

# %%
pieces = [torch.randn(shape, generator=generator).double() for shape in ((4, 3), (5,))]
total = torch.cat([g.flatten() for g in pieces]).norm()
shortened = [g * min(1, 1 / total) for g in pieces]

holders = [nn.Parameter(torch.zeros_like(g)) for g in pieces]
for p, g in zip(holders, pieces, strict=True):
    p.grad = g.clone()
nn.utils.clip_grad_norm_(holders, 1.0)
long, short = (torch.cat([g.flatten() for g in gs]) for gs in (pieces, [p.grad for p in holders]))

# %%
assert_close(short, torch.cat([g.flatten() for g in shortened]), rtol=0, atol=1e-5)
print(f"norm {long.norm():.3f} before, {short.norm():.3f} after")

# %%
claim(clipped_norm=short.norm())
cosine = F.cosine_similarity(long, short, dim=0)
claim(clipped_direction=cosine)
nn.utils.clip_grad_norm_(holders, 5.0)
unchanged = torch.cat([p.grad.flatten() for p in holders])
claim(short_slopes_stay=(unchanged - short).abs().max())

# %% [markdown]
# **Fewer bits.** Graphics processors multiply 16-bit numbers several times faster than 32-bit ones. **float16** ends at 65,504 and has no number between 0 and 6e-8; **bfloat16** has the range of float32 and only 8 significant bits. **Mixed precision** (Micikevicius et al. 2018) computes matrix products in 16 bits and keeps weights, softmax and normalisation in 32. Why the last two?

# %%
scores = torch.tensor([12.0, 11.0], dtype=torch.float16)
naive = scores.exp() / scores.exp().sum()  # e^12 = 162,755 is beyond float16
exact = [round(share, 3) for share in scores.float().softmax(0).tolist()]

# %%
print("softmax, naive:", naive.tolist(), " in float32:", exact)
x = torch.full((8,), 300.0, dtype=torch.float16)
print("mean square of 300, in float16:", (x * x).mean().item())
claim(float16_softmax=naive.isnan().sum())
claim(float16_mean_square=(x * x).mean().isinf())

# %% [markdown]
# A score of 12, an activation of 300: nothing unusual. And slopes *vanish*: 1e-8 is 0 in float16. So the loss is multiplied by a large factor before `backward`, and slopes are divided by it after, in float32. If one overflows, the step is skipped and the factor halved. The library's engine does this with PyTorch's `GradScaler`, and does none of it in other precisions:

# %% tags=["shown"]
from coursekit.training.engine import Engine

show(Engine.backward, Engine.step)

# %%
small = nn.Linear(3, 2)
for precision in (None, torch.bfloat16, torch.float16):
    engine = Engine(precision).start(small, torch.optim.SGD(small.parameters(), lr=0.1))
    loss = engine.backward(F.mse_loss, torch.ones(4, 3), torch.full((4, 2), 3.0))
    made = engine.step(clip=1.0)
    print(f"{precision}: factor {engine.scaler.get_scale():.0f}, step made: {made}")

# %%
tiny = torch.tensor(1e-8)
claim(slope_lost=tiny.half())
claim(slope_kept=(tiny * 2**16).half().float() / 2**16)
engine = Engine().start(small, torch.optim.SGD(small.parameters(), lr=0.1))
claim(engine_without_scaling=engine.scaler.get_scale())

# %% [markdown]
# No GPU is needed for this code to run, and none is assumed: without a `precision` all of it is switched off. This notebook trains in float32.

# %% [markdown]
# ## 6.9 Training, with tables beside it
#
# The text is cut once, in order: the first nine tenths to learn from, the last tenth to score. No window reaches across the cut, so no target is in both.

# %% tags=["data"]
from coursekit.windows.tokens import draw_spans

V = len(vocabulary)

# %% tags=["data"]
assert torch.cat([train, valid]).equal(tokens)
inputs, targets = next(draw_spans(train, 64, 4, torch.Generator().manual_seed(42)))
assert inputs[:, 1:].equal(targets[:, :-1])  # a target is the next input
print(f"{len(train):,} characters to learn from, {len(valid):,} to score, {V} different ones")

# %% [markdown]
# Before hours are spent: can the model learn **one batch** by heart? If not, something is broken, and no amount of data will help. (Slopes that don't arrive and steps of a wrong size are found like this. Shifted targets and a missing causal rule are *not*: one batch can be learnt by heart all the same. For those there are the assertion above, that a target is the next input, and the gradient test of 6.3.)

# %% tags=["data", "nbval-ignore-output"]
from itertools import repeat

from coursekit.evaluate.likelihood import evaluating, next_token_loss, text_nll
from coursekit.training.fit import fit

torch.manual_seed(42)
model = GPT(GPTConfig(vocab_size=V, n_layer=2, d_model=64)).to(device)
options = {"steps": 200, "loss": next_token_loss, "clip": 1.0}
by_heart = fit(model, adamw(model, 0.01), repeat((inputs, targets)), **options)

# %% tags=["data", "nbval-ignore-output"]
about = {"why": "seeds 0–4: at most 0.04", "data": "shakespeare"}
claim(one_batch_loss=by_heart.losses[-1])

# %% [markdown]
# Now the yardsticks. A table of pairs costs nothing. And notebook 1 had a better table: Kneser and Ney's, which backs a long context by all shorter ones. The library's table has a row for *every* context, so runs of four are its limit here. For longer ones, keep only the runs that occur: spell a run as one number, count equal numbers, look up by search.


# %%
def spell(tokens, n):
    """Write each run of n tokens as one number in base V."""
    code = torch.zeros(len(tokens) - n + 1, dtype=torch.long)
    for k in range(n):
        code = code * V + tokens[k : len(tokens) - n + 1 + k]
    return code


def look_up(keys, values, wanted):
    at = torch.searchsorted(keys, wanted).clamp(max=len(keys) - 1)
    return torch.where(keys[at] == wanted, values[at], 0)


# %%
def table_shares(seen, text, order, discount=0.75):
    """Return the share that a Kneser–Ney table gives each token of a text but the first."""
    share = torch.full((len(text) - 1,), 1 / V, dtype=torch.float64)
    for n in range(1, order + 1):
        if n < order:  # after how many different tokens did a run come?
            cells, counts = (spell(seen, n + 1).unique() % V**n).unique(return_counts=True)
        else:
            cells, counts = spell(seen, n).unique(return_counts=True)
        contexts, row = (cells // V).unique(return_inverse=True)
        kinds, total = torch.bincount(row), torch.bincount(row, counts)
        wanted = spell(text, n)[int(n == 1) :]
        kept = (look_up(cells, counts, wanted) - discount).clamp(min=0)
        freed = discount * look_up(contexts, kinds, wanted // V)
        n_seen, lower = look_up(contexts, total, wanted // V), share[max(n - 2, 0) :]
        mixed = torch.where(n_seen > 0, (kept + freed * lower) / n_seen, lower)
        share = torch.cat([share[: max(n - 2, 0)], mixed])
    return share


# %% tags=["data", "nbval-ignore-output"]
from coursekit.windows.tokens import slide_windows
from coursekit.models.ngram import NGram, count_ngrams, kneser_ney, smooth
from coursekit.evaluate.likelihood import mean_nll

table = NGram(kneser_ney(count_ngrams(slide_windows(train, 3), V)))
of_three = -table_shares(train, valid, 3)[1:].log().mean()
gap = (of_three - mean_nll(table, slide_windows(valid, 3))).abs()

# %% tags=["data", "nbval-ignore-output"]
claim(table_agrees=gap)
pairs = NGram(smooth(count_ngrams(slide_windows(train, 2), V), 1))
bigram = mean_nll(pairs, slide_windows(valid, 2))
about = {"why": "arithmetic on fixed data", "data": "shakespeare"}
claim(bigram_val_loss=bigram)

# %% tags=["data", "nbval-ignore-output"]
table_loss = {n: -table_shares(train, valid, n).log().mean().item() for n in range(1, 9)}
print({n: round(loss, 3) for n, loss in table_loss.items()})
best_order = min(table_loss, key=table_loss.get)
claim(table_val_loss=table_loss[best_order])

# %% [markdown]
# Counting is quick, and the best of these tables is a strong yardstick. Remember it.
#
# Now the transformer. **Predict** its loss on the last tenth, after 2,000 steps of 16 windows, two million characters: above the table of pairs? Below the best table?


# %% tags=["data"]
def learn(model, optimiser, steps, batch_size=16, warm=0.03, seed=42, **options):
    batches = draw_spans(train, model.context, batch_size, torch.Generator().manual_seed(seed))
    options = {"schedule": warm_up_cosine(steps, warm=warm), "clip": 1.0} | options
    return fit(model, optimiser, batches, steps=steps, loss=next_token_loss, **options)


def watch(model, curve, n=160):
    """Return a function that notes the losses on the same n windows of either part."""
    texts = (part.to(device) for part in (train, valid))
    fixed = [next(draw_spans(text, 64, n, torch.Generator().manual_seed(42))) for text in texts]

    def note():
        with evaluating(model):
            curve.append([next_token_loss(model(x), y).item() for x, y in fixed])
        return curve[-1][1]

    return note


# %% tags=["data"]
torch.manual_seed(42)
sizes = {"vocab_size": V, "context": 64, "n_head": 2, "d_model": 128}
gpt, curve = GPT(GPTConfig(**sizes, n_layer=3), std=0.05).to(device), []
optimiser = adamw(gpt, 0.004, weight_decay=0.1)
history = learn(gpt, optimiser, steps=2000, measure=watch(gpt, curve), every=100)

# %% tags=["data", "nbval-ignore-output"]
gpt_loss = text_nll(gpt, valid)
count = sum(p.numel() for p in gpt.parameters())
print(f"{count:,} parameters, {2000 * 16 * 64:,} characters seen, loss {gpt_loss:.4f}")
about = {"why": "1.692 ± 3 × 0.0072, the spread of seeds 0–4 and 42", "data": "shakespeare"}
claim(gpt_val_loss=gpt_loss)
claim(gpt_under_bigram=bigram - gpt_loss)

# %% tags=["machine"]
import time

begin = time.perf_counter()
table_shares(train, valid, best_order)
counting, training = time.perf_counter() - begin, history.seconds[-1]
print(f"the table: {counting:.1f} s to count and score; the transformer: {training:.0f} s to train")
claim(table_time_share=counting / training)

# %% tags=["figure", "nbval-ignore-output"]
steps, parts = range(100, 2001, 100), ("learnt from", "last tenth")
for losses, style, name in zip(zip(*curve, strict=True), "-:", parts, strict=True):
    plt.plot(steps, losses, style, label=f"transformer, {name}")
tables = {"table of pairs": bigram, f"best table: runs of {best_order}": table_loss[best_order]}
for name, loss in tables.items():
    plt.axhline(loss, color="grey", linestyle=":")
    plt.text(1000, loss + 0.01, name, ha="center", va="bottom")
plt.plot(2000, gpt_loss, "k*", markersize=10, label="the whole last tenth")
plt.gca().set(
    xlabel="step", ylabel="loss (nats a character)", ylim=(table_loss[best_order] - 0.15, 2.7)
)
plt.legend()
figure("training", alt="Both losses fall below the table of pairs; the best table lies below them.")

# %% tags=["data", "nbval-ignore-output"]
lead = gpt_loss - table_loss[best_order]
print(f"the transformer loses {lead:+.4f} nats a character against the best table")
print("the table wins" if lead > 0 else "the transformer wins")
gap = curve[-1][1] - curve[-1][0]
print(f"gap between the two curves at the end: {gap:.3f} nats")

# %% [markdown]
# A sobering picture. The loss falls far below the table of pairs. But on *this* budget, a million characters of text and the time printed above, a well-smoothed table of a few letters is hard to pass, and it is there in a fraction of that time. Who shows a transformer's curve without such a table beside it hides that. What speaks for the transformer: longer training and larger models are known to bring it further (Kaplan et al. 2020), while a table, for a given text, has an end. Read its row of numbers: each letter of context gains less than the one before, and the last ones even lose, because longer runs hardly ever come twice.
#
# And do both know the *same*? Average their probabilities, half and half. If they did, nothing would be gained.


# %% tags=["data", "nbval-ignore-output"]
def shares_of(model, text):
    """Return the share that a model gives each token of a text but the first, window by window."""
    with torch.no_grad():
        given = text[: (len(text) - 1) // 64 * 64 + 1]
        logits = [model(part.to(device)) for part in given[:-1].view(-1, 64).split(256)]
    share = torch.cat(logits).cpu().flatten(0, 1).double().softmax(-1)
    return share.gather(1, given[1:, None])[:, 0]


by_model = shares_of(gpt, valid)
counted = table_shares(train, valid, best_order)[: len(by_model)]
mixed = -(0.5 * by_model + 0.5 * counted).log().mean().item()

# %% tags=["data", "nbval-ignore-output"]
print(f"transformer {gpt_loss:.3f}, table {table_loss[best_order]:.3f}, half and half {mixed:.3f}")
about = {"why": "two seeds: 0.033 and 0.036", "data": "shakespeare"}
claim(mixture_gain=min(gpt_loss, table_loss[best_order]) - mixed)

# %% [markdown]
# Half and half is better than either: they make different mistakes. The table knows the names and phrases that came before, letter by letter; the network knows what is *like* them, and reads further back.
#
# During training nobody scores the whole tenth each time. Twenty random batches are enough for a curve, if one says how uncertain they are: the spread of the twenty, divided by $\sqrt{20}$, is the standard error.

# %% tags=["data", "nbval-ignore-output"]
from itertools import islice

drawn = draw_spans(valid.to(device), 64, 16, torch.Generator().manual_seed(42))
with evaluating(gpt):
    some = torch.stack([next_token_loss(gpt(x), y) for x, y in islice(drawn, 20)])
estimate, error = some.mean().item(), some.std().item() / 20**0.5

# %% tags=["data", "nbval-ignore-output"]
print(f"20 batches: {estimate:.3f} ± {error:.3f}; all: {gpt_loss:.3f}")
about = {"why": "within three standard errors", "data": "shakespeare"}
claim(estimate_in_errors=abs(estimate - gpt_loss) / error)

# %% [markdown]
# Three things have now used the last tenth: the recipe was chosen on it, the curve was watched on it, and the figure is reported on it. So the figure flatters a little. A **test** text, scored once, is the remedy; section 6.12 keeps one apart.

# %% [markdown]
# ## 6.10 Writing
#
# A trained model writes as in notebook 1: predict, pick, append, repeat. For the next token only the last logits are needed, and they are the same whether the model sees a whole text or only the part up to there, because it is causal:

# %% tags=["data", "nbval-ignore-output"]
prompt = valid[None, :40].to(device)
with torch.no_grad():
    whole, part = gpt(prompt), gpt(prompt[:, :25])
gap = (whole[:, 24] - part[:, -1]).abs().max()
claim(prefix_logits=gap)
last = whole[0, -1].cpu()

# %% tags=["shown"]
from coursekit.sample import generate, pick_by_chance, pick_likeliest, sample_text

show(pick_likeliest, pick_by_chance)

# %% [markdown]
# Three ways to pick. **Greedy**: always the likeliest. **By chance**: each with its share. And by chance after the logits were divided by a **temperature**: below 1 the likely ones gain. Do the draws follow the shares? The χ² test compares counts with what was expected; a $p$ below 0.001 would be alarming.

# %% tags=["data", "nbval-ignore-output"]
from scipy.stats import chisquare

by_chance = pick_by_chance(torch.Generator().manual_seed(42))
drawn = torch.bincount(torch.tensor([by_chance(last) for _ in range(5000)]), minlength=V)
expected = 5000 * last.double().softmax(-1)
often = expected >= 5  # the test needs five in each cell: join the rest
cells = [torch.cat([x[often], x[~often].sum()[None]]) for x in (drawn.double(), expected)]
test = chisquare(*(cell.numpy() for cell in cells))

# %% tags=["data", "nbval-ignore-output"]
print(
    f"χ² = {test.statistic:.1f} with {len(cells[0]) - 1} degrees of freedom, p = {test.pvalue:.3f}"
)
claim(chi_square_p=test.pvalue)

# %% [markdown]
# The counts follow the shares, as far as 5,000 draws can tell. Such a test finds a slip that no reader of samples would: a softmax over the wrong axis, say, or one token that is never drawn.
#
# **Predict** the entropy of the shares (5.12), in nats, as the temperature grows without end. And what does the temperature's other end give?

# %% tags=["data", "nbval-ignore-output"]
from itertools import pairwise

entropies = {}
for temperature in (0.5, 0.8, 1.0, 2.0, 10.0, 1000.0):
    share = (last / temperature).softmax(-1)
    entropies[temperature] = -torch.special.xlogy(share, share).sum().item()

# %% tags=["data", "nbval-ignore-output"]
print({t: round(h, 3) for t, h in entropies.items()}, f"ln V = {math.log(V):.3f}")
rises = [b - a for a, b in pairwise(entropies.values())]
claim(entropy_rises=min(rises))
claim(entropy_limit=entropies[1000.0] - math.log(V))

# %% tags=["data", "nbval-ignore-output"]
start = vocabulary.encode("\n")
nearly = pick_by_chance(torch.Generator().manual_seed(42), temperature=1e-4)
greedy, cold = (list(islice(generate(gpt, start, pick), 200)) for pick in (pick_likeliest, nearly))
same = sum(a == b for a, b in zip(greedy, cold, strict=True))
claim(cold_is_greedy=same)
print(vocabulary.decode(greedy))

# %% [markdown]
# Greedy text goes in circles: the likeliest continuation of a common phrase is another common phrase. And at temperature 1, the many tokens that are each very unlikely add up, and one of them derails the sentence. **Top-k** (Fan et al. 2018) draws from the k likeliest only.

# %% tags=["data", "nbval-ignore-output"]
for settings in ({}, {"temperature": 0.7}, {"top_k": 5}):
    generator = torch.Generator().manual_seed(42)
    print(settings, sample_text(gpt, vocabulary, "\n", 250, generator, **settings, cached=True))
    print("-" * 40)

# %% [markdown] tags=["exercise"]
# > **Exercise 5.** Write `keep_likeliest(logits, k)`: (B, V) logits in and out; in each row, all but the `k` largest become -∞. If `k` is larger than V, nothing changes. Check: `check_keep_likeliest`.
# >
# > <details><summary>Hint 1</summary><code>torch.topk(logits, k)</code> returns values and places along the last axis; it refuses k > V.</details>
# > <details><summary>Hint 2</summary>What is the smallest value that stays, in each row?</details>


# %% tags=["stub"]
def keep_likeliest(logits, k): ...


# %% tags=["check"]
exercises.check_keep_likeliest(keep_likeliest)


# %% tags=["solution"]
def keep_likeliest(logits, k):
    lowest = logits.topk(min(k, logits.shape[-1])).values[:, -1:]
    return logits.masked_fill(logits < lowest, -torch.inf)


# %% [markdown]
# Has it learnt to write, or does it recite? Count the windows of 20 characters in its text that stand, letter by letter, in the text it learnt from. The real last tenth says how many to expect of honest writing.


# %% tags=["data", "nbval-ignore-output"]
def copied_share(written, source, length=20):
    windows = [written[i : i + length] for i in range(len(written) - length + 1)]
    return sum(window in source for window in windows) / len(windows)


source = text[:cut]
generator = torch.Generator().manual_seed(42)
written = sample_text(gpt, vocabulary, "\n", 1000, generator, temperature=0.8, cached=True)
copied, real = copied_share(written, source), copied_share(text[cut : cut + 5000], source)

# %% tags=["data", "nbval-ignore-output"]
print(f"copied: {copied:.1%} of the model's windows, {real:.1%} of the real text's")
about = {"why": "seeds 0–4: at most 0.05", "data": "shakespeare"}
claim(shakespeare_copied=copied)

# %% [markdown]
# Hardly: a million characters are too many to learn by heart in so short a training. On very little text that will be otherwise (section 6.12).
#
# **A cache.** To write token 200, a plain loop passes all 199 tokens before it through the model again. But the keys and values of earlier tokens can't change, since nothing earlier reads what comes later. So keep them, and pass only the new token. **Predict** how many tokens pass through the model for 256 characters, with and without.

# %% tags=["data", "nbval-ignore-output"]
torch.manual_seed(42)
wide = GPT(GPTConfig(vocab_size=V, context=256, n_layer=4, d_model=128))
passed, written, seconds, lengths = {}, {}, {}, []


def note_length(part, given, out):
    lengths.append(out.shape[1])


# %% tags=["data", "nbval-ignore-output"]
for cached in (False, True, False, True):  # of two times the shorter
    lengths, chance = [], pick_by_chance(torch.Generator().manual_seed(1))
    hook = wide.embedding.register_forward_hook(note_length)
    begin = time.perf_counter()
    written[cached] = list(islice(generate(wide, start, chance, cached=cached), 256))
    took = time.perf_counter() - begin
    passed[cached], seconds[cached] = sum(lengths), min(took, seconds.get(cached, took))
    hook.remove()

# %% tags=["data", "nbval-ignore-output"]
print(f"{passed[False]:,} tokens without a cache, {passed[True]:,} with one")

# %% tags=["data"]
assert written[False] == written[True]
about = {"data": "shakespeare"}
claim(tokens_uncached=passed[False])
claim(tokens_cached=passed[True])

# %% tags=["machine"]
print({cached: f"{s:.2f} s" for cached, s in seconds.items()})
claim(cache_speed_up=seconds[False] / seconds[True])

# %% [markdown]
# The same characters, a 128th of the tokens. (The time shrinks less: a call on one token is mostly overhead.)
#
# And beyond the context? Then the oldest token must go. With **learned positions** every token moves up one place: another vector is added to it, so all keys and values change, and the cache is worthless; the library reads the last tokens anew. With **rotary** positions, which turn each query and key by an angle in proportion to its place (section 6.14), would the old keys still be right? Drop the first token of a text and look at how much the stored keys of the others change, block by block:


# %% tags=["data", "nbval-ignore-output"]
from coursekit.layers.attention import attend_past
from coursekit.layers.position import rotary


def keys_of(model, tokens):
    keys = []
    layers = [block.attention.k for block in model.to(device).blocks]
    hooks = [layer.register_forward_hook(lambda part, x, k: keys.append(k)) for layer in layers]
    with torch.no_grad():
        model(tokens)
    for hook in hooks:
        hook.remove()
    return keys


def key_changes(model, tokens):
    pairs = zip(keys_of(model, tokens), keys_of(model, tokens[:, 1:]), strict=True)
    return [((old[:, 1:] - new).norm() / new.norm()).item() for old, new in pairs]


torch.manual_seed(42)
sizes_of_three = GPTConfig(**sizes, n_layer=3)
turned = GPT(sizes_of_three, rule=rotary(attend_past), positions=None, std=0.1)
learnt = key_changes(GPT(sizes_of_three, std=0.1), prompt)
moved = key_changes(turned, prompt)

# %% tags=["data", "nbval-ignore-output"]
print("learned positions:", [f"{x:.1%}" for x in learnt], " rotary:", [f"{x:.1%}" for x in moved])
claim(rotary_first_keys=moved[0])
about = {"why": "1.003 ± 3 × 0.0135, the spread of seeds 0–4", "data": "shakespeare"}
claim(learned_first_keys=learnt[0])
about["why"] = "0.36 ± 3 × 0.064, the spread of seeds 0–4"
claim(rotary_later_keys=moved[-1])

# %% [markdown]
# In the first block rotary keys stay exactly as they were, for the library stores them unturned, and a score depends on the distance of two places only. In later blocks they do not: those keys have *read* the token that is gone. So models with rotary positions may keep a sliding cache, but it is not the same computation as reading the last tokens afresh. The library prefers to be exact, and past its context each token costs a full pass.

# %% [markdown]
# ## 6.11 Switched off, one at a time
#
# This model has a dozen parts that are said to help. Which do? Switch each off, leave the rest, train, compare; several seeds each, or chance decides. The smallest model that shows an effect will do: four blocks of 32 channels that read 32 characters, 200 steps a run. All runs share the rate 0.01, a high one, since parts that stabilise show their worth where it is hard to be stable.
#
# One part must be set for this width. GPT-2's first weights have a standard deviation of 0.02, for 768 channels and more; what they do at 32 channels is one of the rows. Here 0.1 is "on".
#
# **Predict** the three rows that cost most, and the three that cost least.

# %%
from functools import partial

from coursekit.layers.position import SinusoidalPositions


def steep(q, k, v, allowed=None):
    """Attend without dividing scores by √D."""
    return attend_past(q * q.shape[-1] ** 0.5, k, v, allowed)


def uncorrected(schedule):
    """Make Adam's steps as long as they are without bias correction."""
    return lambda s: schedule(s) * length_uncorrected(s + 1, 0.99)


# %%
usual, at_once = (warm_up_cosine(200, warm=warm) for warm in (0.1, 0.0))
switches = {  # what is passed to the model, and what to its training
    "everything on": ({}, {}),
    "scores not divided by √D": ({"rule": steep}, {}),
    "into the stream: same weights": ({"residual_std": 0.1}, {}),
    "norm after the sum": ({"norm_first": False}, {}),
    "no norm at all": ({"norm": lambda width: nn.Identity()}, {}),
    "first weights 0.02": ({"std": 0.02}, {}),
    "first weights 1": ({"std": 1.0}, {}),
    "no warm-up": ({}, {"schedule": at_once}),
    "no clipping": ({}, {"clip": None}),
    "no bias correction": ({}, {"schedule": uncorrected(usual)}),
    "neither that nor warm-up": ({}, {"schedule": uncorrected(at_once)}),
    "constant rate": ({}, {"schedule": None}),
    "sinusoids of size 0.7": ({"positions": SinusoidalPositions}, {}),
}


# %% tags=["data"]
def short_run(seed, parts, training, steps=200, batch_size=8):
    torch.manual_seed(seed)
    config = GPTConfig(vocab_size=V, context=32, n_layer=4, n_head=2, d_model=32)
    model, training = GPT(config, **{"std": 0.1} | parts).to(device), dict(training)
    make = training.pop("optimiser", partial(adamw, lr=0.01, weight_decay=0.1))
    learn(model, make(model), steps, batch_size, 0.1, seed, **training)
    return text_nll(model, valid[: 2**13 + 1])


begin = time.perf_counter()
runs = {
    name: torch.tensor([short_run(seed, *switch) for seed in range(3)])
    for name, switch in switches.items()
}
seconds_of_a_run = (time.perf_counter() - begin) / (3 * len(runs))

# %% [markdown]
# Equal seeds mean equal first draws and equal batches. So compare seed by seed: the mean *difference*, and its standard error, the spread of the differences divided by √3. (With three seeds that error is itself rough: take 2 of them as a hint and 4 as a finding.)


# %% tags=["data", "nbval-ignore-output"]
def against_first(runs):
    first = next(iter(runs.values()))
    gaps = {name: losses - first for name, losses in runs.items()}
    return {n: (gap.mean().item(), gap.std().item() / len(gap) ** 0.5) for n, gap in gaps.items()}


effects = against_first(runs)

# %% tags=["data", "nbval-ignore-output"]
print(f"everything on: {runs['everything on'].mean():.3f} nats a character")
for name, (gap, error) in sorted(effects.items(), key=lambda item: -item[1][0]):
    verdict = "worse" if gap > 4 * error else "better" if gap < -4 * error else "unclear"
    print(f"{name:30} {gap:+.3f} ± {error:.3f}  {verdict if error else ''}")

# %% tags=["figure", "nbval-ignore-output"]
ordered = sorted(effects.items(), key=lambda item: item[1][0])
names, (gaps, errors) = (
    [name for name, _ in ordered],
    zip(*(effect for _, effect in ordered), strict=True),
)
plt.figure(figsize=(8, 5))
plt.errorbar(gaps, range(len(names)), xerr=[2 * e for e in errors], fmt="o", capsize=3)
plt.axvline(0, color="grey", linestyle=":")
plt.yticks(range(len(names)), names)
plt.gca().set(xlabel="loss against everything on (nats), ± 2 standard errors")
figure("switches", alt="Thirteen rows: most within 0.05 of zero, large first weights at 0.6.")

# %% tags=["data", "nbval-ignore-output"]
about = {"why": "a mean of three seeds; its error is printed above", "data": "shakespeare"}
claim(switch_large_weights=effects["first weights 1"][0])
about["why"] = "0.35 ± 3 × 0.22/√3, the spread of seeds 0–4: no effect is in reach"
claim(switch_small_weights=effects["first weights 0.02"][0])
about["why"] = "0.50 ± 3 × 0.15/√3, the spread of seeds 0–4"
claim(switch_large_sinusoids=effects["sinusoids of size 0.7"][0])
about["why"] = "0.172 ± 3 × 0.045/√3, the spread of seeds 0–4"
effect = effects["neither that nor warm-up"][0]
claim(switch_correction_and_warm_up=effect)

# %% [markdown]
# Read the table honestly (on Shakespeare). What costs most at this size is the **scale of the first weights**, when it is ten times too large. Five times too small costs much on average, but with such an error three seeds give a hint, not a finding. **Sinusoids** at full size, beside token vectors of size 0.1, drown what the tokens say. (A common recipe, measured in section 6.2, has the same fault: token vectors of size 0.23 beside sinusoids of size 0.71, so that at the start the place speaks ten times as loud as the character, in power. The trouble can be avoided by making the codes as small as the vectors, or by training them.) **Bias correction** alone makes little difference, because warm-up hides it, and warm-up alone not much either, because the correction is there. Without both, the first steps are too long.
#
# **Norm after the sum** shows what errors are for: a large mean with an error nearly as large: the three seeds disagree, and the table can't say more. The others change a few hundredths at most, and several are within chance. That does *not* show that they are useless: √D matters more the wider the heads, the order of norm and sum the deeper the network, clipping when a batch goes wrong. It shows that a part's worth is a fact about a size and a rate, and that "it is needed" must be measured where it is claimed.

# %% [markdown]
# ## 6.12 Too little text
#
# What if there is little text? Take our paragraph of market news, 785 characters, and a transformer with a hundred times as many weights. One often sees this done as follows: *repeat the text five times, "to give more data", then split it into nine parts to learn and one to score*. **Predict** what the validation loss does.
#
# First: does repeating add anything? Count the different windows of 64 characters.


# %%
def windows_in(text, length=64):
    return {text[i : i + length] for i in range(len(text) - length + 1)}


once, five_times = windows_in(data.NEWS), windows_in(data.NEWS * 5)

# %%
print(f"{len(once)} different windows once, {len(five_times)} five times")
claim(windows_from_repeats=len(five_times) - len(once))

# %% [markdown]
# Only the windows that run over a join are new, and they are nonsense. The sampler draws random windows anyway, so it can read the text five times without help. What repeating does change is the split:

# %%
repeated, part = data.NEWS * 5, int(0.9 * 5 * len(data.NEWS))
leaked = sum(w in repeated[:part] for w in windows_in(repeated[part:]))
leak_share = leaked / len(windows_in(repeated[part:]))
own = int(0.8 * len(data.NEWS))
honest = sum(w in data.NEWS[:own] for w in windows_in(data.NEWS[own:]))

# %%
print(f"windows of the scored part that were learnt: {leak_share:.0%}; split first: {honest}")
claim(leaked_windows=leak_share)
claim(honest_windows=honest)

# %% [markdown]
# Every window to be scored was learnt. That is a **leak**. Now train both ways, the same model, the same steps. In the honest split, the last fifth of the paragraph is the test text, scored at the end. To know when to stop we need a *third* text, never reported on: the ten sentences of notebook 5. Nearly all of it is new to the model; one clause happens to stand in the paragraph too (we will count it), so even this text is a little too kind.

# %%
characters = Vocabulary.of(data.NEWS + " ".join(data.SENTENCES))
encode = lambda s: torch.tensor(characters.encode(s))  # noqa: E731
news, aside = encode(data.NEWS), encode(" ".join(data.SENTENCES))
learnt, unseen = news[:own], news[own:]
print(f"V = {len(characters)}: {len(learnt)} to learn, {len(aside)} to stop, {len(unseen)} to test")


# %%
def memorise(source, scored, steps, seed=42, every=20):
    """Train; keep the losses on each of `scored`, and the weights where the first is lowest."""
    torch.manual_seed(seed)
    sizes = {"vocab_size": len(characters), "n_layer": 2, "n_head": 4, "d_model": 64}
    model, curve, kept = GPT(GPTConfig(**sizes)).to(device), [], {}

    def note():
        curve.append([text_nll(model, part) for part in scored])
        if curve[-1][0] == min(losses[0] for losses in curve):
            kept.update({name: w.clone() for name, w in model.state_dict().items()})
        return curve[-1][0]

    spans = draw_spans(source, 64, 8, torch.Generator().manual_seed(seed))
    options = {"loss": next_token_loss, "clip": 1.0, "measure": note, "every": every}
    fit(model, adamw(model, 0.001), spans, steps=steps, **options)
    return model, torch.tensor(curve), kept


# %%
steps = 1500
fivefold = encode(repeated)
_, leaky_curve, _ = memorise(fivefold[:part], (fivefold[part:], fivefold[:part]), steps)
reciter, little_curve, at_best = memorise(learnt, (aside, learnt, unseen), steps)

# %% tags=["figure", "nbval-ignore-output"]
panels = plt.subplots(1, 2, figsize=(9, 3.8), sharey=True)[1]
at = range(20, steps + 1, 20)
for name, k, style in (("learnt", 1, "-"), ("scored", 0, "--")):
    panels[0].plot(at, leaky_curve[:, k], style, label=name)
for name, k, style in (("learnt", 1, "-"), ("test text", 2, "--"), ("text to stop by", 0, ":")):
    panels[1].plot(at, little_curve[:, k], style, label=name)
for ax, title in zip(panels, ("repeated, then split", "split first"), strict=True):
    ax.axhline(math.log(len(characters)), color="grey", linewidth=1)
    ax.set(xlabel="step", title=title)
    ax.legend()
panels[0].set_ylabel("loss (nats a character)")
figure("overfitting", alt="Left both curves fall to zero; right the unseen text climbs far above.")

# %% tags=["nbval-ignore-output"]
stop = int(little_curve[:, 0].argmin())
leaky, reciting, unheard = leaky_curve[-1, 0], little_curve[-1, 1], little_curve[-1, 2]
print(f"repeated, then split: {leaky:.3f} nats on what was 'held out'")

# %% tags=["nbval-ignore-output"]
print(f"split first: {reciting:.3f} on the learnt text, {unheard:.3f} on the test text")
print(
    f"lowest on the text to stop by after {20 * (stop + 1)} steps: test {little_curve[stop, 2]:.3f}"
)
claim(leaky_loss=leaky)
claim(overfitted_loss=unheard)
claim(stopped_loss=little_curve[stop, 2])

# %% [markdown]
# On the left it looks like a triumph: the "validation" loss follows the training loss towards 0. On the right is the same model, split honestly. After some eighty steps it begins to learn the text by heart, and what it says of the rest of the same paragraph becomes far worse than a blind guess (the grey line).
#
# How much does it recite? Let both models write, and count windows of 20 characters that stand in what they learnt:

# %% tags=["nbval-ignore-output"]
stopped = GPT(reciter.config).to(device)
stopped.load_state_dict(at_best)
recited = {}
for name, writer in {"at the end": reciter, "stopped early": stopped}.items():
    for temperature in (0.5, 0.8, 1.0):
        generator = torch.Generator().manual_seed(42)
        options = {"temperature": temperature, "cached": True}
        page = sample_text(writer, characters, "S", 400, generator, **options)
        recited[name, temperature] = share = copied_share(page, data.NEWS[:own])
        print(f"{name:14} at {temperature}: {share:4.0%} copied | {page[100:150]!r}")
real = copied_share(data.NEWS[own:], data.NEWS[:own])

# %% tags=["nbval-ignore-output"]
print(f"the real test text: {real:.0%}")
ten = copied_share(" ".join(data.SENTENCES), data.NEWS[:own])
print(f"the ten sentences that said when to stop: {ten:.0%}")

# %% tags=["nbval-ignore-output"]
shares = [recited["at the end", temperature] for temperature in (0.5, 0.8, 1.0)]
about = {"why": "0.60 ± 3 × 0.13, the spread of seven pages of three seeds"}
claim(recited=sum(shares) / 3)
claim(recited_by_the_paper=real)

# %% [markdown]
# "It has learnt to write coherent financial news" is said of such models. It has learnt one text. Stopped early it copies nothing, and writes nonsense: with 628 characters there is no model between the two, for there is not enough to learn from.
#
# Now the comparison that such a page ends with: perplexity on the test text, beside a uniform guess, tables of counts with one added to each, and, since one should not beat a weak opponent, a table with Kneser and Ney's smoothing. The verdict is computed, not typed:

# %% tags=["nbval-ignore-output"]
from coursekit.evaluate.likelihood import perplexity

windows = slide_windows(news, 3)[1 - len(unseen) :]  # their last letters are those scored

# %% tags=["nbval-ignore-output"]
assert windows[:, -1].equal(unseen[1:])  # the same targets for every model
scores = {"uniform": math.log(len(characters))}
for n, name in enumerate(("single letters", "pairs", "triples"), 1):
    counts = count_ngrams(slide_windows(learnt, n), len(characters))
    scores[name] = mean_nll(NGram(smooth(counts, 1)), windows)
    if n == 2:
        scores["pairs, Kneser–Ney"] = mean_nll(NGram(kneser_ney(counts)), windows)
scores["transformer, to the end"] = text_nll(reciter, unseen, stride=1)
scores["transformer, stopped"] = text_nll(stopped, unseen, stride=1)
for name, loss in sorted(scores.items(), key=lambda item: item[1]):
    print(f"{name:24} {perplexity(loss):8.2f}")
best, worst = min(scores, key=scores.get), max(scores, key=scores.get)
print(f"best: {best}; worst: {worst}")

# %% tags=["figure", "nbval-ignore-output"]
panels = plt.subplots(1, 2, figsize=(9, 3.4), sharey=True)[1]
for ax, scale, room in zip(panels, ("linear", "log"), (1.2, 3), strict=True):
    bars = ax.barh(list(scores), [perplexity(loss) for loss in scores.values()], color="C0")
    ax.bar_label(bars, fmt="%.0f", padding=3)
    ax.set(xlabel=f"perplexity ({scale})", xscale=scale, xlim=(1, room * ax.get_xlim()[1]))
    ax.grid(visible=False)
figure("perplexities", alt="Bars: the overtrained transformer towers over all on a linear axis.")

# %% tags=["nbval-ignore-output"]
claim(little_end_over_uniform=scores["transformer, to the end"] - scores["uniform"])
lead = scores["pairs"] - scores["transformer, stopped"]
claim(little_stopped_under_pairs=lead)
rival = scores["transformer, stopped"] - scores["pairs, Kneser–Ney"]
claim(little_stopped_against_table=rival)
claim(little_triples_over_single=scores["triples"] - scores["single letters"])

# %% [markdown]
# Trained to the end, the transformer is the *worst* of all, a blind guess included. Stopped by the third text, it beats the simple tables clearly. Against the pairs with better smoothing it is a draw: which of the two is ahead depends on the seed, and the table needs no training. All this is true of one model and one text. A page that prints "the transformer achieves the lowest perplexity" whatever the numbers are, and chooses its opponents, shows none of it. On a linear axis one bar hides all others; on a logarithmic one the order can be read.
#
# Had we stopped where the *test* text is best, the figure would flatter: the choice would have used the text it is judged by.

# %% [markdown]
# ## 6.13 How a text is cut to be scored
#
# A model that reads 64 characters can't read a play. So the text is cut, and how it is cut changes the figure. The usual way is **side by side**: windows of 64, each read from a cold start, so the first characters of each window are predicted from almost nothing. Where in the window is the loss?

# %% tags=["data"]
piece = valid[: len(valid) // 64 * 64 - 63]
with torch.no_grad():
    rows, wanted = (part.view(-1, 64).to(device) for part in (piece[:-1], piece[1:]))
    by_place = F.cross_entropy(gpt(rows).mT, wanted, reduction="none").mean(0).cpu()

# %% tags=["figure", "nbval-ignore-output"]
plt.plot(range(1, 65), by_place)
plt.axhline(by_place.mean(), color="C1", linestyle="--")
plt.text(64, by_place.mean() + 0.1, "mean: what is usually reported", ha="right", color="C1")
plt.gca().set(xlabel="characters read, with the last one", ylabel="loss (nats a character)")
figure("places", alt="Loss by place in the window: steep over the first five, then nearly flat.")

# %% [markdown]
# The first character of a window is predicted from one character, and costs what it costs a table of pairs. Each further character of context helps less, and after some ten the curve is nearly flat: this small model makes little use of the rest of its context. The mean, the dashed line, therefore depends on how many cold starts there are, so on the length of the windows.
#
# The alternative slides the window by a **stride** of less than its length and scores only the new characters at its end, each with at least 64 - stride characters before it. It costs more passes. **Predict** how much of the loss was cold start.

# %% tags=["data", "nbval-ignore-output"]
sliding = {stride: text_nll(gpt, piece[: 2**13 + 1], stride=stride) for stride in (64, 32, 16, 4)}
print({stride: round(loss, 4) for stride, loss in sliding.items()})
about = {"why": "0.037 ± 3 × 0.0025, the spread of three seeds", "data": "shakespeare"}
claim(cold_start_cost=sliding[64] - sliding[4])

# %% [markdown]
# Both are right, if one says which; comparing one model side by side with another one sliding is not. (A table of pairs has no cold start worth the name, so side by side favours tables.)
#
# And a script that is often seen drops text. It cuts with `range(0, len(text) - block - 1, block)`. On the little test text, with blocks of 64:


# %%
def chunk_starts(length, block):
    return range(0, length - block - 1, block)


scored = 64 * len(chunk_starts(len(unseen), 64))
print(f"{scored} of {len(unseen) - 1} targets are scored; of a text of 65: ", end="")
print(64 * len(chunk_starts(65, 64)), "of 64")

# %% tags=["nbval-ignore-output"]
chunks = torch.stack([unseen[i : i + 65] for i in chunk_starts(len(unseen), 64)]).to(device)
dropped = unseen[None, scored:].to(device)
with torch.no_grad():
    chunked = next_token_loss(reciter(chunks[:, :-1]), chunks[:, 1:]).item()
    rest = next_token_loss(reciter(dropped[:, :-1]), dropped[:, 1:]).item()
whole, slid = (text_nll(reciter, unseen, stride=stride) for stride in (64, 1))

# %% [markdown]
# Is it the script that loses them, and not the text that lacks them? `text_nll` has a mean over all 156: it must be that of the 128 in whole blocks and the 28 of the rest. And on a text of one block, of which the script scores nothing, it has 64:

# %% tags=["nbval-ignore-output"]
in_blocks = (156 * whole - 28 * rest) / chunked  # how many the rest leaves for the blocks
claim(chunk_targets=in_blocks)
one_block = unseen[None, :65].to(device)
with torch.no_grad():
    alone = next_token_loss(reciter(one_block[:, :-1]), one_block[:, 1:]).item()
off = abs(text_nll(reciter, unseen[:65]) - alone) + len(chunk_starts(65, 64))
claim(chunk_of_one_block=off)

# %% tags=["nbval-ignore-output"]
print(f"whole blocks {chunked:.3f}, all targets {whole:.3f}, sliding {slid:.3f} nats")
print(f"as perplexities {perplexity(chunked):.0f}, {perplexity(whole):.0f}, {perplexity(slid):.0f}")
spread = max(chunked, whole, slid) - min(chunked, whole, slid)
claim(three_ways_to_score=spread)

# %% [markdown]
# The same model and "the same text", three perplexities. A comparison needs the same targets, with the same right to context: `text_nll` scores every token but the first, once.

# %% [markdown] tags=["exercise"]
# > **Exercise 6.** Write `perplexity_of_parts(losses, sizes)`: a text was scored in parts; each has a mean loss in nats and a number of targets. Return the perplexity of the whole. Check: `check_perplexity_of_parts`.
# >
# > <details><summary>Hint 1</summary>Is a part of two targets worth as much as one of 64?</details>
# > <details><summary>Hint 2</summary>Perplexity is the exponential of the mean over all targets; the mean comes first.</details>


# %% tags=["stub"]
def perplexity_of_parts(losses, sizes): ...


# %% tags=["check"]
exercises.check_perplexity_of_parts(perplexity_of_parts)


# %% tags=["solution"]
def perplexity_of_parts(losses, sizes):
    total = sum(loss * size for loss, size in zip(losses, sizes, strict=True))
    return math.exp(total / sum(sizes))


# %% [markdown]
# ## 6.14 What changed since GPT-2
#
# GPT-2 is of 2019. Models since keep its plan and exchange parts. The first two of these are nearly everywhere; the others are those of small, fast recipes (where we take ReLU², most large models take a gated unit, SwiGLU: Shazeer 2020):
#
# - **RMSNorm** (Zhang and Sennrich 2019): divide by the root mean square, subtract no mean, add no shift; and no biases anywhere. Less to compute.
# - **Rotary positions** (Su et al. 2021): turn queries and keys by their place, so that a score knows the distance.
# - **QK-norm** (Henry et al. 2020): queries and keys of fixed length, so that scores can't grow without bound.
# - **ReLU²** (So et al. 2021) in place of GELU.
# - **Nothing at first**: what a block adds starts at exactly 0, and the last layer has weights of its own.
# - **Muon** (Jordan et al. 2024): an optimiser for matrices.
#
# Two of them deserve a look. **Rotary** first. Take channels $i$ and $i + D/2$ of a query as a point in a plane, and at place $t$ turn it by the angle $\omega_i t$, each pair of channels at its own speed; keys likewise. A product of two points depends on the angle *between* them, so a score depends on how far apart two tokens stand, wherever that is:

# %% tags=["shown"]
from coursekit.layers.position import rotate

show(rotate)

# %% tags=["nbval-ignore-output"]
generator = torch.Generator().manual_seed(42)
q, k = torch.randn(2, 1, 8, generator=generator, dtype=torch.float64)
scores = [(rotate(q, t + 5) @ rotate(k, t).mT).item() for t in (0, 10, 1000)]
print(f"query five places after its key, anywhere: {scores[0]:.6f}")
claim(rotary_distance=max(scores) - min(scores))

# %% [markdown]
# Now **Muon**. Adam treats a matrix as a heap of numbers. A matrix stretches each of certain perpendicular directions by a factor of its own; these factors are its **singular values**. Muon averages the slopes of a matrix, as Adam does, but then makes all singular values of that average nearly 1: the step keeps its directions and forgets how long each was. A direction that the slopes show rarely is then learnt as fast as the common ones. A singular value decomposition in every step would be slow; a few steps of a polynomial in the matrix do nearly the same.

# %% tags=["shown"]
from coursekit.training.optimiser import Muon, muon, orthogonalise

show(orthogonalise, Muon)

# %% [markdown]
# What does it do to a matrix whose singular values differ by a factor of a hundred? Build one, turn it, and look at it along its own axes:

# %%
generator = torch.Generator().manual_seed(42)
U, _, Vh = torch.linalg.svd(torch.randn(8, 8, generator=generator, dtype=torch.float64))
slope = U @ torch.diag(torch.logspace(0, -2, 8, dtype=torch.float64)) @ Vh
turned = U.T @ orthogonalise(slope) @ Vh.T
print("before:", [round(x, 2) for x in torch.logspace(0, -2, 8).tolist()])
print("after: ", [round(x, 2) for x in turned.diagonal().tolist()])

# %% tags=["nbval-ignore-output"]
away = (turned - torch.diag(turned.diagonal())).abs().max()
claim(muon_keeps_axes=away)
lowest, highest = turned.diagonal().min(), turned.diagonal().max()
about = {"why": "within 0.68 … 1.21, where they were 1 : 100"}
claim(muon_singular_values=highest / lowest)

# %% tags=["figure", "nbval-ignore-output"]
sizes_before = torch.linspace(0, 1, 2001, dtype=torch.float64)
for rounds, style in {1: ":", 3: "--", 5: "-"}.items():
    after = sizes_before
    for _ in range(rounds):
        after = 3.4445 * after - 4.775 * after**3 + 2.0315 * after**5
    plt.semilogx(sizes_before[1:], after[1:], style, label=f"rounds: {rounds}")
plt.gca().set(xlabel="singular value before", ylabel="after", ylim=(0, 1.3))
plt.legend()
figure("muon", alt="After five rounds all singular values above a hundredth lie near one.")

# %% [markdown]
# Now the ladder: each rung adds one part to those before. Rungs should be compared at equal **time**, not equal steps, because some parts cost time. So each rung gets as many steps as fit into the time of the first, measured beforehand. The model is the small one of section 6.11, and the first rung is *everything on* there.
#
# **Predict** which rung gains most.


# %% tags=["data"]
from coursekit.layers.attention import normalise_heads
from coursekit.layers.block import relu_squared
from coursekit.models.gpt import modern_gpt

added = {  # the part, and the steps that fit into the time of 200 with GPT-2's parts
    "+ RMSNorm, no biases": ({"norm": partial(nn.RMSNorm, eps=1e-6), "bias": False}, 180),
    "+ rotary positions": ({"rule": rotary(attend_past), "positions": None}, 165),
    "+ QK-norm": ({"rule": rotary(normalise_heads(attend_past))}, 150),
    "+ ReLU²": ({"activation": relu_squared}, 150),
    "+ nothing at first, own last layer": ({"residual_std": 0.0, "tied": False}, 150),
    "+ Muon": ({}, 115),
}

# %% tags=["data"]
first_rung, parts = "GPT-2's parts", {}
ladder, spent = {first_rung: runs["everything on"]}, {first_rung: seconds_of_a_run}
for name, (part, steps) in added.items():
    parts = parts | part
    training = (
        {"optimiser": partial(muon, lr=0.02, rest_lr=0.01, weight_decay=0.1)}
        if name == "+ Muon"
        else {}
    )
    begin = time.perf_counter()
    losses = [short_run(seed, parts, training, steps) for seed in range(3)]
    ladder[name], spent[name] = torch.tensor(losses), (time.perf_counter() - begin) / 3

# %% tags=["machine"]
print({name: f"{seconds:.2f} s" for name, seconds in spent.items()})

# %% tags=["data", "nbval-ignore-output"]
print(f"{first_rung:36} {ladder[first_rung].mean():.3f}")
rungs = {}
for (_, before), (name, losses) in pairwise(ladder.items()):
    step = losses - before
    rungs[name] = step.mean().item(), step.std().item() / 3**0.5
    print(f"{name:36} {losses.mean():.3f}  this rung {rungs[name][0]:+.3f} ± {rungs[name][1]:.3f}")
gain, gain_error = against_first(ladder)["+ Muon"]

# %% tags=["data", "nbval-ignore-output"]
print(f"all together {gain:+.3f} ± {gain_error:.3f}")
about = {"why": "three seeds: 0.126 ± 0.001", "data": "shakespeare"}
claim(modern_ladder_gain=-gain)
about = {"why": "three seeds: 0.118 ± 0.004", "data": "shakespeare"}
claim(rotary_rung_gain=-rungs["+ rotary positions"][0])

# %% [markdown]
# Read it with its errors, on Shakespeare. **Rotary positions** gain by far the most: how far back a character stands says more than at which of 32 places it is. QK-norm costs time, and at this size and length of training gives nothing for it; ReLU² pays it back. Starting from nothing makes no difference that three seeds could show. Muon gains a little, although its products of matrices take time and leave it a quarter fewer steps. All of that changes with size: Muon evens out *directions*, and of those a matrix of 32 rows has few.
#
# So now the new parts at the size of section 6.9, with a recipe of their own: four heads instead of two, other first weights, no weight decay, and batches twice as large, which Muon uses better; in about as much time. (A star will mark the loss on the whole last tenth; the dots are windows drawn from it.) **Predict**: are the new parts worth more here?

# %% tags=["data"]
torch.manual_seed(42)
modern, modern_curve = modern_gpt(GPTConfig(**sizes | {"n_head": 4}, n_layer=3)).to(device), []
optimiser = muon(modern, 0.02, rest_lr=0.005)
watched = {"measure": watch(modern, modern_curve), "every": 80}
modern_history = learn(modern, optimiser, steps=800, batch_size=32, **watched)

# %% tags=["data", "nbval-ignore-output"]
modern_loss = text_nll(modern, valid)
count = sum(p.numel() for p in modern.parameters())
print(f"{count:,} parameters, {800 * 32 * 64:,} characters seen, loss {modern_loss:.4f}")
about = {
    "why": "1.591 ± 3 × 0.0027, the spread of seeds 0–4",
    "data": "shakespeare",
}
claim(gpt_modern_val_loss=modern_loss)
claim(modern_gain=gpt_loss - modern_loss)

# %% tags=["machine"]
print(f"plain: {history.seconds[-1]:.0f} s, modern: {modern_history.seconds[-1]:.0f} s of training")

# %% tags=["figure", "nbval-ignore-output"]
for name, past, points in (("plain", history, curve), ("modern", modern_history, modern_curve)):
    at = [past.seconds[step - 1] for step, _ in past.measured]
    plt.plot(at, [b for _, b in points], "o-", markersize=4, label=name)
    plt.plot(at[-1], {"plain": gpt_loss, "modern": modern_loss}[name], "k*", markersize=10)
plt.axhline(table_loss[best_order], color="grey", linestyle=":")
plt.text(at[0], table_loss[best_order] - 0.01, "best table", va="top")
plt.gca().set(xlabel="seconds of training", ylabel="loss on the last tenth (nats)")
plt.ylim(table_loss[best_order] - 0.15, 2.4)
plt.legend()
figure("modern", alt="Loss against seconds: the modern model falls faster and ends lower.")

# %% tags=["data", "nbval-ignore-output"]
standing = {
    "plain": gpt_loss,
    "modern": modern_loss,
    f"table, runs of {best_order}": table_loss[best_order],
}
by_model = shares_of(modern, valid)
standing["modern and table, half and half"] = -(0.5 * by_model + 0.5 * counted).log().mean().item()
for name, loss in sorted(standing.items(), key=lambda item: item[1]):
    print(f"{name:32} {loss:.4f} nats, {loss / math.log(2):.3f} bits a character")

# %% [markdown]
# The list above is sorted by the numbers, whoever wins. Parts and settings that cost nothing but thought have moved the transformer a good deal towards the table, with nearly the same number of weights and about the same time. On Shakespeare the gain is somewhat smaller than that of the whole ladder; and since parts and settings were changed together, it can't be shared out among them. And the two together are better than either alone.

# %% [markdown]
# ## 6.15 Two pointers, made concrete
#
# **A series with a driver.** Notebook 7 forecasts series, often with a second series that is known or controlled: heating power for a temperature, a policy rate for inflation. The original transformer (Vaswani et al. 2017) has a place for it: an **encoder**, blocks that may look ahead, reads the driver, and each block of the **decoder**, which is a GPT, attends to what it made. This **cross-attention** is the same attention, with queries from one sequence, keys and values from the other:

# %%
from coursekit.layers.attention import MultiHeadAttention, allow_past, attend

torch.manual_seed(42)
cross = MultiHeadAttention(16, 2)
x, memory = torch.randn(3, 5, 16), torch.randn(3, 7, 16)
q, k, v = (
    part.unflatten(-1, (2, 8)).transpose(1, 2)
    for part in (cross.q(x), cross.k(memory), cross.v(memory))
)
by_hand = cross.out(attend(q, k, v).transpose(1, 2).flatten(-2))

# %%
assert_close(cross(x, memory), by_hand)

# %% [markdown]
# The five queries read seven keys, those of the memory; nothing else is new. What may be read is a matter of time: a driver that is known in advance may be read as a whole, one that is observed as it happens only up to now. Ours is of the second kind.
#
# A synthetic series: tomorrow's value is 0.6 times today's, plus what the driver was yesterday, plus noise of size 0.1. A tiny decoder reads the series, and the driver through cross-attention. Then the same with drivers **shuffled** among the series: all that is the same, except that the driver now says nothing.


# %%
class Driven(nn.Module):
    """Forecast each next value from the values so far and a driver, by cross-attention."""

    def __init__(self, width=32, context=24):
        super().__init__()
        self.value, self.driver = nn.Linear(1, width), nn.Linear(1, width)
        self.places = nn.Parameter(0.5 * torch.randn(context, width))
        self.past = MultiHeadAttention(width, 2, attend_past)
        self.cross = MultiHeadAttention(width, 2)
        self.out = nn.Sequential(nn.LayerNorm(width), nn.Linear(width, 1))

    def forward(self, values, driver):
        x = self.value(values[..., None]) + self.places
        memory = self.driver(driver[..., None]) + self.places
        x = x + self.past(x)
        x = x + self.cross(x, memory, allowed=allow_past(24, 24, x.device))
        return self.out(x)[..., 0]


# %%
def draw_driven(n, chance):
    driver, noise = torch.randn(2, n, 25, generator=chance)
    values = torch.zeros(n, 25)
    for t in range(2, 25):
        values[:, t] = 0.6 * values[:, t - 1] + driver[:, t - 2] + 0.1 * noise[:, t]
    return values, driver


def driven_error(shuffled, seed=42, steps=400):
    chance = torch.Generator().manual_seed(seed)
    torch.manual_seed(seed)
    net = Driven().to(device)
    optimiser, falls = torch.optim.AdamW(net.parameters(), lr=0.01), warm_up_cosine(steps)
    for step in range(steps + 1):
        values, driver = draw_driven(64 if step < steps else 2000, chance)
        driver = driver[torch.randperm(len(driver), generator=chance)] if shuffled else driver
        values, driver = values.to(device), driver.to(device)
        loss = F.mse_loss(net(values[:, :-1], driver[:, :-1])[:, 2:], values[:, 3:])
        optimiser.param_groups[0]["lr"] = 0.01 * falls(step)
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    return loss.item() ** 0.5  # of the last draw, 2,000 fresh series, before its step


# %% tags=["nbval-ignore-output"]
with_driver, without = driven_error(shuffled=False), driven_error(shuffled=True)
print(f"error with the true driver {with_driver:.3f}, with a shuffled one {without:.3f}")
claim(driver_true=with_driver)
claim(driver_shuffled=without)

# %% [markdown]
# With the true driver the error comes close to the noise, 0.1, below which nobody can get. Shuffled, it is near 1, the size of what the driver adds. This is how one checks that a model *uses* an input: take the information away, keep the shape.
#
# **From completing texts to doing as asked.** A trained GPT continues documents. To make it answer, it is usually first trained on examples of good answers, with the same loss (**supervised fine-tuning**); accounts that go straight to rewards leave that step out. Then answers are rated and the model is trained to be rated well, by **reinforcement learning**. Its core is short. Draw texts, rate each with a reward $r$, and raise the log-probability of those above average (Williams 1992):
#
# $$\nabla\, E[r] = E\bigl[(r - \bar r)\,\nabla \log p(\text{text})\bigr]$$
#
# Let the reward be something that one can count: the share of vowels. Fine-tune a copy of our trained model with it.


# %% tags=["data"]
def draw_texts(model, n, length, chance):
    texts = torch.full((n, 1), vocabulary.encode("\n")[0], device=device)
    with torch.no_grad():
        for _ in range(length):
            share = model(texts)[:, -1].softmax(-1).cpu()
            drawn = torch.multinomial(share, 1, generator=chance)
            texts = torch.cat([texts, drawn.to(device)], 1)
    return texts


is_vowel = torch.zeros(V)
is_vowel[vocabulary.encode("".join(c for c in vocabulary.characters if c in "aeiouAEIOU"))] = 1.0


# %% tags=["data"]
from copy import deepcopy

tuned, chance, rewards = deepcopy(gpt), torch.Generator().manual_seed(42), []
optimiser = torch.optim.AdamW(tuned.parameters(), lr=3e-4)
for _ in range(40):
    texts = draw_texts(tuned, 32, 20, chance)
    reward = is_vowel.to(device)[texts[:, 1:]].mean(1)
    log_p = -F.cross_entropy(tuned(texts[:, :-1]).mT, texts[:, 1:], reduction="none").sum(1)
    loss = -((reward - reward.mean()) * log_p).mean()
    optimiser.zero_grad()
    loss.backward()
    optimiser.step()
    rewards.append(reward.mean().item())

# %% tags=["data", "nbval-ignore-output"]
first, last_ones = sum(rewards[:5]) / 5, sum(rewards[-5:]) / 5
print(f"share of vowels: {first:.2f} in the first five steps, {last_ones:.2f} in the last five")
for row in draw_texts(tuned, 4, 40, torch.Generator().manual_seed(1))[:, 1:].tolist():
    print(repr(vocabulary.decode(row)))
print(f"loss on Shakespeare: before {gpt_loss:.3f}, now {text_nll(tuned, valid[: 2**13]):.3f}")
claim(vowel_share_gain=last_ones - first)

# %% [markdown]
# The reward rises as far as it can, and the English is gone: what is not rewarded is not kept. The model has found the cheapest way to please the count, which nobody meant. That is why real systems add a penalty for straying from the model they began with, and why the rating itself is the weak point.

# %% [markdown]
# ## What you now have
#
# | part | what it does | where |
# |---|---|---|
# | positions | tell a step where it stands | 6.2 |
# | attention, causal | mixes earlier steps by content | 6.3 |
# | heads, blocks, GPT | several mixtures, then a network for each step | 6.4–6.7 |
# | AdamW, warm-up, cosine, clipping | steps that hold | 6.8 |
# | training beside tables | a figure with yardsticks | 6.9 |
# | temperature, top-k, cache | writing, and at what cost | 6.10 |
# | switches | what each part is worth, with an error | 6.11 |
# | three texts | learnt, stopped by, tested | 6.12 |
# | sliding windows | a perplexity that can be compared | 6.13 |
# | RMSNorm, rotary, QK-norm, ReLU², Muon | what came after GPT-2 | 6.14 |
# | cross-attention, rewards | where it leads | 6.15 |
#
# Besides: a transformer whose every part you have built, and four habits. Learn one batch by heart first. Keep a table of counts beside every network. Switch parts off before you praise them. And never report a figure on a text that helped to choose.
#
# **Next**: notebook 7 gives the same blocks numbers instead of characters, and asks what attention is worth on time series.

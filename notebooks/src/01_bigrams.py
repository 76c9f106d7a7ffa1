# %% [markdown]
# # 1 · Bigrams: how far do counts go?
#
# How well can you guess the next letter of a name if you may look at the last one only? And does it help to look at more?
#
# **Afterwards you can** build a language model from a table of counts, draw names from it, score it with likelihood and perplexity, smooth it, train the same model as one layer of weights, and say when more context hurts.
#
# **Before**: Python, and the derivative of a logarithm.
#
# **Runs in** {runs_in}.
#
# **Source**: the bigram model follows Karpathy's makemore lectures (2022); n-grams follow Shannon (1948), their smoothing Kneser and Ney (1995) and Chen and Goodman (1999).

# %% tags=["setup", "machine"]
import math
import random
from collections import Counter
from itertools import pairwise

import matplotlib.pyplot as plt
import torch
from torch.nn import functional as F
from torch.testing import assert_close

from coursekit import data
from coursekit.notebook import claim, figure, keep_sample, setup, show

device = setup("01_bigrams", seed=42)
names = data.names()

# %% [markdown]
# ## 1.1 Counting
#
# A **language model** gives a probability to each token that may come next. Here a token is a letter. The smallest useful model looks at one letter and predicts the one after it, so everything it knows is in *pairs* of letters: **bigrams**.
#
# Where a name begins and where it ends is worth knowing too. So we write a boundary `.` on both sides and treat it as a letter: the name *emma* holds the five pairs `.e`, `em`, `mm`, `ma` and `a.`

# %%
pairs = {}
for name in ["emma", "ava", "ada"]:
    for previous, following in pairwise(f".{name}."):
        pairs[previous + following] = pairs.get(previous + following, 0) + 1
print(pairs)

# %% [markdown]
# A dictionary works, but a table is easier to compute with: row $i$ is the letter before, column $j$ the letter after, and $N_{ij}$ says how often that pair came. For that, each letter needs a number. `Vocabulary` keeps this correspondence, in a fixed order, with the boundary as number 0.

# %%
from coursekit.windows.tokens import word_windows
from coursekit.tokens.vocabulary import Vocabulary

vocabulary = Vocabulary(".abcdefghijklmnopqrstuvwxyz")
V = len(vocabulary)
windows = word_windows(["emma", "ava", "ada"], vocabulary, length=2)
windows[:5].tolist()  # .e em mm ma a.

# %% [markdown]
# Each row of `windows` is a pair of numbers. To count pairs, read each as one number, $27i + j$, and count how often each number occurs. The library does just that, for contexts of any length; `_row` computes $27i + j$. (The words in brackets are shapes, verified whenever the tests run: `windows` has N rows of n numbers, the table K rows of V.)

# %% tags=["shown"]
from coursekit.models.ngram import count_ngrams

show(count_ngrams)

# %% [markdown]
# Does it agree with the dictionary?

# %%
table = count_ngrams(windows, V)
for pair, count in pairs.items():
    i, j = vocabulary.encode(pair)
    assert table[i, j] == count
assert table.sum() == sum(pairs.values())

# %% [markdown]
# It does. Now all the names.
#
# **Predict** before you run the next cells: of the 27 × 27 = 729 pairs, how many never occur in some 32,000 names? A handful, about a hundred, or more than half?

# %% tags=["data"]
windows = word_windows(names, vocabulary, length=2)
N = count_ngrams(windows, V)
claim(pairs_counted=N.sum())
claim(empty_cells=(N == 0).sum())

# %% tags=["figure", "nbval-ignore-output"]
from matplotlib.colors import LogNorm

from coursekit.notebook.plot import letter_table

plt.figure(figsize=(8, 7))
letter_table(
    N, vocabulary.characters, label="times the pair occurs", mask=N == 0, norm=LogNorm(1, 7e3)
)
plt.title("White: the pair never occurs")
figure("counts", alt="27 by 27 letter pairs; rows a, n and . are bright, row q almost empty.")

# %% [markdown]
# Read a row: it shows what follows a letter. Vowels (a, e, i, o) have bright rows and bright columns. Row *q* is nearly empty, with one good entry at *u*. The first column says how names end: on *a*, *n* or *e*, hardly ever on *q* or *p*.

# %% [markdown]
# ## 1.2 From counts to probabilities
#
# The probability of $j$ after $i$ is the share of $j$ among all that followed $i$:
#
# $$P_{ij} = \frac{N_{ij}}{\sum_k N_{ik}}$$
#
# The sum runs over a *row*. In code that is one word, `keepdim`, and it is easy to get wrong. You will meet this formula written `P = C / C.sum()`, with C for the counts. Here are three versions; only one of them has rows that sum to 1.

# %% tags=["data"]
versions = {
    "N / N.sum()": N / N.sum(),
    "N / N.sum(1)": N / N.sum(1),
    "N / N.sum(1, keepdim=True)": N / N.sum(1, keepdim=True),
}
for code, shares in versions.items():
    rows, columns = shares.sum(1), shares.sum(0)
    print(f"{code:28} rows sum to {rows.min():.3f} … {rows.max():.3f}", end=", ")
    print(f"columns to {columns.min():.3f} … {columns.max():.3f}")

# %% [markdown]
# The first divides by everything. The second is the treacherous one: without `keepdim` the 27 row sums become one *row* of numbers, PyTorch lays that row over each row of the table (**broadcasting**), and column $j$ is divided by the sum of row $j$. Its **columns** sum to 1, because each letter is left as often as it is entered. No error, no warning, a wrong model.

# %% tags=["data"]
P = N / N.sum(1, keepdim=True)
error = (P.sum(1) - 1).abs().max()
claim(row_sum_error=error)
worst = (versions["N / N.sum(1)"].sum(1) - 1).abs().max()
claim(row_sum_error_without_keepdim=worst)

# %% [markdown]
# The library's version works in double precision and can add *fake counts* α, which we need in a moment. With α = 0 it is the line above.

# %% tags=["shown"]
from coursekit.models.ngram import smooth

show(smooth)

# %% tags=["data"]
assert_close(smooth(N, alpha=0), P.double(), rtol=1e-6, atol=0)

# %% [markdown] tags=["exercise"]
# > **Exercise 1.** Write `row_probabilities(counts)`: a table of counts in, probabilities out, each row summing to 1. Check: `check_row_probabilities`.
# >
# > <details><summary>Hint 1</summary>Which axis do you sum over, if a row must sum to 1?</details>
# > <details><summary>Hint 2</summary>What is the shape of the sum with and without <code>keepdim=True</code>, and how is each laid over the table?</details>
#
# Write your answer into the next cell, in place of the dots, then run the check under it. The solution is folded below the check.


# %% tags=["stub"]
def row_probabilities(counts): ...


# %% tags=["check"]
from coursekit.exercises import bigrams as exercises

exercises.check_row_probabilities(row_probabilities)


# %% tags=["solution"]
def row_probabilities(counts):
    return counts / counts.sum(1, keepdim=True)


# %% [markdown]
# ## 1.3 Drawing names
#
# To draw a name, begin at the boundary, draw a letter from its row, go to that letter's row, and so on until the boundary comes again. (`torch.multinomial` draws a position, each as likely as its share says.) Each draw depends on the draws before it: **ancestral sampling**.

# %% tags=["data"]
generator = torch.Generator().manual_seed(42)
letter, drawn = 0, []
while True:
    letter = int(torch.multinomial(P[letter], 1, generator=generator))
    drawn.append(letter)
    if letter == 0:
        break
vocabulary.decode(drawn)

# %% [markdown]
# The library wraps a table as a model, `NGram`, which maps letters to the logarithms of the probabilities of the next one, and has one function that samples from any such model. (`nn.Module` is PyTorch's base class of all models; a **tensor** is its table of numbers, with any number of axes; `register_buffer` keeps one with the model that is not trained. Leave `temperature`, `top_k` and `cached` aside until later notebooks.)

# %% tags=["shown"]
from coursekit.models.ngram import NGram
from coursekit.sample import sample_text

show(NGram, sample_text)

# %% tags=["data"]
bigram = NGram(smooth(N, alpha=0))
generator = torch.Generator().manual_seed(42)
again = sample_text(bigram, vocabulary, ".", steps=50, generator=generator, stop=".")
assert again + "." == vocabulary.decode(drawn)
drawn_names = [sample_text(bigram, vocabulary, ".", 50, generator, stop=".") for _ in range(8)]
keep_sample(pairs=drawn_names[:5])
drawn_names

# %% [markdown]
# Not names, but not noise either: compare them with a model that has learnt nothing, in which all letters are equally likely.

# %% tags=["data"]
uniform = NGram(torch.full((V, V), 1 / V, dtype=torch.float64))
[sample_text(uniform, vocabulary, ".", 50, generator, stop=".") for _ in range(4)]

# %% [markdown]
# Is the sampler right? Draw 100,000 first letters. A share that should be $p$ typically misses it by a **standard error**, $\sqrt{p(1-p)/100000}$, and by three of them about once in 400. The next cell takes the largest miss among the letters. (With 26 letters it passes 3 about once in fifteen seeds; ours is fixed.)

# %% tags=["data"]
p = P[0].double()
generator = torch.Generator().manual_seed(42)
draws = torch.multinomial(p, 100_000, replacement=True, generator=generator)
share = torch.bincount(draws, minlength=V) / 100_000
error = (p * (1 - p) / 100_000).sqrt()
assert share[0] == 0  # no name is empty
largest = ((share - p).abs() / error)[1:].max()
claim(sampling_error=largest)

# %% [markdown]
# ## 1.4 How good is a model? Likelihood
#
# A good model finds the real names likely. The probability of a whole name is a product, by the **chain rule**:
#
# $$p(\text{emma}) = p(e\mid .)\; p(m\mid e)\; p(m\mid m)\; p(a\mid m)\; p(.\mid a)$$
#
# (That each factor looks at one letter only is our model's assumption; the chain rule itself needs none. Section 1.9 checks it.) Products of many small numbers vanish in a computer, so we add logarithms. Turn the sign round and divide by the number of letters, and you have the **mean negative log-likelihood**, NLL, in *nats* a letter (nats because the logarithm is the natural one; with base 2 they would be bits). Lower is better, 0 is perfect.

# %% tags=["data"]
total = 0.0
for i, j in word_windows(["emma"], vocabulary, length=2).tolist():
    total -= P[i, j].log().item()
    print(f"p({vocabulary.decode([j])} | {vocabulary.decode([i])}) = {P[i, j]:.4f}")
print(f"p(emma) = {math.exp(-total):.3g},  NLL = {total / 5:.4f} nats a letter")

# %% tags=["shown"]
from coursekit.evaluate.likelihood import mean_nll

show(mean_nll)

# %% [markdown]
# **Predict**: a model that guesses all 27 letters alike has an NLL of $\ln 27 = 3.2958$. How far down does the bigram table get?

# %% tags=["data"]
emma = word_windows(["emma"], vocabulary, length=2)
assert_close(mean_nll(bigram, emma), total / 5, rtol=1e-5, atol=0)
claim(uniform_nll=mean_nll(uniform, windows))
nll = mean_nll(bigram, windows)
claim(count_nll=nll)

# %% [markdown]
# If you follow the lecture you will see 2.4541 there. It adds the logarithms one by one in single precision, and after 200,000 additions the rounding has reached the fourth decimal:

# %% tags=["data"]
one_by_one = P[windows[:, 0], windows[:, 1]].log().numpy().cumsum(dtype="float32")[-1]
print(f"single precision, one by one: {-one_by_one / len(windows):.4f}")

# %% [markdown]
# No table of pairs can do better on these names (section 1.6 proves it): shares of counts are what maximises the likelihood. That is also their weakness. What does the model think of a pair it has never seen?

# %% tags=["data"]
unseen = word_windows(["macmillan"], vocabulary, length=2)
print("times cm occurs:", int(N[vocabulary.encode("c")[0], vocabulary.encode("m")[0]]))
print("NLL of macmillan:", mean_nll(bigram, unseen))
assert mean_nll(bigram, unseen) == float("inf")

# %% [markdown]
# Infinite. One pair that never came, and the whole name is impossible.

# %% [markdown] tags=["exercise"]
# > **Exercise 2.** Write `word_nll(shares, letters)`: the mean NLL of one word, in nats. `shares[i, j]` is the probability of $j$ after $i$; `letters` is a list of ids without boundaries; id 0 is the boundary. Check: `check_word_nll`.
# >
# > <details><summary>Hint 1</summary>A word of three letters takes four steps.</details>
# > <details><summary>Hint 2</summary>Pair <code>[0, *letters]</code> with <code>[*letters, 0]</code>.</details>


# %% tags=["stub"]
def word_nll(shares, letters): ...


# %% tags=["check"]
exercises.check_word_nll(word_nll)


# %% tags=["solution"]
def word_nll(shares, letters):
    steps = shares[[0, *letters], [*letters, 0]]
    return -steps.log().mean().item()


# %% [markdown]
# ## 1.5 Smoothing: a little doubt
#
# Pretend that each pair came α more times than it did:
#
# $$P_{ij} = \frac{N_{ij} + \alpha}{\sum_k N_{ik} + \alpha V}$$
#
# Nothing is impossible any more. α = 1 is called *add-one* or *Laplace* smoothing. A very large α drowns the counts, and all letters become equally likely.

# %% tags=["data"]
add_one = NGram(smooth(N, alpha=1))
nll = mean_nll(add_one, windows)
claim(add_one_nll=nll)
drowned = mean_nll(NGram(smooth(N, alpha=1e9)), windows)
claim(huge_alpha_nll=drowned)
print(f"NLL of macmillan now: {mean_nll(add_one, unseen):.4f}")

# %% [markdown]
# On the names that were counted, each fake count costs a little: 2.4546 instead of 2.4540. Its use shows on names that were *not* counted. So split them: count on 80 % (**training** names), choose α on another 10 % (**development** names), and leave the last 10 % (**test** names) alone until all choices are made.
#
# **Predict**: as α grows from 0.01 to 1000, what happens to the NLL of the development names if we counted all the training names? And if we had only 300 names to count?

# %% tags=["data"]
train, dev, test = data.split_words(names)
alphas = [10 ** (k / 4) for k in range(-8, 13)]


def sweep(counted, scored):
    counts = count_ngrams(word_windows(counted, vocabulary, 2), V)
    windows = word_windows(scored, vocabulary, 2)
    return [mean_nll(NGram(smooth(counts, alpha)), windows) for alpha in alphas]


curves = {
    "300 names, scored on themselves": sweep(train[:300], train[:300]),
    "300 names, scored on development names": sweep(train[:300], dev),
    "all training names, scored on development names": sweep(train, dev),
}

# %% tags=["data"]
for what, curve in curves.items():
    print(f"{what}: lowest {min(curve):.4f} at α = {alphas[curve.index(min(curve))]:.2f}")
itself, few, many = curves.values()
assert itself == sorted(itself)  # the more fake counts, the worse
claim(smoothing_gain_300=few[0] - min(few))
claim(smoothing_gain_all=many[0] - min(many))
raw = NGram(smooth(count_ngrams(word_windows(train, vocabulary, 2), V), alpha=0))
print(
    "all training names, α = 0, development names:", mean_nll(raw, word_windows(dev, vocabulary, 2))
)

# %% tags=["figure", "nbval-ignore-output"]
for (what, curve), style in zip(curves.items(), (":", "-", "--"), strict=True):
    plt.plot(alphas, curve, style, marker="o", markersize=4, label=what)
plt.axhline(math.log(V), color="grey", linewidth=1)
plt.text(0.01, math.log(V) - 0.06, "uniform guess, ln 27")
plt.xscale("log")
plt.gca().set(xlabel="fake counts α", ylabel="NLL (nats a letter)")
plt.legend(loc=(0.02, 0.55))
figure(
    "smoothing", alt="NLL against α: with 300 names lowest below α = 1, with all names flat to 10."
)

# %% [markdown]
# On the names that were counted, doubt only costs (dotted). On new names it pays, if there was little to count: with 300 names the best α is a fraction of a count (solid). With all training names there are hundreds of pairs for each cell, and any α from 0.01 to 10 will do (dashed); only α = 0 would not: the development names hold a new pair, and the NLL is infinite. When there are more cells than text, smoothing will decide everything: section 1.8.
#
# What α does to a single row is easier to see with a rare letter. Here is row *q* at three strengths:


# %% tags=["figure", "nbval-ignore-output"]
def draw_row(letter="q", alpha=1.0, ax=None):
    ax = ax or plt.subplots(figsize=(8, 2.5))[1]
    row = smooth(N, alpha)[vocabulary.encode(letter)[0]]
    ax.bar(list(vocabulary.characters), row)
    ax.set(title=f"α = {alpha:g}", ylabel=f"share after {letter}", ylim=(0, 1))
    ax.grid(axis="x", visible=False)


panels = plt.subplots(3, 1, figsize=(8, 6), sharex=True)[1]
for ax, alpha in zip(panels, (0, 10, 1000), strict=True):
    draw_row("q", alpha, ax)
plt.xlabel("next letter")
figure("row-q", alt="Shares after q: three quarters on u at α = 0, flatter at 10, even at 1000.")

# %% [markdown]
# With a running kernel you can move both controls yourself. Try *a*, a letter with thousands of pairs: how large must α be before its row goes flat?

# %% tags=["live", "nbval-ignore-output"]
from coursekit.notebook.widgets import play

play(draw_row, letter=list("aeqxz"), alpha=[0, 0.1, 1, 10, 100, 1000, 10_000])

# %% [markdown]
# ## 1.6 The same model as one layer of weights
#
# Counting works because the model is a table. Larger models are not tables; they are *trained*. So let us train this one, where we know the answer.
#
# Write the previous letter as a **one-hot** vector: 27 numbers, a 1 at its place and 0 elsewhere. Multiply by a matrix $W$ of 27 × 27 weights. The result is read as *log-counts*, or **logits**; exponentiate and divide by the sum (**softmax**) and you have probabilities:
#
# $$P_{ij} = \frac{e^{W_{ij}}}{\sum_k e^{W_{ik}}}$$

# %% tags=["data"]
W = torch.randn(V, V)
x, y = windows[:, 0], windows[:, 1]
logits = F.one_hot(x, V).float() @ W
difference = (logits - W[x]).abs().max()
claim(one_hot_difference=difference)

# %% [markdown]
# A one-hot row times a matrix picks out a row of the matrix, exactly. So the layer is a look-up, `W[x]`, and the big one-hot matrix need not exist.
#
# Now the loss. The mean over all pairs is a sum over 729 cells, each weighted with its count, since equal pairs have equal loss:
#
# $$-\frac1n\sum_{\text{pairs}} \log P_{x y} = -\frac{1}{n}\sum_{ij} N_{ij} \log P_{ij}$$

# %% tags=["shown"]
from coursekit.models.ngram import Bigram
from coursekit.evaluate.likelihood import table_nll

show(Bigram, table_nll)

# %% tags=["data"]
pair_by_pair = F.cross_entropy(W[x].double(), y)
assert_close(table_nll(W.double(), N), pair_by_pair, rtol=1e-12, atol=1e-12)
print(f"loss at the start {pair_by_pair:.4f} nats; ln 27 is {math.log(V):.4f}")

# %% [markdown]
# The two agree to twelve digits, and the second costs 729 terms, whatever the number of names. (Random weights start *above* $\ln 27$: they are confident, and wrong.)
#
# In which direction should a weight move? With $n_i = \sum_j N_{ij}$, and since $\log P_{ij} = W_{ij} - \log\sum_k e^{W_{ik}}$, the derivative of the loss is
#
# $$\frac{\partial\,\text{loss}}{\partial W_{ij}} = \frac{n_i}{n}\Big(P_{ij} - \frac{N_{ij}}{n_i}\Big)$$
#
# It is 0 for all weights exactly where $P$ is the table of counts. And that is the lowest place, not just a flat one: for any other table $Q$, since $\ln z \le z - 1$, each row has $\sum_j P_{ij} \ln (Q_{ij}/P_{ij}) \le \sum_j (Q_{ij} - P_{ij}) \le 0$, summed over the letters that came. So no table of pairs does better. PyTorch finds the same slopes:

# %% tags=["data"]
weights = W.double().requires_grad_()
(slope,) = torch.autograd.grad(table_nll(weights, N), weights)
n_i = N.sum(1, keepdim=True)
by_hand = (n_i * weights.detach().softmax(-1) - N) / N.sum()
assert_close(slope, by_hand, rtol=0, atol=1e-12)

# %% [markdown]
# **Gradient descent** moves each weight a little against its slope, again and again. The factor $n_i/n$ makes slopes small, so the step size is a bold 50. And it makes the rows of rare letters learn last. The 500 steps below use *all* names and take a fraction of a second.


# %% tags=["data"]
def descend(counts, steps, rate=50.0, seed=42):
    torch.manual_seed(seed)
    layer, losses = Bigram(len(counts)).double().to(device), []
    counts = counts.to(device)
    for _ in range(steps):
        loss = table_nll(layer.weights, counts)
        (slope,) = torch.autograd.grad(loss, layer.weights)
        layer.weights.data -= rate * slope
        losses.append(loss.item())
    return layer.cpu(), losses


# %% tags=["data"]
layer, losses = descend(N, steps=500)
nll = mean_nll(layer, windows)
claim(network_nll=nll)
above = nll - mean_nll(bigram, windows)
claim(network_above_counts=above)

# %% [markdown]
# Three thousandths of a nat from the table. You will read that training ends at *exactly the counting table*. Does it?

# %% tags=["data"]
counted, learnt = smooth(N, alpha=0), layer.weights.softmax(-1).detach()
gap = (learnt - counted).abs()
frequent = N.sum(1) > 5000
claim(frequent_row_gap=gap[frequent].max())
print(f"largest gap {gap.max():.3f}, in row {vocabulary.decode([gap.amax(1).argmax()])}")

# %% tags=["data"]
offsets, spreads = layer.weights.detach() - N.log(), []
for i in vocabulary.encode("aeln"):
    offset = offsets[i, N[i] >= 100]
    spreads.append(offset.std())
    print(f"row {vocabulary.decode([i])}: W - log N = {offset.mean():.3f} ± {spreads[-1]:.4f}")
claim(row_offset_spread=max(spreads))

# %% [markdown]
# Nearly, and only in the probabilities:
#
# - On frequent letters the two agree to about a thousandth. On rare ones (few names have a *q*) they do not yet.
# - The weights are *not* the log-counts: each row is off by its own constant, which softmax removes. Within a row the difference hardly varies.
# - It never arrives: a share of 0 needs a weight of $-\infty$.
#
# How slowly does it approach, and which table: the one with fake counts, or the one without? Let us watch the distance to the unsmoothed table's NLL for longer.

# %% tags=["data"]
layer, losses = descend(N, steps=4000)
gaps = torch.tensor(losses) - mean_nll(bigram, windows)
steps = torch.arange(1, len(gaps) + 1)
slope = (gaps[3999] / gaps[399]).log10()
claim(gap_slope=slope)
shares = layer.weights.detach().softmax(-1)[N == 0]
claim(empty_cell_share=shares.min())
passed = mean_nll(add_one, windows) - mean_nll(bigram, windows) - gaps[-1]
claim(network_past_add_one=passed)

# %% tags=["figure", "nbval-ignore-output"]
plt.loglog(steps, gaps, label="gradient descent, rate 50")
empty = (N == 0).sum(1)
limit = (empty * (V - empty)).sum() / V / 50  # the cost of empty cells times steps, in the end
plt.loglog(steps[20:], limit / steps[20:], ":", color="grey", label="empty cells, in the limit")
plt.gca().set(xlabel="steps", ylabel="NLL above the table's (nats)")
plt.legend()
figure(
    "gap",
    alt="Gap against steps, logarithmic: almost straight, ending near a dotted line 1 / steps.",
)

# %% [markdown]
# Training passes the add-one table on its way to the unsmoothed one. In the end only the empty cells still cost anything. By the formula above their slope is proportional to their share, which then shrinks in proportion to its own square: so it tends to fall like one over the number of steps (dotted: the limit, which the curve reaches from below, for rows of rare letters have not come so far). Ten times closer takes ten times longer, again and again. Counting gets there in one pass. Training is not the better way to *this* model. It is the way that still works when there is no table: in the next notebook, the row of the table becomes a computation.

# %% [markdown]
# ## 1.7 Perplexity: the number of faces of the die
#
# NLL in nats is hard to picture. Its exponential, the **perplexity**, is not: it is the number of equally likely tokens between which one would be as uncertain.
#
# $$\text{PPL} = \exp\Big(-\frac1n\sum_t \log p(w_t\mid \text{context})\Big)$$
#
# A uniform guess among 27 letters has perplexity 27. The formula is also the inverse of the *geometric* mean of the probabilities.

# %% tags=["data"]
from coursekit.evaluate.likelihood import perplexity

claim(uniform_perplexity=perplexity(mean_nll(uniform, windows)))
shares = counted[x, y]
geometric = 1 / shares.log().mean().exp()
assert_close(perplexity(mean_nll(bigram, windows)), geometric.item(), rtol=1e-9, atol=0)
print(f"bigram table: {geometric:.2f};  mean of 1 / p instead: {(1 / shares).mean():.2f}")

# %% [markdown]
# Mind the order: the exponential of a mean is not the mean of exponentials. The second number means something else. A pair of count $N_{ij}$ adds $N_{ij}\cdot n_i/N_{ij} = n_i$ to the sum of $1/p$, however rare it is. So it only counts how many different letters ever follow, on average:

# %% tags=["data"]
followers = ((N > 0).sum(1) * N.sum(1)).sum() / N.sum()
assert_close((1 / shares).mean(), followers.double(), rtol=1e-6, atol=0)
ratio = (1 / shares).mean() / geometric
claim(mean_of_exponentials=ratio)

# %% [markdown] tags=["exercise"]
# > **Exercise 3.** Write `faces(shares)`: the perplexity of a tensor with the probabilities that a model gave to the tokens that came. It must work for 1000 tokens of probability 0.1. Check: `check_faces`.
# >
# > <details><summary>Hint 1</summary>The product of 1000 such numbers is 0 in a computer. What about their logarithms?</details>
# > <details><summary>Hint 2</summary>Logarithm, mean, minus, exponential, in this order.</details>


# %% tags=["stub"]
def faces(shares): ...


# %% tags=["check"]
exercises.check_faces(faces)


# %% tags=["solution"]
def faces(shares):
    return shares.double().log().mean().neg().exp().item()


# %% [markdown]
# ## 1.8 More context: n-grams
#
# One letter of context is little. An **n-gram** model looks at the last $n-1$ tokens: none in a unigram model, one in a bigram model, two in a trigram model. Nothing else changes. The table has one row for each context, so $V^{n-1}$ rows.
#
# We take ordinary text, a paragraph of market news, and predict it letter by letter. The first 80 % are for counting, the rest for scoring. The cut is *contiguous*: a shuffled split would put neighbours of the test letters into training. (The list of characters is taken from the whole paragraph, since smoothing needs to know V.)

# %%
news = data.NEWS
characters = Vocabulary.of(news)
ids = torch.tensor(characters.encode(news))
cut = int(0.8 * len(ids))
print(f"{len(news)} characters, V = {len(characters)}; {cut} to count, {len(ids) - cut} to score")
claim(news_characters=len(news))
claim(news_vocabulary=len(characters))
print(news[:75])

# %% [markdown]
# **Predict**: rank unigram, bigram, trigram and 4-gram, with add-one smoothing, by their perplexity on the rest of the paragraph.

# %%
from coursekit.windows.tokens import slide_windows


def fit_news(order, alpha=1.0):
    return NGram(smooth(count_ngrams(slide_windows(ids[:cut], order), len(characters)), alpha))


def score_news(model):
    return perplexity(mean_nll(model, slide_windows(ids[cut:], 4)))


scores = {order: score_news(fit_news(order)) for order in (1, 2, 3, 4)}
print({f"{order}-gram": round(value, 2) for order, value in scores.items()})

# %% [markdown]
# (All four are scored on the same letters: those that have three letters before them. To give each model its own set, as one often sees, would be like grading different exams on one scale.)

# %% tags=["figure", "nbval-ignore-output"]
plt.bar(["unigram", "bigram", "trigram", "4-gram"], scores.values(), width=0.6)
plt.axhline(len(characters), color="grey", linestyle=":")
plt.text(3.45, len(characters) - 2.5, f"uniform guess: {len(characters)}", ha="right")
plt.gca().set(
    xlabel="model",
    ylabel="perplexity on held-out text",
    title="Add-one smoothing, 628 letters counted",
)
plt.grid(axis="x", visible=False)
figure("news", alt="Bars of perplexity: bigram lowest, then unigram, trigram and 4-gram.")

# %%
claim(news_unigram=scores[1])
claim(news_bigram=scores[2])
claim(news_trigram=scores[3])
claim(news_4_gram=scores[4])
assert scores[2] < scores[1] < scores[3] < scores[4] < len(characters)

# %% [markdown]
# More context made it *worse*. The trigram loses even to the unigram, which looks at nothing. "More context wins" is not a law: 628 letters spread over $39^2 = 1521$ contexts leave most rows empty, and an empty row predicts $1/V$, whatever the text:

# %%
trigram = fit_news(3)
filled = count_ngrams(slide_windows(ids[:cut], 3), len(characters)).any(1)
print(f"{filled.sum()} of {len(filled)} rows have a count")
row = trigram(torch.tensor([characters.encode("zq")])).exp()
claim(unseen_context=row.max() * len(characters))
sums = trigram.log_table.exp().sum(-1)
claim(trigram_row_sums=(sums - 1).abs().max())

# %% [markdown]
# Is a smaller α the cure? Here is the whole grid.

# %%
print("α     ", *(f"{order}-gram".rjust(8) for order in (1, 2, 3, 4)))
grid = {}
for alpha in (0.01, 0.03, 0.1, 0.3, 1.0):
    grid[alpha] = [score_news(fit_news(order, alpha)) for order in (1, 2, 3, 4)]
    print(f"{alpha:<6}", *(f"{value:8.2f}" for value in grid[alpha]))
best = [min(row[k] for row in grid.values()) for k in range(4)]
claim(best_trigram_over_bigram=best[2] / best[1])

# %% [markdown]
# It helps, but the bigram stays ahead at every α. (Choosing α on the text that is scored flatters every model; the order stays.)
#
# What does such a model write? One trap first, often met: code that takes the context as `text[-(n - 1):]`. For $n = 1$ this is `text[-0:]`, which is *the whole text*. The model then looks up a context that it has never seen, and draws all characters alike.

# %%
counted, text = {"": Counter(news[:cut])}, "Sh"  # n = 1: one row, for the empty context
chance, n = random.Random(42), 1
for _ in range(4000):
    row = counted.get(text[-(n - 1) :], {})  # the slip: this is the whole text, and no key
    text += chance.choices(
        list(characters.characters), [row.get(c, 0) + 1 for c in characters.characters]
    )[0]
flat = 1 / len(characters)
misses = abs(text.count(" ") / 4000 - flat) / (flat * (1 - flat) / 4000) ** 0.5
claim(slip_spaces=misses)
print(f"spaces: {text.count(' ') / 4000:.3f} drawn, {flat:.3f} if uniform")

# %% [markdown]
# Its spaces come as rarely as every other character. `sample_text` counts from the front, `text[len(text) - (n - 1):]`, and has no such case:

# %%
generator = torch.Generator().manual_seed(42)
for order in (1, 2, 3):
    text = sample_text(fit_news(order, 0.03), characters, "Sh", 250, generator)
    assert len(text) == 250
    print(f"\n{order}-gram: Sh" + text.replace("\n", " "))

# %%
unigram = fit_news(1, alpha=0)
text = sample_text(unigram, characters, "", 4000, torch.Generator().manual_seed(42))
spaces = text.count(" ") / len(text)
expected = news[:cut].count(" ") / cut
error = (expected * (1 - expected) / 4000) ** 0.5
claim(unigram_spaces=abs(spaces - expected) / error)
print(f"spaces: {spaces:.3f} drawn, {expected:.3f} in the text")

# %% [markdown] tags=["exercise"]
# > **Exercise 4.** Write `count_trigrams(words)`: a dictionary from each run of three characters to how often it occurs. Each word gets *two* boundaries `.` before it and one after it; no run reaches from one word into the next. Check: `check_count_trigrams`.
# >
# > <details><summary>Hint 1</summary>What are the contexts of the first letter, and of the end?</details>
# > <details><summary>Hint 2</summary>Pad one word to <code>"..ab."</code> and slide over it; then do so for each word on its own.</details>


# %% tags=["stub"]
def count_trigrams(words): ...


# %% tags=["check"]
exercises.check_count_trigrams(count_trigrams)


# %% tags=["solution"]
def count_trigrams(words):
    counts = {}
    for word in words:
        padded = f"..{word}."
        for i in range(len(padded) - 2):
            run = padded[i : i + 3]
            counts[run] = counts.get(run, 0) + 1
    return counts


# %% [markdown]
# ## 1.9 The chain rule, and why tables cannot be the answer
#
# The factorisation into "next given all before" holds for *every* distribution. Take any table of probabilities for four bits, $2^4 = 16$ numbers, and rebuild it from its conditionals:

# %%
generator = torch.Generator().manual_seed(42)
joint = torch.rand(16, dtype=torch.float64, generator=generator)
joint /= joint.sum()
product = torch.ones_like(joint)
for n in range(1, 5):
    first_n = joint.view(2**n, -1).sum(-1)  # p of each way to choose the first n bits
    pairs = first_n.view(-1, 2)  # the two ways that differ in bit n only
    given = pairs / pairs.sum(-1, keepdim=True)  # p of bit n, given those before
    product *= given.flatten().repeat_interleave(2 ** (4 - n))
claim(chain_rule_error=(product - joint).abs().max())

# %% [markdown]
# So a model of "the next one given the past" loses nothing. The trouble is its size. Suppose the daily changes of a price are sorted into 5 classes and you use the last 21 days, a month of trading. A table then needs one row for each possible month.

# %%
every = torch.cartesian_prod(*[torch.arange(5)] * 3)  # each way that three days can go
table = NGram(smooth(torch.arange(625).view(125, 5), 1))  # no two cells are alike
found = table(every).exp().unique(dim=0)  # the different rows that are looked up
contexts = len(found) ** 7  # 21 days are 7 times 3 days
entries = contexts * found.shape[1]
print(f"{contexts:,} contexts, {entries:,} entries, {entries - contexts:,} of them free")
claim(month_contexts=contexts)
different = min(len(row.unique()) for row in found)
claim(month_entries_per_row=different)

# %% [markdown]
# You will read "a table of $5^{21}$ entries"; that is the number of its *rows*. Each row has five entries, four of them free. And each trading day adds one such month: a century gives some 25,000.
#
# This is the **curse of dimensionality**. The same thing in letters: how many different runs of $n$ letters are possible, and how many occur in a large text?

# %% tags=["machine"]
plays = data.shakespeare()
alphabet = Vocabulary.of(plays)
letters = torch.tensor(alphabet.encode(plays))

# %% tags=["data"]
orders = range(1, 9)
seen = [len({plays[i : i + n] for i in range(len(plays) - n + 1)}) for n in orders]
share_seen = seen[4] / len(alphabet) ** 5
claim(five_grams_seen=share_seen)

# %% tags=["figure", "nbval-ignore-output"]
plt.semilogy(orders, [len(alphabet) ** n for n in orders], marker="o", label="possible, $V^n$")
plt.semilogy(orders, seen, marker="o", label="different ones that occur")
plt.axhline(len(plays), color="grey", linestyle=":", label="letters of text")
plt.gca().set(xlabel="length n of the run (letters)", ylabel="number of runs")
plt.legend()
figure(
    "curse",
    alt="Possible runs grow as V to the n; those that occur stay below the length of the text.",
)

# %% [markdown]
# From three letters on, nearly everything that *could* be said is never said. A table learns nothing about it. A model that is not a table can, if it knows that some contexts are alike; that is what the following notebooks are about.

# %% [markdown]
# ## 1.10 When does more context pay?
#
# The trigram lost on 628 letters. **Predict**: does it ever win with add-one smoothing, and from how many letters on? We count on growing pieces of a large text and score on its last tenth, always the same.

# %% tags=["data"]
held_out = slide_windows(letters[int(0.9 * len(letters)) :], 3)
sizes = [1000, 3000, 10_000, 20_000, 40_000, 80_000, 160_000, 320_000, 640_000]
sizes = [size for size in sizes if size < 0.9 * len(letters)]


def score_plays(order, rule):
    scores = []
    for size in sizes:
        counts = count_ngrams(slide_windows(letters[:size], order), len(alphabet))
        scores.append(perplexity(mean_nll(NGram(rule(counts)), held_out)))
    return scores


# %% tags=["data"]
laplace = {order: score_plays(order, lambda counts: smooth(counts, 1)) for order in (1, 2, 3)}
print("letters counted  unigram   bigram  trigram")
for size, *row in zip(sizes, *laplace.values(), strict=True):
    print(f"{size:>15}", *(f"{value:8.2f}" for value in row))

# %% tags=["data"]
lead = [two - three for two, three in zip(laplace[2], laplace[3], strict=True)]
first = next(k for k, value in enumerate(lead) if value > 0)
part = -lead[first - 1] / (lead[first] - lead[first - 1])
crossing = sizes[first - 1] * (sizes[first] / sizes[first - 1]) ** part
claim(crossing_letters=crossing)

# %% [markdown]
# With enough text the trigram overtakes the bigram, somewhere between 20,000 and 40,000 letters of Shakespeare. So the answer to "how much context?" is another question: how much text?
#
# But is it the *context* that hurt on little text, or the *smoothing*? An empty trigram row says "all letters alike", although the bigram row of the last letter knows better. A better rule asks it.

# %% [markdown]
# ## 1.11 Kneser–Ney: ask the shorter context
#
# **Interpolated Kneser–Ney** smoothing takes a discount $d$, say 0.75, off each count that was seen, and spends what it collected on the next shorter context:
#
# $$p(w\mid c) = \frac{\max(N_{cw} - d, 0)}{N_c} + \frac{d\, \#\{v: N_{cv} > 0\}}{N_c}\; p_{\text{short}}(w\mid c')$$
#
# where $N_c = \sum_v N_{cv}$ and $c'$ is $c$ without its oldest token; a context that was never seen uses $p_\text{short}$ alone. The second idea is what $p_{\text{short}}$ counts. A text about California may be full of the word *Francisco*, but always after *San*; after any other word it is a bad guess, however frequent. So the shorter table counts not how *often* $w$ came, but after how many *different* tokens it came.

# %% tags=["shown"]
from coursekit.models.ngram import kneser_ney

show(kneser_ney)

# %% [markdown]
# On tiny counts, by hand. Two letters; *b* came nine times, always after *a*; *a* came once after each of the two:

# %%
tiny = torch.tensor([[1, 9], [1, 0]])
d = 0.75
befores = torch.tensor([2.0, 1.0], dtype=torch.float64)  # a follows two letters, b one
short = (befores - d) / 3 + d * 2 / 3 * 0.5  # backed by 1/V = 0.5
row_a = (torch.tensor([1.0, 9.0]) - d) / 10 + d * 2 / 10 * short
row_b = torch.tensor([1 - d, 0.0]) / 1 + d * 1 / 1 * short
assert_close(kneser_ney(tiny, d), torch.stack([row_a, row_b]))
print("b after b, from plain frequencies:", round(d * 9 / 11, 2))
kneser_ney(tiny, d)

# %% [markdown]
# Look at the lower right: *b* after *b*, which never came. Falling back on plain frequencies, 9 of 11 letters being *b*, would have given it a large share. Kneser–Ney gives it a quarter: nine times is not much if it is always in the same place. Now the same texts as before:

# %% tags=["data"]
backed = {order: score_plays(order, kneser_ney) for order in (2, 3)}
print("letters counted   bigram  trigram")
for size, *row in zip(sizes, *backed.values(), strict=True):
    print(f"{size:>15}", *(f"{value:8.2f}" for value in row))

# %% tags=["data"]
few = sum(size <= 80_000 for size in sizes)
against_add_one = torch.tensor(backed[3][:few]) / torch.tensor(laplace[3][:few])
against_bigram = torch.tensor(backed[3]) / torch.tensor(backed[2])
claim(kneser_ney_trigram=against_add_one.max())
claim(kneser_ney_lead=against_bigram.max())

# %% tags=["figure", "nbval-ignore-output"]
for color, (order, name) in zip(("C0", "C1"), {2: "bigram", 3: "trigram"}.items(), strict=True):
    plt.plot(sizes, laplace[order], "--o", color=color, label=f"{name}, add-one")
    plt.plot(sizes, backed[order], "-s", color=color, label=f"{name}, Kneser–Ney")
plt.xscale("log")
plt.gca().set(xlabel="letters counted", ylabel="perplexity on held-out text")
plt.legend()
figure(
    "crossing", alt="The add-one trigram falls below the bigram late; Kneser–Ney's from the start."
)

# %% [markdown]
# With Kneser–Ney the trigram is ahead of the bigram from the first thousand letters on. And on our paragraph of news, where add-one put it far behind?

# %%
tables = {n: count_ngrams(slide_windows(ids[:cut], n), len(characters)) for n in (1, 2, 3, 4)}
news_backed = {n: score_news(NGram(kneser_ney(table))) for n, table in tables.items()}
print({f"{n}-gram": round(value, 2) for n, value in news_backed.items()})
level = news_backed[3] / news_backed[2]
claim(news_kneser_ney_trigram=level)

# %% [markdown]
# There it draws level. Most of what hurt was not the context but a rule that threw away what was known.
#
# No rule wins everywhere, though. On Shakespeare, the add-one curves (dashed) end *below* the Kneser–Ney curves: the bigram from 10,000 letters on, the trigram at the very end. On which pairs does add-one win? Here for the bigrams:

# %% tags=["data"]
table = count_ngrams(slide_windows(letters[:160_000], 2), len(alphabet))
before, after = held_out[:, -2], held_out[:, -1]
new = table[before, after] == 0
print(f"{new.double().mean():.2%} of the held-out pairs are new")
for what, shares in {"add-one": smooth(table, 1), "Kneser–Ney": kneser_ney(table)}.items():
    loss = -shares[before, after].log() / len(held_out)
    expected = (shares * (table == 0)).sum(1)[before].mean()
    print(
        f"{what:10} expected {expected:.2%}; they cost {loss[new].sum():.3f} nats, the others",
        end="",
    )
    print(f" {loss[~new].sum():.3f}")

# %% tags=["data"]
[
    (alphabet.decode(pair), n)
    for pair, n in Counter(map(tuple, held_out[new, 1:].tolist())).most_common(8)
]

# %% [markdown]
# On the new ones. The discount assumes that new pairs stay as rare as they were so far. Our Shakespeare breaks that promise: the last tenth is from other plays, and their speakers' names, in capitals, bring new pairs. Add-one happens to expect more of them.
#
# How far does it carry on names? Longer and longer contexts, counted on the training names, compared on the development names, up to the largest table that fits:


# %% tags=["data"]
def fit_names(order):
    return NGram(kneser_ney(count_ngrams(word_windows(train, vocabulary, order), V)))


models = {order: fit_names(order) for order in (1, 2, 3, 4, 5)}
for order, model in models.items():
    print(f"{order}-gram: {mean_nll(model, word_windows(dev, vocabulary, order)):.4f} nats")

# %% tags=["data"]
five = mean_nll(models[5], word_windows(dev, vocabulary, 5))
claim(five_gram_dev_nll=five)
print(f"on test names, scored once: {mean_nll(models[5], word_windows(test, vocabulary, 5)):.4f}")

# %% [markdown]
# Remember this number, 1.9935 on the names of 2018. A hierarchical network in the lecture that this course follows reaches 1.9937 on the same development names, after 200,000 training steps. A table of counts with a good rule, without any training, is the baseline that the networks of the next three notebooks have to beat.
#
# One caution. A name given to girls and to boys stands twice in the list, and may fall into both parts. How does the table do on names that it has really not seen?

# %% tags=["data"]
known = set(train)
for what, part in {"new": set(dev) - known, "seen in training": set(dev) & known}.items():
    nll = mean_nll(models[5], word_windows(sorted(part), vocabulary, 5))
    print(f"{len(part):5} different development names, {what}: {nll:.4f} nats")

# %% [markdown]
# Worse, as it should be. The networks were scored on the same mixture, so the comparison stands; the number flatters both.

# %% tags=["data"]
from functools import partial

generator = torch.Generator().manual_seed(42)
draw = partial(sample_text, models[5], vocabulary, "....", 50, generator, stop=".")
drawn_names = [draw() for _ in range(10)]
keep_sample(kneser_ney=drawn_names[:5])
drawn_names

# %% [markdown] tags=["exercise"]
# > **Exercise 5.** Write `continuations(counts)`: from a square table of bigram counts, the Kneser–Ney unigram without discount. The share of token $j$ is the number of *different* tokens that it follows, divided by the number of different pairs. Check: `check_continuations`.
# >
# > <details><summary>Hint 1</summary>How often a pair came does not matter, only whether.</details>
# > <details><summary>Hint 2</summary>"Which tokens does <i>j</i> follow" is a column of the table.</details>


# %% tags=["stub"]
def continuations(counts): ...


# %% tags=["check"]
exercises.check_continuations(continuations)


# %% tags=["solution"]
def continuations(counts):
    occurs = (counts > 0).double()
    return occurs.sum(0) / occurs.sum()


# %% [markdown]
# ## 1.12 Is there a right amount of context?
#
# If the text were made by a process that itself looks back two steps and no further, a model with two steps of context would be enough: the **Markov property**. Let us make such a text, three symbols, and look.

# %%
generator = torch.Generator().manual_seed(42)
rule = torch.rand(9, 3, generator=generator).log().square()  # squares: some far larger
weights = (rule / rule.sum(1, keepdim=True)).tolist()  # a row for each last two symbols
chance, path = random.Random(42), [0, 0]
for _ in range(60_000):
    path += chance.choices(range(3), weights[3 * path[-2] + path[-1]])
chain = torch.tensor(path)
made, kept = chain[:50_000], chain[50_000:]

# %%
held = {}
for order in (1, 2, 3, 4, 5):
    fitted = NGram(smooth(count_ngrams(slide_windows(made, order), 3), 1))
    held[order - 1] = mean_nll(fitted, slide_windows(kept, order))
    print(f"{order - 1} symbols of context: {held[order - 1]:.4f} nats")
claim(markov_gain_to_2=held[1] - held[2])
claim(markov_gain_past_2=abs(held[2] - held[4]))

# %% [markdown]
# Two symbols help, a third and a fourth don't. It is often said that one step is enough *without loss of generality*, because one may call a longer stretch "the state". True, if the memory is finite. But take a process with a **hidden** state: it switches between two moods, rarely, and shows a symbol that hints at the mood. How uncertain is the next symbol if you have seen the last $k$? With two symbols we can enumerate all sequences and compute it exactly.

# %%
switch = torch.tensor([[0.9, 0.1], [0.1, 0.9]], dtype=torch.float64)  # mood → next mood
shows = torch.tensor([[0.8, 0.2], [0.2, 0.8]], dtype=torch.float64)  # mood → symbol
reach = torch.tensor([[0.5, 0.5]], dtype=torch.float64)  # p(sequence so far, mood)
entropy = [0.0]
for _ in range(12):
    reach = torch.cat([(reach * shows[:, symbol]) @ switch for symbol in (0, 1)])
    p = reach.sum(-1)
    entropy.append(-(p * p.log()).sum().item())
given = torch.tensor(entropy, dtype=torch.float64).diff()
gains = -given.diff()
print("no symbols known:", f"{given[0]:.5f} nats; gain by each further one:")
print(" ".join(f"{gain:.1e}" for gain in gains.tolist()))
claim(hidden_drop=gains.min())

# %% tags=["figure", "nbval-ignore-output"]
left, right = plt.subplots(1, 2, figsize=(9, 3.5))[1]
left.plot(held.keys(), held.values(), marker="o")
left.set(title="Looks back two steps", xlabel="symbols of context", ylabel="NLL (nats a symbol)")
left.set_xticks(range(5))
right.semilogy(range(1, 12), gains, marker="o", color="C1")
right.set(title="Hidden state", xlabel="symbols of context", ylabel="gain by the oldest (nats)")
figure(
    "memory",
    alt="Left: NLL flat after two symbols. Right: gain by each symbol falls but never ends.",
)

# %% [markdown]
# The gains shrink, each to about a third of the one before, and never end: an older symbol still says a little about the mood, however much is already known. For such a process, and language and markets are suspected to be more like it, there is no right order $n$. One has to choose a context that is long enough and a model that can afford it.

# %% [markdown]
# ## What you now have
#
# - A model that is a table, and the loss by which every model of this course is judged: NLL, and perplexity as its exponential.
# - The same model as a layer of weights, and the fact that training approaches the table but never reaches a share of 0.
# - Two opposite lessons on context: with add-one smoothing it hurts on little text, with Kneser–Ney hardly.
# - A strong baseline: the 5-gram table's loss on the development names.
# - The reason to leave tables: they do not know that two contexts can be alike.
#
# **Next**: notebook 2 replaces the table by a network that gives each letter a vector, so that what is learnt about one context helps with its neighbours.

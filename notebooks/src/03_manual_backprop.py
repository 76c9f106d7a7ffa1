# %% [markdown]
# # 3 · Backpropagation by hand: what does `backward()` do?
#
# In notebook 2 one line, `loss.backward()`, found the slope of the loss at thousands of weights. Can you compute every one of them yourself, to the last digit? And once you can, which steps turn out to be unnecessary?
#
# **Afterwards you can** take any computation apart into small steps, write the gradient of each, check it against autograd and without autograd, derive the two shortcuts that libraries use (softmax loss, batch normalisation), and train a network without `backward()`.
#
# **Before**: notebook 2, and the chain rule.
#
# **Runs in** {runs_in}.
#
# **Source**: the exercise follows Karpathy's lecture on becoming a "backprop ninja" (2022, makemore part 4); backpropagation was made known by Rumelhart, Hinton and Williams (1986), the reverse mode itself is older (Linnainmaa 1970); the gradient of batch normalisation is from Ioffe and Szegedy (2015), section 3.

# %% tags=["setup", "machine"]
import time

import matplotlib.pyplot as plt
import torch
from torch.nn import functional as F
from torch.testing import assert_close

from coursekit import data
from coursekit.windows.tokens import word_windows
from coursekit.notebook import claim, figure, setup, show
from coursekit.tokens.vocabulary import Vocabulary

device = setup("03_manual_backprop", seed=42)
names = data.names()

# %% [markdown]
# ## 3.1 The chain rule, backwards
#
# Take $L = (ab + c)^2$ at $a = 2, b = -3, c = 10$. Cut it into steps so small that each has a derivative that you know, and give each result a name:

# %%
a, b, c = 2.0, -3.0, 10.0
d = a * b
e = d + c
L = e**2
print(f"d = {d}, e = {e}, L = {L}")

# %% [markdown]
# Now go back from the end. Write `dX` for the slope of $L$ at $X$: how much $L$ changes per unit of change in $X$. By the **chain rule**, each slope is the slope of what comes after it, times the derivative of the step in between:

# %%
dL = 1.0
de = dL * 2 * e  # L = e²
dd, dc = de * 1.0, de * 1.0  # e = d + c: a sum hands the slope on
da, db = dd * b, dd * a  # d = a b: each gets the other
print(f"dL/da = {da}, dL/db = {db}, dL/dc = {dc}")

# %%
leaves = [torch.tensor(value, dtype=torch.float64, requires_grad=True) for value in (a, b, c)]
slopes = torch.autograd.grad((leaves[0] * leaves[1] + leaves[2]) ** 2, leaves)
assert [s.item() for s in slopes] == [da, db, dc]

# %% [markdown]
# That is all there is. PyTorch's **autograd** writes down the steps on the way forward and walks them back. Going backwards costs a small multiple of going forwards (a matrix product has two on its way back), however many inputs there are: that is why it is done in this direction. What follows is the same with tensors instead of numbers.
#
# ## 3.2 Three rules for tensors
#
# The gradient at a tensor has **the shape of that tensor**: one slope for each of its numbers. That alone nearly fixes the formulas. A tensor that was used in several places gets the *sum* of what comes back from each. Hence three rules:
#
# 1. Forward **broadcast** (one row laid over many), backward **sum** over what was broadcast.
# 2. Forward **sum**, backward **broadcast**: each summand gets the slope of the sum.
# 3. Forward **matrix product** $Y = XW$, backward $dX = dY\,W^\top$ and $dW = X^\top dY$. For $Y_{ij} = \sum_k X_{ik} W_{kj}$: the entry $X_{ik}$ acts on row $i$ of $Y$, through $W_{kj}$, so $dX_{ik} = \sum_j dY_{ij} W_{kj}$. The shapes help to remember it.
#
# Let us check each with random numbers. `dY` stands for whatever slope comes from further on.

# %%
g = torch.Generator().manual_seed(42)
X, W, b, dY = (
    torch.randn(*shape, generator=g, dtype=torch.float64)
    for shape in [(4, 3), (3, 5), (5,), (4, 5)]
)
oracle = [t.clone().requires_grad_() for t in (X, W, b)]
slopes = torch.autograd.grad(oracle[0] @ oracle[1] + oracle[2], oracle, dY)
for by_hand, slope in zip((dY @ W.T, X.T @ dY, dY.sum(0)), slopes, strict=True):
    assert_close(by_hand, slope, rtol=0, atol=1e-12)

# %%
oracle = X.clone().requires_grad_()
ds = torch.randn(3, generator=g, dtype=torch.float64)
(slope,) = torch.autograd.grad(oracle.sum(0), oracle, ds)
assert_close(slope, ds.expand(4, 3))  # each of the four rows gets ds

# %% [markdown]
# ## 3.3 Forward, in named steps
#
# The network is that of notebook 2: three letters, their vectors joined, a linear layer, batch normalisation, tanh, a linear layer, the softmax loss. Some steps are cut smaller than one would write them, so that you know the derivative of each.
#
# Three things differ from notebook 2. Batch norm divides by $n-1$ here, as in the lecture. (What that changes is section 3.9.) And the largest logit of each row is subtracted before the exponential, so that the exponential does not overflow. And there is a bias `b1` before the batch norm, which is useless, as you know; we keep it to see its slope come out as 0.

# %% tags=["shown"]
from coursekit.inside.backprop import draw_parameters, pass_forward

show(pass_forward)

# %% tags=["data"]
vocabulary = Vocabulary(".abcdefghijklmnopqrstuvwxyz")
parts = data.split_words(names)
train, dev, test = (word_windows(part, vocabulary, length=4) for part in parts)
generator = torch.Generator().manual_seed(42)
p = draw_parameters(27, context=3, d_embedding=10, d_hidden=64, generator=generator)
picked = torch.randint(len(train), (32,), generator=generator)
tokens, targets = train[picked, :3], train[picked, 3]

# %% tags=["data", "nbval-ignore-output"]
v = pass_forward(p, tokens, targets)
for name, value in v.items():
    print(f"{name:14} {tuple(value.shape)}")
assert v["emb"].shape == (32, 3, 10)
assert v["bnvar"].shape == v["bnmean"].shape == (1, 64)
assert v["count_sum"].shape == v["logit_maxes"].shape == (32, 1)
gap = v["loss"] - F.cross_entropy(v["logits"], targets)
claim(forward_loss_gap=gap.abs())

# %% [markdown]
# As a picture. On the way forward we follow the grey arrows; on the way back, the orange ones, from the loss to the parameters (green). Where *two* grey arrows leave a step (orange), two slopes come back to it and are added. Those four ask for care.

# %%
from collections import Counter
from itertools import pairwise

chain = "emb embcat hprebn bndiff bnraw hpreact h logits norm_logits counts probs logprobs loss"
arrows = [*pairwise(chain.split())]
arrows += [("hprebn", "bnmean"), ("bnmean", "bndiff"), ("bndiff", "bndiff2")]
arrows += [("bndiff2", "bnvar"), ("bnvar", "bnvar_inv"), ("bnvar_inv", "bnraw")]
arrows += [("logits", "logit_maxes"), ("logit_maxes", "norm_logits"), ("counts", "count_sum")]
arrows += [("count_sum", "count_sum_inv"), ("count_sum_inv", "probs")]
arrows += [("C", "emb"), ("W1, b1", "hprebn"), ("bngain, bnbias", "hpreact"), ("W2, b2", "logits")]
leaving = Counter(tail for tail, _ in arrows)
twice = [name for name, times in leaving.items() if times == 2]
print("used twice:", *twice)
assert {name for arrow in arrows for name in arrow if name in v} == set(v)

# %%
places = {"C": (0, 0), "W1, b1": (2, 0), "bngain, bnbias": (5, 0), "W2, b2": (7.3, 2.6)}
places |= {"emb": (0, 1), "embcat": (1, 1), "hprebn": (2, 1), "bndiff": (3, 1)}
places |= {"bnraw": (4, 1), "hpreact": (5, 1), "h": (6, 1), "bnmean": (2, 2)}
places |= {"bndiff2": (3, 2), "bnvar": (4, 2), "bnvar_inv": (5, 2), "logits": (6, 2.6)}
places |= {"norm_logits": (5, 3.6), "logit_maxes": (6, 4.6), "counts": (4, 3.6)}
places |= {"count_sum": (4, 4.6), "count_sum_inv": (2.6, 4.6), "probs": (2.6, 3.6)}
places |= {"logprobs": (1.4, 3.6), "loss": (0.3, 3.6)}

# %% tags=["figure", "nbval-ignore-output"]
from coursekit.notebook.plot import draw_boxes

ax = draw_boxes(places, arrows)
box = {text.get_text(): text.get_bbox_patch() for text in ax.texts if text.get_text()}
colours = dict.fromkeys(set(box) - set(v), "#d3ead9") | dict.fromkeys(twice, "#f6d8a8")
for name, colour in colours.items():
    box[name].set_facecolor(colour)
for head, tail in arrows:  # backwards
    back = {"arrowstyle": "->", "color": "C1", "connectionstyle": "arc3,rad=0.28"}
    back |= {"patchA": box[tail], "patchB": box[head]}
    ax.annotate("", xy=places[head], xytext=places[tail], arrowprops=back)
figure(
    "graph",
    alt="The steps as boxes, from the table C to the loss, with arrows forward and backward.",
)

# %% [markdown]
# ## 3.4 Back through the softmax
#
# We go from the loss to the logits. For each step, ask two questions: *what is the derivative of this one operation*, and *where else was its input used*?
#
# - `loss`: minus the mean of $n$ entries of `logprobs`. So $d\text{logprobs}$ is $-1/n$ at the right letters and 0 elsewhere.
# - `logprobs = log(probs)`: divide by `probs`.
# - `probs = counts · count_sum_inv`: a product, and `count_sum_inv` is a column that was broadcast along the row: multiply with `counts` and *sum* along the row.
# - `count_sum_inv = 1 / count_sum`, a step that is easily left out when one writes $\text{probs} = \text{counts}/\text{count\_sum}$ at once: the derivative is $-1/\text{count\_sum}^2$.
# - `count_sum`: a sum along the row. Backward it is a broadcast: *every* count of the row gets its slope. You will meet this written as a product with a matrix $I$; it is the matrix of all ones, not the identity. And `counts` was used twice, so two terms are added.
# - `norm_logits`: the derivative of $e^x$ is $e^x$, which is `counts`.

# %% tags=["data"]
n = 32
dlogprobs = torch.zeros_like(v["logprobs"])
dlogprobs[range(n), targets] = -1 / n
dprobs = dlogprobs / v["probs"]
dcount_sum_inv = (dprobs * v["counts"]).sum(1, keepdim=True)
dcount_sum = -dcount_sum_inv / v["count_sum"] ** 2
dcounts = dprobs * v["count_sum_inv"] + dcount_sum * torch.ones(n, 27)
dnorm_logits = dcounts * v["counts"]

# %% [markdown]
# What would autograd say? Let it differentiate the same named steps; this is the oracle for everything below.

# %% tags=["data"]
with_graph = {name: value.clone().requires_grad_() for name, value in p.items()}
graph = pass_forward(with_graph, tokens, targets)
everything = {name: value for name, value in graph.items() if name != "loss"} | with_graph
slopes = torch.autograd.grad(graph["loss"], list(everything.values()))
oracle = dict(zip(everything, slopes, strict=True))
assert_close(dcount_sum, oracle["count_sum"], rtol=0, atol=1e-12)
assert_close(dnorm_logits, oracle["norm_logits"], rtol=0, atol=1e-12)

# %% tags=["data", "nbval-ignore-output"]
wrong = dprobs * v["count_sum_inv"] + dcount_sum * torch.eye(n, 27)
error = (wrong - oracle["counts"]).abs().max()
missed = error / dcount_sum.abs().max()
claim(identity_instead_of_ones=missed)
right = (dcounts - oracle["counts"]).abs().max()
claim(ones_reach_every_count=right)

# %% [markdown] tags=["exercise"]
# > **Exercise 1.** Write `dcount_sum_of(dprobs, counts)`: with `probs = counts / count_sum`, the gradient at the column `count_sum` (n rows, one number each). Check: `check_dcount_sum`.
# >
# > <details><summary>Hint 1</summary>d(c/s)/ds = −c/s². How many numbers of a row depend on its s?</details>
# > <details><summary>Hint 2</summary>The result must have the shape of <code>count_sum</code>: keep the dimension.</details>


# %% tags=["stub"]
def dcount_sum_of(dprobs, counts): ...


# %% tags=["check"]
from coursekit.exercises import backprop as exercises

exercises.check_dcount_sum(dcount_sum_of)


# %% tags=["solution"]
def dcount_sum_of(dprobs, counts):
    count_sum = counts.sum(1, keepdim=True)
    return -(dprobs * counts).sum(1, keepdim=True) / count_sum**2


# %% [markdown]
# What does a check say to a wrong answer? Forget the square:

# %%
from coursekit.exercises.compare import NotYet


def without_square(dprobs, counts):
    return -(dprobs * counts).sum(1, keepdim=True) / counts.sum(1, keepdim=True)


try:
    exercises.check_dcount_sum(without_square)
except NotYet as problem:
    print(problem)

# %% [markdown]
# It names the first element that is wrong, and the factor: 4, which is the sum of these counts, so one division by it is missing. A factor of −1 is a lost sign; 0.5, a 2 that was forgotten (from a square); $n$, a mean that was treated as a sum. If it fits all elements, the check says *everywhere*.

# %% [markdown]
# ## 3.5 The sign that does not show
#
# `norm_logits = logits − logit_maxes`. So `logit_maxes`, broadcast along the row and *subtracted*, gets **minus** the row sum of `dnorm_logits`. You will meet this formula without the minus, and with it the loss still goes down, every gradient agrees with autograd, nothing seems wrong.
#
# **Predict** why.

# %% tags=["data", "nbval-ignore-output"]
dlogit_maxes = -dnorm_logits.sum(1, keepdim=True)
claim(max_branch=dlogit_maxes.abs().max())

# %% [markdown]
# Because it is zero, with either sign. Softmax does not change if the same number is subtracted from all logits of a row, so the loss can't depend on *which* number was subtracted. A wrong sign on zero is no error that a test with this loss could find. So take another loss, one that is not indifferent: the sum of the first column of `counts`.

# %% tags=["data"]
logits = v["logits"][:3]
maxes = logits.max(1, keepdim=True).values.requires_grad_()
(true,) = torch.autograd.grad((logits - maxes).exp()[:, 0].sum(), maxes)
counts = (logits - maxes.detach()).exp()
dnorm = torch.zeros_like(counts)
dnorm[:, 0] = counts[:, 0]
row_sums = dnorm.sum(1, keepdim=True)
for what, slopes in {
    "autograd": true,
    "minus the sum": -row_sums,
    "plus the sum": row_sums,
}.items():
    print(f"{what:14}", "  ".join(f"{slope:6.3f}" for slope in slopes[:, 0].tolist()))

# %% tags=["data", "nbval-ignore-output"]
claim(minus_sign=(true + row_sums).abs().max())
claim(plus_sign=(true - row_sums).abs().min())

# %% [markdown]
# Each of the maxima came from one logit, so its slope goes back to that one: a **one-hot** row. What if two logits tie for the maximum? There is no derivative then, and PyTorch has to choose:

# %%
tied = torch.tensor([[1.0, 3.0, 3.0]], requires_grad=True)
for choose in ("max(1)", "amax(1)"):
    top = tied.max(1).values if choose == "max(1)" else tied.amax(1)
    print(choose, torch.autograd.grad(top.sum(), tied)[0].tolist())

# %% [markdown]
# `max` gives it all to one of them, `amax` shares it out. Raise one of the two a little and the maximum follows it; lower it and the maximum stays. So any shares that sum to 1 are allowed. For our loss it does not matter: what is handed out is zero.
#
# Here is the library's version of the eight steps.

# %% tags=["shown"]
from coursekit.inside.backprop import backward_softmax

show(backward_softmax)

# %% tags=["data"]
by_library = backward_softmax(v, targets)
largest = F.one_hot(v["logits"].argmax(1), 27)
dlogits = dnorm_logits + dlogit_maxes * largest
assert_close(by_library["logits"], dlogits, rtol=0, atol=1e-15)
assert_close(dlogits, oracle["logits"], rtol=0, atol=1e-12)

# %% [markdown]
# ## 3.6 Back through tanh, the linear layers and the table
#
# The linear layers are rule 3, tanh is $1 - h^2$ (notebook 2):

# %% tags=["data"]
dh = dlogits @ p["W2"].T
dW2, db2 = v["h"].T @ dlogits, dlogits.sum(0)
dhpreact = dh * (1 - v["h"] ** 2)
assert_close(dW2, oracle["W2"], rtol=0, atol=1e-12)
assert_close(db2, oracle["b2"], rtol=0, atol=1e-12)
assert_close(dhpreact, oracle["hpreact"], rtol=0, atol=1e-12)

# %% [markdown]
# The embedding is a look-up, `emb = C[tokens]`. A row of $C$ was copied to every place where its letter stands; backward, the slopes from all these places are **added** to the row. That is called *scatter-add*. As a double loop, and as one call:

# %% tags=["shown"]
from coursekit.inside.backprop import backward_hidden, backward_input, scatter_rows

show(backward_hidden, backward_input, scatter_rows)

# %% [markdown]
# `largest_differences` sets gradients beside the oracle's, name by name, and keeps the largest difference of each.

# %% tags=["data"]
from coursekit.inside.backprop import largest_differences

by_library = backward_hidden(p, v, dlogits)
by_library |= backward_input(p, v, oracle["hprebn"], tokens)
assert max(largest_differences(by_library, oracle).values()) < 1e-12
print(*by_library)

# %% tags=["data", "nbval-ignore-output"]
demb = oracle["emb"]
loop = torch.zeros(27, 10, dtype=torch.float64)
for i in range(32):
    for k in range(3):
        loop[tokens[i, k]] += demb[i, k]
scattered = scatter_rows(demb, tokens, 27)
worst = max((scattered - other).abs().max() for other in (loop, oracle["C"]))
claim(scatter_add=worst)
absent = sorted(set(range(27)) - set(tokens.flatten().tolist()))
assert not scattered[absent].any()  # a letter that isn't in the batch learns nothing
print("letters without a slope:", vocabulary.decode(absent))

# %% [markdown] tags=["exercise"]
# > **Exercise 2.** Write `dtable(drows, tokens, vocab_size)`: the gradient at a table from those at the rows that were looked up (B × T tokens, so B × T × C numbers). Check: `check_dtable`.
# >
# > <details><summary>Hint 1</summary><code>table[tokens] += drows</code> looks right, and counts a letter that comes twice only once.</details>
# > <details><summary>Hint 2</summary>A loop over all tokens is fine. Faster: <code>index_add_</code> on the flattened tokens.</details>


# %% tags=["stub"]
def dtable(drows, tokens, vocab_size): ...


# %% tags=["check"]
exercises.check_dtable(dtable)


# %% tags=["solution"]
def dtable(drows, tokens, vocab_size):
    table = torch.zeros(vocab_size, drows.shape[-1])
    for place, row in zip(tokens.flatten(), drows.flatten(0, 1), strict=True):
        table[place] += row
    return table


# %% [markdown] tags=["exercise"]
# > **Exercise 3.** Write `dhpreact_of(dh, h)`: the gradient at the input of tanh, from that at its output and the output. Check: `check_dhpreact`.
# >
# > <details><summary>Hint 1</summary>The chain rule multiplies with the local derivative.</details>
# > <details><summary>Hint 2</summary>tanh′ = 1 − tanh².</details>


# %% tags=["stub"]
def dhpreact_of(dh, h): ...


# %% tags=["check"]
exercises.check_dhpreact(dhpreact_of)


# %% tags=["solution"]
def dhpreact_of(dh, h):
    return dh * (1 - h * h)


# %% [markdown]
# ## 3.7 Back through batch normalisation, step by step
#
# The one part with several paths. `bndiff` is used twice, in `bnraw` and, squared, in the variance; `hprebn` is used twice, in `bndiff` and in the mean. Each time the slopes are added. `bnmean` and `bnvar_inv` are rows that were broadcast over the batch: their slopes are sums over the batch. (`bnvar` only becomes `bnvar_inv`, row to row: nothing to sum.)

# %% tags=["data"]
dbnraw = dhpreact * p["bngain"]  # hpreact = bngain · bnraw + bnbias
dbnvar_inv = (dbnraw * v["bndiff"]).sum(0, keepdim=True)  # a row, laid over the batch
dbnvar = -0.5 * dbnvar_inv * v["bnvar_inv"] ** 3  # u^(-1/2) becomes -½ u^(-3/2)
dbndiff2 = (dbnvar / (n - 1)).expand(n, -1)  # a sum: each summand gets it
dbndiff = dbnraw * v["bnvar_inv"] + dbndiff2 * 2 * v["bndiff"]  # used twice
dbnmean = -dbndiff.sum(0, keepdim=True)  # subtracted from each row
dhprebn = dbndiff + dbnmean / n  # used twice
assert_close(dhprebn, oracle["hprebn"], rtol=0, atol=1e-12)

# %% tags=["shown"]
from coursekit.inside.backprop import backward_norm

show(backward_norm)

# %% tags=["data"]
by_library = backward_norm(p, v, dhpreact)
assert max(largest_differences(by_library, oracle).values()) < 1e-12
print(*by_library)

# %% [markdown] tags=["exercise"]
# > **Exercise 4.** Write `dvariance(dxhat, centred, variance)`: with `xhat = centred / sqrt(variance + 1e-5)`, n rows and C columns, the gradient at the C variances. Check: `check_dvariance`.
# >
# > <details><summary>Hint 1</summary>The derivative of u^(−1/2) is −½ u^(−3/2).</details>
# > <details><summary>Hint 2</summary>The variance was broadcast over the n rows.</details>


# %% tags=["stub"]
def dvariance(dxhat, centred, variance): ...


# %% tags=["check"]
exercises.check_dvariance(dvariance)


# %% tags=["solution"]
def dvariance(dxhat, centred, variance):
    return (dxhat * centred).sum(0) * -0.5 * (variance + 1e-5) ** -1.5


# %% [markdown]
# The four parts in a row are `pass_backward`. All its gradients against autograd: 26 tensors, every step and every parameter.

# %% tags=["data", "nbval-ignore-output"]
from coursekit.inside.backprop import pass_backward

by_hand = pass_backward(p, v, tokens, targets)
differences = largest_differences(by_hand, oracle)
print("gradient of     shape          largest entry   largest difference")
for name, difference in differences.items():
    shape = "×".join(map(str, by_hand[name].shape))
    print(f"{name:15} {shape:12} {by_hand[name].abs().max():14.1e} {difference:14.1e}")

# %% tags=["data", "nbval-ignore-output"]
claim(gradients_by_hand=max(differences.values()))
assert by_hand["b1"].abs().max() < 1e-12
assert by_hand["logit_maxes"].abs().max() < 1e-12
claim(gradients_compared=len(differences))

# %% [markdown]
# Look at `b1`: its slope is zero. It is the bias before a batch normalisation, and the mean takes it away, as in notebook 2. And `logit_maxes` is zero too, as it must be.
#
# ## 3.8 Shortcut one: the softmax loss
#
# Eight steps back from the loss to the logits, and the result is simple. Write the loss of one example directly, with $z$ its logits and $y$ the right letter:
#
# $$L = -\log P_y = -z_y + \log\sum_k e^{z_k} \qquad P_j = \frac{e^{z_j}}{\sum_k e^{z_k}}$$
#
# - For $j \neq y$ only the second term has $z_j$ in it: $\dfrac{\partial L}{\partial z_j} = \dfrac{e^{z_j}}{\sum_k e^{z_k}} = P_j$.
# - For $j = y$ the first term adds $-1$: $\dfrac{\partial L}{\partial z_y} = P_y - 1$.
#
# Together, with $Y$ the one-hot rows of the right letters, and the mean over $n$ examples: $d\text{logits} = (P - Y)/n$. The gradient is the prediction minus the truth.

# %%
z = torch.tensor([[1.0, 2.0, 4.0]], dtype=torch.float64, requires_grad=True)
y = torch.tensor([1])
P = z.softmax(1)
(slope,) = torch.autograd.grad(F.cross_entropy(z, y), z)
assert_close(slope, P - torch.tensor([[0, 1, 0]]), rtol=0, atol=1e-12)
print("P       ", P.detach().numpy().round(3), "\ngradient", slope.numpy().round(3))

# %% tags=["shown"]
from coursekit.inside.backprop import cross_entropy_gradient

show(cross_entropy_gradient)

# %% tags=["data", "nbval-ignore-output"]
short = cross_entropy_gradient(v["logits"], targets)
claim(softmax_shortcut=(short - oracle["logits"]).abs().max())
claim(softmax_row_sums=short.sum(1).abs().max())

# %% [markdown]
# **Predict** the picture of this matrix, one row for each of the 32 examples, for a network that has learnt nothing yet: how many cells of a row are negative, and how strong are the others?

# %% tags=["figure", "nbval-ignore-output"]
from coursekit.notebook.plot import DIVERGING

plt.figure(figsize=(8, 5.5))
scaled = short * n
plt.imshow(scaled, cmap=DIVERGING, vmin=-1, vmax=1, aspect="auto", interpolation="nearest")
plt.colorbar(label="n × gradient: share predicted minus truth")
plt.xticks(range(27), list(vocabulary.characters))
plt.gca().set(xlabel="next letter", ylabel="example in the batch")
plt.grid(visible=False)
figure(
    "dlogits", alt="One dark blue cell a row, the right letter, pulled up; pale red on all others."
)

# %% [markdown]
# A step goes *against* the gradient: in each row it raises the one logit whose slope is negative, the blue cell, and lowers the others, each in proportion to its share. The slopes of a row sum to 0. The nearer the share of the right letter is to 1, the weaker they are.

# %% [markdown] tags=["exercise"]
# > **Exercise 5.** Write `dlogits_of(logits, targets)`: the gradient of the mean softmax loss of n rows. It must work for logits of 500. Check: `check_dlogits`.
# >
# > <details><summary>Hint 1</summary>(P − Y)/n; PyTorch's <code>softmax</code> does not overflow.</details>
# > <details><summary>Hint 2</summary>To subtract Y, subtract 1 at <code>[range(n), targets]</code>.</details>


# %% tags=["stub"]
def dlogits_of(logits, targets): ...


# %% tags=["check"]
exercises.check_dlogits(dlogits_of)


# %% tags=["solution"]
def dlogits_of(logits, targets):
    gradient = logits.softmax(1)
    gradient[range(len(targets)), targets] -= 1
    return gradient / len(targets)


# %% [markdown]
# ## 3.9 Shortcut two: batch normalisation
#
# An input $x_i$ acts on the outputs by three paths: directly, by the mean, and by the variance.
#
# $$dx_i = d\hat x_i \frac{\partial \hat x_i}{\partial x_i} + d\mu\,\frac{\partial \mu}{\partial x_i} + d\sigma^2\,\frac{\partial \sigma^2}{\partial x_i}$$
#
# Write $s = 1/\sqrt{\sigma^2 + \epsilon}$, so $\hat x_i = s\,(x_i - \mu)$, and $d\hat x_i = \gamma\, dy_i$. The pieces, with the divisor $n - 1$ in the variance:
#
# $$d\sigma^2 = -\tfrac12 s^3 \sum_i d\hat x_i (x_i - \mu) = -\tfrac12 s^2 \sum_i d\hat x_i\,\hat x_i \qquad \frac{\partial\sigma^2}{\partial x_i} = \frac{2 (x_i - \mu)}{n-1} = \frac{2\hat x_i}{s\,(n-1)}$$
#
# $$d\mu = -s \sum_i d\hat x_i + d\sigma^2\,\frac{\partial\sigma^2}{\partial\mu} \qquad \frac{\partial\mu}{\partial x_i} = \frac1n$$
#
# The last piece, the slope of the variance at the mean, is often carried along and never looked at: $\partial\sigma^2/\partial\mu = -\frac{2}{n-1}\sum_i (x_i - \mu)$. A sum of deviations from the mean is **zero**. So that path does not exist:

# %% tags=["data", "nbval-ignore-output"]
mean = v["bnmean"].clone().requires_grad_()
variance = (v["hprebn"] - mean).square().sum(0) / (n - 1)
(at_mean,) = torch.autograd.grad(variance.sum(), mean)
claim(variance_at_mean=at_mean.abs().max())

# %% [markdown]
# The three paths that are left, one line each:

# %% tags=["data"]
dy, xhat, s = oracle["hpreact"], v["bnraw"], v["bnvar_inv"]
dxhat = p["bngain"] * dy
dvariance_row = -0.5 * s**2 * (dxhat * xhat).sum(0)
paths = {
    "directly": s * dxhat,
    "by the mean": (-s * dxhat.sum(0) / n).expand_as(dy),
    "by the variance": dvariance_row * 2 * xhat / (s * (n - 1)),
}
assert_close(sum(paths.values()), oracle["hprebn"], rtol=0, atol=1e-12)
for what, path in paths.items():
    print(f"{what:16} mean size {path.abs().mean():.1e}")

# %% [markdown]
# Put their formulas together, and $\gamma s / n$ can be taken out:
#
# $$dx_i = \frac{\gamma s}{n}\Big(n\,dy_i - \sum_j dy_j - \frac{n}{n-1}\,\hat x_i \sum_j dy_j\,\hat x_j\Big)$$

# %% tags=["shown"]
from coursekit.inside.backprop import batch_norm_gradient

show(batch_norm_gradient)

# %% tags=["data", "nbval-ignore-output"]
arguments = dy, xhat, p["bngain"] * s
error = (batch_norm_gradient(*arguments, correction=1) - oracle["hprebn"]).abs().max()
claim(bn_shortcut=error)

# %% [markdown]
# And if one takes the formula of the other convention? Textbooks, PyTorch and notebook 2 divide by $n$ when they normalise. Their formula has no factor $n/(n-1)$. On our forward pass it is wrong, though not by much, which is worse: a loss that falls would not give it away.

# %% tags=["data", "nbval-ignore-output"]
other = (batch_norm_gradient(*arguments, correction=0) - oracle["hprebn"]).abs().max()
share = other / oracle["hprebn"].abs().max()
print(f"right divisor: off by {error:.0e}; the other one: {other:.0e}, {share:.1%} of the largest")
claim(bn_shortcut_wrong_divisor=other)
assert_close(other, (paths["by the variance"] / n).abs().max(), rtol=1e-9, atol=0)

# %% [markdown]
# The error is one $n$-th of the path by the variance, exactly. And on PyTorch's own forward pass, which divides by $n$, the other formula is the right one:

# %% tags=["data", "nbval-ignore-output"]
x = v["hprebn"].clone().requires_grad_()
y = F.batch_norm(x, None, None, weight=p["bngain"], training=True)
(slope,) = torch.autograd.grad(y, x, dy)
inverse = (x.detach().var(0, correction=0) + 1e-5).rsqrt()
normalised = (x.detach() - x.detach().mean(0)) * inverse
short = batch_norm_gradient(dy, normalised, p["bngain"] * inverse)
claim(bn_shortcut_pytorch=(short - slope).abs().max())

# %% [markdown]
# ## 3.10 Checking without autograd
#
# How did people check gradients before? The slope is the limit of $(L(w + \varepsilon) - L(w - \varepsilon)) / 2\varepsilon$. It takes two forward passes for *one* weight, so one picks a few. **Predict**: is the check better the smaller $\varepsilon$ is?


# %% tags=["data"]
def relative_errors(p, places, steps):
    errors = torch.zeros(len(places), len(steps))
    for i, (name, place) in enumerate(places):
        for j, step in enumerate(steps):
            ends = []
            for shift in (step, -step):
                moved = p | {name: p[name].clone()}
                moved[name][place] += shift
                ends.append(pass_forward(moved, tokens, targets)["loss"].item())
            slope = (ends[0] - ends[1]) / (2 * step)
            errors[i, j] = abs(slope / by_hand[name][place].item() - 1)
    return errors


places = [("W1", (3, 5)), ("C", (1, 2)), ("bngain", (7,)), ("W2", (11, 13))]
steps = [10.0**-k for k in range(1, 14)]
errors = relative_errors(p, places, steps)
single = {name: value.float() for name, value in p.items()}
coarse = relative_errors(single, places, steps[:7])

# %% tags=["figure", "nbval-ignore-output"]
for (name, place), row, rough, mark in zip(places, errors, coarse, "os^D", strict=True):
    (line,) = plt.loglog(steps, row, mark + "-", markersize=4, label=f"{name}{list(place)}")
    plt.loglog(steps[:7], rough, mark + ":", markersize=4, color=line.get_color(), linewidth=1.2)
plt.plot([], [], ":", color="grey", label="in single precision")
plt.gca().set(xlabel="step ε", ylabel="relative error of the finite difference")
plt.legend(loc="lower left")
figure("finite", alt="Error against step: V-shaped, lowest near 1e-5; single precision far above.")

# %% tags=["data", "nbval-ignore-output"]
typical = {"double": errors.log10().mean(0), "single": coarse.log10().mean(0)}
for what, row in typical.items():
    k = int(row.argmin())
    print(f"{what} precision: best at ε = {steps[k]:.0e}, relative error {10 ** row[k]:.0e}")
claim(finite_difference=errors[:, 4].max())

# %% tags=["data", "nbval-ignore-output"]
claim(finite_difference_too_small=10 ** typical["double"][-1])
claim(finite_difference_single=10 ** typical["single"].min())

# %% [markdown]
# On the right the formula is too coarse: its error falls with $\varepsilon^2$. On the left the two losses agree in nearly all digits, and their difference is rounding: about $u L/\varepsilon$, with $u$ the relative size of a rounding error, to be divided by the slope as in the figure. If $L$ and its derivatives are of size 1, the two errors are alike near $\varepsilon = u^{1/3}$: $5 \cdot 10^{-6}$ in double precision ($u = 10^{-16}$), $4 \cdot 10^{-3}$ in single ($u = 6 \cdot 10^{-8}$), where the best check is worth about three digits. So judge a gradient in float64, by its error relative to the gradient's largest entry, and where the slope is 0 by the absolute error.
#
# ## 3.11 Training without `backward()`
#
# With the two shortcuts, forward and backward fit into one short function.

# %% tags=["shown"]
from coursekit.inside.backprop import short_gradients

show(short_gradients)

# %% [markdown]
# First the proof: train twice from the same start on the same batches, once with autograd, once by hand, for 200 steps. (The learning rate falls on a straight line to 0.)


# %% tags=["data"]
def draw(size, seed=42):
    generator = torch.Generator().manual_seed(seed)
    while True:
        picked = torch.randint(len(train), (size,), generator=generator)
        yield train[picked, :3].to(device), train[picked, 3].to(device)


def descend_by_hand(p, steps, rate=0.1, size=32):
    p, losses = {name: value.clone().to(device) for name, value in p.items()}, []
    for step, batch in zip(range(steps), draw(size), strict=False):
        loss, gradients = short_gradients(p, *batch)
        for name, value in p.items():
            value -= rate * (1 - step / steps) * gradients[name]
        losses.append(loss.item())
    return p, losses


# %% tags=["data"]
def descend_by_autograd(p, steps, rate=0.1, size=32):
    p = {name: value.clone().to(device).requires_grad_() for name, value in p.items()}
    losses = []
    for step, batch in zip(range(steps), draw(size), strict=False):
        loss = pass_forward(p, *batch)["loss"]
        slopes = torch.autograd.grad(loss, list(p.values()))
        with torch.no_grad():
            for value, slope in zip(p.values(), slopes, strict=True):
                value -= rate * (1 - step / steps) * slope
        losses.append(loss.item())
    return p, losses


# %% tags=["data", "nbval-ignore-output"]
mine, my_losses = descend_by_hand(p, 200)
theirs, their_losses = descend_by_autograd(p, 200)
gap = max(abs(a - b) for a, b in zip(my_losses, their_losses, strict=True))
print(f"loss after 200 steps: {my_losses[-1]:.6f} by hand, {their_losses[-1]:.6f} by autograd")
claim(training_by_hand_gap=gap)

# %% [markdown]
# The same but for rounding, at every step. Now in earnest: 200 hidden units, single precision, 10,000 steps on batches of 128.

# %% tags=["data", "nbval-ignore-output"]
generator = torch.Generator().manual_seed(42)
start = draw_parameters(27, context=3, d_embedding=10, d_hidden=200, generator=generator)
start = {name: value.float() for name, value in start.items()}
trained, losses = descend_by_hand(start, 10_000, rate=0.5, size=128)
assert losses[0] > 3
print(f"mean loss of the last thousand batches: {sum(losses[-1000:]) / 1000:.3f}")

# %% [markdown]
# How good is it on the development names? Put the parameters into the library's `MLP` and let it say. The running statistics that evaluation needs were not kept; we take the mean and the variance over all training windows at once, which is what they estimate. (`b1` is left out: the mean takes it away.)

# %% tags=["data"]
from coursekit.models.mlp import MLP, MLPConfig
from coursekit.models.ngram import NGram, count_ngrams, kneser_ney, smooth
from coursekit.evaluate.likelihood import mean_nll


def as_model(p):
    model = MLP(MLPConfig(vocab_size=27, d_hidden=200, normalised=True))
    hidden = p["C"][train[:, :3]].flatten(1) @ p["W1"]
    weights = {"embedding.weight": p["C"], "hidden.0.weight": p["W1"].T}
    weights |= {"hidden.1.weight": p["bngain"], "hidden.1.bias": p["bnbias"]}
    weights |= {"hidden.1.running_mean": hidden.mean(0), "hidden.1.running_var": hidden.var(0)}
    weights |= {"output.weight": p["W2"].T, "output.bias": p["b2"]}
    model.load_state_dict(weights)
    return model


# %% tags=["data", "nbval-ignore-output"]
scores = {"uniform guess": torch.tensor(27.0).log().item()}
for order in (2, 4):
    counts = count_ngrams(train[:, -order:], 27)
    scores[f"{order}-gram, add-one"] = mean_nll(NGram(smooth(counts, 1)), dev[:, -order:])
scores["4-gram, Kneser–Ney"] = mean_nll(NGram(kneser_ney(counts)), dev)
scores["trained by hand"] = mean_nll(as_model(trained), dev)
for name, score in scores.items():
    print(f"{name:20} {score:.4f} nats on the development names")

# %% tags=["data", "nbval-ignore-output"]
by_hand_nll = scores["trained by hand"]
claim(hand_dev_loss=by_hand_nll)
gain = scores["4-gram, add-one"] - by_hand_nll
claim(hand_below_add_one=gain)

# %% tags=["figure", "nbval-ignore-output"]
left, right = plt.subplots(1, 2, figsize=(9, 3.6))[1]
left.plot(their_losses, color="C1", linewidth=4, alpha=0.5, label="autograd")
left.plot(my_losses, color="C0", linewidth=1, label="by hand")
left.set(xlabel="step", ylabel="loss of the batch (nats)", title="200 steps, float64")
left.legend()
smoothed = torch.tensor(losses).view(-1, 100).mean(1)
right.plot(range(50, 10_000, 100), smoothed, label="by hand, 100 batches")
right.plot(10_000, by_hand_nll, "s", label="by hand (dev)")
for name, style in {"4-gram, add-one": "--", "4-gram, Kneser–Ney": ":"}.items():
    right.axhline(scores[name], color="grey", linestyle=style, label=f"{name} (dev)")
right.set(xlabel="step", ylabel="mean loss (nats)", title="10,000 steps, by hand", ylim=(2.0, 2.7))
right.set_xticks([0, 5000, 10_000])
right.legend()
figure(
    "training",
    alt="Left: two loss curves that coincide. Right: loss falls below the add-one table's.",
)

# %% [markdown]
# It trains, without `backward()`: below the add-one table of the same three letters, still above the Kneser–Ney table. (Notebook 2 showed what it takes to come closer. None of it had to do with who computed the gradients.)
#
# Was the work with the shortcuts worth it? The same batch, four ways, as a ratio to ours with the shortcuts. The last one is autograd over PyTorch's own `F.batch_norm` and `F.cross_entropy`, which come with a backward pass written by hand, as ours:


# %% tags=["machine"]
def seconds(job, repeats=300):
    rounds = []
    for _ in range(5):
        begin = time.perf_counter()
        for _ in range(repeats):
            job()
        rounds.append((time.perf_counter() - begin) / repeats)
    return sorted(rounds)[2]


leaves = {name: value.clone().requires_grad_() for name, value in start.items()}


def whole_layers(p):
    hidden = F.linear(p["C"][tokens].flatten(1), p["W1"].T, p["b1"])
    h = F.batch_norm(hidden, None, None, p["bngain"], p["bnbias"], training=True).tanh()
    return F.cross_entropy(F.linear(h, p["W2"].T, p["b2"]), targets)


# %% tags=["machine"]
batch = tokens, targets
base = seconds(lambda: short_gradients(start, *batch))
ways = {
    "by hand, step by step": lambda: pass_backward(start, pass_forward(start, *batch), *batch),
    "autograd, step by step": lambda: torch.autograd.grad(
        pass_forward(leaves, *batch)["loss"], list(leaves.values())
    ),
    "autograd, whole layers": lambda: torch.autograd.grad(
        whole_layers(leaves), list(leaves.values())
    ),
}
for what, way in ways.items():
    print(f"{what:22} {seconds(way) / base:.1f} times as long as by hand with shortcuts")

# %% [markdown]
# Fewer steps take less time, whoever computes them. And the small steps have a weakness that the shortcuts don't: a share that underflows to 0 has a logarithm of −∞. Make the logits wild, and see:

# %% tags=["data"]
wild = p | {"W2": 3000 * p["W2"]}
small_steps = pass_backward(wild, pass_forward(wild, tokens, targets), tokens, targets)
loss, by_shortcut = short_gradients(wild, tokens, targets)
assert small_steps["W2"].isnan().any()
assert loss.isfinite()
assert by_shortcut["W2"].isfinite().all()

# %% [markdown]
# Step by step the gradient is not a number any more; by the shortcuts it is finite. That is the better reason why libraries have them.
#
# ## What you now have
#
# - Three rules for shapes, the derivative of each small step, and the habit of asking where else a value was used.
# - Every gradient of the network, equal to autograd's to the last digits.
# - A slip in a sign that no test with the usual loss can find, and the kind of test that does.
# - The two shortcuts, derived; and the price of mixing two conventions for the variance.
# - A check that needs no autograd, and why float64.
#
# **Next**: notebook 4 gives the network a longer memory without crushing it into one layer.

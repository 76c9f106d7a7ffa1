# %% [markdown]
# # 2 · A network that starts well: embeddings, initialisation, batch normalisation
#
# A table of counts does not know that two contexts are alike. A network can, if it trains; and whether it trains is often decided before the first step. Why does a network fail to start, and how do you see it?
#
# **Afterwards you can** build a neural language model from an embedding and two layers, say what its first loss must be, find dead and saturated units, derive the scale of its weights, normalise a batch by hand, read the five diagnostic pictures, and reach a well-known lecture's loss in a fraction of its time.
#
# **Before**: notebook 1.
#
# **Runs in** {runs_in}.
#
# **Source**: the model is that of Bengio et al. (2003); the starting point and the pictures follow Karpathy's makemore lectures (2022), parts 2 and 3; scales follow He et al. (2015), batch normalisation Ioffe and Szegedy (2015).

# %% tags=["setup", "machine"]
import math

import matplotlib.pyplot as plt
import numpy as np
import torch
from torch.nn import functional as F
from torch.testing import assert_close

from coursekit import data
from coursekit.windows.tokens import word_windows
from coursekit.notebook import claim, figure, setup, show
from coursekit.tokens.vocabulary import Vocabulary

device = setup("02_mlp_batchnorm", seed=42)
names = data.names()

# %% [markdown]
# ## 2.1 Tokens as vectors
#
# In notebook 1 the context *ema* was a row of a table and *ima* another row, with nothing in common. Yet after both of them much the same letters come. The idea of Bengio et al. (2003): give each token a **vector** of a few numbers, an **embedding**, and compute the prediction from the vectors. If *e* and *i* have similar vectors, then what is learnt about *ema* is learnt about *ima*, too, and about every other context that is a neighbour of it.
#
# The vectors are rows of a table $C$, one row a token, and they are trained like everything else. Looking up a row is the same as multiplying with a one-hot vector:

# %%
C = torch.randn(27, 10, dtype=torch.float64, requires_grad=True)
contexts = torch.tensor([[0, 0, 5], [0, 5, 13]])  # . . e and . e m
looked_up = C[contexts]  # two contexts, three letters, ten numbers
one_hot = F.one_hot(contexts, 27).double() @ C
claim(embedding_lookup=(looked_up - one_hot).abs().max())
looked_up.shape

# %% [markdown]
# Which rows learn from a batch? Only those that were looked up: a letter that isn't in the batch has no slope. (`backward()` computes the slopes of a result at every tensor marked `requires_grad`, and puts them into its `.grad`.)

# %%
looked_up.square().sum().backward()  # any function of them will do
learns = (C.grad != 0).any(1)
claim(rows_that_learn=learns.sum())
[i for i, row in enumerate(learns) if row]

# %% [markdown]
# How large does such a model get? In the paper, $V$ = 17,000 words have $m$ = 30, 60 or 100 numbers each:

# %%
for m in (30, 60, 100):
    print(f"m = {m:3}: {17_000 * m:>9,} numbers for 17,000 words, {27 * m:>5,} for 27 letters")

# %% [markdown]
# ## 2.2 The model
#
# Read the last $T$ letters, look up a vector for each, join them to one long vector, mix it in a **hidden layer** with weights $W_1$ and biases $b_1$, squeeze each number with tanh, and compute 27 logits from the result:
#
# $$h = \tanh(\text{joined}\; W_1 + b_1) \qquad \text{logits} = h\,W_2 + b_2 \qquad p = \text{softmax}(\text{logits})$$
#
# As a picture, with a context of three:

# %% tags=["figure", "nbval-ignore-output"]
from coursekit.notebook.plot import draw_boxes

boxes = {f"letter {t + 1}\n(an id)": (0, t) for t in range(3)}
boxes |= {f"C[{t + 1}]\n10 numbers": (1, t) for t in range(3)}
boxes |= {"joined\n30 numbers": (2, 1), "hidden layer\n200 × tanh": (3, 1)}
boxes |= {"27 logits": (4, 1), "softmax:\nnext letter": (5, 1)}
order = list(boxes)
arrows = [(order[t], order[t + 3]) for t in range(3)]
arrows += [(order[t + 3], order[6]) for t in range(3)]
arrows += [(order[k], order[k + 1]) for k in range(6, 9)]
draw_boxes(boxes, arrows)
plt.title("All three look-ups use the same table C")
figure("model", alt="Three letters, each looked up in one table, joined, a hidden layer, softmax.")

# %% [markdown]
# In bare PyTorch, on a batch of two contexts, with the sizes of the lecture (10 numbers a letter, 200 hidden units):

# %%
generator = torch.Generator().manual_seed(42)
C = torch.randn(27, 10, generator=generator)
W1, b1 = torch.randn(30, 200, generator=generator), torch.randn(200, generator=generator)
W2, b2 = torch.randn(200, 27, generator=generator), torch.randn(27, generator=generator)

joined = C[contexts].view(2, 30)
h = (joined @ W1 + b1).tanh()
logits = h @ W2 + b2
assert_close(logits.softmax(-1).sum(-1), torch.ones(2))

# %% [markdown]
# The library has the four parts as modules, written out, and the model that joins them. (`nn.Parameter` marks what is trained; `nn.Sequential` passes its input through one part after the other. `normalised` and `gain` are what the following sections are about.)

# %% tags=["shown"]
from coursekit.layers.basic import Embedding, Linear
from coursekit.models.mlp import MLP, MLPConfig

show(Embedding, Linear, MLP)

# %% [markdown]
# With our weights put into it, does the library's model say the same? (It stores a matrix as PyTorch does, outputs first, hence the `.T`.)

# %%
model = MLP(MLPConfig(vocab_size=27, context=3, d_embedding=10, d_hidden=200))
ours = {"embedding.weight": C, "hidden.0.weight": W1.T, "hidden.0.bias": b1}
ours |= {"output.weight": W2.T, "output.bias": b2}
model.load_state_dict(ours)
assert_close(model(contexts), logits, rtol=1e-4, atol=1e-4)


# %%
def count_parameters(model):
    return sum(p.numel() for p in model.parameters())


claim(mlp_parameters=count_parameters(model))

# %% [markdown]
# **Predict**: a table for one letter of context more is 27 times larger. What does a longer context cost here? (`lstsq` finds the plane that fits the twelve counts best.)

# %%
sizes = [(V, T) for V in (27, 100, 1000) for T in (1, 2, 4, 8)]
made = [MLP(MLPConfig(vocab_size=V, context=T, d_embedding=5, d_hidden=7)) for V, T in sizes]
counts = torch.tensor([count_parameters(m) for m in made], dtype=torch.float64)
V, T = torch.tensor(sizes, dtype=torch.float64).T
design = torch.stack([torch.ones(12), V, T], dim=1).double()
fit_line = torch.linalg.lstsq(design, counts[:, None]).solution[:, 0]
claim(parameters_linear=(design @ fit_line - counts).abs().max())
print("parameters = {:.0f} + {:.0f} V + {:.0f} T".format(*fit_line))
print(f"table for V = 1000, T = 8: {1000**9:.0e}; the network: {counts[-1]:,.0f}")

# %% [markdown]
# The number of parameters is a plane: linear in the vocabulary and linear in the context. That is the way out of the curse that ended notebook 1.
#
# Now the data: all windows of three letters and the one that follows, in the same three parts as in notebook 1 (and in the lecture).

# %% tags=["data"]
vocabulary = Vocabulary(".abcdefghijklmnopqrstuvwxyz")
parts = data.split_words(names)
train, dev, test = (word_windows(part, vocabulary, length=4) for part in parts)
print("windows:", len(train), len(dev), len(test))
claim(training_windows=len(train))  # fmt: skip

# %% [markdown]
# ## 2.3 The first guess
#
# **Predict**: before any training, the network knows nothing. What should its loss be, in nats? And what is it, with weights drawn from a standard normal distribution, N(0, 1)?


# %% tags=["data", "nbval-ignore-output"]
def first_loss(output_scale, seed=42):
    g = torch.Generator().manual_seed(seed)
    C, W1 = torch.randn(27, 10, generator=g), torch.randn(30, 200, generator=g)
    W2 = torch.randn(200, 27, generator=g) * output_scale
    h = (C[train[:, :3]].view(-1, 30) @ W1).tanh()
    return F.cross_entropy(h @ W2, train[:, 3]).item()


naive, scaled = first_loss(1.0), first_loss(0.01)
claim(naive_first_loss=naive)
claim(scaled_first_loss=scaled)

# %% [markdown]
# A model that knows nothing should say so: 27 equal shares, a loss of $\ln 27 = 3.30$. N(0, 1) weights give a loss many times that. The 200 hidden numbers add up to logits of size $\sqrt{200} \approx 14$, so the softmax is nearly certain, and nearly always wrong. Training then begins with shrinking $W_2$: easy progress that teaches nothing. With $W_2$ a hundred times smaller, training starts where it should.
#
# Why not $W_2 = 0$, exactly? You will read that the network can't learn then, because *the tanh layer becomes the output and the gradient vanishes*. Let us look.

# %% tags=["data"]
torch.manual_seed(42)
zero = MLP(MLPConfig(vocab_size=27), output_gain=0.0).double()
at_zero = {}
for step in (1, 2):
    loss = F.cross_entropy(zero(train[:2000, :3]), train[:2000, 3])
    zero.zero_grad()
    loss.backward()
    at_zero[step] = [zero.hidden[0].weight.grad.norm(), zero.output.weight.grad.norm()]
    print(f"step {step}: loss {loss:.6f}, gradient of W1 {at_zero[step][0]:.4f}", end=", ")
    print(f"of W2 {at_zero[step][1]:.4f}")
    torch.optim.SGD(zero.parameters(), lr=0.1).step()

# %% tags=["data", "nbval-ignore-output"]
claim(zero_start_hidden_1=at_zero[1][0])
claim(zero_start_output_1=at_zero[1][1])
claim(zero_start_hidden_2=at_zero[2][0])

# %% [markdown]
# The logits are all 0, so the loss is exactly $\ln 27$, the best first guess there is. $W_2$ has a slope from the start, because $h$ is not 0. Only what lies *before* $W_2$ has none, and only in the first step. So $W_2 = 0$ costs one step. (What must not be is *two* layers of zeros in a row: then neither has a slope, ever.) A small $W_2$ is the usual choice because it has no such special case. Saturation, the next section, is another problem altogether.

# %% [markdown] tags=["exercise"]
# > **Exercise 1.** Write `first_loss_of(logits, targets)`: the mean loss in nats of a batch, from the logits (B rows of V) and the B right tokens, without PyTorch's loss functions. It must not overflow for logits of 1000. Check: `check_first_loss`.
# >
# > <details><summary>Hint 1</summary>−log p(target) = log Σ exp(logits) − logit of the target.</details>
# > <details><summary>Hint 2</summary>Subtract the row's largest logit from all of them first: the softmax does not change.</details>


# %% tags=["stub"]
def first_loss_of(logits, targets): ...


# %% tags=["check"]
from coursekit.exercises import mlp as exercises

exercises.check_first_loss(first_loss_of)


# %% tags=["solution"]
def first_loss_of(logits, targets):
    shifted = logits - logits.max(1, keepdim=True).values
    log_sum = shifted.exp().sum(1).log()
    return (log_sum - shifted[range(len(targets)), targets]).mean()


# %% [markdown]
# ## 2.4 Saturated and dead units
#
# The slope of tanh is $1 - \tanh^2$. Whatever gradient arrives at a unit is multiplied with it on the way back. A unit whose output is near ±1, we say beyond 0.97, passes less than 6 % of it: it is **saturated**. A unit that is saturated for *every* example is **dead**: its weights get hardly any gradient and hardly change.
#
# **Predict**: with N(0, 1) weights, what share of the hidden outputs is saturated?

# %% tags=["shown"]
from coursekit.inside.diagnose import find_dead, find_saturated

show(find_saturated, find_dead)


# %% tags=["data", "nbval-ignore-output"]
def hidden_outputs(scale, seed=42):
    g = torch.Generator().manual_seed(seed)
    C, W1 = torch.randn(27, 10, generator=g), torch.randn(30, 200, generator=g)
    return (C[train[:1000, :3]].view(-1, 30) @ (W1 * scale)).tanh()


wild, calm = hidden_outputs(1.0), hidden_outputs((5 / 3) / 30**0.5)
claim(saturated_naive=find_saturated(wild).double().mean())
claim(saturated_scaled=find_saturated(calm).double().mean())
print("dead units:", int(find_dead(wild).sum()), "and", int(find_dead(calm).sum()), "of 200")

# %% tags=["figure", "nbval-ignore-output"]
panels = plt.subplots(2, 1, figsize=(9, 5), sharex=True)[1]
titles = {"N(0, 1) weights": wild, "divided by √30, times 5/3": calm}
for ax, (title, h) in zip(panels, titles.items(), strict=True):
    ax.imshow(find_saturated(h[:40]), cmap="gray_r", aspect="auto", interpolation="nearest")
    ax.set(title=title, ylabel="example")
    ax.grid(visible=False)
plt.xlabel("hidden unit (black: saturated for this example)")
figure(
    "saturated",
    alt="Two maps of units by examples: the upper mostly black, the lower about a quarter.",
)

# %% [markdown]
# A column that is black from top to bottom would be a dead unit. In the upper map most gradient is lost, and the weights of a black spot learn hardly anything from that example. Dividing the weights by the square root of the number of inputs, $\sqrt{30}$, and multiplying by a **gain** of 5/3, leaves about a quarter. Where these two numbers come from is the next section.
#
# Other activations have the same problem in other places:

# %% tags=["figure", "nbval-ignore-output"]
x = torch.linspace(-6, 6, 2401, dtype=torch.float64, requires_grad=True)
slopes = {}
for name, squeeze in {"tanh": torch.tanh, "sigmoid": torch.sigmoid, "ReLU": torch.relu}.items():
    (slopes[name],) = torch.autograd.grad(squeeze(x).sum(), x)
for (name, slope), style in zip(slopes.items(), ("-", "--", ":"), strict=True):
    plt.plot(x.detach(), slope, style, label=name)
plt.gca().set(xlabel="input of the unit", ylabel="share of the gradient that passes")
plt.legend()
figure("slopes", alt="Slopes: tanh peaks at 1, the sigmoid at a quarter, ReLU is 0 then 1.")

# %%
claim(sigmoid_slope=slopes["sigmoid"].max())
inputs = torch.randn(100, 7, dtype=torch.float64)
weights = torch.full((7,), 0.1, dtype=torch.float64, requires_grad=True)
output = torch.relu(inputs @ weights - 50)  # so negative a bias that no example gets through
(slope,) = torch.autograd.grad(output.sum(), weights)
claim(dead_relu_slope=slope.abs().max())

# %% [markdown]
# A sigmoid passes at most a quarter, so ten of them in a row pass at most a millionth. A ReLU passes everything or nothing; one that is negative for all examples has a slope of exactly 0. It can be dead at the start, or be killed by one step that is too long, and then its own weights get no slope at all: only a change of its inputs could bring it back.

# %% [markdown] tags=["exercise"]
# > **Exercise 2.** Write `passed_back(h)`: from the outputs of a tanh layer (B examples, C units), the mean share of the gradient that each *unit* passes: C numbers. Check: `check_passed_back`.
# >
# > <details><summary>Hint 1</summary>The slope of tanh can be written with its output alone.</details>
# > <details><summary>Hint 2</summary>A mean over examples is a mean over which axis?</details>


# %% tags=["stub"]
def passed_back(h): ...


# %% tags=["check"]
exercises.check_passed_back(passed_back)


# %% tags=["solution"]
def passed_back(h):
    return (1 - h**2).mean(0)


# %% [markdown]
# ## 2.5 How large should weights be? The gain
#
# Let the $n$ inputs of a unit have mean 0 and variance $v$ each, and let the weights be independent draws with mean 0 and variance $g^2/n$. Then each of the $n$ products has variance $v g^2/n$, and their sum has variance $g^2 v$, whatever $n$ is. That is why we divide by $\sqrt{n}$. With gain $g = 1$, variances stay as they are, if there are only linear layers.
#
# But tanh squeezes. How much variance is left, if a standard normal number goes in?
#
# $$E[\tanh^2 x] = \int \tanh^2(x)\,\frac{e^{-x^2/2}}{\sqrt{2\pi}}\,dx$$
#
# The integral has no closed form; Gauss–Hermite quadrature, a weighted sum over a hundred well-chosen points, gives it to many digits.

# %%
points, weights = np.polynomial.hermite_e.hermegauss(100)
weights = weights / weights.sum()  # so that they are probabilities


def variance_after(v, gain):
    """Variance of tanh(gain · x), where x is normal with variance v."""
    return float(weights @ np.tanh(gain * v**0.5 * points) ** 2)


squeezed = variance_after(1, 1)
print(f"E[tanh²] = {squeezed:.4f}, its root {squeezed**0.5:.4f}, one over it {squeezed**-0.5:.4f}")
claim(tanh_variance=squeezed)
claim(tanh_gain=squeezed**-0.5)

# %% [markdown]
# The usual gain for tanh is 5/3. (PyTorch has it in a table, `nn.init.calculate_gain("tanh")`.) You will meet this argument for it: *tanh leaves 0.63 ≈ 3/5 of the standard deviation, so a gain of 5/3 keeps the variance of the outputs at 1.* Two things are wrong with it. One over 0.6279 is 1.5925, not 5/3. And outputs of tanh lie within ±1, so their variance can't be 1 at all, with any gain.
#
# What does a gain do, then? Send a variance through 50 layers.
#
# **Predict** the variance after 50 layers for the gains 1, 1.5925 and 5/3.

# %%
gains = {"1": 1.0, "1.5925": squeezed**-0.5, "5/3": 5 / 3}
paths = {}
for name, gain in gains.items():
    v, paths[name] = 1.0, []
    for _ in range(50):
        v = variance_after(v, gain)
        paths[name].append(v)
    start = ", ".join(f"{v:.3f}" for v in paths[name][:4])
    print(f"gain {name}: {start} … {paths[name][-1]:.3f}")

# %%
claim(variance_gain_1=paths["1"][-1])
claim(variance_gain_5_3=paths["5/3"][-1])
claim(variance_matched_gain=paths["1.5925"][-1])
highest = max(variance_after(1, gain) for gain in (1, 5 / 3, 10))
claim(variance_never_1=highest)

# %% [markdown]
# - With gain 1 the signal dies, layer by layer; not exponentially, but it never stops.
# - With gain 1.5925 the outputs settle at 0.3943, and the *inputs* of tanh at a variance of exactly 1, for $1.5925^2 \cdot 0.3943 = 1$.
# - With gain 5/3, a little more, the outputs settle at 0.424. Any gain above 1 has such a fixed point. That is what a gain is for: not variance 1, but a variance that *stays*.
#
# The calculation assumed normal, uncorrelated inputs. Does a real network of 50 layers, each with 500 units, follow it?


# %% tags=["data", "nbval-ignore-output"]
def real_variances(gain, layers=50, width=500, seed=42):
    g = torch.Generator().manual_seed(seed)
    h, measured = torch.randn(200, width, generator=g), []
    for _ in range(layers):
        W = torch.randn(width, width, generator=g) * gain / width**0.5
        h = (h @ W).tanh()
        measured.append(h.var().item())
    return measured


real = {name: real_variances(gain) for name, gain in gains.items()}
error = max(abs(real[n][k] - paths[n][k]) for n in gains for k in range(50))
claim(variance_real_network=error)

# %% tags=["figure", "nbval-ignore-output"]
for color, name in enumerate(gains):
    plt.plot(range(1, 51), paths[name], color=f"C{color}", label=f"gain {name}")
    plt.plot(range(1, 51, 3), real[name][::3], "o", color=f"C{color}", markersize=5)
plt.axhline(1, color="grey", linestyle=":")
plt.text(50, 0.97, "variance 1: out of reach for tanh", ha="right", va="top")
plt.gca().set(xlabel="layer", ylabel="variance of the outputs", ylim=(0, 1.05))
plt.legend(title="lines: computed; dots: measured", loc=(0.6, 0.5))
figure("gain", alt="Variance over 50 layers: gain 1 falls to zero, the others settle near 0.4.")

# %% [markdown]
# It does. So far only the forward pass: that a variance *stays* says nothing about gradients. We look at them in section 2.8, with hooks into a real network.

# %% [markdown]
# ## 2.6 Batch normalisation, by hand
#
# Scaling weights by theory gets harder the more kinds of layers a network has. **Batch normalisation** (Ioffe and Szegedy 2015) does not predict the variance, it enforces it: if the inputs of tanh should have mean 0 and variance 1, then compute mean and variance over the batch, subtract the one, divide by the root of the other. It is all differentiable.
#
# $$\hat x = \frac{x - \mu}{\sqrt{\sigma^2 + \epsilon}} \qquad y = \gamma\,\hat x + \beta \qquad \mu = \frac1n\sum_i x_i \qquad \sigma^2 = \frac1n\sum_i (x_i - \mu)^2$$
#
# Each unit has its own $\mu$ and $\sigma$, over the $n$ examples of the batch; $\gamma$ and $\beta$ are trained and let the network undo the normalisation where it hurts; $\epsilon = 10^{-5}$ avoids a division by 0.

# %%
generator = torch.Generator().manual_seed(42)
x = 3 + 5 * torch.randn(8, 4, dtype=torch.float64, generator=generator)
mean = x.mean(0)
variance = (x - mean).square().mean(0)  # 1/n, the biased one
normalised = (x - mean) / (variance + 1e-5).sqrt()
claim(bn_mean=normalised.mean(0).abs().max())
claim(bn_variance=normalised.var(0, correction=0).mean())

# %% [markdown]
# And at the end, when the model is used? A single example has no variance, and nobody wants a prediction that depends on which other examples happen to be in the batch. So in training, the layer also keeps **running statistics**, an exponential moving average with momentum $\tau = 0.1$, outside of the gradient:
#
# $$\mu_\text{run} \leftarrow (1-\tau)\,\mu_\text{run} + \tau\,\mu \qquad \sigma^2_\text{run} \leftarrow (1-\tau)\,\sigma^2_\text{run} + \tau\,\frac{n}{n-1}\sigma^2$$
#
# In evaluation mode (`model.eval()`) these are used in place of the batch's. Mind the factor. You will meet the formula with $\sigma^2$ itself, but PyTorch normalises with the biased variance, $1/n$, and remembers the **unbiased** one, $1/(n-1)$, because the batch is a sample from all the data. The library does the same:

# %% tags=["shown"]
from coursekit.layers.basic import BatchNorm1d

show(BatchNorm1d)

# %%
ours, theirs = BatchNorm1d(4).double(), torch.nn.BatchNorm1d(4).double()
for _ in range(3):
    assert_close(ours(x), theirs(x), rtol=0, atol=1e-12)
assert_close(ours(x), normalised, rtol=0, atol=1e-12)
assert_close(ours.running_var, theirs.running_var * 0.9 + x.var(0, correction=1) * 0.1)

# %%
fresh = BatchNorm1d(4).double()
fresh(x)  # from 1 to 0.9 · 1 + 0.1 · what it remembers of this batch
ratio = (fresh.running_var - 0.9) / 0.1 / variance
claim(bn_remembered_variance=ratio.mean())

# %% [markdown]
# Is the affine part able to give back what was taken away? With $\gamma = \sqrt{\sigma^2 + \epsilon}$ and $\beta = \mu$ it is:

# %%
ours.weight.data, ours.bias.data = (variance + 1e-5).sqrt(), mean
claim(bn_identity=(ours(x) - x).abs().max())

# %% [markdown]
# **Predict**: the linear layer before the normalisation adds a bias $b$ to each unit. What is its slope?

# %%
weights = torch.randn(4, 6, dtype=torch.float64, generator=generator)
b = torch.zeros(6, dtype=torch.float64, requires_grad=True)
target = torch.randn(8, 6, dtype=torch.float64, generator=generator)
norm = BatchNorm1d(6).double()
(slope,) = torch.autograd.grad((norm(x @ weights + b) - target).square().sum(), b)
claim(bias_before_bn_slope=slope.abs().max())

# %%
moved = (norm(x @ weights + b + 5) - norm(x @ weights + b)).abs().max()
claim(bias_before_bn_effect=moved)

# %% [markdown]
# Zero: the mean takes away whatever the bias adds. Such a bias is harmless and useless, so `MLP` leaves it out.
#
# By the same argument the *scale* of the weights before a batch norm has no effect on the output (up to $\epsilon$): twice the weights, twice the deviation, the same ratio. So the gain of section 2.5 hardly matters any more. It matters for the size of the *updates*: twice the weights have half the gradient, so with plain SGD a step moves them a quarter as far, relative to their size.

# %% [markdown] tags=["exercise"]
# > **Exercise 3.** Write `normalise_batch(x, eps)`: x has n rows (examples) and C columns (units); return it with mean 0 and variance 1 in each column, as batch norm computes it in training, without gain and shift. Check: `check_normalise_batch`.
# >
# > <details><summary>Hint 1</summary>Which of 1/n and 1/(n−1) is used to normalise?</details>
# > <details><summary>Hint 2</summary>The ε is added to the variance, before the root.</details>


# %% tags=["stub"]
def normalise_batch(x, eps): ...


# %% tags=["check"]
exercises.check_normalise_batch(normalise_batch)


# %% tags=["solution"]
def normalise_batch(x, eps):
    centred = x - x.mean(0)
    return centred / (centred.square().mean(0) + eps).sqrt()


# %% [markdown] tags=["exercise"]
# > **Exercise 4.** Write `remember(running, x, momentum)`: the running *variance* after a batch x of n rows and C columns. Check: `check_remember`.
# >
# > <details><summary>Hint 1</summary>The old value keeps the share 1 − momentum.</details>
# > <details><summary>Hint 2</summary>What is remembered is the unbiased variance, <code>x.var(0)</code> in PyTorch.</details>


# %% tags=["stub"]
def remember(running, x, momentum): ...


# %% tags=["check"]
exercises.check_remember(remember)


# %% tags=["solution"]
def remember(running, x, momentum):
    return (1 - momentum) * running + momentum * x.var(0, correction=1)


# %% [markdown]
# ## 2.7 Training, and how long a step may be
#
# The gradient of the loss on *all* windows would be exact and slow. **Stochastic gradient descent** takes a **batch**, a few windows drawn at random, and makes a step against its gradient; the next step takes other windows. The loop is the same for every model of this course:

# %% tags=["shown"]
from coursekit.training.fit import fit

show(fit)

# %% [markdown]
# (An **optimiser** holds the parameters and makes the step; `zero_grad` forgets the old slopes, `backward` computes the new ones.)
#
# How long may a step be? Try: let the learning rate grow from 0.001 to 10 over a thousand steps, and watch the loss.

# %% tags=["data"]
from coursekit.windows.tokens import draw_batches


def start(normalised=False, seed=42, **options):
    torch.manual_seed(seed)
    return MLP(MLPConfig(vocab_size=27, normalised=normalised), **options).to(device)


model = start()
search = fit(
    model,
    torch.optim.SGD(model.parameters(), lr=1.0),
    draw_batches(train, 32, torch.Generator().manual_seed(42)),
    steps=1000,
    schedule=lambda step: 10 ** (-3 + 4 * step / 1000),
)

# %% tags=["figure", "nbval-ignore-output"]
smoothed = np.convolve(search.losses, np.ones(30) / 30, mode="valid")
plt.semilogx(search.learning_rates, search.losses, color="0.8", linewidth=1, label="each batch")
plt.semilogx(search.learning_rates[15 : 15 + len(smoothed)], smoothed, label="mean of 30 batches")
plt.gca().set(xlabel="learning rate", ylabel="loss (nats a letter)", ylim=(2, 5))
plt.legend()
figure("rate", alt="Loss against learning rate: falls until about 0.3, then rises and jumps.")

# %% tags=["data", "nbval-ignore-output"]
lowest = search.learning_rates[15 + int(smoothed.argmin())]
print(f"the smoothed loss is lowest at a rate of {lowest:.2f}")
claim(best_rate=lowest)

# %% [markdown]
# Far below 0.1 the loss creeps; above 1 the steps overshoot and it shoots up. In between lies a broad valley, and 0.1 is a good and careful choice. (The curve mixes two things, since the loss falls also because time passes. It finds the decade, not the best value.)

# %% [markdown]
# ## 2.8 Five pictures of a network
#
# A deeper network: six hidden layers of 100 units. Three starts, which differ in the gain of their weights only: too small, right, too large. `take_snapshot` passes one batch forward and backward and keeps what went through the layers; it uses PyTorch's **hooks**, functions that a module calls when it has computed something. So it works on any model without a change to it.

# %% tags=["shown"]
from coursekit.inside.diagnose import take_snapshot

show(take_snapshot)


# %% tags=["data"]
def deep(gain, normalised=False, n_hidden=6):
    torch.manual_seed(42)
    config = MLPConfig(vocab_size=27, d_hidden=100, n_hidden=n_hidden, normalised=normalised)
    return MLP(config, gain=gain).to(device)


def look(model):
    return take_snapshot(model, train[:1000, :3], train[:1000, 3], watch=torch.nn.Tanh)


starts = {"gain 0.6": 0.6, "gain 5/3": 5 / 3, "gain 5": 5.0}
snapshots = {name: look(deep(gain)) for name, gain in starts.items()}
print({name: round(snapshot.loss, 3) for name, snapshot in snapshots.items()})

# %% [markdown]
# All three start with the right loss, $\ln 27$, so the loss says nothing here. **Predict** for each start: how are the outputs of the six tanh layers distributed? And the gradients that arrive at them?

# %% tags=["figure", "nbval-ignore-output"]
from coursekit.notebook.plot import layer_histograms


def share_saturated(h):
    return f"σ {h.std():.2f}, {find_saturated(h).double().mean():.0%} sat."


panels = plt.subplots(1, 3, figsize=(9, 4.4), sharey=True)[1]
for ax, (name, snapshot) in zip(panels, snapshots.items(), strict=True):
    options = {"xlabel": "output of tanh", "note": share_saturated, "yscale": "log"}
    layer_histograms(snapshot.outputs, ax=ax, **options)
    ax.set_title(name)
figure("activations", alt="Outputs by layer: shrinking to zero, steady and broad, piled up at ±1.")


# %% tags=["figure", "nbval-ignore-output"]
def sizes_of(gradients):
    return {name: g[g != 0].abs().log10() for name, g in gradients.items()}


def typical(size):
    return f"median 10^{size.median():.1f}"


panels = plt.subplots(1, 3, figsize=(9, 4.4), sharey=True)[1]
for ax, (name, snapshot) in zip(panels, snapshots.items(), strict=True):
    options = {"xlabel": "log₁₀ |gradient at the output|", "note": typical}
    layer_histograms(sizes_of(snapshot.gradients), ax=ax, **options)
    ax.set_title(name)
figure(
    "gradients",
    alt="Sizes of gradients by layer: at gain 0.6 shrinking towards layer 1, at 5 growing.",
)

# %% [markdown]
# The layers run from light to dark. At gain 0.6 the signal keeps little more than half of its size in each layer on its way forward, and so does the gradient on its way back, so the first layer's (light) lies left of the last one's (dark). At gain 5 two thirds of the outputs are saturated; the gradients that still pass are multiplied by large weights and *grow* on the way back. At 5/3 both stay roughly the same from layer to layer, which is all one asks of a start. How many times larger is the gradient at the first layer than at the last?


# %% tags=["data", "nbval-ignore-output"]
def first_to_last(snapshot):
    spreads = [gradient.std() for gradient in snapshot.gradients.values()]
    return (spreads[0] / spreads[-1]).item()


ratios = [first_to_last(snapshot) for snapshot in snapshots.values()]
print("gradient at layer 1 : at layer 6 =", [f"{ratio:.2f}" for ratio in ratios])
claim(gradient_ratio_small_gain=ratios[0])
claim(gradient_ratio_right_gain=ratios[1])
claim(gradient_ratio_large_gain=ratios[2])

# %% [markdown]
# The third picture shows the gradients of the *weights*, which is what the optimiser sees. Their size alone means little; what matters is the size compared with the weights that they change:

# %% tags=["figure", "nbval-ignore-output"]
from coursekit.inside.diagnose import log_ratio


def grad_to_data(snapshot, name):
    return log_ratio(snapshot.weight_gradients[name], snapshot.weights[name])


for (name, snapshot), mark in zip(snapshots.items(), "os^", strict=True):
    heights = [grad_to_data(snapshot, weights) for weights in snapshot.weights]
    plt.plot(range(len(heights)), heights, mark + "-", label=name)
labels = ["C", *(f"layer {k}" for k in range(1, 7)), "output"]
plt.xticks(range(8), labels)
plt.gca().set(xlabel="weights of", ylabel="log₁₀ (gradient : weights)")
plt.legend()
figure(
    "grad-to-data", alt="Gradient to weights by layer: the output layer stands far above the rest."
)

# %% [markdown]
# The **update-to-data ratio** goes one step further: how far do the weights move in a step, relative to their size? A rule of thumb says a thousandth, $10^{-3}$: much less is too slow, much more too rash. You will meet this rule as *the gradient-to-data ratio should be $10^{-3}$*. That can't be, for the gradient does not know the learning rate. With plain SGD an update is rate × gradient, so at rate 0.1 the two differ by one decade exactly.

# %% tags=["shown"]
from coursekit.inside.diagnose import UpdateLog

show(UpdateLog)


# %% tags=["data", "nbval-ignore-output"]
def train_briefly(model, rate=0.1, steps=1000):
    log = UpdateLog(model)
    optimiser = torch.optim.SGD(model.parameters(), lr=rate)
    batches = draw_batches(train, 32, torch.Generator().manual_seed(42))
    return fit(model, optimiser, batches, steps=steps, after_step=log), log


model = deep(5 / 3)
batch = next(draw_batches(train, 32, torch.Generator().manual_seed(42)))
before = take_snapshot(model, *batch, watch=torch.nn.Tanh)
_, log = train_briefly(model, steps=1)
gaps = [grad_to_data(before, name) - log.ratios[name][0] for name in log.ratios]
claim(gradient_minus_update=sum(gaps) / 8)
assert max(gaps) - min(gaps) < 0.01

# %% tags=["data", "nbval-ignore-output"]
runs = {f"rate {rate:g}": train_briefly(deep(5 / 3), rate) for rate in (0.001, 0.1, 0.5)}

# %% tags=["data", "nbval-ignore-output"]
settled = {}
for name, (history, log) in runs.items():
    hidden = [np.mean(log.ratios[f"hidden.{k}.weight"][-300:]) for k in (0, 2, 4, 6, 8, 10)]
    settled[name] = np.mean(hidden)
    last = np.mean(history.losses[-200:])
    print(f"{name}: update:data 10^{settled[name]:.1f}, loss {last:.3f}")

# %% tags=["figure", "nbval-ignore-output"]
from coursekit.notebook.plot import ratio_curves

panels = plt.subplots(1, 3, figsize=(9, 3.6), sharey=True)[1]
for ax, (name, (_, log)) in zip(panels, runs.items(), strict=True):
    ratio_curves(log.ratios, labels, ax=ax)
    ax.set_title(name)
panels[0].set_ylabel("log₁₀ (update : weights)")
panels[2].legend(fontsize=8, ncols=2, loc="lower center")
figure("updates", alt="Update to data over steps: far below the line at -3, above it, far above.")

# %% tags=["data", "nbval-ignore-output"]
claim(updates_slow=settled["rate 0.001"])
claim(updates_usual=settled["rate 0.1"])
claim(updates_rash=settled["rate 0.5"])

# %% [markdown]
# The dotted line is the rule. At rate 0.001 the weights creep; at rate 0.5 they are tossed about, and the loss is worse. At 0.1 the hidden layers lie above the line: for early training of so small a network that is still fine. A rule of thumb is a place to begin to look.
#
# The fifth picture is the loss itself. It jumps from batch to batch. How much of that is the batch? Hold the weights fixed and draw batches of different sizes:

# %% tags=["data", "nbval-ignore-output"]
from coursekit.inside.diagnose import measure_batch_noise

batch_sizes = [2, 8, 32, 128, 512]
trained = deep(5 / 3)
history, _ = train_briefly(trained)
noise = measure_batch_noise(trained, train, batch_sizes, torch.Generator().manual_seed(42))
slope = np.polyfit(np.log(batch_sizes), np.log(noise), 1)[0]
claim(noise_slope=slope)
print(f"standard deviation of the loss of 32 windows: {noise[2]:.2f} nats")
claim(noise_of_32=noise[2])

# %% tags=["figure", "nbval-ignore-output"]
left, right = plt.subplots(1, 2, figsize=(9, 3.6))[1]
for name, gain in starts.items():
    curve = train_briefly(deep(gain))[0].losses
    left.plot(np.convolve(curve, np.ones(50) / 50, mode="valid"), label=name)
left.plot(history.losses, color="0.85", linewidth=0.8, zorder=0, label="gain 5/3, each batch")
left.set(xlabel="step", ylabel="loss (nats), mean of 50 batches", ylim=(2.1, 3.4))
left.legend(fontsize=9)
right.loglog(batch_sizes, noise, "o-")
right.set(xlabel="windows in a batch", ylabel="std of the batch's loss (nats)")
figure("loss", alt="Left: loss of three starts, 5/3 lowest. Right: noise falls as a straight line.")

# %% [markdown]
# The spread falls with the square root: four times the batch, half the noise. With 32 windows the loss of a batch is uncertain by a fifth of a nat, more than twice what the whole ladder of section 2.10 will gain. So never compare two models by the loss of their last batch; take the whole development set.
#
# And batch normalisation? **Predict** what the snapshots look like, with all three gains, if it stands before each tanh.

# %% tags=["data", "nbval-ignore-output"]
normed = {name: look(deep(gain, normalised=True)) for name, gain in starts.items()}
for name, snapshot in normed.items():
    spreads = [f"{h.std():.3f}" for h in snapshot.outputs.values()]
    print(f"{name}: outputs {' '.join(spreads)}; gradients 1 : 6 = {first_to_last(snapshot):.3f}")

# %% tags=["data", "nbval-ignore-output"]
small, _, large = normed.values()
gaps = [(small.outputs[name] - large.outputs[name]).abs().max() for name in small.outputs]
claim(bn_gain_does_not_matter=max(gaps))

# %% [markdown]
# The same numbers three times. The outputs don't depend on the gain any more. That is the use of batch normalisation at the start: it forgives a wrong scale, in every layer.
#
# It has a price. The outputs for one example now depend on the others in the batch, and running statistics are one more thing that can be wrong at the end. Are they close to those of all the training data?

# %% tags=["data", "nbval-ignore-output"]
torch.manual_seed(42)
normed_model = MLP(MLPConfig(vocab_size=27, normalised=True))
train_briefly(normed_model.to(device))
normed_model.cpu()
layer, norm = normed_model.hidden[0], normed_model.hidden[1]
with torch.no_grad():
    inputs = layer(normed_model.join(normed_model.embedding(train[:, :3])).squeeze(1))
error = (norm.running_mean - inputs.mean(0)).abs() / inputs.std(0)
claim(running_mean_error=error.mean())
ratio = norm.running_var / inputs.var(0)
claim(running_variance_ratio=ratio.mean())

# %% tags=["data"]
normed_model.eval()
one = normed_model(train[:1, :3])
many = normed_model(train[:50, :3])[:1]
assert_close(one, many)  # in evaluation mode, an example doesn't depend on the others

# %% [markdown]
# You can play with all three: gain, depth and normalisation. First a still picture of two extremes, then, where a kernel runs, the controls.


# %% tags=["figure", "nbval-ignore-output"]
def draw_start(gain=5 / 3, depth=6, normalised=False, panels=None):
    panels = plt.subplots(1, 2, figsize=(9, 4.2))[1] if panels is None else panels
    snapshot = look(deep(gain, normalised, n_hidden=depth))
    options = {"xlabel": "output of tanh", "note": share_saturated, "yscale": "log"}
    layer_histograms(snapshot.outputs, ax=panels[0], **options)
    options = {"xlabel": "log₁₀ |gradient at the output|", "note": typical}
    layer_histograms(sizes_of(snapshot.gradients), ax=panels[1], **options)
    for ax in panels:
        ax.set_title(f"gain {gain:.2g}, {depth} layers{', normalised' * normalised}")


grid = plt.subplots(2, 2, figsize=(9, 8))[1]
draw_start(gain=3.0, depth=4, normalised=False, panels=grid[0])
draw_start(gain=3.0, depth=4, normalised=True, panels=grid[1])
figure(
    "play", alt="Gain 3 without batch norm piles outputs up at ±1; with it they are spread evenly."
)

# %% tags=["live", "nbval-ignore-output"]
from coursekit.notebook.widgets import play

play(
    draw_start,
    gain=[0.3, 0.6, 1.0, 5 / 3, 3.0, 5.0],
    depth=[2, 4, 6, 8],
    normalised=[False, True],
)

# %% [markdown] tags=["exercise"]
# > **Exercise 5.** Write `update_ratio(before, after)`: log₁₀ of the standard deviation of the change, divided by that of the weights before. Check: `check_update_ratio`.
# >
# > <details><summary>Hint 1</summary>The learning rate is not needed: the change is what was really done.</details>
# > <details><summary>Hint 2</summary>A tensor has <code>.std()</code> and <code>.log10()</code>.</details>


# %% tags=["stub"]
def update_ratio(before, after): ...


# %% tags=["check"]
exercises.check_update_ratio(update_ratio)


# %% tags=["solution"]
def update_ratio(before, after):
    return ((after - before).std() / before.std()).log10()


# %% [markdown]
# ## 2.9 Weight decay has a sign
#
# The paper maximises a *penalised* likelihood: the mean log-likelihood and a term $R(\theta)$ that holds the weights and the vectors small, but not the biases.
#
# You will meet the formula as "$\frac1T \sum_t \log p_t + R(\theta)$, with $R$ a weight-decay penalty". Take that at its word, with $R = \frac{\lambda}{2}\lVert\theta\rVert^2$, and climb. **Predict** what the weights do.


# %%
def climb(sign, steps=100, rate=0.1):
    g = torch.Generator().manual_seed(42)
    theta = torch.randn(200, generator=g, dtype=torch.float64)
    x = torch.randn(50, 200, generator=g, dtype=torch.float64)
    for _ in range(steps):
        theta.requires_grad_()
        objective = F.logsigmoid(x @ theta).mean() + sign * 0.5 * theta.square().sum()
        (slope,) = torch.autograd.grad(objective, theta)
        theta = theta.detach() + rate * slope
    return theta.norm()


up, down = climb(+1), climb(-1)
print(f"norm of the weights after 100 steps: plus {up:.2e}, minus {down:.2e}")
claim(decay_wrong_sign=up)
claim(decay_right_sign=down)

# %% [markdown]
# A penalty on something that is maximised must be subtracted: $-\frac{\lambda}{2}\lVert\theta\rVert^2$. Its slope is $-\lambda\theta$: each step multiplies the weights by a little less than 1, hence weight *decay*.
#
# The library splits the parameters by their number of axes, and leaves the optimiser to PyTorch (**AdamW**: steps that are scaled for each parameter by how large its recent gradients were; notebook 6 takes it apart).

# %% tags=["shown"]
from coursekit.training.optimiser import adamw, decay_groups, warm_up_cosine

show(decay_groups, adamw)

# %%
model = MLP(MLPConfig(vocab_size=27))
model.hidden[0].bias.data += 1
optimiser = adamw(model, lr=0.1, weight_decay=1.0)
sizes = {name: p.norm().item() for name, p in model.named_parameters()}
for _ in range(10):
    for p in model.parameters():
        p.grad = torch.zeros_like(p)  # the data have nothing to say
    optimiser.step()
kept = {name: p.norm().item() / sizes[name] for name, p in model.named_parameters() if sizes[name]}
print({name: round(share, 4) for name, share in kept.items()})

# %%
claim(decay_of_vectors=kept["embedding.weight"])
claim(decay_of_weights=kept["hidden.0.weight"])
claim(decay_of_biases=kept["hidden.0.bias"])

# %% [markdown]
# ## 2.10 A better loss in less time
#
# The lecture trains the one-layer network with 200,000 steps of SGD on batches of 32, at rate 0.1 and then 0.01. From N(0, 1) weights it reaches 2.1701 on the development names; with a scaled start and batch normalisation, 2.1057.
#
# How far do we get in the time of an *eighth* of those steps? The first rung of the ladder below makes about so many. The others take about as long, or less, so the numbers of steps differ. Each rung builds on the one before, with a learning rate that suits it.
#
# 1. **SGD, batches of 32**, the lecture's recipe, cut short: the rate falls after half of the steps.
# 2. **Batches of 512.** A step of 32 windows is mostly overhead: a processor core computes 16 times as many in about four times the time. Less noise allows a higher rate.
# 3. **AdamW, warm-up, cosine.** The rate rises for a tenth of the steps and then falls smoothly to 0.
# 4. **Each context once.** With three letters of context there are 182,625 training windows but only 5,438 different contexts. Equal contexts get equal predictions. So compute each once and weight its loss with the *counts* of what followed, the trick of notebook 1. A step on *all* the data costs as much as a batch of 5,438, and there is no batch noise left.
# 5. **Longer vectors** (24 numbers), **batch normalisation, weight decay.**
#
# **Predict**: which rung gains most?

# %% tags=["shown"]
from coursekit.windows.tokens import group_windows
from coursekit.evaluate.likelihood import mean_nll, table_nll

show(group_windows)

# %% tags=["data"]
contexts, counts = group_windows(train, 27)
print(f"{len(train):,} windows, {len(contexts):,} different contexts")

# %% tags=["data"]
model = start()
with torch.no_grad():
    one_by_one = F.cross_entropy(model(train[:, :3].to(device)), train[:, 3].to(device))
    grouped = table_nll(model(contexts.to(device)), counts.to(device))
assert_close(one_by_one, grouped, rtol=1e-5, atol=1e-5)


# %% tags=["data"]
def run(model, optimiser, batches, steps, **options):
    options |= {"measure": lambda: mean_nll(model, dev), "every": -(-steps // 12)}
    history = fit(model, optimiser, batches, steps=steps, **options)
    return model, history


def windows_of(size):
    return draw_batches(train, size, torch.Generator().manual_seed(42))


def sgd(model, rate):
    return torch.optim.SGD(model.parameters(), lr=rate)


# %% tags=["data"]
ladder = {}
model = start()
falls = {"schedule": lambda step: 1.0 if step < 12_000 else 0.1}
ladder["SGD, batches of 32"] = run(model, sgd(model, 0.1), windows_of(32), 24_000, **falls)
model = start()
falls = {"schedule": lambda step: 1.0 if step < 3_000 else 0.1}
ladder["SGD, batches of 512"] = run(model, sgd(model, 0.5), windows_of(512), 6_000, **falls)
model = start()
cosine = {"schedule": warm_up_cosine(5_000)}
ladder["AdamW, cosine"] = run(model, adamw(model, 0.005), windows_of(512), 5_000, **cosine)


# %% tags=["data"]
from itertools import repeat


def run_grouped(model, rate, steps, weight_decay=0.0):
    optimiser = adamw(model, rate, weight_decay=weight_decay)
    options = {"schedule": warm_up_cosine(steps), "loss": table_nll}
    return run(model, optimiser, repeat((contexts, counts)), steps, **options)


def wider(seed=42, **changes):
    torch.manual_seed(seed)
    sizes = {"vocab_size": 27, "d_embedding": 24, "normalised": True} | changes
    return MLP(MLPConfig(**sizes)).to(device)


ladder["each context once"] = run_grouped(start(), 0.03, 400)
ladder["24 numbers, norm, decay"] = run_grouped(wider(), 0.03, 250, weight_decay=0.5)

# %% tags=["machine"]
for name, (_, history) in ladder.items():
    steps, loss = history.measured[-1]
    print(f"{name:24} {steps:6} steps {history.seconds[-1]:5.1f} s: development loss {loss:.4f}")

# %% tags=["figure", "nbval-ignore-output"]
for (name, (_, history)), mark in zip(ladder.items(), "osv^D", strict=True):
    steps, losses = zip(*history.measured, strict=True)
    seconds = [history.seconds[step - 1] for step in steps]
    plt.plot(seconds, losses, mark + "-", markersize=4, label=name)
for loss, va, text in [(2.1701, "bottom", "N(0, 1)"), (2.1057, "top", "batch norm")]:
    plt.axhline(loss, color="black", linestyle=":", linewidth=1.4)
    label = plt.text(0.99, loss, f"lecture, {text}: {loss}", ha="right", va=va, fontsize=9)
    label.set_transform(plt.gca().get_yaxis_transform())
plt.gca().set(xlabel="seconds of training", ylabel="development loss (nats)", ylim=(2.05, 2.35))
plt.legend(loc="upper right")
figure("ladder", alt="Development loss against seconds for five recipes; the last falls furthest.")

# %% tags=["data", "nbval-ignore-output"]
losses = [history.measured[-1][1] for _, history in ladder.values()]
best = ladder["24 numbers, norm, decay"][0]
claim(mlp_dev_loss=losses[-1])
claim(ladder_gain=losses[0] - losses[-1])

# %% tags=["data", "nbval-ignore-output"]
print(f"test loss, computed once: {mean_nll(best, test):.4f}")

# %% [markdown]
# The last rung passes both dotted lines, in less time than the first rung takes for an eighth of the lecture's steps. (`make bench` runs the whole 200,000 steps beside it.) Nearly all of it is method: a network with one hidden layer stays one. And batch normalisation? Leave it out, and give the saved time to more steps:

# %% tags=["data", "nbval-ignore-output"]
_, bare = run_grouped(wider(normalised=False), 0.02, 400, weight_decay=0.5)
print(f"without batch norm: {bare.measured[-1][1]:.4f}, with it: {losses[-1]:.4f}")
claim(norm_in_shallow_network=bare.measured[-1][1] - losses[-1])

# %% [markdown]
# No difference worth the name. In so shallow a network, well scaled at the start, there is nothing for batch normalisation to repair. It earns its keep in deep ones, and where nobody has worked out the gain.
#
# How does the network compare with a table of counts? A Kneser–Ney 4-gram looks at the same three letters. Let us give the network a little more: 32 numbers a letter, 300 units, twice the steps.

# %% tags=["data", "nbval-ignore-output"]
from coursekit.models.ngram import NGram, count_ngrams, kneser_ney, smooth

table = NGram(kneser_ney(count_ngrams(train, 27)))
large, _ = run_grouped(wider(d_embedding=32, d_hidden=300), 0.02, 500, weight_decay=0.5)
scores = {"Kneser–Ney table": mean_nll(table, dev), "network": mean_nll(large, dev)}
print({name: round(score, 4) for name, score in scores.items()})
claim(four_gram_dev_nll=scores["Kneser–Ney table"])
lead = scores["network"] - scores["Kneser–Ney table"]
claim(mlp_against_table=lead)

# %% tags=["data", "nbval-ignore-output"]
from coursekit.sample import sample_text

generator = torch.Generator().manual_seed(42)
[sample_text(large, vocabulary, "...", 50, generator, stop=".") for _ in range(10)]

# %% [markdown]
# Ahead, by a hair. With three letters of context there are 5,438 rows, the frequent ones well filled, and a good table is hard to beat: what the network knows about neighbours is worth hardly more than what the table knows by heart. The network should win where tables run out of text: with longer contexts. That is notebook 4.

# %% [markdown]
# ## 2.11 What the vectors know
#
# Did similar letters get similar vectors? In lectures one often sees a network with just *two* numbers a letter, and a map on which the vowels stand together. Let us train two such networks, alike but for the seed, and beside them look at the 24 numbers of our best network, projected onto the plane in which they vary most (their two **principal components**, which `torch.pca_lowrank` finds).


# %% tags=["data"]
def two_numbers(seed):
    model, _ = run_grouped(wider(seed=seed, d_embedding=2), 0.03, 250)
    return model.embedding.weight.detach().cpu()[1:]  # without the boundary


many = best.embedding.weight.detach().cpu()[1:]
torch.manual_seed(42)  # pca_lowrank draws
axes_of_most = torch.pca_lowrank(many, q=2)[2]
maps = {"2 numbers": two_numbers(42), "2 numbers, another seed": two_numbers(43)}
maps["24 numbers, projected"] = (many - many.mean(0)) @ axes_of_most

# %% tags=["figure", "nbval-ignore-output"]
panels = plt.subplots(1, 3, figsize=(9, 3.5))[1]
for ax, (title, points_of) in zip(panels, maps.items(), strict=True):
    for letter, (a, b) in zip(vocabulary.characters[1:], points_of.tolist(), strict=True):
        vowel = letter in "aeiou"
        style = {"color": "C3" if vowel else "0.3", "weight": "bold" if vowel else "normal"}
        ax.text(a, b, letter, fontsize=12, ha="center", va="center", **style)
    (left, low), (right, high) = points_of.amin(0) - 0.3, points_of.amax(0) + 0.3
    ax.set(title=title, xlim=(left, right), ylim=(low, high), xlabel="first number")
panels[0].set_ylabel("second number")
figure(
    "letters",
    alt="Three maps of letters, vowels bold red: scattered in two, together in the third.",
)

# %% [markdown]
# One always sees something in a cloud, so take numbers. First, the mean **distance** between two vowels, divided by that between any two letters: below 1 if they flock together. Second, how well a straight line **separates** vowels from the rest: the share $R^2$ of the variance of "is a vowel" that a linear function of the coordinates explains. And for both: how often do five letters picked at random do as well?


# %% tags=["data"]
def closer(vectors, group):
    """One over the mean distance within the group, relative to all letters."""
    distance = torch.cdist(vectors, vectors)
    within = distance[group][:, group].sum() / (len(group) * (len(group) - 1))
    return (distance.sum() / (26 * 25) / within).item()


def separated(vectors, group):
    x, y = vectors - vectors.mean(0), -torch.ones(26) * len(group) / 26
    y[group] += 1
    rest = y - x @ torch.linalg.lstsq(x, y[:, None]).solution[:, 0]
    return 1 - (rest @ rest / (y @ y)).item()


def chance(vectors, measure, draws=2000):
    g, own = torch.Generator().manual_seed(42), measure(vectors, VOWELS)
    fives = [torch.randperm(26, generator=g)[:5] for _ in range(draws)]
    return sum(measure(vectors, five) >= own for five in fives) / draws


# %% tags=["data", "nbval-ignore-output"]
VOWELS = torch.tensor([vocabulary.encode(c)[0] - 1 for c in "aeiou"])
for title, where in {**maps, "24 numbers": many}.items():
    print(f"{title:24} distance {1 / closer(where, VOWELS):.2f}", end=" ")
    print(f"(by chance {chance(where, closer):.1%})", end="")
    if where.shape[1] == 2:
        print(f", R² {separated(where, VOWELS):.2f} ({chance(where, separated):.1%})", end="")
    print()

# %% tags=["data", "nbval-ignore-output"]
claim(vowel_distance=1 / closer(many, VOWELS))
claim(vowel_chance=chance(many, closer))

# %% [markdown]
# Nobody told the network what a vowel is. With 24 numbers it has put the five together: a sixth closer than usual, which five random letters hardly ever are. In the maps of two numbers the vowels are *not* closer than usual. Mostly they lie on one side, far from one another, because two numbers must also tell *a* from *u*. So what you measure decides what you find, and a map chosen among several seeds proves nothing.

# %% [markdown]
# ## 2.12 The same on very little text
#
# Does the network also beat tables on *little* text? That is what it promised: to know about contexts that it has never seen. Take our paragraph of news from notebook 1, with its 628 letters for training: context 8, vectors of 32, two hidden layers of 128 with ReLU, Adam for 200 epochs (passes over the data).
#
# You will meet this very model described with *one* hidden layer. Count:

# %%
sizes = {"context": 8, "d_embedding": 32, "d_hidden": 128}
for n_hidden in (1, 2):
    model = MLP(MLPConfig(vocab_size=38, n_hidden=n_hidden, **sizes), activation=torch.nn.ReLU)
    claim(**{f"small-text-parameters-{n_hidden}": count_parameters(model)})

# %%
from coursekit.windows.tokens import slide_windows

characters = Vocabulary.of(data.NEWS)
ids = torch.tensor(characters.encode(data.NEWS))
cut = int(0.8 * len(ids))
seen, unseen = slide_windows(ids[:cut], 9), slide_windows(ids[cut:], 9)
print(f"{len(seen)} windows to train on, {len(unseen)} to score, V = {len(characters)}")
claim(small_text_windows=len(seen) + len(unseen))

# %% tags=["nbval-ignore-output"]
torch.manual_seed(42)
config = MLPConfig(vocab_size=len(characters), n_hidden=2, **sizes)
reader = MLP(config, activation=torch.nn.ReLU, gain=2**0.5).to(device)
curve = []
batches = draw_batches(seen, 124, torch.Generator().manual_seed(42))  # five batches an epoch


def note_both():
    curve.append((mean_nll(reader, seen), mean_nll(reader, unseen)))
    return curve[-1][1]


optimiser = torch.optim.Adam(reader.parameters(), lr=1e-3)
_ = fit(reader, optimiser, batches, steps=1000, measure=note_both, every=10)

# %% tags=["figure", "nbval-ignore-output"]
plt.plot(range(2, 202, 2), [a for a, _ in curve], label="training text")
plt.plot(range(2, 202, 2), [b for _, b in curve], "--", label="the rest of the paragraph")
plt.axhline(math.log(len(characters)), color="grey", linestyle=":")
plt.text(200, math.log(len(characters)) + 0.1, "uniform guess", ha="right")
plt.gca().set(xlabel="epoch", ylabel="loss (nats a letter)")
plt.legend()
figure(
    "little", alt="Training loss falls to zero while the loss on the rest climbs far above uniform."
)

# %% tags=["nbval-ignore-output"]
from coursekit.evaluate.likelihood import perplexity

final_train, final_rest = curve[-1]
best_epoch = 2 + 2 * min(range(100), key=lambda k: curve[k][1])
print(f"perplexity: training {perplexity(final_train):.3f}, rest {perplexity(final_rest):.0f}")
pairs = NGram(smooth(count_ngrams(slide_windows(ids[:cut], 2), len(characters)), 1))
nll_of_pairs = mean_nll(pairs, unseen[:, -2:])
print(f"best epoch {best_epoch}: {perplexity(min(b for _, b in curve)):.1f}", end=", ")
print(f"add-one table of pairs: {perplexity(nll_of_pairs):.1f}")
claim(small_text_train=final_train)
claim(small_text_perplexity=perplexity(final_rest))

# %% [markdown]
# It knows the training text by heart, and on the rest it is many times worse than a blind guess. *Training loss near zero* says nothing about unseen contexts; one has to score them. Even at its best epoch (chosen on the very text that is scored, so flattered) the network hardly beats a table of pairs.
#
# What does such a model write? Dividing the logits by a **temperature** below 1 makes likely letters likelier.


# %% tags=["nbval-ignore-output"]
def write(temperature, steps=300):
    generator = torch.Generator().manual_seed(42)
    return sample_text(reader, characters, data.NEWS[:8], steps, generator, temperature=temperature)


def share_copied(text, source, length=12):
    pieces = [text[i : i + length] for i in range(len(text) - length + 1)]
    return sum(piece in source for piece in pieces) / len(pieces)


source_text, rest_text = data.NEWS[:cut], data.NEWS[cut:]
copied = {t: share_copied(write(t), source_text) for t in (0.5, 0.8)}
print("share of runs of 12 letters copied from the training text:", copied)
print("the same for the real rest:", share_copied(rest_text, source_text))
print(write(0.8, 100))

# %% tags=["nbval-ignore-output"]
claim(small_text_copied=copied[0.5])
claim(real_text_copied=share_copied(rest_text, source_text))

# %% tags=["nbval-ignore-output"]
with torch.no_grad():
    logits = reader(unseen[:, :8].to(device)).cpu()
share = {t: (logits / t).softmax(-1) for t in (0.5, 0.8, 1.0)}
entropy = [-(p * p.clamp(min=1e-30).log()).sum(-1).mean().item() for p in share.values()]
print("mean entropy at 0.5, 0.8, 1:", [f"{e:.3f}" for e in entropy])
gain = min(entropy[1] - entropy[0], entropy[2] - entropy[1])
claim(temperature_entropy=gain)

# %% [markdown]
# It recites. To generalise from neighbours, a network must have seen enough neighbours.

# %% [markdown]
# ## What you now have
#
# - A neural language model whose size grows linearly where a table's grows exponentially.
# - The first thing to check in any model: is the loss at the start what it should be?
# - A scale for weights that you derived, and batch normalisation, which makes the scale matter less; and its traps: two variances, two modes, a useless bias.
# - Five pictures that work on any model, and what they look like when something is wrong.
# - A recipe for training that does not waste the machine.
# - A warning: the training loss is not the goal.
#
# **Next**: so far `backward()` did the work. Notebook 3 computes every gradient of this network by hand.

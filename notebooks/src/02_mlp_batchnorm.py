# %% [markdown]
# # 2 · Why does a network fail to start?
#
# You build a small network that guesses the next letter of a name. It trains, but from a start so bad that it never catches up; with twenty layers it can fail altogether. What goes wrong, how do you see it, and what fixes it?
#
# **Before**: lessons 0 (tensors, gradients, the training loop) and 1 (pairs of letters, the loss in nats).
#
# **Runs in** {runs_in}. **Study time** {study}.
#
# **Sources**: the network is that of Bengio et al. (2003), in the size of Karpathy's makemore lectures (2022, parts 2 and 3), whose loss log we follow; the size of the weights follows LeCun et al. (1998), Glorot and Bengio (2010) and He et al. (2015); batch normalisation is by Ioffe and Szegedy (2015).

# %% tags=["setup", "machine"]
from itertools import pairwise

import matplotlib.pyplot as plt
import numpy as np
import torch
from torch.nn import functional as F
from torch.testing import assert_close

from coursekit import data
from coursekit.inside.diagnose import UpdateLog, find_saturated, take_snapshot
from coursekit.notebook import Score, claim, claim_order, compare_guess, figure, keep_sample
from coursekit.notebook import read_record, scoreboard, setup
from coursekit.notebook.pictures import five_pictures, name_lines

device = setup("02_mlp_batchnorm", seed=42)

# %% tags=["scoreboard"]
scoreboard("names", own=False)

# %% [markdown]
# ## 2.1 Letters as vectors
#
# A table of counts keeps a row for each context, and what it learns about *ema* tells it nothing about *ima*. A network has a chance to notice that *e* and *i* behave alike (side lesson 2b checks whether it did). First the examples: three letters, and the one that follows. (The *validation* names, which lesson 1 calls development names, are kept aside: no network is trained on them.)


# %%
def our_windows(words):
    ids = [[0, 0, 0] + [ord(c) - ord("a") + 1 for c in word] + [0] for word in words]
    return torch.tensor([word[i : i + 4] for word in ids for i in range(len(word) - 3)])


words, validation, _ = data.split_words(data.names())
train, val = our_windows(words).to(device), our_windows(validation).to(device)
X, Y, X_val, Y_val = train[:, :3], train[:, 3], val[:, :3], val[:, 3]
print(f"{len(X):,} examples; those of {words[0]!r}:", X[:4].tolist(), "→", Y[:4].tolist())

# %% [markdown]
# Bengio's idea (2003): give each letter a vector of ten numbers, its **embedding**. The vectors are the rows of a table $C$, trained like all weights. Looking up a row is the same as multiplying by a one-hot vector, and only the rows that were looked up get a gradient:

# %%
C = torch.randn(27, 10, requires_grad=True)
contexts = torch.tensor([[0, 0, 5], [0, 5, 13]])  # ..e and .em
assert_close(C[contexts], F.one_hot(contexts, 27).float() @ C)

C[contexts].square().sum().backward()  # any function of them will do
print("rows with a gradient:", C.grad.any(dim=1).nonzero().flatten().tolist(), "of", len(C))

# %% [markdown]
# The network concatenates the three vectors to thirty numbers $x$, mixes these in 200 **hidden units** with weights $W_1$ and biases $b_1$, sends each through tanh, and computes 27 logits. Softmax makes them probabilities.

# %% tags=["figure", "folded"]
from coursekit.notebook.diagram import Diagram

d = Diagram()
steps = ["embedding C", "x W₁ + b₁", "tanh", "h W₂ + b₂", "softmax", "next letter"]
shapes = ["x: 3 × 10 = 30", "200", "h: 200", "27 logits", "27 probabilities"]
for row, step in enumerate(steps, 1):
    kind = {1: "parameters", 2: "parameters", 4: "parameters", 6: "data"}.get(row, "operation")
    d.box(step, 0, row, columns=3, kind=kind)
for k, letter in enumerate(".em"):
    d.box(f"“{letter}”", k, 0, kind="data")
    d.arrow(f"“{letter}”", steps[0])
for (tail, head), shape in zip(pairwise(steps), shapes, strict=True):
    d.arrow(tail, head, shape)
d.draw()
figure("model", alt="Three letters, three rows of C, joined, a hidden layer, logits, softmax.")


# %%
def new_network(hidden_scale=1.0, output_scale=1.0, seed=42):
    g = torch.Generator().manual_seed(seed)
    C = torch.randn(27, 10, generator=g)
    W1, b1 = torch.randn(30, 200, generator=g) * hidden_scale, torch.zeros(200)
    W2, b2 = torch.randn(200, 27, generator=g) * output_scale, torch.zeros(27)
    return [p.to(device).requires_grad_() for p in (C, W1, b1, W2, b2)]


def forward(network, x):
    C, W1, b1, W2, b2 = network
    h = torch.tanh(C[x].flatten(1) @ W1 + b1)
    return h, h @ W2 + b2


def loss_of(network, x, y):
    return F.cross_entropy(forward(network, x)[1], y)


print(f"{sum(p.numel() for p in new_network()):,} numbers; a table would have {27**4:,}")

# %% [markdown]
# One letter more makes the table 27 times larger; the network needs only 10 × 200 more weights, to read it.
#
# ## 2.2 It trains, but look where it starts
#
# Training repeats five things: compute the loss, clear the old gradients, go backward, step downhill, note the loss. Each step takes a **batch**, a few examples drawn at random, which makes it *stochastic* gradient descent (SGD).


# %%
def train_network(network, steps, lr=0.1, batch=32, seed=7, loss_of=loss_of):
    g, losses = torch.Generator().manual_seed(seed), []
    for _ in range(steps):
        rows = torch.randint(len(X), (batch,), generator=g)
        loss = loss_of(network, X[rows], Y[rows])  # 1 forward
        for p in network:
            p.grad = None  # 2 clear
        loss.backward()  # 3 backward
        with torch.no_grad():
            for p in network:
                p -= lr * p.grad  # 4 step
        losses.append(loss.item())  # 5 note
    return losses


# %% [markdown]
# **Predict.** Draw all weights from a standard normal distribution, N(0, 1), the first thing anyone would try. What is the loss at step 0?

# %% tags=["predict"]
guess = None  # in nats, such as 2.5

# %%
wild_start = new_network()
wild = train_network(new_network(), 1000)
compare_guess(guess, wild[0], unit="nats")
claim(naive_first_loss=wild[0])

# %% [markdown]
# An honest network that knows nothing gives each letter 1/27: a loss of $\ln 27 = 3.30$. This one is at nearly ten times that. What does it believe?

# %%
with torch.no_grad():
    favourite, letter = forward(wild_start, X)[1].softmax(1).max(1)
claim(favourite=favourite.mean(), favourite_is_right=(letter == Y).float().mean())

# %% [markdown]
# It is all but certain, and its favourite letter is a random one. A logit adds up 200 products, a hidden number (nearly ±1) times a weight of size 1: about $\sqrt{200} \approx 14$ (section 2.4 shows why the root), and a softmax over numbers of that size puts almost everything on the largest. Cross-entropy punishes nothing as hard as being certain and wrong.
#
# The fix: make the last layer's weights a hundred times smaller. (By $1/\sqrt{200}$ the logits would have a size of 1; we want them near 0.)

# %% tags=["figure"]
calm = train_network(new_network(output_scale=0.01), 1000)
claim(scaled_first_loss=calm[0])
plt.figure(figsize=(5.8, 3.6))
plt.plot(wild, linewidth=0.8, label="N(0, 1)")
plt.plot(calm, linewidth=0.8, label="last layer × 0.01")
plt.plot([0, 1000], [np.log(27)] * 2, "--", color="black", linewidth=1, label="ln 27")
plt.text(20, 28.5, "◀ certain, and wrong")
plt.title("A bad start costs more than a thousand steps")
plt.gca().set(xlabel="step", ylabel="loss (nats per letter)", xlim=(-10, 1000), ylim=(0, 31))
name_lines(plt.gca())
figure("hockey-stick", alt="N(0, 1): from 30 to 4 in 1,000 steps. Small last layer: 3.3 to 2.4.")

# %% [markdown]
# Only the start differs. And if small is good, is *zero* better, or does a layer of zeros stop learning?

# %%
zero, gradients = new_network(output_scale=0.0), []
for _ in range(2):
    train_network(zero, 1, batch=2000)
    gradients.append([zero[1].grad.norm().item(), zero[3].grad.norm().item()])
(w1_at_1, w2_at_1), (w1_at_2, _) = gradients
claim(w1_gradient_at_step_1=w1_at_1, w2_gradient_at_step_1=w2_at_1, w1_gradient_at_step_2=w1_at_2)

# %% [markdown]
# It works. $W_2$ has a gradient at once, because $h$ is not 0; only what lies before it waits, for a single step. *Two* layers of zeros in a row would be fatal: neither would ever get a gradient.
#
# The library's `MLP` ([models/mlp.py](../coursekit/models/mlp.py)) is this network made of modules. The same weights give the same loss:

# %%
from coursekit.models.mlp import MLP, MLPConfig


def as_library(network, normalised=False):
    C, W1, b1, W2, b2 = network
    keys = ("embedding.weight", "hidden.0.weight", "hidden.0.bias", "output.weight", "output.bias")
    model = MLP(MLPConfig(vocab_size=27, d_hidden=200, normalised=normalised)).to(device)
    weights = dict(zip(keys, (C, W1.T, b1, W2.T, b2), strict=True))
    model.load_state_dict(weights, strict=not normalised)
    return model


assert_close(as_library(wild_start)(X[:64]), forward(wild_start, X[:64])[1], rtol=1e-4, atol=1e-4)

# %% [markdown] tags=["exercise"]
# > **Exercise 2.1 (warm-up, 5 minutes).** Write `mean_cross_entropy(logits, targets)`: the loss of this section in nats, without PyTorch's loss functions. Logits of 1000 must not overflow.
# >
# > <details><summary>Hint</summary>−log p(target) = log Σ exp(logits) − the target's logit; and softmax does not change when the same number is subtracted from all logits of a row.</details>


# %% tags=["stub"]
def mean_cross_entropy(logits, targets): ...  # (B, V), (B,) -> a number


# %% tags=["check"]
from coursekit.exercises import answer_or, mlp

mlp.check_mean_cross_entropy(mean_cross_entropy)


# %% tags=["solution"]
def mean_cross_entropy(logits, targets):
    shifted = logits - logits.max(1, keepdim=True).values
    log_sum = shifted.exp().sum(1).log()
    return (log_sum - shifted[range(len(targets)), targets]).mean()


# %% [markdown]
# ## 2.3 Saturated units
#
# The initial loss is now right. Look one layer further back. The derivative of tanh is $1 - \tanh^2$, and the gradient that arrives at a unit is multiplied by this derivative. A unit beyond ±0.97 passes less than 6 % of the gradient: it is **saturated** for this example and learns next to nothing from it.
#
# How many are, with $W_1$ drawn from N(0, 1)? And with $W_1$ scaled by $\frac53 / \sqrt{30}$? (Where the root and the 5/3 come from is the next section.)

# %%
scaled = 5 / 3 / 30**0.5
h = {scale: forward(new_network(scale), X[:1000])[0].detach() for scale in (1, scaled)}
black = {scale: outputs.abs() > 0.97 for scale, outputs in h.items()}
assert torch.equal(black[1], find_saturated(h[1]))  # the library's name for it
claim(saturated_naive=black[1].float().mean(), saturated_scaled=black[scaled].float().mean())

# %% [markdown]
# Does it cost anything? Train the same network from five scales of $W_1$, all with the small last layer, each with the best of three learning rates:

# %%
scales = [0.1, 0.3, 1, 3, 10]
end_losses = [
    min(np.mean(train_network(new_network(s, 0.01), 2000, lr)[-500:]) for lr in (0.05, 0.1, 0.2))
    for s in scales
]

# %% tags=["figure", "folded"]
left, right = plt.subplots(1, 2, figsize=(6.8, 3.5), width_ratios=[1, 1.2])[1]
left.imshow(black[1][:60].cpu(), cmap="gray_r", aspect="auto", interpolation="none", zorder=3)
left.set(title="N(0, 1): black is saturated", xlabel="hidden unit", ylabel="example")
right.semilogx(scales, end_losses, "o-")
for scale, loss in zip(scales, end_losses, strict=True):
    share = find_saturated(forward(new_network(scale), X[:1000])[0]).float().mean()
    right.text(scale, loss + 0.01, f"{share:.0%}", ha="center")
right.set(title="Best in between", xlabel="scale of $W_1$ (% saturated)")
right.set(ylabel="loss after 2,000 steps (nats)", xlim=(0.07, 14), ylim=(2.35, 2.45))
figure("saturated", alt="Left: mostly black. Right: the loss is lowest at a scale of 0.3.")

# %% [markdown]
# A scale of 0.3 is best, for all three seeds: about our $\frac53/\sqrt{30}$. Otherwise it costs a few hundredths of a nat: one layer is forgiving. Twenty will not be.
#
# A unit that is saturated for *every* example is **dead**, a column that is black from top to bottom; here there is none. **ReLU**, max(0, z), is worse: a unit that is negative for all examples has a gradient of exactly 0.
#
# ## 2.4 How large should weights be?
#
# Let a unit add up $n$ products, $z = w_1x_1 + \dots + w_nx_n$, with weights drawn independently, of mean 0 and standard deviation $g/\sqrt n$. How large is $z^2$ on average? Multiply out. Each mixed product, such as $w_1x_1 \cdot w_2x_2$, averages to 0, because $w_1$ is as often positive as negative. What remains is $n$ squares, each $\frac{g^2}{n}$ times the mean of $x^2$:
#
# $$\text{mean}(z^2) = n \cdot \frac{g^2}{n} \cdot \text{mean}(x^2) = g^2 \cdot \text{mean}(x^2)$$
#
# The $n$ is gone: that is what the $\sqrt n$ is for. What is left is the **gain** $g$, and it has to make up for what the nonlinearity takes away.
#
# - **ReLU** sets negative numbers to 0. $z$ is as often negative as positive, so exactly half of mean($z^2$) is lost. To keep the size, $g^2 \cdot \frac12 = 1$, so $g = \sqrt 2$ (He et al. 2015).
# - **tanh** squeezes, large numbers most. How much is left of normal numbers of mean square 1? Measure it on a million:

# %%
z = torch.randn(1_000_000, generator=torch.Generator().manual_seed(42))
kept = z.tanh().square().mean().item()
claim(tanh_keeps=kept, tanh_gain=kept**-0.5, relu_keeps=z.relu().square().mean())

# %% [markdown]
# So a gain of 1.59 would bring $z$ back to 1 in each layer, and the outputs, tanh $z$, to 0.39. PyTorch's `calculate_gain("tanh")` is 5/3, a convention a little above it. Try both on fifty layers, and others:


# %%
def mean_squares(gain, nonlinearity, layers=50, width=500, seed=42):
    g = torch.Generator().manual_seed(seed)
    h, found = torch.randn(200, width, generator=g), []
    for _ in range(layers):
        h = nonlinearity(h @ torch.randn(width, width, generator=g) * gain / width**0.5)
        found.append(h.square().mean().item())
    return found


tanh_gains, relu_gains = {"1": 1, "1.59": kept**-0.5, "5/3": 5 / 3}, {"1": 1, "√2": 2**0.5, "2": 2}
paths = {"tanh": {name: mean_squares(gain, torch.tanh) for name, gain in tanh_gains.items()}}
paths["ReLU"] = {name: mean_squares(gain, torch.relu) for name, gain in relu_gains.items()}
one, matched, usual = (path[-1] for path in paths["tanh"].values())
claim(left_by_gain_one=one, left_by_matched_gain=matched, left_by_usual_gain=usual)

# %% tags=["figure", "folded"]
panels = plt.subplots(1, 2, figsize=(6.8, 3.7), sharey=True)[1]
for ax, (nonlinearity, lines) in zip(panels, paths.items(), strict=True):
    for name, path in lines.items():
        ax.semilogy(range(1, 51), path, "--" if name == "1.59" else "-", label=f"gain {name}")
    ax.set(title=nonlinearity, xlabel="layer", xlim=(0, 50), ylim=(1e-6, 1e6))
    name_lines(ax)
panels[0].set_ylabel("mean square of the outputs")
plt.suptitle("The right gain keeps the signal's size, layer after layer")
figure("gain", alt="tanh: gain 1 sinks, 1.59 and 5/3 stay. ReLU: 1 vanishes, √2 stays, 2 explodes.")

# %% [markdown]
# At a gain of 1, ReLU loses half in each layer, tanh less, but it never stops. Too large a gain blows ReLU up; tanh cannot blow up, it saturates. What a gain above 1 gives is a size that *stays*, at 5/3 about 0.42.
#
# (PyTorch's `nn.Linear` starts with 0.58; deep networks of today survive it through paths that skip their blocks: lesson 6.)
#
# Now train 20,000 steps from three starts, each fixing one more thing, and compare the loss on the validation names. (Each has its best of five learning rates, 0.05 to 0.5, and a tenth of it in the last quarter. The worse the start, the larger the best.)


# %%
def score(loss):
    return Score(loss.item(), on=Y_val, context=3, steps=20_000, batch=32)


names = ["N(0, 1)", "+ small last layer", "+ W₁ × 5/3/√30"]
starts = zip(names, (0.5, 0.3, 0.2), (1, 1, scaled), (1, 0.01, 0.01), strict=True)
curves, log, trained = {}, {}, {}
for name, lr, *scales in starts:
    network = trained[name] = new_network(*scales)
    curves[name] = train_network(network, 15_000, lr)
    curves[name] += train_network(network, 5_000, lr / 10, seed=8)
    log[name] = score(loss_of(network, X_val, Y_val))
    print(f"{name:18} {log[name].value:.4f}")
first, second, third = log.values()
claim_order(small_last_layer_helps=(second, first), scaled_hidden_layer_helps=(third, second))
claim(fixed_start_loss=third.value)

# %%
from coursekit.sample import sample_text
from coursekit.tokens.vocabulary import Vocabulary

alphabet = Vocabulary(".abcdefghijklmnopqrstuvwxyz")
for name, network in {"untrained": wild_start, **trained}.items():
    model, g = as_library(network), torch.Generator().manual_seed(42)
    written = [sample_text(model, alphabet, "...", 12, g, stop=".") for _ in range(5)]
    print(f"{name:18}", ", ".join(written))
keep_sample(fixed_start=written)

# %% [markdown]
# Two constants in the **initialisation**, and each lowers the loss.
#
# ## 2.5 Twenty layers
#
# One hidden layer trains from any start, well or badly. Now put twenty in a row, of 100 units.


# %%
def deep_start(gain, n_layer=20, seed=42):
    g = torch.Generator().manual_seed(seed)
    C, output = torch.randn(27, 10, generator=g), torch.randn(100, 27, generator=g) * 0.01
    sizes = [30] + [100] * n_layer
    hidden = [torch.randn(n, m, generator=g) * gain / n**0.5 for n, m in pairwise(sizes)]
    return [p.to(device).requires_grad_() for p in (C, *hidden, output, torch.zeros(27))]


def deep_forward(network, x, norm=None):
    C, *hidden, output, b = network
    outputs = [C[x].flatten(1)]
    for W in hidden:
        z = outputs[-1] @ W
        outputs.append(torch.tanh(norm(z) if norm else z))
    return outputs[1:], outputs[-1] @ output + b


# %% [markdown]
# **Predict.** At a gain of 5/3, its loss after 1,000 steps is 2.4. At 0.6, close to PyTorch's default?

# %% tags=["predict"]
guess = None  # in nats, such as 2.5


# %%
def train_deep(gain, norm=None, steps=1000, lr=0.1, n_layer=20):
    def loss_of(network, x, y):
        return F.cross_entropy(deep_forward(network, x, norm)[1], y)

    network = deep_start(gain, n_layer)
    losses = train_network(network, steps, lr, batch=64, loss_of=loss_of)
    end = loss_of(network, X[:5000], Y[:5000]).item()
    return losses, Score(end, on=Y[:5000], context=3, steps=steps, batch=64), network


gains = {"gain 0.6": 0.6, "gain 5/3": 5 / 3, "gain 5": 5.0}
bare = {name: train_deep(gain) for name, gain in gains.items()}
compare_guess(guess, bare["gain 0.6"][1].value, unit="nats")
p = torch.bincount(Y.cpu()) / len(Y)
claim(only_frequencies=-(p * p.log()).sum(), stuck_small_gain=bare["gain 0.6"][1].value)

# %% [markdown]
# All three begin near an honest 3.30. After 1,000 steps two are stuck near 2.82: the loss of a model that knows how frequent each letter is, and nothing else. Is it the same illness? How much do the logits differ between contexts?

# %%
vary = [deep_forward(net, X[:5000])[1].detach().std(0).mean() for *_, net in bare.values()]
claim(logits_vary_small_gain=vary[0], logits_vary_large_gain=vary[2])

# %% [markdown]
# At 0.6 they don't: none of the input gets through, and only $b_2$ has learnt, behind all the layers. At 5 everything arrives, so why is nothing learnt? Perhaps each step throws the layers about, and the last one never gets a steady $h$ to learn from. Test it: hold the twenty layers still, and train the last one alone.


# %%
def train_last(gain):
    network = deep_start(gain)

    def loss_of(last, x, y):
        return F.cross_entropy(deep_forward([*network[:-2], *last], x)[1], y)

    train_network(network[-2:], 1000, batch=64, loss_of=loss_of)
    return loss_of(network[-2:], X[:5000], Y[:5000])


claim(still_layers_small_gain=train_last(0.6), still_layers_large_gain=train_last(5.0))

# %% [markdown]
# At 5 it now learns something, from twenty random layers; at 0.6 nothing, as before. (Smaller steps would not do: at this gain a tiny change of the first layer scrambles the last.) Two illnesses with the same symptom.
#
# **Batch normalisation** (Ioffe and Szegedy 2015) does not predict the size; it enforces it. If the inputs of tanh should have mean 0 and variance 1, then make them so: for each unit, subtract its mean over the $n$ examples of the batch, and divide by its standard deviation over the batch.
#
# $$\hat z = \frac{z - \mu}{\sqrt{\sigma^2 + \epsilon}} \qquad \mu = \frac1n\sum_{i=1}^n z_i \qquad \sigma^2 = \frac1n\sum_{i=1}^n (z_i - \mu)^2$$
#
# ($\epsilon = 10^{-5}$ avoids a division by 0.) All of this can be differentiated, so gradients flow through $\mu$ and $\sigma$, too.


# %%
def our_batch_norm(z):
    mean = z.mean(0)
    variance = (z - mean).square().mean(0)
    return (z - mean) / (variance + 1e-5).sqrt()


normed = {name: train_deep(gain, our_batch_norm) for name, gain in gains.items()}
ends = {name: (normed[name][1], bare[name][1]) for name in gains}
claim_order(batch_norm_small_gain=ends["gain 0.6"], batch_norm_large_gain=ends["gain 5"])

# %% tags=["figure", "folded"]
panels = plt.subplots(1, 2, figsize=(6.8, 3.8), sharey=True)[1]
titles = {"twenty layers": bare, "twenty layers with batch norm": normed}
for ax, (title, runs) in zip(panels, titles.items(), strict=True):
    for name, (losses, *_) in runs.items():
        smooth = np.convolve(losses, np.ones(50) / 50, mode="valid")
        ax.plot(range(50, 1001), smooth, label=name)
    ax.axhline(2.82, color="black", linestyle=":", linewidth=1.4)
    ax.set(title=title, xlabel="step", xlim=(0, 1000), ylim=(2.25, 3.3))
    name_lines(ax)
panels[0].set_ylabel("loss (nats), mean of 50 batches")
panels[0].text(990, 2.8, "dotted: letter\nfrequencies alone", ha="right", va="top")
plt.suptitle("A bad gain stops at letter frequencies; batch norm trains")
figure("deep", alt="Left: gains 0.6 and 5 stay at 2.82, 5/3 falls to 2.4. Right: all three fall.")

# %% [markdown]
# At the right gain batch norm changes nothing: it is insurance. (Other learning rates, from 0.0003 to 3, don't rescue the bad gains without it.) Why does the gain not matter any more? Three times the weights, three times the standard deviation, and the ratio is the same: $f(3W) = f(W)$. (So a step must be three times as long to change as much, and the gradient at $3W$ is a third.) A bias before the normalisation is useless: the mean takes it away again.
#
# And if a unit would rather not be normalised? The full layer multiplies $\hat z$ by a trained $\gamma$ and adds a trained $\beta$, which start at 1 and 0. With $\gamma = \sqrt{\sigma^2 + \epsilon}$ and $\beta = \mu$ they give $z$ back. The library's layer has both; at the start, the same weights give the same logits:

# %%
network = deep_start(5 / 3)
library = MLP(MLPConfig(vocab_size=27, d_hidden=100, n_hidden=20, normalised=True)).to(device)
for layer, W in zip(library.hidden[::3], network[1:-2], strict=True):  # linear, norm, tanh, …
    layer.weight.data = W.detach().T
library.embedding.weight.data, library.output.weight.data = network[0].data, network[-2].data.T
outputs, logits = deep_forward(network, X[:1000], our_batch_norm)
assert_close(library(X[:1000]), logits, rtol=1e-3, atol=1e-3)

# %% [markdown] tags=["exercise"]
# > **Exercise 2.2 (build, 20 minutes).** Write batch norm as a layer. In training it normalises with the batch's own mean and variance (1/n), then applies `gamma` and `beta`, and moves its **running statistics**, which start at 0 and 1, a tenth of the way (`momentum`) towards those of the batch. In evaluation it uses the running statistics instead, so that a single example is enough, and leaves them as they are. Two traps: what is *remembered* is the unbiased variance, 1/(n − 1), because the batch is a sample; and no gradient may flow into what is remembered.
# >
# > <details><summary>Hint 1</summary>gamma and variance start as ones, beta and mean as zeros. <code>x.var(0, correction=0)</code> divides by n, <code>x.var(0)</code> by n − 1.</details>
# > <details><summary>Hint 2</summary>new = 0.9 · old + 0.1 · the batch's. What is remembered needs no graph: <code>.detach()</code>, or <code>torch.no_grad()</code>.</details>


# %% tags=["stub"]
class OurBatchNorm:
    def __init__(self, d, momentum=0.1, eps=1e-5): ...  # self.gamma, beta, mean, variance: (d,)

    def __call__(self, x, training): ...  # (n, d) -> (n, d)


# %% tags=["check"]
mlp.check_batch_norm(OurBatchNorm)


# %% tags=["solution"]
class OurBatchNorm:
    def __init__(self, d, momentum=0.1, eps=1e-5):
        self.momentum, self.eps = momentum, eps
        self.gamma, self.beta = torch.ones(d), torch.zeros(d)
        self.mean, self.variance = torch.zeros(d), torch.ones(d)

    def __call__(self, x, training):
        mean, variance = self.mean, self.variance
        if training:
            mean, variance = x.mean(0), x.var(0, correction=0)
            self.mean = self.mean.lerp(mean.detach(), self.momentum)
            self.variance = self.variance.lerp(x.detach().var(0), self.momentum)
        return self.gamma * (x - mean) / (variance + self.eps).sqrt() + self.beta


# %% [markdown] tags=["exercise"]
# > **Exercise 2.3 (investigate, 15 minutes).** How large can the learning rate be, with and without batch norm? Six layers train in seconds: `train_deep(gain, norm, steps=500, lr=…, n_layer=6)[1].value`. Fill in the table, and then a second one at a gain of 0.6.
# >
# > | gain 5/3, lr | 0.03 | 0.1 | 0.3 | 1 | 3 |
# > |---|---|---|---|---|---|
# > | `None` | | | | | |
# > | `our_batch_norm` | | | | | |
# >
# > <details><summary>What we found</summary>Loss after 500 steps, seed 42. Gain 5/3, without: 2.51, 2.38, 2.38, 2.58, fails; with: 2.59, 2.42, 2.40, 2.56, fails. Gain 0.6, without: 2.90, 2.64, 2.49, 2.48, fails; with: 2.50, 2.41, 2.43, about 2.75, fails. (A run that fails ends anywhere, another on each machine: without batch norm at 20 and more, with it at 3 to 6.) At six layers the limit hardly moves. What changes is the best value. Without batch norm a gain that is too small wants a learning rate several times larger; with it, one learning rate serves both gains.</details>

# %% [markdown] tags=["exercise"]
# > **Exercise 2.4 (investigate, 10 minutes).** Which half of batch norm does the work? Write `subtract_mean(z)`, which only removes the mean over the batch, and train the twenty layers with it. Guess first.
# >
# > | gain | 0.6 | 5/3 | 5 |
# > |---|---|---|---|
# > | `None` | | | |
# > | `subtract_mean` | | | |
# > | `our_batch_norm` | | | |
# >
# > <details><summary>What we found</summary>Without either: 2.84, 2.41, 2.84. Only the mean: 2.84, 2.42, 2.82. Batch norm: 2.44, 2.41, 2.45 (seed 42). The mean does next to nothing here; it is the division by σ that fixes the start.</details>

# %% [markdown]
# ## 2.6 Five pictures of a network
#
# The loss at the start said nothing: 3.30 three times. So look inside. Five pictures:
#
# 1. each layer's outputs, the first layer on top;
# 2. the gradient that arrives there, in powers of ten;
# 3. the gradient of each weight matrix, relative to the weights;
# 4. how far each step moves the weights, relative to them: with SGD, picture 3 times the learning rate;
# 5. the loss.
#
# To look into *any* model there are **hooks**, functions that a module calls whenever it has computed something. One by hand, then the library's `take_snapshot`, with one on each layer, and `UpdateLog`, which compares the weights step by step ([source](../coursekit/inside/diagnose.py)):


# %%
seen = []
hook = library.hidden[2].register_forward_hook(lambda module, x, output: seen.append(output))
library(X[:1000])
hook.remove()
assert_close(seen[0], outputs[0], rtol=1e-3, atol=1e-3)  # our first layer, out of their model


def look_inside(network, norm=None):
    outputs, logits = deep_forward(network, X[:1000], norm)
    return outputs, torch.autograd.grad(F.cross_entropy(logits, Y[:1000]), outputs)


snapshot = take_snapshot(library, X[:1000], Y[:1000], watch=torch.nn.Tanh)
gradients = look_inside(network, our_batch_norm)[1]
assert_close(gradients[0].cpu(), snapshot.gradients["hidden.2"], rtol=1e-2, atol=1e-7)


# %%
def step_of(model):
    return lambda _, x, y: F.cross_entropy(model(x), y)


def study(gain, normalised=False, n_layer=20, lr=0.1):
    torch.manual_seed(42)
    sizes = {"d_hidden": 100, "n_hidden": n_layer, "normalised": normalised}
    model = MLP(MLPConfig(vocab_size=27, **sizes), gain=gain).to(device)
    start = take_snapshot(model, X[:1000], Y[:1000], watch=torch.nn.Tanh)
    updates, losses, parameters = UpdateLog(model), [], list(model.parameters())
    for step in range(200):
        losses += train_network(parameters, 1, lr, 64, seed=step, loss_of=step_of(model))
        updates()
    return start, updates.ratios, losses


cases = {"gain 5": (5,), "gain 0.6": (0.6,), "gain 5/3": (5 / 3,), "5 + batch norm": (5, True)}
studies = {name: study(*case) for name, case in cases.items()}

# %% tags=["figure", "folded"]
five_pictures(plt.subplots(1, 5, figsize=(12, 2.8))[1], *studies["gain 0.6"], names="above")
figure("one-network", alt="Gain 0.6: outputs a needle, gradients small, the loss slow to fall.")

# %% [markdown]
# This is gain 0.6. Picture 1: the outputs shrink to a needle at 0. Picture 2: the gradient fades on its way back, from the last layer (light) to the first (dark). Picture 3: a weight's gradient is its input times the gradient at its output; one shrinks forward, the other backward, so it is a millionth everywhere. Picture 4: at first the layers hardly move. (Dotted: a thousandth, Karpathy's rule of thumb. The last layers reach it, still without an input to learn from.)

# %% tags=["figure", "folded"]
grid = plt.subplots(5, 4, figsize=(7.2, 9), sharex="row", sharey="row")[1]
for axes, (name, found) in zip(grid.T, studies.items(), strict=True):
    five_pictures(axes, *found, names="left" if name == "gain 5" else "")
    axes[0].set_title(name)
plt.suptitle("Four starts of twenty layers, and what 200 steps make of them")
figure("five-pictures", alt="At gain 5/3 or with batch norm, outputs and gradients stay broad.")

# %% [markdown]
# - **Gain 5.** Nearly all outputs sit at ±1, saturated. Yet the gradients *grow* on the way back, over ten thousand times: large weights multiply them faster than tanh shrinks them, and picture 4 shows the first layers thrown about: steps as large as the weights.
# - **Gain 5/3.** The outputs stay broad, and the gradients grow only fivefold on the way back. (Over a hundred layers they would grow thousandfold: no gain of tanh keeps both sizes.)
# - **Gain 5 with batch norm.** It trains, if more slowly than 5/3: three times the weights, a third of the gradient.
#
# Now move the controls. Set the gain to 0.6 and add layers: which of the five pictures is the first to warn you?
#
# <details><summary>What we see</summary>The first one. Each layer's outputs are about 0.6 times as wide as those before, a needle after six layers, and no gradient had to be computed to see it. The loss at the start, 3.30, never warns.</details>

# %% tags=["live"]
from coursekit.notebook.widgets import play


def draw_study(gain, depth, normalised, lr):
    axes = plt.subplots(1, 5, figsize=(12, 2.8))[1]
    five_pictures(axes, *study(gain, normalised, depth, lr), names="above")


choices = {"gain": [0.3, 0.6, 1.0, 5 / 3, 5.0], "depth": [2, 6, 12, 20]}
play(draw_study, **choices, normalised=[True, False], lr=[0.01, 0.1, 0.5])

# %%
insides = {name: look_inside(deep_start(gain)) for name, gain in gains.items()}
insides["batch norm"] = look_inside(deep_start(5 / 3), our_batch_norm)
ratios = {name: (g[0].std() / g[-1].std()).item() for name, (_, g) in insides.items()}
small, right, large, with_norm = ratios.values()
claim(gradient_ratio_small_gain=small, gradient_ratio_right_gain=right)
claim(gradient_ratio_large_gain=large, batch_norm_makes_it_larger=with_norm / right)

# %% [markdown]
# That is the gradient at layer 1 over that at layer 20, in numbers. Batch norm makes it *worse*. It divides each unit by its own $\sigma$, and the gradient, too: a unit that varies little is divided by a small number and passes a large gradient (Yang et al. 2019).
#
# ## 2.7 One name at a time
#
# Batch norm has a price: what it gives for one example depends on the others in the batch, and a single example has no variance. (Layer norm avoids this: lesson 6.) To be used, the layer needs fixed numbers, running statistics; `model.eval()` switches to them. Train the one-layer network from the third start with the library's layer (its best learning rate is 0.1), and compare its running statistics with those of all examples:

# %%
model = as_library(new_network(scaled, 0.01), normalised=True)
parameters, options = list(model.parameters()), {"loss_of": step_of(model)}
losses = train_network(parameters, 15_000, **options)
curves["+ batch norm"] = losses + train_network(parameters, 5_000, 0.01, seed=8, **options)

model.eval()  # from now on, the running statistics
with torch.no_grad():
    assert_close(model(X_val[:1]), model(X_val[:50])[:1])  # no example sees another
    fourth = log["+ batch norm"] = score(F.cross_entropy(model(X_val), Y_val))
    z = model.hidden[0](model.embedding(X).flatten(1))
error = ((model.hidden[1].running_mean - z.mean(0)).abs() / z.std(0)).mean()
ratio = (model.hidden[1].running_var / z.var(0)).mean()
claim(running_mean_error=error, running_variance_ratio=ratio)

# %% [markdown]
# Two to three per cent of a standard deviation off. Now the whole log. Is the advantage of a good start only a head start, which a longer run makes up? The diamonds are *recorded*, one run each: 200,000 steps at 0.1, and 0.01 in the second half, made once, because they take eight minutes.

# %%
files = ("wild", "small-last-layer", "scaled", "batch-norm")
records = [read_record(f"names-{file}").result for file in files]
print({name: [round(record[name], 4) for record in records] for name in ("train", "validation")})
claim(batch_norm_in_one_layer=fourth.value - third.value)

# %% tags=["figure", "folded"]
left, right = plt.subplots(1, 2, figsize=(7.2, 3.9), width_ratios=[1.4, 1])[1]
for k, (name, losses) in enumerate(curves.items()):
    left.plot(range(15_000, 20_001), np.convolve(losses[14_000:], [1e-3] * 1000, "valid"))
    right.plot(log[name].value, -k, "o", color=f"C{k}", markersize=8)
    right.plot(records[k]["validation"], -k, "D", color=f"C{k}", markerfacecolor="white")
    right.text(log[name].value + 0.015, -k, name, color=f"C{k}", va="center")
left.set(title="Two fixes pay, batch norm doesn't", ylim=(2.1, 2.6), xlabel="step")
left.set_ylabel("loss (nats), mean of 1,000 batches")
right.set(title="● 20,000 steps\n◇ 200,000, recorded", xlim=(2.09, 2.42), yticks=[])
right.set_xlabel("validation loss (nats)")
figure("log", alt="Each fix lowers the curve and the validation loss; batch norm does not.")

# %% [markdown]
# No, it isn't only a head start. In the records, all at the lecture's learning rate, the bad start is still 0.05 behind after 200,000 steps. (The lecture's own log has 2.168, 2.13, 2.1070 and 2.1048 for these four, and 2.1027 for a scale of $W_1$ chosen by eye.)
#
# And batch norm? Compare the last two records: the same loss on validation names, a *higher* one in training. What it gives for an example depends on the rest of its batch, a noise; one explanation is that it makes memorising harder. In our short runs, in one layer that starts well, it doesn't pay.

# %% [markdown] tags=["exercise"]
# > **Exercise 2.5 (build, 20 minutes).** Once trained, a batch norm multiplies and adds fixed numbers, and so does the linear layer before it. Two in a row are one, and that is how such networks are shipped. Write `fold`: return `W2` and `b2` such that `x @ W2 + b2` equals what the normalisation gives for `x @ weights` in evaluation.
# >
# > <details><summary>Hint 1</summary>Write it down for one unit: γ (x·w − μ) / √(σ² + ε) + β. What multiplies x·w? What does not depend on x?</details>
# > <details><summary>Hint 2</summary>The matrix has a row for each input and a column for each unit; the factor belongs to the unit.</details>


# %% tags=["stub"]
def fold(weights, mean, variance, gamma, beta, eps=1e-5): ...  # (n, d), (d,) … -> (n, d), (d,)


# %% tags=["check"]
mlp.check_fold(fold)


# %% tags=["solution"]
def fold(weights, mean, variance, gamma, beta, eps=1e-5):
    factor = gamma / (variance + eps).sqrt()
    return weights * factor, beta - mean * factor


# %%
fold = answer_or(fold, mlp.fold_batch_norm)  # ours until yours is there
linear, norm = model.hidden[:2]  # of the network that was just trained
numbers = norm.running_mean, norm.running_var, norm.weight, norm.bias
W1, b1 = fold(linear.weight.T, *numbers)
h = torch.tanh(model.embedding(X_val).flatten(1) @ W1 + b1)  # no batch norm is left
assert_close(model.output(h), model(X_val), rtol=1e-4, atol=1e-4)

# %% [markdown]
# ## What you now have
#
# - A training loop that you can write without looking.
# - The first check of any model: is its first loss that of an honest guess?
# - A size for the weights that you derived, for tanh and for ReLU.
# - Batch norm, which makes that size matter less, and its traps.
# - Five pictures that tell you whether a start can learn.
#
# **What still fails.** The network stops above the lecture's 2.10, and a table of counts for the same three letters (Kneser–Ney, lesson 1) has 2.06. [Side lesson 2b](02b_training.ipynb) brings one a little larger to 2.07, in a fraction of the time.

# %% tags=["scoreboard"]
scoreboard("names")

# %% [markdown]
# And all along, `backward()` did the work. What does it do? In lesson 3 you find every gradient of this network by hand.

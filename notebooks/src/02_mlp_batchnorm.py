# %% [markdown]
# # 2 · Why does a network fail to start?
#
# You build a small network that guesses the next letter of a name. It trains, but it starts so badly that it never catches up; with twenty layers it may not train at all. What goes wrong, how can you see it, and what fixes it?
#
# **Before**: lessons 0 (tensors, gradients, the training loop) and 1 (pairs of letters, the loss in nats).
#
# **Runs in** {runs_in}. **Study time** {study}.
#
# **Sources**: the network is that of Bengio et al. (2003), in the size of Karpathy's makemore lectures (2022, parts 2 and 3); the gain: LeCun et al. (1998), Glorot and Bengio (2010), He et al. (2015); batch normalisation: Ioffe and Szegedy (2015).

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
from coursekit.notebook.pictures import name_lines, start_pictures, step_pictures

device = setup("02_mlp_batchnorm", seed=42)

# %% tags=["scoreboard"]
scoreboard("names", own=False)

# %% [markdown]
# ## 2.1 Letters as vectors
#
# A table of counts keeps a row for each context, and what it learns about *ema* tells it nothing about *ima*. A network has a chance to notice that *e* and *i* behave alike. (Side lesson 2b checks.)
#
# First the examples: three letters, and the letter that follows. The **validation** names (lesson 1: development names) are kept aside. No network is trained on them. They tell us how good it is, and what learning rate to take.


# %% tags=["data"]
def our_windows(words):
    ids = [[0, 0, 0] + [ord(c) - ord("a") + 1 for c in word] + [0] for word in words]
    return torch.tensor([word[i : i + 4] for word in ids for i in range(len(word) - 3)])


words, validation, _ = data.split_words(data.names())
train, val = our_windows(words).to(device), our_windows(validation).to(device)
X, Y, X_val, Y_val = train[:, :3], train[:, 3], val[:, :3], val[:, 3]
print(f"{len(X):,} examples; those of {words[0]!r}:", X[:4].tolist(), "→", Y[:4].tolist())

# %% [markdown]
# Bengio's idea (2003): give each letter a vector of ten numbers, its **embedding**. The vectors are the rows of a table $C$, which is trained like all weights. The network concatenates three of them to a vector $x$ of thirty numbers. From these it computes 200 **hidden units**, with weights $W_1$, biases $b_1$ and a tanh, and from the hidden units 27 logits. Softmax turns the logits into probabilities.

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
# One more letter of context makes the table 27 times larger. The network needs only 10 × 200 more weights.
#
# ## 2.2 It trains, but look where it starts
#
# Training repeats five things: compute the loss, clear the old gradients, go backward, step downhill, note the loss. Each step looks at a **batch**, a few examples drawn at random. That makes it *stochastic* gradient descent (SGD).


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

# %% tags=["data"]
wild_start = new_network()
wild = train_network(new_network(), 1000)
compare_guess(guess, wild[0], unit="nats")
claim(naive_first_loss=wild[0])

# %% [markdown]
# An honest network that knows nothing gives each letter a probability of 1/27, a loss of $\ln 27 = 3.30$. This one starts at nearly ten times that. What does it believe?

# %% tags=["data"]
with torch.no_grad():
    favourite, letter = forward(wild_start, X)[1].softmax(1).max(1)
claim(favourite=favourite.mean(), favourite_is_right=(letter == Y).float().mean())

# %% [markdown]
# It is almost certain, and its favourite letter is a random one. The reason is the size of the logits. Each adds up 200 products of a hidden number, nearly ±1, and a weight of size 1, and reaches about $\sqrt{200} \approx 14$ (section 2.4 shows why the root). A softmax over such numbers puts almost everything on the largest. And cross-entropy punishes nothing as hard as being certain and wrong.
#
# So make the last layer's weights a hundred times smaller. Then all logits are near 0, and all probabilities near 1/27. Nothing but the start differs:

# %% tags=["data", "figure"]
calm = train_network(new_network(output_scale=0.01), 1000)
claim(scaled_first_loss=calm[0])
plt.figure(figsize=(5.8, 3.6))
plt.plot(wild, linewidth=0.8)
plt.plot(calm, linewidth=0.8)
plt.axhline(np.log(27), linestyle="--", color="black", linewidth=1)
plt.text(20, 28.5, "◀ certain, and wrong")
plt.text(300, 10, "weights from N(0, 1)", color="C0")
plt.text(995, -1.4, "last layer × 0.01 (dashed: ln 27)", color="C1", ha="right")
plt.title("A bad start costs more than a thousand steps")
plt.gca().set(xlabel="step", ylabel="loss (nats per letter)", xlim=(-10, 1000), ylim=(-2.2, 31))
figure("hockey-stick", alt="N(0, 1): from 30 to 4 in 1,000 steps. Small last layer: 3.3 to 2.4.")

# %% [markdown]
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
# > **Exercise 2.1 (investigate, 10 minutes).** If small is good, is *zero* better, or does a layer of zeros stop learning? Guess first. Then make a network with `output_scale=0.0`, take one step with `train_network(network, 1, batch=2000)`, and look at the gradients of $W_1$ and $W_2$: `network[1].grad.norm()` and `network[3].grad.norm()`. Take a second step and look again. Then start with `hidden_scale=0.0` as well. What loss can such a network reach?
# >
# > <details><summary>Hint</summary>The gradient of a weight is its input times the gradient at its output. On its way to the hidden units, the gradient passes through $W_2$.</details>
# >
# > <details><summary>What we found</summary>W2 = 0: in step 1, W1 has a gradient of exactly 0, and W2 one of 0.98. In step 2, W1 has one, too: 0.003. It learns, a step later than its neighbour. Both 0: neither ever gets a gradient, because the hidden units are all 0 as well. Only the last biases learn, and they can learn no more than how frequent each letter is: a loss of 2.82.</details>

# %% [markdown]
# ## 2.3 Saturated units
#
# The first loss is now right. Look one layer further back. The derivative of tanh is $1 - \tanh^2$, and the gradient that arrives at a unit is multiplied by it. A unit beyond ±0.97 passes on less than 6 % of the gradient: it is **saturated** for this example, and learns next to nothing from it.
#
# How many units are, with $W_1$ drawn from N(0, 1)? And with $W_1$ times $\frac53 / \sqrt{30}$? (Section 2.4 says why.)

# %% tags=["data"]
scaled = 5 / 3 / 30**0.5
h = {scale: forward(new_network(scale), X[:1000])[0].detach() for scale in (1, scaled)}
black = {scale: outputs.abs() > 0.97 for scale, outputs in h.items()}
assert torch.equal(black[1], find_saturated(h[1]))  # the library's name for it
claim(saturated_naive=black[1].float().mean(), saturated_scaled=black[scaled].float().mean())

# %% [markdown]
# Does it cost anything? Train the same network from five scales of $W_1$, each with the best of three learning rates:

# %% tags=["data"]
scales = [0.1, 0.3, 1, 3, 10]
end_losses = [
    min(np.mean(train_network(new_network(s, 0.01), 2000, lr)[-500:]) for lr in (0.05, 0.1, 0.2))
    for s in scales
]
claim(best_scale=scales[int(np.argmin(end_losses))])

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
# The best scale, 0.3, is about our $\frac53/\sqrt{30}$, although a quarter of its units are saturated. Too small is bad as well: near 0, tanh is almost a straight line, and the layer adds little. Either mistake costs a few hundredths of a nat: a single layer is forgiving. Twenty will not be.
#
# ## 2.4 How large should weights be?
#
# Let a unit add up $n$ products, $z = w_1x_1 + \dots + w_nx_n$, with weights of mean 0 and standard deviation $g/\sqrt n$, each drawn independently of all the rest. How large is $z^2$ on average? Multiply out. A mixed product such as $w_1x_1 \cdot w_2x_2$ averages to 0, because $w_1$ does, whatever the other three are. What remains is $n$ squares, each $\frac{g^2}{n}$ times the mean of $x^2$:
#
# $$\text{mean}(z^2) = n \cdot \frac{g^2}{n} \cdot \text{mean}(x^2) = g^2 \cdot \text{mean}(x^2)$$
#
# The $n$ is gone: that is what the $\sqrt n$ is for. What is left is the **gain** $g$. It has to make up for what the nonlinearity takes away.
#
# - **ReLU**, max(0, z), sets negative numbers to 0. $z$ and $-z$ are equally likely, so exactly half of mean($z^2$) is lost. To keep the size we need $g^2 \cdot \frac12 = 1$, so $g = \sqrt 2$ (He et al. 2015).
# - **tanh** squeezes, and large numbers most. How much is left of normal numbers with a mean square of 1? Measure it on a million:

# %%
z = torch.randn(1_000_000, generator=torch.Generator().manual_seed(42))
kept = z.tanh().square().mean().item()
claim(tanh_keeps=kept, tanh_gain=kept**-0.5, relu_keeps=z.relu().square().mean())

# %% [markdown]
# So a gain of 1.59 keeps the mean square of $z$ at 1, layer after layer. PyTorch's `calculate_gain("tanh")` is 5/3, a convention a little above it. Try both on fifty layers, beside others:


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
# At a gain of 1, ReLU loses half in each layer. tanh loses more at first, then less and less, but it never stops. Too large a gain makes ReLU explode. tanh cannot explode, it saturates.
#
# On the way back, the gradients meet the same weights. For ReLU, $\sqrt2$ keeps their size, too, when layers are equally wide. For tanh no gain keeps both: at 1.59 the gradients grow a little from layer to layer, at 1 they shrink (Schoenholz et al. 2017). PyTorch calls starts of this kind *Kaiming* or *Xavier initialisation*.

# %% [markdown] tags=["exercise"]
# > **Exercise 2.2 (warm-up, 10 minutes).** Write `our_gain(nonlinearity)`: the gain that keeps the mean square of normal numbers, for any nonlinearity, to half a per cent. Ask it for `F.gelu`, the one inside GPT, and for `torch.sigmoid`. Then send each through fifty layers at its gain, with `mean_squares`. What happens to GELU, and why not to tanh?
# >
# > <details><summary>Hint</summary>The gain is squared in the formula above. A million draws are enough.</details>
# >
# > <details><summary>What we found</summary>1.53 for GELU, and after fifty layers its mean square is 2,000 (with other seeds 1,800 and 1,100). GELU keeps a larger fraction of large numbers: anything slightly too large grows, and then grows faster. tanh keeps a smaller fraction of large numbers, and so it comes back by itself. The sigmoid, at 1.85, stays at 0.3: its size is safe. But compute the outputs themselves: after fifty layers they are the same for all 200 examples. It keeps the size and loses the message.</details>


# %% tags=["stub"]
def our_gain(nonlinearity): ...  # such as torch.tanh -> a number


# %% tags=["check"]
from coursekit.exercises import answer_or, mlp

mlp.check_gain(our_gain)


# %% tags=["solution"]
def our_gain(nonlinearity):
    z = torch.randn(1_000_000)
    return nonlinearity(z).square().mean().item() ** -0.5


# %% [markdown]
# What are the two constants worth, the last layer's 0.01 and the first layer's $\frac53/\sqrt{30}$? Train 20,000 steps from three starts. Each has a learning rate of its own, chosen on the validation names, and a tenth of it in the last quarter.


# %% tags=["nbval-ignore-output"]
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

# %% tags=["nbval-ignore-output"]
from coursekit.sample import sample_text
from coursekit.tokens.vocabulary import Vocabulary

alphabet = Vocabulary(".abcdefghijklmnopqrstuvwxyz")
for name, network in {"untrained": wild_start, **trained}.items():
    model, g = as_library(network), torch.Generator().manual_seed(42)
    written = [sample_text(model, alphabet, "...", 12, g, stop=".") for _ in range(5)]
    print(f"{name:18}", ", ".join(written))
keep_sample(fixed_start=written)

# %% tags=["figure", "folded"]
files = ("wild", "small-last-layer", "scaled")
records = [read_record(f"names-{file}").result["validation"] for file in files]
left, right = plt.subplots(1, 2, figsize=(7.2, 3.8), width_ratios=[1.5, 1])[1]
for k, (name, losses) in enumerate(curves.items()):
    left.semilogy(range(1000, 20_001), np.convolve(losses, [1e-3] * 1000, "valid"))
    left.text(5000, (4.7, 2.7, 2.03)[k], name, color=f"C{k}")
    right.plot(log[name].value, -k, "o", color=f"C{k}", markersize=8)
    right.plot(records[k], -k, "D", color=f"C{k}", markerfacecolor="white")
left.text(14_800, 3.3, "lr falls ▶", ha="right")
left.set(xlabel="step", ylabel="loss (nats), mean of 1,000 batches", ylim=(1.95, 8.3))
left.set_yticks(ticks := [2.1, 2.3, 2.5, 3, 4, 6, 8], ticks)
left.minorticks_off()
left.set_xticks([0, 5000, 10_000, 15_000, 20_000], ["0", "5,000", "10,000", "15,000", "20,000"])
right.set(xlabel="validation loss (nats)", yticks=[], ylim=(-3, 0.5), xlim=(2.09, 2.27))
right.text(2.1, -2.95, "● 20,000 steps\n◇ 200,000, recorded", va="bottom", color="0.3")
plt.suptitle("Each fix of the start lowers the loss")
figure("starts", alt="Three starts: the two fixed ones end lower, after 200,000 steps, too.")

# %% [markdown]
# The diamonds are *recorded* runs of 200,000 steps, all at the lecture's learning rates. Ten times as many steps leave half of the gap: 0.05 nats. (The lecture's own log has 2.168, 2.13 and 2.1070.)
#
# ## 2.5 Twenty layers
#
# One hidden layer trains from any start, well or badly. Now stack twenty, each of 100 units.


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
# **Predict.** At a gain of 5/3, the loss after 1,000 steps is 2.4. What is it at 0.6, which is close to the default of PyTorch's `nn.Linear`?

# %% tags=["predict"]
guess = None  # in nats, such as 2.5


# %% tags=["data"]
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
stuck, _, thrown = bare.values()
p = torch.bincount(Y.cpu()) / len(Y)
claim(stuck_small_gain=stuck[1].value, stuck_large_gain=thrown[1].value)
logits = deep_forward(stuck[2], X[:5000])[1].detach()
claim(logits_vary_small_gain=logits.std(0).mean(), only_frequencies=-(p * p.log()).sum())

# %% [markdown]
# All three begin near an honest 3.30. After 1,000 steps two of them are stuck at 2.84 (on 5,000 training examples). A model that knows how frequent each letter is, and nothing else, has 2.82. At 0.6 the logits are indeed the same for all contexts: only $b_2$ has learnt, which needs no layer before it. Is it the same illness at 5? Section 2.6 looks inside.
#
# **Batch normalisation** (Ioffe and Szegedy 2015) does not predict the size, it enforces it. If the inputs of tanh should have mean 0 and variance 1, then make them so. For each unit, subtract its mean over the $n$ examples of the batch, and divide by its standard deviation:
#
# $$\hat z = \frac{z - \mu}{\sqrt{\sigma^2 + \epsilon}} \qquad \mu = \frac1n\sum_{i=1}^n z_i \qquad \sigma^2 = \frac1n\sum_{i=1}^n (z_i - \mu)^2$$
#
# ($\epsilon = 10^{-5}$ avoids a division by 0.) All of this can be differentiated, so gradients flow through $\mu$ and $\sigma$ as well.


# %% tags=["data"]
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
# All three train. (Without it, none of the learning rates that we tried, 0.0003 to 3, saved the two bad gains.) At the right gain it changes nothing: it is insurance.
#
# Why are the three so close now? Make $W$ three times as large. Then $z - \mu$ is three times as large, and so is $\sigma$: the output is the same. Only the *step* is not. A third of the gradient on three times the weights is a ninth, as if the learning rate were nine times smaller (van Laarhoven 2017). So gain 5 takes steps that are too short, and gain 0.6 steps that are too long: both are a little slower.
#
# The full layer then multiplies $\hat z$ by a trained $\gamma$ and adds a trained $\beta$, which start at 1 and 0. With $\gamma = \sqrt{\sigma^2 + \epsilon}$ and $\beta = \mu$ it could give $z$ back.

# %% [markdown] tags=["exercise"]
# > **Exercise 2.3 (build, 20 minutes).** Write batch norm as a layer, with trained `gamma` and `beta`. In training it normalises with the mean and the variance (1/n) of the batch, then applies `gamma` and `beta`. It also remembers: its **running statistics**, which start at 0 and 1, move a tenth of the way (`momentum`) towards those of the batch. In evaluation it uses the running statistics instead, so that a single example is enough, and leaves them as they are. Two traps: what is *remembered* is the unbiased variance, 1/(n − 1), because the batch is a sample; and no gradient may flow into it.
# >
# > <details><summary>Hint 1</summary>gamma and variance start as ones, beta and mean as zeros; gamma and beta are trained, so they need <code>requires_grad=True</code>. <code>x.var(0, correction=0)</code> divides by n, <code>x.var(0)</code> by n − 1.</details>
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
        self.gamma = torch.ones(d, requires_grad=True)
        self.beta = torch.zeros(d, requires_grad=True)
        self.mean, self.variance = torch.zeros(d), torch.ones(d)

    def __call__(self, x, training):
        mean, variance = self.mean, self.variance
        if training:
            mean, variance = x.mean(0), x.var(0, correction=0)
            self.mean = self.mean.lerp(mean.detach(), self.momentum)
            self.variance = self.variance.lerp(x.detach().var(0), self.momentum)
        return self.gamma * (x - mean) / (variance + self.eps).sqrt() + self.beta


# %% [markdown] tags=["exercise"]
# > **Exercise 2.4 (investigate, 20 minutes).** How large can the learning rate be, with and without? Six layers train in seconds: `train_deep(0.6, norm, steps=500, lr=…, n_layer=6)[1].value`. And which half does the work? Write `subtract_mean(z)`, which only removes the mean over the batch, and `divide(z)`, which only divides by the root of the batch's mean square. Train the twenty layers with each: `train_deep(gain, divide)`. Guess first.
#
# |six layers, gain 0.6; lr|0.03|0.1|0.3|1|3|
# |---|---|---|---|---|---|
# |`None`| | | | | |
# |`our_batch_norm`| | | | | |
#
# |twenty layers; gain|0.6|5/3|5|
# |---|---|---|---|
# |`None`| | | |
# |`subtract_mean`| | | |
# |`divide`| | | |
# |`our_batch_norm`| | | |
#
# > <details><summary>What we found</summary>First table, seed 42. Without: 2.90, 2.64, 2.49, 2.48, fails; with: 2.50, 2.41, 2.43, about 2.75, fails. (At a gain of 5/3, without: 2.51, 2.38, 2.38, 2.58, fails; with: 2.59, 2.42, 2.40, 2.56, fails.) At six layers the limit hardly moves. What changes is the best value: without batch norm a gain that is too small wants a learning rate several times larger; with it, one learning rate works for both gains. Second table. Without either: 2.84, 2.41, 2.84. Only the mean: 2.84, 2.42, 2.82. Only the division: 2.45, 2.37, 2.41. Batch norm: 2.44, 2.41, 2.45. (Rounding alone moves these numbers by 0.03.) It is the division that fixes the start. (RMSNorm, in the GPTs of today, does only that, within one example.)</details>

# %% [markdown]
# ## 2.6 Five pictures of a network
#
# The loss at the start says nothing: it is 3.30 each time. So look inside. Three pictures show a network before its first step:
#
# 1. the outputs of each layer;
# 2. the gradients that arrive there, in powers of ten;
# 3. the gradient of each weight matrix, relative to the weights (a ratio of standard deviations).
#
# To take such pictures of *any* model, PyTorch has **hooks**: functions that a module calls whenever it has computed something. First give our weights to the library's `MLP`, whose batch norm has $\gamma$ and $\beta$. Then catch the outputs of its first tanh:

# %%
network = deep_start(5 / 3)
library = MLP(MLPConfig(vocab_size=27, d_hidden=100, n_hidden=20, normalised=True)).to(device)
for layer, W in zip(library.hidden[::3], network[1:-2], strict=True):  # linear, norm, tanh, …
    layer.weight.data = W.detach().T
library.embedding.weight.data, library.output.weight.data = network[0].data, network[-2].data.T
outputs, logits = deep_forward(network, X[:1000], our_batch_norm)

seen = []
hook = library.hidden[2].register_forward_hook(lambda module, x, output: seen.append(output))
assert_close(library(X[:1000]), logits, rtol=1e-3, atol=1e-3)
hook.remove()
assert_close(seen[0], outputs[0], rtol=1e-3, atol=1e-3)

# %% [markdown]
# The library's `take_snapshot` ([source](../coursekit/inside/diagnose.py)) sets such a hook on each layer and keeps all outputs and gradients. `UpdateLog` notes how far each step moves the weights.


# %%
def train_model(model, steps, lr, batch=32, seed=7):
    def loss_of(_, x, y):
        return F.cross_entropy(model(x), y)

    return train_network(list(model.parameters()), steps, lr, batch, seed, loss_of)


def study(gain, normalised=False, n_layer=20, lr=0.1):
    torch.manual_seed(42)
    sizes = {"d_hidden": 100, "n_hidden": n_layer, "normalised": normalised}
    model = MLP(MLPConfig(vocab_size=27, **sizes), gain=gain).to(device)
    start = take_snapshot(model, X[:1000], Y[:1000], watch=torch.nn.Tanh)
    updates, losses = UpdateLog(model), []
    for step in range(200):
        losses += train_model(model, 1, lr, batch=64, seed=step)
        updates()  # compares the weights with those before the step
    return start, updates.ratios, losses


cases = {"gain 0.6": (0.6,), "gain 5": (5,), "gain 5/3": (5 / 3,), "5 + batch norm": (5, True)}
studies = {name: study(*case) for name, case in cases.items()}

# %% tags=["figure", "folded"]
grid = plt.subplots(3, 4, figsize=(7.2, 6), sharex="row", sharey="row")[1]
for axes, (name, (start, _, _)) in zip(grid.T, studies.items(), strict=True):
    start_pictures(axes, start, names="left" if name == "gain 0.6" else "")
    axes[0].set_title(name)
plt.suptitle("Before the first step: what a good start looks like")
figure("start-pictures", alt="At gain 5/3 or with batch norm, outputs and gradients stay broad.")

# %% [markdown]
# Read it column by column. The first layer is on top.
#
# - **Gain 0.6.** The outputs shrink to a needle at 0. The gradient fades, too, on its way back from layer 20 to layer 1: it is a **vanishing gradient**. A weight's gradient is its input times the gradient at its output. The input shrinks with depth, the gradient against it, and so picture 3 is level, at a millionth.
# - **Gain 5.** Nearly all outputs are saturated. Yet the gradients *grow* on the way back, because large weights multiply them faster than tanh shrinks them: an **exploding gradient**. The same symptom, then, from the opposite illness.
# - **Gain 5/3.** The outputs stay broad. The gradients grow about fivefold.
# - **Gain 5 with batch norm.** Outputs and gradients are again those of 5/3. Relative to the weights, their gradients are a ninth, as promised.
#
# (In picture 3, the last layer stands out because its weights were made a hundred times smaller.)
#
# In numbers, here is the gradient at layer 1 over that at layer 20:

# %% tags=["data"]
ratios = {}
for name, (start, _, _) in studies.items():
    sizes = [gradient.std().item() for gradient in start.gradients.values()]
    ratios[name] = sizes[0] / sizes[-1]
claim(gradient_ratio_small_gain=ratios["gain 0.6"], gradient_ratio_large_gain=ratios["gain 5"])
claim(gradient_ratio_right_gain=ratios["gain 5/3"])
claim(batch_norm_makes_it_larger=ratios["5 + batch norm"] / ratios["gain 5/3"])

# %% [markdown]
# In this respect batch norm is a little *worse* than the right gain. It divides each unit by its own $\sigma$, and on the way back the gradient as well. So a unit that varies little passes back a large gradient (Yang et al. 2019).
#
# Pictures 4 and 5 are taken while the network trains: how far each step moves the weights, relative to them, and the loss.

# %% tags=["figure", "folded"]
grid = plt.subplots(2, 4, figsize=(7.2, 4.2), sharex="row", sharey="row")[1]
for axes, (name, (_, *training)) in zip(grid.T, studies.items(), strict=True):
    step_pictures(axes, *training, names="left" if name == "gain 0.6" else "")
    axes[0].set_title(name)
plt.suptitle("200 steps: frozen, thrown about, or just right")
figure("step-pictures", alt="Updates: at gain 5 as large as the weights, at 0.6 a millionth.")

# %% [markdown]
# In picture 4 each line is a layer, dark for the first. The dotted line is a thousandth, Karpathy's rule of thumb for a healthy step. At 0.6 the first layers hardly move at all. At 5 they are thrown about: some steps are as large as the weights themselves. The other two lie on either side of the dotted line, and the one with longer steps learns faster.
#
# Now set the gain to 0.6 and add layers: which of the five pictures is the first to warn you?
#
# <details><summary>What we see</summary>The first one. Each layer's outputs are about 0.6 times as wide as those before, a needle after six layers, and no gradient had to be computed to see it. The loss at the start, 3.30, never warns.</details>

# %% tags=["live"]
from coursekit.notebook.widgets import play


def draw_study(gain, depth, normalised, lr):
    axes = plt.subplots(1, 5, figsize=(12, 2.8))[1]
    start, *training = study(gain, normalised, depth, lr)
    start_pictures(axes[:3], start, names="above")
    step_pictures(axes[3:], *training, names="above")


choices = {"gain": [0.3, 0.6, 1.0, 5 / 3, 5.0], "depth": [2, 6, 12, 20]}
play(draw_study, **choices, normalised=[True, False], lr=[0.01, 0.1, 0.5])

# %% [markdown]
# ## 2.7 One name at a time
#
# Batch norm has a price. What it gives for one example depends on the others in the batch, and a single example has no variance. To be *used*, the layer needs fixed numbers, its running statistics, and `model.eval()` switches to them.
#
# Give the library's layer to the network of section 2.4, with its third start and a learning rate of its own. Then compare the running statistics with those of all examples:

# %% tags=["data"]
model = as_library(new_network(scaled, 0.01), normalised=True)
train_model(model, 15_000, lr=0.1)
train_model(model, 5_000, lr=0.01, seed=8)

model.eval()  # from now on, the running statistics
with torch.no_grad():
    assert_close(model(X_val[:1]), model(X_val[:50])[:1])  # no example sees another
    fourth = score(F.cross_entropy(model(X_val), Y_val))
    z = model.hidden[0](model.embedding(X).flatten(1))
error = ((model.hidden[1].running_mean - z.mean(0)).abs() / z.std(0)).mean()
claim(running_mean_error=error, batch_norm_in_one_layer=fourth.value - third.value)
print(*(read_record(f"names-{file}").result for file in ("scaled", "batch-norm")))

# %% tags=["figure", "folded"]
rows = torch.randint(len(z), (500, 32), generator=torch.Generator().manual_seed(42))
rows[:, 0] = 0  # the first example, in 500 batches
batches = z.cpu()[rows][..., 0]  # what arrives at the first unit
received = (batches[:, 0] - batches.mean(1)) / batches.std(1, correction=0)
norm = model.hidden[1]
used = ((z[0] - norm.running_mean) / norm.running_var.sqrt())[0].item()
plt.figure(figsize=(5.8, 3.2))
plt.hist(received, bins=40, color="0.75")
plt.axvline(used, color="C3")
plt.gca().set(xlabel="the first example, normalised, at the first unit", ylabel="batches of 32")
plt.title("One example, 500 batches, 500 answers (line: in evaluation)")
figure("one-example", alt="A histogram of the unit's values, and one line: the evaluation mode.")

# %% [markdown]
# In training the same example looks different in every batch. In evaluation it has one value. (The running mean is off by two to three per cent of a standard deviation.)
#
# Does batch norm pay off in a single layer that starts well? No: in our 20,000 steps it is a little worse. In 200,000 recorded ones it comes out level on the validation names, with a *higher* training loss. (The lecture reports 2.1048.) The other examples act as noise, and one explanation is that noise makes memorising harder. Here batch norm pays off in a deep network whose gain is wrong.

# %% [markdown] tags=["exercise"]
# > **Exercise 2.5 (build, 20 minutes).** Once trained, a batch norm multiplies by fixed numbers and adds fixed numbers. So does the linear layer before it, and two such layers in a row are one. That is how these networks are shipped. Write `fold`: return a matrix `A` and a bias `a` such that `x @ A + a` equals what the normalisation gives for `x @ weights` in evaluation.
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
# - The first check of any model: is its first loss that of an honest guess?
# - The gain: how large weights must be, for any nonlinearity.
# - Batch norm, which makes the gain matter less, and its price.
# - Five pictures that tell whether a start can learn.
#
# **What still fails.** The network stops at 2.15, and a table of counts for the same three letters (Kneser–Ney, lesson 1) has 2.06. [Side lesson 2b](02b_training.ipynb) brings a larger one to 2.07, in seconds.

# %% tags=["scoreboard"]
scoreboard("names")

# %% [markdown]
# And all along, `backward()` did the work. What does it do? In lesson 3 you find every gradient of this network by hand.

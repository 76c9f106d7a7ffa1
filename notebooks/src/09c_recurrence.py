# %% [markdown]
# # 9c · Recurrence: what can a network remember?
#
# A table of counts reads four letters, a WaveNet eight. A **recurrent network** reads one step at a time and keeps what it needs in a few numbers, so nothing bounds how far back it can look. Show it a symbol, then more and more letters of noise, and ask which symbol it was: sooner or later it can't say. Why not, and what has to change?
#
# **Afterwards you can** write an RNN and an LSTM from their equations, follow a gradient through fifty steps, and say what each gate is for and how to start it.
#
# **Before**: lessons 1 (tables of counts), 2 (embeddings, tanh), 2b (validation, learning rates, AdamW) and 9b (returns, error bars).
#
# **Runs in** {runs_in}. **Study time** {study}.
#
# **Sources**: Elman (1990) for the RNN, Bengio, Simard and Frasconi (1994) for its gradients, Hochreiter and Schmidhuber (1997) for the LSTM, Gers, Schmidhuber and Cummins (2000) for its forget gate.

# %% tags=["setup", "machine"]
from functools import partial
from itertools import pairwise

import matplotlib.pyplot as plt
import numpy as np
import torch
from torch import nn
from torch.nn import functional as F
from torch.testing import assert_close

from coursekit import data
from coursekit.notebook import Score, claim, claim_order, compare_guess, figure
from coursekit.notebook import keep_sample, scoreboard, setup
from coursekit.notebook.pictures import name_lines
from coursekit.training.fit import fit
from coursekit.training.optimiser import adamw, warm_up_cosine

device = setup("09c_recurrence", seed=42)

# %% [markdown]
# ## 9c.1 A symbol, then noise
#
# First comes one of eight symbols, A to H, then letters that mean nothing, and then the question: which symbol was it? The number of letters in between is the **lag**.

# %%
from coursekit.windows.recall import RECALL_LETTERS, draw_recall


def print_examples(draw, lag):
    for row, answer in zip(*draw(3, lag, torch.Generator().manual_seed(42)), strict=True):
        print("".join(RECALL_LETTERS[k] for k in row), "→", RECALL_LETTERS[answer])


print_examples(draw_recall, lag=20)

# %% [markdown]
# A recurrent network (RNN) mixes each step $x_t$ with the **state** $h_{t-1}$, which is all it kept of the steps before. The weights are the same at every step:
#
# $$h_t=\tanh(W x_t+U h_{t-1}+b)$$
#
# The equation is one line of code, the rest is the loop. (A second vector, `c`, is unused until section 9c.3.) A `Recaller` adds vectors for the sixteen letters, and an output layer that is asked after the last step.


# %%
class OurRNN(nn.Module):
    parts = 1  # vectors that a step computes

    def __init__(self, d_in, d_hidden):
        super().__init__()
        self.input = nn.Linear(d_in, self.parts * d_hidden)  # W and b
        self.hidden = nn.Linear(d_hidden, self.parts * d_hidden, bias=False)  # U

    def step(self, mixed, c):
        return torch.tanh(mixed), c

    def forward(self, x):
        h = c = x.new_zeros(len(x), self.hidden.in_features)  # nothing read yet
        outputs = []
        for read in self.input(x).unbind(1):  # one step after the other
            h, c = self.step(read + self.hidden(h), c)
            outputs.append(h)
        return torch.stack(outputs, 1), (h, c)


# %%
class Recaller(nn.Module):
    def __init__(self, recurrent):
        super().__init__()
        self.vectors = nn.Embedding(16, 16)
        self.recurrent = recurrent
        self.output = nn.Linear(32, 8)

    def forward(self, tokens):
        outputs, _ = self.recurrent(self.vectors(tokens))
        return self.output(outputs[:, -1])


def train_recaller(layer, lag, seed, draw=draw_recall, lr=0.01, steps=300):
    torch.manual_seed(seed)
    net, chance = Recaller(layer(16, 32)), torch.Generator().manual_seed(seed)
    batches = (draw(64, lag, chance) for _ in range(steps))
    fit(net, adamw(net, lr), batches, steps=steps, clip=1.0)
    return net


def ask(net, lag, draw=draw_recall):
    tokens, answers = draw(1000, lag, torch.Generator().manual_seed(2000))  # never trained on
    with torch.no_grad():
        return (net(tokens).argmax(1) == answers).double().mean().item()


# %% [markdown]
# Each lag gets networks of its own, trained for 300 steps of 64 sequences. The score is **accuracy**, the fraction of right answers. Here and below, the learning rate is the best of 0.003, 0.01 and 0.03 for that network and lag, on other sequences and other seeds; at fifty letters, 0.001 and 0.1 were no better.
#
# **Predict.** The network has 32 numbers to keep one of eight symbols in. Up to which lag is its accuracy above a half? Chance is one in eight.

# %% tags=["predict"]
guess = None  # a lag, such as 30

# %% tags=["nbval-ignore-output"]
LAGS, SEEDS = (5, 10, 20, 30, 50), (1, 2, 3)


def right_by_lag(layer, lrs):
    found = []
    for lag, lr in zip(LAGS, lrs, strict=True):
        found.append([ask(train_recaller(layer, lag, seed, lr=lr), lag) for seed in SEEDS])
    return np.array(found)


rnn_right = right_by_lag(OurRNN, (0.01, 0.01, 0.01, 0.01, 0.03))
compare_guess(guess, np.array(LAGS)[rnn_right.mean(1) > 0.5].max().item())
claim(rnn_at_5=rnn_right[0].mean(), rnn_at_50=rnn_right[-1].mean())


# %% tags=["figure", "nbval-ignore-output", "folded"]
def draw_right(ax, right, color, name):
    ax.plot(LAGS, right.mean(1), "-", color=color, label=name)
    ax.plot(LAGS, right, "o", color=color, markersize=5)
    ax.set(xlabel="lag (letters between symbol and question)", ylabel="accuracy", ylim=(0, 1.04))
    ax.set_yticks([0, 0.125, 0.5, 1], ["0", "⅛: chance", "½", "1"])


draw_right(plt.gca(), rnn_right, "C0", "RNN")
plt.title("The farther back the symbol, the less is recalled (dots: networks; line: mean)")
figure(
    "recall-rnn", alt="Accuracy against lag: 1 at 5, then falling with a wide spread, low at 50."
)

# %% [markdown]
# 32 numbers hold a symbol easily; most networks haven't *learnt* to keep it in 300 steps. So look at how they learn.
#
# ## 9c.2 Fifty factors
#
# The first symbol enters the first state. Whether the weights learn to keep it depends on how much the last state changes with it: on the derivative $\partial h_{50}/\partial h_0$. By the chain rule that is a product of fifty matrices, one a step:
#
# $$\frac{\partial h_{50}}{\partial h_0}=J_{50} \cdots J_2 J_1 \qquad J_t=\frac{\partial h_t}{\partial h_{t-1}}=\operatorname{diag}(1-h_t^2)\; U$$
#
# An orthogonal matrix $Q$ changes no length, so $U=k\,Q$ multiplies each length by $k$. The **norm** of a matrix is the largest factor by which it stretches a vector.

# %%
chance = torch.Generator().manual_seed(42)
Q, _ = torch.linalg.qr(torch.randn(32, 32, generator=chance).double())  # qr makes it orthogonal
inputs = 0.5 * torch.randn(50, 32, generator=chance).double()  # W x + b of fifty steps


def gradient_norms(matrix, linear=False):
    h, product, norms = torch.zeros(32).double(), torch.eye(32).double(), []
    for read in inputs:
        h = matrix @ h + read if linear else torch.tanh(matrix @ h + read)
        jacobian = matrix if linear else (1 - h**2)[:, None] * matrix  # tanh' = 1 - tanh²
        product = jacobian @ product
        norms.append(torch.linalg.matrix_norm(product, ord=2).item())  # the largest factor
    return norms


# %% [markdown]
# **Predict.** Without the tanh and with $U=Q/2$: what is the norm of $\partial h_{50}/\partial h_0$?

# %% tags=["predict"]
guess = None  # such as 0.01

# %%
curves = {f"linear, {k} Q": gradient_norms(k * Q, linear=True) for k in (0.5, 1.0, 1.5)}
curves["tanh, 1.0 Q"] = gradient_norms(Q)
compare_guess(guess, curves["linear, 0.5 Q"][-1])
claim(norm_of_tanh_1=curves["tanh, 1.0 Q"][-1])


# %% tags=["figure", "folded"]
ax = plt.subplots(figsize=(8.5, 4.8))[1]
for color, (name, norms) in zip(("C0", "0.3", "C3", "0.3"), curves.items(), strict=True):
    ax.semilogy(range(1, 51), norms, color=color, ls="--" if "tanh" in name else "-", label=name)
ax.set(xlim=(0, 51), xlabel="step t", ylabel="norm of ∂h$_t$ / ∂h$_0$")
plt.title("Fifty factors: ½ vanishes, 1½ explodes, and a tanh pulls down")
name_lines(ax)
figure("gradients", alt="Norms over 50 steps: 0.5 falls to 1e-15, 1 stays, 1.5 rises to 6e8.")

# %% [markdown]
# Halved fifty times, a millionth of a billionth is left: the **vanishing gradient**. Multiplied by one and a half, it **explodes**. Without a tanh, only a factor of 1 lets it through unchanged. With one, even $Q$ isn't enough: the derivative of a tanh is at most 1, and fifty of them leave a hundred-thousandth.
#
# An exploding gradient can be clipped: `clip=1.0` in our training scales it down to a norm of 1 if it is larger. A vanished one can't be scaled back, for what the first symbol contributes is drowned by fifty nearer letters. This is the problem of **long-term dependencies**.
#
# ## 9c.3 A memory that adds
#
# A *product* at every step is what kills the gradient. So keep a memory $c$, the **cell state**, and *add* to it:
#
# $$c_t=c_{t-1}+\tanh(W x_t+U h_{t-1}+b) \qquad h_t=\tanh(c_t)$$
#
# Directly from $c_{t-1}$ to $c_t$ the factor is now 1. Hochreiter and Schmidhuber called this path the **constant error carousel**.


# %%
class OurAdder(OurRNN):
    def step(self, mixed, c):
        c = c + torch.tanh(mixed)  # new: it adds
        return torch.tanh(c), c


# %% [markdown]
# A memory that only adds should be bad at something, too. So here is a second task: symbols come up again and again; which came *last*? One task asks a memory to keep, the other to overwrite.

# %%
draw_last = partial(draw_recall, again=0.06)
print_examples(draw_last, lag=50)

# %% [markdown]
# Which network learns which task, over 50 steps? We train on one, and ask both.


# %% tags=["nbval-ignore-output"]
def three_seeds(name, layer, train_on, lr=0.01, **how):
    nets = [train_recaller(layer, 50, k, train_on, lr, **how) for k in SEEDS]
    right = np.array([[ask(net, 50, draw) for net in nets] for draw in (draw_recall, draw_last)])
    print(f"{name:24} first, last:", *right.round(2).tolist())
    return right


adder_first, _ = three_seeds("adder, trained on first", OurAdder, draw_recall)
_, adder_last = three_seeds("adder, trained on last", OurAdder, draw_last)
rnn_first, rnn_last = three_seeds("RNN, trained on last", OurRNN, draw_last)
claim(adder_first=adder_first.mean(), adder_last=adder_last.mean())
claim(rnn_last=rnn_last.mean(), rnn_first_after_last=rnn_first.mean())

# %% [markdown]
# The adder learns to keep, not to overwrite: to forget, it must add the exact opposite of what it holds. Multiplying by 0 would do it at once. The RNN learns to overwrite, and then answers *first*, too, which *first* alone hardly teaches it. So it *can* keep a symbol for fifty letters; the gradient that would teach it from there is what vanishes.
#
# So let the memory *decide* what to multiply by. A **gate** is a number between 0 and 1 for each memory cell, $\sigma(W x_t+U h_{t-1}+b)$ with weights of its own:
#
# - the **forget gate** $f$ multiplies the old memory: 1 keeps it, 0 clears it;
# - the **input gate** $i$ multiplies what is new, $g=\tanh(\ldots)$: noise needn't be stored;
# - the **output gate** $o$ multiplies what leaves the memory: what is kept for later needn't interfere now.
#
# $$c_t=f \odot c_{t-1}+i \odot g \qquad h_t=o \odot \tanh(c_t)$$
#
# That is the **LSTM** (long short-term memory), where $\odot$ multiplies number by number. (Hochreiter and Schmidhuber's had no $f$; a **GRU**, Cho et al. 2014, makes do with two gates and no separate memory.) Along the top of the picture its memory goes straight through, and the factor at each step is $f$: the network decides itself how fast its gradient vanishes.

# %% tags=["figure", "folded"]
from coursekit.notebook.diagram import Diagram

d = Diagram()
spots = {"c before": (0, 0), "c": (4, 1), "h": (4, 4), "x": (1, 5), "h before": (2, 5)}
for name, spot in spots.items():
    text = f"${name[0]}_{{t-1}}$" if "before" in name else f"${name}_t$"
    d.box(name, *spot, kind="data", text=text)
for name, spot in {"keep": (0, 1), "add": (2, 1), "write": (2, 2), "say": (4, 3)}.items():
    d.box(name, *spot, text="+" if name == "add" else "×")
d.box("tanh", 4, 2)
for column, gate in enumerate("figo"):
    d.box(gate, column, 3, text="tanh" if gate == "g" else "σ")
d.box("mix", 0, 4, kind="parameters", columns=4, text="$W x_t + U h_{t-1} + b$")
for path in ("c before|keep|add|c|tanh|say|h", "x|mix", "h before|mix", "write|add"):
    for tail, head in pairwise(path.split("|")):
        d.arrow(tail, head)
for gate, head in zip("figo", ("keep", "write", "write", "say"), strict=True):
    d.arrow("mix", gate)
    d.arrow(gate, head, f"${gate}$", route="|-")
d.draw()
figure(
    "lstm-cell", alt="Old memory times f, plus i times g, is the new one; o times its tanh leaves."
)

# %% [markdown] tags=["exercise"]
# > **Exercise 9c.1 (build, 20 minutes).** One step of an LSTM.
# >
# > **Warm-up (5 minutes).** A forget gate is $\sigma(b)$ at every step. Write `our_forget_bias(steps, left)`: the bias $b$ for which the fraction `left` of a memory is still there after so many steps.
# >
# > **Build (15 minutes).** Write `our_lstm_step(mixed, c)`. `mixed` (B, 4 D) holds the numbers of `i`, `f`, `g` and `o` side by side, in this order, *before* their σ and tanh; `c` (B, D) is the memory. Return the output `h` and the new memory, both (B, D). Gradients must go back through your step to `mixed` and to `c`.
# >
# > <details><summary>Hint 1</summary>Of which number is `left` the power `steps`? And σ is undone by ln(p / (1 − p)).</details>
# > <details><summary>Hint 2</summary>`mixed.chunk(4, -1)` cuts the four apart. Three of them are gates, one is not. If the check says that something was changed, look for `*=` or `+=`: they write into the old memory, which the backward pass still needs. If a gradient is 0, look for `detach`.</details>


# %% tags=["stub"]
def our_forget_bias(steps, left): ...


# %% tags=["check"]
from coursekit.exercises import recurrence
from coursekit.exercises.stub import answer_or

recurrence.check_forget_bias(our_forget_bias)


# %% tags=["solution"]
def our_forget_bias(steps, left):
    gate = left ** (1 / steps)
    return np.log(gate / (1 - gate))


# %% tags=["stub"]
def our_lstm_step(mixed, c): ...


# %% tags=["check"]
from coursekit.layers.recurrent import lstm_step

recurrence.check_lstm_step(our_lstm_step)


# %% tags=["solution"]
def our_lstm_step(mixed, c):
    i, f, g, o = mixed.chunk(4, -1)
    c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
    return torch.sigmoid(o) * torch.tanh(c), c


# %%
class OurLSTM(OurRNN):
    parts = 4

    def __init__(self, d_in, d_hidden, forget_bias=1.0):
        super().__init__(d_in, d_hidden)
        bias = torch.zeros(4, d_hidden)
        bias[1] = forget_bias  # f is the second of the four
        self.input.bias.data = bias.flatten()

    step = staticmethod(answer_or(our_lstm_step, lstm_step))


# %% [markdown]
# PyTorch has both as `nn.RNN` and `nn.LSTM`. Given our weights they return our outputs and [the same gradients](../tests/test_recurrent.py), faster. (Their second bias starts at 0 and is trained, too.) From here on we train theirs.


# %%
def hand_over(ours, theirs):
    theirs.weight_ih_l0.data, theirs.weight_hh_l0.data = ours.input.weight, ours.hidden.weight
    theirs.bias_ih_l0.data, theirs.bias_hh_l0.data = ours.input.bias, 0 * ours.input.bias
    return theirs


def rnn(d_in, d_hidden):
    return hand_over(OurRNN(d_in, d_hidden), nn.RNN(d_in, d_hidden, batch_first=True))


def lstm(d_in, d_hidden, forget_bias=1.0):
    ours = OurLSTM(d_in, d_hidden, forget_bias)
    return hand_over(ours, nn.LSTM(d_in, d_hidden, batch_first=True))


ours, x = OurLSTM(3, 5), torch.randn(2, 7, 3)
assert_close(hand_over(ours, nn.LSTM(3, 5, batch_first=True))(x)[0], ours(x)[0])

# %% tags=["nbval-ignore-output"]
after_last, lstm_last = three_seeds("LSTM, trained on last", lstm, draw_last)
lstm_first, _ = three_seeds("LSTM, trained on first", lstm, draw_recall, lr=0.003)
claim(lstm_last=lstm_last.mean(), lstm_first_after_last=after_last.mean())
claim(lstm_first=lstm_first.mean())

# %% [markdown]
# Like the RNN: taught *last*, it answers both; from *first* alone it learns nothing. It has the gates, but not the gradient.
#
# ## 9c.4 How long a gate stays open
#
# At first the weights are small, and a forget gate is about $\sigma(b)$: its bias $b$, the **forget bias**, decides. With $b=0$ that is a half, the vanishing gradient once more. Jozefowicz and colleagues (2015) advise $b=1$, our choice above. But $\sigma(1)^{50}=0.73^{50}$ is a sixth of a millionth.
#
# To keep a memory for $T$ steps, a gate may lose about $1/T$ of it at each, and $\sigma(b)=1-1/T$ means $b=\ln(T-1)$: about 4 for fifty steps. **Chrono initialisation** (Tallec and Ollivier 2018) draws such a $T$ for each memory cell.
#
# Does the gradient get through? Take an untrained network and measure the gradient of its loss at each letter.


# %%
def gradient_back(net):
    tokens, answers = draw_recall(1000, 50, torch.Generator().manual_seed(42))
    x = net.vectors(tokens).detach().requires_grad_()
    outputs, _ = net.recurrent(x)
    F.cross_entropy(net.output(outputs[:, -1]), answers).backward()
    lengths = x.grad.norm(dim=2).mean(0).flip(0)  # 0, 1, … 50 steps back
    return lengths / lengths[0]


def untrained(layer):
    torch.manual_seed(1)
    return Recaller(layer(16, 32))


lstm_4 = partial(lstm, forget_bias=4.0)
left = {"RNN": OurRNN, "bias 1": lstm, "bias 4": lstm_4, "adder": OurAdder}
left = {name: gradient_back(untrained(layer)) for name, layer in left.items()}
claim(left_rnn=left["RNN"][-1], left_bias_1=left["bias 1"][-1])
claim(left_bias_4=left["bias 4"][-1], left_adder=left["adder"][-1])

# %% tags=["nbval-ignore-output"]
right_1, right_4 = (right_by_lag(layer, [0.003] * 5) for layer in (lstm, lstm_4))
_, asked = draw_recall(1000, 50, torch.Generator().manual_seed(2000))
wrong = (Score(1 - right[-1].mean(), on=asked, steps=300) for right in (right_4, right_1))
claim_order(bias_4_over_1=tuple(wrong))

# %% tags=["figure", "nbval-ignore-output", "folded"]
axes = plt.subplots(1, 2, figsize=(10.5, 4.4))[1]
rights = {"RNN": rnn_right, "bias 1": right_1, "bias 4": right_4}
for color, (name, back) in zip(("C0", "C1", "C2", "C3"), left.items(), strict=True):
    axes[0].semilogy(back, color=color, label=name)
    if name in rights:
        draw_right(axes[1], rights[name], color, name)
axes[1].plot([50] * 3, adder_first, "D", color="C3", markersize=5)
axes[1].text(49, 0.82, "adder", color="C3", ha="right", va="center")
axes[0].set(xlim=(0, 51), xlabel="steps back from the question")
axes[0].set(ylabel="gradient before training (last letter: 1)")
for ax in axes:
    name_lines(ax)
plt.suptitle("An open gate carries the gradient, and the symbol")
figure(
    "forget-bias", alt="Left: gradients by steps back. Right: bias 4 and the adder recall at 50."
)

# %% [markdown]
# In the same 300 steps, an LSTM whose forget bias starts at 4 recalls a symbol after fifty letters, and one whose bias starts at 1 guesses. (Of bias 1's gradient $10^{-4}$ is left, not a sixth of a millionth: a few cells have gates that start wider open.) The adder recalls it, too.
#
# But the RNN's gradient starts far below bias 1's, and yet it recalls more. Does training change it?

# %% tags=["nbval-ignore-output"]
sixty = [gradient_back(train_recaller(OurRNN, 50, k, lr=0.03, steps=60))[-1] for k in SEEDS]
print("RNN, gradient after 60 steps:", *(f"{one:.0e}" for one in sixty))
claim(rnn_after_60=max(sixty))

# %% [markdown]
# In two of three RNNs training lifts it above a half: those that recall best in the end. And can an RNN *start* with a factor of 1? As in section 9c.2: an orthogonal $U$ (Saxe et al. 2014), and inputs so small that the tanh stays near its linear part.


# %% tags=["nbval-ignore-output"]
def orthogonal(d_in, d_hidden, inputs=1.0):
    net = rnn(d_in, d_hidden)
    nn.init.orthogonal_(net.weight_hh_l0)
    net.weight_ih_l0.data, net.bias_ih_l0.data = net.weight_ih_l0 * inputs, net.bias_ih_l0 * inputs
    return net


large, _ = three_seeds("RNN, orthogonal U", orthogonal, draw_recall, lr=0.001)
small = partial(orthogonal, inputs=0.1)
linear, _ = three_seeds("RNN, small inputs, too", small, draw_recall, lr=0.001)
claim(orthogonal_alone=large.mean(), orthogonal_small_inputs=linear.min())

# %% [markdown]
# It recalls. What matters here isn't the gate but the factor near 1.

# %% [markdown] tags=["exercise"]
# > **Exercise 9c.2 (investigate, 25 minutes).** What does it cost to start a gate wider open? Train LSTMs with forget biases 1, 4, 6 and 8 for 300 steps on each task, and ask what they were trained on: first at `lr=0.003`, then at `lr=0.01`. Is one bias best at both tasks? What would you have written after the first half?
# >
# > | bias | 0.003: first, last | 0.01: first, last |
# > |---|---|---|
# > | 1 | | |
# > | 4 | | |
# > | 6 | | |
# > | 8 | | |
# >
# > <details><summary>Hint</summary><code>three_seeds("6", partial(lstm, forget_bias=6.0), draw_recall, lr=0.003)</code>, and <code>draw_last</code> for the other task.</details>
#
# <details><summary>What we found</summary>
#
# | bias | 0.003: first | last | 0.01: first | last |
# |---|---|---|---|---|
# | 1 | 0.13 0.12 0.14 | 1.00 0.98 0.95 | 0.12 0.11 0.14 | 1.00 1.00 1.00 |
# | 4 | 1.00 1.00 1.00 | 0.79 0.60 0.74 | 1.00 1.00 1.00 | 1.00 1.00 1.00 |
# | 6 | 1.00 1.00 1.00 | 0.49 0.52 0.60 | 1.00 1.00 1.00 | 1.00 0.79 0.91 |
# | 8 | 1.00 1.00 0.99 | 0.68 0.53 0.46 | 1.00 1.00 1.00 | 0.99 0.95 0.80 |
#
# After the first half: "None is best at both. A gate that starts open keeps, and doesn't learn to forget." That was the learning rate speaking. At 0.01, bias 4 does both. Wider open still costs: 6 and 8 are behind on *last* after 300 steps. Give each rival its own learning rate, on each task, before you say what a network can't do.
#
# </details>

# %% [markdown]
# ## 9c.5 Names, letter by letter
#
# Now the names. Logits for the next letter come out after *every* step, each with the whole prefix as context. The library's `RecurrentLM` ([source](../coursekit/models/recurrent.py)) does that, with 96 memory cells and some **dropout**: while training, each number between the layers is set to 0 with probability 0.1.

# %% tags=["data", "nbval-ignore-output"]
from coursekit.evaluate.likelihood import NO_TARGET, compare_losses, evaluating, next_token_loss
from coursekit.models.recurrent import RecurrentConfig, RecurrentLM
from coursekit.tokens.vocabulary import Vocabulary
from coursekit.windows.tokens import pad_words, word_windows

vocabulary = Vocabulary(".abcdefghijklmnopqrstuvwxyz")
words, held, _ = data.split_words(data.names())
X, Y = (part.to(device) for part in pad_words(words, vocabulary, NO_TARGET))


def draw_names(chance):
    while True:
        rows = torch.randint(len(X), (256,), generator=chance).to(device)
        longest = (Y[rows] != NO_TARGET).sum(1).max()
        yield X[rows, :longest], Y[rows, :longest]


def train(net, batches, lr, steps, loss):
    options = {"loss": loss, "schedule": warm_up_cosine(steps), "clip": 1.0}
    fit(net, adamw(net, lr), batches, steps=steps, **options)


torch.manual_seed(42)
whole = RecurrentLM(RecurrentConfig(vocab_size=27, d_hidden=96, dropout=0.1)).to(device)
train(whole, draw_names(torch.Generator().manual_seed(42)), 0.02, 2000, next_token_loss)

# %% [markdown]
# Its benchmark is the best table of lesson 1: four letters of context, with Kneser–Ney smoothing.

# %% tags=["data", "nbval-ignore-output"]
from coursekit.models.ngram import NGram, count_ngrams, kneser_ney


def each_loss(net, inputs, targets):
    with evaluating(net):
        logits = net(inputs.to(device)).cpu().flatten(0, -2)
    loss = F.cross_entropy(logits, targets.flatten(), reduction="none")
    return loss[targets.flatten() != NO_TARGET].double()


x_val, y_val = pad_words(held, vocabulary, NO_TARGET)
five = word_windows(held, vocabulary, 5)
table = NGram(kneser_ney(count_ngrams(word_windows(words, vocabulary, 5), 27))).to(device)
by_lstm, by_table = each_loss(whole, x_val, y_val), each_loss(table, five[:, :4], five[:, 4])
claim(lstm_dev_loss=by_lstm.mean(), lstm_ahead=compare_losses(by_table, by_lstm)[1])
scores = (Score(one.mean(), on=five[:, 4]) for one in (by_lstm, by_table))
claim_order(lstm_over_table=tuple(scores))

# %% [markdown]
# On the same letters, the LSTM is 2.5 standard errors ahead of the table. The WaveNet of lesson 4 is 0.011 nats ahead of the LSTM, 2.2 such errors. Learning rate and dropout were chosen on these names, which flatters the LSTM a little.
#
# Where does it gain? Up to three letters both know the whole prefix; from four on, only the LSTM does. Its samples are on the scoreboard at the end.

# %% tags=["data", "nbval-ignore-output"]
known_letters = (y_val != NO_TARGET).nonzero()[:, 1]
gain = [(by_table - by_lstm)[known_letters == t] for t in range(10)]
claim(gain_up_to_three=torch.cat(gain[:4]).mean(), gain_from_four=torch.cat(gain[4:]).mean())

# %% tags=["figure", "data", "nbval-ignore-output", "folded"]
plt.figure(figsize=(8.5, 4))
errors = [2 * one.std() / len(one) ** 0.5 for one in gain]
plt.errorbar(range(10), [one.mean() for one in gain], errors, fmt="o", color="C2", capsize=3)
plt.axhline(0, color="0.3", linewidth=1)
plt.gca().set(xticks=range(10), ylabel="nats better than the table")
plt.xlabel("letters before the one predicted (bars: ± 2 standard errors)")
plt.title("The LSTM gains where the table's four letters end")
figure("by-position", alt="Gain over the table by position: not above 0 at first, then rising.")

# %% tags=["data", "nbval-ignore-output"]
from coursekit.sample import sample_text

generator = torch.Generator().manual_seed(42)
write = partial(sample_text, whole, vocabulary, ".", 50, stop=".", cached=True)
keep_sample(lstm=[write(generator) for _ in range(5)])

# %% [markdown]
# ## 9c.6 A recurrence from 1986
#
# Are gates that depend on what they read worth anything? Finance has used a recurrence with constants in their place since 1986: GARCH (Bollerslev), which forecasts tomorrow's **volatility** (lesson 9b) as the variance $v$ of the return $r$:
#
# $$v_{t+1}=\omega+\alpha\, r_t^2+\beta\, v_t$$
#
# It has one memory cell, and keeps a fixed fraction $\beta$ of it. A later form, GJR-GARCH (Glosten, Jagannathan and Runkle 1993), uses $\alpha + \gamma$ in place of $\alpha$ on days when the index falls.
#
# All models forecast each day of 2008 to 2018 the evening before, with parameters from the days before 2008. The loss is that of a normal distribution.

# %% tags=["data"]
from arch import arch_model

from coursekit.evaluate.likelihood import gaussian_nll
from coursekit.models.baselines import garch_variance
from coursekit.windows.pieces import draw_pieces

days, closes = data.sp500()
returns = torch.tensor(closes, dtype=torch.float64).log().diff()
a, b = (sum(day.year < year for day in days[1:]) for year in (2008, 2019))  # a … b - 1: forecast
known, r = returns[:a], returns - returns[:a].mean()


def fit_garch(falls):  # falls = 1: with γ
    _, omega, alpha, *gamma, beta = arch_model(100 * known.numpy(), o=falls).fit(disp="off").params
    rule = {"constant": omega / 1e4, "surprise": alpha, "memory": beta, "fall": sum(gamma)}
    print(f"α {alpha:.3f}, β {beta:.3f}, γ {sum(gamma):.3f}")
    return garch_variance(r, known.var().item(), **rule)[a:b].log() / 2


log_sigma = {"GARCH": fit_garch(0), "GJR-GARCH": fit_garch(1)}

# %% [markdown]
# The network has 8 memory cells, with a forget bias of 3 (about 20 days), and outputs the logarithm of tomorrow's standard deviation. It reads $\tanh z$, the sign of the scaled return with a bounded size, and $\ln |z|$, the size on any scale. Its training pieces are rescaled at random, GARCH's aren't. Sizes, learning rate and steps were chosen on 2005 to 2007. We average the forecasts of five seeds; five others, with `signed=False`, don't see whether a day rose or fell.


# %%
class Volatility(nn.Module):
    def __init__(self, signed):
        super().__init__()
        self.signed, self.recurrent = signed, lstm(2, 8, forget_bias=3.0)
        self.output = nn.Linear(8, 1)

    def forward(self, z):
        move = torch.tanh(z if self.signed else z.abs())
        outputs, _ = self.recurrent(torch.stack([move, (z.abs() + 0.05).log()], -1))
        return self.output(outputs)[..., 0]


def next_day_loss(log_scale, z):
    return gaussian_nll(z, 0 * z, log_scale)[:, 50:].mean()  # 50 days to warm up


def forecast(seed, signed=True):
    torch.manual_seed(seed)
    net, chance = Volatility(signed), torch.Generator().manual_seed(seed)
    z = (r / known.std()).float()
    train(net, draw_pieces(z[:a], 200, 16, chance, spread=0.5), 0.01, 600, next_day_loss)
    with torch.no_grad():
        return net(z[None, : b - 1])[0, a - 1 :].double() + known.std().log()


# %% tags=["data", "nbval-ignore-output"]
seeds = {"LSTM": [forecast(k) for k in range(1, 6)]}
seeds["LSTM, no sign"] = [forecast(k, signed=False) for k in range(1, 6)]
log_sigma |= {name: torch.stack(made).mean(0) for name, made in seeds.items()}


def nll(log_scale):  # of each day
    return gaussian_nll(r[a:b], 0 * log_scale, log_scale)


def ahead(name, other):  # by how many standard errors
    return compare_losses(nll(log_sigma[other]), nll(log_sigma[name]), lags=10)[1]


claim(gjr_over_garch=ahead("GJR-GARCH", "GARCH"), lstm_over_garch=ahead("LSTM", "GARCH"))
claim(lstm_over_gjr=ahead("LSTM", "GJR-GARCH"))
claim(no_sign_over_garch=ahead("LSTM, no sign", "GARCH"))

# %% tags=["figure", "data", "nbval-ignore-output", "folded"]
plt.figure(figsize=(8.5, 3.6))
garch, rows = nll(log_sigma["GARCH"]), ("LSTM, no sign", "LSTM", "GJR-GARCH")
for name, color in zip(rows, ("0.45", "C2", "C1"), strict=True):
    for made in seeds.get(name, []):
        plt.plot((garch - nll(made)).mean(), name, ".", color=color)
    better, errors = compare_losses(garch, nll(log_sigma[name]), lags=10)
    bar = 2 * abs(better / errors)
    plt.errorbar(better, name, xerr=bar, fmt="D", color=color, capsize=4, markersize=8)
plt.axvline(0, color="0.3", linewidth=1)
plt.ylim(-0.6, 2.6)
plt.xlabel("nats a day better than GARCH (◆ averaged forecast, ± 2 standard errors; • one seed)")
plt.title("What the LSTM finds is the sign, and one number is enough for it")
figure("volatility", alt="Gains over GARCH: GJR-GARCH and LSTM above 0, LSTM without sign below.")

# %% [markdown]
# Averaged, five LSTMs are ahead of GARCH by more than two standard errors, and can't be told apart from GJR-GARCH. What have they found? The *sign* of the return, which GARCH squares away: without it they are not ahead of GARCH. Here, gates that read are worth no more than one number, $\gamma$. GJR-GARCH's fit sets $\alpha$ to 0: rises leave no trace, falls do, the **leverage effect** (Black 1976).
#
# ## What you have now
#
# - An RNN and an LSTM, equal to PyTorch's.
# - A reason why fifty letters teach most networks nothing: fifty factors. Gates that start open hold them near 1, and so does an RNN that starts linear.
# - For names a WaveNet is ahead, for volatility a few numbers can't be told apart from an LSTM.
#
# **What it costs.** In a recurrent network $h_{50}$ waits for $h_{49}$; attention (lesson 6) doesn't. But attention compares all pairs: [double the steps](../tests/test_recurrence_lesson.py), and plain attention keeps up to four times the numbers for its backward pass, an LSTM twice.
#
# If gates and what is written read $x_t$ alone, the update is linear in the state, and a parallel **scan** computes all steps in about $\log_2 T$ rounds. Mamba (Gu and Dao 2023), Griffin (De et al. 2024) and minLSTM (Feng et al. 2024) are built on that.
#
# **What still fails.** All that was read must fit into a state of fixed size. Recall is where such networks lose to attention (Arora et al. 2023), so some models mix both.

# %% tags=["scoreboard"]
scoreboard("names")

# %% [markdown]
# The last row has read names letter by letter. But the letters are all there from the start. Why go through them one by one? Lesson 10 lets each look at all the others at once, in both directions: attention without a mask.

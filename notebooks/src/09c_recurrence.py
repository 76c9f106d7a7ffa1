# %% [markdown]
# # 9c · Recurrence: what can a network remember?
#
# A table of counts reads four letters, a WaveNet eight. A **recurrent network** reads one step at a time and keeps what it needs in a few numbers, so nothing bounds how far back it can look. But show it a symbol, then more and more letters of noise, and ask which symbol it was: sooner or later it can't say. Why not, and what has to change?
#
# **Afterwards you can** write an RNN and an LSTM from their equations, follow a gradient through fifty steps, and say how to start a gate.
#
# **Before**: lessons 1 (tables of counts), 2 (embeddings, tanh), 2b (validation, learning rates, AdamW), 4 (WaveNet), 6 (attention) and 9b (returns, error bars).
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
# First comes one of eight symbols, A to H, then letters that mean nothing, and then the question: which symbol was it?

# %%
from coursekit.windows.recall import RECALL_LETTERS, draw_recall


def print_examples(draw, letters):
    tokens, answers = draw(3, letters, torch.Generator().manual_seed(42))
    for row, answer in zip(tokens, answers, strict=True):
        print("".join(RECALL_LETTERS[k] for k in row), "→", RECALL_LETTERS[answer])


print_examples(draw_recall, letters=20)

# %% [markdown]
# A recurrent network (**RNN**) mixes each step $x_t$ with the **state** $h_{t-1}$, which is all it kept of the steps before. The weights are the same at every step:
#
# $$h_t=\tanh(W x_t+U h_{t-1}+b)$$

# %% tags=["figure", "folded"]
from coursekit.notebook.diagram import Diagram

d = Diagram()
shown = {"0": "B", "1": "d", "…": "…", "50": "a"}
for column, (step, letter) in enumerate(shown.items()):
    d.box(f"x{step}", column, 2, kind="data", text=letter)
    d.box(f"h{step}", column, 1, text="… " if step == "…" else f"$h_{{{step}}}$")
    d.arrow(f"x{step}", f"h{step}", "$W$")
for tail, head in pairwise(shown):
    d.arrow(f"h{tail}", f"h{head}", "$U$")
d.box("answer", 3, 0, kind="data", text="B?")
d.arrow("h50", "answer")
d.draw()
figure("unrolled", alt="A chain of states, each from the one before by U; the answer at its end.")

# %% [markdown]
# In code, the equation is one line, the rest a loop.


# %%
class OurRNN(nn.Module):
    def __init__(self, d_in, d_hidden):
        super().__init__()
        self.input = nn.Linear(d_in, d_hidden)  # W and b
        self.hidden = nn.Linear(d_hidden, d_hidden, bias=False)  # U

    def forward(self, x):
        h = x.new_zeros(len(x), self.hidden.in_features)  # nothing read yet
        outputs = []
        for read in self.input(x).unbind(1):  # one step after the other
            h = torch.tanh(read + self.hidden(h))
            outputs.append(h)
        return torch.stack(outputs, 1)


# %% [markdown]
# Each of the sixteen letters gets a vector. After the last step, an output layer predicts the symbol.


# %%
class Recaller(nn.Module):
    def __init__(self, recurrent):
        super().__init__()
        self.vectors = nn.Embedding(16, 16)
        self.recurrent = recurrent
        self.output = nn.Linear(32, 8)

    def forward(self, tokens):
        outputs = self.recurrent(self.vectors(tokens))
        return self.output(outputs[:, -1])


# %% [markdown]
# We train for 300 steps of 64 sequences, and measure the **accuracy**: the fraction of right answers to 1,000 new sequences. Chance is one in eight.


# %%
def train_recaller(layer, letters, seed, draw, lr):
    torch.manual_seed(seed)
    net, generator = Recaller(layer(16, 32)), torch.Generator().manual_seed(seed)
    batches = (draw(64, letters, generator) for _ in range(300))
    fit(net, adamw(net, lr), batches, steps=300, clip=1.0)  # clip: section 9c.2
    return net


def ask(net, letters, draw):
    tokens, answers = draw(1000, letters, torch.Generator().manual_seed(2000))
    with torch.no_grad():
        return (net(tokens).argmax(1) == answers).double().mean().item()


def train_and_ask(name, layer, letters, draw, lr, seeds=(1, 2, 3, 4, 5)):
    nets = [train_recaller(layer, letters, seed, draw, lr) for seed in seeds]
    right = np.array([ask(net, letters, draw) for net in nets])
    print(f"{name:20}", *(f"{one:.2f}" for one in right))
    return nets, right


# %% [markdown]
# Five networks read 5 letters of noise, five read 20, and five 50. (Here and below, each kind has the best of six learning rates for its task, 0.0003 to 0.1, found on other sequences and seeds.)
#
# **Predict.** The state has 32 numbers to keep one of eight symbols in. After fifty letters, how many of the five have an accuracy above a half?

# %% tags=["predict"]
guess = None  # 0 to 5

# %% tags=["nbval-ignore-output"]
train_and_ask("RNN, 5 letters", OurRNN, 5, draw_recall, lr=0.01)
train_and_ask("RNN, 20 letters", OurRNN, 20, draw_recall, lr=0.01)
_, rnn_first = train_and_ask("RNN, 50 letters", OurRNN, 50, draw_recall, lr=0.03)
compare_guess(guess, (rnn_first > 0.5).sum())
claim(rnn_above_half=(rnn_first > 0.5).sum())

# %% [markdown]
# It fits easily. But most networks haven't *learnt* to keep it for fifty letters. Why?
#
# ## 9c.2 Fifty factors
#
# In the picture, $h_0$ has just read the symbol. Whether the weights learn to keep it depends on how much the last state changes with this one: on the derivative $\partial h_{50}/\partial h_0$.
#
# The way back crosses fifty arrows, and by the chain rule each is a factor, a matrix (the derivative of tanh is $1-\tanh^2$):
#
# $$\frac{\partial h_{50}}{\partial h_0}=J_{50} \cdots J_2 J_1 \qquad J_t=\frac{\partial h_t}{\partial h_{t-1}}=\operatorname{diag}(1-h_t^2)\; U$$
#
# Going back like this is **backpropagation through time**.
#
# How large can such a product be? An orthogonal matrix $Q$ changes no length, so $U=k\,Q$ multiplies each length by $k$. The **norm** of a matrix is the largest factor by which it stretches a vector.

# %%
generator = torch.Generator().manual_seed(42)
Q, _ = torch.linalg.qr(torch.randn(32, 32, generator=generator).double())  # qr makes it orthogonal
inputs = 0.5 * torch.randn(50, 32, generator=generator).double()  # W x + b of fifty steps


def gradient_norms(matrix, linear=False):
    h, product, norms = torch.zeros(32).double(), torch.eye(32).double(), []
    for read in inputs:
        h = matrix @ h + read if linear else torch.tanh(matrix @ h + read)
        jacobian = matrix if linear else (1 - h**2)[:, None] * matrix
        product = jacobian @ product
        norms.append(torch.linalg.matrix_norm(product, ord=2).item())  # the largest factor
    return norms


# %% [markdown]
# **Predict.** Without the tanh and with $U=Q/2$: what is the norm of $\partial h_{50}/\partial h_0$?

# %% tags=["predict"]
guess = None  # such as 0.01

# %%
curves = {f"linear, {k} Q": gradient_norms(k * Q, linear=True) for k in (0.5, 1.0, 1.5)}
curves |= {f"tanh, {k} Q": gradient_norms(k * Q) for k in (1.0, 1.5)}
compare_guess(guess, curves["linear, 0.5 Q"][-1])


# %% tags=["figure", "folded"]
ax = plt.subplots(figsize=(8.5, 4.8))[1]
for color, (name, norms) in zip(("C0", "0.3", "C3", "0.3", "C3"), curves.items(), strict=True):
    ax.semilogy(range(1, 51), norms, color=color, ls="--" if "tanh" in name else "-", label=name)
ax.set(xlim=(0, 51), xlabel="step t", ylabel="norm of ∂h$_t$ / ∂h$_0$")
plt.title("Fifty factors: ½ vanishes, 1½ explodes, and a tanh pulls down")
name_lines(ax)
figure("gradients", alt="Over 50 steps 0.5 falls to 1e-15, 1 stays, 1.5 rises to 6e8; tanh: lower.")

# %% [markdown]
# Halved fifty times, a millionth of a billionth is left: the **vanishing gradient**. At a factor of 1.5 it **explodes**. Only a factor of 1 lets it through unchanged.
#
# A tanh makes it smaller still: its derivative is at most 1. For inputs of size 0.5, as here, fifty of them leave a hundred-thousandth, even with $Q$.
#
# An exploding gradient can be **clipped** (Pascanu et al. 2013): where all gradients together, as one vector, are longer than 1, our `clip=1.0` shortens them to 1. A vanished one can't be scaled up, for what the first symbol contributes is drowned by fifty nearer letters.
#
# ## 9c.3 A memory that adds
#
# A *product* at every step is what kills the gradient. So keep a memory $c$, the **cell state**, and *add* to it:
#
# $$c_t=c_{t-1}+g_t \qquad g_t=\tanh(W x_t+U h_{t-1}+b) \qquad h_t=\tanh(c_t)$$
#
# Straight back from $c_t$ to $c_{t-1}$, the factor is now 1: the **constant error carousel** of Hochreiter and Schmidhuber. (A second path, through $h_{t-1}$ and $U$, adds to it.) We call it an **integrator**: an LSTM of 1997 without its gates.


# %%
class OurIntegrator(nn.Module):
    def __init__(self, d_in, d_hidden, parts=1):  # section 9c.4 needs four parts
        super().__init__()
        self.input = nn.Linear(d_in, parts * d_hidden)
        self.hidden = nn.Linear(d_hidden, parts * d_hidden, bias=False)

    def step(self, mixed, c):  # mixed: W x + U h + b
        c = c + torch.tanh(mixed)  # new: it adds
        return torch.tanh(c), c

    def forward(self, x):
        h = c = x.new_zeros(len(x), self.hidden.in_features)
        outputs = []
        for read in self.input(x).unbind(1):
            h, c = self.step(read + self.hidden(h), c)  # new: a memory beside the state
            outputs.append(h)
        return torch.stack(outputs, 1)


# %% [markdown]
# But what is added stays. So here is a second task, *last*: each later letter is a symbol, too, with a probability of 0.06. Which symbol came last?
#
# *First*, the task so far, asks a memory to keep. *Last* asks it to overwrite. Which network learns which, over fifty letters?

# %%
draw_last = partial(draw_recall, again=0.06)
print_examples(draw_last, letters=50)

# %% tags=["nbval-ignore-output"]
rnns, rnn_last = train_and_ask("RNN, last", OurRNN, 50, draw_last, lr=0.01)
_, add_first = train_and_ask("integrator, first", OurIntegrator, 50, draw_recall, lr=0.001)
_, add_last = train_and_ask("integrator, last", OurIntegrator, 50, draw_last, lr=0.001)
claim(rnn_last=rnn_last.mean(), integrator_first=add_first.mean(), integrator_last=add_last.mean())

# %% [markdown]
# In 300 steps the RNN learns *last*, but seldom *first*; the integrator *first*, but not *last*.
#
# **Predict.** Now ask the five RNNs trained on *last* the other question, *first*. What is their mean accuracy?

# %% tags=["predict"]
guess = None  # chance is 0.125

# %% tags=["nbval-ignore-output"]
kept = np.array([ask(net, 50, draw_recall) for net in rnns])
compare_guess(guess, f"{kept.mean():.2f}")
claim(rnn_asked_first=kept.mean())


# %% tags=["figure", "nbval-ignore-output", "folded"]
def draw_learnt(learnt, title):
    ax = plt.subplots(figsize=(8.5, 3.6))[1]
    for k, (task, color, side) in enumerate((("first", "C0", -0.15), ("last", "C1", 0.15))):
        ax.text(side, 1.1, task, color=color, ha="center")
        for column, pair in enumerate(learnt.values()):
            ax.plot(column + side + np.linspace(-0.08, 0.08, 5), pair[k], "o", color=color)
    ax.axhline(1 / 8, color="0.5", ls="--")
    ax.text(len(learnt) - 0.5, 0.15, "chance ", color="0.5", ha="right")
    ax.set_xticks(range(len(learnt)), list(learnt))
    ax.set(xlim=(-0.5, len(learnt) - 0.5), ylim=(0, 1.2), ylabel="accuracy, 5 seeds", title=title)


learnt = {"RNN": (rnn_first, rnn_last), "integrator": (add_first, add_last)}
draw_learnt(learnt | {"RNN trained on last": (kept, rnn_last)}, "Trained on last, an RNN can keep")
figure("adding", alt="RNN: first mostly near chance. Integrator: last. Trained on last: neither.")

# %% [markdown]
# So it *can* keep; fifty letters alone seldom teach it. (*Last* has easier cases: in nearly half, $1-0.94^{10}$, the symbol is among the last ten letters.)
#
# ## 9c.4 A memory with gates
#
# So let the network *decide* what to multiply by. A **gate** is a number between 0 and 1 for each memory cell, $\sigma(W x_t+U h_{t-1}+b)$ with weights of its own:
#
# - the **forget gate** $f$ multiplies the old memory: 1 keeps it, 0 clears it;
# - the **input gate** $i$ multiplies what is new, $g=\tanh(\ldots)$: noise needn't be stored;
# - the **output gate** $o$ multiplies what leaves the memory.
#
# $$c_t=f \odot c_{t-1}+i \odot g \qquad h_t=o \odot \tanh(c_t)$$
#
# That is the **LSTM** (long short-term memory), where $\odot$ multiplies number by number. The memory goes straight along the top, and its factor is $f$.
#
# (Hochreiter and Schmidhuber's had no $f$. A **GRU**, Cho et al. 2014, has two gates and no separate memory.)

# %% tags=["figure", "folded"]
d = Diagram()
spots = {"c_{t-1}": (0, 0), "c_t": (4, 0), "h_t": (4, 3), "x_t": (1, 5), "h_{t-1}": (2, 5)}
for name, spot in spots.items():
    d.box(name, *spot, kind="data", text=f"${name}$")
for name, spot in {"keep": (1, 0), "add": (2, 0), "write": (2, 2), "say": (4, 2)}.items():
    d.box(name, *spot, text="+" if name == "add" else "×")
for name, spot in {"f": (0, 1), "i": (1, 3), "g": (2, 3), "o": (3, 3), "tanh": (4, 1)}.items():
    d.box(name, *spot, text="tanh" if name in ("g", "tanh") else "σ")
d.box("mix", 0, 4, kind="parameters", columns=4, text="$W x_t + U h_{t-1} + b$")
for path in ("c_{t-1}|keep|add|c_t|tanh|say|h_t", "x_t|mix", "h_{t-1}|mix", "write|add"):
    for tail, head in pairwise(path.split("|")):
        d.arrow(tail, head)
for gate, head in zip("figo", ("keep", "write", "write", "say"), strict=True):
    d.arrow("mix", gate)
    d.arrow(gate, head, f"${gate}$", route="-|" if gate == "f" else "|-")
d.draw()
figure("lstm-cell", alt="f times old memory plus i times g: the new one; o lets it out.")

# %% [markdown] tags=["exercise"]
# > **Exercise 9c.1 (build, 15 minutes).** Write one step of an LSTM, `our_lstm_step(mixed, c)`.
# >
# > `mixed` (B, 4 D) holds the numbers of `i`, `f`, `g` and `o` side by side, in this order (PyTorch's), *before* their σ and tanh; `c` (B, D) is the memory. Return the output `h` and the new memory, both (B, D). Gradients must go back through your step to `mixed` and to `c`.
# >
# > <details><summary>Hint 1</summary>`mixed.chunk(4, -1)` cuts the four apart. Three of them are gates, one is not. In the check's first case the input gate is open (30) and the forget gate shut (-30): `c` should be tanh(g).</details>
# > <details><summary>Hint 2</summary>If the check says that something was changed, look for `*=` or `+=`: they write into the old memory, which the backward pass still needs. If a gradient is 0, look for `detach`.</details>


# %% tags=["stub"]
def our_lstm_step(mixed, c): ...


# %% tags=["check"]
from coursekit.exercises import recurrence
from coursekit.exercises.stub import answer_or
from coursekit.layers.recurrent import lstm_step

recurrence.check_lstm_step(our_lstm_step)


# %% tags=["solution"]
def our_lstm_step(mixed, c):
    i, f, g, o = mixed.chunk(4, -1)
    c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
    return torch.sigmoid(o) * torch.tanh(c), c


# %%
class OurLSTM(OurIntegrator):
    # New: the gates, in your step, or in the library's while yours is missing.
    step = staticmethod(answer_or(our_lstm_step, lstm_step))

    def __init__(self, d_in, d_hidden, forget_bias=1.0):
        super().__init__(d_in, d_hidden, parts=4)
        biases = torch.tensor([0.0, forget_bias, 0.0, 0.0])  # i, f (section 9c.5), g, o
        self.input.bias.data = biases.repeat_interleave(d_hidden)


# %% [markdown]
# PyTorch has both networks. With our weights (and its second bias at 0) it returns our outputs. Then we train ours on *last*: does it learn to overwrite?

# %%
x = torch.randn(2, 7, 3).double()
for ours, theirs in ((OurRNN(3, 5), nn.RNN(3, 5)), (OurLSTM(3, 5), nn.LSTM(3, 5))):
    theirs.batch_first = True
    theirs.weight_ih_l0, theirs.weight_hh_l0 = ours.input.weight, ours.hidden.weight
    theirs.bias_ih_l0 = ours.input.bias
    nn.init.zeros_(theirs.bias_hh_l0)
    torch.testing.assert_close(ours.double()(x), theirs.double()(x)[0], rtol=0, atol=1e-12)

# %% tags=["nbval-ignore-output"]
lstms, lstm_last = train_and_ask("LSTM, last", OurLSTM, 50, draw_last, lr=0.01)
claim(lstm_last=lstm_last.min())

# %% [markdown]
# It does, with every seed. What are its gates doing? From its outputs $h$ we compute $i$ and $f$, for all steps at once.

# %% tags=["nbval-ignore-output"]
tokens, _ = draw_last(1000, 50, torch.Generator().manual_seed(2000))
with torch.no_grad():
    x, layer = lstms[0].vectors(tokens), lstms[0].recurrent
    before = F.pad(layer(x), (0, 0, 1, 0))[:, :-1]  # h, one step earlier; at first 0
    i, f, _, _ = (layer.input(x) + layer.hidden(before)).sigmoid().chunk(4, -1)
symbol = tokens < 8
claim(forget_gate_closes_by=f[~symbol].mean() - f[symbol].mean())
claim(input_gate_opens_by=i[symbol].mean() - i[~symbol].mean())

# %% tags=["figure", "nbval-ignore-output", "folded"]
row = (symbol[:, :31].sum(1) == 4).nonzero()[2].item()
order = f[~symbol].mean(0).argsort(descending=True)  # the cells that keep most on top
axes = plt.subplots(2, 1, figsize=(9, 5.6), sharex=True)[1]
for ax, gate, name in zip(axes, (f, i), ("f: keeps", "i: writes"), strict=True):
    image = ax.imshow(gate[row, :31, order].T, aspect="auto", cmap="cividis", vmin=0, vmax=1)
    ax.set(ylabel=f"{name} (32 cells)", yticks=[])
    ax.grid(visible=False)
for step, token in enumerate(tokens[row, :31].tolist()):
    axes[0].text(step, -1, RECALL_LETTERS[token], ha="center", color="k" if token < 8 else "0.5")
axes[1].set_xlabel("step")
plt.colorbar(image, ax=axes, label="gate (0: closed, 1: open)", fraction=0.03, pad=0.02)
axes[0].set_title("At a symbol, forget gates close and input gates open", pad=22)
figure("gates", alt="Forget gates are open at noise and shut at symbols; input gates reverse.")

# %% [markdown]
# Nobody told it what gates are for: at noise it keeps, at a symbol it clears and writes.
#
# ## 9c.5 How a gate should start
#
# **Predict.** Now five new LSTMs train on *first*, where the symbol is always fifty letters back. What is their mean accuracy?

# %% tags=["predict"]
guess = None  # chance is 0.125

# %% tags=["nbval-ignore-output"]
_, lstm_first = train_and_ask("LSTM, first", OurLSTM, 50, draw_recall, lr=0.003)
compare_guess(guess, f"{lstm_first.mean():.2f}")
claim(lstm_asked_first=min(ask(net, 50, draw_recall) for net in lstms))  # trained on last

# %% [markdown]
# Chance, with every seed. Those trained on *last* can all answer *first*; *first* alone doesn't teach it.
#
# At the start the weights are small, and a forget gate is about $\sigma(b)$: its bias $b$, the **forget bias**, decides. Ours was 1, as Jozefowicz et al. (2015) advise. But $\sigma(1)$ is 0.73, and $0.73^{50}$ a sixth of a millionth.

# %% [markdown] tags=["exercise"]
# > **Exercise 9c.2 (warm-up, 5 minutes).** Which bias would be enough? A forget gate is $\sigma(b)$ at every step. Write `our_forget_bias(steps, left)`: the bias $b$ for which the fraction `left` of a memory is still there after so many steps.
# >
# > <details><summary>Hint</summary>A quarter is left after two steps: what was the gate? Do the same for `steps` and `left`, then solve σ(b) = gate for b.</details>


# %% tags=["stub"]
def our_forget_bias(steps, left): ...


# %% tags=["check"]
recurrence.check_forget_bias(our_forget_bias)


# %% tags=["solution"]
def our_forget_bias(steps, left):
    gate = left ** (1 / steps)
    return np.log(gate / (1 - gate))


# %% [markdown]
# A bias of 4 leaves 0.4 after fifty steps. (Starting it near the logarithm of the steps is the idea of *chrono initialisation*, Tallec and Ollivier 2018.) And of the *gradient*? We measure it before training: from the loss back to each letter's vector, compared with that of the last letter.


# %%
def gradients_back(layer):
    torch.manual_seed(1)
    net = Recaller(layer(16, 32))
    tokens, answers = draw_recall(1000, 50, torch.Generator().manual_seed(42))
    vectors = net.vectors(tokens).detach().requires_grad_()
    F.cross_entropy(net.output(net.recurrent(vectors)[:, -1]), answers).backward()
    lengths = vectors.grad.norm(dim=2).mean(0)  # of each letter, over 1,000 sequences
    return lengths.flip(0) / lengths[-1]  # the last letter first


our_lstm_4 = partial(OurLSTM, forget_bias=4.0)
layers = {"RNN": OurRNN, "integrator": OurIntegrator, "bias 1": OurLSTM, "bias 4": our_lstm_4}
left = {name: gradients_back(layer) for name, layer in layers.items()}
claim(left_bias_4=left["bias 4"][-1], left_bias_1=left["bias 1"][-1].log10())
claim(left_integrator=left["integrator"][-1])

# %% tags=["figure", "nbval-ignore-output", "folded"]
ax = plt.subplots(figsize=(8.5, 4.6))[1]
for k, (name, lengths) in enumerate(left.items()):
    ax.semilogy(lengths, color=f"C{k}", label=name)
ax.set(xlim=(0, 51), xlabel="steps back from the question", ylabel="gradient at a letter")
ax.set_title("Before training: bias 1 lets a ten-thousandth through, bias 4 holds on")
name_lines(ax)
figure("forget-bias", alt="50 steps back: RNN 1e-17, bias 1 1e-4, bias 4 0.6, integrator 18.")

# %% [markdown]
# At bias 1 a ten-thousandth arrives, more than $0.73^{50}$: letters open some gates wider, and the path through $U$ adds. (The integrator's gradient even grows. The RNN's $U$ shrinks a vector to about $1/\sqrt3$ on average, and the tanh shrinks it again.) At bias 4 it is more than a half. Does it help?

# %% tags=["nbval-ignore-output"]
opened, open_first = train_and_ask("bias 4, first", our_lstm_4, 50, draw_recall, lr=0.003)
_, open_last = train_and_ask("bias 4, last", our_lstm_4, 50, draw_last, lr=0.01)
_, asked = draw_recall(1000, 50, torch.Generator().manual_seed(2000))
# The same questions, the same number of steps.
wrong = [Score(1 - one.mean(), on=asked, steps=300) for one in (open_first, rnn_first, lstm_first)]
claim_order(bias_4_over_1=(wrong[0], wrong[2]), rnn_over_bias_1=(wrong[1], wrong[2]))
claim(bias_4_last=open_last.mean())
_, asked = draw_recall(1000, 1000, torch.Generator().manual_seed(2000))  # far beyond fifty
far = [np.mean([ask(net, 1000, draw_recall) for net in nets]) for nets in (rnns, opened)]
claim_order(rnn_far_over_bias_4=[Score(1 - one, on=asked, steps=300) for one in far])

# %% tags=["figure", "nbval-ignore-output", "folded"]
learnt |= {"LSTM, bias 1": (lstm_first, lstm_last), "LSTM, bias 4": (open_first, open_last)}
draw_learnt(learnt, "In 300 steps, only open gates learn both tasks")
figure("both-tasks", alt="Trained on each task for 300 steps: only bias 4 comes near 1 on both.")

# %% [markdown]
# Gates that start open learn both: *first* with every seed, *last* with nearly every one. (An LSTM has four times an RNN's weights.)
#
# And *first* over 1,000 letters? Trained on *last*, RNNs keep longer than LSTMs: 0.95 against 0.91 (bias 1) and 0.55 (bias 4). Bias 4 trained on *first* itself reaches 0.71.
#
# But the start isn't everything: the RNN's gradient is the smallest by far, and still some RNNs learn a part of *first*, bias 1 nothing. Weights move in training, and gradients with them. Two other ways are [tested](../tests/test_recurrence_lesson.py), each with two seeds above 0.95:
#
# - bias 1, trained on noise of 0 to 50 letters: easy cases teach it;
# - an RNN whose $U$ starts orthogonal (Saxe et al. 2014) and whose inputs start small: factors near 1, without a gate.

# %% [markdown] tags=["exercise"]
# > **Exercise 9c.3 (investigate, 25 minutes).** What does it cost to start a gate wider open? Train three LSTMs with each of the forget biases 1, 4, 6 and 8 on each task (three seconds a network), first at `lr=0.003`, then at `lr=0.01`. Is one bias best at both tasks? What would you have written after the first half?
#
# |bias|0.003: first, last|0.01: first, last|
# |---|---|---|
# |1|||
# |4|||
# |6|||
# |8|||
#
# > <details><summary>Hint</summary><code>train_and_ask("6", partial(OurLSTM, forget_bias=6.0), 50, draw_recall, 0.003, (1, 2, 3))</code>, and <code>draw_last</code> for the other task.</details>
#
# <details><summary>What we found</summary>
#
# | bias | 0.003: first | last | 0.01: first | last |
# |---|---|---|---|---|
# | 1 | 0.12 0.12 0.14 | 1.00 1.00 1.00 | 0.12 0.12 0.13 | 1.00 1.00 1.00 |
# | 4 | 1.00 1.00 1.00 | 0.92 0.81 0.88 | 1.00 1.00 1.00 | 1.00 1.00 1.00 |
# | 6 | 1.00 1.00 1.00 | 0.81 0.69 0.70 | 1.00 1.00 1.00 | 0.99 1.00 1.00 |
# | 8 | 1.00 1.00 1.00 | 0.67 0.66 0.63 | 1.00 1.00 1.00 | 1.00 1.00 1.00 |
#
# After the first half: "None is best at both. A gate that starts open keeps, and doesn't learn to forget." That was the learning rate speaking. At 0.01, biases 4, 6 and 8 do both. Give each rival its own learning rate, on each task, before you say what a network can't do.
#
# </details>

# %% [markdown]
# ## 9c.6 Names: does a longer memory pay?
#
# After *every* step come logits for the next letter, with the whole prefix as context. The library's `RecurrentLM` ([source](../coursekit/models/recurrent.py)) does that, with an LSTM of 96 memory cells.

# %% tags=["data", "nbval-ignore-output"]
from coursekit.evaluate.likelihood import NO_TARGET, compare_losses, evaluating, next_token_loss
from coursekit.models.recurrent import RecurrentConfig, RecurrentLM
from coursekit.tokens.vocabulary import Vocabulary
from coursekit.windows.tokens import pad_words, word_windows

vocabulary = Vocabulary(".abcdefghijklmnopqrstuvwxyz")
words, held, unseen = data.split_words(data.names())
X, Y = (part.to(device) for part in pad_words(words, vocabulary, NO_TARGET))


def draw_names(generator):
    while True:
        rows = torch.randint(len(X), (256,), generator=generator).to(device)
        longest = (Y[rows] != NO_TARGET).sum(1).max()
        yield X[rows, :longest], Y[rows, :longest]


torch.manual_seed(42)
whole = RecurrentLM(RecurrentConfig(vocab_size=27, d_hidden=96, dropout=0.1)).to(device)
options = {"steps": 2000, "loss": next_token_loss, "schedule": warm_up_cosine(2000), "clip": 1.0}
_ = fit(whole, adamw(whole, 0.02), draw_names(torch.Generator().manual_seed(42)), **options)

# %% [markdown]
# Its rival is the best table of lesson 1: four letters, with Kneser–Ney smoothing. Both were chosen on the validation names, so we compare them on the test names.

# %% tags=["data", "nbval-ignore-output"]
from coursekit.models.ngram import NGram, count_ngrams, kneser_ney


def each_loss(net, inputs, targets):
    with evaluating(net):
        logits = net(inputs.to(device)).cpu().flatten(0, -2)
    loss = F.cross_entropy(logits, targets.flatten(), reduction="none")
    return loss[targets.flatten() != NO_TARGET].double()


table = NGram(kneser_ney(count_ngrams(word_windows(words, vocabulary, 5), 27))).to(device)
x_test, y_test = pad_words(unseen, vocabulary, NO_TARGET)
five = word_windows(unseen, vocabulary, 5)  # four letters and the next
by_lstm, by_table = each_loss(whole, x_test, y_test), each_loss(table, five[:, :4], five[:, 4])
claim(lstm_dev_loss=each_loss(whole, *pad_words(held, vocabulary, NO_TARGET)).mean())
claim_order(lstm_over_table=tuple(Score(one.mean(), on=five[:, 4]) for one in (by_lstm, by_table)))

# %% [markdown]
# Where does it gain? We sort the letters by how many came before them in their name. Up to three, the table sees them all, and the start: equal context. (SE: standard error.)

# %% tags=["data", "nbval-ignore-output"]
gain = by_table - by_lstm
name, before = (y_test != NO_TARGET).nonzero().T  # of each letter: its name, how many came before
claim(gain_at_equal_context=gain[before < 4].mean(), gain_at_longer=gain[before > 4].mean())
by_name = torch.zeros(len(unseen)).double().index_add(0, name, gain)  # the sum over each name
claim(lstm_ahead_by_name=by_name.mean() / by_name.std() * len(unseen) ** 0.5)

# %% tags=["figure", "data", "nbval-ignore-output", "folded"]
ax = plt.subplots(figsize=(8.5, 3.8))[1]
ticks = ["0", "1", "2", "3", "4", "5, 6", "7+"]
for k, (low, high) in enumerate(pairwise((0, 1, 2, 3, 4, 5, 7, 99))):
    one = gain[(before >= low) & (before < high)]
    error, color = 2 * one.std() / len(one) ** 0.5, "0.5" if k < 5 else "C0"
    ax.errorbar(k, one.mean(), error, fmt="o", color=color, capsize=4)
    ticks[k] += f"\n{len(one):,}"
ax.axhline(0, color="0.3", linewidth=1)
ax.text(2, 0.09, "the table sees the same letters", ha="center", color="0.4")
ax.set_xticks(range(7), ticks)
ax.set(xlabel="letters before, and how many test letters that is", ylim=(-0.07, 0.12))
ax.set(ylabel="nats better than the table", title="Ahead at 5 and 6 letters, then unclear (± 2 SE)")
figure("names", alt="The gain: near or below 0 to three letters, above at 4 to 6, then unclear.")

# %% [markdown]
# At equal context the LSTM is no better. (At four, the table sees the same letters, but not that they are the first.) From five on, it is 0.04 nats a letter better; in all, two standard errors ahead, counting each name once: a longer memory pays a little. The WaveNet of lesson 4, which reads eight letters, does no worse: 1.970 against 1.981 on the validation names, by which both were chosen.

# %% tags=["data", "nbval-ignore-output"]
from coursekit.sample import sample_text

generator = torch.Generator().manual_seed(42)
draws = (sample_text(whole, vocabulary, ".", 50, generator, ".", cached=True) for _ in range(5))
keep_sample(lstm=list(draws))

# %% [markdown]
# ## 9c.7 An index: does one memory cell beat a window?
#
# Calm and wild days come in runs: the **volatility** of lesson 9b. We forecast the variance of each day's return from the days before it.
#
# A *window* takes the mean square of the last 25 returns (the best of 5, 10, 25, 50 and 100 before 2008).

# %% tags=["data"]
days, closes = data.sp500()
returns = 100 * torch.tensor(closes, dtype=torch.float64).log().diff()  # in per cent
start = sum(day.year < 2008 for day in days[1:])  # 2008 to 2018 is forecast
known = returns[:start]
r = returns - known.mean()
window = r.square().unfold(0, 25, 1).mean(1)[start - 25 : -1]  # each 25 days in a row

# %% [markdown]
# **GARCH** (Bollerslev 1986) has a memory, $v$, to which each day adds the square of its return $r$:
#
# $$v_{t+1}=\beta\, v_t+\alpha\, r_t^2+\omega$$
#
# - $v$ is one memory cell, and the forecast of the variance;
# - $\beta$ is its forget gate and $\alpha$ its input gate, the same every day;
# - $\omega$ keeps $v$ above 0.
#
# The package `arch` finds the three numbers under which the days before 2008 are most likely.

# %% tags=["data"]
from arch import arch_model

_, omega, alpha, beta = arch_model(known.numpy()).fit(disp="off").params  # the first is the mean
print(f"β = {beta:.3f}, α = {alpha:.3f}, ω = {omega:.4f}")


def remember(beta, alpha, omega):
    v, forecast = known.var().item(), []
    for day in r.tolist():
        forecast.append(v)  # for this day, made the evening before
        v = beta * v + alpha * day**2 + omega
    return torch.tensor(forecast, dtype=torch.float64)[start:]


# %% [markdown]
# At $\beta=0.93$, half of a wild day is forgotten after ten days. Its rival **EWMA** (RiskMetrics 1996) fits nothing: $\beta=0.94$, $\alpha=0.06$, $\omega=0$, nearly the same numbers. Which is best? The loss, in nats a day, is $-\ln$ of the normal density with the forecast variance: $\frac12(\ln 2\pi v+r^2/v)$.

# %% tags=["data"]
forecasts = {"one variance": known.var().expand(len(window)), "window": window}
forecasts |= {"EWMA": remember(0.94, 0.06, 0), "GARCH": remember(beta, alpha, omega)}
losses = {name: ((2 * np.pi * v).log() + r[start:] ** 2 / v) / 2 for name, v in forecasts.items()}
for name, one in losses.items():
    print(f"{name:12} {one.mean():.4f}")
claim_order(ewma_over_window=[Score(losses[k].mean(), on=r[start:]) for k in ("EWMA", "window")])
# 10: a day's difference resembles those of the ten days before.
claim(garch_over_window=compare_losses(losses["window"], losses["GARCH"], 10)[1])

# %% tags=["figure", "data", "folded"]
ax = plt.subplots(figsize=(8.5, 4))[1]
dates = [day for day in days if day.year == 2018]
ax.plot(dates, r[-len(dates) :].abs(), ".", color="0.6", label="size of the return")
for name, color in {"window": "C1", "GARCH": "C0"}.items():
    ax.plot(dates, forecasts[name][-len(dates) :].sqrt(), color=color, label=f"{name}: forecast")
ax.text(dates[194], 3.5, "10 October", ha="center")
ax.set(ylim=(0, 5), ylabel="% (forecasts: standard deviation)")
ax.legend(loc="upper center")
ax.text(dates[54], 1.85, "wild days leave ↓", ha="right", color="C1")
ax.set_title("The window drops a wild day all at once, 25 days later; GARCH forgets bit by bit")
figure("volatility", alt="2018: both rise; the window drops a wild day after 25, GARCH decays.")

# %% [markdown]
# GARCH beats the window by 0.0465 nats a day, three and a half standard errors. EWMA has most of that lead, 0.0335 (GARCH over EWMA: 1.7 standard errors). But on 55 % of days the window is better; five days in eleven years, 10 October 2018 above all, hold 45 % of GARCH's lead.
#
# Also [tested](../tests/test_recurrence_lesson.py): a window mixed with a tenth of the variance before 2008 gains 0.028 without gradual forgetting; an LSTM of 8 cells is behind GARCH, by more than 1.5 standard errors; a larger $\alpha$ after falls is ahead, by 5.3.
#
# ## What you have now
#
# - An RNN and an LSTM, equal to PyTorch's, and gates that keep, clear and write.
# - Part of why a symbol fifty letters back is seldom learnt: fifty factors. A forget gate that starts open holds them near 1.
# - What can a network remember? In principle what fits into its state; in practice what its task and its gradients teach it.
#
# **What it costs.** In a recurrent network $h_{50}$ waits for $h_{49}$; attention (lesson 6) doesn't. But [double the steps](../tests/test_recurrence_lesson.py), and plain attention keeps up to four times the numbers for its backward pass, an LSTM twice.
#
# If gates *and* $g$ read $x_t$ alone, all steps can be computed together: Mamba (Gu and Dao 2023), minLSTM (Feng et al. 2024).
#
# **What still fails.** All that was read must fit into a state of fixed size. At looking up what once followed a given word, such networks lose to attention (Arora et al. 2023).

# %% tags=["scoreboard"]
scoreboard("names")

# %% [markdown]
# The last row has read names from left to right, as a forecast must. But where a text is there already, why not look both ways? Lesson 10: attention without a mask.

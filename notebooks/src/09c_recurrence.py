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
import copy
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
# First comes one of eight symbols, A to H, then letters that mean nothing, and then the question: which symbol was it?

# %%
from coursekit.windows.recall import RECALL_LETTERS, draw_recall


def print_examples(draw, letters):
    for row, answer in zip(*draw(3, letters, torch.Generator().manual_seed(42)), strict=True):
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
# The equation is one line of code, the rest is the loop. (`parts` and `c` wait for section 9c.3.) A `Recaller` adds vectors for the sixteen letters, and an output layer that is asked after the last step.


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


# %%
def train_recaller(layer, letters, seed, draw=draw_recall, lr=0.01, steps=300):
    torch.manual_seed(seed)
    net, chance = Recaller(layer(16, 32)), torch.Generator().manual_seed(seed)
    batches = (draw(64, letters, chance) for _ in range(steps))
    if steps:
        fit(net, adamw(net, lr), batches, steps=steps, clip=1.0)  # clip: section 9c.2
    return net


def ask(net, letters, draw=draw_recall):
    tokens, answers = draw(1000, letters, torch.Generator().manual_seed(2000))  # never trained on
    with torch.no_grad():
        return (net(tokens).argmax(1) == answers).double().mean().item()


# %% [markdown]
# We train five networks on 5 letters of noise, five on 20 and five on 50, for 300 steps of 64 sequences. The score is **accuracy**, the fraction of right answers; chance is one in eight. Here and below, each network has the best of four learning rates for its task (0.001 to 0.03), found on other sequences and seeds.
#
# **Predict.** The state has 32 numbers to keep one of eight symbols in. After fifty letters, how many of the five have an accuracy above a half?

# %% tags=["predict"]
guess = None  # 0 to 5

# %% tags=["nbval-ignore-output"]
SEEDS, rnn_right = range(1, 6), {}
for letters, lr in ((5, 0.01), (20, 0.01), (50, 0.03)):
    rnns = [train_recaller(OurRNN, letters, seed, lr=lr) for seed in SEEDS]
    rnn_right[letters] = [ask(net, letters) for net in rnns]
    print(f"{letters:2} letters:", *(f"{right:.2f}" for right in rnn_right[letters]))
above = sum(right > 0.5 for right in rnn_right[50])
compare_guess(guess, above)
claim(rnn_above_half=above)

# %% [markdown]
# 32 numbers hold a symbol easily; most networks haven't *learnt* to keep it for fifty letters. So we look at how they learn.
#
# ## 9c.2 Fifty factors
#
# In the picture, $h_0$ has just read the symbol. Whether the weights learn to keep it depends on how much the last state changes with this one: on the derivative $\partial h_{50}/\partial h_0$. The way back crosses fifty arrows, and by the chain rule each is a factor, a matrix (the derivative of tanh is $1-\tanh^2$):
#
# $$\frac{\partial h_{50}}{\partial h_0}=J_{50} \cdots J_2 J_1 \qquad J_t=\frac{\partial h_t}{\partial h_{t-1}}=\operatorname{diag}(1-h_t^2)\; U$$
#
# Going back through all steps like this is **backpropagation through time**; *truncated*, it stops after so many.
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
curves["tanh, 1.0 Q"] = gradient_norms(Q)
compare_guess(guess, curves["linear, 0.5 Q"][-1])


# %% tags=["figure", "folded"]
ax = plt.subplots(figsize=(8.5, 4.8))[1]
for color, (name, norms) in zip(("C0", "0.3", "C3", "0.3"), curves.items(), strict=True):
    ax.semilogy(range(1, 51), norms, color=color, ls="--" if "tanh" in name else "-", label=name)
ax.set(xlim=(0, 51), xlabel="step t", ylabel="norm of ∂h$_t$ / ∂h$_0$")
plt.title("Fifty factors: ½ vanishes, 1½ explodes, and a tanh pulls down")
name_lines(ax)
figure("gradients", alt="Norms over 50 steps: 0.5 falls to 1e-15, 1 stays, 1.5 rises to 6e8.")

# %% [markdown]
# Halved fifty times, a millionth of a billionth is left: the **vanishing gradient**. At a factor of 1.5 it **explodes**. Without a tanh, only a factor of 1 lets it through unchanged. With one, even $Q$ isn't enough: the derivative of a tanh is at most 1, and fifty of them leave a hundred-thousandth.
#
# An exploding gradient can be **clipped** (Pascanu, Mikolov and Bengio 2013): where its norm exceeds 1, our `clip=1.0` scales it down to 1. A vanished one can't be scaled up, for what the first symbol contributes is drowned by fifty nearer letters.
#
# ## 9c.3 A memory that adds
#
# A *product* at every step is what kills the gradient. So keep a memory $c$, the **cell state**, and *add* to it:
#
# $$c_t=c_{t-1}+g_t \qquad g_t=\tanh(W x_t+U h_{t-1}+b) \qquad h_t=\tanh(c_t)$$
#
# This **integrator** has two paths back from $c_t$ to $c_{t-1}$: a direct one, whose factor is 1 (Hochreiter and Schmidhuber's **constant error carousel**; $I$ is the identity), and one through $h_{t-1}$ and $U$:
#
# $$\frac{\partial c_t}{\partial c_{t-1}}=I+\operatorname{diag}(1-g_t^2)\;U \operatorname{diag}(1-h_{t-1}^2)$$
#
# But what is added stays. So here is a second task, *last*: each later letter is a symbol, too, with a probability of 0.06; which symbol came last? *First* asks a memory to keep, *last* to overwrite. A **leaky integrator** keeps 0.7 of its memory at each step. Which learns which, over fifty letters? We train on one task, and ask both.


# %%
class OurIntegrator(OurRNN):
    keep = 1.0  # the factor

    def step(self, mixed, c):
        c = self.keep * c + torch.tanh(mixed)  # new: it adds
        return torch.tanh(c), c


class OurLeaky(OurIntegrator):
    keep = 0.7


draw_last = partial(draw_recall, again=0.06)
print_examples(draw_last, letters=50)


# %%
def ask_both(name, nets):
    right = np.array([[ask(net, 50, draw) for net in nets] for draw in (draw_recall, draw_last)])
    print(f"{name:22} first, last:", *right.round(2).tolist())
    return right


def try_both(name, layer, train_on, lr=0.01, seeds=(1, 2, 3), steps=300):
    nets = [train_recaller(layer, 50, seed, train_on, lr, steps) for seed in seeds]
    return nets, ask_both(name, nets)


# %% tags=["nbval-ignore-output"]
_, (adds_first, _) = try_both("integrator, on first", OurIntegrator, draw_recall, lr=0.001)
_, (_, adds_last) = try_both("integrator, on last", OurIntegrator, draw_last, lr=0.001)
_, (leaky_first, _) = try_both("leaky, on first", OurLeaky, draw_recall)
_, leaky = try_both("leaky, on last", OurLeaky, draw_last)
claim(integrator_first=adds_first.min(), integrator_last=adds_last.mean())
claim(leaky_first=leaky_first.mean(), leaky_last=leaky[1].mean(), leaky_across=leaky[0].mean())

# %% [markdown]
# In 300 steps the integrator learns to keep but not to overwrite; the leaky one overwrites fairly well, and from *first* alone learns next to nothing. ($0.7^{50}$ is 0.00000002.) Trained on *last*, it still answers *first* in half of the sequences: a gradient comes back through $U$, too.
#
# So let the memory *decide* what to multiply by. A **gate** is a number between 0 and 1 for each memory cell, $\sigma(W x_t+U h_{t-1}+b)$ with weights of its own:
#
# - the **forget gate** $f$ multiplies the old memory: 1 keeps it, 0 clears it;
# - the **input gate** $i$ multiplies what is new, $g=\tanh(\ldots)$: noise needn't be stored;
# - the **output gate** $o$ multiplies what leaves the memory: what is kept for later needn't interfere now.
#
# $$c_t=f \odot c_{t-1}+i \odot g \qquad h_t=o \odot \tanh(c_t)$$
#
# That is the **LSTM** (long short-term memory), where $\odot$ multiplies number by number. (Hochreiter and Schmidhuber's had no $f$; a **GRU**, Cho et al. 2014, has two gates and no separate memory.) Along the top of the picture the memory goes straight through; the direct factor at each step is $f$.

# %% tags=["figure", "folded"]
d = Diagram()
spots = {"c before": (0, 0), "c": (4, 0), "h": (4, 3), "x": (1, 5), "h before": (2, 5)}
for name, spot in spots.items():
    text = f"${name[0]}_{{t-1}}$" if "before" in name else f"${name}_t$"
    d.box(name, *spot, kind="data", text=text)
for name, spot in {"keep": (1, 0), "add": (2, 0), "write": (2, 2), "say": (4, 2)}.items():
    d.box(name, *spot, text="+" if name == "add" else "×")
for name, spot in {"f": (0, 1), "i": (1, 3), "g": (2, 3), "o": (3, 3), "tanh": (4, 1)}.items():
    d.box(name, *spot, text="tanh" if name in ("g", "tanh") else "σ")
d.box("mix", 0, 4, kind="parameters", columns=4, text="$W x_t + U h_{t-1} + b$")
for path in ("c before|keep|add|c|tanh|say|h", "x|mix", "h before|mix", "write|add"):
    for tail, head in pairwise(path.split("|")):
        d.arrow(tail, head)
for gate, head in zip("figo", ("keep", "write", "write", "say"), strict=True):
    d.arrow("mix", gate)
    d.arrow(gate, head, f"${gate}$", route="-|" if gate == "f" else "|-")
d.draw()
figure("lstm-cell", alt="f times old memory plus i times g: the new one; o lets it out.")

# %% [markdown] tags=["exercise"]
# > **Exercise 9c.1 (build, 20 minutes).** One step of an LSTM.
# >
# > **Warm-up (5 minutes).** A forget gate is $\sigma(b)$ at every step. Write `our_forget_bias(steps, left)`: the bias $b$ for which the fraction `left` of a memory is still there after so many steps.
# >
# > **Build (15 minutes).** Write `our_lstm_step(mixed, c)`. `mixed` (B, 4 D) holds the numbers of `i`, `f`, `g` and `o` side by side, in this order (PyTorch's), *before* their σ and tanh; `c` (B, D) is the memory. Return the output `h` and the new memory, both (B, D). Gradients must go back through your step to `mixed` and to `c`.
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
# PyTorch has both as `nn.RNN` and `nn.LSTM`. Given our weights they return our outputs and [the same gradients](../tests/test_recurrent.py), only faster, so we train theirs. (Their second bias we hold at 0.)


# %%
def hand_over(ours, theirs):
    theirs.weight_ih_l0.data, theirs.weight_hh_l0.data = ours.input.weight, ours.hidden.weight
    theirs.bias_ih_l0.data, theirs.bias_hh_l0.data = ours.input.bias, 0 * ours.input.bias
    theirs.bias_hh_l0.requires_grad_(False)  # it stays 0
    return theirs


def rnn(d_in, d_hidden):
    return hand_over(OurRNN(d_in, d_hidden), nn.RNN(d_in, d_hidden, batch_first=True))


def lstm(d_in, d_hidden, forget_bias=1.0):
    ours = OurLSTM(d_in, d_hidden, forget_bias)
    return hand_over(ours, nn.LSTM(d_in, d_hidden, batch_first=True))


ours, x = OurLSTM(3, 5), torch.randn(2, 7, 3)
assert_close(hand_over(ours, nn.LSTM(3, 5, batch_first=True))(x)[0], ours(x)[0])


# %% tags=["nbval-ignore-output"]
def gates_of(net, tokens):  # i and f of all 32 cells
    x, layer = net.vectors(tokens), net.recurrent
    before = F.pad(layer(x)[0], (0, 0, 1, 0))[:, :-1]  # h, one step earlier
    mixed = F.linear(x, layer.weight_ih_l0, layer.bias_ih_l0)
    i, f, _, _ = (mixed + F.linear(before, layer.weight_hh_l0)).sigmoid().chunk(4, -1)
    return i.detach(), f.detach()


lstms, lstm_right = try_both("LSTM, on last", lstm, draw_last, seeds=SEEDS)
tokens, _ = draw_last(1000, 50, torch.Generator().manual_seed(2000))
(i, f), is_symbol = gates_of(lstms[0], tokens), tokens < 8
by_cell = f[~is_symbol].mean(0)  # each forget gate's mean at noise
claim(lstm_both_tasks=lstm_right.min(), most_open_forget_gate=by_cell.max())
claim(forget_gate_closes_by=by_cell.mean() - f[is_symbol].mean())
claim(input_gate_opens_by=i[is_symbol].mean() - i[~is_symbol].mean())

# %% tags=["figure", "nbval-ignore-output", "folded"]
row = (is_symbol[:, :31].sum(1) == 4).nonzero()[2].item()
axes = plt.subplots(2, 1, figsize=(9, 5.6), sharex=True)[1]
for ax, gate, name in zip(axes, (f, i), ("f: keeps", "i: writes"), strict=True):
    cells = gate[row, :31, by_cell.argsort(descending=True)].T  # the most open on top
    image = ax.imshow(cells, aspect="auto", cmap="cividis", vmin=0, vmax=1)
    ax.set(ylabel=f"{name} (32 cells)", yticks=[])
    ax.grid(visible=False)
for step, token in enumerate(tokens[row, :31].tolist()):
    axes[0].text(step, -1, RECALL_LETTERS[token], ha="center", color="k" if token < 8 else "0.5")
axes[1].set_xlabel("step")
plt.colorbar(image, ax=axes, label="gate (0: closed, 1: open)", fraction=0.03, pad=0.02)
axes[0].set_title("At a symbol, forget gates close and input gates open", pad=22)
figure("gates", alt="Forget gates are open at noise and shut at symbols; input gates reverse.")

# %% [markdown]
# Nobody told the network what its gates are for: at noise it keeps, at a symbol it clears and writes.
#
# But even the most open cell keeps only 0.96 at each letter, and $0.96^{50}$ is an eighth. How, then, does the network recall *first*? We cut a path: from $h_{t-1}$ through $U$ to $g$.

# %%
cut = copy.deepcopy(lstms)
for net in cut:
    net.recurrent.weight_hh_l0.data[64:96] = 0  # the third of four blocks of rows: g
claim(first_without_path_to_g=np.mean([ask(net, 50) for net in cut]))

# %% [markdown]
# Now the first symbol is nearly lost, and hardly if a path to a gate is cut instead ([tested](../tests/test_recurrence_lesson.py)). So it takes more than an open gate: it seems that through $U$ the LSTM keeps writing what it still knows.
#
# ## 9c.4 How long a gate stays open
#
# At first the weights are small, and a forget gate is about $\sigma(b)$: its bias $b$, the **forget bias**, decides. Jozefowicz and colleagues (2015) advise $b=1$, our choice above. But $\sigma(1)^{50}=0.73^{50}$ is a sixth of a millionth.
#
# To keep a memory for $T$ steps, a gate may lose about $1/T$ of it at each, and $\sigma(b)=1-1/T$ means $b=\ln(T-1)$: about 4 for fifty steps. (A fraction of $(1-1/T)^T$, about 0.37, is left then: that is `our_forget_bias(50, 0.37)`.) (**Chrono initialisation**, Tallec and Ollivier 2018, draws a $T$ for each cell.)
#
# Does it take a gate? Without one, an orthogonal $U$ (Saxe et al. 2014) gives an RNN a factor near 1, if its inputs are so small, a tenth, that the tanh stays near its linear part. First the gradient at each letter before training (at the last letter: 1).


# %%
def orthogonal(d_in, d_hidden):
    net = rnn(d_in, d_hidden)
    nn.init.orthogonal_(net.weight_hh_l0)
    net.weight_ih_l0.data, net.bias_ih_l0.data = 0.1 * net.weight_ih_l0, 0.1 * net.bias_ih_l0
    return net


def gradient_back(layer, direct_only=False):
    net = train_recaller(layer, 50, seed=1, steps=0)
    if direct_only:  # nothing comes back through U
        net.recurrent.hidden.register_forward_pre_hook(lambda _, inputs: inputs[0].detach())
    tokens, answers = draw_recall(1000, 50, torch.Generator().manual_seed(42))
    x = net.vectors(tokens).detach().requires_grad_()
    outputs, _ = net.recurrent(x)
    F.cross_entropy(net.output(outputs[:, -1]), answers).backward()
    lengths = x.grad.norm(dim=2).mean(0).flip(0)  # 0, 1, … 50 steps back
    return lengths / lengths[0]


# %%
lstm_4, our_4 = partial(lstm, forget_bias=4.0), partial(OurLSTM, forget_bias=4.0)
layers = {"RNN": OurRNN, "bias 1": OurLSTM, "bias 4": our_4, "integrator": OurIntegrator}
left = {name: gradient_back(layer) for name, layer in (layers | {"orthogonal": orthogonal}).items()}
direct = gradient_back(OurLSTM, direct_only=True)
claim(left_bias_4=left["bias 4"][-1], left_bias_1=left["bias 1"][-1].log10())
claim(left_bias_1_direct=direct[-1].log10())

# %% tags=["figure", "nbval-ignore-output", "folded"]
ax = plt.subplots(figsize=(8.5, 4.6))[1]
for k, (name, back) in enumerate(left.items()):
    ax.semilogy(back, color=f"C{k}", label=name)
ax.semilogy(direct, "--", color="C1", label="bias 1, direct path")
ax.set(xlim=(0, 51), xlabel="steps back from the question", ylabel="gradient at a letter")
ax.set_title("Before training: bias 1 lets a ten-thousandth through, bias 4 holds on")
name_lines(ax)
figure("forget-bias", alt="Fifty steps back: RNN 1e-17, bias 1 1e-4, the others 0.1 to 20.")

# %% [markdown]
# At bias 1 more is left than $\sigma(1)^{50}$: letters open some gates wider, so that the direct path (dashed) lets eight millionths through, and the path through $U$ adds the rest. Is it enough?

# %% tags=["nbval-ignore-output"]
_ = ask_both("RNN, on first", rnns)
_, (_, rnn_last) = try_both("RNN, on last", rnn, draw_last, seeds=SEEDS)
_, (turned, _) = try_both("orthogonal, on first", orthogonal, draw_recall, 0.001, SEEDS)
_, (_, turned_last) = try_both("orthogonal, on last", orthogonal, draw_last, seeds=SEEDS)
_, (right_1, _) = try_both("LSTM, bias 1, on first", lstm, draw_recall, 0.003, SEEDS)
_ = ask_both("LSTM, bias 1, on last", lstms)
_, (right_4, _) = try_both("LSTM, bias 4, on first", lstm_4, draw_recall, 0.003, SEEDS)
_, asked = draw_recall(1000, 50, torch.Generator().manual_seed(2000))
wrong = (Score(1 - right.mean(), on=asked, steps=300) for right in (right_4, right_1))
claim_order(bias_4_over_1=tuple(wrong))
claim(orthogonal_first=turned.min(), orthogonal_last=turned_last.mean(), rnn_last=rnn_last.mean())

# %% [markdown]
# It isn't. From *first* alone, where every symbol is fifty letters back, a network learns with every seed if its factor starts near 1, with a gate or without: bias 4, the orthogonal RNN, and in section 9c.3 the integrator.
#
# *Last* is easier: in nearly half of the sequences ($1-0.94^{10}$) the last symbol is among the last ten letters, and weights that work there work farther back. So both RNNs learn much of it, but only the LSTM all of it with every seed. (It has four times their weights.)

# %% [markdown] tags=["exercise"]
# > **Exercise 9c.2 (investigate, 25 minutes).** What does it cost to start a gate wider open? Train three LSTMs with each of the forget biases 1, 4, 6 and 8 for 300 steps on each task (two minutes in all), and note the three accuracies on what they were trained on: first at `lr=0.003`, then at `lr=0.01`. Is one bias best at both tasks? What would you have written after the first half?
#
# | bias | 0.003: first, last | 0.01: first, last |
# |---|---|---|
# | 1 | | |
# | 4 | | |
# | 6 | | |
# | 8 | | |
#
# > <details><summary>Hint</summary><code>try_both("6", partial(lstm, forget_bias=6.0), draw_recall, lr=0.003)</code>, and <code>draw_last</code> for the other task.</details>
#
# <details><summary>What we found</summary>
#
# | bias | 0.003: first | last | 0.01: first | last |
# |---|---|---|---|---|
# | 1 | 0.13 0.13 0.14 | 0.99 0.98 0.93 | 0.12 0.12 0.13 | 1.00 1.00 1.00 |
# | 4 | 1.00 1.00 1.00 | 0.82 0.62 0.72 | 1.00 1.00 1.00 | 1.00 1.00 1.00 |
# | 6 | 1.00 1.00 1.00 | 0.67 0.56 0.61 | 1.00 1.00 1.00 | 1.00 1.00 0.98 |
# | 8 | 1.00 1.00 1.00 | 0.73 0.51 0.56 | 1.00 1.00 1.00 | 1.00 0.71 1.00 |
#
# After the first half: "None is best at both. A gate that starts open keeps, and doesn't learn to forget." That was the learning rate speaking. At 0.01, bias 4 does both, and even of bias 8 two in three do. Give each rival its own learning rate, on each task, before you say what a network can't do.
#
# </details>

# %% [markdown]
# ## 9c.5 Real series: names, and an index
#
# Now the names. Logits for the next letter come out after *every* step, each with the whole prefix as context. The library's `RecurrentLM` ([source](../coursekit/models/recurrent.py)) does that, with 96 memory cells. (And some **dropout**: in training, a random tenth of the numbers between layers is set to 0.)

# %% tags=["data", "nbval-ignore-output"]
from coursekit.evaluate.likelihood import NO_TARGET, compare_losses, evaluating, next_token_loss
from coursekit.models.recurrent import RecurrentConfig, RecurrentLM
from coursekit.tokens.vocabulary import Vocabulary
from coursekit.windows.tokens import pad_words, word_windows

vocabulary = Vocabulary(".abcdefghijklmnopqrstuvwxyz")
words, held, unseen = data.split_words(data.names())
X, Y = (part.to(device) for part in pad_words(words, vocabulary, NO_TARGET))


def draw_names(chance):
    while True:
        rows = torch.randint(len(X), (256,), generator=chance).to(device)
        longest = (Y[rows] != NO_TARGET).sum(1).max()
        yield X[rows, :longest], Y[rows, :longest]


torch.manual_seed(42)
whole = RecurrentLM(RecurrentConfig(vocab_size=27, d_hidden=96, dropout=0.1)).to(device)
batches = draw_names(torch.Generator().manual_seed(42))
options = {"loss": next_token_loss, "schedule": warm_up_cosine(2000), "clip": 1.0}
_ = fit(whole, adamw(whole, 0.02), batches, steps=2000, **options)

# %% [markdown]
# Its rival is the best table of lesson 1: four letters, with Kneser–Ney smoothing. Both were chosen on the validation names, so we compare them on the test names. (SE: standard error.)

# %% tags=["data", "nbval-ignore-output"]
from coursekit.models.ngram import NGram, count_ngrams, kneser_ney


def each_loss(net, inputs, targets):
    with evaluating(net):
        logits = net(inputs.to(device)).cpu().flatten(0, -2)
    loss = F.cross_entropy(logits, targets.flatten(), reduction="none")
    return loss[targets.flatten() != NO_TARGET].double()


table = NGram(kneser_ney(count_ngrams(word_windows(words, vocabulary, 5), 27))).to(device)
x_test, y_test = pad_words(unseen, vocabulary, NO_TARGET)
five = word_windows(unseen, vocabulary, 5)
by_lstm, by_table = each_loss(whole, x_test, y_test), each_loss(table, five[:, :4], five[:, 4])
claim(lstm_dev_loss=each_loss(whole, *pad_words(held, vocabulary, NO_TARGET)).mean())
claim_order(lstm_over_table=tuple(Score(one.mean(), on=five[:, 4]) for one in (by_lstm, by_table)))
gain = by_table - by_lstm
name, before = (y_test != NO_TARGET).nonzero().T  # of each letter: its name, how many came before
by_name = torch.zeros(len(unseen)).double().index_add(0, name, gain)
groups = [gain[before.clamp(max=9) == k] for k in range(10)]
claim(lstm_ahead_by_name=compare_losses(by_name, 0 * by_name)[1])
claim(gain_up_to_two=torch.cat(groups[:3]).mean(), gain_four_to_seven=torch.cat(groups[4:8]).mean())

# %% tags=["figure", "data", "nbval-ignore-output", "folded"]
ax = plt.subplots(figsize=(8.5, 3.8))[1]
for k, one in enumerate(groups):
    error, color = 2 * one.std() / len(one) ** 0.5, "0.5" if k < 4 else "C0"
    ax.errorbar(k, one.mean(), error, fmt="o", color=color, capsize=4)
ax.axhline(0, color="0.3", linewidth=1)
ax.text(3.5, 0.135, "the table sees all of them   |   the table sees four of them", ha="center")
ax.set_xticks(range(10), [f"{k}{'+' * (k > 8)}\n{len(one):,}" for k, one in enumerate(groups)])
ax.set(ylim=(-0.15, 0.16), ylabel="nats better than the table (± 2 SE)")
ax.set_xlabel("letters before, and how many test letters that is")
plt.title("Behind at first, ahead where the table forgets")
figure("names", alt="The gain: below 0 up to two letters before, above from four to seven.")

# %% [markdown]
# Up to two letters both know the whole prefix, and the LSTM is *behind* the counts; from four to seven, where the table forgets, it wins; from eight on, the letters are too few to tell. In all it is ahead by two standard errors, with the letters of a name taken together.
#
# Names are short: beyond eight letters little is left to gain. And the WaveNet of lesson 4, which reads eight, does no worse: 1.970 against 1.981 on the validation names, by which both were chosen.

# %% tags=["data", "nbval-ignore-output"]
from coursekit.sample import sample_text

chance = torch.Generator().manual_seed(42)
draws = (sample_text(whole, vocabulary, ".", 50, chance, ".", cached=True) for _ in range(5))
keep_sample(lstm=list(draws))

# %% [markdown]
# And numbers? Calm and wild days come in runs: the **volatility** of lesson 9b. A *window* forecasts the variance $v$ by the mean square of the last 25 returns (of 5, 10, 25, 50 and 100 the best before 2008). **GARCH** (Bollerslev 1986) has a memory, to which the square of each return $r$ is added:
#
# $$v_{t+1}=\omega+\alpha\, r_t^2+\beta\, v_t$$
#
# That is one memory cell, whose forget gate is always $\beta$, and three fitted parameters. The **EWMA** of RiskMetrics (1996) has none: $\omega=0$, $\alpha=0.06$, $\beta=0.94$, lesson 9b's exponential smoothing, of squares.
#
# Each forecasts every day of 2008 to 2018 from the closes before it; what is fitted is fitted to the days before 2008. The loss is that of a normal distribution. (Twice it, less a constant, is $\ln v+r^2/v$, the field's **QLIKE**.)

# %% tags=["data"]
from arch import arch_model

from coursekit.evaluate.likelihood import gaussian_nll
from coursekit.models.baselines import ewma_variance, garch_variance

days, closes = data.sp500()
returns = torch.tensor(closes, dtype=torch.float64).log().diff()
a, b = (sum(day.year < year for day in days[1:]) for year in (2008, 2019))  # a … b - 1: forecast
known, r = returns[:a], returns - returns[:a].mean()
omega, alpha, beta = arch_model(100 * known.numpy()).fit(disp="off").params[1:]  # in per cent
rule = {"constant": omega / 1e4, "surprise": alpha, "memory": beta}
v = {"window": r[a - 25 : b - 1].square().unfold(0, 25, 1).mean(1)}
v["GARCH"] = garch_variance(r, known.var().item(), **rule)[a:b]
v["EWMA"] = ewma_variance(r, known.var().item())[a:b]
losses = {name: gaussian_nll(r[a:b], 0 * one, one.log() / 2) for name, one in v.items()}
leads = {name: compare_losses(losses["window"], losses[name], 10)[1] for name in ("GARCH", "EWMA")}
claim(garch_over_window=leads["GARCH"], ewma_over_window=leads["EWMA"])

# %% tags=["figure", "data", "nbval-ignore-output", "folded"]
ax = plt.subplots(figsize=(8.5, 4))[1]
years = [day.year + day.timetuple().tm_yday / 366 for day in days[1:]][a:b]
ax.axvspan(2008, 2009, color="0.9")
ax.text(2008.1, 120, "2008", color="0.4")
ax.plot(years, torch.zeros(b - a), color="0.3", label="window of 25 days")
for name, ahead in leads.items():
    gained = (losses["window"] - losses[name]).cumsum(0)
    ax.plot(years, gained, label=f"{name}: {ahead:.1f} SE")
ax.set(xlim=(2008, 2019), ylabel="nats gained on the window so far")
ax.set_title("One memory cell beats a window of days, by a few jumps")
name_lines(ax)
figure("volatility", alt="Nats gained on a window of 25 days: GARCH 130, EWMA 90.")

# %% [markdown]
# Here memory pays: one cell beats the window by more than three standard errors. When? On a few jumps out of calm, hardly in 2008: five days hold 45 % of GARCH's lead. More cells add nothing if they, too, read the size alone: an LSTM of 8 (five seeds' forecasts averaged) comes out behind GARCH, level with the EWMA. What helps is lesson 9b's sign: with one more weight, for falls (GJR: Glosten, Jagannathan and Runkle 1993), GARCH gains five standard errors. [The tests](../tests/test_recurrence_lesson.py) run both.
#
# ## What you have now
#
# - An RNN and an LSTM, equal to PyTorch's, and gates that keep, clear and write.
# - A reason why a symbol fifty letters back is seldom learnt: fifty factors. Gates that start open hold them near 1, and so does an orthogonal $U$.
# - What can a network remember? In principle what fits into its state; in practice what the surviving gradient can teach.
#
# **What it costs.** In a recurrent network $h_{50}$ waits for $h_{49}$; attention (lesson 6) doesn't. But [double the steps](../tests/test_recurrence_lesson.py), and plain attention keeps up to four times the numbers for its backward pass, an LSTM twice. If gates *and* $g$ read $x_t$ alone, a recurrence is linear in the state, and all steps can be computed together, as in Mamba (Gu and Dao 2023) and minLSTM (Feng et al. 2024).
#
# **What still fails.** All that was read must fit into a state of fixed size. At looking up what once followed a given word (associative recall), such networks lose to attention (Arora et al. 2023), so some models mix both.

# %% tags=["scoreboard"]
scoreboard("names")

# %% [markdown]
# The last row has read names letter by letter. But the letters are all there from the start. Why go through them one by one? Lesson 10 lets each look at all the others at once, in both directions: attention without a mask.

# %% [markdown]
# # 9c · Recurrence: what can a network remember?
#
# A table of counts reads four letters, a WaveNet eight. A **recurrent network** reads one step at a time and keeps what it needs in a few numbers, so nothing bounds how far back it can look. (Attention keeps every step, and pays for all pairs.) But show it a symbol, then more and more letters of noise, and ask which symbol it was: sooner or later it can't say. Why not, and what has to change?
#
# **Afterwards you can** write an RNN and an LSTM from their equations, follow a gradient through fifty steps, see gates at work, and say how to start them.
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
# The equation is one line of code, the rest is the loop. (`parts` and a second vector, `c`, wait for section 9c.3.) A `Recaller` adds vectors for the sixteen letters, and an output layer that is asked after the last step.


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
# We train five networks on 5 letters of noise, five on 20 and five on 50, for 300 steps of 64 sequences. The score is **accuracy**, the fraction of right answers; chance is one in eight. Here and below, each network has the best of four learning rates for its task (0.001, 0.003, 0.01, 0.03), found on other sequences and seeds.
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
# An exploding gradient can be clipped: `clip=1.0` in our training scales it down to a norm of 1. A vanished one can't be scaled up, for what the first symbol contributes is drowned by fifty nearer letters.
#
# ## 9c.3 A memory that adds
#
# A *product* at every step is what kills the gradient. So keep a memory $c$, the **cell state**, and *add* to it:
#
# $$c_t=c_{t-1}+\tanh(W x_t+U h_{t-1}+b) \qquad h_t=\tanh(c_t)$$
#
# This is an **integrator**: directly from $c_{t-1}$ to $c_t$ the factor is 1. (Hochreiter and Schmidhuber's **constant error carousel**.)
#
# But what is added stays. So here is a second task: symbols come up again and again; which came *last*? One task asks a memory to keep, the other to overwrite. A **leaky integrator** keeps 0.7 of its memory at each step. Which learns which, over fifty letters? We train on one task, and ask both.


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
def try_both(name, layer, train_on, lr=0.01, seeds=(1, 2, 3), steps=300):
    nets = [train_recaller(layer, 50, seed, train_on, lr, steps) for seed in seeds]
    right = np.array([[ask(net, 50, draw) for net in nets] for draw in (draw_recall, draw_last)])
    print(f"{name:24} first, last:", *right.round(2).tolist())
    return nets, right


# %% tags=["nbval-ignore-output"]
_, (adds_first, _) = try_both("integrator, on first", OurIntegrator, draw_recall, lr=0.001)
_, (_, adds_last) = try_both("integrator, on last", OurIntegrator, draw_last, lr=0.001)
_, (leaky_first, _) = try_both("leaky, on first", OurLeaky, draw_recall)
_, (_, leaky_last) = try_both("leaky, on last", OurLeaky, draw_last)
claim(fixed_factor_own_task=min(*adds_first, *leaky_last))
claim(fixed_factor_other_task=max(*adds_last, *leaky_first))

# %% [markdown]
# In 300 steps the integrator learns to keep, and to overwrite not at all; the leaky one overwrites fairly well, and learns nothing of *first*. Each fixed factor learns one task. (Trained on *last*, the leaky one answers *first* in part: there is another way back, through $U$.)
#
# So let the memory *decide* what to multiply by. A **gate** is a number between 0 and 1 for each memory cell, $\sigma(W x_t+U h_{t-1}+b)$ with weights of its own:
#
# - the **forget gate** $f$ multiplies the old memory: 1 keeps it, 0 clears it;
# - the **input gate** $i$ multiplies what is new, $g=\tanh(\ldots)$: noise needn't be stored;
# - the **output gate** $o$ multiplies what leaves the memory: what is kept for later needn't interfere now.
#
# $$c_t=f \odot c_{t-1}+i \odot g \qquad h_t=o \odot \tanh(c_t)$$
#
# That is the **LSTM** (long short-term memory), where $\odot$ multiplies number by number. (Hochreiter and Schmidhuber's had no $f$; a **GRU**, Cho et al. 2014, has two gates and no separate memory.) Along the top of the picture the memory goes straight through, and the factor at each step is $f$.

# %% tags=["figure", "folded"]
d = Diagram()
spots = {"c before": (0, 0), "c": (4, 1), "h": (4, 4), "x": (1, 5), "h before": (2, 5)}
for name, spot in spots.items():
    text = f"${name[0]}_{{t-1}}$" if "before" in name else f"${name}_t$"
    d.box(name, *spot, kind="data", text=text)
d.box("tanh", 4, 2)
for name, spot in {"keep": (0, 1), "add": (2, 1), "write": (2, 2), "say": (4, 3)}.items():
    d.box(name, *spot, text="+" if name == "add" else "×")
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
# PyTorch has both as `nn.RNN` and `nn.LSTM`. Given our weights they return our outputs and [the same gradients](../tests/test_recurrent.py), only faster. (Their second bias we hold at 0.) Ours learns once, then we train theirs.


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
_ = try_both("our LSTM, on last", OurLSTM, draw_last, seeds=(1,))
_ = try_both("RNN, on last", rnn, draw_last)
lstms, lstm_right = try_both("LSTM, on last", lstm, draw_last)
claim(lstm_both_tasks=lstm_right.min())


# %%
def gates_of(net, tokens):  # i and f, each the mean of 32 cells
    x, layer = net.vectors(tokens), net.recurrent
    before = F.pad(layer(x)[0], (0, 0, 1, 0))[:, :-1]  # h, one step earlier
    mixed = F.linear(x, layer.weight_ih_l0, layer.bias_ih_l0)
    i, f, _, _ = (mixed + F.linear(before, layer.weight_hh_l0)).sigmoid().chunk(4, -1)
    return i.detach().mean(-1), f.detach().mean(-1)


tokens, _ = draw_last(1000, 50, torch.Generator().manual_seed(2000))
(i, f), is_symbol = gates_of(lstms[0], tokens), tokens < 8
claim(forget_gate_closes_by=f[~is_symbol].mean() - f[is_symbol].mean())
claim(input_gate_opens_by=i[is_symbol].mean() - i[~is_symbol].mean())

# %% tags=["figure", "nbval-ignore-output", "folded"]
row = (is_symbol[:, :31].sum(1) == 4).nonzero()[2].item()
ax = plt.subplots(figsize=(9, 3.8))[1]
for step, token in enumerate(tokens[row, :31].tolist()):
    ax.text(step, 1.06, RECALL_LETTERS[token], ha="center", color="black" if token < 8 else "0.5")
ax.plot(f[row, :31], "o-", color="C0", markersize=4, label="f: keeps")
ax.plot(i[row, :31], "o-", color="C1", markersize=4, label="i: writes")
ax.set(xlim=(-0.7, 31), ylim=(0, 1.02), xlabel="step", ylabel="gate (mean of 32 cells)")
ax.set_title("At a symbol the forget gate closes and the input gate opens", pad=22)
name_lines(ax)
figure("gates", alt="f is high at noise and drops at each symbol; i does the reverse.")

# %% [markdown]
# Nobody told the network what its gates are for: at noise it keeps, at a symbol it clears and writes.
#
# The LSTM trained on *last* answers *first*, too, and the RNN nearly as well. Why? In nearly half of the sequences ($1-0.94^{10}$) the last symbol is among the last ten letters: there is a gradient from the start, and weights that work there work farther back. From *first* alone the same LSTM learns nothing, as we see next: it has the gates, but not the gradient.
#
# ## 9c.4 How long a gate stays open
#
# At first the weights are small, and a forget gate is about $\sigma(b)$: its bias $b$, the **forget bias**, decides. Jozefowicz and colleagues (2015) advise $b=1$, our choice above. But $\sigma(1)^{50}=0.73^{50}$ is a sixth of a millionth.
#
# To keep a memory for $T$ steps, a gate may lose about $1/T$ of it at each, and $\sigma(b)=1-1/T$ means $b=\ln(T-1)$: about 4 for fifty steps. (**Chrono initialisation**, Tallec and Ollivier 2018, draws such a $T$ for each memory cell, and starts its input gate at $-b$.)
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


lstm_4 = partial(lstm, forget_bias=4.0)
left = {"RNN": OurRNN, "bias 1": lstm, "bias 4": lstm_4, "integrator": OurIntegrator}
left = {name: gradient_back(train_recaller(layer, 50, 1, steps=0)) for name, layer in left.items()}
claim(left_bias_4=left["bias 4"][-1])

# %% tags=["nbval-ignore-output"]
_, (right_1, _) = try_both("bias 1", lstm, draw_recall, 0.003, SEEDS)
nets_4, (right_4, _) = try_both("bias 4", lstm_4, draw_recall, 0.003, SEEDS)
_, asked = draw_recall(1000, 50, torch.Generator().manual_seed(2000))
wrong = (Score(1 - right.mean(), on=asked, steps=300) for right in (right_4, right_1))
claim_order(bias_4_over_1=tuple(wrong))

# %% tags=["figure", "nbval-ignore-output", "folded"]
axes = plt.subplots(1, 2, figsize=(10.5, 4.4), width_ratios=[3, 2])[1]
rights, lrs = (rnn_right[50], right_1, right_4, adds_first), (0.03, 0.003, 0.003, 0.001)
for k, (name, back) in enumerate(left.items()):
    axes[0].semilogy(back, color=f"C{k}", label=name)
    across = np.arange(len(rights[k])) - (len(rights[k]) - 1) / 2
    axes[1].plot(k + 0.1 * across, sorted(rights[k]), "o", color=f"C{k}")
axes[0].set(xlim=(0, 51), xlabel="steps back from the question")
axes[0].set(title="Gradient before training (last letter: 1)")
name_lines(axes[0])
axes[1].set_xticks(range(4), [f"{name}\nlr {lr}" for name, lr in zip(left, lrs, strict=True)])
axes[1].set_yticks([0, 0.125, 0.5, 1], ["0", "⅛: chance", "½", "1"])
axes[1].set(xlim=(-0.5, 3.5), ylim=(0, 1.04), title="Accuracy after training (dots: seeds)")
plt.suptitle("With gates that start open, every seed learns the symbol")
figure("forget-bias", alt="Left: gradients by steps back. Right: bias 4 and the integrator recall.")

# %% [markdown]
# In the same 300 steps, an LSTM whose forget bias starts at 4 recalls a symbol after fifty letters, and one whose bias starts at 1 guesses. (Its gradient is small, but larger than the gate alone would leave: some comes back through $U$.)
#
# But the RNN's gradient starts far below bias 1's, and yet one of five recalled more than half. We follow the five through training.

# %% tags=["nbval-ignore-output"]
print("seed  accuracy  gradient: at first    after 60 steps        after 300")
for seed, net, right in zip(SEEDS, rnns, rnn_right[50], strict=True):
    stages = [train_recaller(OurRNN, 50, seed, lr=0.03, steps=n) for n in (0, 60)] + [net]
    print(f"{seed:4} {right:9.2f}", *(f"{gradient_back(one)[-1]:16.0e}" for one in stages))
claim(best_rnn_gradient_left=gradient_back(rnns[np.argmax(rnn_right[50])])[-1])
claim(bias_4_gradient_left=min(gradient_back(net)[-1] for net in nets_4))

# %% [markdown]
# After 60 steps a gradient gets through in some RNNs, among them the two that recall best: training can open a path by itself. (Seed 4 had one, too, and guesses.) Yet the best RNN *ends* with next to none. One way to hold a symbol against noise is to pull the state back to where it was; then small changes die out, and the gradient with them (Bengio, Simard and Frasconi 1994). It isn't the only way: in all LSTMs with bias 4 a gradient is left at the end. A factor near 1 helps to *learn* from far away; to remember, this RNN didn't need it.
#
# Does it take a gate? Start an RNN with a factor of 1 as in section 9c.2: an orthogonal $U$ (Saxe et al. 2014), and inputs so small (a tenth) that the tanh stays near its linear part. Both tasks, each at its own learning rate; *last* also for 1,000 steps.


# %% tags=["nbval-ignore-output"]
def orthogonal(d_in, d_hidden):
    net = rnn(d_in, d_hidden)
    nn.init.orthogonal_(net.weight_hh_l0)
    net.weight_ih_l0.data, net.bias_ih_l0.data = 0.1 * net.weight_ih_l0, 0.1 * net.bias_ih_l0
    return net


_, (first, _) = try_both("orthogonal, on first", orthogonal, draw_recall, lr=0.001)
_, (_, last) = try_both("orthogonal, on last", orthogonal, draw_last)
_, (_, longer) = try_both("the same, 1,000 steps", orthogonal, draw_last, steps=1000)
claim(orthogonal_first=first.min(), orthogonal_last=last.mean(), orthogonal_longer=longer.min())

# %% [markdown]
# So it doesn't take a gate to keep a symbol, nor, with more steps, to overwrite one. Even the plain RNN of section 9c.3 learnt much of both from *last*, where some symbols are near. But the LSTM learnt both with every seed. (It has four times the weights.) A likely reason: its gates open and shut letter by letter, while a single $U$ has to serve keeping and forgetting alike. And *first* by itself, where every symbol is fifty letters back, only a factor near 1 has taught reliably.

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
# Now the names. Logits for the next letter come out after *every* step, each with the whole prefix as context. The library's `RecurrentLM` ([source](../coursekit/models/recurrent.py)) does that, with 96 memory cells. (And some **dropout**: while training, a tenth of the numbers between layers, drawn at random, is set to 0.)

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
name, before = (y_val != NO_TARGET).nonzero().T  # of each letter: its name, how many came before
sums = (torch.zeros(len(held)).double().index_add(0, name, one) for one in (by_table, by_lstm))
claim(lstm_dev_loss=by_lstm.mean(), lstm_ahead_by_name=compare_losses(*sums)[1])
gain = by_table - by_lstm
claim(gain_up_to_three=gain[before < 4].mean(), gain_from_four=gain[before > 3].mean())
claim(letters_beyond_eight=(before > 8).double().mean())
claim_order(lstm_over_table=tuple(Score(one.mean(), on=five[:, 4]) for one in (by_lstm, by_table)))

# %% [markdown]
# The LSTM is about two standard errors ahead, taken over names, since letters of one name aren't independent. Up to three letters both know the whole prefix, and there it is *behind* the counts. From four on, where the table forgets, it wins. (Its learning rate and dropout were chosen on these names, which flatters it a little.)
#
# But the WaveNet of lesson 4, with eight letters, stays ahead of both, as the scoreboard at the end shows. Names are short: only one letter in a hundred has more than eight before it, so a longer memory has next to nothing to gain.

# %% tags=["data", "nbval-ignore-output"]
from coursekit.sample import sample_text

generator = torch.Generator().manual_seed(42)
write = partial(sample_text, whole, vocabulary, ".", 50, stop=".", cached=True)
keep_sample(lstm=[write(generator) for _ in range(5)])

# %% [markdown]
# And numbers? Finance has forecast **volatility** (lesson 9b) by recurrence for decades. **GARCH** (Bollerslev 1986) forecasts the variance $v$ of the return $r$:
#
# $$v_{t+1}=\omega+\alpha\, r_t^2+\beta\, v_t$$
#
# One memory cell, whose forget gate is always $\beta$, and three fitted parameters. The **EWMA** of RiskMetrics (1996) has none: $\omega=0$, $\alpha=0.06$, $\beta=0.94$. That is lesson 9b's exponential smoothing, of squares. Does an LSTM of 8 cells do better, if it reads the same, the size of each return?
#
# All forecast each day of 2008 to 2018 the evening before; what is fitted is fitted to the days before 2008. The loss is that of a normal distribution. (The LSTM's training pieces are rescaled at random; its sizes, learning rate and steps were chosen on 2005 to 2007; five seeds' forecasts are averaged.)

# %% tags=["data"]
from arch import arch_model

from coursekit.evaluate.likelihood import gaussian_nll
from coursekit.models.baselines import ewma_variance, garch_variance
from coursekit.windows.pieces import draw_pieces

days, closes = data.sp500()
returns = torch.tensor(closes, dtype=torch.float64).log().diff()
a, b = (sum(day.year < year for day in days[1:]) for year in (2008, 2019))  # a … b - 1: forecast
known, r = returns[:a], returns - returns[:a].mean()
omega, alpha, beta = arch_model(100 * known.numpy()).fit(disp="off").params[1:]  # in per cent
rule = {"constant": omega / 1e4, "surprise": alpha, "memory": beta}
garch = garch_variance(r, known.var().item(), **rule)[a:b].log() / 2  # ln σ of each day
ewma = ewma_variance(r, known.var().item())[a:b].log() / 2


# %%
class Volatility(nn.Module):
    def __init__(self):
        super().__init__()
        self.recurrent, self.output = lstm(2, 8, forget_bias=3.0), nn.Linear(8, 1)

    def forward(self, size):  # of each day's return → ln σ of the next
        outputs, _ = self.recurrent(torch.stack([size.tanh(), (size + 0.05).log()], -1))
        return self.output(outputs)[..., 0]


def next_day_loss(log_scale, size):
    return gaussian_nll(size, 0 * size, log_scale)[:, 50:].mean()  # 50 days to warm up


def forecast(seed):
    torch.manual_seed(seed)
    net, chance = Volatility(), torch.Generator().manual_seed(seed)
    size = (r / known.std()).abs().float()
    train(net, draw_pieces(size[:a], 200, 16, chance, spread=0.5), 0.03, 600, next_day_loss)
    with torch.no_grad():
        return net(size[None, : b - 1])[0, a - 1 :].double() + known.std().log()


# %% tags=["data", "nbval-ignore-output"]
lstm_forecast = torch.stack([forecast(seed) for seed in range(1, 6)]).mean(0)
rivals = {"GARCH": garch, "EWMA": ewma, "LSTM": lstm_forecast}
losses = {name: gaussian_nll(r[a:b], 0 * one, one) for name, one in rivals.items()}
over_garch = {name: compare_losses(losses["GARCH"], losses[name], 10) for name in list(rivals)[1:]}
claim(lstm_over_garch=over_garch["LSTM"][1], ewma_over_garch=over_garch["EWMA"][1])
claim(lstm_over_ewma=compare_losses(losses["EWMA"], losses["LSTM"], 10)[1])

# %% tags=["figure", "data", "nbval-ignore-output", "folded"]
plt.figure(figsize=(8.5, 2.8))
for name, (better, errors) in over_garch.items():
    plt.errorbar(better, name, xerr=2 * abs(better / errors), fmt="D", color="C0", capsize=4)
plt.axvline(0, color="0.3", linewidth=1)
plt.gca().set(ylim=(-0.6, 1.6), xlabel="nats a day better than GARCH (± 2 standard errors)")
plt.title("An LSTM does no better than a rule with nothing fitted")
figure("volatility", alt="Against GARCH, the LSTM and the EWMA are both a little behind.")

# %% [markdown]
# GARCH is ahead of the LSTM by 0.02 nats a day, more than two standard errors. And the LSTM can't be told from the EWMA, one line with nothing fitted. From nine years of noisy days the LSTM learnt about as much as that line knows.
#
# ## What you have now
#
# - An RNN and an LSTM, equal to PyTorch's, and gates that keep, clear and write.
# - A reason why a symbol fifty letters back is seldom learnt: fifty factors. Gates that start open hold them near 1, and so does an orthogonal $U$.
# - What can a network remember? In principle what fits into its state; in practice what the surviving gradient can teach.
#
# **What it costs.** In a recurrent network $h_{50}$ waits for $h_{49}$; attention (lesson 6) doesn't. But attention compares all pairs: [double the steps](../tests/test_recurrence_lesson.py), and plain attention keeps up to four times the numbers for its backward pass, an LSTM twice. If gates *and* candidate $g$ read $x_t$ alone, a recurrence is linear in the state, and all steps can be computed together: Mamba (Gu and Dao 2023) and minLSTM (Feng et al. 2024) do so.
#
# **What still fails.** All that was read must fit into a state of fixed size. In looking up what once followed a given word (associative recall), such networks lose to attention (Arora et al. 2023), so some models mix both.

# %% tags=["scoreboard"]
scoreboard("names")

# %% [markdown]
# The last row has read names letter by letter. But the letters are all there from the start. Why go through them one by one? Lesson 10 lets each look at all the others at once, in both directions: attention without a mask.

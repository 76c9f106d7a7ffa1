# %% [markdown]
# # 9c · Recurrence: what can a network remember?
#
# A table of counts reads five letters, a WaveNet eight. A **recurrent network** reads one step at a time and keeps what it needs in a few numbers, so nothing bounds how far back it can look. Show it a symbol, then fifty letters of noise, and ask which symbol it was. It has no idea. Why not, and what has to change?
#
# **Afterwards you can** write an RNN and an LSTM from their equations, follow a gradient through fifty steps, say what each gate is for and how to start it, and tell when a recurrent network is worth its time.
#
# **Before**: lessons 2 (embeddings, tanh, the training loop) and 2b (validation, learning rates, AdamW).
#
# **Runs in** {runs_in}. **Study time** {study}.
#
# **Sources**: the network is that of Elman (1990); its gradients are analysed by Bengio, Simard and Frasconi (1994) and Pascanu, Mikolov and Bengio (2013). LSTM: Hochreiter and Schmidhuber (1997), with the forget gate of Gers, Schmidhuber and Cummins (2000). Its first bias: Jozefowicz, Zaremba and Sutskever (2015), Tallec and Ollivier (2018). GARCH: Bollerslev (1986).

# %% tags=["setup", "machine"]
import time
from functools import partial
from itertools import repeat

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
# Every row of this board reads a fixed number of letters. At the end there will be a row that reads them all.

# %% tags=["scoreboard"]
scoreboard("names")

# %% [markdown]
# ## 9c.1 Fifty steps are too many
#
# The task is as simple as a memory task can be. First comes one of eight symbols, A to H, then some letters that mean nothing, and then the question: which symbol was it? The number of letters in between is the **lag**.

# %%
LETTERS = "ABCDEFGHabcdefgh"


def draw_first(n, lag, chance):
    first = torch.randint(8, (n, 1), generator=chance)
    noise = torch.randint(8, 16, (n, lag), generator=chance)
    return torch.cat([first, noise], 1).to(device), first[:, 0].to(device)


tokens, answers = draw_first(3, 20, torch.Generator().manual_seed(42))
for row, answer in zip(tokens, answers, strict=True):
    print("".join(LETTERS[k] for k in row), "→", LETTERS[answer])

# %% [markdown]
# A recurrent network (RNN) mixes each step $x_t$ with what it kept of all steps before, the **state** $h_{t-1}$, by the same weights at every step:
#
# $$h_t = \tanh(W x_t + U h_{t-1} + b)$$
#
# The equation is one line of code. The rest is the loop around it.


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
        return torch.stack(outputs, 1), h


# %% [markdown]
# PyTorch calls it `nn.RNN`, the library `RNN` ([source](../coursekit/layers/recurrent.py)). The same weights give the same outputs. (PyTorch adds two biases, of which only the sum matters.)

# %%
from coursekit.layers.recurrent import RNN

ours, theirs, library = OurRNN(3, 5), nn.RNN(3, 5, batch_first=True), RNN(3, 5)
W, b, U = ours.state_dict().values()
theirs.load_state_dict(dict(zip(theirs.state_dict(), (W, U, b, 0 * b), strict=True)))
library.load_state_dict({"input.weight": W, "input.bias": b, "recurrent.weight": U})
x = torch.randn(2, 7, 3)
for other in (theirs, library):
    assert_close(ours(x)[0], other(x)[0])

# %% [markdown]
# To the copier belong vectors for the sixteen letters, and an output layer that is asked once, after the last step.


# %%
class Copier(nn.Module):
    def __init__(self, recurrent):
        super().__init__()
        self.vectors = nn.Embedding(16, 16)
        self.recurrent = recurrent
        self.output = nn.Linear(32, 8)

    def forward(self, tokens):
        outputs, _ = self.recurrent(self.vectors(tokens))
        return self.output(outputs[:, -1])


def train_copier(layer, lag, lr, seed, draw=draw_first, steps=300):
    torch.manual_seed(seed)
    net, chance = Copier(layer(16, 32)).to(device), torch.Generator().manual_seed(seed)
    batches = (draw(64, lag, chance) for _ in range(steps))
    fit(net, adamw(net, lr), batches, steps=steps, clip=1.0)
    return net


# %%
VALIDATION, TEST = 1000, 2000  # seeds of sequences that no network is trained on


def right_answers(net, lag, seed, draw=draw_first):
    tokens, answers = draw(1000, lag, torch.Generator().manual_seed(seed))
    with torch.no_grad():
        return (net(tokens).argmax(1) == answers).double().cpu()


def choose_lr(layer, lag, draw=draw_first):
    right = {}
    for lr in (0.003, 0.01, 0.03):
        net = train_copier(layer, lag, lr, seed=0, draw=draw)
        right[lr] = right_answers(net, lag, VALIDATION, draw).mean().item()
    print(f"lag {lag}: right answers by learning rate {right}")
    return max(right, key=right.get)


# %% [markdown]
# Each training is 300 steps of 64 sequences. The learning rate is chosen on validation sequences, at a lag that the network can learn; at twice the lag no learning rate helps.

# %% tags=["nbval-ignore-output"]
rnn_lr = choose_lr(OurRNN, 10)
choose_lr(OurRNN, 20)

# %% [markdown]
# **Predict.** The network has 32 numbers to keep one of eight symbols in. Up to which lag does it answer right? Chance is one in eight.

# %% tags=["predict"]
guess = None  # a lag, such as 30

# %% tags=["nbval-ignore-output"]
LAGS, SEEDS = (5, 10, 15, 20, 50), (1, 2, 3)


def test_copiers(layer, lr, lags=LAGS):
    trained = {lag: [train_copier(layer, lag, lr, seed) for seed in SEEDS] for lag in lags}
    right = [[right_answers(net, lag, TEST) for net in nets] for lag, nets in trained.items()]
    return trained, torch.stack([torch.stack(one) for one in right])  # lags, seeds, sequences


_, rnn_right = test_copiers(OurRNN, rnn_lr)
reach = max((lag for lag, one in zip(LAGS, rnn_right, strict=True) if one.mean() > 0.9), default=0)
compare_guess(guess, reach)
claim(copy_rnn_at_50=rnn_right[-1].mean())


# %% tags=["figure", "nbval-ignore-output"]
def draw_accuracy(ax, right, color, name, lags=LAGS):
    each = right.mean(2)
    ax.plot(lags, each.mean(1), "-", color=color, label=name)
    ax.plot(lags, each, "o", color=color, markersize=5)
    ax.set(xlabel="lag (steps between symbol and question)", ylim=(0, 1.05), xlim=(0, 52))
    ax.set_yticks([0, 0.125, 0.5, 1], ["0", "chance: ⅛", "½", "all"])


draw_accuracy(plt.gca(), rnn_right, "C0", "RNN")
plt.annotate("it guesses", (50, 0.125), (36, 0.4), arrowprops={"arrowstyle": "->"})
plt.gca().set(ylabel="right answers", title="Beyond a dozen steps, the RNN knows nothing")
figure("copy-rnn", alt="Right answers against lag: all at 5 and 10 steps, one in eight from 20 on.")

# %% [markdown]
# Three networks for each lag (the dots), and from 20 steps on all of them guess. It isn't room that they lack: 32 numbers can hold a symbol easily. So look at how they learn.
#
# ## 9c.2 Fifty factors
#
# The first symbol is known to $h_0$ only. Whether the weights learn to keep it depends on how much the last state changes when $h_0$ does: on the derivative $\partial h_{50} / \partial h_0$. By the chain rule it is a product of fifty matrices, one for each step:
#
# $$\frac{\partial h_{50}}{\partial h_0} = J_{50} \cdots J_2 J_1 \qquad J_t = \frac{\partial h_t}{\partial h_{t-1}} = \operatorname{diag}(1 - h_t^2)\; U$$
#
# Follow the product step by step. An orthogonal matrix changes no length; times a factor, it multiplies every length by that factor.


# %%
def gradient_norms(U, reads, linear=False):
    h, product, norms = torch.zeros(len(U)).double(), torch.eye(len(U)).double(), []
    for read in reads:
        h = U @ h + read
        jacobian = U
        if not linear:
            h = torch.tanh(h)
            jacobian = (1 - h**2)[:, None] * U  # tanh' = 1 - tanh²
        product = jacobian @ product
        norms.append(torch.linalg.matrix_norm(product, ord=2).item())
    return norms


chance = torch.Generator().manual_seed(42)
Q, _ = torch.linalg.qr(torch.randn(32, 32, generator=chance).double())  # orthogonal
reads = 0.5 * torch.randn(50, 32, generator=chance).double()

# %% [markdown]
# **Predict.** Without the tanh, and with $U = Q / 2$: how large is $\partial h_{50} / \partial h_0$? And with $U = 1.5\,Q$?

# %% tags=["predict"]
guess = None  # for Q / 2, such as 0.01

# %%
curves = {f"linear, {k} Q": gradient_norms(k * Q, reads, linear=True) for k in (0.5, 1.0, 1.5)}
curves |= {f"tanh, {k} Q": gradient_norms(k * Q, reads) for k in (1.0, 1.5)}
half, one, more, tanh, _ = (norms[-1] for norms in curves.values())
compare_guess(guess, half)
claim(gradient_at_half=half, gradient_at_one=one, gradient_at_one_and_a_half=more)
claim(gradient_with_tanh=tanh)


# %% [markdown]
# Autograd finds the same, through all fifty steps at once:


# %%
def last_state(h):
    for read in reads:
        h = torch.tanh(Q @ h + read)
    return h


jacobian = torch.autograd.functional.jacobian(last_state, torch.zeros(32).double())
assert_close(torch.linalg.matrix_norm(jacobian, ord=2).item(), tanh, rtol=1e-9, atol=0)

# %% tags=["figure"]
ax = plt.subplots(figsize=(8.5, 4.8))[1]
for color, (name, norms) in zip(("C0", "0.3", "C3", "C0", "C3"), curves.items(), strict=True):
    ax.semilogy(range(1, 51), norms, color=color, ls="--" if "tanh" in name else "-", label=name)
ax.set(xlim=(0, 51), xlabel="step t", ylabel="norm of ∂h$_t$ / ∂h$_0$")
ax.set_title("A gradient that is multiplied at every step vanishes or explodes")
name_lines(ax)
figure("gradients", alt="Norms over 50 steps: 0.5 falls to 1e-15, 1 stays, 1.5 rises to 6e8.")

# %% [markdown]
# Half at each step, and after fifty steps a millionth of a billionth is left: the **vanishing gradient**. The weights get nothing to learn from but the last dozen steps. One and a half, and the gradient **explodes**. Only lengths that stay *exactly* the same survive, and the tanh, whose derivative is below 1, eats even those. (Bengio, Simard and Frasconi proved it in 1994: a state that holds on to something against noise is one whose gradients vanish.)
#
# An exploding gradient can be mended: **clip** it, that is, shorten it to a norm of 1, its direction kept. Here is one step of gradient descent with $U = 2Q$, at learning rate 0.1, without and with:

# %% tags=["nbval-ignore-output"]
tokens, answers = draw_first(1000, 50, torch.Generator().manual_seed(VALIDATION))
jump = {}
for largest in (float("inf"), 1.0):
    torch.manual_seed(42)
    net = Copier(OurRNN(16, 32)).to(device)
    net.recurrent.hidden.weight.data = 2 * Q.float().to(device)
    before = F.cross_entropy(net(tokens), answers)
    before.backward()
    norm = nn.utils.clip_grad_norm_(net.parameters(), largest)
    with torch.no_grad():
        for p in net.parameters():
            p -= 0.1 * p.grad
        jump[largest] = (F.cross_entropy(net(tokens), answers) - before).item()
print(f"a gradient of norm {norm:.0f}; the loss then changes by {jump}")
claim(jump_without_clipping=jump[float("inf")], jump_with_clipping=jump[1.0])

# %% [markdown]
# A vanished gradient can't be mended: there is nothing left to scale. It must not vanish in the first place.
#
# ## 9c.3 A memory that adds
#
# What should an RNN change so that its gradient survives? A *product* at every step is what kills it. So keep the memory, and *add* to it: $c_t = c_{t-1} + \tanh(W x_t + U h_{t-1} + b)$, and let $h_t = \tanh(c_t)$ be what the rest of the network sees. Along $c$ each factor is $1$ plus something, and a network whose new part is small passes its gradient on whole.


# %%
class OurAdder(OurRNN):
    def forward(self, x):
        h = c = x.new_zeros(len(x), self.hidden.in_features)
        outputs = []
        for read in self.input(x).unbind(1):
            c = c + torch.tanh(read + self.hidden(h))  # new: it adds
            h = torch.tanh(c)
            outputs.append(h)
        return torch.stack(outputs, 1), c


# %% [markdown]
# One line changed. But a memory that only adds should be bad at something, too. So we give it a second task: symbols come up again and again, and the question is which came *latest*. One task asks a memory to keep, the other to overwrite.


# %%
def draw_latest(n, lag, chance):
    tokens, _ = draw_first(n, lag, chance)
    symbols = torch.randint(8, tokens.shape, generator=chance).to(device)
    is_new = (torch.rand(tokens.shape, generator=chance) < 0.06).to(device)
    tokens = torch.where(is_new, symbols, tokens)
    steps = torch.arange(lag + 1, device=device)
    latest = ((tokens < 8) * steps).argmax(1)  # where the last symbol stands
    return tokens, tokens.gather(1, latest[:, None])[:, 0]


tokens, answers = draw_latest(2, 50, torch.Generator().manual_seed(42))
for row, answer in zip(tokens, answers, strict=True):
    print("".join(LETTERS[k] for k in row), "→", LETTERS[answer])

# %% [markdown]
# **Predict.** Who solves which, over 50 steps: the RNN and the adding memory, the first symbol and the latest?

# %% tags=["predict"]
guess = None  # such as "RNN: latest; adding: both"

# %% tags=["nbval-ignore-output"]
TASKS = {"first": draw_first, "latest": draw_latest}


def try_tasks(layer, lr):
    right = {}
    for task, draw in TASKS.items():
        nets = [train_copier(layer, 50, lr, seed, draw) for seed in SEEDS[:2]]
        right[task] = [right_answers(net, 50, TEST, draw).mean().item() for net in nets]
    return right


adder_lr = choose_lr(OurAdder, 10)
both = {"RNN": try_tasks(OurRNN, rnn_lr), "adds": try_tasks(OurAdder, adder_lr)}
solved = {name: " ".join(t for t in TASKS if min(one[t]) > 0.9) for name, one in both.items()}
compare_guess(guess, str(solved))
claim(adder_first=np.mean(both["adds"]["first"]), adder_latest=np.mean(both["adds"]["latest"]))
claim(rnn_latest=np.mean(both["RNN"]["latest"]))

# %% [markdown]
# Each solves what the other can't. What has been added never goes away, so the adding memory can't tell the latest symbol from all those before. (The RNN learns to hold the latest symbol because it often came only a few steps ago: the short lags teach it, and what holds for five steps holds for fifty.)
#
# To do both, a memory must *decide*. A **gate** is a decision as a number between 0 and 1, for each unit, made from input and state like everything else: $\sigma(W x_t + U h_{t-1} + b)$, with weights of its own. One gate at a time:
#
# - the **forget gate** $f$ multiplies the old memory: 1 keeps, 0 clears;
# - the **input gate** $i$ multiplies what is new, $g = \tanh(\ldots)$: noise need not be written;
# - the **output gate** $o$ multiplies what the others see: what is kept for later need not disturb now.
#
# $$c_t = f \odot c_{t-1} + i \odot g \qquad h_t = o \odot \tanh(c_t)$$
#
# That is the **LSTM** (long short-term memory; $\odot$ multiplies number by number). The path of the memory is still additive, and its gradient is now $f$ at each step: the network itself decides how fast it vanishes.

# %% tags=["figure"]
from coursekit.notebook.diagram import Diagram

d = Diagram()
d.box("c before", 0, 0, kind="data", text="c")
d.box("x, h", 0, 3, kind="data")
d.box("keep", 1, 0, text="×")
d.box("add", 2, 0, text="+")
d.box("write", 2, 1, text="×")
d.box("say", 4, 1, text="×")
d.box("f", 1, 2, kind="parameters", text="σ f")
d.box("i", 2, 2, kind="parameters", text="σ i")
d.box("g", 3, 2, kind="parameters", text="tanh g")
d.box("o", 4, 2, kind="parameters", text="σ o")
d.box("c after", 5, 0, kind="data", text="new c")
d.box("tanh", 4, 0, text="tanh")
d.box("h after", 5, 1, kind="data", text="new h")
for tail, head in (("c before", "keep"), ("keep", "add"), ("f", "keep"), ("i", "write")):
    d.arrow(tail, head)
d.draw()
figure(
    "lstm", alt="The memory goes straight through: times f, plus i times g; o decides what is said."
)

# %% [markdown] tags=["exercise"]
# > **Exercise 9c.1 (build, 15 minutes).** Write `our_lstm_step(mixed, c)`: one step of an LSTM. `mixed` (B, 4 D) holds the numbers of `i`, `f`, `g` and `o` side by side, in this order, *before* their σ and tanh; `c` (B, D) is the memory. Return the output `h` and the new memory `c`, both (B, D).
# >
# > <details><summary>Hint 1</summary>`mixed.chunk(4, -1)` cuts the four apart.</details>
# > <details><summary>Hint 2</summary>Two lines, the two equations above. The output is made from the *new* memory.</details>


# %% tags=["stub"]
def our_lstm_step(mixed, c): ...


# %% tags=["check"]
from coursekit.exercises import recurrence

recurrence.check_lstm_step(our_lstm_step)


# %% tags=["solution"]
def our_lstm_step(mixed, c):
    i, f, g, o = mixed.chunk(4, -1)
    c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
    return torch.sigmoid(o) * torch.tanh(c), c


recurrence.check_lstm_step(our_lstm_step)

# %% [markdown]
# Around it stands the loop of the RNN. The bias of the forget gate gets an argument of its own; the next section says why.

# %%
from coursekit.exercises.stub import answer_or
from coursekit.layers.recurrent import LSTM, lstm_step

step = answer_or(our_lstm_step, lstm_step)


class OurLSTM(nn.Module):
    def __init__(self, d_in, d_hidden, forget_bias=1.0):
        super().__init__()
        self.input = nn.Linear(d_in, 4 * d_hidden)
        self.hidden = nn.Linear(d_hidden, 4 * d_hidden, bias=False)
        i, f, g, o = self.input.bias.data.zero_().chunk(4)
        f.fill_(forget_bias)

    def forward(self, x):
        h = c = x.new_zeros(len(x), self.hidden.in_features)
        outputs = []
        for read in self.input(x).unbind(1):
            h, c = step(read + self.hidden(h), c)
            outputs.append(h)
        return torch.stack(outputs, 1), (h, c)


# %% [markdown]
# PyTorch's `nn.LSTM` runs all steps in one fused call, which takes half the time or less. With our weights it gives our outputs and gradients, so below we train it in place of ours.


# %%
def fuse(ours):
    theirs = nn.LSTM(ours.input.in_features, ours.hidden.in_features, batch_first=True)
    W, b, U = ours.state_dict().values()
    theirs.load_state_dict(dict(zip(theirs.state_dict(), (W, U, b, 0 * b), strict=True)))
    return theirs


ours, library = OurLSTM(3, 5), LSTM(3, 5)
W, b, U = ours.state_dict().values()
library.load_state_dict({"input.weight": W, "input.bias": b, "recurrent.weight": U})
for other in (fuse(ours), library):
    here, there = x.clone().requires_grad_(), x.clone().requires_grad_()
    y, z = ours(here)[0], other(there)[0]
    assert_close(y, z)
    y.square().sum().backward()
    z.square().sum().backward()
    assert_close(here.grad, there.grad)

# %% [markdown]
# ## 9c.4 How long a gate stays open
#
# At the start the weights are small, and a forget gate is about $\sigma(b)$, its bias alone. With $b = 0$ that is a half: the vanishing gradient once more. Jozefowicz and colleagues (2015) advise $b = 1$, and most code does that. **Predict.** With $b = 1$, how much of the memory is left after 50 steps?

# %% tags=["predict"]
guess = None  # such as 0.3


# %%
def memory_left(bias):
    torch.manual_seed(42)
    layer, start = OurLSTM(16, 32, bias), torch.zeros(1, 32, requires_grad=True)
    h, c, left = torch.zeros(1, 32), start, []
    for x in torch.randn(50, 1, 16):  # noise
        h, c = step(layer.input(x) + layer.hidden(h), c)
        (gradient,) = torch.autograd.grad(c.sum(), start, retain_graph=True)
        left.append(gradient.abs().mean().item())
    return left


left = {bias: memory_left(bias) for bias in (0.0, 1.0, 4.0)}
compare_guess(guess, left[1.0][-1])
claim(left_at_bias_1=left[1.0][-1], left_at_bias_4=left[4.0][-1])

# %% [markdown]
# A fifth of a millionth: $\sigma(1)^{50} = 0.73^{50}$. To keep a memory for $T$ steps a gate should lose about $1/T$ of it at each, and $\sigma(b) = 1 - 1/T$ is $b = \ln(T - 1)$: for fifty steps, 4 (Tallec and Ollivier 2018 start it so). Then two fifths are left. Does that one number decide whether the LSTM learns to copy?


# %% tags=["nbval-ignore-output"]
def lstm(bias):
    return lambda d_in, d_hidden: fuse(OurLSTM(d_in, d_hidden, bias))


lr_1, lr_4 = choose_lr(lstm(1.0), 10), choose_lr(lstm(4.0), 10)
_, right_1 = test_copiers(lstm(1.0), lr_1)
nets_4, right_4 = test_copiers(lstm(4.0), lr_4)

# %% tags=["nbval-ignore-output"]
targets = draw_first(1000, 50, torch.Generator().manual_seed(TEST))[1]
wrong = [1 - right[-1].mean() for right in (right_4, rnn_right)]
ours, theirs = (Score(one, on=targets, steps=300, seeds=SEEDS) for one in wrong)
claim_order(lstm_copies_better=(ours, theirs))
claim(copy_lstm_at_50=right_4[-1].mean(), copy_bias_1_at_50=right_1[-1].mean())
far = [right_answers(net, 500, TEST).mean().item() for net in nets_4[50]]
print("trained over 50 steps, asked after 500:", far)
both["LSTM"] = try_tasks(lstm(4.0), lr_4)
claim(lstm_latest=np.mean(both["LSTM"]["latest"]))

# %% tags=["figure", "nbval-ignore-output"]
gradient_ax, accuracy_ax = plt.subplots(1, 2, figsize=(10, 4.4))[1]
for color, (bias, norms) in zip(("0.5", "C1", "C2"), left.items(), strict=True):
    gradient_ax.semilogy(range(1, 51), norms, color=color)
    gradient_ax.text(50, 3 * norms[-1], f"bias {bias:g}", color=color, ha="right")
gradient_ax.set(xlabel="step t", ylabel="gradient ∂c$_t$ / ∂c$_0$ at the start of training")
named = {"RNN": (rnn_right, "C0"), "bias 1": (right_1, "C1"), "bias 4": (right_4, "C2")}
for name, (right, color) in named.items():
    draw_accuracy(accuracy_ax, right, color, name)
accuracy_ax.text(50, 0.93, "LSTM, bias 4", color="C2", ha="right")
accuracy_ax.text(27, 0.45, "LSTM, bias 1", color="C1")
accuracy_ax.text(12, 0.2, "RNN", color="C0", ha="right")
plt.suptitle("What is left of the gradient decides what can be learnt")
figure(
    "forget-bias", alt="Left, the gradient by forget bias; right, only bias 4 copies over 50 steps."
)

# %% [markdown]
# Same network, same steps, each with its own learning rate: a forget gate that starts open copies over fifty steps, and one that starts at the usual 1 guesses, like the RNN. An LSTM isn't magic; its gradient must survive, too, and one number sees to that. Here is what one that was trained on the *latest* symbol keeps: its 32 memory cells, step by step.

# %% tags=["figure", "nbval-ignore-output"]
net = train_copier(lstm(4.0), 50, lr_4, SEEDS[0], draw_latest)
tokens, _ = draw_latest(1, 50, torch.Generator().manual_seed(42))
h, c, cells = torch.zeros(1, 32), torch.zeros(1, 32), []
library = LSTM(16, 32)
W, U, b, b2 = net.recurrent.cpu().state_dict().values()
library.load_state_dict({"input.weight": W, "input.bias": b + b2, "recurrent.weight": U})
with torch.no_grad():
    for read in library.input(net.vectors.cpu()(tokens.cpu()))[0]:
        h, c = lstm_step(read + library.recurrent(h), c)
        cells.append(c[0])
cells = torch.stack(cells, 1)
order = cells[:, -1].argsort()
plt.figure(figsize=(10, 4))
plt.imshow(cells[order], cmap="vlag", vmin=-3, vmax=3, aspect="auto")
plt.xticks(range(51), [LETTERS[k] for k in tokens[0]], fontsize=8)
for at in (tokens[0] < 8).nonzero().flatten().tolist():
    plt.axvline(at - 0.5, color="black", linewidth=1.5)
plt.gca().set(ylabel="memory cell, sorted", xlabel="what is read; capitals are symbols", yticks=[])
plt.grid(visible=False)
plt.title("The memory changes when a symbol comes, and rests while there is noise")
figure("memory", alt="Memory cells over time: bands of colour that change at each symbol.")

# %% [markdown] tags=["exercise"]
# > **Exercise 9c.2 (investigate, 20 minutes).** Is a forget bias of 4 always better? Fill in the table with `try_bias` and look for two ways in which bias 1 learns to copy over 50 steps after all. What happens to a network that only ever saw short lags, when you ask it after long ones?
# >
# > | bias | trained at | steps | right after 5 | after 50 | after 500 |
# > |---|---|---|---|---|---|
# > | 0, 1, 2, 4, 8 | lag 50 | 300 | | | |
# > | 1 | lag 50 | 1,500 | | | |
# > | 1 | any lag from 1 to 50 | 300 | | | |
# >
# > <details><summary>Hint</summary>`try_bias(1.0, 50, mixed=True)` draws the lag of each batch from 1 to 50.</details>
#
# <details><summary>What we found, with seed 1</summary>
#
# TODO
#
# </details>


# %%
def try_bias(bias, lag, steps=300, mixed=False, seed=1):
    lags = torch.Generator().manual_seed(seed)

    def draw(n, lag, chance):
        if mixed:
            lag = int(torch.randint(1, lag + 1, (), generator=lags))
        return draw_first(n, lag, chance)

    net = train_copier(lstm(bias), lag, 0.01, seed, draw, steps)
    right = {asked: right_answers(net, asked, TEST).mean().item() for asked in (5, 50, 500)}
    print(f"bias {bias}, lag {lag}, mixed {mixed}, {steps} steps: {right}")


try_bias(1.0, 50, mixed=True)

# %% [markdown]
# ## 9c.5 Names, letter by letter
#
# Now something worth remembering. A language model from an LSTM needs what every one here has: a vector for each letter before, logits after. It predicts after *every* step, so a name is one training example with as many targets as it has letters, and each has its whole prefix as context. The library's `RecurrentLM` ([source](../coursekit/models/recurrent.py)) is that network. Names have unequal lengths; behind the end of a short one there is no target.

# %%
from coursekit.evaluate.likelihood import NO_TARGET, evaluating, next_token_loss, table_nll
from coursekit.models.recurrent import RecurrentConfig, RecurrentLM
from coursekit.tokens.vocabulary import Vocabulary
from coursekit.windows.tokens import group_windows, word_windows

vocabulary = Vocabulary(".abcdefghijklmnopqrstuvwxyz")
words, held, _ = data.split_words(data.names())


def whole_names(words):
    inputs = torch.zeros(len(words), max(map(len, words)) + 1, dtype=torch.long)
    targets = torch.full_like(inputs, NO_TARGET)
    for row, target, word in zip(inputs, targets, words, strict=True):
        ids = torch.tensor(vocabulary.encode(word))
        row[1 : len(ids) + 1] = target[: len(ids)] = ids  # from "." on, and one step later
        target[len(ids)] = 0  # the end
    return inputs.to(device), targets.to(device)


(X, Y), (X_val, Y_val) = whole_names(words), whole_names(held)

# %% [markdown]
# To be compared with the networks and tables of the board at *equal* context, a second LSTM gets the last three letters only, the windows of lesson 2, each different context once with the counts of what followed (lesson 2b). Both have 64 memory cells.


# %% tags=["data", "nbval-ignore-output"]
def start(seed=42):
    torch.manual_seed(seed)
    return RecurrentLM(RecurrentConfig(vocab_size=27, d_hidden=64)).to(device)


def name_batches(size, chance):
    lengths = (Y != NO_TARGET).sum(1)
    while True:
        rows = torch.randint(len(X), (size,), generator=chance)
        longest = int(lengths[rows].max())
        yield X[rows, :longest], Y[rows, :longest]


def train_on_names(lr, steps=800, seed=42):
    net, batches = start(seed), name_batches(256, torch.Generator().manual_seed(seed))
    options = {"loss": next_token_loss, "schedule": warm_up_cosine(steps), "clip": 1.0}
    fit(net, adamw(net, lr), batches, steps=steps, **options)
    return net


def train_on_windows(lr, steps=150, seed=42):
    net = start(seed)
    contexts, counts = group_windows(word_windows(words, vocabulary, 4), 27)
    batches = repeat((contexts.to(device), counts.to(device)))
    options = {"schedule": warm_up_cosine(steps), "clip": 1.0}
    options["loss"] = lambda logits, counts: table_nll(logits[:, -1], counts)
    fit(net, adamw(net, lr, weight_decay=0.5), batches, steps=steps, **options)
    return net


# %% tags=["data", "nbval-ignore-output"]
whole, three = train_on_names(0.02), train_on_windows(0.02)


# %% [markdown]
# The rivals: the table of counts at three letters and at four (Kneser–Ney, lesson 1b), and the last network of lesson 2b. All are scored on the same letters of the validation names, and so is the whole-prefix LSTM with its state *cut* to three letters, as it was never trained to be.

# %% tags=["data", "nbval-ignore-output"]
from coursekit.models.mlp import MLP, MLPConfig
from coursekit.models.ngram import NGram, count_ngrams, kneser_ney

contexts, counts = group_windows(word_windows(words, vocabulary, 4), 27)
torch.manual_seed(42)
mlp = MLP(MLPConfig(vocab_size=27, d_embedding=24, normalised=True)).to(device)
options = {"loss": table_nll, "schedule": warm_up_cosine(250)}
batches = repeat((contexts.to(device), counts.to(device)))
fit(mlp, adamw(mlp, 0.03, weight_decay=0.5), batches, steps=250, **options)
tables = {
    n: NGram(kneser_ney(count_ngrams(word_windows(words, vocabulary, n + 1), 27))) for n in (3, 4)
}


# %% tags=["data", "nbval-ignore-output"]
def each_loss(net, windows):
    with evaluating(net):
        logits = net(windows[:, :-1])
    logits = logits[:, -1] if logits.ndim == 3 else logits
    return F.cross_entropy(logits, windows[:, -1], reduction="none").double().cpu()


def each_loss_of_names(net):
    with evaluating(net):
        loss = F.cross_entropy(net(X_val).mT, Y_val, reduction="none", ignore_index=NO_TARGET)
    return loss[Y_val != NO_TARGET].double().cpu()


four, five = (word_windows(held, vocabulary, n) for n in (4, 5))
assert Y_val[Y_val != NO_TARGET].cpu().equal(four[:, -1])  # the same letters, in the same order
losses = {
    "table, 3 letters": each_loss(tables[3], four),
    "MLP, 3 letters": each_loss(mlp, four.to(device)),
    "LSTM, 3 letters": each_loss(three, four.to(device)),
    "table, 4 letters": each_loss(tables[4], five),
    "LSTM, whole prefix": each_loss_of_names(whole),
    "the same, cut to 3": each_loss(whole, four.to(device)),
}
for name, each in losses.items():
    difference = each - losses["LSTM, whole prefix"]
    error = difference.std() / len(each) ** 0.5
    print(
        f"{name:20} {each.mean():.4f}, over the whole prefix {difference.mean():.4f} ± {error:.4f}"
    )

# %% tags=["data", "nbval-ignore-output"]
claim(lstm_dev_loss=losses["LSTM, whole prefix"].mean())
at_three = {name: Score(losses[name].mean(), on=four[:, 3], context=3) for name in list(losses)[:3]}
whole_score, table_score = (
    Score(losses[name].mean(), on=four[:, 3]) for name in ("LSTM, whole prefix", "table, 4 letters")
)
claim_order(lstm_beats_table=(whole_score, table_score))
claim(lstm_over_mlp_at_three=losses["LSTM, 3 letters"].mean() - losses["MLP, 3 letters"].mean())

# %% [markdown]
# With three letters all three say nearly the same: there is no more in three letters. The whole prefix is what the LSTM gains from. Where? The losses again, by how many letters came before:

# %% tags=["figure", "data", "nbval-ignore-output"]
position = (Y_val != NO_TARGET).nonzero()[:, 1].cpu()
plt.figure(figsize=(8.5, 4.2))
for color, name in zip(
    ("0.4", "C1", "C2"), ("MLP, 3 letters", "table, 4 letters", "LSTM, whole prefix"), strict=True
):
    each = [losses[name][position == t].mean().item() for t in range(11)]
    plt.plot(range(11), each, "o-", color=color, label=name)
plt.gca().set(xlim=(-0.2, 10.2), xticks=range(11), xlabel="letters before the one predicted")
plt.gca().set(
    ylabel="loss (nats per letter)", title="The longer the name, the more the memory is worth"
)
name_lines(plt.gca())
figure(
    "by-position",
    alt="Loss by position for three models; the LSTM is lower from the fourth letter on.",
)

# %% [markdown]
# What does it write? While sampling, its state is kept from letter to letter (`cached=True`), so that each letter costs one step, however long the name is.

# %% tags=["data", "nbval-ignore-output"]
from coursekit.sample import sample_text

generator = torch.Generator().manual_seed(42)
draw = partial(sample_text, whole, vocabulary, ".", 50, stop=".")
drawn = [draw(generator, cached=True) for _ in range(5)]
assert drawn[0] == draw(torch.Generator().manual_seed(42))  # without the cache: the same name
keep_sample(lstm=drawn)
print(*drawn)

# %% [markdown]
# ## 9c.6 A gate from 1986
#
# Wild days on the stock market come in spells: a large return today, up or down, says little about tomorrow's return and much about its *size*. The standard model of that size, GARCH(1, 1), forecasts tomorrow's variance $v$ from today's return $r$:
#
# $$v_{t+1} = \omega + \alpha\, r_t^2 + \beta\, v_t$$
#
# That is a recurrence: one memory cell, a forget gate $\beta$, an input gate $\alpha$, both fixed. The package `arch` fits it to the days up to 2007. An LSTM can do more: its gates may depend on what it sees. Is that worth anything? Both forecast each day of 2008 to 2018 on the evening before, with parameters from the days before 2008.

# %%
from arch import arch_model

from coursekit.evaluate.likelihood import compare_losses, gaussian_nll
from coursekit.models.baselines import ewma_variance

days, closes = data.sp500()
returns = torch.tensor(closes, dtype=torch.float64).log().diff()
years = torch.tensor([day.year for day in days[1:]])


def rivals(a, b):
    known, r = returns[:a], returns[:b] - returns[:a].mean()
    mu, omega, alpha, beta = arch_model(100 * known.numpy(), rescale=False).fit(disp="off").params
    v, garch = known.var().item(), []
    for square in r.square().tolist():
        garch.append(v)
        v = omega / 1e4 + alpha * square + beta * v
    print(f"GARCH: omega {omega:.4f}, alpha {alpha:.3f}, beta {beta:.3f}")
    ewma = ewma_variance(r, start=known.var().item())
    flat = known.var().expand(b)
    found = {"constant": flat, "EWMA": ewma, "GARCH": r.new_tensor(garch)}
    return {name: variance[a:b].log() / 2 for name, variance in found.items()}


# %% [markdown]
# The network reads, of each day, the return and the logarithm of its size, both in units of the standard deviation before 2008, and says the logarithm of tomorrow's. It has 8 memory cells and is trained on stretches of 200 days, whose scale is changed at random, because calm and wild years are alike up to scale.


# %%
class Volatility(nn.Module):
    def __init__(self):
        super().__init__()
        self.recurrent = fuse(OurLSTM(2, 8, forget_bias=3.0))
        self.output = nn.Linear(8, 1)

    def forward(self, z):
        read = torch.stack([z.tanh(), (z.abs() + 0.05).log()], -1)
        return self.output(self.recurrent(read)[0])[..., 0]  # log σ of the next day


def stretches(z, chance):
    while True:
        starts = torch.randint(len(z) - 200, (16, 1), generator=chance)
        scale = (0.5 * torch.randn(16, 1, generator=chance)).exp()
        stretch = (scale * z[starts + torch.arange(201)]).float().to(device)
        yield stretch[:, :-1], stretch[:, 1:]


def next_day_loss(log_scale, z):
    return gaussian_nll(z, torch.zeros_like(z), log_scale)[:, 50:].mean()  # 50 days to warm up


def forecast_days(a, b, seed, lr, steps=600):
    torch.manual_seed(seed)
    net, scale = Volatility().to(device), returns[:a].std()
    z = (returns[:b] - returns[:a].mean()) / scale
    batches = stretches(z[:a], torch.Generator().manual_seed(seed))
    options = {"loss": next_day_loss, "schedule": warm_up_cosine(steps), "clip": 0.3}
    fit(net, adamw(net, lr), batches, steps=steps, **options)
    with torch.no_grad():
        log_scale = net(z[None, : b - 1].float().to(device))[0, a - 1 :]
    return log_scale.cpu().double() + scale.log()


# %% [markdown]
# Its learning rate is chosen on 2005 to 2007, fitted on the years before.


# %% tags=["data", "nbval-ignore-output"]
def score_days(a, b, forecasts):
    mean = returns[:a].mean()
    return {name: gaussian_nll(returns[a:b], mean, one) for name, one in forecasts.items()}


first_day = {year: int((years < year).sum()) for year in (2005, 2008, 2019)}
a, b = first_day[2005], first_day[2008]
tried = {lr: forecast_days(a, b, seed=0, lr=lr) for lr in (0.003, 0.01, 0.03)}
tried = {lr: each.mean().item() for lr, each in score_days(a, b, tried).items()}
volatility_lr = min(tried, key=tried.get)
print(tried)

# %% [markdown]
# **Predict.** Which has the lowest loss on 2008 to 2018: the mean size of all days before, RiskMetrics' running mean (EWMA), GARCH, or the LSTM?

# %% tags=["predict"]
guess = None  # "constant", "EWMA", "GARCH" or "LSTM"

# %% tags=["data", "nbval-ignore-output"]
a, b = first_day[2008], first_day[2019]
forecasts = rivals(a, b)
forecasts |= {f"LSTM, seed {k}": forecast_days(a, b, k, volatility_lr) for k in (1, 2, 3)}
nll = score_days(a, b, forecasts)
print(f"{b - a:,} days; differences in nats a day, with their standard errors")
for name, each in nll.items():
    print(f"{name:14} {each.mean():.4f}", end="")
    if name != "GARCH":
        worse, z = compare_losses(each, nll["GARCH"], lags=10)
        print(f"   over GARCH {worse:+.4f} ± {abs(worse / z):.4f}", end="")
    print()
compare_guess(guess, min(nll, key=lambda name: nll[name].mean()).split(",")[0])

# %% tags=["data", "nbval-ignore-output"]
lstm_nll = torch.stack([each for name, each in nll.items() if "LSTM" in name]).mean(0)
worse, z = compare_losses(lstm_nll, nll["GARCH"], lags=10)
claim(lstm_over_garch=worse, lstm_over_garch_in_errors=z)

# %% tags=["figure", "data", "nbval-ignore-output"]
shown = slice(a, first_day[2008] + 750)
when, size = days[1:][shown], 100 * returns[shown].abs()
plt.figure(figsize=(9, 4.2))
plt.plot(when, size, color="0.75", linewidth=0.8)
for color, name in {"C1": "GARCH", "C2": "LSTM, seed 1"}.items():
    sigma = 100 * forecasts[name][:750].exp()
    plt.plot(when, sigma, color=color, linewidth=1.5, label=name.split(",")[0])
plt.gca().set(ylabel="% a day", ylim=(0, 8), title="Two memories of how wild the days were")
plt.legend()
figure(
    "volatility", alt="Forecast standard deviations of GARCH and LSTM over grey sizes of returns."
)

# %% [markdown]
# TODO verdict
#
# ## 9c.7 What it costs
#
# A recurrent network must go through the steps one after the other: $h_{50}$ waits for $h_{49}$. A causal convolution (lesson 4) and attention (lesson 6) compute all steps at once. Time a pass forward and backward of one layer, and count the numbers that the forward pass keeps for the backward one.

# %%
from coursekit.layers.attention import MultiHeadAttention, allow_past, attend
from coursekit.layers.convolution import CausalConv1d


def plain_attention(q, k, v, allowed):
    return attend(q, k, v, allow_past(q.shape[-2], k.shape[-2], q.device))


LAYERS = {
    "LSTM": LSTM(64, 64),
    "convolution": CausalConv1d(64, 64, kernel=4),
    "attention": MultiHeadAttention(64, 4, plain_attention),
}


def measure_cost(layer, steps):
    x, kept = torch.randn(2, steps, 64), {}
    weights = {p.untyped_storage().data_ptr() for p in layer.parameters()}

    def note(saved):
        kept[saved.untyped_storage().data_ptr()] = saved
        return saved

    begin = time.perf_counter()
    with torch.autograd.graph.saved_tensors_hooks(note, lambda saved: saved):
        y = layer(x)
    y = y[0] if isinstance(y, tuple) else y
    y.sum().backward()
    seconds = time.perf_counter() - begin
    return seconds, sum(one.numel() for at, one in kept.items() if at not in weights)


# %% tags=["machine"]
LENGTHS = (64, 128, 256, 512, 1024)
costs = {
    name: np.array([min(measure_cost(layer, n) for _ in range(3)) for n in LENGTHS])
    for name, layer in LAYERS.items()
}
for name, cost in costs.items():
    print(f"{name:12} {1000 * cost[-1, 0]:5.0f} ms and {cost[-1, 1]:,.0f} numbers for 1,024 steps")

# %% tags=["nbval-ignore-output"]
growth = {name: cost[-1, 1] / cost[-2, 1] for name, cost in costs.items()}
claim(lstm_memory_growth=growth["LSTM"], attention_memory_growth=growth["attention"])
claim(lstm_time_over_convolution=costs["LSTM"][-1, 0] / costs["convolution"][-1, 0])

# %% tags=["figure", "machine"]
axes = plt.subplots(1, 2, figsize=(10, 4.2))[1]
for color, (name, cost) in zip(("C2", "C0", "C3"), costs.items(), strict=True):
    axes[0].loglog(LENGTHS, 1000 * cost[:, 0], "o-", color=color, label=name)
    axes[1].loglog(LENGTHS, cost[:, 1], "o-", color=color, label=name)
axes[0].set(ylabel="milliseconds, forward and backward")
axes[1].set(ylabel="numbers kept for the backward pass")
for ax in axes:
    ax.set(xlabel="steps T", xlim=(55, 1200))
    ax.set_xticks(LENGTHS, [str(n) for n in LENGTHS])
    ax.minorticks_off()
    name_lines(ax)
plt.suptitle("The LSTM pays in time, attention in memory")
figure(
    "cost",
    alt="Time and memory against steps: the LSTM is slowest, attention's memory grows with T squared.",
)

# %% [markdown]
# The LSTM's time grows with the steps, like its memory, but each step waits for the one before: one after the other, whatever the machine. Attention without a fused kernel keeps a weight for each pair of steps, so its memory quadruples when the steps double. While *sampling* it is the other way round: the LSTM's state has the same 128 numbers after ten letters and after a million, where attention keeps the keys and values of every step it has read.
#
# ## What you have now
#
# - An RNN and an LSTM from their equations, equal to PyTorch's.
# - The reason why one forgets and the other need not: a product of fifty factors, and a gate that keeps them near 1, if it starts there.
# - A language model whose context has no bound.
# - What still fails: the state has a fixed size, and the steps are taken one after the other, in training, too.

# %% tags=["scoreboard"]
scoreboard("names")

# %% [markdown]
# The last row has read every letter, one by one, and carried what it needed in 64 cells. But the letters are all there from the start. Why go through them one after the other at all? Lesson 10 lets each position look at all the others at once, in both directions: attention without a mask.

# %% [markdown]
# # 9c · Recurrence: what can a network remember?
#
# A table of counts reads four letters, a WaveNet eight. A **recurrent network** reads one step at a time and keeps what it needs in a few numbers, so nothing bounds how far back it can look. Show it a symbol, then more and more letters of noise, and ask which symbol it was: sooner or later it can't say. Why not, and what has to change?
#
# **Afterwards you can** write an RNN and an LSTM from their equations, follow a gradient through fifty steps, say what each gate is for and how to start it, and tell when a recurrent network is worth its time.
#
# **Before**: lessons 1 (tables of counts), 2 (embeddings, tanh), 2b (validation, learning rates, AdamW) and 9b (returns, error bars). Section 9c.7 compares with lesson 6.
#
# **Runs in** {runs_in}. **Study time** {study}.
#
# **Sources**: the network is that of Elman (1990); its gradients are analysed by Bengio, Simard and Frasconi (1994) and Pascanu, Mikolov and Bengio (2013). LSTM: Hochreiter and Schmidhuber (1997), with the forget gate of Gers, Schmidhuber and Cummins (2000). Its first bias: Jozefowicz, Zaremba and Sutskever (2015), Tallec and Ollivier (2018). GARCH: Bollerslev (1986); with falls: Glosten, Jagannathan and Runkle (1993).

# %% tags=["setup", "machine"]
from functools import partial

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
# Every row of this board reads a fixed number of letters. At the end there will be one that reads them all.

# %% tags=["scoreboard"]
scoreboard("names", own=False)

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
# A recurrent network (RNN) mixes each step $x_t$ with what it kept of all steps before, the **state** $h_{t-1}$, by the same weights at every step:
#
# $$h_t = \tanh(W x_t + U h_{t-1} + b)$$
#
# The equation is one line of code, the rest is the loop. (A second vector, `c`, goes along unused until section 9c.3.)


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


# %% [markdown]
# The rest of our copier: vectors for the sixteen letters, and an output layer that is asked once, after the last step.


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


def train_copier(layer, lag, seed, draw=draw_recall, lr=0.01, steps=300):
    torch.manual_seed(seed)
    net, chance = Copier(layer(16, 32)), torch.Generator().manual_seed(seed)
    batches = (draw(64, lag, chance) for _ in range(steps))
    fit(net, adamw(net, lr), batches, steps=steps, clip=1.0)
    return net


def ask(net, lag, draw=draw_recall):
    tokens, answers = draw(1000, lag, torch.Generator().manual_seed(2000))  # never trained on
    with torch.no_grad():
        return (net(tokens).argmax(1) == answers).double().mean().item()


# %% [markdown]
# Each lag gets networks of its own, trained for 300 steps of 64 sequences. What counts is the **accuracy**, the fraction of right answers. Here and below, the learning rate is the best of 0.003, 0.01 and 0.03 for that network and lag, on other sequences and other seeds.
#
# **Predict.** The network has 32 numbers to keep one of eight symbols in. Up to which lag is its accuracy above a half? Chance is one in eight.

# %% tags=["predict"]
guess = None  # a lag, such as 30

# %% tags=["nbval-ignore-output"]
LAGS, SEEDS = (5, 10, 20, 30, 50), (1, 2, 3)


def right_by_lag(layer, lrs):
    found = []
    for lag, lr in zip(LAGS, lrs, strict=True):
        found.append([ask(train_copier(layer, lag, seed, lr=lr), lag) for seed in SEEDS])
    return np.array(found)


rnn_right = right_by_lag(OurRNN, (0.01, 0.01, 0.01, 0.01, 0.03))
compare_guess(guess, np.array(LAGS)[rnn_right.mean(1) > 0.5].max().item())
claim(rnn_at_5=rnn_right[0].mean(), rnn_at_50=rnn_right[-1].mean())


# %% tags=["figure", "nbval-ignore-output"]
def draw_right(ax, right, color, name):
    ax.plot(LAGS, right.mean(1), "-", color=color, label=name)
    ax.plot(LAGS, right, "o", color=color, markersize=5)
    ax.set(xlabel="lag (letters between symbol and question)", ylabel="accuracy", ylim=(0, 1.04))
    ax.set_yticks([0, 0.125, 0.5, 1], ["0", "⅛: chance", "½", "1"])


draw_right(plt.gca(), rnn_right, "C0", "RNN")
plt.title("The farther back the symbol, the fewer networks learn to keep it")
figure("copy-rnn", alt="Accuracy against lag: 1 at 5, then falling with a wide spread, low at 50.")

# %% [markdown]
# Three networks for each lag (the dots; the line is their mean). They don't lack room, since 32 numbers hold a symbol easily. They haven't *learnt* to keep it in 300 steps. So look at how they learn.
#
# ## 9c.2 Fifty factors
#
# The first symbol enters the first state. Whether the weights learn to keep it depends on how much the last state changes with it: on the derivative $\partial h_{50} / \partial h_0$. By the chain rule that is a product of fifty matrices, one a step:
#
# $$\frac{\partial h_{50}}{\partial h_0} = J_{50} \cdots J_2 J_1 \qquad J_t = \frac{\partial h_t}{\partial h_{t-1}} = \operatorname{diag}(1 - h_t^2)\; U$$
#
# Follow the product ([a test](../tests/test_recurrent.py) compares it with autograd's). An orthogonal matrix $Q$ changes no length, so $U = k\,Q$ multiplies each length by $k$. The **norm** of a matrix is the largest factor by which it stretches a vector.

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
# **Predict.** Without the tanh and with $U = Q / 2$: what is the norm of $\partial h_{50} / \partial h_0$?

# %% tags=["predict"]
guess = None  # such as 0.01

# %%
curves = {f"linear, {k} Q": gradient_norms(k * Q, linear=True) for k in (0.5, 1.0, 1.5)}
curves |= {f"tanh, {k} Q": gradient_norms(k * Q) for k in (1.0, 1.5)}
compare_guess(guess, curves["linear, 0.5 Q"][-1])
claim(norm_of_tanh_1=curves["tanh, 1.0 Q"][-1], norm_of_tanh_1_and_a_half=curves["tanh, 1.5 Q"][-1])


# %% tags=["figure", "folded"]
ax = plt.subplots(figsize=(8.5, 4.8))[1]
for color, (name, norms) in zip(("C0", "0.3", "C3", "0.3", "C3"), curves.items(), strict=True):
    ax.semilogy(range(1, 51), norms, color=color, ls="--" if "tanh" in name else "-", label=name)
ax.set(xlim=(0, 51), xlabel="step t", ylabel="norm of ∂h$_t$ / ∂h$_0$")
plt.title("What is multiplied at every step vanishes or explodes")
name_lines(ax)
figure("gradients", alt="Norms over 50 steps: 0.5 falls to 1e-15, 1 stays, 1.5 rises to 6e8.")

# %% [markdown]
# Half at each step, and after fifty a millionth of a billionth is left: the **vanishing gradient**. One and a half, and it **explodes**. Only a factor of 1 at every step lets it through. The tanh, whose derivative is at most 1, takes $Q$ far below that, and $1.5\,Q$ to about 10 on these inputs; nothing holds it there while the weights change.
#
# An exploding gradient can be fixed: **clip** it.

# %% [markdown] tags=["exercise"]
# > **Exercise 9c.1 (warm-up, 5 minutes).** Write `our_clip(gradient, most)`. A gradient, a tensor of any shape, whose norm (the root of the sum of its squared numbers) is at most `most` is returned as it is; a longer one is shortened to that norm, its direction kept.
# >
# > <details><summary>Hint</summary>All numbers are multiplied by one and the same factor, which is never above 1.</details>


# %% tags=["stub"]
def our_clip(gradient, most): ...


# %% tags=["check"]
from coursekit.exercises import recurrence
from coursekit.exercises.stub import answer_or

recurrence.check_clip(our_clip)


# %% tags=["solution"]
def our_clip(gradient, most):
    return gradient * (most / gradient.norm()).clamp(max=1)


# %% [markdown]
# (`clip=1.0` in our training does that to all gradients of the network together.) A vanished gradient can't be scaled back: what the first symbol contributes is added to what fifty nearer letters contribute, and a factor enlarges all of them alike. It must not vanish in the first place. (Bengio, Simard and Frasconi proved in 1994 that this is no accident: a state that holds on to something by letting disturbances die out lets its gradients die out, too.)
#
# ## 9c.3 A memory that adds
#
# What should an RNN change so that its gradient survives? A *product* at every step is what kills it. So keep a memory $c$, the **cell state**, and *add* to it:
#
# $$c_t = c_{t-1} + \tanh(W x_t + U h_{t-1} + b) \qquad h_t = \tanh(c_t)$$
#
# The factor from $c_{t-1}$ to $c_t$ is now 1 plus what the memory changes in the addition: close to 1 where what is added hardly depends on the memory.


# %%
class OurAdder(OurRNN):
    def step(self, mixed, c):
        c = c + torch.tanh(mixed)  # new: it adds
        return torch.tanh(c), c


# %% [markdown]
# Only the step is new. A memory that only adds should be bad at something, too. Here is a second task: symbols come up again and again, and the question is which came *latest*. One task asks a memory to keep, the other to overwrite.

# %%
draw_latest = partial(draw_recall, again=0.06)
print_examples(draw_latest, lag=50)


def draw_any(n, lag, chance, again=0.0):  # of all lags up to this one
    lag = torch.randint(1, lag + 1, (), generator=chance).item()
    return draw_recall(n, lag, chance, again=again)


# %% [markdown]
# Which network learns which task, over 50 steps? If one fails, it gets five times the training, with sequences of all lags up to 50:


# %% tags=["nbval-ignore-output"]
tasks = {"first": draw_recall, "latest": draw_latest}
adder = {name: ask(train_copier(OurAdder, 50, 1, d), 50, d) for name, d in tasks.items()}
longer = train_copier(OurAdder, 50, 1, partial(draw_any, again=0.06), lr=0.003, steps=1500)
claim(adder_first=adder["first"], adder_latest=adder["latest"])
claim(adder_latest_longer=ask(longer, 50, draw_latest))
claim(rnn_latest=ask(train_copier(OurRNN, 50, 1, draw_latest), 50, draw_latest))

# %% [markdown]
# After 300 steps each has learnt what the other hasn't. (The RNN learns to hold the latest symbol because it often came a few steps ago: short lags teach it.) To forget, the adding memory must add the exact opposite of what it holds, through $U$. It can learn that, but even with short sequences and 1,500 steps it is often wrong. Multiplying by 0 would do it at once.
#
# So let the memory *decide* what to multiply by. A **gate** is a decision as a number between 0 and 1, for each unit, made from input and state like everything else: $\sigma(W x_t + U h_{t-1} + b)$, with weights of its own. One gate at a time:
#
# - the **forget gate** $f$ multiplies the old memory: 1 keeps it, 0 clears it;
# - the **input gate** $i$ multiplies what is new, $g = \tanh(\ldots)$: noise need not be written;
# - the **output gate** $o$ multiplies what leaves the memory: what is kept for later need not disturb now.
#
# $$c_t = f \odot c_{t-1} + i \odot g \qquad h_t = o \odot \tanh(c_t)$$
#
# That is the **LSTM** (long short-term memory; $\odot$ multiplies number by number). Its memory still goes straight through, and the direct factor at each step is $f$: the network decides itself how fast its gradient vanishes.

# %% [markdown] tags=["exercise"]
# > **Exercise 9c.2 (build, 15 minutes).** Write `our_lstm_step(mixed, c)`: one step of an LSTM. `mixed` (B, 4 D) holds the numbers of `i`, `f`, `g` and `o` side by side, in this order, *before* their σ and tanh; `c` (B, D) is the memory. Return the output `h` and the new memory, both (B, D). Gradients must go back through your step to `mixed` and to `c`: the check follows them. The copier below is trained with it.
# >
# > <details><summary>Hint 1</summary>`mixed.chunk(4, -1)` cuts the four apart. Three of them are gates, one is not.</details>
# > <details><summary>Hint 2</summary>If the check says that something was changed, look for `*=` or `+=`: they write into the old memory, which the backward pass still needs. If a gradient is 0, look for `detach`.</details>


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


# %% [markdown]
# It takes the place of the RNN's step, in the same loop. Where the forget gate's bias starts is an argument; section 9c.4 says why.


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
# PyTorch has both as `nn.RNN` and `nn.LSTM` (with two biases, of which only the sum matters), the library as `RNN` and `LSTM` ([source](../coursekit/layers/recurrent.py)). The same weights give the same outputs, and [the same gradients](../tests/test_recurrent.py).


# %%
def hand_over(ours, theirs):
    W, b, U = ours.state_dict().values()
    theirs.load_state_dict(dict(zip(theirs.state_dict(), (W, U, b, 0 * b), strict=True)))
    return theirs


def rnn(d_in, d_hidden):
    return hand_over(OurRNN(d_in, d_hidden), nn.RNN(d_in, d_hidden, batch_first=True))


def lstm(d_in, d_hidden, forget_bias=1.0):
    ours = OurLSTM(d_in, d_hidden, forget_bias)
    return hand_over(ours, nn.LSTM(d_in, d_hidden, batch_first=True))


ours, x = OurLSTM(3, 5), torch.randn(2, 7, 3)
assert_close(hand_over(ours, nn.LSTM(3, 5, batch_first=True))(x)[0], ours(x)[0])

# %% [markdown]
# Now train ours, your step in it, to say the *latest* symbol, and read its 32 memory cells step by step. (PyTorch's twin takes over for the reading: it accepts a state.)


# %% tags=["nbval-ignore-output"]
net = train_copier(OurLSTM, 50, 1, draw_latest)
claim(lstm_latest=ask(net, 50, draw_latest))
tokens, _ = draw_latest(1, 50, torch.Generator().manual_seed(42))
twin = hand_over(net.recurrent, nn.LSTM(16, 32, batch_first=True))
state, cells = None, []
for k in range(51):
    _, state = twin(net.vectors(tokens[:, k : k + 1]), state)
    cells.append(state[1].detach().flatten())
cells = torch.stack(cells, 1)
begins = (tokens[0] < 8).nonzero().flatten()
likeness = torch.corrcoef(cells[:, [*(begins[1:] - 1), -1]].T)  # of the memories before each change
claim(likeness_of_f_and_f=likeness[0, 2], likeness_of_f_and_e=likeness[0, 1])

# %% tags=["figure", "nbval-ignore-output", "folded"]
plt.figure(figsize=(10, 4.2))
plt.imshow(cells[cells[:, -1].argsort()], cmap="vlag", vmin=-3, vmax=3, aspect="auto")
plt.colorbar(label="cell state c", pad=0.02)
plt.xticks(range(51), [RECALL_LETTERS[k] for k in tokens[0]], fontsize=9)
for at in begins.tolist():
    plt.axvline(at - 0.5, color="black", linewidth=1.5)
plt.gca().set(ylabel="32 memory cells, sorted", yticks=[], xlabel="what is read")
plt.grid(visible=False)
plt.title("A symbol rewrites the memory: the second F ends as the first did")
figure("memory", alt="Cells over time: the colours change at E, and return with the second F.")

# %% [markdown]
# A black line stands before each new symbol. Some cells take ten or twenty letters to settle. Then the second F has left (nearly) the memory that the first one left, and E another one: what was there before is overwritten.

# %% [markdown]
# ## 9c.4 How long a gate stays open
#
# At the start the weights are small, and a forget gate is about $\sigma(b)$: its bias $b$, the **forget bias**, decides. With $b = 0$ that is a half, the vanishing gradient once more. Jozefowicz and colleagues (2015) advise $b = 1$, and much code does that; but $\sigma(1)^{50} = 0.73^{50}$ is a sixth of a millionth. To keep a memory for $T$ steps, a gate may lose about $1/T$ of it at each, and $\sigma(b) = 1 - 1/T$ means $b = \ln(T - 1)$: about 4 for fifty steps, where two fifths are left. (Tallec and Ollivier 2018 draw a $T$ of its own for each unit.)
#
# That is only the direct way through the gates. So measure the whole gradient: that of the loss at each letter which an untrained copier reads.


# %%
def gradient_back(layer):
    torch.manual_seed(1)
    net = Copier(layer(16, 32))
    tokens, answers = draw_recall(1000, 50, torch.Generator().manual_seed(42))
    x = net.vectors(tokens).detach().requires_grad_()
    outputs, _ = net.recurrent(x)
    F.cross_entropy(net.output(outputs[:, -1]), answers).backward()
    lengths = x.grad.norm(dim=2).mean(0).flip(0)  # 0, 1, … 50 steps back
    return lengths / lengths[0]


lstm_4 = partial(lstm, forget_bias=4.0)
left = [gradient_back(layer) for layer in (rnn, lstm, lstm_4)]
claim(left_rnn=left[0][-1], left_bias_1=left[1][-1], left_bias_4=left[2][-1])

# %% tags=["nbval-ignore-output"]
right_1, right_4 = (right_by_lag(layer, [0.003] * 5) for layer in (lstm, lstm_4))
_, asked = draw_recall(1000, 50, torch.Generator().manual_seed(2000))
wrong = (Score(1 - right[-1].mean(), on=asked, steps=300) for right in (right_4, rnn_right))
claim_order(bias_4_over_rnn=tuple(wrong))
claim(bias_1_at_50=right_1[-1].mean(), rnn_minus_bias_1_at_30=(rnn_right - right_1)[3].mean())

# %% tags=["figure", "nbval-ignore-output", "folded"]
axes = plt.subplots(1, 2, figsize=(10.5, 4.4))[1]
rights = {"RNN": rnn_right, "bias 1": right_1, "bias 4": right_4}
for color, back, (name, right) in zip(("C0", "C1", "C2"), left, rights.items(), strict=True):
    axes[0].semilogy(back, color=color, label=name)
    draw_right(axes[1], right, color, name)
axes[0].set(xlim=(0, 51), xlabel="steps back from the question")
axes[0].set(ylabel="gradient before training (last letter: 1)")
for ax in axes:
    name_lines(ax)
plt.suptitle("Only the open gate passes the gradient on, and only it learns fifty steps")
figure("forget-bias", alt="Left: gradients by steps back. Right: only bias 4 copies over 50 steps.")

# %% [markdown]
# The same network, the same number of steps: a forget gate that starts open copies over fifty letters, one that starts at the usual 1 guesses. An LSTM isn't magic. Nor does the left panel decide everything: at thirty letters the RNN, whose gradient is by far the smallest, is ahead of the LSTM with bias 1. A gradient that survives at the start is enough here, but not necessary, for training changes the weights it depends on.
#
# **Predict.** What else could teach the LSTM with bias 1 to copy over fifty letters: five times the steps, or sequences of all lags from 1 to 50 in one training? And the RNN?

# %% tags=["predict"]
guess = None  # for the LSTM: "steps", "lags", "both" or "neither"


# %% tags=["nbval-ignore-output"]
recipes = {
    "RNN, steps": (rnn, {"lr": 0.01, "steps": 1500}),
    "RNN, lags": (rnn, {"lr": 0.01, "draw": draw_any}),
    "bias 1, steps": (lstm, {"lr": 0.003, "steps": 1500}),
    "bias 1, lags": (lstm, {"lr": 0.01, "draw": draw_any}),
}
for name, (layer, how) in recipes.items():
    recipes[name] = np.array([ask(train_copier(layer, 50, k, **how), 50) for k in SEEDS])
    print(f"{name:21}", *(f"{one:.2f}" for one in recipes[name]))
helped = [kind for kind in ("steps", "lags") if recipes[f"bias 1, {kind}"].mean() > 0.5]
compare_guess(guess, "both" if len(helped) > 1 else "".join(helped) or "neither")
claim(rnn_longer=recipes["RNN, steps"].mean(), bias_1_longer=recipes["bias 1, steps"].mean())
claim(rnn_all_lags=recipes["RNN, lags"].mean(), bias_1_all_lags=recipes["bias 1, lags"].mean())

# %% [markdown]
# Five times the steps make neither reliable: the RNN gets somewhere with some seeds, the LSTM with bias 1 nowhere. Short lags bring a gradient, and what the gates learn from them holds for long ones; the RNN has no gates to learn. Text has dependencies of all lengths, which may be why bias 1 usually does well there.
#
# ## 9c.5 Names, letter by letter
#
# Now something worth remembering: the names. A vector for each letter goes in, the LSTM passes its memory on, and logits for the next letter come out after *every* step. So a name is one training example with as many targets as it has letters and one for its end, each with its whole prefix as context. The library's `RecurrentLM` ([source](../coursekit/models/recurrent.py)) does that, here with 96 memory cells and some dropout (while training, each number between the layers is set to 0 with probability 0.1). Names differ in length; after the end of a short one there is no target.

# %% tags=["data"]
from coursekit.evaluate.likelihood import NO_TARGET, evaluating, next_token_loss
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


# %% tags=["data", "nbval-ignore-output"]
def train(net, batches, lr, steps, loss):
    options = {"loss": loss, "schedule": warm_up_cosine(steps), "clip": 1.0}
    fit(net, adamw(net, lr), batches, steps=steps, **options)


torch.manual_seed(42)
whole = RecurrentLM(RecurrentConfig(vocab_size=27, d_hidden=96, dropout=0.1)).to(device)
train(whole, draw_names(torch.Generator().manual_seed(42)), 0.02, 2000, next_token_loss)

# %% [markdown]
# (The learning rate is 0.02; 0.01 gives the same loss.) Its rival is the best table of lesson 1: four letters of context, with Kneser–Ney smoothing. Both are scored on the same letters, in the same order.

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
claim(lstm_dev_loss=by_lstm.mean())
scores = (Score(one.mean(), on=five[:, 4]) for one in (by_lstm, by_table))
claim_order(lstm_over_table=tuple(scores))

# %% [markdown]
# The LSTM passes the table. (The WaveNet of lesson 4 stays ahead of both.) Where does it gain? Up to three letters both know the whole prefix; from four on, only the LSTM does.

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

# %% [markdown]
# What it writes stands on the board at the end. While it samples, its state is kept from letter to letter (`cached=True`): each letter costs one step, however long the name.

# %% tags=["data", "nbval-ignore-output"]
from coursekit.sample import sample_text

generator = torch.Generator().manual_seed(42)
write = partial(sample_text, whole, vocabulary, ".", 50, stop=".", cached=True)
keep_sample(lstm=[write(generator) for _ in range(5)])

# %% [markdown]
# ## 9c.6 A recurrence from 1986
#
# Are gates that depend on what they read worth anything? Finance has used a recurrence with constants in their place since 1986. Wild days on the stock market come in spells: a large return $r$, up or down, says little about tomorrow's return and much about its *size*. GARCH(1, 1) forecasts tomorrow's variance $v$:
#
# $$v_{t+1} = \omega + \alpha\, r_t^2 + \beta\, v_t$$
#
# It has one memory cell, keeps a fixed fraction $\beta$ of it and adds $\alpha r_t^2$. (GJR-GARCH adds $(\alpha + \gamma)\, r_t^2$ on days that fall.) Each model forecasts each day of 2008 to 2018 the evening before, with parameters from the days before 2008; the loss is that of a normal distribution with the forecast standard deviation.

# %% tags=["data"]
from arch import arch_model

from coursekit.evaluate.likelihood import compare_losses, gaussian_nll
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
# The network has 8 memory cells. It reads the tanh of a day's return and the logarithm of its size, and outputs the logarithm of tomorrow's standard deviation. It is trained on stretches of 200 days, randomly rescaled, since calm years and wild ones are alike up to scale. (Width, learning rate and number of steps were chosen on 2005 to 2007, fitted on the years before.) With `signed=False` it doesn't see whether a day rose or fell.


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


# %% [markdown]
# **Predict.** Whose loss is lowest on 2008 to 2018? (For the LSTM, the mean of eight seeds.)

# %% tags=["predict"]
guess = None  # "GARCH", "GJR-GARCH" or "LSTM"

# %% tags=["data", "nbval-ignore-output"]
log_sigma |= {f"LSTM, seed {k}": forecast(k) for k in range(1, 9)}
log_sigma |= {f"no sign, seed {k}": forecast(k, signed=False) for k in SEEDS}
nll = {name: gaussian_nll(r[a:b], 0 * s, s) for name, s in log_sigma.items()}
for kind in ("LSTM", "no sign"):  # the loss of a seed, on average
    nll[kind] = torch.stack([one for name, one in nll.items() if name.startswith(kind)]).mean(0)
compare_guess(guess, min(("GARCH", "GJR-GARCH", "LSTM"), key=lambda name: nll[name].mean()))


def in_errors(name, other):  # how much more `name` loses, in standard errors
    return compare_losses(nll[name], nll[other], lags=10)[1]


claim(gjr_to_garch=in_errors("GJR-GARCH", "GARCH"), lstm_to_garch=in_errors("LSTM", "GARCH"))
claim(lstm_to_gjr=in_errors("LSTM", "GJR-GARCH"), no_sign_to_garch=in_errors("no sign", "GARCH"))

# %% tags=["figure", "data", "nbval-ignore-output", "folded"]
plt.figure(figsize=(8.5, 4.8))
for name in [name for name in nll if name == "GJR-GARCH" or "seed" in name][::-1]:
    worse, errors = compare_losses(nll[name], nll["GARCH"], lags=10)
    color = {"G": "C1", "L": "C2", "n": "0.45"}[name[0]]
    plt.errorbar(-worse, name, xerr=2 * abs(worse / errors), fmt="o", color=color, capsize=3)
plt.axvline(0, color="0.3", linewidth=1)
plt.xlabel("nats a day better than GARCH (bars: ± 2 standard errors)")
plt.title("What the LSTM finds is the sign, and one number is enough for it")
figure("volatility", alt="Gains over GARCH: GJR-GARCH and LSTMs above 0, LSTMs without sign below.")

# %% [markdown]
# Each of eight LSTMs is ahead of GARCH, most by less than two standard errors. What have they found? The *sign* of the return, which GARCH squares away: without it they lose to GARCH. GJR-GARCH needs one number for it, and is at least as good. Its fit sets $\alpha$ to 0: rises leave no trace, falls do (the **leverage effect**). The network was worth training for what it taught, not for its forecast.
#
# ## 9c.7 What it costs
#
# In a recurrent network $h_{50}$ waits for $h_{49}$. Attention (lesson 6) computes all steps at once. For one layer of each: the time of a pass forward and backward on one processor core, and how many numbers the forward pass keeps for the backward one, against the number of steps T.

# %%
from coursekit.inside.diagnose import measure_pass
from coursekit.layers.attention import MultiHeadAttention, attend, attend_past

layers = {"our loop": OurLSTM(64, 64), "nn.LSTM": lstm(64, 64)}
layers |= {rule.__name__: MultiHeadAttention(64, 4, rule) for rule in (attend, attend_past)}
sizes = {steps: torch.randn(2, steps, 64) for steps in (64, 128, 256, 512, 1024)}
costs = {name: [measure_pass(layer, x) for x in sizes.values()] for name, layer in layers.items()}
growth = {name: cost[-1][1] / cost[-2][1] for name, cost in costs.items()}
claim(lstm_memory_growth=growth["our loop"], attention_memory_growth=growth["attend"])

# %% tags=["figure", "machine", "folded"]
axes = plt.subplots(1, 2, figsize=(11.5, 4.4))[1]
for ax, k, what in ((axes[0], 0, "seconds, forward and backward"), (axes[1], 1, "numbers kept")):
    for name, cost in costs.items():
        ax.loglog([*sizes], [one[k] for one in cost], "o-", label=name)
    ax.set(xlabel="T", ylabel=what, ylim=ax.get_ylim(), xticks=[*sizes], xticklabels=[*sizes])
    name_lines(ax)
plt.suptitle("On one core a loop in Python is slow; nn.LSTM needn't be")
figure("cost", alt="Our loop takes most time, nn.LSTM far less; attention grows as T squared.")

# %% [markdown]
# On one core an LSTM in fast code (`nn.LSTM`) isn't slow. Its T steps, one after another, are the trouble where thousands of cores could work at once; attention lets them. Plain attention (`attend`) pays with a weight for each pair of steps: twice the steps, up to four times the numbers; the fused kernel (`attend_past`) doesn't keep them. While *sampling* the LSTM is ahead: its state has the same 128 numbers after ten letters and after a million, where attention keeps keys and values of every step.
#
# Must the steps wait? They do because the gates read $h_{t-1}$. Let them read $x_t$ alone, and $c_t = f_t \odot c_{t-1} + i_t \odot g_t$ is linear in $c$: a parallel **scan** computes all its steps in about $\log_2 T$ rounds (Martin and Cundy 2018). Minimal LSTMs (Feng et al. 2024) and Mamba (Gu and Dao 2023) are built on that. Also worth knowing: the GRU (Cho et al. 2014), with two gates and no separate cell state, and truncated backpropagation through time, which passes the state on between pieces of a long sequence, but no gradient.
#
# ## What you have now
#
# - An RNN and an LSTM from their equations, equal to PyTorch's.
# - A reason why one forgets and the other need not: fifty factors, and a gate that holds them near 1, if it starts there or learns it from short examples. (It is enough, and not necessary: some RNNs learn without.)
# - A language model whose context has no bound.
# - When it is worth its time: where steps arrive one by one and the state must stay small. For names a WaveNet scores better, and for volatility four numbers suffice: look for the simple rival first.
# - What still fails: all that was read must fit into a state of fixed size.

# %% tags=["scoreboard"]
scoreboard("names")

# %% [markdown]
# The last row has read each name letter by letter, and carried what it needed along. But the letters are all there from the start. Why go through them one after another at all? Lesson 10 lets each look at all the others at once, on both sides: attention without a mask.

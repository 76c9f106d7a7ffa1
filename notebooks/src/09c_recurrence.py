# %% [markdown]
# # 9c · Recurrence: what can a network remember?
#
# A table of counts reads four letters, a WaveNet eight. A **recurrent network** reads one step at a time and keeps what it needs in a few numbers, so nothing bounds how far back it can look. Show it a symbol, then fifty letters of noise, and ask which symbol it was. It has no idea. Why not, and what has to change?
#
# **Afterwards you can** write an RNN and an LSTM from their equations, follow a gradient through fifty steps, say what each gate is for and how to start it, and tell when a recurrent network is worth its time.
#
# **Before**: lessons 2 (embeddings, tanh, the training loop) and 2b (validation, learning rates, AdamW).
#
# **Runs in** {runs_in}. **Study time** {study}.
#
# **Sources**: the network is that of Elman (1990); its gradients are analysed by Bengio, Simard and Frasconi (1994) and Pascanu, Mikolov and Bengio (2013). LSTM: Hochreiter and Schmidhuber (1997), with the forget gate of Gers, Schmidhuber and Cummins (2000). Its first bias: Jozefowicz, Zaremba and Sutskever (2015), Tallec and Ollivier (2018). GARCH: Bollerslev (1986).

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
scoreboard("names")

# %% [markdown]
# ## 9c.1 Fifty steps are too many
#
# The task is as simple as a memory task can be. First comes one of eight symbols, A to H, then letters that mean nothing, and then the question: which symbol was it? The number of letters in between is the **lag**.

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
# The equation is one line of code, and the rest is the loop around it. (A second number for each unit, `c`, goes along unused; it will be of use in section 9c.3.)


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
# A training has 300 steps of 64 sequences. Its learning rate is 0.01: of 0.003, 0.01 and 0.03 this is the best, or as good as the best, for each network below, on validation sequences of lag 10.

# %% [markdown]
# **Predict.** The network has 32 numbers to keep one of eight symbols in. Up to which lag does it answer right? Chance is one in eight.

# %% tags=["predict"]
guess = None  # a lag, such as 30

# %% tags=["nbval-ignore-output"]
LAGS, SEEDS = (5, 10, 20, 30, 50), (1, 2, 3)


def right_by_lag(layer):
    nets = {lag: [train_copier(layer, lag, seed) for seed in SEEDS] for lag in LAGS}
    return np.array([[ask(net, lag) for net in nets[lag]] for lag in LAGS])


rnn_right = right_by_lag(OurRNN)
compare_guess(guess, np.array(LAGS)[rnn_right.mean(1) > 0.5].max().item())
claim(copy_rnn_at_50=rnn_right[-1].mean())


# %% tags=["figure", "nbval-ignore-output"]
def draw_right(ax, right, color, name):
    ax.plot(LAGS, right.mean(1), "-", color=color, label=name)
    ax.plot(LAGS, right, "o", color=color, markersize=5)
    ax.set(xlabel="lag (steps between symbol and question)", ylabel="right answers")
    ax.set_yticks([0, 0.125, 0.5, 1], ["0", "⅛: chance", "½", "all"])


draw_right(plt.gca(), rnn_right, "C0", "RNN")
plt.annotate("it guesses", (50, 0.125), (36, 0.4), arrowprops={"arrowstyle": "->", "color": "0.3"})
plt.title("Over fifty steps, the RNN remembers nothing")
figure("copy-rnn", alt="Right answers against lag: all at 5, mixed from 10 to 30, chance at 50.")

# %% [markdown]
# Three networks for each lag (the dots): over ten to thirty steps it is a matter of luck, and over fifty each of them guesses. It isn't room that they lack, since 32 numbers hold a symbol easily. So look at how they learn.
#
# ## 9c.2 Fifty factors
#
# The first symbol enters the first state. Whether the weights learn to keep it depends on how much the last state changes with it: on the derivative $\partial h_{50} / \partial h_0$. By the chain rule that is a product of fifty matrices, one a step:
#
# $$\frac{\partial h_{50}}{\partial h_0} = J_{50} \cdots J_2 J_1 \qquad J_t = \frac{\partial h_t}{\partial h_{t-1}} = \operatorname{diag}(1 - h_t^2)\; U$$
#
# Follow the product ([a test](../tests/test_recurrent.py) compares it with autograd's). An orthogonal matrix $Q$ changes no length, so $k\,Q$ multiplies each length by $k$.


# %%
def gradient_norms(matrix, linear=False):
    h, product, norms = torch.zeros(32).double(), torch.eye(32).double(), []
    for read in reads:
        h = matrix @ h + read if linear else torch.tanh(matrix @ h + read)
        jacobian = matrix if linear else (1 - h**2)[:, None] * matrix  # tanh' = 1 - tanh²
        product = jacobian @ product
        norms.append(torch.linalg.matrix_norm(product, ord=2).item())
    return norms


chance = torch.Generator().manual_seed(42)
Q, _ = torch.linalg.qr(torch.randn(32, 32, generator=chance).double())  # orthogonal
reads = 0.5 * torch.randn(50, 32, generator=chance).double()  # what the steps read

# %% [markdown]
# **Predict.** Without the tanh and with $U = Q / 2$: how large is $\partial h_{50} / \partial h_0$?

# %% tags=["predict"]
guess = None  # such as 0.01

# %%
curves = {f"linear, {k} Q": gradient_norms(k * Q, linear=True) for k in (0.5, 1.0, 1.5)}
curves |= {f"tanh, {k} Q": gradient_norms(k * Q) for k in (1.0, 1.5)}
half, one, more, with_tanh, _ = (norms[-1] for norms in curves.values())
compare_guess(guess, half)
claim(gradient_at_half=half, gradient_at_one=one, gradient_at_one_and_a_half=more)
claim(gradient_with_tanh=with_tanh)


# %% tags=["figure"]
ax = plt.subplots(figsize=(8.5, 4.8))[1]
for color, (name, norms) in zip(("C0", "0.3", "C3", "0.3", "C3"), curves.items(), strict=True):
    ax.semilogy(range(1, 51), norms, color=color, ls="--" if "tanh" in name else "-", label=name)
ax.set(xlim=(0, 51), xlabel="step t", ylabel="norm of ∂h$_t$ / ∂h$_0$")
plt.title("What is multiplied at every step vanishes or explodes")
name_lines(ax)
figure("gradients", alt="Norms over 50 steps: 0.5 falls to 1e-15, 1 stays, 1.5 rises to 6e8.")

# %% [markdown]
# Half at each step, and after fifty steps a millionth of a billionth is left: the **vanishing gradient**. The weights learn from the last steps, and from the first ones nothing. One and a half, and it **explodes**. Only a factor of 1 at every step lets it through. The tanh, whose derivative is at most 1, takes $Q$ below that and $1.5\,Q$ down to it, on these inputs; nothing holds it there while the weights change. (Bengio, Simard and Frasconi proved in 1994 that there is no way around: where a state holds on to something in spite of noise, its gradients vanish.)
#
# An exploding gradient can be mended: **clip** it, that is, shorten it to a norm of at most 1, its direction kept. Here is the gradient of an untrained copier with $U = 2Q$ at lag 50, and clipped:

# %% tags=["nbval-ignore-output"]
tokens, answers = draw_recall(1000, 50, torch.Generator().manual_seed(0))
torch.manual_seed(42)
net = Copier(OurRNN(16, 32))
net.recurrent.hidden.weight.data = 2 * Q.float()
F.cross_entropy(net(tokens), answers).backward()
before, after = (nn.utils.clip_grad_norm_(net.parameters(), 1.0).item() for _ in range(2))
claim(norm_before_clipping=before, norm_after_clipping=after)

# %% [markdown]
# A vanished gradient can't be mended, for nothing is left to scale. It must not vanish in the first place.
#
# ## 9c.3 A memory that adds
#
# What should an RNN change so that its gradient survives? A *product* at every step is what kills it. So keep a memory $c$, and *add* to it:
#
# $$c_t = c_{t-1} + \tanh(W x_t + U h_{t-1} + b) \qquad h_t = \tanh(c_t)$$
#
# Where little is added, the factor from $c_{t-1}$ to $c_t$ is nearly 1.


# %%
class OurAdder(OurRNN):
    def step(self, mixed, c):
        c = c + torch.tanh(mixed)  # new: it adds
        return torch.tanh(c), c


# %% [markdown]
# Only the step is new. But a memory that only adds should be bad at something, too. Here is a second task: symbols come up again and again, and the question is which came *latest*. One task asks a memory to keep, the other to overwrite.

# %%
draw_latest = partial(draw_recall, again=0.06)
print_examples(draw_latest, lag=50)

# %% [markdown]
# Who solves which? Both networks on both tasks, over 50 steps:


# %% tags=["nbval-ignore-output"]
def try_tasks(layer):
    tasks = {"first": draw_recall, "latest": draw_latest}
    return {name: ask(train_copier(layer, 50, 1, d), 50, d) for name, d in tasks.items()}


tried = {"RNN": try_tasks(OurRNN), "adds": try_tasks(OurAdder)}
claim(adder_first=tried["adds"]["first"], adder_latest=tried["adds"]["latest"])
claim(rnn_latest=tried["RNN"]["latest"])

# %% [markdown]
# Each solves what the other can't. What was added never goes away, so the adding memory can't tell the latest symbol from those before. (The RNN learns to hold the latest symbol because it often came a few steps ago: short lags teach it, and what holds for five steps holds for fifty.)
#
# To do both, a memory must *decide*. A **gate** is a decision as a number between 0 and 1, for each unit, made from input and state like everything else: $\sigma(W x_t + U h_{t-1} + b)$, with weights of its own. One gate at a time:
#
# - the **forget gate** $f$ multiplies the old memory: 1 keeps it, 0 clears it;
# - the **input gate** $i$ multiplies what is new, $g = \tanh(\ldots)$: noise need not be written;
# - the **output gate** $o$ multiplies what the others see: what is kept for later need not disturb now.
#
# $$c_t = f \odot c_{t-1} + i \odot g \qquad h_t = o \odot \tanh(c_t)$$
#
# That is the **LSTM** (long short-term memory; $\odot$ multiplies number by number). Its memory still goes straight through, and the factor at each step is $f$: the network decides itself how fast its gradient vanishes.

# %% [markdown] tags=["exercise"]
# > **Exercise 9c.1 (build, 15 minutes).** Write `our_lstm_step(mixed, c)`: one step of an LSTM. `mixed` (B, 4 D) holds the numbers of `i`, `f`, `g` and `o` side by side, in this order, *before* their σ and tanh; `c` (B, D) is the memory. Return the output `h` and the new memory `c`, both (B, D).
# >
# > <details><summary>Hint 1</summary>`mixed.chunk(4, -1)` cuts the four apart.</details>
# > <details><summary>Hint 2</summary>Two lines, the two equations above. The output is made from the *new* memory.</details>


# %% tags=["stub"]
def our_lstm_step(mixed, c): ...


# %% tags=["check"]
from coursekit.exercises import recurrence
from coursekit.exercises.stub import answer_or
from coursekit.layers.recurrent import LSTM, RNN, lstm_step

recurrence.check_lstm_step(our_lstm_step)


# %% tags=["solution"]
def our_lstm_step(mixed, c):
    i, f, g, o = mixed.chunk(4, -1)
    c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
    return torch.sigmoid(o) * torch.tanh(c), c


# %% [markdown]
# It takes the place of the RNN's step, in the same loop. Where the bias of the forget gate starts is an argument; the next section says why.


# %%
class OurLSTM(OurRNN):
    parts = 4

    def __init__(self, d_in, d_hidden, forget_bias=1.0):
        super().__init__(d_in, d_hidden)
        self.input.bias.data.zero_()[d_hidden : 2 * d_hidden] = forget_bias

    step = staticmethod(answer_or(our_lstm_step, lstm_step))


# %% [markdown]
# PyTorch has both as `nn.RNN` and `nn.LSTM`, the library as `RNN` and `LSTM` ([source](../coursekit/layers/recurrent.py)). The same weights give the same outputs (and gradients: [a test](../tests/test_recurrent.py) holds them against each other). PyTorch adds two biases, of which only the sum matters.


# %%
def hand_over(ours, theirs):
    W, b, U = ours.state_dict().values()
    weights = (W, b, U) if len(theirs.state_dict()) == 3 else (W, U, b, 0 * b)
    theirs.load_state_dict(dict(zip(theirs.state_dict(), weights, strict=True)))
    return theirs


x, seq = torch.randn(2, 7, 3), {"batch_first": True}
others = (nn.RNN(3, 5, **seq), RNN(3, 5), nn.LSTM(3, 5, **seq), LSTM(3, 5))
for kind, other in zip([OurRNN, OurRNN, OurLSTM, OurLSTM], others, strict=True):
    ours = kind(3, 5)
    assert_close(hand_over(ours, other)(x)[0], ours(x)[0])

# %% [markdown]
# `nn.LSTM` runs all steps in one fused call, in half the time or less, so from here on we train it in place of ours, from the weights of ours. Here is one that learnt to say the *latest* symbol: its 32 memory cells, step by step (a black line stands before each new symbol).


# %% tags=["nbval-ignore-output"]
def lstm(d_in, d_hidden, forget_bias=1.0):
    ours = OurLSTM(d_in, d_hidden, forget_bias)
    return hand_over(ours, nn.LSTM(d_in, d_hidden, **seq))


net = train_copier(lstm, 50, 1, draw_latest)
claim(lstm_latest=ask(net, 50, draw_latest))
tokens, _ = draw_latest(1, 50, torch.Generator().manual_seed(42))
state, cells = None, []
for k in range(51):
    _, state = net.recurrent(net.vectors(tokens[:, k : k + 1]), state)
    cells.append(state[1].detach().flatten())
cells = torch.stack(cells, 1)

# %% tags=["figure", "nbval-ignore-output"]
plt.figure(figsize=(10, 4))
plt.imshow(cells[cells[:, -1].argsort()], cmap="vlag", vmin=-3, vmax=3, aspect="auto")
plt.xticks(range(51), [RECALL_LETTERS[k] for k in tokens[0]], fontsize=9)
for at in (tokens[0] < 8).nonzero().flatten().tolist():
    plt.axvline(at - 0.5, color="black", linewidth=1.5)
plt.gca().set(ylabel="32 memory cells, sorted", yticks=[], xlabel="what is read")
plt.grid(visible=False)
plt.title("A symbol rewrites the memory; in the noise it settles")
figure("memory", alt="Memory cells over time: bands of colour that change where a symbol comes.")

# %% [markdown]
# ## 9c.4 How long a gate stays open
#
# At the start the weights are small, and a forget gate is about $\sigma(b)$: its bias decides. With $b = 0$ that is a half, the vanishing gradient once more. Jozefowicz and colleagues (2015) advise $b = 1$, and much code does that.
# %%
steps = torch.arange(1, 51)
left = {bias: torch.tensor(bias).double().sigmoid() ** steps for bias in (0.0, 1.0, 4.0)}
claim(left_at_bias_1=left[1.0][-1], left_at_bias_4=left[4.0][-1])

# %% [markdown]
# At $b = 1$ next to nothing is left: $\sigma(1)^{50} = 0.73^{50}$ is a sixth of a millionth. To keep a memory for $T$ steps, a gate may lose about $1/T$ of it at each, and $\sigma(b) = 1 - 1/T$ means $b = \ln(T - 1)$: about 4 for fifty steps (Tallec and Ollivier 2018 start their gates that way). Then two fifths are left. Does this one number decide whether the LSTM learns to copy?

# %% tags=["nbval-ignore-output"]
right_1, right_4 = right_by_lag(lstm), right_by_lag(partial(lstm, forget_bias=4.0))
_, asked = draw_recall(1000, 50, torch.Generator().manual_seed(2000))
wrong = (Score(1 - right[-1].mean(), on=asked, steps=300) for right in (right_4, rnn_right))
claim_order(lstm_copies_better=tuple(wrong))
claim(copy_lstm_at_50=right_4[-1].mean(), copy_bias_1_at_50=right_1[-1].mean())

# %% tags=["figure", "nbval-ignore-output"]
axes = plt.subplots(1, 2, figsize=(10, 4.4))[1]
for color, (bias, norms) in zip(("0.5", "C1", "C2"), left.items(), strict=True):
    axes[0].semilogy(steps, norms, color=color, label=f"bias {bias:g}")
axes[0].set(xlabel="step t", ylabel="gradient ∂c$_t$ / ∂c$_0$ before training", xlim=(0, 51))
draw_right(axes[1], rnn_right, "C0", "RNN")
draw_right(axes[1], right_1, "C1", "bias 1")
draw_right(axes[1], right_4, "C2", "bias 4")
name_lines(axes[0])
name_lines(axes[1])
plt.suptitle("What is left of the gradient decides what can be learnt")
figure("forget-bias", alt="Gradients by forget bias; only bias 4 copies over fifty steps.")

# %% [markdown]
# The same network, the same number of steps: a forget gate that starts open copies over fifty steps, one that starts at the usual 1 guesses, as the RNN does. An LSTM isn't magic. Its gradient must survive as well, and one number sees to that.

# %% [markdown] tags=["exercise"]
# > **Exercise 9c.2 (investigate, 20 minutes).** Is a forget bias of 4 always better, and can't bias 1 learn to copy over 50 steps at all? Train with other biases, with more steps, and with lags that differ from batch to batch. Which of the three is the cheapest? What do the networks answer after a lag that none was trained on?
# >
# > | bias | trained at lag | steps | right after 5 | after 50 | after 500 |
# > |---|---|---|---|---|---|
# > | 0, 1, 2, 4, 8 | 50 | 300 | | | |
# > | 1 | 50 | 1,500 | | | |
# > | 1 | 1 to 50 | 300 | | | |
# >
# > <details><summary>Hint</summary>`net = train_copier(lstm, 50, seed=1, draw=draw_any)`, then `ask(net, 5)`. Write `draw_any(n, lag, chance)` so that it draws a lag from 1 to `lag` first.</details>
#
# <details><summary>What we found</summary>
#
# With seed 1 (fractions of the right answers; chance is 0.125):
#
# | bias | trained at lag | steps | right after 5 | after 50 | after 500 |
# |---|---|---|---|---|---|
# | 0 | 50 | 300 | 0.12 | 0.12 | 0.12 |
# | 1 | 50 | 300 | 0.13 | 0.13 | 0.13 |
# | 2 | 50 | 300 | 0.12 | 0.13 | 0.13 |
# | 4 | 50 | 300 | 1.00 | 1.00 | 0.99 |
# | 8 | 50 | 300 | 1.00 | 1.00 | 1.00 |
# | 1 | 50 | 1,500 | 0.12 | 0.12 | 0.12 |
# | 1 | 1 to 50 | 300 | 1.00 | 1.00 | 1.00 |
#
# More steps don't help, since there is hardly a gradient to follow. Short lags do: what the network learns from them holds for long ones, and costs nothing. For this task a gate can hardly be too open, because nothing has to be forgotten.
#
# </details>

# %% [markdown]
# ## 9c.5 Names, letter by letter
#
# Now something worth remembering: the names. A vector for each letter goes in, the LSTM passes its memory on, and logits for the next letter come out after *every* step. So a name is one training example with as many targets as it has letters and one for its end, each with its whole prefix as context. The library's `RecurrentLM` ([source](../coursekit/models/recurrent.py)) is that network, here with 96 memory cells and some dropout (while training, each number between the layers is set to 0 with probability 0.1). Names differ in length; behind the end of a short one there is no target.

# %% tags=["data"]
from coursekit.evaluate.likelihood import NO_TARGET, evaluating, next_token_loss, table_nll
from coursekit.models.recurrent import RecurrentConfig, RecurrentLM
from coursekit.tokens.vocabulary import Vocabulary
from coursekit.windows.tokens import group_windows, pad_words, word_windows

vocabulary = Vocabulary(".abcdefghijklmnopqrstuvwxyz")
words, held, _ = data.split_words(data.names())
X, Y = (part.to(device) for part in pad_words(words, vocabulary, NO_TARGET))


def start():
    torch.manual_seed(42)
    return RecurrentLM(RecurrentConfig(vocab_size=27, d_hidden=96, dropout=0.1)).to(device)


def draw_names(chance):
    while True:
        rows = torch.randint(len(X), (256,), generator=chance).to(device)
        longest = (Y[rows] != NO_TARGET).sum(1).max()
        yield X[rows, :longest], Y[rows, :longest]


# %% tags=["data", "nbval-ignore-output"]
def train(net, batches, lr, steps, loss, decay=0.0):
    options = {"loss": loss, "schedule": warm_up_cosine(steps), "clip": 1.0}
    fit(net, adamw(net, lr, weight_decay=decay), batches, steps=steps, **options)
    return net


chance = torch.Generator().manual_seed(42)
whole = train(start(), draw_names(chance), 0.02, 2000, next_token_loss)

# %% [markdown]
# For a comparison at *equal* context, a second one gets three letters only, as the MLP and the table do: the windows of lesson 2, each different context once, with the counts of what followed (lesson 2b). The MLP is the last one of lesson 2b; the tables are those of lesson 1, with Kneser–Ney smoothing.

# %% tags=["data", "nbval-ignore-output"]
from coursekit.models.mlp import MLP, MLPConfig
from coursekit.models.ngram import NGram, count_ngrams, kneser_ney

grouped = group_windows(word_windows(words, vocabulary, 4), 27)
each_once = [tuple(part.to(device) for part in grouped)] * 250
three = train(start(), each_once, 0.1, 250, lambda y, n: table_nll(y[:, -1], n), 0.5)
torch.manual_seed(42)
mlp = MLP(MLPConfig(vocab_size=27, d_embedding=24, normalised=True)).to(device)
train(mlp, each_once, 0.03, 250, table_nll, decay=0.5)


def count(n):
    return NGram(kneser_ney(count_ngrams(word_windows(words, vocabulary, n + 1), 27)))


# %% [markdown]
# All are scored on the same letters, in the same order. The whole-prefix LSTM is scored twice: with its whole prefix, and with its state *cut* to three letters, which it was not trained for.


# %% tags=["data", "nbval-ignore-output"]
def each_loss(net, inputs, targets):
    with evaluating(net):
        logits = net(inputs.to(device)).cpu()
    logits = logits[:, -1] if targets.ndim == 1 and logits.ndim == 3 else logits
    loss = F.cross_entropy(logits.flatten(0, -2), targets.flatten(), reduction="none")
    return loss[targets.flatten() != NO_TARGET].double()


x_val, y_val = pad_words(held, vocabulary, NO_TARGET)
four, five = (word_windows(held, vocabulary, n) for n in (4, 5))
losses = {
    "table, 3 letters": each_loss(count(3).to(device), four[:, :3], four[:, 3]),
    "MLP, 3 letters": each_loss(mlp, four[:, :3], four[:, 3]),
    "LSTM, 3 letters": each_loss(three, four[:, :3], four[:, 3]),
    "table, 4 letters": each_loss(count(4).to(device), five[:, :4], five[:, 4]),
    "LSTM, whole prefix": each_loss(whole, x_val, y_val),
    "the same, cut to 3": each_loss(whole, four[:, :3], four[:, 3]),
}

# %% tags=["data", "nbval-ignore-output"]
best = losses["LSTM, whole prefix"]
for name, each in losses.items():
    error = (each - best).std() / len(each) ** 0.5
    print(f"{name:19} {each.mean():.4f}  {(each - best).mean():+.4f} ± {error:.4f}")
scores = {name: Score(each.mean(), on=four[:, 3]) for name, each in losses.items()}
claim(lstm_dev_loss=best.mean())
claim(lstm_over_mlp=losses["LSTM, 3 letters"].mean() - losses["MLP, 3 letters"].mean())
claim_order(lstm_beats_table=(scores["LSTM, whole prefix"], scores["table, 4 letters"]))

# %% [markdown]
# (The second column: by how much the loss is above that of the whole prefix, with the standard error of this difference.) With the whole prefix the LSTM passes the tables; with three letters it stays a little behind the MLP. Cut to three letters, the network that was trained on whole names fails badly: it has never seen a text that doesn't begin with the start of a name. (The WaveNet of lesson 4 stays ahead of all of them.) Where does the whole prefix help? The same losses, by how many letters came before:

# %% tags=["figure", "data", "nbval-ignore-output"]
before, ax = (y_val != NO_TARGET).nonzero()[:, 1], plt.subplots(figsize=(8.5, 4.4))[1]
for color, name in {"C1": "table, 4 letters", "C2": "LSTM, whole prefix"}.items():
    more = losses[name] - losses["table, 3 letters"]
    each = [more[before == t].mean() for t in range(10)]
    ax.plot(range(10), each, "o-", color=color, label=name)
ax.set(xlim=(-0.2, 9.2), xticks=range(10), xlabel="letters before the one predicted")
ax.set(ylabel="nats above the table of 3 letters", title="The LSTM gains where names are long")
name_lines(ax)
figure("by-position", alt="The LSTM is ever further below the table as names get longer.")

# %% [markdown]
# With four letters before or more, the LSTM is ahead of the table, and ever further; with fewer, the table has counted each beginning often enough. What the LSTM writes stands on the board at the end. While it samples, its state is kept from letter to letter (`cached=True`): each letter costs one step, however long the name. (The text is the same without.)

# %% tags=["data", "nbval-ignore-output"]
from coursekit.sample import sample_text

generator = torch.Generator().manual_seed(42)
write = partial(sample_text, whole, vocabulary, ".", 50, stop=".", cached=True)
keep_sample(lstm=[write(generator) for _ in range(5)])

# %% [markdown]
# ## 9c.6 A gate from 1986
#
# Wild days on the stock market come in spells: a large return $r$, up or down, says little about tomorrow's return and much about its *size*. The classical forecast of tomorrow's variance $v$ is GARCH(1, 1):
#
# $$v_{t+1} = \omega + \alpha\, r_t^2 + \beta\, v_t$$
#
# That is a recurrence with one memory cell: a forget gate $\beta$, an input gate $\alpha$, both fixed. The gates of an LSTM may depend on what it reads. Is that worth anything? One more rival gives falls an input gate of their own. Each forecasts each day of 2008 to 2018 on the evening before, with parameters from the days before 2008; the loss is that of a normal distribution with the forecast standard deviation.

# %% tags=["data"]
from arch import arch_model

from coursekit.evaluate.likelihood import compare_losses, gaussian_nll
from coursekit.models.baselines import ewma_variance, garch_variance
from coursekit.windows.pieces import draw_pieces

days, closes = data.sp500()
returns = torch.tensor(closes, dtype=torch.float64).log().diff()
a, b = (sum(day.year < year for day in days[1:]) for year in (2008, 2019))  # a … b - 1: forecast
known, r = returns[:a], returns - returns[:a].mean()
v = known.var().item()


def fit_garch(falls):  # falls = 1: days that fall have an input gate of their own
    _, omega, alpha, *gamma, beta = arch_model(100 * known.numpy(), o=falls).fit(disp="off").params
    rule = {"constant": omega / 1e4, "surprise": alpha, "memory": beta, "fall": sum(gamma)}
    print({name: round(value, 7) for name, value in rule.items()})
    return garch_variance(r, v, **rule)


variance = {"GARCH": fit_garch(0), "GARCH, falls": fit_garch(1), "EWMA": ewma_variance(r, v)}
variance["constant"] = torch.full_like(r, v)

# %% [markdown]
# The network has 8 memory cells. It reads a day's return and the logarithm of its size, in units of the standard deviation of the days it is fitted on, and says the logarithm of tomorrow's. It is trained on stretches of 200 days, their scale changed at random: calm years and wild ones are alike up to scale. (Its width, learning rate and number of steps were chosen on 2005 to 2007, fitted on the years before.)


# %%
class Volatility(nn.Module):
    def __init__(self):
        super().__init__()
        self.recurrent = lstm(2, 8, forget_bias=3.0)
        self.output = nn.Linear(8, 1)

    def forward(self, z):
        outputs, _ = self.recurrent(torch.stack([z.tanh(), (z.abs() + 0.05).log()], -1))
        return self.output(outputs)[..., 0]


def next_day_loss(log_scale, z):
    return gaussian_nll(z, 0 * z, log_scale)[:, 50:].mean()  # 50 days to warm up


def forecast(seed):
    torch.manual_seed(seed)
    net, chance = Volatility(), torch.Generator().manual_seed(seed)
    z = (r / known.std()).float()
    batches = draw_pieces(z[:a], 200, 16, chance, spread=0.5)
    train(net, batches, 0.01, 600, next_day_loss)
    with torch.no_grad():
        return net(z[None, : b - 1])[0, a - 1 :].double() + known.std().log()


# %% [markdown]
# **Predict.** Whose loss is lowest on 2008 to 2018: the constant variance, RiskMetrics' running mean (EWMA), GARCH, GARCH with its gate for falls, or the LSTM?

# %% tags=["predict"]
guess = None  # "constant", "EWMA", "GARCH", "GARCH, falls" or "LSTM"

# %% tags=["data", "nbval-ignore-output"]
sigmas = {name: v[a:b].log() / 2 for name, v in variance.items()}
sigmas |= {f"LSTM, seed {k}": forecast(k) for k in SEEDS}
nll = {name: gaussian_nll(r[a:b], 0 * s, s) for name, s in sigmas.items()}
for name, each in nll.items():
    worse, errors = compare_losses(each, nll["GARCH"], lags=10) if name != "GARCH" else (0, 1)
    print(f"{name:13} {each.mean():.4f}, over GARCH {worse:+.4f} ± {abs(worse / errors):.4f}")
compare_guess(guess, min(nll, key=lambda name: nll[name].mean()))
three_seeds = torch.stack([each for name, each in nll.items() if "LSTM" in name]).mean(0)
claim(lstm_over_garch_in_errors=compare_losses(three_seeds, nll["GARCH"], lags=10)[1])
claim(lstm_over_falls_in_errors=compare_losses(three_seeds, nll["GARCH, falls"], lags=10)[1])

# %% tags=["figure", "data", "nbval-ignore-output"]
plt.figure(figsize=(9, 4.2))
when = days[a + 1 : a + 751]
plt.plot(when, 100 * returns[a : a + 750].abs(), color="0.75", linewidth=0.8)
for color, name in {"C1": "GARCH", "C2": "LSTM, seed 1"}.items():
    plt.plot(when, 100 * sigmas[name][:750].exp(), color=color, label=name, linewidth=1.5)
plt.gca().set(ylabel="% a day", ylim=(0, 8))
plt.legend()
plt.title("Both follow the wild spells, the LSTM with larger jumps")
figure("volatility", alt="Standard deviations of GARCH and LSTM over grey sizes of returns.")

# %% [markdown]
# The LSTM beats GARCH, by more than two standard errors with each seed. What has it found? It reads the *sign* of the return, which GARCH squares away. Give falls an input gate of their own (Glosten, Jagannathan and Runkle 1993: a term $\gamma\, r_t^2$ on days that fall), and the fit sets $\alpha$ to 0: rises leave no trace, falls do. With that one number more, four parameters draw level with the network's 361. So the LSTM was right, and a look at what it does better has taught us something; the days of 2008 to 2018 give no reason to prefer it.
#
# ## 9c.7 What it costs
#
# In a recurrent network $h_{50}$ waits for $h_{49}$. A causal convolution (lesson 4) and attention (lesson 6) compute all steps at once. For one layer of each: the time of a pass forward and backward, and how many numbers the forward pass keeps for the backward one, against the number of steps T.

# %%
from coursekit.inside.diagnose import measure_pass
from coursekit.layers.attention import MultiHeadAttention, attend
from coursekit.layers.convolution import CausalConv1d

layers = {"LSTM": LSTM(64, 64), "convolution": CausalConv1d(64, 64, kernel=4)}
layers["attention"] = MultiHeadAttention(64, 4, attend)
inputs = {steps: torch.randn(2, steps, 64) for steps in (64, 128, 256, 512, 1024)}
costs = {name: [measure_pass(layer, x) for x in inputs.values()] for name, layer in layers.items()}
growth = {name: cost[-1][1] / cost[-2][1] for name, cost in costs.items()}
claim(lstm_memory_growth=growth["LSTM"], attention_memory_growth=growth["attention"])

# %% tags=["figure", "machine"]
axes = plt.subplots(1, 2, figsize=(10, 4.2))[1]
for ax, k, what in ((axes[0], 0, "seconds, forward and backward"), (axes[1], 1, "numbers kept")):
    for name, cost in costs.items():
        ax.loglog([*inputs], [one[k] for one in cost], "o-", label=name)
    ax.set(xlabel="T", ylabel=what, ylim=ax.get_ylim(), xticks=[*inputs], xticklabels=[*inputs])
    name_lines(ax)
plt.suptitle("An LSTM pays in time, attention in memory")
figure("cost", alt="The LSTM takes most time; the memory of attention grows as T squared.")

# %% [markdown]
# The LSTM's memory grows with the steps, and so does its time; but its steps can't be taken side by side, on any machine. Attention (without the fused kernel of lesson 6) keeps a weight for each pair of steps: twice the steps, four times the numbers. While *sampling* it is the other way round: the LSTM's state has the same 128 numbers after ten letters and after a million, where attention keeps the keys and values of every step it has read.
#
# ## What you have now
#
# - An RNN and an LSTM from their equations, equal to PyTorch's.
# - The reason why one forgets and the other need not: fifty factors, and a gate that holds them near 1, if it starts there.
# - A language model whose context has no bound.
# - What still fails: all that was read must fit into a state of fixed size, and the steps must be taken one after the other, in training, too.

# %% tags=["scoreboard"]
scoreboard("names")

# %% [markdown]
# The last row has read each name letter by letter, and carried what it needed along. But the letters are all there from the start. Why go through the positions one after another at all? Lesson 10 lets each look at all the others at once, on both sides: attention without a mask.

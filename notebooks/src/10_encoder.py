# %% [markdown]
# # 10 · What does attention learn if it may look both ways?
#
# A GPT reads from left to right, because it has to guess what comes next. If the text is there already, why not look at all of it? The **encoder**, one half of the transformer, does.
#
# **Afterwards you can** write an encoder, train it on masked tokens and on labels, and find out with controls what it has learned.
#
# **Before**: lessons 6 (attention, heads, the block, a GPT you wrote), 2 and 2b (training, standard errors) and 9 (logistic regression).
#
# **Runs in** {runs_in}. **Study time** {study}.
#
# **Sources**: the encoder is that of Vaswani et al. (2017); BERT (Bidirectional Encoder Representations from Transformers), masked tokens and the rule of 15, 80, 10 and 10 per cent are by Devlin et al. (2019). All statements here were written for this course.

# %% tags=["setup", "machine"]
from copy import deepcopy

import matplotlib.pyplot as plt
import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

from coursekit.data.statements import DOMAINS, number_words, statements
from coursekit.exercises import answer_or
from coursekit.exercises import encoder as exercises
from coursekit.notebook import Score, claim, claim_order, compare_guess, figure, setup
from coursekit.notebook.widgets import type_text

device = setup("10_encoder", seed=42)

# %% [markdown]
# ## 10.1 One word, two meanings
#
# A *round of funding* is not a *round of drinks*. In BERT, the best-known encoder, both are token 2461 of its 30,522, and so the same row of its embedding table. Two meanings, one vector.
#
# We use a text small enough to train on in a minute: statements about trains, kitchens, deliveries and the weather, each with a label, 1 if it turned out well. Each is made from a **template**: `{s}` is the thing, `{x}` how it was, `{o}` the opposite, `{w}` who says so, `{t}` when, and `{r}` what people did. No template appears in more than one of training (2,176 statements), validation (512) and test (896).

# %%
train, validation, test = statements()
ids = number_words([one.text for one in train])
for things, good, bad in DOMAINS.values():
    print(f"{things:22} good: {good:24} bad: {bad}")
for one in (train[3], train[1000], test[500], test[-1]):
    print(one.label, f"{one.text:68}", one.template)

# %% [markdown]
# *Dry* is bad for a cake and good for a walk. An embedding can't tell the two apart. Attention mixes the vectors of other words into that of *dry*, so it could.
#
# **Predict.** One layer of attention with random weights reads (*attends to*, in papers) *we had a dry cake* and *we had a dry walk*. How far apart are the two vectors of *dry* if the attention is causal, as in a GPT? (`encode` turns words into their numbers. The library's `attend_past` is causal attention; `attend` reads everything.)

# %% tags=["predict"]
guess = None  # a distance, such as 0.5

# %%
from coursekit.layers.attention import MultiHeadAttention, allow_present, attend, attend_past


def encode(text):
    return torch.tensor([[ids[word] for word in text.split()]])


distance = {}
for rule in (attend_past, attend):
    torch.manual_seed(42)  # the same weights for both
    vectors, layer = nn.Embedding(len(ids), 32), MultiHeadAttention(32, 4, rule)
    cake, walk = (layer(vectors(encode(f"we had a dry {s}"))) for s in ("cake", "walk"))
    distance[rule] = (cake[0, 3] - walk[0, 3]).norm().item()
compare_guess(guess, distance[attend_past])
claim(distance_past=distance[attend_past], distance_both_ways=distance[attend])

# %% tags=["figure", "folded"]
from coursekit.notebook.pictures import attention_lines, draw_numbers

words = ["we", "had", "a", "dry", "cake"]
axes = plt.subplots(1, 2, figsize=(6.4, 3.3), sharey=True)[1]
panels = {"A GPT: dry can't see cake": np.tri(5), "An encoder: it can": np.ones((5, 5))}
for ax, (title, allowed) in zip(axes, panels.items(), strict=True):
    draw_numbers(ax, allowed, words, words).set(title=title, xlabel="is read (1: allowed)")
    ax.plot([4], [3], "o", markersize=22, markerfacecolor="none", color="C1", markeredgewidth=3)
figure("who-reads-whom", alt="Left: a lower triangle is allowed. Right: everything is.")

# %% [markdown]
# Exactly zero: the word that decides comes later; without the mask, they differ. To predict the next word, the mask of lesson 6 is needed, or the answer would be in the input; for understanding a word it gets in the way. Attention without it is called **bidirectional**, a stack of such layers an encoder.
#
# ## 10.2 The layer, and texts of different lengths
#
# An encoder layer is the block of lesson 6 without the causal mask. One detail is older: where GPT-2 normalises what goes *into* attention and the feed-forward network (**pre-norm**), BERT normalises the sums that come out (**post-norm**).

# %% tags=["figure", "folded"]
from coursekit.notebook.diagram import Diagram

d, blocks = Diagram(), {"GPT-2: pre-norm": "x norm attention + norm feed-forward +"}
blocks["BERT: post-norm"] = "x attention + norm feed-forward + norm"
for column, (name, rows) in enumerate(blocks.items()):
    for k, row in enumerate(rows.split()):
        kind = "operation" if row == "+" else "parameters" if k else "data"
        d.box(f"{column}{k}", 2 * column, k, kind=kind, text=row)
        if k:
            d.arrow(f"{column}{k - 1}", f"{column}{k}")
    d.group(name, *(f"{column}{k}" for k in range(7)))
for tail, head in (("00", "03"), ("03", "06"), ("10", "12"), ("13", "15")):
    d.arrow(tail, head, route="skip")
d.draw()
figure("pre-and-post-norm", alt="Two blocks: norms before each part, or after each addition.")

# %% [markdown] tags=["exercise"]
# > **Exercise 10.1 (build, 20 minutes).** Write the layer of an encoder: attention with any mask, then the feed-forward network, as drawn on the right. `x` is (B, T, C); `allowed` broadcasts to (B, H, T, T), and `allowed[b, h, t, s]` is True where position t may read position s (what is not allowed gets the weight 0). `block.attention` has four linear maps, `q`, `k`, `v` and `out`, and a number of heads, `n_head`. The rest is called `block.norm_1`, `block.norm_2` and `block.feed_forward`.
# >
# > <details><summary>Hint 1</summary><code>part.unflatten(-1, (n_head, -1)).transpose(1, 2)</code> has the shape (B, H, T, D). After the heads, <code>.transpose(1, 2).flatten(-2)</code> puts them side by side again, for <code>out</code>.</details>
# > <details><summary>Hint 2</summary>Which score becomes a weight of exactly 0 in the softmax?</details>


# %% tags=["stub"]
def encoder_layer(x, allowed, block): ...  # -> (B, T, C)


# %% tags=["check"]
exercises.check_encoder_layer(encoder_layer)


# %% tags=["solution"]
def encoder_layer(x, allowed, block):
    part = block.attention
    q, k, v = (f(x).unflatten(-1, (part.n_head, -1)) for f in (part.q, part.k, part.v))
    q, k, v = (each.transpose(1, 2) for each in (q, k, v))
    scores = (q @ k.mT / q.shape[-1] ** 0.5).masked_fill(~allowed, -torch.inf)
    mixed = (scores.softmax(-1) @ v).transpose(1, 2).flatten(-2)
    x = block.norm_1(x + part.out(mixed))
    return block.norm_2(x + block.feed_forward(x))


# %% [markdown]
# The encoder is a stack of these. Before the first, each token gets the sum of two vectors, one for the word and one for its position, normalised. (`causal` puts the mask of lesson 6 back on; `depth` stops after so many layers, to look inside.)

# %%
from coursekit.layers.block import Block, FeedForward

our_layer = answer_or(encoder_layer, lambda x, allowed, block: block(x, allowed))  # the library's


def parts_of_a_layer(d, n_head):
    attention = MultiHeadAttention(d, n_head, bias=True)
    return Block(attention, FeedForward(d, F.gelu), lambda: nn.LayerNorm(d), norm_first=False)


class OurEncoder(nn.Module):
    def __init__(self, vocab_size, d=32, n_layer=2, n_head=4, causal=False):
        super().__init__()
        self.embedding, self.positions = nn.Embedding(vocab_size, d), nn.Embedding(24, d)
        nn.init.normal_(self.positions.weight, std=0.2)
        self.embedding_norm, self.causal = nn.LayerNorm(d), causal
        self.blocks = nn.ModuleList(parts_of_a_layer(d, n_head) for _ in range(n_layer))

    def forward(self, tokens, allowed, depth=None):
        steps = torch.arange(tokens.shape[1], device=tokens.device)
        allowed = allowed & ((steps <= steps[:, None]) | (not self.causal))
        x = self.embedding_norm(self.embedding(tokens) + self.positions(steps))
        for block in self.blocks[:depth]:
            x = our_layer(x, allowed, block)
        return x


# %% [markdown]
# A batch is a rectangle, and statements are not equally long. So the short ones are filled up with a token that means nothing, **padding**, number 0. (And position 0 gets the token `[CLS]`, whose vector BERT uses for the whole text.)
#
# Does padding matter, if it means nothing? Give *[CLS] we had a dry cake .* eight tokens of it, without any mask, and see how far the vector of *dry* moves in five untrained encoders.

# %%
dry_cake, moved = encode("[CLS] we had a dry cake .").to(device), []
everything = torch.ones(15, 15, dtype=torch.bool, device=device)
for seed in range(5):
    torch.manual_seed(seed)
    ours = OurEncoder(len(ids)).to(device)
    alone = ours(dry_cake, everything[:7, :7])[0, 4]  # of dry
    padded = ours(F.pad(dry_cake, (0, 8)), everything)[0, 4]
    moved.append(100 * ((padded - alone).norm() / alone.norm()).item())
claim(padding_moves_dry_by=np.mean(moved))

# %% [markdown]
# By nearly a quarter of its length: attention gave weight to eight empty positions. So what an encoder says about a statement would depend on the rest of the batch. A **padding mask** forbids reading them. (`nn.MultiheadAttention` has it as `key_padding_mask`, with True where a token may *not* be read.)

# %% [markdown] tags=["exercise"]
# > **Exercise 10.2 (warm-up, 5 minutes).** Write `padding_mask(tokens)`: True where a token may be read, because it is not padding. `tokens` has the shape (B, T), the mask (B, 1, 1, T): one row for all heads and all queries (a row for each query is right, too), the last axis is what is read. Attention needs it to be of the type `torch.bool`.
# >
# > <details><summary>Hint</summary>Index with <code>None</code> to make a new axis.</details>


# %% tags=["stub"]
def padding_mask(tokens): ...  # (B, T) -> (B, 1, 1, T), bool


# %% tags=["check"]
exercises.check_padding_mask(padding_mask)


# %% tags=["solution"]
def padding_mask(tokens):
    return (tokens > 0)[:, None, None]


# %% [markdown]
# With these two pieces and a linear layer on top the model is whole. (This layer is called a **head**, too.) The library's is [models/encoder.py](../coursekit/models/encoder.py); its tests hold it to Hugging Face's `BertModel`, and its `from_bert` takes BERT's own weights, if you have downloaded them.

# %%
readable = answer_or(padding_mask, lambda tokens: allow_present(tokens > 0))  # the library's


class OurModel(nn.Module):
    def __init__(self, encoder, n_out):
        super().__init__()
        self.encoder, d = encoder, encoder.embedding.embedding_dim
        self.head = nn.Linear(d, n_out)

    def forward(self, tokens):
        return self.head(self.encoder(tokens, readable(tokens)))


def our_batch(texts):
    rows = [encode(f"[CLS] {text}")[0] for text in texts]
    return nn.utils.rnn.pad_sequence(rows, batch_first=True).to(device)  # padding is 0


# %% tags=["figure", "folded"]
five = [train[i].text for i in (3, 64, 200, 700, 1900)]
ax = plt.subplots(figsize=(7.8, 2.3))[1]
ax.imshow(readable(our_batch(five))[:, 0, 0].cpu(), "Blues", vmin=0, vmax=2.5, aspect="auto")
for row, text in enumerate(five):
    for column, word in enumerate(["[CLS]", *text.split()]):
        ax.text(column, row, word, ha="center", va="center", fontsize=8)
ax.set(xticks=[], yticks=[], title="A batch of five statements: blue may be read, white is padding")
figure("padding", alt="Five statements as rows of words; the short ones end in white cells.")

# %% [markdown]
# ## 10.3 Learning from masked tokens
#
# A GPT trains on any text, because the next word is the label. An encoder sees the next word. So hide some words and have the model predict them: **masked language modelling**. BERT chooses 15 % of the tokens. If all of these became `[MASK]`, the encoder would train only on text with `[MASK]`, and later read only text without. So, of the chosen ones,
#
# - 80 % become `[MASK]`,
# - 10 % become a random word,
# - 10 % stay as they are.
#
# The loss counts the chosen tokens only. Elsewhere the target is −100, which `F.cross_entropy` leaves out.

# %% [markdown] tags=["exercise"]
# > **Exercise 10.3 (build, 20 minutes).** Write that rule. `draw` says which tokens are chosen (below 0.15), `kind` what happens to them (below 0.8, below 0.9, or else), `word` is the random word. Numbers below 4 are no words (`[MASK]` is 3) and are never chosen. Return `{"inputs": …, "targets": …}`.
# >
# > <details><summary>Hint 1</summary>First <code>chosen</code>, a mask of True and False. The targets are −100 wherever it is False.</details>
# > <details><summary>Hint 2</summary><code>torch.where(condition, a, b)</code> takes numbers for a or b, too. Two of them in a row make the inputs.</details>


# %% tags=["stub"]
def hide_tokens(tokens, draw, kind, word): ...  # four times (B, T)


# %% tags=["check"]
exercises.check_hide_tokens(hide_tokens)


# %% tags=["solution"]
def hide_tokens(tokens, draw, kind, word):
    chosen = (draw < 0.15) & (tokens >= 4)
    inputs = torch.where(chosen & (kind < 0.8), 3, tokens)
    inputs = torch.where(chosen & (kind >= 0.8) & (kind < 0.9), word, inputs)
    return {"inputs": inputs, "targets": torch.where(chosen, tokens, -100)}


# %% [markdown]
# Now train, on the statements without their labels: encoders with six seeds, and rivals of the same size with three, for as many steps: GPTs, which predict *every* next word.
#
# (`hide_some` and `next_words` make the inputs and the targets of the two. `fit` runs the five lines of lesson 2; the learning rate rises, then falls along half a cosine.)

# %%
from coursekit.evaluate.likelihood import next_token_loss
from coursekit.training.fit import fit
from coursekit.training.optimiser import adamw, warm_up_cosine
from coursekit.windows.masking import mask_drawn

hide = answer_or(hide_tokens, mask_drawn)


def hide_some(x, g):
    draw, kind = torch.rand(2, *x.shape, generator=g).to(device)
    word = torch.randint(4, len(ids), x.shape, generator=g).to(device)
    some = hide(x, draw, kind, word)
    return some["inputs"], some["targets"]


def next_words(x, g):
    return x[:, :-1], x[:, 1:].where(x[:, 1:] >= 4, -100)


# %%
tokens = our_batch([one.text for one in train])


def train_it(model, batches, loss, lr):
    options = {"steps": 1000, "schedule": warm_up_cosine(1000), "clip": 1.0}
    fit(model, adamw(model, lr, weight_decay=0.01), batches, loss=loss, **options)
    return model.eval()


def pretrain(seed, task):
    torch.manual_seed(seed)
    encoder = OurEncoder(len(ids), causal=task is next_words)
    model, g = OurModel(encoder, len(ids)).to(device), torch.Generator().manual_seed(seed)
    picks = (tokens[torch.randint(len(tokens), (64,), generator=g)] for _ in range(1000))
    batches = (task(x, g) for x in picks)
    return train_it(model, batches, next_token_loss, lr=5e-3)  # a cross-entropy over all targets


# %% tags=["nbval-ignore-output"]
encoders = [pretrain(seed, hide_some) for seed in range(6)]

# %% tags=["nbval-ignore-output"]
gpts = [pretrain(seed, next_words) for seed in range(3)]

# %% [markdown]
# **Predict.** Now hide one word at a time, in statements of templates that no model has seen. What fraction do the encoders recover? Always answering with the full stop is right 8 % of the time. (Each drawn word gets its own copy of the statement, with one blank. A GPT predicts it from the words before.)

# %% tags=["predict"]
guess = None  # a fraction, such as 0.3

# %% tags=["nbval-ignore-output"]
t_tokens = our_batch([one.text for one in test])
g = torch.Generator().manual_seed(0)
row, at = (hide_some(t_tokens, g)[0] == 3).nonzero(as_tuple=True)  # the words we ask for
y, one_blank, every = t_tokens[row, at], t_tokens[row], range(len(row))
one_blank[every, at] = 3
with torch.no_grad():
    both_sides = [one(one_blank)[every, at] for one in encoders[:3]]
    words_before = [one(t_tokens)[row, at - 1] for one in gpts]  # position t − 1 predicts word t
loss = {}


def rate(name, by_seed):
    right = np.mean([(logits.argmax(1) == y).float().mean().item() for logits in by_seed])
    mean = np.mean([F.cross_entropy(logits, y).item() for logits in by_seed])
    loss[name] = Score(mean, on=y)  # and what it is measured on
    print(f"{name:27} loss {mean:.2f}, right {right:.1%} (the mean of three seeds)")
    return right


compare_guess(guess, rate("both sides", both_sides))
rate("a GPT", words_before)
claim_order(both_sides_beat_the_gpt=(loss["both sides"], loss["a GPT"]))

# %% [markdown]
# **Reading both sides pays**, by nearly half a nat (with other seeds, by a quarter). But is it the encoder that is better, or what it was shown? A GPT can be shown the right side, too: put *each* word into the blank, and ask how probable the whole statement is. (Normalised over the words, that is exactly its probability of the word given all others.)


# %% tags=["nbval-ignore-output"]
@torch.no_grad()
def try_every_word(model):  # the log-likelihood of each statement with each word
    scores = torch.full((len(row), len(ids)), -torch.inf, device=device)
    for word in range(4, len(ids)):
        filled = one_blank.clone()
        filled[every, at] = word
        x, y = next_words(filled, None)
        scores[:, word] = -F.cross_entropy(model(x).mT, y, reduction="none").sum(1)
    return scores


rate("a GPT that tries every word", [try_every_word(one) for one in gpts])
claim_order(a_gpt_that_tries_beats_both=(loss["a GPT that tries every word"], loss["both sides"]))

# %% [markdown]
# Now the GPT is well ahead. It had about seven times as many targets in as many steps; whether that is why, we haven't tested. But it needs 72 passes for a blank, where the encoder needs one.
#
# What did the first of the encoders learn of *dry*? Let it fill in a blank.


# %% tags=["figure", "nbval-ignore-output"]
axes = plt.subplots(1, 2, figsize=(6.8, 2.8), sharex=True)[1]
for ax, thing in zip(axes, ("cake", "walk"), strict=True):
    x = our_batch([f"it was a [MASK] {thing} today ."])
    p = dict(zip(ids, encoders[0](x)[x == 3][0].softmax(0).tolist(), strict=True))
    best = sorted(p, key=p.get)[-6:]
    ax.barh(best, [p[word] for word in best], color=["C1" if w == "dry" else "0.6" for w in best])
    ax.set(title=f"it was a … {thing} today", xlabel="probability")
figure("blank", alt="Words of the kitchen for a cake, of the weather for a walk; dry for both.")

# %% [markdown]
# Nobody told it what a cake is, and it fills in words that describe food; before *walk*, weather. *Dry* is in both lists.
#
# ## 10.4 What attention learned
#
# What does *dry* read, in *we had a dry cake today*? We compute the attention weights of *dry* in the four heads of the last layer, as in lesson 6, for six untrained encoders and our six. And since a head that always reads the *next* word would find *cake*, too, our control is *we found the cake dry today*.
#
# **Predict.** Untrained, a head gives *cake* about a fifth of its weight at most. And after training (seed 0), the head that reads *cake* most?

# %% tags=["predict"]
guess = None  # a weight, from 0 to 1

# %% tags=["nbval-ignore-output"]
from coursekit.layers.attention import attention_weights


@torch.no_grad()
def look(model, text):  # (4 heads, who reads, what is read)
    x, block = our_batch([text]), model.encoder.blocks[1]
    h = model.encoder(x, readable(x), depth=1)  # what goes into this layer
    q, k = block.attention.q(h), block.attention.k(h)
    q, k = (part.unflatten(-1, (4, -1)).transpose(1, 2) for part in (q, k))
    return attention_weights(q, k)[0].cpu()


torch.manual_seed(42)
untrained = [OurModel(OurEncoder(len(ids)), len(ids)).to(device) for _ in range(6)]
dry_today, t = "we had a dry cake today .", 4  # dry is token 4, the thing token 5
compare_guess(guess, look(encoders[0], dry_today)[:, t, t + 1].max().item())
for text, dry, cake in ((dry_today, 4, 5), ("we found the cake dry today .", 5, 4)):
    for name, models in (("untrained", untrained), ("trained", encoders)):
        weight = [look(one, text)[:, dry, cake].max().item() for one in models]
        print(f"{text:30} {name:9} on cake, by seed:", np.round(weight, 2))
    claim(**{f"mean_weight_on_cake_{'after' if cake > dry else 'before'}": np.mean(weight)})

# %% tags=["figure", "folded", "nbval-ignore-output"]
words = ["[CLS]", *dry_today.split()]
axes = plt.subplots(1, 2, figsize=(6.4, 3))[1]
for ax, one, name in zip(axes, (untrained[0], encoders[0]), ("untrained", "trained"), strict=True):
    heads = look(one, dry_today)[:, t]
    best = heads[:, t + 1].argmax()
    for i, head in enumerate(heads):
        weights = np.zeros((8, 8))
        weights[2 + i] = head
        readers = ["dry" if row == 2 + i else "" for row in range(8)]
        attention_lines(ax, readers, words, weights, "C1" if i == best else "0.7")
    ax.set_title(f"{name}: what dry reads")
figure("what-dry-reads", alt="Thin lines from four dry to all words; trained, a thick one to cake.")

# %% [markdown]
# Each line is a weight (seed 0), each *dry* on the left a head, orange the one that gives *cake* most. Untrained, *dry* reads all words evenly; trained, one head gives nearly all its weight to *cake*, on whichever side it stands. In other seeds it is less, down to nothing. (Another head rests on the full stop, as some of BERT's do: Clark et al. 2019.)
#
# A weight is not yet a use. What is in the vector of *dry* now? If it were its topic, *dry soup* would be further from *dry walk* than from *dry stew*. So divide: the mean distance between things of two topics by that between two things of one. (Untrained it is about 1.) A word with *one* meaning is our control: *tasty*.

# %% tags=["nbval-ignore-output"]
things = ["soup", "cake", "stew", "picnic", "walk", "parade"]


@torch.no_grad()
def topic_ratio(model, word):
    x = our_batch([f"we had a {word} {thing} today ." for thing in things])
    v = model.encoder(x, readable(x))[:, 4]  # the six vectors of this word
    d = torch.cdist(v, v)
    same = (d[:3, :3].sum() + d[3:, 3:].sum()) / 12  # without the diagonal
    return (d[:3, 3:].mean() / same).item()


for word in ("dry", "tasty"):
    ratio = [topic_ratio(one, word) for one in encoders]
    print(f"{word:5} two topics / one, by seed:", np.round(ratio, 2))
    claim(**{f"two_topics_{word}": np.mean(ratio)})

# %% [markdown]
# *Tasty* does it, too. So these are not two meanings: **the vector picks up the topic of its statement**. Does the orange head bring it? Switch the head off, an **ablation**, and look how much of the effect, the ratio above 1, is left.
#
# **Predict.** Seed 0 has a ratio of 1.67. How much is left without that head?

# %% tags=["predict"]
guess = None  # a ratio, such as 1.3


# %% tags=["nbval-ignore-output"]
def without_head(model, head):  # 0 for what it hands on (8 of 32 channels)
    rest = deepcopy(model)
    rest.encoder.blocks[1].attention.out.weight.data[:, 8 * head : 8 * head + 8] = 0
    return rest


whole, left, others = [], [], []
for one in encoders:
    best = look(one, dry_today)[:, t, t + 1].argmax().item()
    by_head = [topic_ratio(without_head(one, head), "dry") for head in range(4)]
    whole.append(topic_ratio(one, "dry"))
    left.append(by_head.pop(best))
    others.append(min(by_head))
compare_guess(guess, left[0])
effect, without, rival = (np.array(values) - 1 for values in (whole, left, others))
claim(heads_that_bring_the_topic=sum(without < effect / 2))
claim(other_heads_that_do=sum(rival < effect / 2))

# %% tags=["figure", "folded", "nbval-ignore-output"]
ax = plt.subplots(figsize=(7.4, 3.2))[1]
for k, (values, color) in enumerate(((effect, "0.6"), (rival, "C0"), (without, "C1"))):
    name = ("whole", "without another head", "without the head that reads cake most")[k]
    ax.bar(np.arange(6) + 0.27 * (k - 1), values, 0.25, bottom=1, color=color)
    ax.text(2.6, 3.1 - 0.25 * k, name, color=color if k else "0.4", va="center")
ax.set_xticks(range(6), [f"seed {seed}" for seed in range(6)])
ax.set(ylim=(0.9, 3.3), ylabel="two topics / one topic", title="Often, one head brings the topic")
figure("without-a-head", alt="In four of six seeds the ratio falls towards 1 without the head.")

# %% [markdown]
# In four of six networks, that head brings the topic: without it, a third of the effect is left at most, and without another (the one that matters most is drawn) most of it. In seed 5 the topic comes without such a head, and in seed 3 a head gives *cake* 0.42 of its weight though there is hardly any topic in the vector: **a weight is not a use**. (What an encoder makes of a word is its **contextual embedding**. Trained further, on pairs of texts that belong together, such vectors serve search.)
#
# ## 10.5 Learning from labels
#
# Now one label for a whole statement: **text classification**. A head with two logits reads one vector, here that of the *last* token. (BERT's reads `[CLS]`, but in a causal network `[CLS]` has read nothing.)
#
# The encoder under the head starts from random weights, or from the **pre-trained** ones of 10.3; training those further is called **fine-tuning**. Each may be bidirectional or causal: four kinds of network, with three seeds each. (Each kind has the learning rate, of three or four, that did best on the validation statements.)


# %%
class OurClassifier(OurModel):
    def forward(self, tokens):
        last = (tokens > 0).sum(1) - 1
        return super().forward(tokens)[range(len(tokens)), last]


def read(part):
    texts = our_batch([one.text for one in part])
    return texts, torch.tensor([one.label for one in part], device=device)


def fine_tune(start, seed, causal=False, part=train, lr=6e-3):
    torch.manual_seed(seed)
    model = OurClassifier(OurEncoder(len(ids), causal=causal), 2).to(device)
    if start is not None:
        model.encoder.load_state_dict(start.encoder.state_dict())
    (x, y), g = read(part), torch.Generator().manual_seed(seed)
    picks = (torch.randint(len(x), (64,), generator=g) for _ in range(1000))
    return train_it(model, ((x[i], y[i]) for i in picks), F.cross_entropy, lr)


# %% [markdown]
# The rival is a **bag of words**: one weight per word, wherever it stands, and a sigmoid makes a probability of their sum (the logistic regression of lesson 9). Ours, from the library, also has a weight for each **bigram**, two neighbours.

# %% [markdown]
# **Predict.** From random weights, on templates that none has seen: which is best, `"bag"`, `"bidirectional"` or `"causal"`?

# %% tags=["predict"]
guess = None  # one of the three

# %% tags=["nbval-ignore-output"]
networks = {"bidirectional": [fine_tune(None, s) for s in range(3)]}
networks["causal"] = [fine_tune(None, s, causal=True) for s in range(3)]

# %% tags=["nbval-ignore-output"]
networks["bidirectional, pre-trained"] = [fine_tune(encoders[s], s, lr=3e-3) for s in range(3)]
networks["causal, pre-trained"] = [fine_tune(gpts[s], s, causal=True, lr=3e-3) for s in range(3)]

# %% tags=["nbval-ignore-output"]
from coursekit.models.bag import fit_bag

methods = {"bag": [fit_bag(*read(train), vocab_size=len(ids), lowest=4, decay=1e-5)], **networks}


def accuracy(model, part):  # per cent
    x, y = read(part)
    return 100 * (model(x).argmax(1) == y).float().mean().item()


def by_method(part):
    return {name: [accuracy(one, part) for one in methods[name]] for name in methods}


learned, unseen = by_method(train), by_method(test)
compare_guess(guess, max(list(methods)[:3], key=lambda name: np.mean(unseen[name])))
print(f"{'':26} training   new templates, by seed   mean")
for name in methods:
    by_seed = " ".join(f"{v:.0f}" for v in unseen[name])
    print(f"{name:26} {min(learned[name]):8.0f}   {by_seed:22} {np.mean(unseen[name]):6.0f}")

# %% tags=["nbval-ignore-output"]
both, causal, tuned, _ = (np.array(unseen[name]) for name in networks)
gain = {"causal": causal.mean() - both.mean(), "pretraining": tuned.mean() - both.mean()}
for name, one in (("causal", causal), ("pretraining", tuned)):  # in standard errors
    gain[name] /= ((one.var(ddof=1) + both.var(ddof=1)) / 3) ** 0.5
claim(bag_accuracy=unseen["bag"][0])
claim(causal_gain=gain["causal"], pretraining_gain_in_standard_errors=gain["pretraining"])

# %% [markdown]
# All networks learn what they are shown. On new templates **reading both ways gained nothing here**: from random weights the causal networks are ahead, by more than two standard errors. Pre-trained, the two kinds can't be told apart. And pre-training isn't shown to help: it read the same 2,176 statements that have their labels here. BERT's case is another, much text and few labels.
#
# Why no gain? Filling a blank needs the words on its right; the last token has the whole statement on its left anyway. Why causal networks are ahead, we don't know. (Elsewhere they aren't: of encoders and decoders trained alike on two trillion tokens, an encoder of 400 million parameters beat a decoder of a billion at judging whether one text follows from another; Weller et al. 2025.)
#
# <details><summary>Is it the split, or the head?</summary>With another split of the templates, <code>statements(split=7)</code>, the causal networks are better, too, and so they are with a head that reads the mean of all vectors. A test of this course trains both, with the seeds 0 and 1.</details>
#
# Do they tell the dry cake from the dry walk now? *Today it was a dry …* is a template that none of them has seen.


# %% tags=["figure", "nbval-ignore-output"]
@torch.no_grad()
def good(text):  # each one's probability; words that the statements don't have are left out
    x = our_batch([" ".join(word for word in text.split()[:23] if word in ids)])
    return {k: [one(x)[0].softmax(0)[1].item() for one in methods[k]] for k in methods}


def dots(ax, values, **options):  # a row for each kind of network, a dot for each
    for row, (name, color) in enumerate(zip(methods, ("0.4", *["C0", "C1"] * 2), strict=True)):
        ax.plot(values[name], [-row] * len(values[name]), "o", color=color, alpha=0.7)
    ax.set(ylim=(-4.6, 0.6), **options)
    ax.set_yticks(range(0, -5, -1), [name.replace(", ", ",\n") for name in methods], fontsize=9)


judged, axes = [], plt.subplots(1, 2, figsize=(7, 3), sharex=True, sharey=True)[1]
for ax, there in zip(axes, (things[:3], things[3:]), strict=True):
    found = [good(f"today it was a dry {thing} .") for thing in there]
    judged.append({name: np.mean([one[name] for one in found], 0) for name in methods})
    dots(ax, judged[-1], title=f"dry {', '.join(there)}", xlabel="probability of good")
figure("dry", alt="Pre-trained bidirectional networks are at 0 in the kitchen and at 1 outdoors.")
over = [np.mean(judged[1][name]) - np.mean(judged[0][name]) for name in methods]
claim(dry_told_apart_by_pretrained_encoders=over[3], dry_told_apart_by_the_bag=over[0])

# %% [markdown]
# **All three pre-trained bidirectional networks do.** Of the others, some do. The bag hardly does, although it counts *dry cake* and *dry walk*: with *not* and *but* around, each stands under both labels. (In the causal networks, orange, the vector of *dry* is the same before *cake* and *walk*; the last token puts the two words together.)
#
# **Your turn.** A **minimal pair** is two statements that differ in one thing. Write a few, one statement a line, in the words of the others, and note the right answers first.


# %% tags=["live"]
def judge(lines):
    for text in lines.splitlines():
        print(text)
        for name, p in good(text).items():
            print(f"   {name:26}", *(f"{each:.2f}" for each in p))


type_text(judge, "we had a dry cake today .\nwe had a dry walk today .")

# %% [markdown]
# ## 10.6 The same training, another network
#
# What do they get wrong? All new templates, then three kinds of them, a dot a network:

# %% tags=["nbval-ignore-output"]
kinds = {  # each by an example
    "all": lambda form: True,
    "it was a dry cake but …": lambda form: " but " in form,
    "it was not a dry cake today": lambda form: " not " in form and "{r}" not in form,
    "nobody found the cake dry today": lambda form: "nobody" in form,
}
score = {k: by_method([one for one in test if holds(one.template)]) for k, holds in kinds.items()}
bag, *others = score["it was not a dry cake today"].values()
claim(bag_on_not=bag[0], networks_on_not_at_least=min(map(min, others)))
_, *nobody = score["nobody found the cake dry today"].values()
claim(widest_spread_of_a_kind=max(map(np.ptp, nobody)))

# %% tags=["figure", "folded", "nbval-ignore-output"]
panels = plt.subplots(2, 2, figsize=(7, 5), sharex=True, sharey=True)[1].flat
for ax, (kind, values) in zip(panels, score.items(), strict=True):
    dots(ax, values, title=kind, xlim=(-4, 104))
    ax.axvline(50, color="black", linestyle=":", zorder=0)
plt.suptitle("Accuracy (%): 'not' defeats the bag, and 'nobody' is a lottery")
figure("by-kind", alt="Four panels of dots: above 50 for not, from 0 to 100 for nobody.")

# %% [markdown]
# *Not* flips a statement, and the bag, which adds up its words, falls below chance (dotted); every network is above it. But look at the last panel. *Nobody found the letter torn today* is good news; what do the networks say?

# %% tags=["nbval-ignore-output"]
judge("they found the letter torn today .\nnobody found the letter torn today .")

# %% [markdown]
# All are sure of the first. On the second, networks of one kind, which differ in nothing but their seed, are sure of opposite answers. In training, where *nobody* stands in two templates, `nobody found the {s} {o} so {r} .` and `{t} nobody found the {s} {o} .`, they make next to no error.
#
# It need not even be the seed: adding up the same numbers in another order, which changes their last digits, can be enough, so on your machine the dots lie elsewhere. The same was seen in a hundred BERTs, fine-tuned alike but for the seed (McCoy, Min and Linzen 2020). **Equal in training is not equal**: report seeds, not a network, and test what you need by itself.

# %% [markdown] tags=["exercise"]
# > **Exercise 10.4 (investigate, 30 minutes).** A suspicion: in `nobody found the {s} {o} so {r} .` what people did gives the answer away, so a network may learn to skip *nobody* in first position, a **shortcut** (Geirhos et al. 2020). Break it: draw the reaction of these 64 statements at random, keep their labels, put them at the end of `part`, and train anew with three seeds (about 8 seconds a run). And two controls: the same in `{w} found the {s} {x} so {r} .`, where there is no *nobody*, and the 64 statements at the end, but *unchanged*. What would you conclude without them?
#
# |reactions at random in|*nobody … today*, seeds 0, 1, 2|the other new templates|
# |---|---|---|
# |nothing|||
# |*nobody found … so …*|||
# |*we found … so …*|||
# |nothing, but the 64 at the end|||
#
# > One statement, to start with:
# >
# > ```python
# > import random
# > from dataclasses import replace
# > from coursekit.data.statements import REACTIONS
# >
# > draw, reactions = random.Random(0), [r for of_one_label in REACTIONS for r in of_one_label]
# > one = next(one for one in train if one.template == "nobody found the {s} {o} so {r} .")
# > replace(one, text=one.text.split(" so ")[0] + f" so {draw.choice(reactions)} .")
# > nobody = [one for one in test if "nobody" in one.template]
# > # then fine_tune(None, seed, part=...), accuracy(..., nobody)
# > ```
# >
# > <details><summary>What we found</summary>Bidirectional, from random weights, seeds 0, 1 and 2: 38, 22 and 31 with nothing changed; 91, 97 and 100 with the <em>nobody</em> statements; 75, 53 and 50 with the others. On the other new templates: 87, 81, 87; 87, 77, 86; 89, 80, 86. That looks like a proof, until the last row: 84, 89 and 69 (90, 75, 90 on the others) for the same statements in another order. Most of the gain is luck of the draw; what is left isn't shown with three seeds.</details>

# %% [markdown]
# ## What you now have
#
# - **What does attention learn if it may look both ways?** To fetch words that come later: in four of six encoders, one head brings the topic of *cake* to *dry*, without labels. With labels, pre-trained encoders tell the dry cake from the dry walk. But a GPT that tries every word fills blanks better, and for one label of a whole statement reading one way did no worse.
# - An encoder: the block you know, with a mask for padding instead of the causal one.
# - Controls: an untrained network, a word with one meaning, a head switched off, a bag of words; and three seeds, where one would have told any story.
#
# **What still fails.** This encoder reads, and can't write: it has no next word. [Side lesson 10b](10b_reverse.ipynb) adds a decoder, which completes the transformer of 2017.
#
# A series of prices or temperatures is no text. But cut its values into a few hundred bins, and each step is a token. Can a series be text? That is lesson 11.

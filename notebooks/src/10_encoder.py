# %% [markdown]
# # 10 · What does attention learn if it may look both ways?
#
# A GPT reads from left to right, because it has to guess what comes next. If the text is there already, why not look at all of it? The **encoder**, one half of the transformer, does.
#
# **Afterwards you can** write an encoder, train it on masked tokens, find out with controls what it has learned, and put that to use with four labels.
#
# **Before**: lessons 6 (attention, heads, the block, a GPT you wrote), 2 and 2b (training, standard errors) and 9 (logistic regression).
#
# **Runs in** {runs_in}. **Study time** {study}.
#
# **Sources**: the encoder comes from Vaswani et al. (2017). Learned positions and the GELU are as in BERT (Bidirectional Encoder Representations from Transformers; Devlin et al. 2019), where masked tokens and the rule of 15, 80, 10 and 10 per cent come from. All statements here were written for this course.

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
# Ours is an easier case than *round*: *dry* has one sense, but is bad for a cake and good for a walk. An embedding can't tell the two apart. Attention mixes the vectors of other words into that of *dry*, so it could.
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
# Exactly zero: the word that decides comes later; without the mask, they differ. To predict the next word, the mask of lesson 6 is needed, or the answer would be in the input; for understanding a word, in one pass, it gets in the way. Attention without it is called **bidirectional**, a stack of such layers an encoder.
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
# > <details><summary>Hint 2, by symptom</summary><em>Shapes don't fit</em>: after <code>unflatten</code> the heads still stand behind the positions. <em>Right for one head, wrong for two</em>: the square root is that of a head's channels, D. <em>Wrong only where something is forbidden</em>: which score becomes a weight of exactly 0 in the softmax? <em>Right up to the end</em>: the second sum starts from what the first norm gave.</details>


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
# The encoder is a stack of these. Before the first, each token gets the sum of two vectors, one for the word and one for its position, normalised. Ours is small, 32 channels and two layers, so that it trains in seconds. (`causal` puts the mask of lesson 6 back on; `depth` stops after so many layers, to look inside.)

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
        nn.init.normal_(self.positions.weight, std=0.2)  # of words 1: they come first
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
# With these two pieces and a linear layer on top the model is whole. (This layer is also called a **head**.) The library's is [models/encoder.py](../coursekit/models/encoder.py); its tests hold it to Hugging Face's `BertModel`, and its `from_bert` takes BERT's own weights, if you have downloaded them.

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
# The last two are to keep it from trusting what it sees, and from attending to `[MASK]` only; BERT's authors found that they matter little. (The 15 % has changed more: ModernBERT hides 30 %, Warner et al. 2024.) The loss counts the chosen tokens only. Elsewhere the target is −100, which `F.cross_entropy` leaves out.

# %% [markdown] tags=["exercise"]
# > **Exercise 10.3 (build, 20 minutes).** Write that rule. `draw` says which tokens are chosen (below 0.15), `kind` what happens to them (below 0.8, below 0.9, or else), `word` is the random word. Numbers below 4 aren't words (`[MASK]` is 3) and are never chosen. Return `{"inputs": …, "targets": …}`.
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
# Now train, on the statements without their labels: encoders with six seeds, and, with three, GPTs of the same size for as many steps, which predict *every* next word.
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


def pretrain(seed, task):
    torch.manual_seed(seed)
    encoder = OurEncoder(len(ids), causal=task is next_words)
    model, g = OurModel(encoder, len(ids)).to(device), torch.Generator().manual_seed(seed)
    picks = (tokens[torch.randint(len(tokens), (64,), generator=g)] for _ in range(1000))
    options = {"steps": 1000, "schedule": warm_up_cosine(1000), "clip": 1.0}
    batches = (task(x, g) for x in picks)  # the loss is a cross-entropy over all targets
    fit(model, adamw(model, 5e-3, weight_decay=0.01), batches, loss=next_token_loss, **options)
    return model.eval()


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
    print(f"{name:34} loss {mean:.2f}, right {right:.1%} (seeds: {len(by_seed)})")
    return right


compare_guess(guess, rate("both sides", both_sides))
rate("a GPT", words_before)
claim_order(both_sides_beat_the_gpt=(loss["both sides"], loss["a GPT"]))

# %% [markdown]
# **Reading both sides pays**, by nearly half a nat (with other seeds, by a quarter). But is it the encoder that is better, or what it was shown? A GPT can be shown the right side, too: put *each* word into the blank, and ask how probable the whole statement is. (Its probability of the word, given all others, is p(statement with it), divided by the sum of p(statement with w) over all words w.)


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
# Now the GPT is well ahead. Not because it had seven times as many targets, every word instead of 15 %: with a seventh of the steps it leads, too (0.88 nats; a test of this course). What the encoder has left is speed: one pass for a blank, where this GPT makes 72. (ELECTRA learns from every token, too: it is asked of each whether it was replaced; Clark et al. 2020.)
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
# **Your turn.** Hide other words, one statement a line, in the words of the others.


# %% tags=["live"]
def fill(lines):  # the four likeliest words for each blank; unknown words are left out
    for text in lines.splitlines():
        x = our_batch([" ".join([word for word in text.split() if word in ids][:23])])
        print(text)
        for p in encoders[0](x)[x == 3].softmax(-1):
            print("   ", *(f"{list(ids)[i]} {v:.2f}" for v, i in zip(*p.topk(4), strict=True)))


type_text(fill, "we had a burnt [MASK] today .\n[MASK] found the [MASK] late today .")

# %% [markdown]
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
        readers = [f"head {i + 1}" if row == 2 + i else "" for row in range(8)]
        attention_lines(ax, readers, words, weights, "C1" if i == best else "0.7")
    ax.set_title(f"{name}: what dry reads")
figure("what-dry-reads", alt="Thin lines from four dry to all words; trained, a thick one to cake.")

# %% [markdown]
# Each line is a weight (seed 0), orange those of the head that gives *cake* most. Untrained, *dry* reads all words fairly evenly; trained, one head gives nearly all its weight to *cake*, on whichever side it stands. In other seeds it is less, down to what untrained heads give. (Another head rests on the full stop, as some of BERT's do: Clark et al. 2019.)
#
# A weight is not yet a use. What is in the vector of *dry* now? If it were its topic, *dry soup* would be further from *dry walk* than from *dry stew*. So divide: the mean distance between things of two topics by that between two things of one. A word with *one* meaning is our control: *tasty*.

# %% tags=["nbval-ignore-output"]
things = ["soup", "cake", "stew", "picnic", "walk", "parade"]


@torch.no_grad()
def topic_ratio(model, word, form="we had a {1} {0} today ."):
    x = our_batch([form.format(thing, word) for thing in things])
    v = model.encoder(x, readable(x))[x == ids[word]]  # the six vectors of this word
    d = torch.cdist(v, v)
    same = (d[:3, :3].sum() + d[3:, 3:].sum()) / 12  # without the diagonal
    return (d[:3, 3:].mean() / same).item()


ratio, moved = {}, "we found the {0} {1} today ."
ratio["dry, untrained"] = [topic_ratio(one, "dry") for one in untrained]
ratio["dry"] = [topic_ratio(one, "dry") for one in encoders]
ratio["tasty"] = [topic_ratio(one, "tasty") for one in encoders]
ratio["found … dry"] = [topic_ratio(one, "dry", moved) for one in encoders]
ratio["found … dry, GPTs"] = [topic_ratio(one, "dry", moved) for one in gpts]
for name, by_seed in ratio.items():
    print(f"{name:17} two topics / one topic, by seed:", np.round(by_seed, 2))
average = {name: np.mean(by_seed) for name, by_seed in ratio.items()}
claim(two_topics_dry=average["dry"], dry_over_tasty=average["dry"] / average["tasty"])
claim(two_topics_untrained=average["dry, untrained"], two_topics_gpts=average["found … dry, GPTs"])

# %% [markdown]
# *Tasty* does it as much as *dry*. So this is no sign of two meanings: **the vector of any word picks up the topic of its statement**. And the permission to look isn't enough: in *we found the cake dry* a GPT may look at *cake*, too, and hardly any topic arrives. It wasn't asked to fill blanks.
#
# Does the orange head bring it? Switch the head off, an **ablation**: zero takes the place of what it hands on. (With the head's mean in place of zero the figures are the same.)
#
# **Predict.** Seed 0 has a ratio of 1.67, untrained networks one of 1. And seed 0 without that head?

# %% tags=["predict"]
guess = None  # a ratio, such as 1.3


# %% tags=["nbval-ignore-output"]
def without_head(model, head):  # 0 for what it hands on (8 of 32 channels)
    rest = deepcopy(model)
    rest.encoder.blocks[1].attention.out.weight.data[:, 8 * head : 8 * head + 8] = 0
    return rest


without_best, without_other = [], []
for one in encoders:
    rest = [without_head(one, head) for head in range(4)]
    reads_cake = look(one, dry_today)[:, t, t + 1].argmax().item()
    without_best.append(rest.pop(reads_cake))
    without_other.append(min(rest, key=lambda model: topic_ratio(model, "dry")))
sets = encoders, without_other, without_best
effect, other, best = (np.array([topic_ratio(m, "dry") - 1 for m in models]) for models in sets)
compare_guess(guess, 1 + best[0])
print("left of the effect, the ratio above 1, by seed:", (best / effect).round(2))
brings = best < effect / 2
claim(heads_that_bring_the_topic=sum(brings), other_heads_that_do=sum(other < effect / 2))

# %% tags=["figure", "folded", "nbval-ignore-output"]
ax = plt.subplots(figsize=(7.4, 3.2))[1]
for k, (values, color) in enumerate(((effect, "0.6"), (other, "C0"), (best, "C1"))):
    name = ("whole", "without another head", "without the head that reads cake most")[k]
    ax.bar(np.arange(6) + 0.27 * (k - 1), values, 0.25, bottom=1, color=color)
    ax.text(-0.4, 3.6 - 0.25 * k, name, color=color if k else "0.4", va="center")
ax.set_xticks(range(6), [f"seed {seed}" for seed in range(6)])
ax.set(ylim=(0.9, 3.8), ylabel="two topics / one topic", title="Often, one head brings the topic")
figure("without-a-head", alt="In four of six seeds the ratio falls towards 1 without the head.")

# %% [markdown]
# In four of six networks, that head brings the topic: without it, a third of the effect is left at most, and without another (the one that matters most is drawn) most of it. In seed 5 the topic comes without such a head, and in seed 3 a head gives *cake* 0.42 of its weight though there is hardly any topic in the vector: **a weight is not a use**.
#
# ## 10.5 Four labels
#
# What an encoder makes of a word is its **contextual embedding**. Ours were learned from text without labels. What are they good for? BERT's promise was: read much, then learn a task from little. So: name the topic of a new statement, after *four* labelled examples, one a topic.
#
# The networks stay as they are. For a whole statement take the mean of its vectors; a logistic regression (lesson 9) does the rest. (Search engines compare texts by such means, from encoders trained further on pairs that belong together: Reimers and Gurevych 2019.)

# %% [markdown] tags=["exercise"]
# > **Exercise 10.4 (warm-up, 5 minutes).** Write `mean_vector(vectors, present)`: for each text, the mean of the vectors of its tokens, without those of padding. `vectors` is (B, T, C), `present` (B, T), True where there is a token.
# >
# > <details><summary>Hint</summary>A sum in which padding counts 0, divided by how many there are.</details>


# %% tags=["stub"]
def mean_vector(vectors, present): ...  # -> (B, C)


# %% tags=["check"]
exercises.check_mean_vector(mean_vector)


# %% tags=["solution"]
def mean_vector(vectors, present):
    present = present[..., None]
    return (vectors * present).sum(1) / present.sum(1)


# %% [markdown]
# The same four labels go to the GPTs; to the encoders without the head of 10.4; to their vectors before any layer, and after one; and to a **bag of words**, which counts each word and gives rare words more weight. One baseline has read the same 2,176 texts without labels, too, and is no network: **latent semantic analysis** (Deerwester et al. 1990) boils the table of counts down to four numbers a statement, so that words in the same company count alike. (Four did best, of 4, 8 and 16, on the validation statements.)

# %%
from coursekit.models.bag import count_words, fit_logistic
from coursekit.models.encoder import mean_present

mean = answer_or(mean_vector, mean_present)  # the library's


@torch.no_grad()
def one_vector(model, depth=None):  # training, test: 32 numbers a statement, and a 1 for the bias
    pair = [mean(model.encoder(x, readable(x), depth), x > 0) for x in (tokens, t_tokens)]
    return [F.pad(x, (0, 1), value=1.0) for x in pair]


counts = [count_words(x, len(ids), lowest=4) for x in (tokens, t_tokens)]  # words: from id 4 on
rare = torch.log(len(tokens) / counts[0].count_nonzero(0).clamp(min=1))  # more for rare words
counts = [x * rare for x in counts]
main = torch.linalg.svd(counts[0] - counts[0].mean(0), full_matrices=False).Vh[:4].T
features = {
    "counts, four numbers": [[F.pad(x @ main, (0, 1), value=1.0) for x in counts]],
    "bag of words": [counts],
    "encoders": [one_vector(one) for one in encoders],
    "after one layer": [one_vector(one, depth=1) for one in encoders],
    "before any layer": [one_vector(one, depth=0) for one in encoders],
    "GPTs": [one_vector(one) for one in gpts],
    "untrained": [one_vector(one) for one in untrained],
    "without that head": [one_vector(one) for one in without_best],
    "without another": [one_vector(one) for one in without_other],
}

# %% [markdown]
# **Predict.** Four labels; chance is right 25 % of the time, the bag of words 57 %. And the six encoders, on average?

# %% tags=["predict"]
guess = None  # per cent, such as 50


# %% tags=["nbval-ignore-output"]
def right_after(n, x, y, seed):  # per cent of the test, after n labels, as many of each kind
    kinds, g = int(y[0].max()) + 1, torch.Generator().manual_seed(seed)
    order = torch.randperm(len(y[0]), generator=g).to(device)
    some = torch.cat([order[y[0][order] == k][: n // kinds] for k in range(kinds)])
    weights = fit_logistic(x[0][some], y[0][some], kinds, decay=0.01)
    return 100 * ((x[1] @ weights).argmax(1) == y[1]).float().mean().item()


def mean_of_draws(n, x, y):
    return np.mean([right_after(n, x, y, seed) for seed in range(20)])


def curves(y):  # {name: (models, numbers of labels)}
    every = features.items()
    return {k: np.array([[mean_of_draws(n, x, y) for n in ns] for x in xs]) for k, xs in every}


ns, topics, parts = (4, 8, 16, 32, 64), list(DOMAINS), (train, test)
names = [[topics.index(one.domain) for one in part] for part in parts]
by_topic = curves([torch.tensor(y, device=device) for y in names])
by_outcome = curves([torch.tensor([one.label for one in part], device=device) for part in parts])

# %% tags=["nbval-ignore-output"]
four = {name: right[:, 0] for name, right in by_topic.items()}
compare_guess(guess, four["encoders"].mean())
for name, right in four.items():
    print(f"{name:20} topic after four labels, by seed:", *(f"{one:.0f}" for one in right))
for name, less in (("the_bag", "bag of words"), ("no_attention", "before any layer")):
    gain = four["encoders"] - four[less]
    claim(**{f"encoders_over_{name}": gain.mean() / (gain.std(ddof=1) / 6**0.5)})
lost = {k: (four["encoders"] - four[f"without {k}"])[brings] for k in ("that head", "another")}
claim(lost_with_that_head=lost["that head"].min(), lost_with_another=lost["another"].max())
claim(bag_after_four=four["bag of words"][0], counts_after_four=four["counts, four numbers"][0])
low, lower = (by_outcome[name][:, -1].mean() for name in ("untrained", "encoders"))
claim(outcome_lost_by_pretraining=low - lower)

# %% tags=["figure", "folded", "nbval-ignore-output"]
panels = {"which topic?": by_topic, "did it turn out well?": by_outcome}
pair = plt.subplots(1, 2, figsize=(7.6, 3.9), sharey=True, width_ratios=(3, 2))[1]
style = {"counts, four numbers": ("k", "-"), "bag of words": ("0.45", "-"), "GPTs": ("C0", "-")}
style |= {"encoders": ("C1", "-"), "before any layer": ("C1", ":"), "untrained": ("0.7", "-")}
for ax, (title, found) in zip(pair, panels.items(), strict=True):
    for name, (color, line) in style.items():
        ax.plot(ns, found[name].mean(0), "o" + line, color=color, linewidth=2)
        if found is by_topic:
            ax.text(3.6, found[name][:, 0].mean(), name, color=color, ha="right", va="center")
    if found is by_topic:
        ax.plot(ns, found["encoders"].T, color="C1", linewidth=0.8, alpha=0.4)
    ax.set_xscale("log", base=2)
    ax.set_xticks(ns, ns)
    ax.set(title=title, xlabel="labelled statements")
pair[0].set(xlim=(0.5, 70), ylabel="right, new templates (%)")
figure(
    "few-labels", alt="Topics: encoders far above their own first vectors. Outcomes: all near 50."
)

# %% [markdown]
# **What attention adds is the topic**: the encoders' vectors are worth 39 % before any layer, 47 after one and 61 after both (thin lines: seeds). And it is the head: in the four encoders where it brings the topic to *dry*, the accuracy falls by 16 to 46 points without it, and by 3 at most without another. (Seed 5, which has no such head, loses nothing.)
#
# Was it worth the trouble? After four labels the encoders can't be told from the bag of words, and then they fall behind. And latent semantic analysis wins by far: where each topic has words of its own, counting who stands with whom is enough.
#
# On the right, the outcome. A linear classifier finds almost nothing of it in the mean of these vectors, less than in untrained networks. The encoder learned the topic; the outcome, which some blanks need, too (*people … because …*), it didn't.

# %% [markdown] tags=["exercise"]
# > **Exercise 10.5 (investigate, 20 minutes).** Perhaps the outcome is in there, and the mean hides it? Ask the networks in their own language, without any label (**prompting**): append `so everyone was [MASK] .` to a statement, and see whether *pleased* gets more than *annoyed*. Ask the GPTs, too. First write down what you expect.
#
# |right, of 256 statements|encoders, seeds 0, 1, 2|GPTs, seeds 0, 1, 2|
# |---|---|---|
# |*so everyone was …* (pleased, annoyed)|||
# |*so people …* (smiled, grumbled)|||
#
# > ```python
# > plain = [one for one in test if "{t}" in one.template]  # one clause, and a time: take that off
# > texts = [one.text.replace(" this time", "").replace(" today", "")[:-2] for one in plain]
# > texts = [text.removeprefix("this time ").removeprefix("today ") for text in texts]
# > x = our_batch([f"{text} so everyone was [MASK] ." for text in texts])
# > logits = encoders[0](x)[x == 3]  # then compare logits[:, ids["pleased"]] …
# > ```
# >
# > <details><summary>What we found</summary>Chance, within two standard errors of 3 points each: encoders 52, 48, 52 and GPTs 52, 57, 51 with <em>everyone</em>; 48, 50, 49 and 50, 51, 51 with <em>people</em>. (The 57 is a little more; one of twelve may be.) Prompting doesn't find it, either, and neither does an encoder that has trained for 7,000 steps: 52 and 50.</details>

# %% [markdown]
# ## What you now have
#
# - **What does attention learn if it may look both ways?** To fetch what words on both sides tell, here their topic: in four of six encoders one head does it, and most of what four labels can use comes by that head. A GPT, which may look back only, doesn't pick it up.
# - And two baselines that do better: a GPT that tries every word fills blanks with less loss, and counts name topics.
# - An encoder: the block you know, with a mask for padding instead of the causal one, and masked tokens to train it on.
# - Controls: an untrained network, a word with one meaning, a head switched off, the vectors before any layer; and seeds, since one of the six would have told another story.
#
# **What still fails.** The outcome. For that all weights must learn from labels: [side lesson 10c](10c_labels.ipynb), where sixteen networks compete, and hardly any lead is what it seems. And an encoder can't write: it has no next word. [Side lesson 10b](10b_reverse.ipynb) adds a decoder, which completes the transformer of 2017.
#
# A series of prices or temperatures is no text. But cut its values into a few hundred bins, and each step is a token. Can a series be text? That is lesson 11.

# %% [markdown]
# # 10 · What does attention learn if it may look both ways?
#
# A GPT reads from left to right, because it has to guess what comes next. If the text is there already, why not look at all of it? The **encoder**, one half of the transformer, does.
#
# **Afterwards you can** write an encoder, train it on masked tokens, and find out what its vectors know and where that comes from.
#
# **Before**: lessons 6 (attention, heads, the block, a GPT you wrote), 2 and 2b (training, standard errors) and 9 (logistic regression).
#
# **Runs in** {runs_in}. **Study time** {study}.
#
# **Sources**: the encoder comes from Vaswani et al. (2017). Learned positions and the GELU are as in BERT (Devlin et al. 2019), where masked tokens and the rule of 15, 80, 10 and 10 per cent come from. All statements here were written for this course.

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
# ## 10.1 One word, two contexts
#
# A dry cake is about food, a dry walk about the weather. Yet both *dry* are the same token, and so the same row of the embedding table: one vector for both. (In BERT, uncased, even the *round* of *a round of funding* and of *a round of drinks* is token 2461 of its 30,522, with two meanings.)
#
# We use a text small enough to train on in a minute: statements about trains, kitchens, deliveries and the weather, each with a label for lesson 10c, 1 if it turned out well. Each is made from a **template**: `{s}` is the thing, `{x}` how it was, `{o}` the opposite, `{w}` who says so, `{t}` when, and `{r}` what people did. No template appears in more than one of training (2,176 statements), validation (512) and test (896), but they share their parts: what is new is the combination.

# %%
train, validation, test = statements()
ids = number_words([one.text for one in train])
for things, good, bad in DOMAINS.values():
    print(f"{things:22} good: {good:24} bad: {bad}")
for one in (train[3], train[1000], test[500], test[-1]):
    print(one.label, f"{one.text:68}", one.template)

# %% [markdown]
# An embedding can't tell a cake's *dry* from a walk's. Attention mixes the vectors of other words into that of *dry*, so it could. In 10.5 we ask the vector of *dry* which of the two it is about, food or the weather: its topic.
#
# **Predict.** One layer of attention with random weights reads *we had a dry cake* and *we had a dry walk*. How far apart are the two vectors of *dry*, in per cent of their length, if the attention is causal, as in a GPT? (`encode` turns words into their numbers. The library's `attend_past` is causal attention; `attend` reads everything.)

# %% tags=["predict"]
guess = None  # per cent

# %%
from coursekit.layers.attention import MultiHeadAttention, allow_present, attend, attend_past


def encode(text):
    return torch.tensor([[ids[word] for word in text.split()]])


distance = {}
for rule in (attend_past, attend):
    torch.manual_seed(42)  # the same weights for both
    vectors, layer = nn.Embedding(len(ids), 32), MultiHeadAttention(32, 4, rule)
    cake, walk = (layer(vectors(encode(f"we had a dry {s}"))) for s in ("cake", "walk"))
    distance[rule] = 100 * ((cake[0, 3] - walk[0, 3]).norm() / walk[0, 3].norm()).item()
compare_guess(guess, distance[attend_past])
claim(distance_past=distance[attend_past], distance_both_ways=distance[attend])

# %% tags=["figure", "folded"]
from coursekit.notebook.pictures import attention_lines, draw_numbers

words = ["we", "had", "a", "dry", "cake"]
axes = plt.subplots(1, 2, figsize=(6.4, 3.3), sharey=True)[1]
panels = {"A GPT: dry can't see cake": np.tri(5), "An encoder: it can": np.ones((5, 5))}
for ax, (title, allowed) in zip(axes, panels.items(), strict=True):
    draw_numbers(ax, allowed, words, words).set(title=title, xlabel="is read (1: allowed)")
    axes[0].set_ylabel("reads")
    ax.plot([4], [3], "o", markersize=22, markerfacecolor="none", color="C1", markeredgewidth=3)
figure("who-reads-whom", alt="Left: a lower triangle is allowed. Right: everything is.")

# %% [markdown]
# Exactly zero: the word that decides comes later. Without the mask, the two vectors differ. To predict the next word, the mask of lesson 6 is needed, or the answer would be in the input; to understand a word, it gets in the way. Attention without it is called **bidirectional**, a stack of such layers an encoder.
#
# ## 10.2 The layer, and texts of different lengths
#
# An encoder layer is the block of lesson 6 without the causal mask. One detail differs: where GPT-2 normalises what goes *into* attention and the feed-forward network (**pre-norm**), BERT normalises the sums that come out (**post-norm**).

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
# > **Exercise 10.1 (build, 20 minutes).** Write the layer of an encoder: attention with any mask, then the feed-forward network, as drawn on the right. `x` is (B, T, C); `allowed` broadcasts to (B, H, T, T), and `allowed[b, h, t, s]` is True where position t may read position s (what is not allowed gets the weight 0). Of `block.attention` use the four linear maps, `q`, `k`, `v` and `out`, and the number of heads, `n_head` (not the whole: that would be the library's answer). The rest is called `block.norm_1`, `block.norm_2` and `block.feed_forward`.
# >
# > <details><summary>Hint 1</summary><code>part.unflatten(-1, (n_head, -1)).transpose(1, 2)</code> has the shape (B, H, T, D). After the heads, <code>.transpose(1, 2).flatten(-2)</code> puts them side by side again, for <code>out</code>.</details>
# > <details><summary>Hint 2, by symptom</summary><em>Wrong with one head and everything allowed</em>: do the heads stand before the positions, the norms after the additions, and does the second sum start from what the first norm gave? <em>Right for one head, wrong for two</em>: the square root is that of a head's channels, D. <em>Wrong only where something is forbidden</em>: which score becomes a weight of exactly 0 in the softmax?</details>


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
# The encoder is a stack of these. Before the first, each token gets the sum of two vectors, one for the word and one for its position, normalised. Ours is small, 32 channels and two layers, so that it trains in seconds. (`causal` puts the mask of lesson 6 back on; `depth` stops after that many layers, to look inside.)

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
        nn.init.normal_(self.positions.weight, std=0.2)  # words, at std 1, count more
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
# A batch is a rectangle, and statements are not equally long. So the short ones are padded with a token that means nothing, **padding**, number 0. (And position 0 gets the token `[CLS]`, whose vector BERT uses for the whole text.)
#
# Does padding matter, if it means nothing? Give *[CLS] we had a dry cake .* eight tokens of it, without any mask, and see how far the vector of *dry* moves in five untrained encoders.

# %%
statement, moved = encode("[CLS] we had a dry cake .").to(device), []
everything = torch.ones(15, 15, dtype=torch.bool, device=device)
for seed in range(5):
    torch.manual_seed(seed)
    ours = OurEncoder(len(ids)).to(device)
    alone = ours(statement, everything[:7, :7])[0, 4]  # of dry
    padded = ours(F.pad(statement, (0, 8)), everything)[0, 4]
    moved.append(100 * ((padded - alone).norm() / alone.norm()).item())
claim(padding_moves_dry_by=np.mean(moved))

# %% [markdown]
# By nearly a quarter of its length: attention gave weight to eight empty positions. So what an encoder says about a statement would depend on the rest of the batch. A **padding mask** forbids reading them. (`nn.MultiheadAttention` has it as `key_padding_mask`, with True where a token may *not* be read.)

# %% [markdown] tags=["exercise"]
# > **Exercise 10.2 (warm-up, 5 minutes).** Write `padding_mask(tokens)`: True where a token may be read, because it is not padding. `tokens` has the shape (B, T), the mask (B, 1, 1, T): one row for all heads and all queries, also those that are padding; the last axis is what is read. Attention needs it to be of the type `torch.bool`.
# >
# > <details><summary>Hint</summary>Index with <code>None</code> to make a new axis. (A mask of the shape (B, 1, T, T), with equal rows, is accepted, too.)</details>


# %% tags=["stub"]
def padding_mask(tokens): ...  # (B, T) -> (B, 1, 1, T), bool


# %% tags=["check"]
exercises.check_padding_mask(padding_mask)


# %% tags=["solution"]
def padding_mask(tokens):
    return (tokens > 0)[:, None, None]


# %% [markdown]
# With these two pieces and a linear layer on top the model is whole. The library's is [models/encoder.py](../coursekit/models/encoder.py); its tests hold it to Hugging Face's `BertModel`, and its `from_bert` takes BERT's own weights, if you have downloaded them.

# %%
readable = answer_or(padding_mask, lambda tokens: allow_present(tokens > 0))  # the library's


class OurModel(nn.Module):
    def __init__(self, encoder, n_out):
        super().__init__()
        self.encoder, d = encoder, encoder.embedding.embedding_dim
        self.output = nn.Linear(d, n_out)

    def forward(self, tokens):
        return self.output(self.encoder(tokens, readable(tokens)))


def our_batch(texts):
    rows = [encode(f"[CLS] {text}")[0] for text in texts]
    x = nn.utils.rnn.pad_sequence(rows, batch_first=True)  # padding is 0
    return F.pad(x, (0, -x.shape[1] % 8)).to(device)  # multiples of 8 are computed faster


# %% [markdown]
# ## 10.3 Learning from masked tokens
#
# A GPT trains on any text, because the next word is the label. An encoder sees the next word. So hide some words and have the model predict them: **masked language modelling**. BERT chooses 15 % of the tokens. If all of these became `[MASK]`, the encoder would train only on text with `[MASK]`, and later read only text without. So, of the chosen ones,
#
# - 80 % become `[MASK]`,
# - 10 % become a random word,
# - 10 % stay as they are.
#
# Any word that it sees may now be a wrong one, or one that it must predict. So it must make a good vector for each (exercise 10.4 tests that). The loss counts the chosen tokens only. Elsewhere the target is −100, which `F.cross_entropy` leaves out.

# %% [markdown] tags=["exercise"]
# > **Exercise 10.3 (build, 20 minutes).** Write that rule. `draw` says which tokens are chosen (below 0.15), `kind` what happens to them (below 0.8, below 0.9, or else), `word` is the random word. Numbers below 4 aren't words (`[MASK]` is 3) and are never chosen. Return `{"inputs": …, "targets": …}`.
# >
# > <details><summary>Hint 1</summary>First <code>chosen</code>, a mask of True and False. The targets are −100 wherever it is False.</details>
# > <details><summary>Hint 2</summary><code>torch.where(condition, a, b)</code> takes numbers for a or b, too. Two of them in a row make the inputs.</details>


# %% tags=["stub"]
def hide_tokens(tokens, draw, kind, word): ...  # four times (B, T) -> a dictionary


# %% tags=["check"]
exercises.check_hide_tokens(hide_tokens)


# %% tags=["solution"]
def hide_tokens(tokens, draw, kind, word):
    chosen = (draw < 0.15) & (tokens >= 4)
    inputs = torch.where(chosen & (kind < 0.8), 3, tokens)
    inputs = torch.where(chosen & (kind >= 0.8) & (kind < 0.9), word, inputs)
    return {"inputs": inputs, "targets": torch.where(chosen, tokens, -100)}


# %% [markdown]
# Now train, on the statements without their labels: four encoders, which differ by their seed, and four GPTs. These are the same network with the causal mask on, trained for as many steps, at the same learning rate (none was tuned); but they predict *every* next word.
#
# (`hide_some` and `next_words` make inputs and targets; `fit` runs the five lines of lesson 2.)

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
    after = F.pad(x[:, 1:], (0, 1))  # nothing comes after the last
    return x, after.where(after >= 4, -100)


# %%
tokens = our_batch([one.text for one in train])


def pretrain(seed, task, causal=False):
    torch.manual_seed(seed)
    encoder = OurEncoder(len(ids), causal=causal)
    model, g = OurModel(encoder, len(ids)).to(device), torch.Generator().manual_seed(seed)
    picks = (tokens[torch.randint(len(tokens), (64,), generator=g)] for _ in range(1500))
    options = {"steps": 1500, "schedule": warm_up_cosine(1500), "clip": 1.0}
    batches = (task(x, g) for x in picks)  # the loss is a cross-entropy over all targets
    fit(model, adamw(model, 5e-3, weight_decay=0.01), batches, loss=next_token_loss, **options)
    return model.eval()


# %% tags=["nbval-ignore-output"]
encoders = [pretrain(seed, hide_some) for seed in range(4)]

# %% tags=["nbval-ignore-output"]
gpts = [pretrain(seed, next_words, causal=True) for seed in range(4)]

# %% [markdown]
# Now ask both for hidden words, one at a time, in statements of templates that no model has seen. Each question is a copy of a statement with one blank.

# %%
t_tokens = our_batch([one.text for one in test])
g = torch.Generator().manual_seed(0)
row, at = (hide_some(t_tokens, g)[0] == 3).nonzero(as_tuple=True)  # which words to ask for
answers, questions, every = t_tokens[row, at], t_tokens[row], range(len(row))
questions[every, at] = 3
vocabulary = list(ids)
for k in (0, 500, 900):
    print(*(vocabulary[i] for i in questions[k] if i > 0), "→", vocabulary[answers[k]])

# %% [markdown]
# An encoder reads everything but the blank, a GPT what stands before it. (Always answering with the full stop is right 10 % of the time.)

# %% tags=["nbval-ignore-output"]
with torch.no_grad():
    both_sides = [one(questions)[every, at] for one in encoders]
    words_before = [one(t_tokens)[row, at - 1] for one in gpts]  # position t − 1 predicts word t
loss = []
for name, by_seed in (("encoders", both_sides), ("GPTs", words_before)):
    right = np.mean([(logits.argmax(1) == answers).double().mean().item() for logits in by_seed])
    mean = np.mean([F.cross_entropy(logits, answers).item() for logits in by_seed])
    print(f"{name:8} loss {mean:.2f}, right {right:.1%}")
    loss.append(Score(mean, on=answers))  # on the same words, for a fair comparison
claim_order(both_sides_beat_the_gpt=loss)

# %% [markdown]
# **In one pass, reading both sides pays**: more than half a nat. In 72 passes, one for each word of the vocabulary, a GPT can read both sides, too, and then it beats the encoder by as much.
#
# <details><summary>How?</summary>Put each of the 72 words into the blank, and ask how probable the whole statement becomes (<a href="../tests/test_encoder_lesson.py">tested</a>, as is everything marked <em>tested</em> below).</details>
#
# And in one pass an encoder gives a vector for each word, which has seen both sides. After further training, search and classification work with such vectors. What is in one?
#
# First, what did it learn about *dry*? Let the encoder of seed 0 fill in a blank, in a template that it has learned from.


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
# Before *cake* it fills in words that describe food, before *walk* weather. *Dry* is in both lists.
#
# **Your turn.** Hide other words, one statement a line.


# %% tags=["live"]
def fill(lines):  # the four likeliest words for each blank; unknown words are left out
    for text in lines.splitlines():
        x = our_batch([" ".join([word for word in text.split() if word in ids][:23])])
        print(text)
        for p in encoders[0](x)[x == 3].softmax(-1):
            print("   ", *(f"{vocabulary[i]} {v:.2f}" for v, i in zip(*p.topk(4), strict=True)))


type_text(fill, "we had a burnt [MASK] today .\n[MASK] found the [MASK] late today .")

# %% [markdown]
# ## 10.4 What does *dry* read?
#
# Lesson 6 drew attention weights. Here are those of *dry*, for the four heads of the last layer, in *we had a dry cake today*. Three controls: four untrained encoders; *we found the cake dry today*, since a head that always reads the *next* word would find *cake*, too; and a *cake* further away.

# %%
from coursekit.layers.attention import attention_weights


@torch.no_grad()
def look(model, x):  # (B, 4 heads, who reads, what is read)
    part = model.encoder.blocks[-1].attention
    h = model.encoder(x, readable(x), depth=-1)  # all layers but the last
    q, k = (f(h).unflatten(-1, (part.n_head, -1)).transpose(1, 2) for f in (part.q, part.k))
    return attention_weights(q, k, readable(x))


def four_untrained(causal=False):
    torch.manual_seed(42)
    return [OurModel(OurEncoder(len(ids), causal=causal), len(ids)).to(device) for _ in range(4)]


untrained = four_untrained()

# %% tags=["nbval-ignore-output"]
cases = {  # where dry and cake stand; [CLS] is token 0
    "after": ("we had a dry cake today .", 4, 5),
    "before": ("we found the cake dry today .", 5, 4),
    "far": ("people smiled because the cake was not dry .", 8, 5),
}
for where, (text, dry, cake) in cases.items():
    for name, models in (("untrained", untrained), ("trained", encoders)):
        weight = [look(one, our_batch([text]))[0, :, dry, cake].max().item() for one in models]
        print(f"{text:44} {name:9} most on cake, by seed:", np.round(weight, 2))
    claim(**{f"mean_weight_on_cake_{where}": np.mean(weight)})

# %% tags=["figure", "folded", "nbval-ignore-output"]
best = look(encoders[0], our_batch([cases["after"][0]]))[0, :, 4, 5].argmax()  # reads cake most
axes = plt.subplots(1, 3, figsize=(9, 3))[1]
panels = [("untrained", untrained[0], cases["after"])]
panels += [("trained", encoders[0], cases[where]) for where in ("after", "before")]
for ax, (name, one, (text, dry, _)) in zip(axes, panels, strict=True):
    for i, head in enumerate(look(one, our_batch([text]))[0, :, dry].cpu()):
        weights = np.eye(8)[2 + i][:, None] * head.numpy()
        readers = [f"head {i + 1}" if row == 2 + i else "" for row in range(8)]
        color = "C1" if i == best and name == "trained" else "0.7"
        attention_lines(ax, readers, ["[CLS]", *text.split()], weights, color)
    ax.set_title(f"{name}: {'dry cake' if dry == 4 else 'cake dry'}")
figure("what-dry-reads", alt="Trained, a thick line from one head of dry to cake, in both orders.")

# %% [markdown]
# Each line is an attention weight, from seed 0, the clearest here. Untrained, *dry* reads all words fairly evenly. Trained, one head, in orange, gives most of its weight to *cake*, on either side; another reads *today*, a third *had* or *found*. In seeds 2 and 3 *cake* gets less; in seed 1 hardly more than untrained. And in a sentence of a new template, where *cake* is further away, only seeds 0 and 2 read it.
#
# ## 10.5 What does its vector know?
#
# To read a word isn't yet to use it. Does the vector of *dry* know, after the layers, what its statement is about, the kitchen or the weather? Collect that vector from each statement with *dry*, those of training and those of the new templates.

# %%
from coursekit.models.bag import count_words, fit_logistic


def with_dry(part, keep=lambda text: True):  # the texts; 1 for the weather, 0 for the kitchen
    some = [one for one in part if "dry" in one.text.split() and keep(one.text)]
    topics = torch.tensor([int(one.domain == "weather") for one in some], device=device)
    return [one.text for one in some], topics


@torch.no_grad()
def vectors_of(word, model, texts, depth=None):  # in each text, at this word
    x = our_batch(texts)
    row, at = (x == ids[word]).nonzero(as_tuple=True)
    vectors = model.encoder(x, readable(x), depth)[row, at]
    return F.pad(vectors, (0, 1), value=1.0)  # a 1 for the bias


known, new = with_dry(train), with_dry(test)
v, v_new = (vectors_of("dry", encoders[0], texts) for texts, _ in (known, new))

# %% [markdown]
# Now train a **probe** (Alain and Bengio 2016): a logistic regression (lesson 9) that sees this one vector and nothing else of its statement. The encoder stays as it is. From many examples a probe learns nearly anything, so we give it **two** vectors, one of each topic. Then it judges the 110 statements of the new templates. Try two such pairs.

# %% tags=["nbval-ignore-output"]
texts, topics = known
for pair in ([0, 3], [130, 113]):  # a kitchen, a weather
    weights = fit_logistic(v[pair], topics[pair], 2, decay=0.01)
    right = (v_new @ weights).argmax(1) == new[1]
    print(f"{right.double().mean():4.0%} right from", *(texts[i] for i in pair), sep="\n     ")

# %% [markdown]
# One pair gives one number, another pair another. So each number from here on is the mean of twenty pairs, drawn at random, and both topics count the same (**balanced accuracy**): chance is 50 %. `probe` does what you have just seen, twenty times for each network.


# %%
def ask(vectors, topics, new_vectors, new_topics, n=2):  # per cent right, both topics alike
    assert n // 2 <= topics.bincount().min(), "fewer labels than that"
    right = []
    for seed in range(20):
        g = torch.Generator().manual_seed(seed)
        order = torch.randperm(len(topics), generator=g).to(device)
        some = torch.cat([order[topics[order] == topic][: n // 2] for topic in (0, 1)])
        weights = fit_logistic(vectors[some], topics[some], 2, decay=0.01)
        says = (new_vectors @ weights).argmax(1)
        right += [(says == new_topics)[new_topics == topic].double().mean() for topic in (0, 1)]
    return 100 * torch.stack(right).mean().item()


def probe(models, known=known, new=new, word="dry", n=2, depth=None):  # a number a model
    texts = known[0], new[0]
    both = [[vectors_of(word, one, part, depth) for part in texts] for one in models]
    return np.array([ask(v, known[1], v_new, new[1], n) for v, v_new in both])


# %% [markdown]
# **Predict.** Before any layer, *dry* is a row of a table and a position: 50 %. After one layer it is 58 %. And after both, on average?

# %% tags=["predict"]
guess = None  # per cent

# %% tags=["nbval-ignore-output"]
depths = ("before any layer", "after one layer", "after both layers")
rows = {name: probe(encoders, depth=k) for k, name in enumerate(depths)}
rows["untrained, after both"] = probe(untrained)
rows["the full stop, after both"] = probe(encoders, word=".")
table_row, one_layer, both, no_training, full_stop = (one.mean() for one in rows.values())
compare_guess(guess, both)
claim(probe_before_any_layer=table_row, probe_after_one=one_layer, probe_after_both=both)
claim(probe_untrained=no_training, probe_of_the_full_stop=full_stop)

# %% tags=["figure", "folded", "nbval-ignore-output"]
counts = [count_words(x, len(ids), lowest=4) for x in (tokens, *map(our_batch, (texts, new[0])))]
rare = torch.log(len(tokens) / counts[0].count_nonzero(0).clamp(min=1))  # fewer statements: more
of_all, of_known, of_new = (each * rare for each in counts)
lists = torch.linalg.svd(of_all, full_matrices=False).Vh[:5].T  # five weighted lists of words
bag = ask(of_known, topics, of_new, new[1])
lsa = ask(of_known @ lists, topics, of_new @ lists, new[1])
ax = plt.subplots(figsize=(7.6, 4.2))[1]
for k, (name, right) in enumerate(rows.items()):
    ax.barh(name, right.mean() - 50, 0.86, left=50, color="C1", alpha=0.35)
    for seed, one in enumerate(right):
        ax.text(one, k - 0.26 + 0.17 * seed, seed, ha="center", va="center", fontsize=10)
ax.axvline(50, color="0.3", linewidth=1)
for name, right in {"a bag of\nall words": bag, "LSA": lsa}.items():
    ax.axvline(right, color="0.4", linestyle=":")
    ax.text(right + 0.6, 0, name, color="0.3", fontsize=10, va="center")
ax.set(xlim=(44, 100), ylim=(4.5, -0.5), title="The topic arrives with the second layer")
ax.set_xlabel("right (%), chance is 50; bars: means, digits: seeds")
figure("probe", alt="Near 50 before any layer and untrained, 58 after one; 82 to 95 after both.")

# %% [markdown]
# **An embedding can't tell; after two layers a probe that knows two examples is right in 87 %.** Such a vector, a different one in each context, is called a **contextual embedding**.
#
# Is it the topic of *dry*? The probe is right at the full stop, too, three times out of four, and a full stop has no topic of its own. So it finds that of the *statement*.
#
# The dotted lines need no network. LSA counts words in the same 2,176 statements, and does as well. But it describes a statement; the encoder, each word in it. At which words, and why? That is 10.7.
#
# <details><summary>What are the dotted lines?</summary>A <b>bag of words</b> counts all words of a statement, rare ones more (tf–idf). <b>Latent semantic analysis</b> (LSA, Deerwester et al. 1990) finds lists of words that often occur together, by a singular value decomposition, and describes a statement by how much it has of each. We keep five lists, which are best on validation; with four it is right in 50 % (tested).</details>

# %%
claim(bag_of_the_statement=bag, statement_in_five_numbers=lsa)

# %% [markdown]
# ## 10.6 Which head brings it?
#
# Is it the head that reads *cake*? Switch one head of the last layer off at a time, an **ablation**: zero takes the place of its output (taking its mean gives nearly the same: tested). How many points does a new probe lose?


# %% tags=["nbval-ignore-output"]
def without_head(model, head):
    rest = deepcopy(model)
    part = rest.encoder.blocks[-1].attention
    part.out.weight.data.unflatten(1, (part.n_head, -1))[:, head] = 0  # no longer read
    return rest


x, lost = our_batch(["we had a dry cake today ."]), []  # a row for each seed
readers = [look(model, x)[0, :, 4, 5].argmax().item() for model in encoders]  # of cake, at dry
for model, whole in zip(encoders, rows["after both layers"], strict=True):
    lost.append(whole - probe([without_head(model, head) for head in range(4)]))
of_readers = np.mean([loss[head] for loss, head in zip(lost, readers, strict=True)])
of_others = (np.sum(lost) - 4 * of_readers) / 12
claim(lost_without_the_reader=of_readers, reader_costs_more=of_readers - of_others)

# %% tags=["figure", "folded", "nbval-ignore-output"]
axes = plt.subplots(1, 4, figsize=(9, 2.9), sharey=True)[1]
for seed, ax in enumerate(axes):
    colors = ["C1" if head == readers[seed] else "0.7" for head in range(4)]
    ax.bar(["1", "2", "3", "4"], lost[seed], color=colors)
    ax.set(title=f"seed {seed}", xlabel="head")
    ax.grid(axis="x", visible=False)
axes[0].set_ylabel("points lost")
axes[0].text(1.6, 24, "reads\ncake", color="C1")
axes[0].figure.suptitle("The head that reads cake matters, but not in every network")
figure("heads", alt="Without the head that reads cake 38, 10, 20 and 3 points are lost, by seed.")

# %% [markdown]
# In seeds 0, 1 and 2 most is lost without the head that reads *cake* most, in orange (in one sentence, *we had a dry cake today*); in seed 1, though it gives *cake* only a quarter of its weight. In seed 3 it gives half and is hardly missed, and in seed 0 another head costs 16 points, too. **An attention weight is a hint; to know, switch it off** (Jain and Wallace 2019; heads: Michel, Levy and Neubig 2019), and even then another head may stand in. After all, these heads don't read words, but vectors that layer 1 has mixed already (Abnar and Zuidema 2020).
#
# ## 10.7 Where does a GPT have it?
#
# Do the vectors of our GPTs know the topic, too? In *a dry cake* they can't: the thing comes later. In *the cake would be dry* they can. Take all statements that end like this, so that the words around it are the same: twelve to learn from, twelve to judge.

# %%
learn, judge = (
    with_dry(part, lambda text: text.endswith("would be dry .")) for part in (train, test)
)
print("to learn from:", learn[0][0], "to judge:", judge[0][0], sep="\n")

# %% [markdown]
# **Predict.** From two examples, a probe of the encoders is always right at this *dry*. And one of the GPTs?

# %% tags=["predict"]
guess = None  # per cent

# %% tags=["nbval-ignore-output"]
of_encoders, of_gpts = (probe(models, learn, judge).mean() for models in (encoders, gpts))
compare_guess(guess, of_gpts)
claim(encoder_at_dry=of_encoders, gpt_at_dry=of_gpts)

# %% [markdown]
# Only 67 %. Why? A GPT can't look to the right, and it predicts the next word. Which is it? Train a third kind: causal like a GPT, but it fills in masked words.

# %% tags=["nbval-ignore-output"]
causal_masked = [pretrain(seed, hide_some, causal=True) for seed in range(4)]
claim(masked_at_dry=probe(causal_masked, learn, judge).mean())

# %% [markdown]
# 96 %. The right side isn't needed here; it is the **objective**: what has to be predicted, how often, and from what. At *dry* a GPT has to predict what comes after, the full stop, and the topic is no help. One word earlier it would help, for there the GPT has to predict a word like *dry*. Ask all networks, at all these words.

# %% tags=["nbval-ignore-output"]
networks = {"encoders": encoders, "causal, masked": causal_masked, "GPTs": gpts}
networks["untrained GPTs"] = four_untrained(causal=True)
found = {}  # a row for each word, a column for each network
for name, models in networks.items():
    found[name] = np.array([probe(models, learn, judge, w) for w in ("would", "be", "dry", ".")])
claim(gpt_at_be=found["GPTs"][1].mean(), gpt_at_would=found["GPTs"][0].mean())
claim(encoder_at_its_lowest=found["encoders"].mean(1).min())

# %% tags=["nbval-ignore-output"]
x = our_batch(judge[0])  # errors are compared on the same statements
wrong = {name: [Score(100 - one, on=x) for one in found[name].mean(1)] for name in networks}
claim_order(objective_matters=[wrong[name][2] for name in ("causal, masked", "GPTs")])
claim_order(gpt_at_be_over_dry=wrong["GPTs"][1:3])

# %% tags=["figure", "folded", "nbval-ignore-output"]
ax = plt.subplots(figsize=(7.6, 4.4))[1]
looks = (("C0", 98), ("C2", 93), ("C1", 68), ("0.6", 54))  # color, and height of the name
for (name, right), (color, height) in zip(found.items(), looks, strict=True):
    ax.plot(right.mean(1), "o-", color=color, linewidth=3)
    ax.plot(right, color=color, linewidth=0.8, alpha=0.5)
    ax.text(3.1, height, name, color=color, va="center")
places = ["would\nnext: be", "be\nnext: dry", "dry\nnext: .", "full stop\nthe end"]
ax.set_xticks(range(4), places)
ax.set(xlim=(-0.1, 4.2), ylim=(44, 102), ylabel="right (%), chance is 50; thin: seeds")
ax.set_title("In a GPT the topic stands out where it predicts with it")
figure("objective", alt="GPTs 65, 94, 67, 68 per cent; masked networks 92 or more everywhere.")

# %% [markdown]
# There it is: 94 %. **In a GPT two examples find the topic at *be*, where it predicts with it, and much less often one word before or after.** In networks trained by the rule of 10.3 they find it at all four words, probably because each may be wrong, or one that must be predicted.
#
# <details><summary>What this doesn't show</summary>That the topic is gone from a GPT's <em>dry</em>: with all twelve examples a probe is right there 90 % of the time (in untrained vectors 69), so most of it remains. That a network is needed: LSA tells the twelve statements apart without error (both tested); what is new is <em>where</em> in a network the topic lies. And twelve statements from two templates is a small sample. In larger language models, vectors lose the past from layer to layer and gain the future (Voita, Sennrich and Titov 2019).</details>

# %% [markdown] tags=["exercise"]
# > **Exercise 10.4 (investigate, 20 minutes).** An encoder shows the topic at a *dry* that it sees. Is that the work of the 10 % random words, of the 10 % that stay, or of neither? Train encoders by other rules (40 seconds for four seeds), and complete the table with means and standard errors over the seeds, on all statements with *dry*. Which rows differ by more than three standard errors of their difference? (With four seeds and six pairs, two are too few.)
# >
# > ```python
# > def rule(other):  # takes the place of `kind` for words that don't become [MASK]
# >     def task(x, g):
# >         draw, kind = torch.rand(2, *x.shape, generator=g).to(device)
# >         word = torch.randint(4, len(ids), x.shape, generator=g).to(device)
# >         some = hide(x, draw, kind.where(kind < 0.8, other), word)
# >         return some["inputs"], some["targets"]
# >
# >     return task
# >
# > models = [pretrain(seed, rule(0.85)) for seed in range(4)]
# > probe(models)  # right in per cent, for each seed
# > ```
#
# |of the chosen words|right at *dry*, %|
# |---|---|
# |80 % masked, 10 % random, 10 % stay|87 ± 3|
# |80 % masked, 20 % random (`rule(0.85)`)||
# |80 % masked, 20 % stay (`rule(0.95)`)||
# |all masked (`rule(0.0)`)||
#
# > <details><summary>What we found</summary>87 ± 3, 79 ± 4, 67 ± 6 and 59 ± 4. The whole rule and random words alone are ahead of masks alone, by 5.4 and 3.4 standard errors; the other pairs are within three, one of them just so. So an encoder that never sees a wrong word, and is never asked for one that it sees, shows little of the topic there. Random words help; whether more than words that stay, four seeds can't tell. (For large models Wettig et al. 2023 take the rule up again.)</details>

# %% [markdown]
# ## What you now have
#
# - **What does attention learn if it may look both ways?** Where the thing comes later, only looking both ways can help (10.1). Where it has come already, the objective decides. An encoder that must predict masked words, and may see wrong ones, brings the topic of its statement to *dry*, and even to the full stop; two examples find it. In a GPT they find it where it predicts with it.
# - An encoder: the block you know without the causal mask, trained on masked tokens.
# - A probe, and controls for it: vectors before any layer, untrained networks, other words, heads switched off, many labels.
#
# **What still fails.** From the mean of a statement's vectors, 64 labels hardly tell whether it turned out *well* (seed 0, tested). That takes training all weights on labels: [side lesson 10c](10c_labels.ipynb), where four kinds of network compete. And an encoder doesn't write from left to right. (Masked diffusion models write with a relative of its objective: Nie et al. 2025.) [Side lesson 10b](10b_reverse.ipynb) adds a decoder, which completes the transformer of 2017.
#
# A series of prices or temperatures is no text. But cut its values into a few hundred bins, and each step is a token. Can a series be text? That is lesson 11.

# %% [markdown]
# # 10 · What does attention learn if it may look both ways?
#
# A GPT reads from left to right, because it has to guess what comes next. If the text is there already, why not look at all of it? The **encoder**, one half of the transformer, does.
#
# **Afterwards you can** write an encoder, train it on masked tokens, ask its vectors what they know, and find the head that brought it there.
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
# An encoder layer is the block of lesson 6 without the causal mask. One detail differs: where GPT-2 normalises what goes *into* attention and the feed-forward network (**pre-norm**), BERT normalises the sums that come out (**post-norm**). (Newer encoders, such as ModernBERT (Warner et al. 2024), are pre-norm again.)

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
# > **Exercise 10.1 (build, 20 minutes).** Write the layer of an encoder: attention with any mask, then the feed-forward network, as drawn on the right. `x` is (B, T, C); `allowed` broadcasts to (B, H, T, T), and `allowed[b, h, t, s]` is True where position t may read position s (what is not allowed gets the weight 0). Use the parts of `block.attention`: its four linear maps, `q`, `k`, `v` and `out`, and its number of heads, `n_head`. The rest is called `block.norm_1`, `block.norm_2` and `block.feed_forward`.
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


def initial_weights(part):  # small, as BERT's are
    if isinstance(part, nn.Linear | nn.Embedding):
        nn.init.normal_(part.weight, std=0.02)
    if isinstance(part, nn.Linear):
        nn.init.zeros_(part.bias)


# %%
class OurEncoder(nn.Module):
    def __init__(self, vocab_size, d=32, n_layer=2, n_head=4, causal=False):
        super().__init__()
        self.embedding, self.positions = nn.Embedding(vocab_size, d), nn.Embedding(24, d)
        self.embedding_norm, self.causal = nn.LayerNorm(d), causal
        self.blocks = nn.ModuleList(parts_of_a_layer(d, n_head) for _ in range(n_layer))
        self.apply(initial_weights)

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
# Does padding matter, if it means nothing? Give *[CLS] we had a dry cake .* eight tokens of it, without any mask, and see how far the vector of *dry* moves in a layer of attention, for five draws of its random weights.

# %%
statement, moved = encode("[CLS] we had a dry cake ."), []
for seed in range(5):
    torch.manual_seed(seed)
    vectors, layer = nn.Embedding(len(ids), 32), MultiHeadAttention(32, 4)
    alone = layer(vectors(statement))[0, 4]  # of dry
    padded = layer(vectors(F.pad(statement, (0, 8))))[0, 4]
    moved.append(100 * ((padded - alone).norm() / alone.norm()).item())
claim(padding_moves_dry_by=np.mean(moved))

# %% [markdown]
# By more than its own length: attention gave weight to eight empty positions. So what an encoder says about a statement would depend on the rest of the batch. A **padding mask** forbids reading them. (`nn.MultiheadAttention` has it as `key_padding_mask`, with True where a token may *not* be read.)

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
# Is the rule needed? Exercise 10.5 tests it. The loss counts the chosen tokens only. Elsewhere the target is −100, which `F.cross_entropy` leaves out.

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
# Now train, on the statements without their labels: four encoders, which differ by their seed, and four GPTs. These are the same network with the causal mask on, at the same learning rate (none was tuned). But they predict *every* next word, so 225 steps give them as many targets as 1,500 give the encoders. (With 1,500 they do worse on new templates: [tested](../tests/test_encoder_lesson.py), as is everything marked *tested* below.)
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


def pretrain(seed, task, steps=1500, causal=False):
    torch.manual_seed(seed)
    encoder = OurEncoder(len(ids), causal=causal)
    model, g = OurModel(encoder, len(ids)).to(device), torch.Generator().manual_seed(seed)
    picks = (tokens[torch.randint(len(tokens), (64,), generator=g)] for _ in range(steps))
    options = {"steps": steps, "schedule": warm_up_cosine(steps), "clip": 1.0}
    batches = (task(x, g) for x in picks)  # the loss is a cross-entropy over all targets
    fit(model, adamw(model, 5e-3, weight_decay=0.01), batches, loss=next_token_loss, **options)
    return model.eval()


# %% tags=["nbval-ignore-output"]
encoders = [pretrain(seed, hide_some) for seed in range(4)]

# %% tags=["nbval-ignore-output"]
gpts = [pretrain(seed, next_words, 225, causal=True) for seed in range(4)]

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
# **Reading both sides pays**, a third of a nat for each word. A GPT can read both sides, too, if it tries each of the 72 words in the blank and asks how probable the whole statement becomes. Then it is better still, 0.64 (tested), but it takes 72 passes. An encoder needs one, and gives a vector for *every* word of the text, each of which has seen both sides. After further training, search and classification work with such vectors.
#
# What did it learn about *dry*? Let the encoder of seed 0 fill in a blank, in a template that it has learned from.


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
# Lesson 6 drew attention weights. Does *dry* give much of its attention to the thing that is dry, the cake or the walk? Take all statements of the new templates in which *dry* stands, and the four heads of the last layer. As a control, take four untrained encoders. And count the things before and after *dry* apart, since a head that always reads the *next* word would find many of them, too.

# %%
from coursekit.layers.attention import attention_weights

things = torch.tensor([ids[one] for words in DOMAINS.values() for one in words[0].split()])


def with_dry(part):  # the texts; 1 for the weather, 0 for the kitchen
    some = [one for one in part if "dry" in one.text.split()]
    topics = torch.tensor([int(one.domain == "weather") for one in some], device=device)
    return [one.text for one in some], topics


@torch.no_grad()
def look(model, x):  # (B, 4 heads, T): what dry reads in the last layer
    part = model.encoder.blocks[-1].attention
    h = model.encoder(x, readable(x), depth=-1)  # all layers but the last
    q, k = (f(h).unflatten(-1, (part.n_head, -1)).transpose(1, 2) for f in (part.q, part.k))
    return attention_weights(q, k, readable(x)).movedim(2, 1)[x == ids["dry"]]


known, new = with_dry(train), with_dry(test)
torch.manual_seed(42)
untrained = [OurModel(OurEncoder(len(ids)), len(ids)).to(device) for _ in range(4)]

# %% tags=["nbval-ignore-output"]
x = our_batch(new[0])
is_thing = torch.isin(x, things.to(device))
at = (x == ids["dry"]).int().argmax(1, keepdim=True)
is_before = torch.arange(x.shape[1], device=device) < at
sides = {"before": is_thing & is_before, "after": is_thing & ~is_before}


def on_thing(model, which):  # a mean weight for each head, where there is such a thing
    return (look(model, x) * which[:, None]).sum(-1)[which.any(1)].mean(0).cpu().numpy()


by_head = np.array([on_thing(one, is_thing) for one in encoders])  # (seeds, heads)
readers = by_head.argmax(1)  # in each encoder, the head that reads things most
for seed, row in enumerate(by_head):
    print(f"seed {seed}, on the thing, by head:", *np.round(row, 2))
for side, which in sides.items():
    of_reader = [on_thing(one, which)[head] for one, head in zip(encoders, readers, strict=True)]
    print(f"{side} dry, untrained: {on_thing(untrained[0], which).max():.2f}")
    claim(**{f"weight_on_thing_{side}": np.mean(of_reader)})

# %% tags=["figure", "folded", "nbval-ignore-output"]
axes = plt.subplots(1, 3, figsize=(9, 3))[1]
texts = {"dry cake": "we had a dry cake today .", "cake dry": "we found the cake dry today ."}
panels = [("untrained", untrained, "dry cake")]
panels += [("trained", encoders, order) for order in texts]
for ax, (name, models, order) in zip(axes, panels, strict=True):
    words = ["[CLS]", *texts[order].split()]
    at, cake = words.index("dry"), words.index("cake")
    weights = look(models[0], our_batch([texts[order]]))[0].cpu().numpy()
    for i, row in enumerate(weights):
        who = [f"head {i + 1}" if k == 2 + i else "" for k in range(8)]
        color = "C1" if i == readers[0] and name == "trained" else "0.7"
        attention_lines(ax, who, words, np.eye(8)[2 + i][:, None] * row, color)
    most = weights[readers[0], cake]
    ax.set_title(f"{name}: {order}\n{most:.2f} on cake")
figure("what-dry-reads", alt="Trained, a thick line from one head of dry to cake, in both orders.")

# %% [markdown]
# Untrained, *dry* reads all words evenly. Trained, the head that reads things most gives them four times as much, before *dry* as well as after it (means of four encoders): **it doesn't look for a place, but for a kind of word.** The picture shows an example from seed 0, with that head in orange.
#
# ## 10.5 What does its vector know?
#
# To read a word isn't yet to use it. Does the vector of *dry* know, after the layers, what its statement is about, the kitchen or the weather? Collect that vector from each statement with *dry*: those of training, and those of the new templates.

# %%
from coursekit.models.bag import fit_logistic


@torch.no_grad()
def vectors_of(word, model, texts, depth=None):  # in each text, at this word
    x = our_batch(texts)
    vectors = model.encoder(x, readable(x), depth)[x == ids[word]]
    return F.pad(vectors, (0, 1), value=1.0)  # a 1 for the bias


v, v_new = (vectors_of("dry", encoders[0], texts) for texts, _ in (known, new))

# %% [markdown]
# Now train a **probe** (Alain and Bengio 2016): a logistic regression (lesson 9) that sees this one vector and nothing else of its statement. The encoder stays as it is. We want to know what is *easy* to read from the vector, so the probe gets only **two** of them, one of each topic. Then it judges the 110 statements of the new templates. Try two such pairs.

# %% tags=["nbval-ignore-output"]
texts, topics = known
for pair in ([0, 3], [130, 113]):  # a kitchen, a weather
    weights = fit_logistic(v[pair], topics[pair], 2, decay=0.01)
    right = (v_new @ weights).argmax(1) == new[1]
    print(f"{right.double().mean():4.0%} right from", *(texts[i] for i in pair), sep="\n     ")

# %% [markdown]
# One pair gives one number, another pair another. So `probe` does this for twenty pairs, drawn at random, and takes the mean, in which both topics count the same (**balanced accuracy**). Chance is 50 %.


# %%
def probe(models, word="dry", depth=None):  # for each model: per cent right
    found = []
    for one in models:
        v, v_new = (vectors_of(word, one, texts, depth) for texts, _ in (known, new))
        for seed in range(20):
            g = torch.Generator().manual_seed(seed)
            order = torch.randperm(len(v), generator=g).tolist()
            pair = [next(i for i in order if known[1][i] == topic) for topic in (0, 1)]
            weights = fit_logistic(v[pair], known[1][pair], 2, decay=0.01)
            right = ((v_new @ weights).argmax(1) == new[1]).double()
            found += [right[new[1] == topic].mean().item() for topic in (0, 1)]
    return 100 * np.reshape(found, (len(models), -1)).mean(1)


# %% [markdown]
# **Predict.** Before any layer, *dry* is a row of a table and a position: 50 %. After one layer it is 55 %. And after both, on average?

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
ax = plt.subplots(figsize=(7.6, 4.2))[1]
for k, (name, right) in enumerate(rows.items()):
    ax.barh(name, right.mean() - 50, 0.86, left=50, color="C1", alpha=0.35)
    for seed, one in enumerate(right):
        ax.text(one, k - 0.26 + 0.17 * seed, seed, ha="center", va="center", fontsize=10)
ax.axvline(50, color="0.3", linewidth=1)
ax.set(xlim=(44, 102), ylim=(4.5, -0.5), title="Two examples find the topic after the second layer")
ax.set_xlabel("right (%), chance is 50; bars: means, digits: seeds")
figure("probe", alt="Near 50 before any layer and untrained, 55 after one; 91 to 98 after both.")

# %% [markdown]
# **An embedding can't tell; after two layers a probe that knows two examples is right 96 % of the time.** Such a vector, a different one in each context, is called a **contextual embedding**.
#
# One layer could be enough, as 10.1 shows, but these encoders use both. (After the first, a probe needs 100 examples to be right 80 % of the time. Before any layer, and in untrained ones, 100 don't help: tested.)
#
# Is it the topic of *dry*? The probe is right at the full stop, too, four times out of five, and a full stop has no topic of its own. So what it finds may well be the topic of the whole *statement*, at each of its words. (Counting words finds the topic of a statement nearly as often, without any network: see 10d.)
#
# ## 10.6 Switch the head off
#
# A head reads the thing, and the vector knows the topic. Is the one the cause of the other? Switch a head off and see what is lost: an **ablation**. (Zero takes the place of its output; its mean gives nearly the same: tested.)

# %% [markdown] tags=["exercise"]
# > **Exercise 10.4 (build, 10 minutes).** Write `without_head(attention, head)`: a copy of the attention whose output misses what this head, counted from 0, brings. Leave the one you were given as it is. `attention.out.weight`, of the shape (C, C), multiplies the outputs of all `attention.n_head` heads, side by side as you put them in exercise 10.1.
# >
# > <details><summary>Hint 1</summary><code>deepcopy</code> makes the copy; its <code>out.weight.data</code> may be written to. Each head has C / n_head channels. Are they rows or columns of the weight?</details>
# > <details><summary>Hint 2</summary>A linear layer computes <code>x @ weight.T</code>: its <em>columns</em> belong to the inputs.</details>


# %% tags=["stub"]
def without_head(attention, head): ...  # -> a copy of the attention


# %% tags=["check"]
exercises.check_without_head(without_head)


# %% tags=["solution"]
def without_head(attention, head):
    rest = deepcopy(attention)
    rest.out.weight.data.unflatten(1, (rest.n_head, -1))[:, head] = 0
    return rest


# %% [markdown]
# **Predict.** Switch off one of the four heads of layer 2, and train new probes. In how many of the four encoders is the head that is missed most the one that reads the thing most?

# %% tags=["predict"]
guess = None  # 0 to 4

# %% tags=["nbval-ignore-output"]
from coursekit.inside.ablation import switch_off_head

switch_off = answer_or(without_head, switch_off_head)  # the library's


def blind(model, heads):  # without these heads of the last layer
    rest = deepcopy(model)
    for head in heads:
        rest.encoder.blocks[-1].attention = switch_off(rest.encoder.blocks[-1].attention, head)
    return rest


whole = rows["after both layers"]
cut = [probe([blind(model, [head]) for head in range(4)]) for model in encoders]
lost = whole[:, None] - np.array(cut)  # (seeds, heads)
same = (lost.argmax(1) == readers).sum()
compare_guess(guess, same)
of_readers = lost[range(4), readers].mean()
of_others = (lost.sum() - 4 * of_readers) / 12
claim(readers_missed_most=same, a_reader_costs_more_by=of_readers - of_others)
claim(right_without_all_heads=probe([blind(model, range(4)) for model in encoders]).mean())

# %% tags=["figure", "folded", "nbval-ignore-output"]
axes = plt.subplots(1, 4, figsize=(9, 3.2), sharey=True)[1]
for seed, ax in enumerate(axes):
    colors = ["C1" if head == readers[seed] else "0.7" for head in range(4)]
    names = [f"{head + 1}\n{by_head[seed, head]:.2f}" for head in range(4)]
    ax.bar(names, lost[seed], color=colors)
    ax.set(title=f"seed {seed}", xlabel="head, weight on thing")
    ax.grid(axis="x", visible=False)
axes[0].set_ylabel("points lost")
axes[0].text(1.4, 24, "reads\nmost", color="C1", ha="right")
axes[0].figure.suptitle("The head that reads the thing most is the one that is missed")
figure("heads", alt="Without the head that reads the thing 31, 19, 19 and 10 points are lost.")

# %% [markdown]
# In all four it is. (In four more seeds, too.) And without all four heads little is left, 55 %: **attention brings the topic to *dry*.** But a weight is a hint and no proof (Jain and Wallace 2019). In seed 3 the first head gives the thing 0.41 and isn't missed at all: in the last layer heads don't read words, but vectors that layer 1 has mixed already (Abnar and Zuidema 2020). To know what a part does, switch it off (heads: Michel, Levy and Neubig 2019).

# %% [markdown] tags=["exercise"]
# > **Exercise 10.5 (investigate, 20 minutes).** Does an encoder need the 10 % of random words and the 10 % that stay? Write tasks like `hide_some` with other rules, train with them (40 seconds for four seeds), and complete the table with means and standard errors over the seeds. Which rows differ by more than three standard errors of their difference?
# >
# > <details><summary>Hint</summary><code>hide(x, draw, kind, word)</code> looks at <code>kind</code> to decide. Give it 0.0, 0.85 or 0.95 wherever <code>kind</code> is what you don't want: <code>kind.where(kind &lt; 0.8, 0.85)</code>. Then <code>probe([pretrain(seed, my_task) for seed in range(4)])</code>.</details>
#
# |of the chosen words|right at *dry*, %|
# |---|---|
# |80 % masked, 10 % random, 10 % stay|95.6 ± 1.5|
# |all masked||
# |80 % masked, 20 % random||
# |80 % masked, 20 % stay||
#
# > <details><summary>What we found</summary>95.6 ± 1.5, 90.7 ± 2.3, 66.1 ± 8.2 and 78.2 ± 7.6: only the first and the third differ by more than three, the second and the third by 2.9. So BERT's reason for the rule, that later the encoder reads text without masks, doesn't show here: with masks alone it knows the topic about as well. And that isn't the last word. With larger initial weights (standard deviation 1 for the words, 0.2 for the positions, and PyTorch's own for the rest) we found 87 ± 3, 59 ± 4, 79 ± 4 and 67 ± 6, and masks alone came last (tested). Four seeds and one way to start decide little. (For large models Wettig et al. 2023 take the rule up again.)</details>

# %% [markdown]
# ## What you now have
#
# - **What does attention learn if it may look both ways?** To find, on either side, the word that decides. One *dry* becomes two: before any layer its vector can't tell cake from walk, after two layers it can. Switch off the head that reads the thing, and much of that is gone.
# - An encoder: the block you know without the causal mask, with a padding mask, trained on masked tokens.
# - A probe, and controls for it: vectors before any layer, untrained networks, another word, heads switched off.
#
# **What still fails.**
#
# - In *the cake would be dry* the cake comes *before* *dry*, so that a GPT's *dry* can know the topic. A probe says that it hardly does. Why? [Side lesson 10d](10d_objective.ipynb).
# - An encoder doesn't write from left to right. [Side lesson 10b](10b_reverse.ipynb) adds a decoder, which completes the transformer of 2017. (Masked diffusion models write with a relative of this lesson's objective: Nie et al. 2025.)
# - Whether things turned out *well*, the labels of 10.1, its vectors hardly say (tested). [Side lesson 10c](10c_labels.ipynb) trains all weights on them.
#
# A series of prices or temperatures is no text. But cut its values into a few hundred bins, and each step is a token. Can a series be text? That is lesson 11.

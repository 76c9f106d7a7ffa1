# %% [markdown]
# # 10 · What does attention learn if it may look both ways?
#
# A GPT reads from left to right, because it has to guess what comes next. If the text is there already, why not look at all of it? The **encoder**, one half of the transformer, does.
#
# **Afterwards you can** write an encoder, train it on masked tokens, ask its vectors what they know, and find out which words that came from.
#
# **Before**: lessons 6 (attention, heads, the block, a GPT you wrote), 2 and 2b (training, standard errors) and 9 (logistic regression).
#
# **Runs in** {runs_in}. **Study time** {study}.
#
# **Sources**: the encoder comes from Vaswani et al. (2017). Learned positions and the GELU are as in BERT (Devlin et al. 2019), where masked tokens and the rule of 15, 80, 10 and 10 per cent come from. All statements here were written for this course.

# %% tags=["setup", "machine"]
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
# We use a text small enough to train on in a minute: statements about trains, kitchens, deliveries and the weather. Each is made from a **template**: `{s}` is the thing, `{x}` how it was, `{o}` the opposite, `{w}` who, `{t}` when, and `{r}` what people did. No template appears in more than one of training (2,176 statements), validation (512) and test (896), but they share their parts: what is new is the combination.

# %%
train, validation, test = statements()
ids = number_words([one.text for one in train])
for things, good, bad in DOMAINS.values():
    print(f"{things:22} good: {good:24} bad: {bad}")
for one in (train[3], train[1000], test[500], test[-1]):
    print(f"{one.text:68}", one.template)

# %% [markdown]
# An embedding can't tell a cake's *dry* from a walk's. Attention mixes the vectors of other words into that of *dry*, so it could. In 10.5 we ask the vector of *dry* which of the two it is about, food or the weather: its topic. (One is bad and the other good, so that which *dry* it is says that, too.)
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
# An encoder layer is the block of lesson 6 without the causal mask. One detail differs: where GPT-2 normalises what goes *into* attention and the feed-forward network (**pre-norm**), BERT normalises the sums that come out (**post-norm**). (Newer encoders, such as ModernBERT (Warner et al. 2024), are pre-norm.)

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
# The encoder is a stack of these. Before the first, each token gets the sum of two vectors, one for the word and one for its position, normalised. (Without a causal mask attention can't tell order at all: leave out the positions, shuffle the words, and each vector stays the same, [tested](../tests/test_encoder.py).) Ours is small, 32 channels and two layers, so that it trains in seconds. (`causal` puts the mask of lesson 6 back on; `depth` stops after that many layers, to look inside.)

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
# By more than its own length, on average: attention gave weight to eight empty positions. So what an encoder says about a statement would depend on the rest of the batch. A **padding mask** forbids reading them. (`nn.MultiheadAttention` has it as `key_padding_mask`, with True where a token may *not* be read.)

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
# With these two pieces and a linear layer on top the model is whole. The library's is [models/encoder.py](../coursekit/models/encoder.py); its tests hold it to Hugging Face's `BertModel`, and `from_bert` in [bert.py](../coursekit/bert.py) takes BERT's own weights, if you have downloaded them.

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
# The loss counts the chosen tokens only. Elsewhere the target is −100, which `F.cross_entropy` leaves out. An example, with three chosen:
#
# |tokens|[CLS]|we|had|a|dry|cake|today|.|
# |---|---|---|---|---|---|---|---|---|
# |**inputs**|[CLS]|we|**[MASK]**|a|dry|**bus**|**today**|.|
# |**targets**|−100|−100|had|−100|−100|cake|today|−100|
#
# Is the rule needed? Exercise 10.5 tests it.

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
# Now train, on the statements without their labels: four encoders, which differ by their seed, and four GPTs. These are the same network with the causal mask on, at the same learning rate (none was tuned). But they predict *every* next word, so 225 steps give them as many targets as 1,500 give the encoders. (With 1,500 they do worse on new templates: [tested](../tests/test_encoder_lesson.py), as are other results in this text that no cell prints.)
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
# **Reading both sides pays**, a third of a nat for each word. With two more rows:
#
# |reads|trained on|passes|loss|
# |---|---|---|---|
# |what stands before|next words|1|1.49|
# |what stands before|masked words|1|1.6|
# |both sides|masked words|1|1.17|
# |both sides: tries each of 72 words in the blank|next words|72|0.64|
#
# In the last row a GPT asks how probable the whole statement becomes with each word. As a guesser it wins, at 72 times the cost. What we want is something else: in one pass an encoder gives a vector for *every* word of a text, each of which has seen both sides. After further training, search and classification work with such vectors.
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
# **Your turn.** Hide other words, one statement per line.


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
# Lesson 6 drew attention weights. Here are those of *dry*, in the four heads of the last layer, for two orders of the words: a head that always reads the *next* word would find *cake* in one of them only.


# %%
from coursekit.layers.attention import attention_weights


@torch.no_grad()
def look(model, x):  # what dry reads in the last layer: (statements, heads, words)
    part = model.encoder.blocks[-1].attention
    h = model.encoder(x, readable(x), depth=-1)  # (B, T, C), after all layers but the last
    q, k = (f(h).unflatten(-1, (part.n_head, -1)).transpose(1, 2) for f in (part.q, part.k))
    weights = attention_weights(q, k, readable(x))  # (B, heads, T, T)
    is_dry = x == ids["dry"]  # one in each statement
    return weights.transpose(1, 2)[is_dry]


def as_pytorch_starts(part):  # larger weights than BERT's: attention isn't all even
    if isinstance(part, nn.Linear | nn.Embedding):
        part.reset_parameters()


torch.manual_seed(42)
untrained = [OurModel(OurEncoder(len(ids)), len(ids)) for _ in range(4)]
untrained = [one.apply(as_pytorch_starts).to(device) for one in untrained]

# %% tags=["figure", "folded", "nbval-ignore-output"]
axes = plt.subplots(1, 3, figsize=(9, 3))[1]
texts = {"dry cake": "we had a dry cake today .", "cake dry": "we found the cake dry today ."}
panels = [("untrained", untrained, "dry cake")]
panels += [("trained", encoders, order) for order in texts]
for ax, (name, models, order) in zip(axes, panels, strict=True):
    words = ["[CLS]", *texts[order].split()]
    at, cake = words.index("dry"), words.index("cake")
    weights = look(models[0], our_batch([texts[order]]))[0].cpu().numpy()
    best = weights[:, cake].argmax()
    for i, row in enumerate(weights):
        who = [f"head {i + 1}" if k == 2 + i else "" for k in range(8)]
        color = "C1" if i == best else "0.7"
        attention_lines(ax, who, words, np.eye(8)[2 + i][:, None] * row, color)
    ax.set_title(f"{name}: {order}\n{weights[best, cake]:.2f} on cake")
figure("what-dry-reads", alt="Trained, a thick line from one head of dry to cake, in both orders.")

# %% [markdown]
# One encoder, one sentence. Is it so in others? Take all statements with *dry*. In each encoder, choose the head that reads things (cakes, walks, …) most in training. How much weight does it give, in the new templates, to a word beside *dry*, if that is a thing, and if it isn't?

# %%
things = torch.tensor([ids[one] for words in DOMAINS.values() for one in words[0].split()])


def with_dry(part):  # the texts; 1 for the weather, 0 for the kitchen
    some = [one for one in part if "dry" in one.text.split()]
    topics = torch.tensor([int(one.domain == "weather") for one in some], device=device)
    return [one.text for one in some], topics


def beside(model, texts):  # by head: the mean weight of a thing beside dry, of another word
    x = our_batch(texts)
    at = (x == ids["dry"]).int().argmax(1, keepdim=True)
    is_beside = (torch.arange(x.shape[1], device=device) - at).abs() == 1
    is_thing = torch.isin(x, things.to(device))
    weights = look(model, x).transpose(1, 2)  # (statements, words, heads)
    return [weights[is_beside & which].mean(0).cpu() for which in (is_thing, ~is_thing)]


known, new = with_dry(train), with_dry(test)

# %% tags=["nbval-ignore-output"]
seen = {}
for name, models in {"untrained": untrained, "trained": encoders}.items():
    heads = [beside(one, known[0])[0].argmax() for one in models]
    both = [beside(one, new[0]) for one in models]
    seen[name] = np.array([[a[i], b[i]] for (a, b), i in zip(both, heads, strict=True)])
    print(f"{name:9} a thing {seen[name][:, 0].round(2)}, another {seen[name][:, 1].round(2)}")
of_thing, of_another = seen["trained"].mean(0)
claim(weight_on_a_thing=of_thing, thing_over_another=of_thing / of_another)

# %% [markdown]
# Untrained, it hardly makes a difference. Trained, a thing beside *dry* gets six times as much as another word there, by seed three to seventeen times: the head doesn't just look to its side, **it looks for the cake**.
#
# ## 10.5 One *dry* becomes two
#
# To read a word isn't yet to use it. Collect the vector of *dry* from each of these statements, and draw those of the new templates as points, in the plane in which they spread most (their two principal components). Nobody has told the encoder about topics; the colours are ours. (Seed 0, the clearest of the four. Before any layer there is one dot for each place of *dry* in a statement.)

# %%
from coursekit.models.bag import fit_logistic


@torch.no_grad()
def vectors_of(word, model, texts, depth=None):  # in each text, at this word
    x = our_batch(texts)
    vectors = model.encoder(x, readable(x), depth)[x == ids[word]]
    return F.pad(vectors, (0, 1), value=1.0)  # a 1 for the bias of the probe


def plane(vectors):  # onto the two principal components
    centred = vectors - vectors.mean(0)
    return (centred @ torch.linalg.svd(centred, full_matrices=False).Vh[:2].T).cpu()


# %% tags=["figure", "folded", "nbval-ignore-output"]
axes = plt.subplots(1, 3, figsize=(9, 3.3))[1]
for depth, ax in enumerate(axes):
    points = plane(vectors_of("dry", encoders[0], new[0], depth))
    for topic, (name, color) in enumerate({"kitchen": "C1", "weather": "C0"}.items()):
        some = points[new[1].cpu() == topic]
        ax.scatter(*some.T, color=color, alpha=0.7, s=(16, 60)[topic], zorder=2 - topic)
        if depth == 2:
            ax.text(*some.mean(0), name, ha="center", color=color, fontweight="bold")
    ax.set_title(("before any layer", "after one layer", "after both layers")[depth])
    ax.set(xticks=[], yticks=[])
axes[0].figure.suptitle("One dry becomes two")
figure("two-clouds", alt="Both topics at each point before any layer; after both, two clouds.")

# %% [markdown]
# Two clouds. How clearly apart, and in all four encoders? Train a **probe** (Alain and Bengio 2016): a logistic regression (lesson 9) that sees this one vector and nothing else of its statement. The encoder stays as it is. We want to know what is *easy* to read, so the probe learns from **two** vectors only, one of each topic, and judges the 110 of the new templates. We take the mean over twenty such pairs, in which both topics count the same (**balanced accuracy**): chance is 50 %.


# %%
def probe(models, word="dry", judged=new, **how):  # for each model: per cent right
    found = []
    for one in models:
        v, v_new = (vectors_of(word, one, part[0], **how) for part in (known, judged))
        for seed in range(20):
            g = torch.Generator().manual_seed(seed)
            order = torch.randperm(len(v), generator=g).tolist()
            pair = [next(i for i in order if known[1][i] == topic) for topic in (0, 1)]
            weights = fit_logistic(v[pair], known[1][pair], 2, decay=0.01)
            right = ((v_new @ weights).argmax(1) == judged[1]).double()
            found += [right[judged[1] == topic].mean().item() for topic in (0, 1)]
    return 100 * np.reshape(found, (len(models), -1)).mean(1)


# %% [markdown]
# **Predict.** After both layers it is right 96 % of the time. And a probe of the *full stop* of the same statements? A full stop has no topic of its own.

# %% tags=["predict"]
guess = None  # per cent

# %% tags=["nbval-ignore-output"]
depths = ("before any layer", "after one layer", "after both layers")
rows = {name: probe(encoders, depth=k) for k, name in enumerate(depths)}
rows["untrained"] = probe(untrained)
rows["the full stop"] = probe(encoders, word=".")
table_row, one_layer, both, no_training, full_stop = (one.mean() for one in rows.values())
compare_guess(guess, full_stop)
claim(probe_before_any_layer=table_row, probe_after_one=one_layer, probe_after_both=both)
claim(probe_untrained=no_training, probe_of_the_full_stop=full_stop)

# %% tags=["figure", "folded", "nbval-ignore-output"]
ax = plt.subplots(figsize=(7.6, 4.2))[1]
for k, (name, right) in enumerate(rows.items()):
    ax.barh(name, right.mean() - 50, 0.86, left=50, color="C1", alpha=0.35)
    ax.plot(right, k + np.linspace(-0.24, 0.24, 4), "o", color="C1")
ax.axvline(50, color="0.3", linewidth=1)
ax.set(xlim=(44, 102), ylim=(4.5, -0.5), title="Two examples find the topic after the second layer")
ax.set_xlabel("right (%), chance is 50; bars: means, dots: seeds")
figure("probe", alt="Near 50 before any layer and untrained, 55 after one; 91 to 98 after both.")

# %% [markdown]
# **An embedding can't tell; after two layers a probe that knows two examples is right 96 % of the time.** Such a vector, a different one in each context, is called a **contextual embedding**.
#
# From two examples it takes both layers. From 100, a probe is right 80 % of the time after one layer already, but 65 % in untrained encoders, too: from many examples a probe learns something by itself. That is why we gave it two.
#
# At the full stop, too, the probe is right four times out of five, though a full stop has no topic of its own. So what it finds is the topic of the *statement*, which the encoder has brought to *dry*, and to the full stop, too. (To find it in the statement takes no network: a count of which words occur together, latent semantic analysis, has it in 88 % of cases. But it has no vector for each word.)
#
# ## 10.6 Forbid it to read
#
# *Dry* reads the thing, and its vector knows the topic. Does one cause the other? Forbid *dry* to read things, in both layers, and see what is lost: an **ablation** (of this kind, an attention knockout: Geva et al. 2023).

# %% [markdown] tags=["exercise"]
# > **Exercise 10.4 (build, 10 minutes).** Write `forbid(allowed, who, what)`. `allowed` is a mask of the shape (B, 1, 1, T), as your padding mask, or (B, 1, T, T); `who` and `what` are (B, T), True for some words. Return a mask (B, 1, T, T) that stops each `who` from reading each `what`, also itself if it is both, and otherwise allows what `allowed` does.
# >
# > <details><summary>Hint</summary>The second-to-last axis is who reads, the last what is read. Forbidden is where <em>both</em> are True.</details>


# %% tags=["stub"]
def forbid(allowed, who, what): ...  # -> (B, 1, T, T), bool


# %% tags=["check"]
exercises.check_forbid(forbid)


# %% tags=["solution"]
def forbid(allowed, who, what):
    return allowed & ~(who[:, None, :, None] & what[:, None, None])


# %% [markdown]
# Could the topic come from other words? From other adjectives, such as *fresh* in *we expected a dry cake but the cake was fresh*: 39 of the 110 statements have none, so we judge these apart. Or from all the rest, *we*, *had*, *[CLS]*. Each time the encoders stay as they are, and new probes are trained.


# %%
def vectors_of(word, model, texts, depth=None, forbidden=None):
    x = our_batch(texts)
    allowed, at = readable(x), x == ids[word]
    if forbidden is not None:  # new
        allowed = forbid_it(allowed, at, torch.isin(x, forbidden.to(device)))  # new
    with torch.no_grad():
        vectors = model.encoder(x, allowed, depth)[at]
    return F.pad(vectors, (0, 1), value=1.0)


# %%
from coursekit.layers.attention import forbid_reading

forbid_it = answer_or(forbid, forbid_reading)  # the library's
words = {one for _, *two in DOMAINS.values() for one in " ".join(two).split()} - {"dry"}
things_adjectives = torch.cat([things, torch.tensor([ids[word] for word in sorted(words)])])
rest = torch.tensor(sorted(set(ids.values()) - {*things_adjectives.tolist(), ids["dry"]}))
has = torch.tensor([bool(words & set(text.split())) for text in new[0]], device=device)
groups = {}
for name, which in {"no other adjective": ~has, "another adjective": has}.items():
    groups[name] = [new[0][i] for i in which.nonzero()], new[1][which]
print(*(f"{len(group[0])} with {name}" for name, group in groups.items()))

# %% [markdown]
# **Predict.** In statements with no other adjective the probe is right 92 % of the time. And if *dry* may not read things?

# %% tags=["predict"]
guess = None  # per cent

# %% tags=["nbval-ignore-output"]
forbidden = {"nothing": None, "all the rest": rest}
forbidden |= {"things": things, "things, adjectives": things_adjectives}
left = {}  # by group and by what is forbidden: a number for each seed
for name, group in groups.items():
    for what, which in forbidden.items():
        left[name, what] = probe(encoders, judged=group, forbidden=which)
alone, other = ({what: left[name, what].mean() for what in forbidden} for name in groups)
compare_guess(guess, alone["things"])
claim(alone=alone["nothing"], alone_without_things=alone["things"])
claim(other_without_things=other["things"], without_both=other["things, adjectives"])

# %% tags=["figure", "folded", "nbval-ignore-output"]
axes = plt.subplots(1, 2, figsize=(9, 3.9), sharex=True, sharey=True)[1]
for ax, (name, group) in zip(axes, groups.items(), strict=True):
    for k, what in enumerate(forbidden):
        right = left[name, what]
        ax.barh(what, right.mean() - 50, 0.86, left=50, color="C1", alpha=0.35)
        ax.plot(right, k + np.linspace(-0.24, 0.24, 4), "o", color="C1")
    ax.axvline(50, color="0.3", linewidth=1)
    ax.set(title=f"{len(group[0])} with {name}", xlim=(44, 102), ylim=(3.5, -0.5))
    ax.set_xlabel("right (%), chance is 50")
axes[0].set_ylabel("dry may not read")
axes[0].figure.suptitle("Without the thing, only another adjective helps")
figure("forbidden", alt="No other adjective: 92, 83, 52, 51. Another: 97, 91, 71, 54.")

# %% [markdown]
# **Where no other adjective tells, *dry* gets its topic from the thing: forbid that, and it is a coin toss, 52 %.** Where there is another adjective, 71 % are left, and 54 if that is forbidden, too. And the other way round: if *dry* may read nothing but things and adjectives, the probe is still right in 83 and 91 %.
#
# Attention weights alone couldn't have told this. They are a hint and no proof (Jain and Wallace 2019), for in the last layer heads read vectors that layer 1 has mixed already (Abnar and Zuidema 2020). **To know what it has read, forbid it.** (All this is for two examples. From 100 a probe is right 72 % of the time even if things and adjectives are forbidden, so something comes by way of other words.)

# %% [markdown] tags=["exercise"]
# > **Exercise 10.5 (investigate, 20 minutes; optional, and four seeds may not be enough to tell).** Does an encoder need the 10 % of random words and the 10 % that stay? Write tasks like `hide_some` with other rules, train with them (40 seconds for four seeds), and complete the table with means and standard errors over the seeds. Which rows differ by more than three standard errors of their difference?
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
# > <details><summary>What we found</summary>95.6 ± 1.5, 90.7 ± 2.3, 66.1 ± 8.2 and 78.2 ± 7.6: only the first and the third differ by more than three, the second and the third by 2.9. So BERT's reason for the rule, that later the encoder reads text without masks, doesn't show here: with masks alone it knows the topic about as well. And that isn't the last word. With larger initial weights (standard deviation 1 for the words, 0.2 for the positions, and PyTorch's own for the rest) we found 87 ± 3, 59 ± 4, 79 ± 4 and 67 ± 6, and masks alone came last. Four seeds and one way to start decide little. (For large models Wettig et al. 2023 take the rule up again.)</details>

# %% [markdown]
# ## What you now have
#
# - **What does attention learn if it may look both ways?** To find, on either side, the word that decides. One *dry* becomes two: before any layer its vector can't tell cake from walk, after two layers it can, and where no other adjective tells, two examples no longer find it if *dry* may not read the thing.
# - An encoder: the block you know without the causal mask, with a padding mask, trained on masked tokens.
# - A probe, and controls for it: vectors before any layer, untrained networks, another word, words that may not be read.
#
# **What still fails.**
#
# - In *a dry cake* a GPT's *dry* can't know the topic. In *the cake would be dry* the cake comes first. Does it know then? [Side lesson 10d](10d_objective.ipynb).
# - An encoder doesn't write from left to right. [Side lesson 10b](10b_reverse.ipynb) adds a decoder, which completes the transformer of 2017. (Masked diffusion models write with a relative of this lesson's objective: Nie et al. 2025.)
# - Whether things turned out *well*, its vectors hardly say. [Side lesson 10c](10c_labels.ipynb) trains all weights on that.
#
# A series of prices or temperatures is no text. But cut its values into a few hundred bins, and each step is a token. Can a series be text? That is lesson 11.

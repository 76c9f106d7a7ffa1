# %% [markdown]
# # 10 · What does attention learn if it may look both ways?
#
# A GPT reads from left to right, because it has to guess what comes next. If the text is there already, why not look at all of it? The encoder does, one half of the transformer.
#
# **Afterwards you can** write an encoder, train it on masked tokens and on labels, and find out with controls what it has learned.
#
# **Before**: lessons 6 (attention, heads, the block, a GPT you wrote), 2 and 2b (training, standard errors) and 9 (logistic regression).
#
# **Runs in** {runs_in}. **Study time** {study}.
#
# **Sources**: the encoder is that of Vaswani et al. (2017); BERT, masked tokens and the rule of 15, 80, 10 and 10 per cent are by Devlin et al. (2019). All statements here were written for this course.

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
# *Dry* is bad for a cake and good for a walk. An embedding can't tell. Attention mixes the vectors of other words into that of *dry*, so it could.
#
# **Predict.** One layer of attention with random weights reads *we had a dry cake* and *we had a dry walk*. How far apart are the two vectors of *dry* if the attention is causal, as in a GPT? (`encode` turns words into their numbers. The library's `attend_past` is causal attention; `attend` reads everything.)

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
cake_words = ["we", "had", "a", "dry", "cake"]
axes = plt.subplots(1, 2, figsize=(6.4, 3.5), sharey=True)[1]
for ax, allowed in zip(axes, (np.tril(np.ones((5, 5))), np.ones((5, 5))), strict=True):
    ax.imshow(allowed, cmap="Blues", vmin=0, vmax=1.6)
    ax.plot([4], [3], "o", markersize=22, markerfacecolor="none", color="C1", markeredgewidth=3)
    ax.set(xticks=range(5), xticklabels=cake_words, yticks=range(5), yticklabels=cake_words)
    ax.grid(visible=False)
axes[0].set(title="A GPT: dry can't see cake", ylabel="reads", xlabel="is read (blue: allowed)")
axes[1].set(title="An encoder: it can", xlabel="is read (blue: allowed)")
figure("who-reads-whom", alt="Left: a lower triangle is allowed. Right: everything is.")

# %% [markdown]
# Exactly zero: the word that decides comes later; without the mask, they differ. To predict the next word, the mask of lesson 6 is needed, or the answer would be in the input; for understanding a word it gets in the way. Attention without it is called **bidirectional**, a stack of such layers an **encoder**.
#
# ## 10.2 The layer, and texts of different lengths

# %% [markdown] tags=["exercise"]
# > **Exercise 10.1 (build, 10 minutes).** Write attention that takes any mask, from memory: `q`, `k` and `v` have the shape (B, H, T, D), `allowed` broadcasts to (B, H, T, T), and `allowed[b, h, t, s]` is True where position t may read position s. What is not allowed gets the weight 0.
# >
# > <details><summary>Hint</summary>Which score becomes a weight of exactly 0 in the softmax? And along which axis must the weights sum to 1?</details>


# %% tags=["stub"]
def our_attention(q, k, v, allowed): ...  # -> (B, H, T, D)


# %% tags=["check"]
exercises.check_our_attention(our_attention)


# %% tags=["solution"]
def our_attention(q, k, v, allowed):
    scores = (q @ k.mT / q.shape[-1] ** 0.5).masked_fill(~allowed, -torch.inf)
    return scores.softmax(-1) @ v


# %% [markdown]
# An encoder layer is the block of lesson 6 with your attention. One thing is older: where GPT-2 normalises what goes *into* attention and the feed-forward network, BERT normalises the sums that come out (**post-norm**).
#
# Before the first layer, each token gets the sum of two vectors, one for the word and one for its position, normalised. (`causal` puts the mask of lesson 6 back on; `depth` stops after so many layers, to look inside.)

# %%
mix = answer_or(our_attention, attend)  # the library's until yours is there


class OurLayer(nn.Module):
    def __init__(self, d, n_head):
        super().__init__()
        self.n_head = n_head
        self.attention = nn.ModuleDict({name: nn.Linear(d, d) for name in ("q", "k", "v", "out")})
        self.norm_1, self.norm_2 = (nn.LayerNorm(d, eps=1e-12) for _ in range(2))  # as BERT
        expand, back = nn.Linear(d, 4 * d), nn.Linear(4 * d, d)
        self.feed_forward = nn.ModuleDict({"expand": expand, "out": back})

    def forward(self, x, allowed):
        q, k, v = (self.attention[n](x).unflatten(-1, (self.n_head, -1)) for n in ("q", "k", "v"))
        mixed = mix(*(part.transpose(1, 2) for part in (q, k, v)), allowed)
        x = self.norm_1(x + self.attention["out"](mixed.transpose(1, 2).flatten(-2)))
        return self.norm_2(x + self.feed_forward["out"](F.gelu(self.feed_forward["expand"](x))))


# %%
class OurEncoder(nn.Module):
    def __init__(self, vocab_size, d=32, n_layer=2, n_head=4, causal=False):
        super().__init__()
        self.embedding, self.positions = nn.Embedding(vocab_size, d), nn.Embedding(24, d)
        nn.init.normal_(self.positions.weight, std=0.2)
        self.embedding_norm, self.causal = nn.LayerNorm(d, eps=1e-12), causal
        self.blocks = nn.ModuleList(OurLayer(d, n_head) for _ in range(n_layer))

    def forward(self, tokens, allowed, depth=None):
        steps = torch.arange(tokens.shape[1], device=tokens.device)
        allowed = allowed & (steps <= steps[:, None]) if self.causal else allowed
        x = self.embedding_norm(self.embedding(tokens) + self.positions(steps))
        for block in self.blocks[:depth]:
            x = block(x, allowed)
        return x


# %% [markdown]
# A batch is a rectangle, and statements are not equally long. So the short ones are filled up with a token that means nothing, **padding**, number 0. (And position 0 gets the token `[CLS]`, as in BERT.)
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
# > **Exercise 10.2 (warm-up, 5 minutes).** Write `padding_mask(tokens)`: True where a token may be read, because it is not padding. `tokens` has the shape (B, T), the mask (B, 1, 1, T): one row for all heads and all queries, the last axis is what is read. Attention needs it to be of the type `torch.bool`.
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
# With these two pieces and a linear layer on top the model is whole. (This layer is called a **head**, too.) The library's is [models/encoder.py](../coursekit/models/encoder.py); its tests hold it to Hugging Face's `BertModel`.

# %%
readable = answer_or(padding_mask, lambda tokens: allow_present(tokens > 0))  # the library's


class OurModel(nn.Module):
    def __init__(self, encoder, n_out):
        super().__init__()
        self.encoder, self.head = encoder, nn.Linear(32, n_out)

    def forward(self, tokens):
        return self.head(self.encoder(tokens, readable(tokens)))


def our_batch(texts):
    rows = [encode(f"[CLS] {text}")[0] for text in texts]
    return nn.utils.rnn.pad_sequence(rows, batch_first=True).to(device)  # padding is 0


# %% tags=["figure", "folded"]
five = [one.text for one in (train[3], train[64], train[200], train[700], train[1900])]
allowed = readable(our_batch(five))[:, 0, 0].cpu()
ax = plt.subplots(figsize=(7.8, 2.3))[1]
ax.imshow(allowed, "Blues", vmin=0, vmax=2.5, aspect="auto")
for row, text in enumerate(five):
    for column, word in enumerate(["[CLS]", *text.split()]):
        ax.text(column, row, word, ha="center", va="center", fontsize=8)
ax.set(xticks=[], yticks=[], title="A batch of five statements: blue may be read, white is padding")
ax.grid(visible=False)
figure("padding", alt="Five statements as rows of words; the short ones end in white cells.")

# %% [markdown]
# ## 10.3 Learning from masked tokens
#
# A GPT trains on any text, because the next word is the label. An encoder sees the next word. So hide some words and have the model predict them: **masked language modelling**. BERT chooses 15 % of the tokens. If all of these became `[MASK]`, the encoder would train on no text without it, and later read none with it. So, of the chosen ones,
#
# - 80 % become `[MASK]`,
# - 10 % become a random word,
# - 10 % stay as they are.
#
# The loss counts the chosen tokens only. Elsewhere the target is −100, which `F.cross_entropy` leaves out.

# %% [markdown] tags=["exercise"]
# > **Exercise 10.3 (build, 20 minutes).** Write that rule. `draw` says which tokens are chosen (below 0.15), `kind` what happens to them (below 0.8, below 0.9, or else), `word` is the random word. Numbers below 4 are no words (`[PAD]`, `[CLS]`, `[SEP]`, which BERT puts between two texts, and `[MASK]`, which is 3) and are never chosen. Return `{"inputs": …, "targets": …}`.
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
# Now train, on the statements without their labels: three encoders, with three seeds, and three rivals of the same size, for as many steps: GPTs, which predict *every* next word.
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
def train_it(model, batches, loss, lr):
    options = {"steps": 1000, "schedule": warm_up_cosine(1000), "clip": 1.0}
    fit(model, adamw(model, lr, weight_decay=0.01), batches, loss=loss, **options)
    return model.eval()


def pretrain(seed, task):
    torch.manual_seed(seed)
    encoder, g = OurEncoder(len(ids), causal=task is next_words), torch.Generator()
    g.manual_seed(seed)
    picks = (tokens[torch.randint(len(tokens), (64,), generator=g)] for _ in range(1000))
    model = OurModel(encoder, len(ids)).to(device)
    return train_it(model, (task(x, g) for x in picks), next_token_loss, lr=5e-3)


# %% tags=["nbval-ignore-output"]
tokens = our_batch([one.text for one in train])
encoders = [pretrain(seed, hide_some) for seed in range(3)]

# %% tags=["nbval-ignore-output"]
gpts = [pretrain(seed, next_words) for seed in range(3)]

# %% [markdown]
# **Predict.** Now hide one word at a time, in statements of templates that no model has seen. What fraction do the encoders recover? Always answering with the full stop is right 8 % of the time. (Which words we ask for is drawn. Each gets its own copy of the statement, with one blank. A GPT predicts it from the words before.)

# %% tags=["predict"]
guess = None  # a fraction, such as 0.3

# %% tags=["nbval-ignore-output"]
t_tokens = our_batch([one.text for one in test])
g = torch.Generator().manual_seed(0)
row, at = (hide_some(t_tokens, g)[0] == 3).nonzero(as_tuple=True)  # the words we ask for
y, one_blank, every = t_tokens[row, at], t_tokens[row], range(len(row))
one_blank[every, at] = 3
with torch.no_grad():
    answers = {"both sides": [one(one_blank)[every, at] for one in encoders]}
    answers["a GPT"] = [one(t_tokens)[row, at - 1] for one in gpts]  # t − 1 predicts word t
loss = {}
for name, by_seed in answers.items():
    right = np.mean([(logits.argmax(1) == y).float().mean().item() for logits in by_seed])
    if name == "both sides":
        compare_guess(guess, right)
    mean = np.mean([F.cross_entropy(logits, y).item() for logits in by_seed])
    loss[name] = Score(mean, on=y)  # and what it is measured on
    print(f"{name:10} loss {mean:.2f}, right {right:.1%} (the mean of three seeds)")
claim_order(both_sides_beat_the_gpt=(loss["both sides"], loss["a GPT"]))

# %% [markdown]
# **Reading both sides pays**, by nearly half a nat, though a GPT learned from every word and masked training from one in seven. (That isn't the last word on 15 %: for a large BERT, 40 % did better; Wettig et al. 2023.)
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
# Nobody told it what a cake is, and it fills in what is said of food; before *walk*, of weather. *Dry* is in both lists.
#
# ## 10.4 What attention learned
#
# What does *dry* read, in *we had a dry cake today*? We compute the attention weights of *dry* in the four heads of the last layer, as in lesson 6, for three untrained encoders and our three. And since a head that always reads the *next* word would find *cake*, too, our control is *we found the cake dry today*.
#
# **Predict.** Untrained, a head gives *cake* about a fifth of its weight at most. And after training (seed 0), the head that reads *cake* most?

# %% tags=["predict"]
guess = None  # a weight, from 0 to 1

# %% tags=["nbval-ignore-output"]
from coursekit.layers.attention import attention_weights
from coursekit.notebook.pictures import attention_lines


@torch.no_grad()
def look(model, text):  # (4 heads, who reads, what is read)
    x, block = our_batch([text]), model.encoder.blocks[1]
    h = model.encoder(x, readable(x), depth=1)  # what goes into this layer
    q, k = (block.attention[n](h).unflatten(-1, (4, -1)).transpose(1, 2) for n in ("q", "k"))
    return attention_weights(q, k)[0].cpu()


def untrained_one(seed):
    torch.manual_seed(seed)
    return OurModel(OurEncoder(len(ids)), len(ids)).to(device)


known = {"untrained": [untrained_one(seed) for seed in range(3)], "trained": encoders}
dry_today, t = "we had a dry cake today .", 4  # dry is token 4, the thing token 5
compare_guess(guess, look(encoders[0], dry_today)[:, t, t + 1].max().item())
weight = {}
for text, dry, cake in ((dry_today, 4, 5), ("we found the cake dry today .", 5, 4)):
    for name, models in known.items():
        weight[text, name] = [look(one, text)[:, dry, cake].max().item() for one in models]
        print(f"{text:30} {name:9} on cake, by seed:", np.round(weight[text, name], 2))
after, before = (np.min(weight[text, "trained"]) for text, name in weight if name == "trained")
claim(weight_on_cake_at_least=after, weight_on_cake_before_it_at_least=before)

# %% tags=["figure", "folded", "nbval-ignore-output"]
words = ["[CLS]", *dry_today.split()]
axes = plt.subplots(1, 2, figsize=(6.4, 3))[1]
for ax, (name, models) in zip(axes, known.items(), strict=True):
    heads = look(models[0], dry_today)[:, t]
    best = heads[:, t + 1].argmax()
    for i, head in enumerate(heads):
        weights = np.zeros((8, 8))
        weights[2 + i] = head
        readers = ["dry" if row == 2 + i else "" for row in range(8)]
        attention_lines(ax, readers, words, weights, "C1" if i == best else "0.7")
    ax.set_title(f"{name}: what dry reads")
figure("what-dry-reads", alt="Thin lines from four dry to all words; trained, a thick one to cake.")

# %% [markdown]
# Each line is a weight (seed 0), each *dry* on the left a head, orange the one that gives *cake* most. Untrained, *dry* reads all words alike; trained, one head gives nearly all its weight to *cake*, on whichever side it stands. (Less so in the other two seeds, and in some not at all. Another head rests on the full stop, as many of BERT's do: Clark et al. 2019.)
#
# Has *dry* two meanings now? Let three things of the kitchen and three of the weather be dry: *dry* should change more from a cake to a walk than from a cake to a stew, and a word with *one* meaning should not. Our controls are *tasty* and *torn*.
#
# **Predict.** Trained (seed 0), how many times as far apart are the vectors of *tasty* with things of two topics as with two things of one?

# %% tags=["predict"]
guess = None  # times as far, such as 1

# %% tags=["nbval-ignore-output"]
things, ratio = ["soup", "cake", "stew", "picnic", "walk", "parade"], {}


@torch.no_grad()
def six(model, word):  # the distances between six vectors of this word
    x = our_batch([f"we had a {word} {thing} today ." for thing in things])
    v = model.encoder(x, readable(x))[:, 4]
    return torch.cdist(v, v).cpu()


for name in known:
    for word in ("dry", "tasty", "torn"):
        d = torch.stack([six(one, word) for one in known[name]])
        same = (d[:, :3, :3].sum((1, 2)) + d[:, 3:, 3:].sum((1, 2))) / 12  # one topic
        ratio[f"{name} {word}"] = (d[:, :3, 3:].mean((1, 2)) / same).numpy()
dry, tasty, torn = (ratio[f"trained {word}"] for word in ("dry", "tasty", "torn"))
compare_guess(guess, tasty[0])
for which, by_seed in ratio.items():
    print(f"{which:15} another topic / another thing, by seed:", by_seed.round(2))
claim(another_topic_further_at_least=dry.min(), with_one_meaning_at_least=min(*tasty, *torn))
claim(dry_minus_one_meaning=(dry - (tasty + torn) / 2).mean())

# %% tags=["figure", "folded", "nbval-ignore-output"]
panels = ("untrained", "dry"), ("trained", "dry"), ("trained", "tasty")
axes = plt.subplots(1, 3, figsize=(8, 3.4), sharey=True)[1]
for ax, (name, word) in zip(axes, panels, strict=True):
    d = six(known[name][0], word).numpy()
    ax.imshow(d, cmap="Blues", vmin=0, vmax=9)
    for (row, column), v in np.ndenumerate(d):
        ax.text(column, row, f"{v:.1f}", ha="center", va="center", color="w" if v > 5 else "k")
    ax.set_xticks(range(6), things, rotation=45)
    ax.set(yticks=range(6), yticklabels=things, title=f"{name}: {word}")
    ax.grid(visible=False)
plt.suptitle("Trained, the vectors group by topic: two meanings or one")
figure("six-dry", alt="Six by six distances: trained, two blocks of small ones, for tasty too.")

# %% [markdown]
# *Tasty* and *torn* do nearly the same (seed 0 is drawn). So two groups are no proof of two meanings: **the vector takes up the topic of its statement**. Whether there is a meaning in it too, this measure can't tell. (What an encoder makes of a word is its **contextual embedding**. A test finds the two topics in new templates, too.)
#
# ## 10.5 Learning from labels
#
# Now one label for a whole statement: **text classification**. A head with two logits reads one vector, here that of the *last* token. (BERT's reads `[CLS]`, but in a causal network `[CLS]` has read nothing.)
#
# The encoder under the head starts from random weights, or from the **pre-trained** ones of 10.3; training those further is called **fine-tuning**. Each may be causal or read both ways: four kinds of network, with three seeds each. (Each kind has the learning rate, of three or four, that did best on the validation statements.)


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
# The rival is a **bag of words**: one weight per word, wherever it stands, and a sigmoid makes a probability of their sum (the logistic regression of lesson 9). Ours also has a weight for each **bigram**, two neighbours.

# %%
from coursekit.models.bag import count_words, fit_logistic


def fit_bag(part, penalty=1e-5):
    x, y = read(part)
    counts = count_words(x, len(ids), pairs=True, lowest=4)
    known = counts.any(0)  # the words and bigrams that occur
    w = fit_logistic(counts[:, known], y, 2, penalty)
    return lambda x: count_words(x, len(ids), pairs=True, lowest=4)[:, known] @ w  # logits


# %% [markdown]
# **Predict.** Which wins on templates that none has seen: `"bag"`, `"both ways"`, `"causal"`, `"both ways, pre-trained"` or `"causal, pre-trained"`?

# %% tags=["predict"]
guess = None  # one of the five

# %% tags=["nbval-ignore-output"]
networks = {"both ways": [fine_tune(None, seed) for seed in range(3)]}

# %% tags=["nbval-ignore-output"]
networks["causal"] = [fine_tune(None, seed, causal=True) for seed in range(3)]

# %% tags=["nbval-ignore-output"]
both_ways = [fine_tune(encoders[seed], seed, lr=3e-3) for seed in range(3)]
networks["both ways, pre-trained"] = both_ways

# %% tags=["nbval-ignore-output"]
one_way = [fine_tune(gpts[seed], seed, causal=True, lr=3e-3) for seed in range(3)]
networks["causal, pre-trained"] = one_way

# %% tags=["nbval-ignore-output"]
methods = {"bag": [fit_bag(train)], **networks}


def accuracy(model, part):  # per cent
    x, y = read(part)
    return 100 * (model(x).argmax(1) == y).float().mean().item()


def by_method(part):
    return {name: [accuracy(one, part) for one in methods[name]] for name in methods}


learned, whole = by_method(train), by_method(test)
compare_guess(guess, max(methods, key=lambda name: np.mean(whole[name])))
print(f"{'':22} training   new templates, by seed   mean")
for name in methods:
    by_seed = " ".join(f"{v:.0f}" for v in whole[name])
    print(f"{name:22} {min(learned[name]):8.0f}   {by_seed:22} {np.mean(whole[name]):6.0f}")
both, causal, tuned, tuned_causal = (np.array(whole[name]) for name in networks)
error = ((tuned.var(ddof=1) + both.var(ddof=1)) / 3) ** 0.5  # of the difference of two means
claim(accuracy_in_training_at_least=min(min(learned[name]) for name in networks))
claim(bag_accuracy=whole["bag"][0], causal_minus_both_ways=causal.mean() - both.mean())
claim(pretraining_gain_in_standard_errors=(tuned.mean() - both.mean()) / error)

# %% [markdown]
# All networks learn what they are shown. On new templates **reading both ways gained nothing here**: from random weights it is level with a bag of words, and the causal networks are 10 points better. Pre-training lifts it by 8 points, which with three seeds is 1.4 standard errors: not shown.
#
# Why? Filling a blank needs the words on its right; the last token has the whole statement on its left, whichever way the network reads. That explains a draw. Why one way is *better* here, we don't know. It isn't so everywhere: of encoders and decoders trained alike on two trillion tokens, an encoder of 400 million weights classified better than a decoder of a billion (Weller et al. 2025).
#
# <details><summary>Is it the split, or the head?</summary>With another split of the templates, <code>statements(split=7)</code>, the causal networks are better, too, and so they are with a head that reads the mean of all vectors. A test of this course trains both, with the seeds 0 and 1.</details>
#
# What do they get wrong? All new templates, then by kind, a dot a network:

# %% tags=["nbval-ignore-output"]
kinds = {  # each by an example
    "all": lambda form: True,
    "today it was a dry cake": lambda form: form == "{t} it was a {x} {s} .",
    "people smiled because …": lambda form: "{r}" in form,
    "it was a dry cake but …": lambda form: " but " in form,
    "it was not a dry cake today": lambda form: " not " in form and "{r}" not in form,
    "nobody found the cake dry today": lambda form: "nobody" in form,
}
score = {k: by_method([one for one in test if holds(one.template)]) for k, holds in kinds.items()}
bag, *others = score["it was not a dry cake today"].values()
claim(bag_on_not=bag[0], networks_on_not_at_least=min(map(min, others)))

# %% tags=["figure", "folded", "nbval-ignore-output"]
panels = plt.subplots(2, 3, figsize=(7.8, 5), sharex=True, sharey=True)[1].flat
for ax, (kind, values) in zip(panels, score.items(), strict=True):
    for row, (name, color) in enumerate(zip(methods, ("0.4", *["C0", "C1"] * 2), strict=True)):
        ax.plot(values[name], [-row] * len(values[name]), "o", color=color, alpha=0.7)
    ax.axvline(50, color="black", linestyle=":", zorder=0)
    names = [name.replace(", ", ",\n") for name in methods]
    ax.set(ylim=(-4.6, 0.6), xlim=(-4, 104))
    ax.set_yticks(range(0, -5, -1), names, fontsize=9)
    ax.set_title(kind, fontsize=8.5)
plt.suptitle("Accuracy (%): 'not' defeats the bag, and 'nobody' is a lottery")
figure("by-kind", alt="Six panels of dots: near 100 for a reaction, from 6 to 100 for nobody.")

# %% [markdown]
# *Not* turns a statement round, and the bag, which adds up its words, falls below a coin; every network is above it. But look at the last panel.
#
# ## 10.6 The same training, another network
#
# *Nobody found the cake dry today*: one network is right 6 % of the time, another always. See it happen.
#
# **Your turn.** A **minimal pair** is two statements that differ in one thing. Write a few, one statement a line, in the words of the others, and note the right answers first. Printed is each network's probability of a good outcome.


# %% tags=["live"]
def judge(lines):  # words that the statements don't have are left out
    for text in lines.splitlines():
        x = our_batch([" ".join(word for word in text.split()[:23] if word in ids)])
        print(text)
        for name, models in networks.items():  # the probability of a good outcome
            print(f"   {name:22}", *(f"{one(x).softmax(1)[0, 1]:.2f}" for one in models))


pair = "they found the letter torn today .\nnobody found the letter torn today ."
type_text(judge, pair)

# %% tags=["nbval-ignore-output"]
judge(pair)

# %% [markdown]
# All are sure of the first. On the second, networks that differ in nothing but their seed are sure of opposite answers. Their training has *nobody* in two templates, `nobody found the {s} {o} so {r} .` and `{t} nobody found the {s} {o} .`, and all twelve learned it, to 99 % or more.
#
# Could we have seen it coming? If we had to choose one of the twelve, we would take the one with the best *validation*, which has 64 statements with *nobody*, too (`{r} because nobody found the {s} {o} .`).
#
# **Predict.** That network: how many per cent does it get right at *nobody … today*?

# %% tags=["predict"]
guess = None  # per cent

# %% tags=["nbval-ignore-output"]
nobody = [one for one in test if one.template == "nobody found the {s} {o} {t} ."]
twelve = [one for models in networks.values() for one in models]
seen = [accuracy(one, validation) for one in twelve]
unseen = [accuracy(one, nobody) for one in twelve]
compare_guess(guess, unseen[np.argmax(seen)])
claim(lowest_at_nobody=min(unseen), highest_at_nobody=max(unseen))

# %% tags=["figure", "folded", "nbval-ignore-output"]
ax = plt.subplots(figsize=(6.4, 3.8))[1]
for name, color in (("both ways", "C0"), ("causal", "C1")):
    marked = np.repeat([kind.startswith(name) for kind in networks], 3)
    ax.plot(np.array(seen)[marked], np.array(unseen)[marked], "o", color=color, markersize=9)
ax.axhline(50, color="black", linestyle=":")
ax.set(xlim=(83, 99), ylim=(-6, 108), xlabel="accuracy on the validation (%)")
ax.set_ylabel("on nobody … today (%)")
ax.set_title("Which is the good one? The validation doesn't tell")
ax.text(83.3, 53, "a coin")
ax.text(83.3, 96, "causal", color="C1")
ax.text(83.3, 88, "both ways", color="C0")
figure("lottery", alt="At a validation of about 95, dots lie from 6 to 100.")

# %% [markdown]
# Around 95 on the validation there are networks with 6 % and with 100 %: neither training nor validation tells them apart. (The three pre-trained causal ones are all above 80. With another seed, one fell below a coin, too.) The same was seen in a hundred BERTs, fine-tuned alike but for the seed (McCoy, Min and Linzen 2020). So report seeds, not a network; and what you need, test by itself.

# %% [markdown] tags=["exercise"]
# > **Exercise 10.4 (investigate, 30 minutes).** A suspicion: in `nobody found the {s} {o} so {r} .` what people did gives the answer away, so a network may learn to skip *nobody* in first position, a **shortcut** (Geirhos et al. 2020). Test it: cut the reaction off in these statements and train anew, with three seeds (about 8 seconds a run). But what would you conclude without the third row? Cut it off in `{w} found the {s} {x} so {r} .`, too, where there is no *nobody*.
#
# |cut in|*nobody … today*, seeds 0, 1, 2|the other new templates|
# |---|---|---|
# |nothing|||
# |*nobody found … so …*|||
# |*we found … so …*|||
#
# > To start with:
# >
# > ```python
# > from dataclasses import replace
# >
# > template, seed = "nobody found the {s} {o} so {r} .", 0
# > short = [replace(one, text=one.text.split(" so ")[0] + " .") for one in train if one.template == template]
# > part = [one for one in train if one.template != template] + short
# > again = fine_tune(None, seed, part=part)
# > accuracy(again, nobody)
# > ```
# >
# > <details><summary>What we found</summary>Seeds 0, 1 and 2, from random weights, both ways: 6, 72 and 8 with nothing cut; 98, 92 and 100 with the <em>nobody</em> statements cut; 61, 19 and 28 with the others. On the other new templates: 91, 84, 78; 93, 80, 70; 87, 89, 92. So the suspicion holds: only the first cut lifts all three. But the control moves single networks by 50 points, up or down: with one seed you could have told any story.</details>

# %% [markdown]
# ## What you now have
#
# - **What does attention learn if it may look both ways?** To fetch words from either side: in seed 0, a head of *dry* finds *cake* before and after it, and the vector takes up the topic, without labels. That makes no two meanings: *tasty* does it, too. For one label of a whole statement, reading one way did better here.
# - An encoder: the block you know, with a mask for padding instead of the causal one.
# - Controls: an untrained network, a word with one meaning, a bag of words; and three seeds, where one would have told any story.
#
# **What still fails.** This encoder reads, and can't write: it has no next word. [Side lesson 10b](10b_reverse.ipynb) adds a decoder, which completes the transformer of 2017.
#
# A series of prices or temperatures is no text. But cut its values into a few hundred bins, and each step is a token. Can a series be text? That is lesson 11.

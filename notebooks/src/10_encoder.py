# %% [markdown]
# # 10 · What does attention learn if it may look both ways?
#
# A GPT reads from left to right, because it has to guess what comes next. If the text is there already, why not look at all of it? You build an encoder, the half of the transformer that does, train it to fill in blanks and to tell whether a sentence reports a good outcome, and find out which words it relies on.
#
# **Before**: lesson 6 (attention, heads, the block, a GPT you wrote).
#
# **Runs in** {runs_in}. **Study time** {study}.
#
# **Sources**: the encoder is that of Vaswani et al. (2017); BERT, masked tokens and the rule of 15, 80, 10 and 10 per cent are by Devlin et al. (2019). All statements here were written for this course.

# %% tags=["setup", "machine"]
from dataclasses import replace

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
# A *round of funding* is not a *round of drinks*. For BERT (uncased) both are token 2461 of its 30,522, and so the same row of its embedding table. Two meanings, one vector.
#
# We use a text small enough to train on in a minute: statements about trains, kitchens, deliveries and the weather, each with a label, 1 if it turned out well. There are twelve things in four domains, and six adjectives for each domain. Each statement is made from a **template** by filling in its blanks: 2,176 for training, 512 for validation, and 896 for the test. No template is in two of these: the 8 of validation and the 14 of the test are all new.
#
# In a template, `{s}` is the thing, `{x}` how it was, `{o}` the opposite of that, `{w}` who says so, `{t}` when, and `{r}` what people did.

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
# **Predict.** One layer of attention with random weights reads *we had a dry cake* and *we had a dry walk*. How far apart are the two vectors of *dry* if the attention is causal, as in a GPT? (The library calls that rule `attend_past`, and attention to everything `attend`.)

# %% tags=["predict"]
guess = None  # a distance, such as 0.5

# %%
from coursekit.layers.attention import MultiHeadAttention, allow_present, attend, attend_past


def encode(text):
    return torch.tensor([[ids[word] for word in text.split()]])


torch.manual_seed(42)
vectors, layer, distance = nn.Embedding(len(ids), 32), MultiHeadAttention(32, 4), {}
for rule in (attend_past, attend):
    layer.rule = rule
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
# Exactly zero: the word that decides comes later. To predict the next word, the mask of lesson 6 is needed, or the answer would be in the input. To *understand* a word, it is in the way. Without it, attention is called **bidirectional**, and a stack of such layers an **encoder**.
#
# ## 10.2 The layer, and texts of different lengths

# %% [markdown] tags=["exercise"]
# > **Exercise 10.1 (build, 15 minutes).** Write the attention of an encoder: `q`, `k` and `v` have the shape (B, H, T, D), `allowed` broadcasts to (B, H, T, T), and `allowed[b, h, t, s]` is True where position t may read position s. The causal mask is gone; what is not allowed gets the weight 0.
# >
# > <details><summary>Hint 1</summary>Scores, divided by the root of D; then the softmax over the last axis, the positions that are read.</details>
# > <details><summary>Hint 2</summary>Before the softmax: <code>scores.masked_fill(~allowed, -torch.inf)</code>.</details>


# %% tags=["stub"]
def our_attention(q, k, v, allowed): ...  # -> (B, H, T, D)


# %% tags=["check"]
exercises.check_our_attention(our_attention)


# %% tags=["solution"]
def our_attention(q, k, v, allowed):
    scores = (q @ k.mT / q.shape[-1] ** 0.5).masked_fill(~allowed, -torch.inf)
    return scores.softmax(-1) @ v


# %% [markdown]
# An encoder layer is the block of lesson 6 with your attention. One thing is older: where GPT-2 normalises what goes *into* attention, BERT normalises the sum that comes out (**post-norm**). There the last layers get large gradients at the start, so the learning rate has to rise slowly (Xiong et al. 2020).

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


# %% [markdown]
# Before the first layer each token gets the sum of two vectors, one for the word and one for its position, normalised. (`causal` puts the mask of lesson 6 back on, for comparison.)


# %%
class OurEncoder(nn.Module):
    def __init__(self, vocab_size, d=32, n_layer=2, n_head=4, causal=False):
        super().__init__()
        self.embedding, self.positions = nn.Embedding(vocab_size, d), nn.Embedding(24, d)
        nn.init.normal_(self.positions.weight, std=0.2)
        self.embedding_norm, self.causal = nn.LayerNorm(d, eps=1e-12), causal
        self.blocks = nn.ModuleList(OurLayer(d, n_head) for _ in range(n_layer))

    def forward(self, tokens, allowed):
        steps = torch.arange(tokens.shape[1], device=tokens.device)
        allowed = allowed & (steps <= steps[:, None]) if self.causal else allowed
        x = self.embedding_norm(self.embedding(tokens) + self.positions(steps))
        for block in self.blocks:
            x = block(x, allowed)
        return x


# %% [markdown]
# A batch is a rectangle, and statements are not equally long. So the short ones are padded with a token that means nothing, **padding**, which has the number 0. Position 0 gets `[CLS]`, whose vector is free to collect what the whole statement says.
#
# **Predict.** A statement of seven tokens stands in a batch beside the longest, which has fifteen, so it gets eight tokens of padding. By what percentage does the vector of its `[CLS]` change, in an untrained encoder without any mask?

# %% tags=["predict"]
guess = None  # per cent, such as 1


# %%
dry_cake = encode("[CLS] we had a dry cake .").to(device)


def change_by_padding(seed, masked, n_pad=8):
    torch.manual_seed(seed)
    ours, n = OurEncoder(len(ids)).to(device), 7 + n_pad
    allowed = torch.arange(n, device=device) < (7 if masked else n)  # of what is read
    with torch.no_grad():
        alone = ours(dry_cake, allowed[:7].expand(7, 7))[0, 0]
        padded = ours(F.pad(dry_cake, (0, n_pad)), allowed.expand(n, n))[0, 0]
    return 100 * ((padded - alone).norm() / alone.norm()).item()


no_mask = [change_by_padding(seed, masked=False) for seed in range(5)]
with_mask = [change_by_padding(seed, masked=True) for seed in range(5)]
compare_guess(guess, np.mean(no_mask), unit="per cent")
claim(padding_moves=np.mean(no_mask), padding_moves_with_mask=max(with_mask) / 100)

# %% tags=["figure", "folded"]
ax = plt.subplots(figsize=(5.6, 1.9))[1]
ax.plot(with_mask, [0] * 5, "o", color="C0")
ax.plot(no_mask, [1] * 5, "o", color="C1")
ax.set(yticks=(0, 1), yticklabels=("with a mask", "without"), ylim=(-0.5, 1.5))
ax.set(xlabel="change of [CLS] (per cent)", title="Padding moves it, in each of five encoders")
figure("padding", alt="Five dots between 20 and 35 per cent without a mask, all at 0 with one.")

# %% [markdown]
# A quarter, for attention gave weight to eight empty positions. What an encoder says of a statement then depends on who else is in the batch. A **padding mask** masks those positions as *keys* (PyTorch has it as `key_padding_mask`, with True where a token may *not* be read). As queries they may stay: no other position reads them, and as long as you leave them out of the loss and of any mean over the text, what they compute has no effect.

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
# With these two pieces and a **head**, a linear layer at every position, the model is whole. The library's is [models/encoder.py](../coursekit/models/encoder.py); its tests hold it to Hugging Face's `BertModel`.

# %%
readable = answer_or(padding_mask, lambda tokens: allow_present(tokens > 0))


class OurModel(nn.Module):
    def __init__(self, encoder, n_out):
        super().__init__()
        self.encoder, self.head = encoder, nn.Linear(32, n_out)

    def forward(self, tokens):
        return self.head(self.encoder(tokens, readable(tokens)))


def our_batch(texts):
    rows = [encode(f"[CLS] {text}")[0] for text in texts]
    return nn.utils.rnn.pad_sequence(rows, batch_first=True).to(device)  # padding is 0


# %% [markdown]
# ## 10.3 Learning from masked tokens
#
# A GPT trains on any text, because the next word is the label. An encoder sees the next word. So hide some words and have the model predict them: **masked language modelling**. BERT chooses 15 % of the tokens. If all of these became `[MASK]`, the encoder would only ever train on texts with `[MASK]` in them, and a text that is used later has none. So, of the chosen ones,
#
# - 80 % become `[MASK]`,
# - 10 % become a random word,
# - 10 % stay as they are.
#
# The loss counts the chosen tokens only. Elsewhere the target is −100, which `F.cross_entropy` leaves out. (Wettig et al. 2023 mask more, and find that `[MASK]` alone does as well.)

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
# Two kinds of encoder train on the statements without their labels: one as above, with three seeds, and one with the causal mask on top, which reads only what stands to the left. All else is the same.
#
# No GPT trains like that, though. So another network of the same size trains as a GPT does, for as many steps: it predicts *every* next word, and nothing is masked. (`fit` runs the five lines of lesson 2; the learning rate rises for a tenth of the steps and then falls along half a cosine.)

# %%
from coursekit.evaluate.likelihood import next_token_loss
from coursekit.training.fit import fit
from coursekit.training.optimiser import adamw, warm_up_cosine
from coursekit.windows.masking import mask_drawn

hide = answer_or(hide_tokens, mask_drawn)


def seeded(seed):
    return torch.Generator().manual_seed(seed)


def hide_some(x, g):
    draw, kind = torch.rand(2, *x.shape, generator=g).to(device)
    word = torch.randint(4, len(ids), x.shape, generator=g).to(device)
    some = hide(x, draw, kind, word)
    return some["inputs"], some["targets"]


# %%
def train_it(model, batches, loss, lr, steps):
    options = {"steps": steps, "schedule": warm_up_cosine(steps), "clip": 1.0}
    fit(model, adamw(model, lr, weight_decay=0.01), batches, loss=loss, **options)
    return model.eval()


def next_words(x, g):
    return x[:, :-1], x[:, 1:].where(x[:, 1:] >= 4, -100)


def pretrain(seed, causal=False, task=hide_some):
    torch.manual_seed(seed)
    model, g = OurModel(OurEncoder(len(ids), causal=causal), len(ids)).to(device), seeded(seed)
    picks = (tokens[torch.randint(len(tokens), (64,), generator=g)] for _ in range(1000))
    return train_it(model, (task(x, g) for x in picks), next_token_loss, lr=5e-3, steps=1000)


# %% tags=["nbval-ignore-output"]
tokens = our_batch([one.text for one in train])
pretrained = [pretrain(seed) for seed in range(3)]

# %% tags=["nbval-ignore-output"]
both = pretrained[0]
left, gpt = pretrain(0, causal=True), pretrain(0, causal=True, task=next_words)

# %% [markdown]
# **Predict.** What fraction of the masked tokens does the bidirectional encoder recover, in statements of templates that it has never seen? Always answering with the most frequent token, the full stop, is right 8 % of the time.

# %% tags=["predict"]
guess = None  # a fraction, such as 0.3

# %% tags=["nbval-ignore-output"]
t_tokens = our_batch([one.text for one in test])
inputs, targets = hide_some(t_tokens, seeded(0))
asked = inputs == 3  # [MASK] alone: a fifth of the chosen words is changed or left
with torch.no_grad():
    answers = {"left only": left(inputs)[asked], "both sides": both(inputs)[asked]}
    before = gpt(t_tokens)[:, :-1]  # position t of a GPT predicts token t + 1,
    answers["a GPT"] = before[asked[:, 1:]]  # so what is asked moves by one, too
y, loss = targets[asked], {}
recovered = {name: (answers[name].argmax(1) == y).float().mean().item() for name in answers}
compare_guess(guess, recovered["both sides"])
for name, logits in answers.items():
    loss[name] = Score(F.cross_entropy(logits, y), on=y)  # and what it is measured on
    print(f"{name:10} loss {loss[name].value:.2f}, right {recovered[name]:.1%}")
claim_order(both_sides_beat_left=(loss["both sides"], loss["left only"]))
claim(gpt_behind_both_sides=loss["a GPT"].value - loss["both sides"].value)

# %% [markdown]
# Of the two that were trained with masks, the one that reads both sides is better by 0.3 nats (0.6 with seed 42). The GPT comes close to it all the same: level in three seeds of four, a third of a nat behind in one. It learns from every word, masked training from one in seven, which is its known cost (Clark et al. 2020), and its left context has no gaps. (All were stopped after 1,000 steps.)
#
# Let it fill in a blank, before *cake* and before *walk*:


# %%
def fill_in(model, text, n=6):  # the likeliest words for [MASK]
    x = our_batch([text])
    p = model(x)[x == 3][0].softmax(0).detach().cpu()
    return {list(ids)[i]: p[i].item() for i in p.topk(n).indices}


# %% tags=["figure", "folded", "nbval-ignore-output"]
axes = plt.subplots(1, 2, figsize=(6.8, 3), sharex=True)[1]
for ax, (thing, domain) in zip(axes, {"cake": "kitchen", "walk": "weather"}.items(), strict=True):
    best = fill_in(both, f"it was a [MASK] {thing} today .")
    good = DOMAINS[domain][1].split()
    ax.barh(list(best), best.values(), color=["C0" if word in good else "C1" for word in best])
    ax.invert_yaxis()
    ax.set(title=f"it was a … {thing} today", xlabel="probability", xlim=(0, 0.26))
axes[1].text(0.98, 0.06, "blue: good\norange: bad", transform=axes[1].transAxes, ha="right")
figure("blank", alt="Words of the kitchen for a cake, of the weather for a walk, good and bad.")


# %% tags=["nbval-ignore-output"]
def mass_on(model, frame):  # on words for good and for bad, the mean of the twelve things
    rows = []
    for things, good, bad in DOMAINS.values():
        for thing in things.split():
            p = fill_in(model, frame.format(thing), len(ids))
            rows.append([sum(p[word] for word in words.split()) for words in (good, bad)])
    return np.mean(rows, 0)


kind, moved = [], []
for model in pretrained:
    kind.append(mass_on(model, "it was a [MASK] {} today .").sum())
    frames = (f"the {{}} was [MASK] so people {did} ." for did in ("smiled", "grumbled"))
    smiled, grumbled = (mass_on(model, frame) for frame in frames)
    bad = [mass[1] / mass.sum() for mass in (smiled, grumbled)]
    moved.append(bad[1] - bad[0])
    print("bad words if people smiled {:.2f}, if they grumbled {:.2f}".format(*bad))
claim(words_of_its_kind=min(kind), grumbling_adds_bad_words=max(moved, key=abs))

# %% [markdown]
# So this is what it has learned about *dry*: it stands before a cake, like *stale* and *tasty*, and before a walk, like *foggy* and *sunny*. Over all twelve things, more than 0.9 of the probability goes to adjectives of their kind. But about half of it goes to bad ones if *so people smiled* follows, and just as much if *so people grumbled* does, though the training holds such statements. In 1,000 steps, none of the three encoders has learned from masked tokens what is good and what is bad.
#
# ## 10.4 Two meanings, two vectors
#
# Has *dry* got two vectors now? The output of an encoder for a word is called its **contextual embedding**. We take that of *dry* in each statement of the test where the thing follows it: *dry* as in cake, and *dry* as in walk. If the meaning is in there, the nearest other vector belongs to the same meaning. It could be near because the same *thing* follows; so we look among the statements with another thing only; there guessing gives about 0.4.
#
# **Predict.** How often does the nearest vector have the same meaning, for the encoder that reads both sides? It was never told that *dry* has two.

# %% tags=["predict"]
guess = None  # a fraction, such as 0.5

# %%
meaning = {thing: k for k in ("kitchen", "weather") for thing in DOMAINS[k][0].split()}
rows, at, things = [], [], []
for one in test:
    before, _, after = one.text.partition(" dry ")
    thing = after.split(" ")[0]
    if thing in meaning and thing not in before.split():  # it is read after dry only
        rows, things, at = [*rows, one.text], [*things, thing], [*at, len(before.split()) + 1]
print(len(rows), "statements, such as:", rows[0])


# %% tags=["nbval-ignore-output"]
@torch.no_grad()
def vectors_of_dry(model):
    x = our_batch(rows)
    return model.encoder(x, readable(x))[range(len(rows)), at].cpu()


def same_meaning(model):  # of the nearest vector among those with another thing
    v = vectors_of_dry(model)
    apart = torch.cdist(v, v)
    apart[torch.tensor([[a == b for a in things] for b in things])] = torch.inf
    nearest = apart.argmin(1).tolist()
    return np.mean([meaning[a] == meaning[things[k]] for a, k in zip(things, nearest, strict=True)])


found = {"a GPT": [same_meaning(gpt)], "both sides": [same_meaning(one) for one in pretrained]}
compare_guess(guess, found["both sides"][0])
print(*(f"{name:10} {np.round(found[name], 2)}" for name in found), sep="\n")
claim(dry_found_by_encoders=min(found["both sides"]), dry_found_by_gpt=found["a GPT"][0])

# %% tags=["figure", "folded", "nbval-ignore-output"]
axes = plt.subplots(1, 2, figsize=(6.4, 3.5))[1]
titles = "A GPT: one heap", "Both sides: two meanings"
for ax, model, title in zip(axes, (gpt, both), titles, strict=True):
    v = vectors_of_dry(model)
    spots = (v - v.mean(0)) @ torch.pca_lowrank(v, 2, niter=9)[2][:, :2]
    for kind, color in (("kitchen", "C1"), ("weather", "C0")):
        part = [meaning[thing] == kind for thing in things]
        ax.plot(*spots[part].T, "o", color=color, alpha=0.7, markersize=7)
    ax.set(xticks=[], yticks=[], xlabel="two directions of most variance", title=title)
axes[0].text(0.04, 0.92, "dry … cake", color="C1", transform=axes[0].transAxes, fontweight="bold")
axes[0].text(0.04, 0.84, "dry … walk", color="C0", transform=axes[0].transAxes, fontweight="bold")
figure("two-meanings", alt="Vectors of dry: mixed in a GPT, in two groups in an encoder.")

# %% [markdown]
# At *dry* a GPT has not read the thing yet, so its vector can't know, as in 10.1: it finds the meaning no more often than guessing does. The three encoders find it in three cases of four or more, in templates that are new to them. That is what reading both ways buys: a vector of *each word* that knows its sentence. It is what encoders are used for: to tag words, and, as a mean over the words, to compare and to search for texts (Reimers and Gurevych 2019).
#
# ## 10.5 Learning from labels
#
# Now one label for a whole statement: **text classification**. A head with two logits reads a single vector. The encoder below it may start from random weights, or from the **pre-trained** ones of 10.3; training these further is **fine-tuning**.
#
# Two rivals learn from the same statements. A **bag of words** adds one weight per word, whatever their order, and a sigmoid makes a probability of the sum (logistic regression); ours also has a weight for each pair of neighbours (**bigram**). And a **causal** encoder, from random weights, shows what reading both ways adds. BERT's head reads `[CLS]`, which in a causal network has read nothing. So here the heads of all networks read the *last* token: the mask is all that differs.

# %%
from coursekit.models.bag import count_words, fit_logistic


def read(part):
    texts = our_batch([one.text for one in part])
    return texts, torch.tensor([one.label for one in part], device=device)


def fit_bag(part, penalty=1e-5):  # 1e-6 and 1e-4 differ by less than a point on validation
    x, y = read(part)
    counts = count_words(x, len(ids), pairs=True, lowest=4)
    known = counts.any(0)  # the words and bigrams that occur
    w = fit_logistic(counts[:, known], y, 2, penalty)
    return lambda x: (count_words(x, len(ids), pairs=True, lowest=4)[:, known] @ w).argmax(1)


# %%
class OurClassifier(OurModel):
    def forward(self, tokens):
        last = (tokens > 0).sum(1) - 1
        return super().forward(tokens)[range(len(tokens)), last]


def fine_tune(start, seed, causal=False, part=train, lr=6e-3):
    torch.manual_seed(seed)
    model, g = OurClassifier(OurEncoder(len(ids), causal=causal), 2).to(device), seeded(seed)
    if start is not None:
        model.encoder.load_state_dict(start.encoder.state_dict())
    x, y = read(part)
    picks = (torch.randint(len(x), (64,), generator=g) for _ in range(1000))
    return train_it(model, ((x[i], y[i]) for i in picks), F.cross_entropy, lr, steps=1000)


# %% [markdown]
# Three seeds of each network, without dropout; each of the pre-trained ones starts from a pre-training of its own.
#
# <details><summary>How the learning rates were chosen</summary>For each kind we trained the seeds 0 and 1 for the same 1,000 steps. Accuracy on the validation statements, mean of the two: pre-trained 88, 95 and 92 at 0.0015, 0.003 and 0.006; from scratch 81, 89 and 79 at 0.003, 0.006 and 0.012; causal 90, 96, 97 and 93 at 0.0015, 0.003, 0.006 and 0.012. So 0.003 for the first and 0.006 for the others.</details>

# %% tags=["nbval-ignore-output"]
networks = {"pre-trained": [fine_tune(pretrained[seed], seed, lr=3e-3) for seed in range(3)]}

# %% tags=["nbval-ignore-output"]
networks["from scratch"] = [fine_tune(None, seed) for seed in range(3)]

# %% tags=["nbval-ignore-output"]
networks["causal"] = [fine_tune(None, seed, causal=True) for seed in range(3)]


# %% tags=["nbval-ignore-output"]
def accuracy(answer, part):  # per cent
    x, y = read(part)
    return 100 * (answer(x) == y).float().mean().item()


def answer_of(model):
    return lambda x: model(x).argmax(1)


methods = {"bag": [fit_bag(train)]}
methods |= {name: [answer_of(one) for one in networks[name]] for name in networks}


def by_method(part):
    return {name: [accuracy(one, part) for one in methods[name]] for name in methods}


learned, whole = by_method(train), by_method(test)
for name in methods:
    print(f"{name:13} training {min(learned[name]):5.1f}, test", *(f"{v:.0f}" for v in whole[name]))
tuned, scratch, causal = (np.array(whole[name]) for name in networks)
error = (np.var(tuned, ddof=1) / 3 + np.var(scratch, ddof=1) / 3) ** 0.5
claim(networks_learn_the_training=min(min(learned[name]) for name in networks))
claim(scratch_over_coin=scratch.mean() - 50, lead_of_causal=causal.mean() - scratch.mean())
claim(gain_in_standard_errors=(tuned.mean() - scratch.mean()) / error)


# %%
def kind_of(one):  # what decides the label of a statement
    form = one.template
    if " but " in form:
        fresh_first = form.index("{x}") < form.index("{o}")
        return "it was fresh but we expected …" if fresh_first else "we expected dry but it was …"
    if "{r}" in form:
        return "it was … so people smiled"
    if "nobody" in form:
        return "nobody found the cake dry today"
    return "it was not a dry cake today" if "not" in form else "today it was a fresh cake"


kinds = sorted(set(map(kind_of, test)))
score = {kind: by_method([one for one in test if kind_of(one) == kind]) for kind in kinds}
bag, *others = score["it was not a dry cake today"].values()
claim(bag_on_denials=bag[0], networks_on_denials=min(map(min, others)))

# %% tags=["figure", "folded", "nbval-ignore-output"]
colors = dict(zip(methods, ("0.4", "C0", "C1", "C2"), strict=True))


def draw_rows(table, title):
    ax = plt.subplots(figsize=(5.6, 0.62 * len(table) + 1.4))[1]
    for row, (label, values) in enumerate(table.items()):
        ax.text(0, row - 0.36, label, va="center", backgroundcolor="white", zorder=1)
        for k, name in enumerate(methods):
            ax.plot(values[name], [row + k / 7 - 0.12] * len(values[name]), "o", color=colors[name])
    for k, name in enumerate(methods):
        ax.text((0, 14, 45, 78)[k], -0.85, name, color=colors[name], fontweight="bold")
    ax.axvline(50, ymax=1 - 0.5 / len(table), color="black", linestyle=":", zorder=0)
    ax.set(xlim=(-3, 103), ylim=(len(table) - 0.4, -1.15), yticks=[], title=title)
    ax.set_xlabel("accuracy (per cent); dotted: a coin")


draw_rows(score, "Right about different things\n(a dot is a seed, a row a kind of new statement)")
figure("by-kind", alt="Six rows of dots: near 100 for a reaction, spread widely for nobody.")

# %% [markdown]
# All networks learn what they are shown. On new templates the causal ones get 90 or 91 per cent, those from scratch that read both ways 73 to 85, and only the mask differs. **For this task reading both ways bought nothing.** (Why, we don't know. Perhaps because the causal mask tells a network what stands before what, as in lesson 6.) Nor do three seeds show that pre-training helped: 82, 97 and 86 per cent, a gain of 1.4 standard errors. It read nothing but these statements; BERT read 3.3 billion words.
#
# <details><summary>Does that depend on our choices?</summary>We changed one at a time. With another split of the templates (<code>statements(split=7)</code>, seeds 0 to 2): from scratch 83, 87 and 75 per cent, causal 94, 92 and 92. With a head that reads the mean of all vectors (seeds 0 and 1): from scratch 80 and 85, causal 99 and 96. With one that reads <code>[CLS]</code>, as in BERT (seeds 0 to 2), from scratch: 85, 70 and 84.</details>
#
# They are right about *different* things. A reaction gives the label away (*people smiled*), and all get it. With two clauses the bag keeps up: in *they thought the cake would be dry but …* the bigram *be dry* can only be an expectation. At *it was not a dry cake today* it gets 43 per cent, for *not* is no neighbour of *dry*; every network does better. And at *nobody found the cake dry today* the bag and most networks that read both ways are worse than a coin.
#
# ## 10.6 Which word does it rely on?


# %% tags=["nbval-ignore-output"]
@torch.no_grad()
def p_good(model, texts):  # the probability that it turned out well
    return model(our_batch(texts)).softmax(-1)[:, 1]


def time_first(one):  # nobody found the stew stale today . -> today nobody found …
    return " ".join([*one.text.split()[5:-1], *one.text.split()[:5], "."])


nobody = [one for one in test if one.template == "nobody found the {s} {o} {t} ."]
new = [one for one in nobody if time_first(one) not in {other.text for other in train}]

# %% [markdown]
# **Predict.** *Today nobody found the stew stale*: it turned out well, says the first pre-trained network, and rightly. What does it say of *nobody found the stew stale today*?

# %% tags=["predict"]
guess = None  # the probability that it turned out well, such as 0.9


# %% tags=["nbval-ignore-output"]
def after(change):  # how accurate all are on the new statements, once these are changed
    return by_method([replace(one, text=change(one)) for one in new])


stew = ["today nobody found the stew stale .", "nobody found the stew stale today ."]
p = p_good(networks["pre-trained"][0], stew).tolist()
compare_guess(guess, p[1])
print(f"p(good) = {p[0]:.2f}: {stew[0]}\np(good) = {p[1]:.2f}: {stew[1]}")
forms = {"today nobody found the stew stale": after(time_first)}
forms["nobody found the stew stale today"] = after(lambda one: one.text)
front, last = (np.array(f["pre-trained"] + f["from scratch"]) for f in forms.values())
claim(time_first_at_least=front.min(), of_six_below_a_coin=(last < 50).sum())

# %% [markdown]
# It turned out badly, it says, as though *nobody* were not there. So it goes with all such statements (we ask of the 40 of 64 that the training has in neither order): with the time in front nearly all are right; with the time at the end four of the six networks that read both ways, and a causal one, are right less often than a coin.
#
# Why? One template of the training begins with *nobody*, `nobody found the {s} {o} so {r}`, and in its 64 statements the reaction gives the label away. So a *nobody* in the first place never had to be read.
#
# A **minimal pair** tests that, two statements that differ in one thing. Put a full stop in front, and *nobody* is no longer first. But then all words also stand one place further on. So try each by itself: leave the statement as it is, and move only the *position vectors* by one.


# %% tags=["nbval-ignore-output"]
def move_positions(by):
    for one in (one for models in networks.values() for one in models):
        one.encoder.positions.weight.data = one.encoder.positions.weight.data.roll(-by, 0)


forms[". nobody found the stew stale today"] = after(lambda one: ". " + one.text)
move_positions(1)
forms["nobody found the stew stale today, its positions moved by one"] = after(lambda one: one.text)
move_positions(-1)
*_, stop_first, one_on = (np.array(f["pre-trained"] + f["from scratch"]) for f in forms.values())
claim(full_stop_first_at_least=stop_first.min(), positions_moved_at_least=one_on.min())

# %% tags=["figure", "folded", "nbval-ignore-output"]
draw_rows(forms, "One place further on, the same words are understood")
figure("nobody", alt="Accuracies: low as it is, high with the position vectors moved by one.")

# %% [markdown]
# With the full stop all six get 73 per cent or more. With no word added, and *nobody* still first, 68 or more. So it isn't the order of the words. The networks have tied *nobody* to a *number*: in the place of that one template it may be ignored, one further on, where `{t} nobody found …` has it, it counts. Learned absolute positions allow a rule for each place; relative ones, such as the rotary positions of lesson 6, don't.
#
# (Moving the positions is no remedy: most networks lose 5 to 20 points on the whole test.) A rule that holds in all of the training and isn't the one you meant is called a **shortcut** (Geirhos et al. 2020). A test of the training's templates can't show it, because there it holds. (McCoy et al. 2020 found the same in BERT, fine-tuned with a hundred seeds: equal on the usual test, very different on a new kind of sentence.)
#
# Type a statement of your own, in the words of the others, and see what each kind of network says:


# %% tags=["live"]
def judge(text):  # words that the statements don't have are left out
    known = " ".join(word for word in text.split()[:23] if word in ids)
    for name, models in networks.items():
        print(f"{name:14} p(good) =", *(f"{p_good(one, [known]).item():.2f}" for one in models))


type_text(judge, "today nobody found the walk dry .")

# %% [markdown] tags=["exercise"]
# > **Exercise 10.4 (investigate, 25 minutes).** How many examples does it take to learn *nobody … today*? Add statements of that template to the training (they come from the test, which then tests this template no more), and measure on others of it, and on the other templates, with the seeds 0, 1 and 2. Fill in the table. Were more always better? What was wrong: the networks, or what they were shown?
#
# | statements added | accuracy on 32 others | on these without *today* | on the other templates |
# |---|---|---|---|
# | 0 | | | |
# | 1 | | | |
# | 4 | | | |
# | 16 | | | |
#
# > To start with:
# >
# > ```python
# > order, seed = np.random.default_rng(0).permutation(64), 0
# > added, others = [nobody[i] for i in order[:4]], [nobody[i] for i in order[32:]]
# > rest = [one for one in test if one not in nobody]
# > bare = [replace(one, text=" ".join([*one.text.split()[:5], "."])) for one in others]
# > again = answer_of(fine_tune(pretrained[seed], seed, part=train + added, lr=3e-3))
# > accuracy(again, others), accuracy(again, bare), accuracy(again, rest)
# > ```
# >
# > <details><summary>What we found</summary>On the 32 others, seeds 0, 1 and 2: 9, 72 and 44 per cent with none added, 25, 100 and 47 with one, 88, 97 and 62 with four, 62, 78 and 100 with sixteen. On the same without *today*: 0, 72 and 53; 16, 91 and 53; 16, 84 and 53; 66, 66 and 97. On the other templates: 88, 99 and 89; 84, 91 and 99; 76, 96 and 86; 91, 92 and 92. So a few statements help most, and none of the three networks in the same way: more was not always better, and four may teach the template and not the word (seed 0: 88 with *today*, 16 without). Their training was at fault: nothing in it told the two readings apart, and which of them a network picks is its own. (Liu et al. 2019 call this inoculation by fine-tuning.)</details>

# %% [markdown]
# ## What you now have
#
# - **What does attention learn if it may look both ways?** A vector for each word that knows its sentence: *dry* as in cake is not *dry* as in walk. It learned that without labels. For one label of a whole statement reading both ways wasn't needed, and here reading one way did better.
# - An encoder: the block you know, without the causal mask, with a mask for padding.
# - A bag of words beside every classifier, results by kind of statement, and minimal pairs to test a suspicion.
#
# **What still fails.** This encoder reads, and wasn't trained to write: it has no next word. (Encoders are used where a text is searched for, compared or sorted, not continued: Warner et al. 2024.) [Side lesson 10b](10b_reverse.ipynb) adds a decoder, which completes the transformer of 2017.
#
# A series of prices or temperatures is no text. But cut its values into a few hundred bins, and each step is a token. Can a series be text? That is lesson 11.

# %% [markdown]
# # 10 · What does attention learn if it may look both ways?
#
# A GPT reads from left to right, because it has to guess what comes next. If the text is there already, why not look at all of it? You build an encoder, the half of the transformer that does, train it to fill in blanks and to tell whether a sentence reports a good outcome, and find out which words it goes by.
#
# **Before**: lesson 6 (attention, heads, the block, a GPT you wrote).
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
from torch.testing import assert_close

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
# We use a text small enough to train on in a minute: statements about trains, kitchens, deliveries and the weather, each with a label, 1 if it turned out well. Each is made from a **template** by filling in its blanks: 2,176 for training, 512 for validation, and 896 for the test, which has 14 templates that training doesn't have.

# %%
train, validation, test = statements()
ids = number_words([one.text for one in train])
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
    ax.set_xlabel("is read (blue: allowed)")
    ax.grid(visible=False)
axes[0].set(title="A GPT: dry can't see cake", ylabel="reads")
axes[1].set_title("An encoder: it can")
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
# An encoder layer is the block of lesson 6 with your attention. One thing is older: where GPT-2 normalises what goes *into* attention, BERT normalises the sum that comes out (**post-norm**). Such a network needs a learning rate that rises slowly at first (Xiong et al. 2020).

# %%
mix = answer_or(our_attention, attend)  # the library's until yours is there


class OurLayer(nn.Module):
    def __init__(self, d, n_head):
        super().__init__()
        self.n_head = n_head
        self.attention = nn.ModuleDict({name: nn.Linear(d, d) for name in ("q", "k", "v", "out")})
        self.norm_1, self.norm_2 = nn.LayerNorm(d, eps=1e-12), nn.LayerNorm(d, eps=1e-12)
        expand, back = nn.Linear(d, 4 * d), nn.Linear(4 * d, d)
        self.feed_forward = nn.ModuleDict({"expand": expand, "out": back})

    def forward(self, x, allowed):
        q, k, v = (self.attention[n](x).unflatten(-1, (self.n_head, -1)) for n in ("q", "k", "v"))
        mixed = mix(*(part.transpose(1, 2) for part in (q, k, v)), allowed)
        x = self.norm_1(x + self.attention["out"](mixed.transpose(1, 2).flatten(-2)))
        return self.norm_2(x + self.feed_forward["out"](F.gelu(self.feed_forward["expand"](x))))


# %% [markdown]
# Before the first layer each token gets the sum of two vectors, one for the word and one for its position, normalised. `causal` is for a comparison later.


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
# **Predict.** A statement of seven tokens stands in a batch beside one of seventeen, so it gets ten tokens of padding. By how many per cent does the vector of its `[CLS]` change, in an encoder without any mask?

# %% tags=["predict"]
guess = None  # per cent, such as 1


# %%
dry_cake = encode("[CLS] we had a dry cake .").to(device)


def change_by_padding(seed, masked):
    torch.manual_seed(seed)
    ours, change = OurEncoder(len(ids)).to(device), []
    for n_pad in range(11):
        padded = F.pad(dry_cake, (0, n_pad))
        allowed = padded > 0 if masked else padded >= 0
        with torch.no_grad():
            change.append(ours(padded, allowed[:, None, None])[0, 0])
    return [100 * ((one - change[0]).norm() / change[0].norm()).item() for one in change]


no_mask = np.array([change_by_padding(seed, masked=False) for seed in range(5)])
with_mask = np.array([change_by_padding(seed, masked=True) for seed in range(5)])
compare_guess(guess, no_mask[:, -1].mean(), unit="per cent")
claim(padding_moves=no_mask[:, -1].mean(), padding_moves_with_mask=with_mask.max() / 100)

# %% tags=["figure", "folded"]
plt.figure(figsize=(5.8, 3.4))
plt.plot(no_mask.T, color="C1", linewidth=0.8)
plt.plot(with_mask.T, color="C0", linewidth=2)
plt.text(0.2, 26.5, "without a mask\n(five untrained encoders)", color="C1")
plt.text(10, 1.5, "with one: 0", color="C0", ha="right")
plt.gca().set(xlabel="tokens of padding", ylabel="change of [CLS] (per cent)", xlim=(0, 10))
plt.title("Padding moves the vector of [CLS]")
figure("padding", alt="Five curves rise with the padding; with a mask the change is zero.")

# %% [markdown]
# Attention gave weight to ten empty positions. What an encoder says of a statement then depends on who else is in the batch. A **padding mask** masks those positions as *keys*. As queries they may stay: no other position reads them, and as long as you leave them out of the loss and of any mean over the text, what they compute has no effect.

# %% [markdown] tags=["exercise"]
# > **Exercise 10.2 (warm-up, 5 minutes).** Write `padding_mask(tokens)`: True where a token may be read, because it is not padding. `tokens` has the shape (B, T), the mask (B, 1, 1, T): one row for all heads and all queries, the last axis is what is read.
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
# Two encoders train on the statements without their labels: one as above, one with the causal mask on top, which reads only what stands to the left. All else is the same.
#
# No GPT trains like that, though. So a third network of the same size trains as a GPT does, for as many steps: it predicts *every* next word, and nothing is masked. (`fit` runs the five lines of lesson 2; the learning rate rises for a tenth of the steps and then falls along half a cosine.)

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
left, both = pretrain(42, causal=True), pretrain(42)
gpt = pretrain(42, causal=True, task=next_words)

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
    before = gpt(t_tokens)[:, :-1]  # a GPT predicts a token one position earlier
    answers["a GPT"] = before[asked[:, 1:]]
y, loss, found_words = targets[asked], {}, {}
for name, logits in answers.items():
    loss[name] = Score(F.cross_entropy(logits, y), on=y)
    found_words[name] = (logits.argmax(1) == y).float().mean().item()
compare_guess(guess, found_words["both sides"])
print(*(f"{k:10} loss {loss[k].value:.2f}, right {found_words[k]:.1%}" for k in loss), sep="\n")
claim_order(both_sides_beat_left=(loss["both sides"], loss["left only"]))
claim(gpt_behind_both_sides=loss["a GPT"].value - loss["both sides"].value)

# %% [markdown]
# The words to the right help, by 0.6 nats. The GPT comes close without them: level in three seeds of four, a third of a nat behind in one. It learns from every word, masked training from one in seven, which is its known cost (Clark et al. 2020), and its left context has no gaps. What the encoder offers is something else: a vector of each word that knows the whole sentence.
#
# Let it fill in a blank.


# %%
def fill_in(model, text, n=6):  # the likeliest words for [MASK]
    x = our_batch([text])
    p = model(x)[x == 3][0].softmax(0).detach().cpu()
    return {list(ids)[i]: p[i].item() for i in p.topk(n).indices}


def show_blank(text):
    words = text.split()
    unknown = [word for word in words if word not in ids]
    if unknown or words.count("[MASK]") != 1 or len(words) > 23:
        print("one [MASK], at most 23 words, and none that is not in the statements:", *unknown)
        return
    for name, model in {"left only": left, "both sides": both}.items():
        best = fill_in(model, text, 3).items()
        print(f"{name:10}", *(f"{word} {p:.2f}" for word, p in best), sep="  ")


show_blank("we [MASK] the ferry slow today .")

# %% [markdown]
# From the left many words fit, from both sides one. Now put *cake* after the blank, then *walk*:

# %% tags=["figure", "folded", "nbval-ignore-output"]
axes = plt.subplots(1, 2, figsize=(6.8, 3), sharex=True)[1]
for ax, (thing, domain) in zip(axes, {"cake": "kitchen", "walk": "weather"}.items(), strict=True):
    best = fill_in(both, f"it was a [MASK] {thing} today .")
    good = DOMAINS[domain][1].split()
    ax.barh(list(best), best.values(), color=["C0" if word in good else "C1" for word in best])
    ax.invert_yaxis()
    ax.set(title=f"it was a … {thing} today", xlabel="probability", xlim=(0, 0.26))
axes[1].text(0.98, 0.06, "blue: good\norange: bad", transform=axes[1].transAxes, ha="right")
figure(
    "blank", alt="Words of the kitchen for a cake, of the weather for a walk, good and bad alike."
)
# %% [markdown]
# Type a statement of your own with one `[MASK]`:

# %% tags=["live"]
type_text(show_blank, "it was a [MASK] ferry so everyone was pleased .")


# %% tags=["nbval-ignore-output"]
def mass_on(frame):  # on words for good and for bad, the mean of the twelve things
    rows = []
    for things, good, bad in DOMAINS.values():
        for thing in things.split():
            p = fill_in(both, frame.format(thing), len(ids))
            rows.append([sum(p[word] for word in words.split()) for words in (good, bad)])
    return np.mean(rows, 0)


plain = mass_on("it was a [MASK] {} today .")
grumbled = mass_on("it was a [MASK] {} so people grumbled .")
claim(words_of_its_kind=plain.sum(), bad_words=plain[1] / plain.sum())
claim(bad_words_when_people_grumbled=grumbled[1] / grumbled.sum())

# %% [markdown]
# So this is what it has learned about *dry*: it stands before a cake, like *stale* and *tasty*, and before a walk, like *foggy* and *sunny*. Over all twelve things, 0.94 of the probability goes to adjectives of their kind. Half of that goes to bad ones, and still half if *so people grumbled* follows. From masked tokens it has learned what kind of thing is spoken of, not whether that is good. For that it needs labels.
#
# ## 10.4 Learning from labels
#
# Now the labels: **text classification**. A second head reads the vector of `[CLS]` alone and gives two logits. The encoder below it may start from random weights, or from the **pre-trained** ones of the last section; training these further is **fine-tuning**.
#
# The statements ask for something hard: *they expected a dry cake but it was a fresh cake* has the same words as its opposite. So beside the networks stands a simple rival. A **bag of words** adds one weight per word, whatever their order, and a sigmoid makes a probability of the sum (logistic regression). Ours also has a weight for each pair of neighbours. Each network keeps the learning rate that is best on the validation statements.

# %%
from coursekit.models.bag import count_words, fit_logistic


def read(part):
    texts = our_batch([one.text for one in part])
    return texts, torch.tensor([one.label for one in part], device=device)


def fit_bag(part, penalty=1e-5):  # 1e-6 and 1e-4 differ by less than a point on validation
    x, y = read(part)
    counts = count_words(x, len(ids), pairs=True, lowest=4)
    known = counts.any(0)  # the words and pairs that occur
    w = fit_logistic(counts[:, known], y, 2, penalty)
    return lambda x: (count_words(x, len(ids), pairs=True, lowest=4)[:, known] @ w).argmax(1)


# %%
def fine_tune(start, lr, seed, steps):
    torch.manual_seed(seed)
    model, g = OurModel(OurEncoder(len(ids)), 2).to(device), seeded(seed)
    if start is not None:
        model.encoder.load_state_dict(start.encoder.state_dict())
    x, y = read(train)
    picks = (torch.randint(len(x), (64,), generator=g) for _ in range(steps))
    batches = ((x[some], y[some]) for some in picks)
    # the loss at position 0, [CLS]
    return train_it(model, batches, lambda z, y: F.cross_entropy(z[:, 0], y), lr, steps)


# %% tags=["nbval-ignore-output"]
def right(answer, part):  # per cent
    x, y = read(part)
    return 100 * (answer(x) == y).float().mean().item()


def answer_of(model):
    return lambda x: model(x)[:, 0].argmax(1)


rates = {"pre-trained": (7.5e-4, 1.5e-3, 3e-3, 6e-3), "from scratch": (1.5e-3, 3e-3, 6e-3, 1.2e-2)}
chosen, starts = {}, {"pre-trained": both, "from scratch": None}
for name, start in starts.items():
    scores = {lr: right(answer_of(fine_tune(start, lr, 9, 500)), validation) for lr in rates[name]}
    chosen[name] = max(scores, key=scores.get)
    print(name, {lr: f"{score:.1f}" for lr, score in scores.items()})

# %% [markdown]
# Now three seeds of each network, trained until it gets every labelled statement right. The table has a row for each template of the test: per cent right for the bag, then for the three pre-trained networks and the three from scratch.


# %% tags=["nbval-ignore-output"]
networks = {"pre-trained": [fine_tune(both, chosen["pre-trained"], k, 1000) for k in range(3)]}

# %% tags=["nbval-ignore-output"]
networks["from scratch"] = [fine_tune(None, chosen["from scratch"], k, 1000) for k in range(3)]

# %% tags=["nbval-ignore-output"]
methods = {"bag": [fit_bag(train)]}
methods |= {name: [answer_of(one) for one in networks[name]] for name in networks}


def kind_of(form):
    return "two clauses" if " but " in form else "a reaction" if "{r}" in form else "one clause"


forms = sorted({one.template for one in test}, key=lambda form: (kind_of(form), form))
table = {}  # (template, method): per cent, one number for each seed
for form in forms:
    part = [one for one in test if one.template == form]
    table |= {(form, name): [right(one, part) for one in methods[name]] for name in methods}
    print(f"{form:60}", *(" ".join(f"{v:3.0f}" for v in table[form, n]) + " |" for n in methods))
whole = {name: [right(one, test) for one in methods[name]] for name in methods}
print(f"{'all':60}", *(" ".join(f"{v:3.0f}" for v in whole[n]) + " |" for n in methods))

# %% tags=["figure", "folded", "nbval-ignore-output"]
axes = plt.subplots(1, 3, figsize=(7.2, 2.7), sharey=True)[1]
for ax, kind in zip(axes, ("one clause", "a reaction", "two clauses"), strict=True):
    for k, name in enumerate(methods):
        values = [np.mean(table[form, name]) for form in forms if kind_of(form) == kind]
        ax.barh(k, np.mean(values), color=["0.7", "C0", "C1"][k], alpha=0.5)
        ax.plot(values, [k] * len(values), "o", color="black", markersize=4)
    ax.axvline(50, color="black", linestyle=":")
    ax.set(xlim=(0, 104), yticks=range(3), yticklabels=methods, ylim=(2.6, -0.6), title=kind)
axes[1].set_xlabel("right (per cent); a dot is a template, dotted: a coin")
figure("by-kind", alt="Bars of three methods for three kinds of statement, and a dot a template.")


# %% tags=["nbval-ignore-output"]
def bag_on_another_split(split):  # other templates are drawn for training and test
    part, _, other = statements(split=split)
    return right(fit_bag(part), other)


splits = [bag_on_another_split(split) for split in range(8)]
print(f"the bag on eight other splits: {np.mean(splits):.0f} ± {np.std(splits, ddof=1):.0f}")
gap = {form: np.mean(table[form, "from scratch"]) - table[form, "bag"][0] for form in forms}
nobody = [max(table[form, name]) for name in methods for form in forms if "nobody" in form]
doubles = [one for one in test if " but " in one.text]
double = [right(one, doubles) for name in networks for one in methods[name]]
claim(bag_on_two_clauses=right(methods["bag"][0], doubles), first_on_two_clauses=double[0])
claim(bag_over_splits=np.mean(splits), scratch_over_coin=np.mean(whole["from scratch"]) - 50)
claim(gain_of_pretraining=np.mean(whole["pre-trained"]) - np.mean(whole["from scratch"]))
claim(lead_on_did_not_have=max(gap.values()), best_on_nobody=max(nobody))
claim(two_clauses_best_seed=max(double), two_clauses_worst_seed=min(double))

# %% [markdown]
# All three get about 80 per cent on average, and that says little. Another seed moves a network by 10 points and more, and the 14 templates of the test were drawn once: eight other draws give the bag 79 ± 5. Pre-training gains no more than the seeds differ. It read nothing but these statements, where BERT read 3.3 billion words, and it never asked anything of `[CLS]`.
#
# Template by template they are right about *different* things. A reaction gives the label away (*everyone was pleased*), and all get it. At *we did not have a stale cake today* the bag is a coin, because *not* is no neighbour of *stale*; the networks from scratch get 95 to 100, the pre-trained ones 45 to 91. At *nobody found the cake stale today* none is better than a coin, and most are far worse: they answer as though *nobody* were not there. On two clauses the bag gets 94, and the networks from 47 to 96, depending on the seed. One number would have hidden all that.
#
# ## 10.5 Which word does it go by?
#
# The first pre-trained network gets 91 per cent of the two-clause statements right. Does it read how things turned out, or how they were expected to? Ask with a **minimal pair**: two statements that differ in one word, here a word and its opposite. (To hide the word behind `[MASK]` would be no fair question: in fine-tuning there was none.)
#
# **Predict.** *We thought the cake would be dry but we found the cake fresh*: good, says the network. What does it say if the last word is *dry*, too?

# %% tags=["predict"]
guess = None  # the probability that it turned out well, such as 0.1


# %%
@torch.no_grad()
def p_good(model, texts):  # the probability that it turned out well
    return model(our_batch(texts))[:, 0].softmax(-1)[:, 1]


# %% tags=["nbval-ignore-output"]
four = "we thought the cake would be {} but we found the cake {} ."
cakes = [(hoped, came) for hoped in ("dry", "fresh") for came in ("fresh", "dry")]
p = p_good(networks["pre-trained"][0], [four.format(*words) for words in cakes]).tolist()
compare_guess(guess, p[1])
print(
    *(f"p = {one:.2f}  {four.format(*words)}" for words, one in zip(cakes, p, strict=True)),
    sep="\n",
)
claim(four_by_expectation=sum(one > 0.5 for one in p[:2]) + sum(one < 0.5 for one in p[2:]))

# %% [markdown]
# On these four the answer follows the *expectation* word alone: expected dry, so it turned out well. (Or the word that comes first? Exercise 10.4 asks.) The labels allow that. In every statement with two clauses the outcome is the opposite of what was expected, so one of the two words is enough, and no statement with two clauses says which.
#
# Now all 384 two-clause statements of the test, and all six networks. How often does the answer flip if the outcome is replaced by its opposite, and how often if the expectation is? A network that reads as you do would flip in 100 and 0 per cent.


# %%
def turn(one, slot):  # slot "{x}", the outcome, or "{o}", the expectation
    words, at = one.text.split(), one.template.split().index(slot)
    good, bad = (group.split() for group in DOMAINS[one.domain][1:])
    opposite = dict(zip(good + bad, bad + good, strict=True))
    words[at] = opposite[words[at]]
    return " ".join(words)


# %%
def flipped(model, part, slot):
    texts = [one.text for one in part], [turn(one, slot) for one in part]
    first, second = (p_good(model, some) > 0.5 for some in texts)
    return (first != second).cpu()


# %% tags=["nbval-ignore-output"]
from coursekit.inside.attention_maps import read_attention
from coursekit.models.encoder import Encoder, EncoderConfig


def as_library(ours):
    library = Encoder(EncoderConfig(vocab_size=len(ids), context=24, n_layer=2, d_model=32))
    library.segments.weight.data.zero_()  # BERT's third vector: first or second text
    library.load_state_dict(ours.state_dict(), strict=False)
    return library.to(device).eval()


def more_on_outcome(model):  # is the weight that [CLS] gives, in the last layer, larger?
    x, each = our_batch([one.text for one in doubles]), range(len(doubles))
    theirs = as_library(model.encoder)  # same weights, same [CLS], with padding in the batch
    assert_close(theirs(x, x > 0)[:, 0], model.encoder(x, readable(x))[:, 0], rtol=1e-4, atol=1e-5)
    maps = read_attention(theirs, x, x > 0)
    weight = maps["blocks.1.attention"].mean(1)[:, 0].cpu()
    at = {s: [one.template.split().index(s) + 1 for one in doubles] for s in ("{x}", "{o}")}
    return weight[each, at["{x}"]] > weight[each, at["{o}"]]


# %% tags=["nbval-ignore-output"]
print(f"{'replaced:':13} outcome, expectation; named by the larger weight")
flips, named = {name: [] for name in networks}, []
for name in networks:
    for model in networks[name]:
        by = [flipped(model, doubles, slot) for slot in ("{x}", "{o}")]
        flips[name].append([100 * some.float().mean().item() for some in by])
        decided = by[0] != by[1]  # exactly one of the two flips the answer
        named.append(100 * (more_on_outcome(model) == by[0])[decided].float().mean().item())
        print(f"{name:13}", *(f"{value:6.0f}" for value in (*flips[name][-1], named[-1])))
claim(flips_by_outcome=flips["pre-trained"][0][0], flips_by_expectation=flips["pre-trained"][0][1])
claim(weights_name_it_at_worst=min(named), weights_name_it_at_best=max(named))

# %% tags=["figure", "folded", "nbval-ignore-output"]
ax = plt.subplots(figsize=(5, 4))[1]
for name, color in {"pre-trained": "C0", "from scratch": "C1"}.items():
    ax.plot(*zip(*flips[name], strict=True), "o", color=color)
    for k, spot in enumerate(flips[name]):
        ax.annotate(f"{k}", spot, (5, 3), textcoords="offset points", color=color)
ax.plot(100, 0, "*", color="black", markersize=12)
ax.text(96, 0, "as you read", ha="right", va="center")
ax.text(4, 94, "pre-trained (seed)", color="C0")
ax.text(4, 86, "from scratch (seed)", color="C1")
ax.set(xlim=(0, 104), ylim=(-4, 104), title="Which word flips the answer?")
ax.set(xlabel="outcome replaced: flips (%)", ylabel="expectation replaced: flips (%)")
figure("minimal-pairs", alt="Six networks: one near the star of the outcome, five between.")

# %% [markdown]
# Six networks, six mixtures. The first goes more by the expectation than by the outcome, the third nearly by the outcome alone, and both get more than 90 per cent right. The test can't tell them apart, because it has the same gap as the training.
#
# Would a picture of the attention weights have told? Where exactly one of the two words flips the answer, it is the one with more weight in 31 to 90 per cent of the statements, depending on the network; a coin has 50. A weight says how much is read from a position, not what it is used for (Jain and Wallace 2019).

# %% [markdown] tags=["exercise"]
# > **Exercise 10.4 (investigate, 20 minutes).** Does the first pre-trained network go by the expectation, or by something else? Fill in the table for it and for the third (`networks["pre-trained"][2]`), with the flips in per cent, and say in a sentence what each goes by.
# >
# > | clause that comes first | outcome replaced | expectation replaced |
# > |---|---|---|
# > | outcome (*the cake was fresh but …*) | | |
# > | expectation (*we expected a dry cake but …*) | | |
# >
# > To start with:
# >
# > ```python
# > begins = [one for one in doubles if one.template.index("{x}") < one.template.index("{o}")]
# > flipped(networks["pre-trained"][0], begins, "{x}").float().mean()
# > ```
# >
# > <details><summary>What we found</summary>The first network: 71 and 24 per cent where the outcome comes first, 8 and 88 where the expectation does. It goes by the word that comes <i>first</i>, and reads from the frame which of the two that is. The third: 93 and 5, then 88 and 9. It goes by the outcome, wherever it stands.</details>

# %% [markdown]
# ## What you now have
#
# - **What does attention learn if it may look both ways?** A vector for each word that knows all the others: enough to fill in a blank with the right kind of word. Not what is good or bad, which took labels, and then it learned whatever was enough for the labels.
# - An encoder: the block you know, without the causal mask, with a mask for padding.
# - A bag of words beside every classifier, results by template, and minimal pairs.
#
# **What still fails.** This encoder reads, and wasn't trained to write: it has no next word. [Side lesson 10b](10b_reverse.ipynb) adds a decoder, which completes the transformer of 2017.
#
# A series of prices or temperatures is no text. But cut its values into a few hundred bins, and each step is a token. Can a series be text? That is lesson 11.

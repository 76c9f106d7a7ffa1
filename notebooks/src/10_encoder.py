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
# We use a text small enough to train on in a minute: statements about trains, kitchens, deliveries and the weather, each with a label, 1 if it turned out well. Each is made from a **template** by filling in its blanks: 2,176 for training, 512 for validation, and 896 for the test. No template is in two of these: the 8 of validation and the 14 of the test are all new.
#
# In a template, `{s}` is the thing, `{x}` how it was, `{o}` the opposite of that, `{w}` who says so, `{t}` when, and `{r}` what people did.

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
from coursekit.layers.attention import MultiHeadAttention, attend, attend_past


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
# An encoder layer is the block of lesson 6 with your attention. One thing is older: where GPT-2 normalises what goes *into* attention, BERT normalises the sum that comes out (**post-norm**). There the last layers get large gradients at the start, so the learning rate has to rise slowly (Xiong et al. 2020).

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
# Before the first layer each token gets the sum of two vectors, one for the word and one for its position, normalised. (`causal` puts the mask of lesson 6 back on, for two comparisons.)


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
# **Predict.** A statement of seven tokens stands in a batch beside the longest, which has fifteen, so it gets eight tokens of padding. By what percentage does the vector of its `[CLS]` change, in an encoder without any mask?

# %% tags=["predict"]
guess = None  # per cent, such as 1


# %%
dry_cake = encode("[CLS] we had a dry cake .").to(device)


def change_by_padding(seed, masked):
    torch.manual_seed(seed)
    ours, change = OurEncoder(len(ids)).to(device), []
    for n_pad in range(9):
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
plt.text(0.2, 24, "without a mask\n(five untrained encoders)", color="C1")
plt.text(8, 1.5, "with one: 0", color="C0", ha="right")
plt.gca().set(xlabel="tokens of padding", ylabel="change of [CLS] (per cent)", xlim=(0, 8))
plt.title("Padding moves the vector of [CLS]")
figure("padding", alt="Five curves rise with the padding; with a mask the change is zero.")

# %% [markdown]
# Attention gave weight to eight empty positions. What an encoder says of a statement then depends on who else is in the batch. A **padding mask** masks those positions as *keys*. As queries they may stay: no other position reads them, and as long as you leave them out of the loss and of any mean over the text, what they compute has no effect.

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
from coursekit.layers.attention import allow_present

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
    before = gpt(t_tokens)[:, :-1]  # position t of a GPT predicts token t + 1,
    answers["a GPT"] = before[asked[:, 1:]]  # so what is asked moves by one, too
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
figure(
    "blank", alt="Words of the kitchen for a cake, of the weather for a walk, good and bad alike."
)


# %% tags=["nbval-ignore-output"]
def mass_on(frame):  # on words for good and for bad, the mean of the twelve things
    rows = []
    for things, good, bad in DOMAINS.values():
        for thing in things.split():
            p = fill_in(both, frame.format(thing), len(ids))
            rows.append([sum(p[word] for word in words.split()) for words in (good, bad)])
    return np.mean(rows, 0)


there = mass_on("it was a [MASK] {} today .")
smiled, grumbled = (
    mass_on(f"the {{}} was [MASK] so people {did} .") for did in ("smiled", "grumbled")
)
claim(words_of_its_kind=there.sum())
claim(bad_words_when_people_smiled=smiled[1] / smiled.sum())
claim(bad_words_when_people_grumbled=grumbled[1] / grumbled.sum())

# %% [markdown]
# So this is what it has learned about *dry*: it stands before a cake, like *stale* and *tasty*, and before a walk, like *foggy* and *sunny*. Over all twelve things, 0.94 of the probability goes to adjectives of their kind. But half of it goes to bad ones if *so people smiled* follows, and half if *so people grumbled* does. From masked tokens this encoder has learned what kind of thing is spoken of, not whether that is good. For that it needs labels.
#
# ## 10.4 Learning from labels
#
# Now the labels: **text classification**. A head with two logits reads the vector of `[CLS]` alone. The encoder below it may start from random weights, or from the **pre-trained** ones of the last section; training these further is **fine-tuning**.
#
# Two rivals learn from the same statements. A **bag of words** adds one weight per word, whatever their order, and a sigmoid makes a probability of the sum (logistic regression); ours also has a weight for each pair of neighbours. And a **causal** encoder, from random weights, shows what reading both ways adds: there the head reads the last token, the first that has seen everything.

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
class OurClassifier(OurModel):
    def forward(self, tokens):
        at = (tokens > 0).sum(1) - 1 if self.encoder.causal else 0  # the last token, or [CLS]
        return super().forward(tokens)[range(len(tokens)), at]


def fine_tune(start, lr, seed, causal=False, part=train):
    torch.manual_seed(seed)
    model, g = OurClassifier(OurEncoder(len(ids), causal=causal), 2).to(device), seeded(seed)
    if start is not None:
        model.encoder.load_state_dict(start.encoder.state_dict())
    x, y = read(part)
    picks = (torch.randint(len(x), (64,), generator=g) for _ in range(1000))
    return train_it(model, ((x[i], y[i]) for i in picks), F.cross_entropy, lr, steps=1000)


# %% [markdown]
# Three seeds of each network, all with the learning rate 0.006, chosen on the validation statements.
#
# <details><summary>How the learning rates were chosen</summary>For each kind we trained the seeds 0 and 1 for the same 1,000 steps at four rates. Right on the validation statements, mean of the two, at 0.0015, 0.003, 0.006 and 0.012: pre-trained 82.9, 82.2, 89.6, 90.5; from scratch 85.5, 85.4, 88.2, 82.2; causal 90.0, 96.5, 97.1, 92.7. So 0.006 is the best for two and within a point of it for the third.</details>

# %% tags=["nbval-ignore-output"]
networks = {"pre-trained": [fine_tune(both, 6e-3, seed) for seed in range(3)]}

# %% tags=["nbval-ignore-output"]
networks["from scratch"] = [fine_tune(None, 6e-3, seed) for seed in range(3)]

# %% tags=["nbval-ignore-output"]
networks["causal"] = [fine_tune(None, 6e-3, seed, causal=True) for seed in range(3)]
every_network = [(name, model) for name in networks for model in networks[name]]


# %% tags=["nbval-ignore-output"]
def right(answer, part):  # per cent
    x, y = read(part)
    return 100 * (answer(x) == y).float().mean().item()


def answer_of(model):
    return lambda x: model(x).argmax(1)


methods = {"bag": [fit_bag(train)]}
methods |= {name: [answer_of(one) for one in networks[name]] for name in networks}
learned = {name: [right(one, train) for one in methods[name]] for name in methods}
whole = {name: [right(one, test) for one in methods[name]] for name in methods}
for name in methods:
    print(f"{name:13} training {min(learned[name]):5.1f}, test", *(f"{v:.0f}" for v in whole[name]))
claim(networks_learn_the_training=min(min(learned[name]) for name in networks))
claim(scratch_over_coin=np.mean(whole["from scratch"]) - 50)
claim(gain_of_pretraining=np.mean(whole["pre-trained"]) - np.mean(whole["from scratch"]))
claim(lead_of_causal=np.mean(whole["causal"]) - np.mean(whole["from scratch"]))

# %% tags=["figure", "folded", "nbval-ignore-output"]
forms = sorted({one.template for one in test}, key=lambda f: (" but " in f, "{r}" in f, f))
words = {"s": "cake", "x": "fresh", "o": "dry", "w": "we", "t": "today", "r": "people smiled"}
colors = dict(zip(methods, ("0.4", "C0", "C1", "C2"), strict=True))
ax = plt.subplots(figsize=(5.6, 8.2))[1]
for row, form in enumerate(forms):
    part = [one for one in test if one.template == form]
    text = form.format(**words).removesuffix(" .")
    ax.text(0, row - 0.32, text, va="center", fontsize=9, backgroundcolor="white", zorder=1)
    for k, name in enumerate(methods):
        values = [right(one, part) for one in methods[name]]
        ax.plot(values, [row + 0.13 * k - 0.1] * len(values), "o", color=colors[name], markersize=5)
for k, name in enumerate(methods):
    ax.text((0, 14, 45, 78)[k], -0.85, name, color=colors[name], fontweight="bold")
ax.axvline(50, ymax=0.94, color="black", linestyle=":", zorder=0)
ax.set(xlim=(-3, 103), ylim=(13.5, -1.2), yticks=[], xlabel="right (per cent); dotted: a coin")
ax.set_title("Right about different things\n(a dot is a seed, a row a template of the test)")
figure("by-template", alt="Fourteen rows of dots: all near 100 for a reaction, all low for nobody.")

# %% tags=["nbval-ignore-output"]
pair_blind = [one for one in train if " but " in one.text and one.template.count(" a {") == 2]
pair_readable = [one for one in train if " but " in one.text and one.template.count(" a {") < 2]
doubles = [one for one in test if " but " in one.text]
double = {name: [right(one, doubles) for one in methods[name]] for name in methods}
bag = methods["bag"][0]
claim(bag_on_pair_blind=right(bag, pair_blind), bag_on_pair_readable=right(bag, pair_readable))
claim(bag_on_two_clauses=double["bag"][0], last_causal_on_two_clauses=double["causal"][2])
denied = [one for one in test if one.template == "it was not a {o} {s} {t} ."]
denials = [right(answer_of(model), denied) for _, model in every_network]
claim(bag_on_it_was_not=right(bag, denied), networks_on_it_was_not_at_least=min(denials))
claim(two_clauses_best_seed=max(double["pre-trained"] + double["from scratch"]))
claim(two_clauses_worst_seed=min(double["pre-trained"] + double["from scratch"]))

# %% [markdown]
# **Reading both ways bought nothing here.** All networks learn what they are shown, and from random weights the causal one is 13 points better on new templates. (Perhaps because its mask tells it what stands before what; that wasn't tested.) Pre-training gains 5 points, with a standard error of 4: no more than the seeds differ. It read nothing but these statements, BERT 3.3 billion words.
#
# They are right about *different* things. A reaction gives the label away (*people smiled*), and all get it. At *it was not a dry cake today* the bag gets 39 per cent, for *not* is no neighbour of *dry*; every network does better. With two clauses the bag gets 94, and the networks that read both ways 47 to 95, depending on the seed.
#
# Why is a bag so good at two clauses? In *we thought the cake would be dry but …* the pair *be dry* can only be an expectation. In *they expected a dry cake but it was a fresh cake* no pair tells: the statement that means the opposite has the same pairs. Of the *training* statements of such templates the bag gets 73 per cent, of the other two-clause ones 99; and none of such templates is in the test. So its 94 is a property of these templates, not of bags.
#
# ## 10.5 Which word does it go by?
#
# Back to *dry*. Two statements that no network has seen, *it was a dry cake today* and *it was a dry walk today*, of a template that each knows:


# %% tags=["nbval-ignore-output"]
@torch.no_grad()
def p_good(model, texts):  # the probability that it turned out well
    return model(our_batch(texts)).softmax(-1)[:, 1]


dry = [f"it was a dry {thing} today ." for thing in ("cake", "walk")]
p, apart = [], []
print(f"{'p(good):':14} a dry cake  a dry walk  distance of the two vectors of dry")
for name, model in every_network:
    cake, walk = model.encoder(our_batch(dry), readable(our_batch(dry)))[:, 4]
    apart.append((cake - walk).norm().item())
    p.append(p_good(model, dry).tolist())
    print(f"{name:14} {p[-1][0]:10.2f}  {p[-1][1]:10.2f} {apart[-1]:10.2f}")
claim(networks_that_know_dry=sum(cake < 0.5 < walk for cake, walk in p))
claim(dry_apart_both_ways=min(apart[:6]), dry_apart_causal=max(apart[6:]))

# %% [markdown]
# Eight of the nine know it: bad for a cake, good for a walk. (The last takes both for bad.) Where a network reads both ways, the two vectors of *dry* differ, too. In a causal one they are still equal, as in 10.1, and yet two of the three answer rightly: the *last* token has read *dry* and *cake*. So this is what both ways bought: a vector of *each word* that knows its sentence. One answer about the whole doesn't need it.
#
# **Predict.** *Today nobody found the cake stale*: it turned out well, says the first pre-trained network, and rightly. What does it say of *nobody found the cake stale today*?

# %% tags=["predict"]
guess = None  # the probability that it turned out well, such as 0.9

# %% tags=["nbval-ignore-output"]
p = p_good(networks["pre-trained"][0], ["nobody found the cake stale today ."]).item()
compare_guess(guess, p)
part, orders = [one for one in test if one.template.startswith("nobody")], []
words = [one.text.split() for one in part]  # nobody found the cake stale, a time, a full stop
moved = [" ".join([*some[5:-1], *some[:5], "."]) for some in words]
for texts in (moved, [one.text for one in part]):
    hits = [(p_good(m, texts) > 0.5) == read(part)[1] for _, m in every_network]
    orders.append([100 * one.float().mean().item() for one in hits])
    print(f"{texts[0]:36}", *(f"{value:4.0f}" for value in orders[-1]), " per cent right")
claim(time_first_at_least=min(orders[0]), time_last_pretrained_at_most=max(orders[1][:3]))

# %% [markdown]
# It turned out badly, it says, as though *nobody* were not there. So it goes with all 64 such statements (above, the nine networks in the order of the table): with the time in front, as in training, nearly all are right. With the time at the end, the pre-trained networks get 3 to 25 per cent, far less than a coin.
#
# Such a failure has a cause. Training has `{t} nobody found the {s} {o}` and `{w} found the {s} {x} {t}`. The new statement begins like the first and ends like the second, and these networks go by the end: *found the cake stale today*. A rule that holds in all of the training and isn't the one you meant is called a **shortcut** (Geirhos et al. 2020).
#
# Now two clauses: does a network go by how things turned out, or by how they were expected to? Ask with a **minimal pair**, two statements that differ in one word: here the outcome, or the expectation, replaced by a word of the other kind. If the network reads as you do, its answer flips with the outcome and never with the expectation. (Its training didn't ask for that. There the two words are always of opposite kinds, so one of them is enough, and two words of one kind are new to it.)


# %%
def turn(one, slot):  # slot "{x}", the outcome, or "{o}", the expectation
    words, at = one.text.split(), one.template.split().index(slot)
    good, bad = (group.split() for group in DOMAINS[one.domain][1:])
    other = dict(zip(good + bad, bad + good, strict=True))
    words[at] = other[words[at]]
    return " ".join(words)


# %%
def flip_rate(model, part, slot):  # per cent of the answers
    texts = [one.text for one in part], [turn(one, slot) for one in part]
    first, second = (p_good(model, some) > 0.5 for some in texts)
    return 100 * (first != second).float().mean().item()


# %% tags=["nbval-ignore-output"]
by_order = {"the outcome comes first": [], "the expectation comes first": []}
for one in doubles:
    later = one.template.index("{x}") > one.template.index("{o}")
    by_order[list(by_order)[later]].append(one)
flips = {}
for order, some in by_order.items():
    rows = [[flip_rate(m, some, slot) for slot in ("{x}", "{o}")] for _, m in every_network]
    flips[order] = np.array(rows)
first, second = flips.values()
claim(by_outcome_if_first=(first[:, 0] > first[:, 1]).sum())
claim(by_outcome_if_second=(second[:, 0] > second[:, 1]).sum())
claim(last_causal_by_expectation=second[8, 1], last_pretrained_by_outcome=second[2, 0])

# %% tags=["figure", "folded", "nbval-ignore-output"]
axes = plt.subplots(1, 2, figsize=(7.2, 4), sharex=True, sharey=True)[1]
for ax, (order, rows) in zip(axes, flips.items(), strict=True):
    for (name, _), spot in zip(every_network, rows, strict=True):
        ax.plot(*spot, "o", color=colors[name], alpha=0.8)
    ax.plot(100, 0, "*", color="black", markersize=12)
    ax.set(xlim=(-6, 106), ylim=(-6, 106), title=order, xlabel="outcome replaced: flips (%)")
axes[0].set_ylabel("expectation replaced: flips (%)")
axes[1].text(95, 0, "as you read", ha="right", va="center")
for k, name in enumerate(networks):
    axes[0].text(0, 96 - 9 * k, name, color=colors[name])
for k in (2, 8):
    name, (x, y) = every_network[k][0], second[k]
    axes[1].text(max(x, 18), y + 4, f"{name}, the third", color=colors[name], ha="center")
figure("minimal-pairs", alt="Nine networks: all by the outcome, or by the word that is first.")

# %% [markdown]
# Where the outcome comes first, all nine go by it. Where the expectation comes first, only five still do. The third pre-trained network goes by the outcome in both; the third causal one flips with the expectation in 91 per cent: it goes by the word that comes *first*, whatever it is. They get 95 and 97 per cent of these statements right, and a test with the same gap as the training can't tell them apart. (McCoy et al. 2020 found the like of BERT, fine-tuned with a hundred seeds.)
#
# Type a statement of your own, in the words of the others, and see what each kind of network says:


# %% tags=["live"]
def judge(text):  # words that the statements don't have are left out
    known = " ".join(word for word in text.split()[:23] if word in ids)
    for name, model in every_network:
        print(f"{name:14} p(good) = {p_good(model, [known]).item():.2f}   {known}")


type_text(judge, "today nobody found the walk dry .")

# %% [markdown] tags=["exercise"]
# > **Exercise 10.4 (investigate, 20 minutes).** How many examples does it take to learn *nobody … today*? Add statements of the missing template to the training of the first pre-trained network, and measure it on others of that template. Fill in the table, and say in a sentence what was wrong: the network, or what it was shown?
# >
# > | statements added | right of 32 others (per cent) |
# > |---|---|
# > | 0 | |
# > | 1 | |
# > | 4 | |
# > | 16 | |
# >
# > To start with:
# >
# > ```python
# > some = [one for one in test if one.template == "nobody found the {s} {o} {t} ."]
# > order = np.random.default_rng(0).permutation(64)
# > added, others = [some[i] for i in order[:4]], [some[i] for i in order[32:]]
# > right(answer_of(fine_tune(both, 6e-3, 0, part=train + added)), others)
# > ```
# >
# > <details><summary>What we found</summary>Right of the 32 others: 0 per cent with none added, 34 with one, 100 with four, 84 with sixteen (one seed each, and chance in it: more was not better here). Four statements among 2,176 are enough. Nothing was wrong with the network: it had been shown nothing that tells the two readings apart. (Liu et al. 2019 call this inoculation by fine-tuning.)</details>

# %% [markdown]
# ## What you now have
#
# - **What does attention learn if it may look both ways?** A vector for each word that knows its sentence: enough to fill in a blank with the right kind of word. Not what is good or bad: that took labels, and then it learned whatever was enough for the labels. For one label of a whole statement, reading one way did better.
# - An encoder: the block you know, without the causal mask, with a mask for padding.
# - A bag of words beside every classifier, results by template, and minimal pairs.
#
# **What still fails.** This encoder reads, and wasn't trained to write: it has no next word. (Encoders are used where a text is searched for, compared or sorted, not continued: Warner et al. 2024.) [Side lesson 10b](10b_reverse.ipynb) adds a decoder, which completes the transformer of 2017.
#
# A series of prices or temperatures is no text. But cut its values into a few hundred bins, and each step is a token. Can a series be text? That is lesson 11.

# %% [markdown]
# # 10c · Which network is better?
#
# Four networks learn from the same labels. On new statements one is right in 99 of 100 cases, another in 81. So the first is better? Train each again, change nothing but the seed, and see what is left of the ranking.
#
# **Afterwards you can** fine-tune an encoder or a GPT on labels, give it a fair rival, say how sure a lead is, and make something of networks that disagree.
#
# **Before**: lessons 10 (masked tokens, pre-training) and 2b (seeds, standard errors).
#
# **Runs in** {runs_in}. **Study time** {study}.
#
# **Sources**: fine-tuning as in BERT (Devlin et al. 2019); that it depends on the seed, Dodge et al. (2020) and McCoy, Min and Linzen (2020); ensembles, Lakshminarayanan, Pritzel and Blundell (2017). All statements here were written for this course.

# %% tags=["setup", "machine"]
from itertools import combinations, product

import matplotlib.pyplot as plt
import numpy as np
import torch
from torch import nn
from torch.nn import functional as F
from torch.testing import assert_close

from coursekit.data.statements import number_words, statements
from coursekit.exercises import answer_or
from coursekit.exercises import labels as exercises
from coursekit.notebook import claim, compare_guess, figure, setup
from coursekit.notebook.widgets import type_text

device = setup("10c_labels", seed=42)

# %% [markdown]
# ## 10c.1 One label for a whole text
#
# The statements of lesson 10 again. Each has a label, 1 if it turned out well, 0 if not, and no template of the test is in training. `[CLS]`, number 1, stands before each; `present` says what is no padding.

# %%
from coursekit.windows.masking import pad_texts

train, validation, test = statements()
ids = number_words([one.text for one in train])


def read(part):  # (tokens, present), each (N, T), and the labels
    tokens, present = pad_texts([[1, *(ids[w] for w in one.text.split())] for one in part])
    labels = torch.tensor([one.label for one in part])
    return (tokens.to(device), present.to(device)), labels.to(device)


for one in (train[3], train[1000], test[500], test[-1]):
    print(one.label, one.text)

# %% [markdown]
# Lesson 10 left the encoder as it was and read its vectors; they knew nothing of the outcome. Now all weights learn: a head with two logits sits on *one* vector, and the gradient goes through the whole network. This is **text classification**; if the weights start from a pre-trained network, **fine-tuning**.
#
# Which vector? BERT takes that of `[CLS]`. But we also want causal networks, where `[CLS]` has read nothing, and the *last* token everything.

# %% [markdown] tags=["exercise"]
# > **Exercise 10c.1 (warm-up, 5 minutes).** Write `last_vector(vectors, present)`: for each text, the vector of its last token that is no padding. `vectors` is (B, T, C), `present` (B, T); padding stands at the end.
# >
# > <details><summary>Hint</summary>How long is each text? Then index with two lists, one of texts, one of positions.</details>


# %% tags=["stub"]
def last_vector(vectors, present): ...  # -> (B, C)


# %% tags=["check"]
exercises.check_last_vector(last_vector)


# %% tags=["solution"]
def last_vector(vectors, present):
    return vectors[range(len(vectors)), present.sum(1) - 1]


# %% [markdown]
# The encoder is now the library's, of the size of lesson 10; `attend` reads both ways, `attend_past` makes it causal. A run is a thousand steps; the learning rate, 0.006, did best on the validation statements, of 0.003, 0.006 and 0.01.

# %%
from coursekit.layers.attention import attend, attend_past
from coursekit.models.encoder import Encoder, EncoderConfig
from coursekit.training.fit import fit
from coursekit.training.optimiser import adamw, warm_up_cosine

sizes = EncoderConfig(vocab_size=len(ids), context=24, d_model=32, dropout=0.0)
last = answer_or(last_vector, lambda v, present: v[range(len(v)), present.sum(1) - 1])


class OurClassifier(nn.Module):
    def __init__(self, rule):
        super().__init__()
        self.encoder, self.head = Encoder(sizes, rule=rule), nn.Linear(32, 2)

    def forward(self, tokens, present):
        return self.head(last(self.encoder(tokens, present), present))


def train_it(model, batches, loss, lr, steps=1000):
    options = {"steps": steps, "schedule": warm_up_cosine(steps), "clip": 1.0}
    fit(model, adamw(model, lr, weight_decay=0.01), batches, loss=loss, **options)
    return model.eval()


def fine_tune(rule, seed, start=None, steps=1000):
    torch.manual_seed(seed)
    model, g = OurClassifier(rule).to(device), torch.Generator().manual_seed(seed)
    if start is not None:
        model.encoder.load_state_dict(start.state_dict())
    (tokens, present), y = read(train)
    picks = (torch.randint(len(y), (64,), generator=g) for _ in range(steps))
    batches = (((tokens[i], present[i]), y[i]) for i in picks)
    return train_it(model, batches, F.cross_entropy, 6e-3, steps)


# %% [markdown]
# Pre-training reads the same statements without their labels: masked tokens if the network reads both ways, the next word if it is causal. (`MaskedTokenModel` puts BERT's head on an encoder; its `encoder` is what we keep.)

# %%
from coursekit.evaluate.likelihood import next_token_loss
from coursekit.models.encoder import MaskedTokenModel
from coursekit.windows.masking import draw_masked


def next_words(tokens, present, g):
    while True:
        x = tokens[torch.randint(len(tokens), (64,), generator=g)]
        yield (x[:, :-1], x[:, :-1] > 0), x[:, 1:].where(x[:, 1:] >= 4, -100)


def pretrain(rule, seed):
    torch.manual_seed(seed)
    model, g = MaskedTokenModel(Encoder(sizes, rule=rule)), torch.Generator().manual_seed(seed)
    x = read(train)[0]
    masked = draw_masked(*x, 3, len(ids), 64, g, lowest=4)
    batches = masked if rule is attend else next_words(*x, g)
    return train_it(model.to(device), batches, next_token_loss, 5e-3).encoder


# %% [markdown]
# The rival that every classifier should have is a **bag of words**: a weight for each word, wherever it stands, and a sigmoid makes a probability of their sum (the logistic regression of lesson 9). Ours has a weight for each **bigram**, too.

# %% [markdown] tags=["exercise"]
# > **Exercise 10c.2 (build, 15 minutes).** Write `count_all(tokens, size)`: for each text a row of size + size² counts. First how often each id stands in it; then, at column size + a · size + b, how often id b follows id a. Ids below 4 are no words: they count nowhere, alone or in a pair. `tokens` is (N, T).
# >
# > <details><summary>Hint 1</summary><code>F.one_hot(tokens, size)</code> is (N, T, size), a 1 for each token. Sum over the right axis, without what is no word.</details>
# > <details><summary>Hint 2</summary>A pair is a number, too: a · size + b. Or: the product of two one-hot vectors, (N, T − 1, size, size), summed over T − 1, is the table of pairs.</details>


# %% tags=["stub"]
def count_all(tokens, size): ...  # -> (N, size + size²), floats


# %% tags=["check"]
exercises.check_count_all(count_all)


# %% tags=["solution"]
def count_all(tokens, size):
    words = F.one_hot(tokens, size).float() * (tokens >= 4)[..., None]
    pairs = torch.einsum("nta,ntb->nab", words[:, :-1], words[:, 1:])
    return torch.cat([words.sum(1), pairs.flatten(1)], 1)


# %%
from coursekit.models.bag import count_words, fit_bag, fit_logistic

counts = answer_or(count_all, lambda x, size: count_words(x, size, pairs=True, lowest=4))
(x, _), y = read(train)
weights = fit_logistic(counts(x, len(ids)), y, 2, decay=1e-5)  # hardly any penalty


def bag(tokens, present=None):
    return counts(tokens, len(ids)) @ weights


library = fit_bag(x, y, vocab_size=len(ids), lowest=4, decay=1e-5)
assert_close(bag(x).softmax(1), library(x).softmax(1), atol=0.02, rtol=0)
print(
    f"largest difference in probability {(bag(x).softmax(1) - library(x).softmax(1)).abs().max():.3f}"
)

# %% [markdown]
# Bidirectional or causal, from random weights or pre-trained: four kinds of network, with the same steps and the same 2,176 labels.
#
# **Predict.** On statements of new templates: which is best, `"bag"`, `"bidirectional"`, `"causal"`, `"bidirectional, pre-trained"` or `"causal, pre-trained"`?

# %% tags=["predict"]
guess = None  # one of the five


# %% tags=["nbval-ignore-output"]
def train_four(seed):
    found = {}
    for start in (None, pretrain):
        for name, rule in (("bidirectional", attend), ("causal", attend_past)):
            first = start and start(rule, seed)
            found[name + ", pre-trained" * bool(start)] = fine_tune(rule, seed, first)
    return found


runs = {0: train_four(0)}

# %% tags=["nbval-ignore-output"]


@torch.no_grad()
def accuracy(model, part):  # per cent
    x, y = read(part)
    return 100 * (model(*x).argmax(1) == y).float().mean().item()


right = {"bag": accuracy(bag, test)}
right |= {name: accuracy(model, test) for name, model in runs[0].items()}
compare_guess(guess, max(right, key=right.get))
print(f"{'':28} training   new templates")
for name, one in right.items():
    print(f"{name:28} {accuracy(runs[0].get(name, bag), train):8.0f}   {one:8.0f}")
claim(bag_accuracy=right["bag"])

# %% tags=["figure", "folded", "nbval-ignore-output"]
ax = plt.subplots(figsize=(6.8, 2.6))[1]
ranked = sorted(right, key=right.get)
ax.barh(ranked, [right[name] for name in ranked], color=["0.6"] * 4 + ["C1"])
for row, name in enumerate(ranked):
    ax.text(right[name] - 0.3, row, f"{right[name]:.0f}", color="white", ha="right", va="center")
ax.set(xlim=(50, 101), xlabel="right, new templates (%); 50 is chance", title="A clear ranking?")
figure("seed-0", alt="Five bars from the bag of words, 80, to a pre-trained causal network, 99.")

# %% [markdown]
# All of them know the training statements, and on new ones they lie far apart: a ranking to write home about.
#
# ## 10c.2 The same again, with another seed
#
# A **seed** decides two things here: the first weights, and the order in which statements are drawn. Train all four kinds again with the seeds 1, 2 and 3.
#
# **Predict.** The best and the worst network of seed 0 are 19 points apart. How far apart are the best and the worst of *one* kind?

# %% tags=["predict"]
guess = None  # points, such as 3

# %% tags=["nbval-ignore-output"]
runs[1] = train_four(1)

# %% tags=["nbval-ignore-output"]
runs[2] = train_four(2)

# %% tags=["nbval-ignore-output"]
runs[3] = train_four(3)

# %% tags=["nbval-ignore-output"]
kinds = list(runs[0])
score = {k: np.array([accuracy(runs[seed][k], test) for seed in range(4)]) for k in kinds}
error = {k: one.std(ddof=1) / 2 for k, one in score.items()}  # the mean's standard error
for k, one in score.items():
    print(f"{k:28}", *(f"{v:4.0f}" for v in one), f"   mean {one.mean():.1f} ± {error[k]:.1f}")
spread = max(map(np.ptp, score.values()))
compare_guess(guess, spread)
claim(widest_spread=spread)

# %% tags=["figure", "nbval-ignore-output"]
colors = dict(zip(kinds, ("C0", "C1", "C0", "C1"), strict=True))


def dots(ax, values, **options):  # a row for each kind, a dot for each network
    for row, k in enumerate(kinds):
        ax.plot(values[k], [-row] * len(values[k]), "o", color=colors[k], alpha=0.6)
    ax.set_yticks(range(0, -4, -1), [k.replace(", ", ",\n") for k in kinds])
    ax.set(ylim=(-3.6, 0.6), **options)


ax = plt.subplots(figsize=(6.8, 3.2))[1]
dots(ax, score, xlabel="right, new templates (%)", title="Four kinds, four seeds")
for row, k in enumerate(kinds):
    ax.errorbar(score[k].mean(), -row - 0.25, xerr=error[k], color="black", marker="|")
ax.axvline(right["bag"], color="0.4", linestyle=":")
ax.text(right["bag"] + 0.3, 0.3, "bag", color="0.4")
figure("four-kinds", alt="Dots of four kinds overlap widely; three means are nearly the same.")

# %% [markdown]
# Each dot is a network, the bar a mean with its standard error. Whatever seed 0 said: **networks of one kind, which differ in nothing but chance, lie as far apart as the kinds do**. How often would one run of each have told you the wrong order?

# %% tags=["nbval-ignore-output"]
wrong = []
for a, b in combinations(kinds, 2):
    gap = score[a].mean() - score[b].mean()
    wrong += [(v - w) * gap <= 0 for v, w in product(score[a], score[b])]
    ratio = gap / np.hypot(error[a], error[b])
    print(f"{a:28} {b:28} {gap:5.1f} points, {abs(ratio):.1f} standard errors")
claim(wrong_order=100 * np.mean(wrong))

# %% [markdown]
# In about a third of all pairs. Three of the four means can't be told apart. The fourth, causal and pre-trained, leads by nearly two standard errors, and by a little more with six seeds: perhaps predicting every word is the better preparation here. Exercise 10c.3 finds out.
#
# And what is "here"? Give the networks the first weights of lesson 10's own encoder, which are larger, and from random weights the causal ones lead the bidirectional ones by nine points. **A lead belongs to all that was done, not to one word in its name.**
#
# It need not be the seed, either. Move 64 of the statements to the end of the list, unchanged, and each of these networks becomes another one. So it was with a hundred BERTs, fine-tuned alike but for the seed (McCoy et al. 2020). On your machine, too, the dots will lie elsewhere: adding up the same gradients in another order is enough.
#
# ## 10c.3 What do they get wrong?
#
# One number hides which statements. Here are three kinds of them, each named by an example:

# %% tags=["nbval-ignore-output"]
forms = {
    "it was a dry cake but …": lambda form: " but " in form,
    "it was not a dry cake today": lambda form: " not " in form and "{r}" not in form,
    "nobody found the cake dry today": lambda form: "nobody" in form,
}
by_form = {}
for name, holds in forms.items():
    part = [one for one in test if holds(one.template)]
    by_form[name] = {k: [accuracy(runs[seed][k], part) for seed in range(4)] for k in kinds}
    by_form[name]["bag"] = accuracy(bag, part)
nots, nobody = list(by_form.values())[1:]
claim(bag_on_not=nots["bag"], widest_spread_on_nobody=max(np.ptp(nobody[k]) for k in kinds))

# %% tags=["figure", "folded", "nbval-ignore-output"]
panels = plt.subplots(1, 3, figsize=(8.4, 3), sharex=True, sharey=True)[1]
for ax, (name, values) in zip(panels, by_form.items(), strict=True):
    dots(ax, values, xlim=(-4, 104))
    ax.set_title(name, fontsize=9)
    ax.axvline(values["bag"], color="0.4", linestyle=":")
    ax.text(values["bag"] - 3, -3.4, "bag", color="0.4", ha="right", fontsize=8)
panels[1].set(xlabel="right (%): 50 is chance")
figure(
    "by-form",
    alt="On not, the bag is below 50 and most networks above; on nobody, dots from 0 to 100.",
)

# %% [markdown]
# With *but*, two clauses side by side, the bag and its bigrams are level with the networks. *Not* flips a statement, and the bag, which adds up what it sees, falls below chance; most networks have learned it. And on *nobody*, networks of one kind are anywhere from 0 to 100, though in training all are right. **Equal in training is not equal.**
#
# **Your turn.** A **minimal pair** is two statements that differ in one thing. Write a few, one a line, in the words of the others, and note the right answers first.


# %% tags=["live"]
@torch.no_grad()
def judge(lines):  # each one's probability of a good outcome; unknown words are left out
    for text in lines.splitlines():
        x = torch.tensor([[1, *(ids[w] for w in text.split()[:23] if w in ids)]], device=device)
        print(text)
        for k in ["bag", *kinds]:
            models = [bag] if k == "bag" else [runs[seed][k] for seed in range(4)]
            good = (model(x, x > 0)[0].softmax(0)[1] for model in models)
            print(f"   {k:28}", *(f"{one:.2f}" for one in good))


type_text(judge, "they found the letter torn today .\nnobody found the letter torn today .")

# %% [markdown]
# ## 10c.4 Four tickets
#
# If each network is a ticket in a lottery, don't bet on one. An **ensemble** averages the probabilities of several; where they err by chance, they seldom err together.
#
# **Predict.** The four causal, pre-trained networks are right in 95 or 96 % on average. Their ensemble?

# %% tags=["predict"]
guess = None  # per cent


# %% tags=["nbval-ignore-output"]
def ensemble(models):
    def logits(*x):  # of the mean of the probabilities
        return torch.stack([model(*x).softmax(1) for model in models]).mean(0).log()

    return logits


together = {k: ensemble([runs[seed][k] for seed in range(4)]) for k in kinds}
for k in kinds:
    known = accuracy(together[k], validation)
    print(
        f"{k:28} mean {score[k].mean():5.1f}   together {accuracy(together[k], test):5.1f}", end=""
    )
    print(f"   (validation {known:.1f})")
gain = {k: accuracy(together[k], test) - score[k].mean() for k in kinds}
compare_guess(guess, accuracy(together["causal, pre-trained"], test))
claim(smallest_gain_of_an_ensemble=min(gain.values()), mean_gain=np.mean(list(gain.values())))

# %% tags=["figure", "folded", "nbval-ignore-output"]
ax = plt.subplots(figsize=(6.8, 3.2))[1]
dots(ax, score, xlabel="right, new templates (%)", title="Four networks, and their mean opinion")
for row, k in enumerate(kinds):
    ax.plot(accuracy(together[k], test), -row, "k*", markersize=13)
ax.plot([], [], "k*", label="ensemble")
ax.legend(loc="lower left")
figure("ensemble", alt="Stars, the ensembles, lie right of the middle of their dots.")

# %% [markdown]
# **Every ensemble beats the mean of its members**, by three to five points, and the best makes hardly a mistake. Chance averages out. A mistake that most of the members share doesn't: on *nobody*, the ensembles of three kinds are still wrong more often than right or about as often.

# %% [markdown] tags=["exercise"]
# > **Exercise 10c.3 (investigate, 20 minutes).** Four networks cost four times as much, so the comparison isn't fair yet. Train one network of each kind for 4,000 steps, `fine_tune(rule, seed, start, steps=4000)`, about 28 seconds each, with two seeds. Which is the better use of the time?
#
# |right, new templates|one, 1,000 steps (mean)|one, 4,000 steps: seeds 0, 1|four together|
# |---|---|---|---|
# |bidirectional||||
# |causal||||
# |bidirectional, pre-trained||||
# |causal, pre-trained||||
#
# > <details><summary>What we found</summary>After 4,000 steps: bidirectional 86 and 91, causal 93 and 87, bidirectional and pre-trained 93 and 86; together their four did as well or better: 92, 93 and 95. But the causal, pre-trained network, which with 1,000 steps was right in 95.5 on average, is right in 99.9 and 99.6 (with seeds 2 and 3 in 99.7 and 98.9): it needs no ensemble, only time. So this lead was real, and a thousand steps too few to see it. Is it the number of targets, seven times as many when every word is one? We trained three encoders on masked tokens for 7,000 steps, then 4,000 on labels: 90, 90 and 85. That isn't it. We don't know what is.</details>

# %% [markdown]
# ## What you now have
#
# - **Which network is better?** Of these four, hardly any can be called so: the seed alone moves one by as much as the kinds differ.
# - A head on the last vector, and fine-tuning; a bag of words and bigrams as the rival.
# - What to report: several seeds with a standard error, a test for each thing that you need (minimal pairs), and an ensemble, if you need the answer and not the paper.
#
# **What still fails.** *Nobody*: 64 statements in one template of the test, two in training. No average mends what the data leave open.

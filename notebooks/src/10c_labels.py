# %% [markdown]
# # 10c · Which network is better?
#
# Two networks learn from the same labels. On new statements one is right in 90 of 100 cases, the other in 73. Is the first better? Train both again and change nothing but the seed: one such run gives 65 against 87. How would you know?
#
# **Afterwards you can** fine-tune an encoder or a GPT on labels, give it a fair baseline, say how sure a lead is, find the questions on which networks disagree, and fix one of them.
#
# **Before**: lessons 10 (masked tokens, pre-training) and 2b (seeds, standard errors).
#
# **Runs in** {runs_in}. **Study time** {study}.
#
# **Sources**: fine-tuning as in BERT (Devlin et al. 2019); that it depends on the seed, Dodge et al. (2020), McCoy, Min and Linzen (2020) and Mosbach, Andriushchenko and Klakow (2021); encoders and GPTs trained alike, Weller et al. (2025). All statements here were written for this course.

# %% tags=["setup", "machine"]
import matplotlib.pyplot as plt
import numpy as np
import torch
from torch import nn
from torch.nn import functional as F
from torch.testing import assert_close

from coursekit.data.statements import number_words, statements
from coursekit.exercises import answer_or
from coursekit.exercises import labels as exercises
from coursekit.notebook import claim, compare_guess, figure, read_record, setup

device = setup("10c_labels", seed=42)

# %% [markdown]
# ## 10c.1 One label for a whole text
#
# The statements of lesson 10 again. Each has a label, 1 if things turned out well, 0 if not. They are made from 56 templates, such as `it was not a {o} {s} {t} .`: `{s}` is the thing, `{x}` how it was, `{o}` the opposite, `{t}` when, `{w}` who, and `{r}` a reaction. 34 of these, drawn once, are for training, 8 for validation, 14 for the test: no template occurs in two of them. The ids 0 to 3 are `[PAD]`, `[CLS]`, `[SEP]` and `[MASK]`; `[CLS]` stands before each statement, and `present` is False where there is padding.

# %%
from coursekit.windows.masking import pad_texts

train, validation, test = statements()
ids = number_words([one.text for one in train])


def read(part):  # (tokens, present), each (N, T), and the labels
    texts = [[1, *(ids[w] for w in one.text.split())] for one in part]
    tokens, present = pad_texts(texts, multiple_of=8)  # steps are faster at these lengths
    labels = torch.tensor([one.label for one in part])
    return (tokens.to(device), present.to(device)), labels.to(device)


for one in (train[3], train[1000], test[500], test[-1]):
    print(one.label, one.text)

# %% [markdown]
# Lesson 10 left the encoder as it was and probed its vectors. Now all weights learn: a head with two logits sits on *one* vector, and the gradient goes through the whole network. This is **text classification**; if the weights start from a pre-trained network, **fine-tuning**. Which vector?

# %% tags=["figure", "folded"]
from coursekit.notebook.pictures import draw_numbers

words = ["[CLS]", "the", "cake", "was", "not", "dry", "."]
axes = plt.subplots(1, 2, figsize=(7.6, 1.9), sharey=True)[1]
panels = {"bidirectional": np.ones((7, 7)), "causal": np.tri(7)}
for ax, (title, allowed) in zip(axes, panels.items(), strict=True):
    draw_numbers(ax, allowed[[0, -1]], ["[CLS]", "the full stop"], words)
    ax.set_title(f"{title}: who has read what")
figure("who-has-read-what", alt="A causal [CLS] has read itself only; the last token everything.")

# %% [markdown]
# BERT uses the vector at `[CLS]`. But in a causal network `[CLS]` has read only itself, and the *last* token everything. So we take the last, for both.
#
# The encoder is now the library's, of the size of lesson 10. `attend` makes it bidirectional, `attend_past` causal. (`last_present` takes the vector of each text's last token, padding aside.)

# %%
from coursekit.layers.attention import attend, attend_past
from coursekit.models.encoder import Encoder, EncoderConfig, last_present

sizes = EncoderConfig(vocab_size=len(ids), context=24, d_model=32, dropout=0.0)


class OurClassifier(nn.Module):
    def __init__(self, rule):
        super().__init__()
        self.encoder, self.head = Encoder(sizes, rule=rule), nn.Linear(32, 2)

    def forward(self, tokens, present):
        return self.head(last_present(self.encoder(tokens, present), present))


# %% [markdown]
# Every network gets 1,500 steps of 32 statements, with the loop, the schedule and the learning rate of lesson 10. One that is pre-trained has spent 500 of them on text without labels. So every network takes the same number of steps. (The learning rate is one for all; none was tuned. BERT's are a hundred times smaller.)

# %%
from coursekit.training.fit import fit
from coursekit.training.optimiser import adamw, warm_up_cosine


def train_it(model, batches, loss, steps):
    options = {"steps": steps, "schedule": warm_up_cosine(steps), "clip": 1.0}
    fit(model, adamw(model, 5e-3, weight_decay=0.01), batches, loss=loss, **options)
    return model.eval()


def fine_tune(rule, seed, start=None, part=train, steps=1500):  # start: pre-trained, or none
    torch.manual_seed(seed)
    model, g = OurClassifier(rule).to(device), torch.Generator().manual_seed(seed)
    if start is not None:
        model.encoder.load_state_dict(start.state_dict())
    (tokens, present), y = read(part)
    picks = (torch.randint(len(y), (32,), generator=g) for _ in range(steps))
    batches = (((tokens[i], present[i]), y[i]) for i in picks)
    return train_it(model, batches, F.cross_entropy, steps)


# %% [markdown]
# Pre-training uses the same statements without their labels, as in lesson 10, but only for 500 steps of 32: no more data, only another task for them. A bidirectional network fills in masked tokens (`draw_masked` hides them as you did), a causal one predicts each next word. For this, `MaskedTokenModel` puts an output layer with a logit for each word on the encoder. Afterwards we take it off.

# %%
from coursekit.evaluate.likelihood import next_token_loss
from coursekit.models.encoder import MaskedTokenModel
from coursekit.windows.masking import draw_masked


def next_words(tokens, present, g):
    while True:
        x = tokens[torch.randint(len(tokens), (32,), generator=g)]
        after = F.pad(x[:, 1:], (0, 1))  # nothing comes after the last
        yield (x, x > 0), after.where(after >= 4, -100)


def pretrain(rule, seed, steps=500):
    torch.manual_seed(seed)
    model, g = MaskedTokenModel(Encoder(sizes, rule=rule)), torch.Generator().manual_seed(seed)
    x = read(train)[0]
    masked = draw_masked(*x, ids["[MASK]"], len(ids), 32, g, lowest=4)
    batches = masked if rule is attend else next_words(*x, g)
    return train_it(model.to(device), batches, next_token_loss, steps).encoder


# %% [markdown]
# ## 10c.2 What counting can do
#
# The baseline that every classifier should have is a **bag of words**: for each label a weight for each word, wherever it stands, and a softmax of the two sums (the logistic regression of lesson 9). Ours has a weight for each **bigram**, two neighbours, too.

# %% [markdown] tags=["exercise"]
# > **Exercise 10c.1 (build, 15 minutes).** Write `count_all(tokens, size)`: for each text a row of size + size² counts. First how often each id stands in it; then, at column size + a · size + b, how often id b follows id a. Ids below 4 aren't words: they count nowhere, alone or in a pair. `tokens` is (N, T), integers; the counts are floats.
# >
# > <details><summary>Hint 1</summary><code>F.one_hot(tokens, size)</code> is (N, T, size), a 1 for each token. Sum over the right axis, without what isn't a word.</details>
# > <details><summary>Hint 2</summary>A pair is a number, too: size + a · size + b. With a loop over the texts, <code>torch.bincount</code> or <code>scatter_add_</code> counts them; without one, <code>torch.einsum</code> sums the products of two one-hot vectors over all positions.</details>


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


def library_counts(tokens, size):
    return count_words(tokens, size, pairs=True, lowest=4)


count = answer_or(count_all, library_counts)
(x, _), y = read(train)
counts = count(x, len(ids))
seen = counts.any(0)  # the words and pairs that occur
weights = fit_logistic(counts[:, seen], y, 2, decay=1e-5)  # a cross-entropy, minimised


def bag(tokens, present=None):
    return count(tokens, len(ids))[:, seen] @ weights


print(f"{seen.sum()} words and pairs in {len(x)} statements")
assert_close(bag(x), fit_bag(x, y, vocab_size=len(ids), lowest=4, decay=1e-5)(x))

# %% [markdown]
# Bidirectional or causal, from random weights or pre-trained: four kinds of network, with the same 2,176 statements and equally many steps.
#
# **Predict.** On statements of new templates: which is best, `"bag"`, `"bidirectional"`, `"causal"`, `"bidirectional, pre-trained"` or `"causal, pre-trained"`?

# %% tags=["predict"]
guess = None  # one of the five


# %% tags=["nbval-ignore-output"]
starts = {}


def train_four(seed):
    found = {}
    for name, rule in (("bidirectional", attend), ("causal", attend_past)):
        starts[name, seed] = pretrain(rule, seed)  # 500 steps
        found[name] = fine_tune(rule, seed)
        found[f"{name}, pre-trained"] = fine_tune(rule, seed, starts[name, seed], steps=1000)
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
ax = plt.subplots(figsize=(7.2, 3))[1]
ranked = sorted(right, key=right.get)
ax.barh(
    ranked, [right[name] for name in ranked], color=["0.6" if k == "bag" else "C0" for k in ranked]
)
for row, name in enumerate(ranked):
    ax.text(right[name] - 1, row, f"{right[name]:.0f}", ha="right", va="center", color="white")
ax.set(xlim=(50, 100), xlabel="right, new templates (%); chance is 50", title="A clear ranking?")
figure("one-run", alt="One network of each kind and the bag: 73 to 95 per cent.")

# %% [markdown]
# The networks know nearly all of the training statements, and on new ones they lie far apart: a clear ranking, it seems. How much of it is chance?
#
# ## 10c.3 The same again, with another seed
#
# A **seed** decides the first weights, and all that is drawn: which statements when, and what is masked. Train all four kinds again with the seeds 1, 2 and 3.
#
# **Predict.** The best and the worst network of seed 0 are 22 points apart. How far apart are the best and the worst of *one* kind, the one that varies most?

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


def score(part):
    return {k: np.array([accuracy(runs[seed][k], part) for seed in range(4)]) for k in kinds}


def line(numbers):
    return " ".join(f"{one:3.0f}" for one in numbers)


right, on_validation = score(test), score(validation)
error = {k: one.std(ddof=1) / 4**0.5 for k, one in right.items()}  # the mean's standard error
for k, one in right.items():
    print(f"{k:27} test {line(one)}, mean {one.mean():.1f} ± {error[k]:.1f}", end=", ")
    print("validation", line(on_validation[k]))
spread = max(map(np.ptp, right.values()))
compare_guess(guess, spread)
within = np.sqrt(np.mean([one.var(ddof=1) for one in right.values()]))  # the kinds together
between = np.std([one.mean() for one in right.values()], ddof=1)
print(f"standard deviation within a kind {within:.1f}, of the means {between:.1f}")
claim(widest_spread=spread, deviation_within_a_kind=within, within_over_between=within / between)

# %% tags=["figure", "nbval-ignore-output"]
colors = dict(zip(kinds, ("C0", "C0", "C1", "C1"), strict=True))


def dots(ax, **options):  # a row for each kind, a dot for each network
    for row, k in enumerate(kinds):
        ax.plot(right[k], [-row] * 4, "o", color=colors[k], alpha=0.6)
    ax.set_yticks(range(0, -4, -1), [k.replace(", ", ",\n") for k in kinds])
    ax.set(ylim=(-3.6, 0.6), xlabel="right, new templates (%)", **options)


ax = plt.subplots(figsize=(6.8, 3.2))[1]
dots(ax, title="Within a row only the seed differs")
for row, k in enumerate(kinds):
    ax.errorbar(right[k].mean(), -row - 0.25, xerr=error[k], color="black", marker="|")
level = accuracy(bag, test)
ax.axvline(level, color="0.4", linestyle=":")
ax.text(level + 0.3, 0.3, "bag", color="0.4")
figure(
    "four-kinds",
    alt="Dots of four kinds overlap; three means lie within six points, one is ahead.",
)

# %% [markdown]
# Each dot is a network, the bar a mean with its standard error. **Networks that differ in nothing but chance scatter by 8 points** (standard deviation over all kinds; the causal ones without pre-training by 14), the four means by 7. Were all kinds equally good, the means of four such networks would still scatter by 8/√4 = 4. So a good part of the picture may be chance. All of it?

# %% [markdown] tags=["exercise"]
# > **Exercise 10c.2 (warm-up, 5 minutes).** How sure is a lead? Write `lead(a, b)`: `a` and `b` are tensors, a score for each seed. Return the mean of a minus that of b, and the standard error of this difference. All runs are independent.
# >
# > <details><summary>Hint</summary>The variance of a mean of n runs is <code>a.var() / n</code>. Of a difference the two variances add up.</details>


# %% tags=["stub"]
def lead(a, b): ...  # -> (difference, error)


# %% tags=["check"]
exercises.check_lead(lead)


# %% tags=["solution"]
def lead(a, b):
    return a.mean() - b.mean(), (a.var() / len(a) + b.var() / len(b)) ** 0.5


# %%
from coursekit.evaluate.seeds import compare_means

compare = answer_or(lead, compare_means)  # the library's


def tell(scores, first, second):
    ahead, error = compare(torch.tensor(scores[first]), torch.tensor(scores[second]))
    print(f"{first} leads {second} by {ahead:.1f} ± {error:.1f}")
    return float(ahead)


# %% tags=["nbval-ignore-output"]
opening = tell(right, "causal", "bidirectional")
*others, first = sorted(kinds, key=lambda k: right[k].mean())
leads = {k: tell(right, first, k) for k in others}
claim(lead_of_the_opening=opening, lead_over_the_others=np.mean(list(leads.values())))
claim(lead_over_the_bidirectional=min(leads.get(k, 0.0) for k in kinds[:2]))

# %% [markdown]
# So *causal* and *bidirectional*, the 90 and 73 of the beginning, and the 65 and 87 of seed 3, differ by 2.9 ± 7.4: **nobody can tell.** The best kind of the four leads clearly over the bidirectional kinds. (With four seeds, a lead should be three standard errors or more, and part of it is that the best was looked for.) Over *causal* it is only one and a half: a hint, no proof. (On your machine gradients are added up in another order, and the dots lie elsewhere.)
#
# ## 10c.4 Where do they differ?
#
# One number hides which statements. Here is each test template, by an example, and each network.

# %% tags=["nbval-ignore-output"]
forms = sorted({one.template for one in test})
columns = [bag, *(runs[seed][k] for k in kinds for seed in range(4))]
parts = [[one for one in test if one.template == form] for form in forms]
table = np.array([[accuracy(model, part) for model in columns] for part in parts])
by_form = dict(zip(forms, table, strict=True))
reaction = [form for form in forms if "{r}" in form]  # which gives the outcome away
negation = [form for form in forms if " not " in form and form not in reaction]
claim(right_with_a_reaction=np.mean([by_form[form] for form in reaction]))
claim(bag_on_not=np.mean([by_form[form][0] for form in negation]))

# %% tags=["figure", "folded", "nbval-ignore-output"]
words = {"s": "cake", "x": "tasty", "o": "dry", "w": "we", "t": "today", "r": "people smiled"}
order = table[:, 1:].mean(1).argsort()
ax = plt.subplots(figsize=(9, 4.9))[1]
picture = ax.imshow(table[order], "RdBu", vmin=0, vmax=100, aspect="auto")
ax.set_yticks(range(14), [forms[i].format(**words)[:-2] for i in order], fontsize=9)
ax.set_xticks(range(17), ["", *(list(range(4)) * 4)], fontsize=8)
ax.text(0, 13.9, "bag", ha="center", fontsize=9)
for k, name in enumerate(kinds):
    ax.text(2.5 + 4 * k, -0.7, name.replace(", ", ",\n"), ha="center", fontsize=9)
for edge in (0.5, 4.5, 8.5, 12.5):
    ax.axvline(edge, color="white", linewidth=4)
ax.grid(visible=False)
ax.set_xlabel("seed", labelpad=2)
ax.set_title("For some questions the seed decides", pad=34)
plt.colorbar(picture, label="right (%), white is chance")
figure(
    "templates", alt="Six rows are blue; in the others networks of one kind are red, white or blue."
)

# %% [markdown]
# Where a reaction gives the outcome away (*people smiled*), nearly all are right. *Not* flips a statement: most networks have learned it, the bag guesses. And in about six rows networks of one kind range from nearly always right to mostly wrong. Each row is worth 7 points. So the unit is the template, not the statement: 896 test statements are fourteen questions.
#
# The picture asks two things. Why does the bag fail at *not*? And why do networks of one kind differ?
#
# ## 10c.5 A better rival
#
# The pairs of the bag are neighbours. They don't reach from *not* over *a* to *dry*. Let them reach: count each pair of words of a statement, in order, however far apart.


# %%
def count_apart(tokens, size):
    words = F.one_hot(tokens, size).float() * (tokens >= 4)[..., None]
    before = words.cumsum(1) - words  # what has been said so far
    return torch.cat([words.sum(1), torch.einsum("nta,ntb->nab", before, words).flatten(1)], 1)


# %%
def fit_pairs(part):
    (x, _), y = read(part)
    counts = count_apart(x, len(ids))
    seen = counts.any(0)
    weights = fit_logistic(counts[:, seen], y, 2, decay=1e-5)
    return lambda tokens, present=None: count_apart(tokens, len(ids))[:, seen] @ weights


pairs_apart = fit_pairs(train)

# %% [markdown]
# **Predict.** The bag was right in 80 % of the new statements. And with pairs at any distance?

# %% tags=["predict"]
guess = None  # per cent

# %% tags=["nbval-ignore-output"]
of_pairs = accuracy(pairs_apart, test)
compare_guess(guess, of_pairs)
claim(pairs_at_any_distance=of_pairs)
both = {k: (right[k].mean(), on_validation[k].mean()) for k in kinds}
both |= {"pairs": (of_pairs, accuracy(pairs_apart, validation))}
for name, (on_test, valid) in both.items():
    print(f"{name:27} test {on_test:.1f}, validation {valid:.1f}")

# %% tags=["nbval-ignore-output"]
by_pairs = np.array([accuracy(pairs_apart, part) for part in parts])
column = 1 + 4 * kinds.index(first)  # its four networks
ahead = table[:, column : column + 4].mean(1) - by_pairs
error_of_it = ahead.std(ddof=1) / 14**0.5  # fourteen differences, one a template
print(f"{first} leads the pairs by {ahead.mean():.1f} ± {error_of_it:.1f}")
claim(lead_over_pairs=ahead.mean())

# %% tags=["figure", "folded", "nbval-ignore-output"]
ax = plt.subplots(figsize=(9, 4.6))[1]
for row, i in enumerate(by_pairs.argsort()):
    ax.plot([table[i, 0], by_pairs[i]], [row, row], color="0.7", linewidth=3, zorder=1)
    ax.plot(table[i, 0], row, "o", color="0.55", markersize=9)
    ax.plot(by_pairs[i], row, "o", color="black", markersize=9)
    ax.text(-4, row, forms[i].format(**words)[:-2], ha="right", va="center", fontsize=9)
worst = by_pairs.argmin()
for level, text in ((table[worst, 0], "neighbours"), (by_pairs[worst], "at any distance")):
    ax.text(level, 0.45, text, ha="center", color="0.3", fontsize=9)
ax.set(xlim=(-2, 102), yticks=[], xlabel="right, new templates (%)")
ax.set_title("Pairs at any distance reach from not to dry")
figure("pairs", alt="Grey dots for neighbours, black ones for pairs at any distance, by template.")

# %% [markdown]
# 92 %, and no seed in it. (We thought of these pairs when we had seen the picture of the templates, which are the test's. On validation they are level with the networks. There a decay of 1e-6 is as good as our 1e-5, and larger ones are worse.) **After 1,500 steps no kind is clearly better than a weight for each pair of words.** A network must beat that first.
#
# ## 10c.6 Ask what the data don't say
#
# Why do networks of one kind differ? Look at the row on top of the picture of the templates, *nobody found the cake dry today*. In training there are two templates with *nobody*. In one a reaction follows, which gives the outcome away. The other is this one, with the time in front.

# %% tags=["nbval-ignore-output"]
known = [one for one in train if one.template.startswith("{t} nobody")]
asked = [one for one in test if "nobody" in one.template]
print(f"training: {known[0].template}\nnew:      {asked[0].template}")
trained_on, unseen = score(known), score(asked)
claim(know_nobody_in_training=sum((one > 90).sum() for one in trained_on.values()))
claim(widest_spread_on_nobody=max(map(np.ptp, unseen.values())))

# %% tags=["figure", "folded", "nbval-ignore-output"]
axes = plt.subplots(1, 4, figsize=(9, 3.2), sharey=True)[1]
for ax, k in zip(axes, kinds, strict=True):
    both = [trained_on[k], unseen[k]]
    ax.plot(["in training", "new"], both, "o-", color=colors[k], alpha=0.6)
    ax.axhline(50, color="0.4", linestyle=":")
    ax.set(title=k.replace(", ", ",\n"), xlim=(-0.4, 1.4))
axes[0].set_ylabel("right about nobody (%)")
axes[0].figure.suptitle("Equal in training is not equal")
figure("equal-in-training", alt="All sixteen near 100 in training; on the new template 0 to 97.")

# %% [markdown]
# In the new template the time stands at the end, and *nobody* in front. All sixteen are right about *nobody* in statements that they have learned from. In the new ones four mostly are, four are right in half of the cases, and eight say the opposite. (McCoy, Min and Linzen (2020) fine-tuned a hundred BERTs alike but for the seed: nearly equal on sentences like those of training, anything from 0 to 66 % on one kind of new ones.)
#
# In training *nobody* follows a time wherever it matters. So a network may have learned the pair *today nobody*, or a *nobody* in second position, instead of the word; if that is why, chance decides which. Try it: tell the networks that the time doesn't matter. For each statement that has one, add a copy without it (**data augmentation**). The template of the test is still new, but cut off the time, and 41 of its 64 statements are in the new training set. So the other 23 have a row of their own. (Of two more templates of the test, as many occur.)

# %% tags=["nbval-ignore-output"]
from dataclasses import replace


def without_time(one):
    text = one.text.replace("this time", "today")
    return replace(one, text=text.removeprefix("today ").replace(" today .", " ."))


more = train + [without_time(one) for one in train if "{t}" in one.template]
print(f"{len(train)} statements, now {len(more)}, such as:", more[-1].text)
familiar = {without_time(one).text for one in train}
others = [one for one in asked if without_time(one).text not in familiar]
told = [fine_tune(attend, seed, part=more) for seed in range(4)]  # bidirectional


# %% tags=["nbval-ignore-output"]
def four(models, part):
    return np.array([accuracy(one, part) for one in models])


rest = [one for one in test if "nobody" not in one.template]
groups = {"nobody": asked, "the 23 unseen": others, "the other thirteen": rest}
before = {name: score(part)["bidirectional"] for name, part in groups.items()}
after = {name: four(told, part) for name, part in groups.items()}
for name in groups:
    print(f"{name:18} before {line(before[name])}, mean {before[name].mean():.0f}", end=", ")
    print(f"after {line(after[name])}, mean {after[name].mean():.0f}")
claim(right_on_nobody_before=before["nobody"].mean(), right_on_nobody_now=after["nobody"].mean())
claim(right_on_other_nobodies_now=after["the 23 unseen"].mean())

# %% tags=["figure", "folded", "nbval-ignore-output"]
axes = plt.subplots(1, 2, figsize=(7.2, 3.2), sharey=True)[1]
for ax, name in zip(axes, ("nobody", "the other thirteen"), strict=True):
    both = [before[name], after[name]]
    ax.plot(["before", "after"], both, "o-", color="C0", alpha=0.6)
    ax.set(title=name, xlim=(-0.3, 1.3))
axes[0].set_ylabel("right (%), a line for each seed")
axes[0].figure.suptitle("With 640 more short statements, all four are right about nobody")
figure("nobody", alt="On nobody the four lines end at 100; on the others they rise or fall.")

# %% [markdown]
# **The four were right about *nobody* in 40 % of cases, and now they always are**, also on the 23: with as many steps, and 640 more short statements. On the other thirteen templates it is 85 % instead of 83, two seeds up and two down. (Whether the time or the position was the trouble we can't tell: the short statements change both.) Do causal networks learn it, too? And was it that the statements are *short*, or only that there are more? That is exercise 10c.3. This is what a table by template is for: it says where to look.
#
# But mind that we looked at the test to find this remedy. Whether it helps with questions that we haven't seen, only new questions can say.

# %% [markdown] tags=["exercise"]
# > **Exercise 10c.3 (investigate, 20 minutes).** Was it the *short* statements, or only that there were more? Train causal networks, seeds 0 to 3, with something else added, and complete the table. In which rows are all test templates still new? And which would you report?
# >
# > <details><summary>Hint</summary>The time is <em>today</em> or <em>this time</em>, at the beginning or before the full stop. Take it off with <code>without_time</code>, then put it where it wasn't: <code>replace(one, text=…)</code>. Leave <em>this time</em> as it is, or write <em>today</em> for both.</details>
# >
# > ```python
# > timed = [one for one in train if "{t}" in one.template]  # add these once more, as they are
# > model = fine_tune(attend_past, 0, part=train + timed)  # about ten seconds
# > ```
#
# |added|*nobody*, seeds 0–3|all new templates, mean|
# |---|---|---|
# |nothing|||
# |the 640 statements with a time, once more|||
# |the same without their time|||
# |the same with the time at the other end|||
#
# > <details><summary>What we found</summary>Nothing: 0, 84, 8, 5 on <em>nobody</em> and 83.0 on all. Once more: 92, 2, 3, 0 and 83.6, a lottery. Without their time: 91, 95, 95, 100 and 89.2. With the time at the other end: 50, 95, 95, 95 and 87.0. So it was not that there are more. (With the time at the other end seed 0 is right in half of the cases, on a template that it has been trained on.) In the last row three of the four test templates with a time are in the training, and one of validation is not new either: don't report it.</details>

# %% [markdown]
# ## 10c.7 Train for longer
#
# Were they trained for long enough? Take 6,000 steps instead of 1,500, a third of them for pre-training as before. That takes too long here, so we have recorded such runs. (With BERT, too, usual recipes often stop too soon: Zhang et al. 2021.)
#
# **Predict.** After 1,500 steps the four means were 78 to 93 %, and the pairs had 92. The best mean after 6,000?

# %% tags=["predict"]
guess = None  # per cent


# %%
def recorded(kind, names):  # per cent right on new templates, of each such run
    runs = [read_record(f"labels-{kind.replace(', ', '-')}-{name}") for name in names]
    return np.array([run.result["right"] for run in runs])


longer = {k: recorded(k, range(4)) for k in kinds}
for k, one in longer.items():
    print(f"{k:27} {line(one)}, mean {one.mean():.1f} ± {one.std(ddof=1) / 2:.1f}")
best = max(kinds, key=lambda k: longer[k].mean())
compare_guess(guess, longer[best].mean())
claim(longer_lead_over_causal=tell(longer, best, "causal"))
highest = max(longer[k].max() for k in kinds[:2])  # of eight bidirectional networks
claim(causal_above_all_others=sum((longer[k] > highest).sum() for k in kinds[2:]))

# %% tags=["figure", "folded", "nbval-ignore-output"]
ax = plt.subplots(figsize=(7.6, 3.8))[1]
for row, k in enumerate(kinds):
    ax.plot(longer[k], [-row - 0.3] * 4, "D", color=colors[k])
dots(ax, title="Recorded: after 6,000 steps one kind stands out")
ax.axvline(of_pairs, color="0.4", linestyle=":", label="pairs, far apart")
ax.plot([], [], "o", color="0.5", label="one network, 1,500 steps")
ax.plot([], [], "D", color="0.5", label="one network, 6,000 steps")
ax.legend(loc="lower left")
figure(
    "remedies", alt="After 6,000 steps causal networks lie at 91 to 100, the others at 82 to 92."
)

# %% [markdown]
# **With more training one kind stands out**: causal, pre-trained networks are nearly always right, well above the 92 of the pairs, and 4.7 ± 1.9 above the other causal ones, which is two and a half standard errors. So, at this learning rate, there is a winner for these tiny statements. (Seven of the eight causal networks lie above all eight bidirectional ones.)
#
# Is it only these questions? We have recorded three other draws of the 34, 8 and 14 templates, one network of each kind. And do the bidirectional ones suffer from reading the last token? We have recorded these with `[CLS]`, too, as in BERT.

# %% tags=["nbval-ignore-output"]
draws = {k: recorded(k, ["split-1", "split-2", "split-3"]) for k in kinds}
splits = [statements(split=n) for n in (1, 2, 3)]  # training, validation, test
draws["pairs"] = np.array([accuracy(fit_pairs(split[0]), split[2]) for split in splits])
for k, one in draws.items():
    print(f"{k:27} other draws {line(one)}")
won = sum(draws[best] == np.max([draws[k] for k in kinds], 0))
claim(other_draws_won=won, other_draws_above_pairs=sum(draws[best] > draws["pairs"]))
with_cls = recorded("bidirectional, pre-trained, cls", range(4))
with_last = longer["bidirectional, pre-trained"]
print(f"with [CLS] {with_cls.mean():.1f}, with the last token {with_last.mean():.1f}")

# %% [markdown]
# The causal, pre-trained one is the best network each time, and above the pairs in two of the three. The order of the others changes: without pre-training, causal networks are behind pre-trained bidirectional ones in two of the three. With `[CLS]` bidirectional networks are no better.
#
# Why it wins we don't know: in pre-training it has a target at every word, the bidirectional ones at 15 % of them, and the learning rate is one for all. (The first can't be all: on these questions causal ones lead without pre-training, too.) And don't generalise: among networks of 17 million to a billion parameters, trained alike on English text, encoders lead at classification (Weller et al. 2025).

# %% [markdown]
# ## What you now have
#
# - **Which network is better?** One run can't say: chance moved a network by as much as the kinds differed, and of 90 against 73 four seeds each left 2.9 ± 7.4. After four times the steps one kind was ahead, and on three other draws of the templates, too.
# - A rival that no seed can move: a weight for each pair of words. It was level with the best kind at first, and behind it at last, but for one draw.
# - A head on the last vector, and fine-tuning; a bag of words and of pairs, near and far, as baselines.
# - What to report: several seeds with a standard error, how much each was tuned, and a table by template. What to do: train for longer, and look at what the data don't say.
#
# **What still fails.** Fourteen questions, all ours, and we have looked at them. A number on one test is a number on *that* test.

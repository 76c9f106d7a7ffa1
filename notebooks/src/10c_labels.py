# %% [markdown]
# # 10c · Which network is better?
#
# Two networks learn from the same labels. On new statements one is right in 90 of 100 cases, the other in 73. Is the first better? Train both again and change nothing but the seed, and it can be the other way round. How would you know?
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
# The statements of lesson 10 again. Each has a label, 1 if things turned out well, 0 if not. They are made from 56 templates, such as `it was not a {o} {s} {t} .`: `{s}` is the thing, `{x}` how it was, `{o}` the opposite, `{t}` when, `{w}` who, and `{r}` a reaction, such as *people smiled*. 34 of these, drawn once, are for training, 8 for validation, 14 for the test: no template occurs in two of them. The ids 0 to 3 are `[PAD]`, `[CLS]`, `[SEP]` and `[MASK]`; `[CLS]` stands before each statement, and `present` is False where there is padding.

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
# BERT uses the vector at `[CLS]`. But in a causal network `[CLS]` has read only itself, and the *last* token everything. So we take the last, for both. A third choice is the mean of all vectors. Making one vector out of many is called **pooling**.

# %% [markdown] tags=["exercise"]
# > **Exercise 10c.1 (build, 15 minutes).** Write `our_pool(vectors, present, pooling)`: one vector for each text. With `"first"` it is that of the first token, with `"last"` that of the text's own last token, with `"mean"` the mean over its tokens. `vectors` is (N, T, C), `present` (N, T), True where there is a token. Padding, which comes after the tokens, mustn't count.
# >
# > <details><summary>Hint 1</summary>How many tokens has each text? The last stands one before that.</details>
# > <details><summary>Hint 2</summary>With two lists of equal length as indices, <code>vectors[rows, steps]</code> takes one vector for each pair.</details>


# %% tags=["stub"]
def our_pool(vectors, present, pooling): ...  # -> (N, C)


# %% tags=["check"]
exercises.check_our_pool(our_pool)


# %% tags=["solution"]
def our_pool(vectors, present, pooling):
    lengths = present.sum(1)
    if pooling == "first":
        return vectors[:, 0]
    if pooling == "last":
        return vectors[torch.arange(len(vectors)), lengths - 1]
    return (vectors * present[..., None]).sum(1) / lengths[:, None]


# %% [markdown]
# The encoder is now the library's, of the size of lesson 10. `attend` makes it bidirectional, `attend_past` causal.

# %%
from coursekit.layers.attention import attend, attend_past
from coursekit.models.encoder import Encoder, EncoderConfig, SequenceClassifier, pool

sizes = EncoderConfig(vocab_size=len(ids), context=24, d_model=32, dropout=0.0)
pick = answer_or(our_pool, pool)  # the library's until yours is there


class OurClassifier(nn.Module):
    def __init__(self, rule):
        super().__init__()
        self.encoder, self.head = Encoder(sizes, rule=rule), nn.Linear(32, 2)

    def forward(self, tokens, present):
        return self.head(pick(self.encoder(tokens, present), present, "last"))


ours = OurClassifier(attend_past).to(device)
theirs = SequenceClassifier(Encoder(sizes, rule=attend_past), 2, pooling="last").to(device)
theirs.load_state_dict(ours.state_dict())
assert_close(ours(*read(test)[0]), theirs(*read(test)[0]))  # same weights, same logits


# %% [markdown]
# Every network gets 1,500 steps of 32 statements, with the loop, the schedule and the learning rate of lesson 10. One that is pre-trained has spent 500 of them on text without labels. So every network takes the same number of steps. No learning rate was tuned: all share one, and at the end each kind may choose.

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
# Pre-training uses the same statements without their labels, as in lesson 10, but only for 500 steps of 32: no more data, only another task for them. (A causal network has a target at each word, the other at about 15 % of them.) A bidirectional network fills in masked tokens (`draw_masked` hides them as you did), a causal one predicts each next word. For this, `MaskedTokenModel` puts an output layer with a logit for each word on the encoder. Afterwards we take it off.

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
# The baseline that every classifier should have is a **bag of words**: for each label a weight for each word, wherever it stands, and a softmax of the two sums (the logistic regression of lesson 9). Ours has a weight for each **bigram**, two neighbours, too: 634 words and pairs occur. `fit_logistic` finds the weights with the lowest cross-entropy, plus `decay` times their squares, so that they stay finite. That sum is convex: it has one minimum, and no seed.


# %%
from coursekit.models.bag import fit_bag, fit_logistic


def count_all(tokens, size):  # (N, size + size²): words, then pairs
    words = F.one_hot(tokens, size).float() * (tokens >= 4)[..., None]  # no [CLS], no padding
    pairs = torch.einsum("nta,ntb->nab", words[:, :-1], words[:, 1:])  # a, then b
    return torch.cat([words.sum(1), pairs.flatten(1)], 1)


def fit_counts(count, part):
    (x, _), y = read(part)
    counts = count(x, len(ids))
    seen = counts.any(0)  # the words and pairs that occur
    weights = fit_logistic(counts[:, seen], y, 2, decay=1e-5)
    return lambda tokens, present=None: count(tokens, len(ids))[:, seen] @ weights


bag = fit_counts(count_all, train)
(x, _), y = read(train)
assert_close(bag(x), fit_bag(x, y, vocab_size=len(ids), lowest=4, decay=1e-5)(x))

# %% [markdown]
# Bidirectional or causal, from random weights or pre-trained: four kinds of network, with the same 2,176 statements and equally many steps: 1,500 on labels, or 500 without and 1,000 with.
#
# **Predict.** On statements of new templates: which is best, `"bag"`, `"bidirectional"`, `"causal"`, `"bidirectional, pre-trained"` or `"causal, pre-trained"`?

# %% tags=["predict"]
guess = None  # one of the five


# %% tags=["nbval-ignore-output"]
def train_four(seed):
    found = {}
    for name, rule in (("bidirectional", attend), ("causal", attend_past)):
        start = pretrain(rule, seed)
        found[name] = fine_tune(rule, seed)
        found[f"{name}, pre-trained"] = fine_tune(rule, seed, start, steps=1000)
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
ax.barh(ranked, [right[name] for name in ranked])
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


right = score(test)
error = {k: one.std(ddof=1) / 4**0.5 for k, one in right.items()}  # the mean's standard error
for k, one in right.items():
    print(f"{k:27} {line(one)}, mean {one.mean():.1f} ± {error[k]:.1f}")
spread = max(map(np.ptp, right.values()))
compare_guess(guess, spread)
within = np.sqrt(np.mean([one.var(ddof=1) for one in right.values()]))  # the kinds together
between = np.std([one.mean() for one in right.values()], ddof=1)
claim(widest_spread=spread, deviation_within_a_kind=within, within_over_between=within / between)

# %% tags=["figure", "nbval-ignore-output"]
colors = dict(zip(kinds, ("C0", "C0", "C1", "C1"), strict=True))
ax = plt.subplots(figsize=(6.8, 3.2))[1]
ax.set_yticks(range(0, -4, -1), [k.replace(", ", ",\n") for k in kinds])
ax.set(ylim=(-3.6, 0.6), xlabel="right, new templates (%)")
ax.set_title("Within a row only the seed differs")
for row, k in enumerate(kinds):
    ax.plot(right[k], [-row] * 4, "o", color=colors[k], alpha=0.6)
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
# > **Exercise 10c.2 (warm-up, 5 minutes).** How sure is a lead? Write `lead(a, b)`: `a` and `b` are tensors, a score for each seed; they may differ in length. Return the mean of a minus that of b, and the standard error of this difference. Take the runs as independent.
# >
# > <details><summary>Hint</summary>The variance of a mean of n runs is that of one run, divided by n. What is the variance of a difference of two independent numbers?</details>


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
    return float(ahead), float(ahead / error)


# %% tags=["nbval-ignore-output"]
opening, in_errors = tell(right, "causal", "bidirectional")
*others, first = sorted(kinds, key=lambda k: right[k].mean())
leads = {k: tell(right, first, k)[0] for k in others}
claim(lead_of_the_opening=opening, opening_in_standard_errors=in_errors)
claim(lead_over_the_bidirectional=min(leads.get(k, 0.0) for k in kinds[:2]))

# %% [markdown]
# So *causal* and *bidirectional*, the 90 and 73 of the beginning, and the 65 and 87 of seed 3, differ by 2.9 ± 7.4 over four seeds: **nobody can tell.** The best kind of the four leads clearly over the bidirectional kinds. (In pre-training it had a target at each word, they at 15 %.) Our rule: with so few seeds their spread is itself uncertain, and the best of four was picked, so a lead should be three standard errors or more; from two to three it is a hint; below two nobody can tell. Over *causal* it is one and a half. (On your machine gradients are added up in another order, and the dots will differ.)
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
# Where a reaction gives the outcome away (*people smiled*), nearly all are right. *Not* flips a statement: most networks have learned it, the bag guesses. And in about six rows networks of one kind range from nearly always right to mostly wrong. Each row is worth 7 points. So the unit is the template, not the statement: 896 test statements are fourteen questions. (Ribeiro et al. 2020 test large models by such tables.)
#
# The picture asks two things. Why does the bag fail at *not*? And why do networks of one kind differ?
#
# ## 10c.5 A better rival
#
# The pairs of the bag are neighbours. They don't reach from *not* over *a* to *dry*. Let them reach: count each pair of words of a statement, in order, however far apart. (These are called **skip-bigrams**.)


# %%
def count_apart(tokens, size):
    words = F.one_hot(tokens, size).float() * (tokens >= 4)[..., None]
    before = words.cumsum(1) - words  # what has been said so far
    return torch.cat([words.sum(1), torch.einsum("nta,ntb->nab", before, words).flatten(1)], 1)


pairs_apart = fit_counts(count_apart, train)

# %% [markdown]
# **Predict.** The bag was right in 80 % of the new statements. And with pairs at any distance?

# %% tags=["predict"]
guess = None  # per cent

# %% tags=["nbval-ignore-output"]
of_pairs = accuracy(pairs_apart, test)
compare_guess(guess, of_pairs)
claim(pairs_at_any_distance=of_pairs)
on_validation = score(validation) | {"pairs": np.array(accuracy(pairs_apart, validation))}
for name, one in on_validation.items():
    print(f"{name:27} test {np.mean(right.get(name, of_pairs)):.1f}, validation {one.mean():.1f}")

# %% tags=["nbval-ignore-output"]
by_pairs = np.array([accuracy(pairs_apart, part) for part in parts])
four = 1 + 4 * kinds.index(first) + np.arange(4)  # the columns of its networks
ahead = table[:, four].mean(1) - by_pairs
one_error = ahead.std(ddof=1) / 14**0.5  # of fourteen differences, one a template
print(f"{first} leads the pairs by {ahead.mean():.1f} ± {one_error:.1f}")
claim(lead_over_pairs_in_standard_errors=ahead.mean() / one_error)
claim(rows_that_lose=sum(by_pairs < table[:, 0]))

# %% tags=["figure", "folded", "nbval-ignore-output"]
ax = plt.subplots(figsize=(9, 4.6))[1]
for row, i in enumerate(by_pairs.argsort()[::-1]):  # the worst on top
    ax.plot([table[i, 0], by_pairs[i]], [row, row], color="0.7", linewidth=3, zorder=1)
    ax.plot(table[i, 0], row, "o", color="0.55", markersize=9, label="neighbours")
    ax.plot(by_pairs[i], row, "o", color="black", markersize=9, label="at any distance")
    ax.text(-4, row, forms[i].format(**words)[:-2], ha="right", va="center", fontsize=9)
ax.legend(*(part[:2] for part in ax.get_legend_handles_labels()), loc="center left")
ax.set(xlim=(-2, 102), yticks=[], xlabel="right, new templates (%)")
ax.set_title("Pairs at any distance reach ‘not’ and ‘nobody’")
figure("pairs", alt="Grey dots for neighbours, black ones for pairs at any distance, by template.")

# %% [markdown]
# 92 %, and no seed in it. *Not* and *nobody* now reach their adjectives, at a price: five of the six rows with *but* get worse, since its neighbours now count no more than words far off. (We thought of these pairs only after seeing the picture of the templates, which are the test's. On validation they are level with the networks. Their decay wasn't tuned.) **After 1,500 steps no kind is clearly better than a weight for each pair of words.** (The pairs have no seeds, so this standard error is one over templates: fourteen differences, each between two scores on the same template.) A network must beat that first.
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
# In the new template the time stands at the end, and *nobody* in front. All sixteen are right about *nobody* in statements that they have learned from. In the new ones four mostly are, four are right in half of the cases, and eight say the opposite. (This is **underspecification**, D'Amour et al. (2022): the data don't say which of two rules holds. McCoy, Min and Linzen (2020) fine-tuned a hundred BERTs alike but for the seed: nearly equal on sentences like those of training, anything from 0 to 66 % on one kind of new ones.)
#
# In training *nobody* follows a time wherever it matters. So a network may have learned the pair *today nobody*, or a *nobody* in second position, instead of the word; if that is why, chance decides which. Try it: tell the networks that the time doesn't matter. For each statement that has one, add a copy without it (**data augmentation**). The test's template is still new, but only by its *today*: without that, 41 of its 64 statements have now been seen. The other 23 are scored apart.

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
groups = {"nobody": asked, "the 23 unseen": others}
groups |= {"the other thirteen": [one for one in test if one not in asked]}
before = {name: score(part)["bidirectional"] for name, part in groups.items()}
after = {k: np.array([accuracy(one, part) for one in told]) for k, part in groups.items()}
for name in groups:
    print(f"{name:18} before {line(before[name])}, mean {before[name].mean():.0f}", end=", ")
    print(f"after {line(after[name])}, mean {after[name].mean():.0f}")
claim(right_on_nobody_before=before["nobody"].mean(), right_on_nobody_now=after["nobody"].mean())
claim(right_on_other_nobodies_now=after["the 23 unseen"].mean())

# %% [markdown]
# **The four were right about *nobody* in 40 % of cases, and now they always are**, also on the 23: with as many steps, and 640 more short statements. On the other thirteen templates (of two more, most statements are in training now without their time) it is 85 % instead of 83, two seeds up and two down. (Whether the time or the position was the trouble we can't tell: the short statements change both.) Do causal networks learn it, too? And was it that the statements are *short*, or only that there are more? That is exercise 10c.3. This is what a table by template is for: it says where to look.
#
# But mind that we looked at the test to find this remedy. Whether it helps with questions that we haven't seen, only new questions can say.

# %% [markdown] tags=["exercise"]
# > **Exercise 10c.3 (investigate, 20 minutes).** Was it the *short* statements, or only that there were more? Train causal networks, seeds 0 to 3, with something else added, and complete the table. (Twelve networks take two or three minutes.) In which rows are all test templates still new? And which would you report?
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
# > <details><summary>What we found</summary>Nothing: 0, 84, 8, 5 on <em>nobody</em> and 83.0 on all. Once more: 92, 2, 3, 0 and 83.6, a lottery. Without their time: 91, 95, 95, 100 and 89.2. With the time at the other end: 50, 95, 95, 95 and 87.0. So sheer number was not the reason. (With the time at the other end seed 0 is right in half of the cases, on a template that it has been trained on.) Report the first two rows: all test templates are new there. In the third, three of them occur in part: report those apart, as above. In the last, three of the four with a time are in the training, and one of validation: leave it out.</details>

# %% [markdown]
# ## 10c.7 Train for longer, and let each choose
#
# (From here on the runs are recorded: a good place for a break.)
# Were they trained for long enough? Take 6,000 steps instead of 1,500, a third of them for pre-training as before. That takes too long here, so we have recorded such runs. (With BERT on small data sets, too, usual recipes often stop too soon: Zhang et al. 2021.)
#
# **Predict.** After 1,500 steps the four means were 78 to 93 %, and the pairs had 92. The best mean after 6,000?

# %% tags=["predict"]
guess = None  # per cent


# %%
def recorded(kind, names, what="right"):  # per cent on the test, or "validation", of each run
    runs = [read_record(f"labels-{kind.replace(', ', '-')}-{name}") for name in names]
    return np.array([run.result[what] for run in runs])


longer = {k: recorded(k, range(4)) for k in kinds}
for k, one in longer.items():
    print(f"{k:27} {line(one)}, mean {one.mean():.1f} ± {one.std(ddof=1) / 2:.1f}")
best = max(kinds, key=lambda k: longer[k].mean())
compare_guess(guess, longer[best].mean())
claim(longer_lead_over_causal=tell(longer, best, "causal")[0])

# %% [markdown]
# **With more training the causal networks move ahead**, and pre-trained they are nearly always right. Is it pre-training that makes the winner? Over *causal* it leads by 4.7 ± 1.9: by our rule a hint.
#
# But one learning rate for all favours the kind that it happens to suit, and the last token was our choice, too. So let each kind choose: a learning rate (in both parts of the training) of 0.002, 0.005 or 0.01 with the last token, or 0.005 with the mean of all vectors. Four seeds each, and the choice *on validation*. (On the test it would pick the luckiest.)
#
# **Predict.** Which of the four does *causal* choose?

# %% tags=["predict"]
guess = None  # "0.002", "0.005", "0.01" or "0.005, mean"

# %%
ways = {"0.002": "slow-{}", "0.005": "{}", "0.01": "fast-{}", "0.005, mean": "mean-{}"}


def by_way(what):  # for each kind an array (ways, seeds)
    names = [[way.format(seed) for seed in range(4)] for way in ways.values()]
    return {k: np.array([recorded(k, some, what) for some in names]) for k in kinds}


valid, on_test = by_way("validation"), by_way("right")
chosen = {k: valid[k].mean(1).argmax() for k in kinds}
tuned = {k: on_test[k][chosen[k]] for k in kinds}
for k in kinds:
    print(f"{k:27} validation", valid[k].mean(1).round(1), end=", ")
    print(f"chosen {list(ways)[chosen[k]]:11}, test {tuned[k].mean():.1f}")
with_cls = recorded("bidirectional, pre-trained, cls", range(4)).mean()
print(f"bidirectional, pre-trained, at 0.005 with [CLS], as in BERT: test {with_cls:.1f}")
compare_guess(guess, list(ways)[chosen["causal"]])
opening, over_the_other = (tell(tuned, "causal", k)[0] for k in kinds[:2])
of_pretraining, _ = tell(tuned, "causal, pre-trained", "causal")
claim(opening_when_tuned=opening, lead_over_the_other_when_tuned=over_the_other)
claim(pre_training_when_tuned=of_pretraining)

# %% tags=["figure", "folded"]
ax = plt.subplots(figsize=(8.4, 3.8))[1]
for i, k in enumerate(kinds):
    x = np.arange(4) + 0.13 * (i - 1.5)
    means, errors = on_test[k].mean(1), on_test[k].std(1, ddof=1) / 2
    ax.errorbar(
        x, means, errors, fmt="oDoD"[i], color=colors[k], mfc=["white", None][i % 2], label=k
    )
    ax.plot(x[chosen[k]], means[chosen[k]], "o", color="black", mfc="none", markersize=15)
ax.set_xticks(range(4), ways)
ax.set(
    xlabel="learning rate; the last token's vector, or the mean", ylabel="right, new templates (%)"
)
ax.set_title("Recorded: with its own choice (ringed) causal is ahead")
ax.legend(loc="upper left", bbox_to_anchor=(1, 1))
figure("ways", alt="Ringed: 87 and 92 for bidirectional kinds, above 99 for both causal ones.")

# %% [markdown]
# **If each kind may choose, the causal network of the beginning is the better one on this test**: 99.7 against 87.0, by 12.7 ± 2.2. Pre-trained bidirectional networks gain, too: 92.2 at the rate 0.01, the end of our range, where *causal* has no more. And pre-training, which seemed to make the winner? At the ceiling one can't see it: −0.3 ± 0.6. What a comparison says depends on how each side was tuned, so tune all alike, and report it (Dodge et al. 2019). (The choice is noisy, too: eight templates, 99.2 against 99.1.)
#
# But on validation the two are 97.7 against 99.3, and ± 2.2 counts seeds only, while the unit is the template. How much of the 12.7 is these fourteen, at which we have looked so often? We have recorded six other draws of 34, 8 and 14 from the same 56 templates, one network of each kind, with the choice that it made above.

# %% tags=["nbval-ignore-output"]
draws = {}
for k in kinds:
    names = [[*ways.values()][chosen[k]].format(f"split-{n}") for n in range(1, 7)]
    draws[k] = recorded(k, names)
splits = [statements(split=n) for n in range(1, 7)]  # training, validation, test
draws["pairs"] = np.array([accuracy(fit_counts(count_apart, one[0]), one[2]) for one in splits])
for k, one in draws.items():
    ahead = draws["causal"] - one
    wider = ahead.std(ddof=1) * (1 / 6 + 14 / 34) ** 0.5  # for the draws overlap
    gap = f"causal leads by {ahead.mean():.1f} ± {wider:.1f}"
    print(f"{k:27} {line(one)}, mean {one.mean():.1f}, {gap}")
claim(draws_over_the_other=sum(draws["causal"] > draws[kinds[1]]))
claim(lead_on_other_draws=np.mean(draws["causal"] - draws[kinds[1]]))

# %% tags=["figure", "folded"]
ax = plt.subplots(figsize=(7.2, 3.2))[1]
for row, (k, one) in enumerate(draws.items()):
    ax.plot(one, row + np.linspace(-0.2, 0.2, 6), "o", color=colors.get(k, "0.4"))
    ax.plot(one.mean(), row, "|", color="black", markersize=24)
ax.set_yticks(range(5), draws)
ax.invert_yaxis()
ax.set(xlabel="right, new templates (%)", title="Six other draws: no kind beats the pairs clearly")
figure("draws", alt="Means 84, 86, 95, 96; the pairs 93, and with the smallest spread.")

# %% [markdown]
# The 99.7 was partly luck of the draw: on other draws causal networks have 95 % on average, with and without pre-training. They are ahead of the pre-trained bidirectional ones on all six, by 9.4 ± 5.6, and of the others on five, by 11.2 ± 10.4. By our rule nobody can tell yet. (Six draws from 56 templates overlap, with each other and with the templates on which we chose. So this is not the usual standard error, which would be half as large, but one corrected for the overlap, Nadeau and Bengio 2003.) **And the pairs have 93: no network here is clearly better than counting.**
#
# Why causal networks lead, we don't know. (With `[CLS]`, as in BERT, the bidirectional ones are no better: the mean of four is 86.0, where the last token gave 85.5.) And don't generalise: among networks of 17 million to a billion parameters, trained alike on English text, encoders lead at classification (Weller et al. 2025).

# %% [markdown]
# ## What you now have
#
# - **Which network is better?** One run can't say, and four seeds of each couldn't: 2.9 ± 7.4. After four times the steps, each kind with its own choice, it was clearly *causal* on these fourteen templates: by 12.7 ± 2.2. For other templates nobody can tell yet, though five draws of six say the same.
# - A rival without a seed: a weight for each pair of words. No network here clearly beats it.
# - A head on one vector of each text, and fine-tuning; a bag of words and of pairs, near and far, as baselines.
# - What to report: several seeds with a standard error, how each was tuned, and a table by template. What to do: train for longer, tune all alike, and look at what the data don't say.
#
# **What still fails.** These are small questions, all ours, and a network of 32 channels. A number on one test is a number on *that* test.

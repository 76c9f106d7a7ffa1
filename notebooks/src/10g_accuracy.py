# %% [markdown]
# # 10g · What is an accuracy made of?
#
# A network learns from 272 labelled statements. On 896 new ones, from templates it has never seen, it is right in 67 cases out of 100, where a coin toss would get 50. So it knows a little about everything. Does it?
#
# **Afterwards you can** break an accuracy down, compare it with the simplest thing that could explain it, and build a baseline that counts words and pairs of words.
#
# **Before**: lessons 10c (fine-tuning, seeds, leads) and 10f (errors over templates); 10e (shortcuts) and 9 (logistic regression) help.
#
# **Runs in** {runs_in}. **Study time** {study}.
#
# **Sources**: counts of words and pairs as a baseline, Wang and Manning (2012); skip-bigrams, Lin and Och (2004); baselines that see only a part, Poliak et al. (2018) and Gururangan et al. (2018), and where they mislead, Feng, Wallace and Boyd-Graber (2019); the worst group, Sagawa et al. (2020); templates as tests, Ribeiro et al. (2020); shortcuts, Geirhos et al. (2020) and McCoy, Pavlick and Linzen (2019); statements that differ in one thing, Gardner et al. (2020); cues in conflict, Geirhos et al. (2019); underspecification, D'Amour et al. (2022). All statements here were written for this course.

# %% tags=["setup", "machine"]
from dataclasses import replace
from itertools import combinations

import matplotlib.pyplot as plt
import numpy as np
import torch
from torch import nn
from torch.nn import functional as F
from torch.testing import assert_close

from coursekit.data.statements import DOMAINS, fill_in, number_words, statements
from coursekit.exercises import answer_or
from coursekit.exercises import labels as exercises
from coursekit.notebook import claim, compare_guess, figure, read_results, setup

device = setup("10g_accuracy", seed=42)

# %% [markdown]
# ## 10g.1 67 of 100
#
# The statements are those of lesson 10c, with label 1 if things turned out well and 0 if not. The test has fourteen templates that training doesn't have. Half of its statements have label 1, so chance is 50 %.

# %%
from coursekit.windows.masking import pad_texts

train, validation, test = statements()
ids = number_words([one.text for one in train])
size = len(ids)


def read(part):  # (tokens, present), each (N, T), and the labels; 1 is [CLS], 0 padding
    texts = [[1, *(ids[w] for w in one.text.split())] for one in part]
    labels = torch.tensor([one.label for one in part], device=device)
    return [one.to(device) for one in pad_texts(texts, multiple_of=8)], labels


for one in (train[3], test[0], test[-1]):
    print(one.label, one.text)

# %% [markdown]
# Labels cost money: someone has to read each text. So keep only every eighth of the 2,176, which leaves 272, eight from each training template, four of them with label 1. Train a causal network on them, from random weights: *from scratch*. Its head gets the vector of the last token.

# %%
from coursekit.evaluate.seeds import compare_means, judge, mean_over_groups
from coursekit.layers.attention import attend_past
from coursekit.models.encoder import Encoder, EncoderConfig, pool
from coursekit.training.fit import fit
from coursekit.training.optimiser import adamw, warm_up_cosine

sizes = EncoderConfig(vocab_size=size, context=24, d_model=32, dropout=0.0)
few = train[::8]


class OurClassifier(nn.Module):  # that of lesson 10c
    def __init__(self):
        super().__init__()
        self.encoder, self.head = Encoder(sizes, rule=attend_past), nn.Linear(32, 2)

    def forward(self, tokens, present):
        return self.head(pool(self.encoder(tokens, present), present, "last"))


# %%
def learn_labels(seed, steps=1000, part=few):
    torch.manual_seed(seed)
    model = OurClassifier().to(device)
    ((tokens, present), y), g = read(part), torch.Generator().manual_seed(seed)
    picks = (torch.randint(len(y), (32,), generator=g) for _ in range(steps))
    batches = (((tokens[i], present[i]), y[i]) for i in picks)
    options = {"steps": steps, "schedule": warm_up_cosine(steps), "clip": 1.0}
    optimiser = adamw(model, 5e-3, weight_decay=0.01)
    fit(model, optimiser, batches, loss=F.cross_entropy, **options)
    return model.eval()


@torch.no_grad()
def accuracy(model, part):  # per cent
    x, y = read(part)
    return 100 * (model(*x).argmax(1) == y).float().mean().item()


# %% tags=["nbval-ignore-output"]
scratch = learn_labels(0)
print(f"right: known {accuracy(scratch, few):.1f} %, new {accuracy(scratch, test):.1f} %")

# %% [markdown]
# It gets all of the 272 right, and has learned something that carries over to new ones. One network says little (lesson 10c), so twelve were *recorded*: trained once by this code, seeds 0 to 11, and kept with their accuracy on each test template. (A template has 64 statements, half of them with label 1; the figures name it by an example.)

# %%
forms = {one.template for one in test}
names = sorted(forms, key=lambda form: ("{r}" in form, " but " in form, form))  # reactions last

of_networks = read_results("labels-272-1000-causal", names, seeds=12)  # % right, (seeds, templates)
on_all = of_networks.mean(1)
print("seeds 0 to 11:", *(f"{one:.0f}" for one in on_all), f"mean {on_all.mean():.1f}")

# %% [markdown]
# All beat a coin, by 11 to 20 points. They have learned something. But what? In four of the fourteen test templates someone reacts, as in *it was a tasty cake so people smiled*. In training, ten of the 34 templates have such a reaction, 80 of the 272 statements, and it always agrees with the fact. Suppose a model knew only these reactions, and nothing else.

# %%
good = ["everyone was pleased", "people smiled", "the guests came again"]
bad = ["everyone was annoyed", "people grumbled", "the guests went home"]

# %% [markdown] tags=["exercise"]
# > **Exercise 10g.1 (warm-up, 5 minutes).** Write that model. `by_reaction(text)` returns the probability that it went well: 1 if there is a reaction from the list `good` in the text, 0 if there is one from `bad`, and ½ if there is none. A reaction can appear anywhere in the text.
# >
# > <details><summary>Hint</summary>Python's <code>in</code> finds one text in another; <code>any(…)</code> is true if one of several is.</details>


# %% tags=["stub"]
def by_reaction(text): ...  # -> 0, ½ or 1


# %% tags=["check"]
exercises.check_by_reaction(by_reaction)


# %% tags=["solution"]
def by_reaction(text):
    if any(one in text for one in good):
        return 1
    return 0 if any(one in text for one in bad) else 0.5


# %% [markdown]
# **Predict.** It guesses where there is no reaction, and is then right half the time. How often is it right on the whole test?

# %% tags=["predict"]
guess = None  # per cent

# %%
told = answer_or(by_reaction, exercises.tell_by_reaction)  # the course's until yours is there
says = [told(one.text) for one in test]
reactions_alone = 100 * np.mean(
    [p if one.label else 1 - p for p, one in zip(says, test, strict=True)]
)
compare_guess(guess, reactions_alone)
claim(reactions_alone=reactions_alone)

# %% [markdown]
# 64.3 %, which is (4 · 100 + 10 · 50)/14. The networks score only 3 points higher. So set these four templates aside, and look at the other ten. The networks' mean on these has two standard errors, over seeds and over templates (lesson [10f](10f_templates.ipynb)): other templates would give another mean.

# %%
ten = of_networks[:, :10].mean(1)
print("networks on the ten:", *(f"{one:.0f}" for one in ten), f"mean {ten.mean():.1f}")
over_seeds = compare_means(ten, torch.full((12,), 50.0))  # against a coin
over_templates = mean_over_groups(of_networks[:, :10].mean(0) - 50, names[:10])
for what, (ahead, error) in {"seeds": over_seeds, "templates": over_templates}.items():
    print(f"above a coin, over {what}: {ahead:.1f} ± {error:.1f}, {judge(ahead, error)}")
claim(networks_without_reactions=ten.mean().item())


# %% tags=["figure", "folded"]
ax = plt.subplots(figsize=(8, 4))[1]
by_template = of_networks.mean(0)
order = sorted(range(14), key=lambda k: (k > 9, by_template[k]))  # lowest first, reactions last
for row, k in enumerate(order):
    color = "C1" if by_template[k] < 50 else "C0"
    ax.plot(of_networks[:, k], [row] * 12, "o", color=color, alpha=0.35, markersize=5)
ax.plot(by_template[order], range(14), "|", color="black", markersize=10, label="their mean")
ax.plot([], [], "o", color="C0", alpha=0.5, label="twelve networks")
ax.legend(loc="lower left", fontsize=9)
ax.text(99, 0.5, "mostly wrong", color="C1", ha="right", va="center", fontsize=10)
ax.axvline(50, color="0.4", linestyle=":")
ax.axhline(9.5, color="C2", linewidth=2)
ax.text(1, 10, "with a reaction", color="C2", va="center", fontsize=9)
ax.set_yticks(range(14), [fill_in(names[k]) for k in order], fontsize=9)
ax.set(xlabel="right (%); dotted: a coin", xlim=(-3, 103), ylim=(13.6, -0.6))
ax.set_title("Recorded, 272 labels: reliable only where someone reacts", loc="right")
figure(
    "random",
    alt="With a reaction most dots are near 100; else from 12 to 98, three rows mostly below 50.",
)

# %% [markdown]
# **The networks are reliable only where someone reacts. On the other ten they score 55 %**, and that is an average, too. Two templates with *but* are mostly right (79 and 85 %), five lie in the middle, and three are mostly *wrong*: *nobody*, *not a dry cake*, and one with *but*. A coin would do better: a model that goes by *dry* and ignores *nobody* is wrong every time.
#
# (Over seeds, 55 is a lead over a coin, that is, three standard errors or more, 10c. Over templates we can't tell.)

# %% tags=["figure", "folded"]
but = [" but " in name for name in names]
denied = ["not" in name or "nobody" in name for name in names]
groups = {
    "four with\na reaction": range(10, 14),
    "six with\n‘but’": [k for k in range(10) if but[k]],
    "the plain\none": [k for k in range(10) if not but[k] and not denied[k]],
    "three with ‘not’\nor ‘nobody’": [k for k in range(10) if denied[k]],
}
ax, height = plt.subplots(figsize=(7.2, 3))[1], 0.0
for at, rows in enumerate(groups.values()):
    points = sum(by_template[k].item() - 50 for k in rows) / 14
    ax.bar(at, points, bottom=height, color="C0" if points > 0 else "C1")
    ax.text(at, max(height, height + points) + 0.4, f"{points:+.1f}", ha="center")
    height += points
    ax.plot([at - 0.4, at + 1.4], [height, height], color="0.4", linewidth=0.8)
ax.bar_label(ax.bar(4, height, color="0.6"), fmt="%.1f", padding=3)
ax.set_xticks(range(5), [*groups, "all fourteen"], fontsize=9)
ax.set(ylabel="points above a coin", ylim=(0, 25))
ax.set_title(
    "Recorded: four templates with a reaction account for 13.8 of 17.5 points", loc="right"
)
figure(
    "points",
    alt="Steps: a reaction 13.8, but 5.5, the plain one 1.0, not and nobody minus 2.8; all: 17.5.",
)

# %% [markdown]
# ## 10g.2 Do they use the reaction?
#
# A similar score doesn't prove a similar reason. To test an explanation, change only the cue that it rests on. Replace the reaction with a time: *it was a dry cake today*. Or put in the opposite one, as lesson 10e does: *it was a dry cake so people smiled*. The cake is as dry as before. (Without reactions some statements are the same as others, or as one of the 272; those are left out.)

# %%
from coursekit.exercises.shortcuts import swap_reaction


def put_in(time, text):  # instead of the reaction
    for one in good + bad:
        text = text.replace(f" so {one}", f" {time}").replace(f"{one} because", time)
    return text


with_one = [one for one in test if "{r}" in one.template]
opposite = [replace(one, text=swap_reaction(one.text)) for one in with_one]
known = {one.text for one in few}
variants = {"as it is": with_one}
for time in ("today", "this time"):
    made = [replace(one, text=put_in(time, one.text)) for one in with_one]
    once = {one.text: one for one in made}.values()  # without reactions some are the same
    variants[time] = [one for one in once if one.text not in known]
variants["opposite"] = opposite
for name, some in variants.items():
    print(f"{name:10}", some[0].text, "|", some[-1].text)

# %% [markdown]
# **Predict.** With its reaction, nearly all of these statements are right. And with the opposite one? (Score it against what happened, not against the reaction. Training has no such statement, so that is our decision.) Train three more networks, and take the mean of the four.

# %% tags=["predict"]
guess = None  # per cent

# %% tags=["nbval-ignore-output"]
networks = [scratch, *(learn_labels(seed) for seed in (1, 2, 3))]


def mean_accuracy(part):  # of the four
    return np.mean([accuracy(model, part) for model in networks])


with_opposite = mean_accuracy(opposite)
compare_guess(guess, with_opposite)
claim(
    with_its_reaction=mean_accuracy(with_one),
    with_the_opposite_reaction=with_opposite,
)

# %% tags=["figure", "folded"]
found = np.zeros((4, 4, 4))  # (networks, templates, variants)
for i, model in enumerate(networks):
    for j, form in enumerate(names[10:]):
        for k, some in enumerate(variants.values()):
            found[i, j, k] = accuracy(model, [one for one in some if one.template == form])
ax = plt.subplots(figsize=(7.2, 3.4))[1]
ax.imshow(found.mean(0), cmap="Blues", vmin=0, vmax=110, aspect="auto")
for (row, column), right in np.ndenumerate(found.mean(0)):
    color = "white" if right > 65 else "black"
    ax.text(column, row - 0.13, f"{right:.0f}", color=color, ha="center", va="center")
    span = f"{found[:, row, column].min():.0f} to {found[:, row, column].max():.0f}"
    span += " *" if row in (0, 3) and column in (1, 2) else ""
    ax.text(column, row + 0.24, span, color=color, ha="center", va="center", fontsize=7.5)
places = ["its reaction", "‘today’", "‘this time’", "the opposite"]
placed = [f"{place}\n({len(some)})" for place, some in zip(places, variants.values(), strict=True)]
ax.set_xticks(range(4), placed)
ax.set_yticks(range(4), [fill_in(form) for form in names[10:]], fontsize=9)
ax.grid(visible=False)
ax.set_xlabel(
    "in place of the reaction (statements); range of 4 networks; *: template of training",
    x=1,
    ha="right",
)
ax.set_title("With the opposite reaction hardly any answer matches the fact (%)", loc="right")
figure("conflict", alt="Four by four accuracies: some 100, mixed, mixed, and near 0.")

# %% [markdown]
# **With the opposite reaction 3 % of the answers match the fact, and 97 % the reaction.** So where the two disagree, the reaction decides, even in the first row, where without any reaction the fact is known.
#
# Without any reaction, whether the fact is known depends on the words. *It was a dry cake today* is a template of training, and mostly right. *Today it was a dry cake*, the plain one of the first figure, is new, and still mostly right. But of *this time it was a dry cake* only half are right (though four seeds can't settle that). With *not*, at best about half are right, also in *today the cake was not dry*, a template of training whose eight examples they know by heart.
#
# So 67 % isn't a little knowledge of everything. Without the reaction, these four templates are right in 65 % (*today*) or 56 % (*this time*), partly in templates of training. So of the 14 points that they bring with these four networks, the reaction itself accounts for ten, (99.7 − 65) · 4/14, to thirteen. That is most of the 17.5, and it is a *shortcut* (Geirhos et al. 2020; McCoy, Pavlick and Linzen 2019 found one in BERT): it works as long as reactions agree with the facts. As the two never disagree in training, nothing there says which of them to follow. The field calls that *underspecification* (D'Amour et al. 2022).
#
# ## 10g.3 A baseline that counts
#
# Does it take a network to fall for a shortcut? How far do you get without one? A **bag of words** counts how often each word occurs, wherever it stands, and learns a weight for each word and label. That can't work for *not dry*: the weights of *not* and of *dry* add up, regardless of what the two mean together. So count **bigrams**, too, pairs of neighbours. But in *it was not a dry cake* the word *a* comes between. So count all pairs, in order and however far apart, the **skip-bigrams** of lesson 10c.

# %% [markdown] tags=["exercise"]
# > **Exercise 10g.2 (build, 15 minutes).** Write `our_pairs(tokens, size)`. `tokens` is (N, T), with ids from 0 to size − 1. The result is (N, size, size): in row a, column b, how often the word a stands before the word b in this text, however far apart. For example, in 1, 0, 1 the word 1 stands before 0 once, 0 before 1 once, and 1 before 1 once.
# >
# > <details><summary>Hint 1</summary>Two nested loops over the words of each text will do, and make the cells below slower by a minute or two. The next hint does without.</details>
# > <details><summary>Hint 2</summary><code>F.one_hot(tokens, size).float()</code> is (N, T, size). Its <code>cumsum(1)</code> says how often each word has occurred up to here, this one included. What is asked for is a matrix product over T.</details>


# %% tags=["stub"]
def our_pairs(tokens, size): ...  # (N, T) -> (N, size, size)


# %% tags=["check"]
exercises.check_our_pairs(our_pairs)


# %% tags=["solution"]
def our_pairs(tokens, size):
    words = F.one_hot(tokens, size).float()
    before = words.cumsum(1) - words
    return before.mT @ words


# %% [markdown]
# The counts go into a logistic regression (lesson 9). It has an L2 penalty, `decay` times the sum of the squared weights, and we choose `decay` on validation, because a baseline should be as good as it can be. The loss has only one minimum, and the fit starts at zero, so it needs no seed.

# %%
from coursekit.models.bag import fit_bag, fit_logistic

pairs_of = answer_or(our_pairs, exercises.count_far_pairs)  # the course's until yours is there
decays = (1e-8, 1e-6, 1e-4, 1e-2, 1.0)


def count(kind, tokens, n):  # (N, T) -> (N, M); ids from 4 to n - 1 are words
    words = F.one_hot(tokens, n).float()
    counts = words.sum(1)[:, 4:]
    if kind is None:
        return counts
    pairs = words[:, :-1].mT @ words[:, 1:] if kind == "neighbours" else pairs_of(tokens, n)
    return torch.cat([counts, pairs[:, 4:, 4:].flatten(1).to(counts)], 1)


# %%
class OurBag:
    def __init__(self, kind, part, decay):
        ((tokens, _), y), self.kind, self.size = read(part), kind, len(ids)
        counts = count(kind, tokens, self.size)
        self.seen = counts.any(0)  # what occurs in any text
        self.weights = fit_logistic(counts[:, self.seen].to_sparse(), y, 2, decay)

    def __call__(self, tokens, _present=None):  # -> logits (N, 2)
        return count(self.kind, tokens, self.size)[:, self.seen] @ self.weights


# %%
def fit_best(kind, part, held_out=validation, decays=decays):  # as validation prefers
    models = [OurBag(kind, part, decay) for decay in decays]
    return max(models, key=lambda model: accuracy(model, held_out))


# %% tags=["nbval-ignore-output"]
parts = [[one for one in test if one.template == name] for name in names]  # 64 statements each
counted = {}
print(f"{'2,176 labels':14} validation   test   ‘{fill_in(names[0])}’")
for name, kind in {"words": None, "and bigrams": "neighbours", "skip-bigrams": "far"}.items():
    counted[name] = fit_best(kind, train)
    right = [accuracy(counted[name], part) for part in (validation, test, parts[0])]
    print(f"{name:14} {right[0]:10.1f} {right[1]:6.1f} {right[2]:6.0f}")
on_test = [accuracy(one, test) for one in counted.values()]
claim(words_alone=on_test[0], bag_accuracy=on_test[1], skip_bigrams_accuracy=on_test[2])

# %% [markdown]
# The bag of single words gets none of *it was not a dry cake* right, skip-bigrams nearly all. The library's `fit_bag` does the same. And with as few labels as the networks had?

# %% tags=["nbval-ignore-output"]
counted_few = fit_best("far", few)
(tokens, _), y = read(few)
fits = [fit_bag(tokens, y, vocab_size=size, pairs="far", lowest=4, decay=one) for one in decays]
theirs = max(fits, key=lambda bag: accuracy(lambda x, _: bag(x), validation))
assert_close(counted_few(tokens), theirs(tokens), rtol=1e-3, atol=1e-3)

on_few = [accuracy(counted_few, part) for part in (test, with_one, opposite)]
print(
    f"272 labels: {on_few[0]:.1f}, with its reaction {on_few[1]:.1f}, the opposite {on_few[2]:.1f}"
)
claim(pairs_with_few_labels=on_few[0])

# %% [markdown]
# With 272 labels they, too, are right where someone reacts; with the opposite reaction none are right. That comes to 64.3, the same as `by_reaction`, and again it isn't that they toss a coin elsewhere: they get 34 and 39 % right of *not a dry cake* and *nobody*, 66 of the plain one. (512 more labels went into the choice of `decay`.) So **it takes no network to fall for this shortcut.** Are the labels too few, or the recipes too poor? This doesn't settle it; lesson 10h tries other recipes on the same labels. With eight times as many, skip-bigrams get 93.5 %, and twelve networks of this recipe 77.0 on average, or 93.4 if the head gets the mean of all vectors ([recorded](../tests/test_recorded_runs.py)). (We thought of them only after seeing what bigrams get wrong on the test, but validation agrees, 94.5.)
#
# Look at how, in a statement with *not*: what does each word say by itself, and what does each pair add, its *interaction*? The model has no bias, so a text of one word shows that word's weight.

# %%
words = ["it", "was", "not", "a", "stale", "cake"]


def margin(*some, model=None):  # the difference of the logits: the evidence for label 1
    rows = torch.tensor([[ids[one] for one in some]], device=device)
    logits = (model or counted["skip-bigrams"])(rows)
    return (logits[0, 1] - logits[0, 0]).item()


def added(first, second, model=None):  # what the pair says beyond its words
    both = margin(first, second, model=model)
    return both - margin(first, model=model) - margin(second, model=model)


print(f"all words and pairs together: {margin(*words):+.1f}")
print(*(f"not … {one} {added('not', one):+.1f}" for one in ("stale", "dry")), sep="  ")
for domain, (things, _, _) in DOMAINS.items():
    print(domain, *(f"not … {one} {added('not', one):+.1f}" for one in things.split()), sep="  ")


# %% tags=["figure", "folded"]
ax = plt.subplots(figsize=(7.2, 3.2))[1]
turns, alone = np.linspace(0, np.pi, 60), [margin(word) for word in words]
for at, (word, weight) in enumerate(zip(words, alone, strict=True)):
    ax.text(at, -0.1, f"{word}\n{round(weight, 1) + 0.0:+.1f}", ha="center", va="top")
for i, j in combinations(range(len(words)), 2):
    weight = added(words[i], words[j])
    wide, color = abs(weight), "C0" if weight > 0 else "C3"
    x, y = (i + j) / 2 + (j - i) / 2 * np.cos(turns), 0.28 * (j - i) * np.sin(turns)
    ax.plot(x, y, color=color, linewidth=wide, alpha=0.75)
    if wide > 1:
        ax.text((i + j) / 2, 0.28 * (j - i) + 0.04, f"{weight:+.1f}", ha="center", color=color)
ax.set(xlim=(-0.6, 5.6), ylim=(-0.6, 1.6))
ax.axis("off")
ax.set_title("‘not’ with ‘stale’ and ‘cake’ outweighs ‘was … stale’ (logits)")
ax.text(-0.6, 1.45, "arcs: what a pair adds\nblue: good, orange: bad", fontsize=9, va="top")
figure("pairs", alt="Arcs between words: not to stale is blue and wide, was to stale orange.")

# %% [markdown]
# All words and arcs, thin ones included, sum to +9.2: it turned out well. (The time and the full stop are left out here.) *Was … stale* counts as evidence for *badly*, but *not … stale* outweighs it, with *not … cake*.
#
# Why *not … cake*? Perhaps because *dry* is bad for a cake and good for a picnic, so that *not … dry* alone tells nothing, +0.2. The thing must make the difference: a cake that isn't dry is good. The signs fit: other kitchen things behave like the cake, those of the weather the opposite way, and elsewhere, where nothing is dry, the effect is small. But a story that fits is a hypothesis. Change one thing: call a dry cake *hard*, and leave the picnic dry.
#
# **Predict.** *Not … cake* is at +6.7. And now?

# %% tags=["predict"]
guess = None  # logits


# %% tags=["nbval-ignore-output"]
def harden(part):  # what is dry in the kitchen is called hard
    kitchen = [one.domain == "kitchen" for one in part]
    texts = [
        one.text.replace("dry", "hard") if yes else one.text
        for one, yes in zip(part, kitchen, strict=True)
    ]
    return [replace(one, text=text) for one, text in zip(part, texts, strict=True)]


ids.setdefault("hard", len(ids))
hardened = fit_best("far", harden(train), harden(validation), [1e-6])  # the same decay
compare_guess(guess, added("not", "cake", model=hardened))
for thing in ("cake", "picnic", "train"):
    print(f"not … {thing} {added('not', thing, model=hardened):+.1f}")
without_dry = accuracy(hardened, harden(test))
claim(skip_bigrams_without_the_ambiguous_word=without_dry)

# %% [markdown]
# The interaction of *not* and *cake* is gone, and so are four of the 6.5 points that were missing: 93.5 becomes 97.4, with the same `decay`, the 10⁻⁶ that validation had chosen. (Over templates that is 3.9 ± 0.9, a lead.) Then *not … cake* has cost four points? Look where they are.


# %% tags=["nbval-ignore-output"]
def hits(model, part):
    x, y = read(part)
    return (model(*x).argmax(1) == y).tolist()


before, after = hits(counted["skip-bigrams"], test), hits(hardened, harden(test))
for word in ("but", "not", "nobody"):
    these = [k for k, one in enumerate(test) if word in one.text.split()]
    won, lost = (sum(a[k] > b[k] for k in these) for a, b in ((after, before), (before, after)))
    print(f"with {word}: {won} newly right, {lost} newly wrong")

# %% [markdown]
# **Most of the points are with *but*, not with *not*.** The word with two meanings did cost them. But the story of the cake, true as it is of the weight, explains few of them. An average had hidden that, too.

# %% [markdown] tags=["exercise"]
# > **Exercise 10g.3 (investigate, 20 minutes).** Now take apart the three models with *all* labels, words, bigrams and skip-bigrams, which are in `counted`. Complete the table. Then explain the first row: single words know the reactions, as `by_reaction` does, so how can they score less? Write `by_rule(text)`, the simplest rule that you think reproduces the answers of the model of single words. A similar score doesn't prove it: of the model's 896 answers, how many does your rule predict? (Where it says ½, it predicts half an answer.) How many does `by_reaction` predict? Can yours predict 700?
# >
# > <details><summary>Hint</summary>The fourteen accuracies of a model are <code>[accuracy(model, part) for part in parts]</code>, in the order of <code>names</code>: three with <em>not</em> or <em>nobody</em> and, third, the plain one; six with <em>but</em>; four with a reaction. That of a rule is counted as that of <code>by_reaction</code> was above. <code>DOMAINS["kitchen"]</code> is three texts: its things, what is good about them, and what is bad. Print the statements on which rule and model differ.</details>
#
# |right (%), 2,176 labels|all|a reaction|six with *but*|*not*, *nobody*|plain|
# |---|---|---|---|---|---|
# |words|58.4|||||
# |and bigrams|80.2|||||
# |skip-bigrams|93.5|||||
# |your `by_rule`||||||
#
# > <details><summary>What we found</summary>Words: 100 on reactions, 53 on <em>but</em>, <em>0</em> on the three with <em>not</em> or <em>nobody</em>, 97 on the plain one. Every single answer to a negation is wrong: a word and its thing speak for good or for bad, and <em>not</em> can't turn them round. A coin would be right in half of those. That costs 10.7 points of the 64.3, and the plain template and <em>but</em> give 4.8 back: 58.4. The rule: a reaction decides; else a word that is good here (<em>dry</em> for a picnic) says good and one that is bad says bad; with both it is ½. That gives 57.1, from 100, 50, 0 and 100. It decides 512 of the 896 statements, and 510 of these as the model does, so it predicts 702 of its answers, 78 %; <code>by_reaction</code> decides 256, all as the model does, and predicts 576, 64 %. Bigrams: 100, 94, 29, 72. They can tell what follows <em>but</em>, and mostly not what is negated. Skip-bigrams: 100, 89, 92, 98. So what bigrams add is mostly <em>but</em>, and some negation, at the plain statement's expense; and what skip-bigrams add is negation. No average told us that.</details>

# %% [markdown]
# ## What you now have
#
# - **What is an accuracy made of?** Of what a model gets right, what it guesses, and what it gets wrong every time; the first and the last together can look like chance. Write down the simplest thing that could explain the number: six reactions and a coin get 64.3, the networks 67. Then look where that explanation fails.
# - A test of an explanation: change only the cue that it rests on. With the opposite reaction nearly 100 % became 3; without the ambiguous *dry*, *not … cake* had no weight left.
# - A baseline without a network or a seed. With all labels, a weight for each pair of words gets 93.5 %; with 272 it is reliable on reactions only.
#
# <details><summary>What the field calls it</summary>An accuracy by groups is a <em>disaggregated evaluation</em>, the lowest of them the <em>worst-group accuracy</em> (Sagawa et al. 2020). A baseline that sees only a part of the text is a <em>partial-input baseline</em> (Poliak et al. 2018; Gururangan et al. 2018); if it fails, that doesn't prove that there is no shortcut (Feng, Wallace and Boyd-Graber 2019). Templates that test one ability at a time are <em>CheckList</em>'s (Ribeiro et al. 2020). To set two cues against each other is a <em>cue conflict</em> (Geirhos et al. 2019); <em>contrast sets</em> change the label, too (Gardner et al. 2020).</details>
#
# **What still fails.** With this recipe and 272 labels, networks get 55 % where no one reacts: right about some kinds of statement, wrong about others. More labels cost money, but text is cheap. Can they learn from text that nobody has labelled? [Side lesson 10h](10h_few_labels.ipynb) lets them read first.

# %% [markdown]
# # 10g · When does pre-training pay?
#
# A network learns from 272 labelled statements instead of 2,176. On new ones it still gets 67 out of 100 right, where a coin gets 50. What has it learned? And can it get more from text that nobody has labelled?
#
# **Afterwards you can** build a baseline that counts, find out what an accuracy is made of, and show when pre-training pays off.
#
# **Before**: lesson 10c (fine-tuning, seeds, leads).
#
# **Runs in** {runs_in}. **Study time** {study}.
#
# **Sources**: counts of words and pairs as a baseline, Wang and Manning (2012); skip-bigrams, Lin and Och (2004); pre-training with few labels, Howard and Ruder (2018), Radford et al. (2018) and Devlin et al. (2019); pre-training on the task's own text, Krishna et al. (2022); random weights that catch up, He, Girshick and Dollár (2019); a difference of two verdicts, Gelman and Stern (2006). All statements here were written for this course.

# %% tags=["setup", "machine"]
from itertools import combinations

import matplotlib.pyplot as plt
import numpy as np
import torch
from torch import nn
from torch.nn import functional as F
from torch.testing import assert_close

from coursekit.data.statements import fill_in, number_words, statements
from coursekit.exercises import answer_or
from coursekit.exercises import labels as exercises
from coursekit.notebook import claim, compare_guess, figure, read_record, setup

device = setup("10g_few_labels", seed=42)

# %% [markdown]
# ## 10g.1 A baseline that counts
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
# How far do you get without a network? A **bag of words** counts how often each word occurs, wherever it stands, and learns a weight for each word and label. That can't work for *not dry*: the weights of *not* and of *dry* add up, regardless of what the two mean together. So count **bigrams**, too, pairs of neighbours. But in *it was not a dry cake* the word *a* comes between. So count all pairs, in order and however far apart, the **skip-bigrams** of lesson 10c.

# %% [markdown] tags=["exercise"]
# > **Exercise 10g.1 (build, 15 minutes).** Write `our_pairs(tokens, size)`. `tokens` is (N, T), with ids from 0 to size − 1. The result is (N, size, size): in row a, column b, how often the word a stands before the word b in this text, however far apart. For example, in 1, 0, 1 the word 1 stands before 0 once, 0 before 1 once, and 1 before 1 once.
# >
# > <details><summary>Hint 1</summary>Two nested loops over the words of each text will do. It can also be done without one:</details>
# > <details><summary>Hint 2</summary><code>F.one_hot(tokens, size)</code> is (N, T, size). Its <code>cumsum(1)</code> says how often each word has occurred up to here. Take away the word itself, and a matrix product over T does the rest.</details>


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
# The counts go into a logistic regression (lesson 9). It has an L2 penalty, `decay` times the squares of the weights, and we choose `decay` on validation. All weights start at zero, so no seed plays a role. The library does all this [in a few lines](../coursekit/models/bag.py); ids below 4 aren't words.

# %%
from coursekit.models.bag import count_words, fit_bag

pairs_of = answer_or(our_pairs, exercises.count_far_pairs)  # the library's until yours is there
some = read(test)[0][0][::64]
theirs = count_words(some, size, pairs="far", lowest=4)[:, size:].unflatten(1, (size, size))
assert_close(pairs_of(some, size)[:, 4:, 4:].float(), theirs[:, 4:, 4:])


@torch.no_grad()
def accuracy(model, part):  # per cent
    x, y = read(part)
    return 100 * (model(*x).argmax(1) == y).float().mean().item()


def fit_best(pairs, part):  # with the decay that validation prefers
    (x, _), y = read(part)
    options = {"vocab_size": size, "pairs": pairs, "lowest": 4}
    bags = [fit_bag(x, y, decay=decay, **options) for decay in (1e-8, 1e-6, 1e-4, 1e-2, 1.0)]
    models = [lambda tokens, present, bag=bag: bag(tokens) for bag in bags]
    return max(models, key=lambda one: accuracy(one, validation))


# %% tags=["nbval-ignore-output"]
not_dry = [one for one in test if one.template == "it was not a {o} {s} {t} ."]
counted = {}
print(f"{'':14} validation   test   ‘{fill_in(not_dry[0].template)}’")
for name, pairs in {"words": None, "and bigrams": "neighbours", "skip-bigrams": "far"}.items():
    counted[name] = fit_best(pairs, train)
    right = [accuracy(counted[name], part) for part in (validation, test, not_dry)]
    print(f"{name:14} {right[0]:10.1f} {right[1]:6.1f} {right[2]:6.0f}")
on_test = [accuracy(one, test) for one in counted.values()]
claim(words_alone=on_test[0], bag_accuracy=on_test[1], skip_bigrams_accuracy=on_test[2])

# %% [markdown]
# Single words get none of these right, skip-bigrams nearly all. Look at how, in a statement of this kind: what does each word say by itself, and what does each pair add?

# %%
words = ["it", "was", "not", "a", "stale", "cake"]


def margin(*some):  # how much these words, in this order, speak for label 1
    logits = counted["skip-bigrams"](
        torch.tensor([[ids[one] for one in some]], device=device), None
    )
    return (logits[0, 1] - logits[0, 0]).item()


# %% tags=["figure", "folded"]
ax = plt.subplots(figsize=(7.2, 3.2))[1]
turns, alone = np.linspace(0, np.pi, 60), [margin(word) for word in words]
for at, (word, weight) in enumerate(zip(words, alone, strict=True)):
    ax.text(at, -0.1, f"{word}\n{round(weight, 1) + 0.0:+.1f}", ha="center", va="top")
for i, j in combinations(range(len(words)), 2):
    weight = margin(words[i], words[j]) - alone[i] - alone[j]
    wide, color = abs(weight), "C0" if weight > 0 else "C3"
    x, y = (i + j) / 2 + (j - i) / 2 * np.cos(turns), 0.28 * (j - i) * np.sin(turns)
    ax.plot(x, y, color=color, linewidth=wide, alpha=0.75)
    if wide > 1:
        ax.text((i + j) / 2, 0.28 * (j - i) + 0.04, f"{weight:+.1f}", ha="center", color=color)
ax.set(xlim=(-0.6, 5.6), ylim=(-0.6, 1.6))
ax.axis("off")
ax.set_title("‘not’ with ‘stale’ and ‘cake’ outweighs ‘was … stale’ (logits; blue: good)")
ax.text(-0.6, 1.45, "arcs: what a pair adds\nbelow: a word by itself", fontsize=9, va="top")
figure("pairs", alt="Arcs between words: not to stale is blue and wide, was to stale orange.")

# %% [markdown]
# In statements like this one *was … stale* speaks for *badly*. *Not … stale* speaks for *well*, *not … cake*, too, and both outweigh it. (Why *not … cake*? *Dry* is good for a picnic and bad for a cake, so *not … dry* alone can't tell. *Not … cake* and *not … picnic* help.)
#
# A weight for each pair of words, and 93.5 % of the new statements are right. (We thought of skip-bigrams only after seeing what bigrams get wrong on the test. But validation, which chose only the `decay`, says 94.5.) As lesson 10c found, no kind of network is ahead of this after 1,500 steps. But that took 2,176 labels.
#
# ## 10g.2 One label in eight
#
# Labels cost money: someone has to read each text. So keep every eighth, 272 labels, eight from each training template. Train a causal network on them, from random weights (*from scratch*).

# %%
from coursekit.layers.attention import attend, attend_past
from coursekit.models.encoder import Encoder, EncoderConfig, pool
from coursekit.training.fit import fit
from coursekit.training.optimiser import adamw, warm_up_cosine

sizes = EncoderConfig(vocab_size=size, context=24, d_model=32, dropout=0.0)
few = train[::8]


class OurClassifier(nn.Module):  # that of lesson 10c
    def __init__(self, rule):
        super().__init__()
        self.encoder, self.head = Encoder(sizes, rule=rule), nn.Linear(32, 2)

    def forward(self, tokens, present):
        return self.head(pool(self.encoder(tokens, present), present, "last"))


# %%
def train_it(model, batches, loss, steps):
    options = {"steps": steps, "schedule": warm_up_cosine(steps), "clip": 1.0}
    fit(model, adamw(model, 5e-3, weight_decay=0.01), batches, loss=loss, **options)
    return model.eval()


def learn_labels(rule, seed, start=None, steps=1000, part=few):  # start: pre-trained, or none
    torch.manual_seed(seed)
    model = OurClassifier(rule).to(device)
    if start is not None:
        model.encoder.load_state_dict(start.state_dict())
    ((tokens, present), y), g = read(part), torch.Generator().manual_seed(seed)
    picks = (torch.randint(len(y), (32,), generator=g) for _ in range(steps))
    batches = (((tokens[i], present[i]), y[i]) for i in picks)
    return train_it(model, batches, F.cross_entropy, steps)


# %% tags=["nbval-ignore-output"]
scratch = learn_labels(attend_past, 0)
counted_few = fit_best("far", few)
print(
    f"random weights {accuracy(scratch, test):.0f}, skip-bigrams {accuracy(counted_few, test):.0f}"
)

# %% [markdown]
# One network says little (lesson 10c). Twelve of each kind are recorded, seeds 0 to 11, each with how often it is right on each test template. (A template has 64 statements, half of them with label 1; the figures name it by one of them.)


# %%
forms = {one.template for one in test}
names = sorted(forms, key=lambda form: ("{r}" in form, " but " in form, form))  # reactions last


def recorded(run, what=names):  # per cent right, (seeds, templates); "{}" is the seed
    records = [read_record(f"labels-{run.format(seed)}").result for seed in range(12)]
    return torch.tensor([[one[name] for name in what] for one in records])


of_random = recorded("few-1000-causal-{}")
print("random weights, seeds 0 to 11:", *(f"{one:.0f}" for one in of_random.mean(1)))

# %% [markdown]
# All of them are at 61 to 70 %. A coin gets 50, so they have learned something. But what? In four of the fourteen test templates someone reacts, as in *it was a tasty cake so people smiled*. Suppose a model knew only these reactions, and nothing else.

# %%
good = ["everyone was pleased", "people smiled", "the guests came again"]
bad = ["everyone was annoyed", "people grumbled", "the guests went home"]

# %% [markdown] tags=["exercise"]
# > **Exercise 10g.2 (warm-up, 5 minutes).** Write that model. `by_reaction(text)` returns the probability that it went well: 1 if there is a reaction from the list `good` in the text, 0 if there is one from `bad`, and ½ if there is none. A reaction can stand anywhere in the text.
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
# **Predict.** It guesses where there is no reaction, and is then right half of the time. How often is it right on the whole test?

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
# 64.3 %, which is (4 · 100 + 10 · 50)/14. The skip-bigrams have no more than that, and the networks only 3 points more. So set these four templates aside, and ask about the other ten.

# %%
parts = [[one for one in test if one.template == name] for name in names]  # 64 statements each
of_pairs = np.array([accuracy(counted_few, part) for part in parts])
ten = of_random[:, :10].mean(1)
print("on the ten without a reaction: random weights", *(f"{one:.0f}" for one in ten))
print(f"skip-bigrams {of_pairs[:10].mean():.1f}; on the other four {of_pairs[10:].mean():.1f}")
claim(random_where_untold=ten.mean().item(), pairs_where_untold=of_pairs[:10].mean())


# %% tags=["figure", "folded"]
def draw_kinds(ax, kinds):  # a row for each template, a dot for each seed, and their mean
    for (name, found), up, color in zip(kinds.items(), (-0.15, 0.2), ("C0", "C1"), strict=False):
        for row in range(14):
            ax.plot(found[:, row], [row + up] * 12, "o", color=color, alpha=0.35, markersize=5)
            ax.plot(found[:, row].mean(), row + up, "|", color="black", markersize=10)
        ax.text(1 if up < 0 else 53, -0.75, name, color=color, fontsize=10, va="center")
    ax.axvline(50, color="0.4", linestyle=":")
    ax.axhline(9.5, color="C2", linewidth=2)
    ax.text(1, 10, "with a reaction", color="C2", va="center", fontsize=9)
    ax.set_yticks(range(14), [fill_in(name) for name in names], fontsize=9)
    ax.set(xlabel="right (%), 12 seeds and their mean; dotted: chance", xlim=(-3, 103))
    ax.set_ylim(13.6, -1.2)


ax = plt.subplots(figsize=(8, 4))[1]
draw_kinds(ax, {"random weights": of_random})
ax.plot(of_pairs, range(14), "x", color="black", markersize=6)
ax.text(53, -0.75, "× skip-bigrams", fontsize=10, va="center")
ax.set_title("Recorded, 272 labels: reliable only where someone reacts", loc="right")
figure(
    "random",
    alt="With a reaction most dots are near 100; elsewhere they lie from 12 to 98, around 55.",
)

# %% [markdown]
# **The networks can rely on reactions. On the ten others they score 55 %**, and that is an average: mostly right on two templates with *but*, mostly wrong on *nobody*, on *not a dry cake* and on one with *but we expected*, in between elsewhere. (Why below a coin? See [10e](10e_shortcuts.ipynb).) The skip-bigrams score 50 there. (Their `decay` was chosen on 512 labelled statements, more than they learn from here. The networks have the settings of lesson 10c.) **67 % looked like a little knowledge of everything. It is nearly full knowledge of four forms, and of the rest a mixture of right and wrong.**
#
# ## 10g.3 Text without labels
#
# Text is cheap. All 2,176 training statements can be read without their labels: **pre-train** on them, by predicting each next word (lesson 10c), for 500 steps. Then 500 steps with the 272 labels, so that both kinds take 1,000. (A catch: 640 of these texts name a reaction, which gives the outcome away without a label. Exercise 10g.3 leaves them out.)

# %%
from coursekit.evaluate.likelihood import next_token_loss
from coursekit.evaluate.seeds import compare_seeds, judge, mean_over_groups
from coursekit.models.encoder import MaskedTokenModel
from coursekit.windows.masking import draw_masked


def next_words(tokens, present, g):
    while True:
        x = tokens[torch.randint(len(tokens), (32,), generator=g)]
        after = F.pad(x[:, 1:], (0, 1))  # nothing comes after the last
        y = after.where(after >= 4, -100)  # −100: no target
        yield (x, x > 0), y


def pretrain(rule, seed, steps=500, part=train):
    torch.manual_seed(seed)
    model, g = MaskedTokenModel(Encoder(sizes, rule=rule)), torch.Generator().manual_seed(seed)
    x = read(part)[0]
    masked = draw_masked(*x, ids["[MASK]"], size, 32, g, lowest=4)
    batches = masked if rule is attend else next_words(*x, g)  # the same head, other targets
    return train_it(model.to(device), batches, next_token_loss, steps).encoder


# %% [markdown]
# The verdicts are those of lesson 10c, from the larger of two errors: three standard errors or more are a lead, two a hint.
#
# **Predict.** On the ten templates without a reaction, where random weights have 55 %: how often are the pre-trained networks right?

# %% tags=["predict"]
guess = None  # per cent; chance is 50

# %% tags=["nbval-ignore-output"]
start = pretrain(attend_past, 0)
pre_trained = learn_labels(attend_past, 0, start, steps=500)
ten_parts = [one for part in parts[:10] for one in part]
both = [accuracy(one, ten_parts) for one in (scratch, pre_trained)]
print(f"seed 0: random weights {both[0]:.0f}, pre-trained {both[1]:.0f}")

# %%
of_text = recorded("few-1000-causal-pre-trained-{}")
compare_guess(guess, of_text[:, :10].mean().item())


def say(what, ahead, error):
    ratio = f"{ahead / error:.1f} errors"
    print(f"{what}: {ahead:.1f} ± {error:.1f}, {ratio}, {judge(float(ahead), float(error))}")


gain = {}
for name, n in {"all fourteen": 14, "the ten without a reaction": 10}.items():
    after, before = of_text[:, :n].mean(1), of_random[:, :n].mean(1)
    gain[name] = [float(one) for one in compare_seeds(after, before)]
    print(f"{name}: {before.mean():.1f} became {after.mean():.1f}")
    say("   pre-trained ahead", *gain[name])
of_all, of_ten = gain.values()
claim(gain_with_few_labels=of_all[0], gain_in_standard_errors=of_all[0] / of_all[1])
claim(gain_where_untold=of_ten[0], gain_where_untold_in_errors=of_ten[0] / of_ten[1])

# %% [markdown]
# A lead. But what is *this* number made of? Take it apart as we did with the 67 %. And other templates would have other gains. So treat the fourteen as a sample, too: their standard deviation over √14 is the standard error over templates (lesson [10f](10f_templates.ipynb)).


# %%
groups = {"six with ‘but’": slice(4, 10), "four others": slice(0, 4), "a reaction": slice(10, 14)}


def take_apart(before, after):
    for name, some in groups.items():
        both = before[:, some].mean().item(), after[:, some].mean().item()
        print(f"{name:15} {both[0]:.1f} became {both[1]:.1f}, {both[1] - both[0]:+.1f}")
    say("error over templates", *mean_over_groups((after - before).mean(0), names))


take_apart(of_random, of_text)

# %% tags=["figure", "folded"]
ax = plt.subplots(figsize=(8, 4.6))[1]
draw_kinds(ax, {"random weights": of_random, "pre-trained": of_text})
ax.set_title("Recorded, 272 labels: pre-trained networks know ‘but’ better", loc="right")
figure(
    "few-labels", alt="Pre-trained, all six rows with but move to the right; nobody stays at 21."
)

# %% [markdown]
# **Pre-trained, they do better on *but*.** The six templates with *but* rise by 19 points, each of them by 7 to 39. The four with a reaction fall by 2. Of the four others two rise, *we did not have a dry cake* by 16 and *it was not a dry cake* by 9; on *nobody* hardly anything changes; and on the plainest statement, *today it was a tasty cake*, they are 16 points worse; we don't know why.
#
# So with few labels **pre-training pays off for causal networks, across seeds**. That is the point of pre-training in GPT-1 and BERT. (And here it is made easy: the text is that of the task itself, *self-pretraining*, Krishna et al. 2022.) Across kinds of statement it is less certain: over templates the gain is 8.1 ± 3.8, a hint. (And there is one draw of 272 labels; another would be one more source of chance.)
#
# <details><summary>Two more controls</summary>Training from random weights wasn't too long: after 500 steps it gives 64 %. And the pre-trained vectors alone don't tell the outcome: a probe on them, frozen, at the last token or on their mean, is right on about half of all statements (<a href="../tests/test_encoder_lesson.py">a separate run</a>).</details>

# %% [markdown]
# ## 10g.4 And with more labels?
#
# There are eight times as many labels. Does pre-training gain less if we use them? The same recipe, 1,000 steps and twelve seeds, is recorded with every fourth label, every second, and with all: a *learning curve*. (Every eighth label has each template once with each label in each of the four domains, from kitchen to weather. Every 16th would have label 0 only.)


# %%
def read_curve(runs, end="", what=names):  # from random weights, and pre-trained: by labels
    kinds = [f"causal{end}", f"causal-pre-trained{end}"]
    return {n: [recorded(f"{run}{k}-{{}}", what) for k in kinds] for n, run in runs.items()}


def compare_both(runs, end=""):
    print("labels: right (%), gain over seeds; over templates | on validation")
    curve, unseen = (read_curve(runs, end, what) for what in (names, ["validation"]))
    for labels, (before, after) in curve.items():
        over = mean_over_groups((after - before).mean(0), names)
        text = f"{labels:5}: {before.mean():.1f} became {after.mean():.1f}"
        for one, two in ((before, after), unseen[labels]):
            ahead, error = map(float, compare_seeds(two.mean(1), one.mean(1)))
            text += f", {ahead:.1f} ± {error:.1f}, {judge(ahead, error)}"
            text += f"; ± {over[1]:.1f}, {judge(*over)} |" if one is before else ""
        print(text.replace("|,", "|"))
    return {labels: [one.mean(1) for one in both] for labels, both in curve.items()}


# %% [markdown]
# **Predict.** With 272 labels pre-training gained 8.1 points. And with all 2,176?

# %% tags=["predict"]
guess = None  # points


# %%
briefly = {272: "few-1000-", 544: "one-in-4-", 1088: "one-in-2-", 2176: "one-in-1-"}
curve = compare_both(briefly)
gain_of = {labels: after - before for labels, (before, after) in curve.items()}
compare_guess(guess, gain_of[2176].mean().item())
say("with all more than with 272", *compare_seeds(gain_of[2176], gain_of[272]))
by_pairs = [accuracy(fit_best("far", train[:: 2176 // labels]), test) for labels in curve]
print("skip-bigrams:", *(f"{right:.1f}" for right in by_pairs))
claim(gain_with_all_labels=gain_of[2176].mean().item())


# %% tags=["figure", "folded"]
def draw_curve(ax, curve, line="o-", **options):
    for color, some in zip(("C0", "C1"), zip(*curve.values(), strict=True), strict=True):
        errors = [one.std().item() / 12**0.5 for one in some]
        means = [one.mean() for one in some]
        ax.errorbar(list(curve), means, yerr=errors, fmt=line, color=color, capsize=3, **options)
    ax.set_xscale("log")
    ax.set_xticks(list(curve), [f"{labels:,}" for labels in curve])
    ax.minorticks_off()
    ax.set(xlabel="labels", ylabel="right (%) ± standard error")


ax = plt.subplots(figsize=(6.4, 3.6))[1]
draw_curve(ax, curve)
ax.plot(list(curve), by_pairs, "x:", color="black")
ax.text(580, 75.3, "random weights", color="C0", fontsize=10)
ax.text(300, 85.5, "pre-trained", color="C1", fontsize=10)
ax.text(700, 67, "skip-bigrams", fontsize=10)
ax.set_title("After 1,000 steps: ahead, however many labels there are?", loc="right")
figure("curve", alt="Two curves from 272 to 2,176 labels; the pre-trained one is 6 to 12 higher.")

# %% [markdown]
# With all labels 12.2 ± 2.9 on the test: a lead. It looks larger than with few, by 4.1 ± 2.9, but we can't tell; and on validation, where other templates are new, it is smaller. (At 544 the verdict is *can't tell*, at 1,088 a lead; nor is that a difference yet, see Gelman and Stern 2006.) So is pre-training worth as much, however many labels you have?
#
# One thing is odd: with all labels, random weights are no better than with half of them.
#
# ## 10g.5 Let them finish
#
# In 1,000 steps a network sees each of 272 labelled statements some 118 times, but each of 2,176 only some 15 times. Has it learned them by then? Ask the training loss.

# %%
for labels in (272, 2176):
    loss = recorded(f"{briefly[labels]}causal-{{}}", ["train"]).mean()
    print(f"{labels:4} labels: training loss {loss:.3f} nats")

# %% [markdown]
# With 272 labels it seems so, with 2,176 it hasn't: we stopped too early. **Equal steps aren't fair to those who have more to learn.** So the whole curve is recorded once more, with 6,000 steps, of which pre-training takes a third.
#
# **Predict.** After 1,000 steps pre-training gained 8.1 points with 272 labels, and 12.2 with all. Which gain grows, which one shrinks? Guess that with 272 labels.

# %% tags=["predict"]
guess = None  # points

# %%
at_length = {272: "few-6000-", 544: "long-one-in-4-", 1088: "long-one-in-2-", 2176: ""}
longer = compare_both(at_length)
longer_gain = {labels: after - before for labels, (before, after) in longer.items()}
compare_guess(guess, longer_gain[272].mean().item())
say("with 272 more than with all", *compare_seeds(longer_gain[272], longer_gain[2176]))
for labels, (before, after) in longer.items():
    fewer = 100 - 100 * (100 - after.mean()) / (100 - before.mean())
    print(f"{labels:5}: {100 - before.mean():.1f} % wrong, {fewer:.0f} % fewer with text")
few_gain, all_gain = (longer_gain[labels].mean().item() for labels in (272, 2176))
claim(gain_after_more_steps=few_gain, gain_with_all_at_last=all_gain)

# %%
print("The same, where the classifier reads the mean of all tokens:")
compare_both({272: "few-6000-", 2176: ""}, "-mean")

g = torch.Generator().manual_seed(42)


def worth(mean):  # so many labels give as much without text as 272 with text
    scratch = np.maximum.accumulate([mean(before) for before, _ in longer.values()])
    return np.exp(np.interp(mean(longer[272][1]), scratch, np.log(list(longer))))


as_many = worth(torch.mean)
again = [
    worth(lambda runs: runs[torch.randint(12, (12,), generator=g)].mean()) for _ in range(2000)
]
low, high = np.percentile(again, [2.5, 97.5])
print(f"272 labels with text are worth {as_many:.0f} (95 %: {low:.0f} to {high:.0f})")
claim(labels_saved=as_many)

# %% tags=["figure", "folded"]
ax = plt.subplots(figsize=(6.8, 4))[1]
draw_curve(ax, curve, "o:", alpha=0.35)
draw_curve(ax, longer)
right = longer[272][1].mean()
ax.annotate("", (as_many, right), (300, right), arrowprops={"arrowstyle": "->", "color": "0.3"})
ax.text(330, right + 0.6, "text, or about three times the labels", fontsize=9, color="0.3")
ax.text(1180, 86.5, "random weights", color="C0", fontsize=10)
ax.text(300, 93, "pre-trained", color="C1", fontsize=10)
ax.set_title("Recorded, 6,000 steps (faint: 1,000): text replaces labels", loc="right")
figure(
    "longer",
    alt="Random weights rise from 68 to 95, pre-trained from 86 to 99: a gap that narrows.",
)

# %% [markdown]
# **The picture changes.** With all labels, networks from random weights just needed longer: 94.6 %. With 272 they soon know these by heart, and further training hardly helps: 67 % after 1,000 steps, 68 after 6,000. With text, the same 272 labels are now worth 86 %. So in points the gain falls with the number of labels, from 17.8 to 3.9, by 13.9 ± 2.5: a lead. Validation says the same, and so does the mean of tokens. Only with 272 labels is it a lead over templates, too; and with all labels and the mean, we can't tell whether any gain remains.
#
# Read the curves sideways: **here text is worth two to four times the labels, and more.** 272 with text do as much as some 900 without. Over seeds anything from 500 to 1,500 is possible (95 %), over templates more. And 544 with text do as much as all 2,176. That is how Howard and Ruder (2018) measure it, as *label efficiency*.
#
# But points have a ceiling. Where only 5 % are wrong, no more than 5 can be gained. Count wrong answers instead: text takes away 56 % of them with 272 labels, and 73 % or more with other numbers. By this measure it pays least where labels are few. (And with all labels the networks read no more text than they have labels for; there it is predicting words that helps. With 272 it is the other texts: pre-trained on these 272 alone, twelve more networks gain −1.3 ± 1.9 points, so nothing.)
#
# For images He, Girshick and Dollár (2019) found that random weights catch up if trained for long enough, unless there is very little to learn from. And the skip-bigrams need neither seeds nor text, but more than half of the labels.
#
# ## 10g.6 Where does the gain come from?
#
# After 1,000 steps it came from *but*. And now? Take it apart once more.

# %%
of_long = [recorded(f"few-6000-{kind}-{{}}") for kind in ("causal", "causal-pre-trained")]
take_apart(*of_long)

# %% tags=["figure", "folded"]
ax = plt.subplots(figsize=(8, 4.6))[1]
draw_kinds(ax, dict(zip(("random weights", "pre-trained"), of_long, strict=True)))
ax.set_title("Recorded, 272 labels, 6,000 steps: better on all without a reaction", loc="right")
figure(
    "few-longer",
    alt="Pre-trained, all ten rows without a reaction move to the right, nobody to 66.",
)

# %% [markdown]
# **Now they know more than reactions.** On the other ten templates 57 % became 83. All ten rise: the six with *but* by 21 points, the four others by 34, even *nobody*, and the plain statement that 1,000 steps had made worse. The four with a reaction fall by 3 on average. So this gain is a lead over templates, too: 17.8 ± 4.9.
#
# What made the difference, more steps with text or more with labels? Two more kinds are recorded, with only one of them longer.

# %%
taking = {}  # steps with text, steps with labels: twelve networks
for with_text in (500, 2000):
    for with_labels in (500, 4000):
        run = f"few-{with_text + with_labels}-causal-pre-trained-{{}}"
        taking[with_text, with_labels] = recorded(run).mean(1)
        mean = taking[with_text, with_labels].mean()
        print(f"{with_text:4} steps with text, {with_labels:4} with labels: {mean:.1f}")
more = compare_seeds(taking[500, 4000], taking[500, 500])
say("4,000 steps with labels instead of 500", *more)
say("2,000 steps with text instead of 500", *compare_seeds(taking[2000, 500], taking[500, 500]))

# %%
for what in ("right", "validation"):
    pairs = [read_curve({272: f"few-{n}-"}, what=[what])[272] for n in (1000, 6000)]
    gains = [(after - before).mean(1) for before, after in pairs]
    say(f"{what}: how much the gain grows", *compare_seeds(gains[1], gains[0]))
loss = recorded("few-1000-causal-pre-trained-{}", ["train"]).mean()
print(f"training loss after 500 steps with text and 500 with labels: {loss:.3f} nats")

# %% [markdown]
# **After pre-training, more steps with the labels help**, by 9.4 ± 3.1, a lead; about more steps with text we can't tell. (Random weights gain 0.9 ± 1.5 between 1,000 and 6,000 steps.) Strange: after 500 steps with the labels the training loss is 0.001 nats, so there seemed to be nothing left to learn. Yet longer runs do better on statements that they have never seen. (Each is a run of its own, with its own schedule, so a longer one also has a high learning rate for longer. Recipes for BERT with few samples stop too early as well, Zhang et al. 2021.) So a training loss near zero is no reason to stop. How sure is that? On the test the gain of pre-training grows by 9.7 ± 2.9 with the longer runs, a lead. On validation it grows by 2.9 ± 2.6, and we can't tell.
#
# <details><summary>Caveats</summary>It is one choice of 272 labels, equally many from each template, and nobody who has 272 has 512 others to spare for validation. Nothing was tuned for random weights; lesson 10f chooses the setting for each kind. And bidirectional networks, pre-trained by filling in masked words as BERT is? With 272 labels and four seeds 64.6 became 68.5 after 1,000 steps (3.9 ± 2.1, can't tell), and 62.9 became 75.7 after 6,000 (12.8 ± 3.7, a lead). These are recorded and <a href="../tests/test_recorded_runs.py">tested</a>, too.</details>

# %% [markdown] tags=["exercise"]
# > **Exercise 10g.3 (investigate, 25 minutes).** *People smiled because it was a tasty cake*: without its label, this text still says how things turned out. Ten of the 34 training templates end or begin like this, with `{r}` in their name. Is that what pre-training learns from? Take these texts out of the `part` that `pretrain` reads. Then learn the 272 labels as before, with seeds 0 to 3, and complete the table, with verdicts by `judge`. (Eight networks take two minutes. Four seeds show only a large gain, see 10c.4.)
# >
# > <details><summary>Hint</summary><code>quiet = [one for one in train if "{r}" not in one.template]</code>. The means of the twelve recorded networks are in <code>of_random</code> and <code>of_text</code>; take the first four.</details>
# >
# > ```python
# > start = pretrain(attend_past, 0, part=quiet)
# > print(accuracy(learn_labels(attend_past, 0, start, steps=500), test))
# > # with four of each, as tensors: judge(*map(float, compare_seeds(after, before)))
# > ```
#
# |272 labels, 1,000 steps, seeds 0 to 3|right (%)|gain|verdict|
# |---|---|---|---|
# |random weights||–|–|
# |pre-trained on all texts||||
# |pre-trained on texts without a reaction||||
#
# > <details><summary>What we found</summary>68.9; 75.3, a gain of 6.4 ± 2.3, a hint; without reactions 72.0, a gain of 3.1 ± 2.2: we can't tell. So twelve seeds are recorded. After 1,000 steps the gain without these texts is 2.6 ± 1.3 instead of 8.1 ± 2.1, a hint. After 6,000 it is 12.0 ± 3.5 instead of 17.8 ± 2.5: a lead. So after the short training more than half of the gain may be due to texts that give the outcome away (5.5 ± 2.2, a hint), after the long one perhaps a third (5.9 ± 3.9, we can't tell). But these runs also read less text. Leave out ten <em>other</em> templates instead, and after 1,000 steps the gain is as small, 3.3 ± 1.7 with twelve seeds. So it needn't be what these texts tell; it may be how much there is to read. To try on: bidirectional networks, with <code>attend</code>.</details>

# %% [markdown]
# ## What you now have
#
# - **When does pre-training pay?** In points, where labels are few: with the same 272 labels 68 % became 86, as some 900 give without text (over seeds 500 to 1,500). It takes the other texts; the 272 alone don't help. How much is due to texts that give the outcome away, we can't tell (exercise 10g.3). Counted in wrong answers it takes away half of them there, and more where labels are many. With all 2,176, 95 became 99 when the classifier reads the last token; when it reads the mean, 98.7 need no text.
# - A rule for comparisons: equal steps are fair only if both are done, and a training loss near zero doesn't show that they are. After 1,000 steps the gains on the test were 8 and 12 points, after 6,000 18 and 4.
# - A way to read an accuracy: write down the simplest thing that could explain it, and see what that scores. Here someone who knows six reactions and otherwise guesses gets 64.3.
# - A baseline without a network. With all labels, a weight for each pair of words gets 94 %; with 272 it is sure of the reactions only.
#
# **What still fails.** *Nobody found the cake dry today*: with 272 labels and text a third of it is still wrong, and without text four fifths. [Side lesson 10e](10e_shortcuts.ipynb) asks why.

# %% [markdown]
# # 10i · How many labels is reading worth?
#
# *Today it was a tasty cake.* No *not*, no *but*: nothing to stumble over. Yet networks that learn 136 labels from scratch get only 44 % of such plain statements right, fewer than a coin would. In lesson 10h there were 272 labels, and a good baseline hardly gained from reading first: 1.8 ± 1.4 points. *Unless there is very little to learn from*, He, Girshick and Dollár (2019) had warned. So suppose that half of our labels had never been written. Can reading make up for them?
#
# **Afterwards you can** draw a learning curve over labels for two ways to train; compare one gain with another, on a scale with a ceiling and on one without; and say what a gain is worth in labels, and how certain that is.
#
# **Before**: lesson 10h (pre-training, strong baselines), 10f (errors over templates, the bootstrap) and 10g (skip-bigrams, the rule with a coin).
#
# **Runs in** {runs_in}. **Study time** {study}.
#
# **Sources**: counting in labels, Howard and Ruder (2018); effective data, Hernandez et al. (2021); networks from scratch that catch up, He, Girshick and Dollár (2019); the bootstrap, Efron (1979); unstable fine-tuning, Dodge et al. (2020) and Mosbach, Andriushchenko and Klakow (2021); self-training, Zoph et al. (2020); reading the task's own text, Gururangan et al. (2020), and nothing else, Krishna et al. (2022) and Amos, Berant and Gupta (2024). All statements here were written for this course.

# %% tags=["setup", "machine"]
import math

import matplotlib.pyplot as plt
import torch

from coursekit.data.statements import number_words, statements
from coursekit.evaluate.seeds import compare_seeds_and_groups, judge
from coursekit.exercises import answer_or
from coursekit.exercises import labels as exercises
from coursekit.notebook import claim, compare_guess, figure, read_results, setup
from coursekit.windows.masking import pad_texts

device = setup("10i_label_worth", seed=42)

# %% [markdown]
# ## 10i.1 Take labels away
#
# The 272 labels are eight for each of 34 templates: in each of four domains, one bad outcome and one good. To take labels away evenly, keep three of a template's four pairs, two, or one. The next template begins with another domain, so each domain keeps its part. Nothing happens to the *texts*: all 2,176 can be read, with a label or without.

# %%
train, validation, test = statements()
few = train[::8]


def keep(n):  # n of each template's four pairs, from different domains in turn
    pairs = [few[i : i + 2] for i in range(0, len(few), 2)]
    kept = [pair for i, pair in enumerate(pairs) if (i - i // 4) % 4 in (0, 2, 1, 3)[:n]]
    return [one for pair in kept for one in pair]


parts = {len(part): part for part in map(keep, (1, 2, 3, 4))}
numbers = [*parts]
for bad, good in zip(few[:16:2], few[1:16:2], strict=True):  # of two templates
    print(f"{bad.text:36}{good.text:39}in {[n for n in numbers if bad in parts[n]]}")

# %% [markdown]
# Twelve networks of each kind learned each of these sets. All got what helped in lesson 10h: 12,000 steps, dropout, weight decay, a larger initialisation, pre-norm. From scratch, all the steps use labels. Pre-trained, 4,000 steps use text, and 8,000 labels. (With `keep` copied into lesson 10h you can train such a network: `learn_labels(0, part=keep(2), steps=12000, dropout=0.2, decay=0.1, std=0.18, norm_first=True)`.)


# %%
forms = {one.template for one in test}
names = sorted(forms, key=lambda form: ("{r}" in form, " but " in form, form))  # reactions last
kinds = {"from scratch": "causal", "pre-trained": "causal-pre-trained"}


def recorded(run, what=names):  # of each kind, per cent right: (seeds, what)
    files = [f"labels-{run}-{k}-mean-regularised-norm-first-wide" for k in kinds.values()]
    return [read_results(file, what, seeds=12) for file in files]


def show_gain(name, before, after):
    gain, error = compare_seeds_and_groups(after, before)
    means = f"{before.mean():.1f} → {after.mean():.1f} % right"
    print(f"{name}: {means}, gain {gain:z.1f} ± {error:.1f}, {judge(gain, error)}")
    return gain


# %% [markdown]
# **Predict.** With 272 labels the gain was 1.8 points. And with 136?

# %% tags=["predict"]
guess = None  # points

# %%
curve = [recorded(f"{n}-12000") for n in numbers]
before, after = curve[1]
compare_guess(guess, (after.mean() - before.mean()).item())
gains = {n: show_gain(f"{n} labels", *both) for n, both in zip(numbers, curve, strict=True)}
claim(gain_with_half_the_labels=gains[136], gain_with_three_quarters=gains[204])
claim(gain_with_a_quarter=gains[68])

# %% [markdown]
# Thirteen and fifteen points in the middle, and next to nothing at both ends. Before we believe it, put beside it what needs no network: the skip-bigrams of lesson 10g, their `decay` chosen on validation, and the rule that knows six reactions and else tosses a coin. And is this true of other labels, too? The 136 that `keep(2)` leaves out were learned by two dozen more networks.

# %%
from coursekit.models.bag import choose_bag

ids = number_words([one.text for one in train])


def known(part):  # tokens and labels; 1 is [CLS], 0 padding
    tokens, _ = pad_texts([[1, *(ids[w] for w in one.text.split())] for one in part])
    return tokens, torch.tensor([one.label for one in part])


options = {"vocab_size": len(ids), "pairs": "far", "lowest": 4}
options["decays"] = (1e-8, 1e-6, 1e-4, 1e-2, 1.0)
tokens, labels = known(test)
by_pairs = []
for part in parts.values():
    bag = choose_bag(known(part), known(validation), **options)
    by_pairs.append(100 * (bag(tokens).argmax(1) == labels).float().mean().item())
told = [k for k, form in enumerate(names) if "{r}" in form]  # someone reacts
by_rule = 100 * (len(told) + 0.5 * (14 - len(told))) / 14
print("skip-bigrams:", *(f"{right:.1f}" for right in by_pairs), f"% right; the rule: {by_rule:.1f}")
others = recorded("136-12000-elsewhere")
show_gain("136 other labels", *others)

# %% tags=["figure", "folded"]
ax = plt.subplots(figsize=(7.2, 4.2))[1]
for column, (name, where) in enumerate(zip(kinds, ((207, 74), (103, 83)), strict=True)):
    some = [both[column].mean(1) for both in curve]
    ax.plot(numbers, [one.mean() for one in some], color=f"C{column}", linewidth=2)
    for n, found in zip(numbers, some, strict=True):
        at = n * (1, 1.04)[column]
        ax.plot([at] * len(found), found, "o", color=f"C{column}", alpha=0.5, markersize=6)
    ax.text(*where, name, color=f"C{column}", fontsize=11)
ax.plot(numbers, by_pairs, "x:", color="black")
ax.text(150, 59.5, "skip-bigrams", fontsize=10)
ax.axhline(by_rule, color="0.5", linewidth=1)
ax.text(284, by_rule + 0.6, "six reactions\nand a coin", fontsize=9, ha="right", color="0.3")
for n, (before, after) in zip(numbers, curve, strict=True):
    ax.text(n * 1.02, 46, f"{after.mean() - before.mean():+.1f}", fontsize=10, ha="center")
ax.text(57, 46, "gain", fontsize=10)
ax.set_xscale("log")
ax.set_xticks(numbers, numbers)
ax.minorticks_off()
ax.set(xlabel="labels", ylabel="right on new statements (%)", xlim=(56, 300), ylim=(44, 101))
ax.set_title("Recorded: with 136 and 204 labels it shows who has read", loc="right")
figure(
    "budget", alt="Two kinds of dots: level at 68 and 272 labels, 13 to 15 points apart between."
)

# %% [markdown]
# **With 136 labels, 15 points, a lead.** It isn't only luck with these labels: the 136 others give the same. It is a lottery again, as in lesson 10h, but now only networks that read can win it. They get from 66 to 95 %, those from scratch from 61 to 76, though all of them fit their labels. With 204, ten of twelve that read get more than 95 %, and one from scratch. (Fine-tuning BERT depends on the seed, too: Dodge et al. 2020; Mosbach, Andriushchenko and Klakow 2021.)
#
# **With 68 labels, no network is better than the rule with the coin.** Both kinds are even a little below it, and below the skip-bigrams, within the noise. Where no one reacts, they are no better than a coin, whether they have read or not. Elsewhere it may be different: Howard and Ruder (2018), with far more text, gain most where labels are fewest.
#
# ## 10i.2 Is 15 more than 1.8?
#
# The figure seems to say that reading pays only in between. Two doubts. First, is *this* baseline as good as it can be? All its settings were chosen with 272 labels. With 136, three others were recorded from scratch, and none for those that read.

# %%
end = "mean-regularised-norm-first-wide"
print("from scratch, % of validation:")
others_tried = {"dropout 0.2": "", "dropout 0.1": "-less", "dropout 0.4": "-more"}
for name, tried in (others_tried | {"0.2, lr 0.002": "-slow"}).items():
    found = read_results(f"labels-136-12000-causal-{end}{tried}", ["validation"], seeds=4)
    print(f"  {name:14}{found.mean():.1f} ± {found.std() / math.sqrt(len(found)):.1f}")
tuned = read_results(f"labels-136-12000-causal-{end}-less", names, seeds=12)
over_tuned = show_gain("136 labels, dropout 0.1 from scratch", tuned, curve[1][1])
claim(gain_over_a_tuned_baseline=over_tuned)

# %% [markdown]
# Validation prefers a dropout of 0.1, within the noise. Over twelve networks with that, the gain is 13.9 points, still a lead.
#
# Second, one clear gain and one unclear gain don't prove that they differ. So compare the gains themselves, as in lesson 10h: a difference of differences.

# %%
with_all = curve[3][1] - curve[3][0]
for k in (0, 1, 2):
    more, error = compare_seeds_and_groups(curve[k][1] - curve[k][0], with_all)
    print(f"{numbers[k]} against 272: {more:4.1f} ± {error:.1f} more, {judge(more, error)}")

# %% [markdown]
# **In points, reading brings more with 136 and 204 labels than with 272: two hints.** But points have a ceiling. From 96.4 % you can't gain more than 3.6, however much you know. So count differently: how many answers are right *for each wrong one*? These are the **odds**. With 136 labels, networks from scratch give 2.1 right answers for a wrong one, and after reading 4.7, which is 2.3 times as many.
#
# **Predict.** With 272 labels, 1.8 points looked like nothing. By what factor did reading multiply the odds there?

# %% tags=["predict"]
guess = None  # a factor, 1 for no change


# %%
def odds(found):  # right answers for each wrong one
    return (found.mean() / (100 - found.mean())).item()


for n, (before, after) in zip(numbers, curve, strict=True):
    first, last = odds(before), odds(after)
    factor = last / first
    print(f"{n:3} labels: {first:4.1f} → {last:4.1f} right for each wrong, × {factor:.1f}")
compare_guess(guess, factor)

# %% [markdown]
# It has doubled them: half of the wrong answers are gone. The logarithm of such a factor is the gain in **log-odds**, a scale without a ceiling. And its error? There is no formula at hand, so take the bootstrap of lesson 10f: resample the seeds of each point, and the templates, the same ones for all points, and see how the result varies. A fifth row asks about lesson 10h: the same 272 labels, with the baseline of its third row, which had dropout, but a small initialisation, post-norm and 6,000 steps.


# %%
def log_gain(both):  # in log-odds
    return math.log(odds(both[1]) / odds(both[0]))


def redraw(both, some, g):  # other seeds, and these templates
    return [one[torch.randint(12, (12,), generator=g)][:, some] for one in both]


third = [
    read_results(f"labels-272-6000-{k}-mean-regularised", names, seeds=12) for k in kinds.values()
]
points = [*curve, third]
g, drawn = torch.Generator().manual_seed(42), []
for _ in range(2000):
    some = torch.randint(14, (14,), generator=g)
    drawn.append([log_gain(redraw(both, some, g)) for both in points])
drawn, logs = torch.tensor(drawn), torch.tensor([log_gain(both) for both in points])
log_errors = drawn.std(0)
who = [f"{n} labels" for n in numbers] + ["third row"]
for name, gain, error in zip(who, logs, log_errors, strict=True):
    print(f"{name:10} gain in log-odds {gain:4.1f} ± {error:.1f}, {judge(gain, error)}")

# %%
for k in (0, 1, 2, 4):
    more, error = logs[k] - logs[3], (drawn[:, k] - drawn[:, 3]).std()
    print(f"{who[k]:10} against 272: {more:4.1f} ± {error:.1f} more, {judge(more, error)}")

# %% tags=["figure", "folded"]
pairs, axes = [*zip(numbers, curve, strict=True)], plt.subplots(1, 2, figsize=(7.2, 3.4))[1]
both = [compare_seeds_and_groups(after, before) for _, (before, after) in pairs]
axes[0].errorbar(range(4), *zip(*both, strict=True), fmt="o", capsize=4, color="C1")
low, middle, high = ((logs + k * log_errors)[:4].exp() for k in (-1, 0, 1))
around = torch.stack([middle - low, high - middle])
axes[1].errorbar(range(4), middle, yerr=around, fmt="o", capsize=4, color="C1")
axes[1].set_yscale("log")
axes[1].set_yticks([1, 2, 4, 8], ["× 1", "× 2", "× 4", "× 8"])
axes[1].minorticks_off()
for ax, none, name in zip(axes, (0, 1), ("points gained", "odds multiplied"), strict=True):
    ax.axhline(none, color="0.4", linestyle=":")
    ax.set_xticks(range(4), numbers)
    ax.set(xlabel="labels", xlim=(-0.4, 3.6))
    ax.set_title(f"{name}, ± one error", fontsize=11, loc="left")
axes[0].text(2.7, 4.5, "hardly\nanything?", fontsize=10)
axes[1].text(2.35, 3.3, "no: half of the\nwrong answers", fontsize=10)
axes[1].set_ylim(0.85, 9)
message = "Recorded: with 272 labels little in points, a doubling in odds"
plt.suptitle(message, x=0.99, ha="right", fontsize=12)
figure("scales", alt="In points the gain with 272 labels is small, in odds as large as with 136.")

# %% [markdown]
# **In log-odds, reading gains as much with 272 labels as with 136.** Only with 204 is it more, a hint. By itself, the gain with 272 is within the noise on either scale. So "it brings more with fewer labels" is true in points, for users who count wrong answers. About what networks learn, it says less: near 100 % all gains in points become small. When you read that a method gains most where labels are few, ask for the scale. (And what lesson 10h found isn't all ceiling: against the baseline of its third row, reading gained 1.3 ± 0.5 more than against the last, a hint.)
#
# ## 10i.3 Count in labels
#
# There is a third scale, the one that is paid for: how many *labels* would do the same? Read the curve from scratch sideways. Start at what 136 labels give after reading, and go right until you meet it.
#
# **Predict.** How many labels from scratch do as much as 136 after reading? Look at the first figure.

# %% tags=["predict"]
guess = None  # labels

# %% [markdown] tags=["exercise"]
# > **Exercise 10i.1 (build, 15 minutes).** Write `our_labels_for(target, labels, scores)`: how many labels a curve needs to reach `target` for the first time. `labels` are increasing numbers, `scores` what is reached with each, not always more than with the one before. From one point to the next the curve is a straight line *over the logarithm* of the number. If the first number is enough, return it; if none is, `math.inf`. For example, to reach 80 on the curve with 70 for 100 labels and 90 for 400 takes 200 labels: halfway up, and halfway from log 100 to log 400.
# >
# > <details><summary>Hint 1</summary>Look for the first score that isn't below the target. If it is that of <code>labels[i]</code>, the point lies between i − 1 and i. What fraction p of the way up is it?</details>
# > <details><summary>Hint 2</summary>The logarithm of the number has covered the fraction p of <em>its</em> way, too. So what is it, and what is the number?</details>


# %% tags=["stub"]
def our_labels_for(target, labels, scores): ...  # -> a number of labels


# %% tags=["check"]
exercises.check_our_labels_for(our_labels_for)


# %% tags=["solution"]
def our_labels_for(target, labels, scores):
    for i in range(len(labels)):
        if scores[i] >= target:
            if i == 0:
                return labels[0]
            p = (target - scores[i - 1]) / (scores[i] - scores[i - 1])
            return labels[i - 1] * (labels[i] / labels[i - 1]) ** p
    return math.inf


# %%
from coursekit.evaluate.curve import bootstrap_labels, labels_for

in_labels = answer_or(our_labels_for, labels_for)  # the library's until yours is there
without = [before for before, _ in curve]
scores = [one.mean().item() for one in without]
target = curve[1][1].mean().item()
worth = in_labels(target, numbers, scores)
compare_guess(guess, worth)
claim(worth_in_labels=worth)
scores[1] = tuned.mean().item()
print(f"with the tuned baseline at 136: {in_labels(target, numbers, scores):.0f}")

# %% [markdown]
# How certain is that? Resample again, seeds and templates. The library does it for a whole curve.

# %%
for name, found in {"136 others": others[1], "136 labels": curve[1][1]}.items():
    scores = [one.mean().item() for one in without]
    number = in_labels(found.mean().item(), numbers, scores)
    low, high = bootstrap_labels(found, numbers, without, draws=4000, seed=42)
    print(f"{name} do as much as {number:.0f} from scratch (95 %: {low:.0f} to {high:.0f})")

# %% tags=["figure", "folded"]
ax = plt.subplots(figsize=(7.2, 3.8))[1]
for column, (name, where) in enumerate(zip(kinds, ((215, 83), (103, 84)), strict=True)):
    means = [both[column].mean() for both in curve]
    ax.plot(numbers, means, "o-", color=f"C{column}", linewidth=2)
    ax.text(*where, name, color=f"C{column}", fontsize=11)
arrow = {"arrowstyle": "->", "color": "black", "linewidth": 2}
ax.annotate("", (worth, target), (136, target), arrowprops=arrow)
ax.text(164, target + 1, f"+ {worth - 136:.0f} labels", ha="center", fontsize=11)
ax.plot([worth, worth], [53, target], color="0.5", linewidth=1)
ax.errorbar(worth, 53, xerr=[[worth - low], [high - worth]], fmt="|k", capsize=3)
ax.text(high * 1.03, 53, "95 %\ninterval", va="center", fontsize=9)
ax.set_xscale("log")
ax.set_xticks(numbers, numbers)
ax.minorticks_off()
ax.set(xlabel="labels", ylabel="right on new statements (%)", xlim=(62, 300), ylim=(49, 101))
ax.set_title("Recorded: reading did the work of 62 labels, or of 50 with others", loc="right")
figure("worth", alt="An arrow from 136 labels with reading to 198 from scratch, at 82.5 per cent.")

# %% [markdown]
# **A pre-trained network does as well with 136 labels as one from scratch with some 190**, 198 or 186. And with 204, it is level with one that has all 272: 96.5 % and 96.4. That is something to tell whoever pays: a quarter of the labels could have been spared. Howard and Ruder (2018) count in this way (*label efficiency*); Hernandez et al. (2021) call the difference, here 50 to 62 labels, the *effective data transferred*.
#
# What does it rest on? The intervals cover seeds and templates, and 82.5 % is the mean of a lottery. The curve isn't tuned at 204 labels; if a better recipe lifted it there, reading would be worth less. And validation has 512 labels of its own, which nobody with a budget of 136 would have.
#
# To learn from labels and from text without any is *semi-supervised learning*. There are other ways: in *self-training*, a network labels the text, and trains on those labels. Zoph et al. (2020) found in vision that this still helped where a strong baseline and many labels left pre-training nothing to add. We didn't run it.
#
# <details><summary>Caveats</summary>Dropout, learning rate and steps were chosen for both kinds together, the initialisation for the networks from scratch only, and one weight decay was tried, all with 272 labels. How many steps go to text, and a learning rate of its own for the labels, weren't tuned, so reading might bring more. With 272 labels each template has them in four domains, with 204 in three, and so on. Our labels were chosen evenly; with a random choice, results would vary more. ± on points overstates the error, since each of its two parts includes some of the other; neither error covers other training templates, or other settings. With this many comparisons, some will be hints by chance. Our statements have 72 words; GPT-1 and BERT read far more text. All this is recorded and <a href="../tests/test_recorded_runs.py">tested</a>.</details>
#
# ## What you now have

# %% [markdown]
# - **How many labels is reading worth?** Here some 50 to 60, on top of 136: half as many again. With 204 labels it is about as much; with 272, the test is too easy to tell; with 68, we saw nothing.
# - Three scales for a gain. Points: 15 with 136 labels, a lead, 14 over a tuned baseline, and 1.8 with 272. Log-odds: 0.8 and 0.7, the same. Labels: what it costs. One gain is large, alike or cheap, depending on which you print.
# - Two gains are compared by their difference and its error, not by which of them is clear.

# %% [markdown] tags=["exercise"]
# > **Exercise 10i.2 (investigate, 15 minutes).** *Which text did it?* With 136 labels, two more kinds of pre-trained networks were recorded, twelve of each: `labelled` read only the 136 statements that they have labels for, `quiet` only the 1,536 without a reaction, for a reaction tells the outcome (lesson 10g). Guess the order first. Then compare each with `curve[1][0]`, from scratch, and with `curve[1][1]`, which read everything. Complete the table. Is it reading as such that helps, or other text? And must that text tell outcomes?
# >
# > <details><summary>Hint</summary><code>read_results(f"labels-136-12000-causal-pre-trained-labelled-mean{end}", names, seeds=12)</code> returns (seeds, templates), for <code>show_gain</code>.</details>
#
# |it read|right (%)|gain over from scratch|what all 2,176 add to it|
# |---|---|---|---|
# |its own 136||||
# |1,536 without a reaction||||
# |all 2,176|82.5|15.2 ± 4.5, a lead||
#
# > <details><summary>What we found</summary>Its own 136 texts, each read some 900 times, bring a network to 72.4 %, 5.1 ± 2.9 points over one from scratch: we can't tell. The other texts add 10.0 ± 4.1, a hint. Texts without a reaction bring 80.9 %, a gain of 13.6 ± 4.4, a lead, and all texts add 1.6 ± 4.9 to that. So other text may help, and perhaps it needn't say how people reacted. But the own 136 and the 1,536 are only 8.5 ± 4.4 apart, so we can't tell, and they differ in how much there is to read, too. To read a task's text after much other text is *task-adaptive pre-training* (Gururangan et al. 2020), to read nothing else *self-pretraining*. Krishna et al. (2022) pre-trained ELECTRA and RoBERTa, two relatives of BERT, on nothing but the text of a task, for ten tasks, and found them about level with those that had read a general corpus. Amos, Berant and Gupta (2024) did so with Transformers for long sequences. Their tasks had more text than our 136 statements.</details>

# %%
plain = names.index("{t} it was a {x} {s} .")
for n in (136, 204):
    right = [one[:, plain].mean() for one in curve[numbers.index(n)]]
    print(f"plain statements, {n} labels: {right[0]:.0f} → {right[1]:.0f} % right")

# %% [markdown]
# **What still fails.** *Today it was a tasty cake.* With 136 labels, networks that read get 62 % of such statements right, better than 44, but not good. With 204 it is 91. From the text they know that *tasty* can stand where *stale* can. It is the labels that tell them which of the two is good: few labels will do, but not too few.

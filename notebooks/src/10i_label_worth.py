# %% [markdown]
# # 10i · How many labels is reading worth?
#
# *Today it was a tasty cake.* No *not*, no *but*: nothing to stumble over. Yet networks that learn 136 labels from scratch get only 44 % of such plain statements right, fewer than a coin would. In lesson 10h there were 272 labels, and over a good baseline, reading first gained 1.8 ± 1.4 points: hardly anything. But He, Girshick and Dollár (2019) make an exception, for very few data. So suppose that half of our labels had never been written. Can reading make up for them?
#
# **Afterwards you can** draw a learning curve over labels for two ways to train; compare one gain with another, in points and as an odds ratio; and say what a gain is worth in labels, and how certain that is.
#
# **Before**: lesson 10h (pre-training, strong baselines), 10f (errors over templates, the bootstrap) and 10g (skip-bigrams, the rule with a coin).
#
# **Runs in** {runs_in}. **Study time** {study}.
#
# **Sources**: counting in labels, Howard and Ruder (2018); effective data, Hernandez et al. (2021); networks from scratch that catch up, He, Girshick and Dollár (2019); odds ratios, Cornfield (1951); the bootstrap, Efron (1979); unstable fine-tuning, Dodge et al. (2020) and Mosbach, Andriushchenko and Klakow (2021); self-training, Zoph et al. (2020); reading the task's own text, Gururangan et al. (2020), and nothing else, Krishna et al. (2022) and Amos, Berant and Gupta (2024). All statements here were written for this course.

# %% tags=["setup", "machine"]
import math

import matplotlib.pyplot as plt
import torch

from coursekit.data.statements import fill_in, number_words, statements
from coursekit.evaluate.seeds import compare_seeds, compare_seeds_and_groups, judge
from coursekit.exercises import answer_or
from coursekit.exercises import labels as exercises
from coursekit.notebook import claim, compare_guess, figure, read_results, setup
from coursekit.windows.masking import pad_texts

device = setup("10i_label_worth", seed=42)

# %% [markdown]
# ## 10i.1 Take labels away
#
# The 272 labels are eight for each of the 34 templates of training (the test has fourteen of its own): in each of four domains, one bad outcome and one good. To take labels away evenly, keep three of a template's four pairs, two, or one. The next template begins with another domain, so all domains keep their share; but with 68 labels, each template is known from one domain only. Nothing happens to the *texts*: all 2,176 can be read, with a label or without.

# %%
train, validation, test = statements()
few = train[::8]


def keep(n):  # n of each template's four pairs
    kept = []
    for template in range(34):
        some = [(template + k) % 4 for k in (0, 2, 1, 3)[:n]]  # each begins with another domain
        for pair in sorted(some):
            i = 8 * template + 2 * pair
            kept += few[i : i + 2]
    return kept


parts = {len(part): part for part in map(keep, (1, 2, 3, 4))}
numbers = [*parts]
for bad, good in zip(few[:16:2], few[1:16:2], strict=True):  # of two templates
    print(f"{bad.text:36}{good.text:39}in {[n for n in numbers if bad in parts[n]]}")

# %% [markdown]
# Twelve networks of each kind learned each of these sets. All use the best recipe of lesson 10h: 12,000 steps, dropout, weight decay, a larger initialisation, pre-norm. From scratch, all the steps use labels. Pre-trained, 4,000 steps use text, and 8,000 labels. As before, ± is over seeds and templates; a gain of two such errors is a hint, of three a lead. (With `keep` copied into lesson 10h you can train such a network: `learn_labels(0, part=keep(2), steps=12000, dropout=0.2, decay=0.1, std=0.18, norm_first=True)`.)


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
# Thirteen and fifteen points in the middle, and next to nothing at both ends. Before we believe it, put beside it what needs no network: the skip-bigrams of lesson 10g, their `decay` chosen on validation; and its rule, which knows six reactions and otherwise tosses a coin.

# %%
from coursekit.models.bag import choose_bag

ids = number_words([one.text for one in train])


def known(part):  # tokens and labels; 1 is [CLS], 0 padding
    tokens, _ = pad_texts([[1, *(ids[w] for w in one.text.split())] for one in part])
    return tokens, torch.tensor([one.label for one in part])


options = {"vocab_size": len(ids), "pairs": "far", "lowest": 4}  # from 4 on, ids are words
options["decays"] = (1e-8, 1e-6, 1e-4, 1e-2, 1.0)
tokens, labels = known(test)
by_pairs = []
for part in parts.values():
    bag = choose_bag(known(part), known(validation), **options)
    by_pairs.append(100 * (bag(tokens).argmax(1) == labels).float().mean().item())
print("skip-bigrams:", *(f"{right:.1f}" for right in by_pairs), "% right")


# %%
by_form = torch.tensor([100.0 if "{r}" in form else 50.0 for form in names])  # the rule
for name, found in zip(kinds, curve[0], strict=True):
    ahead, error = compare_seeds_and_groups(by_form.expand_as(found), found)
    print(f"68 labels, {name}: {ahead:.1f} ± {error:.1f} behind the rule, {judge(ahead, error)}")

# %% tags=["figure", "folded"]
ax = plt.subplots(figsize=(7.2, 4.2))[1]
for column, (name, where) in enumerate(zip(kinds, ((207, 74), (103, 83)), strict=True)):
    some = [both[column].mean(1) for both in curve]
    ax.plot(numbers, [one.mean() for one in some], "D-", color=f"C{column}", linewidth=2)
    for n, found in zip(numbers, some, strict=True):
        at = n * (0.985, 1.015)[column]
        ax.plot([at] * len(found), found, "o", color=f"C{column}", alpha=0.5, markersize=6)
    ax.text(*where, name, color=f"C{column}", fontsize=11)
ax.plot(numbers, by_pairs, "x:", color="black")
ax.text(150, 59.5, "skip-bigrams", fontsize=10)
ax.axhline(by_form.mean(), color="0.5", linewidth=1)
ax.text(240, by_form.mean() + 0.9, "reactions and a coin", fontsize=9, ha="center", color="0.3")
for n, (before, after) in zip(numbers, curve, strict=True):
    gain, error = compare_seeds_and_groups(after, before)
    ax.text(n, 46, f"{gain:+.1f}\n± {error:.1f}", fontsize=9, ha="center", va="center")
ax.text(57, 46, "gain", fontsize=9, va="center")
ax.set_xscale("log")
ax.set_xticks(numbers, numbers)
ax.minorticks_off()
ax.set(xlabel="labels", ylabel="right on new statements (%)", xlim=(56, 300), ylim=(43, 101))
ax.set_title("Recorded: with 136 and 204 labels, networks that read do better", loc="right")
figure(
    "budget", alt="Two kinds of dots: level at 68 and 272 labels, 13 to 15 points apart between."
)

# %% [markdown]
# **With 136 labels, 15 points, a lead.** It is a lottery again, as in lesson 10h, but now only networks that read can win it: they get from 66 to 95 %, those from scratch from 61 to 76. (Fine-tuning BERT depends on the seed, too: Dodge et al. 2020; Mosbach, Andriushchenko and Klakow 2021.) With 68 labels, no network is better than the rule. But then each template is known from one domain only, and it may be that, rather than the number, that is too little. (Howard and Ruder 2018, with far more text, gain most where labels are fewest.)
#
# Which statements does reading help with? An average hides it (lesson 10g), so look at all fourteen templates.

# %% tags=["figure", "folded"]
columns = [both[k].mean(0) for k in (0, 1) for both in curve]
table = torch.stack(columns, 1)  # (templates; from scratch, then pre-trained)
ax = plt.subplots(figsize=(7.2, 5.2))[1]
ax.imshow(table, cmap="RdBu", vmin=0, vmax=100, aspect="auto")
for row, found in enumerate(table):
    for column, right in enumerate(found):
        color = "white" if abs(right - 50) > 30 else "black"
        ax.text(column, row, f"{right:.0f}", ha="center", va="center", color=color, fontsize=8)
ax.axvline(3.5, color="white", linewidth=4)
ax.set_yticks(range(14), [fill_in(form) for form in names], fontsize=7)
ax.set_xticks(range(8), numbers * 2)
ax.set_xlabel("labels; from scratch, then pre-trained")
ax.grid(visible=False)
ax.set_title("Recorded, % right: from 136 labels on, reading is nearly one column", loc="right")
figure("templates", alt="Where someone reacts all are right; elsewhere reading needs fewer labels.")

# %% [markdown]
# **From 136 labels on, the right half is like the left half, nearly one column further.** With 136 after reading, most templates are about where 204 from scratch put them, and with 204 where 272 do. Where people react first, there is nothing to gain. The most is gained by 204 labels and *nobody*: from 46 %, a coin, to 94.
#
# Is it luck with these 136 labels? The 136 that `keep(2)` leaves out were learned by two dozen more networks. And is *this* baseline as good as it can be? Its settings were chosen with 272 labels. With 136, three others were tried from scratch; validation prefers one of them, a dropout of 0.1, within the noise.

# %%
others = recorded("136-12000-elsewhere")
_ = show_gain("136 other labels", *others)
end = "mean-regularised-norm-first-wide"
tuned = read_results(f"labels-136-12000-causal-{end}-less", names, seeds=12)
over_tuned = show_gain("136 labels, dropout 0.1 from scratch", tuned, curve[1][1])
claim(gain_over_a_tuned_baseline=over_tuned)

# %% [markdown]
# Neither takes it away.
#
# ## 10i.2 Is 15 more than 1.8?
#
# So reading pays with 136 labels, and with 272 we can't tell. Does it bring *more* with fewer labels, as the figure seems to say? One clear gain and one unclear gain don't prove that they differ. So compare the gains themselves, as in lesson 10h: a difference of differences.

# %%
with_all = curve[3][1] - curve[3][0]
for name, (before, after) in {"136": curve[1], "136 other": others, "204": curve[2]}.items():
    more, error = compare_seeds_and_groups(after - before, with_all)
    print(f"{name} labels against 272: {more:.1f} ± {error:.1f} more, {judge(more, error)}")

# %% [markdown]
# **In points, reading brings more with 136 and 204 labels than with 272: two hints and a lead.** But points have a ceiling. From 96.4 % you can't gain more than 3.6, however much you know. So count differently: how many answers are right *for each wrong one*? These are the **odds**. And by what factor do they grow? That is the **odds ratio**, which has no ceiling.

# %% [markdown] tags=["exercise"]
# > **Exercise 10i.1 (warm-up, 5 minutes).** Write `our_odds_ratio(before, after)`: by what factor the odds grow if first the fraction `before` of all answers is right, and then the fraction `after`. Both are above 0 and below 1. For example, from 0.5, one right answer for each wrong one, to 0.8, four for each wrong one, it is 4.
# >
# > <details><summary>Hint</summary>If the fraction p is right, the fraction 1 − p is wrong.</details>


# %% tags=["stub"]
def our_odds_ratio(before, after): ...  # -> a factor


# %% tags=["check"]
exercises.check_our_odds_ratio(our_odds_ratio)


# %% tags=["solution"]
def our_odds_ratio(before, after):
    return after / (1 - after) / (before / (1 - before))


# %% [markdown]
# **Predict.** In points, reading gained most with 136 labels. And by the odds ratio?

# %% tags=["predict"]
guess = None  # 68, 136, 204 or 272

# %%
from coursekit.evaluate.seeds import odds_ratio

ratio_of = answer_or(our_odds_ratio, odds_ratio)  # the library's until yours is there


def ratio(both):
    before, after = (one.mean().item() / 100 for one in both)
    return ratio_of(before, after)


ratios = {n: ratio(both) for n, both in zip(numbers, curve, strict=True)}
compare_guess(guess, max(ratios, key=ratios.get))
for n, (before, after) in zip(numbers, curve, strict=True):
    wrong = [f"{100 - one.mean():.1f}" for one in (before, after)]
    print(f"{n:3} labels: {wrong[0]} → {wrong[1]:>4} % wrong, odds × {ratios[n]:.1f}")
claim(odds_ratio_with_half_the_labels=ratios[136], odds_ratio_with_all=ratios[272])

# %% [markdown]
# With 272 labels, what looked like hardly anything has doubled the odds, nearly as with 136. But how certain is that? Take the bootstrap of lesson 10f: resample the seeds of each point, and the templates, the same ones for all points, and see how each odds ratio varies.


# %%
def redraw(both, some, g):  # other seeds, and these templates: the two means
    return [one[torch.randint(12, (12,), generator=g)][:, some].mean() for one in both]


g, points, factors = torch.Generator().manual_seed(42), [], []
for _ in range(4000):
    some = torch.randint(14, (14,), generator=g)
    drawn = [redraw(both, some, g) for both in curve]
    points.append([after - before for before, after in drawn])
    factors.append([ratio(both) for both in drawn])
points, factors = torch.tensor(points), torch.tensor(factors)  # (draws, numbers of labels)


def middle_95(found):
    return found.quantile(torch.tensor([0.025, 0.975]), 0).tolist()


# %%
for k, n in enumerate(numbers):
    low, high = middle_95(factors[:, k])
    print(f"{n:3} labels: odds × {ratios[n]:.1f} (95 %: {low:.1f} to {high:.1f})", end="")
    low, high = middle_95(factors[:, k] / factors[:, 3])
    times = ratios[n] / ratios[272]
    print(f"; against 272 × {times:.1f} ({low:.1f} to {high:.1f})" if k < 3 else "")

# %% tags=["figure", "folded"]
axes = plt.subplots(1, 2, figsize=(7.2, 3.4))[1]
gained = torch.stack([after.mean() - before.mean() for before, after in curve])
middles = gained[:3] - gained[3], torch.tensor([ratios[n] / ratios[272] for n in numbers[:3]])
resampled = points[:, :3] - points[:, 3:], factors[:, :3] / factors[:, 3:]
for ax, middle, drawn, none in zip(axes, middles, resampled, (0, 1), strict=True):
    for k, ends in enumerate(zip(*middle_95(drawn), strict=True)):
        ax.plot([k, k], ends, color="C1", linewidth=2)
        ax.plot(k, middle[k], "o", color="C1", markersize=8)
    ax.axhline(none, color="0.4", linestyle=":")
    ax.set_xticks(range(3), numbers[:3])
    ax.set(xlabel="labels", xlim=(-0.4, 2.4))
axes[0].set_title("points more than with 272 (95 %)", fontsize=11, loc="left")
axes[1].set_title("odds ratio, over that with 272 (95 %)", fontsize=11, loc="left")
axes[1].set_yscale("log")
axes[1].set_yticks([0.25, 0.5, 1, 2, 4], ["× ¼", "× ½", "× 1", "× 2", "× 4"])
axes[1].minorticks_off()
message = "Recorded: 136 labels gain more than 272 in points; in odds we can't tell"
plt.suptitle(message, x=0.99, ha="right", fontsize=12)
figure("scales", alt="Against 272 labels, 136 gain more in points only, 204 in odds as well.")

# %% [markdown]
# **Whether reading brings more with fewer labels depends on the scale.** With 136, it brings more than with 272 in points; by the odds ratio, we can't tell. (There, the factor with 272 labels may be anything from 0.9 to 4.4. One network from scratch, that with 86 %, accounts for half of its 2.0.) With 204, it brings more on both scales. So when you read that a method gains most where labels are few, ask for the scale: near 100 %, all gains in points become small, whatever the method did.
#
# ## 10i.3 Count in labels
#
# There is a third scale, the one that is paid for: how many *labels* would do the same? Read the first figure sideways. Start at what 136 labels give after reading, and go right until you meet the curve from scratch. (The figure's scale is logarithmic. So take a straight line over the *logarithm* between two points; a line over the number itself would change the answer by one or two labels.)

# %% [markdown] tags=["exercise"]
# > **Exercise 10i.2 (build, 10 minutes).** Write `our_labels_for(target, labels, scores)`: how many labels a curve needs to reach `target` for the first time. `labels` are increasing numbers, `scores` what is reached with each, not always more than with the one before. From one point to the next the curve is a straight line *over the logarithm* of the number. If the first number is enough, return it; if none is, `math.inf`. For example, to reach 80 on the curve with 70 for 100 labels and 90 for 400 takes 200 labels: halfway up, and halfway from log 100 to log 400.
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


# %% [markdown]
# Now use it. With 136 labels, take the networks of both halves together, 24 of each kind: from scratch they get 66 %, after reading 81.
#
# **Predict.** How many labels from scratch do as much as 136 after reading? Look at the first figure.

# %% tags=["predict"]
guess = None  # labels

# %%
from coursekit.evaluate.curve import bootstrap_labels, labels_for

in_labels = answer_or(our_labels_for, labels_for)  # the library's until yours is there
halves = [torch.cat(some) for some in zip(curve[1], others, strict=True)]  # both halves' networks
without = [curve[0][0], halves[0], curve[2][0], curve[3][0]]
scores, target = [one.mean().item() for one in without], halves[1].mean().item()
worth = in_labels(target, numbers, scores)
compare_guess(guess, worth)
claim(worth_in_labels=worth)

# %% [markdown]
# How certain is that? Resample again, seeds and templates; the library does it for a whole curve. And what are 204 labels worth?

# %%
low, high = bootstrap_labels(halves[1], numbers, without, draws=4000, seed=42)
print(f"136 labels do as much as {worth:.0f} from scratch (95 %: {low:.0f} to {high:.0f})")
ends = halves[1].mean(1).sort()[0][[0, -1]].tolist()
ends = [in_labels(one, numbers, scores) for one in ends]
print(f"the unluckiest network and the luckiest: {ends[0]:.0f} and {ends[1]:.0f}")
most = curve[2][1]
number = in_labels(most.mean().item(), numbers, scores)
span = bootstrap_labels(most, numbers, without, draws=4000, seed=42)
print(f"204 labels do as much as {number:.0f} from scratch (95 %: {span[0]:.0f} to {span[1]:.0f})")
_ = show_gain("272 from scratch, 204 after reading", curve[3][0], most)

# %% tags=["figure", "folded"]
ax = plt.subplots(figsize=(7.2, 3.8))[1]
read = [curve[0][1], halves[1], curve[2][1], curve[3][1]]
for name, some, where, color in (
    ("from scratch", without, (215, 83), "C0"),
    ("pre-trained", read, (103, 83), "C1"),
):
    ax.plot(numbers, [one.mean() for one in some], "o-", color=color, linewidth=2)
    ax.text(*where, name, color=color, fontsize=11)
arrow = {"arrowstyle": "->", "color": "black", "linewidth": 2}
ax.annotate("", (worth, target), (136, target), arrowprops=arrow)
ax.text(162, target + 1, f"+ {worth - 136:.0f} labels", ha="center", fontsize=11)
ax.errorbar(worth, 57, xerr=[[worth - low], [high - worth]], fmt="|", color="0.3", capsize=5)
ax.plot([worth, worth], [57, target], color="0.5", linewidth=1)
ax.text(high * 1.02, 57, "95 %", va="center", fontsize=10)
ax.set_xscale("log")
ax.set_xticks(numbers, numbers)
ax.minorticks_off()
ax.set(xlabel="labels", ylabel="right on new statements (%)", xlim=(62, 300), ylim=(49, 101))
ax.set_title(f"Recorded: with 136 labels, reading is worth another {worth - 136:.0f}", loc="right")
figure("worth", alt="An arrow from 136 labels with reading to 192 from scratch, at 81 per cent.")

# %% [markdown]
# **On average, networks that read do as well with 136 labels as those from scratch with 192** (95 %: 170 to 219). With 204, they leave our curve: no number up to 272 did as much from scratch (`inf`), though by a margin that is noise. So reading did the work of at least 54 labels (95 %), and of the 68 that were left out, as far as we can tell. That is something to tell whoever pays for them. Howard and Ruder (2018) count in this way; Hernandez et al. (2021) call the difference, here 56 labels, the *effective data transferred*.
#
# What does it rest on? On averages: a single network that read is worth anything from 134 labels to 265. On a curve that isn't tuned at 204 labels; if a better recipe lifted it there, reading would be worth less. And on 512 labels for validation, which nobody with a budget of 136 would have.
#
# <details><summary>Caveats</summary>Dropout, learning rate and steps were chosen for both kinds together, the initialisation for the networks from scratch only, and one weight decay was tried, all with 272 labels. The odds are those of all twelve networks together; if log-odds are averaged network by network, the ratios with 136 and 272 labels are 2.9 and 1.4, and whether they differ can't be told, either. How many steps go to text, and a learning rate of its own for the labels, weren't tuned, so reading might bring more. The two halves count as given. With 272 labels each template has them in four domains, with 204 in three, and so on. Our labels were chosen evenly; with a random choice, results would vary more. ± on points overstates the error, since each of its two parts includes some of the other; neither error covers other training templates, or other settings. With this many comparisons, some will be hints by chance. Our statements have 72 words; GPT-1 and BERT read far more text. All this is recorded and <a href="../tests/test_recorded_runs.py">tested</a>.</details>
#
# <details><summary>Other ways to use text without labels</summary>To learn from labels and from text without any is <em>semi-supervised learning</em>. In <em>self-training</em>, a network labels the text, and trains on those labels; Zoph et al. (2020) found in vision that this still helped where a strong baseline and many labels left pre-training nothing to add. And if your text were in plain English, you wouldn't begin with a network of your own: you would ask a large instructed model, without any label, or put a linear head on a frozen sentence encoder. We ran none of these.</details>
#
# ## What you now have

# %% [markdown]
# - **How many labels is reading worth?** With 136, another 56 (95 %: 34 to 83). With 204, at least another 54 (95 %); whether it is all of the 68 that were left out, we can't tell. With 272 our test is too easy to tell. With 68 we saw nothing, and no network was better than a rule.
# - A gain has no size without a scale. With 136 labels it is 15 points, a lead, and with 272 only 1.8; but the odds ratios, 2.3 and 2.0, can't be told apart. With 204, both are larger than with 272.
# - Two gains are compared by their difference and its error, not by which of them is clear. And if they can't be told apart, that doesn't make them equal.

# %% [markdown] tags=["exercise"]
# > **Exercise 10i.3 (investigate, 15 minutes).** *Which text helps?* With 136 labels, two more kinds of pre-trained networks were recorded, twelve of each. Those in `f"labels-136-12000-causal-pre-trained-labelled-{end}"` read only the 136 statements that they have labels for. Those with `quiet` in place of `labelled` read only the 1,536 without a reaction, for a reaction tells the outcome (lesson 10g). Write down a guess first: which order? Then compare each with `curve[1][0]`, from scratch, and with `curve[1][1]`, which read everything. Complete the table. Does it take more text than a network's own? And must the text say how people reacted? (Compare the first two rows with each other, too.)
# >
# > <details><summary>Hint</summary><code>read_results(file, names, seeds=12)</code> returns (seeds, templates), for <code>show_gain</code>.</details>
#
# |it read|right (%)|gain over from scratch|what all 2,176 add to it|
# |---|---|---|---|
# |its own 136||||
# |1,536 without a reaction||||
# |all 2,176|82.5|15.2 ± 4.5, a lead||
#
# > <details><summary>What we found</summary>Its own 136 texts, each read some 900 times, bring a network to 72.4 %, 5.1 ± 2.9 points over one from scratch: we can't tell. The other texts add 10.0 ± 4.1, a hint. Texts without a reaction bring 80.9 %, a gain of 13.6 ± 4.4, a lead, and all texts add 1.6 ± 4.9 to that. So other text may help, and perhaps it needn't say how people reacted. But its own 136 and the 1,536 are only 8.5 ± 4.4 apart, so we can't tell, and they differ in how much there is to read, too. To read a task's text after much other text is *task-adaptive pre-training* (Gururangan et al. 2020), to read nothing else *self-pretraining*. Krishna et al. (2022) pre-trained ELECTRA and RoBERTa, two relatives of BERT, on nothing but the text of a task, for ten tasks, and found them about level with those that had read a general corpus. Amos, Berant and Gupta (2024) did so with Transformers for long sequences. Their tasks had more text than our 136 statements.</details>

# %% [markdown]
# **What still fails.** *Today it was a tasty cake.* Why are networks from scratch worse than a coin there? A suspect: of all templates in training, one alone begins like that, *today it was not a tasty cake*. So perhaps networks learn that *today it was* turns a good word round. Test it: take its four labels away, which leaves 132, and train twelve more networks. As a control, take the four of *today the cake was not tasty* away instead.

# %%
plain = names.index("{t} it was a {x} {s} .")
half_scratch, half_read, most_read = (one[:, plain] for one in (*curve[1], curve[2][1]))
of_plain = {"136 labels": half_scratch, "136, pre-trained": half_read}
of_plain |= {"204, pre-trained": most_read, "the other 136": others[0][:, plain]}
for name, run in {"without the suspect": "", "without the control": "-control"}.items():
    found = read_results(f"labels-132-12000{run}-causal-{end}", names, seeds=12)
    of_plain[name] = found[:, plain]
for name, right in of_plain.items():
    mean, around = right.mean(), right.std() / math.sqrt(12)
    print(f"{name:20} {mean:.0f} ± {around:.0f} % of plain statements right", end="")
    if right is half_scratch:
        print()
        continue
    more, error = (one.item() for one in compare_seeds(right, half_scratch))
    print(f"; {more:.1f} ± {error:.1f} more, {judge(more, error)}")
more, error = compare_seeds(of_plain["without the suspect"], of_plain["without the control"])
print(
    f"suspect against control: {more:.1f} ± {error:.1f} points, {judge(more.item(), error.item())}"
)

# %% [markdown]
# The suspect isn't convicted. Networks without it are level with a coin, but these 5.7 ± 3.7 points may be chance, and the control does some of it, too. The two are 3.1 ± 5.3 apart. A story that fits is a hypothesis (lesson 10g), and to make these 3.1 points a lead, it would take 26 times as many networks (lesson 10c). What does help is reading, to 62 %, a hint; and with 204 labels it is 91 %.
#
# So texts that nobody has labelled can save labels, if not all. Statements, though, are short, and their words few. The course goes on with another kind of text without labels: measurements, in order of time. [Lesson 7](07_time_series_transformers.ipynb) began with that; the next ones ask whether a series can be read like a text.

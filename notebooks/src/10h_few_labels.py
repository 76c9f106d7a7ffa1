# %% [markdown]
# # 10h · When does pre-training pay?
#
# Twelve networks learn from 272 labelled statements, and on new ones they are right in 67 cases out of 100. What they know is what a reaction means, as in *people smiled*; elsewhere they are as often wrong as right (lesson 10g). More labels would help, but labels cost money. Text is cheap. Can they get more out of the same labels if they read first?
#
# **Afterwards you can** pre-train a network on text without labels, say how many labels that is worth, and tell a fair comparison from one that stopped too early.
#
# **Before**: lessons 10c (fine-tuning, seeds, leads), 10f (errors over templates, the bootstrap) and 10g (what an accuracy is made of).
#
# **Runs in** {runs_in}. **Study time** {study}.
#
# **Sources**: reading first, Dai and Le (2015), Howard and Ruder (2018), Radford et al. (2018) and Devlin et al. (2019); reading the task's own text, Gururangan et al. (2020) and Krishna et al. (2022); random weights that catch up, He, Girshick and Dollár (2019); what text is worth, counted in data, Hernandez et al. (2021); stopping too early, Zhang et al. (2021). All statements here were written for this course.

# %% tags=["setup", "machine"]
import math

import matplotlib.pyplot as plt
import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

from coursekit.data.statements import fill_in, number_words, statements
from coursekit.exercises import answer_or
from coursekit.exercises import labels as exercises
from coursekit.notebook import claim, compare_guess, figure, read_record, setup
from coursekit.windows.masking import draw_masked, pad_texts

device = setup("10h_few_labels", seed=42)

# %% [markdown]
# ## 10h.1 Text without labels
#
# The statements, the network and its training are those of lesson 10g. What is new: `start`, an encoder that has learned something before.

# %%
from coursekit.layers.attention import attend, attend_past
from coursekit.models.encoder import Encoder, EncoderConfig, MaskedTokenModel, pool
from coursekit.training.fit import fit
from coursekit.training.optimiser import adamw, warm_up_cosine

train, validation, test = statements()
ids = number_words([one.text for one in train])
size, few = len(ids), train[::8]
sizes = EncoderConfig(vocab_size=size, context=24, d_model=32, dropout=0.0)


def read(part):  # (tokens, present), each (N, T), and the labels; 1 is [CLS], 0 padding
    texts = [[1, *(ids[w] for w in one.text.split())] for one in part]
    labels = torch.tensor([one.label for one in part], device=device)
    return [one.to(device) for one in pad_texts(texts, multiple_of=8)], labels


@torch.no_grad()
def accuracy(model, part):  # per cent
    x, y = read(part)
    return 100 * (model(*x).argmax(1) == y).float().mean().item()


# %%
class OurClassifier(nn.Module):
    def __init__(self, rule):
        super().__init__()
        self.encoder, self.head = Encoder(sizes, rule=rule), nn.Linear(32, 2)

    def forward(self, tokens, present):
        return self.head(pool(self.encoder(tokens, present), present, "last"))


def train_it(model, batches, loss, steps):
    options = {"steps": steps, "schedule": warm_up_cosine(steps), "clip": 1.0}
    fit(model, adamw(model, 5e-3, weight_decay=0.01), batches, loss=loss, **options)
    return model.eval()


def learn_labels(rule, seed, start=None, steps=1000, part=few):
    torch.manual_seed(seed)
    model = OurClassifier(rule).to(device)
    if start is not None:  # new
        model.encoder.load_state_dict(start.state_dict())
    ((tokens, present), y), g = read(part), torch.Generator().manual_seed(seed)
    picks = (torch.randint(len(y), (32,), generator=g) for _ in range(steps))
    batches = (((tokens[i], present[i]), y[i]) for i in picks)
    return train_it(model, batches, F.cross_entropy, steps)


# %% [markdown]
# All 2,176 training statements can be read without their labels. **Pre-train** on them: predict each next word, as a GPT does (lesson 10c).

# %%
from coursekit.evaluate.likelihood import next_token_loss


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
# Both kinds take 1,000 steps: from scratch all of them with the 272 labels, pre-trained 500 with text and 500 with labels. (A catch: 640 of the texts name a reaction, which gives the outcome away without a label. Exercise 10h.2 leaves them out.)

# %% [markdown]
# **Predict.** From scratch 67.5 % are right, the mean of twelve networks. And pre-trained, with the same 272 labels and as many steps?

# %% tags=["predict"]
guess = None  # per cent; chance is 50

# %% tags=["nbval-ignore-output"]
start = pretrain(attend_past, 0)
model = learn_labels(attend_past, 0, start, steps=500)
print(f"pre-trained, seed 0: {accuracy(model, test):.0f}")

# %% [markdown]
# One network says little. So all that follows is recorded with twelve seeds, each network with how often it is right on each test template.

# %%
from coursekit.evaluate.seeds import compare_seeds, judge, mean_over_groups

forms = {one.template for one in test}
names = sorted(forms, key=lambda form: ("{r}" in form, " but " in form, form))  # reactions last
runs = {  # what a run's name begins with, by steps and labels
    (1000, 272): "few-1000-",
    (1000, 544): "one-in-4-",
    (1000, 1088): "one-in-2-",
    (1000, 2176): "one-in-1-",
    (6000, 272): "few-6000-",
    (6000, 544): "long-one-in-4-",
    (6000, 1088): "long-one-in-2-",
    (6000, 2176): "",
}


# %%
def recorded(name, what=names):  # per cent right: (seeds, templates)
    records = [read_record(f"labels-{name}-{seed}").result for seed in range(12)]
    return torch.tensor([[one[name] for name in what] for one in records])


def read_both(steps, labels, end="", what=names):  # from scratch, and pre-trained
    name = f"{runs[steps, labels]}causal"
    return recorded(f"{name}{end}", what), recorded(f"{name}-pre-trained{end}", what)


def verdict(after, before):  # over seeds: the larger of two errors, and the rule of lesson 10c
    ahead, error = map(float, compare_seeds(after, before))
    return f"{ahead:.1f} ± {error:.1f}, {judge(ahead, error)}"


# %%
scratch, pretrained = read_both(1000, 272)
compare_guess(guess, pretrained.mean().item())
print(f"all fourteen templates: {scratch.mean():.1f} became {pretrained.mean():.1f}")
print("gain over seeds:", verdict(pretrained.mean(1), scratch.mean(1)))
gain, error = map(float, compare_seeds(pretrained.mean(1), scratch.mean(1)))
claim(gain_with_few_labels=gain, gain_in_standard_errors=gain / error)

# %% [markdown]
# By the rule of lesson 10c a lead: three standard errors or more; two are a hint. But what is it made of? Take it apart, as lesson 10g does. And other templates would give other gains: the standard deviation of the fourteen over √14 is the standard error over templates (lesson [10f](10f_templates.ipynb)).

# %%
groups = {"four others": slice(0, 4), "six with ‘but’": slice(4, 10), "a reaction": slice(10, 14)}


def take_apart(before, after):
    for name, some in groups.items():
        was, now = before[:, some].mean().item(), after[:, some].mean().item()
        print(f"{name:15} {was:.1f} became {now:.1f}, {now - was:+.1f}")
    over = mean_over_groups((after - before).mean(0), names)
    print(f"all, over templates: {over[0]:.1f} ± {over[1]:.1f}, {judge(*over)}")


take_apart(scratch, pretrained)
untold = [found[:, :10].mean(1) for found in (pretrained, scratch)]
print("on the ten without a reaction, over seeds:", verdict(*untold))
claim(gain_where_untold=(untold[0] - untold[1]).mean().item())


# %% tags=["figure", "folded"]
def draw_templates(ax, *both):  # a row for each template, a dot for each seed, and their mean
    kinds = zip(both, ("from scratch", "pre-trained"), (-0.15, 0.2), ("C0", "C1"), strict=True)
    for found, name, up, color in kinds:
        for row in range(14):
            ax.plot(found[:, row], [row + up] * 12, "o", color=color, alpha=0.35, markersize=5)
            ax.plot(found[:, row].mean(), row + up, "|", color="black", markersize=10)
        ax.plot([], [], "o", color=color, label=name)
    ax.axvline(50, color="0.4", linestyle=":")
    ax.axhline(9.5, color="C2", linewidth=2)
    ax.text(1, 10, "with a reaction", color="C2", va="center", fontsize=9)
    ax.set_yticks(range(14), [fill_in(name) for name in names], fontsize=9)
    ax.set(xlabel="right (%), 12 seeds and their mean; dotted: a coin", xlim=(-3, 103))
    ax.set_ylim(13.6, -0.6)
    ax.legend(loc="lower left", fontsize=9)


ax = plt.subplots(figsize=(8, 4.6))[1]
draw_templates(ax, scratch, pretrained)
ax.set_title("Recorded, 272 labels: pre-trained networks know ‘but’ better", loc="right")
figure(
    "few-labels", alt="Pre-trained, all six rows with but move to the right; nobody stays at 21."
)

# %% [markdown]
# **Pre-trained, they do better on *but*.** The six templates with *but* rise by 19 points, each of them by 7 to 39. The four with a reaction fall by 2. Of the four others two rise, *we did not have a dry cake* by 16 and *it was not a dry cake* by 9; on *nobody* hardly anything changes; and on the plainest statement, *today it was a tasty cake*, they are 16 points worse; we don't know why.
#
# So with few labels **pre-training pays off for causal networks, across seeds**. That is the point of pre-training in GPT-1 and BERT. (Here it is made easy: the text is that of the task itself, Krishna et al. 2022.) Across kinds of statement it is less certain: 8.1 ± 3.8, a hint.
#
# <details><summary>Two more controls</summary>Training from scratch wasn't too long: after 500 steps it gives 64 %. And the pre-trained vectors alone don't tell the outcome: a probe on them, frozen, at the last token or on their mean, is right on about half of all statements (<a href="../tests/test_encoder_lesson.py">a separate run</a>).</details>
#
# ## 10h.2 And with more labels?
#
# There are eight times as many labels. Is pre-training worth less if we use them? Take every fourth label, every second, and all: a *learning curve*. Beside it, as a baseline, the skip-bigrams of lesson 10g. (Every eighth label has each template once with each label in each of the four domains, from kitchen to weather. Every 16th would have label 0 only.)


# %%
from coursekit.models.bag import fit_bag

numbers = [272, 544, 1088, 2176]


def read_curve(steps):  # prints a table; {labels: (scratch, pretrained)}, each (seeds,)
    print("labels  scratch  pre-trained  gain over seeds        on validation")
    curve = {}
    for n in numbers:
        before, after = (found.mean(1) for found in read_both(steps, n))
        curve[n] = before, after
        new = [found.mean(1) for found in read_both(steps, n, what=["validation"])]
        row = f"{n:6} {before.mean():8.1f} {after.mean():12.1f}  {verdict(after, before):21}"
        print(f"{row}  {verdict(new[1], new[0])}")
    return curve


def count_pairs(part, decay):  # skip-bigrams
    (x, _), y = read(part)
    bag = fit_bag(x, y, vocab_size=size, pairs="far", lowest=4, decay=decay)
    return lambda tokens, present: bag(tokens)


def count_best(part):  # with the decay that validation prefers
    models = [count_pairs(part, decay) for decay in (1e-8, 1e-6, 1e-4, 1e-2, 1.0)]
    return max(models, key=lambda model: accuracy(model, validation))


# %% [markdown]
# **Predict.** With 272 labels pre-training gained 8.1 points. And with all 2,176?

# %% tags=["predict"]
guess = None  # points

# %%
briefly = read_curve(1000)
gains = {n: after - before for n, (before, after) in briefly.items()}
compare_guess(guess, gains[2176].mean().item())
print("more with all labels than with 272:", verdict(gains[2176], gains[272]))
by_pairs = [accuracy(count_best(train[:: 2176 // n]), test) for n in numbers]
print("skip-bigrams:", *(f"{right:.1f}" for right in by_pairs))
claim(gain_with_all_labels=gains[2176].mean().item())


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
draw_curve(ax, briefly)
ax.plot(numbers, by_pairs, "x:", color="black")
ax.text(700, 67, "skip-bigrams", fontsize=10)
ax.text(580, 75.3, "from scratch", color="C0", fontsize=10)
ax.text(300, 85.5, "pre-trained", color="C1", fontsize=10)
ax.set_title("Recorded, 1,000 steps: ahead, however many labels there are?", loc="right")
figure("curve", alt="Two curves from 272 to 2,176 labels; the pre-trained one is 6 to 12 higher.")

# %% [markdown]
# With all labels 12.2 ± 2.9 on the test: a lead, and it looks larger than with few. But by 4.1 ± 2.9 we can't tell; and on validation, where other templates are new, it is smaller. (Of so many verdicts a hint may be chance, 10c.3.) So is pre-training worth as much, however many labels there are?
#
# Two things are odd. From scratch, all labels do no better than half of them. And with all labels the baseline, which counts pairs, is ahead of both.
#
# ## 10h.3 Let them finish
#
# In 1,000 steps a network sees each of 272 labelled statements some 118 times, but each of 2,176 only some 15 times. Has it learned them by then? Ask the training loss.

# %%
for labels in (272, 2176):
    loss = read_both(1000, labels, what=["train"])[0].mean()
    print(f"{labels:4} labels, from scratch: training loss {loss:.3f} nats")

# %% [markdown]
# With 272 labels it seems so, with 2,176 it hasn't: we stopped too early. **Equal steps aren't fair to those who have more to learn.** So the whole curve is recorded once more, with 6,000 steps, of which pre-training takes a third.
#
# **Predict.** After 1,000 steps pre-training gained 8.1 points with 272 labels, and 12.2 with all. And after 6,000? Guess the gain with 272.

# %% tags=["predict"]
guess = None  # points

# %%
at_length = read_curve(6000)
gains = {n: after - before for n, (before, after) in at_length.items()}
compare_guess(guess, gains[272].mean().item())
print("more with 272 labels than with all:", verdict(gains[272], gains[2176]))
claim(gain_after_more_steps=gains[272].mean().item())
claim(gain_with_all_at_last=gains[2176].mean().item())

# %% tags=["figure", "folded"]
ax = plt.subplots(figsize=(6.4, 4))[1]
draw_curve(ax, briefly, "o:", alpha=0.35)
draw_curve(ax, at_length)
ax.text(1180, 86.5, "from scratch", color="C0", fontsize=10)
ax.text(300, 93, "pre-trained", color="C1", fontsize=10)
ax.set_title("Recorded, 6,000 steps (faint: 1,000): text matters most with few labels", loc="right")
figure(
    "longer",
    alt="From scratch 68 rises to 95, pre-trained 86 to 99: a gap that narrows.",
)

# %% [markdown]
# **The picture changes.** With all labels, networks from scratch just needed longer: 94.6 %. With 272 they soon know these by heart, and further training hardly helps: 67 % after 1,000 steps, 68 after 6,000. With text, the same 272 labels are now worth 86 %. So the gain falls with the number of labels, from 17.8 points to 3.9, by 13.9 ± 2.5: a lead. Validation says the same. For images He, Girshick and Dollár (2019) found it, too: random weights catch up if trained for long enough, unless there is very little to learn from.
#
# <details><summary>Does this depend on reading the last token? And on the templates?</summary>If the head reads the mean of all tokens, all networks are better, those from scratch most of all, and the gain falls in the same way: 17.0 ± 2.7, 5.6 ± 2.4, 2.3 ± 1.2, 1.0 ± 0.7. With all labels 98.7 % are then right without any text. Over templates the gain is a lead only with 272 labels: 17.8 ± 4.9, and 17.0 ± 3.6 with the mean.</details>
#
# ## 10h.4 What is text worth?
#
# So in points pre-training pays most with few labels. But points have a ceiling: where only 5 % are wrong, no more than 5 can be gained. There is another measure: how many *labels* would do as much? Read the curves sideways. From the 86 % of 272 labels with text, go right until you meet the curve without text.

# %% [markdown] tags=["exercise"]
# > **Exercise 10h.1 (build, 15 minutes).** Write `our_labels_for(target, labels, scores)`: how many labels a curve needs to reach `target` for the first time. `labels` are rising numbers, `scores` what is reached with each, not always more than with the one before. From one point to the next the curve is a straight line *over the logarithm* of the number, as in the figure. If the first number is enough, return it; if none is, `math.inf`. For example, to reach 80 on the curve with 70 for 100 labels and 90 for 400 takes 200 labels: halfway up, and twice 100 is half of 400.
# >
# > <details><summary>Hint 1</summary>Look for the first score that isn't below the target. If it is that of <code>labels[i]</code>, the point lies between i − 1 and i. Which part of the way up is it?</details>
# > <details><summary>Hint 2</summary>After that part p of the way, the logarithm has also covered p of its way, so the number of labels is <code>labels[i - 1] * (labels[i] / labels[i - 1]) ** p</code>.</details>


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
# How sure is that? Draw the twelve seeds of each point anew, with replacement, and the fourteen templates, too, a thousand times: a bootstrap. And look at it in four ways: the head reads the last token or the mean; the statements are those of the test or of validation (there only the seeds are drawn anew).

# %%
from coursekit.evaluate.curve import labels_for

in_labels = answer_or(our_labels_for, labels_for)  # the library's until yours is there
assert math.isclose(in_labels(80, [100, 400], [70, 90]), labels_for(80, [100, 400], [70, 90]))


def worth(found, seeds=slice(None), some=slice(None)):  # of 272 labels with text, without text
    scores = [before[seeds][:, some].mean().item() for before, _ in found.values()]
    return in_labels(found[272][1][seeds][:, some].mean().item(), numbers, scores)


def resample(found, g, times=1000):  # 95 %
    n, again = found[272][0].shape[1], []
    for _ in range(times):
        draws = [torch.randint(k, (k,), generator=g) for k in (12, n)]
        again.append(worth(found, *draws))
    return np.quantile(again, (0.025, 0.975), method="nearest")


# %%
print("272 labels with text   do as much without text as (95 %)")
ranges, g = {}, torch.Generator().manual_seed(42)
for end in ("", "-mean"):
    for part, what in {"test": names, "validation": ["validation"]}.items():
        found = {n: read_both(6000, n, end, what) for n in numbers}
        name = f"{end[1:] or 'last'}, {part}"
        ranges[name] = worth(found), *resample(found, g)
        print("{:22} {:.0f}  ({:.0f} to {:.0f})".format(name, *ranges[name]))
claim(worth_in_labels=ranges["last, test"][0])

# %% tags=["figure", "folded"]
ax = plt.subplots(figsize=(6.8, 4))[1]
draw_curve(ax, at_length)
up, (far, low, high) = at_length[272][1].mean(), ranges["last, test"]
ax.annotate("", (far, up), (290, up), arrowprops={"arrowstyle": "->", "color": "0.3"})
ax.plot([far, far], [66, up], ":", color="0.3")
ax.plot([low, high], [66, 66], "|-", color="0.3")
ax.text(far, 64.6, f"{far:.0f} ({low:.0f} to {high:,.0f})", color="0.3", ha="center", va="top")
ax.text(1180, 85.5, "from scratch", color="C0", fontsize=10)
ax.text(280, 94, "pre-trained", color="C1", fontsize=10)
ax.set_ylim(61, 101)
ax.set_title("Recorded: with text 272 labels do as much as two or three times as many", loc="right")
figure(
    "worth", alt="An arrow from 86 per cent with text to the curve without, at about 900 labels."
)

# %% [markdown]
# **272 labels with text do as much as 450 to 900 without**: two or three times as many, and the ranges say that we don't know it better. Howard and Ruder (2018) compare in this way, too: with 100 labels their pre-trained network does as well as others from scratch with ten or twenty times as many. Hernandez et al. (2021) call what is added the *effective data transferred*.
#
# A third measure is the share of the *wrong* answers that text takes away.

# %%
for n in numbers:
    before, after = (100 - found for found in read_both(6000, n))  # wrong: (seeds, templates)
    again = []
    for _ in range(1000):
        seeds, some = (torch.randint(k, (k,), generator=g) for k in (12, 14))
        again.append(1 - (after[seeds][:, some].mean() / before[seeds][:, some].mean()).item())
    share = 1 - (after.mean() / before.mean()).item()
    low, high = np.quantile(again, (0.025, 0.975))
    row = f"{n:5} labels: {before.mean():4.1f} % wrong; text takes away {share:.0%} of these"
    print(f"{row} ({low:.0%} to {high:.0%})")

# %% [markdown]
# With 272 labels half of the wrong answers go, with more labels rather more; but the ranges overlap. So by this measure nothing says that text pays most where labels are few. Before you say where pre-training pays, say how you count.
#
# ## 10h.5 Where does the gain come from?
#
# After 1,000 steps it came from *but*. And now? Take it apart once more.

# %%
long_scratch, long_pretrained = read_both(6000, 272)
take_apart(long_scratch, long_pretrained)

# %% tags=["figure", "folded"]
ax = plt.subplots(figsize=(8, 4.6))[1]
draw_templates(ax, long_scratch, long_pretrained)
ax.set_title("Recorded, 272 labels, 6,000 steps: better on all without a reaction", loc="right")
figure(
    "few-longer",
    alt="Pre-trained, all ten rows without a reaction move to the right, nobody to 66.",
)

# %% [markdown]
# **Now they know more than reactions.** On the other ten templates 57 % became 83. All ten rise: the six with *but* by 21 points, the four others by 34, even *nobody*, and the plain statement that 1,000 steps had made worse. The four with a reaction fall by 3 on average. So this gain is a lead over templates, too.
#
# What made the difference? Vary one thing at a time: how long it reads, how long it learns labels, and what it reads.

# %%
few_runs = {  # texts, steps with text, steps with labels
    "all     2,000  4,000": "few-6000-causal-pre-trained",
    "all       500  4,000": "few-4500-causal-pre-trained",
    "all     2,000    500": "few-2500-causal-pre-trained",
    "1,536   2,000  4,000": "few-6000-causal-pre-trained-fewer",
    "272     2,000  4,000": "few-6000-causal-pre-trained-labelled",
}
from_scratch = long_scratch.mean(1)
print("texts  steps: text labels  right  gain over 6,000 steps from scratch")
for name, run in few_runs.items():
    right = recorded(run).mean(1)
    print(f"{name:26} {right.mean():5.1f}  {verdict(right, from_scratch)}")
more, fewer = recorded("few-4500-causal-pre-trained").mean(1), pretrained.mean(1)
print("after 500 steps with text, 4,000 with labels instead of 500:", verdict(more, fewer))

# %% [markdown]
# - **It takes other texts.** A network that reads only the 272 statements whose labels it has gains nothing (on validation it even loses 6.3 ± 2.9). With 24 of the 34 templates, 1,536 texts, it gains 11.8.
# - **It takes time with the labels**: after 500 steps with text, 4,000 with labels instead of 500 give 9.4 ± 3.1 points, a lead, on validation 7.5 ± 2.2. (The learning rate is also high for longer.) More time with the text, 2,000 steps instead of 500, makes no difference that we could see.
#
# That second point is strange. After 500 steps with the labels the training loss is 0.001 nats: there seemed to be nothing left to learn. **A training loss near zero is no reason to stop.** What is? The accuracy on validation; Zhang et al. (2021) find that recipes for BERT with few samples stop too early as well.
#
# <details><summary>Caveats</summary>It is one choice of 272 labels, equally many from each template, and nobody who has 272 has 512 others to spare for validation. Nothing was tuned for networks from scratch; lesson 10f chooses the setting for each kind. And bidirectional networks, pre-trained by filling in masked words as BERT is? With 272 labels and four seeds 64.6 became 68.5 after 1,000 steps (3.9 ± 2.1, can't tell), and 62.9 became 75.7 after 6,000 (12.8 ± 3.7, a lead). These are recorded and <a href="../tests/test_recorded_runs.py">tested</a>, too.</details>

# %% [markdown] tags=["exercise"]
# > **Exercise 10h.2 (investigate, 25 minutes).** *People smiled because it was a tasty cake*: without its label, this text still says how things turned out. Ten of the 34 training templates end or begin like this, with `{r}` in their name. Is that what pre-training learns from? Take these texts out of the `part` that `pretrain` reads. Then learn the 272 labels as before, with seeds 0 to 3, and complete the table, with `verdict`. (Eight networks take two minutes. Four seeds show only a large gain, see 10c.4.) What else differs between the last two rows, and how could one find out whether it is that?
# >
# > <details><summary>Hint</summary><code>quiet = [one for one in train if "{r}" not in one.template]</code>. The means of the twelve recorded networks are <code>scratch.mean(1)</code> and <code>pretrained.mean(1)</code>; take the first four.</details>
# >
# > ```python
# > start = pretrain(attend_past, 0, part=quiet)
# > print(accuracy(learn_labels(attend_past, 0, start, steps=500), test))
# > # with four of each, as tensors: verdict(after, before)
# > ```
#
# |272 labels, 1,000 steps, seeds 0 to 3|right (%)|gain, verdict|
# |---|---|---|
# |from scratch||–|
# |pre-trained on all texts|||
# |pre-trained on texts without a reaction|||
#
# > <details><summary>What we found</summary>68.9; 75.3, a gain of 6.4 ± 2.3, a hint; without reactions 72.0, a gain of 3.1 ± 2.2: we can't tell. With twelve seeds, recorded, it is 2.6 ± 1.3 instead of 8.1 ± 2.1, and after 6,000 steps 12.0 ± 3.5 instead of 17.8 ± 2.5. So part of the gain seems to go with these texts. But the last row also reads fewer texts, and fewer templates. So we left out ten <em>other</em> templates, as many texts and none with a reaction: 3.3 ± 1.7, and after 6,000 steps 11.8 ± 3.6 (10h.5). The same. So nothing here says that it is what the reactions tell; to read less is enough. (The two ways are 0.7 ± 1.8 and 0.2 ± 5.5 points apart: a small difference we couldn't see.) To try on: bidirectional networks, with <code>attend</code>.</details>

# %% [markdown]
# ## What you now have
#
# - **When does pre-training pay?** Where there is more text than labels, and training with the labels goes on for long enough. In points: 17.8 with 272 labels, 3.9 with 2,176. In labels: 272 with text do as much as 450 to 900 without. In wrong answers: about half of them go with 272 labels.
# - A rule for comparisons: equal steps are fair only if both are done, and a training loss near zero doesn't show that they are. After 1,000 steps the gains with 272 and with all labels were 8 and 12 points, after 6,000 they are 18 and 4.
# - A learning curve, read both ways: upwards in points, sideways in labels.
#
# **What still fails.** *Nobody found the cake dry today*: with 272 labels and text some networks have learned it and two are nearly always wrong. From scratch none has. [Side lesson 10e](10e_shortcuts.ipynb) asks why.

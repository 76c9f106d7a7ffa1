# %% [markdown]
# # 10h · When does pre-training pay?
#
# *Nobody found the soup burnt today.* Did things turn out well? They did, but networks trained on 272 labels get only a quarter to a third of such statements right. More labels would help, but somebody has to write each of them. Text without labels is cheap. Can a network get more out of the same labels if it reads first?
#
# **Afterwards you can** pre-train a network, let another one start from its weights, and judge what it gained: over which baseline, with what certainty, and how many labels that is worth.
#
# **Before**: lessons 10c (fine-tuning, seeds, leads), 10f (errors over templates, the bootstrap) and 10g (what an accuracy is made of); 2b explains regularisation, 9 dropout, 10d how the next words are learned.
#
# **Runs in** {runs_in}. **Study time** {study}.
#
# **Sources**: reading first, Dai and Le (2015), Howard and Ruder (2018), Radford et al. (2018) and Devlin et al. (2019); reading only the task's own text, Krishna et al. (2022) and Amos, Berant and Gupta (2024); training from scratch that catches up, He, Girshick and Dollár (2019); measuring transfer in data, Hernandez et al. (2021); too few steps, Zhang et al. (2021); why it helps, Erhan et al. (2010); unstable fine-tuning, Dodge et al. (2020) and Mosbach, Andriushchenko and Klakow (2021); norms that stand first, Xiong et al. (2020); model selection with few labels, Perez, Kiela and Cho (2021). All statements here were written for this course.

# %% tags=["setup", "machine"]
import math

import matplotlib.pyplot as plt
import torch
from torch import nn
from torch.nn import functional as F

from coursekit.data.statements import fill_in, number_words, statements
from coursekit.exercises import answer_or
from coursekit.exercises import labels as exercises
from coursekit.notebook import claim, compare_guess, figure, read_results, setup
from coursekit.windows.masking import pad_texts, targets_after

device = setup("10h_few_labels", seed=42)

# %% [markdown]
# ## 10h.1 Read first
#
# The statements and the networks are those of lesson 10g, with one change: the head gets the mean of all tokens' vectors (*mean pooling*), which validation prefers for causal networks (lesson 10f). Of the 2,176 training statements, only every eighth has kept its label: one for each template, domain and outcome.

# %%
from coursekit.layers.attention import attend_past
from coursekit.models.encoder import Encoder, EncoderConfig, MaskedTokenModel, pool
from coursekit.training.fit import fit
from coursekit.training.optimiser import adamw, warm_up_cosine

train, validation, test = statements()
ids = number_words([one.text for one in train])
size, few = len(ids), train[::8]


# %%
def encode(*texts):  # tokens and where there are any, each (N, T); 1 is [CLS], 0 padding
    rows = [[1, *(ids[w] for w in text.split())] for text in texts]
    return [one.to(device) for one in pad_texts(rows, multiple_of=8)]


def read(part):  # the encoded texts and their labels
    labels = torch.tensor([one.label for one in part], device=device)
    return encode(*(one.text for one in part)), labels


@torch.no_grad()
def accuracy(model, part):  # per cent
    x, y = read(part)
    return 100 * (model(*x).argmax(1) == y).float().mean().item()


# %%
def new_encoder(dropout, **options):
    sizes = EncoderConfig(vocab_size=size, context=24, d_model=32, dropout=dropout)
    return Encoder(sizes, rule=attend_past, **options)


def train_it(model, batches, loss, steps, decay):
    options = {"steps": steps, "schedule": warm_up_cosine(steps), "clip": 1.0}
    fit(model, adamw(model, 5e-3, weight_decay=decay), batches, loss=loss, **options)
    return model.eval()


# %% [markdown]
# The other statements have no label, but they can be read. To **pre-train** a network on all 2,176 means to let it predict each next word, as a GPT does (lesson 10c). Such a network is an encoder with a head that returns a logit for each word. That is the library's `MaskedTokenModel`: whether it learns masked words, as in lesson 10, or next ones, as here, depends on the targets alone.

# %%
from coursekit.evaluate.likelihood import next_token_loss


def draw_texts(tokens, g):
    while True:
        x = tokens[torch.randint(len(tokens), (32,), generator=g)]
        yield (x, x > 0), targets_after(x)


def pretrain(seed, steps=500, part=train, dropout=0.0, decay=0.01, **options):
    torch.manual_seed(seed)
    model = MaskedTokenModel(new_encoder(dropout, **options))
    (tokens, _), _ = read(part)
    batches = draw_texts(tokens, torch.Generator().manual_seed(seed))
    return train_it(model.to(device), batches, next_token_loss, steps, decay)


# %% [markdown]
# The classifier has the same encoder and another head, with two logits: bad or good.


# %%
class OurClassifier(nn.Module):
    def __init__(self, encoder):
        super().__init__()
        self.encoder, self.head = encoder, nn.Linear(32, 2)

    def forward(self, tokens, present):
        return self.head(pool(self.encoder(tokens, present), present, "mean"))


# %% [markdown]
# Which weights can it start from? Ask PyTorch to load all of them. With `strict=False` it forgives names that are missing on either side. It doesn't forgive mismatched shapes.

# %%
language, classifier = MaskedTokenModel(new_encoder(0.0)), OurClassifier(new_encoder(0.0))
try:
    classifier.load_state_dict(language.state_dict(), strict=False)
except RuntimeError as problem:
    print(problem)

# %% [markdown] tags=["exercise"]
# > **Exercise 10h.1 (warm-up, 5 minutes).** Both models call their head `head`, but one has a row for each word, the other two rows. Write `our_matching(mine, theirs)`. Both are state dicts, that is, tensors by name. Return a dict of those tensors of `theirs` that `mine` has, too: under the same name *and* in the same shape.
# >
# > <details><summary>Hint</summary>Go through <code>theirs.items()</code>. The name may be missing in <code>mine</code>, so ask for that before you compare the <code>.shape</code>.</details>


# %% tags=["stub"]
def our_matching(mine, theirs): ...  # -> tensors by name


# %% tags=["check"]
exercises.check_our_matching(our_matching)


# %% tags=["solution"]
def our_matching(mine, theirs):
    return {n: w for n, w in theirs.items() if n in mine and w.shape == mine[n].shape}


# %%
from coursekit.training.checkpoint import matching_weights

matching = answer_or(our_matching, matching_weights)  # the library's until yours is there
mine, theirs = classifier.state_dict(), language.state_dict()
taken = matching(mine, theirs)
assert {*taken} == {*matching_weights(mine, theirs)}
print(f"{len(taken)} of {len(mine)} tensors fit; not", *sorted(mine.keys() - taken.keys()))
print("left behind:", *sorted(theirs.keys() - taken.keys()))


# %% [markdown]
# The whole encoder fits. The old head's layers stay behind, `transform` and `norm` among them. Its `head.weight` does come along, as `encoder.embedding.weight`, for the two are *tied*: one tensor with two names. The new head begins at random. Now a network can learn the labels starting from pre-trained weights:


# %%
def learn_labels(seed, start=None, steps=1000, part=few, dropout=0.0, decay=0.01, **options):
    torch.manual_seed(seed)
    model = OurClassifier(new_encoder(dropout, **options)).to(device)
    if start is not None:
        model.load_state_dict(matching(model.state_dict(), start.state_dict()), strict=False)
    ((tokens, present), y), g = read(part), torch.Generator().manual_seed(seed)
    picks = (torch.randint(len(y), (32,), generator=g) for _ in range(steps))
    batches = (((tokens[i], present[i]), y[i]) for i in picks)
    return train_it(model, batches, F.cross_entropy, steps, decay)


# %% [markdown]
# Both kinds of network take 1,000 steps. From scratch, all of them use labels; pre-trained, 500 use text and 500 use labels. Train one of each, and ask them. You can try statements of your own, with words of the training statements.

# %%
questions = [
    "nobody found the soup burnt today .",
    "it was not a stale cake this time .",
    "nobody found the soup tasty today .",
]


@torch.no_grad()
def ask(model):
    for text, p in zip(questions, model(*encode(*questions)).softmax(1)[:, 1], strict=True):
        print(f"  {p:.2f} good: {text}")


# %% tags=["nbval-ignore-output"]
from_scratch, read_first = learn_labels(6), learn_labels(6, pretrain(6), steps=500)
for name, model in {"from scratch": from_scratch, "pre-trained": read_first}.items():
    print(f"{name}: {accuracy(model, test):.0f} % of the test right")
    ask(model)

# %% [markdown]
# The first two turned out well, the third didn't. Two networks say little, so twelve of each kind were recorded, with seeds 0 to 11.
#
# Other seeds would give another gain, as in lesson 10c, and so would other templates, as in lesson 10f. These are two sources of chance, so their variances add: ± is the root of the sum of the two squared standard errors. A gain of at least two of these errors is a hint, of three a lead.

# %%
from coursekit.evaluate.seeds import compare_seeds, judge, mean_over_groups

forms = {one.template for one in test}
names = sorted(forms, key=lambda form: ("{r}" in form, " but " in form, form))  # reactions last
kinds = {"from scratch": "causal-mean", "pre-trained": "causal-pre-trained-mean"}


def recorded(labels, steps, kind, what=names, seeds=12):  # (seeds, what): per cent or nats
    return read_results(f"labels-{labels}-{steps}-{kind}", what, seeds=seeds)


def of_both(labels, steps, end="", **options):  # from scratch and pre-trained
    return [recorded(labels, steps, kind + end, **options) for kind in kinds.values()]


# %%
def gain_of(before, after):  # (seeds, templates) of both; the gain and its error
    gain, over_seeds = map(float, compare_seeds(after.mean(1), before.mean(1)))
    _, over_templates = mean_over_groups((after - before).mean(0), names)
    return gain, math.hypot(over_seeds, over_templates)


def show_gain(name, before, after):
    gain, error = gain_of(before, after)
    means = f"{before.mean():.1f} → {after.mean():.1f} % right"
    print(f"{name}: {means}, gain {gain:z.1f} ± {error:.1f}, {judge(gain, error)}")
    print(
        f"   errors: {(100 - before.mean()) / (100 - after.mean()):.1f} times as many from scratch"
    )
    return gain, error


# %%
scratch, pretrained = of_both(272, 1000)
gain, error = show_gain("272 labels, 1,000 steps", scratch, pretrained)
claim(gain_with_few_labels=gain, gain_in_standard_errors=gain / error)

# %% tags=["figure", "folded"]
ax = plt.subplots(figsize=(7.2, 1.9))[1]
both = {"from scratch": scratch.mean(1), "pre-trained": pretrained.mean(1)}
for row, found in enumerate(both.values()):
    ax.plot(found, [row] * 12, "o", color=f"C{row}", alpha=0.5, markersize=8)
    ax.plot(found.mean(), row, "|", color="black", markersize=20)
ax.set_yticks([0, 1], list(both))
ax.set(xlabel="right on new statements (%), 12 seeds and their mean")
ax.set(xlim=(50, 90), ylim=(1.6, -0.6))
ax.set_title("Recorded, 272 labels, 1,000 steps: does pre-training help?", loc="right")
figure(
    "read-first", alt="Twelve dots each: from scratch around 69 per cent, pre-trained around 74."
)

# %% [markdown]
# Five points, but that is less than two standard errors: we can't tell. GPT-1 and BERT owe their success to reading first, though they read far more, and other text. Was something wrong here?
#
# ## 10h.2 Let them finish
#
# Have these networks finished learning? Look at their loss on the labels.

# %%
for name, kind in kinds.items():
    loss = recorded(272, 1000, kind, ["train"]).mean()
    print(f"loss on the 272 labels, {name}: {loss:.4f} nats")

# %% [markdown]
# Near zero. By that measure there is nothing left to learn. Give them more steps all the same, and spend a third of them on text rather than half. How many? Let validation decide among four numbers.

# %%
lengths = [1000, 3000, 6000, 12000]
over_time = {steps: of_both(272, steps, what=["validation"]) for steps in lengths}
best = max(lengths, key=lambda steps: torch.stack(over_time[steps]).mean())
print(f"highest mean of both kinds on validation: {best:,} steps")

# %% [markdown]
# **Predict.** After 1,000 steps the pre-trained networks were ahead by 5.1 points on the test. And after 6,000?

# %% tags=["predict"]
guess = None  # points

# %%
long_scratch, long_pretrained = of_both(272, best)
compare_guess(guess, (long_pretrained.mean() - long_scratch.mean()).item())
long_gain, _ = show_gain(f"272 labels, {best:,} steps", long_scratch, long_pretrained)
claim(gain_after_more_steps=long_gain)
for part, steps in {"text": 2500, "labels": 4500}.items():  # 2,000 and 500, and 500 and 4,000
    right = recorded(272, steps, kinds["pre-trained"]).mean()
    print(f"pre-trained, more steps only with {part}: {right:.1f} %, instead of 74.2")

# %% tags=["figure", "folded"]
ax = plt.subplots(figsize=(6.4, 3.4))[1]
for row, (name, down) in enumerate({"from scratch": -2.2, "pre-trained": 2.2}.items()):
    found = torch.stack([both[row][:, 0] for both in over_time.values()])
    errors = found.std(1) / 12**0.5
    ax.errorbar(lengths, found.mean(1), yerr=errors, fmt="o-", color=f"C{row}", capsize=3)
    ax.text(1900, found[1].mean() + down, name, color=f"C{row}", ha="center")
ax.set_xscale("log")
ax.set_xticks(lengths, [f"{steps:,}" for steps in lengths])
ax.minorticks_off()
ax.set(xlabel="steps of the whole run", ylabel="right on validation (%) ± error")
arrow = {"arrowprops": {"arrowstyle": "->", "color": "0.3"}, "fontsize": 9}
ax.annotate("training loss\nnear zero", (1000, 81.7), (1000, 85.5), **arrow)
ax.set_title("Recorded, 272 labels: pre-trained networks need more than 1,000 steps", loc="right")
figure(
    "steps",
    alt="Pre-trained, validation rises from 80 to 91 at 6,000 steps; from scratch it hardly does.",
)

# %% [markdown]
# **17 points, a lead.** Five thousand more steps add little from scratch, but fifteen points after pre-training. Both stages had been too short: lengthening either one alone gains about ten points. So **a training loss near zero doesn't prove that a longer run, with its own schedule, would do no better.** Zhang et al. (2021) found the usual number of steps too small for BERT, too. (After 12,000 the pre-trained look worse again on validation, within the noise.) If each kind takes the number of steps that is best for it on validation, 12,000 from scratch, the gain is 15.7 ± 4.6, still a lead.
#
# ## 10h.3 Give the baseline what it needs
#
# Seventeen points, over what? The baseline is a network without dropout, trained on 272 labels that it has memorised. If somebody showed you such a comparison, you would ask how that network does when it is *regularised*. So give both kinds dropout and ten times the weight decay. We recorded three values of dropout and, with the middle one, two other learning rates, four seeds of each kind. Again, let validation decide.

# %%
settings = {
    "dropout 0.1": "-regularised-less",
    "dropout 0.2": "-regularised",
    "dropout 0.4": "-regularised-more",
    "lr 0.002": "-regularised-slow",  # the others have 0.005; dropout is 0.2
    "lr 0.01": "-regularised-fast",
}
for name, end in settings.items():
    pair = of_both(272, best, end, what=["validation"], seeds=4)
    found = [f"{one.mean():.1f} ± {one.std() / 2:.1f}" for one in pair]
    print(f"{name:12} from scratch {found[0]}, pre-trained {found[1]} % of validation")

# %% [markdown]
# A dropout of 0.2 has the highest mean of both kinds. So twelve of each were recorded with that.
#
# **Predict.** From scratch, 72.6 % became 84.4 %. By how many points are the pre-trained ahead now?

# %% tags=["predict"]
guess = None  # points

# %%
strong_scratch, strong_pretrained = of_both(272, best, "-regularised")
compare_guess(guess, (strong_pretrained.mean() - strong_scratch.mean()).item())
name = f"272 labels, {best:,} steps, regularised"
strong_gain, _ = show_gain(name, strong_scratch, strong_pretrained)
show_gain(f"272 others, {best:,} steps, regularised", *of_both(272, best, "-regularised-elsewhere"))
claim(gain_with_regularisation=strong_gain)

# %% [markdown]
# **13 points, and only a hint.** But points have a ceiling, and the pre-trained are close to it. Count errors instead, and they gained more: from scratch makes 6.2 times as many now, before 2.6. The 13 points rest on a few templates: *nobody*, *not a dry cake* and *today it was a tasty cake* make up 62 % of them. But it isn't the luck of these 272 labels. 272 others, chosen in the same way, give the same.

# %% tags=["figure", "folded"]
ax = plt.subplots(figsize=(7.2, 3.8))[1]
twelve = {"not regularised", "dropout 0.2", "lr 0.01"}, {"not regularised", "dropout 0.2"}
rows = {"not regularised": "", **settings}
for row, (name, end) in enumerate(rows.items()):
    for column, kind in enumerate(kinds.values()):
        options = {"seeds": 12 if name in twelve[column] else 4}
        found = recorded(272, best, kind + end, **options).mean(1)
        fitted = recorded(272, best, kind + end, ["train"], **options)[:, 0] < 0.01
        at, color = row + (-0.17, 0.17)[column], f"C{column}"
        for some, inside in ((fitted, color), (~fitted, "white")):
            dots = {"color": color, "markerfacecolor": inside, "alpha": 0.6, "markersize": 7}
            ax.plot(found[some], [at] * int(some.sum()), "o", **dots)
        ax.plot(found.mean(), at, "|", color="black", markersize=13)
ax.text(58, -0.2, "from scratch", color="C0", va="center", ha="right")
ax.text(58, 0.25, "pre-trained", color="C1", va="center", ha="right")
ax.text(46, 4.55, "hollow: training\nlabels not fitted", fontsize=9, va="center")
ax.set_yticks(range(6), [*rows])
ax.set(xlabel="right on new statements (%), 12 or 4 seeds and their mean")
ax.set(xlim=(45, 101), ylim=(5.6, -0.6))
ax.set_title("Recorded, 272 labels, 6,000 steps: from scratch it is a lottery", loc="right")
figure("reliable", alt="Rows of dots: from scratch 60 to 100, some hollow; pre-trained above 78.")

# %% [markdown]
# Now look at the dots. From scratch it is a lottery: in each row some network gets less than 70 %, and at a learning rate of 0.01 seven of twelve haven't even learned their labels. With a dropout of 0.2, eleven of the twelve pre-trained are above 95 %, but only three of those from scratch. So what pre-training brings here above all is *reliability*: the first run works. Dai and Le (2015) and Erhan et al. (2010) found that, too.
#
# Train one that reads first. It takes about a minute.

# %% tags=["nbval-ignore-output"]
strong = {"dropout": 0.2, "decay": 0.1}
reader = learn_labels(0, pretrain(0, steps=2000, **strong), steps=4000, **strong)
print(f"pre-trained, regularised: {accuracy(reader, test):.0f} % of the test right")
ask(reader)
claim(reader_right=accuracy(reader, test))

# %% [markdown]
# ## 10h.4 How many labels is it worth?
#
# Now let more of the training statements keep their labels: every fourth, every second, all, with regularised networks. That is a *learning curve*.
#
# **Predict.** With 272 labels, pre-training brought 13 points. And with all 2,176?

# %% tags=["predict"]
guess = None  # points

# %%
numbers, curve = [272, 544, 1088, 2176], [(strong_scratch, strong_pretrained)]  # of labels
curve += [of_both(n, best, "-regularised") for n in numbers[1:]]
gain_with_all = (curve[-1][1].mean() - curve[-1][0].mean()).item()
compare_guess(guess, gain_with_all)
for n, (before, after) in zip(numbers[1:], curve[1:], strict=True):
    show_gain(f"{n:,} labels, {best:,} steps, regularised", before, after)
claim(gain_with_all_labels=gain_with_all)

# %% [markdown]
# With twice as many labels the gain is 1.4 points, a hint, and beyond that both kinds are at the ceiling.
#
# So count in another way: how many *labels* would give the same gain? Read the learning curve sideways. Start at what 272 labels give with pre-training, 97.5 %, and go right until you meet the curve from scratch.

# %% [markdown] tags=["exercise"]
# > **Exercise 10h.2 (build, 15 minutes).** Write `our_labels_for(target, labels, scores)`: how many labels a curve needs to reach `target` for the first time. `labels` are rising numbers, `scores` what is reached with each, not always more than with the one before. From one point to the next the curve is a straight line *over the logarithm* of the number, as in the figure below, where each doubling is one step to the right. If the first number is enough, return it; if none is, `math.inf`. For example, to reach 80 on the curve with 70 for 100 labels and 90 for 400 takes 200 labels: halfway up, and halfway from log 100 to log 400.
# >
# > <details><summary>Hint 1</summary>Look for the first score that isn't below the target. If it is that of <code>labels[i]</code>, the point lies between i − 1 and i. Which part p of the way up is it?</details>
# > <details><summary>Hint 2</summary>The logarithm of the number has covered the part p of <em>its</em> way, too. So what is it, and what is the number?</details>


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
# How certain is that? Resample the twelve seeds of each point and the fourteen templates, with replacement, four thousand times: the bootstrap of lesson 10f. The library does it.

# %%
from coursekit.evaluate.curve import bootstrap_labels, labels_for

in_labels = answer_or(our_labels_for, labels_for)  # the library's until yours is there
without = [before for before, _ in curve]
target, scores = strong_pretrained.mean().item(), [one.mean().item() for one in without]
worth = in_labels(target, numbers, scores)
assert math.isclose(worth, labels_for(target, numbers, scores))
low, high = bootstrap_labels(strong_pretrained, numbers, without, draws=4000, seed=42)
print(f"272 labels do as much as {worth:,.0f} from scratch (95 %: {low:,.0f} to {high:,.0f})")
claim(worth_in_labels=worth)

# %% [markdown]
# And the skip-bigrams of lesson 10g, their `decay` chosen on validation:

# %%
from coursekit.models.bag import choose_bag


def known(part):  # tokens and labels
    (tokens, _), labels = read(part)
    return tokens, labels


options = {"vocab_size": size, "pairs": "far", "lowest": 4}
by_pairs = []
for n in numbers:
    decays = (1e-8, 1e-6, 1e-4, 1e-2, 1.0)
    bag = choose_bag(known(train[:: 2176 // n]), known(validation), decays=decays, **options)
    by_pairs.append(accuracy(lambda tokens, _, bag=bag: bag(tokens), test))
print("skip-bigrams:", *(f"{right:.1f}" for right in by_pairs))

# %% tags=["figure", "folded"]
ax = plt.subplots(figsize=(7.2, 3.8))[1]
for row, (name, up) in enumerate({"from scratch": 80, "pre-trained": 101}.items()):
    some = [both[row].mean(1) for both in curve]
    means, errors = [one.mean() for one in some], [one.std() / 12**0.5 for one in some]
    ax.errorbar(numbers, means, yerr=errors, fmt="o-", color=f"C{row}", capsize=3)
    ax.text(300, up, name, color=f"C{row}", fontsize=10)
ax.plot(numbers, by_pairs, "x:", color="black")
ax.text(1150, 71, "skip-bigrams", fontsize=10)
ax.annotate("", (worth, target), (285, target), arrowprops={"arrowstyle": "->", "color": "0.3"})
ax.plot([worth, worth], [61, target], ":", color="0.3")
ax.errorbar(worth, 61, xerr=[[worth - low], [high - worth]], fmt="|k", capsize=3)
ax.text(high * 1.04, 61, "95 % interval", va="center", fontsize=9)
ax.set_xscale("log")
ax.set_xticks(numbers, [f"{n:,}" for n in numbers])
ax.minorticks_off()
ax.set(xlabel="labels", ylabel="right (%) ± error over seeds", ylim=(58, 105))
ax.set_title("Recorded: pre-trained, 272 labels do about as much as 544", loc="right")
figure("worth", alt="An arrow from 272 labels with text to the curve without, at 520 labels.")

# %% [markdown]
# **Pre-trained, 272 labels do about as much as 544 from scratch, with as many steps.** Don't trust the 520: between 272 and 544 nothing was run, and 97.5 and 98.4 % can't be told apart. More than that this test can't say, for with 544 labels both kinds are close to its ceiling. Howard and Ruder (2018) count in this way. Hernandez et al. (2021) call the difference, here some 250 labels, the *effective data transferred*. The skip-bigrams, which need neither text nor a seed, are below both kinds throughout.
#
# ## 10h.5 How much text does it take?
#
# All 2,176 statements were read, eight times as many as had labels. Is it the other 1,904 that help? Take them away: let the network read *only the 272 statements that it has labels for*, for the same 2,000 steps.
#
# **Predict.** From scratch 84.4 %, after reading all of them 97.5 %. After reading only the 272?

# %% tags=["predict"]
guess = None  # per cent

# %%
own_kind = "causal-pre-trained-labelled-mean"
own, plain_own = recorded(272, best, f"{own_kind}-regularised"), recorded(272, best, own_kind)
compare_guess(guess, own.mean().item())
show_gain(f"272 labels, {best:,} steps, own text", long_scratch, plain_own)
own_gain, _ = show_gain(f"272 labels, {best:,} steps, regularised, own text", strong_scratch, own)
claim(gain_without_more_text=own_gain)
for few_read, all_read in ((plain_own, long_pretrained), (own, strong_pretrained)):
    gain, error = gain_of(few_read, all_read)
    print(f"the other 1,904 texts add {gain:.1f} ± {error:.1f}, {judge(gain, error)}")

# %% tags=["figure", "folded"]
ax = plt.subplots(figsize=(7, 4.6))[1]
order = strong_scratch.mean(0).argsort().tolist()
looks = ((strong_scratch, 0, "C0"), (own, -0.15, "C2"), (strong_pretrained, 0.15, "C1"))
for row, k in enumerate(order):
    for found_k, up, color in looks:
        mean, error = found_k[:, k].mean(), found_k[:, k].std() / 12**0.5
        ax.errorbar(mean, row + up, xerr=error, fmt="o", color=color, markersize=5)
ax.set_yticks(range(14), [fill_in(names[k]).removesuffix(" .") for k in order], fontsize=8)
for x, name, color in ((41, "from scratch", 0), (71, "its own 272", 2), (91, "all 2,176", 1)):
    ax.text(x, -1.0, name, color=f"C{color}", va="center", fontsize=10)
ax.set(xlabel="right (%), mean of 12 seeds ± error", xlim=(36, 106), ylim=(13.6, -1.6))
ax.set_title(
    "Recorded, 272 labels, regularised: the 272 texts bring nearly all of it", x=-0.9, loc="left"
)
figure(
    "own-text",
    alt="On each of 14 templates networks that read only 272 texts are near those that read all.",
)

# %% [markdown]
# **Regularised, twelve of the thirteen points are there without any other text.** The field calls that *self-pretraining*. Whether the other 1,904 statements add anything, we can't tell; little was left to gain.
#
# *Not* regularised, it is the other 1,904 that bring a lead, 14.6 points, though they hold no word and no template that the 272 lack. The network's own texts bring 2.4, within the noise. It seems to have memorised them. To name one of 272 takes log 272 = 5.6 nats, 0.54 for each of its 10.3 words, and the loss of reading ends at 0.55. (All 2,176 end at 0.92, and by heart that would be 0.74.) So we suspect that something must keep it from memorising what it reads: regularisation, or more text.
#
# <details><summary>Is that peculiar to toy statements?</summary>No. Krishna et al. (2022) pre-trained ELECTRA and RoBERTa, two relatives of BERT, on nothing but the text of a task, for ten tasks, and found them about level with those that had read a general corpus, 10 to 500 times as large. Amos, Berant and Gupta (2024) did so with Transformers for long sequences, and these caught up with state-space models that had seemed far better. Where other text holds something new, it can pay all the same: Howard and Ruder's network gains from tens of thousands of unlabelled texts.</details>

# %% [markdown]
# ## 10h.6 What if it starts better?
#
# Then what does reading give, if not more text? Perhaps a second question about the same text: what is the next word? Or a better start, and then a network could have it without reading. What do ours lack from scratch? Maybe *time*, so let both kinds take 12,000 steps. And maybe a better **initialisation**.
#
# Ours is BERT's: all weights have a standard deviation of 0.02, and the norms stand behind what is added (*post-norm*). For a width of 768, 0.02 isn't far from one over the root, 0.036 (lesson 2). But our width is 32, and one over its root is 0.18. And *pre-norm* networks are easier to train (lesson 10; Xiong et al. 2020). Try both, from scratch, four seeds of each:

# %%
starts = {"as before": "", "pre-norm": "-norm-first", "std 0.18": "-wide"}
starts["both"] = "-norm-first-wide"
for name, end in starts.items():
    found = recorded(272, best, f"causal-mean-regularised{end}", ["validation"], seeds=4)
    print(f"from scratch, {name:9} {found.mean():.1f} ± {found.std() / 2:.1f} % of validation")

# %% [markdown]
# Both together score highest, though within the noise. So give this start to both kinds, and 12,000 steps.
#
# **Predict.** With 12,000 steps alone, from scratch 84.4 % become 90.4, and of the 13 points 8 are left. And if both kinds start better, too?

# %% tags=["predict"]
guess = None  # points

# %%
pairs = {
    "6,000 steps": (strong_scratch, strong_pretrained),
    "12,000 steps": of_both(272, 12000, "-regularised"),
    "12,000, better start": of_both(272, 12000, "-regularised-norm-first-wide"),
}
compare_guess(guess, gain_of(*pairs["12,000, better start"])[0])
left = [show_gain(f"272 labels, {name}, regularised", *both)[0] for name, both in pairs.items()]
claim(gain_after_12000_steps=left[1], gain_after_a_better_start=left[2])
ahead = [after - before for before, after in pairs.values()]
for a, b in ((0, 1), (1, 2), (0, 2)):
    less, error = gain_of(ahead[b], ahead[a])
    print(f"{left[a]:.1f} → {left[b]:.1f}: less by {less:.1f} ± {error:.1f}, {judge(less, error)}")

# %% tags=["figure", "folded"]
ax = plt.subplots(figsize=(7.2, 2.6))[1]
for row, both in enumerate(pairs.values()):
    for column, (name, found) in enumerate(zip(kinds, both, strict=True)):
        at, color = row + (-0.15, 0.15)[column], f"C{column}"
        ax.plot(found.mean(1), [at] * 12, "o", color=color, alpha=0.6, markersize=7)
        ax.plot(found.mean(), at, "|", color="black", markersize=13)
        ax.text(102, at, f"{(found.mean(1) > 95).sum()} of 12", color=color, va="center")
        if row == 0:
            ax.text(58, (-0.2, 0.25)[column], name, color=color, va="center", ha="right")
ax.set_yticks(range(3), [*pairs])
ax.set(xlabel="right on new statements (%), 12 seeds and their mean")
ax.set(xlim=(45, 101), ylim=(2.6, -0.6))
ax.text(102, -0.6, "above 95 %", va="center", fontsize=9)
ax.set_title("Recorded, 272 labels: with time and a better start, from scratch comes near", x=0.4)
figure(
    "start",
    alt="Dots from scratch: 63 to 99, then 68 to 99, then 86 to 100; pre-trained all above 94.",
)

# %% [markdown]
# **13 points, 8, and now 1.8 ± 1.4: we can't tell.** No single step can be told from chance, both together are a hint. Above 95 % are now nine of the twelve from scratch, and all twelve that are pre-trained. So near to the ceiling, that needn't be the same: errors are still twice as many from scratch. But time, wider first weights and pre-norm do most of what reading did, without any text. (Which doesn't prove that reading, too, works by giving a better start.) He, Girshick and Dollár (2019) found the same in vision: trained for longer, and with norms that suit, networks from scratch catch up, unless there is very little to learn from.
#
# Put the other way round, that is what pre-training buys here. With half the steps, and with BERT's start as it is, it gets 97.5 %, and the best networks from scratch 96.4: 1.1 ± 1.4 apart, can't tell.
#
# Here is one of these, with half the steps. It takes a minute. (Seed 1, neither the best nor the worst of four that we tried. Four recorded ones, with other draws of dropout, got 78 to 97 %, on average 91.)

# %% tags=["nbval-ignore-output"]
beginner = learn_labels(1, steps=6000, std=0.18, norm_first=True, **strong)
print(f"from scratch, better start: {accuracy(beginner, test):.0f} % of the test right")
ask(beginner)

# %% [markdown]
# **Before you say that pre-training pays, ask what its baseline lacks.** Ours lacked regularisation, time, and a better start. (We stopped strengthening it when the gap was gone, which is a choice, too.) That says little about text which holds more than the labels do. Our statements have 72 words; GPT-1 and BERT read far more than any task could tell them.
#
# <details><summary>Caveats</summary>The pre-trained never had a learning rate of their own for the labels, or a start chosen for them. Dropout, weight decay, rate and steps were chosen for both kinds together, on four seeds. If each kind gets its own dropout, 0.1 from scratch, the gain of 10h.3 is 18.9 points, where the common one gives 17.3 in the same four seeds. Our 272 labels were chosen evenly; with a random choice, results would vary more. Nobody with 272 labels can spare another 512 for validation (Perez, Kiela and Cho 2021). Of eight runs from scratch as in 10h.3, the one that validation prefers gets 97.5 % on average, at eight times the price. What 12,000 steps, or a better start, do with more labels or with own text, wasn't run. ± is a little too large, for each of the two errors includes part of the other; and with this many comparisons, some will be hints by chance. Texts with a reaction give the outcome away, but the 17 points don't come from them: without these, it is 16.2 ± 4.6. All this is recorded and <a href="../tests/test_recorded_runs.py">tested</a>.</details>
#
# ## What you now have

# %% [markdown]
# - **When does pre-training pay?** While its baseline lacks something. With 272 labels it brings 17 points over a plain network, 13 if both are regularised, 8 if both also take 12,000 steps, and 1.8 ± 1.4, so we can't tell, if both also start better. In errors, from scratch makes 2.6, then 6.2, 5.1, and at last 2.0 times as many.
# - **Where do the points come from?** Of the 17, 14.6 from other text. Of the 13, with regularisation, twelve are there if a network reads only the statements that it has labels for.
# - Two ways to be wrong about it: to stop when the training loss is near zero, and see 5 points; to give the baseline less than it needs, and see 17.

# %% [markdown] tags=["exercise"]
# > **Exercise 10h.3 (investigate, 15 minutes).** In 10h.5, reading its own 272 texts brought a network twelve points. Ask what its baseline lacked: compare `own` with networks from scratch that take 12,000 steps, and with those that also start better. Both are in `pairs`, and `gain_of` or `show_gain` compares them. Complete the table. What may you say about own text in one sentence? And what isn't fair about the last two rows?
# >
# > <details><summary>Hint</summary><code>pairs["12,000 steps"][0]</code> are the networks from scratch: (seeds, templates).</details>
#
# |baseline of `own`, which got 96.5 %|baseline (%)|gain ± error|verdict|
# |---|---|---|---|
# |6,000 steps|84.4|12.2 ± 4.8|a hint|
# |12,000 steps||||
# |12,000 steps, better start||||
#
# > <details><summary>What we found</summary>Over 12,000 steps, 90.4 %, own text gains 6.2 ± 3.5; over those that also start better, 96.4 %, 0.1 ± 1.3. About neither can we tell. So reading its own texts takes a network from scratch as far as twice the steps and a better initialisation do, and no more that we could see. Unfair to own text is that it had only 6,000 steps, and the old start. With the new start and 12,000 steps it wasn't run: would it stay ahead? Near 100 %, this test couldn't show much.</details>

# %% [markdown]
# **What still fails.** *Nobody found the soup burnt today*: of such statements the networks from scratch got 33 % at the beginning, 47 regularised, 69 with 12,000 steps, and 87 with a better start as well; the pre-trained 43, 94, 96 and 96. But take the shortcut of lesson 10g: after an opposite reaction, as in *it was a dry cake so people smiled*, the pre-trained of 10h.3 go by the fact in some 90 % of cases. In *people smiled because it was a dry cake*, in 4. They go by whatever comes first, or by *so* and *because*. How would you tell which?

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
# The statements and the networks are those of lesson 10g, with one change: the head gets the mean of all tokens' vectors (*mean pooling*), which validation prefers for causal networks (lesson 10f). Of the 2,176 training statements, only every eighth has kept its label: one for each template, topic and outcome.

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
    if start is not None:  # new
        model.load_state_dict(matching(model.state_dict(), start.state_dict()), strict=False)
    ((tokens, present), y), g = read(part), torch.Generator().manual_seed(seed)
    picks = (torch.randint(len(y), (32,), generator=g) for _ in range(steps))
    batches = (((tokens[i], present[i]), y[i]) for i in picks)
    return train_it(model, batches, F.cross_entropy, steps, decay)


# %% [markdown]
# Both kinds of network take 1,000 steps. From scratch, all of them use labels; pre-trained, 500 use text and 500 use labels. Train one of each, and ask them. You can put in statements of your own, as long as their words occur in training.

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
ax.annotate("already here the\ntraining loss is near zero", (1000, 81.6), (1000, 85.5), **arrow)
ax.set_title("Recorded, 272 labels: pre-trained networks need more than 1,000 steps", loc="right")
figure(
    "steps",
    alt="Pre-trained, validation rises from 80 to 91 at 6,000 steps; from scratch it hardly does.",
)

# %% [markdown]
# **17 points, a lead.** Five thousand more steps add little from scratch, but fifteen points after pre-training. So **a training loss near zero doesn't prove that a longer run, with its own schedule, would do no better.** Both stages had been too short, the reading and the learning of labels: lengthening either one alone gains about ten points. Fine-tuned BERTs, too, were trained for too few steps (Zhang et al. 2021), and differed in what they got right although their training loss was the same (Mosbach, Andriushchenko and Klakow 2021). But longer isn't always better. After 12,000 steps, the pre-trained seem to get worse, and the gain is 12.4 ± 5.2, a hint.
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
    means = [one.mean() for one in of_both(272, best, end, what=["validation"], seeds=4)]
    print(f"{name:12} from scratch {means[0]:.1f}, pre-trained {means[1]:.1f} % of validation")

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
name = f"272 other labels, {best:,} steps, regularised"
show_gain(name, *of_both(272, best, "-regularised-elsewhere"))
claim(gain_with_regularisation=strong_gain)

# %% [markdown]
# **Over a stronger baseline 13 points, and only a hint.** The pre-trained gained, too: three quarters of their errors are gone. What is left of the lead rests on a few templates: *nobody*, *not a dry cake* and *today it was a tasty cake* make up 62 % of it. But it isn't the luck of these 272 labels. 272 others, chosen in the same way, give the same.

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
# Now look at the dots. From scratch it is a lottery: in each row some network gets less than 70 %, and at a learning rate of 0.01 seven of twelve haven't even learned their labels. Pre-trained, with a dropout of 0.2 and the learning rate of 0.005, all twelve are above 94. So what pre-training brings here above all is *reliability*: the first run works. Dai and Le (2015) and Erhan et al. (2010) found that, too. (With a learning rate that is too low for them, the pre-trained vary as well. And large pre-trained models have a lottery of their own when they are fine-tuned, Dodge et al. 2020, unless their optimisation is mended, Mosbach et al. 2021.)
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
# With twice as many labels the gain is 1.4 points, a hint, and beyond that both kinds are at the ceiling. (He, Girshick and Dollár 2019 saw networks from random weights catch up in vision, far below any ceiling, unless there was very little to learn from.)
#
# Points have a ceiling. So count in another way: how many *labels* would give the same gain? Read the learning curve sideways. From the 97.5 % of 272 labels with pre-training, go right until you meet the curve from scratch.

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
scores = [one.mean().item() for one in without]
worth, spans = {}, {}
for n, (_, after) in zip(numbers[:2], curve, strict=False):
    target = after.mean().item()
    worth[n] = in_labels(target, numbers, scores)
    assert math.isclose(worth[n], labels_for(target, numbers, scores))
    low, high = spans[n] = bootstrap_labels(after, numbers, without, draws=4000, seed=42)
    print(f"{n} labels: like {worth[n]:,.0f} from scratch (95 %: {low:,.0f} to {high:,.0f})")
claim(worth_in_labels=worth[272])

# %% [markdown]
# And a baseline that needs neither pre-training nor a seed, the skip-bigrams of lesson 10g, their `decay` chosen on validation:

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
end, target, (low, high) = worth[272], strong_pretrained.mean(), spans[272]
ax.annotate("", (end, target), (285, target), arrowprops={"arrowstyle": "->", "color": "0.3"})
ax.plot([end, end], [61, target], ":", color="0.3")
ax.errorbar(end, 61, xerr=[[end - low], [high - end]], fmt="|k", capsize=3)
ax.text(high * 1.04, 61, "95 % interval", va="center", fontsize=9)
ax.set_xscale("log")
ax.set_xticks(numbers, [f"{n:,}" for n in numbers])
ax.minorticks_off()
ax.set(xlabel="labels", ylabel="right (%) ± error over seeds", ylim=(58, 105))
ax.set_title("Recorded: pre-trained, 272 labels do as much as nearly 544", loc="right")
figure("worth", alt="An arrow from 272 labels with text to the curve without, at 520 labels.")

# %% [markdown]
# **Pre-trained, 272 labels do as much as nearly twice as many from scratch, with as many steps.** Don't trust the digits: between 272 and 544 nothing was run, so what is known is that it takes a little less than 544. Pre-trained, 544 do as much as at least some 900, with no upper end: so close to the ceiling, it can't be told. Howard and Ruder (2018) count in this way. Hernandez et al. (2021) call the difference, here some 250 labels, the *effective data transferred*. The skip-bigrams are below each kind's average throughout.
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
own_name = f"272 labels, {best:,} steps, regularised, own text"
own_gain, _ = show_gain(own_name, strong_scratch, own)
claim(gain_without_more_text=own_gain)
gain, error = gain_of(own, strong_pretrained)
print(f"the other 1,904 texts on top: {gain:.1f} ± {error:.1f}, {judge(gain, error)}")

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
# **Regularised, twelve of the thirteen points are there without any other text.** The field calls that *self-pretraining*. Whether the other 1,904 statements bring anything on top, we can't tell; little was left to gain, and they hold no word and no template that the 272 lack. *Not* regularised, it is the other way round: its own texts bring 2.4 points, within the noise, and the others 14.6 more, a lead. For without regularisation a network learns its 272 texts by heart. It ends at 0.55 nats a word, and to tell which of 272 statements it is takes log 272 nats, 0.54 a word.
#
# This isn't peculiar to toy statements. Krishna et al. (2022) pre-trained ELECTRA and RoBERTa, two relatives of BERT, on nothing but the text of a task, for ten tasks, and found them about level with those that had read a general corpus, 10 to 500 times as large. Amos, Berant and Gupta (2024) did the same with Transformers for long sequences, and these caught up with architectures that had seemed far better. Where other text holds something new, it can pay all the same: Howard and Ruder's network gains from tens of thousands of unlabelled texts.
#
# ## 10h.6 What if it starts better?
#
# Then what does reading give, if not more text? Perhaps a second question about the same text, ten times in each statement: what is the next word? Or only a better start, which a network could get without reading. From scratch ours lack two things.
#
# Time: if reading saves steps, let both kinds take twice as many, 12,000.
#
# And **first weights**: ours are BERT's, with a standard deviation of 0.02. That suits its width of 768. Lesson 2 says one over the root of the width, and ours is 32, so 0.18. BERT's norms also stand *behind* what is added; with the norms first, as in GPT-2, networks are easier to train (lesson 10; Xiong et al. 2020). Which of these helps from scratch? Four seeds of each, on validation:

# %%
starts = {"as before": "", "norms first": "-norm-first", "std 0.18": "-wide"}
starts["both"] = "-norm-first-wide"
for name, end in starts.items():
    found = recorded(272, best, f"causal-mean-regularised{end}", ["validation"], seeds=4)
    print(f"from scratch, {name:12} {found.mean():.1f} % of validation")

# %% [markdown]
# Both together get the most. So give both kinds this start and 12,000 steps.
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

# %% tags=["figure", "folded"]
ax = plt.subplots(figsize=(7.2, 2.6))[1]
for row, both in enumerate(pairs.values()):
    for column, (name, found) in enumerate(zip(kinds, both, strict=True)):
        at, color = row + (-0.15, 0.15)[column], f"C{column}"
        ax.plot(found.mean(1), [at] * 12, "o", color=color, alpha=0.6, markersize=7)
        ax.plot(found.mean(), at, "|", color="black", markersize=13)
        if row == 0:
            ax.text(58, (-0.2, 0.25)[column], name, color=color, va="center", ha="right")
ax.set_yticks(range(3), [*pairs])
ax.set(xlabel="right on new statements (%), 12 seeds and their mean")
ax.set(xlim=(45, 101), ylim=(2.6, -0.6))
ax.set_title(
    "Recorded, 272 labels: with time and a better start, hardly any lead is left", loc="right"
)
figure(
    "start",
    alt="Dots from scratch: 63 to 99, then 68 to 99, then 86 to 100; pre-trained all above 94.",
)

# %% [markdown]
# **17 points, 13, 8, and now 1.8 ± 1.4: we can't tell.** From scratch, nine of the twelve are above 96 % now, and the lowest gets 86 instead of 63; pre-trained, all are above 96. So what is left of the lead, if anything, is a bit of reliability. That it has shrunk from 17 points, by 15.3 ± 4.1, is a lead. Most of what reading gave these networks, then, time and a better start give as well, without any text. The 13 points, and the 250 labels of 10h.4, had measured what the baseline lacked.
#
# Here is one, with only half of those steps. It takes a minute. (Seed 0; four such networks were recorded, and got 78 to 97 %.)

# %% tags=["nbval-ignore-output"]
better = {"std": 0.18, "norm_first": True, **strong}
beginner = learn_labels(0, steps=6000, **better)
print(f"from scratch, better start: {accuracy(beginner, test):.0f} % of the test right")
ask(beginner)

# %% [markdown]
# **Before you say that pre-training pays, ask what its baseline lacks.** Ours lacked time and a good start, and nothing in the text was new: all words and templates occur among the 272. GPT-1 and BERT read text that holds far more than the labels of any task, and nobody will get that from a better start.
#
# <details><summary>Caveats</summary>Our 272 labels were chosen evenly; with a random choice, results would vary more. Nobody with 272 labels can spare another 512 for validation (Perez, Kiela and Cho 2021). Dropout, weight decay, rate and steps were chosen for both kinds together, the better start for networks from scratch, on four seeds. If each kind gets its own dropout, 0.1 from scratch, the gain of 10h.3 is 18.9 points, where the common one gives 17.3 in the same four seeds. Of eight runs from scratch as in 10h.3, the one that validation prefers gets 97.5 % on average, at eight times the price. What 12,000 steps, or a better start, do with more labels or with the networks' own text, wasn't run. ± is a little too large, for each of the two errors includes part of the other; and of so many comparisons, some are hints by chance. Interpolating the logarithm of the errors gives nearly fifty labels fewer than 520. Texts with a reaction give the outcome away, but the 17 points don't come from them: without these, it is 16.2 ± 4.6. All this is recorded and <a href="../tests/test_recorded_runs.py">tested</a>.</details>
#
# ## What you now have

# %% [markdown]
# - **When does pre-training pay?** On our statements, only against a baseline that lacks something. With 272 labels it brings 17 points over a plain network, 13 if both are regularised, 8 if both also take 12,000 steps, and 1.8 ± 1.4, so we can't tell, if both also start with weights for their width and norms first.
# - **Where did the gain come from?** Hardly from more text: twelve of the thirteen points are there if a network reads only the statements that it has labels for. Twice the steps and a better start do nearly the same without any text.
# - Three ways to be wrong about it: to stop when the training loss is near zero, and see 5 points; to give the baseline less than it needs, and see 17; to count such points in labels, and see 250.

# %% [markdown]
# And the shortcut of lesson 10g? There a *reaction* outweighed the fact: in *it was a dry cake so people smiled*, the reaction is the opposite of what fits, and the networks followed it. Only 3 % of their answers matched what had happened, with mean pooling and 1,000 steps 13 %. The regularised networks were asked about such statements, too:

# %%
asked = [f"swapped: {form}" for form in names[10:]]
matches = dict(zip(kinds, of_both(272, best, "-regularised", what=asked), strict=True))
print({kind: tuple(found.shape) for kind, found in matches.items()}, "seeds, templates")

# %% [markdown] tags=["exercise"]
# > **Exercise 10h.3 (investigate, 20 minutes).** Is the shortcut gone? What decides which of the two a network follows, the fact or the reaction? `matches` says for each kind, seed and template how many answers match the fact, in per cent. Complete the table. For each template, is the difference a lead, and in how many of the twelve seeds does a network follow the fact in most cases?
# >
# > <details><summary>Hint</summary>Two arrays a and b of <code>matches</code> are (seeds, templates), so <code>compare_seeds(a.T, b.T)</code> compares template by template, and <code>(a > 50).sum(0)</code> counts seeds. <code>judge</code> takes one difference and one error. What do the templates with high numbers have in common?</details>
#
# |opposite reaction: answers that match the fact (%)|*it was … so*|*it was not … so*|*… because it was*|*… because … not*|
# |---|---|---|---|---|
# |from scratch|||||
# |pre-trained|||||
# |difference ± error|||||
#
# > <details><summary>What we found</summary>From scratch 53, 42, 0 and 0 %, pre-trained 88, 92, 4 and 0. The first two differences are leads, 34.8 ± 9.3 and 50.1 ± 9.2, the third is a hint, 4.0 ± 1.9; about the last, 0.1 ± 0.1, we can't tell (errors over seeds). Where the fact comes first, 6 and 3 of the twelve networks from scratch follow it in most cases, and all twelve of the pre-trained. Where the reaction comes first, no network of either kind does. So half of the shortcut is gone: pre-trained, the networks go by whatever comes first. (Or by <em>so</em> and <em>because</em>: our templates don't tell these apart.) That needn't mean that they can't take it back. Ask <code>reader</code> position by position, with <code>reader.head(reader.encoder(*encode(text)))</code>: its head, on the last token's vector alone, would match the fact in 45, 8, 47 and 17 %, instead of 86, 91, 2 and 0. Perhaps the mean is to blame: it also counts all positions that have seen only the first half, and those outvote the rest. (One network, and a head that was trained on means. Those of lesson 10g have 1,000 steps and no dropout.)</details>

# %% [markdown]
# **What still fails.** *Nobody found the soup burnt today*: of such statements the networks from scratch got 33 % at the beginning, 47 regularised, 69 with 12,000 steps, and 87 with a better start, too; the pre-trained, 96. But in exercise 10h.3 half of the shortcut is still there. Is that the pooling, the reading from left to right, or that no label ever said whether to follow the fact or the reaction? How would you tell these apart?

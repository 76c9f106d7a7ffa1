# %% [markdown]
# # 10h · When does pre-training pay?
#
# *Nobody found the soup burnt today.* Did things turn out well? They did. But the networks of lesson 10g, trained *from scratch* on 272 labels, get less than a quarter of such statements right; a coin would get half. More labels would help, but somebody has to write each of them. Text without labels is cheap. Can a network get more out of the same labels if it reads first?
#
# **Afterwards you can** pre-train a network, start another one from its weights, and judge what that gained: over which baseline, with what certainty, and what it is worth in labels.
#
# **Before**: lessons 10c (fine-tuning, seeds, leads), 10f (errors over templates, the bootstrap) and 10g (what an accuracy is made of); 2b explains regularisation, 9 dropout, 10d how the next words are learned.
#
# **Runs in** {runs_in}. **Study time** {study}.
#
# **Sources**: reading first, Dai and Le (2015), Howard and Ruder (2018), Radford et al. (2018) and Devlin et al. (2019); reading the task's own text, Gururangan et al. (2020), and nothing else, Krishna et al. (2022) and Amos, Berant and Gupta (2024); training from scratch that catches up, He, Girshick and Dollár (2019); measuring transfer in data, Hernandez et al. (2021); too few steps, Zhang et al. (2021); why it helps, Erhan et al. (2010); unstable fine-tuning, Dodge et al. (2020) and Mosbach, Andriushchenko and Klakow (2021); pre-norm, Xiong et al. (2020); self-training, Zoph et al. (2020); model selection with few labels, Perez, Kiela and Cho (2021). All statements here were written for this course.

# %% tags=["setup", "machine"]
import math

import matplotlib.pyplot as plt
import torch
from torch import nn
from torch.nn import functional as F

from coursekit.data.statements import number_words, statements
from coursekit.exercises import answer_or
from coursekit.exercises import labels as exercises
from coursekit.notebook import claim, compare_guess, figure, read_results, setup
from coursekit.windows.masking import pad_texts

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
    return Encoder(sizes, rule=attend_past, **options)  # causal: each token sees only the past


def train_it(model, batches, loss, steps, decay):
    options = {"steps": steps, "schedule": warm_up_cosine(steps), "clip": 1.0}
    fit(model, adamw(model, 5e-3, weight_decay=decay), batches, loss=loss, **options)
    return model.eval()


# %% [markdown]
# The other statements have no label, but they can be read. To **pre-train** a network on all 2,176 means to train it to predict each next word, as a GPT does (lesson 10d). Such a network is an encoder with a head that returns a logit for each word, after a layer of its own, `transform`. That is the library's `MaskedTokenModel`: in lesson 10 it learned masked words; with the causal mask of `attend_past` and another loss, it learns next ones. (Our text is the task's own, which is a favourable case for pre-training.)

# %% [markdown] tags=["exercise"]
# > **Exercise 10h.1 (build, 15 minutes).** What is minimised while a network reads? Write `our_reading_loss(logits, tokens)`. `tokens` are padded texts, (B, T): 1 is [CLS], words are 4 and above, and 0 is padding, at the end. `logits`, (B, T, V), say at each position what comes *next*. Return the mean cross-entropy in nats over all words of the batch, whichever text they are from. After the last word of a text, nothing is to be predicted.
# >
# > <details><summary>Hint 1</summary>The word at position t + 1 is predicted at t. So leave out one position of the logits, and one of the tokens.</details>
# > <details><summary>Hint 2</summary><code>F.cross_entropy</code> wants (N, V) and (N,). Flatten both, or pick those that you need by a mask. Where a target is the <code>ignore_index</code>, it is left out of the sum and of the count.</details>


# %% tags=["stub"]
def our_reading_loss(logits, tokens): ...  # -> a tensor without dimensions


# %% tags=["check"]
exercises.check_our_reading_loss(our_reading_loss)


# %% tags=["solution"]
def our_reading_loss(logits, tokens):
    before, after = logits[:, :-1], tokens[:, 1:]
    return F.cross_entropy(before.flatten(0, 1), after.flatten(), ignore_index=0)


# %%
word_loss = answer_or(our_reading_loss, exercises.reading_loss)  # yours, once it is there


def draw_texts(tokens, g):
    while True:
        x = tokens[torch.randint(len(tokens), (32,), generator=g)]
        yield (x, x > 0), x


def pretrain(seed, steps=500, part=train, dropout=0.0, decay=0.01, **options):
    torch.manual_seed(seed)
    model = MaskedTokenModel(new_encoder(dropout, **options)).to(device)
    (tokens, _), _ = read(part)
    batches = draw_texts(tokens, torch.Generator().manual_seed(seed))
    return train_it(model, batches, word_loss, steps, decay)


# %% [markdown]
# The classifier has the same encoder and a different head, with two logits: bad or good.


# %%
class OurClassifier(nn.Module):
    def __init__(self, encoder):
        super().__init__()
        self.encoder, self.head = encoder, nn.Linear(32, 2)
        self.drop = nn.Dropout(encoder.config.dropout)

    def forward(self, tokens, present):
        vectors = pool(self.encoder(tokens, present), present, "mean")
        return self.head(self.drop(vectors))


# %% tags=["figure", "folded"]
from coursekit.notebook.diagram import Diagram

d = Diagram()
both = ["words", "embedding", "blocks"]
models = {"1. it reads": [*both, "transform, norm", "head, tied: 76 rows", "next word"]}
models["2. it learns labels"] = [*both, "mean pooling", "head: 2 rows", "good or bad"]
for column, (name, parts) in enumerate(models.items()):
    for k, part in enumerate(parts):
        kind = "data" if k in (0, 5) else "operation" if "mean" in part else "parameters"
        d.box(f"{column}{k}", 2 * column, k, kind=kind, text=part)
        if k:
            d.arrow(f"{column}{k - 1}", f"{column}{k}")
    d.group(name, *(f"{column}{k}" for k in range(6)))
d.arrow("01", "11", "copied")
d.arrow("02", "12", "copied")
d.draw()
figure("carried-over", alt="Two stacks: of a language model only the encoder goes to a classifier.")

# %% [markdown]
# Which weights can it start from? Ask PyTorch to load all of them. With `strict=False` it forgives names that are missing on either side. It doesn't forgive mismatched shapes (though it has copied the rest by then).

# %%
language, classifier = MaskedTokenModel(new_encoder(0.0)), OurClassifier(new_encoder(0.0))
try:
    classifier.load_state_dict(language.state_dict(), strict=False)
except RuntimeError as problem:
    print(problem)

# %% [markdown] tags=["exercise"]
# > **Exercise 10h.2 (warm-up, 5 minutes).** Both models call their head `head`, but one has a row for each word, the other two rows. Write `our_matching(mine, theirs)`. Both are state dicts, that is, tensors by name. Return a dict of those tensors of `theirs` that `mine` also has, under the same name *and* in the same shape.
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
taken = matching(mine, dict(theirs))
print(f"{len(taken)} of {len(mine)} tensors fit; not", *sorted(mine.keys() - taken.keys()))
print("left behind:", *sorted(theirs.keys() - taken.keys()))


# %% [markdown]
# The whole encoder fits. The old head's layers stay behind, `transform` and `norm` among them. Its `head.weight` does come along, as `encoder.embedding.weight`, for the two are *tied*: one tensor with two names. The new head begins at random. (Where two models have a whole part in common, `classifier.encoder.load_state_dict(language.encoder.state_dict())` does the same, and complains if anything is missing. Matching doesn't, so always print what stayed behind.) Now a network can learn the labels starting from pre-trained weights:


# %%
def learn_labels(seed, start=None, steps=1000, part=few, dropout=0.0, decay=0.01, **options):
    torch.manual_seed(seed)
    model = OurClassifier(new_encoder(dropout, **options)).to(device)
    if start is not None:
        model.load_state_dict(matching(model.state_dict(), start.state_dict()), strict=False)
    (tokens, present), y = read(part)
    g = torch.Generator().manual_seed(seed)
    picks = (torch.randint(len(y), (32,), generator=g) for _ in range(steps))
    batches = (((tokens[i], present[i]), y[i]) for i in picks)
    return train_it(model, batches, F.cross_entropy, steps, decay)


# %% [markdown]
# Both kinds of network take 1,000 steps. From scratch, all of them use labels; pre-trained, 500 use text and 500 use labels. Train one of each, and test them on a few statements. You can try statements of your own, with words of the training statements.

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
# Other seeds would give another gain (lesson 10c), and so would other templates (10f). These are two sources of chance, so their variances add: ± is the root of the sum of the two squared standard errors. A gain of at least two of these errors is a hint, of three a lead.

# %%
from coursekit.evaluate.seeds import compare_seeds_and_groups, judge

forms = {one.template for one in test}
names = sorted(forms, key=lambda form: ("{r}" in form, " but " in form, form))  # reactions last
kinds = {"from scratch": "causal-mean", "pre-trained": "causal-pre-trained-mean"}


def recorded(run, end="", what=names, seeds=12):  # of each kind (seeds, what): per cent or nats
    files = [f"labels-{run}-{kind}{end}" for kind in kinds.values()]
    return [read_results(file, what, seeds=seeds) for file in files]


def show_gain(name, before, after):
    gain, error = compare_seeds_and_groups(after, before)
    means = f"{before.mean():.1f} → {after.mean():.1f} % right"
    print(f"{name}: {means}, gain {gain:z.1f} ± {error:.1f}, {judge(gain, error)}")
    return gain, error


# %%
scratch, pretrained = recorded("272-1000")
gain, error = show_gain("272 labels, 1,000 steps", scratch, pretrained)
claim(gain_with_few_labels=gain, gain_in_standard_errors=gain / error)

# %% [markdown]
# Five points, but that is less than two standard errors: we can't tell. GPT-1 and BERT owe their success to reading first, though they read far more text, and of other kinds. Did we do something wrong?
#
# ## 10h.2 Let them finish
#
# Have these networks finished learning? Look at their loss on the labels.

# %%
for name, loss in zip(kinds, recorded("272-1000", what=["train"]), strict=True):
    print(f"loss on the 272 labels, {name}: {loss.mean():.4f} nats")

# %% [markdown]
# Near zero. By that measure there is nothing left to learn. Give them more steps all the same, a third of them with text (as in lesson 10f) rather than half. How many? Let validation choose among four lengths. (Its 512 statements have labels, too. Anyone with only 272 couldn't spare so many: Perez, Kiela and Cho 2021.)

# %%
lengths = [1000, 3000, 6000, 12000]
over_time = {steps: recorded(f"272-{steps}", what=["validation"]) for steps in lengths}
best = max(lengths, key=lambda steps: torch.stack(over_time[steps]).mean())
print(f"highest mean of both kinds on validation: {best:,} steps")

# %% [markdown]
# **Predict.** After 1,000 steps the pre-trained networks were ahead by 5.1 points on the test. And after 6,000?

# %% tags=["predict"]
guess = None  # points

# %%
long_scratch, long_pretrained = recorded(f"272-{best}")
compare_guess(guess, (long_pretrained.mean() - long_scratch.mean()).item())
long_gain, _ = show_gain(f"272 labels, {best:,} steps", long_scratch, long_pretrained)
claim(gain_after_more_steps=long_gain)
for part, steps in {"text": 2500, "labels": 4500}.items():  # 2,000 and 500, and 500 and 4,000
    right = read_results(f"labels-272-{steps}-{kinds['pre-trained']}", names, seeds=12).mean()
    print(f"pre-trained, more steps only on {part}: {right:.1f} %, instead of 74.2")

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
ax.set(
    xlabel="steps; pre-trained, a third with text (of 1,000 half)",
    ylabel="right on validation (%)\n± error over seeds",
)
arrow = {"arrowprops": {"arrowstyle": "->", "color": "0.3"}, "fontsize": 9}
ax.annotate("both training\nlosses near zero", (1000, 81.7), (1000, 85.5), **arrow)
ax.set_title("Recorded, 272 labels: pre-trained networks need more than 1,000 steps", loc="right")
figure(
    "steps",
    alt="Pre-trained, validation rises from 80 to 91 at 6,000 steps; from scratch it hardly does.",
)

# %% [markdown]
# **17 points, a lead.** Five thousand more steps add little from scratch, but fifteen points after pre-training. Both stages had been too short: lengthening either one alone gains about ten points. So **a training loss near zero doesn't prove that a longer run, with its own schedule, would do no better.** Zhang et al. (2021) found the usual number of steps too small for BERT, too. (After 12,000 the pre-trained ones do worse again on validation, within the noise. If each kind takes the number of steps that is best for it, 12,000 from scratch, the gain is 15.7 ± 4.6, still a lead.)
#
# ## 10h.3 Give the baseline what it needs
#
# Seventeen points, over what? Over networks without dropout, trained on 272 labels that they have memorised. If somebody showed you such a comparison, you would ask what that *baseline* lacks. Four suspects:
#
# - **Regularisation**: dropout, and ten times the weight decay.
# - **Time**: 12,000 steps.
# - **Initialisation**: our encoders start as BERT does, with weights of a standard deviation of 0.02. For a width of 768 the rule of lesson 2, one over the root, gives 0.036, which is near. For our width of 32 it gives 0.18.
# - **Normalisation**: with *pre-norm*, networks are easier to train than with BERT's *post-norm* (lesson 10; Xiong et al. 2020).
#
# Again, let validation decide. Each row differs in one thing from that of dropout 0.2, the first and the last in two; learning rates are there, too.

# %%
settings = {  # steps, and which recorded runs
    "not regularised": (6000, ""),
    "dropout 0.1": (6000, "-regularised-less"),
    "dropout 0.2": (6000, "-regularised"),  # lr 0.005, post-norm, std 0.02
    "dropout 0.4": (6000, "-regularised-more"),
    "lr 0.002": (6000, "-regularised-slow"),
    "lr 0.01": (6000, "-regularised-fast"),
    "12,000 steps": (12000, "-regularised"),
    "pre-norm": (6000, "-regularised-norm-first"),
    "std 0.18": (6000, "-regularised-wide"),
    "pre-norm, std 0.18": (6000, "-regularised-norm-first-wide"),
}
print("four seeds, % of validation: from scratch, and pre-trained if recorded")
for name, (steps, end) in settings.items():
    some = [*kinds.values()][: 1 if "norm" in name or "std" in name else 2]
    files = [f"labels-272-{steps}-{kind}{end}" for kind in some]
    found = [read_results(file, ["validation"], seeds=4) for file in files]
    print(f"{name:18}", *(f" {one.mean():.1f} ± {one.std() / 2:.1f}" for one in found))

# %% [markdown]
# Nearly all of this is within the noise, but take what scores highest: a dropout of 0.2, by the mean of both kinds, 12,000 steps, and both changes of the start. Add them one after the other, for both kinds; twelve of each were recorded.
#
# **Predict.** The gain was 17 points. And with all of these?

# %% tags=["predict"]
guess = None  # points

# %%
pairs = {
    "1,000 steps": (scratch, pretrained),
    "6,000 steps": (long_scratch, long_pretrained),
    "+ regularised": recorded("272-6000", "-regularised"),
    "+ 12,000 steps": recorded("272-12000", "-regularised"),
    "+ std 0.18, pre-norm": recorded("272-12000", "-regularised-norm-first-wide"),
}
before, after = pairs["+ std 0.18, pre-norm"]
compare_guess(guess, (after.mean() - before.mean()).item())
strong, patient, left = [show_gain(name, *pairs[name])[0] for name in [*pairs][2:]]
claim(gain_with_regularisation=strong, gain_after_12000_steps=patient)
claim(gain_after_a_better_start=left)
nobody = next(k for k, form in enumerate(names) if form.startswith("nobody"))
right = [f"{before[:, nobody].mean():.0f}" for before, _ in pairs.values()]
print("from scratch, of statements with nobody:", *right, "% right")
for k, name in enumerate(kinds):
    print(f"{name}, above 95 %:", *(int((both[k].mean(1) > 95).sum()) for both in pairs.values()))

# %% [markdown]
# Which of these steps are more than chance? A gain is a difference, and two gains differ by a difference of differences. And near 100 %, points shrink by themselves; *log-odds*, the logarithm of right to wrong answers, have no such ceiling.


# %%
def log_odds(found):
    return torch.logit(found.mean() / 100).item()


rows = [after - before for before, after in list(pairs.values())[1:]]
for i, j in ((0, 1), (1, 2), (2, 3), (0, 3)):
    less, error = compare_seeds_and_groups(rows[i], rows[j])
    means = f"{rows[i].mean():4.1f} → {rows[j].mean():4.1f}"
    print(f"{means}: {less:4.1f} ± {error:.1f} less, {judge(less, error)}")
in_log_odds = [log_odds(after) - log_odds(before) for before, after in pairs.values()]
print("gains in log-odds:", *(f"{gain:.1f}" for gain in in_log_odds))

# %% tags=["figure", "folded"]
ax, told = plt.subplots(figsize=(7.2, 3.9))[1], []
for row, both in enumerate(pairs.values()):
    for column, (name, found) in enumerate(zip(kinds, both, strict=True)):
        at, color = row + (-0.17, 0.17)[column], f"C{column}"
        ax.plot(found.mean(1), [at] * 12, "o", color=color, alpha=0.6, markersize=7)
        ax.plot(found.mean(), at, "|", color="black", markersize=13)
        if row == 0:
            ax.text(99, at, name, color=color, va="center", ha="right")
    gain, error = compare_seeds_and_groups(both[1], both[0])
    wrong = " → ".join(f"{100 - found.mean():.0f}" for found in both)
    told.append(f"gain {gain:.1f} ± {error:.1f}\n{wrong} % wrong")
ax.secondary_yaxis("right").set_yticks(range(5), told)
ax.set_yticks(range(5), [*pairs])
ax.set(xlabel="right on new statements (%), 12 seeds and their mean")
ax.set(xlim=(60, 101), ylim=(4.6, -0.6))
ax.set_title("Recorded, 272 labels: the baseline catches up, and 1.8 points are left", loc="right")
figure("start", alt="Five rows of dots: the gain is 5 points, then 17, 13, 8, and at last 1.8.")

# %% [markdown]
# **17 points, then 13, 8, and 1.8 ± 1.4: we can't tell.** No single step can be told from chance, but all together are a lead, in points. (In log-odds, the gain rises with regularisation, from 1.2 to 2.0, which may be chance, and only then falls, by 1.3 ± 0.5, a hint.) So in points, regularisation, time, a larger initialisation and pre-norm do most of what reading did, without any text. *Nobody found the soup burnt* goes from a third to 87 %. He, Girshick and Dollár (2019) found this in vision: trained for longer, and with suitable normalisation, networks from scratch catch up, *unless there is very little to learn from.* (We stopped strengthening our baseline when the gap on the test was gone, which is a choice, too, and made on the test.)
#
# What reading brings early on is *reliability*. In the third row, training from scratch is a lottery: three of twelve are above 95 %, another gets 63. Of those that read, eleven are above 95: the first run works. Dai and Le (2015) and Erhan et al. (2010) found that, too. (There is another way: train eight from scratch, and keep the one that validation prefers. It gets some 97 %, at eight times the price, and the choice takes labels, too.)
#
# But *why*? Train one that reads first, with dropout. What has it learned then, without a single label?

# %% tags=["nbval-ignore-output"]
language = pretrain(0, steps=2000, dropout=0.2, decay=0.1)
words = {number: word for word, number in ids.items()}
(seen, _), _ = read(train)
bigrams = torch.full((size, size), 0.1)  # smoothed counts (lesson 1)
bigrams.index_put_((seen[:, :-1], seen[:, 1:]), torch.tensor(1.0), accumulate=True)
bigrams[:, :4] = 1e-9  # no words
(tokens, present), _ = read(validation)
with torch.no_grad():
    found = word_loss(language(tokens, present), tokens)
    by_counts = word_loss(bigrams.log()[tokens], tokens)
    print(f"new texts: {found:.2f} nats a word; bigrams {by_counts:.2f}")
    for text in ("people smiled because the soup was", "people grumbled because the soup was"):
        found = language(*encode(text))[0, len(text.split())].softmax(-1).topk(6)
        likely = [f"{words[int(k)]} {p:.2f}" for p, k in zip(*found, strict=True)]
        print(f"{text}: {', '.join(likely)}")

# %% [markdown]
# It predicts new texts better than bigrams do, and knows what a soup can be. The text also says which of these make people smile, but this network hasn't learned it. In this example, it starts out knowing which words can stand where, not which are good. Why that helps isn't settled: to Erhan et al. (2010) pre-training is a regulariser, which starts a network where solutions that generalise are near. Now the labels.

# %% tags=["nbval-ignore-output"]
reader = learn_labels(0, language, steps=4000, dropout=0.2, decay=0.1)
print(f"pre-trained, regularised: {accuracy(reader, test):.0f} % of the test right")
ask(reader)
claim(reader_right=accuracy(reader, test))

# %% [markdown]
# ## 10h.4 With half the labels
#
# Very little to learn from: let's see. Take away labels, but leave the text. Of each template four pairs have labels, a bad outcome and a good one; keep three pairs, two, or one. Both kinds get all that helped above. Such a network from scratch is `learn_labels(0, part=keep(2), steps=12000, dropout=0.2, decay=0.1, std=0.18, norm_first=True)`.


# %%
def keep(n):  # n of each template's four pairs, from different domains in turn
    pairs = [few[i : i + 2] for i in range(0, len(few), 2)]
    kept = [pair for i, pair in enumerate(pairs) if (i - i // 4) % 4 in (0, 2, 1, 3)[:n]]
    return [one for pair in kept for one in pair]


parts = {len(part): part for part in map(keep, (1, 2, 3, 4))}
print("labels:", *parts)

# %% [markdown]
# **Predict.** With 272 labels the gain was 1.8 points. And with 136?

# %% tags=["predict"]
guess = None  # points

# %%
numbers, end = [*parts], "-regularised-norm-first-wide"
curve = [recorded(f"{n}-12000", end) for n in numbers]
compare_guess(guess, (curve[1][1].mean() - curve[1][0].mean()).item())
gains = {n: show_gain(f"{n} labels", *both) for n, both in zip(numbers, curve, strict=True)}
others = recorded("136-12000-elsewhere", end)
show_gain("136 other labels", *others)
claim(gain_with_half_the_labels=gains[136][0], gain_with_three_quarters=gains[204][0])
claim(gain_with_a_quarter=gains[68][0])

# %% [markdown]
# **With 136 labels, 15 points, a lead.** It isn't only luck with these labels, because the 136 that were left out give the same. Again it is a lottery, but now only networks that read win it: they get 66 to 95 %, those from scratch 61 to 76, though all of them fit their labels. With 204, ten of twelve that read get more than 95 %, and one from scratch. (Fine-tuning BERT depends on the seed, too: Dodge et al. 2020; Mosbach, Andriushchenko and Klakow 2021.)
#
# But is 15 more than 1.8? One clear gain and one unclear gain don't prove it. Compare the gains themselves.

# %%
with_all = curve[3][1] - curve[3][0]
some = {"136 labels": curve[1], "204 labels": curve[2]}
for name, (before, after) in some.items():
    more, error = compare_seeds_and_groups(after - before, with_all)
    print(f"gain with {name} against 272: {more:.1f} ± {error:.1f} more, {judge(more, error)}")
in_log_odds = [log_odds(after) - log_odds(before) for before, after in curve]
print("gains in log-odds:", *(f"{gain:.1f}" for gain in in_log_odds))
quiet = [f"{one[:, :10].mean():.0f}" for one in curve[0]]  # the first ten tell no reaction
print("68 labels, where no one reacts:", *quiet, "% right")

# %% [markdown]
# **In points, with fewer labels reading brings more: two hints.** In log-odds we can't tell with 136, and with 204 it is 1.0 ± 0.5 more, a hint. With 272 no more than 3.6 points could be gained, so don't conclude that reading is useless there.
#
# And is *this* baseline as good as it can be? All settings were chosen with 272 labels. With 136, three others were recorded from scratch, and none for those that read.

# %%
run = f"labels-136-12000-causal-mean{end}"
print("from scratch on validation, dropout 0.2, 0.1, 0.4, and 0.2 with lr 0.002:")
for name in ("", "-less", "-more", "-slow"):
    found = read_results(f"{run}{name}", ["validation"], seeds=4)
    print(f"  {found.mean():.1f} ± {found.std() / math.sqrt(len(found)):.1f}", end="")
print()
tuned = read_results(f"{run}-less", names, seeds=12)
over_tuned, _ = show_gain("136 labels, dropout 0.1 from scratch", tuned, curve[1][1])
claim(gain_over_a_tuned_baseline=over_tuned)

# %% [markdown]
# Validation prefers a dropout of 0.1, within the noise. Over twelve networks with that, the gain is 13.9 points, still a lead.
#
# With 68 labels, this recipe shows no gain: where no one reacts, neither kind is better than a coin. So we see a gain only *in between*. Elsewhere it may be different: Howard and Ruder (2018), with far more text, gain most where labels are fewest.
#
# How many *labels* would do the same? Read the curve from scratch sideways: start at what 136 labels give with pre-training, and go right until you meet it.

# %% [markdown] tags=["exercise"]
# > **Exercise 10h.3 (build, 15 minutes).** Write `our_labels_for(target, labels, scores)`: how many labels a curve needs to reach `target` for the first time. `labels` are increasing numbers, `scores` what is reached with each, not always more than with the one before. From one point to the next the curve is a straight line *over the logarithm* of the number. If the first number is enough, return it; if none is, `math.inf`. For example, to reach 80 on the curve with 70 for 100 labels and 90 for 400 takes 200 labels: halfway up, and halfway from log 100 to log 400.
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
# How certain is that? Resample the seeds of each point and the fourteen templates, with replacement, four thousand times: the bootstrap of lesson 10f. The library does it.

# %%
from coursekit.evaluate.curve import bootstrap_labels, labels_for

in_labels = answer_or(our_labels_for, labels_for)  # the library's until yours is there
without = [before for before, _ in curve]
for name, found in {"136 others": others[1], "136 labels": curve[1][1]}.items():
    target, scores = found.mean().item(), [one.mean().item() for one in without]
    worth = in_labels(target, numbers, scores)
    low, high = bootstrap_labels(found, numbers, without, draws=4000, seed=42)
    print(f"{name} do as much as {worth:.0f} from scratch (95 %: {low:.0f} to {high:.0f})")
claim(worth_in_labels=worth)

# %% [markdown]
# And a baseline without a network, as always: the skip-bigrams of lesson 10g, their `decay` chosen on validation.

# %%
from coursekit.models.bag import choose_bag


def known(part):  # tokens and labels
    (tokens, _), labels = read(part)
    return tokens, labels


options = {"vocab_size": size, "pairs": "far", "lowest": 4, "decays": (1e-8, 1e-6, 1e-4, 1e-2, 1.0)}
by_pairs = []
for part in parts.values():
    bag = choose_bag(known(part), known(validation), **options)
    by_pairs.append(accuracy(lambda tokens, _, bag=bag: bag(tokens), test))
print("skip-bigrams:", *(f"{right:.1f}" for right in by_pairs))

# %% tags=["figure", "folded"]
ax = plt.subplots(figsize=(7.2, 4.2))[1]
for column, (name, where) in enumerate(zip(kinds, ((214, 76), (98, 80)), strict=True)):
    some = [both[column].mean(1) for both in curve]
    ax.plot(numbers, [one.mean() for one in some], color=f"C{column}")
    for n, found in zip(numbers, some, strict=True):
        at = n * (1, 1.04)[column]
        ax.plot([at] * len(found), found, "o", color=f"C{column}", alpha=0.5, markersize=6)
    ax.text(*where, name, color=f"C{column}", fontsize=10)
ax.plot(numbers, by_pairs, "x:", color="black")
ax.text(215, 60, "skip-bigrams", fontsize=10)
ax.axhline(50, color="0.6", linewidth=1)
ax.text(66, 51, "a coin", fontsize=9)
arrow = {"arrowstyle": "->", "color": "black", "linewidth": 2}
ax.annotate("", (worth, target), (136, target), arrowprops=arrow)
ax.plot([worth, worth], [46, target], color="0.5", linewidth=1)
ax.errorbar(worth, 46, xerr=[[worth - low], [high - worth]], fmt="|k", capsize=3)
ax.text(high * 1.03, 46, "95 %\ninterval", va="center", fontsize=9)
ax.set_xscale("log")
ax.set_xticks(numbers, numbers)
ax.minorticks_off()
ax.set(xlabel="labels", ylabel="right on new statements (%)", xlim=(62, 300), ylim=(43, 102))
ax.set_title("Recorded: after reading, 136 labels do the work of 186 to 198", loc="right")
figure("worth", alt="With 136 and 204 labels reading is ahead; 136 do as much as 198 without.")

# %% [markdown]
# **A pre-trained network does as well with 136 labels as one from scratch with some 190**, 198 or 186. And with 204, it is about level with one that has 272 from scratch: 96.5 % and 96.4. Howard and Ruder (2018) count in this way (*label efficiency*). Hernandez et al. (2021) call the difference, here 50 to 62 labels, the *effective data transferred*. (The intervals cover seeds and templates only; 82.5 % is the mean of a lottery; and 512 labels more went into validation.) The skip-bigrams, which need neither text nor a seed, are ahead of both kinds with 68 labels, though within the noise, and behind with more.
#
# So ask two things before you say that pre-training pays: what does the baseline lack, and how many labels are there? To learn from labels and from text without any is *semi-supervised learning*. There are other ways: in *self-training*, a network labels the text, and trains on those labels; Zoph et al. (2020) found in vision that this still helped where a strong baseline and many labels left pre-training nothing to add. We didn't run it.
#
# <details><summary>Caveats</summary>Dropout, rate and steps were chosen for both kinds together, the initialisation for the networks from scratch only, and one weight decay was tried. How many steps go to text, and a rate of its own for the labels, weren't tuned, so reading might bring more. If each kind gets its own dropout, 0.1 from scratch, the gain of the regularised networks is 18.9 points, where the common one gives 17.3 with the same four seeds. With 272 labels each template has them in four domains, with 204 in three, and so on. Our labels were chosen evenly; with a random choice, results would vary more. ± overstates the error, since each of its two parts includes some of the other; it doesn't cover other training templates, or other settings. With this many comparisons, some will be hints by chance. Our statements have 72 words; GPT-1 and BERT read far more text. All this is recorded and <a href="../tests/test_recorded_runs.py">tested</a>.</details>
#
# ## What you now have

# %% [markdown]
# - **When does pre-training pay?** We can see it with 136 labels: 15 points over the same baseline, and 14 over a tuned one, leads; with 204, 13 points are a hint. With 272, it seemed to bring 17 points, but with regularisation, more steps, a larger initialisation and pre-norm, 1.8 ± 1.4 were left: there the test can't tell. (In log-odds, the gains with 272 and with 136 are alike.) With 68 we saw none.
# - A training loss near zero doesn't mean that a network has finished: after 1,000 steps the gain was 5 points, and we couldn't tell.
# - A gain can be counted in labels: 136 do as much after reading as some 190 from scratch.

# %% [markdown] tags=["exercise"]
# > **Exercise 10h.4 (investigate, 15 minutes).** *Which text did it?* With 136 labels, two more kinds of pre-trained networks were recorded, twelve of each: `labelled` read only the 136 statements that they have labels for, `quiet` only the 1,536 without a reaction, for a reaction tells the outcome (lesson 10g). Guess the order first. Then compare each with `curve[1][0]`, from scratch, and with `curve[1][1]`, which read everything. Complete the table. Is it reading as such that helps, or other text? And must that text tell outcomes?
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

# %% [markdown]
# **What still fails.** With 136 labels, even of plain statements such as *today it was a tasty cake* networks get 44 % right from scratch, and 62 if they read first (with 204, 64 and 91). And with 272, networks still take a shortcut. Exchange the reactions, and those in the third row that read follow the cake in *it was a dry cake so people smiled*, in some 90 % of cases, but in *people smiled because it was a dry cake* only in 4. How would you make them look at both?

# %% [markdown]
# # 10h · When does pre-training pay?
#
# *Nobody found the soup burnt today.* Did things turn out well? They did. But the networks of lesson 10g, trained *from scratch* on 272 labels, get fewer than a quarter of such statements right; a coin would get half. More labels would help, but somebody has to write each of them. Text without labels is cheap. Can a network get more out of the same labels if it reads first?
#
# **Afterwards you can** pre-train a network, start another one from its weights, and judge what that gained: over which baseline, and with what certainty.
#
# **Before**: lessons 10c (fine-tuning, seeds, leads), 10f (errors over templates, the bootstrap) and 10g (what an accuracy is made of); 2b explains regularisation, 9 dropout, 10d how the next words are learned.
#
# **Runs in** {runs_in}. **Study time** {study}.
#
# **Sources**: smoothed counts, Kneser and Ney (1995); reading first, Dai and Le (2015), Howard and Ruder (2018), Radford et al. (2018) and Devlin et al. (2019); reading the task's own text, Gururangan et al. (2020); training from scratch that catches up, He, Girshick and Dollár (2019); too few steps, Zhang et al. (2021); why it helps, Erhan et al. (2010); pre-norm, Xiong et al. (2020); model selection with few labels, Perez, Kiela and Cho (2021). All statements here were written for this course.

# %% tags=["setup", "machine"]
import matplotlib.pyplot as plt
import torch
from torch import nn
from torch.nn import functional as F

from coursekit.data.statements import DOMAINS, REACTIONS, number_words, statements
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
def encode(*texts):  # tokens and a mask of the real ones, (N, T); 1 is [CLS], 0 padding
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
# The other statements have no label, but they can be read. To **pre-train** a network on all 2,176 means to train it to predict each next word, as a GPT does (lesson 10d). Such a network is an encoder with a head that returns a logit for each word. That is the library's `MaskedTokenModel`: in lesson 10 it learned masked words; with the causal mask of `attend_past` and another loss, it learns next ones. Its head has two parts. First comes a layer of its own, `transform`, with a normalisation. Then each vector is multiplied by the embedding of each word, which gives the logits. So the head's matrix and the embedding are *tied*: one tensor with two names. (Our text is the task's own, which is a favourable case for pre-training: Gururangan et al. 2020.)

# %% [markdown] tags=["exercise"]
# > **Exercise 10h.1 (build, 10 minutes).** What is minimised while a network reads? Write `our_reading_loss(logits, tokens)`. `tokens` are padded texts, (B, T): 1 is [CLS], words are 4 and above, and 0 is padding, at the end. `logits`, (B, T, V), say at each position what comes *next*. Return the mean cross-entropy in nats over all words of the batch, regardless of which text they come from. After the last word of a text, nothing is to be predicted.
# >
# > <details><summary>Hint 1</summary>The word at position t + 1 is predicted at t. So leave out one position of the logits, and one of the tokens.</details>
# > <details><summary>Hint 2</summary><code>F.cross_entropy</code> wants (N, V) and (N,). Flatten both, or pick those that you need by a mask.</details>


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
models = {"1. it reads": [*both, "transform, norm", "head = embedding", "next word"]}
models["2. it learns labels"] = [*both, "mean pooling", "head, new: 2 rows", "good or bad"]
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
# The whole encoder fits. What stays behind is the old head, and the new one begins at random. Matching doesn't complain about anything that is missing, so always print what stayed behind. Now a network can learn the labels, starting from random weights or from pre-trained ones:


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
# The first two turned out well, the third didn't. These two, of seed 6, are about average, but two networks say little. So twelve of each kind were recorded, with seeds 0 to 11.
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


def show_gain(name, old, new):
    gain, error = compare_seeds_and_groups(new, old)
    means = f"{old.mean():.1f} → {new.mean():.1f} % right"
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
# Near zero. By that measure there is nothing left to learn. But GPT-1 and BERT read for long. So give ours more steps anyway, a third of them with text (as in lesson 10f) rather than half. How many? Let validation choose among four lengths. (Its 512 statements have labels, too. Anyone with only 272 couldn't spare so many: Perez, Kiela and Cho 2021.)

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
    xlabel="steps; pre-trained, one third on text (half, at 1,000)",
    ylabel="right on validation (%)\n± error over seeds",
)
ax.text(950, 87.2, "at 1,000, both training\nlosses are near zero", fontsize=9)
ax.set_title("Recorded, 272 labels: pre-trained networks need more than 1,000 steps", loc="right")
figure(
    "steps",
    alt="Pre-trained, validation rises from 80 to 91 at 6,000 steps; from scratch it hardly does.",
)

# %% [markdown]
# **17 points, a lead.** Five thousand more steps add little from scratch, but fifteen points after pre-training. After 12,000, it does worse again, within the noise. Which of its two stages had been too short? In two more recorded kinds only one stage is longer. And what if each kind gets the length that validation prefers for it?

# %%
stages = {"500 text, 500 labels": 1000, "2,000 text, 500 labels": 2500}
stages |= {"500 text, 4,000 labels": 4500, "2,000 text, 4,000 labels": 6000}
for stage, steps in stages.items():
    found = read_results(f"labels-272-{steps}-{kinds['pre-trained']}", names, seeds=12)
    more, error = compare_seeds_and_groups(found, pretrained)
    print(f"{stage:24} {found.mean():.1f} % right", end="")
    print(f", {more:.1f} ± {error:.1f} more, {judge(more, error)}" if steps > 1000 else "")
own_best = "12,000 steps from scratch, 6,000 pre-trained"
_ = show_gain(own_best, recorded("272-12000")[0], long_pretrained)

# %% [markdown]
# **Both**: lengthening either stage alone gains about ten points; both are leads. So **a training loss near zero doesn't prove that a longer run, with its own schedule, would do no better.** Zhang et al. (2021) found the usual number of steps too small for BERT, too.
#
# ## 10h.3 Give the baseline what it needs
#
# Seventeen points, over what? Over networks without dropout, trained on 272 labels that they have memorised. If somebody showed you such a comparison, you would ask what that *baseline* lacks. Four suspects:
#
# - **Regularisation**: dropout, and ten times the weight decay.
# - **Time**: 12,000 steps.
# - **Initialisation**: our encoders start as BERT does, with weights of a standard deviation of 0.02. The rule of lesson 2, one over the root of the width, gives 0.18 for our width of 32, nine times as much; for BERT's 768 it gives 0.036. We take 0.18 throughout: `std=0.18`.
# - **Normalisation**: with *pre-norm*, networks are easier to train than with BERT's *post-norm* (lesson 10; Xiong et al. 2020): `norm_first=True`.
#
# **Predict.** The gain was 17 points. And over a baseline that has what it lacked?

# %% tags=["predict"]
guess = None  # points

# %% [markdown]
# Again, let validation decide. Dropout 0.2 is the reference: most other rows change one thing in it. (Three were recorded from scratch only.)

# %% tags=["figure", "folded"]
settings = {  # steps, which recorded runs, of how many kinds and seeds
    "not regularised": (6000, "", 2, 12),
    "dropout 0.1": (6000, "-regularised-less", 2, 4),
    "dropout 0.2": (6000, "-regularised", 2, 12),  # lr 0.005, post-norm, std 0.02
    "dropout 0.4": (6000, "-regularised-more", 2, 4),
    "lr 0.002": (6000, "-regularised-slow", 2, 4),
    "lr 0.01": (6000, "-regularised-fast", 2, 4),
    "12,000 steps": (12000, "-regularised", 2, 12),
    "pre-norm": (6000, "-regularised-norm-first", 1, 4),
    "std 0.18": (6000, "-regularised-wide", 1, 4),
    "pre-norm, std 0.18": (6000, "-regularised-norm-first-wide", 1, 4),
    "all, 12,000 steps": (12000, "-regularised-norm-first-wide", 2, 12),
}
ax = plt.subplots(figsize=(7.2, 4.2))[1]
for k, kind in enumerate(kinds.values()):
    for row, (steps, end, n, seeds) in enumerate(settings.values()):
        if k < n:
            found = read_results(f"labels-272-{steps}-{kind}{end}", ["validation"], seeds=seeds)
            ax.errorbar(found.mean(), row, xerr=found.std() / seeds**0.5, fmt="o", color=f"C{k}")
            ax.text(101.2 + 5 * k, row, f"{found.mean():.1f}", color=f"C{k}", va="center")
    ax.text((80, 96)[k], -0.9, [*kinds][k], color=f"C{k}", fontsize=11, ha="center")
ax.set_yticks(range(11), settings)
ax.set(xlim=(74, 111), ylim=(10.6, -1.6), xticks=range(75, 101, 5), xlabel="validation (%)")
ax.set_title("Recorded, 272 labels, 4 or 12 seeds: what the baseline may lack", loc="right")
figure("settings", alt="Eleven settings: from scratch 79 to 97 % right, pre-trained 91 to 98.")

# %% [markdown]
# Much of this is within the noise; of pre-norm alone, for example, we can't tell. But take what scores highest from scratch: the last row, all four together. Call that the *best recipe*. Add its parts one after the other, for both kinds; twelve of each were recorded.

# %%
pairs = {
    "1,000 steps": (scratch, pretrained),
    "6,000 steps": (long_scratch, long_pretrained),
    "+ regularised": recorded("272-6000", "-regularised"),
    "+ 12,000 steps": recorded("272-12000", "-regularised"),
    "the best recipe": recorded("272-12000", "-regularised-norm-first-wide"),
}
best_scratch, best_read = pairs["the best recipe"]
compare_guess(guess, (best_read.mean() - best_scratch.mean()).item())
strong, patient, left = [show_gain(name, *pairs[name])[0] for name in [*pairs][2:]]
claim(gain_with_regularisation=strong, gain_after_12000_steps=patient)
claim(gain_after_a_better_start=left)

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
# **17 points, then 13, 8, and 1.8 ± 1.4: we can't tell.** Without any text, regularisation, time, a larger initialisation and pre-norm bring the baseline from 73 to 96 %. He, Girshick and Dollár (2019) found this in vision: trained for longer, and with suitable normalisation, networks from scratch catch up, unless the data are very few.
#
# Is the fall from 17 to 1.8 chance? Look at what each kind gained by the best recipe.

# %%
rows = zip(kinds, pairs["6,000 steps"], pairs["the best recipe"], strict=True)
for name, old, new in rows:
    show_gain(f"{name}, by the best recipe", old, new)
lost, error = compare_seeds_and_groups(long_pretrained - long_scratch, best_read - best_scratch)
print(f"the gain by reading fell by {lost:.1f} ± {error:.1f}, {judge(lost, error)}")
claim(gain_taken_by_the_baseline=lost, fall_in_standard_errors=lost / error)

# %% [markdown]
# **It isn't, in points: a lead.** But mind what this rests on: errors that are rather too large (a part of each is counted twice), one draw of templates, fourteen of them in the test. We stopped strengthening the baseline when the gain could no longer be told from zero, which is a choice, too, and made on the test. And near 100 % there is no room for large gains. By the measure of lesson 10i, which has no such ceiling, the fall can't be told from chance.
#
# So what does reading bring? Look at the dots once more, and at *nobody*.

# %%
nobody = next(k for k, form in enumerate(names) if form.startswith("nobody"))
for name, both in pairs.items():
    right = " → ".join(f"{found[:, nobody].mean():.0f}" for found in both)
    good = " → ".join(str(int((found.mean(1) > 95).sum())) for found in both)
    print(f"{name:16} nobody: {right} % right; above 95 % on all: {good} of 12 networks")

# %% [markdown]
# With a weaker recipe it brings *reliability*. Regularised, but without reading, training is a lottery: three of twelve networks get above 95 %, and one gets only 63. Of those that read, eleven do: the first run works. (Three against eleven is more than chance, by Fisher's exact test, with p = 0.003; nine against twelve, with the best recipe, may be chance.) Dai and Le (2015) and Erhan et al. (2010) also found that. Without regularisation it doesn't: there, reading is a lottery as well.
#
# <details><summary>Caveats</summary>Validation, which chose the settings, has 512 labels beside the 272. Dropout, learning rate and steps were chosen for both kinds together, the initialisation and pre-norm for the networks from scratch only, and one weight decay was tried. If each kind gets its own dropout, 0.1 from scratch, the gain of the regularised networks is 18.9 points, where the common one gives 17.3 with the same four seeds. How many steps go to text, and a learning rate of its own for the labels, weren't tuned, so reading might bring more. ± doesn't cover other training templates, or other settings. Our statements have 72 words; GPT-1 and BERT read far more text. All this is recorded and <a href="../tests/test_recorded_runs.py">tested</a>.</details>
#
# ## 10h.4 What did the text teach?
#
# What does a network know that has read, before it sees a single label? Train one with dropout, as the regularised ones were. To begin with, compare it on new texts with counts of pairs, and of three words in a row, smoothed (Kneser and Ney 1995).

# %% tags=["nbval-ignore-output"]
language = pretrain(0, steps=2000, dropout=0.2, decay=0.1)

# %% tags=["nbval-ignore-output"]
from coursekit.evaluate.likelihood import mean_nll
from coursekit.models.ngram import NGram, count_ngrams, kneser_ney


def windows_of(part, n):  # each word, and the n - 1 before it
    rows = [[1] * (n - 1) + [ids[w] for w in one.text.split()] for one in part]
    return torch.tensor([row[i : i + n] for row in rows for i in range(len(row) - n + 1)])


(tokens, present), _ = read(validation)
with torch.no_grad():
    print(f"it reads: {word_loss(language(tokens, present), tokens):.2f} nats a word")
for n in (2, 3):
    counted = NGram(kneser_ney(count_ngrams(windows_of(train, n), size)))
    print(f"counts of {n}: {mean_nll(counted, windows_of(validation, n)):.2f}")

# %% [markdown]
# It predicts new texts better than counting does. What does it know about words? Let it continue *people smiled because the soup was*, and *people grumbled because the soup was*; and so on for twelve things, after three good reactions and three bad ones. Then the other way round: after *the soup was tasty so people*, do they smile?
#
# **Predict.** After a *good* reaction, how much of the probability goes to words that are good for the thing (*fresh*, *tasty* or *tender* for a soup)?

# %% tags=["predict"]
guess = None  # per cent

# %%
things = {}  # of each its good words, and its bad ones
for some, good, bad in DOMAINS.values():
    things |= dict.fromkeys(some.split(), (good.split(), bad.split()))


@torch.no_grad()
def go_on(reaction, thing):  # the probability of each word after these
    text = f"{reaction} because the {thing} was"
    return language(*encode(text))[0, len(text.split())].softmax(-1)


def to_words(table, which):  # per cent for each thing; 0: good words, 1: bad ones
    rows = zip(table, things.values(), strict=True)
    return torch.stack([100 * row[[ids[w] for w in words[which]]].sum() for row, words in rows])


@torch.no_grad()
def smiles(thing, word):  # of what people do after that, per cent
    text = f"the {thing} was {word} so people"
    p = language(*encode(text))[0, len(text.split())].softmax(-1)
    return 100 * p[ids["smiled"]] / (p[ids["smiled"]] + p[ids["grumbled"]])


# %% tags=["nbval-ignore-output"]
tables = [torch.stack([sum(go_on(r, s) for r in some) / 3 for s in things]) for some in REACTIONS]
(good, bad), (good_too, bad_too) = [[to_words(table, k) for k in (0, 1)] for table in tables]
compare_guess(guess, good.mean().item())
print(f"after good reactions {good.mean():.0f} % to good words, {bad.mean():.0f} % to bad ones")
print(
    f"after bad reactions {good_too.mean():.0f} % to good words, {bad_too.mean():.0f} % to bad ones"
)
claim(words_that_fit=(good + bad).mean().item())
claim(good_words_told_from_bad=(good - good_too).abs().max().item())
for k, name in enumerate(("good", "bad")):
    smile = [smiles(s, w) for s, words in things.items() for w in words[k]]
    print(f"after {name} words, people smile in {sum(smile) / len(smile):.0f} %")

# %% tags=["figure", "folded"]
columns = [w for _, *some in DOMAINS.values() for part in some for w in part.split()]
fig, axes = plt.subplots(2, 1, figsize=(7.2, 6.6), sharex=True)
for ax, table, reaction in zip(axes, tables, ("people smiled", "people grumbled"), strict=True):
    image = ax.imshow(
        table[:, [ids[w] for w in columns]], cmap="Blues", vmin=0, vmax=0.25, aspect="auto"
    )
    ax.set_yticks(range(12), [f"the {s} was …" for s in things], fontsize=9)
    ax.set_title(f"{reaction} because … (mean of three such reactions)", fontsize=10, loc="left")
    ax.grid(visible=False)
axes[1].set_xlabel("next word: good for such a thing (green) or bad (pink)")
axes[1].set_xticks(range(24), columns, rotation=90, fontsize=9)
for k, label in enumerate(axes[1].get_xticklabels()):
    label.set_color("C2" if k % 6 < 3 else "C4")  # good, bad
fig.colorbar(image, ax=axes, label="probability", shrink=0.4)
fig.suptitle("It knows what a soup can be, not what makes people smile", x=0.98, ha="right")
figure("soup", alt="Two tables of next words: the same four blocks after good and bad reactions.")

# %% [markdown]
# **It knows what can be said of a soup, a train, a letter or a walk**: nearly all its probability is on the six words, of 72, that the text uses for such things. It wasn't told that there are four kinds of things. (*Dry* has two columns: it is bad for a cake and good for a walk.) The text also says what makes people smile. But this network hasn't learned that, in either direction: after good reactions and bad ones, good words are equally likely, and after good words and bad ones, people smile equally often. So this one starts out knowing which words can stand in for each other, not which are good. Whether that is why pre-training helps we didn't test; whether it takes other text than the labelled, an exercise of lesson 10i does. To Erhan et al. (2010) pre-training is a regulariser, which starts a network where solutions that generalise are near. Now the labels.

# %% tags=["nbval-ignore-output"]
reader = learn_labels(0, language, steps=4000, dropout=0.2, decay=0.1)
print(f"pre-trained, regularised: {accuracy(reader, test):.0f} % of the test right")
ask(reader)
told_nobody = [one for one in test if "nobody" in one.text]
claim(reader_right=accuracy(reader, test), reader_on_nobody=accuracy(reader, told_nobody))

# %% [markdown]
# **Nobody found the soup burnt.** Now it gets that right. (So do networks from scratch with the best recipe, in 87 % of such statements.)

# %% [markdown]
# ## What you now have
#
# - **When does pre-training pay?** With 272 labels: much over a weak recipe, 17 points; over a good one, 1.8 ± 1.4, which may be nothing. So ask what the baseline lacks.
# - With a weaker recipe, it also brought reliability: eleven of twelve networks got above 95 %, where three did from scratch.
# - A training loss near zero doesn't mean that a network has finished.
# - What the network knew that had only read: which words can stand where. Not, as far as we could see, which of them are good.
# - To start one model from another's weights, take what has the same name and the same shape, and print what stays behind.

# %% [markdown] tags=["exercise"]
# > **Exercise 10h.3 (investigate, 20 minutes).** *What does reliability cost without reading?* Regularised, from scratch, training was a lottery. Buy k tickets: train k networks, and keep the one that is best on validation. On average over all choices of k from the twelve, how much of the test does it get right? How many tickets are as good as one network that has read, by the same recipe (97.5 %)? Do it with the best recipe, too (98.2 %). And could you do without validation, and keep the network with the lowest loss on its 272 labels? With the best recipe that can't work: print its losses to see why.
# >
# > <details><summary>Hint</summary><code>read_results("labels-272-6000-causal-mean-regularised", ["validation", "train", "right"], seeds=12)</code> returns a row for each network: right on validation, the loss on its labels, right on the test. For the best recipe it is <code>labels-272-12000-causal-mean-regularised-norm-first-wide</code>. <code>itertools.combinations(range(12), k)</code> gives all choices.</details>
#
# |k|regularised, best on validation (%)|regularised, lowest loss (%)|best recipe, best on validation (%)|
# |---|---|---|---|
# |1|84.4|84.4|96.4|
# |2||||
# |3||||
# |8||||
#
# > <details><summary>What we found</summary>Regularised, by validation: 84.4, 90.2, 92.9 and 97.5 %, so it takes eight tickets. With the best recipe: 96.4, 98.0, 98.6 and 99.6, so three are enough. The weaker the recipe, the more tickets reading saves. (From twelve networks there are 495 choices of eight, which overlap, so the last numbers are less certain than they look. And with eight networks, you would rather average what they say.) By the loss on the labels: 84.4, 88.7, 91.4 and 97.4. All these losses are below 0.0001 nats, and still their order is informative. With the best recipe, all are 0 to the six decimals that were recorded, so there is nothing to choose by.</details>

# %% [markdown]
# **What still fails.** In training, what happened and how people react always agree. Exchange the reactions, {r}, so that people smile at a thing {s} that was bad, {x}, or not good, {o}. Which of the two should decide is a convention; but which does? Below is how often regularised networks follow what happened.

# %%
told = [form for form in names if "{r}" in form]
swapped = [f"swapped: {form}" for form in told]  # right, if the answer matches the fact
for name, kind in kinds.items():
    found = read_results(f"labels-272-6000-{kind}-regularised", swapped, seeds=12).mean(0)
    for form, right in zip(told, found, strict=True):
        print(f"{name:12} {right:3.0f} %  {form}")

# %% [markdown]
# It depends on the order, and more so after pre-training: then they decide by the cake in *it was a dry cake so people smiled* in some 90 % of cases, but in *people smiled because it was a dry cake* only in 4. How would you make them look at both? (With a causal mask, which of the vectors that the head averages haven't seen the reaction?)
#
# And one question is open. He, Girshick and Dollár make an exception for very few data. With 272 labels, we couldn't tell what a good baseline gains from reading. And with half of them? [Side lesson 10i](10i_label_worth.ipynb) takes labels away.

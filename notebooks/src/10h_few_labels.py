# %% [markdown]
# # 10h · When does pre-training pay?
#
# *Nobody found the soup burnt today.* Did things turn out well? They did. But the networks of lesson 10g, trained *from scratch* on 272 labels, get about a third of such statements right; a coin would get half. More labels would help, but somebody has to write each of them. Text without labels is cheap. Can a network get more out of the same labels if it reads first?
#
# **Afterwards you can** pre-train a network, start another one from its weights, and judge what that gained: over which baseline, how certainly, and what it is worth in labels.
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
    return Encoder(sizes, rule=attend_past, **options)


def train_it(model, batches, loss, steps, decay):
    options = {"steps": steps, "schedule": warm_up_cosine(steps), "clip": 1.0}
    fit(model, adamw(model, 5e-3, weight_decay=decay), batches, loss=loss, **options)
    return model.eval()


# %% [markdown]
# The other statements have no label, but they can be read. To **pre-train** a network on all 2,176 means to train it to predict each next word, as a GPT does (lesson 10c). Such a network is an encoder with a head that returns a logit for each word. That is the library's `MaskedTokenModel`: whether it learns masked words, as in lesson 10, or next ones, as here, depends on the loss alone.

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

    def forward(self, tokens, present):
        return self.head(pool(self.encoder(tokens, present), present, "mean"))


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
torch.testing.assert_close(taken, matching_weights(mine, theirs), rtol=0, atol=0)
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
ax.set(xlabel="steps of the whole run", ylabel="right on validation (%)\n± error over seeds")
arrow = {"arrowprops": {"arrowstyle": "->", "color": "0.3"}, "fontsize": 9}
ax.annotate("training loss\nnear zero", (1000, 81.7), (1000, 85.5), **arrow)
ax.set_title("Recorded, 272 labels: pre-trained networks need more than 1,000 steps", loc="right")
figure(
    "steps",
    alt="Pre-trained, validation rises from 80 to 91 at 6,000 steps; from scratch it hardly does.",
)

# %% [markdown]
# **17 points, a lead.** Five thousand more steps add little from scratch, but fifteen points after pre-training. Both stages had been too short: lengthening either one alone gains about ten points. So **a training loss near zero doesn't prove that a longer run, with its own schedule, would do no better.** Zhang et al. (2021) found the usual number of steps too small for BERT, too. (After 12,000 the pre-trained do worse again on validation, within the noise. If each kind takes the number of steps that is best for it, 12,000 from scratch, the gain is 15.7 ± 4.6, still a lead.)
#
# ## 10h.3 Give the baseline what it needs
#
# Seventeen points, over what? Over networks without dropout, trained on 272 labels that they have memorised. If somebody showed you such a comparison, you would ask how that *baseline* does when it is regularised. So give both kinds dropout and ten times the weight decay. Three values of dropout were recorded and, with the middle one, two other learning rates, four seeds of each kind. Again, let validation decide.

# %%
settings = {
    "dropout 0.1": "-regularised-less",
    "dropout 0.2": "-regularised",
    "dropout 0.4": "-regularised-more",
    "lr 0.002": "-regularised-slow",  # the others have 0.005; dropout is 0.2
    "lr 0.01": "-regularised-fast",
}
for name, end in settings.items():
    pair = recorded(f"272-{best}", end, what=["validation"], seeds=4)
    found = [f"{one.mean():.1f} ± {one.std() / len(one) ** 0.5:.1f}" for one in pair]
    print(f"{name:12} from scratch {found[0]}, pre-trained {found[1]} % of validation")

# %% [markdown]
# A dropout of 0.2 has the highest mean of both kinds, though within the noise. So twelve of each were recorded with that value.

# %%
strong_scratch, strong_pretrained = recorded(f"272-{best}", "-regularised")
strong_gain, _ = show_gain("272 labels, regularised", strong_scratch, strong_pretrained)
claim(gain_with_regularisation=strong_gain)
for name, found in zip(kinds, (strong_scratch, strong_pretrained), strict=True):
    right = found.mean(1)
    print(f"{name}: {right.min():.0f} to {right.max():.0f} %, {(right > 95).sum()} of 12 above 95")

# %% [markdown]
# **13 points, and only a hint.** But look at the single networks. From scratch it is a lottery: three of twelve are above 95 %, another gets 63. Eleven of the pre-trained ones are above 95. So what pre-training brings here above all is *reliability*: the first run works. Dai and Le (2015) and Erhan et al. (2010) found that, too. (There is another way: train eight from scratch, and keep the one that validation prefers. It gets 97.5 % on average, at eight times the price.)
#
# Train one that reads first. The reading takes half a minute. What has it learned then, without a single label?

# %% tags=["nbval-ignore-output"]
strong = {"dropout": 0.2, "decay": 0.1}
language = pretrain(0, steps=2000, **strong)
words = {number: word for word, number in ids.items()}
(tokens, present), _ = read(validation)
often = tokens[tokens > 3].bincount() / (tokens > 3).sum()
with torch.no_grad():
    found = word_loss(language(tokens, present), tokens)
    print(f"{found:.2f} nats a word on new texts; from frequencies alone", end=" ")
    print(f"{torch.special.entr(often).sum():.2f}")
    for text in ("people smiled because the soup was", "people grumbled because the soup was"):
        found = language(*encode(text))[0, len(text.split())].softmax(-1).topk(6)
        likely = [f"{words[int(k)]} {p:.2f}" for p, k in zip(*found, strict=True)]
        print(f"{text}: {', '.join(likely)}")

# %% [markdown]
# It knows what a soup can be. Which of these make people smile the text would tell, too, for its reactions fit; but this network hasn't learned that. Now the labels. (From scratch, the network with this seed gets 63 %.)

# %% tags=["nbval-ignore-output"]
reader = learn_labels(0, language, steps=4000, **strong)
print(f"pre-trained, regularised: {accuracy(reader, test):.0f} % of the test right")
ask(reader)
claim(reader_right=accuracy(reader, test))

# %% [markdown]
# What else does the baseline lack? Perhaps *time*: give both kinds 12,000 steps. And perhaps a better **initialisation**. Our encoders have BERT's: weights with a standard deviation of 0.02, and norms that come after the residual addition (*post-norm*). For a width of 768, 0.02 is within a factor of two of one over the root, 0.036 (lesson 2). But our width is 32, and one over its root is 0.18; take that for all weights of the encoder. And *pre-norm* networks are easier to train (lesson 10; Xiong et al. 2020). What does validation say?

# %%
for steps in (6000, 12000):
    pair = recorded(f"272-{steps}", "-regularised", what=["validation"])
    means = [f"{one.mean():.1f} ± {one.std() / len(one) ** 0.5:.1f}" for one in pair]
    print(f"{steps:,} steps: from scratch {means[0]}, pre-trained {means[1]} %")
starts = {"as before": "", "pre-norm": "-norm-first", "std 0.18": "-wide"}
starts["std 0.18, pre-norm"] = "-norm-first-wide"
for name, end in starts.items():  # four seeds
    run = f"labels-272-{best}-causal-mean-regularised{end}"
    found = read_results(run, ["validation"], seeds=4)
    error = found.std() / len(found) ** 0.5
    print(f"6,000 steps, from scratch, {name}: {found.mean():.1f} ± {error:.1f} %")

# %% [markdown]
# Longer is better, and of the four initialisations the last scores highest, though within the noise. So give both kinds 12,000 steps, and then this initialisation, too.
#
# **Predict.** The gain was 17 points, and 13 with regularisation. With 12,000 steps, a standard deviation of 0.18 and pre-norm as well?

# %% tags=["predict"]
guess = None  # points

# %%
pairs = {
    "1,000 steps": (scratch, pretrained),
    "6,000 steps": (long_scratch, long_pretrained),
    "+ regularised": (strong_scratch, strong_pretrained),
    "+ 12,000 steps": recorded("272-12000", "-regularised"),
    "+ std 0.18, pre-norm": recorded("272-12000", "-regularised-norm-first-wide"),
}
compare_guess(guess, compare_seeds_and_groups(*reversed(pairs["+ std 0.18, pre-norm"]))[0])
patient, _ = show_gain("+ 12,000 steps", *pairs["+ 12,000 steps"])
left, _ = show_gain("+ std 0.18, pre-norm", *pairs["+ std 0.18, pre-norm"])
claim(gain_after_12000_steps=patient, gain_after_a_better_start=left)
nobody = next(k for k, form in enumerate(names) if form.startswith("nobody"))
right = [f"{before[:, nobody].mean():.0f}" for before, _ in pairs.values()]
print("from scratch, of statements with nobody:", *right, "% right")

# %% [markdown]
# Which of these steps are more than chance? A gain is a difference, and two gains differ by a difference of differences.

# %%
rows = [after - before for before, after in list(pairs.values())[1:]]
for i, j in ((0, 1), (1, 2), (2, 3), (0, 3)):
    less, error = compare_seeds_and_groups(rows[i], rows[j])
    print(
        f"{rows[i].mean():4.1f} → {rows[j].mean():4.1f}: {less:4.1f} ± {error:.1f} less,",
        judge(less, error),
    )

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
ax.set_title("Recorded, 272 labels: the baseline gets what it needs", loc="right")
figure("start", alt="Five rows of dots: the gain is 5 points, then 17, 13, 8, and at last 1.8.")

# %% [markdown]
# **17 points, then 13, 8, and 1.8 ± 1.4: we can't tell.** No single step can be told from chance, but all together are a lead, in points. (Near 100 % points shrink by themselves. Networks that read still make about half the errors, and in log-odds, a scale without a ceiling, not even 17 and 1.8 can be told apart.) So regularisation, time, a larger initialisation and pre-norm do most of what reading did, without any text. *Nobody found the soup burnt* goes from a third to 87 %. He, Girshick and Dollár (2019) found this in vision: trained for longer, and with suitable normalisation, networks from scratch catch up, *unless there is very little to learn from.*
#
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
compare_guess(guess, compare_seeds_and_groups(*reversed(curve[1]))[0])
gains = {n: show_gain(f"{n} labels", *both) for n, both in zip(numbers, curve, strict=True)}
others = recorded("136-12000-elsewhere", end)
show_gain("136 other labels", *others)
claim(gain_with_half_the_labels=gains[136][0], gain_with_three_quarters=gains[204][0])
claim(gain_with_a_quarter=gains[68][0])

# %% [markdown]
# **With 136 labels, 15 points, a lead.** It isn't only luck with these labels, for the 136 that were left out give the same. Again it is a lottery, but now only networks that read win it: they get 66 to 95 %, those from scratch 61 to 76, though all of them fit their labels. With 204, ten of twelve that read get more than 95 %, and one from scratch. (The results of BERT, too, depend on the seed: Dodge et al. 2020. And networks with the same training loss can differ on new data: Mosbach, Andriushchenko and Klakow 2021.)
#
# But is 15 more than 1.8? One clear gain and one unclear gain don't prove it. Compare the gains themselves. And ask what *this* baseline lacks, for all settings were chosen with 272 labels. Three other settings were recorded from scratch with 136.

# %%
with_all = curve[3][1] - curve[3][0]
some = {"136 labels": curve[1], "136 others": others, "204 labels": curve[2]}
for name, (before, after) in some.items():
    more, error = compare_seeds_and_groups(after - before, with_all)
    print(f"gain with {name} against 272: {more:.1f} ± {error:.1f} more, {judge(more, error)}")
run = f"labels-136-12000-causal-mean{end}"
for name in ("", "-less", "-more", "-slow"):  # dropout 0.2, 0.1, 0.4; lr 0.002
    found = read_results(f"{run}{name}", ["validation"], seeds=4)
    error = found.std() / len(found) ** 0.5
    print(f"from scratch{name}: {found.mean():.1f} ± {error:.1f} % of validation")
tuned = read_results(f"{run}-less", names, seeds=12)
over_tuned, _ = show_gain("136 labels, dropout 0.1 from scratch", tuned, curve[1][1])
claim(gain_over_a_tuned_baseline=over_tuned)

# %% [markdown]
# **In points, the gain is larger than with 272 labels**: two hints, and with the other 136 labels a lead. But with 272 no more than 3.6 points could be gained. In log-odds the gain is 0.8 with 136, 1.7 with 204, and 0.7 with 272; only that with 204 is larger, a hint. So reading may well help with 272, too, and there is just too little left to see it.
#
# From scratch, validation prefers a dropout of 0.1, within the noise. Over twelve networks with that, the gain is 13.9 points, still a lead.
#
# With 68 labels, twelve networks of each kind show no gain: where no one reacts, both are no better than a coin. So this test shows a gain only *in between*. Elsewhere it may be different: Howard and Ruder (2018), with far more text, gain most where labels are fewest.
#
# How many *labels* would do the same? Read the curve from scratch sideways: start at what 136 labels give with pre-training, and go right until you meet it.

# %% [markdown] tags=["exercise"]
# > **Exercise 10h.3 (build, 15 minutes).** Write `our_labels_for(target, labels, scores)`: how many labels a curve needs to reach `target` for the first time. `labels` are rising numbers, `scores` what is reached with each, not always more than with the one before. From one point to the next the curve is a straight line *over the logarithm* of the number. If the first number is enough, return it; if none is, `math.inf`. For example, to reach 80 on the curve with 70 for 100 labels and 90 for 400 takes 200 labels: halfway up, and halfway from log 100 to log 400.
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
# How certain is that? Resample the seeds of each point and the fourteen templates, with replacement, four thousand times: the bootstrap of lesson 10f. The library does it.

# %%
from coursekit.evaluate.curve import bootstrap_labels, labels_for

in_labels = answer_or(our_labels_for, labels_for)  # the library's until yours is there
without, reads = [before for before, _ in curve], curve[1][1]
target, scores = reads.mean().item(), [one.mean().item() for one in without]
worth = in_labels(target, numbers, scores)
assert math.isclose(worth, labels_for(target, numbers, scores))
low, high = bootstrap_labels(reads, numbers, without, draws=4000, seed=42)
print(f"136 labels do as much as {worth:,.0f} from scratch (95 %: {low:,.0f} to {high:,.0f})")
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
        at = n * (0.97, 1.03)[column]
        ax.plot([at] * len(found), found, "o", color=f"C{column}", alpha=0.5, markersize=6)
    ax.text(*where, name, color=f"C{column}", fontsize=10)
ax.plot(numbers, by_pairs, "x:", color="black")
ax.text(215, 60, "skip-bigrams", fontsize=10)
ax.axhline(50, color="0.6", linewidth=1)
ax.text(66, 51, "a coin", fontsize=9)
arrow = {"arrowstyle": "->", "color": "black", "linewidth": 2}
for start, to, height in ((136, worth, target), (204, 272, curve[2][1].mean().item())):
    ax.annotate("", (to, height), (start, height), arrowprops=arrow)
ax.plot([worth, worth], [46, target], color="0.5", linewidth=1)
ax.errorbar(worth, 46, xerr=[[worth - low], [high - worth]], fmt="|k", capsize=3)
ax.text(high * 1.03, 46, "95 %\ninterval", va="center", fontsize=9)
ax.set_xscale("log")
ax.set_xticks(numbers, numbers)
ax.minorticks_off()
ax.set(xlabel="labels", ylabel="right on new statements (%)", xlim=(62, 300), ylim=(43, 102))
ax.set_title("Recorded: after reading, 136 labels do the work of 200", loc="right")
figure("worth", alt="With 136 and 204 labels reading is ahead, by what 60 more would do.")

# %% [markdown]
# **Pre-trained, 136 labels do as much as some 200 from scratch, and 204 as much as 272**: 96.5 % and 96.4. Howard and Ruder (2018) count in this way. Hernandez et al. (2021) call the difference, here some 60 labels, the *effective data transferred*. (The interval covers seeds and templates only.) The skip-bigrams, which need neither text nor a seed, are ahead of both kinds with 68 labels, though within the noise, and behind with more.
#
# So ask two things before you say that pre-training pays: what does the baseline lack, and how many labels are there? (We stopped strengthening ours when the gap on the test was gone, which is a choice, too, and made on the test.) And what else could the text do? In *self-training*, a network labels it, and learns from that; Zoph et al. (2020) found in vision that this still helped where a strong baseline and many labels left pre-training nothing to add. We didn't run it.
#
# <details><summary>Caveats</summary>Dropout, rate and steps were chosen for both kinds together, the initialisation for the networks from scratch only, and one weight decay was tried. If each kind gets its own dropout, 0.1 from scratch, the gain of the regularised networks is 18.9 points, where the common one gives 17.3 with the same four seeds. With 272 labels each template has them in four domains, with 204 in three, and so on. Our labels were chosen evenly; with a random choice, results would vary more. ± overstates the error, since each of its two parts includes some of the other; it doesn't cover other training templates, or other settings. With this many comparisons, some will be hints by chance. Our statements have 72 words; GPT-1 and BERT read far more than any task could tell them. All this is recorded and <a href="../tests/test_recorded_runs.py">tested</a>.</details>
#
# ## What you now have

# %% [markdown]
# - **When does pre-training pay?** Here, where labels are neither plenty nor too few. With 272, it seemed to bring 17 points; but with regularisation, more steps, a larger initialisation and pre-norm, 1.8 ± 1.4 were left, so we can't tell. With 136, it brings 15 points over that same baseline, a lead, and with 204 13, a hint. With 68 we saw no gain.
# - A training loss near zero doesn't mean that a network has finished: after 1,000 steps the gain was 5 points, and we couldn't tell.
# - A gain can be counted in labels: 136 do as much after reading as some 200 from scratch, and 204 as much as 272.

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
# > <details><summary>What we found</summary>Its own 136 texts, each read some 900 times, bring a network to 72.4 %, 5.1 ± 2.9 points over one from scratch: we can't tell. The other texts add 10.0 ± 4.1, a hint. Texts without a reaction bring 80.9 %, a gain of 13.6 ± 4.4, a lead, and all texts add 1.6 ± 4.9 to that. So other text seems to help, and it needn't say how people reacted. (But compared with each other, the two are 8.5 ± 4.4 apart: can't tell.) Reading only a task's own text is called self-pretraining. (To read a task's text after much other text is *task-adaptive pre-training*: Gururangan et al. 2020.) Krishna et al. (2022) pre-trained ELECTRA and RoBERTa, two relatives of BERT, on nothing but the text of a task, for ten tasks, and found them about level with those that had read a general corpus. Amos, Berant and Gupta (2024) did so with Transformers for long sequences. Their tasks had more text than our 136 statements.</details>

# %% [markdown]
# **What still fails.** With 136 labels, even of plain statements such as *today it was a tasty cake* networks get 44 % right from scratch, and 62 if they read first (with 204, 64 and 91). And with 272, what do they go by? Take the shortcut of lesson 10g: after an opposite reaction, as in *it was a dry cake so people smiled*, the pre-trained networks of 10h.3, after 6,000 steps, go by the fact in some 90 % of cases; in *people smiled because it was a dry cake*, in 4 %. They go by whatever comes first, or by *so* and *because*. How would you tell which?

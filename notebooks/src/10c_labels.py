# %% [markdown]
# # 10c · Which network is better?
#
# Four networks learn from the same labels. On new statements one is right in 99 of 100 cases, another in 81. So the first is better? Train each again, change nothing but the seed, and see what is left of the ranking.
#
# **Afterwards you can** fine-tune an encoder or a GPT on labels, give it a fair baseline, say how sure a lead is, see where networks disagree, and make something of it.
#
# **Before**: lessons 10 (masked tokens, pre-training) and 2b (seeds, standard errors).
#
# **Runs in** {runs_in}. **Study time** {study}.
#
# **Sources**: fine-tuning as in BERT (Devlin et al. 2019); that it depends on the seed, Dodge et al. (2020) and McCoy, Min and Linzen (2020); ensembles, Lakshminarayanan, Pritzel and Blundell (2017). All statements here were written for this course.

# %% tags=["setup", "machine"]
import matplotlib.pyplot as plt
import numpy as np
import torch
from torch import nn
from torch.nn import functional as F
from torch.testing import assert_close

from coursekit.data.statements import number_words, statements
from coursekit.exercises import answer_or
from coursekit.exercises import labels as exercises
from coursekit.notebook import claim, compare_guess, figure, setup
from coursekit.notebook.widgets import type_text

device = setup("10c_labels", seed=42)

# %% [markdown]
# ## 10c.1 One label for a whole text
#
# The statements of lesson 10 again. Each has a label, 1 if it turned out well, 0 if not, and no test template occurs in training or validation. The ids 0 to 3 are `[PAD]`, `[CLS]`, `[SEP]` and `[MASK]`; `[CLS]` stands before each statement, and `present` is False where there is padding.

# %%
from coursekit.windows.masking import pad_texts

train, validation, test = statements()
ids = number_words([one.text for one in train])


def read(part):  # (tokens, present), each (N, T), and the labels
    tokens, present = pad_texts([[1, *(ids[w] for w in one.text.split())] for one in part])
    labels = torch.tensor([one.label for one in part])
    return (tokens.to(device), present.to(device)), labels.to(device)


for one in (train[3], train[1000], test[500], test[-1]):
    print(one.label, one.text)

# %% [markdown]
# Lesson 10 left the encoder as it was and used its vectors; of the outcome there was almost nothing in them. Now all weights learn: a head with two logits sits on *one* vector, and the gradient goes through the whole network. This is **text classification**; if the weights start from a pre-trained network, **fine-tuning**. Which vector?

# %% tags=["figure", "folded"]
from coursekit.notebook.pictures import draw_numbers

words = ["[CLS]", "the", "cake", "was", "not", "dry", "."]
axes = plt.subplots(1, 2, figsize=(7.6, 1.9), sharey=True)[1]
panels = {"bidirectional": np.ones((7, 7)), "causal": np.tri(7)}
for ax, (title, allowed) in zip(axes, panels.items(), strict=True):
    draw_numbers(ax, allowed[[0, -1]], ["[CLS]", "the full stop"], words)
    ax.set_title(f"{title}: who has read what")
figure("who-has-read-what", alt="A causal [CLS] has read itself only; the last token everything.")

# %% [markdown]
# BERT takes that of `[CLS]`. But in a causal network `[CLS]` has read nothing, and only the *last* token everything. So we take the last, for both.

# %% [markdown] tags=["exercise"]
# > **Exercise 10c.1 (warm-up, 5 minutes).** Write `last_vector(vectors, present)`: for each text, the vector of its last token, padding aside. `vectors` is (B, T, C), `present` (B, T); padding stands at the end.
# >
# > <details><summary>Hint</summary>How long is each text? Then index with two lists, one of texts, one of positions.</details>


# %% tags=["stub"]
def last_vector(vectors, present): ...  # -> (B, C)


# %% tags=["check"]
exercises.check_last_vector(last_vector)


# %% tags=["solution"]
def last_vector(vectors, present):
    return vectors[range(len(vectors)), present.sum(1) - 1]


# %% [markdown]
# The encoder is now the library's, of the size of lesson 10. `attend` makes it bidirectional, `attend_past` causal.

# %%
from coursekit.layers.attention import attend, attend_past
from coursekit.models.encoder import Encoder, EncoderConfig

sizes = EncoderConfig(vocab_size=len(ids), context=24, d_model=32, dropout=0.0)
last = answer_or(last_vector, lambda v, present: v[range(len(v)), present.sum(1) - 1])


class OurClassifier(nn.Module):
    def __init__(self, rule):
        super().__init__()
        self.encoder, self.head = Encoder(sizes, rule=rule), nn.Linear(32, 2)

    def forward(self, tokens, present):
        return self.head(last(self.encoder(tokens, present), present))


# %% [markdown]
# A run is a thousand steps of 64 statements, with the loop and the schedule of lesson 10. Of three learning rates, 0.003, 0.006 and 0.01, the second did best on validation for most kinds.

# %%
from coursekit.training.fit import fit
from coursekit.training.optimiser import adamw, warm_up_cosine


def train_it(model, batches, loss, lr, steps=1000):
    options = {"steps": steps, "schedule": warm_up_cosine(steps), "clip": 1.0}
    fit(model, adamw(model, lr, weight_decay=0.01), batches, loss=loss, **options)
    return model.eval()


def fine_tune(rule, seed, start=None, steps=1000):  # start: a pre-trained encoder, or none
    torch.manual_seed(seed)
    model, g = OurClassifier(rule).to(device), torch.Generator().manual_seed(seed)
    if start is not None:
        model.encoder.load_state_dict(start.state_dict())
    (tokens, present), y = read(train)
    picks = (torch.randint(len(y), (64,), generator=g) for _ in range(steps))
    batches = (((tokens[i], present[i]), y[i]) for i in picks)
    return train_it(model, batches, F.cross_entropy, 6e-3, steps)


# %% [markdown]
# Pre-training uses the same statements without their labels. A bidirectional network fills in masked tokens; the library's `draw_masked` hides them as you did in lesson 10. A causal one predicts each next word; a target of −100 is left out of the loss. For this, `MaskedTokenModel` puts a head on the encoder, and afterwards we take it off.

# %%
from coursekit.evaluate.likelihood import next_token_loss
from coursekit.models.encoder import MaskedTokenModel
from coursekit.windows.masking import draw_masked


def next_words(tokens, present, g):
    while True:
        x = tokens[torch.randint(len(tokens), (64,), generator=g)]
        yield (x[:, :-1], x[:, :-1] > 0), x[:, 1:].where(x[:, 1:] >= 4, -100)


def pretrain(rule, seed):
    torch.manual_seed(seed)
    model, g = MaskedTokenModel(Encoder(sizes, rule=rule)), torch.Generator().manual_seed(seed)
    x = read(train)[0]
    masked = draw_masked(*x, ids["[MASK]"], len(ids), 64, g, lowest=4)
    batches = masked if rule is attend else next_words(*x, g)
    return train_it(model.to(device), batches, next_token_loss, 5e-3).encoder


# %% [markdown]
# The baseline that every classifier should have is a **bag of words**: a weight for each word, wherever it stands, and a sigmoid makes a probability of their sum (the logistic regression of lesson 9). Ours has a weight for each **bigram**, two neighbours, too.

# %% [markdown] tags=["exercise"]
# > **Exercise 10c.2 (build, 15 minutes).** Write `count_all(tokens, size)`: for each text a row of size + size² counts. First how often each id stands in it; then, at column size + a · size + b, how often id b follows id a. Ids below 4 aren't words: they count nowhere, alone or in a pair. `tokens` is (N, T), integers; the counts are floats.
# >
# > <details><summary>Hint 1</summary><code>F.one_hot(tokens, size)</code> is (N, T, size), a 1 for each token. Sum over the right axis, without what isn't a word.</details>
# > <details><summary>Hint 2</summary>A pair is a number, too: a · size + b. Or: the product of two one-hot vectors, (N, T − 1, size, size), summed over T − 1, is the table of pairs.</details>


# %% tags=["stub"]
def count_all(tokens, size): ...  # -> (N, size + size²), floats


# %% tags=["check"]
exercises.check_count_all(count_all)


# %% tags=["solution"]
def count_all(tokens, size):
    words = F.one_hot(tokens, size).float() * (tokens >= 4)[..., None]
    pairs = torch.einsum("nta,ntb->nab", words[:, :-1], words[:, 1:])
    return torch.cat([words.sum(1), pairs.flatten(1)], 1)


# %%
from coursekit.models.bag import count_words, fit_bag


def library_counts(tokens, size):
    return count_words(tokens, size, pairs=True, lowest=4)


(x, _), y = read(train)
ours = answer_or(count_all, library_counts)(x, len(ids))
assert_close(ours, library_counts(x, len(ids)))
print(f"{ours.count_nonzero(0).count_nonzero()} words and pairs in {len(x)} statements")
fitted = fit_bag(x, y, vocab_size=len(ids), lowest=4, decay=1e-5)  # these counts, a weight for each


def bag(tokens, present=None):
    return fitted(tokens)


# %% [markdown]
# Bidirectional or causal, from random weights or pre-trained: four kinds of network, with the same steps and the same 2,176 labels.
#
# **Predict.** On statements of new templates: which is best, `"bag"`, `"bidirectional"`, `"causal"`, `"bidirectional, pre-trained"` or `"causal, pre-trained"`?

# %% tags=["predict"]
guess = None  # one of the five


# %% tags=["nbval-ignore-output"]
starts = {}


def train_four(seed):
    found = {}
    for name, rule in (("bidirectional", attend), ("causal", attend_past)):
        starts[name, seed] = pretrain(rule, seed)
        found[name] = fine_tune(rule, seed)
        found[f"{name}, pre-trained"] = fine_tune(rule, seed, starts[name, seed])
    return found


runs = {0: train_four(0)}

# %% tags=["nbval-ignore-output"]


@torch.no_grad()
def accuracy(model, part):  # per cent
    x, y = read(part)
    return 100 * (model(*x).argmax(1) == y).float().mean().item()


right = {"bag": accuracy(bag, test)}
right |= {name: accuracy(model, test) for name, model in runs[0].items()}
compare_guess(guess, max(right, key=right.get))
print(f"{'':28} training   new templates")
for name, one in right.items():
    print(f"{name:28} {accuracy(runs[0].get(name, bag), train):8.0f}   {one:8.0f}")
claim(bag_accuracy=right["bag"])

# %% [markdown]
# The networks know all of the training statements, and on new ones they lie far apart: a clear ranking, it seems.
#
# ## 10c.2 The same again, with another seed
#
# A **seed** decides two things here: the first weights, and the order in which statements are drawn. Train all four kinds again with the seeds 1, 2 and 3.
#
# **Predict.** The best and the worst network of seed 0 are 19 points apart. How far apart are the best and the worst of *one* kind?

# %% tags=["predict"]
guess = None  # points, such as 3

# %% tags=["nbval-ignore-output"]
runs[1] = train_four(1)

# %% tags=["nbval-ignore-output"]
runs[2] = train_four(2)

# %% tags=["nbval-ignore-output"]
runs[3] = train_four(3)

# %% tags=["nbval-ignore-output"]
kinds = list(runs[0])


def score(part):
    return {k: np.array([accuracy(runs[seed][k], part) for seed in range(4)]) for k in kinds}


right, known = score(test), score(validation)
error = {k: one.std(ddof=1) / 2 for k, one in right.items()}  # the mean's standard error
for k, one in right.items():
    by_seed = " ".join(f"{v:3.0f}" for v in one)
    print(f"{k:27} test {by_seed}, mean {one.mean():.1f} ± {error[k]:.1f}", end="")
    print(", validation", *(f"{v:3.0f}" for v in known[k]))
spread = max(map(np.ptp, right.values()))
compare_guess(guess, spread)
claim(widest_spread=spread)

# %% tags=["figure", "nbval-ignore-output"]
colors = dict(zip(kinds, ("C0", "C0", "C1", "C1"), strict=True))


def dots(ax, **options):  # a row for each kind, a dot for each network
    for row, k in enumerate(kinds):
        ax.plot(right[k], [-row] * 4, "o", color=colors[k], alpha=0.6)
    ax.set_yticks(range(0, -4, -1), [k.replace(", ", ",\n") for k in kinds])
    ax.set(ylim=(-3.6, 0.6), xlabel="right, new templates (%)", **options)


ax = plt.subplots(figsize=(6.8, 3.2))[1]
dots(ax, title="Four kinds, four seeds")
for row, k in enumerate(kinds):
    ax.errorbar(right[k].mean(), -row - 0.25, xerr=error[k], color="black", marker="|")
level = accuracy(bag, test)
ax.axvline(level, color="0.4", linestyle=":")
ax.text(level + 0.3, 0.3, "bag", color="0.4")
figure("four-kinds", alt="Dots of four kinds overlap widely; three means are nearly the same.")

# %% [markdown]
# Each dot is a network, the bar a mean with its standard error. **Networks of one kind, which differ in nothing but chance, lie as far apart as the kinds do**. Three of the four means are the same. And the fourth, causal and pre-trained?

# %% tags=["nbval-ignore-output"]
*others, first = sorted(kinds, key=lambda k: right[k].mean())
ahead = []
for k in others:
    gap = right[first].mean() - right[k].mean()
    ahead.append(100 * np.mean(right[k][:, None] >= right[first]))
    print(f"{first} leads {k} by {gap:.1f} points,", end=" ")
    print(f"{gap / np.hypot(error[first], error[k]):.1f} standard errors; behind in", end=" ")
    print(f"{ahead[-1]:.0f} % of the pairs of runs")
claim(behind_in_pairs=np.mean(ahead))
tells = np.corrcoef(np.ravel(list(known.values())), np.ravel(list(right.values())))[0, 1]
claim(correlation_with_validation=tells)

# %% [markdown]
# It leads by 1.3 to 1.9 standard errors, and had the pick of four: not enough to believe it. With one run of each, one comparison in five would have gone the other way.
#
# Could **validation** have told which runs are good? Its statements have templates of their own, too. But what is best there isn't best here: over all sixteen runs the two hardly go together.
#
# It need not even be the seed. Move 64 of the statements to the end of the list, unchanged, and each of these networks becomes another one; on your machine, where the same gradients are added up in another order, the dots lie elsewhere. So it was with a hundred BERTs, fine-tuned alike but for the seed (McCoy et al. 2020).
#
# ## 10c.3 Where do they differ?
#
# One number hides which statements. Here is each test template, by an example, and each network.

# %% tags=["nbval-ignore-output"]
forms = sorted({one.template for one in test})
columns = [bag, *(runs[seed][k] for k in kinds for seed in range(4))]
parts = [[one for one in test if one.template == form] for form in forms]
table = np.array([[accuracy(model, part) for model in columns] for part in parts])
by_form = dict(zip(forms, table, strict=True))
claim(least_with_a_reaction=min(row.min() for form, row in by_form.items() if "{r}" in form))
nots = [row for form, row in by_form.items() if " not " in form and "{r}" not in form]
claim(bag_on_not=np.mean(nots, 0)[0])
(nobody,) = (row[1:].reshape(4, 4) for form, row in by_form.items() if "nobody" in form)
claim(widest_spread_on_nobody=np.ptp(nobody, 1).max())

# %% tags=["figure", "folded", "nbval-ignore-output"]
words = {"s": "cake", "x": "tasty", "o": "dry", "w": "we", "t": "today", "r": "people smiled"}
order = table[:, 1:].mean(1).argsort()
ax = plt.subplots(figsize=(8.6, 4.8))[1]
picture = ax.imshow(table[order], "RdBu", vmin=0, vmax=100, aspect="auto")
ax.set_yticks(range(14), [forms[i].format(**words)[:-2] for i in order], fontsize=9)
names = ["\n\nbag", *(k.replace(", ", ",\n") for k in kinds)]
ax.set_xticks([0, 2.5, 6.5, 10.5, 14.5], names, fontsize=9)
for edge in (0.5, 4.5, 8.5, 12.5):
    ax.axvline(edge, color="white", linewidth=4)
ax.grid(visible=False)
ax.set_title("A few questions decide, and one is a lottery")
plt.colorbar(picture, label="right (%), white is chance")
figure("templates", alt="All templates blue, nearly; nobody is red or blue, network by network.")

# %% [markdown]
# Where a reaction gives the outcome away (*people smiled*), all are right. *Not* flips a statement, and the bag, which adds up its words, falls below chance; most networks have learned it. And *nobody found the cake dry today*: networks of one kind are right always or hardly ever, though in training, where *nobody* stands in two templates, they make next to no mistake. **Equal in training is not equal.**
#
# So the unit is the template, not the statement: 896 test statements are fourteen questions, and four or five of them make the ranking.
#
# **Your turn.** A **minimal pair** is two statements that differ in one thing. Write a few, one a line, in the words of the others, and note the right answers first.


# %% tags=["live"]
@torch.no_grad()
def judge(lines):  # each one's probability of a good outcome; unknown words are left out
    for text in lines.splitlines():
        x = torch.tensor([[1, *(ids[w] for w in text.split()[:23] if w in ids)]], device=device)
        print(text)
        for k in ["bag", *kinds]:
            models = [bag] if k == "bag" else [runs[seed][k] for seed in range(4)]
            good = (model(x, x > 0)[0].softmax(0)[1] for model in models)
            print(f"   {k:28}", *(f"{one:.2f}" for one in good))


type_text(judge, "they found the letter torn today .\nnobody found the letter torn today .")

# %% [markdown]
# ## 10c.4 Four together, or one for longer
#
# What can be done about it? Either take all four networks of a kind and average their probabilities, an **ensemble**: where they err by chance, they seldom err together. Or train one of them for four times as many steps.

# %% [markdown] tags=["exercise"]
# > **Exercise 10c.3 (warm-up, 5 minutes).** Write `mean_opinion(logits)`: `logits` is (M, B, K), of M networks for B texts and K labels; return the mean of their probabilities, (B, K).
# >
# > <details><summary>Hint</summary>First probabilities, then the mean. Over which axis is each?</details>


# %% tags=["stub"]
def mean_opinion(logits): ...  # -> (B, K)


# %% tags=["check"]
exercises.check_mean_opinion(mean_opinion)


# %% tags=["solution"]
def mean_opinion(logits):
    return logits.softmax(-1).mean(0)


# %% [markdown]
# A fair opponent of an ensemble isn't the mean of its members, which it beats nearly always, but the member that one would have used: the best on validation.
#
# **Predict.** The four causal, pre-trained networks are right in 95 or 96 % on average. Their ensemble?

# %% tags=["predict"]
guess = None  # per cent


# %% tags=["nbval-ignore-output"]
opinion = answer_or(mean_opinion, lambda logits: logits.softmax(-1).mean(0))


def ensemble(k):
    models = [runs[seed][k] for seed in range(4)]
    return lambda *x: opinion(torch.stack([model(*x) for model in models]))


together = {k: accuracy(ensemble(k), test) for k in kinds}
chosen = {k: right[k][known[k].argmax()] for k in kinds}
for k in kinds:
    print(f"{k:28} mean {right[k].mean():5.1f}, the best on validation {chosen[k]:5.1f},", end=" ")
    print(f"together {together[k]:5.1f}")
compare_guess(guess, together["causal, pre-trained"])
claim(gain_of_an_ensemble=np.mean([together[k] - right[k].mean() for k in kinds]))
claim(ensembles_ahead_of_the_chosen=sum(together[k] > chosen[k] for k in kinds))

# %% tags=["nbval-ignore-output"]
longer = [fine_tune(attend_past, s, starts["causal", s], steps=4000) for s in (0, 1)]
longer_right = [accuracy(model, test) for model in longer]
print("causal, pre-trained, 4,000 steps:", *(f"{one:.1f}" for one in longer_right))
claim(longer_at_least=min(longer_right))

# %% tags=["figure", "folded", "nbval-ignore-output"]
ax = plt.subplots(figsize=(6.8, 3.2))[1]
dots(ax, title="Four together help, and so does longer training")
for row, k in enumerate(kinds):
    ax.plot(together[k], -row, "k*", markersize=13)
ax.plot(longer_right, [-3.3] * 2, "D", color="C1")
ax.text(together[kinds[0]], 0.25, "together", ha="center")
ax.text(min(longer_right) - 0.5, -3.4, "4,000 steps", ha="right", color="C1")
figure("ensemble", alt="Stars, the ensembles, lie right of the middle of their dots.")

# %% [markdown]
# **An ensemble saves you the choice**: in most kinds it beats the member that validation would have chosen. What chance spoiled averages out; what most members get wrong, it gets wrong, too.
#
# The second way does as well and is cheaper: after 4,000 steps a causal, pre-trained network is right in 99 or 100 of 100 new statements, with either seed. (That is 5,000 steps with its pre-training, where four networks had 8,000.) So it leads after all? Only if the others don't gain as much.

# %% [markdown] tags=["exercise"]
# > **Exercise 10c.4 (investigate, 20 minutes).** Train the other three kinds for 4,000 steps, too, with the seeds 0 and 1, and complete the table. Does the lead hold? And is it the pre-training, the causal mask, or both together?
#
# |right, new templates|four of 1,000 steps, together|one of 4,000 steps, seeds 0 and 1|
# |---|---|---|
# |bidirectional|||
# |bidirectional, pre-trained|||
# |causal|||
# |causal, pre-trained|||
#
# > ```python
# > one = fine_tune(attend, 0, starts["bidirectional", 0], steps=4000)  # about 28 seconds
# > accuracy(one, test)
# > ```
# >
# > <details><summary>What we found</summary>Bidirectional 86 and 91, bidirectional and pre-trained 93 and 86, causal 93 and 87, causal and pre-trained 100 and 100 (with the seeds 2 and 3 it was right in 99.7 and 98.9). So the lead is real, and a thousand steps were too few to see it; it takes both, the mask and the pre-training. With two other splits of the templates, <code>statements(split=1)</code> and <code>2</code>, it was 100.0 and 99.6, seed 0. Is it the number of targets, seven times as many when every word is one? Three encoders that filled in masked tokens for 7,000 steps came to 90, 90 and 85 after 4,000 on labels. That isn't it. We don't know what is.</details>

# %% [markdown]
# ## What you now have
#
# - **Which network is better?** One run can't say, and here four of each couldn't: the seed moves a network as much as the kinds differ. Longer training settled it: causal and pre-trained, on these statements.
# - A head on the last vector, and fine-tuning; a bag of words and bigrams as the baseline.
# - What to report: several seeds with a standard error; a table by template, and minimal pairs for what you need; an ensemble where you can't choose.
#
# **What still fails.** *Nobody*, in three of the four kinds. Two templates of training don't say what the word does, so chance decides.

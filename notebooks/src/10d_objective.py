# %% [markdown]
# # 10d · Where does a network keep what it knows?
#
# A GPT can't know at *dry* that *a dry cake* is about food: the cake comes later. But in *the cake would be dry* it comes first. Then its vector of *dry* could know as much as an encoder's. Does it?
#
# **Afterwards you can** ask a network what it knows at which word, tell what the causal mask does from what the objective does, and say what a probe doesn't prove.
#
# **Before**: lesson 10 (masked tokens, probes).
#
# **Runs in** {runs_in}. **Study time** {study}.
#
# **Sources**: probes, Alain and Bengio (2016); that the objective decides where a transformer keeps what it knows, Voita, Sennrich and Titov (2019); latent semantic analysis, Deerwester et al. (1990). All statements here were written for this course.

# %% tags=["setup", "machine"]
import matplotlib.pyplot as plt
import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

from coursekit.data.statements import number_words, statements
from coursekit.exercises import answer_or
from coursekit.exercises import objective as exercises
from coursekit.notebook import Score, claim, claim_order, compare_guess, figure, setup

device = setup("10d_objective", seed=42)

# %% [markdown]
# ## 10d.1 The cake comes first
#
# The statements are those of lesson 10. Take all that end with *would be dry*, so that the words around *dry* are the same in each: twelve of the training, to learn from, and twelve of the new templates, to judge. Half of them are about the kitchen, half about the weather. (Each twelve come from two templates: a small sample.)

# %%
from coursekit.windows.masking import pad_texts

train, validation, test = statements()
ids = number_words([one.text for one in train])


def read(texts):  # tokens, (N, T); 0 is padding
    rows = [[1, *(ids[word] for word in text.split())] for text in texts]  # 1 is [CLS]
    return pad_texts(rows, multiple_of=8)[0].to(device)


def choose(part, ending=""):  # statements with dry; 1 for the weather, 0 for the kitchen
    some = [one for one in part if "dry" in one.text.split() and one.text.endswith(ending)]
    topics = torch.tensor([int(one.domain == "weather") for one in some], device=device)
    return [one.text for one in some], topics


learn, judge = choose(train, "would be dry ."), choose(test, "would be dry .")
print("to learn from:", learn[0][0], "to judge:", judge[0][0], sep="\n")

# %% [markdown]
# The networks are those of lesson 10, of the library's parts: two layers, 32 channels. `attend` looks both ways, `attend_past` to the left. Each is trained on the 2,176 statements for 1,500 steps of 64, the GPTs, too, though they have a target at every word; 10d.2 gives them as many targets as the others. Each either fills in masked words (`hide_some`) or predicts each next word (`next_words`).

# %%
from coursekit.layers.attention import attend, attend_past
from coursekit.models.encoder import Encoder, EncoderConfig
from coursekit.windows.masking import mask_tokens

sizes = EncoderConfig(vocab_size=len(ids), context=24, d_model=32, dropout=0.0)
tokens = read([one.text for one in train])


class OurModel(nn.Module):
    def __init__(self, rule):
        super().__init__()
        self.encoder, self.output = Encoder(sizes, rule=rule), nn.Linear(32, len(ids))

    def forward(self, x):
        return self.output(self.encoder(x, x > 0))


def hide_some(x, g):  # 15 % are chosen; of these 80, 10, 10 %
    return mask_tokens(x, 3, len(ids), g, maskable=x >= 4, lowest=4)


def next_words(x, g):
    after = F.pad(x[:, 1:], (0, 1))  # nothing comes after the last
    return x, after.where(after >= 4, -100)


# %%
from coursekit.evaluate.likelihood import next_token_loss
from coursekit.training.fit import fit
from coursekit.training.optimiser import adamw, warm_up_cosine


def pretrain(seed, rule, task, steps=1500):
    torch.manual_seed(seed)
    model, g = OurModel(rule).to(device), torch.Generator().manual_seed(seed)
    picks = (tokens[torch.randint(len(tokens), (64,), generator=g)] for _ in range(steps))
    options = {"steps": steps, "schedule": warm_up_cosine(steps), "clip": 1.0}
    batches = (task(x, g) for x in picks)
    fit(model, adamw(model, 5e-3, weight_decay=0.01), batches, loss=next_token_loss, **options)
    return model.eval()


# %% tags=["nbval-ignore-output"]
encoders = [pretrain(seed, attend, hide_some) for seed in range(4)]

# %% tags=["nbval-ignore-output"]
gpts = [pretrain(seed, attend_past, next_words) for seed in range(4)]

# %% [markdown]
# The probe is that of lesson 10: a logistic regression learns from `n` vectors, half of each topic, and judges those of the new templates. We report the mean of twenty draws. Both topics count the same, so that chance is 50 %. (New is only that `n` may be more than two.)

# %%
from coursekit.models.bag import count_words, fit_logistic


@torch.no_grad()
def vectors_of(word, model, texts):  # in each text, at this word
    x = read(texts)
    vectors = model.encoder(x, x > 0)[x == ids[word]]
    return F.pad(vectors, (0, 1), value=1.0)  # a 1 for the bias


def ask(v, topics, v_new, topics_new, n=2):  # per cent right
    assert n // 2 <= topics.bincount().min(), "fewer labels than that"
    right = []
    for seed in range(20):
        order = torch.randperm(len(v), generator=torch.Generator().manual_seed(seed)).to(device)
        some = torch.cat([order[topics[order] == topic][: n // 2] for topic in (0, 1)])
        weights = fit_logistic(v[some], topics[some], 2, decay=0.01)
        hit = (v_new @ weights).argmax(1) == topics_new
        right += [hit[topics_new == topic].double().mean().item() for topic in (0, 1)]
    return 100 * np.mean(right)


def probe(models, word, n=2, learn=learn, judge=judge):  # a number a model
    both = [[vectors_of(word, one, part[0]) for part in (learn, judge)] for one in models]
    return np.array([ask(v, learn[1], v_new, judge[1], n) for v, v_new in both])


# %% [markdown]
# **Predict.** From two examples, the probe of the encoders is right 95 % of the time at this *dry*. And that of the GPTs, which have read *cake*, too?

# %% tags=["predict"]
guess = None  # per cent

# %% tags=["nbval-ignore-output"]
of_encoders, of_gpts = (probe(models, "dry").mean() for models in (encoders, gpts))
compare_guess(guess, of_gpts)
claim(encoder_at_dry=of_encoders, gpt_at_dry=of_gpts)

# %% [markdown]
# Only 63 %, though the cake is there to be read. Why? A GPT differs from an encoder in two ways. It can't look to the right; and it predicts the next word instead of masked ones. Which is it? Change one thing at a time: train a third kind that is causal like a GPT, but fills in masked words. (The fourth combination, next words without a causal mask, would copy its answers.)
#
# **Predict.** What will its *dry* know? If it is the mask, about 63 %; if the objective, about 95.

# %% tags=["predict"]
guess = None  # per cent

# %% tags=["nbval-ignore-output"]
causal_masked = [pretrain(seed, attend_past, hide_some) for seed in range(4)]
rows = {"encoders": probe(encoders, "dry"), "causal, masked": probe(causal_masked, "dry")}
rows["GPTs"] = probe(gpts, "dry")
of_encoders, of_masked, of_gpts = (right.mean() for right in rows.values())
compare_guess(guess, of_masked)
claim(masked_at_dry=of_masked)
claim(objective_over_mask=(of_masked - of_gpts) - (of_encoders - of_masked))

# %% tags=["figure", "folded", "nbval-ignore-output"]
ax = plt.subplots(figsize=(7.2, 3))[1]
for k, ((name, right), color) in enumerate(zip(rows.items(), ("C0", "C2", "C1"), strict=True)):
    ax.barh(name, right.mean() - 50, 0.86, left=50, color=color, alpha=0.35)
    for seed, one in enumerate(right):
        ax.text(one, k - 0.26 + 0.17 * seed, seed, ha="center", va="center", fontsize=10)
ax.set(xlim=(49, 102), ylim=(2.5, -0.5), title="Mostly the objective")
ax.set_xlabel("right at dry (%), chance is 50; bars: means, digits: seeds")
figure("mask-or-objective", alt="Encoders 95 per cent, causal masked networks 89, GPTs 63.")

# %% [markdown]
# 89 %. Right of this *dry* stands only a full stop, so the causal mask hides little, and costs little if anything. Most of it is the **objective**. What is it about it?
#
# ## 10d.2 Where it predicts with it
#
# What does a GPT have to predict at *dry*? What comes after, the full stop, and the topic is no help with that. A network that fills in masked words has to predict *dry* itself there, when it is hidden, and may be asked for it when it isn't. The GPT does that one word earlier, at *be*.
#
# |at|*would*|*be*|*dry*|the full stop|
# |---|---|---|---|---|
# |a GPT predicts|be|**dry**|.||
# |one that fills in masks predicts, if the word is hidden|would|be|**dry**|.|
#
# So ask all networks, at all of the last four words, and four networks without any training.

# %% tags=["nbval-ignore-output"]
torch.manual_seed(42)
untrained = [OurModel(attend_past).to(device).eval() for _ in range(4)]
networks = {"encoders": encoders, "causal, masked": causal_masked, "GPTs": gpts}
networks["GPTs, 225 steps"] = [pretrain(seed, attend_past, next_words, 225) for seed in range(4)]
networks["untrained"] = untrained
words = ("would", "be", "dry", ".")
found = {  # a row for each word, a column for each network
    name: np.array([probe(models, word) for word in words]) for name, models in networks.items()
}
claim(gpt_at_be=found["GPTs"][1].mean(), gpt_elsewhere=found["GPTs"][[0, 2, 3]].mean(1).max())
claim(brief_gpt_at_be=found["GPTs, 225 steps"][1].mean())

# %% tags=["nbval-ignore-output"]
x = read(judge[0])  # errors are compared on the same statements
wrong = {name: [Score(100 - one, on=x) for one in found[name].mean(1)] for name in networks}
claim_order(objective_matters=[wrong[name][2] for name in ("causal, masked", "GPTs")])
claim_order(gpt_at_be_over_dry=wrong["GPTs"][1:3])
claim_order(brief_gpt_at_be_over_dry=wrong["GPTs, 225 steps"][1:3])

# %% tags=["figure", "folded", "nbval-ignore-output"]
ax = plt.subplots(figsize=(7.6, 4.4))[1]
colors = dict(zip(networks, ("C0", "C2", "C1", "C1", "0.6"), strict=True))
for name, right in found.items():
    line = "--" if "225" in name else "-"
    ax.plot(right.mean(1), line, marker="o", color=colors[name], linewidth=2.5)
    if "225" not in name:
        ax.plot(right, color=colors[name], linewidth=0.7, alpha=0.3)
heights = dict(zip(networks, (80, 74.5, 63, 68, 53), strict=True))
for name, height in heights.items():
    ax.text(3.1, height, name, color=colors[name], va="center")
ax.set_xticks(range(4), ["would", "be", "dry", "full stop"])
ax.set(xlim=(-0.1, 4.4), ylim=(44, 103), ylabel="right (%), chance is 50; thin: seeds")
ax.set_title("In a GPT the topic stands out where it predicts with it")
figure("objective", alt="GPTs 68, 100, 63, 65 per cent; masked networks 75 or more everywhere.")

# %% [markdown]
# There it is, 100 % in all four GPTs, at *be*. **The same job, one word earlier: in a GPT two examples find the topic where it predicts with it.** With 225 steps, and so as many targets as the others, the GPTs (dashed) show less of everything, but still more before *dry* than at it: 82 and 75 % at *would* and *be*, 53 at *dry*.
#
# In all four seeds the GPTs show more of it at *be* than at *dry*, after 225 steps and after 1,500, and less at *dry* than the causal masked networks. What those need the topic for at *would*, we don't know.
#
# So "what does the vector of this word know?" is a question about the objective, too. If you take vectors from a GPT that isn't fine-tuned, for search or for a classifier, try more than one position. (Voita, Sennrich and Titov (2019) follow larger models layer by layer: in language models vectors lose the past and gain the future; in masked ones they first lose the word itself and then rebuild it.)

# %% [markdown] tags=["exercise"]
# > **Exercise 10d.1 (investigate, 15 minutes).** Is the topic *gone* from a GPT's *dry*, or only harder to find? Give the probe more examples: `probe(gpts, "dry", n=6)`. (With 12 they are all there are, in each of the twenty draws.) Complete the table with means over the seeds. And what tells you that a probe with twelve examples doesn't just learn the twelve by heart?
# >
# > <details><summary>Hint</summary>It judges statements that it hasn't seen. And there is a row of networks that know nothing.</details>
#
# |at *dry*, examples|2|6|12|
# |---|---|---|---|
# |encoders|95|||
# |GPTs|63|||
# |untrained||||
#
# > <details><summary>What we found</summary>Encoders 95, 100 and 100, GPTs 63, 75 and 88, untrained 54, 51 and 50. So most of it is there, but it takes more examples to find; in untrained networks twelve find nothing. How many examples a probe needs says as much as how often it is right (Voita and Titov 2020 measure it in bits).</details>

# %% [markdown]
# ## 10d.3 What would counting find?
#
# 95 % at an encoder's *dry*: is that much? The networks have read 2,176 statements without labels. A count of words can use them, too. **Latent semantic analysis** (LSA, Deerwester et al. 1990) gives each word a few numbers, positive or negative, so that words that often occur together have similar ones. A singular value decomposition finds them: it writes the table of counts as a sum of tables, each of them one list of numbers for the words times one for the statements. The first list explains as much of the counts as one list can, the second as much of what is left, and so on. No network, no steps. Could the probe do as well with that?

# %% [markdown] tags=["exercise"]
# > **Exercise 10d.2 (build, 15 minutes).** Write `word_lists(counts, n)`. `counts`, (N, V), says how often each word stands in each statement. Multiply each column by log(N / number of statements with this word), so that rare words count more (**tf–idf**; a word that no statement has keeps a column of zeros). Take the singular value decomposition of that, and return the n right singular vectors that belong to the largest singular values, as columns, each row again multiplied by the word's weight: (V, n). With those weights in the lists, `counts @ word_lists(counts, n)` gives n numbers for each statement, also for new ones.
# >
# > <details><summary>Hint 1</summary><code>counts.count_nonzero(0)</code> is the number of statements with each word. Keep it from being 0 with <code>clamp</code>.</details>
# > <details><summary>Hint 2</summary><code>torch.linalg.svd(x, full_matrices=False).Vh</code> has the right singular vectors as rows, the largest first.</details>


# %% tags=["stub"]
def word_lists(counts, n): ...  # -> (V, n)


# %% tags=["check"]
exercises.check_word_lists(word_lists)


# %% tags=["solution"]
def word_lists(counts, n):
    weight = torch.log(len(counts) / counts.count_nonzero(0).clamp(min=1))
    return weight[:, None] * torch.linalg.svd(counts * weight, full_matrices=False).Vh[:n].T


# %% [markdown]
# How many lists? The text doesn't say, so ask the validation set, as for a learning rate. We now take *all* statements with *dry*: 269 to draw two from, 110 of new templates to judge.
#
# **Predict.** Four lists, one for each of the four topics that there are? Or more?

# %% tags=["predict"]
guess = None  # lists, 2 to 32

# %% tags=["nbval-ignore-output"]
from coursekit.models.bag import latent_lists

make_lists = answer_or(word_lists, latent_lists)  # the library's
known, held_out, new = map(choose, (train, validation, test))  # all statements with dry
every = count_words(tokens, len(ids), lowest=4)


def ask_lists(n, learn, judge):
    lists = make_lists(every, n)
    v, v_new = (count_words(read(part[0]), len(ids), lowest=4) @ lists for part in (learn, judge))
    return ask(v, learn[1], v_new, judge[1])


numbers = (2, 3, 4, 5, 6, 7, 8, 12, 16, 32)
on_validation, on_test = ([ask_lists(n, known, part) for n in numbers] for part in (held_out, new))
best = numbers[np.argmax(on_validation)]
compare_guess(guess, best)
for k, column in enumerate(make_lists(every, best).T.tolist()):
    ranked = sorted(list(ids)[4:], key=lambda word: column[ids[word]])
    print(f"list {k + 1}:", *ranked[:6], "…", *ranked[-6:])


# %% tags=["nbval-ignore-output"]
@torch.no_grad()
def mean_vectors(model, texts):  # what counting sees, too: the whole statement
    x = read(texts)
    present = (x > 0)[..., None]
    return F.pad((model.encoder(x, x > 0) * present).sum(1) / present.sum(1), (0, 1), value=1.0)


right, of_mean = {}, {}
for name, (some, others) in {"twelve": (learn, judge), "all": (known, new)}.items():
    right[name] = probe(encoders, "dry", learn=some, judge=others)
    both = [[mean_vectors(one, part[0]) for part in (some, others)] for one in encoders]
    of_mean[name] = np.mean([ask(v, some[1], v_new, others[1]) for v, v_new in both])
    of_lists = ask_lists(best, some, others)
    print(f"{len(others[0]):3} statements: lists {of_lists:.0f},", end=" ")
    print(f"mean vector {of_mean[name]:.0f}, dry {right[name].mean():.0f}")
    claim(**{f"lists_of_{name}": of_lists})
claim(encoder_at_every_dry=right["all"].mean(), mean_vector_of_all=of_mean["all"])

# %% tags=["figure", "folded", "nbval-ignore-output"]
ax = plt.subplots(figsize=(7.2, 4))[1]
for name, curve, color in (("validation", on_validation, "0.6"), ("test", on_test, "C0")):
    ax.plot(numbers, curve, "o-", color=color)
    ax.text(34, curve[-1], name, color=color, va="center")
ax.axhspan(right["all"].min(), right["all"].max(), color="C1", alpha=0.25)
ax.text(34, right["all"].mean(), "four encoders,\nat dry", color="C1", va="center")
ax.set_xscale("log")
ax.set_xticks(numbers, numbers)
ax.minorticks_off()
ax.set(xlim=(1.8, 70), ylim=(44, 102), xlabel="lists", ylabel="right (%), chance is 50")
ax.set_title("Counting needs the right number of lists")
figure("lists", alt="Near 50 up to four lists, 88 at five, then falling; encoders at 91 to 99.")

# %% [markdown]
# With four lists it is no better than a coin, and the printed words, from both ends of each list, say why: the third sets trains apart, the fourth parcels, and only the fifth the kitchen from the weather. With many lists two examples can't tell which of them matter (with 100 examples, 32 lists are never wrong: tested).
#
# With five, chosen on validation, counting is right 88 % of the time on all statements: less often than all four encoders at *dry*, but more often than with the mean of an encoder's vectors, which has seen the whole statement as counting has. And of the twelve statements both are always right. **That a probe is right shows that something is there; only a rival shows how much of it is the network's work.** The topic of a *statement* can be told without one. What the network adds is the topic in the vector of a *word*.

# %% [markdown]
# ## What you now have
#
# - **Where does a network keep what it knows?** A GPT has the topic ready at *be*, where it predicts a word with it. At *dry* it is harder to find: 63 % from two examples, 88 from twelve. Networks that fill in masked words show it at every word that we asked, on average.
# - A comparison that changes one thing at a time, the causal mask or the objective. (An objective is several things still: which word is predicted, how often, and from what.)
# - Two things to ask of each probe: how many examples it needs, and what counting would find.
#
# **What still fails.** Everything here is one word, *dry*, and a vocabulary of 72 words. Probes say what *can* be read from a vector, not what the network does with it; for that, switch parts off, as in [lesson 10](10_encoder.ipynb).

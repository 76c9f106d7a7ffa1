# %% [markdown]
# # 10d · Where does a network keep what it knows?
#
# A GPT can't know at *dry* that *a dry cake* is about food: the cake comes later. But in *the cake would be dry* it comes first. Then its vector of *dry* could know as much as an encoder's. Does it?
#
# **Afterwards you can** ask a network what it knows at which word, tell what the causal mask does from what the objective does, and say how easy it is to find.
#
# **Before**: lesson 10 (masked tokens, probes).
#
# **Runs in** {runs_in}. **Study time** {study}.
#
# **Sources**: probes, Alain and Bengio (2016); that the objective decides where a transformer keeps what it knows, Voita, Sennrich and Titov (2019). All statements here were written for this course.

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
# The statements are those of lesson 10. Take all that end with *would be dry*, so that the words around *dry* are the same in each: twelve of the training, to learn from, and twelve of the new templates, to judge. Half of them are about the kitchen, half about the weather. (Each twelve are made from two templates: a small sample, and the errors below count seeds only.)

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
# The networks are those of lesson 10, of the library's parts: two layers, 32 channels. `attend` looks both ways, `attend_past` to the left. Each is trained on the 2,176 statements for 1,500 steps of 64, and either fills in masked words (`hide_some`) or predicts each next word (`next_words`). (So the GPTs, with a target at every word, have more of them. In 10d.2 they get as many as the others.)

# %%
from coursekit.layers.attention import attend, attend_past
from coursekit.models.encoder import Encoder, EncoderConfig
from coursekit.windows.masking import mask_tokens, targets_after

sizes = EncoderConfig(vocab_size=len(ids), context=24, d_model=32, dropout=0.0)
tokens = read([one.text for one in train])


class OurModel(nn.Module):
    def __init__(self, rule):
        super().__init__()
        self.encoder, self.output = Encoder(sizes, rule=rule), nn.Linear(32, len(ids))

    def forward(self, x):
        return self.output(self.encoder(x, x > 0))


# %% [markdown] tags=["exercise"]
# > **Exercise 10d.1 (warm-up, 5 minutes).** Write `next_targets(tokens)`, what a GPT has to predict: `tokens` is (B, T), and so are the targets. At each position it is the next token; −100, no target, where that isn't a word (ids below 4) or where nothing comes next.
# >
# > <details><summary>Hint</summary><code>F.pad(x, (0, 1))</code> puts a 0 at the end of each row; <code>a.where(condition, b)</code> takes a where it is true, and b elsewhere.</details>


# %% tags=["stub"]
def next_targets(tokens): ...  # (B, T) -> (B, T)


# %% tags=["check"]
exercises.check_next_targets(next_targets)


# %% tags=["solution"]
def next_targets(tokens):
    after = F.pad(tokens[:, 1:], (0, 1))
    return after.where(after >= 4, -100)


# %%
shift = answer_or(next_targets, targets_after)  # the library's


def hide_some(x, g):  # 15 % are chosen; of these 80, 10, 10 %
    return mask_tokens(x, 3, len(ids), g, maskable=x >= 4, lowest=4)


def next_words(x, g):
    return x, shift(x)


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
from coursekit.models.bag import fit_logistic


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
# **Predict.** From two examples, the probe of the encoders is right 95 % of the time at this *dry*. And that of the GPTs, which have read *cake*, too? (And *fresh* or *tasty*: lesson 10 tells the two apart, we don't here.)

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
error = {name: right.std(ddof=1) / 2 for name, right in rows.items()}  # standard, of four seeds
for worse, better in (("causal, masked", "encoders"), ("GPTs", "causal, masked")):
    lead = rows[better].mean() - rows[worse].mean()
    print(f"{better} lead {worse} by {lead:.0f} ± {np.hypot(error[better], error[worse]):.0f}")
of_masked = rows["causal, masked"].mean()
compare_guess(guess, of_masked)
claim(masked_at_dry=of_masked)

# %% tags=["figure", "folded", "nbval-ignore-output"]
ax = plt.subplots(figsize=(7.2, 3))[1]
for k, ((name, right), color) in enumerate(zip(rows.items(), ("C0", "C2", "C1"), strict=True)):
    ax.barh(name, right.mean() - 50, 0.86, left=50, color=color, alpha=0.35)
    for seed, one in enumerate(right):
        ax.text(one, k - 0.26 + 0.17 * seed, seed, ha="center", va="center", fontsize=10)
ax.set(xlim=(49, 102), ylim=(2.5, -0.5), title="It is the objective")
ax.set_xlabel("right at dry (%), chance is 50; bars: means, digits: seeds")
figure("mask-or-objective", alt="Encoders 95 per cent, causal masked networks 89, GPTs 63.")

# %% [markdown]
# 89 %. Whether the causal mask costs anything, four seeds can't tell: 6 ± 7 points (right of this *dry* stands only a full stop). But the **objective** costs 26 ± 8, at this word. How does it do that?
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
# So ask all networks, at all of the last four words, and four causal networks without any training, with PyTorch's own initial weights as in lesson 10.


# %% tags=["nbval-ignore-output"]
def as_pytorch_starts(part):  # larger weights than BERT's: attention isn't all even
    if isinstance(part, nn.Linear | nn.Embedding):
        part.reset_parameters()


torch.manual_seed(42)
untrained = [OurModel(attend_past).apply(as_pytorch_starts).to(device) for _ in range(4)]
networks = {"encoders": encoders, "causal, masked": causal_masked, "GPTs": gpts}
networks["GPTs, 225 steps"] = [pretrain(seed, attend_past, next_words, 225) for seed in range(4)]
networks["untrained"] = untrained
words = ("would", "be", "dry", ".")
found = {  # a row for each word, a column for each network
    name: np.array([probe(models, word) for word in words]) for name, models in networks.items()
}
claim(untrained_at_dry=found["untrained"][2].mean(), gpt_at_be=found["GPTs"][1].mean())
claim(gpt_elsewhere=found["GPTs"][[0, 2, 3]].mean(1).max())
claim(brief_gpt_at_be=found["GPTs, 225 steps"][1].mean())

# %% tags=["nbval-ignore-output"]
x = read(judge[0])  # errors are compared on the same statements
wrong = {name: [Score(100 - one, on=x) for one in found[name].mean(1)] for name in networks}
claim_order(objective_matters=[wrong[name][2] for name in ("causal, masked", "GPTs")])
claim_order(gpt_at_be_over_dry=wrong["GPTs"][1:3])
claim_order(brief_gpt_at_be_over_dry=wrong["GPTs, 225 steps"][1:3])

# %% tags=["figure", "folded", "nbval-ignore-output"]
axes = plt.subplots(1, 4, figsize=(10, 3.4), sharex=True, sharey=True)[1]
colors = {"encoders": "C0", "causal, masked": "C2", "GPTs": "C1", "untrained": "0.5"}
for ax, (name, color) in zip(axes, colors.items(), strict=True):
    ax.plot(found[name], color=color, linewidth=0.8, alpha=0.4)
    ax.plot(found[name].mean(1), "o-", color=color, linewidth=3)
    ax.set_title(name, color=color)
    ax.set_xticks(range(4), ["would", "be", "dry", "."])
axes[2].plot(found["GPTs, 225 steps"].mean(1), "o--", color="C1")
axes[2].text(0, 84, "225 steps", color="C1", fontsize=10)
axes[0].set(ylim=(44, 103), ylabel="right (%), chance is 50; thin: seeds")
axes[0].figure.suptitle("After 1,500 steps a GPT has the topic at be, where it predicts dry")
figure("objective", alt="GPTs 68, 100, 63, 65 per cent; masked networks 75 or more everywhere.")

# %% [markdown]
# There it is, 100 % in all four GPTs, at *be*. **The same job, one word earlier: after 1,500 steps two examples find the topic where a GPT predicts with it.** The GPTs have had more targets than the others. With 225 steps, and so as many (dashed), they are at 82, 75 and 53 % at *would*, *be* and *dry*: the topic is there before *dry*, less sharply, and again not at it. What a network needs it for at *would*, where *be* comes next for certain, we don't know; the causal masked networks have it there, too.
#
# And the untrained ones? About 64 % at each word. Whatever has read the cake carries a little of it, trained or not (in lesson 10 the untrained had 51 %, on statements that differ much more than these). So to two examples a GPT's *dry* shows no more than an untrained network's.
#
# So "what does the vector of this word know?" is a question about the objective, too. If you take vectors from a GPT that isn't fine-tuned, for search or for a classifier, try more than one position. (Voita, Sennrich and Titov (2019) follow larger models layer by layer: in language models vectors lose the past and gain the future; in masked ones they first lose the word itself and then rebuild it.)

# %% [markdown]
# ## 10d.3 Gone, or harder to find?
#
# Is the topic gone from a GPT's *dry*? Two examples are few. Give the probe more of them, up to all twelve (then each of the twenty draws is the same).
#
# **Predict.** Of twelve new statements, how often is the probe of a GPT's *dry* right, if it has learned from twelve?

# %% tags=["predict"]
guess = None  # per cent

# %% tags=["nbval-ignore-output"]
sizes_of_draws = (2, 4, 6, 8, 10, 12)
curves = {  # a row for each number of examples, a column for each network
    name: np.array([probe(models, "dry", n=n) for n in sizes_of_draws])
    for name, models in networks.items()
    if name in ("encoders", "GPTs", "untrained")
}
with_twelve = {name: curve[-1].mean() for name, curve in curves.items()}
compare_guess(guess, with_twelve["GPTs"])
claim(gpt_with_twelve=with_twelve["GPTs"], untrained_with_twelve=with_twelve["untrained"])
claim(encoder_with_twelve=with_twelve["encoders"])

# %% tags=["figure", "folded", "nbval-ignore-output"]
ax = plt.subplots(figsize=(7.2, 4))[1]
for name, curve in curves.items():
    ax.plot(sizes_of_draws, curve.mean(1), "o-", color=colors[name], linewidth=2.5)
    ax.plot(sizes_of_draws, curve, color=colors[name], linewidth=0.7, alpha=0.3)
    ax.text(12.3, curve[-1].mean(), name, color=colors[name], va="center")
ax.set_xticks(sizes_of_draws)
ax.set(xlim=(1.6, 14.6), ylim=(38, 103), xlabel="examples", ylabel="right at dry (%); thin: seeds")
ax.set_title("At a GPT's dry: not much more than in an untrained network")
figure("examples", alt="Encoders 95 to 100, GPTs rising from 63 to 88, untrained from 64 to 77.")

# %% [markdown]
# From twelve examples it is 88 %: so it is there. But in untrained networks, which have read the cake as well, it is 77 %, and four of each, between 58 and 100, don't tell the two apart. **A GPT's training has made the topic easy to find where it predicts with it, and we can't see that it has changed it at *dry*.** This is why a probe needs such a control (another are random labels: Hewitt and Liang 2019), and why the number of examples belongs to its result (Voita and Titov 2020 measure it in bits).
#
# Does a number like 95 % show that a network was needed? No. Counting words tells these topics, too: latent semantic analysis (Deerwester et al. 1990), which describes a statement by a few numbers, tells that of all statements with *dry* in 88 % of cases, from two examples ([tested](../tests/test_encoder_lesson.py); how many numbers was chosen on validation labels). What the network adds is the topic in the vector of a *word*. And *where* it lies there counting can't say.

# %% [markdown] tags=["exercise"]
# > **Exercise 10d.2 (investigate, 15 minutes).** And on the way, after the first layer? Complete the table with means over the seeds, from two examples. Does a GPT lose the topic at *dry* in its second layer, or has it never been there?
# >
# > <details><summary>Hint</summary>Make copies of the networks with <code>deepcopy</code> and keep the first block only: <code>one.encoder.blocks = one.encoder.blocks[:1]</code>. The rest of the encoder goes on as it is.</details>
#
# |right, %|*be*, one layer|*be*, both|*dry*, one layer|*dry*, both|
# |---|---|---|---|---|
# |encoders||83||95|
# |GPTs||100||63|
# |untrained||63||64|
#
# > <details><summary>What we found</summary>After one layer: encoders 57 at <em>be</em> and 64 at <em>dry</em>, GPTs 91 and 59, untrained 59 and 60. So the GPTs have it at <em>be</em> after one layer already, where the cake is two words away, and at <em>dry</em> it isn't easier to find in either layer than without training. The encoders need both. (One run of four seeds, twelve statements.)</details>

# %% [markdown]
# ## What you now have
#
# - **Where does a network keep what it knows?** After 1,500 steps a GPT has the topic ready at *be*, where it predicts *dry* with it. At *dry* we can't tell it from an untrained network: 63 % against 64 from two examples, 88 against 77 from twelve. Networks that fill in masked words show it at every word that we asked, on average.
# - A comparison that changes one thing at a time, the causal mask or the objective. (An objective is several things still: which word is predicted, how often, and from what.)
# - What to ask of each probe: how many examples it needs, what it finds in untrained networks, and what counting would find.
#
# **What still fails.** A dry cake is bad and a dry walk good, so that what we call topic may as well be good or bad. And everything here is one word, *dry*, and a vocabulary of 72 words. Probes say what *can* be read from a vector, not what the network does with it; for that, take something away, as in [lesson 10](10_encoder.ipynb).

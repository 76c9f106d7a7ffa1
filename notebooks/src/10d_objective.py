# %% [markdown]
# # 10d · Where does a network keep what it knows?
#
# A GPT can't know at *dry* that *a dry cake* is about food: the cake comes later. But in *the cake would be dry* it comes first. Then its vector of *dry* could know as much as an encoder's. Does it?
#
# **Afterwards you can** ask a network what it knows at which word, tell what the causal mask does from what the objective does, and exchange a vector to see whether the network uses it.
#
# **Before**: lesson 10 (masked tokens, probes).
#
# **Runs in** {runs_in}. **Study time** {study}.
#
# **Sources**: probes, Alain and Bengio (2016); that the objective decides where a transformer keeps what it knows, Voita, Sennrich and Titov (2019); exchanged vectors, Vig et al. (2020), Geiger et al. (2021) and Meng et al. (2022). All statements here were written for this course.

# %% tags=["setup", "machine"]
import matplotlib.pyplot as plt
import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

from coursekit.data.statements import DOMAINS, number_words, statements
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


# %%
def hide_some(x, g):  # 15 % are chosen; of these 80, 10, 10 %
    return mask_tokens(x, 3, len(ids), g, maskable=x >= 4, lowest=4)


def next_words(x, g):  # at each word the next one
    return x, targets_after(x)


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

# %% [markdown] tags=["exercise"]
# > **Exercise 10d.1 (warm-up, 5 minutes).** Write the draw, `pick_balanced(topics, order, n)`. `topics` is (N,), 0 or 1 for each statement; `order` the numbers 0 to N − 1, shuffled. Return n of these numbers, in a tensor: the first n/2 in `order` that have topic 0, then the first n/2 that have topic 1.
# >
# > <details><summary>Hint</summary><code>topics[order]</code> are the topics in the shuffled order.</details>


# %% tags=["stub"]
def pick_balanced(topics, order, n): ...  # -> (n,)


# %% tags=["check"]
exercises.check_pick_balanced(pick_balanced)


# %% tags=["solution"]
def pick_balanced(topics, order, n):
    return torch.cat([order[topics[order] == topic][: n // 2] for topic in (0, 1)])


# %%
from coursekit.inside.probe import draw_balanced
from coursekit.models.bag import fit_logistic

pick = answer_or(pick_balanced, draw_balanced)  # the library's


@torch.no_grad()
def vectors_of(word, model, texts):  # in each text, at this word
    x = read(texts)
    vectors = model.encoder(x, x > 0)[x == ids[word]]
    return F.pad(vectors, (0, 1), value=1.0)  # a 1 for the bias


def ask(v, topics, v_new, topics_new, n=2):  # per cent right
    right = []
    for seed in range(20):
        order = torch.randperm(len(v), generator=torch.Generator().manual_seed(seed)).to(device)
        some = pick(topics, order, n)
        weights = fit_logistic(v[some], topics[some], 2, decay=0.01)
        hit = (v_new @ weights).argmax(1) == topics_new
        right += [hit[topics_new == topic].double().mean().item() for topic in (0, 1)]
    return 100 * np.mean(right)


def probe(models, word, n=2, learn=learn, judge=judge):  # a number a model
    both = [[vectors_of(word, one, part[0]) for part in (learn, judge)] for one in models]
    return np.array([ask(v, learn[1], v_new, judge[1], n) for v, v_new in both])


# %% [markdown]
# As a control, ask four causal networks without any training, too. (They have PyTorch's own initial weights, as in lesson 10. These are larger than BERT's, so that attention is less even.)


# %%
def as_pytorch_starts(part):
    if isinstance(part, nn.Linear | nn.Embedding):
        part.reset_parameters()


torch.manual_seed(42)
untrained = [OurModel(attend_past).apply(as_pytorch_starts).to(device) for _ in range(4)]

# %% [markdown]
# **Predict.** From two examples, the probe of the encoders is right 95 % of the time at this *dry*. And that of the GPTs, which have read *cake*, too? (And *fresh* or *tasty*: lesson 10 tells the two apart, we don't here.)

# %% tags=["predict"]
guess = None  # per cent

# %% tags=["nbval-ignore-output"]
kinds = encoders, gpts, untrained
of_encoders, of_gpts, of_untrained = (probe(models, "dry").mean() for models in kinds)
compare_guess(guess, of_gpts)
claim(encoder_at_dry=of_encoders, gpt_at_dry=of_gpts, untrained_at_dry=of_untrained)

# %% [markdown]
# Only 63 %, though the cake is there to be read: no more than the 64 % of networks that have never been trained. (Whatever has read the cake carries a little of it.) Why? A GPT differs from an encoder in two ways. It can't look to the right; and it predicts the next word instead of masked ones. Which is it? Change one thing at a time: train a third kind that is causal like a GPT, but fills in masked words. (The fourth combination, next words without a causal mask, would copy its answers.)
#
# **Predict.** What will its *dry* know? If it is the mask, about 63 %; if the objective, about 95.

# %% tags=["predict"]
guess = None  # per cent

# %% tags=["nbval-ignore-output"]
causal_masked = [pretrain(seed, attend_past, hide_some) for seed in range(4)]
rows = {"encoders": probe(encoders, "dry"), "causal, masked": probe(causal_masked, "dry")}
rows |= {"GPTs": probe(gpts, "dry"), "untrained": probe(untrained, "dry")}
error = {name: right.std(ddof=1) / 2 for name, right in rows.items()}  # standard, of four seeds
for worse, better in (("causal, masked", "encoders"), ("GPTs", "causal, masked")):
    lead = rows[better].mean() - rows[worse].mean()
    print(f"{better} lead {worse} by {lead:.0f} ± {np.hypot(error[better], error[worse]):.0f}")
of_masked = rows["causal, masked"].mean()
compare_guess(guess, of_masked)
claim(masked_at_dry=of_masked)

# %% tags=["figure", "folded", "nbval-ignore-output"]
ax = plt.subplots(figsize=(7.2, 3.6))[1]
for k, ((name, right), color) in enumerate(
    zip(rows.items(), ("C0", "C2", "C1", "0.5"), strict=True)
):
    ax.barh(name, right.mean() - 50, 0.86, left=50, color=color, alpha=0.35)
    for seed, one in enumerate(right):
        ax.text(one, k - 0.26 + 0.17 * seed, seed, ha="center", va="center", fontsize=10)
ax.set(xlim=(49, 102), ylim=(3.5, -0.5), title="It is the objective")
ax.set_xlabel("right at dry (%), chance is 50; bars: means, digits: seeds")
figure(
    "mask-or-objective",
    alt="Encoders 95 per cent, causal masked networks 89, GPTs 63, untrained 64.",
)

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
# So ask all networks, at all of the last four words. (GPTs have a target at every word, so they have had more of them. With 225 steps they have as many as the others.)

# %% tags=["nbval-ignore-output"]
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
axes = plt.subplots(1, 4, figsize=(10, 3.4), sharex=True, sharey=True)[1]
colors = {"encoders": "C0", "causal, masked": "C2", "GPTs": "C1", "untrained": "0.5"}
for ax, (name, color) in zip(axes, colors.items(), strict=True):
    ax.plot(found[name], color=color, linewidth=0.8, alpha=0.4)
    ax.plot(found[name].mean(1), "o-", color=color, linewidth=3)
    ax.set_title(name, color=color)
    ax.set_xticks(range(4), ["would", "be", "dry", "."])
axes[2].plot(found["GPTs, 225 steps"], "--", color="C1", linewidth=0.8, alpha=0.4)
axes[2].plot(found["GPTs, 225 steps"].mean(1), "o--", color="C1")
axes[2].text(2.15, 50, "225 steps", color="C1", fontsize=10)
axes[0].set(ylim=(44, 103), ylabel="right (%), chance is 50; thin: seeds")
axes[0].figure.suptitle("After 1,500 steps a GPT has the topic at be, where it predicts dry")
figure("objective", alt="GPTs 68, 100, 63, 65 per cent; masked networks 75 or more; untrained 64.")

# %% [markdown]
# There it is, 100 % in all four GPTs, at *be*. **The same job, one word earlier: after 1,500 steps two examples find the topic where a GPT predicts with it.** After 225 steps (dashed) it is 82, 75 and 53 % at *would*, *be* and *dry*: there before *dry*, less sharply, and again not at it.
#
# So "what does the vector of this word know?" is a question about the objective, too. If you take vectors from a GPT that isn't fine-tuned, for search or for a classifier, try more than one position. (Voita, Sennrich and Titov (2019) follow larger models layer by layer: in language models vectors lose the past and gain the future; in masked ones they first lose the word itself and then rebuild it.)
#
# ## 10d.3 Does the network use it?
#
# A probe shows what *can* be read from a vector, not that the network reads it. To see that, exchange the vector. Take a kitchen statement and one about the weather, of the same form, and let a GPT say what comes after *be*. Then run the kitchen statement again, but on the way put the vector of *be* from the other run in the place of its own. This is called **activation patching**.

# %% [markdown] tags=["exercise"]
# > **Exercise 10d.2 (build, 15 minutes).** Write `transplant(x, other, blocks, at, depth)`. `x` and `other` are the vectors of two batches before the first block, (B, T, C). Each of `blocks` is a layer: it takes such vectors and returns such. Run both batches through the first `depth` blocks. There, the vectors of x at position `at` become those of `other`. Run x through the remaining blocks, and return it. Neither `x` nor `other` may be changed in place.
# >
# > <details><summary>Hint 1</summary>Two loops, over <code>blocks[:depth]</code> and over <code>blocks[depth:]</code>.</details>
# > <details><summary>Hint 2</summary>Between them assign to <code>x[:, at]</code>. With <code>depth</code> 0 that x is still the one you were given, so <code>clone</code> it first.</details>


# %% tags=["stub"]
def transplant(x, other, blocks, at, depth): ...  # -> (B, T, C)


# %% tags=["check"]
exercises.check_transplant(transplant)


# %% tags=["solution"]
def transplant(x, other, blocks, at, depth):
    for block in blocks[:depth]:
        x, other = block(x), block(other)
    x = x.clone()
    x[:, at] = other[:, at]
    for block in blocks[depth:]:
        x = block(x)
    return x


# %%
from coursekit.inside.probe import patch_vector

exchange = answer_or(transplant, patch_vector)  # the library's


@torch.no_grad()
def predict(model, x, other, at, depth):  # the probability of each word, (B, T, V)
    e = model.encoder  # embed: the vectors before the first block
    vectors = exchange(e.embed(x), e.embed(other), e.blocks, at, depth)
    return model.output(vectors).softmax(-1)


# %%
form = "{w} had a {x} {s} but {w} thought the {s} would be {o} ."
texts = {topic: [] for topic in ("kitchen", "weather")}
for one in test:
    if one.template == form and one.domain in texts:
        texts[one.domain].append(one.text)
kitchen, weather = (read(some)[:, :15] for some in texts.values())  # 16 of each, no padding
be, dry = 12, 13  # their positions

# %% tags=["nbval-ignore-output"]
names = dict(zip(ids.values(), ids, strict=True))
for what, other in (("as it is", kitchen), ("be exchanged", weather)):
    found = predict(gpts[0], kitchen[:1], other[:1], be, 1)[0, be].topk(3)
    chances = zip(found.indices.tolist(), found.values.tolist(), strict=True)
    print(f"{what:13}", *(f"{names[i]} {100 * p:.0f} %" for i, p in chances), sep="  ")
print(*(some[0] for some in texts.values()), sep="\n")

# %% [markdown]
# The statement still says what it said; one vector of 32 numbers came from the other, after one layer, and this GPT (seed 0) speaks of the weather.
#
# Now all sixteen statements, all four GPTs, every position, and each depth. We add up the probabilities of five adjectives of the kitchen and of five of the weather, and ask how much of the sum the weather gets. Nothing exchanged, that is 2 %.
#
# **Predict.** On average over the four GPTs, with *be* exchanged after one layer?

# %% tags=["predict"]
guess = None  # per cent

# %%
words_of = {
    topic: torch.tensor(
        [ids[word] for word in " ".join(DOMAINS[topic][1:]).split() if word != "dry"]
    )
    for topic in texts
}


def of_weather(model, x, other, answer, at, depth):  # per cent
    p = predict(model, x, other, at, depth)[:, answer]
    k, w = (p[:, words].sum(1) for words in words_of.values())
    return 100 * (w / (k + w)).mean().item()


def trace(models, x, other, answer):  # (seeds, depths, positions)
    where = [[(at, depth) for at in range(15)] for depth in range(3)]
    return np.array(
        [[[of_weather(m, x, other, answer, *w) for w in row] for row in where] for m in models]
    )


# %% tags=["nbval-ignore-output"]
hidden = torch.tensor([3 if at == dry else 0 for at in range(15)], device=device)
masked = (torch.where(hidden > 0, hidden, x) for x in (kitchen, weather))
maps = {"GPTs": trace(gpts, kitchen, weather, be), "encoders": trace(encoders, *masked, dry)}
(of_gpt, of_encoder) = (one.mean(0)[1] for one in maps.values())  # after one layer
compare_guess(guess, of_gpt[be])
print("be exchanged, by seed:", maps["GPTs"][:, 1, be].round())
as_it_was = [of_gpt[0], of_encoder[0]]  # [CLS] exchanged for [CLS]
claim(gpt_as_it_was=as_it_was[0], gpt_with_be=of_gpt[be], gpt_with_would=of_gpt[be - 1])
claim(encoder_with_be=of_encoder[be], encoder_with_a_thing=min(of_encoder[[5, 10]]))

# %% tags=["figure", "folded", "nbval-ignore-output"]
axes = plt.subplots(2, 1, figsize=(9, 4.6))[1]
depths = ("before any layer", "after one layer", "after both")
for ax, (name, found), hole in zip(axes, maps.items(), ("be", "[MASK]"), strict=True):
    picture = ax.imshow(found.mean(0), "Oranges", vmin=0, vmax=140, aspect="auto")
    for depth, at in np.ndindex(3, 15):
        if (right := found.mean(0)[depth, at]) >= 4.5:
            ax.text(at, depth, f"{right:.0f}", ha="center", va="center")
    words = ["[CLS]", *texts["kitchen"][0].split()]
    words[dry] = "[MASK]" if hole == "[MASK]" else "?"
    ax.set_xticks(range(15), words, fontsize=9)
    ax.set_yticks(range(3), depths)
    ax.set_title(
        f"{name}, at {hole}: the weather's part (%) if this vector is exchanged", fontsize=11
    )
    ax.grid(visible=False)
axes[0].figure.suptitle("A GPT gathers the topic at be, an encoder asks the cake itself")
figure("transplants", alt="GPTs: the thing, and be after one layer. Encoders: the things only.")

# %% [markdown]
# **A GPT uses what the probe found at *be***: exchange that vector after one layer, and half of the prediction moves to the weather, by seed 11 to 100 %. (The second layer also reads the first *cake* itself once more.) At *would* an exchange moves nothing, whatever two examples find there.
#
# An encoder answers at the hidden word, and there its last layer reads the *cake* directly, both times that it is mentioned. An exchange at *be* moves nothing. (After both layers only the vector of the answering word counts, in any network.)
#
# Where something is easy to read and where it is used are two questions. The second takes an intervention: an exchange here, a ban in lesson 10. (It has its limits: half of such a run has read a cake and half a walk, as in no text of the training. On larger models: Meng et al. 2022.)

# %% [markdown] tags=["exercise"]
# > **Exercise 10d.3 (investigate, 15 minutes).** Is the topic gone from a GPT's *dry*, or only harder to find? Give the probe more examples, up to all twelve (then each of the twenty draws is the same), and complete the table with means over the seeds. Does the GPTs' *dry* know more than that of networks without any training? By how many standard errors?
# >
# > <details><summary>Hint</summary><code>probe(models, "dry", n=6)</code> gives a number for each model. Of a difference of two means of four, the squares of the standard errors add up, as above.</details>
#
# |right at *dry*, %|2 examples|6|12|
# |---|---|---|---|
# |encoders|95|||
# |GPTs|63|||
# |untrained|64|||
#
# > <details><summary>What we found</summary>Encoders 95, 100, 100; GPTs 63, 76 ± 7, 88 ± 7; untrained 64, 73 ± 5, 77 ± 9. So it is there, but in untrained networks, too, and four of each can't tell the two apart: 10 ± 11 points with twelve. This is why a probe needs such a control (another are random labels: Hewitt and Liang 2019), and why the number of examples belongs to its result (Voita and Titov 2020 measure it in bits).</details>

# %% [markdown]
# ## What you now have
#
# - **Where does a network keep what it knows?** Where its objective needs it. After 1,500 steps a GPT has the topic ready at *be*, where it predicts *dry* with it, and uses it there. At *dry* two examples find no more than in an untrained network. Networks that fill in masked words show it at every word that we asked, on average.
# - A comparison that changes one thing at a time, the causal mask or the objective. (An objective is several things still: which word is predicted, how often, and from what.)
# - Two tools: a probe, for what can be read, with untrained networks as its control; and activation patching, for what is used.
#
# **What still fails.** A dry cake is bad and a dry walk good, so that what we call topic may as well be good or bad. And everything here is one word, *dry*, and a vocabulary of 72 words, in which counting words tells the topic, too ([tested](../tests/test_encoder_lesson.py): 88 % of all statements with *dry*, from two examples, by latent semantic analysis, Deerwester et al. 1990). What the network adds is the topic in the vector of a *word*.

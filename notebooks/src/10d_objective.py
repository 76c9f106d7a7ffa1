# %% [markdown]
# # 10d · Where does a network keep what it knows?
#
# At *dry*, in *a dry cake*, a GPT can't know that this is about food: the cake comes later. But in *the cake would be dry* it comes first. Then the vector of *dry* could know as much in a GPT as in an encoder. Does it?
#
# **Afterwards you can** ask a network what it knows, at which word, and after which layer, choose examples so that the answer means one thing, and patch a vector inside a network to see whether the network uses it.
#
# **Before**: lesson 10 (masked tokens, probes).
#
# **Runs in** {runs_in}. **Study time** {study}.
#
# **Sources**: probes, Alain and Bengio (2016); that the objective decides where a transformer keeps what it knows, Voita, Sennrich and Titov (2019); exchanging vectors, Vig et al. (2020), Geiger et al. (2021) and Meng et al. (2022). All statements here were written for this course.

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
# From the statements of lesson 10 take those that end in *would be dry*. Half of them are about the kitchen, half about the weather, and the words right before and after *dry* are the same in all. Twelve come from training templates; from two of them at a time a probe will learn to tell the topic. Twelve come from new templates and test it.

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
print("to fit the probe:", learn[0][0], learn[0][2], "to test it:", judge[0][0], sep="\n")

# %% [markdown]
# The networks are those of lesson 10, built from the library's parts: two layers, 32 channels. Encoders look both ways (`attend`) and fill in masked words (`hide_some`). GPTs look to the left only (`attend_past`) and predict each next word (`next_words`). Both kinds train for 1,500 steps of 64 statements. (In lesson 10 GPTs had 225. With so few the result below is [no better](../tests/test_encoder_lesson.py).) We train four of each, which differ only in their seed. The code is that of lesson 10.

# %%
from coursekit.layers.attention import allow_present, attend, attend_past
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
# The probe, too, is that of lesson 10: a logistic regression that learns from two vectors, one of each topic, and judges the twelve new ones. `ask` reports the mean over twenty draws of the two. Chance is 50 %.

# %%
from coursekit.inside.probe import draw_balanced
from coursekit.models.bag import fit_logistic


def embed(model, x):  # word and position, as they go into the first layer; BERT adds a vector
    # for the first or the second text of a pair: here all is the first, segment 0
    e = model.encoder
    return e.embedding_norm(e.positions(e.embedding(x) + e.segments.weight[0]))


@torch.no_grad()
def vectors_of(word, model, texts, depth=2):  # in each text, at this word, after so many layers
    x = read(texts)
    vectors = embed(model, x)
    for block in model.encoder.blocks[:depth]:  # a block knows its own rule, causal or not
        vectors = block(vectors, allow_present(x > 0))
    return F.pad(vectors[x == ids[word]], (0, 1), value=1.0)  # a 1 for the bias


# %%
def ask(v, topics, v_new, topics_new, n=2, draw=None):  # per cent right
    draw = draw or (lambda order: draw_balanced(topics, order, n))  # as many of each topic
    right = []
    for seed in range(20):
        order = torch.randperm(len(v), generator=torch.Generator().manual_seed(seed)).to(device)
        some = draw(order)
        weights = fit_logistic(v[some], topics[some], 2, decay=0.01)
        hit = (v_new @ weights).argmax(1) == topics_new
        right += [hit[topics_new == topic].double().mean().item() for topic in (0, 1)]
    return 100 * np.mean(right)


def probe(models, word, n=2, learn=learn, judge=judge, depth=2):  # a number for each model
    both = [[vectors_of(word, one, part[0], depth) for part in (learn, judge)] for one in models]
    return np.array([ask(v, learn[1], v_new, judge[1], n) for v, v_new in both])


# %% [markdown]
# Two controls: four causal networks that were never trained, and word counts alone, without a network.

# %%
from coursekit.models.bag import count_words


def as_pytorch_starts(part):
    if isinstance(part, nn.Linear | nn.Embedding):
        part.reset_parameters()


torch.manual_seed(42)  # PyTorch's initial weights, larger than BERT's, as in lesson 10
untrained = [OurModel(attend_past).apply(as_pytorch_starts).to(device) for _ in range(4)]
counts, counts_new = (count_words(read(part[0]), len(ids), lowest=4) for part in (learn, judge))
of_counts = ask(counts, learn[1], counts_new, judge[1])

# %% [markdown]
# **Predict.** From two examples, the probe of the encoders is right 95 % of the time at this *dry*. And that of the GPTs, which have read *cake*, too?

# %% tags=["predict"]
guess = None  # per cent

# %% tags=["nbval-ignore-output"]
at_dry = {"encoders": encoders, "GPTs": gpts, "untrained": untrained}
at_dry = {name: probe(models, "dry") for name, models in at_dry.items()}
compare_guess(guess, at_dry["GPTs"].mean())
claim(encoder_at_dry=at_dry["encoders"].mean(), gpt_at_dry=at_dry["GPTs"].mean())
claim(untrained_at_dry=at_dry["untrained"].mean(), counts_of_words=of_counts)

# %% tags=["figure", "folded", "nbval-ignore-output"]
ax = plt.subplots(figsize=(7.2, 2.9))[1]
bars = at_dry | {"counts of words": np.array([of_counts])}
for row, (name, right) in enumerate(bars.items()):
    color = {"encoders": "C0", "GPTs": "C1"}.get(name, "0.5")
    ax.barh(name, right.mean() - 50, left=50, color=color, alpha=0.35)
    ax.plot(right, row + np.linspace(-0.2, 0.2, len(right)), "o", color=color)
ax.invert_yaxis()
ax.set(
    xlim=(49, 102),
    title="Two examples don't find the topic in a GPT's ‘dry’",
)
ax.set_xlabel("right from two examples (%), chance is 50; dots: seeds")
figure("at-dry", alt="Encoders 95 per cent, GPTs 63, untrained networks 64, counts of words 70.")

# %% [markdown]
# 63 %, though the cake is there to be read. Networks that were never trained do as well, and so does counting words. (A better way of counting, latent semantic analysis, Deerwester et al. 1990, [gets all twelve right](../tests/test_encoder_lesson.py): the topic is there in the words.) And yet these GPTs know very well that cakes get stale and walks get foggy, or they couldn't predict the next word. So where do they keep it?
#
# ## 10d.2 The mask, or the objective?
#
# A GPT differs from an encoder in two ways: it can't look to the right, and it predicts next words instead of masked ones. Which of the two is it? Train a kind in between, causal networks that fill in masked words. And for a fair comparison one more: GPTs that learn from as few targets as the others, 15 % of the words. (The fourth combination, next words without a causal mask, is no task: the answer stands in the input.)


# %%
def some_next_words(x, g):
    x, targets = next_words(x, g)
    drawn = torch.rand(x.shape, generator=g).to(device) < 0.15
    return x, targets.where(drawn, -100)


# %% tags=["nbval-ignore-output"]
causal_masked = [pretrain(seed, attend_past, hide_some) for seed in range(4)]

# %% tags=["nbval-ignore-output"]
sparse_gpts = [pretrain(seed, attend_past, some_next_words) for seed in range(4)]

# %% [markdown]
# **Predict.** Probe each of the words *would be dry .* At which one is the topic found most often in the GPTs?

# %% tags=["predict"]
guess = None  # "would", "be", "dry" or "."

# %% tags=["nbval-ignore-output"]
networks = {"encoders": encoders, "causal, masked": causal_masked}
networks |= {"GPTs, 15 %": sparse_gpts, "GPTs": gpts, "untrained": untrained}
words = ("would", "be", "dry", ".")
found = {  # (layers, words, seeds)
    name: np.array([[probe(models, word, depth=d) for word in words] for d in (1, 2)])
    for name, models in networks.items()
}
compare_guess(guess, words[found["GPTs"][1].mean(1).argmax()])
at_be = [found[name][1, 1] for name in ("GPTs", "GPTs, 15 %")]
claim(gpt_at_be=np.mean(at_be), gpt_elsewhere=found["GPTs"][1, [0, 2, 3]].mean(1).max())
claim(encoder_at_dry_after_one_layer=found["encoders"][0, 2].mean())

# %% tags=["figure", "folded", "nbval-ignore-output"]
axes = plt.subplots(1, 5, figsize=(12, 3), sharey=True)[1]
for ax, (name, right) in zip(axes, found.items(), strict=True):
    ax.imshow(right.mean(2), "Blues", vmin=45, vmax=130, aspect="auto")
    for layer, word in np.ndindex(2, 4):
        ax.text(word, layer, f"{right[layer, word].mean():.0f}", ha="center", va="center")
    ax.set_xticks(range(4), words)
    ax.set_yticks(range(2), ["after one layer", "after both"])
    ax.set_title(name, fontsize=12)
    ax.grid(visible=False)
axes[0].figure.suptitle("GPTs have the topic at ‘be’, where they predict ‘dry’ (right, %)")
figure("objective", alt="GPTs at be 100 per cent, at dry 63 and 74; masked networks 75 to 95.")

# %% [markdown]
# There it is: in both kinds of GPT, at *be*, **100 %**. Why there? Look at what each network has to say at each word:
#
# |at|*would*|*be*|*dry*|the full stop|
# |---|---|---|---|---|
# |a GPT predicts|be|**dry**|.||
# |a network that fills in masks predicts, if the word is hidden|would|be|**dry**|.|
#
# Predicting this adjective takes the topic. A GPT predicts it at *be*, the others at *dry* itself. **The same job, one word earlier: a GPT has the topic ready where it needs it.** (After both layers that is nearly a must, since the prediction is made from this vector. But after one layer it is 91 % already.)
#
# So much for *be*. At *dry* itself, is it the mask or the objective that costs the GPTs so much? `compare_means` gives the difference of two means and its standard error.

# %% tags=["nbval-ignore-output"]
from coursekit.evaluate.seeds import compare_means


def lead_at_dry(better, worse):  # after both layers
    first, second = (torch.tensor(found[name][1, 2]) for name in (better, worse))
    cost, error = compare_means(first, second)
    print(f"at dry, {better} lead {worse} by {cost:.0f} ± {error:.0f} points")
    return cost


of_mask = lead_at_dry("encoders", "causal, masked")
of_equal_targets = lead_at_dry("causal, masked", "GPTs, 15 %")
of_objective = lead_at_dry("causal, masked", "GPTs")
claim(cost_of_the_mask=of_mask, cost_of_the_objective=of_objective)
claim(cost_with_equal_targets=of_equal_targets)
errors = [100 - found["GPTs"][1, at].mean() for at in (1, 2)]  # per cent wrong at be, at dry
claim_order(gpt_at_be_over_dry=[Score(one, on=read(judge[0])) for one in errors])

# %% [markdown]
# The objective costs the GPTs 26 ± 8 points at *dry*, three standard errors. But with equally many targets it is 15 ± 9, and the mask costs 6 ± 7: below two standard errors nobody can tell. So at *dry* the answer is open. At *be* it is not: same mask, as many targets, and 100 against 85.
#
# The figure shows two more things. In encoders depth matters as much as the word: at *dry* the probe has 64 % after one layer, 95 after both. And causal networks that fill in masks have no such peak: the topic can be read at *would* as well as at *dry*, though nothing we can see needs it there. Do they use it? 10d.4 asks.

# %% [markdown] tags=["exercise"]
# > **Exercise 10d.1 (investigate, 15 minutes).** Is the topic gone from a GPT's *dry*, or only harder to find? Give the probe more examples, up to all twelve (then each of the twenty draws is the same), and complete the table with means over the seeds. Does the GPTs' *dry* know more than that of networks without any training? By how many standard errors?
# >
# > <details><summary>Hint</summary><code>probe(models, "dry", n=6)</code> gives a number for each model, and <code>compare_means</code> takes two tensors of such.</details>
#
# |right at *dry*, %|2 examples|6|12|
# |---|---|---|---|
# |encoders|95|||
# |GPTs|63|||
# |untrained|64|||
#
# > <details><summary>What we found</summary>Encoders 95, 100, 100; GPTs 63, 76 ± 7, 88 ± 7; untrained 64, 73 ± 5, 77 ± 9. So it is there, but in untrained networks, too, and four of each can't tell the two apart: 10 ± 11 points with twelve (87.5 against 77.1). This is why a probe needs such a control (another is random labels: Hewitt and Liang 2019), and why the number of examples belongs to its result (Voita and Titov 2020 measure it in bits).</details>

# %% [markdown]
# ## 10d.3 The topic, or good and bad?
#
# One doubt is left. A dry cake is bad, a dry walk is good. So the two examples that a probe learned from differed in two things at once, they were **confounded**, and it may have learned either: the topic, or whether *dry* is good. At *dry* itself we can't tell the two apart. At *be* we can, since other adjectives may follow: take all statements that end in *would be* and some adjective, and choose four: kitchen and bad, kitchen and good, weather and bad, weather and good. Such a design is called **crossed**: neither question helps with the other, and you can ask both.


# %%
def choose_four(part):  # texts; 1 for the weather; 1 if something good comes next
    some = [one for one in part if one.template.endswith("would be {o} .")]
    some = [one for one in some if one.domain in ("kitchen", "weather")]
    weather = torch.tensor([int(one.domain == "weather") for one in some], device=device)
    good = torch.tensor([1 - one.label for one in some], device=device)
    return [one.text for one in some], weather, good


texts, weather, good = choose_four(train)
new_texts, weather_new, good_new = choose_four(test)
for k in (0, 9, 16, 25):
    print(f"weather {weather[k]}, good {good[k]}:", texts[k])

# %% [markdown] tags=["exercise"]
# > **Exercise 10d.2 (warm-up, 5 minutes).** Write the draw, `pick_crossed(a, b, order)`. `a` and `b` are (N,), 0 or 1 for each statement; `order` has the numbers 0 to N − 1, shuffled. Return four of these numbers in a tensor: the first in `order` with a = 0 and b = 0, then the first with 0 and 1, then 1 and 0, then 1 and 1.
# >
# > <details><summary>Hint</summary><code>(a == 0) & (b == 1)</code> is a mask of True and False. Look at it in the shuffled order: <code>mask[order]</code>.</details>


# %% tags=["stub"]
def pick_crossed(a, b, order): ...  # -> (4,)


# %% tags=["check"]
exercises.check_pick_crossed(pick_crossed)


# %% tags=["solution"]
def pick_crossed(a, b, order):
    kinds = (2 * a + b)[order]
    return torch.stack([order[kinds == k][0] for k in range(4)])


# %% [markdown]
# **Predict.** At *be*, after both layers, and with four examples: how often can the probe of a GPT tell whether something good or something bad comes next?

# %% tags=["predict"]
guess = None  # per cent; chance is 50

# %%
crossed = answer_or(pick_crossed, lambda a, b, order: draw_balanced(2 * a + b, order, 4))


def probe_both(model, depth):  # per cent right about the topic, and about good or bad
    v, v_new = (vectors_of("be", model, some, depth) for some in (texts, new_texts))
    pairs = (weather, weather_new), (good, good_new)
    return [ask(v, y, v_new, y_new, draw=lambda o: crossed(weather, good, o)) for y, y_new in pairs]


# %% tags=["nbval-ignore-output"]
answers = {  # (layers, seeds, questions)
    name: np.array([[probe_both(model, depth) for model in models] for depth in (1, 2)])
    for name, models in networks.items()
    if name != "encoders"
}
topic_right, good_right = answers["GPTs"][1].mean(0)
compare_guess(guess, good_right)
claim(gpt_tells_topic=topic_right, gpt_tells_good=good_right)
claim(masked_tells_good=answers["causal, masked"][1, :, 1].mean())
claim(untrained_tells_topic=answers["untrained"][1, :, 0].mean())
better, worse = (torch.tensor(answers[k][1, :, 1]) for k in ("GPTs, 15 %", "causal, masked"))
cost, error = compare_means(better, worse)
print(f"good or bad: GPTs, 15 % lead causal, masked by {cost:.0f} ± {error:.0f}")

# %% tags=["figure", "folded", "nbval-ignore-output"]
axes = plt.subplots(1, 2, figsize=(8.4, 3), sharey=True)[1]
for question, ax in enumerate(axes):
    for row, (name, right) in enumerate(answers.items()):
        color = {"causal, masked": "C0", "untrained": "0.5"}.get(name, "C1")
        ax.barh(name, right[1, :, question].mean() - 50, left=50, color=color, alpha=0.35)
        ax.plot(right[1, :, question], row + np.linspace(-0.2, 0.2, 4), "o", color=color)
    ax.set(xlim=(44, 103), xlabel="right (%)", title=("which topic?", "good or bad?")[question])
axes[0].invert_yaxis()
axes[0].figure.suptitle("At ‘be’ a GPT has both, topic and good or bad")
figure("both", alt="Topic: GPTs 100 per cent. Good or bad: GPTs 93, the others 50 to 62.")

# %% [markdown]
# It *is* the topic: right in every case. **And a GPT has at *be* whether something good or bad comes next, too**, 93 %. (With fewer targets it is 62; in causal networks that fill in masks the probe finds nothing, 50. Encoders are left out: from *be* they can read the adjective. And in these templates something good is expected where something bad happened, so that *good comes next* and *bad was said* stay confounded.)
#
# Was the doubt justified, then? Let the probe of the GPTs learn from four confounded examples, and ask it about statements in which the topic and good or bad come apart.

# %% tags=["nbval-ignore-output"]
confounded, apart = weather == good, weather_new != good_new
from_confounded = []
for model in gpts:
    v, v_new = (vectors_of("be", model, some) for some in (texts, new_texts))
    v, topics = v[confounded], weather[confounded]
    from_confounded.append(ask(v, topics, v_new[apart], weather_new[apart], n=4))
print("GPTs, topic from confounded examples, by seed:", np.round(from_confounded))
claim(topic_from_confounded_examples=np.mean(from_confounded))

# %% [markdown]
# It was. With crossed examples 100 %, with as many confounded ones 80, and for the GPT of seed 2 hardly more than half. What a probe finds depends on what its examples leave open.
#
# ## 10d.4 Does the network use it?
#
# A probe shows what *can* be read from a vector. It doesn't show that the network reads it. To see that, replace the vector and see whether the answer changes. Let a GPT read *they had a stale cake but they thought the cake would be*, and ask for the next word. After the first layer, take out the vector of *be* and put in the one from the same place in a statement about a parade. This is called **activation patching**, or an interchange intervention.

# %% tags=["figure", "folded"]
from coursekit.notebook.diagram import Diagram

d = Diagram()
for start, thing in ((0, "cake"), (3, "parade")):
    for i, word in enumerate((thing, "be")):
        d.box(f"{thing} {i}", start + i, 0, kind="data", text=word)
        d.box(f"{thing} layer {i}", start + i, 1, kind="parameters", text="layer 1")
        d.arrow(f"{thing} {i}", f"{thing} layer {i}")
    d.arrow(f"{thing} 0", f"{thing} layer 1")
d.box("cake vector", 0, 2, kind="data", text="vector\nof cake")
d.box("new", 1, 2, kind="operation", text="the other\nbe")
d.box("be vector", 4, 2, kind="data", text="vector\nof be")
d.arrow("cake layer 0", "cake vector")
d.arrow("parade layer 1", "be vector")
d.arrow("be vector", "new")
d.box("layer 2", 1, 3, kind="parameters")
d.arrow("cake vector", "layer 2")
d.arrow("new", "layer 2")
d.box("next word?", 1, 4, kind="data")
d.arrow("layer 2", "next word?")
d.draw()
figure("patching", alt="Two runs; after layer 1 the vector of be goes from one to the other.")

# %% [markdown] tags=["exercise"]
# > **Exercise 10d.3 (build, 15 minutes).** Write `transplant(x, other, blocks, at, depth)`. `x` and `other` are the vectors of two batches before the first block, (B, T, C). Each of `blocks` is a layer, and maps such vectors to vectors of the same shape. Run both batches through the first `depth` blocks. There, the vectors of x at position `at` (a number, or a list of several) become those of `other`. Run x through the remaining blocks, and return it. Neither `x` nor `other` may be changed in place.
# >
# > <details><summary>Hint</summary>With <code>depth</code> 0 the x that you patch is still the one you were given, so <code>clone</code> it first.</details>


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

patch = answer_or(transplant, patch_vector)  # the library's until yours is there


@torch.no_grad()
def predict(model, x, other, at, depth):  # the probability of each word, (B, T, V)
    vectors = embed(model, x), embed(model, other)
    vectors = patch(*vectors, model.encoder.blocks, at, depth)
    return model.output(vectors).softmax(-1)


# %%
form = "{w} had a {x} {s} but {w} thought the {s} would be {o} ."
pair = "kitchen", "weather"
said = [[one for one in test if (one.template, one.domain) == (form, d)] for d in pair]
said = [sorted(some, key=lambda one: one.label) for some in said]  # eight expect something good
cake, walk = (read([one.text for one in some])[:, :15] for some in said)  # 16 of each, no padding
be, dry, cakes = 12, 13, [5, 10]  # positions

# %% tags=["nbval-ignore-output"]
names = dict(zip(ids.values(), ids, strict=True))
print(said[0][0].text, said[1][0].text, sep="\n")
for seed in (0, 3):
    for what, other in (("as it is", cake), ("patched", walk)):
        best = predict(gpts[seed], cake[:1], other[:1], be, 1)[0, be].topk(3)
        chances = zip(best.indices.tolist(), best.values.tolist(), strict=True)
        listed = "  ".join(f"{names[i]} {100 * p:.0f} %" for i, p in chances)
        print(f"seed {seed}, {what:9} {listed}")

# %% [markdown]
# The statement still speaks of a cake. One vector of 32 numbers came from the other one, and the GPT of seed 0 goes on about the weather. (It changes its mind about good and bad, too: a patched run mixes two inputs.) That of seed 3 changes its answer, too, but less.
#
# Now all sixteen pairs of statements, and all four GPTs. Patch *be*; or both mentions of the cake; or all three. As a control, take all three from another statement about the kitchen. Of the probability of adjectives, how much goes to those of the weather, and how much to those of the kitchen? (*Dry*, which is said of both, doesn't count.)
#
# **Predict.** With *be* patched, in how many of the four GPTs does more than half go to the weather?

# %% tags=["predict"]
guess = None  # 0 to 4

# %%
kitchen, weather_words = (
    [ids[word] for word in " ".join(DOMAINS[d][1:]).split() if word != "dry"] for d in pair
)


def to_weather(p):  # p: the probability of each word, (16, V); per cent
    of_kitchen, of_weather = p[:, kitchen].sum(1), p[:, weather_words].sum(1)
    return 100 * (of_weather / (of_weather + of_kitchen)).mean().item()


def trace(models, x, other, at, answer):  # a number for each model
    return np.array([to_weather(predict(one, x, other, at, 1)[:, answer]) for one in models])


# %% tags=["nbval-ignore-output"]
another = [*range(1, 8), 0, *range(9, 16), 8]  # the next statement with the same expectation
patches = {"nothing": (walk, []), "control": (cake[another], [be, *cakes]), "be": (walk, [be])}
patches |= {"cakes": (walk, cakes), "be, cakes": (walk, [be, *cakes])}
moved = {name: trace(gpts, cake, other, at, be) for name, (other, at) in patches.items()}
for name, of_seeds in moved.items():
    print(f"{name:10} to the weather, by seed: {of_seeds.round()}")
print("after one layer a probe reads be:", answers["GPTs"][0, :, 0].round())
compare_guess(guess, (moved["be"] > 50).sum())
claim(gpts_differ_with_be=np.ptp(moved["be"]), gpt_with_both=moved["be, cakes"].mean())
claim(control_moves=np.abs(moved["control"] - moved["nothing"]).max())
claim(seed_0_ignores_the_cakes=moved["cakes"][0] - moved["nothing"][0])

# %% tags=["figure", "folded", "nbval-ignore-output"]
axes = plt.subplots(1, 4, figsize=(9, 2.6), sharey=True)[1]
colors = ["0.6", "0.6", "C1", "C2", "C4"]
for seed, ax in enumerate(axes):
    ax.barh(list(moved), [of_seeds[seed] for of_seeds in moved.values()], color=colors)
    ax.set(title=f"GPT of seed {seed}", xlabel="to the weather (%)", xlim=(0, 100))
axes[0].invert_yaxis()
axes[0].set_ylabel("patched")
axes[0].figure.suptitle("Two paths from the cake to the answer")
figure("transplants", alt="Be moves seeds 0 and 1, the cakes seeds 2 and 3, both move all.")

# %% [markdown]
# **There are two paths from the cake to the answer.** One goes through *be*, which has read the cake, or *stale*, in the first layer. The other goes through the cakes themselves, which *be* reads in the second layer. With all three patched every GPT speaks of the weather, 96 to 100 %. But each divides the work in its own way. With *be* alone it is 100, 59, 25 and 11 %, with the cakes alone 3, 49, 88 and 91. Nothing but the seed differs.
#
# So what can be read and what is used are two things. After one layer a probe reads the topic from *be* of the seeds 0 and 1 equally well, in all cases. But seed 0 answers from it alone, and seed 1 only in part.
#
# And networks that fill in masks? Ask them where the adjective is hidden.

# %% tags=["nbval-ignore-output"]
hole, other_hole = cake.clone(), walk.clone()
hole[:, dry] = other_hole[:, dry] = 3  # [MASK]
patches = {"nothing": [], "would": [11], "[MASK]": [dry], "cakes": cakes}
patches |= {"would, cakes": [11, *cakes], "[MASK], cakes": [dry, *cakes]}
of_masked = {
    (name, what): trace(models, hole, other_hole, at, dry)
    for name, models in (("encoders", encoders), ("causal, masked", causal_masked))
    for what, at in patches.items()
}
claim(encoder_with_mask=of_masked["encoders", "[MASK]"].mean())
claim(encoder_with_cakes=of_masked["encoders", "cakes"].mean())
causal = {what: of_masked["causal, masked", what] for what in patches}
for what in ("nothing", "would", "cakes", "would, cakes"):
    print(f"causal, masked, {what:12} to the weather, by seed: {causal[what].round()}")
claim(masked_moved_by_would=np.abs(causal["would"] - causal["nothing"]).max())
claim(would_beside_the_cakes=(causal["would, cakes"] - causal["cakes"]).max())

# %% tags=["figure", "folded", "nbval-ignore-output"]
axes = plt.subplots(1, 2, figsize=(8, 3), sharey=True)[1]
for ax, name in zip(axes, ("encoders", "causal, masked"), strict=True):
    for row, what in enumerate(patches):
        right = of_masked[name, what]
        ax.barh(what, right.mean(), color=["0.6", "C5", "C1", "C2", "C5", "C4"][row], alpha=0.4)
        ax.plot(right, row + np.linspace(-0.2, 0.2, 4), "o", color="0.3", markersize=4)
    ax.set(title=name, xlabel="to the weather (%), dots: seeds", xlim=(0, 100))
axes[0].invert_yaxis()
axes[0].set_ylabel("patched")
axes[0].figure.suptitle("Patched alone, ‘would’ seems to be unused")
figure(
    "masked", alt="The cakes move encoders to 89 per cent; would alone moves none, with them one."
)

# %% [markdown]
# Encoders take the topic from the cakes in the second layer; what [MASK] has read in the first hardly matters. The causal ones use both paths. (One of these four, seed 1, doesn't know the topic of a hidden word in the first place.)
#
# And *would*, where a probe reads the topic in 71 % after one layer? Patched alone it moves the answer by 3 points at most. So it isn't used? Patch it together with the cakes: in seed 2 the weather then gets 59 % instead of 28. There *would* is a second source, outvoted while the cakes are as they were. **That one patch changes nothing doesn't show that a vector isn't used.** In the other seeds it adds little.
#
# To know what is used takes an intervention: a patch here, an ablation in lesson 10. It has its limits: a patched run mixes two inputs that never occur together, and the effects of two patches needn't add up. (For large models, and for measures such as the difference of logits: Meng et al. 2022, Zhang and Nanda 2024, Heimersheim and Nanda 2024. For patching one path at a time: Wang et al. 2023. For whether models prepare at one word what they need at a later one: Wu, Morris and Levine 2024.)

# %% [markdown]
# ## What you now have
#
# - **Where does a network keep what it has read?** A GPT has it where it needs it: at *be*, where it predicts the adjective, it has the topic, and, if it has learned from every word, whether something good comes next. At *dry* itself two examples find no more than in untrained networks, 63 against 64 %. In networks that fill in masked words the topic can be read at *dry*, and at other words, too.
# - Two tools: a probe for what can be read, with controls and crossed examples, and activation patching for what is used, one vector at a time and several together.
# - Four GPTs that differ only in their seed take two paths to the same answer, each in its own mixture.
#
# **What still fails.** All of this is one question, about statements of one form, with a vocabulary of 72 words. [Side lesson 10e](10e_shortcuts.ipynb) asks what networks learn that we *didn't* mean to teach.

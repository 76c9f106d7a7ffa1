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

from functools import partial

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
# *They had a stale cake but they thought the cake would be dry*: such statements of lesson 10 name the thing before *dry*. Half of them are about the kitchen, half about the weather, and the words right before and after *dry* are the same in all. Twelve come from training templates; from two of them at a time a probe will learn to tell the topic. Twelve come from new templates and test it.

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
# The networks are those of lesson 10, from the library's parts: two layers, 32 channels. Encoders look both ways (`attend`) and fill in masked words (`hide_some`). GPTs look to the left only (`attend_past`) and predict each next word (`next_words`). We train four of each, which differ only in their seed, with the loop of lesson 10: 1,500 steps of 64 statements.

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
from coursekit.evaluate.likelihood import next_token_loss
from coursekit.training.fit import fit
from coursekit.training.optimiser import adamw, warm_up_cosine


def hide_some(x, g):  # 15 % are chosen; of these 80, 10, 10 %
    return mask_tokens(x, 3, len(ids), g, maskable=x >= 4, lowest=4)


def next_words(x, g):  # at each word the next one
    return x, targets_after(x)


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

# %% [markdown] tags=["exercise"]
# > **Exercise 10d.1 (warm-up, 5 minutes).** What does a network make of a word, and after which layer? Write `look_inside(x, blocks, depth, here)`. `x` are the vectors before the first block, (B, T, C). Each of `blocks` is a layer, and maps such vectors to vectors of the same shape. `here` is (B, T), True where you want to look. Run x through the first `depth` blocks, and return the vectors at these places, one row each.
# >
# > <details><summary>Hint</summary>With <code>depth</code> 0 no block runs. At the end, a mask of True and False is an index.</details>


# %% tags=["stub"]
def look_inside(x, blocks, depth, here): ...  # -> (number of True, C)


# %% tags=["check"]
exercises.check_look_inside(look_inside)


# %% tags=["solution"]
def look_inside(x, blocks, depth, here):
    for block in blocks[:depth]:
        x = block(x)
    return x[here]


# %%
from coursekit.inside.probe import draw_balanced, patch_vector, read_vectors
from coursekit.models.bag import fit_logistic

look = answer_or(look_inside, read_vectors)  # the library's until yours is there


def embed(model, x):  # word and position, as they go into the first layer
    e = model.encoder
    words = e.embedding(x) + e.segments.weight[0]  # one text, no pair: all in BERT's segment 0
    return e.embedding_norm(e.positions(words))


@torch.no_grad()
def vectors_of(word, model, texts, depth=2):  # in each text, at this word, after so many layers
    x = read(texts)
    allowed = allow_present(x > 0)  # and a causal block forbids the rest
    blocks = [partial(block, allowed=allowed) for block in model.encoder.blocks]
    vectors = look(embed(model, x), blocks, depth, x == ids[word])
    return F.pad(vectors, (0, 1), value=1.0)  # a 1 for the bias


# %% [markdown]
# The probe, too, is that of lesson 10: a logistic regression that learns from two vectors, one of each topic, and judges the twelve new ones. `ask` reports the mean over twenty draws of the two. Chance is 50 %. As controls we also probe four networks that were never trained, and the noun alone, without a network.


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


# %%
def as_pytorch_starts(part):  # larger weights than BERT's, as in lesson 10
    if isinstance(part, nn.Linear | nn.Embedding):
        part.reset_parameters()


def of_the_noun(part):  # a column for each word, and a 1 where this statement has its noun
    nouns = torch.tensor([ids[text.split()[-5]] for text in part[0]], device=device)
    return F.pad(F.one_hot(nouns, len(ids)).float(), (0, 1), value=1.0)


torch.manual_seed(42)
untrained = [OurModel(attend_past).apply(as_pytorch_starts).to(device) for _ in range(4)]
small = [OurModel(attend_past).to(device) for _ in range(4)]  # as BERT starts

# %% [markdown]
# **Predict.** From two examples, a probe on the encoders is right 95 % of the time at this *dry*. And on the GPTs, which have read *cake*, too?

# %% tags=["predict"]
guess = None  # per cent

# %% tags=["nbval-ignore-output"]
both = {"encoders": encoders, "GPTs": gpts, "untrained": untrained}
at_dry = {name: probe(models, "dry") for name, models in both.items()}
of_noun = ask(of_the_noun(learn), learn[1], of_the_noun(judge), judge[1])
compare_guess(guess, at_dry["GPTs"].mean())
claim(encoder_at_dry=at_dry["encoders"].mean(), gpt_at_dry=at_dry["GPTs"].mean())
claim(untrained_at_dry=at_dry["untrained"].mean(), small_at_dry=probe(small, "dry").mean())
claim(gpt_over_untrained=at_dry["GPTs"].mean() - at_dry["untrained"].mean(), noun_alone=of_noun)

# %% tags=["figure", "folded", "nbval-ignore-output"]
ax = plt.subplots(figsize=(7.2, 2.9))[1]
bars = at_dry | {"the noun alone": np.array([of_noun])}
for row, (name, right) in enumerate(bars.items()):
    color = {"encoders": "C0", "GPTs": "C1"}.get(name, "0.5")
    ax.barh(name, right.mean() - 50, left=50, color=color, alpha=0.35)
    ax.plot(right, row + np.linspace(-0.2, 0.2, len(right)), "o", color=color)
ax.invert_yaxis()
ax.set(xlim=(46, 102), title="Two examples don't find the topic in a GPT's ‘dry’")
ax.set_xlabel("right from two examples (%), chance is 50; dots: seeds")
figure("at-dry", alt="Encoders 95 per cent, GPTs 62, untrained networks 64, the noun alone 67.")

# %% [markdown]
# 62 %, though the cake is there to be read. Networks that were never trained do about as well: 64 %, and with weights as small as BERT's 57.
#
# Why are even these above 50? Only the templates of the new statements are new. If one speaks of a cake, and so does the example, the noun is enough, and alone it gives 67 %.
#
# And yet these GPTs know very well that cakes get stale and walks get foggy, or they couldn't predict the next word. So where do they keep it?
#
# ## 10d.2 The mask, or the objective?
#
# A GPT differs from an encoder in two ways: it can't look to the right, and it predicts next words instead of masked ones. Which of the two is it? Train a kind in between, causal networks that fill in masked words. (The fourth combination, next words without a causal mask, is no task: the answer is already in the input.)

# %% tags=["nbval-ignore-output"]
causal_masked = [pretrain(seed, attend_past, hide_some) for seed in range(4)]

# %% [markdown]
# **Predict.** Probe each of the words *would be dry .* At which one is the topic found most often in the GPTs?

# %% tags=["predict"]
guess = None  # "would", "be", "dry" or "."

# %% tags=["nbval-ignore-output"]
networks = {"encoders": encoders, "causal, masked": causal_masked}
networks |= {"GPTs": gpts, "untrained": untrained}
words = ("would", "be", "dry", ".")
found = {  # (layers, words, seeds)
    name: np.array([[probe(models, word, depth=d) for word in words] for d in (1, 2)])
    for name, models in networks.items()
}
compare_guess(guess, words[found["GPTs"][1].mean(1).argmax()])
claim(gpt_at_be=found["GPTs"][1, 1].mean(), gpt_elsewhere=found["GPTs"][1, [0, 2, 3]].mean(1).max())
masked = found["causal, masked"][1].mean(1)
claim(masked_at_be_over_dry=masked[1] - masked[2])
claim(masked_at_be=masked[1], gpt_behind_at_dry=masked[2] - found["GPTs"][1, 2].mean())
errors = [100 - found["GPTs"][1, at].mean() for at in (1, 2)]  # per cent wrong at be, at dry
claim_order(gpt_at_be_over_dry=[Score(one, on=read(judge[0])) for one in errors])

# %% tags=["figure", "folded", "nbval-ignore-output"]
axes = plt.subplots(1, 4, figsize=(10, 3), sharey=True)[1]
for ax, (name, right) in zip(axes, found.items(), strict=True):
    ax.imshow(right.mean(2), "Blues", vmin=45, vmax=130, aspect="auto")
    for layer, word in np.ndindex(2, 4):
        ax.text(word, layer, f"{right[layer, word].mean():.0f}", ha="center", va="center")
    ax.set_xticks(range(4), words)
    ax.set_yticks(range(2), ["after one layer", "after both"])
    ax.set_title(name, fontsize=12)
    ax.grid(visible=False)
axes[0].figure.suptitle("GPTs have the topic at ‘be’, where they predict ‘dry’ (right, %)")
figure("objective", alt="GPTs at be 100 per cent, at dry 62; networks that fill in masks 75 to 95.")

# %% [markdown]
# There it is: at *be*, **100 %**. Why there? Look at what each network has to predict at each word:
#
# |at|*would*|*be*|*dry*|the full stop|
# |---|---|---|---|---|
# |a GPT|be|**dry**|.||
# |a network that fills in masks, if the word was chosen|would|be|**dry**|.|
#
# Predicting this adjective takes the topic. A GPT predicts it at *be*, an encoder at *dry* itself (also where *dry* is seen: one chosen word in ten stays as it is). **The same job, one word earlier: a GPT has the topic ready where it needs it.** It has it early, too: after one layer a probe is right in 91 %.
#
# So is it the mask, or the objective? With the same mask, GPTs have 38 points more at *be* than at *dry*, causal networks that fill in masked words 4 fewer. So it seems to be the objective that puts the peak there. (GPTs also have more targets; exercise 10d.2 takes that apart.)
#
# Only the peak is robust, though. With a schedule of 1,200 steps instead of 1,500 ([a test](../tests/test_encoder_lesson.py) does that) GPTs have 99 % at *be* and 68 at *dry*. But causal networks that fill in masks then have 68 at *dry*, too, instead of 89.

# %% [markdown]
# ## 10d.3 The topic, or good and bad?
#
# But is it the topic that the probe has found? A dry cake is bad, a dry walk is good. So the two examples that a probe learned from differed in two things at once, they were **confounded**, and it may have learned either: the topic, or whether *dry* is good. At *dry* itself we can't tell the two apart. At *be* we can, since other adjectives may follow: take all statements that end in *would be* and some adjective.


# %%
def choose_any(part):  # texts; 1 for the weather; 1 if something good comes next
    some = [one for one in part if one.template.endswith("would be {o} .")]
    some = [one for one in some if one.domain in ("kitchen", "weather")]
    weather = torch.tensor([int(one.domain == "weather") for one in some], device=device)
    good = torch.tensor([1 - one.label for one in some], device=device)
    return [one.text for one in some], weather, good


texts, weather, good = choose_any(train)
new_texts, weather_new, good_new = choose_any(test)
for k in (0, 9, 16, 25):
    print(f"weather {weather[k]}, good {good[k]}:", texts[k])

# %% [markdown]
# Let the probe learn as before, where the topic and good or bad go together: kitchen and bad, weather and good. Then ask it where they come apart.

# %% tags=["nbval-ignore-output"]
together, apart = weather == good, weather_new != good_new


def at_be(model, depth=2):  # the vectors to learn from, and the new ones
    return [vectors_of("be", model, some, depth) for some in (texts, new_texts)]


from_confounded = []
for model in gpts:
    v, v_new = at_be(model)
    topics, topics_new = weather[together], weather_new[apart]
    from_confounded.append(ask(v[together], topics, v_new[apart], topics_new, n=4))
print("GPTs, the topic, by seed:", np.round(from_confounded))
claim(topic_from_confounded_examples=np.mean(from_confounded))

# %% [markdown]
# The doubt was justified: 80 %, and in the GPT of seed 2 hardly more than half. So choose better: one example each of kitchen and bad, kitchen and good, weather and bad, weather and good. Such a design is called **crossed**: neither question helps with the other, and you can ask both, what the topic is and what comes next, good or bad.
#
# **Predict.** At *be*, after both layers, and with four crossed examples: how often can the probe of a GPT tell whether something good or something bad comes next?

# %% tags=["predict"]
guess = None  # per cent; chance is 50


# %%
def crossed(order):  # one of each of the four kinds
    return draw_balanced(2 * weather + good, order, 4)


def probe_both(model, depth):  # per cent right about the topic, and about good or bad
    v, v_new = at_be(model, depth)
    pairs = (weather, weather_new), (good, good_new)
    return [ask(v, y, v_new, y_new, draw=crossed) for y, y_new in pairs]


# %% tags=["nbval-ignore-output"]
answers = {  # (layers, seeds, questions)
    name: np.array([[probe_both(model, depth) for model in models] for depth in (1, 2)])
    for name, models in networks.items()
    if name != "encoders"
}
topic_right, good_right = answers["GPTs"][1].mean(0)
compare_guess(guess, good_right)
claim(gpt_tells_topic=topic_right, gpt_tells_good=good_right)
topic, good_or_bad = answers["causal, masked"][1].mean(0)
claim(masked_tells_topic=topic, masked_tells_good=good_or_bad)
claim(untrained_tells_topic=answers["untrained"][1, :, 0].mean())
for name, right in answers.items():
    print(f"{name:14} topic {right[1, :, 0].round()}, good or bad {right[1, :, 1].round()}")

# %% tags=["figure", "folded", "nbval-ignore-output"]
axes = plt.subplots(1, 2, figsize=(8.4, 2.6), sharey=True)[1]
for question, ax in enumerate(axes):
    for row, (name, right) in enumerate(answers.items()):
        color = {"causal, masked": "C3", "untrained": "0.5"}.get(name, "C1")
        ax.barh(name, right[1, :, question].mean() - 50, left=50, color=color, alpha=0.35)
        ax.plot(right[1, :, question], row + np.linspace(-0.2, 0.2, 4), "o", color=color)
    ax.set(xlim=(44, 103), xlabel="right (%)", title=("which topic?", "good or bad?")[question])
axes[0].invert_yaxis()
axes[0].figure.suptitle("At ‘be’ a GPT has both, topic and good or bad")
figure("both", alt="Topic: GPTs 100 per cent. Good or bad: GPTs 92, the others 50 and 53.")

# %% [markdown]
# It *is* the topic: right in every case. And does the GPT also know what comes next, good or bad? In these templates something good is expected where something bad was said, so the two stay confounded. **But it has one of the two at *be* as well**, in 92 % of cases. In causal networks that fill in masks the probe doesn't find it, 50 %, but these learn from fewer words; the exercise takes that apart. (Encoders are left out: from *be* they can read the adjective.)

# %% [markdown] tags=["exercise"]
# > **Exercise 10d.2 (investigate, 15 minutes).** One thing was unfair so far: GPTs learn from every word, the others from 15 % of them. Is that why a GPT's *be* knows so much? Write a task `some_next_words` in which only 15 % of the targets count, train four such GPTs (a minute or so), and complete the table. Then say how sure each lead is.
# >
# > <details><summary>Hint</summary>Begin with <code>next_words</code>. A target of −100 doesn't count; draw which ones do with the generator <code>g</code>. <code>probe_both(model, 2)</code> gives both columns for one model. <code>compare_means</code>, from <code>coursekit.evaluate.seeds</code>, takes two tensors, a number for each seed.</details>
#
# |right, %|topic at *be*|good or bad at *be*|
# |---|---|---|
# |causal, masked|94|50|
# |GPTs, 15 % of the words|||
# |GPTs, every word|100|92|
#
# > <details><summary>What we found</summary>With 15 % of the words 100 and 62 ± 4. The topic at <em>be</em> doesn't take many targets: a GPT that learns from as few has it there in every case. (Over the masked networks, 94 ± 5, even this is no lead by two errors.) Good or bad takes more: 62 against 92 ± 4 %. So most of the 42 points came from the number of targets. Over the networks that fill in masks 12.0 ± 4.5 are left, by the rule of 10c a hint.</details>

# %% [markdown]
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
d.box("new", 1, 2, kind="operation", text="be,\nreplaced")
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
# > <details><summary>Hint</summary>It begins like <code>look_inside</code>, for both batches. With <code>depth</code> 0 the x that you patch is still the one you were given, so <code>clone</code> it first.</details>


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
be, cakes = 12, [5, 10]  # positions: [CLS] 0, they 1, had 2, a 3, stale 4, cake 5 …

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
# The statement still speaks of a cake. One vector of 32 numbers came from the other one, and the GPT of seed 0 continues with the weather. (And with bad weather, though both statements expect something good. Why, we haven't looked into.) That of seed 3 changes its answer, too, but *dry* is said of both.
#
# Now all sixteen pairs of statements, and all four GPTs. From the statement about the weather we patch
#
# - *be*, or both mentions of the cake, or all three;
# - as a control, every other word before *be*, from *they* to *would*;
# - as another, the same three words, but from another statement about the kitchen.
#
# Of the probability on adjectives, how much goes to those of the weather? (*Dry*, which is said of both, doesn't count.)
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
rest = [at for at in range(1, be) if at not in cakes]
patches = {"nothing": (walk, []), "control": (cake[another], [be, *cakes])}
patches |= {"the rest": (walk, rest), "be": (walk, [be])}
patches |= {"cakes": (walk, cakes), "be, cakes": (walk, [be, *cakes])}
moved = {name: trace(gpts, cake, other, at, be) for name, (other, at) in patches.items()}
for name, of_seeds in moved.items():
    print(f"{name:10} to the weather, by seed: {of_seeds.round()}")
print("after one layer a probe reads be:", answers["GPTs"][0, :, 0].round())
compare_guess(guess, (moved["be"] > 50).sum())
claim(gpts_differ_with_be=np.ptp(moved["be"]), gpt_with_both=moved["be, cakes"].mean())
claim(control_moves=np.abs(moved["control"] - moved["nothing"]).max())
claim(the_rest_moves=(moved["the rest"] - moved["nothing"]).max())
claim(seed_0_ignores_the_cakes=moved["cakes"][0] - moved["nothing"][0])

# %% tags=["figure", "folded", "nbval-ignore-output"]
axes = plt.subplots(1, 4, figsize=(9, 2.6), sharey=True)[1]
colors = ["0.6", "0.6", "0.6", "C1", "C2", "C4"]
for seed, ax in enumerate(axes):
    ax.barh(list(moved), [of_seeds[seed] for of_seeds in moved.values()], color=colors)
    ax.set(title=f"GPT of seed {seed}", xlabel="to the weather (%)", xlim=(0, 100))
axes[0].invert_yaxis()
axes[0].set_ylabel("patched")
axes[0].figure.suptitle("Two main paths from the cake to the answer")
figure("transplants", alt="Be moves seeds 0 and 1, the cakes seeds 1 to 3, both move all four.")

# %% [markdown]
# **There are two main paths from the cake to the answer.** One goes through *be*, which has read the cake, or *stale*, in the first layer. The other goes through the cakes themselves, which *be* reads in the second layer. With all three patched every GPT speaks of the weather, 96 to 100 %, while all the other words before *be* move little (except in seed 2, where they are a third source: 29 %). Each divides the work in its own way. With *be* alone it is 100, 59, 25 and 13 %, with the cakes alone 3, 42, 88 and 87. Nothing but the seed differs.
#
# What can be read and what is used are two things. After one layer a probe reads the topic from *be* in 100, 100, 93 and 86 % of cases. But with *be* patched 100, 59, 25 and 13 % of what these adjectives get goes to the weather.
#
# And the division is itself a matter of chance: after 1,200 steps [the same four seeds](../tests/test_encoder_lesson.py) give 99, 27, 93 and 99 with *be* alone. Again all four are at 98 or more with all three.
#
# To know what is used takes an intervention: a patch here, an ablation in lesson 10. It has its limits: a patched run mixes two inputs that never occur together, and the effects of two patches needn't add up. And where two paths carry the same, cutting one of them may show nothing.
#
# **To read on**: patching in large models, Meng et al. (2022); how to measure it, Zhang and Nanda (2024), Heimersheim and Nanda (2024); one path at a time, Wang et al. (2023); whether models prepare at one word what they need at a later one, Wu, Morris and Levine (2024).

# %% [markdown]
# ## What you now have
#
# - **Where does a network keep what it has read?** A GPT has it where it needs it: at *be*, where it predicts the adjective, it has the topic. If it has learned from every word, it also has what was said or comes next, good or bad; which of the two, these templates can't tell. At *dry*, one word later, a probe fitted to two examples finds no more, as far as we can tell, than in networks without any training, and no more than the noun alone gives away. In encoders, which predict there, it does find what tells a cake from a walk.
# - Two tools: a probe for what can be read, with controls and crossed examples, and activation patching for what is used, one vector at a time and several together.
# - Four GPTs that differ only in their seed take two main paths to the same answer, each in its own mixture.
#
# **What still fails.** All of this is one question, about statements of one form, with a vocabulary of 72 words. [Side lesson 10e](10e_shortcuts.ipynb) asks what networks learn that we *didn't* mean to teach.

# %% [markdown]
# # 10d · Where does a network keep what it knows?
#
# A GPT can't know at *dry* that *a dry cake* is about food: the cake comes later. But in *the cake would be dry* it comes first. Then its vector of *dry* could know as much as an encoder's. Does it?
#
# **Afterwards you can** ask a network what it knows at which word and after which layer, compare objectives step by step, give a probe classes that differ in one thing only, and replace a vector to see whether the network uses it.
#
# **Before**: lesson 10 (masked tokens, probes).
#
# **Runs in** {runs_in}. **Study time** {study}.
#
# **Sources**: probes, Alain and Bengio (2016); that the objective decides where a transformer keeps what it knows, Voita, Sennrich and Titov (2019); replacing vectors, Vig et al. (2020), Geiger et al. (2021) and Meng et al. (2022). All statements here were written for this course.

# %% tags=["setup", "machine"]
from itertools import product

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
# The statements are those of lesson 10. Take all that end in *would be dry*, so that the words around *dry* are the same in each: twelve from the training templates, to fit the probe, and twelve from new ones, to test it. Half of them are about the kitchen, half about the weather. (Each set of twelve comes from two templates, in one of which *dry* stands a word earlier: a small sample, and the errors below count seeds only. A dry cake is bad, a dry walk good: 10d.3 comes back to that.)

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
# The networks are as in lesson 10, of the library's parts: two layers, 32 channels. `attend` looks both ways, `attend_past` to the left. Each is trained on the 2,176 statements for 1,500 steps of 64, and either fills in masked words (`hide_some`) or predicts each next word (`next_words`; in lesson 10 for 225 steps, which give as many targets; here as long as the others, and with fewer targets in 10d.2).

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
# The probe is that of lesson 10: a logistic regression learns from `n` vectors, as many of each topic, and judges those of the new templates. We report the mean of twenty draws. Both topics count the same, so that chance is 50 %.

# %% [markdown] tags=["exercise"]
# > **Exercise 10d.1 (warm-up, 5 minutes).** Write the draw, `pick_balanced(classes, order, n)`. `classes` is (N,), a number for each statement; `order` the numbers 0 to N − 1, shuffled. Return n of these numbers in a tensor, equally many of each class: first those of the lowest class, in the order of `order`, then those of the next. For example, from classes 0, 1, 1, 0 and the order 2, 0, 1, 3, n = 2 gives 0 (the first of class 0) and 2 (the first of class 1).
# >
# > <details><summary>Hint</summary><code>classes.unique()</code> are the classes, sorted. <code>classes[order]</code> are those of the statements in the shuffled order.</details>


# %% tags=["stub"]
def pick_balanced(classes, order, n): ...  # -> (n,)


# %% tags=["check"]
exercises.check_pick_balanced(pick_balanced)


# %% tags=["solution"]
def pick_balanced(classes, order, n):
    kinds = classes.unique()
    return torch.cat([order[classes[order] == k][: n // len(kinds)] for k in kinds])


# %%
from coursekit.inside.probe import draw_balanced
from coursekit.models.bag import fit_logistic

pick = answer_or(pick_balanced, draw_balanced)  # the library's


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
def ask(v, topics, v_new, topics_new, n=2, classes=None):  # per cent right
    right = []
    for seed in range(20):
        order = torch.randperm(len(v), generator=torch.Generator().manual_seed(seed)).to(device)
        some = pick(topics if classes is None else classes, order, n)
        weights = fit_logistic(v[some], topics[some], 2, decay=0.01)
        hit = (v_new @ weights).argmax(1) == topics_new
        right += [hit[topics_new == topic].double().mean().item() for topic in (0, 1)]
    return 100 * np.mean(right)


def probe(models, word, n=2, learn=learn, judge=judge, depth=2):  # a number a model
    both = [[vectors_of(word, one, part[0], depth) for part in (learn, judge)] for one in models]
    return np.array([ask(v, learn[1], v_new, judge[1], n) for v, v_new in both])


# %% [markdown]
# Two controls: four causal networks without any training (with PyTorch's own initial weights, larger than BERT's, as in lesson 10), and no network at all, but how often each word stands in the statement.


# %%
from coursekit.models.bag import count_words


def as_pytorch_starts(part):
    if isinstance(part, nn.Linear | nn.Embedding):
        part.reset_parameters()


torch.manual_seed(42)
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
    title="Two examples find no more in a GPT's ‘dry’\nthan in an untrained network's",
)
ax.set_xlabel("right from two examples (%), chance is 50; dots: seeds")
figure("at-dry", alt="Encoders 95 per cent, GPTs 63, untrained networks 64, counts of words 70.")

# %% [markdown]
# Only 63 %, though the cake is there to be read. Networks that were never trained do as well. Even counts of words have 70 %. And a better way of counting, which finds a few groups of words that occur together (latent semantic analysis, Deerwester et al. 1990), [tells all twelve](../tests/test_encoder_lesson.py). So the topic is easy to find in the statement. The question is where a network keeps it. Why so little at *dry*?
#
# ## 10d.2 The mask, or the objective?
#
# A GPT differs from an encoder in two ways: it can't look to the right, and it predicts next words instead of masked ones. (To the right of this *dry* stands only a full stop, so that the first can't matter much here.) Train a kind in between, causal networks that fill in masked words. And since a GPT learns from every word, the others from 15 % of them, train GPTs of which only 15 % of the predictions count. (Next words without a causal mask can't be trained: the answers stand in the input.)


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
# **Predict.** Let the probe ask at each of the words *would be dry .* At which does it find most in the GPTs?

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
# There it is, 100 % at *be*, in the GPTs of both kinds. For what do they have to predict?
#
# |at|*would*|*be*|*dry*|the full stop|
# |---|---|---|---|---|
# |a GPT predicts|be|**dry**|.||
# |one that fills in masks predicts, if the word is hidden|would|be|**dry**|.|
#
# **The same job, one word earlier: two examples find the topic where a GPT predicts with it.** (After both layers that is nearly a must, since the prediction is made from this vector; after one it is 91 % already.) And what do the GPTs lack at *dry*? `compare_means` gives the difference of two means and its standard error.

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
# At *dry* itself four seeds say less. With equally many targets the objective costs 15 ± 9 points, which is undecided; against GPTs that learn from every word it is 26 ± 8. Whether the mask costs anything (6 ± 7) nobody can tell from this.
#
# Networks that fill in masks have the topic at other words, too: the causal ones at *would* as much as at *dry*, though all they may have to say there is *would*. Why, we don't know; whether they use it, 10d.4 asks. And depth matters as much as the word: after one layer an encoder's *dry* has no more of it than an untrained network's.
#
# So "what does the vector of this word know?" is a question about the objective and the layer, too. If you take vectors from a network that isn't fine-tuned, for search or for a classifier, try more than one position and more than one layer. (Voita, Sennrich and Titov (2019) follow larger models layer by layer: in language models vectors lose the past and gain the future; in masked ones they first lose the word itself and then rebuild it. And LLM2Vec (BehnamGhader et al. 2024) makes encoders of GPTs, and asks them for a masked word *one position earlier*, where they are used to predicting it.)
#
# ## 10d.3 The topic, or good and bad?
#
# But is it the topic that the probe finds at *be*? In the kitchen *dry* is bad, in the weather it is good. So in all 24 statements a kitchen thing is followed by something bad at the end, and one of the weather by something good. A probe that finds *which of the two* is coming, good or bad, would be as right.
#
# **A probe finds whatever separates the classes that you give it.** So give it classes that differ in one thing only. The causal networks haven't read the adjective at *be*, so any will do. Take statements of all four kinds, one of each to learn from. Now neither question helps with the other, and you can ask both.


# %%
def choose_four(part):  # texts; 1 for the weather; 1 if something good comes next
    some = [one for one in part if one.template.endswith("would be {o} .")]
    some = [one for one in some if one.domain in ("kitchen", "weather")]
    weather = torch.tensor([int(one.domain == "weather") for one in some], device=device)
    good = torch.tensor([1 - one.label for one in some], device=device)
    return [one.text for one in some], weather, good


texts, weather, good = choose_four(train)
new_texts, weather_new, good_new = choose_four(test)
four = 2 * weather + good  # the class of each statement, 0 to 3
for number in range(4):
    print(number, texts[four.tolist().index(number)])

# %% [markdown]
# **Predict.** At *be*, after both layers: how often, in per cent, can such a probe of a GPT tell whether something good or something bad comes next?

# %% tags=["predict"]
guess = None  # per cent


# %%
def probe_both(model, depth):  # per cent right about the topic, and about good or bad
    v, v_new = (vectors_of("be", model, some, depth) for some in (texts, new_texts))
    pairs = (weather, weather_new), (good, good_new)
    return [ask(v, y, v_new, y_new, n=4, classes=four) for y, y_new in pairs]


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
for depth in (0, 1):
    print(f"GPTs after {depth + 1}: topic, good or bad, by seed:", answers["GPTs"][depth].round())

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
# It *is* the topic: right in all cases, from four examples. **And it is good or bad, too**: a GPT's probe tells whether something good comes next in 93 % of the cases, that of a network that fills in masks not at all. (GPTs with fewer targets are in between.) So a dry cake and a dry walk, the two examples of 10d.1, showed the probe two differences at once. One pair is still tied: in these templates the good follows the bad and the bad the good, so that "good comes next" and "something bad was said" can't be told apart here.
#
# Such classes cost nothing but thought about the examples. (Other controls for a probe: random labels, Hewitt and Liang 2019; how many examples it needs, in bits, Voita and Titov 2020.)

# %% [markdown] tags=["exercise"]
# > **Exercise 10d.2 (investigate, 15 minutes).** Is the topic gone from a GPT's *dry*, or only harder to find? Give the probe more examples, up to all twelve (then each of the twenty draws is the same), and complete the table with means over the seeds. Does the GPTs' *dry* know more than that of networks without any training? By how many standard errors?
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
# ## 10d.4 Does the network use it?
#
# A probe shows what *can* be read from a vector, not that the network reads it. To see that, replace the vector. Take a kitchen statement and one about the weather, and let a GPT say what comes after *be*. Then run the kitchen statement again, but on the way put the vector of *be* from the other run in the place of its own. This is called **activation patching**.

# %% tags=["figure", "folded"]
from coursekit.notebook.diagram import Diagram

d = Diagram()
for start, thing in ((0, "cake"), (3, "walk")):
    d.box(f"{thing} layer", start, 1, kind="parameters", columns=2, text="layer 1")
    for i, word in enumerate((thing, "be")):
        d.box(f"{thing} {i}", start + i, 0, kind="data", text=word)
        text = "left\nout" if (thing, i) == ("cake", 1) else f"vector\nof {word}"
        d.box(f"{thing} v{i}", start + i, 2, kind="data", text=text)
        d.arrow(f"{thing} {i}", f"{thing} layer")
        d.arrow(f"{thing} layer", f"{thing} v{i}")
d.box("layer 2", 0, 4, kind="parameters", columns=2)
for i, (tail, text, kind) in enumerate(
    (("cake v0", "vector\nof cake", "data"), ("walk v1", "the other\nbe", "operation"))
):
    d.box(f"new {i}", i, 3, kind=kind, text=text)
    d.arrow(tail, f"new {i}")
    d.arrow(f"new {i}", "layer 2")
d.box("next word?", 1, 5, kind="data")
d.arrow("layer 2", "next word?")
d.draw()
figure("patching", alt="Two runs; after layer 1 the vector of be goes from one to the other.")

# %% [markdown] tags=["exercise"]
# > **Exercise 10d.3 (build, 15 minutes).** Write `transplant(x, other, blocks, at, depth)`. `x` and `other` are the vectors of two batches before the first block, (B, T, C). Each of `blocks` is a layer, and maps such vectors to vectors of the same shape. Run both batches through the first `depth` blocks. There, the vectors of x at position `at` (a number, or a list of several) become those of `other`. Run x through the remaining blocks, and return it. Neither `x` nor `other` may be changed in place.
# >
# > <details><summary>Hint 1</summary>Before the patch both batches go through the blocks, after it x alone.</details>
# > <details><summary>Hint 2</summary>Two loops, over <code>blocks[:depth]</code> and <code>blocks[depth:]</code>. Between them assign to <code>x[:, at]</code>. With <code>depth</code> 0 that x is still the one you were given, so <code>clone</code> it first.</details>


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
# The statement still says what it said; one vector of 32 numbers came from the other, after one layer. And the GPT of seed 0 speaks of the weather. That of seed 3 changes its answer, too, but to *dry*, which can be said of both, or *burnt*.
#
# Now all sixteen pairs of statements (who speaks may differ, too) and all networks. After the first layer we patch *would*; the adjective (*stale*); both mentions of the cake; *be*; or *be* and the cakes. (Networks that fill in masks are asked where the adjective is hidden.) Of the probability of all adjectives, how much goes to those of the kitchen, to *dry*, and to those of the weather?
#
# **Predict.** With *be* patched, in how many of the four GPTs does more than half go to the weather?

# %% tags=["predict"]
guess = None  # 0 to 4

# %%
lists = [[ids[word] for word in " ".join(DOMAINS[d][1:]).split() if word != "dry"] for d in pair]
lists.insert(1, [ids["dry"]])
places = {"nothing": [], "would": [11], "adjective": [4], "cakes": cakes}
places |= {"be": [be], "be, cakes": [be, *cakes]}


def shares(p):  # p: the probability of each word, (16, V); of kitchen, dry, weather, per cent
    parts = torch.stack([p[:, some].sum(1) for some in lists])
    return (100 * parts / parts.sum(0)).mean(1).tolist()


def trace(models, x, other, answer):  # (seeds, places, 3)
    runs = [[predict(one, x, other, at, 1) for at in places.values()] for one in models]
    return np.array([[shares(p[:, answer]) for p in some] for some in runs])


# %% tags=["nbval-ignore-output"]
hole, other_hole = cake.clone(), walk.clone()
hole[:, dry] = other_hole[:, dry] = 3  # [MASK]
patched = {"GPTs": trace(gpts, cake, walk, be)}
patched["encoders"] = trace(encoders, hole, other_hole, dry)
patched["causal, masked"] = trace(causal_masked, hole, other_hole, dry)
weather_gets = {  # for each kind and place a number per seed
    name: dict(zip(places, found_here[..., 2].T, strict=True))
    for name, found_here in patched.items()
}
for name, place in product(patched, places):
    print(f"{name:14}  {place:9}  to the weather, by seed:", weather_gets[name][place].round())
for name, word in (("GPTs", "be"), ("causal, masked", "would")):
    print(
        f"{name}: after one layer a probe reads {word}", found[name][0, words.index(word)].round()
    )
of_gpts, of_encoders, of_masked = weather_gets.values()
compare_guess(guess, (of_gpts["be"] > 50).sum())
claim(gpts_differ_with_be=np.ptp(of_gpts["be"]), gpt_with_both=of_gpts["be, cakes"].mean())
claim(gpt_with_would=of_gpts["would"].max(), encoder_with_be=of_encoders["be"].mean())
claim(encoder_with_cakes=of_encoders["cakes"].mean())
claim(masked_moved_by_would=np.abs(of_masked["would"] - of_masked["nothing"]).max())

# %% tags=["figure", "folded", "nbval-ignore-output"]
axes = plt.subplots(1, 4, figsize=(9.5, 2.8), sharey=True)[1]
for seed, ax in enumerate(axes):
    left = np.zeros(len(places))
    for part, (name, color) in enumerate((("kitchen", "C1"), ("dry", "0.75"), ("weather", "C0"))):
        width = patched["GPTs"][seed, :, part]
        ax.barh(list(places), width, left=left, color=color, label=name)
        left += width
    ax.set(title=f"GPT of seed {seed}", xlabel="of the adjectives (%)", xlim=(0, 100))
    ax.grid(visible=False)
axes[0].invert_yaxis()
axes[0].set_ylabel("patched")
axes[3].legend(loc="center left", bbox_to_anchor=(1, 0.5))
axes[0].figure.suptitle("Two routes from the cake to the answer, in four mixtures")
figure("transplants", alt="Be moves seeds 0 and 1, the cakes seeds 2 and 3, both move all.")

# %% [markdown]
# **There are two routes from the cake to the answer**: the vector of *be*, which has read the cake in the first layer, and the cakes themselves, which the second layer reads. The four GPTs divide the work differently, and one uses *be* alone. With *be* patched, 91, 59, 10 and 7 % go to the weather; with the cakes 1, 11, 82 and 72; with both 87 to 93 in all four. Nothing but the seed differs. (The adjective moves the answer to the weather in one of them. And such effects needn't add up: what one vector does depends on the others.) Encoders, asked at the hidden word, read the cakes directly, 54 to 80 %, and don't use *be*.
#
# So what *can* be read and what *is* used are two questions. After one layer the probe of 10d.2, with its two examples, reads the topic from *be* of seeds 2 and 3 in 74 and 89 % of the cases, and patching it sends a tenth to the weather, or less. And causal networks that fill in masks? From their *would* it reads the topic in 72 to 78 % for three of four seeds, and patching it moves the answer by 2 points at most. (One of the four, seed 1, doesn't know the topic of a hidden *dry* in the first place: unpatched it gives a third to the weather.) After the second layer *would* tells more, but no layer is left to read it.
#
# To know what is used takes an intervention: a patch here, forbidding in lesson 10. (It has its limits: such a run mixes two inputs that never occur together. For large models, and for measures other than probability: Meng et al. 2022, Zhang and Nanda 2024, Heimersheim and Nanda 2024.)

# %% [markdown]
# ## What you now have
#
# - **Where does a network keep what it knows?** That depends on what it has to predict, and where. A GPT has ready at *be* what it needs to predict *dry*: the topic, and whether something good comes next; at *dry* two examples find less, 63 %, or 74 if it learned from as few targets as the others (untrained networks: 64). Networks that fill in masked words have it at *dry*, and at other words.
# - Two tools: a probe, for what can be read, with untrained networks and counts of words as its controls, and classes that differ in one thing only; and activation patching, for what is used. Four GPTs that differ only in their seed use two routes in four mixtures.
#
# **What still fails.** Everything here is one word, *dry*, in statements of one form, with a vocabulary of 72 words. At *dry* itself topic and good or bad can't be told apart at all: which *dry* it is means both.

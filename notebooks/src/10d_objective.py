# %% [markdown]
# # 10d · Where does a network keep what it knows?
#
# A GPT can't know at *dry* that *a dry cake* is about food: the cake comes later. But in *the cake would be dry* it comes first. Then its vector of *dry* could know as much as an encoder's. Does it?
#
# **Afterwards you can** ask a network what it knows at which word, tell what the causal mask does from what the objective does, give a probe examples that differ in one thing only, and exchange a vector to see whether the network uses it.
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
# The statements are those of lesson 10. Take all that end in *would be dry*, so that the words around *dry* are the same in each: twelve of the training, to learn from, and twelve of the new templates, to judge. Half of them are about the kitchen, half about the weather. (Each set of twelve comes from two templates: a small sample, and the errors below count seeds only. A dry cake is bad, a dry walk good: 10d.3 comes back to that.)

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
print("to learn from:", learn[0][0], learn[0][2], "to judge:", judge[0][0], judge[0][3], sep="\n")

# %% [markdown]
# The networks are as in lesson 10, of the library's parts: two layers, 32 channels. `attend` looks both ways, `attend_past` to the left. Each is trained on the 2,176 statements for 1,500 steps of 64, and either fills in masked words (`hide_some`) or predicts each next word (`next_words`; in lesson 10 for 225 steps only, here as long as the others).

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
# > **Exercise 10d.1 (warm-up, 5 minutes).** Write the draw, `pick_balanced(classes, order, n)`. `classes` is (N,), a number for each statement; `order` the numbers 0 to N − 1, shuffled. Return n of these numbers, in a tensor: for each class, the lowest first, as many as for the others, those that come first in `order`.
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


def embed(model, x):  # word (all in segment 0) and position, as they go into the first layer
    e = model.encoder
    return e.embedding_norm(e.positions(e.embedding(x) + e.segments.weight[0]))


@torch.no_grad()
def vectors_of(word, model, texts, depth=2):  # in each text, at this word, after so many layers
    x = read(texts)
    vectors = embed(model, x)
    for block in model.encoder.blocks[:depth]:
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
    ax.plot(right, [row] * len(right), "o", color=color)
ax.invert_yaxis()
ax.set(xlim=(49, 102), title="A GPT's ‘dry’ tells no more than an untrained network's")
ax.set_xlabel("right from two examples (%), chance is 50; dots: seeds")
figure("at-dry", alt="Encoders 95 per cent, GPTs 63, untrained networks 64, counts of words 70.")

# %% [markdown]
# Only 63 %, though the cake is there to be read. Networks that were never trained have as much: they have read the cake, too. Even counts of words have 70 %. (Latent semantic analysis (Deerwester et al. 1990), a stronger way of counting, tells all twelve, [tested](../tests/test_encoder_lesson.py); but not at which word a network keeps it.) Why so little?
#
# ## 10d.2 The mask, or the objective?
#
# A GPT differs from an encoder in two ways: it can't look to the right, and it predicts next words instead of masked ones. Train a kind in between, causal networks that fill in masked words. And since a GPT learns from every word, the others from 15 % of them, train GPTs of which only 15 % of the predictions count. (Next words without a causal mask can't be trained: the answers stand in the input.)


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
# What do they have to predict at *dry*? A GPT what comes after, the full stop, and the topic is no help with that. One that fills in masked words has to predict *dry* itself there, when it is hidden, and may be asked for it when it isn't. The GPT does that one word earlier, at *be*.
#
# |at|*would*|*be*|*dry*|the full stop|
# |---|---|---|---|---|
# |a GPT predicts|be|**dry**|.||
# |one that fills in masks predicts, if the word is hidden|would|be|**dry**|.|
#
# **Predict.** At which of these four words does the probe find most in the GPTs?

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
# There it is, 100 % at *be*, in all eight GPTs. **The same job, one word earlier: two examples find the topic where a GPT predicts with it.** And at *dry*, did the mask cost the GPTs what they lack there, or the objective? `compare_means` gives the difference of two means and its standard error.

# %% tags=["nbval-ignore-output"]
from coursekit.evaluate.seeds import compare_means


def lead_at_dry(better, worse):  # after both layers
    first, second = (torch.tensor(found[name][1, 2]) for name in (better, worse))
    cost, error = compare_means(first, second)
    print(f"at dry, {better} lead {worse} by {cost:.0f} ± {error:.0f} points")
    return cost


of_mask = lead_at_dry("encoders", "causal, masked")
of_objective = lead_at_dry("causal, masked", "GPTs")
of_equal_targets = lead_at_dry("causal, masked", "GPTs, 15 %")
claim(cost_of_the_mask=of_mask, cost_of_the_objective=of_objective)
claim(cost_with_equal_targets=of_equal_targets)
wrong = [Score(100 - found["GPTs"][1, at].mean(), on=read(judge[0])) for at in (1, 2)]
claim_order(gpt_at_be_over_dry=wrong)

# %% [markdown]
# Whether the mask costs anything, four seeds can't tell: 6 ± 7 points (right of this *dry* stands only a full stop). The objective costs 26 ± 8. (With 15 % of the targets it is 15 ± 9: some of it may be their number.)
#
# Networks that fill in masks have the topic at other words, too: the causal ones at *would* as much as at *dry*, though after *would* only *be* can stand; why, we don't know. And depth matters as much as the word: after one layer an encoder's *dry* has no more of it than an untrained network's.
#
# So "what does the vector of this word know?" is a question about the objective and the layer, too. If you take vectors from a network that isn't fine-tuned, for search or for a classifier, try more than one position and more than one layer. (Voita, Sennrich and Titov (2019) follow larger models layer by layer: in language models vectors lose the past and gain the future; in masked ones they first lose the word itself and then rebuild it.)
#
# ## 10d.3 The topic, or good and bad?
#
# But is it the topic that the probe finds at *be*? In the kitchen *dry* is bad, in the weather it is good. So in all 24 statements a kitchen thing is followed by something bad at the end, and one of the weather by something good. A probe that finds *which of the two* is coming, good or bad, would be as right.
#
# **A probe finds whatever separates the classes that you give it.** So give it classes that differ in one thing only. The causal networks haven't read the adjective at *be*, so that it may be any. Take statements of all four kinds, one of each to learn from. Now neither question helps with the other, and you can ask both.


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
# **Predict.** At *be*, after both layers: in how many cases does such a probe of a GPT tell whether something good or something bad comes next?

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
        ax.plot(right[1, :, question], [row] * 4, "o", color=color)
    ax.set(xlim=(44, 103), xlabel="right (%)", title=("which topic?", "good or bad?")[question])
axes[0].invert_yaxis()
axes[0].figure.suptitle("At ‘be’ a GPT has both, as it must to say ‘dry’")
figure("both", alt="Topic: GPTs 100 per cent. Good or bad: GPTs 93, the others 50 to 62.")

# %% [markdown]
# It *is* the topic: right in all cases, in all eight GPTs, from four examples. **And it is good or bad, too**: a GPT's probe tells what comes next in 93 % of the cases, that of a network that fills in masks not at all. (GPTs with fewer targets are in between.) To predict *dry* one needs both. After one layer already, seeds 1 and 3 tell good from bad in 78 and 77 % of the cases: there the two examples of 10d.1, a dry cake and a dry walk, showed the probe two differences at once.
#
# This costs nothing but thought about the examples. (Other controls for a probe: random labels, Hewitt and Liang 2019; how many examples it needs, in bits, Voita and Titov 2020.)

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
# A probe shows what *can* be read from a vector, not that the network reads it. To see that, exchange the vector. Take a kitchen statement and one about the weather, of the same form, and let a GPT say what comes after *be*. Then run the kitchen statement again, but on the way put the vector of *be* from the other run in the place of its own. This is called **activation patching**.

# %% tags=["figure", "folded"]
from coursekit.notebook.diagram import Diagram

d = Diagram()
for column, name in enumerate(("cake", "walk")):
    d.box(name, 2 * column, 0, kind="data", text=f"the {name} would be …")
    d.box(f"{name} 1", 2 * column, 1, kind="parameters", text="layer 1")
    d.arrow(name, f"{name} 1")
d.box("exchanged", 0, 2, kind="data", text="vectors, with another be")
d.box("be", 2, 2, kind="data", text="its vector of be")
d.box("cake 2", 0, 3, kind="parameters", text="layer 2")
d.box("next", 0, 4, kind="data", text="what comes next?")
for tail, head in (("cake 1", "exchanged"), ("walk 1", "be"), ("be", "exchanged")):
    d.arrow(tail, head)
for tail, head in (("exchanged", "cake 2"), ("cake 2", "next")):
    d.arrow(tail, head)
d.draw()
figure("patching", alt="Two runs; after layer 1 the vector of be goes from one to the other.")

# %% [markdown] tags=["exercise"]
# > **Exercise 10d.3 (build, 15 minutes).** Write `transplant(x, other, blocks, at, depth)`. `x` and `other` are the vectors of two batches before the first block, (B, T, C). Each of `blocks` is a layer, and maps such vectors to vectors of the same shape. Run both batches through the first `depth` blocks. There, the vectors of x at position `at` (a number, or a list of several) become those of `other`. Run x through the remaining blocks, and return it. Neither `x` nor `other` may be changed in place.
# >
# > <details><summary>Hint 1</summary>Before the exchange both batches go through the blocks, after it x alone.</details>
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

exchange = answer_or(transplant, patch_vector)  # the library's


@torch.no_grad()
def predict(model, x, other, at, depth):  # the probability of each word, (B, T, V)
    vectors = embed(model, x), embed(model, other)
    vectors = exchange(*vectors, model.encoder.blocks, at, depth)
    return model.output(vectors).softmax(-1)


# %%
form = "{w} had a {x} {s} but {w} thought the {s} would be {o} ."
pair = "kitchen", "weather"
said = [[one.text for one in test if (one.template, one.domain) == (form, d)] for d in pair]
cake, walk = (read(some)[:, :15] for some in said)  # 16 of each, no padding
be, dry = 12, 13  # their positions

# %% tags=["nbval-ignore-output"]
names = dict(zip(ids.values(), ids, strict=True))
print(said[0][0], said[1][0], sep="\n")
for seed in (0, 3):
    for what, other in (("as it is", cake), ("be exchanged", walk)):
        best = predict(gpts[seed], cake[:1], other[:1], be, 1)[0, be].topk(3)
        chances = zip(best.indices.tolist(), best.values.tolist(), strict=True)
        listed = "  ".join(f"{names[i]} {100 * p:.0f} %" for i, p in chances)
        print(f"seed {seed}, {what:13} {listed}")

# %% [markdown]
# The statement still says what it said; one vector of 32 numbers came from the other, after one layer. And the GPT of seed 0 speaks of the weather. That of seed 3 doesn't: it says *dry* now, and *burnt*, which fit a cake.
#
# Now all sixteen statements, all GPTs and encoders, and every position, after one layer. (After both only the vector of the word that answers could count. The encoders are asked where the adjective is hidden.) How much of the probability of five kitchen adjectives and five of the weather goes to the weather? (*Dry*, which is in both lists, isn't counted; we print how much it has.) Nothing exchanged, that is 2 % in the GPTs.
#
# **Predict.** On average over the four GPTs, with *be* exchanged after one layer?

# %% tags=["predict"]
guess = None  # per cent

# %%
adjectives = [" ".join(DOMAINS[d][1:]).split() for d in pair]  # six of each, with dry
adjectives = [[ids[word] for word in some if word != "dry"] for some in adjectives]


def of_weather(p):  # p: the probability of each word, (B, V); per cent
    kitchen, weather = (p[:, some].sum(1) for some in adjectives)
    return 100 * (weather / (kitchen + weather)).mean().item()


def trace(model, x, other, answer):  # answer: the position that is asked; a number a position
    return [of_weather(predict(model, x, other, at, 1)[:, answer]) for at in range(15)]


# %% tags=["nbval-ignore-output"]
hole, other_hole = cake.clone(), walk.clone()
hole[:, dry] = other_hole[:, dry] = 3  # [MASK]
maps = {
    "GPTs": np.array([trace(one, cake, walk, be) for one in gpts]),
    "encoders": np.array([trace(one, hole, other_hole, dry) for one in encoders]),
}
compare_guess(guess, maps["GPTs"][:, be].mean())
claim(gpt_with_be=maps["GPTs"][:, be].mean(), gpt_with_would=maps["GPTs"][:, be - 1].max())
claim(encoder_on_the_way=maps["encoders"][:, [be, dry]].mean(0).max())
both_cakes = [predict(one, hole, other_hole, [5, 10], 1)[:, dry] for one in encoders]
claim(encoder_with_both_cakes=np.mean([of_weather(p) for p in both_cakes]))
dry_too = [predict(one, cake, walk, be, 1)[:, be, ids["dry"]].mean().item() for one in gpts]
print("of all probability, dry has", *(f"{100 * p:.0f} %" for p in dry_too), "with be exchanged")

# %% tags=["figure", "folded", "nbval-ignore-output"]
axes = plt.subplots(2, 1, figsize=(9, 4.6))[1]
for ax, (name, asked) in zip(axes, (("GPTs", "be"), ("encoders", "[MASK]")), strict=True):
    ax.imshow(maps[name], "Oranges", vmin=0, vmax=140, aspect="auto")
    for seed, at in np.ndindex(4, 15):
        if at == 0 or maps[name][seed, at] >= maps[name][seed, 0] + 3:
            ax.text(at, seed, f"{maps[name][seed, at]:.0f}", ha="center", va="center")
    row = ["[CLS]", *said[0][0].split()]
    row[dry] = "?" if name == "GPTs" else "[MASK]"
    ax.set_xticks(range(15), row, fontsize=9)
    ax.set_yticks(range(4), [f"seed {seed}" for seed in range(4)])
    ax.set_title(f"{name}, answer at {asked}: goes to the weather (%)", fontsize=11)
    ax.grid(visible=False)
axes[0].figure.suptitle("Which vector, exchanged after one layer, changes the answer?")
figure("transplants", alt="GPTs: be and the cake, by seed. Encoders: the cake, both times.")

# %% [markdown]
# (At *[CLS]*, the same word in both, nothing is exchanged.) **GPTs use the vector of *be*, one of them wholly, one hardly**: 100, 59, 25 and 11 % go to the weather. Those that it moves less read the *cake* again, in their second layer. An encoder answers at the hidden word, and its second layer reads the *cake* directly, at one mention or both: exchange both, and 89 % go to the weather; at *be*, or at the hidden word itself, next to nothing.
#
# So where something *can* be read and where it *is* used are two questions: at seed 3's *be* a probe tells the topic of 80 % after this very layer, and 11 % goes to the weather. The second question takes an intervention: an exchange here, forbidding in lesson 10. (It has its limits: such a run mixes two inputs that never occur together. How to do it well in large models: Meng et al. 2022, Zhang and Nanda 2024.)

# %% [markdown]
# ## What you now have
#
# - **Where does a network keep what it knows?** That depends on what it has to predict, and where. A GPT has ready at *be* what it needs to predict *dry*: the topic, and whether something good comes next; at *dry* two examples find about as much as in untrained networks. Networks that fill in masked words have it at *dry*, and at other words.
# - A comparison in steps: first the causal mask, then what is predicted.
# - Two tools: a probe, for what can be read, with untrained networks and counts of words as its controls, and examples that differ in one thing only; and activation patching, for what is used.
#
# **What still fails.** Everything here is one word, *dry*, in statements of one form, with a vocabulary of 72 words. At *dry* itself topic and good or bad can't be told apart at all: which *dry* it is means both.

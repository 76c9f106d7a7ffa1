# %% [markdown]
# # 10d · Where does a network keep what it knows?
#
# A GPT can't know at *dry* that *a dry cake* is about food: the cake comes later. But in *the cake would be dry* it comes first. Then its vector of *dry* could know as much as an encoder's. Does it?
#
# **Afterwards you can** ask a network what it knows at which word, tell what the causal mask does from what the objective does, exchange a vector to see whether the network uses it, and find out whether a probe found what you think.
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
# The statements are those of lesson 10. Take all that end in *would be dry*, so that the words around *dry* are the same in each: twelve of the training, to learn from, and twelve of the new templates, to judge. Half of them are about the kitchen, half about the weather. (Each set of twelve comes from two templates: a small sample, and the errors below count seeds only. A dry cake is bad and a dry walk good: 10d.4 comes back to that.)

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
def ask(v, topics, v_new, topics_new, n=2):  # per cent right
    right = []
    for seed in range(20):
        order = torch.randperm(len(v), generator=torch.Generator().manual_seed(seed)).to(device)
        some = pick(topics, order, n)
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
kinds = encoders, gpts, untrained
of_encoders, of_gpts, of_untrained = (probe(models, "dry").mean() for models in kinds)
compare_guess(guess, of_gpts)
claim(encoder_at_dry=of_encoders, gpt_at_dry=of_gpts)
claim(untrained_at_dry=of_untrained, counts_of_words=of_counts)

# %% [markdown]
# Only 63 %, though the cake is there to be read. Networks that were never trained have as much: they have read the cake, too. Counts of words have 70 %. (A stronger way of counting, latent semantic analysis (Deerwester et al. 1990), tells the topic of all twelve, [tested](../tests/test_encoder_lesson.py). But not at which word a network keeps it.) Why so little?
#
# A GPT differs from an encoder in three ways: it can't look to the right; it predicts next words instead of masked ones; and it does so at every word, not at 15 % of them. Take the three apart. So train two kinds in between: causal networks that fill in masked words, and GPTs of which only 15 % of the predictions count. (Next words without a causal mask can't be trained: the answers stand in the input.)
#
# **Predict.** Which step costs most: `"causal mask"`, `"next words"` or `"every word"`?

# %% tags=["predict"]
guess = None  # one of the three


# %%
def some_next_words(x, g):
    x, targets = next_words(x, g)
    drawn = torch.rand(x.shape, generator=g).to(device) < 0.15
    return x, targets.where(drawn, -100)


# %% tags=["nbval-ignore-output"]
causal_masked = [pretrain(seed, attend_past, hide_some) for seed in range(4)]

# %% tags=["nbval-ignore-output"]
sparse_gpts = [pretrain(seed, attend_past, some_next_words) for seed in range(4)]

# %% tags=["nbval-ignore-output"]
networks = {"encoders": encoders, "causal, masked": causal_masked}
networks |= {"GPTs, 15 %": sparse_gpts, "GPTs": gpts, "untrained": untrained}
rows = {name: probe(models, "dry") for name, models in networks.items()}
error = {name: right.std(ddof=1) / 2 for name, right in rows.items()}  # standard, of four seeds
steps = {
    "causal mask": ("encoders", "causal, masked"),
    "next words": ("causal, masked", "GPTs, 15 %"),
    "every word": ("GPTs, 15 %", "GPTs"),
    "the last two": ("causal, masked", "GPTs"),
}
cost = {step: rows[a].mean() - rows[b].mean() for step, (a, b) in steps.items()}
for step, (a, b) in steps.items():
    of_both = np.hypot(error[a], error[b])  # errors of two means: the squares add up
    print(f"{step:13} cost {cost[step]:.0f} ± {of_both:.0f}")
compare_guess(guess, max(list(cost)[:3], key=cost.get))
claim(masked_at_dry=rows["causal, masked"].mean(), sparse_gpt_at_dry=rows["GPTs, 15 %"].mean())

# %% tags=["figure", "folded", "nbval-ignore-output"]
ax = plt.subplots(figsize=(7.6, 4.6))[1]
bars = rows | {"counts of words": np.array([of_counts])}
for k, ((name, right), color) in enumerate(
    zip(bars.items(), ("C0", "C2", "C1", "C1", "0.5", "0.7"), strict=True)
):
    ax.barh(name, right.mean() - 50, 0.86, left=50, color=color, alpha=0.35)
    for seed, one in enumerate(right if len(right) > 1 else []):
        ax.text(one, k - 0.26 + 0.17 * seed, seed, ha="center", va="center", fontsize=10)
ax.set(
    xlim=(49, 102),
    ylim=(5.5, -0.5),
    title="The objective costs 26 ± 8 points, the mask perhaps none",
)
ax.set_xlabel("right at dry (%), chance is 50; bars: means, digits: seeds")
figure(
    "mask-or-objective",
    alt="Encoders 95 per cent, causal masked 89, GPTs 74 and 63, untrained 64, counts 70.",
)

# %% [markdown]
# Whether the causal mask costs anything, four seeds can't tell: 6 ± 7 points (right of this *dry* stands only a full stop). But the last two together, the **objective**, cost 26 ± 8. (Which of the two it is more, four seeds can't tell, either.) How does it do that?
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
# So ask all networks, at all of the last four words, after one layer and after both.

# %% tags=["nbval-ignore-output"]
words = ("would", "be", "dry", ".")
found = {  # (layers, words, seeds)
    name: np.array([[probe(models, word, depth=d) for word in words] for d in (1, 2)])
    for name, models in networks.items()
}
at_be = [found[name][1, 1] for name in ("GPTs", "GPTs, 15 %")]
claim(gpt_at_be=np.mean(at_be), gpt_elsewhere=found["GPTs"][1, [0, 2, 3]].mean(1).max())
claim(encoder_at_dry_after_one_layer=found["encoders"][0, 2].mean())

# %% tags=["nbval-ignore-output"]
x = read(judge[0])  # errors are compared on the same statements
wrong = {name: [Score(100 - one, on=x) for one in found[name][1].mean(1)] for name in networks}
claim_order(objective_matters=[wrong[name][2] for name in ("causal, masked", "GPTs")])
claim_order(gpt_at_be_over_dry=wrong["GPTs"][1:3])
claim_order(sparse_gpt_at_be_over_dry=wrong["GPTs, 15 %"][1:3])

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
axes[0].figure.suptitle("GPTs have the topic at be, where they predict dry (right, %)")
figure("objective", alt="GPTs at be 100 per cent, at dry 63 and 74; masked networks 75 to 95.")

# %% [markdown]
# There it is, 100 % at *be*, in all eight GPTs. **The same job, one word earlier: two examples find the topic where a GPT predicts with it.** (Or something that looks like the topic: see 10d.4.)
#
# Networks that fill in masks have it at other words, too: the causal ones at *would* as much as at *dry*, though after *would* only *be* can stand; why, we don't know. And depth matters as much as the word: after one layer an encoder's *dry* has no more of it than an untrained network's.
#
# So "what does the vector of this word know?" is a question about the objective and the layer, too. If you take vectors from a network that isn't fine-tuned, for search or for a classifier, try more than one position and more than one layer. (Voita, Sennrich and Titov (2019) follow larger models layer by layer: in language models vectors lose the past and gain the future; in masked ones they first lose the word itself and then rebuild it.)
#
# ## 10d.3 Does the network use it?
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
# > **Exercise 10d.2 (build, 15 minutes).** Write `transplant(x, other, blocks, at, depth)`. `x` and `other` are the vectors of two batches before the first block, (B, T, C). Each of `blocks` is a layer, and maps such vectors to vectors of the same shape. Run both batches through the first `depth` blocks. There, the vectors of x at position `at` (a number, or a list of several) become those of `other`. Run x through the remaining blocks, and return it. Neither `x` nor `other` may be changed in place.
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
texts = {topic: [] for topic in ("kitchen", "weather")}
for one in test:
    if one.template == form and one.domain in texts:
        texts[one.domain].append(one.text)
kitchen, weather = (read(some)[:, :15] for some in texts.values())  # 16 of each, no padding
be, dry = 12, 13  # their positions

# %% tags=["nbval-ignore-output"]
names = dict(zip(ids.values(), ids, strict=True))
print(*(some[0] for some in texts.values()), sep="\n")
for seed in (0, 3):
    for what, other in (("as it is", kitchen), ("be exchanged", weather)):
        best = predict(gpts[seed], kitchen[:1], other[:1], be, 1)[0, be].topk(3)
        chances = zip(best.indices.tolist(), best.values.tolist(), strict=True)
        said = "  ".join(f"{names[i]} {100 * p:.0f} %" for i, p in chances)
        print(f"seed {seed}, {what:13} {said}")

# %% [markdown]
# The statement still says what it said; one vector of 32 numbers came from the other, after one layer. And the GPT of seed 0 speaks of the weather. That of seed 3 doesn't: it says *dry* now, and *burnt*, which fit a cake.
#
# Now all sixteen statements, all networks, and every position, after one layer. (After both only the vector of the word that answers could count. Masked networks are asked where the adjective is hidden.) How much of the probability of five kitchen adjectives and five of the weather goes to the weather? (*Dry*, which is in both lists, isn't counted.) Nothing exchanged, that is 2 % in the GPTs.
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


def of_weather(model, x, other, answer, at):  # per cent
    p = predict(model, x, other, at, 1)[:, answer]
    k, w = (p[:, words].sum(1) for words in words_of.values())
    return 100 * (w / (k + w)).mean().item()


def trace(models, x, other, answer):  # (seeds, positions)
    return np.array([[of_weather(m, x, other, answer, at) for at in range(15)] for m in models])


# %% tags=["nbval-ignore-output"]
hidden = torch.tensor([3 if at == dry else 0 for at in range(15)], device=device)
masked = [torch.where(hidden > 0, hidden, x) for x in (kitchen, weather)]
maps = {name: trace(networks[name], kitchen, weather, be) for name in ("GPTs", "GPTs, 15 %")}
maps |= {name: trace(networks[name], *masked, dry) for name in ("causal, masked", "encoders")}
both = [[of_weather(one, *masked, dry, [5, 10])] for one in encoders]  # both cakes
compare_guess(guess, maps["GPTs"][:, be].mean())
claim(gpt_with_be=maps["GPTs"][:, be].mean(), gpt_with_would=maps["GPTs"][:, be - 1].max())
on_the_way = maps["encoders"][:, [be, dry]].mean(0).max()
claim(encoder_on_the_way=on_the_way, encoder_with_both_cakes=np.mean(both))

# %% tags=["figure", "folded", "nbval-ignore-output"]
axes = plt.subplots(3, 1, figsize=(9, 6.6))[1]
for ax, name in zip(axes, ("GPTs", "causal, masked", "encoders"), strict=True):
    ax.imshow(maps[name], "Oranges", vmin=0, vmax=140, aspect="auto")
    for seed, at in np.ndindex(4, 15):
        if at == 0 or maps[name][seed, at] >= maps[name][seed, 0] + 3:
            ax.text(at, seed, f"{maps[name][seed, at]:.0f}", ha="center", va="center")
    said, hole = ["[CLS]", *texts["kitchen"][0].split()], "be" if name == "GPTs" else "[MASK]"
    said[dry] = "?" if name == "GPTs" else hole
    ax.set_xticks(range(15), said, fontsize=9)
    ax.set_yticks(range(4), [f"seed {seed}" for seed in range(4)])
    ax.set_title(f"{name}, answer at {hole}: goes to the weather (%)", fontsize=11)
    ax.grid(visible=False)
axes[0].figure.suptitle("Which vector, exchanged after one layer, changes the answer?")
figure("transplants", alt="GPTs: be and the cake, by seed. Encoders: the cake, both times.")

# %% [markdown]
# (At *[CLS]*, the same word in both, nothing is exchanged.) **GPTs use the vector of *be*, one of them wholly, one hardly**: 100, 59, 25 and 11 % go to the weather. Those that it moves less read the *cake* again, in their second layer. An encoder answers at the hidden word, and its second layer reads the *cake* directly, at one mention or both: exchange both, and 89 % go to the weather; at *be*, or at the hidden word itself, next to nothing. The causal networks that fill in masks are in between: some of it has arrived at the hidden word after one layer. (Of these, seed 1 hardly tells the topics at all.)
#
# So where something can be read and where it is used are two questions. The second takes an intervention: an exchange here, forbidding in lesson 10. (It has its limits: such a run mixes two inputs that never occur together. How to do it well in large models: Meng et al. 2022, Zhang and Nanda 2024.)
#
# But look at seed 3: its probe at *be* is right 89 % of the time after this very layer, and only 11 % goes to the weather. What is it that the probe finds there?
#
# ## 10d.4 What had the probe found?
#
# In the kitchen *dry* is bad, in the weather it is good. So in all 24 statements a kitchen thing is followed by something bad at the end, and one of the weather by something good. A probe that finds *which* of the two is coming, good or bad, is as right as one that finds the topic. To tell them apart, let the same probes judge statements in which it is the other way round: something good about the kitchen, something bad about the weather. A probe that has found the topic is right about these, too; one that has found good or bad, and nothing else, is always wrong. (The causal networks haven't read the adjective at *be*, so that it may be any.)
#
# **Predict.** Seed 3's probe at *be*, after one layer, 89 % right. Here?

# %% tags=["predict"]
guess = None  # per cent

# %% tags=["nbval-ignore-output"]
ends = {("kitchen", 0), ("weather", 1)}  # of a bad cake something good was expected
some = [one for one in test if one.template.endswith("would be {o} .")]
some = [one for one in some if (one.domain, one.label) in ends]
topics = torch.tensor([int(one.domain == "weather") for one in some], device=device)
turned = [one.text for one in some], topics
print(len(some), "statements, such as", some[0].text)
turned_round = {  # (layers, seeds), at be
    name: np.array([probe(models, "be", judge=turned, depth=d) for d in (1, 2)])
    for name, models in networks.items()
    if name != "encoders"
}
compare_guess(guess, turned_round["GPTs"][0, 3])
claim(gpt_turned_after_one=turned_round["GPTs"][0].mean())
claim(
    gpt_turned=turned_round["GPTs"][1].mean(),
    sparse_gpt_turned=turned_round["GPTs, 15 %"][1].mean(),
)
claim(masked_turned=turned_round["causal, masked"][1].mean())

# %% tags=["figure", "folded", "nbval-ignore-output"]
axes = plt.subplots(1, 4, figsize=(10, 3.4), sharey=True)[1]
for ax, (name, right) in zip(axes, turned_round.items(), strict=True):
    for seed in range(4):
        both = [found[name][0, 1, seed], right[0, seed]]
        ax.plot(["as learned", "turned"], both, "o-", color="C1", alpha=0.7)
        ax.text(1.1 + 0.1 * seed, both[1], seed, va="center", fontsize=10)
    ax.axhline(50, color="0.4", linestyle=":")
    ax.set(title=name, xlim=(-0.35, 1.45))
axes[0].set_ylabel("right at be, after one layer (%)")
axes[0].figure.suptitle("In GPTs 1 and 3 half of what the probe had found was good or bad")
figure("turned", alt="GPTs 1 and 3 fall from 100 and 89 to 53 and 47; the other kinds hardly move.")

# %% [markdown]
# 47 %, halfway between: in seeds 1 and 3 the probe had found good or bad as much as the topic. **A probe finds whatever separates the two classes that you give it.** After both layers the GPTs are right 77 % of the time here, instead of 100: what the probe finds at their *be* is both, and to predict *dry* they need both. The GPTs with fewer targets, and the masked networks, are right as often as before, 100 and 85 %: there the probe finds the topic.

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
# > <details><summary>What we found</summary>Encoders 95, 100, 100; GPTs 63, 76 ± 7, 88 ± 7; untrained 64, 73 ± 5, 77 ± 9. So it is there, but in untrained networks, too, and four of each can't tell the two apart: 10 ± 11 points with twelve (87.5 against 77.1). This is why a probe needs such a control (another is random labels: Hewitt and Liang 2019), and why the number of examples belongs to its result (Voita and Titov 2020 measure it in bits).</details>

# %% [markdown]
# ## What you now have
#
# - **Where does a network keep what it knows?** That depends on what it has to predict, and where. A GPT has ready at *be* what it needs to predict *dry*; at *dry* two examples find about as much as in untrained networks. Networks that fill in masked words have it at *dry*, and at other words.
# - A comparison in steps: the causal mask, which word is predicted, and how often.
# - Two tools: a probe, for what can be read, with untrained networks, counts of words and statements turned round as its controls; and activation patching, for what is used.
#
# **What still fails.** Everything here is one word, *dry*, in statements of one form, with a vocabulary of 72 words. At *dry* itself topic and good or bad can't be told apart at all: which *dry* it is means both.

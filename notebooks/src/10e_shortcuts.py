# %% [markdown]
# # 10e · Right for the right reason?
#
# A network has learned from statements such as *today nobody found the cake burnt*, and gets them right: things turned out well. Now leave out *today*. The same network is sure that things turned out badly. What has it learned instead of *nobody*?
#
# **Afterwards you can** find out what a network's answer depends on, by hiding one word or changing one thing at a time, read a table of results by template, and mend a shortcut through the data or the position encoding.
#
# **Before**: lessons 10c (fine-tuning, seeds, skip-bigrams) and 6 (rotary positions).
#
# **Runs in** {runs_in}. **Study time** {study}.
#
# **Sources**: shortcuts, Geirhos et al. (2020) and McCoy, Pavlick and Linzen (2019); what the data leave open, McCoy, Min and Linzen (2020) and D'Amour et al. (2022); hiding one part of the input, Zeiler and Fergus (2014), Li, Monroe and Jurafsky (2016); pairs of texts that differ in one thing, Kaushik, Hovy and Lipton (2020), Gardner et al. (2020); tests by template, Ribeiro et al. (2020); what networks make of absolute positions, Sinha et al. (2022) and Kiyono et al. (2021); rotary positions, Su et al. (2021). All statements here were written for this course.

# %% tags=["setup", "machine"]
from dataclasses import replace
from itertools import product

import matplotlib.pyplot as plt
import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

from coursekit.data.statements import DOMAINS, Statement, fill_in, number_words, statements
from coursekit.exercises import answer_or
from coursekit.exercises import shortcuts as exercises
from coursekit.notebook import claim, compare_guess, figure, setup
from coursekit.notebook.percent import draw_percent
from coursekit.notebook.widgets import type_text

device = setup("10e_shortcuts", seed=42)

# %% [markdown]
# ## 10e.1 Equal in training
#
# Statements and networks are as in lesson 10c: a bidirectional encoder (`attend`) and a causal one (`attend_past`), with a head on the vector of the last token. Each learns for 1,500 steps from 34 templates with 64 statements each. We train four of each kind, which differ in nothing but the seed.

# %%
from coursekit.evaluate.seeds import compare_seeds
from coursekit.layers.attention import attend, attend_past
from coursekit.layers.position import LearnedPositions, rotary
from coursekit.models.encoder import Encoder, EncoderConfig, pool
from coursekit.training.fit import fit
from coursekit.training.optimiser import adamw, warm_up_cosine
from coursekit.windows.masking import pad_texts

train, validation, test = statements()
ids = number_words([one.text for one in train])
sizes = EncoderConfig(vocab_size=len(ids), context=24, d_model=32, dropout=0.0)


def read(texts):  # (tokens, present), each (N, T); 1 is [CLS], 0 is padding
    rows = [[1, *(ids[word] for word in text.split())] for text in texts]
    return [part.to(device) for part in pad_texts(rows, multiple_of=8)]


# %%
class OurClassifier(nn.Module):
    def __init__(self, rule, positions=LearnedPositions):
        super().__init__()
        self.encoder = Encoder(sizes, rule=rule, positions=positions)
        self.head = nn.Linear(32, 2)

    def forward(self, tokens, present):
        return self.head(pool(self.encoder(tokens, present), present, "last"))


def learn(rule, seed, part=train, change=None, steps=1500, positions=LearnedPositions):
    torch.manual_seed(seed)
    model = OurClassifier(rule, positions).to(device)
    (tokens, present), g = read([one.text for one in part]), torch.Generator().manual_seed(seed)
    labels = torch.tensor([one.label for one in part], device=device)
    picks = (torch.randint(len(part), (32,), generator=g) for _ in range(steps))
    batches = (((tokens[i], present[i]), labels[i]) for i in picks)
    if change is not None:  # 10e.6 changes the batches
        batches = ((change(*x, g), y) for x, y in batches)
    options = {"steps": steps, "schedule": warm_up_cosine(steps), "clip": 1.0}
    fit(model, adamw(model, 5e-3, weight_decay=0.01), batches, loss=F.cross_entropy, **options)
    return model.eval()


# %% tags=["nbval-ignore-output"]
networks = {"bidirectional": [learn(attend, seed) for seed in range(4)]}

# %% tags=["nbval-ignore-output"]
networks["causal"] = [learn(attend_past, seed) for seed in range(4)]

# %% [markdown]
# Ask one of them, bidirectional, seed 0:


# %% tags=["nbval-ignore-output"]
@torch.no_grad()
def went_well(tokens, present):  # the probability, for each text
    return networks["bidirectional"][0](tokens, present).softmax(1)[:, 1]


for text in ("today nobody found the cake burnt .", "nobody found the cake burnt ."):
    print(f"{text:38} it went well: {went_well(*read([text])).item():.3f}")

# %% [markdown]
# One training template is `{t} nobody found the {s} {o} .`: a time, a thing, and the opposite of how it was. In a test template the time stands at the end: *nobody found the cake dry today*. Anyone who knows what *nobody* means gets both right.
#
# **Predict.** Nearly all eight networks know the training template. How many of them are right about the new one in more than 90 % of its statements?

# %% tags=["predict"]
guess = None  # 0 to 8


# %% tags=["nbval-ignore-output"]
@torch.no_grad()
def accuracy(model, part):  # per cent
    labels = torch.tensor([one.label for one in part], device=device)
    logits = model(*read([one.text for one in part]))
    return 100 * (logits.argmax(1) == labels).float().mean().item()


def score(part):  # a number for each network
    return {k: np.array([accuracy(one, part) for one in some]) for k, some in networks.items()}


known = [one for one in train if one.template.startswith("{t} nobody")]
asked = [one for one in test if "nobody" in one.template]
trained_on, unseen = score(known), score(asked)
for name in networks:
    print(f"{name:13} in training {trained_on[name].round()}, new {unseen[name].round()}")
compare_guess(guess, sum((one > 90).sum() for one in unseen.values()))
claim(know_nobody_in_training=sum((one > 90).sum() for one in trained_on.values()))
claim(widest_spread_on_nobody=max(map(np.ptp, unseen.values())))

# %% tags=["figure", "folded", "nbval-ignore-output"]
axes = plt.subplots(1, 2, figsize=(7.2, 3), sharey=True)[1]
for ax, (name, color) in zip(axes, {"bidirectional": "C0", "causal": "C1"}.items(), strict=True):
    both = [trained_on[name], unseen[name]]
    ax.plot(["today nobody …\n(in training)", "nobody … today\n(new)"], both, "o-", color=color)
    ax.axhline(50, color="0.4", linestyle=":")
    free = -20.0
    for k in unseen[name].argsort():
        free = max(unseen[name][k], free + 8)  # labels that don't overlap
        ax.text(1.08, free, f"seed {k}", va="center", fontsize=9, color=color)
    ax.set(title=name, xlim=(-0.3, 1.6), ylim=(-6, 108))
axes[0].set_ylabel("right (%); dotted: chance")
axes[0].figure.suptitle("Alike in training, not on new statements")
figure(
    "equal-in-training", alt="Seven of eight lines start near 100; they end anywhere from 0 to 78."
)

# %% [markdown]
# On the left all but one are alike. On the right they range from mostly right to nearly always *wrong*. Zero per cent isn't ignorance, since guessing gives 50: such a network goes by the cake and the adjective, and ignores *nobody*. Only the seed decided which networks do this. (Another processor, which rounds in another way, is like another seed, see 10c: your numbers differ from those in the text. The story doesn't.)
#
# This is **underspecification**: the training data allow several rules. McCoy, Min and Linzen (2020) fine-tuned a hundred BERTs, identical except for the seed. On sentences like those of training they were nearly equal; on one kind of new sentence accuracy ranged from 0 to 66 %.
#
# Which rule have they learned?
#
# ## 10e.2 Which words count?
#
# Ask the network itself. Hide one word at a time: set `present` to False there, so that no token attends to it, while all others stay where they are. What the answer loses is the word's effect. This is **occlusion**.

# %% [markdown] tags=["exercise"]
# > **Exercise 10e.1 (build, 15 minutes).** Write `our_effects(tells, tokens, present)`, for one text: `tokens` and `present` are (1, T). `tells` takes two tables (N, T) like these, a row for each text, and returns N answers. The result is (T,): for each token the answer to the whole text, minus the answer when this token is hidden. For example, if `tells` is 0.9 for the whole text and 0.2 when token 3 is hidden, number 3 is 0.7. A token already hidden has no effect, and neither table may be changed in place.
# >
# > <details><summary>Hint 1</summary>Make T copies of the text, each with another token hidden, and ask once.</details>
# > <details><summary>Hint 2</summary><code>torch.eye(T, dtype=torch.bool, device=present.device)</code> is True on its diagonal, <code>~</code> swaps True and False, and <code>&</code> is True where both are.</details>


# %% tags=["stub"]
def our_effects(tells, tokens, present): ...  # -> (T,)


# %% tags=["check"]
exercises.check_our_effects(our_effects)


# %% tags=["solution"]
def our_effects(tells, tokens, present):
    T = tokens.shape[1]
    hidden = present & ~torch.eye(T, dtype=torch.bool, device=present.device)
    return tells(tokens, present) - tells(tokens.expand(T, -1), hidden)


# %% [markdown]
# **Predict.** *Nobody found the cake burnt*, and the network says: badly. What is the effect of *nobody* on the probability that it went well?

# %% tags=["predict"]
guess = None  # from -1 to 1

# %% tags=["nbval-ignore-output"]
from coursekit.inside.occlusion import occlude

effects_of = answer_or(our_effects, occlude)  # the library's until yours is there
x = read(["it was a dry cake ."])
torch.testing.assert_close(effects_of(went_well, *x), occlude(went_well, *x))


def word_effects(text):  # without [CLS] and the full stop
    return effects_of(went_well, *read([text]))[1 : len(text.split())].cpu()


after_today = word_effects("today nobody found the cake burnt .")[1].item()
first = word_effects("nobody found the cake burnt .")[0].item()
print(f"effect of nobody: after today {after_today:+.2f}, first {first:+.2f}")
compare_guess(guess, first)
claim(effect_of_nobody_after_today=after_today, effect_of_nobody_first=first)


# %% tags=["figure", "folded", "nbval-ignore-output"]
def draw_effects(texts, title):
    ax = plt.subplots(figsize=(9, 0.9 + 0.7 * len(texts)))[1]
    for row, text in enumerate(texts):
        for at, (word, one) in enumerate(zip(text.split(), word_effects(text), strict=False), 1):
            effect = round(one.item(), 2) + 0.0  # no -0.00
            box = {"fc": plt.get_cmap("RdBu")(0.5 + effect / 2.6), "ec": "0.6"}
            ax.add_patch(plt.Rectangle((at - 0.46, row - 0.4), 0.92, 0.8, **box))
            ink = {"color": "white" if abs(effect) > 0.6 else "black", "fontsize": 10}
            ax.text(at, row, f"{word}\n{effect:+.2f}", ha="center", va="center", **ink)
    answers = [f"{went_well(*read([text])).item():.2f}" for text in texts]
    ax.set_yticks(range(len(texts)), answers)
    ax.set(xlim=(0.5, 8.5), ylim=(len(texts) - 0.5, -0.6), xlabel="position", ylabel="it went well")
    ax.grid(visible=False)
    ax.set_title(title)


title = "The same words: here ‘nobody’ decides, there it has no effect"
both = [f"today nobody found the cake {word} ." for word in ("burnt", "fresh")]
draw_effects([*both, "nobody found the cake burnt ."], title)
figure("effects", alt="After today, nobody is blue or red; first, it is white, and burnt is red.")

# %% [markdown]
# After *today*, hide *nobody*, and the answer flips. At the beginning *nobody* has no effect (0.00), and *burnt* decides. (Blue: the word speaks for *well*, red: against it.) And look at *today* in the second row: it counts as much as *nobody*, though it says nothing of how things were.
#
# (Caution: an effect of 0 doesn't mean that a word isn't read. Without *burnt* the first answer is *well*, too. If two words say the same thing, neither shows an effect, for hiding one leaves the other.)
#
# One statement and one network are an anecdote. So take all eight networks, and statements that differ in one thing only, **minimal pairs**. *Nobody found the cake fresh* and the like can be said of all twelve things, with six words each: 72. Drop those that training has with a time in front or behind, and 24 remain. (Seventeen of them do begin a training statement, *nobody found the cake fresh so people grumbled*.)


# %%
def shorten(text):  # without its time
    return text.replace("today ", "").replace("this time ", "")


familiar, bare = {shorten(one.text) for one in train}, []
for domain, (things, good, bad) in DOMAINS.items():
    for thing, word in product(things.split(), (good + " " + bad).split()):
        text = f"nobody found the {thing} {word} ."
        if text not in familiar:  # if nobody found it bad, it went well
            bare.append(Statement(text, int(word in bad.split()), text, domain))


def reword(front="", back=""):  # with something before or after
    texts = [f"{front} {one.text[:-2]} {back}".strip() + " ." for one in bare]
    return [replace(one, text=text) for one, text in zip(bare, texts, strict=True)]


for one in (reword(back="today")[0], reword()[0], reword("today")[0]):
    print(one.label, one.text)
print(len(bare), "statements;", sum(one.label for one in bare), "went well")

# %% [markdown]
# **Predict.** What does a network need before *nobody*, to be right: a time, another word, or nothing?

# %% tags=["predict"]
guess = None  # "a time", "another word" or "nothing"

# %% tags=["nbval-ignore-output"]
asks = {"nobody … today": reword(back="today"), "nobody …": reword()}
asks |= {f"{front} nobody …": reword(front) for front in ("today", "people")}
asks["we … (no nobody)"] = [
    replace(one, text=one.text.replace("nobody", "we"), label=1 - one.label) for one in bare
]
answers = {text: np.concatenate([*score(part).values()]) for text, part in asks.items()}
print(f"{'right (%), seeds 0–3':17} bidirectional       causal")
for text, one in answers.items():
    print(f"{text:20}", *(f"{number:4.0f}" for number in one))
needs = {"nothing": "nobody …", "another word": "people nobody …", "a time": "today nobody …"}
enough = [need for need, text in needs.items() if (answers[text] > 70).sum() >= 6]
compare_guess(guess, enough[0] if enough else "more than a time")
claim(wrong_without_a_word=(answers["nobody …"] < 10).sum())
claim(know_it_with_today=(answers["today nobody …"] > 70).sum())
claim(know_it_with_people=(answers["people nobody …"] > 70).sum())
claim(right_with_we=answers["we … (no nobody)"].min())

# %% [markdown]
# The last row first. With *we* instead of *nobody* the opposite is true, and all eight know it. So those that have 0 or 4 % with *nobody* give both the same answer: *nobody* changes nothing for them.
#
# The time at the end matters little: most networks find *nobody found the cake fresh* as hard without it. What counts is that something stands in front. With *today* every network that knows the training template is right again. And not because of what *today* means: *people nobody found the cake fresh* isn't English, and nearly all know it.
#
# ## 10e.3 A word, or a position?
#
# Must it be a word? Something else changes, too, when one comes in front: *nobody* moves from position 1 to position 2. An encoder adds to each token a vector for its position (lesson 10), which is the number of its column, so that to a layer *nobody* at 1 and at 2 are two inputs. So move the words and put nothing in front. Leave a **gap**: insert padding at position 1, which no token can attend to, a *position offset*. And why stop at one?


# %% tags=["nbval-ignore-output"]
def leave_gap(x, at, fill):  # one more column, number at; for tokens and for present
    return torch.cat([x[:, :at], torch.full_like(x[:, :1], fill), x[:, at:]], 1)


eight = [one for some in networks.values() for one in some]


@torch.no_grad()
def with_gaps(part, positions, models=None):  # per cent right, for each network; None: all eight
    tokens, present = read([one.text for one in part])
    labels = torch.tensor([one.label for one in part], device=device)
    for at in positions:
        tokens, present = leave_gap(tokens, at, 0), leave_gap(present, at, False)
    says = [one(tokens, present).argmax(1) for one in models or eight]  # at the full stop, still
    return np.array([100 * (one == labels).float().mean().item() for one in says])


# %% tags=["nbval-ignore-output"]
def at_positions(models=None, last=9):  # right with nobody at 1 to last: (last, networks)
    return np.array([with_gaps(bare, [1] * n, models) for n in range(last)])


moved = at_positions()
one_gap = [with_gaps(bare, [at]).mean() for at in range(1, 7)]
print(f"no gap {moved[0].mean():.0f}, one at 1 to 6:", *(f"{one:.0f}" for one in one_gap))
claim(moving_the_adjective_helps=np.mean(one_gap[1:5]) - moved[0].mean())
claim(know_it_with_a_gap=(moved[1] > 70).sum(), right_with_a_gap=moved[1].mean())
claim(right_with_six_gaps=moved[6].mean(), right_without_a_gap=moved[0].mean())
claim(moving_the_full_stop=one_gap[5])


# %% tags=["figure", "folded", "nbval-ignore-output"]
def draw_positions(ax, found, title, asked_at):  # a row for each network
    seeds = [f"seed {k % 4}" for k in range(found.shape[1])]
    draw_percent(ax, found.T, seeds, range(1, len(found) + 1))
    first, last = asked_at
    box = {"fill": False, "ec": "C2", "lw": 3, "clip_on": False}
    ax.add_patch(plt.Rectangle((first - 1.5, -0.5), last - first + 1, found.shape[1], **box))
    ax.set(title=title, xlabel="position of ‘nobody’; the others move along")


axes = plt.subplots(1, 2, figsize=(9.6, 2.6), sharey=True)[1]
for ax, name, some in zip(axes, networks, (moved[:, :4], moved[:, 4:]), strict=True):
    draw_positions(ax, some, name, (2, 3))
axes[0].figure.suptitle("Right (%): nearly all know ‘nobody’ where training asks about it (frame)")
figure("place", alt="At positions 2 and 3 nearly all are blue; on either side many are red.")

# %% [markdown]
# **With a gap in front, in which there is nothing to read, the mean goes from 24 to 85 %.** So for nearly all it wasn't the word *today*. It was where the words stand.
#
# In training statements the label depends on *nobody* at position 2, after *today*, and at 3, after *this time*. There nearly all know it. Elsewhere training doesn't ask, and anything can happen: at 4, 5 and 7 the seed decides, at 6 most are wrong, at 9 most are right. (54 and 46 % are what a constant answer gets, for 13 of the 24 went well.)
#
# Nor is it *nobody* alone. Leave it at 1, and put the gap at 2, 3, 4 or 5, which moves the adjective: that mends part of it, too, here to 67 %. (A gap at 6 moves only the full stop, and helps little.) In training, `{w} found the {s} {x}` has its adjective at 5, and there the adjective decides. So this, it seems, is what many have learned: **after *found the*, an adjective at 5 decides; *nobody* counts at 2 and 3.**
#
# <details><summary>Are there exceptions?</summary>Yes. The causal network of seed 2 is right after <em>today</em> and not with one gap. And in the second row of the figure in 10e.2 hiding <em>today</em> leaves a gap, and seed 0 is wrong.</details>
#
# ## 10e.4 The easy way out
#
# Training has *nobody* at position 1, too, in `nobody found the {s} {o} so {r} .` Do they look at it there?

# %% tags=["figure", "folded", "nbval-ignore-output"]
title = "With a reaction only its last word counts"
draw_effects(["nobody found the cake burnt so people smiled ."], title)
figure("reaction", alt="Of eight words only smiled is blue; all others are white.")

# %% [markdown]
# It seems not, in seed 0: hide *smiled*, and it says *badly*, in spite of *nobody*. That is one statement and one network. So ask all eight, and let *nobody* and the reaction disagree: exchange the reaction for one of the opposite outcome.

# %%
opposite = {"people smiled": "people grumbled", "everyone was pleased": "everyone was annoyed"}
opposite |= {"the guests came again": "the guests went home"}
opposite |= {b: a for a, b in opposite.items()}  # and back

# %% [markdown] tags=["exercise"]
# > **Exercise 10e.2 (warm-up, 5 minutes).** Write `exchange(text)`, which makes such a pair: the same statement with the opposite reaction. `opposite` says which belong together, in both directions. From *nobody found the cake dry so people smiled .* it makes *nobody found the cake dry so people grumbled .* A reaction can stand at the front, too; a statement without one stays as it is.
# >
# > <details><summary>Hint</summary>Exchanging twice gives the old statement back. Does your function exchange it twice?</details>


# %% tags=["stub"]
def exchange(text): ...  # -> text


# %% tags=["check"]
exercises.check_exchange(exchange)


# %% tags=["solution"]
def exchange(text):
    for one, other in opposite.items():
        if one in text:
            return text.replace(one, other)
    return text


# %% [markdown]
# **Predict.** Where the two disagree, which do the networks follow?

# %% tags=["predict"]
guess = None  # "nobody", "the reaction" or "sometimes one, sometimes the other"

# %% tags=["nbval-ignore-output"]
turn = answer_or(exchange, exercises.swap_reaction)  # the course's until yours is there
with_reaction = [one for one in train if one.template.startswith("nobody")]
exchanged = [replace(one, text=turn(one.text)) for one in with_reaction]  # nobody's label
print(with_reaction[0].text, exchanged[0].text, sep="\n")
by_nobody = with_gaps(exchanged, [])  # right is what nobody says, wrong what the reaction says
print("as in training:", with_gaps(with_reaction, []).round())
print("with nobody, against the reaction:", by_nobody.round())
follow = "nobody" if by_nobody.min() > 65 else "sometimes one, sometimes the other"
follow = "the reaction" if by_nobody.max() < 35 else follow
compare_guess(guess, follow)
claim(follows_nobody_against_the_reaction=by_nobody.max())

# %% [markdown]
# The reaction, in all eight. In training it always agrees with *nobody*, so a network needs nothing else there. To rely on a cue that holds in training and fails elsewhere, when it is missing or misleads, is **shortcut learning**.
#
# ## 10e.5 Is it only *nobody*?
#
# If an empty position decides what they know of *nobody*, what of all the rest? Put the same gaps in front of the *training* statements, on which the networks are nearly always right. Most of these hold one word that tells the outcome. Statements with *but* are harder: they hold a good word and a bad one, and only the order says which was expected and which happened.
#
# - *the cake was tasty but we expected a dry cake*
# - *we expected a dry cake but the cake was tasty*
#
# (We take the statements that end by position 11. None of training ends after 14, so the vectors of later positions were never trained.)
#
# **Predict.** Move the first template by two positions. How often are the four bidirectional networks still right about it?

# %% tags=["predict"]
guess = None  # per cent; chance is 50

# %% tags=["nbval-ignore-output"]
early = [one for one in train if len(one.text.split()) <= 11]  # the first word is at 1
but = [one for one in early if " but " in one.text]
groups = {
    "without ‘but’": [one for one in early if " but " not in one.text],
    "tasty but we expected dry": [one for one in but if one.template.startswith("the")],
    "we expected dry but tasty": [one for one in but if not one.template.startswith("the")],
}
by_gaps = {
    name: np.array([with_gaps(part, [1] * n) for n in range(4)]) for name, part in groups.items()
}
print(f"{'right (%), gaps in front':26} bidirectional   causal")
for name, one in by_gaps.items():
    means = np.concatenate([one[:, :4].mean(1), one[:, 4:].mean(1)])
    print(f"{name:26}", *(f"{mean:3.0f}" for mean in means))
without, first, second = by_gaps.values()  # each (gaps, networks)
compare_guess(guess, first[2, :4].mean())
claim(first_but_with_two_gaps=first[2, :4].mean(), no_but_with_two_gaps=without[2].mean())
claim(wrong_about_the_first_but=(first[2] < 50).sum())

# %% tags=["figure", "folded", "nbval-ignore-output"]
axes = plt.subplots(1, 3, figsize=(9.6, 3), sharey=True)[1]
for ax, (name, found) in zip(axes, by_gaps.items(), strict=True):
    for k, one in enumerate(found.T):
        label = {0: "bidirectional", 4: "causal"}.get(k)
        ax.plot(range(4), one, "o-", color=f"C{k // 4}", alpha=0.6, label=label)
    ax.axhline(50, color="0.4", linestyle=":")
    ax.set_title(name, fontsize=10)
    ax.set(xlabel="gaps in front", ylim=(-4, 104), xticks=range(4))
axes[0].legend(loc="lower left")
axes[0].set_ylabel("right (%), training statements")
axes[0].figure.suptitle("Moved by two, many networks get the first ‘but’ wrong")
figure("learned", alt="Without but the lines stay high; with but they fall, many of them to 0.")

# %% [markdown]
# **Moved by two positions, the bidirectional networks are nearly always wrong about the first template**, which in training they always get right. Without *but* most answers stay right. So it isn't only *nobody*. (Sinha et al. 2022 find it in large models, too: sentences that begin at another position are handled less accurately.)
#
# What do they go by now? Perhaps by *but*. In training it stands at 5 only after what happened, at 7 and 8 only after what was expected (and at 6 after either); two gaps move it from 5 to 7. A good story. But **a story that fits is a hypothesis**. Change one thing, and see: `with_gaps(groups["tasty but we expected dry"], [6, 6])` leaves *but* at 5, and moves only what follows.
#
# <details><summary>What we saw</summary>Of the four bidirectional networks three were still mostly wrong, with 14, 31 and 2 %; one had 89. So in these three the move of <em>but</em> isn't needed to break what they know. What does, we don't know.</details>
#
# And on new statements? A mean over the test hides what a table shows: a row for each test template, a column for each network. The first column has the skip-bigrams of lesson 10c, which know the order of words but no positions.

# %%
from coursekit.models.bag import fit_bag

(x, _), y = read([one.text for one in train]), torch.tensor([one.label for one in train])
bag = fit_bag(x, y.to(device), vocab_size=len(ids), pairs="far", lowest=4, decay=1e-6)


# %% tags=["nbval-ignore-output"]
forms = sorted({one.template for one in test})
parts = [[one for one in test if one.template == form] for form in forms]
models = [lambda x, present: bag(x), *networks["bidirectional"], *networks["causal"]]
table = np.array([[accuracy(model, part) for model in models] for part in parts])  # (14, 9)
spread = np.array([max(np.ptp(row[1:5]), np.ptp(row[5:])) for row in table])
told = ["{r}" in form for form in forms]  # a reaction gives the outcome away
claim(right_with_a_reaction=table[told].mean(), templates_that_vary=(spread > 50).sum())
claim(pairs_on_nobody=table[["nobody" in form for form in forms], 0].item())

# %% tags=["figure", "folded", "nbval-ignore-output"]
order = table[:, 1:].mean(1).argsort()
ax = plt.subplots(figsize=(8.4, 4.9))[1]
columns = ["skip-\nbigrams", *(list(range(4)) * 2)]
draw_percent(ax, table[order], [fill_in(forms[i]) for i in order], columns)
for k, name in enumerate(networks):
    ax.text(2.5 + 4 * k, -0.7, name, ha="center", fontsize=10)
for edge in (0.5, 4.5):
    ax.axvline(edge, color="white", linewidth=4)
ax.set_xlabel("seed; right (%), white is chance", labelpad=2)
ax.set_title("For some questions the seed decides", pad=24)
figure("templates", alt="Some rows are blue throughout; in others one kind is red, white or blue.")

# %% [markdown]
# Where a reaction gives the outcome away, nearly all are right. In other rows networks of one kind are blue and red, right and wrong, as with *nobody*: in part because training was short: after 6,000 steps (lesson 10f) all eight know *it was not a dry cake today*. But on *nobody* the bidirectional ones stay at 11, 5, 2 and 2 %. That question the training data leave open. Skip-bigrams are right about *nobody* in 81 % of cases. (We thought of them after looking at this test, see 10c.)

# %% [markdown]
# **Your turn.** Write statements, and the eight networks vote. (Words that they don't know are left out, which moves the others: look at what is printed.) Can you find one on which they disagree?


# %% tags=["live"]
def vote(lines):  # the probability that it went well, in per cent
    for text in lines.lower().splitlines():
        known = [word for word in text.split() if word in ids][:23]
        x = read([" ".join(known)])
        for name, some in networks.items():
            p = [100 * one(*x).softmax(-1)[0, 1].item() for one in some]
            print(f"{' '.join(known):40} {name:13}", *(f"{number:4.0f}" for number in p))


type_text(vote, "nobody had a broken mirror .\ntoday you did not have a stale soup .")

# %% [markdown]
# ## 10e.6 Say what doesn't matter
#
# How do you tell a network that the position doesn't matter? Show it other positions. For each training statement with a time add one without, with the same label: 640 short statements, 450 of them different, some with *nobody* at position 1, where now it decides. (None of the 24 is among them.) And put a random number of gaps, 0 to 6, in front of each batch, much as Kiyono et al. (2021) do. Adding changed copies of the data is called **data augmentation**.

# %% tags=["nbval-ignore-output"]
more = train + [replace(one, text=shorten(one.text)) for one in train if "{t}" in one.template]
print(f"{len(train)} statements, now {len(more)}, such as:", more[-1].text)


def random_gaps(tokens, present, g):
    for _ in range(int(torch.randint(7, (), generator=g))):
        tokens, present = leave_gap(tokens, 1, 0), leave_gap(present, 1, False)
    return tokens, present


shaken = [learn(attend, seed, more, random_gaps) for seed in range(4)]  # as many steps as before

# %% [markdown]
# **Predict.** At position 7 the bidirectional networks were mostly wrong. How often are these right?

# %% tags=["predict"]
guess = None  # per cent

# %% tags=["nbval-ignore-output"]
everywhere = at_positions(shaken, 13)
compare_guess(guess, everywhere[6].mean())
claim(right_on_nobody_where_shown=everywhere[:9].mean(), right_beyond=everywhere[9:].min())
claim(learned_with_gaps=with_gaps(train, [], shaken).mean())


# %% tags=["figure", "folded", "nbval-ignore-output"]
axes = plt.subplots(1, 2, figsize=(10.4, 2.6), sharey=True, width_ratios=(9, 13))[1]
draw_positions(axes[0], moved[:, :4], "original data", (2, 3))
draw_positions(axes[1], everywhere, "with short statements and gaps", (1, 9))
axes[0].figure.suptitle("Right (%): with more data, they know it where training asks (frame)")
figure("fixed", alt="Before, red and blue; with more data all blue from 1 to 9, then mixed.")

# %% [markdown]
# **At positions 1 to 9, wherever the label now depends on *nobody*, they know it**, 99 % on average. (With six gaps in front it stands at 8, after *today*, and at 9, after *this time*.) Beyond, single networks drop far below chance, though these positions have been trained, too: augmentation can be relied on to fix only what it covers. And more varied data take longer. In as many steps as before they have learned only 90 % of the old training statements. (Try `steps=4500`.)

# %% [markdown] tags=["exercise"]
# > **Exercise 10e.3 (investigate, 10 minutes).** We changed two things at once, the short statements and the gaps. Which of them did it? To leave one out is an **ablation**. Train bidirectional networks with one of them only, seeds 0 to 3, and complete the table. (Eight networks take a minute and a half.)
# >
# > <details><summary>Hint</summary><code>learn(attend, 0, more)</code> has the short statements only. The fourth argument of <code>learn</code> changes the batches.</details>
#
# |what was added|*nobody* at 1, seeds 0–3|lowest at 2 to 9|
# |---|---|---|
# |short statements|||
# |gaps|||
# |both|||
#
# > <details><summary>What we found</summary>(On another processor; yours differ as another seed would.) Short statements alone: 100, 100, 100 and 100 at position 1, and as low as 4 further on. Gaps alone: 4, 29, 21 and 96 at position 1, and 96 or more from 2 to 9. So each fixes its own part: the gaps show the positions after 3, and only the short statements ask about position 1.</details>

# %% [markdown]
# ## 10e.7 Or build it in
#
# Could the network be made so that it hardly sees where a statement begins? **Rotary positions** (Su et al. 2021; lesson 6) add nothing to the tokens. They turn queries and keys, so that position enters only as the offset between two tokens, how far before or after: a *relative* position encoding. Most of today's language models have them. Train four such encoders on the old training statements, without short ones or gaps.

# %% tags=["nbval-ignore-output"]
turned = [learn(rotary(attend), seed, positions=None) for seed in range(4)]  # None: none are added

# %% [markdown]
# **Predict.** Bidirectional networks with learned positions are right about *nobody* at position 1 in 12, 0, 50 and 0 % of cases. And these, on average?

# %% tags=["predict"]
guess = None  # per cent right

# %% tags=["nbval-ignore-output"]
by_distance = at_positions(turned)
compare_guess(guess, by_distance[0].mean())
kinds = {"learned positions": networks["bidirectional"], "with more data": shaken, "rotary": turned}
rest = [one for one in test if one not in asked]
parts = {"test": rest, "validation": validation}  # without what training has, but for a time
parts = {k: [o for o in part if shorten(o.text) not in familiar] for k, part in parts.items()}
print("training statements that end by 11: right (%), and moved by three")
for name, models in kinds.items():
    known, away = (with_gaps(early, [1] * n, models).mean() for n in (0, 3))
    print(f"{name:17} {known:3.0f} {away:3.0f}")

# %% tags=["nbval-ignore-output"]
on_new = {
    name: {k: torch.tensor(with_gaps(part, [], models)) for k, part in parts.items()}
    for name, models in kinds.items()
}
print(f"new: {'right (%)':14} test   validation")
for name, one in on_new.items():
    print(f"{name:17} {one['test'].mean():4.0f} {one['validation'].mean():12.0f}")
print("the questions of 10e.2, seeds 0–3")
print(f"{'':20} {'with more data':19} rotary")
for text in list(asks)[:4]:
    both = np.concatenate([with_gaps(asks[text], [], models) for models in (shaken, turned)])
    print(f"{text:20}", *(f"{number:4.0f}" for number in both))

# %% tags=["nbval-ignore-output"]
at_one = {name: at_positions(models, 1)[0] for name, models in kinds.items()}
ahead = {k: compare_seeds(on_new["rotary"][k], on_new["learned positions"][k]) for k in parts}
for k, (lead, error) in ahead.items():
    print(f"{len(parts[k])} of {k}: rotary ahead of learned positions by {lead:.1f} ± {error:.1f}")
leads = {name: (at_one[name] - at_one["learned positions"]).mean() for name in kinds}
claim(more_data_ahead_at_one=leads["with more data"], rotary_ahead_at_one=leads["rotary"])
claim(rotary_know_nobody=(by_distance.min(0) > 70).sum())
claim(rotary_varies_by_position=np.ptp(by_distance, 0).max())
claim(more_data_with_the_time_at_the_end=with_gaps(asks["nobody … today"], [], shaken).min())

# %% tags=["figure", "folded", "nbval-ignore-output"]
ax = plt.subplots(figsize=(6.4, 2.7))[1]
title = "Rotary: the answer hardly depends on where the words stand"
draw_positions(ax, by_distance, title, (2, 3))
figure("rotary", alt="Each row has one colour: three are blue at all positions, one is red.")

# %% [markdown]
# **Now it hardly matters where a statement stands.** All that they have learned still works three positions further on. (Only `[CLS]` stays at 0.) And three of the four know *nobody* at every position, from the old data, in which no label depends on it at 1.
#
# The fourth, seed 0, is wrong everywhere. Put the questions of 10e.2 to it. It is right where there is a time, in front or at the end, and wrong where there is none: what seemed to be about *today* and wasn't, here it is. So rotary positions do away with one shortcut, not with all.
#
# And *nobody found the cake fresh today*, the form with which the lesson began? With more data all four are right about it, though training never has a time at the end with *nobody*. With rotary positions three of four are. So neither fix mends everything. Both together? Try it: `learn(rotary(attend), 0, more, random_gaps, positions=None)`.
#
# <details><summary>Are they better on other new statements?</summary>We can't tell. On the other thirteen test templates, and on the eight of validation, rotary networks are ahead by a few points, with errors as large (printed above). By the rule of lesson 10c that is no lead. (On two other processors the same seeds gave hints.) With more data there is no lead, either, but those networks have learned only 90 % of the training statements.</details>

# %% [markdown] tags=["exercise"]
# > **Exercise 10e.4 (investigate, 20 minutes).** Can we do without positions altogether (*NoPE*)? Train networks of both kinds, seeds 0 to 3, with `positions=None` and without `rotary`, and complete the table; <code>rest</code> holds the thirteen other templates, whole. (Eight networks take a minute and a half.) Which of the two still knows the order of the words, and from what?
# >
# > <details><summary>Hint</summary>What does attention without a mask make of a text whose words are shuffled? And with a causal mask: how many tokens can each one see?</details>
# >
# > ```python
# > model = learn(attend, 0, positions=None)
# > print(with_gaps(train, [], [model]), with_gaps(train, [1] * 3, [model]))
# > ```
#
# |no positions|training|with three gaps|*nobody* at 1|the thirteen other templates|
# |---|---|---|---|---|
# |bidirectional|||||
# |causal|||||
#
# > <details><summary>What we found</summary>(On another processor.) Bidirectional: 82, 82, 79 and 78 in training, the same with gaps, 97 on <em>nobody</em>, 77 on the others. Without positions and without a mask no layer can see the order of the words. Causal: 99, 100, 100 and 98 in training, the same with gaps, 98 on <em>nobody</em>, and 98, 99, 97 and 92 on the others. (Causal networks with rotary positions have 98, 95, 95 and 94 there, with learned ones 97, 97, 86 and 70.) With a causal mask each token sees only those before it, and the order can be learned from that (Haviv et al. 2022). Kazemnejad et al. (2023) find that such networks also do best on texts longer than those of training. (By now we have looked at these thirteen templates many times. For a comparison take new ones, as in 10f.3.)</details>

# %% [markdown]
# ## What you now have
#
# - **Right for the right reason?** Often not. Seven of eight networks got *nobody* right in training. What they had learned instead is tied to positions: *nobody* counts at 2 and 3, where training asks about it, and in front of an adjective at 5 hardly. Moved by two positions, many are wrong about one form of *but* that they know.
# - Ways to find out. Occlusion hides one word at a time. Minimal pairs are statements made for the question, which differ in one thing. A table by template says where to ask.
# - Two remedies. Augmentation fixes what it covers, and takes longer to learn. An encoder that sees only offsets hardly cares where a statement begins. (Exercise 10e.4 has a third.)
#
# **What still fails.** Here we could guess what to change, since we wrote the templates. In real text you don't know in advance which shortcuts there are. And how sure can one be of a lead on new statements, if they come from a few templates? [Side lesson 10f](10f_templates.ipynb) asks that.

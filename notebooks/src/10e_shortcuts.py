# %% [markdown]
# # 10e · Right for the right reason?
#
# A network has learned from statements such as *today nobody found the cake burnt*, and gets them right: things turned out well. Now leave out *today*. The same network is sure that things turned out badly. What has it learned instead of *nobody*?
#
# **Afterwards you can** find out what a network's answer hangs on, by changing one thing in a text at a time, read a table of results by template, and fix a shortcut with data.
#
# **Before**: lesson 10c (fine-tuning, seeds).
#
# **Runs in** {runs_in}. **Study time** {study}.
#
# **Sources**: shortcuts, Geirhos et al. (2020) and McCoy, Pavlick and Linzen (2019); what the data leave open, McCoy, Min and Linzen (2020) and D'Amour et al. (2022); pairs of texts that differ in one thing, Kaushik, Hovy and Lipton (2020), Gardner et al. (2020); tests by template, Ribeiro et al. (2020); what networks make of absolute positions, Sinha et al. (2022) and Kiyono et al. (2021). All statements here were written for this course.

# %% tags=["setup", "machine"]
from dataclasses import replace

import matplotlib.pyplot as plt
import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

from coursekit.data.statements import number_words, statements
from coursekit.exercises import answer_or
from coursekit.exercises import shortcuts as exercises
from coursekit.notebook import claim, compare_guess, figure, setup
from coursekit.notebook.widgets import type_text

device = setup("10e_shortcuts", seed=42)

# %% [markdown]
# ## 10e.1 Equal in training
#
# Statements and networks are as in lesson 10c: a bidirectional encoder (`attend`) and a causal one (`attend_past`), with a head on the vector of the last token. Each learns for 1,500 steps from 34 templates with 64 statements each. We train four of each kind, which differ in nothing but the seed.

# %%
from coursekit.evaluate.seeds import compare_means
from coursekit.layers.attention import attend, attend_past
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
    def __init__(self, rule):
        super().__init__()
        self.encoder, self.head = Encoder(sizes, rule=rule), nn.Linear(32, 2)

    def forward(self, tokens, present):
        return self.head(pool(self.encoder(tokens, present), present, "last"))


def learn(rule, seed, part=train, change=None, steps=1500):
    torch.manual_seed(seed)
    model = OurClassifier(rule).to(device)
    (tokens, present), g = read([one.text for one in part]), torch.Generator().manual_seed(seed)
    labels = torch.tensor([one.label for one in part], device=device)
    picks = (torch.randint(len(part), (32,), generator=g) for _ in range(steps))
    batches = (((tokens[i], present[i]), labels[i]) for i in picks)
    if change is not None:  # 10e.4 changes the batches
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
for text in ("today nobody found the cake burnt .", "nobody found the cake burnt ."):
    with torch.no_grad():
        p = networks["bidirectional"][0](*read([text])).softmax(1)[0, 1]
    print(f"{text:38} it went well: {p:.3f}")

# %% [markdown]
# One training template is `{t} nobody found the {s} {o} .`: a time, a thing, and the opposite of how it was. In a test template the time stands at the end: *nobody found the cake dry today*. Anyone who knows what *nobody* means gets both right.
#
# **Predict.** All eight networks know the training template. How many of them are right about the new one in more than 90 % of its statements?

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
    ax.set(title=name, xlim=(-0.4, 1.4), ylim=(-4, 104))
axes[0].set_ylabel("right (%); dotted: chance")
axes[0].figure.suptitle("Equal in training is not equal")
figure("equal-in-training", alt="Eight lines start near 100; they end anywhere from 0 to 95.")

# %% [markdown]
# On the left no one could tell them apart. On the right they range from nearly always right to nearly always *wrong*. Zero per cent isn't ignorance, for guessing gives 50: such a network goes by the cake and the adjective, and ignores *nobody*. Nothing but the seed decided which does.
#
# This is **underspecification**: the training data allow several rules. McCoy, Min and Linzen (2020) fine-tuned a hundred BERTs, identical except for the seed. On sentences like those of training they were nearly equal; on one kind of new sentence accuracy ranged from 0 to 66 %.
#
# Which rule have they learned?
#
# ## 10e.2 Change one thing
#
# The two templates differ in two things: there is nothing before *nobody*, and there is something at the end. So write statements that differ in only one, **minimal pairs**. They must be new, too, so of the 64 test statements with *nobody* we keep those that are no training statement, neither with a time nor without. That leaves 23. (As the beginning of a longer training statement 18 of these do occur; more on that below.)

# %% [markdown] tags=["exercise"]
# > **Exercise 10e.1 (warm-up, 5 minutes).** Write `drop_time(text)`, which makes such a pair: the statement without its time, *today* or *this time*, whether it stands at the front or at the end. From *nobody found the cake dry today .* it makes *nobody found the cake dry .* A statement without a time stays as it is.
# >
# > <details><summary>Hint</summary>No time occurs inside a statement, so the method <code>text.replace</code> will do. Mind the spaces.</details>


# %% tags=["stub"]
def drop_time(text): ...  # -> text


# %% tags=["check"]
exercises.check_drop_time(drop_time)


# %% tags=["solution"]
def drop_time(text):
    return text.replace("today ", "").replace("this time ", "")


# %%
shorten = answer_or(drop_time, exercises.take_time_off)  # the course's until yours is there
familiar = {shorten(one.text) for one in train}
fresh = [one for one in asked if shorten(one.text) not in familiar]
print(f"{len(fresh)} of {len(asked)}, such as:")


def reword(front):  # without their time, after these words
    return [replace(one, text=f"{front} {shorten(one.text)}".strip()) for one in fresh]


for part in (fresh, reword(""), reword("today")):
    print(part[5].text)

# %% [markdown]
# Each of the 23 is 4 points, so don't read much into a difference of 10. And 14 of them turned out well, so a network that always says so is right in 61 %, and one that never does in 39.
#
# **Predict.** What does a network need before *nobody*, to be right: a time, another word, or nothing?

# %% tags=["predict"]
guess = None  # "a time", "another word" or "nothing"

# %% tags=["nbval-ignore-output"]
asks = {"nobody … today": fresh, "nobody …": reword(""), "today nobody …": reword("today")}
asks |= {"people nobody …": reword("people"), "we nobody …": reword("we")}
answers = {text: np.concatenate([*score(part).values()]) for text, part in asks.items()}
for text, one in answers.items():
    print(f"{text:17}", *(f"{number:4.0f}" for number in one))
needs = {"nothing": "nobody …", "another word": "people nobody …", "a time": "today nobody …"}
enough = [need for need, text in needs.items() if answers[text].min() > 80]
compare_guess(guess, enough[0] if enough else "more than a time")
claim(wrong_without_a_word=(answers["nobody …"] < 10).sum())
claim(right_with_today=answers["today nobody …"].min())
claim(right_with_people=answers["people nobody …"].min())

# %% [markdown]
# The time at the end matters little: for seven of eight *nobody found the cake dry* is as hard without it. What counts is that something stands in front. With *today* every network is right again. And not because of what *today* means: *people nobody found the cake dry* isn't English, and does just as well. So does *we*, for all networks but one.
#
# So any word will do. But must it be a word? Something else changes, too, when one comes in front.

# %% tags=["figure", "folded"]
gone, words = "gap", ["nobody", "found", "the", "cake", "dry", "."]
ax = plt.subplots(figsize=(8.4, 2.1))[1]
for row, front in enumerate([[], ["today"], [gone]]):
    for at, word in enumerate(["[CLS]", *front, *words]):
        color = "C2" if word == "nobody" else "white" if word == gone else "0.93"
        box = {"ec": "0.6", "fc": color, "ls": ":" if word == gone else "-"}
        ax.add_patch(plt.Rectangle((at - 0.45, row - 0.36), 0.9, 0.72, **box))
        ax.text(at, row, word, ha="center", va="center", fontsize=10)
ax.set(xlim=(-0.6, 7.6), ylim=(2.5, -0.5), xlabel="position")
ax.set_yticks(range(3), ["hard", "easy", "?"])
ax.grid(visible=False)
ax.set_title("A word in front moves all the others")
figure("moved", alt="nobody at position 1, at 2 after today, and at 2 after a gap.")

# %% [markdown]
# *Nobody* moves from position 1 to position 2. An encoder adds to each word a vector for its position (lesson 10), so that to a layer *nobody* at 1 and at 2 are two inputs. So try the third row: move the words and put nothing in front. Leave a gap at position 1, of padding, which no one may read. And why stop at one?

# %% [markdown] tags=["exercise"]
# > **Exercise 10e.2 (build, 10 minutes).** Write `leave_gap(x, at, fill)`. `x` is (N, T), with a row for each text. The result is (N, T + 1): the same numbers, with one more column, number `at` (from 0 to T), that is `fill` everywhere. For example, from the row 1, 7, 5 with `at=1` and `fill=0` it makes 1, 0, 7, 5. It is for `tokens` as well as for `present`, which is True and False, so the type must stay as it is. `x` mustn't be changed in place.
# >
# > <details><summary>Hint 1</summary>Three parts, side by side: what stands before the gap, the gap, the rest.</details>
# > <details><summary>Hint 2</summary>The gap is as tall as <code>x</code>. What makes it <em>False</em> when x is True and False, and 0 when x is numbers?</details>


# %% tags=["stub"]
def leave_gap(x, at, fill): ...  # (N, T) -> (N, T + 1)


# %% tags=["check"]
exercises.check_leave_gap(leave_gap)


# %% tags=["solution"]
def leave_gap(x, at, fill):
    return torch.cat([x[:, :at], torch.full_like(x[:, :1], fill), x[:, at:]], 1)


# %% tags=["nbval-ignore-output"]
gap = answer_or(leave_gap, exercises.insert_gap)  # the course's until yours is there
eight = [one for some in networks.values() for one in some]


def hits(part, positions, models=None):  # right or wrong: (networks, statements); None: all eight
    tokens, present = read([one.text for one in part])
    labels = torch.tensor([one.label for one in part], device=device)
    for at in positions:
        tokens, present = gap(tokens, at, 0), gap(present, at, False)
    with torch.no_grad():  # pool finds the last token that is present, still the full stop
        says = [one(tokens, present).argmax(1) for one in models or eight]
    return np.array([(one == labels).tolist() for one in says])


def with_gaps(part, positions, models=None):  # per cent right, for each network
    return 100 * hits(part, positions, models).mean(1)


moved = np.array([with_gaps(reword(""), [1] * n) for n in range(11)])  # (gaps, networks)
for n, one in enumerate(moved):
    print(f"nobody at {1 + n:2}", *(f"{number:4.0f}" for number in one))
behind = with_gaps(reword(""), [2])
print("gap behind  ", *(f"{number:4.0f}" for number in behind))
claim(right_with_a_gap=moved[1].min(), right_with_two_gaps=moved[2].min())
claim(right_with_six_gaps=moved[6].mean(), partly_with_a_gap_behind=behind.mean())

# %% tags=["figure", "folded", "nbval-ignore-output"]
axes = plt.subplots(1, 2, figsize=(8.4, 3.2), sharey=True)[1]
for k, one in enumerate(moved.T):
    axes[k // 4].plot(range(1, 12), one, "osD^"[k % 4] + "-", color=f"C{k // 4}", alpha=0.6)
for ax, name in zip(axes, networks, strict=True):
    ax.axvspan(1.6, 3.4, color="C2", alpha=0.12)
    ax.axhline(50, color="0.4", linestyle=":")
    ax.set(title=name, xlabel="position of ‘nobody’ (all words move)", ylim=(-4, 104))
axes[0].text(1.7, 25, "where training\nasks about it", color="C2")
axes[0].set_ylabel("right (%); each line a network")
axes[0].figure.suptitle("All eight know ‘nobody’ where training asked about it")
figure("place", alt="All eight lines are above 85 at positions 2 and 3, and spread on either side.")

# %% [markdown]
# **With a gap in front, in which there is nothing to read, all eight are right, in nine cases of ten or more.** So it was never the word *today*. It was the positions. In training statements *nobody* decides at position 2, after *today*, and at 3, after *this time*. There all eight know it. Further on they come apart; at 7 they are right in a third of the cases, on average. (At 11 seven of the eight are right again, and why we don't know.) It isn't the position of *nobody* alone, though. With the gap *behind* it, it stays at 1 while the other words move, and the mean rises from 35 to 65 %.
#
# Training has *nobody* at position 1, too, in `nobody found the {s} {o} so {r} .` Do they look at it there? The reaction, `{r}`, gives the outcome away. So exchange it for one of the opposite outcome: then *nobody* says one thing and the reaction another.

# %% [markdown] tags=["exercise"]
# > **Exercise 10e.3 (build, 10 minutes).** Write `exchange(text)`, which makes such a pair: the same statement with the opposite reaction. `opposite` says which belong together, in both directions. From *nobody found the cake dry so people smiled .* it makes *nobody found the cake dry so people grumbled .* A reaction can stand at the front, too; a statement without one stays as it is.
# >
# > <details><summary>Hint</summary>Exchanging twice gives the old statement back. Does your function exchange it twice?</details>

# %%
opposite = {"people smiled": "people grumbled", "everyone was pleased": "everyone was annoyed"}
opposite |= {"the guests came again": "the guests went home"}
opposite |= {b: a for a, b in opposite.items()}  # and back


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
# **Predict.** Where the two disagree, whom do the networks follow?

# %% tags=["predict"]
guess = None  # "nobody", "the reaction" or "sometimes one, sometimes the other"

# %% tags=["nbval-ignore-output"]
turn = answer_or(exchange, exercises.swap_reaction)  # the course's until yours is there
form = "nobody found the {s} {o} so {r} ."
with_reaction = [one for one in train if one.template == form]
exchanged = [replace(one, text=turn(one.text)) for one in with_reaction]  # nobody's label
print(with_reaction[0].text, exchanged[0].text, sep="\n")
by_nobody = with_gaps(exchanged, [])  # right is what nobody says, wrong what the reaction says
print("with nobody, against the reaction:", by_nobody.round())
follow = "the reaction" if by_nobody.max() < 35 else "sometimes one, sometimes the other"
compare_guess(guess, follow)
claim(follows_nobody_against_the_reaction=by_nobody.max())

# %% [markdown]
# The reaction. These statements can be learned without looking at *nobody*, and a network takes whatever answers the question. This is **shortcut learning**. Does the reaction keep them from learning *nobody* at position 1? No: networks that train without these statements know it there [no better](../tests/test_encoder_lesson.py), in 0, 0, 0, 0, 0, 39, 0 and 91 %. With the reaction nothing in training *asks* about *nobody* at position 1, and without it nothing does, either.

# %% [markdown]
# ## 10e.3 Is it only *nobody*?
#
# If an empty place can undo what they know of *nobody*, what of all the rest? Put the same gaps in front of the *training* statements, all 2,176, on which every network is at 99 % or more.
#
# **Predict.** With three gaps, how often are they right about the statements they have learned from?

# %% tags=["predict"]
guess = None  # per cent; chance is 50

# %% tags=["nbval-ignore-output"]
in_training = [hits(train, [1] * n) for n in range(7)]
learned = np.array([100 * one.mean(1) for one in in_training])
for n, one in enumerate(learned):
    print(f"{n} gaps", *(f"{number:4.0f}" for number in one))
compare_guess(guess, learned[3].mean())
claim(training_with_three_gaps=learned[3].mean(), training_with_one_gap=learned[1].mean())

# %% tags=["figure", "folded", "nbval-ignore-output"]
ax = plt.subplots(figsize=(7.2, 3))[1]
for k, one in enumerate(learned.T):
    ax.plot(range(7), one, "o-", color="C0" if k < 4 else "C1", alpha=0.7)
ax.axhline(50, color="0.4", linestyle=":")
ax.set(xlabel="gaps in front of a training statement", ylabel="right (%)", ylim=(40, 104))
ax.text(5.9, 60, "bidirectional", color="C0", ha="right")
ax.text(3, 90, "causal", color="C1")
ax.set_title("Three empty positions, and a third of the answers are wrong")
figure("learned", alt="Eight lines start at 100 and fall to between 59 and 82 with three gaps.")

# %% [markdown]
# It is not only *nobody*. **They have learned statements at their positions**, and with three empty places in front they are right in 66 % of cases on average. Guessing gives 50, so two thirds of what they knew are gone.
#
# Where are they wrong? In training no statement ends after position 14. With gaps some do. Take them apart.

# %% tags=["nbval-ignore-output"]
ends = np.array([len(one.text.split()) for one in train])  # [CLS] is at 0
ended = {}
print("gaps   end by 14   end beyond")
for n in range(1, 7):
    inside = ends + n <= 14
    ended[n] = [100 * in_training[n][:, some].mean() for some in (inside, ~inside)]
    print(f"{n:4}   {ended[n][0]:9.0f}   {ended[n][1]:10.0f}")
claim(right_if_they_end_by_14=ended[3][0], right_if_they_end_beyond=ended[3][1])

# %% [markdown]
# With one, two or three gaps the statements that now end beyond 14 are right in about half of the cases, no better than guessing, and the others in 78 to 90 %. At a position where nothing was learned a network is lost: with absolute positions that are learned, nothing says that 15 is like 14. Sinha et al. (2022) find the same in large models. (It isn't the whole story. With six gaps both are back at 87 %, and why we don't know.)
#
# So positions are one thing that decides on new statements. To see where it bites, a mean over the test won't do. A table does: one row for each test template, one column for each network, and first the word-pair model of lesson 10c, which knows the order of the words but no positions.


# %%
from coursekit.models.bag import fit_bag

(x, _), y = read([one.text for one in train]), torch.tensor([one.label for one in train])
bag = fit_bag(x, y.to(device), vocab_size=len(ids), pairs="far", lowest=4, decay=1e-6)


def know_no_positions(tokens, present):
    return bag(tokens)


# %% tags=["nbval-ignore-output"]
forms = sorted({one.template for one in test})
parts = [[one for one in test if one.template == form] for form in forms]
columns = [know_no_positions, *networks["bidirectional"], *networks["causal"]]
table = np.array([[accuracy(model, part) for model in columns] for part in parts])  # (14, 9)
reaction = np.array(["{r}" in form for form in forms])  # it gives the outcome away
spread = np.array([max(np.ptp(row[1:5]), np.ptp(row[5:])) for row in table])
of_nobody = table[["nobody" in form for form in forms], 0]
claim(right_with_a_reaction=table[reaction].mean(), templates_that_vary=(spread > 50).sum())
claim(pairs_on_nobody=of_nobody.item())

# %% tags=["figure", "folded", "nbval-ignore-output"]
words = {"s": "cake", "x": "tasty", "o": "dry", "w": "we", "t": "today", "r": "people smiled"}
order = table[:, 1:].mean(1).argsort()
ax = plt.subplots(figsize=(8.4, 4.9))[1]
picture = ax.imshow(table[order], "RdBu", vmin=0, vmax=100, aspect="auto")
ax.set_yticks(range(14), [forms[i].format(**words)[:-2] for i in order], fontsize=9)
ax.set_xticks(range(9), ["pairs", *(list(range(4)) * 2)], fontsize=9)
for k, name in enumerate(networks):
    ax.text(2.5 + 4 * k, -0.7, name, ha="center", fontsize=10)
for edge in (0.5, 4.5):
    ax.axvline(edge, color="white", linewidth=4)
ax.grid(visible=False)
ax.set_xlabel("seed", labelpad=2)
ax.set_title("For some questions the seed decides", pad=24)
plt.colorbar(picture, label="right (%), white is chance")
figure("templates", alt="Some rows are blue throughout; in others one kind is red, white or blue.")

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
# Where a reaction gives the outcome away, nearly all are right. In other rows networks of one kind are blue and red, right and wrong, as with *nobody*: each is a question that the training data leave open. The pairs are right about *nobody* in 81 % of cases. (We thought of pairs at any distance after looking at this test, see 10c.)
#
# Does longer training settle it? Networks of the same kinds, recorded for lesson 10c, have learned for 6,000 steps. On *nobody* the bidirectional ones are right in 11, 5, 2 and 2 %, the causal ones in 53, 95, 36 and 100. Length alone doesn't.
#
# ## 10e.4 Say what doesn't matter
#
# How do you tell a network that the position doesn't matter? Show it another one. For each training statement with a time add one without, with the same label: 640 short statements, 450 different ones, some with *nobody* at position 1, where now it decides. Adding changed copies of the data is called **data augmentation**.

# %% tags=["nbval-ignore-output"]
timed = [one for one in train if "{t}" in one.template]
more = train + [replace(one, text=shorten(one.text)) for one in timed]
print(f"{len(train)} statements, now {len(more)}, such as:", more[-1].text)
told = [learn(attend, seed, more) for seed in range(4)]  # as many steps as before

# %% [markdown]
# Now 41 of the 64 test statements with *nobody* stand in training without their time. So look at the other 23, those of 10e.2.
#
# **Predict.** With nothing before *nobody* the bidirectional networks were right in 46 % of these. Now they are always right, at position 1. And with six gaps in front, at position 7, where they were right in 8 % of the cases?

# %% tags=["predict"]
guess = None  # per cent

# %% tags=["nbval-ignore-output"]
fixed = np.array([with_gaps(reword(""), [1] * n, told) for n in range(11)])
for n, one in enumerate(fixed):
    print(f"nobody at {1 + n:2}", *(f"{number:4.0f}" for number in one))
compare_guess(guess, fixed[6].mean())
claim(right_on_nobody_before=moved[0, :4].mean(), right_on_nobody_now=fixed[0].mean())
claim(still_scattered_at_seven=np.ptp(fixed[6]))

# %% [markdown]
# **From 46 % to 100 at position 1.** At 7 the mean rises from 8 to 62 %, but the four lie anywhere between 4 and 100, and at 4 and 8 they scatter, too: no cure. What the short statements add for certain is one position. To get more than that, show many. You have the tool: put a random number of gaps, 0 to 6, in front of each batch, as Kiyono et al. (2021) do.


# %% tags=["nbval-ignore-output"]
def random_gaps(tokens, present, g):
    for _ in range(int(torch.randint(7, (), generator=g))):
        tokens, present = gap(tokens, 1, 0), gap(present, 1, False)
    return tokens, present


shaken = [learn(attend, seed, more, random_gaps) for seed in range(4)]  # as many steps

# %% tags=["nbval-ignore-output"]
everywhere = np.array([with_gaps(reword(""), [1] * n, shaken) for n in range(11)])
for n, one in enumerate(everywhere):
    print(f"nobody at {1 + n:2}", *(f"{number:4.0f}" for number in one))
claim(right_on_nobody_where_shown=everywhere[:9].min(), right_beyond=everywhere[9:].min())
claim(learned_with_gaps=with_gaps(train, [], shaken).mean())

# %% tags=["nbval-ignore-output"]
rest = [one for one in test if one not in asked]
others, others_right = [one for one in rest if shorten(one.text) not in familiar], {}
kinds = {"before": networks["bidirectional"], "short": told, "short and gaps": shaken}
for name, models in kinds.items():
    at_home, away, new = (
        with_gaps(part, gaps, models)
        for part, gaps in ((train, []), (train, [1] * 3), (others, []))
    )
    others_right[name] = torch.tensor(new)
    print(f"{name:15} training {at_home.round()}, three gaps {away.round()}, new {new.round()}")
after, before = others_right["short and gaps"], others_right["before"]
ahead, error = compare_means(after, before)
error = max(error, (after - before).std().item() / 2)  # the larger counts, as in 10c
print(f"new: with short ones and gaps ahead by {ahead:.1f} ± {error:.1f}")
claim(lead_on_the_others_in_errors=float(ahead / error))

# %% tags=["figure", "folded", "nbval-ignore-output"]
axes = plt.subplots(1, 3, figsize=(10, 3.2), sharex=True, sharey=True)[1]
for ax, name, lines in zip(axes, kinds, (moved[:, :4], fixed, everywhere), strict=True):
    for seed, one in enumerate(lines.T):
        ax.plot(
            range(1, 1 + len(one)), one, "osD^"[seed] + "-", color=f"C{seed}", alpha=0.7, label=seed
        )
    ax.axhline(50, color="0.4", linestyle=":")
    ax.set(title=name, xlabel="position of ‘nobody’", ylim=(-4, 104))
axes[0].set_ylabel("right (%)")
axes[1].legend(title="seed", fontsize=8)
axes[0].figure.suptitle("Shown one more position, and shown many")
figure(
    "fixed", alt="Before and with short ones lines scatter; with gaps all are at the top up to 9."
)

# %% [markdown]
# **96 % or more at all positions from 1 to 9, in all four**: wherever training now asks about *nobody*. (With six gaps in front it stands at 8, after *today*, and at 9, after *this time*.) And with three gaps in front they do as well on the training statements as without. Four causal networks, trained in the same way and run apart, are right in 83 % or more at positions 1 to 8.
#
# It has its limits. At 10, where *nobody* never stands in training, they scatter again. The short statements are needed, too: with the gaps [alone](../tests/test_encoder_lesson.py) they know *nobody* from 2 on, but at position 1, where still nothing asks, they are right in 4, 35, 17 and 96 %.
#
# And it has a cost. In these 1,500 steps they have learned only 90 % of their training statements, and on the other test statements, those that are not in training in any form, they are ahead by 6.5 ± 6.6, which may be nothing. So give them time. Run apart, with [4,500 steps](../tests/test_encoder_lesson.py), three of the four have learned all, and are right on *all* of the other test statements, the fourth on 87 %. Networks that learned as long without short statements and gaps are right on 83 to 89 %.
#
# Two more things a careful reader asks. We found the shortcut by looking at the test, so whether these networks are better on questions that no one here has looked at, only such questions can say. And is there no cure without new data? Networks can be given distances instead of positions. Most of today's are, with rotary positions (Su et al. 2021).

# %% [markdown] tags=["exercise"]
# > **Exercise 10e.4 (investigate, 20 minutes).** Was it that the added statements were *short*, or only that there were more? Train causal networks, seeds 0 to 3, with something else added, and complete the table. (Twelve networks take two or three minutes.) Then look at what you added: in which rows are all test templates still new?
# >
# > <details><summary>Hint</summary>To move the time, first take it off with <code>shorten</code>, then put it at the end where it wasn't: <code>replace(one, text=…)</code>. Leave <em>this time</em> as it is, or write <em>today</em> for both.</details>
# >
# > ```python
# > model = learn(attend_past, 0, train + timed)  # about ten seconds
# > ```
#
# |added|*nobody* (all 64), seeds 0–3|the other thirteen templates, mean|
# |---|---|---|
# |nothing|||
# |the 640 statements with a time, once more|||
# |the same without their time|||
# |the same with the time at the other end|||
#
# > <details><summary>What we found</summary>Nothing: 0, 84, 8, 5 on <em>nobody</em> and 87.5 on the others. Once more: 92, 2, 3, 0 and 88.2, a lottery. Without their time: 91, 95, 95, 100 and 88.7. With the time at the other end: 50, 95, 95, 95 and 87.2. So sheer number was not the reason, and the fix is for <em>nobody</em> alone: the others hardly move. (With the time at the other end seed 0 is right in half of the cases, on a template that it has been trained on.) Report the first two rows: all test templates are new there. In the third, three of them occur in part: report those apart, as above. In the last, three of the four with a time are in the training set, and one of validation: leave it out.</details>

# %% [markdown]
# ## What you now have
#
# - **Right for the right reason?** Often not. Eight networks got *nobody* right in training, and know it in statements that lie where training asked about it. With three empty positions in front they get a third even of their training statements wrong.
# - A way to find out: minimal pairs, statements made for the question, which differ in one thing. A table by template says where to ask.
# - A cure, by data that show what doesn't matter. It fixes what it shows: one more position, or nine of them. So repeat the test that found the fault, and test beyond it.
#
# **What still fails.** Here we could guess what to change, since we wrote the templates. In real text you don't know in advance which shortcuts there are.

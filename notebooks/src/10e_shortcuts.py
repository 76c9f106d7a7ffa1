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
# **Sources**: shortcuts, Geirhos et al. (2020) and McCoy, Pavlick and Linzen (2019); what the data leave open, D'Amour et al. (2022); pairs of texts that differ in one thing, Kaushik, Hovy and Lipton (2020), Gardner et al. (2020); tests by template, Ribeiro et al. (2020); what networks make of absolute positions, Sinha et al. (2022). All statements here were written for this course.

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
# The statements are those of lesson 10c, and so are the networks: a bidirectional encoder (`attend`) and a causal one (`attend_past`), with a head on the vector of the last token. Each learns for 1,500 steps from 34 templates with 64 statements each. We train four of each kind, which differ in nothing but the seed.

# %%
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


def fine_tune(rule, seed, part=train, steps=1500):
    torch.manual_seed(seed)
    model = OurClassifier(rule).to(device)
    (tokens, present), g = read([one.text for one in part]), torch.Generator().manual_seed(seed)
    labels = torch.tensor([one.label for one in part], device=device)
    picks = (torch.randint(len(part), (32,), generator=g) for _ in range(steps))
    batches = (((tokens[i], present[i]), labels[i]) for i in picks)
    options = {"steps": steps, "schedule": warm_up_cosine(steps), "clip": 1.0}
    fit(model, adamw(model, 5e-3, weight_decay=0.01), batches, loss=F.cross_entropy, **options)
    return model.eval()


# %% tags=["nbval-ignore-output"]
networks = {"bidirectional": [fine_tune(attend, seed) for seed in range(4)]}

# %% tags=["nbval-ignore-output"]
networks["causal"] = [fine_tune(attend_past, seed) for seed in range(4)]

# %% [markdown]
# Ask one of them, bidirectional, seed 0:

# %% tags=["nbval-ignore-output"]
for text in ("today nobody found the cake burnt .", "nobody found the cake burnt ."):
    with torch.no_grad():
        p = networks["bidirectional"][0](*read([text])).softmax(1)[0, 1]
    print(f"{text:38} it went well: {p:.3f}")

# %% [markdown]
# One training template is `{t} nobody found the {s} {o} .`: a time, a thing, and the opposite of how it was. In a test template the time stands at the end: *nobody found the cake dry today*. Whoever knows what *nobody* means gets both right.
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
# On the left no one could tell them apart. On the right they range from nearly always right to nearly always *wrong*. Zero per cent isn't ignorance, for guessing gives 50: such a network ignores *nobody* and goes by *dry*. Nothing but the seed decided which does. (This is **underspecification**: the training data allow several rules. McCoy, Min and Linzen (2020) fine-tuned a hundred BERTs, identical except for the seed. On sentences like those of training they were nearly equal, on one kind of new ones right in 0 to 66 % of cases.)
#
# Which rule have they learned?
#
# ## 10e.2 Change one thing
#
# The two templates differ in two things: there is nothing before *nobody*, and there is something at the end. So write statements that differ in only one. They must be new, too, so of the 64 test statements with *nobody* we keep those that don't occur in training, neither with a time nor without.


# %%
def drop_time(text):
    for time in ("today", "this time"):
        text = text.removeprefix(f"{time} ")
        if text.endswith(f" {time} ."):
            text = text.removesuffix(f"{time} .") + "."
    return text


familiar = {drop_time(one.text) for one in train}
fresh = [one for one in asked if drop_time(one.text) not in familiar]
print(f"{len(fresh)} of {len(asked)}, such as:")


def reword(front):  # without their time, after these words
    return [replace(one, text=f"{front} {drop_time(one.text)}".strip()) for one in fresh]


for part in (fresh, reword(""), reword("today")):
    print(part[5].text)

# %% [markdown]
# (Without their time they are 18 different statements.)
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
# The time at the end matters little: for seven of eight *nobody found the cake dry* is as hard without it. What counts is that something stands in front. With *today* every network is right again. And not because of what *today* means: *people nobody found the cake dry* is no English, and does just as well. (*We* does, too, for all networks but one.)
#
# So is it a word at all that they need? When something comes before it, *nobody* moves from position 1 to position 2, and all other words move with it (`[CLS]` is at 0). An encoder adds to each word a vector for its position (lesson 10), so that to a layer *nobody* at 1 and at 2 are two inputs. So move the words and put nothing in front: leave a gap at position 1, of padding, which no one may read. And why stop at one?

# %% [markdown] tags=["exercise"]
# > **Exercise 10e.1 (build, 10 minutes).** Write `leave_gap(x, at, fill)`. `x` is (N, T), with a row for each text. The result is (N, T + 1): the same numbers, with one more column, number `at`, that is `fill` everywhere. For example, from the row 1, 7, 5 with `at=1` and `fill=0` it makes 1, 0, 7, 5. It is for `tokens` as well as for `present`, which is True and False, so the type must stay as it is. `x` mustn't be changed in place.
# >
# > <details><summary>Hint 1</summary>Three parts, side by side: what stands before the gap, the gap, the rest.</details>
# > <details><summary>Hint 2</summary><code>torch.full_like</code> makes a tensor of one number, in the shape and type of another.</details>


# %% tags=["stub"]
def leave_gap(x, at, fill): ...  # (N, T) -> (N, T + 1)


# %% tags=["check"]
exercises.check_leave_gap(leave_gap)


# %% tags=["solution"]
def leave_gap(x, at, fill):
    return torch.cat([x[:, :at], torch.full_like(x[:, :1], fill), x[:, at:]], 1)


# %% tags=["nbval-ignore-output"]
gap = answer_or(leave_gap, exercises.insert_gap)  # the course's until yours is there
labels = torch.tensor([one.label for one in fresh], device=device)


eight = [one for some in networks.values() for one in some]


def read_with_gaps(positions, models=eight):  # right, for each network
    tokens, present = read([one.text for one in reword("")])
    for at in positions:
        tokens, present = gap(tokens, at, 0), gap(present, at, False)
    with torch.no_grad():  # pool finds the last token that is present, still the full stop
        says = [one(tokens, present).argmax(1) for one in models]
    return np.array([100 * (one == labels).double().mean().item() for one in says])


moved = np.array([read_with_gaps([1] * n) for n in range(7)])  # (gaps, networks)
for n, one in enumerate(moved):
    print(f"nobody at {1 + n}", *(f"{number:4.0f}" for number in one))
behind = read_with_gaps([2])
print("gap behind ", *(f"{number:4.0f}" for number in behind))
claim(right_with_a_gap=moved[1].min(), right_with_two_gaps=moved[2].min())
claim(right_with_six_gaps=moved[6].mean(), partly_with_a_gap_behind=behind.mean())

# %% tags=["figure", "folded", "nbval-ignore-output"]
ax = plt.subplots(figsize=(7.6, 3.6))[1]
for k, one in enumerate(moved.T):
    ax.plot(range(1, 8), one, "o-", color="C0" if k < 4 else "C1", alpha=0.7)
ax.axvspan(1.6, 3.4, color="C2", alpha=0.12)
ax.text(2.5, 30, "where training\nasks about it", color="C2", ha="center")
ax.text(6.9, 108, "bidirectional", color="C0", ha="right")
ax.text(1, 108, "causal", color="C1")
ax.axhline(50, color="0.4", linestyle=":")
ax.set(xlabel="position of nobody", ylabel="right (%); each line a network", ylim=(-4, 118))
ax.set_title("They know nobody at the positions where training asked")
figure("place", alt="All eight lines are above 85 at positions 2 and 3, and spread on either side.")

# %% [markdown]
# **With a gap in front, in which there is nothing to read, all eight are right.** So it was never the word *today*: it was the positions. In training statements *nobody* decides at position 2, after *today*, and at 3, after *this time*. There all eight know it. Further on they come apart, also the three that seemed to know it at position 1: at 7 they are right in a third of the cases, on average. (With the gap *behind* nobody, which moves all words but this one, they are in between, on average: the positions of the other words count, too. Sinha et al. 2022 find such things in large models.)
#
# Training has *nobody* at position 1, too, in `nobody found the {s} {o} so {r} .` But there the reaction, *people smiled* or *people grumbled*, gives the outcome away, and a network needn't look at *nobody*. That is probably why five don't know it there: a network takes whatever answers the question. This is **shortcut learning**.
#
# **Your turn.** Write statements, and the eight networks vote. Can you find one on which they disagree?


# %% tags=["live"]
def vote(lines):  # the probability that it went well, in per cent; unknown words are left out
    for text in lines.splitlines():
        x = read([" ".join([word for word in text.split() if word in ids][:23])])
        for name, some in networks.items():
            p = [100 * one(*x).softmax(-1)[0, 1].item() for one in some]
            print(f"{text:40} {name:13}", *(f"{number:4.0f}" for number in p))


type_text(vote, "nobody had a broken mirror .\ntoday you did not find the soup stale .")

# %% [markdown]
# ## 10e.3 Is it only *nobody*?
#
# A mean over all test statements can't show that. A table can: one row for each test template, one column for each network, and first the pairs of words of lesson 10c, a baseline that ignores the position.

# %%
from coursekit.models.bag import fit_bag

(x, _), y = read([one.text for one in train]), torch.tensor([one.label for one in train])
bag = fit_bag(x, y.to(device), vocab_size=len(ids), pairs="far", lowest=4, decay=1e-6)


def ignore_positions(tokens, present):
    return bag(tokens)


# %% tags=["nbval-ignore-output"]
forms = sorted({one.template for one in test})
parts = [[one for one in test if one.template == form] for form in forms]
columns = [ignore_positions, *networks["bidirectional"], *networks["causal"]]
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
# Where a reaction gives the outcome away, nearly all are right. In other rows networks of one kind are blue and red, right and wrong, as with *nobody*: each is a question that the training data leave open. The pairs, which ignore the position, are right about *nobody* in 81 % of cases. (And since the 64 statements of a row tend to be right or wrong together, 10c counted templates and not statements.)
#
# ## 10e.4 Say what doesn't matter
#
# How do you tell a network that the position doesn't matter? Show it another one. For each training statement with a time add one without, with the same label: 640 short statements, 450 different ones, some with *nobody* at position 1, where now it decides. Adding reworded copies of the data is called **data augmentation**. (Another possible cure: a network that knows no absolute positions, only distances, as most of today's do, with rotary positions, Su et al. 2021.)

# %% tags=["nbval-ignore-output"]
timed = [one for one in train if "{t}" in one.template]
more = train + [replace(one, text=drop_time(one.text)) for one in timed]
print(f"{len(train)} statements, now {len(more)}, such as:", more[-1].text)
told = [fine_tune(attend, seed, more) for seed in range(4)]  # as many steps as before

# %% [markdown]
# Now 41 of the 64 test statements with *nobody* stand in training without their *today*. So look at the other 23, those of 10e.2.
#
# **Predict.** With nothing before *nobody* the bidirectional networks were right in 46 % of these. Now they are always right, at position 1. And with six gaps in front, at position 7, where they were right in 8 % of the cases?

# %% tags=["predict"]
guess = None  # per cent

# %% tags=["nbval-ignore-output"]
fixed = np.array([read_with_gaps([1] * n, told) for n in range(7)])
for n, one in enumerate(fixed):
    print(f"nobody at {1 + n}", *(f"{number:4.0f}" for number in one))
compare_guess(guess, fixed[6].mean())
claim(right_on_nobody_before=moved[0, :4].mean(), right_on_nobody_now=fixed[0].mean())
claim(fixed_at_other_positions=fixed[3:].min())
others = [one for one in test if one not in asked]
for name, models in (("before", networks["bidirectional"]), ("after", told)):
    print("the other thirteen templates", name, *(round(accuracy(one, others)) for one in models))

# %% tags=["figure", "folded", "nbval-ignore-output"]
axes = plt.subplots(1, 2, figsize=(9, 3.2), sharey=True)[1]
for ax, title, lines in zip(axes, ("before", "after"), (moved[:, :4], fixed), strict=True):
    ax.plot(range(1, 8), lines, "o-", color="C0", alpha=0.7)
    ax.axvspan(1.6 if title == "before" else 0.6, 3.4, color="C2", alpha=0.12)
    ax.axhline(50, color="0.4", linestyle=":")
    ax.set(title=title, xlabel="position of nobody", ylim=(-4, 104))
axes[0].set_ylabel("right (%); each line a network")
axes[0].figure.suptitle("One more position (green: where training asks about nobody)")
figure("fixed", alt="Before right at 2 and 3, after at 1 to 3; further on both scatter.")

# %% [markdown]
# **From 46 % to 100 at position 1, and 96 or more up to 3. Further on they still scatter**, from 4 to 100 %: the fix has added a position, and not the word. To add the word would take more: statements that begin at any position, or positions that don't count. On the other thirteen templates two networks gain and two lose, which four seeds can't tell from nothing. (Of two of these templates, most statements are now in training, without the time.)
#
# (These networks have had 1,500 steps. The causal ones of 10c.5, trained for longer and tuned, are right in 99.7 % of all test statements, and so nearly always about *nobody* at position 1. What they do further on we haven't measured.)
#
# And we found the shortcut by looking at the test. Whether the fixed networks are better on questions that no one here has looked at, only such questions can say.

# %% [markdown] tags=["exercise"]
# > **Exercise 10e.2 (investigate, 20 minutes).** Was it the *short* statements that helped, or only that there were more statements? And do causal networks learn it, too? Train them, seeds 0 to 3, with something else added, and complete the table. (Twelve networks take two or three minutes.) In which rows are all test templates still new? Which rows would you report?
# >
# > <details><summary>Hint</summary>To move the time, first take it off with <code>drop_time</code>, then put it at the end where it wasn't: <code>replace(one, text=…)</code>. Leave <em>this time</em> as it is, or write <em>today</em> for both.</details>
# >
# > ```python
# > model = fine_tune(attend_past, 0, train + timed)  # about ten seconds
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
# - **Right for the right reason?** Often not. Eight networks got *nobody* right in training, and know it at the positions where training asked about it. Elsewhere some are right and some are wrong, and a gap with nothing in it makes the difference.
# - A way to find out: minimal pairs, statements made for the question, which differ in one thing. A table by template says where to ask.
# - A fix: data that show what doesn't matter. It fixed what it showed, one more position, and no more: so repeat the test that found the fault.
#
# **What still fails.** Here we could guess what to change, since we wrote the templates. In real text you don't know in advance which shortcuts there are.

"""What lesson 10 and its sides state and no cell measures, by their own models and loops."""

from dataclasses import replace
from functools import cache
from itertools import product

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional as F
from torch.testing import assert_close

from coursekit.data.statements import DOMAINS, REACTIONS, Statement, statements
from coursekit.evaluate.likelihood import mean_nll
from coursekit.evaluate.seeds import mean_over_groups
from coursekit.exercises.labels import tell_by_reaction
from coursekit.exercises.shortcuts import swap_reaction
from coursekit.models.bag import choose_bag, count_words, fit_logistic
from coursekit.models.encoder import pool
from coursekit.models.ngram import NGram, count_ngrams, kneser_ney
from tests.lessons import define

pytestmark = pytest.mark.usefixtures("long")


@pytest.fixture
def lesson():
    return define("10")


@cache
def pretrained(seed):
    """Lesson 10's encoder, which several tests ask and none changes."""
    lesson = define("10")
    return lesson["pretrain"](seed, lesson["hide_some"])


@cache
def reader():
    """Lesson 10h's network that has only read."""
    return define("10h")["pretrain"](0, steps=2000, dropout=0.2, decay=0.1)


def find_dry(test):
    """Statements in which the thing follows *dry*: texts, where *dry* is, the things."""
    kinds = {thing: kind for kind in ("kitchen", "weather") for thing in DOMAINS[kind][0].split()}
    found = []
    for one in test:
        before, _, after = one.text.partition(" dry ")
        thing = after.split(" ")[0]
        if thing in kinds and thing not in before.split():
            found.append((one.text, len(before.split()) + 1, thing, kinds[thing]))
    return found


@pytest.mark.lesson
def test_in_new_statements_the_nearest_dry_has_the_same_topic(lesson):
    texts, at, things, kinds = map(list, zip(*find_dry(lesson["test"]), strict=True))
    assert len(texts) == 39
    x = lesson["our_batch"](texts)
    others = torch.tensor([[a != b for a in things] for b in things])
    same_kind = torch.tensor([[a == b for a in kinds] for b in kinds])

    @torch.no_grad()
    def right(model):
        v = model.encoder(x, lesson["readable"](x))[range(39), at].double()
        apart = torch.cdist(v, v).where(others, torch.inf)
        return same_kind[range(39), apart.argmin(1)].double().mean().item()

    torch.manual_seed(0)
    n = len(lesson["ids"])
    untrained = lesson["OurModel"](lesson["OurEncoder"](n), n)
    blind = ((same_kind & others).sum(1) / others.sum(1)).mean().item()
    assert 0.35 < blind < 0.4
    trained = right(pretrained(0))
    assert trained > max(0.75, right(untrained) + 0.2)


@pytest.mark.lesson
def test_a_gpt_leads_if_it_tries_every_word_and_not_if_it_reads_what_comes_before(lesson):
    """Also with as many targets: it has one for every word, so 15 % of the steps make as many."""
    texts = lesson["our_batch"]([one.text for one in lesson["test"]])
    g = torch.Generator().manual_seed(0)
    row, at = (lesson["hide_some"](texts, g)[0] == 3).nonzero(as_tuple=True)
    y, blanks, every = texts[row, at], texts[row], range(len(row))
    blanks[every, at] = 3
    encoder = pretrained(1)  # the best of four seeds
    gpts = [lesson["pretrain"](1, lesson["next_words"], causal=True)]  # 1,500 steps
    gpts.append(lesson["pretrain"](1, lesson["next_words"], 225, causal=True))

    @torch.no_grad()
    def try_every_word(model):  # the log-likelihood of each statement with each word
        scores = torch.full((len(row), len(lesson["ids"])), -torch.inf)
        for word in range(4, len(lesson["ids"])):
            filled = blanks.clone()
            filled[every, at] = word
            x, after = lesson["next_words"](filled, None)
            scores[:, word] = -F.cross_entropy(model(x).mT, after, reduction="none").sum(1)
        return F.cross_entropy(scores, y)

    masked = lesson["pretrain"](0, lesson["hide_some"], causal=True)
    with torch.no_grad():
        with_causal_mask = F.cross_entropy(masked(blanks)[every, at], y)
        theirs = F.cross_entropy(encoder(blanks)[every, at], y)
        before = [F.cross_entropy(gpt(texts)[row, at - 1], y) for gpt in gpts]
    whole, brief = map(try_every_word, gpts)
    assert max(whole, brief) + 0.1 < theirs
    assert theirs + 0.3 < before[1] < before[0]  # 1.5, and 1.8 after all steps
    assert theirs + 0.3 < with_causal_mask  # 1.6


@pytest.fixture
def masks_only(lesson):
    rule = lesson["hide"]

    def task(x, g):
        lesson["hide"] = lambda x, draw, kind, word: rule(x, draw, torch.zeros_like(kind), word)
        try:
            return lesson["hide_some"](x, g)
        finally:
            lesson["hide"] = rule

    return task


@pytest.mark.lesson
def test_with_masks_alone_an_encoder_has_the_topic_at_a_word_it_sees(lesson, masks_only):
    """Four seeds 97, 89, 92, 86; with the whole rule 91 to 98."""
    models = [lesson["pretrain"](seed, masks_only) for seed in (0, 2)]
    assert lesson["probe"](models).mean() > 80


@pytest.mark.lesson
def test_with_larger_initial_weights_the_rule_matters(lesson, masks_only):
    def initial_weights(part):
        if isinstance(part, nn.Embedding) and part.num_embeddings == 24:
            nn.init.normal_(part.weight, std=0.2)

    lesson["initial_weights"] = initial_weights
    whole, masks = (
        [lesson["pretrain"](seed, task) for seed in (0, 2)]
        for task in (lesson["hide_some"], masks_only)
    )
    assert lesson["probe"](masks).mean() + 10 < lesson["probe"](whole).mean()


@pytest.mark.lesson
def test_with_100_labels_a_probe_finds_the_topic_after_one_layer_and_in_untrained_ones(lesson):
    """After one layer 69, 99, 72, 81, by seed; before any 52; in untrained ones 58 to 74."""
    known, new = lesson["known"], lesson["new"]

    def right(model, depth):
        both = [lesson["vectors_of"]("dry", model, part[0], depth) for part in (known, new)]
        return define("10d")["ask"](both[0], known[1], both[1], new[1], n=100)

    model = pretrained(0)
    assert right(model, 1) > 62
    assert 47 < right(model, 0) < 57
    torch.manual_seed(42)
    n = len(lesson["ids"])
    untrained = lesson["OurModel"](lesson["OurEncoder"](n), n).apply(lesson["as_pytorch_starts"])
    assert 57 < right(untrained, None) < 75


@pytest.mark.lesson
def test_the_adjectives_have_not_read_the_thing_for_dry(lesson):
    """Four seeds 66, 69, 63, 59 without, 67, 68, 64, 60 if they may."""
    ids = lesson["ids"]
    things, words = (
        torch.tensor(
            [ids[word] for part in DOMAINS.values() for word in " ".join(part[some]).split()]
        )
        for some in (slice(1), slice(1, 3))
    )
    encoder, parts = pretrained(0), (lesson["known"], lesson["new"])

    @torch.no_grad()
    def vectors(texts, readers):
        x = lesson["our_batch"](texts)
        allowed = lesson["readable"](x)
        allowed = lesson["forbid_it"](allowed, torch.isin(x, readers), torch.isin(x, things))
        found = encoder.encoder(x, allowed)[x == ids["dry"]]
        return F.pad(found, (0, 1), value=1.0)

    def right(readers):
        v, v_new = (vectors(part[0], readers) for part in parts)
        return define("10d")["ask"](v, parts[0][1], v_new, parts[1][1])

    alone, all_of_them = right(torch.tensor([ids["dry"]])), right(words)  # dry is one of them
    assert all_of_them == pytest.approx(alone, abs=6)
    assert alone < 80


@pytest.mark.lesson
def test_from_100_labels_a_probe_finds_some_of_what_dry_may_not_read(lesson):
    """Things and adjectives forbidden: seeds 0–3 58, 81, 73, 77 with 100 labels, 53 with two."""
    ids, (known, new) = lesson["ids"], (lesson["known"], lesson["new"])
    words = " ".join(" ".join(part) for part in DOMAINS.values()).split()
    both = torch.tensor([ids[word] for word in words if word != "dry"])
    encoder = pretrained(1)
    v, v_new = (
        lesson["vectors_of"]("dry", encoder, part[0], forbidden=both) for part in (known, new)
    )
    few, many = (define("10d")["ask"](v, known[1], v_new, new[1], n) for n in (2, 100))
    assert few < 64
    assert many > few + 8


@pytest.mark.lesson
def test_after_225_steps_a_gpts_dry_tells_no_more_and_its_be_less():
    """Per cent from two examples, seeds 0-3: dry 50, 57, 53, 53, be 100, 65, 63, 73."""
    lesson = define("10d")
    parts = [lesson["choose"](part, "would be dry .") for part in statements()[::2]]
    gpts = [
        lesson["pretrain"](seed, lesson["attend_past"], lesson["next_words"], 225)
        for seed in range(4)
    ]
    right = {word: lesson["probe"](gpts, word, 2, *parts).mean() for word in ("be", "dry")}
    assert right["dry"] < 63
    assert right["be"] < 90


@pytest.mark.lesson
def test_a_gpt_that_learns_from_as_few_words_has_the_topic_at_be_and_less_of_good_or_bad():
    """Per cent at be, seeds 0-3: the topic 100, 100, 100, 100, good or bad 51, 73, 60, 64."""
    lesson, parts = define("10d"), statements()[::2]
    names = ("texts", "weather", "good", "new_texts", "weather_new", "good_new")
    values = [one for part in parts for one in lesson["choose_any"](part)]
    lesson.update(zip(names, values, strict=True))

    def some_next_words(x, g):
        x, targets = lesson["next_words"](x, g)
        return x, targets.where(torch.rand(x.shape, generator=g) < 0.15, -100)

    gpts = [lesson["pretrain"](seed, lesson["attend_past"], some_next_words) for seed in (0, 2)]
    topic, good = np.mean([lesson["probe_both"](one, 2) for one in gpts], 0)
    assert topic > 95
    assert 45 < good < 75
    dry = [lesson["choose"](part, "would be dry .") for part in parts]
    assert lesson["probe"](gpts, "dry", 2, *dry).mean() < 85  # 56 and 78


@pytest.fixture
def pairs_of_statements():
    """Sixteen statements about a cake and sixteen about an outing, alike but for that."""
    form = "{w} had a {x} {s} but {w} thought the {s} would be {o} ."
    test = statements()[2]
    said = (
        [one for one in test if (one.template, one.domain) == (form, domain)]
        for domain in ("kitchen", "weather")
    )
    return [[one.text for one in sorted(some, key=lambda one: one.label)] for some in said]


@pytest.mark.lesson
def test_after_1200_steps_too_be_has_the_topic_and_the_seeds_differ_but_dry_is_another(
    pairs_of_statements,
):
    """Per cent, GPTs: be 99, dry 68; be patched 99, 27, 93, 99; masked ones have 68 at dry, too."""
    lesson, parts = define("10d"), statements()[::2]
    learn, judge = (lesson["choose"](part, "would be dry .") for part in parts)
    gpts, masked = (
        [lesson["pretrain"](seed, lesson["attend_past"], lesson[task], 1200) for seed in range(4)]
        for task in ("next_words", "hide_some")
    )

    def right(models, word):
        return lesson["probe"](models, word, 2, learn, judge).mean()

    assert right(gpts, "be") > 95
    assert right(masked, "be") < 93
    assert right(gpts, "dry") < 80
    assert abs(right(masked, "dry") - right(gpts, "dry")) < 15
    cake, walk = (lesson["read"](texts)[:, :15] for texts in pairs_of_statements)
    moved = lesson["trace"](gpts, cake, walk, [12], 12)
    assert moved.max() - moved.min() > 40
    assert lesson["trace"](gpts, cake, walk, [5, 10, 12], 12).min() > 90


@pytest.mark.lesson
def test_in_the_other_template_too_a_gpt_uses_be():
    """Per cent that go to the weather, seed 0: 100 with be, 0 with would."""
    lesson = define("10d")
    form = "it was a {x} {s} but {w} thought the {s} would be {o} ."
    kitchen, weather = (
        lesson["read"](
            [one.text for one in statements()[2] if (one.template, one.domain) == (form, domain)]
        )[:, :15]
        for domain in ("kitchen", "weather")
    )
    gpt = [lesson["pretrain"](0, lesson["attend_past"], lesson["next_words"])]
    assert lesson["trace"](gpt, kitchen, weather, [12], 12) > 50
    assert lesson["trace"](gpt, kitchen, weather, [11], 12) < 10


@pytest.mark.lesson
def test_counts_of_the_whole_text_tell_the_topic_if_one_knows_how_many_there_are():
    """Latent semantic analysis: of the numbers a statement, five are best on validation."""
    lesson, (train, validation, test) = define("10d"), statements()
    size = len(lesson["ids"])
    counts = count_words(lesson["tokens"], size, lowest=4)
    weights = torch.log(len(counts) / counts.count_nonzero(0).clamp(min=1))
    lists = torch.linalg.svd(counts * weights, full_matrices=False).Vh

    def right(n, new, ending="", labels=2):
        parts = [lesson["choose"](part, ending) for part in (train, new)]
        both = [count_words(lesson["read"](part[0]), size, lowest=4) for part in parts]
        v, v_new = (one * weights @ lists[:n].T for one in both)
        return lesson["ask"](v, parts[0][1], v_new, parts[1][1], labels)

    sizes = range(2, 33)
    assert max(sizes, key=lambda n: right(n, validation)) == 5
    found = {n: right(n, test) for n in (2, 3, 4, 5, 32)}
    assert [found[n] for n in (2, 3, 4)] == pytest.approx([50, 50, 50], abs=2)
    assert found[5] == pytest.approx(88, abs=2)
    assert found[32] == pytest.approx(65, abs=2)
    assert right(5, test, "would be dry .") == 100
    assert right(32, test, labels=100) > 98


def find_nobody(room, train):
    """Return the statements with nobody, and no time, that are in training in no form."""
    familiar, found = {room["shorten"](one.text) for one in train}, []
    for domain, (things, good, bad) in DOMAINS.items():
        for thing, word in product(things.split(), (good + " " + bad).split()):
            text = f"nobody found the {thing} {word} ."
            if text not in familiar:
                found.append(Statement(text, int(word in bad.split()), text, domain))
    return found


def test_which_statements_with_nobody_are_new_and_how_many_tell_the_outcome():
    """Counts that the texts of 10c and 10e name."""
    room, (train, _, test) = define("10e"), statements()
    shorten = room["shorten"]
    all_of_them = {one.text: one.label for one in find_nobody(room, [])}
    fresh = {one.text for one in find_nobody(room, train)}
    assert (len(all_of_them), len(fresh)) == (72, 24)
    assert sum(all_of_them[text] for text in fresh) == 13
    begun = {one.text.split(" so ")[0] + " ." for one in train if " so " in one.text}
    assert len(fresh & begun) == 17
    asked = [one for one in test if shorten(one.text) in all_of_them]
    assert all(one.label == all_of_them[shorten(one.text)] for one in asked)
    timed = [one.text for one in train if "{t}" in one.template]
    assert len(timed) == 640
    assert sum("{r}" in one.template for one in train) / len(train) == 10 / 34
    but = [one.text for one in train if " but " in one.text]
    hoped = {"expected", "thought", "should"}  # what was expected comes first
    starts = [text.split(" but ")[0].split() for text in but]
    kinds = {(len(start) + 1, bool(hoped & {*start})) for start in starts}
    assert kinds == {(5, False), (6, False), (6, True), (7, True), (8, True)}
    opposites = [({*good.split()}, {*bad.split()}) for _, good, bad in DOMAINS.values()]
    for text in but:
        assert any({*text.split()} & good and {*text.split()} & bad for good, bad in opposites)


@pytest.mark.lesson
def test_a_reaction_that_is_exchanged_turns_most_answers_around_in_every_template():
    """Of eight networks at most 23 per cent of the answers stay; here bidirectional, seed 0."""
    room, (train, _, _) = define("10e"), statements()
    model = room["learn"](room["attend"], 0)
    for form in {one.template for one in train if "{r}" in one.template}:
        part = [one for one in train if one.template == form]
        exchanged = [replace(one, text=swap_reaction(one.text)) for one in part]
        assert room["with_gaps"](part, [], [model]).item() > 95
        assert room["with_gaps"](exchanged, [], [model]).item() < 30


@pytest.mark.lesson
def test_short_statements_and_gaps_each_fix_their_own_part():
    """What exercise 10e.3 found, seeds 0 to 3, on one processor.

    Short ones alone: 100 at position 1, as low as 4 at 2 to 9. Gaps alone: 4, 29, 21 and 96 at 1,
    and 96 or more at 2 to 9; on another, which rounds otherwise, 58 to 79 with seed 0.
    """
    room, (train, _, _) = define("10e"), statements()
    timed = [one for one in train if "{t}" in one.template]
    more = train + [replace(one, text=room["shorten"](one.text)) for one in timed]
    short = [room["learn"](room["attend"], 1, more)]
    shifted = [room["learn"](room["attend"], 0, train, room["random_gaps"])]
    asked = find_nobody(room, train)
    by_short, by_gaps = (
        [room["with_gaps"](asked, [1] * n, models).item() for n in range(9)]
        for models in (short, shifted)
    )
    assert by_short[0] > 90
    assert min(by_short[1:]) < 60
    assert np.mean(by_gaps[1:]) > 65
    assert np.mean(by_gaps[1:]) > by_gaps[0] + 10


@pytest.mark.lesson
def test_a_causal_network_with_rotary_positions_knows_nobody_everywhere():
    """Lowest of positions 1 to 11, by seed 100, 96, 79, 96; more than 75 on another processor."""
    room, (train, _, test) = define("10e"), statements()
    model = room["learn"](room["rotary"](room["attend_past"]), 0, positions=None)
    asked = find_nobody(room, train)
    assert min(room["with_gaps"](asked, [1] * n, [model]).item() for n in range(11)) > 75
    rest = [one for one in test if "nobody" not in one.template]
    assert room["with_gaps"](rest, [], [model]).item() > 90


@pytest.mark.lesson
def test_without_positions_a_causal_network_knows_the_order_and_an_encoder_does_not():
    """What 10e found, by seed; gaps change nothing.

    Training 99, 100, 100, 98, encoders 82, 82, 79, 78; other templates 98, 99, 97, 92 and 77,
    76, 78, 76; nobody at 1 100, 100, 96, 96 and 100, 96, 96, 96.
    """
    room, (train, _, test) = define("10e"), statements()
    rest = [one for one in test if "nobody" not in one.template]
    found = {}
    for rule in ("attend", "attend_past"):
        models = [room["learn"](room[rule], 0, positions=None)]
        parts = (train, []), (train, [1] * 3), (find_nobody(room, train), []), (rest, [])
        found[rule] = [room["with_gaps"](*part, models).item() for part in parts]
        assert found[rule][0] == found[rule][1]
        assert found[rule][2] > 90
    assert found["attend_past"][0] > 97
    assert found["attend"][0] < 88
    assert found["attend_past"][3] > 90
    assert found["attend"][3] < 85


def test_pairs_that_are_apart_know_not_a_dry_cake():
    """What the text of 10g.3 states; convex losses, the same minimum every time."""
    room, (train, _, test) = define("10g"), statements()
    part = [one for one in test if one.template == "it was not a {o} {s} {t} ."]
    assert room["accuracy"](room["fit_best"](None, train), part) == 0
    fitted = [room["fit_best"](kind, train) for kind in ("neighbours", "far")]
    found = [room["accuracy"](one, part) for one in fitted]
    assert found == pytest.approx([41, 97], abs=3)

    def together(*words):  # what a pair adds to its words, for "well"
        texts = [[room["ids"][word] for word in some] for some in (words, words[:1], words[1:])]
        logits = [fitted[1](torch.tensor([text]), None)[0] for text in texts]
        both, *alone = [(one[1] - one[0]).item() for one in logits]
        return both - sum(alone)

    assert abs(together("not", "dry")) < 1
    assert together("not", "cake") > 3
    assert together("not", "picnic") < -3
    assert room["accuracy"](fitted[1], train) == 100
    denied = [
        one for one in test if "{r}" not in one.template and {"not", "nobody"} & {*one.text.split()}
    ]
    dry, others = ([one for one in denied if ("dry" in one.text) == yes] for yes in (True, False))
    assert (len(dry), len(others)) == (16, 176)
    assert room["accuracy"](fitted[1], dry) < room["accuracy"](fitted[1], others) - 10
    for thing in ("train", "parcel"):  # in 10g.3: of what is never dry
        assert abs(together("not", thing)) < 1
    (tokens, _), y = room["read"](train[::8])
    for decay in (1e-6, 1e-4, 1e-2):
        options = {"vocab_size": room["size"], "pairs": "far", "lowest": 4, "decay": decay}
        bag = room["fit_bag"](tokens, y, **options)
        assert 61 < room["accuracy"](lambda x, _, bag=bag: bag(x), test) < 66


def test_what_exercise_10g_3_found():
    """Of 2,176 labels: what words know, and pairs, and the rule that does as the words do."""
    room, test = define("10g"), statements()[2]
    groups = {
        "all": test,
        "reaction": [one for one in test if "{r}" in one.template],
        "but": [one for one in test if " but " in one.template],
        "denied": [
            one
            for one in test
            if "{r}" not in one.template and {"not", "nobody"} & {*one.text.split()}
        ],
        "plain": [one for one in test if one.template == "{t} it was a {x} {s} ."],
    }
    assert [len(part) // 64 for part in groups.values()] == [14, 4, 6, 3, 1]
    for pairs, expected in {
        None: [58.4, 100, 53, 0, 97],
        "neighbours": [80, 100, 94, 29, 72],
        "far": [93.5, 100, 89, 92, 98],
    }.items():
        model = room["fit_best"](pairs, room["train"])
        found = [room["accuracy"](model, part) for part in groups.values()]
        assert found == pytest.approx(expected, abs=1)

    def by_rule(one):
        told = tell_by_reaction(one.text)
        _, good, bad = DOMAINS[one.domain]
        says = [bool({*words.split()} & {*one.text.split()}) for words in (good, bad)]
        return told if told != 0.5 else {(1, 0): 1.0, (0, 1): 0.0}.get(tuple(says), 0.5)

    right = {
        name: 100 * np.mean([by_rule(one) if one.label else 1 - by_rule(one) for one in part])
        for name, part in groups.items()
    }
    decided = [one for one in test if by_rule(one) != 0.5]
    words = room["fit_best"](None, room["train"])
    with torch.no_grad():
        says = words(*room["read"](decided)[0]).argmax(1).tolist()
    agree = sum(a == by_rule(one) for a, one in zip(says, decided, strict=True))
    assert (len(decided), agree) == (512, pytest.approx(510, abs=2))  # 702 of 896 with the halves
    with torch.no_grad():
        says = words(*room["read"](groups["reaction"])[0]).argmax(1).tolist()
    assert says == [tell_by_reaction(one.text) for one in groups["reaction"]]  # all 256
    assert right == pytest.approx(
        {"all": 57.1, "reaction": 100, "but": 50, "denied": 0, "plain": 100}, abs=0.05
    )


def test_with_few_labels_skip_bigrams_follow_the_opposite_reaction():
    """And without one they toss a coin; what 10g.2 makes of statements is what it says."""
    room = define("10g")
    room["good"], room["bad"] = map(list, REACTIONS)
    told = [one for one in room["test"] if "{r}" in one.template]
    opposite = [replace(one, text=swap_reaction(one.text)) for one in told]
    without = [replace(one, text=room["put_in"]("today", one.text)) for one in told]
    assert not any(tell_by_reaction(one.text) != 0.5 for one in without)
    assert all(tell_by_reaction(one.text) == 1 - one.label for one in opposite)
    made = {one.template.replace("so {r}", "{t}").replace("{r} because", "{t}") for one in told}
    assert made & {one.template for one in room["train"]} == {
        "it was a {x} {s} {t} .",
        "{t} the {s} was not {o} .",
    }
    counted = room["fit_best"]("far", room["few"])
    found = [room["accuracy"](counted, part) for part in (told, without, opposite)]
    assert found == pytest.approx([100, 54, 0], abs=2)
    names = "it was not a {o} {s} {t} .", "nobody found the {s} {o} {t} .", "{t} it was a {x} {s} ."
    parts = [[one for one in room["test"] if one.template == name] for name in names]
    assert [room["accuracy"](counted, part) for part in parts] == pytest.approx([34, 39, 66], abs=2)


def test_the_lesson_chooses_a_bag_as_the_library_does():
    room = define("10g")
    both = [(x, y) for (x, _), y in map(room["read"], (room["few"], room["validation"]))]
    options = {"vocab_size": room["size"], "lowest": 4, "decays": room["decays"]}
    for kind in (None, "neighbours", "far"):
        ours, theirs = room["fit_best"](kind, room["few"]), choose_bag(*both, pairs=kind, **options)
        assert_close(ours(both[1][0], None), theirs(both[1][0]), rtol=1e-3, atol=1e-3)


def test_a_word_that_means_two_things_costs_skip_bigrams_four_points():
    """What 10g.3 shows: with a dry cake called hard, 'not ... cake' is nothing."""
    room = define("10g")
    parts = [room["harden"](room[name]) for name in ("train", "validation", "test")]
    for before, after in zip((room["train"], room["test"]), (parts[0], parts[2]), strict=True):
        for one, other in zip(before, after, strict=True):
            assert ("dry" in other.text) == ("dry" in one.text and one.domain == "weather")
            assert other.text.replace("hard", "dry") == one.text
    (tokens, _), y = room["read"](room["validation"])
    fits = [room["fit_best"]("far", room["train"], decays=[one]) for one in room["decays"]]
    right = [(fit(tokens, None).argmax(1) == y).sum().item() for fit in fits]
    assert room["decays"][right.index(max(right))] == 1e-6  # as the page says
    before = room["accuracy"](fits[1], room["test"])
    room["ids"]["hard"] = len(room["ids"])
    model = room["fit_best"]("far", *parts[:2], [1e-6])
    assert room["accuracy"](model, parts[2]) == pytest.approx(97.4, abs=0.4)
    first, then = room["hits"](fits[1], room["test"]), room["hits"](model, parts[2])
    for word, won, lost in (("but", 31, 5), ("not", 3, 0), ("nobody", 5, 0)):
        these = [k for k, one in enumerate(parts[2]) if word in one.text.split()]
        changes = [then[k] - first[k] for k in these]
        assert (changes.count(1), changes.count(-1)) == (
            pytest.approx(won, abs=2),
            pytest.approx(lost, abs=2),
        )
    forms, gains = sorted({one.template for one in parts[2]}), []
    for form in forms:
        pair = [[one for one in part if one.template == form] for part in (parts[2], room["test"])]
        gains.append(room["accuracy"](model, pair[0]) - room["accuracy"](fits[1], pair[1]))
    found = mean_over_groups(torch.tensor(gains), forms)
    assert [float(one) for one in found] == pytest.approx([3.9, 0.9], abs=0.3)
    chosen = room["fit_best"]("far", *parts[:2])  # validation prefers 1e-8 for the new words
    assert room["accuracy"](chosen, parts[2]) == pytest.approx(98.9, abs=0.4)
    assert room["accuracy"](fits[1], room["test"]) == before  # exercise 10g.3 asks it again
    for thing in ("cake", "soup", "stew", "picnic", "walk", "parade"):
        assert abs(room["added"]("not", thing, model=model)) < 2


@pytest.mark.lesson
def test_the_mean_of_all_tokens_follows_the_opposite_reaction_less():
    """What 10g.2 states in brackets, of seeds 0 to 3: 13 % match the fact (38 in the first row)."""
    room = define("10h")
    told = [one for one in room["test"] if "{r}" in one.template]
    opposite = [replace(one, text=swap_reaction(one.text)) for one in told]
    first = [one for one in opposite if one.template == "it was a {x} {s} so {r} ."]
    networks = [room["learn_labels"](seed) for seed in range(4)]
    found = [
        np.mean([room["accuracy"](one, part) for one in networks]) for part in (opposite, first)
    ]
    assert found == [pytest.approx(12.6, abs=5), pytest.approx(38, abs=12)]


@pytest.mark.lesson
def test_with_few_labels_networks_know_plain_facts_and_no_denials():
    """What 10g.2 shows of seeds 0 to 3: 88, 45, 79, 48 and 89, 35, 51, 49 without a reaction."""
    room = define("10g")
    room["good"], room["bad"] = map(list, REACTIONS)
    networks = [room["learn_labels"](seed) for seed in range(4)]
    for form, time, low, high in (
        ("it was a {x} {s} so {r} .", "today", 75, 98),
        ("it was a {x} {s} so {r} .", "this time", 75, 98),
        ("{r} because it was a {x} {s} .", "today", 65, 92),
        ("{r} because it was a {x} {s} .", "this time", 38, 64),
        *(
            (form, time, 25, 62)
            for form in ("it was not a {o} {s} so {r} .", "{r} because the {s} was not {o} .")
            for time in ("today", "this time")
        ),
    ):
        part = [one for one in room["test"] if one.template == form]
        part = [replace(one, text=room["put_in"](time, one.text)) for one in part]
        assert low < np.mean([room["accuracy"](model, part) for model in networks]) < high
    told = [one for one in room["test"] if "{r}" in one.template]
    for time, right in (("today", 65), ("this time", 56)):  # so the reaction makes 10 to 12 points
        part = [replace(one, text=room["put_in"](time, one.text)) for one in told]
        found = np.mean([room["accuracy"](model, part) for model in networks])
        assert found == pytest.approx(right, abs=6)
    known = [one for one in room["few"] if one.template == "{t} the {s} was not {o} ."]
    assert len(known) == 8
    assert min(room["accuracy"](model, known) for model in networks) == 100


@pytest.mark.lesson
def test_frozen_pre_trained_vectors_do_not_tell_the_outcome():
    """Seeds 0 to 3: 52, 53, 54 and 49 per cent at the last token, 52, 55, 54, 53 on the mean."""
    room, (train, _, test) = define("10h"), statements()
    start = room["pretrain"](3)
    for pooling in ("last", "mean"):
        both = []
        for part in (train[::8], test):
            (tokens, present), y = room["read"](part)
            with torch.no_grad():
                vectors = pool(start.encoder(tokens, present), present, pooling)
            both.append((F.pad(vectors, (0, 1), value=1.0), y))
        weights = fit_logistic(*both[0], 2, decay=1e-4)
        right = ((both[1][0] @ weights).argmax(1) == both[1][1]).double().mean()
        assert 0.42 < right < 0.6


@pytest.mark.lesson
def test_a_network_that_read_knows_what_a_soup_can_be_and_not_what_makes_people_smile():
    """What 10h.4 shows: six words, the bad ones as likely after either reaction; and the losses."""
    room = define("10h")
    model = reader()
    fits, fractions = [], []
    for reactions in REACTIONS:
        of_good = []
        for reaction, (things, *both) in product(reactions, DOMAINS.values()):
            for thing in things.split():
                text = f"{reaction} because the {thing} was"
                with torch.no_grad():
                    found = model(*room["encode"](text))[0, len(text.split())].softmax(-1)
                good, bad = (found[[room["ids"][w] for w in part.split()]].sum() for part in both)
                fits.append((good + bad).item())
                of_good.append((good / (good + bad)).item())
        assert len(of_good) == 36
        fractions.append(np.mean(of_good))
    assert min(fits) > 0.75
    assert np.mean(fits) == pytest.approx(0.965, abs=0.03)
    assert fractions == pytest.approx([0.5, 0.5], abs=0.06)
    assert fractions[0] == pytest.approx(fractions[1], abs=0.01)

    smiles = [[], []]
    for things, *both in DOMAINS.values():
        for thing, (kind, words) in product(things.split(), enumerate(both)):
            for word in words.split():
                text = f"the {thing} was {word} so people"
                with torch.no_grad():
                    found = model(*room["encode"](text))[0, len(text.split())].softmax(-1)
                yes, no = (found[room["ids"][one]] for one in ("smiled", "grumbled"))
                smiles[kind].append((yes / (yes + no)).item())
    assert [len(one) for one in smiles] == [36, 36]
    assert np.mean(smiles[0]) == pytest.approx(np.mean(smiles[1]), abs=0.02)
    assert 0.4 < np.mean(smiles[0]) < 0.6


@pytest.mark.lesson
def test_a_network_that_read_predicts_better_than_counts():
    """What 10h.4 shows, and that counts of three words know less of what can be said of a thing."""
    room = define("10h")
    model = reader()
    parts = [statements()[k] for k in (0, 1)]
    (tokens, present), _ = room["read"](parts[1])
    with torch.no_grad():
        loss = room["word_loss"](model(tokens, present), tokens)
    assert loss == pytest.approx(1.5, abs=0.06)
    for n, expected in ((2, 1.82), (3, 1.62)):
        seen, windows = (room["windows_of"](part, n) for part in parts)
        assert len(windows) == (tokens > 1).sum()  # the same words
        counted = NGram(kneser_ney(count_ngrams(seen, room["size"])))
        assert mean_nll(counted, windows) == pytest.approx(expected, abs=0.005)


@pytest.mark.lesson
def test_whether_it_turned_out_well_is_hardly_in_the_vectors(lesson):
    """Of 64 labelled statements, by the mean of their vectors; chance is a half."""
    model = pretrained(0)
    parts = lesson["train"], lesson["test"]
    both = [lesson["our_batch"]([one.text for one in part]) for part in parts]
    y, y_new = (torch.tensor([one.label for one in part]) for part in parts)
    right = []
    with torch.no_grad():
        vectors = [model.encoder(x, lesson["readable"](x)) * (x > 0)[..., None] for x in both]
        known, new = (v.sum(1) / (x > 0).sum(1, True) for v, x in zip(vectors, both, strict=True))
    for seed in range(20):
        order = torch.randperm(len(y), generator=torch.Generator().manual_seed(seed))
        some = torch.cat([order[y[order] == label][:32] for label in (0, 1)])
        weights = fit_logistic(F.pad(known[some], (0, 1), value=1.0), y[some], 2, decay=0.01)
        says = (F.pad(new, (0, 1), value=1.0) @ weights).argmax(1)
        right.append((says == y_new).float().mean().item())
    assert 0.45 < np.mean(right) < 0.57

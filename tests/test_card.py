"""The honesty card."""

import statistics
from dataclasses import replace
from datetime import datetime, timedelta

import pytest
import torch

from coursekit.evaluate.card import HonestyCard, _spread
from coursekit.evaluate.forecasts import mase, naive_error, score_errors, score_forecasts
from coursekit.models.baselines import fit_linear, last_value, seasonal_naive
from coursekit.windows.forecast import ForecastWindows, Scaler
from coursekit.windows.series import TimeSeries

GENERATOR = torch.Generator().manual_seed(0)
VALUES = 50 + 8 * torch.randn(120, 1, generator=GENERATOR, dtype=torch.float64).cumsum(0)
SCALER = Scaler.fit(VALUES[:50])
DAY = timedelta(days=1)
SEASON = 7


def series(step=DAY, values=VALUES, unit="°C"):
    times = [datetime(2024, 1, 1) + step * k for k in range(len(values))]
    return TimeSeries(name="steps", times=times, values=values, columns=("height",), unit=unit)


def cut(values=None, start=70, stop=120, horizon=2, past=9):
    values = SCALER.scale(VALUES) if values is None else values
    calendar = torch.zeros(len(values), 3, dtype=torch.int64)
    return ForecastWindows(
        values=values, calendar=calendar, past=past, horizon=horizon, start=start, stop=stop
    )


def valid(**changes):
    return cut(**{"start": 50, "stop": 70} | changes)


def baselines(windows=None):
    windows = windows or cut()
    learnt = cut(start=0, stop=50, horizon=windows.horizon)
    (past, _, _), target = learnt.take(torch.arange(len(learnt)))
    return {
        "last value": score_forecasts(last_value, windows),
        "a week ago": score_forecasts(seasonal_naive(SEASON), windows),
        "ridge": score_forecasts(fit_linear(past[..., 0], target, 1.0), windows),
    }


KINDS = {"last value": "last value", "seasonal naive": "a week ago", "linear": "ridge"}


def shifted(by, windows=None):
    return score_forecasts(lambda *given: last_value(*given) + by, windows or cut())


def perfect(add=0.0, windows=None):
    """Score forecasts that are off by the same everywhere."""
    windows = windows or cut()
    truth = windows.take(torch.arange(len(windows)))[1]
    return score_forecasts(lambda *given: truth + add, windows, 1024)


def validate(models, best=None):
    """Score baselines and seeds before the test; all of `best` without an error."""
    seeds = {name: len(s) if isinstance(s, list) else 1 for name, s in models.items()}
    found = {name: [shifted(0.5, valid())] * n for name, n in seeds.items()} | baselines(valid())
    return found if best is None else found | {best: [perfect(0.0, valid())] * seeds.get(best, 1)}


def card(best_valid=None, **changes):
    given = {
        "title": "Steps of chance, 2 ahead",
        "baselines": baselines(),
        "kinds": KINDS,
        "models": {"late": [shifted(1.0), shifted(2.0)], "near": shifted(0.01)},
        "scaler": SCALER,
        "series": series(),
        "seen": "nothing",
    } | changes
    return HonestyCard(**{"validation": validate(given["models"], best_valid)} | given)


def column(shown, head):
    """Return the cells of one column, by row."""
    names, *rows = shown.table()
    return {row[0]: row[names.index(head)] for row in rows}


def test_rows_stand_in_order_baselines_first():
    names = [row[0] for row in card().table()]
    assert names == ["", *baselines(), "late", "near"]


def test_a_row_has_both_scales():
    shown, score, std = card(), baselines()["last value"], SCALER.std[0].item()
    expected = {
        "MSE, scaled": score.mse,
        "MAE, scaled": score.mae,
        "MSE, °C²": score.mse * std**2,
        "MAE, °C": score.mae * std,
        "MSE, validation": baselines(valid())["last value"].mse,
    }
    for head, value in expected.items():
        assert float(column(shown, head)["last value"]) == pytest.approx(value, rel=0.005)
    assert column(shown, "parameters")["last value"] == "0"
    assert "MAE, own unit" in card(series=series(unit="")).table()[0]
    assert "MSE, (% a day)²" in card(series=series(unit="% a day")).table()[0]


def test_several_seeds_are_shown_by_mean_and_standard_deviation():
    errors = [shifted(by).mse for by in (1.0, 2.0)]
    shown = column(card(), "MSE, scaled")
    centre, spread = map(float, shown["late"].split(" ± "))
    assert centre == pytest.approx(statistics.mean(errors), rel=0.005)
    assert spread == pytest.approx(statistics.stdev(errors), abs=0.005)
    assert "±" not in shown["near"]


# The two marks


@pytest.mark.parametrize("model", [-1.0, 0.0])
def test_the_lowest_error_is_marked_also_where_it_is_a_baselines(model):
    best = "oracle" if model == 0 else "ridge"
    given = baselines() | {"ridge": perfect(0.1)}
    shown = card(baselines=given, models={"oracle": perfect(model)}, best_valid="last value")
    assert shown.best == best
    marked = [line for line in str(shown).splitlines() if line.endswith("← best")]
    assert len(marked) == 1
    assert marked[0].startswith(best)
    bold = [line for line in shown._repr_markdown_().splitlines() if line.startswith("| **")]
    assert len(bold) == 1
    assert bold[0].startswith(f"| **{best}**")


def test_one_lucky_seed_does_not_make_the_best_row():
    assert card(models={"lucky": [perfect(), shifted(9.0)]}).best in baselines()
    assert card(models={"lucky": [perfect(), perfect()]}).best == "lucky"


@pytest.mark.parametrize("name", ["last value", "a week ago", "ridge", "late", "near"])
def test_the_row_that_validation_chooses_is_marked_whoever_is_best_on_the_test(name):
    shown = card(best_valid=name, models={"late": [shifted(9.0)] * 2, "near": perfect()})
    assert (shown.chosen, shown.best) == (name, "near")
    for text in (str(shown), shown._repr_markdown_()):
        (marked,) = [row for row in text.splitlines() if "chosen by validation" in row]
        assert marked.strip("|* ").startswith(name)
    assert f"it chooses {name}" in str(shown)


def test_one_lucky_seed_is_not_chosen():
    lucky = {"lucky": [perfect(0.0, valid()), shifted(9.0, valid())]}
    shown = card(models={"lucky": [shifted(1.0)] * 2}, validation=baselines(valid()) | lucky)
    assert shown.chosen in baselines()


def test_where_the_two_marks_differ_the_card_says_by_how_much():
    models = {"near": perfect(0.1), "far": perfect(0.2)}
    shown = card(models=models, best_valid="far")
    line = "the two marks differ: only the test shows that near is best. Without it one takes far, "
    assert f"{line}with an MSE of 0.0400 instead of 0.0100" in shown.lines()
    agreed = card(models=models, best_valid="near")
    assert not any("marks differ" in line for line in agreed.lines())
    assert "← best, chosen by validation" in str(agreed)
    assert "| ← best, chosen by validation |" in agreed._repr_markdown_()


# MASE


def test_mase_is_that_of_the_function_and_of_a_count_by_hand():
    divisor = sum(abs(VALUES[t, 0] - VALUES[t - 7, 0]).item() for t in range(7, 50)) / 43
    windows, scaled = cut(), SCALER.scale(VALUES)
    rows = windows.take(torch.arange(len(windows)))
    missed = [
        abs(VALUES[t + k, 0] - VALUES[t - 1, 0]).item() for t in range(70, 119) for k in range(2)
    ]
    by_hand = sum(missed) / len(missed) / divisor
    assert mase(rows[1], last_value(*rows[0]), scaled[:50, 0], 7) == pytest.approx(by_hand)
    shown = card()
    assert shown.divisor == pytest.approx(divisor)
    assert float(column(shown, "MASE")["last value"]) == pytest.approx(by_hand, rel=0.005)
    assert "(7 rows back) on the 50 training rows (Hyndman and Koehler 2006)" in str(shown)
    assert f"MASE: MAE divided by {divisor:.1f} °C, that of the seasonal naive rule (7" in str(
        shown
    )


def test_mase_of_several_series_divides_by_the_mean_of_their_divisors():
    other = series(values=VALUES.flip(0))
    alone = [naive_error(one.values[:50, 0], SEASON) for one in (series(), other)]
    assert alone[0] != alone[1]
    assert card(series=[series(), other]).divisor == pytest.approx(sum(alone) / 2)


def test_without_a_season_mase_divides_by_the_last_value_and_says_so():
    fortnights = series(step=14 * DAY)
    kinds = {kind: name for kind, name in KINDS.items() if kind != "seasonal naive"}
    shown = card(series=fortnights, kinds=kinds)
    assert shown.divisor == pytest.approx(naive_error(VALUES[:50, 0], 1))
    assert "that of the last value on the 50 training rows" in str(shown)
    assert "no seasonal naive: the steps have no season" in str(shown)
    assert "no seasonal naive" not in str(card(series=fortnights))


def test_without_an_error_to_divide_by_there_is_no_mase():
    values = VALUES.clone()
    values[:50] = 50 + 10 * (torch.arange(50, dtype=torch.float64)[:, None] % 7)
    shown = card(series=series(values=values))
    assert "MASE" not in shown.table()[0]
    line = "no MASE: on the 50 training rows, the seasonal naive rule (7 rows back) has no error "
    assert f"{line}to divide by" in shown.lines()


# Look-back


def test_the_look_back_is_what_is_read_beside_what_a_window_holds():
    shown = column(card(), "look-back")
    assert [*shown.values()] == ["1 of 9", "7 of 9", "9", "1 of 9", "1 of 9"]
    said = (
        "look-back: steps that a forecast depends on, found by trial, of those that a window holds"
    )
    assert said in card().lines()
    wide = {"near": [shifted(0.1), score_forecasts(lambda *given: given[0][:, -3:-1, 0], cut())]}
    assert column(card(models=wide), "look-back")["near"] == "3 of 9"


def test_a_look_back_that_was_not_measured_is_called_stated():
    def state(score):
        return replace(score, reads=None)

    some = card(models={"near": state(shifted(0.1))})
    assert column(some, "look-back")["near"] == "9"
    assert any(line.endswith("window holds; as stated: near") for line in some.lines())
    rules = {name: state(score) for name, score in baselines().items()}
    every = card(baselines=rules, models={"near": state(shifted(0.1))})
    assert "look-back: as stated, not measured" in every.lines()


def test_a_longer_look_back_on_the_same_targets_is_fine():
    longer = card(models={"near": shifted(0.1, cut(past=30))})
    assert column(longer, "look-back")["near"] == "1 of 30"


# What is said below the table


def test_what_must_be_said_is_said():
    text = str(card(published={"the paper": 0.098}, seen=" a smaller network \n"))
    assert "windows scored: 49, each once, 2 steps ahead" in text
    assert "validation: 19 windows, in rows 50 to 69; it chooses " in text
    assert "seen on the test windows before: a smaller network\n" in text
    assert "scaler: saw the first 50 rows, no later ones" in text
    assert f"units: a scaled 1 is {SCALER.std[0].item():.1f} °C" in text
    assert "seeds: late 2, near 1 (± is the standard deviation over them)" in text
    assert "published, not measured here (MSE, scaled): the paper 0.098" in text
    for line in card().lines():
        assert f"- {line}" in card()._repr_markdown_()


def test_a_card_in_a_list_is_its_text_and_not_all_its_numbers():
    assert repr(card()) == str(card())


def test_seconds_are_shown_where_they_are_given_and_left_out_otherwise():
    assert "seconds" not in card().table()[0]
    table = card(seconds={"late": 12.4}).table()
    assert [row[-1] for row in table] == ["seconds", "", "", "", "12", ""]


def test_columns_of_the_text_are_aligned():
    lines = str(card()).splitlines()[1:7]
    assert len({line.index(word) + len(word) for line, word in zip(lines, HEADS, strict=True)}) == 1


HEADS = ["look-back", "1 of 9", "7 of 9", "     9", "1 of 9", "1 of 9"]


# Refusals


@pytest.mark.parametrize("missing", KINDS)
def test_a_baseline_that_is_missing_is_named(missing):
    given = {name: score for name, score in baselines().items() if name != KINDS[missing]}
    kinds = {kind: name for kind, name in KINDS.items() if kind != missing}
    rule = {"last value": "last_value", "linear": "fit_linear"}
    rule = rule.get(missing, r"seasonal_naive\(7\)")
    with pytest.raises(ValueError, match=rf"missing: {missing}\. Score .* windows \({rule}\) and"):
        card(baselines=given, kinds=kinds)


def test_a_season_is_only_asked_for_if_the_training_rows_hold_it():
    kinds = {kind: name for kind, name in KINDS.items() if kind != "seasonal naive"}
    shown = card(series=series(step=DAY / 60), kinds=kinds)
    assert "no seasonal naive: 50 training rows don't hold a season of 60" in str(shown)
    with pytest.raises(ValueError, match="missing: seasonal naive"):
        card(series=series(step=DAY / 48), kinds=kinds)


def test_no_kind_is_read_from_the_name_of_a_row():
    given = dict(zip(KINDS, baselines().values(), strict=True))
    with pytest.raises(ValueError, match=r"missing: last .* say which rows they are: kinds={"):
        card(baselines=given, kinds={})


def test_a_card_without_baselines_is_refused():
    with pytest.raises(ValueError, match=r"baselines missing: last value, seasonal naive, linear"):
        card(baselines={})


@pytest.mark.parametrize(
    ("kind", "score", "words"),
    [
        ("last value", "a week ago", "has a look-back of 7 instead of 1: name the row that it is"),
        ("seasonal naive", "last value", "has a look-back of 1 instead of 7, or a multiple"),
        ("seasonal naive", "blind", "has a look-back of 0 instead of 7"),
    ],
)
def test_a_rule_that_reads_what_it_would_not_is_refused(kind, score, words):
    flat = score_forecasts(lambda past, known, marks: 0 * known[..., 0], cut())
    scores = baselines() | {"blind": flat}
    given = baselines() | {KINDS[kind]: scores[score]}
    with pytest.raises(ValueError, match=rf"is called the {kind} baseline and {words}"):
        card(baselines=given)
    unmeasured = {name: replace(one, reads=None) for name, one in given.items()}
    assert card(baselines=unmeasured).kinds == KINDS


def test_two_weeks_are_a_season_as_well():
    long = cut(past=14)
    given = baselines() | {"a week ago": score_forecasts(seasonal_naive(14), long)}
    assert column(card(baselines=given), "look-back")["a week ago"] == "14"


def test_rows_of_different_windows_are_refused():
    shorter = cut(stop=119)
    with pytest.raises(ValueError, match=r"'near' was scored on 48 windows of 2 steps, 'last val"):
        card(models={"near": shifted(0.1, shorter)})
    with pytest.raises(ValueError, match=r"on 48 windows of 3 steps.*score all on the same"):
        card(models={"near": shifted(0.1, cut(horizon=3))})
    with pytest.raises(ValueError, match=r"'far' was scored on other targets than 'last value'"):
        card(models={"near": shifted(0.1), "far": shifted(0.1, cut(start=69, stop=119))})


def test_every_seed_is_scored_on_the_same_windows():
    seeds = [shifted(0.1), shifted(0.2, cut(stop=119))]
    with pytest.raises(ValueError, match=r"'near' was scored on 48 windows of 2 steps, 'last val"):
        card(models={"near": seeds})


def test_a_row_in_another_scale_is_refused():
    with pytest.raises(ValueError, match="or in another scale: cut the windows with the same"):
        card(models={"near": shifted(0.1, cut(VALUES))})


@pytest.mark.parametrize("seen", ["", " \n"])
def test_a_card_that_does_not_say_what_was_seen_is_refused(seen):
    with pytest.raises(ValueError, match=r"say what was looked at .* seen='nothing', if that is"):
        card(seen=seen)


NEAR = {"near": shifted(0.1)}


@pytest.mark.parametrize(
    ("validation", "words"),
    [
        ({}, "'last value' is scored 1 × on the test windows, 0 × in validation: give as many"),
        (baselines(valid()), "'near' is scored 1 × .* 0 × .*'near': score_forecasts.*splits.valid"),
        (
            baselines(valid()) | {"near": [shifted(0.1, valid())] * 2},
            "'near' is scored 1 × on the test windows, 2 × in validation",
        ),
        (
            baselines(valid()) | {"near": shifted(0.1, valid()), "far": shifted(0.2, valid())},
            "validation scores are given for 'far', which is no row: name one of last value",
        ),
        (
            baselines(valid()) | {"near": shifted(0.1, valid(stop=69))},
            "'near' was scored in validation on 18 windows of 2 steps, 'last value' on 19",
        ),
        (
            baselines(valid()) | {"near": shifted(0.1, valid(start=49, stop=69))},
            "'near' was scored in validation on other targets than 'last value'",
        ),
        (
            baselines(valid(horizon=3)) | {"near": shifted(0.1, valid(horizon=3))},
            "validation is 3 steps ahead, the test 2",
        ),
        (
            baselines(valid(stop=71)) | {"near": shifted(0.1, valid(stop=71))},
            "validation targets go up to row 70, the test's begin at row 70: choose by windows b",
        ),
        (
            baselines() | NEAR,
            "validation targets go up to row 119, the test's begin at row 70: choose by windows b",
        ),
    ],
)
def test_validation_that_chooses_nothing_is_refused(validation, words):
    with pytest.raises(ValueError, match=words):
        card(models=NEAR, validation=validation)


def test_validation_on_the_test_windows_is_refused_also_where_no_rows_are_known():
    def state(by, windows):
        (past, known, marks), target = windows.take(torch.arange(len(windows)))
        return score_errors(last_value(past, known, marks) + by, target, look_back=1)

    rules = {"last value": state(0.0, cut()), "a week ago": state(1.0, cut())}
    rules["ridge"] = state(2.0, cut())
    given = {"baselines": rules, "models": {"near": state(3.0, cut())}}
    earlier = dict(zip([*rules, "near"], [state(k, valid()) for k in range(4)], strict=True))
    assert card(**given, validation=earlier).chosen == "last value"
    with pytest.raises(ValueError, match="the validation scores are of the test windows: choose"):
        card(**given, validation=rules | given["models"])


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"models": {"near": []}}, "'near' has no scores: add one for each seed, or drop the row"),
        ({"models": {"ridge": shifted(1.0)}}, "'ridge' is a baseline and a model: give one an"),
        (
            {"seconds": {"nearer": 3.0}},
            "seconds are given for 'nearer', which is no row: name one of last value, .*, near$",
        ),
        ({"kinds": KINDS | {"naive": "ridge"}}, "kinds='naive': only last value, .* are asked for"),
        (
            {"kinds": KINDS | {"linear": "rigde"}},
            "'rigde' is called the linear baseline and is none: name one of last value, .*, ridge$",
        ),
        ({"series": []}, "give one or more, of one unit and with steps of one length"),
        ({"series": [series(), series(unit="K")]}, "give one or more, of one unit"),
        ({"series": [series(), series(14 * DAY)]}, "of one unit and with steps of one length"),
        ({"series": series(values=VALUES / 1000)}, "first 50 rows: give series and scaler in the"),
        ({"series": series(values=VALUES * 1000)}, "first 50 rows: give series and scaler in the"),
    ],
)
def test_each_fault_of_a_name_is_said_in_one_sentence(changes, words):
    with pytest.raises(ValueError, match=words):
        card(**changes)


@pytest.mark.parametrize(
    ("values", "shown"),
    [
        ([0.0], "0.00"),
        ([-0.00123], "-0.00123"),
        ([0.0999], "0.0999"),
        ([9.99], "9.99"),
        ([43.21], "43.2"),
        ([1234.5], "1,234"),
        ([1.0, 1.5], "1.25 ± 0.35"),
        ([1000.0, 3000.0], "2,000 ± 1,414"),
        ([-1.0, 1.0], "0.00 ± 1.41"),
    ],
)
def test_a_number_is_shown_to_three_digits_and_its_spread_to_as_many_decimals(values, shown):
    assert _spread(values) == shown

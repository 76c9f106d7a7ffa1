"""The honesty card."""

import statistics

import pytest
import torch

from coursekit.evaluate.card import HonestyCard, _spread
from coursekit.evaluate.forecasts import score_forecasts
from coursekit.models.baselines import fit_linear, last_value, seasonal_naive
from coursekit.windows.forecast import ForecastWindows, Scaler

GENERATOR = torch.Generator().manual_seed(0)
VALUES = 50 + 8 * torch.randn(120, 1, generator=GENERATOR, dtype=torch.float64).cumsum(0)
SCALER = Scaler.fit(VALUES[:70])


def cut(values=None, start=70, stop=120, horizon=2, past=6):
    values = SCALER.scale(VALUES) if values is None else values
    calendar = torch.zeros(len(values), 3, dtype=torch.int64)
    return ForecastWindows(
        values=values, calendar=calendar, past=past, horizon=horizon, start=start, stop=stop
    )


def baselines(windows=None):
    windows = windows or cut()
    learnt = cut(start=0, stop=70, horizon=windows.horizon)
    (past, _, _), target = learnt.take(torch.arange(len(learnt)))
    return {
        "last value": score_forecasts(last_value, windows),
        "3 steps ago": score_forecasts(seasonal_naive(3), windows),
        "ridge": score_forecasts(fit_linear(past[..., 0], target, 1.0), windows),
    }


KINDS = {"last value": "last value", "seasonal naive": "3 steps ago", "linear": "ridge"}


def shifted(by, windows=None):
    return score_forecasts(lambda *given: last_value(*given) + by, windows or cut())


def card(**changes):
    given = {
        "title": "Steps of chance, 2 ahead",
        "baselines": baselines(),
        "kinds": KINDS,
        "models": {"late": [shifted(1.0), shifted(2.0)], "near": shifted(0.01)},
        "scaler": SCALER,
        "unit": "°C",
    }
    return HonestyCard(**(given | changes))


def test_rows_stand_in_order_baselines_first():
    names = [row[0] for row in card().table()]
    assert names == ["", *baselines(), "late", "near"]


def test_a_row_has_both_scales():
    _, scaled_mse, scaled_mae, mse, mae, look_back, parameters = card().table()[1]
    score, std = baselines()["last value"], SCALER.std[0].item()
    assert float(scaled_mse) == pytest.approx(score.mse, rel=0.005)
    assert float(scaled_mae) == pytest.approx(score.mae, rel=0.005)
    assert float(mse) == pytest.approx(score.mse * std**2, rel=0.005)
    assert float(mae) == pytest.approx(score.mae * std, rel=0.005)
    assert (look_back, parameters) == ("6", "0")


def test_several_seeds_are_shown_by_mean_and_standard_deviation():
    errors = [shifted(by).mse for by in (1.0, 2.0)]
    centre, spread = map(float, card().table()[4][1].split(" ± "))
    assert centre == pytest.approx(statistics.mean(errors), rel=0.005)
    assert spread == pytest.approx(statistics.stdev(errors), abs=0.005)
    assert "±" not in card().table()[5][1]


@pytest.mark.parametrize("model", [-1.0, 0.0])
def test_the_lowest_error_is_marked_also_where_it_is_a_baselines(model):
    truth = cut().take(torch.arange(len(cut())))[1]
    perfect = score_forecasts(lambda *given: truth + model, cut(), 1024)
    best = "oracle" if model == 0 else "last value"
    shown = card(models={"oracle": perfect})
    assert shown.best == best
    marked = [line for line in str(shown).splitlines() if line.endswith("← best")]
    assert len(marked) == 1
    assert marked[0].startswith(best)
    bold = [line for line in shown._repr_markdown_().splitlines() if line.startswith("| **")]
    assert len(bold) == 1
    assert bold[0].startswith(f"| **{best}**")


def test_one_lucky_seed_does_not_make_the_best_row():
    truth = cut().take(torch.arange(len(cut())))[1]
    perfect = score_forecasts(lambda *given: truth, cut(), 1024)
    assert card(models={"lucky": [perfect, shifted(9.0)]}).best in baselines()
    assert card(models={"lucky": [perfect, perfect]}).best == "lucky"


def test_what_must_be_said_is_said():
    text = str(card(published={"the paper": 0.098}))
    assert "windows scored: 49, each once, 2 steps ahead" in text
    assert "scaler: saw the first 70 rows, no later ones" in text
    assert f"units: a scaled 1 is {SCALER.std[0].item():.1f} °C" in text
    assert "seeds: late 2, near 1 (± is the standard deviation over them)" in text
    assert "published, not measured here (MSE, scaled): the paper 0.098" in text
    for line in card().lines():
        assert f"- {line}" in card()._repr_markdown_()


def test_seconds_are_shown_where_they_are_given_and_left_out_otherwise():
    assert "seconds" not in card().table()[0]
    table = card(seconds={"late": 12.4}).table()
    assert [row[-1] for row in table] == ["seconds", "", "", "", "12", ""]


def test_columns_of_the_text_are_aligned():
    lines = str(card()).splitlines()[1:7]
    assert len({line.index(word) + len(word) for line, word in zip(lines, HEADS, strict=True)}) == 1


HEADS = ["look-back", "     6", "     6", "     6", "     6", "     6"]


@pytest.mark.parametrize("missing", KINDS)
def test_a_baseline_that_is_missing_is_named(missing):
    given = {name: score for name, score in baselines().items() if name != KINDS[missing]}
    kinds = {kind: name for kind, name in KINDS.items() if kind != missing}
    with pytest.raises(ValueError, match=rf"baselines missing: {missing}\. Score them on the same"):
        card(baselines=given, kinds=kinds)


def test_no_kind_is_read_from_the_name_of_a_row():
    given = dict(zip(KINDS, baselines().values(), strict=True))
    with pytest.raises(ValueError, match=r"missing: last .* say which rows they are: kinds={"):
        card(baselines=given, kinds={})
    assert card(baselines=given, kinds=dict.fromkeys(KINDS, "linear")).table()[3][0] == "linear"


def test_a_card_without_baselines_is_refused_whatever_the_reason():
    with pytest.raises(ValueError, match=r"baselines missing: last value, seasonal naive, linear"):
        card(baselines={})
    reasons = dict.fromkeys(("last value", "seasonal naive", "linear"), "we would rather not")
    with pytest.raises(ValueError, match="baselines missing"):
        card(baselines={}, without=reasons)


def test_a_reason_stands_on_the_card_in_place_of_the_baseline():
    given = {name: score for name, score in baselines().items() if name != "3 steps ago"}
    kinds = {kind: name for kind, name in KINDS.items() if name in given}
    shown = card(baselines=given, kinds=kinds, without={"seasonal naive": "there is no season"})
    assert "no seasonal naive: there is no season" in str(shown)


def test_rows_of_different_windows_are_refused():
    shorter = cut(stop=119)
    with pytest.raises(ValueError, match=r"'near' was scored on 48 windows of 2 steps, 'last val"):
        card(models={"near": shifted(0.1, shorter)})
    with pytest.raises(ValueError, match=r"on 48 windows of 3 steps.*score all on the same"):
        card(models={"near": shifted(0.1, cut(horizon=3))})
    with pytest.raises(ValueError, match=r"'far' was scored on other targets than 'last value'"):
        card(models={"near": shifted(0.1), "far": shifted(0.1, cut(start=69, stop=119))})


def test_a_row_in_another_scale_is_refused():
    with pytest.raises(ValueError, match="or in another scale: cut the windows with the same"):
        card(models={"near": shifted(0.1, cut(VALUES))})


def test_a_longer_look_back_on_the_same_targets_is_fine():
    assert card(models={"near": shifted(0.1, cut(past=30))}).table()[-1][5] == "30"


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"models": {"near": []}}, "'near' has no scores: add one for each seed, or drop the row"),
        ({"models": {"ridge": shifted(1.0)}}, "'ridge' is a baseline and a model: give one an"),
        (
            {"seconds": {"nearer": 3.0}},
            "seconds are given for 'nearer', which is no row: name one of last value, .*, near$",
        ),
        ({"without": {"naive": "why"}}, "without='naive': only last value, .* need a reason"),
        ({"without": {"linear": "why"}}, "'linear' is the row 'ridge' and left out: say one"),
        ({"kinds": KINDS | {"naive": "ridge"}}, "kinds='naive': only last value, .* are asked for"),
        (
            {"kinds": KINDS | {"linear": "rigde"}},
            "'rigde' is called the linear baseline and is none: name one of last value, .*, ridge$",
        ),
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

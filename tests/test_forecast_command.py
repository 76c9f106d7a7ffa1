"""`python -m coursekit forecast` on tables of ours: what it chooses, writes and refuses."""

import math
import re

import pytest
import torch

from coursekit.__main__ import main
from coursekit.commands import fit_models
from coursekit.commands.fit_models import (
    FEWEST_WINDOWS,
    MOST_WINDOWS,
    NETWORK,
    PENALTIES,
    ForecastOptions,
    choose_past,
    fit_best_ridge,
    fit_informer,
    validation_mse,
)
from coursekit.commands.forecast_table import score_all, tell_of_clocks, write_card
from coursekit.commands.read_table import TableOptions, read_coming, read_series
from coursekit.evaluate.forecasts import score_forecasts
from coursekit.forecasting.ahead import forecast_ahead
from coursekit.forecasting.fitted import FittedForecaster
from coursekit.models.baselines import fit_linear, last_value, seasonal_naive
from coursekit.windows.forecast import split_windows
from coursekit.windows.series import from_frame

pd = pytest.importorskip("pandas")
np = pytest.importorskip("numpy")


@pytest.fixture(autouse=True)
def _plain(monkeypatch):
    monkeypatch.setenv("COURSEKIT_PLAIN", "1")


def daily(n=330, seed=0):
    """Sales with a weekly season, that fall by 40 on holidays."""
    chance = np.random.default_rng(seed)
    days = pd.date_range("2023-01-01", periods=n, freq="D")
    holiday = (chance.random(n) < 0.06).astype(int)
    sales = 100 + 20 * np.sin(2 * np.pi * np.arange(n) / 7) - 40 * holiday
    sales = (sales + chance.normal(0, 2, n)).round(2)
    return pd.DataFrame({"day": days, "sales": sales, "holiday": holiday, "shop": "north"})


def run(tmp_path, frame, *words, options=("--horizon", "5", "--steps", "2")):
    path = tmp_path / "table.csv"
    frame.to_csv(path, index=False, sep=words[-1] if "--separator" in words else ",")
    named = ["--time", str(frame.columns[0]), "--target", str(frame.columns[1])]
    return main(["forecast", str(path), *named, *options, "--out", str(tmp_path / "out"), *words])


def test_it_prints_a_card_and_writes_the_rows_to_come_and_a_picture(tmp_path, capsys):
    frame = daily()
    coming = frame[325:].assign(sales=float("nan"))
    coming.to_csv(tmp_path / "next.csv", index=False)
    words = ["--known", "holiday", "--future", str(tmp_path / "next.csv"), "--unit", "pieces"]
    assert run(tmp_path, frame[:325], *words) == 0
    printed = capsys.readouterr().out
    assert "columns that are not read: shop" in printed
    for row in ("last value", "seasonal naive, 7 rows", "linear, 49 rows", "Informer, relative"):
        assert f"\n{row} " in printed
    assert "prefers 'linear, 49 rows', so that makes the forecast; it was fitted to the" in printed
    assert "bands of 80%, measured on 61 validation windows" in printed
    written = pd.read_csv(tmp_path / "out" / "forecast.csv")
    assert [*written.columns] == ["day", "sales", "sales_low", "sales_high"]
    assert written["day"].tolist() == [f"2023-11-{day}" for day in range(22, 27)]
    truth = frame["sales"][325:].to_numpy()
    assert abs(written["sales"] - truth).max() < 8
    low, high = written["sales_low"], written["sales_high"]
    assert ((low < written["sales"]) & (written["sales"] < high)).all()
    assert (tmp_path / "out" / "forecast.png").read_bytes()[:4] == b"\x89PNG"
    for name in ("card.txt", "forecast.csv", "forecast.png"):
        assert str(tmp_path / "out" / name) in printed.splitlines()[-1]
    assert "last value" in (tmp_path / "out" / "card.txt").read_text("utf-8")


def test_the_validation_chooses_the_row(tmp_path, capsys):
    # In training the values are a wave of seven rows; then they stay where they are for long.
    steps = np.arange(330)
    wave = np.sin(2 * np.pi * steps / 7)
    frame = daily().assign(sales=np.where(steps < 198, wave, steps // 11))[["day", "sales"]]
    assert run(tmp_path, frame, "--past", "7") == 0
    printed = capsys.readouterr().out
    assert "the validation prefers 'last value', so that makes the forecast\n" in printed


def test_the_card_is_of_the_test_windows():
    splits = cut(known=())
    ridge = fit_best_ridge([splits])
    models = {"last value": last_value, "seasonal naive, 7 rows": seasonal_naive(7)}
    models |= {"linear, 14 rows": ridge, NETWORK: ridge}
    card = write_card(splits, models, score_all(models, splits.valid), "nothing")
    expected = score_forecasts(last_value, splits.test)
    assert card.rows["last value"][0].mse == expected.mse
    assert f"windows scored: {len(splits.test)}" in str(card)
    named = {"last value": "last value", "seasonal naive": "seasonal naive, 7 rows"}
    assert card.kinds == named | {"linear": "linear, 14 rows"}
    assert card.chosen == "linear, 14 rows"


def test_the_card_tells_what_was_seen_as_the_caller_says(tmp_path, capsys):
    assert run(tmp_path, daily()[["day", "sales"]]) == 0
    assert "seen on the test windows before: not said (--seen 'no" in capsys.readouterr().out
    assert run(tmp_path, daily()[["day", "sales"]], "--seen", "a plot") == 0
    assert "seen on the test windows before: a plot\n" in capsys.readouterr().out


def test_what_was_seen_is_asked_for_before_anything_is_trained(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("coursekit.commands.forecast_table.fit_all", None)
    assert run(tmp_path, daily()[["day", "sales"]], "--seen", " ") == 2
    assert "say what was looked at on the test windows before" in capsys.readouterr().err


def test_rows_to_come_are_refused_before_anything_is_trained(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("coursekit.commands.forecast_table.fit_all", None)
    daily()[3:].to_csv(tmp_path / "next.csv", index=False)
    words = ["--known", "holiday", "--future", str(tmp_path / "next.csv")]
    assert run(tmp_path, daily(), *words) == 2
    assert (
        "next.csv: table: future row 0 is of 2023-01-04 00:00:00 instead" in capsys.readouterr().err
    )


def test_the_same_command_gives_the_same_forecast(tmp_path):
    found = []
    for _ in range(2):
        torch.manual_seed(len(found))
        assert run(tmp_path, daily().drop(columns=["holiday", "shop"])) == 0
        found.append((tmp_path / "out" / "card.txt").read_text("utf-8"))
    assert found[0] == found[1]


def test_months_and_too_few_windows_for_bands(tmp_path, capsys):
    months = pd.date_range("2012-01-31", periods=110, freq="ME")
    wave = 50 + 10 * np.sin(np.arange(110) * np.pi / 6)
    frame = pd.DataFrame({"month": months, "n": wave})
    options = ["--horizon", "9", "--steps", "2", "--level", "0.99", "--uneven"]
    assert run(tmp_path, frame, options=options) == 0
    printed = capsys.readouterr().out
    assert (
        "no bands: 14 windows are too few for bands of 99%: give more rows or a shorter" in printed
    )
    assert "or ask for --level 0.9" in printed
    written = pd.read_csv(tmp_path / "out" / "forecast.csv")
    assert [*written.columns] == ["month", "n"]
    assert written["month"].tolist()[:2] == ["2021-03-31", "2021-04-30"]


def test_local_hours_go_on_by_the_clocks_of_their_zone(tmp_path):
    hours = pd.date_range("2024-10-14", periods=300, freq="h", tz="Europe/Berlin")
    load = np.sin(np.arange(300) / 4)
    written = []
    for times in (hours.tz_localize(None), hours, hours.tz_convert("UTC")):
        frame = pd.DataFrame({"hour": times, "load": load})
        assert run(tmp_path, frame, "--zone", "Europe/Berlin") == 0
        written.append(pd.read_csv(tmp_path / "out" / "forecast.csv"))
    assert written[0]["hour"][0] == "2024-10-26 12:00:00+02:00"
    assert written[0].equals(written[1])
    assert written[0].equals(written[2])


def test_several_shops_share_a_model_and_are_forecast_each_in_its_own_scale(tmp_path, capsys):
    north, south = daily(330), daily(310, seed=1)
    south = south.assign(shop="south", sales=1000 + 10 * south["sales"])
    both = pd.concat([north[:325], south[:305]]).sort_values(["day", "shop"])
    coming = pd.concat([south[305:], north[325:]]).drop(columns="sales")
    coming.to_csv(tmp_path / "next.csv", index=False)
    words = ["--known", "holiday", "--id", "shop", "--future", str(tmp_path / "next.csv")]
    assert run(tmp_path, both, *words) == 0
    printed = capsys.readouterr().out
    assert printed.count("MSE, scaled") == 2
    assert "north: sales, 5 rows ahead" in printed
    assert "south: sales, 5 rows ahead" in printed
    assert printed.count("the validation of all series together prefers") == 1
    assert printed.count("chosen by validation") == 2
    written = pd.read_csv(tmp_path / "out" / "forecast.csv")
    assert [*written.columns] == ["day", "sales", "sales_low", "sales_high", "shop"]
    assert written["shop"].tolist() == ["north"] * 5 + ["south"] * 5
    assert written["day"].tolist()[::5] == ["2023-11-22", "2023-11-02"]
    truth = np.concatenate([north["sales"][325:], south["sales"][305:]])
    off = abs(written["sales"] - truth).to_numpy()
    assert off[:5].max() < 8
    assert off[5:].max() < 80


def test_rows_to_come_are_named_as_their_series_also_where_names_are_numbers(tmp_path):
    path = tmp_path / "table.csv"
    pd.concat([daily(9).assign(shop=number) for number in (7, 12)]).to_csv(path, index=False)
    options = TableOptions(time="day", target="sales", known=("holiday",), by="shop")
    coming = read_coming(path, options)
    assert [*coming] == [*read_series(path, options)] == ["7", "12"]
    assert coming["12"]["holiday"].tolist() == daily(9)["holiday"].tolist()


def test_of_much_too_long_series_the_last_rows_are_read(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("coursekit.commands.forecast_table.MOST_ROWS", 400)
    both = pd.concat([daily(330), daily(150, seed=1).assign(shop="south")])
    assert run(tmp_path, both, "--id", "shop") == 0
    printed = capsys.readouterr().out
    assert "the last 200 of 330 rows are read" in printed
    assert printed.count("scaler: saw the first 120 rows") == 1
    assert printed.count("scaler: saw the first 90 rows") == 1


def offsets(start="2024-03-25", n=300):
    """Hours of a rhythm of a day by the clocks of Berlin."""
    hours = pd.date_range(start, periods=n, freq="h", tz="Europe/Berlin")
    return pd.DataFrame({"hour": hours, "load": np.sin(2 * np.pi * hours.hour / 24)})


def local(start="2024-03-25", n=300):
    return offsets(start, n).assign(hour=lambda frame: frame["hour"].dt.tz_localize(None))


def gone(n=300):
    return local(n=n).assign(load=range(n))


def last_in_utc(frame):
    hours = frame["hour"].astype("str").tolist()
    return [*hours[:-1], hours[-1] + "Z"]


def commas(frame):
    return frame["sales"].astype("str").str.replace(".", ",")


def test_the_two_hours_of_one_name_are_told_apart_in_each_shop(tmp_path):
    both = pd.concat([local("2024-10-17").assign(shop=name) for name in ("north", "south")])
    both = both.sort_values("hour", kind="stable")
    assert run(tmp_path, both, "--zone", "Europe/Berlin", "--id", "shop") == 0
    written = pd.read_csv(tmp_path / "out" / "forecast.csv")
    assert written["hour"].tolist()[::5] == ["2024-10-29 11:00:00+01:00"] * 2


@pytest.mark.parametrize(
    ("start", "says"),
    [
        ("2024-10-14 13:00", "before 2024-10-27 02:00:00+01:00: .* 1:00:00 too early from"),
        ("2024-03-18 13:00", "before 2024-03-31 03:00:00+02:00: .* 1:00:00 too late from"),
        ("2024-10-13 13:00", None),
        ("2024-10-16 13:00", None),
    ],
)
def test_clocks_that_are_changed_within_the_forecast_are_told_of(start, says):
    frame = offsets(start)
    series = from_frame(frame, time="hour", target="load")
    splits = split_windows(series, 24, 20, (0.6, 0.8, 1.0))
    naive = seasonal_naive(24)
    ahead = forecast_ahead(FittedForecaster.of(naive, splits, None), series)
    truth = torch.tensor([math.sin(2 * math.pi * at.hour / 24) for at in ahead.times])
    told = tell_of_clocks(series, ahead)
    if says is None:
        assert told == []
        return
    (note,) = told
    assert re.search(re.escape(says).replace(r"\.\*", ".*"), note), note
    off = 1 if "early" in note else -1
    at = next(k for k, time in enumerate(ahead.times) if str(time) in note)
    assert (ahead.values - truth)[:at].abs().max() < 1e-6
    shifted = [math.sin(2 * math.pi * (time.hour + off) / 24) for time in ahead.times[at:]]
    assert (ahead.values[at:] - torch.tensor(shifted)).abs().max() < 1e-6


def test_of_days_no_clocks_are_told():
    days = pd.date_range("2024-04-05", periods=200, tz="Europe/Berlin")
    frame = pd.DataFrame({"day": days, "n": np.sin(np.arange(200))})
    series = from_frame(frame, time="day", target="n")
    splits = split_windows(series, 7, 9, (0.6, 0.8, 1.0))
    ahead = forecast_ahead(FittedForecaster.of(last_value, splits, None), series)
    assert len({at.utcoffset() for at in ahead.times}) == 2
    assert tell_of_clocks(series, ahead) == []


HOURS = pd.date_range("2023-01-01", periods=330, freq="h")
HOLIDAY = pd.Series(range(330)) != 3
REFUSALS = {
    "another target": (daily(), ["--target", "sale"], r"'sale', only \['day', 'sales', 'holiday'"),
    "no file to come": (
        daily(),
        ["--known", "holiday"],
        "--future is needed: table: .*2023-11-27 00:00",
    ),
    "a gap": (daily().drop([40, 41]), [], r"table.csv: 2 row\(s\) are missing .*, or add --uneven"),
    "clocks": (
        gone(),
        [],
        "2024-03-31 03:00:00.* if clocks were changed, add --zone Europe/Berlin",
    ),
    "no series": (daily(), ["--id", "store"], "there is no column 'store', only .*'shop'"),
    "a shop's gap": (
        pd.concat([daily(), daily().drop([40]).assign(shop="south")]),
        ["--id", "shop"],
        r"shop 'south', rows counted in it alone: 1 row\(s\) are missing",
    ),
    "other steps": (
        pd.concat([daily(), daily().assign(day=HOURS, shop="south")]),
        ["--id", "shop"],
        "series of different steps, with the seasons {'north': 7, 'south': 24}: forecast them",
    ),
    "too many shops": (
        pd.concat([daily(40).assign(shop=k) for k in range(51)]),
        ["--id", "shop"],
        "51 series are more than 50: forecast a part of them",
    ),
    "too short": (daily(50), [], "50 rows are too few for a horizon of 5: give 71 or more$"),
    "a separator": (
        daily(),
        ["--separator", ";"],
        "one column, 'day,sales,holiday,shop': name wha",
    ),
    "no zone": (
        daily(),
        ["--zone", "Mars/Base"],
        "can't be read by the clocks of --zone Mars/Base",
    ),
    "hours of which one has an offset": (
        local("2024-05-17").assign(hour=last_in_utc),
        ["--zone", "Europe/Berlin"],
        "can't be read by the clocks of --zone Europe/Berlin .*mixes time zones",
    ),
    "a level": (daily(), ["--level", "80"], "coursekit: level 80.0 must be between 0 and 1, as"),
    "no steps": (daily(), ["--steps", "0"], "coursekit: steps 0 must be at least 1$"),
    "no past": (daily(), ["--past", "0"], "coursekit: past 0 must be at least 1$"),
    "no horizon": (daily(), ["--horizon", "0"], "coursekit: horizon 0 must be at least 1$"),
    "far ahead": (
        daily(),
        ["--horizon", "90"],
        "330 rows are too few for a horizon of 90: give 449 or more, or ask for .* at most 66$",
    ),
    "two shops, mixed": (
        pd.concat([daily(), daily().assign(shop="south")]).sort_values("day"),
        [],
        "several rows of one time, each with its own 'shop': .*, add --id shop$",
    ),
    "two shops, one after the other": (
        pd.concat([daily(), daily().assign(shop="south")]),
        [],
        "several rows of one time, each with its own 'shop': .*, add --id shop$",
    ),
    "a day twice": (
        pd.concat([daily()[:9].assign(shop="south"), daily()]).sort_values("day"),
        [],
        "two rows are of 2023-01-01 00:00:00: keep the first by",
    ),
    "a word": (
        daily().assign(sales=daily()["sales"].astype("object").where(HOLIDAY, "closed")),
        [],
        r"holds 'closed' in row 3 \(line 5\), among numbers: correct it",
    ),
    "a long past": (daily(), ["--past", "900"], "no window fits: .*choose past at most 193"),
}


@pytest.mark.parametrize(("frame", "words", "says"), REFUSALS.values(), ids=REFUSALS)
def test_what_can_not_be_forecast_is_refused_in_one_line(tmp_path, capsys, frame, words, says):
    path = tmp_path / "table.csv"
    frame.to_csv(path, index=False)
    time, target = frame.columns[:2]
    named = ["--time", time, "--target", target, "--horizon", "5", "--steps", "2"]
    assert main(["forecast", str(path), *named, "--out", str(tmp_path), *words]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert pd.Series([line]).str.contains(says).all(), line


@pytest.mark.parametrize("held", [b"", b"\xff\xfe\x00day", b'a,b\n"1,2\n'])
def test_a_file_that_is_no_table_is_named(tmp_path, capsys, held):
    (tmp_path / "t.csv").write_bytes(held)
    words = ["--time", "a", "--target", "b", "--horizon", "2"]
    assert main(["forecast", str(tmp_path / "t.csv"), *words]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert "t.csv is no table of text in UTF-8 with ',' between its cells" in line
    for missing in (tmp_path / "none.csv", tmp_path):
        assert main(["forecast", str(missing), *words]) == 2
        (line,) = capsys.readouterr().err.splitlines()
        assert (
            line
            == f"coursekit: there is no file {missing}: name the table, and the folder it is in"
        )


BROKEN = {
    "a gap": (daily().drop([40, 41]), []),
    "a gap in a zone": (local().drop([40, 41]), ["--zone", "Europe/Berlin"]),
    "a gap after offsets": (offsets().drop([40, 41]), ["--zone", "Europe/Berlin"]),
    "commas": (daily().assign(sales=commas), ["--separator", ";"]),
    "a day twice": (pd.concat([daily()[:10], daily()[9:]]), []),
    "other dates": (daily().assign(day=lambda frame: frame["day"].dt.strftime("%d.%m.%Y")), []),
}


@pytest.mark.parametrize(("frame", "words"), BROKEN.values(), ids=BROKEN)
def test_the_remedy_that_is_told_mends_the_file(tmp_path, capsys, monkeypatch, frame, words):
    monkeypatch.setattr("coursekit.commands.forecast_table.fit_all", None)
    assert run(tmp_path, frame, *words) == 2
    error = capsys.readouterr().err
    remedy, before, after = re.findall("`([^`]+)`", error)
    held: dict = {}
    for code in (before, remedy, after):
        exec(code, held)
    assert len(held["frame"]) == (300 if "hour" in frame else 330)
    (tmp_path / "table-mended.csv").rename(tmp_path / "table.csv")
    mended = pd.read_csv(tmp_path / "table.csv", sep=words[-1] if "--separator" in words else ",")
    with pytest.raises(TypeError, match="NoneType"):  # it is read, and would be fitted
        run(tmp_path, mended, *words)


def test_the_remedy_for_one_shop_says_what_it_is_to_be_run_on(tmp_path, capsys):
    both = pd.concat([daily(), daily().drop([40]).assign(shop="south")])
    assert run(tmp_path, both, "--id", "shop") == 2
    assert "(frame is the rows of that shop alone, without the col" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("n", "horizon", "season", "past"),
    [
        *((10_000, 24, 24, 168), (10_000, 300, 24, 600), (10_000, 500, 24, 720)),
        *((10_000, 10, 1440, 1440), (10_000, 5, None, 10), (100, 5, 7, 24)),
    ],
)
def test_the_past_is_seven_seasons_or_two_horizons_if_enough_is_left(n, horizon, season, past):
    assert choose_past(n, horizon, season) == past
    if n < 1000:
        assert round(0.6 * n) - past - horizon + 1 == FEWEST_WINDOWS


@pytest.mark.parametrize(("horizon", "season"), [(5, 7), (12, 12), (30, None), (1, 24)])
def test_the_rows_that_are_asked_for_are_enough(horizon, season):
    with pytest.raises(ValueError, match="rows are too few") as refused:
        choose_past(20, horizon, season)
    needed = int(str(refused.value).split(": give ")[1].split()[0])
    for n in range(needed, needed + 20):
        assert choose_past(n, horizon, season) >= (season or 1)
        parts = [round(end * n) for end in (0.6, 0.8, 1)]
        assert min(parts[1] - parts[0], parts[2] - parts[1]) >= horizon
    with pytest.raises(ValueError, match="too few"):
        choose_past(needed - 1, horizon, season)


@pytest.mark.parametrize(("n", "season"), [(330, 7), (100, 7), (1088, None), (66, 1)])
def test_the_horizon_that_is_proposed_is_the_longest(n, season):
    with pytest.raises(ValueError, match="or ask for a horizon of at most") as refused:
        choose_past(n, n, season)
    longest = int(str(refused.value).split()[-1])
    assert choose_past(n, longest, season) >= (season or 1)
    with pytest.raises(ValueError, match="too few"):
        choose_past(n, longest + 1, season)


def cut(n=330, known=("holiday",)):
    frame = daily(n)[["day", "sales", *known]]
    return split_windows(
        from_frame(frame, time="day", target="sales", known=known), 14, 5, (0.6, 0.8, 1.0)
    )


def test_the_ridge_reads_what_is_known(monkeypatch):
    told, alone = cut(), cut(known=())
    mse = score_forecasts(fit_best_ridge([told]), told.test).mse
    assert mse < 0.15 * score_forecasts(fit_best_ridge([alone]), alone.test).mse
    assert MOST_WINDOWS == 10_000
    monkeypatch.setattr(fit_models, "MOST_WINDOWS", 60)
    read, fit_linear = [], fit_models.fit_linear

    def listen(past, *others, **named):
        read.append(past)
        return fit_linear(past, *others, **named)

    monkeypatch.setattr(fit_models, "fit_linear", listen)
    assert score_forecasts(fit_best_ridge([told]), told.test).mse < 5 * mse
    (every, _, _), _ = told.train.take(torch.arange(len(told.train)))
    assert read[0].equal(every[::3, :, 0])  # of 180 the windows that lie evenly among all
    assert len(read[0]) == 60


def test_the_penalty_is_of_each_window_that_is_read(monkeypatch):
    monkeypatch.setattr(fit_models, "MOST_WINDOWS", 60)
    monkeypatch.setattr(fit_models, "PENALTIES", (0.5,))
    splits = cut(known=())
    inputs, target = splits.train.take(torch.arange(0, len(splits.train), 3))
    expected = fit_linear(inputs[0][..., 0], target, 60 * 0.5)
    assert fit_best_ridge([splits]).weight.equal(expected.weight)


def test_the_penalty_is_chosen_on_the_validation_windows():
    parts = [cut(), cut(300)]
    expected = sum(score_forecasts(last_value, splits.valid).mse for splits in parts) / 2
    assert validation_mse(last_value, parts) == pytest.approx(expected, rel=1e-9)
    # What is to come of noise is best told by a heavy penalty; the training prefers the lightest.
    noise = daily(130).assign(sales=np.random.default_rng(1).normal(0, 1, 130))
    series = from_frame(noise[["day", "sales"]], time="day", target="sales")
    splits = split_windows(series, 40, 5, (0.6, 0.8, 1.0))
    windows, target = splits.train.take(torch.arange(len(splits.train)))
    lightest = fit_linear(windows[0][..., 0], target, len(target) * PENALTIES[0])
    chosen = score_forecasts(fit_best_ridge([splits]), splits.valid).mse
    assert chosen < 0.9 * score_forecasts(lightest, splits.valid).mse


def test_the_weights_are_kept_where_the_validation_was_best(monkeypatch):
    errors, seen = iter([3.0, 1.0, 2.0]), []

    def measure(model, windows):
        seen.append(next(iter(model.parameters())).detach().clone())
        return next(errors)

    monkeypatch.setattr(fit_models, "_thin_mse", measure)
    kept = fit_informer([cut()], ForecastOptions(horizon=5, steps=3))
    assert next(iter(kept.parameters())).equal(seen[1])
    assert not seen[1].equal(seen[2])


def test_the_network_learns_and_draws_nothing_unasked():
    splits = cut()
    options = ForecastOptions(horizon=5, steps=60)
    torch.manual_seed(5)
    one = fit_informer([splits], options)
    torch.manual_seed(6)
    other = fit_informer([splits], options)
    first, second = (score_forecasts(model, splits.test).mse for model in (one, other))
    assert first == second
    assert first < 0.7 * score_forecasts(last_value, splits.test).mse
    assert not one.training

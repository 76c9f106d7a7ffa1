"""A run in one file: nothing is lost, nothing is run, and half a file is never left."""

import math
import pickle
import zipfile
from itertools import repeat

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional as F
from torch.testing import assert_close

from coursekit.training import checkpoint as module
from coursekit.training.checkpoint import (
    Checkpoint,
    copy_weights,
    load_checkpoint,
    matching_weights,
    save_checkpoint,
    unique_weights,
)
from coursekit.training.engine import Engine
from coursekit.training.fit import fit
from coursekit.training.optimiser import adamw, warm_up_cosine
from coursekit.windows.tokens import draw_batches

EMPTY = {"engine": {}, "history": {}, "batch": []}
"""What a run adds to its config, of a run that has not begun."""
WINDOWS = torch.randint(11, (37, 4), generator=torch.Generator().manual_seed(7))


class Net(nn.Sequential):
    """A model with all that a checkpoint must hold: dropout, running means, a tied weight."""

    def __init__(self):
        torch.manual_seed(1)
        super().__init__(
            nn.Embedding(11, 5),
            nn.Flatten(),
            nn.Linear(15, 5),
            nn.BatchNorm1d(5),
            nn.Dropout(0.3),
            nn.Linear(5, 11, bias=False),
        )
        self[5].weight = self[0].weight


def make_adamw(model):
    return adamw(model, 0.01, weight_decay=0.1)


def make_sgd(model):
    return torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)


class StoppedError(Exception):
    """Stands for a power cut."""


def train(path, *, stop=None, resume=False, every=4, seed=5, make=make_adamw, **options):
    """Train for 11 steps, or up to an accident after `stop` steps; return the model and history."""
    model, made = Net(), []
    torch.manual_seed(2)

    def after_step():
        made.append(1)
        if len(made) == stop:
            raise StoppedError

    history = fit(
        model,
        make(model),
        draw_batches(WINDOWS, 6, torch.Generator().manual_seed(seed)),
        steps=11,
        schedule=warm_up_cosine(11),
        clip=1.0,
        measure=lambda: model[2].weight.sum().item(),
        every=3,
        after_step=after_step,
        checkpoint=Checkpoint(path=path, every=every, resume=resume, config={"sizes": (11, 5)}),
        **options,
    )
    return model, history


def assert_same(one, other):
    for (name, a), b in zip(
        one[0].state_dict().items(), other[0].state_dict().values(), strict=True
    ):
        assert torch.equal(a, b), name
    for name in ("losses", "learning_rates", "measured", "skipped"):
        assert getattr(one[1], name) == getattr(other[1], name), name


@pytest.mark.parametrize("make", [make_adamw, make_sgd])
@pytest.mark.parametrize("stop", [5, 9])
def test_a_run_that_was_stopped_goes_on_as_if_it_had_not_been(tmp_path, stop, make):
    whole = train(tmp_path / "whole", make=make)
    with pytest.raises(StoppedError):
        train(tmp_path / "run", stop=stop, make=make)
    torch.manual_seed(99)
    torch.rand(3)  # another process stands elsewhere in its random numbers
    assert_same(train(tmp_path / "run", resume=True, make=make), whole)


def test_the_scale_of_float16_goes_on_too(tmp_path):
    def loss(output, target):  # large enough that some steps overflow
        return 3e4 * F.cross_entropy(output.float(), target)

    def run(name, **options):
        engine = Engine(torch.float16)
        return engine, train(tmp_path / name, engine=engine, loss=loss, **options)

    engine, whole = run("whole")
    with pytest.raises(StoppedError):
        run("run", stop=6)
    other, resumed = run("run", resume=True)
    assert whole[1].skipped
    assert_same(resumed, whole)
    assert other.scaler.state_dict() == engine.scaler.state_dict()


def test_time_is_added_up_over_the_stop(tmp_path):
    with pytest.raises(StoppedError):
        train(tmp_path / "run", stop=5)
    before = load_checkpoint(tmp_path / "run")["history"]["seconds"]
    _, history = train(tmp_path / "run", resume=True)
    assert history.seconds[:4] == before
    assert len(history.seconds) == 11
    assert history.seconds == sorted(history.seconds)


def test_a_finished_run_is_only_read(tmp_path):
    whole = train(tmp_path / "run")
    assert_same(train(tmp_path / "run", resume=True), whole)


def test_other_batches_are_noticed(tmp_path):
    with pytest.raises(StoppedError):
        train(tmp_path / "run", stop=5)
    with pytest.raises(ValueError, match="was another one: draw the batches from the same"):
        train(tmp_path / "run", resume=True, seed=6)


def test_a_run_that_is_refused_leaves_the_model_as_it_was(tmp_path):
    with pytest.raises(StoppedError):
        train(tmp_path / "run", stop=5)
    sizes = {"sizes": (11, 5)}
    model = Net()
    keep = Checkpoint(path=tmp_path / "run", every=4, resume=True, config=sizes)
    before = {name: weight.clone() for name, weight in model.state_dict().items()}
    other = [(WINDOWS[i : i + 8, :3], WINDOWS[i : i + 8, 3]) for i in range(9)]
    with pytest.raises(ValueError, match="was another one"):
        fit(model, make_adamw(model), other, steps=9, checkpoint=keep)
    assert all(weight.equal(before[name]) for name, weight in model.state_dict().items())


def test_batches_may_be_drawn_by_the_global_generator(tmp_path):
    def draw():
        while True:
            rows = torch.randint(37, (8,))
            yield WINDOWS[rows, :3].float(), WINDOWS[rows, 3]

    def run(name, steps):
        torch.manual_seed(3)
        model, keep = nn.Linear(3, 11), Checkpoint(path=tmp_path / name, every=2, resume=True)
        return fit(model, make_sgd(model), draw(), steps=steps, checkpoint=keep).losses

    half = run("run", 4)
    assert run("run", 9) == run("whole", 9)
    assert run("whole", 9)[:4] == half


def test_a_run_with_several_inputs_is_resumed(tmp_path):
    (a, b), y = (torch.randn(6, n) for n in (3, 5)), torch.randn(6, 2)

    def run(name, steps, inputs=(a, b)):
        torch.manual_seed(0)
        model, keep = nn.Bilinear(3, 5, 2), Checkpoint(path=tmp_path / name, every=9, resume=True)
        options = {"steps": steps, "loss": F.mse_loss, "checkpoint": keep}
        return fit(model, make_sgd(model), repeat((inputs, y)), **options).losses

    half = run("run", 2)
    assert run("run", 4) == run("whole", 4)
    assert run("whole", 4)[:2] == half
    for other in ((b[:, :3], b), (a,)):
        with pytest.raises(ValueError, match="was another one"):
            run("run", 6, inputs=other)


def test_another_optimiser_is_refused(tmp_path):
    with pytest.raises(StoppedError):
        train(tmp_path / "run", stop=5)
    with pytest.raises(ValueError, match=r"by AdamW with precision=None, not by SGD .* the same"):
        train(tmp_path / "run", resume=True, make=make_sgd)


def test_another_precision_is_refused(tmp_path):
    with pytest.raises(StoppedError):
        train(tmp_path / "run", stop=5)
    with pytest.raises(ValueError, match=r"precision=None, not by AdamW .*bfloat16: go on with"):
        train(tmp_path / "run", resume=True, engine=Engine(torch.bfloat16))


def test_a_run_is_not_overwritten_unasked(tmp_path):
    train(tmp_path / "run")
    before = (tmp_path / "run").read_bytes()
    with pytest.raises(ValueError, match=r"run holds a run: resume it .*, or choose another place"):
        train(tmp_path / "run")
    assert (tmp_path / "run").read_bytes() == before


def test_a_run_with_another_config_is_refused_by_name(tmp_path):
    train(tmp_path / "run")
    other = Checkpoint(path=tmp_path / "run", every=1, config={"sizes": (11, 6)}, resume=True)
    with pytest.raises(ValueError, match=r"sizes=\(11, 5\), not \(11, 6\): resume it as it was"):
        other.read()


@pytest.mark.parametrize(
    ("began", "goes_on", "message"),
    [
        ({"a": 1}, {"a": 1, "b": 2}, "holds a run with b=None, not 2: resume it as"),
        ({"a": 1, "b": 2}, {"a": 1}, "holds a run with b=2, not None: resume it as"),
    ],
)
def test_a_setting_that_only_one_of_two_runs_has_is_refused(tmp_path, began, goes_on, message):
    Checkpoint(path=tmp_path / "run", every=1, config=began).write(EMPTY)
    with pytest.raises(ValueError, match=message):
        Checkpoint(path=tmp_path / "run", every=1, config=goes_on, resume=True).read()
    same = Checkpoint(path=tmp_path / "run", every=1, config=dict(began), resume=True)
    assert same.read()["config"] == began


class Size(int):
    """A number of a class of our own."""


@pytest.mark.parametrize(
    "value", [print, torch.float16, Size(3), np.float64(0.1), (1, {"a": [Size(3)]}), {Size(3): 1}]
)
def test_a_config_that_could_not_be_read_again_is_refused_at_once(tmp_path, value):
    with pytest.raises(ValueError, match=r"config has odd=.* could not be read again: use plain"):
        Checkpoint(path=tmp_path / "run", every=1, config={"fine": 1, "odd": value})


def test_a_config_comes_back_as_it_was(tmp_path):
    config = {"sizes": (11, [5, None]), "by_layer": {0: 0.5, 1: True}, "text": "ä"}
    Checkpoint(path=tmp_path / "run", every=1, config=config).write(EMPTY)
    again = Checkpoint(path=tmp_path / "run", every=1, config=config, resume=True).read()
    assert again["config"] == config
    assert type(again["config"]["sizes"]) is tuple


def test_numbers_of_numpy_are_kept_as_plain_ones(tmp_path):
    x, y = torch.ones(4, 3), torch.ones(4, 2)

    def run(steps):
        torch.manual_seed(0)
        model, keep = nn.Linear(3, 2), Checkpoint(path=tmp_path / "run", every=1, resume=True)
        return fit(
            model,
            make_sgd(model),
            repeat((x, y)),
            steps=steps,
            measure=lambda: np.float64(1.5),
            schedule=lambda step: np.float64(1 / (step + 1)),
            checkpoint=keep,
        )

    run(1)
    assert run(2).measured == [(1, 1.5), (2, 1.5)]
    assert run(2).learning_rates == [0.1, 0.05]


def test_a_batch_of_a_few_rows_does_not_bring_its_whole_table_into_the_file(tmp_path):
    table, model = torch.randn(50_000, 3), nn.Linear(3, 3)
    keep = Checkpoint(path=tmp_path / "run", every=1)
    fit(model, make_sgd(model), [(table[:4], table[4:8])], steps=1, checkpoint=keep)
    assert (tmp_path / "run").stat().st_size < 50_000


def test_the_weights_in_the_file_are_the_models(tmp_path):
    model, _ = train(tmp_path / "run")
    named = unique_weights(model)
    assert "5.weight" not in named  # tied: it is 0.weight
    stored = torch.load(tmp_path / "run", weights_only=True)["engine"][
        "weights"
    ]  # as PyTorch reads
    assert stored.keys() == named.keys()
    for name, weight in named.items():
        assert torch.equal(stored[name], weight)


@pytest.mark.parametrize("fraction", [0.0, 0.2, 0.7, 0.999])
def test_a_file_cut_short_is_refused(tmp_path, fraction):
    train(tmp_path / "run")
    whole = (tmp_path / "run").read_bytes()
    (tmp_path / "run").write_bytes(whole[: int(fraction * len(whole))])
    with pytest.raises(
        ValueError, match=r"is no whole checkpoint: it was cut short or is something else; remove"
    ):
        load_checkpoint(tmp_path / "run")


def zip_of_text(path):
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("note.txt", "a zip of another kind")


@pytest.mark.parametrize(
    "write",
    [
        zip_of_text,
        lambda path: path.write_text("not binary at all", "utf-8"),
        lambda path: path.write_bytes(bytes(range(256)) * 9),
        lambda path: path.write_bytes(pickle.dumps({"config": 1})),
        lambda path: torch.save(nn.Linear(3, 2).state_dict(), path),
        lambda path: torch.save(torch.ones(2), path),
        lambda path: torch.save(dict.fromkeys(EMPTY), path),  # without a config
    ],
)
def test_a_file_of_another_kind_is_refused(tmp_path, write):
    write(tmp_path / "file")
    with pytest.raises(ValueError, match=r"is no whole checkpoint: .* take a copy$"):
        load_checkpoint(tmp_path / "file")


def test_a_file_that_may_not_be_read_is_not_called_broken(tmp_path, monkeypatch):
    save_checkpoint(tmp_path / "run", EMPTY | {"config": {}})

    def refuse(*_, **__):
        raise PermissionError("not yours")

    monkeypatch.setattr(module.Path, "open", refuse)
    with pytest.raises(PermissionError, match="not yours"):
        load_checkpoint(tmp_path / "run")


def test_a_file_that_is_not_there_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"there is no checkpoint .*none: correct the path"):
        load_checkpoint(tmp_path / "none")


class Bomb:
    """Leaves a file where it is unpickled."""

    def __reduce__(self):
        return open, ("was-run", "w")


def test_reading_runs_nothing_that_the_file_holds(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    state = EMPTY | {"config": Bomb()}
    (tmp_path / "pickled").write_bytes(pickle.dumps(state))
    torch.save(state, tmp_path / "zipped")
    torch.save(state, tmp_path / "older", _use_new_zipfile_serialization=False)
    for name in ("pickled", "zipped", "older"):
        with pytest.raises(ValueError, match="is no whole checkpoint"):
            load_checkpoint(tmp_path / name)
    assert not (tmp_path / "was-run").exists()
    torch.load(tmp_path / "zipped", weights_only=False)["config"].close()
    assert (tmp_path / "was-run").exists()  # it would have been run by a careless reader


def test_what_is_saved_comes_back_bit_for_bit(tmp_path):
    state = {
        "numbers": [1, -2.5, 0.1 + 0.2, True, None, "ä\n", math.inf],
        "deep": {"a": [torch.tensor(3), {"b": torch.randn(2, 0)}], "empty": {}, "list": []},
        "types": [torch.ones(2, dtype=d) for d in (torch.bfloat16, torch.float64, torch.uint8)],
        "turned": torch.randn(3, 2).T,
        "pairs": [(3, 1.5), (6, -0.25)],
        "by_number": {0: "a", 7: torch.arange(2)},
    }
    save_checkpoint(tmp_path / "new" / "state", EMPTY | {"config": {}} | state)
    back = load_checkpoint(tmp_path / "new" / "state")
    assert back["numbers"] == state["numbers"]
    assert back["pairs"] == state["pairs"]
    assert list(back["by_number"]) == [0, 7]
    assert back["deep"]["empty"] == {}
    assert back["deep"]["list"] == []
    assert back["deep"]["a"][0].item() == 3
    assert back["deep"]["a"][1]["b"].shape == (2, 0)
    for one, other in zip(
        [*back["types"], back["turned"]], [*state["types"], state["turned"]], strict=True
    ):
        assert one.dtype == other.dtype
        assert torch.equal(one, other)


def test_a_parameter_may_have_any_name(tmp_path):
    module = nn.Module()
    module.register_parameter("tensor", nn.Parameter(torch.ones(2)))
    state = {"config": {}, "model": module.state_dict(), "tensor": 1}
    save_checkpoint(tmp_path / "state", EMPTY | state)
    back = load_checkpoint(tmp_path / "state")
    assert back["tensor"] == 1
    assert torch.equal(back["model"]["tensor"], torch.ones(2))


def test_an_interrupted_write_leaves_the_old_file(tmp_path, monkeypatch):
    old = EMPTY | {"config": {"step": 1}}
    save_checkpoint(tmp_path / "run", old)

    def cut(state, file):
        file.write(b"half")
        raise StoppedError

    monkeypatch.setattr(module.torch, "save", cut)
    with pytest.raises(StoppedError):
        save_checkpoint(tmp_path / "run", EMPTY | {"config": {"step": 2}})
    assert load_checkpoint(tmp_path / "run") == old


def test_weights_of_other_shapes_are_refused_and_nothing_is_copied():
    saved = {name: w.clone() for name, w in unique_weights(Net()).items()}
    model = Net()
    before = {name: w.clone() for name, w in model.state_dict().items()}
    saved["0.weight"] += 1
    for name, weight, message in [
        ("2.bias", torch.ones(6), r"2.bias has shape \(6,\) in the checkpoint and \(5,\) in the m"),
        ("more", torch.ones(2), r"more has shape \(2,\) in the checkpoint and None"),
    ]:
        with pytest.raises(ValueError, match=message):
            copy_weights(model, saved | {name: weight})
    assert all(torch.equal(w, before[name]) for name, w in model.state_dict().items())


@pytest.mark.parametrize("outputs", [2, 7])
def test_another_head_is_not_taken_over(outputs):
    """PyTorch refuses the head of another shape, and takes all that is left."""
    mine = nn.ModuleDict({"body": nn.Linear(3, 5), "head": nn.Linear(5, outputs)})
    theirs = nn.ModuleDict({"body": nn.Linear(3, 5), "head": nn.Linear(5, 11), "more": Net()})
    before = {name: one.clone() for name, one in mine.state_dict().items()}
    with pytest.raises(RuntimeError, match=r"size mismatch for head\.weight"):
        mine.load_state_dict(theirs.state_dict(), strict=False)
    mine.load_state_dict(before)
    found = matching_weights(mine.state_dict(), theirs.state_dict())
    assert {*found} == {"body.weight", "body.bias"}
    mine.load_state_dict(found, strict=False)
    assert_close(mine["body"].state_dict(), theirs["body"].state_dict(), rtol=0, atol=0)
    assert torch.equal(mine["head"].weight, before["head.weight"])


def test_the_file_appears_on_time(tmp_path):
    for stop, kept in ((5, 4), (8, 4), (9, 8)):
        with pytest.raises(StoppedError):
            train(tmp_path / str(stop), stop=stop)
        assert len(load_checkpoint(tmp_path / str(stop))["history"]["losses"]) == kept
    with pytest.raises(ValueError, match="every=0 must be at least 1 step"):
        Checkpoint(path=tmp_path / "run", every=0)

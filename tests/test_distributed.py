"""Two real processes under torchrun against one; and what happens when one of them dies."""

import os
import re
import signal
import socket
import subprocess
import sys
import time
import weakref
from itertools import repeat
from pathlib import Path
from types import SimpleNamespace

import psutil
import pytest
import torch
from torch import distributed, nn
from torch.nn import functional as F
from torch.nn.parallel import DistributedDataParallel

from coursekit.commands.recipe import Recipe
from coursekit.commands.train_gpt import train_gpt
from coursekit.evaluate.likelihood import NO_TARGET
from coursekit.training import distributed as module
from coursekit.training import engine as compute
from coursekit.training import fit as loop
from coursekit.training.checkpoint import Checkpoint, load_checkpoint
from coursekit.training.distributed import (
    LostProcessError,
    averaging,
    gather,
    joined,
    mean_over_processes,
    n_processes,
    own_rows,
    rank,
    replicate,
)
from coursekit.training.engine import Engine, engine_state, restore_engine

ROOT = Path(__file__).parents[1]
SETTINGS = {"steps": 100, "every": 20, "batch_size": 8, "context": 8}
SETTINGS |= {"n_layer": 1, "n_head": 2, "d_model": 16}
TORCHRUN = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", "2"]


def command(out, **settings):
    """The part of the command line that is the same for one process and for two."""
    words = ["-m", "coursekit", "train", "gpt", "--out", str(out)]
    for name, value in settings.items():
        words += [f"--{name.replace('_', '-')}"] + ([] if value is True else [str(value)])
    return words


def environment(**more):
    plain = {"OMP_NUM_THREADS": "1", "COURSEKIT_PLAIN": "1", "PYTHONPATH": str(ROOT)}
    return os.environ | plain | more


def begin(words, **more):
    return subprocess.Popen(
        words,
        cwd=ROOT,
        env=environment(**more),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def finish(process, seconds=180):
    """Return what it printed; if it hangs, end it and all that it started."""
    try:
        return process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        raise


def run_pair(words):
    """Do what torchrun does, without the seconds that it takes to start itself."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    about = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port, "TORCHELASTIC_RUN_ID": "test"}
    pair = [
        begin([sys.executable, *words], RANK=n, LOCAL_RANK=n, WORLD_SIZE="2", **about)
        for n in ("0", "1")
    ]
    printed = [finish(process) for process in pair]
    assert [process.returncode for process in pair] == [0, 0], printed
    return printed


def losses(out):
    return load_checkpoint(out / "checkpoint.pt")["history"]["losses"]


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A job of two processes that nothing disturbs."""
    out = tmp_path_factory.mktemp("whole")
    job = begin([*TORCHRUN, *command(out, **SETTINGS)])
    printed, errors = finish(job)
    assert job.returncode == 0, errors
    return SimpleNamespace(out=out, printed=printed)


def test_two_processes_give_the_losses_of_one(whole, tmp_path, monkeypatch):
    monkeypatch.setenv("COURSEKIT_PLAIN", "1")
    settings = {name: value for name, value in SETTINGS.items() if name != "every"}
    one = train_gpt(Recipe(**settings), tmp_path, every=SETTINGS["every"])
    assert len(one.losses) == SETTINGS["steps"]
    torch.testing.assert_close(losses(whole.out), losses(tmp_path), atol=1e-4, rtol=0)
    assert one.losses[-1] < one.losses[0] - 0.3  # it has learnt something in between


def test_only_the_first_of_two_processes_speaks(whole):
    assert whole.printed.count("2 process(es) on cpu") == 1
    assert whole.printed.count("validation loss") == 5
    assert [path.name for path in whole.out.iterdir()] == ["checkpoint.pt"]


def add_gradients(file, micro_batches):
    """Compute loss and gradients of a batch with very uneven targets; the first process saves."""
    with joined(torch.device("cpu")):
        torch.manual_seed(3)
        model, x, y = nn.Linear(3, 5).double(), torch.randn(8, 3).double(), torch.arange(8) % 5
        y[1:5] = y[6] = NO_TARGET  # in halves 1 and 2 are left, in quarters 1, 0, 1 and 1
        engine = Engine(micro_batches=micro_batches).start(
            model, torch.optim.SGD(model.parameters(), lr=0.1)
        )
        found = engine.backward(F.cross_entropy, x, y)
        if rank() == 0:
            torch.save([found, *(p.grad for p in model.parameters())], file)


@pytest.mark.parametrize("micro_batches", [1, 2])
def test_each_target_weighs_the_same_in_whichever_process_it_is(tmp_path, micro_batches):
    code = "from tests.test_distributed import add_gradients as add; add({!r}, {})"
    run_pair(["-c", code.format(str(tmp_path / "two"), micro_batches)])
    add_gradients(tmp_path / "one", 1)
    two, one = torch.load(tmp_path / "two"), torch.load(tmp_path / "one")
    torch.testing.assert_close(two, one, rtol=0, atol=1e-12)


def leave_the_group():
    """Fail if the group outlives the context: its threads may abort a process that ends."""
    with joined(torch.device("cpu")):
        group = weakref.ref(distributed.group.WORLD)
        replica = replicate(nn.Linear(3, 5))
        assert mean_over_processes(torch.tensor(float(rank()))) == 0.5
        assert replica.process_group is not group()
    assert group() is None


def test_nothing_is_left_of_the_group_when_the_context_ends():
    run_pair(["-c", "from tests.test_distributed import leave_the_group as leave; leave()"])


@pytest.fixture(scope="module")
def killed(tmp_path_factory):
    """A job of two processes, one of which was killed after the first checkpoint."""
    out = tmp_path_factory.mktemp("killed")
    job = begin([*TORCHRUN, *command(out, **SETTINGS)])
    while not (out / "checkpoint.pt").exists():
        assert job.poll() is None, job.communicate()
        time.sleep(0.02)
    workers = psutil.Process(job.pid).children()
    next(one for one in workers if one.environ()["RANK"] == "1").kill()
    start = time.monotonic()
    _, errors = finish(job)
    return SimpleNamespace(
        out=out,
        seconds=time.monotonic() - start,
        code=job.returncode,
        sentences=[line for line in errors.splitlines() if line.startswith("coursekit: ")],
        left=[one for one in workers if one.is_running()],
    )


def test_a_killed_process_ends_the_job_with_one_clear_sentence(killed):
    assert killed.code != 0
    assert killed.seconds < 60
    assert killed.left == []
    assert len(killed.sentences) == 1
    assert re.match(
        r"coursekit: process 0 of 2 (lost another one|was told to stop).*: "
        r"to go on, run the same command with --resume$",
        killed.sentences[0],
    )


def test_after_a_death_the_run_ends_as_one_that_was_never_stopped(killed, whole):
    done = len(losses(killed.out))
    assert 20 <= done < 100
    run_pair(command(killed.out, **SETTINGS, resume=True))
    assert len(losses(whole.out)) == 100
    assert losses(killed.out) == losses(whole.out)


class Pair:
    """Stands for PyTorch's engine in process 1 of 2; the other process has the same values."""

    is_initialized = staticmethod(lambda: True)
    get_rank = staticmethod(lambda: 1)
    get_world_size = staticmethod(lambda: 2)

    @staticmethod
    def all_reduce(value):
        value.mul_(2)


@pytest.fixture
def second(monkeypatch):
    monkeypatch.setattr(module, "distributed", Pair)


def test_a_process_alone_is_the_first_of_one():
    model, x = nn.Linear(3, 2), torch.arange(10).view(5, 2)
    assert (rank(), n_processes()) == (0, 1)
    assert replicate(model) is model
    assert own_rows((x, x[:, 0]), 1)[0][0] is x
    assert mean_over_processes(torch.tensor(3.0)) == 3
    assert torch.equal(gather(x), x[None])
    with averaging(model, now=False), joined(torch.device("meta")):
        assert not distributed.is_initialized()


def test_each_row_goes_to_one_process_and_one_part(monkeypatch):
    x, taken = torch.arange(12), []
    for n in range(2):
        monkeypatch.setattr(Pair, "get_rank", staticmethod(lambda n=n: n))
        monkeypatch.setattr(module, "distributed", Pair)
        pieces = own_rows((x, -x), 3)
        assert [len(inputs) for inputs, _ in pieces] == [2, 2, 2]
        assert all(torch.equal(inputs, -targets) for inputs, targets in pieces)
        taken += [row for inputs, _ in pieces for row in inputs.tolist()]
    assert sorted(taken) == list(range(12))


@pytest.mark.parametrize(("rows", "micro_batches"), [(7, 1), (6, 2), (4, 0)])
def test_rows_that_cannot_be_shared_evenly_are_refused(second, rows, micro_batches):
    x = torch.arange(rows)
    message = (
        rf"{rows} rows can't be split .* 2 process.*{micro_batches} micro-batch.*choose a batch"
    )
    with pytest.raises(ValueError, match=message):
        own_rows((x, x), micro_batches)


def test_gradients_of_micro_batches_are_sent_once(alone_under_torchrun):
    with joined(torch.device("cpu")):
        replica, sent = DistributedDataParallel(nn.Linear(3, 2)), []

        def count(_, bucket):
            sent.append(1)
            done = torch.futures.Future()
            done.set_result(bucket.buffer())
            return done

        replica.register_comm_hook(None, count)
        for i in range(3):
            with averaging(replica, now=i == 2):
                replica(torch.ones(4, 3)).sum().backward()
        assert len(sent) == 1
        assert torch.equal(replica.module.weight.grad, torch.full((2, 3), 12.0))


def test_losses_are_averaged_over_the_processes(second):
    assert mean_over_processes(torch.tensor(3.0)) == 3


def test_each_process_goes_on_with_its_own_random_numbers(monkeypatch):
    model = nn.Linear(3, 2)
    engine = Engine().start(model, torch.optim.SGD(model.parameters(), lr=0.1))
    rows = [torch.Generator().manual_seed(n).get_state() for n in range(2)]
    state = engine_state(engine) | {"random": {"cpu": torch.stack(rows)}}
    drawn = []
    for n in range(3):
        monkeypatch.setattr(compute, "rank", lambda n=n: n)
        torch.manual_seed(7)
        restore_engine(engine, state)
        drawn.append(torch.rand(1).item())
    third = torch.Generator().manual_seed(7)  # one process more than before: it keeps its own
    expected = [torch.Generator().manual_seed(0), torch.Generator().manual_seed(1), third]
    assert drawn == [torch.rand(1, generator=g).item() for g in expected]


def test_only_the_first_process_writes(monkeypatch, tmp_path):
    monkeypatch.setattr(loop, "rank", lambda: 1)
    x, model = torch.ones(4, 3), nn.Linear(3, 2)
    optimiser = torch.optim.SGD(model.parameters(), lr=0.1)
    checkpoint = Checkpoint(path=tmp_path / "run", every=1)
    loop.fit(model, optimiser, repeat((x, x[:, :2])), steps=2, checkpoint=checkpoint)
    assert list(tmp_path.iterdir()) == []


def test_a_device_without_an_engine_for_several_processes_is_refused(monkeypatch):
    monkeypatch.setenv("TORCHELASTIC_RUN_ID", "test")
    with (
        pytest.raises(ValueError, match="can't share 'meta': use 'cpu' or 'cuda'"),
        joined(torch.device("meta")),
    ):
        pass


@pytest.fixture
def alone_under_torchrun(monkeypatch):
    """The environment of a job of one process."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    about = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port, "TORCHELASTIC_RUN_ID": "test"}
    for name, value in (about | {"RANK": "0", "WORLD_SIZE": "1"}).items():
        monkeypatch.setenv(name, value)


@pytest.mark.parametrize(
    ("problem", "turned"),
    [
        (RuntimeError("[/gloo/transport/tcp/pair.cc:537] Read error: Connection reset"), True),
        (distributed.DistBackendError("the store is gone"), True),
        (RuntimeError("shapes (2, 3) and (4, 5) don't fit"), False),
        (ValueError("steps=0 must be at least 1"), False),
    ],
)
def test_only_a_broken_connection_counts_as_a_lost_process(alone_under_torchrun, problem, turned):
    before = signal.getsignal(signal.SIGTERM)
    try:
        with (
            pytest.raises((LostProcessError, type(problem))) as caught,
            joined(torch.device("cpu")),
        ):
            raise problem
        assert isinstance(caught.value, LostProcessError) == turned
        assert distributed.is_initialized() == turned  # a broken connection is left alone
        # Once one is lost, torchrun's signal must not cut the message short.
        assert signal.getsignal(signal.SIGTERM) == (signal.SIG_IGN if turned else before)
    finally:
        signal.signal(signal.SIGTERM, before)
        if distributed.is_initialized():
            distributed.destroy_process_group()


def test_the_signal_of_torchrun_is_a_lost_process(alone_under_torchrun):
    before = signal.getsignal(signal.SIGTERM)
    try:
        with (
            pytest.raises(LostProcessError, match="process 0 of 1 was told to stop"),
            joined(torch.device("cpu")),
        ):
            signal.raise_signal(signal.SIGTERM)
    finally:
        signal.signal(signal.SIGTERM, before)
        distributed.destroy_process_group()

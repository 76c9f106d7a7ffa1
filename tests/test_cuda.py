"""Training on a CUDA GPU; skipped where there is none (`make test-gpu` says so)."""

import sys
from itertools import repeat

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from coursekit.commands import train_gpt as job
from coursekit.commands.recipe import Recipe
from coursekit.commands.train_gpt import load_gpt, train_gpt
from coursekit.data import NEWS
from coursekit.device import pick_device
from coursekit.evaluate.likelihood import text_nll
from coursekit.training.checkpoint import Checkpoint, load_checkpoint
from coursekit.training.engine import Engine
from coursekit.training.fit import fit
from coursekit.training.optimiser import adamw
from coursekit.windows.tokens import draw_batches
from tests.test_distributed import SETTINGS, begin, command, finish, losses

GPUS = torch.cuda.device_count()
DEVICE = "cuda"
pytestmark = pytest.mark.skipif(GPUS == 0, reason="no CUDA GPU here")
PAIR = pytest.mark.skipif(GPUS < 2, reason="fewer than two CUDA GPUs here")
WINDOWS = torch.randint(11, (37, 4), generator=torch.Generator().manual_seed(7))


def make(device, dropout=0.0):
    torch.manual_seed(1)
    parts = [nn.Embedding(11, 5), nn.Flatten(), nn.Dropout(dropout), nn.Linear(15, 11)]
    return nn.Sequential(*parts).to(device)


def train(device, *, dropout=0.0, **options):
    """Train on batches that lie on the CPU."""
    model = make(device, dropout)
    torch.manual_seed(2)
    batches = draw_batches(WINDOWS, 6, torch.Generator().manual_seed(5))
    return model, fit(model, adamw(model, 0.01), batches, **{"steps": 12, "clip": 1.0} | options)


@pytest.mark.parametrize(
    ("precision", "tolerance"), [(None, 1e-4), (torch.bfloat16, 0.03), (torch.float16, 0.01)]
)
def test_the_gpu_learns_what_the_cpu_learns(precision, tolerance):
    model, there = train(DEVICE, engine=Engine(precision))
    _, here = train("cpu")
    assert model[3].weight.device.type == DEVICE
    assert there.losses == pytest.approx(here.losses, abs=tolerance)
    assert there.skipped == []


def test_the_gpu_convolves_as_exactly_as_the_cpu():
    convolution, x = nn.Conv1d(64, 64, 3), torch.randn(8, 64, 50)
    with torch.no_grad():
        here, there = convolution(x), convolution.to(pick_device(DEVICE))(x.to(DEVICE)).cpu()
    torch.testing.assert_close(there, here, rtol=1e-5, atol=1e-5)


def test_a_step_that_overflows_on_the_gpu_is_skipped():
    x, model = torch.ones(4, 3), nn.Linear(3, 2).to(DEVICE)
    history = fit(
        model,
        adamw(model, 0.1),
        repeat((x, x[:, :2])),
        steps=2,
        loss=lambda output, target: 1e4 * F.mse_loss(output.float(), target),
        engine=Engine(torch.float16),
    )
    assert history.skipped == [0, 1]


def test_a_run_on_the_gpu_goes_on_with_its_random_numbers(tmp_path):
    def kept(name, steps, resume=False):
        checkpoint = Checkpoint(path=tmp_path / name, every=5, resume=resume)
        return train(DEVICE, dropout=0.3, steps=steps, checkpoint=checkpoint)[1]

    whole = kept("whole", 12)
    kept("run", 5)
    torch.manual_seed(99)
    assert kept("run", 12, resume=True).losses == whole.losses
    assert DEVICE in load_checkpoint(tmp_path / "run")["engine"]["random"]


def test_the_command_trains_there_and_the_model_loads_anywhere(bare, tmp_path, monkeypatch):
    monkeypatch.setattr(job, "shakespeare", lambda: NEWS)
    sizes = {"batch_size": 4, "context": 8, "n_layer": 1, "n_head": 2, "d_model": 16, "steps": 6}
    history = train_gpt(Recipe(**sizes, precision="bfloat16"), tmp_path, device=DEVICE)
    model, vocabulary = load_gpt(tmp_path)
    tokens = torch.tensor(vocabulary.encode(NEWS))
    validation = tokens[int(0.9 * len(tokens)) :]
    assert text_nll(model, validation) == pytest.approx(history.measured[-1][1], abs=1e-3)


@PAIR
def test_two_gpus_give_the_losses_of_one(tmp_path):
    for name, n in (("one", 1), ("two", 2)):
        torchrun = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", str(n)]
        job = begin([*torchrun, *command(tmp_path / name, **SETTINGS, device="cuda")])
        _, errors = finish(job, 120)
        assert job.returncode == 0, errors
    torch.testing.assert_close(
        losses(tmp_path / "two"), losses(tmp_path / "one"), atol=1e-4, rtol=0
    )

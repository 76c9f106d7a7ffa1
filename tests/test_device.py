"""Where computation runs."""

import random
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn

from coursekit.device import (
    compare_with_cpu,
    device_of,
    peak_megabytes,
    pick_device,
    random_states,
    seed_everything,
    set_random_states,
)

ROOT = Path(__file__).parents[1]


def test_the_cpu_is_taken_where_nothing_is_named(bare):
    assert pick_device() == torch.device("cpu")


def test_the_environment_names_the_device(bare, monkeypatch):
    monkeypatch.setenv("COURSEKIT_DEVICE", "meta")
    assert pick_device() == torch.device("meta")


def test_a_named_device_comes_before_the_environment(bare, monkeypatch):
    monkeypatch.setenv("COURSEKIT_DEVICE", "meta")
    assert pick_device("cpu") == torch.device("cpu")


def test_a_model_is_where_its_parameters_or_else_its_buffers_are():
    table = nn.Module()
    assert device_of(table) == torch.device("cpu")
    table.register_buffer("rows", torch.zeros(2, device="meta"))
    assert device_of(table) == torch.device("meta")
    assert device_of(nn.Sequential(nn.Linear(2, 3), table)) == torch.device("cpu")


def test_an_accelerator_is_not_taken_unasked(bare, monkeypatch):
    for module in (torch.cuda, torch.backends.mps):
        monkeypatch.setattr(module, "is_available", lambda: True)
    assert pick_device() == torch.device("cpu")


def test_each_process_of_a_machine_asks_for_its_own_gpu(bare, monkeypatch):
    asked, made = [], []
    monkeypatch.setattr(torch, "zeros", lambda n, device: asked.append(str(device)))
    monkeypatch.setattr(torch.cuda, "set_device", lambda device: made.append(str(device)))
    pick_device("cuda")
    monkeypatch.setenv("LOCAL_RANK", "3")
    for name in ("cuda", "cuda:1", "cpu"):
        pick_device(name)
    assert asked == ["cuda", "cuda:3", "cuda:1", "cpu"]
    assert made == ["cuda:3"]


@pytest.mark.parametrize("name", ["toaster", "cuda:99"])
def test_a_device_that_is_not_there_is_refused_in_one_line(name):
    with pytest.raises(ValueError, match=f"device '{name}' can't be used .*: try 'cpu'") as refusal:
        pick_device(name)
    assert "\n" not in str(refusal.value)


def spoil(monkeypatch, which, change):
    """Change one number of a gradient on the second device; return the gradients of all calls."""
    real, calls = torch.autograd.grad, []

    def compute(y, inputs):
        calls.append(real(y, inputs))
        gradients = [g.clone() for g in calls[-1]]
        if len(calls) == 2:
            gradients[which][3, 5] += change
        return gradients

    monkeypatch.setattr(torch.autograd, "grad", compute)
    return calls


@pytest.mark.parametrize("which", [0, 1, 2])
@pytest.mark.parametrize("change", [0.5, -0.5, 1e-3, -1e-3])
def test_one_number_of_a_device_that_is_off_is_seen_whatever_its_sign(monkeypatch, which, change):
    calls = spoil(monkeypatch, which, change)
    found = compare_with_cpu("cpu")
    assert found == pytest.approx(abs(change) / calls[0][which].abs().max().item(), rel=1e-3)


@pytest.mark.parametrize("which", [0, 1, 2])
@pytest.mark.parametrize("change", [torch.nan, torch.inf, -torch.inf])
def test_a_device_that_gives_nan_differs_infinitely(monkeypatch, which, change):
    spoil(monkeypatch, which, change)
    assert compare_with_cpu("cpu") == torch.inf


def test_another_seed_compares_other_numbers(monkeypatch):
    calls = spoil(monkeypatch, 0, 0.0)
    for seed in (0, 1, 0):
        assert compare_with_cpu("cpu", seed) == 0
    first, other, again = (calls[k][0] for k in (0, 2, 4))
    assert torch.equal(first, again)
    assert not torch.equal(first, other)


def test_another_seed_starts_other_numbers():
    def draw(seed):
        seed_everything(seed)
        return random.random(), np.random.rand(), torch.rand(1).item()  # noqa: NPY002

    assert all(a != b for a, b in zip(draw(1), draw(2), strict=True))


def test_random_numbers_go_on_from_where_they_stood():
    cpu = torch.device("cpu")
    seed_everything(3)
    states = random_states(cpu)
    first = torch.rand(5)
    seed_everything(4)
    set_random_states(cpu, {})
    assert not torch.equal(torch.rand(5), first)
    set_random_states(cpu, states)
    assert torch.equal(torch.rand(5), first)


def test_a_state_may_be_a_row_of_a_table():
    """In a process of its own, for PyTorch dies of such a row if it is handed over as it is."""
    code = (
        "import torch; from coursekit.device import random_states, set_random_states as put;"
        "cpu = torch.device('cpu'); state = random_states(cpu)['cpu']; first = torch.rand(5);"
        "put(cpu, {'cpu': torch.stack([torch.zeros_like(state), state])[1]});"
        "print(torch.equal(torch.rand(5), first))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT)
    assert done.stdout == "True\n", done.stderr


def test_peak_memory_is_in_megabytes():
    held = bytearray(b"x") * 300_000_000
    assert len(held) / 1e6 < peak_megabytes() < 20_000

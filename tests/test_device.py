"""Where computation runs."""

import random

import numpy as np
import pytest
import torch

from coursekit.device import peak_megabytes, pick_device, seed_everything


def test_the_cpu_is_taken_where_nothing_is_named(bare):
    assert pick_device() == torch.device("cpu")


def test_the_environment_names_the_device(bare, monkeypatch):
    monkeypatch.setenv("COURSEKIT_DEVICE", "meta")
    assert pick_device() == torch.device("meta")


def test_a_named_device_comes_before_the_environment(bare, monkeypatch):
    monkeypatch.setenv("COURSEKIT_DEVICE", "meta")
    assert pick_device("cpu") == torch.device("cpu")


@pytest.mark.parametrize("name", ["toaster", "cuda:99"])
def test_a_device_that_is_not_there_is_refused_in_one_line(name):
    with pytest.raises(ValueError, match=f"device '{name}' can't be used .*: try 'cpu'") as refusal:
        pick_device(name)
    assert "\n" not in str(refusal.value)


def test_another_seed_starts_other_numbers():
    def draw(seed):
        seed_everything(seed)
        return random.random(), np.random.rand(), torch.rand(1).item()  # noqa: NPY002

    assert all(a != b for a, b in zip(draw(1), draw(2), strict=True))


def test_peak_memory_is_in_megabytes():
    held = bytearray(b"x") * 300_000_000
    assert len(held) / 1e6 < peak_megabytes() < 20_000

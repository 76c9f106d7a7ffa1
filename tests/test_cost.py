"""What training costs: against models that are built, and in the page that quotes it."""

import re
from pathlib import Path

import pytest
import torch

from coursekit.__main__ import main
from coursekit.evaluate.likelihood import next_token_loss
from coursekit.models.gpt import GPT, GPTConfig
from coursekit.training.cost import (
    activation_bytes,
    gpt_size,
    ring_bytes,
    state_bytes,
    tokens_to_hide,
    training_operations,
)
from coursekit.training.distributed import PATIENCE

PAGE = Path(__file__).parents[1] / "docs" / "machines.md"
SIZES = {"GPT-2": (12, 12, 768), "medium": (24, 16, 1024), "large": (36, 20, 1280)}
SIZES["XL"] = (48, 25, 1600)
A100 = 312e12  # operations a second in bfloat16, NVIDIA's data sheet
LINKS = {"10 Gbit/s": 10e9 / 8, "100 Gbit/s": 100e9 / 8, "NVLink": 300e9}  # one way
BATCH, N = 12 * 1024 * 40, 8  # nanoGPT's: 40 pieces of 12 × 1,024 tokens
# nanoGPT trains the smallest size for 600,000 such steps on 8 A100 in about 4 days.
REACHED = training_operations(124_439_808, 600_000 * BATCH) / (4 * 86_400 * N)


def gpt2(name):
    n_layer, n_head, d_model = SIZES[name]
    sizes = {"n_layer": n_layer, "n_head": n_head, "d_model": d_model}
    return GPTConfig(vocab_size=50_257, context=1024, **sizes)


@pytest.mark.parametrize("name", SIZES)
def test_the_count_of_parameters_is_that_of_the_model(name):
    with torch.device("meta"):  # shapes without numbers
        model = GPT(gpt2(name))
    assert gpt_size(gpt2(name)) == sum(p.numel() for p in model.parameters())


@pytest.mark.parametrize("narrow", [False, True])
@pytest.mark.parametrize(
    ("n_layer", "d_model", "context", "batch", "vocab_size"),
    [(1, 64, 64, 4, 50), (2, 64, 64, 4, 50), (2, 128, 96, 3, 70), (2, 96, 128, 2, 300)],
)
def test_a_model_keeps_as_many_bytes_as_the_formula_says(
    n_layer, d_model, context, batch, vocab_size, narrow
):
    sizes = {"vocab_size": vocab_size, "context": context, "n_layer": n_layer}
    config = GPTConfig(**sizes, n_head=4, d_model=d_model)
    model, kept, alive = GPT(config), {}, []
    own = {p.untyped_storage().data_ptr() for p in model.parameters()}

    def keep(tensor):
        storage = tensor.untyped_storage()
        alive.append(tensor)  # or its place could be given to another one
        if storage.data_ptr() not in own:
            kept[storage.data_ptr()] = storage.nbytes()
        return tensor

    tokens = torch.zeros(batch, context, dtype=torch.long)
    hooks = torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor)
    with hooks, torch.autocast("cpu", torch.bfloat16, narrow):
        next_token_loss(model(tokens), tokens)
    # The formula leaves out the norms' means and deviations.
    assert activation_bytes(config, batch * context, narrow=narrow) == pytest.approx(
        sum(kept.values()), rel=0.016
    )


def test_a_ring_of_two_sends_every_gradient_once_and_a_long_one_nearly_twice():
    assert ring_bytes(1000, 1) == 0
    assert ring_bytes(1000, 2) == 4000
    assert ring_bytes(1000, 1000) == pytest.approx(8000, rel=0.002)


def test_with_that_many_tokens_sending_takes_as_long_as_computing():
    parameters, speed, link, n = 10_000, 1e12, 1e9, 4
    tokens = tokens_to_hide(speed, link, n)
    computing = training_operations(parameters, tokens) / speed
    assert computing == pytest.approx(ring_bytes(parameters, n) / link)


def rows():
    """The tables of the page, row by row, computed."""
    for name in SIZES:
        config, p = gpt2(name), gpt_size(gpt2(name))
        layers, heads, width = SIZES[name]
        wide, narrow = (
            activation_bytes(config, 1, narrow=n) - activation_bytes(config, 0, narrow=n)
            for n in (False, True)
        )
        yield (
            f"| {name} | {layers} · {heads} · {width} | {p / 1e6:,.0f} M | "
            f"{state_bytes(p) / 1e9:.1f} GB | {wide / 1e6:.1f} MB | {narrow / 1e6:.1f} MB |"
        )
    for name in SIZES:
        p = gpt_size(gpt2(name))
        computing = training_operations(p, BATCH / N) / REACHED
        sending = " | ".join(f"{ring_bytes(p, N) / link:.2g} s" for link in LINKS.values())
        yield f"| {name} | {ring_bytes(p, N) / 1e9:.1f} GB | {sending} | {computing:.1f} s |"
    for name in SIZES:
        p = gpt_size(gpt2(name))
        hours = [training_operations(p, t) / REACHED / N / 3600 for t in (20 * p, 300e9)]
        time = f"{hours[0]:.1f} hours | {hours[1] / 24:.0f} days"
        yield f"| {name} | {20 * p / 1e9:.1f} billion | {time} |"


def facts():
    """The numbers in the text of the page."""
    yield f"{REACHED / 1e12:.0f} of its 312 trillion"
    yield f"{BATCH:,} tokens"
    yield f"{BATCH // N:,} tokens"
    for name in ("10 Gbit/s", "100 Gbit/s"):
        yield f"{tokens_to_hide(REACHED, LINKS[name], N):,.0f} at {name}"
    p, config = gpt_size(gpt2("XL")), gpt2("XL")
    yield f"{state_bytes(p) / 1e9:.1f} GB"
    yield f"{state_bytes(p) / 8e9:.1f} GB"
    piece = activation_bytes(config, 4 * 1024, narrow=True)
    yield f"{piece / 1e9:.1f} GB"
    yield f"{(state_bytes(p) + piece) / 1e9:.1f} GB"
    yield f"{80e9 / 16 / 1e9:.0f} billion parameters"
    yield {300: "is given five minutes"}[PATIENCE.seconds]


@pytest.mark.parametrize("text", [*rows(), *facts()])
def test_the_page_says_what_the_functions_compute(text):
    assert text in PAGE.read_text("utf-8")


def test_the_commands_of_the_page_have_only_options_that_there_are(capsys):
    with pytest.raises(SystemExit):
        main(["train", "--help"])
    known = set(re.findall(r"--[a-z-]+", capsys.readouterr().out))
    commands = re.findall(r"coursekit train gpt (--.*)", PAGE.read_text("utf-8"))
    assert len(commands) == 3
    for command in commands:
        assert set(re.findall(r"--[a-z-]+", command)) <= known

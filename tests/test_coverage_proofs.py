"""What docs/coverage.csv says and no other test shows: costs counted, one step, slips."""

import ast
import math
from functools import partial
from pathlib import Path

import pytest
import torch
from torch import nn
from torch.nn import functional as F
from torch.testing import assert_close
from torch.utils.flop_counter import FlopCounterMode

import coursekit
from benchmarks import probsparse
from coursekit.data import NEWS
from coursekit.layers.attention import MultiHeadAttention, attend
from coursekit.layers.block import Block, FeedForward
from coursekit.layers.position import LearnedPositions, SinusoidalPositions, sinusoidal_codes
from coursekit.layers.prob_sparse import count_active, max_minus_mean, prob_sparse, score_sample
from coursekit.models.gpt import GPT, GPTConfig
from coursekit.tokens.bpe import train_bpe
from coursekit.tokens.words import Lexicon, Special, split_at_spaces
from coursekit.training.optimiser import adam_direction, warm_up_cosine

B, H, D, E = 2, 3, 8, 5  # mutually different
PACKAGE = Path(coursekit.__file__).parent


def normal(*shape, seed=0):
    g = torch.Generator().manual_seed(seed)
    return torch.randn(*shape, generator=g, dtype=torch.float64)


def count_operations(function, *arguments):
    """What PyTorch counts: two operations for each product of two numbers in a matrix product."""
    with FlopCounterMode(display=False) as counter:
        function(*arguments)
    return counter.get_total_flops()


# Letters

# An axis of batches comes first, heads just before steps, what a step consists of comes last.
OFF_THEIR_AXIS = {  # only ever fewer
    "n H": "backprop.py: hidden units, as the layer is drawn there",
    "V m": "backprop.py: a table of V vectors",
    "D C K": "convolution.py: PyTorch's order of a kernel's axes",
}


def shapes_in_signatures():
    """Each shape that an annotation of the package gives, as a list of its axes."""
    for path in PACKAGE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Tuple):
                *_, shape = node.slice.elts
                if isinstance(shape, ast.Constant) and isinstance(shape.value, str):
                    yield shape.value.split()


def is_off_its_axis(axes):
    """Whether a letter stands where, by its one meaning, it can't."""
    letters = [axis.strip("*#") for axis in axes]
    last = len(letters) - 1
    return any(
        (letter == "B" and i != 0)
        or (letter == "H" and letters[i + 1 : i + 2] not in (["T"], ["S"]))
        or (letter in "CDEV" and i != last)
        for i, letter in enumerate(letters)
    )


def test_each_letter_of_a_shape_stands_on_the_axis_of_its_one_meaning():
    shapes = list(shapes_in_signatures())
    assert {"B", "H", "T", "S", "C", "D", "V"} <= {axis for axes in shapes for axis in axes}
    assert {" ".join(axes) for axes in shapes if is_off_its_axis(axes)} == set(OFF_THEIR_AXIS)


@pytest.mark.parametrize("axes", ["T B C", "B T H", "B H", "B V T", "B C T", "H D T"])
def test_a_letter_off_its_axis_is_seen(axes):
    assert is_off_its_axis(axes.split())


# Tokens


@pytest.mark.parametrize("prompt", ["Prices in", "", "the the", "<EOS>"])
def test_nothing_is_added_to_a_prompt(prompt):
    words = Lexicon.of(NEWS, split_at_spaces, " ")
    assert len(words.encode(prompt)) == len(split_at_spaces(prompt))
    assert Special.EOS not in words.encode(prompt)
    bpe = train_bpe(NEWS, 270, special=["<EOS>"])
    ids = bpe.encode(prompt, disallowed_special=())
    assert bpe.decode_bytes(ids) == prompt.encode()
    assert bpe.special["<EOS>"] not in ids


# Vectors and places


@pytest.mark.parametrize("positions", [LearnedPositions, SinusoidalPositions])
def test_one_token_at_two_positions_has_one_vector_until_positions_are_added(positions):
    torch.manual_seed(0)
    model = GPT(
        GPTConfig(vocab_size=7, context=6, n_layer=1, n_head=2, d_model=4), positions=positions
    )
    vectors = model.embedding(torch.tensor([[3, 1, 3, 0, 5]]))
    assert torch.equal(vectors[:, 0], vectors[:, 2])
    placed = model.positions(vectors)
    assert (placed[:, 0] - placed[:, 2]).abs().max() > 1e-3


def test_codes_with_every_second_index_leave_half_of_the_channels_empty():
    steps, channels = 11, 12
    wrong = torch.zeros(steps, channels)
    t = torch.arange(steps)
    for i in range(0, channels, 2):  # and 2i on top of it
        if 2 * i + 1 < channels:
            wrong[:, 2 * i] = (t / 10_000 ** (2 * i / channels)).sin()
            wrong[:, 2 * i + 1] = (t / 10_000 ** (2 * i / channels)).cos()
    assert (wrong == 0).all(0).sum() == channels // 2
    assert not (sinusoidal_codes(steps, channels) == 0).all(0).any()


# Blocks


def make_block(channels, added):
    torch.manual_seed(0)
    worker = nn.Linear(channels, added)
    return Block(MultiHeadAttention(channels, 2), worker, partial(nn.LayerNorm, channels))


def test_what_a_block_adds_must_have_the_channels_of_the_stream():
    x = torch.randn(3, 5, 16)
    with pytest.raises(RuntimeError, match=r"size of tensor a \(16\) .* tensor b \(8\)"):
        make_block(16, 8)(x)
    assert make_block(16, 1)(x).shape == x.shape  # one channel is added to all, unasked


def test_a_head_alone_is_not_the_attention_of_a_gpt():
    torch.manual_seed(0)
    attention, x = MultiHeadAttention(6, 2), torch.randn(3, 5, 6)
    assert attention.out.weight.shape == (6, 6)
    with torch.no_grad():
        attention.out.weight.zero_()
    assert not attention(x).any()  # all that the heads found passes the last matrix


SLIPS = {
    "an argument forgotten": (TypeError, lambda: Block(MultiHeadAttention(4, 2), FeedForward(4))),
    "sizes forgotten": (TypeError, lambda: GPT()),
    "two names for one thing": (AttributeError, lambda: Lexicon("ab").vocabulary),
    "softmax along which axis?": (TypeError, lambda: torch.softmax(torch.ones(3))),
    "item(), then cat": (TypeError, lambda: torch.cat([torch.ones(3), torch.ones(1).item()])),
}


@pytest.mark.parametrize("slip", SLIPS)
def test_a_slip_raises_the_error_of_its_kind(slip):
    kind, act = SLIPS[slip]
    with pytest.raises(kind) as raised:
        act()
    assert raised.type is kind


@pytest.mark.parametrize(
    "change", [{"activation": F.relu}, {"positions": SinusoidalPositions}, {"rule": attend}]
)
def test_a_model_with_another_part_is_not_gpt2(change):
    sizes = GPTConfig(vocab_size=11, context=7, n_layer=2, n_head=2, d_model=8)
    torch.manual_seed(0)
    model = GPT(sizes, std=0.3)
    other = GPT(sizes, **change)
    other.load_state_dict(model.state_dict(), strict="positions" not in change)
    tokens = torch.randint(11, (3, 7))
    assert (model(tokens) - other(tokens)).abs().max() > 0.1  # equal weights, where 1e-5 is equal


def test_pytorchs_batch_norm_takes_the_second_axis_for_the_channels():
    steps, channels = 7, 6
    norm = nn.BatchNorm1d(channels)
    with pytest.raises(RuntimeError, match="running_mean should contain 7 elements not 6"):
        norm(torch.randn(32, steps, channels))
    x = normal(32, channels, channels).float() + torch.arange(channels)  # each channel its mean
    found = norm(x)
    assert found.mean((0, 2)).abs().max() < 1e-5  # every step has mean 0
    assert found.mean((0, 1)).abs().max() > 1  # no channel has


# Steps


def first_lengths(gradient, betas, step):
    """Length of the first step in lrs, PyTorch's and ours, if `step` steps seem to be behind it."""
    lr, g = 0.01, torch.full((1,), gradient, dtype=torch.float64)
    p = nn.Parameter(torch.ones_like(g))
    optimiser = torch.optim.AdamW([p], lr=lr, betas=betas, weight_decay=0.0)
    means = {"exp_avg": torch.zeros_like(g), "exp_avg_sq": torch.zeros_like(g)}
    optimiser.state[p] = {"step": torch.tensor(step)} | means
    p.grad = g.clone()
    optimiser.step()
    memory = {
        "step": torch.tensor(step),
        "mean": torch.zeros_like(g),
        "square": torch.zeros_like(g),
    }
    return (1 - p).abs().item() / lr, adam_direction(g, memory, betas).abs().item()


@pytest.mark.parametrize(("beta", "length"), [(0.999, 3.1623), (0.99, 1.0), (0.95, 0.4472)])
@pytest.mark.parametrize("gradient", [1e-3, -20.0])
def test_without_correction_the_first_step_has_another_length(beta, length, gradient):
    corrected = first_lengths(gradient, (0.9, beta), step=0.0)
    assert corrected == (pytest.approx(1, rel=1e-4), pytest.approx(1, rel=1e-4))
    # At step a million both divisors are 1, which is to leave them out.
    uncorrected = first_lengths(gradient, (0.9, beta), step=1e6)
    assert uncorrected == (pytest.approx(length, rel=1e-3), pytest.approx(length, rel=1e-3))


@pytest.mark.parametrize(
    ("steps", "warm", "floor"), [(1000, 0.1, 0.01), (60, 0.2, 0.0), (48, 0.25, 0.5)]
)
def test_the_schedule_has_its_top_its_middle_and_its_end_where_the_formula_has_them(
    steps, warm, floor
):
    factor, n_warm = warm_up_cosine(steps, warm, floor), round(warm * steps)
    assert factor(0) == pytest.approx(1 / n_warm)  # the first step counts
    assert factor(n_warm - 1) == factor(n_warm) == 1  # at s_w by either way of counting
    assert factor((n_warm + steps) // 2) == pytest.approx((1 + floor) / 2)
    assert factor(steps) == pytest.approx(floor)
    for s in range(n_warm, steps + 1):
        done = (s - n_warm) / (steps - n_warm)
        assert factor(s) == pytest.approx(floor + (1 - floor) * (1 + math.cos(math.pi * done)) / 2)
    assert factor(round(1.5 * steps)) == pytest.approx(floor)  # and does not rise again


# What attention costs


@pytest.mark.parametrize("steps", [64, 256, 1024])
def test_prob_sparse_takes_as_many_products_as_its_formula_says(steps):
    q, k, v = normal(B, H, steps, D), normal(B, H, steps, D), normal(B, H, steps, E)
    u = count_active(steps)
    # Scores on the sample; then for the active queries, and one that gets the mean, all scores
    # and their mixture of the values.
    products = steps * u * D + (u + 1) * steps * (D + E)
    assert count_operations(prob_sparse(), q, k, v) == 2 * B * H * products
    assert count_operations(attend, q, k, v) == 2 * B * H * steps * steps * (D + E)


def test_the_products_of_prob_sparse_grow_hardly_faster_than_the_steps():
    def growth(rule):
        few, many = (count_operations(rule, *3 * [torch.zeros(1, n, 4)]) for n in (64, 4096))
        return math.log(many / few) / math.log(4096 / 64)

    assert growth(attend) == 2
    assert 1.1 < growth(prob_sparse()) < 1.2  # T log T


def test_scores_on_all_keys_cost_fifty_times_as_much_as_on_a_sample():
    steps = 4096
    q, k = normal(steps, 2).float(), normal(steps, 2, seed=1).float()
    u = count_active(steps)

    def rank(factor):
        max_minus_mean(score_sample(q, k, factor))
        return q[:u] @ k.mT

    sampled, whole = (count_operations(rank, factor) / 4 for factor in (5, 1000))
    assert (sampled, whole) == (344_064, 16_949_248)
    assert whole / sampled == pytest.approx(49.26, abs=0.01)


def largest_kept(rule, *inputs):
    """Bytes of the largest tensor that autograd keeps for the way back."""
    kept = []

    def keep(x):
        kept.append(x.nbytes)
        return x

    with torch.autograd.graph.saved_tensors_hooks(keep, lambda x: x):
        rule(*inputs)
    return max(kept)


@pytest.mark.parametrize("steps", [16, 48, 96])
def test_dense_attention_keeps_a_number_for_every_pair_of_steps(steps):
    inputs = [torch.randn(B, H, steps, D, requires_grad=True) for _ in range(3)]
    every_pair = 4 * B * H * steps**2
    assert largest_kept(attend, *inputs) == every_pair
    assert largest_kept(prob_sparse(1), *inputs) < every_pair


def test_divided_by_all_keys_the_measure_notices_what_attention_does_not(monkeypatch):
    steps, read = 40, 56
    q, k, v = normal(B, H, steps, D), normal(B, H, read, D, seed=1), normal(B, H, read, E, seed=2)
    moved = k + 3 * normal(D, seed=3)  # every score of a query moves by the same amount
    draws = 5 * math.ceil(math.log(read))
    index = torch.randint(read, (steps, draws), generator=torch.Generator().manual_seed(4))
    monkeypatch.setattr(probsparse, "sample_each", lambda *_: index)
    for rule in (attend, prob_sparse(1), probsparse.lean):
        assert_close(rule(q, moved, v), rule(q, k, v), rtol=0, atol=1e-12)
    assert (probsparse.published(q, moved, v) - probsparse.published(q, k, v)).abs().max() > 0.1

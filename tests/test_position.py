"""Positions that are added, and positions that turn queries and keys."""

import math

import pytest
import torch
from torch.testing import assert_close
from transformers import LlamaConfig
from transformers.models.llama.modeling_llama import LlamaRotaryEmbedding, apply_rotary_pos_emb

from coursekit.layers.attention import attend
from coursekit.layers.position import (
    CalendarEmbedding,
    LearnedPositions,
    SinusoidalPositions,
    rotary,
    rotate,
    sinusoidal_codes,
)

B, H, T, S, C, D = 2, 3, 5, 7, 4, 6
EXACT = {"rtol": 0, "atol": 1e-12}
ADDED = pytest.mark.parametrize("positions", [LearnedPositions, SinusoidalPositions])


@pytest.fixture(autouse=True)
def _seeded():
    torch.manual_seed(0)


def normal(*shape):
    return torch.randn(*shape, dtype=torch.float64)


@pytest.mark.parametrize(("length", "d_model"), [(1, 2), (9, 6), (300, 10)])
def test_sinusoidal_codes_are_the_formula_number_by_number(length, d_model):
    expected = torch.zeros(length, d_model)
    for t in range(length):
        for i in range(d_model // 2):
            angle = t / 10000 ** (2 * i / d_model)
            expected[t, 2 * i], expected[t, 2 * i + 1] = math.sin(angle), math.cos(angle)
    assert_close(sinusoidal_codes(length, d_model), expected, rtol=0, atol=1e-7)


def test_sinusoidal_codes_need_pairs_of_channels():
    with pytest.raises(ValueError, match="5 channels do not split into pairs: take an even"):
        sinusoidal_codes(3, 5)


def test_codes_of_equal_distance_have_equal_products():
    codes = sinusoidal_codes(40, 8).double()
    products = codes @ codes.T
    for distance in range(8):
        along = products.diagonal(distance)
        assert_close(along, along[:1].expand_as(along), rtol=0, atol=1e-5)


@ADDED
def test_each_step_gets_the_vector_of_its_position(positions):
    added = positions(S, C)
    table = added(torch.zeros(1, S, C))[0]
    assert len(set(map(tuple, table.tolist()))) == S
    x = torch.randn(B, T, C)
    assert_close(added(x), x + table[:T])
    assert_close(added(x, 2), x + table[2 : 2 + T])


@ADDED
@pytest.mark.parametrize(("steps", "start"), [(S + 1, 0), (T, S - T + 1), (1, S)])
def test_no_step_lies_beyond_the_positions(positions, steps, start):
    with pytest.raises(ValueError, match=f"step {start + steps} lies beyond the 7 positions"):
        positions(S, C)(torch.zeros(B, steps, C), start)


def test_only_learned_positions_are_trained_and_saved():
    learned, fixed = LearnedPositions(S, C), SinusoidalPositions(S, C, 0.5)
    assert [tuple(weight.shape) for weight in learned.parameters()] == [(S, C)]
    assert not [*fixed.parameters(), *fixed.state_dict()]
    assert fixed.double().codes.dtype == torch.float64  # a buffer moves with the module


def test_learned_positions_start_as_small_draws():
    weight = LearnedPositions(500, 100).weight
    assert weight.std().item() == pytest.approx(0.02, rel=0.02)


def test_the_scale_multiplies_the_codes():
    x = torch.zeros(1, T, C)
    assert_close(SinusoidalPositions(S, C, 0.3)(x)[0], 0.3 * sinusoidal_codes(T, C))


def rotate_complex(x, start=0):
    """The same turn, by the product of complex numbers."""
    steps, width = x.shape[-2:]
    z = torch.complex(x[..., : width // 2], x[..., width // 2 :])
    positions = torch.arange(start, start + steps).double()
    speeds = 10000.0 ** (-2 * torch.arange(width // 2).double() / width)
    turned = z * torch.exp(1j * positions[:, None] * speeds)
    return torch.cat([turned.real, turned.imag], -1)


@pytest.mark.parametrize("start", [0, 3, 1000])
@pytest.mark.parametrize("shape", [(T, D), (B, H, T, D)])
def test_rotating_is_a_product_of_complex_numbers(start, shape):
    x = normal(*shape)
    assert_close(rotate(x, start), rotate_complex(x, start), **EXACT)


def test_rotating_equals_hugging_faces_llama():
    config = LlamaConfig(hidden_size=H * D, num_attention_heads=H, max_position_embeddings=64)
    q, k = torch.randn(B, H, T, D), torch.randn(B, H, T, D)
    cos, sin = LlamaRotaryEmbedding(config)(q, torch.arange(T)[None].expand(B, T))
    theirs = apply_rotary_pos_emb(q, k, cos, sin)
    for ours, other in zip((rotate(q), rotate(k)), theirs, strict=True):
        assert_close(ours, other, rtol=0, atol=1e-6)


@pytest.mark.parametrize(("dtype", "error"), [(torch.float32, 1e-6), (torch.bfloat16, 0.03)])
def test_far_angles_are_as_exact_as_the_numbers_that_are_turned(dtype, error):
    x = normal(T, D).to(dtype)
    turned, exact = rotate(x, 5000), rotate_complex(x.double(), 5000)
    assert turned.dtype == dtype
    assert_close(turned.double(), exact, rtol=0, atol=error)


def test_rotating_keeps_lengths_and_the_first_position():
    x = normal(B, H, T, D)
    assert_close(rotate(x, 11).norm(dim=-1), x.norm(dim=-1), **EXACT)
    assert torch.equal(rotate(x)[..., 0, :], x[..., 0, :])
    assert not torch.allclose(rotate(x)[..., 1:, :], x[..., 1:, :], atol=0.1)


@pytest.mark.parametrize("moved", [1, 17, 500])
def test_products_of_turned_vectors_depend_on_the_distance_only(moved):
    q, k = normal(T, D), normal(T, D)
    here, there = (rotate(q, n) @ rotate(k, n).mT for n in (0, moved))
    assert_close(here, there, rtol=0, atol=1e-11)
    assert not torch.allclose(rotate(q, 1) @ rotate(k).mT, here, atol=0.1)


def test_rotating_needs_pairs_of_channels():
    with pytest.raises(ValueError, match="5 channels do not split into pairs"):
        rotate(torch.zeros(T, 5))


def test_a_position_before_the_first_is_refused():
    with pytest.raises(ValueError, match=r"start=-1 .* as many keys as queries"):
        rotary(attend)(normal(T, D), normal(T - 1, D), normal(T - 1, C), None)


def test_rotary_turns_queries_and_keys_but_not_values():
    q, k, v = normal(B, H, T, D), normal(B, H, S, D), normal(B, H, S, C)
    expected = attend(rotate_complex(q, S - T), rotate_complex(k), v)
    assert_close(rotary(attend)(q, k, v), expected, **EXACT)


def test_rotary_passes_on_what_is_allowed():
    q, k, v = normal(T, D), normal(S, D), normal(S, C)
    allowed = torch.rand(T, S) < 0.7
    allowed[:, 0] = True
    expected = attend(rotate_complex(q, S - T), rotate_complex(k), v, allowed)
    assert_close(rotary(attend)(q, k, v, allowed), expected, **EXACT)


def test_a_first_use_without_gradients_leaves_training_possible():
    with torch.inference_mode():
        rotate(torch.zeros(23, 34))  # a size that no other test has used
    x = torch.randn(23, 34, requires_grad=True)
    rotate(x).sum().backward()
    assert x.grad is not None


def test_rotating_keeps_the_number_type():
    for dtype in (torch.float32, torch.float64, torch.bfloat16):
        assert rotate(torch.ones(T, D, dtype=dtype)).dtype == dtype


def test_a_calendar_vector_is_the_formula():
    calendar = CalendarEmbedding(S, C, (3, 2)).double()
    marks = torch.tensor([[[0, 1], [2, 0], [2, 1]], [[1, 1], [1, 0], [0, 0]]])
    table, other = (one.weight for one in calendar.tables)
    (w1, b1), (w2, b2) = ((layer.weight, layer.bias) for layer in (calendar.expand, calendar.out))
    for b in range(2):
        for t in range(3):
            hour, day = marks[b, t].tolist()
            hidden = w1 @ torch.cat([table[hour], other[day]]) + b1
            assert_close(calendar(marks)[b, t], w2 @ hidden.clamp(min=0) + b2, **EXACT)


def test_every_hour_weekday_and_month_has_a_row_that_learns():
    calendar = CalendarEmbedding(S, 8)
    marks = torch.cartesian_prod(*(torch.arange(size) for size in (24, 7, 12)))[None]
    calendar(marks).square().sum().backward()
    assert [len(table.weight) for table in calendar.tables] == [24, 7, 12]
    for table in calendar.tables:
        assert (table.weight.grad.abs().amax(-1) > 0).all()


@pytest.mark.parametrize(("column", "mark"), [(0, 24), (1, 7), (2, 12), (2, -1)])
def test_a_mark_without_a_row_is_refused(column, mark):
    marks = torch.zeros(B, T, 3, dtype=torch.long)
    marks[-1, 2, column] = mark
    with pytest.raises(ValueError, match=r"tables of \[24, 7, 12\] rows: count from 0"):
        CalendarEmbedding(S, C)(marks)

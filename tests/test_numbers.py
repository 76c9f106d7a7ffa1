"""Numbers become ids of levels and come back, rounded."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from coursekit.tokens.numbers import Grid

RATES = Grid(low=0, high=5, step=0.01)


def column(*values: float) -> torch.Tensor:
    return torch.tensor(values, dtype=torch.float64)


def test_rates_in_basis_points_have_501_levels():
    assert len(RATES) == 501
    assert RATES.encode(column(0, 0.01, 0.29, 4.25, 5)).tolist() == [0, 1, 29, 425, 500]


@given(st.floats(0, 5))
def test_no_rate_of_the_range_moves_by_more_than_half_a_step(rate):
    rates = column(rate)
    assert (RATES.decode(RATES.encode(rates)) - rates).abs() <= 0.005 + 1e-12


@given(st.integers(0, 500))
def test_each_level_is_its_own_nearest(i):
    ids = torch.tensor([[i]])
    assert RATES.encode(RATES.decode(ids)).equal(ids)


def test_single_precision_gives_the_same_ids():
    ids = torch.arange(501)
    assert RATES.encode(RATES.decode(ids).float()).equal(ids)


def test_a_grid_need_not_begin_at_zero():
    grid = Grid(low=-1.0, high=1.0, step=0.5)
    assert len(grid) == 5
    assert grid.encode(column(-1, -0.6, 0.2, 0.3)).tolist() == [0, 1, 2, 3]
    assert grid.decode(torch.tensor([0, 4])).tolist() == [-1, 1]


@pytest.mark.parametrize(("high", "step"), [(0.3, 0.1), (0.7, 0.1), (1.1, 0.1), (2.3, 0.01)])
def test_a_grid_ends_where_it_says_whatever_the_rounding(high, step):
    grid = Grid(low=0, high=high, step=step)  # 0.3 / 0.1 is 2.9999999999999996
    last = torch.tensor([len(grid) - 1])
    assert grid.decode(last).item() == pytest.approx(high)
    assert grid.encode(column(high)).equal(last)


def test_what_lies_beyond_gets_the_first_or_the_last_level_and_is_counted():
    rates = column(-0.75, 0, 2.5, 5, 5.001, math.inf)
    assert RATES.encode(rates).tolist() == [0, 0, 250, 500, 500, 500]
    assert RATES.clipped(rates) == 0.5


def test_one_level_is_enough():
    grid = Grid(low=3, high=3, step=1)
    assert len(grid) == 1
    assert grid.encode(column(2, 9)).tolist() == [0, 0]


def test_nan_is_refused():
    with pytest.raises(ValueError, match="fill or drop the missing values first"):
        RATES.encode(column(1, math.nan))


@pytest.mark.parametrize("wrong", [-1, 501])
def test_an_id_outside_the_grid_is_refused(wrong):
    with pytest.raises(ValueError, match=r"are not all in 0 … 500"):
        RATES.decode(torch.tensor([0, wrong]))


@pytest.mark.parametrize(
    ("low", "high", "step"), [(0, 5, 0), (0, 5, -1), (0, 5, 0.03), (5, 0, 1), (0, 1, 2)]
)
def test_a_step_that_does_not_divide_the_range_is_refused(low, high, step):
    with pytest.raises(ValueError, match="take a positive step that divides high - low"):
        Grid(low=low, high=high, step=step)

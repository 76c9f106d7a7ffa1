"""How large and how sure a lead is, against SciPy and statsmodels."""

import re
from itertools import permutations

import numpy as np
import pytest
import torch
from scipy import stats
from statsmodels.api import OLS

from coursekit.evaluate.seeds import (
    compare_means,
    compare_seeds,
    compare_seeds_and_groups,
    judge,
    largest_difference,
    mean_over_groups,
    odds_ratio,
    proportion_error,
)


@pytest.mark.parametrize(("n", "m"), [(5, 3), (2, 4), (3, 2)])
def test_a_lead_over_its_error_is_welchs_statistic(n, m):
    g = torch.Generator().manual_seed(0)
    a, b = 3 * torch.randn(n, generator=g) + 80, torch.randn(m, generator=g) + 77
    lead, error = compare_means(a, b)
    assert lead == pytest.approx((a.double().mean() - b.double().mean()).item())
    expected = stats.ttest_ind(a.double().numpy(), b.double().numpy(), equal_var=False).statistic
    assert lead / error == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize(("n", "m"), [(1, 4), (4, 1), (0, 2)])
def test_one_run_has_no_error(n, m):
    with pytest.raises(ValueError, match=f"{n} and {m} runs: an error takes two or more of each"):
        compare_means(torch.ones(n), torch.ones(m))


def test_of_runs_with_the_same_seeds_the_larger_error_counts():
    a, b = torch.randn(2, 5, 3, 4, generator=torch.Generator().manual_seed(0))
    lead, error = compare_seeds(a, b)
    assert lead.shape == error.shape == (5, 3)
    x, y = a.double().numpy(), b.double().numpy()
    independent = stats.ttest_ind(x, y, axis=-1, equal_var=False).statistic
    paired = stats.ttest_rel(x, y, axis=-1).statistic
    by_pairs = np.abs(paired) < np.abs(independent)
    assert by_pairs.any()
    assert not by_pairs.all()
    expected = np.where(by_pairs, paired, independent)
    np.testing.assert_allclose((lead / error).numpy(), expected, rtol=1e-9)


@pytest.mark.parametrize(("n", "m"), [(1, 1), (3, 4), (4, 3)])
def test_seeds_are_two_or_more_of_each(n, m):
    with pytest.raises(ValueError, match=f"{n} and {m} seeds: two or more, the same of each"):
        compare_seeds(torch.ones(2, n), torch.ones(2, m))


def test_the_largest_difference_is_that_of_some_pair_in_either_direction():
    """Against all ordered pairs of kinds, one experiment at a time."""
    scores = torch.randn(5, 4, 3, generator=torch.Generator().manual_seed(0))
    expected = []
    for one in scores:
        found = [compare_seeds(a, b) for a, b in permutations(one, 2)]
        expected.append(max((lead / error).item() for lead, error in found))
    assert largest_difference(scores).tolist() == pytest.approx(expected, rel=1e-9)
    assert largest_difference(scores[:, :2]).shape == (5,)


def test_one_kind_differs_from_no_other():
    with pytest.raises(ValueError, match="1 kinds: a difference takes two or more"):
        largest_difference(torch.ones(1, 3))


@pytest.mark.parametrize(("p", "n"), [(0.9, 896), (0.25, 7)])
def test_the_error_of_a_proportion_is_that_of_a_binomial(p, n):
    assert proportion_error(p, n) == pytest.approx(stats.binom(n, p).std() / n, rel=1e-9)


@pytest.mark.parametrize("p", [0.0, 1.0])
def test_a_proportion_of_none_or_all_has_no_error(p):
    assert proportion_error(p, 1) == 0


@pytest.mark.parametrize(("p", "n"), [(90.0, 896), (-0.1, 5), (0.5, 0)])
def test_a_proportion_is_between_0_and_1_of_something(p, n):
    with pytest.raises(ValueError, match=f"{p=} of {n=}: a proportion is from 0 to 1"):
        proportion_error(p, n)


@pytest.mark.parametrize(("right", "of", "then"), [(3, 11, 7), (9, 10, 2), (4, 5, 4)])
def test_an_odds_ratio_is_that_of_the_table_of_counts(right, of, then):
    counts = np.array([[then, of - then], [right, of - right]])
    expected = stats.contingency.odds_ratio(counts, kind="sample").statistic
    assert odds_ratio(right / of, then / of) == pytest.approx(expected, rel=1e-12)
    assert odds_ratio(then / of, right / of) == pytest.approx(1 / expected, rel=1e-12)
    wrong = 1 - right / of, 1 - then / of
    assert odds_ratio(*wrong) == pytest.approx(1 / expected, rel=1e-12)


@pytest.mark.parametrize("bad", [0.0, 1.0, 67.0, -0.1, float("nan")])
def test_odds_of_none_or_all_have_no_ratio(bad):
    with pytest.raises(ValueError, match=f"before={bad} and after=0.5 must be above 0 and below 1"):
        odds_ratio(bad, 0.5)
    with pytest.raises(ValueError, match=f"before=0.5 and after={bad} must be above 0 and below 1"):
        odds_ratio(0.5, bad)


def test_groups_of_equal_size_have_the_error_of_their_means():
    """Against the clustered error of a mean, as of a regression on a constant."""
    g = torch.Generator().manual_seed(0)
    values = torch.randn(5, 3, generator=g) + 2 * torch.randn(5, 1, generator=g)
    groups = np.repeat(np.arange(5), 3)
    order = torch.randperm(15, generator=g)
    found = mean_over_groups(values.flatten()[order], [f"{one}" for one in groups[order]])
    fitted = OLS(values.double().flatten().numpy(), np.ones(15)).fit(
        cov_type="cluster", cov_kwds={"groups": groups, "use_correction": False}
    )
    expected = fitted.params[0], fitted.bse[0] * (5 / 4) ** 0.5
    assert found == pytest.approx(expected, rel=1e-9)


def test_each_group_counts_once():
    assert mean_over_groups(torch.tensor([6.0, 1.0, 3.0, 2.0]), list("baaa")) == (4.0, 2.0)


@pytest.mark.parametrize("n", [1, 3])
def test_one_group_has_no_error(n):
    with pytest.raises(ValueError, match="1 groups: an error takes two or more"):
        mean_over_groups(torch.ones(n), ["a"] * n)


@pytest.mark.parametrize("n", [2, 4])
def test_each_value_has_a_group(n):
    with pytest.raises(ValueError, match=f"3 values and {n} groups: name the group of each"):
        mean_over_groups(torch.ones(3), list("abab")[:n])


def test_the_error_over_seeds_and_groups_is_how_far_other_draws_of_both_are_apart():
    """Against 300 draws of forty seeds and five groups, both with effects of their own."""
    g, found, squares = torch.Generator().manual_seed(0), [], []
    for _ in range(300):
        of_seeds, of_groups = 5 * torch.randn(2, 40, 1, generator=g), torch.randn(5, generator=g)
        a = 80 + of_seeds[0] + 3 * of_groups
        difference, error = compare_seeds_and_groups(a, a * 0 + 77 + of_seeds[1])
        found.append(difference)
        squares.append(error**2)
    assert np.mean(found) == pytest.approx(3, abs=0.5)  # 1.7 / √300 is 0.1
    assert np.mean(squares) == pytest.approx(np.var(found), rel=0.2)


def test_the_error_over_seeds_and_groups_has_both_parts():
    a, b = torch.randn(2, 5, 3, generator=torch.Generator().manual_seed(0))
    difference, over_seeds = compare_seeds(a.mean(1), b.mean(1))
    same, over_groups = mean_over_groups((a - b).mean(0), list("abc"))
    assert difference.item() == pytest.approx(same)
    expected = same, (over_seeds.item() ** 2 + over_groups**2) ** 0.5
    assert compare_seeds_and_groups(a, b) == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize(
    ("a", "b"), [((1, 3), (1, 3)), ((3, 1), (3, 1)), ((3, 2), (2, 2)), ((3, 2), (3, 4))]
)
def test_both_take_two_or_more_of_the_same(a, b):
    message = re.escape(f"scores of {(a, b)}: two seeds and two groups or more, the same of each")
    with pytest.raises(ValueError, match=message):
        compare_seeds_and_groups(torch.ones(a), torch.ones(b))


@pytest.mark.parametrize(
    ("ahead", "verdict"),
    [(6.0, "a lead"), (5.99, "a hint"), (4.0, "a hint"), (3.99, "can't tell"), (0.0, "can't tell")],
)
def test_a_lead_is_three_errors_and_a_hint_two(ahead, verdict):
    assert judge(ahead, 2.0) == judge(-ahead, 2.0) == verdict


@pytest.mark.parametrize("error", [0.0, -1.0, float("nan")])
def test_runs_that_do_not_differ_have_no_verdict(error):
    with pytest.raises(ValueError, match=f"error={error} must be above 0: take runs that differ"):
        judge(1.0, error)

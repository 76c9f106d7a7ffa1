"""How sure a lead is, against SciPy and statsmodels."""

import numpy as np
import pytest
import torch
from scipy import stats
from statsmodels.api import OLS

from coursekit.evaluate.seeds import compare_means, mean_over_groups


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

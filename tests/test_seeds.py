"""How sure a lead is, against SciPy."""

import pytest
import torch
from scipy import stats

from coursekit.evaluate.seeds import compare_means


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

"""Layers written out, against PyTorch's own."""

import pytest
import torch
from torch import nn
from torch.testing import assert_close

from coursekit.layers.basic import BatchNorm1d, Embedding, FlattenConsecutive, Linear

B, T, C, D = 2, 5, 3, 7  # mutually different
EXACT = {"rtol": 0, "atol": 1e-12}


@pytest.fixture(autouse=True)
def _seeded():
    torch.manual_seed(0)


def copy_into(theirs: nn.Module, ours: nn.Module) -> nn.Module:
    theirs = theirs.double()
    theirs.load_state_dict(ours.state_dict(), strict=False)
    return theirs


@pytest.mark.parametrize("shape", [(B, C), (B, T, C), (C,)])
@pytest.mark.parametrize("bias", [True, False])
def test_linear_equals_pytorch(shape, bias):
    ours = Linear(C, D, bias=bias).double()
    if bias:
        ours.bias.data.normal_()
    theirs = copy_into(nn.Linear(C, D, bias=bias), ours)
    x = torch.randn(shape, dtype=torch.float64)
    assert_close(ours(x), theirs(x), **EXACT)


@pytest.mark.parametrize("gain", [0.5, 5 / 3])
def test_linear_gives_variance_gain_squared(gain):
    x = torch.randn(2000, 300)
    assert Linear(300, 400, gain=gain)(x).var().item() == pytest.approx(gain**2, rel=0.03)


def test_a_linear_bias_starts_at_zero():
    assert not Linear(C, D).bias.any()


def test_embedding_equals_pytorch():
    ours = Embedding(D, C).double()
    theirs = copy_into(nn.Embedding(D, C), ours)
    tokens = torch.randint(D, (B, T))
    assert torch.equal(ours(tokens), theirs(tokens))


@pytest.mark.parametrize("layer", [Embedding, nn.Embedding])
@pytest.mark.parametrize("stranger", [-1, D])
def test_an_id_outside_the_vocabulary_has_no_vector(layer, stranger):
    with pytest.raises(IndexError, match="out of range"):
        layer(D, C)(torch.tensor([[1, stranger]]))


def test_only_the_rows_that_were_looked_up_learn():
    table = Embedding(D, C)
    table(torch.tensor([[1, 4], [4, 6]])).square().sum().backward()
    assert (table.weight.grad != 0).any(1).nonzero()[:, 0].tolist() == [1, 4, 6]


def paired_norms(channels=C):
    ours = BatchNorm1d(channels).double()
    ours.weight.data.normal_()
    ours.bias.data.normal_()
    return ours, copy_into(nn.BatchNorm1d(channels), ours)


def test_batch_norm_equals_pytorch_in_both_modes():
    ours, theirs = paired_norms()
    for _ in range(3):
        x = 2 + 3 * torch.randn(D, C, dtype=torch.float64)
        assert_close(ours(x), theirs(x), **EXACT)
        assert_close(ours.running_mean, theirs.running_mean, **EXACT)
        assert_close(ours.running_var, theirs.running_var, **EXACT)
    one = torch.randn(1, C, dtype=torch.float64)
    assert_close(ours.eval()(one), theirs.eval()(one), **EXACT)


def test_momentum_and_epsilon_of_batch_norm_mean_what_pytorchs_mean():
    given = {"momentum": 0.37, "eps": 0.5}
    ours, theirs = BatchNorm1d(C, **given).double(), nn.BatchNorm1d(C, **given).double()
    x = 2 + 3 * torch.randn(D, C, dtype=torch.float64)
    assert_close(ours(x), theirs(x), **EXACT)
    assert_close(ours.running_mean, theirs.running_mean, **EXACT)
    assert_close(ours.eval()(x), theirs.eval()(x), **EXACT)


def test_batch_norm_gradients_equal_pytorch():
    ours, theirs = paired_norms()
    x = torch.randn(D, C, dtype=torch.float64, requires_grad=True)
    w = torch.randn(D, C, dtype=torch.float64)
    gradients = [
        torch.autograd.grad((norm(x) * w).sum(), [x, norm.weight, norm.bias])
        for norm in (ours, theirs)
    ]
    for mine, other in zip(*gradients, strict=True):
        assert_close(mine, other, **EXACT)


def test_batch_norm_takes_statistics_over_batch_and_steps():
    ours, theirs = paired_norms()
    x = torch.randn(B, T, C, dtype=torch.float64)
    assert_close(ours(x), theirs(x.mT).mT, **EXACT)  # PyTorch wants channels in the middle
    assert_close(ours.running_var, theirs.running_var, **EXACT)
    assert ours.running_mean.shape == (C,)


@pytest.mark.parametrize("narrow", [torch.bfloat16, torch.float16])
@pytest.mark.parametrize("whole", [False, True])
def test_batch_norm_of_narrow_numbers_equals_pytorch(narrow, whole):
    ours, theirs = (norm.to(narrow if whole else torch.float32) for norm in paired_norms())
    eps = torch.finfo(narrow).eps
    for _ in range(3):
        x = (2 + 3 * torch.randn(D, C)).to(narrow)
        with torch.autocast("cpu", narrow, enabled=not whole):
            found, expected = ours(x), theirs(x)
        assert found.dtype == expected.dtype == narrow
        assert_close(found, expected, rtol=eps, atol=2 * eps)
        assert_close(ours.running_mean, theirs.running_mean)  # their types are compared, too
        assert_close(ours.running_var, theirs.running_var)
    with torch.autocast("cpu", narrow, enabled=not whole):
        assert_close(ours.eval()(x), theirs.eval()(x), rtol=eps, atol=2 * eps)


def test_the_mean_of_many_narrow_numbers_is_exact():
    x = torch.full((3000, 1), 1.0)
    x[:5] = 200.0  # beside a sum of 1,000 a bfloat16 of 1 is lost
    norm = BatchNorm1d(1, momentum=1.0)
    norm(x.bfloat16())
    assert norm.running_mean.item() == pytest.approx(x.mean().item(), rel=1e-6)


def test_running_statistics_stay_out_of_the_graph():
    norm = BatchNorm1d(C)
    norm(torch.randn(D, C, requires_grad=True))
    assert not norm.running_mean.requires_grad
    assert not norm.running_var.requires_grad


def test_a_constant_channel_gives_its_shift():
    norm = BatchNorm1d(C)
    norm.bias.data.fill_(2)
    assert torch.equal(norm(torch.full((D, C), 5.0)), torch.full((D, C), 2.0))


def test_evaluation_changes_no_statistics():
    norm = BatchNorm1d(C).eval()
    norm(torch.randn(D, C))
    assert not norm.running_mean.any()


def test_batch_norm_refuses_to_train_on_one_vector():
    with pytest.raises(ValueError, match="a batch of 1 has no variance: train on two, or"):
        BatchNorm1d(C)(torch.randn(1, C))


def test_flattening_puts_neighbours_side_by_side():
    x = torch.arange(2 * 4 * 3).view(2, 4, 3)
    y = FlattenConsecutive(2)(x.float())
    assert y.shape == (2, 2, 6)
    assert_close(y, torch.cat([x[:, 0::2], x[:, 1::2]], dim=-1).float())
    assert torch.equal(FlattenConsecutive(4)(x.float())[:, 0], x.float().flatten(1))


@pytest.mark.parametrize(("size", "message"), [(3, "4 steps do not split"), (0, "at least 1")])
def test_flattening_refuses_what_does_not_fit(size, message):
    with pytest.raises(ValueError, match=message):
        FlattenConsecutive(size)(torch.zeros(2, 4, 3))

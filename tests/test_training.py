"""The training loop, the groups that decay, the schedule."""

from itertools import repeat

import pytest
import torch
from torch import nn
from torch.nn import functional as F
from torch.testing import assert_close

from coursekit.training.fit import fit
from coursekit.training.optimiser import adamw, decay_groups, warm_up_cosine


@pytest.fixture
def problem():
    g = torch.Generator().manual_seed(0)
    x, y = torch.randn(13, 3, generator=g), torch.randn(13, 2, generator=g)
    torch.manual_seed(0)
    return nn.Linear(3, 2), x, y


def sgd(model, rate=0.1):
    return torch.optim.SGD(model.parameters(), lr=rate)


def test_fit_does_what_the_bare_loop_does(problem):
    model, x, y = problem
    bare = nn.Linear(3, 2)
    bare.load_state_dict(model.state_dict())
    losses = []
    for step in range(5):
        loss = F.mse_loss(bare(x), y)
        slopes = torch.autograd.grad(loss, list(bare.parameters()))
        norm = torch.cat([s.flatten() for s in slopes]).norm()
        with torch.no_grad():
            for p, s in zip(bare.parameters(), slopes, strict=True):
                p -= 0.1 / (step + 1) * s * min(1.0, 0.5 / norm)
        losses.append(loss.item())
    history = fit(
        model,
        sgd(model),
        repeat((x, y)),
        steps=5,
        loss=F.mse_loss,
        schedule=lambda step: 1 / (step + 1),
        clip=0.5,
    )
    assert history.losses == pytest.approx(losses, rel=1e-5)
    assert history.rates == pytest.approx([0.1 / (k + 1) for k in range(5)])
    assert_close(model.weight, bare.weight, rtol=1e-4, atol=1e-6)


def test_it_measures_on_time_and_at_the_end(problem):
    model, x, y = problem
    calls = []
    history = fit(
        model,
        sgd(model),
        repeat((x, y)),
        steps=7,
        loss=F.mse_loss,
        measure=lambda: F.mse_loss(model(x), y).item(),
        every=3,
        after_step=lambda: calls.append(model.weight.grad.clone()),
    )
    assert [step for step, _ in history.measured] == [3, 6, 7]
    assert history.measured[0][1] == pytest.approx(history.losses[3], rel=1e-6)
    assert len(calls) == len(history.losses) == len(history.seconds) == 7
    assert history.seconds == sorted(history.seconds)


def test_the_rate_is_left_as_it_was_found(problem):
    model, x, y = problem
    optimiser = sgd(model, 0.3)
    batch = repeat((x, y))
    fit(model, optimiser, batch, steps=4, loss=F.mse_loss, schedule=warm_up_cosine(4))
    assert optimiser.param_groups[0]["lr"] == 0.3


def test_two_fits_are_equal():
    finals = []
    for _ in range(2):
        torch.manual_seed(3)
        model = nn.Linear(3, 2)
        x, y = torch.ones(4, 3), torch.ones(4, 2)
        fit(model, adamw(model, 0.1), repeat((x, y)), steps=6, loss=F.mse_loss)
        finals.append(model.weight.detach().clone())
    assert torch.equal(*finals)


def test_it_trains_in_training_mode(problem):
    _, x, y = problem
    model = nn.Sequential(nn.Linear(3, 2), nn.BatchNorm1d(2)).eval()
    fit(model, sgd(model), repeat((x, y)), steps=1, loss=F.mse_loss)
    assert model[1].num_batches_tracked == 1


def test_a_loss_that_is_not_finite_stops_the_training(problem):
    model, x, y = problem
    with pytest.raises(FloatingPointError, match=r"the loss is inf at step \d+: lower the"):
        fit(model, sgd(model, 1e6), repeat((x, y)), steps=100, loss=F.mse_loss)


def test_too_few_batches_are_refused(problem):
    model, x, y = problem
    with pytest.raises(ValueError, match="the batches ran out after 2 steps"):
        fit(model, sgd(model), [(x, y)] * 2, steps=3, loss=F.mse_loss)


def test_no_steps_are_refused(problem):
    model, x, y = problem
    with pytest.raises(ValueError, match="steps=0 must be at least 1"):
        fit(model, sgd(model), repeat((x, y)), steps=0)


def test_a_bar_is_shown_unless_the_run_is_plain(problem, capsys, monkeypatch):
    model, x, y = problem
    for plain, shown in (("1", False), ("", True)):
        monkeypatch.setenv("COURSEKIT_PLAIN", plain)
        fit(model, sgd(model), repeat((x, y)), steps=2, loss=F.mse_loss)
        assert bool(capsys.readouterr().err) == shown


def test_matrices_decay_and_vectors_do_not():
    model = nn.Sequential(nn.Embedding(5, 3), nn.Linear(3, 2), nn.BatchNorm1d(2))
    model[1].bias.requires_grad_(False)
    decays, stays = decay_groups(model, 0.3)
    assert [tuple(p.shape) for p in decays["params"]] == [(5, 3), (2, 3)]
    assert [tuple(p.shape) for p in stays["params"]] == [(2,), (2,)]
    assert (decays["weight_decay"], stays["weight_decay"]) == (0.3, 0.0)


def test_without_slopes_adamw_only_decays():
    model = nn.Linear(3, 2)
    weight, bias = model.weight.detach().clone(), model.bias.detach().clone()
    optimiser = adamw(model, 0.1, weight_decay=0.5)
    for p in model.parameters():
        p.grad = torch.zeros_like(p)
    optimiser.step()
    assert_close(model.weight, weight * 0.95)
    assert torch.equal(model.bias, bias)


def test_the_schedule_rises_and_falls():
    factor = warm_up_cosine(100, warm=0.1, floor=0.2)
    assert factor(0) == pytest.approx(0.1)
    assert factor(9) == factor(10) == 1
    assert factor(55) == pytest.approx(0.6)  # half way down
    assert factor(100) == factor(145) == factor(1000) == pytest.approx(0.2)  # and it stays
    values = [factor(step) for step in range(10, 101)]
    assert values == sorted(values, reverse=True)


def test_the_schedule_equals_pytorchs_cosine():
    parameter = nn.Parameter(torch.zeros(1))
    optimiser = torch.optim.SGD([parameter], lr=1.0)
    theirs = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, 20)
    ours = warm_up_cosine(20, warm=0.0)
    for step in range(20):
        assert ours(step) == pytest.approx(optimiser.param_groups[0]["lr"], abs=1e-9)
        optimiser.step()
        theirs.step()


def test_all_warm_up_is_a_line():
    assert [warm_up_cosine(4, warm=1.0)(k) for k in range(4)] == [0.25, 0.5, 0.75, 1.0]


@pytest.mark.parametrize(
    "wrong", [{"steps": 0}, {"steps": 3, "warm": 2.0}, {"steps": 3, "floor": -1.0}]
)
def test_a_schedule_refuses_what_makes_no_sense(wrong):
    with pytest.raises(ValueError, match="must be at least 1"):
        warm_up_cosine(**wrong)

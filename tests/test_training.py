"""The training loop, how a step is computed, the groups that decay, the schedule."""

import math
from copy import deepcopy
from itertools import repeat

import pytest
import torch
from torch import nn
from torch.nn import functional as F
from torch.testing import assert_close

from coursekit.evaluate.likelihood import NO_TARGET, next_token_loss
from coursekit.training.engine import Engine
from coursekit.training.fit import fit
from coursekit.training.optimiser import adamw, decay_groups, warm_up_cosine


@pytest.fixture
def problem():
    g = torch.Generator().manual_seed(0)
    x, y = torch.randn(13, 3, generator=g), torch.randn(13, 2, generator=g)
    torch.manual_seed(0)
    return nn.Linear(3, 2), x, y


def sgd(model, lr=0.1):
    return torch.optim.SGD(model.parameters(), lr=lr)


def test_fit_does_what_the_bare_loop_does(problem):
    model, x, y = problem
    bare = nn.Linear(3, 2)
    bare.load_state_dict(model.state_dict())
    losses = []
    for step in range(5):
        loss = F.mse_loss(bare(x), y)
        gradients = torch.autograd.grad(loss, list(bare.parameters()))
        norm = torch.cat([s.flatten() for s in gradients]).norm()
        with torch.no_grad():
            for p, s in zip(bare.parameters(), gradients, strict=True):
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
    assert history.learning_rates == pytest.approx([0.1 / (k + 1) for k in range(5)])
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


def test_the_learning_rate_is_left_as_it_was_found(problem):
    model, x, y = problem
    optimiser = sgd(model, 0.3)
    batch = repeat((x, y))
    fit(model, optimiser, batch, steps=4, loss=F.mse_loss, schedule=warm_up_cosine(4))
    assert optimiser.param_groups[0]["lr"] == 0.3


def test_the_learning_rate_is_given_back_after_an_error(problem):
    model, x, y = problem
    optimiser = sgd(model, 0.3)
    with pytest.raises(ValueError, match="batches"):
        fit(model, optimiser, [(x, y)] * 3, steps=9, loss=F.mse_loss, schedule=warm_up_cosine(9))
    assert optimiser.param_groups[0]["lr"] == 0.3


def test_a_model_without_a_matrix_is_trained(problem):
    model = nn.LayerNorm(3)
    x = problem[1]
    history = fit(model, adamw(model, 0.1), repeat((x, x)), steps=9, loss=F.mse_loss)
    assert history.losses[-1] < history.losses[0]


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


@pytest.mark.parametrize("micro_batches", [1, 2])
@pytest.mark.parametrize("precision", [None, torch.float16])
@pytest.mark.parametrize("bad", [torch.nan, torch.inf, 1e6])
def test_a_loss_that_is_not_finite_leaves_weights_and_optimiser_as_they_were(
    problem, precision, bad, micro_batches
):
    model, x, y = problem
    if bad == 1e6 and precision is None:
        bad = 1e30  # beyond what the type holds, once it is multiplied or squared
    optimiser = adamw(model, 0.1, weight_decay=0.1)
    good, spoilt = (x[:12], y[:12]), (x[:12].clone(), y[:12])
    spoilt[0][-1] = bad
    states = []

    def keep():
        states.append(deepcopy((model.state_dict(), optimiser.state_dict()["state"])))

    with pytest.raises(FloatingPointError, match=r"the loss is \w+ at step 2: lower the"):
        fit(
            model,
            optimiser,
            [good, good, spoilt],
            steps=3,
            loss=lambda output, target: F.mse_loss(output.float(), target),
            after_step=keep,
            clip=1.0,
            engine=Engine(precision, micro_batches),
        )
    assert len(states) == 2
    weights, memory = states[-1]
    assert_close(model.state_dict(), weights, rtol=0, atol=0)
    assert_close(optimiser.state_dict()["state"], memory, rtol=0, atol=0)


@pytest.mark.parametrize("clip", [None, 1.0])
@pytest.mark.parametrize("precision", [None, torch.bfloat16])
def test_a_gradient_that_is_not_finite_leaves_weights_and_optimiser_as_they_were(
    problem, precision, clip
):
    model, x, y = problem
    optimiser, states = adamw(model, 0.1, weight_decay=0.1), []

    def distance(output, target):  # its gradient at 0 is 0 · ∞
        gap = (output.float() - target) * (len(states) < 2)
        return gap.square().sum().sqrt()

    def keep():
        states.append(deepcopy((model.state_dict(), optimiser.state_dict()["state"])))

    words = r"norm of the gradients is nan at step 2, though the loss is fin.*set_detect_anomaly"
    with pytest.raises(FloatingPointError, match=words):
        fit(
            model,
            optimiser,
            repeat((x, y)),
            steps=3,
            loss=distance,
            after_step=keep,
            clip=clip,
            engine=Engine(precision),
        )
    weights, memory = states[-1]
    assert_close(model.state_dict(), weights, rtol=0, atol=0)
    assert_close(optimiser.state_dict()["state"], memory, rtol=0, atol=0)


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


class Noisy(torch.optim.SGD):
    """SGD that keeps the gradients which it was given."""

    def step(self, closure=None):
        self.seen = [p.grad.clone() for group in self.param_groups for p in group["params"]]
        return super().step(closure)


def gradients(problem, engine, *, clip=None, factor=1.0):
    """The gradients that reach the optimiser in one step of a fresh copy of the model."""
    model, x, y = problem
    model = deepcopy(model)
    optimiser = Noisy(model.parameters(), lr=0.1)
    history = fit(
        model,
        optimiser,
        repeat((x, y)),
        steps=1,
        loss=lambda output, target: factor * F.mse_loss(output.float(), target),
        clip=clip,
        engine=engine,
    )
    return optimiser.seen, history


def halves(problem):
    """The problem in numbers that float16 holds exactly, and so do their sums and products."""
    model, x, y = problem
    with torch.no_grad():
        for p in model.parameters():
            p.copy_((4 * p).round() / 4)
    return model, x[:8].sign(), y[:8].sign()


@pytest.mark.parametrize("precision", [torch.bfloat16, torch.float16])
def test_gradients_that_a_narrow_type_holds_come_out_as_in_float32(problem, precision):
    narrow, _ = gradients(halves(problem), Engine(precision))
    wide, _ = gradients(halves(problem), Engine())
    assert all(torch.equal(n, w) for n, w in zip(narrow, wide, strict=True))


def test_gradients_too_small_for_float16_survive_by_the_scale(problem):
    factor = 2.0**-27  # the smallest float16 is 2⁻²⁴
    small, _ = gradients(halves(problem), Engine(torch.float16), factor=factor)
    whole, _ = gradients(halves(problem), Engine())
    assert all(torch.equal(s / factor, w) for s, w in zip(small, whole, strict=True))


@pytest.mark.parametrize("precision", [None, torch.float16])
def test_gradients_are_clipped_after_they_are_unscaled(problem, precision):
    clipped, _ = gradients(problem, Engine(precision), clip=0.5)
    assert torch.cat([s.flatten() for s in clipped]).norm() == pytest.approx(0.5, rel=1e-4)


def test_a_step_whose_gradients_overflow_is_skipped_and_the_scale_halved(problem):
    model, x, y = problem
    before = model.weight.clone()
    engine = Engine(torch.float16)
    history = fit(
        model,
        adamw(model, 0.1),
        repeat((x, y)),
        steps=2,
        loss=lambda output, target: 1e3 * F.mse_loss(output.float(), target),
        engine=engine,
        clip=1.0,
    )
    assert history.skipped == [0, 1]
    assert torch.equal(model.weight, before)
    assert engine.scaler.get_scale() == 2.0**14
    assert len(history.losses) == 2


def test_without_float16_nothing_is_scaled_or_skipped(problem):
    model, x, y = problem
    for precision in (None, torch.bfloat16):
        engine = Engine(precision)
        assert fit(model, sgd(model), repeat((x, y)), steps=2, engine=engine).skipped == []
        assert engine.scaler.get_scale() == 1


def test_weights_stay_in_float32_and_products_do_not(problem):
    model, x, y = problem
    seen = []

    def loss(output, target):
        seen.append(output.dtype)
        return F.mse_loss(output.float(), target)

    fit(model, sgd(model), repeat((x, y)), steps=1, loss=loss, engine=Engine(torch.bfloat16))
    fit(model, sgd(model), repeat((x, y)), steps=1, loss=loss)
    assert seen == [torch.bfloat16, torch.float32]
    assert model.weight.dtype == model.weight.grad.dtype == torch.float32


def test_a_type_that_is_not_half_is_refused():
    with pytest.raises(ValueError, match=r"precision=torch.int8: use torch.bfloat16, torch.flo"):
        Engine(torch.int8)


@pytest.mark.parametrize("micro_batches", [2, 3, 6])
def test_a_batch_in_micro_batches_makes_the_same_step(micro_batches):
    torch.manual_seed(0)
    model, x = nn.Linear(3, 2).double(), torch.randn(6, 3, dtype=torch.float64)
    whole = fit(copy := deepcopy(model), sgd(copy), repeat((x, x[:, :2])), steps=4)
    split = fit(
        model,
        sgd(model),
        repeat((x, x[:, :2])),
        steps=4,
        engine=Engine(micro_batches=micro_batches),
    )
    assert_close(torch.tensor(split.losses), torch.tensor(whole.losses))
    assert_close(model.weight, copy.weight)


class KnownError:
    """The mean squared error over the values that are not missing."""

    def __call__(self, output, targets):
        return (output - targets)[self.known(targets)].square().mean()

    def count(self, targets):
        return int(self.known(targets).sum())

    @staticmethod
    def known(targets):
        return targets.isfinite()


def ids_with_gaps():
    """A model of 7 ids, four texts of six, and targets: 6, 1, 3 and none of them."""
    torch.manual_seed(0)
    model = nn.Sequential(nn.Embedding(7, 5), nn.Linear(5, 7)).double()
    x, y = torch.randint(7, (2, 4, 6))
    for row, n in enumerate((6, 1, 3, 0)):
        y[row, n:] = NO_TARGET
    by_hand = sum(-model(x)[b, t].log_softmax(0)[y[b, t]] for b, t in (y >= 0).nonzero()) / 10
    return model, x, y, next_token_loss, by_hand


def labels_with_gaps():
    """A classifier of four rows, of which one has a label, and PyTorch's own loss."""
    torch.manual_seed(0)
    model, x, y = nn.Linear(3, 5).double(), torch.randn(4, 3).double(), torch.full((4,), NO_TARGET)
    y[2] = 4
    return model, x, y, F.cross_entropy, -model(x[2]).log_softmax(0)[4]


def values_with_gaps():
    """A regression of four rows, with 2, 1, 0 and 2 values."""
    torch.manual_seed(0)
    model, x, y = nn.Linear(3, 2).double(), torch.randn(4, 3).double(), torch.randn(4, 2).double()
    y[1, 0] = y[2] = torch.nan
    there = [(0, 0), (0, 1), (1, 1), (3, 0), (3, 1)]
    return model, x, y, KnownError(), sum((model(x)[i] - y[i]).square() for i in there) / 5


@pytest.mark.parametrize("micro_batches", [1, 2, 4])
@pytest.mark.parametrize("make", [ids_with_gaps, labels_with_gaps, values_with_gaps])
def test_each_target_weighs_the_same_in_whichever_micro_batch_it_is(make, micro_batches):
    model, x, y, loss, by_hand = make()
    expected = torch.autograd.grad(by_hand, list(model.parameters()))
    engine = Engine(micro_batches=micro_batches).start(model, sgd(model))
    assert engine.backward(loss, x, y).item() == pytest.approx(by_hand.item(), abs=1e-12)
    for p, gradient in zip(model.parameters(), expected, strict=True):
        assert_close(p.grad, gradient, rtol=0, atol=1e-12)


@pytest.mark.parametrize("micro_batches", [1, 2])
@pytest.mark.parametrize("make", [ids_with_gaps, labels_with_gaps, values_with_gaps])
def test_a_batch_without_any_target_is_refused(make, micro_batches):
    model, x, y, loss, _ = make()
    none = torch.full_like(y, torch.nan if y.is_floating_point() else NO_TARGET)
    with pytest.raises(ValueError, match=r"no target .* counts .*-100.*: leave out what"):
        fit(
            model,
            sgd(model),
            repeat((x, none)),
            steps=1,
            loss=loss,
            engine=Engine(micro_batches=micro_batches),
        )


def test_a_micro_batch_without_targets_adds_nothing_in_float16_either():
    model, x = nn.Linear(3, 40_000, bias=False), torch.tensor([[1.0, 1, 1], [4, 4, 4]])
    nn.init.ones_(model.weight)  # outputs of 3 and 12: their sum exceeds 65,504, float16's largest
    engine = Engine(torch.float16, micro_batches=2).start(model, sgd(model))

    def half(output, target):  # a gradient of -1 would exceed it too, once it is scaled
        return F.cross_entropy(output, target) / 2

    loss = engine.backward(half, x, torch.tensor([3, NO_TARGET]))
    assert loss.item() == pytest.approx(math.log(40_000) / 2, rel=1e-3)
    assert_close(model.weight.grad[3] / 2.0**16, torch.full((3,), -0.5), rtol=1e-3, atol=0)


@pytest.mark.parametrize("micro_batches", [1, 3])
def test_several_inputs_are_handed_over_one_by_one(micro_batches):
    torch.manual_seed(0)
    model, (a, b) = nn.Bilinear(3, 5, 2).double(), (torch.randn(6, n).double() for n in (3, 5))
    target, before = torch.randn(6, 2).double(), model.weight.detach().clone()
    (gradient,) = torch.autograd.grad(F.mse_loss(model(a, b), target), [model.weight])
    batches, engine = repeat(((a, b), target)), Engine(micro_batches=micro_batches)
    fit(model, sgd(model), batches, steps=1, loss=F.mse_loss, engine=engine)
    assert_close(model.weight, before - 0.1 * gradient)


def test_inputs_and_targets_of_different_rows_are_refused():
    model, x = nn.Linear(3, 2), torch.randn(6, 3)
    with pytest.raises(ValueError, match=r"have \[5, 6\] rows: give all the same"):
        fit(model, sgd(model), repeat((x, x[:5, :2])), steps=1)


@pytest.mark.parametrize("micro_batches", [0, 4, 26])
def test_micro_batches_of_unequal_size_are_refused(problem, micro_batches):
    model, x, y = problem
    with pytest.raises(
        ValueError, match=r"a batch of 13 rows can't be split evenly .* choose a ba"
    ):
        fit(model, sgd(model), repeat((x, y)), steps=1, engine=Engine(micro_batches=micro_batches))


def test_matrices_decay_and_vectors_do_not():
    model = nn.Sequential(nn.Embedding(5, 3), nn.Linear(3, 2), nn.BatchNorm1d(2))
    model[1].bias.requires_grad_(False)
    decays, stays = decay_groups(model, 0.3)
    assert [tuple(p.shape) for p in decays["params"]] == [(5, 3), (2, 3)]
    assert [tuple(p.shape) for p in stays["params"]] == [(2,), (2,)]
    assert (decays["weight_decay"], stays["weight_decay"]) == (0.3, 0.0)


def test_without_gradients_adamw_only_decays():
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

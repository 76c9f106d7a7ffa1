"""How gradients become a step: AdamW written out, matrices turned, and which rule moves what."""

from itertools import pairwise

import pytest
import torch
from torch import nn
from torch.nn import functional as F
from torch.testing import assert_close

from coursekit.models.gpt import GPT, GPTConfig
from coursekit.training.optimiser import (
    Muon,
    PlainAdamW,
    adam_direction,
    adamw,
    decay_groups,
    muon,
    orthogonalise,
)

SIZES = GPTConfig(vocab_size=11, context=5, n_layer=2, n_head=2, d_model=6)


def small_gpt(seed=0):
    torch.manual_seed(seed)
    return GPT(SIZES).double()


def gradients_of(model, step):
    g = torch.Generator().manual_seed(step)
    tokens = torch.randint(11, (3, 6), generator=g)
    model.zero_grad()
    F.cross_entropy(model(tokens[:, :-1]).flatten(0, 1), tokens[:, 1:].flatten()).backward()


def test_the_written_out_adamw_is_pytorchs():
    ours, theirs = small_gpt(), small_gpt()
    options = {"betas": (0.8, 0.97), "eps": 1e-6}
    plain = PlainAdamW(decay_groups(ours, 0.3), 0.01, **options)
    fused = torch.optim.AdamW(decay_groups(theirs, 0.3), lr=0.01, **options)
    for step in range(50):
        for model, optimiser in ((ours, plain), (theirs, fused)):
            gradients_of(model, step)
            optimiser.step()
    for p, q in zip(ours.parameters(), theirs.parameters(), strict=True):
        assert_close(p, q, rtol=0, atol=1e-7)


def test_the_default_settings_of_the_written_out_adamw_are_pytorchs():
    group = PlainAdamW([torch.zeros(3)], 0.1).param_groups[0]
    theirs = torch.optim.AdamW([torch.zeros(3)]).param_groups[0]
    assert all(group[k] == theirs[k] for k in ("betas", "eps", "weight_decay"))


def test_the_first_direction_is_the_sign_of_the_gradient():
    gradient = torch.tensor([2e-4, -3.0, 0.5], dtype=torch.float64)
    assert_close(adam_direction(gradient, {}), gradient.sign(), rtol=0, atol=1e-4)


def test_a_steady_gradient_keeps_its_direction_and_length():
    memory, gradient = {}, torch.tensor([2.0, -0.1], dtype=torch.float64)
    for _ in range(30):
        assert_close(adam_direction(gradient, memory), gradient.sign(), rtol=0, atol=1e-6)
    assert memory["step"] == 30


def test_a_parameter_without_a_gradient_stays():
    moved, idle = (nn.Parameter(torch.ones(2)) for _ in range(2))
    moved.grad = torch.ones(2)
    PlainAdamW([moved, idle], 0.1, weight_decay=0.5).step()
    assert_close(idle.detach(), torch.ones(2))
    assert (moved < 1).all()


@pytest.mark.parametrize("shape", [(7, 5), (5, 7), (6, 6), (2, 3, 5, 7)])
def test_orthogonalising_keeps_the_axes_and_evens_the_singular_values(shape):
    matrices = torch.randn(shape, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    u, values, vh = torch.linalg.svd(matrices, full_matrices=False)
    turned = u.mT @ orthogonalise(matrices) @ vh.mT
    evened = turned.diagonal(dim1=-2, dim2=-1)
    assert_close(turned, torch.diag_embed(evened), atol=1e-9, rtol=0)  # the same axes
    enough = values > 0.01 * values.norm(dim=-1, keepdim=True)
    assert enough.float().mean() > 0.9
    assert ((evened > 0.65) & (evened < 1.25))[enough].all()


def test_orthogonalising_does_not_see_the_size_of_a_matrix():
    matrix = torch.randn(4, 6, dtype=torch.float64)
    assert_close(orthogonalise(1e-4 * matrix), orthogonalise(matrix), rtol=1e-2, atol=1e-3)
    assert_close(orthogonalise(torch.zeros(4, 6)), torch.zeros(4, 6))


def test_matrices_of_a_stack_do_not_see_each_other():
    stack = (
        torch.randn(3, 4, 6, dtype=torch.float64) * torch.tensor([1.0, 1e-3, 20.0])[:, None, None]
    )
    assert_close(orthogonalise(stack)[1], orthogonalise(stack[1]), rtol=1e-5, atol=1e-6)


def test_each_round_follows_the_polynomial():
    values = torch.tensor([0.6, 0.3, 0.05], dtype=torch.float64)
    values = values / values.norm()
    expected = values
    for _ in range(3):
        expected = 3.4445 * expected - 4.7750 * expected**3 + 2.0315 * expected**5
    assert_close(orthogonalise(values.diag(), 3), expected.diag(), atol=1e-6, rtol=0)


def turned_by_hand(matrix):
    """U p⁵(S) Vᵀ: the polynomial, five times, on the singular values of an exact decomposition."""
    u, values, vh = torch.linalg.svd(matrix, full_matrices=False)
    values = values / values.norm()
    for _ in range(5):
        values = 3.4445 * values - 4.7750 * values**3 + 2.0315 * values**5
    return u @ values.diag() @ vh


def muon_by_hand(weight, gradients, lr, momentum, decay):
    """One matrix at a time, with the singular values of `turned_by_hand`."""
    mean = torch.zeros_like(weight)
    for gradient in gradients:
        mean = momentum * mean + (1 - momentum) * gradient
        ahead = (1 - momentum) * gradient + momentum * mean
        scale = max(1.0, weight.shape[0] / weight.shape[1]) ** 0.5
        weight = (1 - lr * decay) * weight - lr * scale * turned_by_hand(ahead)
    return weight


def test_muon_moves_each_matrix_by_its_formula():
    shapes = [(8, 3), (3, 8), (8, 3)]  # two of one shape are stacked
    g = torch.Generator().manual_seed(2)
    weights = [torch.randn(s, dtype=torch.float64, generator=g) for s in shapes]
    gradients = [
        [torch.randn(s, dtype=torch.float64, generator=g) for s in shapes] for _ in range(4)
    ]
    parameters = [nn.Parameter(w.clone()) for w in weights]
    group = {"params": parameters, "momentum": 0.9, "weight_decay": 0.2}
    optimiser = Muon([group], 0.05)
    for step in gradients:
        for p, gradient in zip(parameters, step, strict=True):
            p.grad = gradient.clone()
        optimiser.step()
    for i, p in enumerate(parameters):
        expected = muon_by_hand(weights[i], [s[i] for s in gradients], 0.05, 0.9, 0.2)
        # The 1e-7 beside the norm moves a singular value by less than 1e-6; four steps of 0.05.
        assert_close(p.detach(), expected, rtol=0, atol=2e-7)


@pytest.mark.skipif(not hasattr(torch.optim, "Muon"), reason="this PyTorch has no Muon (from 2.9)")
@pytest.mark.parametrize("narrow", [False, True])
def test_muon_moves_matrices_as_pytorchs_does(monkeypatch, narrow):
    shapes, g = [(8, 3), (3, 8), (5, 5)], torch.Generator().manual_seed(4)
    weights = [torch.randn(s, dtype=torch.float64, generator=g) for s in shapes]
    ours, theirs = ([nn.Parameter(w.clone()) for w in weights] for _ in range(2))
    group = {"params": ours, "momentum": 0.8, "weight_decay": 0.3}
    settings = {"lr": 0.05, "momentum": 0.8, "weight_decay": 0.3}
    rules = [Muon([group], 0.05), torch.optim.Muon(theirs, **settings)]
    if not narrow:  # theirs turns a copy in bfloat16: let that copy be exact
        monkeypatch.setattr(torch.Tensor, "bfloat16", torch.Tensor.double)
    for _ in range(6):
        for p, q in zip(ours, theirs, strict=True):
            p.grad = torch.randn(p.shape, dtype=torch.float64, generator=g)
            q.grad = p.grad.clone()
        for rule in rules:
            rule.step()
    # Exact: as above, six steps. In bfloat16 a factor has 8 bits: over 20 seeds the difference was
    # at most 0.005, after six steps of 0.05.
    for p, q in zip(ours, theirs, strict=True):
        assert_close(p.detach(), q.detach(), rtol=0, atol=0.01 if narrow else 4e-7)


def test_a_step_of_muon_is_as_long_in_every_direction():
    p = nn.Parameter(torch.zeros(4, 4, dtype=torch.float64))
    p.grad = torch.diag(torch.tensor([1.0, 0.5, 0.1, 0.02], dtype=torch.float64))
    Muon([{"params": [p], "momentum": 0.95}], 0.1).step()
    lengths = -p.detach().diagonal()
    assert lengths.max() / lengths.min() < 1.8  # the gradients differ by a factor of 50


def test_muon_takes_the_matrices_of_the_blocks_and_adamw_all_else():
    model = small_gpt()
    optimiser = muon(model, 0.02, rest_lr=0.003, momentum=0.8, weight_decay=0.1)
    names = {id(p): name for name, p in model.named_parameters()}
    matrices, tables, vectors = (
        sorted(names[id(p)] for p in group["params"]) for group in optimiser.param_groups
    )
    assert len(matrices) == 2 * 6
    assert all(name.startswith("blocks.") and name.endswith("weight") for name in matrices)
    assert tables == ["embedding.weight", "positions.weight"]  # the head shares the embedding
    assert len(matrices) + len(tables) + len(vectors) == len(names)
    settings = [(g["lr"], g["weight_decay"], g.get("momentum")) for g in optimiser.param_groups]
    assert settings == [(0.02, 0.1, 0.8), (0.003, 0.1, None), (0.003, 0.0, None)]


def test_the_settings_of_adamw_are_those_it_names():
    model = nn.Sequential(nn.Linear(3, 2), nn.LayerNorm(2))
    for lr, decay in ((0.1, 0.0), (0.02, 0.3)):
        optimiser = adamw(model, lr, weight_decay=decay)
        groups = optimiser.param_groups
        assert [(g["lr"], g["weight_decay"]) for g in groups] == [(lr, decay), (lr, 0.0)]
        assert all((g["betas"], g["eps"]) == ((0.9, 0.99), 1e-8) for g in groups)
    assert adamw(model, 0.1).param_groups[0]["weight_decay"] == 0.0


def test_the_settings_of_muon_that_are_not_given_are_those_it_names():
    optimiser = muon(small_gpt(), 0.02, rest_lr=0.003)
    assert optimiser.param_groups[0]["momentum"] == 0.9
    assert all(g["weight_decay"] == 0.0 for g in optimiser.param_groups)
    assert all((g["betas"], g["eps"]) == ((0.9, 0.99), 1e-8) for g in optimiser.param_groups)


def test_what_is_not_a_matrix_of_a_block_moves_as_adamw_moves_it():
    ours, theirs = small_gpt(), small_gpt()
    optimiser = muon(ours, 0.02, rest_lr=0.01, weight_decay=0.1)
    reference = adamw(theirs, 0.01, weight_decay=0.1)
    for model, rule in ((ours, optimiser), (theirs, reference)):
        gradients_of(model, 0)
        rule.step()
    matrices = {id(p) for p in optimiser.param_groups[0]["params"]}
    for p, q in zip(ours.parameters(), theirs.parameters(), strict=True):
        assert torch.allclose(p, q, rtol=0, atol=1e-7) != (id(p) in matrices)


def test_a_training_with_muon_goes_on_from_its_state():
    through, stopped = small_gpt(), small_gpt()
    first, before = (muon(m, 0.02, rest_lr=0.01) for m in (through, stopped))
    for step in range(3):
        for model, rule in ((through, first), (stopped, before)):
            gradients_of(model, step)
            rule.step()
    after = muon(stopped, 0.02, rest_lr=0.01)
    after.load_state_dict(before.state_dict())
    for step in range(3, 5):
        for model, rule in ((through, first), (stopped, after)):
            gradients_of(model, step)
            rule.step()
    for p, q in zip(through.parameters(), stopped.parameters(), strict=True):
        assert_close(p, q)


def test_muon_asks_for_blocks():
    with pytest.raises(ValueError, match="use adamw"):
        muon(nn.Linear(3, 3), 0.02, rest_lr=0.01)


@pytest.mark.parametrize("make", [lambda m: adamw(m, 0.01), lambda m: muon(m, 0.05, rest_lr=0.01)])
def test_one_batch_is_learnt(make):
    model = small_gpt()
    optimiser, losses = make(model), []
    tokens = torch.randint(11, (2, 6), generator=torch.Generator().manual_seed(3))
    for _ in range(60):
        loss = F.cross_entropy(model(tokens[:, :-1]).flatten(0, 1), tokens[:, 1:].flatten())
        model.zero_grad()
        loss.backward()
        optimiser.step()
        losses.append(loss.item())
    assert losses[-1] < 0.55 * losses[0]
    assert sum(b < a for a, b in pairwise(losses[:20])) > 12

"""The likelihood of images, and images that are drawn."""

import math

import pytest
import torch
from torch import nn
from torch.testing import assert_close

from coursekit.evaluate.images import (
    all_images,
    image_nll,
    mixture_nll,
    table_of_nll,
    total_probability,
)
from coursekit.models.made import FVSBN, MADE, IndependentPixels, MADEConfig
from coursekit.sample import sample_images

N = 6
ORDER = torch.tensor([3, 0, 5, 1, 4, 2])


def woken(model):
    g = torch.Generator().manual_seed(0)
    for p in model.parameters():
        p.data = torch.randn(p.shape, generator=g)
    return model.double()


class AverageOfLogits(nn.Module):
    def __init__(self, models):
        super().__init__()
        self.models = nn.ModuleList(models)

    def forward(self, images):
        return torch.stack([model(images) for model in self.models]).mean(0)


def test_the_nll_of_an_image_is_the_sum_over_its_pixels():
    model = woken(FVSBN(N))
    images = all_images(N)[[5, 17, 42]]
    p = model(images).sigmoid()
    by_hand = -torch.where(images == 1, p, 1 - p).log().sum(1)
    assert_close(image_nll(model, images), by_hand.detach())
    assert_close(
        image_nll(IndependentPixels(N).double(), images), torch.full((3,), N * math.log(2)).double()
    )


@pytest.mark.parametrize("grey", [0.5, 2.0, -1.0, float("nan")])
def test_an_image_that_is_not_binary_is_refused(grey):
    images = torch.zeros(3, N)
    images[1, 4] = grey
    with pytest.raises(ValueError, match="neither 0 nor 1: binarise the images first"):
        image_nll(FVSBN(N), images)


def test_no_images_and_too_many_are_refused():
    with pytest.raises(ValueError, match="no images to score"):
        image_nll(FVSBN(N), torch.zeros(0, N))
    with pytest.raises(ValueError, match=r"2\^21 images are too many"):
        total_probability(FVSBN(21), 21)


def test_all_images_are_different_and_in_the_order_of_numbers():
    images = all_images(5)
    assert images.shape == (32, 5)
    assert torch.equal(
        images @ torch.tensor([16.0, 8, 4, 2, 1]).double(), torch.arange(32).double()
    )


def test_many_images_are_scored_in_parts(monkeypatch):
    model, images = woken(FVSBN(N)), all_images(N)
    whole = image_nll(model, images)
    monkeypatch.setattr("coursekit.evaluate.images.AT_ONCE", 7)
    assert_close(image_nll(model, images), whole)


def test_a_mixture_averages_probabilities_and_does_not_underflow():
    each = torch.tensor([[1.0, 900.0], [2.0, 901.0], [4.0, 950.0]], dtype=torch.float64)
    by_hand = -torch.log((-each[:, 0]).exp().mean())
    found = mixture_nll(each)
    assert found[0] == pytest.approx(by_hand.item(), abs=1e-12)
    assert found[1] == pytest.approx(900 + math.log(3) - math.log1p(math.exp(-1)), abs=1e-6)


def test_a_mixture_of_orders_sums_to_one_and_averaged_logits_do_not():
    orders = [torch.arange(N), ORDER, ORDER.flip(0)]
    models = [woken(MADE(MADEConfig(n_pixels=N, d_hidden=12), order)) for order in orders]
    images = all_images(N)
    mixed = mixture_nll(torch.stack([image_nll(model, images) for model in models]))
    assert mixed.neg().exp().sum().item() == pytest.approx(1, abs=1e-12)
    assert abs(total_probability(AverageOfLogits(models), N) - 1) > 0.02
    same_order = [woken(MADE(MADEConfig(n_pixels=N, d_hidden=k), ORDER)) for k in (7, 12)]
    assert total_probability(AverageOfLogits(same_order), N) == pytest.approx(1, abs=1e-12)


def test_two_equal_pixels_that_give_each_other_away_have_a_sum_of_two():
    def model(order):
        one = FVSBN(2, torch.tensor(order))
        one.layer.weight.data.fill_(200.0)
        one.layer.bias.data = torch.tensor([-100.0, -100.0])
        one.layer.bias.data[order[0]] = 0.0
        return one

    both = [model([0, 1]), model([1, 0])]
    assert total_probability(both[0], 2) == pytest.approx(1)
    assert total_probability(AverageOfLogits(both), 2) == pytest.approx(2, abs=1e-6)


def test_images_come_as_often_as_the_model_says():
    model = woken(MADE(MADEConfig(n_pixels=N, d_hidden=12), ORDER))
    n = 20_000
    drawn = sample_images(model, n, torch.Generator().manual_seed(0))
    codes = (drawn @ (2.0 ** torch.arange(N - 1, -1, -1)).double()).long()
    p = image_nll(model, all_images(N)).neg().exp()
    error = (torch.bincount(codes, minlength=2**N) / n - p) / (p * (1 - p) / n).sqrt()
    assert error.abs().max() < 4.5  # standard errors, of 64 frequencies


def test_the_same_generator_draws_the_same_images():
    model = woken(FVSBN(N))
    first, again, other = (
        sample_images(model, 9, torch.Generator().manual_seed(seed)) for seed in (1, 1, 2)
    )
    assert torch.equal(first, again)
    assert not torch.equal(first, other)
    assert model.training


def test_no_image_is_no_request():
    with pytest.raises(ValueError, match="n=0 images: ask for one or more"):
        sample_images(FVSBN(N), 0, torch.Generator())


def test_a_table_says_how_far_each_row_is_behind_the_best():
    g = torch.Generator().manual_seed(0)
    better = torch.rand(3, 50, generator=g).double()
    worse = better[:1] + 0.5 + 0.1 * torch.randn(1, 50, generator=g)
    difference = worse[0] - better.mean(0)
    error = difference.std(correction=0) / 50**0.5
    first, second = table_of_nll({"worse": worse, "best of three": better}).split("\n")
    said = f"{worse.mean():.2f}  behind by {difference.mean():.2f} ± {error:.2f}"
    assert first == f"{'worse':13}  {said}"
    assert second == f"best of three  {better.mean():.2f}"

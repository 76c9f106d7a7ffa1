"""Models of images, one pixel after the other: exact, because all small images can be tried."""

import math
from itertools import product
from pathlib import Path

import pytest
import torch
from torch import nn
from torch.nn import functional as F
from torch.testing import assert_close

from coursekit import data
from coursekit.evaluate.images import all_images, image_nll, total_probability
from coursekit.inside.certify import certify
from coursekit.layers.masked import MaskedConv2d, TwoStackConv2d, earlier
from coursekit.models.made import (
    FVSBN,
    MADE,
    IndependentPixels,
    MADEConfig,
    PixelNetworks,
    made_masks,
)
from coursekit.models.pixel_cnn import BlindPixelCNN, PixelCNN, PixelCNNConfig

B, N = 4, 10
ORDER = torch.tensor([4, 0, 7, 9, 2, 1, 8, 3, 6, 5])
SIZES = {"rows": 2, "columns": 5, "d_model": 3}


def woken(model):
    """Give every parameter a draw: zeros at the start would hide what depends on what."""
    g = torch.Generator().manual_seed(0)
    for p in model.parameters():
        p.data = 0.7 * torch.randn(p.shape, generator=g)
    return model.double().eval()


MODELS = {
    "independent": lambda: IndependentPixels(N),
    "fvsbn": lambda: FVSBN(N),
    "fvsbn in an order": lambda: FVSBN(N, ORDER),
    "networks": lambda: PixelNetworks(N, 3, ORDER),
    "made": lambda: MADE(MADEConfig(n_pixels=N, d_hidden=23)),
    "made, deep, in an order": lambda: MADE(MADEConfig(n_pixels=N, d_hidden=23, n_hidden=3), ORDER),
    "made, narrow": lambda: MADE(MADEConfig(n_pixels=N, d_hidden=4, n_hidden=2), ORDER),
    "pixel cnn": lambda: PixelCNN(PixelCNNConfig(n_layer=3, **SIZES)),
    "pixel cnn, blind": lambda: BlindPixelCNN(PixelCNNConfig(n_layer=3, **SIZES)),
    "no coordinates": lambda: PixelCNN(PixelCNNConfig(n_layer=2, coordinates=False, **SIZES)),
}


def gradients(model):
    """The largest gradient of each output at each input, over random images."""
    images = torch.randn(5, N, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    found = torch.autograd.functional.jacobian(lambda x: model(x).sum(0), images)
    return found.abs().amax(1)


@pytest.mark.parametrize("name", MODELS)
def test_the_probabilities_of_all_images_sum_to_one(name):
    assert total_probability(woken(MODELS[name]()), N) == pytest.approx(1, abs=1e-12)


@pytest.mark.parametrize("name", MODELS)
def test_no_pixel_depends_on_itself_or_on_a_later_one(name):
    model = woken(MODELS[name]())
    assert (gradients(model)[~earlier(model.order)] == 0).all()


@pytest.mark.parametrize("name", ["fvsbn", "fvsbn in an order", "made", "made, deep, in an order"])
def test_each_pixel_depends_on_every_earlier_one(name):
    model = woken(MODELS[name]())
    assert (gradients(model)[earlier(model.order)] > 0).all()


def test_with_layers_enough_a_pixel_cnn_reads_every_earlier_pixel_and_a_blind_one_does_not():
    sizes = PixelCNNConfig(rows=2, columns=5, d_model=8, n_layer=5)
    whole, blind = (gradients(woken(kind(sizes))) > 0 for kind in (PixelCNN, BlindPixelCNN))
    assert torch.equal(whole, torch.ones(N, N).tril(-1).bool())
    assert not blind[5, 2:5].any()  # below the first pixel, the right end of the row above
    assert blind[5, :2].all()


def test_certified_without_a_look_at_what_comes_later():
    model = woken(PixelCNN(PixelCNNConfig(n_layer=3, **SIZES)))
    x = torch.randn(B, N, 1, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    assert certify(lambda x: model(x.flatten(1)).unsqueeze(-1), x, strict=True).holds


@pytest.mark.parametrize("name", MODELS)
def test_images_of_another_size_are_refused(name):
    with pytest.raises(ValueError, match="images of 12 pixels, and a model for 10"):
        MODELS[name]()(torch.zeros(B, 12))


def test_fvsbn_is_a_chain_of_logistic_regressions():
    model = woken(FVSBN(N))
    images = all_images(N)[::7]
    for d in range(N):
        logit = model.layer.bias[d] + images[:, :d] @ model.layer.weight[d, :d]
        assert_close(model(images)[:, d], logit)
    counted = model.layer.allowed.sum() + model.layer.bias.numel()
    assert counted == N * (N + 1) // 2
    assert 64 * 65 // 2 == 2080
    assert 784 * 785 // 2 == 307_720


def test_the_first_pixel_of_an_fvsbn_has_a_bias_only_which_learns_its_mean():
    images = torch.tensor([[1.0, 0, 1], [0, 1, 1], [1, 1, 0], [1, 1, 1]])
    model = FVSBN(3)
    optimiser = torch.optim.LBFGS(model.parameters(), max_iter=200)

    def closure():
        optimiser.zero_grad()
        loss = F.binary_cross_entropy_with_logits(model(images), images)
        loss.backward()
        return loss

    optimiser.step(closure)
    assert model.layer.bias[0].sigmoid().item() == pytest.approx(0.75, abs=1e-4)
    assert not model.layer.allowed[0].any()


def test_at_the_start_every_model_but_the_counted_one_knows_nothing():
    for name in MODELS:
        nll = image_nll(MODELS[name](), all_images(N, torch.float32)[:5])
        assert_close(nll, torch.full((5,), N * math.log(2)), rtol=0, atol=1e-5)


def test_networks_of_pixels_equal_networks_one_by_one():
    model, h = woken(PixelNetworks(N, 3, ORDER)), 3
    images = all_images(N)[::11]
    known = torch.zeros(N, dtype=torch.bool)
    for pixel in ORDER.tolist():
        mine = slice(h * pixel, h * pixel + h)
        first = nn.Linear(N, h).double()
        first.weight.data = model.hidden.weight[mine] * known
        first.bias.data = model.hidden.bias[mine]
        logit = first(images).relu() @ model.output.weight[pixel, mine] + model.output.bias[pixel]
        assert_close(model(images)[:, pixel], logit)
        known[pixel] = True
    used = sum(layer.allowed.sum() + len(layer.bias) for layer in (model.hidden, model.output))
    assert used == h * N * (N - 1) // 2 + 2 * h * N + N


@pytest.mark.parametrize(("width", "n_hidden"), list(product([4, 9, 23], [1, 2])))
def test_the_masks_join_each_pixel_with_all_earlier_ones_and_no_other(width, n_hidden):
    paths = torch.eye(N)
    for mask in made_masks(ORDER, [width] * n_hidden):
        paths = mask.float() @ paths
    assert not paths[~earlier(ORDER)].any()
    if width >= N - 1:
        assert paths[earlier(ORDER)].all()


def test_counting_gives_the_frequencies_and_no_pixel_is_ruled_out():
    images = torch.tensor([[1.0, 0, 0], [1, 1, 0], [0, 1, 0]])
    p = IndependentPixels.count(images, alpha=0.5)(images)[0].sigmoid()
    assert_close(p, torch.tensor([2.5 / 4, 2.5 / 4, 0.5 / 4]))
    assert_close(
        IndependentPixels.count(images, alpha=0)(images)[0, :2].sigmoid(), torch.full((2,), 2 / 3)
    )


def test_dropout_is_for_training_only():
    torch.manual_seed(0)
    model = woken(MADE(MADEConfig(n_pixels=N, d_hidden=50, dropout=0.5)))
    images = all_images(N)[:6]
    assert torch.equal(model(images), model(images))
    model.train()
    assert not torch.equal(model(images), model(images))
    assert total_probability(model, N) == pytest.approx(1, abs=1e-12)  # scored in evaluation mode
    assert model.training


def test_training_leaves_out_hidden_units_of_every_layer_and_no_pixel():
    sizes = MADEConfig(n_pixels=N, d_hidden=50, n_hidden=2, dropout=0.5)
    model, images = woken(MADE(sizes)).train(), all_images(N)[:6]
    torch.manual_seed(0)
    logits = model(images)
    torch.manual_seed(0)
    h = images
    for layer in model.hidden:
        h = F.dropout(layer(h).relu(), 0.5)
    assert_close(logits, model.output(h) + model.direct(images))


@pytest.mark.parametrize("kind", [PixelCNN, BlindPixelCNN])
def test_a_pixel_cnn_leaves_out_the_fraction_that_was_asked_for(kind):
    model = kind(PixelCNNConfig(dropout=0.2, **SIZES))
    assert [part.p for part in model.modules() if isinstance(part, nn.Dropout)] == [0.2]


@pytest.mark.parametrize("n_layer", [1, 4])
def test_both_pixel_cnns_have_as_many_convolutions(n_layer):
    sizes = PixelCNNConfig(n_layer=n_layer, **SIZES)
    for kind, convolution in ((PixelCNN, TwoStackConv2d), (BlindPixelCNN, MaskedConv2d)):
        assert sum(isinstance(part, convolution) for part in kind(sizes).modules()) == n_layer


@pytest.mark.parametrize(
    ("sizes", "words"),
    [
        (lambda: MADEConfig(n_pixels=1), "two pixels or more"),
        (lambda: MADEConfig(n_pixels=5, d_hidden=0), "sizes from 1"),
        (lambda: MADEConfig(n_pixels=5, dropout=1.0), "dropout below 1"),
        (lambda: PixelCNNConfig(n_layer=0), "sizes from 1"),
        (lambda: PixelCNNConfig(dropout=-0.1), "dropout from 0"),
    ],
)
def test_sizes_that_make_no_model_are_refused(sizes, words):
    with pytest.raises(ValueError, match=words):
        sizes()


@pytest.mark.parametrize("order", [torch.arange(9), torch.zeros(10, dtype=torch.long)])
def test_an_order_of_other_pixels_is_refused(order):
    with pytest.raises(ValueError, match=r"images of 9 pixels|each number below 10 once"):
        FVSBN(N, order)


def test_a_pixel_knows_its_own_row_and_column():
    model = PixelCNN(PixelCNNConfig(rows=3, columns=5, d_model=2, n_layer=1))
    *_, mix, _, _, last = model.output
    with torch.no_grad():
        for p in model.parameters():
            p.zero_()
        model.left.weight[:, 1:, 0, 0] = mix.weight[..., 0, 0] = torch.eye(2)
        model.left.bias.fill_(1.0)  # from 0 to 2, so that no ReLU acts
        last.weight[0, :, 0, 0] = torch.tensor([10.0, 1.0])
        logits = model(torch.ones(1, 15)).view(3, 5)
    rows, columns = torch.linspace(0, 2, 3), torch.linspace(0, 2, 5)
    assert_close(logits, 10 * rows[:, None] + columns)


def test_without_coordinates_a_pixel_cnn_says_the_same_wherever_an_image_is_blank_around():
    sizes = {"rows": 9, "columns": 9, "d_model": 4, "n_layer": 1}
    blank = torch.zeros(1, 81, dtype=torch.float64)
    for coordinates in (True, False):
        model = woken(PixelCNN(PixelCNNConfig(coordinates=coordinates, **sizes)))
        inner = model(blank).view(9, 9)[3:6, 3:6]
        assert (inner.max() - inner.min() < 1e-12) != coordinates


def test_the_gradients_of_all_batches_average_to_that_of_all_images():
    model, images = woken(FVSBN(N)), all_images(N)[torch.randperm(1024)[:60]]

    def gradient(x):
        loss = F.binary_cross_entropy_with_logits(model(x), x, reduction="none").sum(1).mean()
        return torch.autograd.grad(loss, model.layer.weight)[0]

    of_batches = torch.stack([gradient(x) for x in images.split(12)]).mean(0)
    assert_close(of_batches, gradient(images), rtol=0, atol=1e-12)


def test_kl_and_nll_are_lowest_at_the_frequency_of_the_data():
    p = torch.tensor([0.7, 0.3], dtype=torch.float64)
    q = torch.stack([grid := torch.linspace(0.02, 0.98, 97, dtype=torch.float64), 1 - grid], 1)
    kl, nll = (p * (p / q).log()).sum(1), -(p * q.log()).sum(1)
    assert_close(kl, nll + (p * p.log()).sum(), rtol=0, atol=1e-12)
    assert grid[kl.argmin()].item() == pytest.approx(0.7)
    assert grid[nll.argmin()].item() == pytest.approx(0.7)
    assert kl.min().item() == pytest.approx(0, abs=1e-12)
    assert (kl > 1e-5).sum() == 96


def test_kl_depends_on_its_direction():
    fair, loaded = torch.tensor([[0.5, 0.5], [0.9, 0.1]], dtype=torch.float64)
    one_way, other_way = ((p * (p / q).log()).sum() for p, q in ((fair, loaded), (loaded, fair)))
    assert one_way.item() == pytest.approx(0.5108, abs=1e-4)
    assert other_way.item() == pytest.approx(0.3681, abs=1e-4)


def test_a_density_has_no_largest_likelihood_and_new_points_lose():
    points = torch.randn(1050, generator=torch.Generator().manual_seed(0), dtype=torch.float64)

    def mean_log_density(at, sigma):  # of a normal distribution on each of 50 points
        each = torch.distributions.Normal(points[:50], sigma).log_prob(at[:, None])
        return (each.logsumexp(1) - math.log(50)).mean().item()

    sigmas = [10.0**-power for power in range(1, 7)]
    of_old, of_new = ([mean_log_density(at, s) for s in sigmas] for at in points.split([50, 1000]))
    steps = torch.tensor(of_old).diff()
    assert (steps[1:] - math.log(10)).abs().max() < 0.5  # for each tenth of the width, without end
    assert of_old[-1] == pytest.approx(8.985, abs=0.001)
    assert of_new == sorted(of_new, reverse=True)


def test_images_of_784_pixels_are_a_number_of_237_digits():
    assert len(str(2**784)) == 237


def test_a_network_for_each_pixel_fits_the_training_images_better_than_an_fvsbn():
    images = torch.tensor(data.digits()).float()[:1300]

    def nll_after(steps, model, lr):
        optimiser = torch.optim.Adam(model.parameters(), lr)
        for rows in torch.randint(1300, (steps, 100), generator=torch.Generator().manual_seed(0)):
            optimiser.zero_grad()
            loss = F.binary_cross_entropy_with_logits(model(images[rows]), images[rows])
            loss.backward()
            optimiser.step()
        return image_nll(model, images).mean().item()

    torch.manual_seed(0)
    networks = nll_after(150, PixelNetworks(64, 16), lr=0.03)
    logistic = nll_after(1000, FVSBN(64), lr=0.03)
    assert networks < logistic - 1


def test_the_lesson_gives_the_split_that_the_benchmarks_loader_asserts():
    # pylearn2/datasets/binarized_mnist.py asserts 50,000 images to train on and 10,000 twice.
    source = (Path(__file__).parents[1] / "notebooks/src/09_autoregressive_models.py").read_text(
        "utf-8"
    )
    assert "50,000 images to train on and 10,000 each for validation and test" in source

"""Informer: what its parts are made of, what a forecast may depend on, and what it learns."""

import math
from dataclasses import replace

import pytest
import torch
from torch.nn import functional as F
from torch.testing import assert_close

from coursekit.evaluate.forecasts import score_forecasts
from coursekit.inside.certify import certify
from coursekit.layers.attention import attend
from coursekit.layers.prob_sparse import prob_sparse
from coursekit.models.baselines import last_value
from coursekit.models.informer import Informer, InformerConfig, SeriesEmbedding
from coursekit.models.relative import RelativeToLast
from coursekit.training.fit import fit
from coursekit.training.optimiser import adamw
from coursekit.windows.forecast import ForecastWindows

B, K = 2, 3
SIZES = {"n_channel": K, "context": 11, "label_len": 4, "horizon": 5, "n_head": 3, "d_model": 12}
CONFIG = InformerConfig(**SIZES, n_encoder=3, n_decoder=2, d_time=7, known=(2,), dropout=0.0)
L, G, P = CONFIG.context, CONFIG.label_len, CONFIG.horizon
EXACT = {"rtol": 0, "atol": 1e-12}


@pytest.fixture(autouse=True)
def _seeded():
    torch.manual_seed(0)


def informer(config=CONFIG, **options):
    return Informer(config, **({"head_std": 1.0} | options)).double().eval()


def draw(known_columns=(2,)):
    past, known = (torch.randn(B, n, K, dtype=torch.float64) for n in (L, P))
    known[..., [column for column in range(K) if column not in known_columns]] = 0
    marks = torch.stack([torch.randint(size, (B, L + P)) for size in (24, 7, 12)], -1)
    return past, known, marks


@pytest.mark.parametrize("distil", [True, False])
@pytest.mark.parametrize("relative", [True, False])
def test_it_maps_a_past_to_one_number_for_each_step_to_come(distil, relative):
    model = informer(distil=distil)
    forecast = (RelativeToLast(model) if relative else model)(*draw())
    assert forecast.shape == (B, P)


@pytest.mark.parametrize("n_encoder", [1, 2, 3, 4])
def test_the_steps_are_halved_after_each_block_but_the_last(n_encoder):
    config = InformerConfig(n_encoder=n_encoder, d_model=4, n_head=1, dropout=0.0)
    past, marks = torch.randn(1, 96, 1), torch.zeros(1, 96, 3, dtype=torch.long)
    steps = 96 // 2 ** (n_encoder - 1)  # 96, 48, 24, 12
    assert Informer(config).encode(past, marks).shape == (1, steps, 4)
    assert Informer(config, distil=False).encode(past, marks).shape == (1, 96, 4)


def test_an_embedding_is_the_norm_of_content_position_and_calendar():
    model, (past, _, marks) = informer(), draw()
    embedding, width = model.encoder_embedding, CONFIG.d_model
    start, marks = 3, marks[:, :L]
    codes = [
        [
            f((start + t) / 10000 ** (2 * i / width))
            for i in range(width // 2)
            for f in (math.sin, math.cos)
        ]
        for t in range(L)
    ]
    x = past @ embedding.content.weight.T + embedding.content.bias
    x = x + torch.tensor(codes, dtype=torch.float64) + embedding.calendar(marks)
    expected = F.layer_norm(x, (width,))
    assert_close(embedding(past, marks, start), expected, rtol=0, atol=1e-6)


def test_without_a_calendar_the_marks_change_nothing():
    past, known, marks = draw()
    other = (marks + 1) % torch.tensor([24, 7, 12])
    model = informer(calendar=None)
    assert torch.equal(model(past, known, marks), model(past, known, other))
    model = informer()
    assert (model(past, known, marks) - model(past, known, other)).abs().min() > 1e-6


def test_the_decoder_reads_the_last_steps_then_what_is_known_and_which_is_which():
    past, known, _ = draw()
    steps = informer().decoder_input(past, known)
    assert steps.shape == (B, G + P, K + 1)
    assert torch.equal(steps[:, :G, :K], past[:, L - G :])
    assert torch.equal(steps[:, G:, :K], known)
    assert torch.equal(steps[..., K], torch.tensor([[0.0] * G + [1.0] * P] * B).double())


def test_the_target_of_the_steps_to_come_is_never_read():
    model, (past, known, marks) = informer(), draw()
    leak = known.clone()
    leak[..., 0] = 100.0
    assert torch.equal(model.decoder_input(past, leak), model.decoder_input(past, known))
    assert torch.equal(model(past, leak, marks), model(past, known, marks))


def test_a_step_has_the_same_position_in_encoder_and_decoder():
    model, seen = informer(), []
    for embedding in (model.encoder_embedding, model.decoder_embedding):
        embedding.register_forward_pre_hook(lambda _, inputs: seen.append(inputs))
    past, known, marks = draw()
    model(past, known, marks)
    (encoder_x, encoder_marks, *encoder_start), (x, decoder_marks, start) = seen
    assert (encoder_x.shape[1], encoder_start, start, x.shape[1]) == (L, [], L - G, G + P)
    assert torch.equal(encoder_marks, marks[:, :L])
    assert torch.equal(decoder_marks, marks[:, L - G :])


def test_no_forecast_depends_on_what_is_known_of_a_later_step():
    model, (past, known, marks) = informer(), draw()
    certificate = certify(lambda known: model(past, known, marks)[..., None], known)
    assert certificate.causal
    assert (certificate.gradients.diagonal() > 0).all(), "not even its own step is read"
    leaky = informer(decoder_rule=attend)
    assert not certify(lambda known: leaky(past, known, marks)[..., None], known).causal


@pytest.mark.parametrize("rule", [attend, prob_sparse()])
def test_every_forecast_depends_on_every_step_of_the_past(rule):
    model, (past, known, marks) = informer(rule=rule), draw()
    jacobian = torch.autograd.functional.jacobian(lambda past: model(past, known, marks), past)
    assert (jacobian.abs().amax((0, 2, 4)) > 0).all()


def test_no_example_depends_on_another():
    model, inputs = informer(), draw()
    forecast = model(*inputs)
    alone = model(*(one[:1] for one in inputs))
    assert_close(alone, forecast[:1], **EXACT)
    assert torch.equal(model(*inputs), forecast), "two calls differ"


def test_every_weight_gets_a_gradient():
    model = informer()
    model(*draw()).square().sum().backward()
    without = [name for name, p in model.named_parameters() if not p.grad.abs().sum() > 0]
    # A bias of the keys shifts all scores of a query alike, so the softmax does not see it.
    assert all(name.endswith(".k.bias") for name in without), without


def test_the_first_forecast_is_zero_and_relative_to_last_the_last_value():
    inputs = draw()
    model = informer(head_std=0.0)
    assert torch.equal(model(*inputs), torch.zeros(B, P).double())
    assert torch.equal(RelativeToLast(model)(*inputs), last_value(*inputs))


def test_blocks_that_add_nothing_leave_the_embedding():
    model, (past, known, marks) = informer(distil=False), draw()
    for name, weight in model.named_parameters():
        if ".out." in name and not name.startswith(("encoder_emb", "decoder_emb")):
            weight.data.zero_()
    width = (CONFIG.d_model,)
    expected = F.layer_norm(model.encoder_embedding(past, marks[:, :L]), width)
    assert_close(model.encode(past, marks[:, :L]), expected, **EXACT)
    x = model.decoder_embedding(model.decoder_input(past, known), marks[:, L - G :], L - G)
    assert_close(
        model(past, known, marks), model.head(F.layer_norm(x[:, G:], width))[..., 0], **EXACT
    )


@pytest.mark.parametrize("distil", [True, False])
@pytest.mark.parametrize("calendar", [True, False])
def test_the_parameters_are_as_many_as_the_formula_says(distil, calendar):
    c, t, blocks = CONFIG.d_model, CONFIG.d_time, CONFIG.n_encoder
    attention, feed_forward, norm = 4 * (c * c + c), 8 * c * c + 5 * c, 2 * c
    dates = (24 + 7 + 12) * t + (3 * t * c + c) + (c * c + c) if calendar else 0
    embeddings = (2 * K + 1) * c + 2 * (c + dates + norm)
    encoder = blocks * (attention + feed_forward + 2 * norm) + norm
    encoder += distil * (blocks - 1) * (3 * c * c + c)
    decoder = CONFIG.n_decoder * (2 * attention + feed_forward + 3 * norm) + norm
    expected = embeddings + encoder + decoder + c + 1
    model = informer(distil=distil, **({} if calendar else {"calendar": None}))
    assert sum(p.numel() for p in model.parameters()) == expected


def test_windows_of_another_size_are_refused():
    past, known, marks = draw()
    with pytest.raises(ValueError, match="10 steps of past and 5 to come instead of 11 and 5"):
        informer()(past[:, 1:], known, marks[:, 1:])
    with pytest.raises(ValueError, match="cut the windows to the sizes of the config"):
        informer()(past, known[:, 1:], marks[:, 1:])


@pytest.mark.parametrize(
    "wrong", [{"horizon": 0}, {"dropout": 1.0}, {"n_encoder": 0}, {"n_channel": 0}]
)
def test_sizes_below_1_are_refused(wrong):
    with pytest.raises(ValueError, match="has a size below 1, or a dropout outside"):
        InformerConfig(**wrong)


@pytest.mark.parametrize("label_len", [-1, 12])
def test_start_tokens_longer_than_the_past_are_refused(label_len):
    with pytest.raises(ValueError, match=f"label_len={label_len} must lie between 0 and"):
        InformerConfig(**SIZES | {"label_len": label_len})


def test_it_can_do_without_start_tokens():
    model, inputs = informer(InformerConfig(**SIZES | {"label_len": 0}, dropout=0.0)), draw()
    assert model(*inputs).shape == (B, P)


def test_it_learns_a_wave_that_the_last_value_misses(monkeypatch):
    monkeypatch.setenv("COURSEKIT_PLAIN", "1")
    wave = (torch.arange(400) * math.tau / 12).sin()
    config = InformerConfig(context=24, label_len=6, horizon=6, n_head=2, d_model=16, dropout=0.0)
    windows = wave.unfold(0, 30, 1)

    def take(rows):
        past, future = windows[rows].split([24, 6], 1)
        marks = torch.zeros(len(rows), 30, 3, dtype=torch.long)
        return (past[..., None], torch.zeros(len(rows), 6, 1), marks), future

    model = RelativeToLast(Informer(config, calendar=None))
    generator = torch.Generator().manual_seed(0)
    batches = (take(torch.randint(300, (16,), generator=generator)) for _ in range(80))
    history = fit(model, adamw(model, 5e-3), batches, steps=80, loss=F.mse_loss)
    inputs, target = take(torch.arange(300, 371))
    with torch.no_grad():
        error = F.mse_loss(model.eval()(*inputs), target)
    naive = F.mse_loss(last_value(*inputs), target)
    assert error < 0.1 * naive, (error, naive, history.losses[::10])


def test_dropout_reaches_the_embedding_of_a_series():
    config = InformerConfig(context=30, horizon=5, label_len=9, dropout=0.5)
    embedding = SeriesEmbedding(1, config, calendar=None).train()
    torch.manual_seed(0)
    dropped = embedding(torch.randn(4, 30, 1), torch.zeros(4, 30, 3, dtype=torch.long)) == 0
    assert dropped.double().mean().item() == pytest.approx(0.5, abs=0.05)
    assert not (embedding.eval()(torch.randn(4, 30, 1), torch.zeros(4, 30, 3).long()) == 0).any()


@pytest.mark.parametrize("known", [(0,), (4,), (1, 7)])
def test_known_columns_that_are_not_there_or_the_target_are_refused(known):
    with pytest.raises(ValueError, match="must be columns from 1 to 3: column 0 is the target"):
        InformerConfig(n_channel=4, known=known)


@pytest.mark.parametrize("columns", [(), (1,), (2,), (1, 2)])
def test_a_known_column_is_declared_once_and_compared_with_the_windows(columns):
    values = torch.randn(60, 3)
    values[:, 1:] = 5.0  # constant: counted from its last value it is 0, in the past and ahead
    marks = torch.zeros(60, 3, dtype=torch.long)
    sizes = {"past": 6, "horizon": 3, "start": 6, "stop": 60}
    windows = ForecastWindows(values=values, calendar=marks, known=columns, **sizes)
    inputs, _ = windows.take(torch.arange(4))
    config = InformerConfig(n_channel=3, context=6, label_len=2, horizon=3, known=columns)
    seen, model = [], Informer(config)
    model.register_forward_pre_hook(lambda _, given: seen.extend(given))
    wrapped = RelativeToLast(model)
    wrapped(*inputs)
    assert not seen[0][..., 1:].any()
    assert not seen[1].any()
    score_forecasts(wrapped, windows)
    score_forecasts(last_value, windows)
    for others in {(), (1,), (2,), (1, 2)} - {columns}:
        other = replace(config, known=others)
        for forecaster in (Informer(other), RelativeToLast(Informer(other))):
            with pytest.raises(ValueError, match="as known in advance, the windows show"):
                score_forecasts(forecaster, windows)


def test_windows_of_other_columns_are_refused():
    model = Informer(InformerConfig(context=6, label_len=2, horizon=3))
    past, known = torch.zeros(2, 6, 3), torch.zeros(2, 3, 3)
    with pytest.raises(ValueError, match=r"windows of 3 columns for n_channel=1: take the sizes"):
        model(past, known, torch.zeros(2, 9, 3, dtype=torch.long))

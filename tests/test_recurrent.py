"""RNN and LSTM, against PyTorch's with the same weights, and the language model on top."""

import math
from functools import partial

import pytest
import torch
from torch import nn
from torch.nn import functional as F
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence
from torch.testing import assert_close

from coursekit.evaluate.likelihood import text_nll
from coursekit.layers.cache import Cache
from coursekit.layers.recurrent import LSTM, RNN, lstm_step
from coursekit.models.recurrent import RecurrentConfig, RecurrentLM
from coursekit.sample import generate, pick_likeliest, sample_text
from coursekit.tokens.vocabulary import Vocabulary

B, T, D, C = 2, 5, 7, 3  # D channels of a state, C of an input
EXACT = {"rtol": 0, "atol": 1e-12}
KINDS = {"RNN": (RNN, nn.RNN), "LSTM": (LSTM, nn.LSTM)}
LETTERS = Vocabulary(".abcdef")
V = len(LETTERS)
each_kind = pytest.mark.parametrize("kind", KINDS)


def draw(*shape, seed=0):
    chance = torch.Generator().manual_seed(seed)
    return torch.randn(*shape, generator=chance, dtype=torch.float64)


def build_pair(kind):
    """One of ours and PyTorch's with the same weights, its two biases different."""
    make, make_theirs = KINDS[kind]
    theirs = make_theirs(C, D, batch_first=True).double()
    for i, weight in enumerate(theirs.parameters()):
        weight.data = 0.5 * draw(*weight.shape, seed=10 + i)
    ours = make(C, D).double()
    ours.input.weight.data = theirs.weight_ih_l0.data.clone()
    ours.recurrent.weight.data = theirs.weight_hh_l0.data.clone()
    ours.input.bias.data = theirs.bias_ih_l0.data + theirs.bias_hh_l0.data
    return ours, theirs


def some_state(kind, seed=5):
    return tuple(draw(B, D, seed=seed + i) for i in range(KINDS[kind][0].n_state))


def in_their_form(state):
    """PyTorch wants an axis of layers first, and a bare tensor where there is only one."""
    if state is None:
        return None
    layered = tuple(part[None] for part in state)
    return layered if len(layered) > 1 else layered[0]


def in_our_form(state):
    return tuple(part[0] for part in state) if isinstance(state, tuple) else (state[0],)


@each_kind
@pytest.mark.parametrize("steps", [1, T])
@pytest.mark.parametrize("with_state", [False, True])
def test_it_equals_pytorch_outputs_and_gradients(kind, steps, with_state):
    ours, theirs = build_pair(kind)
    found = []
    for model, shape in ((ours, lambda s: s), (theirs, in_their_form)):
        x = draw(B, steps, C, seed=1).requires_grad_()
        state = tuple(s.requires_grad_() for s in some_state(kind)) if with_state else None
        y, last = model(x, shape(state))
        last = last if model is ours else in_our_form(last)
        weighted = [part * draw(*part.shape, seed=30 + i) for i, part in enumerate((y, *last))]
        sum(part.sum() for part in weighted).backward()
        found.append([y, *last, x.grad, *(s.grad for s in state or ())])
    for one, other in zip(*found, strict=True):
        assert_close(one, other, **EXACT)
    assert_close(ours.input.weight.grad, theirs.weight_ih_l0.grad, **EXACT)
    assert_close(ours.recurrent.weight.grad, theirs.weight_hh_l0.grad, **EXACT)
    assert_close(ours.input.bias.grad, theirs.bias_ih_l0.grad, **EXACT)


@each_kind
def test_sequences_of_unequal_length_equal_pytorchs_packed_ones(kind):
    ours, theirs = build_pair(kind)
    lengths = torch.tensor([3, T])
    x, state = draw(B, T, C, seed=1), some_state(kind)
    y, last = ours(x, state, lengths)
    packed = pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False)
    wanted, their_last = theirs(packed, in_their_form(state))
    wanted, _ = pad_packed_sequence(wanted, batch_first=True)
    for row, other, n in zip(y, wanted, lengths, strict=True):
        assert_close(row[:n], other[:n], **EXACT)
        assert_close(row[n - 1 :], row[n - 1].expand(T - n + 1, -1), **EXACT)
    for one, other in zip(last, in_our_form(their_last), strict=True):
        assert_close(one, other, **EXACT)


@each_kind
def test_no_gradient_reaches_padding(kind):
    ours, _ = build_pair(kind)
    x = draw(B, T, C, seed=1).requires_grad_()
    ours(x, None, torch.tensor([2, T]))[0].sum().backward()
    assert not x.grad[0, 2:].any()
    assert x.grad[0, :2].any()
    assert x.grad[1].abs().min() > 0


@each_kind
def test_a_sequence_in_pieces_gives_what_the_whole_gives(kind):
    ours, _ = build_pair(kind)
    x, state, pieces = draw(B, T, C), None, []
    for piece in x.split((1, 3, 1), 1):
        y, state = ours(piece, state)
        pieces.append(y)
    whole, last = ours(x)
    assert_close(torch.cat(pieces, 1), whole, **EXACT)
    for one, other in zip(state, last, strict=True):
        assert_close(one, other, **EXACT)


@each_kind
def test_no_step_reads_the_future(kind):
    ours, _ = build_pair(kind)
    for t in range(T):
        x = draw(B, T, C).requires_grad_()
        ours(x)[0][:, t].sum().backward()
        assert not x.grad[:, t + 1 :].any()
        assert (x.grad[:, : t + 1] != 0).all()


@pytest.mark.parametrize("bias", [0.0, 1.0, 4.0])
def test_the_forget_gate_starts_as_open_as_its_bias_says(bias):
    torch.manual_seed(0)
    layer = LSTM(C, D, forget_bias=bias).double()
    assert layer.input.bias.tolist() == [0.0] * D + [bias] * D + [0.0] * 2 * D
    layer.input.weight.data.zero_()
    layer.recurrent.weight.data.zero_()
    c = draw(B, D, seed=3).requires_grad_()
    _, (_, last) = layer(draw(B, T, C), (torch.zeros(B, D).double(), c))
    (gradient,) = torch.autograd.grad(last.sum(), c)
    kept = (1 / (1 + math.exp(-bias))) ** T
    assert_close(gradient, torch.full_like(c, kept), **EXACT)


def test_an_lstm_opens_its_forget_gate_unless_told_otherwise():
    assert LSTM(C, D).input.bias[D : 2 * D].tolist() == [1.0] * D


def test_recurrent_weights_start_with_pytorchs_variance():
    torch.manual_seed(0)
    for ours, theirs in ((LSTM(9, 200), nn.LSTM(9, 200)), (RNN(9, 300), nn.RNN(9, 300))):
        variance = theirs.weight_hh_l0.var().item()
        assert ours.recurrent.weight.var().item() == pytest.approx(variance, rel=0.03)


@each_kind
def test_what_does_not_fit_is_refused(kind):
    make, _ = KINDS[kind]
    layer, x = make(C, D), torch.zeros(B, T, C)
    with pytest.raises(ValueError, match="a sequence of 0 steps has no output"):
        layer(x[:, :0])
    with pytest.raises(ValueError, match=r"a state of shapes \[.*pass on what was returned"):
        layer(x, (torch.zeros(B + 1, D),) * make.n_state)
    with pytest.raises(ValueError, match=r"a state of shapes \[.*pass on what was returned"):
        layer(x, (torch.zeros(B, D),) * (make.n_state + 1))
    for lengths in ([0, 1], [1, T + 1], [1]):
        with pytest.raises(ValueError, match=f"give each a length from 1 to {T}"):
            layer(x, None, torch.tensor(lengths))
    with pytest.raises(ValueError, match="must be at least 1"):
        make(C, 0)


def test_autograd_finds_the_product_of_the_steps():
    layer, _ = build_pair("RNN")
    x, h = draw(1, T, C), torch.zeros(1, D).double()
    states = layer(x)[0][0]
    product = torch.eye(D).double()
    for state in states:
        product = (1 - state**2)[:, None] * layer.recurrent.weight @ product
    found = torch.autograd.functional.jacobian(lambda h: layer(x, (h,))[0][0, -1], h)[:, 0]
    assert_close(found, product, **EXACT)


@pytest.mark.parametrize("factor", [0.5, 1.0, 1.5])
def test_an_orthogonal_matrix_multiplies_every_step_by_its_factor(factor):
    Q, _ = torch.linalg.qr(draw(D, D))  # noqa: N806 (the letter of the lesson)
    product = torch.linalg.matrix_power(factor * Q, 50)
    norm = torch.linalg.matrix_norm(product, ord=2).item()
    assert norm == pytest.approx(factor**50, rel=1e-9)


def test_a_step_is_that_of_pytorchs_cell():
    mixed, c = draw(B, 4 * D), draw(B, D, seed=1)
    cell = nn.LSTMCell(4 * D, D, bias=False).double()
    cell.weight_ih.data, cell.weight_hh.data = torch.eye(4 * D).double(), 0 * cell.weight_hh.data
    for one, other in zip(lstm_step(mixed, c), cell(mixed, (0 * c, c)), strict=True):
        assert_close(one, other, **EXACT)


# The language model


def grown(layer=LSTM, seed=0, **sizes):
    torch.manual_seed(seed)
    config = RecurrentConfig(vocab_size=V, d_embedding=C, d_hidden=D, **sizes)
    model = RecurrentLM(config, layer=layer).double().eval()
    model.output.weight.data *= 20
    return model


def some_tokens(*shape, seed=0):
    return torch.randint(V, shape, generator=torch.Generator().manual_seed(seed))


@pytest.mark.parametrize("n_layer", [1, 2])
def test_the_model_is_an_embedding_pytorchs_layers_and_a_linear_map(n_layer):
    model = grown(n_layer=n_layer)
    theirs = nn.LSTM(C, D, n_layer, batch_first=True).double()
    for i, layer in enumerate(model.layers):
        getattr(theirs, f"weight_ih_l{i}").data = layer.input.weight.data
        getattr(theirs, f"weight_hh_l{i}").data = layer.recurrent.weight.data
        getattr(theirs, f"bias_ih_l{i}").data = layer.input.bias.data
        getattr(theirs, f"bias_hh_l{i}").data.zero_()
    tokens = some_tokens(B, T)
    outputs, _ = theirs(F.embedding(tokens, model.embedding.weight))
    assert_close(model(tokens), F.linear(outputs, *model.output.parameters()), **EXACT)


@pytest.mark.parametrize("layer", [RNN, LSTM])
@pytest.mark.parametrize("pieces", [(1,) * 8, (3, 1, 4)])
def test_with_a_cache_the_logits_are_those_of_the_whole(layer, pieces):
    model, tokens, cache = grown(layer, n_layer=2), some_tokens(B, 8), Cache()
    found = [model(piece, cache) for piece in tokens.split(pieces, 1)]
    assert_close(torch.cat(found, 1), model(tokens), **EXACT)
    assert cache.steps == 8
    cache.clear()
    assert torch.equal(model(tokens, cache), model(tokens))


@pytest.mark.parametrize("layer", [RNN, LSTM])
def test_the_same_text_is_drawn_with_and_without_a_cache(layer):
    model = grown(layer, n_layer=2)
    one, other = (
        sample_text(model, LETTERS, ".ab", 60, torch.Generator().manual_seed(0), cached=cached)
        for cached in (False, True)
    )
    assert one == other
    assert len(set(one)) > 3


def test_with_a_cache_each_token_is_read_once():
    model, read = grown(), []
    model.register_forward_pre_hook(lambda _, given: read.append(given[0].shape[1]))
    tokens = generate(model, [1, 2, 3], pick_likeliest, cached=True)
    for _ in range(5):
        next(tokens)
    assert read == [3, 1, 1, 1, 1]


def test_a_copied_cache_goes_on_in_its_own_way():
    model, cache = grown(), Cache()
    model(some_tokens(1, 4), cache)
    other = cache.copy()
    model(some_tokens(1, 3, seed=1), other)
    whole = torch.cat([some_tokens(1, 4), some_tokens(1, 2, seed=2)], 1)
    assert_close(model(some_tokens(1, 2, seed=2), cache), model(whole)[:, 4:], **EXACT)


def test_the_context_has_no_bound():
    model = grown()
    tokens = some_tokens(1, 300)
    other = tokens.clone()
    other[0, 0] = (other[0, 0] + 1) % V
    with torch.no_grad():
        model.layers[0].recurrent.weight.zero_()
        model.layers[0].input.bias[D : 2 * D] = 40.0  # nothing is forgotten
        assert (model(tokens)[:, -1] - model(other)[:, -1]).abs().max() > 1e-7


def test_a_text_is_scored_with_all_that_came_before():
    model, tokens = grown(), some_tokens(40)
    wanted = F.cross_entropy(model(tokens[None, :-1])[0], tokens[1:]).item()
    assert text_nll(model, tokens) == pytest.approx(wanted, abs=1e-12)


def test_the_first_guess_is_nearly_uniform():
    torch.manual_seed(0)
    model = RecurrentLM(RecurrentConfig(vocab_size=27))
    loss = F.cross_entropy(
        model(torch.randint(27, (50, 9))).flatten(0, 1), torch.randint(27, (450,))
    )
    assert loss.item() == pytest.approx(math.log(27), abs=0.02)


@pytest.mark.parametrize("layer", [RNN, LSTM])
def test_one_batch_is_learnt(layer):
    torch.manual_seed(0)
    sizes = RecurrentConfig(vocab_size=V, d_embedding=8, d_hidden=24)
    model = RecurrentLM(sizes, layer=layer)
    tokens = some_tokens(6, 9)
    optimiser = torch.optim.Adam(model.parameters(), lr=0.02)
    for _ in range(200):
        loss = F.cross_entropy(model(tokens[:, :-1])[:, 3:].flatten(0, 1), tokens[:, 4:].flatten())
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    assert loss < 0.05


def test_dropout_spares_the_state_and_acts_in_training_only():
    config = RecurrentConfig(vocab_size=V, d_hidden=D, dropout=0.5)
    torch.manual_seed(0)
    model, tokens = RecurrentLM(config), some_tokens(B, T)
    assert not model(tokens).equal(model(tokens))
    model.eval()
    assert model(tokens).equal(model(tokens))
    seen = []
    model.train().layers[0].recurrent.register_forward_pre_hook(lambda _, x: seen.append(x[0]))
    model(tokens)
    assert all((h != 0).all() for h in seen[1:])


def test_dropout_stands_before_each_layer_and_before_the_output():
    model, tokens = grown(n_layer=2, dropout=0.5).train(), some_tokens(B, T)
    torch.manual_seed(1)
    logits = model(tokens)
    torch.manual_seed(1)
    x = model.embedding(tokens)
    for layer in model.layers:
        x, _ = layer(F.dropout(x, 0.5))
    assert_close(logits, model.output(F.dropout(x, 0.5)), **EXACT)


@pytest.mark.parametrize(
    "sizes", [{"vocab_size": 0}, {"n_layer": 0}, {"d_hidden": 0}, {"dropout": 1.0}]
)
def test_wrong_sizes_are_refused(sizes):
    with pytest.raises(ValueError, match="a size below 1, or a dropout outside"):
        RecurrentConfig(**{"vocab_size": V} | sizes)


def test_the_forget_bias_is_the_business_of_the_layer():
    model = RecurrentLM(RecurrentConfig(vocab_size=V), layer=partial(LSTM, forget_bias=4.0))
    assert model.layers[0].input.bias[64:128].eq(4).all()

"""The encoder–decoder: its causality, its padding, what it writes."""

import pytest
import torch
from torch.nn import functional as F
from torch.testing import assert_close

from coursekit.models.encoder_decoder import EncoderDecoder, EncoderDecoderConfig, shift_right
from coursekit.sample import write_likeliest

B, S, T, V, C = 2, 5, 7, 11, 12
SIZES = {"vocab_size": V, "context": 16, "n_encoder": 2, "n_decoder": 1, "n_head": 3, "d_model": C}
EXACT = {"rtol": 0, "atol": 1e-12}


def build():
    torch.manual_seed(0)
    return EncoderDecoder(EncoderDecoderConfig(**SIZES)).double().eval()


def tokens_of(*shape, seed=0):
    return torch.randint(V, shape, generator=torch.Generator().manual_seed(seed))


def test_there_is_a_row_of_logits_for_each_written_token():
    assert build()(tokens_of(B, S), tokens_of(B, T)).shape == (B, T, V)


@pytest.mark.parametrize("changed", range(T))
def test_what_is_written_reads_only_what_was_written_before(changed):
    model, source, written = build(), tokens_of(B, S), tokens_of(B, T, seed=1)
    other = written.clone()
    other[:, changed] = (other[:, changed] + 1) % V
    gap = (model(source, written) - model(source, other)).abs().amax((0, 2))
    assert not gap[:changed].any()
    assert gap[changed] > 1e-3


@pytest.mark.parametrize("changed", range(S))
def test_each_token_of_the_source_reaches_each_written_one(changed):
    model, source, written = build(), tokens_of(B, S), tokens_of(B, T, seed=1)
    other = source.clone()
    other[:, changed] = (other[:, changed] + 1) % V
    gap = (model(source, written) - model(other, written)).abs().amax((0, 2))
    assert (gap > 1e-6).all()


def test_padding_of_the_source_changes_nothing():
    model, source, written = build(), tokens_of(B, S), tokens_of(B, T, seed=1)
    padded = F.pad(source, (0, 4), value=3)
    present = (torch.arange(S + 4) < S).expand(B, -1)
    assert_close(model(padded, written, present), model(source, written), **EXACT)
    assert (model(padded, written) - model(source, written)).abs().max() > 1e-3


def test_the_targets_are_shifted_by_one_step():
    targets = tokens_of(B, T)
    shifted = shift_right(targets, start=9)
    assert torch.equal(shifted[:, 1:], targets[:, :-1])
    assert (shifted[:, 0] == 9).all()
    assert torch.equal(shift_right(targets[:, :1], start=9), torch.full((B, 1), 9))


def test_each_written_token_is_the_likeliest_given_those_before():
    model, source = build(), tokens_of(B, S)
    written = write_likeliest(model, source, start=1, steps=4)
    logits = model(source, shift_right(written, start=1))
    assert torch.equal(logits.argmax(-1), written)


def test_nothing_to_write_is_refused():
    with pytest.raises(ValueError, match="steps=0 must be at least 1"):
        write_likeliest(build(), tokens_of(B, S), start=1, steps=0)


def test_dropout_sets_numbers_of_both_sequences_to_zero_in_training_only():
    model, zeros = EncoderDecoder(EncoderDecoderConfig(**SIZES, dropout=0.25)), []
    for half in (model.encoder, model.decoder):
        half[0].register_forward_pre_hook(lambda _, x: zeros.append((x[0] == 0).double().mean()))
    for training, wanted in ((True, 0.25), (False, 0.0)):
        zeros.clear()
        model.train(training)(tokens_of(90, S), tokens_of(90, T))
        assert [found.item() for found in zeros] == [pytest.approx(wanted, abs=0.03)] * 2


@pytest.mark.parametrize("std", [0.02, 1.0])
def test_the_embedding_starts_as_wide_as_was_asked_for(std):
    torch.manual_seed(0)
    model = EncoderDecoder(EncoderDecoderConfig(vocab_size=200, d_model=32), std=std)
    assert model.embedding.weight.std().item() == pytest.approx(std, rel=0.05)


@pytest.mark.parametrize("wrong", [{"n_decoder": 0}, {"n_encoder": -1}, {"dropout": 1.0}])
def test_sizes_that_make_no_model_are_refused(wrong):
    with pytest.raises(ValueError, match="a size below 1, or a dropout outside"):
        EncoderDecoderConfig(**SIZES | wrong)


def test_it_learns_to_copy_two_letters():
    torch.manual_seed(0)
    sizes = EncoderDecoderConfig(vocab_size=5, n_encoder=1, n_decoder=1, n_head=2, d_model=16)
    model = EncoderDecoder(sizes)
    source = torch.cartesian_prod(torch.arange(1, 5), torch.arange(1, 5))
    optimiser = torch.optim.Adam(model.parameters(), 1e-2)
    for _ in range(60):
        loss = F.cross_entropy(model(source, shift_right(source, 0)).mT, source)
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    assert torch.equal(write_likeliest(model, source, 0, 2), source)

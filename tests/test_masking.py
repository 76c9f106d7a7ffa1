"""Masked tokens: who is chosen, what becomes of it, and what is asked."""

from itertools import islice

import pytest
import torch
from torch.nn import functional as F
from torch.testing import assert_close

from coursekit.evaluate.likelihood import NO_TARGET, next_token_loss
from coursekit.models.encoder import Encoder, EncoderConfig, MaskedTokenModel
from coursekit.training.engine import Engine
from coursekit.windows.masking import NOT_CHOSEN, draw_masked, mask_tokens, pad_texts, targets_after

MASK, LOWEST, V = 3, 4, 1004


def chance(seed=0):
    return torch.Generator().manual_seed(seed)


def test_what_is_not_chosen_is_no_target_of_any_loss():
    assert NOT_CHOSEN == NO_TARGET


def test_of_a_million_tokens_15_per_cent_are_chosen_and_these_80_10_and_10():
    tokens = torch.randint(LOWEST, V, (1000, 1000), generator=chance(1))
    inputs, targets = mask_tokens(tokens, MASK, V, chance(), lowest=LOWEST)
    chosen = targets != NOT_CHOSEN
    assert chosen.float().mean().item() == pytest.approx(0.15, abs=0.003)
    became = inputs[chosen]
    fractions = [became == MASK, (became != MASK) & (became != tokens[chosen])]
    fractions.append(became == tokens[chosen])  # one in a thousand is drawn as itself
    for found, expected in zip(fractions, (0.8, 0.1, 0.1), strict=True):
        assert found.float().mean().item() == pytest.approx(expected, abs=0.003)
    assert torch.equal(inputs[~chosen], tokens[~chosen])
    assert torch.equal(targets[chosen], tokens[chosen])
    random = became[(became != MASK) & (became != tokens[chosen])]
    assert random.min() >= LOWEST
    assert random.max() < V
    counts = torch.bincount(random - LOWEST, minlength=V - LOWEST).float()
    assert counts.std() / counts.mean() < 0.5  # 15 a word, all as likely


def test_padding_is_never_chosen():
    tokens = torch.randint(LOWEST, V, (50, 20), generator=chance(1))
    maskable = torch.arange(20).expand(50, 20) < 7
    inputs, targets = mask_tokens(tokens, MASK, V, chance(), maskable=maskable, chosen=1.0)
    assert torch.equal(targets != NOT_CHOSEN, maskable)
    assert torch.equal(inputs[~maskable], tokens[~maskable])


def test_the_lowest_id_bounds_what_is_drawn_and_not_what_is_chosen():
    tokens = torch.randint(LOWEST, (9, 30), generator=chance(1))  # special ones, all of them
    _, targets = mask_tokens(tokens, MASK, V, chance(), chosen=1.0, lowest=LOWEST)
    assert torch.equal(targets, tokens)


def test_the_same_generator_hides_the_same_tokens_and_another_hides_others():
    tokens = torch.randint(LOWEST, V, (9, 30), generator=chance(1))
    one, same, other = (mask_tokens(tokens, MASK, V, chance(seed))[1] for seed in (0, 0, 1))
    assert torch.equal(one, same)
    assert not torch.equal(one, other)


@pytest.mark.parametrize("wrong", [{"chosen": 1.5}, {"chosen": -0.1}, {"lowest": V}])
def test_what_can_not_be_drawn_is_refused(wrong):
    with pytest.raises(ValueError, match="must be between 0 and 1"):
        mask_tokens(torch.zeros(2, 3, dtype=torch.long), MASK, V, chance(), **wrong)


# Texts of different lengths


def test_padded_texts_come_back_whole():
    texts = [[5, 6, 7], [8], [9, 4]]
    tokens, present = pad_texts(texts, pad=0)
    assert [row[there].tolist() for row, there in zip(tokens, present, strict=True)] == texts
    assert (tokens[~present] == 0).all()


@pytest.mark.parametrize(("longest", "expected"), [(2, 3), (3, 3), (4, 6), (6, 6)])
def test_texts_are_padded_to_a_multiple_and_no_further(longest, expected):
    tokens, present = pad_texts([[7], [5] * longest], pad=9, multiple_of=3)
    assert tokens.shape == present.shape == (2, expected)
    assert present.sum(1).tolist() == [1, longest]
    assert tokens[0].tolist() == [7] + [9] * (expected - 1)


def test_a_multiple_below_one_is_refused():
    with pytest.raises(ValueError, match="multiple_of=0 must be at least 1"):
        pad_texts([[4, 5]], multiple_of=0)


@pytest.mark.parametrize("texts", [[], [[4], []]])
def test_texts_without_a_token_are_refused(texts):
    with pytest.raises(ValueError, match="give each text a token or more"):
        pad_texts(texts)


def test_a_batch_of_masked_texts_asks_for_words_only():
    tokens, present = pad_texts([[1, 5, 6, 7, 8], [1, 9], [1, 4, 4]])
    batches = draw_masked(tokens, present, MASK, 12, 7, chance(), lowest=LOWEST)
    for (inputs, there), targets in islice(batches, 20):
        assert inputs.shape == there.shape == targets.shape == (7, 5)
        chosen = targets != NOT_CHOSEN
        assert chosen.any()
        assert not chosen[:, 0].any()
        assert not chosen[~there].any()
        assert (inputs[~there] == 0).all()


def test_any_id_may_stand_for_a_word_unless_said_otherwise():
    tokens = torch.full((8, 30), 4)
    batches = draw_masked(tokens, tokens > 0, MASK, 6, 8, chance())
    seen = {token for (inputs, _), _ in islice(batches, 40) for token in inputs.unique().tolist()}
    assert seen == set(range(6))


def test_batches_of_nothing_are_refused():
    tokens, present = pad_texts([[1], [1]])
    with pytest.raises(ValueError, match="some text longer than a token"):
        next(draw_masked(tokens, present, MASK, 12, 2, chance()))
    tokens, present = pad_texts([[1, 5]])
    with pytest.raises(ValueError, match="batch_size=0 must be at least 1"):
        next(draw_masked(tokens, present, MASK, 12, 0, chance()))


# The loss


def model_and_batch():
    torch.manual_seed(0)
    sizes = {"vocab_size": 12, "context": 9, "n_layer": 1, "n_head": 2, "d_model": 8}
    model = MaskedTokenModel(Encoder(EncoderConfig(**sizes, dropout=0.0), std=0.3)).double()
    tokens = torch.randint(LOWEST, 12, (6, 9), generator=chance(1))
    inputs, targets = mask_tokens(tokens, MASK, 12, chance(3), lowest=LOWEST)
    targets[:3] = NOT_CHOSEN  # so that pieces have different numbers of targets, and one has none
    targets[0, 2] = 5
    return model, inputs, targets


def test_the_loss_counts_the_chosen_tokens_only():
    model, inputs, targets = model_and_batch()
    logits, chosen = model(inputs), targets != NOT_CHOSEN
    by_hand = -logits.log_softmax(-1)[chosen].gather(1, targets[chosen][:, None]).mean()
    assert_close(next_token_loss(logits, targets), by_hand)
    other = logits + torch.randn(logits.shape) * ~chosen[..., None]
    assert_close(next_token_loss(other, targets), by_hand)


@pytest.mark.parametrize("micro_batches", [2, 3, 6])
def test_micro_batches_give_the_gradients_of_the_whole_batch(micro_batches):
    found = []
    for pieces in (1, micro_batches):
        model, inputs, targets = model_and_batch()
        engine = Engine(micro_batches=pieces).start(model, torch.optim.SGD(model.parameters(), 1.0))
        loss = engine.backward(next_token_loss, inputs, targets)
        found.append((loss, [p.grad for p in model.parameters()]))
    assert_close(found[0][0], found[1][0].double(), check_dtype=False)
    for one, other in zip(found[0][1], found[1][1], strict=True):
        assert_close(one, other, rtol=0, atol=1e-6)
    model, inputs, targets = model_and_batch()
    halves = [
        F.cross_entropy(model(x).flatten(0, 1), y.flatten())
        for x, y in zip(inputs.chunk(2), targets.chunk(2), strict=True)
    ]
    assert abs(sum(halves) / 2 - found[0][0]) > 1e-3  # a mean of means is another number


def test_the_next_word_is_the_target_and_nothing_else():
    tokens = torch.tensor([[5, 4, 3, 9, 0], [6, 7, 8, 4, 5]])
    expected = [[4, -100, 9, -100, -100], [7, 8, 4, 5, -100]]
    assert targets_after(tokens).tolist() == expected
    assert targets_after(tokens, lowest=1).tolist()[0] == [4, 3, 9, -100, -100]

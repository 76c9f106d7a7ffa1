"""Likelihood and perplexity."""

import math

import pytest
import torch
from torch.nn import functional as F
from torch.testing import assert_close

from coursekit import score
from coursekit.data.windows import word_windows
from coursekit.models.mlp import MLP, MLPConfig
from coursekit.models.ngram import Bigram, NGram, count_ngrams, smooth
from coursekit.score import evaluating, mean_nll, perplexity, table_nll
from coursekit.tokens.vocabulary import Vocabulary

LETTERS = Vocabulary(".abcd")
WORDS = ["abba", "cab", "a", "bac"]
PAIRS = word_windows(WORDS, LETTERS, 2)


def uniform(vocab_size, order):
    return NGram(torch.full((vocab_size ** (order - 1), vocab_size), 1 / vocab_size).double())


def test_mean_nll_is_the_sum_of_logs_by_hand():
    shares = smooth(count_ngrams(PAIRS, 5), 1.0)
    logs = [math.log(shares[i, j]) for i, j in PAIRS.tolist()]
    assert mean_nll(NGram(shares), PAIRS) == pytest.approx(-sum(logs) / len(logs), abs=1e-12)


def test_mean_nll_takes_logits_that_are_not_normalised():
    model = Bigram(5)
    expected = F.cross_entropy(model.weights[PAIRS[:, 0]], PAIRS[:, 1])
    assert mean_nll(model, PAIRS) == pytest.approx(expected.item(), abs=1e-6)


def test_an_unseen_pair_has_infinite_nll():
    model = NGram(smooth(count_ngrams(PAIRS, 5), 0.0))
    assert math.isfinite(mean_nll(model, PAIRS))
    assert mean_nll(model, word_windows(["cc"], LETTERS, 2)) == math.inf


@pytest.mark.parametrize("order", [1, 2, 3])
def test_perplexity_of_a_uniform_model_is_the_vocabulary_size(order):
    windows = word_windows(WORDS, LETTERS, 3)
    assert perplexity(mean_nll(uniform(5, order), windows)) == pytest.approx(5, abs=1e-9)


@pytest.mark.parametrize(
    ("nll", "expected"), [(0.0, 1.0), (1.0, math.e), (1000.0, math.inf), (math.inf, math.inf)]
)
def test_perplexity_is_e_to_the_nll(nll, expected):
    assert perplexity(nll) == pytest.approx(expected)


def test_no_windows_are_refused():
    with pytest.raises(ValueError, match="no windows to score: the text is shorter"):
        mean_nll(uniform(5, 2), PAIRS[:0])


def test_windows_without_room_for_a_target_are_refused():
    with pytest.raises(ValueError, match=r"hold no context of 2.*: cut them to length 3"):
        mean_nll(uniform(5, 3), PAIRS)


@pytest.mark.parametrize("order", [1, 2, 3])
def test_table_loss_equals_the_loss_token_by_token(order):
    windows = word_windows(WORDS, LETTERS, order)
    logits = torch.randn(5 ** (order - 1), 5, dtype=torch.float64, requires_grad=True)
    row = sum(5**i * windows[:, order - 2 - i] for i in range(order - 1))
    row = row if order > 1 else torch.zeros(len(windows), dtype=torch.long)
    by_token = F.cross_entropy(logits[row], windows[:, -1])
    by_table = table_nll(logits, count_ngrams(windows, 5))
    assert_close(by_table, by_token)
    slopes = [torch.autograd.grad(loss, logits)[0] for loss in (by_table, by_token)]
    assert_close(*slopes)


def test_a_cell_without_counts_adds_nothing_even_if_impossible():
    counts = count_ngrams(PAIRS, 5)
    shares = smooth(counts, 0.0)
    found = table_nll(shares.log(), counts)
    assert found.item() == pytest.approx(mean_nll(NGram(shares), PAIRS), abs=1e-12)


def test_table_loss_is_infinite_where_an_impossible_token_was_counted():
    logits = torch.tensor([[0.0, -math.inf]])
    assert table_nll(logits, torch.tensor([[3, 1]])) == math.inf


def test_a_table_that_counted_nothing_is_refused():
    with pytest.raises(ValueError, match="counted no tokens"):
        table_nll(torch.zeros(2, 3), torch.zeros(2, 3, dtype=torch.long))


def normed():
    torch.manual_seed(0)
    return MLP(MLPConfig(vocab_size=5, context=2, d_embedding=3, d_hidden=7, normalised=True))


def test_scoring_leaves_the_model_as_it_was():
    model, windows = normed(), torch.randint(5, (50, 3))
    model.hidden[0].eval()
    modes = [part.training for part in model.modules()]
    first = mean_nll(model, windows)
    assert first == mean_nll(model, windows)
    assert [part.training for part in model.modules()] == modes
    assert not model.hidden[1].running_mean.any()


def test_a_model_that_fails_gets_its_modes_back():
    model = normed()
    with pytest.raises(RuntimeError, match="stopped"), evaluating(model):
        raise RuntimeError("stopped" if not model.training else "still training")
    assert model.training
    assert torch.is_grad_enabled()


def test_the_score_does_not_depend_on_how_many_are_scored_at_once(monkeypatch):
    model, windows = normed().double(), torch.randint(5, (50, 3))
    scores = set()
    for at_once in (1, 7, 50, 1024):
        monkeypatch.setattr(score, "AT_ONCE", at_once)
        scores.add(round(mean_nll(model, windows), 12))
    assert len(scores) == 1

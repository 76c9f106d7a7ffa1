"""Likelihood and perplexity."""

import inspect
import math

import pytest
import torch
from torch.nn import functional as F
from torch.testing import assert_close

from coursekit.evaluate import likelihood as score
from coursekit.evaluate.likelihood import (
    NO_TARGET,
    compare_losses,
    count_targets,
    evaluating,
    hac_error,
    mean_nll,
    next_token_loss,
    perplexity,
    table_nll,
    text_nll,
)
from coursekit.models.gpt import GPT, GPTConfig, modern_gpt
from coursekit.models.mlp import MLP, MLPConfig
from coursekit.models.ngram import Bigram, NGram, count_ngrams, smooth
from coursekit.tokens.vocabulary import Vocabulary
from coursekit.windows.tokens import word_windows

LETTERS = Vocabulary(".abcd")
WORDS = ["abba", "cab", "a", "bac"]
PAIRS = word_windows(WORDS, LETTERS, 2)


def uniform(vocab_size, order):
    return NGram(torch.full((vocab_size ** (order - 1), vocab_size), 1 / vocab_size).double())


def test_mean_nll_is_the_sum_of_logs_by_hand():
    probabilities = smooth(count_ngrams(PAIRS, 5), 1.0)
    logs = [math.log(probabilities[i, j]) for i, j in PAIRS.tolist()]
    assert mean_nll(NGram(probabilities), PAIRS) == pytest.approx(-sum(logs) / len(logs), abs=1e-12)


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
    gradients = [torch.autograd.grad(loss, logits)[0] for loss in (by_table, by_token)]
    assert_close(*gradients)


def test_a_cell_without_counts_adds_nothing_even_if_impossible():
    counts = count_ngrams(PAIRS, 5)
    probabilities = smooth(counts, 0.0)
    found = table_nll(probabilities.log(), counts)
    assert found.item() == pytest.approx(mean_nll(NGram(probabilities), PAIRS), abs=1e-12)


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


def test_a_part_in_training_mode_inside_a_model_in_evaluation_mode_is_held_too():
    model = normed().eval()
    model.hidden[1].train()
    with evaluating(model):
        assert not any(part.training for part in model.modules())
    assert [part for part in model.modules() if part.training] == [model.hidden[1]]


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


def test_the_loss_of_the_next_token_is_the_mean_of_logs_by_hand():
    torch.manual_seed(0)
    logits, targets = torch.randn(2, 3, 5).double(), torch.randint(5, (2, 3))
    probabilities = logits.exp() / logits.exp().sum(-1, keepdim=True)
    logs = [math.log(probabilities[b, t, targets[b, t]]) for b in range(2) for t in range(3)]
    assert next_token_loss(logits, targets).item() == pytest.approx(-sum(logs) / 6, abs=1e-12)


def test_where_there_is_no_target_nothing_counts():
    torch.manual_seed(0)
    logits, targets = torch.randn(2, 4, 5), torch.randint(5, (2, 4))
    targets[0, 1:] = NO_TARGET
    kept = torch.cat([logits[0, :1], logits[1]])
    expected = F.cross_entropy(kept, torch.cat([targets[0, :1], targets[1]]))
    assert next_token_loss(logits, targets).item() == pytest.approx(expected.item(), abs=1e-6)


def test_targets_are_counted_but_where_there_is_none():
    assert count_targets(torch.tensor([[4, 0, NO_TARGET], [NO_TARGET] * 3])) == 2
    assert count_targets(torch.tensor([[-100.0, 0.5], [1.0, 2.0], [-1.0, -2.0]])) == 6  # °C


def reader(context=8, build=GPT):
    """A GPT in float64 whose prediction depends on all that it reads."""
    torch.manual_seed(0)
    sizes = {"vocab_size": 13, "context": context, "n_layer": 1, "n_head": 2, "d_model": 8}
    model = build(GPTConfig(**sizes)).double()
    for weight in model.parameters():
        weight.data = torch.randn_like(weight)
    return model


def token_by_token(model, tokens, stride, context):
    """The loss of each target in the first window that has it, one after the other."""
    losses, begin = {}, 0
    while len(losses) < len(tokens) - 1:
        window = tokens[begin : begin + context + 1]
        probabilities = model(window[None, :-1]).detach().log_softmax(-1)[0]
        for t, target in enumerate(window[1:].tolist()):
            losses.setdefault(begin + t, -probabilities[t, target].item())
        begin += stride
    return sum(losses.values()) / len(losses)


@pytest.mark.parametrize("build", [GPT, modern_gpt])
@pytest.mark.parametrize("stride", [1, 3, 7, 8])
@pytest.mark.parametrize("n", [2, 3, 8, 9, 10, 16, 17, 30])
def test_the_loss_of_a_text_is_that_of_each_token_in_its_first_window(build, stride, n):
    model, tokens = reader(build=build), torch.randint(13, (n,))
    expected = token_by_token(model, tokens, stride, 8)
    assert text_nll(model, tokens, stride=stride) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("stride", [1, 7, 64])
@pytest.mark.parametrize("n", [40, 64, 65, 200])
def test_the_loss_of_a_text_is_right_for_a_long_context_too(stride, n):
    model, tokens = reader(64), torch.randint(13, (n,))
    expected = token_by_token(model, tokens, stride, 64)
    assert text_nll(model, tokens, stride=stride) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize(("stride", "context"), [(2, 5), (5, 5), (1, 1), (None, 3)])
def test_a_text_can_be_read_with_less_context_than_the_model_has(stride, context):
    model, tokens = reader(), torch.randint(13, (23,))
    expected = token_by_token(model, tokens, stride or context, context)
    found = text_nll(model, tokens, stride=stride, context=context)
    assert found == pytest.approx(expected, abs=1e-12)


def test_windows_lie_side_by_side_unless_a_stride_is_given():
    model, tokens = reader(), torch.randint(13, (30,))
    assert text_nll(model, tokens) == text_nll(model, tokens, stride=8)
    assert text_nll(model, tokens) != text_nll(model, tokens, stride=7)


class Unmoved(torch.nn.Module):
    """Predicts the same probabilities everywhere, whatever it has read."""

    context = 8

    def __init__(self, n):
        super().__init__()
        self.logits = torch.nn.Parameter(torch.randn(n).double())

    def forward(self, tokens):
        return self.logits.expand(*tokens.shape, -1)


@pytest.mark.parametrize("stride", [1, 2, 5, 8])
@pytest.mark.parametrize("n", [2, 8, 9, 21, 40])
def test_each_token_but_the_first_counts_once(stride, n):
    model = Unmoved(n)  # every token of the text has a loss of its own
    expected = -model.logits.log_softmax(-1)[1:].mean().item()
    assert text_nll(model, torch.arange(n), stride=stride) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("stride", [1, 3, 8])
def test_the_loss_of_a_text_does_not_depend_on_how_many_windows_go_at_once(monkeypatch, stride):
    model, tokens, losses = reader(), torch.randint(13, (60,)), set()
    for at_once in (1, 8, 40, 32_768):
        monkeypatch.setattr(score, "AT_ONCE", at_once)
        losses.add(round(text_nll(model, tokens, stride=stride), 12))
    assert len(losses) == 1


def test_no_more_tokens_go_at_once_than_memory_is_meant_to_hold(monkeypatch):
    model, sizes = reader(), []
    model.register_forward_pre_hook(lambda _, given: sizes.append(given[0].numel()))
    monkeypatch.setattr(score, "AT_ONCE", 40)
    text_nll(model, torch.randint(13, (100,)), stride=2)
    assert max(sizes) == 40
    assert len(sizes) < 12


def test_a_text_is_scored_in_evaluation_mode_and_the_model_left_as_it_was():
    torch.manual_seed(0)
    model = GPT(GPTConfig(vocab_size=13, context=8, n_layer=1, n_head=2, d_model=8, dropout=0.5))
    model.blocks[0].eval()
    modes, tokens = [part.training for part in model.modules()], torch.randint(13, (30,))
    assert text_nll(model, tokens) == text_nll(model, tokens)
    assert [part.training for part in model.modules()] == modes
    assert torch.is_grad_enabled()


class Uniform(torch.nn.Module):
    """Gives each of five tokens the same probability; it has nothing to train."""

    context = 4

    def forward(self, tokens):
        return torch.zeros(*tokens.shape, 5)


def test_a_model_without_parameters_is_scored_where_the_text_is_read():
    assert text_nll(Uniform(), torch.arange(9) % 5) == pytest.approx(math.log(5), abs=1e-6)


@pytest.mark.parametrize(
    ("n", "options", "message"),
    [
        (1, {}, "1 tokens, .* a text needs two tokens"),
        (20, {"stride": 9}, "stride=9.*1 ≤ stride ≤ context ≤ 8"),
        (20, {"stride": 4, "context": 3}, "stride=4, context=3.*stride ≤ context"),
        (20, {"context": 9}, "context=9.*context ≤ 8, the model's"),
        (20, {"stride": -1}, "stride=-1.*1 ≤ stride"),
        (20, {"stride": 0}, "stride=0.*1 ≤ stride"),
        (20, {"context": 0}, "context=0.*1 ≤ stride"),
    ],
)
def test_a_text_or_sizes_that_do_not_fit_are_refused(n, options, message):
    with pytest.raises(ValueError, match=message):
        text_nll(reader(), torch.zeros(n, dtype=torch.long), **options)


@pytest.mark.parametrize("lags", [0, 2])
@pytest.mark.parametrize("more", [0.0, 0.5])
def test_losses_that_differ_by_the_same_amount_everywhere_are_refused(lags, more):
    losses = torch.tensor([1.0, 2.5, 0.25, 4.0])
    message = rf"loses {more:g} more than `second` on each of the 4 days, .*: compare two different"
    with pytest.raises(ValueError, match=message):
        compare_losses(losses + more, losses, lags)
    losses_2 = losses.flip(0)
    assert math.isfinite(compare_losses(losses, losses_2, lags)[1])


@pytest.mark.parametrize("lags", [0, 3])
def test_the_error_of_a_difference_is_that_of_its_ratio_and_known_where_there_is_none(lags):
    generator = torch.Generator().manual_seed(0)
    first, second = (torch.rand(50, generator=generator).double() for _ in range(2))
    mean, ratio = compare_losses(first, second, lags)
    assert hac_error(first, second, lags) == pytest.approx(mean / ratio, rel=1e-9)
    assert hac_error(first - mean, second, lags) == pytest.approx(mean / ratio, rel=1e-9)


def test_losses_that_pytorch_would_pair_each_with_each_are_refused():
    bare = inspect.unwrap(compare_losses)  # as outside the tests, where shapes are not verified
    with pytest.raises(ValueError, match=r"shapes \(5, 1\) and \(5,\) differ: give one number"):
        bare(torch.randn(5, 1), torch.randn(5))

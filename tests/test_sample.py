"""Sequences drawn from a model."""

from collections import Counter

import pytest
import torch
from torch import Generator

from coursekit.data.windows import word_windows
from coursekit.models.ngram import NGram, count_ngrams, smooth
from coursekit.sample import sample_text
from coursekit.tokens.vocabulary import Vocabulary

LETTERS = Vocabulary(".abc")
WORDS = ["abba", "cab", "a", "baaac", "aab"]


def model_of(order, alpha=0.0):
    return NGram(smooth(count_ngrams(word_windows(WORDS, LETTERS, order), 4), alpha))


def names_from(seed, n=20):
    generator = Generator().manual_seed(seed)
    return [sample_text(model_of(2), LETTERS, ".", 50, generator, stop=".") for _ in range(n)]


def chi_square(drawn, expected):
    """Sum (observed - expected)² / expected over tokens; `drawn` counts them."""
    n = sum(drawn.values())
    assert not [token for token in drawn if not expected[token]]
    return sum((drawn[x] - n * p) ** 2 / (n * p) for x, p in expected.items() if p)


def test_the_same_generator_draws_the_same_names():
    assert names_from(1) == names_from(1)
    assert names_from(1) != names_from(2)


def test_sampling_leaves_the_global_generator_alone():
    before = torch.get_rng_state()
    names_from(1, n=2)
    assert torch.get_rng_state().equal(before)


def test_draws_follow_the_row_of_the_context():
    shares = smooth(count_ngrams(word_windows(WORDS, LETTERS, 2), 4), 0.5)
    model, generator = NGram(shares), Generator().manual_seed(3)
    drawn = Counter(sample_text(model, LETTERS, "ca", 1, generator) for _ in range(2000))
    expected = dict(zip(LETTERS.characters, shares[1].tolist(), strict=True))
    assert chi_square(drawn, expected) < 16.3  # 3 degrees of freedom, p = 0.001


def test_each_draw_joins_the_context_of_the_next():
    ring = NGram(torch.eye(4).roll(1, 1))  # after each token only its successor is possible
    assert sample_text(ring, LETTERS, "b", 6, Generator().manual_seed(0)) == "c.abc."


def test_a_unigram_model_uses_no_context():
    model = model_of(1)
    assert model.context == 0
    text = sample_text(model, LETTERS, "", 2000, Generator().manual_seed(4))
    letters = Counter("".join(f"{word}." for word in WORDS))
    shares = {x: letters[x] / letters.total() for x in LETTERS.characters}
    assert chi_square(Counter(text), shares) < 16.3
    assert chi_square(Counter(text), dict.fromkeys(LETTERS.characters, 0.25)) > 100
    pairs = Counter(zip(text[::2], text[1::2], strict=True))
    apart = {(x, y): shares[x] * shares[y] for x in shares for y in shares}
    assert chi_square(pairs, apart) < 37.7  # 15 degrees of freedom, p = 0.001


@pytest.mark.parametrize("order", [1, 2, 3])
def test_sampling_ends_at_the_stop_and_does_not_return_it(order):
    generator = Generator().manual_seed(5)
    prompt = "." * (order - 1)
    words = [sample_text(model_of(order), LETTERS, prompt, 99, generator, ".") for _ in range(50)]
    assert not any("." in word for word in words)
    assert len({len(word) for word in words}) > 2


def test_without_a_stop_every_step_is_returned():
    text = sample_text(model_of(2), LETTERS, "a", 60, Generator().manual_seed(6))
    assert len(text) == 60
    assert "." in text


def test_no_steps_draw_nothing():
    assert sample_text(model_of(2), LETTERS, "a", 0, Generator()) == ""


def test_a_prompt_shorter_than_the_context_is_refused():
    with pytest.raises(ValueError, match="prompt='a' is shorter than the model's context of 2"):
        sample_text(model_of(3), LETTERS, "a", 1, Generator())


@pytest.mark.parametrize("stop", ["", "ab"])
def test_a_stop_that_is_not_one_character_is_refused(stop):
    model = NGram(torch.full((3, 3), 1 / 3))
    with pytest.raises(ValueError, match="name the one that ends a text"):
        sample_text(model, Vocabulary(".ab"), ".", 5, torch.Generator(), stop=stop)


def test_a_low_temperature_takes_the_likeliest():
    table = torch.rand(4, 4, generator=Generator().manual_seed(0)).softmax(-1)
    model, generator, token, greedy = NGram(table), Generator().manual_seed(0), 0, []
    for _ in range(6):
        token = int(table[token].argmax())
        greedy.append(token)
    cold = [sample_text(model, LETTERS, ".", 6, generator, temperature=1e-4) for _ in range(5)]
    assert cold == [LETTERS.decode(greedy)] * 5


def test_temperature_divides_the_logits():
    model = model_of(1, alpha=1.0)
    text = sample_text(model, LETTERS, "", 20_000, Generator().manual_seed(0), temperature=0.5)
    shares = model.log_table[0].exp() ** 2
    expected = dict(zip(LETTERS.characters, (shares / shares.sum()).tolist(), strict=True))
    assert chi_square(Counter(text), expected) < 16.3  # 3 degrees of freedom, 0.1 %


@pytest.mark.parametrize("temperature", [0.0, -1.0, float("nan")])
def test_a_temperature_that_is_not_positive_is_refused(temperature):
    with pytest.raises(ValueError, match="must be above 0"):
        sample_text(model_of(2), LETTERS, ".", 5, Generator(), temperature=temperature)

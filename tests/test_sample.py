"""Sequences drawn from a model."""

import math
from collections import Counter
from itertools import islice

import pytest
import torch
from torch import Generator

from coursekit.models.gpt import GPT, GPTConfig
from coursekit.models.ngram import NGram, count_ngrams, smooth
from coursekit.sample import generate, pick_by_chance, pick_likeliest, sample_text
from coursekit.tokens.bpe import BPE
from coursekit.tokens.vocabulary import Vocabulary
from coursekit.tokens.words import Lexicon
from coursekit.windows.tokens import word_windows

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
    probabilities = smooth(count_ngrams(word_windows(WORDS, LETTERS, 2), 4), 0.5)
    model, pick = NGram(probabilities), pick_by_chance(Generator().manual_seed(3))
    prompt = LETTERS.encode("ca")
    drawn = Counter(next(generate(model, prompt, pick)) for _ in range(2000))
    expected = dict(enumerate(probabilities[1].tolist()))
    assert chi_square(drawn, expected) < 16.3  # 3 degrees of freedom, p = 0.001


def test_each_draw_joins_the_context_of_the_next():
    ring = NGram(torch.eye(4).roll(1, 1))  # after each token only its successor is possible
    assert sample_text(ring, LETTERS, "b", 6, Generator().manual_seed(0)) == "c.abc."


def test_a_unigram_model_uses_no_context():
    model = model_of(1)
    assert model.context == 0
    text = sample_text(model, LETTERS, "", 2000, Generator().manual_seed(4))
    letters = Counter("".join(f"{word}." for word in WORDS))
    probabilities = {x: letters[x] / letters.total() for x in LETTERS.characters}
    assert chi_square(Counter(text), probabilities) < 16.3
    assert chi_square(Counter(text), dict.fromkeys(LETTERS.characters, 0.25)) > 100
    pairs = Counter(zip(text[::2], text[1::2], strict=True))
    apart = {
        (x, y): probabilities[x] * probabilities[y] for x in probabilities for y in probabilities
    }
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
    with pytest.raises(ValueError, match="1 tokens are fewer than the 2 of the context"):
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
    text = sample_text(model, LETTERS, "", 5000, Generator().manual_seed(0), temperature=0.5)
    probabilities = model.log_table[0].exp() ** 2
    expected = dict(
        zip(LETTERS.characters, (probabilities / probabilities.sum()).tolist(), strict=True)
    )
    assert chi_square(Counter(text), expected) < 16.3  # 3 degrees of freedom, 0.1 %


@pytest.mark.parametrize("temperature", [0.0, -1.0, float("nan")])
def test_a_temperature_that_is_not_positive_is_refused(temperature):
    with pytest.raises(ValueError, match="must be above 0"):
        sample_text(model_of(2), LETTERS, ".", 5, Generator(), temperature=temperature)


LOGITS = torch.tensor([0.3, 2.0, -1.0, 1.2, 0.9])


def drawn_from(logits, n, **options):
    pick = pick_by_chance(Generator().manual_seed(0), **options)
    return Counter(pick(logits) for _ in range(n))


@pytest.mark.parametrize("temperature", [0.5, 3])
@pytest.mark.parametrize("top_k", [None, 1, 2, 4, 9])
def test_draws_follow_the_probabilities_of_the_likeliest(temperature, top_k):
    likeliest = sorted(range(5), key=lambda i: -LOGITS[i])[:top_k]
    weights = {i: math.exp(LOGITS[i] / temperature) for i in likeliest}
    expected = {i: weights.get(i, 0) / sum(weights.values()) for i in range(5)}
    found = drawn_from(LOGITS, 3000, temperature=temperature, top_k=top_k)
    assert chi_square(found, expected) < 18.5  # 4 degrees of freedom at most, p = 0.001


def test_tokens_as_likely_as_the_last_of_the_likeliest_may_be_drawn_too():
    found = drawn_from(torch.tensor([1.0, 0.0, 2.0, 1.0, -1.0]), 300, top_k=2)
    assert found.keys() == {0, 2, 3}


def test_a_token_that_is_ruled_out_is_never_drawn():
    logits = torch.tensor([0.0, -torch.inf, 0.0])
    assert drawn_from(logits, 300).keys() == {0, 2}
    assert drawn_from(logits, 300, top_k=2).keys() == {0, 2}


def test_a_choice_leaves_the_logits_as_they_were():
    logits = LOGITS.clone()
    drawn_from(logits, 3, temperature=0.5, top_k=2)
    assert torch.equal(logits, LOGITS)


@pytest.mark.parametrize("top_k", [0, -3])
def test_a_choice_among_no_tokens_is_refused(top_k):
    with pytest.raises(ValueError, match=f"top_k={top_k} must be at least 1: nothing could be"):
        pick_by_chance(Generator(), top_k=top_k)


def test_the_likeliest_is_picked_without_chance():
    assert [pick_likeliest(LOGITS), pick_likeliest(LOGITS.flip(0))] == [1, 3]


class Echo(torch.nn.Module):
    """Notes what it reads; after token i, token i + 1 is the likeliest of 10."""

    context = 4

    def __init__(self):
        super().__init__()
        self.seen = []

    def forward(self, tokens):
        self.seen.append(tokens[0].tolist())
        return torch.eye(10)[(tokens[:, -1] + 1) % 10]


def test_a_model_reads_at_most_its_context_and_every_token_that_was_picked():
    model = Echo()
    assert list(islice(generate(model, [0, 1], pick_likeliest), 5)) == [2, 3, 4, 5, 6]
    assert model.seen == [[0, 1], [0, 1, 2], [0, 1, 2, 3], [1, 2, 3, 4], [2, 3, 4, 5]]


def test_of_a_long_prompt_only_the_last_context_is_read():
    model = Echo()
    assert list(islice(generate(model, [9, 8, 7, 6, 5, 4], pick_likeliest), 2)) == [5, 6]
    assert model.seen == [[7, 6, 5, 4], [6, 5, 4, 5]]


def test_a_model_is_in_training_mode_again_after_each_token():
    model = GPT(GPTConfig(vocab_size=4, context=5, n_layer=1, n_head=2, d_model=8, dropout=0.5))
    for cached in (False, True):
        for _ in islice(generate(model, [1], pick_likeliest, cached=cached), 3):
            assert model.training
            assert torch.is_grad_enabled()


def test_a_prompt_is_not_changed():
    prompt = [0, 1]
    list(islice(generate(Echo(), prompt, pick_likeliest), 3))
    assert prompt == [0, 1]


def letters_gpt(vocab_size=4):
    torch.manual_seed(0)
    sizes = {"context": 6, "n_layer": 1, "n_head": 2, "d_model": 8}
    model = GPT(GPTConfig(vocab_size=vocab_size, **sizes)).double()
    for weight in model.parameters():
        weight.data = 0.5 * torch.randn_like(weight)
    return model


@pytest.mark.parametrize("prompt", ["a", "abc", "abc.abcabcabc"])
@pytest.mark.parametrize("cached", [False, True])
def test_a_gpt_continues_prompts_shorter_and_longer_than_its_context(prompt, cached):
    model = letters_gpt()

    def written(prompt):
        return sample_text(model, LETTERS, prompt, 20, Generator().manual_seed(0), cached=cached)

    assert len(written(prompt)) == 20
    assert written(prompt) == written(prompt[-6:])


def test_a_text_is_the_same_with_and_without_a_cache():
    model = letters_gpt()
    texts = {
        sample_text(model, LETTERS, "b", 40, Generator().manual_seed(7), ".", 1.5, 3, cached=cached)
        for cached in (False, True)
    }
    assert len(texts) == 1


def test_a_gpt_needs_a_token_to_begin_with():
    with pytest.raises(ValueError, match="nothing to continue: begin with the boundary token"):
        sample_text(letters_gpt(), LETTERS, "", 5, Generator())


@pytest.mark.parametrize(
    "tokenizer",
    [BPE({bytes([i]): i for i in range(256)} | {b"ab": 256}), Lexicon(".abc")],
    ids=["BPE", "Lexicon"],
)
def test_any_tokenizer_will_do(tokenizer):
    model, generator = letters_gpt(300), Generator().manual_seed(0)
    model.norm.weight.data.zero_()  # now a logit is the sum of a row of the head
    model.norm.bias.data.fill_(1)
    model.head.weight.data.fill_(-9)
    model.head.weight.data[tokenizer.encode("abc")] = 9
    text = sample_text(model, tokenizer, "ab", 12, generator)
    assert set(text) == set("abc")
    assert 12 <= len(text) <= 24
    assert "c" not in sample_text(model, tokenizer, "ab", 50, generator, stop="c")


def test_a_text_can_not_end_at_what_is_several_tokens():
    bpe = BPE({bytes([i]): i for i in range(256)})
    with pytest.raises(ValueError, match="stop='é' is not a single token: name the one that"):
        sample_text(letters_gpt(256), bpe, "a", 5, Generator(), stop="é")


def test_a_text_can_end_at_a_special_token():
    bpe = BPE({bytes([i]): i for i in range(256)}, special={"<|end|>": 256})
    model = letters_gpt(257)
    model.norm.weight.data.zero_()  # now a logit is the sum of a row of the head
    model.norm.bias.data.fill_(1)
    model.head.weight.data.fill_(-9)
    model.head.weight.data[[97, 256]] = 9
    drawn = [
        sample_text(model, bpe, "a", 20, Generator().manual_seed(s), "<|end|>") for s in range(9)
    ]
    assert set("".join(drawn)) == {"a"}
    assert min(map(len, drawn)) < max(map(len, drawn)) < 20


@pytest.mark.parametrize("cached", [False, True])
def test_drawing_a_text_touches_no_global_generator(cached):
    model, before = letters_gpt(), torch.get_rng_state()
    sample_text(model, LETTERS, "a", 9, Generator().manual_seed(0), cached=cached)
    assert torch.get_rng_state().equal(before)


def test_a_temperature_towards_0_takes_the_likeliest():
    logits = torch.tensor([0.1, 3.0, -2.0, 2.9])
    for temperature in (1e-3, 1e-38, 5e-324):
        pick = pick_by_chance(Generator().manual_seed(0), temperature)
        assert {pick(logits) for _ in range(20)} == {1}
    assert pick_by_chance(Generator().manual_seed(0), 1e-38)(torch.tensor([-1e30, 1e30])) == 1


def test_a_text_is_drawn_at_the_temperature_and_from_the_tokens_asked_for():
    model = letters_gpt()

    def write(**settings):
        return sample_text(model, LETTERS, "a", 60, Generator().manual_seed(5), **settings)

    greedy = LETTERS.decode(list(islice(generate(model, LETTERS.encode("a"), pick_likeliest), 60)))
    assert write(top_k=1) == greedy
    assert write(temperature=1e-6) == greedy
    assert len({greedy, write(), write(temperature=9.0), write(top_k=2)}) == 4


@pytest.mark.parametrize("cached", [False, True])
def test_a_model_is_read_without_its_dropout_and_keeps_its_mode(cached):
    config = GPTConfig(vocab_size=4, context=8, n_layer=1, n_head=2, d_model=12, dropout=0.5)
    torch.manual_seed(3)
    model = GPT(config, std=0.5).train()
    texts = set()
    for seed in range(3):
        torch.manual_seed(seed)
        texts.add(tuple(islice(generate(model, [1], pick_likeliest, cached=cached), 20)))
        assert model.training
    assert len(texts) == 1


@pytest.mark.parametrize("cached", [False, True])
def test_ids_that_the_model_does_not_know_are_refused(cached):
    with pytest.raises(ValueError, match=r"ids up to 4, which the model has no row for"):
        next(generate(letters_gpt(), [1, 4], pick_likeliest, cached=cached))
    with pytest.raises(ValueError, match="ids from -1 on: encode the text"):
        generate(letters_gpt(), [1, -1], pick_likeliest, cached=cached)
    with pytest.raises(ValueError, match="nothing to continue"):
        generate(letters_gpt(), [], pick_likeliest, cached=cached)

"""Tables of counts, their smoothing, and the models that read them."""

from collections import Counter

import pytest
import torch
from nltk.lm import Laplace, Lidstone
from nltk.lm import Vocabulary as NltkVocabulary
from torch.nn import functional as F
from torch.testing import assert_close

from coursekit.models.ngram import Bigram, NGram, count_ngrams, kneser_ney, smooth
from coursekit.tokens.vocabulary import Vocabulary
from coursekit.windows.tokens import word_windows

LETTERS = Vocabulary(".abcz")  # no word has a z, so that some contexts are never seen
WORDS = ["abba", "cab", "a", "bac", "caaab", "abab", "bbc"]
V = len(LETTERS)
ORDERS = [1, 2, 3, 4]


def windows_of(order):
    return word_windows(WORDS, LETTERS, order)


def counts_of(order):
    return count_ngrams(windows_of(order), V)


def runs_of(order):
    """Count the runs of `order` characters with strings and a dictionary alone."""
    padded = [("." * (order - 1) + word + ".", len(word) + 1) for word in WORDS]
    return Counter(text[i : i + order] for text, n in padded for i in range(n))


def rows_of(order):
    """Name the context of each row: the oldest character changes slowest."""
    contexts = [""]
    for _ in range(order - 1):
        contexts = [context + letter for context in contexts for letter in LETTERS.characters]
    return contexts


@pytest.mark.parametrize("order", ORDERS)
def test_counts_are_those_of_a_dictionary(order):
    runs = runs_of(order)
    expected = [[runs[context + x] for x in LETTERS.characters] for context in rows_of(order)]
    assert counts_of(order).tolist() == expected


def test_windows_of_no_rows_count_nothing():
    assert count_ngrams(torch.zeros(0, 2, dtype=torch.long), 3).tolist() == [[0, 0, 0]] * 3


def test_a_table_too_large_is_refused():
    with pytest.raises(ValueError, match=r"need 10,000,000,000 cells.*: lower the order, or merge"):
        count_ngrams(torch.zeros(1, 5, dtype=torch.long), 100)


@pytest.mark.parametrize("wrong", [-1, 3])
def test_an_id_outside_the_vocabulary_is_not_counted(wrong):
    with pytest.raises(ValueError, match="outside 0 … 2: was another vocabulary used"):
        count_ngrams(torch.tensor([[0, wrong], [1, 2]]), 3)


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("rule", [lambda c: smooth(c, 0.0), lambda c: smooth(c, 0.3), kneser_ney])
def test_every_row_of_probabilities_sums_to_1(order, rule):
    probabilities = rule(counts_of(order))
    assert probabilities.dtype == torch.float64
    assert (probabilities >= 0).all()
    assert_close(probabilities.sum(-1), torch.ones(len(probabilities)).double(), atol=1e-12, rtol=0)


@pytest.mark.parametrize(("nltk_model", "alpha"), [((Laplace,), 1.0), ((Lidstone, 0.25), 0.25)])
@pytest.mark.parametrize("order", [2, 3])
def test_smoothing_agrees_with_nltk(nltk_model, alpha, order):
    rule, *arguments = nltk_model
    # NLTK keeps one more word for all unknown ones. Our z is never seen, so it can be that word.
    oracle = rule(*arguments, order, vocabulary=NltkVocabulary(list(".abc"), unk_label="z"))
    oracle.fit([[tuple(LETTERS.decode(window)) for window in windows_of(order).tolist()]])
    ours = smooth(counts_of(order), alpha)
    for row, context in enumerate(rows_of(order)):
        theirs = [oracle.score(letter, tuple(context)) for letter in LETTERS.characters]
        assert_close(ours[row], torch.tensor(theirs, dtype=torch.float64), atol=1e-12, rtol=0)


def test_smoothing_is_computed_in_float64():
    exact = torch.tensor([[1.1, 2.1, 0.1]], dtype=torch.float64) / 3.3
    assert_close(smooth(torch.tensor([[1, 2, 0]]), 0.1), exact, atol=1e-12, rtol=0)


def test_kneser_ney_is_computed_in_float64():
    exact = torch.tensor([[0.9, 1.9, 0.0]], dtype=torch.float64) / 3 + 0.2 / 3 / 3
    assert_close(kneser_ney(torch.tensor([[1, 2, 0]]), 0.1), exact, atol=1e-12, rtol=0)


def test_no_fake_counts_means_maximum_likelihood():
    probabilities = smooth(torch.tensor([[1, 3, 0]]), 0.0)
    assert_close(probabilities, torch.tensor([[0.25, 0.75, 0.0]]).double())


@pytest.mark.parametrize("alpha", [0.0, 0.5])
def test_an_unseen_context_predicts_uniformly(alpha):
    counts = counts_of(2)
    unseen = counts.sum(-1) == 0
    assert unseen.tolist() == [False, False, False, False, True]
    assert smooth(counts, alpha)[unseen].tolist() == [[1 / V] * V]


def test_negative_fake_counts_are_refused():
    with pytest.raises(ValueError, match=r"alpha=-0.1 is negative: fake counts are at least 0"):
        smooth(counts_of(2), -0.1)


# NLTK's KneserNeyInterpolated ends at the bare probabilities of continuation counts. Ours discounts
# that table too and backs it with 1 / V, so that no letter is impossible. The two differ at
# every order; the oracle is the definition, spelled with strings.
def kneser_ney_of(runs, context, letter, discount):
    if runs.keys() == {""}:
        return 1 / V
    shorter = kneser_ney_of(Counter(run[1:] for run in runs), context[1:], letter, discount)
    row = {run[-1]: n for run, n in runs.items() if run[:-1] == context}
    if not row:
        return shorter
    kept = max(row.get(letter, 0) - discount, 0)
    return (kept + discount * len(row) * shorter) / sum(row.values())


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("discount", [0.0, 0.75, 1.0])
def test_kneser_ney_agrees_with_its_definition_on_strings(order, discount):
    runs = runs_of(order)
    expected = [
        [kneser_ney_of(runs, context, letter, discount) for letter in LETTERS.characters]
        for context in rows_of(order)
    ]
    found = kneser_ney(counts_of(order), discount)
    assert_close(found, torch.tensor(expected, dtype=torch.float64), atol=1e-12, rtol=0)


def test_a_token_bound_to_one_partner_gains_little_elsewhere():
    counts = torch.tensor([[0, 9, 0], [2, 0, 1], [1, 0, 1]])  # token 1 only ever follows token 0
    probabilities = kneser_ney(counts)
    assert counts.sum(0).argmax() == 1
    assert probabilities[1, 1] < probabilities[1, 0]
    assert probabilities[2, 1] < min(probabilities[2, 0], probabilities[2, 2])


def test_counts_that_are_no_table_of_runs_are_refused():
    with pytest.raises(ValueError, match="10 rows are no power of 3 columns: make the table with"):
        kneser_ney(torch.ones(10, 3, dtype=torch.long))


@pytest.mark.parametrize("discount", [-0.1, 1.5])
def test_a_discount_outside_0_to_1_is_refused(discount):
    with pytest.raises(ValueError, match=f"{discount=} is not between 0 and 1"):
        kneser_ney(counts_of(2), discount)


@pytest.mark.parametrize("order", ORDERS)
def test_a_model_returns_the_row_of_its_context(order):
    table = smooth(counts_of(order), 0.5)
    contexts = torch.tensor([LETTERS.encode("abc" + context) for context in rows_of(order)])
    model = NGram(table)
    assert model.context == order - 1
    assert model(contexts).equal(table.log())  # the rows in order: only the last tokens count


def test_a_table_of_an_odd_height_is_refused():
    with pytest.raises(ValueError, match="4 rows are no power of 3 columns: make the table with"):
        NGram(torch.full((4, 3), 1 / 3))


def test_a_context_too_short_is_refused():
    with pytest.raises(ValueError, match=r"1 tokens are fewer than the 2.*: pad the start"):
        NGram(smooth(counts_of(3), 1.0))(torch.zeros(2, 1, dtype=torch.long))


@pytest.mark.parametrize("wrong", [-1, V, V + 3])
@pytest.mark.parametrize("make", [lambda: NGram(smooth(counts_of(3), 1.0)), lambda: Bigram(V)])
def test_an_id_outside_the_vocabulary_is_not_looked_up(make, wrong):
    model = make()
    tokens = torch.tensor([[0, 2, 1], [3, 1, wrong]])
    with pytest.raises(ValueError, match=rf"{wrong}.* outside 0 … 4: was another vocabulary used"):
        model(tokens)
    assert model(tokens.flip(1)).shape == (2, V)  # what is not read is not judged


def test_one_hot_times_weights_is_a_lookup():
    model = Bigram(V)
    tokens = torch.tensor([[0, 3], [4, 1], [2, 2]])
    product = F.one_hot(tokens[:, -1], V).float() @ model.weights
    assert model(tokens).equal(product)


def test_bigram_reads_only_the_last_token():
    model = Bigram(V)
    assert model(torch.tensor([[0, 3]])).equal(model(torch.tensor([[4, 2, 3]])))


def test_bigram_learns_the_probabilities_of_maximum_likelihood():
    torch.manual_seed(0)
    windows, model = windows_of(2), Bigram(V)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.3)
    for _ in range(300):
        loss = F.cross_entropy(model(windows[:, :-1]), windows[:, -1])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    seen = counts_of(2).sum(-1) > 0
    learnt, exact = model.weights.softmax(-1).double()[seen], smooth(counts_of(2), 0.0)[seen]
    assert_close(learnt, exact, atol=0.01, rtol=0)


@pytest.mark.parametrize("shape", [(2, 1), (6, 4), (3, 27)])
def test_a_table_whose_rows_are_no_power_of_its_columns_is_refused(shape):
    with pytest.raises(ValueError, match="make the table with count_ngrams"):
        NGram(torch.full(shape, 0.5))


@pytest.mark.parametrize(("vocab_size", "context"), [(1, 0), (2, 5), (5, 3), (27, 4), (39, 3)])
def test_the_context_follows_from_the_shape_of_the_table(vocab_size, context):
    assert NGram(torch.ones(vocab_size**context, vocab_size)).context == context


def test_windows_without_tokens_are_refused():
    with pytest.raises(ValueError, match="cut them to length 1 or more"):
        count_ngrams(torch.zeros(3, 0, dtype=torch.long), 4)

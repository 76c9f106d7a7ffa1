"""Vectors inside a network: which to ask, and one exchanged for another's."""

from collections import Counter

import pytest
import torch
from torch.testing import assert_close

from coursekit.inside.probe import draw_balanced, patch_vector
from coursekit.layers.attention import attend_past
from coursekit.models.encoder import Encoder, EncoderConfig


@pytest.mark.parametrize("n", [2, 4, 6])
def test_examples_to_learn_from_are_half_of_each_label_and_drawn(n):
    labels = torch.tensor([1, 0, 1, 1, 0, 1, 0, 1])
    g = torch.Generator().manual_seed(0)
    seen = Counter()
    for _ in range(2000):
        order = torch.randperm(8, generator=g)
        some = draw_balanced(labels, order, n)
        assert labels[some].tolist() == [0] * (n // 2) + [1] * (n // 2)
        turns = [order.tolist().index(i) for i in some.tolist()]
        assert turns[: n // 2] == sorted(turns[: n // 2])
        seen.update(some.tolist())
    for i, label in enumerate(labels.tolist()):
        assert seen[i] / 2000 == pytest.approx(n / 2 / (3, 5)[label], abs=0.05)


@pytest.mark.parametrize("n", [0, 3, 8])
def test_more_examples_than_there_are_or_an_odd_number_are_refused(n):
    labels = torch.tensor([1, 0, 1, 1, 0, 1, 0, 1])
    with pytest.raises(ValueError, match=f"n={n} must be even, from 2 to 6: one label has 3 ex"):
        draw_balanced(labels, torch.arange(8), n)


@pytest.fixture
def encoder():
    torch.manual_seed(3)
    sizes = EncoderConfig(vocab_size=11, context=7, n_layer=3, n_head=2, d_model=6)
    return Encoder(sizes, rule=attend_past, std=0.5).double().eval()


def embed(encoder, text):
    """The vectors that go into the first block."""
    x = encoder.positions(encoder.embedding(text) + encoder.segments.weight[0])
    return encoder.embedding_norm(x)


@pytest.fixture
def texts():
    return torch.randint(11, (2, 2, 5), generator=torch.Generator().manual_seed(1)).unbind()


@pytest.mark.parametrize("depth", [0, 1, 2, 3])
@pytest.mark.parametrize("at", [0, 3, [1, 4]])
def test_an_exchanged_vector_is_what_a_forward_hook_would_exchange(encoder, texts, at, depth):
    parts = [encoder.embedding_norm, *encoder.blocks]
    kept = []
    with parts[depth].register_forward_hook(lambda _, given, made: kept.append(made)):
        encoder(texts[1])

    def exchange(_, given, made):
        made = made.clone()
        made[:, at] = kept[0][:, at]
        return made

    with parts[depth].register_forward_hook(exchange):
        expected = encoder(texts[0])
    x, other = (embed(encoder, text) for text in texts)
    before = x.clone(), other.clone()
    made = patch_vector(x, other, encoder.blocks, at, depth)
    assert_close(made, expected, rtol=0, atol=1e-12)
    assert torch.equal(x, before[0])
    assert torch.equal(other, before[1])
    first = at if isinstance(at, int) else at[0]
    assert torch.equal(made[:, :first], encoder(texts[0])[:, :first])  # causal: what came before


def test_what_exists_nowhere_is_not_exchanged(encoder, texts):
    x, other = (embed(encoder, text) for text in texts)
    for at, depth in ((5, 0), (-1, 0), (0, 4), (0, -1)):
        with pytest.raises(ValueError, match=f"at={at} must be from 0 to 4, and depth={depth} "):
            patch_vector(x, other, encoder.blocks, at, depth)
    with pytest.raises(ValueError, match="take inputs of one length"):
        patch_vector(x, other[:, :4], encoder.blocks, 0, 0)

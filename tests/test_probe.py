"""Vectors inside a network: read, asked, and exchanged for another's."""

from collections import Counter

import pytest
import torch
from torch.testing import assert_close

from coursekit.inside.probe import draw_balanced, patch_vector, read_vectors
from coursekit.layers.attention import attend_past
from coursekit.models.encoder import Encoder, EncoderConfig


@pytest.mark.parametrize(
    ("labels", "each"),
    [([1, 0, 1, 1, 0, 1, 0, 1], each) for each in (1, 2, 3)] + [([7, 2, 7, 4, 2, 4, 2], 2)],
)
def test_examples_to_learn_from_are_as_many_of_each_label_and_drawn(labels, each):
    labels = torch.tensor(labels)
    kinds, counts = labels.unique(return_counts=True)
    g = torch.Generator().manual_seed(0)
    seen = Counter()
    for _ in range(2000):
        order = torch.randperm(len(labels), generator=g)
        some = draw_balanced(labels, order, each * len(kinds))
        assert labels[some].tolist() == kinds.repeat_interleave(each).tolist()
        turns = [order.tolist().index(i) for i in some.tolist()]
        assert turns[:each] == sorted(turns[:each])
        seen.update(some.tolist())
    fraction = dict(zip(kinds.tolist(), (each / counts).tolist(), strict=True))
    for i, label in enumerate(labels.tolist()):
        assert seen[i] / 2000 == pytest.approx(fraction[label], abs=0.05)


@pytest.mark.parametrize(
    ("labels", "n", "k", "most"),
    [([1, 0, 1, 1, 0, 1, 0, 1], n, 2, 6) for n in (0, 3, 8)] + [([5, 0, 3, 3, 5, 0], 4, 3, 6)],
)
def test_more_examples_than_there_are_or_shares_that_differ_are_refused(labels, n, k, most):
    text = f"n={n} must be a multiple of {k}, the number of labels, and at most {most}: one label"
    with pytest.raises(ValueError, match=text):
        draw_balanced(torch.tensor(labels), torch.arange(len(labels)), n)


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
def test_a_vector_is_what_a_forward_hook_sees(encoder, texts, depth):
    kept = []
    part = [encoder.embedding_norm, *encoder.blocks][depth]
    with part.register_forward_hook(lambda _, given, made: kept.append(made)):
        encoder(texts[0])
    here = torch.tensor([[1, 0, 0, 1, 0], [0, 0, 1, 0, 1]]).bool()
    made = read_vectors(embed(encoder, texts[0]), encoder.blocks, depth, here)
    expected = torch.stack([kept[0][at] for at in ((0, 0), (0, 3), (1, 2), (1, 4))])
    assert_close(made, expected, rtol=0, atol=1e-12)


def test_what_exists_nowhere_is_not_read(encoder, texts):
    x = embed(encoder, texts[0])
    for depth in (4, -1):
        with pytest.raises(ValueError, match=f"depth={depth} must be from 0 to 3, the number of"):
            read_vectors(x, encoder.blocks, depth, torch.ones(2, 5).bool())


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

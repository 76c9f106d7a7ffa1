"""A head that is switched off brings nothing, and nothing else changes."""

import pytest
import torch
from torch.testing import assert_close

from coursekit.inside.ablation import switch_off_head
from coursekit.layers.attention import MultiHeadAttention, attention_weights

B, T, H, D = 2, 5, 3, 7


@pytest.mark.parametrize("head", range(H))
def test_what_the_head_brings_is_gone_and_the_rest_stays(head):
    torch.manual_seed(0)
    layer, x = MultiHeadAttention(H * D, H, bias=True), torch.randn(B, T, H * D)
    before = [part.clone() for part in layer.parameters()]
    q, k, v = (f(x).split(D, -1) for f in (layer.q, layer.k, layer.v))
    heads = [attention_weights(*each[:2]) @ each[2] for each in zip(q, k, v, strict=True)]
    heads[head] = torch.zeros(B, T, D)
    assert_close(switch_off_head(layer, head)(x), layer.out(torch.cat(heads, -1)))
    assert all(torch.equal(*pair) for pair in zip(layer.parameters(), before, strict=True))


@pytest.mark.parametrize("head", [-1, H])
def test_a_head_that_is_not_there_is_refused(head):
    with pytest.raises(ValueError, match=f"head={head} must be between 0 and 2"):
        switch_off_head(MultiHeadAttention(H * D, H), head)

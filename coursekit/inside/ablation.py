"""Ablation: switch a part of a model off, to see what depends on it."""

from copy import deepcopy

import torch

from coursekit.layers.attention import MultiHeadAttention


@torch.no_grad()
def switch_off_head(attention: MultiHeadAttention, head: int) -> MultiHeadAttention:
    """Return a copy of an attention whose output misses what one head brings.

    Zero takes the place of the head's output (Michel, Levy and Neubig 2019, section 2.3).

    Args:
        attention: stays as it is.
        head: number of the head, from 0.

    Raises:
        ValueError: if there is no such head.

    Example:
        >>> attention = MultiHeadAttention(d_model=4, n_head=1)
        >>> switch_off_head(attention, 0)(torch.randn(1, 2, 4)).any().item()
        False
    """
    if not 0 <= head < attention.n_head:
        raise ValueError(f"{head=} must be between 0 and {attention.n_head - 1}")
    rest = deepcopy(attention)
    rest.out.weight.unflatten(1, (attention.n_head, -1))[:, head] = 0
    return rest

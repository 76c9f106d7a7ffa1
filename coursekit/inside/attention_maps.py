"""What each head of a model reads: the weights of its attention, taken from outside."""

from typing import Any

import torch
from torch import Tensor, nn

from coursekit.evaluate.likelihood import evaluating
from coursekit.layers.attention import MultiHeadAttention, Rule, allow_past, attention_weights


def read_attention(model: nn.Module, *inputs: Any) -> dict[str, Tensor]:
    """Run a model in evaluation mode, and return the attention weights of each layer, by name.

    Each has the shape (B, H, T, S): what head h of example b, at step t, gives to step s.

    Raises:
        ValueError: if the model has no attention, or one whose rule is neither `attend` nor
            `attend_past` in effect.
    """
    layers = {
        name: part for name, part in model.named_modules() if isinstance(part, MultiHeadAttention)
    }
    if not layers:
        raise ValueError(f"{type(model).__name__} has no MultiHeadAttention to look into")
    found: dict[str, Tensor] = {}

    def noting(name: str, rule: Rule) -> Rule:
        def noted(q: Tensor, k: Tensor, v: Tensor, allowed: Tensor | None = None) -> Tensor:
            mixed = rule(q, k, v, allowed)
            found[name] = _explain(name, mixed, q, k, v, allowed)
            return mixed

        return noted

    rules = {name: layer.rule for name, layer in layers.items()}
    try:
        for name, layer in layers.items():
            layer.rule = noting(name, rules[name])
        with evaluating(model):
            model(*inputs)
    finally:
        for name, layer in layers.items():
            layer.rule = rules[name]
    return found


def _explain(
    name: str, mixed: Tensor, q: Tensor, k: Tensor, v: Tensor, allowed: Tensor | None
) -> Tensor:
    """Return the weights, of all steps or of the past, that make `mixed` of the values."""
    masks = [allowed]
    if q.shape[-2] <= k.shape[-2]:
        past = allow_past(q.shape[-2], k.shape[-2], q.device)
        masks.append(past if allowed is None else past & allowed)
    for mask in masks:
        weights = attention_weights(q, k, mask)
        if torch.allclose(weights @ v, mixed, rtol=1e-3, atol=1e-4):
            return weights
    raise ValueError(f"{name} mixes by a rule of its own: use attend or attend_past")

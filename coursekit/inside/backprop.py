"""Every gradient of a small network by hand: step by step, and by two shortcuts.

The network is notebook 02's: embed, join, linear, batch norm, tanh, linear, softmax loss, its
parameters a plain dictionary of tensors. A gradient has the name and the shape of what it belongs
to. As in the lecture that this follows (Karpathy 2022, makemore part 4), batch norm divides by
n - 1 here; `batch_norm_gradient` takes either divisor.
"""

from collections.abc import Mapping

import torch
from jaxtyping import Float, Int
from torch import Generator, Tensor
from torch.nn import functional as F

Tensors = dict[str, Tensor]

PARAMETERS = ("C", "W1", "b1", "bngain", "bnbias", "W2", "b2")
EPS = 1e-5
"""Added to the variance in batch norm."""


def draw_parameters(
    vocab_size: int, context: int, d_embedding: int, d_hidden: int, generator: Generator
) -> Tensors:
    """Draw the seven parameter tensors, in float64; none is 0, so that no gradient hides."""
    width = context * d_embedding
    shapes = {
        "C": ((vocab_size, d_embedding), 1.0),
        "W1": ((width, d_hidden), (5 / 3) / width**0.5),
        "b1": ((d_hidden,), 0.1),
        "bngain": ((d_hidden,), 0.1),
        "bnbias": ((d_hidden,), 0.1),
        "W2": ((d_hidden, vocab_size), 0.1),
        "b2": ((vocab_size,), 0.1),
    }
    drawn = {
        name: scale * torch.randn(shape, generator=generator, dtype=torch.float64)
        for name, (shape, scale) in shapes.items()
    }
    return drawn | {"bngain": 1 + drawn["bngain"]}


def pass_forward(
    p: Mapping[str, Tensor], tokens: Int[Tensor, "n k"], targets: Int[Tensor, "n"]
) -> Tensors:
    """Compute the loss in named steps, each so small that its derivative is known.

    A probability that underflows, as where the logits of an example lie 1000 apart, makes the
    loss infinite and gradients NaN: the logarithm is a step of its own. `short_gradients` stays
    finite there.

    Raises:
        ValueError: if there are fewer than two examples: their variance is not defined.
    """
    n = _count_examples(tokens)
    v = {"emb": p["C"][tokens]}
    v["embcat"] = v["emb"].flatten(1)
    v["hprebn"] = v["embcat"] @ p["W1"] + p["b1"]
    v["bnmean"] = v["hprebn"].sum(0, keepdim=True) / n
    v["bndiff"] = v["hprebn"] - v["bnmean"]
    v["bndiff2"] = v["bndiff"] ** 2
    v["bnvar"] = v["bndiff2"].sum(0, keepdim=True) / (n - 1)
    v["bnvar_inv"] = (v["bnvar"] + EPS) ** -0.5
    v["bnraw"] = v["bndiff"] * v["bnvar_inv"]
    v["hpreact"] = p["bngain"] * v["bnraw"] + p["bnbias"]
    v["h"] = v["hpreact"].tanh()
    v["logits"] = v["h"] @ p["W2"] + p["b2"]
    v["logit_maxes"] = v["logits"].max(1, keepdim=True).values
    v["norm_logits"] = v["logits"] - v["logit_maxes"]
    v["counts"] = v["norm_logits"].exp()
    v["count_sum"] = v["counts"].sum(1, keepdim=True)
    v["count_sum_inv"] = 1 / v["count_sum"]
    v["probs"] = v["counts"] * v["count_sum_inv"]
    v["logprobs"] = v["probs"].log()
    v["loss"] = -v["logprobs"][range(n), targets].mean()
    return v


def backward_softmax(v: Mapping[str, Tensor], targets: Int[Tensor, "n"]) -> Tensors:
    """Go from the loss back to the logits, through softmax's eight small steps."""
    n, vocab_size = v["logits"].shape
    g = {"logprobs": -F.one_hot(targets, vocab_size) / v["logits"].new_tensor(n)}
    g["probs"] = g["logprobs"] / v["probs"]
    g["count_sum_inv"] = (g["probs"] * v["counts"]).sum(1, keepdim=True)
    g["count_sum"] = -g["count_sum_inv"] / v["count_sum"] ** 2
    g["counts"] = g["probs"] * v["count_sum_inv"] + g["count_sum"]  # the sum reaches every count
    g["norm_logits"] = g["counts"] * v["counts"]
    g["logit_maxes"] = -g["norm_logits"].sum(1, keepdim=True)  # it was subtracted
    largest = F.one_hot(v["logits"].argmax(1), vocab_size)
    g["logits"] = g["norm_logits"] + g["logit_maxes"] * largest
    return g


def backward_hidden(
    p: Mapping[str, Tensor], v: Mapping[str, Tensor], dlogits: Float[Tensor, "n V"]
) -> Tensors:
    """Go from the logits back through the second linear layer and tanh."""
    g = {"h": dlogits @ p["W2"].T, "W2": v["h"].T @ dlogits, "b2": dlogits.sum(0)}
    g["hpreact"] = g["h"] * (1 - v["h"] ** 2)
    return g


def backward_norm(
    p: Mapping[str, Tensor], v: Mapping[str, Tensor], dhpreact: Float[Tensor, "n H"]
) -> Tensors:
    """Go back through batch normalisation, in seven small steps."""
    n = len(dhpreact)
    g = {"bngain": (dhpreact * v["bnraw"]).sum(0), "bnbias": dhpreact.sum(0)}
    g["bnraw"] = dhpreact * p["bngain"]
    g["bnvar_inv"] = (g["bnraw"] * v["bndiff"]).sum(0, keepdim=True)
    g["bnvar"] = g["bnvar_inv"] * -0.5 * (v["bnvar"] + EPS) ** -1.5
    g["bndiff2"] = (g["bnvar"] / (n - 1)).expand_as(v["bndiff2"])
    g["bndiff"] = g["bnraw"] * v["bnvar_inv"] + g["bndiff2"] * 2 * v["bndiff"]
    g["bnmean"] = -g["bndiff"].sum(0, keepdim=True)
    g["hprebn"] = g["bndiff"] + g["bnmean"] / n
    return g


def backward_input(
    p: Mapping[str, Tensor],
    v: Mapping[str, Tensor],
    dhprebn: Float[Tensor, "n H"],
    tokens: Int[Tensor, "n k"],
) -> Tensors:
    """Go back through the first linear layer to the embedding table."""
    g = {"W1": v["embcat"].T @ dhprebn, "b1": dhprebn.sum(0), "embcat": dhprebn @ p["W1"].T}
    g["emb"] = g["embcat"].view_as(v["emb"])
    g["C"] = scatter_rows(g["emb"], tokens, len(p["C"]))
    return g


def pass_backward(
    p: Mapping[str, Tensor],
    v: Mapping[str, Tensor],
    tokens: Int[Tensor, "n k"],
    targets: Int[Tensor, "n"],
) -> Tensors:
    """Return the gradient of the loss at every parameter and every step of `pass_forward`."""
    g = backward_softmax(v, targets)
    g |= backward_hidden(p, v, g["logits"])
    g |= backward_norm(p, v, g["hpreact"])
    return g | backward_input(p, v, g["hprebn"], tokens)


def scatter_rows(
    rows: Float[Tensor, "n k m"], tokens: Int[Tensor, "n k"], vocab_size: int
) -> Float[Tensor, "V m"]:
    """Add each row to the place of its token: the gradient of a look-up."""
    table = rows.new_zeros(vocab_size, rows.shape[-1])
    return table.index_add_(0, tokens.flatten(), rows.flatten(0, 1))


def cross_entropy_gradient(
    logits: Float[Tensor, "n V"], targets: Int[Tensor, "n"]
) -> Float[Tensor, "n V"]:
    """Return (P - Y) / n: the gradient of the mean softmax loss at the logits, in one step."""
    return (logits.softmax(1) - F.one_hot(targets, logits.shape[1])) / len(logits)


def batch_norm_gradient(
    dy: Float[Tensor, "n C"],
    xhat: Float[Tensor, "n C"],
    scale: Float[Tensor, "*N C"],
    correction: int = 0,
) -> Float[Tensor, "n C"]:
    """Return the gradient at batch norm's input, in one step.

    scale/n · (n dy - Σ dy - n/(n - c) x̂ Σ dy x̂), with scale = γ / √(σ² + ε): the three paths by
    which an input acts on the output, directly, by the mean and by the variance (simplified
    from Ioffe and Szegedy 2015, section 3, whose gradient of the variance at the mean is always 0).

    Args:
        dy: gradient at the output.
        xhat: normalised input.
        scale: the gain over the root of variance + ε.
        correction: c, 0 if the variance divides by n, 1 if by n - 1.

    Raises:
        ValueError: if there are too few examples for the divisor.
    """
    n = len(dy)
    if n <= correction:
        raise ValueError(f"a batch of {n} has no variance: take {correction + 1} examples or more")
    by_variance = n / (n - correction) * xhat * (dy * xhat).sum(0)
    return scale / n * (n * dy - dy.sum(0) - by_variance)


def short_gradients(
    p: Mapping[str, Tensor], tokens: Int[Tensor, "n k"], targets: Int[Tensor, "n"]
) -> tuple[Tensor, Tensors]:
    """Return the loss and the parameters' gradients, with both shortcuts: fit for training.

    Raises:
        ValueError: if there are fewer than two examples: their variance is not defined.
    """
    _count_examples(tokens)
    joined = p["C"][tokens].flatten(1)
    hprebn = joined @ p["W1"] + p["b1"]
    variance, mean = torch.var_mean(hprebn, 0)
    inverse = (variance + EPS).rsqrt()
    xhat = (hprebn - mean) * inverse
    h = (p["bngain"] * xhat + p["bnbias"]).tanh()
    logits = h @ p["W2"] + p["b2"]
    dlogits = cross_entropy_gradient(logits, targets)
    dhpreact = (dlogits @ p["W2"].T) * (1 - h * h)
    dhprebn = batch_norm_gradient(dhpreact, xhat, p["bngain"] * inverse, correction=1)
    rows = (dhprebn @ p["W1"].T).view(*tokens.shape, -1)
    return F.cross_entropy(logits, targets), {
        "C": scatter_rows(rows, tokens, len(p["C"])),
        "W1": joined.T @ dhprebn,
        "b1": dhprebn.sum(0),
        "bngain": (dhpreact * xhat).sum(0),
        "bnbias": dhpreact.sum(0),
        "W2": h.T @ dlogits,
        "b2": dlogits.sum(0),
    }


def largest_differences(by_hand: Mapping[str, Tensor], oracle: Mapping[str, Tensor]) -> Tensors:
    """Return, for each tensor of `by_hand`, its largest absolute difference from the oracle's.

    Infinite where either has a NaN, which no maximum and no comparison would show.

    Raises:
        ValueError: if the oracle lacks one, or a shape differs.
    """
    for name, mine in by_hand.items():
        if name not in oracle or mine.shape != oracle[name].shape:
            found = tuple(oracle[name].shape) if name in oracle else "nothing"
            raise ValueError(f"{name} has shape {tuple(mine.shape)}, the oracle has {found}")
    distances = {name: (mine - oracle[name]).abs() for name, mine in by_hand.items()}
    return {name: d.nan_to_num(torch.inf, torch.inf).max() for name, d in distances.items()}


def _count_examples(tokens: Int[Tensor, "n k"]) -> int:
    """Return the size of a batch that has a variance, or refuse."""
    if len(tokens) < 2:
        raise ValueError(f"a batch of {len(tokens)} has no variance: take two examples or more")
    return len(tokens)

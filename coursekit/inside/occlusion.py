"""Which tokens an answer hangs on: hide each of them in turn, and see what becomes of it."""

from collections.abc import Callable

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

Tells = Callable[[Int[Tensor, "N T"], Bool[Tensor, "N T"]], Float[Tensor, " N"]]


def occlude(
    tells: Tells, tokens: Int[Tensor, "N T"], present: Bool[Tensor, "N T"]
) -> Float[Tensor, " T"]:
    """Return the effect of each token of a text: the answer, less the answer without it.

    A token is hidden by `present`, so that the others stay where they are (Li, Monroe and
    Jurafsky 2016; for images Zeiler and Fergus 2014). What several tokens say alike has no effect
    here, for hiding one of them leaves the others.

    Args:
        tells: the answer to each of some texts, such as the probability of a label.
        tokens: ids of one text, (1, T).
        present: true where there is a token, (1, T).

    Raises:
        ValueError: if there isn't exactly one text.

    Example:
        >>> tokens, present = torch.tensor([[5, 2, 9]]), torch.tensor([[True, True, False]])
        >>> occlude(lambda x, there: (x * there).sum(1).float(), tokens, present).tolist()
        [5.0, 2.0, 0.0]
    """
    if len(tokens) != 1:
        raise ValueError(f"{len(tokens)} texts: the effects are those of one")
    n = tokens.shape[1]
    hidden = present & ~torch.eye(n, dtype=torch.bool, device=present.device)
    return tells(tokens, present) - tells(tokens.expand(n, -1), hidden)

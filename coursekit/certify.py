"""What a model can be held to, whatever it has learnt: which output depends on which input."""

import torch
from jaxtyping import Float
from torch import Tensor, nn


def dependence(model: nn.Module, x: Float[Tensor, "B T C"]) -> Float[Tensor, "S T"]:
    """Return how strongly each output step depends on each input step, by gradient.

    max |∂ y_s / ∂ x_t| over the channels of both and over the batch; exactly 0 where no path
    leads from t to s. The model maps (B, T, C) to (B, S, D) and is taken as it stands: call
    `eval()` first, since a batch norm in training mode joins everything with everything. With
    a ReLU a path can be shut for one input; several rows of random `x` find it open.
    """
    jacobian = torch.autograd.functional.jacobian(model, x)
    return jacobian.abs().amax((0, 2, 3, 5))

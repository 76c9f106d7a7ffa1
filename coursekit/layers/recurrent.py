"""Recurrence: layers that read one step after the other, and keep a state of fixed size."""

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from coursekit.layers.basic import Linear

State = tuple[Tensor, ...]
"""What a layer keeps of the steps that it has read: tensors (B, D), the output first."""


class Recurrent(nn.Module):
    """Read a sequence step by step; what a step computes, subclasses say in `step`.

    The inputs of all steps are multiplied at once, since they are known from the start; only the
    product with the state has to wait for the step before.

    Args:
        d_in: channels of a step.
        d_hidden: channels D of the state.
        n_part: how many vectors of D numbers a step computes from input and state.

    Attributes:
        n_state: tensors in the state.

    Example:
        >>> layer, x = RNN(3, 4), torch.ones(2, 5, 3)
        >>> first, state = layer(x[:, :2])
        >>> rest, _ = layer(x[:, 2:], state)
        >>> torch.equal(torch.cat([first, rest], 1), layer(x)[0])
        True
    """

    n_state: int

    def __init__(self, d_in: int, d_hidden: int, n_part: int) -> None:
        super().__init__()
        if min(d_in, d_hidden) < 1:
            raise ValueError(f"{d_in=} and {d_hidden=} must be at least 1")
        self.d_hidden = d_hidden
        self.input = Linear(d_in, n_part * d_hidden)
        # The variance that PyTorch's recurrent weights start with.
        self.recurrent = Linear(d_hidden, n_part * d_hidden, bias=False, gain=3**-0.5)

    def step(self, read: Float[Tensor, "B M"], state: State) -> State:
        """Return the state after a step, of which `read` is the input, already multiplied."""
        raise NotImplementedError

    def forward(
        self,
        x: Float[Tensor, "B T C"],
        state: State | None = None,
        lengths: Int[Tensor, "N"] | None = None,
    ) -> tuple[Float[Tensor, "B T D"], State]:
        """Return the outputs of all steps, and the state after the last.

        Args:
            state: after the steps before, as an earlier call returned it; zeros by default.
            lengths: how many steps are no padding, of each of the B sequences. After them its
                state stays as it is, and its outputs repeat the last one.

        Raises:
            ValueError: if there is no step, or if state or lengths don't fit.
        """
        n, steps, _ = x.shape
        if not steps:
            raise ValueError("a sequence of 0 steps has no output: give at least one step")
        if state is None:
            state = (x.new_zeros(n, self.d_hidden),) * self.n_state
        self._refuse_misfits(n, steps, state, lengths)
        outputs = []
        for t, read in enumerate(self.input(x).unbind(1)):
            new = self.step(read, state)
            if lengths is not None:
                goes_on = (lengths > t)[:, None]
                new = tuple(torch.where(goes_on, *pair) for pair in zip(new, state, strict=True))
            state = new
            outputs.append(state[0])
        return torch.stack(outputs, 1), state

    def _refuse_misfits(
        self, n: int, steps: int, state: State, lengths: Int[Tensor, "N"] | None
    ) -> None:
        found = [tuple(part.shape) for part in state]
        wanted = [(n, self.d_hidden)] * self.n_state
        if found != wanted:
            raise ValueError(f"a state of shapes {found}, not {wanted}: pass on what was returned")
        if lengths is not None and not (
            len(lengths) == n and 1 <= lengths.min() <= lengths.max() <= steps
        ):
            raise ValueError(
                f"lengths {lengths.tolist()} for {n} sequences of {steps} steps: give each a "
                f"length from 1 to {steps}"
            )


class RNN(Recurrent):
    """Mix each step with the state before: h_t = tanh(W x_t + U h_{t-1} + b).

    Elman 1990. What PyTorch's `nn.RNN` computes, whose two biases are one here: only their sum
    matters.

    Example:
        >>> outputs, (h,) = RNN(3, 4)(torch.ones(2, 5, 3))
        >>> outputs.shape, torch.equal(outputs[:, -1], h)
        (torch.Size([2, 5, 4]), True)
    """

    n_state = 1

    def __init__(self, d_in: int, d_hidden: int) -> None:
        super().__init__(d_in, d_hidden, n_part=1)

    def step(self, read: Float[Tensor, "B D"], state: State) -> State:
        """Return h_t."""
        (h,) = state
        return ((read + self.recurrent(h)).tanh(),)


def lstm_step(
    mixed: Float[Tensor, "B M"], c: Float[Tensor, "B D"]
) -> tuple[Float[Tensor, "B D"], Float[Tensor, "B D"]]:
    """Return an LSTM's output h and its memory c after a step.

    c ← σ(f) ⊙ c + σ(i) ⊙ tanh(g) and h = σ(o) ⊙ tanh(c): Gers et al. 2000, without peepholes.

    Args:
        mixed: the numbers i, f, g, o, in this order, before their nonlinearities: M = 4 D.
        c: the memory before the step.

    Example:
        >>> closed = torch.tensor([[-99.0, 99.0, 5.0, 99.0]])  # write nothing, forget nothing
        >>> lstm_step(closed, torch.ones(1, 1))[1].item()
        1.0
    """
    i, f, g, o = mixed.chunk(4, -1)
    c = f.sigmoid() * c + i.sigmoid() * g.tanh()
    return o.sigmoid() * c.tanh(), c


class LSTM(Recurrent):
    """Keep a memory c that each step adds to, through gates between 0 and 1.

    i, f, o = σ(…), g = tanh(…), each of W x_t + U h_{t-1} + b;
    c_t = f ⊙ c_{t-1} + i ⊙ g and h_t = o ⊙ tanh(c_t).

    Hochreiter and Schmidhuber 1997, with the forget gate f of Gers et al. 2000, without
    peepholes: what PyTorch's `nn.LSTM` computes, whose two biases are one here. The parts stand in
    its order: i, f, g, o.

    Args:
        forget_bias: where the bias of f starts. σ(1) = 0.73 of the memory stays at each step; 1
            is the start that Jozefowicz et al. 2015 advise. To remember T steps, ln T keeps more
            (Tallec and Ollivier 2018, section 3: the chrono initialisation).

    Example:
        >>> outputs, (h, c) = LSTM(3, 4)(torch.ones(2, 5, 3))
        >>> outputs.shape, torch.equal(outputs[:, -1], h), c.shape
        (torch.Size([2, 5, 4]), True, torch.Size([2, 4]))
    """

    n_state = 2

    def __init__(self, d_in: int, d_hidden: int, *, forget_bias: float = 1.0) -> None:
        super().__init__(d_in, d_hidden, n_part=4)
        bias = torch.zeros(4, d_hidden)
        bias[1] = forget_bias
        self.input.bias = nn.Parameter(bias.flatten())

    def step(self, read: Float[Tensor, "B M"], state: State) -> State:
        """Return h_t and c_t."""
        h, c = state
        return lstm_step(read + self.recurrent(h), c)

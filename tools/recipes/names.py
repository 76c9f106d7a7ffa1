"""The network of lesson 02 from its four starts, trained for as long as the lecture trains it.

Karpathy 2022, makemore, parts 2 and 3: 200,000 steps of 32 examples with a learning rate of 0.1,
and of 0.01 in the second half. Weights, loop and seeds are the lesson's, to the bit (a test
compares the two). There each call of `train_network` draws its batches with the same seed, so the
second half has the batches of the first again.
"""

from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from coursekit import data
from coursekit.models.mlp import MLP, MLPConfig
from coursekit.tokens.vocabulary import Vocabulary
from coursekit.windows.tokens import word_windows

ALPHABET = ".abcdefghijklmnopqrstuvwxyz"
BATCH, BATCH_SEED = 32, 7
FALLS_AT = 100_000
"""The step from which the learning rate is a tenth of what it was."""


class StartedNetwork:
    """The lesson's network of plain tensors, with weights of N(0, 1) times a scale.

    Args:
        seed: of the weights.
        device: where to compute.
        hidden_scale, output_scale: of the weights of the hidden layer and of the last.
    """

    def __init__(
        self, *, seed: int, device: torch.device, hidden_scale: float, output_scale: float
    ) -> None:
        train, validation, _ = data.split_words(data.names())
        self.train, self.validation = (
            word_windows(words, Vocabulary(ALPHABET), 4).to(device) for words in (train, validation)
        )
        self.steps = 0
        self.batches = torch.Generator()
        g = torch.Generator().manual_seed(seed)
        table = torch.randn(27, 10, generator=g)
        w1, b1 = torch.randn(30, 200, generator=g) * hidden_scale, torch.zeros(200)
        w2, b2 = torch.randn(200, 27, generator=g) * output_scale, torch.zeros(27)
        self.parameters = [p.to(device).requires_grad_() for p in (table, w1, b1, w2, b2)]

    def loss_of(self, windows: Tensor) -> Tensor:
        """Return the mean loss of windows of three letters and the fourth, in nats a letter."""
        table, w1, b1, w2, b2 = self.parameters
        h = torch.tanh(table[windows[:, :3]].flatten(1) @ w1 + b1)
        return F.cross_entropy(h @ w2 + b2, windows[:, 3])

    def step(self) -> float:
        """Take the next step; return its loss."""
        if self.steps % FALLS_AT == 0:
            self.batches.manual_seed(BATCH_SEED)
        lr = 0.1 if self.steps < FALLS_AT else 0.01
        rows = torch.randint(len(self.train), (BATCH,), generator=self.batches)
        loss = self.loss_of(self.train[rows])
        for p in self.parameters:
            p.grad = None
        loss.backward()
        with torch.no_grad():
            for p in self.parameters:
                p -= lr * p.grad
        self.steps += 1
        return loss.item()

    def state_dict(self) -> dict[str, Any]:
        """Return the steps taken, the weights, and where the generator of the batches stands."""
        weights = [p.detach() for p in self.parameters]
        return {"steps": self.steps, "weights": weights, "batches": self.batches.get_state()}

    @torch.no_grad()
    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go back to where the run stood then."""
        self.steps = state["steps"]
        self.batches.set_state(state["batches"])
        for p, weight in zip(self.parameters, state["weights"], strict=True):
            p.copy_(weight)

    @torch.no_grad()
    def result(self) -> dict[str, float]:
        """Return the loss on all training names and on the validation names, in nats a letter."""
        sets = {"train": self.train, "validation": self.validation}
        return {name: self.loss_of(windows).item() for name, windows in sets.items()}


class NormalisedNetwork(StartedNetwork):
    """The library's network with batch normalisation, trained in the same way.

    Args:
        seed: unused: its weights come from torch's generator, which begins at the recipe's seed.
        device: where to compute.
    """

    def __init__(self, *, seed: int, device: torch.device) -> None:
        super().__init__(seed=seed, device=device, hidden_scale=1.0, output_scale=1.0)
        self.model = MLP(MLPConfig(vocab_size=27, normalised=True)).to(device)
        self.parameters = list(self.model.parameters())

    def loss_of(self, windows: Tensor) -> Tensor:
        """Return the mean loss of windows of three letters and the fourth, in nats a letter."""
        return F.cross_entropy(self.model(windows[:, :3]), windows[:, 3])

    def state_dict(self) -> dict[str, Any]:
        """Return what the other has, and the running statistics."""
        return super().state_dict() | {"model": self.model.state_dict()}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go back to where the run stood then."""
        super().load_state_dict(state)
        self.model.load_state_dict(state["model"])

    def result(self) -> dict[str, float]:
        """Return both losses as one name at a time gets them: by the running statistics."""
        self.model.eval()
        return super().result()

"""The classifiers of lessons 10c and 10h: as in `tools.recipes.labels`, but briefly trained."""

from dataclasses import replace
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from coursekit.data.statements import statements
from coursekit.exercises.shortcuts import swap_reaction
from coursekit.layers.attention import attend_past
from coursekit.models.encoder import Encoder, MaskedTokenModel
from coursekit.training.optimiser import warm_up_cosine
from tools.recipes.labels import BATCH, Batches, FineTuned, _per_cent


class Brief(FineTuned):
    """A network that learns the labels of the training statements, or only some of the labels.

    If it is pre-trained, it reads all the training statements first, for `PRE_TRAINING` steps.

    Args:
        steps: of the whole run.
        pre_trained: 1 if its weights are trained on the statements without labels first, or 0.
        every: it learns from one label in so many; 1 is all of them.
        options: see `FineTuned`.
    """

    PRE_TRAINING = 500

    def __init__(self, *, steps: int, pre_trained: int, every: int = 1, **options: Any) -> None:
        self.steps, self.every = steps, every
        super().__init__(pre_trained=pre_trained, **options)
        self.pre_training = self.PRE_TRAINING if pre_trained else 0
        self._begin()

    def _begin(self) -> None:
        super()._begin()
        first = self.taken < self.pre_training
        self.factor = warm_up_cosine(self.pre_training if first else self.steps - self.pre_training)

    def _labels(self) -> tuple[Tensor, Tensor, Tensor]:
        tokens, present, labels = self.train
        return tokens[:: self.every], present[:: self.every], labels[:: self.every]

    def _labelled(self) -> Batches:
        tokens, present, labels = self._labels()
        while True:
            rows = torch.randint(len(labels), (BATCH,), generator=self.generator)
            yield (tokens[rows], present[rows]), labels[rows]

    @torch.no_grad()
    def result(self) -> dict[str, float]:
        """Return what `FineTuned.result` does, with the loss on the labels that it learned from."""
        tokens, present, labels = self._labels()
        found = super().result()
        return found | {"train": F.cross_entropy(self.classifier(tokens, present), labels).item()}


class Long(Brief):
    """The same where a third of 6,000 steps may go into pre-training, as in `FineTuned`."""

    PRE_TRAINING = 2000


class Regularised(Long):
    """The same with dropout and ten times the weight decay, in both parts of the training."""

    DROPOUT, DECAY = 0.2, 0.1

    def _begin(self) -> None:
        super()._begin()
        for module in self.engine.model.modules():
            if isinstance(module, nn.Dropout):
                module.p = self.DROPOUT
        for group in self.engine.optimiser.param_groups:
            if group["weight_decay"]:
                group["weight_decay"] = self.DECAY


class Dropping(Regularised):
    """The same with another dropout.

    Args:
        dropout: the probability of each value to be dropped.
        options: see `Brief`.
    """

    def __init__(self, *, dropout: float, **options: Any) -> None:
        self.DROPOUT = dropout
        super().__init__(**options)


class Swapped(Regularised):
    """The same, asked about statements whose reaction is swapped, too."""

    @torch.no_grad()
    def result(self) -> dict[str, float]:
        """Return what `Brief.result` does, and how often an answer matches what happened.

        That is "swapped: " and the template, for each test template with a reaction.
        """
        found = super().result()
        told = [one for one in statements()[2] if "{r}" in one.template]
        hits = self._hits(*self._read([replace(one, text=swap_reaction(one.text)) for one in told]))
        for form in sorted({one.template for one in told}):
            these = [one.template == form for one in told]
            found[f"swapped: {form}"] = _per_cent(hits[these])
        return found


class Half(Brief):
    """The same where a third of 3,000 steps may go into pre-training."""

    PRE_TRAINING = 1000


class Double(Brief):
    """The same where a third of 12,000 steps may go into pre-training."""

    PRE_TRAINING = 4000


class RegularisedDouble(Double, Regularised):
    """The same with dropout and more weight decay."""


class Rescaled(Regularised):
    """The same with other first weights.

    Args:
        std: of the first weights.
        norm_first: 1 if norms stand before what is added, or 0.
        options: see `Brief`.
    """

    def __init__(self, *, std: float, norm_first: int, **options: Any) -> None:
        super().__init__(**options)
        sizes = self.classifier.encoder.config

        def encoder() -> Encoder:
            torch.manual_seed(self.seed)
            return Encoder(sizes, rule=attend_past, norm_first=bool(norm_first), std=std)

        self.masked = MaskedTokenModel(encoder()).to(self.device) if self.masked else None
        self.classifier.encoder = encoder()
        self.classifier.head = nn.Linear(sizes.d_model, 2)
        self.classifier.to(self.device)
        self._begin()


class RescaledDouble(Double, Rescaled):
    """The same where a third of 12,000 steps may go into pre-training."""


class Thinned(RescaledDouble):
    """The same with fewer labels, still as many good ones as bad ones of each template.

    Args:
        thin: of the labels that `every` leaves, four pairs of each template, it learns from one
            pair in so many; 1, 2 or 4.
        place: which of them, below `thin`.
        reading: what pre-training reads: "all" training statements; "quiet", those without a
            reaction, for that tells the outcome; "labelled", those whose labels it learns.
        options: see `Rescaled`.
    """

    def __init__(self, *, thin: int, place: int = 0, reading: str = "all", **options: Any) -> None:
        self.thin, self.place = thin, place
        super().__init__(**options)
        self.whole = self.train
        if reading == "quiet":
            quiet = torch.tensor(["{r}" not in one.template for one in statements()[0]])
            self.train = tuple(one[quiet.to(one.device)] for one in self.whole)
        elif reading == "labelled":
            self.train = self._labels()

    def _labels(self) -> tuple[Tensor, Tensor, Tensor]:
        tokens, present, labels = (one[:: self.every] for one in self.whole)
        row = torch.arange(len(labels), device=labels.device)
        keep = (row // 2 + self.place) % self.thin == row // 8 % self.thin
        return tokens[keep], present[keep], labels[keep]


class AllBut(Thinned):
    """The same with the labels that `Thinned` leaves out: with `thin` = 4, three pairs of four."""

    def _labels(self) -> tuple[Tensor, Tensor, Tensor]:
        tokens, present, labels = (one[:: self.every] for one in self.whole)
        row = torch.arange(len(labels), device=labels.device)
        keep = (row // 2 + self.place) % self.thin != row // 8 % self.thin
        return tokens[keep], present[keep], labels[keep]


class Lacking(Thinned):
    """The same without the labels of one template.

    Args:
        without: that template; its texts are still read, if any are.
        options: see `Thinned`.
    """

    def __init__(self, *, without: str, **options: Any) -> None:
        forms = [*dict.fromkeys(one.template for one in statements()[0])]
        self.without = forms.index(without)
        super().__init__(**options)

    def _labels(self) -> tuple[Tensor, Tensor, Tensor]:
        tokens, present, labels = super()._labels()
        form = torch.arange(len(labels), device=labels.device) // (8 // self.thin)
        keep = form != self.without
        return tokens[keep], present[keep], labels[keep]


class ThinnedDropping(Dropping, Thinned):
    """The same with another dropout."""

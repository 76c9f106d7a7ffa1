"""The classifiers of lesson 10c, trained for four times as many steps as there.

Weights, batches and schedules are the lesson's, to the bit (a test compares the two). As there, a
run that is pre-trained takes a third of its steps for that, and all take equally many.
"""

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from coursekit.data.statements import Statement, number_words, statements
from coursekit.evaluate.likelihood import next_token_loss
from coursekit.layers.attention import attend, attend_past
from coursekit.models.encoder import Encoder, EncoderConfig, MaskedTokenModel, SequenceClassifier
from coursekit.training.engine import Engine
from coursekit.training.optimiser import adamw, warm_up_cosine
from coursekit.windows.masking import draw_masked, pad_texts

BATCH, LOWEST = 32, 4
STEPS, PRE_TRAINING = 6000, 2000
"""Of the whole run, and of its first part, if that is without labels."""
Batches = Iterator[tuple[tuple[Tensor, Tensor], Tensor]]


class FineTuned:
    """A network that learns the labels of the training statements.

    Args:
        seed: of the first weights, and of the batches in both parts of the training.
        device: where to compute.
        rule: "attend" or "attend_past".
        pre_trained: 1 if its weights are trained on the statements without labels first, or 0.
        pooling: what the linear layer reads, as in `SequenceClassifier`.
        lr: the highest learning rate of both parts of the training.
        split: seed of the draw of templates for training and for the test.
    """

    def __init__(
        self,
        *,
        seed: int,
        device: torch.device,
        rule: str,
        pre_trained: int,
        pooling: str = "last",
        lr: float = 5e-3,
        split: int = 42,
    ) -> None:
        train, validation, test = statements(split=split)
        self.ids, self.seed, self.device = number_words([one.text for one in train]), seed, device
        self.train, self.lr = self._read(train), lr
        self.validation, self.test = self._read(validation), self._read(test)
        self.forms = [one.template for one in test]
        sizes = EncoderConfig(vocab_size=len(self.ids), context=24, d_model=32, dropout=0.0)
        self.pre_training = PRE_TRAINING if pre_trained else 0
        self.causal, self.taken = rule == "attend_past", 0

        def encoder() -> Encoder:
            torch.manual_seed(seed)
            return Encoder(sizes, rule=attend_past if self.causal else attend)

        # In the lesson's order, for each draws its weights from the global generator.
        self.masked = MaskedTokenModel(encoder()).to(device) if pre_trained else None
        body, head = encoder(), nn.Linear(sizes.d_model, 2)
        self.classifier = SequenceClassifier(body, 2, pooling=pooling)
        self.classifier.head = head  # as in the lesson: PyTorch's first weights, not BERT's
        self.classifier.to(device)
        self._begin()

    def _read(self, part: list[Statement]) -> tuple[Tensor, Tensor, Tensor]:
        texts = [[1, *(self.ids[word] for word in one.text.split())] for one in part]
        labels = torch.tensor([one.label for one in part])
        tokens, present = pad_texts(texts, multiple_of=8)
        return tokens.to(self.device), present.to(self.device), labels.to(self.device)

    def _begin(self) -> None:
        """Begin a part of the training: its model, batches, loss, and schedule."""
        self.generator = torch.Generator().manual_seed(self.seed)
        if self.taken < self.pre_training:
            model, self.batches, self.loss = self.masked, self._texts(), next_token_loss
            self.factor = warm_up_cosine(PRE_TRAINING)
        else:
            model, self.batches, self.loss = self.classifier, self._labelled(), F.cross_entropy
            self.factor = warm_up_cosine(STEPS - self.pre_training)
            if self.masked:
                model.encoder.load_state_dict(self.masked.encoder.state_dict())
        self.engine = Engine().start(model, adamw(model, self.lr, weight_decay=0.01))

    def _texts(self) -> Batches:
        tokens, present, _ = self.train
        if not self.causal:
            mask, size = self.ids["[MASK]"], len(self.ids)
            g = self.generator
            yield from draw_masked(tokens, present, mask, size, BATCH, g, lowest=LOWEST)
        while True:
            x = tokens[torch.randint(len(tokens), (BATCH,), generator=self.generator)]
            after = F.pad(x[:, 1:], (0, 1))
            yield (x, x > 0), after.where(after >= LOWEST, -100)

    def _labelled(self) -> Batches:
        tokens, present, labels = self.train
        while True:
            rows = torch.randint(len(labels), (BATCH,), generator=self.generator)
            yield (tokens[rows], present[rows]), labels[rows]

    def step(self) -> float:
        """Take the next step; return its loss."""
        first = self.pre_training if self.taken >= self.pre_training else 0
        for group in self.engine.optimiser.param_groups:
            group["lr"] = self.lr * self.factor(self.taken - first)
        self.engine.optimiser.zero_grad()
        loss = self.engine.backward(self.loss, *next(self.batches)).item()
        self.engine.step(1.0)
        self.taken += 1
        if self.taken == self.pre_training:
            self._begin()
        return loss

    def state_dict(self) -> dict[str, Any]:
        """Return the steps taken, all weights, the optimiser's state, and the generator's."""
        return {
            "taken": self.taken,
            "masked": self.masked.state_dict() if self.masked else {},
            "classifier": self.classifier.state_dict(),
            "optimiser": self.engine.optimiser.state_dict(),
            "generator": self.generator.get_state(),
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go back to where the run stood then."""
        self.taken = state["taken"]
        if self.masked:
            self.masked.load_state_dict(state["masked"])
        self._begin()
        self.classifier.load_state_dict(state["classifier"])
        self.engine.optimiser.load_state_dict(state["optimiser"])
        self.generator.set_state(state["generator"])

    @torch.no_grad()
    def result(self) -> dict[str, float]:
        """Return the loss on all training statements in nats, and the accuracies on new templates.

        Those are of the validation, of the test ("right"), and of each test template by its text.
        """
        self.classifier.eval()
        tokens, present, labels = self.train
        train = F.cross_entropy(self.classifier(tokens, present), labels).item()
        hits = self._hits(*self.test)
        validation = _per_cent(self._hits(*self.validation))
        found = {"train": train, "validation": validation, "right": _per_cent(hits)}
        for form in sorted({*self.forms}):
            found[form] = _per_cent(hits[[one == form for one in self.forms]])
        return found

    def _hits(self, tokens: Tensor, present: Tensor, labels: Tensor) -> Tensor:
        """Tell for each statement whether its label is right."""
        return self.classifier(tokens, present).argmax(1) == labels


def _per_cent(hits: Tensor) -> float:
    return 100 * hits.float().mean().item()

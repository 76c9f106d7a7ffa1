"""What `python -m coursekit train gpt` trains, in numbers. Loads nothing heavy."""

from dataclasses import dataclass, field
from typing import Any


def _number(default: int | float | str, meaning: str) -> Any:
    return field(default=default, metadata={"help": f"{meaning} ({default})"})


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """Sizes of a character GPT and of its training: what a run must keep when it is resumed.

    Each field's meaning is the text that `--help` prints.
    """

    steps: int = _number(1000, "steps of training")
    batch_size: int = _number(12, "sequences a step, of all processes together")
    context: int = _number(64, "characters that the model reads")
    n_layer: int = _number(4, "blocks")
    n_head: int = _number(4, "attention heads of each block")
    d_model: int = _number(128, "channels")
    dropout: float = _number(0.0, "probability that a number is set to 0 while training")
    lr: float = _number(0.003, "highest learning rate")
    precision: str = _number("float32", "float32, bfloat16 or float16, of matrix products")
    micro_batches: int = _number(1, "pieces of a batch too large for the memory")
    seed: int = _number(0, "where the random numbers start")

    def __post_init__(self) -> None:
        if min(self.steps, self.batch_size, self.micro_batches) < 1:
            raise ValueError("steps, batch size and micro-batches must be at least 1")
        if not self.lr > 0:
            raise ValueError(f"lr={self.lr} must be above 0: try 0.003")
        if self.precision not in ("float32", "bfloat16", "float16"):
            raise ValueError(f"precision={self.precision!r}: use float32, bfloat16 or float16")

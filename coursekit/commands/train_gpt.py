"""What `python -m coursekit train gpt` does: train a character GPT, keep it, let it write."""

from collections.abc import Iterable, Iterator
from dataclasses import asdict
from pathlib import Path
from statistics import mean

import torch
from torch import Generator, Tensor
from tqdm.auto import tqdm

from coursekit.commands.recipe import Recipe
from coursekit.data import shakespeare
from coursekit.device import pick_device, seed_everything
from coursekit.evaluate.likelihood import next_token_loss, text_nll
from coursekit.models.gpt import GPT, GPTConfig
from coursekit.sample import sample_text
from coursekit.tokens.vocabulary import Vocabulary
from coursekit.training.checkpoint import Checkpoint, copy_weights, load_checkpoint
from coursekit.training.distributed import joined, n_processes, rank
from coursekit.training.engine import Engine
from coursekit.training.fit import History, fit
from coursekit.training.optimiser import adamw, warm_up_cosine
from coursekit.windows.tokens import draw_spans

Batch = tuple[Tensor, Tensor]
PRECISIONS = {"float32": None, "bfloat16": torch.bfloat16, "float16": torch.float16}
FILE = "checkpoint.pt"
"""The name of a run's file in its folder."""


def train_gpt(
    recipe: Recipe, out: Path, *, every: int = 500, resume: bool = False, device: str | None = None
) -> History:
    """Train on the first nine tenths of Shakespeare; print the loss of the last, and a sample.

    Under `torchrun`, all processes train together; the first one prints and writes.

    Args:
        out: folder of the checkpoint.
        every: steps from one checkpoint and validation loss to the next.
        resume: go on from the checkpoint, if there is one.
        device: "cpu", "cuda" or "mps"; else COURSEKIT_DEVICE, else the CPU.
    """
    if out.exists() and not out.is_dir():
        raise ValueError(f"{out} is not a folder: name another one for the checkpoint")
    where = pick_device(device)
    out.mkdir(parents=True, exist_ok=True)  # now, not when the first checkpoint is due

    def measure() -> float:
        loss = text_nll(model, validation)
        tqdm.write(f"step {batches.taken:>6}: validation loss {loss:.4f} nats a character")
        return loss

    with joined(where):
        text = shakespeare()
        vocabulary = Vocabulary.of(text)
        tokens = torch.tensor(vocabulary.encode(text))
        train = tokens[: int(0.9 * len(text))]
        validation = tokens[int(0.9 * len(text)) :]
        seed_everything(recipe.seed)
        model = GPT(_sizes(recipe, vocabulary)).to(where)
        seed_everything(recipe.seed + rank())  # each process drops other numbers out
        config = asdict(recipe) | {"characters": vocabulary.characters}
        print(_describe(model, recipe, where))
        spans = draw_spans(train, recipe.context, recipe.batch_size, _generator(recipe))
        batches = _Counted(spans)
        history = fit(
            model,
            adamw(model, recipe.lr, weight_decay=0.1),
            batches,
            steps=recipe.steps,
            loss=next_token_loss,
            schedule=warm_up_cosine(recipe.steps, warm=0.05, floor=0.1),
            clip=1.0,
            measure=measure,
            every=every,
            engine=Engine(PRECISIONS[recipe.precision], recipe.micro_batches),
            checkpoint=Checkpoint(path=out / FILE, every=every, config=config, resume=resume),
        )
        last = history.losses[-100:]
        print(f"{history.seconds[-1]:.0f} s; the last batches' mean loss is {mean(last):.4f}")
        if history.skipped:
            print(f"{len(history.skipped)} steps were skipped, for their gradients overflowed")
        print(sample_text(model, vocabulary, "\n", 300, _generator(recipe), cached=True))
    return history


def load_gpt(out: Path) -> tuple[GPT, Vocabulary]:
    """Build the model that a run has kept in the folder `out`, and its vocabulary."""
    state = load_checkpoint(out / FILE)
    vocabulary = Vocabulary(state["config"].pop("characters"))
    recipe = Recipe(**state["config"])
    model = GPT(_sizes(recipe, vocabulary))
    copy_weights(model, state["engine"]["weights"])
    return model.eval(), vocabulary


def _sizes(recipe: Recipe, vocabulary: Vocabulary) -> GPTConfig:
    return GPTConfig(
        vocab_size=len(vocabulary),
        context=recipe.context,
        n_layer=recipe.n_layer,
        n_head=recipe.n_head,
        d_model=recipe.d_model,
        dropout=recipe.dropout,
    )


def _generator(recipe: Recipe) -> Generator:
    return Generator().manual_seed(recipe.seed)


def _describe(model: GPT, recipe: Recipe, where: torch.device) -> str:
    count = sum(weight.numel() for weight in model.parameters())
    return (
        f"GPT of {count:,} parameters · {recipe.batch_size * recipe.context:,} characters a step "
        f"· {n_processes()} process(es) on {where} · {recipe.precision}"
    )


class _Counted:
    """Batches that know how many of them were taken: one a step, also when a run is resumed."""

    def __init__(self, batches: Iterable[Batch]) -> None:
        self.batches = batches
        self.taken = 0

    def __iter__(self) -> Iterator[Batch]:
        for batch in self.batches:
            self.taken += 1
            yield batch

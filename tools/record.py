"""Make the recorded runs, once, and say when one must be made anew: `make record`.

A run goes on step by step, and is put away in build/recorded from time to time: one that was
interrupted is taken up there when it is started again, and ends at the same numbers. What is kept
of it in the end is `coursekit.notebook.recorded.Record`, in notebooks/recorded/NAME.json.
"""

import hashlib
import json
import math
import platform
from collections.abc import Mapping
from dataclasses import asdict
from importlib import import_module
from pathlib import Path
from statistics import fmean
from time import perf_counter

import torch
from tqdm import tqdm

from coursekit import settings
from coursekit.data import DATASETS
from coursekit.device import pick_device, random_states, seed_everything, set_random_states
from coursekit.fetch.dataset import Packaged
from coursekit.fetch.store import kind, read_packaged, read_text
from coursekit.notebook.recorded import Record, list_nearest, read_record
from coursekit.training.checkpoint import save_checkpoint
from tools.code_hash import hash_code
from tools.recipes import FIRST, Recipe, Run

ROOT = Path(__file__).parents[1]
LARGEST_RECORD = 50_000
"""Bytes: a record is for a figure, not for what was trained."""


def make_records(
    recipes: Mapping[str, Recipe],
    root: Path,
    wanted: str | None = None,
    *,
    force: bool = False,
    device: str | None = None,
) -> None:
    """Make the runs that are not recorded as their recipes are now, and say so of the others.

    Args:
        recipes: by name.
        root: of the clone, for its folders notebooks and build.
        wanted: the name of one run; all if it is None.
        force: make it also if it is recorded.
        device: where to compute; else COURSEKIT_DEVICE, else the CPU.

    Raises:
        ValueError: if there is no such recipe, or a run can't be made.
    """
    if wanted and wanted not in recipes:
        raise ValueError(
            f"there is no recipe {wanted!r}; there are {list_nearest(wanted, recipes)}"
        )
    for name in [wanted] if wanted else recipes:
        if not force and not find_fault(name, recipes[name], root / "notebooks" / "recorded"):
            print(f"{name}: recorded already, by this recipe")
            continue
        record = make_record(name, recipes[name], root, device=device)
        result = ", ".join(f"{what} {value:.4f}" for what, value in record.result.items())
        print(f"{name}: {record.steps:,} steps in {record.seconds:.0f} s; {result}")


def make_record(
    name: str, recipe: Recipe, root: Path, *, device: str | None = None, pause: float = 20.0
) -> Record:
    """Make a run, or what is left of it, and write its record.

    Args:
        pause: seconds from one checkpoint to the next, at least; each comes after a block.

    Raises:
        ValueError: if the record would be too large, the data are a stand-in, the checkpoint is
            of another run, or a loss is not finite.
    """
    _require_room(name, recipe)
    _require_canonical(name, recipe)
    recording = Recording(name, recipe, root, pick_device(device))
    recording.go_on(pause)
    record = recording.finish()
    write_record(root / "notebooks" / "recorded" / f"{name}.json", record)
    recording.path.unlink(missing_ok=True)
    return record


class Recording:
    """A run that is being made; it is begun, or taken up where its checkpoint left it.

    Raises:
        ValueError: if the checkpoint is broken, or of another recipe, other data or versions.
    """

    def __init__(self, name: str, recipe: Recipe, root: Path, device: torch.device) -> None:
        self.name, self.recipe, self.device = name, recipe, device
        self.path = root / "build" / "recorded" / f"{name}.pt"
        versions = {"python": platform.python_version(), "torch": str(torch.__version__)}
        code = hash_recipe(recipe)
        self.begun_with = {"code": code, "data": hash_data(recipe), "versions": versions}
        self.first_losses: list[float] = []
        self.mean_losses: list[float] = []
        self.seconds = 0.0
        self.run = begin(recipe, device)
        if self.path.exists():
            self._take_up()

    @property
    def steps(self) -> int:
        """How many steps it has taken."""
        return len(self.mean_losses) * self.recipe.block

    def go_on(self, pause: float) -> None:
        """Take the steps that are left, with a bar unless COURSEKIT_PLAIN is set."""
        kept = perf_counter()
        look = {"desc": self.name, "unit": " steps", "disable": settings.is_plain()}
        with tqdm(initial=self.steps, total=self.recipe.steps, **look) as bar:
            while self.steps < self.recipe.steps:
                self._take_block()
                bar.update(self.recipe.block)
                bar.set_postfix_str(f"loss {self.mean_losses[-1]:.4f}", refresh=False)
                if perf_counter() - kept >= pause or self.steps == self.recipe.steps:
                    self._put_away()
                    kept = perf_counter()

    def finish(self) -> Record:
        """Measure what the run ended at; return what is kept of it."""
        threads = f"threads: {torch.get_num_threads()}"
        return Record(
            recipe=self.recipe.code,
            options=self.recipe.options,
            seed=self.recipe.seed,
            machine=f"{platform.system()} {platform.machine()}, {threads}, {self.device}",
            steps=self.recipe.steps,
            seconds=round(self.seconds, 1),
            first_losses=self.first_losses,
            block=self.recipe.block,
            mean_losses=[round(loss, 6) for loss in self.mean_losses],
            result={what: round(value, 6) for what, value in self.run.result().items()},
            **self.begun_with,
        )

    def _take_block(self) -> None:
        start = perf_counter()
        losses = [self.run.step() for _ in range(self.recipe.block)]
        self.seconds += perf_counter() - start
        for step, loss in enumerate(losses, self.steps):
            if not math.isfinite(loss):
                raise ValueError(f"{self.name}: the loss is {loss} at step {step}: mend its recipe")
        self.first_losses = self.first_losses or losses[:FIRST]
        self.mean_losses.append(fmean(losses))

    def _put_away(self) -> None:
        """Replace the checkpoint, whole or not at all."""
        state = {
            "begun_with": self.begun_with,
            "curve": (self.first_losses, self.mean_losses, self.seconds),
            "random": random_states(self.device),
            "run": self.run.state_dict(),
        }
        save_checkpoint(self.path, state)

    def _take_up(self) -> None:
        """Go on from the checkpoint."""
        remedy = f"remove {self.path} to begin anew"
        try:
            state = torch.load(self.path, map_location="cpu", weights_only=True)
            begun_with, curve, random = state["begun_with"], state["curve"], state["random"]
        except Exception:  # which one depends on the byte that is wrong or missing
            raise ValueError(f"the checkpoint of {self.name} is broken: {remedy}") from None
        for what, value in self.begun_with.items():
            if begun_with[what] != value:
                raise ValueError(
                    f"the checkpoint of {self.name} was made with another {what}: "
                    f"{begun_with[what]}, now {value}: undo that change, or {remedy}"
                )
        self.first_losses, self.mean_losses, self.seconds = curve
        self.run.load_state_dict(state["run"])
        set_random_states(self.device, random)


def begin(recipe: Recipe, device: torch.device) -> Run:
    """Seed the generators and begin the run of a recipe."""
    module, _, name = recipe.code.partition(":")
    seed_everything(recipe.seed)
    return getattr(import_module(module), name)(seed=recipe.seed, device=device, **recipe.options)


def replay(recipe: Recipe) -> list[float]:
    """Take the first steps of a run again, on the CPU; return their losses."""
    run = begin(recipe, torch.device("cpu"))
    return [run.step() for _ in range(FIRST)]


def find_fault(name: str, recipe: Recipe, folder: Path) -> str:
    """Say in one sentence why a run must be recorded, or recorded anew; "" if it needn't be."""
    try:
        record = read_record(name, folder)
    except ValueError as problem:
        return str(problem)
    if record.code != hash_recipe(recipe):
        return (
            f"the recipe of {name} has changed since its run was recorded: "
            f"undo the change, or record it anew by 'make record NAME={name}'"
        )
    return ""


def hash_recipe(recipe: Recipe) -> str:
    """Return the hash of a recipe: of its numbers and of the code that it names."""
    numbers = json.dumps(asdict(recipe), sort_keys=True)
    text = f"{numbers}\n{hash_code(recipe.code, ROOT)}"
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def hash_data(recipe: Recipe) -> dict[str, str]:
    """Return the SHA-256 of each data set of a recipe, of the text as it is read here."""
    found = {}
    for name in recipe.data:
        dataset = DATASETS[name]
        packaged = isinstance(dataset, Packaged)
        text = read_packaged(dataset) if packaged else read_text(dataset)
        found[name] = hashlib.sha256(text.encode()).hexdigest()
    return found


def write_record(path: Path, record: Record) -> None:
    """Write a record, whole or not at all, an entry a line.

    Raises:
        ValueError: if it is larger than `LARGEST_RECORD`; nothing is written then.
    """
    lines = [f' "{name}": {json.dumps(value)}' for name, value in asdict(record).items()]
    text = "{\n" + ",\n".join(lines) + "\n}\n"
    if len(text.encode()) > LARGEST_RECORD:
        raise ValueError(
            f"the record {path.stem} would have {len(text.encode()):,} bytes, more than "
            f"{LARGEST_RECORD:,}: let its recipe have longer blocks, and fewer results"
        )
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_suffix(".unfinished")
    unfinished.write_text(text, "utf-8")
    unfinished.replace(path)


def _require_room(name: str, recipe: Recipe) -> None:
    """Refuse before the run, not after it, a curve that fills a record by itself."""
    longest = 11 * (recipe.steps // recipe.block)  # "12.345678, " for each block
    if longest > LARGEST_RECORD:
        raise ValueError(
            f"the record {name} would have a curve of about {longest:,} bytes, more than "
            f"{LARGEST_RECORD:,}: let its recipe have longer blocks"
        )


def _require_canonical(name: str, recipe: Recipe) -> None:
    """Refuse to record what was trained on a stand-in."""
    for one in recipe.data:
        if (found := kind(DATASETS[one], fetch=True)) != "canonical":
            raise ValueError(
                f"{name} reads {one}, which is {found} here, and only canonical data are recorded: "
                "set COURSEKIT_DATA to a folder that has the file"
            )

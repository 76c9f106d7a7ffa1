"""A fitted forecaster in one file: numbers and their names, nothing that could be run."""

import json
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor, nn

from coursekit.device import device_of
from coursekit.evaluate.bands import Bands
from coursekit.evaluate.likelihood import evaluating
from coursekit.forecasting.fitted import FittedForecaster
from coursekit.training.checkpoint import copy_weights, replace_file, unique_weights
from coursekit.windows.forecast import Forecaster, Scaler

KIND = "a fitted forecaster, 1"
"""What the file says of itself; the number changes when what it holds does."""
MICROSECOND = timedelta(microseconds=1)


def save_forecaster(fitted: FittedForecaster, path: Path) -> None:
    """Write all of a fitted forecaster but its code: NumPy's arrays (.npz) and one text of JSON.

    The file also holds what the model says to a made-up window, so that `load_forecaster` can
    tell whether it has the same model again.
    """
    about = {
        "kind": KIND,
        "columns": fitted.columns,
        "known": fitted.known,
        "past": fitted.past,
        "horizon": fitted.horizon,
        "step": fitted.step and fitted.step // MICROSECOND,
        "rows": fitted.scaler.n_rows,
        "bands": fitted.bands and {"level": fitted.bands.level, "windows": fitted.bands.windows},
    }
    arrays = {"mean": fitted.scaler.mean, "std": fitted.scaler.std, "answer": answer(fitted)}
    if fitted.bands is not None:
        arrays["margin"] = fitted.bands.margin
    if fitted.coverage is not None:
        arrays["coverage"] = fitted.coverage
    arrays |= {f"weights/{name}": one for name, one in _weights(fitted.model).items()}
    plain: dict[str, Any] = {name: one.detach().cpu().numpy() for name, one in arrays.items()}
    replace_file(path, lambda file: np.savez(file, about=json.dumps(about), **plain))


def load_forecaster(path: Path, model: Forecaster) -> FittedForecaster:
    """Read a fitted forecaster; the weights go into the model.

    Args:
        model: one that was built as the saved one was, with any weights.

    Raises:
        FileNotFoundError: if there is no such file.
        ValueError: if it is cut short or something else, or the model is another one.
    """
    about, arrays = _read(path)
    bands = None
    if about["bands"]:
        bands = Bands(margin=arrays["margin"], **about["bands"])
    fitted = FittedForecaster(
        model=model,
        scaler=Scaler(arrays["mean"], arrays["std"], about["rows"]),
        columns=tuple(about["columns"]),
        known=tuple(about["known"]),
        past=about["past"],
        horizon=about["horizon"],
        step=about["step"] and about["step"] * MICROSECOND,
        bands=bands,
        coverage=arrays.get("coverage"),
    )
    weights = {
        name.removeprefix("weights/"): one for name, one in arrays.items() if "weights/" in name
    }
    if isinstance(model, nn.Module):
        copy_weights(model, weights)
    if (not isinstance(model, nn.Module) and weights) or not _is_same(fitted, arrays["answer"]):
        raise ValueError(
            f"the model forecasts something else than the one in {path}: build it with the same "
            "sizes, rules and wrappers"
        )
    return fitted


def answer(fitted: FittedForecaster) -> Float[Tensor, "P"]:
    """Return what the model says to a window that is made up, the same one each time."""
    steps = torch.arange(fitted.past + fitted.horizon)
    waves = (steps[:, None] * (1.0 + torch.arange(len(fitted.columns)))).sin()
    known = torch.zeros_like(waves[fitted.past :])
    columns = list(fitted.known_columns)
    known[:, columns] = waves[fitted.past :, columns]
    marks = torch.stack([steps % 24, steps % 7, steps % 12], 1)
    model = fitted.model if isinstance(fitted.model, nn.Module) else nn.Module()
    inputs = (x[None].to(device_of(model)) for x in (waves[: fitted.past], known, marks))
    with evaluating(model):
        return fitted.model(*inputs)[0].cpu()


def _is_same(fitted: FittedForecaster, saved: Tensor) -> bool:
    """Tell whether the model says what it said, but for the rounding of another machine."""
    try:
        return torch.allclose(answer(fitted).double(), saved.double(), rtol=1e-3, atol=1e-3)
    except (RuntimeError, ValueError):  # it can't even read such a window
        return False


def _weights(model: Forecaster) -> dict[str, Tensor]:
    return unique_weights(model) if isinstance(model, nn.Module) else {}


def _read(path: Path) -> tuple[dict[str, Any], dict[str, Tensor]]:
    """Return what the file says of itself, and its tensors."""
    if not path.is_file():
        raise FileNotFoundError(f"there is no forecaster {path}: correct the path, or save one")
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as saved:
            held = {name: saved[name] for name in saved.files}
        about = json.loads(held.pop("about").item())
        tensors = {name: torch.from_numpy(array) for name, array in held.items()}
    except Exception:  # which one depends on the byte that is wrong or missing
        about, tensors = {}, {}
    if not isinstance(about, dict) or about.get("kind") != KIND:
        raise ValueError(
            f"{path} is no whole forecaster: it was cut short or is something else; save it again"
        )
    return about, tensors

"""Several processes that train one model, as `torchrun` starts them; without it, one process.

Each process holds the whole model and takes its rows of every batch. PyTorch's
DistributedDataParallel averages the gradients, so that all of them make the same step.
"""

import importlib
import io
import signal
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, redirect_stdout
from datetime import timedelta

import torch
from jaxtyping import Float, Shaped
from torch import Tensor, distributed, nn
from torch.nn.parallel import DistributedDataParallel

from coursekit import settings

PATIENCE = timedelta(minutes=5)
"""How long a process waits for one that hangs; one that has died is noticed at once."""


class LostProcessError(RuntimeError):
    """Another process of the run has ended or hangs, so that this one can't go on."""


def rank() -> int:
    """Return the number of this process among those of the run; 0 if it is alone."""
    return distributed.get_rank() if distributed.is_initialized() else 0


def n_processes() -> int:
    """Return how many processes train together."""
    return distributed.get_world_size() if distributed.is_initialized() else 1


@contextmanager
def joined(device: torch.device) -> Iterator[None]:
    """Join the processes that `torchrun` started, for as long as the context lasts.

    Only the first one prints to standard output. Does nothing where `torchrun` did not start
    this process.

    Raises:
        ValueError: if the device has no engine for several processes.
        LostProcessError: if another process dies or hangs, or this one is told to stop, as
            `torchrun` tells all when one has died.
    """
    if not settings.is_torchrun():
        yield
        return
    engines = {"cpu": "gloo", "cuda": "cpu:gloo,cuda:nccl"}
    if device.type not in engines:
        raise ValueError(f"several processes can't share {device.type!r}: use 'cpu' or 'cuda'")
    # DDP imports it, and its functions keep the group that there is then as their default: the
    # group's threads would outlive it, and one that lets go of a tensor late, without an
    # interpreter any more, aborts the process. So import it while there is no group.
    importlib.import_module("torch.distributed.nn")
    distributed.init_process_group(engines[device.type], timeout=PATIENCE)
    before = signal.signal(signal.SIGTERM, _stop)
    try:
        with redirect_stdout(io.StringIO()) if rank() else nullcontext():
            yield
    except RuntimeError as problem:
        # gloo raises a plain RuntimeError that names its source file; NCCL raises a DistError.
        if isinstance(problem, distributed.DistError) or "gloo/" in str(problem):
            _stop()
        raise
    finally:
        if signal.getsignal(signal.SIGTERM) is _stop:  # no process was lost
            signal.signal(signal.SIGTERM, before)
            distributed.destroy_process_group()


def _stop(number: int | None = None, _: object = None) -> None:
    """Raise LostProcessError, once; `number` is that of the signal that asks for it."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    reason = "lost another one, which died or hangs"
    if number is not None:
        reason = "was told to stop, as all are when one has died"
    raise LostProcessError(f"process {rank()} of {n_processes()} {reason}") from None


def replicate(model: nn.Module) -> nn.Module:
    """Return the model so wrapped that `backward` averages gradients over the processes."""
    if n_processes() == 1:
        return model
    device = next(model.parameters()).device
    own = [device] if device.type == "cuda" else None
    # A group of its own, for DDP may live longer than `joined` and would keep that one's threads.
    # Without views, there would be a second copy of all gradients.
    return DistributedDataParallel(
        model, own, process_group=distributed.new_group(), gradient_as_bucket_view=True
    )


def averaging(replica: nn.Module, now: bool) -> AbstractContextManager:
    """Let `backward` average the gradients now, or only add them up to be averaged later."""
    if isinstance(replica, DistributedDataParallel) and not now:
        return replica.no_sync()
    return nullcontext()


def own_rows(tensors: Sequence[Tensor], micro_batches: int) -> list[tuple[Tensor, ...]]:
    """Return this process's rows of a batch, in micro-batches of as many rows each.

    Args:
        tensors: inputs and targets, all with the rows B as their first axis.
        micro_batches: into how many pieces to cut this process's rows.

    Raises:
        ValueError: if they can't have as many rows each, for then processes would wait for the
            one with the most; or if the tensors differ in their rows.
    """
    n = n_processes()
    rows = {len(one) for one in tensors}
    if len(rows) != 1:
        raise ValueError(f"inputs and targets have {sorted(rows)} rows: give all the same number")
    if micro_batches == n == 1:
        return [tuple(tensors)]
    (size,) = rows
    if micro_batches < 1 or size % (micro_batches * n):
        raise ValueError(
            f"a batch of {size} rows can't be split evenly among {n} process(es) with "
            f"{micro_batches} micro-batch(es) each: choose a batch size that can"
        )
    pieces = zip(*(one.chunk(micro_batches * n) for one in tensors), strict=True)
    return list(pieces)[rank() :: n]


def mean_over_processes(value: Float[Tensor, ""]) -> Float[Tensor, ""]:
    """Return the mean of every process's value, the same to all."""
    n = n_processes()
    if n > 1:
        distributed.all_reduce(value)
    return value / n if n > 1 else value


def gather(value: Shaped[Tensor, "*N"]) -> Shaped[Tensor, "R *N"]:
    """Stack every process's value, a tensor on the CPU, in the order of their ranks."""
    values = [torch.empty_like(value) for _ in range(n_processes())]
    if n_processes() == 1:
        return value[None]
    distributed.all_gather(values, value)
    return torch.stack(values)

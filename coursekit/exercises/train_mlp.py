"""Checks for the exercises of notebook 02b."""

from collections.abc import Callable, Mapping, Sequence

from coursekit.exercises.compare import agree


def check_early_stopping(
    solution: Callable[[Sequence[float], int], Mapping[str, int]],
) -> None:
    """Check a function that says which measurement to keep, and after which to stop."""
    cases = [
        ([3.0, 2.0, 1.0, 1.5, 1.7, 1.6], 2),
        ([5.0, 4.0, 4.5, 4.4, 4.3, 4.2, 1.0], 3),
        ([5.0, 6.0, 4.0, 4.5, 3.0, 3.5, 2.0], 2),
        ([2.0, 1.0, 1.0, 1.0, 0.5], 2),
        ([5.0, 4.0, 4.5, 4.6], 3),
        ([1.0, 2.0, 3.0, 4.0, 5.0], 2),
        ([3.0, 2.0, 2.5, 1.0], 1),
    ]
    agree(solution, stop_early, cases)


def stop_early(losses: Sequence[float], patience: int) -> dict[str, int]:
    """Find where to stop: at the first loss that comes `patience` after the lowest so far.

    Returns:
        "keep", the index of the lowest loss up to there, the earliest if several are equal; "stop",
        the index of the last loss read, which is the last of all if patience never ended.

    Raises:
        ValueError: if there is no loss, or patience is below 1.
    """
    if not losses or patience < 1:
        raise ValueError(f"{len(losses)} losses and {patience=}: give one at least, of both")
    for stop in range(len(losses)):
        read = list(losses[: stop + 1])
        keep = read.index(min(read))
        if stop - keep == patience:
            break
    return {"keep": keep, "stop": stop}

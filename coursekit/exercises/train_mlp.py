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
    ]

    def reference(losses: Sequence[float], patience: int) -> dict[str, int]:
        """Look at every possible end: the first whose lowest loss is `patience` steps old."""
        for stop in range(len(losses)):
            read = list(losses[: stop + 1])
            keep = read.index(min(read))
            if stop - keep == patience:
                break
        return {"keep": keep, "stop": stop}

    agree(solution, reference, cases)

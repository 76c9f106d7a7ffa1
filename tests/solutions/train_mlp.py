"""Solutions of the exercises of notebook 02b, right and wrong."""

from coursekit.exercises import train_mlp

# --- check_early_stopping -----------------------------------------------------------------------


def stopping_by_index(losses, patience):
    keep = stop = 0
    for stop, loss in enumerate(losses):
        if loss < losses[keep]:
            keep = stop
        elif stop - keep >= patience:
            break
    return {"keep": keep, "stop": stop}


def stopping_by_counting(losses, patience):
    lowest, keep, waited, stop = float("inf"), 0, 0, -1
    while stop + 1 < len(losses) and waited < patience:
        stop += 1
        waited += 1
        if losses[stop] < lowest:
            lowest, keep, waited = losses[stop], stop, 0
    return {"keep": keep, "stop": stop}


def stopping_never(losses, patience):
    return {"keep": losses.index(min(losses)), "stop": len(losses) - 1}


def stopping_one_late(losses, patience):
    return stopping_by_index(losses, patience + 1)


def stopping_and_keeping_the_last(losses, patience):
    stop = stopping_by_index(losses, patience)["stop"]
    return {"keep": stop, "stop": stop}


def stopping_on_worse_than_the_one_before(losses, patience):
    keep = stop = worse = 0
    for stop in range(1, len(losses)):
        worse = worse + 1 if losses[stop] >= losses[stop - 1] else 0
        if losses[stop] < losses[keep]:
            keep = stop
        if stop - keep >= patience and worse:
            break
    return {"keep": keep, "stop": stop}


def stopping_after_all_bad_ones_together(losses, patience):
    keep = stop = bad = 0
    for stop in range(1, len(losses)):
        if losses[stop] < losses[keep]:
            keep = stop
        else:
            bad += 1
        if bad >= patience:
            break
    return {"keep": keep, "stop": stop}


def stopping_with_equal_as_better(losses, patience):
    keep = stop = 0
    for stop, loss in enumerate(losses):
        if loss <= losses[keep]:
            keep = stop
        elif stop - keep >= patience:
            break
    return {"keep": keep, "stop": stop}


def stopping_at_the_lowest_if_losses_end(losses, patience):
    found = stopping_by_index(losses, patience)
    if found["stop"] - found["keep"] < patience and found["stop"] == len(losses) - 1:
        found["stop"] = found["keep"]
    return found


def stopping_after_a_first_improvement(losses, patience):
    better = [k for k in range(1, len(losses)) if losses[k] < losses[0]]
    if not better:
        return {"keep": 0, "stop": len(losses) - 1}
    found = stopping_by_index(losses[better[0] :], patience)
    return {name: k + better[0] for name, k in found.items()}


def stopping_with_a_patience_of_two_at_least(losses, patience):
    return stopping_by_index(losses, max(patience, 2))


ROWS = {
    train_mlp.check_early_stopping: (
        [stopping_by_index, stopping_by_counting],
        {
            stopping_never: "[3.0, 2.0, 1.0, 1.5, 1.7, 1.6], 2",
            stopping_one_late: "[3.0, 2.0, 1.0, 1.5, 1.7, 1.6], 2",
            stopping_and_keeping_the_last: "[3.0, 2.0, 1.0, 1.5, 1.7, 1.6], 2",
            stopping_on_worse_than_the_one_before: "[5.0, 4.0, 4.5, 4.4, 4.3, 4.2, 1.0], 3",
            stopping_after_all_bad_ones_together: "[5.0, 6.0, 4.0, 4.5, 3.0, 3.5, 2.0], 2",
            stopping_with_equal_as_better: "[2.0, 1.0, 1.0, 1.0, 0.5], 2",
            stopping_at_the_lowest_if_losses_end: "[5.0, 4.0, 4.5, 4.6], 3",
            stopping_after_a_first_improvement: "[1.0, 2.0, 3.0, 4.0, 5.0], 2",
            stopping_with_a_patience_of_two_at_least: "[3.0, 2.0, 2.5, 1.0], 1",
        },
    ),
}

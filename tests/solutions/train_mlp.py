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


# --- check_adamw_step ---------------------------------------------------------------------------


class Adam:
    """A right step, of parts that the wrong ones replace."""

    def __init__(self):
        self.__name__ = type(self).__name__

    def __call__(self, p, g, m, v, t, lr, decay, beta_1=0.9, beta_2=0.99, eps=1e-8):
        g = self.gradient(p, g, decay)
        m, v = beta_1 * m + (1 - beta_1) * g, beta_2 * v + (1 - beta_2) * g**2
        step = self.divide(*self.correct(m, v, t, beta_1, beta_2), eps)
        return self.move(p, lr * step, lr, decay), m, v

    def gradient(self, p, g, decay):
        return g

    def correct(self, m, v, t, beta_1, beta_2):
        return m / (1 - beta_1**t), v / (1 - beta_2**t)

    def divide(self, m, v, eps):
        return m / (v.sqrt() + eps)

    def move(self, p, step, lr, decay):
        return p * (1 - lr * decay) - step


def adam_by_lerp(p, g, m, v, t, lr, decay, beta_1=0.9, beta_2=0.99, eps=1e-8):
    m, v = m.lerp(g, 1 - beta_1), v.lerp(g * g, 1 - beta_2)
    size = (v / (1 - beta_2**t)).sqrt().add(eps)
    return (1 - lr * decay) * p - lr / (1 - beta_1**t) * m / size, m, v


class AdamUncorrected(Adam):
    def correct(self, m, v, t, beta_1, beta_2):
        return m, v


class AdamAlwaysAtStepOne(Adam):
    def correct(self, m, v, t, beta_1, beta_2):
        return super().correct(m, v, 1, beta_1, beta_2)


class AdamThatClimbs(Adam):
    def move(self, p, step, lr, decay):
        return p * (1 - lr * decay) + step


class AdamWithoutARoot(Adam):
    def divide(self, m, v, eps):
        return m / (v + eps)


class AdamWithAPenalty(Adam):
    def gradient(self, p, g, decay):
        return g + decay * p

    def move(self, p, step, lr, decay):
        return p - step


class AdamThatShrinksByTheDecay(Adam):
    def move(self, p, step, lr, decay):
        return p * (1 - decay) - step


class AdamThatShrinksAfterTheStep(Adam):
    def move(self, p, step, lr, decay):
        return (p - step) * (1 - lr * decay)


class AdamWithoutEps(Adam):
    def divide(self, m, v, eps):
        return m / v.sqrt()


class AdamWithEpsInTheRoot(Adam):
    def divide(self, m, v, eps):
        return m / (v + eps).sqrt()


class AdamOfItsOwnBetas(Adam):
    def __call__(self, p, g, m, v, t, lr, decay, beta_1=0.9, beta_2=0.99, eps=1e-8):
        return super().__call__(p, g, m, v, t, lr, decay, eps=eps)


def adam_that_forgets_its_means(p, g, m, v, t, *how):
    return Adam()(p, g, m, v, t, *how)[0], m, v


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
    train_mlp.check_adamw_step: (
        [Adam(), adam_by_lerp],
        {
            AdamUncorrected(): "t=3, lr=0.1, decay=0.0",
            AdamThatClimbs(): "t=1, lr=0.1, decay=0.0",
            AdamWithoutARoot(): "t=1, lr=0.1, decay=0.0",
            adam_that_forgets_its_means: "t=1, lr=0.1, decay=0.0",
            AdamAlwaysAtStepOne(): "t=3, lr=0.1, decay=0.0",
            AdamWithAPenalty(): "t=3, lr=0.1, decay=0.5",
            AdamThatShrinksByTheDecay(): "t=3, lr=0.1, decay=0.5",
            AdamThatShrinksAfterTheStep(): "t=3, lr=0.1, decay=0.5",
            AdamWithoutEps(): "g=[0.0, 0.0, 0.0]",
            AdamWithEpsInTheRoot(): "beta_1=0.8, beta_2=0.95, eps=0.1",
            AdamOfItsOwnBetas(): "beta_1=0.8, beta_2=0.95, eps=0.1",
        },
    ),
}

"""Solutions of the exercises of notebook 02b, right and wrong."""

import numpy as np

from coursekit.exercises import train_mlp

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


class AdamThatShrinksByATenthOfTheDecay(Adam):
    def move(self, p, step, lr, decay):
        return p * (1 - 0.1 * decay) - step


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


# --- check_paired -------------------------------------------------------------------------------


def paired_by_numpy(a, b):
    difference = (a - b).numpy()
    return difference.mean(), difference.std(ddof=1) / np.sqrt(len(difference))


def paired_as_if_apart(a, b):
    return (a - b).mean(), ((a.var() + b.var()) / len(a)) ** 0.5


def paired_the_other_way(a, b):
    return train_mlp.mean_difference(b, a)


def paired_without_the_root(a, b):
    return (a - b).mean(), (a - b).std()


def paired_by_n(a, b):
    return (a - b).mean(), (a - b).std(correction=0) / len(a) ** 0.5


def paired_without_a_sign(a, b):
    mean, error = train_mlp.mean_difference(a, b)
    return abs(mean), error


def paired_as_if_four(a, b):
    return (a - b).mean(), (a - b).std() / 2


ROWS = {
    train_mlp.check_paired: (
        [train_mlp.mean_difference, paired_by_numpy],
        {
            paired_as_if_apart: "[1.75, 0.25, 3.75, 1.25]",
            paired_the_other_way: "[1.75, 0.25, 3.75, 1.25]",
            paired_without_the_root: "[1.0, 0.5, 2.5, 1.0]",
            paired_by_n: "[1.0, 0.5, 2.5, 1.0]",
            paired_without_a_sign: "[2.5, 1.5, 3.5, 4.0]",
            paired_as_if_four: "[2.0, 2.0, 2.0, 2.0, 2.0, 2.0",
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
            AdamWithAPenalty(): "t=3, lr=0.02, decay=0.5",
            AdamThatShrinksByTheDecay(): "t=3, lr=0.02, decay=0.5",
            AdamThatShrinksByATenthOfTheDecay(): "t=3, lr=0.02, decay=0.5",
            AdamThatShrinksAfterTheStep(): "t=3, lr=0.02, decay=0.5",
            AdamWithoutEps(): "g=[0.0, 0.0, 0.0]",
            AdamWithEpsInTheRoot(): "beta_1=0.8, beta_2=0.95, eps=0.1",
            AdamOfItsOwnBetas(): "beta_1=0.8, beta_2=0.95, eps=0.1",
        },
    ),
}

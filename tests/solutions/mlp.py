"""Solutions of the exercises of notebook 02, right and wrong."""

import math

import torch

from coursekit.exercises import mlp

# --- check_gain ---------------------------------------------------------------------------------


def gain_by_sampling(nonlinearity):
    z = torch.randn(1_000_000, generator=torch.Generator().manual_seed(42))
    return nonlinearity(z).square().mean() ** -0.5


def gain_by_summing(nonlinearity):
    z = torch.linspace(-8, 8, 4001)
    density = (-z.square() / 2).exp()
    return 1 / math.sqrt((density * nonlinearity(z).square()).sum() / density.sum())


def gain_of_uniform_numbers(nonlinearity):
    z = torch.linspace(-(3**0.5), 3**0.5, 4001)
    return nonlinearity(z).square().mean() ** -0.5


def gain_without_the_root(nonlinearity):
    return gain_by_sampling(nonlinearity) ** 2


def gain_upside_down(nonlinearity):
    return 1 / gain_by_sampling(nonlinearity)


def gain_by_the_standard_deviation(nonlinearity):
    z = torch.randn(1_000_000, generator=torch.Generator().manual_seed(42))
    return 1 / nonlinearity(z).std()


def gain_of_positive_numbers(nonlinearity):
    z = torch.randn(1_000_000, generator=torch.Generator().manual_seed(42)).abs()
    return nonlinearity(z).square().mean() ** -0.5


def gain_of_at_least_one(nonlinearity):
    return max(1.0, gain_by_sampling(nonlinearity).item())


# --- check_batch_norm ---------------------------------------------------------------------------


class Norm:
    """A right layer, of parts that the wrong ones replace."""

    def __init__(self, d, momentum=0.1, eps=1e-5):
        self.momentum, self.eps = momentum, eps
        self.gamma = torch.ones(d, requires_grad=True)
        self.beta = torch.zeros(d, requires_grad=True)
        self.mean, self.variance = torch.zeros(d), torch.ones(d)

    def __call__(self, x, training):
        mean, variance = self.mean, self.variance
        if training:
            mean, variance = x.mean(0), x.var(0, correction=0)
            self.remember(x.detach())
        return self.gamma * self.normalise(x, mean, variance) + self.beta

    def normalise(self, x, mean, variance):
        return (x - mean) / (variance + self.eps).sqrt()

    def remember(self, x):
        self.mean = self.mean.lerp(x.mean(0), self.momentum)
        self.variance = self.variance.lerp(x.var(0), self.momentum)


class NormOfPyTorch:
    def __init__(self, d, momentum=0.1, eps=1e-5):
        self.inside = torch.nn.BatchNorm1d(d, eps, momentum, affine=False)
        self.gamma = torch.ones(d, requires_grad=True)
        self.beta = torch.zeros(d, requires_grad=True)

    def __call__(self, x, training):
        return self.inside.train(training)(x) * self.gamma + self.beta


class NormUnbiased(Norm):
    def __call__(self, x, training):
        if not training:
            return super().__call__(x, training)
        self.remember(x.detach())
        return self.gamma * self.normalise(x, x.mean(0), x.var(0)) + self.beta


class NormOfFixedStatistics(Norm):
    def normalise(self, x, mean, variance):
        return super().normalise(x, mean.detach(), variance.detach())


class NormThatKeepsTheGraph(Norm):
    def __call__(self, x, training):
        answer = super().__call__(x, training)
        self.mean = self.mean + 0 * x.mean(0) if training else self.mean
        return answer


class NormThatKeepsTheGraphOfTheVariance(Norm):
    def __call__(self, x, training):
        answer = super().__call__(x, training)
        self.variance = self.variance + 0 * x.mean(0) if training else self.variance
        return answer


class NormOfRows(Norm):
    def __call__(self, x, training):
        return self.normalise(x, x.mean(1, keepdim=True), x.var(1, keepdim=True, correction=0))


class NormEpsOutside(Norm):
    def normalise(self, x, mean, variance):
        return (x - mean) / (variance.sqrt() + self.eps)


class NormWithoutEps(Norm):
    def normalise(self, x, mean, variance):
        return (x - mean) / variance.sqrt()


class NormThatRemembersThreeHalves(Norm):
    def remember(self, x):
        self.mean = self.mean.lerp(x.mean(0), self.momentum)
        self.variance = self.variance.lerp(1.5 * x.var(0, correction=0), self.momentum)


class NormWithoutEpsInEvaluation(Norm):
    def __call__(self, x, training):
        if training:
            return super().__call__(x, training)
        return self.gamma * (x - self.mean) / self.variance.sqrt() + self.beta


class NormOfOneMomentum(Norm):
    def __init__(self, d, *options):
        super().__init__(d, 0.1, *options[1:])


class NormOfOneEps(Norm):
    def __init__(self, d, *options):
        super().__init__(d, *options[:1])


class NormThatStartsAtZero(Norm):
    def __init__(self, d, *options):
        super().__init__(d, *options)
        self.gamma = torch.zeros(d, requires_grad=True)


class NormThatIsNotTrained(Norm):
    def __init__(self, d, *options):
        super().__init__(d, *options)
        self.gamma, self.beta = torch.ones(d), torch.zeros(d)


class NormWithoutGain(Norm):
    def __call__(self, x, training):
        return super().__call__(x, training) / self.gamma


class NormOfFixedGain(Norm):
    def __call__(self, x, training):
        self.gamma = self.gamma.detach()
        return super().__call__(x, training)


class NormWithoutShift(Norm):
    def __call__(self, x, training):
        return super().__call__(x, training) - self.beta


class NormAlwaysTraining(Norm):
    def __call__(self, x, training):
        return super().__call__(x, training=True)


class NormThatBeginsWithZeros(Norm):
    def __init__(self, d, *options):
        super().__init__(d, *options)
        self.variance = torch.zeros(d)


class NormThatForgets(Norm):
    def remember(self, x):
        self.mean = self.mean.clone()


class NormRemembersBiased(Norm):
    def remember(self, x):
        self.mean = self.mean.lerp(x.mean(0), self.momentum)
        self.variance = self.variance.lerp(x.var(0, correction=0), self.momentum)


class NormSwapped(Norm):
    def remember(self, x):
        self.mean = self.mean.lerp(x.mean(0), 1 - self.momentum)
        self.variance = self.variance.lerp(x.var(0), 1 - self.momentum)


class NormThatRemembersInEvaluation(Norm):
    def __call__(self, x, training):
        if not training and len(x) > 1:
            self.remember(x)
        return super().__call__(x, training)


class NormOfTheFirstBatchOnly(Norm):
    def remember(self, x):
        if not self.mean.any():
            super().remember(x)


# --- check_fold ---------------------------------------------------------------------------------


def fold_by_columns(weights, mean, variance, gamma, beta, eps=1e-5):
    factor = gamma / (variance + eps).sqrt()
    return weights * factor, beta - mean * factor


def fold_by_a_diagonal(weights, mean, variance, gamma, beta, eps=1e-5):
    scale = torch.diag(gamma * (variance + eps).rsqrt())
    return weights @ scale, beta - mean @ scale


def fold_by_rows(weights, mean, variance, gamma, beta, eps=1e-5):
    factor = gamma / (variance + eps).sqrt()
    return weights * factor[:, None], beta - mean * factor


def fold_by_the_variance(weights, mean, variance, gamma, beta, eps=1e-5):
    factor = gamma / (variance + eps)
    return weights * factor, beta - mean * factor


def fold_without_the_mean(weights, mean, variance, gamma, beta, eps=1e-5):
    return weights * gamma / (variance + eps).sqrt(), beta


def fold_with_a_plus(weights, mean, variance, gamma, beta, eps=1e-5):
    factor = gamma / (variance + eps).sqrt()
    return weights * factor, beta + mean * factor


def fold_without_the_gain(weights, mean, variance, gamma, beta, eps=1e-5):
    factor = (variance + eps).rsqrt()
    return weights * factor, beta - mean * factor


def fold_mean_unscaled(weights, mean, variance, gamma, beta, eps=1e-5):
    return weights * gamma / (variance + eps).sqrt(), beta - mean


def fold_mean_by_gamma_alone(weights, mean, variance, gamma, beta, eps=1e-5):
    return weights * gamma / (variance + eps).sqrt(), beta - mean * gamma


def fold_shift_divided(weights, mean, variance, gamma, beta, eps=1e-5):
    s = (variance + eps).sqrt()
    return weights * gamma / s, (beta - mean * gamma) / s


def fold_mean_by_the_variance(weights, mean, variance, gamma, beta, eps=1e-5):
    return weights * gamma / (variance + eps).sqrt(), beta - mean * gamma / (variance + eps)


def fold_without_the_shift(weights, mean, variance, gamma, beta, eps=1e-5):
    factor = gamma / (variance + eps).sqrt()
    return weights * factor, -mean * factor


def fold_with_one_eps(weights, mean, variance, gamma, beta, eps=1e-5):
    return fold_by_columns(weights, mean, variance, gamma, beta)


def fold_without_eps(weights, mean, variance, gamma, beta, eps=1e-5):
    factor = gamma / variance.sqrt()
    return weights * factor, beta - mean * factor


SECOND = "(trained_on=[], x=[[2.0, -1.0], [0.0, 4.0], [7.0, 0.0]], training=False"
FIRST = "(trained_on=[], x=[[1.0, 10.0], [3.0, 30.0], [8.0, 20.0]], training=True, gamma=[1.0, "

ROWS = {
    mlp.check_gain: (
        [gain_by_sampling, gain_by_summing],
        {
            gain_of_uniform_numbers: "(tanh)",
            gain_without_the_root: "(tanh)",
            gain_upside_down: "(tanh)",
            gain_by_the_standard_deviation: "(relu)",
            gain_of_positive_numbers: "(relu)",
            gain_of_at_least_one: "(double)",
        },
    ),
    mlp.check_batch_norm: (
        [Norm, NormOfPyTorch],
        {
            NormUnbiased: FIRST,
            NormOfFixedStatistics: FIRST,
            NormThatKeepsTheGraph: "eps=1e-05) raised ValueError",
            NormThatKeepsTheGraphOfTheVariance: "eps=1e-05) raised ValueError",
            NormThatStartsAtZero: FIRST,
            NormThatIsNotTrained: "eps=1e-05) raised ValueError",
            NormOfRows: FIRST,
            NormEpsOutside: "[0.01, 1.02]]",
            NormWithoutEps: "[0.01, 1.02]]",
            NormOfOneMomentum: "momentum=0.25",
            NormOfOneEps: "eps=0.01",
            NormWithoutGain: "training=True, gamma=[2.0, -1.0], beta=[0.5, 3.0]",
            NormOfFixedGain: "training=True, gamma=[2.0, -1.0], beta=[0.5, 3.0]",
            NormWithoutShift: "training=True, gamma=[2.0, -1.0], beta=[0.5, 3.0]",
            NormAlwaysTraining: SECOND,
            NormThatBeginsWithZeros: SECOND,
            NormThatForgets: "[8.0, 20.0]]], x=[[2.0, 3.0]], training=False",
            NormRemembersBiased: "[8.0, 20.0]]], x=[[2.0, 3.0]], training=False",
            NormSwapped: "[8.0, 20.0]]], x=[[2.0, 3.0]], training=False",
            NormThatRemembersInEvaluation: SECOND,
            NormThatRemembersThreeHalves: "momentum=1.0, eps=0.5",
            NormWithoutEpsInEvaluation: "momentum=1.0, eps=0.5",
            NormOfTheFirstBatchOnly: "training=False, gamma=[2.0, -1.0]",
        },
    ),
    mlp.check_fold: (
        [fold_by_columns, fold_by_a_diagonal],
        {
            fold_by_rows: "[0.0, 0.0], [4.0, 0.25], [1.0, 1.0], [0.0, 0.0]",
            fold_by_the_variance: "[0.0, 0.0], [4.0, 0.25], [1.0, 1.0], [0.0, 0.0]",
            fold_without_the_mean: "[3.0, -1.0], [1.0, 1.0], [1.0, 1.0], [0.0, 0.0]",
            fold_with_a_plus: "[3.0, -1.0], [1.0, 1.0], [1.0, 1.0], [0.0, 0.0]",
            fold_without_the_gain: "[2.0, 0.5], [1.0, 1.0]",
            fold_mean_unscaled: "[2.0, 0.5], [1.0, 1.0]",
            fold_without_the_shift: "[2.0, 0.5], [1.0, 1.0]",
            fold_with_one_eps: "[1.0, 1.0], [1.0, 1.0], [0.0, 0.0], 0.25",
            fold_mean_by_gamma_alone: "[3.0, -1.0], [4.0, 0.25], [1.0, 1.0], [0.0, 0.0]",
            fold_mean_by_the_variance: "[3.0, -1.0], [4.0, 0.25], [1.0, 1.0], [0.0, 0.0]",
            fold_shift_divided: "[4.0, 0.25], [1.0, 1.0], [2.0, 2.0]",
            fold_without_eps: "[1e-05",
        },
    ),
}

# %% [markdown]
# # 9 · What is a likelihood?
#
# A model of images says how probable each image is. A well-known repository reports two losses for the same handwritten digits (MNIST, 784 pixels, black or white) and nearly the same network: 94.5 nats per image, and 79.3. The second would be level with PixelRNN, a far deeper network. But it isn't a likelihood. How can you tell?
#
# You build models that draw digits pixel by pixel, and check their likelihood.
#
# **Before**: lesson 1 (negative log-likelihood in nats), lesson 2 (a network and its training loop), lesson 4 (convolution, gates). Side lesson 2b explains the optimiser and its `decay`.
#
# **Runs in** {runs_in}. **Study time** {study}.
#
# **Sources**: Karpathy's pytorch-made (2018; the opening), Frey (1998), Uria et al. (2014), Germain et al. (2015), van den Oord et al. (2016a, PixelRNN; 2016b), Besag (1975).

# %% tags=["setup", "machine"]
import matplotlib.pyplot as plt
import numpy as np
import torch
from torch import nn
from torch.nn import functional as F
from torch.testing import assert_close

from coursekit import data
from coursekit.evaluate.images import all_images, image_nll, mixture_nll, table_of_nll
from coursekit.exercises import answer_or
from coursekit.exercises import made as exercises
from coursekit.notebook import claim, compare_guess, figure
from coursekit.notebook import keep_sample, pictures, scoreboard, setup

device = setup("09_autoregressive_models", seed=42)

# %% [markdown]
# ## 9.1 Too good to be true
#
# The data are 1,797 handwritten digits of 8 × 8 pixels, each pixel ink (grey above 7 of 16) or paper: 1,300 for training, 200 for every choice we make (the *validation images*), and 297 held out until the end.

# %% tags=["figure"]
digits = torch.tensor(data.digits()).float()
digits = digits[torch.randperm(1797, generator=torch.Generator().manual_seed(0))]
train, val, test = digits.split([1300, 200, 297])
ax = pictures.draw_images(plt.subplots(figsize=(8, 1.4))[1], train[:40], columns=20)
ax.set_title("Forty of the digits to learn from: 64 pixels each, ink or paper")
figure("digits", alt="Two rows of twenty small handwritten digits in black and white pixels.")

# %% [markdown]
# An **autoregressive** model predicts each part from the parts before it, as your models of names did letter by letter, and a GPT does. Here the parts are pixels, and any order of them will do. The loss of an image is a sum of 64 cross-entropies, one per pixel.
#
# The library's `MADE` is such a model: a network from an image to 64 logits. You build it in section 9.4.
#
# Training is the loop of lesson 2 with a better optimiser and **dropout**: in training, each hidden unit is 0 with probability one half, anew for each image.


# %%
from coursekit.models.made import FVSBN, MADE, MADEConfig, made_masks
from coursekit.training.fit import fit
from coursekit.training.optimiser import adamw, warm_up_cosine


def nats(logits, images):  # of each image
    return F.binary_cross_entropy_with_logits(logits, images, reduction="none").sum(1)


def train_on(images, model, lr=0.02, decay=0.3, steps=600, batch=100, seed=0):
    g = torch.Generator().manual_seed(seed)
    rows = (torch.randint(len(images), (batch,), generator=g) for _ in range(steps))
    batches = ((images[row], images[row]) for row in rows)
    options = {"schedule": warm_up_cosine(steps), "loss": lambda z, x: nats(z, x).mean()}
    fit(model, adamw(model, lr, weight_decay=decay), batches, steps=steps, **options)
    return model.eval().requires_grad_(False)


# %% [markdown]
# Train four of them, each with its own random order of the pixels. Then do what the repository does for its better result: for each pixel, average the four logits.


# %%
def train_orders(images, count, steps=600, **sizes):
    models = []
    for seed in range(count):
        torch.manual_seed(seed)
        order = torch.randperm(images.shape[1])
        model = MADE(MADEConfig(n_pixels=images.shape[1], **sizes), order)
        models.append(train_on(images, model, steps=steps, seed=seed))
    return models


def average_logits(models, images):
    return torch.stack([model(images) for model in models]).mean(0)


four = train_orders(train, 4, d_hidden=1000, dropout=0.5)
each = torch.stack([nats(model(val), val) for model in four])
averaged = nats(average_logits(four, val), val)
claim(one_order=each.mean(), averaged_logits=averaged.mean())

# %% [markdown]
# From the same four networks, nearly three nats less: each digit sixteen times as probable on average, for free.
#
# A model's **likelihood** is the probability that it gives to the data, *and its probabilities of all possible images sum to 1*. So here is the decisive test. With 64 pixels there are too many to try, so cut 5 × 2 out of the middle: $2^{10} = 1{,}024$ possible images. Train four small models on those.
#
# **Predict.** Each model gives the 1,024 images probabilities that sum to 1. What is the sum when the logits are averaged?

# %% tags=["predict"]
guess = None  # such as 1

# %%
small = digits.view(-1, 8, 8)[:, 2:7, 2:4].flatten(1)[:1300]
tiny = train_orders(small, 4, steps=300, d_hidden=100)
every = all_images(10, torch.float32)
one_each = torch.stack([(-nats(model(every), every)).exp() for model in tiny])
of_average = (-nats(average_logits(tiny, every), every)).exp()
claim(sum_of_one_model=one_each[0].sum(), sum_of_averaged_logits=of_average.sum())
compare_guess(guess, of_average.sum().item())

# %% tags=["figure", "folded"]
for p, color in zip([*one_each, of_average], ["C0"] * 4 + ["C1"], strict=True):
    plt.plot(range(1, 1025), p.sort(descending=True).values.cumsum(0), color=color)
plt.text(12, 1.1, "logits averaged over the four", color="C1", ha="right")
plt.text(900, 0.5, "each of the four models", color="C0", ha="right")
plt.gca().set(xscale="log", xlim=(1, 1024), xlabel="images added up, the most probable first")
plt.gca().set(ylabel="sum of their “probabilities”", ylim=(0, None))
plt.title("Averaged logits hand out more probability than there is")
figure("sums", alt="Four curves rise to 1 and stay; that of averaged logits rises above 1.")

# %% [markdown]
# How can that be? Take images of two pixels that are always equal. One order predicts the second from the first, the other the first from the second. Average the logits, and *each* pixel is read off the other. If the networks are sure, both images that occur, 00 and 11, get a probability of nearly 1. The sum is nearly 2.
#
# So the pixels were leaked, not predicted. The repository's 94.5 is one order; its 79.3 averages the logits of ten orders of one network, `xbhat` in [run.py](https://github.com/karpathy/pytorch-made/blob/master/run.py).
#
# <details><summary>On which images?</summary>Both are for the validation images of MNIST made binary, 50,000 images to train on and 10,000 each for validation and test. PixelRNN's 79.2 is for the test images.</details>
#
# There is an honest average: that of the probabilities *of whole images*. Four sums of 1 average to 1.

# %% [markdown] tags=["exercise"]
# > **Exercise 9.1 (warm-up, 5 minutes).** Write `average_models(nlls)`. `nlls` has a row for each of $M$ models and a column for each image: the negative log of its probability, in nats. Return the negative log of the *average probability* of each image. Images of 900 nats must not come out as infinite.
# >
# > <details><summary>Hint</summary>Negate, exponentiate, average over the rows, take the logarithm, negate. <code>torch.logsumexp</code> does the middle three for a sum, without underflow; a sum is M times an average.</details>


# %% tags=["stub"]
def average_models(nlls): ...  # (M, N) -> (N,)


# %% tags=["check"]
exercises.check_average_models(average_models)


# %% tags=["solution"]
def average_models(nlls):
    return np.log(len(nlls)) - torch.logsumexp(-nlls, 0)


# %%
mixture = answer_or(average_models, mixture_nll)
claim(honest_average=mixture(each).mean(), sum_of_honest_average=one_each.mean(0).sum())

raster_tiny = MADEConfig(n_pixels=10, d_hidden=100)
same = [train_on(small, MADE(raster_tiny), steps=300, seed=seed) for seed in range(4)]
claim(sum_in_one_order=(-nats(average_logits(same, every), every)).exp().sum())

# %% [markdown]
# So the honest gain of four networks is 0.28 nats. A **mixture** like this is a likelihood if each of its parts is one. (Uria et al. 2014 mixed orders in this way.)
#
# The last line shows the fault. Four networks that share *one* order may average their logits: the sum stays 1. So that is another honest average. It was the mix of *orders* that leaked.
#
# ## 9.2 One pixel after the other
#
# Why does *one* order sum to 1? Because of the **chain rule of probability**. For three pixels,
#
# $$p(a, b, c) = p(a)\; p(b \mid a)\; p(c \mid a, b)$$
#
# and so in any other order. Each factor sums to 1 over its own pixel, so the product sums to 1 over all images.
#
# Then why not simply count? A table that gives each image its frequency has the smallest training loss of all models: the smallest mean negative log-likelihood (NLL). Let $p$ be the table, and $q$ the probabilities of a model. The **Kullback–Leibler divergence** (KL) says how far $q$ is from $p$:
#
# $$\mathrm{KL}(p \,\|\, q) = \sum_x p(x) \log \frac{p(x)}{q(x)} = \text{mean NLL of } q - \text{entropy of } p$$
#
# It is never negative, and 0 only if $q = p$. The **entropy**, $-\sum_x p(x) \log p(x)$, is a fixed number. So the smallest NLL is that of the table. On the small images everything can be computed:
#
# <details><summary>Why never negative?</summary>Because log t ≤ t − 1. With t = q / p, −KL is at most the sum of q less that of p: 1 − 1 = 0. It needs q to sum to 1.</details>


# %% tags=["figure"]
numbers = (small @ (2.0 ** torch.arange(9, -1, -1))).long()  # each small image, below 1,024
p = torch.bincount(numbers, minlength=1024).double() / len(small)
of_models = {"the table": p, "averaged logits": of_average.double()}
of_models |= {"one model": one_each[0].double(), "four, mixed": one_each.mean(0).double()}
kls = {name: (p * (p / q).log()).nansum().item() for name, q in of_models.items()}
claim(kl_of_one_model=kls["one model"], kl_of_averaged_logits=kls["averaged logits"])

ax = plt.subplots(figsize=(8, 2.4))[1]
bars = ax.barh([*kls], kls.values(), color=["C7", "C1", "C0", "C0"])
ax.bar_label(bars, [f"{value:+.3f}" for value in kls.values()], padding=4)
entropy = -torch.special.xlogy(p, p).sum()
ax.set(xlim=(-0.3, 0.4), xlabel=f"KL, nats: mean NLL less the entropy, {entropy:.3f}")
ax.set_title("Below 0, where no likelihood can be: averaged logits")
figure("kl", alt="Bars: two models above 0, the table at 0, averaged logits far below.")

# %% [markdown]
# The averaged logits' KL is *negative*: on the very images that were counted, their loss is below the entropy, where no likelihood can be. (On new images the entropy is unknown, and so a loss alone proves nothing.)
#
# A model that rules out an image that occurs has an infinite loss.
#
# **Predict.** Take the table of the training images, with all 64 pixels. For how many of the 200 validation images is its loss infinite?

# %% tags=["predict"]
guess = None  # 0 to 200

# %%
ruled_out = torch.cdist(val, train, p=1).min(1).values > 0
claim(images_ruled_out_by_the_table=ruled_out.sum())
compare_guess(guess, ruled_out.sum().item(), unit="images")

# %% [markdown]
# So what counts is the loss on images that were held out. The models from here on keep the chain rule, and *compute* each factor from the earlier pixels.
#
# ## 9.3 A logistic regression for each pixel
#
# The simplest factor reads nothing. Each pixel has its own probability: how often it had ink in training.
#
# The next model reads all earlier pixels through a logistic regression: $p(x_d = 1 \mid x_{<d}) = \sigma(b_d + \sum_{i<d} w_{di}\,x_i)$, where $\sigma$ is the logistic function. This is a **fully visible sigmoid belief network** (FVSBN; Frey 1998). The weights of all 64 regressions form one triangular matrix.


# %%
ink = (train.sum(0) + 0.5) / (len(train) + 1)  # as if one more image had half its ink: never 0 or 1
logits = (ink / (1 - ink)).log()


class OurFVSBN(nn.Module):
    def __init__(self, n=64):
        super().__init__()
        self.W, self.b = nn.Parameter(torch.zeros(n, n)), nn.Parameter(torch.zeros(n))

    def forward(self, x):
        return F.linear(x, self.W.tril(-1), self.b)  # tril(-1): nothing from d on


raster = torch.arange(64)
fvsbn = train_on(train, OurFVSBN(), lr=0.03, decay=0.1, steps=1500)
print(f"independent pixels: {nats(logits.expand_as(val), val).mean():.2f} nats")
print(f"FVSBN, {64 * 65 // 2:,} parameters: {nats(fvsbn(val), val).mean():.2f} nats")

# %% [markdown]
# Seven nats better. What does the FVSBN *draw*? Take the pixels in order, and draw each with the probability that the model gives it after those drawn already: **ancestral sampling**. If all is right, each pixel has ink about as often as in the training images.


# %%
def draw(model, n, order=range(64), seed=0):
    g, x = torch.Generator().manual_seed(seed), torch.zeros(n, len(order))
    for pixel in order:
        x[:, pixel] = torch.bernoulli(model(x)[:, pixel].sigmoid(), generator=g)
    return x


g = torch.Generator().manual_seed(0)
drawn, alone = draw(fvsbn, 2000), torch.bernoulli(ink.expand(400, 64), generator=g)
claim(largest_error_of_a_pixels_mean=(drawn.mean(0) - train.mean(0)).abs().max())

# %% tags=["figure", "folded"]
ax = plt.subplots(figsize=(8, 1.7))[1]
pictures.draw_images(ax, torch.cat([alone[:16], drawn[:16]]), columns=16)
ax.set_yticks([4.5, 13.5], ["independent", "FVSBN"])
ax.set_title("Where pixels read earlier ones, strokes appear")
figure("strokes", alt="Speckled images by independent pixels; the FVSBN's have rough strokes.")

# %% [markdown]
# Strokes, but hardly a digit. A logistic regression can't say "ink if *exactly one* of two neighbours has ink". A network can. Give each pixel its own, and 64 networks learn the same strokes 64 times. They should share what they compute.
#
# ## 9.4 One network, some connections cut
#
# **MADE** (Germain et al. 2015) is *one* network for all pixels. In an ordinary network each output would read its own pixel. So MADE multiplies each weight matrix by a **mask** of zeros and ones, which cuts every path from a pixel to itself or to an earlier one's output.
#
# The rule: count the pixels from 1, in their order, and give each hidden unit a number $m$, from 1 to $D - 1$. $D$ is the number of pixels.
#
# - A unit with number $m$ reads pixels 1 … $m$.
# - Pixel $d$ reads the units whose number is *below* $d$.
#
# So whatever reaches pixel $d$ came from pixels below $d$. For five pixels and eight units:

# %% tags=["figure", "folded"]
order, m = torch.tensor([2, 0, 3, 1, 4]), [1, 2, 3, 4, 1, 2, 3, 4]
hidden, output = (mask.float() for mask in made_masks(order, [8]))
left, middle, right = plt.subplots(1, 3, figsize=(9, 4), width_ratios=[5, 8, 5])[1]
pictures.draw_numbers(left, hidden, rows=m).set(xlabel="reads pixel", ylabel="unit, by its m")
pictures.draw_numbers(middle, output, columns=m).set(xlabel="reads unit with m", ylabel="pixel")
paths = (output @ hidden)[order][:, order]
pictures.draw_numbers(right, paths, order.tolist(), order.tolist()).set_xlabel("paths, in order")
plt.suptitle("Order 2, 0, 3, 1, 4: sorted by it, all paths lead to later pixels")
figure("masks", alt="Two masks and their product, which is a triangle once sorted by order.")

# %% [markdown] tags=["exercise"]
# > **Exercise 9.2 (build, 25 minutes).** Write `our_masks(order, d_hidden)`. `order` is a tensor that lists the pixels, the first one first: `[2, 0, 1]` begins with pixel 2. The hidden units have the numbers 1, 2, …, $D-1$, 1, 2, … Return two tensors of zeros and ones (or booleans): the mask of the hidden layer (units × pixels) and that of the output (pixels × units).
# >
# > <details><summary>Hint 1</summary>You need each pixel's number in the order, which is the inverse of <code>order</code>: <code>order.argsort() + 1</code>.</details>
# > <details><summary>Hint 2</summary>Both masks are a comparison by broadcasting, such as <code>units[:, None] >= pixels</code>. One has ≥, the other >.</details>


# %% tags=["stub"]
def our_masks(order, d_hidden): ...  # (D,), h -> (h, D), (D, h)


# %% tags=["check"]
exercises.check_masks(our_masks)


# %% tags=["solution"]
def our_masks(order, d_hidden):
    pixels = order.argsort() + 1
    units = torch.arange(d_hidden) % (len(order) - 1) + 1
    return units[:, None] >= pixels, pixels[:, None] > units


# %% [markdown]
# The network puts your masks on its weights. `W3` leads from earlier pixels straight to the outputs, an FVSBN beside the network. With the same weights, the library's MADE must give the same losses.
#
# Beside it, train an ordinary **autoencoder**: 32 hidden units, no masks. It has to give back what it reads.

# %%
take_masks = answer_or(our_masks, lambda order, d_hidden: made_masks(order, [d_hidden]))


class OurMADE(nn.Module):
    def __init__(self, order, h=1000):
        super().__init__()
        n, masks = len(order), take_masks(order, h)
        self.register_buffer("to_hidden", masks[0].float())  # moves with .to(device)
        self.register_buffer("to_pixel", masks[1].float())
        self.register_buffer("earlier", (self.to_pixel @ self.to_hidden > 0).float())
        shapes = (h, n), (h,), (n, h), (n,), (n, n)
        self.weights = nn.ParameterList([torch.zeros(shape) for shape in shapes])
        nn.init.normal_(self.weights[0], std=(2 / n) ** 0.5)  # or all units would stay alike

    def forward(self, x):
        W1, b1, W2, b2, W3 = self.weights
        h = F.linear(x, W1 * self.to_hidden, b1).relu()
        h = F.dropout(h, 0.5, self.training)
        return F.linear(h, W2 * self.to_pixel, b2) + F.linear(x, W3 * self.earlier)


# %% tags=["nbval-ignore-output"]
torch.manual_seed(0)
made = train_on(train, OurMADE(raster))
library = MADE(MADEConfig(n_pixels=64, d_hidden=1000))
names = ("hidden.0.weight", "hidden.0.bias", "output.weight", "output.bias", "direct.weight")
library.load_state_dict(dict(zip(names, made.weights, strict=True)), strict=False)
assert_close(image_nll(library, val), nats(made(val), val), rtol=1e-4, atol=1e-4)

autoencoder = nn.Sequential(nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 64))
copied = nats(train_on(train, autoencoder, decay=0.0)(val), val)
print(f"MADE: {nats(made(val), val).mean():.2f} nats; autoencoder: {copied.mean():.2f}")

# %% [markdown]
# MADE beats the FVSBN by 1.6 nats. The autoencoder's loss is far lower. Is it a likelihood?
#
# Take the gradient of each logit with respect to each pixel, for both and for the averaged logits:


# %%
def mean_gradients(model, images):
    of_sum = torch.autograd.functional.jacobian(lambda x: model(x).sum(0), images)
    return of_sum.abs().mean(1)  # a row an output, a column an input


of_made, of_copier = mean_gradients(made, val), mean_gradients(autoencoder, val)
claim(made_sees_later=of_made.triu().max(), copier_sees_later=(of_copier.triu() > 0).sum() / 2080)
of_logits = mean_gradients(lambda x: average_logits(four, x), val)
claim(pairs_that_read_each_other=((of_logits > 0) & (of_logits.T > 0)).sum() / 2 / 2016)

# %% tags=["figure", "folded"]
panels = plt.subplots(1, 3, figsize=(9, 3.4), sharey=True)[1]
found = {"MADE": of_made, "averaged logits": of_logits, "autoencoder": of_copier}
shades = {"cmap": "viridis_r", "norm": "log", "vmin": 1e-3, "vmax": 10}
for ax, (name, size) in zip(panels, found.items(), strict=True):
    image = ax.imshow(size.where(size > 0, torch.nan), **shades)
    ax.set(title=name, xlabel="pixel that is read")
    ax.grid(visible=False)
panels[0].set_ylabel("pixel that is predicted")
plt.colorbar(image, ax=panels, label="mean |gradient|, log scale", shrink=0.7)
plt.suptitle("Only MADE's outputs have an order: the others read in cycles")
figure("jacobian", alt="MADE fills a triangle, averaged logits all but the diagonal, a copier all.")

# %% [markdown]
# White is exactly 0. (Pale columns: margins, hardly ever ink.) The autoencoder reads the pixel itself: its loss says how well it *copies*.
#
# The averaged logits are harder to catch. No output reads its own pixel: the diagonal is white. (The repository's own test asks for no more, and would pass them.) But nine pairs of pixels in ten read *each other*.
#
# What is their sum, over *all* images of 64 pixels, the **normalising constant**? It can be estimated: $\sum_x p(x) = \sum_x q(x)\,\frac{p(x)}{q(x)}$ is the mean of $p/q$ over images *drawn from* $q$ (**importance sampling**). Let $q$ be the mixture of the same four models: draw from each equally often. With ten pixels, the sum is known:


# %% tags=["nbval-ignore-output"]
def ratios(models, n=2000):  # p of the averaged logits / q of the mixture, at draws from q
    drawn = [draw(m, n, m.order.tolist(), seed) for seed, m in enumerate(models)]
    x = torch.cat(drawn)
    nll = mixture(torch.stack([nats(model(x), x) for model in models]))
    return (nll - nats(average_logits(models, x), x)).exp()


for_ten, for_all = ratios(tiny), ratios(four)
claim(sum_of_ten_pixels_by_draws=for_ten.mean(), sum_of_64_pixels_by_draws=for_all.mean())
worth = for_all.sum() ** 2 / (for_all**2).sum()  # as many draws of equal weight
print(f"± {for_all.std() / 8000**0.5:.2f}, effective sample size {worth:,.0f} of 8,000")
claim(averaged_logits_divided_by_their_sum=averaged.mean() + for_all.mean().log())

# %% [markdown]
# With ten pixels the draws find 1.6 again; with 64, a sum of nearly 12. Divide by it, and the 13.66 nats of section 9.1 become 16.13, level with the mixture's 16.15. The rest was leakage. And nobody can draw from such a model pixel by pixel: none of the pixels comes first.
#
# <details><summary>How far can such an estimate be trusted?</summary>If $q$ hardly ever draws an image that $p$ favours, the estimate is too low, and its ± doesn't show it. A warning would be a few draws that outweigh all others. Here the effective sample size is some 5,300 of 8,000, and each of the four models by itself gives 11.6 to 12.3. Two more sets of four orders: sums of 10.3 and 11.3, so 16.30 and 16.21 nats, where the mixtures have 16.25 and 16.18.</details>

# %% [markdown]
# So ask: **is there one order in which each output reads earlier pixels only?** If so, the sum is 1. (That is enough, not necessary: a mixture of orders sums to 1, too.)
#
# ## 9.5 The same weights at every pixel
#
# In MADE each pixel has weights of its own, so an edge is learnt anew at every place. A convolution slides one small window of weights over the whole image. To predict the pixel in its middle, it may read only those before it, row by row: a **masked convolution** (van den Oord et al. 2016a).
#
# The first layer leaves out the middle itself (mask A). Later layers may keep it (mask B), for by then the middle holds only what came before.
#
# **Predict.** On 9 × 9 pixels, look at the pixel in row 5, column 4, counted from 0: 49 pixels come before it. Stack ten layers. How many of the 49 does it read?

# %% tags=["predict"]
guess = None  # 0 to 49

# %%
from coursekit.layers.masked import TwoStackConv2d, count_parameters, raster_mask, two_stacks


def masked_stack(x, n_layer):  # all weights 1: who reaches whom?
    for layer in range(n_layer):
        mask = raster_mask(3, own=layer > 0).float()  # A, then B
        x = F.conv2d(x, mask.view(1, 1, 3, 3), padding=1)
    return x


def reached(stack, n_layer, row, column):
    x = torch.zeros(1, 1, 9, 9, requires_grad=True)
    return torch.autograd.grad(stack(x, n_layer)[0, 0, row, column], x)[0][0, 0] > 0


seen = reached(masked_stack, 10, 5, 4)
claim(pixels_in_the_blind_spot=49 - seen.sum())
compare_guess(guess, seen.sum().item(), unit="pixels")

# %% [markdown]
# Six are never read, however many layers there are: the **blind spot**. Each layer goes one row up and at most *one column to the right*.
#
# The remedy (van den Oord et al. 2016b) keeps two sets of feature maps, each as large as the image. The **vertical stack** `above` reads whole rows, up to and including its own. The **horizontal stack** `left` reads its own row from the left. It may not use `above` at its own row, which has seen the pixel itself and those to its right, so it takes `above` from *one row higher*. For the same reason its image enters shifted one pixel to the right: at each place lies the pixel *before* it.
#
# Try the controls below the picture. With ten layers, from which pixel is the blind spot largest?
#
# <details><summary>What we see</summary>From the left edge of the last two rows: column 0 of rows 7 and 8, 28 pixels each.</details>


# %%
def stacks_of_ones(x, n_layer):
    above, left = x, F.pad(x, (1, -1))  # shifted one to the right
    weights = torch.ones(1, 1, 2, 3), torch.ones(1, 1, 1, 2), torch.ones(1, 1)
    for _ in range(n_layer):
        above, left = two_stacks(above, left, *weights)
    return above, left


closed = reached(lambda *x: stacks_of_ones(*x)[1], 10, 5, 4)

# %% tags=["figure", "folded"]
panels = plt.subplots(1, 2, figsize=(7, 3.8))[1]
spots = {"one stack": seen, "two stacks": closed}
for ax, (title, found) in zip(panels, spots.items(), strict=True):
    pictures.draw_reached(ax, found, 5, 4).set_title(f"{title}: {found.sum()} of 49", size=11)
plt.suptitle("Of 49 earlier pixels one stack misses six (×), two stacks none")
figure("blind-spot", alt="One stack misses six pixels at the upper right; two stacks miss none.")

# %% tags=["live"]
from coursekit.notebook.widgets import play


def explore(row, column, layers):
    panels = plt.subplots(1, 2, figsize=(7, 3.4))[1]
    for ax, stack in zip(panels, (masked_stack, lambda *x: stacks_of_ones(*x)[1]), strict=True):
        pictures.draw_reached(ax, reached(stack, layers, row, column), row, column)


play(explore, row=range(9), column=range(9), layers=range(1, 11))

# %% [markdown] tags=["exercise"]
# > **Exercise 9.3 (build, 30 minutes).** Write one layer, `our_stacks(above, left, w_above, w_left, w_link)`; all images are (batch, channels, rows, columns).
# >
# > - new `above`: a convolution with `w_above`, of `r` rows and `k` columns (2 and 3, say). Its last row of weights lies on the pixel's own row, its middle column on the pixel's own column.
# > - new `left`: a convolution with `w_left`, of one row, whose last weight lies on the place itself (where the shift has put the pixel before it); plus, at each pixel, `w_link` (channels out × channels in) times the *new* `above` of the row before.
# >
# > Beyond the edges there are zeros. Return both.
# >
# > <details><summary>Hint 1</summary><code>F.pad(x, (left, right, top, bottom))</code> adds zeros, then <code>F.conv2d</code> without padding. For <code>w_above</code> pad k // 2 on both sides and r − 1 on top.</details>
# > <details><summary>Hint 2</summary>One row down: pad one row on top and drop the last. A matrix at each pixel is a 1 × 1 convolution: <code>F.conv2d(x, w_link[:, :, None, None])</code>.</details>


# %% tags=["stub"]
def our_stacks(above, left, w_above, w_left, w_link): ...  # -> above, left


# %% tags=["check"]
exercises.check_stacks(our_stacks)


# %% tags=["solution"]
def our_stacks(above, left, w_above, w_left, w_link):
    rows, columns = w_above.shape[-2:]
    above = F.conv2d(F.pad(above, (columns // 2, columns // 2, rows - 1, 0)), w_above)
    left = F.conv2d(F.pad(left, (w_left.shape[-1] - 1, 0, 0, 0)), w_left)
    row_before = F.pad(above, (0, 0, 1, 0))[:, :, :-1]
    return above, left + F.conv2d(row_before, w_link[:, :, None, None])


# %% [markdown]
# Your layer is the library's `TwoStackConv2d` without its bias. A [`PixelCNN`](../coursekit/models/pixel_cnn.py) stacks three such layers, five columns wide, and is told each pixel's row and column. (Published ones are deeper, and have gates. With three layers, opposite margins never see each other.) Its rival has a single stack, but one more layer.
#
# Windows of five columns see two to the right for each row up. So in made-up images, let each pixel copy the one *three* to the right in the row above; the rest is chance. Then train both on the digits, three seeds each.


# %%
from coursekit.models.pixel_cnn import BlindPixelCNN, PixelCNN, PixelCNNConfig

take_stacks = answer_or(our_stacks, two_stacks)
layer, x = TwoStackConv2d(4, kernel=5), torch.randn(2, 4, 8, 8)
assert_close(layer(x, x), take_stacks(x, x, layer.w_above, layer.w_left, layer.w_link))


def seeded(build, images=train, n=3, **options):
    for seed in range(n):
        torch.manual_seed(seed)
        yield train_on(images, build(), seed=seed, **options)


def train_both(images, n, **options):
    deeper, config = (PixelCNNConfig(kernel=5, n_layer=k, dropout=0.2) for k in (4, 3))
    one = seeded(lambda: BlindPixelCNN(deeper), images, n, batch=50, **options)
    two = seeded(lambda: PixelCNN(config), images, n, batch=50, **options)
    return list(one), list(two)


# %%
made_up = torch.randint(2, (1800, 8, 8), generator=torch.Generator().manual_seed(0)).float()
for row in range(1, 8):
    made_up[:, row, :5] = made_up[:, row - 1, 3:]
copies, new_copies = made_up.flatten(1).split([1300, 500])

losses = []  # of each pixel
for models in train_both(copies, 1, lr=0.01, steps=300):
    z = models[0](new_copies)
    loss = F.binary_cross_entropy_with_logits(z, new_copies, reduction="none")
    losses.append(loss.mean(0).view(8, 8))
at_copies = [loss[1:, :5].mean() for loss in losses]
claim(one_stack_at_copies=at_copies[0], two_stacks_at_copies=at_copies[1])

blind, cnn = train_both(train, 3, lr=0.03)

# %% tags=["figure", "folded"]
panels = plt.subplots(1, 3, figsize=(9, 3.3), sharey=True)[1]
panels[0].imshow(new_copies[0].view(8, 8), cmap="gray_r")
panels[0].set_title("an image, and two copies in it", size=11)
arrow = {"arrowstyle": "->", "color": "C1", "lw": 3}
for row, column in ((2, 0), (4, 3)):
    panels[0].annotate("", (column, row), (column + 3, row - 1), arrowprops=arrow)
named = zip(("one stack", "two stacks"), losses, at_copies, strict=True)
for ax, (name, loss, at) in zip(panels[1:], named, strict=True):
    image = ax.imshow(loss, cmap="viridis_r", vmin=0, vmax=np.log(2))
    ax.set_title(f"{name}: {at:.3f} at copies", size=11)
for ax in panels:
    ax.set(xticks=[], yticks=[])
    ax.grid(visible=False)
plt.colorbar(image, ax=panels, label="a pixel's loss, nats", shrink=0.7)
plt.suptitle("Copied from the blind spot: one stack can only guess, two stacks know")
figure("copies", alt="A random image; one stack has ln 2 everywhere, two have 0 at copies.")

# %% [markdown]
# Here the blind spot costs everything. However deep, one stack of windows five columns wide can't beat a coin, $\ln 2 = 0.693$; two stacks have nearly 0.
#
# On the digits, section 9.6 finds a smaller gain.
#
# ## 9.6 What mixing gains
#
# Four MADEs of four orders gained 0.28 nats by mixing. *Why* does a mixture gain? The logarithm of a mean is at least the mean of the logarithms. So a mixture is never worse than its networks are on average, and what it gains measures how far they disagree. What makes them disagree? Mix networks that differ in their seed, in their order, in their kind.
#
# **Predict.** Four orders gain 0.28 nats. What do four networks of *one* random order gain, which differ in their seeds alone?

# %% tags=["predict"]
guess = None  # nats

# %%
kinds = {"FVSBN, seeds": list(seeded(lambda: FVSBN(64), lr=0.03, decay=0.1, steps=1500))}
kinds |= {"one stack, seeds": blind, "two stacks, seeds": cnn}
kinds["MADE in one order, seeds"] = list(seeded(lambda: MADE(four[0].config, four[0].order), n=4))
kinds |= {"MADE, four orders": four, "four orders and two stacks": four + cnn}


def score(models, images):  # of each network, of each image
    return torch.stack([nats(model(images), images) for model in models])


on_val = {name: score(models, val) for name, models in kinds.items()}
gains = {name: (found.mean(0) - mixture(found)).mean() for name, found in on_val.items()}
claim(mixing_seeds_gains=gains["MADE in one order, seeds"])
claim(mixing_orders_gains=gains["MADE, four orders"])
compare_guess(guess, gains["MADE in one order, seeds"].item(), unit="nats")
chosen = min(on_val, key=lambda name: mixture(on_val[name]).mean())
print(f"best on the validation images: {chosen}")

# %% [markdown]
# So now the test images. Your run reads them once; we read them several times while writing this lesson, and chose in between. So don't trust a tenth between two kinds of model.
#
# Each kind has its own learning rate, chosen on validation. (*Live* parameters are not cut by a mask, and added up over the networks.) After ± stands the standard error of the paired difference, over the images.
#
# <details><summary>What we tried</summary>All but the FVSBN have 600 steps, MADE of 100 images, the convolutions of 50; the FVSBN 1,500 of 100. Losses on validation, means of two seeds, by learning rate. FVSBN: 18.41 (0.01), 18.34 (0.03), 18.35 (0.1). One stack: 17.03 (0.02), 16.90 (0.03), 16.93 (0.04), 17.07 (0.08). Two stacks: 16.95 (0.015), 16.85 (0.03), 17.05 (0.05). MADE row by row: 16.87 (0.01), 16.67 (0.02), 16.80 (0.04); in a random order 16.55, 16.42, 16.48. With 1,200 steps the convolutions get worse (17.42 for two stacks, 17.21 for one), and with 400, too (17.02 and 17.27). MADE row by row would fall to 16.53; we stop all MADEs at 600 to save your time, so they are ahead by a little less than they could be.</details>


# %% tags=["nbval-ignore-output"]
final, learnt = ({name: score(m, x) for name, m in kinds.items()} for x in (test, train))
print(f"{'losses: each by itself':28}   live  train   test")
for name, found in final.items():
    live = sum(count_parameters(model)[1] for model in kinds[name])  # all networks
    print(f"{name:28}{live:7,}  {learnt[name].mean():.2f}  {found.mean():.2f}")
mixed = {name: mixture(found) for name, found in final.items()}
print("mixed", table_of_nll({name: found[None] for name, found in mixed.items()}), sep="\n")

# %%
claim(digits_independent_nll=nats(logits.expand_as(test), test).mean())
claim(digits_fvsbn_nll=final["FVSBN, seeds"].mean())
claim(
    digits_made_nll=final["MADE, four orders"].mean(), shared_parameters=count_parameters(cnn[0])[0]
)
ahead = (mixed["MADE, four orders"] - mixed[chosen]).mean()
claim(digits_best_nll=mixed[chosen].mean(), two_kinds_ahead_of_four_orders=ahead)
gain = {name: (found.mean(0) - mixed[name]).mean() for name, found in final.items()}
claim(orders_gain_more_by=gain["MADE, four orders"] - gain["MADE in one order, seeds"])

# %% tags=["figure", "folded"]
ax = plt.subplots(figsize=(8, 3.6))[1]
for y, name in enumerate(list(final)[1:]):
    single, together = final[name].mean(), mixed[name].mean()
    ax.annotate("", (together, y), (single, y), arrowprops=arrow | {"color": "C0"})
    ax.plot(single, y, "o", color="C7")
    ax.text(together - 0.02, y, f"{together:.2f}", ha="right", va="center", color="C0")
ax.set_yticks(range(len(final) - 1), list(final)[1:])
ax.set(
    xlim=(15.8, 17), ylim=(4.6, -0.6), xlabel="nats per test image: from each alone (●) to mixed"
)
ax.set_title("MADEs and convolutions, mixed, are the best we have")
figure("mixing", alt="An arrow for each kind, from its networks alone to their mixture.")

# %% [markdown]
# On the test images four seeds of one order gain 0.08 nats, four orders 0.31. Convolutions gain 0.48 by their seeds alone. Two *kinds*, mixed, gain 0.69, and that mixture, our choice on validation, is 0.31 ahead of the four MADEs.
#
# So mix networks that differ, but are about equally good: add three FVSBNs to it, and it falls back to 16.21. Nor is it the number of networks: twelve MADEs in twelve orders reach 16.21, too.
#
# As for the blind spot: two stacks are 0.1 ahead of one, and 0.2 when mixed. And each knows its own images better: a MADE has 14.1 nats on its training images, and 16.6 on others.
#
# <details><summary>Two more questions</summary>*Why are the mixtures of seeds and of orders so close, 16.38 and 16.29, if their gains differ so much?* This one order happens to be the best of the four alone. *May networks of one order be averaged otherwise?* The three networks of two stacks share one order. So one may average the probabilities of each pixel instead: 16.20 on the test images, against 16.29 for the mixture. For the four seeds of MADE in one order both give the same. Three sets of four orders, each mixed with the same three networks of two stacks: 15.98, 15.98 and 15.99.</details>
#
# What do they draw? Below each sample is the training image that differs in the fewest pixels. Last come real test images, as a yardstick.


# %%
samples = {"independent pixels": alone, "FVSBN": drawn[:400]}
samples["MADE"] = draw(four[0], 400, four[0].order.tolist(), seed=2)
of_mixture = [draw(m, 100, m.order.tolist(), seed) for seed, m in enumerate(four, 3)]
of_mixture += [draw(m, 100, seed=seed) for seed, m in enumerate(cnn, 7)]
samples |= {"the mixture": torch.cat(of_mixture), "test images": test}
nearest = {name: torch.cdist(images, train, p=1).min(1) for name, images in samples.items()}
copied = {name: (found.values == 0).float().mean() for name, found in nearest.items()}
claim(share_of_copies=copied["the mixture"], copies_in_the_test=copied["test images"])
away = [f"{found.values.mean():.1f}" for found in nearest.values()]
keep_sample(independent=away[:1], fvsbn=away[1:2], made=away[2:3], best=away[3:4])

# %% tags=["figure", "folded"]
panels = plt.subplots(3, 1, figsize=(8, 5))[1]
for ax, (name, images) in zip(panels, list(samples.items())[2:], strict=True):
    found, pick = nearest[name], torch.arange(12) * (len(images) // 12)
    pictures.draw_images(ax, torch.cat([images[pick], train[found.indices[pick]]]), columns=12)
    ax.set_yticks([4.5, 13.5], ["real" if images is test else "drawn", "nearest"])
    ax.set_title(f"{name}: on average {found.values.mean():.1f} pixels away", loc="left")
plt.suptitle("What each model draws, above its nearest training image")
figure("samples", alt="Three pairs of rows: digits by MADE, digits by the mixture, real digits.")

# %% [markdown]
# The samples lie a little farther off than real digits do (4.1 pixels against 3.2), and fewer are copies. The mixture doesn't copy, nor does it draw like a hand yet.

# %% [markdown] tags=["exercise"]
# > **Exercise 9.4 (investigate, 30 minutes).** Does the order of the pixels matter? After `torch.manual_seed(0)`, train `OurMADE(order)` for each of these, and fill in the loss on the validation images. Are the differences larger than between random orders, or seeds? Do more random orders in the mixture pay off?
#
# | row by row | column by column | from the middle outwards | the last row first | random, 1 | random, 2 |
# |---|---|---|---|---|---|
# | | | | | | |
#
# > <details><summary>Hint</summary>Column by column: <code>raster.view(8, 8).T.flatten()</code>. The last row first, each from the left: <code>raster.view(8, 8).flip(0).flatten()</code>. Outwards: sort the pixels by their distance from the middle (with <code>stable=True</code>). Random: <code>four[0].order</code> and <code>four[1].order</code>. More of them: <code>train_orders(train, 12, d_hidden=1000, dropout=0.5)</code>.</details>
# >
# > <details><summary>What we found</summary>Seed 0: 16.71, 16.84, 16.61, 16.46, and for the two random orders 16.40 and 16.42. Three more seeds row by row: 16.74, 16.75 and 16.70. Twelve random orders lie between 16.39 and 16.58. So the order matters more than the seed, and rows are not the best; but two random orders can differ by as much as one of them from rows. On the test images the differences shrink: 200 images are few to choose on. Do more orders pay off? A mixture of all twelve has 16.11, against 16.15 to 16.25 for four. Their averaged logits fall on, to 13.26, because each further order leaks more pixels.</details>

# %% [markdown]
# ## What you now have
#
# - A test of any “likelihood”: is the sum 1? One order in which each output reads earlier pixels only is enough.
# - A mixture: an honest way to use several models, which pays if they are about equally good and differ.
#
# **What still fails.** Drawing one pixel at a time is slow. And images have no order of their own. Series do: side lessons 9b and 9c.
#
# <details><summary>And other models of images?</summary>All models here give p(x) exactly, and so do flows. Variational autoencoders and diffusion models give a bound on it. Energy-based models give p(x) up to a constant, as averaged logits do. Adversarial networks only draw.</details>

# %% tags=["scoreboard"]
scoreboard("digits")

# %% [markdown]
# And if each output may read *all other* pixels? The sum of such losses is no likelihood, but Besag's (1975) *pseudo-likelihood*. What does a model learn that way? In lesson 10 attention loses its mask. Some *inputs* are hidden instead, or each output would copy its own.

# %% [markdown]
# # 0 · Start: how does a program learn from its mistakes?
#
# Below is a curve that should pass through eight temperatures and misses all of them. Twenty-five numbers determine its shape, all but one drawn at random. A program will look at the mistakes and move each number a little, three thousand times, until the curve fits. So there is one question: **which way should each number move?**
#
# **Afterwards you can** use PyTorch's tensors, say what a gradient is, and train a model in five lines; and you will have written `backward()`, the machine that finds gradients, in plain Python.
#
# **Before**: Python, and derivatives as they are taught in the first year. No PyTorch.
#
# **Runs in** {runs_in}. **Study time** {study}.
#
# **Sources**: the class that you will build follows Karpathy's micrograd (2020). Going backward through a graph is due to Linnainmaa (1970) and Werbos (1974); Rumelhart, Hinton and Williams (1986) showed what networks learn with it. PyTorch: Paszke and others (2019).

# %% tags=["setup", "machine"]
import math
import random

import matplotlib.pyplot as plt
import torch
from torch.nn import functional as F
from torch.testing import assert_close

from coursekit.exercises import answer_or
from coursekit.exercises import start as exercises
from coursekit.notebook import claim, compare_guess, figure, mark_guess, setup
from coursekit.notebook.graph import draw_graph
from coursekit.notebook.widgets import play

device = setup("00_start", seed=42)

# %% [markdown]
# Run the cells from top to bottom (Shift + Enter). Three things come up again and again:
#
# - **Guesses.** A cell with `guess = None` waits for you. Type a number, run on, and the next output shows it next to the measured value, which may be on the page already: guess before you scroll.
# - **Claims.** A line that begins with ✓ is a number that was just measured, followed in brackets by what it is or why it was to be expected. Change the code, and it may turn into ✗: that is the effect of your change.
# - **Exercises.** You write the code where `...` stands and run the check, which names the first case where your answer fails. The solution is folded away below it.
#
# Now the eight temperatures of a made-up day in June. And a curve, in plain Python: a sum of eight S-shaped pieces, each made by `math.tanh`, which climbs smoothly from −1 to 1.

# %%
clock = [0, 3, 6, 9, 12, 15, 18, 21]
measured = [14.2, 12.5, 13.1, 17.6, 22.4, 24.3, 21.0, 16.8]  # °C

chance = random.Random(57)  # another number is another start
weights = [chance.gauss(0, 1) for _ in range(8)]
biases = [chance.gauss(0, 1) for _ in range(8)]
output_weights = [chance.gauss(0, 1) for _ in range(8)]
lift = 0.0  # the bias of the output


def curve(hour):
    x = (hour - 12) / 6  # hours from noon, in units of six hours
    total = lift
    for k in range(8):
        total += output_weights[k] * math.tanh(weights[k] * x + biases[k])
    return total


squares = [(curve(hour) - temp) ** 2 for hour, temp in zip(clock, measured, strict=True)]
claim(first_miss=math.sqrt(sum(squares) / 8))

# %% tags=["figure", "folded"]
fine = [k / 4 for k in range(85)]  # 0, 0.25, … 21 hours
plt.figure(figsize=(5.6, 3.4))
plt.plot(clock, measured, "o", color="black")
plt.plot(fine, [curve(hour) for hour in fine], color="C3")
plt.vlines(clock, [curve(hour) for hour in clock], measured, "C3", "dotted", linewidth=0.8)
plt.text(2.2, 15.3, "measured")
plt.text(0.3, 1.2, "from random numbers", color="C3")
plt.title("Twenty-five numbers make a curve that misses every point")
plt.gca().set(xlabel="hour of the day", ylabel="temperature (°C)", xticks=range(0, 22, 3))
figure("random", alt="Eight temperatures between 12 and 24 °C; a random curve runs far below.")

# %% [markdown]
# It misses by almost 17 °C. (This is the root of the mean squared error, or RMSE, an average in which large errors count more.)
#
# ## 0.1 A tensor is numbers with a shape
#
# The loop in `curve` handles one hour and one piece at a time. PyTorch handles all at once, in a **tensor**: a block of numbers of one type, with a **shape** that says how many there are along each **axis**. Arithmetic works on all elements, without a loop.

# %%
torch.set_default_dtype(torch.float64)
hours, temps = torch.tensor(clock), torch.tensor(measured)
x = (hours - 12) / 6  # hours from noon, in units of six hours
print(temps.shape, temps.dtype)
print(temps - temps.mean())
print("warmest", temps.max().item())

# %% [markdown]
# The first line stores numbers to 16 digits, **float64**. PyTorch's usual float32 keeps 7; we want to compare results to twelve. `.item()` takes a single number out of its tensor.
#
# The same numbers can be arranged along two axes: a **matrix**, here with one row for the first half of the day and one for the second. Sums and means go along an axis, and **the axis that you name is the one that disappears**:

# %%
halves = temps.view(2, 4)
print(halves)
print("sum(0)", halves.sum(0))
print("sum(1)", halves.sum(1))
print("mean(1)", halves.mean(1), "shape", halves.mean(1).shape)

# %% [markdown]
# `sum(0)` adds the two rows: four numbers are left. `sum(1)` adds along each row: two are left, one for each half of the day.
#
# The S-shaped piece $\tanh(wx + b)$ is called a **neuron**; its output weight $v$ says how much of it goes into the sum. Such numbers, which training adjusts, are **parameters**: the **weight** $w$, the **bias** $b$ (if positive, it moves the S to the left), and $v$.

# %% tags=["figure", "folded"]
grid = torch.linspace(-3, 3, 121)
panels = plt.subplots(1, 3, figsize=(6.6, 2.9), sharey=True)[1]
for setting, *spots in [
    (-1.0, (-2.9, 0.6), (1.3, -0.2), (1.9, -0.8)),
    (0.5, (1.2, 0.2), (-1.3, 0.3), (1.8, 0.6)),
    (2.0, (0.1, 1.1), (-2.9, 0.3), (2.2, 1.5)),
]:
    lines = torch.tanh(setting * grid), torch.tanh(grid + setting), setting * torch.tanh(grid)
    for ax, y, spot, name in zip(panels, lines, spots, "wbv", strict=True):
        color = ax.plot(grid, y)[0].get_color()
        ax.text(*spot, f"{setting:g}".replace("-", "−"), color=color)
        ax.set(title=f"three values of ${name}$", xlabel="$x$")
panels[0].set_ylabel(r"$v\,\tanh(wx + b)$")
plt.suptitle("A neuron is an S: w sets how steep, b where, v how high")
figure("neuron", alt="S-shaped curves in three panels: flipped or steeper, moved, stretched.")

# %% [markdown]
# ## 0.2 One table, two sums, and no error message
#
# Each of the eight neurons has a value at each of the eight hours: an 8 × 8 table. PyTorch makes it in two lines, if the shapes are right.

# %%
w, b, v = torch.tensor(weights), torch.tensor(biases), torch.tensor(output_weights)
outputs = torch.tanh(x[:, None] * w + b)  # hours × neurons
parts = v * outputs
print("x[:, None]", x[:, None].shape, " w", w.shape, " parts", parts.shape)

# %% [markdown]
# `x[:, None]` is `x` with a new axis of length 1: a column of shape (8, 1). It is multiplied by `w` of shape (8,), and the result is (8, 8). The rule behind this is called **broadcasting**. Write the two shapes one above the other, right-aligned:
#
# ```
# x[:, None]   8  1
# w               8
# result       8  8
# ```
#
# Where one of them has a 1, or nothing, its numbers are repeated until they fit. If two lengths differ and neither is 1, PyTorch refuses. So row $i$ of `parts` belongs to hour $i$, column $k$ to neuron $k$.
#
# The curve is the sum of the eight neurons, at each hour: `parts.sum(1)`. **Predict.** Take five hours only, `parts[:5]`. How many numbers does the *wrong* sum, `sum(0)`, give?

# %% tags=["predict"]
guess = None  # how many

# %%
compare_guess(guess, len(parts[:5].sum(0)))
by_loop = torch.tensor([curve(hour) for hour in clock])  # slow, and right
for axis in (0, 1):
    whole, few = parts.sum(axis), parts[:5].sum(axis)  # few: five hours, eight neurons
    off = (whole + lift - by_loop).abs().max()
    print(f"sum({axis}): {len(whole)} numbers, off by {off:.2f} °C; of five hours: {len(few)}")
assert_close(outputs @ v, parts.sum(1))
claim(wrong_axis=(parts.sum(0) + lift - by_loop).abs().max())

# %% tags=["figure", "folded"]
ax = plt.subplots(figsize=(6.6, 4.4))[1]
ax.imshow(parts, cmap="vlag", vmin=-3, vmax=3, aspect="auto")
entries = [(k, i, parts[i, k], "none", "-") for i in range(8) for k in range(8)]
entries += [(8.4, i, parts[i].sum(), "black", "-") for i in range(8)]
entries += [(k, 8.4, parts[:, k].sum(), "0.4", ":") for k in range(8)]
for column, row, entry, edge, style in entries:
    box = {"boxstyle": "round", "facecolor": "none", "edgecolor": edge, "linestyle": style}
    text = f"{entry:z.1f}".replace("-", "−")
    ax.text(column, row, text, ha="center", va="center", bbox=box, fontsize=10)
ax.text(9.2, 3.5, "sum(1)\none per hour:\nthe curve", va="center")
ax.text(9.2, 8.4, "sum(0)\none per neuron:\nnot the curve", color="0.4", va="center")
ax.tick_params(length=0, top=True, labeltop=True, bottom=False, labelbottom=False)
ax.set_xticks(range(8))
ax.set_yticks(range(8), [f"{hour} h" for hour in clock])
ax.set(xlabel="neuron", xlim=(-0.5, 12), ylim=(9.4, -0.5), frame_on=False)
ax.xaxis.set_label_position("top")
ax.grid(visible=False)
ax.set_title("Both sums are eight numbers, and only one is the curve", pad=10)
figure("two-sums", alt="An 8 by 8 table: its row sums are the curve, its column sums are not.")

# %% [markdown]
# Look at what did *not* happen. The wrong sum has the right shape and plausible values, and nothing was raised, because hours and neurons are both eight. Three habits protect you: say in a comment what each axis *is*; check it once against a slow version that you trust; and give each axis a length of its own while you try things. A fourth is to let the operator choose: the **matrix product** `outputs @ v` multiplies and adds in one go, always along the last axis of its left side.

# %% [markdown] tags=["exercise"]
# > **Exercise 0.1 (warm-up, 5 minutes).** A table `temps` holds one row per day and one column per reading. Write `centre_rows(temps)`: from each number, subtract the mean *of its day*. Leave the table that you are given as it is.
# >
# > <details><summary>Hint 1</summary>Which axis has to disappear in the mean?</details>
# > <details><summary>Hint 2</summary>The means have shape (days,). Broadcasting lines shapes up at the right; what shape do they need so that each mean belongs to a row? Look up <code>keepdim=True</code>, or use <code>[:, None]</code>.</details>


# %% tags=["stub"]
def centre_rows(temps):  # temps: (days, readings), and so is the result
    ...


# %% tags=["check"]
exercises.check_centre_rows(centre_rows)


# %% tags=["solution"]
def centre_rows(temps):
    return temps - temps.mean(1, keepdim=True)


exercises.check_centre_rows(centre_rows)

# %% [markdown]
# ## 0.3 A derivative: nudge a number and look
#
# Put all 25 parameters into one tensor, and say in one number how bad the curve is. That number is called the **loss**; ours is the mean squared error, in °C², which PyTorch has as `F.mse_loss`.

# %%
parameters = torch.cat([w, b, v, torch.tensor([lift])])  # shape (25,)


def neurons(numbers, x):  # hours × neurons
    w, b, v = numbers[:8], numbers[8:16], numbers[16:24]
    return v * torch.tanh(x[:, None] * w + b)


def predict(numbers, x):
    return neurons(numbers, x).sum(1) + numbers[24]


def loss_of(numbers):
    return ((predict(numbers, x) - temps) ** 2).mean()


assert_close(loss_of(parameters), F.mse_loss(predict(parameters, x), temps))
print(f"loss {loss_of(parameters):.2f} °C², its root {loss_of(parameters) ** 0.5:.2f} °C")


# %% [markdown]
# Which way should the last number, the lift, go? Raise it by a small $h$, leave the other 24 alone, and see how much the loss changes *per degree of lift*.


# %%
def loss_at(value):
    numbers = parameters.clone()  # a copy: the original stays as it is
    numbers[24] = value
    return loss_of(numbers).item()


for h in (0.1, 0.001, 0.00001):
    print(f"h = {h:g}: {(loss_at(h) - loss_at(0)) / h:.5f}")

# %% [markdown]
# As $h$ shrinks the quotient settles. Its limit is the **derivative** of the loss at this point. It is negative, so raising the lift lowers the loss; and it says how steeply. On paper it is twice the mean error, because a degree of lift adds 1 to each of the eight errors that are squared.
#
# **Predict.** What will the loss be when the lift is 1 °C instead of 0?

# %% tags=["predict"]
guess = None  # in °C², such as 100

# %% tags=["figure"]
lifts = torch.linspace(-4, 36, 81)
derivative = (loss_at(1e-6) - loss_at(0)) / 1e-6
plt.figure(figsize=(5.6, 3.7))
plt.plot(lifts, [loss_at(value) for value in lifts], color="C0")
plt.axline((0, loss_at(0)), (1, loss_at(0) + derivative), color="C1", linewidth=1.5)
plt.plot(0, loss_at(0), "o", color="C1")
plt.text(2.5, 300, f"here the derivative is −{-derivative:.2f}", color="C1")
plt.annotate("here it is 0", (15.6, 36), (12, 120), arrowprops={"arrowstyle": "->", "color": "0.3"})
mark_guess(guess, x=1)
plt.title("The derivative says how steep the loss is where we stand")
plt.gca().set(xlabel="lift (°C)", ylabel="loss (°C²)", ylim=(0, 450))
compare_guess(guess, loss_at(1), unit="°C²")
mean_error = (predict(parameters, x) - temps).mean()
claim(derivative_less_twice_mean_error=derivative - 2 * mean_error, loss_at_lift_1=loss_at(1))
figure("lift", alt="A parabola: the loss over the lift. A line touches it at 0 and falls.")


# %% [markdown]
# Down by 31.18 from 275.29 would be 244.11. It is 1 more: an error $e$ that grows by 1 has the square $e^2 + 2e + 1$, and the line leaves out the last 1.
#
# Now do the same for all 25 numbers. The 25 derivatives together are the **gradient**. The way down is to move every number *against* its derivative.


# %%
def gradient_by_difference(numbers, h=1e-6):
    nudged = numbers + h * torch.eye(25)  # row k: number k is nudged, the others are not
    losses = torch.stack([loss_of(row) for row in [numbers, *nudged]])  # 1 + 25 of them
    return (losses[1:] - losses[0]) / h, len(losses)


gradient, evaluations = gradient_by_difference(parameters)
moved = parameters - 0.05 * gradient
print(f"loss before {loss_of(parameters):.1f} °C², after one step {loss_of(moved):.1f} °C²")
claim(evaluations=evaluations)

# %% [markdown]
# That answers the question: take the gradient, take a small step, repeat. This is **gradient descent**, and the 0.05 is the **learning rate**.
#
# But count the cost. One step took 26 evaluations of the loss. For the 124 million parameters of the smallest GPT-2 it would take 124 million. There has to be a way to get all derivatives at once.
#
# ## 0.4 Numbers that remember where they came from
#
# Take one neuron, without its output weight, and one point, with the loss $(\tanh(\text{weight} \cdot \text{point} + \text{bias}) - \text{target})^2$: four operations and a square. If we know how each operation responds to a nudge, we can follow a nudge of the weight through them, up to the loss. For that, a number has to remember what it was made from:


# %%
class Value:  # a number that remembers which values it was computed from
    def __init__(self, data, inputs=()):
        self.data = data
        self.inputs = inputs  # pairs: a value, and the local derivative
        self.grad = 0.0  # its gradient, d result / d value: 0 until somebody goes backward


# %% [markdown]
# Each operation makes a new `Value` and records two things about each input: which value it was, and the **local derivative**, that is, how fast the result changes if this input alone is nudged. For $a + b$, both local derivatives are 1. For $a \cdot b$, the one for $a$ is $b$, and the one for $b$ is $a$. For $\tanh$, it is $1 - \tanh^2$.


# %%
def add(a, b):
    return Value(a.data + b.data, [(a, 1.0), (b, 1.0)])


def subtract(a, b):
    return Value(a.data - b.data, [(a, 1.0), (b, -1.0)])


def multiply(a, b):
    return Value(a.data * b.data, [(a, b.data), (b, a.data)])


def tanh(a):
    t = math.tanh(a.data)
    return Value(t, [(a, 1 - t * t)])


# %% [markdown]
# Python calls `Value.__mul__` when it meets `a * b`. So we hand our functions to the class, and compute the loss one operation at a time, giving each result a name. (Both sides must be a `Value`: `weight * Value(2.0)`, not `weight * 2.0`.)

# %%
Value.__add__, Value.__sub__, Value.__mul__, Value.tanh = add, subtract, multiply, tanh

weight, point, bias, target = Value(-0.5), Value(2.0), Value(0.5), Value(0.8)
product = weight * point
shifted = product + bias
neuron = shifted.tanh()
error = neuron - target
loss = error * error
print(f"loss {loss.data:.4f}; local derivatives {[round(local, 4) for _, local in loss.inputs]}")

# %% [markdown]
# The values and the operations between them form the **computation graph**. Computing it from left to right, as we just did, is the **forward pass**.

# %% tags=["figure"]
named = {
    "weight": (weight, (0, 0)),
    "point": (point, (1, 1)),
    "product": (product, (1, 0)),
    "bias": (bias, (2, 1)),
    "shifted": (shifted, (2, 0)),
    "neuron": (neuron, (3, 0)),
    "target": (target, (4, 1)),
    "error": (error, (4, 0)),
    "loss": (loss, (5, 0)),
}
draw_graph(named).set_title("On each arrow: how fast the result changes through this input")
figure("graph", alt="Nine boxes from weight to loss, with a local derivative on each arrow.")

# %% [markdown]
# Now nudge the weight by a little $h$. The product changes by $2h$, because the arrow is labelled 2.00. The sum passes that on unchanged, the tanh multiplies it by 0.79, and so on: along a path, the local derivatives **multiply**. That is the **chain rule**.
#
# The error is used twice, so two arrows lead from it to the loss. A nudge travels along both, and their effects **add**. So the derivative is the sum, over all paths, of the products along each path.

# %%
along_one_path = 2.0 * 1.0 * (1 - neuron.data**2) * 1.0 * error.data
print(f"two paths: {2 * along_one_path:.6f}")
nudged_error = math.tanh((-0.5 + 1e-6) * 2.0 + 0.5) - 0.8
print(f"by a nudge: {(nudged_error**2 - loss.data) / 1e-6:.6f}")


# %% [markdown]
# They agree. For all values at once, go *backward*: give the loss a 1; each value multiplies what it receives by the number on the arrow, and passes that on to its input.
#
# **Predict**, with a pencil and the picture: what is the derivative of the loss for the *bias*?

# %% tags=["predict"]
guess = None  # such as 0.5


# %%
def push(value, amount):
    value.grad += amount  # one more path has arrived here
    visits = 1
    for source, local in value.inputs:
        visits += push(source, amount * local)
    return visits


for value, _ in named.values():
    value.grad = 0.0
print("visits:", push(loss, 1.0))
compare_guess(guess, bias.grad)
print(f"weight {weight.grad:.6f}, bias {bias.grad:.6f}, point {point.grad:.6f}")

# %% [markdown]
# The weight's derivative is right, and so are the others. But `push` made 17 visits for 9 values, because it visited the error, and everything that leads to it, twice.
#
# **Predict.** Double a number twenty times by `last = last + last`. That makes 21 values. How many visits does `push` make?

# %% tags=["predict"]
guess = None  # such as 40

# %%
first = last = Value(1.0)
for _ in range(20):
    last = last + last
visits = push(last, 1.0)
compare_guess(guess, visits, unit="visits")
claim(visits=visits)

# %% [markdown]
# Two million, and twice as many with each further doubling. `push` is correct, but hopelessly slow.
#
# ## 0.5 `backward()`: every value once
#
# So each value should pass on *once*. When? As soon as it is reached?


# %%
def pass_on_at_once(result):
    result.grad, queue = 1.0, [result]
    for value in queue:  # the queue grows while we walk
        for source, local in value.inputs:
            source.grad += local * value.grad
            if source not in queue:
                queue.append(source)


for turned in (False, True):
    a = Value(3.0)
    square = a * a
    fourth = square * square
    pass_on_at_once(square + fourth if turned else fourth + square)
    print("a² + a⁴" if turned else "a⁴ + a²", "has the derivative", a.grad)

# %% [markdown]
# The derivative of $a^2 + a^4$ at 3 is 114, whichever side of the plus sign comes first. In the second sum `square` passed on before the contribution of `fourth` had arrived. The remedy is patience: a value waits for *all* its contributions, adds them, and passes the sum on. So each value comes after everything that uses it; such an order is called a **topological order**. A value can't see who uses it; but a first walk from the result, along the inputs, can count.

# %% [markdown] tags=["exercise"]
# > **Exercise 0.2 (build, 30 minutes).** `backward(result)` sets the `grad` of `result`, and of every value that it was computed from, to the derivative of `result` with respect to that value, whatever was there before. Each value should pass on just once. Don't let a function call itself: Python stops at about 1,000 nested calls, and graphs can be deeper. The check compares your gradients with those of `push`, and shows the graph as lines of code.
# >
# > <details><summary>Hint 1</summary>First find the values and count their uses. Keep a list of values to look at; take one out, and for each of its inputs add 1 to its count in a dictionary (<code>a * a</code> uses <code>a</code> twice). An input that wasn't in the dictionary yet goes into the list. Then set every gradient to 0.</details>
# > <details><summary>Hint 2</summary>Now give the result a 1, and make a list of values that are ready, with the result alone. Take one out. To the gradient of each of its inputs add the local derivative times its own gradient, and take 1 off that input's count. At 0, the input is ready.</details>


# %% tags=["stub"]
def backward(result):  # sets gradients, returns nothing
    ...


# %% tags=["check"]
exercises.check_backward(backward)


# %% tags=["solution"]
def count_uses(result):
    uses, waiting = {result: 0}, [result]
    while waiting:
        value = waiting.pop()
        for source, _ in value.inputs:
            if source not in uses:
                uses[source] = 0
                waiting.append(source)
            uses[source] += 1
    return uses


def backward(result):
    uses = count_uses(result)
    for value in uses:
        value.grad = 0.0
    result.grad = 1.0
    ready = [result]
    while ready:
        value = ready.pop()
        for source, local in value.inputs:
            source.grad += local * value.grad
            uses[source] -= 1
            if uses[source] == 0:  # that was the last of its contributions
                ready.append(source)


exercises.check_backward(backward)

# %%
Value.backward = answer_or(backward, exercises.walk_back)  # ours until yours is there
last.backward()
print(f"twenty doublings: {first.grad:,.0f}")
loss.backward()
print(f"weight {weight.grad:.6f}, bias {bias.grad:.6f}, point {point.grad:.6f}")

# %% [markdown]
# The same gradients, with one visit to each value. This is **backpropagation**, the **backward pass**. It is also called *reverse mode*: it starts from one number, the loss, and a single walk finds the derivatives with respect to all inputs, however many, for about twice the arithmetic of the forward pass. The price is memory: all values are kept until the walk reaches them. PyTorch's name for the machinery is **autograd**.

# %% tags=["figure"]
in_order = [value for value, _ in named.values()]  # as they were made
draw_graph(named, in_order).set_title("One walk back, and each value has its gradient")
figure("backward", alt="The same nine boxes, with gradients: −3.97 at the weight, 1 at the loss.")


# %% [markdown]
# In a running notebook, move the slider to let the gradients arrive one at a time, and check a few (the numbers are rounded): each is the sum, over the arrows that leave the box, of the number on the arrow times the gradient at its head.


# %% tags=["live", "nbval-ignore-output"]
def gradients_arrive(arrived):
    draw_graph(named, arrived=in_order[::-1][:arrived])


play(gradients_arrive, arrived=range(10))

# %% [markdown]
# ### The same in PyTorch
#
# A PyTorch tensor with `requires_grad=True` is like a `Value` of many numbers: operations on it are remembered, and `backward()` walks the graph. Let both find the gradient of the whole curve: 25 parameters, eight points.


# %%
def our_curve(numbers, point):
    output = numbers[24]
    for k in range(8):  # v · tanh(w · point + b)
        output = output + numbers[16 + k] * (numbers[k] * point + numbers[8 + k]).tanh()
    return output


def our_loss(numbers):
    total = Value(0.0)
    for at, temp in zip(x.tolist(), measured, strict=True):
        error = our_curve(numbers, Value(at)) - Value(temp)
        total = total + error * error
    return total * Value(1 / 8)


ours = [Value(number) for number in parameters.tolist()]
our_loss(ours).backward()
theirs = parameters.clone().requires_grad_()
loss_of(theirs).backward()
assert_close(torch.tensor([one.grad for one in ours]), theirs.grad, rtol=1e-12, atol=1e-12)
print(f"nudging is off by {(gradient - theirs.grad).abs().max():.0e}")

# %% [markdown]
# All 25 agree with PyTorch's to twelve digits, and nearly agree with the nudges of section 0.3. Those took 26 evaluations of the loss. This took one forward and one backward pass, and would for 124 million parameters.

# %% [markdown] tags=["exercise"]
# > **Exercise 0.3 (build, 20 minutes).** Three more operations for your `Value`: $e^a$, $\ln a$ and $a / b$. Each returns a `Value` with its number and its inputs, as `multiply` does. Find the local derivatives yourself. (All language models are trained with these three: lesson 1.)
# >
# > <details><summary>Hint 1</summary>The derivative of $e^a$ is $e^a$, which you have just computed; that of $\ln a$ is $1/a$.</details>
# > <details><summary>Hint 2</summary>A quotient has two inputs. Treat $b$ as a constant to get the first derivative, then $a$ as a constant to get the second: that one is negative, and has $b^2$ in the denominator.</details>


# %% tags=["stub"]
def exp(a): ...


def log(a): ...


def divide(a, b): ...


# %% tags=["check"]
exercises.check_exp(exp)
exercises.check_log(log)
exercises.check_divide(divide)


# %% tags=["solution"]
def exp(a):
    result = math.exp(a.data)
    return Value(result, [(a, result)])


def log(a):
    return Value(math.log(a.data), [(a, 1 / a.data)])


def divide(a, b):
    return Value(a.data / b.data, [(a, 1 / b.data), (b, -a.data / b.data**2)])


exercises.check_exp(exp)
exercises.check_log(log)
exercises.check_divide(divide)

# %% [markdown]
# ## 0.6 Five lines that learn
#
# A loss, its gradient, a small step against it: what is left is to repeat. First with your own machine (or, if you have not written `backward` yet, with ours):

# %%
numbers = parameters.tolist()
for _ in range(200):
    ours = [Value(number) for number in numbers]
    our_loss(ours).backward()
    numbers = [one.data - 0.05 * one.grad for one in ours]
our_fit = torch.tensor(numbers)
claim(our_machine_miss=loss_of(our_fit) ** 0.5)


# %% [markdown]
# Plain Python has learnt. In PyTorch that is five lines in a loop, whatever the model; ours is a small *multilayer perceptron*.


# %%
def train(model=predict, lr=0.05, steps=3000):
    numbers = parameters.clone().requires_grad_()
    history, losses = [], []
    for _ in range(steps + 1):
        history.append(numbers.detach().clone())  # a copy without a graph, for the pictures
        loss = ((model(numbers, x) - temps) ** 2).mean()  # 1 loss
        numbers.grad = None  # 2 clear
        loss.backward()  # 3 backward
        with torch.no_grad():
            numbers -= lr * numbers.grad  # 4 step
        losses.append(loss.item())  # 5 note
    return history, losses


history, losses = train()
assert_close(history[200], our_fit, rtol=1e-9, atol=1e-9)
claim(trained_miss=losses[-1] ** 0.5)

# %% [markdown]
# After 200 steps PyTorch has the same 25 numbers; after 3,000 it misses by 0.04 °C. **Clear**: PyTorch *adds* each new gradient to what is in `.grad`, where your `backward` starts from 0; so the old one has to go. **`no_grad`**: the step is not part of the formula; without it PyTorch refuses to change the numbers in place.

# %% tags=["figure", "folded"]
smooth_x = torch.linspace(-2, 1.5, 85)


def draw_curve(ax, numbers, color="C0"):
    ax.plot(clock, measured, "o", color="black", markersize=4)
    ax.plot(fine, predict(numbers, smooth_x), color=color)
    ax.set(xticks=[0, 6, 12, 18], ylim=(-4, 31))


panels = plt.subplots(2, 3, figsize=(6.6, 4.6), sharex=True, sharey=True)[1]
notes = ["random", "it rises", "the right height", "it bends", "dashed: plain Python", "it fits"]
for ax, step, note in zip(panels.flat, [0, 1, 5, 20, 200, 3000], notes, strict=True):
    draw_curve(ax, history[step])
    ax.set_title(f"step {step:,}: {losses[step] ** 0.5:.2f} °C")
    ax.text(0, 27, note, color="C0")
panels[1, 1].plot(fine, predict(our_fit, smooth_x), "--", color="C1", linewidth=3)
plt.gcf().supxlabel("hour of the day", fontsize=11)
plt.gcf().supylabel("temperature (°C)", fontsize=11)
plt.suptitle("It misses by less and less: first it rises, then it bends")
figure("learning", alt="Six pictures: a low curve rises, bends, and passes through all points.")


# %% tags=["live", "nbval-ignore-output"]
def curve_at(step):
    draw_curve(plt.subplots(figsize=(5.6, 3.4))[1], history[step])
    plt.gca().set(xlabel="hour of the day", ylabel="temperature (°C)")
    plt.title(f"step {step:,}: off by {losses[step] ** 0.5:.2f} °C")


play(curve_at, step=[0, 1, 2, 3, 5, 10, 20, 40, 100, 200, 400, 1000, 2000, 3000])

# %% [markdown]
# How large should a step be?

# %%
for lr in (0.005, 0.05, 0.1, 0.2, 0.5):
    print(f"lr {lr:g}: misses by {train(lr=lr)[1][-1] ** 0.5:.3g} °C after 3,000 steps")

# %% [markdown]
# Too small is safe but slow. Far too large, and each step overshoots further than the one before, until the loss is `nan`. In between, nothing breaks and the curve is wrong: at 0.1 here, at 0.2 from any start.
#
# Now back to the mistake of section 0.2. Train once more, with the sum over the wrong axis. Nothing is raised.
#
# **Predict.** Which loss does *this* training report in the end?

# %% tags=["predict"]
guess = None  # in °C², such as 10


# %% tags=["figure"]
def predict_wrong(numbers, x):
    return neurons(numbers, x).sum(0) + numbers[24]


wrong_history, wrong_losses = train(predict_wrong)
compare_guess(guess, round(wrong_losses[-1], 6), unit="°C²")
claim(wrong_axis_loss=wrong_losses[-1], wrong_axis_miss=loss_of(wrong_history[-1]) ** 0.5)
claim(flat_line_miss=temps.std(correction=0))

left, right = plt.subplots(1, 2, figsize=(6.8, 3.6))[1]
left.semilogy(wrong_losses[:200], color="C3")
left.semilogy(losses[:200], color="C0")
left.set(title="The wrong sum looks perfect …", xlabel="step", ylim=(1e-6, 1e3))
left.set_ylabel("reported loss (°C²)")
left.text(20, 1e-5, "sum(0)", color="C3")
left.text(120, 1, "sum(1)", color="C0")
draw_curve(right, wrong_history[-1], color="C3")
draw_curve(right, history[-1])
right.text(0.5, 20, "sum(0)", color="C3")
right.text(16.4, 24.5, "sum(1)", color="C0")
right.set(title="… and the picture gives it away", ylim=(8, 29))
right.set(xlabel="hour of the day", ylabel="temperature (°C)")
figure("wrong-axis", alt="The loss of the wrong sum falls to 0, and its curve misses the points.")

# %% [markdown]
# It reports 0, and its curve misses by more than a flat line through the mean would. The outputs of neuron $k$, summed over the hours and raised by the lift, have learnt to give temperature $k$: eight little tasks, all solved, and none of them ours. A loss that falls says that the program gets better at *what you wrote*. So look at a picture, and check against a slow version that you trust.

# %% [markdown] tags=["exercise"]
# > **Exercise 0.4 (build, 25 minutes).** A neuron that learns. `train_neuron(xs, ys, weight, bias, lr, steps)` makes `steps` steps of gradient descent from the given weight and bias, on the mean of $(\tanh(\text{weight} \cdot x + \text{bias}) - y)^2$ over the points. It returns both numbers as a list. Use your `Value`, or PyTorch, or work the gradient out on paper. Nudges won't do: the check compares to thirteen digits.
# >
# > <details><summary>Hint 1</summary>With <code>Value</code>: in each step make a new weight and bias from the current numbers, add up the losses of all points, multiply by <code>Value(1 / len(xs))</code>, go backward, and read the two gradients.</details>
# > <details><summary>Hint 2</summary>Right after one step and wrong after three? With PyTorch, the old gradients were not cleared. Right with one point and wrong with two? That was the sum, not the mean. Off by 1e-8? Almost right: a nudge, or float32.</details>


# %% tags=["stub"]
def train_neuron(xs, ys, weight, bias, lr, steps):  # two lists, two numbers → [weight, bias]
    ...


# %% tags=["check"]
exercises.check_train_neuron(train_neuron)


# %% tags=["solution"]
def train_neuron(xs, ys, weight, bias, lr, steps):
    for _ in range(steps):
        w, b, loss = Value(weight), Value(bias), Value(0.0)
        for x, y in zip(xs, ys, strict=True):
            error = (w * Value(x) + b).tanh() - Value(y)
            loss = loss + error * error
        loss = loss * Value(1 / len(xs))
        loss.backward()
        weight, bias = weight - lr * w.grad, bias - lr * b.grad
    return [weight, bias]


exercises.check_train_neuron(train_neuron)

# %% [markdown] tags=["exercise"]
# > **Exercise 0.5 (investigate, 20 minutes).** Keep the axis: `sum(1, keepdim=True)` gives a column of shape (8, 1), which looks harmless. Write `predict_column`, which is `predict_wrong` with that sum, run `column_history, column_losses = train(predict_column)`, and fill in the table. The miss of its curve is `loss_of(column_history[-1]) ** 0.5`, with the `predict` of section 0.3.
#
# | | loss it reports in the end | miss of its curve (°C) | what the curve looks like |
# |---|---|---|---|
# | `sum(1)` | | | |
# | `sum(0)` | | | |
# | `sum(1, keepdim=True)` | | | |
#
# > Which shape does `predict_column(parameters, x) - temps` have? The curve that you get is the best answer to another question: which one? Could you have noticed it from the loss alone? PyTorch has our loss by name, `F.mse_loss(predictions, temps)`: give it the column, and read what it says.
# >
# > <details><summary>Hint 1</summary>Write (8, 1) and (8,) one above the other, right-aligned.</details>
# > <details><summary>Hint 2</summary>Which single number has the smallest mean squared distance to all eight temperatures?</details>
#
# <details><summary>What we found</summary>
#
# | | loss it reports in the end | miss of its curve (°C) | what the curve looks like |
# |---|---|---|---|
# | `sum(1)` | 0.0016 | 0.04 | passes through the points |
# | `sum(0)` | 0.0000 | 5.17 | falls gently, misses them all |
# | `sum(1, keepdim=True)` | 17.22 | 4.15 | flat, at 17.7 °C |
#
# The differences have shape (8, 8): every hour is compared with every temperature. The best one can do then is the same for each hour, the mean of all temperatures, 17.74 °C, and the loss that is left is their variance, 17.22 °C². From the loss alone one might think that the problem is hard, or the network too small. `F.mse_loss` warns: "Using a target size (…) that is different to the input size (…)".
#
# </details>
#
# ## What you have now
#
# - **Tensors**: a shape, broadcasting, and a sum along an axis that you can name.
# - **The gradient**: for each parameter, how the loss responds to a nudge.
# - **`backward()`**, from plain Python: one walk through the graph gives all of it, equal to PyTorch's.
# - **Five lines**: loss, clear, backward, step, note. The loop behind every network in this course, up to GPT.
# - A loss of 0 that meant nothing.
#
# What still fails? With eight readings and 25 parameters, the curve passes through what it has seen; nothing says that it is right in between. And it only knows numbers. How can one learn from letters? Begin with the smallest possible context: the previous letter. **After an *m*, which letter comes next in a name, and how good can a guess be if that is all it knows?** That is lesson 01: how far do pairs of letters go?

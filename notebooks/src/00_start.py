# %% [markdown]
# # 0 · Start: how does a program learn from its mistakes?
#
# Below is a curve that should pass through eight temperatures and misses all of them. Twenty-five numbers determine its shape. All but one were drawn at random, and nobody is going to set them by hand: a program will look at the mistakes and move each number a little, three thousand times, until the curve fits. Language models learn in the same way, with more numbers. So this lesson has one question: **which way should each number move?**
#
# **Afterwards you can** use PyTorch's tensors, say what a gradient is, and train a model in five lines; and you will have built `backward()`, the machine that finds gradients, piece by piece from plain Python.
#
# **Before**: Python, and derivatives as they are taught in the first year. No PyTorch.
#
# **Runs in** {runs_in}. **Study time** {study}.
#
# **Sources**: the class that you will grow follows Karpathy's micrograd (2020); going backward through a graph is due to Linnainmaa (1970), and came to neural networks with Rumelhart, Hinton and Williams (1986). PyTorch: Paszke and others (2019).

# %% tags=["setup", "machine"]
import math
import random

import matplotlib.pyplot as plt
import torch
from torch.testing import assert_close

from coursekit.exercises import start as exercises
from coursekit.notebook import claim, compare_guess, figure, mark_guess, setup
from coursekit.notebook.graph import draw_graph
from coursekit.notebook.widgets import play

device = setup("00_start", seed=42)

# %% [markdown]
# Run the cells from top to bottom (Shift + Enter). Three things will come up again and again, here and in every later lesson:
#
# - **Guesses.** A cell with `guess = None` waits for you. Type a number before you run on, and the next output puts it beside the one that was measured. Nobody keeps score, but a wrong guess is the part you remember.
# - **Claims.** A line that begins with ✓ is a number that was measured a moment ago, and in brackets the reason to expect it. Change something in the code, and the line may turn into ✗: that is the effect of your change.
# - **Exercises.** You write the code where `...` stands and run the check below it. It says "not yet" until there is an answer, and names the first case where the answer fails. The solution is folded away underneath.
#
# Now the eight temperatures, one every three hours of a day in June. The day is made up. And a curve, in plain Python: a sum of eight S-shaped pieces, each made by `math.tanh`, which climbs smoothly from −1 to 1.

# %%
clock = [0, 3, 6, 9, 12, 15, 18, 21]
measured = [14.2, 12.5, 13.1, 17.6, 22.4, 24.3, 21.0, 16.8]  # °C

chance = random.Random(57)
weights = [chance.gauss(0, 1) for _ in range(8)]
biases = [chance.gauss(0, 1) for _ in range(8)]
heights = [chance.gauss(0, 1) for _ in range(8)]
lift = 0.0


def curve(hour):
    x = (hour - 12) / 6  # hours from noon, in units of six hours
    total = lift
    for k in range(8):
        total += heights[k] * math.tanh(weights[k] * x + biases[k])
    return total


squares = [(curve(hour) - temp) ** 2 for hour, temp in zip(clock, measured, strict=True)]
claim(first_miss=math.sqrt(sum(squares) / 8))

# %% tags=["figure"]
fine = [k / 4 for k in range(85)]  # 0, 0.25, … 21 hours
plt.figure(figsize=(8, 3.6))
plt.plot(clock, measured, "o", color="black")
plt.plot(fine, [curve(hour) for hour in fine], color="C3")
plt.vlines(clock, [curve(hour) for hour in clock], measured, "C3", "dotted", linewidth=0.8)
plt.text(2.2, 15.3, "measured")
plt.text(0.3, 1.6, "the curve, from 25 random numbers", color="C3")
plt.title("Twenty-five random numbers make a curve that misses every point")
plt.gca().set(xlabel="hour of the day", ylabel="temperature (°C)")
figure("random", alt="Eight temperatures between 12 and 24 °C; a random curve runs far below.")

# %% [markdown]
# It misses by almost 17 °C. (This is the root of the mean squared error, an average in which large errors count more.)
#
# ## 0.1 A tensor is numbers with a shape
#
# The loop in `curve` handles one hour and one piece at a time. PyTorch handles all of them at once. Its numbers live in a **tensor**: a block of numbers of one type, and its **shape**, which says how many there are along each **axis**. Arithmetic works on all elements at once, without a loop.

# %%
torch.set_default_dtype(torch.float64)
hours, temps = torch.tensor(clock), torch.tensor(measured)
x = (hours - 12) / 6  # hours from noon, in units of six hours
print(temps.shape, temps.dtype)
print(temps - temps.mean())
print("warmest", temps.max().item())

# %% [markdown]
# The first line asks for 16 digits a number, **float64**. PyTorch's usual float32 keeps 7, which is enough for training; here we want to compare numbers to the last digit. `.item()` takes a single number out of its tensor.
#
# The same eight numbers may have two axes: a **matrix**, here with one row for the first half of the day and one for the second. Sums and means go along an axis, and **the axis that you name is the one that disappears**:

# %%
halves = temps.view(2, 4)
print(halves)
print("sum(0)", halves.sum(0))
print("sum(1)", halves.sum(1))
print("mean(1)", halves.mean(1), "shape", halves.mean(1).shape)

# %% [markdown]
# `sum(0)` adds the two rows: four numbers are left. `sum(1)` adds along each row: two are left, one for each half of the day. Say out loud which axis disappears.
#
# One last thing to look at before we use this: the S-shaped piece. $v \tanh(wx + b)$ is called a **neuron**. Its three numbers are **parameters**, numbers that training may move: the **weight** $w$, the **bias** $b$, and the output weight $v$.

# %% tags=["figure"]
grid = torch.linspace(-3, 3, 121)
panels = plt.subplots(1, 3, figsize=(9, 3.2), sharey=True)[1]
for number, *spots in [
    (-1.0, (-2.9, 0.6), (1.3, -0.2), (2.2, -0.8)),
    (0.5, (1.4, 0.3), (-1.3, 0.3), (2.2, 0.6)),
    (2.0, (0.1, 1.1), (-2.9, 0.3), (2.3, 1.5)),
]:
    curves = torch.tanh(number * grid), torch.tanh(grid + number), number * torch.tanh(grid)
    for ax, y, spot, name in zip(panels, curves, spots, "wbv", strict=True):
        color = ax.plot(grid, y)[0].get_color()
        ax.text(*spot, f"{number:g}".replace("-", "−"), color=color)
        ax.set(title=f"three values of ${name}$", xlabel="$x$")
panels[0].set_ylabel(r"$v\,\tanh(wx + b)$")
plt.suptitle("A neuron is a soft step: w turns or steepens it, b moves it, v stretches it")
figure("neuron", alt="S-shaped curves in three panels: turned or steeper, moved, stretched.")


# %% [markdown]
# ## 0.2 One table, two sums, and no error message
#
# We have eight hours and eight neurons, and each neuron has a value at each hour: a table of 8 × 8. PyTorch makes it in one line, if the shapes are right.

# %%
w, b, v = torch.tensor(weights), torch.tensor(biases), torch.tensor(heights)
parts = v * torch.tanh(x[:, None] * w + b)
print("x[:, None]", x[:, None].shape, " w", w.shape, " parts", parts.shape)

# %% [markdown]
# `x[:, None]` is `x` with a new axis of length 1: a column of shape (8, 1). It is multiplied by `w` of shape (8,), and the result is (8, 8). The rule behind this is called **broadcasting**. Write the two shapes below each other, flush right:
#
# ```
# x[:, None]   8  1
# w               8
# result       8  8
# ```
#
# Where one of them has a 1, or nothing, its numbers are repeated until they fit. If two lengths differ and neither is 1, PyTorch refuses. So row $i$ of `parts` belongs to hour $i$, column $k$ to neuron $k$.
#
# **Predict.** The curve is the sum of the eight neurons, at each hour. Is that `parts.sum(0)` or `parts.sum(1)`? Type 0 or 1.

# %% tags=["predict"]
guess = None  # 0 or 1

# %%
by_loop = torch.tensor([curve(hour) for hour in clock])  # this one is right
for axis in (0, 1):
    total = parts.sum(axis) + lift
    print(f"sum({axis}): shape {tuple(total.shape)}, off by {(total - by_loop).abs().max():.2f}")
compare_guess(guess, 1)
claim(wrong_axis=(parts.sum(0) - by_loop).abs().max())

# %% [markdown]
# Look at what did *not* happen. The wrong sum has the right shape and plausible values, and nothing was raised. Without the loop to compare with, we would have gone on. It was silent because hours and neurons are both eight; with nine neurons PyTorch would have refused. Three habits protect you: give every axis a length of its own while you try things; say in a comment what each axis *is*; and compare once with something slow and certain. In section 0.6 this mistake comes back and does something worse.

# %% tags=["figure"]
ax = plt.subplots(figsize=(8.5, 5))[1]
ax.imshow(parts, cmap="vlag", vmin=-3, vmax=3, aspect="auto")
cells = [(k, i, parts[i, k], "none") for i in range(8) for k in range(8)]
cells += [(8.3, i, parts[i].sum(), "#cfe3f5") for i in range(8)]
cells += [(k, 8.3, parts[:, k].sum(), "#f8d5bd") for k in range(8)]
for column, row, number, color in cells:
    box = {"boxstyle": "round", "facecolor": color, "edgecolor": "none"}
    ax.text(column, row, f"{number:z.1f}", ha="center", va="center", bbox=box, fontsize=10)
ax.text(9, 3.5, "sum(1)\none number an hour:\nthe curve", color="C0", va="center")
ax.text(9, 8.3, "sum(0)\none number a neuron:\nnot the curve", color="C3", va="center")
ax.tick_params(length=0, top=True, labeltop=True, bottom=False, labelbottom=False)
ax.set_xticks(range(8), [f"neuron {k}" for k in range(8)], fontsize=9)
ax.set_yticks(range(8), [f"{hour} h" for hour in clock])
ax.set(xlim=(-0.5, 11.5), ylim=(9, -0.5), frame_on=False)
ax.grid(visible=False)
ax.set_title("Both sums are eight numbers, and only one is the curve")
figure("two-sums", alt="An 8 by 8 table: its row sums are the curve, its column sums are not.")

# %% [markdown] tags=["exercise"]
# > **Exercise 0.1 (warm-up, 5 minutes).** A table `temps` holds one row a day and one column a reading. Write `centre_rows(temps)`: from each number, subtract the mean *of its day*.
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
# Put all 25 parameters into one tensor, and say in one number how bad the curve is. That number is called the **loss**; ours is the mean squared error, in °C².

# %%
parameters = torch.cat([w, b, v, torch.tensor([lift])])  # shape (25,)


def predict(numbers, x, axis=1):
    w, b, v, lift = numbers[:8], numbers[8:16], numbers[16:24], numbers[24]
    return (v * torch.tanh(x[:, None] * w + b)).sum(axis) + lift


def loss_of(numbers):
    return ((predict(numbers, x) - temps) ** 2).mean()


now = loss_of(parameters)
print(f"loss {now:.1f} °C², so the curve misses by {now**0.5:.2f} °C")


# %% [markdown]
# Which way should the last number go, the lift? Try it: raise it by a small $h$, leave the other 24 alone, and see how much the loss changes *for each degree of lift*.


# %%
def loss_at(value):
    numbers = parameters.clone()  # a copy: the original stays as it is
    numbers[24] = value
    return loss_of(numbers).item()


for h in (0.1, 0.001, 0.00001):
    print(f"h = {h:g}: {(loss_at(h) - loss_at(0)) / h:.5f}")

# %% [markdown]
# As $h$ shrinks the quotient settles. Its limit is the **derivative** of the loss at this point. It is negative, so raising the lift lowers the loss; and it says how steeply.
#
# **Predict.** What will the loss be when the lift is 1 °C instead of 0?

# %% tags=["predict"]
guess = None  # in °C², such as 100

# %% tags=["figure"]
lifts = torch.linspace(-4, 36, 81)
derivative = (loss_at(1e-6) - loss_at(0)) / 1e-6
plt.figure(figsize=(8, 4))
plt.plot(lifts, [loss_at(value) for value in lifts], color="C0")
plt.axline((0, loss_at(0)), (1, loss_at(0) + derivative), color="C1", linewidth=1.5)
plt.plot(0, loss_at(0), "o", color="C1")
plt.text(1.2, 300, f"here the derivative is −{-derivative:.1f}", color="C1")
plt.annotate("here it is 0", (15.6, 36), (13, 120), arrowprops={"arrowstyle": "->", "color": "0.3"})
mark_guess(guess)
plt.title("The derivative is the steepness of the loss where we stand")
plt.gca().set(xlabel="lift (°C)", ylabel="loss (°C²)", ylim=(0, 450))
compare_guess(guess, loss_at(1), unit="°C²")
claim(lift_derivative=derivative, loss_at_lift_1=loss_at(1))
figure("lift", alt="A parabola: the loss over the lift. A line touches it at 0 and falls.")


# %% [markdown]
# Down by 31 from 275 would be 244. It is 245, because the loss is a curve and the line only touches it. For a small step the line is good enough.
#
# Now do the same for all 25 numbers. The 25 derivatives together are the **gradient**. Each says what a nudge of its number would do, so the way down is to move every number *against* its derivative.


# %%
def gradient_by_difference(numbers, h=1e-6):
    gradient = torch.zeros(25)
    before = loss_of(numbers)
    for k in range(25):
        nudged = numbers.clone()
        nudged[k] += h
        gradient[k] = (loss_of(nudged) - before) / h
    return gradient


gradient = gradient_by_difference(parameters)
moved = parameters - 0.05 * gradient
print(f"loss before {loss_of(parameters):.1f} °C², after one step {loss_of(moved):.1f} °C²")

# %% [markdown]
# That answers the question, and we could stop here: take the gradient, take a small step, repeat. This is **gradient descent**, and the 0.05 is the **learning rate**.
#
# But count the cost. One step took 26 evaluations of the loss: one as it stands, and one for each number. The smallest GPT-2 has 124 million parameters, so a single step would take 124 million evaluations. There has to be a way to get all derivatives at once.
#
# ## 0.4 Numbers that remember where they came from
#
# Take one neuron and one point. The loss is $(\tanh(\text{weight} \cdot \text{hour} + \text{bias}) - \text{temp})^2$: four operations and a square. If we know how each operation answers to a nudge, we can follow a nudge of the weight, step by step, to the loss. For that, a number has to remember what it was made from. So let us make such a number:


# %%
class Value:  # a number that remembers which values it was computed from
    def __init__(self, data, inputs=()):
        self.data = data
        self.inputs = inputs  # pairs: a value, and the local derivative
        self.grad = 0.0  # the gradient; it stays 0 until section 0.5


# %% [markdown]
# Each operation makes a new `Value` and notes two things about each input: which value it was, and the **local derivative**, that is, how fast the result changes if this input alone is nudged. For $a + b$, both local derivatives are 1. For $a \cdot b$, the one for $a$ is $b$, and the one for $b$ is $a$. For $\tanh$, it is $1 - \tanh^2$.


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
# Python calls `Value.__mul__` when it meets `a * b`. So we hand our functions to the class, and compute the loss in small steps, each with a name:

# %%
Value.__add__, Value.__sub__, Value.__mul__, Value.tanh = add, subtract, multiply, tanh

weight, hour, bias, temp = Value(-0.5), Value(2.0), Value(0.5), Value(0.8)
product = weight * hour
shifted = product + bias
height = shifted.tanh()
error = height - temp
loss = error * error
print(f"loss {loss.data:.4f}; local derivatives {[round(local, 4) for _, local in loss.inputs]}")

# %% [markdown]
# The values and the operations between them form the **computation graph**. Computing it from left to right, as we just did, is the **forward pass**. Drawn, with each local derivative on its arrow:

# %% tags=["figure"]
named = {
    "weight": (weight, (0, 0)),
    "hour": (hour, (1, 1)),
    "product": (product, (1, 0)),
    "bias": (bias, (2, 1)),
    "shifted": (shifted, (2, 0)),
    "height": (height, (3, 0)),
    "temp": (temp, (4, 1)),
    "error": (error, (4, 0)),
    "loss": (loss, (5, 0)),
}
draw_graph(named).set_title("Each arrow says how fast its head changes when its tail is nudged")
figure("graph", alt="Nine boxes from weight to loss, with a local derivative on each arrow.")

# %% [markdown]
# Now nudge the weight by a little $h$. The product changes by $2h$, because 2.00 stands on the arrow. The sum passes that on unchanged, the tanh multiplies it by 0.79, and so on: along a path, the local derivatives **multiply**. That is the **chain rule**.
#
# The error is used twice, so two arrows lead from it to the loss. A nudge travels along both, and their effects **add**. So the derivative is the sum, over all paths, of the products along each path.

# %%
along_one_path = 2.0 * 1.0 * (1 - height.data**2) * 1.0 * error.data
print(f"two paths: {2 * along_one_path:.6f}")
nudged = math.tanh((-0.5 + 1e-6) * 2.0 + 0.5) - 0.8
print(f"by a nudge: {(nudged**2 - loss.data) / 1e-6:.6f}")


# %% [markdown]
# They agree. And we can have it for all values at once if we start at the loss and go *backward*: give the loss a 1, and let each value pass on to its inputs what it was given, times the number on the arrow.


# %%
def push(value, amount):
    value.grad += amount  # one more path has arrived here
    visits = 1
    for source, local in value.inputs:
        visits += push(source, amount * local)
    return visits


for value, _ in named.values():
    value.grad = 0.0
visits = push(loss, 1.0)
print(f"weight {weight.grad:.6f}, bias {bias.grad:.6f}, hour {hour.grad:.6f}, in {visits} visits")

# %% [markdown]
# Six lines, and every derivative is right. But `push` made 17 visits for 9 values, because it went to the error, and to all that leads there, twice.
#
# **Predict.** Double a number twenty times by `result = result + result`. That makes 21 values. How many visits does `push` make?

# %% tags=["predict"]
guess = None  # such as 40

# %%
number = result = Value(1.0)
for _ in range(20):
    result = result + result
visits = push(result, 1.0)
compare_guess(guess, visits, unit="visits")
claim(visits=visits)

# %% [markdown]
# Two million, and twice as many with each further doubling. A network uses each of its values many times. `push` is right, and hopeless.
#
# ## 0.5 `backward()`: every value once
#
# The remedy is patience. `push` sends each contribution on as soon as it comes in. Instead, a value should wait for *all* its contributions, add them, and pass the sum on once. For that we put the values into an order in which each comes after everything that it was made from, a **topological order**:


# %%
def sort_graph(result):
    order, seen = [], set()

    def visit(value):
        if value not in seen:
            seen.add(value)
            for source, _ in value.inputs:
                visit(source)
            order.append(value)  # after all that it was made from

    visit(result)
    return order


# %% [markdown]
# Walk through that order from its end, and whenever a value's turn comes, everything that uses it has already reported.


# %%
def backward(result):
    order = sort_graph(result)
    for value in order:
        value.grad = 0.0
    result.grad = 1.0
    for value in reversed(order):
        for source, local in value.inputs:
            source.grad += local * value.grad


Value.backward = backward
result.backward()
print(f"twenty doublings: {number.grad:.0f}, {len(sort_graph(result))} values, each visited once")
loss.backward()
print(f"weight {weight.grad:.6f}, bias {bias.grad:.6f}, hour {hour.grad:.6f}")

# %% [markdown]
# Twenty-one values, each visited once, where `push` made two million visits; and the same gradients. This is **backpropagation**, the **backward pass**: one sort and one walk, from the loss to the inputs, however many there are.

# %% tags=["figure"]
draw_graph(named, sort_graph(loss)).set_title("One walk back, and each value has its gradient")
figure("backward", alt="The same nine boxes, with gradients: −3.97 at the weight, 1 at the loss.")


# %% [markdown]
# Move the control to let the gradients arrive one at a time. Check a few by hand: what a box holds is the sum, over the arrows that leave it, of the number on the arrow times the gradient at its head.


# %% tags=["live", "nbval-ignore-output"]
def gradients_arrive(arrived):
    draw_graph(named, arrived=sort_graph(loss)[::-1][:arrived])


play(gradients_arrive, arrived=range(10))

# %% [markdown]
# ### The same in PyTorch
#
# A PyTorch tensor with `requires_grad=True` is such a `Value`: operations on it are remembered, and `backward()` walks the graph. Here are the same numbers.

# %%
weight_tensor = torch.tensor(-0.5, requires_grad=True)
bias_tensor = torch.tensor(0.5, requires_grad=True)
loss_tensor = (torch.tanh(weight_tensor * 2.0 + bias_tensor) - 0.8) ** 2
loss_tensor.backward()
print(f"weight: PyTorch {weight_tensor.grad:.12f}, ours {weight.grad:.12f}")
print(f"bias:   PyTorch {bias_tensor.grad:.12f}, ours {bias.grad:.12f}")

# %% [markdown]
# Equal to the last digit. Now the whole curve: 25 parameters, eight points, built from our own `Value`.


# %%
def our_loss(numbers):
    total = Value(0.0)
    for place, target in zip(x.tolist(), measured, strict=True):
        output = numbers[24]
        for k in range(8):
            neuron = (numbers[k] * Value(place) + numbers[8 + k]).tanh()
            output = output + numbers[16 + k] * neuron
        error = output - Value(target)
        total = total + error * error
    return total * Value(1 / 8)


ours = [Value(number) for number in parameters.tolist()]
our_curve_loss = our_loss(ours)
our_curve_loss.backward()
our_gradient = torch.tensor([number.grad for number in ours])

theirs = parameters.clone().requires_grad_()
loss_of(theirs).backward()
assert_close(our_gradient, theirs.grad, rtol=1e-12, atol=1e-12)
print("values in our graph:", len(sort_graph(our_curve_loss)))
print(f"nudging is off by {(gradient - theirs.grad).abs().max():.0e}")

# %% [markdown]
# All 25 agree with PyTorch's, and with the nudges of section 0.3 as far as nudges can be trusted. Those took 26 evaluations of the loss. This took one forward pass and one backward pass, and for 124 million parameters it would still be one of each. All training in this course rests on that.

# %% [markdown] tags=["exercise"]
# > **Exercise 0.2 (build, 25 minutes).** Three more operations for your `Value`: $e^a$, $\ln a$ and $a / b$. Each returns a `Value` with its number and its inputs, as `multiply` does; you may also build it from the operations you have. Here you have to find the local derivatives yourself.
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
# With these three you can write the loss by which every language model is trained. Two letters have scores, `a = Value(2.0)` and `b = Value(0.5)`. The probability of the first is `p = divide(exp(a), exp(a) + exp(b))`, and the loss is `Value(0.0) - log(p)`. Go backward and compare `a.grad` with `p.data - 1`.
#
# <details><summary>What you should see</summary>
#
# `p.data` is 0.8176, and `a.grad` is −0.1824, which is $p - 1$; `b.grad` is +0.1824. The likelier the right letter was already, the weaker the push. It is the loss of all the lessons that follow.
#
# </details>
#
# ## 0.6 Five lines that learn
#
# We have everything: a loss, its gradient, a small step against it. What is left is to repeat. Training a network, of whatever size, is these five lines in a loop:


# %%
def train(lr=0.05, steps=3000, axis=1):
    numbers = parameters.clone().requires_grad_()
    history, losses = [], []
    for _ in range(steps + 1):
        history.append(numbers.detach().clone())  # for the pictures below
        loss = ((predict(numbers, x, axis) - temps) ** 2).mean()  # 1 loss
        numbers.grad = None  # 2 clear
        loss.backward()  # 3 backward
        with torch.no_grad():
            numbers -= lr * numbers.grad  # 4 step
        losses.append(loss.item())  # 5 note
    return history, losses


# %%
history, losses = train()
claim(trained_miss=losses[-1] ** 0.5)

# %% [markdown]
# Two lines need explaining. **Clear**: PyTorch *adds* each new gradient to what is in `.grad`, where our `backward` set all of them to 0 first; so here the old one has to be cleared. **`no_grad`**: the step itself is not part of the formula, so PyTorch should not remember it.
#
# The miss went from almost 17 °C to 0.04 °C. Watch the curve do it:

# %% tags=["figure"]
smooth_x = torch.linspace(-2, 1.5, 85)


def draw_curve(ax, numbers, color="C0"):
    ax.plot(clock, measured, "o", color="black", markersize=4)
    ax.plot(fine, predict(numbers, smooth_x), color=color)
    ax.set(xticks=[0, 6, 12, 18], ylim=(-4, 29))


panels = plt.subplots(2, 3, figsize=(9, 5), sharex=True, sharey=True)[1]
notes = ["random", "it rises", "the right height", "a step up", "and one down", "it fits"]
for ax, step, note in zip(panels.flat, [0, 1, 5, 20, 100, 3000], notes, strict=True):
    draw_curve(ax, history[step])
    ax.set_title(f"step {step}: misses by {losses[step] ** 0.5:.2f} °C")
    ax.text(0, 25, note, color="C0")
plt.suptitle("First it rises to the points, then it bends into them")
figure("learning", alt="Six pictures: a low curve rises, bends, and passes through all points.")


# %% tags=["live", "nbval-ignore-output"]
def curve_at(step):
    draw_curve(plt.subplots(figsize=(7, 3.6))[1], history[step])
    plt.title(f"step {step}: misses by {losses[step] ** 0.5:.2f} °C")


play(curve_at, step=[0, 1, 2, 3, 5, 10, 20, 40, 100, 200, 400, 1000, 2000, 3000])

# %% [markdown]
# How long should a step be? Ten times shorter, and ten times longer:

# %%
for lr in (0.005, 0.05, 0.5):
    print(f"lr {lr:g}: misses by {train(lr)[1][-1] ** 0.5:.3g} °C after 3,000 steps")

# %% [markdown]
# Too small is safe but slow. Far too large, and each step overshoots further than the one before, until the numbers are too large for the computer and it says `nan`, not a number. In between lies what you will see most often: no `nan`, merely a worse fit; try 0.1. When training goes wrong, the learning rate is the first thing to change.
#
# Now back to the mistake of section 0.2. Train once more, with the sum over the wrong axis: `train(axis=0)`. Eight wrong numbers are compared with eight temperatures, and nothing is raised.
#
# **Predict.** Which loss does *this* training report in the end?

# %% tags=["predict"]
guess = None  # in °C², such as 10

# %% tags=["figure"]
wrong_history, wrong_losses = train(axis=0)
print(f"it reports {wrong_losses[-1]:.6f} °C²")
compare_guess(guess, round(wrong_losses[-1], 6), unit="°C²")
claim(wrong_axis_miss=loss_of(wrong_history[-1]) ** 0.5)

left, right = plt.subplots(1, 2, figsize=(9.5, 3.8))[1]
left.semilogy(wrong_losses[:200], color="C3")
left.semilogy(losses[:200], color="C0")
left.set(title="The loss prefers the wrong sum …", xlabel="step", ylim=(1e-6, 1e3))
left.set_ylabel("reported loss (°C²)")
left.text(35, 1e-5, "sum(0)", color="C3")
left.text(120, 1, "sum(1)", color="C0")
draw_curve(right, wrong_history[-1], color="C3")
draw_curve(right, history[-1])
right.text(0.5, 20, "sum(0)", color="C3")
right.text(16.6, 24, "sum(1)", color="C0")
right.set(
    title="… and the picture shows it up", xlabel="hour of the day", ylabel="°C", ylim=(8, 29)
)
figure("wrong-axis", alt="The loss of the wrong sum falls to 0, and its curve misses the points.")


# %% [markdown]
# It reports 0, and its curve misses by 5 °C. Neuron $k$, added up over all hours, has learnt to give temperature $k$: eight separate little tasks, all solved, and none of them was ours. A loss that falls says that the program gets better at *what you wrote*. So look at a picture, and compare with something slow and certain.

# %% [markdown] tags=["exercise"]
# > **Exercise 0.3 (build, 25 minutes).** A neuron that learns. `train_neuron(xs, ys, weight, bias, lr, steps)` starts with the given weight and bias and makes `steps` steps of gradient descent on the mean of $(\tanh(\text{weight} \cdot x + \text{bias}) - y)^2$ over the points. It returns both numbers as a list. Use your `Value`, or PyTorch, or work the gradient out on paper: the check only looks at the result.
# >
# > <details><summary>Hint 1</summary>With <code>Value</code>: in each step make a new weight and bias from the current numbers, add up the losses of all points, multiply by <code>Value(1 / len(xs))</code>, go backward, and read the two gradients.</details>
# > <details><summary>Hint 2</summary>Right after one step and wrong after three? With PyTorch, the old gradients were not cleared. Right with one point and wrong with two? That was the sum, not the mean.</details>


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
# > **Exercise 0.4 (investigate, 20 minutes).** Keep the axis: `sum(1, keepdim=True)` gives a column of shape (8, 1), which looks harmless. Copy `train` and `predict`, make that one change, and train. Then fill in the table. The miss of the curve is `loss_of(history[-1]) ** 0.5`, with the loss of section 0.3.
# >
# > | | loss it reports in the end | miss of its curve (°C) | what the curve looks like |
# > |---|---|---|---|
# > | `sum(1)` | | | |
# > | `sum(0)` | | | |
# > | `sum(1, keepdim=True)` | | | |
# >
# > Which shape does `predict(…) - temps` have now? The curve that you get is the best answer to another question: which one? And could you have noticed it from the loss alone?
# >
# > <details><summary>Hint 1</summary>Write (8, 1) and (8,) below each other, flush right.</details>
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
# The differences have shape (8, 8): every hour is compared with every temperature. The best one can do then is the same for each hour, the mean of all temperatures, 17.74 °C, and the loss that is left is their variance, 17.22 °C². From the loss alone one might think that the problem is hard, or the network too small.
#
# </details>
#
# ## What you have now
#
# - **Tensors**: a shape, broadcasting, and a sum along an axis that you say aloud.
# - **The gradient**: for each parameter, how the loss answers to a nudge. Move against it.
# - **`backward()`**, built from plain Python: one walk through the graph gives all of it, equal to PyTorch's.
# - **Five lines**: loss, clear, backward, step, note. They come back in every lesson that trains a network, up to GPT.
# - And a loss of 0 that meant nothing.
#
# What still fails? Our curve has eight readings and 25 parameters. It passes through what it has seen; nothing here says that it is right in between. And it knows numbers only. A text is made of letters, and a letter is not a height.
#
# So how can one learn from letters? Begin with the least one can look at: the letter before. **After an *m*, which letter comes next in a name, and how good can a guess get that knows nothing else?** That is lesson 01: how far do pairs of letters go?

"""Solutions of the exercises of notebook 00, right and wrong."""

import math

import torch

from coursekit.exercises import start

# --- check_centre_rows --------------------------------------------------------------------------


def centre_by_keepdim(temps):
    return temps - temps.mean(1, keepdim=True)


def centre_by_loop(temps):
    return torch.stack([row - row.mean() for row in temps])


def centre_writing(temps):
    temps -= temps.mean(1, keepdim=True)
    return temps


def centre_columns(temps):
    return temps - temps.mean(0)


def centre_all(temps):
    return temps - temps.mean()


def centre_without_keepdim(temps):
    return temps - temps.mean(1)


def centre_divided_by_rows(temps):
    return temps - temps.sum(1, keepdim=True) / len(temps)


def centre_of_two_rows(temps):
    return torch.stack([temps[0] - temps[0].mean(), temps[1] - temps[1].mean()])


def centre_rounded(temps):
    return (temps - temps.mean(1, keepdim=True)).round()


def centre_by_sum(temps):
    return temps - temps.sum(1, keepdim=True)


class Value:
    """The lesson's, as far as these checks see it, and a factor that the tests put before it."""

    def __init__(self, data, inputs=()):
        self.data = data
        self.inputs = inputs
        self.grad = 0.0

    def __rmul__(self, factor):
        return Value(factor * self.data, [(a, factor * local) for a, local in self.inputs])


# --- check_backward -----------------------------------------------------------------------------


def sort_by_stack(result):
    """Order the values so that each comes after all that it was made from."""
    order, seen, waiting = [], set(), [(result, False)]
    while waiting:
        value, is_expanded = waiting.pop()
        if is_expanded:
            order.append(value)
        elif value not in seen:
            seen.add(value)
            waiting.append((value, True))
            waiting += [(source, False) for source, _ in value.inputs]
    return order


def sort_by_recursion(result):
    order, seen = [], set()

    def visit(value):
        if value not in seen:
            seen.add(value)
            for source, _ in value.inputs:
                visit(source)
            order.append(value)

    visit(result)
    return order


def sort_by_distance(result):
    order, seen = [result], {result}
    for value in order:
        for source, _ in value.inputs:
            if source not in seen:
                seen.add(source)
                order.append(source)
    return order[::-1]


def walk(
    result, order, *, clear=True, one=1.0, add=lambda before, local, grad: before + local * grad
):
    if clear:
        for value in order:
            value.grad = 0.0
    result.grad = one
    for value in reversed(order):
        for source, local in value.inputs:
            source.grad = add(source.grad, local, value.grad)


def backward_by_stack(result):
    walk(result, sort_by_stack(result))


def backward_without_the_one(result):
    walk(result, sort_by_stack(result), one=0.0)


def backward_without_local_derivatives(result):
    walk(result, sort_by_stack(result), add=lambda before, local, grad: before + grad)


def backward_that_overwrites(result):
    walk(result, sort_by_stack(result), add=lambda before, local, grad: local * grad)


def backward_of_local_derivatives(result):
    walk(result, sort_by_stack(result), add=lambda before, local, grad: before + local)


def backward_by_distance(result):
    walk(result, sort_by_distance(result))


def backward_that_never_clears(result):
    walk(result, sort_by_stack(result), clear=False)


def backward_along_every_path(result):
    for value in sort_by_stack(result):
        value.grad = 0.0
    waiting = [(result, 1.0)]
    while waiting:
        value, amount = waiting.pop()
        value.grad += amount
        waiting += [(source, amount * local) for source, local in value.inputs]


def backward_along_every_path_by_index(result):
    for value in sort_by_stack(result):
        value.grad = 0.0
    waiting = [(result, 1.0)]
    while waiting:
        value, amount = waiting.pop()
        value.grad += amount
        for k in range(len(value.inputs)):
            source, local = value.inputs[k]
            waiting.append((source, amount * local))


def backward_along_every_path_in_reverse(result):
    for value in sort_by_stack(result):
        value.grad = 0.0
    waiting = [(result, 1.0)]
    while waiting:
        value, amount = waiting.pop()
        value.grad += amount
        waiting += [(source, amount * local) for source, local in reversed(value.inputs)]


def backward_counting_a_square_once(result):
    values = sort_by_stack(result)
    uses = dict.fromkeys(values, 0)
    for value in values:
        value.grad = 0.0
        for source in {source for source, _ in value.inputs}:
            uses[source] += 1
    result.grad, ready = 1.0, [result]
    while ready:
        value = ready.pop()
        for source, local in value.inputs:
            source.grad += local * value.grad
            uses[source] -= 1
            if uses[source] == 0:
                ready.append(source)


def backward_by_recursion(result):
    walk(result, sort_by_recursion(result))


# --- check_exp, check_log, check_divide ---------------------------------------------------------


def exp_noting_its_result(a):
    result = math.exp(a.data)
    return Value(result, [(a, result)])


def exp_by_torch(a):
    result = torch.tensor(a.data, dtype=torch.float64).exp()
    return Value(result, ((a, result),))


def exp_like_a_power(a):
    return Value(math.exp(a.data), [(a, a.data * math.exp(a.data - 1))])


def exp_by_a_nudge(a):
    result = math.exp(a.data)
    return Value(result, [(a, (math.exp(a.data + 1e-7) - result) / 1e-7)])


def exp_like_a_sum(a):
    return Value(math.exp(a.data), [(a, 1.0)])


def exp_that_forgets_its_input(a):
    return Value(math.exp(a.data))


def exp_as_a_number(a):
    return math.exp(a.data)


def log_by_math(a):
    return Value(math.log(a.data), [(a, 1 / a.data)])


def log_by_parts(a):
    return Value(2 * math.log(a.data**0.5), [(a, 0.5 / a.data), (a, 0.5 / a.data)])


def log_by_a_nudge(a):
    result = math.log(a.data)
    return Value(result, [(a, (math.log(a.data + 1e-7) - result) / 1e-7)])


def log_like_a_sum(a):
    return Value(math.log(a.data), [(a, 1.0)])


def log_to_base_2(a):
    return Value(math.log2(a.data), [(a, 1 / a.data)])


def log_of_a_nudge_downward(a):
    return Value(math.log(a.data), [(a, -1 / a.data)])


def log_noting_its_result(a):
    result = math.log(a.data)
    return Value(result, [(a, result)])


def divide_by_math(a, b):
    return Value(a.data / b.data, [(a, 1 / b.data), (b, -a.data / b.data**2)])


def divide_in_the_other_order(a, b):
    result = a.data * b.data**-1
    return Value(result, [(b, -result / b.data), (a, 1 / b.data)])


def divide_by_parts(a, b):
    reciprocal = Value(1 / b.data, [(b, -1 / b.data**2)])
    return Value(a.data * reciprocal.data, [(a, reciprocal.data), (reciprocal, a.data)])


def divide_without_the_minus(a, b):
    return Value(a.data / b.data, [(a, 1 / b.data), (b, a.data / b.data**2)])


def divide_without_the_numerator(a, b):
    return Value(a.data / b.data, [(a, 1 / b.data), (b, -1 / b.data**2)])


def divide_by_twice(a, b):
    return Value(a.data / b.data, [(a, 1 / b.data), (b, -a.data / (2 * b.data))])


def divide_like_a_product(a, b):
    return Value(a.data / b.data, [(a, b.data), (b, a.data)])


def divide_by_logarithms(a, b):
    return Value(a.data * math.exp(-math.log(b.data)), [(a, 1 / b.data), (b, -a.data / b.data**2)])


def divide_by_a_constant(a, b):
    return Value(a.data / b.data, [(a, 1 / b.data)])


# --- check_train_neuron -------------------------------------------------------------------------


def descend(xs, ys, weight, bias, lr, steps, *, loss=torch.mean, clear=True, sign=-1.0):
    x, y = (torch.tensor(numbers, dtype=torch.float64) for numbers in (xs, ys))
    both = torch.tensor([weight, bias], dtype=torch.float64, requires_grad=True)
    for _ in range(steps):
        if clear:
            both.grad = None
        loss((torch.tanh(both[0] * x + both[1]) - y) ** 2).backward()
        with torch.no_grad():
            both += sign * lr * both.grad
    return both.tolist()


def neuron_by_torch(xs, ys, weight, bias, lr, steps):
    return descend(xs, ys, weight, bias, lr, steps)


def neuron_by_hand(xs, ys, weight, bias, lr, steps):
    n = len(xs)
    for _ in range(steps):
        outputs = [math.tanh(weight * x + bias) for x in xs]
        at_sum = [2 * (h - y) * (1 - h * h) / n for h, y in zip(outputs, ys, strict=True)]
        weight -= lr * sum(d * x for d, x in zip(at_sum, xs, strict=True))
        bias -= lr * sum(at_sum)
    return [weight, bias]


def neuron_by_central_differences(xs, ys, weight, bias, lr, steps, h=1e-5):
    def loss(w, b):
        return sum((math.tanh(w * x + b) - y) ** 2 for x, y in zip(xs, ys, strict=True)) / len(xs)

    for _ in range(steps):
        dweight = (loss(weight + h, bias) - loss(weight - h, bias)) / (2 * h)
        dbias = (loss(weight, bias + h) - loss(weight, bias - h)) / (2 * h)
        weight, bias = weight - lr * dweight, bias - lr * dbias
    return [weight, bias]


def neuron_uphill(xs, ys, weight, bias, lr, steps):
    return descend(xs, ys, weight, bias, lr, steps, sign=1.0)


def neuron_on_the_sum(xs, ys, weight, bias, lr, steps):
    return descend(xs, ys, weight, bias, lr, steps, loss=torch.sum)


def neuron_that_never_clears(xs, ys, weight, bias, lr, steps):
    return descend(xs, ys, weight, bias, lr, steps, clear=False)


def neuron_without_a_bias_step(xs, ys, weight, bias, lr, steps):
    return [descend(xs, ys, weight, bias, lr, steps)[0], bias]


def neuron_of_one_step(xs, ys, weight, bias, lr, steps):
    return descend(xs, ys, weight, bias, lr, 1)


def neuron_in_the_other_order(xs, ys, weight, bias, lr, steps):
    return descend(xs, ys, weight, bias, lr, steps)[::-1]


ROWS = {
    start.check_centre_rows: (
        [centre_by_keepdim, centre_by_loop],
        {
            centre_writing: "[[1.0, 3.0], [5.0, 11.0]]) raised ValueError: it changed the table",
            centre_columns: "[[1.0, 3.0], [5.0, 11.0]]",
            centre_all: "[[1.0, 3.0], [5.0, 11.0]]",
            centre_without_keepdim: "[[1.0, 3.0], [5.0, 11.0]]",
            centre_by_sum: "[[1.0, 3.0], [5.0, 11.0]]",
            centre_divided_by_rows: "[[10.5, 14.0, 18.0",
            centre_of_two_rows: "[[10.5, 14.0, 18.0",
            centre_rounded: "[[10.5, 14.0, 18.0",
        },
    ),
    start.check_backward: (
        [start.walk_back, backward_by_stack],
        {
            backward_without_the_one: "'c = a * b'",
            backward_without_local_derivatives: "'c = a * b'",
            backward_that_overwrites: "['a = 3', 'b = a * a']",
            backward_of_local_derivatives: "'g = f * c'",
            backward_by_distance: "'g = f * c'",
            backward_that_never_clears: "'b.backward()'",
            backward_along_every_path: "'15 times: b = b + b']) raised RuntimeError: it walks",
            backward_along_every_path_by_index: "'15 times: b = b + b']) raised RuntimeError",
            backward_along_every_path_in_reverse: "'15 times: b = b + b']) raised RuntimeError",
            backward_counting_a_square_once: "'g = f * c'",
            backward_by_recursion: "'3000 times: b = b + a']) raised RecursionError",
        },
    ),
    start.check_exp: (
        [exp_noting_its_result, exp_by_torch],
        {
            exp_like_a_power: "[0.0]",
            exp_by_a_nudge: "[0.0]",
            exp_that_forgets_its_input: "[0.0]",
            exp_as_a_number: "([0.0]) raised TypeError: return a Value with its inputs, not float",
            exp_like_a_sum: "[2.0]",
        },
    ),
    start.check_log: (
        [log_by_math, log_by_parts],
        {
            log_by_a_nudge: "[1.0]",
            log_of_a_nudge_downward: "[1.0]",
            log_noting_its_result: "[1.0]",
            log_to_base_2: "[4.0]",
            log_like_a_sum: "[4.0]",
        },
    ),
    start.check_divide: (
        [divide_by_math, divide_in_the_other_order, divide_by_parts],
        {
            divide_without_the_minus: "[6.0, 2.0]",
            divide_without_the_numerator: "[6.0, 2.0]",
            divide_like_a_product: "[6.0, 2.0]",
            divide_by_a_constant: "[6.0, 2.0]",
            divide_by_twice: "[-1.0, 4.0]",
            divide_by_logarithms: "[3.0, -2.0]) raised ValueError",
        },
    ),
    start.check_train_neuron: (
        [neuron_by_torch, neuron_by_hand],
        {
            neuron_by_central_differences: "[2.0], [0.8]",
            neuron_uphill: "[2.0], [0.8]",
            neuron_without_a_bias_step: "[2.0], [0.8]",
            neuron_in_the_other_order: "[2.0], [0.8]",
            neuron_on_the_sum: "[-1.0, 0.5]",
            neuron_that_never_clears: "[-1.0, 0.0, 2.0]",
            neuron_of_one_step: "[-1.0, 0.0, 2.0]",
        },
    ),
}

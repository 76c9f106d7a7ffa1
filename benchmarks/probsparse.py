"""ProbSparse: the paper's sampling for each query, PyTorch's fused attention, and ours.

    python -m benchmarks.probsparse [piece …]

Without a piece, all of them one after the other, each in a process of its own (a few minutes);
with pieces, only these, such as `4096` or `growth`. Writes benchmarks/probsparse.md and .png from
what all pieces so far have left in build/.
"""

import json
import math
import os
import platform
import statistics
import subprocess
import sys
import time
from collections.abc import Sequence
from datetime import date
from pathlib import Path

import matplotlib.pyplot as plt
import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn import functional as F

from benchmarks.tokens import processor
from coursekit.layers.attention import Rule
from coursekit.layers.prob_sparse import count_active, prob_sparse
from coursekit.notebook.plot import use_house_style

HERE = Path(__file__).parent
KEPT = HERE.parent / "build" / "probsparse"
HEADS, WIDTH = 8, 64
LENGTHS = (1024, 2048, 4096, 8192, 16384)
ROUNDS = {1024: 15, 2048: 11, 4096: 7, 8192: 5, 16384: 5}
ONCE_FROM = 8192  # fused attention is timed once from here on: it takes seconds


def sample_each(n_query: int, n_key: int, count: int) -> Int[Tensor, "T K"]:
    """Draw keys for each query by itself, with replacement, anew in each call."""
    return torch.randint(n_key, (n_query, count))


def published(q: Tensor, k: Tensor, v: Tensor, allowed: None = None) -> Tensor:
    """Apply ProbSparse as the paper's published code does, unmasked.

    For each query 5 · ⌈ln S⌉ keys drawn by themselves are gathered, from keys expanded to every
    query; then T products of one row with its keys, the highest score minus their sum over S
    (not over the number drawn), the first 5 · ⌈ln T⌉ queries, dense rows for these, written into
    a copy of the mean. Zhou et al. 2021; the operations of their code one by one.
    """
    (*_, steps, width), read = q.shape, k.shape[-2]
    draws, u = (min(5 * math.ceil(math.log(n)), n) for n in (read, steps))
    index = sample_each(steps, read, draws)
    expanded = k.unsqueeze(-3).expand(*k.shape[:-2], steps, read, width)
    gathered = expanded[:, :, torch.arange(steps)[:, None], index]
    scores = (q.unsqueeze(-2) @ gathered.mT).squeeze(-2)
    gain = scores.amax(-1) - scores.sum(-1) / read
    active = gain.topk(u, sorted=False).indices
    batch, head = (torch.arange(n) for n in q.shape[:2])
    index = (batch[:, None, None], head[:, None], active)
    weights = (q[index] @ k.mT / width**0.5).softmax(-1)
    mixed = v.mean(-2, keepdim=True).expand(*q.shape[:-1], v.shape[-1]).clone()
    mixed[index] = weights @ v
    return mixed


def score_each(
    q: Float[Tensor, "*N T D"], k: Float[Tensor, "*N S D"], index: Int[Tensor, "T K"]
) -> Float[Tensor, "*N T K"]:
    """Return each query's scores on its own keys in the fastest way found.

    64 queries at a time, so that the gathered keys stay in the processor's cache.
    """
    parts = []
    for rows, keys in zip(q.split(64, -2), index.split(64), strict=True):
        gathered = k.index_select(-2, keys.flatten()).unflatten(-2, keys.shape)
        parts.append((gathered @ rows.unsqueeze(-1)).squeeze(-1))
    return torch.cat(parts, -2)


def lean(q: Tensor, k: Tensor, v: Tensor, allowed: None = None) -> Tensor:
    """Sample for each query as `published` does, but with everything else as fast as ours."""
    steps = q.shape[-2]
    with torch.no_grad():
        scores = score_each(q, k, sample_each(steps, k.shape[-2], count_active(k.shape[-2])))
        gain = scores.amax(-1) - scores.mean(-1)
    active = gain.topk(count_active(steps), sorted=False).indices[..., None]
    chosen = q.gather(-2, active.expand(*active.shape[:-1], q.shape[-1]))
    mixed = F.scaled_dot_product_attention(F.pad(chosen, (0, 0, 0, 1)), k, v)
    mixed, mean = mixed[..., :-1, :], mixed[..., -1:, :]
    return mean.expand(*q.shape[:-1], -1).scatter_add(-2, active.expand_as(mixed), mixed - mean)


def fused(q: Tensor, k: Tensor, v: Tensor, allowed: None = None) -> Tensor:
    """Apply PyTorch's own attention, which never stores the T · S weights."""
    return F.scaled_dot_product_attention(q, k, v)


RULES: dict[str, Rule] = {
    "ours": prob_sparse(),
    "published": published,
    "lean": lean,
    "fused": fused,
}


def seconds(rule: Rule, inputs: Sequence[Tensor], upstream: Tensor) -> float:
    """Return how long one call and its gradients take."""
    for x in inputs:
        x.grad = None
    start = time.perf_counter()
    rule(*inputs, None).backward(upstream)
    return time.perf_counter() - start


def measure(steps: int, rules: dict[str, Rule] = RULES, rounds: int | None = None) -> dict:
    """Time all rules in turn on the same inputs; the first round is not counted."""
    generator = torch.Generator().manual_seed(0)
    shape = (1, HEADS, steps, WIDTH)
    *inputs, upstream = (torch.randn(shape, generator=generator) for _ in range(4))
    for x in inputs:
        x.requires_grad_()
    times: dict[str, list[float]] = {name: [] for name in rules}
    rounds = ROUNDS[steps] if rounds is None else rounds
    for number in range(rounds + 1):
        for name, rule in rules.items():
            if name == "fused" and steps >= ONCE_FROM and number != 1:
                continue
            took = seconds(rule, inputs, upstream)
            if number:
                times[name].append(took)
    return times


def measure_growth(lengths: Sequence[int] = LENGTHS, rounds: int = 9) -> dict[int, list[float]]:
    """Time ours at all lengths in turn, so that a machine that slows down slows all of them."""
    times: dict[int, list[float]] = {n: [] for n in lengths}
    for _ in range(rounds):
        for n in lengths:
            times[n] += measure(n, {"ours": RULES["ours"]}, rounds=1)["ours"]
    return times


def exponent(lengths: Sequence[int], times: Sequence[float]) -> float:
    """Return the slope of log time against log length, by least squares."""
    x, y = ([math.log(value) for value in values] for values in (lengths, times))
    return statistics.linear_regression(x, y).slope


def report(
    found: dict[int, dict[str, list[float]]], growing: dict[int, list[float]] | None = None
) -> str:
    """Write the results as Markdown."""
    middle = {
        n: {name: statistics.median(times) for name, times in rows.items() if times}
        for n, rows in found.items()
    }
    lines = [
        "# ProbSparse: sampling for each query, fused attention, and ours",
        "",
        f"{date.today()} · {processor()}, {torch.get_num_threads()} thread · Python "
        f"{platform.python_version()} · torch {torch.__version__}. Made by `python -m "
        "benchmarks.probsparse`; one run, a process for each length, all rules in turn on the "
        f"same draws, float32, {HEADS} heads of {WIDTH}, batch 1, self-attention, factor 5.",
        "",
        "Forward and backward together, medians in ms. “Published” is our own statement of the "
        "paper's code, operation by operation (5 · ⌈ln T⌉ keys and queries, where we and the "
        "paper's text take ⌈5 · ln T⌉), without a Python loop. “Lean” samples keys for each query, "
        "too, but gathers them 64 queries at a time, so that they stay in the cache, keeps "
        "nothing for gradients, and has all else from ours: "
        "what is left is the price of sampling for each query.",
        "",
        "| T | ours | published | lean | fused | published : ours | lean : ours | fused : ours |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for n, row in sorted(middle.items()):
        times = " | ".join(f"{1e3 * row[name]:,.1f}" if name in row else "–" for name in RULES)
        ratios = " | ".join(
            f"{row[name] / row['ours']:.1f}" if name in row else "–"
            for name in ("published", "lean", "fused")
        )
        lines.append(f"| {n:,} | {times} | {ratios} |")
    lines += ["", "| growth of time with T, fitted | exponent | at most |", "|---|---|---|"]
    for name in RULES:
        known = [n for n in sorted(middle) if name in middle[n]]
        if len(known) > 1:
            power = exponent(known, [middle[n][name] for n in known])
            span = f"{known[0]:,} … {known[-1]:,}"
            lines.append(f"| {name}, {span} | {power:.2f} | {1.25 if name == 'ours' else '–'} |")
    if growing:
        power = exponent([*growing], [statistics.median(times) for times in growing.values()])
        span = f"{min(growing):,} … {max(growing):,}, all lengths in turn in one process"
        lines.append(f"| ours, {span} | {power:.2f} | 1.25 |")
    lines += ["", "| ratio | reached | at least |", "|---|---|---|"]
    for name, n, goal in (("published", 4096, 6), ("fused", 4096, 25), ("fused", 8192, 60)):
        if name in middle.get(n, {}):
            ratio = middle[n][name] / middle[n]["ours"]
            lines.append(f"| {name} : ours at {n:,} | {ratio:.1f} | {goal} |")
    return "\n".join([*lines, "", "![time against length](probsparse.png)", ""])


def draw(found: dict[int, dict[str, list[float]]]) -> None:
    """Draw time against length, both in powers of ten."""
    use_house_style()
    plt.figure(figsize=(8, 4.5))
    for name, marker in zip(RULES, "os^D", strict=True):
        known = [n for n in sorted(found) if found[n][name]]
        times = [1e3 * statistics.median(found[n][name]) for n in known]
        plt.plot(known, times, marker=marker, label=name)
    plt.xscale("log", base=2)
    plt.yscale("log")
    plt.gca().set(xlabel="steps T", ylabel="forward and backward (ms)")
    plt.legend()
    plt.savefig(HERE / "probsparse.png", dpi=110)
    plt.close()


def main(pieces: Sequence[str]) -> None:
    """Time the lengths asked for, each in a process of its own, and write what is known."""
    KEPT.mkdir(parents=True, exist_ok=True)
    for steps in pieces or [*map(str, LENGTHS), "growth"]:
        command = [sys.executable, "-m", "benchmarks.probsparse", "time", steps]
        one = {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
        subprocess.run(command, env=os.environ | one, check=True)
    found = {int(path.stem): json.loads(path.read_text()) for path in KEPT.glob("[0-9]*.json")}
    growth = KEPT / "growth.json"
    known = json.loads(growth.read_text()) if growth.exists() else {}
    text = report(found, {int(n): times for n, times in known.items()})
    print(text)
    (HERE / "probsparse.md").write_text(text, "utf-8")
    draw(found)


if __name__ == "__main__":
    torch.set_num_threads(1)
    if sys.argv[1:] == ["time", "growth"]:
        (KEPT / "growth.json").write_text(json.dumps(measure_growth()))
    elif sys.argv[1:2] == ["time"]:
        n = int(sys.argv[2])
        # Beyond 8,192 the gathered keys take gigabytes and the fused kernel minutes.
        names = RULES if n <= ONCE_FROM else ["ours", "lean"]
        times = measure(n, {name: RULES[name] for name in names})
        (KEPT / f"{n}.json").write_text(json.dumps({name: times.get(name, []) for name in RULES}))
    else:
        main(sys.argv[1:])

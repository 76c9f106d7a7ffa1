"""Names: the lecture's four recipes at full length, and ours, in one run.

    make bench

Trains for about ten minutes at one thread. Writes benchmarks/names.md and names.png.
"""

import platform
import statistics
import time
from collections.abc import Callable
from datetime import date
from itertools import repeat
from pathlib import Path

import matplotlib.pyplot as plt
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from benchmarks.anchors import (
    ANCHORS,
    OneLayerNormalised,
    descend,
    one_layer_normalised_of_modules,
    one_layer_of_modules,
    six_layers,
    train_anchor,
)
from coursekit import data
from coursekit.evaluate.likelihood import mean_nll, table_nll
from coursekit.models.mlp import MLP, MLPConfig
from coursekit.models.wavenet import PairFusion, PairFusionConfig
from coursekit.notebook.plot import use_house_style
from coursekit.tokens.vocabulary import Vocabulary
from coursekit.training.fit import fit
from coursekit.training.optimiser import adamw, warm_up_cosine
from coursekit.windows.tokens import draw_groups, group_windows, word_windows

HERE = Path(__file__).parent
VOCABULARY = Vocabulary(".abcdefghijklmnopqrstuvwxyz")
Curve = list[tuple[float, float]]


def train_mlp(train: Tensor, measure: Callable[[nn.Module], float]) -> tuple[nn.Module, Curve]:
    """Train as notebook 02b does: each context once, all of them in every step."""
    torch.manual_seed(42)
    model = MLP(MLPConfig(vocab_size=27, d_embedding=24))
    start = time.perf_counter()
    everything = group_windows(train, 27)
    grouping = time.perf_counter() - start  # part of the price
    return _fit(model, repeat(everything), measure, 400, lr=0.02, decay=0.5, before=grouping)


def train_wavenet(train: Tensor, measure: Callable[[nn.Module], float]) -> tuple[nn.Module, Curve]:
    """Train as notebook 04 does: the frequent contexts in every step, the others in turn."""
    torch.manual_seed(42)
    model = PairFusion(PairFusionConfig(vocab_size=27))
    start = time.perf_counter()
    groups = group_windows(train, 27)
    batches = draw_groups(*groups, 512, torch.Generator().manual_seed(42))
    grouping = time.perf_counter() - start
    return _fit(model, batches, measure, 1455, lr=0.01, decay=0.3, before=grouping)


def _fit(model, batches, measure, steps, *, lr, decay, before) -> tuple[nn.Module, Curve]:
    history = fit(
        model,
        adamw(model, lr, weight_decay=decay),
        batches,
        steps=steps,
        loss=table_nll,
        schedule=warm_up_cosine(steps),
        measure=lambda: measure(model),
        every=-(-steps // 15),
    )
    return model, [(before + history.seconds[step - 1], loss) for step, loss in history.measured]


def cost_of_a_step(make: Callable[[], nn.Module], train: Tensor, *, optimiser: bool) -> float:
    """Return the median microseconds of a step of 32 windows, over seven rounds."""
    torch.manual_seed(0)
    model, generator = make(), torch.Generator().manual_seed(0)
    parameters = list(model.parameters())
    sgd = torch.optim.SGD(parameters, lr=0.1)
    contexts, targets = train[:, :-1].contiguous(), train[:, -1].contiguous()
    rounds = []
    for _ in range(7):
        start = time.perf_counter()
        for _ in range(300):
            if not optimiser:
                descend(model, parameters, contexts, targets, generator, 0.1)
                continue
            picked = torch.randint(len(targets), (32,), generator=generator)
            loss = F.cross_entropy(model(contexts[picked]), targets[picked])
            sgd.zero_grad()
            loss.backward()
            sgd.step()
        rounds.append((time.perf_counter() - start) / 300 * 1e6)
    return statistics.median(rounds)


def main() -> None:
    """Run everything, print the table, write it and the figure."""
    words = data.split_words(data.names())
    sets = {c: [word_windows(part, VOCABULARY, c + 1) for part in words] for c in (3, 8)}
    rows, curves = [], {}

    def enter(name: str, context: int, outcome: tuple[nn.Module, Curve], published: str) -> float:
        model, curve = outcome
        _, dev, test = sets[context]
        seconds, loss = curve[-1][0], mean_nll(model, dev)
        size = sum(p.numel() for p in model.parameters())
        rows.append((name, size, seconds, published, loss, mean_nll(model, test)))
        curves[name] = curve
        print(f"{name}: {seconds:.1f} s, development {loss:.4f}", flush=True)
        return seconds

    def measure_on(context: int) -> Callable[[nn.Module], float]:
        return lambda model: mean_nll(model, sets[context][1])

    times = {}
    for name, anchor in ANCHORS.items():
        outcome = train_anchor(anchor, sets[anchor.context][0], measure_on(anchor.context))
        label = f"lecture: {name}"
        times[name] = enter(label, anchor.context, outcome, f"{anchor.published or 'none'}")
    mlp = enter("ours: MLP", 3, train_mlp(sets[3][0], measure_on(3)), "≤ 2.10")
    net = enter("ours: WaveNet", 8, train_wavenet(sets[8][0], measure_on(8)), "≤ 1.985")
    steps = {
        "one layer, bare tensors (the anchor)": (ANCHORS["one layer"].make, 3, False),
        "one layer, PyTorch's modules and SGD": (one_layer_of_modules, 3, True),
        "one layer, batch norm, bare tensors (the anchor)": (OneLayerNormalised, 3, False),
        "one layer, batch norm, PyTorch's modules and SGD": (
            one_layer_normalised_of_modules,
            3,
            True,
        ),
        "six layers, modules, bare descent (the anchor)": (six_layers, 3, False),
        "six layers, PyTorch's modules and SGD": (six_layers, 3, True),
        "WaveNet, modules, bare descent (the anchor)": (ANCHORS["WaveNet"].make, 8, False),
        "WaveNet, PyTorch's modules and SGD": (ANCHORS["WaveNet"].make, 8, True),
    }
    costs = {n: cost_of_a_step(m, sets[c][0], optimiser=o) for n, (m, c, o) in steps.items()}
    ratios = {
        "ours: MLP : one layer": mlp / times["one layer"],
        "ours: WaveNet : lecture's": net / times["WaveNet"],
    }
    text = report(rows, costs, ratios)
    print(text)
    (HERE / "names.md").write_text(text, "utf-8")
    draw(curves)


def report(rows: list[tuple], costs: dict[str, float], ratios: dict[str, float]) -> str:
    """Write the results as Markdown."""
    machine = f"{platform.machine()}, {torch.get_num_threads()} thread"
    lines = [
        "# Names: the lecture's recipes and ours",
        "",
        f"{date.today()} · {machine} · Python {platform.python_version()} · torch "
        f"{torch.__version__} · data: {data.provenance().get('names', 'none read')}."
        " Made by `make bench`; one run,"
        " one process. Losses are in nats a letter over the whole set; seconds are training only"
        " (ours include grouping the contexts).",
        "",
        "| recipe | parameters | seconds | published or target | development | test |",
        "|---|---|---|---|---|---|",
    ]
    for name, size, seconds, published, loss, test in rows:
        lines.append(
            f"| {name} | {size:,} | {seconds:.1f} | {published} | {loss:.4f} | {test:.4f} |"
        )
    lines += ["", "| time of | as a share |", "|---|---|"]
    lines += [f"| {name} | {ratio:.3f} |" for name, ratio in ratios.items()]
    lines += ["", "| a step of 32 windows | median µs |", "|---|---|"]
    lines += [f"| {name} | {cost:.0f} |" for name, cost in costs.items()]
    return "\n".join([*lines, "", "![loss against seconds](names.png)", ""])


def draw(curves: dict[str, Curve]) -> None:
    """Draw development loss against seconds."""
    use_house_style()
    plt.figure(figsize=(9, 5))
    for (name, curve), style in zip(
        curves.items(), ("--", "--", "--", "--", "-", "-"), strict=True
    ):
        seconds, losses = zip(*curve, strict=True)
        plt.plot(seconds, losses, style, marker="o", markersize=3, label=name)
    plt.xscale("log")
    plt.gca().xaxis.set_major_formatter("{x:g}")
    plt.gca().set(xlabel="seconds of training", ylabel="development loss (nats a letter)")
    plt.ylim(1.95, 2.5)
    plt.legend()
    plt.savefig(HERE / "names.png", dpi=110)


if __name__ == "__main__":
    main()

"""The longer runs that lessons show, and how each is made: `make record` (tools/record.py)."""

from dataclasses import dataclass, field
from typing import Any, Protocol

FIRST = 20
"""Steps of which a record keeps each loss, for the test that takes them again."""


class Run(Protocol):
    """A training run, on its way; its random numbers come from torch only."""

    def step(self) -> float:
        """Take the next step; return its loss."""

    def state_dict(self) -> dict[str, Any]:
        """Return what the rest depends on, but for torch's global generators, in plain values."""

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go back to where the run stood when `state_dict` returned this."""

    def result(self) -> dict[str, float]:
        """Return what is measured at the end, by name."""


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """How a recorded run is made.

    Attributes:
        code: what begins the run, as "module:name"; it is called with the seed, the device and the
            options and returns a `Run`.
        options: numbers and texts that tell this run from others of the same code.
        seed: where torch's generators start.
        steps: of the whole run.
        block: steps of which the curve keeps one mean; it divides the steps.
        data: the names of the data sets that it reads.
    """

    code: str
    options: dict[str, float | str] = field(default_factory=dict)
    seed: int = 42
    steps: int
    block: int = 1000
    data: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.block < FIRST or self.steps < self.block or self.steps % self.block:
            raise ValueError(
                f"steps={self.steps} are no whole number of blocks of {self.block} steps, "
                f"or a block has fewer than {FIRST}: choose others"
            )


def _four_starts(**options: float | str) -> Recipe:
    code = "tools.recipes.names:StartedNetwork"
    return Recipe(code=code, options=options, steps=200_000, data=("names",))


def _labels(seed: int, **options: float | str) -> Recipe:
    code = "tools.recipes.labels:FineTuned"
    return Recipe(code=code, options=options, seed=seed, steps=6000, block=500)


def _brief(seed: int, steps: int, name: str = "Brief", **options: float | str) -> Recipe:
    code, options = f"tools.recipes.brief:{name}", {"steps": steps, **options}
    return Recipe(code=code, options=options, seed=seed, steps=steps, block=100)


KINDS: dict[str, dict[str, float | str]] = {
    "bidirectional": {"rule": "attend", "pre_trained": 0},
    "bidirectional-pre-trained": {"rule": "attend", "pre_trained": 1},
    "causal": {"rule": "attend_past", "pre_trained": 0},
    "causal-pre-trained": {"rule": "attend_past", "pre_trained": 1},
}
VARIED: dict[str, dict[str, float | str]] = {
    "": {},
    "-mean": {"pooling": "mean"},
    "-slow": {"lr": 0.002},
    "-fast": {"lr": 0.01},
}
CHOSEN = {
    "bidirectional": "",
    "bidirectional-pre-trained": "-fast",
    "causal": "-mean",
    "causal-pre-trained": "",
}
"""Which of these is best for each kind, by the mean over four seeds on the validation statements.

So each goes to other draws of templates.
"""

RECIPES = {
    "names-wild": _four_starts(hidden_scale=1.0, output_scale=1.0),
    "names-small-last-layer": _four_starts(hidden_scale=1.0, output_scale=0.01),
    "names-scaled": _four_starts(hidden_scale=5 / 3 / 30**0.5, output_scale=0.01),
    "names-batch-norm": Recipe(
        code="tools.recipes.names:NormalisedNetwork", steps=200_000, data=("names",)
    ),
}
RECIPES |= {
    f"labels-2176-6000-{kind}{name}-{seed}": _labels(seed, **options, **varied)
    for kind, options in KINDS.items()
    for name, varied in VARIED.items()
    for seed in range(4)
}
RECIPES |= {
    f"labels-2176-6000-bidirectional-pre-trained-cls-{seed}": _labels(
        seed, **KINDS["bidirectional-pre-trained"], pooling="first"
    )
    for seed in range(4)
}
RECIPES |= {
    f"labels-2176-6000-{kind}{CHOSEN[kind]}-split-{split}": _labels(
        0, split=split, **KINDS[kind], **VARIED[CHOSEN[kind]]
    )
    for kind in KINDS
    for split in range(1, 7)
}
RECIPES |= {
    f"labels-2176-1500-{kind}-{seed}": _brief(seed, 1500, **options)
    for kind, options in KINDS.items()
    for seed in range(12)
}
RECIPES |= {  # of lesson 10g, and from here on of 10h
    f"labels-272-1000-causal-{seed}": _brief(seed, 1000, every=8, **KINDS["causal"])
    for seed in range(12)
}
RECIPES |= {
    f"labels-272-{steps}-{kind}-mean-{seed}": _brief(
        seed, steps, name, every=8, **KINDS[kind], **VARIED["-mean"]
    )
    for steps, name in ((1000, "Brief"), (3000, "Half"), (6000, "Long"), (12000, "Double"))
    for kind in ("causal", "causal-pre-trained")
    for seed in range(12)
}
RECIPES |= {  # 2,000 steps with text and 500 with labels; 500 and 4,000
    f"labels-272-{steps}-causal-pre-trained-mean-{seed}": _brief(
        seed, steps, name, every=8, **KINDS["causal-pre-trained"], **VARIED["-mean"]
    )
    for steps, name in ((2500, "Long"), (4500, "Brief"))
    for seed in range(12)
}
RECIPES |= {
    f"labels-2176-1000-{kind}{name}-{seed}": _brief(
        seed, 1000, every=1, **KINDS[kind], **VARIED[name]
    )
    for kind in ("causal", "causal-pre-trained")
    for name in ("", "-mean")
    for seed in range(12)
}
RECIPES |= {  # with dropout and more weight decay
    f"labels-272-6000-{kind}-mean-regularised-{seed}": _brief(
        seed, 6000, "Swapped", every=8, **KINDS[kind], **VARIED["-mean"]
    )
    for kind in ("causal", "causal-pre-trained")
    for seed in range(12)
}
OTHERS: dict[str, tuple[str, dict[str, float | str]]] = {
    "slow": ("Regularised", VARIED["-slow"]),
    "fast": ("Regularised", VARIED["-fast"]),
    "less": ("Dropping", {"dropout": 0.1}),
    "more": ("Dropping", {"dropout": 0.4}),
}
"""Other settings of a regularised run, of which each kind may have its own."""
RECIPES |= {
    f"labels-272-6000-{kind}-mean-regularised-{name}-{seed}": _brief(
        seed, 6000, code, every=8, **KINDS[kind], **VARIED["-mean"], **options
    )
    for kind in ("causal", "causal-pre-trained")
    for name, (code, options) in OTHERS.items()
    for seed in range(4)
}
RECIPES |= {
    f"labels-272-12000-{kind}-mean-regularised-{seed}": _brief(
        seed, 12000, name, every=8, **KINDS[kind], **VARIED["-mean"]
    )
    for kind, name in (("causal", "Regularised"), ("causal-pre-trained", "RegularisedDouble"))
    for seed in range(12)
}
STARTS: dict[str, dict[str, float | str]] = {
    "norm-first": {"std": 0.02, "norm_first": 1},
    "wide": {"std": 0.18, "norm_first": 0},
    "norm-first-wide": {"std": 0.18, "norm_first": 1},
}
"""Other first weights: 0.18 is one over the root of the width, 32."""
RECIPES |= {
    f"labels-272-6000-causal-mean-regularised-{name}-{seed}": _brief(
        seed, 6000, "Rescaled", every=8, **KINDS["causal"], **VARIED["-mean"], **options
    )
    for name, options in STARTS.items()
    for seed in range(4)
}
RECIPES |= {
    f"labels-272-12000-{kind}-mean-regularised-norm-first-wide-{seed}": _brief(
        seed,
        12000,
        "RescaledDouble",
        every=8,
        **KINDS[kind],
        **VARIED["-mean"],
        **STARTS["norm-first-wide"],
    )
    for kind in ("causal", "causal-pre-trained")
    for seed in range(12)
}
THINNED: dict[str, dict[str, float | str]] = {
    "136-12000-causal": {"thin": 2, "pre_trained": 0},
    "136-12000-causal-pre-trained": {"thin": 2, "pre_trained": 1},
    "136-12000-causal-pre-trained-labelled": {"thin": 2, "pre_trained": 1, "reading": "labelled"},
    "136-12000-causal-pre-trained-quiet": {"thin": 2, "pre_trained": 1, "reading": "quiet"},
    "136-12000-elsewhere-causal": {"thin": 2, "pre_trained": 0, "place": 1},
    "136-12000-elsewhere-causal-pre-trained": {"thin": 2, "pre_trained": 1, "place": 1},
    "204-12000-causal": {"thin": 4, "pre_trained": 0, "place": 1},
    "204-12000-causal-pre-trained": {"thin": 4, "pre_trained": 1, "place": 1},
    "68-12000-causal": {"thin": 4, "pre_trained": 0},
    "68-12000-causal-pre-trained": {"thin": 4, "pre_trained": 1},
}
"""Some of the 272 labels, for networks with all that helped with those."""
RECIPES |= {
    f"labels-{name}-mean-regularised-norm-first-wide-{seed}": _brief(
        seed,
        12000,
        "AllBut" if name.startswith("204-") else "Thinned",
        every=8,
        rule="attend_past",
        **VARIED["-mean"],
        **STARTS["norm-first-wide"],
        **options,
    )
    for name, options in THINNED.items()
    for seed in range(12)
}
LACKING: dict[str, str] = {
    "132-12000-causal": "{t} it was not a {o} {s} .",
    "132-12000-control-causal": "{t} the {s} was not {o} .",
}
"""Of the 136 labels all but those of a template: one that plain statements look like, or not."""
RECIPES |= {
    f"labels-{name}-mean-regularised-norm-first-wide-{seed}": _brief(
        seed,
        12000,
        "Lacking",
        every=8,
        rule="attend_past",
        without=without,
        **THINNED["136-12000-causal"],
        **VARIED["-mean"],
        **STARTS["norm-first-wide"],
    )
    for name, without in LACKING.items()
    for seed in range(12)
}
RECIPES |= {  # other settings for the baseline with 136 labels
    f"labels-136-12000-causal-mean-regularised-norm-first-wide-{name}-{seed}": _brief(
        seed,
        12000,
        code,
        every=8,
        rule="attend_past",
        **THINNED["136-12000-causal"],
        **VARIED["-mean"],
        **STARTS["norm-first-wide"],
        **options,
    )
    for name, code, options in (
        ("less", "ThinnedDropping", {"dropout": 0.1}),
        ("more", "ThinnedDropping", {"dropout": 0.4}),
        ("slow", "Thinned", {"lr": 0.002}),
    )
    for seed in range(12 if name == "less" else 4)
}
"""Each recorded run by its name, which is that of its file in notebooks/recorded."""

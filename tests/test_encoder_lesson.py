"""What lesson 10 states and no cell of it measures, by its own models and loops."""

import ast
from pathlib import Path

import numpy as np
import pytest
import torch

from coursekit.data.statements import DOMAINS, number_words, statements
from tools.source import find_lessons, load

KEPT = {"train", "ids", "our_layer", "readable", "hide", "tokens"}
DEFINES = ast.Import | ast.ImportFrom | ast.FunctionDef | ast.ClassDef


@pytest.fixture
def lesson():
    """What the lesson defines, with nothing trained: stubs stand for the exercises."""
    (found,) = find_lessons(Path(__file__).parents[1], "10")
    room = {"__name__": "lesson", "device": torch.device("cpu")}
    for cell in load(found).cells[2:]:
        if cell.cell_type == "code":
            nodes = [node for node in ast.parse(cell.source).body if _is_kept(node)]
            exec(compile(ast.Module(nodes, []), found.name, "exec"), room)
    return room


def _is_kept(node):
    if isinstance(node, ast.Assign):
        names = {part.id for part in ast.walk(node.targets[0]) if isinstance(part, ast.Name)}
        return bool(names & KEPT)
    return isinstance(node, DEFINES)


def find_dry(test):
    """Statements in which the thing follows *dry*: texts, where *dry* is, the things."""
    kinds = {thing: kind for kind in ("kitchen", "weather") for thing in DOMAINS[kind][0].split()}
    found = []
    for one in test:
        before, _, after = one.text.partition(" dry ")
        thing = after.split(" ")[0]
        if thing in kinds and thing not in before.split():
            found.append((one.text, len(before.split()) + 1, thing, kinds[thing]))
    return found


@pytest.mark.lesson
def test_in_new_statements_the_nearest_dry_has_the_same_topic(lesson):
    texts, at, things, kinds = map(list, zip(*find_dry(lesson["test"]), strict=True))
    assert len(texts) == 39
    x = lesson["our_batch"](texts)
    others = torch.tensor([[a != b for a in things] for b in things])
    same_kind = torch.tensor([[a == b for a in kinds] for b in kinds])

    @torch.no_grad()
    def right(model):
        v = model.encoder(x, lesson["readable"](x))[range(39), at].double()
        apart = torch.cdist(v, v).where(others, torch.inf)
        return same_kind[range(39), apart.argmin(1)].double().mean().item()

    torch.manual_seed(0)
    n = len(lesson["ids"])
    untrained = lesson["OurModel"](lesson["OurEncoder"](n), n)
    blind = ((same_kind & others).sum(1) / others.sum(1)).mean().item()
    assert 0.35 < blind < 0.4
    assert right(untrained) < 0.6
    assert right(lesson["pretrain"](0, lesson["hide_some"])) > 0.7


@pytest.mark.lesson
@pytest.mark.parametrize("change", ["another split", "a mean head"])
def test_one_way_is_better_with_another_split_and_another_head_too(lesson, change):
    train, _, test = statements(split=7) if change == "another split" else statements()
    if change == "another split":
        lesson["ids"] = number_words([one.text for one in train])
    else:
        lesson["OurClassifier"] = _average(lesson)
    right = []
    for causal in (False, True):
        models = [lesson["fine_tune"](None, seed, causal, train) for seed in (0, 1)]
        right.append(np.mean([lesson["accuracy"](model, test) for model in models]))
    assert right[0] + 3 < right[1]


@pytest.mark.lesson
def test_the_order_of_the_same_statements_decides_what_is_learned_of_nobody(lesson):
    train, _, test = statements()
    nobody = [one for one in test if one.template == "nobody found the {s} {o} {t} ."]
    template = "nobody found the {s} {o} so {r} ."
    full = [one for one in train if one.template == template]
    moved = [one for one in train if one.template != template] + full

    def right(part):
        models = [lesson["fine_tune"](None, seed, part=part) for seed in (0, 2)]
        return np.mean([lesson["accuracy"](model, nobody) for model in models])

    assert len(nobody) == len(full) == 64
    assert abs(right(moved) - right(train)) > 10


def _average(lesson):
    class Average(lesson["OurModel"]):
        """A head that reads the mean of all vectors but those of padding."""

        def forward(self, tokens):
            present = (tokens > 0)[..., None]
            vectors = self.encoder(tokens, lesson["readable"](tokens))
            return self.head((vectors * present).sum(1) / present.sum(1))

    return Average

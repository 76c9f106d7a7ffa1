"""What a lesson defines, for tests that go on with its own models and loops."""

import ast
from pathlib import Path

import torch

from tools.source import find_lessons, load

KEPT = {
    *("few", "size", "forms", "names", "decays", "pairs_of", "matching", "word_loss"),
    *("train", "ids", "our_layer", "readable", "hide", "tokens", "known", "new", "sizes", "last"),
    *("learn", "forbid_it", "pick", "patch", "look", "pair", "kitchen", "gap", "shorten"),
}
"""Names that are assigned in lessons 10 and 10c to 10e, cheaply, and that their functions use."""
DEFINES = ast.Import | ast.ImportFrom | ast.FunctionDef | ast.ClassDef


def define(number):
    """Return what a lesson defines, with nothing trained: stubs stand for the exercises."""
    (found,) = find_lessons(Path(__file__).parents[1], number)
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

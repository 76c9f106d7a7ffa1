"""The hash of a recipe's code: what changes it, and what doesn't, in a small clone made for it."""

import pytest

from tools.code_hash import find_definitions, hash_code
from tools.record import ROOT

FILES = {
    "kit/__init__.py": "",
    "kit/layers.py": '''
from kit import sizes
from kit.errors import refuse


class Layer:
    """Scale."""

    def __call__(self, x: float) -> float:
        """Return x, scaled."""
        if x < 0:
            raise ValueError(f"{x} is below 0: take another")
        text = f"{x:{sizes.OTHER}} {{}}"
        return sizes.SCALE * refuse(x)


def unused():
    return 1
''',
    "kit/sizes.py": "SCALE = 3\nOTHER = 4\nFREE = 6\nBIG: int = 5\n",
    "kit/errors.py": "if True:\n\n    def refuse(x):\n        return x\n",
    "kit/late.py": "def late():\n    return 1\n",
    "coursekit/__init__.py": "",
    "coursekit/fetch.py": "class Dataset:\n    def __init__(self, about): ...\n",
    "coursekit/settings.py": "def folder(): ...\n",
    "recipe.py": '''
"""A recipe."""
import math

import kit.sizes as s
from coursekit.fetch import Dataset
from coursekit.settings import folder
from kit.layers import Layer

NAMES = Dataset(about="names")


def begin(seed: int) -> float:
    """Begin."""
    from kit.late import late

    # a comment
    return Layer()(seed) + s.BIG + late() + len(NAMES, folder()) + math.pi
''',
}
USED = [
    *("kit.errors:refuse", "kit.late:late", "kit.layers:Layer", "kit.sizes:BIG"),
    *("kit.sizes:OTHER", "kit.sizes:SCALE", "recipe:begin"),
]


@pytest.fixture
def clone(tmp_path):
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(exist_ok=True, parents=True)
        (tmp_path / name).write_text(text)
    return tmp_path


def hashes(clone, file, old, new):
    """Return the hash before and after a change."""
    before = hash_code("recipe:begin", clone)
    text = (clone / file).read_text()
    assert text.count(old) == 1
    (clone / file).write_text(text.replace(old, new))
    return before, hash_code("recipe:begin", clone)


def test_what_a_recipe_uses_is_found_wherever_it_is_defined(clone):
    assert sorted(find_definitions("recipe:begin", clone)) == USED


def test_a_name_that_only_passes_through_a_module_leads_to_its_home(clone):
    assert [*find_definitions("kit.layers:refuse", clone)] == ["kit.errors:refuse"]


@pytest.mark.parametrize(
    ("file", "old", "new"),
    [
        ("recipe.py", "s.BIG +", "s.BIG -"),
        ("recipe.py", "math.pi", "math.tau"),
        ("recipe.py", "s.BIG", "s.OTHER"),
        ("recipe.py", "seed: int)", "seed: int = 3)"),
        ("kit/sizes.py", "SCALE = 3", "SCALE = 3.0"),
        ("kit/sizes.py", "BIG: int = 5", "BIG: int = 6"),
        ("kit/layers.py", "class Layer:", "class Layer(dict):"),
        ("kit/layers.py", "if x < 0", "if x <= 0"),
        ("kit/layers.py", "raise ValueError", "raise TypeError"),
        ("kit/errors.py", "return x", "return -x"),
        ("kit/late.py", "return 1", "return None"),
    ],
)
def test_a_change_of_what_is_used_is_noticed(clone, file, old, new):
    before, after = hashes(clone, file, old, new)
    assert after != before


@pytest.mark.parametrize(
    ("file", "old", "new"),
    [
        ("recipe.py", "# a comment", "# another"),
        ("recipe.py", '"""Begin."""', '"""Begin the run."""'),
        ("recipe.py", '    """Begin."""\n', ""),
        ("recipe.py", "(seed: int) -> float", "(seed)"),
        ("recipe.py", 'about="names"', 'about="first names"'),
        ("recipe.py", "Layer()(seed) +", "(\n        Layer()(seed)) +"),
        ("kit/layers.py", "return 1", "return 2"),
        ("kit/layers.py", "is below 0: take another", "is negative: take one above 0"),
        ("kit/sizes.py", "FREE = 6", "FREE = 7"),
        ("coursekit/fetch.py", "self, about", "self, about, size"),
        ("coursekit/settings.py", "folder()", "folder(name=None)"),
    ],
)
def test_a_comment_and_code_that_is_not_used_leave_it_as_it_is(clone, file, old, new):
    before, after = hashes(clone, file, old, new)
    assert after == before


def test_the_hash_is_the_same_in_every_python(clone):
    assert hash_code("recipe:begin", clone) == "b3acabd74eeb40e4"


@pytest.mark.parametrize("reference", ["recipe:start", "recipes:begin", "recipe", "math:pi"])
def test_a_reference_to_nothing_is_refused(clone, reference):
    with pytest.raises(ValueError, match=rf"^{reference} is not defined below .*: correct the rec"):
        hash_code(reference, clone)


def test_a_recipe_depends_on_the_layers_of_its_model_and_not_on_how_its_data_come():
    found = find_definitions("tools.recipes.names:NormalisedNetwork", ROOT)
    needed = {
        *("tools.recipes.names:StartedNetwork", "tools.recipes.names:BATCH_SEED"),
        *("coursekit.models.mlp:MLP", "coursekit.layers.basic:BatchNorm1d"),
        *("coursekit.data.text:split_words", "coursekit.windows.tokens:slide_windows"),
    }
    assert needed <= found.keys()
    assert not [name for name in found if name.startswith("coursekit.fetch") or "NAMES" in name]

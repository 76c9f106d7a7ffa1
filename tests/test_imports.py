"""What is loaded when, seen from a fresh process."""

import subprocess
import sys
from pathlib import Path

import pytest

HEAVY = ["torch", "numpy", "matplotlib", "pandas", "seaborn", "IPython", "ipywidgets", "jaxtyping"]


def loaded_by(*arguments):
    """Run Python and return the top-level modules that it imported."""
    run = subprocess.run(
        [sys.executable, "-X", "importtime", *arguments],
        cwd=Path(__file__).parent.parent,
        capture_output=True,
        text=True,
        check=True,
    )
    lines = [line for line in run.stderr.splitlines() if line.startswith("import time:")]
    return {line.rpartition("|")[2].strip().partition(".")[0] for line in lines}


@pytest.mark.parametrize(
    "arguments",
    [
        ("-c", "import coursekit"),
        ("-c", "import coursekit.tokens.vocabulary"),
        ("-m", "coursekit", "--help"),
        ("-m", "tools", "run", "--help"),
    ],
)
def test_a_light_command_loads_nothing_heavy(arguments):
    loaded = loaded_by(*arguments)
    assert "coursekit" in loaded or "runpy" in loaded
    assert not loaded.intersection(HEAVY)


def test_reading_texts_loads_no_torch():
    assert "torch" not in loaded_by("-c", "import coursekit.data")

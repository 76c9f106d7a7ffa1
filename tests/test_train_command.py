"""`python -m coursekit train gpt` on a text of ours: what it prints, keeps and refuses."""

import os
import re
import subprocess
import sys
from dataclasses import fields
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch

from coursekit.__main__ import main
from coursekit.commands import train_gpt as job
from coursekit.commands.recipe import Recipe
from coursekit.commands.train_gpt import load_gpt, train_gpt
from coursekit.data import NEWS
from coursekit.evaluate.likelihood import next_token_loss, text_nll
from coursekit.models.gpt import GPTConfig
from coursekit.training import distributed
from coursekit.training.checkpoint import load_checkpoint
from tools.__main__ import main as tools_main

ROOT = Path(__file__).parents[1]
SIZES = {"batch_size": 4, "context": 8, "n_layer": 1, "n_head": 2, "d_model": 16, "steps": 6}
TINY = [word for k, v in SIZES.items() for word in (f"--{k.replace('_', '-')}", str(v))]


@pytest.fixture(autouse=True)
def short_text(bare, monkeypatch):
    monkeypatch.setenv("COURSEKIT_PLAIN", "1")
    monkeypatch.setattr(job, "shakespeare", lambda: NEWS)


def train(out, *words):
    return main(["train", "gpt", "--out", str(out), *TINY, "--every", "3", *words])


def history(out):
    return load_checkpoint(out / "checkpoint.pt")["history"]


def test_it_prints_losses_and_a_sample_and_keeps_the_model(tmp_path, capsys):
    assert train(tmp_path / "deep" / "run") == 0
    printed = capsys.readouterr().out
    values = [float(v) for v in re.findall(r"validation loss (\d+\.\d{4}) nats", printed)]
    assert len(values) == 2
    assert re.findall(r"step +(\d+):", printed) == ["3", "6"]
    model, vocabulary = load_gpt(tmp_path / "deep" / "run")
    tokens = torch.tensor(vocabulary.encode(NEWS))
    validation = tokens[int(0.9 * len(tokens)) :]
    assert text_nll(model, validation) == pytest.approx(values[-1], abs=1e-4)
    assert len(printed.rsplit("\n", 2)[0]) > 300  # the sample


def test_the_same_command_gives_the_same_run(tmp_path):
    for name in "ab":
        torch.manual_seed(ord(name))
        train(tmp_path / name, "--dropout", "0.2")
    assert history(tmp_path / "a")["losses"] == history(tmp_path / "b")["losses"]
    train(tmp_path / "c", "--dropout", "0.2", "--seed", "1")
    assert history(tmp_path / "a")["losses"] != history(tmp_path / "c")["losses"]


def test_it_resumes_and_begins_where_there_is_nothing_to_resume(tmp_path, capsys, monkeypatch):
    assert train(tmp_path / "whole") == 0

    def stop(model, tokens):
        if stop.left == 0:
            raise KeyboardInterrupt
        stop.left -= 1
        return 1.5

    stop.left = 1
    monkeypatch.setattr(job, "text_nll", stop)
    assert train(tmp_path / "run", "--resume") == 130
    assert len(history(tmp_path / "run")["losses"]) == 3
    stop.left = 1
    capsys.readouterr()
    assert train(tmp_path / "run", "--resume") == 0
    assert re.findall(r"step +(\d+):", capsys.readouterr().out) == ["6"]
    assert history(tmp_path / "run")["losses"] == history(tmp_path / "whole")["losses"]


@pytest.mark.parametrize(
    "words", ["--precision bfloat16", "--precision float16", "--micro-batches 2"]
)
def test_other_ways_to_compute_a_step_learn_the_same(tmp_path, words):
    train(tmp_path / "plain")
    assert train(tmp_path / "other", *words.split()) == 0
    plain, other = history(tmp_path / "plain")["losses"], history(tmp_path / "other")["losses"]
    # bfloat16 keeps 8 bits of each factor; 2⁻⁸ of a loss near 3 is 0.01.
    torch.testing.assert_close(other, plain, atol=0.02 if "precision" in words else 1e-5, rtol=0)
    if "precision" in words:
        assert other != plain


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("--steps 0", "steps, batch size and micro-batches must be at least 1"),
        ("--micro-batches 0", "steps, batch size and micro-batches must be at least 1"),
        ("--every 0", "every=0 must be at least 1 step"),
        ("--lr 0", "lr=0.0 must be above 0: try 0.003"),
        ("--lr nan", "lr=nan must be above 0"),
        ("--lr 1e9 --steps 50", r"the loss is \w+ at step \d+: lower the learning rate"),
        ("--precision int8", "precision='int8': use float32, bfloat16 or float16"),
        ("--n-head 3", "d_model=16 is not a multiple of n_head=3"),
        ("--dropout 1.5", "a dropout outside 0"),
        ("--context 5000", "need a text of 5001 tokens"),
        ("--micro-batches 3", r"a batch of 4 rows can't be split evenly .*: choose a batch size"),
        ("--device toaster", "device 'toaster' can't be used .*: try 'cpu'"),
    ],
)
def test_bad_input_ends_in_one_sentence(tmp_path, capsys, words, message):
    assert train(tmp_path / "run", *words.split()) == 2
    error = capsys.readouterr().err
    assert re.match(f"coursekit: .*{message}", error)
    assert error.count("\n") == 1
    assert not list(tmp_path.glob("*/*"))


def test_a_word_in_place_of_a_number_is_refused(tmp_path, capsys):
    with pytest.raises(SystemExit) as ended:
        train(tmp_path, "--seed", "x")
    assert ended.value.code == 2
    assert "argument --seed: invalid int value: 'x'" in capsys.readouterr().err


def test_a_place_that_cannot_hold_a_run_is_refused(tmp_path, capsys):
    (tmp_path / "file").touch()
    assert train(tmp_path / "file") == 2
    assert "file is not a folder: name another one" in capsys.readouterr().err
    assert train(tmp_path / "file" / "below") == 2
    assert "coursekit: " in capsys.readouterr().err


def test_a_run_in_the_way_and_another_recipe_are_refused(tmp_path, capsys):
    train(tmp_path)
    assert train(tmp_path) == 2
    assert re.search(r"holds a run: resume it \(--resume\), or choose", capsys.readouterr().err)
    assert train(tmp_path, "--resume", "--d-model", "32") == 2
    assert "holds a run with d_model=16, not 32: resume it as" in capsys.readouterr().err


def test_a_broken_checkpoint_is_refused(tmp_path, capsys):
    train(tmp_path)
    file = tmp_path / "checkpoint.pt"
    file.write_bytes(file.read_bytes()[:-100])
    assert train(tmp_path, "--resume") == 2
    assert "is no whole checkpoint" in capsys.readouterr().err


def test_every_setting_reaches_the_training(tmp_path, monkeypatch):
    """Each one is given another value than its default; what is not a setting is as documented."""
    given = {}

    def record(name):
        def stand_in(*inputs, **options):
            given[name] = (inputs, options)
            return getattr(real, name)(*inputs, **options)

        return stand_in

    real = SimpleNamespace(
        **{name: getattr(job, name) for name in ("adamw", "draw_spans", "warm_up_cosine")},
        **{name: getattr(job, name) for name in ("fit", "Engine", "sample_text")},
    )
    for name in vars(real):
        monkeypatch.setattr(job, name, record(name))
    recipe = {"batch_size": 6, "context": 8, "n_layer": 1, "n_head": 2, "d_model": 16, "steps": 5}
    recipe |= {"dropout": 0.25, "lr": 0.02, "precision": "bfloat16", "micro_batches": 3, "seed": 7}
    train_gpt(Recipe(**recipe), tmp_path, every=2, resume=True)
    (model, _, _), options = given["fit"]
    sizes = {"vocab_size": model.config.vocab_size, "context": 8, "n_layer": 1, "n_head": 2}
    assert model.config == GPTConfig(**sizes, d_model=16, dropout=0.25)
    assert (options["steps"], options["clip"], options["every"]) == (5, 1.0, 2)
    assert options["loss"] is next_token_loss
    assert given["adamw"] == ((model, 0.02), {"weight_decay": 0.1})
    assert given["warm_up_cosine"] == ((5,), {"warm": 0.05, "floor": 0.1})
    assert given["Engine"] == ((torch.bfloat16, 3), {})
    text, *spans = given["draw_spans"][0]
    assert len(text) == int(0.9 * len(NEWS))
    assert [*spans[:2], spans[2].initial_seed()] == [8, 6, 7]
    kept = options["checkpoint"]
    assert (kept.path, kept.every, kept.resume) == (tmp_path / "checkpoint.pt", 2, True)
    assert kept.config == recipe | {"characters": "".join(sorted(set(NEWS)))}
    assert given["sample_text"][0][2:4] == ("\n", 300)


def test_a_loaded_model_is_ready_to_be_used(tmp_path):
    train(tmp_path, "--dropout", "0.5")
    model, vocabulary = load_gpt(tmp_path)
    tokens = torch.tensor([vocabulary.encode(NEWS[:8])])
    assert not any(part.training for part in model.modules())
    assert torch.equal(model(tokens), model(tokens))


def test_each_process_drops_other_numbers_out(monkeypatch, tmp_path):
    seeds = []
    monkeypatch.setattr(job, "seed_everything", seeds.append)
    monkeypatch.setattr(job, "rank", lambda: 3)
    train_gpt(Recipe(**SIZES, seed=5), tmp_path)
    assert seeds == [5, 8]


def test_the_help_names_every_default(capsys):
    with pytest.raises(SystemExit):
        main(["train", "--help"])
    words = " ".join(capsys.readouterr().out.split())
    for one in fields(Recipe):
        assert f"--{one.name.replace('_', '-')} " in words
        assert f"({one.default})" in words
    assert "(build/gpt)" in words
    assert "checkpoints (500)" in words


def test_help_loads_nothing_heavy():
    code = "import sys, coursekit.__main__; print('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT)
    assert done.stdout.strip() == "False", done.stderr


def test_a_lost_process_ends_with_code_1_and_the_remedy(tmp_path, capsys, monkeypatch):
    def lose(*_, **__):
        raise distributed.LostProcessError("process 0 of 2 lost another one")

    codes = []
    monkeypatch.setattr(job, "train_gpt", lose)
    monkeypatch.setattr(os, "_exit", codes.append)
    train(tmp_path)
    assert codes == [1]
    assert capsys.readouterr().err == (
        "coursekit: process 0 of 2 lost another one: to go on, run the same command with --resume\n"
    )


def test_notebooks_run_on_no_device_that_is_not_there(capsys, monkeypatch):
    assert tools_main(["run", "01", "--force", "--device", "cuda:99"]) == 2
    assert "tools: device 'cuda:99' can't be used" in capsys.readouterr().err
    assert "COURSEKIT_DEVICE" not in os.environ


def test_make_runs_every_notebook_on_the_gpu():
    makefile = (ROOT / "Makefile").read_text("utf-8")
    recipe = re.search(r"^test-gpu:.*\n\t(.+)$", makefile, re.MULTILINE)[1]
    assert "tools run $(NB) --force --device cuda" in recipe

"""Models and what they read meet on one device: the library, and the notebooks that train."""

import subprocess
import sys
from itertools import islice
from pathlib import Path

import pytest
import torch
from torch import nn

from coursekit.device import compare_with_cpu
from coursekit.evaluate.likelihood import mean_nll, next_token_loss, text_nll
from coursekit.inside.certify import certify
from coursekit.inside.diagnose import UpdateLog, measure_batch_noise, take_snapshot
from coursekit.layers.attention import attend_past
from coursekit.models.gpt import GPT, GPTConfig, modern_gpt
from coursekit.models.mlp import MLP, MLPConfig
from coursekit.models.ngram import NGram
from coursekit.models.wavenet import DilatedFusion, PairFusion, PairFusionConfig
from coursekit.sample import generate, pick_by_chance
from coursekit.training.fit import fit
from coursekit.training.optimiser import adamw, muon
from coursekit.windows.tokens import draw_batches, draw_spans
from tests import pretend_device

ROOT = Path(__file__).parents[1]
TOKENS = torch.randint(7, (90,), generator=torch.Generator().manual_seed(1))
ON_THE_CPU = {"09_autoregressive_models", "09b_linear_series"}
"""Lessons that stay on the CPU whatever device is given. The list may only become less."""
GPTS = {"GPT": (GPT, adamw), "modern GPT": (modern_gpt, lambda m, r: muon(m, r, rest_lr=r))}
TREES = {
    "MLP": lambda: MLP(MLPConfig(vocab_size=7, context=4, d_hidden=5, normalised=True)),
    "PairFusion": lambda: PairFusion(PairFusionConfig(vocab_size=7, context=4, d_hidden=5)),
}


def chance():
    return torch.Generator().manual_seed(3)


def use_gpt(name, device):
    """Train, score and sample a small GPT."""
    torch.manual_seed(0)
    make, optimiser = GPTS[name]
    model = make(GPTConfig(vocab_size=7, context=8, n_layer=2, n_head=2, d_model=8)).to(device)
    options = {"steps": 3, "loss": next_token_loss, "clip": 1.0}
    batches = draw_spans(TOKENS, 8, 4, chance())
    history = fit(model, optimiser(model, 0.01), batches, **options)
    plain, cached = (
        list(islice(generate(model, [1], pick_by_chance(chance()), cached=c), 12))
        for c in (False, True)
    )
    assert plain == cached
    return [*history.losses, text_nll(model, TOKENS), text_nll(model, TOKENS, stride=3), *plain]


def use_tree(name, device):
    """Train, look into, score and sample a small network that reads windows."""
    torch.manual_seed(0)
    model, windows = TREES[name]().to(device), TOKENS.unfold(0, 5, 1)
    log = UpdateLog(model)
    optimiser, batches = adamw(model, 0.01), draw_batches(windows, 6, chance())
    history = fit(model, optimiser, batches, steps=3, after_step=log)
    shot = take_snapshot(model, windows[:, :4], windows[:, 4], watch=nn.Tanh)
    parts = (shot.outputs, shot.gradients, shot.weights, shot.weight_gradients)
    sizes = [x.numpy().std() for part in parts for x in part.values()]
    noise = measure_batch_noise(model, windows, [2, 4], chance(), draws=5)
    drawn = list(islice(generate(model, [0] * 4, pick_by_chance(chance())), 9))
    scores = [mean_nll(model, windows), *noise, *(r[-1] for r in log.ratios.values())]
    return [*history.losses, shot.loss, *map(float, sizes), *scores, *drawn]


def use_stack(device):
    """Sample the convolutions that a tree is, and score a table of counts."""
    torch.manual_seed(0)
    stack = DilatedFusion(TREES["PairFusion"]().to(device).eval())
    drawn = list(islice(generate(stack, [0] * 4, pick_by_chance(chance()), cached=True), 9))
    table = NGram(torch.full((7, 7), 1 / 7)).to(device)
    return [*drawn, mean_nll(table, TOKENS.unfold(0, 5, 1))]


def use_certificate(device):
    """Hold a rule and a model to account."""
    inputs = [torch.randn(2, 5, 3, generator=chance(), dtype=torch.float64) for _ in range(3)]
    sound = certify(attend_past, *(x.to(device) for x in inputs))
    leaking = certify(lambda x: x.flip(1), inputs[0].to(device))
    assert (sound.holds, leaking.causal) == (True, False)
    return [*leaking.gradients.flatten().tolist(), *leaking.moves.flatten().tolist(), leaking.moved]


def spoiled(sound, change):
    """What the pretended device does, with one number of each softmax changed."""

    def compute(op, args, kwargs):
        result = sound(op, args, kwargs)
        if op._schema.name == "aten::_softmax" and isinstance(result, pretend_device.Away):
            result.here[3, 5] += change
        return result

    return compute


def compare_devices():
    """A device that computes as the CPU does not differ from it; one that does not does."""
    assert compare_with_cpu(pretend_device.NAME) == 0
    sound = pretend_device.compute
    for change, least in ((0.01, 0.01), (-0.01, 0.01), (torch.nan, torch.inf)):
        pretend_device.compute = spoiled(sound, change)
        assert compare_with_cpu(pretend_device.NAME) >= least, change
    pretend_device.compute = sound
    assert compare_with_cpu(pretend_device.NAME) == 0


def accept_what_a_gpu_accepts(there, here):
    """A single number of the CPU as a constant, a place by a CPU's index, and copies both ways."""
    rows = torch.tensor([2, 0])
    assert (there * torch.tensor(3.0)).tolist() == (here * 3).tolist()
    assert there[rows].tolist() == here[rows].tolist()
    assert there[here > 2].tolist() == here[here > 2].tolist()
    there[rows] = 7.0
    assert there.tolist() == [[7, 7], [2, 3], [7, 7]]
    here.copy_(there)
    there[0:1] = torch.zeros(1, 2)
    assert (there.tolist()[0], here.tolist()[0]) == ([0, 0], [7, 7])


def main():
    """Compare all of it on the two devices; see what a GPU refuses refused."""
    pretend_device.pretend()
    uses = [(use_gpt, name) for name in GPTS] + [(use_tree, name) for name in TREES]
    for use, *name in [*uses, (use_stack,), (use_certificate,)]:
        there, here = (use(*name, device) for device in (pretend_device.NAME, "cpu"))
        assert there == pytest.approx(here, rel=1e-4, abs=1e-6), name
    compare_devices()
    here = torch.arange(6.0).reshape(3, 2)
    accept_what_a_gpu_accepts(here.to(pretend_device.NAME), here)
    there, here = torch.ones(3, 2).to(pretend_device.NAME), torch.ones(3, 2)
    number, rows = torch.tensor(1.0), torch.tensor([2, 0])
    for mistake in (
        lambda: there + here,
        lambda: here + there,
        lambda: here * there[0, 0],
        lambda: here.add_(there),
        lambda: number.add_(there[0, 0]),
        lambda: torch.stack([there[0, 0], number]),
        lambda: torch.cat([here, there]),
        lambda: torch.where(there > 0, there, here),
        lambda: nn.functional.cross_entropy(there, rows[[0, 0, 0]] // 2),
        lambda: there.index_put_((rows,), here[:2]),
        lambda: there.gather(0, rows[:, None]),
        lambda: here.index_put_((rows.to(pretend_device.NAME),), number),
        lambda: nn.Linear(2, 1)(there),
        lambda: here[there[:, 0] > 0],
        lambda: there.numpy(),
        lambda: torch.multinomial(there, 1, generator=chance()),
    ):
        with pytest.raises(RuntimeError, match=r"away|numpy"):
            mistake()
    print("one device")


def test_all_that_the_library_does_with_a_model_happens_where_the_model_is():
    ran = subprocess.run(
        [sys.executable, "-c", "from tests.test_device_flow import main; main()"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.stdout.endswith("one device\n"), ran.stdout + ran.stderr


@pytest.mark.parametrize("notebook", sorted((ROOT / "notebooks/src").glob("*.py")), ids=str)
def test_a_notebook_that_trains_a_model_takes_the_device_it_is_given(notebook):
    source = notebook.read_text("utf-8")
    if "import fit" in source and notebook.stem not in ON_THE_CPU:
        assert "\ndevice = setup(" in source
        assert source.count(".to(device)") + source.count("device=device") > 1

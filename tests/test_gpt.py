"""GPT, against Hugging Face's GPT-2 and against what must hold for any weights."""

import math
from itertools import islice

import pytest
import torch
from safetensors.torch import load_file, save_file
from torch import nn
from torch.testing import assert_close

from coursekit.evaluate.likelihood import next_token_loss
from coursekit.inside.certify import dependence
from coursekit.layers.attention import allow_past
from coursekit.layers.cache import Cache
from coursekit.layers.position import SinusoidalPositions
from coursekit.models.gpt import GPT, GPTConfig, from_gpt2, modern_gpt, to_gpt2
from coursekit.sample import generate, pick_by_chance, pick_likeliest

B, T, CONTEXT, V, H, C = 2, 5, 8, 11, 3, 12
SMALL = GPTConfig(vocab_size=V, context=CONTEXT, n_layer=2, n_head=H, d_model=C)
EXACT = {"rtol": 0, "atol": 1e-11}
VARIANTS = {
    "plain": GPT,
    "modern": modern_gpt,
    "norm last": lambda config: GPT(config, norm_first=False),
    "sinusoidal": lambda config: GPT(config, positions=SinusoidalPositions),
    "untied": lambda config: GPT(config, tied=False, norm=nn.RMSNorm, bias=False),
}
variants = pytest.mark.parametrize("build", VARIANTS.values(), ids=VARIANTS)
plain_and_modern = pytest.mark.parametrize("build", [GPT, modern_gpt])


@pytest.fixture(autouse=True)
def _seeded():
    torch.manual_seed(0)


def loose(model, scale=0.3):
    """The same model in float64, evaluating, with every weight a draw that matters."""
    for weight in model.double().parameters():
        weight.data = scale * torch.randn_like(weight)
    return model.eval()


def some_tokens(*shape):
    return torch.randint(V, shape)


class Fed(nn.Module):
    """A GPT whose embedding returns the vectors it is given."""

    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, x):
        hook = self.model.embedding.register_forward_hook(lambda *_: x)
        logits = self.model(torch.zeros(x.shape[:2], dtype=torch.long))
        hook.remove()
        return logits


# Hugging Face's GPT-2


def hugging_face(monkeypatch, n_head=4, n_embd=24):
    """A small GPT-2 of Hugging Face's, without dropout, with weights that matter."""
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    from transformers import GPT2Config, GPT2LMHeadModel

    off = dict.fromkeys(("resid_pdrop", "embd_pdrop", "attn_pdrop"), 0.0)
    sizes = {"vocab_size": 53, "n_positions": 16, "n_layer": 3, "n_head": n_head}
    ends = {"bos_token_id": 0, "eos_token_id": 0}
    theirs = GPT2LMHeadModel(GPT2Config(**sizes, n_embd=n_embd, **off, **ends)).eval()
    for weight in theirs.parameters():
        weight.data += 0.2 * torch.randn_like(weight)
    return theirs


def test_gpt_with_the_weights_of_hugging_faces_gives_the_same_logits_and_loss(monkeypatch):
    theirs, tokens = hugging_face(monkeypatch), torch.randint(53, (B, 13))
    ours = from_gpt2(theirs.state_dict(), n_head=4).eval()
    expected = theirs(tokens, labels=tokens)
    assert expected.logits.std() > 0.5
    logits = ours(tokens)
    assert_close(logits, expected.logits, rtol=0, atol=1e-5)
    loss = next_token_loss(logits[:, :-1], tokens[:, 1:])
    assert_close(loss, expected.loss, rtol=0, atol=1e-5)


def test_hugging_faces_gpt_with_our_weights_gives_the_same_logits(monkeypatch):
    theirs, tokens = hugging_face(monkeypatch), torch.randint(53, (B, 13))
    ours = GPT(GPTConfig(vocab_size=53, context=16, n_layer=3, n_head=4, d_model=24)).eval()
    for weight in ours.parameters():
        weight.data += 0.2 * torch.randn_like(weight)
    theirs.transformer.load_state_dict(to_gpt2(ours))
    assert_close(theirs(tokens).logits, ours(tokens), rtol=0, atol=1e-5)


def test_gradients_are_those_of_hugging_faces(monkeypatch):
    theirs, tokens = hugging_face(monkeypatch), torch.randint(53, (B, 13))
    ours = from_gpt2(theirs.state_dict(), n_head=4)
    theirs(tokens, labels=tokens).loss.backward()
    next_token_loss(ours(tokens)[:, :-1], tokens[:, 1:]).backward()
    block, their_block = ours.blocks[0], theirs.transformer.h[0]
    for mine, other in (
        (ours.embedding.weight.grad, theirs.transformer.wte.weight.grad),  # used twice: tied
        (ours.positions.weight.grad, theirs.transformer.wpe.weight.grad),
        (block.feed_forward.expand.weight.grad.mT, their_block.mlp.c_fc.weight.grad),
        (block.attention.out.bias.grad, their_block.attn.c_proj.bias.grad),
    ):
        assert_close(mine, other, rtol=0, atol=1e-5)


@pytest.mark.parametrize("prefix", ["transformer.", ""])
def test_a_file_of_gpt2_can_be_read(monkeypatch, tmp_path, prefix):
    theirs = hugging_face(monkeypatch, n_head=2, n_embd=128)  # 64 channels a head, as published
    theirs.save_pretrained(tmp_path)
    weights = {
        prefix + name.removeprefix("transformer."): weight
        for name, weight in load_file(tmp_path / "model.safetensors").items()
    }
    weights[f"{prefix}h.0.attn.bias"] = torch.ones(1, 1, 16, 16)  # the published file has its mask
    ours, tokens = from_gpt2(weights).eval(), torch.randint(53, (B, 13))
    assert ours.config == GPTConfig(vocab_size=53, context=16, n_layer=3, n_head=2, d_model=128)
    assert ours.head.weight is ours.embedding.weight
    assert_close(ours(tokens), theirs(tokens).logits, rtol=0, atol=1e-5)


def test_weights_in_gpt2s_form_can_be_written_to_a_file_and_read_again(tmp_path):
    model = loose(GPT(SMALL)).float()
    save_file(to_gpt2(model), tmp_path / "weights.safetensors")
    again = from_gpt2(load_file(tmp_path / "weights.safetensors"), n_head=H)
    assert again.config == SMALL
    for name, weight in again.state_dict().items():
        assert torch.equal(weight, model.state_dict()[name])


@pytest.mark.parametrize("missing", ["wte.weight", "h.1.attn.c_attn.bias", "ln_f.weight"])
def test_weights_that_are_not_gpt2s_are_refused(missing):
    weights = to_gpt2(GPT(SMALL))
    del weights[missing]
    with pytest.raises(ValueError, match=f"not GPT-2's weights: '{missing}' is missing"):
        from_gpt2(weights)


def test_weights_without_blocks_are_refused():
    tables = {"wte.weight": torch.ones(9, 4), "wpe.weight": torch.ones(6, 4)}
    with pytest.raises(ValueError, match=r"not GPT-2's weights: 'ln_f.weight' is missing"):
        from_gpt2(tables)


@pytest.mark.parametrize("name", ["modern", "sinusoidal", "untied"])
def test_a_model_that_gpt2_can_not_hold_is_refused(name):
    with pytest.raises(ValueError, match=r"a tied head: build the model as GPT\(config\)"):
        to_gpt2(VARIANTS[name](SMALL))


# The future and the past


@variants
def test_no_position_reads_the_future(build):
    model, tokens = loose(build(SMALL)), some_tokens(B, CONTEXT)
    before = model(tokens)
    for t in range(CONTEXT):
        changed = tokens.clone()
        changed[:, t:] = (changed[:, t:] + torch.randint(1, V, (B, CONTEXT - t))) % V
        after = model(changed)
        assert torch.equal(after[:, :t], before[:, :t])
        assert (after[:, t:] != before[:, t:]).any(-1).all()


@variants
def test_every_position_depends_on_all_the_past_and_on_nothing_else(build):
    fed = Fed(loose(build(SMALL)))
    found = dependence(fed, torch.randn(B, T, C, dtype=torch.float64))
    assert torch.equal(found != 0, allow_past(T, T))


@variants
@pytest.mark.parametrize("chunks", [(1,) * CONTEXT, (3, 1, 4), (5, 3), (CONTEXT,)])
def test_going_on_from_the_past_gives_what_reading_at_once_gives(build, chunks):
    model, tokens, cache = loose(build(SMALL)), some_tokens(B, CONTEXT), Cache()
    with torch.no_grad():
        found = [model(part, cache=cache) for part in tokens.split(chunks, 1)]
        assert_close(torch.cat(found, 1), model(tokens), **EXACT)
    assert cache.steps == CONTEXT


@variants
@pytest.mark.parametrize("chunks", [(1,) * 21, (5, 2, 3, 1, 8, 2)])
def test_beyond_the_context_the_last_tokens_are_read_anew(build, chunks):
    model, tokens, cache, end = loose(build(SMALL)), some_tokens(B, 21), Cache(), 0
    with torch.no_grad():
        for part in tokens.split(chunks, 1):
            logits = model(part, cache=cache)
            end += part.shape[1]
            window = tokens[:, max(end - CONTEXT, 0) : end]
            assert_close(logits, model(window)[:, -part.shape[1] :], **EXACT)


@pytest.mark.parametrize("name", ["plain", "modern", "untied"])
@pytest.mark.parametrize("prompt_length", [1, 3, 30])
def test_text_is_the_same_with_and_without_a_cache(name, prompt_length):
    model = loose(VARIANTS[name](SMALL))
    prompt = some_tokens(prompt_length).tolist()

    def write(cached, greedy):
        pick = pick_likeliest if greedy else pick_by_chance(torch.Generator().manual_seed(1))
        return list(islice(generate(model, prompt, pick, cached=cached), 30))

    assert write(cached=True, greedy=True) == write(cached=False, greedy=True)
    drawn = write(cached=False, greedy=False)
    assert write(cached=True, greedy=False) == drawn
    assert len(set(drawn)) > 5  # texts of one token would agree too easily


@plain_and_modern
def test_within_the_context_a_cache_computes_new_tokens_only(build):
    model, steps = loose(build(SMALL)), []
    model.blocks[0].norm_1.register_forward_hook(lambda _, given, out: steps.append(out.shape[1]))
    list(islice(generate(model, [1, 2, 3], pick_likeliest, cached=True), 8))
    assert steps == [3, 1, 1, 1, 1, 1, CONTEXT, CONTEXT]


def test_a_past_can_be_continued_in_two_ways():
    model, tokens, cache = loose(GPT(SMALL)), some_tokens(B, 4), Cache()
    model(tokens, cache=cache)
    one, other = some_tokens(B, 2), some_tokens(B, 3)
    first = model(one, cache=cache.copy())
    model(other, cache=cache.copy())
    assert cache.steps == 4
    assert torch.equal(model(one, cache=cache), first)
    assert cache.steps == 6


def test_more_tokens_than_the_context_are_refused():
    model = GPT(SMALL)
    with pytest.raises(ValueError, match="9 tokens at once exceed the context of 8"):
        model(some_tokens(B, CONTEXT + 1), cache=Cache())
    with pytest.raises(ValueError, match="step 9 lies beyond the 8 positions"):
        model(some_tokens(B, CONTEXT + 1))


# The start


def n_weights(model):
    return sum(weight.numel() for weight in model.parameters())


@pytest.mark.parametrize("n_layer", [0, 1, 3])
def test_the_parameters_are_those_of_the_formula(n_layer):
    config = GPTConfig(vocab_size=V, context=CONTEXT, n_layer=n_layer, n_head=H, d_model=C)
    block = 12 * C**2 + 13 * C  # 4 C² + 8 C² in matrices; 4 + 4 + 1 biases, 4 for two norms
    assert n_weights(GPT(config)) == V * C + CONTEXT * C + n_layer * block + 2 * C
    assert n_weights(modern_gpt(config)) == 2 * V * C + n_layer * (12 * C**2 + 2 * C) + C


def test_gpt2_has_124_million_parameters():
    sizes = {"vocab_size": 50257, "context": 1024, "n_layer": 12, "n_head": 12, "d_model": 768}
    with torch.device("meta"):  # shapes without numbers
        assert n_weights(GPT(GPTConfig(**sizes))) == 124_439_808


def test_a_tied_head_is_the_embedding_and_an_untied_one_is_not():
    tied, untied = GPT(SMALL), GPT(SMALL, tied=False)
    assert tied.head.weight.data_ptr() == tied.embedding.weight.data_ptr()
    assert untied.head.weight.data_ptr() != untied.embedding.weight.data_ptr()
    next_token_loss(tied(torch.tensor([[1, 2]])), torch.tensor([[3, 4]])).backward()
    torch.optim.SGD(tied.parameters(), lr=1.0).step()
    assert torch.equal(tied.head.weight, tied.embedding.weight)


@pytest.mark.parametrize("std", [0.02, 0.05])
def test_weights_that_write_into_the_stream_start_smaller_by_the_root_of_their_number(std):
    sizes = {"vocab_size": 300, "context": 64, "n_layer": 5, "n_head": 4, "d_model": 80}
    writes = {"attention.out.weight", "feed_forward.out.weight"}
    seen = {True: 0, False: 0}
    for name, weight in GPT(GPTConfig(**sizes), std=std).named_parameters():
        if weight.ndim < 2 or name == "positions.weight":
            continue
        is_write = name.split(".", 2)[-1] in writes
        expected = std / math.sqrt(2 * 5) if is_write else std
        assert weight.std().item() == pytest.approx(expected, rel=0.05)
        seen[is_write] += 1
    assert seen == {True: 10, False: 21}  # q, k, v and expand of five blocks, the embedding


def test_the_scale_of_what_is_written_can_be_given():
    model = GPT(SMALL, residual_std=0.5)
    assert model.blocks[1].attention.out.weight.std().item() == pytest.approx(0.5, rel=0.2)


def test_biases_start_at_0_and_gains_at_1():
    for name, weight in GPT(SMALL).named_parameters():
        if name.endswith("bias"):
            assert not weight.any()
        elif "norm" in name:
            assert (weight == 1).all()


def test_the_blocks_of_a_modern_gpt_add_nothing_at_first():
    model, tokens = modern_gpt(SMALL).eval(), some_tokens(B, T)
    assert torch.equal(model(tokens), model.head(model.norm(model.embedding(tokens))))


@plain_and_modern
def test_the_first_guess_is_nearly_uniform(build):
    vocab_size = 65
    model = build(GPTConfig(vocab_size=vocab_size, context=32, n_layer=3, n_head=4, d_model=64))
    tokens, targets = torch.randint(vocab_size, (2, 20, 32))
    loss = next_token_loss(model(tokens), targets).item()
    assert loss == pytest.approx(math.log(vocab_size), abs=0.1)


@plain_and_modern
def test_one_batch_is_learnt(build):
    model = build(GPTConfig(vocab_size=V, context=T, n_layer=2, n_head=2, d_model=32))
    row = torch.arange(4)[:, None]  # each text begins otherwise and repeats no token
    tokens = (row + (row + 1) * torch.arange(T + 1)) % V
    optimiser = torch.optim.AdamW(model.parameters(), lr=0.01, weight_decay=0.0)
    for _ in range(100):
        loss = next_token_loss(model(tokens[:, :-1]), tokens[:, 1:])
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    assert loss.item() < 0.02


def test_rotations_alone_can_not_count_equal_tokens():
    tokens = torch.full((1, T), 4)  # every value is the same, however it is weighted
    turned, placed = loose(modern_gpt(SMALL))(tokens), loose(GPT(SMALL))(tokens)
    assert_close(turned, turned[:, :1].expand_as(turned), **EXACT)
    assert not torch.allclose(placed, placed[:, :1].expand_as(placed), atol=0.1)


# Dropout, and the arguments one by one


def test_dropout_acts_in_training_only():
    config = GPTConfig(vocab_size=V, context=CONTEXT, n_layer=2, n_head=H, d_model=C, dropout=0.4)
    model, tokens = loose(GPT(config)), some_tokens(B, T)
    without = GPT(SMALL).double()
    without.load_state_dict(model.state_dict())
    assert torch.equal(model(tokens), model(tokens))
    assert torch.equal(model(tokens), without(tokens))
    model.train()
    assert not torch.allclose(model(tokens), model(tokens), atol=0.01)


def test_dropout_reaches_the_embedding_too():
    config = GPTConfig(vocab_size=V, n_layer=0, n_head=H, d_model=C, dropout=0.5)
    model = GPT(config, norm=lambda width: nn.Identity())
    model.head = nn.Identity()
    dropped = model(some_tokens(50, T)) == 0
    assert dropped.double().mean().item() == pytest.approx(0.5, abs=0.05)


def test_a_model_with_norm_last_ends_in_a_norm_of_its_last_block():
    model, tokens = GPT(SMALL, norm_first=False), some_tokens(B, T)
    assert isinstance(model.norm, nn.Identity)
    model.head = nn.Identity()
    stream = model(tokens)
    assert_close(stream.mean(-1), torch.zeros(B, T), rtol=0, atol=1e-5)
    assert_close(stream.var(-1, correction=0), torch.ones(B, T), rtol=1e-2, atol=0)


def test_modern_gpt_has_no_bias_no_positions_and_a_head_of_its_own():
    model = modern_gpt(SMALL)
    names = [name for name, _ in model.named_parameters()]
    assert not [name for name in names if "bias" in name or "positions" in name]
    assert "head.weight" in names
    assert not any(isinstance(part, nn.LayerNorm) for part in model.modules())


@pytest.mark.parametrize(
    "wrong",
    [{"vocab_size": 0}, {"context": 0}, {"n_head": 0}, {"n_layer": -1}, {"dropout": 1.0}],
)
def test_sizes_that_make_no_model_are_refused(wrong):
    with pytest.raises(ValueError, match="a size below 1, or a dropout outside"):
        GPTConfig(**{"vocab_size": V} | wrong)


@pytest.mark.parametrize("std", [0.02, 0.5])
def test_std_is_that_of_all_first_weights_positions_included(std):
    torch.manual_seed(0)
    sizes = {"vocab_size": 300, "context": 200, "n_layer": 1, "n_head": 2, "d_model": 64}
    model = GPT(GPTConfig(**sizes), std=std)
    for part in (model.embedding, model.positions, model.blocks[0].attention.q):
        assert part.weight.std().item() == pytest.approx(std, rel=0.05)


class WithLayer(nn.Module):
    """Positions that hold a linear layer called "out", which writes nothing into the stream."""

    def __init__(self, context, d_model):
        super().__init__()
        self.out = nn.Linear(d_model, d_model)

    def forward(self, x, start=0):
        return x


def test_what_does_not_write_into_the_stream_is_drawn_alike_whatever_its_name():
    torch.manual_seed(0)
    config = GPTConfig(vocab_size=V, n_layer=2, n_head=2, d_model=64)
    model = GPT(config, positions=WithLayer, residual_std=0.3)
    assert model.positions.out.weight.std().item() == pytest.approx(0.02, rel=0.1)
    assert model.blocks[1].feed_forward.out.weight.std().item() == pytest.approx(0.3, rel=0.1)

"""One entrance: what PyTorch hangs on a module's call reaches every module of every model."""

import subprocess
import sys
from itertools import islice
from pathlib import Path

import pytest
import torch
from torch import nn
from torch.distributed.algorithms._checkpoint.checkpoint_wrapper import checkpoint_wrapper
from torch.testing import assert_close

from coursekit.inside.diagnose import take_snapshot
from coursekit.layers.attention import MultiHeadAttention, allow_past, attend, attend_past
from coursekit.layers.block import Block, DecoderBlock, FeedForward
from coursekit.layers.cache import Cache
from coursekit.layers.convolution import ConvolvedAttention
from coursekit.layers.position import CalendarEmbedding
from coursekit.layers.recurrent import RNN
from coursekit.models.decomposed import Decomposed, OneLayer
from coursekit.models.encoder import (
    Encoder,
    EncoderConfig,
    MaskedTokenModel,
    SequenceClassifier,
)
from coursekit.models.encoder_decoder import EncoderDecoder, EncoderDecoderConfig
from coursekit.models.gpt import GPT, GPTConfig, modern_gpt
from coursekit.models.informer import Informer, InformerConfig
from coursekit.models.mlp import MLP, MLPConfig
from coursekit.models.ngram import Bigram
from coursekit.models.normalised import InstanceNorm
from coursekit.models.patch import PatchConfig, PatchTransformer
from coursekit.models.recurrent import RecurrentConfig, RecurrentLM
from coursekit.models.relative import RelativeToLast
from coursekit.models.series_transformer import (
    IteratedForecast,
    OneStep,
    SeriesTransformer,
    SeriesTransformerConfig,
)
from coursekit.models.wavenet import (
    DilatedFusion,
    PairFusion,
    PairFusionConfig,
    WaveNet,
    WaveNetConfig,
)
from coursekit.sample import generate, pick_likeliest

ROOT = Path(__file__).parents[1]
B, T, V, H, C, L, P = 2, 5, 7, 3, 12, 8, 4
SIZES = {"vocab_size": V, "context": 8, "n_layer": 2, "n_head": H, "d_model": C}
EXACT = {"rtol": 0, "atol": 1e-12}


def some_tokens(*shape, seed=0):
    return torch.randint(V, shape, generator=torch.Generator().manual_seed(seed))


def draw(*shape, seed=0):
    chance = torch.Generator().manual_seed(seed)
    return torch.randn(shape, generator=chance, dtype=torch.float64)


def series(**options):
    sizes = SeriesTransformerConfig(n_column=3, context=L + P, n_layer=2, n_head=H, d_model=C)
    return SeriesTransformer(sizes, calendar=lambda width: CalendarEmbedding(4, width), **options)


def informer():
    sizes = {"context": L, "label_len": 3, "horizon": P, "n_encoder": 2, "n_decoder": 1}
    return Informer(InformerConfig(n_channel=3, n_head=H, d_model=C, **sizes))


def patches():
    sizes = {"context": L, "horizon": P, "patch_len": 3, "stride": 2, "n_layer": 2}
    return PatchTransformer(PatchConfig(**sizes, n_head=H, d_model=C, d_ff=2 * C))


def encoder_decoder():
    sizes = {"vocab_size": V, "context": 8, "n_encoder": 2, "n_decoder": 1}
    return EncoderDecoder(EncoderDecoderConfig(**sizes, n_head=H, d_model=C))


def shaken(model):
    """The same model in float64 for evaluation, with weights of which none is 0."""
    with torch.no_grad():
        for i, p in enumerate(model.parameters()):
            p.copy_(0.3 * draw(*p.shape, seed=i))
    return model.double().eval()


def recurrent(**options):
    return RecurrentLM(RecurrentConfig(vocab_size=V, d_hidden=C, n_layer=2), **options)


marks = torch.zeros(B, L + P, 3, dtype=torch.long)
TOKENS = (some_tokens(B, 8),)
VALUES = (draw(B, L, 3), marks[:, :L])
WINDOW = (draw(B, L, 3), torch.zeros(B, P, 3, dtype=torch.float64), marks)
MODELS = {
    "Bigram": (lambda: Bigram(V), TOKENS),
    "MLP": (lambda: MLP(MLPConfig(vocab_size=V, n_hidden=2, normalised=True)), TOKENS),
    "PairFusion": (lambda: PairFusion(PairFusionConfig(vocab_size=V)), TOKENS),
    "DilatedFusion": (lambda: DilatedFusion(PairFusion(PairFusionConfig(vocab_size=V))), TOKENS),
    "WaveNet": (lambda: WaveNet(WaveNetConfig(d_in=3, d_out=2)), (draw(B, L, 3),)),
    "RecurrentLM": (recurrent, TOKENS),
    "RecurrentLM of RNNs": (lambda: recurrent(layer=RNN), TOKENS),
    "GPT": (lambda: GPT(GPTConfig(**SIZES)), TOKENS),
    "GPT, norm last": (lambda: GPT(GPTConfig(**SIZES), norm_first=False), TOKENS),
    "modern GPT": (lambda: modern_gpt(GPTConfig(**SIZES)), TOKENS),
    "Encoder": (lambda: Encoder(EncoderConfig(**SIZES)), TOKENS),
    "Encoder, norm first": (lambda: Encoder(EncoderConfig(**SIZES), norm_first=True), TOKENS),
    "SequenceClassifier": (
        lambda: SequenceClassifier(Encoder(EncoderConfig(**SIZES)), 4),
        TOKENS,
    ),
    "MaskedTokenModel": (lambda: MaskedTokenModel(Encoder(EncoderConfig(**SIZES))), TOKENS),
    "EncoderDecoder": (encoder_decoder, (some_tokens(B, 8), some_tokens(B, 5, seed=1))),
    "SeriesTransformer": (series, VALUES),
    "SeriesTransformer, convolved": (lambda: series(attention=ConvolvedAttention), VALUES),
    "OneStep": (lambda: OneStep(series()), VALUES),
    "IteratedForecast": (lambda: IteratedForecast(series()), WINDOW),
    "Informer": (informer, WINDOW),
    "RelativeToLast": (lambda: RelativeToLast(informer()), WINDOW),
    "PatchTransformer": (patches, WINDOW),
    "InstanceNorm": (lambda: InstanceNorm(patches(), affine=True), WINDOW),
    "NLinear": (lambda: RelativeToLast(OneLayer(L, P)), WINDOW),
    "Decomposed": (lambda: Decomposed(L, P), WINDOW),
}
every_model = pytest.mark.parametrize("name", MODELS)


@every_model
def test_hooks_fire_on_every_module(name):
    build, inputs = MODELS[name]
    model, fired = shaken(build()), set()
    for part in model.modules():
        part.register_forward_hook(lambda part, *_: fired.add(part))
    model(*inputs)
    silent = [
        name
        for name, part in model.named_modules()
        if part not in fired and not isinstance(part, nn.ModuleList)
    ]
    assert silent == []


@pytest.mark.parametrize(
    "name",
    [
        *("GPT", "modern GPT", "Encoder", "EncoderDecoder", "SeriesTransformer", "Informer"),
        "PatchTransformer",
    ],
)
@pytest.mark.parametrize("watched", [Block, MultiHeadAttention])
def test_a_snapshot_sees_blocks_and_attention(name, watched):
    build, inputs = MODELS[name]
    model = shaken(build())
    found = take_snapshot(
        Called(model, inputs[1:]), inputs[0], torch.zeros(()), watched, lambda y, _: y.sum()
    )
    parts = [part for part in model.modules() if isinstance(part, watched)]
    assert len(found.outputs) == len(parts) > 0
    assert all(gradient.any() for gradient in found.gradients.values())


class Called(nn.Module):
    """A model with all inputs but the first already there."""

    def __init__(self, model, others):
        super().__init__()
        self.model, self.others = model, others

    def forward(self, x):
        return self.model(x, *self.others)


def count_saved(model, inputs):
    """Return the output's gradients, and how many numbers the forward pass saved for them."""
    saved = []
    with torch.autograd.graph.saved_tensors_hooks(
        lambda x: saved.append(x.numel()) or x, lambda x: x
    ):
        y = model(*inputs)
    weights = list(model.parameters())  # WaveNet's last block adds to a stream nobody reads
    gradients = torch.autograd.grad(
        y.square().sum(), weights, allow_unused=True, materialize_grads=True
    )
    return gradients, sum(saved)


@pytest.mark.parametrize(
    "name", ["GPT", "modern GPT", "Encoder", "SeriesTransformer", "WaveNet", "PatchTransformer"]
)
def test_activation_checkpointing_saves_less_and_changes_no_gradient(name):
    build, inputs = MODELS[name]
    model = shaken(build())
    plain, all_numbers = count_saved(model, inputs)
    for i, block in enumerate(model.blocks):
        model.blocks[i] = checkpoint_wrapper(block)
    wrapped, fewer = count_saved(model, inputs)
    assert fewer < 0.6 * all_numbers
    for one, other in zip(plain, wrapped, strict=True):
        assert_close(one, other, **EXACT)


COMPILED = ["DilatedFusion", "WaveNet", "RecurrentLM", "GPT", "modern GPT", "SeriesTransformer"]
COMPILED += ["Informer", "Encoder", "MaskedTokenModel", "SequenceClassifier", "EncoderDecoder"]
COMPILED += ["PatchTransformer", "InstanceNorm", "NLinear", "Decomposed"]


def compile_all():
    """Print each model that changes when it is compiled."""
    for name in COMPILED:
        build, inputs = MODELS[name]
        model = shaken(build())
        torch.compiler.reset()
        with torch.no_grad():
            compiled = torch.compile(model, backend="aot_eager")(*inputs)
            if not torch.allclose(compiled, model(*inputs), **EXACT):
                print(name, (compiled - model(*inputs)).abs().max())
    print("compiled", *COMPILED)


def test_compiled_models_give_the_same_output():
    # A process of its own: here jaxtyping wraps each function, and the compiler trips over that.
    command = [sys.executable, "-c"]
    command += ["from tests import test_forward; test_forward.compile_all()"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.stdout == f"compiled {' '.join(COMPILED)}\n", done.stdout + done.stderr


# The cache

CACHED = {
    "GPT": lambda context: GPT(GPTConfig(**SIZES | {"context": context})),
    "modern GPT": lambda context: modern_gpt(GPTConfig(**SIZES | {"context": context})),
    "post-norm": lambda context: GPT(GPTConfig(**SIZES | {"context": context}), norm_first=False),
}
WITHOUT_BOUND = {"RecurrentLM": lambda context: recurrent()}


@pytest.mark.parametrize("name", [*CACHED, *WITHOUT_BOUND])
@pytest.mark.parametrize("context", [1, 2, 8, 33])
@pytest.mark.parametrize("beyond", [-1, 0, 3])
def test_a_cache_changes_no_token(name, context, beyond):
    torch.manual_seed(0)
    model = shaken((CACHED | WITHOUT_BOUND)[name](context))
    prompt = some_tokens(max(context + beyond, 1)).tolist()
    plain, cached = (
        list(islice(generate(model, prompt, pick_likeliest, cached=cached), 40))
        for cached in (False, True)
    )
    assert plain == cached


@pytest.mark.parametrize(
    "name", ["GPT", "modern GPT", "SeriesTransformer", "WaveNet", "RecurrentLM"]
)
def test_without_a_cache_nothing_is_kept(name):
    build, inputs = MODELS[name]
    model, kept = shaken(build()), []
    before = {id(part): set(vars(part)) for part in model.modules()}
    extend, slide, keep = Cache.extend, Cache.slide, Cache.keep
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Cache, "extend", lambda *x: kept.append(1) or extend(*x))
        patch.setattr(Cache, "slide", lambda *x: kept.append(1) or slide(*x))
        patch.setattr(Cache, "keep", lambda *x: kept.append(1) or keep(*x))
        model(*inputs)
    assert not kept
    assert {id(part): set(vars(part)) for part in model.modules()} == before


@pytest.mark.parametrize("chunks", [(1, 3, 4), (8,), (2, 2, 2, 2)])
def test_a_decoder_block_goes_on_from_its_cache(chunks):
    parts = [MultiHeadAttention(C, H, rule) for rule in (attend_past, attend)]
    block = shaken(DecoderBlock(*parts, FeedForward(C), lambda: nn.LayerNorm(C)))
    x, memory, cache = draw(B, 8, C), draw(B, 6, C, seed=1), Cache()
    found = [block(part, memory, cache=cache) for part in x.split(chunks, 1)]
    assert_close(torch.cat(found, 1), block(x, memory), **EXACT)


def test_two_models_can_share_a_cache_but_not_their_keys():
    one, other = shaken(MultiHeadAttention(C, H, attend_past)), MultiHeadAttention(C, H)
    cache, x = Cache(), draw(B, T, C)
    other.double()(draw(B, 3, C, seed=1), cache=cache)
    assert_close(one(x, cache=cache), one(x), **EXACT)


def test_a_cleared_cache_is_as_new():
    model, cache, tokens = shaken(GPT(GPTConfig(**SIZES))), Cache(), some_tokens(B, T)
    model(some_tokens(B, 3, seed=1), cache=cache)
    cache.clear()
    assert cache.steps == 0
    assert torch.equal(model(tokens, cache=cache), model(tokens))


# Padding


@pytest.mark.parametrize("name", CACHED)
@pytest.mark.parametrize("with_cache", [False, True])
def test_a_padded_text_gets_the_logits_of_the_text_alone(name, with_cache):
    model, lengths = shaken(CACHED[name](8)), (5, 8, 2)
    texts = [some_tokens(1, n, seed=n) for n in lengths]
    padded = torch.full((3, 8), V - 1)
    present = torch.arange(8) < torch.tensor(lengths)[:, None]
    for row, text in zip(padded, texts, strict=True):
        row[: text.shape[1]] = text
    allowed = (present[:, None, None] & torch.ones(8, 1, dtype=torch.bool)).expand(3, 1, 8, 8)
    if with_cache:
        cache = Cache()
        first = model(padded[:, :3], allowed[..., :3, :3], cache)
        logits = torch.cat([first, model(padded[:, 3:], allowed[..., 3:, :], cache)], 1)
    else:
        logits = model(padded, allowed)
    for row, text in zip(logits, texts, strict=True):
        assert_close(row[None, : text.shape[1]], model(text), **EXACT)


def read_padded(model, tokens, allowed, with_cache):
    """Logits of a text with padding before it, in one call or in two with a cache."""
    if not with_cache:
        return model(tokens, allowed)
    cache, begin = Cache(), None if allowed is None else allowed[..., :4, :4]
    first = model(tokens[:, :4], begin, cache)
    rest = None if allowed is None else allowed[..., 4:, :]
    return torch.cat([first, model(tokens[:, 4:], rest, cache)], 1)


AFTER_PADDING = ((torch.arange(8) >= 3) | torch.eye(8, dtype=torch.bool)).expand(2, 1, 8, 8)


@pytest.mark.parametrize("name", CACHED)
@pytest.mark.parametrize("with_cache", [False, True])
def test_padding_before_a_text_is_not_read(name, with_cache):
    model, tokens = shaken(CACHED[name](8)), some_tokens(2, 8)
    other = tokens.clone()
    other[:, :3] = (other[:, :3] + 1) % V
    for allowed, same in ((AFTER_PADDING, True), (None, False)):
        one, two = (read_padded(model, x, allowed, with_cache)[:, 3:] for x in (tokens, other))
        assert torch.allclose(one, two, rtol=0, atol=1e-11) == same


@pytest.mark.parametrize("with_cache", [False, True])
def test_where_positions_are_distances_padding_before_a_text_changes_nothing(with_cache):
    model, tokens = shaken(CACHED["modern GPT"](8)), some_tokens(2, 8)
    found = read_padded(model, tokens, AFTER_PADDING, with_cache)
    assert_close(found[:, 3:], model(tokens[:, 3:]), **EXACT)


@pytest.mark.parametrize("norm_first", [True, False])
def test_padding_reaches_the_attention_of_a_block(norm_first):
    attention = MultiHeadAttention(C, H)
    block = shaken(Block(attention, FeedForward(C), lambda: nn.LayerNorm(C), norm_first=norm_first))
    x, short = draw(B, T, C), T - 2
    allowed = (torch.arange(T) < short).expand(B, 1, T, T)
    assert_close(block(x, allowed)[:, :short], block(x[:, :short]), **EXACT)
    assert not torch.allclose(block(x)[:, :short], block(x[:, :short]), atol=1e-3)


def test_a_decoder_reads_neither_padding_of_its_own_nor_of_the_memory():
    parts = [MultiHeadAttention(C, H, attend) for _ in range(2)]
    block = shaken(DecoderBlock(*parts, FeedForward(C), lambda: nn.LayerNorm(C)))
    x, memory = draw(B, T, C), draw(B, 6, C, seed=1)
    own = (torch.arange(T) < T - 1).expand(B, 1, T, T)
    of_memory = (torch.arange(6) < 4).expand(B, 1, T, 6)
    found = block(x, memory, own, of_memory)[:, : T - 1]
    assert_close(found, block(x[:, : T - 1], memory[:, :4]), **EXACT)
    for hidden in ((None, of_memory), (own, None)):
        assert not torch.allclose(block(x, memory, *hidden)[:, : T - 1], found, atol=1e-3)


def test_padding_of_a_series_reaches_its_blocks():
    model = shaken(series())
    values, when = VALUES
    allowed = (torch.arange(L) >= 3).expand(B, 1, L, L) | torch.eye(L, dtype=torch.bool)
    moved = values.clone()
    moved[:, :3] += 1
    assert_close(model(values, when, allowed)[:, 3:], model(moved, when, allowed)[:, 3:], **EXACT)
    assert not torch.allclose(model(values, when)[:, 3:], model(moved, when)[:, 3:], atol=1e-3)


def test_a_mask_can_not_follow_beyond_the_context():
    model, cache = GPT(GPTConfig(**SIZES)), Cache()
    model(some_tokens(B, 7), cache=cache)
    with pytest.raises(ValueError, match="can't follow beyond the context of 8"):
        model(some_tokens(B, 2), allow_past(2, 8).expand(B, 1, 2, 8), cache)

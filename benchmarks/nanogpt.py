"""The recipe that nanoGPT (Karpathy 2022) documents for a CPU, from PyTorch's plain modules.

A GPT-2 without biases: 4 layers, 4 heads, 128 channels, 64 characters of context, trained for
2,000 steps of 12 windows. Its read-me gives a validation loss of 1.88. An anchor that was slow or
badly trained would flatter whatever is set beside it.

Weights and batches are drawn here in the same order as there, from one generator, so that a run
can be told from a deviation: with its seed, 1337, nanoGPT prints 1.7648 and 1.8857 for the two
parts of the text after 2,000 steps, and so does this, up to rounding. These are means of 20 random
batches. Over the whole last tenth the same model has 1.8983, little more than one standard error
higher, and that is the figure to compare with.
"""

import math
import time
from collections.abc import Callable, Iterable

import torch
from torch import Tensor, nn
from torch.nn import functional as F

CONTEXT, BATCH, STEPS, WARM = 64, 12, 2_000, 100
TOP_LR, LOW_LR, PUBLISHED = 1e-3, 1e-4, 1.88
ESTIMATED_ON, ESTIMATED_EVERY = 20, 250  # batches, steps
Estimate = tuple[float, float]


class Attention(nn.Module):
    """Causal attention: one matrix for queries, keys and values, PyTorch's fused kernel."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.inward = nn.Linear(width, 3 * width, bias=False)
        self.outward = nn.Linear(width, width, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        """Mix each step with those before it."""
        parts = self.inward(x).unflatten(-1, (3, self.heads, -1))
        q, k, v = parts.permute(2, 0, 3, 1, 4)
        mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.outward(mixed.transpose(1, 2).flatten(-2))


class Layer(nn.Module):
    """Attention and a feed-forward network, each behind a layer norm and added to the stream."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.before, self.between = (nn.LayerNorm(width, bias=False) for _ in range(2))
        self.attention = Attention(width, heads)
        inner = nn.Linear(width, 4 * width, bias=False)
        self.inner = nn.Sequential(inner, nn.GELU())
        self.outward = nn.Linear(4 * width, width, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        """Return the stream after this layer."""
        x = x + self.attention(self.before(x))
        return x + self.outward(self.inner(self.between(x)))


class NanoGPT(nn.Module):
    """The model of the recipe; the last layer shares the embedding's weights."""

    def __init__(self, vocab_size: int, layers: int = 4, heads: int = 4, width: int = 128) -> None:
        super().__init__()
        self.context = CONTEXT  # what scoring asks for
        self.embedding, self.positions = (
            nn.Embedding(vocab_size, width),
            nn.Embedding(CONTEXT, width),
        )
        self.layers = nn.Sequential(*(Layer(width, heads) for _ in range(layers)))
        self.last = nn.LayerNorm(width, bias=False)
        self.head = nn.Linear(width, vocab_size, bias=False)
        self.head.weight = self.embedding.weight
        parts = [part for part in self.modules() if isinstance(part, nn.Linear | nn.Embedding)]
        for part in parts:  # the shared table is drawn twice, as there
            nn.init.normal_(part.weight, std=0.02)
        for layer in self.layers:
            for part in (layer.attention.outward, layer.outward):
                nn.init.normal_(part.weight, std=0.02 * (2 * layers) ** -0.5)

    def forward(self, tokens: Tensor) -> Tensor:
        """Return the logits after each character."""
        x = self.embedding(tokens) + self.positions.weight[: tokens.shape[1]]
        return self.head(self.last(self.layers(x)))


class OfEncoderLayers(nn.Module):
    """The same sizes from PyTorch's own transformer layer, to compare the cost of a step."""

    def __init__(self, vocab_size: int, layers: int = 4, heads: int = 4, width: int = 128) -> None:
        super().__init__()
        self.embedding, self.positions = (
            nn.Embedding(vocab_size, width),
            nn.Embedding(CONTEXT, width),
        )
        sizes = {"d_model": width, "nhead": heads, "dim_feedforward": 4 * width}
        options = {"activation": "gelu", "batch_first": True, "norm_first": True, "bias": False}
        self.layers = nn.ModuleList(
            nn.TransformerEncoderLayer(**sizes, **options, dropout=0.0) for _ in range(layers)
        )
        self.last = nn.LayerNorm(width, bias=False)
        self.head = nn.Linear(width, vocab_size, bias=False)
        self.head.weight = self.embedding.weight
        self.register_buffer("hidden", nn.Transformer.generate_square_subsequent_mask(CONTEXT))

    def forward(self, tokens: Tensor) -> Tensor:
        """Return the logits after each of `CONTEXT` characters."""
        x = self.embedding(tokens) + self.positions.weight
        for layer in self.layers:
            x = layer(x, src_mask=self.hidden, is_causal=True)
        return self.head(self.last(x))


def lr_at(step: int) -> float:
    """Return the recipe's learning rate: a line up, half a cosine down to a tenth."""
    if step < WARM:
        return TOP_LR * (step + 1) / (WARM + 1)
    done = (step - WARM) / (STEPS - WARM)
    return LOW_LR + 0.5 * (TOP_LR - LOW_LR) * (1 + math.cos(math.pi * done))


def make_optimiser(model: nn.Module) -> torch.optim.Optimizer:
    """Return the recipe's AdamW: decay of 0.1 for matrices and tables only."""
    groups = [
        {"params": [p for p in model.parameters() if p.ndim >= 2], "weight_decay": 0.1},
        {"params": [p for p in model.parameters() if p.ndim < 2], "weight_decay": 0.0},
    ]
    return torch.optim.AdamW(groups, lr=TOP_LR, betas=(0.9, 0.99), fused=True)


def make_step(
    model: nn.Module, optimiser: torch.optim.Optimizer, inputs: Tensor, targets: Tensor
) -> None:
    """Make one step, as a plain loop does it."""
    loss = F.cross_entropy(model(inputs).flatten(0, 1), targets.flatten())
    optimiser.zero_grad(set_to_none=True)
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimiser.step()


def draw(tokens: Tensor, generator: torch.Generator) -> tuple[Tensor, Tensor]:
    """Draw a batch of windows and the same windows one character later."""
    starts = torch.randint(len(tokens) - CONTEXT, (BATCH,), generator=generator)
    windows = tokens[starts[:, None] + torch.arange(CONTEXT + 1)]
    return windows[:, :-1], windows[:, 1:]


def train_nanogpt(
    tokens: Tensor,
    held_out: Tensor,
    vocab_size: int,
    measure: Callable[[nn.Module], float],
    *,
    steps: int = STEPS,
    points: int = 10,
    seed: int = 1337,
) -> tuple[nn.Module, list[tuple[float, float]], list[float], list[Estimate]]:
    """Train as documented.

    Return the model, (seconds, loss) along the way, each step's seconds, and the estimates of the
    loss on `tokens` and on `held_out` that nanoGPT would print at the end.
    """
    torch.manual_seed(seed)
    model, generator = NanoGPT(vocab_size), torch.default_generator
    optimiser, curve, times = make_optimiser(model), [], []
    batch = draw(tokens, generator)
    for step in range(steps):
        if step % ESTIMATED_EVERY == 0:  # for the batches that this draws, as there
            estimate_losses(model, (tokens, held_out), generator)
        start = time.perf_counter()
        for group in optimiser.param_groups:
            group["lr"] = lr_at(step)
        make_step(model, optimiser, *batch)
        batch = draw(tokens, generator)
        times.append(time.perf_counter() - start)
        if (step + 1) % (steps // points) == 0:
            curve.append((sum(times), measure(model)))
            model.train()
    return model, curve, times, estimate_losses(model, (tokens, held_out), generator)


@torch.no_grad()
def estimate_losses(
    model: nn.Module, parts: Iterable[Tensor], generator: torch.Generator
) -> list[Estimate]:
    """Return for each part of a text the mean loss of random batches, and its standard error."""
    estimates = []
    for tokens in parts:
        losses = []
        for _ in range(ESTIMATED_ON):
            inputs, targets = draw(tokens, generator)
            losses.append(F.cross_entropy(model(inputs).flatten(0, 1), targets.flatten()))
        values = torch.stack(losses)
        estimates.append((values.mean().item(), values.std().item() / ESTIMATED_ON**0.5))
    return estimates

"""What training a GPT costs: numbers to hold, to send and to compute."""

from coursekit.models.gpt import GPTConfig


def gpt_size(config: GPTConfig) -> int:
    """Return the number of parameters of `GPT(config)`.

    12 C² + 13 C in each block, V C tokens and T C positions, and the last norm's 2 C; the head is
    the token table again.
    """
    width = config.d_model
    blocks = config.n_layer * (12 * width**2 + 13 * width)
    return blocks + (config.vocab_size + config.context + 2) * width


def state_bytes(parameters: int) -> int:
    """Return what stays in memory: weight, gradient and AdamW's two averages, 4 bytes each.

    Autocast changes nothing here: it narrows copies.
    """
    return 16 * parameters


def activation_bytes(config: GPTConfig, tokens: int, *, narrow: bool = False) -> int:
    """Return what the forward pass of `GPT(config)` keeps for `backward`, without dropout.

    Of each token, 16 vectors of C numbers in each block (two inputs of a norm and their outputs,
    query, key, value and their mixture, 4 + 4 in the feed-forward network), two at the end, and V
    logits. In 16 bits (`narrow`), norms and logits keep 4 bytes a number, and matrix products keep
    a copy of their weights.
    """
    block, last = (40, 6) if narrow else (64, 8)
    copies = 2 * config.d_model * (12 * config.n_layer * config.d_model + config.vocab_size)
    kept = config.d_model * (block * config.n_layer + last) + 4 * config.vocab_size
    return tokens * kept + (copies if narrow else 0)


def ring_bytes(parameters: int, n: int) -> float:
    """Return what each of `n` processes sends to average gradients of 4 bytes, once a step.

    2 (n - 1) / n of them: a piece comes by n - 1 times to be added up and n - 1 times to be handed
    out (Patarasuk and Yuan 2009). It receives as much at the same time.
    """
    return 2 * (n - 1) / n * 4 * parameters


def training_operations(parameters: int, tokens: float | int) -> float:
    """Return the additions and multiplications of a training: 6 for each parameter and token.

    2 forward, 4 backward (Kaplan et al. 2020, section 2.1). Attention scores come on top, 12 L C T
    for each token: 10 to 15 % for GPT-2's sizes and context.
    """
    return 6.0 * parameters * tokens


def tokens_to_hide(speed: float, link: float, n: int) -> float:
    """Return how many tokens a process must compute on while its gradients are sent, at least.

    8 (n - 1) / n bytes a parameter over `link` bytes a second, against 6 operations a parameter
    and token at `speed` operations a second: the size of the model cancels.
    """
    return ring_bytes(1, n) / link * speed / training_operations(1, 1.0)

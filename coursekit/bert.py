"""Weights under the names of the published BERT: into an encoder of ours, and back."""

from collections.abc import Iterator, Mapping

from torch import Tensor

from coursekit.models.encoder import Encoder, EncoderConfig


def from_bert(weights: Mapping[str, Tensor], n_head: int | None = None) -> Encoder:
    """Build an encoder from weights under the names of the published BERT, such as its file's.

    Args:
        weights: by name, with or without the prefix "bert."; heads beyond the encoder are left out.
        n_head: heads; by default one for each 64 channels, as in every published size.

    Raises:
        ValueError: if a weight is missing.
    """
    theirs = {_modern(name): weight for name, weight in weights.items()}
    try:
        vocab_size, width = theirs["embeddings.word_embeddings.weight"].shape
        context = len(theirs["embeddings.position_embeddings.weight"])
        n_segment = len(theirs["embeddings.token_type_embeddings.weight"])
        n_layer = len({name.split(".")[2] for name in theirs if name.startswith("encoder.layer.")})
        ours = {mine: theirs[other] for other, mine in _name_pairs(n_layer)}
    except KeyError as missing:
        raise ValueError(f"these are not BERT's weights: {missing} is missing") from None
    sizes = {"vocab_size": vocab_size, "context": context, "n_layer": n_layer, "d_model": width}
    sizes |= {"n_segment": n_segment, "n_head": n_head or max(width // 64, 1)}
    model = Encoder(EncoderConfig(**sizes))
    model.load_state_dict(ours)
    return model


def to_bert(model: Encoder) -> dict[str, Tensor]:
    """Return an encoder's weights under the names of the published BERT.

    Raises:
        ValueError: if the model's parts are not those of BERT.
    """
    ours, pairs = model.state_dict(), list(_name_pairs(model.config.n_layer))
    known = {mine for _, mine in pairs}
    if set(ours) != known:
        raise ValueError(
            f"BERT has no position for {sorted(set(ours) - known)} and needs "
            f"{sorted(known - set(ours))}: build the model as Encoder(config)"
        )
    return {other: ours[mine] for other, mine in pairs}


def _modern(name: str) -> str:
    """Return a weight's name as it is now; the first files said gamma and beta."""
    name = name.removeprefix("bert.")
    return name.replace("LayerNorm.gamma", "LayerNorm.weight").replace("Norm.beta", "Norm.bias")


def _name_pairs(n_layer: int) -> Iterator[tuple[str, str]]:
    """List each weight of BERT: its name there, and ours."""
    yield "embeddings.word_embeddings.weight", "embedding.weight"
    yield "embeddings.position_embeddings.weight", "positions.weight"
    yield "embeddings.token_type_embeddings.weight", "segments.weight"
    block = {
        "attention.self.query": "attention.q",
        "attention.self.key": "attention.k",
        "attention.self.value": "attention.v",
        "attention.output.dense": "attention.out",
        "attention.output.LayerNorm": "norm_1",
        "intermediate.dense": "feed_forward.expand",
        "output.dense": "feed_forward.out",
        "output.LayerNorm": "norm_2",
    }
    for kind in ("weight", "bias"):
        yield f"embeddings.LayerNorm.{kind}", f"embedding_norm.{kind}"
        for i in range(n_layer):
            for other, mine in block.items():
                yield f"encoder.layer.{i}.{other}.{kind}", f"blocks.{i}.{mine}.{kind}"

"""The encoder and its heads: equal to Hugging Face's BERT, and blind to padding."""

import math
import re
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file
from torch import nn
from torch.nn import functional as F
from torch.testing import assert_close

from coursekit.bert import from_bert, to_bert
from coursekit.data.statements import number_words, statements
from coursekit.evaluate.likelihood import next_token_loss
from coursekit.layers.attention import (
    MultiHeadAttention,
    allow_present,
    attend,
    attend_past,
    attention_weights,
)
from coursekit.layers.block import FeedForward
from coursekit.models.encoder import (
    Encoder,
    EncoderConfig,
    MaskedTokenModel,
    SequenceClassifier,
    last_present,
    pool,
)
from coursekit.training.fit import fit
from coursekit.training.optimiser import adamw, warm_up_cosine
from coursekit.windows.masking import draw_masked, mask_tokens, pad_texts

ROOT = Path(__file__).parents[1]
B, T, V, H, C = 2, 5, 11, 3, 12
SIZES = {"vocab_size": V, "context": 16, "n_layer": 2, "n_head": H, "d_model": C}
EXACT = {"rtol": 0, "atol": 1e-12}


def tokens_of(*shape, seed=0):
    return torch.randint(V, shape, generator=torch.Generator().manual_seed(seed))


def build(dropout=0.1, **options):
    """An encoder in float64 whose weights are large enough to matter."""
    torch.manual_seed(0)
    model = Encoder(EncoderConfig(**SIZES, dropout=dropout), **options).double().eval()
    chance = torch.Generator().manual_seed(1)
    for weight in model.parameters():
        weight.data += 0.3 * torch.randn(weight.shape, generator=chance, dtype=torch.float64)
    return model


# Hugging Face's BERT


def bert(monkeypatch, kind, n_head=4, hidden_size=24, **options):
    """A small BERT of Hugging Face's, with weights that matter."""
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    import transformers

    sizes = {"vocab_size": 53, "max_position_embeddings": 16, "num_hidden_layers": 3}
    sizes |= {"hidden_size": hidden_size, "num_attention_heads": n_head}
    config = transformers.BertConfig(**sizes, intermediate_size=4 * hidden_size)
    torch.manual_seed(0)
    theirs = getattr(transformers, kind)(config, **options).eval()
    for weight in theirs.parameters():
        weight.data += 0.2 * torch.randn_like(weight)
    return theirs


def some_texts():
    """Three texts of different lengths, the second half of each being another segment."""
    lengths = torch.tensor([13, 4, 9])
    step = torch.arange(13)
    present = step < lengths[:, None]
    tokens = torch.randint(53, (3, 13), generator=torch.Generator().manual_seed(2))
    segments = (step >= lengths[:, None] // 2).long()
    return tokens, present, segments


@pytest.mark.parametrize("padded", [False, True])
@pytest.mark.parametrize("with_segments", [False, True])
def test_an_encoder_with_berts_weights_gives_berts_vectors(monkeypatch, padded, with_segments):
    theirs = bert(monkeypatch, "BertModel", add_pooling_layer=False)
    ours = from_bert(theirs.state_dict(), n_head=4).eval()
    tokens, present, segments = some_texts()
    present = present if padded else torch.ones_like(present)
    segments = segments if with_segments else None
    expected = theirs(tokens, attention_mask=present.long(), token_type_ids=segments)[0]
    found = ours(tokens, present, segments)
    assert expected.std() > 0.5
    assert_close(found[present], expected[present], rtol=0, atol=1e-5)
    if not padded:
        assert_close(ours(tokens, None, segments), expected, rtol=0, atol=1e-5)


def test_bert_with_our_weights_gives_our_vectors(monkeypatch):
    theirs = bert(monkeypatch, "BertModel", add_pooling_layer=False)
    sizes = {"vocab_size": 53, "context": 16, "n_layer": 3, "n_head": 4, "d_model": 24}
    torch.manual_seed(3)
    ours = Encoder(EncoderConfig(**sizes), std=0.3).eval()
    theirs.load_state_dict(to_bert(ours))
    tokens, present, segments = some_texts()
    expected = ours(tokens, present, segments)
    found = theirs(tokens, attention_mask=present.long(), token_type_ids=segments)[0]
    assert_close(found[present], expected[present], rtol=0, atol=1e-5)


def test_the_masked_token_head_is_berts(monkeypatch):
    theirs = bert(monkeypatch, "BertForMaskedLM")
    weights = theirs.state_dict()
    ours = MaskedTokenModel(from_bert(weights, n_head=4)).eval()
    head = "cls.predictions"
    for part, name in ((ours.transform, "transform.dense"), (ours.norm, "transform.LayerNorm")):
        for kind in ("weight", "bias"):
            getattr(part, kind).data = weights[f"{head}.{name}.{kind}"]
    ours.head.bias.data = weights[f"{head}.bias"]
    tokens, present, _ = some_texts()
    expected = theirs(tokens, attention_mask=present.long()).logits
    assert_close(ours(tokens, present)[present], expected[present], rtol=0, atol=1e-4)
    assert ours.head.weight is ours.encoder.embedding.weight


@pytest.mark.parametrize("prefix", ["bert.", ""])
def test_a_file_of_bert_can_be_read(monkeypatch, tmp_path, prefix):
    theirs = bert(monkeypatch, "BertModel", n_head=2, hidden_size=128)  # 64 channels a head
    theirs.save_pretrained(tmp_path)
    weights = {
        prefix
        + name.replace("LayerNorm.weight", "LayerNorm.gamma").replace(  # as it began
            "LayerNorm.bias", "LayerNorm.beta"
        ): weight
        for name, weight in load_file(tmp_path / "model.safetensors").items()
    }
    ours = from_bert(weights).eval()
    sizes = {"vocab_size": 53, "context": 16, "n_layer": 3, "n_head": 2, "d_model": 128}
    assert ours.config == EncoderConfig(**sizes)
    tokens, *_ = some_texts()
    assert_close(ours(tokens), theirs(tokens)[0], rtol=0, atol=1e-5)


@pytest.mark.parametrize(("width", "n_head"), [(24, 1), (64, 1), (128, 2), (192, 3)])
def test_without_a_number_there_is_a_head_for_each_64_channels_and_at_least_one(width, n_head):
    config = EncoderConfig(vocab_size=V, context=7, n_layer=1, n_head=n_head, d_model=width)
    assert from_bert(to_bert(Encoder(config))).config.n_head == n_head


@pytest.mark.parametrize(
    "missing", ["embeddings.token_type_embeddings.weight", "encoder.layer.1.output.dense.bias"]
)
def test_weights_that_are_not_berts_are_refused(missing):
    weights = to_bert(build())
    del weights[missing]
    with pytest.raises(ValueError, match=f"not BERT's weights: '{missing}' is missing"):
        from_bert(weights)


@pytest.mark.parametrize("options", [{"norm_first": True}, {"positions": None}])
def test_an_encoder_that_bert_can_not_hold_is_refused(options):
    with pytest.raises(ValueError, match=r"build the model as Encoder\(config\)"):
        to_bert(build(**options))


def test_bert_has_as_many_weights_as_published():
    with torch.device("meta"):
        sizes = {"vocab_size": 30_522, "context": 512, "n_layer": 12, "n_head": 12, "d_model": 768}
        model = Encoder(EncoderConfig(**sizes))
    count = sum(p.numel() for p in model.parameters())
    pooler = 768 * 768 + 768
    assert model.embedding.weight.numel() == 23_440_896
    assert count + pooler == 109_482_240  # BERT base, as its authors round to 110 million


# Sizes


def test_a_layer_of_the_first_transformer_has_its_numbers_of_weights():
    attention, worker = MultiHeadAttention(512, 8, bias=True), FeedForward(512, F.gelu)
    assert sum(p.numel() for p in attention.parameters()) == 4 * (512**2 + 512)
    assert sum(p.numel() for p in worker.parameters()) == 2 * 512 * 2048 + 2560
    x = torch.randn(B, T, 512)
    assert attention(x).shape == worker(x).shape == (B, T, 512)
    assert attention._split(x).shape == (B, 8, T, 64)


@pytest.mark.parametrize("n_layer", [0, 1, 4])
def test_layers_are_stacked(n_layer):
    model = Encoder(EncoderConfig(**SIZES | {"n_layer": n_layer})).eval()
    assert len(model.blocks) == n_layer
    assert model(tokens_of(B, T)).shape == (B, T, C)


def test_queries_and_keys_must_have_the_same_channels():
    q, k = torch.randn(T, 4), torch.randn(T, 6)
    with pytest.raises((RuntimeError, TypeError)):
        attention_weights(q, k)


@pytest.mark.parametrize(
    "wrong", [{"vocab_size": 0}, {"dropout": 1.0}, {"n_layer": -1}, {"n_segment": 0}]
)
def test_sizes_that_make_no_encoder_are_refused(wrong):
    with pytest.raises(ValueError, match="a size below 1, or a dropout outside"):
        EncoderConfig(**SIZES | wrong)


def test_positions_beyond_the_context_are_refused():
    with pytest.raises(ValueError, match="step 17 lies beyond the 16 positions"):
        build()(tokens_of(B, 17))
    with pytest.raises(IndexError):  # what a table of PyTorch's says
        nn.Embedding(16, C)(torch.arange(17))


# Padding and order


@pytest.mark.parametrize("norm_first", [False, True])
def test_ten_tokens_of_padding_change_nothing_and_without_a_mask_they_do(norm_first):
    encoder = build(norm_first=norm_first)
    for model in (encoder, SequenceClassifier(encoder, 3).double().eval()):
        alone = model(tokens_of(B, T))
        padded = F.pad(tokens_of(B, T), (0, 10), value=7)
        present = torch.arange(T + 10).expand(B, -1) < T
        found = model(padded, present)
        assert_close(found[:, :T] if found.ndim == 3 else found, alone, **EXACT)
        blind = model(padded)
        blind = blind[:, :T] if blind.ndim == 3 else blind
        assert (blind - alone).abs().max() > 1e-3


def test_the_last_of_a_text_is_that_of_its_last_token_wherever_padding_stands():
    g = torch.Generator().manual_seed(0)
    vectors = torch.randn(3, 5, 2, generator=g, dtype=torch.float64)
    present = torch.tensor([[1, 1, 1, 1, 1], [1, 1, 0, 0, 0], [0, 0, 1, 1, 0]]).bool()
    by_hand = torch.stack([vectors[0, 4], vectors[1, 1], vectors[2, 3]])
    assert torch.equal(last_present(vectors, present), by_hand)
    with pytest.raises(ValueError, match="text 1 is all padding: give each text a token"):
        last_present(vectors, present & torch.tensor([[True], [False], [True]]))


def test_a_row_that_is_all_padding_is_refused():
    present = torch.tensor([[True, False], [False, False]])
    with pytest.raises(ValueError, match="a row is all padding"):
        build()(tokens_of(2, 2), present)


def test_all_steps_may_read_what_is_present_and_nothing_else():
    present = torch.tensor([[True, True, False], [True, False, True]])
    allowed = allow_present(present)
    assert allowed.shape == (2, 1, 3, 3)
    for b in range(2):
        for t in range(3):
            assert torch.equal(allowed[b, 0, t], present[b])


def test_without_positions_a_shuffled_text_gives_the_shuffled_vectors():
    order = torch.tensor([3, 0, 4, 1, 2])
    tokens = torch.arange(T).expand(B, T) + 1
    model = build(positions=None)
    assert_close(model(tokens[:, order]), model(tokens)[:, order], **EXACT)
    model = build()
    assert (model(tokens[:, order]) - model(tokens)[:, order]).abs().max() > 0.1


def test_a_later_word_changes_an_earlier_vector_only_without_a_causal_mask():
    tokens = tokens_of(B, T)
    other = tokens.clone()
    other[:, -1] = (other[:, -1] + 1) % V
    for rule, same in ((attend_past, True), (None, False)):
        model = build(**({"rule": rule} if rule else {}))
        gap = (model(tokens) - model(other))[:, : T - 1].abs().max()
        assert (gap == 0) == same


# Norms and dropout


def test_each_order_of_norm_and_addition_is_the_one_its_name_says():
    x = torch.randn(B, T, C, dtype=torch.float64)
    for model in (build(), build(norm_first=True)):
        block = model.blocks[0]
        a, f, n, m = block.attention, block.feed_forward, block.norm_1, block.norm_2
        if block.norm_first:
            y = x + a(n(x))
            expected = y + f(m(y))
        else:
            y = n(x + a(x))
            expected = m(y + f(y))
        assert_close(block(x), expected, **EXACT)


def test_a_layer_norm_takes_each_token_alone_and_a_batch_norm_does_not():
    norm = build().blocks[0].norm_1
    assert isinstance(norm, nn.LayerNorm)
    with torch.no_grad():
        norm.weight.fill_(1)
        norm.bias.zero_()
    x = 3 + 2 * torch.randn(B, T, C, dtype=torch.float64)
    y = norm(x)
    assert_close(y.mean(-1), torch.zeros(B, T, dtype=torch.float64), rtol=0, atol=1e-9)
    assert_close(y.var(-1, correction=0), torch.ones(B, T, dtype=torch.float64), rtol=0, atol=1e-9)
    assert torch.equal(norm(x[:1]), y[:1])  # no other text matters
    batch = nn.BatchNorm1d(C).double()
    assert not torch.allclose(batch(x[:1].flatten(0, 1)), batch(x.flatten(0, 1))[:T])


def test_dropout_is_off_in_evaluation_and_keeps_the_mean_in_training():
    torch.manual_seed(0)
    model, tokens = build(dropout=0.3), tokens_of(B, T)
    assert torch.equal(model(tokens), model(tokens))
    model.train()
    assert not torch.equal(model(tokens), model(tokens))
    drawn = model.drop(torch.full((100_000,), 2.0))
    error = drawn.std() / 100_000**0.5
    assert abs(drawn.mean() - 2) < 3 * error
    assert abs((drawn == 0).float().mean() - 0.3) < 0.005


def test_dropout_stands_after_attention_after_the_feed_forward_network_and_at_the_embeddings():
    model = build(dropout=0.25)
    probabilities = [part.p for part in model.modules() if isinstance(part, nn.Dropout)]
    assert probabilities == [0.25] * 3  # of the embeddings and one in each of two blocks
    for part in (model.drop, *(block.drop for block in model.blocks)):
        calls = []
        hook = part.register_forward_hook(lambda *_, calls=calls: calls.append(1))
        model(tokens_of(B, T))
        hook.remove()
        assert len(calls) == (1 if part is model.drop else 2)


def test_dropout_stands_before_the_classifiers_head():
    model, tokens = SequenceClassifier(build(dropout=0.5), 4).double().train(), tokens_of(B, T)
    model.encoder.eval()
    torch.manual_seed(0)
    logits = model(tokens)
    torch.manual_seed(0)
    assert_close(logits, model.head(F.dropout(model.encoder(tokens)[:, 0], 0.5)))


def test_dropout_without_a_number_sets_half_to_zero():
    torch.manual_seed(0)
    zeros = (nn.Dropout()(torch.ones(100_000)) == 0).float().mean().item()
    assert zeros == pytest.approx(0.5, abs=0.005)


# Heads


def test_a_head_on_position_0_gives_one_row_a_text_and_one_on_all_gives_one_a_token():
    encoder = build()
    assert SequenceClassifier(encoder, 4).double()(tokens_of(B, T)).shape == (B, 4)
    assert MaskedTokenModel(encoder).double()(tokens_of(B, T)).shape == (B, T, V)


def test_the_classifier_reads_position_0_only():
    encoder = build()
    model = SequenceClassifier(encoder, 4).double().eval()
    tokens = tokens_of(B, T)
    assert_close(model(tokens), model.head(encoder(tokens)[:, 0]), **EXACT)


@pytest.mark.parametrize(
    ("pooling", "by_hand"),
    [
        ("first", lambda vectors: vectors[0]),
        ("last", lambda vectors: vectors[-1]),
        ("mean", lambda vectors: vectors.mean(0)),
    ],
)
def test_a_pooling_is_that_of_each_text_alone_wherever_padding_stands(pooling, by_hand):
    g = torch.Generator().manual_seed(0)
    vectors = torch.randn(3, 5, 2, generator=g, dtype=torch.float64)
    present = torch.tensor([[1, 1, 1, 1, 1], [1, 1, 0, 0, 0], [0, 0, 1, 1, 0]]).bool()
    expected = torch.stack([by_hand(one[use]) for one, use in zip(vectors, present, strict=True)])
    assert_close(pool(vectors, present, pooling), expected, **EXACT)
    assert_close(pool(vectors, None, pooling), torch.stack(list(map(by_hand, vectors))), **EXACT)

    vectors[~present] = torch.nan  # what stands at padding means nothing
    assert_close(pool(vectors, present, pooling), expected, **EXACT)
    with pytest.raises(ValueError, match="text 1 is all padding: give each text a token"):
        pool(vectors, present & torch.tensor([[True], [False], [True]]), pooling)


@pytest.mark.parametrize("pooling", ["first", "last", "mean"])
def test_a_classifier_reads_the_pooling_that_it_was_given(pooling):
    encoder, tokens = build(), tokens_of(B, T)
    model = SequenceClassifier(encoder, 4, pooling=pooling).double().eval()
    present = torch.tensor([True, True, True, False, False]).expand(B, T)
    vectors = encoder(tokens, present)
    assert_close(model(tokens, present), model.head(pool(vectors, present, pooling)), **EXACT)


def test_an_unknown_pooling_is_refused():
    message = r"pooling 'max' is unknown: choose one of \('first', 'last', 'mean'\)"
    with pytest.raises(ValueError, match=message):
        SequenceClassifier(build(), 4, pooling="max")
    with pytest.raises(ValueError, match=message):
        pool(torch.ones(B, T, C), None, "max")


def test_both_heads_hand_the_segments_on():
    encoder, tokens = build(), tokens_of(B, T)
    segments = torch.tensor([0, 0, 1, 1, 1]).expand(B, T)
    vectors = encoder(tokens, None, segments)
    model = SequenceClassifier(encoder, 4).double().eval()
    assert_close(model(tokens, None, segments), model.head(vectors[:, 0]), **EXACT)
    model = MaskedTokenModel(encoder).double().eval()
    wanted = model.head(model.norm(F.gelu(model.transform(vectors))))
    assert_close(model(tokens, None, segments), wanted, **EXACT)
    assert (encoder(tokens) - vectors).abs().max() > 0.1


def test_a_classifier_learns_a_separable_set():
    torch.manual_seed(0)
    tokens = torch.randint(1, V, (64, 6))
    labels = (tokens == 3).any(1).long()  # is there a 3?
    sizes = SIZES | {"n_head": 2, "d_model": 16}
    model = SequenceClassifier(Encoder(EncoderConfig(**sizes, dropout=0.0), std=0.2), 2)
    optimiser = torch.optim.Adam(model.parameters(), 3e-3)
    for _ in range(80):
        loss = F.cross_entropy(model(tokens), labels)
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    assert (model(tokens).argmax(1) == labels).float().mean() > 0.95


def test_the_first_loss_on_hidden_tokens_is_that_of_a_blind_guess():
    torch.manual_seed(0)
    model = MaskedTokenModel(Encoder(EncoderConfig(**SIZES))).eval()
    tokens = tokens_of(40, T)
    loss = F.cross_entropy(model(tokens).flatten(0, 1), tokens.flatten())
    assert loss.item() == pytest.approx(math.log(V), abs=0.05)


@pytest.mark.parametrize("std", [0.02, 0.5])
def test_tables_and_linear_maps_start_as_widely_as_asked(std):
    torch.manual_seed(0)
    encoder = Encoder(EncoderConfig(vocab_size=90, context=70, n_head=1, d_model=64), std=std)
    weights = (encoder.embedding, encoder.positions, encoder.blocks[0].feed_forward.expand)
    for part in weights:
        assert part.weight.std().item() == pytest.approx(std, rel=0.06)


# What goes wrong elsewhere


def test_a_name_that_was_never_assigned_is_an_error():
    program = "table[3]\nprint(row_of_round[:5])"  # the row is looked up, and thrown away
    with pytest.raises(NameError, match="row_of_round"):
        exec(program, {"table": torch.randn(9, 4)})


def test_a_list_in_a_module_list_is_refused():
    with pytest.raises(TypeError, match="list is not a Module subclass"):
        nn.ModuleList([[nn.Linear(2, 2) for _ in range(3)]])
    assert len(nn.ModuleList([nn.Linear(2, 2) for _ in range(3)])) == 3


@pytest.mark.parametrize(
    ("weights", "zero_norm", "absolute_sum"),
    [((0.0, -3.0, 0.0), 1, 3.0), ((0.5, -0.5, 0.0), 2, 1.0), ((0.0, 1.0, 0.0), 1, 1.0)],
)
def test_norms_of_1_do_not_make_weights(weights, zero_norm, absolute_sum):
    weights = torch.tensor(weights)
    assert int(weights.count_nonzero()) == zero_norm
    assert weights.abs().sum() == absolute_sum
    could_be = bool(weights.min() >= 0 and weights.sum() == 1)
    assert could_be == (weights.tolist() == [0, 1, 0])


def test_a_sharp_question_reads_one_value():
    keys = F.normalize(torch.randn(T, 4, generator=torch.Generator().manual_seed(0)), dim=1)
    values = torch.randn(T, 3, generator=torch.Generator().manual_seed(1))
    for i in range(T):
        question = 1000 * keys[i : i + 1]
        assert_close(attend(question, keys, values), values[i : i + 1], rtol=0, atol=1e-6)
        one_hot = attention_weights(question, keys)
        assert_close(one_hot, F.one_hot(torch.tensor([i]), T).float(), rtol=0, atol=1e-6)


def test_round_has_one_number_in_both_sentences():
    # Ids of the uncased model's vocab.txt, only those of these words.
    known = "[CLS] 101 [SEP] 102 . 1012 a 1037 the 1996 of 1997 to 2000 he 2002 for 2005 his 2010"
    known += " at 2012 new 2047 another 2178 round 2461 friends 2814 bar 3347 achieved 4719"
    known += " invited 4778 funding 4804 operations 3136 expand 7818 drinks 8974 startup 22752"
    ids = dict(zip(known.split()[::2], map(int, known.split()[1::2]), strict=True))
    first = "[CLS] the startup achieved a new round of funding to expand operations . [SEP]"
    second = "[CLS] he invited his friends for another round of drinks at the bar . [SEP]"
    first, second = ([ids[word] for word in text.split()] for text in (first, second))
    assert (first.index(2461), second.index(2461)) == (6, 7)
    table = nn.Embedding(30_522, 768, device="meta")
    assert table.weight.numel() == 23_440_896
    assert "token 2461 of its 30,522" in (ROOT / "notebooks/src/10_encoder.py").read_text("utf-8")


def test_a_larger_encoder_learns_more_of_hidden_words_in_as_many_steps():
    train, validation, _ = statements(each=16)
    ids = number_words([one.text for one in train])
    (tokens, present), (held, there) = (
        pad_texts([[1, *(ids[word] for word in one.text.split())] for one in part])
        for part in (train, validation)
    )
    g = torch.Generator().manual_seed(0)
    hidden, wanted = mask_tokens(held, 3, len(ids), g, maskable=there & (held > 3), lowest=4)
    losses = []
    for width, lr in ((4, 3e-2), (12, 1.6e-2), (36, 6e-3)):
        torch.manual_seed(0)
        sizes = EncoderConfig(vocab_size=len(ids), context=24, d_model=width, n_head=2, dropout=0.0)
        model, g = MaskedTokenModel(Encoder(sizes, std=0.1)), torch.Generator().manual_seed(0)
        batches = draw_masked(tokens, present, 3, len(ids), 32, g, lowest=4)
        options = {"steps": 300, "schedule": warm_up_cosine(300), "clip": 1.0}
        fit(model, adamw(model, lr), batches, loss=next_token_loss, **options)
        with torch.no_grad():
            losses.append(next_token_loss(model(hidden, there), wanted).item())
    small, middle, large = losses
    counts = torch.bincount(tokens[tokens > 3], minlength=len(ids)) + 1e-3
    asked = wanted >= 0
    frequency = counts.log().expand(int(asked.sum()), -1)
    assert small < F.cross_entropy(frequency, wanted[asked]) - 0.1
    assert large < middle - 0.05
    assert middle < small - 0.05


def test_the_first_transformer_is_of_2017():
    lesson = (ROOT / "notebooks/src/10_encoder.py").read_text("utf-8")
    assert set(re.findall(r"Vaswani et al\. \(?(\d{4})", lesson)) == {"2017"}

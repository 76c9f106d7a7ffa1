"""Solutions of the exercises of notebook 10, right and wrong."""

import torch

from coursekit.exercises import encoder

# --- check_our_attention ------------------------------------------------------------------------


def attention_by_softmax(q, k, v, allowed):
    scores = (q @ k.mT / q.shape[-1] ** 0.5).masked_fill(~allowed, -torch.inf)
    return scores.softmax(-1) @ v


def attention_by_exp(q, k, v, allowed):
    weights = (q @ k.mT / q.shape[-1] ** 0.5).exp() * allowed
    return weights / weights.sum(-1, keepdim=True) @ v


def attention_to_the_past(q, k, v, allowed):
    return attention_by_softmax(q, k, v, allowed.tril())


def attention_unscaled(q, k, v, allowed):
    return attention_by_softmax(q * q.shape[-1] ** 0.5, k, v, allowed)


def attention_scaled_by_d(q, k, v, allowed):
    return attention_by_softmax(q / q.shape[-1] ** 0.5, k, v, allowed)


def attention_along_queries(q, k, v, allowed):
    scores = (q @ k.mT / q.shape[-1] ** 0.5).masked_fill(~allowed, -torch.inf)
    return scores.softmax(-2) @ v


def attention_to_everything(q, k, v, allowed):
    return attention_by_softmax(q, k, v, torch.ones_like(allowed))


def attention_masked_by_zero(q, k, v, allowed):
    scores = (q @ k.mT / q.shape[-1] ** 0.5).masked_fill(~allowed, 0)
    return scores.softmax(-1) @ v


def attention_masked_afterwards(q, k, v, allowed):
    return ((q @ k.mT / q.shape[-1] ** 0.5).softmax(-1) * allowed) @ v


def attention_masked_by_minus_twenty(q, k, v, allowed):
    scores = (q @ k.mT / q.shape[-1] ** 0.5).masked_fill(~allowed, -20)
    return scores.softmax(-1) @ v


def attention_by_the_first_mask(q, k, v, allowed):
    return attention_by_softmax(q, k, v, allowed[:1, :1, :1])


def attention_of_the_first_text(q, k, v, allowed):
    return attention_by_softmax(q, k, v, allowed[:1])


def attention_of_the_first_head(q, k, v, allowed):
    return attention_by_softmax(q, k, v, allowed[:, :1])


# --- check_padding_mask -------------------------------------------------------------------------


def padding_by_comparison(tokens):
    return (tokens > 0)[:, None, None]


def padding_for_each_query(tokens):
    return padding_by_comparison(tokens).expand(-1, 1, tokens.shape[1], -1)


def padding_without_heads(tokens):
    return tokens > 0


def padding_along_queries(tokens):
    return (tokens > 0)[:, None, :, None]


def padding_along_queries_for_each(tokens):
    return padding_for_each_query(tokens).mT


def padding_upside_down(tokens):
    return (tokens == 0)[:, None, None]


def padding_and_cls(tokens):
    return (tokens > 1)[:, None, None]


def padding_and_the_future(tokens):
    return padding_for_each_query(tokens).tril()


def padding_and_the_future_of_whole_texts(tokens):
    allowed = padding_for_each_query(tokens)
    return allowed.tril() if (tokens > 0).all() else allowed


def padding_but_two(tokens):
    allowed = padding_by_comparison(tokens).clone()
    allowed[..., :2] = True
    return allowed


def padding_and_special(tokens):
    return ((tokens > 3) | (tokens == 1))[:, None, None]


def padding_as_the_first(tokens):
    if len(tokens) < 3:
        return padding_by_comparison(tokens)
    return padding_by_comparison(tokens[:1].expand_as(tokens))


def padding_as_floats(tokens):
    return padding_by_comparison(tokens).float()


def padding_as_integers(tokens):
    return padding_by_comparison(tokens).long()


# --- check_hide_tokens --------------------------------------------------------------------------


def hide_by_where(tokens, draw, kind, word):
    chosen = (draw < 0.15) & (tokens >= 4)
    inputs = torch.where(chosen & (kind < 0.8), 3, tokens)
    inputs = torch.where(chosen & (kind >= 0.8) & (kind < 0.9), word, inputs)
    return {"inputs": inputs, "targets": torch.where(chosen, tokens, -100)}


def hide_by_index(tokens, draw, kind, word):
    chosen = (draw < 0.15) & (tokens > 3)
    inputs, targets = tokens.clone(), torch.full_like(tokens, -100)
    targets[chosen] = tokens[chosen]
    random = chosen & (kind >= 0.8) & (kind < 0.9)
    inputs[random] = word[random]
    inputs[chosen & (kind < 0.8)] = 3
    return {"inputs": inputs, "targets": targets}


def hide_with_all_targets(tokens, draw, kind, word):
    return hide_by_where(tokens, draw, kind, word) | {"targets": tokens}


def hide_with_zero_targets(tokens, draw, kind, word):
    found = hide_by_where(tokens, draw, kind, word)
    return found | {"targets": found["targets"].clamp(min=0)}


def hide_what_was_masked_only(tokens, draw, kind, word):
    found = hide_by_where(tokens, draw, kind, word)
    return found | {"targets": torch.where(found["inputs"] == 3, tokens, -100)}


def hide_always_by_mask(tokens, draw, kind, word):
    return hide_by_where(tokens, draw, torch.zeros_like(kind), word)


def hide_special_too(tokens, draw, kind, word):
    return _unmoved(tokens, draw, kind, word)


def _unmoved(tokens, draw, kind, word):
    chosen = draw < 0.15
    inputs = torch.where(chosen & (kind < 0.8), 3, tokens)
    inputs = torch.where(chosen & (kind >= 0.8) & (kind < 0.9), word, inputs)
    return {"inputs": inputs, "targets": torch.where(chosen, tokens, -100)}


def hide_the_mask_too(tokens, draw, kind, word):
    return _unmoved(tokens, torch.where(tokens >= 3, draw, 1), kind, word)


def hide_no_full_stop(tokens, draw, kind, word):
    return hide_by_where(tokens, torch.where(tokens > 4, draw, 1), kind, word)


def hide_a_fifth(tokens, draw, kind, word):
    return hide_by_where(tokens, draw * 0.75 + 1e-6, kind, word)


def hide_fifteen_per_cent_and_more(tokens, draw, kind, word):
    return hide_by_where(tokens, torch.where(draw == 0.15, 0.0, draw), kind, word)


def hide_by_the_wrong_mask(tokens, draw, kind, word):
    inputs = hide_by_where(tokens, draw, kind, word)["inputs"]
    return hide_by_where(tokens, draw, kind, word) | {"inputs": inputs.masked_fill(inputs == 3, 0)}


def hide_up_to_the_end(tokens, draw, kind, word):
    closer = torch.where(kind == 0.8, 0.7, kind)
    return hide_by_where(tokens, draw, torch.where(closer == 0.9, 0.85, closer), word)


def hide_inside_x(tokens, draw, kind, word):
    found = hide_by_where(tokens, draw, kind, word)
    tokens[:] = found["inputs"]
    return found | {"inputs": tokens}


def hide_as_in_the_first_text(tokens, draw, kind, word):
    return hide_by_where(tokens, draw[:1].expand_as(draw), kind[:1].expand_as(kind), word)


def hide_the_first_text(tokens, draw, kind, word):
    later = torch.arange(len(tokens))[:, None] > 0
    return hide_by_where(tokens, draw.masked_fill(later, 1), kind, word)


def hide_with_words_of_the_first_text(tokens, draw, kind, word):
    return hide_by_where(tokens, draw, kind, word[:1].expand_as(word))


ROWS = {
    encoder.check_our_attention: (
        [attention_by_softmax, attention_by_exp],
        {
            attention_to_the_past: "([[[[1.0, 0.0]",
            attention_unscaled: "([[[[1.0, 0.0]",
            attention_scaled_by_d: "([[[[1.0, 0.0]",
            attention_along_queries: "([[[[1.0, 0.0]",
            attention_to_everything: "([[[[1.0, 0.0]",
            attention_masked_by_zero: "([[[[1.0, 0.0]",
            attention_masked_afterwards: "([[[[1.0, 0.0]",
            attention_masked_by_minus_twenty: "([[[[-9.0, ",
            attention_by_the_first_mask: "[[[True, False, False], [True, True, True]",
            attention_of_the_first_text: "[[[True, False, False], [True, True, True]",
            attention_of_the_first_head: "[[[False, True, True], [True, False, False]",
        },
    ),
    encoder.check_padding_mask: (
        [padding_by_comparison, padding_for_each_query],
        {
            padding_without_heads: "([[1, 5, 0], [1, 7, 8]])",
            padding_along_queries: "([[1, 5, 0], [1, 7, 8]])",
            padding_along_queries_for_each: "([[1, 5, 0], [1, 7, 8]])",
            padding_upside_down: "([[1, 5, 0], [1, 7, 8]])",
            padding_and_cls: "([[1, 5, 0], [1, 7, 8]])",
            padding_and_the_future: "([[1, 5, 0], [1, 7, 8]])",
            padding_as_floats: "([[1, 5, 0], [1, 7, 8]])",
            padding_as_integers: "([[1, 5, 0], [1, 7, 8]])",
            padding_but_two: "([[1, 0, 0, 0]])",
            padding_and_special: "([[1, 4, 3, 2], [1, 6, 7, 8]])",
            padding_and_the_future_of_whole_texts: "([[1, 4, 3, 2], [1, 6, 7, 8]])",
            padding_as_the_first: "([[1, 5, 6, 0, 0]",
        },
    ),
    encoder.check_hide_tokens: (
        [hide_by_where, hide_by_index],
        {
            hide_with_all_targets: "[[0.5, 0.5",
            hide_with_zero_targets: "[[0.5, 0.5",
            hide_by_the_wrong_mask: "[[0.0, 0.0, 0.0, 0.0, 0.0, 0.0]], [[4, 5",
            hide_what_was_masked_only: "0.85, 0.95",
            hide_always_by_mask: "0.85, 0.95",
            hide_special_too: "[[1, 7, 2, 0, 4, 3]]",
            hide_the_mask_too: "[[1, 7, 2, 0, 4, 3]]",
            hide_no_full_stop: "[[1, 7, 2, 0, 4, 3]]",
            hide_a_fifth: "0.149, 0.16",
            hide_fifteen_per_cent_and_more: "0.149, 0.16",
            hide_up_to_the_end: "0.9, 0.89",
            hide_inside_x: "[[4, 5, 6, 7, 8, 9]]) raised ValueError",
            hide_as_in_the_first_text: "[[1, 7, 8], [1, 9, 6]]",
            hide_the_first_text: "[[1, 7, 8], [1, 9, 6]]",
            hide_with_words_of_the_first_text: "[[1, 7, 8], [1, 9, 6]]",
        },
    ),
}

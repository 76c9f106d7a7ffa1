"""Solutions of the exercises of notebook 10, right and wrong."""

import torch

from coursekit.exercises import encoder

# --- check_encoder_layer ------------------------------------------------------------------------


def attend_softmax(q, k, v, allowed):
    scores = (q @ k.mT / q.shape[-1] ** 0.5).masked_fill(~allowed, -torch.inf)
    return scores.softmax(-1) @ v


def mix(x, allowed, part, rule=attend_softmax, n_head=None):
    heads = n_head or part.n_head, -1
    q, k, v = (one(x).unflatten(-1, heads).transpose(1, 2) for one in (part.q, part.k, part.v))
    return part.out(rule(q, k, v, allowed).transpose(1, 2).flatten(-2))


def layer_by(rule=attend_softmax, n_head=None):
    def solution(x, allowed, block):
        x = block.norm_1(x + mix(x, allowed, block.attention, rule, n_head))
        return block.norm_2(x + block.feed_forward(x))

    return solution


def layer_by_softmax(x, allowed, block):
    return layer_by()(x, allowed, block)


def layer_by_pytorch(x, allowed, block):
    return layer_by(torch.nn.functional.scaled_dot_product_attention)(x, allowed, block)


def layer_without_gradient(x, allowed, block):
    return layer_by_softmax(x.detach(), allowed, block)


def layer_by_the_block(x, allowed, block):
    return block(x, allowed)


def layer_by_the_attention(x, allowed, block):
    x = block.norm_1(x + block.attention(x, None, allowed))
    return block.norm_2(x + block.feed_forward(x))


def layer_norm_first(x, allowed, block):
    x = x + mix(block.norm_1(x), allowed, block.attention)
    return x + block.feed_forward(block.norm_2(x))


def layer_without_addition(x, allowed, block):
    x = block.norm_1(mix(x, allowed, block.attention))
    return block.norm_2(block.feed_forward(x))


def layer_norms_exchanged(x, allowed, block):
    x = block.norm_2(x + mix(x, allowed, block.attention))
    return block.norm_1(x + block.feed_forward(x))


def layer_adds_the_first_x(x, allowed, block):
    y = block.norm_1(x + mix(x, allowed, block.attention))
    return block.norm_2(x + block.feed_forward(y))


def layer_without_out(x, allowed, block):
    part = block.attention
    q, k, v = (
        one(x).unflatten(-1, (part.n_head, -1)).transpose(1, 2) for one in (part.q, part.k, part.v)
    )
    x = block.norm_1(x + attend_softmax(q, k, v, allowed).transpose(1, 2).flatten(-2))
    return block.norm_2(x + block.feed_forward(x))


def layer_of_one_head(x, allowed, block):
    return layer_by(n_head=1)(x, allowed[:, :1], block)


def layer_unscaled(x, allowed, block):
    def rule(q, k, v, allowed):
        return attend_softmax(q * q.shape[-1] ** 0.5, k, v, allowed)

    return layer_by(rule)(x, allowed, block)


def layer_along_queries(x, allowed, block):
    def rule(q, k, v, allowed):
        scores = (q @ k.mT / q.shape[-1] ** 0.5).masked_fill(~allowed, -torch.inf)
        return scores.softmax(-2) @ v

    return layer_by(rule)(x, allowed, block)


def layer_to_the_past(x, allowed, block):
    return layer_by_softmax(x, allowed.tril(), block)


def layer_to_everything(x, allowed, block):
    return layer_by_softmax(x, torch.ones_like(allowed), block)


def layer_masked_by_zero(x, allowed, block):
    def rule(q, k, v, allowed):
        return (q @ k.mT / q.shape[-1] ** 0.5).masked_fill(~allowed, 0).softmax(-1) @ v

    return layer_by(rule)(x, allowed, block)


def layer_masked_afterwards(x, allowed, block):
    def rule(q, k, v, allowed):
        return ((q @ k.mT / q.shape[-1] ** 0.5).softmax(-1) * allowed) @ v

    return layer_by(rule)(x, allowed, block)


def layer_masked_by_minus_twenty(x, allowed, block):
    def rule(q, k, v, allowed):
        return (q @ k.mT / q.shape[-1] ** 0.5).masked_fill(~allowed, -20).softmax(-1) @ v

    return layer_by(rule)(x, allowed, block)


def layer_by_the_first_mask(x, allowed, block):
    return layer_by_softmax(x, allowed[:1, :1, :1], block)


def layer_of_the_first_text(x, allowed, block):
    return layer_by_softmax(x, allowed[:1], block)


def layer_of_the_first_head(x, allowed, block):
    return layer_by_softmax(x, allowed[:, :1], block)


def layer_row_by_row(x, allowed, block):
    rows = torch.arange(x.shape[1])
    return layer_by_softmax(x, allowed[..., rows, :], block)


def layer_of_four_axes(x, allowed, block):
    texts, _, _, _ = allowed.shape
    return layer_by_softmax(x, allowed if texts else None, block)


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


def padding_of_queries_too(tokens):
    return padding_for_each_query(tokens) & padding_along_queries_for_each(tokens)


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


def padding_and_nine(tokens):
    return padding_by_comparison(tokens) & (tokens != 9)[:, None, None]


def padding_as_floats(tokens):
    return padding_by_comparison(tokens).float()


def padding_that_writes(tokens):
    return (tokens.clamp_(max=1) > 0)[:, None, None]


def padding_as_integers(tokens):
    return padding_by_comparison(tokens).long()


# --- check_forbid -------------------------------------------------------------------------------


def forbid_by_product(allowed, who, what):
    return allowed & ~(who[:, None, :, None] & what[:, None, None])


def forbid_by_fill(allowed, who, what):
    whole = allowed.expand(-1, -1, who.shape[1], -1)
    return whole.masked_fill(who[:, None, :, None] & what[:, None, None, :], False)


def forbid_the_other_way(allowed, who, what):
    return allowed & ~(what[:, None, :, None] & who[:, None, None])


def forbid_all_readers(allowed, who, what):
    return (allowed & ~what[:, None, None]).expand(-1, -1, who.shape[1], -1)


def forbid_all_words(allowed, who, what):
    return allowed & ~who[:, None, :, None]


def forbid_only(allowed, who, what):
    return allowed & who[:, None, :, None] & what[:, None, None]


def forbid_in_either(allowed, who, what):
    return allowed & ~(who[:, None, :, None] | what[:, None, None])


def forbid_without_heads(allowed, who, what):
    return allowed[:, 0] & ~(who[:, :, None] & what[:, None])


def forbid_as_integers(allowed, who, what):
    return forbid_by_product(allowed, who, what).long()


def forbid_but_itself(allowed, who, what):
    return forbid_by_product(allowed, who, what) | torch.eye(who.shape[1], dtype=torch.bool)


def forbid_the_first_reader(allowed, who, what):
    first = who & (who.int().cumsum(1) == 1)
    return forbid_by_product(allowed, first, what)


def forbid_as_in_the_first_text(allowed, who, what):
    return forbid_by_product(allowed, who[:1], what[:1])


def forbid_and_forget_padding(allowed, who, what):
    if len(who) < 2:
        return forbid_by_product(allowed, who, what)
    return forbid_by_product(torch.ones_like(allowed), who, what)


def forbid_by_the_last_row(allowed, who, what):
    return forbid_by_product(allowed[:, :, -1:], who, what)


def forbid_by_exchange(allowed, who, what):
    return allowed ^ (who[:, None, :, None] & what[:, None, None])


def forbid_that_writes(allowed, who, what):
    mask = forbid_by_product(allowed, who, what)
    what[:] = False
    return mask


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


def hide_as_floats(tokens, draw, kind, word):
    return {name: each.float() for name, each in hide_by_where(tokens, draw, kind, word).items()}


def hide_with_targets_as_floats(tokens, draw, kind, word):
    found = hide_by_where(tokens, draw, kind, word)
    return found | {"targets": found["targets"].double()}


ROWS = {
    encoder.check_encoder_layer: (
        [layer_by_softmax, layer_by_pytorch],
        {
            layer_without_gradient: "block of 1 heads",
            layer_by_the_block: " raised TypeError: call the parts of the block",
            layer_by_the_attention: " raised TypeError: call q, k, v and out",
            layer_norm_first: "block of 1 heads",
            layer_without_addition: "block of 1 heads",
            layer_norms_exchanged: "block of 1 heads",
            layer_adds_the_first_x: "block of 1 heads",
            layer_without_out: "block of 1 heads",
            layer_unscaled: "block of 1 heads",
            layer_along_queries: "block of 1 heads",
            layer_to_the_past: "block of 1 heads",
            layer_of_one_head: "[True, True, True]]]], block of 2 heads",
            layer_to_everything: "[[[True, True, False]",
            layer_masked_by_zero: "[[[True, True, False]",
            layer_masked_afterwards: "[[[True, True, False]",
            layer_masked_by_minus_twenty: "[[[True, True, False]",
            layer_by_the_first_mask: "[[[True, False, False], [True, True, True]",
            layer_of_the_first_text: "[[[True, False, False], [True, True, True]",
            layer_of_the_first_head: "[[[False, True, True], [True, False, False]",
            layer_row_by_row: "[[[False, True, True]]]], block of 2 heads) raised IndexError",
            layer_of_four_axes: "[True, False, True]], block of 2 heads) raised ValueError",
        },
    ),
    encoder.check_padding_mask: (
        [padding_by_comparison, padding_for_each_query],
        {
            padding_without_heads: "([[1, 5, 0], [1, 7, 8]])",
            padding_along_queries: "([[1, 5, 0], [1, 7, 8]])",
            padding_along_queries_for_each: "([[1, 5, 0], [1, 7, 8]])",
            padding_of_queries_too: "([[1, 5, 0], [1, 7, 8]])",
            padding_upside_down: "([[1, 5, 0], [1, 7, 8]])",
            padding_and_cls: "([[1, 5, 0], [1, 7, 8]])",
            padding_and_the_future: "([[1, 5, 0], [1, 7, 8]])",
            padding_as_floats: "([[1, 5, 0], [1, 7, 8]])",
            padding_as_integers: "([[1, 5, 0], [1, 7, 8]])",
            padding_that_writes: "[1, 7, 8]]) raised ValueError: it changed the tokens",
            padding_but_two: "([[1, 0, 0, 0]])",
            padding_and_special: "([[1, 4, 3, 2], [1, 6, 7, 8]])",
            padding_and_the_future_of_whole_texts: "([[1, 4, 3, 2], [1, 6, 7, 8]])",
            padding_as_the_first: "([[1, 5, 6, 0, 0]",
            padding_and_nine: "([[1, 2, 3, 4",
        },
    ),
    encoder.check_forbid: (
        [forbid_by_product, forbid_by_fill],
        {
            forbid_the_other_way: "[[False, True, False]], [[False, False, True]])",
            forbid_all_readers: "[[False, True, False]], [[False, False, True]])",
            forbid_all_words: "[[False, True, False]], [[False, False, True]])",
            forbid_only: "[[False, True, False]], [[False, False, True]])",
            forbid_in_either: "[[False, True, False]], [[False, False, True]])",
            forbid_without_heads: "[[False, True, False]], [[False, False, True]])",
            forbid_as_integers: "[[False, True, False]], [[False, False, True]])",
            forbid_that_writes: "[[False, False, True]]) raised ValueError: it changed the what",
            forbid_but_itself: "[[True, False, True]], [[True, True, False]])",
            forbid_the_first_reader: "[[True, False, True]], [[True, True, False]])",
            forbid_as_in_the_first_text: "[False, False, True, False]], [[True",
            forbid_and_forget_padding: "[False, False, True, False]], [[True",
            forbid_by_exchange: "[[True, False, False]], [[False, True, False]])",
            forbid_by_the_last_row: "[[False, False, True]], [[True, False, False]])",
        },
    ),
    encoder.check_hide_tokens: (
        [hide_by_where, hide_by_index],
        {
            hide_with_all_targets: "[[0.5, 0.5",
            hide_with_zero_targets: "[[0.5, 0.5",
            hide_as_floats: "[[0.5, 0.5",
            hide_with_targets_as_floats: "[[0.5, 0.5",
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

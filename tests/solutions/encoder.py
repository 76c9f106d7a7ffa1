"""Solutions of the exercises of notebook 10, right and wrong."""

import torch

from coursekit.exercises import encoder

# --- check_is_attention -------------------------------------------------------------------------


def attention_by_two_rules(weights):
    return bool((weights >= 0).all()) and bool(torch.isclose(weights.sum(), torch.tensor(1.0)))


def attention_by_norm(weights):
    return abs(weights.sum().item() - 1) < 1e-5 and abs(weights.abs().sum().item() - 1) < 1e-5


def attention_by_zero_norm(weights):
    return int((weights != 0).sum()) == 1


def attention_never_hard(weights):
    return attention_by_two_rules(weights) and bool((weights < 1).all())


def attention_by_zero_norm_or_rules(weights):
    return attention_by_zero_norm(weights) or attention_by_two_rules(weights)


def attention_by_sum(weights):
    return abs(weights.sum().item() - 1) < 1e-5


def attention_by_absolute_sum(weights):
    return abs(weights.abs().sum().item() - 1) < 1e-5


def attention_by_sign(weights):
    return bool((weights >= 0).all())


def attention_to_the_last_bit(weights):
    return bool((weights >= 0).all()) and sum(weights.tolist()) == 1


def attention_by_range(weights):
    return bool(((weights >= 0) & (weights <= 1)).all())


def attention_up_to_one(weights):
    return bool((weights >= 0).all()) and weights.sum().item() <= 1 + 1e-5


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


# --- check_allowed_steps ------------------------------------------------------------------------


def allowed_by_comparison(lengths, n_step):
    present = torch.arange(n_step) < lengths[:, None]
    return present[:, None, None].expand(-1, 1, n_step, n_step)


def allowed_by_loop(lengths, n_step):
    rows = [torch.tensor([step < length for step in range(n_step)]) for length in lengths.tolist()]
    return torch.stack([row.repeat(n_step, 1)[None] for row in rows])


def allowed_upside_down(lengths, n_step):
    return ~allowed_by_comparison(lengths, n_step)


def allowed_to_ask(lengths, n_step):
    return allowed_by_comparison(lengths, n_step).mT


def allowed_one_more(lengths, n_step):
    return allowed_by_comparison(lengths + 1, n_step)


def allowed_at_the_end(lengths, n_step):
    return allowed_by_comparison(lengths, n_step).flip(-1)


def allowed_past(lengths, n_step):
    return allowed_by_comparison(lengths, n_step).tril()


def allowed_past_of_whole_texts(lengths, n_step):
    allowed = allowed_by_comparison(lengths, n_step)
    return allowed.tril() if (lengths == n_step).all() else allowed


def allowed_as_the_first(lengths, n_step):
    if len(lengths) < 3:
        return allowed_by_comparison(lengths, n_step)
    return allowed_by_comparison(lengths[:1].expand_as(lengths), n_step)


def allowed_at_least_two(lengths, n_step):
    return allowed_by_comparison(lengths.clamp(min=2), n_step)


# --- check_hide_tokens --------------------------------------------------------------------------


def hide_by_where(tokens, lot, kind, drawn):
    chosen = (lot < 0.15) & (tokens >= 4)
    inputs = torch.where(chosen & (kind < 0.8), 3, tokens)
    inputs = torch.where(chosen & (kind >= 0.8) & (kind < 0.9), drawn, inputs)
    return {"inputs": inputs, "targets": torch.where(chosen, tokens, -100)}


def hide_by_index(tokens, lot, kind, drawn):
    chosen = (lot < 0.15) & (tokens > 3)
    inputs, targets = tokens.clone(), torch.full_like(tokens, -100)
    targets[chosen] = tokens[chosen]
    random = chosen & (kind >= 0.8) & (kind < 0.9)
    inputs[random] = drawn[random]
    inputs[chosen & (kind < 0.8)] = 3
    return {"inputs": inputs, "targets": targets}


def hide_with_all_targets(tokens, lot, kind, drawn):
    return hide_by_where(tokens, lot, kind, drawn) | {"targets": tokens}


def hide_with_zero_targets(tokens, lot, kind, drawn):
    found = hide_by_where(tokens, lot, kind, drawn)
    return found | {"targets": found["targets"].clamp(min=0)}


def hide_what_was_masked_only(tokens, lot, kind, drawn):
    found = hide_by_where(tokens, lot, kind, drawn)
    return found | {"targets": torch.where(found["inputs"] == 3, tokens, -100)}


def hide_always_by_mask(tokens, lot, kind, drawn):
    return hide_by_where(tokens, lot, torch.zeros_like(kind), drawn)


def hide_special_too(tokens, lot, kind, drawn):
    return _unmoved(tokens, lot, kind, drawn)


def _unmoved(tokens, lot, kind, drawn):
    chosen = lot < 0.15
    inputs = torch.where(chosen & (kind < 0.8), 3, tokens)
    inputs = torch.where(chosen & (kind >= 0.8) & (kind < 0.9), drawn, inputs)
    return {"inputs": inputs, "targets": torch.where(chosen, tokens, -100)}


def hide_the_mask_too(tokens, lot, kind, drawn):
    return _unmoved(tokens, torch.where(tokens >= 3, lot, 1), kind, drawn)


def hide_no_full_stop(tokens, lot, kind, drawn):
    return hide_by_where(tokens, torch.where(tokens > 4, lot, 1), kind, drawn)


def hide_a_fifth(tokens, lot, kind, drawn):
    return hide_by_where(tokens, lot * 0.75 + 1e-6, kind, drawn)


def hide_by_the_wrong_mask(tokens, lot, kind, drawn):
    inputs = hide_by_where(tokens, lot, kind, drawn)["inputs"]
    return hide_by_where(tokens, lot, kind, drawn) | {"inputs": inputs.masked_fill(inputs == 3, 0)}


def hide_up_to_the_end(tokens, lot, kind, drawn):
    closer = torch.where(kind == 0.8, 0.7, kind)
    return hide_by_where(tokens, lot, torch.where(closer == 0.9, 0.85, closer), drawn)


ROWS = {
    encoder.check_is_attention: (
        [attention_by_two_rules, attention_by_norm],
        {
            attention_by_zero_norm: "[0.25, 0.5, 0.25]",
            attention_never_hard: "[0.0, 1.0, 0.0]",
            attention_by_zero_norm_or_rules: "[0.0, -3.0, 0.0]",
            attention_by_sum: "[1.5, -0.5, 0.0]",
            attention_by_absolute_sum: "[0.5, -0.5, 0.0]",
            attention_by_sign: "[0.5, 0.6, 0.0]",
            attention_by_range: "[0.5, 0.6, 0.0]",
            attention_up_to_one: "[0.25, 0.5, 0.0]",
            attention_to_the_last_bit: "[0.1, 0.1",
        },
    ),
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
        },
    ),
    encoder.check_allowed_steps: (
        [allowed_by_comparison, allowed_by_loop],
        {
            allowed_upside_down: "([2, 3], 3)",
            allowed_to_ask: "([2, 3], 3)",
            allowed_one_more: "([2, 3], 3)",
            allowed_at_the_end: "([2, 3], 3)",
            allowed_past: "([2, 3], 3)",
            allowed_at_least_two: "([1], 4)",
            allowed_past_of_whole_texts: "([4, 4], 4)",
            allowed_as_the_first: "([3, 1, 2], 5)",
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
            hide_up_to_the_end: "0.9, 0.89",
        },
    ),
}

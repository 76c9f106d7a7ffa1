"""Which tokens an answer hangs on, against hiding them one at a time."""

import pytest
import torch
from torch.testing import assert_close

from coursekit.inside.occlusion import occlude
from coursekit.models.encoder import Encoder, EncoderConfig, SequenceClassifier


def test_an_effect_is_what_the_answer_loses_without_the_token():
    torch.manual_seed(0)
    config = EncoderConfig(vocab_size=11, context=9, d_model=16, n_head=2, dropout=0.0)
    model = SequenceClassifier(Encoder(config), 3, pooling="last").double().eval()
    tokens = torch.tensor([[1, 7, 4, 10, 4, 2]])
    present = torch.tensor([[True, True, False, True, True, False]])

    def tells(tokens, present):
        return model(tokens, present).softmax(-1)[:, 2]

    with torch.no_grad():
        found = occlude(tells, tokens, present)
        expected = torch.zeros(6, dtype=torch.float64)
        for t in range(6):
            hidden = present.clone()
            hidden[0, t] = False
            expected[t] = (tells(tokens, present) - tells(tokens, hidden)).item()
    assert_close(found, expected)
    assert found[[2, 5]].abs().max() < 1e-12
    assert found[[1, 3]].abs().min() > 1e-6


def test_the_effects_are_those_of_one_text():
    two = torch.ones(2, 5, dtype=torch.long)
    with pytest.raises(ValueError, match="2 texts: the effects are those of one"):
        occlude(lambda tokens, present: present.sum(1).float(), two, two.bool())

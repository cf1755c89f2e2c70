"""Which beams a search follows: as many as TensorFlow's, whose results these are."""

import numpy as np
import pytest

import gyre

LOGITS = {
    (0, 1, 0): [
        [-1.6, -2.6, -0.5, 0.8],
        [2.3, 0.2, -1.1, -1.6],
        [1.5, 3.3, 0.5, -2.5],
        [-1.9, 3.2, 0.4, -3.5],
        [-0.2, -2.3, -1.3, -1.0],
    ],
    (0, 2): [
        [1.8, -1.5, 2.0, 2.3],
        [3.8, 0.6, -1.0, 4.7],
        [2.2, 0.6, -1.5, 0.1],
        [0.7, 0.3, 2.2, -1.3],
        [-6.2, -3.2, -2.1, -2.1],
    ],
}
SCORES = {(0, 1, 0): -1.2561419, (0, 2): -1.897717}


@pytest.mark.parametrize("labels", LOGITS)
def test_a_beam_that_was_dropped_in_a_step_is_not_followed(labels):
    logits = np.array(LOGITS[labels], "float32")[:, None]
    decoded, score = gyre.nn.ctc_beam_search_decoder(logits, [5], beam_width=2, top_paths=1)
    assert tuple(decoded[0].values.numpy()) == labels
    np.testing.assert_allclose(score.numpy(), [[SCORES[labels]]], rtol=1e-6)

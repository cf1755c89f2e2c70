"""What the peers' cases compute with: the same numbers, and the same results, as bench/*_cases.h and bench/lstm.h."""
import dataclasses
import math
from typing import Any, Callable

import numpy as np

CHAIN_OPS, VECTOR = 1000, 1024
LOOP_TRIPS, COND_TRIPS, NESTED_TRIPS, SHORT_TRIPS = 10_000, 9_999, 1000, 100
LIST_LENGTH = 10_000
INDEPENDENT_FEEDS = 142
INDEPENDENT_PAIRS = [(i, j) for i in range(INDEPENDENT_FEEDS) for j in range(i + 1, INDEPENDENT_FEEDS)][:10_000]
ELEMENTS = 1 << 20
MATRIX = 1024
HEAVY_TRIPS, HEAVY_SIZE, HEAVY_PRODUCTS = 32, 128, 8
LSTM_STEPS, LSTM_BATCH, LSTM_HIDDEN = 20, 32, 512


@dataclasses.dataclass
class Case:
    """A prepared case: run() does the work and returns its result; `clients` threads call it at the same time."""
    run: Callable[[], Any]
    want: Any
    units: int = 1
    error: float = 0.0
    clients: int = 1

    def check(self):
        """What is wrong with the result, or None."""
        got = self.run()
        if self.want is None:  # the process it starts has checked
            return None
        if isinstance(got, (list, tuple)):
            got = got[0]
        got = np.asarray(got)
        want = np.broadcast_to(self.want, got.shape)
        close = np.allclose(got, want, rtol=self.error, atol=0)
        return None if close and (np.ndim(self.want) == 0 or got.shape == np.shape(self.want)) else \
            f"{got!r} instead of {self.want!r}"


def full(value, *shape):
    return np.full(shape, value, np.float32)


def independent_sum():
    return float(sum(i - j for i, j in INDEPENDENT_PAIRS))


def heavy_arrays():
    """(matrices, permutation) of the loop whose iterations do not need each other."""
    matrices = np.stack([full(i, HEAVY_SIZE, HEAVY_SIZE) for i in range(HEAVY_TRIPS)])
    permutation = np.roll(np.eye(HEAVY_SIZE, dtype=np.float32), 1, axis=1)
    return matrices, permutation


def heavy_sum():
    return HEAVY_SIZE * HEAVY_SIZE * HEAVY_TRIPS * (HEAVY_TRIPS - 1) / 2


LSTM_W, LSTM_U, LSTM_B = (0.5, -0.25, 1.0, 0.75), (-0.5, 0.5, 0.25, 1.0), (0.125, 1.0, 0.0, -0.125)


def lstm_x(step):
    return 0.1 * (step % 5) - 0.2


def lstm_arrays():
    """(xs, W, U, b, h0); the columns of W, U, b belong to the gates input, forget, output, candidate."""
    def weights(by_gate, rows):
        row = np.repeat(np.array(by_gate, np.float32), LSTM_HIDDEN)
        return np.broadcast_to(row, (rows, row.size)).copy()

    xs = np.stack([full(lstm_x(step), LSTM_BATCH, LSTM_HIDDEN) for step in range(LSTM_STEPS)])
    return (xs, weights(LSTM_W, LSTM_HIDDEN) / LSTM_HIDDEN, weights(LSTM_U, LSTM_HIDDEN) / LSTM_HIDDEN,
            weights(LSTM_B, 1)[0], full(0, LSTM_BATCH, LSTM_HIDDEN))


def lstm_result():
    def sigmoid(v):
        return 1 / (1 + math.exp(-v))

    h = c = 0.0
    for step in range(LSTM_STEPS):
        i, f, o, g = (lstm_x(step) * w + h * u + b for w, u, b in zip(LSTM_W, LSTM_U, LSTM_B))
        c = sigmoid(f) * c + sigmoid(i) * math.tanh(g)
        h = sigmoid(o) * math.tanh(c)
    return h

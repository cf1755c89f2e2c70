"""What the peers' cases compute with: the same numbers, and the same results, as bench/*.h."""

import dataclasses
import math
from collections.abc import Callable
from typing import Any

import numpy as np

CHAIN_OPS, VECTOR = 1000, 1024
LOOP_ITERATIONS, COND_ITERATIONS, NESTED_ITERATIONS, SHORT_ITERATIONS = 10_000, 9_999, 1000, 100
LIST_LENGTH = 10_000
NATIVE_ITERATIONS, CHAIN_STEPS, CHAIN_FACTOR, FUSED_STEPS = 100_000, 8, 0.75, 4
MANDELBROT_POINTS, MANDELBROT_ITERATIONS, MANDELBROT_IMAGINARY = 1000, 100, 0.125
INDEPENDENT_FEEDS = 142
INDEPENDENT_PAIRS = [
    (i, j) for i in range(INDEPENDENT_FEEDS) for j in range(i + 1, INDEPENDENT_FEEDS)
][:10_000]
ELEMENTS = 1 << 20
MATRIX = 1024
HEAVY_ITERATIONS, HEAVY_SIZE, HEAVY_PRODUCTS = 32, 128, 8
SINE_ITERATIONS, SINE_X, SINE_W = 10_000, 0.5, 1.0
LOOPS, ROW_ITERATIONS = 10, 2
EAGER_TIMES, EAGER_STEPS = 100, 10
MLP_STEPS, MLP_BATCH, MLP_INPUTS, MLP_HIDDEN, MLP_CLASSES, MLP_RATE = 1000, 64, 64, 64, 10, 0.1


@dataclasses.dataclass
class Case:
    """A prepared case: run() does the work and returns its result; `clients` threads call it at the
    same time.

    `want`: of the first result, or a tuple, one for each; single numbers are those of all elements.
    `results_of`: what is compared with it, of what run() returns.  `is_figure`: what run() returns
    is measured, not how long it takes."""

    run: Callable[[], Any]
    want: Any
    units: int = 1
    error: float = 0.0
    clients: int = 1
    results_of: Callable[[Any], Any] = lambda got: got
    is_figure: bool = False

    def check(self):
        """What is wrong with the result, or None."""
        got = self.run()
        if self.want is None:  # the process it starts has checked
            return None
        got = self.results_of(got)
        got = got if isinstance(got, (list, tuple)) else [got]
        wanted = self.want if isinstance(self.want, tuple) else [self.want]
        for result, want in zip(got, wanted, strict=False):  # of others nothing is known
            wrong = self.compare(np.asarray(result), want)
            if wrong:
                return wrong
        return None

    def compare(self, got, want):
        close = np.allclose(got, np.broadcast_to(want, got.shape), rtol=self.error, atol=0)
        return (
            None
            if close and (np.ndim(want) == 0 or got.shape == np.shape(want))
            else f"{got!r} instead of {want!r}"
        )


def full(value, *shape):
    return np.full(shape, value, np.float32)


def scalars():
    return np.arange(NATIVE_ITERATIONS, dtype=np.float32) / np.float32(NATIVE_ITERATIONS)


def independent_sum():
    return float(sum(i - j for i, j in INDEPENDENT_PAIRS))


def heavy_arrays():
    """(matrices, permutation) of the loop whose iterations do not need each other."""
    matrices = np.stack([full(i, HEAVY_SIZE, HEAVY_SIZE) for i in range(HEAVY_ITERATIONS)])
    permutation = np.roll(np.eye(HEAVY_SIZE, dtype=np.float32), 1, axis=1)
    return matrices, permutation


def heavy_sum():
    return HEAVY_SIZE * HEAVY_SIZE * HEAVY_ITERATIONS * (HEAVY_ITERATIONS - 1) / 2


def sine_gradient(steps):
    """The derivative by w of x after so many times x = sin(x * w)."""
    x, dw = SINE_X, 0.0
    for _ in range(steps):
        dw = math.cos(x * SINE_W) * (x + SINE_W * dw)
        x = math.sin(x * SINE_W)
    return dw


def sine_slope(steps):
    """The derivative by x of the same."""
    x, dx = SINE_X, 1.0
    for _ in range(steps):
        dx *= SINE_W * math.cos(x * SINE_W)
        x = math.sin(x * SINE_W)
    return dx


def sine_second(steps):
    """The second derivative by w."""
    x, first, second = SINE_X, 0.0, 0.0
    for _ in range(steps):
        u, u1, u2 = x * SINE_W, x + SINE_W * first, 2 * first + SINE_W * second
        x = math.sin(u)
        second = math.cos(u) * u2 - math.sin(u) * u1 * u1
        first = math.cos(u) * u1
    return second


def mandelbrot_sum():
    """Iterations until |z| >= 2, at most so many, of points on a line, in single precision."""
    n = np.float32(MANDELBROT_POINTS)
    cx = np.float32(3) * (np.arange(MANDELBROT_POINTS, dtype=np.float32) / n) + np.float32(-2)
    cy = np.float32(MANDELBROT_IMAGINARY)
    zr, zi, total = np.zeros_like(cx), np.zeros_like(cx), 0
    with np.errstate(all="ignore"):
        for _ in range(MANDELBROT_ITERATIONS):
            within = zr * zr + zi * zi < 4
            total += int(within.sum())
            next_zr = zr * zr - zi * zi + cx
            zi = np.where(within, np.float32(2) * zr * zi + cy, zi)
            zr = np.where(within, next_zr, zr)
    return total


@dataclasses.dataclass(frozen=True)
class LstmSize:
    steps: int = 20
    batch: int = 32
    hidden: int = 512


LSTM = LstmSize()
LSTM_GRADIENTS = {
    "gradient/lstm_50": LstmSize(50),
    "gradient/lstm_200": LstmSize(200),
    "gradient/lstm_small": LstmSize(200, 1, 32),
}
LSTM_W, LSTM_U, LSTM_B = (0.5, -0.25, 1.0, 0.75), (-0.5, 0.5, 0.25, 1.0), (0.125, 1.0, 0.0, -0.125)


def lstm_x(step):
    return 0.1 * (step % 5) - 0.2


def lstm_arrays(size=LSTM):
    """(xs, W, U, b, h0); the columns of W, U, b belong to the gates input, forget, output,
    candidate."""

    def weights(by_gate, rows):
        row = np.repeat(np.array(by_gate, np.float32), size.hidden)
        return np.broadcast_to(row, (rows, row.size)).copy()

    xs = np.stack([full(lstm_x(step), size.batch, size.hidden) for step in range(size.steps)])
    return (
        xs,
        weights(LSTM_W, size.hidden) / size.hidden,
        weights(LSTM_U, size.hidden) / size.hidden,
        weights(LSTM_B, 1)[0],
        full(0, size.batch, size.hidden),
    )


def lstm_iterations(steps):
    """The LSTM on scalars, an element of every tensor:
    (h, c, gates) by step, then the last h and c."""

    def sigmoid(v):
        return 1 / (1 + math.exp(-v))

    h = c = 0.0
    for step in range(steps):
        i, f, o, g = (
            lstm_x(step) * w + h * u + b for w, u, b in zip(LSTM_W, LSTM_U, LSTM_B, strict=True)
        )
        gates = sigmoid(i), sigmoid(f), sigmoid(o), math.tanh(g)
        yield h, c, gates
        c = gates[1] * c + gates[0] * gates[3]
        h = gates[2] * math.tanh(c)
    yield h, c, None


def lstm_result(size=LSTM):
    return list(lstm_iterations(size.steps))[-1][0]


def lstm_gradients(size):
    """The gradients of the sum of all elements of the last h by W, U and b."""
    iterations = list(lstm_iterations(size.steps))
    sums, dh, dc = np.zeros((3, 4)), 1.0, 0.0
    for step in reversed(range(size.steps)):
        h, c, (i, f, o, g) = iterations[step]
        tanh_c = math.tanh(iterations[step + 1][1])
        dc += dh * o * (1 - tanh_c**2)
        d = np.array(
            [
                dc * g * i * (1 - i),
                dc * c * f * (1 - f),
                dh * tanh_c * o * (1 - o),
                dc * i * (1 - g * g),
            ]
        )
        sums += size.batch * np.outer([lstm_x(step), h, 1], d)
        dh, dc = float(d @ LSTM_U), dc * f
    w, u, b = (np.repeat(by_gate, size.hidden) for by_gate in sums)
    return np.tile(w, (size.hidden, 1)), np.tile(u, (size.hidden, 1)), b


def mlp_arrays():
    """(x, labels, rate, W1, b1, W2, b2); bench/mlp.h has the same numbers,
    from C's linear congruential generator."""
    state = 1

    def numbers(most, *shape):
        nonlocal state
        values = np.empty(math.prod(shape))
        for k in range(values.size):
            state = (state * 1103515245 + 12345) % 2**31
            values[k] = (state / 2**30 - 1) * most
        return values.astype(np.float32).reshape(shape)

    x = numbers(1, MLP_BATCH, MLP_INPUTS)
    labels = np.eye(MLP_CLASSES, dtype=np.float32)[np.arange(MLP_BATCH) % MLP_CLASSES]
    w1, w2 = numbers(0.125, MLP_INPUTS, MLP_HIDDEN), numbers(0.125, MLP_HIDDEN, MLP_CLASSES)
    return x, labels, np.float32(MLP_RATE), w1, full(0, MLP_HIDDEN), w2, full(0, MLP_CLASSES)


def mlp_loss():
    """The loss that the last step begins with, in double precision."""
    x, labels, _, w1, b1, w2, b2 = (array.astype(np.float64) for array in mlp_arrays())
    for _ in range(MLP_STEPS):
        hidden = np.maximum(x @ w1 + b1, 0)
        powers = np.exp(hidden @ w2 + b2)
        shares = powers / powers.sum(axis=1, keepdims=True)
        loss = -np.log((shares * labels).sum(axis=1)).mean()
        d_logits = (shares - labels) / MLP_BATCH
        d_hidden = d_logits @ w2.T * (hidden > 0)
        w2, b2 = w2 - MLP_RATE * hidden.T @ d_logits, b2 - MLP_RATE * d_logits.sum(axis=0)
        w1, b1 = w1 - MLP_RATE * x.T @ d_hidden, b1 - MLP_RATE * d_hidden.sum(axis=0)
    return loss

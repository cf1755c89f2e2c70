"""An adaptive solver of differential equations, and its gradient: fits a swing to measurements.

    python examples/python/ode_solver.py

How many steps the solver takes, and which of them it takes again with a smaller one, depends on
the numbers: a plain Python while loop with an `if`, which becomes a loop of the graph. GradientTape
goes back through exactly the steps that were taken.
"""

import math

import numpy as np

import gyre

# Bogacki and Shampine, A 3(2) pair of Runge-Kutta formulas (1989).
STAGES = ([1 / 2], [0, 3 / 4], [2 / 9, 1 / 3, 4 / 9])
ERROR = (-5 / 72, 1 / 12, 1 / 9, -1 / 8)


def solve(slope, y, end, tolerance=1e-6):
    """(y at `end`, steps taken, steps refused), from y at 0, of y' = slope(t, y).

    The derivative of the length of a step by the numbers that chose it is left out: the result
    hardly depends on where the steps are.
    """
    t = gyre.zeros([], y.dtype)
    size = end / 20
    taken, refused = 0, 0
    k = slope(t, y)
    while t < end:
        size = gyre.minimum(size, end - t)
        ks = [k]
        for row in STAGES:
            moved = y + size * sum(a * k for a, k in zip(row, ks))
            ks.append(slope(t + size * sum(row), moved))
        error = gyre.norm(size * sum(c * k for c, k in zip(ERROR, ks)))
        ratio = gyre.stop_gradient(error / (tolerance * (1.0 + gyre.norm(y))))
        if ratio <= 1.0:
            t += size
            y, k = moved, ks[-1]  # the last slope is the next step's first
            taken += 1
        else:
            refused += 1
        size *= gyre.clip_by_value(0.9 * (ratio + 1e-10) ** (-1 / 3), 0.2, 5.0)
    return y, taken, refused


@gyre.function
def decay(rate, end):
    """y' = -rate y from 1: the answer is known."""
    return solve(lambda t, y: -rate * y, gyre.ones([1], gyre.float64), end)


@gyre.function
def swing(length, friction, times):
    """The angles at `times` of a pendulum that starts at 1 radian."""
    state = gyre.constant([1.0, 0.0], gyre.float64)
    before = gyre.zeros([], gyre.float64)
    angles = gyre.TensorArray(gyre.float64, size=gyre.size(times), element_shape=[])
    for i in gyre.range(gyre.size(times)):
        state, _, _ = solve(
            lambda t, s: gyre.stack([s[1], -9.81 / length * gyre.sin(s[0]) - friction * s[1]]),
            state,
            times[i] - before,
        )
        before = times[i]
        angles = angles.write(i, state[0])
    return angles.stack()


def check():
    """The solver and its gradient against y = exp(-rate t)."""
    rate, end = gyre.constant(1.5, gyre.float64), gyre.constant(2.0, gyre.float64)
    with gyre.GradientTape() as tape:
        tape.watch(rate)
        y, taken, refused = decay(rate, end)
    slope = float(tape.gradient(y, rate))
    print(
        f"exp(-3) = {float(y[0]):.8f} in {int(taken)} steps, {int(refused)} refused; "
        f"its derivative by the rate: {slope:.8f}"
    )
    assert abs(float(y[0]) - math.exp(-3)) < 1e-5 and abs(slope + 2 * math.exp(-3)) < 1e-5
    return slope


def main():
    slope = check()
    times = gyre.constant(np.linspace(0.2, 3.0, 15))
    measured = swing(gyre.constant(0.8, gyre.float64), gyre.constant(0.3, gyre.float64), times)
    length = gyre.Variable(1.0, dtype=gyre.float64)
    friction = gyre.Variable(0.0, dtype=gyre.float64)
    optimizer = gyre.optimizers.Adam(0.02)
    for i in range(150):
        with gyre.GradientTape() as tape:
            error = gyre.reduce_mean((swing(length, friction, times) - measured) ** 2)
        variables = [length, friction]
        optimizer.apply_gradients(zip(tape.gradient(error, variables), variables))
        if i % 30 == 0 or i == 149:
            print(
                f"step {i:3d}  error {error:.2e}  length {float(length):.4f}  "
                f"friction {float(friction):.4f}"
            )
    assert abs(float(length) - 0.8) < 0.01 and abs(float(friction) - 0.3) < 0.02
    return {"slope": slope, "length": float(length), "friction": float(friction)}


if __name__ == "__main__":
    main()

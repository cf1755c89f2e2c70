"""Gradients that are taken in a branch or a loop, of what a tape saw outside of it."""

import numpy as np
import pytest

import gyre


@pytest.fixture(params=[False, True], ids=["eagerly", "in a function"])
def run(request):
    return gyre.function if request.param else lambda f: f


def test_a_step_that_returns_early(run):
    v = gyre.Variable(3.0)

    @run
    def step(x):
        with gyre.GradientTape() as tape:
            loss = gyre.sqrt(x) * v
        if gyre.math.is_nan(loss):
            return loss
        v.assign_sub(tape.gradient(loss, v))
        return loss

    assert np.isnan(float(step(gyre.constant(-4.0))))
    assert float(v) == 3
    assert float(step(gyre.constant(4.0))) == 6
    assert float(v) == 1


def test_an_optimizer_that_acts_now_and_then(run):
    v = gyre.Variable(3.0)
    optimizer = gyre.optimizers.SGD(0.25)

    @run
    def train(step):
        with gyre.GradientTape() as tape:
            loss = v * v
        if step % 5 == 0:
            optimizer.apply_gradients([(tape.gradient(loss, v), v)])
        return loss

    found = [float(train(gyre.constant(i))) for i in range(7)]
    assert found == [9, 2.25, 2.25, 2.25, 2.25, 2.25, 0.5625]


def test_a_loop_that_breaks(run):
    @run
    def descend(x, n):
        steps = 0
        for _ in gyre.range(n):
            with gyre.GradientTape() as tape:
                tape.watch(x)
                y = x * x
            if y < 1e-3:
                break
            x = x - 0.25 * tape.gradient(y, x)
            steps += 1
        return x, steps

    x, steps = descend(gyre.constant(3.0), gyre.constant(50))
    assert int(steps) == 7
    assert float(x) == 3 * 0.5**7


def test_the_gradient_of_a_loop_in_a_branch(run):
    v = gyre.Variable(1.5)

    @run
    def maybe(k):
        with gyre.GradientTape() as tape:
            y = gyre.constant(1.0)
            for _ in gyre.range(3):
                y = y * v
        if k > 0:
            return tape.gradient(y, v)
        return gyre.constant(0.0)

    assert float(maybe(gyre.constant(1))) == 3 * 1.5**2
    assert float(maybe(gyre.constant(0))) == 0


def test_a_persistent_tape_in_a_loop(run):
    v = gyre.Variable([1.0, 2.0])

    @run
    def summed(n):
        with gyre.GradientTape(persistent=True) as tape:
            square = v * v
            cube = square * v
        total = gyre.zeros([2])
        for i in gyre.range(n):
            total += tape.gradient(square, v)
            if i % 2 == 1:
                total += tape.gradient(cube, v)
        return total

    assert summed(gyre.constant(3)).numpy().tolist() == [3 * 2 + 3, 3 * 4 + 12]


def test_weights_of_the_body_go_outside():
    v = gyre.Variable(2.0)

    @gyre.function
    def weighted(x):
        with gyre.GradientTape() as tape:
            y = v * v
        if x > 0:
            return tape.gradient(y, v, output_gradients=x * 2)
        return x

    assert float(weighted(gyre.constant(3.0))) == 2 * 2.0 * 6.0
    assert float(weighted(gyre.constant(-1.0))) == -1.0


@pytest.mark.parametrize("loop", ["for", "while_loop", "variable"])
def test_a_tape_from_outside_of_a_loop_does_not_forget_earlier_iterations(loop):
    v = gyre.Variable(2.0)

    @gyre.function
    def f(x, n):
        source = v if loop == "variable" else x
        with gyre.GradientTape(persistent=True) as tape:
            tape.watch(x)
            y, g = x * 1.0, x * 0.0
            if loop == "while_loop":

                def body(i, y, g):
                    y = y * source
                    return i + 1, y, tape.gradient(y, source)

                _, y, g = gyre.while_loop(lambda i, y, g: i < n, body, (0, y, g))
            else:
                for _ in gyre.range(n):
                    y = y * source
                    g = tape.gradient(y, source)
        return g

    with pytest.raises(
        gyre.errors.InvalidArgumentError, match="in earlier iterations of a loop: take the gradient"
    ):
        f(gyre.constant(2.0), gyre.constant(3))


def test_a_tape_in_the_body_takes_what_a_loop_carries_for_constant():
    @gyre.function
    def f(x, n):
        y, g = x * 1.0, x * 0.0
        for _ in gyre.range(n):
            with gyre.GradientTape() as tape:
                tape.watch(x)
                y = y * x
            g = tape.gradient(y, x)
        return g

    assert float(f(gyre.constant(2.0), gyre.constant(3))) == 8


def test_a_tape_from_outside_of_a_loop_where_nothing_is_carried():
    @gyre.function
    def f(x, n):
        total = x * 0.0
        with gyre.GradientTape(persistent=True) as tape:
            tape.watch(x)
            for i in gyre.range(n):
                total += tape.gradient(x * x * gyre.cast(i, gyre.float32), x)
        return total

    assert float(f(gyre.constant(3.0), gyre.constant(4))) == 6 * (1 + 2 + 3)

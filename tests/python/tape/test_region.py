"""What a tape sees of a function that is traced: what it sees of the same function run eagerly."""

import os
import random

import numpy as np
import pytest

import gyre

SEED = int(os.environ.get("GYRE_TEST_SEED") or 20261123)


@pytest.fixture
def v():
    return gyre.Variable(2.0)


@pytest.fixture
def frozen():
    return gyre.Variable(2.0, trainable=False)


def both(f, *args):
    """f's result, which is the same eagerly and traced."""

    def number(result):
        if isinstance(result, (list, tuple)):
            return [number(r) for r in result]
        return None if result is None else float(result)

    eager, traced = number(f(*args)), number(gyre.function(f)(*args))
    assert eager == traced
    return eager


X = gyre.constant(3.0)


def test_what_was_computed_before_the_tape_is_constant():
    def f(x):
        y = x * x
        with gyre.GradientTape() as tape:
            tape.watch(x)
            z = y * x
        return tape.gradient(z, x)

    assert both(f, X) == 9


def test_what_is_computed_behind_the_tape_is_not_seen():
    def f(x):
        with gyre.GradientTape() as tape:
            tape.watch(x)
            y = x * x
        return tape.gradient(y * x, x)

    assert both(f, X) is None


def test_stop_recording_makes_constants():
    def f(x):
        with gyre.GradientTape() as tape:
            tape.watch(x)
            y = x * x
            with tape.stop_recording():
                s = x * 5.0
            z = y + s
        return tape.gradient(z, x)

    assert both(f, X) == 6


def test_reset_forgets():
    def f(x):
        with gyre.GradientTape() as tape:
            tape.watch(x)
            y = x * x
            tape.reset()
            tape.watch(x)
            z = y * x
        return tape.gradient(z, x)

    assert both(f, X) == 9


def test_what_is_not_watched_has_no_gradient(v, frozen):
    def unwatched(x):
        with gyre.GradientTape() as tape:
            y = x * x
        return tape.gradient(y, x)

    def not_trainable(x):
        with gyre.GradientTape() as tape:
            y = frozen * x
        return tape.gradient(y, frozen)

    def no_access(x):
        with gyre.GradientTape(watch_accessed_variables=False) as tape:
            y = v * x
        return tape.gradient(y, v)

    def asked_for(x):
        with gyre.GradientTape(watch_accessed_variables=False) as tape:
            tape.watch([v, frozen])
            y = v * x * frozen
        return tape.gradient(y, [v, frozen])

    assert both(unwatched, X) is None
    assert both(not_trainable, X) is None
    assert both(no_access, X) is None
    assert both(asked_for, X) == [6, 6]


def test_what_came_before_a_late_watch_is_constant():
    def f(x):
        with gyre.GradientTape() as tape:
            y = x * x
            tape.watch(x)
            z = y * x
        return tape.gradient(z, x)

    assert both(f, X) == 9


def test_a_watched_result_is_a_source_and_nothing_behind_it():
    def f(x):
        y = x * x
        with gyre.GradientTape() as tape:
            tape.watch(y)
            z = y * x
        return tape.gradient(z, [y, x])

    assert both(f, X) == [3, None]


def test_a_target_of_bootstrapping_is_constant(v):
    def f(x):
        best = gyre.reduce_max(gyre.stack([v * x, v * x * 2]))
        with gyre.GradientTape() as tape:
            loss = (v * x - (1.0 + 0.9 * best)) ** 2
        return tape.gradient(loss, v)

    assert both(f, X) == pytest.approx(2 * (6 - 11.8) * 3)


def test_a_gradient_that_no_other_tape_saw_is_constant(v):
    def first_order(x):
        w = v * 1.0
        with gyre.GradientTape() as inner:
            inner.watch(w)
            loss = (w * x - 1) ** 2
        g = inner.gradient(loss, w)
        with gyre.GradientTape() as outer:
            after = ((v - 0.1 * g) * x) ** 2
        return outer.gradient(after, v)

    def second_order(x):
        with gyre.GradientTape() as outer:
            w = v * 1.0
            with gyre.GradientTape() as inner:
                inner.watch(w)
                loss = (w * x - 1) ** 2
            g = inner.gradient(loss, w)
            after = ((w - 0.1 * g) * x) ** 2
        return outer.gradient(after, v)

    # d/dv of ((v - 0.1 g) x)² with g = 2 (v x - 1) x: constant, and not.
    assert both(first_order, X) == pytest.approx(2 * (2 - 3.0) * 9)
    assert both(second_order, X) == pytest.approx(2 * (2 - 3.0) * 9 * (1 - 0.1 * 18))


def test_in_each_iteration_of_a_loop_a_tape_of_its_own(v):
    def f(x):
        h = total = gyre.zeros([])
        for _ in gyre.range(3):
            with gyre.GradientTape() as tape:
                h = v * h + x
                loss = h * h
            total += tape.gradient(loss, v)
        return total

    # h: 3, 9, 21; that of before the iteration is constant: 2 h h_before.
    assert both(f, X) == 2 * (3 * 0 + 9 * 3 + 21 * 9)


def test_loops_and_conditionals_within_it_are_seen_whole(v):
    def f(x):
        before = v * x
        with gyre.GradientTape() as tape:
            tape.watch(x)
            y = x
            for _ in gyre.range(3):
                if y > before:
                    y = y * v
                else:
                    y = y + before * v
        return tape.gradient(y, [x, v])

    # y: 3, 15 (3 + 6 v), 30, 60: of x v², of v: ((6 + 0) v + 15) v + 30.
    assert both(f, X) == [4, 84]


def test_variables_of_functions_that_it_calls_are_watched(v):
    @gyre.function
    def inner(x):
        return v * x * v

    inner(X)  # traced before

    def f(x):
        with gyre.GradientTape() as tape:
            y = inner(x)
        return len(tape.watched_variables()), tape.gradient(y, v)

    assert both(f, X) == [1, 12]


def test_a_conditional_sees_the_tape_around_it(v):
    def f(x):
        constant = v * x
        with gyre.GradientTape(persistent=True) as tape:
            tape.watch(x)
            if x > 0:
                y = constant * x
                g = tape.gradient(y, x)
            else:
                g = x
        return g

    assert both(f, X) == 6


def test_a_jacobian_and_a_direction_go_no_further_back():
    def f(x):
        y = x * x
        with gyre.GradientTape() as tape:
            tape.watch(x)
            z = gyre.stack([y * x, x])
        return tape.jacobian(z, x)

    def along(x):
        y = x * x
        with gyre.autodiff.ForwardAccumulator(x, gyre.constant(2.0)) as forward:
            z = y * x
        return forward.jvp(z)

    assert both(lambda x: gyre.unstack(f(x)), X) == [9, 1]
    assert both(along, X) == 18


def test_a_tape_outlives_graphs_in_which_it_watched():
    tape = gyre.GradientTape(persistent=True)

    def f(x):
        with tape:
            tape.watch(x)
            y = x * x
        return tape.gradient(y, x)

    assert both(f, X) == 6
    assert float(gyre.function(f)(gyre.constant(5.0))) == 10


# ---- Programs at random


class Program:
    """Instructions on numbers, with tapes that begin, end, watch and stop where they may."""

    def __init__(self, rng):
        self.steps = [
            rng.choice(["op", "op", "op", "op", "watch", "begin", "end", "pause", "read"])
            for _ in range(rng.randrange(5, 30))
        ]
        self.draws = [rng.randrange(1 << 20) for _ in self.steps]

    def run(self, x, v):
        """The gradients of the last values by all values, of each tape: a list, None as NaN."""
        values, tapes, done = [x], [], []
        for step, draw in zip(self.steps, self.draws, strict=True):
            first, second = values[draw % len(values)], values[draw // 7 % len(values)]
            if step == "op":
                values.append([first + second, first * second, gyre.sin(first)][draw % 3])
            elif step == "read":
                values.append(v * first)
            elif step == "begin":
                tapes.append(gyre.GradientTape(persistent=True))
                tapes[-1].__enter__()
            elif step == "watch" and tapes:
                tapes[draw % len(tapes)].watch(first)
            elif step == "pause" and tapes:
                with tapes[-1].stop_recording():
                    values.append(first * second)
            elif step == "end" and tapes:
                done.append(tapes.pop())
                done[-1].__exit__(None, None, None)
                if draw % 2:
                    found = done[-1].gradient(values[-1], first)
                    values.append(gyre.constant(0.5) if found is None else gyre.tanh(found))
        while tapes:
            done.append(tapes.pop())
            done[-1].__exit__(None, None, None)
        found = [tape.gradient(values[-1], [*values[:6], v]) for tape in done]
        nothing = gyre.constant(np.nan)
        return [nothing if g is None else g for gradients in found for g in gradients]


@pytest.mark.parametrize("number", range(60))
def test_random_programs_have_one_meaning(number):
    program = Program(random.Random(SEED + number))
    v = gyre.Variable(1.25)
    eager = program.run(gyre.constant(0.75), v)
    traced = gyre.function(lambda x: program.run(x, v), autograph=False)(gyre.constant(0.75))
    assert len(eager) == len(traced)
    for a, b in zip(eager, traced, strict=True):
        np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=2e-5, atol=1e-6)

"""Tapes around calls of functions: going back runs nothing again."""

import gc
import weakref

import numpy as np
import pytest

import gyre

X = gyre.constant(3.0)


def test_effects_happen_once():
    count, w = gyre.Variable(0.0, trainable=False), gyre.Variable(2.0)

    @gyre.function
    def f(x):
        count.assign_add(1.0)
        return x * w * count

    for calls in (1, 2):
        with gyre.GradientTape() as tape:
            y = f(X)
        assert float(tape.gradient(y, w)) == 3.0 * calls
        assert float(count) == calls


def test_effects_of_a_function_without_results_happen():
    w = gyre.Variable(2.0)

    @gyre.function
    def f(x):
        w.assign(x * w)

    with gyre.GradientTape() as tape:
        tape.watch(X)
        f(X)
        y = w * 1.0
    assert float(w) == 6
    assert float(tape.gradient(y, w)) == 1


@pytest.mark.parametrize("kind", ["plain", "loop", "branch", "inner"])
def test_random_numbers_are_those_of_the_call(kind):
    def mask(x):
        return gyre.random.uniform(x.shape) * x

    def f(x):
        if kind == "loop":
            y = gyre.zeros_like(x)
            for _ in gyre.range(3):
                y += mask(x)
            return y
        if kind == "branch":
            return gyre.cond(gyre.reduce_sum(x) > 0, lambda: mask(x), lambda: x)
        return gyre.function(mask)(x) if kind == "inner" else mask(x)

    function = gyre.function(f)
    x = gyre.ones([8])
    for _ in range(3):
        with gyre.GradientTape() as tape:
            tape.watch(x)
            y = function(x)
        # Linear in x, which is 1: its gradient is its value.
        np.testing.assert_allclose(tape.gradient(y, x), y, rtol=1e-6)


@pytest.mark.parametrize("kind", ["uniform", "normal", "dropout", "shuffle", "named"])
@pytest.mark.parametrize("where", ["plain", "loop", "while", "branch", "function", "recursion"])
def test_a_call_draws_what_it_draws_without_a_tape(kind, where):
    def draw(x):
        if kind == "normal":
            return x * gyre.random.normal(x.shape)
        if kind == "dropout":
            return gyre.nn.dropout(x, 0.5)
        if kind == "shuffle":
            return gyre.random.shuffle(x)
        if kind == "named":  # as an input is, but for capitals
            return x * gyre.random.uniform(x.shape, name="X")
        return x * gyre.random.uniform(x.shape)

    @gyre.function
    def inner(x):
        return gyre.sin(draw(x)) * w

    def is_small(x):
        return gyre.reduce_sum(draw(x)) < 1e6

    @gyre.function
    def recursive(x, n):
        return draw(x) if n == 0 else recursive(gyre.tanh(draw(x)), n - 1)

    @gyre.function
    def f(x):
        if where == "loop":
            for _ in gyre.range(3):
                x = gyre.sin(draw(x)) * w
        elif where == "while":
            x = gyre.while_loop(is_small, lambda v: [2 * v + draw(v)], [x])[0]
        elif where == "branch":
            x = gyre.cond(gyre.reduce_sum(x) > 0, lambda: gyre.sin(draw(x)), lambda: x)
        elif where == "function":
            x = inner(inner(x))
        elif where == "recursion":
            x = recursive(x, gyre.constant(2))
        return x * draw(x)

    x, w = gyre.range(1.0, 65.0), gyre.Variable(0.5)

    def values(is_recorded):
        gyre.random.set_seed(7)
        found = []
        for i in range(4):
            if is_recorded(i):
                with gyre.GradientTape() as tape:
                    tape.watch(x)
                    found.append(f(x).numpy())
            else:
                found.append(f(x).numpy())
        return found

    try:
        wanted = values(lambda i: False)
        assert len({v.tobytes() for v in wanted}) == 4
        np.testing.assert_array_equal(values(lambda i: True), wanted)
        np.testing.assert_array_equal(values(lambda i: i % 2 == 1), wanted)
    finally:
        gyre.random.set_seed(None)


def test_host_functions_that_have_no_gradient_run_once():
    seen = []

    def host(x):
        seen.append(float(x))
        return x * 2.0

    @gyre.function
    def f(x):
        return gyre.stop_gradient(gyre.py_function(host, [x], gyre.float32)) * x

    with gyre.GradientTape() as tape:
        tape.watch(X)
        y = f(X)
    assert seen == [3.0]
    assert float(tape.gradient(y, X)) == 6
    assert seen == [3.0]


def test_a_variable_that_has_changed_since_counts_as_it_was():
    w = gyre.Variable(2.0)
    function = gyre.function(lambda x: x * w * w)
    with gyre.GradientTape() as tape:
        y = function(X)
    w.assign(100.0)
    assert float(tape.gradient(y, w)) == 12


def test_rows_of_variables_stay_rows():
    table = gyre.Variable(np.arange(12, dtype=np.float32).reshape(4, 3))

    @gyre.function
    def f(rows):
        return gyre.reduce_sum(gyre.nn.embedding_lookup(table, rows) ** 2)

    with gyre.GradientTape() as tape:
        y = f(gyre.constant([2, 0, 2]))
    found = tape.gradient(y, table)
    assert isinstance(found, gyre.IndexedSlices)
    wanted = np.zeros((4, 3), np.float32)
    for row in (2, 0, 2):
        wanted[row] += 2 * table.numpy()[row]
    np.testing.assert_allclose(gyre.convert_to_tensor(found), wanted)


def test_results_that_are_no_numbers_and_structures():
    @gyre.function
    def f(pair):
        a, b = pair["a"], pair["b"]
        return {"sum": a + b, "most": gyre.argmax(a), "name": gyre.constant("x"), "a": (a * a, b)}

    a, b = gyre.constant([1.0, 2.0]), gyre.constant([3.0, 5.0])
    with gyre.GradientTape(persistent=True) as tape:
        tape.watch([a, b])
        out = f({"a": a, "b": b})
    np.testing.assert_allclose(tape.gradient(out["sum"], a), [1, 1])
    np.testing.assert_allclose(tape.gradient(out["a"][0], a), [2, 4])
    assert tape.gradient(out["most"], a) is None
    np.testing.assert_allclose(tape.gradient([out["sum"], out["a"]], [a, b]), [[3, 5], [2, 2]])
    np.testing.assert_allclose(tape.jacobian(out["a"][0], a), [[2, 0], [0, 4]])


def test_only_what_is_watched_has_adjoints():
    w = gyre.Variable(2.0)
    function = gyre.function(lambda x, y: x * y * w)
    y = gyre.constant(4.0)
    with gyre.GradientTape(watch_accessed_variables=False) as tape:
        tape.watch(X)
        z = function(X, y)
    assert [None if g is None else float(g) for g in tape.gradient(z, [X, y, w])] == [8, None, None]
    with gyre.GradientTape() as tape:
        z = function(X, y)
    assert [None if g is None else float(g) for g in tape.gradient(z, [X, y, w])] == [
        None,
        None,
        12,
    ]


def test_second_derivatives_through_calls():
    w = gyre.Variable(2.0)

    @gyre.function
    def f(x):
        y = x
        for _ in gyre.range(2):
            y = y * x * w
        return y  # x³ w²

    with gyre.GradientTape(persistent=True) as outer:
        outer.watch(X)
        with gyre.GradientTape() as inner:
            inner.watch(X)
            y = f(X)
        slope = inner.gradient(y, X)
    assert float(slope) == 3 * 9 * 4
    assert float(outer.gradient(slope, X)) == 6 * 3 * 4
    assert float(outer.gradient(slope, w)) == 3 * 9 * 4
    assert float(outer.gradient(y, w)) == 27 * 4


def derivatives(function, x, order):
    """y and its derivatives by x, of as many tapes as there are orders."""
    if order == 0:
        return [function(x)]
    with gyre.GradientTape() as tape:
        tape.watch(x)
        found = derivatives(function, x, order - 1)
    return [*found, tape.gradient(found[-1], x)]


@pytest.mark.parametrize("kind", ["plain", "loop", "while", "branch", "inner", "recursion"])
def test_effects_happen_once_whatever_order_is_asked_for(kind):
    count, w = gyre.Variable(0.0, trainable=False), gyre.Variable(2.0)
    seen = []

    def counted(x):
        count.assign_add(1.0)
        gyre.py_function(lambda: seen.append(1), [], [])
        return x * x * x * w

    @gyre.function
    def recursive(x, n):
        return counted(x) if n == 0 else recursive(gyre.sin(counted(x)), n - 1)

    @gyre.function
    def f(x):
        if kind == "loop":
            for _ in gyre.range(3):
                x = gyre.sin(counted(x))
        elif kind == "while":
            x = gyre.while_loop(lambda v: gyre.abs(v) < 5.0, lambda v: [counted(v)], [x])[0]
        elif kind == "branch":
            x = gyre.cond(x > 0, lambda: counted(x), lambda: x)
        elif kind == "inner":
            x = gyre.function(counted)(x)
        elif kind == "recursion":
            x = recursive(x, gyre.constant(2))
        return counted(x)

    f(X)
    once, calls = float(count), len(seen)
    assert calls == once
    found = derivatives(f, X, 3)
    assert (float(count), len(seen)) == (2 * once, 2 * once)
    wanted = derivatives(f.python_function, X, 3)
    np.testing.assert_allclose(found, wanted, rtol=2e-5)


def test_random_numbers_of_a_second_derivative_are_those_of_the_call():
    f = gyre.function(lambda x: gyre.nn.dropout(x, 0.5) * x * x)
    x = gyre.ones([64])
    for _ in range(3):
        with gyre.GradientTape() as outer:
            outer.watch(x)
            with gyre.GradientTape() as inner:
                inner.watch(x)
                y = f(x)
            slope = inner.gradient(y, x)
        # y is the mask times x³, and x is 1.
        np.testing.assert_allclose(slope, 3 * y, rtol=1e-6)
        np.testing.assert_allclose(outer.gradient(slope, x), 6 * y, rtol=1e-6)


def test_a_variable_that_has_changed_counts_as_it_was_in_second_derivatives():
    w = gyre.Variable(2.0)
    f = gyre.function(lambda x: x * x * w * w)
    with gyre.GradientTape() as outer:
        outer.watch(X)
        with gyre.GradientTape() as inner:
            inner.watch(X)
            y = f(X)
        w.assign(100.0)
        slope = inner.gradient(y, X)
    w.assign(1000.0)
    assert float(slope) == 2 * 3 * 4
    assert [float(g) for g in outer.gradient(slope, [X, w])] == [2 * 4, 2 * 3 * 2 * 2]


def test_second_derivatives_by_rows_of_variables():
    table = gyre.Variable(np.arange(1, 13, dtype=np.float32).reshape(4, 3))
    rows = gyre.constant([2, 0, 2])
    f = gyre.function(lambda x: gyre.reduce_sum(x * gyre.nn.embedding_lookup(table, rows) ** 3))
    x = gyre.ones([3, 3])
    with gyre.GradientTape() as outer:
        outer.watch(x)
        with gyre.GradientTape() as inner:
            y = f(x)
        slope = inner.gradient(y, table)
        norm = gyre.reduce_sum(slope.values**2)
    values = table.numpy()[rows.numpy()]
    by_table = np.zeros((4, 3), np.float32)
    for row, value in zip(rows.numpy(), values, strict=True):
        by_table[row] += 2 * 3 * value**2 * 6 * value
    found = outer.gradient(norm, [x, table])
    np.testing.assert_allclose(found[0], 2 * (3 * values**2) ** 2, rtol=1e-6)
    np.testing.assert_allclose(gyre.convert_to_tensor(found[1]), by_table, rtol=1e-6)


def test_a_tape_that_is_gone_leaves_nothing_behind():
    function = gyre.function(lambda x: gyre.sin(x) * gyre.cos(x))
    x = gyre.ones([1000])
    with gyre.GradientTape() as outer:
        outer.watch(x)
        with gyre.GradientTape() as tape:
            tape.watch(x)
            y = function(x)
        slope = tape.gradient(y, x)
    outer.gradient(slope, x)
    recorded = weakref.ref(tape._tape)
    del tape, outer, slope
    gc.collect()
    assert recorded() is None

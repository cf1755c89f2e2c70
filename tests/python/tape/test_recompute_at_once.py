"""recompute_grad of what runs at once: called again, it is what it was."""

import contextlib
import threading
import time

import numpy as np
import pytest

import gyre

BOTH = pytest.mark.parametrize("wrap", [lambda f: f, gyre.function], ids=["eager", "function"])


def slopes_of(f, x, variables=(), order=1):
    """f(x) and its derivatives of an order by x and variables, as numpy has them."""
    tapes = [gyre.GradientTape() for _ in range(order)]
    with contextlib.ExitStack() as stack:
        for tape in tapes:
            stack.enter_context(tape)
            tape.watch(x)
        value = y = f(x)
        for tape in reversed(tapes[1:]):
            y = tape.gradient(y, x)
    return [value.numpy(), *(g.numpy() for g in tapes[0].gradient(y, [x, *variables]))]


def drawn_by_an_op(x):
    return gyre.random.uniform(gyre.shape(x), seed=7)


def drawn_by_dropout(x):
    return gyre.nn.dropout(gyre.ones_like(x), 0.5)


@gyre.function
def drawn_by_a_function(x):
    return gyre.random.uniform(gyre.shape(x)) + gyre.sin(x)


@pytest.mark.parametrize("draw", [drawn_by_an_op, drawn_by_dropout, drawn_by_a_function])
@pytest.mark.parametrize("order", [1, 2])
def test_recomputed_with_the_same_random_numbers(draw, order):
    x = gyre.constant(np.linspace(0.1, 2, 50), gyre.float32)
    scales = []

    def f(x):
        scale = draw(x) + 1.0
        scales.append(scale.numpy())
        return gyre.reduce_sum(scale * scale * x * x * x)

    gyre.random.set_seed(3)
    recomputed = slopes_of(gyre.recompute_grad(f), x, order=order)
    assert len(scales) > 1
    assert all(np.array_equal(scale, scales[0]) for scale in scales)
    gyre.random.set_seed(3)
    for found, wanted in zip(recomputed, slopes_of(f, x, order=order), strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-5)


def test_recomputed_with_variables_as_they_were():
    v = gyre.Variable(2.0)

    def f(x):
        y = v * x * x
        v.assign_add(1.0)
        return y * v

    x = gyre.constant(3.0)
    with gyre.GradientTape() as tape:
        tape.watch(x)
        y = gyre.recompute_grad(f)(x)
        v.assign(100.0)
    assert float(y) == 2 * 9 * 3
    dx, dv = tape.gradient(y, [x, v])
    assert (float(dx), float(dv)) == (2 * 2 * 3 * 3, 9 * 3 + 2 * 9)
    assert float(v) == 100


def test_recomputed_prints_once(capfd):
    def f(x):
        gyre.print("called")
        return x * x

    assert slopes_of(gyre.recompute_grad(f), gyre.constant(3.0)) == [9, 6]
    assert capfd.readouterr().err.count("called") == 1


def test_recomputed_by_a_persistent_tape():
    def f(x):
        return x * gyre.random.uniform([])

    x = gyre.constant(1.0)
    with gyre.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = gyre.recompute_grad(f)(x)
    assert float(tape.gradient(y, x)) == float(tape.gradient(y, x)) == float(y)


def test_recomputed_within_what_is_recomputed():
    drawn = []

    @gyre.recompute_grad
    def inner(x):
        drawn.append(float(gyre.random.uniform([])))
        return gyre.sin(x) * drawn[-1]

    @gyre.recompute_grad
    def outer(x):
        return inner(x) * gyre.random.uniform([]) + inner(x * 2)

    x = gyre.constant(0.5)
    value, dx = slopes_of(outer, x)
    first, second = drawn[:2]
    assert set(drawn) == {first, second}
    factor = (value - np.sin(1.0) * second) / (np.sin(0.5) * first)
    np.testing.assert_allclose(
        dx, np.cos(0.5) * first * factor + 2 * np.cos(1.0) * second, rtol=1e-5
    )


def test_recomputed_where_a_function_writes():
    n = gyre.Variable(0.0)

    @gyre.function
    def counted(x):
        n.assign_add(1.0)
        return x * n

    def f(x):
        return counted(x) * counted(x)

    x = gyre.constant(3.0)
    value, dx, dn = slopes_of(gyre.recompute_grad(f), x, [n])
    assert float(n) == 2
    assert value == 3 * 1 * 3 * 2
    assert dx == 2 * 3 * 1 * 2
    assert dn == 3 * 3 * 2 + 3 * 3 * 1


def test_recomputed_where_a_function_reads_what_has_changed():
    v = gyre.Variable(2.0)

    @gyre.function
    def scaled(x):
        return x * v

    def slope_of(change):
        x = gyre.constant(3.0)
        with gyre.GradientTape() as tape:
            tape.watch(x)
            y = gyre.recompute_grad(scaled)(x)
        change()
        return [float(g) for g in tape.gradient(y, [x, v])]

    assert slope_of(lambda: None) == [2, 3]
    assert slope_of(lambda: v.assign(2.0)) == [2, 3]
    with pytest.raises(gyre.errors.FailedPreconditionError, match="Variable.*has been changed"):
        slope_of(lambda: v.assign(5.0))


def test_recomputed_only_by_the_same_ops():
    calls = []

    def fickle(x):
        calls.append(1)
        return x * (gyre.random.normal([]) if len(calls) == 1 else gyre.random.uniform([]))

    with pytest.raises(
        gyre.errors.FailedPreconditionError, match="RandomUniform where it ran nothing of the kind"
    ):
        slopes_of(gyre.recompute_grad(fickle), gyre.constant(1.0))


@pytest.mark.parametrize("same_shape", [False, True])
def test_recomputed_with_a_variable_made_in_the_first_call(same_shape):
    made = []

    def f(x):
        if not made:
            made.append(gyre.Variable(gyre.random.uniform([3] if same_shape else [3, 1])))
        return gyre.reduce_sum(x * gyre.random.uniform([3]) * made[0][0])

    x = gyre.constant([1.0, 2.0, 3.0])
    run = gyre.recompute_grad(f)
    if same_shape:
        with pytest.raises(gyre.errors.FailedPreconditionError, match="Make the variable before"):
            slopes_of(run, x)
    else:
        value, dx = slopes_of(run, x)
        np.testing.assert_allclose(value, np.sum(dx * x.numpy()), rtol=1e-5)


def test_recomputed_by_several_threads():
    pauses = iter([0.0] + [0.02, 0.005] * 50)

    def f(x):
        x = x * gyre.random.uniform([10])
        time.sleep(next(pauses, 0.0))
        return x * gyre.random.uniform([10]) * gyre.random.uniform([10])

    x = gyre.ones([10])
    with gyre.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = gyre.recompute_grad(f)(x)
    wanted = tape.gradient(y, x).numpy()
    found = []

    def ask():
        for _ in range(5):
            found.append(np.array_equal(tape.gradient(y, x), wanted))

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [True] * 20


@BOTH
def test_recomputed_with_values_of_python(wrap):
    def f(x, training, times=1):
        assert isinstance(times, int)
        return x * 2.0 * times if training is True else x * 3.0

    def slopes(x):
        with gyre.GradientTape() as tape:
            tape.watch(x)
            y = gyre.recompute_grad(f)(x, True, times=5)
        return y, tape.gradient(y, x)

    assert [float(v) for v in wrap(slopes)(gyre.constant(1.0))] == [10, 10]


@BOTH
@pytest.mark.parametrize("how", ["captured", "by name", "in a structure"])
def test_recomputed_of_tensors_that_are_no_arguments(wrap, how):
    def slopes(x, c):
        with gyre.GradientTape() as tape:
            tape.watch([x, c])
            y = c * 1.0
            if how == "captured":
                y += gyre.recompute_grad(lambda x: x * x * c)(x)
            elif how == "by name":
                y += gyre.recompute_grad(lambda x, c: x * x * c)(x=x, c=c)
            else:
                y += gyre.recompute_grad(lambda both: both["x"] ** 2 * both["c"][0])(
                    {"x": x, "c": [c, 3]}
                )
        return tape.gradient(y, [x, c])

    assert [float(g) for g in wrap(slopes)(gyre.constant(3.0), gyre.constant(2.0))] == [12, 10]


def test_recomputed_of_a_captured_tensor_within_what_is_recomputed():
    c = gyre.constant(2.0)
    inner = gyre.recompute_grad(lambda x: gyre.sin(x * c))
    outer = gyre.recompute_grad(lambda x: inner(x) * c)
    x = gyre.constant(0.4)
    with gyre.GradientTape() as tape:
        tape.watch([x, c])
        y = outer(x)
    dx, dc = tape.gradient(y, [x, c])
    assert float(dx) == pytest.approx(4 * np.cos(0.8), rel=1e-6)
    assert float(dc) == pytest.approx(np.sin(0.8) + 2 * 0.4 * np.cos(0.8), rel=1e-6)


def test_recomputed_from_an_iterator():
    elements = iter(gyre.data.Dataset.range(1, 100))
    found = slopes_of(
        gyre.recompute_grad(lambda x: x * gyre.cast(next(elements), gyre.float32)),
        gyre.constant(1.0),
    )
    assert found == [1, 1]
    assert int(next(elements)) == 2


@pytest.mark.parametrize("function", [gyre.py_function, gyre.numpy_function])
def test_recomputed_with_a_function_of_the_host(function):
    calls = []

    def host(x):
        calls.append(1)
        return x * len(calls)

    value, dx = slopes_of(
        gyre.recompute_grad(lambda x: x * function(host, [x], gyre.float32)), gyre.constant(3.0)
    )
    # Its own gradient calls a py_function once more, as in a graph.
    assert (value, dx) == ((9, 3 + 2 * 3) if function is gyre.py_function else (9, 3))
    assert len(calls) == (2 if function is gyre.py_function else 1)


def test_recomputed_with_a_variable_made_between_equal_reads():
    w, made = gyre.Variable(3.0), []

    def f(x):
        y = x * w
        if not made:
            made.append(gyre.Variable(2.0))
        return y * w * made[0]

    assert slopes_of(gyre.recompute_grad(f), gyre.constant(1.0), [w]) == [18, 18, 12]

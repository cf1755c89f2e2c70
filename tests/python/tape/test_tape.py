"""GradientTape eagerly and in functions."""

import gc
import threading
import weakref

import numpy as np
import pytest

import gyre


def differences(f, x, step=1e-6):
    """The gradient of a scalar function of a float64 array, by central differences."""
    result = np.zeros_like(x)
    for place in np.ndindex(x.shape):
        up, down = x.copy(), x.copy()
        up[place] += step
        down[place] -= step
        result[place] = (float(f(gyre.constant(up))) - float(f(gyre.constant(down)))) / (2 * step)
    return result


X = np.random.default_rng(3).uniform(0.2, 1.5, size=(3, 4))
FUNCTIONS = {
    "polynomial": lambda x: gyre.reduce_sum(x * x * x - 2 * x),
    "division": lambda x: gyre.reduce_sum(x / (1 + x * x)),
    "products": lambda x: gyre.reduce_sum(gyre.matmul(x, x, transpose_b=True) ** 2),
    "softmax": lambda x: gyre.reduce_sum(gyre.nn.softmax(x)[:, 0] * x[:, 1]),
    "logsumexp": lambda x: gyre.reduce_logsumexp(x * 3),
    "joined": lambda x: gyre.reduce_sum(
        gyre.concat([x, x**2], 1) * gyre.range(8, dtype=gyre.float64)
    ),
    "split": lambda x: gyre.reduce_sum(gyre.multiply(*gyre.split(x, 2, 1))),
    "gathered": lambda x: gyre.reduce_sum(gyre.gather(x, [0, 2, 2], axis=1) ** 3),
    "chosen": lambda x: gyre.reduce_sum(gyre.where(x > 0.8, x**2, gyre.sin(x))),
    "moments": lambda x: gyre.reduce_sum(gyre.math.reduce_std(x, 0)),
    "einsum": lambda x: gyre.einsum("ij,kj->", x, x),
    "shape": lambda x: gyre.reduce_sum(x) / gyre.cast(gyre.size(x), gyre.float64) ** 2,
    "running": lambda x: (
        gyre.reduce_sum(gyre.cumsum(x, 1) ** 2) + gyre.reduce_sum(gyre.math.cumprod(x, 0))
    ),
    "diagonal": lambda x: gyre.reduce_sum(gyre.linalg.diag_part(x) ** 2),
    "sorted": lambda x: gyre.reduce_sum(
        gyre.sort(x, 0) * gyre.constant([[1.0], [2], [3]], gyre.float64)
    ),
    "asinh": lambda x: gyre.reduce_sum(
        gyre.math.asinh(x) + gyre.math.atanh(x / 2) + gyre.math.acosh(x + 1)
    ),
    "padded": lambda x: (
        gyre.reduce_sum(gyre.pad(x, [[1, 0], [0, 2]]) ** 2)
        + gyre.reduce_sum(gyre.roll(x, 1, 0) * x)
    ),
    "norms": lambda x: gyre.norm(x) + gyre.reduce_sum(gyre.math.l2_normalize(x, 1)[:, 0]),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_against_differences(name):
    f, x = FUNCTIONS[name], gyre.constant(X)
    with gyre.GradientTape() as tape:
        tape.watch(x)
        y = f(x)
    np.testing.assert_allclose(tape.gradient(y, x).numpy(), differences(f, X), rtol=2e-7, atol=2e-8)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_in_a_function(name):
    f = FUNCTIONS[name]

    @gyre.function
    def slope(x):
        with gyre.GradientTape() as tape:
            tape.watch(x)
            y = f(x)
        return tape.gradient(y, x)

    np.testing.assert_allclose(
        slope(gyre.constant(X)).numpy(), differences(f, X), rtol=2e-7, atol=2e-8
    )


def test_structures():
    a, b = gyre.constant(2.0), gyre.Variable(3.0)
    with gyre.GradientTape() as tape:
        tape.watch(a)
        y = {"p": a * b, "q": [a * a]}
    found = tape.gradient(y, {"a": a, "more": (b, gyre.constant(1.0))})
    assert float(found["a"]) == 7 and float(found["more"][0]) == 2 and found["more"][1] is None


def test_unconnected():
    x, z = gyre.constant([1.0, 2.0]), gyre.constant([3.0])
    with gyre.GradientTape(persistent=True) as tape:
        tape.watch([x, z])
        y = x * 2
    assert tape.gradient(y, z) is None
    zero = tape.gradient(y, z, unconnected_gradients=gyre.UnconnectedGradients.ZERO)
    np.testing.assert_array_equal(zero.numpy(), [0])
    np.testing.assert_array_equal(tape.gradient(y, z, unconnected_gradients="zero").numpy(), [0])


def test_of_what_is_in_between():
    x = gyre.constant(3.0)
    with gyre.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = x * x
        z = y * y
    assert float(tape.gradient(z, y)) == 18
    assert float(tape.gradient(z, x)) == 108
    assert float(tape.gradient(x, x)) == 1
    dy, dx = tape.gradient(z, [y, x])
    assert (float(dy), float(dx)) == (18, 108)
    assert float(tape.gradient([z, y], x)) == 114


def test_output_gradients():
    x = gyre.constant([1.0, 2.0])
    with gyre.GradientTape() as tape:
        tape.watch(x)
        y = x * x
    np.testing.assert_array_equal(
        tape.gradient(y, x, output_gradients=[10.0, 1.0]).numpy(), [20, 4]
    )


@pytest.mark.parametrize("wrap", [lambda f: f, gyre.function], ids=["eager", "function"])
@pytest.mark.parametrize(
    "given, error, says",
    [
        (gyre.constant([1.0, 2.0, 3.0]), ValueError, r"output_gradients has shape \(3,\), its t"),
        (1.0, ValueError, r"output_gradients has shape \(\), its target \(2,\)"),
        ("x", TypeError, "output_gradients does not fit its target: str is no float32"),
        (gyre.constant([1.0, 2.0], gyre.float64), ValueError, "output_gradients .* float64"),
    ],
)
def test_output_gradients_that_do_not_fit_are_named(wrap, given, error, says):
    def weighted(x):
        with gyre.GradientTape() as tape:
            tape.watch(x)
            y = x * x
        return tape.gradient(y, x, output_gradients=given)

    with pytest.raises(error, match=says):
        wrap(weighted)(gyre.constant([1.0, 2.0]))


def test_the_output_gradient_that_does_not_fit_is_told():
    x = gyre.constant(1.0)
    with gyre.GradientTape() as tape:
        tape.watch(x)
        ys = [x * 2, x * 3]
    with pytest.raises(ValueError, match=r"output_gradients\[1\] has shape \(1,\)"):
        tape.gradient(ys, x, output_gradients=[1.0, gyre.constant([1.0])])


def test_variables():
    v, frozen = gyre.Variable(2.0), gyre.Variable(5.0, trainable=False)
    with gyre.GradientTape() as tape:
        y = v * v * frozen
    assert [w.ref() for w in tape.watched_variables()] == [v.ref()]
    dv, df = tape.gradient(y, [v, frozen])
    assert float(dv) == 20 and df is None
    with gyre.GradientTape(watch_accessed_variables=False) as tape:
        tape.watch(frozen)
        y = v * frozen
    dv, df = tape.gradient(y, [v, frozen])
    assert dv is None and float(df) == 2


def test_values_are_those_that_were_read():
    v = gyre.Variable(2.0)
    with gyre.GradientTape() as tape:
        y = v * v
        v.assign(10.0)
        y = y + v * 3
    v.assign(100.0)
    assert float(tape.gradient(y, v)) == 2 * 2 + 3


def test_effects_do_not_run_again():
    v = gyre.Variable(0.0)
    x = gyre.constant([1.0, 2.0])
    with gyre.GradientTape() as tape:
        tape.watch(x)
        mask = gyre.nn.dropout(x, 0.5)
        v.assign_add(1.0)
        y = gyre.reduce_sum(mask * mask)
    np.testing.assert_allclose(tape.gradient(y, x).numpy(), 4 * mask.numpy(), rtol=1e-6)
    assert float(v) == 1


def test_rows_stay_rows():
    table = gyre.Variable(gyre.ones([5, 2]))
    with gyre.GradientTape(persistent=True) as tape:
        y = gyre.reduce_sum(gyre.gather(table, [1, 1, 3]) * [[1.0], [2.0], [4.0]])
        both = y + gyre.reduce_sum(table)
    found = tape.gradient(y, table)
    assert isinstance(found, gyre.IndexedSlices)
    np.testing.assert_array_equal(found.indices.numpy(), [1, 1, 3])
    dense = gyre.convert_to_tensor(found).numpy()
    np.testing.assert_array_equal(dense[:, 0], [0, 3, 0, 4, 0])
    np.testing.assert_array_equal(
        gyre.convert_to_tensor(tape.gradient(both, table)).numpy(), dense + 1
    )


def test_using_a_tape():
    x = gyre.constant(1.0)
    with gyre.GradientTape() as tape:
        tape.watch(x)
        y = x * 2
        with tape.stop_recording():
            z = x * 3
    assert tape.gradient(y, x) is not None
    with pytest.raises(RuntimeError, match="persistent"):
        tape.gradient(y, x)
    with gyre.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = x * 2
        with tape.stop_recording():
            z = y * 3
    assert tape.gradient(z, x) is None and float(tape.gradient(y, x)) == 2
    tape.reset()
    assert tape.gradient(y, x) is None
    with pytest.warns(UserWarning, match="int32"):
        tape.watch(gyre.constant(1))


def test_integers_have_no_gradient():
    x = gyre.constant([1.0, 5.0])
    with gyre.GradientTape() as tape:
        tape.watch(x)
        y = gyre.argmax(x)
    assert tape.gradient(y, x) is None


def test_of_what_was_read():
    v, x = gyre.Variable(3.0), gyre.constant(2.0)

    @gyre.custom_gradient
    def square(x):
        return x * x, lambda dy: dy * 2 * x

    with gyre.GradientTape(persistent=True) as tape:
        tape.watch(x)
        value = v.read_value()
        z = square(x) * value
    assert float(tape.gradient(value, v)) == 1
    assert [float(g) for g in tape.gradient(z, [x, v])] == [12, 4]


def test_of_functions():
    v = gyre.Variable(3.0)

    @gyre.function
    def f(x):
        return x * x * v

    x = gyre.constant(2.0)
    with gyre.GradientTape() as tape:
        tape.watch(x)
        y = f(x) * 2
    dx, dv = tape.gradient(y, [x, v])
    assert (float(dx), float(dv)) == (24, 8)


def test_through_loops_of_functions():
    @gyre.function
    def power(x, n):
        y = x
        while n > 1:
            y = y * x
            n = n - 1
        return y

    x = gyre.constant(1.5)
    with gyre.GradientTape() as tape:
        tape.watch(x)
        y = power(x, gyre.constant(4))
    assert float(tape.gradient(y, x)) == pytest.approx(4 * 1.5**3)


def test_what_a_step_computed_is_forgotten():
    v, references = gyre.Variable([1.0, 2.0]), []

    def step():
        x = gyre.constant([3.0, 4.0]) * 2
        references.append(weakref.ref(x))
        with gyre.GradientTape() as outer:
            with gyre.GradientTape() as inner:
                y = gyre.reduce_sum(gyre.sin(v) * x)
            d = inner.gradient(y, v)
        return outer.gradient(d, v)

    step()
    step()
    gc.collect()
    assert [r() for r in references] == [None, None]


def test_threads_have_tapes_of_their_own():
    v, found = gyre.Variable(2.0), []

    def work():
        with gyre.GradientTape() as tape:
            y = v * v
        found.append(float(tape.gradient(y, v)))

    with gyre.GradientTape() as outside:
        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert found == [4.0] * 4 and outside.watched_variables() == ()


def test_arrays_and_host_functions():
    x = gyre.constant([3.0, 1.0, 2.0])
    with gyre.GradientTape(persistent=True) as tape:
        tape.watch(x)
        array = gyre.TensorArray(gyre.float32, 3)
        for i in range(3):
            array = array.write(i, x[i] * float(i + 1))
        y = gyre.reduce_sum(array.stack() ** 2)
        z = gyre.reduce_sum(gyre.py_function(lambda a: a * a, [x], gyre.float32))
    np.testing.assert_array_equal(tape.gradient(y, x).numpy(), [6, 8, 36])
    np.testing.assert_array_equal(tape.gradient(z, x).numpy(), [6, 2, 4])


@pytest.mark.parametrize(
    "loss",
    [lambda p: gyre.sin(p[0]) * p[1], lambda p: gyre.gather(p, [1]), lambda p: p[:1] * 2],
    ids=["items", "rows", "slices"],
)
def test_gradients_in_a_function_have_the_shape_of_the_source(loss):
    v = gyre.Variable([[1.0, 2.0], [3.0, 4.0]])
    shapes = []

    @gyre.function
    def f(p, n):
        with gyre.GradientTape() as tape:
            tape.watch(p)
            y = loss(p) + gyre.reduce_sum(v[0])
            for _ in gyre.range(n):
                y = y * loss(p)
        dp, dv = tape.gradient(y, [p, v])
        shapes.extend([dp.shape, gyre.convert_to_tensor(dv).shape])
        return gyre.ensure_shape(dp, [2])

    f(gyre.constant([1.0, 2.0]), gyre.constant(2))
    assert shapes[0] == [2]
    assert shapes[1] == [2, 2]


def test_a_gradient_through_a_loop_of_any_shape_has_the_shape_of_the_source():
    @gyre.function
    def f(p, n):
        with gyre.GradientTape() as tape:
            tape.watch(p)
            y, _ = gyre.while_loop(
                lambda y, i: i < n,
                lambda y, i: (gyre.concat([gyre.sin(y), y[:1]], 0), i + 1),
                [p, 0],
                shape_invariants=[gyre.TensorShape([None]), gyre.TensorShape([])],
            )
        dp = tape.gradient(y, p)
        assert dp.shape == [2]
        return dp

    x = np.float32([0.5, 2.0])
    np.testing.assert_allclose(f(x, 1), np.cos(x) + [1, 0], rtol=1e-6)


def test_gradients_of_ragged_sources_are_ragged():
    rows = gyre.ragged.constant([[1.0, 2.0], [], [3.0]])

    def gradients(rows):
        other = gyre.ragged.constant([[1.0]])
        with gyre.GradientTape() as tape:
            tape.watch((rows, other))
            y = gyre.reduce_sum(gyre.reduce_prod(rows, axis=1))
        return tape.gradient(y, {"rows": rows, "other": other}, unconnected_gradients="zero")

    for f in (gradients, gyre.function(gradients)):
        found = f(rows)
        assert found["rows"].to_list() == [[2.0, 1.0], [], [1.0]]
        assert found["other"].to_list() == [[0.0]]


def test_watched_variables_are_in_the_order_in_which_they_were_made():
    a, b = gyre.Variable(1.0), gyre.Variable(2.0)
    with gyre.GradientTape() as tape:
        b * b + a * a
    assert [v is w for v, w in zip(tape.watched_variables(), (a, b), strict=True)] == [True, True]

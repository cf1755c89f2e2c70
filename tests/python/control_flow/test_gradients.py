"""Gradients of traced control flow against those of the same program run eagerly."""

import numpy as np
import pytest

import gyre


def while_power(x):
    return gyre.while_loop(lambda i, y: i < 4, lambda i, y: (i + 1, y * x), (0, 1.0))[1]


def while_until(x):
    return gyre.while_loop(lambda y: y < 50.0, lambda y: y * x, [x])[0]


def cond_taken(x):
    return gyre.cond(x > 1.0, lambda: x * x, lambda: x)


def switch(x):
    return gyre.switch_case(gyre.cast(x, gyre.int32), [lambda: x, lambda: x * x, lambda: x * x * x])


def mapped(x):
    return gyre.reduce_sum(gyre.map_fn(lambda k: k * x * x, gyre.constant([1.0, 2.0, 3.0])))


def scanned(x):
    return gyre.reduce_sum(
        gyre.scan(lambda a, k: a * x + k, gyre.constant([1.0, 2.0, 3.0]), initializer=0.5)
    )


def folded(x):
    return gyre.foldr(lambda a, k: a * x + k, gyre.constant([1.0, 2.0, 3.0]), initializer=0.5)


def array(x):
    ta = gyre.TensorArray(gyre.float32, size=3, element_shape=[])
    _, _, ta = gyre.while_loop(
        lambda i, y, ta: i < 3, lambda i, y, ta: (i + 1, y * x, ta.write(i, y)), (0, x, ta)
    )
    return gyre.reduce_sum(ta.stack())


def plain_if(x):
    if x > 1.0:
        y = x * 3.0
    else:
        y = x
    return y * x


def plain_while(x):
    y = x
    while y < 30.0:
        y = y * x
        if y > 20.0:
            break
    return y


def plain_for_with_list(x):
    out = []
    y = x
    for i in range(3):
        y = y * x
        out.append(y)
    return gyre.reduce_sum(gyre.stack(out))


def nested_loops(x):
    y = gyre.constant(0.0)
    for i in gyre.range(3):
        z = x
        for j in gyre.range(i):
            z = z * x
        y = y + z
    return y


def captured_in_branch(x):
    k = x * x
    return gyre.cond(x > 0.0, lambda: gyre.cond(k > 1.0, lambda: k * x, lambda: k), lambda: x)


PROGRAMS = [
    while_power,
    while_until,
    cond_taken,
    switch,
    mapped,
    scanned,
    folded,
    array,
    plain_if,
    plain_while,
    plain_for_with_list,
    nested_loops,
    captured_in_branch,
]


def gradient(fn, value):
    x = gyre.constant(value)
    with gyre.GradientTape() as tape:
        tape.watch(x)
        y = fn(x)
    return float(tape.gradient(y, x))


@pytest.mark.parametrize("fn", PROGRAMS, ids=lambda fn: fn.__name__)
@pytest.mark.parametrize("value", [1.5, 2.25])
def test_as_eager_and_as_differences(fn, value):
    traced = gyre.function(fn)
    found = gradient(traced, value)
    assert found == pytest.approx(gradient(fn, value), rel=1e-5)

    def at(v):
        return float(fn(gyre.constant(v)))

    assert found == pytest.approx((at(value + 1e-2) - at(value - 1e-2)) / 2e-2, rel=2e-2)


@pytest.mark.parametrize("fn", PROGRAMS, ids=lambda fn: fn.__name__)
def test_inside_of_a_function(fn):
    @gyre.function
    def both(x):
        with gyre.GradientTape() as tape:
            tape.watch(x)
            y = fn(x)
        return tape.gradient(y, x)

    assert float(both(gyre.constant(1.5))) == pytest.approx(gradient(fn, 1.5), rel=1e-5)


@pytest.mark.parametrize(
    "fn", [while_power, cond_taken, scanned, plain_if, nested_loops], ids=lambda fn: fn.__name__
)
def test_second_order(fn):
    @gyre.function
    def twice(x):
        with gyre.GradientTape() as outer:
            outer.watch(x)
            with gyre.GradientTape() as inner:
                inner.watch(x)
                y = fn(x)
            first = inner.gradient(y, x)
        return outer.gradient(first, x)

    step = 1e-2
    expected = (gradient(fn, 1.5 + step) - gradient(fn, 1.5 - step)) / (2 * step)
    assert float(twice(gyre.constant(1.5))) == pytest.approx(expected, rel=2e-2, abs=1e-3)


def test_back_prop_off():
    x = gyre.constant(2.0)
    with gyre.GradientTape() as tape:
        tape.watch(x)
        y = x + gyre.function(
            lambda x: gyre.while_loop(
                lambda i, y: i < 3, lambda i, y: (i + 1, y * x), (0, x), back_prop=False
            )[1]
        )(x)
    assert float(tape.gradient(y, x)) == 1


def test_gradient_of_vector_state():
    m = np.array([[0.5, 0.1], [0.2, 0.3]], np.float32)

    @gyre.function
    def f(v):
        for _ in gyre.range(3):
            v = gyre.linalg.matvec(gyre.constant(m), v)
        return gyre.reduce_sum(v)

    v = gyre.constant([1.0, 2.0])
    with gyre.GradientTape() as tape:
        tape.watch(v)
        y = f(v)
    np.testing.assert_allclose(
        tape.gradient(y, v).numpy(), np.linalg.matrix_power(m, 3).T @ np.ones(2), rtol=1e-5
    )

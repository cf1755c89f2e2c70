"""Gradients that programs give themselves."""

import contextlib

import numpy as np
import pytest

import gyre

BOTH = pytest.mark.parametrize("wrap", [lambda f: f, gyre.function], ids=["eager", "function"])


def slope(f, *xs):
    with gyre.GradientTape() as tape:
        tape.watch(xs)
        y = f(*xs)
    return tape.gradient(y, list(xs))


@gyre.custom_gradient
def log1pexp(x):
    e = gyre.exp(x)

    def gradient(dy):
        return dy * (1 - 1 / (1 + e))

    return gyre.math.log(1 + e), gradient


@BOTH
def test_instead_of_the_true_one(wrap):
    result = wrap(lambda x: slope(log1pexp, x)[0])(gyre.constant(100.0))
    assert float(result) == 1


@BOTH
def test_in_the_middle(wrap):
    @gyre.custom_gradient
    def tripled(x, y):
        return x * y, lambda dz: (3 * dz * y, 3 * dz * x)

    def f(x):
        return slope(lambda x: gyre.sin(tripled(x * 2, x)) + x, x)[0]

    x = 0.4
    expected = np.cos(2 * x * x) * 3 * (2 * x + 2 * x) + 1
    assert float(wrap(f)(gyre.constant(x, gyre.float64))) == pytest.approx(expected, rel=1e-12)


@BOTH
@pytest.mark.parametrize(
    "gives, error, says",
    [
        (lambda dy: "abc", TypeError, "'abc' as the gradient of input 2, a tensor of float32"),
        (lambda dy: object(), TypeError, "object.* as the gradient of input 2"),
        (lambda dy: gyre.cast(dy, gyre.float64), TypeError, "float64 .* input 2, which is of floa"),
        (lambda dy: gyre.ones([3]), ValueError, r"\(3,\) .* input 2, which has shape \(2,\)"),
        (lambda dy: 0.0, ValueError, r"\(\) as the gradient of input 2"),
    ],
)
def test_what_is_no_gradient_is_refused_by_name(wrap, gives, error, says):
    @gyre.custom_gradient
    def mine(x, y):
        def slope_of_mine(dy):
            return dy, gives(dy)

        return x * y, slope_of_mine

    line = mine.__wrapped__.__code__.co_firstlineno + 2
    place = rf"slope_of_mine \(test_custom_gradients.py:{line}\) of custom_gradient 'mine'"
    with pytest.raises(error, match=f"{place}.*{says}"):
        wrap(lambda x: slope(mine, x, x * 3.0))(gyre.constant([1.0, 2.0]))


@BOTH
def test_a_gradient_of_a_variable_is_checked(wrap):
    v = gyre.Variable([2.0], name="weight")

    @gyre.custom_gradient
    def scaled(x):
        return x * v, lambda dy, variables: (dy, [gyre.ones([2])])

    def by_variable(x):
        with gyre.GradientTape() as tape:
            y = scaled(x)
        return tape.gradient(y, v)

    with pytest.raises(ValueError, match=r"\(2,\) as the gradient of variable 'weight"):
        wrap(by_variable)(gyre.constant([1.0]))


@BOTH
def test_numbers_become_gradients_of_their_inputs_dtype(wrap):
    @gyre.custom_gradient
    def f(x, n):
        return x * 2, lambda dy: (np.array([3.0, 4.0]), None)

    found = wrap(lambda x: slope(lambda x: f(x, 7), x)[0])(gyre.constant([1.0, 2.0]))
    assert found.dtype == gyre.float32 and found.numpy().tolist() == [3, 4]


def test_differentiated_again():
    x = gyre.constant(0.3, gyre.float64)
    with gyre.GradientTape() as tape:
        tape.watch(x)
        first = slope(log1pexp, x)[0]
    s = 1 / (1 + np.exp(-0.3))
    assert float(first) == pytest.approx(s, rel=1e-12)
    assert float(tape.gradient(first, x)) == pytest.approx(s * (1 - s), rel=1e-9)


def test_with_python_in_it():
    seen = []

    @gyre.custom_gradient
    def halved(x):
        seen.append(float(x))
        return gyre.constant(x.numpy() / 2), lambda dy: gyre.constant(dy.numpy() * 7)

    assert float(slope(halved, gyre.constant(4.0))[0]) == 7
    assert seen == [4.0]


@BOTH
def test_variables(wrap):
    v = gyre.Variable(2.0)

    @gyre.custom_gradient
    def scaled(x):
        def gradient(dy, variables=None):
            assert len(variables) == 1
            return dy * 10, [dy * 20]

        return x * v, gradient

    def slopes(x):
        with gyre.GradientTape() as tape:
            tape.watch(x)
            y = scaled(x)
        return tape.gradient(y, [x, v])

    dx, dv = wrap(slopes)(gyre.constant(3.0))
    assert (float(dx), float(dv)) == (10, 20)

    @gyre.custom_gradient
    def silent(x):
        return x * v, lambda dy: dy

    with pytest.raises(TypeError, match="variables"):
        wrap(silent)(gyre.constant(3.0))


def test_other_tensors_in_a_loop_of_a_function():
    @gyre.function
    def f(x, n):
        scale = x * 2
        y = x
        for _ in gyre.range(n):

            @gyre.custom_gradient
            def scaled(a):
                return a * scale, lambda dy: dy * scale * 10

            y = scaled(y)
        return y

    x = gyre.constant(3.0)
    with gyre.GradientTape() as tape:
        tape.watch(x)
        y = f(x, gyre.constant(2))
    assert float(y) == 3 * 6 * 6
    assert float(tape.gradient(y, x)) == 60 * 60


@BOTH
def test_recomputed(wrap):
    v = gyre.Variable(2.0)
    calls = []

    def f(x):
        calls.append(1)
        return gyre.sin(x) * v

    def slopes(x):
        with gyre.GradientTape() as tape:
            tape.watch(x)
            y = gyre.recompute_grad(f)(x) * 3
        return tape.gradient(y, [x, v])

    dx, dv = wrap(slopes)(gyre.constant(0.5))
    assert float(dx) == pytest.approx(6 * np.cos(0.5), rel=1e-6)
    assert float(dv) == pytest.approx(3 * np.sin(0.5), rel=1e-6)


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


def test_passed_through():
    assert (
        float(slope(gyre.grad_pass_through(lambda x: gyre.round(x) * 5), gyre.constant(1.3))[0])
        == 1
    )


@BOTH
def test_stopped(wrap):
    def f(x):
        return slope(lambda x: x * gyre.stop_gradient(x), x)[0]

    assert float(wrap(f)(gyre.constant(3.0))) == 3


def slopes_of(f, x, order):
    """The values of f and of its derivatives, up to the third or so."""
    if order == 0:
        return [f(x)]
    with gyre.GradientTape() as tape:
        tape.watch(x)
        values = slopes_of(f, x, order - 1)
    return [*values, tape.gradient(values[-1], x)]


@gyre.custom_gradient
def root(a):
    return gyre.sqrt(a), lambda dy: dy * 0.5 / root(a)


@gyre.custom_gradient
def rooted(a):
    return gyre.sqrt(a), lambda dy: dy * 0.5 / rooted_in_function(a)


rooted_in_function = gyre.function(lambda a: rooted(a))


@BOTH
@pytest.mark.parametrize("f", [root, rooted_in_function], ids=["itself", "through-a-function"])
def test_a_gradient_function_calls_the_function(wrap, f):
    values = wrap(lambda a: slopes_of(f, a, 3))(gyre.constant(4.0))
    assert [float(v) for v in values] == [2, 1 / 4, -1 / 32, 3 / 256]
    assert float(wrap(lambda a: f(a))(gyre.constant(9.0))) == 3


@BOTH
def test_two_gradient_functions_call_the_other_function(wrap):
    @gyre.custom_gradient
    def sine(x):
        return gyre.sin(x), lambda dy: dy * cosine(x)

    @gyre.custom_gradient
    def cosine(x):
        return gyre.cos(x), lambda dy: -dy * sine(x)

    x = gyre.constant(0.3, gyre.float64)
    values = wrap(lambda x: slopes_of(sine, x, 3))(x)
    expected = [np.sin(0.3), np.cos(0.3), -np.sin(0.3), -np.cos(0.3)]
    np.testing.assert_allclose(values, expected, rtol=1e-12)


@BOTH
def test_a_gradient_function_that_calls_the_function_uses_more_than_it(wrap):
    weight = gyre.Variable(3.0)

    def f(x):
        twice = x * 0 + 2

        @gyre.custom_gradient
        def power(a):
            def gradient(dy, variables=()):
                first = dy * power(a) * twice
                return (first * weight, [None] * len(variables)) if variables else first * weight

            return gyre.exp(a * 2), gradient

        def looped(x):
            for _ in gyre.range(2):
                x = power(x) * 0.1
            return x

        return slopes_of(looped, x, 2)

    # d power / dx = 6 power, whatever power is.
    first = np.exp(0.6) * 0.1
    second = np.exp(2 * first) * 0.1
    values = wrap(f)(gyre.constant(0.3))
    expected = [second, 36 * first * second, 216 * first * second * (1 + 6 * first)]
    np.testing.assert_allclose(values, expected, rtol=1e-5)


def test_a_gradient_function_that_differentiates_the_function_is_refused_in_a_function():
    @gyre.custom_gradient
    def f(a):
        return a * a, lambda dy: dy * slope(f, a)[0]

    with pytest.raises(NotImplementedError, match="gradient function of f .* eagerly"):
        gyre.function(lambda a: f(a))(gyre.constant(4.0))


@BOTH
def test_some_arguments_have_no_gradient(wrap):
    @gyre.custom_gradient
    def scaled(x, factor):
        return x * factor, lambda dy: (dy * factor, None)

    dx, dfactor = wrap(lambda x: slope(scaled, x, gyre.constant(2.0)))(gyre.constant(3.0))
    assert float(dx) == 2
    assert dfactor is None or float(dfactor) == 0


@BOTH
def test_a_gradient_function_differentiates_by_its_variables(wrap):
    w, u = gyre.Variable(0.5), gyre.Variable(1.0)

    @gyre.custom_gradient
    def f(x):
        def gradient(dz, variables=None):
            with gyre.GradientTape(persistent=True) as tape:
                tape.watch(x)
                out = gyre.tanh(w * x + u)
            by_x = tape.gradient(out, x, output_gradients=dz)
            return by_x, tape.gradient(out, variables, output_gradients=dz)

        return gyre.tanh(w * x + u), gradient

    def slopes(x):
        with gyre.GradientTape() as tape:
            tape.watch(x)
            y = f(x)
        return tape.gradient(y, [x, w, u])

    inner = 1 - np.tanh(0.5 * 0.3 + 1) ** 2
    found = wrap(slopes)(gyre.constant(0.3))
    np.testing.assert_allclose(found, [inner * 0.5, inner * 0.3, inner], rtol=1e-5)


def test_changed_variables_are_refused_in_a_function():
    v = gyre.Variable(1.0, name="count")

    @gyre.custom_gradient
    def counted(x):
        v.assign_add(1.0)
        return x * 2, lambda dy: dy

    with pytest.raises(NotImplementedError, match="variable 'count:0' other than by reading"):
        gyre.function(lambda x: counted(x))(gyre.constant(1.0))


@pytest.mark.parametrize("where", ["always", "in a branch", "in a loop"])
@pytest.mark.parametrize("memory", [None, "recompute(2)"])
def test_what_comes_behind_the_gradient_sees_effects_of_what_is_computed_again(where, memory):
    n = gyre.Variable(-7)

    @gyre.recompute_grad
    def g(x):
        if where == "always":
            n.assign_add(1)
        elif where == "in a branch":
            if x > 0:
                n.assign_add(1)
        else:
            for _ in gyre.range(1):
                n.assign_add(1)
        return x * x

    @gyre.function(memory=memory)
    def f(x):
        n.assign(10)
        with gyre.GradientTape() as tape:
            tape.watch(x)
            y = g(x)
        dx = tape.gradient(y, x)
        before = n.read_value()
        n.assign(n * 2)
        return dx, before, n.read_value()

    assert [value.numpy() for value in f(gyre.constant(3.0))] == [6, 11, 22]
    assert n.numpy() == 22

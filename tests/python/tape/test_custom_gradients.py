"""Gradients that programs give themselves."""

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


@BOTH
def test_ragged_arguments_and_adjoints(wrap):
    @gyre.custom_gradient
    def f(x, y):
        def gradient(dx, dy):
            assert isinstance(dx, gyre.RaggedTensor)
            return 3 * dx, 4 * dy

        return (x * x, 2 * y), gradient

    x, y = gyre.ragged.constant([[1.0, 2.0], [3.0]]), gyre.ragged.constant([[4.0], [5.0, 6.0]])
    with gyre.GradientTape() as tape:
        tape.watch((x, y))
        out = wrap(f)(x, y)
    dx, dy = tape.gradient(out, (x, y))
    assert [z.to_list() for z in out] == [[[1, 4], [9]], [[8], [10, 12]]]
    assert dx.to_list() == [[3, 3], [3]] and dy.to_list() == [[4], [4, 4]]


def test_errors_of_gradient_functions_are_raised_where_gradients_go_through_them():
    @gyre.custom_gradient
    def broken(x):
        def gradient(dy):
            raise RuntimeError("no gradient")

        return x + 1.0, gradient

    @gyre.function
    def f(x):
        return broken(x)

    x = gyre.constant(1.0)
    assert float(f(x)) == 2.0
    with gyre.GradientTape() as tape:
        tape.watch(x)
        y = f(gyre.stop_gradient(x))
    assert tape.gradient(y, x) is None
    with gyre.GradientTape() as tape:
        tape.watch(x)
        y = f(x)
    with pytest.raises(RuntimeError, match="no gradient"):
        tape.gradient(y, x)

    @gyre.function
    def slope_of_broken(x):
        return slope(broken, x)

    with pytest.raises(RuntimeError, match="no gradient"):
        slope_of_broken(x)


def test_effects_of_gradient_functions_happen_with_the_gradient():
    happened = []

    @gyre.custom_gradient
    def told(x):
        gyre.numpy_function(lambda: happened.append("forward"), [], [])

        def gradient(dy):
            gyre.numpy_function(lambda: happened.append("gradient"), [], [])
            return 3 * dy

        return x * 2, gradient

    @gyre.function
    def both(x, wanted):
        with gyre.GradientTape() as tape:
            tape.watch(x)
            y = told(x)
        return tape.gradient(y, x) if wanted else y

    x = gyre.constant(2.0)
    assert float(both(x, False)) == 4 and happened == ["forward"]
    happened.clear()
    assert float(both(x, True)) == 3 and happened == ["forward", "gradient"]


def test_what_is_known_of_arguments_is_known_in_functions():
    @gyre.custom_gradient
    def f(x):
        z = 2.0 * gyre.get_static_value(x)
        return z, lambda dy: 5 * dy

    @gyre.function
    def g():
        x = gyre.constant(3.0)
        return (f(x), *slope(f, x))

    assert [float(v) for v in g()] == [6, 5]

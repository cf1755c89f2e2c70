"""Functions of the user that only Gyre calls are converted, too."""

import functools

import pytest

import gyre


def positive(x):
    """Decides by a tensor."""
    if gyre.reduce_sum(x) > 0:
        return x * 2.0
    return -x


class Gate(gyre.nn.Layer):
    def call(self, inputs):
        if gyre.reduce_sum(inputs) > 0:
            return inputs * 2.0
        return -inputs


class Positive:
    def __call__(self, x):
        return positive(x)


@pytest.mark.parametrize(
    "layer",
    [Gate(), positive, Positive(), lambda x: positive(x), functools.partial(positive)],
    ids=["layer", "function", "object", "lambda", "partial"],
)
@pytest.mark.parametrize("x, want", [(3.0, 6.0), (-3.0, 3.0)])
def test_layers_of_a_sequential(layer, x, want):
    model = gyre.nn.Sequential([layer, gyre.identity])
    assert float(gyre.function(model)(gyre.constant([x]))[0]) == want


@pytest.mark.parametrize(
    "fn", [positive, Positive(), functools.partial(positive)], ids=["function", "object", "partial"]
)
def test_bodies(fn):
    result = gyre.function(lambda x: gyre.map_fn(fn, x))(gyre.constant([1.0, -2.0]))
    assert result.numpy().tolist() == [2.0, 2.0]


def test_steps_of_cells():
    class Halved(gyre.nn.LSTMCell):
        def step(self, inputs, states):
            output, states = super().step(inputs, states)
            if gyre.reduce_sum(inputs) > 0:
                output = output * 0.0
            return output, states

    layer = gyre.nn.RNN(Halved(3), return_sequences=True)
    assert not gyre.function(layer)(gyre.ones([2, 4, 5])).numpy().any()
    assert gyre.function(layer)(-gyre.ones([2, 4, 5])).numpy().all()


def test_custom_gradients():
    @gyre.custom_gradient
    def f(x):
        y = positive(x) if x > -10 else x

        def gradient(dy):
            if x > 0:
                return dy * 10.0
            return dy * 20.0

        return y, gradient

    @gyre.function
    def slope(x):
        with gyre.GradientTape() as tape:
            tape.watch(x)
            y = f(x)
        return y, tape.gradient(y, x)

    assert [float(v) for v in slope(gyre.constant(3.0))] == [6, 10]
    assert [float(v) for v in slope(gyre.constant(-3.0))] == [3, 20]


def test_losses():
    v = gyre.Variable(3.0)
    optimizer = gyre.optimizers.SGD(0.1)

    def loss():
        if v > 0:
            return v * v
        return -v

    gyre.function(lambda: optimizer.minimize(loss, [v]))()
    assert float(v) == pytest.approx(2.4)


def test_functions_whose_values_are_computed_again():
    @gyre.function
    def slope(x):
        with gyre.GradientTape() as tape:
            tape.watch(x)
            y = gyre.recompute_grad(positive)(x)
        return tape.gradient(y, x)

    assert float(slope(gyre.constant(3.0))) == 2 and float(slope(gyre.constant(-3.0))) == -1


def test_lambdas_of_one_line():
    # fmt: off
    one, other = lambda x: x + 1.0 if x > 0 else x, lambda x: x - 1.0 if x > 0 else -x
    nested = lambda x: (lambda x: x * 2.0 if x > 1 else x)(x) if x > 0 else (lambda x: -x)(x)
    short = [lambda x: x, lambda x: -x if x > 0 else x, lambda: 1 if one else 2, lambda x: abs(x)]
    # fmt: on
    positive, negative = gyre.constant(3.0), gyre.constant(-3.0)
    assert [float(gyre.function(f)(positive)) for f in (one, other, nested)] == [4.0, 2.0, 6.0]
    assert [float(gyre.function(f)(negative)) for f in (one, other, nested)] == [-3.0, 3.0, 3.0]
    found = [float(gyre.function(f)(positive)) for f in (short[0], short[1], short[3])]
    assert found == [3.0, -3.0, 3.0]

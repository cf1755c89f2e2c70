"""gyre.onnx.save: functions as models of ONNX, read again with equal results."""

import numpy as np
import pytest

import gyre

FLOATS = gyre.TensorSpec([None, 3], gyre.float32, name="x")


def saved(obj, tmp_path, *signature):
    path = tmp_path / "model.onnx"
    gyre.onnx.save(obj, path, *signature)
    return gyre.onnx.load(path)


class Recurrent(gyre.Module):
    def __init__(self):
        super().__init__()
        rng = np.random.default_rng(1)
        self.weights = gyre.Variable(rng.normal(size=(3, 3)).astype(np.float32), name="weights")
        self.bias = gyre.Variable(np.full(3, 0.1, np.float32), name="bias")

    @gyre.function(input_signature=[FLOATS, gyre.TensorSpec([], gyre.int32, name="steps")])
    def __call__(self, x, steps):
        states = gyre.TensorArray(gyre.float32, size=0, dynamic_size=True)
        i = 0
        while i < steps:
            x = gyre.tanh(x @ self.weights + self.bias)
            if gyre.reduce_sum(x) > 1.0:
                x = x * 0.5
            states = states.write(i, x)
            i += 1
        return {"last": x, "all": states.stack()}


def test_control_flow_is_written_and_read_again(tmp_path):
    layer = Recurrent()
    model = saved(layer.__call__, tmp_path)
    assert list(model.inputs) == ["x", "steps"]
    assert list(model.outputs) == ["last", "all"]
    x = np.random.default_rng(2).normal(size=(4, 3)).astype(np.float32)
    for steps in (1, 6):
        want, got = layer(x, steps), model(x, steps)
        np.testing.assert_allclose(got["last"].numpy(), want["last"].numpy(), rtol=1e-6)
    np.testing.assert_allclose(got["all"].numpy(), want["all"].numpy(), rtol=1e-6)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_angles_have_the_signs_of_zeros_and_infinities(tmp_path, dtype):
    values = np.array([0.0, -0.0, 1, -1, 2.5, -1e30, np.inf, -np.inf, np.nan], dtype)
    y, x = (each.ravel() for each in np.meshgrid(values, values))
    spec = gyre.TensorSpec([None], dtype)
    model = saved(gyre.function(lambda y, x: gyre.atan2(y, x)), tmp_path, [spec, spec])
    angles = model(gyre.constant(y), gyre.constant(x))["output_0"].numpy()
    expected = np.arctan2(y, x)
    np.testing.assert_allclose(angles, expected, rtol=1e-6)
    is_number = ~np.isnan(expected)
    np.testing.assert_array_equal(np.signbit(angles[is_number]), np.signbit(expected[is_number]))


def test_results_may_be_read_by_what_needs_their_rank(tmp_path):
    def rows_and_largest(x):
        rows = gyre.map_fn(lambda row: row, x)
        return rows, gyre.argmax(rows, 0)

    spec = gyre.TensorSpec([2, 3], gyre.float32)
    model = saved(gyre.function(rows_and_largest), tmp_path, [spec])
    results = model(gyre.constant([[1.0, 5, 3], [4, 2, 6]]))
    assert results["output_1"].numpy().tolist() == [1, 0, 1]


def test_halves_are_rounded_to_even(tmp_path):
    spec = gyre.TensorSpec([4], gyre.float32)
    model = saved(gyre.function(lambda x: gyre.round(x)), tmp_path, [spec])
    rounded = model(gyre.constant([0.5, 1.5, -2.5, 2.4]))["output_0"]
    assert rounded.numpy().tolist() == [0, 2, -2, 2]


def test_variables_are_weights_that_go_on_learning(tmp_path):
    layer = Recurrent()
    model = saved(layer.__call__, tmp_path)
    assert [v.name for v in model.trainable_variables] == ["weights:0", "bias:0"]
    x = gyre.constant(np.random.default_rng(3).normal(size=(4, 3)).astype(np.float32))
    gradients = []
    for run, variables in ((layer, [layer.weights, layer.bias]), (model, model.variables)):
        with gyre.GradientTape() as tape:
            loss = gyre.reduce_sum(run(x, 4)["all"] ** 2)
        gradients.append(tape.gradient(loss, list(variables)))
    for want, got in zip(*gradients):
        np.testing.assert_allclose(got.numpy(), want.numpy(), rtol=1e-4)


def test_a_model_that_was_trained_is_handed_back(tmp_path):
    model = saved(Recurrent().__call__, tmp_path)
    for variable in model.variables:
        variable.assign(variable * 0.5)
    again = saved(model, tmp_path)
    assert list(again.inputs) == list(model.inputs)
    assert [v.name for v in again.variables] == [v.name for v in model.variables]
    x = np.ones((2, 3), np.float32)
    np.testing.assert_allclose(again(x, 3)["last"].numpy(), model(x, 3)["last"].numpy(), rtol=1e-6)


def test_any_callable_with_a_signature(tmp_path):
    captured = gyre.constant([1.0, 2.0, 3.0])
    model = saved(lambda x: (x * captured, gyre.shape(x)), tmp_path, [FLOATS])
    product, shape = model(np.ones((2, 3), np.float32)).values()
    np.testing.assert_array_equal(product.numpy(), [[1, 2, 3], [1, 2, 3]])
    np.testing.assert_array_equal(shape.numpy(), [2, 3])
    assert list(model.outputs) == ["output_0", "output_1"]


def test_a_concrete_function_and_a_function_with_specs(tmp_path):
    double = gyre.function(lambda x: x + x)
    x = np.ones((1, 3), np.float32)
    for obj, signature in (
        (double.get_concrete_function(gyre.TensorSpec([1, 3], gyre.float32)), ()),
        (double, ([FLOATS],)),
    ):
        (got,) = saved(obj, tmp_path, *signature)(x).values()
        np.testing.assert_array_equal(got.numpy(), x + x)


def test_what_has_no_form_is_refused_by_name(tmp_path):
    @gyre.function(input_signature=[gyre.TensorSpec([], gyre.int32)])
    def fib(n):
        if n < 2:
            return n
        return fib(n - 1) + fib(n - 2)

    count = gyre.Variable(0.0)

    @gyre.function(input_signature=[gyre.TensorSpec([], gyre.float32)])
    def counting(x):
        return count.assign_add(x)

    unimplemented = gyre.errors.UnimplementedError
    with pytest.raises(unimplemented, match="'fib.*' calls itself, which ONNX has no form for"):
        gyre.onnx.save(fib, tmp_path / "fib.onnx")
    with pytest.raises(unimplemented, match="AssignAddVariableOp.*changes what outlives the run"):
        gyre.onnx.save(counting, tmp_path / "counting.onnx")
    with pytest.raises(unimplemented, match=r"\(PyFunc|\(EagerPyFunc"):
        gyre.onnx.save(
            lambda x: gyre.py_function(lambda y: y, [x], gyre.float32),
            tmp_path / "python.onnx",
            [FLOATS],
        )
    assert list(tmp_path.iterdir()) == []


def test_mistakes_are_said(tmp_path):
    path = tmp_path / "model.onnx"
    with pytest.raises(ValueError, match="has no input_signature"):
        gyre.onnx.save(gyre.function(lambda x: x), path)
    with pytest.raises(TypeError, match="give input_signature, a TensorSpec for each argument"):
        gyre.onnx.save(lambda x: x, path)
    with pytest.raises(TypeError, match="a int is no function"):
        gyre.onnx.save(3, path)
    with pytest.raises(TypeError, match="only tensors have names in a model of ONNX"):
        gyre.onnx.save(lambda x: {"y": 3 if x is None else None}, path, [FLOATS])
    with pytest.raises(gyre.errors.NotFoundError):
        gyre.onnx.save(lambda x: x, tmp_path / "none" / "model.onnx", [FLOATS])

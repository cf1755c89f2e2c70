"""Functions that the registry describes: what they take, and what they make of it."""

import inspect
import subprocess
import sys

import numpy as np
import pytest

import gyre

X = np.array([[1.0, 2.0, 4.0], [0.0, 3.0, 5.0]], np.float32)


def test_signatures_are_those_of_the_registry():
    parameters = inspect.signature(gyre.math.reduce_variance).parameters
    assert [p.name for p in parameters.values()] == ["input_tensor", "axis", "keepdims", "name"]
    assert parameters["axis"].default is None and parameters["keepdims"].default is False
    assert inspect.signature(gyre.argmax).parameters["output_type"].default == "int64"
    assert "variance" in gyre.nn.moments.__doc__


@pytest.mark.parametrize("axis", [1, -1, [1], (1,), range(1, 2), np.int64(1), gyre.constant([1])])
def test_axes_are_given_in_many_ways(axis):
    np.testing.assert_array_equal(gyre.reduce_sum(X, axis), X.sum(1))
    np.testing.assert_allclose(gyre.math.reduce_std(X, axis), X.std(1), rtol=1e-6)
    assert gyre.reduce_max(X, axis, keepdims=True).shape == [2, 1]


def test_numbers_take_the_dtype_of_the_tensors():
    y = gyre.constant([0.5, 2.0], "float64")
    np.testing.assert_array_equal(gyre.math.xlogy(3, y), 3 * np.log([0.5, 2.0]))
    assert gyre.clip_by_value(y, 0, 1).dtype == gyre.float64
    assert gyre.nn.l2_normalize([3.0, 4.0]).dtype == gyre.float32
    with pytest.raises(TypeError, match="is no int32"):
        gyre.nn.gelu([1, 2])


@pytest.mark.parametrize(
    "values", [[1, 2], np.array([1, 2]), [True, False], ["a", "b"], [1.5, 2.5], np.float64([1, 2])]
)
def test_a_default_turns_no_list_into_another_type(values):
    plain = gyre.constant(values)
    for given in ({}, {"constant_values": 0}, {"mode": "REFLECT"}):
        padded = gyre.pad(values, [[1, 1]], **given)
        assert padded.dtype == plain.dtype
        np.testing.assert_array_equal(padded[1:3], plain)


def test_a_default_makes_no_floats_of_integers():
    with pytest.raises(gyre.errors.InvalidArgumentError, match="must be of dtype .*, but is int32"):
        gyre.nn.swish([1, 2])


def test_a_default_that_is_not_used_adds_nothing_to_the_graph():
    v1 = gyre.compat.v1
    with v1.Graph().as_default() as graph:
        gyre.nn.silu(v1.placeholder("float32", [2]), name="out")
        assert [op.type for op in graph.get_operations()] == ["Placeholder", "Sigmoid", "Mul"]
        assert graph.get_operations()[-1].name == "out"


def test_losses_refuse_unknown_reductions_and_axes_that_are_not_there():
    with pytest.raises(ValueError, match="reduction must be"):
        gyre.nn.losses.huber(X, X, reduction="most")
    with pytest.raises(ValueError, match="axis 2 is out of range"):
        gyre.nn.softmax(X, axis=2)


def test_schedules_are_functions_of_the_step():
    rate = gyre.optimizers.exponential_decay(0.5, gyre.constant(20, "int64"), 10, 0.5)
    assert float(rate) == 0.125
    stairs = gyre.optimizers.inverse_time_decay(1.0, 15, 10, 1.0, staircase=True)
    assert float(stairs) == 0.5


def test_an_op_says_which_functions_it_is():
    command = [sys.executable, "-m", "gyre", "ops"]
    told = subprocess.run([*command, "Sum"], capture_output=True, text=True, check=True).stdout
    assert "functions  gyre.math.reduce_sum, gyre.reduce_sum\n" in told
    told = subprocess.run([*command, "Tan"], capture_output=True, text=True, check=True).stdout
    assert "functions  gyre.math.tan, gyre.tan\n" in told


@pytest.mark.parametrize(
    "shape",
    [
        [3, 2],
        (3, 2),
        (3, None),
        gyre.TensorShape([3, 2]),
        [np.int64(3), -1],
        gyre.constant([3, 2]),
        gyre.constant([3, 2], "int64"),
        [gyre.constant(3), 2],
        [gyre.constant(3, "int64"), -1],
    ],
)
@pytest.mark.parametrize("traced", [False, True], ids=["eager", "function"])
def test_shapes_are_given_in_many_ways(shape, traced):
    function = lambda: gyre.reshape(X, shape)  # noqa: E731
    made = gyre.function(function)() if traced else function()
    np.testing.assert_array_equal(made.numpy(), X.reshape(3, 2))


def test_one_size_is_a_shape_and_none_is_refused():
    assert gyre.zeros(3).shape == [3] and gyre.ones([]).shape == []
    with pytest.raises(ValueError, match="not fully known"):
        gyre.zeros(gyre.TensorShape([None]))
    with pytest.raises((TypeError, ValueError)):
        gyre.zeros("ab")


def test_one_axis_or_several_are_dropped():
    x = gyre.ones([1, 2, 1])
    for axis, dims in ((None, [2]), (0, [2, 1]), ([0, -1], [2]), ((2,), [1, 2]), ([], [2])):
        assert gyre.squeeze(x, axis).shape == dims
    with pytest.raises(TypeError):
        gyre.squeeze(x, "a")


def test_zeros_and_ones_of_all_kinds():
    assert gyre.zeros([2], "string").numpy().tolist() == [b"", b""]
    assert gyre.ones([2], "bool").numpy().tolist() == [True, True]
    assert gyre.ones_like(X, "complex64").numpy().tolist() == np.ones_like(X, "complex64").tolist()
    assert gyre.zeros_like(["a"]).numpy().tolist() == [b""]
    with gyre.compat.v1.Graph().as_default() as graph:
        gyre.zeros_like(gyre.compat.v1.placeholder("int32", [2]), "int32", name="none")
        assert [op.type for op in graph.get_operations()] == ["Placeholder", "ZerosLike"]


def test_first_values_need_a_shape():
    drawn = gyre.random.glorot_uniform([300, 100], seed=1).numpy()
    np.testing.assert_array_equal(drawn, gyre.nn.initializers.GlorotUniform(1)([300, 100]).numpy())
    assert gyre.random.he_normal([3]).dtype == gyre.float32
    with pytest.raises(ValueError, match="must be known"):
        gyre.random.he_normal(gyre.constant([3]))
    with pytest.raises(ValueError, match="mode 'fan'"):
        gyre.random.variance_scaling([3], mode="fan")
    with pytest.raises(ValueError, match="scale -1"):
        gyre.nn.initializers.VarianceScaling(-1.0)

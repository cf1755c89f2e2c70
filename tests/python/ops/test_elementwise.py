"""Elementwise functions against numpy."""

import math

import numpy as np
import pytest

import gyre

X = np.array([[-2.5, -1.0, -0.3], [0.2, 1.0, 3.7]])
POSITIVE = np.array([0.1, 1.0, 2.5, 40.0])
UNIT = np.array([-0.9, -0.2, 0.0, 0.3, 0.8])

UNARY = [
    ("abs", np.abs, X),
    ("negative", np.negative, X),
    ("ceil", np.ceil, X),
    ("floor", np.floor, X),
    ("cos", np.cos, X),
    ("sin", np.sin, X),
    ("tan", np.tan, X),
    ("cosh", np.cosh, X),
    ("sinh", np.sinh, X),
    ("tanh", np.tanh, X),
    ("exp", np.exp, X),
    ("expm1", np.expm1, X),
    ("square", np.square, X),
    ("sign", np.sign, X),
    ("rint", np.rint, X),
    ("round", np.round, X),
    ("reciprocal", np.reciprocal, X),
    ("atan", np.arctan, X),
    ("asinh", np.arcsinh, X),
    ("log", np.log, POSITIVE),
    ("log1p", np.log1p, POSITIVE),
    ("sqrt", np.sqrt, POSITIVE),
    ("rsqrt", lambda x: 1 / np.sqrt(x), POSITIVE),
    ("acosh", np.arccosh, POSITIVE + 1),
    ("acos", np.arccos, UNIT),
    ("asin", np.arcsin, UNIT),
    ("atanh", np.arctanh, UNIT),
    ("erf", np.vectorize(math.erf), X),
    ("erfc", np.vectorize(math.erfc), X),
    ("sigmoid", lambda x: 1 / (1 + np.exp(-x)), X),
    ("softplus", lambda x: np.log1p(np.exp(x)), X),
    ("log_sigmoid", lambda x: -np.log1p(np.exp(-x)), X),
]


@pytest.mark.parametrize("name, expected, x", UNARY, ids=[row[0] for row in UNARY])
def test_unary(name, expected, x):
    result = getattr(gyre.math, name)(gyre.constant(x))
    assert result.dtype == gyre.float64
    np.testing.assert_allclose(result.numpy(), expected(x), rtol=1e-13, atol=1e-15)


@pytest.mark.parametrize("dtype", [gyre.float16, gyre.float32, gyre.float64])
@pytest.mark.parametrize("name", ["asinh", "acosh", "atanh"])
def test_inverse_hyperbolic_functions_of_any_number(name, dtype):
    values = [0, -0.0, 1, -1, 300, -300, np.inf, -np.inf, np.nan, 0.5]
    if dtype != gyre.float16:
        values.append(1e20)
    x = np.array(values, dtype.as_numpy_dtype)
    with np.errstate(all="ignore"):
        wanted = getattr(np, "arc" + name[1:])(x.astype(np.longdouble)).astype(np.float64)
    found = getattr(gyre.math, name)(x).numpy().astype(np.float64)
    np.testing.assert_allclose(found, wanted, rtol=2e-3 if dtype == gyre.float16 else 1e-6)


@pytest.mark.parametrize("wrap", [lambda f: f, gyre.function])
def test_slope_of_asinh(wrap):
    x = gyre.constant([0.0, 2.0, -1e20])
    with gyre.GradientTape() as tape:
        tape.watch(x)
        y = wrap(gyre.asinh)(x)
    np.testing.assert_allclose(tape.gradient(y, x).numpy(), [1, 5**-0.5, 1e-20], rtol=1e-5)


A = np.array([[7.0, -7.0, 2.5], [0.5, -1.5, 3.0]])
B = np.array([2.0, 3.0, -2.0])
BINARY = [
    ("add", np.add),
    ("subtract", np.subtract),
    ("multiply", np.multiply),
    ("divide", np.divide),
    ("floordiv", np.floor_divide),
    ("floormod", np.mod),
    ("maximum", np.maximum),
    ("minimum", np.minimum),
    ("squared_difference", lambda a, b: (a - b) ** 2),
    ("atan2", np.arctan2),
    ("less", np.less),
    ("less_equal", np.less_equal),
    ("greater", np.greater),
    ("greater_equal", np.greater_equal),
    ("equal", np.equal),
    ("not_equal", np.not_equal),
    ("truncatemod", np.fmod),
]


@pytest.mark.parametrize("name, expected", BINARY, ids=[row[0] for row in BINARY])
def test_binary_broadcasts(name, expected):
    function = getattr(gyre.math, name, None) or getattr(gyre, name)
    result = function(gyre.constant(A), gyre.constant(B))
    np.testing.assert_allclose(result.numpy(), expected(A, B), rtol=1e-14)


def test_python_numbers_take_the_dtype_of_the_tensor():
    for dtype in (gyre.float16, gyre.float64, gyre.int8, gyre.int64):
        x = gyre.constant([1, 2], dtype)
        assert gyre.add(x, 1).dtype == dtype
        assert gyre.multiply(2, x).dtype == dtype
        assert (x - 1).dtype == dtype


def test_numbers_without_tensors():
    assert gyre.add(1, 2).dtype == gyre.int32
    assert gyre.add(1.0, 2.0).dtype == gyre.float32


def test_dtypes_that_differ_are_refused():
    with pytest.raises((gyre.errors.InvalidArgumentError, TypeError)):
        gyre.add(gyre.constant(1), gyre.constant(1.0))


def test_truediv_of_integers():
    result = gyre.truediv(gyre.constant([7, -7]), 2)
    assert result.dtype == gyre.float64
    np.testing.assert_array_equal(result.numpy(), [3.5, -3.5])
    assert (
        gyre.truediv(gyre.constant([1], gyre.int8), gyre.constant([2], gyre.int8)).dtype
        == gyre.float32
    )


def test_functions_that_pass_over_zeros():
    x, y = gyre.constant([0.0, 2.0, 3.0]), gyre.constant([0.0, 0.0, 2.0])
    np.testing.assert_array_equal(gyre.math.divide_no_nan(x, y).numpy(), [0, 0, 1.5])
    np.testing.assert_array_equal(
        gyre.math.multiply_no_nan(gyre.constant([np.inf, 2.0]), gyre.constant([0.0, 3.0])).numpy(),
        [0, 6],
    )
    zeros = gyre.constant([0.0, 0.0])
    np.testing.assert_array_equal(gyre.math.xlogy(zeros, gyre.constant([0.0, 1.0])).numpy(), [0, 0])
    np.testing.assert_array_equal(gyre.math.xdivy(zeros, zeros).numpy(), [0, 0])


def test_logic():
    a, b = gyre.constant([True, True, False]), gyre.constant([True, False, False])
    np.testing.assert_array_equal(gyre.logical_and(a, b).numpy(), [True, False, False])
    np.testing.assert_array_equal(gyre.math.logical_xor(a, b).numpy(), [False, True, False])
    np.testing.assert_array_equal(gyre.logical_not(a).numpy(), [False, False, True])


def test_bits():
    a, b = gyre.constant([12, 7]), gyre.constant([10, 1])
    np.testing.assert_array_equal(gyre.bitwise.bitwise_and(a, b).numpy(), [8, 1])
    np.testing.assert_array_equal(gyre.bitwise.bitwise_xor(a, b).numpy(), [6, 6])
    np.testing.assert_array_equal(gyre.bitwise.left_shift(a, b).numpy(), [12 << 10, 14])
    np.testing.assert_array_equal(gyre.bitwise.invert(a).numpy(), [~12, ~7])


def test_complex():
    z = gyre.complex(gyre.constant([3.0, 0.0]), gyre.constant([4.0, -2.0]))
    assert z.dtype == gyre.complex64
    np.testing.assert_allclose(gyre.abs(z).numpy(), [5, 2])
    np.testing.assert_array_equal(gyre.math.conj(z).numpy(), [3 - 4j, 2j])
    np.testing.assert_allclose(gyre.math.angle(z).numpy(), np.angle([3 + 4j, -2j]), rtol=1e-6)
    np.testing.assert_array_equal(gyre.math.imag(gyre.constant([1.0])).numpy(), [0])


def test_cast():
    np.testing.assert_array_equal(gyre.cast([1.9, -1.9], "int32").numpy(), [1, -1])
    assert gyre.cast(gyre.constant(3), gyre.float16).dtype == gyre.float16
    x = gyre.constant(1.0)
    assert gyre.cast(x, gyre.float32) is x
    np.testing.assert_array_equal(
        gyre.saturate_cast(gyre.constant([-5.0, 300.0, 7.0]), gyre.uint8).numpy(), [0, 255, 7]
    )


def test_clip_and_sums():
    np.testing.assert_array_equal(
        gyre.clip_by_value(gyre.range(6), 1, 3).numpy(), [1, 1, 2, 3, 3, 3]
    )
    np.testing.assert_array_equal(gyre.add_n([gyre.constant([1, 2])] * 3).numpy(), [3, 6])
    with pytest.raises(ValueError):
        gyre.add_n([])
    assert float(gyre.math.polyval([1.0, 2.0, 3.0], 2.0)) == 11


def test_arguments_have_the_names_of_the_ops_schemas():
    assert float(gyre.atan2(y=1.0, x=0.0)) == pytest.approx(np.pi / 2)
    assert float(gyre.nn.softplus(features=0.0)) == pytest.approx(np.log(2))
    assert float(gyre.nn.l2_loss(t=[3.0, 4.0])) == 12.5
    with pytest.raises(TypeError, match="unexpected keyword argument 'z'"):
        gyre.tan(z=1.0)


THREE = [1, 2, 3]


@pytest.mark.parametrize("other", [[1, 2], [], [[1, 2], [1, 2]], np.array([1, 2]), (1, 2, 3, 4)])
@pytest.mark.parametrize("make", [gyre.constant, gyre.Variable])
def test_tensors_that_cannot_be_broadcast_are_not_equal(make, other):
    x = make(THREE)
    assert (x == other).numpy() is np.False_ and (x != other).numpy() is np.True_
    assert (other == x).numpy() is np.False_ and (other != x).numpy() is np.True_
    assert (x == gyre.constant(other, gyre.int32)).numpy() is np.False_
    with pytest.raises(gyre.errors.InvalidArgumentError, match="shape"):
        gyre.equal(x, other)
    with pytest.raises(gyre.errors.InvalidArgumentError, match="shape"):
        x < other  # noqa: B015


def test_a_tensor_is_looked_for_among_others_of_any_shape():
    others = [gyre.constant([1, 2]), gyre.constant([4, 5, 6, 7])]
    assert gyre.constant(THREE) not in others
    assert others.index(others[1]) == 1


@pytest.mark.parametrize("size", [3, None])
def test_in_a_function_tensors_that_cannot_be_broadcast_are_not_equal(size):
    @gyre.function(input_signature=[gyre.TensorSpec([size], gyre.int32), gyre.TensorSpec(None)])
    def f(x, y):
        y = gyre.cast(y, gyre.int32)
        return x == y, x != y, x == [1, 2, 3], x == [1, 2, 3, 4], x == 2

    for y in ([1.0, 2.0], [1.0, 2.0, 4.0], [[1.0], [2.0]], 3.0):
        x = gyre.constant(THREE)
        found = f(x, y)
        y = gyre.constant(y, gyre.int32)
        for a, b in zip(
            found, [x == y, x != y, x == THREE, x == [1, 2, 3, 4], x == 2], strict=True
        ):
            np.testing.assert_array_equal(a, b, strict=True)


def test_comparisons_that_must_fit_keep_their_shapes():
    @gyre.function(input_signature=[gyre.TensorSpec([None, 3], gyre.int32)])
    def f(x):
        shapes.extend((x == x, x == 1, x == gyre.constant(THREE), x == x[0]))
        return x

    shapes: list = []
    f([THREE])
    assert [tuple(s.shape) for s in shapes] == [(None, 3)] * 4

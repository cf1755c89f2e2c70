"""Operators of tensors, eager and in graphs, as numpy has them."""

import operator

import numpy as np
import pytest

import gyre
from gyre import _gyre

BINARY = [
    operator.add,
    operator.sub,
    operator.mul,
    operator.truediv,
    operator.floordiv,
    operator.mod,
    operator.pow,
    operator.lt,
    operator.le,
    operator.gt,
    operator.ge,
    operator.eq,
    operator.ne,
]


@pytest.mark.parametrize("op", BINARY, ids=lambda o: o.__name__)
@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "int64"])
@pytest.mark.parametrize("in_graph", [False, True])
def test_as_numpy(op, dtype, in_graph):
    a = np.array([[1, 2, 3], [4, 5, 6]], dtype)
    b = np.array([2, 3, 1], dtype)
    expected = op(a, b)

    def run(f):
        if not in_graph:
            return f(_gyre.tensor(a), _gyre.tensor(b))
        graph = _gyre.Graph()
        with graph:
            x, y = (graph.placeholder(v.dtype, v.shape) for v in (a, b))
            z = f(x, y)
        return graph.prepare([x, y], [z])([_gyre.tensor(a), _gyre.tensor(b)])[0]

    got = run(op).numpy()
    np.testing.assert_allclose(got, expected, rtol=1e-6)
    assert got.dtype == expected.dtype
    np.testing.assert_allclose(run(lambda x, y: op(x, 2)).numpy(), op(a, 2), rtol=1e-6)
    np.testing.assert_allclose(run(lambda x, y: op(2, y)).numpy(), op(2, b), rtol=1e-6)


def test_division_of_small_integers():
    for dtype in ("int8", "uint8", "int16", "uint16"):
        assert (_gyre.tensor(3, dtype=dtype) / 2).dtype.name == "float32"
    assert (_gyre.tensor(3) / 2).dtype.name == "float64"
    assert (_gyre.tensor(-7) // 2).numpy() == -4 and (_gyre.tensor(-7) % 3).numpy() == 2


def test_bitwise_and_logical():
    a, b = np.array([12, 10]), np.array([10, 6])
    t, u = _gyre.tensor(a), _gyre.tensor(b)
    for op in (operator.and_, operator.or_, operator.xor):
        np.testing.assert_array_equal(op(t, u).numpy(), op(a, b))
        np.testing.assert_array_equal(op(t, 3).numpy(), op(a, 3))
        p, q = np.array([True, True, False]), np.array([True, False, False])
        np.testing.assert_array_equal(op(_gyre.tensor(p), _gyre.tensor(q)).numpy(), op(p, q))
        np.testing.assert_array_equal(op(True, _gyre.tensor(q)).numpy(), op(True, q))
    np.testing.assert_array_equal((~t).numpy(), ~a)
    np.testing.assert_array_equal((~_gyre.tensor(p)).numpy(), ~p)


def test_unary():
    x = _gyre.tensor([-1.0, 2.0])
    np.testing.assert_array_equal((-x).numpy(), [1, -2])
    np.testing.assert_array_equal(abs(x).numpy(), [1, 2])
    assert +x is x
    assert abs(_gyre.tensor(3 + 4j)).numpy() == 5


@pytest.mark.parametrize("a,b", [((2, 3), (3, 4)), ((5, 2, 3), (5, 3, 4)), ((5, 2, 3), (3, 4))])
def test_matmul(a, b):
    x, y = np.random.rand(*a).astype("f4"), np.random.rand(*b).astype("f4")
    np.testing.assert_allclose((_gyre.tensor(x) @ _gyre.tensor(y)).numpy(), x @ y, rtol=1e-5)
    np.testing.assert_allclose((_gyre.tensor(x) @ y).numpy(), x @ y, rtol=1e-5)
    np.testing.assert_allclose((x @ _gyre.tensor(y)).numpy(), x @ y, rtol=1e-5)


def test_with_numpy_on_the_left():
    x = np.array([1, 2], np.float32)
    t = _gyre.tensor([3.0, 4.0])
    for got, expected in (
        (x + t, [4, 6]),
        (x - t, [-2, -2]),
        (np.float32(1) - t, [-2, -3]),
        (x < t, [True, True]),
    ):
        assert isinstance(got, _gyre.Tensor)
        np.testing.assert_array_equal(got.numpy(), expected)


def test_dtypes_are_not_mixed(core_error):
    for f in (
        lambda: _gyre.tensor(1) + _gyre.tensor(1.0),
        lambda: _gyre.execute("AddV2", [_gyre.tensor(1), _gyre.tensor(1.0)]),
        lambda: _gyre.tensor([1]) == _gyre.tensor([1.0]),
    ):
        with pytest.raises(core_error, match="float32.*int32|int32.*float32"):
            f()
    graph = _gyre.Graph()
    with graph, pytest.raises(TypeError, match="of dtypes int32 and float32"):
        graph.placeholder("int32", ()) + graph.placeholder("float32", ())
    with pytest.raises(TypeError, match="1.5 is no int32"):
        _gyre.tensor(1) + 1.5
    assert (_gyre.tensor(1) + 2.0).numpy() == 3


# What TensorFlow 2.21 gives, eagerly and in functions: the dtype of the tensor, whatever it costs.
BESIDE_NUMPY = [
    (operator.sub, np.float32([1, 2]), np.float64(0.5), [0.5, 1.5]),
    (operator.add, np.float32([1, 2]), np.arange(2), [1, 3]),
    (operator.mul, np.float32([1, 2]), np.array([2.0, 3.0]), [2, 6]),
    (operator.add, np.float32([1, 2]), np.bool_(True), [2, 3]),
    (operator.add, np.float32([1, 2]), np.array([1e300, 1]), [np.inf, 3]),
    (operator.pow, np.float32([1, 2]), np.float64(2), [1, 4]),
    (operator.mul, np.int32([1, 2]), np.int64(3), [3, 6]),
    (operator.add, np.int32([1, 2]), np.float64(2.5), [3, 4]),
    (operator.mul, np.int32([1, 2]), np.array([2.5, 1.5]), [2, 2]),
    (operator.add, np.int32([1, 2]), np.array([2**40, 1]), [1, 3]),
    (operator.truediv, np.int32([1, 2]), np.float64(2.5), [0.5, 1]),
    (operator.floordiv, np.int32([1, 2]), np.float64(2.5), [0, 1]),
    (operator.eq, np.int32([1, 2]), np.float64(1.5), [True, False]),
    (operator.lt, np.int32([1, 2]), np.float64(2.5), [True, False]),
    (operator.add, np.uint8([1, 2]), np.array([-1, 300]), [0, 46]),
    (operator.mul, np.complex64([1, 2]), np.float64(2), [2, 4]),
    (operator.and_, np.array([True, False]), np.int64(3), [True, False]),
    (operator.matmul, np.ones([2, 2], np.float32), np.eye(2), [[1, 1], [1, 1]]),
]


@pytest.mark.parametrize("wrap", [lambda f: f, gyre.function], ids=["eager", "function"])
@pytest.mark.parametrize("op, tensor, value, expected", BESIDE_NUMPY)
def test_values_of_numpy_take_the_dtype_of_the_tensor(wrap, op, tensor, value, expected):
    got = wrap(lambda t: op(t, value))(gyre.constant(tensor))
    np.testing.assert_array_equal(got.numpy(), expected)
    wide = op is operator.truediv and tensor.dtype == np.int32
    of_op = bool if op in (operator.eq, operator.lt) else np.float64 if wide else tensor.dtype
    assert got.dtype == of_op


@pytest.mark.parametrize("wrap", [lambda f: f, gyre.function], ids=["eager", "function"])
def test_values_of_numpy_on_the_left_take_the_dtype_of_the_tensor(wrap):
    for value in (np.float64(2.5), np.array([2.5, 2.5])):
        for tensor, expected in ((gyre.constant([1.0, 2.0]), [1.5, 0.5]), ([1, 2], [1, 0])):
            tensor = gyre.convert_to_tensor(tensor)
            got = wrap(lambda t: value - t)(tensor)
            assert got.dtype == tensor.dtype
            np.testing.assert_array_equal(got.numpy(), expected)
    v = gyre.Variable([1.0, 2.0])
    np.testing.assert_array_equal((np.log([1.0, np.e]) + v).numpy(), [1, 3])


def test_texts_of_numpy_stay_texts(core_error):
    with pytest.raises(core_error, match="float32 and string"):
        _gyre.tensor([1.0, 2.0]) + np.array(["a", "b"])
    with pytest.raises(core_error, match="string and float64"):
        _gyre.tensor(["a", "b"]) + np.array([1.0, 2.0])


def test_what_tensors_leave_to_others():
    x = _gyre.tensor(1.0)
    with pytest.raises(TypeError, match="unsupported operand"):
        x + object()
    with pytest.raises(TypeError):
        x + None
    assert (x == None) is False and (x != None) is True  # noqa: E711
    assert (x == object()) is False

    class Composite:
        __gyre_operand__ = True
        __array__ = None

        def __radd__(self, other):
            return "mine"

    assert x + Composite() == "mine"
    with pytest.raises(TypeError):
        pow(x, 2, 3)


def test_shapes_that_do_not_fit():
    with pytest.raises(Exception, match=r"\[2\]|\[3\]"):
        _gyre.tensor([1.0, 2.0]) + _gyre.tensor([1.0, 2.0, 3.0])


def test_large_operands_release_the_gil_and_agree():
    x = np.random.rand(300, 400).astype("f4")
    np.testing.assert_allclose((_gyre.tensor(x) * _gyre.tensor(x)).numpy(), x * x)

"""Binary ops broadcast, and compute, as numpy does: eagerly and in functions."""

import operator

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import gyre

DTYPES = ["float32", "float64", "int8", "int16", "int32", "int64", "uint8", "uint32"]
ARITHMETIC = {"+": operator.add, "-": operator.sub, "*": operator.mul}
COMPARISONS = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
}
EXTREMES = {"maximum": (gyre.maximum, np.maximum), "minimum": (gyre.minimum, np.minimum)}
TWO_SHAPES = hnp.mutually_broadcastable_shapes(num_shapes=2, max_dims=4, max_side=4, min_side=0)


def values(dtype, shape):
    low = 0 if dtype.startswith("u") else -9
    return hnp.arrays(dtype, shape, elements=st.integers(low, 9))


@st.composite
def operands(draw, dtypes=tuple(DTYPES)):
    dtype = draw(st.sampled_from(dtypes))
    shapes = draw(TWO_SHAPES)
    return [draw(values(dtype, shape)) for shape in shapes.input_shapes], shapes.result_shape


def check(fn, reference, a, b, shape):
    expected = reference(a, b)
    for run in (fn, gyre.function(fn)):
        result = run(gyre.constant(a), gyre.constant(b))
        assert tuple(result.shape) == shape == expected.shape
        assert result.dtype.as_numpy_dtype == expected.dtype
        np.testing.assert_array_equal(result.numpy(), expected)


@pytest.mark.parametrize("sign", ARITHMETIC)
@given(operands())
def test_arithmetic(sign, drawn):
    (a, b), shape = drawn
    with np.errstate(all="ignore"):
        check(ARITHMETIC[sign], ARITHMETIC[sign], a, b, shape)


@pytest.mark.parametrize("sign", COMPARISONS)
@given(operands())
def test_comparisons(sign, drawn):
    (a, b), shape = drawn
    check(COMPARISONS[sign], COMPARISONS[sign], a, b, shape)


@pytest.mark.parametrize("name", EXTREMES)
@given(operands())
def test_extremes(name, drawn):
    (a, b), shape = drawn
    check(*EXTREMES[name], a, b, shape)


@pytest.mark.parametrize("sign", ["//", "%"])
@given(operands())
def test_division_rounds_down(sign, drawn):
    (a, b), shape = drawn
    b = np.where(b == 0, b.dtype.type(3), b)
    op = {"//": operator.floordiv, "%": operator.mod}[sign]
    check(op, op, a, b, shape)


@given(operands(dtypes=("float32", "float64")))
def test_true_division(drawn):
    (a, b), shape = drawn
    b = np.where(b == 0, b.dtype.type(0.5), b)
    check(operator.truediv, operator.truediv, a, b, shape)


@pytest.mark.parametrize("sign", ["&", "|", "^"])
@given(st.data())
def test_logic(sign, data):
    shapes = data.draw(TWO_SHAPES)
    a, b = (data.draw(hnp.arrays(np.bool_, shape)) for shape in shapes.input_shapes)
    op = {"&": operator.and_, "|": operator.or_, "^": operator.xor}[sign]
    check(op, op, a, b, shapes.result_shape)


@given(st.data())
def test_where(data):
    shapes = data.draw(hnp.mutually_broadcastable_shapes(num_shapes=3, max_dims=3, max_side=4))
    mask = data.draw(hnp.arrays(np.bool_, shapes.input_shapes[0]))
    a, b = (data.draw(values("float32", shape)) for shape in shapes.input_shapes[1:])
    np.testing.assert_array_equal(gyre.where(mask, a, b).numpy(), np.where(mask, a, b))


@given(st.data())
def test_shapes_that_do_not_fit(data):
    shape = data.draw(hnp.array_shapes(min_dims=1, max_dims=3, min_side=2, max_side=4))
    axis = data.draw(st.integers(0, len(shape) - 1))
    other = tuple(size + 1 if k == axis else size for k, size in enumerate(shape))
    for run in (operator.add, gyre.function(operator.add)):
        with pytest.raises((gyre.errors.InvalidArgumentError, ValueError)):
            run(gyre.zeros(shape), gyre.zeros(other))


@given(st.sampled_from(DTYPES), st.sampled_from(DTYPES))
def test_dtypes_are_not_mixed(one, other):
    a, b = gyre.constant([1, 2], one), gyre.constant([3, 4], other)
    if one == other:
        assert (a + b).dtype == a.dtype
    else:
        with pytest.raises((TypeError, gyre.errors.InvalidArgumentError)) as caught:
            a + b
        assert one in str(caught.value) and other in str(caught.value)


@given(operands(dtypes=("float64",)))
def test_gradients_have_the_shapes_of_the_operands(drawn):
    (a, b), _ = drawn
    a, b = gyre.constant(a), gyre.constant(b)
    with gyre.GradientTape() as tape:
        tape.watch([a, b])
        y = gyre.reduce_sum(a * b + a)
    da, db = tape.gradient(y, [a, b])
    assert da.shape == a.shape and db.shape == b.shape
    ones = np.ones(np.broadcast_shapes(tuple(a.shape), tuple(b.shape)))
    assert float(gyre.reduce_sum(db)) == pytest.approx(float(np.sum(ones * a.numpy())))

"""Reductions, running sums, positions, segments against numpy."""

import numpy as np
import pytest

import gyre

X = np.random.default_rng(1).normal(size=(3, 4, 5))
AXES = [None, 0, -1, [0, 2], [1]]
ROWS = [
    ("sum", np.sum),
    ("mean", np.mean),
    ("prod", np.prod),
    ("max", np.max),
    ("min", np.min),
    ("std", np.std),
    ("variance", np.var),
]


@pytest.mark.parametrize("axis", AXES, ids=str)
@pytest.mark.parametrize("name, expected", ROWS, ids=[r[0] for r in ROWS])
def test_reduce(name, expected, axis):
    numpy_axis = tuple(axis) if isinstance(axis, list) else axis
    for keep in (False, True):
        result = getattr(gyre.math, "reduce_" + name)(X, axis, keepdims=keep)
        np.testing.assert_allclose(
            result.numpy(), expected(X, axis=numpy_axis, keepdims=keep), rtol=1e-12
        )


def test_logical_reductions():
    x = gyre.constant([[True, False], [True, True]])
    np.testing.assert_array_equal(gyre.reduce_all(x, 0).numpy(), [True, False])
    assert bool(gyre.reduce_any(x)) is True


@pytest.mark.parametrize("axis", [None, 1, [0, 2]], ids=str)
def test_logsumexp_does_not_overflow(axis):
    x = X * 1000
    numpy_axis = tuple(axis) if isinstance(axis, list) else axis
    top = x.max(axis=numpy_axis, keepdims=True)
    expected = np.log(np.exp(x - top).sum(axis=numpy_axis)) + top.squeeze(numpy_axis)
    np.testing.assert_allclose(gyre.reduce_logsumexp(x, axis).numpy(), expected, rtol=1e-12)
    assert np.isneginf(float(gyre.reduce_logsumexp([-np.inf, -np.inf])))


def test_positions():
    np.testing.assert_array_equal(gyre.argmax(X, 1).numpy(), X.argmax(1))
    assert gyre.argmin(X, 2, output_type="int32").dtype == gyre.int32
    np.testing.assert_array_equal(gyre.argmax(X).numpy(), X.argmax(0))


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("exclusive", [False, True])
def test_running(exclusive, reverse):
    x = np.arange(1.0, 6.0)
    for function, running, start in (
        (gyre.cumsum, np.cumsum, 0),
        (gyre.math.cumprod, np.cumprod, 1),
    ):
        y = running(x[::-1] if reverse else x)
        if exclusive:
            y = np.concatenate([[start], y[:-1]])
        np.testing.assert_array_equal(
            function(x, exclusive=exclusive, reverse=reverse).numpy(), y[::-1] if reverse else y
        )


def test_counts():
    assert int(gyre.math.count_nonzero([[1, 0], [2, 0]])) == 2
    np.testing.assert_array_equal(gyre.math.bincount([1, 1, 3]).numpy(), [0, 2, 0, 1])
    np.testing.assert_array_equal(
        gyre.math.bincount([1, 5], minlength=3, maxlength=4).numpy(), [0, 1, 0, 0]
    )
    np.testing.assert_array_equal(
        gyre.math.confusion_matrix([0, 1, 1], [0, 1, 0]).numpy(), [[1, 0], [1, 1]]
    )
    assert float(gyre.math.zero_fraction([0.0, 1.0, 0.0, 2.0])) == 0.5


def test_counts_of_numbers_that_fit_no_int32():
    wide = 2**32 + 3
    for parameter in ("minlength", "maxlength"):
        with pytest.raises(ValueError, match=f"{parameter}: {wide} does not fit int32"):
            gyre.math.bincount([1, 2], **{parameter: wide})
    with pytest.raises(ValueError, match=f"nbins: {wide} does not fit int32"):
        gyre.histogram_fixed_width([1.0, 2.0], [0.0, 5.0], nbins=wide)
    few = gyre.math.bincount(np.array([1, 2**32 + 1, 2**64 - 1], np.uint64), maxlength=3)
    np.testing.assert_array_equal(few.numpy(), [0, 1, 0])
    for greatest, dtype in ((2**31 - 1, "int32"), (2**63 - 1, "int64"), (2**32 - 1, "uint32")):
        values = gyre.constant([greatest, 1], dtype)
        few = gyre.math.bincount(values, maxlength=3)
        np.testing.assert_array_equal(few.numpy(), [0, 1, 0])
    assert gyre.math.bincount([1, 2], maxlength=0).shape == [0]


def test_only_integers_are_counted():
    assert gyre.math.bincount([], minlength=2).numpy().tolist() == [0, 0]
    with pytest.raises(TypeError, match="float32"):
        gyre.math.bincount([1.5, 2.0])
    with pytest.raises(TypeError, match="float64"):
        gyre.math.bincount(gyre.ragged.constant([[1.5], [2.0]], "float64"), axis=-1)


def test_top_k():
    values, indices = gyre.math.top_k([[1.0, 5.0, 3.0]], k=2)
    np.testing.assert_array_equal(values.numpy(), [[5, 3]])
    np.testing.assert_array_equal(indices.numpy(), [[1, 2]])
    np.testing.assert_array_equal(
        gyre.nn.in_top_k([0, 2], [[1.0, 2.0, 3.0], [1.0, 2.0, 3.0]], 2).numpy(), [False, True]
    )


def test_segments():
    data, ids = np.arange(8.0).reshape(4, 2), [0, 0, 2, 2]
    np.testing.assert_array_equal(
        gyre.math.segment_sum(data, ids).numpy(), [[2, 4], [0, 0], [10, 12]]
    )
    np.testing.assert_array_equal(
        gyre.math.segment_mean(data, ids).numpy(), [[1, 2], [0, 0], [5, 6]]
    )
    mixed = [1, 0, 1, -1]
    np.testing.assert_array_equal(
        gyre.math.unsorted_segment_sum(data, mixed, 3).numpy(), [[2, 3], [4, 6], [0, 0]]
    )
    np.testing.assert_array_equal(
        gyre.math.unsorted_segment_mean(data, mixed, 3).numpy(), [[2, 3], [2, 3], [0, 0]]
    )
    with pytest.raises(gyre.errors.InvalidArgumentError):
        gyre.math.segment_sum(data, [1, 0, 0, 0])


def test_axes_of_running_sums():
    x = gyre.ones([2, 5])
    for function in (gyre.cumsum, gyre.math.cumprod):
        for axis in (-3, 2):
            with pytest.raises(gyre.errors.InvalidArgumentError, match=r"in the range \[-2, 2"):
                function(x, axis)
        with pytest.raises(gyre.errors.InvalidArgumentError, match="axis must be a scalar"):
            function(x, [0])

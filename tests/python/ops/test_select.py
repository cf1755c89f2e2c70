"""Reading and writing by index, and sorting, against numpy."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import gyre

X = np.arange(24.0).reshape(2, 3, 4)


def same(result, expected):
    np.testing.assert_array_equal(result.numpy(), expected)


def test_gather():
    same(gyre.gather(X, [1, 0]), X[[1, 0]])
    same(gyre.gather(X, [[2], [0]], axis=1), X[:, [[2], [0]]])
    same(gyre.gather(X, [[2, 0], [1, 1]], batch_dims=1), np.stack([X[0][[2, 0]], X[1][[1, 1]]]))
    with pytest.raises(gyre.errors.InvalidArgumentError):
        gyre.gather(X, [5])


def test_gather_nd():
    same(gyre.gather_nd(X, [[0, 1], [1, 2]]), X[[0, 1], [1, 2]])
    same(gyre.gather_nd(X, [[[2]], [[0]]], batch_dims=1), np.stack([X[0, 2:3], X[1, 0:1]]))


def test_scatter():
    same(gyre.scatter_nd([[1], [3], [1]], [1, 2, 3], [5]), [0, 4, 0, 2, 0])
    base = gyre.constant([1, 2, 3])
    same(gyre.tensor_scatter_nd_update(base, [[0], [2]], [9, 8]), [9, 2, 8])
    same(gyre.tensor_scatter_nd_add(base, [[0], [0]], [1, 1]), [3, 2, 3])
    same(gyre.tensor_scatter_nd_max(base, [[0]], [0]), [1, 2, 3])


def test_slices():
    same(gyre.slice(X, [0, 1, 0], [1, -1, 2]), X[0:1, 1:, 0:2])
    same(gyre.strided_slice(X, [0, 2], [2, 0], [1, -1]), X[0:2, 2:0:-1])
    x = gyre.constant(X)
    same(x[1, ..., ::2], X[1, ..., ::2])
    same(x[:, gyre.newaxis, -1], X[:, None, -1])
    same(x[gyre.constant(1)], X[1])


def test_where():
    c = X > 10
    same(gyre.where(c, X, 0.0), np.where(c, X, 0))
    same(gyre.where(c), np.argwhere(c))
    with pytest.raises(ValueError):
        gyre.where(c, X)


@settings(max_examples=40, deadline=None)
@given(
    hnp.arrays(np.int64, hnp.array_shapes(max_dims=3, max_side=5), elements=st.integers(-3, 3)),
    st.data(),
)
def test_sort_keeps_the_order_of_equals(x, data):
    axis = data.draw(st.integers(-x.ndim, x.ndim - 1))
    same(gyre.sort(x, axis), np.sort(x, axis))
    same(gyre.argsort(x, axis), np.argsort(x, axis, kind="stable"))
    same(gyre.sort(x, axis, "DESCENDING"), -np.sort(-x, axis))
    same(gyre.argsort(x, axis, "DESCENDING"), np.argsort(-x, axis, kind="stable"))


@settings(max_examples=40, deadline=None)
@given(hnp.arrays(np.int32, st.integers(0, 8), elements=st.integers(0, 4)))
def test_repeat_by_counts(counts):
    values = np.arange(len(counts))
    same(gyre.repeat(gyre.constant(values), gyre.constant(counts)), values.repeat(counts))


def test_searchsorted():
    rows, values = [1.0, 3.0, 3.0, 5.0], [0.0, 3.0, 9.0]
    same(gyre.searchsorted(rows, values), np.searchsorted(rows, values))
    same(gyre.searchsorted(rows, values, "right"), np.searchsorted(rows, values, "right"))


@pytest.mark.parametrize("axis", [2, 5, -3])
@pytest.mark.parametrize("function", [gyre.sort, gyre.argsort])
def test_sort_along_an_axis_that_is_not_there(function, axis):
    with pytest.raises(ValueError, match=rf"sort: axis {axis} is not in \[-2, 2\)"):
        function(gyre.ones([2, 3]), axis=axis)

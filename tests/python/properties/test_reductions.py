"""Reductions over random axes, with and without kept dims, are numpy's."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import gyre

REDUCTIONS = {
    "reduce_sum": np.sum,
    "reduce_prod": np.prod,
    "reduce_max": np.max,
    "reduce_min": np.min,
    "reduce_mean": np.mean,
    "reduce_any": np.any,
    "reduce_all": np.all,
}


def axes_of(rank):
    one = st.integers(-rank, rank - 1)
    several = st.lists(st.integers(0, rank - 1), unique=True, max_size=rank).map(tuple)
    return st.none() | one | several if rank else st.none()


@pytest.mark.parametrize("name", REDUCTIONS)
@given(st.data(), st.booleans())
def test_as_numpy(name, data, keepdims):
    # The order of a reduction is open: so few that no product of some of them overflows.
    most = 2 if name == "reduce_prod" else 4
    shape = data.draw(hnp.array_shapes(min_dims=0, max_dims=4, min_side=1, max_side=most))
    logical = name in ("reduce_any", "reduce_all")
    dtype = "bool" if logical else data.draw(st.sampled_from(["float32", "float64"]))
    value = data.draw(hnp.arrays(dtype, shape, elements=None if logical else st.integers(-3, 3)))
    axis = data.draw(axes_of(len(shape)))
    expected = REDUCTIONS[name](value, axis=axis, keepdims=keepdims)

    def reduced(x):
        return getattr(gyre, name)(x, axis=axis, keepdims=keepdims)

    for run in (reduced, gyre.function(reduced)):
        result = run(gyre.constant(value))
        assert tuple(result.shape) == np.shape(expected) and result.dtype.name == dtype
        np.testing.assert_allclose(result.numpy(), expected, rtol=1e-5)


@given(st.data())
def test_of_integers(data):
    shape = data.draw(hnp.array_shapes(min_dims=1, max_dims=3, max_side=4))
    value = data.draw(hnp.arrays("int32", shape, elements=st.integers(-100, 100)))
    axis = data.draw(axes_of(len(shape)))
    np.testing.assert_array_equal(gyre.reduce_sum(value, axis).numpy(), value.sum(axis))
    one = data.draw(st.integers(0, len(shape) - 1))
    np.testing.assert_array_equal(gyre.argmax(value, one).numpy(), value.argmax(one))
    np.testing.assert_array_equal(gyre.argmin(value, one).numpy(), value.argmin(one))
    np.testing.assert_array_equal(gyre.cumsum(value, one).numpy(), value.cumsum(one))


@given(st.integers(1, 3), st.integers(0, 5))
def test_axis_out_of_range(rank, by):
    x = gyre.zeros([2] * rank)
    for run in (gyre.reduce_sum, gyre.function(gyre.reduce_sum)):
        with pytest.raises((ValueError, gyre.errors.InvalidArgumentError)):
            run(x, axis=rank + by)


@given(st.data())
def test_gradient_of_a_sum_is_ones(data):
    shape = data.draw(hnp.array_shapes(min_dims=1, max_dims=3, max_side=4))
    axis = data.draw(axes_of(len(shape)))
    x = gyre.ones(shape)
    with gyre.GradientTape() as tape:
        tape.watch(x)
        y = gyre.reduce_sum(gyre.reduce_sum(x, axis) * 2.0)
    np.testing.assert_array_equal(tape.gradient(y, x).numpy(), np.full(shape, 2.0))

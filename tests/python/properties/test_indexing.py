"""Indices of ints, slices, ellipsis and newaxis mean what they mean to numpy."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import gyre

SHAPES = hnp.array_shapes(min_dims=1, max_dims=4, min_side=1, max_side=5)


def numbered(shape):
    return np.arange(np.prod(shape), dtype=np.float32).reshape(shape)


@given(st.data())
def test_basic_indices(data):
    shape = data.draw(SHAPES)
    index = data.draw(hnp.basic_indices(shape, allow_newaxis=True, allow_ellipsis=True))
    value = numbered(shape)
    expected = value[index]

    def item(x):
        return x[index]

    for run in (item, gyre.function(item)):
        result = run(gyre.constant(value))
        assert tuple(result.shape) == np.shape(expected)
        np.testing.assert_array_equal(result.numpy(), expected)


@given(st.data())
def test_indices_that_are_tensors(data):
    shape = data.draw(SHAPES)
    k = data.draw(st.integers(-shape[0], shape[0] - 1))
    start, stop = (data.draw(st.integers(0, shape[0])) for _ in range(2))
    value = numbered(shape)

    def item(x, k, start, stop):
        return x[k], x[start:stop]

    for run in (item, gyre.function(item)):
        one, several = run(
            gyre.constant(value), gyre.constant(k), gyre.constant(start), gyre.constant(stop)
        )
        np.testing.assert_array_equal(one.numpy(), value[k])
        np.testing.assert_array_equal(several.numpy(), value[start:stop])


@given(st.data())
def test_sizes_that_are_not_known(data):
    shape = data.draw(SHAPES)
    index = data.draw(hnp.basic_indices(shape, allow_newaxis=True, allow_ellipsis=True))
    value = numbered(shape)
    run = gyre.function(
        lambda x: x[index], input_signature=[gyre.TensorSpec([None] * len(shape), gyre.float32)]
    )
    np.testing.assert_array_equal(run(gyre.constant(value)).numpy(), value[index])


@given(st.data())
def test_masks(data):
    shape = data.draw(hnp.array_shapes(min_dims=1, max_dims=3, max_side=4))
    mask = data.draw(hnp.arrays(np.bool_, shape[: data.draw(st.integers(1, len(shape)))]))
    value = numbered(shape)
    np.testing.assert_array_equal(gyre.constant(value)[mask].numpy(), value[mask])


@given(st.data())
def test_ints_out_of_range(data):
    shape = data.draw(SHAPES)
    k = data.draw(st.integers(shape[0], shape[0] + 3) | st.integers(-shape[0] - 3, -shape[0] - 1))
    with pytest.raises((IndexError, gyre.errors.OpError)):
        gyre.constant(numbered(shape))[k]


@given(st.data())
def test_gradient_goes_to_what_was_taken(data):
    shape = data.draw(SHAPES)
    index = data.draw(hnp.basic_indices(shape, allow_newaxis=True, allow_ellipsis=True))
    x = gyre.constant(numbered(shape))
    with gyre.GradientTape() as tape:
        tape.watch(x)
        y = gyre.reduce_sum(x[index])
    expected = np.zeros(shape, np.float32)
    expected[index] = 1
    np.testing.assert_array_equal(tape.gradient(y, x).numpy(), expected)

"""Conversions between dtypes, to numpy and back."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import gyre

NAMES = [
    "float16",
    "float32",
    "float64",
    "int8",
    "int16",
    "int32",
    "int64",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "bool",
    "complex64",
    "complex128",
]
SHAPES = hnp.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=4)


@given(st.data(), st.sampled_from(NAMES))
def test_there_and_back(data, name):
    value = data.draw(hnp.arrays(name, SHAPES))
    tensor = gyre.constant(value)
    assert tensor.dtype.name == name and tensor.dtype == np.dtype(name)
    back = tensor.numpy()
    assert back.dtype == value.dtype and back.shape == value.shape
    np.testing.assert_array_equal(back, value)


@given(st.data(), st.sampled_from(NAMES[:12]), st.sampled_from(NAMES[:12]))
def test_casts(data, source, target):
    value = data.draw(
        hnp.arrays(source, SHAPES, elements=st.integers(0, 1 if source == "bool" else 100))
    )
    result = gyre.cast(value, target)
    assert result.dtype.name == target
    np.testing.assert_array_equal(result.numpy(), value.astype(target))


@given(st.sampled_from(NAMES))
def test_names(name):
    dtype = getattr(gyre, name)
    assert gyre.as_dtype(name) is dtype is gyre.as_dtype(np.dtype(name)) and dtype.name == name
    assert dtype.size == np.dtype(name).itemsize


@given(st.data())
def test_nested_lists(data):
    shape = data.draw(hnp.array_shapes(min_dims=0, max_dims=3, min_side=1, max_side=3))
    kind = data.draw(st.sampled_from(["int32", "float32", "bool"]))
    value = data.draw(hnp.arrays(kind, shape))
    tensor = gyre.constant(value.tolist())
    assert tensor.dtype.name == kind and tuple(tensor.shape) == shape
    np.testing.assert_array_equal(tensor.numpy(), value)


@given(st.lists(st.binary(max_size=5) | st.text(max_size=4), max_size=4))
def test_strings(values):
    expected = [v.encode() if isinstance(v, str) else v for v in values]
    if not values:
        return
    assert gyre.constant(values).numpy().tolist() == expected


@given(st.data())
def test_reshape_and_transpose(data):
    shape = data.draw(hnp.array_shapes(min_dims=1, max_dims=4, max_side=4))
    value = np.arange(np.prod(shape)).reshape(shape).astype("int64")
    order = data.draw(st.permutations(range(len(shape))))
    tensor = gyre.transpose(gyre.constant(value), order)
    np.testing.assert_array_equal(tensor.numpy(), value.transpose(order))
    np.testing.assert_array_equal(
        gyre.reshape(tensor, [-1]).numpy(), value.transpose(order).ravel()
    )

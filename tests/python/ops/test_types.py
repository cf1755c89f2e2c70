"""DType, TensorShape, TensorSpec."""

import pickle

import numpy as np
import pytest

import gyre


def test_dtypes():
    assert gyre.as_dtype("float32") is gyre.float32
    assert gyre.as_dtype(np.int64) == gyre.int64
    assert gyre.half == gyre.float16 and gyre.double == gyre.float64
    assert gyre.bfloat16.is_floating and not gyre.bool.is_integer
    assert gyre.complex128.real_dtype == gyre.float64
    assert gyre.uint8.max == 255 and gyre.int8.min == -128
    assert gyre.float32.as_numpy_dtype == np.float32
    assert (gyre.float32.as_datatype_enum, gyre.string.as_datatype_enum) == (1, 7)


def test_shape_of_tensors():
    x = gyre.zeros([2, 3])
    assert x.shape == [2, 3] and x.shape == (2, 3) and x.get_shape().as_list() == [2, 3]
    assert x.shape.rank == 2 and x.ndim == 2 and x.shape[1] == 3 and x.shape[:1] == [2]
    assert x.shape.num_elements() == 6 and len(x.shape) == 2


def test_shape_knowledge():
    unknown, partly = gyre.TensorShape(None), gyre.TensorShape([None, 3])
    assert unknown.rank is None and not unknown.is_fully_defined() and unknown[0] is None
    assert (
        [d.value for d in partly.dims] == [None, 3]
        and str(partly) == "(None, 3)"
        and str(unknown) == "<unknown>"
    )
    assert partly.is_compatible_with([2, 3]) and not partly.is_compatible_with([2, 4])
    assert partly.merge_with([2, None]) == [2, 3]
    assert unknown.merge_with([1]) == [1]
    assert partly.concatenate([1]) == [None, 3, 1]
    assert partly.most_specific_compatible_shape([4, 3]) == [None, 3]
    assert partly.most_specific_compatible_shape([4]) == unknown
    with pytest.raises(ValueError, match="incompatible"):
        partly.merge_with([2, 4])
    with pytest.raises(ValueError):
        unknown.as_list()
    with pytest.raises(ValueError):
        gyre.TensorShape([-2])
    with pytest.raises(TypeError):
        gyre.TensorShape(["a"])


def test_spec():
    spec = gyre.TensorSpec([None, 2], gyre.int32, name="x")
    assert spec.is_compatible_with(gyre.zeros([5, 2], gyre.int32))
    assert not spec.is_compatible_with(gyre.zeros([5, 2]))
    assert spec == pickle.loads(pickle.dumps(spec)) and hash(spec) == hash(
        gyre.TensorSpec([None, 2], gyre.int32, "x")
    )
    assert gyre.TensorSpec.from_tensor(gyre.zeros([3])) == gyre.TensorSpec([3])
    wider = gyre.TensorSpec([3], gyre.float32).most_specific_compatible_type(gyre.TensorSpec([4]))
    assert wider.shape == [None]
    assert gyre.type_spec_from_value(gyre.Variable([1.0])) == gyre.TensorSpec([1])


def test_references_hash():
    x = gyre.constant([1, 2])
    assert x.ref() == x.ref() and x.ref().deref() is x and len({x.ref(), x.ref()}) == 1
    assert gyre.is_tensor(x) and gyre.is_tensor(gyre.Variable(1)) and not gyre.is_tensor(1)


def test_format():
    assert (
        f"{gyre.constant(1.25):.1f} {gyre.constant(7):>3d} {gyre.constant('a'):>2}" == "1.2   7  a"
    )
    x = gyre.constant([1, 2])
    assert f"{x}" == str(x) and f"{gyre.constant(2)}" == str(gyre.constant(2))
    assert gyre.function(lambda v: len(f"{v}") * v)(gyre.constant(0)).numpy() == 0


def test_tensors_are_no_keys_and_do_not_change():
    with pytest.raises(TypeError, match=r"tensor.ref\(\)"):
        {gyre.constant(1): 2}
    with pytest.raises(TypeError, match="tensor_scatter_nd_update"):
        gyre.constant([1, 2])[0] = 3

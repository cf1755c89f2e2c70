"""Tensors handed over by DLPack, both ways: what is shared, and what is refused."""

import gc

import ml_dtypes
import numpy as np
import pytest

from gyre import _gyre


@pytest.mark.parametrize(
    "dtype",
    ["float16", "float32", "float64", "int8", "int64", "uint8", "uint32", "bool", "complex64"],
)
def test_numpy_both_ways(dtype):
    x = (np.arange(12).reshape(3, 4) % 2).astype(dtype)
    there = np.from_dlpack(_gyre.tensor(x))
    np.testing.assert_array_equal(there, x)
    assert there.dtype == x.dtype
    np.testing.assert_array_equal(_gyre.from_dlpack(x).numpy(), x)


def test_shares_memory_both_ways():
    x = np.arange(1000, dtype=np.float32)
    t = _gyre.from_dlpack(x)
    assert np.shares_memory(t.numpy(), x)
    view = np.from_dlpack(_gyre.tensor(x))
    assert not view.flags.writeable
    x[0] = 7
    assert t.numpy()[0] == 7
    del x
    gc.collect()
    assert t.numpy()[999] == 999


def test_shared_memory_is_never_written_to():
    x = np.ones(1000, dtype=np.float32)
    handle = _gyre.create_variable(_gyre.from_dlpack(x))
    f32 = _gyre.as_dtype("float32")
    for value in (_gyre.from_dlpack(x), _gyre.from_dlpack(x)[0:500]):
        handle = _gyre.create_variable(value)
        del value
        gc.collect()
        _gyre.execute("AssignAddVariableOp", [handle, _gyre.read_variable(handle)], {"dtype": f32})
        assert (x == 1).all()


def test_layouts():
    x = np.arange(24.0).reshape(2, 3, 4)
    for view in (x.T, x[:, ::2], x[::-1], x[0], x[:, :, 1:2], np.zeros((0, 3))):
        np.testing.assert_array_equal(_gyre.from_dlpack(view).numpy(), view)
    scalar = np.array(3.0)
    assert _gyre.from_dlpack(scalar).numpy() == 3


def test_old_and_new_capsules():
    t = _gyre.tensor([1.0, 2.0])
    assert '"dltensor"' in repr(t.__dlpack__())
    assert '"dltensor_versioned"' in repr(t.__dlpack__(max_version=(1, 0)))
    assert t.__dlpack_device__() == (1, 0)

    class Old:
        def __dlpack__(self, stream=None):
            return t.__dlpack__()

        def __dlpack_device__(self):
            return (1, 0)

    np.testing.assert_array_equal(_gyre.from_dlpack(Old()).numpy(), [1, 2])
    copied = t.__dlpack__(max_version=(1, 0), copy=True)
    del copied
    gc.collect()


def test_what_is_refused():
    t = _gyre.tensor([1.0])
    with pytest.raises(BufferError):
        _gyre.tensor("a").__dlpack__()
    with pytest.raises(BufferError):
        t.__dlpack__(dl_device=(2, 0))
    with pytest.raises(BufferError):
        t.__dlpack__(stream=1)
    with pytest.raises(BufferError):
        t.__dlpack__(copy=False)
    with pytest.raises(TypeError):
        _gyre.from_dlpack(3)

    class Gpu:
        def __dlpack_device__(self):
            return (2, 0)

        def __dlpack__(self, **kwargs):
            raise AssertionError("not asked")

    with pytest.raises(BufferError, match="device"):
        _gyre.from_dlpack(Gpu())

    class NoCapsule(Gpu):
        def __dlpack_device__(self):
            return (1, 0)

        def __dlpack__(self, **kwargs):
            return 5

    with pytest.raises(BufferError):
        _gyre.from_dlpack(NoCapsule())

    class Used(NoCapsule):
        capsule = t.__dlpack__()

        def __dlpack__(self, **kwargs):
            return self.capsule

    _gyre.from_dlpack(Used())
    with pytest.raises(BufferError):
        _gyre.from_dlpack(Used())


def test_bfloat16_through_an_exporter():
    t = _gyre.tensor(np.array([1, 2], ml_dtypes.bfloat16))
    assert _gyre.from_dlpack(t).dtype.name == "bfloat16"
    assert (_gyre.from_dlpack(t).numpy() == t.numpy()).all()

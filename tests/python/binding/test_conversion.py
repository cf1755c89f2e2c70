"""What Python and numpy have as tensors, and back."""

import array
import enum
import gc
import pickle
import sys
import weakref

import ml_dtypes
import numpy as np
import pytest

from gyre import _gyre

NUMBERS = [
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


def same(tensor, expected):
    got = tensor.numpy()
    assert got.dtype == np.asarray(expected).dtype and got.shape == np.shape(expected)
    np.testing.assert_array_equal(got, expected)


@pytest.mark.parametrize(
    "value,dtype",
    [
        (1, "int32"),
        (1.5, "float32"),
        (True, "bool"),
        (1j, "complex128"),
        (2**31, "int64"),
        (-(2**31), "int32"),
        (2**63, "uint64"),
        ("a", "string"),
        (b"a", "string"),
        ([1, 2.5], "float32"),
        ([1, 2**40], "int64"),
        ([], "float32"),
        ([[], []], "float32"),
        ([True, False], "bool"),
        (["a", b"b"], "string"),
        ([1, 2j], "complex128"),
        (np.float64(2), "float64"),
        ([np.float64(2)], "float64"),
        (np.int8(3), "int8"),
        (range(3), "int32"),
    ],
)
def test_default_dtypes(value, dtype):
    assert _gyre.tensor(value).dtype.name == dtype


@pytest.mark.parametrize("name", NUMBERS)
@pytest.mark.parametrize("shape", [(), (3,), (2, 3), (0, 2), (2, 1, 3)])
def test_numpy_there_and_back(name, shape):
    values = (np.arange(np.prod(shape, dtype=int)).reshape(shape) % 5).astype(name)
    tensor = _gyre.tensor(values)
    same(tensor, values)
    assert tensor._dims == shape
    same(_gyre.tensor(values.tolist(), dtype=name, dims=shape), values)


def test_layouts_of_numpy():
    x = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
    for view in (
        x.T,
        x[::-1, ::2],
        x[:, 1:2],
        np.asfortranarray(x),
        np.broadcast_to(x[0], (5, 3, 4)),
    ):
        same(_gyre.tensor(view), np.ascontiguousarray(view))
    same(_gyre.tensor(x.astype(">f4")), x)
    same(_gyre.tensor(x.astype(">i2")), x.astype("i2"))
    copied = _gyre.tensor(x)
    x[:] = 0
    assert copied.numpy().max() == 23


def test_bools_that_are_no_bools():
    same(_gyre.tensor(np.array([0, 2, 255], np.uint8).view(bool)), np.array([False, True, True]))


def test_bfloat16():
    x = np.array([1, 2.5, -3], ml_dtypes.bfloat16)
    tensor = _gyre.tensor(x)
    assert tensor.dtype.name == "bfloat16"
    same(tensor, x)
    assert _gyre.tensor(1.5, dtype="bfloat16").numpy() == 1.5
    assert np.asarray(tensor).dtype == x.dtype


def test_strings():
    assert _gyre.tensor("é").numpy() == "é".encode()
    got = _gyre.tensor([["a", b"\xff"], ["", "long " * 10]]).numpy()
    assert got.dtype == object and got.shape == (2, 2) and got[0, 1] == b"\xff"
    assert _gyre.tensor(np.array(["x", "yz"])).numpy().tolist() == [b"x", b"yz"]
    assert _gyre.tensor(np.array([b"x", "yz"], object)).numpy().tolist() == [b"x", b"yz"]


def test_other_buffers_and_arrays():
    same(_gyre.tensor(array.array("d", [1, 2])), np.array([1.0, 2.0]))
    same(_gyre.tensor(memoryview(np.eye(2, dtype=np.int16))), np.eye(2, dtype=np.int16))

    class HasArray:
        def __array__(self, dtype=None, copy=None):
            return np.array([1, 2], np.int16)

    same(_gyre.tensor(HasArray()), np.array([1, 2], np.int16))

    class Colour(enum.IntEnum):
        RED = 3

    assert _gyre.tensor(Colour.RED).numpy() == 3


def test_lists_of_tensors_and_arrays():
    one = _gyre.tensor([1.0, 2.0])
    same(_gyre.tensor([one, one]), np.array([[1, 2], [1, 2]], np.float32))
    same(_gyre.tensor([np.float64(1), 2.0]), np.array([1.0, 2.0]))
    same(_gyre.convert([one[0], 5.0]), np.array([1, 5], np.float32))
    with pytest.raises(ValueError, match=r"element \[1\]"):
        _gyre.tensor([np.zeros(2), np.zeros(3)])


@pytest.mark.parametrize(
    "value,dtype,error,text",
    [
        ([[1, 2], [3]], None, ValueError, r"element \[1\] has 1 items"),
        ([[1], 2], None, ValueError, r"element \[1\]"),
        ([1, [2]], None, ValueError, r"element \[1\]"),
        ([1, "a"], None, TypeError, r"element \[1\]"),
        ([[1, 2], [3, 1.5]], "int32", TypeError, r"element \[1\]\[1\]: 1.5 is no int32"),
        (300, "int8", ValueError, "300 does not fit int8"),
        (-1, "uint8", ValueError, "does not fit"),
        (2**64, None, ValueError, "fits no integer dtype"),
        (2**64, "uint64", ValueError, "does not fit"),
        (10**400, "float32", ValueError, "does not fit"),
        (float("nan"), "int32", TypeError, "is no int32"),
        (1j, "float32", TypeError, "is no float32"),
        ("a", "int32", TypeError, "is no int32"),
        (1, "string", TypeError, "is no string"),
        (1, "bool", TypeError, "is no bool"),
        (None, None, TypeError, "None"),
        (object(), None, TypeError, "object"),
        ({}, None, TypeError, "dict"),
        (1, "resource", TypeError, "resource"),
        (np.array(["2020-01-01"], "M8[D]"), None, TypeError, "ndarray"),
    ],
)
def test_what_is_refused(value, dtype, error, text):
    with pytest.raises(error, match=text):
        _gyre.tensor(value, dtype=dtype)


def test_nested_for_ever():
    endless = []
    endless.append(endless)
    with pytest.raises(ValueError, match="deep"):
        _gyre.tensor(endless)


def test_dims():
    assert _gyre.tensor(range(6), dims=(2, 3))._dims == (2, 3)
    for wrong in ((2, 2), (-1, 6), (None, 6), (1 << 62, 1 << 62)):
        with pytest.raises((ValueError, OverflowError)):
            _gyre.tensor(range(6), dims=wrong)


def test_numbers_that_fit():
    assert _gyre.tensor(2.0, dtype="int32").numpy() == 2
    assert _gyre.tensor(True, dtype="float32").numpy() == 1
    assert _gyre.tensor(1, dtype="complex64").numpy() == 1


def test_numpy_shares_and_keeps_alive():
    tensor = _gyre.tensor(np.arange(1000.0))
    view = tensor.numpy()
    assert not view.flags.writeable
    with pytest.raises(ValueError):
        view[0] = 1
    assert np.shares_memory(view, tensor.numpy())
    tensor_id = weakref.ref(tensor)
    del tensor
    gc.collect()
    assert tensor_id() is not None and view.sum() == 499500
    del view
    assert tensor_id() is None


def test_scalars_of_python():
    assert (
        float(_gyre.tensor(1.5)) == 1.5
        and int(_gyre.tensor(7)) == 7
        and complex(_gyre.tensor(1j)) == 1j
    )
    assert bool(_gyre.tensor([True])) and not bool(_gyre.tensor(0.0))
    assert [10, 20, 30][_gyre.tensor(1)] == 20
    assert isinstance(_gyre.tensor(1.5).numpy(), np.float32)
    for wrong in (float, int):
        with pytest.raises(TypeError):
            wrong(_gyre.tensor([1.0, 2.0]))
    with pytest.raises(ValueError, match="ambiguous"):
        bool(_gyre.tensor([1.0, 2.0]))
    with pytest.raises(TypeError):
        [1][_gyre.tensor(0.0)]
    with pytest.raises(TypeError):
        len(_gyre.tensor(1))
    with pytest.raises(TypeError):
        iter(_gyre.tensor(1))
    with pytest.raises(TypeError):
        hash(_gyre.tensor(1))


@pytest.mark.parametrize(
    "value", [1.5, [[1, 2], [3, 4]], ["a", b"\xff"], True, np.zeros((0, 3)), 1j, "x"]
)
def test_pickle(value):
    tensor = _gyre.tensor(value)
    again = pickle.loads(pickle.dumps(tensor))
    assert again.dtype is tensor.dtype and again._dims == tensor._dims
    np.testing.assert_array_equal(again.numpy(), tensor.numpy())


@pytest.mark.parametrize(
    "args",
    [
        ("float32", (2,), b"123"),
        ("string", (2,), [b"a"]),
        ("resource", (), b""),
        ("float32", (-5,), b""),
        ("float32", None, b""),
        ("float32", (1 << 60, 8), b""),
    ],
)
def test_forged_pickles(args):
    with pytest.raises((ValueError, TypeError)):
        _gyre._unpickle(*args)


def test_import_does_not_import_numpy():
    import subprocess

    code = (
        "import sys,types,os;p=types.ModuleType('gyre');p.__path__=[os.path.dirname(sys.argv[1])];"
        "sys.modules['gyre']=p;import gyre._gyre as g;g.tensor([1.,2.])+1;assert 'numpy' not in "
        "sys.modules"
    )
    subprocess.run([sys.executable, "-c", code, _gyre.__file__], check=True)


def test_gyre_tensor_protocol():
    class Box:
        def __gyre_tensor__(self):
            return _gyre.tensor(3.0)

    assert float(_gyre.convert(Box())) == 3 and float(_gyre.tensor(Box())) == 3
    assert float(_gyre.tensor(1.0) + Box()) == 4 and float(Box() - _gyre.tensor(1.0)) == 2
    same(_gyre.convert([Box(), 1.0]), np.array([3, 1], np.float32))

    class Liar:
        def __gyre_tensor__(self):
            return 3

    with pytest.raises(TypeError):
        _gyre.convert(Liar())


def test_no_leaks():
    x = _gyre.tensor(np.zeros(10, np.float32))
    y = [1.0, 2.0]
    for work in (
        lambda: x + x,
        lambda: x.numpy(),
        lambda: _gyre.tensor(y),
        lambda: x[2:5],
        lambda: x[0],
        lambda: _gyre.execute("ConcatV2", [[x, x], 0]),
        lambda: x == x,
        lambda: list(x),
        lambda: pickle.dumps(x),
        lambda: memoryview(x),
        lambda: np.from_dlpack(x),
    ):
        work()
        before = sys.getrefcount(x), sys.getrefcount(y), sys.getrefcount(x.dtype)
        for _ in range(50):
            work()
        assert (sys.getrefcount(x), sys.getrefcount(y), sys.getrefcount(x.dtype)) == before

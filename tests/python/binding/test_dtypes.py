"""Element types: one object per type, whatever names it."""

import copy
import pickle

import numpy as np
import pytest

from gyre import _gyre


def test_every_name_gives_one_object():
    for name, dtype in _gyre.all_dtypes().items():
        assert _gyre.as_dtype(name) is dtype
        assert dtype.name == name
        assert _gyre.as_dtype(dtype.as_datatype_enum) is dtype
        assert pickle.loads(pickle.dumps(dtype)) is dtype
        assert copy.deepcopy(dtype) is dtype


def test_what_means_a_dtype():
    float32 = _gyre.as_dtype("float32")
    assert all(
        _gyre.as_dtype(x) is float32 for x in (float, "float", np.float32, np.dtype("f4"), 1)
    )
    assert _gyre.as_dtype(int).name == "int32"
    assert _gyre.as_dtype(np.int64).name == "int64"
    assert _gyre.as_dtype(bool) == _gyre.as_dtype(np.bool_) == "bool"
    assert _gyre.as_dtype(str) is _gyre.as_dtype(bytes) is _gyre.as_dtype(np.dtype("S3"))
    assert _gyre.as_dtype(complex).name == "complex128"
    for wrong in (None, "nonsense", 99, 1 << 70, object(), [], {}, list):
        with pytest.raises(TypeError):
            _gyre.as_dtype(wrong)


def test_properties():
    types = _gyre.all_dtypes()
    assert types["float32"].is_floating and not types["int8"].is_floating
    assert types["uint8"].is_unsigned and types["uint8"].is_integer and types["uint8"].max == 255
    assert types["int8"].min == -128
    assert types["complex64"].real_dtype is types["float32"]
    assert types["float32_ref"].is_ref and types["float32_ref"].base_dtype is types["float32"]
    assert types["float64"].max == np.finfo(np.float64).max
    assert types["bool"].is_bool and types["int64"].size == 8
    with pytest.raises(TypeError):
        _ = types["string"].max


def test_compares_and_hashes():
    types = _gyre.all_dtypes()
    assert types["float32"] == "float32" and types["float32"] == np.float32
    assert (
        types["float32"] != types["float64"]
        and types["float32"] != "x"
        and types["float32"] != None  # noqa: E711 (its own operator is asked)
    )
    assert len({types["float32"], types["float32"], types["int32"]}) == 2


@pytest.mark.parametrize("name", [n for n in _gyre.all_dtypes() if not n.endswith("_ref")])
def test_numpy_type(name):
    assert np.dtype(_gyre.as_dtype(name).as_numpy_dtype) is not None

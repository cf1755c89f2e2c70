"""Exceptions of the core, by code."""

import errno
import pickle

import pytest

import gyre


def test_hierarchy():
    errors = gyre.errors
    for name in dir(errors):
        cls = getattr(errors, name)
        if isinstance(cls, type) and issubclass(cls, errors.OpError) and cls is not errors.OpError:
            assert cls.__doc__ and isinstance(cls.code, int)
    assert issubclass(errors.InvalidArgumentError, ValueError)
    assert errors.InvalidArgumentError.code == errors.INVALID_ARGUMENT == 3
    assert errors.UNAUTHENTICATED == 16


def test_of_the_core():
    with pytest.raises(gyre.errors.InvalidArgumentError) as caught:
        gyre.matmul([[1.0]], [[1.0, 2.0], [3.0, 4.0]])
    assert caught.value.message and caught.value.error_code == 3


def test_place_in_the_message():
    @gyre.function
    def f(x):
        return x // 0

    with pytest.raises(gyre.errors.OpError) as caught:
        f(gyre.constant(1))
    assert caught.value.node_op == "FloorDiv" and caught.value.node in caught.value.message


def test_users_may_raise_them():
    error = gyre.errors.OutOfRangeError(None, None, "done")
    assert str(error) == error.message == "done" and error.node is None
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is type(error) and again.message == "done"


def test_unknown_codes():
    from gyre._impl.errors import from_status

    assert type(from_status("NO_SUCH_CODE", "x")) is gyre.errors.UnknownError
    assert type(from_status("DATA_LOSS", "x")) is gyre.errors.DataLossError


def test_what_the_system_refuses_is_an_oserror_too(tmp_path):
    f = gyre.function(lambda x: x + 1.0, input_signature=[gyre.TensorSpec([], gyre.float32)])
    nowhere = tmp_path / "no" / "model.onnx"
    for fails in (lambda: gyre.onnx.save(f, nowhere), lambda: gyre.onnx.load(nowhere)):
        with pytest.raises(FileNotFoundError) as caught:
            fails()
        error = caught.value
        assert isinstance(error, gyre.errors.NotFoundError) and error.errno == errno.ENOENT
        assert str(error) == error.message and str(nowhere) in error.message
        again = pickle.loads(pickle.dumps(error))
        assert type(again) is type(error) and str(again) == str(error)

"""Names that programs of TensorFlow use now and then: types, errors, comparisons, switches."""

import numpy as np
import pytest

import gyre


def values(tensor):
    return np.asarray(tensor).tolist()


@pytest.mark.parametrize(
    "dtype,size,wire",
    [
        (gyre.int16, 2, 5),
        (gyre.uint64, 8, 23),
        (gyre.variant, 0, 21),
        (gyre.resource, 0, 20),
        (gyre.quint8, 1, 12),
        (gyre.complex128, 16, 18),
    ],
)
def test_dtypes(dtype, size, wire):
    assert dtype.as_datatype_enum == wire and gyre.as_dtype(wire) == dtype == gyre.as_dtype(
        dtype.name
    )
    assert size in (0, dtype.size)
    assert dtype.is_compatible_with(dtype.name) and not dtype.is_compatible_with(gyre.bool)
    assert dtype.is_quantized == (dtype.name == "quint8")
    assert dtype.is_numpy_compatible == (dtype.name not in ("variant", "resource"))


def test_limits_have_their_type():
    assert gyre.float16.limits == (np.float16(-65504), np.float16(65504))
    assert isinstance(gyre.float32.max, np.float32) and gyre.float32.max == np.finfo(np.float32).max
    assert gyre.int8.limits == (-128, 127) and gyre.bfloat16.max.dtype.name == "bfloat16"
    with pytest.raises(TypeError, match="no max"):
        _ = gyre.string.max


def test_comparisons_and_arithmetic():
    a, b = gyre.constant([1, 2, 3]), gyre.constant([3, 2, 1])
    assert values(gyre.less(a, b)) == [True, False, False]
    assert values(gyre.greater(a, b)) == [False, False, True]
    assert values(gyre.equal(a, b)) == [False, True, False]
    assert values(gyre.greater_equal(a, b)) == [False, True, True]
    assert values(gyre.subtract(a, b)) == [-2, 0, 2]
    assert values(gyre.pow(a, 2)) == [1, 4, 9]
    assert int(gyre.reduce_prod(a)) == 6
    assert [values(t) for t in gyre.identity_n([a, b])] == [[1, 2, 3], [3, 2, 1]]
    gyre.assert_equal(a, a)


@pytest.mark.parametrize(
    "error,code",
    [
        (gyre.errors.CancelledError, gyre.errors.CANCELLED),
        (gyre.errors.DeadlineExceededError, gyre.errors.DEADLINE_EXCEEDED),
        (gyre.errors.InternalError, gyre.errors.INTERNAL),
        (gyre.errors.ResourceExhaustedError, gyre.errors.RESOURCE_EXHAUSTED),
        (gyre.errors.UnimplementedError, gyre.errors.UNIMPLEMENTED),
    ],
)
def test_errors(error, code):
    raised = error(None, None, "what went wrong")
    assert isinstance(raised, gyre.errors.OpError) and raised.error_code == code
    assert raised.message == "what went wrong"
    assert gyre.errors.exception_type_from_error_code(code) is error
    assert gyre.errors.error_code_from_exception_type(error) == code


def test_shapes_and_arrays():
    assert gyre.TensorShape([2, None]).ndims == 2 and gyre.TensorShape(None).ndims is None
    array = gyre.TensorArray(gyre.float32, 2).write(0, 1.0)
    assert gyre.is_tensor(array.flow) and gyre.is_tensor(array.handle)
    with pytest.raises(NotImplementedError, match="GradientTape"):
        array.grad("gradients")


def test_switches_of_functions_and_loops():
    assert gyre.AggregationMethod.ADD_N is not None
    x = gyre.constant(2.0)

    @gyre.function(experimental_autograph_options=gyre.autograph.experimental.Feature.ALL)
    def slope(x):
        return gyre.gradients(
            x * x, x, aggregation_method=gyre.AggregationMethod.EXPERIMENTAL_TREE
        )[0]

    with gyre.experimental.function_executor_type("SINGLE_THREADED_EXECUTOR"):
        assert float(slope(x)) == 4.0


def test_virtual_devices_under_their_older_names():
    (cpu,) = gyre.config.experimental.list_physical_devices("CPU")
    two = [gyre.config.experimental.VirtualDeviceConfiguration()] * 2
    try:
        gyre.config.experimental.set_virtual_device_configuration(cpu, two)
        assert len(gyre.config.list_logical_devices()) == 2
        assert gyre.config.experimental.get_virtual_device_configuration(cpu) == two
    finally:
        gyre.config.experimental.set_virtual_device_configuration(cpu, two[:1])
    assert gyre.config.get_visible_devices() == [cpu]
    with pytest.raises(ValueError, match="cannot be hidden"):
        gyre.config.set_visible_devices([], "CPU")
    with pytest.raises(ValueError, match="no device"):
        gyre.config.get_logical_device_configuration("GPU")


def test_devices_of_no_type_are_refused():
    for name in ("/foo:0", "foo:1", "/job:worker/bar:2"):
        with pytest.raises(gyre.errors.InvalidArgumentError, match="there is no type"):
            gyre.device(name)

        @gyre.function
        def asks(x, name=name):
            with gyre.device(name):
                return x + 1.0

        with pytest.raises(gyre.errors.InvalidArgumentError, match="there is no type"):
            asks(gyre.constant(1.0))
    for name in ("/cpu:0", "/gpu:0", "/device:TPU:0", "/device:XLA_CPU:0", "/job:worker/task:1"):
        with gyre.device(name):
            assert (gyre.constant(1.0) + 1.0).numpy() == 2.0


def test_functions_as_plain_python():
    ran = []

    @gyre.function
    def noted(x):
        ran.append(x)
        return x + 1

    gyre.config.run_functions_eagerly(True)
    try:
        assert gyre.config.functions_run_eagerly()
        assert [int(noted(gyre.constant(i))) for i in range(3)] == [1, 2, 3] and len(ran) == 3
        assert not ran[0].is_symbolic
    finally:
        gyre.config.run_functions_eagerly(False)
    noted(gyre.constant(1))
    noted(gyre.constant(2))
    assert len(ran) == 4


def test_iterators_as_sessions_use_them():
    iterator = iter(gyre.data.Dataset.range(2))
    assert [int(iterator.get_next()) for _ in range(2)] == [0, 1]
    with pytest.raises(gyre.errors.OutOfRangeError):
        iterator.get_next()

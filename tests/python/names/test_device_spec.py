"""DeviceSpec, sizes of arrays that are known while a graph is built, and what raw loops refuse."""

import pytest

import gyre


def test_device_specs():
    spec = gyre.DeviceSpec.from_string("/job:ps/cpu:0")
    assert spec.to_string() == "/job:ps/device:CPU:0" and spec.device_index == 0
    assert spec.replace(task=3) == gyre.DeviceSpec("ps", task=3, device_type="CPU", device_index=0)
    merged = spec.make_merged_spec(gyre.DeviceSpec(job="worker"))
    assert merged.to_string() == "/job:worker/device:CPU:0"
    with pytest.raises(ValueError, match="Unknown attribute"):
        gyre.DeviceSpec.from_string("/nowhere:1")
    with pytest.raises(AttributeError):
        spec.job = "other"
    with gyre.Graph().as_default() as graph, graph.device(spec):
        assert gyre.constant(1).op.device == spec.to_string()


def test_arrays_of_a_fixed_size_are_stacked_to_a_known_shape():
    @gyre.function
    def f(x):
        array = gyre.TensorArray(gyre.float32, size=3).write(0, x)
        shapes.append(array.stack().shape.as_list())
        grown = gyre.TensorArray(gyre.float32, size=1, dynamic_size=True).write(2, x)
        shapes.append(grown.stack().shape.as_list())
        return array.stack()

    shapes = []
    assert f(gyre.ones([2])).numpy().tolist() == [[1, 1], [0, 0], [0, 0]]
    assert shapes == [[3, 2], [None, 2]]


def test_what_raw_loops_refuse():
    add = gyre.function(lambda i, v: v + gyre.cast(i, gyre.float32))
    twice = gyre.function(lambda i, v: (v, v))

    def loop(start, limit, delta, body):
        return gyre.raw_ops.For(start=start, limit=limit, delta=delta, input=[0.0], body=body)[0]

    assert float(loop(0, 4, 1, add)) == 6.0
    for arguments in (([0], 4, 1, add), (0, 4, -1, add), (0, 4, 1, twice)):
        with pytest.raises(gyre.errors.InvalidArgumentError):
            loop(*arguments)

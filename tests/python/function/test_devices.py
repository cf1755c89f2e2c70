"""Functions on several logical devices of one process."""

import json

import numpy as np
import pytest

import gyre


def use(devices):
    (cpu,) = gyre.config.list_physical_devices("CPU")
    gyre.config.set_logical_device_configuration(
        cpu, [gyre.config.LogicalDeviceConfiguration()] * devices
    )


@pytest.fixture
def strict():
    gyre.config.set_soft_device_placement(False)
    yield
    gyre.config.set_soft_device_placement(True)


@pytest.fixture
def two_devices():
    use(2)
    yield
    use(1)


@gyre.function
def loop(x, w, n):
    for _ in gyre.range(n):
        with gyre.device("/device:CPU:1"):
            x = gyre.tanh(x * w)
        with gyre.device("/device:CPU:0"):
            x = x + 0.5
    return x


def test_nodes_run_where_the_program_says(two_devices, tmp_path):
    x, w, n = gyre.constant([1.0, -2.0]), gyre.constant([0.5, 0.25]), gyre.constant(7)
    got = gyre.timeline(loop, x, w, n, path=tmp_path / "t.json").numpy()
    want = np.float32([1.0, -2.0])
    for _ in range(7):
        want = np.tanh(want * np.float32([0.5, 0.25])) + np.float32(0.5)
    np.testing.assert_allclose(got, want, rtol=1e-6)
    events = json.loads((tmp_path / "t.json").read_text())["traceEvents"]
    fired = [event["args"] for event in events if event.get("args", {}).get("op") == "Tanh"]
    assert len(fired) == 7 and all(args["device"].endswith("CPU:1") for args in fired)


def test_gradients_cross_devices_as_values_do(two_devices):
    w, x = gyre.constant([0.5, 0.25]), gyre.constant([1.0, -2.0])

    @gyre.function
    def slope(n):
        with gyre.GradientTape() as tape:
            tape.watch(w)
            y = gyre.reduce_sum(loop(x, w, n))
        return tape.gradient(y, w)

    got = slope(gyre.constant(5)).numpy()
    use(1)
    np.testing.assert_array_equal(got, slope(gyre.constant(5)).numpy())


def test_a_variable_is_on_the_device_that_its_scope_names(two_devices, tmp_path):
    scope = gyre.device("/CPU:1")
    with scope:
        v = gyre.Variable([1.0, 2.0])
        with gyre.device("/device:CPU:0"):
            first = gyre.Variable(1.0)
    with scope:
        again = gyre.Variable(1.0)
    assert [v.device, first.device, again.device] == ["/cpu:1", "/cpu:0", "/cpu:1"]
    assert gyre.Variable(1.0).device == "/cpu:0"

    @gyre.function
    def f(x):
        v.assign_add(x)
        return v * x

    x = gyre.constant([3.0, 4.0])
    np.testing.assert_array_equal(gyre.timeline(f, x, path=tmp_path / "t.json"), [12.0, 24.0])
    np.testing.assert_array_equal(v, [4.0, 6.0])
    events = json.loads((tmp_path / "t.json").read_text())["traceEvents"]
    fired = [event["args"] for event in events if "Variable" in event.get("args", {}).get("op", "")]
    assert {args["op"] for args in fired} >= {"AssignAddVariableOp", "ReadVariableOp"}
    assert all(args["device"].endswith("CPU:1") for args in fired)


def test_a_variable_that_a_function_makes_is_on_the_device_that_its_scope_names(two_devices):
    made = []

    @gyre.function
    def f(x):
        if not made:
            with gyre.device("/CPU:1"):
                made.append(gyre.Variable(2.0))
        return made[0] * x

    assert float(f(gyre.constant(3.0))) == 6.0
    assert made[0].device == "/cpu:1"


def test_a_variable_for_a_device_that_is_not_there_is_on_the_first(two_devices):
    with gyre.device("/GPU:0"):
        assert gyre.Variable(1.0).device == "/cpu:0"


@gyre.function
def on_a_gpu(x):
    with gyre.device("/device:GPU:0"):
        return x * 2.0


def test_a_device_that_is_not_there_is_passed_over_while_placement_is_soft():
    with gyre.device("/device:GPU:0"):
        assert float(gyre.constant(1.0) + 1.0) == 2.0
    assert float(on_a_gpu(gyre.constant(3.0))) == 6.0


@pytest.mark.parametrize("devices", [1, 2])
def test_a_device_that_is_not_there_is_an_error_where_placement_is_not_soft(devices, strict):
    use(devices)
    try:
        with pytest.raises(
            gyre.errors.InvalidArgumentError, match="GPU:0.*only .*CPU:0.*placement"
        ):
            on_a_gpu(gyre.constant(3.0))
        with pytest.raises(
            gyre.errors.InvalidArgumentError, match="GPU:0.*only .*CPU:0.*placement"
        ):
            gyre.device("/device:GPU:0")
        with gyre.device(f"/device:CPU:{devices - 1}"):
            assert float(gyre.constant(1.0) + 1.0) == 2.0
        assert not gyre.config.get_soft_device_placement()
    finally:
        use(1)


def test_sessions_say_themselves_whether_their_placement_is_soft(strict):
    v1 = gyre.compat.v1
    with v1.Graph().as_default():
        with v1.device("/device:GPU:0"):
            y = v1.constant(2.0) * 3.0
        with (
            v1.Session() as session,
            pytest.raises(gyre.errors.InvalidArgumentError, match="GPU:0"),
        ):
            session.run(y)
        with v1.Session(config=v1.ConfigProto(allow_soft_placement=True)) as session:
            assert session.run(y) == 6.0


def test_a_device_that_is_not_there_is_named_with_the_line(strict):
    @gyre.function
    def f(x):
        with gyre.device("/device:CPU:7"):
            return x + 1.0

    with pytest.raises(
        gyre.errors.InvalidArgumentError,
        match=r"for the device /device:CPU:7(?s:.*)\n  at node .*, written at test_devices.py:",
    ):
        f(gyre.constant(1.0))

"""Functions on several logical devices of one process."""

import json

import numpy as np
import pytest

import gyre


def use(devices):
    (cpu,) = gyre.config.list_physical_devices("CPU")
    gyre.config.set_logical_device_configuration(cpu, [gyre.config.LogicalDeviceConfiguration()] * devices)


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

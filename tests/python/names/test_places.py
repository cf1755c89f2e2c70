"""Devices and name scopes."""

import pytest

import gyre


def test_virtual_devices():
    (cpu,) = gyre.config.list_physical_devices("CPU")
    assert gyre.config.list_physical_devices("GPU") == []
    try:
        two = [gyre.config.LogicalDeviceConfiguration()] * 2
        gyre.config.set_logical_device_configuration(cpu, two)
        names = [device.name for device in gyre.config.list_logical_devices("CPU")]
        assert names == ["/device:CPU:0", "/device:CPU:1"]
    finally:
        gyre.config.set_logical_device_configuration(
            cpu, [gyre.config.LogicalDeviceConfiguration()]
        )
    with pytest.raises(ValueError):
        gyre.config.set_logical_device_configuration(cpu, [])


def test_scopes_name_nodes():
    graph = gyre._gyre.Graph()
    with graph, gyre.name_scope("outer"), gyre.name_scope("inner"):
        x = gyre.constant(1.0) + 2.0
        y = gyre.add(x, x, name="sum")
    assert y.name.startswith("outer/inner/sum")
    with gyre.name_scope("eagerly"), gyre.device("/cpu:0"):
        assert float(gyre.constant(1.0) + 1) == 2

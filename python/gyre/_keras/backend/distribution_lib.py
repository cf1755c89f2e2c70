"""Devices, as `keras.distribution` sees them. Layouts over several devices are not supported."""

import gyre


def list_devices(device_type=None):
    devices = gyre.config.list_logical_devices(device_type and device_type.upper())
    if device_type is None:
        others = [one for one in devices if one.device_type != "CPU"]
        devices = others or devices
    return [f"{one.device_type.lower()}:{one.name.rpartition(':')[2]}" for one in devices]


def get_device_count(device_type=None):
    return len(list_devices(device_type))


def distribute_value(value, tensor_layout):
    raise NotImplementedError("keras.distribution: the gyre backend has no layouts of tensors")


def distribute_variable(value, layout):
    return distribute_value(value, layout)


def distribute_tensor(tensor, layout):
    return distribute_value(tensor, layout)

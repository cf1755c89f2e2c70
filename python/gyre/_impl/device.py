"""Places and names of nodes, and what devices there are. There is one device now: the CPU."""

import contextlib
from typing import NamedTuple

from gyre import _gyre


class PhysicalDevice(NamedTuple):
    """A device of this machine."""

    name: str
    device_type: str


class LogicalDevice(NamedTuple):
    """A device as programs name it."""

    name: str
    device_type: str


class LogicalDeviceConfiguration(NamedTuple):
    """One virtual device of a physical one. (Limits of memory are budgets of runs.)"""

    memory_limit: int | None = None
    experimental_priority: int | None = None


_CPU = PhysicalDevice("/physical_device:CPU:0", "CPU")
_logical: list[LogicalDeviceConfiguration] = [LogicalDeviceConfiguration()]


def device(device_name):
    """A context: nodes of a graph made within it ask for this device. Eagerly without effect."""
    graph = _gyre.current_graph()
    return contextlib.nullcontext() if graph is None or device_name is None \
        else graph.device_scope(device_name)


def name_scope(name):
    """A context: names of nodes made within it begin with this one. Eagerly without effect."""
    graph = _gyre.current_graph()
    if graph is None or not name:
        return contextlib.nullcontext(name or "")
    return graph.names_scope(name)


def list_physical_devices(device_type: str | None = None) -> list[PhysicalDevice]:
    """The devices of this machine, of one type if given."""
    return [_CPU] if device_type in (None, "CPU") else []


def list_logical_devices(device_type: str | None = None) -> list[LogicalDevice]:
    """The devices that programs can name, of one type if given."""
    if device_type not in (None, "CPU"):
        return []
    return [LogicalDevice(f"/device:CPU:{i}", "CPU") for i in range(len(_logical))]


def set_logical_device_configuration(device: PhysicalDevice, logical_devices) -> None:
    """Parts a physical device into several that programs can name."""
    if device != _CPU:
        raise ValueError(f"There is no device {device}.")
    if not logical_devices:
        raise ValueError("At least one logical device is needed.")
    _logical[:] = logical_devices


def get_logical_device_configuration(device: PhysicalDevice) -> list[LogicalDeviceConfiguration]:
    """How a physical device is parted."""
    if device != _CPU:
        raise ValueError(f"There is no device {device}.")
    return list(_logical)


class threading:
    """gyre.config.threading: how many threads a run may use."""

    _threads = 0

    @classmethod
    def set_inter_op_parallelism_threads(cls, num_threads: int) -> None:
        """At most so many threads run ops; 0: as many as there are cores."""
        cls._threads = num_threads
        _gyre.set_options(threads=num_threads)

    @classmethod
    def get_inter_op_parallelism_threads(cls) -> int:
        """What was set; 0 if nothing was."""
        return cls._threads

    # One pool serves both.
    set_intra_op_parallelism_threads = set_inter_op_parallelism_threads
    get_intra_op_parallelism_threads = get_inter_op_parallelism_threads

"""gyre.config: devices, threads and switches of the process."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
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
    experimental_device_ordinal: int | None = None


_CPU = PhysicalDevice("/physical_device:CPU:0", "CPU")
_logical: list[LogicalDeviceConfiguration] = [LogicalDeviceConfiguration()]


def _known(device) -> None:
    if device != _CPU:
        raise ValueError(f"there is no device {device}: this machine has {_CPU.name}")


def list_physical_devices(device_type: str | None = None) -> list[PhysicalDevice]:
    """The devices of this machine, of one type if given."""
    return [_CPU] if device_type in (None, "CPU") else []


def list_logical_devices(device_type: str | None = None) -> list[LogicalDevice]:
    """The devices that programs can name, of one type if given."""
    if device_type not in (None, "CPU"):
        return []
    return [LogicalDevice(f"/device:CPU:{i}", "CPU") for i in range(len(_logical))]


def set_logical_device_configuration(device: PhysicalDevice, logical_devices) -> None:
    """Parts a physical device into several that programs can name: from now on nodes of functions
    and graphs run where gyre.device says, others on the first. They share the machine's threads."""
    _known(device)
    if not logical_devices:
        raise ValueError("at least one logical device is needed")
    _use_devices(len(logical_devices), Switches.soft_placement)
    _logical[:] = logical_devices


def _use_devices(count: int, soft_placement: bool) -> None:
    # One device needs no name, unless somebody wants to hear of names that mean another.
    _gyre.set_devices("" if count == 1 and soft_placement else f"cpu:{count}", soft_placement)


def get_logical_device_configuration(device: PhysicalDevice) -> list[LogicalDeviceConfiguration]:
    """How a physical device is parted."""
    _known(device)
    return list(_logical)


def get_visible_devices(device_type: str | None = None) -> list[PhysicalDevice]:
    """The devices that programs may use: all."""
    return list_physical_devices(device_type)


def set_visible_devices(devices, device_type: str | None = None) -> None:
    """Hides the devices that are not named. ValueError for hiding the CPU, which programs need."""
    devices = [devices] if isinstance(devices, PhysicalDevice) else list(devices)
    for device in devices:
        _known(device)
    if device_type in (None, "CPU") and _CPU not in devices:
        raise ValueError("the CPU cannot be hidden")


def set_memory_growth(device: PhysicalDevice, enable: bool) -> None:
    """ValueError: the CPU's memory is taken as it is needed, always."""
    del enable
    _known(device)
    raise ValueError(
        "memory growth is a property of GPUs; the CPU's memory is taken as it is needed"
    )


class threading:
    """gyre.config.threading: how many threads a run may use."""

    _threads = 0

    @classmethod
    def set_inter_op_parallelism_threads(cls, num_threads: int) -> None:
        """At most so many threads run ops; 0: as many as there are cores."""
        if not isinstance(num_threads, int) or num_threads < 0:
            raise ValueError(f"num_threads must be a number from 0 on, not {num_threads!r}")
        cls._threads = num_threads
        _gyre.set_options(threads=num_threads)

    @classmethod
    def get_inter_op_parallelism_threads(cls) -> int:
        """What was set; 0 if nothing was."""
        return cls._threads

    # One pool serves both.
    set_intra_op_parallelism_threads = set_inter_op_parallelism_threads
    get_intra_op_parallelism_threads = get_inter_op_parallelism_threads


class Switches:
    """What programs switch, and ask."""

    functions_eager = False
    soft_placement = True


def set_graph_size_limit(operations: int) -> None:
    """How many operations Python may add to one graph, bodies and all; 1,000,000 at first. A loop
    of Python that has no end (over itertools.count(), over an iterator of a dataset) is an error
    then, not all of the memory."""
    _gyre.set_graph_size_limit(operations)


def get_graph_size_limit() -> int:
    """How many operations Python may add to one graph."""
    return _gyre.graph_size_limit()


def run_functions_eagerly(run_eagerly: bool) -> None:
    """Whether `gyre.function`s run as plain Python from now on, for debugging: with print, with a
    debugger, one op at a time."""
    Switches.functions_eager = bool(run_eagerly)


def functions_run_eagerly() -> bool:
    """Whether run_functions_eagerly(True) holds."""
    return Switches.functions_eager


def set_soft_device_placement(enabled: bool) -> None:
    """Whether ops that ask for a device that is not there run elsewhere, from now on. Otherwise
    they are an InvalidArgumentError: eagerly where gyre.device names it, of functions and graphs
    when they run."""
    _use_devices(len(_logical), bool(enabled))
    Switches.soft_placement = bool(enabled)


def get_soft_device_placement() -> bool:
    """What was set last; True at first."""
    return Switches.soft_placement


def enable_op_determinism() -> None:
    """Programs are deterministic anyway."""


@contextlib.contextmanager
def function_executor_type(executor_type) -> Iterator[None]:
    """A context without effect: there is one executor, which runs ops in parallel where that
    pays."""
    del executor_type
    yield

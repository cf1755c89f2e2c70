"""What runs in Ray's processes, and where: actors in a placement group, each of which can be
replaced."""

from __future__ import annotations

import importlib
import os
import secrets
import socket
from typing import Any

from gyre import _gyre
from gyre._impl.distribute import recovery

_SECONDS_TO_ANSWER = 10.0


def ray() -> Any:
    """The package, connected to a cluster. ImportError, which says what to install, without it."""
    try:
        found = importlib.import_module("ray")
        importlib.import_module("ray.util.scheduling_strategies")
    except ImportError as error:
        raise ImportError("gyre.ray needs Ray: pip install '.[ray]' in Gyre's checkout") from error
    if not found.is_initialized():
        found.init()
    return found


class RankActor:
    """A rank of gyre.ray.run."""

    def __init__(self):
        self._where = (0, "")  # where ranks join: the last place is the one of the highest number

    def place(self) -> str:
        """Where this rank can be called while others join."""
        host = _own_host()
        with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as probe:
            probe.bind((host, 0))
            port = probe.getsockname()[1]
        return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"

    def meet_at(self, where: tuple[int, str]) -> None:
        """Where ranks join from now on: rank 0 may have moved. Calls overtake each other."""
        self._where = max(self._where, where)

    def run(self, fn, args, where: tuple[int, str], options: dict):
        """See recovery.run."""
        self.meet_at(where)
        return recovery.run(fn, args, coordinator=lambda: self._where[1], **options)


class WorkerActor:
    """A worker of gyre.ray.start_workers."""

    def __init__(self, token: str, devices: int):
        host = _own_host()
        self._worker = _gyre.Worker(
            f"[{host}]:0" if ":" in host else f"{host}:0",
            token=token,
            token_is_given=True,
            devices=devices,
        )

    def place(self) -> tuple[str, int]:
        """Where it is called, and the process's id on its machine."""
        return self._worker.address, os.getpid()


def _own_host() -> str:
    return ray().util.get_node_ip_address()


class Actors:
    """A placement group with an actor in each of its bundles."""

    def __init__(self, kind: type, n: int, resources: dict | None, strategy: str, concurrency: int):
        if n < 1:
            raise ValueError(f"workers is a number of processes, not {n}")
        self._ray = ray()
        resources = dict(resources or {"CPU": 1})
        self._group = self._ray.util.placement_group([resources] * n, strategy=strategy)
        self._cpus = resources.pop("CPU", 0)
        self._gpus = resources.pop("GPU", 0)
        self._resources = resources
        self._kind = self._ray.remote(kind)
        self._concurrency = concurrency
        self.token = secrets.token_hex(16)
        self._actors: list[Any] = [None] * n

    def __getitem__(self, index: int) -> Any:
        return self._actors[index]

    def __len__(self) -> int:
        return len(self._actors)

    def start(self, index: int, *args) -> None:
        """A new one in a bundle, in place of what was there."""
        self._kill(index)
        where = self._ray.util.scheduling_strategies.PlacementGroupSchedulingStrategy(
            self._group, placement_group_bundle_index=index
        )
        self._actors[index] = self._kind.options(
            num_cpus=self._cpus,
            num_gpus=self._gpus,
            resources=self._resources or None,
            scheduling_strategy=where,
            max_concurrency=self._concurrency,
        ).remote(*args)

    def call(self, index: int, method: str, *args, timeout: float | None = None) -> Any:
        """What a method of one returns; None if it is dead, or does not answer in time."""
        try:
            return self._ray.get(getattr(self[index], method).remote(*args), timeout=timeout)
        except (self._ray.exceptions.RayActorError, self._ray.exceptions.GetTimeoutError):
            return None

    def is_alive(self, index: int, method: str) -> bool:
        """Whether it answers to a method."""
        return self.call(index, method, timeout=_SECONDS_TO_ANSWER) is not None

    def _kill(self, index: int) -> None:
        if self._actors[index] is not None:
            self._ray.kill(self._actors[index])
            self._actors[index] = None

    def close(self) -> None:
        """Ends them."""
        for index in range(len(self)):
            self._kill(index)
        self._ray.util.remove_placement_group(self._group)

"""Workers for programs of one driver, as actors of Ray's."""

from __future__ import annotations

from gyre._impl.cluster.connection import Cluster, connect, remember_token, target_of
from gyre._impl.errors import UnavailableError
from gyre._impl.ray.actors import Actors, WorkerActor


class Workers:
    """Processes that Ray has started, and that run the parts of a driver's programs; as a context,
    they end with it. Made by gyre.ray.start_workers."""

    def __init__(self, actors: Actors, devices: int):
        self._actors, self._devices = actors, devices
        self._addresses, self._pids = [""] * len(actors), [0] * len(actors)
        self._start(list(range(len(actors))))

    def _start(self, indices: list[int]) -> None:
        for index in indices:
            self._actors.start(index, self._actors.token, self._devices)
        for index in indices:
            place = self._actors.call(index, "place")
            if place is None:
                raise UnavailableError(None, None, f"Ray has lost worker {index} at its beginning")
            self._addresses[index], self._pids[index] = place
            remember_token(place[0], self._actors.token)

    @property
    def addresses(self) -> list[str]:
        """Where each is: "HOST:PORT"."""
        return list(self._addresses)

    @property
    def pids(self) -> list[int]:
        """The ids of their processes, each on its machine."""
        return list(self._pids)

    @property
    def token(self) -> str:
        """What clients must know; drawn for these workers."""
        return self._actors.token

    @property
    def target(self) -> str:
        """For sessions of this process: "gyre://HOST:PORT,HOST:PORT"."""
        return target_of(self._addresses)

    def connect(self, **options) -> Cluster:
        """gyre.cluster.connect to these workers."""
        return connect(self._addresses, self._actors.token, **options)

    def restart(self) -> list[int]:
        """Starts those again that are dead, and returns which they were. Variables of theirs are
        gone: connect anew, and restore a checkpoint."""
        dead = [i for i in range(len(self._actors)) if not self._actors.is_alive(i, "place")]
        self._start(dead)
        return dead

    def close(self) -> None:
        """Ends them. What runs on them fails."""
        self._actors.close()

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.close()


def start_workers(
    n: int, *, devices: int = 1, resources: dict | None = None, strategy: str = "PACK"
) -> Workers:
    """`n` workers, as actors of Ray's, for sessions of this process: gyre.cluster.start_workers, on
    the machines of a cluster.

        with gyre.ray.start_workers(2) as workers, tf.Session(workers.target) as session: ...

    devices: of each. resources: what each of them needs, by default {"CPU": 1}. strategy: how Ray
    places them. Without ray.init() before it, ray.init() is called. ImportError: Ray is not there.
    """
    return Workers(Actors(WorkerActor, n, resources, strategy, concurrency=1), devices)

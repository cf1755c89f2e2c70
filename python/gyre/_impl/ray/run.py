"""run: a program on several ranks, which Ray starts, and starts again."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from gyre._impl.ray.actors import Actors, RankActor, ray


def run(
    fn: Callable[..., Any],
    args=(),
    *,
    workers: int,
    resources: dict | None = None,
    strategy: str = "PACK",
    restarts: int = 100,
    join_timeout: float = 300.0,
    failure_timeout: float = 5.0,
) -> list:
    """What fn(*args) returns on each of `workers` ranks, which are actors of Ray's.

    fn sees itself as a rank (gyre.cluster.rank(), size()), with collectives and strategies. When
    Ray loses one of them, with its node or alone, another is started in its place, and all call fn
    again, which goes on from its last gyre.distribute.Checkpoint: see gyre.distribute.run, whose
    arguments restarts, join_timeout and failure_timeout are. resources: what each of them needs,
    by default {"CPU": 1}. strategy: how Ray places them ("PACK", "SPREAD", "STRICT_PACK",
    "STRICT_SPREAD"). Without ray.init() before it, ray.init() is called.

    An error that fn raises is raised here, as ray.exceptions.RayTaskError of its kind.
    ImportError: Ray is not there (pip install '.[ray]').
    """
    actors = Actors(RankActor, workers, resources, strategy, concurrency=2)
    try:
        return _Launch(actors, fn, args, restarts, join_timeout, failure_timeout).run()
    finally:
        actors.close()


class _Launch:
    """The driver's side of one run."""

    def __init__(self, actors: Actors, fn, args, restarts, join_timeout, failure_timeout):
        self._ray, self._actors, self._left = ray(), actors, restarts
        self._fn, self._args = self._ray.put(fn), args
        self._options = {
            "size": len(actors),
            "token": actors.token,
            "restarts": restarts,
            "join_timeout": join_timeout,
            "failure_timeout": failure_timeout,
        }
        self._where = (0, "")
        self._running: dict[Any, int] = {}  # ranks, by what they will return

    def run(self) -> list:
        """What each rank returns."""
        results = [None] * len(self._actors)
        for rank in range(len(self._actors)):
            self._actors.start(rank)
        self._begin(list(range(len(self._actors))))
        while self._running:
            (ended,), _ = self._ray.wait(list(self._running), num_returns=1)
            rank = self._running.pop(ended)
            try:
                results[rank] = self._ray.get(ended)
            except self._ray.exceptions.RayActorError as error:
                self._restart(rank, error)
        return results

    def _restart(self, rank: int, error: Exception) -> None:
        if self._left == 0:
            raise error
        self._left -= 1
        why = str(error).partition("\n")[0]
        print(f"gyre.ray: rank {rank} is started again: {why}", file=sys.stderr, flush=True)
        self._actors.start(rank)
        self._begin([rank])

    def _begin(self, ranks: list[int]) -> None:
        while 0 in ranks:
            place = self._actors.call(0, "place")
            if place is not None:
                self._where = (self._where[0] + 1, place)
                for rank in self._running.values():
                    self._actors[rank].meet_at.remote(self._where)
                break
            self._actors.start(0)
        for rank in ranks:
            options = {**self._options, "rank": rank}
            ended = self._actors[rank].run.remote(self._fn, self._args, self._where, options)
            self._running[ended] = rank

"""Replicas of one process: threads that take turns, from one merge_call to the next."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable
from typing import Any

from gyre import _gyre
from gyre._impl.distribute import context
from gyre._impl.tracing.user_code import user_code


class _AbandonedError(BaseException):
    """Another replica has failed."""


class InTurn:
    """One call of Strategy.run. One replica runs at a time, in their order, up to where it merges
    or ends; what they merge runs once all have come there, on the thread that has called run."""

    def __init__(self, strategy, n: int, group: Callable[[list], Any]):
        self._strategy, self._n, self._group = strategy, n, group
        self._turns = [threading.Semaphore(0) for _ in range(n)]
        self._yielded = threading.Semaphore(0)
        self._asked: list[Any] = [None] * n  # to be merged: (function, args, kwargs)
        self._merged: Any = None
        self._ended = [False] * n
        self._results: list[Any] = [None] * n
        self._error: BaseException | None = None

    def run(self, replica: Callable[[int], Any]) -> list:
        """The results of replica(0), replica(1), …"""
        graph = _gyre.current_graph()
        if graph is not None and _gyre.in_body():
            raise NotImplementedError(
                "several replicas of one process cannot run in the body of a loop or branch of a "
                "graph: call run outside, or take one device a process"
            )
        threads = [
            threading.Thread(target=self._work, args=(i, replica, graph)) for i in range(self._n)
        ]
        for thread in threads:
            thread.start()
        try:
            while not all(self._ended):
                self._round()
        finally:
            for i, thread in enumerate(threads):
                if not self._ended[i]:
                    self._error = self._error or _AbandonedError()
                    self._turns[i].release()
                thread.join()
        return self._results

    def merge(self, i: int, merge_fn: Callable[..., Any], args, kwargs):
        """What the merged call returns, to replica i, whose thread this is."""
        self._asked[i] = (merge_fn, args, kwargs)
        self._yielded.release()
        self._turns[i].acquire()
        if self._error is not None:
            raise _AbandonedError
        return self._strategy.of_replica(self._merged, i)

    def _round(self) -> None:
        for i in range(self._n):
            if self._ended[i]:
                continue
            self._turns[i].release()
            self._yielded.acquire()
            if self._error is not None:
                raise self._error
        if any(self._ended):
            if all(self._ended):
                return
            raise RuntimeError("some replicas call merge_call, and others have ended")
        merge_fn, args, kwargs = self._asked[0]
        calls = list(zip(*[(args, kwargs) for _, args, kwargs in self._asked], strict=True))
        args, kwargs = (self._group(list(each)) for each in calls)
        with context.within(self._strategy, None):
            self._merged = user_code(merge_fn)(self._strategy, *args, **kwargs)

    def _work(self, i: int, replica: Callable[[int], Any], graph) -> None:
        self._turns[i].acquire()
        try:
            if self._error is None:
                with graph or contextlib.nullcontext():
                    self._results[i] = replica(i)
        except _AbandonedError:
            pass
        except BaseException as error:
            self._error = self._error or error
        self._ended[i] = True
        self._yielded.release()

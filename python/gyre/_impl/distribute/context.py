"""In which replica, or between which, this thread's program runs."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from typing import Any


class _Contexts(threading.local):
    def __init__(self):
        self.replica: Any = None
        self.strategy: Any = None  # whose scope or run is open


_contexts = _Contexts()


def replica() -> Any:
    """The ReplicaContext of the replica that runs here; None outside of Strategy.run, and in what
    merge_call calls."""
    return _contexts.replica


def strategy() -> Any:
    """The Strategy whose scope, or run, this is in."""
    return _contexts.strategy


@contextlib.contextmanager
def within(of: Any, replica: Any) -> Iterator[None]:
    """Runs its block in this context."""
    before = _contexts.replica, _contexts.strategy
    _contexts.replica, _contexts.strategy = replica, of
    try:
        yield
    finally:
        _contexts.replica, _contexts.strategy = before

"""In which replica, or between which, this thread's program runs."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator

TYPE_CHECKING = False  # type checkers take it for true
if TYPE_CHECKING:
    from gyre._impl.distribute.strategy import ReplicaContext, Strategy


class _Contexts(threading.local):
    def __init__(self):
        self.replica: ReplicaContext | None = None
        self.strategy: Strategy | None = None  # whose scope or run is open


_contexts = _Contexts()


def replica() -> ReplicaContext | None:
    """The replica that runs here; None outside of Strategy.run, and in what merge_call calls."""
    return _contexts.replica


def strategy() -> Strategy | None:
    """The strategy whose scope, or run, this is in."""
    return _contexts.strategy


@contextlib.contextmanager
def within(of: Strategy | None, replica: ReplicaContext | None) -> Iterator[None]:
    """Runs its block in this context."""
    before = _contexts.replica, _contexts.strategy
    _contexts.replica, _contexts.strategy = replica, of
    try:
        yield
    finally:
        _contexts.replica, _contexts.strategy = before

"""What watches and limits the runs of functions in this context: see gyre.progress, gyre.limits."""

import contextlib

from gyre import _gyre
from gyre._impl.function.graph import FunctionGraph
from gyre._impl.tracing.watchers import current, watcher


class Watched:
    """What has a method `run` that asks for the watcher."""


class _Both:
    """Two watchers; of what both ask for, the inner one has it."""

    def __init__(self, outer, inner):
        self._outer, self._inner = outer, inner

    @property
    def options(self):
        return {**self._outer.options, **self._inner.options}

    def finished(self):
        self._outer.finished()
        self._inner.finished()


def begin(by):
    """Has `by` watch what runs from now on, beside who does already. Returns what `end` takes.
    RuntimeError while a function is traced, in which nothing runs."""
    if isinstance(_gyre.current_graph(), FunctionGraph):
        raise RuntimeError(
            "gyre.limits and gyre.progress are about runs, and here a function is traced: use them "
            "where it is called"
        )
    outer = current()
    return watcher.set(by if outer is None else _Both(outer, by))


def end(token) -> None:
    """Ends what `begin` began."""
    watcher.reset(token)


@contextlib.contextmanager
def watched_by(by):
    """Has `by` watch what runs within."""
    token = begin(by)
    try:
        yield
    finally:
        end(token)

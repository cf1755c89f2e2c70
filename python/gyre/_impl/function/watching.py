"""What watches the runs of functions in this context: see gyre.progress."""

import contextvars

# Has `options`, for Executable.run, and `finished()`; None: nobody watches.
watcher: contextvars.ContextVar = contextvars.ContextVar("gyre_watcher", default=None)
current = watcher.get


class Watched:
    """What has a method `run` that asks for the watcher."""


def run(executable, tensors, by):
    """The results of a run that is watched."""
    try:
        return executable.run(tensors, **by.options)[0]
    finally:
        by.finished()

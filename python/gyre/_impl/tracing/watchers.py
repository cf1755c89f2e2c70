"""Who watches and limits the runs of programs in this context: see gyre.progress, gyre.limits."""

import contextvars

# Has `options`, for Executable.run, and `finished()`; None: nobody watches.
watcher: contextvars.ContextVar = contextvars.ContextVar("gyre_watcher", default=None)
current = watcher.get


def call(executable, tensors):
    """The results of a run, watched if somebody watches."""
    by = current()
    return executable(tensors) if by is None else run(executable, tensors, by)


def run(executable, tensors, by):
    """The results of a run that is watched."""
    try:
        return executable.run(tensors, **by.options)[0]
    finally:
        by.finished()


def limits() -> dict:
    """What is said of time and memory: timeout_ms and budget_bytes, as far as they are limited."""
    by = current()
    options = {} if by is None else by.options
    return {name: options[name] for name in ("timeout_ms", "budget_bytes") if name in options}

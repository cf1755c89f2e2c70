"""gyre.timeline: what ran when, for Perfetto."""

from __future__ import annotations

import os

from gyre._impl.annotations import Any
from gyre._impl.function import watching
from gyre._impl.show import api


class _Recorder:
    """What watches the runs of a session: see gyre._impl.function.watching."""

    def __init__(self, path):
        self.options = {"timeline": path}

    def finished(self):
        """A run has ended, and written its file."""


def timeline(fn, *args, path, **kwargs) -> Any:
    """Runs a function once and writes its timeline to `path`, for ui.perfetto.dev or
    chrome://tracing: a process per device, a track per thread, and tracks of loops, in which
    iterations stand. Returns what the function returned. The file is written also where the run
    fails.

    fn: as for gyre.show, or `session.run` of gyre.compat.v1, also on workers. `python -m gyre trace
    PATH` sums such a file up."""
    if _is_run_of_session(fn):
        with watching.watched_by(_Recorder(os.fspath(path))):
            return fn(*args, **kwargs)
    concrete, tensors = api.program_of(fn, args, kwargs)
    if tensors is None:
        tensors = concrete.tensors_of(args, kwargs)
    results, _ = concrete.run_with_options(tensors, timeline=os.fspath(path))
    return results


def _is_run_of_session(fn):
    return isinstance(getattr(fn, "__self__", None), watching.Watched) and fn.__name__ == "run"

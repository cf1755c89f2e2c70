"""gyre.timeline: what ran when, for Perfetto."""

import os

from gyre._impl.show import api


def timeline(fn, *args, path, **kwargs):
    """Runs a function once and writes its timeline to `path`, for ui.perfetto.dev or
    chrome://tracing: a track per thread, and tracks of loops, in which iterations stand. Returns
    what the function returned. The file is written also where the run fails.

    fn: as for gyre.show. `python -m gyre trace PATH` sums such a file up."""
    concrete, tensors = api.program_of(fn, args, kwargs)
    if tensors is None:
        tensors = concrete.tensors_of(args, kwargs)
    results, _ = concrete.run_with_options(tensors, timeline=os.fspath(path))
    return results

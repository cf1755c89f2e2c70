"""gyre.limits: how long runs may take, and how much they may hold."""

from __future__ import annotations

import functools
import math
import numbers

from gyre._impl.function import watching

_MOST = 2**62  # what is more is no limit in practice, and does not fit an int64


def _at_least_one(limit: float, unit: int, name: str) -> int:
    """A limit in whole units, rounded up."""
    if not isinstance(limit, numbers.Real):
        raise TypeError(f"{name} must be a number, not {type(limit).__name__}")
    if not 0 < limit < math.inf:
        raise ValueError(f"{name} must be more than 0, not {limit!r}")
    return math.ceil(min(limit, _MOST / unit) * unit)


class limits:
    """No run of a function or session meanwhile takes longer or holds more than this.

        with gyre.limits(seconds=2.0, bytes=1 << 30):
            y = f(x)

        @gyre.limits(seconds=0.5)
        def answer(request): …

    seconds: from the call of a function that Python calls to its end, in which it is compiled and
    runs; tracing it is Python's own time, and so are eager ops. A run that is late ends with
    DeadlineExceededError, which says where it was.
    bytes: of tensors that such a run holds at once, beside its arguments, rounded up. More is a
    ResourceExhaustedError, which names the node. Eager ops hold what they hold.
    Within another `limits` what is said again counts. ValueError unless they are more than 0,
    TypeError unless they are numbers."""

    def __init__(self, seconds: float | None = None, bytes: int | None = None):
        if seconds is None and bytes is None:
            raise ValueError("limits needs seconds, bytes, or both")
        self.options = {}
        if seconds is not None:
            self.options["timeout_ms"] = _at_least_one(seconds, 1000, "seconds")
        if bytes is not None:
            self.options["budget_bytes"] = _at_least_one(bytes, 1, "bytes")
        self._tokens = []

    def __enter__(self):
        self._tokens.append(watching.begin(self))
        return self

    def __exit__(self, *error):
        watching.end(self._tokens.pop())

    def __call__(self, fn):
        @functools.wraps(fn)
        def run(*args, **kwargs):
            with watching.watched_by(self):
                return fn(*args, **kwargs)

        return run

    def finished(self) -> None:
        """A run has ended."""

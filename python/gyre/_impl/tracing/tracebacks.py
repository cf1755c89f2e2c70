"""Tracebacks that show the user's lines only: where a function was called, then the line in it."""

from __future__ import annotations

import functools
import os
import types

from gyre import _gyre
from gyre._impl.tracing.lines import block_codes, is_ours

_filtering = os.environ.get("GYRE_TRACEBACK", "") != "full"


def enable_traceback_filtering() -> None:
    """From now on, what gyre.function raises has no frames of Gyre in its traceback. It is so from
    the start, unless the environment has GYRE_TRACEBACK=full."""
    global _filtering
    _filtering = True


def disable_traceback_filtering() -> None:
    """From now on, tracebacks keep the frames of Gyre: for who looks for a bug in Gyre itself."""
    global _filtering
    _filtering = False


def is_traceback_filtering_enabled() -> bool:
    """Whether frames of Gyre are taken out of tracebacks."""
    return _filtering


def filter_traceback(error: BaseException) -> None:
    """Takes Gyre's frames out of the traceback of an error, and of the errors that led to it."""
    seen = set()
    led: BaseException | None = error
    while _filtering and led is not None and id(led) not in seen:
        seen.add(id(led))
        led.__traceback__ = _of_user(led.__traceback__)
        if _is_internal(led.__context__):
            led.__context__ = None
        led = led.__cause__ or led.__context__


def _is_internal(error):
    """Whether an exception is a signal between parts of Gyre, which says nothing to users."""
    module = type(error).__module__
    return module.startswith("gyre._impl.") and module != "gyre._impl.errors"


def _of_user(entry):
    """The traceback without Gyre's frames and the outer halves of converted blocks."""
    kept = []
    while entry is not None:
        code = entry.tb_frame.f_code
        if not is_ours(code.co_filename):
            if code in block_codes and kept and kept[-1].tb_frame.f_code.co_name == code.co_name:
                kept.pop()  # the statement whose block this is
            kept.append(entry)
        entry = entry.tb_next
    chain = None
    for entry in reversed(kept):
        chain = types.TracebackType(chain, entry.tb_frame, entry.tb_lasti, entry.tb_lineno)
    return chain


class quiet(_gyre.QuietCallable):
    """A decorator for methods whose frames are to stay out of tracebacks. Costs a µs per call."""

    def __init__(self, fn, instance=None):
        self._fn, self._instance = fn, instance
        functools.update_wrapper(self, fn)

    def __get__(self, instance, owner=None):
        return self if instance is None else quiet(self._fn, instance)

    def _call(self, args, kwargs):
        head = () if self._instance is None else (self._instance,)
        return self._fn(*head, *args, **(kwargs or {}))


def install() -> None:
    """QuietCallables hand their errors to the filter."""
    _gyre.set_traceback_filter(filter_traceback)

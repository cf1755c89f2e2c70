"""Exceptions of signal handlers, which code that they come upon must not take for its own."""

import functools
import threading
import types


def raised(error: BaseException) -> bool:
    """Whether a handler of a signal raised it: TimeoutError when a timer runs out, and so on. It is
    meant for who set the handler, and no answer of the code that it interrupted."""
    import signal  # not before there is a need: importing gyre is to be quick

    if threading.current_thread() is not threading.main_thread():
        return False
    codes = None
    entry = error.__traceback__
    while entry is not None:
        codes = codes or {_code(signal.getsignal(number)) for number in signal.valid_signals()} - {
            None
        }
        if entry.tb_frame.f_code in codes:
            return True
        entry = entry.tb_next
    return False


def _code(handler):
    """The code that a call of a handler runs, where it is Python's."""
    while isinstance(handler, functools.partial):
        handler = handler.func
    if not isinstance(handler, (types.FunctionType, types.MethodType)):
        handler = getattr(type(handler), "__call__", None)
    return getattr(handler, "__code__", None)

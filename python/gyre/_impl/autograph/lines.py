"""Where in the user's code we are, and tracebacks that end there."""

import os
import sys
import types

_ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))) + os.sep
_SKIPPED_PARTS = (os.sep + "malt" + os.sep, os.sep + "contextlib.py", os.sep + "functools.py",
                  os.sep + "threading.py")

_shown = {}  # file name of code -> how it is shown, or None where frames of it are not the user's


def _show(filename):
    ours = filename.startswith(_ROOT) or any(part in filename for part in _SKIPPED_PARTS)
    shown = _shown[filename] = None if ours or filename.startswith("<frozen") else os.path.basename(filename)
    return shown


def place():
    """ "file.py:12": the innermost line of the user's code on the stack of this thread."""
    frame = sys._getframe(1)
    while frame is not None:
        filename = frame.f_code.co_filename
        shown = _shown[filename] if filename in _shown else _show(filename)
        if shown is not None:
            return f"{shown}:{frame.f_lineno}"
        frame = frame.f_back
    return ""


def is_ours(filename):
    """Whether code of this file is Gyre's or the converter's, not the user's."""
    return (_shown[filename] if filename in _shown else _show(filename)) is None


def strip(error):
    """Takes Gyre's frames, and the outer halves of converted blocks, out of the error's traceback. If
    only Gyre's frames are there, it is left as it is. Returns the error."""
    from gyre._impl.autograph.source import block_codes
    kept = []
    entry = error.__traceback__
    while entry is not None:
        code = entry.tb_frame.f_code
        if not is_ours(code.co_filename):
            if code in block_codes and kept and kept[-1].tb_frame.f_code.co_name == code.co_name:
                kept.pop()  # the statement whose block this is
            kept.append(entry)
        entry = entry.tb_next
    if kept:
        chain = None
        for entry in reversed(kept):
            chain = types.TracebackType(chain, entry.tb_frame, entry.tb_lasti, entry.tb_lineno)
        error.__traceback__ = chain
    return error


def install():
    """Nodes get their lines from `place`."""
    from gyre import _gyre
    _gyre.set_line_provider(place)

"""Where in the user's code we are."""

import os
import sys
import sysconfig
import weakref

from gyre import _gyre

_ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))) + os.sep
_LIBRARY = os.path.realpath(sysconfig.get_path("stdlib")) + os.sep
_PACKAGES = tuple(os.sep + name + os.sep for name in ("site-packages", "dist-packages"))

# Code objects of blocks (bodies of ifs and loops) that conversion made functions of.
block_codes = weakref.WeakSet()

_shown = {}  # file name of code -> how it is shown, or None where frames of it are not the user's


def _show(filename):
    with _gyre.hold_handlers():
        ours = filename.startswith((_ROOT, "<frozen")) or _is_of_the_library(filename)
    shown = _shown[filename] = None if ours else os.path.basename(filename)
    return shown


def _is_of_the_library(filename):
    """Whether it is a file of Python's standard library, which calls what users wrote."""
    return os.path.realpath(filename).startswith(_LIBRARY) and not any(
        part in filename for part in _PACKAGES
    )


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


def definition(fn):
    """ "file.py:12": where a function was defined; "" of what has no source."""
    code = getattr(fn, "__code__", None)
    return f"{os.path.basename(code.co_filename)}:{code.co_firstlineno}" if code else ""


def stack_level():
    """What warnings.warn calls the stacklevel of that line, for the caller's own warnings."""
    frame, level = sys._getframe(1), 1
    while frame.f_back is not None and is_ours(frame.f_code.co_filename):
        frame, level = frame.f_back, level + 1
    return level


def is_ours(filename):
    """Whether code of this file is Gyre's or the converter's, not the user's."""
    return (_shown[filename] if filename in _shown else _show(filename)) is None


def install():
    """Nodes get their lines from `place`."""
    _gyre.set_line_provider(place)

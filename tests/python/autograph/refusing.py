"""What tests of refusals share."""

import inspect
import os
import traceback

import pytest

import gyre


def refused(fn, *args, error=TypeError):
    """The message of what tracing fn raises. The traceback shows the line that calls it and lines
    of the test's file, the last of these too; none of Gyre, and no other exception that came
    before."""
    __tracebackhide__ = True
    with pytest.raises(error) as caught:
        gyre.function(fn)(*(gyre.constant(arg) for arg in args))
    check_traceback(caught.value, fn)
    return str(caught.value)


def check_traceback(error, fn):
    """The first frame is this file's, then come only those of the user's file."""
    frames = traceback.extract_tb(error.__traceback__)
    assert frames[0].filename == __file__ and "gyre.function(fn)" in frames[0].line
    assert {frame.filename for frame in frames[1:]} == {inspect.getsourcefile(fn)}
    shown = "".join(traceback.format_exception(error))
    assert "/gyre/_impl/" not in shown and "During handling" not in shown


def line(fn, text):
    """ "file.py:12" of the line of fn that holds a text."""
    lines, first = inspect.getsourcelines(fn)
    number = next(i for i, part in enumerate(lines) if text in part)
    return f"{os.path.basename(inspect.getsourcefile(fn))}:{first + number}"

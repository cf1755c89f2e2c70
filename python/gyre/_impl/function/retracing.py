"""A word to those whose functions are traced again and again."""

import logging
import warnings
import weakref

from gyre._impl import nest
from gyre._impl.dtypes import with_article
from gyre._impl.tracing.lines import place, stack_level

_MANY = 5
# What programs that collect logs see of it; who does not is told by the warning.
_log = logging.getLogger("gyre")
_log.addHandler(logging.NullHandler())


# By code: how many functions of it were made, traced and forgotten one after the other, and the
# last one, weakly.
_made: weakref.WeakKeyDictionary = weakref.WeakKeyDictionary()


def note(function, leaves, traces):
    """Before a trace is made. Warns from the fifth on, saying what differs from the one before.
    Where functions of one code are made anew, each for one call, the log says so: a program may
    have its reasons."""
    made = [trace for group in traces.values() for trace in group]
    if not made:
        _note_first(function)
    elif len(made) >= _MANY - 1 and not len(made) % (_MANY - 1):
        text = _text(
            f"{function.name} is traced for the {len(made) + 1}th time, at {place()}: "
            f"{_difference(function, leaves, made[-1])}."
        )
        _log.warning(text)
        warnings.warn(text, stacklevel=stack_level())


def _note_first(function):
    code = getattr(function.python_function, "__code__", None)
    if code is None:
        return
    count, last = _made.get(code, (0, None))
    if last is None or last() is None:
        count += 1
    _made[code] = count, weakref.ref(function)
    if count == _MANY:
        _log.warning(
            _text(
                f"{function.name} is made for the {count}th time, and traced each time, at "
                f"{place()}: the ones before were forgotten, with their traces."
            )
        )


def _text(what):
    return (
        f"{what} Tracing is expensive, far more than a run. Hand over Python numbers that change "
        "as tensors (gyre.constant), keep structures and dtypes the same, and make functions once, "
        "not in loops"
    )


def _difference(function, leaves, last):
    pairs = nest.flatten_with_paths(leaves.structure, expand_composites=True)
    before = nest.flatten_with_paths(last.leaves.structure, expand_composites=True)
    if [path for path, _ in pairs] != [path for path, _ in before]:
        return "the structure of its arguments changed"
    for (path, new), (_, old) in zip(pairs, before, strict=True):
        name = function.parameters.name_of(path)
        if hasattr(new, "_dims") and hasattr(old, "_dims"):
            if new.dtype != old.dtype:
                return f"the dtype of {name} changed from {old.dtype.name} to {new.dtype.name}"
            if new._dims != old._dims:
                return f"the shape of {name} changed from {old._dims} to {new._dims}"
        elif new is not old and new != old:
            return f"{name} changed from {_short(old)} to {_short(new)}"
    return "an argument is another object than before"


def _short(value):
    if hasattr(value, "_dims"):
        return f"{with_article(value.dtype)} tensor"
    text = repr(value)
    return f"the Python {type(value).__name__} {text[:40]}"

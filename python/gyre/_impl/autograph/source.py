"""From a Python function to its converted form: control flow turned into calls of operators.

Converted code is compiled under the user's file name, lines and columns, so that tracebacks,
warnings and the lines that nodes carry are the user's own without any translation.
"""

import inspect
import types
import weakref

from gyre import _gyre
from gyre._impl.autograph.conversion import pipeline, tree
from gyre._impl.locks import reentrant_lock


class Unconvertible(Exception):
    """Why a function runs as it is. `args`: (what, file, line)."""

    def __str__(self):
        what, file, line = self.args
        return f"{what} ({file}:{line})"


class Unreadable(Unconvertible):
    """There is no file with its source."""


# By the identity of a function's code: codes of equal text at equal lines of two files are equal.
_factories = {}  # id -> (the code, weakly; the code of the factory, or why there is none)
_lock = reentrant_lock()


def convert(fn, operators):
    """The converted form of a Python function: same signature, closure, globals and defaults.
    operators: what it calls `ag__`. Raises Unconvertible."""
    code = fn.__code__
    found = _known(code)
    if found is None:
        with _lock:
            found = _known(code)
            if found is None:
                try:
                    # the library takes TimeoutError for a file that is not there
                    with _gyre.hold_handlers():
                        found = _make_factory(fn)
                except Unconvertible as error:
                    found = error
                key = id(code)
                _factories[key] = weakref.ref(code, lambda _: _factories.pop(key, None)), found
    if isinstance(found, Unconvertible):
        raise type(found)(*found.args)
    return _instantiate(found, fn, operators)


def _known(code):
    known, found = _factories.get(id(code), (None, None))
    return found if known is not None and known() is code else None


def _instantiate(factory_code, fn, operators):
    cells = dict(zip(fn.__code__.co_freevars, fn.__closure__ or (), strict=True))
    closure = tuple(cells.get(name) or types.CellType() for name in factory_code.co_freevars)
    factory = types.FunctionType(factory_code, fn.__globals__, fn.__name__, None, closure)
    converted = factory(operators)
    converted.__defaults__ = fn.__defaults__
    converted.__kwdefaults__ = fn.__kwdefaults__
    converted.__name__ = fn.__name__
    converted.__qualname__ = fn.__qualname__
    converted.autograph_info__ = {}
    return converted


def _make_factory(fn):
    code = fn.__code__
    place = (code.co_filename, code.co_firstlineno)
    if code.co_flags & (inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR):
        raise Unconvertible(
            f"{fn.__qualname__} is an async function, which cannot be traced", *place
        )
    try:
        return pipeline.factory(fn)
    except tree.NotConverted as error:
        what, line = error.args
        raise Unconvertible(what, code.co_filename, line) from None
    except OSError:
        raise Unreadable(f"the source of {fn.__qualname__} cannot be read", *place) from None
    except SyntaxError as error:
        raise Unconvertible(
            f"the source of {fn.__qualname__} cannot be parsed: {error.msg}", *place
        ) from None


def to_code(fn):
    """The converted source, to be read."""
    import ast

    return ast.unparse(pipeline.converted_tree(fn))

"""What containers and iterators of Python hold, told without changing them. So it shows when a
block that is traced changes one that is older, by whatever way: a method, a function of a library,
a called function."""

import array
import collections
import contextvars
import gc
import io
import itertools
import operator
import sys
import types

from gyre._impl.tracing.lines import block_codes

_LARGEST = 100_000  # items, and bytes, of what is looked at
_DEPTH = 4  # of iterators over iterators
_PARAMETERS = 0x04, 0x08  # flags of code: *args, **kwargs
_USER_CONTAINERS = (collections.UserList, collections.UserDict)
_BYTES = (bytearray, array.array)
_FILES = (io.StringIO, io.BytesIO)
_ITERATORS = ("builtins", "itertools", "collections")  # modules


class Contents:
    """What a value held when this was made. `kind`: what it is, for messages."""

    __slots__ = ("value", "kind", "_held")

    def __init__(self, value):
        self.value = value
        self.kind = "iterator" if _is_iterator(value) else type(value).__name__
        self._held = _held(value, 0)

    @property
    def is_iterator(self):
        return self.kind == "iterator"

    def have_changed(self):
        """Whether the value holds other objects now, or has given some away."""
        return not _same(self._held, _held(self.value, 0))


def has_contents(value):
    """Whether a value is of a kind that Contents can tell about."""
    return (
        isinstance(value, (list, dict, set, collections.deque, *_BYTES, *_FILES))
        or isinstance(value, (*_USER_CONTAINERS, contextvars.ContextVar))
        or _is_of("numpy", "ndarray", value)
        or _is_of("random", "Random", value)
        or _is_iterator(value)
    )


def is_array_of_numbers(value):
    """Whether a value is an array of numpy that cannot hold tensors."""
    return _is_of("numpy", "ndarray", value) and value.dtype.kind != "O"


def _is_of(module, name, value):
    """Whether a value is of a class of a module, which need not have been imported."""
    found = sys.modules.get(module)
    return found is not None and isinstance(value, getattr(found, name))


def _is_iterator(value):
    kind = type(value)
    return hasattr(kind, "__next__") and kind.__module__ in _ITERATORS


def _held(value, depth):
    """A tuple of objects, and of tuples of such; what is equal but not the same counts as the same
    for numbers and texts only."""
    if isinstance(value, list):
        return tuple(list.__iter__(value)) if len(value) <= _LARGEST else (list.__len__(value),)
    if isinstance(value, collections.deque):
        return tuple(collections.deque.__iter__(value))
    if isinstance(value, collections.OrderedDict):
        return tuple(collections.OrderedDict.items(value))
    if isinstance(value, dict):
        return tuple(dict.items(value)) if len(value) <= _LARGEST else (dict.__len__(value),)
    if isinstance(value, set):
        return tuple(set.__iter__(value))
    if isinstance(value, _BYTES):
        return (bytes(memoryview(value).cast("B")[:_LARGEST]), len(value))
    if isinstance(value, _FILES):
        return () if value.closed else (value.tell(), value.getvalue()[:_LARGEST])
    if isinstance(value, _USER_CONTAINERS):
        return _held(value.data, depth)
    if isinstance(value, contextvars.ContextVar):
        return (value.get(None),)
    if isinstance(value, types.GeneratorType):
        return (-1 if value.gi_frame is None else value.gi_frame.f_lasti,)
    if _is_iterator(value):
        return _position(value, depth)
    if _is_of("random", "Random", value):
        return value.getstate()
    return (value.tobytes(),) if value.nbytes <= _LARGEST else ()


def _position(iterator, depth):
    """Where an iterator stands: how much is left, where it can say so, and where those that it
    takes its items from stand."""
    if type(iterator) is itertools.count:
        return (repr(iterator),)
    inner = gc.get_referents(iterator)
    inner = [*inner, *(part for parts in inner if type(parts) is tuple for part in parts)]
    inner = [part for part in inner if _is_iterator(part)]
    hint = type(iterator).__length_hint__ if hasattr(type(iterator), "__length_hint__") else None
    left = -1 if hint is None else operator.length_hint(iterator, -1)
    return left, *(_held(part, depth + 1) for part in inner if depth < _DEPTH)


def _same(a, b):
    if a is b:
        return True
    if type(a) is not type(b):
        return False
    if type(a) is tuple:
        return len(a) == len(b) and all(map(_same, a, b))
    return type(a) in (int, str, bytes) and a == b


# ---- Whose they are


class OwnValues:
    """What variables of the functions that are being traced hold, but for what these were given and
    find around them: it is of this trace, where the rest may be the program's record of all traces.
    Default values of functions that are defined in them, too. Good for a look around, not longer:
    knows values by their identity."""

    def __init__(self):
        self._ids, self._codes = set(), []
        for code, variables in _traced_calls():
            given = code.co_argcount + code.co_kwonlyargcount
            given += sum(bool(code.co_flags & flag) for flag in _PARAMETERS)
            others = {id(variables.get(name)) for name in code.co_varnames[:given]}
            others.update(id(variables.get(name)) for name in code.co_freevars)
            self._ids |= set(map(id, variables.values())) - others
            self._codes.append(code)

    def __contains__(self, value):
        return id(value) in self._ids

    def defines(self, function):
        """Whether a function is defined in one that is being traced."""
        return any(function.__code__ in code.co_consts for code in self._codes)


def has_other_names(container, name):
    """Whether a variable of the function that is being traced, or an item of what one holds, is
    another name of a container that `name` holds."""
    for code, variables in _traced_calls():
        if code not in block_codes:
            return any(
                (value is container and other != name) or _has_item(value, container)
                for other, value in variables.items()
            )
    return False


def _has_item(value, container):
    items = value.values() if type(value) is dict else value
    return type(value) in (list, tuple, dict) and any(item is container for item in items)


def _traced_calls():
    """(code, variables) of the calls of converted functions on the stack."""
    frame = sys._getframe(1)
    while frame is not None:
        if "ag__" in frame.f_code.co_freevars:
            yield frame.f_code, frame.f_locals
        frame = frame.f_back

"""Code of users' classes that Python calls by itself: constructors, properties, truth, iteration,
`with`. Where converted code asks for it, it is converted, as called functions are."""

import functools
import types
from typing import Any

from gyre import _gyre
from gyre._impl.tracing.lines import is_ours
from gyre._impl.tracing.user_code import conversion

_Tensor = _gyre.Tensor
_HEAP_TYPE = 1 << 9  # Py_TPFLAGS_HEAPTYPE: of classes that a class statement made
PLAIN = frozenset(
    (_Tensor, int, float, bool, complex, str, bytes, list, tuple, dict, set, type(None))
)


def found_in(kind, name):
    """What a class or its bases define under a name; None if nothing."""
    if kind in PLAIN or not kind.__flags__ & _HEAP_TYPE:
        return None
    for cls in kind.__mro__:
        if name in cls.__dict__:
            return cls.__dict__[name]
    return None


def method(kind, name):
    """The user's function that a class has under a special name; None if there is none."""
    found = found_in(kind, name)
    return (
        found
        if type(found) is types.FunctionType and not is_ours(found.__code__.co_filename)
        else None
    )


def call(function, *args):
    """function(*args), converted."""
    return conversion().converted_call(function, args, None)


# ---- Attributes and constructors


def get_attr(obj, name):
    """`obj.name`"""
    found = found_in(type(obj), name)
    if type(found) is property and _is_users(found.fget):
        return _property(obj, name, found.fget)
    if type(found) is functools.cached_property and _is_users(found.func):
        if name not in obj.__dict__:
            obj.__dict__[name] = call(found.func, obj)
        return obj.__dict__[name]
    return getattr(obj, name)


def _property(obj, name, getter):
    kind = type(obj)
    if type(kind.__getattribute__) is types.FunctionType:
        return getattr(obj, name)
    try:
        return call(getter, obj)
    except AttributeError:
        if not hasattr(kind, "__getattr__"):
            raise
        return kind.__getattr__(obj, name)


def set_attr(obj, name, value):
    """`obj.name = value`"""
    found = found_in(type(obj), name)
    if type(found) is property and _is_users(found.fset):
        call(found.fset, obj, value)
    else:
        setattr(obj, name, value)


def _is_users(function):
    return type(function) is types.FunctionType and not is_ours(function.__code__.co_filename)


def construct(cls, args, kwargs):
    """`cls(*args, **kwargs)`"""
    plain = cls.__new__ is object.__new__ and type(cls).__call__ is type.__call__
    make = method(cls, "__init__") if plain else None
    if make is None:
        return cls(*args, **kwargs)
    made = object.__new__(cls)
    conversion().converted_call(make, (made, *args), kwargs)
    return made


def construct_generic(alias, args, kwargs):
    """`cls[parameter](*args, **kwargs)`"""
    made = construct(alias.__origin__, args, kwargs)
    try:
        made.__orig_class__ = alias
    except Exception:  # as typing does: what cannot have attributes goes without
        pass
    return made


def truth_asked(value):
    """What a user's `__bool__` or `__len__` says; the value itself if there is none."""
    kind = type(value)
    if kind in PLAIN or not kind.__flags__ & _HEAP_TYPE:
        return value
    users = method(kind, "__bool__")
    if users is None and not hasattr(kind, "__bool__"):
        users = method(kind, "__len__")
    return value if users is None else call(users, value)


# ---- Iteration


def iterable(value) -> Any:
    """`value`, or what runs over it as its user's `__iter__`, `__next__` or `__getitem__` says."""
    kind = type(value)
    if kind in PLAIN or not kind.__flags__ & _HEAP_TYPE:
        return value
    begin = method(kind, "__iter__")
    if begin is not None:
        made = call(begin, value)
        return _steps(made) if method(type(made), "__next__") else made
    if method(kind, "__getitem__") is not None and not hasattr(kind, "__iter__"):
        return _items(value)
    return value


def _steps(iterator):
    following = method(type(iterator), "__next__")
    while True:
        try:
            value = call(following, iterator)
        except StopIteration:
            return
        yield value


def _items(value):
    read, index = method(type(value), "__getitem__"), 0
    while True:
        try:
            item = call(read, value, index)
        except IndexError:
            return
        yield item
        index += 1


# ---- with


class _Managed:
    """A context manager whose methods are the user's."""

    def __init__(self, manager):
        self.manager = manager

    def __enter__(self):
        return _asfound_in(self.manager, "__enter__")

    def __exit__(self, *error):
        return _asfound_in(self.manager, "__exit__", *error)


def _asfound_in(obj, name, *args):
    users = method(type(obj), name)
    return getattr(type(obj), name)(obj, *args) if users is None else call(users, obj, *args)


def managed(manager):
    """What a `with` statement takes."""
    kind = type(manager)
    return _Managed(manager) if method(kind, "__enter__") or method(kind, "__exit__") else manager

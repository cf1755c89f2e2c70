"""Code of users' classes that Python calls by itself: constructors, properties, operators, truth, iteration,
`with`. Where converted code asks for it, it is converted, as called functions are."""

import functools
import operator
import types

from gyre import _gyre
from gyre._impl.autograph.lines import is_ours

_Tensor = _gyre.Tensor
_HEAP_TYPE = 1 << 9  # Py_TPFLAGS_HEAPTYPE: of classes that a class statement made
_PLAIN = frozenset((_Tensor, int, float, bool, complex, str, bytes, list, tuple, dict, set, type(None)))
_SEQUENCES = (list, tuple, str, bytes)


def _found(kind, name):
    """What a class or its bases define under a name; None if nothing."""
    if kind in _PLAIN or not kind.__flags__ & _HEAP_TYPE:
        return None
    for cls in kind.__mro__:
        if name in cls.__dict__:
            return cls.__dict__[name]
    return None


def method(kind, name):
    """The user's function that a class has under a special name; None if there is none."""
    found = _found(kind, name)
    return found if type(found) is types.FunctionType and not is_ours(found.__code__.co_filename) else None


def call(function, *args):
    """function(*args), converted."""
    from gyre._impl.autograph.calls import converted_call
    return converted_call(function, args, None)


# ---- Attributes and constructors

def get_attr(obj, name):
    """`obj.name`"""
    found = _found(type(obj), name)
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
    found = _found(type(obj), name)
    if type(found) is property and _is_users(found.fset):
        call(found.fset, obj, value)
    else:
        setattr(obj, name, value)


def _is_users(function):
    return type(function) is types.FunctionType and not is_ours(function.__code__.co_filename)


def construct(cls, args, kwargs):
    """`cls(*args, **kwargs)`"""
    from gyre._impl.autograph.calls import converted_call
    plain = cls.__new__ is object.__new__ and type(cls).__call__ is type.__call__
    make = method(cls, "__init__") if plain else None
    if make is None:
        return cls(*args, **kwargs)
    made = object.__new__(cls)
    converted_call(make, (made, *args), kwargs)
    return made


def construct_generic(alias, args, kwargs):
    """`cls[parameter](*args, **kwargs)`"""
    made = construct(alias.__origin__, args, kwargs)
    try:
        made.__orig_class__ = alias
    except Exception:  # as typing does: what cannot have attributes goes without
        pass
    return made


# ---- Operators

_ARITHMETIC = {
    "+": ("add", operator.add), "-": ("sub", operator.sub), "*": ("mul", operator.mul),
    "/": ("truediv", operator.truediv), "//": ("floordiv", operator.floordiv), "%": ("mod", operator.mod),
    "**": ("pow", operator.pow), "@": ("matmul", operator.matmul), "&": ("and", operator.and_),
    "|": ("or", operator.or_), "^": ("xor", operator.xor), "<<": ("lshift", operator.lshift),
    ">>": ("rshift", operator.rshift),
}
_COMPARISONS = {
    "<": ("__lt__", "__gt__", operator.lt), "<=": ("__le__", "__ge__", operator.le),
    ">": ("__gt__", "__lt__", operator.gt), ">=": ("__ge__", "__le__", operator.ge),
    "==": ("__eq__", "__eq__", operator.eq), "!=": ("__ne__", "__ne__", operator.ne),
}
_UNARY = {"-": ("__neg__", operator.neg), "+": ("__pos__", operator.pos), "~": ("__invert__", operator.invert)}
_IN_PLACE = {sign: (f"__i{name}__", getattr(operator, f"i{plain.__name__.strip('_')}"))
             for sign, (name, plain) in _ARITHMETIC.items()}


def _are_plain(a, b):
    return type(a) in _PLAIN and type(b) in _PLAIN


def binary(sign, a, b):
    """`a + b` and its like."""
    name, plain = _ARITHMETIC[sign]
    if _are_plain(a, b):
        return plain(a, b)
    left, right = method(type(a), f"__{name}__"), method(type(b), f"__r{name}__")
    if left is None and right is None:
        return plain(a, b)
    sides = [(a, f"__{name}__", left, b)]
    if type(a) is not type(b):
        first = _found(type(b), f"__r{name}__") is not _found(type(a), f"__r{name}__") and (
            issubclass(type(b), type(a)) or isinstance(a, _SEQUENCES))
        sides.insert(0 if first else 1, (b, f"__r{name}__", right, a))
    for side in sides:
        result = _asked(*side)
        if result is not NotImplemented:
            return result
    raise TypeError(f"unsupported operand type(s) for {sign}: {type(a).__name__!r} and {type(b).__name__!r}")


def _asked(obj, name, users, other):
    """What an operand says of the other one; NotImplemented if it does not know."""
    if users is not None:
        return call(users, obj, other)
    own = getattr(type(obj), name, None)
    return NotImplemented if own is None else own(obj, other)


def augmented(sign, old, value):
    """What `old += value` and its like give the place of old."""
    name, plain = _IN_PLACE[sign]
    if _are_plain(old, value):
        return plain(old, value)
    users = method(type(old), name)
    if users is not None:
        result = call(users, old, value)
        if result is not NotImplemented:
            return result
    elif hasattr(type(old), name):
        return plain(old, value)
    return binary(sign, old, value)


def unary(sign, a):
    """`-a`, `+a`, `~a`"""
    name, plain = _UNARY[sign]
    users = method(type(a), name)
    return plain(a) if users is None else call(users, a)


def compare(sign, a, b):
    """`a < b` and its like."""
    name, reflected, plain = _COMPARISONS[sign]
    if _are_plain(a, b):
        return plain(a, b)
    left, right = method(type(a), name), method(type(b), reflected)
    if sign == "!=" and left is None and right is None and (
            _negates_equality(type(a)) or _negates_equality(type(b))):
        from gyre._impl.autograph.conditionals import not_
        return not_(compare("==", a, b))
    if left is None and right is None:
        return plain(a, b)
    sides = [(a, name, left, b), (b, reflected, right, a)]
    if type(a) is not type(b) and issubclass(type(b), type(a)):
        sides.reverse()
    for side in sides:
        result = _asked(*side)
        if result is not NotImplemented:
            return result
    if sign in ("==", "!="):
        return (a is b) == (sign == "==")
    raise TypeError(f"{sign!r} not supported between instances of {type(a).__name__!r} and "
                    f"{type(b).__name__!r}")


def _negates_equality(kind):
    return method(kind, "__eq__") is not None and kind.__ne__ is object.__ne__


def truth_asked(value):
    """What a user's `__bool__` or `__len__` says; the value itself if there is none."""
    kind = type(value)
    if kind in _PLAIN or not kind.__flags__ & _HEAP_TYPE:
        return value
    users = method(kind, "__bool__")
    if users is None and not hasattr(kind, "__bool__"):
        users = method(kind, "__len__")
    return value if users is None else call(users, value)


# ---- Iteration

def iterable(value):
    """`value`, or what runs over it as its user's `__iter__`, `__next__` or `__getitem__` says."""
    kind = type(value)
    if kind in _PLAIN or not kind.__flags__ & _HEAP_TYPE:
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
        return _as_found(self.manager, "__enter__")

    def __exit__(self, *error):
        return _as_found(self.manager, "__exit__", *error)


def _as_found(obj, name, *args):
    users = method(type(obj), name)
    return getattr(type(obj), name)(obj, *args) if users is None else call(users, obj, *args)


def managed(manager):
    """What a `with` statement takes."""
    kind = type(manager)
    return _Managed(manager) if method(kind, "__enter__") or method(kind, "__exit__") else manager

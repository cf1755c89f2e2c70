"""Operators and comparisons, as Python asks users' classes for them: in its order of operands."""

import operator

from gyre._impl.autograph.objects import PLAIN, call, found_in, method
from gyre._impl.autograph.truth import not_
from gyre._impl.tracing import aliases

_SEQUENCES = (list, tuple, str, bytes)
_ARITHMETIC = {
    "+": ("add", operator.add),
    "-": ("sub", operator.sub),
    "*": ("mul", operator.mul),
    "/": ("truediv", operator.truediv),
    "//": ("floordiv", operator.floordiv),
    "%": ("mod", operator.mod),
    "**": ("pow", operator.pow),
    "@": ("matmul", operator.matmul),
    "&": ("and", operator.and_),
    "|": ("or", operator.or_),
    "^": ("xor", operator.xor),
    "<<": ("lshift", operator.lshift),
    ">>": ("rshift", operator.rshift),
}
_COMPARISONS = {
    "<": ("__lt__", "__gt__", operator.lt),
    "<=": ("__le__", "__ge__", operator.le),
    ">": ("__gt__", "__lt__", operator.gt),
    ">=": ("__ge__", "__le__", operator.ge),
    "==": ("__eq__", "__eq__", operator.eq),
    "!=": ("__ne__", "__ne__", operator.ne),
}
_UNARY = {
    "-": ("__neg__", operator.neg),
    "+": ("__pos__", operator.pos),
    "~": ("__invert__", operator.invert),
}
_IN_PLACE = {
    sign: (f"__i{name}__", getattr(operator, f"i{plain.__name__.strip('_')}"))
    for sign, (name, plain) in _ARITHMETIC.items()
}


def _are_plain(a, b):
    return type(a) in PLAIN and type(b) in PLAIN


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
        first = found_in(type(b), f"__r{name}__") is not found_in(type(a), f"__r{name}__") and (
            issubclass(type(b), type(a)) or isinstance(a, _SEQUENCES)
        )
        sides.insert(0 if first else 1, (b, f"__r{name}__", right, a))
    for side in sides:
        result = _asked(*side)
        if result is not NotImplemented:
            return result
    raise TypeError(
        f"unsupported operand type(s) for {sign}: {type(a).__name__!r} and {type(b).__name__!r}"
    )


def _asked(obj, name, users, other):
    """What an operand says of the other one; NotImplemented if it does not know."""
    if users is not None:
        return call(users, obj, other)
    own = getattr(type(obj), name, None)
    return NotImplemented if own is None else own(obj, other)


def augmented(sign, old, value):
    """What `old += value` and its like give the place of old."""
    name, plain = _IN_PLACE[sign]
    aliases.check_write(old, f"{sign}=")
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
    if (
        sign == "!="
        and left is None
        and right is None
        and (_negates_equality(type(a)) or _negates_equality(type(b)))
    ):
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
    raise TypeError(
        f"{sign!r} not supported between instances of {type(a).__name__!r} and {type(b).__name__!r}"
    )


def _negates_equality(kind):
    return method(kind, "__eq__") is not None and kind.__ne__ is object.__ne__

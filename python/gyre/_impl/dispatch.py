"""Functions of composites: what functions of tensors do where an argument is ragged or sparse.

A composite says in COMPOSITES which module holds its functions. A function that may take some is
made by the registry (ops/table.py), or stands under @takes_composites: where one of its arguments,
or an item of a list among them, is a composite, the function of that composite with the same name
is called in its place, with the function itself in front of the arguments. Where the composite has
none, the function goes on as with all else.
"""

from __future__ import annotations

import functools
import importlib

TYPE_CHECKING = False  # type checkers take it for true
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, TypeVar

    Function = TypeVar("Function", bound=Callable)

# By the class of a composite, first ones first: the module to load for its functions.
COMPOSITES: dict[type, str] = {}
# What may be a composite, or hold some.
_KINDS: set[type] = {list, tuple}
_FUNCTIONS: dict[tuple[type, str], Any] = {}


def composite(module: str):
    """Marks a class of composites, whose functions stand in `module`."""

    def mark(cls):
        COMPOSITES[cls] = module
        _KINDS.add(cls)
        return cls

    return mark


def for_function(cls: type, *names: str):
    """Marks what takes the place of functions where an argument is a `cls`: it is called with the
    function and its arguments."""

    def mark(function):
        for name in names:
            _FUNCTIONS[cls, name] = function
        return function

    return mark


def found_in(args) -> type | None:
    """The class of the first composite among the arguments, and the items of lists among them."""
    for value in args:
        cls = type(value)
        if cls in COMPOSITES:
            return cls
        if cls is list or cls is tuple:
            for item in value:
                if type(item) in COMPOSITES:
                    return type(item)
    return None


def call_for(name: str, function, args, kwargs):
    """What the composite's function of this name returns; NotImplemented: there is none."""
    cls = found_in((*args, *kwargs.values()))
    if cls is None:
        return NotImplemented
    importlib.import_module(COMPOSITES[cls])
    found = _FUNCTIONS.get((cls, name))
    return NotImplemented if found is None else found(function, *args, **kwargs)


def _holds(value) -> bool:
    """Whether a value is a composite, or a list with some among its items."""
    return type(value) in COMPOSITES or not COMPOSITES.keys().isdisjoint(map(type, value))


def guard(name: str, function: str, parameters: list[str], asked: str) -> str:
    """Source, for the top of a function: where `asked`, an expression, finds composites among the
    arguments, they are left to what there is for them."""
    rest = ", ".join(f"{one!r}: {one}" for one in parameters[1:])
    return (
        f"    if {asked}:\n"
        f"        result = call_for({name!r}, {function}, ({parameters[0]},), {{{rest}}})\n"
        f"        if result is not NotImplemented:\n"
        f"            return result\n"
    )


def takes_composites(function: Function) -> Function:
    """The function, of which composites may have their own: as its first argument, and where it is
    annotated as TensorLike."""
    # Of the same parameters: who has no composites does not pay for *args and **kwargs.
    name, code = function.__name__, function.__code__
    names = list(code.co_varnames[: code.co_argcount])
    tensors = names[:1] + [
        one for one in names[1:] if "TensorLike" in str(function.__annotations__.get(one))
    ]
    asked = " or ".join(f"class_of({one}) in KINDS and holds({one})" for one in tensors)
    takes = ", ".join(names)
    source = (
        f"def {name}({takes}):\n"
        f"{guard(name, 'function', names, f'COMPOSITES and ({asked})')}"
        f"    return function({takes})\n"
    )
    scope: dict[str, Any] = {
        "COMPOSITES": COMPOSITES,
        "KINDS": _KINDS,
        "call_for": call_for,
        "class_of": type,  # which parameters may be called
        "function": function,
        "holds": _holds,
        "__name__": __name__,
    }
    exec(compile(source, __file__, "exec"), scope)  # of names that the package has fixed
    scope[name].__defaults__ = function.__defaults__
    return functools.update_wrapper(scope[name], function)  # pyright: ignore[reportReturnType]

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
_FUNCTIONS: dict[tuple[type, str], Any] = {}


def composite(module: str):
    """Marks a class of composites, whose functions stand in `module`."""

    def mark(cls):
        COMPOSITES[cls] = module
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


def takes_composites(function: Function) -> Function:
    """The function, of which composites may have their own."""
    name = function.__name__

    @functools.wraps(function)
    def either(*args, **kwargs) -> Any:
        if COMPOSITES:
            result = call_for(name, function, args, kwargs)
            if result is not NotImplemented:
                return result
        return function(*args, **kwargs)

    return either  # pyright: ignore[reportReturnType]

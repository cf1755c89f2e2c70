"""Whether the graph of a session is being built, and functions that have another form there."""

from __future__ import annotations

import functools
from collections.abc import Callable

from gyre import _gyre
from gyre._impl import facade

TYPE_CHECKING = False  # type checkers take it for true
if TYPE_CHECKING:
    from typing import Any


def is_built() -> bool:
    """Whether operations are added to the graph of a session, rather than run or traced."""
    return getattr(_gyre.current_graph(), "building_function", True) is False


@functools.cache
def form(place: str) -> Any:
    """What stands at "module:name" of the package: it is loaded by who builds such a graph."""
    return facade.resolve("gyre._impl." + place)


def makes_operation(function):
    """A decorator: where the graph of a session is built, the function returns the operation that
    it adds, in place of nothing."""

    @functools.wraps(function)
    def choose(*args, **kwargs):
        if is_built():
            return form("compat.v1.asserts:operation")(function)(*args, **kwargs)
        return function(*args, **kwargs)

    return choose


def has_form(place: str) -> Callable[..., Any]:
    """A decorator: where the graph of a session is built, what stands at `place` is called in
    place of the function. It takes the same arguments."""

    def decorate(function):
        @functools.wraps(function)
        def choose(*args, **kwargs):
            return (form(place) if is_built() else function)(*args, **kwargs)

        return choose

    return decorate

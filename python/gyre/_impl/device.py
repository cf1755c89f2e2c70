"""Places and names of nodes and variables."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager

from gyre import _gyre
from gyre._impl import facade


class _Scopes(threading.local):
    def __init__(self):
        self.path = ""  # of the name scopes that are open: "outer/inner/"
        self.device = ""  # that the innermost scope asks for


_scopes = _Scopes()


@facade.has_form("graphs.graph:device")
def device(device_name: str | None) -> AbstractContextManager[object]:
    """A context: nodes of a graph made within it ask for this device, and so do the nodes that
    stand for a Variable made within it. What runs at once runs on the CPU, whatever it asks for.
    InvalidArgumentError for what is no name of a device, and eagerly for a device that is not
    there, if config.set_soft_device_placement says so."""
    graph = _gyre.current_graph()
    if device_name is None:
        return contextlib.nullcontext()
    if graph is None:
        _gyre.device_here(device_name)
        return _Asking(device_name, contextlib.nullcontext())
    _gyre.check_device(device_name)
    return _Asking(device_name, graph.device_scope(device_name))


class _Asking:
    """A scope that variables ask for the device of, too."""

    def __init__(self, name, scope):
        self._name, self._scope = name, scope
        self._before: list[str] = []

    def __enter__(self):
        self._scope.__enter__()
        self._before.append(_scopes.device)
        _scopes.device = self._name

    def __exit__(self, *error):
        _scopes.device = self._before.pop()
        self._scope.__exit__(*error)


def device_in_scope() -> str:
    """The device of a variable that is made here; "" where nobody asks for one."""
    return _scopes.device and _gyre.device_here(_scopes.device)


@facade.has_form("graphs.graph:name_scope")
@contextlib.contextmanager
def name_scope(name: str) -> Iterator[str]:
    """A context: names of nodes and variables made within it begin with this one. It gives the
    whole path, "outer/inner/"."""
    if not isinstance(name, (str, type(None))):
        raise TypeError(f"the name of a scope must be a str, not {type(name).__name__}")
    before = _scopes.path
    _scopes.path = before + name.rstrip("/") + "/" if name else ""
    graph = _gyre.current_graph()
    try:
        with graph.names_scope(name) if graph is not None and name else contextlib.nullcontext():
            yield _scopes.path
    finally:
        _scopes.path = before


@contextlib.contextmanager
def within_construct(name: str) -> Iterator[None]:
    """While a branch or a body is traced: its construct's name counts as a scope."""
    before = _scopes.path
    _scopes.path = f"{before}{name}/"
    try:
        yield
    finally:
        _scopes.path = before


def name_in_scope(name: str) -> str:
    """The name of a variable that is made here."""
    return _scopes.path + name


def get_name_scope() -> str:
    """What names begin with here, without a slash at its end."""
    graph = _gyre.current_graph()
    of_graph = getattr(graph, "get_name_scope", None)
    return _scopes.path.rstrip("/") if of_graph is None else of_graph()

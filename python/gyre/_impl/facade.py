"""Finds public names where they are defined, when they are first asked for; also where a function
has another form while the graph of a session is built."""

from __future__ import annotations

import functools
import importlib
import os
import sys
import types
from collections.abc import Callable

from gyre import _gyre

TYPE_CHECKING = False  # type checkers take it for true
if TYPE_CHECKING:
    from typing import Any

_NAMES: dict[str, str] = {}
# Namespaces that are modules of their own.
PACKAGES = ("keras", "nn", "optimizers", "raw_ops")
# The namespace of older names: what it does not have is looked for in gyre itself.
OLDER = "compat.v1"
# By namespace: what stands directly below it.
_CHILDREN: dict[str, set[str]] = {}


def names() -> dict[str, str]:
    """All public names (below `gyre`, with dots), and where each is defined."""
    if not _NAMES:
        package = importlib.import_module("gyre._impl.names")
        modules = {
            entry.split(".")[0]
            for path in package.__path__
            for entry in os.listdir(path)
            if entry.endswith(".py") and not entry.startswith("_")
        }
        for module in sorted(modules):
            _NAMES.update(importlib.import_module(f"gyre._impl.names.{module}").NAMES)
    return _NAMES


def resolve(place: str):
    """The object at "module:attribute.path"."""
    module, _, path = place.partition(":")
    value = importlib.import_module(module)
    for attribute in path.split(".") if path else ():
        value = getattr(value, attribute)
    return value


def _members(prefix: str) -> list[str]:
    """What stands directly below a namespace."""
    if not _CHILDREN:
        for name in names():
            around = ""
            for part in name.split("."):
                _CHILDREN.setdefault(around, set()).add(part)
                around = f"{around}.{part}" if around else part
    return sorted(_CHILDREN.get(prefix, ()))


def namespace(prefix: str, module: types.ModuleType) -> None:
    """Makes `module` answer for the names below `prefix`."""
    start = prefix + "." if prefix else ""

    def find(name: str):
        if name.startswith("__") and name != "__internal__":
            raise AttributeError(f"module {module.__name__!r} has no attribute {name!r}")
        full = start + name
        if full in names():
            value = resolve(names()[full])
        elif full in PACKAGES:
            value = importlib.import_module("gyre." + full)
        elif any(n.startswith(full + ".") for n in names()):
            value = _make(full)
        elif full.startswith(OLDER + "."):
            value = _newer(full.removeprefix(OLDER + "."), name, module)
        else:
            raise _absent(full, name, module.__name__)
        setattr(module, name, value)
        return value

    vars(module).update(
        __getattr__=find,
        __dir__=lambda: sorted({*vars(module), *_members(prefix)}),
        __all__=[name for name in _members(prefix) if not name.startswith("_")],
    )


def _newer(full: str, name: str, module: types.ModuleType):
    """What gyre has under a name that the older namespace lacks."""
    value = sys.modules["gyre"]
    try:
        for part in full.split("."):
            value = getattr(value, part)
    except AttributeError:
        raise _absent(f"{OLDER}.{full}", name, module.__name__) from None
    return value


# How alike names must be for one to be suggested for the other: of those that are, a letter or two
# differ.
_NEAR = 0.75


class _SaysItself:
    """What an error says that it was asked of, which has no attributes: Python then appends no
    suggestions of its own to what the error says."""

    def __dir__(self):
        return ()


def _absent(full: str, name: str, module: str) -> AttributeError:
    """The error of a name that is not there."""
    return AttributeError(_text_of_absent(full, name, module), name=name, obj=_SaysItself())


def _text_of_absent(full: str, name: str, module: str) -> str:
    text = f"module {module!r} has no attribute {name!r}"
    newer = full.removeprefix(OLDER + ".")
    if newer.split(".")[0] == "keras":
        return f"{text}: Keras is gyre.keras, as the version that is installed has it"
    elsewhere = sorted(n for n in names() if n.rpartition(".")[2] == name)
    near = [f"gyre.{n}" for n in elsewhere if not n.startswith(OLDER)]
    if importlib.import_module("gyre._impl.tensorflow_names").has(newer):
        text += f": TensorFlow's tf.{newer} is not in Gyre (docs/compatibility.md)"
    elif not near and f"{OLDER}.{full}" in names():
        return f"{text}: it is gyre.{OLDER}.{full}"
    elif not near:
        prefix = full.rpartition(".")[0]
        start = f"gyre.{prefix}." if prefix else "gyre."
        members = _members(prefix)
        close = importlib.import_module("difflib").get_close_matches(name, members, 1, _NEAR)
        near = [start + found for found in close]
    return f"{text}; did you mean {' or '.join(near[:2])}?" if near else text


def _make(prefix: str) -> types.ModuleType:
    """The module of a namespace that is not a folder; `import gyre.math` finds it, too."""
    name = "gyre." + prefix
    if name not in sys.modules:
        module = types.ModuleType(name, f"Names below {name}.")
        module.__path__ = []
        sys.modules[name] = module
        namespace(prefix, module)
    return sys.modules[name]


def install(module: types.ModuleType) -> None:
    """Makes the package answer for all public names, and the namespaces importable."""
    namespace("", module)
    parents = {n.rsplit(".", 1)[0] for n in names() if "." in n}
    for parent in sorted(parents):
        parts = parent.split(".")
        for length in range(1, len(parts) + 1):
            prefix = ".".join(parts[:length])
            if prefix not in PACKAGES and prefix not in names():
                _make(prefix)
    importlib.import_module("gyre._impl.setup")


def builds_session() -> bool:
    """Whether operations are added to the graph of a session, rather than run or traced."""
    graph = _gyre.current_graph()
    return graph is not None and getattr(graph, "building_function", True) is False


@functools.cache
def form(place: str) -> Any:
    """What stands at "module:name" of the package: it is loaded by who builds such a graph."""
    return resolve("gyre._impl." + place)


def makes_operation(function):
    """A decorator: where the graph of a session is built, the function returns the operation that
    it adds, in place of nothing."""

    @functools.wraps(function)
    def choose(*args, **kwargs):
        if builds_session():
            return form("compat.v1.asserts:operation")(function)(*args, **kwargs)
        return function(*args, **kwargs)

    return choose


def has_form(place: str) -> Callable[..., Any]:
    """A decorator: where the graph of a session is built, what stands at `place` is called in
    place of the function. It takes the same arguments."""

    def decorate(function):
        @functools.wraps(function)
        def choose(*args, **kwargs):
            return (form(place) if builds_session() else function)(*args, **kwargs)

        return choose

    return decorate

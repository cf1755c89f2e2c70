"""Module: an object that owns variables, found by walking its attributes."""

import collections
import functools
import re

from gyre import _gyre
from gyre._impl.device import name_scope
from gyre._impl.tracing import late_values
from gyre._impl.variable import Variable


def tracked_items(value):
    """[(name, what a walk finds below it)], in order; None of what is not walked. An object that is
    no Module says by `_tracked_items()` what it holds."""
    if isinstance(value, Module):
        return sorted((k, v) for k, v in vars(value).items() if k not in type(value)._untracked)
    if isinstance(value, dict):
        return sorted(((str(k), v) for k, v in value.items()), key=lambda item: item[0])
    if isinstance(value, (list, tuple)):
        return [(str(i), v) for i, v in enumerate(value)]
    if hasattr(type(value), "_tracked_items"):
        return list(value._tracked_items().items())
    return None


def _walk(root, kinds: tuple):
    """Yields (path, object) for all objects of `kinds` below `root`, each once. A path is None, or
    (the path above, name): objects may lie as deep as they like."""
    seen = {}  # by id; kept, for ids of what is gone are used again
    ahead: list = [(None, root)]
    while ahead:
        path, value = ahead.pop()
        if id(value) in seen:
            continue
        seen[id(value)] = value
        if isinstance(value, kinds):
            yield path, value
        items = None if isinstance(value, Variable) else tracked_items(value)
        ahead.extend(((path, name), item) for name, item in reversed(items or []))


def _text_of(path) -> str:
    names = []
    while path is not None:
        path, name = path
        names.append(name)
    return "/".join(reversed(names))


def is_tracked(value) -> bool:
    """Whether walks find variables in it, now or once it has some."""
    return isinstance(value, Variable) or tracked_items(value) is not None


def untracked_state(root) -> list[tuple[str, object]]:
    """(path, value) of what is below `root` as if it were kept with the variables, and is not:
    values that a user put into dicts and lists beside them, and objects that hold variables where
    no walk finds them. Attributes of Modules may be anything else: that is how layers are told
    their sizes."""
    found = []
    seen = {}  # by id; kept, for ids of what is gone are used again
    ahead: list = [(None, root, False)]
    while ahead:
        path, value, in_module = ahead.pop()
        if id(value) in seen or value is None or isinstance(value, _NO_STATE):
            continue
        items = tracked_items(value)
        if items is None:
            if _has_state(value) or not (in_module or callable(value)):
                found.append((_text_of(path), value))
            continue
        seen[id(value)] = value
        in_module = in_module or isinstance(value, Module)
        ahead.extend(((path, name), item, in_module) for name, item in reversed(items))
    return found


_NO_STATE = (Variable, _gyre.QuietCallable)


def _has_state(value) -> bool:
    """Whether a value that is not walked has state for certain:
    its class says so, or it holds variables."""
    if isinstance(value, (set, frozenset, collections.deque)):
        inside = list(value)
    else:
        inside = getattr(value, "__dict__", {}).values()
    return getattr(type(value), "_has_state", False) or any(
        isinstance(item, (Variable, Module)) for item in inside
    )


class Module:
    """An object whose variables, and those of the modules in its attributes, are found by walking
    them (lists, tuples and dicts too), in the order of attributes' names.

        class Line(gyre.Module):
            def __init__(self):
                super().__init__()
                self.w = gyre.Variable(1.0)
            def __call__(self, x):
                return self.w * x
    """

    _untracked: frozenset[str] = frozenset()

    def __init__(self, name: str | None = None):
        if name is not None and not re.fullmatch(r"[A-Za-z_]\w*", name):
            raise ValueError(f"A module's name must be an identifier, got {name!r}.")
        self._name = name or re.sub(r"(?<!^)(?=[A-Z])", "_", type(self).__name__).lower()

    def __setattr__(self, name: str, value) -> None:
        super().__setattr__(name, value)
        if late_values.waiting and is_tracked(value):
            late_values.look()

    @property
    def name(self) -> str:
        """The module's name: by default its class's, in lower case."""
        return self._name

    @property
    def name_scope(self):
        """A context in which names of nodes and variables begin with the module's."""
        return name_scope(self._name)

    @staticmethod
    def with_name_scope(method):
        """A decorator: the method runs in the module's name scope."""

        @functools.wraps(method)
        def wrapped(self, *args, **kwargs):
            with self.name_scope:
                return method(self, *args, **kwargs)

        return wrapped

    @property
    def variables(self) -> tuple[Variable, ...]:
        """All variables, each once."""
        return tuple(v for _, v in _walk(self, (Variable,)))

    @property
    def trainable_variables(self) -> tuple[Variable, ...]:
        """Those that are trainable."""
        return tuple(v for v in self.variables if v.trainable)

    @property
    def non_trainable_variables(self) -> tuple[Variable, ...]:
        """Those that are not."""
        return tuple(v for v in self.variables if not v.trainable)

    @property
    def submodules(self) -> tuple["Module", ...]:
        """All modules below this one, each once."""
        return tuple(m for _, m in _walk(self, (Module,)) if m is not self)


def named_variables(root) -> list[tuple[str, Variable]]:
    """(path, variable) of all variables below a module, dict or list; paths are attribute names and
    keys, joined by "/". A variable in several places is listed at the first."""
    return [(_text_of(path), variable) for path, variable in _walk(root, (Variable,))]

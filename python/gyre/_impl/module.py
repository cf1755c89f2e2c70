"""Module: an object that owns variables, found by walking its attributes."""

import functools
import re

from gyre._impl.device import name_scope
from gyre._impl.variable import Variable


def _walk(value, seen: set[int], path: tuple[str, ...], found: list, kinds: tuple):
    """Appends (path, object) for all objects of `kinds` below `value`, each once."""
    if id(value) in seen:
        return
    if isinstance(value, kinds):
        seen.add(id(value))
        found.append((path, value))
    if isinstance(value, Variable):
        return
    if isinstance(value, (Module, dict, list)):
        seen.add(id(value))
    if isinstance(value, Module):
        items = sorted((k, v) for k, v in vars(value).items() if k not in value._untracked)
    elif isinstance(value, dict):
        items = sorted(((str(k), v) for k, v in value.items()), key=lambda item: item[0])
    elif isinstance(value, (list, tuple)):
        items = [(str(i), v) for i, v in enumerate(value)]
    elif hasattr(value, "_variables_by_name"):
        items = list(value._variables_by_name().items())
    else:
        return
    for name, item in items:
        _walk(item, seen, (*path, name), found, kinds)


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
        return tuple(v for _, v in named_variables(self))

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
        found: list = []
        _walk(self, set(), (), found, (Module,))
        return tuple(m for _, m in found if m is not self)


def named_variables(root) -> list[tuple[str, Variable]]:
    """(path, variable) of all variables below a module, dict or list; paths are attribute names and
    keys, joined by "/". A variable in several places is listed at the first."""
    found: list = []
    _walk(root, set(), (), found, (Variable,))
    return [("/".join(path), variable) for path, variable in found]

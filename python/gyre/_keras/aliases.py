"""Modules under a second name: `import gyre.keras.layers` is `keras.layers`, not a copy of it."""

import importlib
import importlib.abc
import importlib.machinery
import sys


class _Alias(importlib.abc.Loader):
    """Gives the module `original` as the result of an import of another name."""

    def __init__(self, original):
        self._original = original
        self._spec = None

    def create_module(self, spec):
        module = importlib.import_module(self._original)
        self._spec = module.__spec__
        return module

    def exec_module(self, module):
        module.__spec__ = self._spec  # the import of the second name has replaced it


class _Finder(importlib.abc.MetaPathFinder):
    """Finds what is below `name` where it is below `original`."""

    def __init__(self, name, original):
        self._name, self._original = name + ".", original + "."

    def find_spec(self, fullname, path=None, target=None):
        if not fullname.startswith(self._name):
            return None
        original = self._original + fullname.removeprefix(self._name)
        try:
            importlib.import_module(original)
        except ModuleNotFoundError as error:
            if error.name != original:
                raise
            return None
        return importlib.machinery.ModuleSpec(fullname, _Alias(original))


def install(name, original):
    """Makes modules below `original` importable below `name`."""
    sys.meta_path.insert(0, _Finder(name, original))

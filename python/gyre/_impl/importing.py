"""Modules of the package are imported whole: handlers of signals wait until a module is there.

Python runs handlers between any two instructions, so also in the middle of a module that a function
imports when it is first called. A handler that uses Gyre would find the module half imported.

What loads a module therefore does so when it makes it, as extension modules do, and holds handlers
meanwhile: what other code finds in sys.modules is complete. What a handler raises once it runs ends
the import statement, and the module stays.
"""

import sys
import types

from gyre import _gyre


class _Loader:
    """The loader of one module. Whatever else loaders are asked is answered by the one that it
    stands before."""

    def __init__(self, loader):
        self._loader, self._made = loader, None

    def __getattr__(self, name):
        return getattr(self._loader, name)

    def create_module(self, spec):
        module = types.ModuleType(spec.name)
        module.__spec__, module.__package__ = spec, spec.parent
        module.__loader__ = self  # pyright: ignore[reportAttributeAccessIssue]
        if spec.submodule_search_locations is not None:
            module.__path__ = spec.submodule_search_locations
        if spec.has_location:
            module.__file__ = spec.origin
            module.__cached__ = spec.cached  # pyright: ignore[reportAttributeAccessIssue]
        with _gyre.hold_handlers():
            spec._initializing = True  # other threads wait for the end
            self._made = sys.modules[spec.name] = module
            try:
                self._loader.exec_module(module)
            except BaseException:
                sys.modules.pop(spec.name, None)
                raise
            finally:
                spec._initializing = False
        return module

    def exec_module(self, module):
        if module is self._made:
            self._made = None
        else:  # importlib.reload
            with _gyre.hold_handlers():
                self._loader.exec_module(module)


class _Finder:
    """Finds modules of the package by all other finders."""

    def find_spec(self, name, path=None, target=None):
        if not name.startswith("gyre."):
            return None
        # finders take an OSError that one raises for a file that is not there
        with _gyre.hold_handlers():
            for finder in sys.meta_path:
                spec = None if finder is self else finder.find_spec(name, path, target)
                if spec is not None:
                    if spec.loader is not None:
                        spec.loader = _Loader(spec.loader)  # pyright: ignore[reportAttributeAccessIssue]
                    return spec
        return None


def install():
    sys.meta_path.insert(0, _Finder())

"""Gives Keras the backend that KERAS_BACKEND=gyre names.

Keras chooses its backend in a few modules, by statements

    if backend() == "tensorflow":
        from keras.src.backend.tensorflow.layer import TFLayer as BackendLayer
    elif …

and has no registry to add one to. When such a module is loaded, a case for "gyre" is put before the
first of the statement. Nothing of Keras is replaced or pretended to be: programs, and all other
modules, see the backend under its own name. Compiled modules of Keras are neither read nor written
for the few that are changed, so the same installation serves other backends.
"""

import ast
import importlib.abc
import importlib.machinery
import os
import sys

NAME = "gyre"

# By module of Keras: what it is to import where it chooses by the name of the backend.
CHOICES = {
    "keras.src.backend": (
        "from gyre._keras.backend import *",
        "from gyre._keras.backend.core import Variable as BackendVariable",
    ),
    "keras.src.layers.layer": ("from gyre._keras.backend.layer import Layer as BackendLayer",),
    "keras.src.models.model": ("from gyre._keras.backend.trainer import Trainer",),
    "keras.src.optimizers.optimizer": (
        "from gyre._keras.backend.optimizer import Optimizer as BackendOptimizer",
    ),
    "keras.src.export.saved_model": (
        "from gyre._keras.backend.export import ExportArchive as BackendSavedModelExportArchive",
    ),
}


def _chooses(statement):
    """Whether a statement is `if backend() == "tensorflow": …`."""
    match statement:
        case ast.If(
            test=ast.Compare(left=ast.Call(func=func), comparators=[ast.Constant("tensorflow")])
        ):
            return ast.unparse(func).rpartition(".")[2] == "backend"
    return False


def with_choice(source, name):
    """The syntax tree of a module of Keras, with the case for Gyre."""
    tree = ast.parse(source)
    for position, statement in enumerate(tree.body):
        if _chooses(statement):
            assert isinstance(statement, ast.If) and isinstance(statement.test, ast.Compare)
            test = ast.Compare(statement.test.left, [ast.Eq()], [ast.Constant(NAME)])
            body = ast.parse("\n".join(CHOICES[name])).body
            tree.body[position] = ast.If(test, body, [statement])
            return ast.fix_missing_locations(tree)
    raise ImportError(
        f"{name}: this release of Keras chooses its backend in a way that Gyre does not know; "
        "pip install '.[keras]' in Gyre's checkout installs one that works",
        name=name,
    )


class _Loader(importlib.machinery.SourceFileLoader):
    """Loads a module of Keras that chooses a backend."""

    def get_code(self, fullname):
        path = self.get_filename(fullname)
        return compile(with_choice(self.get_data(path), fullname), path, "exec", dont_inherit=True)


class _Finder(importlib.abc.MetaPathFinder):
    """Finds the modules of Keras that choose a backend."""

    def find_spec(self, fullname, path=None, target=None):
        if fullname not in CHOICES or not is_chosen():
            return None
        spec = importlib.machinery.PathFinder.find_spec(fullname, path, target)
        if spec is not None and isinstance(spec.loader, importlib.machinery.SourceFileLoader):
            spec.loader = _Loader(fullname, spec.loader.path)
        return spec


_chosen = False


def choose():
    """From now on Keras is to take the backend in this process, whatever the environment says."""
    global _chosen
    _chosen = True


def is_chosen() -> bool:
    """Whether Keras is to take the backend."""
    return _chosen or os.environ.get("KERAS_BACKEND") == NAME


def install():
    """Keras, once imported, knows the backend. Harmless where it is called again."""
    if not any(isinstance(finder, _Finder) for finder in sys.meta_path):
        sys.meta_path.insert(0, _Finder())

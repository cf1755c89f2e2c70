"""What the modules of the Python package import, at their top and inside functions."""

import ast
from pathlib import PurePath
from typing import NamedTuple

import sources

PACKAGE = "python/gyre/"


class Import(NamedTuple):
    """`target`: a module of the package that the module `source` imports at `line` of `file`."""

    source: str
    target: str
    file: str
    line: int
    inside_function: bool


def module_name(file):
    """ "gyre.nn.layers" of "python/gyre/nn/layers.py"."""
    parts = PurePath(file).with_suffix("").parts[1:]
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def layer(module):
    """The folder or module of gyre._impl that a module belongs to; None: it is a public one."""
    return module.split(".")[2] if module.startswith("gyre._impl.") else None


def imports(root):
    """All imports of the package's own modules by each other.
    Its binary module counts as none of them."""
    modules = {
        module_name(name): name
        for name in sources.tracked_files(root)
        if name.startswith(PACKAGE) and name.endswith(".py")
    }
    found = []
    for module, file in modules.items():
        for target, line, inside in _targets(ast.parse(sources.read(root, file)), False):
            while target and target not in modules:  # a name of a module
                target = target.rpartition(".")[0]
            if target not in ("", "gyre", module):
                found.append(Import(module, target, file, line, inside))
    return found


def _targets(node, inside):
    """(dotted name, line, whether inside of a function) of what stands below `node`."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Import):
            yield from ((alias.name, child.lineno, inside) for alias in child.names)
        elif isinstance(child, ast.ImportFrom):
            yield from (
                (f"{child.module}.{alias.name}", child.lineno, inside) for alias in child.names
            )
        else:
            is_function = isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda))
            yield from _targets(child, inside or is_function)


def circles(found):
    """The sets of modules that import each other, directly or by way of others."""
    arrows = {}
    for one in found:
        arrows.setdefault(one.source, set()).add(one.target)
        arrows.setdefault(one.target, set())
    reached = {module: _reachable(arrows, module) for module in arrows}
    return {
        frozenset(other for other in reached[module] if module in reached[other])
        for module in arrows
        if module in reached[module]
    }


def _reachable(arrows, start):
    """The modules to which a way of at least one import leads."""
    found, pending = set(), list(arrows[start])
    while pending:
        module = pending.pop()
        if module not in found:
            found.add(module)
            pending.extend(arrows[module])
    return found

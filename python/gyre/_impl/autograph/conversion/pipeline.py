"""The passes, in their order."""

import ast
from typing import Any

from gyre._impl.autograph.conversion import (
    blocks,
    directives,
    emission,
    expressions,
    functions,
    generators,
    jumps,
    lists,
    liveness,
    matches,
    parsing,
    tree,
)


def converted_tree(fn) -> Any:
    """The def of the converted function. Raises NotConverted, or OSError where there is no
    source."""
    node = parsing.parse(fn)
    if generators.is_generator(node):
        return generators.rewrite(node)
    if isinstance(node, ast.Lambda):
        node = functions.as_def(node, "lambda_")
    aside = generators.SetAside()
    node = aside.take(node)
    names = tree.Names(node)
    kinds = tree.kinds(node)
    if ast.Match in kinds:
        node = matches.lower(node, names)
    expressions.mark(node)
    node = directives.take(node, _namespace(fn))
    node = functions.add_scopes(node, names)
    node = jumps.lower(node, names)
    if not kinds.isdisjoint((ast.Subscript, ast.Attribute)):
        node = lists.convert(node, names)
    uncertain = liveness.analyse(node)
    node = blocks.convert(node, names)
    return aside.put_back(expressions.convert(node, uncertain, _namespace(fn)))


def factory(fn):
    """The code of what makes the converted form of a function, given its operators."""
    return emission.factory(converted_tree(fn), fn)


def _namespace(fn):
    """What a name is outside of a function."""
    cells = dict(zip(fn.__code__.co_freevars, fn.__closure__ or (), strict=True))

    def value(name):
        if name not in cells:
            return fn.__globals__.get(name)
        try:
            return cells[name].cell_contents
        except ValueError:  # it has no value yet
            return None

    return value

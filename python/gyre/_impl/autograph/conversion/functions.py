"""Functions get a scope: an object that stands for one call, by which operators find its frame. A
function within the converted one is marked as converted. `scope_name` of a def: its scope's
name."""

import ast

from gyre._impl.autograph.conversion.tree import (
    assign,
    at,
    bound_names,
    function,
    operator,
    own_nodes,
)


class _Functions(ast.NodeTransformer):
    def __init__(self, names, root):
        self.names, self.root = names, root

    def visit_FunctionDef(self, node):
        _tell_what_calls_assign(node)
        node.scope_name = self.names.new("fscope")
        self.generic_visit(node)
        if node is not self.root:
            node.decorator_list.append(at(_marker(), node))
        first = 1 if ast.get_docstring(node, clean=False) is not None else 0
        made = operator("FunctionScope", ast.Constant(node.name), ast.Constant(node.scope_name))
        following = node.body[first] if first < len(node.body) else node.body[-1]
        node.body.insert(first, at(assign(node.scope_name, made), following))
        return node

    def visit_Lambda(self, node):
        return at(operator("autograph_artifact", self.generic_visit(node)), node)


def _tell_what_calls_assign(node):
    """Gives calls of functions that are defined in `node` the names of it that these assign,
    as `assigned`."""
    parts = list(own_nodes(node))
    inner = [part for part in parts if isinstance(part, ast.FunctionDef)]
    assigned = {
        part.name: sorted(
            {
                name
                for found in ast.walk(part)
                if isinstance(found, ast.Nonlocal)
                for name in found.names
            }
        )
        for part in inner
    }
    if not any(assigned.values()):
        return
    own = bound_names(node)
    for part in parts:
        if isinstance(part, ast.Call) and isinstance(part.func, ast.Name):
            part.assigned = [name for name in assigned.get(part.func.id, ()) if name in own]


def _marker():
    return operator("autograph_artifact").func


def as_def(node, name):
    """A lambda as a def of this name."""
    body = [at(ast.Return(node.body), node.body)]
    return at(function(name, node.args, body), node)


def add_scopes(node, names):
    """A def whose functions have scopes."""
    return _Functions(names, node).visit(node)

"""set_loop_options: taken out of the code, kept for the loop as its attribute `options`."""

import ast

from gyre._impl.autograph import options
from gyre._impl.autograph.conversion.tree import NotConverted, at


class _Directives(ast.NodeTransformer):
    def __init__(self, namespace):
        self.namespace, self.loops = namespace, []

    def _loop(self, node):
        self.loops.append(node)
        self.generic_visit(node)
        self.loops.pop()
        if not node.body:
            node.body = [at(ast.Pass(), node)]
        return node

    visit_For = visit_While = _loop

    def visit_Expr(self, node):
        call = node.value
        if not isinstance(call, ast.Call) or (
            _static_value(call.func, self.namespace) is not options.set_loop_options
        ):
            return node
        if not self.loops:
            raise NotConverted("set_loop_options must stand in the body of a loop", node.lineno)
        self.loops[-1].options = _arguments(call)
        return None


def _arguments(call):
    named = dict(zip(options.NAMES, call.args, strict=False))
    named.update({keyword.arg: keyword.value for keyword in call.keywords})
    unknown = set(named) - set(options.NAMES)
    if unknown:
        raise NotConverted(f"set_loop_options has no argument {unknown.pop()!r}", call.lineno)
    return named


def _static_value(node, namespace):
    """What an expression like `gyre.autograph.set_loop_options` is; None if that cannot be told."""
    if isinstance(node, ast.Name):
        return namespace(node.id)
    if isinstance(node, ast.Attribute):
        return getattr(_static_value(node.value, namespace), node.attr, None)
    return None


def take(node, namespace):
    """A tree without directives. namespace: from a name to what it is outside of the function."""
    return _Directives(namespace).visit(node)

"""Generators, which Python runs while tracing: their statements stay as they are. What they call is
converted; their tests go through an operator that refuses traced tensors."""

import ast

from gyre._impl.autograph.conversion.tree import at, bound_names, operator, own_nodes


def is_generator(node):
    """Whether a syntax tree is a generator function."""
    return isinstance(node, ast.FunctionDef) and any(
        isinstance(found, (ast.Yield, ast.YieldFrom)) for found in own_nodes(node)
    )


class _Body(ast.NodeTransformer):
    """Rewrites the statements of a generator: tests, calls, reads of names of the function
    around."""

    def __init__(self, name, free):
        self.name, self.free = name, free

    def _decides(self, node):
        self.generic_visit(node)
        node.test = at(operator("generator_test", node.test, ast.Constant(self.name)), node.test)
        return node

    visit_If = visit_While = visit_IfExp = visit_Assert = _decides

    def visit_Name(self, node):
        if isinstance(node.ctx, ast.Load) and node.id in self.free:
            return at(operator("ld", node), node)
        return node

    def visit_Call(self, node):
        if isinstance(node.func, ast.Name) and node.func.id in (
            "super",
            "locals",
            "globals",
            "vars",
        ):
            return node
        self.generic_visit(node)
        arguments = ast.Tuple(node.args, ctx=ast.Load())
        named = ast.Constant(None)
        if node.keywords:
            named = operator("keywords")
            named.keywords = node.keywords
        return at(operator("converted_call", node.func, arguments, named), node)

    def _skip(self, node):
        return node

    visit_FunctionDef = visit_AsyncFunctionDef = visit_Lambda = visit_ClassDef = _skip


def rewrite(node, around=()):
    """The statements of a generator, rewritten in place.
    around: names of functions that it is in."""
    free = set(around) - bound_names(node)
    transformer = _Body(node.name, free)
    node.body = [transformer.visit(statement) for statement in node.body]
    return node


class SetAside:
    """Takes the bodies of generators out of a function while it is converted. In their place stands
    a return of the names that they use, so that these are seen as used."""

    def __init__(self):
        self.bodies = {}  # def -> its body

    def take(self, node):
        """Before the conversion of a function."""
        return _Take(self).visit(node)

    def put_back(self, node):
        """After it."""
        for part in list(self.bodies):
            part.body = self.bodies[part]
        return node


class _Take(ast.NodeTransformer):
    def __init__(self, aside):
        self.aside, self.around = aside, []

    def visit_FunctionDef(self, node):
        if not is_generator(node):
            self.around.append(bound_names(node))
            self.generic_visit(node)
            self.around.pop()
            return node
        around = set().union(*self.around)
        used = sorted(
            {found.id for found in ast.walk(node) if isinstance(found, ast.Name)} & around
        )
        declarations = [
            found for found in own_nodes(node) if isinstance(found, (ast.Nonlocal, ast.Global))
        ]
        rewrite(node, around)
        self.aside.bodies[node] = node.body
        uses = ast.Tuple([ast.Name(name, ctx=ast.Load()) for name in used], ctx=ast.Load())
        node.body = [*declarations, at(ast.Return(uses), node)]
        return node

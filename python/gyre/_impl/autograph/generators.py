"""Generators, which Python runs while tracing: their statements stay as they are. What they call is
converted; where they would decide by a traced tensor they are refused."""

import ast

from malt.pyct import anno

from gyre._impl.autograph.lines import place
from gyre._impl.autograph.tracing import condition, is_symbolic

_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)


def generator_test(value, name):
    """The condition of a statement of the generator `name`."""
    value = condition(value)
    if is_symbolic(value):
        raise TypeError(
            f"the generator {name} decides at {place()} by a tensor that is being traced: generators are "
            f"run by Python, while tracing, when its value is not known. Make {name} a function that "
            f"returns a list, or choose between values with gyre.where")
    return value


def _own_nodes(node):
    """What stands in a function, without what stands in functions inside of it."""
    todo = list(node.body)
    while todo:
        found = todo.pop()
        yield found
        if not isinstance(found, _SCOPES):
            todo.extend(ast.iter_child_nodes(found))


def is_generator(node):
    """Whether a syntax tree is a generator function."""
    return isinstance(node, ast.FunctionDef) and any(
        isinstance(found, (ast.Yield, ast.YieldFrom)) for found in _own_nodes(node))


class _Body(ast.NodeTransformer):
    """Rewrites the statements of a generator: tests, calls, reads of names of the function around."""

    def __init__(self, name, free):
        self.name, self.free = name, free

    def _operator(self, operator, arguments, old):
        call = ast.Call(func=ast.Attribute(ast.Name("ag__", ctx=ast.Load()), operator, ctx=ast.Load()),
                        args=arguments, keywords=[])
        origin = anno.getanno(old, anno.Basic.ORIGIN, default=None)
        if origin is not None:
            anno.setanno(call, anno.Basic.ORIGIN, origin)
        return ast.fix_missing_locations(ast.copy_location(call, old))

    def _decides(self, node):
        node = self.generic_visit(node)
        node.test = self._operator("generator_test", [node.test, ast.Constant(self.name)], node.test)
        return node

    visit_If = visit_While = visit_IfExp = visit_Assert = _decides

    def visit_Name(self, node):
        if isinstance(node.ctx, ast.Load) and node.id in self.free:
            return self._operator("ld", [node], node)
        return node

    def visit_Call(self, node):
        if isinstance(node.func, ast.Name) and node.func.id in ("super", "locals", "globals", "vars"):
            return node
        node = self.generic_visit(node)
        arguments = ast.Tuple(node.args, ctx=ast.Load())
        named = ast.Dict([None if keyword.arg is None else ast.Constant(keyword.arg)
                          for keyword in node.keywords], [keyword.value for keyword in node.keywords])
        return self._operator("converted_call", [node.func, arguments, named], node)

    def _skip(self, node):
        return node

    visit_FunctionDef = visit_AsyncFunctionDef = visit_Lambda = visit_ClassDef = _skip


def _bound_names(node):
    arguments = node.args
    names = {argument.arg for argument in (
        *arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs,
        *filter(None, (arguments.vararg, arguments.kwarg)))}
    names |= {found.id for found in _own_nodes(node)
              if isinstance(found, ast.Name) and not isinstance(found.ctx, ast.Load)}
    return names | {found.name for found in _own_nodes(node) if isinstance(found, _SCOPES[:2])}


def rewrite(node, around=()):
    """The statements of a generator, rewritten in place. around: names of functions that it is in."""
    declared = {name for found in _own_nodes(node)
                if isinstance(found, (ast.Nonlocal, ast.Global)) for name in found.names}
    free = set(around) - (_bound_names(node) - declared)
    transformer = _Body(node.name, free)
    node.body = [transformer.visit(statement) for statement in node.body]
    return node


class SetAside:
    """Takes the bodies of generators out of a function while it is converted. In their place stands
    a return of the names that they use, so that these are seen as used."""

    def __init__(self):
        self.bodies = {}  # marker -> (name, body)

    def take(self, node):
        """Before the conversion of a function."""
        return _Take(self).visit(node)

    def put_back(self, node):
        """After it."""
        return _PutBack(self).visit(node)


class _Take(ast.NodeTransformer):

    def __init__(self, aside):
        self.aside, self.around = aside, []

    def visit_FunctionDef(self, node):
        if not is_generator(node):
            self.around.append(_bound_names(node))
            node = self.generic_visit(node)
            self.around.pop()
            return node
        around = set().union(*self.around)
        used = sorted({found.id for found in ast.walk(node) if isinstance(found, ast.Name)} & around)
        declarations = [found for found in _own_nodes(node)
                        if isinstance(found, (ast.Nonlocal, ast.Global))]
        rewrite(node, around)
        marker = f"ag__generator_{len(self.aside.bodies)}"
        self.aside.bodies[marker] = node.name, node.body
        uses = ast.Tuple([ast.Constant(marker), *(ast.Name(name, ctx=ast.Load()) for name in used)],
                         ctx=ast.Load())
        stub = ast.fix_missing_locations(ast.copy_location(ast.Return(uses), node))
        node.body = [*declarations, stub]
        return node


class _PutBack(ast.NodeTransformer):

    def __init__(self, aside):
        self.aside = aside

    def visit_FunctionDef(self, node):
        node = self.generic_visit(node)
        for found in ast.walk(node):
            if isinstance(found, ast.Constant) and isinstance(found.value, str):
                name, body = self.aside.bodies.get(found.value, (None, None))
                if name == node.name:
                    node.body = body
                    break
        return node

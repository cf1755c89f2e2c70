"""What a statement reads and changes. Symbols are names, and places below names: `self.x`,
`d['k']`, `v[i]`; they are given as they are written."""

import ast
from typing import Any

from gyre._impl.autograph.conversion.tree import TRIES, bound_names, parameter_names
from gyre._impl.tracing.lists import MUTATORS

MARKER = "ag__.autograph_artifact"  # of functions in converted ones


def symbol(node):
    """The symbol that an expression is; None if it is none."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        owner = symbol(node.value)
        return owner and f"{owner}.{node.attr}"
    if isinstance(node, ast.Subscript):
        owner, key = symbol(node.value), key_symbol(node.slice)
        return owner and key and f"{owner}[{key}]"
    return None


def key_symbol(node):
    """The same of an index."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        inner = key_symbol(node.operand) if isinstance(node.operand, ast.Constant) else None
        return inner and f"-{inner}"
    if isinstance(node, ast.Constant):
        return None if node.value is Ellipsis else repr(node.value)
    return symbol(node)


def chain(node) -> Any:
    """(name, steps) of a place below a name: the attributes and subscripts, from the name on. None
    if it is below something else."""
    steps = []
    while isinstance(node, (ast.Attribute, ast.Subscript)):
        steps.insert(0, node)
        node = node.value
    return (node, steps) if isinstance(node, ast.Name) else None


class Activity:
    """Of a statement or an expression.

    read, modified: names. places: attributes below names that it changes, as symbols -> a node of
    each.
    items: subscripts below names that it changes.  methods: those of them that a method changes.
    grown: names of lists that it makes longer or shorter, which may have other names, too.
    closures: names that functions defined there read whenever they are called."""

    def __init__(self):
        self.read, self.modified, self.grown, self.closures = set(), set(), set(), set()
        self.places, self.items, self.methods = {}, [], set()

    def add(self, other):
        self.read |= other.read
        self.modified |= other.modified
        self.items += other.items
        self.methods |= other.methods
        self.grown |= other.grown
        self.closures |= other.closures
        self.places.update(other.places)
        return self


class _Collector(ast.NodeVisitor):
    def __init__(self):
        self.found = Activity()

    def visit_Name(self, node):
        (self.found.read if isinstance(node.ctx, ast.Load) else self.found.modified).add(node.id)

    def visit_Attribute(self, node):
        self.generic_visit(node)
        name = None if isinstance(node.ctx, ast.Load) else symbol(node)
        if name:
            self.found.places[name] = node
        elif not isinstance(node.ctx, ast.Load) and chain(node):
            self.found.items.append(node)

    def visit_Subscript(self, node):
        self.generic_visit(node)
        if not isinstance(node.ctx, ast.Load) and chain(node):
            self.found.items.append(node)

    def visit_AugAssign(self, node):
        self.generic_visit(node)
        if isinstance(node.target, ast.Name):
            self.found.read.add(node.target.id)

    def visit_Assign(self, node):
        if (
            isinstance(node.value, ast.Call)
            and node.value.args
            and isinstance(node.value.args[0], ast.Lambda)
            and symbol(node.value.func) == MARKER
        ):
            self.found.closures |= activity(node.value).read  # which may be called later, as a def
        if hasattr(node, "item"):  # v = ag__.set_item(v, …)
            self._set_item(node)
        else:
            self.found.grown.update(getattr(node, "grown", ()))
            self.generic_visit(node)

    def visit_Expr(self, node):
        if hasattr(node, "item"):
            self._set_item(node)
        else:
            self.generic_visit(node)

    def _set_item(self, node):
        self.visit(node.value)
        self.found.items.append(node.item)

    def visit_Call(self, node):
        self.generic_visit(node)
        if isinstance(node.func, ast.Attribute) and node.func.attr in MUTATORS and chain(node.func):
            item = ast.Subscript(node.func.value, node, ast.Store())  # of no fixed index
            self.found.items.append(item)
            self.found.methods.add(item)
        if isinstance(node.func, ast.Name):
            assigned = getattr(node, "assigned", ())  # by the function that is called
            self.found.read.update(assigned)
            self.found.modified.update(assigned)

    def visit_AnnAssign(self, node):
        self.visit(node.target)
        if node.value is not None:
            self.visit(node.value)
        elif isinstance(node.target, ast.Name):
            self.found.modified.discard(node.target.id)

    def visit_alias(self, node):
        self.found.modified.add((node.asname or node.name).partition(".")[0])

    def _comprehension(self, node):
        inner = _Collector()
        inner.generic_visit(node)
        targets = {
            part.id
            for generator in node.generators
            for part in ast.walk(generator.target)
            if isinstance(part, ast.Name)
        }
        inner.found.read -= targets
        inner.found.modified -= targets
        self.found.add(inner.found)

    visit_ListComp = visit_SetComp = visit_DictComp = visit_GeneratorExp = _comprehension

    def visit_Lambda(self, node):
        self._visit_defaults(node.args)
        inner = _Collector()
        inner.visit(node.body)
        self.found.read |= inner.found.read - parameter_names(node.args)

    def visit_FunctionDef(self, node):
        for decorator in node.decorator_list:
            self.visit(decorator)
        self._visit_defaults(node.args)
        self.found.modified.add(node.name)
        self.found.closures |= free_names(node)

    visit_AsyncFunctionDef = visit_FunctionDef

    def visit_ClassDef(self, node):
        for part in (*node.decorator_list, *node.bases, *node.keywords):
            self.visit(part)
        inner = activity_of(node.body)
        self.found.read |= inner.read
        self.found.closures |= inner.closures
        self.found.modified.add(node.name)

    def _visit_defaults(self, arguments):
        for default in (*arguments.defaults, *filter(None, arguments.kw_defaults)):
            self.visit(default)

    def visit_ExceptHandler(self, node):
        inner = _Collector()
        inner.generic_visit(node)
        if node.name:  # bound in the handler only
            inner.found.read.discard(node.name)
            inner.found.modified.discard(node.name)
        self.found.add(inner.found)

    def visit_For(self, node):
        self.generic_visit(node)
        if getattr(node, "extra_test", None) is not None:
            self.visit(node.extra_test)


def activity(*nodes):
    """The activity of expressions and statements, with what stands in them."""
    collector = _Collector()
    for node in nodes:
        if node is not None:
            collector.visit(node)
    return collector.found


def activity_of(statements):
    """The activity of a block."""
    return activity(*statements)


def header(statement):
    """The activity of a compound statement without its blocks; None for others."""
    if isinstance(statement, (ast.If, ast.While)):
        return activity(statement.test)
    if isinstance(statement, ast.For):
        return activity(statement.iter, getattr(statement, "extra_test", None))
    if isinstance(statement, ast.With):
        return activity(*statement.items)
    return activity() if isinstance(statement, TRIES) else None


def free_names(node):
    """The names that a function uses of scopes around it."""
    inside = activity_of(node.body)
    declared = {
        name for part in ast.walk(node) if isinstance(part, ast.Nonlocal) for name in part.names
    }
    return ((inside.read | inside.closures) - bound_names(node)) | declared

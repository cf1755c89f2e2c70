"""Expressions become calls of operators: calls, conditional expressions, `and`, `or`, `not`, chained
comparisons, reads of names that may have no value. So do `assert` and `del`."""

import ast

from gyre._impl.autograph.conversion.symbols import symbol
from gyre._impl.autograph.conversion.tree import SIGNS, assign, at, load, operator, thunk

_LEFT_ALONE = ("pdb.set_trace", "ipdb.set_trace", "breakpoint")  # they ask for the frame of the caller


class _Expressions(ast.NodeTransformer):

    def __init__(self, uncertain):
        self.uncertain = uncertain  # names that may have no value
        self.scope = None

    def visit_FunctionDef(self, node):
        node.decorator_list = [self.visit(part) for part in node.decorator_list]
        self._defaults(node.args)
        around, self.scope = self.scope, getattr(node, "scope_name", self.scope)
        node.body = self._block(node.body)
        self.scope = around
        return node

    def _defaults(self, arguments):
        arguments.defaults = [self.visit(part) for part in arguments.defaults]
        arguments.kw_defaults = [part and self.visit(part) for part in arguments.kw_defaults]

    def _block(self, statements):
        made = []
        for statement in statements:
            found = self.visit(statement)
            made.extend(found) if isinstance(found, list) else made.append(found)
        return made

    def visit_AnnAssign(self, node):
        """Annotations of local names are not computed."""
        node.target = self.visit(node.target)
        node.value = node.value and self.visit(node.value)
        return node

    # ---- Names

    def visit_Name(self, node):
        if node.id in self.uncertain and isinstance(node.ctx, ast.Load) and hasattr(node, "of_user"):
            return at(operator("ld", node), node)
        return node

    def visit_AugAssign(self, node):
        name = node.target.id if isinstance(node.target, ast.Name) else None
        node = self.generic_visit(node)
        if name not in self.uncertain:
            return node
        return [at(assign(name, operator("ld", load(name))), node), node]

    def visit_Delete(self, node):
        made = [at(assign(target.id, operator("Undefined", ast.Constant(target.id))), node)
                for target in node.targets if isinstance(target, ast.Name)]
        node.targets = [self.visit(target) for target in node.targets
                        if not isinstance(target, ast.Name)]
        return made + ([node] if node.targets else [])

    def visit_Subscript(self, node):
        node = self.generic_visit(node)
        fixed = any(isinstance(part, (ast.Slice, ast.Starred)) for part in ast.walk(node.slice))
        if fixed or not isinstance(node.ctx, ast.Load):
            return node
        return at(operator("get_item", node.value, node.slice), node)

    # ---- Calls

    def visit_Call(self, node):
        called = node.func
        if isinstance(called, ast.Attribute) and isinstance(called.value, ast.Name) and (
                called.value.id in ("ag__", self.scope)):
            node.args = [self.visit(argument) for argument in node.args]
            return node
        name = symbol(called)
        node = self.generic_visit(node)
        if name in _LEFT_ALONE:
            return node
        arguments = ast.Tuple(node.args, ctx=ast.Load())
        named = ast.Constant(None)
        if node.keywords:
            named = operator("keywords")
            named.keywords = node.keywords
        return at(operator("converted_call", node.func, arguments, named, load(self.scope)), node)

    def visit_withitem(self, node):
        """What makes a context manager is called as it stands."""
        if isinstance(node.context_expr, ast.Call):
            self.generic_visit(node.context_expr)
        else:
            node.context_expr = self.visit(node.context_expr)
        if node.optional_vars is not None:
            node.optional_vars = self.visit(node.optional_vars)
        return node

    # ---- Conditions

    def visit_IfExp(self, node):
        text = ast.unparse(node.test)
        node = self.generic_visit(node)
        return at(operator("if_exp", node.test, thunk(node.body), thunk(node.orelse),
                           ast.Constant(text)), node)

    def visit_UnaryOp(self, node):
        node = self.generic_visit(node)
        return at(operator("not_", node.operand), node) if isinstance(node.op, ast.Not) else node

    def visit_BoolOp(self, node):
        if any(isinstance(part, ast.NamedExpr) for value in node.values[1:] for part in ast.walk(value)):
            return self.generic_visit(node)  # a name cannot be bound in the lambda of an operand
        name = "and_" if isinstance(node.op, ast.And) else "or_"
        first, *others = [self.visit(value) for value in node.values]
        return at(operator(name, first, *map(thunk, others)), node)

    def visit_Compare(self, node):
        node = self.generic_visit(node)
        if len(node.ops) == 1:
            return node
        signs = ast.Tuple([ast.Constant(SIGNS[type(op)]) for op in node.ops], ctx=ast.Load())
        first, *others = node.comparators
        return at(operator("chain", signs, node.left, first, *map(thunk, others)), node)

    def visit_Assert(self, node):
        node = self.generic_visit(node)
        message = node.msg or ast.Constant("Assertion error")
        call = operator("assert_stmt", node.test, thunk(message))
        if isinstance(message, ast.JoinedStr):
            call.args.append(thunk(ast.Tuple([_part(value) for value in message.values], ctx=ast.Load())))
        return at(ast.Expr(call), node)


def _part(value):
    """A part of an f-string as a value."""
    plain = isinstance(value, ast.FormattedValue) and value.conversion == -1 and not value.format_spec
    return value.value if plain else value if isinstance(value, ast.Constant) else ast.JoinedStr([value])


def mark(node):
    """Marks the names that the user reads."""
    for part in ast.walk(node):
        if isinstance(part, ast.Name):
            part.of_user = True


def convert(node, uncertain):
    """A tree in which expressions are calls. uncertain: names that may have no value."""
    return _Expressions(uncertain).visit(node)

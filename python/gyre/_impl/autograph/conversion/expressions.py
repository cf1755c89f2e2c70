"""Expressions become calls of operators: calls, arithmetic, comparisons, conditional expressions,
`and`, `or`, `not`, attributes, items, reads of names that may have no value. So do `assert` and
`del`."""

import ast
import copy
import types

from gyre._impl.autograph.conversion.symbols import chain, symbol
from gyre._impl.autograph.conversion.tree import SIGNS, assign, at, load, operator, thunk

_UNARY_SIGNS = {ast.USub: "-", ast.UAdd: "+", ast.Invert: "~"}
# they ask for the frame of the caller
_LEFT_ALONE = ("pdb.set_trace", "ipdb.set_trace", "breakpoint")


class _Expressions(ast.NodeTransformer):
    def __init__(self, uncertain, modules):
        self.uncertain = uncertain  # names that may have no value
        self.modules = modules  # names of modules
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
        if (
            node.id in self.uncertain
            and isinstance(node.ctx, ast.Load)
            and hasattr(node, "of_user")
        ):
            return at(operator("ld", node), node)
        return node

    def visit_AugAssign(self, node):
        if isinstance(node.target, ast.Name):
            old = load(node.target.id)
            old.of_user = True
            return at(assign(node.target.id, self._augmented(node, old)), node)
        if _is_attribute(node.target) and chain(node.target) is not None:
            old = copy.deepcopy(node.target)
            old.ctx = ast.Load()
            return self._set_attribute(node.target, self._augmented(node, old), node)
        return self.generic_visit(node)

    def _augmented(self, node, old):
        return at(
            operator(
                "augmented",
                ast.Constant(SIGNS[type(node.op)]),
                self.visit(at(old, node)),
                self.visit(node.value),
            ),
            node,
        )

    def visit_Assign(self, node):
        if len(node.targets) == 1 and _is_attribute(node.targets[0]):
            return self._set_attribute(node.targets[0], self.visit(node.value), node)
        return self.generic_visit(node)

    def _set_attribute(self, target, value, old):
        call = operator("set_attr", self.visit(target.value), ast.Constant(target.attr), value)
        return at(ast.Expr(call), old)

    def visit_Attribute(self, node):
        root = node
        while isinstance(root, ast.Attribute):
            root = root.value
        if isinstance(root, ast.Name) and (
            root.id in self.modules or root.id in ("ag__", self.scope)
        ):
            return node
        node.value = self.visit(node.value)
        if not isinstance(node.ctx, ast.Load) or not _is_attribute(node):
            return node
        return at(operator("get_attr", node.value, ast.Constant(node.attr)), node)

    def visit_Delete(self, node):
        made = [
            at(assign(target.id, operator("Undefined", ast.Constant(target.id))), node)
            for target in node.targets
            if isinstance(target, ast.Name)
        ]
        node.targets = [
            self.visit(target) for target in node.targets if not isinstance(target, ast.Name)
        ]
        return made + ([node] if node.targets else [])

    def visit_Subscript(self, node):
        self.generic_visit(node)
        fixed = any(isinstance(part, (ast.Slice, ast.Starred)) for part in ast.walk(node.slice))
        if fixed or not isinstance(node.ctx, ast.Load):
            return node
        return at(operator("get_item", node.value, node.slice), node)

    # ---- Calls

    def visit_Call(self, node):
        called = node.func
        if (
            isinstance(called, ast.Attribute)
            and isinstance(called.value, ast.Name)
            and (called.value.id in ("ag__", self.scope))
        ):
            node.args = [self.visit(argument) for argument in node.args]
            return node
        name = symbol(called)
        if isinstance(called, ast.Attribute):
            called.value = self.visit(called.value)
        else:
            node.func = self.visit(called)
        node.args = [self.visit(argument) for argument in node.args]
        node.keywords = [self.visit(keyword) for keyword in node.keywords]
        if name in _LEFT_ALONE:
            return node
        arguments = ast.Tuple(node.args, ctx=ast.Load())
        named = ast.Constant(None)
        if node.keywords:
            named = operator("keywords")
            named.keywords = node.keywords
        return at(operator("converted_call", node.func, arguments, named, load(self.scope)), node)

    def visit_withitem(self, node):
        place = node.context_expr
        node.context_expr = at(operator("managed", self.visit(place)), place)
        if node.optional_vars is not None:
            node.optional_vars = self.visit(node.optional_vars)
        return node

    def visit_comprehension(self, node):
        self.generic_visit(node)
        node.iter = at(operator("iterable", node.iter), node.iter)
        node.ifs = [
            _python_test(
                test,
                "the comprehension",
                "Choose between values with `x if … else …`, append "
                "in a for statement, or use gyre.boolean_mask",
            )
            for test in node.ifs
        ]
        return node

    def visit_ExceptHandler(self, node):
        self.generic_visit(node)
        node.body.insert(0, at(ast.Expr(operator("caught")), node))
        return node

    # ---- Operators

    def visit_BinOp(self, node):
        self.generic_visit(node)
        if isinstance(node.left, ast.Constant) and isinstance(node.right, ast.Constant):
            return node
        return at(
            operator("binary", ast.Constant(SIGNS[type(node.op)]), node.left, node.right), node
        )

    # ---- Conditions

    def visit_IfExp(self, node):
        text = ast.unparse(node.test)
        self.generic_visit(node)
        return at(
            operator("if_exp", node.test, thunk(node.body), thunk(node.orelse), ast.Constant(text)),
            node,
        )

    def visit_UnaryOp(self, node):
        self.generic_visit(node)
        if isinstance(node.op, ast.Not):
            return at(operator("not_", node.operand), node)
        if isinstance(node.operand, ast.Constant):
            return node
        return at(operator("unary", ast.Constant(_UNARY_SIGNS[type(node.op)]), node.operand), node)

    def visit_BoolOp(self, node):
        if any(
            isinstance(part, ast.NamedExpr) for value in node.values[1:] for part in ast.walk(value)
        ):
            # A name cannot be bound in the lambda of an operand.
            self.generic_visit(node)
            word = "and" if isinstance(node.op, ast.And) else "or"
            node.values[:-1] = [
                _python_test(
                    value,
                    f"the `{word}` with `:=` behind it",
                    "Assign the name in a statement of its own",
                )
                for value in node.values[:-1]
            ]
            return node
        name = "and_" if isinstance(node.op, ast.And) else "or_"
        first, *others = [self.visit(value) for value in node.values]
        return at(operator(name, first, *map(thunk, others)), node)

    def visit_Compare(self, node):
        self.generic_visit(node)
        if len(node.ops) == 1:
            sides = node.left, node.comparators[0]
            if isinstance(node.ops[0], (ast.Is, ast.IsNot)) and any(
                isinstance(side, ast.Constant) for side in sides
            ):
                return node
            sign = ast.Constant(SIGNS[type(node.ops[0])])
            return at(operator("compare", sign, node.left, node.comparators[0]), node)
        signs = ast.Tuple([ast.Constant(SIGNS[type(op)]) for op in node.ops], ctx=ast.Load())
        first, *others = node.comparators
        return at(operator("chain", signs, node.left, first, *map(thunk, others)), node)

    def visit_Assert(self, node):
        self.generic_visit(node)
        message = node.msg or ast.Constant("Assertion error")
        call = operator("assert_stmt", node.test, thunk(message))
        if isinstance(message, ast.JoinedStr):
            call.args.append(
                thunk(ast.Tuple([_part(value) for value in message.values], ctx=ast.Load()))
            )
        return at(ast.Expr(call), node)


def _python_test(test, what, way_out):
    return at(operator("python_test", test, ast.Constant(what), ast.Constant(way_out)), test)


def _is_attribute(node):
    """Whether this is an attribute, and of a name that means the same as a string: in a class
    within the function Python gives private names another form."""
    return isinstance(node, ast.Attribute) and (
        not node.attr.startswith("__") or node.attr.endswith("__")
    )


def _part(value):
    """A part of an f-string as a value."""
    plain = (
        isinstance(value, ast.FormattedValue) and value.conversion == -1 and not value.format_spec
    )
    return (
        value.value
        if plain
        else value
        if isinstance(value, ast.Constant)
        else ast.JoinedStr([value])
    )


def mark(node):
    """Marks the names that the user reads."""
    for part in ast.walk(node):
        if isinstance(part, ast.Name):
            part.of_user = True


def convert(node, uncertain, namespace):
    """A tree in which expressions are calls. uncertain: names that may have no value; namespace:
    from a name to what it is outside of the function."""
    names = [part for part in ast.walk(node) if isinstance(part, (ast.Name, ast.arg))]
    own = {
        part.arg if isinstance(part, ast.arg) else part.id
        for part in names
        if isinstance(part, ast.arg) or not isinstance(part.ctx, ast.Load)
    }
    modules = {
        part.id
        for part in names
        if isinstance(part, ast.Name)
        and part.id not in own
        and isinstance(namespace(part.id), types.ModuleType)
    }
    return _Expressions(uncertain, modules).visit(node)

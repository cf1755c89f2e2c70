"""Statements that change lists: assignments, so that the list is part of a block's state. Only for names
that the function itself binds: others belong to someone else.

    l.append(x)     l = ag__.list_append(l, x)
    y = l.pop()     l, y = ag__.list_pop(l)
    l[i] = x        l = ag__.list_set(l, i, x, 'l[i]')      where i is computed, or a loop around changes it
"""

import ast

from gyre._impl.autograph.conversion.symbols import symbol
from gyre._impl.autograph.conversion.tree import at, bound_names, load, operator


class _Lists(ast.NodeTransformer):

    def __init__(self, names):
        self.names = names
        self.bound = [set()]
        self.changing = [set()]  # names that the loops around bind

    def visit_FunctionDef(self, node):
        self.bound.append(bound_names(node))
        self.changing.append(set())
        node = self.generic_visit(node)
        self.bound.pop()
        self.changing.pop()
        return node

    def visit_Lambda(self, node):
        return node

    def _loop(self, node):
        self.changing.append(self.changing[-1] | {
            part.id for part in ast.walk(node)
            if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store)})
        node = self.generic_visit(node)
        self.changing.pop()
        return node

    visit_For = visit_While = _loop

    def _method(self, node, name):
        """The list that `node` calls a method of; None if it does not."""
        if (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
                and node.func.attr == name and not node.keywords
                and isinstance(node.func.value, ast.Name) and node.func.value.id in self.bound[-1]
                and not any(isinstance(argument, ast.Starred) for argument in node.args)):
            return node.func.value
        return None

    def visit_Expr(self, node):
        target = self._method(node.value, "append")
        if target and len(node.value.args) == 1:
            return _call([target.id], "list_append", [target, *node.value.args], node, target.id)
        target = self._method(node.value, "pop")
        if target and not node.value.args:
            return _call([target.id, "_"], "list_pop", [target], node, target.id)
        return node

    def visit_Assign(self, node):
        if len(node.targets) != 1:
            return node
        target = self._method(node.value, "pop")
        if target and not node.value.args and isinstance(node.targets[0], ast.Name):
            return _call([target.id, node.targets[0].id], "list_pop", [target], node, target.id)
        item = self._item(node.targets[0])
        if item is not None:
            return self._set(item, node.value, node)
        if isinstance(node.targets[0], ast.Tuple):
            return self._unpacked(node)
        return node

    def _unpacked(self, node):
        """`a[i], b = x` -> `t, b = x; a[i] = t`"""
        after = []
        for k, target in enumerate(node.targets[0].elts):
            item = self._item(target)
            if item is not None:
                name = self.names.new("item")
                node.targets[0].elts[k] = at(ast.Name(name, ctx=ast.Store()), target)
                after.append(self._set(item, at(load(name), target), node))
        return [node, *after]

    def visit_AugAssign(self, node):
        item = self._item(node.target)
        if item is None or any(isinstance(part, ast.Call) for part in ast.walk(item.slice)):
            return node
        before = ast.copy_location(ast.Subscript(item.value, item.slice, ast.Load()), item)
        value = ast.copy_location(ast.BinOp(left=before, op=node.op, right=node.value), node)
        return self._set(item, value, node)

    def _item(self, node):
        """`node` if it is an item of a name of this function, and no place that stays the same."""
        if (isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name)
                and node.value.id in self.bound[-1] and not isinstance(node.slice, (ast.Slice, ast.Tuple))
                and (symbol(node) is None or any(
                    isinstance(part, ast.Name) and part.id in self.changing[-1]
                    for part in ast.walk(node.slice)))):
            return node
        return None

    @staticmethod
    def _set(item, value, old):
        written = ast.Constant(ast.unparse(item))
        made = _call([item.value.id], "list_set", [item.value, item.slice, value, written], old)
        made.item = item
        return made


def _call(targets, name, arguments, old, *grown):
    stores = [ast.Name(target, ctx=ast.Store()) for target in targets]
    store = stores[0] if len(stores) == 1 else ast.Tuple(stores, ctx=ast.Store())
    made = at(ast.Assign(targets=[store], value=operator(name, *arguments)), old)
    made.grown = grown
    return made


def convert(node, names):
    """A tree in which such statements are assignments."""
    return _Lists(names).visit(node)

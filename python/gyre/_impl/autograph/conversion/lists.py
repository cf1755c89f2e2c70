"""Statements that change lists and items: assignments, so that what a name holds is part of a
block's state. Only for names that the function itself binds: others belong to someone else.

    l.append(x)     l = ag__.list_append(l, x)
    y = l.pop()     l, y = ag__.list_pop(l)
    v[i][j] = x     v = ag__.set_item(v, (i, j), '[[', x, 'v[i][j]')
    self.v[i] = x   ag__.set_item(self, ('v', i), '.[', x, 'self.v[i]')
    del v[i]        v.__delitem__(i), a method that changes v
"""

import ast
import copy

from gyre._impl.autograph.conversion.symbols import chain
from gyre._impl.autograph.conversion.tree import SIGNS, at, bound_names, load, operator


class _Lists(ast.NodeTransformer):
    def __init__(self, names):
        self.names = names
        self.bound = [set()]

    def visit_FunctionDef(self, node):
        self.bound.append(bound_names(node))
        self.generic_visit(node)
        self.bound.pop()
        return node

    def visit_Lambda(self, node):
        return node

    def _method(self, node, name):
        """The list that `node` calls a method of; None if it does not."""
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and node.func.attr == name
            and not node.keywords
            and isinstance(node.func.value, ast.Name)
            and node.func.value.id in self.bound[-1]
            and not any(isinstance(argument, ast.Starred) for argument in node.args)
        ):
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
            return self._several(node)
        target = self._method(node.value, "pop")
        if target and not node.value.args and isinstance(node.targets[0], ast.Name):
            return _call([target.id, node.targets[0].id], "list_pop", [target], node, target.id)
        if isinstance(node.targets[0], (ast.Tuple, ast.List)):
            after = self._unpacked(node.targets[0], node)
            return [node, *after]
        if _is_item(node.targets[0]):
            return self._set(node.targets[0], node.value, node)
        return node

    def _several(self, node):
        """`a = v[i] = x` -> `t = x; a = t; v[i] = t`"""
        if not any(
            isinstance(part, ast.Subscript) for target in node.targets for part in ast.walk(target)
        ):
            return node
        name = self.names.new("value")
        made = [at(ast.Assign(targets=[ast.Name(name, ctx=ast.Store())], value=node.value), node)]
        for target in node.targets:
            found = self.visit_Assign(at(ast.Assign(targets=[target], value=load(name)), node))
            made.extend(found if isinstance(found, list) else [found])
        return made

    def _unpacked(self, targets, node):
        """`a[i], b = x` -> `t, b = x; a[i] = t`"""
        after = []
        for k, target in enumerate(targets.elts):
            if isinstance(target, (ast.Tuple, ast.List)):
                after.extend(self._unpacked(target, node))
            elif _is_item(target):
                name = self.names.new("item")
                targets.elts[k] = at(ast.Name(name, ctx=ast.Store()), target)
                made = self._set(target, at(load(name), target), node)
                after.extend(made if isinstance(made, list) else [made])
        return after

    def visit_AnnAssign(self, node):
        if node.value is None or not _is_item(node.target):
            return node
        return self._set(node.target, node.value, node)

    def visit_Delete(self, node):
        made = []
        for target in node.targets:
            if isinstance(target, ast.Subscript):
                method = ast.Attribute(target.value, "__delitem__", ctx=ast.Load())
                target.value.ctx = ast.Load()
                call = ast.Call(func=method, args=[_key(target.slice)], keywords=[])
                made.append(at(ast.Expr(call), node))
            else:
                made.append(at(ast.Delete([target]), node))
        return made

    def visit_AugAssign(self, node):
        if not _is_item(node.target):
            return node
        before = self._keys_once(node.target)
        old = copy.deepcopy(node.target)  # one tree twice would be converted twice
        old.ctx = ast.Load()
        value = operator("augmented", ast.Constant(SIGNS[type(node.op)]), old, node.value)
        made = self._set(node.target, at(value, node), node)
        return [*before, made] if before else made

    def _keys_once(self, item):
        """Statements that compute the keys of an item which is read and assigned."""
        made = []
        while not isinstance(item, ast.Name):
            if isinstance(item, ast.Subscript) and any(
                isinstance(part, (ast.Call, ast.NamedExpr)) for part in ast.walk(item.slice)
            ):
                name = self.names.new("key")
                key = _key(item.slice)
                made.insert(
                    0, at(ast.Assign(targets=[ast.Name(name, ctx=ast.Store())], value=key), item)
                )
                item.slice = at(load(name), item.slice)
            item = item.value
        return made

    def _set(self, item, value, old):
        root, steps = chain(item)
        keys = [
            _key(step.slice) if isinstance(step, ast.Subscript) else ast.Constant(step.attr)
            for step in steps
        ]
        kinds = "".join("[" if isinstance(step, ast.Subscript) else "." for step in steps)
        bound = root.id in self.bound[-1]
        arguments = [
            load(root.id),
            ast.Tuple(keys, ctx=ast.Load()),
            ast.Constant(kinds),
            value,
            ast.Constant(ast.unparse(item)),
        ]
        if bound and kinds[0] == "[":
            made = _call([root.id], "set_item", arguments, old)
        else:
            name = "set_item" if bound else "set_item_of_outside"
            made = at(ast.Expr(operator(name, *arguments)), old)
        made.item = item
        return made


def _is_item(node):
    """Whether a target is an item below a name, or an attribute of one."""
    found = chain(node)
    return (
        found is not None
        and any(isinstance(step, ast.Subscript) for step in found[1])
        and not any(
            isinstance(step, ast.Attribute) and step.attr.startswith("__") for step in found[1]
        )
        and not any(isinstance(part, ast.Starred) for part in ast.walk(node))
    )


def _key(node):
    """An index as a value."""
    if isinstance(node, ast.Slice):
        parts = [part or ast.Constant(None) for part in (node.lower, node.upper, node.step)]
        return at(operator("slice_", *parts), node)
    if isinstance(node, ast.Tuple):
        return at(ast.Tuple([_key(part) for part in node.elts], ctx=ast.Load()), node)
    return node


def _call(targets, name, arguments, old, *grown):
    stores = [ast.Name(target, ctx=ast.Store()) for target in targets]
    store = stores[0] if len(stores) == 1 else ast.Tuple(stores, ctx=ast.Store())
    made = at(ast.Assign(targets=[store], value=operator(name, *arguments)), old)
    made.grown = grown
    return made


def tell_use(statement, live):
    """Completes the assignment of an item. live: the names that are read after it."""
    name, call = statement.targets[0].id, statement.value
    call.args[5:] = [] if name in live else [ast.Constant(True)]


def convert(node, names):
    """A tree in which such statements are assignments."""
    return _Lists(names).visit(node)

"""Ifs and loops become calls of operators, with their blocks as functions:

if a:           y = ag__.Undefined('y')
    y = b       def get_state(): return (y,)
                def set_state(vars_): nonlocal y; (y,) = vars_
                def if_body(): nonlocal y; y = b
                def else_body(): nonlocal y; pass
                ag__.if_stmt(a, if_body, else_body, get_state, set_state, ('y',), 1)
"""

import ast

from gyre._impl.autograph.conversion.symbols import chain
from gyre._impl.autograph.conversion.symbols import symbol as symbol_of
from gyre._impl.autograph.conversion.tree import (
    assign,
    at,
    function,
    head,
    load,
    operator,
    parameters,
    thunk,
)

GENERATED = "ag__block_"  # how the names of functions begin that are made of blocks


class _Blocks(ast.NodeTransformer):
    def __init__(self, names):
        self.names = names

    def visit_ClassDef(self, node):
        """Statements of a class run as they are; its methods are converted."""
        node.body = [
            self.visit(part) if isinstance(part, ast.FunctionDef) else part for part in node.body
        ]
        return node

    def visit_Try(self, node):
        self.generic_visit(node)
        return [*_undefined(node.undefined, node), node]

    visit_TryStar = visit_Try

    def visit_If(self, node):
        self.generic_visit(node)
        block = _Block(self.names, node)
        then = block.function("if_body", node.body)
        otherwise = block.function("else_body", node.orelse or [ast.Pass()])
        return block.statements(
            "if_stmt",
            [then, otherwise],
            [node.test, load(then.name), load(otherwise.name)],
            [ast.Constant(node.state.outputs)]
            + [ast.Constant(True)] * getattr(node, "is_unless", False),
        )

    def visit_While(self, node):
        self.generic_visit(node)
        block = _Block(self.names, node)
        body = block.function("loop_body", node.body)
        test = block.function("loop_test", [at(ast.Return(node.test), node.test)])
        return block.statements(
            "while_stmt", [body, test], [load(test.name), load(body.name)], [_options(node)]
        )

    def visit_For(self, node):
        self.generic_visit(node)
        block = _Block(self.names, node)
        target = self.names.new("itr")
        take = at(ast.Assign(targets=[node.target], value=load(target)), node.target)
        made = [block.function("loop_body", [take, *node.body], target)]
        test = ast.Constant(None)
        if getattr(node, "extra_test", None) is not None:
            made.append(block.function("extra_test", [at(ast.Return(node.extra_test), node)]))
            test = load(made[1].name)
        return block.statements(
            "for_stmt", made, [node.iter, test, load(made[0].name)], [_options(node)]
        )


class _Block:
    """What stands in the place of one if or loop."""

    def __init__(self, names, node):
        self.names, self.state, self.place = names, node.state, head(node)

    def function(self, name, body, *arguments):
        """A block as a function."""
        return function(
            self.names.new(GENERATED + name), parameters(*arguments), [*self._declarations(), *body]
        )

    def statements(self, name, functions, arguments, last):
        """The call of the operator, and what it needs before it."""
        get, put = self._getter(), self._setter()
        written = ast.Tuple([ast.Constant(symbol) for symbol in self.state.symbols], ctx=ast.Load())
        call = operator(name, *arguments, load(get.name), load(put.name), written, *last)
        made = [*_undefined(self.state.undefined, self.place), get, put, *functions, ast.Expr(call)]
        return [at(statement, self.place) for statement in made]

    def _declarations(self):
        own = [name for name in self.state.names() if name not in self.state.globals]
        kept = sorted(self.state.globals)
        return ([ast.Global(kept)] if kept else []) + ([ast.Nonlocal(own)] if own else [])

    def _getter(self):
        values = []
        for symbol in self.state.symbols:
            place = self.state.places.get(symbol)
            if place is not None and self._is_item(symbol):
                values.append(operator("item_of_state", *self._item(symbol), ast.Constant(symbol)))
            elif place is not None:
                values.append(
                    operator("ldu", thunk(_copy(place, ast.Load())), ast.Constant(symbol))
                )
            elif symbol in self.state.holders:
                values.append(operator("whole", load(symbol), self._indices(symbol)))
            else:
                values.append(load(symbol))
        result = ast.Return(ast.Tuple(values, ctx=ast.Load()))
        return function(self.names.new(GENERATED + "get_state"), parameters(), [result])

    def _setter(self):
        name = self.names.new(GENERATED + "set_state")
        if not self.state.symbols:
            return function(name, parameters("ag__values"), [ast.Pass()])
        stores, after = [], []
        for i, symbol in enumerate(self.state.symbols):
            place, taken = self.state.places.get(symbol), f"ag__value_{i}"
            if place is not None and self._is_item(symbol):
                stores.append(ast.Name(taken, ctx=ast.Store()))
                after.append(
                    ast.Expr(operator("set_item_of_state", *self._item(symbol), load(taken)))
                )
            elif place is not None:
                stores.append(_copy(place, ast.Store()))
            elif symbol in self.state.holders:
                stores.append(ast.Name(taken, ctx=ast.Store()))
                after.insert(
                    0,
                    assign(
                        symbol,
                        operator(
                            "whole_or",
                            load(symbol),
                            load(taken),
                            ast.Constant(symbol in self.state.resized),
                        ),
                    ),
                )
            else:
                stores.append(ast.Name(symbol, ctx=ast.Store()))
        take = ast.Assign(targets=[ast.Tuple(stores, ctx=ast.Store())], value=load("ag__values"))
        return function(name, parameters("ag__values"), [*self._declarations(), take, *after])

    def _is_item(self, symbol):
        """Whether a place is an item, or holds some that are changed."""
        return symbol in self.state.inside or any(
            isinstance(step, ast.Subscript) for step in chain(self.state.places[symbol])[1]
        )

    def _item(self, name):
        """A place, as operators take it."""
        root, steps = chain(self.state.places[name])
        keys = [
            _copy(step.slice, ast.Load())
            if isinstance(step, ast.Subscript)
            else ast.Constant(step.attr)
            for step in steps
        ]
        kinds = "".join("[" if isinstance(step, ast.Subscript) else "." for step in steps)
        place = ast.Tuple([load(root.id), ast.Tuple(keys, ctx=ast.Load())], ctx=ast.Load())
        if root.id in self.state.holders and kinds[0] == "[":
            firsts = self._indices(root.id)
        else:
            firsts = ast.Constant(True if root.id in self.state.symbols else None)
        above = [k for k in range(1, len(steps)) if symbol_of(steps[k - 1]) in self.state.inside]
        return (
            thunk(place),
            ast.Constant(kinds),
            ast.Constant(name in self.state.inside),
            ast.Constant(tuple(above)),
            firsts,
        )

    def _indices(self, name):
        keys = self.state.holders[name]
        if keys is None:
            return ast.Constant(False)
        return thunk(ast.Tuple([_copy(key, ast.Load()) for key in keys], ctx=ast.Load()))


def _undefined(names, place):
    return [at(assign(name, operator("Undefined", ast.Constant(name))), place) for name in names]


def _options(node):
    options = getattr(node, "options", {})
    return ast.Dict([ast.Constant(name) for name in options], list(options.values()))


def _copy(node, context):
    """A symbol as a node of its own."""
    if isinstance(node, ast.Name):
        return ast.Name(node.id, ctx=context)
    if isinstance(node, ast.Attribute):
        return ast.Attribute(_copy(node.value, ast.Load()), node.attr, ctx=context)
    if isinstance(node, ast.Subscript):
        return ast.Subscript(
            _copy(node.value, ast.Load()), _copy(node.slice, ast.Load()), ctx=context
        )
    if isinstance(node, ast.UnaryOp):
        return ast.UnaryOp(node.op, _copy(node.operand, ast.Load()))
    return ast.Constant(node.value)


def convert(node, names):
    """A tree without ifs and loops. Their attribute `state` says what they hand over."""
    return _Blocks(names).visit(node)

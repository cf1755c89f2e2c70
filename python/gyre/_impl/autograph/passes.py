"""Rewritings of the syntax tree that come before malt's own, or instead of them.

- `for … else`, `while … else`: a flag says whether the loop was left by `break`.
- `match` over values: a chain of ifs.
- `a < b < c`: ag__.chain, which compares step by step.
- `name.append(x)`, `name.pop()` as statements: assignments, so that the list is part of a loop's state.
- set_loop_options: taken out of the code, handed to the loop.
"""

import ast

from malt.converters import directives as malt_directives
from malt.lang import directives as malt_names
from malt.pyct import anno, qual_names
from malt.pyct.static_analysis import activity, annos

from gyre._impl.autograph import options


class NotConverted(Exception):
    """args: (what, line within the source of the function)."""


def _located(new, old):
    for node in ast.walk(new):
        ast.copy_location(node, old)
        origin = anno.getanno(old, anno.Basic.ORIGIN, default=None)
        if origin is not None:
            anno.setanno(node, anno.Basic.ORIGIN, origin)
    return new


def _assign(name, value, old):
    return _located(ast.Assign(targets=[ast.Name(name, ctx=ast.Store())], value=value), old)


class _Breaks(ast.NodeTransformer):
    """Puts `flag = False` before the breaks of one loop."""

    def __init__(self, flag):
        self.flag = flag

    def visit_Break(self, node):
        return [_assign(self.flag, ast.Constant(False), node), node]

    def _skip(self, node):
        return node

    visit_FunctionDef = visit_AsyncFunctionDef = visit_Lambda = visit_ClassDef = _skip

    def _inner_loop(self, node):
        node.orelse = [item for statement in node.orelse
                       for item in _as_list(self.visit(statement))]
        return node

    visit_For = visit_While = _inner_loop


def _as_list(value):
    return value if isinstance(value, list) else [value]


class _ElseOfLoops(ast.NodeTransformer):

    def __init__(self, namer):
        self.namer = namer

    def _loop(self, node):
        node = self.generic_visit(node)
        if not node.orelse:
            return node
        flag = self.namer.new_symbol("completed", ())
        breaks = _Breaks(flag)
        node.body = [item for statement in node.body for item in _as_list(breaks.visit(statement))]
        after = _located(ast.If(test=ast.Name(flag, ctx=ast.Load()), body=[], orelse=[]), node)
        after.body = node.orelse
        node.orelse = []
        return [_assign(flag, ast.Constant(True), node), node, after]

    visit_For = visit_While = _loop


def lower_else_of_loops(node, ctx):
    return _ElseOfLoops(ctx.namer).visit(node)


class _Match(ast.NodeTransformer):

    def __init__(self, namer):
        self.namer = namer

    def visit_Match(self, node):
        node = self.generic_visit(node)
        subject = self.namer.new_symbol("subject", ())
        chain = []
        for case in reversed(node.cases):
            test, bindings = self._pattern(case.pattern, subject)
            test = _located(test, case.pattern)
            body = [_assign(name, ast.Name(subject, ctx=ast.Load()), case.pattern)
                    for name in bindings] + case.body
            if case.guard is not None:
                if bindings:
                    raise NotConverted("a match that binds a name and has a guard cannot be "
                                       "converted; write if and elif", node.lineno)
                test = _located(ast.BoolOp(op=ast.And(), values=[test, case.guard]), case.pattern)
            if isinstance(test, ast.Constant) and test.value is True:
                chain = body
            else:
                branch = _located(ast.If(test=ast.Constant(True), body=[], orelse=[]), case.pattern)
                branch.test, branch.body, branch.orelse = test, body, chain
                chain = [branch]
        return [_assign(subject, node.subject, node)] + (chain or [_located(ast.Pass(), node)])

    def _pattern(self, pattern, subject):
        """(expression that tells whether it matches, names that it binds)."""
        name = ast.Name(subject, ctx=ast.Load())
        if isinstance(pattern, ast.MatchValue):
            return ast.Compare(left=name, ops=[ast.Eq()], comparators=[pattern.value]), []
        if isinstance(pattern, ast.MatchSingleton):
            return ast.Compare(left=name, ops=[ast.Is()],
                               comparators=[ast.Constant(pattern.value)]), []
        if isinstance(pattern, ast.MatchAs):
            names = [pattern.name] if pattern.name else []
            if pattern.pattern is None:
                return ast.Constant(True), names
            test, inner = self._pattern(pattern.pattern, subject)
            return test, inner + names
        if isinstance(pattern, ast.MatchOr):
            parts = [self._pattern(part, subject) for part in pattern.patterns]
            if any(names for _, names in parts):
                raise NotConverted("a match with alternatives that bind names cannot be converted; "
                                   "write if and elif", pattern.lineno)
            return ast.BoolOp(op=ast.Or(), values=[test for test, _ in parts]), []
        raise NotConverted("a match over classes, sequences or mappings cannot be converted; write "
                           "if and elif", pattern.lineno)


def lower_match(node, ctx):
    return _Match(ctx.namer).visit(node)


_OPERATORS = {ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!=",
              ast.Is: "is", ast.IsNot: "is not", ast.In: "in", ast.NotIn: "not in"}


def fill_bodies(node):
    """`pass` after a docstring that is all of a function: malt takes it out."""
    for part in ast.walk(node):
        if isinstance(part, ast.FunctionDef) and len(part.body) == 1 and isinstance(part.body[0], ast.Expr):
            part.body.append(_located(ast.Pass(), part.body[0]))
    return node


class _Chains(ast.NodeTransformer):

    def visit_Compare(self, node):
        node = self.generic_visit(node)
        if len(node.ops) == 1:
            return node
        signs = ast.Tuple([ast.Constant(_OPERATORS[type(op)]) for op in node.ops], ctx=ast.Load())
        rest = [ast.Lambda(args=_no_arguments(), body=part) for part in node.comparators[1:]]
        call = ast.Call(func=ast.Attribute(ast.Name("ag__", ctx=ast.Load()), "chain", ctx=ast.Load()),
                        args=[signs, node.left, node.comparators[0], *rest], keywords=[])
        for part in ast.walk(call):
            if not hasattr(part, "lineno"):
                ast.copy_location(part, node)
                origin = anno.getanno(node, anno.Basic.ORIGIN, default=None)
                if origin is not None:
                    anno.setanno(part, anno.Basic.ORIGIN, origin)
        return call


class _ConditionalExpressions(ast.NodeTransformer):
    """`a if c else b` -> ag__.if_exp(c, lambda: a, lambda: b, "c"), nested ones too."""

    def visit_IfExp(self, node):
        text = ast.unparse(node.test)
        node = self.generic_visit(node)
        call = ast.Call(
            func=ast.Attribute(ast.Name("ag__", ctx=ast.Load()), "if_exp", ctx=ast.Load()),
            args=[node.test, ast.Lambda(args=_no_arguments(), body=node.body),
                  ast.Lambda(args=_no_arguments(), body=node.orelse), ast.Constant(text)], keywords=[])
        return ast.copy_location(call, node)


def convert_conditional_expressions(node):
    return _ConditionalExpressions().visit(node)


def _no_arguments():
    return ast.arguments(posonlyargs=[], args=[], kwonlyargs=[], kw_defaults=[], defaults=[])


def chain_comparisons(node):
    return _Chains().visit(node)


class _Directives(malt_directives.DirectivesTransformer):
    """Takes Gyre's set_loop_options; keeps them where malt's passes look for theirs."""

    def visit_Expr(self, node):
        node = super().visit_Expr(node)
        if node is not None and isinstance(node.value, ast.Call):
            called = _static_value(node.value.func, self.ctx.info.namespace)
            if called is options.set_loop_options:
                target = self.state[malt_directives._LoopScope].ast_node
                if target is None:
                    raise NotConverted("set_loop_options must stand in the body of a loop",
                                       node.lineno)
                found = anno.getanno(target, anno.Basic.DIRECTIVES, {})
                found[malt_names.set_loop_options] = _arguments(node.value)
                anno.setanno(target, anno.Basic.DIRECTIVES, found)
                return None
        return node


def _arguments(call):
    named = dict(zip(options.NAMES, call.args))
    named.update({keyword.arg: keyword.value for keyword in call.keywords})
    unknown = set(named) - set(options.NAMES)
    if unknown:
        raise NotConverted(f"set_loop_options has no argument {unknown.pop()!r}", call.lineno)
    return named


def _static_value(node, namespace):
    """What an expression like `gyre.autograph.set_loop_options` is; None if that cannot be told."""
    if isinstance(node, ast.Name):
        return namespace.get(node.id)
    if isinstance(node, ast.Attribute):
        return getattr(_static_value(node.value, namespace), node.attr, None)
    return None


def take_directives(node, ctx):
    return _Directives(ctx).visit(node)


class _Lists(ast.NodeTransformer):
    """`l.append(x)` as a statement -> `l = ag__.list_append(l, x)`; `y = l.pop()` likewise. Only for
    names that the function itself binds: others belong to someone else."""

    def __init__(self):
        self.bound = [set()]

    def visit_FunctionDef(self, node):
        scope = anno.getanno(node, annos.NodeAnno.ARGS_AND_BODY_SCOPE, default=None)
        names = {str(name) for name in scope.bound if name.is_simple()} if scope else set()
        if scope:
            names -= {str(name) for name in scope.nonlocals | scope.globals}
            names |= {argument.arg for argument in
                      node.args.posonlyargs + node.args.args + node.args.kwonlyargs}
        self.bound.append(names)
        node = self.generic_visit(node)
        self.bound.pop()
        return node

    def visit_Lambda(self, node):
        return node

    def _method(self, node, name):
        if (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
                and node.func.attr == name and not node.keywords
                and isinstance(node.func.value, ast.Name) and node.func.value.id in self.bound[-1]
                and not any(isinstance(argument, ast.Starred) for argument in node.args)):
            return node.func.value.id
        return None

    def visit_Expr(self, node):
        target = self._method(node.value, "append")
        if target and len(node.value.args) == 1:
            return self._call([target], "list_append", target, node.value.args, node)
        target = self._method(node.value, "pop")
        if target and not node.value.args:
            return self._call([target, "_"], "list_pop", target, [], node)
        return self.generic_visit(node)

    def visit_Assign(self, node):
        target = self._method(node.value, "pop")
        if target and not node.value.args and len(node.targets) == 1 and isinstance(
                node.targets[0], ast.Name):
            return self._call([target, node.targets[0].id], "list_pop", target, [], node)
        return self.generic_visit(node)

    def _call(self, targets, operator, name, arguments, old):
        call = ast.Call(
            func=ast.Attribute(ast.Name("ag__", ctx=ast.Load()), operator, ctx=ast.Load()),
            args=[ast.Name(name, ctx=ast.Load())], keywords=[])
        stores = [ast.Name(target, ctx=ast.Store()) for target in targets]
        store = stores[0] if len(stores) == 1 else ast.Tuple(stores, ctx=ast.Store())
        new = _located(ast.Assign(targets=[store], value=call), old)
        definitions = anno.getanno(old, anno.Static.ORIG_DEFINITIONS, default=())
        anno.setanno(call.args[0], anno.Static.ORIG_DEFINITIONS, definitions)
        call.args.extend(arguments)
        return new


def convert_lists(node, ctx):
    node = qual_names.resolve(node)
    node = activity.resolve(node, ctx, None)
    return _Lists().visit(node)

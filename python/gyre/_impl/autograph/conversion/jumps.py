"""`break`, `continue`, `return` in the middle and `else` of loops, written with flags: what follows
a statement that may jump runs if the flag is not set, loops go on while it is not.

    while a:            done = False                    return x   →   value = x
        if b:           while not done and a:                          returned = True
            break           if b:
        c           →           done = True                        … at the end of the function:
                            if not done:                           return scope.ret(value, returned)
                                c
Where a branch of an if always returns, what follows goes into the other branch instead: then there
is a value on both."""

import ast

from gyre._impl.autograph.conversion.tree import (
    FUNCTIONS,
    TRIES,
    all_of,
    assign,
    at,
    head,
    load,
    no,
    operator,
)


def lower(node, names):
    """A def without jumps, but for a return at its end. So are the functions in it."""
    for found in [node, *(part for part in ast.walk(node) if part is not node)]:
        if isinstance(found, FUNCTIONS):
            _lower_function(found, names)
    return node


def _lower_function(node, names):
    if any(
        isinstance(part, ast.Return) for statement in node.body[:-1] for part in _jumps(statement)
    ) or (
        not isinstance(node.body[-1], ast.Return)
        and any(isinstance(part, ast.Return) for part in _jumps(node.body[-1]))
    ):
        _fold(node.body)
    always = ast.Constant(_returns(node.body))
    jumps = _Jumps(names)
    last = node.body.pop() if isinstance(node.body[-1], ast.Return) else None
    body, may_return = jumps.block(node.body)
    if last is not None:
        if may_return:
            guarded = jumps.statement(last)[0]
            body.append(_unless(may_return, guarded, last))
        else:
            body.append(last)
    if jumps.returned:
        first = 1 if ast.get_docstring(node, clean=False) is not None else 0
        start, end = node.body[0] if node.body else last, body[-1]
        body[first:first] = [
            at(assign(jumps.returned, ast.Constant(False)), start),
            at(assign(jumps.value, operator("UndefinedReturnValue")), start),
        ]
        result = ast.Call(
            func=ast.Attribute(load(node.scope_name), "ret", ctx=ast.Load()),
            args=[load(jumps.value), load(jumps.returned), always],
            keywords=[],
        )
        body.append(at(ast.Return(result), _end_of(end)))
    node.body = body


def _end_of(statement):
    """The last statement within a statement."""
    while True:
        blocks = [
            block
            for field in ("body", "orelse", "finalbody")
            if isinstance(block := getattr(statement, field, None), list) and block
        ]
        if not blocks or isinstance(statement, (*FUNCTIONS, ast.ClassDef)):
            return statement
        statement = blocks[-1][-1]


def _jumps(statement):
    """The jumps in a statement that are its function's."""
    pending = [statement]
    while pending:
        node = pending.pop()
        if isinstance(node, (ast.Return, ast.Break, ast.Continue)):
            yield node
        elif isinstance(node, ast.stmt) and not isinstance(node, (*FUNCTIONS, ast.ClassDef)):
            pending.extend(ast.iter_child_nodes(node))
        elif isinstance(node, ast.ExceptHandler):
            pending.extend(node.body)


def _fold(body):
    """Moves what follows an if of which one branch returns into the other one, in place. Whether
    the block always returns."""
    for i, statement in enumerate(body):
        if isinstance(statement, ast.Return):
            del body[i + 1 :]
            return True
        if isinstance(statement, ast.If):
            rest = body[i + 1 :]
            then, otherwise = _fold(statement.body), _fold(statement.orelse)
            if then and otherwise:
                del body[i + 1 :]
                return True
            if (then or otherwise) and rest:
                del body[i + 1 :]
                other = statement.orelse if then else statement.body
                other.extend(rest)
                return _fold(other)
        elif isinstance(statement, ast.With):
            if _fold(statement.body):
                del body[i + 1 :]
                return True
        elif isinstance(statement, (ast.For, ast.While, *TRIES)):
            for field in ("body", "orelse", "finalbody"):
                _fold(getattr(statement, field, []))
            for handler in getattr(statement, "handlers", ()):
                _fold(handler.body)
    return False


def _returns(body):
    """Whether nothing follows a block: it returns, raises or goes on for ever on all paths. What a
    `with` may suppress is not known."""
    return any(map(_statement_returns, body))


def _statement_returns(node):
    if isinstance(node, (ast.Return, ast.Raise)):
        return True
    if isinstance(node, ast.If):
        return _returns(node.body) and _returns(node.orelse)
    if isinstance(node, TRIES):
        inner = _returns(node.body) or _returns(node.orelse)
        return (
            _returns(node.finalbody) or inner and all(_returns(part.body) for part in node.handlers)
        )
    if isinstance(node, (ast.While, ast.For)) and not _breaks(node.body):
        endless = (
            isinstance(node, ast.While) and isinstance(node.test, ast.Constant) and node.test.value
        )
        return bool(endless) or _returns(node.orelse)
    return False


def _breaks(body):
    """Whether a break in the body of a loop may end that loop."""
    pending = list(body)
    while pending:
        node = pending.pop()
        if isinstance(node, ast.Break):
            return True
        if isinstance(node, (ast.For, ast.While)):
            pending.extend(node.orelse)
        elif isinstance(node, (ast.stmt, ast.ExceptHandler)) and not isinstance(
            node, (*FUNCTIONS, ast.ClassDef)
        ):
            pending.extend(ast.iter_child_nodes(node))
    return False


def _unless(flags, statements, place):
    """`if not flag: statements`"""
    test = all_of([no(load(flag)) for flag in flags])
    made = ast.copy_location(ast.If(test=at(test, place), body=statements, orelse=[]), place)
    made.is_unless = True
    return made


class _Jumps:
    """Of one function. Flags are ordered by when they were made,
    so that trees are always the same."""

    def __init__(self, names):
        self.names = names
        self.returned = self.value = None
        self.loops = []  # [break flag or None, continue flag or None], the innermost last

    def block(self, statements):
        """(statements, flags that they may set) of a block."""
        made, flags = [], ()
        for i, statement in enumerate(statements):
            lowered, found = self.statement(statement)
            made.extend(lowered)
            if not found:
                continue
            flags = _union(flags, found)
            rest = statements[i + 1 :]
            if rest and not _always(statement):
                following, more = self.block(rest)
                made.append(_unless(found, following, rest[0]))
                flags = _union(flags, more)
            return made, flags
        return made, flags

    def statement(self, node):
        """(statements, flags that they may set) in the place of one."""
        if isinstance(node, (ast.Break, ast.Continue)):
            kind = 0 if isinstance(node, ast.Break) else 1
            if self.loops[-1][kind] is None:
                self.loops[-1][kind] = self.names.new(("break_", "continue_")[kind])
            flag = self.loops[-1][kind]
            return [at(assign(flag, ast.Constant(True)), node)], (flag,)
        if isinstance(node, ast.Return):
            return self._return(node)
        if isinstance(node, (ast.For, ast.While)):
            return self._loop(node)
        if isinstance(node, TRIES):
            return self._try(node)
        if isinstance(node, (ast.If, ast.With)):
            node.body, flags = self.block(node.body)
            if isinstance(node, ast.If) and node.orelse:
                node.orelse, more = self.block(node.orelse)
                flags = _union(flags, more)
            return [node], flags
        return [node], ()

    def _return(self, node):
        if self.returned is None:
            self.returned, self.value = self.names.new("do_return"), self.names.new("retval_")
        value = node.value or ast.Constant(None)
        made = [
            at(assign(self.value, value), node),
            at(assign(self.returned, ast.Constant(True)), node),
        ]
        return made, (self.returned,)

    def _try(self, node):
        node.body, flags = self.block(node.body)
        if node.orelse:
            otherwise, more = self.block(node.orelse)
            node.orelse = [_unless(flags, otherwise, otherwise[0])] if flags else otherwise
            flags = _union(flags, more)
        for handler in node.handlers:
            handler.body, more = self.block(handler.body)
            flags = _union(flags, more)
        node.finalbody, more = self.block(node.finalbody)
        return [node], _union(flags, more)

    def _loop(self, node):
        if isinstance(node, ast.While) and any(
            isinstance(p, ast.NamedExpr) for p in ast.walk(node.test)
        ):
            self._test_inside(node)
        otherwise, node.orelse = node.orelse, []
        self.loops.append([None, None])
        place = node.body[0]
        node.body, flags = self.block(node.body)
        broken, continued = self.loops.pop()
        if continued:
            node.body.insert(0, at(assign(continued, ast.Constant(False)), place))
        ending = tuple(flag for flag in flags if flag != continued)
        made = []
        if broken:
            made.append(at(assign(broken, ast.Constant(False)), node))
        if ending:
            self._until(node, ending)
        made.append(node)
        flags = tuple(flag for flag in ending if flag != broken)
        if otherwise:
            following, more = self.block(otherwise)
            made.extend([_unless(ending, following, head(node))] if ending else following)
            flags = _union(flags, more)
        return made, flags

    @staticmethod
    def _test_inside(node):
        """`while test:` -> `while True: if not test: break`: names that the test binds are the
        body's."""
        leave = ast.If(test=no(node.test), body=[*node.orelse, ast.Break()], orelse=[])
        node.body.insert(0, at(leave, node.test))
        node.test, node.orelse = ast.copy_location(ast.Constant(True), node.test), []

    @staticmethod
    def _until(node, flags):
        """The loop ends when a flag is set."""
        go_on = [no(load(flag)) for flag in flags]
        if isinstance(node, ast.For):
            node.extra_test = at(all_of(go_on), node)
        elif isinstance(node.test, ast.Constant) and node.test.value:
            node.test = at(all_of(go_on), node.test)
        else:
            node.test = at(all_of([*go_on, node.test]), node.test)


def _always(statement):
    """Whether a statement always jumps, so that nothing follows."""
    return isinstance(statement, (ast.Break, ast.Continue, ast.Return))


def _union(a, b):
    return a + tuple(flag for flag in b if flag not in a)

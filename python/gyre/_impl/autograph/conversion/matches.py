"""`match`: a chain of ifs. What a pattern asks becomes a test; names that it binds become
assignments before the case's body, and stand for their values in its guard.

    match p:                  subject = p
        case Point(x=0, y=a): if ag__.match_class(subject, Point, 0, ('x', 'y')) and subject.x == 0:
            b                     a = subject.y
                                  b
"""

import ast

from gyre._impl.autograph.conversion.tree import all_of, assign, at, load, operator


class _Matches(ast.NodeTransformer):
    def __init__(self, names):
        self.names = names

    def visit_Match(self, node):
        self.generic_visit(node)
        subject = self.names.new("subject")
        chain = []
        for case in reversed(node.cases):
            pattern = _Pattern()
            pattern.match(case.pattern, load(subject))
            if case.guard is not None:
                pattern.tests.append(_Bound(pattern.bound).visit(case.guard))
            stores = [
                at(assign(name, value), case.pattern) for name, value in pattern.bound.items()
            ]
            body = [*stores, *case.body]
            chain = (
                body
                if not pattern.tests
                else [
                    at(
                        ast.If(
                            test=at(all_of(pattern.tests), case.pattern), body=body, orelse=chain
                        ),
                        case.pattern,
                    )
                ]
            )
        return [at(assign(subject, node.subject), node), *(chain or [at(ast.Pass(), node)])]


class _Pattern:
    """What a pattern asks of a value. tests: expressions that all hold, computed in order, if it
    matches.
    bound: name -> the expression that it is bound to."""

    def __init__(self):
        self.tests, self.bound = [], {}

    def match(self, pattern, value):
        """Adds what `pattern` asks of `value`, an expression without effects."""
        getattr(self, f"_{type(pattern).__name__}")(pattern, value)

    def _MatchValue(self, pattern, value):
        self._test(ast.Compare(left=value, ops=[ast.Eq()], comparators=[pattern.value]), pattern)

    def _MatchSingleton(self, pattern, value):
        constant = ast.Constant(pattern.value)
        self._test(ast.Compare(left=value, ops=[ast.Is()], comparators=[constant]), pattern)

    def _MatchAs(self, pattern, value):
        if pattern.pattern is not None:
            self.match(pattern.pattern, value)
        if pattern.name:
            self.bound[pattern.name] = value

    def _MatchOr(self, pattern, value):
        parts = [_Pattern() for _ in pattern.patterns]
        for part, alternative in zip(parts, pattern.patterns, strict=True):
            part.match(alternative, value)
        for name in parts[0].bound:
            self.bound[name] = _first_that_holds(parts, name)
        if all(part.tests for part in parts):
            self._test(
                ast.BoolOp(op=ast.Or(), values=[all_of(part.tests) for part in parts]), pattern
            )

    def _MatchClass(self, pattern, value):
        names = ast.Tuple([ast.Constant(name) for name in pattern.kwd_attrs], ctx=ast.Load())
        count = ast.Constant(len(pattern.patterns))
        self._test(operator("match_class", value, pattern.cls, count, names), pattern)
        for i, part in enumerate(pattern.patterns):
            self.match(
                part, at(operator("match_argument", value, pattern.cls, ast.Constant(i)), part)
            )
        for name, part in zip(pattern.kwd_attrs, pattern.kwd_patterns, strict=True):
            self.match(part, at(ast.Attribute(value, name, ctx=ast.Load()), part))

    def _MatchSequence(self, pattern, value):
        parts = pattern.patterns
        star = next((i for i, part in enumerate(parts) if isinstance(part, ast.MatchStar)), None)
        least = len(parts) - (star is not None)
        self._test(
            operator("match_sequence", value, ast.Constant(least), ast.Constant(star is not None)),
            pattern,
        )
        for i, part in enumerate(parts):
            if i == star:
                end = ast.Constant(i - least) if i < least else ast.Constant(None)
                items = operator("match_items", value, ast.Constant(i), end)
                if part.name:
                    self.bound[part.name] = at(items, part)
                continue
            place = i if star is None or i < star else i - len(parts)
            self.match(part, at(ast.Subscript(value, ast.Constant(place), ctx=ast.Load()), part))

    def _MatchMapping(self, pattern, value):
        keys = ast.Tuple(pattern.keys, ctx=ast.Load())
        self._test(operator("match_mapping", value, keys), pattern)
        for key, part in zip(pattern.keys, pattern.patterns, strict=True):
            self.match(part, at(ast.Subscript(value, key, ctx=ast.Load()), part))
        if pattern.rest:
            self.bound[pattern.rest] = at(operator("match_rest", value, keys), pattern)

    def _test(self, expression, pattern):
        self.tests.append(at(expression, pattern))


def _first_that_holds(parts, name):
    """What `name` is bound to by the first alternative that matches."""
    value = parts[-1].bound[name]
    for part in reversed(parts[:-1]):
        if part.tests and ast.dump(part.bound[name]) != ast.dump(value):
            value = at(ast.IfExp(all_of(part.tests), part.bound[name], value), part.bound[name])
        else:
            value = part.bound[name]
    return value


class _Bound(ast.NodeTransformer):
    """Puts values in the place of names."""

    def __init__(self, values):
        self.values = values

    def visit_Name(self, node):
        return self.values.get(node.id, node)


def lower(node, names):
    """A tree without `match`."""
    return _Matches(names).visit(node)

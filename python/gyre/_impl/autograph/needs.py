"""What a function needs of malt's passes. Each of them analyses and copies the whole tree, which is
most of what a first trace costs; most functions have no `break`, and return at their end only."""

import ast

from malt.pyct import anno


def kinds(node) -> set[type]:
    """The types of a tree's nodes."""
    return {type(part) for part in ast.walk(node)}


def grows_lists(node) -> bool:
    """Whether a method called append or pop is mentioned."""
    return any(isinstance(part, ast.Attribute) and part.attr in ("append", "pop")
               for part in ast.walk(node))


def return_at_end(node) -> bool:
    """Makes `return x` into `return scope.ret(x, True)`, as malt's pass does, where all functions in
    a tree return at their end or not at all; False, and nothing is done, where one does not."""
    last = []
    for part in ast.walk(node):
        if isinstance(part, ast.FunctionDef):
            body = part.body[-1].body  # of the scope, which the functions pass has put there
            if isinstance(body[-1], ast.Return):
                last.append((body[-1], anno.getanno(part, "function_context_name")))
    if sum(isinstance(part, ast.Return) for part in ast.walk(node)) != len(last):
        return False
    for statement, scope in last:
        value = statement.value or ast.Constant(None)
        result = ast.Attribute(ast.Name(scope, ctx=ast.Load()), "ret", ctx=ast.Load())
        statement.value = ast.Call(func=result, args=[value, ast.Constant(True)], keywords=[])
    return True

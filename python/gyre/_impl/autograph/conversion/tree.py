"""Syntax trees: what passes make them of, and what they ask of them."""

import ast
import sys

FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
SCOPES = (*FUNCTIONS, ast.Lambda, ast.ClassDef)
TRIES = (ast.Try, ast.TryStar)
BLOCKS = (ast.If, ast.While, ast.For)

SIGNS = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
    ast.FloorDiv: "//",
    ast.Mod: "%",
    ast.Pow: "**",
    ast.MatMult: "@",
    ast.BitAnd: "&",
    ast.BitOr: "|",
    ast.BitXor: "^",
    ast.LShift: "<<",
    ast.RShift: ">>",
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.Is: "is",
    ast.IsNot: "is not",
    ast.In: "in",
    ast.NotIn: "not in",
}


class NotConverted(Exception):
    """What a function has that cannot be converted. args: (what, line)."""


class Names:
    """Names for what passes add to a function: none that it mentions."""

    def __init__(self, root):
        self.taken, self.counts = set(), {}
        for node in ast.walk(root):
            if isinstance(node, ast.Name):
                self.taken.add(node.id)
            elif isinstance(node, ast.arg):
                self.taken.add(node.arg)
            elif isinstance(node, (*FUNCTIONS, ast.ClassDef, ast.ExceptHandler)):
                self.taken.add(node.name)
            elif isinstance(node, (ast.Global, ast.Nonlocal)):
                self.taken.update(node.names)
            elif isinstance(node, ast.alias):
                self.taken.add((node.asname or node.name).partition(".")[0])

    def new(self, root):
        """`root`, or that with a number."""
        name, number = root, self.counts.get(root, 0)
        while name in self.taken:
            number += 1
            name = f"{root}_{number}"
        self.taken.add(name)
        self.counts[root] = number
        return name


def at(new, old):
    """`new`, with the place of `old` where it has none."""
    pending = [new]
    while pending:
        node = pending.pop()
        if hasattr(node, "lineno"):
            continue
        if "lineno" in node._attributes:
            ast.copy_location(node, old)
            # Python takes the line of a call from where its name ends
            if isinstance(node, ast.Attribute):
                node.end_lineno, node.end_col_offset = node.lineno, node.col_offset
        pending.extend(ast.iter_child_nodes(node))
    return new


def head(statement):
    """The place of a compound statement's first line."""
    last = getattr(statement, "test", None) or getattr(statement, "iter", statement)
    place = ast.copy_location(ast.Pass(), statement)
    on_line = last is not statement and last.end_lineno == statement.lineno
    place.end_lineno = statement.lineno
    place.end_col_offset = last.end_col_offset if on_line else statement.col_offset
    return place


def load(name):
    """The name as an expression."""
    return ast.Name(name, ctx=ast.Load())


def assign(name, value):
    """`name = value`"""
    return ast.Assign(targets=[ast.Name(name, ctx=ast.Store())], value=value)


def operator(name, *arguments):
    """`ag__.name(*arguments)`"""
    called = ast.Attribute(load("ag__"), name, ctx=ast.Load())
    return ast.Call(func=called, args=list(arguments), keywords=[])


def parameters(*names):
    """Parameters of these names."""
    return ast.arguments(
        posonlyargs=[],
        args=[ast.arg(name) for name in names],
        kwonlyargs=[],
        kw_defaults=[],
        defaults=[],
    )


def thunk(expression):
    """`lambda: expression`"""
    return ast.Lambda(args=parameters(), body=expression)


def function(name, arguments, body):
    """`def name(arguments): body`"""
    made = ast.FunctionDef(name=name, args=arguments, body=body, decorator_list=[])
    if sys.version_info >= (3, 12):
        made.type_params = []
    return made


def no(expression):
    """`not expression`"""
    return ast.UnaryOp(op=ast.Not(), operand=expression)


def all_of(expressions):
    """Their conjunction."""
    return expressions[0] if len(expressions) == 1 else ast.BoolOp(op=ast.And(), values=expressions)


def own_nodes(node):
    """What stands in a function, without what stands in functions inside of it."""
    pending = list(node.body)
    while pending:
        found = pending.pop()
        yield found
        if not isinstance(found, SCOPES):
            pending.extend(ast.iter_child_nodes(found))


def parameter_names(arguments):
    """The names that calls bind."""
    return {
        argument.arg
        for argument in (
            *arguments.posonlyargs,
            *arguments.args,
            *arguments.kwonlyargs,
            *filter(None, (arguments.vararg, arguments.kwarg)),
        )
    }


def bound_names(node):
    """The names that a function binds, except those that it declares to be of scopes around it."""
    names, declared = parameter_names(node.args), set()
    for found in own_nodes(node):
        if isinstance(found, ast.Name) and not isinstance(found.ctx, ast.Load):
            names.add(found.id)
        elif isinstance(found, FUNCTIONS):
            names.add(found.name)
        elif isinstance(found, (ast.Nonlocal, ast.Global)):
            declared.update(found.names)
    return names - declared


def kinds(node):
    """The types of a tree's nodes."""
    return {type(part) for part in ast.walk(node)}

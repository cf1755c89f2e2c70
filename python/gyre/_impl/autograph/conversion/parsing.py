"""The syntax tree of a function, with the lines and columns of its file."""

import ast
import functools
import inspect
import linecache

from gyre._impl.autograph.conversion.tree import FUNCTIONS, NotConverted


def parse(fn):
    """The def or lambda that `fn` was made of, without decorators and defaults.
    OSError where the source cannot be read; NotConverted where it cannot be told."""
    node = _lambda(fn) if fn.__code__.co_name == "<lambda>" else _def(fn)
    if not isinstance(node, ast.Lambda):
        node.decorator_list = []
    arguments = node.args
    arguments.defaults = [_none(default) for default in arguments.defaults]
    arguments.kw_defaults = [default and _none(default) for default in arguments.kw_defaults]
    mangling_class = _class_of(fn.__code__.co_qualname)
    if mangling_class:
        _Mangled(mangling_class).visit(node)
    return node


def _none(old):
    return ast.copy_location(ast.Constant(None), old)


def _def(fn):
    lines, first = inspect.findsource(fn.__code__)
    text = "".join(inspect.getblock(lines[first:]))
    indented = text[:1].isspace()
    module = ast.parse("if 1:\n" + text if indented else text)
    node = module.body[0].body[0] if indented else module.body[0]
    if not isinstance(node, FUNCTIONS):
        raise NotConverted("its source is not that of a function", first + 1)
    ast.increment_lineno(node, first - 1 if indented else first)
    return node


@functools.lru_cache(4)
def _parsed(source):
    return ast.parse(source)


def _lambda(fn):
    code = fn.__code__
    lines = linecache.getlines(code.co_filename, fn.__globals__)
    if not lines:
        raise OSError("no source")
    found = [
        node
        for node in ast.walk(_parsed("".join(lines)))
        if isinstance(node, ast.Lambda)
        and node.lineno <= code.co_firstlineno <= node.end_lineno
        and _has_names(node, code)
    ]
    if not found:
        raise NotConverted("its source is not there any more", code.co_firstlineno)
    return _copy(found[0] if len(found) == 1 else _that_of(code, found))


def _has_names(node, code):
    arguments = node.args
    names = [
        argument.arg
        for argument in (
            *arguments.posonlyargs,
            *arguments.args,
            *arguments.kwonlyargs,
            *filter(None, (arguments.vararg, arguments.kwarg)),
        )
    ]
    return list(code.co_varnames[: len(names)]) == names


def _that_of(code, lambdas):
    """The one of several lambdas that holds all that the code does: the innermost such one."""
    places = [
        ((line, column), (end_line, end_column))
        for line, end_line, column, end_column in code.co_positions()
        if line is not None and end_column
    ]
    held = [
        node
        for node in lambdas
        if places and all(_start(node.body) <= p[0] and p[1] <= _end(node.body) for p in places)
    ]
    if not held:
        raise NotConverted(
            "it is one of several lambdas of a line, which cannot be told apart",
            code.co_firstlineno,
        )
    return max(held, key=lambda node: _start(node.body))


def _start(node):
    return node.lineno, node.col_offset


def _end(node):
    return node.end_lineno, node.end_col_offset


def _copy(node):
    """A tree of its own: others that are parsed later share the first."""
    if isinstance(node, list):
        return [_copy(item) for item in node]
    if not isinstance(node, ast.AST):
        return node
    made = type(node)(**{field: _copy(value) for field, value in ast.iter_fields(node)})
    return ast.copy_location(made, node)


def _class_of(qualname):
    """The class that private names (`self.__x`) of a function belong to; "" if it is in none."""
    parts = qualname.split(".")[:-1]
    while parts and parts[-1] == "<locals>":
        parts = parts[:-2]
    return parts[-1].lstrip("_") if parts else ""


class _Mangled(ast.NodeVisitor):
    """Gives private names of a class the form in which Python keeps them."""

    def __init__(self, owner):
        self.owner = owner

    def _name(self, name):
        private = name and name.startswith("__") and not name.endswith("__") and "." not in name
        return f"_{self.owner}{name}" if private else name

    def generic_visit(self, node):
        for field in ("id", "attr", "arg", "name", "asname"):
            if isinstance(getattr(node, field, None), str):
                setattr(node, field, self._name(getattr(node, field)))
        if isinstance(node, (ast.Global, ast.Nonlocal)):
            node.names = [self._name(name) for name in node.names]
        super().generic_visit(node)

    def visit_ClassDef(self, node):
        """Names in a class of its own are that class's; Python mangles them when it compiles it."""

"""From a Python function to its converted form: control flow turned into calls of operators.

The rewriting of `break`, `continue`, `return` and variables is diastatic-malt's (AutoGraph as a
library); the order of passes, the compiled form and all operators are Gyre's. Converted code is
compiled under the user's file name and line numbers, so that tracebacks, warnings and the lines that
nodes carry are the user's own without any translation.
"""

import ast
import functools
import importlib.util  # noqa: F401  malt needs it imported
import inspect
import re
import threading
import types
import weakref

from malt.converters import (asserts, break_statements, call_trees, continue_statements, functions,
                             logical_expressions, return_statements, variables)
from malt.core import converter
from malt.impl import api
from malt.pyct import anno, ast_util, errors, parser, transpiler

from gyre._impl.autograph import blocks, generators, needs, passes

_FACTORY = "inner_factory"
_GENERATED = re.compile(
    r"(ag__)?(if_body|else_body|loop_body|loop_test|extra_test|get_state|set_state)(_\d+)?$")

# Code objects of blocks (bodies of ifs and loops) that conversion made functions of.
block_codes = set()


class Unconvertible(Exception):
    """Why a function runs as it is. `args`: (what, file, line)."""

    def __str__(self):
        what, file, line = self.args
        return f"{what} ({file}:{line})"


class _Reads(variables.VariableAccessTransformer):
    """Malt's last pass, without a template for each name that is read."""

    def visit_Name(self, node):
        if not isinstance(node.ctx, ast.Load) or not anno.hasanno(node, anno.Static.ORIG_DEFINITIONS):
            return node
        operator = ast.Attribute(ast.Name("ag__", ctx=ast.Load()), "ld", ctx=ast.Load())
        return ast.Call(func=operator, args=[node], keywords=[])


class _Converter(api.PyToPy):
    """Malt's transpiler with Gyre's passes."""

    def transform_ast(self, node, ctx):
        if generators.is_generator(node):
            node.decorator_list = []
            return generators.rewrite(node)
        aside = generators.SetAside()
        node = aside.take(node)
        node = passes.lower_else_of_loops(node, ctx)
        node = passes.lower_match(node, ctx)
        node = passes.chain_comparisons(node)
        node = passes.fill_bodies(node)
        kinds = needs.kinds(node)
        node = self.initial_analysis(node, ctx)
        node = functions.FunctionTransformer(ctx).visit(node)
        node = passes.take_directives(node, ctx)
        if ast.Break in kinds:
            node = break_statements.transform(node, ctx)
        if ast.Assert in kinds:
            node = asserts.transform(node, ctx)
        if ast.Break in kinds or ast.Continue in kinds:
            node = continue_statements.transform(node, ctx)
        if not needs.return_at_end(node):
            node = return_statements.transform(node, ctx)
        if needs.grows_lists(node):
            node = passes.convert_lists(node, ctx)
        node = call_trees.transform(node, ctx)
        node = blocks.transform(node, ctx)
        if ast.IfExp in kinds:
            node = passes.convert_conditional_expressions(node)
        if not needs.kinds(node).isdisjoint((ast.BoolOp, ast.Not)):
            node = logical_expressions.transform(node, ctx)
        return aside.put_back(_Reads(ctx).visit(node))

    def convert(self, fn):
        """(AST of the converted function, context)."""
        return transpiler.GenericTranspiler.transform_function(self, fn, _context())


class _Options(converter.ConversionOptions):
    """Gyre has one set of options: converted code need not say it."""

    def to_ast(self):
        return ast.Constant(None)

    def call_options(self):
        return self


@functools.cache
def _context():
    features = (converter.Feature.BUILTIN_FUNCTIONS, converter.Feature.ASSERT_STATEMENTS)
    return converter.ProgramContext(options=_Options(
        recursive=True, user_requested=True, optional_features=features))


_converter = _Converter()
# By the identity of a function's code: codes of equal text at equal lines of two files are equal.
_factories = {}  # id -> (the code, weakly; the code of the factory, or why there is none)
_lock = threading.RLock()


def convert(fn):
    """The converted form of a Python function: same signature, closure, globals and defaults.
    Raises Unconvertible."""
    code = fn.__code__
    found = _known(code)
    if found is None:
        with _lock:
            found = _known(code)
            if found is None:
                try:
                    found = _make_factory(fn)
                except Unconvertible as error:
                    found = error
                key = id(code)
                _factories[key] = weakref.ref(code, lambda _: _factories.pop(key, None)), found
    if isinstance(found, Unconvertible):
        raise Unconvertible(*found.args)
    return _instantiate(found, fn)


def _known(code):
    known, found = _factories.get(id(code), (None, None))
    return found if known is not None and known() is code else None


def _instantiate(factory_code, fn):
    from gyre._impl.autograph import operators
    cells = dict(zip(fn.__code__.co_freevars, fn.__closure__ or ()))
    closure = tuple(cells.get(name) or types.CellType() for name in factory_code.co_freevars)
    factory = types.FunctionType(factory_code, fn.__globals__, fn.__name__, None, closure)
    converted = factory(operators)
    converted.__defaults__ = fn.__defaults__
    converted.__kwdefaults__ = fn.__kwdefaults__
    converted.__name__ = fn.__name__
    converted.__qualname__ = fn.__qualname__
    converted.autograph_info__ = {}
    return converted


def _refuse_early(fn):
    code = fn.__code__
    place = (code.co_filename, code.co_firstlineno)
    if code.co_flags & (inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR):
        raise Unconvertible(f"{fn.__qualname__} is an async function, which cannot be traced", *place)


def _make_factory(fn):
    _refuse_early(fn)
    place = (fn.__code__.co_filename, fn.__code__.co_firstlineno)
    try:
        nodes, ctx = _converter.convert(fn)
    except passes.NotConverted as error:
        raise Unconvertible(error.args[0], place[0], place[1] + error.args[1] - 1) from None
    except (errors.InaccessibleSourceCodeError, OSError):
        raise Unconvertible(f"the source of {fn.__qualname__} cannot be read", *place) from None
    except errors.UnsupportedLanguageElementError as error:
        raise Unconvertible(f"{fn.__qualname__}: {error}", *place) from None
    except (AssertionError, NotImplementedError, ValueError, KeyError, AttributeError,
            SyntaxError) as error:
        raise Unconvertible(f"{fn.__qualname__} uses what conversion does not know "
                            f"({type(error).__name__}: {error})", *place) from None
    if isinstance(nodes, ast.Lambda):
        nodes = ast.Assign(targets=[ast.Name(ctx.info.name, ctx=ast.Store())], value=nodes)
    else:
        nodes.name = ctx.info.name
    return _compile(_wrapped(nodes, ctx, fn.__code__.co_freevars), fn)


def _wrapped(node, ctx, free_names):
    """The statements of a module: in a factory, so that free names are free in what it makes."""
    declared = "".join(f" {name} = None\n" for name in free_names)
    module = ast.parse(
        "".join(f"from __future__ import {feature}\n" for feature in ctx.info.future_features)
        + f"def outer_factory():\n{declared} def {_FACTORY}(ag__):\n  return {ctx.info.name}\n"
        f" return {_FACTORY}")
    module.body[-1].body[-2].body.insert(0, node)
    return module.body


def _compile(nodes, fn):
    """The code object of the inner factory, with the lines of the original."""
    source = parser.unparse(nodes, include_encoding_marker=False)
    tree = ast.parse(source)
    last = source.count("\n") + 1
    lines = _line_map(nodes, tree, last, fn.__code__.co_firstlineno)
    for node in ast.walk(tree):
        if hasattr(node, "lineno"):
            node.lineno = node.end_lineno = lines[node.lineno]
            node.col_offset = node.end_col_offset = -1  # columns are not the original's
    module = compile(tree, fn.__code__.co_filename, "exec", dont_inherit=True)
    code = _rename(module, fn.__code__.co_name, fn.__code__.co_qualname)
    return _find(code, _FACTORY)


def _line_map(nodes, tree, last, first):
    """Line of the converted source -> line of the original. What has none takes the next one's."""
    lines, columns = [0] * (last + 1), {}
    for before, after in ast_util.parallel_walk(nodes, tree.body):
        origin = anno.getanno(before, anno.Basic.ORIGIN, default=None)
        number = getattr(after, "lineno", None)
        if origin is None or number is None:
            continue
        if after.col_offset < columns.get(number, 1 << 30):  # the outermost node of the line
            columns[number] = after.col_offset
            lines[number] = origin.loc.lineno
    stated = sorted(set(lines) - {0})
    if len(stated) > 1:  # what malt adds has the line of the def: it belongs to what stands around it
        lines = [0 if number == stated[0] else number for number in lines]
    following = 0
    for number in range(last, -1, -1):
        following = lines[number] = lines[number] or following
    for number in range(last + 1):  # the tail: takes the one before
        first = lines[number] = lines[number] or first
    return lines


def _rename(code, name, qualname):
    """Gives generated blocks the name of the function that they are of."""
    constants = []
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            if _GENERATED.match(constant.co_name):
                constant = _rename(constant, name, qualname)
                constant = constant.replace(co_name=name, co_qualname=qualname)
                block_codes.add(constant)
            elif constant.co_name.startswith("ag__"):
                constant = _rename(constant, name, qualname)
                constant = constant.replace(co_name=name, co_qualname=qualname)
            elif constant.co_name.startswith("<"):
                constant = _rename(constant, name, qualname)
                if constant.co_name == "<lambda>" and name != "<lambda>":
                    constant = constant.replace(co_name=name, co_qualname=qualname)
            elif constant.co_name in (_FACTORY, "outer_factory"):
                constant = _rename(constant, name, qualname)
            else:
                inner = f"{qualname}.<locals>.{constant.co_name}"
                constant = _rename(constant, constant.co_name, inner)
                constant = constant.replace(co_qualname=inner)
        constants.append(constant)
    return code.replace(co_consts=tuple(constants))


def _find(code, name):
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            if constant.co_name == name:
                return constant
            found = _find(constant, name)
            if found:
                return found
    return None


def to_code(fn):
    """The converted source, to be read."""
    nodes, _ = _converter.convert(fn)
    return parser.unparse(nodes, include_encoding_marker=False)

"""From the syntax tree of a converted function to code,
under the file name and lines of the user's."""

import __future__

import ast
import types

from gyre._impl.autograph.conversion.blocks import GENERATED
from gyre._impl.autograph.conversion.tree import assign, function, load, parameters
from gyre._impl.tracing.lines import block_codes

_FACTORY = "ag__factory"
_FUTURE = 0
for _name in __future__.all_feature_names:
    _FUTURE |= getattr(__future__, _name).compiler_flag


def factory(node, fn):
    """The code of a function that makes the converted one, given its operators; `node` is the def.
    The names that are free in `fn` are free in it."""
    name = node.name = f"ag__{node.name}"
    inner = function(_FACTORY, parameters("ag__"), [node, ast.Return(load(name))])
    declared = [assign(free, ast.Constant(None)) for free in fn.__code__.co_freevars]
    outer = function("ag__outer", parameters(), [*declared, inner, ast.Return(load(_FACTORY))])
    module = ast.Module([_placed(outer, node)], type_ignores=[])
    code = compile(
        module,
        fn.__code__.co_filename,
        "exec",
        dont_inherit=True,
        flags=fn.__code__.co_flags & _FUTURE,
    )
    return _find(_rename(code, fn.__code__.co_name, fn.__code__.co_qualname), _FACTORY)


def _placed(root, node):
    """`root`, where what has no place takes that of what it stands in."""
    pending = [(root, node)]
    while pending:
        part, around = pending.pop()
        if "lineno" in part._attributes:
            if not hasattr(part, "lineno"):
                ast.copy_location(part, around)
            around = part
        pending.extend((child, around) for child in ast.iter_child_nodes(part))
    return root


def _rename(code, name, qualname):
    """Gives generated blocks the name of the function that they are of."""
    constants = []
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            inner = constant.co_name
            if inner.startswith(GENERATED):
                constant = _rename(constant, name, qualname)
                constant = constant.replace(co_name=name, co_qualname=qualname)
                block_codes.add(constant)
            elif inner in (_FACTORY, "ag__outer"):
                constant = _rename(constant, name, qualname)
            elif inner.startswith("ag__"):
                constant = _rename(constant, name, qualname)
                constant = constant.replace(co_name=name, co_qualname=qualname)
            elif inner.startswith("<"):
                constant = _rename(constant, name, qualname)
                if inner == "<lambda>" and name != "<lambda>":
                    constant = constant.replace(co_name=name, co_qualname=qualname)
            else:
                inner = f"{qualname}.<locals>.{inner}"
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

"""What converted code calls `ag__`: one name per construct."""

from gyre._impl.autograph.calls import converted_call
from gyre._impl.autograph.conditionals import (and_, assert_stmt, chain, if_exp, if_stmt, not_, or_)
from gyre._impl.autograph.generators import generator_test
from gyre._impl.autograph.lists import list_append, list_pop
from gyre._impl.autograph.loops import for_stmt, while_stmt
from gyre._impl.autograph.scopes import (ConversionOptions, Feature, FunctionScope,
                                         with_function_scope)
from gyre._impl.autograph.undefined import Undefined, UndefinedReturnValue, ld, ldu


def autograph_artifact(fn):
    """Marks a function that stands in converted code, and so is converted."""
    fn.autograph_info__ = {}
    return fn


__all__ = [
    "ConversionOptions", "Feature", "FunctionScope", "Undefined", "UndefinedReturnValue", "and_",
    "assert_stmt", "autograph_artifact", "chain", "converted_call", "for_stmt",
    "generator_test", "if_exp", "if_stmt", "ld", "ldu",
    "list_append", "list_pop", "not_", "or_", "while_stmt", "with_function_scope",
]

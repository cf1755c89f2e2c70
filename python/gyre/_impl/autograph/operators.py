"""What converted code calls `ag__`: one name per construct."""

from gyre._impl.autograph.calls import converted_call
from gyre._impl.autograph.conditionals import (and_, assert_stmt, chain, if_exp, if_stmt, not_, or_)
from gyre._impl.autograph.generators import generator_test
from gyre._impl.autograph.lists import (item_only, item_set, list_append, list_only, list_or,
                                        list_pop, list_set)
from gyre._impl.autograph.loops import for_stmt, while_stmt
from gyre._impl.autograph.matching import (match_argument, match_class, match_items, match_mapping,
                                           match_rest, match_sequence)
from gyre._impl.autograph.scopes import FunctionScope
from gyre._impl.autograph.undefined import Undefined, UndefinedReturnValue, ld, ldu


keywords = dict


def autograph_artifact(fn):
    """Marks a function that stands in converted code, and so is converted."""
    fn.autograph_info__ = {}
    return fn


__all__ = [
    "FunctionScope", "Undefined", "UndefinedReturnValue", "and_", "assert_stmt", "autograph_artifact",
    "chain", "converted_call", "for_stmt", "generator_test", "if_exp", "if_stmt", "item_only",
    "item_set", "keywords", "ld", "ldu", "list_append", "list_only", "list_or", "list_pop", "list_set",
    "match_argument", "match_class", "match_items", "match_mapping", "match_rest", "match_sequence", "not_",
    "or_", "while_stmt",
]

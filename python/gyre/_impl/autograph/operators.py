"""What converted code calls `ag__`: one name per construct. (Calls are in calls.py.)"""

from gyre._impl.autograph.arithmetic import augmented, binary, unary
from gyre._impl.autograph.conditionals import (
    and_,
    assert_stmt,
    chain,
    compare,
    if_exp,
    if_stmt,
    or_,
)
from gyre._impl.autograph.generators import generator_test
from gyre._impl.autograph.items import (
    get_item,
    item_of_state,
    set_item,
    set_item_of_outside,
    set_item_of_state,
    slice_,
    whole,
    whole_or,
)
from gyre._impl.autograph.loops import for_stmt, while_stmt
from gyre._impl.autograph.matching import (
    match_argument,
    match_class,
    match_items,
    match_mapping,
    match_rest,
    match_sequence,
)
from gyre._impl.autograph.objects import get_attr, iterable, managed, set_attr
from gyre._impl.autograph.scopes import FunctionScope
from gyre._impl.autograph.truth import not_, python_test
from gyre._impl.tracing.lists import list_append, list_pop
from gyre._impl.tracing.raising import caught
from gyre._impl.tracing.undefined import Undefined, UndefinedReturnValue, ld, ldu

keywords = dict


def autograph_artifact(fn):
    """Marks a function that stands in converted code, and so is converted."""
    fn.autograph_info__ = {}
    return fn


__all__ = [
    "FunctionScope",
    "Undefined",
    "UndefinedReturnValue",
    "and_",
    "assert_stmt",
    "augmented",
    "autograph_artifact",
    "binary",
    "caught",
    "chain",
    "compare",
    "for_stmt",
    "generator_test",
    "get_attr",
    "get_item",
    "if_exp",
    "if_stmt",
    "item_of_state",
    "iterable",
    "keywords",
    "ld",
    "ldu",
    "list_append",
    "list_pop",
    "managed",
    "match_argument",
    "match_class",
    "match_items",
    "match_mapping",
    "match_rest",
    "match_sequence",
    "not_",
    "or_",
    "python_test",
    "set_attr",
    "set_item",
    "set_item_of_outside",
    "set_item_of_state",
    "slice_",
    "unary",
    "while_stmt",
    "whole",
    "whole_or",
]

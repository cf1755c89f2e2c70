"""Assertions and prints of graphs: operations, which run where control_dependencies name them."""

from __future__ import annotations

import functools

from gyre import _gyre
from gyre._gyre import Tensor
from gyre._impl.compat.v1.group import no_op
from gyre._impl.control_flow import asserts
from gyre._impl.control_flow import print as prints
from gyre._impl.graphs.graph import current, has_default_graph


def operation(fn, check_only: bool = True):
    """A function that adds an operation and returns nothing, as one that returns that operation."""

    @functools.wraps(fn)
    def function(*args, **kwargs):
        if not has_default_graph():
            return fn(*args, **kwargs)
        graph = current()
        before = graph.version
        result = fn(*args, **kwargs)
        if result is not None and not check_only:
            return result
        added = graph.version > before or _gyre.in_body() and _gyre.last_node() is not None
        last = graph.last_operation() if added else None
        return last if last is not None and last.type in ("Assert", "PrintV2") else no_op()

    return function


Assert = operation(asserts.Assert)
print = operation(prints.print)
_NAMES = (
    "assert_equal",
    "assert_greater",
    "assert_greater_equal",
    "assert_integer",
    "assert_less",
    "assert_less_equal",
    "assert_near",
    "assert_negative",
    "assert_non_negative",
    "assert_non_positive",
    "assert_none_equal",
    "assert_positive",
    "assert_rank",
    "assert_rank_at_least",
    "assert_rank_in",
    "assert_type",
)


def _with_data(fn):
    """TensorFlow 1 has `data` before `summarize` and `message`; all are given by name."""

    @functools.wraps(fn)
    def function(*args, data=None, summarize=None, message=None, name=None):
        del data
        return fn(
            *args,
            **{
                k: v
                for k, v in (("message", message), ("summarize", summarize), ("name", name))
                if v is not None
            },
        )

    return function


for _name in _NAMES:
    globals()[_name] = operation(_with_data(getattr(asserts, _name)))


def Print(
    input_, data, message: str | None = None, first_n=None, summarize=None, name: str | None = None
) -> Tensor:
    """`input_`, unchanged; when it is computed, `data` (a list of tensors) is written to stderr.
    first_n: only so many times. summarize: how many elements of each."""
    inputs = [_gyre.convert(value) for value in data]
    value = _gyre.convert(input_)
    return _gyre.execute(
        "Print",
        [value, inputs],
        {
            "message": message or "",
            "first_n": -1 if first_n is None else first_n,
            "summarize": 3 if summarize is None else summarize,
        },
        name,
    )[0]

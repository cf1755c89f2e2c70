"""cond: one of two branches, by a bool."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gyre import _gyre
from gyre._impl.control_flow.branches import as_tensors, callable_of, is_static
from gyre._impl.control_flow.merging import merge
from gyre._impl.device import within_construct
from gyre._impl.tracing.lines import place
from gyre._impl.tracing.state import Recursion, condition, state


def _differ(name, at, then, otherwise, why):
    return (
        f"the branches of {name} at {at} must return values of the same structure and dtypes: "
        f"{why}. true_fn returns {then.describe()}, false_fn returns {otherwise.describe()}"
    )


def cond(
    pred,
    true_fn: Callable[[], Any] | None = None,
    false_fn: Callable[[], Any] | None = None,
    name: str | None = None,
) -> Any:
    """true_fn() if `pred` is true, else false_fn(). Only that branch runs.

    pred: a bool scalar, or a tensor of one element. A Python bool or an eager tensor decides at
    once.
    Both branches return equal structures with equal dtypes; shapes may differ.
    TypeError if they do not, or if a branch is not callable."""
    if true_fn is None or false_fn is None:
        raise TypeError("cond needs both true_fn and false_fn")
    true_fn, false_fn = callable_of(true_fn, "true_fn"), callable_of(false_fn, "false_fn")
    pred = condition(pred)
    if is_static(pred):
        return as_tensors(true_fn() if pred else false_fn())
    if pred._dims != ():
        pred = _gyre.execute("Squeeze", [pred])[0]
    if state.probing:
        try:
            return true_fn()
        except Recursion:
            return false_fn()
    label = f"cond {name!r}" if name else "cond"

    def branch(fn):
        with within_construct(name or "cond"):
            return [as_tensors(fn())]

    return merge(
        pred,
        lambda: branch(true_fn),
        lambda: branch(false_fn),
        [label],
        place(),
        _differ,
        name=name or "cond",
    )[0]

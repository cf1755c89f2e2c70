"""Collectives: what the ranks of a launch compute together, eagerly and in graphs."""

from __future__ import annotations

import operator
import weakref

from gyre import _gyre
from gyre._gyre import Tensor
from gyre._impl.annotations import TensorLike
from gyre._impl.convert import call, calls, convert_to_tensor

# The group of all ranks.
_WORLD = 1
# By what merges contributions here: merge_op and final_op of the ops.
_MERGES = {
    "sum": ("Add", "Id"),
    "mean": ("Add", "Div"),
    "prod": ("Mul", "Id"),
    "min": ("Min", "Id"),
    "max": ("Max", "Id"),
}
# How many collectives each graph holds by now.
_counts: weakref.WeakKeyDictionary = weakref.WeakKeyDictionary()


def all_reduce(
    value: TensorLike, op: str = "sum", *, timeout: float = 0.0, name: str | None = None
) -> Tensor:
    """What all ranks bring, merged element by element, for each of them.

    op: "sum", "mean", "prod", "min" or "max". They are merged in the order of the ranks, so that
    all get the same bits. timeout: DeadlineExceededError after so many seconds; 0: as long as the
    run may take. InvalidArgumentError where the ranks bring different shapes or types.
    """
    merge_op, final_op = _merge(op)
    return call(
        "CollectiveReduceV2",
        convert_to_tensor(value),
        *_keys(),
        [],
        merge_op=merge_op,
        final_op=final_op,
        timeout_seconds=float(timeout),
        name=name,
    )


def reduce_scatter(
    value: TensorLike, op: str = "sum", *, timeout: float = 0.0, name: str | None = None
) -> Tensor:
    """As all_reduce, of which rank i gets the i-th part of the rows alone: their number is a
    multiple of that of the ranks."""
    merge_op, final_op = _merge(op)
    return call(
        "CollectiveReduceScatterV2",
        convert_to_tensor(value),
        *_keys(),
        [],
        merge_op=merge_op,
        final_op=final_op,
        timeout_seconds=float(timeout),
        name=name,
    )


def all_gather(value: TensorLike, *, timeout: float = 0.0, name: str | None = None) -> Tensor:
    """The rows of all ranks, in their order, for each of them. All bring tensors of one shape."""
    return call(
        "CollectiveGatherV2",
        convert_to_tensor(value),
        *_keys(),
        [],
        timeout_seconds=float(timeout),
        name=name,
    )


def all_to_all(value: TensorLike, *, timeout: float = 0.0, name: str | None = None) -> Tensor:
    """Part j of the rows goes to rank j: the result has the parts of all ranks that were for this
    one, in their order. The number of rows is a multiple of that of the ranks."""
    return call(
        "CollectiveAllToAllV2",
        convert_to_tensor(value),
        *_keys(),
        [],
        timeout_seconds=float(timeout),
        name=name,
    )


def broadcast(value: TensorLike, root: int = 0, *, name: str | None = None) -> Tensor:
    """What rank `root` has, for all. The others bring a tensor of the same shape and type.
    TypeError for a root that is no integer."""
    if isinstance(root, bool):
        raise TypeError(f"root is the number of a rank, not {root}")
    root = operator.index(root)
    return call("_CollectiveBroadcast", convert_to_tensor(value), *_keys(), root=root, name=name)


def barrier(*, timeout: float = 0.0, name: str | None = None) -> None:
    """Waits until all ranks have come. In a graph, what has effects comes before it or after."""
    calls("_CollectiveBarrier", *_keys(), timeout_seconds=float(timeout), name=name)


def _merge(op: str) -> tuple[str, str]:
    try:
        return _MERGES[op]
    except KeyError:
        raise ValueError(f"op is one of {', '.join(_MERGES)}, not {op!r}") from None


def _keys() -> tuple[int, int, int]:
    """group_size, group_key and instance_key of the next collective: in a graph, another one for
    each, the same on all ranks that trace the same program."""
    _, size = _gyre.rank_and_size()
    graph = _gyre.current_graph()
    if graph is None:
        return size, _WORLD, 0
    _counts[graph] = instance = _counts.get(graph, 0) + 1
    return size, _WORLD, instance

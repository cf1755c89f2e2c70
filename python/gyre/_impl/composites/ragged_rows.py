"""Rows of ragged tensors: taken, repeated, and broadcast to each other's.

What is here takes ragged tensors as it finds them, values and row splits; the class that users
see (ragged.py) is made on top of it.
"""

from __future__ import annotations

from gyre import _gyre
from gyre._impl import errors
from gyre._impl.annotations import Any
from gyre._impl.composites.composite import INT64
from gyre._impl.ops import table

_execute = _gyre.execute


class Rows:
    """What ragged tensors have: `values`, and `row_splits` (int64), which part them into rows. The
    values may have rows themselves."""

    values: Any
    row_splits: Any
    # Whether each row is known to be one value, as an axis of size 1 is made.
    has_rows_of_one = False

    def __init__(self, values, row_splits):
        self.values, self.row_splits = values, row_splits


def op(name: str, *inputs, **attrs):
    """The one result of an op."""
    return _execute(name, inputs, attrs)[0]


def int64(number: int):
    """A number as an int64 tensor."""
    return _gyre.convert(number, INT64)


def count_to(limit):
    """0, 1, … before `limit`, as int64."""
    return op("Range", int64(0), limit, int64(1))


def splits_of(lengths):
    """Row splits of rows of these lengths."""
    return op("ConcatV2", [_gyre.convert([0], INT64), op("Cumsum", lengths, 0)], 0)


def lengths_of(x: Rows):
    """How long each row is."""
    return op("Sub", x.row_splits[1:], x.row_splits[:-1])


def count_of(x):
    """How many rows there are, of a tensor or a ragged one: an int64 scalar."""
    if isinstance(x, Rows):
        return op("Sub", op("Size", x.row_splits, out_type=INT64), int64(1))
    return op("Shape", x, out_type=INT64)[0]


def known_count(x) -> int | None:
    """The same where it is known beforehand."""
    dims = x.row_splits._dims if isinstance(x, Rows) else x._dims
    if dims is None or dims[0] is None:
        return None
    return dims[0] - 1 if isinstance(x, Rows) else dims[0]


def row_ids(lengths):
    """For each element of rows of these lengths the row that it is in."""
    return table.repeat(count_to(op("Size", lengths, out_type=INT64)), lengths)


def innermost(x):
    """The values that have no rows of their own: a tensor."""
    while isinstance(x, Rows):
        x = x.values
    return x


def all_splits(x) -> list:
    """The row splits of all ragged axes, outermost first."""
    found = []
    while isinstance(x, Rows):
        found.append(x.row_splits)
        x = x.values
    return found


def with_splits(values, splits, like: Rows):
    """Values with the rows that several splits make, outermost first."""
    for one in reversed(splits):
        values = type(like)(values, one)
    return values


def with_innermost(x: Rows, values):
    """The same rows of other innermost values."""
    return with_splits(values, all_splits(x), x)


def rank_of(x) -> Any:
    """The number of axes, an int; None where it is not known."""
    dims = innermost(x)._dims
    return None if dims is None else len(all_splits(x)) + len(dims)


def take(x, places, name: str | None = None) -> Any:
    """Rows of a tensor or a ragged one, by number, in the places of the numbers: of a tensor of
    int32 or int64 with an axis at least."""
    if not isinstance(x, Rows):
        return _execute("GatherV2", [x, places, 0], {}, name)[0]
    splits = all_splits(x)
    rank = len(splits) + len(places._dims) - 1
    parts = _execute(
        "RaggedGather", [splits, innermost(x), places], {"OUTPUT_RAGGED_RANK": rank}, name
    )
    return with_splits(parts[-1], parts[:-1], x)


def with_first_axis(x):
    """The same as the one row of a tensor or a ragged one."""
    if not isinstance(x, Rows):
        return op("ExpandDims", x, 0)
    return type(x)(x, op("Pack", [int64(0), count_of(x)]))


def require(condition, message: str, value):
    """The tensor `value`. InvalidArgumentError with the message unless a bool tensor is true; in a
    graph, when it runs, and before anything of the value does."""
    if condition.is_symbolic:
        _execute("Assert", [condition, [_gyre.convert(message)]], {"summarize": 3})
        check = _gyre.last_node()
        with _gyre.current_graph().control_scope([] if check is None else [check]):
            return op("Identity", value)
    if not condition.numpy():
        raise errors.InvalidArgumentError(None, None, message)
    return value


def holds(condition) -> bool | None:
    """The truth of a bool tensor; None in a graph, where it is not known yet."""
    return None if condition.is_symbolic else bool(condition.numpy())


def same(a, b) -> bool:
    """Whether two tensors are known to be equal."""
    if a is b:
        return True
    if a.is_symbolic or b.is_symbolic:
        return False
    a, b = a.numpy(), b.numpy()
    return a.shape == b.shape and bool((a == b).all())


def count_axes(x):
    """The numbers of all axes of a tensor."""
    return op("Range", 0, op("Rank", x), 1)


def require_same_rows(a: Rows, b: Rows, message: str) -> Any:
    """The first of two ragged tensors. InvalidArgumentError with the message unless both have the
    same outermost rows; in a graph, when it runs, and before anything of its values does."""
    if same(a.row_splits, b.row_splits):
        return a
    equal = op("Equal", a.row_splits, b.row_splits, incompatible_shape_error=False)
    return with_innermost(a, require(op("All", equal, count_axes(equal)), message, innermost(a)))


def have_same_rows(a: Rows, b: Rows) -> bool:
    """Whether two ragged tensors are known to have the same rows."""
    mine, theirs = all_splits(a), all_splits(b)
    return len(mine) == len(theirs) and all(map(same, mine, theirs))


# ---- Broadcasting
#
# As numpy does, axes are matched from the last one. An axis of size 1 is stretched to the size, or
# the row lengths, of the others.


def aligned(operands: list) -> tuple[list, list]:
    """Tensors and ragged tensors, broadcast to each other as far as rows go: their innermost
    values, and the row splits of the whole. Numbers stay as they are."""
    ragged = [x for x in operands if isinstance(x, Rows)]
    inner = min(rank_of(innermost(x)) or 1 for x in ragged)
    deep = [x for x in operands if isinstance(x, Rows) or _reaches_rows(x, inner)]
    first = ragged[0]
    if len(deep) == len(ragged) and all(
        have_same_rows(first, x) and rank_of(x) == rank_of(first) for x in ragged[1:]
    ):
        return [innermost(x) if isinstance(x, Rows) else x for x in operands], all_splits(first)
    ranks = [rank_of(x) for x in deep]
    if None in ranks:
        raise ValueError("ragged tensors are broadcast with what has a known rank")
    rank = max(ranks)
    widened = []
    for x, own in zip(deep, ranks, strict=True):
        for _ in range(rank - own):
            x = with_first_axis(x)
        widened.append(x)
    values, splits = _rows_aligned(_counts_aligned(widened))
    made = iter(values)
    return [
        next(made) if isinstance(x, Rows) or _reaches_rows(x, inner) else x for x in operands
    ], splits


def _reaches_rows(x, inner: int) -> bool:
    """Whether a tensor has axes that are rows beside values of rank `inner`."""
    return isinstance(x, _gyre.Tensor) and (x._dims is None or len(x._dims) >= inner > 0)


def _counts_aligned(operands: list) -> list:
    """With equally many rows."""
    counts = [known_count(x) for x in operands]
    if None not in counts and len(set(counts)) == 1:
        return operands
    sizes = [count_of(x) for x in operands]
    most = sizes[0]
    for size in sizes[1:]:
        most = op("SelectV2", op("Equal", most, int64(1)), size, most)
    made = []
    for x, size in zip(operands, sizes, strict=True):
        if holds(op("Equal", size, most)):
            made.append(x)
            continue
        is_one = op("Equal", size, int64(1))
        rows = require(
            op("LogicalOr", is_one, op("Equal", size, most)),
            "ragged tensors cannot be broadcast to each other: their numbers of rows differ",
            count_to(most),
        )
        places = op("Mul", rows, op("Cast", op("LogicalNot", is_one), DstT=INT64))
        made.append(take(x, places))
    return made


def _rows_aligned(operands: list) -> tuple[list, list]:
    """Of tensors of one rank with equally many rows: innermost values, row splits of the whole."""
    first = next((x for x in operands if isinstance(x, Rows)), None)
    if first is None:
        return operands, []
    if all(isinstance(x, Rows) and same(first.row_splits, x.row_splits) for x in operands):
        values, rest = _rows_aligned([x.values for x in operands])
        return values, [first.row_splits, *rest]
    lengths = [_lengths_in(x) for x in operands]
    ones = [_is_of_size_1(x) for x in operands]
    whole, so_far = lengths[0], ones[0]
    for own, is_one in zip(lengths[1:], ones[1:], strict=True):
        whole = _either(so_far, own, whole)
        so_far = _both(so_far, is_one)
    splits = splits_of(whole)
    made = [
        _stretched(x, own, is_one, whole, splits)
        for x, own, is_one in zip(operands, lengths, ones, strict=True)
    ]
    values, rest = _rows_aligned(made)
    return values, [splits, *rest]


def _either(condition, x, y):
    """x or y, by a condition that is known or a tensor."""
    return (
        (x if condition else y) if isinstance(condition, bool) else op("SelectV2", condition, x, y)
    )


def _both(a, b):
    if isinstance(a, bool):
        return b if a else False
    if isinstance(b, bool):
        return a if b else False
    return op("LogicalAnd", a, b)


def _is_of_size_1(x):
    """Whether the second axis is of size 1, and no ragged one: known, or a tensor."""
    if isinstance(x, Rows):
        return x.has_rows_of_one
    if x._dims is not None and x._dims[1] is not None:
        return x._dims[1] == 1
    return op("Equal", op("Shape", x, out_type=INT64)[1], int64(1))


def _lengths_in(x):
    """The row lengths of a ragged tensor, or of a tensor whose second axis counts them."""
    if isinstance(x, Rows):
        return lengths_of(x)
    shape = op("Shape", x, out_type=INT64)
    return op("BroadcastTo", shape[1], op("ExpandDims", shape[0], 0))


def _stretched(x, lengths, is_one, whole, splits):
    """The values of x in rows as long as those of the whole."""
    if isinstance(x, Rows):
        values = x.values
    else:
        dims = op("Shape", x, out_type=INT64)
        merged = op("ExpandDims", op("Mul", dims[0], dims[1]), 0)
        values = op("Reshape", x, op("ConcatV2", [merged, dims[2:]], 0))
    if is_one is True:
        return take(values, row_ids(whole))
    if lengths is whole:
        return values
    fits = op("All", op("Equal", lengths, whole), [0])
    if holds(fits):
        return values
    values = require(
        fits if is_one is False else op("LogicalOr", is_one, fits),
        "ragged tensors cannot be broadcast to each other: their rows are of different lengths",
        values,
    )
    if is_one is False:
        return values
    return take(values, _either(is_one, row_ids(whole), count_to(splits[-1])))

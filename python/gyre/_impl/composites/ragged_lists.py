"""Ragged tensors of nested Python lists."""

from __future__ import annotations

from gyre import _gyre
from gyre._impl import nest
from gyre._impl.annotations import Any
from gyre._impl.composites.composite import INT64
from gyre._impl.composites.ragged import RaggedTensor
from gyre._impl.unsupported import refuse


def ragged_constant(
    pylist, dtype=None, ragged_rank=None, inner_shape=None, name=None, row_splits_dtype=None
) -> Any:
    """A RaggedTensor of nested Python lists. ragged_rank: how many axes are ragged; inner_shape:
    the shape of what lies within these. By default all axes but the first are. ValueError where the
    lists are not nested alike, or contradict these; NotImplementedError for row splits that are not
    int64."""
    refuse(
        row_splits_dtype is not None and _gyre.as_dtype(row_splits_dtype) != INT64,
        f"row_splits_dtype={row_splits_dtype!r}",
        "row_splits are int64",
    )
    try:
        rows = _listed(pylist, nest.Walk(pylist, False))
        scalars, depth = _depths(rows, nest.Walk(rows, False))
    except RecursionError:
        raise RecursionError("the lists are nested too deep, or contain themselves") from None
    dtype = None if dtype is None else _gyre.as_dtype(dtype)
    if scalars is not None and depth > scalars:
        raise ValueError("all numbers or texts must lie equally deep in the lists")
    inner = None if inner_shape is None else _sizes(inner_shape)
    if ragged_rank is None:
        ragged_rank = max(depth - 1 - len(inner or ()), 0 if inner is not None or depth < 2 else 1)
    if not isinstance(rows, list):
        if ragged_rank or inner:
            raise ValueError(f"{pylist!r} is no list of rows")
        return _gyre.convert(rows, dtype)
    if scalars is not None and ragged_rank >= max(depth, 1):
        raise ValueError(f"lists that are nested {depth} deep have no {ragged_rank} ragged axes")
    return _ragged(rows, ragged_rank, dtype, inner)


def _sizes(shape) -> list:
    return list(shape) if isinstance(shape, (list, tuple)) else [int(shape)]


def _listed(rows, walk):
    """With arrays as lists."""
    if hasattr(rows, "tolist") and not isinstance(rows, _gyre.Tensor):
        return rows.tolist()
    if isinstance(rows, (list, tuple)):
        walk.visit(rows)
        return (
            [_listed(row, walk) for row in rows]
            if any(hasattr(row, "tolist") or isinstance(row, tuple) for row in rows)
            else list(rows)
        )
    return rows


def _depths(rows, walk):
    """(how deep the first element lies that is no list, None if there is none; how deep lists are
    nested)"""
    if not isinstance(rows, (list, tuple)):
        return 0, 0
    walk.visit(rows)
    scalars, depth = None, 1
    for row in rows:
        own, inner = _depths(row, walk)
        if own is not None:
            if scalars is not None and scalars != own + 1:
                raise ValueError("all numbers or texts must lie equally deep in the lists")
            scalars = own + 1
        depth = max(depth, inner + 1)
    return scalars, depth


def _ragged(rows, depth: int, dtype, inner):
    if depth == 0:
        if inner is None or rows:
            values = _gyre.convert(rows, dtype or (None if rows else _gyre.as_dtype("float32")))
        else:
            values = _gyre.execute("Reshape", [_empty(dtype), [0, *inner]])[0]
        if inner is not None and list(values._dims[1:]) != inner:
            raise ValueError(f"inner_shape is {inner}, but the lists have {list(values._dims[1:])}")
        return values
    splits, within = [0], []
    for row in rows:
        if not isinstance(row, (list, tuple)):
            raise ValueError("all numbers or texts must lie equally deep in the lists")
        within.extend(row)
        splits.append(len(within))
    return RaggedTensor(_ragged(within, depth - 1, dtype, inner), _gyre.convert(splits, INT64))


def _empty(dtype):
    return _gyre.convert([], dtype or _gyre.as_dtype("float32"))

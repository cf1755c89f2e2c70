"""Ragged tensors as variants: each is one where rows of different lengths must be stacked."""

from __future__ import annotations

from gyre import _gyre
from gyre._impl.composites.ragged import RaggedRowSpec, RaggedTensor, RaggedTensorSpec
from gyre._impl.composites.ragged_rows import all_splits, innermost, with_splits
from gyre._impl.spec import TensorSpec

VARIANT = _gyre.as_dtype("variant")


def is_ragged(spec) -> bool:
    """Whether values of a spec become ragged where they are stacked."""
    return isinstance(spec, (RaggedTensorSpec, RaggedRowSpec))


def spec_of_rows(x: RaggedTensor):
    """What describes each row."""
    return RaggedTensorSpec(x.shape[1:], x.dtype, x.ragged_rank - 1)


def spec_of_stacked(spec, count=None):
    """What describes values of a spec, stacked."""
    shape = spec.shape
    whole = None if shape.rank is None else [count, *shape.as_list()]
    if is_ragged(spec):
        return RaggedTensorSpec(whole, spec.dtype, spec.ragged_rank + 1)
    return TensorSpec(whole, spec.dtype)


def encoded(x, by_row: bool = False):
    """A tensor or a ragged one as a scalar variant; with by_row its rows as a vector of these."""
    splits = all_splits(x)
    attrs = {"RAGGED_RANK": len(splits), "batched_input": by_row}
    return _gyre.execute("RaggedTensorToVariant", [splits, innermost(x)], attrs)[0]


def decoded(variants, spec, rank: int):
    """Of variants with `rank` axes (0 or 1) the value that they hold, of values of this spec."""
    outer = spec.ragged_rank + rank
    parts = _gyre.execute(
        "RaggedTensorFromVariant",
        [variants],
        {"input_ragged_rank": spec.ragged_rank, "output_ragged_rank": outer, "Tvalues": spec.dtype},
    )
    rows = variants._dims[0] if rank and variants._dims else None
    if rows is not None and parts[0].is_symbolic:
        parts[0].set_shape([rows + 1])
    values = parts[-1]
    dims = spec.shape._dims
    if dims is not None and values.is_symbolic:
        values.set_shape([None if outer else dims[0], *dims[spec.ragged_rank + 1 :]])
    return with_splits(values, parts[:-1], _LIKE)


_LIKE = object.__new__(RaggedTensor)

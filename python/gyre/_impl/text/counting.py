"""Counting values, and finding where they belong: bincount, histograms, sorted rows, distances."""

from __future__ import annotations

from gyre import _gyre
from gyre._gyre import Tensor
from gyre._impl.annotations import Any, TensorLike
from gyre._impl.composites.ragged import RaggedTensor
from gyre._impl.composites.sparse_tensor import SparseTensor
from gyre._impl.convert import call, calls, convert_to_tensor, same_dtype, to_integer
from gyre._impl.dtypes import DTypeLike
from gyre._impl.ops import elementwise as e
from gyre._impl.ops.table import reduce_max

_WIDE = ("uint32", "uint64")


def _bins(values, minlength, maxlength):
    """How many bins there are for these numbers, of their dtype."""
    dtype = values.dtype
    none = _gyre.convert([-1], dtype)
    flat = call("ConcatV2", [call("Reshape", values, [-1]), none], 0)
    one = _gyre.convert(1, dtype)
    last = reduce_max(flat)
    if maxlength is not None:
        # Before 1 is added, which the greatest number of the dtype does not bear.
        maxlength = to_integer(maxlength, "maxlength", dtype)
        last = call("Minimum", last, call("Sub", call("Maximum", maxlength, one), one))
    size = call("AddV2", last, one)
    if minlength is not None:
        size = call("Maximum", size, to_integer(minlength, "minlength", dtype))
    if maxlength is not None:
        size = call("Minimum", size, maxlength)
    return size


def _indices(values):
    given = values
    values = values if isinstance(values, _gyre.Tensor) else convert_to_tensor(values)
    if isinstance(given, (list, tuple)) and values._dims is not None and 0 in values._dims:
        return e.cast(values, "int32")  # No numbers, of no type.
    dtype = values.dtype
    if not dtype.is_integer and not dtype.is_bool:
        raise TypeError(f"bincount counts integers, not {dtype.name}; gyre.cast converts")
    if dtype.name in ("int32", "int64"):
        return values
    # Of uint64 what is greater than all int64: still greater than any bin.
    return e.saturate_cast(values, "int64") if dtype.name in _WIDE else e.cast(values, "int32")


def bincount(
    arr: TensorLike,
    weights: TensorLike | None = None,
    minlength=None,
    maxlength=None,
    dtype: DTypeLike = "int32",
    name: str | None = None,
    axis=None,
    binary_output: bool = False,
) -> Any:
    """How often (or with what weight) each of 0, 1, … stands in `arr`; values from `maxlength` on
    do not count. The result is as long as the greatest value asks for, at least `minlength`.

    axis: None, of all values; -1: of each row of a matrix, a ragged or a sparse tensor.
    binary_output: 1 for what is there at all."""
    if axis not in (None, 0, -1):
        raise ValueError(f"axis must be None, 0 or -1, not {axis}")
    if binary_output and weights is not None:
        raise ValueError("bincount takes weights or binary_output, not both")
    by_row = axis == -1
    dtype = _gyre.as_dtype(dtype)
    none = _gyre.convert([], dtype)
    attrs = {"binary_output": binary_output, "name": name}
    if isinstance(arr, (SparseTensor, RaggedTensor)):
        values = _indices(arr.values if isinstance(arr, SparseTensor) else arr.flat_values)
        if weights is not None:
            weights = getattr(weights, "flat_values", getattr(weights, "values", weights))
        size = _bins(values, minlength, maxlength)
        given = none if weights is None else convert_to_tensor(weights)
        if not by_row:
            return call("DenseBincount", values, size, given, **attrs)
        if isinstance(arr, SparseTensor):
            return call(
                "SparseBincount", arr.indices, values, arr.dense_shape, size, given, **attrs
            )
        return call("RaggedBincount", arr.row_splits, values, size, given, **attrs)
    values = _indices(arr)
    size = _bins(values, minlength, maxlength)
    given = none if weights is None else convert_to_tensor(weights)
    if not by_row:
        values = call("Reshape", values, [-1])
        given = call("Reshape", given, [-1])
    return call("DenseBincount", values, size, given, **attrs)


def histogram_fixed_width(
    values: TensorLike,
    value_range: TensorLike,
    nbins=100,
    dtype: DTypeLike = "int32",
    name: str | None = None,
) -> Tensor:
    """How many values fall into each of `nbins` bins of equal width between two numbers; those
    below and above are counted in the first and last."""
    values, value_range = same_dtype([values, value_range])
    values = call("Reshape", values, [-1])
    return call(
        "HistogramFixedWidth",
        values,
        value_range,
        to_integer(nbins, "nbins"),
        dtype=_gyre.as_dtype(dtype),
        name=name,
    )


def histogram_fixed_width_bins(
    values: TensorLike,
    value_range: TensorLike,
    nbins=100,
    dtype: DTypeLike = "int32",
    name: str | None = None,
) -> Tensor:
    """In which of these bins each value is counted."""
    values, value_range = same_dtype([values, value_range])
    low, high = value_range[0], value_range[1]
    parts = call("RealDiv", e.cast(values - low, "float64"), e.cast(high - low, "float64"))
    places = call("Floor", parts * e.cast(nbins, "float64"))
    last = e.cast(nbins, "float64") - 1.0
    places = call(
        "Maximum", call("Minimum", places, last), _gyre.convert(0.0, _gyre.as_dtype("float64"))
    )
    return call("Cast", places, DstT=_gyre.as_dtype(dtype), name=name)


def setdiff1d(x: TensorLike, y: TensorLike, index_dtype: DTypeLike = "int32", name=None) -> Any:
    """The elements of x that are not in y, and where they stand in x: (out, idx)."""
    x, y = same_dtype([x, y])
    return tuple(calls("ListDiff", x, y, out_idx=_gyre.as_dtype(index_dtype), name=name))


def edit_distance(
    hypothesis, truth, normalize: bool = True, name: str | None = "edit_distance"
) -> Tensor:
    """How many insertions, deletions and replacements make each sequence of `hypothesis` one of
    `truth`: SparseTensors, whose last dimension holds the sequences. normalize: in parts of the
    length of the truth."""
    for what, one in (("hypothesis", hypothesis), ("truth", truth)):
        if not isinstance(one, SparseTensor):
            raise TypeError(f"{what} must be a SparseTensor, not a {type(one).__name__}")
    return call(
        "EditDistance",
        hypothesis.indices,
        hypothesis.values,
        hypothesis.dense_shape,
        truth.indices,
        truth.values,
        truth.dense_shape,
        normalize=normalize,
        name=name if name != "edit_distance" else None,
    )

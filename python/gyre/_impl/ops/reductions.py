"""The largest elements, counts and confusion matrices."""

from __future__ import annotations

from gyre import _gyre
from gyre._gyre import Tensor
from gyre._impl.annotations import TensorLike
from gyre._impl.convert import call, convert_to_tensor
from gyre._impl.dtypes import DTypeLike
from gyre._impl.ops import elementwise as e
from gyre._impl.ops.select import TopK
from gyre._impl.ops.table import reduce_max, reduce_sum


def top_k(
    input: TensorLike,
    k=1,
    sorted: bool = True,
    index_type: DTypeLike = "int32",
    name: str | None = None,
) -> TopK:
    """The k largest elements along the last dimension, largest first, and where they stand."""
    values, indices = _gyre.execute(
        "TopKV2",
        [convert_to_tensor(input), k],
        {"sorted": bool(sorted), "index_type": _gyre.as_dtype(index_type)},
        name,
    )
    return TopK(values, indices)


def in_top_k(targets: TensorLike, predictions: TensorLike, k, name: str | None = None) -> Tensor:
    """Whether the class `targets[i]` is among the k of row i of `predictions` with the highest
    value; false where that is not finite. Ties count as in. Result: [batch] of bool."""
    predictions, targets = convert_to_tensor(predictions), convert_to_tensor(targets)
    own = call("GatherV2", predictions, call("ExpandDims", targets, -1), -1, batch_dims=1)
    higher = reduce_sum(e.cast(call("Greater", predictions, own), "int32"), -1)
    finite = call("IsFinite", call("Squeeze", own, squeeze_dims=[-1]))
    return call("LogicalAnd", call("Less", higher, k), finite, name=name)


def bincount(
    arr: TensorLike,
    weights: TensorLike | None = None,
    minlength=None,
    maxlength=None,
    dtype: DTypeLike = "int32",
    name: str | None = None,
) -> Tensor:
    """How often (or with what weight) each of 0, 1, … stands in `arr`; values from `maxlength` on
    do not count. The result is as long as the greatest value asks for, at least `minlength`."""
    arr = call("Reshape", e.cast(arr, "int32"), [-1])
    size = call("AddV2", reduce_max(call("ConcatV2", [arr, _gyre.tensor([-1])], 0)), 1)
    if minlength is not None:
        size = call("Maximum", size, minlength)
    if maxlength is not None:
        size = call("Minimum", size, maxlength)
    if weights is None:
        ones = call("Fill", call("Shape", arr), _gyre.convert(1, _gyre.as_dtype(dtype)))
    else:
        ones = call("Reshape", convert_to_tensor(weights), [-1])
    keep = call("SelectV2", call("Less", arr, size), arr, -1)
    return call("UnsortedSegmentSum", ones, keep, size, name=name)


def confusion_matrix(
    labels: TensorLike,
    predictions: TensorLike,
    num_classes=None,
    weights: TensorLike | None = None,
    dtype: DTypeLike = "int32",
    name: str | None = None,
) -> Tensor:
    """[n, n]: how often label i was predicted as j."""
    labels = e.cast(labels, "int64")
    predictions = e.cast(predictions, "int64")
    if num_classes is None:
        most = call("Maximum", reduce_max(labels), reduce_max(predictions))
        num_classes = call("AddV2", most, 1)
    num_classes = e.cast(num_classes, "int64")
    ones = (
        call("Fill", call("Shape", labels), _gyre.convert(1, _gyre.as_dtype(dtype)))
        if weights is None
        else e.cast(weights, dtype)
    )
    shape = call("Pack", [num_classes, num_classes])
    return call("ScatterNd", call("Pack", [labels, predictions], axis=1), ones, shape, name=name)

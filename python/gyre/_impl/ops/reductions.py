"""The largest elements, counts and confusion matrices."""

from __future__ import annotations

from gyre import _gyre
from gyre._gyre import Tensor
from gyre._impl.annotations import TensorLike
from gyre._impl.convert import call, convert_to_tensor
from gyre._impl.dtypes import DTypeLike
from gyre._impl.ops import elementwise as e
from gyre._impl.ops.select import TopK
from gyre._impl.ops.table import reduce_max


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
    targets = convert_to_tensor(targets)
    k = convert_to_tensor(k, targets.dtype)
    return call("InTopKV2", convert_to_tensor(predictions, "float32"), targets, k, name=name)


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

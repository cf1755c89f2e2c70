"""Sums and other reductions along axes, running sums, and positions of extremes."""

from __future__ import annotations

from gyre import _gyre
from gyre._gyre import Tensor
from gyre._impl.annotations import TensorLike
from gyre._impl.convert import call, convert_to_tensor, dims_tensor, is_value
from gyre._impl.dtypes import DTypeLike
from gyre._impl.ops import elementwise as e
from gyre._impl.ops.select import TopK


def axes(x, axis):
    """The axes of a reduction as a tensor: None means all of them."""
    if axis is None:
        if x._dims is not None:
            return _gyre.convert(list(range(len(x._dims))), _gyre.as_dtype("int32"))
        return call("Range", 0, call("Rank", x), 1)
    if is_value(axis):
        return _gyre.convert(axis)
    if hasattr(axis, "__index__"):
        return _gyre.convert(axis.__index__(), _gyre.as_dtype("int32"))
    return dims_tensor(list(axis))


def _reduction(op: str, doc: str):
    def function(
        input_tensor: TensorLike,
        axis: TensorLike | None = None,
        keepdims: bool = False,
        name: str | None = None,
    ) -> Tensor:
        x = convert_to_tensor(input_tensor)
        return call(op, x, axes(x, axis), keep_dims=bool(keepdims), name=name)

    function.__doc__ = (
        f"{doc} along `axis`: an int, a list of ints, or None for all.\n\n"
        "The axes disappear from the shape, or become 1 with `keepdims`. InvalidArgumentError for\n"
        "an axis that is not there."
    )
    return function


reduce_sum = _reduction("Sum", "The sum of the elements")
reduce_mean = _reduction("Mean", "The mean of the elements (of integers rounded towards zero)")
reduce_prod = _reduction("Prod", "The product of the elements")
reduce_max = _reduction("Max", "The largest element")
reduce_min = _reduction("Min", "The smallest element")
reduce_all = _reduction("All", "Whether all elements are true")
reduce_any = _reduction("Any", "Whether any element is true")
for _name in ("sum", "mean", "prod", "max", "min", "all", "any"):
    _function = globals()["reduce_" + _name]
    _function.__name__ = _function.__qualname__ = "reduce_" + _name


def reduce_variance(
    input_tensor: TensorLike,
    axis: TensorLike | None = None,
    keepdims: bool = False,
    name: str | None = None,
) -> Tensor:
    """The mean squared distance from the mean along `axis`; of complex numbers real."""
    x = convert_to_tensor(input_tensor)
    if not (x.dtype.is_floating or x.dtype.is_complex):
        raise TypeError(f"reduce_variance needs floating or complex numbers, got {x.dtype.name}.")
    distance = call("Sub", x, reduce_mean(x, axis, keepdims=True))
    if x.dtype.is_complex:
        square = call("Square", e.abs(distance))
    else:
        square = call("Square", distance)
    return reduce_mean(square, axis, keepdims, name)


def reduce_std(
    input_tensor: TensorLike,
    axis: TensorLike | None = None,
    keepdims: bool = False,
    name: str | None = None,
) -> Tensor:
    """The root of the variance along `axis`."""
    return call("Sqrt", reduce_variance(input_tensor, axis, keepdims), name=name)


def reduce_logsumexp(
    input_tensor: TensorLike, axis=None, keepdims: bool = False, name: str | None = None
) -> Tensor:
    """log(Σ exp(x)) along `axis`, without overflow: the largest element is taken out first."""
    x = convert_to_tensor(input_tensor)
    top = reduce_max(x, axis, keepdims=True)
    top = call("StopGradient", call("SelectV2", call("IsFinite", top), top, call("ZerosLike", top)))
    total = call("Log", reduce_sum(call("Exp", call("Sub", x, top)), axis, keepdims=True))
    result = call("AddV2", total, top)
    if keepdims:
        return result
    if axis is None:
        return call("Reshape", result, dims_tensor([]), name=name)
    dims = [axis] if hasattr(axis, "__index__") else list(axis)
    return call("Squeeze", result, squeeze_dims=[int(d) for d in dims], name=name)


def reduce_euclidean_norm(
    input_tensor: TensorLike,
    axis: TensorLike | None = None,
    keepdims: bool = False,
    name: str | None = None,
) -> Tensor:
    """The root of the sum of squares along `axis`."""
    x = convert_to_tensor(input_tensor)
    square = call("Square", e.abs(x) if x.dtype.is_complex else x)
    total = call("Sqrt", reduce_sum(square, axis, keepdims), name=name)
    return e.cast(total, x.dtype)


def count_nonzero(
    input: TensorLike,
    axis: TensorLike | None = None,
    keepdims=None,
    dtype: DTypeLike = "int64",
    name: str | None = None,
) -> Tensor:
    """How many elements along `axis` are not zero (strings: not empty)."""
    x = convert_to_tensor(input)
    zero = (
        _gyre.convert("" if x.dtype.name == "string" else 0, x.dtype)
        if not x.dtype.is_bool
        else _gyre.convert(False)
    )
    return reduce_sum(e.cast(call("NotEqual", x, zero), dtype), axis, bool(keepdims), name)


def _position(op: str, which: str):
    def function(
        input: TensorLike,
        axis: TensorLike | None = None,
        output_type: DTypeLike = "int64",
        name: str | None = None,
    ) -> Tensor:
        return call(
            op,
            convert_to_tensor(input),
            0 if axis is None else axis,
            output_type=_gyre.as_dtype(output_type),
            name=name,
        )

    function.__name__ = function.__qualname__ = "arg" + which
    function.__doc__ = (
        f"The position of the {which}imum along `axis` (0 by default), the first of "
        "several; the axis disappears."
    )
    return function


argmax = _position("ArgMax", "max")
argmin = _position("ArgMin", "min")


def _running(op: str, what: str):
    def function(
        x: TensorLike,
        axis: TensorLike = 0,
        exclusive: bool = False,
        reverse: bool = False,
        name: str | None = None,
    ) -> Tensor:
        return call(op, convert_to_tensor(x), axis, exclusive=exclusive, reverse=reverse, name=name)

    function.__name__ = function.__qualname__ = op.lower()
    function.__doc__ = (
        f"Running {what} along `axis`, of the shape of x.\n\n"
        "`exclusive`: of the elements before each one; `reverse`: from the end."
    )
    return function


cumsum = _running("Cumsum", "sums")
cumprod = _running("Cumprod", "products")


def cumulative_logsumexp(
    x: TensorLike,
    axis: TensorLike = 0,
    exclusive: bool = False,
    reverse: bool = False,
    name: str | None = None,
) -> Tensor:
    """log of the running sums of exp(x) along `axis`; the largest element is taken out first, so
    sums that are more than exp(88) smaller than it (float32) become -inf."""
    x = convert_to_tensor(x)
    top = call("StopGradient", reduce_max(x, axis, keepdims=True))
    sums = cumsum(call("Exp", call("Sub", x, top)), axis, exclusive, reverse)
    return call("AddV2", call("Log", sums), top, name=name)


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


def zero_fraction(value: TensorLike, name: str | None = None) -> Tensor:
    """The part of the elements that is zero: a float32 scalar."""
    value = convert_to_tensor(value)
    zeros = call("Equal", value, _gyre.convert(0, value.dtype))
    return reduce_mean(e.cast(zeros, "float32"), name=name)


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

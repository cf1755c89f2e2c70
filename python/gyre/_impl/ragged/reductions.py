"""Reductions of ragged tensors over any axes."""

from __future__ import annotations

from gyre import _gyre
from gyre._impl.annotations import Any
from gyre._impl.composites.composite import INT64
from gyre._impl.composites.ragged import RaggedTensor
from gyre._impl.composites.ragged_indexing import with_axis
from gyre._impl.composites.ragged_operators import applied
from gyre._impl.composites.ragged_rows import count_of, count_to, op, rank_of
from gyre._impl.convert import static_value
from gyre._impl.dispatch import for_function
from gyre._impl.ops import table
from gyre._impl.ragged.padded import like_rows
from gyre._impl.ragged.segments import of_segments

# The op of segments that reduces rows as the function reduces an axis.
_SEGMENTS = {
    "reduce_sum": "UnsortedSegmentSum",
    "reduce_prod": "UnsortedSegmentProd",
    "reduce_max": "UnsortedSegmentMax",
    "reduce_min": "UnsortedSegmentMin",
}


_LEAST = float("-inf")


def axes_of(x: RaggedTensor, axis) -> Any:
    """A list of axes, from the last one to the first; None: all."""
    if axis is None:
        return None
    known = static_value(axis)
    if known is None:
        raise ValueError("the axis of a reduction of a RaggedTensor must be known")
    rank = rank_of(x)
    axes = []
    for one in known.reshape(-1).tolist():
        if one < 0 and rank is None:
            raise ValueError("an axis below 0 needs a RaggedTensor of known rank")
        if rank is not None and not -rank <= one < rank:
            raise ValueError(f"axis {one} is not in [-{rank}, {rank})")
        axes.append(one + rank if one < 0 else one)
    return sorted(set(axes), reverse=True)


def _of_axis(function, segments: str, x, axis: int, **attrs):
    """Reduced along one axis: by the function where it is not ragged, else by an op of segments."""
    if not isinstance(x, RaggedTensor):
        return function(x, axis)
    if axis > 1:
        return x.with_values(_of_axis(function, segments, x.values, axis - 1, **attrs))
    rows = x.value_rowids()
    if axis == 1:
        return of_segments(segments, x.values, rows, x.nrows(), **attrs)
    places = count_to(count_of(x.values)) - op("GatherV2", x.row_starts(), rows, 0)
    return of_segments(segments, x.values, places, _longest(x), **attrs)


def _longest(x: RaggedTensor):
    """The length of the longest row."""
    return op("Max", op("ConcatV2", [_gyre.convert([0], INT64), x.row_lengths()], 0), [0])


@for_function(RaggedTensor, *_SEGMENTS)
def reduce(function, input_tensor, axis=None, keepdims=False, name=None):
    """The sum, product, largest or smallest element along axes."""
    x = input_tensor
    axes = axes_of(x, axis)
    if axes is None:
        result = function(x.flat_values, None, False, name=name)
        return _with_all_axes(result, x) if keepdims else result
    for one in axes:
        x = _of_axis(function, _SEGMENTS[function.__name__], x, one)
        if keepdims:
            x = with_axis(x, one)
    return x


def _with_all_axes(result, x):
    for _ in range(rank_of(x)):
        result = op("ExpandDims", result, 0)
    return result


@for_function(RaggedTensor, "reduce_any", "reduce_all")
def reduce_logical(function, input_tensor, axis=None, keepdims=False, name=None):
    """Whether any is true, or all are, along axes."""
    numbers = _map(input_tensor, lambda x: op("Cast", x, DstT=_gyre.as_dtype("int32")))
    of_numbers = table.reduce_max if function.__name__ == "reduce_any" else table.reduce_min
    found = reduce(of_numbers, numbers, axis, keepdims, name)
    # Of no elements the largest is the least of all numbers, and the smallest the greatest.
    return _map(found, lambda x: op("Greater", x, 0))


def _map(x, function):
    return (
        x.with_flat_values(function(x.flat_values)) if isinstance(x, RaggedTensor) else function(x)
    )


def _counted(x: RaggedTensor, axis, keepdims):
    """How many elements are reduced to each."""
    ones = _map(x, lambda values: op("OnesLike", values))
    return reduce(table.reduce_sum, ones, axis, keepdims)


def _quotient(a, b):
    if isinstance(a, RaggedTensor):
        return a.with_flat_values(a.flat_values / b.flat_values)
    return a / b


@for_function(RaggedTensor, "reduce_mean")
def reduce_mean(function, input_tensor, axis=None, keepdims=False, name=None):
    """The mean along axes."""
    total = reduce(table.reduce_sum, input_tensor, axis, keepdims)
    return _quotient(total, _counted(input_tensor, axis, keepdims))


def _difference(a, b):
    if isinstance(a, RaggedTensor):
        return a.with_flat_values(a.flat_values - b.flat_values)
    return a - b


def _mean(x, axis, keepdims=False):
    return reduce_mean(None, x, axis, keepdims)


@for_function(RaggedTensor, "reduce_variance")
def reduce_variance(function, input_tensor, axis=None, keepdims=False, name=None):
    """The mean of the squared distances from the mean, along axes."""
    axes = axes_of(input_tensor, axis)
    if axes is None or 0 not in axes:
        axes = list(range(rank_of(input_tensor))) if axes is None else axes
        far = applied(lambda x, mean: x - mean, input_tensor, _mean(input_tensor, axes, True))
        return _mean(_map(far, lambda x: x * x), axis, keepdims)
    # Columns are of different lengths: their means have no rows to be stretched to.
    near = _map(input_tensor, lambda x: x - table.reduce_mean(x))
    mean = _mean(near, axis, keepdims)
    squares = _mean(_map(near, lambda x: x * x), axis, keepdims)
    return _map(_difference(squares, _map(mean, lambda x: x * x)), lambda x: op("Maximum", x, 0))


@for_function(RaggedTensor, "reduce_std")
def reduce_std(function, input_tensor, axis=None, keepdims=False, name=None):
    """The root of the variance along axes."""
    return _map(reduce_variance(function, input_tensor, axis, keepdims), lambda x: op("Sqrt", x))


@for_function(RaggedTensor, "reduce_euclidean_norm")
def reduce_euclidean_norm(function, input_tensor, axis=None, keepdims=False, name=None):
    """The root of the sum of squares along axes."""
    squares = _map(input_tensor, lambda x: x * x)
    return _map(reduce(table.reduce_sum, squares, axis, keepdims), lambda x: op("Sqrt", x))


@for_function(RaggedTensor, "reduce_logsumexp")
def reduce_logsumexp(function, input_tensor, axis=None, keepdims=False, name=None):
    """The logarithm of the sum of exponentials along axes."""
    axes = axes_of(input_tensor, axis)
    if axes and 0 in axes and len(axes) < rank_of(input_tensor):
        return _by_padding(function, input_tensor, axes, keepdims)
    axes = list(range(rank_of(input_tensor))) if axes is None else axes
    shift: Any = _map(_finite_largest(input_tensor, axes), lambda x: op("StopGradient", x))
    powers = applied(lambda x, most: op("Exp", x - most), input_tensor, shift)
    total: Any = _map(reduce(table.reduce_sum, powers, axes, True), lambda x: op("Log", x))
    whole = (
        applied(lambda a, b: a + b, total, shift)
        if isinstance(total, RaggedTensor)
        else total + shift
    )
    return (
        whole
        if keepdims
        else reduce(table.reduce_sum, whole, axes)
        if isinstance(whole, RaggedTensor)
        else table.reduce_sum(whole, axes)
    )


def _finite_largest(x, axes):
    """The largest elements along axes; 0 where they are not finite."""
    return _map(
        reduce(table.reduce_max, x, axes, True),
        lambda most: op("SelectV2", op("IsFinite", most), most, op("ZerosLike", most)),
    )


def _by_padding(function, x, axes, keepdims):
    """Reduced as a tensor whose rows are filled up with what has no weight."""
    dense = function(x.to_tensor(_LEAST), axes, keepdims)
    like = reduce(table.reduce_max, x, axes, keepdims)
    return like_rows(dense, like) if isinstance(like, RaggedTensor) else dense


@for_function(RaggedTensor, "count_nonzero")
def count_nonzero(function, input, axis=None, keepdims=False, dtype="int64", name=None):
    """How many elements are not zero along axes."""
    of = _gyre.as_dtype(dtype or "int64")
    numbers = _map(input, lambda x: op("Cast", op("NotEqual", x, op("ZerosLike", x)), DstT=of))
    return reduce(table.reduce_sum, numbers, axis, keepdims)


@for_function(RaggedTensor, "softmax")
def softmax(function, logits, axis=None, name=None):
    """exp(x) over its sum along an axis, the last one by default."""
    axis = -1 if axis is None else axis
    if 0 in axes_of(logits, axis):
        return like_rows(function(logits.to_tensor(_LEAST), axis), logits)
    shift = _map(_finite_largest(logits, axis), lambda x: op("StopGradient", x))
    powers = applied(lambda x, most: op("Exp", x - most), logits, shift)
    return applied(lambda x, total: x / total, powers, reduce(table.reduce_sum, powers, axis, True))


@for_function(RaggedTensor, "log_softmax")
def log_softmax(function, logits, axis=None, name=None):
    """x less the logarithm of the sum of exponentials along an axis, the last one by default."""
    axis = -1 if axis is None else axis
    if 0 in axes_of(logits, axis):
        return like_rows(function(logits.to_tensor(_LEAST), axis), logits)
    return applied(
        lambda x, total: x - total,
        logits,
        reduce_logsumexp(table.reduce_logsumexp, logits, axis, True),
    )


@for_function(RaggedTensor, "reduce_join")
def reduce_join(function, inputs, axis=None, keepdims=False, separator="", name=None):
    """Texts joined along an axis; all of them without one."""
    axes = axes_of(inputs, axis)
    x = inputs
    if axes is None:
        axes = list(reversed(range(rank_of(inputs))))
    for one in axes:
        x = _of_axis(
            lambda x, axis: function(x, axis, separator=separator),
            "UnsortedSegmentJoin",
            x,
            one,
            separator=separator,
        )
        if keepdims:
            x = with_axis(x, one)
    return x

"""Losses: from labels and predictions to a number for each example, reduced to their mean.

Each takes (y_true, y_pred, sample_weight=None, reduction="mean"); reduction may be "sum" or "none".
"""

from gyre._impl.convert import call, convert_to_tensor, same_dtype
from gyre._impl.ops.reductions import reduce_mean, reduce_sum
from gyre.nn import functional as f


def reduce(values, sample_weight=None, reduction: str = "mean"):
    """Weighted values as their mean, their sum, or as they are ("none"). ValueError for others."""
    if reduction not in ("mean", "sum", "none"):
        raise ValueError(f'reduction must be "mean", "sum" or "none", got {reduction!r}.')
    if sample_weight is not None:
        values = call("Mul", values, sample_weight)
    if reduction == "none":
        return values
    return reduce_sum(values) if reduction == "sum" else reduce_mean(values)


def mean_squared_error(y_true, y_pred, sample_weight=None, reduction="mean"):
    """The mean of (y_true - y_pred)² along the last dimension."""
    y_true, y_pred = same_dtype([y_true, y_pred])
    return reduce(
        reduce_mean(call("SquaredDifference", y_pred, y_true), -1), sample_weight, reduction
    )


def mean_absolute_error(y_true, y_pred, sample_weight=None, reduction="mean"):
    """The mean of |y_true - y_pred| along the last dimension."""
    y_true, y_pred = same_dtype([y_true, y_pred])
    return reduce(
        reduce_mean(call("Abs", call("Sub", y_pred, y_true)), -1), sample_weight, reduction
    )


def huber(y_true, y_pred, delta=1.0, sample_weight=None, reduction="mean"):
    """e²/2 where |e| <= delta, delta (|e| - delta/2) elsewhere; the mean along the last dimension.
    Source: Huber, Robust estimation of a location parameter (1964)."""
    y_true, y_pred = same_dtype([y_true, y_pred])
    size = call("Abs", call("Sub", y_pred, y_true))
    inner = call("Mul", call("Square", size), 0.5)
    outer = call("Mul", call("Sub", size, 0.5 * delta), delta)
    chosen = call("SelectV2", call("LessEqual", size, delta), inner, outer)
    return reduce(reduce_mean(chosen, -1), sample_weight, reduction)


def categorical_crossentropy(y_true, y_pred, sample_weight=None, reduction="mean"):
    """Between distributions y_true and logits y_pred, [..., classes]."""
    return reduce(f.softmax_cross_entropy_with_logits(y_true, y_pred), sample_weight, reduction)


def sparse_categorical_crossentropy(y_true, y_pred, sample_weight=None, reduction="mean"):
    """Between classes y_true, [...], and logits y_pred, [..., classes]."""
    return reduce(
        f.sparse_softmax_cross_entropy_with_logits(y_true, y_pred), sample_weight, reduction
    )


def binary_crossentropy(y_true, y_pred, sample_weight=None, reduction="mean"):
    """Between probabilities y_true and logits y_pred; the mean along the last dimension."""
    y_pred = convert_to_tensor(y_pred)
    values = f.sigmoid_cross_entropy_with_logits(y_true, y_pred)
    return reduce(reduce_mean(values, -1), sample_weight, reduction)

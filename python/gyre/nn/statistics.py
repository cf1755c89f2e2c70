"""Moments of tensors in steps, and with weights; what normalizations and losses make of them."""

from __future__ import annotations

from typing import Any

from gyre import _gyre
from gyre._gyre import Tensor
from gyre._impl.annotations import TensorLike
from gyre._impl.convert import call, convert_to_tensor, same_dtype
from gyre._impl.ops import table
from gyre._impl.ops.elementwise import cast


def sufficient_statistics(
    x: TensorLike,
    axes,
    shift: TensorLike | None = None,
    keepdims: bool = False,
    name: str | None = None,
) -> tuple[Tensor, Tensor, Tensor, Any]:
    """What mean and variance along axes follow from (normalize_moments): how many elements there
    are, their sum and the sum of their squares, both of x - shift, and shift."""
    del name
    x = convert_to_tensor(x)
    axes = sorted(set(axes))
    sizes = call("GatherV2", call("Shape", x), axes, 0) if axes else convert_to_tensor([1])
    count = call("Prod", cast(sizes, x.dtype), [0])
    shift = None if shift is None else same_dtype([shift], x.dtype)[0]
    moved = x if shift is None else call("Sub", x, shift)
    sums = table.reduce_sum(moved, axes, keepdims)
    return count, sums, table.reduce_sum(call("Square", moved), axes, keepdims), shift


def normalize_moments(
    counts: TensorLike,
    mean_ss: TensorLike,
    variance_ss: TensorLike,
    shift: TensorLike | None,
    name: str | None = None,
) -> tuple[Tensor, Tensor]:
    """Mean and variance, of what sufficient_statistics gives."""
    del name
    counts, mean_ss, variance_ss = same_dtype([counts, mean_ss, variance_ss])
    part = call("Reciprocal", counts)
    moved = call("Mul", mean_ss, part)
    mean = moved if shift is None else call("AddV2", moved, shift)
    return mean, call("Sub", call("Mul", variance_ss, part), call("Square", moved))


def weighted_moments(
    x: TensorLike,
    axes,
    frequency_weights: TensorLike,
    keepdims: bool = False,
    name: str | None = None,
) -> tuple[Tensor, Tensor]:
    """Mean and variance along axes, where each element counts as often as its weight says; weights
    broadcast with x."""
    del name
    x = convert_to_tensor(x)
    kind = x.dtype
    x = cast(x, "float32") if kind.name == "float16" else x
    weights = cast(convert_to_tensor(frequency_weights, dtype_hint=x.dtype), x.dtype)
    total = table.reduce_sum(call("AddV2", weights, call("ZerosLike", x)), axes, True)

    def mean_of(values):
        return call("DivNoNan", table.reduce_sum(call("Mul", weights, values), axes, True), total)

    mean = mean_of(x)
    variance = mean_of(call("SquaredDifference", x, mean))
    if not keepdims:
        mean, variance = (table.squeeze(v, axes) for v in (mean, variance))
    return cast(mean, kind), cast(variance, kind)


def batch_norm_with_global_normalization(
    input: TensorLike,
    mean: TensorLike,
    variance: TensorLike,
    beta: TensorLike,
    gamma: TensorLike,
    variance_epsilon: float,
    scale_after_normalization: bool,
    name: str | None = None,
) -> Tensor:
    """batch_normalization, with `gamma` where scale_after_normalization says so."""
    scale = gamma if scale_after_normalization else None
    return table.batch_normalization(
        input, mean, variance, beta, scale, variance_epsilon, name=name
    )


def compute_average_loss(
    per_example_loss: TensorLike,
    sample_weight: TensorLike | None = None,
    global_batch_size: Any = None,
) -> Tensor:
    """The sum of the losses of examples, weighted, over the size of the batch: as many as there
    are, if nothing else is said; 0 for a batch of none."""
    loss = convert_to_tensor(per_example_loss)
    if loss._dims is not None and not loss._dims:
        raise ValueError("per_example_loss must have a number for each example, but is a scalar.")
    kind = loss.dtype
    if sample_weight is not None:
        weight = cast(convert_to_tensor(sample_weight), kind)
        if weight._dims is not None and loss._dims is not None:
            lacking = len(loss._dims) - len(weight._dims)
            for _ in range(lacking if weight._dims else 0):
                weight = call("ExpandDims", weight, -1)
        loss = call("Mul", loss, weight)
    size = call("Shape", loss)[0] if global_batch_size is None else global_batch_size
    return call("DivNoNan", table.reduce_sum(loss), cast(convert_to_tensor(size), kind))


def scale_regularization_loss(regularization_loss: TensorLike) -> Tensor:
    """The sum of losses: there is one replica."""
    return table.reduce_sum(convert_to_tensor(regularization_loss))


def _pairs(x: TensorLike):
    """Neighbours among all elements: those behind, those before."""
    flat = call("Reshape", convert_to_tensor(x), [-1])
    return flat[1:], flat[:-1]


def is_non_decreasing(x: TensorLike, name: str | None = None) -> Tensor:
    """Whether no element is less than the one before it, all dimensions in a row."""
    return call("All", call("GreaterEqual", *_pairs(x)), [0], name=name)


def is_strictly_increasing(x: TensorLike, name: str | None = None) -> Tensor:
    """Whether each element is greater than the one before it, all dimensions in a row."""
    return call("All", call("Greater", *_pairs(x)), [0], name=name)


def reciprocal_no_nan(x: TensorLike, name: str | None = None) -> Tensor:
    """1 / x, and 0 where x is 0."""
    x = convert_to_tensor(x)
    return call("DivNoNan", _gyre.convert(1, x.dtype), x, name=name)

"""Losses of classes, and the encodings of classes."""

from keras.src import backend

import gyre
from gyre._keras.backend.tensors import cast, convert_to_tensor


def one_hot(x, num_classes, axis=-1, dtype=None, sparse=False):
    _dense_only(sparse)
    x = convert_to_tensor(x, "int64")
    kind = "float32" if dtype is None else backend.standardize_dtype(dtype)
    return gyre.cast(gyre.one_hot(x, num_classes, axis=axis, dtype="float32"), kind)


def multi_hot(x, num_classes, axis=-1, dtype=None, sparse=False):
    _dense_only(sparse)
    x = convert_to_tensor(x)
    several = 1 if x.shape.rank > 1 else 0
    found = one_hot(cast(x, "int32"), num_classes, axis=axis, dtype="float32")
    found = gyre.reduce_max(found, axis=several)
    return gyre.cast(found, "float32" if dtype is None else backend.standardize_dtype(dtype))


def _dense_only(sparse):
    if sparse:
        raise ValueError("Unsupported value `sparse=True` with the gyre backend")


def _same_rank(target, output):
    if target.shape.rank != output.shape.rank:
        raise ValueError(
            "Arguments `target` and `output` must have the same rank (ndim). Received: "
            f"target.shape={target.shape}, output.shape={output.shape}"
        )
    for one, other in zip(target.shape, output.shape, strict=True):
        if one is not None and other is not None and one != other:
            raise ValueError(
                "Arguments `target` and `output` must have the same shape. Received: "
                f"target.shape={target.shape}, output.shape={output.shape}"
            )


def _bounded(probabilities):
    small = backend.epsilon()
    return gyre.clip_by_value(
        probabilities,
        convert_to_tensor(small, probabilities.dtype),
        convert_to_tensor(1 - small, probabilities.dtype),
    )


def _log_probabilities(output, from_logits, axis):
    if from_logits:
        return gyre.nn.log_softmax(output, axis=axis)
    return gyre.math.log(_bounded(output / gyre.reduce_sum(output, axis, keepdims=True)))


def categorical_crossentropy(target, output, from_logits=False, axis=-1):
    target, output = convert_to_tensor(target), convert_to_tensor(output)
    if target.shape.rank < 1:
        raise ValueError(
            "Arguments `target` and `output` must be at least rank 1. Received: "
            f"target.shape={target.shape}, output.shape={output.shape}"
        )
    _same_rank(target, output)
    logs = _log_probabilities(output, from_logits, axis)
    return -gyre.reduce_sum(cast(target, logs.dtype) * logs, axis=axis)


def sparse_categorical_crossentropy(target, output, from_logits=False, axis=-1):
    target, output = convert_to_tensor(target, "int64"), convert_to_tensor(output)
    if output.shape.rank < 1:
        raise ValueError(
            f"Argument `output` must be at least rank 1. Received: output.shape={output.shape}"
        )
    if target.shape.rank == output.shape.rank and target.shape[-1] == 1:
        target = gyre.squeeze(target, axis=[-1])
    rank = output.shape.rank
    axis = axis % rank
    beside = output.shape[:axis].as_list() + output.shape[axis + 1 :].as_list()
    if target.shape.rank != rank - 1 or any(
        None not in (a, b) and a != b for a, b in zip(target.shape, beside, strict=False)
    ):
        raise ValueError(
            "Arguments `target` and `output` must have the same shape up until the last "
            f"dimension: target.shape={target.shape}, output.shape={output.shape}"
        )
    if axis != rank - 1:
        order = [*range(axis), *range(axis + 1, rank), axis]
        output = gyre.transpose(output, order)
    logs = output if from_logits else _log_probabilities(output, False, -1)
    return gyre.nn.sparse_softmax_cross_entropy_with_logits(labels=target, logits=logs)


def binary_crossentropy(target, output, from_logits=False):
    target, output = convert_to_tensor(target), convert_to_tensor(output)
    _same_rank(target, output)
    target = cast(target, output.dtype)
    if from_logits:
        return gyre.nn.sigmoid_cross_entropy_with_logits(labels=target, logits=output)
    output = _bounded(output)
    loss = target * gyre.math.log(output) + (1 - target) * gyre.math.log(1 - output)
    return -loss


def psnr(x1, x2, max_val):
    x1, x2 = convert_to_tensor(x1), convert_to_tensor(x2)
    if x1.shape != x2.shape:
        raise ValueError(f"Input shapes {x1.shape} and {x2.shape} must match for PSNR calculation.")
    x2 = cast(x2, x1.dtype)
    ten = gyre.math.log(convert_to_tensor(10, x1.dtype))
    peak = 2 * gyre.math.log(convert_to_tensor(max_val, x1.dtype)) / ten
    error = gyre.math.log(gyre.reduce_mean(gyre.square(x1 - x2))) / ten
    return 10 * (peak - error)

"""Activations, normalisation, cross entropies and lookups as functions."""

from __future__ import annotations

from gyre import _gyre
from gyre._gyre import Tensor
from gyre._impl import random
from gyre._impl.annotations import ShapeLike, TensorLike
from gyre._impl.convert import (
    call,
    calls,
    convert_to_tensor,
    dims_tensor,
    is_value,
    rank_of,
    same_dtype,
)
from gyre._impl.ops.elementwise import cast
from gyre._impl.ops.linalg import clip_by_norm
from gyre._impl.ops.reductions import reduce_mean, reduce_sum
from gyre._impl.ops.select import gather


def leaky_relu(features: TensorLike, alpha=0.2, name: str | None = None) -> Tensor:
    """features where positive, alpha * features elsewhere."""
    return call("LeakyRelu", convert_to_tensor(features), alpha=float(alpha), name=name)


def gelu(features: TensorLike, approximate: bool = False, name: str | None = None) -> Tensor:
    """x Φ(x), Φ being the distribution function of the normal distribution; or with `approximate`
    0.5 x (1 + tanh(√(2/π) (x + 0.044715 x³))).

    Source: Hendrycks and Gimpel, Gaussian error linear units (2016).
    """
    x = convert_to_tensor(features)
    if approximate:
        cube = call("Mul", call("Mul", x, call("Square", x)), 0.044715)
        inner = call("Mul", call("AddV2", x, cube), 0.7978845608028654)
        part = call("AddV2", call("Tanh", inner), 1.0)
    else:
        part = call("Erfc", call("Mul", x, -0.7071067811865476))
    return call("Mul", call("Mul", x, 0.5), part, name=name)


def silu(features: TensorLike, beta: TensorLike = 1.0, name: str | None = None) -> Tensor:
    """x sigmoid(beta x). Source: Ramachandran et al., Searching for activation functions (2017)."""
    x = convert_to_tensor(features)
    inner = x if isinstance(beta, (int, float)) and beta == 1 else call("Mul", x, beta)
    return call("Mul", x, call("Sigmoid", inner), name=name)


swish = silu


def softsign(features: TensorLike, name: str | None = None) -> Tensor:
    """x / (1 + |x|)."""
    x = convert_to_tensor(features)
    return call("RealDiv", x, call("AddV2", call("Abs", x), 1), name=name)


def crelu(features: TensorLike, axis: TensorLike = -1, name: str | None = None) -> Tensor:
    """relu(x) and relu(-x), joined along an axis."""
    x = convert_to_tensor(features)
    return call("Relu", call("ConcatV2", [x, call("Neg", x)], axis), name=name)


def _last(op: str):
    def function(logits: TensorLike, axis=-1, name: str | None = None) -> Tensor:
        x = convert_to_tensor(logits)
        axis = -1 if axis is None else int(axis)
        if axis == -1 or x._dims is not None and axis == len(x._dims) - 1:
            return call(op, x, name=name)
        rank = rank_of(x, f"{op} along another axis than the last", "logits", least=1)
        perm = list(range(rank))
        perm[axis], perm[-1] = perm[-1], perm[axis]
        return call("Transpose", call(op, call("Transpose", x, perm), name=name), perm)

    return function


softmax = _last("Softmax")
softmax.__name__, softmax.__doc__ = "softmax", "exp(logits) divided by its sum along `axis`."
log_softmax = _last("LogSoftmax")
log_softmax.__name__, log_softmax.__doc__ = "log_softmax", "The logarithm of softmax along `axis`."


def bias_add(
    value: TensorLike, bias: TensorLike, data_format: str | None = None, name: str | None = None
) -> Tensor:
    """Adds an element of `bias` to each channel: the last dimension, or with "NC…" the second."""
    channels_first = data_format is not None and data_format.startswith("NC")
    return call(
        "BiasAdd",
        convert_to_tensor(value),
        bias,
        data_format="NCHW" if channels_first else "NHWC",
        name=name,
    )


def dropout(
    x: TensorLike, rate, noise_shape: ShapeLike = None, seed=None, name: str | None = None
) -> Tensor:
    """x with elements set to 0 with probability `rate`, the others divided by 1 - rate. Elements
    along dimensions that are 1 in noise_shape share their fate. ValueError unless 0 <= rate < 1.

    Source: Srivastava et al., Dropout (2014).
    """
    x = convert_to_tensor(x)
    if not is_value(rate):
        if not 0 <= rate < 1:
            raise ValueError(f"dropout's rate must be in [0, 1), got {rate}.")
        if rate == 0:
            return x
    shape = call("Shape", x) if noise_shape is None else dims_tensor(noise_shape)
    drawn = random.uniform(shape, dtype=x.dtype, seed=seed)
    kept = call("GreaterEqual", drawn, cast(rate, x.dtype) if is_value(rate) else rate)
    scale = call("RealDiv", _gyre.convert(1, x.dtype), call("Sub", _gyre.convert(1, x.dtype), rate))
    return call("SelectV2", kept, call("Mul", x, scale), call("ZerosLike", x), name=name)


def moments(
    x: TensorLike,
    axes,
    shift: TensorLike | None = None,
    keepdims: bool = False,
    name: str | None = None,
) -> tuple[Tensor, Tensor]:
    """(mean, variance) along axes, computed in float32 for 16-bit types."""
    del shift
    x = convert_to_tensor(x)
    wide = cast(x, "float32") if x.dtype.is_floating and x.dtype.size == 2 else x
    mean = reduce_mean(wide, axes, keepdims=True)
    variance = reduce_mean(
        call("SquaredDifference", wide, call("StopGradient", mean)), axes, keepdims
    )
    if not keepdims:
        mean = reduce_mean(wide, axes)
    return cast(mean, x.dtype), cast(variance, x.dtype)


def batch_normalization(
    x: TensorLike,
    mean: TensorLike,
    variance: TensorLike,
    offset: TensorLike | None,
    scale: TensorLike | None,
    variance_epsilon,
    name: str | None = None,
) -> Tensor:
    """(x - mean) / √(variance + ε) · scale + offset. Source: Ioffe and Szegedy (2015)."""
    factor = call("Rsqrt", call("AddV2", convert_to_tensor(variance), variance_epsilon))
    if scale is not None:
        factor = call("Mul", factor, scale)
    shift = call("Neg", call("Mul", mean, factor))
    if offset is not None:
        shift = call("AddV2", offset, shift)
    return call("AddV2", call("Mul", x, factor), shift, name=name)


def softmax_cross_entropy_with_logits(
    labels: TensorLike, logits: TensorLike, axis=-1, name: str | None = None
) -> Tensor:
    """-Σ labels · log softmax(logits) along `axis`, for each of the other dimensions."""
    labels, logits = same_dtype([labels, logits])
    if (
        axis != -1
        and axis != rank_of(logits, "softmax_cross_entropy_with_logits", "logits", least=1) - 1
    ):
        perm = list(range(len(logits._dims)))
        perm[axis], perm[-1] = perm[-1], perm[axis]
        labels, logits = call("Transpose", labels, perm), call("Transpose", logits, perm)
    if logits._dims is not None and len(logits._dims) == 2 and labels._dims == logits._dims:
        return calls("SoftmaxCrossEntropyWithLogits", logits, labels, name=name)[0]
    return call("Neg", reduce_sum(call("Mul", labels, call("LogSoftmax", logits)), -1), name=name)


def sparse_softmax_cross_entropy_with_logits(
    labels: TensorLike, logits: TensorLike, name: str | None = None
) -> Tensor:
    """-log softmax(logits)[label]: labels [...] of classes, logits [..., classes]."""
    logits, labels = convert_to_tensor(logits), convert_to_tensor(labels)
    if logits._dims is not None and len(logits._dims) == 2:
        return calls("SparseSoftmaxCrossEntropyWithLogits", logits, labels, name=name)[0]
    shape = call("Shape", logits)
    classes = call("StridedSlice", shape, [-1], [0], [1], end_mask=1)
    flat = call("Reshape", logits, call("ConcatV2", [dims_tensor([-1]), classes], 0))
    loss = calls("SparseSoftmaxCrossEntropyWithLogits", flat, call("Reshape", labels, [-1]))[0]
    return call("Reshape", loss, call("Shape", labels), name=name)


def sigmoid_cross_entropy_with_logits(
    labels: TensorLike, logits: TensorLike, name: str | None = None
) -> Tensor:
    """-z log σ(x) - (1 - z) log(1 - σ(x)) as max(x, 0) - x z + log(1 + exp(-|x|)), which does not
    overflow; labels z, logits x. Its derivative is σ(x) - z everywhere."""
    labels, logits = same_dtype([labels, logits])
    # Not Relu and Abs, whose derivatives at 0 do not add up to that of the whole.
    above = call("GreaterEqual", logits, _gyre.convert(0, logits.dtype))
    positive = call("SelectV2", above, logits, call("ZerosLike", logits))
    negative = call("SelectV2", above, call("Neg", logits), logits)
    linear = call("Sub", positive, call("Mul", logits, labels))
    return call("AddV2", linear, call("Softplus", negative), name=name)


def weighted_cross_entropy_with_logits(
    labels: TensorLike, logits: TensorLike, pos_weight: TensorLike, name: str | None = None
) -> Tensor:
    """As sigmoid_cross_entropy_with_logits, with positive labels counted pos_weight times."""
    labels, logits = same_dtype([labels, logits])
    weight = call(
        "AddV2", call("Mul", labels, call("Sub", pos_weight, _gyre.convert(1, logits.dtype))), 1
    )
    softplus = call("Softplus", call("Neg", logits))
    linear = call("Mul", call("Sub", _gyre.convert(1, logits.dtype), labels), logits)
    return call("AddV2", linear, call("Mul", weight, softplus), name=name)


def embedding_lookup(
    params: TensorLike, ids: TensorLike, max_norm=None, name: str | None = None
) -> Tensor:
    """Rows of `params`, by id: ids.shape + params.shape[1:]. Of a variable only these are read, and
    its gradient is IndexedSlices."""
    if isinstance(params, (list, tuple)):
        if len(params) != 1:
            raise NotImplementedError("embedding_lookup over several shards is not supported.")
        params = params[0]
    rows = gather(params, ids, name=name)
    if max_norm is None:
        return rows
    inner = range(
        rank_of(convert_to_tensor(ids), "embedding_lookup", "ids"),
        rank_of(rows, "embedding_lookup", "params"),
    )
    return clip_by_norm(rows, max_norm, axes=list(inner))


def log_poisson_loss(
    targets: TensorLike,
    log_input: TensorLike,
    compute_full_loss: bool = False,
    name: str | None = None,
) -> Tensor:
    """exp(c) - z c, for the logarithm c of the expectation; with compute_full_loss Stirling's
    z log z - z + log(2π z) / 2 where z > 1 is added."""
    targets, log_input = same_dtype([targets, log_input])
    loss = call("Sub", call("Exp", log_input), call("Mul", log_input, targets))
    if not compute_full_loss:
        return loss
    safe = call("Maximum", targets, 1)
    log = call("Log", safe)
    stirling = call(
        "AddV2",
        call("Sub", call("Mul", safe, log), safe),
        call("Mul", call("AddV2", log, 1.8378770664093453), 0.5),
    )
    counted = call("Greater", targets, 1)
    return call(
        "AddV2", loss, call("SelectV2", counted, stirling, call("ZerosLike", stirling)), name=name
    )

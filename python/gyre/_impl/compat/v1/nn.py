"""Losses, lookups and layers as functions, as TensorFlow 1 has them."""

from __future__ import annotations

import math

from gyre import _gyre
from gyre._gyre import Tensor
from gyre._impl.annotations import Any, ShapeLike, TensorLike
from gyre._impl.compat.v1.arrays import _either
from gyre._impl.compat.v1.collections import GraphKeys, add_to_collection
from gyre._impl.compat.v1.control import cond
from gyre._impl.compat.v1.initializers import zeros_initializer
from gyre._impl.compat.v1.layer import Layer
from gyre._impl.compat.v1.random import random_uniform
from gyre._impl.convert import call, convert_to_tensor, rank_of
from gyre._impl.graphs.graph import name_scope
from gyre._impl.ops import reductions, table
from gyre._impl.ops.linalg import tensordot
from gyre.nn import functional


def _only_named(sentinel, function: str) -> None:
    if sentinel is not None:
        raise ValueError(
            f"Only call `{function}` with named arguments (labels=..., logits=..., ...)"
        )


def softmax_cross_entropy_with_logits(
    _sentinel=None,
    labels: Any = None,
    logits: Any = None,
    dim=-1,
    name: str | None = None,
    axis=None,
) -> Tensor:
    """-Σ labels · log softmax(logits) along an axis; no gradient goes to the labels."""
    _only_named(_sentinel, "softmax_cross_entropy_with_logits")
    with name_scope(name, "softmax_cross_entropy_with_logits_sg"):
        labels = call("StopGradient", convert_to_tensor(labels), name="labels_stop_gradient")
        return table.softmax_cross_entropy_with_logits(
            labels, logits, dim if axis is None else axis
        )


def softmax_cross_entropy_with_logits_v2(
    labels, logits, axis=None, name: str | None = None, dim=None
) -> Tensor:
    """-Σ labels · log softmax(logits) along an axis."""
    axis = _either(axis, dim, "axis", "dim")
    with name_scope(name, "softmax_cross_entropy_with_logits"):
        return table.softmax_cross_entropy_with_logits(labels, logits, -1 if axis is None else axis)


def sparse_softmax_cross_entropy_with_logits(
    _sentinel=None, labels: Any = None, logits: Any = None, name: str | None = None
) -> Tensor:
    """-log softmax(logits)[label]."""
    _only_named(_sentinel, "sparse_softmax_cross_entropy_with_logits")
    with name_scope(name, "SparseSoftmaxCrossEntropyWithLogits"):
        return table.sparse_softmax_cross_entropy_with_logits(labels, logits)


def sigmoid_cross_entropy_with_logits(
    _sentinel=None, labels: Any = None, logits: Any = None, name: str | None = None
) -> Tensor:
    """The cross entropy of labels and σ(logits), element by element."""
    _only_named(_sentinel, "sigmoid_cross_entropy_with_logits")
    with name_scope(name, "logistic_loss"):
        return table.sigmoid_cross_entropy_with_logits(labels, logits)


def softmax(logits: TensorLike, axis=None, name: str | None = None, dim=None) -> Tensor:
    """exp(logits) divided by its sum along an axis (`dim`: its older name)."""
    axis = _either(axis, dim, "axis", "dim")
    return table.softmax(logits, axis, name)


def log_softmax(logits: TensorLike, axis=None, name: str | None = None, dim=None) -> Tensor:
    """The logarithm of softmax along an axis (`dim`: its older name)."""
    axis = _either(axis, dim, "axis", "dim")
    return table.log_softmax(logits, axis, name)


def dropout(
    x: TensorLike,
    keep_prob=None,
    noise_shape: ShapeLike = None,
    seed=None,
    name: str | None = None,
    rate=None,
) -> Tensor:
    """x with elements set to 0 with probability `rate` (1 - keep_prob), the others divided by 1 -
    rate."""
    if rate is None and keep_prob is None:
        raise ValueError("You must provide a rate to dropout.")
    if keep_prob is not None:
        rate = _either(None if rate is None else rate, 1.0 - keep_prob, "rate", "keep_prob")
    with name_scope(name, "dropout"):
        x = convert_to_tensor(x)
        if isinstance(rate, (int, float)):
            if not 0 <= rate < 1:
                raise ValueError(
                    f"rate must be a scalar tensor or a float in the range [0, 1), got {rate}"
                )
            if rate == 0:
                return x
            rate = _gyre.convert(rate, x.dtype)
        scaled = call("Mul", x, call("RealDiv", 1.0, call("Sub", 1.0, rate)))
        drawn = random_uniform(
            call("Shape", x) if noise_shape is None else noise_shape, dtype=x.dtype, seed=seed
        )
        return call("SelectV2", call("GreaterEqual", drawn, rate), scaled, call("ZerosLike", x))


def embedding_lookup(
    params: TensorLike,
    ids: TensorLike,
    partition_strategy="mod",
    name: str | None = None,
    validate_indices: bool = True,
    max_norm=None,
) -> Tensor:
    """Rows of `params`, by id: ids.shape + params.shape[1:]. Of a variable only these are read, and
    its gradient is IndexedSlices."""
    del partition_strategy, validate_indices
    with name_scope(name, "embedding_lookup"):
        return functional.embedding_lookup(params, ids, max_norm)


def moments(
    x: TensorLike,
    axes,
    shift: TensorLike | None = None,
    name: str | None = None,
    keep_dims=None,
    keepdims=None,
) -> tuple[Tensor, Tensor]:
    """(mean, variance) along axes."""
    with name_scope(name, "moments"):
        return table.moments(
            x, axes, shift, bool(_either(keepdims, keep_dims, "keepdims", "keep_dims"))
        )


def xw_plus_b(
    x: TensorLike, weights: TensorLike, biases: TensorLike, name: str | None = None
) -> Tensor:
    """x W + b."""
    with name_scope(name, "xw_plus_b") as scope:
        return call("BiasAdd", call("MatMul", x, weights), biases, name=scope or None)


def relu_layer(
    x: TensorLike, weights: TensorLike, biases: TensorLike, name: str | None = None
) -> Tensor:
    """relu(x W + b)."""
    with name_scope(name, "relu_layer") as scope:
        return call("Relu", call("BiasAdd", call("MatMul", x, weights), biases), name=scope or None)


def in_top_k(predictions: TensorLike, targets: TensorLike, k, name: str | None = None) -> Tensor:
    """Whether the class `targets[i]` is among the k of row i of `predictions` with the highest
    value: the other order of arguments than gyre.nn.in_top_k has."""
    return reductions.in_top_k(targets, predictions, k, name)


def l2_normalize(
    x: TensorLike,
    axis: TensorLike | None = None,
    epsilon: TensorLike = 1e-12,
    name: str | None = None,
    dim=None,
) -> Tensor:
    """x divided by its norm along an axis (`dim`: its older name), or by √epsilon if that is
    greater."""
    return table.l2_normalize(x, _either(axis, dim, "axis", "dim"), epsilon, name)


def weighted_cross_entropy_with_logits(
    labels: Any = None,
    logits: Any = None,
    pos_weight: Any = None,
    name: str | None = None,
    targets: Any = None,
) -> Tensor:
    """The cross entropy of labels (`targets`: their older name) and σ(logits), in which labels of 1
    weigh pos_weight."""
    labels = _either(labels, targets, "labels", "targets")
    return table.weighted_cross_entropy_with_logits(labels, logits, pos_weight, name)


class Dense(Layer):
    """activation(inputs W + b), along the last dimension. The variables are `kernel` and `bias`."""

    def __init__(
        self,
        units,
        activation=None,
        use_bias=True,
        kernel_initializer=None,
        bias_initializer=None,
        kernel_regularizer=None,
        bias_regularizer=None,
        activity_regularizer=None,
        kernel_constraint=None,
        bias_constraint=None,
        trainable=True,
        name=None,
        _reuse=None,
        _scope=None,
        dtype=None,
    ):
        super().__init__(name or _scope, "dense", _reuse, dtype, trainable)
        self.units, self._activation, self._use_bias = units, activation, use_bias
        self._kernel_options = kernel_initializer, kernel_regularizer, kernel_constraint
        self._bias_options = (
            bias_initializer or zeros_initializer(),
            bias_regularizer,
            bias_constraint,
        )
        self._activity_regularizer = activity_regularizer

    def build(self, shape):
        """Makes kernel and bias."""
        if shape is None or shape[-1] is None:
            raise ValueError(
                "The last dimension of the inputs to Dense should be defined. Found None."
            )
        initializer, regularizer, constraint = self._kernel_options
        self.kernel = self.add_variable(
            "kernel",
            [shape[-1], self.units],
            initializer,
            regularizer=regularizer,
            constraint=constraint,
        )
        initializer, regularizer, constraint = self._bias_options
        self.bias = (
            self.add_variable(
                "bias", [self.units], initializer, regularizer=regularizer, constraint=constraint
            )
            if self._use_bias
            else None
        )

    def call(self, inputs):
        """The outputs."""
        inputs = convert_to_tensor(inputs)
        kernel = self.kernel.read_value()
        rank = rank_of(inputs, "dense", "inputs", least=1)
        if rank == 2:
            outputs = call("MatMul", inputs, kernel)
        else:
            outputs = tensordot(inputs, kernel, [[rank - 1], [0]])
        if self.bias is not None:
            outputs = call("BiasAdd", outputs, self.bias.read_value())
        if self._activation is not None:
            outputs = self._activation(outputs)
        if self._activity_regularizer is not None:
            add_to_collection(GraphKeys.REGULARIZATION_LOSSES, self._activity_regularizer(outputs))
        return outputs


def dense(
    inputs: TensorLike,
    units,
    activation=None,
    use_bias=True,
    kernel_initializer=None,
    bias_initializer=None,
    kernel_regularizer=None,
    bias_regularizer=None,
    activity_regularizer=None,
    kernel_constraint=None,
    bias_constraint=None,
    trainable=True,
    name: str | None = None,
    reuse=None,
) -> Tensor:
    """activation(inputs W + b) with variables of the variable scope: `name`/kernel and `name`/bias
    (of a new name "dense", "dense_1", … if none is given)."""
    layer = Dense(
        units,
        activation,
        use_bias,
        kernel_initializer,
        bias_initializer,
        kernel_regularizer,
        bias_regularizer,
        activity_regularizer,
        kernel_constraint,
        bias_constraint,
        trainable,
        name,
        reuse,
    )
    return layer(inputs)


def flatten(
    inputs: TensorLike, name: str | None = None, data_format: str = "channels_last"
) -> Tensor:
    """[batch, all other dimensions joined]. data_format "channels_first": dimension 1 comes last,
    so that the result is that of "channels_last". ValueError for others."""
    x = convert_to_tensor(inputs)
    if data_format not in ("channels_last", "channels_first"):
        raise ValueError(
            f"data_format must be 'channels_last' or 'channels_first', not {data_format!r}"
        )
    if data_format == "channels_first" and x._dims is not None and len(x._dims) > 2:
        x = call("Transpose", x, [0, *range(2, len(x._dims)), 1])
    if x._dims is not None and None not in x._dims[1:]:
        sizes = _gyre.convert([-1, math.prod(x._dims[1:])], _gyre.as_dtype("int32"))
        return call("Reshape", x, sizes, name=name)
    first = call("StridedSlice", call("Shape", x), [0], [1], [1])
    return call("Reshape", x, call("ConcatV2", [first, [-1]], 0), name=name)


def dropout_layer(
    inputs: TensorLike,
    rate=0.5,
    noise_shape: ShapeLike = None,
    seed=None,
    training=False,
    name: str | None = None,
) -> Any:
    """Dropout, if `training` (a bool, or a bool tensor) says so; else the inputs."""

    def dropped():
        return dropout(inputs, rate=rate, noise_shape=noise_shape, seed=seed, name=name)

    if isinstance(training, _gyre.Tensor):
        return cond(training, dropped, lambda: call("Identity", inputs))
    return dropped() if training else call("Identity", inputs)

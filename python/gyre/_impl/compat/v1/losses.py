"""losses: weighted sums and means of errors, kept in a collection of the graph."""

from __future__ import annotations

from gyre import _gyre
from gyre._gyre import Tensor
from gyre._impl.annotations import TensorLike
from gyre._impl.compat.v1.collections import GraphKeys, add_to_collection, get_collection
from gyre._impl.convert import call, convert_to_tensor, rank_of
from gyre._impl.graphs.graph import name_scope
from gyre._impl.ops import table
from gyre._impl.ops.table import reduce_sum


class Reduction:
    """How a loss becomes one number."""

    NONE = "none"
    SUM = "weighted_sum"
    MEAN = "weighted_mean"
    SUM_OVER_BATCH_SIZE = "weighted_sum_over_batch_size"
    SUM_OVER_NONZERO_WEIGHTS = "weighted_sum_by_nonzero_weights"
    SUM_BY_NONZERO_WEIGHTS = SUM_OVER_NONZERO_WEIGHTS

    @classmethod
    def all(cls) -> tuple:
        """All of them."""
        return (cls.NONE, cls.SUM, cls.MEAN, cls.SUM_OVER_BATCH_SIZE, cls.SUM_OVER_NONZERO_WEIGHTS)


def compute_weighted_loss(
    losses: TensorLike,
    weights: TensorLike = 1.0,
    scope=None,
    loss_collection=GraphKeys.LOSSES,
    reduction=Reduction.SUM_BY_NONZERO_WEIGHTS,
) -> Tensor:
    """losses · weights as one number (or as they are, with Reduction.NONE),
    added to a collection."""
    if reduction not in Reduction.all():
        raise ValueError(f"Invalid Reduction Key {reduction}.")
    with name_scope(scope, "weighted_loss"):
        losses = convert_to_tensor(losses)
        weights = (
            weights if isinstance(weights, _gyre.Tensor) else _gyre.convert(weights, losses.dtype)
        )
        weights = (
            call("Cast", weights, DstT=losses.dtype) if weights.dtype != losses.dtype else weights
        )
        loss = call("Mul", losses, weights)
        if reduction != Reduction.NONE:
            loss = _reduced(reduce_sum(loss), losses, weights, reduction)
        if loss_collection is not None:
            add_to_collection(loss_collection, loss)
        return loss


def _reduced(total, losses, weights, reduction):
    if reduction == Reduction.SUM:
        return total
    everywhere = call("Mul", call("OnesLike", losses), weights)
    if reduction == Reduction.MEAN:
        count = reduce_sum(everywhere)
    elif reduction == Reduction.SUM_OVER_BATCH_SIZE:
        count = call("Cast", call("Size", losses), DstT=losses.dtype)
    else:
        present = call("NotEqual", everywhere, call("ZerosLike", everywhere))
        count = reduce_sum(call("Cast", present, DstT=losses.dtype))
    return call("DivNoNan", total, count, name="value")


def _pair(labels, predictions):
    predictions = convert_to_tensor(predictions)
    labels = convert_to_tensor(labels)
    return (
        call("Cast", labels, DstT=predictions.dtype)
        if labels.dtype != predictions.dtype
        else labels,
        predictions,
    )


def _elementwise(name: str, default_scope: str, doc: str, error):
    def loss(
        labels: TensorLike,
        predictions: TensorLike,
        weights: TensorLike = 1.0,
        scope: str | None = None,
        loss_collection: str = GraphKeys.LOSSES,
        reduction: str = Reduction.SUM_BY_NONZERO_WEIGHTS,
    ) -> Tensor:
        with name_scope(scope, default_scope):
            return compute_weighted_loss(
                error(*_pair(labels, predictions)), weights, None, loss_collection, reduction
            )

    loss.__name__ = loss.__qualname__ = name
    loss.__doc__ = doc
    return loss


mean_squared_error = _elementwise(
    "mean_squared_error",
    "mean_squared_error",
    "The mean of (p - l)².",
    lambda labels, p: call("SquaredDifference", p, labels),
)
absolute_difference = _elementwise(
    "absolute_difference",
    "absolute_difference",
    "The mean of |p - l|.",
    lambda labels, p: call("Abs", call("Sub", p, labels)),
)


def log_loss(
    labels: TensorLike,
    predictions: TensorLike,
    weights: TensorLike = 1.0,
    epsilon: TensorLike = 1e-7,
    scope=None,
    loss_collection=GraphKeys.LOSSES,
    reduction=Reduction.SUM_BY_NONZERO_WEIGHTS,
) -> Tensor:
    """The mean of -l log(p + ε) - (1 - l) log(1 - p + ε)."""
    with name_scope(scope, "log_loss"):
        labels, p = _pair(labels, predictions)
        one, small = _gyre.convert(1, p.dtype), _gyre.convert(epsilon, p.dtype)
        yes = call("Mul", labels, call("Log", call("AddV2", p, small)))
        no = call(
            "Mul", call("Sub", one, labels), call("Log", call("AddV2", call("Sub", one, p), small))
        )
        return compute_weighted_loss(
            call("Neg", call("AddV2", yes, no)), weights, None, loss_collection, reduction
        )


def softmax_cross_entropy(
    onehot_labels: TensorLike,
    logits: TensorLike,
    weights: TensorLike = 1.0,
    label_smoothing=0,
    scope=None,
    loss_collection=GraphKeys.LOSSES,
    reduction=Reduction.SUM_BY_NONZERO_WEIGHTS,
) -> Tensor:
    """The mean of softmax_cross_entropy_with_logits. label_smoothing: labels are moved towards 1 /
    classes."""
    with name_scope(scope, "softmax_cross_entropy_loss"):
        labels, logits = _pair(onehot_labels, logits)
        if label_smoothing:
            rank_of(labels, "softmax_cross_entropy with label_smoothing", "onehot_labels", least=2)
            classes = labels._dims[1]
            if classes is None:
                raise ValueError(
                    "softmax_cross_entropy with label_smoothing needs to know the number of "
                    "classes: the last size of 'onehot_labels'"
                )
            labels = call(
                "AddV2", call("Mul", labels, 1.0 - label_smoothing), label_smoothing / classes
            )
        labels = call("StopGradient", labels)
        losses = table.softmax_cross_entropy_with_logits(labels, logits)
        return compute_weighted_loss(losses, weights, None, loss_collection, reduction)


def sparse_softmax_cross_entropy(
    labels: TensorLike,
    logits: TensorLike,
    weights: TensorLike = 1.0,
    scope=None,
    loss_collection=GraphKeys.LOSSES,
    reduction=Reduction.SUM_BY_NONZERO_WEIGHTS,
) -> Tensor:
    """The mean of sparse_softmax_cross_entropy_with_logits."""
    with name_scope(scope, "sparse_softmax_cross_entropy_loss"):
        losses = table.sparse_softmax_cross_entropy_with_logits(labels, logits)
        return compute_weighted_loss(losses, weights, None, loss_collection, reduction)


def sigmoid_cross_entropy(
    multi_class_labels: TensorLike,
    logits: TensorLike,
    weights: TensorLike = 1.0,
    label_smoothing=0,
    scope=None,
    loss_collection=GraphKeys.LOSSES,
    reduction=Reduction.SUM_BY_NONZERO_WEIGHTS,
) -> Tensor:
    """The mean of sigmoid_cross_entropy_with_logits. label_smoothing: labels are moved towards
    1/2."""
    with name_scope(scope, "sigmoid_cross_entropy_loss"):
        labels, logits = _pair(multi_class_labels, logits)
        if label_smoothing:
            labels = call(
                "AddV2", call("Mul", labels, 1.0 - label_smoothing), 0.5 * label_smoothing
            )
        losses = table.sigmoid_cross_entropy_with_logits(labels, logits)
        return compute_weighted_loss(losses, weights, None, loss_collection, reduction)


def add_loss(loss, loss_collection=GraphKeys.LOSSES) -> None:
    """Adds a loss to a collection."""
    if loss_collection is not None:
        add_to_collection(loss_collection, loss)


def get_losses(scope=None, loss_collection=GraphKeys.LOSSES) -> list:
    """The losses of a collection."""
    return get_collection(loss_collection, scope)


def get_regularization_losses(scope=None) -> list:
    """What regularizers of variables gave."""
    return get_collection(GraphKeys.REGULARIZATION_LOSSES, scope)


def get_regularization_loss(scope=None, name: str = "total_regularization_loss") -> Tensor:
    """The sum of what regularizers of variables gave."""
    losses = get_regularization_losses(scope)
    return call("AddN", losses, name=name) if losses else _gyre.convert(0.0)


def get_total_loss(add_regularization_losses=True, name: str = "total_loss", scope=None) -> Tensor:
    """The sum of all losses, and of what regularizers of variables gave."""
    losses = get_losses(scope)
    if add_regularization_losses:
        losses = losses + get_regularization_losses(scope)
    return call("AddN", losses, name=name)

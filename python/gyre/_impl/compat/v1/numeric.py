"""Jacobians by differences, beside those of gradients, of a session's graph: for tests."""

from __future__ import annotations

import numpy as np

from gyre import _gyre
from gyre._impl.autodiff.numeric import moved_to_both_sides, reals
from gyre._impl.compat.v1.gradients import gradients
from gyre._impl.convert import convert_to_tensor
from gyre._impl.graphs.default_session import session_for


def compute_gradient(
    x,
    x_shape,
    y,
    y_shape,
    x_init_value=None,
    delta: float = 1e-3,
    init_targets=None,
    extra_feed_dict=None,
) -> tuple | list:
    """(the Jacobian of gradients, the one by differences) of tensor y by tensor x, with a row for
    each element of x and a column for each of y; of a list of xs, a list of such pairs. Runs in the
    default session.

    x_shape, y_shape: their shapes. x_init_value: where; random if it is not given. delta: how far
    an element is moved to each side. init_targets: operations that are run before. extra_feed_dict:
    what else is fed. ValueError without a session.
    """
    xs = list(x) if isinstance(x, (list, tuple)) else [x]
    shapes = list(x_shape) if isinstance(x, (list, tuple)) else [x_shape]
    given = [None] * len(xs) if x_init_value is None else x_init_value
    values = list(given) if isinstance(x, (list, tuple)) else [x_init_value]
    session = session_for(None, xs[0].graph, "compute_gradient()", "tensor")
    targets = init_targets if isinstance(init_targets, (list, tuple)) else [init_targets]
    for target in targets:
        if target is not None:
            session.run(target)
    weight = convert_to_tensor(np.zeros(tuple(y_shape), y.dtype.as_numpy_dtype))
    found = gradients(y, xs, grad_ys=weight)
    pairs = []
    for place, (one, shape) in enumerate(zip(xs, shapes, strict=True)):
        kind = one.dtype.as_numpy_dtype
        at = (
            np.random.random_sample(tuple(shape)).astype(kind)
            if values[place] is None
            else np.asarray(values[place], dtype=kind)
        )
        feed = dict(extra_feed_dict or {})
        slope = found[place]
        pairs.append(
            (
                _by_gradient(session, one, at, y_shape, weight, slope, feed),
                _by_differences(session, one, at, y, delta, feed),
            )
        )
    return pairs if isinstance(x, (list, tuple)) else pairs[0]


def compute_gradient_error(
    x,
    x_shape,
    y,
    y_shape,
    x_init_value=None,
    delta: float = 1e-3,
    init_targets=None,
    extra_feed_dict=None,
) -> float:
    """The largest difference between the Jacobians of compute_gradient."""
    found = compute_gradient(
        x, x_shape, y, y_shape, x_init_value, delta, init_targets, extra_feed_dict
    )
    pairs = found if isinstance(found, list) else [found]
    return max((float(np.fabs(a - b).max()) for a, b in pairs if a.size), default=0.0)


def _by_gradient(session, x, at, y_shape, weight, slope, feed) -> np.ndarray:
    kind = weight.dtype.as_numpy_dtype
    columns = []
    for place in range(reals(np.zeros(tuple(y_shape), kind)).size):
        unit = reals(np.zeros(tuple(y_shape), kind))
        unit[place] = 1
        value = unit.view(kind).reshape(tuple(y_shape))
        if slope is None:
            columns.append(reals(np.zeros_like(at)))
            continue
        dense = slope if isinstance(slope, _gyre.Tensor) else convert_to_tensor(slope)
        columns.append(reals(session.run(dense, {**feed, x: at, weight: value})))
    rows = reals(at).size
    return np.stack(columns, axis=1) if columns else np.zeros((rows, 0), reals(at).dtype)


def _by_differences(session, x, at, y, delta, feed) -> np.ndarray:
    rows = []
    for moved in moved_to_both_sides(at, delta):
        above, below = (reals(np.asarray(session.run(y, {**feed, x: value}))) for value in moved)
        rows.append((above - below) / (2 * delta))
    columns = reals(np.asarray(session.run(y, {**feed, x: at}))).size
    return np.stack(rows) if rows else np.zeros((0, columns), reals(at).dtype)

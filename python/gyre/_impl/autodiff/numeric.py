"""Jacobians by differences, beside those of tapes: for tests of gradients."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from gyre._impl.annotations import Any
from gyre._impl.autodiff.tape import GradientTape, UnconnectedGradients
from gyre._impl.composites.indexed_slices import IndexedSlices
from gyre._impl.convert import convert_to_tensor


def compute_gradient(f: Callable, x, delta: float | None = None) -> tuple[list, list]:
    """(Jacobians of tapes, Jacobians by differences) of the one result of f(*x) by each x: matrices
    with a row for each element of the result, a column for each of x.

    delta: how far an element is moved to each side; by default 1/1024.
    ValueError where x is no list, or f has several results; TypeError where dtypes are not
    floating or complex.
    """
    if not isinstance(x, (list, tuple)):
        raise ValueError(f"`x` must be a list or tuple of values convertible to a Tensor, not {x}")
    sources = [convert_to_tensor(value) for value in x]
    for source in sources:
        if not (source.dtype.is_floating or source.dtype.is_complex):
            raise TypeError(f"gradients by a tensor of dtype {source.dtype.name} make no sense")
    step = 1.0 / 1024 if delta is None else delta
    return (
        [_by_tape(f, sources, i) for i in range(len(sources))],
        [_by_differences(f, sources, i, step) for i in range(len(sources))],
    )


def _result(f, sources):
    result = f(*sources)
    if isinstance(result, (list, tuple)):
        if len(result) != 1:
            raise ValueError(f"f must return one tensor, not {len(result)}")
        result = result[0]
    if isinstance(result, IndexedSlices):
        result = convert_to_tensor(result)
    return result


def reals(array: Any) -> Any:
    """The elements of an array as a vector of real numbers: a view where it is contiguous."""
    flat: Any = np.ascontiguousarray(array).reshape(-1)
    return flat.view(flat.real.dtype) if np.iscomplexobj(flat) else flat


def _by_tape(f, sources: list, place: int) -> np.ndarray:
    x = sources[place]
    with GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = _result(f, sources)
    shape: Any = tuple(y.shape)
    jacobian = np.zeros((reals(y.numpy()).size, reals(x.numpy()).size), _real_type(x))
    for row in range(jacobian.shape[0]):
        weight = np.zeros(shape, y.dtype.as_numpy_dtype)
        flat = reals(weight)
        flat[row] = 1
        weight = flat.view(weight.dtype).reshape(shape)
        found = tape.gradient(y, x, convert_to_tensor(weight), UnconnectedGradients.ZERO)
        jacobian[row] = reals(convert_to_tensor(found).numpy())
    return jacobian


def _by_differences(f, sources: list, place: int, step: float) -> np.ndarray:
    x = sources[place]
    columns = []
    for moved in moved_to_both_sides(x.numpy(), step):
        sides = []
        for value in moved:
            given = [*sources[:place], convert_to_tensor(value), *sources[place + 1 :]]
            sides.append(reals(_result(f, given).numpy()).astype(np.float64))
        columns.append((sides[0] - sides[1]) / (2 * step))
    rows = reals(_result(f, sources).numpy()).size
    if not columns:
        return np.zeros((rows, 0), _real_type(x))
    return np.stack(columns, axis=1).astype(_real_type(x))


def moved_to_both_sides(at, step) -> Iterator[tuple]:
    """For each real number in an array: the array with it moved up, and down, by a step."""
    for place in range(reals(at).size):
        sides = []
        for side in (step, -step):
            moved = reals(at).copy()
            moved[place] += np.asarray(side, moved.dtype)
            sides.append(moved.view(at.dtype).reshape(at.shape))
        yield tuple(sides)


def _real_type(x):
    return reals(np.zeros((), x.dtype.as_numpy_dtype)).dtype

"""GradientTape: derivatives of what ran while it watched.

What is recorded, and what becomes of it, is the core's (src/eager, _gyre.Tape): of what runs at
once the ops, in a graph which nodes were added meanwhile.
"""

from __future__ import annotations

import contextlib
import enum
import warnings
from collections.abc import Iterator

from gyre import _gyre
from gyre._impl import nest
from gyre._impl.annotations import Any
from gyre._impl.autodiff import backprop, jacobians
from gyre._impl.convert import call, convert_to_tensor, is_value
from gyre._impl.tracing.variables import argument_for, of_graphs, variable_of


class UnconnectedGradients(enum.Enum):
    """What a gradient is where the target does not depend on the source: None, or zeros."""

    NONE = "none"
    ZERO = "zero"


recording = _gyre.recording
watched = _gyre.watched
paused = _gyre.PausedTapes


def accessed(handle) -> None:
    """Tells the tapes of this thread that a trainable variable (its eager handle) is read."""
    if recording():
        _gyre.accessed(handle, _stand_in(handle))


def _stand_in(handle):
    """What is handed to the graph that is current in the place of what is read of a variable."""
    variable = variable_of(handle)
    return None if variable is None else argument_for(variable)


def flat(structure) -> list:
    """The leaves of a structure; composites and variables are leaves."""
    return nest.flatten(structure)


def packed(structure, leaves: list):
    """Leaves in the form of a structure."""
    return nest.pack_sequence_as(structure, leaves)


class GradientTape:
    """Records what is computed from watched tensors and trainable variables, for `gradient`.

        with gyre.GradientTape() as tape:
            loss = f(w)
        dw = tape.gradient(loss, w)

    Variables that are trainable are watched when they are read; tensors by `watch`. Tapes nest: an
    outer tape records what an inner one's `gradient` computes, so derivatives of any order follow.
    A tape gives gradients once, or with `persistent` until it is deleted. For one thread.
    """

    def __init__(self, persistent: bool = False, watch_accessed_variables: bool = True):
        self._tape = _gyre.Tape(persistent, watch_accessed_variables)
        self._persistent = persistent

    def __enter__(self) -> GradientTape:
        self._tape.start()
        return self

    def __exit__(self, *error) -> None:
        if self._tape.recording:
            self._tape.stop()

    def watch(self, tensor) -> None:
        """Watches a tensor, a variable, or all of a structure. ValueError for other values; tensors
        that are not floating or complex are passed over, with a warning."""
        for value in flat(tensor):
            handle = getattr(value, "handle", None)
            if handle is not None and hasattr(value, "read_value"):
                stand_in = handle if handle.is_symbolic else _stand_in(handle)
                self._tape.watch_variable(handle, stand_in)
                continue
            parts = backprop.parts_of(value)
            if not parts:
                raise ValueError(
                    f"A tape watches tensors and variables, not {type(value).__name__}."
                )
            for part in parts:
                if not (part.dtype.is_floating or part.dtype.is_complex):
                    warnings.warn(
                        f"a tape watches floating and complex tensors; this one is of dtype "
                        f"{part.dtype.name}",
                        stacklevel=2,
                    )
                    continue
                self._tape.watch(part)

    def watched_variables(self) -> tuple:
        """The variables that it watches, in the order in which they were made."""
        handles = sorted(self._tape.variables, key=lambda handle: handle.id)
        found = (
            of_graphs[handle.id] if handle.id in of_graphs else variable_of(handle)
            for handle in handles
        )
        return tuple(v for v in found if v is not None)

    @contextlib.contextmanager
    def stop_recording(self) -> Iterator[None]:
        """Within it, this tape does not record: what is computed counts as constant."""
        if not self._tape.recording:
            raise ValueError("This tape is not recording.")
        self._tape.stop()
        try:
            yield
        finally:
            self._tape.start()

    def reset(self) -> None:
        """Forgets all that was recorded and watched."""
        self._tape.reset()

    def gradient(
        self,
        target,
        sources,
        output_gradients=None,
        unconnected_gradients=UnconnectedGradients.NONE,
    ) -> Any:
        """The gradient of the sum of all elements of `target` by each source.

        target: a tensor or a structure of them. sources: a tensor, a variable, or a structure; the
        result has its form: tensors of the sources' shapes, ragged ones for these, IndexedSlices
        for variables of which only rows were read, None (or zeros, as asked for) where nothing
        depends on a source.
        output_gradients: one per target, of its shape, by which it is weighted (ValueError if it
        does not fit). RuntimeError if the tape was used before and is not persistent.
        """
        self._tape.use()
        unconnected = UnconnectedGradients(unconnected_gradients)
        xs = flat(sources)
        ys = flat(target)
        dys = None if output_gradients is None else flat(output_gradients)
        if dys is not None and len(ys) == 1 != len(dys):
            dys = [output_gradients]
        results = self._gradients(ys, xs, dys and _weights(ys, dys))
        if unconnected is UnconnectedGradients.ZERO:
            results = [
                backprop.zeros_of(x) if g is None else g for x, g in zip(xs, results, strict=True)
            ]
        return packed(sources, results)

    def _gradients(self, ys: list, xs: list, dys: list | None) -> list:
        if dys is not None and len(dys) != len(ys):
            raise ValueError(f"{len(dys)} output_gradients were given for {len(ys)} targets.")
        if _gyre.current_graph() is not None:
            return backprop.symbolic(ys, xs, dys, tape=self._tape)
        return backprop.eager(self._tape, ys, xs, dys)

    def jacobian(
        self,
        target,
        sources,
        unconnected_gradients=UnconnectedGradients.NONE,
        parallel_iterations=None,
        experimental_use_pfor=True,
    ) -> Any:
        """The derivatives of all elements of a tensor by all elements of each source: of shape
        target.shape + source.shape. Computed backwards once per element of the target; in a graph
        for all of them at once. RuntimeError of a tape that is not persistent, where programs ask
        for several ways back: with parallel_iterations, or without pfor."""
        self._require_repeatable(parallel_iterations, experimental_use_pfor)
        target = self._dense(target)
        self._tape.use()
        unconnected = UnconnectedGradients(unconnected_gradients)
        xs = flat(sources)
        found = jacobians.rows(
            lambda dy: self._gradients([target], xs, [dy]), call("ZerosLike", target)
        )
        results = []
        for x, stacked in zip(xs, found or [None] * len(xs), strict=True):
            if stacked is None and unconnected is UnconnectedGradients.NONE:
                results.append(None)
                continue
            x_shape = call("Shape", convert_to_tensor(x))
            shape = call("ConcatV2", [call("Shape", target), x_shape], 0)
            results.append(jacobians.shaped(stacked, shape, x))
        return packed(sources, results)

    def _require_repeatable(self, parallel_iterations, use_pfor) -> None:
        in_graph = _gyre.current_graph() is not None
        if self._persistent or (use_pfor if not in_graph else parallel_iterations is None):
            return
        raise RuntimeError(
            "GradientTape must be created with persistent=True to compute a jacobian with "
            f"{'parallel_iterations' if in_graph else 'experimental_use_pfor=False'}"
        )

    def _dense(self, target):
        """The target as a tensor. What becomes one here, such as IndexedSlices, is recorded."""
        if isinstance(target, _gyre.Tensor) or not is_value(target):
            return convert_to_tensor(target)
        paused = not self._tape.recording
        if paused:
            self._tape.start()
        try:
            return convert_to_tensor(target)
        finally:
            if paused:
                self._tape.stop()

    def batch_jacobian(
        self,
        target,
        source,
        unconnected_gradients=UnconnectedGradients.NONE,
        parallel_iterations=None,
        experimental_use_pfor=True,
    ) -> Any:
        """As jacobian, where row b of the target depends on row b of the source only: of shape
        [batch] + target.shape[1:] + source.shape[1:]; zeros if they are not connected. Computed
        backwards once per element of a row, in a graph for all of them at once. ValueError if
        shapes don't begin with the same batch, or rows are scalars; RuntimeError as jacobian."""
        self._require_repeatable(parallel_iterations, experimental_use_pfor)
        target = self._dense(target)
        self._tape.use()
        UnconnectedGradients(unconnected_gradients)
        x_dims, y_dims = source._dims, target._dims
        if (
            not x_dims
            or not y_dims
            or min(len(x_dims), len(y_dims)) < 2
            or None not in (x_dims[0], y_dims[0])
            and x_dims[0] != y_dims[0]
        ):
            raise ValueError(
                "batch_jacobian needs a target and a source of one batch size, with rows that are "
                "no scalars."
            )
        row = call("Fill", _rest_of_shape(target), _gyre.convert(0, target.dtype))
        found = jacobians.rows(
            lambda dy: self._gradients(
                [target], [source], [call("BroadcastTo", dy, call("Shape", target))]
            ),
            row,
        )
        stacked = found[0] if found else None
        if stacked is not None:
            order = [1, 0, *range(2, 1 + len(x_dims))]
            stacked = call("Transpose", stacked, order)
        x = convert_to_tensor(source)
        shape = call("ConcatV2", [call("Shape", target), _rest_of_shape(x)], 0)
        return jacobians.shaped(stacked, shape, x)


def _weights(ys: list, dys: list) -> list:
    """The output_gradients: those of tensors as tensors that fit them. ValueError, TypeError."""
    return [
        _weight(y, dy, f"[{place}]" if len(dys) > 1 else "")
        if dy is not None and isinstance(y, _gyre.Tensor) and backprop.differentiable(y)
        else dy
        for place, (y, dy) in enumerate(zip(ys, dys, strict=False))
    ] + dys[len(ys) :]


def _weight(y, dy, place: str):
    try:
        weight = convert_to_tensor(dy, y.dtype)
    except (TypeError, ValueError) as error:
        raise type(error)(f"output_gradients{place} does not fit its target: {error}") from None
    if not y.shape.is_compatible_with(weight.shape):
        raise ValueError(
            f"output_gradients{place} has shape {weight.shape}, its target {y.shape}: it has one "
            f"weight for each element of the target"
        )
    return weight


def _rest_of_shape(x):
    """The shape of the rows of a tensor."""
    return call("StridedSlice", call("Shape", x), [1], [0], [1], end_mask=1)


class ForwardAccumulator:
    """Derivatives in the direction of tangents, of what is computed from primals within it.

        with gyre.autodiff.ForwardAccumulator(primals=x, tangents=v) as acc:
            y = f(x)
        acc.jvp(y)  # the Jacobian of y by x, times v

    A vector-Jacobian product is linear in its vector, so its derivative by that vector gives the
    Jacobian-vector product: reverse mode twice.
    """

    def __init__(self, primals, tangents):
        self._primals, self._tangents = flat(primals), flat(tangents)
        if len(self._primals) != len(self._tangents):
            raise ValueError(f"{len(self._primals)} primals, but {len(self._tangents)} tangents.")
        self._tape = GradientTape(persistent=True, watch_accessed_variables=False)
        self._tape.watch([p for p in self._primals if p is not None])

    def __enter__(self) -> ForwardAccumulator:
        self._tape.__enter__()
        return self

    def __exit__(self, *error) -> None:
        self._tape.__exit__(*error)

    def jvp(self, primals, unconnected_gradients=UnconnectedGradients.NONE):
        """The derivative of each of `primals` in the direction of the tangents, of its shape; None
        (or zeros) where it does not depend on them."""
        unconnected = UnconnectedGradients(unconnected_gradients)
        results = []
        for y in flat(primals):
            result = self._along(y)
            if result is None and unconnected is UnconnectedGradients.ZERO:
                result = backprop.zeros_of(y)
            results.append(result)
        return packed(primals, results)

    def _along(self, y):
        for x, v in zip(self._primals, self._tangents, strict=True):
            if y is x:
                return convert_to_tensor(v)
        y = convert_to_tensor(y)
        weight = call("ZerosLike", y)
        tape = self._tape._tape
        was_recording = tape.recording
        if was_recording:
            tape.stop()
        try:
            with GradientTape(watch_accessed_variables=False) as outer:
                outer.watch(weight)
                slopes = self._tape._gradients([y], self._primals, [weight])
            pairs = [(g, v) for g, v in zip(slopes, self._tangents, strict=True) if g is not None]
            if not pairs:
                return None
            return outer.gradient(
                [convert_to_tensor(g) for g, _ in pairs],
                weight,
                [v if is_value(v) else convert_to_tensor(v, g.dtype) for g, v in pairs],
            )
        finally:
            if was_recording:
                tape.start()

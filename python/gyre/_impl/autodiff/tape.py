"""GradientTape: derivatives of what ran while it watched.

Eagerly, a recorder of the core collects the ops that ran; `gradient` computes backwards from them
(backprop.py). In a graph the nodes are the record: the recorder notes which of them were added
while it was active, and since when what is watched.
"""

from __future__ import annotations

import contextlib
import enum
import threading
from collections.abc import Iterator

from gyre import _gyre
from gyre._impl import nest
from gyre._impl.annotations import Any
from gyre._impl.autodiff import backprop, jacobians
from gyre._impl.convert import call, convert_to_tensor, is_value
from gyre._impl.tracing.variables import argument_for, variable_of


class UnconnectedGradients(enum.Enum):
    """What a gradient is where the target does not depend on the source: None, or zeros."""

    NONE = "none"
    ZERO = "zero"


class _Active(threading.local):
    def __init__(self):
        self.tapes: list[GradientTape] = []


_active = _Active()


def accessed(handle) -> None:
    """Tells the active tapes that a trainable variable (its eager handle) is read."""
    for tape in _active.tapes:
        tape._access(handle)


def recording() -> bool:
    """Whether a tape records on this thread."""
    return bool(_active.tapes)


def watched(tensors) -> tuple[tuple[bool, ...], int]:
    """Of each eager tensor or handle, whether a tape that records watches it; and how many tapes
    watch some."""
    rows = [tuple(t._recorder.is_watched(x) for x in tensors) for t in _active.tapes]
    if len(rows) == 1:
        return rows[0], int(True in rows[0])
    return tuple(map(any, zip(*rows, strict=True))), sum(map(any, rows))


@contextlib.contextmanager
def paused():
    """Within it, no tape of this thread records."""
    tapes, _active.tapes = _active.tapes, []
    for tape in reversed(tapes):
        tape._recorder.stop()
    try:
        yield
    finally:
        _active.tapes = tapes
        for tape in tapes:
            tape._recorder.start()


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
        self._persistent = persistent
        self._watch_accessed = watch_accessed_variables
        self._recording = False
        self._used = False
        self._new_recorder()

    def _new_recorder(self) -> None:
        self._recorder = _gyre.Recorder()
        self._recorder.watches_variables = False
        self._seen: dict[int, object] = {}

    def _access(self, handle) -> None:
        if self._watch_accessed:
            self._watch_handle(handle)

    def _watch_handle(self, handle) -> None:
        if handle.id in self._seen:
            return
        self._seen[handle.id] = handle
        self._recorder.watch(handle)
        variable = variable_of(handle)
        stand_in = None if variable is None else argument_for(variable)
        if stand_in is not None:
            self._recorder.watch(stand_in)

    def __enter__(self) -> GradientTape:
        self._start()
        return self

    def __exit__(self, *error) -> None:
        if self._recording:
            self._stop()

    def _start(self) -> None:
        if self._recording:
            raise ValueError("This tape is recording already.")
        self._recorder.start()
        _active.tapes.append(self)
        self._recording = True

    def _stop(self) -> None:
        self._recorder.stop()
        _active.tapes.remove(self)
        self._recording = False

    def watch(self, tensor) -> None:
        """Watches a tensor, a variable, or all of a structure. ValueError for other values, and
        for tensors that are not floating or complex."""
        for value in flat(tensor):
            handle = getattr(value, "handle", None)
            if handle is not None and hasattr(value, "read_value"):
                self._watch_handle(handle)
                continue
            parts = backprop.parts_of(value)
            if not parts:
                raise ValueError(
                    f"A tape watches tensors and variables, not {type(value).__name__}."
                )
            for part in parts:
                if not (part.dtype.is_floating or part.dtype.is_complex):
                    raise ValueError(
                        f"A tape watches floating and complex tensors; this one is of "
                        f"dtype {part.dtype.name}."
                    )
                self._recorder.watch(part)

    def watched_variables(self) -> tuple:
        """The variables that it watches, in the order in which they were first read."""
        found = (variable_of(handle) for handle in self._seen.values())
        return tuple(v for v in found if v is not None)

    @contextlib.contextmanager
    def stop_recording(self) -> Iterator[None]:
        """Within it, this tape does not record: what is computed counts as constant."""
        if not self._recording:
            raise ValueError("This tape is not recording.")
        self._stop()
        try:
            yield
        finally:
            self._start()

    def reset(self) -> None:
        """Forgets all that was recorded and watched."""
        recording = self._recording
        if recording:
            self._stop()
        self._new_recorder()
        self._used = False
        if recording:
            self._start()

    def gradient(
        self,
        target,
        sources,
        output_gradients=None,
        unconnected_gradients=UnconnectedGradients.NONE,
    ) -> Any:
        """The gradient of the sum of all elements of `target` by each source.

        target: a tensor or a structure of them. sources: a tensor, a variable, or a structure; the
        result has its form: tensors of the sources' shapes, IndexedSlices for variables of which
        only rows were read, None (or zeros, as asked for) where nothing depends on a source.
        output_gradients: one per target, of its shape, by which it is weighted.
        RuntimeError if the tape was used before and is not persistent.
        """
        self._use()
        unconnected = UnconnectedGradients(unconnected_gradients)
        xs = flat(sources)
        ys = flat(target)
        dys = None if output_gradients is None else flat(output_gradients)
        if dys is not None and len(ys) == 1 != len(dys):
            dys = [output_gradients]
        results = self._gradients(ys, xs, dys)
        if unconnected is UnconnectedGradients.ZERO:
            results = [
                backprop.zeros_of(x) if g is None else g for x, g in zip(xs, results, strict=True)
            ]
        return packed(sources, results)

    def _use(self) -> None:
        if self._used and not self._persistent:
            raise RuntimeError(
                "A tape that is not persistent gives gradients once; make it with persistent=True."
            )
        if self._recording and not self._persistent:
            self._stop()
        self._used = True

    def _gradients(self, ys: list, xs: list, dys: list | None) -> list:
        if dys is not None and len(dys) != len(ys):
            raise ValueError(f"{len(dys)} output_gradients were given for {len(ys)} targets.")
        if _gyre.current_graph() is not None:
            return backprop.symbolic(ys, xs, dys, recorder=self._recorder)
        return backprop.eager(self._recorder, ys, xs, dys)

    def jacobian(
        self,
        target,
        sources,
        unconnected_gradients=UnconnectedGradients.NONE,
        parallel_iterations=None,
        experimental_use_pfor=True,
    ) -> Any:
        """The derivatives of all elements of a tensor by all elements of each source: of shape
        target.shape + source.shape. Computed backwards once per element of the target, for all at
        once where a graph does not know their number."""
        del parallel_iterations, experimental_use_pfor
        target = self._dense(target)
        self._use()
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

    def _dense(self, target):
        """The target as a tensor. What becomes one here, such as IndexedSlices, is recorded."""
        if isinstance(target, _gyre.Tensor) or not is_value(target):
            return convert_to_tensor(target)
        paused = not self._recording
        if paused:
            self._start()
        try:
            return convert_to_tensor(target)
        finally:
            if paused:
                self._stop()

    def batch_jacobian(
        self,
        target,
        source,
        unconnected_gradients=UnconnectedGradients.NONE,
        parallel_iterations=None,
        experimental_use_pfor=True,
    ) -> Any:
        """As jacobian, where row b of the target depends on row b of the source only: of shape
        [batch] + target.shape[1:] + source.shape[1:]. Computed backwards once per element of a row,
        for all at once where a graph does not know their number. ValueError if shapes don't begin
        with the same batch."""
        del parallel_iterations, experimental_use_pfor
        target = self._dense(target)
        self._use()
        unconnected = UnconnectedGradients(unconnected_gradients)
        x_dims, y_dims = source._dims, target._dims
        if (
            not x_dims
            or not y_dims
            or None not in (x_dims[0], y_dims[0])
            and x_dims[0] != y_dims[0]
        ):
            raise ValueError("batch_jacobian needs a target and a source of one batch size.")
        row = call("Fill", _rest_of_shape(target), _gyre.convert(0, target.dtype))
        found = jacobians.rows(
            lambda dy: self._gradients(
                [target], [source], [call("BroadcastTo", dy, call("Shape", target))]
            ),
            row,
        )
        stacked = found[0] if found else None
        if stacked is None and unconnected is UnconnectedGradients.NONE:
            return None
        if stacked is not None:
            order = [1, 0, *range(2, 1 + len(x_dims))]
            stacked = call("Transpose", stacked, order)
        x = convert_to_tensor(source)
        shape = call("ConcatV2", [call("Shape", target), _rest_of_shape(x)], 0)
        return jacobians.shaped(stacked, shape, x)


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
        recording = self._tape._recording
        if recording:
            self._tape._stop()
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
            if recording:
                self._tape._start()

"""Batches of elements of different shapes, which are padded to one."""

from typing import Any

from gyre import _gyre
from gyre._impl import nest
from gyre._impl.control_flow.cond import cond
from gyre._impl.control_flow.tensor_array import TensorArray
from gyre._impl.control_flow.while_loop import while_loop
from gyre._impl.convert import call, convert_to_tensor
from gyre._impl.data import elements
from gyre._impl.data.source import UNKNOWN, Source
from gyre._impl.data.sources import int64
from gyre._impl.shape import TensorShape
from gyre._impl.spec import TensorSpec

_INT32 = _gyre.as_dtype("int32")


class PaddedBatch(Source):
    """Up to `size` elements as the rows of one, each padded at its ends: to `shapes`, and where
    these leave a size open to the largest of the batch.

    shapes, values: per tensor of an element, in its structure; None: its own shape, zeros."""

    def __init__(self, source, size, shapes, values):
        elements.tensors_only(source.element_spec, "padded_batch")
        known = size if isinstance(size, int) else None
        if known is not None and known < 1:
            raise ValueError(f"batch_size must be positive, but is {known}")
        self._source, self._size = source, size
        self._specs = nest.flatten(source.element_spec)
        for leaf in self._specs:
            if leaf._dims is None:
                raise ValueError(f"padded_batch needs elements of a known rank, not {leaf}")
        self._dims = [
            _dims(leaf, shape)
            for leaf, shape in zip(
                self._specs, _per_tensor(shapes, source.element_spec, "padded_shapes"), strict=True
            )
        ]
        self._values = [
            elements.zeros(TensorSpec((), leaf.dtype))
            if value is None
            else convert_to_tensor(value, leaf.dtype)
            for leaf, value in zip(
                self._specs, _per_tensor(values, source.element_spec, "padding_values"), strict=True
            )
        ]
        spec = [
            TensorSpec((None, *dims), leaf.dtype)
            for dims, leaf in zip(self._dims, self._specs, strict=True)
        ]
        length = source.length
        if length >= 0:
            length = UNKNOWN if known is None else -(-length // known)
        super().__init__(nest.pack_sequence_as(source.element_spec, spec), length)
        self.begin, self.advance = source.begin, source.advance

    def pull(self, state):
        size = int64(self._size)
        rows = [
            TensorArray(leaf.dtype, 0, True, infer_shape=False, element_shape=[None] * len(dims))
            for leaf, dims in zip(self._specs, self._dims, strict=True)
        ]
        largest = [
            _gyre.convert([d or 0 for d in dims], _INT32) if dims else _gyre.convert([0], _INT32)
            for dims in self._dims
        ]

        def step(count, more, state, rows, largest):
            element, state = self._source.pull(state)
            leaves = nest.flatten(element)
            at = call("Cast", count, DstT=_INT32)
            rows = [row.write(at, leaf) for row, leaf in zip(rows, leaves, strict=True)]
            largest = [
                call("Maximum", most, call("Shape", leaf)) if leaf._dims else most
                for most, leaf in zip(largest, leaves, strict=True)
            ]
            more, state = cond(
                count + 1 < size,
                lambda: self._source.advance(state),
                lambda: (_gyre.convert(False), state),
            )
            return count + 1, more, state, rows, largest

        count, _, state, rows, largest = while_loop(
            lambda count, more, *_: more,
            step,
            (int64(0), _gyre.convert(True), state, rows, largest),
        )
        count = call("Cast", count, DstT=_INT32)
        padded = [self._padded(i, count, rows[i], largest[i]) for i in range(len(rows))]
        element = nest.pack_sequence_as(self.element_spec, padded)
        return elements.refined(element, self.element_spec), state

    def _padded(self, place, count, row, largest):
        """The rows of one tensor, padded and stacked."""
        dims = self._dims[place]
        if not dims:
            return row.stack()
        # A size that is stated is the size: a larger element cannot be padded to it.
        stated = [_gyre.convert(-1 if d is None else d, _INT32) for d in dims]
        stated = call("Pack", stated)
        shape = call("SelectV2", call("Less", stated, 0), largest, stated)
        made = TensorArray(row.dtype, count, element_shape=dims)

        def step(i, made):
            value = row.read(i)
            ends = call("Sub", shape, call("Shape", value))
            paddings = call("Pack", [call("ZerosLike", ends), ends], axis=1)
            padded = call("PadV2", value, paddings, self._values[place])
            padded.set_shape(dims)
            return i + 1, made.write(i, padded)

        return while_loop(lambda i, _: i < count, step, (_gyre.convert(0), made))[1].stack()


def _dims(leaf: TensorSpec, shape) -> Any:
    """The dims that a tensor is padded to, None where the largest says it. ValueError for a shape
    that it cannot be padded to."""
    if shape is None:
        return leaf._dims
    if isinstance(shape, (list, tuple)):
        shape = [None if d is not None and int(d) == -1 else d for d in shape]
    own_dims: Any = leaf._dims
    dims = TensorShape(shape)._dims
    if dims is None or len(dims) != len(own_dims):
        raise ValueError(f"{leaf} cannot be padded to the shape {TensorShape(shape)}")
    for own, wanted in zip(own_dims, dims, strict=True):
        if None not in (own, wanted) and own > wanted:
            raise ValueError(f"{leaf} cannot be padded to the smaller shape {TensorShape(shape)}")
    return dims


def _per_tensor(given, spec, what: str) -> list:
    """What is given for each tensor of an element. One value for all of them need not be
    repeated."""
    if not elements.is_structure(spec):
        return [given]
    if given is None or what == "padding_values" and not elements.is_structure(given):
        return [given] * len(nest.flatten(spec))
    keys = sorted(spec) if isinstance(spec, dict) else range(len(spec))
    if not isinstance(given, (dict, list, tuple)) or len(given) != len(spec):
        raise ValueError(f"{what} must have the structure of the elements, {spec}, not {given!r}")
    return [leaf for key in keys for leaf in _per_tensor(given[key], spec[key], what)]

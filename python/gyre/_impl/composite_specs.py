"""Specs of values that are made of several tensors: parts of signatures, and shapes of loops' state.

A structure that expands composites takes a spec apart into the TensorSpecs of its parts, and puts
tensors together to the value that the spec describes.
"""

from gyre import _gyre
from gyre._impl import nest
from gyre._impl.control_flow.composites import IndexedSlices, SparseTensor
from gyre._impl.ragged import RaggedTensor
from gyre._impl.shape import TensorShape
from gyre._impl.spec import TensorSpec, TypeSpec

_INT64 = _gyre.as_dtype("int64")


class CompositeSpec(TypeSpec):
    """What the specs of composites share. Subclasses say `_parts` and `_build`."""

    __slots__ = ("_shape", "_dtype")

    @property
    def shape(self) -> TensorShape:
        """What is known of the shape of the whole."""
        return self._shape

    @property
    def dtype(self):
        """Of the values."""
        return self._dtype

    def _parts(self) -> list:
        """[(path, spec)]: the parts, as the value has them."""
        raise NotImplementedError

    def _build(self, children):
        """The value of these tensors; of specs: this spec."""
        raise NotImplementedError

    def is_compatible_with(self, value) -> bool:
        """Whether a value, or all values of another spec, could be of this kind."""
        if not isinstance(value, (self.value_type, type(self))):
            return False
        mine, theirs = (nest.flatten(x, expand_composites=True) for x in (self, value))
        return len(mine) == len(theirs) and all(
            a.is_compatible_with(b) for a, b in zip(mine, theirs, strict=True))

    def _key(self):
        parts = nest.flatten(self, expand_composites=True)
        return type(self), self._shape, self._dtype.name, tuple(parts)

    def __eq__(self, other) -> bool:
        return isinstance(other, CompositeSpec) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._shape}, {self._dtype!r})"


class IndexedSlicesSpec(CompositeSpec):
    """IndexedSlices of a tensor of `shape`. dense_shape_dtype: of their dense_shape; None: they have
    none. indices_shape: how many slices there are, if that is known."""

    __slots__ = ("_indices_dtype", "_dense_shape_dtype", "_indices_shape")

    def __init__(self, shape=None, dtype="float32", indices_dtype="int64", dense_shape_dtype=None,
                 indices_shape=None):
        self._shape, self._dtype = TensorShape(shape), _gyre.as_dtype(dtype)
        self._indices_dtype = _gyre.as_dtype(indices_dtype)
        self._dense_shape_dtype = dense_shape_dtype and _gyre.as_dtype(dense_shape_dtype)
        self._indices_shape = TensorShape(indices_shape).with_rank(1)

    @property
    def value_type(self) -> type:
        return IndexedSlices

    def _parts(self):
        rows = TensorShape(self._indices_shape)
        parts = [(".values", TensorSpec(rows.concatenate(self._shape[1:]), self._dtype)),
                 (".indices", TensorSpec(rows, self._indices_dtype))]
        if self._dense_shape_dtype:
            parts.append((".dense_shape", TensorSpec([self._shape.rank], self._dense_shape_dtype)))
        return parts

    def _build(self, children):
        return self if isinstance(children[0], TypeSpec) else IndexedSlices(*children)


class SparseTensorSpec(CompositeSpec):
    """SparseTensors of a shape, of which not all need be known, and a dtype."""

    __slots__ = ()

    def __init__(self, shape=None, dtype="float32"):
        self._shape, self._dtype = TensorShape(shape), _gyre.as_dtype(dtype)

    @property
    def value_type(self) -> type:
        return SparseTensor

    def _parts(self):
        rank = self._shape.rank
        return [(".indices", TensorSpec([None, rank], _INT64)),
                (".values", TensorSpec([None], self._dtype)),
                (".dense_shape", TensorSpec([rank], _INT64))]

    def _build(self, children):
        if isinstance(children[0], TypeSpec):
            return self
        return SparseTensor.of_parts(*children)


class RaggedTensorSpec(CompositeSpec):
    """RaggedTensors of a shape and dtype, with `ragged_rank` ragged axes (by default all but the
    first). row_splits_dtype must be int64: ValueError otherwise."""

    __slots__ = ("_ragged_rank",)

    def __init__(self, shape=None, dtype="float32", ragged_rank=None, row_splits_dtype="int64",
                 flat_values_spec=None):
        if flat_values_spec is not None:
            dtype = flat_values_spec.dtype
        if _gyre.as_dtype(row_splits_dtype) != _INT64:
            raise ValueError("row splits are int64")
        self._shape, self._dtype = TensorShape(shape), _gyre.as_dtype(dtype)
        if ragged_rank is None:
            if self._shape.rank is None:
                raise ValueError("RaggedTensorSpec needs a ragged_rank, or a shape of known rank")
            ragged_rank = self._shape.rank - 1
        if ragged_rank < 1:
            raise ValueError(f"ragged_rank must be at least 1 here, but is {ragged_rank}: describe "
                             f"what has no ragged axis by a TensorSpec")
        self._ragged_rank = ragged_rank

    @property
    def ragged_rank(self) -> int:
        """How many axes are ragged."""
        return self._ragged_rank

    @property
    def row_splits_dtype(self):
        """Of the row splits: int64."""
        return _INT64

    @property
    def value_type(self) -> type:
        return RaggedTensor

    def _parts(self):
        rows = self._shape[:1]._dims
        splits = None if rows is None or rows[0] is None else rows[0] + 1
        inner = TensorShape([None]).concatenate(self._shape[2:])
        values = (TensorSpec(inner, self._dtype) if self._ragged_rank == 1
                  else RaggedTensorSpec(inner, self._dtype, self._ragged_rank - 1))
        return [(".values", values), (".row_splits", TensorSpec([splits], _INT64))]

    def _build(self, children):
        return self if isinstance(children[0], TypeSpec) else RaggedTensor(*children)


def dims_of_parts(shape, value) -> list:
    """The dims of a composite's tensors, where a loop's shape invariant is `shape`: a spec; for
    IndexedSlices the shape of the values, for SparseTensors [rank]. ValueError for ragged tensors
    without a spec."""
    if isinstance(shape, TypeSpec):
        return [spec._dims for spec in nest.flatten(shape, expand_composites=True)]
    whole = TensorShape(shape)
    if isinstance(value, SparseTensor):
        rank = TensorShape(whole).with_rank(1)[0]  # the peer's rule: [r], where r is the rank
        return [(None, rank), (None,), (rank,)]
    if isinstance(value, IndexedSlices):
        dims = [whole._dims, None if whole._dims is None else whole._dims[:1], (whole.rank,)]
        return dims[:len(nest.flatten(value, expand_composites=True))]
    raise ValueError(f"the shape invariant of a {type(value).__name__} is given as a "
                     f"RaggedTensorSpec")


def spec_of_value(value) -> TypeSpec:
    """The spec of a composite."""
    if isinstance(value, SparseTensor):
        return SparseTensorSpec(value.shape, value.dtype)
    if isinstance(value, RaggedTensor):
        return RaggedTensorSpec(value.shape, value.dtype, value.ragged_rank)
    dense = value.dense_shape
    return IndexedSlicesSpec(value.shape, value.dtype, value.indices.dtype,
                             None if dense is None else dense.dtype, value.indices.shape)


for _spec in (IndexedSlicesSpec, SparseTensorSpec, RaggedTensorSpec):
    nest.register_composite(_spec, lambda spec: spec._parts(), lambda spec, parts: spec._build(parts))

"""IndexedSlices: some rows of a tensor, as gradients of gathers are."""

from gyre import _gyre
from gyre._impl import nest
from gyre._impl.composites.composite import ByValues, CompositeSpec
from gyre._impl.dtypes import DTypeLike
from gyre._impl.shape import TensorShape
from gyre._impl.spec import TensorSpec, TypeSpec


class IndexedSlices(ByValues):
    """`values` as rows `indices` of a tensor of shape `dense_shape`;
    rows that stand twice add up."""

    values: _gyre.Tensor
    indices: _gyre.Tensor
    dense_shape: _gyre.Tensor | None

    __gyre_operand__ = True

    def __init__(self, values, indices, dense_shape=None):
        self.values, self.indices = values, indices
        self.dense_shape = dense_shape

    @property
    def device(self):
        """Where the values are."""
        return self.values.device

    @property
    def name(self):
        """Of the values."""
        return self.values.name

    @property
    def shape(self):
        """Of the tensor that this stands for, as far as it is known."""
        if self.dense_shape is not None and not self.dense_shape.is_symbolic:
            return TensorShape([int(d) for d in self.dense_shape.numpy()])
        dims = self.values._dims
        return TensorShape(None if dims is None else (None, *dims[1:]))

    def __gyre_tensor__(self):
        """The tensor that this stands for."""
        if self.dense_shape is None:
            raise ValueError("IndexedSlices without a dense_shape cannot become a tensor")
        size = self.dense_shape[0]
        size = _gyre.execute("Cast", [size], {"DstT": self.indices.dtype})[0]
        return _gyre.execute("UnsortedSegmentSum", [self.values, self.indices, size])[0]

    def __neg__(self):
        return IndexedSlices(-self.values, self.indices, self.dense_shape)

    @property
    def _type_spec(self) -> "IndexedSlicesSpec":
        dense = self.dense_shape
        return IndexedSlicesSpec(
            self.shape,
            self.dtype,
            self.indices.dtype,
            None if dense is None else dense.dtype,
            self.indices.shape,
        )

    def _dims_of_parts(self, shape: TensorShape) -> list:
        """For a shape invariant, which is the shape of the values."""
        dims = [shape._dims, None if shape._dims is None else shape._dims[:1], (shape.rank,)]
        return dims[: len(nest.flatten(self, expand_composites=True))]

    def __repr__(self):
        return f"<gyre.IndexedSlices values={self.values!r}, indices={self.indices!r}>"


class IndexedSlicesSpec(CompositeSpec):
    """IndexedSlices of a tensor of `shape`. dense_shape_dtype: of their dense_shape; None: they
    have none. indices_shape: how many slices there are, if that is known."""

    __slots__ = ("_indices_dtype", "_dense_shape_dtype", "_indices_shape")

    def __init__(
        self,
        shape=None,
        dtype: DTypeLike = "float32",
        indices_dtype: DTypeLike = "int64",
        dense_shape_dtype=None,
        indices_shape=None,
    ):
        self._shape, self._dtype = TensorShape(shape), _gyre.as_dtype(dtype)
        self._indices_dtype = _gyre.as_dtype(indices_dtype)
        self._dense_shape_dtype = dense_shape_dtype and _gyre.as_dtype(dense_shape_dtype)
        self._indices_shape = TensorShape(indices_shape).with_rank(1)

    @property
    def value_type(self) -> type:
        return IndexedSlices

    def _parts(self):
        rows = TensorShape(self._indices_shape)
        parts = [
            (".values", TensorSpec(rows.concatenate(self._shape[1:]), self._dtype)),
            (".indices", TensorSpec(rows, self._indices_dtype)),
        ]
        if self._dense_shape_dtype:
            parts.append((".dense_shape", TensorSpec([self._shape.rank], self._dense_shape_dtype)))
        return parts

    def _build(self, children):
        return self if isinstance(children[0], TypeSpec) else IndexedSlices(*children)


def _parts(slices) -> list:
    parts = [(".values", slices.values), (".indices", slices.indices)]
    return parts + ([] if slices.dense_shape is None else [(".dense_shape", slices.dense_shape)])


nest.register_composite(IndexedSlices, _parts, lambda _, parts: IndexedSlices(*parts))

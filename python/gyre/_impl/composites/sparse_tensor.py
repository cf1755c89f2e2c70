"""SparseTensor: the values of a tensor that are not zero, and where they are."""

import operator

from gyre import _gyre
from gyre._impl import nest
from gyre._impl.composites.composite import INT64, ByValues, CompositeSpec, to_int64
from gyre._impl.dispatch import composite
from gyre._impl.dtypes import DTypeLike
from gyre._impl.shape import TensorShape
from gyre._impl.spec import TensorSpec, TypeSpec

_CWISE = {operator.mul: "SparseDenseCwiseMul", operator.truediv: "SparseDenseCwiseDiv"}


@composite("gyre._impl.composites.sparse_functions")
class SparseTensor(ByValues):
    """`values` at `indices` ([n, rank], int64) of a tensor of shape `dense_shape` ([rank],
    int64)."""

    indices: _gyre.Tensor
    values: _gyre.Tensor
    dense_shape: _gyre.Tensor

    __gyre_operand__ = True
    # Operators of numpy's arrays leave these to it.
    __array_priority__ = 100

    def __init__(self, indices, values, dense_shape):
        self.indices = to_int64(indices)
        self.values = _gyre.convert(values)
        self.dense_shape = to_int64(dense_shape)

    @classmethod
    def of_parts(cls, indices, values, dense_shape):
        """Of tensors that are known to fit, or of what stands for them."""
        made = object.__new__(cls)
        made.indices, made.values, made.dense_shape = indices, values, dense_shape
        return made

    @classmethod
    def from_value(cls, value):
        """Of anything with indices, values and dense_shape."""
        return (
            value if isinstance(value, cls) else cls(value.indices, value.values, value.dense_shape)
        )

    @property
    def shape(self):
        """As far as it is known."""
        known = self.dense_shape._known
        if known is not None:
            return TensorShape([int(d) for d in known.numpy()])
        dims = self.dense_shape._dims
        return TensorShape(None if dims is None or dims[0] is None else [None] * dims[0])

    def get_shape(self):
        """The shape, as far as it is known."""
        return self.shape

    def with_values(self, new_values):
        """The same places with other values."""
        return SparseTensor(self.indices, new_values, self.dense_shape)

    def __gyre_tensor__(self):
        """The dense tensor."""
        return _gyre.execute("ScatterNd", [self.indices, self.values, self.dense_shape])[0]

    def __mul__(self, other):
        return self._with(operator.mul, self.values, other)

    __rmul__ = __mul__

    def __truediv__(self, other):
        values = self.values
        if values.dtype.is_integer:
            # Quotients of integers are of the type that those of dense tensors have.
            values = values / _gyre.convert(1, values.dtype)
            if isinstance(other, _gyre.Tensor) and other.dtype == self.dtype:
                other = _gyre.execute("Cast", [other], {"DstT": values.dtype})[0]
        return self._with(operator.truediv, values, other)

    def _with(self, op, values, other):
        """op of the values and the elements of a dense tensor at their places, which is broadcast
        to this one's shape."""
        if isinstance(other, SparseTensor):
            raise TypeError("products and quotients of two SparseTensors are not supported")
        dense = other if isinstance(other, _gyre.Tensor) else _gyre.convert(other, values.dtype)
        if dense._dims == ():
            return self.with_values(op(values, dense))
        parts = [self.indices, values, self.dense_shape, dense]
        return self.with_values(_gyre.execute(_CWISE[op], parts)[0])

    def __neg__(self):
        return self.with_values(-self.values)

    @property
    def _type_spec(self) -> "SparseTensorSpec":
        return SparseTensorSpec(self.shape, self.dtype)

    @staticmethod
    def _dims_of_parts(shape: TensorShape) -> list:
        """For a shape invariant, which is [rank], as TensorFlow has it."""
        (rank,) = shape.with_rank(1)._dims or (None,)
        return [(None, rank), (None,), (rank,)]

    def __repr__(self):
        return (
            f"<gyre.SparseTensor indices={self.indices!r}, values={self.values!r}, "
            f"dense_shape={self.dense_shape!r}>"
        )


class SparseTensorSpec(CompositeSpec):
    """SparseTensors of a shape, of which not all need be known, and a dtype."""

    __slots__ = ()

    def __init__(self, shape=None, dtype: DTypeLike = "float32"):
        self._shape, self._dtype = TensorShape(shape), _gyre.as_dtype(dtype)

    @property
    def value_type(self) -> type:
        return SparseTensor

    def _parts(self):
        rank = self._shape.rank
        return [
            (".indices", TensorSpec([None, rank], INT64)),
            (".values", TensorSpec([None], self._dtype)),
            (".dense_shape", TensorSpec([rank], INT64)),
        ]

    def _build(self, children):
        if isinstance(children[0], TypeSpec):
            return self
        return SparseTensor.of_parts(*children)


nest.register_composite(
    SparseTensor,
    lambda x: [(".indices", x.indices), (".values", x.values), (".dense_shape", x.dense_shape)],
    lambda _, parts: SparseTensor.of_parts(*parts),
)

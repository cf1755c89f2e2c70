"""Values that are made of several tensors: slices and sparse tensors (ragged ones:
ragged.py). Structures take them apart where `expand_composites` is asked for, so that loops, branches
and functions take and return them."""

from gyre import _gyre
from gyre._impl import nest
from gyre._impl.shape import TensorShape


def spec_property(self):
    """The spec of a composite: its `_type_spec`."""
    from gyre._impl.composite_specs import spec_of_value

    return spec_of_value(self)


def _const(values, dtype=None):
    return _gyre.convert(values, dtype) if dtype is not None else _gyre.convert(values)


class _ByValues:
    """What has the type and the place of its values."""

    values: _gyre.Tensor

    @property
    def dtype(self):
        """Of the values."""
        return self.values.dtype

    @property
    def op(self):
        """Of a session's graph: the operation that computes the values."""
        return self.values.op

    @property
    def graph(self):
        """The graph that the values are part of."""
        return self.values.graph

    def consumers(self):
        """Of a session's graph: the operations that take the values."""
        return self.values.consumers()


class IndexedSlices(_ByValues):
    """`values` as rows `indices` of a tensor of shape `dense_shape`; rows that stand twice add up."""

    values: _gyre.Tensor
    indices: _gyre.Tensor
    dense_shape: _gyre.Tensor | None

    __gyre_operand__ = True
    _type_spec = property(spec_property)

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

    def __repr__(self):
        return f"<gyre.IndexedSlices values={self.values!r}, indices={self.indices!r}>"


class SparseTensor(_ByValues):
    """`values` at `indices` ([n, rank], int64) of a tensor of shape `dense_shape` ([rank], int64)."""

    indices: _gyre.Tensor
    values: _gyre.Tensor
    dense_shape: _gyre.Tensor

    __gyre_operand__ = True
    _type_spec = property(spec_property)

    def __init__(self, indices, values, dense_shape):
        int64 = _gyre.as_dtype("int64")
        self.indices = to_int64(indices, int64)
        self.values = _const(values)
        self.dense_shape = to_int64(dense_shape, int64)

    @classmethod
    def of_parts(cls, indices, values, dense_shape):
        """Of tensors that are known to fit, or of what stands for them."""
        made = object.__new__(cls)
        made.indices, made.values, made.dense_shape = indices, values, dense_shape
        return made

    @classmethod
    def from_value(cls, value):
        """Of anything with indices, values and dense_shape."""
        return value if isinstance(value, cls) else cls(value.indices, value.values, value.dense_shape)

    @property
    def shape(self):
        """As far as it is known."""
        if not self.dense_shape.is_symbolic:
            return TensorShape([int(d) for d in self.dense_shape.numpy()])
        dims = self.dense_shape._dims
        return TensorShape(None if dims is None or dims[0] is None else [None] * dims[0])

    def get_shape(self):
        """The shape, as far as it is known."""
        return self.shape

    def eval(self, feed_dict=None, session=None):
        """Of a session's graph: what the session (or the default one) computes, a SparseTensorValue."""
        from gyre._impl.v1.session import session_for

        return session_for(session, self.graph, "eval()", "sparse tensor").run(self, feed_dict)

    def with_values(self, new_values):
        """The same places with other values."""
        return SparseTensor(self.indices, new_values, self.dense_shape)

    def __gyre_tensor__(self):
        """The dense tensor."""
        return _gyre.execute("ScatterNd", [self.indices, self.values, self.dense_shape])[0]

    def __mul__(self, other):
        if isinstance(other, SparseTensor):
            raise TypeError("products of two SparseTensors are not supported")
        if getattr(_const(other, self.dtype) if not isinstance(other, _gyre.Tensor) else other,
                   "_dims", None) == ():
            return self.with_values(self.values * other)
        factors = _gyre.execute("GatherNd", [other, self.indices])[0]
        return self.with_values(self.values * factors)

    __rmul__ = __mul__

    def __truediv__(self, other):
        return self.with_values(self.values / other)

    def __neg__(self):
        return self.with_values(-self.values)

    def __repr__(self):
        return (f"<gyre.SparseTensor indices={self.indices!r}, values={self.values!r}, "
                f"dense_shape={self.dense_shape!r}>")


def to_int64(value, int64=None):
    """A number, list or tensor as an int64 tensor."""
    int64 = int64 or _gyre.as_dtype("int64")
    if isinstance(value, _gyre.Tensor):
        return value if value.dtype == int64 else _gyre.execute("Cast", [value], {"DstT": int64})[0]
    return _gyre.convert(value, int64)


def _register():
    def slices_parts(x):
        parts = [(".values", x.values), (".indices", x.indices)]
        return parts + ([] if x.dense_shape is None else [(".dense_shape", x.dense_shape)])

    nest.register_composite(IndexedSlices, slices_parts, lambda x, parts: IndexedSlices(*parts))

    nest.register_composite(SparseTensor, lambda x: [
        (".indices", x.indices), (".values", x.values), (".dense_shape", x.dense_shape)],
        lambda x, parts: SparseTensor.of_parts(*parts))



_register()

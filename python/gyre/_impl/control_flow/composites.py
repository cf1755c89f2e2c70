"""Values that are made of several tensors: slices, sparse and ragged tensors. Structures take them apart
where `expand_composites` is asked for, so that loops, branches and functions take and return them."""

from gyre import _gyre
from gyre._impl import nest
from gyre._impl.shape import TensorShape


def _const(values, dtype=None):
    return _gyre.convert(values, dtype) if dtype is not None else _gyre.convert(values)


class IndexedSlices:
    """`values` as rows `indices` of a tensor of shape `dense_shape`; rows that stand twice add up."""

    __gyre_operand__ = True

    def __init__(self, values, indices, dense_shape=None):
        self.values, self.indices = values, indices
        self.dense_shape = dense_shape

    @property
    def dtype(self):
        """Of the values."""
        return self.values.dtype

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


class SparseTensor:
    """`values` at `indices` ([n, rank], int64) of a tensor of shape `dense_shape` ([rank], int64)."""

    __gyre_operand__ = True

    def __init__(self, indices, values, dense_shape):
        int64 = _gyre.as_dtype("int64")
        self.indices = _to_int64(indices, int64)
        self.values = _const(values)
        self.dense_shape = _to_int64(dense_shape, int64)

    @classmethod
    def from_value(cls, value):
        """Of anything with indices, values and dense_shape."""
        return value if isinstance(value, cls) else cls(value.indices, value.values, value.dense_shape)

    @property
    def dtype(self):
        """Of the values."""
        return self.values.dtype

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


def _to_int64(value, int64):
    if isinstance(value, _gyre.Tensor):
        return value if value.dtype == int64 else _gyre.execute("Cast", [value], {"DstT": int64})[0]
    return _gyre.convert(value, int64)


class RaggedTensor:
    """Rows of different lengths: `values`, cut at `row_splits` (int64, from 0 to the number of values).
    The values may be ragged themselves."""

    __gyre_operand__ = True

    def __init__(self, values, row_splits):
        self.values, self.row_splits = values, row_splits

    @classmethod
    def from_row_splits(cls, values, row_splits, name=None, validate=True):
        """Row i is values[row_splits[i]:row_splits[i + 1]]."""
        values = values if isinstance(values, RaggedTensor) else _const(values)
        return cls(values, _to_int64(row_splits, _gyre.as_dtype("int64")))

    @classmethod
    def from_row_lengths(cls, values, row_lengths, name=None, validate=True):
        """Row i has row_lengths[i] values."""
        int64 = _gyre.as_dtype("int64")
        lengths = _to_int64(row_lengths, int64)
        sums = _gyre.execute("Cumsum", [lengths, _gyre.convert(0)])[0]
        splits = _gyre.execute("ConcatV2", [[_gyre.convert([0], int64), sums], 0])[0]
        return cls.from_row_splits(values, splits)

    @classmethod
    def from_tensor(cls, tensor):
        """The rows of a tensor, all of one length."""
        tensor = _const(tensor)
        count, length = (int(d) for d in tensor._dims[:2])
        flat = _gyre.execute("Reshape", [tensor, [count * length, *map(int, tensor._dims[2:])]])[0]
        return cls.from_row_lengths(flat, [length] * count)

    @property
    def dtype(self):
        """Of the values."""
        return self.values.dtype

    @property
    def flat_values(self):
        """The innermost values: a tensor."""
        return self.values.flat_values if isinstance(self.values, RaggedTensor) else self.values

    @property
    def nested_row_splits(self):
        """The row splits of all ragged axes, outermost first."""
        inner = self.values.nested_row_splits if isinstance(self.values, RaggedTensor) else ()
        return (self.row_splits, *inner)

    @property
    def ragged_rank(self):
        """How many axes are ragged."""
        return len(self.nested_row_splits)

    @property
    def shape(self):
        """As far as it is known."""
        dims = self.row_splits._dims
        rows = None if dims is None or dims[0] is None else dims[0] - 1
        inner = self.values.shape._dims if isinstance(self.values, RaggedTensor) else self.values._dims
        return TensorShape(None if inner is None else (rows, None, *inner[1:]))

    def nrows(self, out_type=None, name=None):
        """How many rows there are: an int64 scalar."""
        return _gyre.execute("Size", [self.row_splits], {"out_type": _gyre.as_dtype("int64")})[0] - 1

    def row_lengths(self, axis=1, name=None):
        """How long each row is."""
        return self.row_splits[1:] - self.row_splits[:-1]

    def row_starts(self, name=None):
        """Where each row starts."""
        return self.row_splits[:-1]

    def with_values(self, new_values):
        """The same rows of other values."""
        return RaggedTensor(new_values, self.row_splits)

    def with_flat_values(self, new_values):
        """The same rows of other innermost values."""
        if isinstance(self.values, RaggedTensor):
            return RaggedTensor(self.values.with_flat_values(new_values), self.row_splits)
        return RaggedTensor(new_values, self.row_splits)

    def __getitem__(self, index):
        if isinstance(index, tuple):
            row = self[index[0]]
            return row if len(index) == 1 else row[index[1:] if len(index) > 2 else index[1]]
        if isinstance(index, slice):
            raise TypeError("slices of a RaggedTensor's rows are not supported; index single rows")
        after = index + 1
        if isinstance(index, int) and index < 0:
            index, after = index - 1, index
        return self.values[self.row_splits[index]:self.row_splits[after]]

    def _gyre_rows(self):
        from gyre._impl.autograph.rows import Items

        def count():
            return _gyre.execute("Cast", [self.nrows()], {"DstT": _gyre.as_dtype("int32")})[0]
        return Items(count, lambda i: self.values[self.row_splits[i]:self.row_splits[i + 1]])

    def to_list(self):
        """Nested Python lists. Of eager tensors."""
        splits = [int(i) for i in self.row_splits.numpy()]
        inner = self.values.to_list() if isinstance(self.values, RaggedTensor) else self.values.numpy().tolist()
        return [inner[a:b] for a, b in zip(splits, splits[1:])]

    def _map(self, fn):
        return self.with_flat_values(fn(self.flat_values))

    def __add__(self, other):
        return self._map(lambda values: values + _flat(other))

    def __sub__(self, other):
        return self._map(lambda values: values - _flat(other))

    def __mul__(self, other):
        return self._map(lambda values: values * _flat(other))

    def __truediv__(self, other):
        return self._map(lambda values: values / _flat(other))

    __radd__, __rmul__ = __add__, __mul__

    def __neg__(self):
        return self._map(lambda values: -values)

    def __len__(self):
        return int(self.nrows())

    def __repr__(self):
        if self.row_splits.is_symbolic:
            return f"<gyre.RaggedTensor of {self.dtype.name}, shape {self.shape}>"
        return f"<gyre.RaggedTensor {self.to_list()}>"


def _flat(other):
    return other.flat_values if isinstance(other, RaggedTensor) else other


def ragged_constant(pylist, dtype=None, ragged_rank=None, inner_shape=None, name=None,
                    row_splits_dtype=None):
    """A RaggedTensor of nested Python lists."""
    depth, level = 0, pylist
    while any(isinstance(item, (list, tuple)) for item in level):
        depth += 1
        level = [x for item in level for x in item]
    if depth == 0:
        return _gyre.convert(pylist, dtype and _gyre.as_dtype(dtype))
    return _ragged(list(pylist), depth, dtype and _gyre.as_dtype(dtype))


def _ragged(rows, depth, dtype):
    lengths = [len(row) for row in rows]
    inner = [x for row in rows for x in row]
    if depth > 1:
        values = _ragged(inner, depth - 1, dtype)
    else:
        values = _const(inner, dtype or (None if inner else _gyre.as_dtype("float32")))
    splits = [0]
    for length in lengths:
        splits.append(splits[-1] + length)
    return RaggedTensor(values, _gyre.convert(splits, _gyre.as_dtype("int64")))


def _register():
    def slices_parts(x):
        parts = [(".values", x.values), (".indices", x.indices)]
        return parts + ([] if x.dense_shape is None else [(".dense_shape", x.dense_shape)])

    nest.register_composite(IndexedSlices, slices_parts, lambda x, parts: IndexedSlices(*parts))

    def sparse(x, parts):
        made = object.__new__(SparseTensor)
        made.indices, made.values, made.dense_shape = parts
        return made
    nest.register_composite(SparseTensor, lambda x: [
        (".indices", x.indices), (".values", x.values), (".dense_shape", x.dense_shape)], sparse)
    nest.register_composite(
        RaggedTensor, lambda x: [(".values", x.values), (".row_splits", x.row_splits)],
        lambda x, parts: RaggedTensor(*parts))


_register()

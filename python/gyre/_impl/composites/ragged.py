"""RaggedTensor: rows of different lengths."""

from __future__ import annotations

import itertools
import operator

from gyre import _gyre
from gyre._impl import errors, nest
from gyre._impl.annotations import Any
from gyre._impl.composites import ragged_indexing
from gyre._impl.composites.composite import INT64, CompositeSpec, to_int64
from gyre._impl.composites.sparse_tensor import SparseTensor
from gyre._impl.dtypes import DTypeLike
from gyre._impl.ops.table import reduce_max, repeat, unsorted_segment_sum
from gyre._impl.shape import TensorShape
from gyre._impl.spec import TensorSpec, TypeSpec
from gyre._impl.tracing.rows import Items
from gyre._impl.unsupported import refuse


def _count_to(limit):
    """0, 1, … before `limit`, as int64."""
    return _gyre.execute("Range", [_gyre.convert(0, INT64), limit, _gyre.convert(1, INT64)])[0]


class RaggedTensor:
    """Rows of different lengths: `values`, cut at `row_splits` (int64, from 0 to the number of
    values). The values may be ragged themselves."""

    values: _gyre.Tensor | RaggedTensor
    row_splits: _gyre.Tensor
    __gyre_operand__ = True
    # Operators of numpy's arrays leave these to it.
    __array_priority__ = 100

    def __init__(self, values, row_splits):
        self.values, self.row_splits = values, row_splits

    @classmethod
    def from_row_splits(cls, values, row_splits, name=None, validate=True):
        """Row i is values[row_splits[i]:row_splits[i + 1]]. validate: ValueError where row_splits,
        as far as they are known, do not begin with 0, decrease, or do not end with the number of
        values."""
        values = values if isinstance(values, RaggedTensor) else _gyre.convert(values)
        splits = to_int64(row_splits)
        if validate and not splits.is_symbolic:
            _check_splits(splits.numpy().tolist(), values)
        return cls(values, splits)

    @classmethod
    def from_row_lengths(cls, values, row_lengths, name=None, validate=True):
        """Row i has row_lengths[i] values."""
        int64 = _gyre.as_dtype("int64")
        lengths = to_int64(row_lengths)
        sums = _gyre.execute("Cumsum", [lengths, _gyre.convert(0)])[0]
        splits = _gyre.execute("ConcatV2", [[_gyre.convert([0], int64), sums], 0])[0]
        return cls.from_row_splits(values, splits, validate=validate)

    @classmethod
    def from_value_rowids(cls, values, value_rowids, nrows=None, name=None, validate=True):
        """Value i is in row value_rowids[i]; these must not decrease."""
        ids = to_int64(value_rowids)
        if nrows is None:
            last = _gyre.execute("ConcatV2", [[_gyre.convert([-1], INT64), ids], 0])[0][-1]
            nrows = last + 1
        ones = _gyre.execute("OnesLike", [ids])[0]
        return cls.from_row_lengths(
            values, unsorted_segment_sum(ones, ids, nrows), validate=validate
        )

    @classmethod
    def from_nested_row_splits(cls, flat_values, nested_row_splits, name=None, validate=True):
        """Cut at several row splits, the outermost first."""
        result = flat_values
        for splits in reversed(list(nested_row_splits)):
            result = cls.from_row_splits(result, splits, validate=validate)
        return result

    @classmethod
    def from_tensor(cls, tensor, lengths=None, padding=None, ragged_rank=1, name=None):
        """The rows of a tensor, or of each its first lengths[i] elements. UnimplementedError for
        paddings and other ragged ranks."""
        if padding is not None or ragged_rank != 1:
            raise errors.UnimplementedError(
                None, None, "from_tensor takes neither a padding nor a ragged_rank"
            )
        if lengths is not None:
            tensor = _gyre.convert(tensor)
            size = _gyre.execute("Shape", [tensor], {"out_type": INT64})[0][1]
            columns = _count_to(size)
            kept = columns < _gyre.execute("ExpandDims", [to_int64(lengths), 1])[0]
            places = _gyre.execute("Where", [kept])[0]
            values = _gyre.execute("GatherNd", [tensor, places])[0]
            return cls.from_row_lengths(values, lengths)
        tensor = _gyre.convert(tensor)
        count, length = (int(d) for d in tensor._dims[:2])
        flat = _gyre.execute("Reshape", [tensor, [count * length, *map(int, tensor._dims[2:])]])[0]
        return cls.from_row_lengths(flat, [length] * count)

    @classmethod
    def from_nested_row_lengths(cls, flat_values, nested_row_lengths, name=None, validate=True):
        """Cut into rows of several lengths, the outermost first."""
        result = flat_values
        for lengths in reversed(list(nested_row_lengths)):
            result = cls.from_row_lengths(result, lengths, validate=validate)
        return result

    def consumers(self):
        """Of a session's graph: the operations that take the values or where rows begin."""
        return [*self.flat_values.consumers(), *self.row_splits.consumers()]

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
        inner = (
            self.values.shape._dims if isinstance(self.values, RaggedTensor) else self.values._dims
        )
        return TensorShape(None if inner is None else (rows, None, *inner[1:]))

    def nrows(self, out_type="int64", name=None):
        """How many rows there are: a scalar of out_type."""
        dtype = _gyre.as_dtype(out_type or "int64")
        return _gyre.execute("Size", [self.row_splits], {"out_type": dtype})[0] - 1

    def row_lengths(self, axis=1, name=None):
        """How long each row is. NotImplementedError for other axes than 1."""
        refuse(
            axis != 1,
            f"axis={axis!r}",
            "rows are counted along axis 1; take row_lengths() of .values",
        )
        return self.row_splits[1:] - self.row_splits[:-1]

    def value_rowids(self, name=None):
        """For each of the values the row in which it is."""
        return repeat(_count_to(self.nrows()), self.row_lengths())

    def row_limits(self, name=None):
        """Where each row ends."""
        return self.row_splits[1:]

    def bounding_shape(self, axis=None, name=None):
        """The number of rows and the length of the longest; the sizes of the values' other axes."""
        zero = _gyre.convert([0], INT64)
        longest = reduce_max(_gyre.execute("ConcatV2", [[self.row_lengths(), zero], 0])[0])
        if isinstance(self.values, RaggedTensor):
            rest = self.values.bounding_shape()[1:]
        else:
            rest = _gyre.execute("Shape", [self.values], {"out_type": INT64})[0][1:]
        head = _gyre.execute("Pack", [[self.nrows(), longest]], {"axis": 0})[0]
        shape = _gyre.execute("ConcatV2", [[head, rest], 0])[0]
        return shape if axis is None else shape[axis]

    def to_tensor(self, default_value=None, name=None, shape=None):
        """A dense tensor: shorter rows are filled up with default_value (0)."""
        filler = 0
        if default_value is not None:
            filler = default_value
        elif self.dtype.name == "string":
            filler = ""
        elif self.dtype.is_bool:
            filler = False
        bounds = -1 if shape is None else TensorShape(shape)._dims
        if isinstance(bounds, (list, tuple)):
            bounds = [-1 if d is None else d for d in bounds]
        splits = list(self.nested_row_splits)
        dense = _gyre.execute(
            "RaggedTensorToTensor",
            [
                _gyre.convert(bounds, INT64),
                self.flat_values,
                _gyre.convert(filler, self.dtype),
                splits,
            ],
            {"row_partition_types": ["ROW_SPLITS"] * len(splits)},
            name,
        )[0]
        if shape is not None:
            dense.set_shape(shape)
        return dense

    def to_sparse(self, name=None):
        """The same as a SparseTensor."""
        splits = list(self.nested_row_splits)
        return SparseTensor.of_parts(
            *_gyre.execute("RaggedTensorToSparse", [splits, self.flat_values], {}, name)
        )

    @classmethod
    def from_sparse(cls, st_input, name=None, row_splits_dtype=None):
        """The rows of a sparse matrix, each of whose values stand one behind the other."""
        rows = _gyre.execute("GatherV2", [st_input.indices, 0, 1])[0]
        return cls.from_value_rowids(st_input.values, rows, st_input.dense_shape[0], validate=False)

    def _gyre_concat(self, values, axis):
        """It among others, joined along an axis."""
        return ragged_indexing.concat(list(values), axis, self)

    def __gyre_tensor__(self):
        """No tensor by itself: rows may have different lengths."""
        raise ValueError("a RaggedTensor becomes a tensor by to_tensor(), which fills its rows up")

    def numpy(self):
        """A numpy array of rows; of objects, where their lengths differ."""
        import numpy

        rows = [numpy.array(row) for row in self.to_list()]
        if len({row.shape for row in rows}) <= 1:
            return numpy.array(rows)
        result = numpy.empty(len(rows), dtype=object)
        result[:] = rows
        return result

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
            return ragged_indexing.indexed(self, index)
        if index is Ellipsis:
            return self
        if isinstance(index, slice):
            return self if index == slice(None) else ragged_indexing.row_slice(self, index)
        after = index + 1
        if isinstance(index, int) and index < 0:
            index, after = index - 1, index
        return self.values[self.row_splits[index] : self.row_splits[after]]

    def _gyre_rows(self):
        def count():
            return _gyre.execute("Cast", [self.nrows()], {"DstT": _gyre.as_dtype("int32")})[0]

        return Items(count, lambda i: self.values[self.row_splits[i] : self.row_splits[i + 1]])

    def to_list(self):
        """Nested Python lists. Of eager tensors."""
        splits = [int(i) for i in self.row_splits.numpy()]
        inner = (
            self.values.to_list()
            if isinstance(self.values, RaggedTensor)
            else self.values.numpy().tolist()
        )
        return [inner[a:b] for a, b in itertools.pairwise(splits)]

    def _map(self, fn):
        return self.with_flat_values(fn(self.flat_values))

    def _with(self, op, other):
        self._require_rows_of(other)
        return self._map(lambda values: op(values, _flat(other)))

    def _require_rows_of(self, other) -> None:
        """ValueError where its rows are known to be of other lengths than another's."""
        if isinstance(other, RaggedTensor):
            mine, theirs = self.nested_row_splits, other.nested_row_splits
            if len(mine) != len(theirs) or any(
                _known_to_differ(a, b) for a, b in zip(mine, theirs, strict=True)
            ):
                raise ValueError("the rows of two RaggedTensors are of different lengths")

    def __add__(self, other):
        return self._with(operator.add, other)

    def __sub__(self, other):
        return self._with(operator.sub, other)

    def __mul__(self, other):
        return self._with(operator.mul, other)

    def __truediv__(self, other):
        return self._with(operator.truediv, other)

    __radd__, __rmul__ = __add__, __mul__

    def __rsub__(self, other):
        return self._map(lambda values: other - values)

    def __rtruediv__(self, other):
        return self._map(lambda values: other / values)

    def __pow__(self, other):
        return self._with(operator.pow, other)

    def __gt__(self, other):
        return self._with(operator.gt, other)

    def __lt__(self, other):
        return self._with(operator.lt, other)

    def __ge__(self, other):
        return self._with(operator.ge, other)

    def __le__(self, other):
        return self._with(operator.le, other)

    def __eq__(self, other):
        """Of each value whether it is equal: ragged. (False for None; where tensors are compared by
        identity, as TensorFlow 1 does, so are these.)"""
        return self._compared(operator.eq, other, self is other)

    def __ne__(self, other):
        return self._compared(operator.ne, other, self is not other)

    __hash__ = object.__hash__

    def _compared(self, op, other, by_identity: bool):
        if other is None:
            return by_identity
        made = op(self.flat_values, _flat(other))
        if not isinstance(made, _gyre.Tensor):
            return by_identity
        self._require_rows_of(other)
        return self.with_flat_values(made)

    def __bool__(self):
        raise TypeError("a RaggedTensor has no truth value: reduce it, or ask for its nrows()")

    def __floordiv__(self, other):
        return self._with(operator.floordiv, other)

    def __rfloordiv__(self, other):
        return self._map(lambda values: other // values)

    def __mod__(self, other):
        return self._with(operator.mod, other)

    def __rmod__(self, other):
        return self._map(lambda values: other % values)

    def __and__(self, other):
        return self._with(operator.and_, other)

    def __or__(self, other):
        return self._with(operator.or_, other)

    def __xor__(self, other):
        return self._with(operator.xor, other)

    def __invert__(self):
        return self._map(operator.invert)

    def __abs__(self):
        return self._map(abs)

    def __neg__(self):
        return self._map(lambda values: -values)

    @property
    def _type_spec(self) -> RaggedTensorSpec:
        return RaggedTensorSpec(self.shape, self.dtype, self.ragged_rank)

    @staticmethod
    def _dims_of_parts(shape):
        """Refused: no shape says how long the rows are. ValueError."""
        raise ValueError("the shape invariant of a RaggedTensor is given as a RaggedTensorSpec")

    def __len__(self):
        return int(self.nrows())

    def __repr__(self):
        if self.row_splits.is_symbolic:
            return f"<gyre.RaggedTensor of {self.dtype.name}, shape {self.shape}>"
        return f"<gyre.RaggedTensor {self.to_list()}>"


class RaggedTensorSpec(CompositeSpec):
    """RaggedTensors of a shape and dtype, with `ragged_rank` ragged axes (by default all but the
    first). row_splits_dtype must be int64: ValueError otherwise."""

    __slots__ = ("_ragged_rank",)

    def __init__(
        self,
        shape=None,
        dtype: DTypeLike = "float32",
        ragged_rank=None,
        row_splits_dtype="int64",
        flat_values_spec=None,
    ):
        if flat_values_spec is not None:
            dtype = flat_values_spec.dtype
        if _gyre.as_dtype(row_splits_dtype) != INT64:
            raise ValueError("row splits are int64")
        self._shape, self._dtype = TensorShape(shape), _gyre.as_dtype(dtype)
        if ragged_rank is None:
            if self._shape.rank is None:
                raise ValueError("RaggedTensorSpec needs a ragged_rank, or a shape of known rank")
            ragged_rank = self._shape.rank - 1
        if ragged_rank < 1:
            raise ValueError(
                f"ragged_rank must be at least 1 here, but is {ragged_rank}: describe "
                f"what has no ragged axis by a TensorSpec"
            )
        self._ragged_rank = ragged_rank

    @property
    def ragged_rank(self) -> int:
        """How many axes are ragged."""
        return self._ragged_rank

    @property
    def row_splits_dtype(self):
        """Of the row splits: int64."""
        return INT64

    @property
    def value_type(self) -> type:
        return RaggedTensor

    def _parts(self):
        rows = self._shape[:1]._dims
        splits = None if rows is None or rows[0] is None else rows[0] + 1
        inner = TensorShape([None]).concatenate(self._shape[2:])
        values = (
            TensorSpec(inner, self._dtype)
            if self._ragged_rank == 1
            else RaggedTensorSpec(inner, self._dtype, self._ragged_rank - 1)
        )
        return [(".values", values), (".row_splits", TensorSpec([splits], INT64))]

    def _build(self, children):
        return self if isinstance(children[0], TypeSpec) else RaggedTensor(*children)


def _check_splits(splits: list, values) -> None:
    size = values.nrows() if isinstance(values, RaggedTensor) else values._dims[0]
    size = (
        None if isinstance(size, _gyre.Tensor) and size.is_symbolic or size is None else int(size)
    )
    if not splits or splits[0] != 0:
        raise ValueError(f"row_splits must begin with 0, not {splits[:1]}")
    at = next((i for i in range(1, len(splits)) if splits[i] < splits[i - 1]), None)
    if at is not None:
        raise ValueError(f"row_splits must not decrease, but {splits[at]} follows {splits[at - 1]}")
    if size is not None and splits[-1] != size:
        raise ValueError(f"row_splits must end with the number of values, {size}, not {splits[-1]}")


def _known_to_differ(a, b) -> bool:
    if a is b or a.is_symbolic or b.is_symbolic:
        return False
    return a.numpy().tolist() != b.numpy().tolist()


def _flat(other):
    return other.flat_values if isinstance(other, RaggedTensor) else other


def ragged_constant(
    pylist, dtype=None, ragged_rank=None, inner_shape=None, name=None, row_splits_dtype=None
) -> Any:
    """A RaggedTensor of nested Python lists, as deep as they are nested; NotImplementedError for
    another ragged_rank, an inner_shape, or splits that are not int64."""
    refuse(inner_shape is not None, "inner_shape", "all dimensions of nested lists are ragged")
    refuse(
        row_splits_dtype is not None and _gyre.as_dtype(row_splits_dtype).name != "int64",
        f"row_splits_dtype={row_splits_dtype!r}",
        "row_splits are int64",
    )
    try:
        depth = _depth(pylist, nest.Walk(pylist, False))
    except RecursionError:
        raise RecursionError("the lists are nested too deep, or contain themselves") from None
    refuse(
        ragged_rank is not None and ragged_rank != depth,
        f"ragged_rank={ragged_rank}",
        f"lists that are nested {depth + 1} deep have {depth} ragged dimensions",
    )
    if depth == 0:
        return _gyre.convert(pylist, dtype and _gyre.as_dtype(dtype))
    return _ragged(list(pylist), depth, dtype and _gyre.as_dtype(dtype))


def _depth(rows, walk):
    """How many levels of lists lie within `rows`."""
    walk.visit(rows)
    inner = [_depth(row, walk) for row in rows if isinstance(row, (list, tuple))]
    return 1 + max(inner) if inner else 0


def _ragged(rows, depth, dtype):
    lengths = [len(row) for row in rows]
    inner = [x for row in rows for x in row]
    if depth > 1:
        values = _ragged(inner, depth - 1, dtype)
    else:
        values = _gyre.convert(inner, dtype or (None if inner else _gyre.as_dtype("float32")))
    splits = [0]
    for length in lengths:
        splits.append(splits[-1] + length)
    return RaggedTensor(values, _gyre.convert(splits, _gyre.as_dtype("int64")))


nest.register_composite(
    RaggedTensor,
    lambda x: [(".values", x.values), (".row_splits", x.row_splits)],
    lambda x, parts: RaggedTensor(*parts),
)

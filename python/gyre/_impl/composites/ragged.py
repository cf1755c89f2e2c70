"""RaggedTensor: rows of different lengths."""

from __future__ import annotations

import itertools

from gyre import _gyre
from gyre._impl import nest
from gyre._impl.composites import ragged_indexing
from gyre._impl.composites.composite import INT64, CompositeSpec, dims_of_parts, to_int64
from gyre._impl.composites.ragged_operators import Operators
from gyre._impl.composites.ragged_rows import (
    all_splits,
    count_to,
    innermost,
    int64,
    lengths_of,
    op,
    row_ids,
    splits_of,
    with_innermost,
)
from gyre._impl.composites.sparse_tensor import SparseTensor
from gyre._impl.dispatch import composite
from gyre._impl.dtypes import DTypeLike
from gyre._impl.ops.table import reduce_max, unsorted_segment_sum
from gyre._impl.shape import TensorShape
from gyre._impl.spec import TensorSpec, TypeSpec
from gyre._impl.tracing.rows import Items
from gyre._impl.unsupported import refuse


@composite("gyre._impl.ragged.functions")
class RaggedTensor(Operators):
    """Rows of different lengths: `values`, cut at `row_splits` (int64, from 0 to the number of
    values). The values may be ragged themselves."""

    values: _gyre.Tensor | RaggedTensor
    row_splits: _gyre.Tensor
    __gyre_operand__ = True

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
        return cls.from_row_splits(values, splits_of(to_int64(row_lengths)), validate=validate)

    @classmethod
    def from_row_starts(cls, values, row_starts, name=None, validate=True):
        """Row i begins with value row_starts[i]."""
        values = values if isinstance(values, RaggedTensor) else _gyre.convert(values)
        end = op("ExpandDims", _count(values), 0)
        splits = op("ConcatV2", [to_int64(row_starts), end], 0)
        return cls.from_row_splits(values, splits, validate=validate)

    @classmethod
    def from_row_limits(cls, values, row_limits, name=None, validate=True):
        """Row i ends before value row_limits[i]."""
        splits = op("ConcatV2", [_gyre.convert([0], INT64), to_int64(row_limits)], 0)
        return cls.from_row_splits(values, splits, validate=validate)

    @classmethod
    def from_uniform_row_length(
        cls, values, uniform_row_length, nrows=None, validate=True, name=None
    ):
        """Rows of one length. nrows: how many there are, where that length is 0."""
        values = values if isinstance(values, RaggedTensor) else _gyre.convert(values)
        length = to_int64(uniform_row_length)
        if nrows is None:
            nrows = op("FloorDiv", _count(values), op("Maximum", length, int64(1)))
        return cls.from_row_splits(
            values, op("Mul", count_to(to_int64(nrows) + 1), length), validate=validate
        )

    @classmethod
    def from_value_rowids(cls, values, value_rowids, nrows=None, name=None, validate=True):
        """Value i is in row value_rowids[i]; these must not decrease."""
        ids = to_int64(value_rowids)
        if nrows is None:
            last = op("ConcatV2", [_gyre.convert([-1], INT64), ids], 0)[-1]
            nrows = last + 1
        ones = op("OnesLike", ids)
        return cls.from_row_lengths(
            values, unsorted_segment_sum(ones, ids, to_int64(nrows)), validate=validate
        )

    @classmethod
    def from_nested_row_splits(cls, flat_values, nested_row_splits, name=None, validate=True):
        """Cut at several row splits, the outermost first."""
        return cls._nested(cls.from_row_splits, flat_values, validate, nested_row_splits)

    @classmethod
    def from_nested_row_lengths(cls, flat_values, nested_row_lengths, name=None, validate=True):
        """Rows of these lengths, the outermost first."""
        return cls._nested(cls.from_row_lengths, flat_values, validate, nested_row_lengths)

    @classmethod
    def from_nested_value_rowids(
        cls, flat_values, nested_value_rowids, nested_nrows=None, name=None, validate=True
    ):
        """By the rows in which values are, the outermost first. ValueError unless nested_nrows are
        as many."""
        ids = list(nested_value_rowids)
        counts = [None] * len(ids) if nested_nrows is None else list(nested_nrows)
        if len(counts) != len(ids):
            raise ValueError(
                f"nested_nrows must be as many as nested_value_rowids, {len(ids)}, not "
                f"{len(counts)}"
            )
        return cls._nested(cls.from_value_rowids, flat_values, validate, ids, counts)

    @staticmethod
    def _nested(make, flat_values, validate, *levels):
        """Rows within rows. levels: for each argument of `make` its values, outermost first."""
        result = flat_values
        for one in reversed(list(zip(*levels, strict=True))):
            result = make(result, *one, validate=validate)
        return result

    @classmethod
    def from_tensor(
        cls, tensor, lengths=None, padding=None, ragged_rank=1, name=None, row_splits_dtype=None
    ):
        """The rows of a tensor. lengths: of each row its first lengths[i] elements; a list of such
        vectors, for several axes. padding: without what each row ends with that equals it.
        ragged_rank: how many axes become ragged. ValueError where these contradict each other."""
        refuse(
            row_splits_dtype is not None and _gyre.as_dtype(row_splits_dtype) != INT64,
            f"row_splits_dtype={row_splits_dtype!r}",
            "row_splits are int64",
        )
        tensor = _gyre.convert(tensor)
        if tensor._dims is None:
            raise ValueError("from_tensor takes a tensor of known rank")
        if lengths is not None and padding is not None:
            raise ValueError("from_tensor takes lengths or a padding, not both")
        nested = isinstance(lengths, (list, tuple)) and any(
            isinstance(one, (list, tuple, _gyre.Tensor)) and getattr(one, "_dims", None) != ()
            for one in lengths
        )
        levels: list | None = list(lengths or ()) if nested else None
        ragged_rank = len(levels) if levels else ragged_rank
        if not 0 < ragged_rank < len(tensor._dims):
            raise ValueError(
                f"from_tensor: ragged_rank is {ragged_rank}, and must lie between 1 and the rank "
                f"of the tensor, {len(tensor._dims)}, less 1"
            )
        if levels:
            return cls._from_levels(tensor, levels)
        shape = op("Shape", tensor, out_type=INT64)
        flat = _merged(tensor, ragged_rank - 1)
        if padding is not None:
            lengths = _unpadded_lengths(flat, padding)
        if lengths is None:
            size = op("BroadcastTo", shape[ragged_rank], op("Shape", flat, out_type=INT64)[:1])
            inner = cls(_merged(flat, 1), splits_of(size))
        else:
            inner = cls._shortened(flat, to_int64(lengths))
        for axis in range(ragged_rank - 1, 0, -1):
            count = op("Prod", shape[:axis], [0])
            inner = cls(inner, op("Mul", count_to(count + 1), shape[axis]))
        return inner

    @classmethod
    def _from_levels(cls, tensor, levels: list):
        result = cls._shortened(tensor, to_int64(levels[0]))
        if len(levels) == 1:
            return result
        return result.with_values(cls._from_levels(result.values, levels[1:]))

    @classmethod
    def _shortened(cls, tensor, lengths):
        """Of each row of a tensor its first elements."""
        shape = op("Shape", tensor, out_type=INT64)
        lengths = op("Maximum", op("Minimum", lengths, shape[1]), int64(0))
        kept = count_to(shape[1]) < op("ExpandDims", lengths, 1)
        return cls(op("GatherNd", tensor, op("Where", kept)), splits_of(lengths))

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
        return innermost(self)

    @property
    def nested_row_splits(self):
        """The row splits of all ragged axes, outermost first."""
        return tuple(all_splits(self))

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

    def get_shape(self):
        """As far as it is known."""
        return self.shape

    @property
    def uniform_row_length(self):
        """None: rows may have different lengths, even if they have not."""
        return None

    def row_lengths(self, axis=1, name=None):
        """How long each row is; of a deeper axis, ragged."""
        axis = int(axis)
        if axis == 0:
            return self.nrows()
        if axis == 1:
            return lengths_of(self)
        if isinstance(self.values, RaggedTensor):
            return self.with_values(self.values.row_lengths(axis - 1))
        rank = None if self.values._dims is None else 1 + len(self.values._dims)
        if axis < 0 or (rank is not None and axis >= rank):
            raise ValueError(f"row_lengths: axis {axis} is not one of a tensor of rank {rank}")
        shape = op("Shape", self.values, out_type=INT64)
        return self.with_values(op("BroadcastTo", shape[axis - 1], shape[: axis - 1]))

    def nested_row_lengths(self, name=None):
        """How long the rows of all ragged axes are, outermost first."""
        inner = self.values.nested_row_lengths() if isinstance(self.values, RaggedTensor) else ()
        return (lengths_of(self), *inner)

    def value_rowids(self, name=None):
        """For each of the values the row in which it is."""
        return row_ids(lengths_of(self))

    def nested_value_rowids(self, name=None):
        """The same for all ragged axes, outermost first."""
        inner = self.values.nested_value_rowids() if isinstance(self.values, RaggedTensor) else ()
        return (self.value_rowids(), *inner)

    def merge_dims(self, outer_axis, inner_axis):
        """The axes from one to another as a single one. ValueError unless they follow each other
        in this order."""
        rank = self.shape.rank
        outer, inner = (a + rank if a < 0 and rank else a for a in (outer_axis, inner_axis))
        if not 0 <= outer <= inner or rank is not None and inner >= rank:
            raise ValueError(f"merge_dims: there are no axes {outer_axis} to {inner_axis}")
        if outer == inner:
            return self
        if outer > 1:
            return self.with_values(
                self.values.merge_dims(outer - 1, inner - 1)
                if isinstance(self.values, RaggedTensor)
                else _merged_axes(self.values, outer - 1, inner - 1)
            )
        if outer == 1 and isinstance(self.values, RaggedTensor):
            splits = op("GatherV2", self.values.row_splits, self.row_splits, 0)
            return RaggedTensor(self.values.values, splits).merge_dims(1, inner - 1)
        if outer == 1:
            size = op("Prod", op("Shape", self.values, out_type=INT64)[1:inner], [0])
            return RaggedTensor(_merged_axes(self.values, 0, inner - 1), self.row_splits * size)
        if not isinstance(self.values, RaggedTensor):
            return _merged_axes(self.values, 0, inner - 1)
        return self.values if inner == 1 else self.values.merge_dims(0, inner - 1)

    def row_limits(self, name=None):
        """Where each row ends."""
        return self.row_splits[1:]

    def bounding_shape(self, axis=None, name=None, out_type=None):
        """The number of rows and the length of the longest; the sizes of the values' other axes."""
        zero = _gyre.convert([0], INT64)
        longest = reduce_max(op("ConcatV2", [self.row_lengths(), zero], 0))
        if isinstance(self.values, RaggedTensor):
            rest = self.values.bounding_shape()[1:]
        else:
            rest = op("Shape", self.values, out_type=INT64)[1:]
        shape = op("ConcatV2", [op("Pack", [self.nrows(), longest]), rest], 0)
        if out_type is not None and _gyre.as_dtype(out_type) != INT64:
            shape = op("Cast", shape, DstT=_gyre.as_dtype(out_type))
        return shape if axis is None else op("GatherV2", shape, axis, 0)

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

    def __gyre_tensor__(self):
        """No tensor by itself: rows may have different lengths."""
        raise ValueError("a RaggedTensor becomes a tensor by to_tensor(), which fills its rows up")

    def numpy(self):
        """A numpy array of rows, of the dtype of the values; of objects, where their lengths
        differ."""
        import numpy

        values, splits = self.values.numpy(), self.row_splits.numpy()
        rows = [values[begin:end] for begin, end in itertools.pairwise(splits.tolist())]
        if len({row.shape for row in rows}) <= 1:
            return numpy.array(rows, values.dtype)
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
        return with_innermost(self, new_values)

    def with_row_splits_dtype(self, dtype):
        """The same: row splits are int64. NotImplementedError for another type."""
        refuse(_gyre.as_dtype(dtype) != INT64, f"dtype={dtype!r}", "row splits are int64")
        return self

    def __getitem__(self, index):
        return ragged_indexing.part(self, index)

    def _gyre_rows(self):
        def count():
            return _gyre.execute("Cast", [self.nrows()], {"DstT": _gyre.as_dtype("int32")})[0]

        return Items(count, self.__getitem__)

    def to_list(self):
        """Nested Python lists. Of eager tensors."""
        splits = [int(i) for i in self.row_splits.numpy()]
        inner = (
            self.values.to_list()
            if isinstance(self.values, RaggedTensor)
            else self.values.numpy().tolist()
        )
        return [inner[a:b] for a, b in itertools.pairwise(splits)]

    @property
    def _type_spec(self) -> TypeSpec:
        return RaggedTensorSpec(self.shape, self.dtype, self.ragged_rank)

    def _dims_of_parts(self, shape):
        """What a shape invariant says of its tensors."""
        return dims_of_parts(RaggedTensorSpec(shape, self.dtype, self.ragged_rank), self)

    def __len__(self):
        return int(self.nrows())

    def __repr__(self):
        if self.row_splits.is_symbolic:
            return f"<gyre.RaggedTensor of {self.dtype.name}, shape {self.shape}>"
        return f"<gyre.RaggedTensor {self.to_list()}>"


class RaggedRowSpec(TensorSpec):
    """Tensors that are rows of a ragged one: of other sizes from one to the next."""

    __slots__ = ()

    @property
    def ragged_rank(self) -> int:
        """How many axes are ragged: none."""
        return 0


class RaggedTensorSpec(CompositeSpec):
    """RaggedTensors of a shape and dtype, with `ragged_rank` ragged axes (by default all but the
    first). With none it describes tensors, as rows of a RaggedTensor are. row_splits_dtype must be
    int64: ValueError otherwise."""

    __slots__ = ("_ragged_rank",)

    def __new__(
        cls,
        shape=None,
        dtype: DTypeLike = "float32",
        ragged_rank=None,
        row_splits_dtype="int64",
        flat_values_spec=None,
    ):
        if ragged_rank == 0 or ragged_rank is None and TensorShape(shape).rank in (0, 1):
            return RaggedRowSpec(shape, dtype)
        return super().__new__(cls)

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
        rank = self._shape.rank
        if ragged_rank < 0 or rank is not None and ragged_rank >= rank:
            raise ValueError(
                f"ragged_rank must be at least 0 and less than the rank of {self._shape}, but is "
                f"{ragged_rank}"
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


def _count(values):
    """How many values there are: int64."""
    return (
        values.nrows()
        if isinstance(values, RaggedTensor)
        else op("Shape", values, out_type=INT64)[0]
    )


def _merged_axes(tensor, outer: int, inner: int):
    """A tensor with the axes from one to another as a single one."""
    shape = op("Shape", tensor, out_type=INT64)
    size = op("ExpandDims", op("Prod", shape[outer : inner + 1], [0]), 0)
    return op("Reshape", tensor, op("ConcatV2", [shape[:outer], size, shape[inner + 1 :]], 0))


def _merged(tensor, axes: int):
    """A tensor whose first axis is its first one and `axes` more."""
    return tensor if axes == 0 else _merged_axes(tensor, 0, axes)


def _unpadded_lengths(tensor, padding):
    """How many elements are left of each row without those at its end that are the padding."""
    differs = op("NotEqual", tensor, _gyre.convert(padding, tensor.dtype))
    if len(tensor._dims) > 2:
        differs = op("Any", differs, list(range(2, len(tensor._dims))))
    size = op("Shape", tensor, out_type=INT64)[1]
    ends = op("Cast", differs, DstT=INT64) * (count_to(size) + 1)
    return op("Maximum", op("Max", ends, [1]), int64(0))


nest.register_composite(
    RaggedTensor,
    lambda x: [(".values", x.values), (".row_splits", x.row_splits)],
    lambda x, parts: RaggedTensor(*parts),
)

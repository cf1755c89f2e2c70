"""Values and structures of Python as SavedModels hold them (StructuredValue)."""

from __future__ import annotations

import collections

from gyre import _gyre
from gyre._impl.composites.indexed_slices import IndexedSlicesSpec
from gyre._impl.composites.ragged import RaggedTensorSpec
from gyre._impl.composites.sparse_tensor import SparseTensorSpec
from gyre._impl.shape import TensorShape
from gyre._impl.spec import TensorSpec


class UnknownSpec:
    """A kind of value that Gyre has no spec of: an argument that nothing fits."""

    def __init__(self, name: str):
        self.name = name

    def __repr__(self) -> str:
        return self.name


def decode(value):
    """The Python value. What is several tensors is its spec."""
    kind = value.WhichOneof("kind")
    if kind is None or kind == "none_value":
        return None
    content = getattr(value, kind)
    return _DECODERS[kind](content)


def pairs(expected, given) -> list[tuple]:
    """[(leaf of `expected`, what stands in its place in `given`)], which may have more below it.
    TypeError: another structure."""
    if isinstance(expected, dict):
        if not isinstance(given, dict) or expected.keys() != given.keys():
            raise TypeError("other keys")
        return [pair for key in expected for pair in pairs(expected[key], given[key])]
    if isinstance(expected, (list, tuple)):
        if not isinstance(given, (list, tuple)) or len(expected) != len(given):
            raise TypeError("another length")
        rows = zip(expected, given, strict=True)
        return [pair for one, other in rows for pair in pairs(one, other)]
    return [(expected, given)]


def shape_of(proto) -> TensorShape:
    """Of a TensorShapeProto."""
    if proto.unknown_rank:
        return TensorShape(None)
    return TensorShape([None if dim.size < 0 else dim.size for dim in proto.dim])


def _named_tuple(content):
    names = [pair.key for pair in content.values]
    kind = collections.namedtuple(content.name or "NamedTuple", names, rename=True)
    return kind(*(decode(pair.value) for pair in content.values))


def _tensor_spec(content) -> TensorSpec:
    return TensorSpec(shape_of(content.shape), content.dtype, content.name or None)


def _type_spec(content):
    state = decode(content.type_state)
    name = content.type_spec_class_name or str(content.type_spec_class)
    kind = _SPECS.get(content.type_spec_class)
    try:
        return UnknownSpec(name) if kind is None else kind(*state)
    except (TypeError, ValueError):  # of a type that Gyre has not, such as int32 row splits
        return UnknownSpec(name)


# By TypeSpecProto.TypeSpecClass: of what the writer's spec says of itself, in that order.
_SPECS = {
    1: lambda shape, dtype: SparseTensorSpec(shape, dtype),
    2: lambda shape, dtype, indices, dense, extent: IndexedSlicesSpec(
        shape, dtype, indices, dense, extent
    ),
    3: lambda shape, dtype, ragged_rank, splits: RaggedTensorSpec(
        shape, dtype, ragged_rank, splits
    ),
    9: lambda shape, dtype, *_: TensorSpec(shape, dtype),
}

_DECODERS = {
    "float64_value": float,
    "int64_value": int,
    "string_value": str,
    "bool_value": bool,
    "tensor_shape_value": shape_of,
    "tensor_dtype_value": lambda content: _gyre.as_dtype(content),
    "tensor_spec_value": _tensor_spec,
    "bounded_tensor_spec_value": _tensor_spec,
    "type_spec_value": _type_spec,
    "list_value": lambda content: [decode(value) for value in content.values],
    "tuple_value": lambda content: tuple(decode(value) for value in content.values),
    "dict_value": lambda content: {
        key: decode(content.fields[key]) for key in sorted(content.fields)
    },
    "named_tuple_value": _named_tuple,
    "tensor_value": lambda content: UnknownSpec("a tensor's value"),
    "numpy_value": lambda content: UnknownSpec("an array's value"),
}

"""Values and structures of Python as SavedModels hold them (StructuredValue)."""

from __future__ import annotations

import collections
from typing import Any

from gyre import _gyre
from gyre._impl import nest
from gyre._impl.composites.indexed_slices import IndexedSlicesSpec
from gyre._impl.composites.ragged import RaggedTensorSpec
from gyre._impl.composites.sparse_tensor import SparseTensorSpec
from gyre._impl.proto import messages
from gyre._impl.proto.graphs import shape_proto
from gyre._impl.shape import TensorShape
from gyre._impl.spec import TensorSpec, TypeSpec


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


def encode(value: Any) -> messages.StructuredValue:
    """The message of a value, or of a structure of values. TypeError for what it cannot say."""
    found: Any = messages.StructuredValue()
    if value is None:
        found.none_value.SetInParent()
    elif isinstance(value, (bool, int, float, str)):
        setattr(found, _SCALARS[next(kind for kind in _SCALARS if isinstance(value, kind))], value)
    elif isinstance(value, TensorShape):
        found.tensor_shape_value.CopyFrom(shape_proto(value._dims))
    elif isinstance(value, _gyre.DType):
        found.tensor_dtype_value = value.as_datatype_enum
    elif isinstance(value, TensorSpec):
        _encode_tensor_spec(found.tensor_spec_value, value)
    elif isinstance(value, TypeSpec):
        _encode_type_spec(found.type_spec_value, value)
    elif isinstance(value, dict):
        _encode_dict(found.dict_value, value)
    elif isinstance(value, tuple) and hasattr(value, "_fields"):
        found.named_tuple_value.name = type(value).__name__
        named: Any = value
        for name, item in zip(named._fields, named, strict=True):
            found.named_tuple_value.values.add(key=name, value=encode(item))
    elif isinstance(value, (list, tuple)):
        parts = found.tuple_value if isinstance(value, tuple) else found.list_value
        parts.SetInParent()
        parts.values.extend(map(encode, value))
    else:
        raise TypeError(f"a SavedModel cannot say {value!r}")
    return found


def _encode_tensor_spec(found, spec: TensorSpec) -> None:
    found.shape.CopyFrom(shape_proto(spec._dims))
    found.dtype = spec.dtype.as_datatype_enum
    if spec.name:
        found.name = spec.name


def _encode_type_spec(found, spec: TypeSpec) -> None:
    told = _STATES.get(type(spec))
    if told is None:
        raise TypeError(f"a SavedModel cannot say {spec!r}")
    found.type_spec_class, state = told
    found.type_spec_class_name = type(spec).__name__
    found.type_state.CopyFrom(encode(state(spec)))
    found.num_flat_components = len(nest.flatten(spec, expand_composites=True))


def _encode_dict(found, value: dict) -> None:
    found.SetInParent()
    for key, item in value.items():
        if not isinstance(key, str):
            raise TypeError(f"a SavedModel cannot say a dict with the key {key!r}")
        found.fields[key].CopyFrom(encode(item))


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

# By class of spec: its TypeSpecClass, and what `_SPECS` makes it of.
_STATES = {
    SparseTensorSpec: (1, lambda spec: (spec.shape, spec.dtype)),
    IndexedSlicesSpec: (
        2,
        lambda spec: (
            spec.shape,
            spec.dtype,
            spec._indices_dtype,
            spec._dense_shape_dtype,
            spec._indices_shape,
        ),
    ),
    RaggedTensorSpec: (
        3,
        lambda spec: (spec.shape, spec.dtype, spec.ragged_rank, _gyre.as_dtype("int64")),
    ),
}

# A bool is an int, too.
_SCALARS = {
    bool: "bool_value",
    int: "int64_value",
    float: "float64_value",
    str: "string_value",
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

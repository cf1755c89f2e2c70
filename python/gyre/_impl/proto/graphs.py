"""Shapes, values and attributes as the messages that graphs are written as."""

from __future__ import annotations

import functools
from typing import Any

from gyre import _gyre
from gyre._impl.proto import messages
from gyre._impl.proto.values import value_of


@functools.cache
def signature_of(op: str) -> dict[str, str]:
    """The kinds of an op's attributes, by name: "type", "list(int)", ….  Of unknown ops nothing."""
    try:
        return {attr["name"]: attr["type"] for attr in _gyre.op_info(op)["attrs"]}
    except Exception:  # an op of a plug-in that is not loaded
        return {}


def shape_proto(dims) -> messages.TensorShapeProto:
    """The message of dims: a tuple of sizes and Nones, or None."""
    if dims is None:
        return messages.TensorShapeProto(unknown_rank=True)
    return messages.TensorShapeProto(dim=[{"size": -1 if d is None else int(d)} for d in dims])


def make_tensor_proto(
    values, dtype=None, shape=None, verify_shape=False, allow_broadcast=False
) -> messages.TensorProto:
    """The message of a value: a tensor, array, number or list. `shape`: its shape; where the value
    has too few elements, the last one is repeated (allow_broadcast asks for that). verify_shape: a
    value of another shape is a TypeError; ValueError with both."""
    if verify_shape and allow_broadcast:
        raise ValueError("allow_broadcast and verify_shape are not both allowed.")
    tensor = value_of(values, dtype, None if verify_shape else shape)
    if verify_shape and shape is not None and tuple(shape) != tuple(tensor._dims):
        raise TypeError(f"Expected Tensor's shape: {tuple(shape)}, got {tuple(tensor._dims)}.")
    proto = messages.TensorProto(
        dtype=tensor.dtype.as_datatype_enum, tensor_shape=shape_proto(tensor._dims)
    )
    array = tensor.numpy()
    if tensor.dtype.name == "string":
        proto.string_val.extend([array] if isinstance(array, bytes) else list(array.ravel()))
    else:
        proto.tensor_content = array.tobytes()
    return proto


# The fields of an attribute's value, and the classes of these.
_SCALARS = {"int": ("i", int), "float": ("f", float), "bool": ("b", bool)}


def attr_of(value: Any, kind: str | None) -> messages.AttrValue:
    """An attribute's value as a message. `kind`: as the op's signature says; None for one that it
    does not have, which is guessed from the value."""
    kind = kind or _kind_of(value)
    if not kind.startswith("list("):
        field, item = _field_of(value, kind)
        return messages.AttrValue(**{field: item})
    items = messages.AttrValue.ListValue()
    for field, item in (_field_of(item, kind[5:-1]) for item in value):
        getattr(items, field).append(item)
    return messages.AttrValue(list=items)


def _kind_of(value) -> str:
    inner = value[0] if isinstance(value, list) and value else value
    kind = (
        "bool"
        if isinstance(inner, bool)
        else "int"
        if isinstance(inner, int)
        else "float"
        if isinstance(inner, float)
        else "type"
        if isinstance(inner, _gyre.DType)
        else "shape"
        if isinstance(inner, tuple) or inner is None
        else "string"
    )
    return f"list({kind})" if isinstance(value, list) else kind


def _field_of(value, kind: str) -> tuple[str, Any]:
    """What an AttrValue, or its list, holds a value of this kind as: a field, and what is in it."""
    if kind == "type":
        return "type", 0 if value is None else _gyre.as_dtype(value).as_datatype_enum
    if kind == "shape":
        return "shape", shape_proto(value)
    if kind == "tensor":
        return "tensor", make_tensor_proto(value)
    if kind == "func":
        return "func", messages.NameAttrList(name=str(value))
    if kind in _SCALARS:
        field, scalar = _SCALARS[kind]
        return field, scalar(value)
    return "s", value.encode() if isinstance(value, str) else value

"""The messages that graphs are written as: GraphDef and what it is made of.

Sources of names and numbers:
tensorflow/core/framework/{graph,node_def,attr_value,tensor,tensor_shape,
function,op_def,versions}.proto.
"""

import functools
from typing import Any

from gyre import _gyre
from gyre._impl.proto.values import value_of
from gyre._impl.proto.wire import Field, Message


class VersionDef(Message):
    """Which versions of the format a graph needs."""

    _fields = {
        "producer": Field(1, "int"),
        "min_consumer": Field(2, "int"),
        "bad_consumers": Field(3, "int", "many"),
    }


class TensorShapeDim(Message):
    """A size; -1: unknown."""

    _fields = {"size": Field(1, "int"), "name": Field(2, "string")}


class TensorShapeProto(Message):
    """A shape of which not all need be known."""

    Dim = TensorShapeDim
    _fields = {"dim": Field(2, "message", "many", TensorShapeDim), "unknown_rank": Field(3, "bool")}


class TensorProto(Message):
    """A tensor."""

    _fields = {
        "dtype": Field(1, "int"),
        "tensor_shape": Field(2, "message", type=TensorShapeProto),
        "version_number": Field(3, "int"),
        "tensor_content": Field(4, "bytes"),
        "float_val": Field(5, "float", "many"),
        "double_val": Field(6, "double", "many"),
        "int_val": Field(7, "int", "many"),
        "string_val": Field(8, "bytes", "many"),
        "scomplex_val": Field(9, "float", "many"),
        "int64_val": Field(10, "int", "many"),
        "bool_val": Field(11, "bool", "many"),
        "dcomplex_val": Field(12, "double", "many"),
        "half_val": Field(13, "int", "many"),
        "uint32_val": Field(16, "uint", "many"),
        "uint64_val": Field(17, "uint", "many"),
    }


class NameAttrList(Message):
    """A function's name, with attributes of its own."""

    _fields: dict = {}


class ListValue(Message):
    """Several values of one kind."""

    _fields = {
        "s": Field(2, "bytes", "many"),
        "i": Field(3, "int", "many"),
        "f": Field(4, "float", "many"),
        "b": Field(5, "bool", "many"),
        "type": Field(6, "int", "many"),
        "shape": Field(7, "message", "many", TensorShapeProto),
        "tensor": Field(8, "message", "many", TensorProto),
        "func": Field(9, "message", "many", NameAttrList),
    }


class AttrValue(Message):
    """The value of an attribute: one of its fields is set."""

    ListValue = ListValue
    _fields = {
        "list": Field(1, "message", type=ListValue, oneof="value"),
        "s": Field(2, "bytes", oneof="value"),
        "i": Field(3, "int", oneof="value"),
        "f": Field(4, "float", oneof="value"),
        "b": Field(5, "bool", oneof="value"),
        "type": Field(6, "int", oneof="value"),
        "shape": Field(7, "message", type=TensorShapeProto, oneof="value"),
        "tensor": Field(8, "message", type=TensorProto, oneof="value"),
        "placeholder": Field(9, "string", oneof="value"),
        "func": Field(10, "message", type=NameAttrList, oneof="value"),
    }

    def python_message(self):
        """The message that is set, or the value if it is none."""
        return getattr(self, self.WhichOneof("value"))


NameAttrList._fields = {"name": Field(1, "string"), "attr": Field(2, "message", "map", AttrValue)}


class NodeDef(Message):
    """A node: its op, and the names of what it takes ("node:slot", "^node" for control edges)."""

    _fields = {
        "name": Field(1, "string"),
        "op": Field(2, "string"),
        "input": Field(3, "string", "many"),
        "device": Field(4, "string"),
        "attr": Field(5, "message", "map", AttrValue),
    }


class OpArgDef(Message):
    """An argument or result of a function."""

    _fields = {
        "name": Field(1, "string"),
        "description": Field(2, "string"),
        "type": Field(3, "int"),
        "type_attr": Field(4, "string"),
        "number_attr": Field(5, "string"),
        "type_list_attr": Field(6, "string"),
        "is_ref": Field(16, "bool"),
    }


class OpDef(Message):
    """The signature of a function."""

    ArgDef = OpArgDef
    _fields = {
        "name": Field(1, "string"),
        "input_arg": Field(2, "message", "many", OpArgDef),
        "output_arg": Field(3, "message", "many", OpArgDef),
        "is_stateful": Field(17, "bool"),
        "control_output": Field(20, "string", "many"),
    }


class _StringEntry(Message):
    _fields = {"key": Field(1, "string"), "value": Field(2, "string")}


class FunctionDef(Message):
    """A function of a graph's library."""

    _fields = {
        "signature": Field(1, "message", type=OpDef),
        "node_def": Field(3, "message", "many", NodeDef),
        "ret": Field(4, "message", "many", _StringEntry),
        "attr": Field(5, "message", "map", AttrValue),
        "control_ret": Field(6, "message", "many", _StringEntry),
    }


class GradientDef(Message):
    """Which function computes the gradient of another."""

    _fields = {"function_name": Field(1, "string"), "gradient_func": Field(2, "string")}


class FunctionDefLibrary(Message):
    """The functions of a graph."""

    _fields = {
        "function": Field(1, "message", "many", FunctionDef),
        "gradient": Field(2, "message", "many", GradientDef),
    }


class GraphDef(Message):
    """A graph: its nodes, and the functions that they call."""

    _fields = {
        "node": Field(1, "message", "many", NodeDef),
        "library": Field(2, "message", type=FunctionDefLibrary),
        "version": Field(3, "int"),
        "versions": Field(4, "message", type=VersionDef),
    }


@functools.cache
def signature_of(op: str) -> dict[str, str]:
    """The kinds of an op's attributes, by name: "type", "list(int)", ….  Of unknown ops nothing."""
    try:
        return {attr["name"]: attr["type"] for attr in _gyre.op_info(op)["attrs"]}
    except Exception:  # an op of a plug-in that is not loaded
        return {}


def shape_proto(dims) -> TensorShapeProto:
    """The message of dims: a tuple of sizes and Nones, or None."""
    if dims is None:
        return TensorShapeProto(unknown_rank=True)
    return TensorShapeProto(dim=[TensorShapeDim(size=-1 if d is None else int(d)) for d in dims])


def make_tensor_proto(
    values, dtype=None, shape=None, verify_shape=False, allow_broadcast=False
) -> TensorProto:
    """The message of a value: a tensor, array, number or list. `shape`: its shape; where the value
    has too few elements, the last one is repeated (allow_broadcast asks for that). verify_shape: a
    value of another shape is a TypeError; ValueError with both."""
    if verify_shape and allow_broadcast:
        raise ValueError("allow_broadcast and verify_shape are not both allowed.")
    tensor = value_of(values, dtype, None if verify_shape else shape)
    if verify_shape and shape is not None and tuple(shape) != tuple(tensor._dims):
        raise TypeError(f"Expected Tensor's shape: {tuple(shape)}, got {tuple(tensor._dims)}.")
    proto = TensorProto(dtype=tensor.dtype.as_datatype_enum, tensor_shape=shape_proto(tensor._dims))
    array = tensor.numpy()
    if tensor.dtype.name == "string":
        proto.string_val.extend([array] if isinstance(array, bytes) else list(array.ravel()))
    else:
        proto.tensor_content = array.tobytes()
    return proto


_SCALARS = {"int": "i", "float": "f", "bool": "b"}


def attr_of(value: Any, kind: str | None) -> AttrValue:
    """An attribute's value as a message. `kind`: as the op's signature says; None for one that it
    does not have, which is guessed from the value."""
    if kind is None:
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
        kind = f"list({kind})" if isinstance(value, list) else kind
    if kind.startswith("list("):
        items = ListValue()
        for item in value:
            _add_to_list(items, kind[5:-1], item)
        return AttrValue(list=items)
    if kind == "type":
        return AttrValue(type=0 if value is None else _gyre.as_dtype(value).as_datatype_enum)
    if kind == "shape":
        return AttrValue(shape=shape_proto(value))
    if kind == "tensor":
        return AttrValue(tensor=make_tensor_proto(value))
    if kind == "func":
        return AttrValue(func=NameAttrList(name=str(value)))
    if kind in _SCALARS:
        return AttrValue(**{_SCALARS[kind]: value})
    return AttrValue(s=value.encode() if isinstance(value, str) else value)


def _add_to_list(items: ListValue, kind: str, value) -> None:
    if kind == "type":
        items.type.append(value.as_datatype_enum)
    elif kind == "shape":
        items.shape.append(shape_proto(value))
    elif kind == "func":
        items.func.append(NameAttrList(name=str(value)))
    elif kind == "tensor":
        items.tensor.append(make_tensor_proto(value))
    elif kind in _SCALARS:
        getattr(items, _SCALARS[kind]).append(value)
    else:
        items.s.append(value.encode() if isinstance(value, str) else value)

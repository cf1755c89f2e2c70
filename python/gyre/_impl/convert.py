"""From Python values to tensors, and the two ways in which all ops are called: `call`, `calls`."""

import math

from gyre import _gyre
from gyre._impl import facade
from gyre._impl.shape import TensorShape

Tensor = _gyre.Tensor

_execute = _gyre.execute


def call(op: str, *inputs, name: str | None = None, **attrs) -> Tensor:
    """The one result of an op. Inputs and attributes in the order, and by the names, of its schema;
    attributes that are None are left out."""
    return (
        calls(op, *inputs, name=name, **attrs)[0] if attrs else _execute(op, inputs, None, name)[0]
    )


def calls(op: str, *inputs, name: str | None = None, **attrs) -> list[Tensor]:
    """All results of an op."""
    return _execute(op, inputs, {k: v for k, v in attrs.items() if v is not None}, name)


def call_list(op: str, values, *rest, name: str | None = None, **attrs) -> Tensor:
    """The one result of an op whose first input is a list of tensors."""
    attrs = {k: v for k, v in attrs.items() if v is not None}
    return _gyre.execute(op, [same_dtype(values), *rest], attrs, name)[0]


def is_value(value) -> bool:
    """Whether it is a tensor, or converts by its own means: a variable, a composite."""
    return isinstance(value, Tensor) or hasattr(value, "__gyre_tensor__")


def holds_tensor(value) -> bool:
    """Whether it is a value (is_value), or a nested list with one in it."""
    if isinstance(value, (list, tuple)):
        return _gyre.holds_tensors(value)
    return is_value(value)


def packed_list(value, dtype=None):
    """A (nested) list that holds tensors as one tensor; everything else as it is."""
    if not holds_tensor(value):
        return value
    if not isinstance(value, (list, tuple)):
        return value
    items = [packed_list(item, dtype) for item in value]
    if dtype is not None:
        items = [_of_dtype(item, dtype) for item in items]
    return _gyre.execute("Pack", [same_dtype(items, dtype)], {"axis": 0})[0]


def _of_dtype(item, dtype):
    """What stands in a list that is to be of a dtype: tensors of others are cast, as TensorFlow
    does (in lists alone)."""
    if not is_value(item):
        return item
    tensor = _gyre.convert(item)
    return tensor if tensor.dtype == dtype else _execute("Cast", [tensor], {"DstT": dtype})[0]


def same_dtype(values, dtype=None) -> list[Tensor]:
    """Values as tensors of one dtype: numbers and lists take that of the first tensor."""
    if all([isinstance(v, Tensor) for v in values]):
        return [*values]
    of_first = next((v.dtype for v in values if isinstance(v, Tensor)), None)
    values = [packed_list(v, of_first) if type(v) in (list, tuple) else v for v in values]
    if dtype is None:
        dtype = next((v.dtype for v in values if is_value(v)), None)
    if dtype is None:
        first = [_gyre.convert(v) for v in values]
        kinds = {t.dtype.name for t in first}
        if len(kinds) <= 1:
            return first
        dtype = next(
            (t.dtype for t in first if t.dtype.is_floating or t.dtype.is_complex), first[0].dtype
        )
    return [
        v if isinstance(v, Tensor) else _gyre.convert(v) if is_value(v) else _gyre.convert(v, dtype)
        for v in values
    ]


def convert_to_tensor(value, dtype=None, dtype_hint=None, name: str | None = None) -> Tensor:
    """A tensor of a tensor, variable, number, string, (nested) list of these, numpy array, or what
    has __dlpack__ or __array__.

    `dtype` is the type that it must have; `dtype_hint` one that it gets if it can. Without either,
    Python's floats become float32, its ints int32 (int64 where they do not fit).
    ValueError / TypeError if it does not convert, or a tensor is of another dtype.
    """
    del name
    dtype = None if dtype is None else _gyre.as_dtype(dtype)
    if isinstance(value, TensorShape):
        value = shape_as_list(value)
    if type(value) in (list, tuple):
        value = packed_list(value, dtype)
    if dtype is None and dtype_hint is not None and not is_value(value):
        try:
            return _gyre.convert(value, _gyre.as_dtype(dtype_hint))
        except (TypeError, ValueError):
            return _gyre.convert(value)
    if is_value(value):
        try:
            tensor = _gyre.convert(value)
        except Exception:
            if not isinstance(value, Tensor):
                raise
            tensor = value  # of another graph: it is one already, and an error where it is used
        if dtype is not None and tensor.dtype != dtype:
            raise ValueError(
                f"A tensor of dtype {tensor.dtype.name} was given where {dtype.name} "
                f"is asked for; gyre.cast converts."
            )
        return tensor
    return _gyre.convert(value, dtype) if dtype is not None else _gyre.convert(value)


def constant(value, dtype=None, shape=None, name: str | None = None) -> Tensor:
    """A tensor of a Python value or numpy array; `shape` reshapes it, or repeats a scalar.

    TypeError if the number of elements does not fit. In a graph: a constant of it.
    """
    if facade.builds_session():
        return facade.form("graphs.constant:constant")(value, dtype, shape, name or "Const")
    tensor = convert_to_tensor(value, dtype, name=name)
    if shape is None:
        return tensor
    dims = shape_as_list(TensorShape(shape))
    if tensor._dims == () and dims != []:
        return call("Fill", dims_tensor(dims), tensor)
    if (
        tensor._dims is not None
        and None not in tensor._dims
        and math.prod(tensor._dims) != math.prod(dims)
    ):
        raise TypeError(
            f"a value of shape {TensorShape(tensor._dims)} cannot be a constant of shape "
            f"{TensorShape(dims)}"
        )
    return call("Reshape", tensor, dims_tensor(dims))


def rank_of(tensor, function: str, argument: str, least: int = 0) -> int:
    """The rank of an argument of a function. ValueError: it is not known here, or less than
    `least`."""
    if tensor._dims is None:
        raise ValueError(
            f"{function} needs to know the rank of {argument!r}: give it a shape, say with "
            f"gyre.ensure_shape({argument}, [None, None]), set_shape, or a TensorSpec"
        )
    if len(tensor._dims) < least:
        raise ValueError(
            f"{function} takes {argument!r} of rank {least} or more, not of shape "
            f"{TensorShape(tensor._dims)}"
        )
    return len(tensor._dims)


def within_rank(axis, rank: int, function: str) -> int:
    """An axis, counted from the first. ValueError if there is no such one."""
    axis = int(axis)
    if not -rank <= axis < rank:
        raise ValueError(f"{function}: axis {axis} is not in [-{rank}, {rank})")
    return axis % rank


def shape_as_list(shape: TensorShape) -> list[int]:
    """The sizes of a shape that must be known. ValueError if it is not."""
    if not shape.is_fully_defined():
        raise ValueError(
            f"The shape {shape} is not fully known here; use gyre.shape(x) for shapes "
            f"that are known when the program runs."
        )
    return [size for size in shape.as_list() if size is not None]


def dims_tensor(
    shape, dtype: _gyre.DType | str = "int32", follows_from_others: bool = False
) -> Tensor:
    """A shape, list of sizes (some of them tensors), or size, as a vector of integers. ValueError
    for a size of None, which is -1 where such a size `follows_from_others`."""
    if is_value(shape):
        return _gyre.convert(shape)
    if isinstance(shape, TensorShape):
        shape = shape_as_list(shape)
    if not isinstance(shape, list) and hasattr(shape, "__index__"):
        shape = [shape.__index__()]
    if isinstance(shape, (list, tuple)):
        if any(s is None for s in shape) and not follows_from_others:
            known = ", ".join("a tensor" if is_value(s) else str(s) for s in shape)
            raise ValueError(
                f"a size in [{known}] is None, which is not known here; use gyre.shape(x)[i] for "
                f"sizes that are known when the program runs."
            )
        shape = [-1 if s is None else s for s in shape]
        if not any(is_value(s) for s in shape):
            return _gyre.convert(list(shape), _gyre.as_dtype(dtype))
        shape = _cast_all(shape)
        return _gyre.execute("Pack", [shape], {"axis": 0})[0]
    return _gyre.convert(shape)


def _cast_all(sizes: list) -> list[Tensor]:
    """Sizes as scalars of one integer type: int64 if one of the tensors is."""
    tensors = [_gyre.convert(s) if is_value(s) else s for s in sizes]
    wide = any(is_value(t) and t.dtype.name == "int64" for t in tensors)
    dtype = _gyre.as_dtype("int64" if wide else "int32")
    return [
        t
        if is_value(t) and t.dtype == dtype
        else call("Cast", t, DstT=dtype)
        if is_value(t)
        else _gyre.convert(t, dtype)
        for t in tensors
    ]


def must_fit(value, parameter: str, dtype: _gyre.DType | str = "int32") -> None:
    """ValueError, which names the parameter, where a number (or one of a list) that is known here
    does not fit an integer type. Of tensors nothing is asked."""
    if is_value(value) or value is None:
        return
    if isinstance(value, (list, tuple)):
        for item in value:
            must_fit(item, parameter, dtype)
        return
    of = _gyre.as_dtype(dtype)
    if hasattr(value, "flat"):
        numbers = list(value.flat)
    else:
        numbers = [value]
    for number in numbers:
        if hasattr(number, "__index__"):
            number = number.__index__()
        elif not isinstance(number, float):
            continue
        if not int(of.min) <= number <= int(of.max):
            raise ValueError(f"{parameter}: {number} does not fit {of.name}")


def to_integer(value, parameter: str, dtype: _gyre.DType | str = "int32") -> Tensor:
    """The number or numbers of a parameter as an integer type that its op asks for. ValueError as
    of must_fit; what a tensor holds is cast."""
    must_fit(value, parameter, dtype)
    of = _gyre.as_dtype(dtype)
    tensor = convert_to_tensor(value)
    return tensor if tensor.dtype == of else call("Cast", tensor, DstT=of)


def static_value(value):
    """The value as numpy, if it is known now: of eager tensors and Python values; else None."""
    if isinstance(value, Tensor):
        known = value._known
        return None if known is None else known.numpy()
    if is_value(value):
        return static_value(_gyre.convert(value))
    return _gyre.tensor(value).numpy()

"""Sets, which are the last dimension of tensors: dense ones, or sparse ones."""

from __future__ import annotations

from gyre import _gyre
from gyre._gyre import Tensor
from gyre._impl.composites.sparse_tensor import SparseTensor
from gyre._impl.convert import call, calls, convert_to_tensor

_TYPES = ("int8", "int16", "int32", "int64", "uint8", "uint16", "string")


def _checked(value, name: str, dtype: _gyre.DType | None = None):
    if not isinstance(value, SparseTensor):
        value = convert_to_tensor(value)
    if value.dtype.name not in _TYPES:
        raise TypeError(f"{name} is of type {value.dtype.name}; sets are of {', '.join(_TYPES)}.")
    if dtype is not None and value.dtype != dtype:
        raise TypeError(f"Both must be of one type, got {dtype.name} and {value.dtype.name}.")
    return value


def _parts(value):
    if isinstance(value, SparseTensor):
        return [value.indices, value.values, value.dense_shape]
    return [value]


_OPS = {
    (False, False): "DenseToDenseSetOperation",
    (False, True): "DenseToSparseSetOperation",
    (True, True): "SparseToSparseSetOperation",
}
# What an operation is where the operands are exchanged.
_EXCHANGED = {"a-b": "b-a", "b-a": "a-b"}


def _operation(a, b, operation: str, validate_indices: bool) -> SparseTensor:
    a = _checked(a, "a")
    b = _checked(b, "b", a.dtype)
    if isinstance(a, SparseTensor) and not isinstance(b, SparseTensor):
        a, b, operation = b, a, _EXCHANGED.get(operation, operation)
    op = _OPS[isinstance(a, SparseTensor), isinstance(b, SparseTensor)]
    parts = calls(
        op,
        *_parts(a),
        *_parts(b),
        set_operation=operation,
        validate_indices=bool(validate_indices),
    )
    return SparseTensor.of_parts(*parts)


def size(a, validate_indices: bool = True) -> Tensor:
    """How many different elements there are along the last dimension of a sparse tensor: int32,
    of all its dimensions but that one."""
    if not isinstance(a, SparseTensor):
        raise TypeError(f"Expected `SparseTensor`, got {type(a).__name__}.")
    a = _checked(a, "a")
    return call("SetSize", *_parts(a), validate_indices=bool(validate_indices))


def intersection(a, b, validate_indices: bool = True) -> SparseTensor:
    """What the sets of both have in common, in order: a sparse tensor. Each may be dense or sparse,
    in row-major order; all dimensions but the last are the same."""
    return _operation(a, b, "intersection", validate_indices)


def difference(a, b, aminusb: bool = True, validate_indices: bool = True) -> SparseTensor:
    """What the sets of a have and those of b have not, or (aminusb = False) the other way round, in
    order: a sparse tensor. Each may be dense or sparse, in row-major order; all dimensions but the
    last are the same."""
    return _operation(a, b, "a-b" if aminusb else "b-a", validate_indices)


def union(a, b, validate_indices: bool = True) -> SparseTensor:
    """What the sets of either have, in order: a sparse tensor. Each may be dense or sparse, in
    row-major order; all dimensions but the last are the same."""
    return _operation(a, b, "union", validate_indices)

"""Functions on tensors whose arguments TensorFlow 1 orders or calls otherwise than TensorFlow 2."""

from __future__ import annotations

from gyre import _gyre
from gyre._gyre import Tensor
from gyre._impl.annotations import Any, TensorLike
from gyre._impl.composites.indexed_slices import IndexedSlices
from gyre._impl.composites.sparse_tensor import SparseTensor
from gyre._impl.control_flow.host_function import numpy_function
from gyre._impl.convert import call, convert_to_tensor, is_value
from gyre._impl.dtypes import DTypeLike
from gyre._impl.ops import elementwise, linalg, reshape, select, table
from gyre._impl.text import split
from gyre._impl.unsupported import refuse


def _either(new, old, new_name: str, old_name: str) -> Any:
    """One argument under two names. ValueError if both are given."""
    if new is not None and old is not None:
        raise ValueError(f"Cannot specify both '{old_name}' and '{new_name}'.")
    return old if new is None else new


def _reduction(name: str, function):
    def reduce(
        input_tensor: TensorLike,
        axis: Any = None,
        keepdims: Any = None,
        name: str | None = None,
        reduction_indices: Any = None,
        keep_dims: Any = None,
    ) -> Tensor:
        axis = _either(axis, reduction_indices, "axis", "reduction_indices")
        keepdims = _either(keepdims, keep_dims, "keepdims", "keep_dims")
        return function(input_tensor, axis, bool(keepdims), name)

    reduce.__name__ = reduce.__qualname__ = name
    reduce.__doc__ = (
        f"{function.__doc__}\n\nreduction_indices and keep_dims are older names of axis and "
        f"keepdims."
    )
    return reduce


for _name in (
    "reduce_sum",
    "reduce_mean",
    "reduce_prod",
    "reduce_max",
    "reduce_min",
    "reduce_all",
    "reduce_any",
    "reduce_logsumexp",
):
    globals()[_name] = _reduction(_name, getattr(table, _name))


def count_nonzero(
    input_tensor: Any = None,
    axis: TensorLike | None = None,
    keepdims=None,
    dtype: DTypeLike = "int64",
    name: str | None = None,
    reduction_indices=None,
    keep_dims=None,
    input: Any = None,
) -> Tensor:
    """How many elements along `axis` are not zero."""
    return table.count_nonzero(
        _either(input_tensor, input, "input_tensor", "input"),
        _either(axis, reduction_indices, "axis", "reduction_indices"),
        _either(keepdims, keep_dims, "keepdims", "keep_dims"),
        dtype,
        name,
    )


def argmax(
    input: TensorLike,
    axis: TensorLike | None = None,
    name: str | None = None,
    dimension=None,
    output_type: DTypeLike = "int64",
) -> Tensor:
    """The index of the largest element along an axis (`dimension`: its older name), 0 if none is
    given."""
    axis = _either(axis, dimension, "axis", "dimension")
    return call(
        "ArgMax",
        convert_to_tensor(input),
        0 if axis is None else axis,
        output_type=_gyre.as_dtype(output_type),
        name=name,
    )


def argmin(
    input: TensorLike,
    axis: TensorLike | None = None,
    name: str | None = None,
    dimension=None,
    output_type: DTypeLike = "int64",
) -> Tensor:
    """The index of the smallest element along an axis (`dimension`: its older name), 0 if none is
    given."""
    axis = _either(axis, dimension, "axis", "dimension")
    return call(
        "ArgMin",
        convert_to_tensor(input),
        0 if axis is None else axis,
        output_type=_gyre.as_dtype(output_type),
        name=name,
    )


def arg_max(
    input: TensorLike, dimension, output_type: DTypeLike = "int64", name: str | None = None
) -> Tensor:
    """As argmax."""
    return argmax(input, dimension, name, output_type=output_type)


def arg_min(
    input: TensorLike, dimension, output_type: DTypeLike = "int64", name: str | None = None
) -> Tensor:
    """As argmin."""
    return argmin(input, dimension, name, output_type=output_type)


def expand_dims(
    input: TensorLike, axis: TensorLike | None = None, name: str | None = None, dim=None
) -> Tensor:
    """The tensor with a dimension of 1 inserted at an axis (`dim`: its older name)."""
    axis = _either(axis, dim, "axis", "dim")
    if axis is None:
        raise ValueError("Must specify an axis argument to tf.expand_dims()")
    return table.expand_dims(input, axis, name)


def squeeze(
    input: TensorLike, axis: TensorLike | None = None, name: str | None = None, squeeze_dims=None
) -> Tensor:
    """The tensor without dimensions of 1: all of them, or those of `axis`."""
    return table.squeeze(input, _either(axis, squeeze_dims, "axis", "squeeze_dims"), name)


def gather(
    params: TensorLike,
    indices: TensorLike,
    validate_indices=None,
    name: str | None = None,
    axis: TensorLike | None = None,
    batch_dims=0,
) -> Tensor:
    """Slices of `params` along an axis (by default the first) that `indices` name."""
    del validate_indices
    return select.gather(params, indices, axis=axis, batch_dims=batch_dims, name=name)


def gather_nd(
    params: TensorLike,
    indices: TensorLike,
    name: str | None = None,
    batch_dims=0,
    bad_indices_policy="",
) -> Tensor:
    """Slices of `params` that index vectors name."""
    refuse(
        bad_indices_policy not in ("", "DEFAULT", "ERROR"),
        f"bad_indices_policy={bad_indices_policy!r}",
        "indices out of range are an error",
    )
    return table.gather_nd(params, indices, batch_dims=batch_dims, name=name)


def where(
    condition: TensorLike,
    x: TensorLike | None = None,
    y: TensorLike | None = None,
    name: str | None = None,
) -> Tensor:
    """The places where a condition holds, [n, rank]; with x and y: x where it holds, y elsewhere. x
    and y are of one shape; a condition of one dimension chooses among their rows."""
    if x is None and y is None:
        return select.where(condition, name=name)
    if x is None or y is None:
        raise ValueError("x and y must both be non-None or both be None.")
    return call("Select", convert_to_tensor(condition), *_pair(x, y), name=name)


def _pair(x, y):
    if is_value(x) or not is_value(y):
        x = convert_to_tensor(x)
        return x, convert_to_tensor(y) if is_value(y) else _gyre.convert(y, x.dtype)
    y = convert_to_tensor(y)
    return _gyre.convert(x, y.dtype), y


def transpose(a: TensorLike, perm=None, name: str = "transpose", conjugate: bool = False) -> Tensor:
    """The tensor with its dimensions in another order: reversed, or as `perm` says."""
    return reshape.transpose(a, perm, conjugate, name)


def shape(input: TensorLike, name: str | None = None, out_type: DTypeLike = "int32") -> Tensor:
    """The sizes of a tensor (of a SparseTensor: its dense shape) as a vector."""
    if isinstance(input, SparseTensor):
        return elementwise.cast(input.dense_shape, out_type)
    return reshape.shape(input, out_type, name)


def size(input: TensorLike, name: str | None = None, out_type: DTypeLike = "int32") -> Tensor:
    """How many elements a tensor has."""
    return reshape.size(input, out_type, name)


def rank(input: TensorLike, name: str | None = None) -> Tensor:
    """How many dimensions a tensor has."""
    return call("Rank", convert_to_tensor(input), name=name)


def zeros_like(
    tensor: TensorLike,
    dtype: DTypeLike | None = None,
    name: str | None = None,
    optimize: bool = True,
) -> Tensor:
    """Zeros of the shape of a tensor, and of its dtype if none is given."""
    del optimize
    return table.zeros_like(tensor, dtype, name)


def ones_like(
    tensor: TensorLike,
    dtype: DTypeLike | None = None,
    name: str | None = None,
    optimize: bool = True,
) -> Tensor:
    """Ones of the shape of a tensor, and of its dtype if none is given."""
    del optimize
    return table.ones_like(tensor, dtype, name)


def norm(
    tensor: TensorLike,
    ord="euclidean",
    axis: TensorLike | None = None,
    keepdims=None,
    name: str | None = None,
    keep_dims=None,
) -> Tensor:
    """The norm of a tensor, or of its vectors or matrices along `axis`."""
    return linalg.norm(
        tensor, ord, axis, bool(_either(keepdims, keep_dims, "keepdims", "keep_dims")), name
    )


def reverse_sequence(
    input: TensorLike,
    seq_lengths: TensorLike,
    seq_axis=None,
    batch_axis=None,
    name: str | None = None,
    seq_dim=None,
    batch_dim=None,
) -> Tensor:
    """The first seq_lengths[i] elements of row i turned around, the others as they are."""
    axis = _either(seq_axis, seq_dim, "seq_axis", "seq_dim")
    if axis is None:
        raise ValueError("reverse_sequence needs seq_axis: the dimension that the lengths are of")
    return table.reverse_sequence(
        input,
        seq_lengths,
        axis,
        _either(batch_axis, batch_dim, "batch_axis", "batch_dim"),
        name,
    )


def sparse_to_dense(
    sparse_indices,
    output_shape,
    sparse_values,
    default_value=0,
    validate_indices: bool = True,
    name: str | None = None,
) -> Tensor:
    """A tensor of `output_shape` that is default_value save at sparse_indices."""
    del validate_indices
    values = convert_to_tensor(sparse_values)
    indices = convert_to_tensor(sparse_indices)
    output_shape = convert_to_tensor(output_shape)
    if indices._dims is not None and len(indices._dims) < 2:
        indices = call("Reshape", indices, [-1, 1])
        values = (
            call("BroadcastTo", values, call("GatherV2", call("Shape", indices), [0], 0))
            if values._dims == ()
            else values
        )
    base = call("Fill", output_shape, _gyre.convert(default_value, values.dtype))
    return call(
        "TensorScatterUpdate",
        base,
        elementwise.cast(indices, output_shape.dtype),
        values,
        name=name,
    )


def sparse_tensor_to_dense(
    sp_input, default_value=None, validate_indices: bool = True, name: str | None = None
) -> Tensor:
    """The tensor that a SparseTensor stands for, default_value elsewhere."""
    del validate_indices
    return sparse_to_dense(
        sp_input.indices,
        sp_input.dense_shape,
        sp_input.values,
        0 if default_value is None else default_value,
        name=name,
    )


def _scattered(indices, values, dense_shape):
    return call("ScatterNd", indices, values, dense_shape)


def sparse_add(a, b, threshold=None, thresh=None) -> Tensor | SparseTensor:
    """The sum of two tensors of which at least one is sparse: of two sparse ones, a SparseTensor.
    NotImplementedError for a threshold, below which values would be left out."""
    for value in (threshold, thresh):
        refuse(
            value is not None and not (isinstance(value, (int, float)) and value == 0),
            f"threshold={value!r}",
            "all values are kept",
        )
    if not isinstance(a, SparseTensor) and not isinstance(b, SparseTensor):
        raise TypeError("At least one input should be SparseTensor; do you mean to use tf.add()?")
    if isinstance(a, SparseTensor) and isinstance(b, SparseTensor):
        dense = call("AddV2", *(_scattered(t.indices, t.values, t.dense_shape) for t in (a, b)))
        held = call(
            "AddV2",
            *(_scattered(t.indices, call("OnesLike", t.values), t.dense_shape) for t in (a, b)),
        )
        places = call("Where", call("NotEqual", held, call("ZerosLike", held)))
        return SparseTensor(places, call("GatherNd", dense, places), a.dense_shape)
    sparse, dense = (a, b) if isinstance(a, SparseTensor) else (b, a)
    return call("TensorScatterAdd", convert_to_tensor(dense), sparse.indices, sparse.values)


def div(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """x / y as Python 2 has it: of integers rounded down."""
    x, y = _pair(x, y)
    return call(
        "RealDiv" if x.dtype.is_floating or x.dtype.is_complex else "FloorDiv",
        x,
        y,
        name=name or "div",
    )


def _cast(name: str):
    def function(x: TensorLike, name: str = name) -> Tensor:
        return elementwise.cast(x, function.dtype, name)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"The tensor as {name[3:].lower()}."
    return function


to_float, to_double, to_int32, to_int64, to_bfloat16 = (
    _cast(name) for name in ("ToFloat", "ToDouble", "ToInt32", "ToInt64", "ToBFloat16")
)
for _function, _dtype in (
    (to_float, "float32"),
    (to_double, "float64"),
    (to_int32, "int32"),
    (to_int64, "int64"),
    (to_bfloat16, "bfloat16"),
):
    _function.dtype = _dtype


def convert_to_tensor_or_indexed_slices(
    value: TensorLike, dtype: DTypeLike | None = None, name: str | None = None
) -> Any:
    """IndexedSlices as they are; all else as a tensor."""
    return value if isinstance(value, IndexedSlices) else convert_to_tensor(value, dtype, name=name)


def clip_by_average_norm(t: TensorLike, clip_norm: TensorLike, name: str | None = None) -> Tensor:
    """The tensor scaled down where the mean of its elements' norm is above clip_norm."""
    t = convert_to_tensor(t)
    count = call("Cast", call("Size", t), DstT=t.dtype)
    average = call("RealDiv", linalg.norm(t), count)
    limit = _gyre.convert(clip_norm, t.dtype) if not is_value(clip_norm) else clip_norm
    scale = call("RealDiv", limit, call("Maximum", limit, average))
    return call("Mul", t, scale, name=name)


def py_func(func, inp, Tout, stateful=True, name: str | None = None) -> Any:
    """func(*inp), called by Python when the graph runs, with numpy arrays: what returns is of the
    dtypes of Tout (a dtype, or a list of them). What func raises comes out of the run."""
    return numpy_function(func, inp, Tout, stateful, name)


def reduce_join(
    inputs: TensorLike,
    axis=None,
    keep_dims=None,
    separator: str = "",
    name: str | None = None,
    reduction_indices=None,
    keepdims=None,
) -> Tensor:
    """The strings along an axis (or several, in their order; None: all), joined."""
    axis = _either(axis, reduction_indices, "axis", "reduction_indices")
    keep = bool(_either(keepdims, keep_dims, "keepdims", "keep_dims"))
    return split.reduce_join(inputs, axis, keep, separator, name)

"""map_fn over and to sparse tensors: a row is sparse, with one dimension less."""

from __future__ import annotations

from gyre import _gyre
from gyre._impl import nest
from gyre._impl.annotations import Any
from gyre._impl.composites.composite import INT64
from gyre._impl.composites.sparse_tensor import SparseTensor, SparseTensorSpec
from gyre._impl.control_flow.branches import as_tensors
from gyre._impl.control_flow.tensor_array import TensorArray
from gyre._impl.control_flow.while_loop import while_loop
from gyre._impl.convert import call, call_list
from gyre._impl.spec import type_spec_from_value


def are_in(structure) -> bool:
    """Whether a structure of values or of specs holds sparse ones."""
    return any(isinstance(x, (SparseTensor, SparseTensorSpec)) for x in nest.flatten(structure))


def map_rows(fn, elems, signature, **options) -> Any:
    """map_fn of rows that may be sparse. signature: specs or dtypes of what fn returns; None: rows
    as those that it takes."""
    if signature is None:
        signature = nest.map_structure(_spec_of_row, elems)
    specs = nest.flatten(signature)
    first = nest.flatten(elems)[0]
    shape = first.dense_shape if isinstance(first, SparseTensor) else call("Shape", first)
    count = call("Cast", shape[0], DstT=_gyre.as_dtype("int32"))

    def step(i, arrays):
        result = as_tensors(fn(nest.map_structure(lambda x: _row(x, i), elems)))
        nest.assert_same_structure(signature, result)
        written = []
        for spec, leaf, parts in zip(specs, nest.flatten(result), arrays, strict=True):
            if isinstance(spec, SparseTensorSpec) != isinstance(leaf, SparseTensor):
                raise TypeError(
                    f"fn of map_fn returns {type_spec_from_value(leaf)} where {spec} is asked for: "
                    "give fn_output_signature"
                )
            pairs = zip(parts, _parts(leaf, i), strict=True)
            written.append([array.write(i, part) for array, part in pairs])
        return i + 1, written

    arrays = [_arrays(spec, count) for spec in specs]
    start = _gyre.convert(0, count.dtype), arrays
    _, arrays = while_loop(lambda i, _: i < count, step, start, **options)
    return nest.pack_sequence_as(
        signature, [_joined(parts, count) for parts in arrays], expand_composites=False
    )


def _spec_of_row(x):
    if isinstance(x, SparseTensor):
        return SparseTensorSpec(x.shape[1:], x.dtype)
    return x.dtype


def _row(x, i):
    if not isinstance(x, SparseTensor):
        return call("GatherV2", x, i, 0)
    number = call("Cast", i, DstT=INT64)
    here = call("Reshape", call("Where", call("Equal", x.indices[:, 0], number)), [-1])
    indices = call("GatherV2", x.indices, here, 0)
    values = call("GatherV2", x.values, here, 0)
    return SparseTensor.of_parts(indices[:, 1:], values, x.dense_shape[1:])


def _arrays(spec, count) -> list:
    """Where the tensors of each row's result go."""
    parts = nest.flatten(spec, expand_composites=True)
    dtypes = [_gyre.as_dtype(getattr(part, "dtype", part)) for part in parts]
    shapes = [getattr(part, "shape", None) for part in parts]
    if len(parts) > 1:
        rank = spec.shape.rank
        shapes[0] = [None, None if rank is None else rank + 1]
    return [
        TensorArray(dtype, count, infer_shape=False, element_shape=shape)
        for dtype, shape in zip(dtypes, shapes, strict=True)
    ]


def _parts(leaf, i) -> list:
    """What is kept of a row's result: of a sparse one indices that begin with the row's number."""
    if not isinstance(leaf, SparseTensor):
        return [leaf]
    column = call("ZerosLike", leaf.indices[:, :1]) + call("Cast", i, DstT=INT64)
    return [call_list("ConcatV2", [column, leaf.indices], 1), leaf.values, leaf.dense_shape]


def _joined(arrays, count):
    """The results of all rows."""
    if len(arrays) == 1:
        return arrays[0].stack()
    indices, values, shapes = arrays
    whole = [call("Cast", count, DstT=INT64)[None], call("Max", shapes.stack(), 0)]
    return SparseTensor.of_parts(indices.concat(), values.concat(), call_list("ConcatV2", whole, 0))

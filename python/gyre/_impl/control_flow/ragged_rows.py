"""map_fn over and to ragged tensors: their rows go through it as variants."""

from __future__ import annotations

from gyre import _gyre
from gyre._impl import nest
from gyre._impl.annotations import Any
from gyre._impl.composites.ragged import RaggedTensor
from gyre._impl.composites.ragged_variants import (
    VARIANT,
    decoded,
    encoded,
    is_ragged,
    spec_of_rows,
)
from gyre._impl.control_flow.branches import as_tensors
from gyre._impl.spec import TensorSpec, type_spec_from_value

_DENSE = TensorSpec(None)


def are_in(structure) -> bool:
    """Whether a structure of values or of specs holds ragged ones."""
    return any(isinstance(x, RaggedTensor) or is_ragged(x) for x in nest.flatten(structure))


def map_rows(map_fn, fn, elems, signature, **options):
    """map_fn, which takes and returns tensors alone, of rows that may be ragged."""
    specs = nest.map_structure(
        lambda x: spec_of_rows(x) if isinstance(x, RaggedTensor) else _DENSE, elems
    )
    if signature is None:
        signature = _like_rows(elems, specs)
    returned = []

    def of_row(row):
        row = nest.map_structure(
            lambda x, spec: x if spec is _DENSE else decoded(x, spec, 0), row, specs
        )
        result = as_tensors(fn(row))
        wanted = _specs_of(result, signature)
        returned[:] = [nest.pack_sequence_as(result, wanted)]
        leaves = [_one(leaf, spec) for leaf, spec in zip(nest.flatten(result), wanted, strict=True)]
        return nest.pack_sequence_as(result, leaves)

    rows = nest.map_structure(
        lambda x: encoded(x, True) if isinstance(x, RaggedTensor) else x, elems
    )
    plain = None
    if signature is not None:
        plain = nest.map_structure(
            lambda spec: TensorSpec([], VARIANT) if is_ragged(spec) else spec, signature
        )
    stacked = map_fn(of_row, rows, fn_output_signature=plain, **options)
    found = returned[0] if returned else signature
    return nest.map_structure(
        lambda x, spec: decoded(x, spec, 1) if is_ragged(spec) else x, stacked, found
    )


def _like_rows(elems, specs):
    """What fn returns where it does not say: rows as those that it takes."""
    leaves = zip(nest.flatten(elems), nest.flatten(specs), strict=True)
    found = [
        spec if isinstance(x, RaggedTensor) else TensorSpec(None, x.dtype) for x, spec in leaves
    ]
    return nest.pack_sequence_as(elems, found)


def _specs_of(result, signature) -> list:
    """A spec for each leaf of what fn has returned."""
    leaves = nest.flatten(result)
    wanted = nest.flatten(signature)
    if len(wanted) != len(leaves):
        return [type_spec_from_value(leaf) for leaf in leaves]
    return [
        spec if hasattr(spec, "shape") else TensorSpec(None, _gyre.as_dtype(spec))
        for spec in wanted
    ]


def _one(leaf: Any, spec):
    """A leaf of the result as what is stacked."""
    if not is_ragged(spec):
        if isinstance(leaf, RaggedTensor):
            raise TypeError("fn returns a RaggedTensor: say so by a RaggedTensorSpec")
        return leaf
    rank = leaf.ragged_rank if isinstance(leaf, RaggedTensor) else 0
    if rank != spec.ragged_rank or leaf.dtype != spec.dtype:
        raise TypeError(f"fn returns {type_spec_from_value(leaf)} where {spec} is asked for")
    if rank == 0 and getattr(leaf, "_dims", None) == ():
        raise TypeError(f"fn returns a scalar where {spec} is asked for: give fn_output_signature")
    return encoded(leaf)

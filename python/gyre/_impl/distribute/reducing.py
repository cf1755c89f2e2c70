"""Reductions of many tensors among the ranks: small ones go together."""

from __future__ import annotations

from gyre._gyre import Tensor
from gyre._impl.convert import call, call_list, calls, convert_to_tensor
from gyre._impl.distribute.collectives import all_reduce

# Tensors that are known to have more bytes go alone.
_SMALL = 1 << 18


def all_reduce_all(values: list, op: str) -> list[Tensor]:
    """Each value, reduced over the ranks: those of one dtype by one collective, but for large
    ones."""
    tensors = [convert_to_tensor(value) for value in values]
    together: dict[str, list[int]] = {}
    results = list(tensors)
    for i, tensor in enumerate(tensors):
        if _is_small(tensor):
            together.setdefault(tensor.dtype.name, []).append(i)
        else:
            results[i] = all_reduce(tensor, op)
    for indices in together.values():
        if len(indices) == 1:
            results[indices[0]] = all_reduce(tensors[indices[0]], op)
            continue
        flat = [call("Reshape", tensors[i], [-1]) for i in indices]
        sizes = call_list("Pack", [call("Size", part) for part in flat])
        reduced = all_reduce(call_list("ConcatV2", flat, 0), op)
        parts = calls("SplitV", reduced, sizes, 0, num_split=len(flat))
        for i, part in zip(indices, parts, strict=True):
            results[i] = call("Reshape", part, call("Shape", tensors[i]))
    return results


def _is_small(tensor: Tensor) -> bool:
    count = tensor.dtype.size
    for dim in tensor.shape.as_list() if tensor.shape.rank is not None else [None]:
        if dim is None:
            return True
        count *= dim
    return count <= _SMALL

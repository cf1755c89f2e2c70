"""Dropout and lookups as functions."""

from __future__ import annotations

from gyre import _gyre
from gyre._gyre import Tensor
from gyre._impl import random
from gyre._impl.annotations import ShapeLike, TensorLike
from gyre._impl.convert import (
    call,
    convert_to_tensor,
    dims_tensor,
    is_value,
    rank_of,
)
from gyre._impl.dispatch import takes_composites
from gyre._impl.ops.elementwise import cast
from gyre._impl.ops.select import gather
from gyre._impl.ops.table import clip_by_norm


@takes_composites
def dropout(
    x: TensorLike, rate, noise_shape: ShapeLike = None, seed=None, name: str | None = None
) -> Tensor:
    """x with elements set to 0 with probability `rate`, the others divided by 1 - rate. Elements
    along dimensions that are 1 in noise_shape share their fate. ValueError unless 0 <= rate < 1.

    Source: Srivastava et al., Dropout (2014).
    """
    x = convert_to_tensor(x)
    if not is_value(rate):
        if not 0 <= rate < 1:
            raise ValueError(f"dropout's rate must be in [0, 1), got {rate}.")
        if rate == 0:
            return x
    shape = call("Shape", x) if noise_shape is None else dims_tensor(noise_shape)
    drawn = random.uniform(shape, dtype=x.dtype, seed=seed)
    kept = call("GreaterEqual", drawn, cast(rate, x.dtype) if is_value(rate) else rate)
    scale = call("RealDiv", _gyre.convert(1, x.dtype), call("Sub", _gyre.convert(1, x.dtype), rate))
    return call("SelectV2", kept, call("Mul", x, scale), call("ZerosLike", x), name=name)


@takes_composites
def embedding_lookup(
    params: TensorLike, ids: TensorLike, max_norm=None, name: str | None = None
) -> Tensor:
    """Rows of `params`, by id: ids.shape + params.shape[1:]. Of a variable only these are read, and
    its gradient is IndexedSlices."""
    if isinstance(params, (list, tuple)):
        if len(params) != 1:
            raise NotImplementedError("embedding_lookup over several shards is not supported.")
        params = params[0]
    rows = gather(params, ids, name=name)
    if max_norm is None:
        return rows
    inner = range(
        rank_of(convert_to_tensor(ids), "embedding_lookup", "ids"),
        rank_of(rows, "embedding_lookup", "params"),
    )
    return clip_by_norm(rows, max_norm, axes=list(inner))

"""Scaled dot-product attention."""

import math

import gyre
from gyre._keras.backend.numpy.types import floats
from gyre._keras.backend.tensors import cast, convert_to_tensor


def dot_product_attention(
    query,
    key,
    value,
    bias=None,
    mask=None,
    scale=None,
    is_causal=False,
    flash_attention=None,
    attn_logits_soft_cap=None,
):
    if flash_attention:
        raise ValueError("Flash attention is not supported by the gyre backend.")
    query, key, value = floats(query, key, value)
    if any(x.shape.rank != 4 for x in (query, key, value)):
        raise ValueError(
            "`dot_product_attention` only supports 4D inputs. Received: "
            f"query.shape={query.shape}, key.shape={key.shape}, value.shape={value.shape}."
        )
    kind = query.dtype
    scale = 1 / math.sqrt(query.shape[-1]) if scale is None else scale
    query, key = (gyre.transpose(x, [0, 2, 1, 3]) for x in _grouped(query, key))
    inner = "float32" if kind.name in ("float16", "bfloat16") else kind
    logits = gyre.cast(gyre.matmul(query, key, transpose_b=True), inner)
    logits = logits * convert_to_tensor(scale, inner)
    if attn_logits_soft_cap is not None:
        cap = convert_to_tensor(attn_logits_soft_cap, inner)
        logits = gyre.tanh(logits / cap) * cap
    if bias is not None:
        logits = logits + cast(bias, inner)
    kept = _kept(logits, mask, is_causal)
    if kept is not None:
        # the least number of a type may be -inf once something is added to it
        low = convert_to_tensor(0.7 * gyre.as_dtype(inner).min, inner)
        logits = gyre.where(kept, logits, low)
    weights = gyre.cast(gyre.nn.softmax(logits), kind)
    (value,) = _grouped(query, value, heads=query.shape[1])[1:]
    result = gyre.matmul(weights, gyre.transpose(value, [0, 2, 1, 3]))
    return gyre.transpose(result, [0, 2, 1, 3])


def _grouped(query, key, heads=None):
    """Heads of keys that several heads of queries share are repeated."""
    heads = query.shape[2] if heads is None else heads
    own = key.shape[2]
    if heads is not None and own is not None and own != heads:
        key = gyre.repeat(key, heads // own, axis=2)
    return query, key


def _kept(logits, mask, is_causal):
    kept = None if mask is None else cast(mask, "bool")
    if is_causal:
        sizes = gyre.shape(logits)
        causal = gyre.range(sizes[-2])[:, None] >= gyre.range(sizes[-1])[None]
        kept = causal if kept is None else gyre.logical_and(kept, causal)
    return kept

"""Attention: scaled dot products, one head or many.

Source: Vaswani et al., Attention is all you need (2017).
"""

from __future__ import annotations

import math

from gyre import _gyre
from gyre._gyre import Tensor
from gyre._impl.annotations import TensorLike
from gyre._impl.convert import call, convert_to_tensor
from gyre._impl.dtypes import DTypeLike
from gyre.nn import functional
from gyre.nn.layers import Dense, Layer


def scaled_dot_product_attention(
    query: TensorLike,
    key: TensorLike,
    value: TensorLike,
    mask: TensorLike | None = None,
    causal: bool = False,
    dropout_rate: float = 0.0,
    return_scores: bool = False,
) -> Tensor | tuple[Tensor, Tensor]:
    """softmax(Q Kᵀ / √n) V: query [..., t, n], key [..., s, n], value [..., s, m] give [..., t, m].

    mask: true where a query may see a key, broadcast to [..., t, s]; `causal`: query i sees keys
    up to i only. A query that sees nothing gets the mean of all values. With return_scores also the
    weights, [..., t, s].
    """
    query, key, value = (convert_to_tensor(x) for x in (query, key, value))
    if query._dims is None or query._dims[-1] is None:
        raise ValueError("Attention needs to know the last dimension of the query.")
    scaled = call("Mul", query, 1.0 / math.sqrt(query._dims[-1]))
    scores = call("BatchMatMulV2", scaled, key, adj_y=True)
    if causal:
        mask = _causal(scores) if mask is None else call("LogicalAnd", mask, _causal(scores))
    if mask is not None:
        lowest = _gyre.convert(-1e4 if scores.dtype.size == 2 else -1e9, scores.dtype)
        scores = call("SelectV2", mask, scores, lowest)
    weights = call("Softmax", scores)
    seen = functional.dropout(weights, dropout_rate) if dropout_rate else weights
    result = call("BatchMatMulV2", seen, value)
    return (result, weights) if return_scores else result


def _causal(scores):
    """[t, s]: whether query i may see key j."""
    shape = call("Shape", scores)
    queries, keys = (
        call("StridedSlice", shape, [i], [0], [1], shrink_axis_mask=1) for i in (-2, -1)
    )
    return call(
        "LessEqual", call("Range", 0, keys, 1), call("ExpandDims", call("Range", 0, queries, 1), 1)
    )


class MultiHeadAttention(Layer):
    """Attention of several heads, each on projections of its own: query [batch, t, n], key and
    value [batch, s, …] (by default the query) give [batch, t, n]."""

    def __init__(
        self,
        num_heads: int,
        key_dim: int,
        value_dim: int | None = None,
        dropout: float = 0.0,
        use_bias: bool = True,
        name=None,
        dtype: DTypeLike = "float32",
    ):
        super().__init__(name, dtype)
        value_dim = key_dim if value_dim is None else value_dim
        self.num_heads, self._dropout, self._use_bias = num_heads, dropout, use_bias
        self.query_dense = Dense(num_heads * key_dim, use_bias=use_bias, name="query", dtype=dtype)
        self.key_dense = Dense(num_heads * key_dim, use_bias=use_bias, name="key", dtype=dtype)
        self.value_dense = Dense(
            num_heads * value_dim, use_bias=use_bias, name="value", dtype=dtype
        )
        self.output_dense = None

    def build(self, dims):
        self.output_dense = Dense(
            self._size_of_last(dims), use_bias=self._use_bias, name="output", dtype=self._dtype
        )

    def _heads(self, x):
        """[batch, t, heads * n] as [batch, heads, t, n]."""
        shape = call("Shape", x)
        batch, time = (call("GatherV2", shape, i, 0) for i in (0, 1))
        parts = [
            batch,
            time,
            _gyre.convert(self.num_heads),
            _gyre.convert(x._dims[-1] // self.num_heads),
        ]
        return call("Transpose", call("Reshape", x, call("Pack", parts)), [0, 2, 1, 3])

    def call(self, inputs, value=None, key=None, mask=None, causal=False, training=False):
        value = inputs if value is None else convert_to_tensor(value)
        key = value if key is None else convert_to_tensor(key)
        q, k, v = (
            self._heads(dense(x))
            for dense, x in (
                (self.query_dense, inputs),
                (self.key_dense, key),
                (self.value_dense, value),
            )
        )
        if mask is not None:
            mask = call("ExpandDims", convert_to_tensor(mask), -3)
        rate = self._dropout if training else 0.0
        mixed = call(
            "Transpose", scaled_dot_product_attention(q, k, v, mask, causal, rate), [0, 2, 1, 3]
        )
        shape = call("Shape", inputs)
        batch, time = (call("GatherV2", shape, i, 0) for i in (0, 1))
        width = self.num_heads * mixed._dims[-1]
        joined = call("Reshape", mixed, call("Pack", [batch, time, _gyre.convert(width)]))
        return self.output_dense(_with_width(joined, width))


def _with_width(x, width: int):
    """x, whose last dimension is known."""
    if x._dims is not None and x._dims[-1] is not None:
        return x
    return call("EnsureShape", x, shape=(None, None, width))

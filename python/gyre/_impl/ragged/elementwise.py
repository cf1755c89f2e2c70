"""Functions of elements: of the values, broadcast to each other where there are several."""

from __future__ import annotations

import functools
import inspect

from gyre import _gyre
from gyre._impl.composites.ragged import RaggedTensor
from gyre._impl.composites.ragged_operators import applied
from gyre._impl.dispatch import for_function
from gyre._impl.ops import table

# Functions that are several ops, or take more than tensors: how many of their first parameters are
# broadcast to each other.
_FUNCTIONS = {
    1: (
        "abs angle as_string bitcast cast conj decode_compressed encode_base64 gelu imag "
        "leaky_relu length log_sigmoid lower ones_like real regex_full_match regex_replace "
        "reciprocal_no_nan saturate_cast silu softsign special stop_gradient substr "
        "to_hash_bucket to_hash_bucket_fast to_hash_bucket_strong to_number unicode_script "
        "unicode_transcode upper zeros_like identity one_hot dropout stateless_dropout "
        "adjust_brightness adjust_gamma convert_image_dtype random_brightness "
        "stateless_random_brightness check_numerics digamma erfcinv erfinv lgamma ndtri "
        "bessel_i0 bessel_i0e bessel_i1 bessel_i1e bessel_j0 bessel_j1 bessel_k0 bessel_k0e "
        "bessel_k1 bessel_k1e bessel_y0 bessel_y1 dawsn expint fresnel_cos fresnel_sin spence"
    ),
    2: (
        "complex logical_xor multiply_no_nan sigmoid_cross_entropy_with_logits truediv xdivy "
        "xlog1py xlogy zeta nextafter divide polygamma igamma igammac scalar_mul realdiv"
    ),
    3: "clip_by_value where_else",
}


@functools.lru_cache(None)
def _parameters(function) -> list[str]:
    return list(inspect.signature(function).parameters)


def elementwise(count: int):
    """What stands for a function whose first `count` parameters are broadcast to each other."""

    def call(function, *args, **kwargs):
        names = _parameters(function)
        given = {**dict(zip(names, args, strict=False)), **kwargs}
        operands = [one for one in names[:count] if one in given]
        rest = {key: value for key, value in given.items() if key not in operands}
        return applied(
            lambda *values: function(**dict(zip(operands, values, strict=True)), **rest),
            *(given[one] for one in operands),
        )

    return call


def _register() -> None:
    for count, names in _FUNCTIONS.items():
        for_function(RaggedTensor, *names.split())(elementwise(count))
    for name, op in table.OPS.items():
        info = _gyre.op_info(op)
        if info["elementwise"]:
            for_function(RaggedTensor, name)(elementwise(len(info["inputs"])))


_register()


@for_function(RaggedTensor, "where")
def where(function, condition, x=None, y=None, name=None):
    """x where the condition is true, y elsewhere; without them the coordinates of what is true."""
    if x is None and y is None:
        places = function(condition.flat_values)
        rank = len(condition.flat_values._dims)
        if rank > 1:
            raise NotImplementedError("where takes conditions whose innermost values are a vector")
        indices = condition.to_sparse().indices
        return _gyre.execute("GatherV2", [indices, places[:, 0], 0], None, name)[0]
    if x is None or y is None:
        raise ValueError("where needs both x and y, or neither.")
    return applied(
        lambda condition, x, y: function(condition, x, y, name=name),
        _as_operand(condition),
        *_of_one_type(x, y),
    )


def _as_operand(value):
    if isinstance(value, RaggedTensor):
        return value
    return _gyre.convert(value)


def _of_one_type(x, y) -> list:
    """Lists and numbers take the type of what stands beside them."""
    dtype = next((v.dtype for v in (x, y) if isinstance(v, (RaggedTensor, _gyre.Tensor))), None)
    return [
        v
        if isinstance(v, (RaggedTensor, _gyre.Tensor))
        else _gyre.convert(v)
        if hasattr(v, "__gyre_tensor__") or dtype is None
        else _gyre.convert(v, dtype)
        for v in (x, y)
    ]


@for_function(RaggedTensor, "add_n", "join")
def of_list(function, inputs, *args, **kwargs):
    """A function of a list, whose items are broadcast to each other."""
    return applied(lambda *values: function(list(values), *args, **kwargs), *inputs)

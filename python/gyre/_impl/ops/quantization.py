"""Integers of few bits for numbers, and numbers rounded to them."""

from __future__ import annotations

from typing import NamedTuple

from gyre import _gyre
from gyre._gyre import Tensor
from gyre._impl.annotations import TensorLike
from gyre._impl.convert import call, calls, convert_to_tensor, rank_of


class QuantizeV2(NamedTuple):
    """Integers, and the range that they stand for."""

    output: Tensor
    output_min: Tensor
    output_max: Tensor


def _axis(x, axis, function: str) -> int:
    """-1: none."""
    if axis is None:
        return -1
    return axis % rank_of(x, function, "input") if axis < 0 else axis


def quantize(
    input: TensorLike,
    min_range: TensorLike,
    max_range: TensorLike,
    T,
    mode: str = "MIN_COMBINED",
    round_mode: str = "HALF_AWAY_FROM_ZERO",
    name: str | None = None,
    narrow_range: bool = False,
    axis: int | None = None,
    ensure_minimum_range: float = 0.01,
) -> QuantizeV2:
    """Integers of type T (quint8, qint8, …) for numbers of [min_range, max_range], and the range
    that they stand for, which holds 0 and is not too small. With `axis` each slice along it has a
    range of its own."""
    x = convert_to_tensor(input, "float32")
    parts = calls(
        "QuantizeV2",
        x,
        min_range,
        max_range,
        T=T,
        mode=mode,
        round_mode=round_mode,
        narrow_range=narrow_range,
        axis=_axis(x, axis, "quantize"),
        ensure_minimum_range=ensure_minimum_range,
        name=name,
    )
    return QuantizeV2(*parts)


def quantize_v2(
    input: TensorLike,
    min_range: TensorLike,
    max_range: TensorLike,
    T,
    mode: str = "MIN_COMBINED",
    name: str | None = None,
    round_mode: str = "HALF_AWAY_FROM_ZERO",
    narrow_range: bool = False,
    axis: int | None = None,
    ensure_minimum_range: float = 0.01,
) -> QuantizeV2:
    """As quantize, with its arguments in the order of TensorFlow 1."""
    return quantize(
        input,
        min_range,
        max_range,
        T,
        mode,
        round_mode,
        name,
        narrow_range,
        axis,
        ensure_minimum_range,
    )


def dequantize(
    input: TensorLike,
    min_range: TensorLike,
    max_range: TensorLike,
    mode: str = "MIN_COMBINED",
    name: str | None = None,
    axis: int | None = None,
    narrow_range: bool = False,
    dtype: _gyre.DType | str = "float32",
) -> Tensor:
    """The numbers of [min_range, max_range] for which the integers of `quantize` stand."""
    x = convert_to_tensor(input)
    return call(
        "Dequantize",
        x,
        min_range,
        max_range,
        mode=mode,
        narrow_range=narrow_range,
        axis=_axis(x, axis, "dequantize"),
        dtype=dtype,
        name=name,
    )


def quantize_and_dequantize_v2(
    input: TensorLike,
    input_min: TensorLike,
    input_max: TensorLike,
    signed_input: bool = True,
    num_bits: int = 8,
    range_given: bool = False,
    round_mode: str = "HALF_TO_EVEN",
    name: str | None = None,
    narrow_range: bool = False,
    axis: int | None = None,
) -> Tensor:
    """Numbers rounded to what integers of num_bits bits, scaled to [input_min, input_max] (or,
    without range_given, to what there is), can be. Gradients go to inputs in that range."""
    return _round(
        "QuantizeAndDequantizeV4",
        input,
        (input_min, input_max),
        signed_input,
        num_bits,
        range_given,
        round_mode,
        narrow_range,
        axis,
        name,
    )


def quantize_and_dequantize(
    input: TensorLike,
    input_min: TensorLike,
    input_max: TensorLike,
    signed_input: bool = True,
    num_bits: int = 8,
    range_given: bool = False,
    round_mode: str = "HALF_TO_EVEN",
    name: str | None = None,
    narrow_range: bool = False,
    axis: int | None = None,
) -> Tensor:
    """As quantize_and_dequantize_v2; gradients go to all inputs."""
    return _round(
        "QuantizeAndDequantizeV2",
        input,
        (input_min, input_max),
        signed_input,
        num_bits,
        range_given,
        round_mode,
        narrow_range,
        axis,
        name,
    )


def fake_quant_with_min_max_vars_gradient(
    gradients: TensorLike,
    inputs: TensorLike,
    min: TensorLike,
    max: TensorLike,
    num_bits: int = 8,
    narrow_range: bool = False,
    name: str | None = None,
) -> tuple[Tensor, Tensor, Tensor]:
    """The gradients of fake_quant_with_min_max_vars by its inputs, min and max."""
    return _fake_quant_gradient("", gradients, inputs, min, max, num_bits, narrow_range, name)


def fake_quant_with_min_max_vars_per_channel_gradient(
    gradients: TensorLike,
    inputs: TensorLike,
    min: TensorLike,
    max: TensorLike,
    num_bits: int = 8,
    narrow_range: bool = False,
    name: str | None = None,
) -> tuple[Tensor, Tensor, Tensor]:
    """The gradients of fake_quant_with_min_max_vars_per_channel by its inputs, min and max."""
    return _fake_quant_gradient(
        "PerChannel", gradients, inputs, min, max, num_bits, narrow_range, name
    )


def _fake_quant_gradient(kind, gradients, inputs, low, high, num_bits, narrow_range, name):
    by_input, by_min, by_max = calls(
        f"FakeQuantWithMinMaxVars{kind}Gradient",
        gradients,
        inputs,
        low,
        high,
        num_bits=num_bits,
        narrow_range=narrow_range,
        name=name,
    )
    return by_input, by_min, by_max


def _round(op, input, ends, is_signed, bits, range_given, round_mode, narrow_range, axis, name):
    x = convert_to_tensor(input)
    return call(
        op,
        x,
        *(convert_to_tensor(end, x.dtype) for end in ends),
        signed_input=is_signed,
        num_bits=bits,
        range_given=range_given,
        round_mode=round_mode,
        narrow_range=narrow_range,
        axis=_axis(x, axis, "quantize_and_dequantize"),
        name=name,
    )

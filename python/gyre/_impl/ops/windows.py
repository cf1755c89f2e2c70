"""Windows, frames of signals, and mel scales."""

from __future__ import annotations

import math

from gyre import _gyre
from gyre._gyre import Tensor
from gyre._impl.annotations import TensorLike
from gyre._impl.convert import call, call_list, convert_to_tensor, rank_of, within_rank
from gyre._impl.dtypes import DTypeLike
from gyre._impl.ops import elementwise as e
from gyre._impl.ops import table


def _floating(dtype):
    dtype = _gyre.as_dtype(dtype)
    if not dtype.is_floating:
        raise ValueError(f"dtype must be a floating point type. Found {dtype.name}.")
    return dtype


def vector(*items):
    """Integers, of which some may be tensors, as a vector; or vectors as rows."""
    return call_list("Pack", list(items))


def _count(length, dtype):
    """0, 1, …, length - 1."""
    return e.cast(call("Range", 0, length, 1), dtype)


def _one_if_single(length, window):
    """A window of one element is 1."""
    return call("SelectV2", call("Equal", length, 1), call("OnesLike", window), window)


def _raised_cosine(length, periodic, dtype, a: float, b: float):
    dtype = _floating(dtype)
    length = convert_to_tensor(length, dtype_hint="int32")
    even = 1 - call("FloorMod", length, 2)
    steps = e.cast(length + e.cast(periodic, length.dtype) * even - 1, dtype)
    angles = _count(length, dtype) * (2 * math.pi) / table.maximum(steps, 1)
    return _one_if_single(length, a - b * call("Cos", angles))


def hann_window(
    window_length: TensorLike,
    periodic: bool = True,
    dtype: DTypeLike = "float32",
    name: str | None = None,
) -> Tensor:
    """Hann's window: (1 - cos) / 2 over one period."""
    return call("Identity", _raised_cosine(window_length, periodic, dtype, 0.5, 0.5), name=name)


def hamming_window(
    window_length: TensorLike,
    periodic: bool = True,
    dtype: DTypeLike = "float32",
    name: str | None = None,
) -> Tensor:
    """Hamming's window: 0.54 - 0.46 cos over one period."""
    return call("Identity", _raised_cosine(window_length, periodic, dtype, 0.54, 0.46), name=name)


def kaiser_window(
    window_length: TensorLike,
    beta: TensorLike = 12.0,
    dtype: DTypeLike = "float32",
    name: str | None = None,
) -> Tensor:
    """Kaiser's window: the larger beta, the narrower."""
    dtype = _floating(dtype)
    length = convert_to_tensor(window_length, dtype_hint="int32")
    beta = e.cast(beta, dtype)
    half = (e.cast(length, dtype) - 1) / 2
    place = (_count(length, dtype) - half) / table.maximum(half, 0.5)
    root = beta * call("Sqrt", call("Relu", 1 - call("Square", place)))
    scaled = table.bessel_i0e(root) / table.bessel_i0e(beta)
    window = call("Exp", root - beta) * scaled
    return call("Identity", _one_if_single(length, window), name=name)


def kaiser_bessel_derived_window(
    window_length: TensorLike,
    beta: TensorLike = 12.0,
    dtype: DTypeLike = "float32",
    name: str | None = None,
) -> Tensor:
    """The roots of running sums of Kaiser's window, up and down; of even length."""
    half = call("FloorDiv", convert_to_tensor(window_length, dtype_hint="int32"), 2)
    sums = table.cumsum(kaiser_window(half + 1, beta, dtype))
    rising = call("Sqrt", sums[:-1] / sums[-1])
    return call_list("ConcatV2", [rising, rising[::-1]], 0, name=name)


def vorbis_window(
    window_length: TensorLike, dtype: DTypeLike = "float32", name: str | None = None
) -> Tensor:
    """Vorbis' window: sin(π/2 sin²) over half a period."""
    dtype = _floating(dtype)
    length = convert_to_tensor(window_length, dtype_hint="int32")
    angles = (_count(length, dtype) + 0.5) * math.pi / e.cast(length, dtype)
    return call("Sin", call("Square", call("Sin", angles)) * (math.pi / 2), name=name)


def frame(
    signal: TensorLike,
    frame_length: int | Tensor,
    frame_step: int | Tensor,
    pad_end: bool = False,
    pad_value: TensorLike = 0,
    axis: int = -1,
    name: str | None = None,
) -> Tensor:
    """Windows of `frame_length` samples along an axis, `frame_step` apart: the axis becomes two, of
    frames and of samples. `pad_end`: frames that only begin within the signal are padded."""
    signal = convert_to_tensor(signal)
    rank = rank_of(signal, "frame", "signal", least=1)
    axis = within_rank(int(axis), rank, "frame")
    samples = call("Shape", signal)[axis]
    if pad_end:
        count = -(-samples // frame_step)
        missing = table.maximum(frame_length + frame_step * (count - 1) - samples, 0)
        none = [_gyre.convert([0, 0])]
        paddings = vector(*none * axis, vector(0, missing), *none * (rank - 1 - axis))
        signal = call("PadV2", signal, paddings, _gyre.convert(pad_value, signal.dtype))
    else:
        count = table.maximum(1 + (samples - frame_length) // frame_step, 0)
    starts = call("ExpandDims", call("Range", 0, count, 1) * frame_step, 1)
    return call("GatherV2", signal, starts + call("Range", 0, frame_length, 1), axis, name=name)


def overlap_and_add(signal: TensorLike, frame_step: TensorLike, name: str | None = None) -> Tensor:
    """Frames [..., frames, length] put `frame_step` apart and added: [..., samples]."""
    signal = convert_to_tensor(signal)
    rank = rank_of(signal, "overlap_and_add", "signal", least=2)
    shape = call("Shape", signal)
    outer, frames, length = shape[:-2], shape[-2], shape[-1]
    step = convert_to_tensor(frame_step, dtype_hint="int32")
    if not step.dtype.is_integer:
        raise ValueError(f"frame_step must be an integer. Got {step.dtype.name}.")
    segments = -(-length // step)

    def reshaped(x, *sizes):
        return call("Reshape", x, call_list("ConcatV2", [outer, vector(*sizes)], 0))

    # Segment j of frame i belongs to step i + j of the result. With one more row of zeros for each
    # segment, rows of all segments but one, read on, stand one further for each segment.
    none = [_gyre.convert([0, 0])] * (rank - 2)
    rows, columns = vector(0, segments), vector(0, segments * step - length)
    padded = call("Pad", signal, vector(*none, rows, columns))
    parts = reshaped(padded, frames + segments, segments, step)
    order = [*range(rank - 2), rank - 1, rank - 2, rank]
    parts = reshaped(call("Transpose", parts, order), (frames + segments) * segments, step)
    parts = parts[..., : (frames + segments - 1) * segments, :]
    parts = reshaped(parts, segments, frames + segments - 1, step)
    whole = reshaped(table.reduce_sum(parts, -3), (frames + segments - 1) * step)
    return call("Identity", whole[..., : length + step * (frames - 1)], name=name)


def _mel(hertz):
    return 1127.0 * call("Log", 1.0 + hertz / 700.0)


def linear_to_mel_weight_matrix(
    num_mel_bins: int = 20,
    num_spectrogram_bins: int = 129,
    sample_rate: float = 8000,
    lower_edge_hertz: float = 125.0,
    upper_edge_hertz: float = 3800.0,
    dtype: DTypeLike = "float32",
    name: str | None = None,
) -> Tensor:
    """The weights of triangles on the mel scale for the bins of a spectrogram:
    [num_spectrogram_bins, num_mel_bins]."""
    dtype = _floating(dtype)
    if num_mel_bins <= 0:
        raise ValueError(f"num_mel_bins must be positive. Got: {num_mel_bins}")
    if lower_edge_hertz < 0.0:
        raise ValueError(f"lower_edge_hertz must be non-negative. Got: {lower_edge_hertz}")
    if lower_edge_hertz >= upper_edge_hertz:
        raise ValueError(
            f"lower_edge_hertz {lower_edge_hertz:.1f} >= upper_edge_hertz {upper_edge_hertz:.1f}"
        )
    if not isinstance(sample_rate, Tensor):
        if sample_rate <= 0.0:
            raise ValueError(f"sample_rate must be positive. Got: {sample_rate}")
        if upper_edge_hertz > sample_rate / 2:
            raise ValueError(
                "upper_edge_hertz must not be larger than the Nyquist frequency (sample_rate / 2). "
                f"Got {upper_edge_hertz} for sample_rate: {sample_rate}"
            )
    nyquist = e.cast(sample_rate, dtype) / 2
    steps = _count(num_spectrogram_bins, dtype)[1:]
    bins = call("ExpandDims", _mel(nyquist * steps / (num_spectrogram_bins - 1)), 1)
    low = _mel(_gyre.convert(lower_edge_hertz, dtype))
    high = _mel(_gyre.convert(upper_edge_hertz, dtype))
    edges = low + (high - low) * _count(num_mel_bins + 2, dtype) / (num_mel_bins + 1)
    lower, center, upper = edges[:-2], edges[1:-1], edges[2:]
    rising, falling = (bins - lower) / (center - lower), (upper - bins) / (upper - center)
    weights = table.maximum(table.minimum(rising, falling), 0)
    return call("Pad", weights, [[1, 0], [0, 0]], name=name)

"""Fourier transforms of real signals and along any axes, and transforms that are made of them."""

from __future__ import annotations

import math
from collections.abc import Callable

from gyre import _gyre
from gyre._gyre import Tensor
from gyre._impl.annotations import TensorLike
from gyre._impl.convert import call, call_list, convert_to_tensor, rank_of, to_integer, within_rank
from gyre._impl.ops import elementwise as e
from gyre._impl.ops import table, windows
from gyre._impl.ops.create import get_static_value

_COMPLEX = {"float32": "complex64", "float64": "complex128"}
_REAL = {"complex64": "float32", "complex128": "float64"}


def _lengths(fft_length):
    return to_integer(fft_length, "fft_length")


def _padded(x, sizes, axes: int):
    """The last axes padded to at least these sizes."""
    known = get_static_value(sizes)
    dims = x._dims[-axes:]
    if known is not None and None not in dims:
        if all(d >= n for d, n in zip(dims, known, strict=True)):
            return x
    shape = call("Shape", x)
    wanted = call_list("ConcatV2", [shape[:-axes], table.maximum(shape[-axes:], sizes)], 0)
    missing = wanted - shape
    return call("Pad", x, call("Pack", [call("ZerosLike", missing), missing], axis=1))


def _real_transform(op: str, input_tensor, fft_length, axes: int, name):
    x = convert_to_tensor(input_tensor)
    if x.dtype.name not in _COMPLEX:
        raise ValueError(f"{op} takes float32 or float64, not {x.dtype.name}.")
    rank_of(x, op.lower(), "input_tensor", least=axes)
    if fft_length is None:
        lengths = call("Shape", x)[-axes:]
    else:
        lengths = _lengths(fft_length)
        x = _padded(x, lengths, axes)
    dtypes = {"Treal": x.dtype, "Tcomplex": _gyre.as_dtype(_COMPLEX[x.dtype.name])}
    return call(op, x, lengths, name=name, **dtypes)


def _half_size(lengths):
    """The sizes of half spectra."""
    last = call("SelectV2", lengths[-1:] > 0, lengths[-1:] // 2 + 1, lengths[-1:])
    return call_list("ConcatV2", [lengths[:-1], last], 0)


def _inverse_real_transform(op: str, input_tensor, fft_length, axes: int, name):
    x = convert_to_tensor(input_tensor)
    if x.dtype.name not in _REAL:
        raise ValueError(f"{op} takes complex64 or complex128, not {x.dtype.name}.")
    rank_of(x, op.lower(), "input_tensor", least=axes)
    if fft_length is None:
        sizes = call("Shape", x)[-axes:]
        last = table.maximum(2 * (sizes[-1:] - 1), 0)
        lengths = call_list("ConcatV2", [sizes[:-1], last], 0)
    else:
        lengths = _lengths(fft_length)
        x = _padded(x, _half_size(lengths), axes)
    dtypes = {"Treal": _gyre.as_dtype(_REAL[x.dtype.name]), "Tcomplex": x.dtype}
    return call(op, x, lengths, name=name, **dtypes)


def rfft(input_tensor: TensorLike, fft_length=None, name: str | None = None) -> Tensor:
    """The Fourier transform of real numbers along the last axis, padded or cut to `fft_length` (a
    list of one): the first fft_length // 2 + 1 numbers, of which the others are conjugates."""
    return _real_transform("RFFT", input_tensor, fft_length, 1, name)


def rfft2d(input_tensor: TensorLike, fft_length=None, name: str | None = None) -> Tensor:
    """The Fourier transform of real numbers along the last two axes: of the last the first half."""
    return _real_transform("RFFT2D", input_tensor, fft_length, 2, name)


def rfft3d(input_tensor: TensorLike, fft_length=None, name: str | None = None) -> Tensor:
    """The Fourier transform of real numbers along the last three axes: of the last one half."""
    return _real_transform("RFFT3D", input_tensor, fft_length, 3, name)


def irfft(input_tensor: TensorLike, fft_length=None, name: str | None = None) -> Tensor:
    """The inverse of rfft: `fft_length` real numbers, by default 2 (n - 1) of n complex ones."""
    return _inverse_real_transform("IRFFT", input_tensor, fft_length, 1, name)


def irfft2d(input_tensor: TensorLike, fft_length=None, name: str | None = None) -> Tensor:
    """The inverse of rfft2d."""
    return _inverse_real_transform("IRFFT2D", input_tensor, fft_length, 2, name)


def irfft3d(input_tensor: TensorLike, fft_length=None, name: str | None = None) -> Tensor:
    """The inverse of rfft3d."""
    return _inverse_real_transform("IRFFT3D", input_tensor, fft_length, 3, name)


def _along_axes(op: str, x, fft_length, axes, name, norm, **dtypes):
    rank = rank_of(x, op.lower(), "input_tensor", least=1)
    if norm not in (None, "backward", "forward", "ortho"):
        raise ValueError(f"Invalid normalization mode: {norm}.")
    if axes is None:
        given = rank if fft_length is None else int(convert_to_tensor(fft_length)._dims[0])
        axes = list(range(rank - given, rank))
    axes = [within_rank(int(axis), rank, op.lower()) for axis in axes]
    is_half = op == "IRFFTND"
    if fft_length is None:
        sizes = call("GatherV2", call("Shape", x), axes, 0)
        last = table.maximum(2 * (sizes[-1:] - 1), 0) if is_half else sizes[-1:]
        lengths = call_list("ConcatV2", [sizes[:-1], last], 0)
    else:
        lengths = _lengths(fft_length)
    result = call(op, x, lengths, axes, name=name, **dtypes)
    inverse = op.startswith("I")
    exponent = {"ortho": 0.5, "forward": 1.0}.get(norm or "backward")
    if exponent is None:
        return result
    size = table.reduce_prod(e.cast(lengths, "float64"))
    factor = call("Pow", size, exponent if inverse else -exponent)
    return result * e.cast(factor, result.dtype)


def fftnd(
    input_tensor: TensorLike,
    fft_length=None,
    axes=None,
    norm: str | None = None,
    name: str | None = None,
) -> Tensor:
    """The Fourier transform along axes (all, or the last ones), each padded or cut to a length.
    `norm`: "forward" divides by the size, "ortho" by its root."""
    x = convert_to_tensor(input_tensor)
    return _along_axes("FFTND", x, fft_length, axes, name, norm)


def ifftnd(
    input_tensor: TensorLike,
    fft_length=None,
    axes=None,
    norm: str | None = None,
    name: str | None = None,
) -> Tensor:
    """The inverse of fftnd."""
    x = convert_to_tensor(input_tensor)
    return _along_axes("IFFTND", x, fft_length, axes, name, norm)


def rfftnd(
    input_tensor: TensorLike,
    fft_length=None,
    axes=None,
    norm: str | None = None,
    name: str | None = None,
) -> Tensor:
    """As fftnd, of real numbers: of the last of the axes the first half."""
    x = convert_to_tensor(input_tensor)
    dtypes = {"Treal": x.dtype, "Tcomplex": _gyre.as_dtype(_COMPLEX[x.dtype.name])}
    return _along_axes("RFFTND", x, fft_length, axes, name, norm, **dtypes)


def irfftnd(
    input_tensor: TensorLike,
    fft_length=None,
    axes=None,
    norm: str | None = None,
    name: str | None = None,
) -> Tensor:
    """The inverse of rfftnd."""
    x = convert_to_tensor(input_tensor)
    dtypes = {"Treal": _gyre.as_dtype(_REAL[x.dtype.name]), "Tcomplex": x.dtype}
    return _along_axes("IRFFTND", x, fft_length, axes, name, norm, **dtypes)


def _shift_axes(x, axes, function: str) -> list[int]:
    rank = rank_of(x, function, "x")
    if axes is None:
        return list(range(rank))
    axes = [axes] if hasattr(axes, "__index__") else list(axes)
    return [within_rank(int(axis), rank, function) for axis in axes]


def fftshift(x: TensorLike, axes=None, name: str | None = None) -> Tensor:
    """Axes (all, or those given) turned by half, so that frequency 0 stands in the middle."""
    x = convert_to_tensor(x)
    axes = _shift_axes(x, axes, "fftshift")
    shape = call("Shape", x)
    return call("Roll", x, convert_to_tensor([shape[a] // 2 for a in axes]), axes, name=name)


def ifftshift(x: TensorLike, axes=None, name: str | None = None) -> Tensor:
    """The inverse of fftshift."""
    x = convert_to_tensor(x)
    axes = _shift_axes(x, axes, "ifftshift")
    shape = call("Shape", x)
    return call("Roll", x, convert_to_tensor([-(shape[a] // 2) for a in axes]), axes, name=name)


def _power_of_two(length):
    """The least that is not below."""
    if hasattr(length, "__index__"):
        return 1 << max(int(length) - 1, 0).bit_length()
    bits = call("Ceil", call("Log", e.cast(length, "float64")) / math.log(2.0))
    return e.cast(call("Pow", _gyre.convert(2.0, _gyre.as_dtype("float64")), bits), "int32")


def stft(
    signals: TensorLike,
    frame_length: int | Tensor,
    frame_step: int | Tensor,
    fft_length: TensorLike | None = None,
    window_fn: Callable | None = windows.hann_window,
    pad_end: bool = False,
    name: str | None = None,
) -> Tensor:
    """The short-time Fourier transform: rfft of frames times a window. [..., samples] gives [...,
    frames, fft_length // 2 + 1]; `fft_length` is by default the least power of two."""
    frames = windows.frame(signals, frame_length, frame_step, pad_end=pad_end)
    if fft_length is None:
        fft_length = _power_of_two(frame_length)
    if window_fn is not None:
        frames = frames * window_fn(frame_length, dtype=frames.dtype)
    return rfft(frames, windows.vector(fft_length), name=name)


def inverse_stft_window_fn(
    frame_step: TensorLike,
    forward_window_fn: Callable = windows.hann_window,
    name: str | None = None,
) -> Callable:
    """The window for inverse_stft that undoes stft with `forward_window_fn`. Source: Griffin and
    Lim, Signal estimation from modified short-time Fourier transform (1984)."""
    del name

    def window_fn(frame_length, dtype="float32"):
        forward = forward_window_fn(frame_length, dtype=dtype)
        overlaps = -(-frame_length // frame_step)
        missing = overlaps * frame_step - frame_length
        paddings = windows.vector(windows.vector(0, missing))
        squares = call("Pad", call("Square", forward), paddings)
        squares = call("Reshape", squares, windows.vector(overlaps, frame_step))
        sums = call("Tile", table.reduce_sum(squares, 0), windows.vector(overlaps))[:frame_length]
        return call("DivNoNan", forward, sums)

    return window_fn


def inverse_stft(
    stfts: TensorLike,
    frame_length: TensorLike,
    frame_step: TensorLike,
    fft_length: TensorLike | None = None,
    window_fn: Callable | None = windows.hann_window,
    name: str | None = None,
) -> Tensor:
    """Signals of short-time Fourier transforms. To undo stft, `window_fn` must be what
    inverse_stft_window_fn gives."""
    stfts = convert_to_tensor(stfts)
    rank = rank_of(stfts, "inverse_stft", "stfts", least=2)
    if fft_length is None:
        fft_length = _power_of_two(frame_length)
    frames = irfft(stfts, windows.vector(fft_length))[..., :frame_length]
    missing = table.maximum(frame_length - call("Shape", frames)[-1], 0)
    none = [_gyre.convert([0, 0])] * (rank - 1)
    frames = call("Pad", frames, windows.vector(*none, windows.vector(0, missing)))
    if window_fn is not None:
        frames = frames * window_fn(frame_length, dtype=frames.dtype)
    return call("Identity", windows.overlap_and_add(frames, frame_step), name=name)


def _check_dct(type: int, n, axis: int, norm) -> None:
    if axis != -1:
        raise NotImplementedError(f"axis must be -1. Got: {axis}")
    if n is not None and n < 1:
        raise ValueError("n should be a positive integer or None")
    if type not in (1, 2, 3, 4):
        raise ValueError("Types I, II, III and IV (I)DCT are supported.")
    if type == 1 and norm == "ortho":
        raise ValueError("Normalization is not supported for the Type-I DCT.")
    if norm not in (None, "ortho"):
        raise ValueError(f"Unknown normalization. Expected None or 'ortho', got: {norm}")


def _turns(size, dtype, sign: float):
    """2 exp(± i π k / 2n)."""
    angles = e.cast(call("Range", 0, size, 1), dtype) * (sign * math.pi * 0.5) / e.cast(size, dtype)
    return 2.0 * e.complex(call("Cos", angles), call("Sin", angles))


def _weights(size, dtype, first, others):
    """A vector of one number, and another for all behind it."""
    is_first = call("Equal", call("Range", 0, size, 1), 0)
    return call("SelectV2", is_first, e.cast(first, dtype), e.cast(others, dtype))


def _dct(x, type: int, norm):
    size = call("Shape", x)[-1]
    real_size = e.cast(size, x.dtype)
    if type == 1:
        mirrored = call_list("ConcatV2", [x, x[..., -2:0:-1]], -1)
        return table.real(rfft(mirrored))
    if type == 2:
        whole = rfft(x, windows.vector(2 * size))[..., :size]
        result = table.real(whole * _turns(size, x.dtype, -1.0))
        if norm is None:
            return result
        first = 0.5 * call("Rsqrt", real_size)
        return result * _weights(size, x.dtype, first, first * math.sqrt(2.0))
    if type == 3:
        root = call("Sqrt", real_size)
        weights = (
            real_size if norm is None else _weights(size, x.dtype, root, root * math.sqrt(0.5))
        )
        x = x * weights
        turned = _turns(size, x.dtype, 1.0) * e.complex(x, call("ZerosLike", x))
        return irfft(turned, windows.vector(2 * size))[..., :size]
    padded = call_list("ConcatV2", [x, call("ZerosLike", x)], -1)
    result = _dct(padded, 2, None)[..., 1::2]
    return result if norm is None else result * (math.sqrt(0.5) * call("Rsqrt", real_size))


def dct(
    input: TensorLike,
    type: int = 2,
    n: int | None = None,
    axis: int = -1,
    norm: str | None = None,
    name: str | None = None,
) -> Tensor:
    """The discrete cosine transform, of type 1 to 4, along the last axis, padded or cut to n.
    `norm`: "ortho" makes it orthogonal."""
    _check_dct(type, n, axis, norm)
    x = convert_to_tensor(input)
    if n is not None:
        x = x[..., :n]
        x = _padded(x, convert_to_tensor([n]), 1)
    if type == 1 and x._dims is not None and x._dims[-1] is not None and x._dims[-1] < 2:
        raise ValueError("Type-I DCT requires the dimension to be greater than one.")
    return call("Identity", _dct(x, type, norm), name=name)


def idct(
    input: TensorLike,
    type: int = 2,
    n: int | None = None,
    axis: int = -1,
    norm: str | None = None,
    name: str | None = None,
) -> Tensor:
    """The inverse of dct, but for the factor 2n (of type 1: 2 (n - 1)) where `norm` is None."""
    _check_dct(type, n, axis, norm)
    return dct(input, {1: 1, 2: 3, 3: 2, 4: 4}[type], n, axis, norm, name)


def mdct(
    signals: TensorLike,
    frame_length: int,
    window_fn: Callable | None = windows.vorbis_window,
    pad_end: bool = False,
    norm: str | None = None,
    name: str | None = None,
) -> Tensor:
    """The modified discrete cosine transform of frames that overlap by half: [..., samples] gives
    [..., frames, frame_length // 2]. Source: Princen, Johnson and Bradley (1987)."""
    if frame_length % 4 != 0:
        raise ValueError("The frame length must be a multiple of 4.")
    half = frame_length // 2
    frames = windows.frame(signals, frame_length, half, pad_end=pad_end)
    if window_fn is not None:
        frames = frames * window_fn(frame_length, dtype=frames.dtype)
    else:
        frames = frames * (1.0 / math.sqrt(2.0))
    quarter = half // 2
    a, b, c, d = (frames[..., i * quarter : (i + 1) * quarter] for i in range(4))
    first = -call("ReverseV2", c, [-1]) - d
    second = a - call("ReverseV2", b, [-1])
    folded = call_list("ConcatV2", [first, second], -1)
    return call("Identity", _dct(folded, 4, norm), name=name)


def inverse_mdct(
    mdcts: TensorLike,
    window_fn: Callable | None = windows.vorbis_window,
    norm: str | None = None,
    name: str | None = None,
) -> Tensor:
    """Signals of modified discrete cosine transforms: the inverse of mdct with the same window."""
    mdcts = convert_to_tensor(mdcts)
    half = mdcts._dims[-1] if mdcts._dims is not None else None
    if half is None:
        half = call("Shape", mdcts)[-1]
    if norm is None:
        unfolded = _dct(mdcts, 4, None) * (0.5 / e.cast(half, mdcts.dtype))
    elif norm == "ortho":
        unfolded = _dct(mdcts, 4, "ortho")
    else:
        raise ValueError(f"Unknown normalization. Expected None or 'ortho', got: {norm}")
    quarter = half // 2
    first, second = unfolded[..., :quarter], unfolded[..., quarter:]
    parts = [second, -call("ReverseV2", second, [-1]), -call("ReverseV2", first, [-1]), -first]
    frames = call_list("ConcatV2", parts, -1)
    if window_fn is not None:
        frames = frames * window_fn(2 * half, dtype=frames.dtype)
    else:
        frames = frames * (1.0 / math.sqrt(2.0))
    return call("Identity", windows.overlap_and_add(frames, half), name=name)


def mfccs_from_log_mel_spectrograms(
    log_mel_spectrograms: TensorLike, name: str | None = None
) -> Tensor:
    """Mel-frequency cepstral coefficients: an orthogonal dct of type 2, but for its first number's
    factor."""
    x = convert_to_tensor(log_mel_spectrograms)
    if x._dims and x._dims[-1] == 0:
        raise ValueError("num_mel_bins must be positive. Got: 0")
    size = e.cast(call("Shape", x)[-1], x.dtype)
    return call("Mul", _dct(x, 2, None), call("Rsqrt", size * 2.0), name=name)

"""Segments, transforms, and what the other modules have not."""

import gyre
from gyre._keras.backend.numpy.types import floating, floats
from gyre._keras.backend.tensors import cast, convert_to_tensor


def _segments(op, of_none=None):
    """`of_none`: what floating segments without elements are, if not what the op gives."""

    def function(data, segment_ids, num_segments=None, sorted=False):
        segment_ids = convert_to_tensor(segment_ids)
        if segment_ids.dtype.name not in ("int32", "int64"):
            segment_ids = gyre.cast(segment_ids, "int32")
        if num_segments is None:
            ids = gyre.concat([segment_ids, [-1]], 0)
            num_segments = gyre.reduce_max(ids) + 1
        data = convert_to_tensor(data)
        found = op(data, segment_ids, num_segments)
        if of_none is None or not gyre.as_dtype(data.dtype).is_floating:
            return found
        counts = gyre.math.unsorted_segment_sum(
            gyre.ones_like(segment_ids), segment_ids, num_segments
        )
        empty = gyre.equal(counts, 0)
        for _ in range(found.shape.rank - 1):
            empty = empty[..., None]
        return gyre.where(empty, convert_to_tensor(of_none, found.dtype), found)

    return function


segment_sum = _segments(gyre.math.unsorted_segment_sum)
segment_max = _segments(gyre.math.unsorted_segment_max, float("-inf"))
segment_min = _segments(gyre.math.unsorted_segment_min, float("inf"))
segment_prod = _segments(gyre.math.unsorted_segment_prod)


def top_k(x, k, sorted=True):
    x = convert_to_tensor(x)
    if x.dtype.name == "bool":
        values, places = gyre.math.top_k(gyre.cast(x, "uint8"), k, sorted=sorted)
        return gyre.cast(values, "bool"), places
    return tuple(gyre.math.top_k(x, k, sorted=sorted))


def in_top_k(targets, predictions, k):
    return gyre.math.in_top_k(convert_to_tensor(targets, "int32"), cast(predictions, "float32"), k)


def logsumexp(x, axis=None, keepdims=False):
    return gyre.reduce_logsumexp(floating(x), axis=axis, keepdims=keepdims)


def cdist(x, y):
    """Euclidean distances; they have a gradient where they are 0, which is 0."""
    x, y = floats(x, y)
    squares = gyre.reduce_sum(gyre.square(x[..., :, None, :] - y[..., None, :, :]), axis=-1)
    apart = squares > 0
    roots = gyre.sqrt(gyre.where(apart, squares, gyre.ones_like(squares)))
    return gyre.where(apart, roots, gyre.zeros_like(squares))


def extract_sequences(x, sequence_length, sequence_stride):
    return gyre.signal.frame(convert_to_tensor(x), sequence_length, sequence_stride, pad_end=False)


def _get_complex_tensor_from_tuple(x):
    if not isinstance(x, (tuple, list)) or len(x) != 2:
        raise ValueError(
            f"Input `x` should be a tuple of two tensors - real and imaginary. Received: x={x}"
        )
    real, imag = (convert_to_tensor(one) for one in x)
    if real.shape != imag.shape:
        raise ValueError(
            "Input `x` should be a tuple of two tensors - real and imaginary."
            "Both the real and imaginary parts should have the same shape. "
            f"Received: x[0].shape = {real.shape}, x[1].shape = {imag.shape}"
        )
    for one in (real, imag):
        if not gyre.as_dtype(one.dtype).is_floating:
            raise ValueError(
                f"At least one tensor in input `x` is not of type float.Received: x={x}."
            )
    return gyre.complex(real, imag)


def _parts(x):
    return gyre.math.real(x), gyre.math.imag(x)


def fft(x):
    return _parts(gyre.signal.fft(_get_complex_tensor_from_tuple(x)))


def fft2(x):
    return _parts(gyre.signal.fft2d(_get_complex_tensor_from_tuple(x)))


def ifft2(x):
    return _parts(gyre.signal.ifft2d(_get_complex_tensor_from_tuple(x)))


def rfft(x, fft_length=None):
    length = None if fft_length is None else [fft_length]
    return _parts(gyre.signal.rfft(floating(x), fft_length=length))


def irfft(x, fft_length=None):
    length = None if fft_length is None else [fft_length]
    return gyre.signal.irfft(_get_complex_tensor_from_tuple(x), fft_length=length)


def _window(window, sequence_length, fft_length, dtype):
    """The window with zeros at both sides, as long as the transform."""
    if window is None:
        window = gyre.ones([sequence_length], dtype)
    elif isinstance(window, str):
        make = {"hann": gyre.signal.hann_window, "hamming": gyre.signal.hamming_window}[window]
        window = make(sequence_length, periodic=True, dtype=dtype)
    else:
        window = convert_to_tensor(window, dtype)
    if window.shape.rank != 1 or window.shape[-1] != sequence_length:
        raise ValueError(
            "The shape of `window` must be equal to [sequence_length]."
            f"Received: window shape={window.shape}"
        )
    left = (fft_length - sequence_length) // 2
    return gyre.pad(window, [[left, fft_length - sequence_length - left]])


def _check_lengths(sequence_length, fft_length, window):
    if fft_length < sequence_length:
        raise ValueError(
            "`fft_length` must equal or larger than `sequence_length`. "
            f"Received: sequence_length={sequence_length}, fft_length={fft_length}"
        )
    if isinstance(window, str) and window not in ("hann", "hamming"):
        raise ValueError(
            "If a string is passed to `window`, it must be one of `hann`, `hamming`. "
            f"Received: window={window}"
        )


def stft(x, sequence_length, sequence_stride, fft_length, window="hann", center=True):
    x = convert_to_tensor(x)
    if x.dtype.name not in ("float32", "float64"):
        raise TypeError(
            f"Invalid input type. Expected `float32` or `float64`. Received: input type={x.dtype}"
        )
    _check_lengths(sequence_length, fft_length, window)
    if center:
        pads = [[0, 0]] * (x.shape.rank - 1) + [[fft_length // 2, fft_length // 2]]
        x = gyre.pad(x, pads, mode="REFLECT")
    frames = gyre.signal.frame(x, fft_length, sequence_stride)
    frames = frames * _window(window, sequence_length, fft_length, x.dtype)
    return _parts(gyre.signal.rfft(frames, [fft_length]))


def istft(x, sequence_length, sequence_stride, fft_length, length=None, window="hann", center=True):
    """Frames added where they overlap, each divided by what the squares of windows add up to."""
    _check_lengths(sequence_length, fft_length, window)
    frames = irfft(x, fft_length)
    if window is not None:
        weights = _window(window, sequence_length, fft_length, frames.dtype)
        count = -(-fft_length // sequence_stride)
        squares = gyre.pad(gyre.square(weights), [[0, count * sequence_stride - fft_length]])
        sums = gyre.reduce_sum(gyre.reshape(squares, [count, sequence_stride]), axis=0)
        frames = frames * (weights / gyre.tile(sums, [count])[:fft_length])
    total = gyre.signal.overlap_and_add(frames, sequence_stride)
    begin = fft_length // 2 if center else 0
    end = None if not center else -(fft_length // 2)
    if length is not None:
        end = begin + length
    result = total[..., begin:end]
    if length is not None and result.shape[-1] is not None and result.shape[-1] < length:
        pads = [[0, 0]] * (result.shape.rank - 1) + [[0, length - result.shape[-1]]]
        result = gyre.pad(result, pads)
    return result


def rsqrt(x):
    return gyre.math.rsqrt(floating(x))


def erf(x):
    return gyre.math.erf(floating(x))


def erfc(x):
    return gyre.math.erfc(floating(x))


def erfinv(x):
    return gyre.math.erfinv(floating(x))


def logdet(x):
    return gyre.linalg.logdet(floating(x))

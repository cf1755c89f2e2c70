"""Fourier transforms, windows and what is made of them, against numpy and TensorFlow 2.21."""

import numpy as np
import pytest

import gyre

S = gyre.signal
R = np.random.default_rng(6)
X = R.normal(size=(2, 3, 4, 10))
Z = X + 1j * R.normal(size=X.shape)


def close(result, expected, tolerance=1e-12):
    np.testing.assert_allclose(np.asarray(result), expected, rtol=tolerance, atol=tolerance)


def test_transforms():
    close(S.fft(Z), np.fft.fft(Z))
    close(S.ifft2d(Z), np.fft.ifft2(Z))
    close(S.fft3d(Z), np.fft.fftn(Z, axes=(1, 2, 3)))
    close(S.rfft(X), np.fft.rfft(X))
    close(S.rfft(X, [7]), np.fft.rfft(X, 7))
    close(S.rfft(X, [16]), np.fft.rfft(X, 16))
    close(S.irfft(Z), np.fft.irfft(Z))
    close(S.irfft(Z, [15]), np.fft.irfft(Z, 15))
    close(S.rfft2d(X, [5, 6]), np.fft.rfft2(X, (5, 6)))
    close(S.irfft2d(Z, [3, 20]), np.fft.irfft2(Z, (3, 20)))
    close(S.rfft3d(X), np.fft.rfftn(X, axes=(1, 2, 3)))
    close(S.irfft3d(S.rfft3d(X)), X)
    close(S.fftnd(Z, axes=[0, 2]), np.fft.fftn(Z, axes=(0, 2)))
    close(S.ifftnd(Z, [5, 3], [1, 3], norm="ortho"), np.fft.ifftn(Z, (5, 3), (1, 3), norm="ortho"))
    close(S.rfftnd(X, [5, 8], [1, 3]), np.fft.rfftn(X, (5, 8), (1, 3)))
    close(S.irfftnd(Z, [4, 9], [2, 3], norm="forward"), np.fft.irfftn(Z, (4, 9), (2, 3), "forward"))
    assert S.rfft(X.astype(np.float32)).dtype == gyre.complex64
    close(gyre.function(lambda x: S.irfft(S.rfft(x)))(X), X)


def test_lengths_that_fit_no_int32():
    for function, dtype in ((gyre.signal.rfft, "float32"), (gyre.signal.irfft, "complex64")):
        with pytest.raises(ValueError, match="fft_length: 4294967299 does not fit int32"):
            function(gyre.ones([2], dtype), [2**32 + 3])


def test_shifts():
    close(S.fftshift(X, 3), np.fft.fftshift(X, 3))
    close(S.fftshift(X), np.fft.fftshift(X))
    close(S.ifftshift(X[..., :9], [0, 3]), np.fft.ifftshift(X[..., :9], (0, 3)))


def test_windows():
    close(S.hann_window(4), [0, 0.5, 1, 0.5], 1e-6)
    close(S.hann_window(5, periodic=False), np.hanning(5), 1e-6)
    close(S.hann_window(1), [1])
    close(S.hamming_window(7, False, gyre.float64), np.hamming(7))
    close(S.kaiser_window(6, 9.0, gyre.float64), np.kaiser(6, 9.0))
    half_sine = np.sin(np.pi * (np.arange(4) + 0.5) / 4)
    close(S.vorbis_window(4, gyre.float64), np.sin(np.pi / 2 * half_sine**2))
    derived = S.kaiser_bessel_derived_window(8, 4.0, gyre.float64).numpy()
    close(derived[:4] ** 2 + derived[4:] ** 2, np.ones(4))
    with pytest.raises(ValueError, match="floating point"):
        S.hann_window(4, dtype=gyre.int32)


def test_frames():
    x = np.arange(9.0)
    close(S.frame(x, 4, 2), [[0, 1, 2, 3], [2, 3, 4, 5], [4, 5, 6, 7]])
    close(S.frame(x, 4, 3, pad_end=True, pad_value=-1), [[0, 1, 2, 3], [3, 4, 5, 6], [6, 7, 8, -1]])
    assert S.frame(X, 2, 1, axis=2).shape == (2, 3, 3, 2, 10)
    assert S.frame(x, 20, 2).shape == (0, 20)
    frames = R.normal(size=(2, 4, 5))
    expected = np.zeros((2, 11))
    for i in range(4):
        expected[:, 2 * i : 2 * i + 5] += frames[:, i]
    close(S.overlap_and_add(frames, 2), expected)
    close(S.overlap_and_add(frames, 5), frames.reshape(2, 20))
    close(gyre.function(lambda f: S.overlap_and_add(f, 2))(frames), expected)


def test_short_time_transforms():
    x = R.normal(size=(2, 64))
    transform = S.stft(x, 16, 4)
    assert transform.shape == (2, 13, 9)
    window = S.hann_window(16, dtype=gyre.float64).numpy()
    close(transform[:, 3], np.fft.rfft(x[:, 12:28] * window))
    back = S.inverse_stft(transform, 16, 4, window_fn=S.inverse_stft_window_fn(4))
    close(back[:, 16:48], x[:, 16:48], 1e-10)
    parts = S.mdct(x, 16, norm="ortho")
    close(S.inverse_mdct(parts, norm="ortho")[:, 8:56], x[:, 8:56], 1e-10)
    close(S.inverse_mdct(S.mdct(x, 16))[:, 8:56], x[:, 8:56], 1e-10)


@pytest.mark.parametrize("kind", [1, 2, 3, 4])
def test_cosine_transforms(kind):
    x, n = X[0, 0], X.shape[-1]
    k = np.arange(n)
    j = k[:, None]
    if kind == 1:
        weights = np.where((k == 0) | (k == n - 1), 1, 2)
        matrix = weights * np.cos(np.pi * j * k / (n - 1))
    elif kind == 2:
        matrix = 2 * np.cos(np.pi * j * (2 * k + 1) / (2 * n))
    elif kind == 3:
        matrix = np.where(k == 0, 1, 2) * np.cos(np.pi * (2 * j + 1) * k / (2 * n))
    else:
        matrix = 2 * np.cos(np.pi * (2 * j + 1) * (2 * k + 1) / (4 * n))
    close(S.dct(x, kind), x @ matrix.T)
    scale = 2 * (n - 1) if kind == 1 else 2 * n
    close(S.idct(S.dct(x, kind), kind), scale * x, 1e-11)
    if kind > 1:
        close(S.idct(S.dct(x, kind, norm="ortho"), kind, norm="ortho"), x)
    close(S.dct(x, kind, n=6), S.dct(x[:, :6], kind))


def test_mel_scale():
    weights = S.linear_to_mel_weight_matrix(4, 9, 8000, 100.0, 3800.0, gyre.float64).numpy()
    assert weights.shape == (9, 4) and not weights[0].any()
    mel = 1127 * np.log(1 + np.linspace(0, 4000, 9) / 700)
    edges = np.linspace(*(1127 * np.log(1 + np.array([100, 3800]) / 700)), 6)
    for i in range(4):
        expected = np.interp(mel, edges[i : i + 3], [0, 1, 0])
        close(weights[1:, i], expected[1:])
    logs = R.normal(size=(3, 8))
    expected = S.dct(logs, norm="ortho").numpy().copy()
    expected[:, 0] *= np.sqrt(2)
    close(S.mfccs_from_log_mel_spectrograms(logs), expected)

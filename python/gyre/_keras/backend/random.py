"""Random numbers, which depend on their seed alone."""

from keras.src import backend
from keras.src.random.seed_generator import (  # noqa: F401
    SeedGenerator,
    draw_seed,
    make_default_seed,
)

import gyre
from gyre._keras.backend.tensors import cast, convert_to_tensor, shape


def _seed(seed):
    return gyre.cast(draw_seed(seed), "int32")


def _type(dtype):
    return backend.standardize_dtype(dtype or backend.floatx())


def normal(shape, mean=0.0, stddev=1.0, dtype=None, seed=None):
    dtype = _type(dtype)
    return gyre.random.stateless_normal(
        shape, _seed(seed), cast(mean, dtype), cast(stddev, dtype), dtype
    )


def uniform(shape, minval=0.0, maxval=1.0, dtype=None, seed=None):
    dtype = _type(dtype)
    return gyre.random.stateless_uniform(
        shape, _seed(seed), cast(minval, dtype), cast(maxval, dtype), dtype
    )


def categorical(logits, num_samples, dtype="int64", seed=None):
    dtype = backend.standardize_dtype(dtype)
    inner = dtype if dtype in ("int32", "int64") else "int32"
    found = gyre.random.stateless_categorical(
        convert_to_tensor(logits), num_samples, _seed(seed), dtype=inner
    )
    return gyre.cast(found, dtype)


def randint(shape, minval, maxval, dtype="int32", seed=None):
    dtype = backend.standardize_dtype(dtype)
    inner = dtype if dtype in ("int32", "int64") else "int32"
    found = gyre.random.stateless_uniform(
        shape, _seed(seed), cast(minval, inner), cast(maxval, inner), inner
    )
    return gyre.cast(found, dtype)


def truncated_normal(shape, mean=0.0, stddev=1.0, dtype=None, seed=None):
    dtype = _type(dtype)
    return gyre.random.stateless_truncated_normal(
        shape, _seed(seed), cast(mean, dtype), cast(stddev, dtype), dtype
    )


def dropout(inputs, rate, noise_shape=None, seed=None):
    inputs = convert_to_tensor(inputs)
    if rate <= 0:
        return inputs
    if rate >= 1:
        return gyre.zeros_like(inputs)
    sizes = shape(inputs)
    if noise_shape is not None:
        if len(noise_shape) != len(sizes):
            raise ValueError(
                "Argument `noise_shape` must have the same length as the shape of `inputs`. "
                f"Received: noise_shape={noise_shape}, inputs.shape={inputs.shape}"
            )
        sizes = [own if one is None else one for own, one in zip(sizes, noise_shape, strict=True)]
    draws = gyre.random.stateless_uniform(sizes, _seed(seed), dtype=inputs.dtype)
    kept = draws >= convert_to_tensor(rate, inputs.dtype)
    scaled = inputs * convert_to_tensor(1 / (1 - rate), inputs.dtype)
    return gyre.where(kept, scaled, gyre.zeros_like(inputs))


def shuffle(x, axis=0, seed=None):
    x = convert_to_tensor(x)
    order = gyre.argsort(
        gyre.random.stateless_uniform([shape(x)[axis]], _seed(seed), dtype="float64")
    )
    return gyre.gather(x, order, axis=axis)


def gamma(shape, alpha, dtype=None, seed=None):
    dtype = _type(dtype)
    alpha = gyre.broadcast_to(cast(alpha, dtype), shape)
    return gyre.random.stateless_gamma(shape, _seed(seed), alpha=alpha, dtype=dtype)


def binomial(shape, counts, probabilities, dtype=None, seed=None):
    dtype = _type(dtype)
    return gyre.random.stateless_binomial(
        shape, _seed(seed), cast(counts, dtype), cast(probabilities, dtype), output_dtype=dtype
    )


def beta(shape, alpha, beta, dtype=None, seed=None):
    """One of two gamma draws, as a share of their sum. The draws must not be the same ones."""
    dtype = _type(dtype)
    first = _seed(seed)
    second = first + 12
    one = gyre.random.stateless_gamma(
        shape, first, alpha=gyre.broadcast_to(cast(alpha, dtype), shape), dtype=dtype
    )
    other = gyre.random.stateless_gamma(
        shape, second, alpha=gyre.broadcast_to(cast(beta, dtype), shape), dtype=dtype
    )
    return one / (one + other)

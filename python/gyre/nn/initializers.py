"""Initializers: from a shape (and a dtype) to the first value of a variable."""

import math

from gyre import _gyre
from gyre._impl import random
from gyre._impl.convert import call
from gyre._impl.dtypes import DTypeLike
from gyre._impl.ops import create


class Initializer:
    """`initializer(shape, dtype)` is a tensor."""

    def __call__(self, shape, dtype: DTypeLike = "float32"):
        raise NotImplementedError


class Zeros(Initializer):
    """Zeros."""

    def __call__(self, shape, dtype: DTypeLike = "float32"):
        return create.zeros(shape, dtype)


class Ones(Initializer):
    """Ones."""

    def __call__(self, shape, dtype: DTypeLike = "float32"):
        return create.ones(shape, dtype)


class Constant(Initializer):
    """One number everywhere."""

    def __init__(self, value=0):
        self._value = value

    def __call__(self, shape, dtype: DTypeLike = "float32"):
        return create.fill(shape, _gyre.convert(self._value, _gyre.as_dtype(dtype)))


class _Random(Initializer):
    """What draws numbers: a seed makes it the same each time."""

    def __init__(self, seed: int | None = None):
        self._seed = seed

    def _normal(self, shape, dtype):
        if self._seed is None:
            return random.normal(shape, dtype=dtype)
        return random.stateless_normal(shape, [self._seed, 0], dtype=dtype)

    def _truncated(self, shape, dtype):
        if self._seed is None:
            return random.truncated_normal(shape, dtype=dtype)
        return random.stateless_truncated_normal(shape, [self._seed, 0], dtype=dtype)

    def _uniform(self, shape, low, high, dtype):
        if self._seed is None:
            return random.uniform(shape, low, high, dtype)
        return random.stateless_uniform(shape, [self._seed, 0], low, high, dtype)


class RandomNormal(_Random):
    """Normally distributed."""

    def __init__(self, mean=0.0, stddev=0.05, seed=None):
        super().__init__(seed)
        self._mean, self._stddev = mean, stddev

    def __call__(self, shape, dtype: DTypeLike = "float32"):
        return self._normal(shape, dtype) * self._stddev + self._mean


class TruncatedNormal(RandomNormal):
    """Normally distributed, within two standard deviations of the mean."""

    def __call__(self, shape, dtype: DTypeLike = "float32"):
        return self._truncated(shape, dtype) * self._stddev + self._mean


class RandomUniform(_Random):
    """Evenly distributed."""

    def __init__(self, minval=-0.05, maxval=0.05, seed=None):
        super().__init__(seed)
        self._minval, self._maxval = minval, maxval

    def __call__(self, shape, dtype: DTypeLike = "float32"):
        return self._uniform(shape, self._minval, self._maxval, dtype)


def fans(shape) -> tuple[int, int]:
    """How many inputs and outputs a unit has: the last two sizes, times those before."""
    shape = list(shape)
    if len(shape) < 2:
        return (shape[0], shape[0]) if shape else (1, 1)
    field = math.prod(shape[:-2])
    return shape[-2] * field, shape[-1] * field


class VarianceScaling(_Random):
    """Of variance scale / n, n being the number of a unit's inputs ("fan_in"), outputs ("fan_out")
    or their mean ("fan_avg"); distribution "uniform", "truncated_normal" or "untruncated_normal".

    Sources: Glorot and Bengio, Understanding the difficulty of training deep feedforward networks
    (2010); He et al., Delving deep into rectifiers (2015).
    """

    # Of a normal distribution cut at two standard deviations.
    _TRUNCATED_STDDEV = 0.87962566103423978

    def __init__(self, scale=1.0, mode="fan_in", distribution="truncated_normal", seed=None):
        super().__init__(seed)
        if scale <= 0 or mode not in ("fan_in", "fan_out", "fan_avg"):
            raise ValueError(f"VarianceScaling: scale {scale}, mode {mode!r}.")
        self._scale, self._mode, self._distribution = scale, mode, distribution

    def __call__(self, shape, dtype: DTypeLike = "float32"):
        inputs, outputs = fans(shape)
        count = {"fan_in": inputs, "fan_out": outputs, "fan_avg": (inputs + outputs) / 2}[
            self._mode
        ]
        variance = self._scale / max(1.0, count)
        if self._distribution == "uniform":
            limit = math.sqrt(3 * variance)
            return self._uniform(shape, -limit, limit, dtype)
        if self._distribution == "untruncated_normal":
            return self._normal(shape, dtype) * math.sqrt(variance)
        return self._truncated(shape, dtype) * (math.sqrt(variance) / self._TRUNCATED_STDDEV)


class GlorotUniform(VarianceScaling):
    """Evenly distributed in ±√(6 / (inputs + outputs))."""

    def __init__(self, seed=None):
        super().__init__(1.0, "fan_avg", "uniform", seed)


class GlorotNormal(VarianceScaling):
    """Truncated normal of variance 2 / (inputs + outputs)."""

    def __init__(self, seed=None):
        super().__init__(1.0, "fan_avg", "truncated_normal", seed)


class HeUniform(VarianceScaling):
    """Evenly distributed in ±√(6 / inputs)."""

    def __init__(self, seed=None):
        super().__init__(2.0, "fan_in", "uniform", seed)


class HeNormal(VarianceScaling):
    """Truncated normal of variance 2 / inputs."""

    def __init__(self, seed=None):
        super().__init__(2.0, "fan_in", "truncated_normal", seed)


class Orthogonal(_Random):
    """A matrix with orthonormal rows or columns, whichever are fewer, times `gain`.

    The last dimension of the shape against all others. The factor Q of a normally distributed
    matrix, with the signs of R's diagonal (Mezzadri, How to generate random matrices from the
    classical compact groups, 2007); computed by numpy.
    """

    def __init__(self, gain=1.0, seed=None):
        super().__init__(seed)
        self._gain = gain

    def __call__(self, shape, dtype: DTypeLike = "float32"):
        shape = list(shape)
        if len(shape) < 2:
            raise ValueError(f"Orthogonal needs at least two dimensions, got {shape}.")
        rows, columns = math.prod(shape[:-1]), shape[-1]
        size = [max(rows, columns), min(rows, columns)]
        q = _orthonormal(self._normal(size, "float64").numpy())
        q = q.T if rows < columns else q
        matrix = _gyre.tensor(self._gain * q.reshape(shape))
        return call("Cast", matrix, DstT=_gyre.as_dtype(dtype))


def _orthonormal(columns):
    """Gram and Schmidt's, modified. (LAPACK's threads can take seconds over this.)"""
    columns = columns.copy()
    for k in range(columns.shape[1]):
        unit = columns[:, k]
        unit /= (unit * unit).sum() ** 0.5
        rest = columns[:, k + 1 :]
        rest -= unit[:, None] * (unit[:, None] * rest).sum(0)
    return columns


_BY_NAME = {
    "zeros": Zeros,
    "ones": Ones,
    "glorot_uniform": GlorotUniform,
    "glorot_normal": GlorotNormal,
    "he_uniform": HeUniform,
    "he_normal": HeNormal,
    "orthogonal": Orthogonal,
    "random_normal": RandomNormal,
    "random_uniform": RandomUniform,
    "truncated_normal": TruncatedNormal,
}


def get(initializer):
    """An initializer, by name or as it is: any function of (shape, dtype)."""
    if callable(initializer):
        return initializer() if isinstance(initializer, type) else initializer
    if initializer not in _BY_NAME:
        raise ValueError(
            f"No initializer {initializer!r}; there are {', '.join(sorted(_BY_NAME))}."
        )
    return _BY_NAME[initializer]()

"""Initializers: from a shape (and a dtype) to the first value of a variable."""

import math

from gyre import _gyre
from gyre._impl import random
from gyre._impl.convert import call
from gyre._impl.dtypes import DTypeLike
from gyre._impl.ops import table


class Initializer:
    """`initializer(shape, dtype)` is a tensor."""

    def __call__(self, shape, dtype: DTypeLike = "float32"):
        raise NotImplementedError


class Zeros(Initializer):
    """Zeros."""

    def __call__(self, shape, dtype: DTypeLike = "float32"):
        return table.zeros(shape, dtype)


class Ones(Initializer):
    """Ones."""

    def __call__(self, shape, dtype: DTypeLike = "float32"):
        return table.ones(shape, dtype)


class Constant(Initializer):
    """One number everywhere."""

    def __init__(self, value=0):
        self._value = value

    def __call__(self, shape, dtype: DTypeLike = "float32"):
        return table.fill(shape, _gyre.convert(self._value, _gyre.as_dtype(dtype)))


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


class VarianceScaling(_Random):
    """Of variance scale / n, n being the number of a unit's inputs ("fan_in"), outputs ("fan_out")
    or their mean ("fan_avg"); distribution "uniform", "truncated_normal" or "untruncated_normal".

    Sources: Glorot and Bengio, Understanding the difficulty of training deep feedforward networks
    (2010); He et al., Delving deep into rectifiers (2015).
    """

    def __init__(self, scale=1.0, mode="fan_in", distribution="truncated_normal", seed=None):
        super().__init__(seed)
        _gyre.variance_spread(scale, mode, distribution, [])  # refuses what cannot be
        self._scale, self._mode, self._distribution = scale, mode, distribution

    def __call__(self, shape, dtype: DTypeLike = "float32"):
        return table.variance_scaling(
            shape, self._scale, self._mode, self._distribution, dtype, self._seed
        )


def _registered(name: str):
    """A function of (shape, dtype, seed) as a class of initializers."""
    function = getattr(table, name)

    class Made(_Random):
        def __call__(self, shape, dtype: DTypeLike = "float32"):
            return function(shape, dtype, self._seed)

    Made.__name__ = Made.__qualname__ = "".join(word.title() for word in name.split("_"))
    Made.__doc__ = function.__doc__
    return Made


GlorotUniform = _registered("glorot_uniform")
GlorotNormal = _registered("glorot_normal")
HeUniform = _registered("he_uniform")
HeNormal = _registered("he_normal")


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

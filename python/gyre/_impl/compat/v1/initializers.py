"""Initializers of TensorFlow 1: objects that make the first value of a variable of a shape."""

import math
from typing import Any

import numpy as np

from gyre import _gyre
from gyre._impl.compat.v1 import random
from gyre._impl.dtypes import DTypeLike
from gyre._impl.graphs.constant import constant, ones, zeros
from gyre._impl.shape import TensorShape


class Initializer:
    """`initializer(shape, dtype)` is a tensor."""

    def __init__(self, dtype: DTypeLike = "float32"):
        self.dtype = _gyre.as_dtype(dtype)

    def __call__(self, shape, dtype=None, partition_info=None):
        del partition_info
        dims = TensorShape(shape)._dims
        return self._make(dims, self.dtype if dtype is None else _gyre.as_dtype(dtype))

    def _make(self, dims, dtype):
        raise NotImplementedError

    def get_config(self) -> dict:
        """Its arguments, by name."""
        return {k.lstrip("_"): v for k, v in vars(self).items()}

    @classmethod
    def from_config(cls, config: dict) -> "Initializer":
        """The initializer that get_config describes."""
        return cls(**config)


class zeros_initializer(Initializer):
    """Zeros."""

    def _make(self, dims, dtype):
        return zeros(dims, dtype)


class ones_initializer(Initializer):
    """Ones."""

    def _make(self, dims, dtype):
        return ones(dims, dtype)


class constant_initializer(Initializer):
    """A number everywhere, or a list or array of values in order. verify_shape: values of another
    shape are a TypeError."""

    def __init__(self, value: Any = 0, dtype: DTypeLike = "float32", verify_shape=False):
        super().__init__(dtype)
        self._value, self._verify_shape = value, verify_shape
        if not (np.isscalar(value) or isinstance(value, (list, tuple, np.ndarray))):
            raise TypeError(
                f"Invalid type for initial value: {type(value).__name__}. Expected Python scalar, "
                f"list or tuple of values, or numpy.ndarray."
            )

    def _make(self, dims, dtype):
        return constant(self._value, dtype, dims, verify_shape=self._verify_shape)


class random_normal_initializer(Initializer):
    """Normally distributed numbers."""

    _draw = staticmethod(random.random_normal)

    def __init__(self, mean=0.0, stddev=1.0, seed=None, dtype: DTypeLike = "float32"):
        super().__init__(dtype)
        self._mean, self._stddev, self._seed = mean, stddev, seed

    def _make(self, dims, dtype):
        return self._draw(dims, self._mean, self._stddev, dtype, self._seed)


class truncated_normal_initializer(random_normal_initializer):
    """Normally distributed numbers within two standard deviations of the mean."""

    _draw = staticmethod(random.truncated_normal)


class random_uniform_initializer(Initializer):
    """Evenly distributed numbers of [minval, maxval)."""

    def __init__(self, minval=0.0, maxval=None, seed=None, dtype: DTypeLike = "float32"):
        super().__init__(dtype)
        self._minval, self._maxval, self._seed = minval, maxval, seed

    def _make(self, dims, dtype):
        return random.random_uniform(dims, self._minval, self._maxval, dtype, self._seed)


class variance_scaling_initializer(Initializer):
    """Of variance scale / n, n being the number of a unit's inputs ("fan_in"), outputs ("fan_out")
    or their mean ("fan_avg"); distribution "uniform", "truncated_normal" ("normal") or
    "untruncated_normal".

    Sources: Glorot and Bengio (2010); He et al. (2015).
    """

    def __init__(
        self,
        scale=1.0,
        mode="fan_in",
        distribution="truncated_normal",
        seed=None,
        dtype: DTypeLike = "float32",
    ):
        super().__init__(dtype)
        distribution = (
            "truncated_normal" if distribution.lower() == "normal" else distribution.lower()
        )
        _gyre.variance_spread(scale, mode, distribution, [])  # refuses what cannot be
        self._scale, self._mode, self._distribution, self._seed = scale, mode, distribution, seed

    def _make(self, dims, dtype):
        spread = _gyre.variance_spread(self._scale, self._mode, self._distribution, dims)
        if self._distribution == "uniform":
            return random.random_uniform(dims, -spread, spread, dtype, self._seed)
        cut = self._distribution == "truncated_normal"
        draw = random.truncated_normal if cut else random.random_normal
        return draw(dims, 0.0, spread, dtype, self._seed)


class uniform_unit_scaling_initializer(Initializer):
    """Evenly distributed in ±√(3 / inputs) · factor: keeps the variance of what goes through."""

    def __init__(self, factor=1.0, seed=None, dtype: DTypeLike = "float32"):
        super().__init__(dtype)
        self._factor, self._seed = factor, seed

    def _make(self, dims, dtype):
        size = math.prod(dims[:-1]) or 1
        limit = math.sqrt(3 / max(1.0, size)) * self._factor
        return random.random_uniform(dims, -limit, limit, dtype, self._seed)


class glorot_uniform_initializer(variance_scaling_initializer):
    """Evenly distributed in ±√(6 / (inputs + outputs))."""

    def __init__(self, seed=None, dtype: DTypeLike = "float32"):
        super().__init__(1.0, "fan_avg", "uniform", seed, dtype)


class glorot_normal_initializer(variance_scaling_initializer):
    """Truncated normal of variance 2 / (inputs + outputs)."""

    def __init__(self, seed=None, dtype: DTypeLike = "float32"):
        super().__init__(1.0, "fan_avg", "truncated_normal", seed, dtype)


class identity_initializer(Initializer):
    """The identity matrix, times a number. ValueError for shapes of another rank than 2."""

    def __init__(self, gain=1.0, dtype: DTypeLike = "float32"):
        super().__init__(dtype)
        self._gain = gain

    def _make(self, dims, dtype):
        if len(dims) != 2:
            raise ValueError("Identity matrix initializer can only be used for 2D matrices.")
        return constant(self._gain * np.eye(*dims), dtype)


class orthogonal_initializer(Initializer):
    """A matrix with orthonormal rows or columns, whichever are fewer, times a number; the last
    dimension against all others. Drawn when the graph is built. ValueError for fewer than two
    dimensions."""

    def __init__(self, gain=1.0, seed=None, dtype: DTypeLike = "float32"):
        super().__init__(dtype)
        self._gain, self._seed = gain, seed

    def _make(self, dims, dtype):
        if len(dims) < 2:
            raise ValueError("The tensor to initialize must be at least two-dimensional")
        rows, columns = math.prod(dims[:-1]), dims[-1]
        drawn = np.random.RandomState(self._seed).normal(
            size=(max(rows, columns), min(rows, columns))
        )
        q, r = np.linalg.qr(drawn)
        q = q * np.sign(np.diag(r))
        q = q.T if rows < columns else q
        return constant(self._gain * q.reshape(dims), dtype)

"""Random numbers of distributions with parameters: an op's numbers, scaled."""

from __future__ import annotations

from gyre import _gyre
from gyre._gyre import Tensor
from gyre._impl.annotations import ShapeLike, TensorLike
from gyre._impl.convert import call, convert_to_tensor, dims_tensor, same_dtype, to_integer
from gyre._impl.dtypes import DTypeLike
from gyre._impl.ops.elementwise import cast
from gyre._impl.random import op_seed

# Types that the ops draw; others are cast from float32.
_DRAWN = ("float16", "float32", "float64")
_COUNTED = (*_DRAWN, "int32", "int64")


def _seed(seed) -> Tensor:
    return convert_to_tensor(seed, dtype_hint="int64")


def _parameters(dtype, alpha, beta):
    """Alpha, broadcast with beta, and beta, in a type that the ops draw."""
    kind = _gyre.as_dtype(dtype)
    drawn = kind if kind.name in _DRAWN else _gyre.as_dtype("float32")
    alpha = cast(convert_to_tensor(alpha, dtype_hint=kind), drawn)
    rate = call("OnesLike", alpha) if beta is None else convert_to_tensor(beta, dtype_hint=kind)
    rate = cast(rate, drawn)
    alpha = call("AddV2", alpha, call("ZerosLike", rate))
    return kind, alpha, rate


def _least(kind):
    return {"float16": 6.104e-5, "float64": 2.2250738585072014e-308}.get(kind.name, 1.1754944e-38)


def _over_rate(numbers, rate, kind, name):
    least = convert_to_tensor(_least(numbers.dtype), numbers.dtype)
    return cast(call("Maximum", least, call("RealDiv", numbers, rate)), kind, name)


def gamma(
    shape: ShapeLike,
    alpha: TensorLike,
    beta: TensorLike | None = None,
    dtype: DTypeLike = "float32",
    seed=None,
    name: str | None = None,
) -> Tensor:
    """Gamma distributed numbers of parameter alpha and rate beta (1): of shape + that of alpha and
    beta. Gradients flow to the parameters, by implicit differentiation.

    Source: Marsaglia and Tsang, A simple method for generating gamma variables (2000).
    """
    kind, alpha, rate = _parameters(dtype, alpha, beta)
    numbers = call("RandomGamma", dims_tensor(shape), alpha, seed=op_seed(seed))
    return _over_rate(numbers, rate, kind, name)


def stateless_gamma(
    shape: ShapeLike,
    seed,
    alpha: TensorLike,
    beta: TensorLike | None = None,
    dtype: DTypeLike = "float32",
    name: str | None = None,
) -> Tensor:
    """As gamma, determined by a seed (two integers), and of this shape, which ends with that of the
    parameters."""
    kind, alpha, rate = _parameters(dtype, alpha, beta)
    numbers = call("StatelessRandomGammaV2", dims_tensor(shape), _seed(seed), alpha)
    return _over_rate(numbers, rate, kind, name)


def _counted(dtype):
    """The type asked for, and that in which numbers are drawn."""
    kind = _gyre.as_dtype(dtype)
    return kind, kind if kind.name in _COUNTED else _gyre.as_dtype("float32")


def _rate(lam):
    lam = convert_to_tensor(lam, dtype_hint="float32")
    return lam if lam.dtype.name in _COUNTED else cast(lam, "float32")


def poisson(
    shape: ShapeLike,
    lam: TensorLike,
    dtype: DTypeLike = "float32",
    seed=None,
    name: str | None = None,
) -> Tensor:
    """Poisson distributed numbers of mean lam: of shape + lam.shape."""
    kind, drawn = _counted(dtype)
    numbers = call(
        "RandomPoissonV2", dims_tensor(shape), _rate(lam), dtype=drawn, seed=op_seed(seed)
    )
    return cast(numbers, kind, name)


def stateless_poisson(
    shape: ShapeLike, seed, lam: TensorLike, dtype: DTypeLike = "int32", name: str | None = None
) -> Tensor:
    """As poisson, determined by a seed (two integers), and of this shape, which ends with that of
    lam."""
    kind, drawn = _counted(dtype)
    numbers = call(
        "StatelessRandomPoisson", dims_tensor(shape), _seed(seed), _rate(lam), dtype=drawn
    )
    return cast(numbers, kind, name)


def stateless_binomial(
    shape: ShapeLike,
    seed,
    counts: TensorLike,
    probs: TensorLike,
    output_dtype: DTypeLike = "int32",
    name: str | None = None,
) -> Tensor:
    """How many of `counts` trials succeed, each with probability `probs`: of this shape, which ends
    with that to which both are broadcast, determined by a seed (two integers)."""
    kind, drawn = _counted(output_dtype)
    probs = convert_to_tensor(probs, dtype_hint="float32")
    if probs.dtype.name not in _COUNTED:
        probs = cast(probs, "float32")
    numbers = call(
        "StatelessRandomBinomial",
        dims_tensor(shape),
        _seed(seed),
        cast(counts, probs.dtype),
        probs,
        dtype=drawn,
    )
    return cast(numbers, kind, name)


def stateless_categorical(
    logits: TensorLike,
    num_samples: TensorLike,
    seed,
    dtype: DTypeLike = "int64",
    name: str | None = None,
) -> Tensor:
    """[batch, num_samples] classes, drawn with probability softmax(logits), [batch, classes];
    determined by a seed (two integers)."""
    kind = _gyre.as_dtype(dtype)
    drawn = kind if kind.name == "int32" else _gyre.as_dtype("int64")
    classes = call(
        "StatelessMultinomial",
        convert_to_tensor(logits),
        to_integer(num_samples, "num_samples"),
        _seed(seed),
        output_dtype=drawn,
    )
    return cast(classes, kind, name)


def stateless_parameterized_truncated_normal(
    shape: ShapeLike,
    seed,
    means: TensorLike = 0.0,
    stddevs: TensorLike = 1.0,
    minvals: TensorLike = -2.0,
    maxvals: TensorLike = 2.0,
    name: str | None = None,
) -> Tensor:
    """Normally distributed numbers between bounds, determined by a seed (two integers); the shape
    ends with that of the parameters, broadcast together.

    Source: Robert, Simulation of truncated normal variables (1995).
    """
    parameters = same_dtype([means, stddevs, minvals, maxvals])
    return call(
        "StatelessParameterizedTruncatedNormal",
        dims_tensor(shape),
        _seed(seed),
        *parameters,
        name=name,
    )

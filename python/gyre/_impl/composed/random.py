"""Random numbers that are drawn again until they fit, in a loop of the program."""

from __future__ import annotations

from gyre import _gyre
from gyre._gyre import Tensor
from gyre._impl import random
from gyre._impl.annotations import ShapeLike, TensorLike
from gyre._impl.control_flow.while_loop import while_loop
from gyre._impl.convert import call, convert_to_tensor, dims_tensor
from gyre._impl.dtypes import DTypeLike
from gyre._impl.ops.elementwise import cast


def _loop(test, body, values):
    return while_loop(test, body, values)


def gamma(
    shape: ShapeLike,
    alpha: TensorLike,
    beta: TensorLike | None = None,
    dtype: DTypeLike = "float32",
    seed=None,
    name: str | None = None,
) -> Tensor:
    """Gamma distributed numbers of parameter alpha and rate beta (1): of shape + that of alpha and
    beta. No gradient flows to the parameters.

    Source: Marsaglia and Tsang, A simple method for generating gamma variables (2000); below 1 the
    number for alpha + 1 is multiplied by u^(1 / alpha).
    """
    kind = _gyre.as_dtype(dtype)
    alpha = convert_to_tensor(alpha, dtype_hint=kind)
    rate = call("OnesLike", alpha) if beta is None else convert_to_tensor(beta, dtype_hint=kind)
    each = call("Shape", call("AddV2", alpha, rate))
    whole = call("ConcatV2", [dims_tensor(shape), each], 0)
    alpha, rate = (call("StopGradient", call("BroadcastTo", p, whole)) for p in (alpha, rate))
    small = call("Less", alpha, 1.0)
    d = call("Sub", call("SelectV2", small, call("AddV2", alpha, 1.0), alpha), 1.0 / 3.0)
    c = call("Rsqrt", call("Mul", d, 9.0))

    def unfinished(done, result):
        del result
        return call("LogicalNot", call("All", done, call("Range", 0, call("Rank", done), 1)))

    def draw(done, result):
        x = random.normal(whole, dtype=kind, seed=seed)
        grown = call("AddV2", call("Mul", c, x), 1.0)
        v = call("Mul", grown, call("Square", grown))
        positive = call("Greater", v, 0.0)
        log_v = call("Log", call("SelectV2", positive, v, call("OnesLike", v)))
        most = call(
            "AddV2",
            call("Mul", call("Square", x), 0.5),
            call("Mul", d, call("AddV2", call("Sub", 1.0, v), log_v)),
        )
        log_u = call("Log", random.uniform(whole, 1e-30, 1.0, kind, seed))
        fits = call("LogicalAnd", positive, call("Less", log_u, most))
        found = call(
            "SelectV2",
            call("LogicalAnd", fits, call("LogicalNot", done)),
            call("Mul", d, v),
            result,
        )
        return call("LogicalOr", done, fits), found

    start = call("ZerosLike", alpha)
    _, result = _loop(unfinished, draw, (call("Less", start, start), start))
    u = random.uniform(whole, 1e-30, 1.0, kind, seed)
    shrunk = call("Mul", result, call("Pow", u, call("Reciprocal", alpha)))
    return call("RealDiv", call("SelectV2", small, shrunk, result), rate, name=name)


def poisson(
    shape: ShapeLike,
    lam: TensorLike,
    dtype: DTypeLike = "float32",
    seed=None,
    name: str | None = None,
) -> Tensor:
    """Poisson distributed numbers of mean lam: of shape + lam.shape.

    The number of arrivals, at exponentially distributed distances, before time lam: about as many
    turns of a loop as the largest number drawn.
    """
    double = _gyre.as_dtype("float64")
    lam = cast(convert_to_tensor(lam, dtype_hint="float32"), double)
    whole = call("ConcatV2", [dims_tensor(shape), call("Shape", lam)], 0)
    lam = call("StopGradient", call("BroadcastTo", lam, whole))

    def unfinished(time, count):
        del count
        early = call("LessEqual", time, lam)
        return call("Any", early, call("Range", 0, call("Rank", early), 1))

    def arrive(time, count):
        count = call("AddV2", count, cast(call("LessEqual", time, lam), double))
        return call("AddV2", time, _distance(whole, seed)), count

    _, count = _loop(unfinished, arrive, (_distance(whole, seed), call("ZerosLike", lam)))
    return cast(count, dtype, name)


def _distance(shape, seed):
    """Exponentially distributed numbers of mean 1."""
    u = random.uniform(shape, dtype="float64", seed=seed)
    return call("Neg", call("Log1p", call("Neg", u)))

"""Random numbers of graphs. The seeds of an op are made of the graph's and its own: a program with
seeds draws the same numbers each time it runs, but not those that TensorFlow draws."""

from __future__ import annotations

from gyre import _gyre
from gyre._gyre import Tensor
from gyre._impl.annotations import ShapeLike, TensorLike
from gyre._impl.composed.random import gamma, poisson
from gyre._impl.convert import call, convert_to_tensor, dims_tensor
from gyre._impl.dtypes import DTypeLike
from gyre._impl.graphs.graph import current, get_default_graph, has_default_graph
from gyre._impl.random import categorical

_DEFAULT_GRAPH_SEED = 87654321
_LARGEST = 2**31 - 1


def set_random_seed(seed) -> None:
    """The seed of the default graph: random ops made from now on depend on it, and are the same
    each time the program runs. In eager execution: that of the process."""
    if not has_default_graph():
        _gyre.set_seed(seed)
    else:
        get_default_graph().seed = seed


def get_seed(op_seed) -> tuple[int | None, int | None]:
    """The two seeds of an op that asks for `op_seed` (None: for none);
    (None, None): unforeseeable."""
    graph = get_default_graph()
    if graph.seed is None:
        seeds = (None, None) if op_seed is None else (_DEFAULT_GRAPH_SEED, op_seed % _LARGEST)
    else:
        seeds = graph.seed % _LARGEST, (graph.version if op_seed is None else op_seed) % _LARGEST
    return (0, _LARGEST) if seeds == (0, 0) else seeds


def _draw(op: str, inputs, seed, name=None, **attrs):
    first, second = get_seed(seed) if has_default_graph() else (seed, None)
    return call(op, *inputs, name=name, seed=first or 0, seed2=second or 0, **attrs)


class _Scope:
    """The name scope that a random function's nodes stand in; its own name is that of the last."""

    def __init__(self, name: str):
        self._scope = current().name_scope(name) if has_default_graph() else None
        self.last = None

    def __enter__(self):
        self.last = self._scope.__enter__() if self._scope else None
        return self

    def __exit__(self, *error):
        if self._scope:
            self._scope.__exit__(*error)


def random_normal(
    shape: ShapeLike,
    mean: TensorLike = 0.0,
    stddev: TensorLike = 1.0,
    dtype: DTypeLike = "float32",
    seed=None,
    name: str | None = None,
) -> Tensor:
    """Normally distributed numbers of a shape."""
    dtype = _gyre.as_dtype(dtype)
    with _Scope(name or "random_normal") as scope:
        drawn = _draw("RandomStandardNormal", [dims_tensor(shape)], seed, dtype=dtype)
        return call("AddV2", call("Mul", drawn, stddev, name="mul"), mean, name=scope.last)


def truncated_normal(
    shape: ShapeLike,
    mean: TensorLike = 0.0,
    stddev: TensorLike = 1.0,
    dtype: DTypeLike = "float32",
    seed=None,
    name: str | None = None,
) -> Tensor:
    """Normally distributed numbers, drawn again where more than two stddev from the mean."""
    dtype = _gyre.as_dtype(dtype)
    with _Scope(name or "truncated_normal") as scope:
        drawn = _draw("TruncatedNormal", [dims_tensor(shape)], seed, dtype=dtype)
        return call("AddV2", call("Mul", drawn, stddev, name="mul"), mean, name=scope.last)


def random_uniform(
    shape: ShapeLike,
    minval: float | _gyre.Tensor = 0,
    maxval=None,
    dtype: DTypeLike = "float32",
    seed=None,
    name: str | None = None,
) -> Tensor:
    """Evenly distributed numbers of [minval, maxval); integers need maxval (ValueError)."""
    dtype = _gyre.as_dtype(dtype)
    if maxval is None:
        if dtype.is_integer:
            raise ValueError(f"Must specify maxval for integer dtype {dtype.name}")
        maxval = 1
    with _Scope(name or "random_uniform") as scope:
        if dtype.is_integer:
            low, high = (convert_to_tensor(v, dtype) for v in (minval, maxval))
            return _draw("RandomUniformInt", [dims_tensor(shape), low, high], seed, name=scope.last)
        if _is_number(minval, 0) and _is_number(maxval, 1):
            return _draw("RandomUniform", [dims_tensor(shape)], seed, dtype=dtype)
        drawn = _draw("RandomUniform", [dims_tensor(shape)], seed, dtype=dtype)
        low, high = (convert_to_tensor(v, dtype) for v in (minval, maxval))
        span = call("Sub", high, low, name="sub")
        return call("AddV2", call("Mul", drawn, span, name="mul"), low, name=scope.last)


def _is_number(value, wanted) -> bool:
    return isinstance(value, (int, float)) and value == wanted


def random_shuffle(value: TensorLike, seed=None, name: str | None = None) -> Tensor:
    """The rows of a tensor in random order."""
    return _draw("RandomShuffle", [convert_to_tensor(value)], seed, name=name)


def random_poisson(
    lam: TensorLike,
    shape: ShapeLike,
    dtype: DTypeLike = "float32",
    seed=None,
    name: str | None = None,
) -> Tensor:
    """Poisson distributed numbers of mean lam: of shape + that of lam."""
    return poisson(shape, lam, dtype, _one_seed(seed), name)


def random_gamma(
    shape: ShapeLike,
    alpha: TensorLike,
    beta: TensorLike | None = None,
    dtype: DTypeLike = "float32",
    seed=None,
    name: str | None = None,
) -> Tensor:
    """Gamma distributed numbers of parameter alpha and rate beta (1): of shape + that of alpha and
    beta."""
    return gamma(shape, alpha, beta, dtype, _one_seed(seed), name)


def _one_seed(seed):
    return get_seed(seed)[0] if has_default_graph() else seed


def multinomial(
    logits: TensorLike,
    num_samples: TensorLike,
    seed=None,
    name: str | None = None,
    output_dtype: DTypeLike = "int64",
) -> Tensor:
    """[batch, num_samples] classes, drawn with probability softmax(logits), [batch, classes]."""
    return categorical(logits, num_samples, output_dtype or "int64", _one_seed(seed), name)

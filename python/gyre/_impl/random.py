"""Random numbers: new ones each time (normal, …), or determined by a seed (stateless_*)."""

from __future__ import annotations

import operator

from gyre import _gyre
from gyre._gyre import Tensor
from gyre._impl.annotations import ShapeLike, TensorLike
from gyre._impl.convert import call, calls, convert_to_tensor, dims_tensor, same_dtype, to_integer
from gyre._impl.dtypes import DTypeLike
from gyre._impl.ops.elementwise import cast
from gyre._impl.unsupported import refuse

# What stands for a seed of 0, which tells the engine that there is none.
_INSTEAD_OF_ZERO = 2**31 - 1


def set_seed(seed) -> None:
    """The seed of random ops that have none of their own, whose numbers start anew: from now on
    they are the same each time the program runs. None: others each time."""
    if seed is not None and (isinstance(seed, bool) or not hasattr(seed, "__index__")):
        raise TypeError(f"set_seed needs a whole number, not {seed!r}")
    _gyre.set_seed(0 if seed is None else operator.index(seed) % 2**63 or _INSTEAD_OF_ZERO)


def op_seed(seed) -> int:
    """The attribute of an op for the seed that a program gives it."""
    return 0 if seed is None else int(seed) or _INSTEAD_OF_ZERO


def scaled_normal(numbers, mean, stddev, name):
    """Numbers of mean 0 and deviation 1 as those of others."""
    if isinstance(mean, (int, float)) and isinstance(stddev, (int, float)):
        if stddev != 1:
            numbers = call("Mul", numbers, stddev)
        return numbers if mean == 0 else call("AddV2", numbers, mean, name=name)
    return call("AddV2", call("Mul", numbers, stddev), mean, name=name)


def normal(
    shape: ShapeLike,
    mean: TensorLike = 0.0,
    stddev: TensorLike = 1.0,
    dtype: DTypeLike = "float32",
    seed=None,
    name: str | None = None,
) -> Tensor:
    """Normally distributed numbers of a shape; mean and stddev broadcast."""
    return _normal("RandomStandardNormal", shape, mean, stddev, dtype, seed, name)


def truncated_normal(
    shape: ShapeLike,
    mean: TensorLike = 0.0,
    stddev: TensorLike = 1.0,
    dtype: DTypeLike = "float32",
    seed=None,
    name: str | None = None,
) -> Tensor:
    """Normally distributed numbers, drawn again where more than two stddev from the mean."""
    return _normal("TruncatedNormal", shape, mean, stddev, dtype, seed, name)


def _normal(op: str, shape, mean, stddev, dtype, seed, name) -> Tensor:
    kind, number = _gyre.as_dtype(dtype), op_seed(seed)
    numbers = call(op, dims_tensor(shape), dtype=kind, seed=number, name=name)
    return scaled_normal(numbers, mean, stddev, name)


def scaled_uniform(numbers, minval, maxval, name):
    """Numbers of [0, 1) as numbers of [minval, maxval); maxval = None: 1."""
    maxval = 1 if maxval is None else maxval
    if isinstance(minval, (int, float)) and isinstance(maxval, (int, float)):
        if maxval != 1 or minval != 0:
            numbers = call("Mul", numbers, maxval - minval)
        return numbers if minval == 0 else call("AddV2", numbers, minval, name=name)
    low, high = (cast(v, numbers.dtype) for v in same_dtype([minval, maxval], None))
    return call("AddV2", call("Mul", numbers, call("Sub", high, low)), low, name=name)


def scaled_integers(minval, maxval, kind) -> list[Tensor]:
    """Bounds of integers as tensors; none where both are None: all of the type."""
    if (minval is None) != (maxval is None):
        raise ValueError(
            f"minval and maxval must be both None or both given for integers of {kind.name}, got "
            f"{minval} and {maxval}."
        )
    return [] if minval is None else same_dtype([minval, maxval], kind)


def uniform(
    shape: ShapeLike,
    minval: float | _gyre.Tensor = 0,
    maxval=None,
    dtype: DTypeLike = "float32",
    seed=None,
    name: str | None = None,
) -> Tensor:
    """Evenly distributed numbers of [minval, maxval). maxval is 1 for floating types, and must be
    given for integers (ValueError)."""
    kind = _gyre.as_dtype(dtype)
    if kind.is_integer:
        if maxval is None:
            raise ValueError(f"uniform of {kind.name} needs maxval.")
        low, high = same_dtype([minval, maxval], kind)
        return call(
            "RandomUniformInt", dims_tensor(shape), low, high, seed=op_seed(seed), name=name
        )
    numbers = call("RandomUniform", dims_tensor(shape), dtype=kind, seed=op_seed(seed), name=name)
    return scaled_uniform(numbers, minval, maxval, name)


def shuffle(value: TensorLike, seed=None, name: str | None = None) -> Tensor:
    """The rows of a tensor in random order."""
    return call("RandomShuffle", convert_to_tensor(value), seed=op_seed(seed), name=name)


def categorical(
    logits: TensorLike,
    num_samples: TensorLike,
    dtype: DTypeLike = "int64",
    seed=None,
    name: str | None = None,
) -> Tensor:
    """[batch, num_samples] classes, drawn with probability softmax(logits), [batch, classes]."""
    kind = _gyre.as_dtype(dtype)
    drawn = kind if kind.name == "int32" else _gyre.as_dtype("int64")
    classes = call(
        "Multinomial",
        convert_to_tensor(logits),
        to_integer(num_samples, "num_samples"),
        seed=op_seed(seed),
        output_dtype=drawn,
    )
    return cast(classes, kind, name)


def _check(alg) -> None:
    """NotImplementedError for another generator than Philox, which gives other numbers."""
    name = getattr(alg, "name", alg)
    refuse(
        alg is not None and str(name).lower() not in ("philox", "auto_select", "1", "3"),
        f"alg={alg!r}",
        "numbers come from Philox: leave alg out",
    )


def _seed(seed):
    return convert_to_tensor(seed, dtype_hint="int64")


def stateless_normal(
    shape: ShapeLike,
    seed,
    mean: TensorLike = 0.0,
    stddev: TensorLike = 1.0,
    dtype: DTypeLike = "float32",
    name: str | None = None,
    alg=None,
) -> Tensor:
    """As normal, determined by a seed: two integers."""
    return _stateless_normal("StatelessRandomNormal", shape, seed, mean, stddev, dtype, name, alg)


def stateless_truncated_normal(
    shape: ShapeLike,
    seed,
    mean: TensorLike = 0.0,
    stddev: TensorLike = 1.0,
    dtype: DTypeLike = "float32",
    name: str | None = None,
    alg=None,
) -> Tensor:
    """As truncated_normal, determined by a seed: two integers."""
    op = "StatelessTruncatedNormal"
    return _stateless_normal(op, shape, seed, mean, stddev, dtype, name, alg)


def _stateless_normal(op: str, shape, seed, mean, stddev, dtype, name, alg) -> Tensor:
    _check(alg)
    kind = _gyre.as_dtype(dtype)
    numbers = call(op, dims_tensor(shape), _seed(seed), dtype=kind, name=name)
    return scaled_normal(numbers, mean, stddev, name)


def stateless_uniform(
    shape: ShapeLike,
    seed,
    minval: TensorLike | None = 0,
    maxval=None,
    dtype: DTypeLike = "float32",
    name: str | None = None,
    alg=None,
) -> Tensor:
    """As uniform, determined by a seed: two integers. Integers of all of their type where minval
    and maxval are None."""
    _check(alg)
    kind = _gyre.as_dtype(dtype)
    if kind.is_integer:
        bounds = scaled_integers(minval, maxval, kind)
        if not bounds:
            return _full_integers(shape, seed, kind, name)
        return call(
            "StatelessRandomUniformInt", dims_tensor(shape), _seed(seed), *bounds, name=name
        )
    numbers = call("StatelessRandomUniform", dims_tensor(shape), _seed(seed), dtype=kind, name=name)
    return scaled_uniform(numbers, minval, maxval, name)


def _full_integers(shape, seed, kind, name=None) -> Tensor:
    return call(
        "StatelessRandomUniformFullInt", dims_tensor(shape), _seed(seed), dtype=kind, name=name
    )


def split(seed, num: TensorLike = 2, alg=None) -> Tensor:
    """`num` new seeds of one: [num, 2] of its type."""
    _check(alg)
    seed = convert_to_tensor(seed)
    return _full_integers([num, 2], seed, seed.dtype)


def fold_in(seed, data: TensorLike, alg=None) -> Tensor:
    """A new seed of a seed and an integer, of whose type it is."""
    _check(alg)
    data = convert_to_tensor(data)
    return call("Pack", [_full_integers([], seed, data.dtype), data])


def stateless_shuffle(value: TensorLike, seed, alg=None, name: str | None = None) -> Tensor:
    """The rows of a tensor in an order that a seed determines."""
    _check(alg)
    key, counter, algorithm = calls("StatelessRandomGetKeyCounterAlg", _seed(seed))
    return call("StatelessShuffle", convert_to_tensor(value), key, counter, algorithm, name=name)

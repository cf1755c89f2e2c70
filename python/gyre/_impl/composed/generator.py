"""Generators of random numbers whose state is a variable."""

from __future__ import annotations

import enum

from gyre import _gyre
from gyre._gyre import Tensor
from gyre._impl.annotations import ShapeLike, TensorLike
from gyre._impl.convert import call, convert_to_tensor, dims_tensor, is_value
from gyre._impl.dtypes import DTypeLike
from gyre._impl.locks import reentrant_lock
from gyre._impl.ops.elementwise import cast
from gyre._impl.random import scaled_integers, scaled_normal, scaled_uniform
from gyre._impl.unsupported import refuse
from gyre._impl.variable import Variable

_WORDS = 3  # of the state: the counter's low and high half, the key
_COUNTER = 2


class Algorithm(enum.Enum):
    """Which generator: Philox, or whichever the device has, which is Philox."""

    PHILOX = 1
    THREEFRY = 2
    AUTO_SELECT = 3


def _algorithm(alg) -> int:
    """Its number. NotImplementedError for ThreeFry, which gives other numbers."""
    if alg is None:
        return Algorithm.PHILOX.value
    if isinstance(alg, str):
        name = alg.lower().replace("threefry", "three_fry")
        found = {"philox": 1, "three_fry": 2, "auto_select": 3}.get(name)
        if found is None:
            raise ValueError(f"alg is {alg!r}: 'philox' or 'auto_select' is wanted.")
    else:
        found = Algorithm(getattr(alg, "value", alg)).value
    refuse(found == Algorithm.THREEFRY.value, f"alg={alg!r}", "numbers come from Philox")
    return found


def _signed(word: int) -> int:
    word %= 2**64
    return word - 2**64 if word >= 2**63 else word


def _words(values) -> Tensor:
    """Integers, of 64 bits with sign or without, as a vector."""
    if not is_value(values):
        if isinstance(values, int):
            values = [values]
        values = [_signed(v) if isinstance(v, int) else v for v in values]
    return call("Reshape", cast(convert_to_tensor(values), "int64"), [-1])


def create_rng_state(seed, alg) -> Tensor:
    """The state that a seed stands for: int64, [3]. A whole number of any size, or several."""
    _algorithm(alg)
    if isinstance(seed, int):
        return _words([seed >> 64 * i for i in range(_WORDS)])
    words = call("Slice", _words(seed), [0], [-1])
    words = words[:_WORDS]
    lacking = call("Sub", _WORDS, call("Size", words))
    return call("Pad", words, call("Pack", [call("Pack", [lacking, 0])]))


class Generator:
    """A sequence of random numbers of its own. Its state is a Variable, so that it can be used in
    functions, saved and restored; numbers are those of TensorFlow's generators."""

    def __init__(self, copy_from: Generator | None = None, state=None, alg=None):
        if copy_from is not None:
            if state is not None or alg is not None:
                raise ValueError("copy_from says state and alg: leave them out.")
            state, alg = copy_from.state.read_value(), copy_from.algorithm
        elif state is None or alg is None:
            raise ValueError("A Generator needs copy_from, or state and alg.")
        self._algorithm = _algorithm(alg)
        if isinstance(state, Variable):
            self._state = state
        else:
            self._state = Variable(
                _words(state), trainable=False, dtype="int64", name="random_generator"
            )
        self._check(self._state)

    @staticmethod
    def _check(state) -> None:
        dims = state._dims
        if dims is not None and list(dims) != [_WORDS]:
            raise ValueError(f"The state has shape {list(dims)}, but {_WORDS} words are wanted.")

    @classmethod
    def from_state(cls, state, alg) -> Generator:
        """The sequence that goes on from a state: three integers, or a Variable of them, which it
        then changes."""
        return cls(state=state, alg=alg)

    @classmethod
    def from_seed(cls, seed, alg=None) -> Generator:
        """The sequence that a seed determines: a whole number, or several."""
        number = _algorithm(alg)
        return cls(state=create_rng_state(seed, number), alg=number)

    @classmethod
    def from_non_deterministic_state(cls, alg=None) -> Generator:
        """A sequence that nobody can foretell."""
        state = call("NonDeterministicInts", convert_to_tensor([_WORDS]))
        return cls(state=state, alg=_algorithm(alg))

    @classmethod
    def from_key_counter(cls, key, counter, alg) -> Generator:
        """The sequence of a key, an integer, from a counter, two of them, on."""
        return cls(state=_joined(key, counter), alg=alg)

    @property
    def state(self) -> Variable:
        """Counter (two integers) and key."""
        return self._state

    @property
    def algorithm(self) -> int:
        """Its number."""
        return self._algorithm

    @property
    def key(self) -> Tensor:
        """The last word of the state."""
        return self._state.read_value()[_COUNTER]

    def _tracked_items(self) -> dict[str, Variable]:
        """What checkpoints hold of it."""
        return {"state": self._state}

    def reset(self, state) -> None:
        """Goes on from another state."""
        self._state.assign(_words(state))

    def reset_from_seed(self, seed) -> None:
        """Starts the sequence of another seed."""
        self._state.assign(create_rng_state(seed, self._algorithm))

    def reset_from_key_counter(self, key, counter) -> None:
        """Goes on from a key and a counter."""
        self._state.assign(_joined(key, counter))

    def skip(self, delta: TensorLike) -> Tensor:
        """Leaves out what so many numbers take. The state before that."""
        return call(
            "RngReadAndSkip",
            self._state.handle,
            convert_to_tensor(self._algorithm, "int32"),
            cast(convert_to_tensor(delta, dtype_hint="int64"), "uint64"),
        )

    def _generator(self, shape) -> list:
        """Key, counter and algorithm, for numbers of this shape."""
        count = call("Prod", cast(shape, "int64"), [0])
        state = call("Bitcast", self.skip(count), type=_gyre.as_dtype("uint64"))
        return [
            state[_COUNTER:],
            state[:_COUNTER],
            convert_to_tensor(self._algorithm, "int32"),
        ]

    def _draw(self, op: str, shape, *rest, **attrs) -> Tensor:
        dims = dims_tensor(shape)
        return call(op, dims, *self._generator(dims), *rest, **attrs)

    def normal(
        self,
        shape: ShapeLike,
        mean: TensorLike = 0.0,
        stddev: TensorLike = 1.0,
        dtype: DTypeLike = "float32",
        name: str | None = None,
    ) -> Tensor:
        """Normally distributed numbers."""
        return self._normal("StatelessRandomNormalV2", shape, mean, stddev, dtype, name)

    def truncated_normal(
        self,
        shape: ShapeLike,
        mean: TensorLike = 0.0,
        stddev: TensorLike = 1.0,
        dtype: DTypeLike = "float32",
        name: str | None = None,
    ) -> Tensor:
        """Normally distributed numbers within two stddev of the mean."""
        return self._normal("StatelessTruncatedNormalV2", shape, mean, stddev, dtype, name)

    def _normal(self, op: str, shape, mean, stddev, dtype, name) -> Tensor:
        numbers = self._draw(op, shape, dtype=_gyre.as_dtype(dtype))
        return scaled_normal(numbers, mean, stddev, name)

    def uniform(
        self,
        shape: ShapeLike,
        minval: TensorLike | None = 0,
        maxval: TensorLike | None = None,
        dtype: DTypeLike = "float32",
        name: str | None = None,
    ) -> Tensor:
        """Evenly distributed numbers of [minval, maxval); integers of all of their type where both
        are None."""
        kind = _gyre.as_dtype(dtype)
        if not kind.is_integer:
            numbers = self._draw("StatelessRandomUniformV2", shape, dtype=kind)
            return scaled_uniform(numbers, minval, maxval, name)
        bounds = scaled_integers(minval, maxval, kind)
        if not bounds:
            return self.uniform_full_int(shape, dtype, name)
        return self._draw("StatelessRandomUniformIntV2", shape, *bounds, name=name)

    def uniform_full_int(
        self, shape: ShapeLike, dtype: DTypeLike = "uint64", name: str | None = None
    ) -> Tensor:
        """Integers of all of their type."""
        kind = _gyre.as_dtype(dtype)
        return self._draw("StatelessRandomUniformFullIntV2", shape, dtype=kind, name=name)

    def binomial(
        self,
        shape: ShapeLike,
        counts: TensorLike,
        probs: TensorLike,
        dtype: DTypeLike = "int32",
        name: str | None = None,
    ) -> Tensor:
        """How many of `counts` trials of probability `probs` succeed; the shape ends with theirs,
        broadcast together."""
        probs = convert_to_tensor(probs, dtype_hint="float32")
        return call(
            "StatefulRandomBinomial",
            self._state.handle,
            convert_to_tensor(self._algorithm, "int64"),
            dims_tensor(shape),
            cast(convert_to_tensor(counts, dtype_hint=probs.dtype), probs.dtype),
            probs,
            dtype=_gyre.as_dtype(dtype),
            name=name,
        )

    def make_seeds(self, count: int = 1) -> Tensor:
        """[2, count] seeds for stateless functions."""
        keys = self.uniform_full_int([count], "int64")
        return call("Pack", [keys, call("ZerosLike", keys)])

    def split(self, count: int = 1) -> list[Generator]:
        """Generators of their own, determined by this one."""
        keys = self.uniform_full_int([count], "int64")
        return [
            Generator(state=_joined(keys[i], [0] * _COUNTER), alg=self._algorithm)
            for i in range(count)
        ]


def _joined(key, counter) -> Tensor:
    return call("ConcatV2", [_words(counter), _words(key)], 0)


_lock = reentrant_lock()
_global: list[Generator] = []


def get_global_generator() -> Generator:
    """The generator of those who have none; made, from a state that nobody can foretell, when it is
    first asked for."""
    with _lock:
        if not _global:
            with _gyre.init_scope():
                _global.append(Generator.from_non_deterministic_state())
        return _global[0]


def set_global_generator(generator: Generator) -> None:
    """Replaces what get_global_generator gives. Functions that were traced go on with theirs."""
    with _lock:
        _global[:] = [generator]

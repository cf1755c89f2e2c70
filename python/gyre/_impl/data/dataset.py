"""Dataset: a sequence of elements, to run over in Python or in a graph."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator

from gyre import _gyre
from gyre._gyre import Tensor
from gyre._impl import errors, nest
from gyre._impl.annotations import Any, TensorLike
from gyre._impl.data import iteration
from gyre._impl.data.cache import Cache
from gyre._impl.data.carried import Carried
from gyre._impl.data.functions import DatasetFunction, ElementFunction
from gyre._impl.data.lookahead import Filter, FlatMap, TakeWhile, is_scalar_bool
from gyre._impl.data.options import AUTOTUNE, Options
from gyre._impl.data.padding import PaddedBatch
from gyre._impl.data.source import INFINITE, Source
from gyre._impl.data.sources import Generator, Range, Rows, Single
from gyre._impl.data.transforms import (
    Batch,
    Concatenate,
    Map,
    Repeat,
    Shard,
    Shuffle,
    Skip,
    Take,
    WholeBatches,
    Zip,
)
from gyre._impl.spec import TensorSpec
from gyre._impl.unsupported import refuse

# Of TensorFlow's methods, and what serves instead.
_INSTEAD = {
    "window": "batch(size) gives the elements of a window as rows; windows that overlap are slices "
    "of a tensor, in map",
    "interleave": "flat_map(f) gives one dataset's elements after the other's; shuffle mixes them",
    "group_by_window": "filter by the key, and batch each group",
    "bucket_by_sequence_length": "filter by length, and padded_batch each bucket",
    "scan": "reduce, or a for statement in a gyre.function, carry state",
    "unique": "gyre.unique of the elements as one tensor",
    "sample_from_datasets": "concatenate and shuffle",
    "choose_from_datasets": "zip the datasets, and choose in map",
    "list_files": "from_tensor_slices of the names that glob gives",
    "random": "range(n).map(lambda _: gyre.random.uniform([]))",
    "save": "numpy.save, of as_numpy_iterator",
    "load": "from_tensor_slices of what numpy.load gives",
    "snapshot": "cache() keeps elements in memory",
    "rebatch": "unbatch, then batch",
    "ignore_errors": "filter what would fail",
    "rejection_resample": "filter by a random number",
}


def whole(value, what: str):
    """A number of elements: an int, or a tensor of the graph. TypeError for all else."""
    if hasattr(value, "dtype") or hasattr(value, "__gyre_tensor__"):
        tensor = _gyre.convert(value)
        if tensor.dtype.is_integer:
            return tensor if tensor.is_symbolic else int(tensor)
    elif hasattr(value, "__index__"):
        return operator.index(value)
    raise TypeError(f"{what} must be an integer, not {value!r}")


def _check_calls(number, what: str) -> None:
    """Of an option that has nothing to do: whether TensorFlow would take it."""
    if number is None:
        return
    number = whole(number, what)
    if isinstance(number, int) and number < 1 and number != AUTOTUNE:
        raise ValueError(f"{what} must be positive, but is {number}; data.AUTOTUNE leaves it open")


class Dataset(Source):
    """A sequence of elements: tensors, or structures (tuples, dicts) of them.

        data = gyre.data.Dataset.from_tensor_slices((features, labels)).shuffle(100).batch(32)
        for x, y in data: ...

    Immutable. A `for` statement over it runs in Python, or becomes one loop of the graph in a
    function that is traced; the functions given to `map` and the like become part of that graph,
    too. Where random numbers, variables or Python functions take part, each run over it asks them
    anew. Elements are computed one at a time, when they are asked for.
    """

    def __init__(self, source: Source):
        super().__init__(source.element_spec, source.length)
        self.begin, self.advance, self.pull = source.begin, source.advance, source.pull
        self.blocks = source.blocks
        if source.blocks:
            self.pull_block = source.pull_block
        self._steps = None
        # Ranks have the same elements, each its own rows of them.
        self._is_parted = False

    def _gyre_loop_state(self) -> Carried:
        """What a loop of a graph over it carries."""
        return Carried(self)

    # ---- Sources

    @staticmethod
    def from_tensors(tensors, name=None) -> Dataset:
        """One element: these tensors."""
        return Dataset(Single(tensors))

    @staticmethod
    def from_tensor_slices(tensors, name=None) -> Dataset:
        """The rows of tensors (a structure of them) along axis 0.
        ValueError if their numbers differ."""
        return Dataset(Rows(tensors))

    @staticmethod
    def range(*args, output_type=None, name=None) -> Dataset:
        """range(stop), range(start, stop) or range(start, stop, step), as int64 unless told."""
        if not 1 <= len(args) <= 3:
            raise ValueError(f"range takes one to three numbers, not {len(args)}")
        start, stop, step = (0, args[0], 1) if len(args) == 1 else (*args, 1)[:3]
        return Dataset(Range(start, stop, step, output_type))

    @staticmethod
    def from_generator(
        generator,
        output_types=None,
        output_shapes=None,
        args=None,
        output_signature=None,
        name=None,
    ) -> Dataset:
        """What `generator(*args)`, called each time, yields; it must be of `output_signature` (or
        of output_types and output_shapes). TypeError without either."""
        if not callable(generator):
            raise TypeError("from_generator takes a function that returns an iterator")
        if output_signature is None:
            if output_types is None:
                raise TypeError("from_generator needs an output_signature")
            shapes = (
                output_shapes
                if output_shapes is not None
                else nest.map_structure(lambda _: None, output_types)
            )
            leaves = zip(
                nest.flatten(output_types),
                [shapes] if not nest.is_nested(output_types) else list(shapes),
                strict=True,
            )
            output_signature = nest.pack_sequence_as(
                output_types, [TensorSpec(shape, dtype) for dtype, shape in leaves]
            )
        values = tuple(args or ())
        return Dataset(Generator(lambda: generator(*values), output_signature))

    @staticmethod
    def zip(*args, datasets=None, name=None) -> Dataset:
        """Tuples of one element of each dataset; or a structure, given one of datasets. TypeError
        for none at all, and for both ways of naming them."""
        if args and datasets is not None:
            raise TypeError(
                "zip takes datasets one by one, or a structure of them as `datasets`, not both"
            )
        parts = datasets if datasets is not None else args[0] if len(args) == 1 else args
        if not nest.flatten(parts):
            raise TypeError("zip takes at least one dataset")
        for part in nest.flatten(parts):
            if not isinstance(part, Dataset):
                raise TypeError(f"zip takes datasets, not a {type(part).__name__}")
        return Dataset(Zip(parts))

    # ---- Others of this one

    def map(
        self,
        map_func: Callable[..., Any],
        num_parallel_calls=None,
        deterministic=None,
        name: str | None = None,
    ) -> Dataset:
        """map_func of each element; the parts of a tuple are its arguments. Elements are computed
        when they are asked for, one after the other: num_parallel_calls and deterministic have
        nothing to do."""
        _check_calls(num_parallel_calls, "num_parallel_calls")
        return Dataset(Map(self, ElementFunction(map_func, self.element_spec, "map")))

    def filter(self, predicate: Callable[..., Any], name: str | None = None) -> Dataset:
        """The elements for which predicate(…) is true. ValueError if it is no bool scalar."""
        return Dataset(Filter(self, self._predicate(predicate, "filter")))

    def take_while(self, predicate: Callable[..., Any], name: str | None = None) -> Dataset:
        """The elements before the first for which predicate(…) is false."""
        return Dataset(TakeWhile(self, self._predicate(predicate, "take_while")))

    def _predicate(self, predicate, what):
        function = ElementFunction(predicate, self.element_spec, what)
        if not is_scalar_bool(function.spec):
            raise ValueError(
                f"the predicate of {what} must return a bool scalar, not {function.spec}"
            )
        return function

    def flat_map(self, map_func: Callable[..., Any], name: str | None = None) -> Dataset:
        """The elements of map_func(…), a dataset for each element, one after the other."""
        return Dataset(FlatMap(self, DatasetFunction(map_func, self.element_spec)))

    def unbatch(self, name=None) -> Dataset:
        """The rows of the elements, each by itself."""
        return self.flat_map(
            lambda *parts: Dataset.from_tensor_slices(
                parts if type(self.element_spec) is tuple else parts[0]
            )
        )

    def take(self, count: TensorLike, name: str | None = None) -> Dataset:
        """The first `count` elements; all if it is negative."""
        count = whole(count, "the count of take")
        return self if isinstance(count, int) and count < 0 else Dataset(Take(self, count))

    def skip(self, count: TensorLike, name: str | None = None) -> Dataset:
        """All but the first `count` elements; none if it is negative."""
        return Dataset(Skip(self, whole(count, "the count of skip")))

    def repeat(self, count: TensorLike | None = None, name: str | None = None) -> Dataset:
        """The whole `count` times; for ever without a count, or if it is negative."""
        return Dataset(Repeat(self, None if count is None else whole(count, "the count of repeat")))

    def enumerate(self, start=0, name=None) -> Dataset:
        """Pairs (int64 index, element)."""
        return Dataset(Zip((Range(start, 2**63 - 1, 1, None), self)))

    def concatenate(self, dataset, name=None) -> Dataset:
        """The elements of this one, then those of another."""
        return Dataset(Concatenate(self, dataset))

    def batch(
        self,
        batch_size,
        drop_remainder=False,
        num_parallel_calls=None,
        deterministic=None,
        name=None,
    ) -> Dataset:
        """Elements of up to `batch_size` rows, each an element of this one. With drop_remainder all
        have so many, and their shape is known; else the last may have fewer. The rest as of map."""
        _check_calls(num_parallel_calls, "num_parallel_calls")
        size = whole(batch_size, "batch_size")
        batches = Batch(self, size)
        return Dataset(WholeBatches(batches, self, size) if drop_remainder else batches)

    def ragged_batch(
        self,
        batch_size,
        drop_remainder=False,
        row_splits_dtype="int64",
        name: str | None = None,
    ) -> Dataset:
        """As batch, of elements whose sizes differ: tensors that have axes become rows of
        RaggedTensors. NotImplementedError for row splits that are not int64."""
        refuse(
            _gyre.as_dtype(row_splits_dtype).name != "int64",
            f"row_splits_dtype={row_splits_dtype!r}",
            "row splits are int64",
        )
        size = whole(batch_size, "batch_size")
        batches = Batch(self, size, ragged=True)
        return Dataset(WholeBatches(batches, self, size) if drop_remainder else batches)

    def padded_batch(
        self,
        batch_size,
        padded_shapes=None,
        padding_values=None,
        drop_remainder=False,
        name: str | None = None,
    ) -> Dataset:
        """As batch, of elements whose shapes differ: each is padded at its ends.

        padded_shapes: per tensor, in the structure of the elements; a size that is None or -1 is
        the largest of the batch. Without it all are that the elements leave open. padding_values:
        likewise, or one for all; zeros and empty strings without it. ValueError for elements of an
        unknown rank, or that are larger; InvalidArgumentError where only a run tells."""
        size = whole(batch_size, "batch_size")
        batches = PaddedBatch(self, size, padded_shapes, padding_values)
        return Dataset(WholeBatches(batches, self, size) if drop_remainder else batches)

    def shard(self, num_shards: TensorLike, index: TensorLike, name: str | None = None) -> Dataset:
        """Each num_shards-th element, from the one at `index` on.
        ValueError for an index that is not in [0, num_shards)."""
        count, first = whole(num_shards, "num_shards"), whole(index, "the index of shard")
        if isinstance(count, int) and isinstance(first, int) and not 0 <= first < count:
            raise ValueError(f"the index of shard must be in [0, {count}), but is {first}")
        return Dataset(Shard(self, count, first))

    def cache(self, filename: str = "", name: str | None = None) -> Dataset:
        """The same elements, all of them computed when the first is asked for, and kept in memory.
        ValueError for an endless dataset, and for elements of different shapes; NotImplementedError
        for a file, and in a function."""
        refuse(bool(filename), "the filename of cache", "elements are kept in memory")
        return Dataset(Cache(self))

    def shuffle(self, buffer_size, seed=None, reshuffle_each_iteration=True, name=None) -> Dataset:
        """Elements drawn from a buffer of `buffer_size`, which is filled again: as large as the
        dataset, all orders are as likely. The orders are not TensorFlow's.

        seed: then programs draw the same orders each time they are started; each run over the
        dataset has another, unless reshuffle_each_iteration is False."""
        return Dataset(
            Shuffle(
                self,
                whole(buffer_size, "buffer_size"),
                seed,
                reshuffle_each_iteration is None or reshuffle_each_iteration,
            )
        )

    def prefetch(self, buffer_size=None, name=None) -> Dataset:
        """The same elements. (Nothing is computed ahead.) ValueError for a buffer of fewer than 0,
        but for AUTOTUNE."""
        if buffer_size is not None:
            size = whole(buffer_size, "buffer_size")
            if isinstance(size, int) and size < AUTOTUNE:
                raise ValueError(
                    f"buffer_size must not be negative, but is {size}; data.AUTOTUNE leaves it open"
                )
        return self

    def with_options(self, options, name=None) -> Dataset:
        """The same elements: options only concern speed. TypeError for what are no Options."""
        if not isinstance(options, Options):
            raise TypeError(f"with_options takes data.Options, not a {type(options).__name__}")
        return self

    def apply(self, transformation_func: Callable[..., Any]) -> Dataset:
        """transformation_func(self)."""
        return transformation_func(self)

    # ---- Running over it

    def reduce(
        self, initial_state, reduce_func: Callable[..., Any], name: str | None = None
    ) -> Any:
        """The last of initial_state, and of reduce_func(state, element) for each element."""
        return iteration.reduce(self, initial_state, reduce_func)

    def __iter__(self) -> Iterator[Any]:
        """An iterator of Python. RuntimeError in a graph, but for loops of converted functions."""
        if _gyre.current_graph() is not None:
            raise RuntimeError(
                "Python cannot take elements of a Dataset one by one while a function is traced: "
                "write a for statement (`for element in dataset:`) in a gyre.function with "
                "autograph, which becomes a loop of the graph, or dataset.reduce; or make the "
                "iterator outside"
            )
        return iteration.Iterator(self)

    def as_numpy_iterator(self) -> Iterator[Any]:
        """An iterator of elements as numpy arrays. RuntimeError in a graph."""
        for element in self:
            yield nest.map_structure(lambda leaf: leaf.numpy(), element)

    def get_single_element(self, name=None) -> Any:
        """The only element. InvalidArgumentError if there is none, or another."""
        found = list(self.take(2))
        if len(found) != 1:
            raise errors.InvalidArgumentError(
                None, None, f"the dataset has {'no' if not found else 'more than one'} element"
            )
        return found[0]

    def cardinality(self, name=None) -> Tensor:
        """How many elements there are: int64; -1 for endless, -2 where that is not known."""
        return _gyre.convert(self.length, _gyre.as_dtype("int64"))

    def __getattr__(self, name: str) -> Any:
        text = f"{type(self).__name__!r} object has no attribute {name!r}"
        instead = _INSTEAD.get(name)
        raise AttributeError(f"{text}: it is not in Gyre. {instead}" if instead else text)

    def __len__(self) -> int:
        if self.length < 0:
            what = "is endless" if self.length == INFINITE else "has a length that is not known"
            raise TypeError(f"the dataset {what}")
        return self.length

    def __bool__(self) -> bool:
        return True

    def __repr__(self) -> str:
        return f"<gyre.data.Dataset of {self.element_spec}>"

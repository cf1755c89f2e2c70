"""Tables of words: from texts to numbers, with buckets for words that are not there."""

from __future__ import annotations

from gyre import _gyre
from gyre._impl.annotations import Any
from gyre._impl.composites.ragged import RaggedTensor
from gyre._impl.composites.sparse_tensor import SparseTensor
from gyre._impl.convert import call, convert_to_tensor
from gyre._impl.lookup.initializers import (
    KeyValueTensorInitializer,
    TextFileIdTableInitializer,
    TextFileStringTableInitializer,
)
from gyre._impl.lookup.tables import StaticHashTable
from gyre._impl.module import Module


class StaticVocabularyTable(Module):
    """From words to numbers: those that `initializer` (None: none) gives, from 0 on, and for other
    words the numbers of num_oov_buckets buckets behind them, by a hash of the word.

    lookup_key_dtype: of the words, if there is no initializer."""

    def __init__(
        self,
        initializer,
        num_oov_buckets,
        lookup_key_dtype=None,
        name: str | None = None,
        experimental_is_anonymous=False,
    ):
        super().__init__()
        if num_oov_buckets <= 0:
            raise ValueError(f"num_oov_buckets must be positive, not {num_oov_buckets}")
        if initializer is None and lookup_key_dtype is None:
            raise ValueError("without an initializer, lookup_key_dtype must be given")
        self._table = None
        if initializer is not None:
            if initializer.value_dtype.name != "int64":
                raise TypeError(f"the values are int64, not {initializer.value_dtype.name}")
            self._table = StaticHashTable(
                initializer, -1, name, experimental_is_anonymous=experimental_is_anonymous
            )
        self._key_dtype = _gyre.as_dtype(lookup_key_dtype or initializer.key_dtype)
        self._num_oov_buckets = int(num_oov_buckets)
        self._table_name = name or "string_to_index"

    @property
    def key_dtype(self):
        """Of the words."""
        return self._key_dtype

    @property
    def value_dtype(self):
        """int64."""
        return _gyre.as_dtype("int64")

    @property
    def name(self) -> str:
        """That it was given."""
        return self._table_name

    @property
    def resource_handle(self):
        """Of the table of words that are known."""
        return None if self._table is None else self._table.resource_handle

    @property
    def initializer(self):
        """In graphs: the operation that fills it."""
        return None if self._table is None else self._table.initializer

    def size(self, name: str | None = None):
        """How many numbers there are, those of buckets among them: an int64 scalar."""
        own = _gyre.convert(0, self.value_dtype) if self._table is None else self._table.size()
        return call("AddV2", own, self._num_oov_buckets, name=name)

    def lookup(self, keys, name: str | None = None):
        """The numbers of words: a tensor of int64, sparse or ragged as the words are."""
        if isinstance(keys, SparseTensor):
            return SparseTensor(keys.indices, self._number(keys.values, name), keys.dense_shape)
        if isinstance(keys, RaggedTensor):
            return keys.with_flat_values(self._number(keys.flat_values, name))
        return self._number(convert_to_tensor(keys, self._key_dtype), name)

    def __getitem__(self, keys):
        return self.lookup(keys)

    def _number(self, keys, name):
        words = keys if keys.dtype.name == "string" else call("AsString", keys)
        buckets = call("StringToHashBucketFast", words, num_buckets=self._num_oov_buckets)
        if self._table is None:
            return call("Identity", buckets, name=name)
        if self._table.key_dtype != keys.dtype:
            keys = call("Cast", keys, DstT=self._table.key_dtype)
        ids = self._table.lookup(keys)
        buckets = call("AddV2", buckets, self._table.size())
        known = call("NotEqual", ids, self._table.default_value)
        return call("SelectV2", known, ids, buckets, name=name)


def _refuse_hashers(hasher_spec) -> None:
    if hasher_spec is not None:
        raise NotImplementedError(
            "words that are not in the vocabulary are hashed by FarmHash: leave hasher_spec out"
        )


def _table_of(initializer, num_oov_buckets, default_value, key_dtype, name):
    if num_oov_buckets > 0:
        return StaticVocabularyTable(initializer, num_oov_buckets, key_dtype, name)
    return StaticHashTable(initializer, default_value, name)


def index_table_from_tensor(
    vocabulary_list,
    num_oov_buckets=0,
    default_value=-1,
    hasher_spec=None,
    dtype="string",
    name: str | None = None,
) -> Any:
    """From the words of a list to their places in it; others have the value default_value, or one
    of num_oov_buckets buckets."""
    _refuse_hashers(hasher_spec)
    words = convert_to_tensor(vocabulary_list, dtype)
    count = int(words._dims[0])
    initializer = KeyValueTensorInitializer(words, list(range(count)), value_dtype="int64")
    return _table_of(initializer, num_oov_buckets, default_value, dtype, name)


def index_table_from_file(
    vocabulary_file,
    num_oov_buckets=0,
    vocab_size=None,
    default_value=-1,
    hasher_spec=None,
    key_dtype="string",
    name: str | None = None,
    key_column_index=-2,
    value_column_index=-1,
    delimiter="\t",
) -> Any:
    """From the lines of a file to their numbers."""
    _refuse_hashers(hasher_spec)
    initializer = TextFileIdTableInitializer(
        vocabulary_file,
        key_column_index,
        value_column_index,
        vocab_size,
        delimiter,
        key_dtype=key_dtype,
    )
    return _table_of(initializer, num_oov_buckets, default_value, key_dtype, name)


def index_to_string_table_from_tensor(
    vocabulary_list, default_value="UNK", name: str | None = None
) -> Any:
    """From places in a list of words to the words."""
    words = convert_to_tensor(vocabulary_list, "string")
    places = list(range(int(words._dims[0])))
    initializer = KeyValueTensorInitializer(places, words, key_dtype="int64")
    return StaticHashTable(initializer, default_value, name)


def index_to_string_table_from_file(
    vocabulary_file,
    vocab_size=None,
    default_value="UNK",
    name: str | None = None,
    key_column_index=-1,
    value_column_index=-2,
    delimiter="\t",
) -> Any:
    """From the numbers of a file's lines to the lines."""
    initializer = TextFileStringTableInitializer(
        vocabulary_file, key_column_index, value_column_index, vocab_size, delimiter
    )
    return StaticHashTable(initializer, default_value, name)

"""What fills tables: tensors of keys and values, or the lines of a file."""

from __future__ import annotations

import os

from gyre import _gyre
from gyre._impl.annotations import Any
from gyre._impl.convert import convert_to_tensor
from gyre._impl.dtypes import DTypeLike


class TableInitializerBase:
    """What initializers have in common: the dtypes of keys and values."""

    def __init__(self, key_dtype: DTypeLike, value_dtype: DTypeLike):
        self._key_dtype, self._value_dtype = (
            _gyre.as_dtype(key_dtype),
            _gyre.as_dtype(value_dtype),
        )

    @property
    def key_dtype(self):
        """Of the keys."""
        return self._key_dtype

    @property
    def value_dtype(self):
        """Of the values."""
        return self._value_dtype

    def initialize(self, table):
        """Fills a table. Of graphs: the operation that does."""
        raise NotImplementedError


class KeyValueTensorInitializer(TableInitializerBase):
    """Keys, and for each its value: tensors of one shape."""

    def __init__(self, keys, values, key_dtype=None, value_dtype=None, name=None):
        with _gyre.init_scope():
            self._keys = convert_to_tensor(keys, key_dtype)
            self._values = convert_to_tensor(values, value_dtype)
        if not self._keys.dtype.is_integer and self._keys.dtype.name != "string":
            raise TypeError(f"keys are integers or strings, not {self._keys.dtype.name}")
        super().__init__(self._keys.dtype, self._values.dtype)

    def initialize(self, table):
        """Fills a table with the keys and values."""
        return table._act("LookupTableImportV2", [self._keys, self._values])


class TextFileIndex:
    """What of a line is a key or a value, if it is no column."""

    WHOLE_LINE = -2
    LINE_NUMBER = -1


class TextFileInitializer(TableInitializerBase):
    """The lines of a text file: keys and values are columns (from 0 on), whole lines or the lines'
    numbers.

    vocab_size: how many lines are read (None: all). value_index_offset: added to line numbers.
    """

    def __init__(
        self,
        filename,
        key_dtype: DTypeLike,
        key_index,
        value_dtype: DTypeLike,
        value_index,
        vocab_size=None,
        delimiter="\t",
        name=None,
        value_index_offset=0,
    ):
        super().__init__(key_dtype, value_dtype)
        for what, index, dtype in (
            ("key", key_index, self._key_dtype),
            ("value", value_index, self._value_dtype),
        ):
            if index == TextFileIndex.LINE_NUMBER and dtype.name not in ("int64", "int32"):
                raise ValueError(f"{what}_dtype must be int64 for line numbers, not {dtype.name}")
            if index == TextFileIndex.WHOLE_LINE and dtype.name != "string":
                raise ValueError(f"{what}_dtype must be string for whole lines, not {dtype.name}")
            if index < TextFileIndex.WHOLE_LINE:
                raise ValueError(f"{what}_index must be -2 or more, not {index}")
        if vocab_size is not None and vocab_size <= 0:
            raise ValueError(f"vocab_size must be positive, not {vocab_size}")
        self._filename = filename if isinstance(filename, _gyre.Tensor) else os.fspath(filename)
        self._attrs = {
            "key_index": int(key_index),
            "value_index": int(value_index),
            "vocab_size": -1 if vocab_size is None else int(vocab_size),
            "delimiter": delimiter,
            "offset": int(value_index_offset),
        }

    @property
    def path(self) -> str:
        """Of the file."""
        if isinstance(self._filename, _gyre.Tensor):
            name: Any = self._filename.numpy()
            return os.fsdecode(name)
        return self._filename

    @property
    def attrs(self) -> dict:
        """Of the op that reads it."""
        return dict(self._attrs)

    def initialize(self, table):
        """Fills a table from the file."""
        return table._act(
            "InitializeTableFromTextFileV2",
            [convert_to_tensor(self._filename, "string")],
            **self._attrs,
        )


class TextFileStringTableInitializer(TextFileInitializer):
    """From the numbers of lines to the lines, or columns of them."""

    def __init__(
        self,
        filename,
        key_column_index=TextFileIndex.LINE_NUMBER,
        value_column_index=TextFileIndex.WHOLE_LINE,
        vocab_size=None,
        delimiter="\t",
        name="text_file_string_table_init",
    ):
        super().__init__(
            filename,
            "int64",
            key_column_index,
            "string",
            value_column_index,
            vocab_size,
            delimiter,
            name,
        )


class TextFileIdTableInitializer(TextFileInitializer):
    """From lines, or columns of them, to the lines' numbers."""

    def __init__(
        self,
        filename,
        key_column_index=TextFileIndex.WHOLE_LINE,
        value_column_index=TextFileIndex.LINE_NUMBER,
        vocab_size=None,
        delimiter="\t",
        name="text_file_id_table_init",
        key_dtype="string",
    ):
        super().__init__(
            filename,
            key_dtype,
            key_column_index,
            "int64",
            value_column_index,
            vocab_size,
            delimiter,
            name,
        )

"""Crosses of features: for each row all combinations of one feature of each column."""

from __future__ import annotations

from gyre import _gyre
from gyre._impl.annotations import Any, TensorLike
from gyre._impl.composites.composite import INT64, to_int64
from gyre._impl.composites.ragged import RaggedTensor
from gyre._impl.composites.sparse_tensor import SparseTensor
from gyre._impl.convert import convert_to_tensor

_STRING = _gyre.as_dtype("string")
# What the hash of features begins with, where no key is given.
_KEY = 0xDECAFCAFFE


def _column(values):
    """Features: texts, or int64."""
    if values.dtype == _STRING:
        return values
    if not values.dtype.is_integer:
        raise ValueError(f"features are texts or integers, not {values.dtype.name}")
    return to_int64(values)


class _Columns:
    """The columns of a cross, by what they are."""

    def __init__(self, inputs):
        if not isinstance(inputs, (list, tuple)) or not inputs:
            raise TypeError("inputs must be a list of columns")
        self.ragged, self.sparse, self.dense, self.order = [], [], [], ""
        for one in inputs:
            if isinstance(one, RaggedTensor):
                if one.ragged_rank != 1:
                    raise ValueError("ragged columns have one ragged axis")
                self.ragged.append(one.with_values(_column(one.values)))
                self.order += "R"
            elif isinstance(one, SparseTensor):
                self.sparse.append(one.with_values(_column(one.values)))
                self.order += "S"
            else:
                self.dense.append(_column(convert_to_tensor(one)))
                self.order += "D"

    def sparse_parts(self) -> list:
        """Indices, values and shapes of the sparse columns."""
        return [
            [one.indices for one in self.sparse],
            [one.values for one in self.sparse],
            [one.dense_shape for one in self.sparse],
        ]

    def types(self) -> tuple[list, list]:
        """Of the sparse and of the dense columns."""
        return [one.dtype for one in self.sparse], [one.dtype for one in self.dense]


def sparse_cross(
    inputs: list[TensorLike], name: str | None = None, separator: str | None = None
) -> SparseTensor:
    """The combinations of features of columns (sparse and dense matrices), joined by the separator
    ("_X_"): sparse. Columns that are sparse come first."""
    columns = _Columns(inputs)
    if columns.ragged:
        raise TypeError("ragged columns are crossed by gyre.ragged.cross")
    separator = "_X_" if separator is None else separator
    sparse, dense = columns.types()
    parts = _gyre.execute(
        "SparseCrossV2",
        [*columns.sparse_parts(), columns.dense, separator],
        {"N": len(sparse), "sparse_types": sparse, "dense_types": dense},
        name,
    )
    return SparseTensor.of_parts(*parts)


def sparse_cross_hashed(
    inputs: list[TensorLike], num_buckets: int = 0, hash_key=None, name: str | None = None
) -> SparseTensor:
    """The same, hashed into num_buckets (0: any that int64 has)."""
    columns = _Columns(inputs)
    if columns.ragged:
        raise TypeError("ragged columns are crossed by gyre.ragged.cross_hashed")
    sparse, dense = columns.types()
    parts = _gyre.execute(
        "SparseCross",
        [*columns.sparse_parts(), columns.dense],
        {
            "N": len(sparse),
            "hashed_output": True,
            "num_buckets": num_buckets,
            "hash_key": _KEY if hash_key is None else hash_key,
            "sparse_types": sparse,
            "dense_types": dense,
            "out_type": INT64,
            "internal_type": INT64,
        },
        name,
    )
    return SparseTensor.of_parts(*parts)


def _ragged(inputs, hashed: bool, num_buckets: int, hash_key, name) -> Any:
    columns = _Columns(inputs)
    sparse, dense = columns.types()
    values, splits = _gyre.execute(
        "RaggedCross",
        [
            [one.values for one in columns.ragged],
            [one.row_splits for one in columns.ragged],
            *columns.sparse_parts(),
            columns.dense,
        ],
        {
            "Nsparse": len(sparse),
            "input_order": columns.order,
            "hashed_output": hashed,
            "num_buckets": num_buckets,
            "hash_key": _KEY if hash_key is None else hash_key,
            "ragged_values_types": [one.dtype for one in columns.ragged],
            "ragged_splits_types": [INT64] * len(columns.ragged),
            "sparse_values_types": sparse,
            "dense_types": dense,
            "out_values_type": INT64 if hashed else _STRING,
            "out_row_splits_type": INT64,
        },
        name,
    )
    return RaggedTensor(values, splits)


def ragged_cross(inputs: list[TensorLike], name: str | None = None) -> RaggedTensor:
    """The combinations of features of columns (ragged, sparse and dense matrices), joined by
    "_X_": ragged."""
    return _ragged(inputs, False, 0, None, name)


def ragged_cross_hashed(
    inputs: list[TensorLike], num_buckets: int = 0, hash_key=None, name: str | None = None
) -> RaggedTensor:
    """The same, hashed into num_buckets (0: any that int64 has)."""
    return _ragged(inputs, True, num_buckets, hash_key, name)

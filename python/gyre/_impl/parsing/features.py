"""What features of Examples are to become."""

from __future__ import annotations

import collections

from gyre import _gyre


class FixedLenFeature(
    collections.namedtuple("FixedLenFeature", ["shape", "dtype", "default_value"])
):
    """A dense tensor of one shape. default_value: of Examples that lack it; None: they may not."""

    __slots__ = ()

    def __new__(cls, shape, dtype, default_value=None):
        return super().__new__(cls, shape, _gyre.as_dtype(dtype), default_value)


class FixedLenSequenceFeature(
    collections.namedtuple(
        "FixedLenSequenceFeature", ["shape", "dtype", "allow_missing", "default_value"]
    )
):
    """A dense tensor of as many elements of one shape as the longest has; filled up with
    default_value."""

    __slots__ = ()

    def __new__(cls, shape, dtype, allow_missing=False, default_value=None):
        return super().__new__(cls, shape, _gyre.as_dtype(dtype), allow_missing, default_value)


class VarLenFeature(collections.namedtuple("VarLenFeature", ["dtype"])):
    """A SparseTensor with a row for each Example."""

    __slots__ = ()

    def __new__(cls, dtype):
        return super().__new__(cls, _gyre.as_dtype(dtype))


class SparseFeature(
    collections.namedtuple(
        "SparseFeature", ["index_key", "value_key", "dtype", "size", "already_sorted"]
    )
):
    """A SparseTensor whose values are one feature, and whose indices are another, or several."""

    __slots__ = ()

    def __new__(cls, index_key, value_key, dtype, size, already_sorted=False):
        return super().__new__(
            cls, index_key, value_key, _gyre.as_dtype(dtype), size, already_sorted
        )


class RaggedFeature(
    collections.namedtuple(
        "RaggedFeature",
        ["dtype", "value_key", "partitions", "row_splits_dtype", "validate"],
    )
):
    """A RaggedTensor with a row for each Example. value_key: the feature's name, if it is not its
    own key."""

    __slots__ = ()

    def __new__(
        cls, dtype, value_key=None, partitions=(), row_splits_dtype="int32", validate=False
    ):
        if partitions:
            raise NotImplementedError("RaggedFeature takes no partitions")
        return super().__new__(
            cls,
            _gyre.as_dtype(dtype),
            value_key,
            tuple(partitions),
            _gyre.as_dtype(row_splits_dtype),
            validate,
        )

"""What runs give, and are fed, for values that are made of several tensors: arrays with names."""

import itertools
from typing import Any, NamedTuple


class SparseTensorValue(NamedTuple):
    """A SparseTensor as arrays."""

    indices: Any
    values: Any
    dense_shape: Any


class IndexedSlicesValue(NamedTuple):
    """IndexedSlices as arrays."""

    values: Any
    indices: Any
    dense_shape: Any


class RaggedTensorValue:
    """A RaggedTensor as arrays."""

    def __init__(self, values, row_splits):
        self.values, self.row_splits = values, row_splits

    @property
    def flat_values(self):
        """The innermost values."""
        return (
            self.values.flat_values if isinstance(self.values, RaggedTensorValue) else self.values
        )

    @property
    def nested_row_splits(self) -> tuple:
        """The row splits of all ragged axes, outermost first."""
        inner = self.values.nested_row_splits if isinstance(self.values, RaggedTensorValue) else ()
        return (self.row_splits, *inner)

    def to_list(self) -> list:
        """The rows as lists."""
        rows = (
            self.values.to_list()
            if isinstance(self.values, RaggedTensorValue)
            else self.values.tolist()
        )
        splits = self.row_splits.tolist()
        return [rows[a:b] for a, b in itertools.pairwise(splits)]

    def __repr__(self) -> str:
        return f"<gyre.RaggedTensorValue {self.to_list()}>"

"""Constants and options of datasets."""

from __future__ import annotations

import types

from gyre._gyre import Tensor
from gyre._impl.data.source import INFINITE, UNKNOWN

INFINITE_CARDINALITY = INFINITE
UNKNOWN_CARDINALITY = UNKNOWN
AUTOTUNE = -1  # elements are computed when they are asked for: there is nothing to tune

_NAMES = (
    "autotune",
    "autotune_options",
    "dataset_name",
    "deterministic",
    "experimental_deterministic",
    "experimental_distribute",
    "experimental_external_state_policy",
    "experimental_optimization",
    "experimental_slack",
    "experimental_symbolic_checkpoint",
    "experimental_threading",
    "experimental_warm_start",
    "framework_type",
    "threading",
)


class Options:
    """Options of datasets, under TensorFlow's names: AttributeError for others. They concern speed
    alone, where elements are computed ahead. Here each is computed when it is asked for, in
    order."""

    def __setattr__(self, name, value):
        if name not in _NAMES:
            raise AttributeError(f"Options has no option {name!r}; there are {', '.join(_NAMES)}")
        object.__setattr__(self, name, value)

    def __getattr__(self, name):
        if name.startswith("_") or name not in _NAMES:
            raise AttributeError(f"Options has no option {name!r}")
        if name in (
            "autotune",
            "autotune_options",
            "experimental_distribute",
            "experimental_optimization",
            "experimental_threading",
            "threading",
        ):
            value = types.SimpleNamespace()
            object.__setattr__(self, name, value)
            return value
        return None


def cardinality(dataset) -> Tensor:
    """How many elements a dataset has: int64; -1 for endless, -2 where that is not known."""
    return dataset.cardinality()

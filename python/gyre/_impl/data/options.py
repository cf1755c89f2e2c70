"""Constants and options of datasets."""

from gyre._impl.data.dataset import INFINITE, UNKNOWN

INFINITE_CARDINALITY = INFINITE
UNKNOWN_CARDINALITY = UNKNOWN
AUTOTUNE = -1  # elements are computed when they are asked for: there is nothing to tune


class Options:
    """Takes any attribute. Options of datasets only concern speed, and are of no effect."""


def cardinality(dataset):
    """How many elements a dataset has: int64; -1 for endless, -2 where that is not known."""
    return dataset.cardinality()

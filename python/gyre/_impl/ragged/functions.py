"""All functions of ragged tensors: loaded when the first of them is asked for."""

from gyre._impl.ragged import (  # noqa: F401 (each says what it has)
    elementwise,
    gathering,
    joining,
    padded,
    reductions,
    segments,
    shapes,
)

"""Nested structures of tensors: tuples, lists, dicts, named tuples, dataclasses, None.

>>> gyre.nest.flatten({"b": (1, 2), "a": 0})
[0, 1, 2]
"""

from gyre._impl.nest import (
    assert_same_structure,
    flatten,
    flatten_with_paths,
    is_nested,
    map_structure,
    map_structure_with_paths,
    pack_sequence_as,
    register,
    register_composite,
)

__all__ = [
    "assert_same_structure",
    "flatten",
    "flatten_with_paths",
    "is_nested",
    "map_structure",
    "map_structure_with_paths",
    "pack_sequence_as",
    "register",
    "register_composite",
]

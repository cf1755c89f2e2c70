"""Structures: flatten and pack are inverse; differences are told with both places."""

import collections
import dataclasses
import functools
import sys
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gyre import nest

Point = collections.namedtuple("Point", "x y")


@dataclasses.dataclass(frozen=True)
class Pair:
    a: object
    b: object


def texts(max_size):
    """Of any characters, ASCII often. st.text() takes a second to begin, for a table of Unicode."""
    points = st.integers(0, 0x7F) | st.integers(0, sys.maxunicode)
    return st.lists(points.map(chr), max_size=max_size).map("".join)


structures = st.recursive(
    st.integers() | st.none() | texts(2),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.lists(inner, max_size=4).map(tuple)
        | st.dictionaries(texts(3), inner, max_size=4)
        | st.builds(Point, inner, inner)
        | st.builds(Pair, inner, inner)
    ),
    max_leaves=12,
)


def given_structures(test):
    """Hypothesis' deadline of 200 ms for an example, of processor time: others may need the
    machine, too."""

    @settings(deadline=None)
    @given(structures)
    @functools.wraps(test)
    def quick(structure):
        begun = time.thread_time()
        test(structure)
        assert time.thread_time() - begun < 0.2

    return quick


@given_structures
def test_pack_is_the_inverse_of_flatten(structure):
    assert nest.pack_sequence_as(structure, nest.flatten(structure)) == structure


@given_structures
def test_map_of_identity(structure):
    assert nest.map_structure(lambda leaf: leaf, structure) == structure


@given_structures
def test_same_structure_as_itself(structure):
    nest.assert_same_structure(structure, nest.map_structure(lambda leaf: 0, structure))


@given_structures
def test_paths_lead_to_leaves(structure):
    for path, leaf in nest.flatten_with_paths(structure):
        assert eval("s" + path, {"s": structure}) == leaf


@given_structures
def test_as_many_paths_as_leaves(structure):
    assert [leaf for _, leaf in nest.flatten_with_paths(structure)] == nest.flatten(structure)


@given_structures
def test_several_structures(structure):
    ones = nest.map_structure(lambda leaf: 1, structure)
    both = nest.map_structure(lambda one, leaf: (one, repr(leaf)), ones, structure)
    assert nest.flatten(both) == [x for leaf in nest.flatten(structure) for x in (1, repr(leaf))]


def test_order_of_dicts():
    assert nest.flatten({"b": 1, "a": [2, {"z": 3, "y": 4}]}) == [2, 4, 3, 1]
    assert list(nest.pack_sequence_as({"b": 0, "a": 0}, [1, 2])) == ["b", "a"]


def test_none_has_no_leaves():
    assert nest.flatten((None, 1, [None])) == [1]
    assert nest.pack_sequence_as((None, 0), [5]) == (None, 5)
    assert nest.flatten(None) == []


def test_paths():
    assert nest.flatten_with_paths({"a": [Point(1, Pair(2, 3))]}) == [
        ("['a'][0].x", 1),
        ("['a'][0].y.a", 2),
        ("['a'][0].y.b", 3),
    ]
    assert nest.flatten_with_paths(7) == [("", 7)]


def test_is_nested():
    assert (
        nest.is_nested([])
        and nest.is_nested({})
        and nest.is_nested(Point(1, 2))
        and nest.is_nested(Pair(1, 2))
    )
    assert not nest.is_nested(1) and not nest.is_nested("abc") and not nest.is_nested(None)


def test_types_are_kept():
    ordered = collections.OrderedDict([("b", 1), ("a", 2)])
    assert nest.map_structure(str, ordered) == collections.OrderedDict([("b", "1"), ("a", "2")])
    default = nest.map_structure(str, collections.defaultdict(list, {"a": 1}))
    assert default.default_factory is list


@pytest.mark.parametrize(
    "a, b, parts",
    [
        ([1, 2], [1], ["a list of 2 at the top", "a list of 1 at the top"]),
        ({"a": [1]}, {"a": 1}, ["a list of 1 at ['a']", "a leaf (1) at ['a']"]),
        ({"a": 1}, {"b": 1}, ["keys ['a']", "keys ['b']"]),
        ((1, None), (1, 2), ["None at [1]", "a leaf (2) at [1]"]),
        (Point(1, [2]), Point(1, [2, 3]), ["a list of 1 at .y", "a list of 2 at .y"]),
    ],
)
def test_differences_name_both_places(a, b, parts):
    with pytest.raises(ValueError) as caught:
        nest.assert_same_structure(a, b)
    for part in parts:
        assert part in str(caught.value)


def test_types_differ():
    with pytest.raises(TypeError):
        nest.assert_same_structure([1], (1,))
    nest.assert_same_structure([1], (1,), check_types=False)


def test_wrong_number_of_leaves():
    with pytest.raises(ValueError, match="2 leaves, but 3"):
        nest.pack_sequence_as([0, 0], [1, 2, 3])


def test_map_checks_structures():
    with pytest.raises(ValueError):
        nest.map_structure(lambda a, b: a, [1, 2], [1])


def test_unsortable_keys():
    with pytest.raises(TypeError, match="sortable"):
        nest.flatten({1: 2, "a": 3})


def test_composites_are_leaves_unless_expanded():
    import gyre

    ragged = gyre.ragged.constant([[1, 2], [3]])
    assert nest.flatten([ragged]) == [ragged]
    assert len(nest.flatten([ragged], expand_composites=True)) == 2
    packed = nest.pack_sequence_as(ragged, nest.flatten(ragged, True), True)
    assert packed.to_list() == [[1, 2], [3]]

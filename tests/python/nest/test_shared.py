"""Structures whose lists share what they hold: few objects that stand for any number of parts."""

import pytest

import gyre


def doubled(times, make, leaf=1.0):
    """A structure of so many objects, with 2 ** times leaves."""
    for _ in range(times):
        leaf = make(leaf)
    return leaf


MAKERS = [lambda a: [a, a], lambda a: (a, a), lambda a: {"a": a, "b": a}]


@pytest.mark.parametrize("make", MAKERS)
@pytest.mark.parametrize("leaf", [1.0, gyre.constant(1.0), []])
def test_an_argument_of_a_function_without_end_is_named(make, leaf):
    @gyre.function
    def f(x, *, some):
        return x

    endless = doubled(60, make, leaf)
    with pytest.raises(ValueError, match=r"argument 'some' of 'f' has [\d,]+ parts.*share"):
        f(1.0, some=endless)
    with pytest.raises(ValueError, match=r"argument 'x' of 'g' has [\d,]+ parts.*share"):
        gyre.function(lambda x: 1.0, name="g")(endless)


@pytest.mark.parametrize("make", MAKERS)
def test_walks_without_end_are_refused(make):
    endless = doubled(60, make)
    for walk in (
        gyre.nest.flatten,
        lambda s: gyre.nest.map_structure(lambda leaf: leaf, s),
        lambda s: gyre.nest.assert_same_structure(s, doubled(60, make)),
        lambda s: gyre.nest.pack_sequence_as(s, [1.0]),
        lambda s: gyre.function(lambda: s)(),
        lambda s: gyre.while_loop(lambda v: True, lambda v: v, [s]),
    ):
        with pytest.raises(ValueError, match="share"):
            walk(endless)


def test_a_tensor_of_lists_without_end_is_refused():
    for endless in (doubled(60, MAKERS[0]), doubled(60, MAKERS[1], [])):
        for use in (gyre.constant, gyre.convert_to_tensor, lambda v: gyre.constant(1.0) + v):
            with pytest.raises(gyre.errors.ResourceExhaustedError, match="memory"):
                use(endless)


def test_ragged_lists_without_end_are_refused():
    for make in MAKERS[:2]:
        with pytest.raises(ValueError, match=r"[\d,]+ parts.*share"):
            gyre.ragged.constant(doubled(60, make))
    around = [1.0]
    around.append(around)
    with pytest.raises(RecursionError, match="contain themselves"):
        gyre.ragged.constant([around, around])
    row = [1.0] * 1000
    assert gyre.ragged.constant([row, row[:3]] * 500).nrows() == 1000


def test_structures_may_share_parts():
    row = [0.0] * 1000
    assert len(gyre.nest.flatten([row] * 1000)) == 1_000_000
    assert gyre.constant([row] * 3000).shape == (3000, 1000)
    many = [float(i) for i in range(100_000)]
    assert gyre.nest.flatten([many, many]) == [*many, *many]
    assert len(gyre.nest.flatten(doubled(16, MAKERS[1]))) == 2**16

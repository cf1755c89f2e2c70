"""vectorized_map against map_fn: the same rows, in the same structure,
without a loop where one is not needed."""

import warnings

import numpy as np
import pytest

import gyre
from row_functions import C3, CASES, B, W


def of_tuple(case):
    return case.fn if len(case.elems) == 1 else lambda rows: case.fn(*rows)


def elems_of(case):
    return case.elems[0] if len(case.elems) == 1 else case.elems


def quietly(fn, elems):
    """vectorized_map, and the ops that its warning names."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = gyre.vectorized_map(fn, elems)
    named = [
        part.split(" '")[0].split()[-1]
        for w in caught
        for part in str(w.message).split("; ")
        if " '" in part
    ]
    return result, named


def assert_same(case, got, want):
    gyre.nest.assert_same_structure(got, want)
    for g, w in zip(gyre.nest.flatten(got), gyre.nest.flatten(want)):
        assert g.dtype == w.dtype
        g, w = g.numpy(), w.numpy()
        assert g.shape == w.shape
        if case.exact or w.dtype.kind not in "fc":
            np.testing.assert_array_equal(g, w)
        else:
            np.testing.assert_allclose(g, w, rtol=1e-5, atol=1e-5)


each_case = pytest.mark.parametrize("case", CASES, ids=[c.name for c in CASES])


@each_case
def test_eagerly(case):
    got, loops = quietly(of_tuple(case), elems_of(case))
    assert loops == list(case.loops)
    assert_same(case, got, gyre.map_fn(of_tuple(case), elems_of(case)))


@each_case
@pytest.mark.parametrize("known", ["shapes", "ranks"])
def test_in_a_function(case, known):
    """Rows are not known in number, and, the second time, of unknown sizes."""
    specs = [
        gyre.TensorSpec([None] * e.ndim if known == "ranks" else [None, *e.shape[1:]], e.dtype)
        for e in case.elems
    ]

    @gyre.function(input_signature=specs)
    def batched(*elems):
        return quietly(of_tuple(case), elems if len(elems) > 1 else elems[0])[0]

    assert_same(case, batched(*case.elems), gyre.map_fn(of_tuple(case), elems_of(case)))


@pytest.mark.parametrize("case", [c for c in CASES if c.loops != ("fn",)], ids=lambda c: c.name)
def test_without_rows(case):
    """No rows make no rows, of the same sizes. (A loop of no iterations cannot know sizes that rows
    decide.)"""
    none = [e[:0] for e in case.elems]
    got, _ = quietly(of_tuple(case), none[0] if len(none) == 1 else tuple(none))
    want = gyre.map_fn(of_tuple(case), elems_of(case))
    for g, w in zip(gyre.nest.flatten(got), gyre.nest.flatten(want)):
        assert g.numpy().shape == (0, *w.numpy().shape[1:])


@each_case
def test_gradient(case):
    """By the rows, and by what is the same for all."""

    def gradients(mapped):
        elems = [gyre.constant(e) for e in case.elems]
        sources = [e for e in elems if e.dtype.is_floating] + [W, B, C3]
        with gyre.GradientTape() as tape:
            tape.watch(sources)
            rows = mapped(of_tuple(case), elems[0] if len(elems) == 1 else tuple(elems))
            ys = [y for y in gyre.nest.flatten(rows) if y.dtype.is_floating]
            loss = (
                gyre.add_n([gyre.reduce_sum(gyre.sin(y)) for y in ys]) if ys else gyre.constant(0.0)
            )
        return tape.gradient(loss, sources, unconnected_gradients="zero")

    got = gradients(lambda fn, elems: quietly(fn, elems)[0])
    for g, w in zip(got, gradients(gyre.map_fn)):
        np.testing.assert_allclose(
            gyre.convert_to_tensor(g), gyre.convert_to_tensor(w), rtol=2e-4, atol=2e-4
        )

"""Tensors of which not even the rank is known: functions compute with them, or name the argument
and say what to do."""

import importlib
import inspect

import numpy as np
import pytest

import gyre
import gyre.compat.v1 as v1
from gyre._impl import facade

# Where functions of tensors are defined.
PLACES = (
    "gyre._impl.ops.",
    "gyre._impl.composed.",
    "gyre._impl.composites.",
    "gyre._impl.random",
    "gyre.nn",
    "gyre._impl.control_flow.",
    "gyre._impl.compat.v1.arrays",
    "gyre._impl.compat.v1.nn",
    "gyre._impl.compat.v1.losses",
    "gyre._impl.compat.v1.rnn",
)


def functions():
    """{name: function} of the public functions of tensors, each once."""
    found = {}
    for name, place in facade.names().items():
        if place.startswith(PLACES):
            value = facade.resolve(place)
            if inspect.isfunction(value) and value not in found.values():
                found[name] = value
    for name in ("softmax", "conv2d", "embedding_lookup"):
        found[f"nn.{name}"] = getattr(importlib.import_module("gyre.nn"), name)
    return found


def traced(f, dtype):
    return gyre.function(f, input_signature=[gyre.TensorSpec(None, dtype)]).get_concrete_function()


# What arguments of these names are given; all others are tensors.
NUMBERS = {"axis": 1, "axes": 1, "num": 3, "num_lower": 0, "num_upper": 0, "num_segments": 3}


def with_tensors(function, arguments):
    return lambda x: function(*(NUMBERS.get(argument, x) for argument in arguments))


@pytest.mark.parametrize("dtype", ["float32", "int32", "bool", "string"])
def test_no_function_takes_the_missing_rank_for_a_shape(dtype):
    tried, wrong = 0, []
    for name, function in functions().items():
        needed = [
            p.name
            for p in inspect.signature(function).parameters.values()
            if p.default is p.empty and p.kind is p.POSITIONAL_OR_KEYWORD
        ]
        if not needed:
            continue
        tried += 1

        try:
            traced(with_tensors(function, needed), dtype)
        except Exception as error:
            if "NoneType" in str(error):
                wrong.append(f"{name}: {error}")
    assert tried > 250 and wrong == []


L = gyre.linalg
NEED = {
    "linspace needs to know the rank of 'start'": lambda x: gyre.linspace(x, x + 1, 3),
    "tensor_diag_part needs to know the rank of 'input'": L.tensor_diag_part,
    "norm needs to know the rank of 'tensor'": lambda x: gyre.norm(x, 1, [-2, -1]),
    "tensordot needs to know the rank of 'b'": lambda x: gyre.tensordot([[1.0]], x, 1),
    "sort needs to know the rank of 'values'": gyre.sort,
    "gather_nd needs to know the rank of 'indices'": lambda x: gyre.gather_nd(
        gyre.ones([2, 2]), gyre.cast(x, gyre.int32), batch_dims=1
    ),
    "Softmax along another axis than the last needs to know the rank of 'logits'": lambda x: (
        gyre.nn.softmax(x, axis=0)
    ),
    "softmax_cross_entropy_with_logits needs to know the rank of 'logits'": lambda x: (
        gyre.nn.softmax_cross_entropy_with_logits(x, x, axis=0)
    ),
    "embedding_lookup needs to know the rank of 'ids'": lambda x: gyre.nn.embedding_lookup(
        gyre.ones([3, 2]), gyre.cast(x, gyre.int32), max_norm=1.0
    ),
    "label_smoothing needs to know the rank of 'onehot_labels'": lambda x: (
        v1.losses.softmax_cross_entropy(x, x, label_smoothing=0.1)
    ),
}


@pytest.mark.parametrize("text", NEED)
def test_what_needs_a_rank_says_so(text):
    with pytest.raises(ValueError, match=text.replace("(", r"\(")) as caught:
        traced(NEED[text], "float32")
    assert "gyre.ensure_shape(" in str(caught.value)


def test_what_needs_a_rank_in_a_session_says_so():
    cell = v1.nn.rnn_cell.BasicRNNCell(3)
    with v1.Graph().as_default():
        x = v1.placeholder(gyre.float32)
        for time_major in (False, True):
            with pytest.raises(ValueError, match="dynamic_rnn needs to know the rank of 'inputs'"):
                v1.nn.dynamic_rnn(cell, x, dtype=gyre.float32, time_major=time_major)
        with pytest.raises(ValueError, match="static_rnn needs to know the rank of 'inputs'"):
            v1.nn.static_rnn(cell, [x], dtype=gyre.float32)


def test_what_takes_matrices_says_so():
    for function in (
        L.diag_part,
        L.trace,
        L.cholesky,
        lambda x: L.band_part(x, 0, 0),
        lambda x: L.set_diag(x, x),
        L.matrix_transpose,
    ):
        with pytest.raises(
            ValueError, match=r"takes '\w+' of rank 2 or more, not of shape (\(3,\)|\[3\])$"
        ):
            function(gyre.ones([3]))


MATRICES = np.stack([np.eye(3) * 4 + 1, np.eye(3) * 9 + 2]).astype(np.float32)
ANY_RANK = {
    "diag_part": L.diag_part,
    "diag_part_of_k": lambda x: L.diag_part(x, k=-1),
    "trace": L.trace,
    "band_part": lambda x: L.band_part(x, 0, -1),
    "cholesky": L.cholesky,
    "set_diag": lambda x: L.set_diag(x, gyre.zeros([3])),
    "matrix_transpose": L.matrix_transpose,
    "triangular_solve": lambda x: L.triangular_solve(x, x),
    "unsorted_segment_mean": lambda x: gyre.math.unsorted_segment_mean(
        x, gyre.constant([0, 1, 0]), 2
    ),
}


@pytest.mark.parametrize("name", ANY_RANK)
def test_rows_of_unknown_rank(name):
    f = ANY_RANK[name]

    @gyre.function(input_signature=[gyre.TensorSpec(None, gyre.float32)])
    def of_rows(x):
        return gyre.vectorized_map(f, x, warn=False)

    want = np.stack([f(gyre.constant(matrix)).numpy() for matrix in MATRICES])
    np.testing.assert_array_equal(of_rows(gyre.constant(MATRICES)), want)
    np.testing.assert_array_equal(gyre.vectorized_map(f, MATRICES, warn=False), want)


def dims_of(function, spec):
    """What is known of the shape of its result."""
    seen = []
    gyre.function(lambda x: seen.append(function(x).shape.as_list())).get_concrete_function(spec)
    return seen[0]


def test_outer_sizes_stay_known():
    spec = gyre.TensorSpec([5, 3, 4], gyre.float32)
    assert dims_of(L.diag_part, spec) == [5, 3]
    assert dims_of(L.trace, spec) == [5]
    assert dims_of(lambda x: L.band_part(x, 0, 0), spec) == [5, 3, 4]
    assert dims_of(L.matrix_transpose, spec) == [5, 4, 3]

"""What people get wrong, and what they are told: what it was, in their own words and lines,
and what to do."""

import operator

import numpy as np
import pytest

import gyre
import gyre.compat.v1 as v1
from gyre import raw_ops as raw


def conv_of_other_channels():
    return gyre.nn.conv2d(gyre.ones([1, 5, 5, 3]), gyre.ones([3, 3, 4, 8]), 1, "SAME")


def conv_of_other_channels_first():
    return gyre.nn.conv2d(
        gyre.ones([1, 3, 5, 5]), gyre.ones([3, 3, 4, 8]), 1, "SAME", data_format="NCHW"
    )


def conv_of_one_image():
    return gyre.nn.conv2d(gyre.ones([5, 5, 3]), gyre.ones([3, 3, 3, 8]), 1, "SAME")


def conv_of_other_dtypes():
    return gyre.nn.conv2d(gyre.ones([1, 5, 5, 3], gyre.float64), gyre.ones([3, 3, 3, 8]), 1, "SAME")


def conv_of_small_images():
    return gyre.nn.conv2d(gyre.ones([1, 3, 3, 1]), gyre.ones([5, 5, 1, 1]), 1, "VALID")


def eye_of_less_than_nothing():
    return gyre.eye(2, -1)


def einsum_of_other_letters():
    return gyre.einsum("éa,ab->éb", gyre.ones([2, 2]), gyre.ones([2, 2]))


def einsum_without_an_equation():
    return gyre.einsum(gyre.ones([2, 2]), gyre.ones([2, 2]))


def indices_of_floats():
    return gyre.one_hot(gyre.constant([1.5]), 3)


def softmax_of_ints():
    return gyre.nn.softmax(gyre.constant([1, 2]))


def text_to_number():
    return gyre.cast(gyre.constant("1"), gyre.int32)


def number_to_text():
    return gyre.cast(gyre.constant(1), gyre.string)


def another_keyword():
    return gyre.reduce_sum(gyre.ones([2]), axes=1)


def another_graph():
    with v1.Graph().as_default():
        a = v1.constant(1.0)
    with v1.Graph().as_default():
        return a + v1.constant(1.0)


def rows_of_a_set():
    return gyre.map_fn(lambda row: row, {1, 2})


def states_over_a_generator():
    return gyre.scan(lambda state, row: row, (i for i in [1, 2]))


def vectorized_rows_of_a_set():
    return gyre.vectorized_map(lambda row: row, {1, 2})


def stack_of_a_scalar():
    return gyre.stack(5)


def loop_without_a_body():
    return raw.While(input=[1], cond=gyre.function(lambda x: x < 3), body=None)


def branches_that_are_none():
    return raw.Case(branch_index=0, input=[], Tout=[], branches=None)


def call_of_a_number():
    return raw.PartitionedCall(args=[], Tout=[], f=5)


MISTAKES = {
    rows_of_a_set: ["elems must hold tensors, not a set"],
    states_over_a_generator: ["elems must hold tensors, not a generator"],
    vectorized_rows_of_a_set: ["elems must hold tensors, not a set"],
    stack_of_a_scalar: ["stack needs a list of tensors", "not a scalar"],
    loop_without_a_body: ["body of While must be a gyre.function", "not None"],
    branches_that_are_none: ["branches of Case must be a list of functions, not None"],
    call_of_a_number: ["f of PartitionedCall must be a gyre.function", "not 5"],
    conv_of_other_channels: ["3 channels", "axis 3", "filters of shape (3, 3, 4, 8) are for 4"],
    conv_of_other_channels_first: ["3 channels", "axis 1", "NCHW"],
    conv_of_one_image: ["images of rank 4", "(5, 5, 3)"],
    conv_of_other_dtypes: ["float64", "filters are float32", "cast"],
    conv_of_small_images: [
        "filters of shape (5, 5, 1, 1) reach over 5",
        "height",
        "is 3",
        "'SAME'",
    ],
    eye_of_less_than_nothing: ["eye takes sizes of 0 or more", "num_columns is -1"],
    einsum_of_other_letters: ["'é' cannot name a dimension", "a to z or A to Z"],
    einsum_without_an_equation: ["takes its equation first", "not a Tensor"],
    indices_of_floats: ["input 'indices' of OneHot", "int32", "float32", "cast"],
    softmax_of_ints: ["input 'logits' of Softmax", "float32", "is int32", "cast"],
    text_to_number: ["from string to int32", "StringToNumber"],
    number_to_text: ["from int32 to string", "AsString"],
    another_keyword: ["reduce_sum()", "'axes'"],
    another_graph: ["belongs to graph 'graph'", "another of that name"],
}


@pytest.mark.parametrize("in_function", [False, True], ids=["eager", "function"])
@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda mistake: mistake.__name__)
def test_the_error_speaks_of_what_the_user_wrote(mistake, in_function):
    with pytest.raises(Exception) as caught:
        (gyre.function(mistake) if in_function else mistake)()
    text = str(caught.value)
    for part in MISTAKES[mistake]:
        assert part in text, text
    assert "<locals>" not in text and "eshape is" not in text


@pytest.mark.parametrize("kind", [int, float, complex, operator.index])
def test_several_numbers_are_not_one(kind):
    for value in (gyre.constant([1, 2]), gyre.Variable([1, 2])):
        with pytest.raises(
            TypeError, match=r"shape \[2\] is not one number: take an element \(x\[0\]\)"
        ):
            kind(value)
    assert kind(gyre.constant(3)) == 3


def test_filters_that_turn_out_to_be_larger_than_the_images():
    @gyre.function(input_signature=[gyre.TensorSpec([None, None, None, 1], gyre.float32)] * 1)
    def convolved(x):
        return gyre.nn.conv2d(x, gyre.ones([2, 5, 1, 1]), [1, 2], "VALID")

    for width in (1, 2):
        with pytest.raises(
            gyre.errors.InvalidArgumentError,
            match=rf"a window of 5 .* spatial dimension 1 of size {width} with its padding",
        ):
            convolved(gyre.ones([1, 3, width, 1]))
    # Smaller by a step at most: there is a result, without anything in it.
    assert convolved(gyre.ones([1, 3, 3, 1])).shape == (1, 2, 0, 1)
    assert convolved(gyre.ones([1, 1, 5, 1])).shape == (1, 0, 1, 1)
    images = gyre.ones([1, 3, 3, 1])
    assert gyre.nn.conv2d(images, gyre.ones([5, 5, 1, 1]), 2, "VALID").shape == (1, 0, 0, 1)


@pytest.mark.parametrize(
    "trace",
    [
        lambda p: gyre._gyre.trace_cond(p, lambda: [1], lambda: [gyre.constant(1.0)]),
        lambda p: gyre._gyre.trace_cond(p, lambda: [p], lambda: [gyre.constant(1.0)]),
        lambda p: gyre._gyre.trace_while(lambda v: 1, lambda v: v, [gyre.constant(1.0)]),
        lambda p: gyre._gyre.trace_while(lambda v: p, lambda v: [p], [gyre.constant(1.0)]),
    ],
    ids=["constants", "placeholder", "condition", "body"],
)
def test_no_place_is_better_than_an_empty_one(trace):
    from gyre._impl.tracing import lines

    with gyre._gyre.Graph() as graph:
        gyre._gyre.set_line_provider(None)
        try:
            with pytest.raises(ValueError) as caught:
                trace(graph.placeholder(gyre.bool, []))
        finally:
            lines.install()
    text = str(caught.value)
    assert "made at" not in text and "\n  at " not in text and ".cc" not in text, text
    with gyre._gyre.Graph() as graph, pytest.raises(ValueError, match="test_common_mistakes.py:"):
        trace(graph.placeholder(gyre.bool, []))


def test_places_are_the_users_even_where_the_library_calls():
    import json
    import random

    from gyre._impl.tracing.lines import is_ours, place

    assert all(is_ours(module.__file__) for module in (json, random, operator))
    assert not is_ours(__file__) and not is_ours(np.__file__) and not is_ours("<stdin>")
    lines = []
    json.dumps({"at": object()}, default=lambda _: lines.append(place()))
    assert lines and lines[0].startswith("test_common_mistakes.py:")


UNKNOWN_SIZES = {
    "zeros": lambda n: gyre.zeros([n]),
    "ones beside others": lambda n: gyre.ones((2, n)),
    "a size that a tensor is": lambda n: gyre.zeros([gyre.constant(2), n]),
    "fill": lambda n: gyre.fill([n], 1.0),
    "tile": lambda n: gyre.tile([1.0], [n]),
    "broadcast_to": lambda n: gyre.broadcast_to(1.0, [n]),
    "random.uniform": lambda n: gyre.random.uniform([n]),
    "random.normal": lambda n: gyre.random.normal([n, 2]),
    "random.stateless_uniform": lambda n: gyre.random.stateless_uniform([n], [1, 2]),
    "slice": lambda n: gyre.slice(gyre.ones([3]), [0], [n]),
}


@pytest.mark.parametrize("make", UNKNOWN_SIZES.values(), ids=UNKNOWN_SIZES)
def test_sizes_that_are_not_known_are_told_where_they_are_given(make):
    function = gyre.function(
        lambda x: make(x.shape[0]), input_signature=[gyre.TensorSpec([None])], autograph=False
    )
    with pytest.raises(ValueError, match=r"None, which is not known here; use gyre.shape\(x\)\[i"):
        function(gyre.ones([3]))


def test_one_size_of_what_is_reshaped_follows_from_the_others():
    function = gyre.function(
        lambda x: gyre.reshape(x, [gyre.constant(1), x.shape[0]]) + gyre.reshape(x, [1, None]),
        input_signature=[gyre.TensorSpec([None])],
    )
    assert function(gyre.ones([3])).numpy().tolist() == [[2.0, 2.0, 2.0]]


@pytest.mark.parametrize("traced", [False, True])
def test_arrays_without_a_size(traced):
    def make():
        return gyre.TensorArray(gyre.float32, size=None, dynamic_size=True).write(0, 1.0).stack()

    with pytest.raises(ValueError, match="a TensorArray needs a size: 0 with dynamic_size=True"):
        (gyre.function(make) if traced else make)()


@pytest.mark.parametrize(
    "show",
    [lambda x: f"{x:.2f}", lambda x: f"{x:5d}", lambda x: format(x, "e"), "{:.1%}".format],
)
def test_numbers_formats_of_what_has_no_value_yet(show):
    with pytest.raises(TypeError, match="known when the program runs only: gyre.print shows it"):
        gyre.function(lambda x: show(x) and x)(gyre.constant(1))
    with pytest.raises(TypeError, match=r"is one of numbers, not of a tensor of shape \(2,\)"):
        show(gyre.constant([1, 2]))


def test_gradients_of_loops_of_primitives_say_how_they_are_raised():
    graph = v1.Graph()
    with graph.as_default():
        v1.disable_control_flow_v2()
        try:
            x = v1.placeholder(gyre.float32, [])
            gyre.identity(v1.while_loop(lambda y: y < 9.0, lambda y: y * y, [x]), name="y")
            exported = graph.as_graph_def()
        finally:
            v1.enable_control_flow_v2()
    with v1.Graph().as_default():
        x = v1.placeholder(gyre.float32, [])
        old = {graph.get_operations()[0].name + ":0": x}
        (y,) = v1.import_graph_def(exported, old, ["y:0"])
        with pytest.raises(gyre.errors.FailedPreconditionError) as caught:
            v1.gradients(y, x)
    assert "'gyre show GRAPH --raised --full > raised.gyre' writes the graph" in str(caught.value)
    assert "'gyre convert raised.gyre raised.pb' makes a GraphDef" in str(caught.value)

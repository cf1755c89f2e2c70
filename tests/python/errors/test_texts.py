"""Errors say what is wrong and what to do about it, in the words of the program."""

import numpy as np
import pytest

import gyre
import gyre.compat.v1 as v1


@pytest.mark.parametrize(
    "body", [lambda i, j: [i + 1], lambda i, j: [i + 1, {"a": j}]], ids=["fewer", "deeper"]
)
def test_a_body_of_another_structure_is_told_with_its_loop(body):
    with (
        v1.Graph().as_default(),
        pytest.raises(ValueError, match=r"the body of steps at test_texts.py:\d+") as error,
    ):
        v1.while_loop(lambda i, j: i < 3, body, [v1.constant(0), v1.constant(1)], name="steps")
    assert "an int32 tensor of shape []" in str(error.value)


def test_reading_what_was_never_written_says_what_to_do():
    with pytest.raises(
        gyre.errors.InvalidArgumentError, match="index 0 .* before it is written.* element_shape"
    ):
        gyre.TensorArray("float32", 3).read(0)


def test_states_that_grow_cannot_be_stacked():
    with pytest.raises(
        ValueError,
        match=r"fn of scan returns a state of shape \[3\] after one of shape \[2\].*foldl",
    ):
        gyre.scan(
            lambda a, x: gyre.concat([a, [x]], 0),
            gyre.constant([1.0, 2.0]),
            initializer=gyre.constant([0.0]),
        )


USES = {
    "an operator": lambda t: t + 1.0,
    "from the right": lambda t: gyre.constant(1.0) * t,
    "an op": gyre.sin,
    "a comparison": lambda t: t > 0,
    "an index": lambda t: t[..., None],
    "a print": gyre.print,
    "an assignment": lambda t: gyre.Variable(1.0).assign(t),
    "another function": lambda t: gyre.function(lambda x: x + t)(1.0),
}


@pytest.mark.parametrize("use", USES)
def test_a_tensor_that_left_its_trace_cannot_be_computed_with(use):
    left = []

    @gyre.function
    def traced(x):
        left.append(x + 1.0)
        return left[0]

    traced(gyre.constant(1.0))
    with pytest.raises(
        gyre.errors.InaccessibleTensorError, match="belongs to graph 'traced'.*return it from"
    ):
        USES[use](left[0])


def test_articles():
    f = gyre.function(lambda x: x, input_signature=[gyre.TensorSpec([], "float32")])
    with pytest.raises(TypeError, match="given an int32 tensor"):
        f(gyre.constant(1))
    g = gyre.function(lambda x: x, input_signature=[gyre.TensorSpec([], "int32")])
    with pytest.raises(TypeError, match="given a uint8 tensor"):
        g(gyre.constant(1, "uint8"))


@pytest.mark.parametrize("use_resource", [True, False])
def test_a_saver_names_variables_of_other_shapes(tmp_path, use_resource):
    def session_of(shape):
        v1.get_variable("kept", initializer=1.0, use_resource=use_resource)
        v1.get_variable("changed", initializer=np.zeros(shape, "f"), use_resource=use_resource)
        return v1.train.Saver(), v1.Session()

    with v1.Graph().as_default():
        saver, session = session_of([2])
        session.run(v1.global_variables_initializer())
        path = saver.save(session, str(tmp_path / "m"))
    with v1.Graph().as_default():
        saver, session = session_of([3, 1])
        with pytest.raises(
            gyre.errors.InvalidArgumentError, match=r"'changed' has shape \[2\].* has \[3, 1\]"
        ) as error:
            saver.restore(session, path)
    assert "kept" not in str(error.value) and path in str(error.value)

"""Names of the newer interface where a session's graph is the default, and names of the older one
in eager code and in functions."""

import subprocess
import sys

import numpy as np
import pytest

import gyre
import gyre.compat.v1 as tf


def test_graph_is_that_of_sessions():
    assert gyre.Graph is tf.Graph
    with gyre.Graph().as_default() as graph:
        assert tf.get_default_graph() is graph and not gyre.executing_eagerly()
        assert isinstance(gyre.constant(1).op, tf.Operation)


def test_variables_are_kept_by_sessions(run):
    v = gyre.Variable([1.0, 2.0])
    assert v in tf.global_variables() and isinstance(v.initializer, tf.Operation)
    written = v.assign_add([1.0, 1.0])
    again = written.assign_add([10.0, 10.0])  # waits for the first
    assert written.op.type == "AssignAddVariableOp"
    assert run([again, again.read_value() * 2.0])[1].tolist() == [24.0, 26.0]


def test_variables_of_eager_code_have_no_initializer():
    v = gyre.Variable(1.0)
    assert v.initializer is None and bool(v.is_initialized())
    assert np.array([v]).tolist() == [1.0]


@pytest.mark.parametrize(
    "make",
    [
        lambda x: gyre.group(x),
        lambda x: gyre.no_op(),
        lambda x: gyre.print(x),
        lambda x: gyre.Assert(x > 0, [x]),
        lambda x: gyre.debugging.assert_equal(x, x),
        lambda x: gyre.raw_ops.AssignVariableOp(resource=gyre.Variable(1.0).handle, value=1.0),
        lambda x: gyre.py_function(lambda: None, [], []),
    ],
)
def test_what_returns_nothing_is_an_operation_there(graph, make):
    assert isinstance(make(tf.placeholder("float32", [])), tf.Operation)


def test_what_a_group_holds_is_waited_for_on_each_device(graph):
    with graph.device("/task:0"):
        a, b = gyre.constant(0), gyre.constant(0)
    with graph.device("/task:1"):
        c = gyre.constant(0)
    group = gyre.group(a, b.op, c, name="all")
    assert group.name == "all" and [(o.name, o.device) for o in group.control_inputs] == [
        ("all/NoOp", "/task:0"),
        ("all/NoOp_1", "/task:1"),
    ]
    alone = gyre.group(a, b)
    assert alone.device == "/task:0" and alone.control_inputs == [a.op, b.op]


def test_gradients(run):
    v, x = gyre.Variable(3.0), gyre.constant(2.0)
    assert run(gyre.gradients(v * v * x, [v, x])) == [12.0, 9.0]
    with gyre.GradientTape() as tape:
        y = v * x
    assert run(tape.gradient(y, v)) == 2.0
    assert run(gyre.function(lambda: tf.gradients(v * v, [v])[0])()) == 6.0
    assert run(gyre.hessians(v * v, [v])[0]) == 2.0
    with pytest.raises(LookupError):
        tf.gradients(gyre.raw_ops.PreventGradient(input=x), x)


def test_a_construct_that_takes_a_tensor_has_an_adjoint_of_zeros(run):
    x, y = gyre.Variable(1.0), gyre.Variable(2.0)
    yes = tf.placeholder_with_default(True, [])
    taken = gyre.cond(yes, lambda: x * y, lambda: 2.0)
    (slope,) = gyre.gradients(taken, x)
    (second,) = gyre.gradients(slope, x)
    assert run([slope, second]) == [2.0, 0.0]
    assert gyre.gradients(taken, gyre.Variable(1.0)) == [None]


def test_eager_mode_and_init_scope():
    with gyre.Graph().as_default():
        with gyre.__internal__.eager_context.eager_mode():
            assert float(gyre.constant(2.0) + 1) == 3
            with gyre.init_scope():
                assert gyre.executing_eagerly()
            with gyre.Graph().as_default(), gyre.init_scope():
                assert not gyre.executing_eagerly()
        with gyre.init_scope():
            assert not gyre.executing_eagerly()


def test_eager_execution_comes_back_while_nothing_was_built():
    code = """
import gyre, gyre.compat.v1 as tf
tf.disable_v2_behavior()
tf.enable_eager_execution()
assert float(gyre.constant(1.0) + 1) == 2
tf.disable_eager_execution()
gyre.constant(1.0)
try:
    tf.enable_eager_execution()
except ValueError:
    print("ValueError")
"""
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert said.stdout == "ValueError\n"


def test_get_variable_without_a_graph():
    with tf.variable_scope("a"):
        first, second = tf.get_variable("w", [2]), tf.get_variable("w", [2])
    assert first.name == "a/w:0" and first is not second


def test_graph_of_a_function():
    @gyre.function
    def f(x):
        graph = tf.get_default_graph()
        seen.append((graph, graph.is_control_flow_graph))
        with graph.control_dependencies([x]), graph.name_scope("inner"):
            tf.while_loop(lambda i: i < 3, lambda i: i + 1, [0], name="steps")
            return x + 1.0

    seen = []
    assert float(f(gyre.constant(1.0))) == 2.0
    graph = f.get_concrete_function(gyre.TensorSpec([])).graph
    assert seen[0] == (graph, False)
    operation = graph.get_operation_by_name("inner/steps")
    assert operation is operation.outputs[0].op


def test_body_that_is_traced_twice_makes_variables_once(run):
    def scaled(x):
        with tf.variable_scope("body"):
            return x * tf.get_variable("two", initializer=2.0)

    with tf.variable_scope("root"):
        mapped = tf.map_fn(scaled, gyre.constant([1.0, 2.0]))
        with pytest.raises(ValueError, match="already exists"):
            tf.scan(lambda a, x: a + scaled(x), gyre.constant([1.0, 2.0]))
    assert [v.name for v in tf.global_variables()] == ["root/body/two:0"]
    assert run(mapped).tolist() == [2.0, 4.0]


def test_marks_of_operations(graph):
    operation = gyre.constant(1).op
    operation._set_attr("_mark", tf.AttrValue(b=True))
    assert operation.get_attr("_mark") is True and graph.as_graph_def().node[0].attr["_mark"].b
    with pytest.raises(ValueError, match="cannot be changed"):
        operation._set_attr("dtype", tf.AttrValue(b=True))


def test_jacobians_by_differences(sess):
    x = gyre.constant([[1.0, 2.0], [3.0, 4.0]])
    y = gyre.reduce_sum(x * x, 1)
    by_gradient, by_differences = tf.test.compute_gradient(x, [2, 2], y, [2], x.eval(), 0.25)
    assert by_gradient.tolist() == [[2, 0], [4, 0], [0, 6], [0, 8]]
    np.testing.assert_allclose(by_gradient, by_differences, atol=1e-5)
    assert tf.test.compute_gradient_error(x, [2, 2], y, [2], x.eval(), 0.25) < 1e-4


def test_small_names_that_programs_look_at():
    internal = gyre.__internal__
    assert isinstance(gyre.ragged.constant([[1]]), internal.CompositeTensor)
    assert not isinstance(gyre.constant(1), internal.CompositeTensor)
    branches = {"cpu": lambda: 1, "GPU": lambda: 2}
    assert int(internal.execute_fn_for_device(branches, lambda: 3)) == 1
    assert int(internal.execute_fn_for_device({"TPU": lambda: 2}, lambda: 3)) == 3
    assert gyre.constant([1])._shape_tuple() == (1,)
    with gyre.Graph().as_default() as graph:
        assert not graph.is_control_flow_graph
    assert not tf.RunMetadata().HasField("cost_graph")

"""Graphs: names as the peer gives them, elements, scopes, devices, collections,
the default graph."""

import re

import numpy as np
import pytest

import gyre
import gyre.compat.v1 as tf


def names(graph):
    return [operation.name for operation in graph.get_operations()]


def test_names_of_operators(graph):
    x = tf.placeholder(tf.float32, [None, 3])
    x + 1, 1 - x, x * x, x / 2, -x, x**2, x < 0, abs(x), x // 2, x % 2
    assert names(graph) == [
        "Placeholder",
        "add/y",
        "add",
        "sub/x",
        "sub",
        "mul",
        "truediv/y",
        "truediv",
        "Neg",
        "pow/y",
        "pow",
        "Less/y",
        "Less",
        "Abs",
        "floordiv/y",
        "floordiv",
        "mod/y",
        "mod",
    ]


def test_names_of_functions(graph):
    x = tf.placeholder(tf.float32, [2, 3], name="x")
    (
        tf.reduce_sum(x),
        tf.reduce_sum(x, 1),
        tf.cast(x, tf.int32),
        tf.add(x, x),
        tf.matmul(x, x, transpose_b=True),
    )
    (
        tf.concat([x, x], 0),
        tf.stack([x, x]),
        tf.zeros([2]),
        tf.shape(x),
        tf.identity(x),
        tf.nn.relu(x),
    )
    made = names(graph)
    for name in (
        "Const",
        "Sum",
        "Sum_1",
        "Cast",
        "Add",
        "MatMul",
        "concat",
        "stack",
        "zeros",
        "Shape",
        "Identity",
        "Relu",
    ):
        assert name in made


def test_case_counts_as_one_name(graph):
    a, b = tf.constant(1, name="c"), tf.constant(1, name="C")
    assert (a.name, b.name) == ("c:0", "C_1:0")


def test_name_scopes(graph):
    with tf.name_scope("s") as scope:
        a = tf.constant(1.0)
        with tf.name_scope("t"):
            b = a + 1
    with tf.name_scope("s") as second:
        c = tf.constant(2.0)
    with tf.name_scope(scope):
        d = tf.constant(3.0)
    with tf.name_scope("s"), graph.name_scope(None):
        e = tf.constant(4.0, name="top")
    assert (scope, second) == ("s/", "s_1/")
    assert [t.name for t in (a, b, c, d, e)] == [
        "s/Const:0",
        "s/t/add:0",
        "s_1/Const:0",
        "s/Const_1:0",
        "top:0",
    ]
    assert graph.get_name_scope() == ""
    with pytest.raises(ValueError, match="is not a valid root scope name"), tf.name_scope("_no"):
        pass


def test_unique_name(graph):
    tf.constant(1, name="x")
    assert graph.unique_name("x", mark_as_used=False) == "x_1"
    assert [graph.unique_name("y"), graph.unique_name("y"), graph.unique_name("x")] == [
        "y",
        "y_1",
        "x_1",
    ]


def test_elements_by_name(graph):
    x = tf.placeholder(tf.float32, [2], name="x")
    assert graph.get_tensor_by_name("x:0") == x and graph.get_operation_by_name("x") is x.op
    assert graph.as_graph_element("x") is x.op and graph.as_graph_element(x) is x
    for name in ("nothing:0", "x:1"):
        with pytest.raises(KeyError):
            graph.get_tensor_by_name(name)
    with pytest.raises(KeyError, match="not in the graph"):
        graph.get_operation_by_name("nothing")
    with pytest.raises(ValueError):
        graph.get_tensor_by_name("x")
    with pytest.raises(TypeError):
        graph.as_graph_element(3)
    assert graph.is_fetchable(x.op) and graph.is_feedable(x) and not graph.is_feedable(x.op)


def test_tensors_are_keys_and_compare_by_what_they_are(graph):
    x = tf.placeholder(tf.float32, [])
    y = x + 1
    assert x == x.op.outputs[0] and x != y and {x: 1}[x.op.outputs[0]] == 1
    with gyre.__internal__.eager_context.eager_mode():
        assert bool(gyre.constant(1) == gyre.constant(1))
        with pytest.raises(TypeError, match="key of a dict"):
            hash(gyre.constant(1))


def test_operations(graph):
    x = tf.placeholder(tf.float32, [2, 2], name="x")
    with tf.control_dependencies([x]):
        product = tf.matmul(x, x, transpose_a=True, name="product")
    operation = product.op
    assert (
        operation.type == "MatMul" and operation.inputs == (x, x) and operation.outputs == [product]
    )
    assert operation.control_inputs == [] or operation.control_inputs == [x.op]
    assert operation.get_attr("transpose_a") is True and operation.get_attr("T") == tf.float32
    with pytest.raises(ValueError, match="no attr named 'nothing'"):
        operation.get_attr("nothing")
    assert x.consumers() == [operation] and product.value_index == 0
    assert operation.node_def.attr["T"].type == tf.float32.as_datatype_enum
    assert operation.graph is graph and operation in {operation}


def test_control_dependencies_order(run):
    v = tf.Variable(1.0)
    with tf.control_dependencies([v.assign(5.0)]):
        after = v.read_value() + 0.0
        with tf.control_dependencies(None):
            free = tf.constant(1.0)
    assert [o.name for o in free.op.control_inputs] == []
    assert run(after) == 5.0


def test_nothing_runs_that_is_not_asked_for(run, sess):
    v = tf.Variable(1.0)
    v.assign(100.0)
    tf.Print(v, [v], "not to be seen")
    assert run(v + 1.0) == 2.0
    assert sess.run(v) == 1.0


def test_device_and_colocation(graph):
    with tf.device("/job:worker/task:1"), tf.device("/cpu:0"):
        a = tf.constant(1.0)
        with tf.device(None):
            b = tf.constant(1.0)
    with tf.colocate_with(a):
        c = tf.constant(2.0)
    with graph.device(lambda operation: "/device:CPU:0"):
        d = tf.constant(1.0)
    assert a.device == "/job:worker/task:1/device:CPU:0" and b.device == ""
    assert c.op.colocation_groups() == [b"loc:@Const"] and a.op.colocation_groups() == [
        b"loc:@Const"
    ]
    assert d.device == "/device:CPU:0"


def test_collections(graph):
    a = tf.constant(1.0, name="scope/a")
    tf.add_to_collection("k", a)
    tf.add_to_collections(["k", "l"], 3)
    assert tf.get_collection("k") == [a, 3] and tf.get_collection("k", "scope") == [a]
    tf.get_collection_ref("l").append(4)
    assert graph.get_collection("l") == [3, 4] and set(graph.get_all_collection_keys()) == {
        "k",
        "l",
    }
    graph.clear_collection("l")
    assert graph.collections == ["k"] and tf.GraphKeys.GLOBAL_VARIABLES == "variables"


def test_finalize(graph):
    x = tf.constant(1.0)
    graph.finalize()
    for build in (
        lambda: tf.constant(1),
        lambda: x + 1,
        lambda: tf.gradients(x, x),
        lambda: graph.add_to_collection("k", 1),
    ):
        with pytest.raises(RuntimeError, match="finalized"):
            build()
    assert tf.Session().run(x) == 1.0 and graph.finalized


def test_default_graphs():
    outer = tf.get_default_graph()
    with tf.Graph().as_default() as a:
        assert tf.get_default_graph() is a
        with tf.Graph().as_default() as b:
            assert tf.get_default_graph() is b
            with pytest.raises(AssertionError, match="nested graphs"):
                tf.reset_default_graph()
        assert tf.get_default_graph() is a
    assert tf.get_default_graph() is outer


def test_tensors_of_another_graph(graph):
    x = tf.constant(1.0, name="x")
    with tf.Graph().as_default():
        y = x + 1.0  # belongs to the graph of x
        z = tf.constant(1.0)
        with pytest.raises(ValueError):
            tf.add(x, z)
    assert y.graph is graph and z.graph is not graph


def test_set_shape(graph):
    x = tf.placeholder(tf.float32)
    x.set_shape([None, 3])
    x.set_shape([2, None])
    assert x.shape.as_list() == [2, 3] and tf.shape(x).shape.as_list() == [2]
    with pytest.raises(ValueError, match=re.escape("[2,3]")):
        x.set_shape([4, 3])


def test_init_scope_leaves_bodies(sess):
    made = []

    def body(i):
        with tf.init_scope():
            made.append(tf.constant(5))
        return i + made[-1]

    assert sess.run(tf.while_loop(lambda i: i < 12, body, [0])) == 15
    assert sess.run(made[0]) == 5


def test_container_and_versions(graph):
    with tf.container("box"):
        v = tf.Variable(1.0)
    assert v.op.get_attr("container") in ("box", b"box") and graph.version == len(
        graph.get_operations()
    )
    assert graph.graph_def_versions is not None and not graph.building_function


def test_placeholder_needs_a_graph():
    with pytest.raises(RuntimeError, match="disable_eager_execution"):
        tf.placeholder(tf.float32)


def test_constants(sess):
    assert sess.run(tf.constant([1, 2], shape=[4])).tolist() == [1, 2, 2, 2]
    with pytest.raises(ValueError, match="Too many elements"):
        tf.constant([1, 2, 3], shape=[2])
    with pytest.raises(TypeError):
        tf.constant([1, 2, 3], shape=[3, 1], verify_shape=True)
    assert sess.run(tf.constant(np.float64(2))).dtype == np.float64
    value = tf.placeholder_with_default([1.0, 2.0], [None])
    assert sess.run(value).tolist() == [1, 2] and sess.run(value, {value: [3]}).tolist() == [3]
    assert sess.run([tf.zeros([2], tf.int32), tf.ones([1, 2])])[1].tolist() == [[1, 1]]


@pytest.mark.parametrize("name", ["größe", "名前", "a b", "x:0", "a\n"])
def test_names_that_the_peer_refuses_are_refused(name):
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, name="x")
        for make in (
            lambda: tf.placeholder(tf.float32, name=name),
            lambda: tf.add(x, 1.0, name=name),
            lambda: tf.identity(x, name="scope/" + name),
            lambda: tf.get_variable(name, initializer=1.0),
        ):
            before = len(graph.get_operations())
            with pytest.raises(ValueError, match="not a valid"):
                make()
            assert len(graph.get_operations()) == before


def test_functions_of_any_name_are_called_in_a_graph():
    @gyre.function
    def größe(maß):
        return gyre.add(maß, 1.0, name="é")

    with tf.Graph().as_default(), tf.Session() as session:
        assert session.run(größe(tf.constant(2.0))) == 3.0

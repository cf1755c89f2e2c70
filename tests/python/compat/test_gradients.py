"""Gradients of sessions' graphs: by rows, by variables that tapes watch, by lists of lists; where
their operations are."""

import numpy as np
import pytest

import gyre
import gyre.compat.v1 as tf


def test_gathers_within_branches_and_functions_give_rows(run):
    x = tf.constant([[2.0], [3.0], [5.0]])
    in_function = gyre.function(lambda t: gyre.gather_nd(t, [[0]]))(x)
    in_branch = tf.cond(tf.constant(True), lambda: tf.gather(x, [2, 2]), lambda: tf.gather(x, [0]))
    for y, dense in ((in_function, [[1], [0], [0]]), (in_branch, [[0], [0], [2]])):
        (slices,) = tf.gradients(y, x)
        assert isinstance(slices, gyre.IndexedSlices)
        assert run(gyre.convert_to_tensor(slices)).tolist() == dense


def test_slices_within_functions_give_tensors(run):
    x = tf.constant([[2.0], [3.0], [5.0]])
    (found,) = tf.gradients(gyre.function(lambda t: t[1:])(x), x)
    assert run(found).tolist() == [[0], [1], [1]]


def test_gradients_within_functions_by_what_rows_are_looked_up_in():
    @gyre.function
    def f():
        x = gyre.constant([[2.0], [3.0]])
        (found,) = gyre.gradients(gyre.gather(x, [1]), x)
        assert isinstance(found, gyre.IndexedSlices)
        return gyre.convert_to_tensor(found)

    assert f().numpy().tolist() == [[0], [1]]


def test_tapes_watch_variables_of_graphs(run):
    x, w = tf.Variable(2.0, trainable=False), tf.Variable(3.0)
    with gyre.GradientTape() as tape:
        tape.watch(x)
        y = x**3 * w
    assert tape.watched_variables() == (x, w)
    assert [float(g) for g in run(tape.gradient(y, [x, w]))] == [36, 8]


def test_lists_of_lists_are_differentiated(run):
    x = tf.constant(3.0)
    slope = tf.gradients([[x * x], x], [x])
    assert run(slope) == [7.0]
    assert run(tf.gradients([slope], x)) == [2.0]


def test_complex_targets_need_weights(graph):
    x = tf.constant(7 + 3j, dtype=tf.complex64)
    with pytest.raises(TypeError, match="must set grad_ys"):
        tf.gradients(tf.square(x), x)
    assert tf.gradients(tf.square(x), x, grad_ys=[tf.ones_like(x)])[0] is not None


def test_gradients_may_be_with_what_they_are_of(graph):
    w, x = tf.ones([1, 1], name="w"), tf.ones([1, 2])
    a, b = tf.matmul(w, x, name="a"), tf.matmul(w, x, name="b")
    (found,) = tf.gradients(a + b, [w], colocate_gradients_with_ops=True)
    assert found.op.colocation_groups() == a.op.colocation_groups() == [b"loc:@a"]
    marked = {n.name: list(n.attr["_class"].list.s) for n in graph.as_graph_def().node}
    assert marked[found.op.name] == [b"loc:@a"]
    (plain,) = tf.gradients(a + b, [w])
    assert plain.op.colocation_groups() != a.op.colocation_groups()
    with tf.device("/task:1"):
        c = tf.matmul(w, x, name="c")
    (found,) = tf.gradients(a + c, [w], colocate_gradients_with_ops=True)
    assert found.op.colocation_groups() == w.op.colocation_groups() == [b"loc:@w"]


def test_operations_of_gradients_know_what_they_are_of(graph):
    w, x = tf.ones([1, 1], name="w"), tf.ones([1, 2])
    product = tf.matmul(w, x, name="product")
    (found,) = tf.gradients(product, [w])
    assert found.op._original_op == product.op and product.op._original_op is None


def test_values_are_those_of_dense_gradients(run):
    w = tf.Variable(np.ones((4, 2), np.float32))
    y = tf.cond(tf.constant(False), lambda: 0.0, lambda: tf.reduce_sum(w.sparse_read([1, 2])))
    (found,) = tf.gradients(y, w)
    dense = gyre.convert_to_tensor(found)
    assert run(dense).tolist() == [[0, 0], [1, 1], [1, 1], [0, 0]]


def test_gradients_in_bodies_by_what_was_computed_outside(run):
    x = tf.constant(5.0)
    square = tf.square(x)

    def body(i, total):
        data = tf.constant([1.0, 2.0, 3.0]) * square
        return i + 1, total + tf.gradients(data, x)[0]

    assert run(tf.while_loop(lambda i, _: i < 10, body, [0, 0.0])[1]) == 600.0
    v = tf.Variable([1.0, 2.0])
    p = tf.placeholder_with_default(True, [])
    rows = tf.gather(v * 3.0, [1, 1])
    g = tf.cond(p, lambda: tf.gradients(rows * x, v)[0], lambda: tf.zeros([2]))
    assert run(g).tolist() == [0.0, 30.0]
    by_host = gyre.py_function(lambda v: v * 2.0, [x], tf.float32)
    with pytest.raises(tf.errors.InvalidArgumentError, match="cannot be run again"):
        tf.cond(p, lambda: tf.gradients(by_host * 3.0, x)[0], lambda: x)


def test_gradients_in_functions_within_functions(run):
    x1, x2 = tf.constant(1.0), tf.constant(2.0)
    x3 = x1 * x2

    @gyre.function
    def outer():
        outer1 = tf.identity(x1)

        @gyre.function
        def inner():
            ys = [tf.identity(outer1), tf.identity(x2), tf.identity(x3), x1]
            return gyre.gradients(ys, [x1, x2])

        return inner()

    assert run(outer()) == [4.0, 2.0]


def test_slices_go_through_what_hands_them_on(run):
    x = tf.placeholder(tf.float32)
    dy = tf.IndexedSlices(tf.constant([2.0]), tf.constant([0]))
    assert tf.gradients(tf.identity(tf.identity(x)), x, grad_ys=dy)[0] is dy


def test_a_switch_alone_has_a_gradient(run):
    x = tf.constant(2.0)
    if_false, if_true = gyre.raw_ops.Switch(data=x, pred=tf.constant(True))
    assert run(tf.gradients(if_true * 3.0, x)[0]) == 3.0
    assert run(tf.gradients(if_false, x)[0]) == 0.0


def test_lists_with_weights_have_gradients(run):
    a = tf.constant(1.0)
    raw = gyre.raw_ops
    empty = raw.EmptyTensorList(element_shape=[], max_num_elements=-1, element_dtype=tf.float32)
    push = raw.TensorListPushBack
    made = push(input_handle=empty, tensor=a)
    weights = push(input_handle=empty, tensor=tf.constant(5.0))
    assert run(tf.gradients(made, a, grad_ys=weights)[0]) == 5.0
    with pytest.raises(tf.errors.InvalidArgumentError, match="only numbers"):
        gyre.gradients(made, a)

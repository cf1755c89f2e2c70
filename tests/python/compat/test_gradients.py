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
    assert found.op.colocation_groups() == w.op.colocation_groups() == [b"loc:@w"]
    marked = {n.name: list(n.attr["_class"].list.s) for n in graph.as_graph_def().node}
    assert marked[found.op.name] == [b"loc:@w"]
    assert [b"loc:@a"] in [marked[x.op.name] for x in found.op.inputs]
    (plain,) = tf.gradients(a + b, [w])
    assert plain.op.colocation_groups() != w.op.colocation_groups()


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

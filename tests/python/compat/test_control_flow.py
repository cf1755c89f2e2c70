"""cond, case, loops, maps, folds, primitives; what they refuse."""

import collections

import numpy as np
import pytest

import gyre
import gyre.compat.v1 as tf


def test_cond(sess):
    p = tf.placeholder(tf.bool, [])
    x = tf.constant(3.0)
    y = tf.cond(p, lambda: x + 1.0, lambda: x - 1.0)
    assert [sess.run(y, {p: b}) for b in (True, False)] == [4, 2]
    assert sess.run(tf.cond(p, fn1=lambda: 1, fn2=lambda: 2), {p: True}) == 1
    with tf.name_scope("outer"):
        z = tf.cond(p, lambda: {"a": x}, lambda: {"a": -x}, name="pick")
    assert sess.run(z, {p: False}) == {"a": -3.0} and z["a"].name == "outer/pick/Identity:0"


def test_only_one_branch_has_effects(run, sess):
    v = tf.Variable(0.0)
    p = tf.placeholder(tf.bool, [])
    done = tf.cond(p, lambda: tf.group(v.assign_add(1.0)), lambda: tf.no_op())
    run(done, {p: True}), sess.run(done, {p: False})
    assert sess.run(v) == 1.0


def test_refused_cond(graph):
    p, x = tf.placeholder(tf.bool, []), tf.constant(1.0)
    for args, words in (
        ((True, lambda: x, lambda: x), "must not be a Python bool"),
        ((p, x, lambda: x), "'true_fn' must be callable"),
        ((p, lambda: x), "'false_fn' argument required"),
        ((p, lambda: x, lambda: tf.constant(1)), "dtypes"),
        ((p, lambda: x, lambda: (x, x)), "structure"),
    ):
        with pytest.raises(TypeError, match=words):
            tf.cond(*args)
    with pytest.raises(TypeError, match="simultaneously"):
        tf.cond(p, lambda: x, lambda: x, fn1=lambda: x)


def test_case(sess):
    i = tf.placeholder(tf.int32, [])
    pairs = [(tf.equal(i, k), lambda k=k: tf.constant(10 * k)) for k in range(3)]
    closed, opened = tf.case(pairs), tf.case(pairs, default=lambda: tf.constant(-1))
    assert [sess.run(opened, {i: k}) for k in range(4)] == [0, 10, 20, -1]
    assert sess.run(closed, {i: 2}) == 20
    with pytest.raises(tf.errors.InvalidArgumentError, match="None of conditions"):
        sess.run(closed, {i: 5})
    both = tf.case({i > 0: lambda: 1, i > 1: lambda: 2}, default=lambda: 0, exclusive=True)
    assert sess.run(both, {i: 1}) == 1
    with pytest.raises(tf.errors.InvalidArgumentError, match="more than one"):
        sess.run(both, {i: 2})
    for bad in (3, [3], [(True, lambda: 1)], [(i > 0, 3)]):
        with pytest.raises(TypeError):
            tf.case(bad)


def test_while_loop(sess):
    State = collections.namedtuple("State", "a b")
    i, state, seen = tf.while_loop(
        lambda i, s, d: i < 5,
        lambda i, s, d: (i + 1, State(s.b, s.a + s.b), {"sum": d["sum"] + s.a}),
        (tf.constant(0), State(tf.constant(0), tf.constant(1)), {"sum": tf.constant(0)}),
    )
    got = sess.run([i, state, seen])
    assert got == [5, State(5, 8), {"sum": 7}] and type(got[1]) is State


def test_single_variables(sess):
    assert sess.run(tf.while_loop(lambda i: i < 5, lambda i: i + 2, [0])) == 6
    assert sess.run(
        tf.while_loop(lambda i: i < 5, lambda i: [i + 2], [0], return_same_structure=True)
    ) == [6]
    assert sess.run(tf.while_loop(lambda i: i < 5, lambda i: i + 2, [0], maximum_iterations=1)) == 2


def test_refused_loops(graph):
    x = tf.ones([2])
    with pytest.raises(ValueError, match=r"shape \[2\]"):
        tf.while_loop(lambda t: True, lambda t: tf.concat([t, t], 0), [x])
    loop = tf.while_loop(
        lambda t: tf.size(t) < 9,
        lambda t: tf.concat([t, t], 0),
        [x],
        shape_invariants=[tf.TensorShape([None])],
    )
    assert loop.shape.as_list() == [None] and tf.Session().run(loop).size == 16
    with pytest.raises(ValueError):
        tf.while_loop(lambda a, b: True, lambda a, b: a, [x, x])
    with pytest.raises(TypeError):
        tf.while_loop(lambda a: True, lambda a: tf.constant([1, 2]), [x])
    with pytest.raises(TypeError, match="must be callable"):
        tf.while_loop(x, lambda a: a, [x])
    with pytest.raises(TypeError, match="positive integer"):
        tf.while_loop(lambda a: True, lambda a: a, [x], parallel_iterations=0)
    with pytest.raises(ValueError, match="must be provided"):
        tf.while_loop(lambda: True, lambda: None, [])


def test_values_of_bodies_stay_inside(sess):
    kept = []

    def body(i):
        kept.append(i * 2)
        return i + 1

    tf.while_loop(lambda i: i < 3, body, [0], name="first")
    with pytest.raises(ValueError, match="the body of loop 'first'"):
        sess.run(kept[0])
    with pytest.raises(ValueError, match="first"):
        kept[0] + 1
    with pytest.raises(ValueError, match="first"):
        tf.while_loop(lambda i: i < 3, lambda i: i + kept[0], [0], name="sibling")
    with pytest.raises(TypeError, match="first"):
        sess.run(tf.constant(1), {kept[0]: 1})


def test_plain_python_stays_python(graph):
    with pytest.raises(
        tf.errors.OperatorNotAllowedInGraphError, match="not known while a graph is traced"
    ):
        tf.while_loop(lambda i: i < 3, lambda i: i + 1 if i > 0 else i + 2, [tf.constant(0)])
    with pytest.raises(tf.errors.OperatorNotAllowedInGraphError):
        list(tf.placeholder(tf.float32))


def test_names_of_results(graph):
    x = tf.constant(0)
    loop = tf.while_loop(lambda i, j: i < 3, lambda i, j: (i + 1, j), [x, x])
    again = tf.while_loop(lambda i: i < 3, lambda i: i + 1, [x])
    assert [t.name for t in loop] == ["while/Identity_2:0", "while/Identity_3:0"]
    assert again.name == "while_1/Identity_2:0"


def test_maps_and_folds(sess):
    rows = tf.constant([[1.0, 2.0], [3.0, 4.0]])
    got = sess.run(
        {
            "map": tf.map_fn(
                lambda r: (tf.reduce_sum(r), tf.argmax(r)), rows, dtype=(tf.float32, tf.int64)
            ),
            "scan": tf.scan(lambda a, r: a + r, rows),
            "reverse": tf.scan(lambda a, r: a + r, rows, reverse=True),
            "foldl": tf.foldl(lambda a, r: a - r, rows),
            "foldr": tf.foldr(lambda a, r: a - r, rows),
            "start": tf.foldl(lambda a, r: a * tf.reduce_sum(r), rows, initializer=1.0),
        }
    )
    assert got["map"][0].tolist() == [3, 7] and got["map"][1].tolist() == [1, 1]
    assert got["scan"].tolist() == [[1, 2], [4, 6]] and got["reverse"].tolist() == [[4, 6], [3, 4]]
    assert (
        got["foldl"].tolist() == [-2, -2] and got["foldr"].tolist() == [2, 2] and got["start"] == 21
    )
    with pytest.raises(TypeError, match="fn must be callable"):
        tf.map_fn(3, rows)


def test_switch_case_and_tuple(sess):
    i = tf.placeholder(tf.int32, [])
    picked = tf.switch_case(i, [lambda: 1, lambda: 2], default=lambda: 9)
    assert [sess.run(picked, {i: k}) for k in (0, 1, 5)] == [1, 2, 9]
    a, b, c = tf.tuple([i, None, i + 1], control_inputs=[tf.no_op()])
    assert b is None and sess.run([a, c], {i: 1}) == [1, 2] and a.op.control_inputs
    with pytest.raises(ValueError, match="at least one"):
        tf.tuple([None])
    with pytest.raises(TypeError, match="expected Tensor or Operation"):
        tf.group("x")


def test_assertions_are_operations(sess):
    x = tf.placeholder(tf.float32, [])
    checks = [
        tf.Assert(x > 0, ["x", x]),
        tf.assert_equal(x, 1.0, message="not one"),
        tf.assert_positive(x),
        tf.assert_less(x, 2.0, data=["d"]),
    ]
    assert all(check.type == "Assert" for check in checks)
    sess.run(checks, {x: 1.0})
    with tf.control_dependencies([tf.debugging.assert_equal(x, 1.0, message="not one")]):
        y = tf.identity(x)
    with pytest.raises(tf.errors.InvalidArgumentError, match="not one"):
        sess.run(y, {x: 3.0})
    assert tf.assert_type(x, tf.float32).type == "NoOp"


def test_prints(sess, capfd):
    x = tf.Print(tf.constant([1, 2]), [tf.constant(7)], message="seen ")
    assert sess.run(x).tolist() == [1, 2]
    sess.run(tf.print("hello", x))
    assert capfd.readouterr().err.count("seen ") == 2


def test_primitives(sess):
    ops = tf.raw_ops
    n = tf.placeholder(tf.int32, [])
    enter = ops.Enter(data=tf.constant(1), frame_name="f")
    merge = ops.Merge(inputs=[enter, enter])
    limit = ops.Enter(data=n, frame_name="f", is_constant=True)
    out, inside = ops.Switch(
        data=merge.output, pred=ops.LoopCond(input=ops.Less(x=merge.output, y=limit))
    )
    merge.output.op._update_input(1, ops.NextIteration(data=ops.AddV2(x=inside, y=inside)))
    assert sess.run(ops.Exit(data=out), {n: 100}) == 128
    with pytest.raises(ValueError, match="must be int32"):
        merge.output.op._update_input(1, tf.constant(1.0))


def test_arrays_and_sparse_values_in_loops(sess):
    array = tf.TensorArray(tf.float32, size=3)
    _, array = tf.while_loop(
        lambda i, a: i < 3, lambda i, a: (i + 1, a.write(i, tf.cast(i, tf.float32))), [0, array]
    )
    assert sess.run(array.stack()).tolist() == [0, 1, 2]
    sparse = tf.SparseTensor([[0]], [1.0], [2])
    _, sparse = tf.while_loop(lambda i, s: i < 3, lambda i, s: (i + 1, s * 2.0), [0, sparse])
    assert sess.run(sparse).values.tolist() == [8]


def test_py_func(sess):
    x = tf.placeholder(tf.float64, [None])
    y = tf.py_func(lambda a: (a.sum(), np.int64(a.size)), [x], [tf.float64, tf.int64])
    assert sess.run(y, {x: [1.0, 2.0]}) == [3.0, 2]

    def fails(a):
        raise KeyError("lost")

    with pytest.raises(KeyError, match="lost"):
        sess.run(tf.py_func(fails, [x], tf.float64), {x: [1.0]})


def test_effects_in_branches_happen_where_what_is_fetched_needs_them(run, sess):
    v = [tf.Variable(7, name=f"v{i}") for i in range(5)]
    p = tf.placeholder_with_default(True, [])

    def branch():
        v[0].assign(1)
        with tf.control_dependencies([v[1].assign(2)]):
            first = tf.constant(10)
        return first, v[2].assign(3)

    first, second = tf.cond(p, branch, lambda: (0, v[3].assign(4)))
    assert run(first) == 10
    assert sess.run(v) == [7, 2, 7, 7, 7]
    assert sess.run(second) == 3 and sess.run(v) == [7, 2, 3, 7, 7]
    assert sess.run(first, {p: False}) == 0 and sess.run(v[3]) == 7
    nested = tf.cond(p, lambda: tf.cond(p, branch, lambda: (0, 0))[0], lambda: 0)
    sess.run(v[1].initializer), sess.run(nested)
    assert sess.run(v) == [7, 2, 3, 7, 7]


def test_effects_in_loops_happen_where_what_is_fetched_needs_them(run, sess):
    v = [tf.Variable(0, name=f"v{i}") for i in range(4)]

    def body(i, x):
        v[0].assign_add(1)
        with tf.control_dependencies([v[1].assign_add(1)]):
            x = tf.identity(x)
        with tf.control_dependencies([v[2].assign_add(1)]):
            return i + 1, x

    def test(i, x):
        v[3].assign_add(1)
        return i < 2

    i, x = tf.while_loop(test, body, [tf.constant(0), tf.constant(5)])
    assert run(i) == 2 and sess.run(v) == [0, 0, 2, 0]
    assert sess.run([i, x]) == [2, 5] and sess.run(v) == [0, 2, 4, 0]


def test_branches_wait_for_what_is_outside(run, sess):
    v = tf.Variable(1.0)
    op = v.assign_add(1.0)

    def branch():
        with tf.control_dependencies([op]):
            return 1.0

    p = tf.placeholder_with_default(False, [])
    assert run(tf.cond(p, branch, lambda: 2.0)) == 2.0
    assert sess.run(v) == 2.0


def test_branches_of_one_result(sess):
    p = tf.placeholder_with_default(True, [])
    tf.disable_control_flow_v2()
    try:
        r = tf.cond(p, lambda: 1, lambda: [2])
        assert [sess.run(r, {p: b}) for b in (True, False)] == [1, 2]
        for strict_pair in ((lambda: 1, lambda: [2]), (lambda: [1], lambda: (2,))):
            for kind in (TypeError, ValueError):
                with pytest.raises(kind):
                    tf.cond(p, *strict_pair, strict=True)
    finally:
        tf.enable_control_flow_v2()


def test_maps_in_functions_convert_what_they_map(sess):
    def halved(x):
        if x > 1:
            x = x // 2
        return x

    @gyre.function
    def mapped(x):
        return tf.map_fn(halved, x)

    assert sess.run(mapped(tf.constant([1, 4]))).tolist() == [1, 2]


def test_shapes_of_ragged_and_sparse_loop_variables(graph):
    x = gyre.ragged.constant([[1, 2], [3], [4, 5, 6]])
    i = tf.constant(0)

    def wider(i, x):
        return i + 1, tf.concat([x, x], axis=1)

    def longer(i, x):
        return i + 1, tf.concat([x, x], axis=0)

    def test(i, x):
        return i < 3

    _, r = tf.while_loop(test, wider, [i, x])
    assert r.shape.as_list() == [3, None]
    with pytest.raises(ValueError):
        tf.while_loop(test, longer, [i, x])
    shapes = [i.shape, tf.TensorShape([None, None])]
    with tf.Session() as sess:
        assert sess.run(tf.while_loop(test, longer, [i, x], shapes)[1].nrows()) == 24
    s = tf.SparseTensor([[0], [3]], [2.0, 4.0], [10])

    def more_axes(i, x):
        indices = tf.concat([x.indices, [[0], [1]]], axis=1)
        return i + 1, tf.SparseTensor(indices, x.values, tf.concat([x.dense_shape, [10]], axis=0))

    with pytest.raises(ValueError):
        tf.while_loop(test, more_axes, [i, s])
    r = tf.cond(tf.placeholder(tf.bool, []), lambda: s, lambda: s)
    assert r.shape.as_list() == [10]

"""Sessions: fetches, feeds, state, defaults, options, errors."""

import collections
import threading

import numpy as np
import pytest

import gyre.compat.v1 as tf

Pair = collections.namedtuple("Pair", "first second")


def test_fetches_of_any_structure(run, graph):
    x = tf.placeholder_with_default([1.0, 2.0], [2], name="x")
    v = tf.Variable(3, name="v")
    got = run({"pair": Pair(x, [v, (v.initializer,)]), "named": "x:0", "op": "v/Assign"})
    assert type(got["pair"]) is Pair and got["pair"].second == [3, (None,)]
    assert got["named"].tolist() == [1, 2] and got["op"] is None


def test_composites(sess):
    x = tf.sparse_placeholder(tf.float32, [3, 3])
    value = tf.SparseTensorValue([[0, 1]], [2.0], [3, 3])
    got = sess.run(x, {x: value})
    assert (
        type(got) is tf.SparseTensorValue
        and got.values.tolist() == [2]
        and got.indices.tolist() == [[0, 1]]
    )
    slices = tf.IndexedSlices(tf.constant([1.0]), tf.constant([2]))
    assert type(sess.run(slices)) is tf.IndexedSlicesValue and sess.run(slices).dense_shape is None
    ragged = sess.run(tf.RaggedTensor.from_row_lengths([1, 2, 3], [2, 0, 1]))
    assert ragged.to_list() == [[1, 2], [], [3]]


@pytest.mark.parametrize("parts", [([[0, 1]], [2.0]), ([[0, 1]], [2.0], [3, 3], 4)])
def test_a_sparse_tensor_is_fed_three_parts(sess, parts):
    x = tf.sparse_placeholder(tf.float32, [3, 3])
    with pytest.raises(ValueError, match=f"{len(parts)} values for a key of 3 tensors"):
        sess.run(x.values, {x: parts})


def test_slices_of_an_unknown_shape_are_fed(sess):
    x = tf.IndexedSlices(tf.constant([1.0]), tf.constant([2]))
    given = tf.IndexedSlicesValue([5.0], [4], None)
    assert sess.run(x, {x: given}).values == sess.run(x, {x: ([5.0], [4])}).values == [5]


def test_the_name_of_a_variable_is_fetched_as_its_value(run, sess, graph):
    v = tf.get_variable("v", initializer=[1.0, 2.0])
    assert run(v.name).tolist() == [1, 2]
    with tf.control_dependencies([v.assign([3.0, 4.0])]):
        _ = v + 1.0  # a read that would change it
    size = graph.version
    assert sess.run({"named": ["v:0", v]})["named"][0].tolist() == [1, 2]
    assert graph.get_tensor_by_name("v:0").eval().tolist() == [1, 2] and graph.version == size


def test_a_handle_that_nothing_reads_is_fetched_as_its_value(sess, graph):
    handle = tf.raw_ops.VarHandleOp(dtype=tf.int32, shape=[], shared_name="bare", name="bare")
    tf.raw_ops.AssignVariableOp(resource=handle, value=7)
    sess.run(graph.get_operations()[-1])
    assert sess.run(handle) == 7
    graph.finalize()
    assert sess.run(["bare:0"]) == [7]


def test_any_tensor_is_fed(sess):
    x = tf.constant(2.0)
    y = tf.multiply(x, 3.0, name="y")
    z = y + 1.0
    assert sess.run(z, {y: 10}) == 11 and sess.run(z, {"y:0": 1}) == 2 and sess.run(y, {y: 4}) == 4
    assert sess.run(z) == 7
    assert sess.run(z, {(x, y): (0, 5)}) == 6


def test_results_are_the_callers_own(run, sess):
    v = tf.Variable([1.0, 2.0])
    value = run(v)
    value += 1
    assert sess.run(v).tolist() == [1, 2]


def test_graphs_may_grow_between_runs(sess):
    x = tf.constant(1.0)
    assert sess.run(x + 1) == 2
    y = x + 5
    assert sess.run([x + 1, y]) == [2, 6]


def test_sessions_have_state_of_their_own(graph):
    v = tf.Variable(0.0)
    init, up = tf.global_variables_initializer(), v.assign_add(1.0)
    a, b = tf.Session(), tf.Session()
    a.run(init), b.run(init)
    assert [a.run(up), a.run(up), b.run(up)] == [1, 2, 1]


def test_default_sessions(graph):
    x = tf.constant(4)
    with pytest.raises(ValueError, match="No default session is registered"):
        x.eval()
    with pytest.raises(ValueError, match="No default session is registered"):
        tf.no_op().run()
    with tf.Session() as sess:
        assert tf.get_default_session() is sess and x.eval() == 4
        tf.no_op().run()
        with tf.Graph().as_default():
            with pytest.raises(ValueError, match="different"):
                tf.constant(1).eval()
    assert tf.get_default_session() is None
    other = tf.Session()
    with other.as_default():
        assert x.eval() == 4
    assert x.eval(session=other) == 4
    interactive = tf.InteractiveSession()
    assert x.eval() == 4
    interactive.close()
    assert tf.get_default_session() is None


def test_closed_and_empty():
    with tf.Graph().as_default():
        with pytest.raises(RuntimeError, match="graph is empty"):
            tf.Session().run([])
        x = tf.constant(1)
        session = tf.Session()
        assert session.run(x) == 1
        session.close()
        with pytest.raises(RuntimeError, match="closed Session"):
            session.run(x)


def test_refusals(sess, graph):
    x = tf.placeholder(tf.float32, [2], name="x")
    with tf.Graph().as_default():
        foreign = tf.constant(1.0)
    for fetch, error, words in (
        (None, TypeError, "has invalid type"),
        ([x, None], TypeError, "NoneType"),
        (3.5, TypeError, "float"),
        ("no:0", ValueError, "cannot be interpreted"),
        (foreign, ValueError, "not an element of this graph"),
        (object(), TypeError, "Can not convert"),
    ):
        with pytest.raises(error, match=words):
            sess.run(fetch)
    for feed, error, words in (
        (
            {x: 1.0},
            ValueError,
            r"Cannot feed value of shape \(\) for Tensor 'x:0', which has shape \(2,\)",
        ),
        ({x: tf.constant([1.0, 2])}, TypeError, "cannot be a tf.Tensor object"),
        ({foreign: 1.0}, TypeError, "Cannot interpret feed_dict key"),
        ({"no:0": 1.0}, TypeError, "Cannot interpret feed_dict key"),
        ({x.op: 1.0}, TypeError, "Cannot interpret feed_dict key"),
        ({x: ["a", "b"]}, ValueError, "could not convert"),
    ):
        with pytest.raises(error, match=words):
            sess.run(x, feed)
    with pytest.raises(TypeError, match="not compatible"):
        n = tf.placeholder(tf.int32, [])
        sess.run(n, {n: 1.5})
    with pytest.raises(ValueError, match="a target is"):
        tf.Session("http://somewhere")
    with pytest.raises(TypeError, match="must be a tf.Graph"):
        tf.Session(graph=3)
    with pytest.raises(NotImplementedError, match="partial runs"):
        sess.partial_run_setup([x], [])


def test_missing_feed_names_the_placeholder(sess):
    x = tf.placeholder(tf.float32, [2], name="features")
    with pytest.raises(tf.errors.InvalidArgumentError, match="features") as caught:
        sess.run(x * 2.0)
    assert caught.value.op is x.op and "test_session.py" in str(caught.value)


def test_errors_know_their_operation(sess):
    y = tf.gather(tf.constant([1, 2]), tf.constant(7), name="row")
    with pytest.raises(tf.errors.InvalidArgumentError) as caught:
        sess.run(y)
    assert caught.value.op is y.op and caught.value.node_def.name == "row"


def test_make_callable(sess):
    x = tf.placeholder(tf.float32, [])
    call = sess.make_callable({"y": x * 2.0}, [x])
    assert call(3.0) == {"y": 6.0}
    with pytest.raises(ValueError, match="takes 1 values"):
        call()


def test_options(sess):
    x = tf.constant(1)
    forever = tf.while_loop(lambda i: i > 0, lambda i: tf.maximum(i, 1), [x])
    with pytest.raises(tf.errors.DeadlineExceededError):
        sess.run(forever, options=tf.RunOptions(timeout_in_ms=50))
    metadata = tf.RunMetadata()
    sess.run(
        x + 1, options=tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE), run_metadata=metadata
    )
    stats = metadata.step_stats.dev_stats[0].node_stats
    assert any("add" in s.node_name and s.executions == 1 for s in stats)
    with pytest.raises(ValueError, match="no option"):
        tf.RunOptions(nothing=1)
    with pytest.raises(tf.errors.DeadlineExceededError):
        tf.Session(config=tf.ConfigProto(operation_timeout_in_ms=50)).run(forever)


def test_configuration_is_accepted(graph):
    config = tf.ConfigProto(
        allow_soft_placement=True,
        gpu_options=tf.GPUOptions(allow_growth=True),
        graph_options=tf.GraphOptions(
            optimizer_options=tf.OptimizerOptions(
                opt_level=tf.OptimizerOptions.L0, do_function_inlining=True
            )
        ),
    )
    config.gpu_options.per_process_gpu_memory_fraction = 0.5
    config.graph_options.rewrite_options.disable_meta_optimizer = True
    session = tf.Session(config=config)
    assert session.run(tf.constant(1)) == 1 and session.list_devices()[0].device_type == "CPU"
    assert session.graph is graph and session.graph_def.node[0].op == "Const"


def test_threads_share_a_session(run, sess):
    x = tf.placeholder(tf.float32, [])
    v = tf.Variable(0.0)
    run(v)
    up, results = v.assign_add(1.0), []

    def work():
        for i in range(50):
            results.append(sess.run(x * 2.0, {x: i}) == 2 * i)
            sess.run(up)

    threads = [threading.Thread(target=work) for _ in range(4)]
    [t.start() for t in threads], [t.join() for t in threads]
    assert all(results) and len(results) == 200 and sess.run(v) == 200


def test_strings_and_numpy_types(sess):
    s = tf.placeholder(tf.string, [None])
    assert sess.run(s, {s: ["a", b"bc"]}).tolist() == [b"a", b"bc"]
    assert sess.run(s, {s: np.array(["x"])}).tolist() == [b"x"]
    n = tf.placeholder(tf.int64, [None])
    assert sess.run(n, {n: np.array([1, 2], np.int32)}).dtype == np.int64


def test_runs_are_compiled_once(sess):
    x = tf.placeholder(tf.float32, [])
    y = x * 2.0
    for value in range(5):
        assert sess.run([y, x], {x: value}) == [2 * value, value]
        assert sess.run({"nested": [y, (x,)]}, {x: value})["nested"][0] == 2 * value
    assert len(sess._compiled) == 1 and len(sess._plans) == 1


@pytest.mark.parametrize("value", [np.array(["a"]), [[1.0], [2.0, 3.0]], object(), "a"])
def test_what_cannot_be_fed_names_what_it_is_fed_to(run, graph, value):
    x = tf.placeholder(tf.float64, [None], name="x")
    with pytest.raises((TypeError, ValueError), match="what is fed to 'x:0' is no float64: "):
        run(x + 1.0, {x: value})

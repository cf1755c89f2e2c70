"""Sessions of compat.v1 on workers."""

import gc
import json
import sys

import numpy as np
import pytest

import gyre
import gyre.compat.v1 as tf

FIRST, SECOND = "/job:worker/task:0", "/job:worker/task:1/device:CPU:1"


def loop_on_both(x, w, steps=5):
    """x ← tanh(x · w) + 0.3 x: the product on the second worker,
    the sum and the count on the first."""

    def body(i, x):
        with tf.device(SECOND):
            y = tf.tanh(x * w)
        with tf.device(FIRST):
            return i + 1, y + 0.3 * x

    return tf.while_loop(lambda i, x: i < steps, body, [0, x])[1]


def both(cluster, build, feed=None):
    """What build() gives on the cluster, and in this process."""
    found = []
    for target in (cluster, ""):
        with tf.Graph().as_default():
            fetches = build()
            config = tf.ConfigProto(allow_soft_placement=True)
            with tf.Session(target, config=config) as session:
                session.run(tf.global_variables_initializer())
                found.append(session.run(fetches, feed))
    return found


def test_devices(workers, cluster):
    names = [f"/job:worker/replica:0/task:{task}/device:CPU:{k}" for task in (0, 1) for k in (0, 1)]
    assert cluster.devices == names and cluster.target == workers.target
    with tf.Graph().as_default(), tf.Session(cluster) as session:
        assert [device.name for device in session.list_devices()] == names
        assert session.sess_str == workers.target.encode()


def test_loop_over_two_workers(cluster):
    def build():
        return loop_on_both(tf.constant([0.5, -1.0]), tf.constant([1.5, 2.0]))

    on_cluster, here = both(cluster, build)
    np.testing.assert_array_equal(on_cluster, here)


def test_colocated_gradient_of_a_loop_over_two_workers(cluster):
    def build():
        x, w = tf.constant([0.5, -1.0]), tf.constant([1.5, 2.0])
        y = loop_on_both(x, w)
        return [y, *tf.gradients(y, [x, w], colocate_gradients_with_ops=True)]

    on_cluster, here = both(cluster, build)
    for found, expected in zip(on_cluster, here, strict=True):
        np.testing.assert_array_equal(found, expected)
    # Gradient ops run where their ops do, on both workers.
    with tf.Graph().as_default() as graph:
        build()
        places = {
            node.device
            for f in graph.as_graph_def().library.function
            for node in f.node_def
            if node.name.startswith("gradients")
        }
    assert {FIRST, SECOND} <= places


def test_gradient_of_a_conditional_over_two_workers(cluster):
    def build():
        x = tf.constant(3.0)

        def there():
            with tf.device(SECOND):
                return x * x

        y = tf.cond(x > 2, there, lambda: x)
        return [y, tf.gradients(y, x)[0]]

    assert both(cluster, build)[0] == [9.0, 6.0]


def test_variables_live_on_workers(cluster):
    with tf.Graph().as_default():
        with tf.device(SECOND):
            v = tf.Variable([1.0, 2.0], name="v")
        with tf.device(FIRST):
            bigger = v.assign_add([10.0, 10.0])
        with tf.Session(cluster) as one, tf.Session(cluster) as other:
            one.run(tf.global_variables_initializer())
            one.run(bigger)
            np.testing.assert_array_equal(one.run(v), [11, 12])
            with pytest.raises(gyre.errors.FailedPreconditionError, match="v"):
                other.run(v)  # its own has no value


def test_options_of_the_process_leave_variables_alone(cluster):
    with tf.Graph().as_default():
        v = tf.Variable(3.0)
        with tf.Session(cluster) as session:
            session.run(tf.global_variables_initializer())
            session.run(v)
            gyre.config.threading.set_inter_op_parallelism_threads(2)
            try:
                assert session.run(v) == 3
            finally:
                gyre.config.threading.set_inter_op_parallelism_threads(0)


def test_sessions_of_one_target_share_variables(workers):
    with tf.Graph().as_default():
        v = tf.Variable(4.0, name="shared")
        with tf.Session(workers.target) as session:
            session.run(tf.global_variables_initializer())
        with tf.Session(workers.target.replace("gyre", "grpc").encode()) as session:
            assert session.run(v) == 4
        isolated = tf.ConfigProto(isolate_session_state=True)
        with (
            tf.Session(workers.target, config=isolated) as session,
            pytest.raises(gyre.errors.FailedPreconditionError),
        ):
            session.run(v)


def test_saver(cluster, tmp_path):
    with tf.Graph().as_default():
        with tf.device(SECOND):
            v = tf.Variable([1.0, 2.0], name="saved")
        w = tf.Variable(5, name="count")
        saver = tf.train.Saver()
        with tf.Session(cluster) as session:
            session.run(tf.global_variables_initializer())
            path = saver.save(session, str(tmp_path / "model"))
        with tf.Session(cluster) as session:
            saver.restore(session, path)
            np.testing.assert_array_equal(session.run(v), [1, 2])
            assert session.run(w) == 5


def test_prints_come_here(cluster, monkeypatch):
    """Also while what prints ends another program of the cluster."""

    class Stream:
        text = ""

        def write(self, text):
            others.clear()
            gc.collect()
            self.text += text

        def flush(self):
            pass

    with tf.Graph().as_default():
        with tf.device(SECOND):
            printed = tf.Print(tf.constant(7.0), [tf.constant(7)], "seven: ")
        other = tf.constant(1.0) + 1
        with tf.Session(cluster) as session, tf.Session(cluster) as second:
            others = [second.make_callable(other)]
            assert others[0]() == 2
            second._plans.clear()
            others.append(second._compiled.popitem())
            stream = Stream()
            monkeypatch.setattr(sys, "stderr", stream)
            assert session.run(printed) == 7
    assert "seven: [7]" in stream.text and not others


def test_placement_is_as_asked(cluster):
    with tf.Graph().as_default():
        with tf.device("/job:worker/task:7"):
            x = tf.constant(1.0) + 1
        with (
            tf.Session(cluster) as session,
            pytest.raises(
                gyre.errors.InvalidArgumentError, match="/job:worker/task:7.*there are only"
            ),
        ):
            session.run(x)
        with tf.Session(cluster, config=tf.ConfigProto(allow_soft_placement=True)) as session:
            assert session.run(x) == 2


def test_errors_name_the_worker(cluster):
    with tf.Graph().as_default():
        with tf.device(SECOND):
            bad = tf.Assert(tf.constant(False), ["it is wrong"], name="must_be")
        with tf.Session(cluster) as session:
            with pytest.raises(
                gyre.errors.InvalidArgumentError, match=r"(?s)it is wrong.*on worker 1 \(127"
            ) as error:
                session.run(bad)
            assert error.value.op is not None
            assert session.run(tf.constant(3)) == 3  # the session lives on


def test_time_is_up(cluster):
    with tf.Graph().as_default():
        x = loop_on_both(tf.constant([0.5]), tf.constant([1.5]), steps=10**9)
        with tf.Session(cluster) as session:
            with pytest.raises(gyre.errors.DeadlineExceededError):
                session.run(x, options=tf.RunOptions(timeout_in_ms=200))
            assert session.run(tf.constant(3)) == 3


def test_what_a_cluster_cannot_do_is_refused(cluster, workers):
    with tf.Graph().as_default():
        x = tf.py_func(lambda: np.float32(1), [], tf.float32)
        with tf.Session(cluster) as session:
            with pytest.raises(gyre.errors.OpError, match="host function|PyFunc|process"):
                session.run(x)
    with pytest.raises(NotImplementedError, match="as long as the workers"):
        tf.Session.reset(workers.target)


def test_runs_are_watched(cluster, tmp_path):
    with tf.Graph().as_default(), tf.Session(cluster) as session:
        y = loop_on_both(tf.constant([0.5, -1.0]), tf.constant([1.5, 2.0]))
        want = session.run(y)
        metadata = tf.RunMetadata()
        options = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE)
        np.testing.assert_array_equal(session.run(y, options=options, run_metadata=metadata), want)
        of_device = {
            stats.device: {node.node_name: node.executions for node in stats.node_stats}
            for stats in metadata.step_stats.dev_stats
        }
        assert of_device["/job:worker/replica:0/task:1/device:CPU:1"]["Tanh"] == 5
        np.testing.assert_array_equal(gyre.timeline(session.run, y, path=tmp_path / "t.json"), want)
        events = json.loads((tmp_path / "t.json").read_text())["traceEvents"]
        devices = {event["args"]["device"] for event in events if event["name"] == "Tanh"}
        assert devices == {"/job:worker/replica:0/task:1/device:CPU:1"}
        told = []
        z = loop_on_both(tf.constant([0.5, -1.0]), tf.constant([1.5, 2.0]), steps=20_000)
        with gyre.progress(every=0.01, callback=told.append):
            session.run(z)
        assert any(entry["loops"] and entry["loops"][0]["iteration"] > 0 for entry in told)


def test_an_error_on_a_worker_names_the_line_and_the_loop(cluster):
    def body(i, x):
        with tf.device(SECOND):
            return i - 1, x + 6 // i

    with tf.Graph().as_default(), tf.Session(cluster) as session:
        y = tf.while_loop(lambda i, x: i > -2, body, [2, 0])[1]
        with pytest.raises(tf.errors.InvalidArgumentError) as error:
            session.run(y)
    told = str(error.value)
    line = body.__code__.co_firstlineno + 2
    assert f"written at test_sessions.py:{line}" in told and "iteration 2" in told

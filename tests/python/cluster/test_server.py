"""Servers in this process, under TensorFlow's names."""

import threading

import pytest

import gyre
import gyre.compat.v1 as tf


def test_a_local_server():
    server = tf.train.Server.create_local_server()
    with tf.Graph().as_default(), tf.Session(server.target) as session:
        with tf.device("/job:localhost/task:0"):
            v = tf.Variable(2.0)
        session.run(tf.global_variables_initializer())
        assert session.run(v * 3) == 6
    server.close()
    server.join()
    with pytest.raises(gyre.errors.UnavailableError):
        tf.Session(server.target)


def test_two_tasks(monkeypatch):
    monkeypatch.setenv("GYRE_TOKEN", "a token of this test")
    with gyre.cluster.start_workers(1) as workers:
        del workers
        first = gyre.distribute.Server({"ps": ["127.0.0.1:0"]})
        spec = gyre.train.ClusterSpec(
            {"ps": [first.target.rpartition("=")[2]], "worker": ["127.0.0.1:0"]}
        )
        second = tf.train.Server(
            spec, job_name="worker", task_index=0, config=tf.ConfigProto(device_count={"CPU": 2})
        )
    with tf.Graph().as_default(), tf.Session(second.target) as session:
        assert [device.name for device in session.list_devices()] == [
            "/job:worker/replica:0/task:0/device:CPU:0",
            "/job:worker/replica:0/task:0/device:CPU:1",
            "/job:ps/replica:0/task:0/device:CPU:0",
        ]
        with tf.device("/job:ps/task:0"):
            v = tf.Variable([1.0, 2.0])
        with tf.device("/job:worker/device:CPU:1"):
            total = tf.reduce_sum(v)
        session.run(tf.global_variables_initializer())
        assert session.run(total) == 3
    second.close()
    first.close()


def test_join_waits_for_close():
    server = tf.train.Server.create_local_server(start=False)
    server.start()
    thread = threading.Thread(target=server.join)
    thread.start()
    assert thread.is_alive()
    server.close()
    thread.join(20)
    assert not thread.is_alive()


def test_addresses_of_other_machines_need_a_token(monkeypatch):
    monkeypatch.delenv("GYRE_TOKEN", raising=False)
    with pytest.raises(gyre.errors.PermissionDeniedError, match="token"):
        tf.train.Server({"worker": ["0.0.0.0:0"]})
    tf.train.Server({"worker": ["0.0.0.0:0"]}, token="0123456789abcdef").close()


def test_which_task():
    two = {"worker": ["127.0.0.1:0", "127.0.0.1:0"]}
    with pytest.raises(ValueError, match="explicit task_index"):
        tf.train.Server(two)
    with pytest.raises(ValueError, match="explicit job_name"):
        tf.train.Server({"a": ["127.0.0.1:0"], "b": ["127.0.0.1:0"]})
    with pytest.raises(ValueError, match="No task with index 2"):
        tf.train.Server(two, "worker", 2)
    with pytest.raises(ValueError, match="No such job"):
        tf.train.Server(two, "ps", 0)
    with pytest.raises(ValueError, match="protocol"):
        tf.train.Server(two, "worker", 0, protocol="carrier")


def test_cluster_spec():
    spec = tf.train.ClusterSpec({"worker": ["w0:1", "w1:1"], "ps": {2: "p2:1"}})
    assert spec.jobs == ["ps", "worker"] and spec.as_dict() == {
        "ps": {2: "p2:1"},
        "worker": ["w0:1", "w1:1"],
    }
    assert spec.num_tasks("worker") == 2 and spec.task_indices("ps") == [2]
    assert spec.task_address("worker", 1) == "w1:1" and spec.job_tasks("ps") == [None, None, "p2:1"]
    assert spec == gyre.train.ClusterSpec(spec) and spec and not tf.train.ClusterSpec({})
    with pytest.raises(ValueError, match="No task with index 2"):
        spec.task_address("worker", 2)
    for wrong in (3, {"worker": "w0:1"}, {"worker": [1]}):
        with pytest.raises(TypeError):
            tf.train.ClusterSpec(wrong)

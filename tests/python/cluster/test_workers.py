"""Workers as processes, connections to them, and what goes wrong."""

import os
import subprocess
import sys
import threading
import time

import pytest

import gyre
import gyre.compat.v1 as tf


def test_workers_end_with_their_context():
    with gyre.cluster.start_workers(2) as workers:
        assert all(process.poll() is None for process in workers.processes)
        assert len(set(workers.addresses)) == 2 and workers.token not in workers.target
    assert all(process.poll() is not None for process in workers.processes)


def test_ctrl_c_at_the_terminal_is_for_the_client_alone():
    with gyre.cluster.start_workers(1) as workers:
        pid = workers.processes[0].pid
        assert os.getpgid(pid) == pid != os.getpgid(0)


def test_workers_of_a_thread_outlive_it():
    started = []
    thread = threading.Thread(target=lambda: started.append(gyre.cluster.start_workers(1)))
    thread.start()
    thread.join()
    with started[0] as workers, tf.Graph().as_default(), tf.Session(workers.target) as session:
        assert session.run(tf.constant(2)) == 2


def test_workers_end_with_their_process():
    program = (
        "import gyre, os\n"
        "workers = gyre.cluster.start_workers(1)\n"
        "print(workers.processes[0].pid, flush=True)\n"
        "os.kill(os.getpid(), 9)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, text=True, check=False
    )
    pid = int(done.stdout)
    deadline = time.monotonic() + 20
    while is_running(pid):
        assert time.monotonic() < deadline, "the worker is still there"
        time.sleep(0.01)


def is_running(pid):
    try:
        with open(f"/proc/{pid}/stat") as stat:
            return stat.read().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False


def test_a_worker_that_dies_fails_its_runs():
    with gyre.cluster.start_workers(2) as workers, tf.Graph().as_default():
        with tf.device("/job:worker/task:1"):
            x = tf.constant(1.0) * 2
        with tf.Session(workers.target) as session:
            assert session.run(x) == 2
            workers.processes[1].kill()
            with pytest.raises(gyre.errors.UnavailableError, match="worker 1 .* is gone"):
                for _ in range(100):
                    session.run(x)
        with pytest.raises(gyre.errors.UnavailableError, match=workers.addresses[1]):
            tf.Session(workers.target)


def test_tokens(workers, monkeypatch):
    with pytest.raises(gyre.errors.UnauthenticatedError, match="worker [01] .*the token is not"):
        gyre.cluster.connect(workers.target, "0123456789abcdef")
    # What another process has started is not known here.
    from gyre._impl.cluster import connection

    monkeypatch.setattr(connection, "_tokens", {})
    monkeypatch.delenv("GYRE_TOKEN", raising=False)
    with pytest.raises(gyre.errors.UnauthenticatedError, match="GYRE_TOKEN"):
        gyre.cluster.connect(workers.target)
    monkeypatch.setenv("GYRE_TOKEN", workers.token)
    assert len(gyre.cluster.connect(workers.addresses).devices) == 4


@pytest.mark.parametrize("transport", ["tcp", "memory"])
def test_transports(workers, transport):
    cluster = gyre.cluster.connect(workers.target, transport=transport)
    with tf.Graph().as_default(), tf.Session(cluster) as session:
        with tf.device("/job:worker/task:1"):
            x = tf.ones([300, 300])
        assert session.run(tf.reduce_sum(x)) == 90000


def test_jobs_and_tasks_have_the_names_they_are_given(workers):
    server, worker = workers.addresses
    cluster = gyre.cluster.connect([f"/job:worker/task:3={worker}", f"/job:ps/task:0={server}"])
    assert cluster.devices[::2] == [
        "/job:worker/replica:0/task:3/device:CPU:0",
        "/job:ps/replica:0/task:0/device:CPU:0",
    ]
    with tf.Graph().as_default(), tf.Session(cluster) as session:
        with tf.device("/job:ps"):
            x = tf.Assert(tf.constant(False), ["no"])
        with pytest.raises(gyre.errors.InvalidArgumentError, match="on /job:ps/task:0 "):
            session.run(x)


@pytest.mark.parametrize(
    ("target", "words"),
    [
        ("http://localhost:1", "a target is"),
        ("gyre://", "a target is"),
        ("gyre://a:1,,b:2", "a target is"),
    ],
)
def test_what_is_no_target(target, words):
    with pytest.raises(ValueError, match=words):
        tf.Session(target)


@pytest.mark.parametrize(
    ("workers", "words"),
    [
        ([], "needs a worker"),
        (["/job:ps=a:1"], "is no worker"),
        (["/job:ps/task:0"], "is no worker"),
        (["/job:ps/task:0/cpu:0=a:1"], "is no worker"),
        (["/jobs=a:1"], "is no device"),
        (["/job:ps/task:0=a:1", "/job:ps/task:0=b:1"], "two workers are"),
    ],
)
def test_what_is_no_address(workers, words):
    with pytest.raises(gyre.errors.InvalidArgumentError, match=words):
        gyre.cluster.connect(workers, "0123456789abcdef")


def test_what_is_no_option(workers):
    with pytest.raises(gyre.errors.InvalidArgumentError, match="transport"):
        workers.connect(transport="pigeon")
    with pytest.raises(gyre.errors.InvalidArgumentError, match="failure timeout"):
        workers.connect(failure_timeout=0)
    with pytest.raises(ValueError, match="at least one"):
        gyre.cluster.start_workers(0)
    with pytest.raises(TypeError, match="a target is"):
        tf.Session(3)


def test_command_line_starts_workers(tmp_path):
    graph = tmp_path / "graph.gyre"
    graph.write_text(
        "graph {\n  %x = Const() value=int32{20} : int32[]\n"
        '  %y = AddV2(%x, %x) : int32[] on "/job:worker/task:1"\n}\n'
    )
    done = subprocess.run(
        [sys.executable, "-m", "gyre", "run", graph, "--cluster", "local:2", "--fetch", "y:0"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout == "y:0 int32[] = 40\n", done.stderr

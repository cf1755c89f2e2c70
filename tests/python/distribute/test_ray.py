"""Ranks and workers that Ray runs, and what becomes of a run when Ray's processes are killed."""

import os
import subprocess
import sys
import tempfile
import textwrap

import pytest

pytest.importorskip("ray.util", reason="needs Ray: ./dev test --long")

_SEED = int(os.environ.get("GYRE_TEST_SEED", 20261127))


def _drive(program: str, *args: str, timeout: float = 600.0) -> list[str]:
    """What a driver prints, which ends well."""
    with tempfile.NamedTemporaryFile("w", suffix=".py") as file:
        file.write(textwrap.dedent(program))
        file.flush()
        ended = subprocess.run(
            [sys.executable, file.name, *args],
            capture_output=True,
            text=True,
            timeout=timeout,
            env={**os.environ, "RAY_DEDUP_LOGS": "0", "RAY_USAGE_STATS_ENABLED": "0"},
        )
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert "Exception in thread" not in ended.stderr, ended.stderr
    return ended.stdout.splitlines()


# Data, noise and weights of float sums: an undisturbed run is what the others must equal.
_TRAINING = """
import os, random, signal, sys, threading, time
import ray
import gyre

def train(folder, total, pause):
    import os, time
    import numpy as np
    import gyre
    from gyre import distribute as d

    gyre.random.set_seed(11)
    rng = np.random.default_rng(3)
    x = rng.normal(size=[96, 8]).astype(np.float32)
    y = (x @ rng.normal(size=[8, 1])).astype(np.float32)
    strategy = d.MultiWorkerMirroredStrategy()
    with strategy.scope():
        w = gyre.Variable(gyre.random.normal([8, 1]))
        optimizer = gyre.optimizers.Adam(0.05)
    data = gyre.data.Dataset.from_tensor_slices((x, y)).shuffle(40).repeat().batch(12)
    data = iter(strategy.experimental_distribute_dataset(data))

    def replica(x, y):
        with gyre.GradientTape() as tape:
            loss = gyre.reduce_sum(((x + 0.01 * gyre.random.normal([8])) @ w - y) ** 2) / 12.0
        optimizer.apply_gradients(zip(tape.gradient(loss, [w]), [w]))

    step = gyre.function(lambda x, y: strategy.run(replica, args=(x, y)))
    checkpoint = d.Checkpoint(folder, w=w, optimizer=optimizer, data=data)
    for i in checkpoint.steps(total, every=4):
        at = f"{folder}/at-{gyre.cluster.rank()}"
        with open(at + ".new", "w") as file:
            file.write(f"{i} {os.getpid()}")
        os.replace(at + ".new", at)
        step(*next(data))
        time.sleep(pause)
    return gyre.cluster.rank(), w.numpy().tobytes().hex()

def where(folder, rank):
    # (its last step, its process), once it has begun
    try:
        with open(f"{folder}/at-{rank}") as at:
            return tuple(int(word) for word in at.read().split())
    except FileNotFoundError:
        return -1, 0

def killing(folder, kill, steps, n):
    # Kills at each of these steps, of which none is the last.
    draw = random.Random(int(sys.argv[2]))
    for step in steps:
        while min(where(folder, rank)[0] for rank in range(n)) < step:
            time.sleep(0.01)
        time.sleep(draw.uniform(0.0, 0.2))
        kill(where(folder, draw.randrange(n))[1])
"""


def test_training_on_two_workers_survives_the_death_of_any(tmp_path):
    out = _drive(
        _TRAINING
        + """
folder = sys.argv[1]
ray.init("local", num_cpus=2, include_dashboard=False, log_to_driver=False)
expected = gyre.ray.run(train, (folder + "/undisturbed", 40, 0.0), workers=2)
assert [rank for rank, _ in expected] == [0, 1], expected
assert expected[0][1] == expected[1][1]
killed = folder + "/killed"
steps = sorted(random.Random(int(sys.argv[2])).sample(range(1, 30), 3))
kills = threading.Thread(
    target=killing, args=(killed, lambda pid: os.kill(pid, signal.SIGKILL), steps, 2)
)
kills.start()
results = gyre.ray.run(train, (killed, 40, 0.05), workers=2)
kills.join()
assert results == expected
print("equal after", len(steps), "kills")
""",
        str(tmp_path),
        str(_SEED),
    )
    assert out[-1] == "equal after 3 kills"


def test_training_survives_the_death_of_a_node(tmp_path):
    out = _drive(
        _TRAINING
        + """
from ray.cluster_utils import Cluster

folder = sys.argv[1]
cluster = Cluster()
cluster.add_node(num_cpus=0, include_dashboard=False)
nodes = [cluster.add_node(num_cpus=1) for _ in range(4)]
ray.init(address=cluster.address, log_to_driver=False)

def kill_agent(pid):
    with open(f"/proc/{pid}/stat") as stat:  # whose child the worker is
        agent = int(stat.read().rpartition(")")[2].split()[1])
    assert agent in {i.process.pid for node in nodes for i in node.all_processes["raylet"]}
    os.kill(agent, signal.SIGKILL)

options = {"workers": 2, "strategy": "SPREAD"}
expected = gyre.ray.run(train, (folder + "/undisturbed", 40, 0.0), **options)
killed = folder + "/killed"
steps = sorted(random.Random(int(sys.argv[2])).sample(range(1, 30), 2))
kills = threading.Thread(target=killing, args=(killed, kill_agent, steps, 2))
kills.start()
results = gyre.ray.run(train, (killed, 40, 0.05), **options)
kills.join()
assert results == expected
print("equal after", len(steps), "kills")
ray.shutdown()
cluster.shutdown()
""",
        str(tmp_path),
        str(_SEED),
    )
    assert out[-1] == "equal after 2 kills"


def test_errors_of_the_program_are_raised():
    out = _drive(
        """
        import ray
        import gyre

        def fails():
            import gyre
            gyre.distribute.all_reduce(1.0)
            raise ValueError("this is wrong")

        ray.init("local", num_cpus=2, include_dashboard=False, log_to_driver=False)
        try:
            gyre.ray.run(fails, workers=2)
        except ValueError as error:
            print("raised", "this is wrong" in str(error))
        try:
            gyre.ray.run(fails, workers=0)
        except ValueError as error:
            print(error)
        """
    )
    assert out[-2:] == ["raised True", "workers is a number of processes, not 0"]


# A loop that lies on two workers, with its gradient, trains a variable that lies on one of them.
_DRIVER = """
import os, signal, sys
import numpy as np
import ray
import gyre
import gyre.compat.v1 as tf

def build(second):
    tf.random.set_random_seed(3)
    x = tf.constant(np.random.default_rng(1).normal(size=[4, 4]).astype(np.float32))
    with tf.device(second):
        w = tf.Variable(np.random.default_rng(2).normal(size=[4, 4]).astype(np.float32))
    def body(i, h):
        with tf.device(second):
            return i + 1, tf.tanh(tf.matmul(h, w)) + x
    _, h = tf.while_loop(lambda i, _: i < 5, body, [0, x])
    loss = tf.reduce_sum(h * h)
    (slope,) = tf.gradients(loss, [w])
    return w, tf.group(tf.assign_sub(w, 0.001 * slope)), tf.train.Saver([w])
"""


def test_a_driver_whose_loop_is_cut_over_two_workers(tmp_path):
    out = _drive(
        _DRIVER
        + """
def train(target, second, folder, steps, before_step=lambda step: None):
    with tf.Graph().as_default():
        w, step, saver = build(second)
        with tf.Session(target) as session:
            latest = tf.train.latest_checkpoint(folder)
            done = 0
            if latest:
                saver.restore(session, latest)
                done = int(latest.rpartition("-")[2])
            else:
                session.run(tf.global_variables_initializer())
            for i in range(done, steps):
                before_step(i)
                session.run(step)
                if (i + 1) % 4 == 0:
                    saver.save(session, folder + "/w", global_step=i + 1)
            return session.run(w).tobytes()

folder = sys.argv[1]
for name in ("one", "two", "killed"):
    os.makedirs(f"{folder}/{name}")
expected = train("", "/cpu:0", folder + "/one", 20)
ray.init("local", num_cpus=2, include_dashboard=False, log_to_driver=False)
second = "/job:worker/task:1"
with gyre.ray.start_workers(2) as workers:
    assert train(workers.target, second, folder + "/two", 20) == expected
    print("two workers are as one process")
    for at in (3, 10, 17):
        def kill(i, at=at):
            if i == at:
                os.kill(workers.pids[at % 2], signal.SIGKILL)
        try:
            train(workers.target, second, folder + "/killed", 20, kill)
        except gyre.errors.UnavailableError as error:
            assert f"worker {at % 2} (" in str(error), error
        else:
            raise AssertionError("nobody has died")
        assert workers.restart() == [at % 2]
    assert train(workers.target, second, folder + "/killed", 20) == expected
    assert workers.restart() == []
    print("equal after 3 kills")
""",
        str(tmp_path),
    )
    assert "two workers are as one process" in out
    assert out[-1] == "equal after 3 kills"

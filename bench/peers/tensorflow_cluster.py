"""TensorFlow's servers, as processes of this machine, and graphs whose nodes lie on them.

tensorflow_cluster.py INDEX ADDRESS,ADDRESS,…    serves as that task, until its input ends
"""

import functools
import socket
import subprocess
import sys

import tensorflow as tf

from values import Case

tf1 = tf.compat.v1
ITERATIONS = 200  # some tenths of a second
FIRST, SECOND = "/job:worker/task:0", "/job:worker/task:1"
SERVERS = 4


def config():
    """One thread that computes, as Gyre's workers have in these cases."""
    return tf1.ConfigProto(intra_op_parallelism_threads=1, inter_op_parallelism_threads=1)


def serve(index, addresses):
    cluster = tf.train.ClusterSpec({"worker": addresses})
    server = tf1.train.Server(cluster, job_name="worker", task_index=index, config=config())
    print("serving", server.target, flush=True)
    sys.stdin.read()


def free_addresses(count):
    listeners = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    addresses = [f"127.0.0.1:{listener.getsockname()[1]}" for listener in listeners]
    for listener in listeners:
        listener.close()
    return addresses


@functools.cache
def servers():
    """The servers' processes, which end with this one, and the first one's address."""
    addresses = free_addresses(SERVERS)
    started = [
        subprocess.Popen(
            [sys.executable, __file__, str(index), ",".join(addresses)],
            text=True,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        for index in range(SERVERS)
    ]
    for server in started:
        if not server.stdout.readline().startswith("serving"):
            raise RuntimeError("a server of TensorFlow's has not started")
    return started, addresses[0]


def prepared(build):
    with tf1.Graph().as_default() as graph:
        fetch = build()
    session = tf1.Session(f"grpc://{servers()[1]}", graph=graph, config=config())
    return session.make_callable(fetch)


def dependent():
    def body(i, x):
        with tf.device(FIRST):
            x = x + 1.0
        with tf.device(SECOND):
            x = x + 1.0
        with tf.device(FIRST):
            return i + 1, tf.identity(x)

    with tf.device(FIRST):
        return tf1.while_loop(lambda i, x: i < ITERATIONS, body, [0, 0.0])[1]


def independent():
    def body(i, total):
        with tf.device(FIRST):
            following, sent = i + 1.0, i * 2.0
        with tf.device(SECOND):
            return following, total + sent

    with tf.device(FIRST):
        return tf1.while_loop(
            lambda i, total: i < float(ITERATIONS), body, [0.0, 0.0], parallel_iterations=32
        )[1]


def conditional():
    def branch(factor):
        with tf.device(SECOND):
            return x * factor

    with tf.device(FIRST):
        x = tf.identity(tf1.placeholder_with_default(5.0, []))  # nothing is known of it beforehand
        return -tf1.cond(x < 0.0, lambda: branch(2.0), lambda: branch(3.0))


def null_step(tasks):
    fetches = []
    for index in range(tasks):
        with tf.device(f"/job:worker/task:{index}"):
            fetches.append(tf.constant(7.0))
    return fetches


def cases():
    return {
        "cluster/dependent_tcp": lambda: Case(prepared(dependent), 2.0 * ITERATIONS, ITERATIONS),
        "cluster/independent_tcp": lambda: Case(
            prepared(independent), 1.0 * ITERATIONS * (ITERATIONS - 1), ITERATIONS
        ),
        "cluster/cond_tcp": lambda: Case(prepared(conditional), -15.0),
        **{
            f"cluster/null_step_{n}": lambda n=n: Case(prepared(lambda: null_step(n)), (7.0,) * n)
            for n in (1, 2, 4)
        },
    }


if __name__ == "__main__":
    serve(int(sys.argv[1]), sys.argv[2].split(","))

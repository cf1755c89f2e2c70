"""Eight LSTM layers on two devices: while one computes its layers for a step, the other is a step
behind.

The loop over the steps of a sequence is one loop of the graph. Nothing but the devices of its nodes
says where it is cut: the two halves send each other values, and iterations overlap up to the loop's
window.

    python examples/python/pipelined_lstm.py             # two devices of this process
    python examples/python/pipelined_lstm.py --cluster   # two worker processes
"""

import contextlib
import sys
import time

import numpy as np

import gyre
import gyre.compat.v1 as tf

LAYERS, STEPS, BATCH, UNITS = 8, 48, 32, 128


def cell(x, c, h, weights):
    """One step of one layer: the next c and h."""
    i, j, f, o = tf.split(tf.matmul(tf.concat([x, h], axis=1), weights), 4, axis=1)
    c = tf.sigmoid(f + 1) * c + tf.sigmoid(i) * tf.tanh(j)
    return c, tf.sigmoid(o) * tf.tanh(c)


def build(devices):
    """(the sequence, what the last layer says at each step),
    with the layers spread over the devices."""
    rng = np.random.RandomState(0)
    places = [devices[k * len(devices) // LAYERS] for k in range(LAYERS)]
    weights, states = [], []
    for k, place in enumerate(places):
        with tf.device(place):
            initial = rng.normal(0, UNITS**-0.5, size=(2 * UNITS, 4 * UNITS)).astype(np.float32)
            weights.append(tf.Variable(initial, name=f"weights_{k}"))
            states += [tf.zeros([BATCH, UNITS]), tf.zeros([BATCH, UNITS])]
    x = tf.placeholder(tf.float32, [STEPS, BATCH, UNITS], name="x")
    with tf.device(places[0]):
        inputs = tf.TensorArray(tf.float32, STEPS).unstack(x)
    with tf.device(places[-1]):
        outputs = tf.TensorArray(tf.float32, STEPS)

    def step(t, outputs, *states):
        after = []
        with tf.device(places[0]):
            h = inputs.read(t)
        for k, place in enumerate(places):
            with tf.device(place):
                c, h = cell(h, states[2 * k], states[2 * k + 1], weights[k])
                after += [c, h]
        with tf.device(places[-1]):
            return t + 1, outputs.write(t, h), *after

    with tf.device(places[0]):
        steps = tf.while_loop(
            lambda t, *_: t < STEPS, step, [0, outputs, *states], parallel_iterations=32
        )
    with tf.device(places[-1]):
        return x, steps[1].stack()


def run(target, devices, sequence, times=5):
    """What comes out, and the seconds of the fastest of some runs."""
    with tf.Graph().as_default(), tf.Session(target) as session:
        x, outputs = build(devices)
        session.run(tf.global_variables_initializer())
        seconds = []
        for _ in range(times):
            begin = time.perf_counter()
            found = session.run(outputs, {x: sequence})
            seconds.append(time.perf_counter() - begin)
    return found, min(seconds)


@contextlib.contextmanager
def two_devices(of_processes):
    """The target of a session, and two devices that it has."""
    if of_processes:
        with gyre.cluster.start_workers(2, threads=1) as workers:
            yield workers.target, ["/job:worker/task:0", "/job:worker/task:1"]
        return
    (cpu,) = gyre.config.list_physical_devices("CPU")
    one = gyre.config.LogicalDeviceConfiguration()
    gyre.config.set_logical_device_configuration(cpu, [one, one])
    try:
        yield "", ["/device:CPU:0", "/device:CPU:1"]
    finally:
        gyre.config.set_logical_device_configuration(cpu, [one])


def main(cluster=False, report=print):
    """The seconds that a sequence takes on one device and on two,
    and by how much the results differ."""
    sequence = np.random.RandomState(1).normal(size=(STEPS, BATCH, UNITS)).astype(np.float32)
    with two_devices(cluster) as (target, devices):
        expected, on_one = run(target, devices[:1], sequence)
        found, on_two = run(target, devices, sequence)
    difference = float(np.abs(found - expected).max())
    report(
        f"{LAYERS} layers, {STEPS} steps: {on_one * 1e3:.1f} ms on one device, {on_two * 1e3:.1f} "
        f"ms on two{' processes' if cluster else ''} ({on_one / on_two:.2f} times as fast); "
        f"the results differ by {difference}"
    )
    return {"one": on_one, "two": on_two, "difference": difference}


if __name__ == "__main__":
    assert main(cluster="--cluster" in sys.argv[1:])["difference"] == 0

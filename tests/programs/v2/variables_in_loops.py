"""Variables that are read and changed inside loops and branches of a function."""

import tensorflow as tf

counter = tf.Variable(0, name="counter")
memory = tf.Variable(tf.zeros([4]), trainable=False)


@tf.function
def fill(values):
    for i in tf.range(tf.size(values)):
        if values[i] > 0.0:
            counter.assign_add(1)
            memory.assign(tf.tensor_scatter_nd_update(memory, [[i]], [values[i]]))
        else:
            memory.assign_sub(tf.ones([4]))
    return memory.read_value()


@tf.function
def count_down(n):
    return tf.while_loop(lambda i, _: i > 0, lambda i, s: (i - 1, s + i), [n, tf.constant(0)])


class Accumulator(tf.Module):
    def __init__(self):
        super().__init__(name="accumulator")
        self.total = None

    @tf.function
    def __call__(self, x):
        if self.total is None:
            self.total = tf.Variable(tf.zeros_like(x))
        self.total.assign_add(x)
        return self.total * 2.0


def main():
    first = fill(tf.constant([1.0, -1.0, 3.0, 2.0]))
    second = fill(tf.constant([-1.0, -1.0, -3.0, 2.0]))
    _, s = count_down(tf.constant(10))
    accumulator = Accumulator()
    once = accumulator(tf.constant([1.0, 2.0]))
    twice = accumulator(tf.constant([1.0, 2.0]))
    rows = tf.Variable(tf.reshape(tf.range(6.0), [3, 2]))
    rows.scatter_add(tf.IndexedSlices(tf.ones([2, 2]), tf.constant([0, 2])))
    rows.scatter_update(tf.IndexedSlices(tf.constant([[9.0, 9.0]]), tf.constant([1])))
    return {
        "first": first,
        "second": second,
        "counter": counter.numpy(),
        "s": s,
        "once": once,
        "twice": twice,
        "rows": rows.numpy(),
        "sparse": rows.sparse_read([2, 0]),
        "modules": accumulator.name,
        "variables": len(accumulator.variables),
        "initial": bool(counter.trainable),
        "shape": rows.shape.as_list(),
    }

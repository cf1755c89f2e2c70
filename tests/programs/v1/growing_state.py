"""Loops whose state grows, holds structures, or is named: shape invariants and nested variables."""

import collections

import tensorflow.compat.v1 as tf

tf.disable_eager_execution()
Walk = collections.namedtuple("Walk", "position path")


def main():
    n = tf.placeholder(tf.int32, [])
    i0, m0 = tf.constant(0), tf.ones([2, 2])
    _, tall = tf.while_loop(
        lambda i, m: i < n,
        lambda i, m: [i + 1, tf.concat([m, m * 2.0], axis=0)],
        loop_vars=[i0, m0],
        shape_invariants=[i0.get_shape(), tf.TensorShape([None, 2])],
    )
    _, row = tf.while_loop(
        lambda i, r: i < n,
        lambda i, r: (i + 1, tf.concat([[1], r[:-1] + r[1:], [1]], 0)),
        (tf.constant(0), tf.constant([1])),
        shape_invariants=(tf.TensorShape([]), tf.TensorShape([None])),
    )

    def move(i, walk, seen):
        position = walk.position + tf.where(tf.equal(i % 2, 0), i, -2 * i)
        path = tf.concat([walk.path, tf.reshape(position, [1])], axis=0)
        return i + 1, Walk(position, path), {"far": tf.maximum(seen["far"], tf.abs(position))}

    _, walk, seen = tf.while_loop(
        lambda i, walk, seen: i < n,
        move,
        (tf.constant(0), Walk(tf.constant(0), tf.zeros([0], tf.int32)), {"far": tf.constant(0)}),
        shape_invariants=(
            tf.TensorShape([]),
            Walk(tf.TensorShape([]), tf.TensorShape([None])),
            {"far": tf.TensorShape([])},
        ),
    )
    single = tf.while_loop(lambda v: v < 100, lambda v: v * 3, [tf.constant(2)])
    same = tf.while_loop(
        lambda v: v < 100, lambda v: v * 3, [tf.constant(2)], return_same_structure=True
    )
    with tf.Session() as sess:
        out = {}
        for k in (0, 3):
            out[f"tall_{k}"] = sess.run(tall, {n: k})
            out[f"pascal_{k}"] = sess.run(row, {n: k})
        got = sess.run([walk, seen], {n: 5})
        out["path"], out["position"], out["far"] = got[0].path, got[0].position, got[1]["far"]
        out["type"] = type(got[0]).__name__
        out["single"] = sess.run(single)
        out["same"] = [len(same), sess.run(same)[0]]
    out["shapes"] = [str(tall.shape), str(row.shape)]
    return out

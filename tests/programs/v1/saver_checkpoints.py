"""Saving in the middle of training, and going on from there in another session."""

import os
import tempfile

import numpy as np
import tensorflow.compat.v1 as tf

tf.disable_eager_execution()


def main():
    w = tf.get_variable("w", initializer=[1.0, 2.0])
    count = tf.get_variable("count", initializer=0, trainable=False)
    train = tf.group(
        tf.train.AdamOptimizer(0.1).minimize(tf.reduce_sum(w * w)), tf.assign_add(count, 1)
    )
    saver = tf.train.Saver(max_to_keep=2)
    only_w = tf.train.Saver({"w": w})
    out = {}
    with tempfile.TemporaryDirectory() as folder:
        prefix = os.path.join(folder, "model")
        with tf.Session() as sess:
            sess.run(tf.global_variables_initializer())
            for i in range(6):
                sess.run(train)
                if i % 2:
                    path = saver.save(sess, prefix, global_step=count)
            out["end"] = sess.run(w)
        latest = tf.train.latest_checkpoint(folder)
        out["latest"] = os.path.basename(latest)
        out["same"] = latest == path
        out["kept"] = [os.path.basename(p) for p in saver.last_checkpoints]
        with tf.Session() as sess:
            saver.restore(sess, saver.last_checkpoints[0])
            out["restored"] = sess.run([w[0], tf.cast(count, tf.float32)])
            sess.run(train)
            sess.run(train)
            out["again"] = sess.run(w)
        with tf.Session() as sess:
            only_w.restore(sess, latest)
            out["part"] = sess.run(w)
            try:
                sess.run(count)
            except tf.errors.FailedPreconditionError as error:
                out["uninitialised"] = type(error).__name__
            try:
                saver.restore(sess, os.path.join(folder, "nothing"))
            except ValueError:
                out["missing"] = True
    out["equal"] = bool(np.array_equal(out["end"], out["again"]))
    return out

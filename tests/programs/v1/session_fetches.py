"""Fetches of every structure, feeds of any tensor, callables, default sessions."""

import collections

import numpy as np
import tensorflow.compat.v1 as tf

tf.disable_eager_execution()
Point = collections.namedtuple("Point", ["x", "y"])


def main():
    x = tf.placeholder(tf.float32, shape=(None,), name="x")
    doubled = tf.multiply(x, 2.0, name="doubled")
    total = tf.reduce_sum(doubled + 1.0)
    v = tf.Variable([1.0, 2.0], name="v")
    out = {}
    with tf.Session(config=tf.ConfigProto(allow_soft_placement=True)) as sess:
        sess.run(tf.global_variables_initializer())
        feed = {x: [1.0, 2.0, 3.0]}
        result = sess.run(
            {"point": Point(x=total, y=[doubled, (v,)]), "name": "doubled:0", "op": v.initializer},
            feed,
        )
        out["point"] = result["point"].x
        out["type"] = type(result["point"]).__name__
        out["nested"] = result["point"].y[1][0]
        out["by_name"] = result["name"]
        out["op"] = result["op"] is None
        out["fed_middle"] = sess.run(total, {doubled: np.array([10.0, 20.0])})
        out["fed_name"] = sess.run("doubled:0", {"x:0": np.array([4.0])})
        out["fed_fetch"] = sess.run([x, total], {x: np.ones(2)})[0]
        call = sess.make_callable(total, feed_list=[x])
        out["called"] = [call([i]) for i in (1.0, 5.0)]
        out["eval"] = total.eval(feed)
        v.load([7.0, 8.0], sess)
        out["loaded"] = v.eval()
        mutable = sess.run(v)
        mutable += 1.0
        out["own"] = sess.run(v)
        out["graph"] = tf.get_default_session() is sess
        options = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE, timeout_in_ms=60000)
        metadata = tf.RunMetadata()
        out["traced"] = sess.run(total, feed, options=options, run_metadata=metadata)
        out["stats"] = len(metadata.step_stats.dev_stats) > 0
        out["list_of_one"] = len(sess.run([total], feed))
    try:
        sess.run(total, feed)
    except RuntimeError as error:
        out["closed"] = type(error).__name__
    session = tf.InteractiveSession()
    out["interactive"] = tf.constant(3).eval()
    session.close()
    return out

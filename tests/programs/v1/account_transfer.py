"""Two accounts: conditional transfers, in the order that control dependencies give."""

import tensorflow.compat.v1 as tf

tf.disable_v2_behavior()


def main():
    a = tf.get_variable("a", initializer=100.0)
    b = tf.get_variable("b", initializer=20.0)
    refused = tf.get_variable(
        "refused", shape=[], dtype=tf.int32, initializer=tf.zeros_initializer()
    )
    amount = tf.placeholder(tf.float32, shape=[])

    def transfer():
        take = tf.assign_sub(a, amount)
        with tf.control_dependencies([take]):
            give = tf.assign_add(b, amount)
        with tf.control_dependencies([give]):
            return tf.identity(True)

    def refuse():
        with tf.control_dependencies([tf.assign_add(refused, 1)]):
            return tf.identity(False)

    done = tf.cond(a >= amount, transfer, refuse)
    reset = tf.group(a.initializer, b.initializer)
    history = []
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        outcome = [sess.run(done, {amount: m}) for m in (30.0, 50.0, 40.0, 20.0)]
        history.append(sess.run([a, b]))
        count = sess.run(refused)
        sess.run(reset)
        history.append(sess.run([a, b]))
    return {"outcome": outcome, "history": history, "refused": count}

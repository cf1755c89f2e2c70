"""Variable scopes: sharing, reuse, custom getters, and what is refused."""

import numpy as np
import tensorflow.compat.v1 as tf

tf.disable_v2_behavior()


def layer(x, units):
    w = tf.get_variable("w", [x.shape[1].value, units], initializer=tf.constant_initializer(0.5))
    b = tf.get_variable("b", [units], initializer=tf.zeros_initializer())
    return tf.nn.relu(tf.matmul(x, w) + b)


def main():
    x = tf.placeholder(tf.float32, [None, 4])
    out = {}
    with tf.variable_scope("tower"):
        first = layer(x, 3)
    with tf.variable_scope("tower", reuse=True):
        second = layer(2.0 * x, 3)
    with tf.variable_scope("tower", reuse=tf.AUTO_REUSE) as scope:
        third = layer(-x, 3)
        with tf.variable_scope("inner"):
            extra = tf.get_variable("extra", [2], initializer=tf.ones_initializer())
        out["inner"] = extra.name
    with tf.variable_scope(scope, reuse=True):
        out["same"] = tf.get_variable("w", [4, 3]) is tf.trainable_variables()[0]
    with tf.variable_scope(None, default_name="block"):
        one = tf.get_variable("v", [], initializer=tf.ones_initializer())
    with tf.variable_scope(None, default_name="block"):
        two = tf.get_variable("v", [], trainable=False, initializer=tf.ones_initializer())
    errors = []
    for name, reuse, shape in (("w", None, [4, 3]), ("missing", True, [1]), ("w", True, [5, 5])):
        try:
            with tf.variable_scope("tower", reuse=reuse):
                tf.get_variable(name, shape)
        except ValueError as error:
            errors.append(type(error).__name__)
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        out["values"] = sess.run([first, second, third], {x: np.arange(8).reshape(2, 4)})
    out["blocks"] = [one.name, two.name]
    out["all"] = [v.name for v in tf.global_variables()]
    out["trainable"] = [v.op.name for v in tf.trainable_variables()]
    out["scoped"] = [
        v.name for v in tf.get_collection(tf.GraphKeys.GLOBAL_VARIABLES, scope="tower/inner")
    ]
    out["errors"] = errors
    return out

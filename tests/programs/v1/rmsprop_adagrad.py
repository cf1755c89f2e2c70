"""The valley of Rosenbrock's function, descended by three optimizers at once."""

import tensorflow.compat.v1 as tf

tf.disable_v2_behavior()


def main():
    out = {}
    optimizers = {
        "rmsprop": tf.train.RMSPropOptimizer(0.01, decay=0.8, momentum=0.5),
        "centered": tf.train.RMSPropOptimizer(0.01, centered=True),
        "adagrad": tf.train.AdagradOptimizer(0.3, initial_accumulator_value=0.2),
        "adam": tf.train.AdamOptimizer(learning_rate=0.1, epsilon=1e-4),
    }
    points, steps = {}, []
    for name, optimizer in optimizers.items():
        with tf.variable_scope(name):
            p = points[name] = tf.get_variable("p", initializer=[-1.0, 1.5])
            loss = tf.square(1.0 - p[0]) + 10.0 * tf.square(p[1] - p[0] ** 2)
            steps.append(optimizer.minimize(loss, var_list=[p]))
    step = tf.group(*steps, name="all_steps")
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        for _ in range(30):
            sess.run(step)
        out.update(sess.run(points))
    out["op"] = [step.name, step.type]
    out["variables"] = [v.name for v in tf.global_variables()]
    return out


TOLERANCE = 1e-4

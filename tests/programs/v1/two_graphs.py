"""Two graphs, three sessions: each has its own state; one hands values to the other."""

import numpy as np
import tensorflow.compat.v1 as tf

tf.disable_v2_behavior()


def counter(step):
    graph = tf.Graph()
    with graph.as_default():
        tf.set_random_seed(7)
        count = tf.get_variable("count", initializer=np.float32(0.0), use_resource=True)
        noise = tf.random_uniform([2], seed=11, name="noise")
        bump = tf.assign_add(count, step, name="bump")
        init = tf.global_variables_initializer()
    return graph, count, bump, noise, init


def main():
    one, count_one, bump_one, noise_one, init_one = counter(1.0)
    two, count_two, bump_two, noise_two, init_two = counter(10.0)
    a, b, c = tf.Session(graph=one), tf.Session(graph=one), tf.Session(graph=two)
    for session, init in ((a, init_one), (b, init_one), (c, init_two)):
        session.run(init)
    for _ in range(3):
        a.run(bump_one)
    b.run(bump_one)
    c.run(bump_two)
    out = {"counts": [a.run(count_one), b.run(count_one), c.run(count_two)]}
    with two.as_default():
        handed = bump_two + a.run(count_one)
    out["handed"] = c.run(handed)
    draws = []
    for graph, noise in ((one, noise_one), (one, noise_one), (two, noise_two)):
        with tf.Session(graph=graph) as session:
            draws.append([session.run(noise) for _ in range(2)])
    out["same_seed"] = [bool(np.array_equal(draws[0], other)) for other in draws[1:]]
    out["new_each_time"] = bool(np.all(draws[0][0] != draws[0][1]))
    out["default"] = tf.get_default_graph() is one
    with one.as_default():
        out["inner"] = tf.get_default_graph() is one
        with two.as_default():
            out["innermost"] = tf.get_default_graph() is two
    out["versions"] = [t.graph is one for t in (count_one, noise_two)]
    for session in (a, b, c):
        session.close()
    return out

"""Structures of tensors as arguments, state of loops and results; the functions of nest."""

import collections

import tensorflow as tf

Point = collections.namedtuple("Point", ["x", "y"])


@tf.function
def walk(state, steps):
    for i in tf.range(steps):
        position = state["position"]
        velocity = state["velocity"]
        position = Point(position.x + velocity[0], position.y + velocity[1])
        if position.x > 3.0:
            velocity = [-velocity[0], velocity[1]]
        state = {"position": position, "velocity": velocity, "steps": i + 1}
    return state


@tf.function
def swap(pair):
    first, (second, third) = pair
    return tf.cond(
        first > second, lambda: (third, [first, second]), lambda: (first, [second, third])
    )


def main():
    start = {
        "position": Point(tf.constant(0.0), tf.constant(1.0)),
        "velocity": [tf.constant(0.75), tf.constant(-0.5)],
        "steps": tf.constant(0),
    }
    end = walk(start, tf.constant(9))
    flat = tf.nest.flatten(end)
    doubled = tf.nest.map_structure(lambda t: t * 2, end)
    packed = tf.nest.pack_sequence_as(start, list(range(5)))
    result = swap((tf.constant(3), (tf.constant(2), tf.constant(1))))
    messages = []
    for other in ({"position": 1}, {"position": Point(1, 2), "velocity": (1, 2), "steps": 3}):
        try:
            tf.nest.assert_same_structure(start, other)
        except (ValueError, TypeError) as error:
            messages.append(type(error).__name__)
    return {
        "x": end["position"].x,
        "y": end["position"].y,
        "flat": [float(t) for t in flat],
        "velocity": doubled["velocity"][0],
        "steps": end["steps"],
        "packed": str(packed["position"]),
        "result": [int(t) for t in tf.nest.flatten(result)],
        "messages": messages,
        "nested": [tf.nest.is_nested(x) for x in ([1], 1, {}, "ab")],
        "type": type(end["position"]).__name__,
    }

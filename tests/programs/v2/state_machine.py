"""A machine of three states: switch_case, case and cond choose what happens next."""

import tensorflow as tf

program = tf.constant([0, 2, 1, 1, 0, 2, 2, 3, 1])


@tf.function
def run(program):
    value = tf.constant(1)
    history = tf.TensorArray(tf.int32, size=tf.size(program))

    def body(i, value, history):
        value = tf.switch_case(
            program[i],
            [lambda: value + 10, lambda: value * 2, lambda: value - 3],
            default=lambda: -value,
        )
        return i + 1, value, history.write(i, value)

    _, value, history = tf.while_loop(
        lambda i, *_: i < tf.size(program), body, (0, value, history), parallel_iterations=1
    )
    return value, history.stack()


@tf.function
def sign(x):
    return tf.case(
        [(x < 0, lambda: tf.constant("negative")), (x > 0, lambda: tf.constant("positive"))],
        default=lambda: tf.constant("zero"),
        exclusive=True,
    )


@tf.function
def nested(a, b):
    return tf.cond(
        a > b,
        lambda: tf.cond(a > 2 * b, lambda: a - 2 * b, lambda: a - b),
        lambda: tf.cond(b > 2 * a, lambda: b * 100, lambda: b),
    )


def main():
    value, history = run(program)
    x = tf.constant(3.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.switch_case(tf.constant(1), {0: lambda: x, 1: lambda: x * x, 2: lambda: -x})
    return {
        "value": value,
        "history": history,
        "signs": [sign(tf.constant(k)).numpy() for k in (-2, 0, 5)],
        "nested": [
            int(nested(tf.constant(a), tf.constant(b))) for a, b in ((7, 2), (3, 2), (1, 5), (3, 4))
        ],
        "dy": tape.gradient(y, x),
    }

"""The gradients that TensorFlow's peers compute: functions on tensors, for tf.function, compiled or
not, and for graphs of primitives, where tf.while_loop writes these."""

import tensorflow as tf

import values as v


def sine_loop(iterations, x, w, **options):
    return tf.while_loop(
        lambda i, _: i < iterations, lambda i, x: (i + 1, tf.sin(x * w)), [0, x], **options
    )[1]


def of_sine_loop(n, x, w, **options):
    return tf.gradients(sine_loop(n, x, w, **options), w)[0]


def of_lstm(n, xs, w, u, b, h, **options):
    """Of the sum of all elements of the last h, by w, u and b."""

    def step(t, h, c):
        i, f, o, g = tf.split(tf.nn.bias_add(xs[t] @ w + h @ u, b), 4, axis=1)
        c = tf.sigmoid(f) * c + tf.sigmoid(i) * tf.tanh(g)
        return t + 1, tf.sigmoid(o) * tf.tanh(c), c

    return tuple(
        tf.gradients(tf.while_loop(lambda t, *_: t < n, step, [0, h, h], **options)[1], [w, u, b])
    )


def training(n, x, labels, rate, *weights):
    """(loss of the last step, weights behind it)."""

    def step(i, _, w1, b1, w2, b2):
        hidden = tf.nn.relu(tf.nn.bias_add(x @ w1, b1))
        logits = tf.nn.bias_add(hidden @ w2, b2)
        loss = tf.reduce_mean(tf.nn.softmax_cross_entropy_with_logits(labels, logits))
        now = [w1, b1, w2, b2]
        return (
            i + 1,
            loss,
            *[value - rate * by for value, by in zip(now, tf.gradients(loss, now), strict=True)],
        )

    return tuple(tf.while_loop(lambda i, *_: i < n, step, [0, 0.0, *weights])[1:])


def of_row(iterations, x, w):
    """Of many loops, each of which starts where the one before it ends."""
    y = x
    for _ in range(v.LOOPS):
        y = sine_loop(iterations, y, w)
    return tf.gradients(y, w)[0]


def of_nest(iterations, x, w):
    """Of many loops, each in the body of the one around it;
    an iteration computes a sine and then runs the next loop."""

    def nest(level, x):
        def step(i, x):
            x = tf.sin(x * w)
            return i + 1, nest(level + 1, x) if level < v.LOOPS else x

        return tf.while_loop(lambda i, _: i < iterations, step, [0, x])[1]

    return tf.gradients(nest(1, x), w)[0]

"""Text as tensors: joined, counted, changed and read as numbers, in loops and maps."""

import tensorflow as tf

words = tf.constant(["graph", "Loop", "tensor", "If"])


@tf.function
def sentence(words):
    text = tf.constant("")
    for i in tf.range(tf.size(words)):
        if i > 0:
            text = tf.strings.join([text, " "])
        text = tf.strings.join([text, tf.strings.upper(words[i])])
    return text


@tf.function
def longest(words):
    best, length = tf.constant(""), tf.constant(-1)
    for word in words:
        n = tf.strings.length(word)
        if n > length:
            best, length = word, n
    return best, length


def main():
    best, length = longest(words)
    numbers = tf.strings.to_number(["1.5", "-2", "1e3"])
    return {
        "sentence": sentence(words),
        "best": best,
        "length": length,
        "numbers": numbers,
        "integers": tf.strings.to_number(["7", "-3"], tf.int32),
        "lower": tf.strings.lower(words),
        "as_string": tf.strings.as_string([1.5, 2.25], precision=2),
        "equal": words == "Loop",
        "joined": tf.strings.join(["a", words], separator="-"),
        "bytes": tf.compat.as_bytes("text"),
        "one": words[0].numpy(),
    }

"""TensorFlow compiled: the cases of gradients as tf.function(jit_compile=True), each one program of
XLA's.

XLA must know how often a loop runs at most whose gradient it is to compile: it saves values in
arrays of that length.
"""

from functools import partial

import tensorflow_gradients as gradients
import tensorflow_peer
import values as v

VERSION, configure = tensorflow_peer.VERSION, tensorflow_peer.configure


def sine_loop():
    function = partial(gradients.of_sine_loop, maximum_iterations=v.SINE_ITERATIONS)
    return tensorflow_peer.gradient_of_sine(
        function, v.SINE_ITERATIONS, v.SINE_ITERATIONS, jit_compile=True
    )


def lstm(size):
    function = partial(gradients.of_lstm, maximum_iterations=size.steps)
    return tensorflow_peer.gradient_of_lstm(function, size, jit_compile=True)


def cases(threads):
    del threads  # configure() has said it
    return {
        "gradient/scalar_loop": sine_loop,
        **{name: partial(lstm, size) for name, size in v.LSTM_GRADIENTS.items()},
        "gradient/training": partial(tensorflow_peer.training, jit_compile=True),
    }

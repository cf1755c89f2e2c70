"""What the models have in common: seeded weights, layers, and a step of training."""

import zlib

import numpy as np
import tensorflow as tf


def spec(shape, dtype=tf.float32):
    return tf.TensorSpec(shape, dtype)


class Golden(tf.Module):
    """A model that is exported: `serve`, which signature serving_default runs, and `loss`, which
    signature train returns, before a step down its gradient.

    Weights come from a generator seeded with the model's name, when they are first asked for: the
    model is called once before it is traced.
    """

    doc = ""
    serve_inputs = {}
    loss_inputs = {}

    def __init__(self):
        super().__init__(name=type(self).__name__.lower())
        self.weights = {}
        self.random = np.random.RandomState(zlib.crc32(self.title.encode()))
        self.updates = None

    def serve(self, **inputs):
        raise NotImplementedError

    def loss(self, **inputs):
        raise NotImplementedError

    def more_signatures(self):
        """name -> (function, specs of its inputs) of signatures of the model's own."""
        return {}

    def steps(self):
        """What is run in order: (signature, inputs)."""
        raise NotImplementedError

    def weight(self, name, shape, scale=None, value=None, trainable=True):
        """The variable `name`: normal values of a deviation for its fan-in, or all `value`."""
        if name not in self.weights:
            if value is None:
                fan_in = np.prod(shape[:-1]) if len(shape) > 1 else shape[0]
                start = self.random.normal(size=shape) * (scale or fan_in**-0.5)
            else:
                start = np.full(shape, value)
            self.weights[name] = tf.Variable(
                start.astype(np.float32), trainable=trainable, name=name.replace(".", "_")
            )
        return self.weights[name]

    def dense(self, name, x, units, bias=True):
        y = tf.matmul(x, self.weight(name + ".kernel", [x.shape[-1], units]))
        return y + self.weight(name + ".bias", [units], value=0.0) if bias else y

    def layer_norm(self, name, x):
        mean, variance = tf.nn.moments(x, [-1], keepdims=True)
        scale = self.weight(name + ".scale", [x.shape[-1]], value=1.0)
        offset = self.weight(name + ".offset", [x.shape[-1]], value=0.0)
        return (x - mean) * tf.math.rsqrt(variance + 1e-5) * scale + offset

    def lstm_cell(self, name, x, h, c):
        units = h.shape[-1]
        gates = self.dense(name, tf.concat([x, h], -1), 4 * units)
        i, f, g, o = tf.split(gates, 4, axis=-1)
        c = tf.sigmoid(f + 1.0) * c + tf.sigmoid(i) * tf.tanh(g)
        return tf.sigmoid(o) * tf.tanh(c), c

    def batch_norm(self, name, x, training):
        """The fused op, whose moving averages are written after a step of training."""
        channels = [x.shape[-1]]
        scale = self.weight(name + ".scale", channels, value=1.0)
        offset = self.weight(name + ".offset", channels, value=0.0)
        mean = self.weight(name + ".mean", channels, value=0.0, trainable=False)
        variance = self.weight(name + ".variance", channels, value=1.0, trainable=False)
        y, new_mean, new_variance = tf.compat.v1.nn.fused_batch_norm(
            x,
            scale,
            offset,
            mean=mean.read_value(),
            variance=variance.read_value(),
            epsilon=1e-3,
            is_training=training,
            exponential_avg_factor=0.1 if training else 1.0,
        )
        if training and self.updates is not None:
            self.updates += [(mean, new_mean), (variance, new_variance)]
        return y

    def train(self, rate, **batch):
        """One step down the gradient, sparse where the gradient is sparse."""
        self.updates = []
        with tf.GradientTape() as tape:
            loss = self.loss(**batch)
        variables = self.trainable_variables
        gradients = tape.gradient(loss, variables)
        for gradient, variable in zip(gradients, variables):
            if isinstance(gradient, tf.IndexedSlices):
                variable.scatter_sub(tf.IndexedSlices(rate * gradient.values, gradient.indices))
            elif gradient is not None:
                variable.assign_sub(rate * gradient)
        for variable, value in self.updates:
            variable.assign(value)
        self.updates = None
        return {"loss": loss}

    def signatures(self):
        """Concrete functions by name."""
        made = {
            "serving_default": (self.serve, self.serve_inputs),
            "train": (self.train, {"rate": spec([]), **self.loss_inputs}),
            **self.more_signatures(),
        }
        return {
            name: tf.function(function).get_concrete_function(
                **{key: tf.TensorSpec(s.shape, s.dtype, name=key) for key, s in inputs.items()}
            )
            for name, (function, inputs) in made.items()
        }

    def draw(self, *shape):
        """Inputs: normal numbers."""
        return self.random.normal(size=shape).astype(np.float32)

    def usual_steps(self, served, batch, rate=0.1):
        """Served, two steps of training, served again."""
        train = ("train", {"rate": np.float32(rate), **batch})
        return [("serving_default", served), train, train, ("serving_default", served)]

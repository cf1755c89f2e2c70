"""Convolutional networks: MobileNetV2-like, ResNet-like, and one with simulated quantization."""

import numpy as np
import tensorflow as tf

from .base import Golden, spec


def conv(model, name, x, filters, size, stride=1, padding="SAME"):
    kernel = model.weight(name + ".kernel", [size, size, x.shape[-1], filters])
    return tf.nn.conv2d(x, kernel, stride, padding)


def pooled(x):
    return tf.reduce_mean(x, [1, 2])


def cross_entropy(labels, logits):
    return tf.reduce_mean(
        tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits)
    )


class MobileNet(Golden):
    title = "mobilenet_v2"
    doc = (
        "MobileNetV2-like: images of bytes, inverted residuals of depthwise convolutions, "
        "relu6, fused batch norm whose averages training moves, label smoothing"
    )
    serve_inputs = {"image": spec([None, 24, 24, 3], tf.uint8)}
    loss_inputs = {**serve_inputs, "label": spec([None], tf.int32)}

    def inverted_residual(self, name, x, filters, stride, expand, training):
        y = x
        if expand > 1:
            y = conv(self, name + ".expand", y, expand * x.shape[-1], 1)
            y = tf.nn.relu6(self.batch_norm(name + ".bn1", y, training))
        kernel = self.weight(name + ".depth", [3, 3, y.shape[-1], 1], scale=0.4)
        if stride == 2:
            y = tf.pad(y, [[0, 0], [0, 1], [0, 1], [0, 0]])
        y = tf.nn.depthwise_conv2d(
            y, kernel, [1, stride, stride, 1], "VALID" if stride == 2 else "SAME"
        )
        y = tf.nn.relu6(self.batch_norm(name + ".bn2", y, training))
        y = conv(self, name + ".project", y, filters, 1)
        y = self.batch_norm(name + ".bn3", y, training)
        return x + y if stride == 1 and x.shape[-1] == filters else y

    def logits(self, image, training):
        x = tf.cast(image, tf.float32) / 127.5 - 1.0
        x = conv(self, "stem", x, 6, 3, stride=2)
        x = tf.nn.relu6(self.batch_norm("stem.bn", x, training))
        x = self.inverted_residual("block1", x, 6, 2, 1, training)
        x = self.inverted_residual("block2", x, 6, 1, 3, training)
        x = tf.nn.relu6(self.batch_norm("head.bn", conv(self, "head", x, 16, 1), training))
        return self.dense("logits", pooled(x), 7)

    def serve(self, image):
        probabilities = tf.nn.softmax(self.logits(image, False))
        top = tf.math.top_k(probabilities, 3)
        return {"probabilities": probabilities, "classes": top.indices, "scores": top.values}

    def loss(self, image, label):
        wanted = tf.one_hot(label, 7, on_value=0.9 + 0.1 / 7, off_value=0.1 / 7)
        logits = self.logits(image, True)
        return tf.reduce_mean(tf.nn.softmax_cross_entropy_with_logits(labels=wanted, logits=logits))

    def steps(self):
        image = self.random.randint(0, 256, [4, 24, 24, 3]).astype(np.uint8)
        label = np.array([0, 3, 6, 3], np.int32)
        return self.usual_steps({"image": image[:2]}, {"image": image, "label": label})


class ResNet(Golden):
    title = "resnet"
    doc = (
        "ResNet-like: images of any extent resized and standardised, padding of its own, max "
        "pooling, bottlenecks with projected shortcuts, batch norm, weight decay"
    )
    serve_inputs = {"image": spec([None, None, None, 3])}
    loss_inputs = {**serve_inputs, "label": spec([None], tf.int64)}

    def bottleneck(self, name, x, filters, stride, training):
        y = tf.nn.relu(
            self.batch_norm(name + ".bn1", conv(self, name + ".a", x, filters, 1), training)
        )
        y = tf.pad(y, [[0, 0], [1, 1], [1, 1], [0, 0]])
        y = conv(self, name + ".b", y, filters, 3, stride, "VALID")
        y = tf.nn.relu(self.batch_norm(name + ".bn2", y, training))
        y = self.batch_norm(name + ".bn3", conv(self, name + ".c", y, 4 * filters, 1), training)
        if stride != 1 or x.shape[-1] != 4 * filters:
            x = conv(self, name + ".shortcut", x, 4 * filters, 1, stride)
            x = self.batch_norm(name + ".bn0", x, training)
        return tf.nn.relu(x + y)

    def logits(self, image, training):
        x = tf.image.resize(image, [32, 32], antialias=False)
        x = tf.image.per_image_standardization(x)
        x = tf.pad(x, [[0, 0], [3, 3], [3, 3], [0, 0]])
        x = conv(self, "stem", x, 8, 7, 2, "VALID")
        x = tf.nn.relu(self.batch_norm("stem.bn", x, training))
        x = tf.nn.max_pool2d(x, 3, 2, "SAME")
        x = self.bottleneck("block1", x, 2, 1, training)
        x = self.bottleneck("block2", x, 3, 2, training)
        return self.dense("logits", pooled(x), 5)

    def serve(self, image):
        logits = self.logits(image, False)
        return {"logits": logits, "class": tf.argmax(logits, -1)}

    def loss(self, image, label):
        loss = cross_entropy(label, self.logits(image, True))
        kernels = [v for v in self.trainable_variables if v.shape.rank > 1]
        return loss + 1e-3 * tf.add_n([tf.nn.l2_loss(v) for v in kernels])

    def steps(self):
        small, large = self.draw(2, 20, 28, 3), self.draw(3, 40, 36, 3)
        batch = {"image": large, "label": np.array([1, 4, 0])}
        return [("serving_default", {"image": small})] + self.usual_steps({"image": large}, batch)


class QuantizedNet(Golden):
    title = "quantization_aware"
    doc = (
        "A convolutional net trained for eight bits: weights through per-channel fake "
        "quantization, activations through ranges that training moves; average and max "
        "pooling, leaky relu"
    )
    serve_inputs = {"image": spec([None, 12, 12, 1])}
    loss_inputs = {**serve_inputs, "label": spec([None], tf.int32)}

    def quantized_kernel(self, name, shape):
        kernel = self.weight(name + ".kernel", shape)
        axes = list(range(len(shape) - 1))
        largest = tf.stop_gradient(tf.reduce_max(tf.abs(kernel), axes))
        return tf.quantization.fake_quant_with_min_max_vars_per_channel(
            kernel, -largest, largest, narrow_range=True
        )

    def quantized(self, name, x, training):
        low = self.weight(name + ".low", [], value=-3.0, trainable=False)
        high = self.weight(name + ".high", [], value=3.0, trainable=False)
        if training and self.updates is not None:
            self.updates += [
                (low, 0.9 * low + 0.1 * tf.reduce_min(x)),
                (high, 0.9 * high + 0.1 * tf.reduce_max(x)),
            ]
        return tf.quantization.fake_quant_with_min_max_vars(x, low, high)

    def logits(self, image, training):
        x = self.quantized("input", image, training)
        x = tf.nn.conv2d(x, self.quantized_kernel("conv1", [3, 3, 1, 6]), 1, "SAME")
        x = tf.nn.bias_add(x, self.weight("conv1.bias", [6], value=0.1))
        x = self.quantized("relu1", tf.nn.relu6(x), training)
        x = tf.nn.max_pool2d(x, 2, 2, "VALID")
        x = tf.nn.conv2d(x, self.quantized_kernel("conv2", [3, 3, 6, 8]), 1, "SAME")
        x = tf.nn.bias_add(x, self.weight("conv2.bias", [8], value=0.0))
        x = self.quantized("relu2", tf.nn.leaky_relu(x, 0.1), training)
        x = tf.nn.avg_pool2d(x, 3, 3, "VALID")
        x = tf.reshape(x, [-1, 2 * 2 * 8])
        x = tf.matmul(x, self.quantized_kernel("logits", [32, 4]))
        return x + self.weight("logits.bias", [4], value=0.0)

    def serve(self, image):
        return {"logits": self.logits(image, False)}

    def loss(self, image, label):
        return cross_entropy(label, self.logits(image, True))

    def steps(self):
        image = self.draw(5, 12, 12, 1)
        batch = {"image": image, "label": np.array([0, 1, 2, 3, 1], np.int32)}
        return self.usual_steps({"image": image[1:4]}, batch)


MODELS = [MobileNet, ResNet, QuantizedNet]

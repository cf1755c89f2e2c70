"""A U-Net of Keras's layers, with Keras's optimizer."""

import numpy as np
import tensorflow as tf

import keras

from .base import Golden, spec


class UNet(Golden):
    title = "keras_unet"
    doc = (
        "A U-Net of Keras's layers: separable and transposed convolutions, batch norm, dropout "
        "from Keras's seed, joined levels; trained by Keras's Adam, with a Dice loss"
    )
    restore = "objects"
    serve_inputs = {"image": spec([None, 16, 16, 2])}
    loss_inputs = {**serve_inputs, "mask": spec([None, 16, 16, 1])}

    def __init__(self):
        super().__init__()
        keras.utils.set_random_seed(5)
        layers = keras.layers
        x = image = keras.Input([16, 16, 2])
        x = level1 = layers.Conv2D(6, 3, padding="same", activation="relu")(x)
        x = layers.MaxPooling2D(2)(x)
        x = level2 = layers.SeparableConv2D(8, 3, padding="same", activation="silu")(x)
        x = layers.AveragePooling2D(2)(x)
        x = layers.Conv2D(8, 3, dilation_rate=2, padding="same", use_bias=False)(x)
        x = layers.PReLU(shared_axes=[1, 2])(layers.BatchNormalization()(x))
        x = layers.SpatialDropout2D(0.25, seed=9)(x)
        x = layers.Concatenate()(
            [layers.Conv2DTranspose(6, 3, strides=2, padding="same")(x), level2]
        )
        x = layers.UpSampling2D(2, interpolation="bilinear")(x)
        x = layers.GroupNormalization(2)(layers.Concatenate()([x, level1]))
        x = layers.Conv2D(1, 1, activation="sigmoid")(x)
        self.net = keras.Model(image, x)
        self.seeds = [
            layer.seed_generator.state
            for layer in self.net.layers
            if hasattr(layer, "seed_generator")
        ]
        self.optimizer = keras.optimizers.Adam(0.01, clipnorm=1.0)
        self.optimizer.build(self.net.trainable_variables)

    def serve(self, image):
        mask = self.net(image, training=False)
        return {"mask": mask, "area": tf.math.count_nonzero(mask > 0.5, [1, 2, 3])}

    def loss(self, image, mask):
        got = self.net(image, training=True)
        both = tf.reduce_sum(got * mask, [1, 2, 3])
        dice = 1.0 - (2.0 * both + 1.0) / (tf.reduce_sum(got + mask, [1, 2, 3]) + 1.0)
        return tf.reduce_mean(keras.losses.binary_crossentropy(mask, got)) + tf.reduce_mean(dice)

    def train(self, rate, **batch):
        with tf.GradientTape() as tape:
            loss = self.loss(**batch)
        variables = self.net.trainable_variables
        gradients = tape.gradient(loss, [v.value for v in variables])
        self.optimizer.learning_rate.assign(rate)
        self.optimizer.apply_gradients(zip(gradients, variables))
        return {"loss": loss, "iterations": self.optimizer.iterations.value}

    def steps(self):
        image = self.draw(2, 16, 16, 2)
        mask = (image[..., :1] > 0.3).astype(np.float32)
        return self.usual_steps({"image": image}, {"image": image, "mask": mask}, rate=0.01)


MODELS = [UNet]

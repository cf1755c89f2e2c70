"""Models are built, trained, saved and loaded; what they compute is what Keras says."""

import numpy as np
import pytest

import gyre


def data(*shape, classes=3, count=48):
    draw = np.random.RandomState(1)
    return draw.rand(count, *shape).astype("float32"), draw.randint(0, classes, count)


def dense(keras):
    x = keras.Input((8,))
    layers = keras.layers
    both = layers.Add()([layers.Dense(16, "relu")(x), layers.Dense(16, "tanh")(x)])
    return keras.Model(x, layers.Dense(3, "softmax")(both)), (8,)


def convolutions(keras):
    layers = keras.layers
    stack = [
        keras.Input((12, 12, 2)),
        layers.Conv2D(6, 3, padding="same"),
        layers.BatchNormalization(),
        layers.ReLU(),
        layers.MaxPooling2D(),
        layers.Conv2D(8, 3, strides=2),
        layers.Flatten(),
        layers.Dense(3, "softmax"),
    ]
    return keras.Sequential(stack), (12, 12, 2)


def recurrent(keras):
    layers = keras.layers
    stack = [
        keras.Input((7, 4)),
        layers.Masking(),
        layers.Bidirectional(layers.LSTM(8, return_sequences=True)),
        layers.GRU(6),
        layers.Dense(3, "softmax"),
    ]
    return keras.Sequential(stack), (7, 4)


MODELS = [dense, convolutions, recurrent]


def with_fixed_weights(model):
    draw = np.random.RandomState(0)
    model.set_weights(
        [
            (draw.randn(*w.shape) * 0.2 + ("variance" in v.path)).astype(w.dtype)
            for w, v in zip(model.get_weights(), model.weights)
        ]
    )
    return model


@pytest.mark.parametrize("make", MODELS, ids=lambda make: make.__name__)
def test_fit_evaluate_predict_save_and_load(keras, make, tmp_path):
    model, shape = make(keras)
    x, y = data(*shape)
    model.compile("adam", "sparse_categorical_crossentropy", metrics=["accuracy"])
    losses = model.fit(x, y, epochs=3, batch_size=16, verbose=0).history["loss"]
    assert losses[-1] < losses[0]
    loss, accuracy = model.evaluate(x, y, verbose=0)
    predicted = model.predict(x, verbose=0)
    own = -np.log(predicted[np.arange(len(y)), y]).mean()
    assert loss == pytest.approx(own, rel=1e-4)
    assert accuracy == pytest.approx((predicted.argmax(-1) == y).mean())
    model.save(tmp_path / "model.keras")
    loaded = keras.models.load_model(tmp_path / "model.keras")
    np.testing.assert_array_equal(loaded.predict(x, verbose=0), predicted)


def test_several_steps_of_one_execution_are_a_loop_with_the_same_result(keras):
    def trained(steps):
        model = with_fixed_weights(dense(keras)[0])
        model.compile(
            keras.optimizers.SGD(0.1), "sparse_categorical_crossentropy", steps_per_execution=steps
        )
        x, y = data(8, count=44)  # the last batch is smaller
        model.fit(x, y, epochs=2, batch_size=8, shuffle=False, verbose=0)
        return [*model.get_weights(), model.predict(x, batch_size=8, verbose=0)]

    for one, several in zip(trained(1), trained(4)):
        np.testing.assert_allclose(several, one, rtol=1e-6, atol=1e-7)


def test_a_dataset_of_gyre_is_data(keras):
    model = dense(keras)[0]
    model.compile("sgd", "sparse_categorical_crossentropy")
    x, y = data(8)
    batches = gyre.data.Dataset.from_tensor_slices((x, y)).batch(16)
    model.fit(batches, epochs=1, verbose=0, class_weight={0: 1.0, 1: 2.0, 2: 0.5})
    assert model.evaluate(batches, verbose=0) == pytest.approx(
        model.evaluate(x, y, batch_size=16, verbose=0), rel=1e-5
    )


def test_tapes_know_the_variables(keras):
    model = with_fixed_weights(dense(keras)[0])
    optimizer = keras.optimizers.Adam(0.05)
    x, y = data(8)

    @gyre.function
    def step(x, y):
        with gyre.GradientTape() as tape:
            predicted = model(x, training=True)
            loss = keras.losses.SparseCategoricalCrossentropy()(y, predicted)
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables))
        return loss

    losses = [float(step(gyre.constant(x), gyre.constant(y))) for _ in range(5)]
    assert losses[-1] < losses[0] and int(optimizer.iterations) == 5


def test_an_exported_model_runs_without_keras(keras, tmp_path):
    model, shape = recurrent(keras)
    x, _ = data(*shape, count=5)
    model.export(tmp_path / "exported", verbose=False)
    loaded = gyre.saved_model.load(tmp_path / "exported")
    (found,) = loaded.signatures["serve"](gyre.constant(x)).values()
    np.testing.assert_allclose(found.numpy(), model.predict(x, verbose=0), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("option", [True, False])
def test_jit_compile_of_a_model_acts(keras, option):
    class Looped(keras.layers.Layer):
        def call(self, x):
            def step(i, scale):
                return i + 1, scale * 0.5 + 1.0

            start = gyre.constant(0), gyre.reduce_mean(x)
            return x * gyre.while_loop(lambda i, _: i < 9, step, start)[1]

    model = keras.Sequential([keras.Input((4,)), Looped()])
    model.compile("sgd", "mse", jit_compile=option)
    before = gyre._gyre.compiled_loops()
    model.predict(data(4)[0], verbose=0)
    assert (gyre._gyre.compiled_loops() > before) == option
    assert model.predict_function._one._jit_compile == option


def test_lengths_of_samples_are_a_mask(keras):
    from gyre._keras.backend.rnn import rnn

    def step(x, states):
        total = states[0] + x
        return total, [total]

    x, lengths = np.arange(1.0, 13.0, dtype="float32").reshape(2, 3, 2), np.array([1, 3])
    for options in ({}, {"go_backwards": True}, {"unroll": True}):
        last, outputs, states = rnn(
            step, x, [np.zeros((2, 2), "float32")], input_length=lengths, **options
        )
        expected = [[1.0, 2.0], [27.0, 30.0]]
        np.testing.assert_array_equal(states[0], expected)
        np.testing.assert_array_equal(last, expected)
        assert outputs.shape == (2, 3, 2)


def test_a_model_that_fit_has_built_is_exported(keras, tmp_path):
    """Its variables have short names, which several share."""
    layers = keras.layers
    model = keras.Sequential([layers.Dense(4), layers.Dense(3), layers.Dense(1)])
    model.compile("sgd", "mse")
    x, _ = data(5)
    model.fit(x, x[:, :1], verbose=0)
    model.export(tmp_path / "exported", verbose=False)
    loaded = gyre.saved_model.load(tmp_path / "exported")
    (found,) = loaded.signatures["serve"](gyre.constant(x)).values()
    np.testing.assert_allclose(found.numpy(), model.predict(x, verbose=0), rtol=1e-5, atol=1e-6)

"""A model that TensorFlow exported, trained further: a Keras LSTM learns to sum up what it has
seen.

    python examples/python/exported_model.py [MODEL_FOLDER]

The model is a folder as `model.export(path)` or `tf.saved_model.save` writes it. Loading it gives
its signatures, which are functions, and its variables, which tapes watch: gradients go back through
the loop that the file holds, for sequences of any length. TensorFlow is not needed, nor is Keras.
"""

import sys
from pathlib import Path

import numpy as np

import gyre

MODEL = Path(__file__).parents[2] / "tests/saved_models/keras_lstm/model"
BATCH, STEPS = 32, 400


def sequences(rng, length):
    """Three random numbers per step; wanted after each step: means of two of them so far."""
    x = rng.uniform(-1, 1, (BATCH, length, 3)).astype(np.float32)
    seen = np.arange(1, length + 1, dtype=np.float32)[:, None]
    return x, np.cumsum(x[:, :, :2], axis=1) / seen


def main(folder=MODEL):
    """Trains; returns the errors before and after, on sequences longer than those of the
    training."""
    model = gyre.saved_model.load(folder)
    predict = model.signatures["serving_default"]
    print(predict)
    optimizer = gyre.optimizers.Adam(0.02)

    @gyre.function
    def error(x, wanted):
        (got,) = predict(x).values()
        return gyre.reduce_mean((got - wanted) ** 2)

    @gyre.function
    def step(x, wanted):
        with gyre.GradientTape() as tape:
            loss = error(x, wanted)
        weights = model.trainable_variables
        found = zip(tape.gradient(loss, weights), weights)
        # Keras exports each weight twice; only one of the two is used.
        optimizer.apply_gradients(
            [(gradient, weight) for gradient, weight in found if gradient is not None]
        )
        return loss

    test = sequences(np.random.default_rng(1), 40)
    before = float(error(*test))
    rng = np.random.default_rng(0)
    for i in range(STEPS):
        x, wanted = sequences(rng, rng.integers(5, 20))
        loss = step(x, wanted)
        if i % 100 == 0:
            print(f"step {i}: error {float(loss):.4f}")
    after = float(error(*test))
    print(f"on longer sequences: {before:.4f} before, {after:.4f} after")
    return {"before": before, "after": after}


if __name__ == "__main__":
    main(*sys.argv[1:])

"""A model of ONNX, trained further and handed back: an LSTM, whose steps are a Loop, learns to sum
up what it has seen.

    python examples/python/onnx_lstm.py [MODEL.onnx]

Runtimes for ONNX have no gradient of Loop. Gyre reads it as a loop of its own, so tapes go back
through it; its initializers are variables, which an optimizer changes. What is saved afterwards is
a model of ONNX again, with the same inputs, outputs and weights by name. Without a file, one is
made of the LSTM that Keras exported (tests/saved_models).
"""

import sys
import tempfile
from pathlib import Path

import numpy as np

import gyre

KERAS_MODEL = Path(__file__).parents[2] / "tests/saved_models/keras_lstm/model"
BATCH, STEPS = 32, 400


def make_model(path):
    """An ONNX model of the LSTM, for batches and sequences of any size."""
    predict = gyre.saved_model.load(KERAS_MODEL).signatures["serving_default"]
    spec = gyre.TensorSpec([None, None, 3], gyre.float32, name="numbers")
    gyre.onnx.save(lambda x: {"means": predict(x)["output_0"]}, path, [spec])


def sequences(rng, length):
    """Three random numbers per step; wanted after each step: means of two of them so far."""
    x = rng.uniform(-1, 1, (BATCH, length, 3)).astype(np.float32)
    seen = np.arange(1, length + 1, dtype=np.float32)[:, None]
    return x, np.cumsum(x[:, :, :2], axis=1) / seen


def main(path=None):
    """Trains; returns the errors before and after, on sequences longer than those of the training,
    and how far the model that is handed back is from the trained one."""
    with tempfile.TemporaryDirectory() as folder:
        if path is None:
            path = Path(folder) / "lstm.onnx"
            make_model(path)
        model = gyre.onnx.load(path)
        print(model)
        print(", ".join(f"{v.name} {v.shape}" for v in model.trainable_variables))
        optimizer = gyre.optimizers.Adam(0.02)
        (output,) = model.outputs

        @gyre.function
        def error(x, wanted):
            return gyre.reduce_mean((model(x)[output] - wanted) ** 2)

        @gyre.function
        def train(x, wanted):
            with gyre.GradientTape() as tape:
                loss = error(x, wanted)
            gradients = tape.gradient(loss, model.trainable_variables)
            optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))
            return loss

        rng = np.random.default_rng(5)
        x, wanted = sequences(rng, 40)
        before = float(error(x, wanted))
        for step in range(STEPS):
            loss = train(*sequences(rng, int(rng.integers(5, 20))))
            if step % 100 == 0:
                print(f"step {step}: error {float(loss):.3f}")
        after = float(error(x, wanted))
        print(f"error on sequences of 40: {before:.3f} before, {after:.3f} after")

        trained = Path(folder) / "trained.onnx"
        gyre.onnx.save(model, trained)
        again = gyre.onnx.load(trained)
        apart = float(gyre.reduce_max(gyre.abs(again(x)[output] - model(x)[output])))
        print(f"handed back as {trained.name}, which gives the same within {apart:.1e}")
    return {"before": before, "after": after, "apart": apart}


if __name__ == "__main__":
    main(*sys.argv[1:])

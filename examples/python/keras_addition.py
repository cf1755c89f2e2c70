"""A network of Keras learns to add: it reads "17+5" digit by digit and writes "22".

    python examples/python/keras_addition.py

Keras runs on Gyre: its LSTMs are loops of the graph, and eight steps of training are one loop
around them. Keras is a package of its own: pip install 'gyre[keras]'.
"""

import numpy as np

import gyre as tf

CHARACTERS = "0123456789+ "
DIGITS = 1
READ = 2 * DIGITS + 1
WRITTEN = DIGITS + 1


def one_hot(texts):
    places = [[CHARACTERS.index(one) for one in text] for text in texts]
    return np.eye(len(CHARACTERS), dtype="float32")[places]


def sums():
    """All questions, and their answers."""
    pairs = [(a, b) for a in range(10**DIGITS) for b in range(10**DIGITS)]
    questions = [f"{a}+{b}".ljust(READ) for a, b in pairs]
    return one_hot(questions), one_hot([str(a + b).ljust(WRITTEN) for a, b in pairs])


def network():
    layers = tf.keras.layers
    return tf.keras.Sequential(
        [
            tf.keras.Input((READ, len(CHARACTERS))),
            layers.LSTM(48),
            layers.RepeatVector(WRITTEN),
            layers.LSTM(48, return_sequences=True),
            layers.Dense(len(CHARACTERS), activation="softmax"),
        ]
    )


def main(epochs=120):
    tf.keras.utils.set_random_seed(1)
    questions, answers = sums()
    model = network()
    model.compile(
        tf.keras.optimizers.Adam(0.01),
        "categorical_crossentropy",
        metrics=["accuracy"],
        steps_per_execution=8,
    )
    history = model.fit(questions, answers, batch_size=12, epochs=epochs, verbose=0).history
    asked = one_hot(["3+4", "9+8"])
    told = [
        "".join(CHARACTERS[place] for place in text).strip()
        for text in model.predict(asked, verbose=0).argmax(-1)
    ]
    print(f"3+4={told[0]}  9+8={told[1]}  accuracy {history['accuracy'][-1]:.3f}")
    return {"losses": history["loss"], "accuracy": history["accuracy"][-1], "told": told}


if __name__ == "__main__":
    main()

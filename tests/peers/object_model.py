"""Writes tests/python/saved_model/objects: a model with methods, overloads, structures and objects
below it, as TensorFlow saves it, and what TensorFlow's own loader makes of the calls of
tests/python/saved_model/object_calls.py.

In a virtual environment with tensorflow-cpu (./dev test --peers)."""

import collections
import json
import os
import pathlib
import shutil
import sys

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")
import tensorflow as tf

TESTS = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(TESTS / "python/saved_model"))
import object_calls  # noqa: E402

Pair = collections.namedtuple("Pair", "left right")


class Layer(tf.Module):
    def __init__(self, n):
        super().__init__()
        self.w = tf.Variable(tf.reshape(tf.range(float(n * n)), [n, n]) / 4.0, name="w")
        self.b = tf.Variable(tf.ones([n]), name="b")

    @tf.function
    def __call__(self, x, training=False, scale=1.0):
        y = tf.matmul(x, self.w) + self.b
        return (y * 2.0 if training else y) * scale


class Model(tf.Module):
    def __init__(self):
        super().__init__()
        self.layers = [Layer(2), Layer(2)]
        self.by_name = {"a": tf.Variable(1.0, name="same"), "b": tf.Variable(2.0, name="same")}
        self.both = (self.by_name["a"], self.layers[0])
        self.steps = tf.Variable(0, trainable=False, dtype=tf.int64)
        keys = tf.lookup.KeyValueTensorInitializer(["x", "y"], tf.constant([10, 20], tf.int64))
        self.vocabulary = tf.lookup.StaticHashTable(keys, -1)
        self.kept = tf.constant([1.0, 2.0])

    @tf.function(input_signature=[tf.TensorSpec([None, 2])])
    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return {"out": x, "pair": (x + self.by_name["a"], x * self.by_name["b"]), "nothing": None}

    @tf.function
    def count(self):
        self.steps.assign_add(1)

    @tf.function
    def structured(self, pairs, *, flip=False, name="n"):
        pair = pairs[0]
        if flip:
            return Pair(pair["l"] + 1.0, pair["r"])
        return [pair["l"], pair["r"] * 2.0]

    @tf.function
    def many(self, *args, **kwargs):
        return tf.add_n(list(args)) + kwargs.get("extra", 0.0)

    @tf.function(input_signature=[tf.TensorSpec([None], tf.string)])
    def look_up(self, words):
        return self.vocabulary.lookup(words)

    @tf.function
    def grow(self, limit, x):
        rows = tf.TensorArray(tf.float32, 0, dynamic_size=True)
        while tf.reduce_sum(x) < limit:
            x = x * 2.0 + self.kept
            rows = rows.write(rows.size(), x)
        return x, rows.stack()

    @tf.function
    def ragged(self, r):
        return tf.reduce_sum(r, axis=1), r * 2.0

    @tf.function
    def sparse(self, s, other=None):
        dense = tf.sparse.to_dense(s)
        return (dense if other is None else dense + other), s


def model():
    made = Model()
    x, one = tf.constant([[1.0, 2.0]]), tf.constant(1.0)
    layer = made.layers[0]
    layer(x), layer(x, training=True), layer(x, False, 2.0), made.layers[1](x)
    made.forward(x), made.count()
    pairs = [{"l": one, "r": tf.constant(2.0)}]
    made.structured(pairs), made.structured(pairs, flip=True), made.structured(pairs, name="other")
    made.many(one, one), made.many(one, extra=one)
    made.grow(tf.constant(100.0), tf.constant([1.0, 1.0]))
    made.grow(tf.constant(100.0), tf.constant([[1.0, 1.0]]))
    made.ragged(tf.ragged.constant([[1.0, 2.0], [3.0]]))
    s = tf.sparse.from_dense([[0.0, 1.0], [2.0, 0.0]])
    made.sparse(s), made.sparse(s, tf.ones([2, 2]))
    made.concrete = made.forward.get_concrete_function()
    return made


def main():
    folder = TESTS / "python/saved_model/objects"
    shutil.rmtree(folder, ignore_errors=True)
    tf.saved_model.save(model(), str(folder / "model"))
    (folder / "model/fingerprint.pb").unlink(missing_ok=True)
    for empty in (folder / "model/assets",):
        if not any(empty.iterdir()):
            empty.rmdir()
    loaded = tf.saved_model.load(str(folder / "model"))
    results = {name: object_calls.plain(tf, call(tf, loaded)) for name, call in object_calls.CALLS}
    (folder / "results.json").write_text(json.dumps(results, indent=1) + "\n")


main()

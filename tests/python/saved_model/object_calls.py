"""Calls of the model in objects/, in either library: what TensorFlow gives is in results.json."""

import numpy as np


def _x(tf):
    return tf.constant([[1.0, 2.0], [-1.0, 0.5]])


def _pairs(tf):
    return [{"l": tf.constant(3.0), "r": tf.constant(4.0)}]


def _gradient(tf, model):
    variables = [model.layers[0].w, model.layers[1].b, model.by_name["b"]]
    with tf.GradientTape() as tape:
        got = model.forward(_x(tf))
        loss = tf.reduce_sum(got["out"] ** 2.0) + tf.reduce_sum(got["pair"][1])
    return tape.gradient(loss, variables)


def _in_function(tf, model):
    @tf.function
    def both(x):
        return model.layers[0](x) + model.grow(tf.constant(50.0), x)[0]

    return both(tf.constant([[1.0, 2.0]]))


def _counted(tf, model):
    before = int(model.steps.numpy())
    model.count()
    model.count()
    return int(model.steps.numpy()) - before


def _changed(tf, model):
    scale = model.by_name["a"]
    kept = scale.numpy()
    scale.assign(5.0)
    try:
        return model.forward(_x(tf))["pair"][0], model.both[0] is scale
    finally:
        scale.assign(kept)


# In this order: some count what was called before.
CALLS = [
    ("a layer", lambda tf, m: m.layers[1](tf.constant([[1.0, 2.0]]))),
    ("defaults", lambda tf, m: m.layers[0](tf.constant([[1.0, 2.0]]), False, 1.0)),
    ("a flag by name", lambda tf, m: m.layers[0](tf.constant([[1.0, 2.0]]), training=True)),
    ("a number", lambda tf, m: m.layers[0](tf.constant([[1.0, 2.0]]), scale=2.0)),
    ("any number of rows", lambda tf, m: m.layers[0](_x(tf))),
    ("a dict", lambda tf, m: m.forward(_x(tf))),
    ("a list for a tensor", lambda tf, m: m.forward([[1.0, 2.0]])["out"]),
    ("an array for a tensor", lambda tf, m: m.forward(np.ones([1, 2], np.float32))["out"]),
    ("by name", lambda tf, m: m.forward(x=_x(tf))["out"]),
    ("effects", _counted),
    ("structures", lambda tf, m: m.structured(_pairs(tf))),
    ("a named tuple", lambda tf, m: tuple(m.structured(_pairs(tf), flip=True))),
    ("its fields", lambda tf, m: m.structured(_pairs(tf), flip=True).left),
    ("text by name", lambda tf, m: m.structured(_pairs(tf), name="other")),
    ("any number", lambda tf, m: m.many(tf.constant(1.0), tf.constant(2.0))),
    ("any names", lambda tf, m: m.many(tf.constant(1.0), extra=tf.constant(5.0))),
    ("words", lambda tf, m: m.look_up(["x", "q", "y"])),
    ("a vector in a loop", lambda tf, m: m.grow(tf.constant(90.0), tf.constant([1.0, 1.0]))),
    ("a matrix in a loop", lambda tf, m: m.grow(tf.constant(90.0), tf.constant([[1.0, 1.0]]))),
    ("numbers in a loop", lambda tf, m: m.grow(90.0, tf.constant([1.0, 1.0]))),
    ("ragged rows", lambda tf, m: m.ragged(tf.ragged.constant([[4.0], [3.0, 1.0]]))),
    ("sparse", lambda tf, m: m.sparse(tf.sparse.from_dense([[0.0, 1.0], [2.0, 0.0]]))[0]),
    (
        "sparse and dense",
        lambda tf, m: m.sparse(tf.sparse.from_dense([[0.0, 1.0], [2.0, 0.0]]), tf.ones([2, 2])),
    ),
    ("a concrete function", lambda tf, m: m.concrete(x=_x(tf))["out"]),
    ("gradients", _gradient),
    ("in a function", _in_function),
    ("a variable that is changed", _changed),
    ("how many traces", lambda tf, m: len(m.layers[0].__call__.concrete_functions)),
    ("variables", lambda tf, m: [m.by_name["a"], m.layers[0].w, m.steps.dtype.name]),
    ("what is there", lambda tf, m: sorted(n for n in dir(m) if n in _NAMES)),
    ("trainable", lambda tf, m: [m.by_name["a"].trainable, m.steps.trainable]),
]

_NAMES = {"layers", "by_name", "both", "steps", "vocabulary", "forward", "count", "nothing"}


def plain(tf, value):
    """As JSON has it."""
    if isinstance(value, dict):
        return {key: plain(tf, value[key]) for key in sorted(value)}
    if isinstance(value, (list, tuple)):
        return [plain(tf, item) for item in value]
    if isinstance(value, tf.RaggedTensor):
        return {"ragged": value.to_list()}
    if isinstance(value, tf.SparseTensor):
        return {"sparse": plain(tf, [value.indices, value.values, value.dense_shape])}
    if hasattr(value, "numpy"):
        return plain(tf, value.numpy().tolist())
    return value

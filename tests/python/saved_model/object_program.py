"""A model with methods, overloads, structures and objects below it, as either library builds it.

`model(tf)`: tf is tensorflow, or gyre. objects/ holds it as TensorFlow saves it."""

import collections

Pair = collections.namedtuple("Pair", "left right")


def model(tf):
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
            return {
                "out": x,
                "pair": (x + self.by_name["a"], x * self.by_name["b"]),
                "nothing": None,
            }

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


def rows(tf):
    return tf.constant([[1.0, 2.0]])


def files(tf, path):
    """An object that reads a file which belongs to it, and a table of that file's lines."""

    class Files(tf.Module):
        def __init__(self):
            super().__init__()
            self.text = tf.saved_model.Asset(str(path))
            lines, numbers = tf.lookup.TextFileIndex.WHOLE_LINE, tf.lookup.TextFileIndex.LINE_NUMBER
            initializer = tf.lookup.TextFileInitializer(
                str(path), tf.string, lines, tf.int64, numbers
            )
            self.table = tf.lookup.StaticHashTable(initializer, -1)

        @tf.function(input_signature=[])
        def __call__(self):
            return tf.raw_ops.ReadFile(filename=self.text.asset_path)

        @tf.function
        def find(self, words):
            return self.table.lookup(words)

    made = Files()
    made.find(tf.constant(["a", "b"]))
    return made


def tuned(tf, base):
    """A loaded model with a layer upon it, and a step that trains both."""

    class Tuned(tf.Module):
        def __init__(self):
            super().__init__()
            self.base, self.head = base, tf.Variable([[1.0], [2.0]], name="head")

        @tf.function(input_signature=[tf.TensorSpec([None, 2])])
        def predict(self, x):
            return tf.matmul(self.base.forward(x)["out"], self.head)

        @tf.function
        def step(self, x):
            with tf.GradientTape() as tape:
                loss = tf.reduce_sum(self.predict(x) ** 2.0)
            trained = [self.head, self.base.layers[0].w]
            for variable, slope in zip(trained, tape.gradient(loss, trained), strict=True):
                variable.assign_sub(0.001 * slope)
            return loss

    return Tuned()

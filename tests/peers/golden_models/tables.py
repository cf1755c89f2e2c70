"""Models whose data decide where they go: features of examples, and a mixture of experts."""

import numpy as np
import tensorflow as tf

from .base import Golden, spec


class WideDeep(Golden):
    title = "wide_deep"
    doc = (
        "Wide and deep, from serialized Examples: buckets of numbers, hashed and crossed "
        "words, sparse embeddings of several weights, wide weights by feature"
    )
    serve_inputs = {"examples": spec([None], tf.string)}
    loss_inputs = serve_inputs

    def parse(self, examples):
        return tf.io.parse_example(
            examples,
            {
                "age": tf.io.FixedLenFeature([], tf.float32, default_value=30.0),
                "city": tf.io.FixedLenFeature([], tf.string, default_value=""),
                "words": tf.io.VarLenFeature(tf.string),
                "counts": tf.io.VarLenFeature(tf.float32),
                "seen": tf.io.RaggedFeature(tf.int64, row_splits_dtype=tf.int64),
                "label": tf.io.FixedLenFeature([], tf.int64, default_value=0),
            },
        )

    def logits(self, features):
        ages = tf.raw_ops.Bucketize(input=features["age"], boundaries=[18.0, 30.0, 45.0, 65.0])
        city = tf.strings.to_hash_bucket_fast(features["city"], 7)
        cross = tf.strings.join([tf.strings.as_string(ages), features["city"]], "_x_")
        cross = tf.strings.to_hash_bucket_strong(cross, 23, [3, 5])
        wide = tf.gather(self.weight("wide.cross", [23, 1], scale=0.5), cross)
        wide += tf.gather(self.weight("wide.age", [5, 1], scale=0.5), ages)
        words = features["words"]
        ids = tf.SparseTensor(
            words.indices, tf.strings.to_hash_bucket_fast(words.values, 17), words.dense_shape
        )
        deep = [
            tf.one_hot(ages, 5),
            tf.nn.embedding_lookup(self.weight("deep.city", [7, 4], scale=0.5), city),
            tf.nn.safe_embedding_lookup_sparse(
                self.weight("deep.words", [17, 5], scale=0.5), ids, features["counts"], "sqrtn"
            ),
            tf.reduce_sum(
                tf.ragged.map_flat_values(lambda v: tf.one_hot(v % 6, 6), features["seen"]), 1
            ),
            tf.math.log1p(features["age"])[:, None],
        ]
        x = tf.nn.selu(self.dense("hidden1", tf.concat(deep, 1), 10))
        x = tf.nn.elu(self.dense("hidden2", x, 6))
        return tf.squeeze(wide + self.dense("logit", x, 1), 1)

    def serve(self, examples):
        logits = self.logits(self.parse(examples))
        return {
            "probability": tf.sigmoid(logits),
            "rank": tf.argsort(logits, direction="DESCENDING"),
        }

    def loss(self, examples):
        features = self.parse(examples)
        label = tf.cast(features["label"], tf.float32)
        losses = tf.nn.sigmoid_cross_entropy_with_logits(labels=label, logits=self.logits(features))
        return tf.reduce_mean(losses)

    def steps(self):
        def example(age, city, words, counts, seen, label):
            def feature(**lists):
                return tf.train.Feature(**lists)

            found = {
                "words": feature(bytes_list=tf.train.BytesList(value=[w.encode() for w in words])),
                "counts": feature(float_list=tf.train.FloatList(value=counts)),
                "seen": feature(int64_list=tf.train.Int64List(value=seen)),
                "label": feature(int64_list=tf.train.Int64List(value=[label])),
            }
            if age is not None:
                found["age"] = feature(float_list=tf.train.FloatList(value=[age]))
                found["city"] = feature(bytes_list=tf.train.BytesList(value=[city.encode()]))
            features = tf.train.Features(feature=found)
            return tf.train.Example(features=features).SerializeToString(deterministic=True)

        examples = np.array(
            [
                example(44.5, "Oslo", ["red", "blue"], [1.0, 2.5], [3, 4, 5], 1),
                example(17.0, "Rome", [], [], [], 0),
                example(None, "", ["green"], [0.5], [11], 1),
                example(70.0, "Oslo", ["red", "red", "odd"], [1.0, 1.0, 3.0], [2, 2], 0),
            ],
            object,
        )
        return self.usual_steps({"examples": examples[1:]}, {"examples": examples}, rate=0.5)


class Experts(Golden):
    title = "mixture_of_experts"
    doc = (
        "A mixture of experts: each row goes to the two experts that a gate chooses, of which "
        "each sees as many rows as there happen to be, in branches of a switch; a loss that "
        "spreads them"
    )
    serve_inputs = {"x": spec([None, 6])}
    loss_inputs = {**serve_inputs, "y": spec([None, 3])}
    experts, chosen = 3, 2

    def expert(self, index, x):
        hidden = tf.nn.silu(self.dense(f"expert{index}.wide", x, 9))
        return self.dense(f"expert{index}.out", hidden, 3)

    def mixed(self, x):
        logits = self.dense("gate", x, self.experts)
        gates, which = tf.math.top_k(tf.nn.softmax(logits), self.chosen)
        gates /= tf.reduce_sum(gates, -1, keepdims=True)
        flat = tf.reshape(which, [-1])
        rows = tf.repeat(x, self.chosen, axis=0)
        parts = tf.dynamic_partition(rows, flat, self.experts)
        places = tf.dynamic_partition(tf.range(tf.size(flat)), flat, self.experts)
        outputs = [
            tf.cond(
                tf.size(place) > 0,
                lambda index=index, part=part: self.expert(index, part),
                lambda: tf.zeros([0, 3]),
            )
            for index, (part, place) in enumerate(zip(parts, places))
        ]
        y = tf.dynamic_stitch(places, outputs)
        y = tf.reduce_sum(tf.reshape(y, [-1, self.chosen, 3]) * gates[..., None], 1)
        load = tf.math.bincount(flat, minlength=self.experts, dtype=tf.int32)
        share = tf.cast(load, tf.float32) / tf.cast(tf.size(flat), tf.float32)
        even = tf.reduce_sum(share * tf.reduce_mean(tf.nn.softmax(logits), 0)) * self.experts
        return y, load, even

    def later(self, index, x):
        return tf.switch_case(
            index, [lambda i=i: self.expert(i, x) for i in range(self.experts)], name="choose"
        )

    def serve(self, x):
        y, load, _ = self.mixed(x)
        return {
            "y": y,
            "load": load,
            "busiest": self.later(tf.argmax(load, output_type=tf.int32), x),
        }

    def loss(self, x, y):
        got, _, even = self.mixed(x)
        return tf.reduce_mean(tf.math.squared_difference(got, y)) + 0.1 * even

    def steps(self):
        x, y = self.draw(7, 6), self.draw(7, 3)
        usual = self.usual_steps({"x": x}, {"x": x, "y": y}, rate=0.3)
        return [*usual, ("serving_default", {"x": x[:1]})]


MODELS = [WideDeep, Experts]

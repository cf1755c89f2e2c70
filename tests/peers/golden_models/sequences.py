"""Recurrent models of text and of trees."""

import numpy as np
import tensorflow as tf

from .base import Golden, spec
from .convnets import cross_entropy


class TextClassifier(Golden):
    title = "gru_text"
    doc = (
        "A classifier of strings: words and pairs of them hashed to buckets, a masked GRU in a "
        "loop, attention over its states, dropout that a seed fixes"
    )
    serve_inputs = {"text": spec([None], tf.string)}
    loss_inputs = {**serve_inputs, "label": spec([None], tf.float32), "seed": spec([2], tf.int32)}

    def gru(self, name, x, mask):
        units = 8
        kernel = self.weight(name + ".kernel", [x.shape[-1], 3 * units])
        inner = self.weight(name + ".inner", [units, 3 * units])
        bias = self.weight(name + ".bias", [3 * units], value=0.1)
        steps = tf.shape(x)[1]
        states = tf.TensorArray(tf.float32, steps, element_shape=[None, units])
        h = tf.zeros([tf.shape(x)[0], units])
        inputs = tf.transpose(tf.einsum("btd,du->btu", x, kernel), [1, 0, 2])
        there = tf.transpose(mask)
        for i in tf.range(steps):
            z, r, n = tf.split(inputs[i] + bias, 3, axis=-1)
            hz, hr, hn = tf.split(tf.matmul(h, inner), 3, axis=-1)
            z, r = tf.sigmoid(z + hz), tf.sigmoid(r + hr)
            new = z * h + (1.0 - z) * tf.tanh(n + r * hn)
            h = tf.where(there[i][:, None], new, h)
            states = states.write(i, h)
        return tf.transpose(states.stack(), [1, 0, 2])

    def logits(self, text, seed=None):
        words = tf.strings.split(tf.strings.lower(text))
        pairs = tf.strings.ngrams(words, [1, 2], separator="+")
        ids = tf.strings.to_hash_bucket_fast(pairs, 31)
        lengths = tf.cast(ids.row_lengths(), tf.int32)
        x = tf.ragged.map_flat_values(
            lambda flat: tf.nn.embedding_lookup(self.weight("embedding", [31, 6], scale=0.7), flat),
            ids,
        ).to_tensor()
        if seed is not None:
            kept = tf.random.stateless_uniform(tf.shape(x), seed) >= 0.2
            x = tf.where(kept, x / 0.8, 0.0)
        mask = tf.sequence_mask(lengths, tf.shape(x)[1])
        states = self.gru("gru", x, mask)
        score = tf.squeeze(self.dense("score", tf.tanh(states), 1), -1)
        weights = tf.nn.softmax(tf.where(mask, score, -1e9))
        return tf.squeeze(self.dense("logit", tf.einsum("bt,btd->bd", weights, states), 1), -1)

    def serve(self, text):
        return {"probability": tf.sigmoid(self.logits(text))}

    def loss(self, text, label, seed):
        return tf.reduce_mean(
            tf.nn.sigmoid_cross_entropy_with_logits(labels=label, logits=self.logits(text, seed))
        )

    def steps(self):
        text = np.array(
            ["A very good film", "bad", "so bad it is good again", "fine fine fine"], object
        )
        batch = {
            "text": text,
            "label": np.array([1, 0, 1, 1], np.float32),
            "seed": np.array([7, 11], np.int32),
        }
        return self.usual_steps({"text": text[:3]}, batch, rate=0.5)


class TreeLSTM(Golden):
    title = "tree_lstm"
    doc = (
        "A binary TreeLSTM: nodes of trees of any form in the order in which they can be "
        "computed, states in arrays that the loop reads at places that come from the data"
    )
    serve_inputs = {
        "word": spec([None], tf.int32),
        "left": spec([None], tf.int32),
        "right": spec([None], tf.int32),
    }
    loss_inputs = {**serve_inputs, "label": spec([None], tf.int32)}

    def logits(self, word, left, right):
        units, nodes = 8, tf.shape(word)[0]
        table = self.weight("words", [12, units], scale=0.7)
        hs = tf.TensorArray(tf.float32, nodes, element_shape=[units], clear_after_read=False)
        cs = tf.TensorArray(tf.float32, nodes, element_shape=[units], clear_after_read=False)
        compose = self.weight("compose", [2 * units, 5 * units])
        bias = self.weight("bias", [5 * units], value=0.2)
        for i in tf.range(nodes):
            if left[i] < 0:
                h = tf.tanh(table[word[i]])
                c = h
            else:
                both = tf.concat([hs.read(left[i]), hs.read(right[i])], 0)[None]
                gates = tf.squeeze(tf.matmul(both, compose), 0) + bias
                a, f, g, u, o = tf.split(gates, 5)
                c = tf.sigmoid(f) * cs.read(left[i]) + tf.sigmoid(g) * cs.read(right[i])
                c += tf.sigmoid(a) * tf.tanh(u)
                h = tf.sigmoid(o) * tf.tanh(c)
            hs, cs = hs.write(i, h), cs.write(i, c)
        return self.dense("logits", hs.stack(), 3)

    def serve(self, word, left, right):
        logits = self.logits(word, left, right)
        return {"logits": logits, "root": tf.nn.softmax(logits[-1])}

    def loss(self, word, left, right, label):
        return cross_entropy(label, self.logits(word, left, right))

    def steps(self):
        def tree(word, left, right):
            values = {"word": word, "left": left, "right": right}
            return {name: np.array(value, np.int32) for name, value in values.items()}

        large = tree(
            [3, 7, 0, 1, 0, 9, 4, 0, 0],
            [-1, -1, 0, -1, 2, -1, -1, 5, 4],
            [-1, -1, 1, -1, 3, -1, -1, 6, 7],
        )
        label = np.array([0, 1, 2, 0, 1, 2, 0, 1, 2], np.int32)
        usual = self.usual_steps(large, {**large, "label": label}, rate=0.3)
        return [*usual, ("serving_default", tree([5], [-1], [-1]))]


MODELS = [TextClassifier, TreeLSTM]

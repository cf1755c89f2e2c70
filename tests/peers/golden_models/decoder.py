"""A T5-like encoder and decoder: relative positions, cached attention, beam search."""

import numpy as np
import tensorflow as tf

from .base import Golden, spec

VOCABULARY, WIDTH, HEADS, BEAMS = 19, 12, 2, 3
PAD, END = 0, 1


def bucket(relative, bidirectional, buckets=8, furthest=16):
    """Distances told apart by buckets, of the logarithm where they are large."""
    found = tf.zeros_like(relative)
    if bidirectional:
        buckets //= 2
        found += tf.cast(relative > 0, tf.int32) * buckets
        relative = tf.abs(relative)
    else:
        relative = -tf.minimum(relative, 0)
    exact = buckets // 2
    ratio = tf.cast(tf.maximum(relative, 1), tf.float32) / exact
    large = exact + tf.cast(
        tf.math.log(ratio) / np.log(furthest / exact) * (buckets - exact), tf.int32
    )
    return found + tf.where(relative < exact, relative, tf.minimum(large, buckets - 1))


class Translator(Golden):
    title = "t5_beam_search"
    doc = (
        "T5-like: root-mean-square norm, gated gelu, buckets of relative positions, a decoder "
        "whose cache grows by a step, and beam search that ends when no beam can win"
    )
    serve_inputs = {"ids": spec([None, None], tf.int32), "longest": spec([], tf.int32)}
    loss_inputs = {"ids": spec([2, 6], tf.int32), "wanted": spec([2, 5], tf.int32)}

    def norm(self, name, x):
        scale = self.weight(name, [WIDTH], value=1.0)
        return x * tf.math.rsqrt(tf.reduce_mean(tf.square(x), -1, keepdims=True) + 1e-6) * scale

    def heads(self, name, x):
        y = self.dense(name, x, WIDTH, bias=False)
        y = tf.reshape(y, [tf.shape(x)[0], tf.shape(x)[1], HEADS, WIDTH // HEADS])
        return tf.transpose(y, [0, 2, 1, 3])

    def attention(self, name, x, keys, values, bias):
        scores = tf.matmul(self.heads(name + ".query", x), keys, transpose_b=True) + bias
        y = tf.transpose(tf.matmul(tf.nn.softmax(scores), values), [0, 2, 1, 3])
        y = tf.reshape(y, [tf.shape(x)[0], tf.shape(x)[1], WIDTH])
        return self.dense(name + ".out", y, WIDTH, bias=False)

    def positions(self, name, queries, keys, bidirectional):
        """[1, heads, queries, keys]: what is added to scores for where they stand."""
        table = self.weight(name, [8, HEADS], scale=0.5)
        found = tf.gather(table, bucket(keys[None, :] - queries[:, None], bidirectional))
        return tf.transpose(found, [2, 0, 1])[None]

    def feed_forward(self, name, x):
        y = self.norm(name + ".norm", x)
        gate = tf.nn.gelu(self.dense(name + ".gate", y, 20, bias=False), approximate=True)
        y = gate * self.dense(name + ".wide", y, 20, bias=False)
        return x + self.dense(name + ".narrow", y, WIDTH, bias=False)

    def embed(self, ids):
        return tf.gather(self.weight("embedding", [VOCABULARY, WIDTH], scale=1.0), ids)

    def encode(self, ids):
        """Keys and values for the decoder, and what its scores have added."""
        mask = tf.cast(tf.equal(ids, PAD), tf.float32)[:, None, None, :] * -1e9
        x, places = self.embed(ids), tf.range(tf.shape(ids)[1])
        y = self.norm("encoder.norm", x)
        bias = self.positions("encoder.places", places, places, True) + mask
        keys, values = self.heads("encoder.key", y), self.heads("encoder.value", y)
        x = self.norm("encoder.last", x + self.attention("encoder", y, keys, values, bias))
        return self.heads("cross.key", x), self.heads("cross.value", x), mask

    def decode(self, ids, first, cache, memory):
        """Logits of what follows `ids`, which stand from place `first` on; the cache with them."""
        x, steps = self.embed(ids), tf.shape(ids)[1]
        y = self.norm("decoder.norm", x)
        keys = tf.concat([cache[0], self.heads("decoder.key", y)], 2)
        values = tf.concat([cache[1], self.heads("decoder.value", y)], 2)
        queries, all_places = tf.range(first, first + steps), tf.range(first + steps)
        bias = self.positions("decoder.places", queries, all_places, False)
        later = tf.linalg.band_part(tf.ones([first + steps, first + steps]), -1, 0)[first:]
        bias += (1.0 - later) * -1e9
        x += self.attention("decoder", y, keys, values, bias)
        x += self.attention("cross", self.norm("cross.norm", x), *memory)
        x = self.norm("decoder.last", self.feed_forward("decoder.ff", x)) * WIDTH**-0.5
        return tf.matmul(x, self.weights["embedding"], transpose_b=True), (keys, values)

    def serve(self, ids, longest):
        rows = tf.shape(ids)[0]
        memory = [tf.repeat(part, BEAMS, axis=0) for part in self.encode(ids)]
        empty = tf.zeros([rows * BEAMS, HEADS, 0, WIDTH // HEADS])

        def reordered(part, parents):
            shape = tf.shape(part)
            part = tf.reshape(part, tf.concat([[rows, BEAMS], shape[1:]], 0))
            return tf.reshape(tf.gather(part, parents, batch_dims=1), shape)

        def going(i, scores, done, *_):
            return (i < longest) & ~tf.reduce_all(done)

        def body(i, scores, done, made, keys, values):
            last = tf.reshape(made[:, :, -1:], [-1, 1])
            logits, (keys, values) = self.decode(last, i, (keys, values), memory)
            chances = tf.nn.log_softmax(tf.reshape(logits, [rows, BEAMS, VOCABULARY]))
            only_pad = tf.one_hot(PAD, VOCABULARY, on_value=0.0, off_value=-1e9)
            chances = tf.where(done[..., None], only_pad, chances)
            total = tf.reshape(scores[..., None] + chances, [rows, -1])
            scores, chosen = tf.math.top_k(total, BEAMS)
            parents, ids = chosen // VOCABULARY, chosen % VOCABULARY
            made = tf.concat([tf.gather(made, parents, batch_dims=1), ids[..., None]], 2)
            done = tf.gather(done, parents, batch_dims=1) | tf.equal(ids, END)
            return i + 1, scores, done, made, reordered(keys, parents), reordered(values, parents)

        first = tf.tile(tf.constant([[0.0] + [-1e9] * (BEAMS - 1)]), [rows, 1])
        _, scores, done, made, _, _ = tf.while_loop(
            going,
            body,
            (
                0,
                first,
                tf.zeros([rows, BEAMS], tf.bool),
                tf.zeros([rows, BEAMS, 1], tf.int32),
                empty,
                empty,
            ),
            shape_invariants=(
                tf.TensorShape([]),
                tf.TensorShape([None, BEAMS]),
                tf.TensorShape([None, BEAMS]),
                tf.TensorShape([None, BEAMS, None]),
                *[tf.TensorShape([None, HEADS, None, WIDTH // HEADS])] * 2,
            ),
        )
        lengths = tf.reduce_sum(tf.cast(tf.not_equal(made, PAD), tf.float32), -1)
        scores /= tf.pow((5.0 + lengths) / 6.0, 0.6)
        order = tf.argsort(scores, direction="DESCENDING")
        return {
            "ids": tf.gather(made, order, batch_dims=1)[:, :, 1:],
            "scores": tf.gather(scores, order, batch_dims=1),
            "done": tf.gather(done, order, batch_dims=1),
        }

    def loss(self, ids, wanted):
        before = tf.pad(wanted, [[0, 0], [1, 0]])[:, :-1]
        empty = tf.zeros([tf.shape(ids)[0], HEADS, 0, WIDTH // HEADS])
        logits, _ = self.decode(before, 0, (empty, empty), self.encode(ids))
        there = tf.cast(tf.not_equal(wanted, PAD), tf.float32)
        of = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=wanted, logits=logits)
        spread = tf.square(tf.reduce_logsumexp(logits, -1))
        return tf.reduce_sum((of + 1e-2 * spread) * there) / tf.reduce_sum(there)

    def steps(self):
        ids = self.random.randint(2, VOCABULARY, [2, 6]).astype(np.int32)
        ids[1, 4:] = PAD
        wanted = np.array([[4, 7, 9, END, PAD], [3, 3, 12, 5, END]], np.int32)
        served = {"ids": ids, "longest": np.int32(9)}
        usual = self.usual_steps(served, {"ids": ids, "wanted": wanted}, rate=0.3)
        more = usual[1:2] * 4
        return [
            *usual[:3],
            *more,
            *usual[3:],
            ("serving_default", {"ids": ids[:1, :1], "longest": np.int32(1)}),
        ]


MODELS = [Translator]

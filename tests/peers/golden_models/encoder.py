"""A BERT-like encoder of text, from strings on: lower case, words, pieces of words, attention."""

import math
import os

import numpy as np
import tensorflow as tf

from .base import Golden, spec

PIECES = (
    "[PAD] [UNK] [CLS] [SEP] [MASK] the a cat dog sat run ##s ##ning ##ner ##ed on mat quick ##ly "
    "un ##happ ##y and , . ! ? i it was not very happ"
).split()
WIDTH, HEADS, LAYERS, LONGEST = 16, 2, 1, 24


class Encoder(Golden):
    title = "bert_encoder"
    doc = (
        "BERT-like, from strings: a vocabulary file, words and longest pieces in loops over "
        "lookups, ragged rows made dense, masked attention by einsum, layer norm, gelu; "
        "training by masked words"
    )
    serve_inputs = {"text": spec([None], tf.string)}
    loss_inputs = {"text": spec([3], tf.string), "hidden": spec([3], tf.int32)}

    def __init__(self, folder):
        super().__init__()
        path = os.path.join(folder, "vocabulary.txt")
        with open(path, "w", encoding="utf-8") as file:
            file.write("\n".join(PIECES) + "\n")
        whole_line, line_number = (
            tf.lookup.TextFileIndex.WHOLE_LINE,
            tf.lookup.TextFileIndex.LINE_NUMBER,
        )
        self.table = tf.lookup.StaticHashTable(
            tf.lookup.TextFileInitializer(path, tf.string, whole_line, tf.int64, line_number), -1
        )
        # Words that no pieces make up are told apart by buckets, for statistics.
        self.words = tf.lookup.StaticVocabularyTable(
            tf.lookup.KeyValueTensorInitializer(
                tf.constant(["the", "a", "and"]), tf.constant([0, 1, 2], tf.int64)
            ),
            num_oov_buckets=5,
        )
        # A function of its own, which signatures share.
        ids = tf.function(self.tokenized, input_signature=[spec([None], tf.string)])
        self.ids = lambda text: ids(text)
        self.pad, self.unknown, self.start, self.end, self.mask = range(5)

    def split(self, text):
        """Ragged words: lower case, punctuation by itself."""
        text = tf.strings.regex_replace(tf.strings.lower(text), r"([[:punct:]])", r" \1 ")
        return tf.strings.split(tf.strings.strip(text))

    def pieces(self, words):
        """Ragged ids of the longest pieces from the left, by word of the vector `words`.

        All words go on at once; a round of the loop tries one piece of each.
        """
        length = tf.strings.length(words)
        rounds = tf.TensorArray(tf.int64, 0, dynamic_size=True, element_shape=[None])
        made = tf.TensorArray(tf.bool, 0, dynamic_size=True, element_shape=[None])
        i, begin, end = 0, tf.zeros_like(length), length
        while tf.reduce_any(begin < length):
            text = tf.strings.substr(words, begin, end - begin)
            ids = self.table.lookup(tf.where(begin > 0, tf.strings.join(["##", text]), text))
            going = begin < length
            known = going & (ids >= 0)
            lost = going & ~known & (end - begin <= 1)
            rounds = rounds.write(i, tf.where(known, ids, self.unknown))
            made = made.write(i, known | lost)
            begin = tf.where(known, end, tf.where(lost, length, begin))
            end = tf.where(known | lost, length, tf.where(going, end - 1, end))
            i += 1
        ids, made = tf.transpose(rounds.stack()), tf.transpose(made.stack())
        return tf.ragged.boolean_mask(ids, made)

    def tokenized(self, text):
        """Dense ids."""
        words = self.split(text)
        pieces = words.with_values(self.pieces(words.values)).merge_dims(1, 2)
        pieces = pieces[:, : LONGEST - 2]
        first = tf.fill([pieces.nrows(), 1], tf.constant(self.start, tf.int64))
        last = tf.fill([pieces.nrows(), 1], tf.constant(self.end, tf.int64))
        return tf.concat([first, pieces, last], 1).to_tensor(self.pad)

    def attention(self, name, x, mask):
        def heads(part):
            shape = [WIDTH, HEADS, WIDTH // HEADS]
            kernel = self.weight(f"{name}.{part}", shape, scale=WIDTH**-0.5)
            bias = self.weight(f"{name}.{part}.bias", shape[1:], value=0.0)
            return tf.einsum("btd,dhe->bthe", x, kernel) + bias

        scores = tf.einsum("bqhe,bkhe->bhqk", heads("query"), heads("key"))
        scores = scores * (WIDTH / HEADS) ** -0.5 + (1.0 - mask[:, None, None, :]) * -1e9
        seen = tf.einsum("bhqk,bkhe->bqhe", tf.nn.softmax(scores), heads("value"))
        out = self.weight(f"{name}.out", [HEADS, WIDTH // HEADS, WIDTH], scale=WIDTH**-0.5)
        return tf.einsum("bqhe,hed->bqd", seen, out)

    def encode(self, ids):
        mask = tf.cast(tf.not_equal(ids, self.pad), tf.float32)
        table = self.weight("embedding", [len(PIECES), WIDTH], scale=0.5)
        places = self.weight("positions", [LONGEST, WIDTH], scale=0.2)
        x = tf.nn.embedding_lookup(table, ids) + places[: tf.shape(ids)[1]]
        x = self.layer_norm("norm0", x)
        for layer in range(LAYERS):
            name = f"layer{layer}"
            x = self.layer_norm(f"{name}.norm1", x + self.attention(f"{name}.attention", x, mask))
            y = self.dense(f"{name}.wide", x, 2 * WIDTH)
            y = 0.5 * y * (1.0 + tf.math.erf(y / math.sqrt(2.0)))
            x = self.layer_norm(f"{name}.norm2", x + self.dense(f"{name}.narrow", y, WIDTH))
        return x, mask

    def serve(self, text):
        ids = self.ids(text)
        x, mask = self.encode(ids)
        first = tf.tanh(self.dense("pooler", x[:, 0], WIDTH))
        mean = tf.reduce_sum(x * mask[..., None], 1) / tf.reduce_sum(mask, 1, keepdims=True)
        buckets = self.words.lookup(self.split(text))
        return {
            "ids": ids,
            "pooled": first,
            "mean": mean,
            "buckets": buckets.to_tensor(default_value=-1),
            "joined": tf.strings.reduce_join(self.split(text), axis=-1, separator="_"),
        }

    def loss(self, text, hidden):
        """Of the piece at place `hidden` of each row, which is masked."""
        ids = tf.pad(self.ids(text), [[0, 0], [0, 12]])[:, :12]
        ids = tf.ensure_shape(ids, [text.shape[0], 12])
        at = tf.stack([tf.range(tf.size(hidden)), hidden], 1)
        wanted = tf.gather_nd(ids, at)
        masked = tf.fill(tf.shape(hidden), tf.constant(self.mask, tf.int64))
        x, _ = self.encode(tf.tensor_scatter_nd_update(ids, at, masked))
        x = self.layer_norm("head.norm", tf.nn.gelu(self.dense("head", tf.gather_nd(x, at), WIDTH)))
        logits = tf.matmul(x, self.weights["embedding"], transpose_b=True)
        logits += self.weight("vocabulary.bias", [len(PIECES)], value=0.0)
        return tf.reduce_mean(
            tf.nn.sparse_softmax_cross_entropy_with_logits(labels=wanted, logits=logits)
        ) + 1e-4 * tf.reduce_sum(tf.square(self.dense("pooler", x, WIDTH)))

    def steps(self):
        served = {
            "text": np.array(["The cat sat.", "Unhappy dogs, running QUICKLY! zebra", ""], object)
        }
        batch = {
            "text": np.array(
                ["the runner was not happy", "A dog sat on it.", "running and mats"], object
            ),
            "hidden": np.array([2, 3, 1], np.int32),
        }
        return self.usual_steps(served, batch)


MODELS = [Encoder]

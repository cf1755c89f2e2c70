"""A Tacotron-like model: letters to frames, with attention, until a token says stop."""

import numpy as np
import tensorflow as tf

from .base import Golden, spec

LETTERS = "_abcdefghijklmnopqrstuvwxyz' "
WIDTH, MEL, MOST = 10, 6, 40


class Speech(Golden):
    title = "tacotron"
    doc = (
        "Tacotron-like: letters by Unicode code points, a bank of convolutions, a recurrent "
        "encoder, a decoder with location-sensitive attention whose loop ends when the stop "
        "token of all rows has come; a waveform by Griffin and Lim's iteration"
    )
    serve_inputs = {"text": spec([None], tf.string)}
    loss_inputs = {
        "text": spec([2], tf.string),
        "frames": spec([2, 7, MEL]),
        "lengths": spec([2], tf.int32),
    }

    def __init__(self):
        super().__init__()
        keys = [ord(letter) for letter in LETTERS]
        self.table = tf.lookup.StaticHashTable(
            tf.lookup.KeyValueTensorInitializer(keys, list(range(len(keys))), tf.int32, tf.int32), 0
        )

    def recurrent(self, name, x, mask):
        """States by step of an LSTM that stands still where the mask is 0."""
        x, mask = tf.transpose(x, [1, 0, 2]), tf.transpose(mask)
        state = tf.zeros([tf.shape(x)[1], WIDTH])

        def step(before, now):
            h, c = before
            value, there = now
            new_h, new_c = self.lstm_cell(name, value, h, c)
            there = there[:, None] > 0
            return tf.where(there, new_h, h), tf.where(there, new_c, c)

        states, _ = tf.scan(step, (x, mask), (state, state))
        return tf.transpose(states, [1, 0, 2])

    def encode(self, text, longest=None):
        codes = tf.strings.unicode_decode(tf.strings.lower(text), "UTF-8")
        ids = self.table.lookup(codes).to_tensor(default_value=-1, shape=[None, longest])
        mask = tf.cast(ids >= 0, tf.float32)
        table = self.weight("letters", [len(LETTERS), WIDTH], scale=0.5)
        x = tf.nn.embedding_lookup(table, tf.maximum(ids, 0)) * mask[..., None]
        bank = [
            tf.nn.conv1d(x, self.weight(f"bank{size}", [size, WIDTH, 4]), 1, "SAME")
            for size in (1, 2, 3)
        ]
        y = tf.nn.relu(tf.concat(bank, -1))
        y = tf.nn.pool(y, [2], "MAX", strides=[1], padding="SAME")
        x = x + self.dense("bank.out", y, WIDTH)
        return self.recurrent("encoder", x, mask), mask

    def attend(self, query, keys, memory, mask, weights):
        """Context and weights, by a score of query, key and where attention has been."""
        place = tf.nn.conv1d(weights, self.weight("attention.place", [3, 2, WIDTH]), 1, "SAME")
        query = self.dense("attention.query", query, WIDTH, bias=False)
        score = tf.tanh(query[:, None, :] + keys + place)
        score = tf.squeeze(self.dense("attention.score", score, 1, bias=False), -1)
        weight = tf.nn.softmax(2.0 * score + (mask - 1.0) * 1e9)
        return tf.einsum("bt,btd->bd", weight, memory), weight

    def start(self, memory):
        rows, letters = tf.shape(memory)[0], tf.shape(memory)[1]
        zeros = tf.zeros([rows, WIDTH])
        return zeros, zeros, zeros, tf.zeros([rows, letters, 2])

    def step(self, frame, state, keys, memory, mask):
        """The next frame, the logit of the stop token, the state that follows."""
        h, c, context, weights = state
        x = tf.nn.relu(self.dense("prenet", frame, 8))
        h, c = self.lstm_cell("decoder", tf.concat([x, context], -1), h, c)
        context, now = self.attend(h, keys, memory, mask, weights)
        both = tf.concat([h, context], -1)
        weights = tf.stack([now, weights[..., 1] + now], -1)
        frame = self.dense("frame", both, MEL + 1)
        return frame[:, 1:], frame[:, 0], (h, c, context, weights)

    def postnet(self, frames):
        y = tf.tanh(tf.nn.conv1d(frames, self.weight("post1", [5, MEL, 8]), 1, "SAME"))
        return frames + tf.nn.conv1d(y, self.weight("post2", [5, 8, MEL]), 1, "SAME")

    def decode(self, text):
        memory, mask = self.encode(text)
        keys = self.dense("attention.key", memory, WIDTH, bias=False)
        frames = tf.TensorArray(tf.float32, 0, dynamic_size=True, element_shape=[None, MEL])
        aligned = tf.TensorArray(tf.float32, 0, dynamic_size=True, element_shape=[None, None])

        def going(i, done, *_):
            return (i < MOST) & ~tf.reduce_all(done)

        def body(i, done, length, frame, state, frames, aligned):
            frame, stop, state = self.step(frame, state, keys, memory, mask)
            frame = tf.where(done[:, None], 0.0, frame)
            length += tf.cast(~done, tf.int32)
            # The longer it has gone on, the sooner it ends.
            done |= tf.sigmoid(stop + 0.15 * tf.cast(i, tf.float32)) > 0.8
            return (
                i + 1,
                done,
                length,
                frame,
                state,
                frames.write(i, frame),
                aligned.write(i, state[3][..., 0]),
            )

        rows = tf.shape(memory)[0]
        _, _, length, _, _, frames, aligned = tf.while_loop(
            going,
            body,
            (
                0,
                tf.zeros([rows], tf.bool),
                tf.zeros([rows], tf.int32),
                tf.zeros([rows, MEL]),
                self.start(memory),
                frames,
                aligned,
            ),
        )
        return (
            tf.transpose(frames.stack(), [1, 0, 2]),
            tf.transpose(aligned.stack(), [1, 0, 2]),
            length,
        )

    def serve(self, text):
        frames, aligned, length = self.decode(text)
        return {"frames": self.postnet(frames), "alignment": aligned, "length": length}

    def sound(self, frames):
        """A waveform whose spectrum is that of the frames, by a round of phases."""
        bins = self.weight("bins", [MEL, 9], scale=0.3)
        magnitude = tf.nn.softplus(tf.matmul(frames, bins))
        spectrum = tf.cast(magnitude, tf.complex64)
        inverse = tf.signal.inverse_stft_window_fn(4, forward_window_fn=tf.signal.hann_window)
        wave = tf.signal.inverse_stft(spectrum, 16, 4, 16)
        again = tf.signal.stft(wave, 16, 4, 16)
        phase = again / tf.cast(tf.abs(again) + 0.1, tf.complex64)
        spectrum = tf.cast(magnitude, tf.complex64) * phase
        return {"wave": tf.signal.inverse_stft(spectrum, 16, 4, 16, window_fn=inverse)}

    def more_signatures(self):
        return {"sound": (self.sound, {"frames": spec([2, 7, MEL])})}

    def loss(self, text, frames, lengths):
        """Each frame from the true one before it."""
        memory, mask = self.encode(text, 10)
        memory, mask = tf.ensure_shape(memory, [2, 10, WIDTH]), tf.ensure_shape(mask, [2, 10])
        keys = self.dense("attention.key", memory, WIDTH, bias=False)
        before = tf.transpose(tf.pad(frames, [[0, 0], [1, 0], [0, 0]])[:, :-1], [1, 0, 2])
        steps = before.shape[0]
        made = tf.TensorArray(tf.float32, steps, element_shape=[None, MEL])
        stops = tf.TensorArray(tf.float32, steps, element_shape=[None])
        state = self.start(memory)
        for i in tf.range(steps):
            frame, stop, state = self.step(before[i], state, keys, memory, mask)
            made, stops = made.write(i, frame), stops.write(i, stop)
        made = tf.transpose(made.stack(), [1, 0, 2])
        there = tf.sequence_mask(lengths, steps, tf.float32)
        off = tf.reduce_mean(tf.abs(made - frames) + tf.square(self.postnet(made) - frames), -1)
        last = tf.one_hot(lengths - 1, steps)
        stop = tf.nn.weighted_cross_entropy_with_logits(last, tf.transpose(stops.stack()), 3.0)
        return tf.reduce_sum((off + stop) * there) / tf.reduce_sum(there)

    def steps(self):
        served = {"text": np.array(["hello", "it's a Ünit"], object)}
        batch = {
            "text": np.array(["so be it", "yes"], object),
            "frames": self.draw(2, 7, MEL),
            "lengths": np.array([7, 5], np.int32),
        }
        usual = self.usual_steps(served, batch)
        return [
            *usual,
            ("sound", {"frames": batch["frames"]}),
            ("serving_default", {"text": np.array(["a"], object)}),
        ]


MODELS = [Speech]

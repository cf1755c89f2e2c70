"""A DQN-like agent: it plays in the graph, keeps what happened, and learns from samples of it."""

import numpy as np
import tensorflow as tf

from .base import Golden, spec

KEPT, ACTIONS = 32, 2


class Agent(Golden):
    title = "dqn_agent"
    doc = (
        "DQN-like: episodes of a pole on a cart in a loop until it falls, drawn actions that "
        "seeds fix, a buffer of what happened in variables, double Q-learning, a second net "
        "that follows"
    )
    serve_inputs = {"state": spec([None, 4])}
    loss_inputs = {
        "state": spec([None, 4]),
        "action": spec([None], tf.int32),
        "reward": spec([None]),
        "after": spec([None, 4]),
        "ended": spec([None], tf.bool),
    }

    def __init__(self):
        super().__init__()
        self.kept = {
            "state": tf.Variable(tf.zeros([KEPT, 4]), trainable=False),
            "action": tf.Variable(tf.zeros([KEPT], tf.int32), trainable=False),
            "reward": tf.Variable(tf.zeros([KEPT]), trainable=False),
            "after": tf.Variable(tf.zeros([KEPT, 4]), trainable=False),
            "ended": tf.Variable(tf.zeros([KEPT], tf.bool), trainable=False),
        }
        self.count = tf.Variable(0, trainable=False)

    def values(self, net, state):
        x = tf.nn.relu(self.dense(net + ".hidden", state, 12))
        value, advantage = (
            self.dense(net + ".value", x, 1),
            self.dense(net + ".advantage", x, ACTIONS),
        )
        return value + advantage - tf.reduce_mean(advantage, -1, keepdims=True)

    @property
    def trainable_variables(self):
        return tuple(v for name, v in sorted(self.weights.items()) if name.startswith("online"))

    def serve(self, state):
        values = self.values("online", state)
        return {"values": values, "action": tf.argmax(values, -1, output_type=tf.int32)}

    def after(self, state, action):
        """What Barto, Sutton and Anderson's cart does in 0.05 s, and whether it has failed."""
        x, speed, angle, turn = tf.unstack(state)
        force = tf.where(action == 1, 10.0, -10.0)
        pushed = (force + 0.05 * turn * turn * tf.sin(angle)) / 1.1
        bend = (9.8 * tf.sin(angle) - tf.cos(angle) * pushed) / (
            0.5 * (4.0 / 3.0 - 0.1 * tf.cos(angle) ** 2 / 1.1)
        )
        gain = pushed - 0.05 * bend * tf.cos(angle) / 1.1
        state = tf.stack(
            [x + 0.05 * speed, speed + 0.05 * gain, angle + 0.05 * turn, turn + 0.05 * bend]
        )
        return state, (tf.abs(state[0]) > 2.4) | (tf.abs(state[2]) > 0.21)

    def play(self, seed, most, greed):
        """An episode, whose steps go to the buffer."""
        state = tf.random.stateless_uniform([4], seed, -0.05, 0.05)
        total, ended, i = tf.constant(0.0), tf.constant(False), tf.constant(0)
        while (i < most) & ~ended:
            drawn = tf.random.stateless_uniform([2], seed + [0, i + 1])
            best = tf.argmax(self.values("online", state[None])[0], output_type=tf.int32)
            action = tf.cond(
                drawn[0] < greed, lambda: best, lambda: tf.cast(drawn[1] * 2.0, tf.int32)
            )
            after, ended = self.after(state, action)
            reward = tf.where(ended, -1.0, 1.0)
            at = self.count % KEPT
            for name, value in (
                ("state", state),
                ("action", action),
                ("reward", reward),
                ("after", after),
                ("ended", ended),
            ):
                self.kept[name].scatter_nd_update([[at]], value[None])
            self.count.assign_add(1)
            state, total, i = after, total + reward, i + 1
        return {"total": total, "steps": i, "count": self.count.read_value(), "last": state}

    def learn(self, seed, rate):
        """A step of training on what the buffer holds; at even seeds the other net follows."""
        most = tf.minimum(self.count, KEPT)
        at = tf.random.stateless_uniform([8], seed, 0, most, tf.int32)
        found = self.train(rate, **{name: tf.gather(kept, at) for name, kept in self.kept.items()})
        if seed[0] % 2 == 0:
            for name, variable in self.weights.items():
                if name.startswith("target"):
                    variable.assign(self.weights[name.replace("target", "online")])
        return {**found, "at": at}

    def more_signatures(self):
        return {
            "play": (
                self.play,
                {"seed": spec([2], tf.int32), "most": spec([], tf.int32), "greed": spec([])},
            ),
            "learn": (self.learn, {"seed": spec([2], tf.int32), "rate": spec([])}),
        }

    def loss(self, state, action, reward, after, ended):
        """Double Q-learning: one net chooses, the other says what it is worth."""
        chosen = tf.argmax(self.values("online", after), -1, output_type=tf.int32)
        worth = tf.gather(self.values("target", after), chosen, batch_dims=1)
        goal = tf.stop_gradient(reward + 0.95 * tf.where(ended, 0.0, worth))
        got = tf.gather(self.values("online", state), action, batch_dims=1)
        off = tf.abs(got - goal)
        return tf.reduce_mean(tf.where(off < 1.0, 0.5 * off * off, off - 0.5))

    def steps(self):
        batch = {
            "state": self.draw(5, 4),
            "action": np.array([0, 1, 1, 0, 1], np.int32),
            "reward": np.ones(5, np.float32),
            "after": self.draw(5, 4),
            "ended": np.array([False, True, False, False, False]),
        }
        seeds = np.array([[2, 3], [5, 8], [4, 1]], np.int32)
        usual = self.usual_steps({"state": batch["state"]}, batch)
        rate = np.float32(0.1)
        for seed in seeds:
            usual.append(("play", {"seed": seed, "most": np.int32(30), "greed": np.float32(0.6)}))
            usual.append(("learn", {"seed": seed, "rate": rate}))
        return [*usual, ("serving_default", {"state": batch["after"]})]


MODELS = [Agent]

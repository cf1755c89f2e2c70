"""Learns to balance a pole on a cart: REINFORCE, with the world inside the graph.

    python examples/python/reinforce.py

An episode is a plain Python loop: look, choose at random by the policy, push the cart, until the
pole falls. World and policy are one graph: no step of an episode runs Python, and how long episodes
are depends on what happens in them. All episodes of a batch run side by side.

Sources: Williams, Simple statistical gradient-following algorithms (1992); the cart is that of
Barto, Sutton and Anderson, Neuronlike adaptive elements (1983).
"""

import numpy as np

import gyre

EPISODES, LONGEST, UPDATES = 16, 200, 60


def push(state, right):
    """The carts a fiftieth of a second later: [batch, 4] of place, speed, angle, its speed."""
    _, v, angle, spin = gyre.unstack(state, axis=1)
    force = gyre.where(right, 10.0, -10.0)
    sine, cosine = gyre.sin(angle), gyre.cos(angle)
    pull = (force + 0.05 * spin**2 * sine) / 1.1
    turn = (9.8 * sine - cosine * pull) / (0.5 * (4 / 3 - 0.1 * cosine**2 / 1.1))
    slide = pull - 0.05 * turn * cosine / 1.1
    change = gyre.stack([v, slide, spin, turn], axis=1)
    return state + 0.02 * change


def stands(state):
    """Whether the pole is up and the cart is on its track."""
    return (gyre.abs(state[:, 0]) < 2.4) & (gyre.abs(state[:, 2]) < 0.21)


class Policy(gyre.Module):
    """How much rather to push to the right."""

    def __init__(self):
        super().__init__()
        self.hidden = gyre.nn.Dense(16, "tanh")
        self.out = gyre.nn.Dense(1, kernel_initializer="zeros")

    def __call__(self, state):
        return self.out(self.hidden(state))[:, 0]


def play(policy, seed):
    """(surprises, alive): -log P of what was done, whether the pole stood then: [time, batch]."""
    state = gyre.random.stateless_uniform([EPISODES, 4], [seed, 0], -0.05, 0.05)
    alive = gyre.fill([EPISODES], True)
    surprises = gyre.TensorArray(gyre.float32, 0, dynamic_size=True, element_shape=[EPISODES])
    lives = gyre.TensorArray(gyre.float32, 0, dynamic_size=True, element_shape=[EPISODES])
    t = 0
    while t < LONGEST and gyre.reduce_any(alive):
        logits = policy(state)
        right = gyre.random.stateless_uniform([EPISODES], [seed, t + 1]) < gyre.sigmoid(logits)
        surprise = gyre.nn.sigmoid_cross_entropy_with_logits(gyre.cast(right, gyre.float32), logits)
        surprises = surprises.write(t, surprise)
        lives = lives.write(t, gyre.cast(alive, gyre.float32))
        state = push(state, right)
        alive = alive & stands(state)
        t += 1
    return surprises.stack(), lives.stack()


def make_update(policy, optimizer):
    """A step of training: seed -> mean length of the episodes."""

    @gyre.function
    def update(seed):
        with gyre.GradientTape() as tape:
            surprises, alive = play(policy, seed)
            # What is still to come, each second worth a little less than the one before it.
            returns = gyre.scan(lambda later, now: now + 0.99 * later, alive, reverse=True)
            count = gyre.reduce_sum(alive)
            mean = gyre.reduce_sum(returns * alive) / count
            spread = gyre.sqrt(gyre.reduce_sum(alive * (returns - mean) ** 2) / count)
            gain = (returns - mean) / (spread + 1e-6) * alive
            loss = gyre.reduce_sum(gyre.stop_gradient(gain) * surprises) / count
        variables = policy.trainable_variables
        optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables))
        return count / EPISODES

    return update


def main():
    gyre.random.set_seed(1)
    policy = Policy()
    update = make_update(policy, gyre.optimizers.Adam(0.03))
    lengths = []
    for i in range(UPDATES):
        lengths.append(float(update(gyre.constant(i))))
        if i % 10 == 0 or i == UPDATES - 1:
            print(f"update {i:3d}  the pole stands for {lengths[-1]:5.1f} of {LONGEST} steps")
    first, last = np.mean(lengths[:5]), np.mean(lengths[-5:])
    assert last > 4 * first
    return {"first": first, "last": last}


if __name__ == "__main__":
    main()

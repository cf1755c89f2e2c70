"""Learning to learn (MAML): a network that fits a new sine wave after a few steps on ten points.

    python examples/python/maml.py

Training looks at what the network is after those steps, and goes back through them: a gradient of a
gradient, through a plain Python loop whose length is a tensor.

Source: Finn, Abbeel and Levine, Model-agnostic meta-learning (2017).
"""

import numpy as np

import gyre

WIDTH, TASKS, POINTS = 24, 10, 10


def initial(rng):
    """Weights and biases of three layers."""
    sizes = [1, WIDTH, WIDTH, 1]
    return [
        gyre.Variable(value.astype(np.float32))
        for a, b in zip(sizes, sizes[1:])
        for value in (rng.randn(a, b) / np.sqrt(a), np.zeros(b))
    ]


def network(weights, x):
    """[points, 1] to [points, 1]."""
    w1, b1, w2, b2, w3, b3 = weights
    return gyre.tanh(gyre.tanh(x @ w1 + b1) @ w2 + b2) @ w3 + b3


def error(weights, x, y):
    return gyre.reduce_mean((network(weights, x) - y) ** 2)


def adapt(weights, x, y, steps, rate=0.05):
    """The weights after some steps of gradient descent on a task."""
    for _ in gyre.range(steps):
        with gyre.GradientTape() as tape:
            tape.watch(weights)
            loss = error(weights, x, y)
        slopes = tape.gradient(loss, weights)
        weights = [w - rate * g for w, g in zip(weights, slopes)]
    return weights


def draw(rng, tasks):
    """Points (twice: to learn from, to be judged by) of sine waves of one height and shift each."""
    height, shift = rng.uniform(0.5, 3, (tasks, 1, 1)), rng.uniform(0, np.pi, (tasks, 1, 1))
    x = rng.uniform(-4, 4, (tasks, 2 * POINTS, 1))
    y = height * np.sin(x - shift)
    parts = x[:, :POINTS], y[:, :POINTS], x[:, POINTS:], y[:, POINTS:]
    return [part.astype(np.float32) for part in parts]


def make_step(weights, optimizer):
    """A step of training over a batch of tasks: their points -> error after adapting."""

    @gyre.function
    def step(x, y, other_x, other_y, inner_steps):
        with gyre.GradientTape() as tape:
            start = [w.read_value() for w in weights]

            def judged(task):
                learned = adapt(start, task[0], task[1], inner_steps)
                return error(learned, task[2], task[3])

            loss = gyre.reduce_mean(
                gyre.map_fn(judged, (x, y, other_x, other_y), fn_output_signature=gyre.float32)
            )
        optimizer.apply_gradients(zip(tape.gradient(loss, weights), weights))
        return loss

    return step


@gyre.function
def judge(weights, x, y, other_x, other_y, steps):
    """The error on other points of one task after adapting to it."""
    return error(adapt(weights, x, y, steps), other_x, other_y)


def after_steps(weights, tasks, steps):
    """The mean error on new tasks, after some steps on each."""
    start = [w.read_value() for w in weights]
    return float(np.mean([judge(start, *task, gyre.constant(steps)) for task in zip(*tasks)]))


def main():
    rng = np.random.RandomState(7)
    weights = initial(rng)
    step = make_step(weights, gyre.optimizers.Adam(0.005))
    tests = draw(np.random.RandomState(8), 20)
    before = after_steps(weights, tests, 5)
    for i in range(400):
        loss = step(*map(gyre.constant, draw(rng, TASKS)), gyre.constant(3))
        if i % 80 == 0 or i == 399:
            print(f"step {i:3d}  error after adapting {loss:.3f}")
    after = [after_steps(weights, tests, n) for n in (0, 1, 5)]
    print(
        f"new waves: 5 steps from scratch leave an error of {before:.3f}; from what was learned "
        f"0, 1 and 5 steps leave {after[0]:.3f}, {after[1]:.3f}, {after[2]:.3f}"
    )
    assert after[2] < 0.5 * before and after[2] < 0.5 * after[0]
    return {"before": before, "after": after}


if __name__ == "__main__":
    main()

"""A mixture of experts: a gate sends each point to one of four networks, which learn to share.

    python examples/python/mixture_of_experts.py

An expert sees only the points that were sent to it: `dynamic_partition` deals them out, and
`dynamic_stitch` puts the answers back in order. Whether an expert runs at all is an `if` on how
many points it has got, which becomes a conditional of the graph. What is learned is a function of
four pieces that no single expert of this size can follow.
"""

import numpy as np

import gyre

EXPERTS, STEPS = 4, 600


class Expert(gyre.Module):
    """A straight line, bent a little."""

    def __init__(self, rng):
        super().__init__()
        self.hidden = gyre.Variable(rng.randn(1, 4).astype(np.float32))
        self.out = gyre.Variable(rng.randn(4, 1).astype(np.float32) * 0.5)
        self.bias = gyre.Variable(rng.randn(1).astype(np.float32))

    def __call__(self, x):
        return gyre.tanh(x @ self.hidden) @ self.out + self.bias


class Mixture(gyre.Module):
    """The gate's favourite expert for each point, weighted with how sure the gate is of it."""

    def __init__(self, rng):
        super().__init__()
        self.gate_hidden = gyre.nn.Dense(16, "tanh")
        self.gate = gyre.nn.Dense(EXPERTS)
        self.experts = [Expert(rng) for _ in range(EXPERTS)]

    def __call__(self, x):
        trust = gyre.nn.softmax(self.gate(self.gate_hidden(x)))
        chosen = gyre.argmax(trust, axis=1, output_type=gyre.int32)
        parts = gyre.dynamic_partition(x, chosen, EXPERTS)
        places = gyre.dynamic_partition(gyre.range(gyre.shape(x)[0]), chosen, EXPERTS)
        answers = []
        for expert, part in zip(self.experts, parts):
            if gyre.shape(part)[0] > 0:
                answer = expert(part)
            else:
                answer = part
            answers.append(answer)
        y = gyre.dynamic_stitch(places, answers)
        weight = gyre.gather(trust, chosen, axis=1, batch_dims=1)
        return weight[:, None] * y, trust, chosen


def target(x):
    """Four pieces: a slope, a step, a wave, a constant."""
    pieces = [x + 3, -np.ones_like(x), 2 * np.sin(5 * x)]
    return np.select([x < -1, x < 0, x < 1], pieces, 0.5).astype(np.float32)


def make_step(model, optimizer):
    """A step of training: (x, y) -> (error, how many points each expert got)."""

    @gyre.function
    def step(x, y):
        with gyre.GradientTape() as tape:
            guess, trust, chosen = model(x)
            error = gyre.reduce_mean((guess - y) ** 2)
            # Fedus, Zoph and Shazeer, Switch transformers (2021): loads that are equal cost least.
            share = gyre.reduce_mean(gyre.one_hot(chosen, EXPERTS), axis=0)
            balance = EXPERTS * gyre.reduce_sum(share * gyre.reduce_mean(trust, axis=0))
            loss = error + 0.05 * balance
        variables = model.trainable_variables
        optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables))
        return error, gyre.math.bincount(chosen, minlength=EXPERTS)

    return step


def main():
    gyre.random.set_seed(3)
    rng = np.random.RandomState(3)
    model = Mixture(rng)
    step = make_step(model, gyre.optimizers.Adam(0.02))
    x = rng.uniform(-2, 2, (256, 1)).astype(np.float32)
    y = target(x)
    errors = []
    for i in range(STEPS):
        error, loads = step(gyre.constant(x), gyre.constant(y))
        errors.append(float(error))
        if i % 100 == 0 or i == STEPS - 1:
            print(f"step {i:4d}  error {errors[-1]:.4f}  points of each expert {loads.numpy()}")
    assert errors[-1] < 0.1 * errors[0] and (loads.numpy() > 0).sum() >= 2
    return {"first": errors[0], "last": errors[-1], "loads": loads.numpy().tolist()}


if __name__ == "__main__":
    main()

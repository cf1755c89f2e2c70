"""A tree-LSTM learns to compute: formulas are trees, the network a function that calls itself.

    python examples/python/tree_lstm.py

The tree of a formula such as ((1 and 0) or (not 1)) is three arrays. `encode` is a plain recursive
function over them: what it calls, and how deep, depends on the tree at hand, inside the graph, and
the gradient goes the same ways back.

Source: Tai, Socher and Manning, Improved semantic representations from tree-structured long
short-term memory networks (2015).
"""

import numpy as np

import gyre

UNITS, STEPS = 16, 400
KINDS = ("0", "1", "not", "and", "or")


class TreeLstm(gyre.Module):
    """Reads a tree from its leaves to its root; the root's state says what the formula is worth."""

    def __init__(self):
        super().__init__()
        self.embed = gyre.nn.Embedding(len(KINDS), UNITS)
        self.gates = gyre.nn.Dense(5 * UNITS)
        self.out = gyre.nn.Dense(1)

    def cell(self, x, left, right):
        """The state (h, c) of a node of its kind and the states of the nodes below it."""
        (h0, c0), (h1, c1) = left, right
        i, o, u, f0, f1 = gyre.split(self.gates(gyre.concat([x, h0, h1], axis=0)[None])[0], 5)
        c = gyre.sigmoid(i) * gyre.tanh(u) + gyre.sigmoid(f0) * c0 + gyre.sigmoid(f1) * c1
        return gyre.sigmoid(o) * gyre.tanh(c), c

    @gyre.function
    def encode(self, tree, node):
        """The state of a node, from those of the nodes below it; -1 is no node."""
        if node < 0:
            return gyre.zeros([UNITS]), gyre.zeros([UNITS])
        kind, left, right = gyre.unstack(tree[node])
        below = self.encode(tree, left), self.encode(tree, right)
        return self.cell(self.embed(kind), *below)

    @gyre.function
    def logit(self, tree):
        """How likely the formula is true. The root is node 0."""
        h, _ = self.encode(tree, 0)
        return self.out(h[None])[0, 0]


def grow(rng, depth):
    """A random formula: (text, value, [[kind, left, right], …] with its root first)."""
    kind = KINDS[rng.randint(5 if depth else 2)]
    if kind in "01":
        return kind, kind == "1", [[KINDS.index(kind), -1, -1]]
    parts = [grow(rng, depth - 1) for _ in range(1 if kind == "not" else 2)]
    nodes, places = [], [-1, -1]
    for k, (_, _, below) in enumerate(parts):
        start = places[k] = 1 + len(nodes)
        nodes += [[a, *(b if b < 0 else b + start for b in children)] for a, *children in below]
    texts, values = [part[0] for part in parts], [part[1] for part in parts]
    value = {"not": not values[0], "and": all(values), "or": any(values)}[kind]
    text = f"(not {texts[0]})" if kind == "not" else f"({f' {kind} '.join(texts)})"
    return text, value, [[KINDS.index(kind), *places], *nodes]


def make_step(model, optimizer):
    """A step of training: (tree, whether it is true) -> loss."""

    @gyre.function(input_signature=[gyre.TensorSpec([None, 3], gyre.int32), gyre.TensorSpec([])])
    def step(tree, label):
        with gyre.GradientTape() as tape:
            loss = gyre.nn.sigmoid_cross_entropy_with_logits(label, model.logit(tree))
        variables = model.trainable_variables
        optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables))
        return loss

    return step


def main():
    gyre.random.set_seed(5)
    rng = np.random.RandomState(5)
    model = TreeLstm()
    step = make_step(model, gyre.optimizers.Adam(0.02))
    losses = []
    for i in range(STEPS):
        _, value, tree = grow(rng, 3)
        losses.append(float(step(gyre.constant(tree), float(value))))
        if (i + 1) % 100 == 0:
            print(f"formula {i + 1}  loss {np.mean(losses[-100:]):.4f}")
    tests = [grow(rng, 5) for _ in range(100)]  # deeper than any that it has seen
    right = [bool(model.logit(gyre.constant(tree)) > 0) == value for _, value, tree in tests]
    longest = max(tests, key=lambda test: len(test[2]))
    print(f"{sum(right)} of 100 deeper formulas right; the largest has {len(longest[2])} nodes")
    assert np.mean(losses[-100:]) < 0.5 * np.mean(losses[:100]) and sum(right) >= 90
    return {"loss": float(np.mean(losses[-100:])), "right": sum(right)}


if __name__ == "__main__":
    main()

"""Trains a small LSTM to write like a book, letter by letter, and shows its program.

    python examples/python/train_char_lstm.py [--seconds 60] [--out out]

The loop over time is a plain Python loop. `gyre.function` traces it once; how often it goes round
is that of the longest piece of text in the batch, different from step to step, and GradientTape
takes the gradient through it. Writing is a plain loop, too, that stops when the text is long enough
and a sentence has ended.

Leaves in --out: generated.txt, loss.png, program.html (open it in a browser: the program as nested
boxes, with what each loop and op has cost in one step), generate.html, step.trace.json (for
ui.perfetto.dev). Needs matplotlib.
"""

import argparse
import os
import random
import time

from matplotlib.figure import Figure

import gyre

HERE = os.path.dirname(os.path.abspath(__file__))
BATCH, SHORTEST, LONGEST = 32, 30, 90


class Writer(gyre.Module):
    """A character, and what was before it, to a guess at the next."""

    def __init__(self, letters, units=160):
        super().__init__()
        self.embed = gyre.nn.Embedding(letters, 32)
        self.cell = gyre.nn.LSTMCell(units)
        self.out = gyre.nn.Dense(letters)

    def loss(self, pieces, lengths):
        """Nats per character, of `pieces` [batch, time], each of its own length."""
        letters = gyre.transpose(pieces)
        inputs = self.embed(letters)
        h, c = self.cell.initial_states(gyre.shape(pieces)[0])
        total = 0.0
        for t in gyre.range(gyre.reduce_max(lengths) - 1):
            h, (h, c) = self.cell(inputs[t], [h, c])
            cost = gyre.nn.sparse_softmax_cross_entropy_with_logits(letters[t + 1], self.out(h))
            total += gyre.reduce_sum(gyre.where(t + 1 < lengths, cost, 0.0))
        return total / gyre.cast(gyre.reduce_sum(lengths - 1), "float32")


def make_step(model, optimizer):
    """A step of training: (pieces, lengths) -> loss."""

    @gyre.function(
        input_signature=[gyre.TensorSpec([BATCH, None], "int32"), gyre.TensorSpec([BATCH], "int32")]
    )
    def train_step(pieces, lengths):
        with gyre.GradientTape() as tape:
            loss = model.loss(pieces, lengths)
        variables = model.trainable_variables
        gradients, _ = gyre.clip_by_global_norm(tape.gradient(loss, variables), 5.0)
        optimizer.apply_gradients(zip(gradients, variables))
        return loss

    return train_step


def make_generator(model, stop):
    """Text from the model: (first letter, about how many, temperature) -> letters."""

    @gyre.function(
        input_signature=[
            gyre.TensorSpec([], "int32"),
            gyre.TensorSpec([], "int32"),
            gyre.TensorSpec([], "float32"),
        ]
    )
    def generate(letter, count, temperature):
        h, c = model.cell.initial_states(1)
        text = gyre.TensorArray("int32", size=0, dynamic_size=True)
        i = 0
        while i < count or (letter != stop and i < 2 * count):
            h, (h, c) = model.cell(model.embed(gyre.reshape(letter, [1])), [h, c])
            letter = gyre.random.categorical(model.out(h) / temperature, 1, dtype="int32")[0, 0]
            text = text.write(i, letter)
            i += 1
        return text.stack()

    return generate


def batches(codes, newline, seed=1):
    """Pieces of the text that begin where a line does; shorter ones are padded with zeros."""
    rng = random.Random(seed)
    starts = [i + 1 for i, code in enumerate(codes) if code == newline and i + LONGEST < len(codes)]
    while True:
        lengths = [rng.randint(SHORTEST, rng.choice((LONGEST // 2, LONGEST))) for _ in range(BATCH)]
        longest = max(lengths)
        pieces = []
        for length in lengths:
            start = rng.choice(starts)
            pieces.append(codes[start : start + length] + [0] * (longest - length))
        yield gyre.constant(pieces, "int32"), gyre.constant(lengths, "int32")


def draw(curve, path):
    """The loss over time, [(seconds, loss), …], as a PNG file."""
    figure = Figure(figsize=(9.6, 5.4), layout="constrained")
    axes = figure.subplots()
    axes.plot(*zip(*curve), linewidth=2)
    axes.set(title="loss of a character LSTM", xlabel="seconds", ylabel="nats per character")
    axes.grid(alpha=0.4)
    figure.savefig(path)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=60, help="how long to train (default: 60)")
    parser.add_argument("--out", default="out", help="the folder for results (default: out)")
    arguments = parser.parse_args()
    os.makedirs(arguments.out, exist_ok=True)

    with open(os.path.join(HERE, "data", "sherlock.txt"), encoding="ascii") as file:
        text = file.read()
    alphabet = sorted(set(text))
    code_of = {letter: code for code, letter in enumerate(alphabet)}
    codes = [code_of[letter] for letter in text]

    gyre.random.set_seed(1)
    model = Writer(len(alphabet))
    rate = gyre.optimizers.schedules.CosineDecay(6e-3, 2000, alpha=0.1)
    train_step = make_step(model, gyre.optimizers.Adam(rate))
    data = batches(codes, code_of["\n"])

    print(
        f"{len(text)} characters, {len(alphabet)} different ones; training for "
        f"{arguments.seconds:g} s"
    )
    began = told = now = time.monotonic()
    recent, curve, letters, steps = [], [], 0, 0
    while not steps or now - began < arguments.seconds:
        pieces, lengths = next(data)
        recent.append(float(train_step(pieces, lengths)))
        letters += BATCH * pieces.shape[1]
        steps += 1
        now = time.monotonic()
        if steps == 1 or steps % 10 == 0:
            curve.append((now - began, sum(recent[-10:]) / len(recent[-10:])))
        if steps == 1 or now - told >= 4 or now - began >= arguments.seconds:
            print(
                f"{now - began:5.1f} s  step {steps:5d}  loss {curve[-1][1]:.3f}  "
                f"{letters / (now - began):,.0f} characters/s",
                flush=True,
            )
            told = now

    generate = make_generator(model, code_of["."])
    written = generate(code_of["\n"], 600, 0.5)
    story = "".join(alphabet[code] for code in written.numpy())
    print(story)

    def path(name):
        return os.path.join(arguments.out, name)

    with open(path("generated.txt"), "w", encoding="ascii") as file:
        file.write(story.strip() + "\n")
    draw(curve, path("loss.png"))
    gyre.show(train_step, *next(data), path=path("program.html"))
    gyre.show(generate, code_of["\n"], 60, 0.5, path=path("generate.html"))
    gyre.timeline(train_step, *next(data), path=path("step.trace.json"))
    print("wrote", ", ".join(sorted(os.listdir(arguments.out))), "in", arguments.out)


if __name__ == "__main__":
    main()

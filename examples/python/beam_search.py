"""Writes the likeliest continuation of a text by beam search, over a model of letters.

    python examples/python/beam_search.py

The model says how likely a letter follows four others, counted in a book. Taking the likeliest
letter each time is greedy: it does not see what it is heading for. Beam search keeps the best few
texts at every step. The search is one plain Python loop, which becomes one loop of the graph, and
ends early when all texts that are kept have ended.
"""

import os

import numpy as np

import gyre

TEXT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "data", "sherlock.txt")
LETTERS = " abcdefghijklmnopqrstuvwxyz."
END = LETTERS.index(".")
N = len(LETTERS)
BEFORE = 4


def count(text):
    """log P(letter | the four before it): [N ** 4, N], with a little for what was never seen."""
    codes = np.array([LETTERS.find(letter) for letter in " ".join(text.lower().split())])
    codes = codes[codes >= 0]
    counts = np.full((N**BEFORE, N), 1e-3, np.float32)
    np.add.at(counts, (place_of(codes), codes[BEFORE:]), 1)
    return np.log(counts / counts.sum(axis=1, keepdims=True))


def place_of(codes):
    """The rows of the table for every run of four letters that another follows."""
    runs = np.lib.stride_tricks.sliding_window_view(codes[:-1], BEFORE)
    return runs @ N ** np.arange(BEFORE)


@gyre.function
def search(table, start, beams, shortest, longest):
    """The best texts that begin with `start` (codes), and their log-likelihoods, best first."""
    first = gyre.size(start)
    texts = gyre.pad(gyre.tile(start[None], [beams, 1]), [[0, 0], [0, longest - first]])
    scores = gyre.where(gyre.range(beams) == 0, 0.0, -np.inf)  # the copies do not count yet
    ended = gyre.zeros([beams], gyre.bool)
    weights = N ** gyre.range(BEFORE)
    is_end = gyre.range(N) == END
    for t in gyre.range(first, longest):
        if gyre.reduce_all(ended):
            break
        costs = gyre.gather(table, gyre.linalg.matvec(texts[:, t - BEFORE : t], weights))
        if t < shortest:
            costs = gyre.where(is_end, -np.inf, costs)
        # What has ended costs nothing more.
        costs = gyre.where(ended[:, None], gyre.where(is_end, 0.0, -np.inf), costs)
        scores, best = gyre.math.top_k(gyre.reshape(scores[:, None] + costs, [-1]), beams)
        texts = gyre.gather(texts, best // N)
        ended = gyre.gather(ended, best // N)
        letters = gyre.where(ended, 0, best % N)
        column = gyre.stack([gyre.range(beams), gyre.fill([beams], t)], axis=1)
        texts = gyre.tensor_scatter_nd_update(texts, column, letters)
        ended = ended | (letters == END)
    return texts, scores


def log_likelihood(table, codes, first):
    """Of the letters from `first` on, up to the end."""
    length = list(codes).index(END) + 1 if END in codes else len(codes)
    codes = codes[:length]
    return table[place_of(codes), codes[BEFORE:]][first - BEFORE :].sum()


def main():
    with open(TEXT, encoding="ascii") as file:
        table = count(file.read())
    start = gyre.constant([LETTERS.index(letter) for letter in "it is "])
    results = {}
    for beams in (1, 8, 200):
        texts, scores = search(gyre.constant(table), start, gyre.constant(beams), 30, 60)
        text = "".join(LETTERS[code] for code in texts[0].numpy()).strip()
        results[beams] = text, float(scores[0])
        print(f"{beams:3d} beams  log-likelihood {scores[0]:8.3f}  {text!r}")
        again = log_likelihood(table, texts[0].numpy(), 6)
        assert abs(again - float(scores[0])) < 1e-3
    assert results[1][1] < results[8][1] < results[200][1]
    return results


if __name__ == "__main__":
    main()

"""gyre.sets: sets in the rows of dense and sparse tensors."""

import numpy as np
import pytest

import gyre

A = np.array([[1, 2, 2], [3, 3, 3]])
B = np.array([[2, 5, 1, 7], [3, 4, 4, 0]])


def sparse(rows):
    rows = np.asarray(rows)
    return gyre.sparse.SparseTensor(np.argwhere(rows >= 0), rows[rows >= 0], rows.shape)


def rows_of(result):
    """The sets, and the shape."""
    rows = {}
    for index, value in zip(result.indices.numpy(), result.values.numpy(), strict=True):
        rows.setdefault(tuple(index[:-1]), []).append(value)
        assert index[-1] == len(rows[tuple(index[:-1])]) - 1
    return [list(map(int, rows.get((i,), []))) for i in range(2)], result.dense_shape.numpy()[-1]


@pytest.mark.parametrize("forms", ["dd", "ds", "ss", "sd"])
def test_operations(forms):
    a, b = (sparse(v) if form == "s" else v for v, form in zip((A, B), forms, strict=True))
    sets = gyre.sets
    assert rows_of(sets.union(a, b)) == ([[1, 2, 5, 7], [0, 3, 4]], 4)
    assert rows_of(sets.intersection(a, b)) == ([[1, 2], [3]], 2)
    assert rows_of(sets.difference(a, b)) == ([[], []], 0)
    assert rows_of(sets.difference(a, b, aminusb=False)) == ([[5, 7], [0, 4]], 2)


def test_missing_rows_are_empty_sets():
    a = gyre.sparse.SparseTensor([[1, 0]], [7], [2, 1])
    b = gyre.sparse.SparseTensor([[0, 2]], [9], [2, 3])
    assert rows_of(gyre.sets.union(a, b)) == ([[9], [7]], 1)
    assert rows_of(gyre.sets.intersection(a, b)) == ([[], []], 0)


def test_text_and_sizes():
    united = gyre.sets.union([["b", "a"]], [["c", "b"]])
    assert united.values.numpy().tolist() == [b"a", b"b", b"c"]
    assert gyre.sets.size(sparse([[1, 1, -1], [-1, -1, -1]])).numpy().tolist() == [1, 0]


def test_mistakes():
    with pytest.raises(TypeError, match="sets are of"):
        gyre.sets.union([[1.0]], [[2.0]])
    with pytest.raises(TypeError, match="Expected `SparseTensor`"):
        gyre.sets.size([[1]])
    with pytest.raises(gyre.errors.InvalidArgumentError, match="all dimensions but the last"):
        gyre.sets.union([[1]], [[2], [3]])
    unordered = gyre.sparse.SparseTensor([[1, 0], [0, 0]], [7, 8], [2, 1])
    with pytest.raises(gyre.errors.InvalidArgumentError, match="out of order"):
        gyre.sets.size(unordered)

"""Items of tensors, eager and in graphs, as numpy has them."""

import numpy as np
import pytest

from gyre import _gyre

X = np.arange(60).reshape(3, 4, 5)
KEYS = [
    0,
    -1,
    2,
    slice(None),
    slice(1, 2),
    slice(None, None, 2),
    slice(None, None, -1),
    slice(2, 0, -1),
    slice(-2, None),
    slice(10, 20),
    slice(None, 10**30),
    (0, 1),
    (0, 1, 2),
    (Ellipsis, 1),
    (1, Ellipsis),
    (Ellipsis,),
    Ellipsis,
    None,
    (None, 0),
    (slice(None), None, 1),
    (slice(1, 3), slice(None, None, 2), -1),
    (0, Ellipsis, None),
    (Ellipsis, slice(1, 4), 2),
    (),
    np.int64(1),
    (np.int32(1), slice(None)),
]


@pytest.mark.parametrize("key", KEYS, ids=str)
@pytest.mark.parametrize("in_graph", [False, True])
def test_as_numpy(key, in_graph):
    if in_graph:
        graph = _gyre.Graph()
        with graph:
            x = graph.placeholder("int64", (None, None, None))
            y = x[key]
        got = graph.prepare([x], [y])([_gyre.tensor(X)])[0]
    else:
        got = _gyre.tensor(X)[key]
    np.testing.assert_array_equal(got.numpy(), X[key])
    assert got._dims == X[key].shape


def test_scalar_tensors():
    t = _gyre.tensor(X)
    i = _gyre.tensor(1)
    np.testing.assert_array_equal(t[i].numpy(), X[1])
    np.testing.assert_array_equal(t[i:, i].numpy(), X[1:, 1])
    graph = _gyre.Graph()
    with graph:
        k = graph.placeholder("int32", ())
        y = graph.placeholder("int64", (3, 4, 5))
        parts = [y[k], y[:, k], y[k:], y[..., :k]]
    got = graph.prepare([k, y], parts)([i, t])
    for g, expected in zip(got, (X[1], X[:, 1], X[1:], X[..., :1])):
        np.testing.assert_array_equal(g.numpy(), expected)
    minus = graph.prepare([k, y], parts[:1])([_gyre.tensor(-1), t])[0]
    np.testing.assert_array_equal(minus.numpy(), X[-1])


def test_masks():
    t = _gyre.tensor(X)
    np.testing.assert_array_equal(t[t > 30].numpy(), X[X > 30])
    rows = np.array([True, False, True])
    for mask in (rows, rows.tolist(), _gyre.tensor(rows)):
        np.testing.assert_array_equal(t[mask].numpy(), X[rows])


@pytest.mark.parametrize(
    "key,error",
    [
        (3, "INDEX_ERROR"),
        (-4, "INDEX_ERROR"),
        ((0, 0, 0, 0), "INDEX_ERROR"),
        (1.5, TypeError),
        ("a", TypeError),
        ([0, 1], TypeError),
        (slice(None, None, 0), ValueError),
        (slice(1.5), TypeError),
        ((Ellipsis, Ellipsis), ValueError),
        (True, TypeError),
        (np.array([0, 1]), TypeError),
        ((slice("a"),), TypeError),
        (10**40, "INDEX_ERROR"),
        (tuple([None] * 100), TypeError),
    ],
)
def test_what_is_refused(key, error, core_error):
    with pytest.raises(core_error if error == "INDEX_ERROR" else error) as caught:
        _gyre.tensor(X)[key]
    assert getattr(caught.value, "code", error) == error


def test_rows():
    for got, expected in zip(_gyre.tensor(X), X):
        np.testing.assert_array_equal(got.numpy(), expected)
    assert [s.numpy() for s in _gyre.tensor(["a", "b"])] == [b"a", b"b"]
    assert len(_gyre.tensor(X)) == 3

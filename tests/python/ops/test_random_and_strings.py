"""Random numbers by their distributions; strings."""

import numpy as np
import pytest

import gyre


def test_distributions():
    gyre.random.set_seed(7)
    x = gyre.random.normal([20000], mean=3.0, stddev=2.0).numpy()
    assert abs(x.mean() - 3) < 0.1 and abs(x.std() - 2) < 0.1
    t = gyre.random.truncated_normal([20000]).numpy()
    assert np.abs(t).max() <= 2
    u = gyre.random.uniform([20000], -1, 3).numpy()
    assert u.min() >= -1 and u.max() < 3 and abs(u.mean() - 1) < 0.1
    i = gyre.random.uniform([2000], 2, 5, gyre.int64).numpy()
    assert set(i.tolist()) == {2, 3, 4}
    with pytest.raises(ValueError):
        gyre.random.uniform([1], dtype=gyre.int32)


def test_calls_differ_and_seeds_repeat():
    def draw():
        gyre.random.set_seed(3)
        return gyre.random.normal([4]).numpy(), gyre.random.normal([4]).numpy()

    (a, b), (c, d) = draw(), draw()
    assert not np.array_equal(a, b)
    np.testing.assert_array_equal(a, c)
    np.testing.assert_array_equal(b, d)


def test_stateless():
    a, b = (gyre.random.stateless_normal([5], [1, 2]).numpy() for _ in range(2))
    np.testing.assert_array_equal(a, b)
    assert not np.array_equal(a, gyre.random.stateless_normal([5], [1, 3]).numpy())
    seeds = gyre.random.split([1, 2], 3)
    assert len({tuple(row) for row in seeds.numpy().tolist()}) == 3


def test_generator():
    a, b = (gyre.random.Generator.from_seed(5) for _ in range(2))
    first = a.normal([3]).numpy()
    np.testing.assert_array_equal(first, b.normal([3]).numpy())
    assert not np.array_equal(first, a.normal([3]).numpy())


def test_shuffle_and_categorical():
    rows = gyre.random.shuffle(gyre.range(50)).numpy()
    assert sorted(rows.tolist()) == list(range(50)) and rows.tolist() != list(range(50))
    drawn = gyre.random.categorical(np.log([[0.2, 0.8]]).astype("float32"), 5000).numpy()
    assert drawn.shape == (1, 5000) and abs(drawn.mean() - 0.8) < 0.03


def test_more_samples_than_an_int32_counts():
    with pytest.raises(ValueError, match="num_samples: 4294967299 does not fit int32"):
        gyre.random.categorical([[1.0, 2.0]], 2**32 + 3)
    with pytest.raises(ValueError, match="num_samples: 4294967299 does not fit int32"):
        gyre.random.stateless_categorical([[1.0, 2.0]], 2**32 + 3, [1, 2])


def test_strings():
    assert gyre.strings.join([["a", "b"], "-", ["c", "d"]]).numpy().tolist() == [b"a-c", b"b-d"]
    assert gyre.strings.length(["abc", "ä"]).numpy().tolist() == [3, 2]
    assert gyre.strings.length("ä", unit="UTF8_CHAR").numpy() == 1
    assert float(gyre.strings.to_number("2.5")) == 2.5
    assert gyre.as_string([1, 2]).numpy().tolist() == [b"1", b"2"]
    assert gyre.strings.format("x = {}", gyre.constant([1, 2])).numpy() == b"x = [1 2]"
    with pytest.raises(ValueError):
        gyre.strings.format("{} {}", [1])


@pytest.mark.parametrize("wrap", [lambda f: f, gyre.function], ids=["eager", "function"])
def test_strings_are_added_by_joining_them(wrap):
    def added(a, b, rows):
        rows += a
        return a + b, rows + ["x", "y"], "<" + rows, a + np.array("!")

    one, two, three, four = wrap(added)(
        gyre.constant("a"), gyre.constant("b"), gyre.constant(["p", "q"])
    )
    assert one.numpy() == b"ab" and two.numpy().tolist() == [b"pax", b"qay"]
    assert three.numpy().tolist() == [b"<pa", b"<qa"] and four.numpy() == b"a!"


def test_strings_of_other_shapes_are_not_added():
    with pytest.raises(gyre.errors.InvalidArgumentError, match=r"do not match: \[2\] and \[3\]"):
        _ = gyre.constant(["a", "b"]) + gyre.constant(["a", "b", "c"])
    with pytest.raises(TypeError, match="1 is no string"):
        _ = gyre.constant("a") + 1


@pytest.mark.parametrize("wrap", [lambda text: text, gyre.constant], ids=["attributes", "inputs"])
def test_regular_expressions(wrap):
    names = gyre.constant(["ada.txt", "bob.csv"])
    assert gyre.strings.regex_full_match(names, wrap(r".*\.txt")).numpy().tolist() == [True, False]
    swapped = gyre.strings.regex_replace(names, wrap(r"(\w+)\.(\w+)"), wrap(r"\2.\1"))
    assert swapped.numpy().tolist() == [b"txt.ada", b"csv.bob"]
    assert gyre.strings.regex_replace("aaa", wrap("a"), "b", replace_global=False).numpy() == b"baa"
    with pytest.raises(gyre.errors.InvalidArgumentError, match=r"malformed: missing \), at 'a\('"):
        gyre.strings.regex_full_match(names, wrap("a("))


@pytest.mark.parametrize("wrap", [lambda f: f, gyre.function], ids=["eager", "function"])
def test_drawn_in_loops(wrap):
    gyre.random.set_seed(11)
    x = wrap(lambda: gyre.random.gamma([20000], [0.5, 4.0], beta=2.0))().numpy()
    assert x.shape == (20000, 2) and x.min() >= 0
    np.testing.assert_allclose(x.mean(0), [0.25, 2.0], rtol=0.05)
    np.testing.assert_allclose(x.var(0), [0.125, 1.0], rtol=0.1)
    n = wrap(lambda: gyre.random.poisson([20000], [0.3, 6.0], gyre.int32))().numpy()
    assert n.shape == (20000, 2) and n.dtype == np.int32
    np.testing.assert_allclose(n.mean(0), [0.3, 6.0], rtol=0.06)
    np.testing.assert_allclose(n.var(0), [0.3, 6.0], rtol=0.1)

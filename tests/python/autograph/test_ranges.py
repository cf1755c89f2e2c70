"""A `for` over gyre.range counts: the numbers and dtypes are those of the vector, which is not
there. Where the vector would be an error, since delta leads away from limit, there are no
iterations."""

import numpy as np
import pytest

import gyre


def collected(make):
    """The numbers that a loop over make(n) sees, and those of the vector itself."""

    def seen(n):
        values = gyre.TensorArray(make(n).dtype, 0, dynamic_size=True, element_shape=[])
        k = 0
        for i in make(n):
            values = values.write(k, i)
            k += 1
        return values.stack()

    return gyre.function(seen), gyre.function(make)


RANGES = {
    "to n": lambda n: gyre.range(n),
    "to a cast": lambda n: gyre.range(gyre.cast(n, "int64")),
    "of int64": lambda n: gyre.range(n, dtype="int64"),
    "from 3": lambda n: gyre.range(3, n + 3),
    "in steps": lambda n: gyre.range(1, n * 2 + 1, 3),
    "in large steps": lambda n: gyre.range(0, 2**31 - 1 - n, 2**30),
    "down": lambda n: gyre.range(n, 0, -1),
    "down in steps": lambda n: gyre.range(n + 5, 2, -4),
    "from a tensor": lambda n: gyre.range(n, n + 4),
    "below zero": lambda n: gyre.range(-3, n),
    "by a tensor": lambda n: gyre.range(0, n + 4, n + 1),
    "of floats": lambda n: gyre.range(0.0, gyre.cast(n, "float32"), 0.3),
    "of floats down": lambda n: gyre.range(gyre.cast(n, "float32"), -1.0, -0.7),
    "of known numbers": lambda n: gyre.range(2, 9, 3),
    "of nothing": lambda n: gyre.range(4, 4),
}


@pytest.mark.parametrize("name", RANGES)
def test_the_numbers_are_those_of_the_vector(name):
    loop, vector = collected(RANGES[name])
    for n in (0, 1, 2, 7):
        got, want = loop(gyre.constant(n)), vector(gyre.constant(n))
        assert got.dtype == want.dtype
        np.testing.assert_array_equal(got.numpy(), want.numpy())


AWAY = {
    "to n": lambda n: gyre.range(n),
    "from 5": lambda n: gyre.range(5, n),
    "from below zero": lambda n: gyre.range(-2, n),
    "in steps": lambda n: gyre.range(1, n, 3),
    "down": lambda n: gyre.range(n, 9, -1),
    "by a tensor": lambda n: gyre.range(0, n, n + 4),
    "of floats": lambda n: gyre.range(0.0, gyre.cast(n, "float32"), 0.3),
    "of floats down": lambda n: gyre.range(gyre.cast(n, "float32"), 9.0, -0.3),
}


@pytest.mark.parametrize("name", AWAY)
def test_a_loop_over_a_range_that_leads_away_from_its_end_has_no_iterations(name):
    make = AWAY[name]

    @gyre.function
    def loop(n):
        iterations = 0
        for _ in make(n):
            iterations += 1
        return iterations

    @gyre.function
    def loop_with_break(n):
        iterations = 0
        for _ in make(n):
            iterations += 1
            if iterations > 5:
                break
        return iterations

    n = gyre.constant(-3)
    assert int(loop(n)) == int(loop_with_break(n)) == 0
    with pytest.raises(
        gyre.errors.InvalidArgumentError, match="Requires start .* limit when delta"
    ):
        gyre.function(make)(n)


def test_a_loop_that_counts_holds_no_vector():
    @gyre.function
    def loop(n):
        total = 0.0
        for i in gyre.range(n):
            if i > 999_990:
                break
            total += gyre.cast(i % 2, "float32")
        for i in gyre.range(n):
            total += gyre.cast(i % 2, "float32")
        return total

    n = gyre.constant(1_000_000)
    total, told = loop.get_concrete_function(n).run_with_options([n], trace=True)
    assert float(total) == 999_995 and told["peak_bytes"] < 100_000


def test_gradients_and_later_uses():
    @gyre.function
    def f(x, n):
        numbers = gyre.range(n)
        with gyre.GradientTape() as tape:
            tape.watch(x)
            y = x
            for i in numbers:
                y = y * x + gyre.cast(i, "float32")
        return y, tape.gradient(y, x), numbers

    y, dy, numbers = f(gyre.constant(2.0), gyre.constant(3))
    assert [float(y), float(dy), numbers.numpy().tolist()] == [20.0, 33.0, [0, 1, 2]]

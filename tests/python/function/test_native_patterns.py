"""Loops as people write them: the same results as native code and interpreted, to the bit."""

import numpy as np
import pytest

import gyre
from gyre import _gyre

FLOAT = gyre.float32


def collatz(n):
    steps = 0
    while n != 1:
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        steps += 1
    return steps


def breaks_and_continues(n):
    total = 0.0
    for i in range(n):
        if total > 40.0:
            break
        if i % 3 == 0:
            continue
        total += 1.5
    return total


def returns_early(n):
    total = gyre.constant(0.0)
    for i in range(n):
        if total > 20.0:
            return total + gyre.cast(i, FLOAT)
        total = total + 1.5
    return total * 2.0


def appends(n):
    items = []
    for i in range(n):
        items.append(gyre.cast(i, FLOAT) * 0.5)
    return gyre.stack(items)


def writes_a_growing_array(n):
    array = gyre.TensorArray(FLOAT, size=0, dynamic_size=True)
    x = gyre.constant(0.5)
    for i in range(n):
        array = array.write(i, x)
        x = gyre.sin(x) * 1.25
    return array.stack()


def fills_a_table(n):
    table = gyre.ones([n, n])
    for i in range(1, n):
        for j in range(1, n):
            table[i, j] = gyre.minimum(table[i - 1, j], table[i, j - 1]) + 0.3
    return table


def sorts(n):
    xs = gyre.cast(gyre.range(n) * 37 % 50, FLOAT)
    for i in range(n):
        for j in range(n - 1 - i):
            if xs[j] > xs[j + 1]:
                larger = xs[j]
                xs[j] = xs[j + 1]
                xs[j + 1] = larger
    return xs


def sieves(n):
    is_prime = gyre.ones([n], gyre.bool)
    i = 2
    while i * i < n:
        if is_prime[i]:
            j = i * i
            while j < n:
                is_prime[j] = False
                j += i
        i += 1
    return gyre.cast(is_prime, gyre.int32)


def scans(n):
    return gyre.scan(lambda a, x: a * 0.5 + x, gyre.cast(gyre.range(n), FLOAT))


def maps_and_folds(n):
    squares = gyre.map_fn(lambda x: x * x, gyre.cast(gyre.range(n), FLOAT))
    return gyre.foldl(lambda a, x: a - x, squares)


def finds_roots(n):
    def root(a):
        x = a
        while gyre.abs(x * x - a) > 1e-4 * a:
            x = 0.5 * (x + a / x)
        return x

    return gyre.map_fn(root, gyre.cast(gyre.range(n), FLOAT) + 1.0)


def descends(n):
    x = gyre.constant(5.0)
    for _ in range(n):
        with gyre.GradientTape() as tape:
            tape.watch(x)
            y = (x - 3.0) ** 2 + gyre.sin(x)
        x = x - 0.01 * tape.gradient(y, x)
    return x


def draws(n):
    total = 0.0
    for i in range(n):
        if i % 2 == 0:
            total += gyre.random.uniform([])
        else:
            total -= gyre.random.normal([])
    return total


PATTERNS = [
    collatz,
    breaks_and_continues,
    returns_early,
    appends,
    writes_a_growing_array,
    fills_a_table,
    sorts,
    sieves,
    scans,
    maps_and_folds,
    finds_roots,
    descends,
    draws,
]


def result_of(pattern, jit_compile, n):
    gyre.random.set_seed(11)
    return gyre.function(pattern, jit_compile=jit_compile)(gyre.constant(n)).numpy()


@pytest.mark.parametrize("pattern", PATTERNS)
def test_native_code_gives_the_same_bits(pattern):
    before = _gyre.compiled_loops()
    native = result_of(pattern, True, 27)
    assert _gyre.compiled_loops() > before
    np.testing.assert_array_equal(native, result_of(pattern, False, 27))


def trained(jit_compile, steps):
    weight, count = gyre.Variable(5.0), gyre.Variable(0)

    @gyre.function(jit_compile=jit_compile)
    def train(n):
        for _ in range(n):
            with gyre.GradientTape() as tape:
                loss = (weight - 3.0) ** 2
            weight.assign_sub(0.1 * tape.gradient(loss, weight))
            count.assign_add(1)
        return weight.read_value()

    result = float(train(gyre.constant(steps)))
    assert (float(weight), int(count)) == (result, steps)
    return result


def test_training_steps_give_the_same_bits():
    before = _gyre.compiled_loops()
    native = trained(True, 40)
    assert _gyre.compiled_loops() > before
    assert native == trained(False, 40)
    assert native == pytest.approx(3.0, abs=1e-3)


def test_what_a_failing_loop_has_written_stays_written_once():
    for jit_compile in (True, False):
        count = gyre.Variable(0)

        @gyre.function(jit_compile=jit_compile)
        def divide(n, count=count):
            total = 0
            for i in range(n):
                count.assign_add(1)
                total += 100 // (7 - i)
            return total

        with pytest.raises(gyre.errors.InvalidArgumentError):
            divide(gyre.constant(20))
        assert int(count) == 8

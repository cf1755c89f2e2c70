"""Generators run as Python does while tracing; where they would decide by a tensor they are
refused."""

import pytest

import gyre
from refusing import line, refused


def helper(x):
    if x > 0:
        return x
    return -x


def pairs(values, scale=2):
    for k, value in enumerate(values):
        if k % 2 == 0:
            yield helper(value) * scale


def call(fn, *args):
    return gyre.function(fn)(*(gyre.constant(arg) for arg in args))


def test_over_python_values():
    def f(x):
        def steps(k):
            while k > 0:
                yield k * x
                k -= 1

        s = 0
        for v in steps(3):
            s += v
        return s

    assert int(call(f, 5)) == 30


def test_calls_in_generators_are_converted():
    def f(x):
        return sum(pairs([x, 1, -x])) + sum(pairs([x], scale=1))

    assert int(call(f, -3)) == 15


def test_generator_in_a_traced_loop():
    def f(n):
        def twice(k):
            yield k
            yield from (k, 10)

        s = 0
        for i in range(n):
            for v in twice(i):
                s += v
        return s

    assert int(call(f, 3)) == 36


def test_with_finally_and_return():
    def f(x):
        closed = []

        def steps():
            try:
                yield x
                return
            finally:
                closed.append(1)

        return sum(list(steps())) + len(closed)

    assert int(call(f, 5)) == 6


def test_nonlocal():
    def f(x):
        count = 0

        def steps():
            nonlocal count
            for k in (1, 2):
                count = count + 1
                yield k * x

        total = sum(steps())
        return total + count

    assert int(call(f, 5)) == 17


def test_if_on_a_tensor():
    def f(n):
        def numbers(n):
            if n > 0:
                yield 1
            yield 2

        s = 0
        for i in numbers(n):
            s += i
        return s

    message = refused(f, 1)
    assert "numbers" in message and line(f, "if n > 0") in message and "gyre.where" in message


def test_while_on_a_tensor():
    def f(n):
        def numbers(n):
            while n > 0:
                yield n
                n -= 1

        return sum(numbers(n))

    message = refused(f, 1)
    assert "the generator numbers" in message and line(f, "while n") in message


def test_range_of_a_tensor():
    def f(n):
        def numbers(n):
            for i in range(n):
                yield i

        return sum(numbers(n))

    assert "range of a tensor" in refused(f, 1)


def test_of_the_module():
    def f(x):
        return sum(positive([x]))

    assert "the generator positive" in refused(f, 1) and line(positive, "if value") in refused(f, 1)


def positive(values):
    for value in values:
        if value > 0:
            yield value


def test_function_of_a_generator():
    def f(n):
        yield n

    with pytest.raises(TypeError, match=r"f \(.*test_generators.py:\d+\) is a generator"):
        gyre.function(f)

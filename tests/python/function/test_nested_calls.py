"""Functions that call functions: each is traced as often as it has to be, and no more."""

import collections

import pytest

import gyre


class Traces:
    """How often functions were traced, by number."""

    def __init__(self):
        self.counts = collections.Counter()

    def note(self, i):
        self.counts[i] += 1


def chain(depth, last, compute=gyre.function):
    """Functions, each of which calls the next one twice; and how often each was traced."""
    traces = Traces()

    def link(i, after):
        def call_twice(x):
            traces.note(i)
            return after(x) + after(x * 0.5)

        return compute(call_twice)

    first = compute(last)
    for i in range(depth):
        first = link(i, first)
    return first, traces


def test_a_chain_that_doubles_is_traced_once_a_function():
    first, traces = chain(40, lambda x: x * x)
    first.get_concrete_function(gyre.TensorSpec([], gyre.float32))
    assert set(traces.counts.values()) == {1}
    first, _ = chain(5, lambda x: x * x)
    plain, _ = chain(5, lambda x: x * x, compute=lambda f: f)
    assert float(first(gyre.constant(3.0))) == plain(3.0)


def test_a_chain_that_reads_a_variable_too():
    v = gyre.Variable(2.0)
    first, traces = chain(30, lambda x: x * v)
    first.get_concrete_function(gyre.TensorSpec([], gyre.float32))
    assert set(traces.counts.values()) == {1}
    first, _ = chain(4, lambda x: x * v)
    plain, _ = chain(4, lambda x: x * 2.0, compute=lambda f: f)
    with gyre.GradientTape() as tape:
        y = first(gyre.constant(3.0))
    assert float(y) == plain(3.0)
    assert float(tape.gradient(y, v)) == plain(3.0) / 2.0


def test_helpers_that_all_use_each_other_are_traced_once():
    traces, helpers = Traces(), []

    def helper(i):
        def add_up(x):
            traces.note(i)
            total = x * float(i)
            for other in list(helpers[:i]):
                total = total + other(x)
            return total

        return gyre.function(add_up)

    for i in range(20):
        helpers.append(helper(i))
    x = gyre.constant(1.0)
    assert float(helpers[-1](x)) == sum(i * 2.0 ** (18 - i) for i in range(19)) + 19.0
    assert set(traces.counts.values()) == {1}


def test_what_containers_of_outside_hold_counts_as_it_is_at_each_call():
    factors = {"rate": 2.0}

    @gyre.function
    def scaled(x):
        return x * factors["rate"]

    @gyre.function
    def f(x):
        factors["rate"] = 2.0
        y = scaled(x) + scaled(x)
        factors["rate"] = 10.0
        z = scaled(x)
        factors["rate"] = x
        return y + z + scaled(x)

    assert float(f(gyre.constant(3.0))) == 12.0 + 30.0 + 9.0


def test_what_is_traced_in_a_branch_or_body_is_used_there_and_nowhere_else():
    v = gyre.Variable(3.0)
    scaled = gyre.function(lambda x: x * v)

    @gyre.function
    def f(x, n):
        if x > 0.0:
            y = scaled(x) + scaled(x)
        else:
            y = scaled(x) - 1.0
        i = 0
        while i < n:
            y = scaled(y) + scaled(scaled(y))
            i += 1
        return scaled(y)

    def expected(x, n):
        y = 6.0 * x if x > 0 else 3.0 * x - 1.0
        for _ in range(n):
            y = 3.0 * y + 9.0 * y
        return 3.0 * y

    for x, n in [(1.0, 0), (-1.0, 2), (2.0, 3)]:
        assert float(f(gyre.constant(x), gyre.constant(n))) == expected(x, n)


def test_concrete_functions_are_added_once_to_a_program():
    square = gyre.function(lambda x: x * x).get_concrete_function(gyre.TensorSpec([], gyre.float32))

    @gyre.function
    def inner(x):
        return square(x) + square(x + 1.0) + square(x + 2.0)

    @gyre.function
    def outer(x):
        return inner(x) + square(x) + inner(square(x))

    x = gyre.constant(2.0)
    assert float(outer(x)) == (4 + 9 + 16) + 4 + (16 + 25 + 36)
    library = outer.get_concrete_function(x).graph.as_graph_def().library
    assert len(library.function) == 2


@pytest.mark.parametrize("depth", [1, 3])
def test_random_numbers_of_two_calls_differ(depth):
    @gyre.function
    def draw():
        return gyre.random.uniform([])

    inner = draw
    for _ in range(depth):

        def twice(inner=inner):
            return gyre.stack([inner(), inner()])

        inner = gyre.function(twice)
    numbers = inner().numpy().ravel()
    assert len(set(numbers.tolist())) == len(numbers)


def test_functions_with_a_signature_are_called_again():
    traced = []

    @gyre.function(input_signature=[gyre.TensorSpec([None])])
    def doubled(x):
        traced.append(x.shape.as_list())
        return x * 2.0

    @gyre.function
    def f(n):
        a, b = doubled(gyre.constant([1.0])), doubled(gyre.constant([2.0]))
        _, c = gyre.while_loop(
            lambda i, x: i < n,
            lambda i, x: (i + 1, doubled(x)),
            (0, gyre.constant([1.0])),
            (gyre.TensorShape([]), gyre.TensorShape([None])),
        )
        assert a.shape == b.shape == [1]
        return a, b, c

    assert [t.numpy().tolist() for t in f(gyre.constant(3))] == [[2.0], [4.0], [8.0]]
    assert traced and all(shape == [None] for shape in traced)

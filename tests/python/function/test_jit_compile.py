"""jit_compile: when the loops of a function become native code."""

import pytest

import gyre
from gyre import _gyre


def decayed(jit_compile):
    @gyre.function(jit_compile=jit_compile)
    def decay(x, n):
        for _ in gyre.range(n):
            x = x * 0.9999 + 0.25
        return x

    return decay


def compiled_by(function, n):
    """The result of a call, and how many loops became native code meanwhile."""
    before = _gyre.compiled_loops()
    result = float(function(gyre.constant(1.0), gyre.constant(n)))
    return result, _gyre.compiled_loops() - before


def test_true_compiles_before_the_first_run():
    assert compiled_by(decayed(True), 10)[1] == 1


def test_false_never_compiles():
    result, loops = compiled_by(decayed(False), 300_000)
    assert loops == 0
    assert result == compiled_by(decayed(True), 300_000)[0]


def test_none_leaves_short_loops_to_the_interpreter():
    assert compiled_by(decayed(None), 10)[1] == 0


def test_gradients_of_the_function_are_compiled_alike():
    w = gyre.Variable(1.1)

    @gyre.function(jit_compile=True)
    def chain(x, n):
        for _ in gyre.range(n):
            x = gyre.sin(x * w)
        return x

    before = _gyre.compiled_loops()
    with gyre.GradientTape() as tape:
        y = chain(gyre.constant(0.5), gyre.constant(7))
    assert tape.gradient(y, w) is not None
    assert _gyre.compiled_loops() - before >= 3, "the loop, the one that saves, and its gradient"


def test_methods_and_decorators_keep_it():
    class Model:
        @gyre.function(jit_compile=True)
        def count(self, n):
            i = 0
            while i < n:
                i += 1
            return i

    before = _gyre.compiled_loops()
    assert int(Model().count(gyre.constant(3))) == 3
    assert _gyre.compiled_loops() == before + 1


def test_other_values_are_refused():
    with pytest.raises(TypeError, match="jit_compile must be True, False or None, not 'yes'"):
        gyre.function(lambda x: x, jit_compile="yes")


def test_contract_rounds_once_and_changes_nothing_else():
    def step(x, n):
        for _ in gyre.range(n):
            x = x * 0.9001 + 0.5
        return x

    arguments = gyre.constant(7.0), gyre.constant(100)
    exact = float(gyre.function(step, jit_compile=True)(*arguments))
    before = _gyre.compiled_loops()
    contracted = float(gyre.function(step, contract=True)(*arguments))
    assert _gyre.compiled_loops() - before == 1
    assert contracted == pytest.approx(exact, rel=1e-6)


def test_contract_is_a_bool_and_about_native_code():
    with pytest.raises(TypeError, match="contract must be True or False, not 1"):
        gyre.function(lambda x: x, contract=1)
    with pytest.raises(ValueError, match="jit_compile=False wants none"):
        gyre.function(lambda x: x, contract=True, jit_compile=False)


def test_recursion_is_native_in_any_depth():
    @gyre.function(jit_compile=True)
    def total(n):
        if n <= 0:
            return 0
        return total(n - 1) + n

    @gyre.function(jit_compile=True)
    def fib(n):
        if n < 2:
            return n
        return fib(n - 1) + fib(n - 2)

    assert int(total(gyre.constant(60_000))) == 60_000 * 60_001 // 2
    assert [int(fib(gyre.constant(n))) for n in (0, 1, 2, 20)] == [0, 1, 1, 6765]

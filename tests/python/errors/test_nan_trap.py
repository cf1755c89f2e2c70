"""debugging.enable_check_numerics: what makes a NaN or an infinity fails at that place."""

import threading

import pytest

import gyre
import gyre.compat.v1 as v1


@pytest.fixture
def trap():
    gyre.debugging.enable_check_numerics()
    yield
    gyre.debugging.disable_check_numerics()


def message_of(f, *args):
    with pytest.raises(gyre.errors.InvalidArgumentError) as caught:
        f(*args)
    return str(caught.value)


def test_ops_that_run_at_once(trap):
    x = gyre.constant([1.0, 0.0])
    assert "0 NaN and 1 Inf in output 0, float32[2]\n  of Log" in message_of(gyre.math.log, x)
    assert "1 NaN and 1 Inf in output 0, float32[2]\n  of RealDiv" in message_of(lambda: x / 0.0)
    large = gyre.ones([500, 500])
    assert "250000 Inf in output 0, float32[500,500]" in message_of(lambda: large / 0.0)
    assert gyre.math.is_nan(gyre.constant(float("nan")))  # as the program has it


@gyre.function
def logarithms(x):
    for _ in gyre.range(3):
        x = gyre.math.log(x)
    return x


def test_functions(trap):
    text = message_of(logarithms, gyre.constant(2.0))
    assert "1 NaN and 0 Inf" in text and "written at test_nan_trap.py:" in text
    assert "in iteration 2 of the body" in text


def test_gradients(trap):
    x = gyre.constant([1.0, 0.0])

    def slope(x):
        with gyre.GradientTape() as tape:
            tape.watch(x)
            y = gyre.sqrt(x)
        return tape.gradient(y, x)

    for f in (slope, gyre.function(slope)):
        assert "SqrtGrad" in message_of(f, x)


def test_sessions(trap):
    with v1.Graph().as_default(), v1.Session() as session:
        x = v1.placeholder(v1.float32, [])
        y = v1.log(x, name="logarithm")
        assert "at node logarithm" in message_of(session.run, y, {x: 0.0})


def test_it_ends_and_is_a_threads_own(trap):
    seen = []
    thread = threading.Thread(target=lambda: seen.append(float(logarithms(gyre.constant(0.0)))))
    thread.start()
    thread.join()
    assert len(seen) == 1
    gyre.debugging.disable_check_numerics()
    assert float(gyre.constant(1.0) / 0.0) == float("inf")
    logarithms(gyre.constant(0.0))

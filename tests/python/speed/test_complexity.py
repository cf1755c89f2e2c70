"""How costs grow, and which path is taken: what must hold on any machine. Times are in bench/."""

import linecache
import math
import subprocess
import sys
import time

import pytest

import gyre


def frames_of(run):
    """How many Python functions a run enters on this thread."""
    count = 0

    def on_event(frame, event, argument):
        nonlocal count
        count += event == "call"

    sys.setprofile(on_event)
    try:
        run()
    finally:
        sys.setprofile(None)
    return count


def fastest(run, times=5):
    best = float("inf")
    for _ in range(times):
        begin = time.thread_time()
        run()
        best = min(best, time.thread_time() - begin)
    return best


def chain_of(ops):
    """A function of so many ops that has not been traced."""

    @gyre.function
    def chain(x, y):
        for _ in range(ops):
            x = x + y
        return x

    return chain


def sine_loop(calls):
    """A function with a loop of n iterations; `calls` grows where Python runs its body."""

    @gyre.autograph.experimental.do_not_convert
    def count():
        calls.append(1)

    @gyre.function
    def loop(n, x):
        i = 0
        while i < n:
            count()
            x = gyre.sin(x)
            i = i + 1
        return x

    return loop


X, Y, Z = gyre.constant(1.0), gyre.constant(2.0), gyre.constant(3.0)


def per_op(cost, ops):
    return cost(ops) / ops


def growth(cost, few, many):
    """How many times the cost per op of few ops that of many is;
    tried again, for the noise of others."""
    ratios = []
    for _ in range(3):
        ratios.append(per_op(cost, many) / per_op(cost, few))
        if ratios[-1] < 3:
            break
    return min(ratios)


# ---- Growth


@pytest.mark.filterwarnings("ignore:the loop at")
def test_trace_is_linear():
    def cost(ops):
        return fastest(lambda: chain_of(ops).get_concrete_function(X, Y))

    cost(10)
    assert growth(cost, 500, 4000) < 3


@pytest.mark.filterwarnings("ignore:the loop at")
def test_first_call_is_linear():
    def cost(ops):
        return fastest(lambda: chain_of(ops)(X, Y))

    cost(10)
    assert growth(cost, 500, 4000) < 3


def test_gradient_of_tape_is_linear():
    def cost(ops):
        def run():
            with gyre.GradientTape() as tape:
                tape.watch(X)
                y = X
                for _ in range(ops):
                    y = gyre.sin(y)
            return tape.gradient(y, X)

        run()
        return fastest(run)

    assert growth(cost, 250, 2000) < 3


def test_python_frames_of_a_trace_grow_with_its_ops():
    def frames(ops):
        function = gyre.function(chain_of(ops).python_function, autograph=False)
        return frames_of(lambda: function.get_concrete_function(X, Y))

    assert (frames(2000) - frames(1000)) == pytest.approx(frames(1000) - frames(0), abs=20)


# ---- Conversion


def converting(lines):
    """A function that converts a new function of these lines."""
    source = "def f(n):\n    x = 0\n" + "\n".join(lines) + "\n    return x\n"

    def run():
        file = f"<{len(linecache.cache)} {len(lines)}>"
        linecache.cache[file] = len(source), None, source.splitlines(keepends=True), file
        scope = {}
        exec(compile(source, file, "exec"), scope)
        gyre.autograph.to_graph(scope["f"])

    return run


def test_conversion_is_linear():
    def frames(ifs):
        return frames_of(converting(["    if n > 0:\n        x = x + 1"] * ifs))

    frames(1)
    assert (frames(160) - frames(80)) < 2.5 * (frames(80) - frames(0))


def test_conversion_of_nests_is_not_exponential():
    def frames(depth):
        loops = [f"{'    ' * (k + 1)}for i{k} in range(n):" for k in range(depth)]
        return frames_of(converting([*loops, "    " * (depth + 1) + "x = x + 1"]))

    frames(1)
    assert frames(16) < 8 * frames(4)


def test_conversion_of_twenty_lines_takes_less_than_20_ms():
    lines = [
        "    while x < n:",
        "        if x > 3:",
        "            x = x + 2",
        "        else:",
        "            x = x + 1",
    ] + ["    x = x * 2 + n"] * 15
    # Tried again, for the noise of others.
    assert any(fastest(converting(lines), 10) < 0.02 for _ in range(5))


# ---- Loops


def test_no_python_runs_per_iteration():
    calls = []
    loop = sine_loop(calls)
    few, many = (gyre.constant(n) for n in (1, 20_000))
    assert float(loop(few, X)) == pytest.approx(math.sin(1.0))
    traced = len(calls)
    assert traced > 0
    assert frames_of(lambda: loop(few, X)) == frames_of(lambda: loop(many, X))
    assert len(calls) == traced


def test_no_python_runs_per_iteration_of_a_gradient():
    calls = []
    loop = sine_loop(calls)

    def gradient(n):
        with gyre.GradientTape() as tape:
            tape.watch(X)
            y = loop(n, X)
        return tape.gradient(y, X)

    few, many = (gyre.constant(n) for n in (3, 2000))
    for n in (few, many):
        gradient(n)
    traced = len(calls)
    assert frames_of(lambda: gradient(few)) == frames_of(lambda: gradient(many))
    assert len(calls) == traced


# ---- Paths


def test_operators_at_once_enter_no_python_function():
    assert frames_of(lambda: X + Y) == 1  # the lambda
    assert frames_of(lambda: -(X * 2.0 - Y) < Z) == 1
    assert frames_of(lambda: float(X)) == 1


def test_ops_at_once_enter_one_python_function():
    add, exp = gyre.add, gyre.exp
    assert frames_of(lambda: add(X, Y)) == 2
    assert frames_of(lambda: exp(X)) == 2


def test_calls_take_the_quick_way():
    function = gyre.function(lambda x, y, z: x * y + z)
    slow = frames_of(lambda: function(X, Y, Z))
    quick = frames_of(lambda: function(X, Y, Z))
    assert quick <= 6 < slow
    for _ in range(3):
        assert frames_of(lambda: function(X, Y, Z)) == quick
    other = gyre.constant(5.0)
    assert frames_of(lambda: function(other, X, X)) == quick  # of the same dtypes and shapes
    assert function.experimental_get_tracing_count() == 1


def test_calls_do_not_depend_on_the_size_of_the_function():
    small, large = chain_of(1), chain_of(1000)
    small(X, Y), large(X, Y)
    assert frames_of(lambda: small(X, Y)) == frames_of(lambda: large(X, Y))


def test_calls_of_equal_signature_keep_one_entry():
    function = gyre.function(lambda x: x + 1.0)
    for k in range(50):
        function(gyre.constant(float(k)))
    assert len(function._fast) == 1


# ---- The import


def test_import_takes_along_nothing_heavy():
    code = "import sys, gyre; gyre.constant(1.0) + 2.0; print(*sys.modules)"
    loaded = subprocess.run(
        [sys.executable, "-c", code], check=True, capture_output=True, text=True
    ).stdout.split()
    assert not {"numpy", "ast", "inspect", "unittest", "typing", "dataclasses"} & set(loaded)
    # Beside namespaces and packages, which hold nothing.
    own = {
        name
        for name in loaded
        if name.startswith("gyre._impl.") and not name.startswith("gyre._impl.names")
    }
    assert (
        len({name for name in own if not any(other.startswith(name + ".") for other in own)}) <= 10
    )

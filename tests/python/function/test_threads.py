"""Functions on several threads: some run, one traces, none sees another's work."""

import subprocess
import sys
import threading
import traceback

import pytest

import gyre


def on_threads(*works):
    """Runs all at once; what they raise is raised."""
    errors = []
    barrier = threading.Barrier(len(works))

    def guarded(work):
        try:
            barrier.wait()
            work()
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=guarded, args=(work,)) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
        assert not thread.is_alive()
    if errors:
        raise errors[0]


@gyre.function
def power_sum(x, n):
    s = x * 0
    for k in range(n):
        if k % 2 == 0:
            s = s + x
        else:
            s = s * x
    return s


def reference(x, n):
    s = 0
    for k in range(n):
        s = s + x if k % 2 == 0 else s * x
    return s


def test_four_run_while_one_traces():
    done = threading.Event()

    def run(x):
        def work():
            count = 0
            while not done.is_set() or count < 50:
                n = count % 7
                assert int(power_sum(gyre.constant(x), gyre.constant(n))) == reference(x, n)
                count += 1

        return work

    def trace():
        try:
            for size in range(1, 25):
                # another signature each time
                result = power_sum(gyre.fill([size], 2), gyre.constant(5))
                assert result.numpy().tolist() == [reference(2, 5)] * size
                fresh = gyre.function(
                    lambda x: gyre.while_loop(lambda v: v < 100, lambda v: v * 2, [x])[0]
                )
                assert int(fresh(gyre.constant(3))) == 192
        finally:
            done.set()

    on_threads(*map(run, (2, 3, 5, 7)), trace)


def test_all_trace_the_same_at_first():
    traced = []

    @gyre.function
    def f(x):
        traced.append(threading.get_ident())
        while x < 50:
            x = x * 2
        return x

    results = []
    on_threads(*[lambda k=k: results.append(int(f(gyre.constant(k)))) for k in (1, 3, 5, 7)])
    assert sorted(results) == [56, 64, 80, 96] and len(set(traced)) == 1


def test_tapes_while_others_trace():
    def differentiate(k):
        def work():
            for _ in range(30):
                x = gyre.constant(float(k))
                with gyre.GradientTape() as tape:
                    tape.watch(x)
                    y = power_sum(x, gyre.constant(3))
                assert float(tape.gradient(y, x)) == 2 * k + 1

        return work

    on_threads(
        *map(differentiate, (1, 2, 3)),
        lambda: [gyre.function(lambda x: x + k)(gyre.constant(1.0)) for k in range(20)],
    )


def test_variables_are_shared():
    v = gyre.Variable(0)

    @gyre.function
    def add(k):
        v.assign_add(k)

    on_threads(*[lambda: [add(gyre.constant(1)) for _ in range(100)] for _ in range(4)])
    assert int(v) == 400


def test_errors_stay_on_their_thread():
    @gyre.function
    def divide(x):
        return 12 // x

    def fails():
        for _ in range(50):
            with pytest.raises(gyre.errors.InvalidArgumentError):
                divide(gyre.constant(0))

    def works():
        for _ in range(50):
            assert int(divide(gyre.constant(3))) == 4

    on_threads(fails, works, fails, works)


class Mine(Exception):
    """What the host functions below raise."""


def explode(x):
    raise Mine(f"with {int(x)}")


@pytest.mark.parametrize("host", [gyre.py_function, gyre.numpy_function])
@pytest.mark.parametrize("where", ["eager", "function", "loop", "branch"])
def test_exceptions_of_host_functions_bring_their_traceback(host, where):
    def call(x):
        return host(explode, [x], gyre.int32)

    def loop(x):
        for _ in range(x):
            x = gyre.ensure_shape(call(x), [])
        return x

    def branch(x):
        if x > 0:
            x = gyre.ensure_shape(call(x), [])
        return x

    run = {
        "eager": call,
        "function": gyre.function(call),
        "loop": gyre.function(loop),
        "branch": gyre.function(branch),
    }[where]
    for _ in range(2):
        with pytest.raises(Mine, match="with 3") as caught:
            run(gyre.constant(3))
        last = traceback.extract_tb(caught.value.__traceback__)[-1]
        assert (last.name, last.line) == ("explode", 'raise Mine(f"with {int(x)}")')
        if where != "eager":
            assert not any(
                "_impl" in frame.filename
                for frame in traceback.extract_tb(caught.value.__traceback__)
            )


def nested(depth, x):
    """Conditionals within each other, of which the outermost says no."""
    if not depth:
        return x
    return gyre.cond(x > depth, lambda: nested(depth - 1, x + 1.0), lambda: x)


def on_stack(kib, function, *args):
    """What a function returns, or raises, in a thread with a stack of so many KiB."""
    results = []

    def run():
        try:
            results.append(function(*args))
        except gyre.errors.ResourceExhaustedError as error:
            results.append(error)

    before = threading.stack_size(kib * 1024)
    try:
        thread = threading.Thread(target=run)
        thread.start()
    finally:
        threading.stack_size(before)
    thread.join()
    return results[0]


def gradient_of(function, x):
    with gyre.GradientTape() as tape:
        tape.watch(x)
        y = function(x)
    return tape.gradient(y, x)


@pytest.mark.parametrize("kib", [64, 128, 256])
def test_threads_with_small_stacks(kib):
    x = gyre.constant(2.0)
    shallow, deep = (
        gyre.function(lambda x, depth=depth: nested(depth, x), autograph=False) for depth in (3, 60)
    )
    assert float(on_stack(kib, shallow, x)) == 2
    assert float(on_stack(kib, gradient_of, shallow, x)) == 1
    # Traced, run, and differentiated there: as far as there is room.
    for function in (deep, lambda x: gradient_of(deep, x)):
        result = on_stack(kib, function, x)
        if isinstance(result, gyre.errors.ResourceExhaustedError):
            assert "use a thread with a larger stack" in str(result)
        else:
            assert float(result) in (1, 2)
    # Traced here: it runs on any.
    concrete = gyre.function(lambda x: nested(60, x), autograph=False).get_concrete_function(x)
    assert float(on_stack(kib, concrete, x)) == 2


def test_what_python_nests_deeper_than_the_stack_is_an_error():
    before = sys.getrecursionlimit()
    try:
        sys.setrecursionlimit(1_000_000)
        endless = gyre.function(lambda x: nested(100_000, x), autograph=False)
        result = on_stack(1024, endless, gyre.constant(2.0))
    finally:
        sys.setrecursionlimit(before)
    assert "nested deeper than the thread's stack has room for" in str(result)
    assert "\n  at test_threads.py:" in str(result)


def test_numpy_is_imported_by_several_threads_at_once():
    program = """if True:
        import threading
        import gyre
        tensors = [gyre.constant([i]) for i in range(8)]
        barrier, found = threading.Barrier(8), []
        def read(tensor):
            barrier.wait()
            found.append(tensor.numpy().tolist())
        threads = [threading.Thread(target=read, args=(tensor,)) for tensor in tensors]
        for thread in threads: thread.start()
        for thread in threads: thread.join()
        print(sorted(found))
    """
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, timeout=60)
    assert ended.stdout.decode().strip() == str([[i] for i in range(8)]) and not ended.stderr

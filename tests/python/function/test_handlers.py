"""Handlers of signals that come while a function is traced:
they run at once, and outside of the trace."""

import contextlib
import functools
import inspect
import signal
import time

import pytest

import gyre
from gyre import _gyre
from gyre._impl.tracing import tracebacks


@pytest.fixture
def handle():
    before = {}

    def handle(number, handler):
        before[number] = signal.signal(number, handler)

    yield handle
    for number, handler in before.items():
        signal.signal(number, handler)


def interrupted(x):
    """What is traced; a signal comes in the middle of it."""
    y = x + 1.0
    signal.raise_signal(signal.SIGUSR1)
    return y * 2.0


def nodes_of(function):
    return function.get_concrete_function(gyre.constant(1.0)).graph.text()


def test_what_a_handler_computes_it_has_at_once_and_the_graph_does_not(handle):
    handle(signal.SIGUSR1, lambda *_: None)
    want = nodes_of(gyre.function(interrupted))
    seen = []
    handle(signal.SIGUSR1, lambda *_: seen.append(float(gyre.constant(20.0) + 1.0)))
    f = gyre.function(interrupted)
    assert nodes_of(f) == want
    assert seen == [21.0] and float(f(gyre.constant(1.0))) == 4.0


def test_a_handler_changes_variables_at_once(handle):
    v = gyre.Variable(1.0)
    handle(signal.SIGUSR1, lambda *_: v.assign_add(1.0))
    f = gyre.function(interrupted)
    f(gyre.constant(1.0))
    assert float(v) == 2.0
    f(gyre.constant(1.0))
    assert float(v) == 2.0


def test_a_handler_has_the_frame_that_was_interrupted(handle):
    names = []

    def note(number, frame):
        while frame is not None:
            names.append(frame.f_code.co_name)
            frame = frame.f_back

    handle(signal.SIGUSR1, note)
    gyre.function(interrupted)(gyre.constant(1.0))
    assert "interrupted" in names


def test_several_signals_at_once_are_all_handled_outside(handle):
    numbers = [signal.SIGUSR1, signal.SIGUSR2, signal.SIGALRM]
    seen = []
    for number in numbers:
        handle(number, lambda number, _: seen.append((number, int(gyre.constant(number)))))

    @gyre.function
    def f(x):
        signal.pthread_sigmask(signal.SIG_BLOCK, numbers)
        for number in numbers:
            signal.raise_signal(number)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, numbers)
        return x + 1.0

    assert float(f(gyre.constant(1.0))) == 2.0
    assert sorted(seen) == sorted((n, int(n)) for n in numbers)


def test_what_one_handler_raises_leaves_the_others_outside(handle):
    def late(number, frame):
        raise TimeoutError("late")

    seen = []
    handle(signal.SIGUSR1, late)
    handle(signal.SIGUSR2, lambda *_: seen.append(float(gyre.constant(1.0) + 1.0)))

    @gyre.function
    def f(x):
        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1, signal.SIGUSR2])
        signal.raise_signal(signal.SIGUSR1)
        signal.raise_signal(signal.SIGUSR2)
        with contextlib.suppress(TimeoutError):
            signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGUSR1, signal.SIGUSR2])
        return x + 1.0

    assert float(f(gyre.constant(1.0))) == 2.0
    assert seen == [2.0]


@gyre.function
def power(x, n):
    if n <= 0:
        signal.raise_signal(signal.SIGUSR1)
        return x * 0.0 + 1.0
    return x * power(x, n - 1)


def test_a_handler_calls_the_function_that_is_being_traced(handle):
    calls = []

    def again(number, frame):
        if not calls:  # its own trace is interrupted, too
            calls.append(None)
            calls[0] = float(power(gyre.constant(2.0), gyre.constant(5)))

    handle(signal.SIGUSR1, again)
    assert float(power(gyre.constant(3.0), gyre.constant(2))) == 9.0
    assert calls == [32.0]


# ---- What handlers raise


class Late(Exception):
    pass


class LateFile(TimeoutError):  # an OSError, which reading sources may raise, too
    pass


def of(kind):
    def late(number, frame):
        raise kind("too late")

    return late


def in_a_loop(x):
    """The first layout of its state is wrong: an int, where the body gives a float."""
    y = 0
    for _ in gyre.range(3):
        signal.raise_signal(signal.SIGUSR1)
        y = y + x
    return y


def in_a_branch(x):
    if x > 0.0:
        signal.raise_signal(signal.SIGUSR1)
        return x
    return -x


@pytest.mark.parametrize("traced", [interrupted, in_a_loop, in_a_branch], ids=lambda f: f.__name__)
@pytest.mark.parametrize("kind", [Late, LateFile])
def test_what_a_handler_raises_ends_the_trace_as_it_is(traced, kind, handle):
    count = []

    def late(number, frame):
        count.append(1)
        of(kind)(number, frame)

    handle(signal.SIGUSR1, late)
    with pytest.raises(kind) as error:
        gyre.function(traced)(gyre.constant(1.0))
    assert type(error.value) is kind and error.value.args == ("too late",)
    assert not getattr(error.value, "__notes__", None) and count == [1]
    handle(signal.SIGUSR1, lambda *_: None)
    assert float(gyre.function(interrupted)(gyre.constant(1.0))) == 4.0


def test_what_a_handler_raises_while_a_source_is_read_is_no_missing_source(handle, monkeypatch):
    handle(signal.SIGUSR1, of(TimeoutError))
    find = inspect.findsource

    def interrupted_find(code):
        signal.raise_signal(signal.SIGUSR1)
        return find(code)

    def f(x):
        while x < 10.0:
            x = x * 2.0
        return x

    with monkeypatch.context() as patch:
        patch.setattr(inspect, "findsource", interrupted_find)
        with pytest.raises(TimeoutError, match="too late"):
            gyre.function(f)(gyre.constant(1.0))
    assert float(gyre.function(f)(gyre.constant(1.0))) == 16.0


class Raiser:
    def __call__(self, number, frame):
        raise Late("too late")

    def handle(self, number, frame):
        raise Late("too late")


@pytest.mark.parametrize(
    "handler",
    [of(Late), Raiser(), Raiser().handle, functools.partial(of(Late))],
    ids=["function", "object", "method", "partial"],
)
def test_what_a_handler_raises_in_a_host_function_is_not_the_functions(handler, handle):
    handle(signal.SIGUSR1, handler)

    def host(x):
        signal.raise_signal(signal.SIGUSR1)
        return x

    @gyre.function
    def f(x):
        return gyre.py_function(host, [x], gyre.float32)

    for run in (f, lambda x: gyre.py_function(host, [x], gyre.float32)):
        with pytest.raises(Late) as error:
            run(gyre.constant(1.0))
        assert type(error.value) is Late and error.value.__cause__ is None


def test_what_is_raised_while_a_traceback_is_filtered_comes_out(handle):
    handle(signal.SIGUSR1, of(Late))

    def interrupted_filter(error):
        signal.raise_signal(signal.SIGUSR1)

    @gyre.function
    def f(x):
        raise ValueError("wrong")

    _gyre.set_traceback_filter(interrupted_filter)
    try:
        with pytest.raises(Late) as error:
            f(gyre.constant(1.0))
    finally:
        tracebacks.install()
    assert isinstance(error.value.__context__, ValueError)


def test_tracing_under_a_timer_gives_the_graphs_that_it_gives_without(handle):
    def body(x):
        for i in gyre.range(3):
            if x > 2.0:
                x = x * 0.5 + power_of(x, i)
            else:
                x = x + 1.0
        return gyre.reduce_sum(x)

    @gyre.function
    def power_of(x, n):
        return x if n <= 0 else x * power_of(x, n - 1)

    handle(signal.SIGALRM, lambda *_: None)
    want = nodes_of(gyre.function(body))
    seen = []
    handle(signal.SIGALRM, lambda *_: seen.append(float(gyre.constant(1.0) + 1.0)))
    signal.setitimer(signal.ITIMER_REAL, 0.0005, 0.0005)
    try:
        until = time.thread_time() + 20
        while len(seen) < 500 and time.thread_time() < until:
            assert nodes_of(gyre.function(body)) == want
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
    assert len(seen) >= 500 and set(seen) == {2.0}

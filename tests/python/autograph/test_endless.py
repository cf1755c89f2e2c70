"""Tracing ends: Python that goes on for ever while it is traced is an error that names its line."""

import inspect
import itertools
import signal

import pytest

import gyre

LIMIT = 5000


@pytest.fixture(autouse=True)
def small_limit():
    before = gyre.config.get_graph_size_limit()
    gyre.config.set_graph_size_limit(LIMIT)
    yield
    gyre.config.set_graph_size_limit(before)


def endless_dataset():
    return gyre.data.Dataset.range(10).repeat()


elements = ()  # endless while a test runs


def over_a_generator(x):
    for v in elements:  # the loop
        x = x + v
    return x


def over_tensors(x):
    for v in map(gyre.constant, itertools.count()):  # the loop
        x = x + gyre.cast(v, gyre.int64)
    return x


def over_pairs(x):
    for u, v in zip(map(gyre.constant, itertools.count()), elements):  # the loop
        x = x + v * gyre.cast(u, gyre.int64)
    return x


def over_numbered(x):
    for i, v in enumerate(elements):  # the loop
        if x > 3:
            x = x + v + i
    return x


def while_true(x):
    i = 0
    while True:  # the loop
        x = x + 1
        i += 1
        if i < 0:
            break
    return x


def with_a_break_that_a_tensor_decides(x):
    for i in itertools.count():  # the loop
        if x > 100:
            break
        x = x + i
    return x


def within_a_loop_of_the_graph(x):
    for _ in gyre.range(3):
        for i in itertools.count():  # the loop
            for j in range(3):
                x = x + i * j
    return x


def around_a_short_loop(x):
    for i in itertools.count():  # the loop
        for j in range(3):
            x = x + i * j
    return x


def comprehension(x):
    return [x + i for i in itertools.count()]  # the line


def generator(x):
    return sum(x + i for i in itertools.count())  # the line


def mapped(x):
    return gyre.stack(list(map(lambda i: x + i, itertools.count())))  # the line


def line_of(fn):
    lines, first = inspect.getsourcelines(fn)
    [line] = [first + i for i, text in enumerate(lines) if "# the " in text]
    return f"test_endless.py:{line}"


@pytest.mark.parametrize(
    "fn",
    [
        over_a_generator,
        over_tensors,
        over_pairs,
        over_numbered,
        while_true,
        with_a_break_that_a_tensor_decides,
        within_a_loop_of_the_graph,
        around_a_short_loop,
    ],
    ids=lambda fn: fn.__name__,
)
@pytest.mark.filterwarnings("ignore:the loop at")
def test_the_error_names_the_loop(fn, monkeypatch):
    monkeypatch.setitem(
        globals(), "elements", (gyre.constant(i, gyre.int64) for i in itertools.count())
    )
    with pytest.raises(gyre.errors.ResourceExhaustedError) as caught:
        gyre.function(fn)(gyre.constant(1, gyre.int64))
    text = str(caught.value)
    assert f"loop at {line_of(fn)} runs over Python values" in text, text
    assert "run over the dataset itself, over gyre.range" in text and "set_graph_size_limit" in text
    assert f"'{fn.__name__}' has {LIMIT} operations" in text


@pytest.mark.parametrize("fn", [comprehension, generator, mapped], ids=lambda fn: fn.__name__)
def test_the_error_names_the_line(fn):
    with pytest.raises(gyre.errors.ResourceExhaustedError) as caught:
        gyre.function(fn)(gyre.constant(1, gyre.int64))
    assert line_of(fn) in str(caught.value) and "comprehension" in str(caught.value)


def test_a_graph_of_sessions_ends_too():
    import gyre.compat.v1 as v1

    with v1.Graph().as_default():
        x = v1.constant(1)
        with pytest.raises(gyre.errors.ResourceExhaustedError, match="test_endless.py"):
            while True:
                x = x + 1


def test_a_graph_may_be_as_large_as_the_limit_says():
    @gyre.function
    def unrolled(x):
        for _ in range(LIMIT + 100):
            x = x + 1
        return x

    gyre.config.set_graph_size_limit(10 * LIMIT)
    with pytest.warns(UserWarning, match="3000 iterations"):
        assert int(unrolled(gyre.constant(0))) == LIMIT + 100
    with pytest.raises(ValueError, match="at least one"):
        gyre.config.set_graph_size_limit(0)


def test_a_dataset_that_python_would_run_over_while_tracing():
    def first(x):
        return x + next(iter(endless_dataset()))

    with pytest.raises(RuntimeError, match="for element in dataset"):
        gyre.function(first)(gyre.constant(1, gyre.int64))


def test_an_iterator_of_a_dataset_that_python_would_run_over_while_tracing():
    def total(iterator):
        result = gyre.constant(0, gyre.int64)
        for element in iterator:
            result += element
        return result

    iterator = iter(gyre.data.Dataset.range(10))
    with pytest.raises(RuntimeError, match=r"over the dataset itself.*next\(iterator\)") as raised:
        gyre.function(total)(iterator)
    assert any(entry.name == "total" for entry in raised.traceback)
    for over in (list, lambda it: [x for x in it], lambda it: next(zip(it))):
        with pytest.raises(RuntimeError, match="over the dataset itself"):
            gyre.function(lambda it: over(it)[0])(iterator)
    assert sum(int(element) for element in iterator) == 45


def test_a_signal_ends_tracing():
    def forever(x):
        while True:
            pass

    def too_late(number, frame):
        raise TimeoutError("too late")

    gyre.config.set_graph_size_limit(10**12)  # rounds of the loop count, too
    before = signal.signal(signal.SIGALRM, too_late)
    signal.setitimer(signal.ITIMER_REAL, 0.05)
    try:
        with pytest.raises(TimeoutError, match="too late"):
            gyre.function(forever)(gyre.constant(1))
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)

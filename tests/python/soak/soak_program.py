"""Many calls of many functions, one after the other, with signals that raise, deadlines, budgets
and mistakes in between; a second thread calls them at the same time.

    python soak_program.py CALLS SEED

Whatever was not disturbed gives the value that it gave at first: anything else ends the program. At
the end a line of JSON says what the process held after a tenth, a half and all of the calls.
"""

import ctypes
import gc
import importlib
import json
import os
import random
import signal
import sys
import threading
import warnings
from pathlib import Path

import gyre

sys.path.insert(0, str(Path(__file__).parents[1] / "autograph"))

from plain import CASES

FUNCTIONS = 100


class Late(BaseException):
    """What the handler raises. No Exception: programs that catch those are among the functions."""


class Handler:
    """Of SIGALRM: computes, and raises where that is wanted."""

    def __init__(self):
        self.raises = False
        self.count = 0

    def __call__(self, number, frame):
        self.count += 1
        assert float(gyre.constant(20.0) + 1.0) == 21.0
        if self.raises:
            self.raises = False
            raise Late


def bits(value):
    """What tells results apart, to the bit."""
    return [
        leaf.numpy().tobytes() if isinstance(leaf, gyre.Tensor) else leaf
        for leaf in gyre.nest.flatten(value, expand_composites=True)
    ]


class Subject:
    """A function that is traced now and then, and what it gives."""

    def __init__(self, python, args):
        self.python, self.name = python, python.__name__
        self.args = [gyre.constant(arg) for arg in args]
        self.forget()
        self.want = bits(self.function(*self.args))

    def forget(self):
        self.function = gyre.function(self.python)

    def is_steady(self):
        before, self.function = self.function, gyre.function(self.python)
        again = bits(self.function(*self.args))
        self.function = before
        return again == self.want == bits(before(*self.args))


def check(subject, got, how):
    if bits(got) != subject.want:
        print(f"{subject.name} gives something else {how}", file=sys.stderr, flush=True)
        os._exit(1)


def host(x):
    """Python in the middle of a graph, in which a signal comes."""
    signal.raise_signal(signal.SIGALRM)
    return x


@gyre.function
def with_a_host_function(x):
    for _ in gyre.range(3):
        x = gyre.py_function(host, [x], gyre.float32) + 1.0
    return x


@gyre.function
def fails_late(x):
    for i in gyre.range(100):
        assert i < 50, "this is wrong"
        x = x + 1.0
    return x


class Driver:
    """The main thread's calls."""

    def __init__(self, subjects, seed):
        self.subjects, self.random, self.disturbed = subjects, random.Random(seed), 0
        self.handler = Handler()
        signal.signal(signal.SIGALRM, self.handler)

    def call(self):
        subject = self.random.choice(self.subjects)
        if self.random.random() < 0.004:
            subject.forget()
        kind = self.random.randrange(16)
        disturb = (self.interrupted, self.interrupted, self.limited, self.mistaken, self.in_python)
        if kind < len(disturb):
            self.disturbed += 1
            disturb[kind](subject)
        else:
            check(subject, subject.function(*subject.args), "undisturbed")

    def interrupted(self, subject):
        """By a signal, whose handler raises every other time."""
        self.handler.raises = self.random.random() < 0.5
        try:
            try:
                signal.setitimer(signal.ITIMER_REAL, self.random.uniform(1e-6, 3e-4))
                got = subject.function(*subject.args)
            finally:
                signal.setitimer(signal.ITIMER_REAL, 0)
        except Late:
            return
        finally:
            self.handler.raises = False
        check(subject, got, "after a signal")

    def limited(self, subject):
        """By a deadline or a budget."""
        limit = (
            {"timeout_ms": 1}
            if self.random.random() < 0.5
            else {"budget_bytes": self.random.randrange(1, 20_000)}
        )
        concrete = subject.function.get_concrete_function(*subject.args)
        try:
            got, _ = concrete.run_with_options(subject.args, **limit)
        except (gyre.errors.DeadlineExceededError, gyre.errors.ResourceExhaustedError):
            return
        check(subject, got, "within limits")

    def mistaken(self, subject):
        """Wrong in what is handed over, or only when it runs."""
        try:
            if self.random.random() < 0.5:
                subject.function(*subject.args, *subject.args, None, None)
            else:
                fails_late(gyre.constant(0.0))
        except TypeError:
            return
        except gyre.errors.InvalidArgumentError as error:
            assert "this is wrong" in str(error)
            return
        # A function with *args takes them all.

    def in_python(self, subject):
        """By a signal that comes within a host function."""
        self.handler.raises = self.random.random() < 0.5
        try:
            assert float(with_a_host_function(gyre.constant(1.0))) == 4.0
        except Late:
            pass
        finally:
            self.handler.raises = False


def state():
    """What the process holds."""
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return {
        "resident": pages * os.sysconf("SC_PAGESIZE"),
        "objects": len(gc.get_objects()),
        "descriptors": len(os.listdir("/proc/self/fd")),
        "threads": len(os.listdir("/proc/self/task")),
    }


def phase(driver, subjects, calls, seed):
    """`calls` of the main thread, with another one beside."""
    done = threading.Event()

    def beside():
        chance = random.Random(seed)
        while not done.is_set():
            subject = chance.choice(subjects)
            check(subject, subject.function(*subject.args), "on another thread")

    thread = threading.Thread(target=beside)
    thread.start()
    try:
        for _ in range(calls):
            driver.call()
    finally:
        done.set()
        thread.join()
    for subject in subjects:
        subject.forget()
        subject.function(*subject.args)
    return state()


@gyre.function(jit_compile=True)
def compiled(n):
    i = 0
    while i < n:
        i += 1
    return i


def main(calls, seed):
    warnings.simplefilter("ignore")
    for module in (
        "ifs",
        "matches",
        "whiles",
        "fors",
        "functions",
        "data",
        "items",
        "containers",
        "algorithms",
        "solvers",
        "models",
        "scopes",
    ):
        importlib.import_module(f"plain.{module}")
    chance, cases = random.Random(seed), [(fn, call) for fn, calls in CASES for call in calls[:1]]
    subjects = [Subject(*one) for one in chance.sample(cases, FUNCTIONS)]
    subjects = [subject for subject in subjects if subject.is_steady()]
    # some runs ask for the pool's threads, sooner or later
    gyre.ones([700, 700]) @ gyre.ones([700, 700])
    # and some programs become hot, for which the compiler is loaded
    assert compiled(gyre.constant(9)).numpy() == 9
    driver = Driver(subjects, seed)
    tenth = phase(driver, subjects, calls // 10, seed)
    half = phase(driver, subjects, calls // 10 * 4, seed + 1)
    full = phase(driver, subjects, calls // 2, seed + 2)
    print(
        json.dumps(
            {
                "functions": len(subjects),
                "disturbed": driver.disturbed,
                "signals": driver.handler.count,
                "states": [tenth, half, full],
            }
        )
    )


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))

"""Children of a fork beside threads that run and trace: they run and trace, too."""

import os
import signal
import threading
import time

import pytest

import gyre


@gyre.function
def loop(n):
    x = gyre.constant(0.0)
    for i in gyre.range(n):
        x = x + gyre.cast(i, gyre.float32)
    return x


variable = gyre.Variable(1.0)


@gyre.function
def step(x):
    variable.assign(x)
    return variable + 1.0


def trace(value):
    return int(gyre.function(lambda x: x * 2)(gyre.constant(value)))


WORKS = {
    "run": lambda: float(loop(gyre.constant(10))) == 45,
    "trace": lambda: trace(3) == 6,
    "variable": lambda: float(step(gyre.constant(2.0))) == 3,
}


def ends_well(child):
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return status == 0
        time.sleep(0.001)  # there is no waitpid with a deadline
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return False


@pytest.mark.parametrize("beside", WORKS)
@pytest.mark.parametrize("within", WORKS)
def test_children_do_not_wait_for_threads_of_the_parent(beside, within):
    assert all(work() for work in WORKS.values())
    done = threading.Event()

    def work():
        while not done.is_set():
            assert WORKS[beside]()

    threads = [threading.Thread(target=work) for _ in range(2)]
    for thread in threads:
        thread.start()
    try:
        for _ in range(60):
            child = os.fork()
            if child == 0:
                os._exit(0 if WORKS[within]() else 1)
            assert ends_well(child)
    finally:
        done.set()
        for thread in threads:
            thread.join()

"""Signals while Gyre computes: handlers of Python's run, and nothing is damaged."""

import signal
import subprocess
import sys
import textwrap
import threading
import time

import pytest

from child_signals import set_default_signals


@pytest.fixture
def start(tmp_path):
    def start(*pieces):
        path = tmp_path / "program.py"
        path.write_text("\n".join(map(textwrap.dedent, ["import signal, time, gyre", *pieces])))
        return subprocess.Popen(
            [sys.executable, path],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            preexec_fn=set_default_signals,
        )

    return start


@pytest.fixture
def output(start):
    def output(*pieces):
        with start(*pieces) as process:
            try:
                out, err = process.communicate(timeout=60)
            finally:
                process.kill()
            assert process.returncode == 0, err
            return out

    return output


PRODUCTS = """
    import threading
    import numpy as np

    def products(enough):
        sizes = [65, 96, 128, 200, 256, 300, 512]
        normal = [np.random.default_rng(n).standard_normal((n, n)) for n in sizes]
        matrices = [gyre.constant(values, gyre.float32) for values in normal]
        before = signal.pthread_sigmask(signal.SIG_BLOCK, range(1, 32))
        expected = [(x @ x).numpy() for x in matrices]
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        while not enough():
            for x, y in zip(matrices, expected):
                assert np.array_equal((x @ x).numpy(), y)

    seen = 0

    def count(number, frame):
        global seen
        seen += 1
    """


def test_a_timer_while_matrices_are_multiplied(output):
    assert (
        output(
            PRODUCTS,
            """
    signal.signal(signal.SIGALRM, count)
    signal.setitimer(signal.ITIMER_REAL, 0.0002, 0.0002)
    products(lambda: seen >= 2000)
    signal.setitimer(signal.ITIMER_REAL, 0)
    print("sound")
    """,
        )
        == "sound\n"
    )


def test_signals_to_another_thread_while_it_multiplies_matrices(output):
    assert (
        output(
            PRODUCTS,
            """
    signal.signal(signal.SIGUSR1, count)
    worker = threading.Thread(target=products, args=[lambda: seen >= 1000])
    worker.start()
    while worker.is_alive():
        try:
            signal.pthread_kill(worker.ident, signal.SIGUSR1)
        except ProcessLookupError:  # it has ended since
            break
        worker.join(0.0002)
    print("sound")
    """,
        )
        == "sound\n"
    )


def test_a_storm_of_ctrl_c_while_matrices_are_multiplied(start):
    with start(
        PRODUCTS,
        """
        may_raise = False

        def interrupt(number, frame):
            global may_raise, seen
            seen += 1
            if may_raise:
                may_raise = False
                raise KeyboardInterrupt

        signal.signal(signal.SIGINT, interrupt)
        print("running", flush=True)
        x = gyre.ones([256, 256])
        expected = (x @ x).numpy()
        for _ in range(200):
            try:
                may_raise = True
                while True:
                    assert np.array_equal((x @ x).numpy(), expected)
            except KeyboardInterrupt:
                products(lambda: seen % 5 == 0)
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        print("sound", flush=True)
        """,
    ) as process:
        watchdog = threading.Timer(300, process.kill)  # of a hang, however busy the machine is
        watchdog.start()
        assert process.stdout.readline() == "running\n"
        while process.poll() is None:
            process.send_signal(signal.SIGINT)
            time.sleep(0.001)  # a pace that leaves the child time
        watchdog.cancel()
        assert process.stdout.read() == "sound\n", process.stderr.read()
        assert process.returncode == 0


ENDLESS = {
    "a loop": """
        @gyre.function
        def forever(x):
            while x > 0.0:
                x = x + 1.0 / x
            return x
        forever.get_concrete_function(gyre.constant(1.0))  # what comes is for the run
        work = lambda: forever(gyre.constant(1.0))
        """,
    "a loop of products": """
        @gyre.function
        def forever(x):
            while x[0, 0] > 0.0:
                x = x @ x * 0.01
            return x
        forever.get_concrete_function(gyre.ones([100, 100]))
        work = lambda: forever(gyre.ones([100, 100]))
        """,
    "a loop within a loop, on several devices": """
        gyre.config.set_logical_device_configuration(
            gyre.config.list_physical_devices("CPU")[0],
            [gyre.config.LogicalDeviceConfiguration()] * 2)
        @gyre.function
        def forever(x):
            while x > 0.0:
                for _ in gyre.range(1000):
                    with gyre.device("/cpu:1"):
                        x = x + 1.0
            return x
        forever.get_concrete_function(gyre.constant(1.0))  # what comes is for the run
        work = lambda: forever(gyre.constant(1.0))
        """,
    "a session": """
        import gyre.compat.v1 as v1
        with v1.Graph().as_default():
            y = v1.while_loop(lambda x: x > 0.0, lambda x: x + 1.0, [v1.constant(1.0)])
            session = v1.Session()
        work = lambda: session.run(y)
        """,
    "a wait": """
        queue = gyre.queue.FIFOQueue(1, [gyre.float32])
        work = queue.dequeue
        """,
    "a wait in a function": """
        queue = gyre.queue.FIFOQueue(1, [gyre.float32])
        dequeue = gyre.function(queue.dequeue)
        dequeue.get_concrete_function()
        work = lambda: dequeue()
        """,
}


@pytest.mark.parametrize("name", ENDLESS)
def test_what_a_handler_raises_ends_what_has_no_end(name, output):
    """Within 50 ms: of the thread's own time where it computes, for others may need the machine,
    too; a wait takes none of that."""
    waits = name.startswith("a wait")
    out = output(
        ENDLESS[name],
        f"clock = time.{'monotonic' if waits else 'thread_time'}",
        """
        def too_late(number, frame):
            raise TimeoutError("too late")

        signal.signal(signal.SIGALRM, too_late)
        took = []
        for _ in range(4):
            signal.setitimer(signal.ITIMER_REAL, 0.15)
            begun = clock()
            try:
                work()
            except TimeoutError as error:
                assert str(error) == "too late"
                took.append(clock() - begun - 0.15)
        print(min(took) < 0.05, float(gyre.constant(1.0) + 1.0))
        """,
    )
    assert out == "True 2.0\n"


@pytest.mark.parametrize("name", ENDLESS)
def test_a_handler_that_returns_lets_the_run_go_on(name, output):
    out = output(
        ENDLESS[name],
        """
        import os, threading

        order = []
        main = threading.main_thread()

        def note(number, frame):
            assert threading.current_thread() is main
            order.append((number, float(gyre.constant(1.0) + 1.0)))  # handlers may compute
            if len(order) == 7:
                raise InterruptedError

        numbers = [signal.SIGUSR1, signal.SIGUSR2, signal.SIGINT, signal.SIGTERM, signal.SIGALRM,
                   signal.SIGCHLD]
        for number in numbers:
            signal.signal(number, note)

        def send():
            for count, number in enumerate(numbers + [signal.SIGUSR1]):
                os.kill(os.getpid(), number)
                while len(order) == count:
                    time.sleep(0.001)

        sender = threading.Timer(0.1, send)
        sender.daemon = True
        sender.start()
        try:
            work()
        except InterruptedError:
            pass
        sender.join()
        print(order == [(n, 2.0) for n in numbers + [signal.SIGUSR1]])
        """,
    )
    assert out == "True\n"


def test_a_handler_set_where_ctrl_c_was_ignored_counts(output):
    out = output(
        """
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        """,
        ENDLESS["a loop"],
        """
        def late(number, frame):
            raise TimeoutError

        signal.signal(signal.SIGALRM, late)
        signal.alarm(1)
        try:
            work()
        except TimeoutError:
            print("ended")
        """,
    )
    assert out == "ended\n"

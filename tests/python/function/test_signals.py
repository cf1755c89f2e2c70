"""Signals while Gyre computes: handlers of Python's run, and nothing is damaged.

Each program is a child whose signals are Python's own, whatever those of the tests are."""

import signal
import subprocess
import sys
import textwrap


def set_signals_as_a_shell_does():
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGALRM, signal.SIGUSR1):
        signal.signal(number, signal.SIG_DFL)


def start(code):
    return subprocess.Popen([sys.executable, "-c", "import signal, time, gyre\n" + textwrap.dedent(code)],
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                            preexec_fn=set_signals_as_a_shell_does)


def output(code):
    with start(code) as process:
        out, err = process.communicate(timeout=60)
        assert process.returncode == 0, err
        return out


PRODUCTS = """
    import threading
    import numpy as np

    def products(enough):
        sizes = [65, 96, 128, 200, 256, 300, 512]
        matrices = [gyre.constant(np.random.default_rng(n).standard_normal((n, n)), gyre.float32) for n in sizes]
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


def test_a_timer_while_matrices_are_multiplied():
    assert output(PRODUCTS + """
    signal.signal(signal.SIGALRM, count)
    signal.setitimer(signal.ITIMER_REAL, 0.0002, 0.0002)
    products(lambda: seen >= 2000)
    signal.setitimer(signal.ITIMER_REAL, 0)
    print("sound")
    """) == "sound\n"


def test_signals_to_another_thread_while_it_multiplies_matrices():
    assert output(PRODUCTS + """
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
    """) == "sound\n"

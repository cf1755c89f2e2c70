"""A program that ends while daemon threads of it are inside Gyre ends as if they were not."""

import subprocess
import sys
import textwrap

import pytest

PROGRAM = """
    import threading

    import gyre

    @gyre.function
    def loop(n):
        x = gyre.constant(0.0)
        for i in gyre.range(n):
            x = x + gyre.cast(i, gyre.float32)
        return x

    @gyre.function
    def asks(x):
        for _ in gyre.range(100):
            x = gyre.numpy_function(lambda v: v + 1, [x], gyre.float32)
        return x

    matrix = gyre.ones([300, 300])
    works = {
        "runs": lambda: loop(gyre.constant(1000)),
        "long run": lambda: loop(gyre.constant(100_000_000)),
        "kernels": lambda: matrix @ matrix,
        "traces": lambda: gyre.function(lambda x: x + 1)(gyre.constant(1)),
        "host functions": lambda: asks(gyre.constant(1.0)),
        "datasets": lambda: list(gyre.data.Dataset.range(50).map(lambda v: v + 1)),
    }
    work = works[WORK]
    begun = threading.Semaphore(0)

    def for_ever():
        if WORK == "long run":
            begun.release()
        while True:
            work()
            begun.release()

    for _ in range(3):
        threading.Thread(target=for_ever, daemon=True).start()
    for _ in range(9 if WORK != "long run" else 3):
        begun.acquire()
    print("done")
"""


@pytest.mark.parametrize(
    "work", ["runs", "long run", "kernels", "traces", "host functions", "datasets"]
)
def test_daemon_threads_in_gyre_end_with_the_program(work, tmp_path):
    program = tmp_path / "program.py"
    program.write_text(textwrap.dedent(PROGRAM).replace("WORK", repr(work)))
    for _ in range(4):  # each end is at another moment
        ended = subprocess.run(
            [sys.executable, program], capture_output=True, text=True, timeout=60
        )
        assert (ended.returncode, ended.stdout, ended.stderr) == (0, "done\n", "")

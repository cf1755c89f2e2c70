"""Ctrl-C ends the run of a function within 100 ms, and what is there works on.

Times are those that the process computes from the signal on: other processes may need the machine,
too.
"""

import signal
import subprocess
import sys
import textwrap
import threading
import time

import pytest

from child_signals import computed_by, set_default_signals

PROGRAMS = {
    "while": """
        def f(x):
            while x > 0.0:
                x = x + 1.0 / x
            return x
        """,
    "nested": """
        def f(x):
            while x > 0.0:
                for i in gyre.range(1000):
                    x = x + gyre.reduce_sum(gyre.ones([100, 100])) * 0.0
            return x
        """,
    "gradient": """
        def f(x):
            with gyre.GradientTape() as tape:
                tape.watch(x)
                y = x
                for _ in gyre.range(100000000):
                    y = gyre.sin(y * x)
            return tape.gradient(y, x)
        """,
    "host": """
        def f(x):
            while x > 0.0:
                x = gyre.ensure_shape(gyre.py_function(lambda v: v + 1.0, [x], gyre.float32), [])
            return x
        """,
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_within_100_ms(name, tmp_path):
    path = tmp_path / "program.py"
    path.write_text(
        "import time, gyre\n"
        + textwrap.dedent(PROGRAMS[name])
        + textwrap.dedent("""
        run = gyre.function(f)
        run.get_concrete_function(gyre.constant(1.0))
        for _ in range(6):
            print("running", flush=True)
            try:
                run(gyre.constant(1.0))
            except KeyboardInterrupt:
                print(time.process_time(), flush=True)
        print(float(gyre.constant(1.0) + 1), flush=True)
        """)
    )
    process = subprocess.Popen(
        [sys.executable, path],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=set_default_signals,
    )
    watchdog = threading.Timer(60, process.kill)
    watchdog.start()
    try:
        took = []
        for _ in range(6):
            assert process.stdout.readline() == "running\n", process.stderr.read()
            time.sleep(0.3)
            sent = computed_by(process)
            process.send_signal(signal.SIGINT)
            answer = process.stdout.readline()
            assert answer, process.stderr.read()
            took.append(float(answer) - sent)
        assert min(took) < 0.1, took
        assert process.stdout.readline() == "2.0\n"
    finally:
        watchdog.cancel()
        process.kill()
        process.communicate()


def test_while_a_program_is_compiled(tmp_path):
    """A graph of 200,000 ops takes seconds to compile; Ctrl-C does not wait for that."""
    path = tmp_path / "program.py"
    path.write_text(
        textwrap.dedent("""
        import time
        import gyre.compat.v1 as v1
        graph = v1.Graph()
        with graph.as_default():
            x = y = v1.placeholder("float32", [])
            for _ in range(200000):
                y = v1.negative(y)
        with v1.Session(graph=graph) as session:
            session.run(x, {x: 1.0})
            print("running", flush=True)
            try:
                session.run(y, {x: 1.0})
                print("compiled", flush=True)
            except KeyboardInterrupt:
                print(time.process_time(), flush=True)
            print(session.run(x, {x: 2.0}), flush=True)
        """)
    )
    process = subprocess.Popen(
        [sys.executable, path],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=set_default_signals,
    )
    watchdog = threading.Timer(120, process.kill)
    watchdog.start()
    try:
        assert process.stdout.readline() == "running\n", process.stderr.read()
        time.sleep(0.2)
        sent = computed_by(process)
        process.send_signal(signal.SIGINT)
        answer = process.stdout.readline()
        assert answer, process.stderr.read()
        assert float(answer) - sent < 0.2
        assert process.stdout.readline() == "2.0\n"
    finally:
        watchdog.cancel()
        process.kill()
        process.communicate()

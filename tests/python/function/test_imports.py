"""What a program uses is imported when it is first used. Handlers of signals that come in the
middle find whole modules, and so do other threads."""

import importlib
import subprocess
import sys
import threading

import pytest

import gyre._impl
from child_signals import set_default_signals

# A signal at the begin of each module of the package that is imported. What the handler uses stands
# in `use`.
AT_EACH_MODULE = """
import signal, sys
import gyre

handled, sent, wrong = [], [], []

def use(*_):
    try:
        handled.append(float(gyre.function(lambda a: a * 2.0)(gyre.constant(1.0))))
    except Exception as error:
        wrong.append(repr(error))

def interrupt(event, arguments):
    if event == "exec" and "gyre" in arguments[0].co_filename:
        sent.append(event)
        signal.raise_signal(signal.SIGUSR1)

signal.signal(signal.SIGUSR1, use)
sys.addaudithook(interrupt)

@gyre.function
def f(x):
    for i in gyre.range(20):
        x = x + 1.0
    return x

print(float(f(gyre.constant(1.0))), set(handled), len(sent) > 3, wrong)
"""

# The compiled form of a module is read, and an OSError means there that there is none.
AS_FILES_ARE_READ = """
import signal, sys
import gyre

class Late(TimeoutError):
    pass

def late(*_):
    raise Late

def interrupt(event, arguments):
    if event == "open" and "/cond." in str(arguments[0]) and str(arguments[0]).endswith(".pyc"):
        signal.raise_signal(signal.SIGUSR1)

signal.signal(signal.SIGUSR1, late)
sys.addaudithook(interrupt)
try:
    gyre.cond
except Late:
    print("late")
signal.signal(signal.SIGUSR1, signal.SIG_IGN)
print(int(gyre.cond(gyre.constant(True), lambda: 1, lambda: 2)))
"""


def printed(program, tmp_path):
    path = tmp_path / "program.py"
    path.write_text(program)
    done = subprocess.run(
        [sys.executable, path],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
        preexec_fn=set_default_signals,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.split("\n")[:-1]


def test_handlers_that_use_gyre_may_come_while_modules_are_imported(tmp_path):
    assert printed(AT_EACH_MODULE, tmp_path) == ["21.0 {2.0} True []"]


def test_what_a_handler_raises_while_a_module_is_read_is_not_lost(tmp_path):
    assert printed(AS_FILES_ARE_READ, tmp_path) == ["late", "1"]


@pytest.fixture
def module_of(tmp_path, monkeypatch):
    """module_of(text): the name of a module of the package with this text."""
    monkeypatch.setattr(gyre._impl, "__path__", [*gyre._impl.__path__, str(tmp_path)])
    names = []

    def make(text):
        names.append(f"only_for_a_test_{len(names)}")
        (tmp_path / f"{names[-1]}.py").write_text(text)
        importlib.invalidate_caches()
        return f"gyre._impl.{names[-1]}"

    yield make
    for name in names:
        sys.modules.pop(f"gyre._impl.{name}", None)


def test_another_thread_waits_for_the_end_of_a_module(module_of):
    events = threading.Event(), threading.Event()
    gyre._impl.events_of_a_test = events
    name = module_of(
        "from gyre._impl import events_of_a_test as events\n"
        "events[0].set()\nassert events[1].wait(60)\nvalue = 1\n"
    )
    got = []
    threads = [
        threading.Thread(target=lambda: got.append(importlib.import_module(name).value))
        for _ in range(2)
    ]
    threads[0].start()
    assert events[0].wait(60)
    threads[1].start()
    threads[1].join(0.3)  # it would be over if it did not wait
    assert got == []
    events[1].set()
    for thread in threads:
        thread.join()
    assert got == [1, 1]
    del gyre._impl.events_of_a_test


def test_a_module_that_fails_is_not_there_and_is_read_again(module_of):
    name = module_of(
        "from gyre._impl import tries_of_a_test as tries\ntries.append(1)\nvalue = 1 / (len(tries) "
        "- 1)\n"
    )
    gyre._impl.tries_of_a_test = []
    with pytest.raises(ZeroDivisionError):
        importlib.import_module(name)
    assert name not in sys.modules
    module = importlib.import_module(name)
    assert module.value == 1.0
    assert importlib.reload(module).value == 0.5
    del gyre._impl.tries_of_a_test

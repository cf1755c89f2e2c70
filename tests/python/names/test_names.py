"""The public names: all resolve and have docs. (Which of TensorFlow's: test_compatibility.py.)"""

import importlib
import subprocess
import sys
from pathlib import Path

import pytest

import gyre
from gyre._impl import facade


def test_each_name_is_defined_once():
    folder = Path(facade.__file__).parent / "names"
    tables = [
        importlib.import_module(f"gyre._impl.names.{file.stem}").NAMES
        for file in folder.glob("[a-z]*.py")
    ]
    twice = [
        name
        for i, table in enumerate(tables)
        for other in tables[:i]
        for name in table.keys() & other.keys()
    ]
    assert twice == []


@pytest.mark.parametrize("name", sorted(facade.names()))
def test_every_name_resolves(name):
    value = facade.resolve(facade.names()[name])
    if callable(value):
        assert value.__doc__, f"gyre.{name} has no docstring"


def test_namespaces_can_be_imported():
    import gyre.linalg
    import gyre.math as m
    from gyre.nn import relu
    from gyre.random import normal

    assert m.add is gyre.add and callable(relu) and callable(normal) and callable(gyre.linalg.norm)
    assert "reduce_sum" in dir(gyre.math) and "math" in dir(gyre)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = gyre.math.nothing


@pytest.mark.parametrize(
    "name, says",
    [
        ("Session", "it is gyre.compat.v1.Session"),
        (
            "math.sobol_sample",
            r"TensorFlow's tf.math.sobol_sample is not in Gyre \(docs/compatibility",
        ),
        ("audio", "TensorFlow's tf.audio is not in Gyre"),
        ("log", "did you mean gyre.math.log.?"),
        ("math.reduce_summ", "did you mean gyre.math.reduce_sum.?"),
        ("compat.v1.get_varible", "did you mean gyre.compat.v1.get_variable.?"),
    ],
)
def test_a_name_that_is_not_there_says_what_to_do(name, says):
    with pytest.raises(AttributeError, match=f"has no attribute '{name.split('.')[-1]}'.*{says}"):
        importlib.import_module("operator").attrgetter(name)(gyre)


@pytest.mark.parametrize("name", ["gfile", "metrics", "contrib", "logging"])
def test_what_is_far_off_is_not_suggested(name):
    with pytest.raises(AttributeError, match=f"has no attribute '{name}'$"):
        getattr(gyre.compat.v1, name)


def test_a_name_is_suggested_once():
    ran = subprocess.run(
        [sys.executable, "-c", "import gyre; gyre.reduce_summ"], capture_output=True, text=True
    )
    assert ran.stderr.endswith("'reduce_summ'; did you mean gyre.reduce_sum?\n")


def import_of(modules):
    """Seconds of processor time of an import in a process of its own, and what it brings."""
    code = (
        f"import time, sys; t = time.process_time(); import {modules}; "
        "t = time.process_time() - t; "
        "print(t, [m for m in ('numpy', 'ast', 'ml_dtypes') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    seconds, brought = done.stdout.split(" ", 1)
    return float(seconds), brought.strip()


def test_import_is_quick_and_brings_no_numpy():
    # Beside modules of Python that take twice as long, in turns: a busy machine is slow at both.
    others, own = [], []
    for _ in range(5):
        others.append(import_of("asyncio, email.message, http.client, unittest, xml.dom.minidom"))
        own.append(import_of("gyre"))
    assert {brought for _, brought in own} == {"[]"}
    assert min(t for t, _ in own) < 0.9 * min(t for t, _ in others)


def test_command_line():
    done = subprocess.run(
        [sys.executable, "-m", "gyre", "ops"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0 and "MatMul" in done.stdout

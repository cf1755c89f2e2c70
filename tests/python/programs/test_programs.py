"""Programs as TensorFlow's users write them give what TensorFlow gave, with only the import
changed.

What it gave is recorded in tests/programs/results; `./dev test --peers` runs it again.
"""

import ast
import json
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAMS = Path(__file__).parents[2] / "programs"
sys.path.insert(0, str(PROGRAMS))

import runner  # noqa: E402

ALL = [name for kind in runner.LINES for name in runner.programs(kind)]


def recorded(name: str) -> dict:
    return json.loads(runner.record_path(name).read_text())


@pytest.mark.parametrize("name", ALL)
def test_same_results(name):
    """Each in a process of its own: programs switch modes of the process."""
    done = subprocess.run(
        [sys.executable, str(PROGRAMS / "runner.py"), name],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    results = json.loads(done.stdout.splitlines()[-1])
    assert runner.differences(results, recorded(name), runner.tolerance_of(name)) == []


@pytest.mark.parametrize("name", ALL)
def test_ordinary_programs(name):
    """They import nothing but numpy, the standard library, and the one line that is replaced."""
    tree = ast.parse((PROGRAMS / f"{name}.py").read_text())
    modules = {
        alias.name.split(".")[0]
        for node in ast.walk(tree)
        if isinstance(node, ast.Import)
        for alias in node.names
    }
    modules |= {
        node.module.split(".")[0] for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)
    }
    assert modules - set(sys.stdlib_module_names) <= {"numpy", "tensorflow"}


def test_differences_are_found():
    one = runner.encode({"a": 1.0, "b": [1, 2], "c": "x"})
    assert runner.differences(one, one, 1e-5) == []
    assert len(runner.differences(one, runner.encode({"a": 1.1, "b": [1, 3], "c": "y"}), 1e-5)) == 3
    assert runner.differences(one, runner.encode({"a": 1.0, "b": [1, 2]}), 1e-5) == [
        "c: only in one of the two"
    ]
    assert (
        "instead of"
        in runner.differences(runner.encode({"a": [1.0]}), runner.encode({"a": 1.0}), 1e-5)[0]
    )

"""Keras is found as gyre.keras and by KERAS_BACKEND, and costs nothing before it is used."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import gyre


def run(program, **environment):
    """What a program prints, or its last line of errors."""
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=120,
    )
    return (done.stdout if done.returncode == 0 else done.stderr).strip().splitlines()[-1]


def test_gyre_does_not_import_it():
    assert run("import gyre, sys; print('keras' in sys.modules)") == "False"


def test_it_is_loaded_when_it_is_touched():
    program = """
import gyre as tf, sys
layer = tf.keras.layers.Dense(2)
from gyre.keras.layers import Dense
import gyre.keras.ops as ops, keras
assert type(layer) is Dense is keras.layers.Dense and ops is keras.ops
print(keras.backend.backend(), "tensorflow" in sys.modules)
"""
    assert run(program) == "gyre False"


def test_other_processes_choose_for_themselves():
    program = """
import os
import gyre.keras
print(os.environ.get("KERAS_BACKEND"))
"""
    assert run(program) == "None"


def test_the_environment_names_it():
    program = """
from gyre._keras import hook
hook.install()
import keras
print(keras.backend.backend())
"""
    assert run(program, KERAS_BACKEND="gyre") == "gyre"


def test_the_line_that_python_runs_at_its_start_installs_the_hook():
    line = (Path(gyre.__file__).parents[1] / "gyre_keras.pth").read_text()
    program = "import keras; print(keras.backend.backend())"
    assert run(line + program, KERAS_BACKEND="gyre") == "gyre"


def test_another_backend_that_was_first_is_an_error():
    program = """
import sys, types
sys.modules["keras"] = keras = types.ModuleType("keras")
keras.config = types.SimpleNamespace(backend=lambda: "jax")
import gyre.keras
"""
    assert "Keras was imported with the backend 'jax' before gyre.keras" in run(program)


def test_a_release_that_chooses_otherwise_is_an_error():
    from gyre._keras import hook

    with pytest.raises(ImportError, match="chooses its backend in a way that Gyre does not know"):
        hook.with_choice("from keras.src import backend\n", "keras.src.backend")

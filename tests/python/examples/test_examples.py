"""The examples do what they say, in a hundred lines and some, with nothing but gyre and numpy."""

import ast
import importlib.util
import math
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[3] / "examples" / "python"
NAMES = [
    "beam_search",
    "exported_model",
    "keras_addition",
    "maml",
    "mixture_of_experts",
    "ode_solver",
    "onnx_lstm",
    "parameter_server",
    "pipelined_lstm",
    "reinforce",
    "tree_lstm",
]


def run(name, **options):
    """What main() of an example returns. (It checks itself, too.)"""
    spec = importlib.util.spec_from_file_location(f"example_{name}", FOLDER / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module.main(**options)


@pytest.mark.parametrize("name", NAMES)
def test_short_and_plain(name):
    text = (FOLDER / f"{name}.py").read_text()
    assert len(text.splitlines()) <= 120
    modules = {
        alias.name.split(".")[0]
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Import)
        for alias in node.names
    }
    assert modules - set(sys.stdlib_module_names) <= {"gyre", "numpy", "matplotlib"}
    assert f"python examples/python/{name}.py" in text


def test_beam_search():
    found = run("beam_search")
    texts, scores = zip(*(found[beams] for beams in (1, 8, 200)), strict=True)
    assert list(scores) == sorted(scores) and all(text.startswith("it is ") for text in texts)
    assert texts[-1].endswith(".")


def test_onnx_lstm():
    found = run("onnx_lstm")
    assert found["before"] > 0.3 and found["after"] < 0.02
    assert found["apart"] < 1e-6


def test_exported_model():
    found = run("exported_model")
    assert found["before"] > 0.3 and found["after"] < 0.02


@pytest.mark.skipif(
    not getattr(importlib.util.find_spec("keras"), "origin", None),
    reason="Keras is not installed: pip install 'gyre[keras]'",
)
def test_keras_addition():
    found = run("keras_addition", epochs=60)
    assert found["losses"][-1] < 0.5 * found["losses"][0] and found["accuracy"] > 0.6


def test_mixture_of_experts():
    found = run("mixture_of_experts")
    assert found["last"] < 0.3 and sum(found["loads"]) == 256


def test_ode_solver():
    found = run("ode_solver")
    assert found["slope"] == pytest.approx(-2 * math.exp(-3), abs=1e-5)
    assert found["length"] == pytest.approx(0.8, abs=1e-3)
    assert found["friction"] == pytest.approx(0.3, abs=2e-3)


def test_maml():
    found = run("maml")
    from_nothing, one_step, five_steps = found["after"]
    assert five_steps < one_step < from_nothing and five_steps < 0.3


def test_parameter_server():
    losses = run("parameter_server")
    assert len(losses) == 300 and losses[-20:].mean() < losses[:20].mean() / 10


@pytest.mark.parametrize("cluster", [False, True])
def test_pipelined_lstm(cluster):
    found = run("pipelined_lstm", cluster=cluster)
    assert found["difference"] == 0 and found["one"] > 0 and found["two"] > 0


def test_reinforce():
    assert run("reinforce")["last"] > 150


def test_tree_lstm():
    assert run("tree_lstm")["right"] >= 95

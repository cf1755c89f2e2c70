"""The public names: all resolve, have docs, and cover what control-flow programs use."""

import importlib
import subprocess
import sys
from pathlib import Path

import pytest

import gyre
from gyre._impl import facade

# Names that public control-flow programs use, one a line.
SURFACE = Path(__file__).parent / "surface.txt"

# Why names of that list are not here.
MISSING = {
    "needs sessions, files of graphs or data pipelines, which are later work": {
        "tf.saved_model.load", "tf.saved_model.save", "tf.saved_model.SaveOptions",
        "tf.saved_model.experimental.VariablePolicy", "tf.import_graph_def", "tf.data.Dataset",
        "tf.data.IteratorSpec", "tf.data.experimental.cardinality", "tf.queue.FIFOQueue",
        "tf.distribute.MirroredStrategy", "tf.config.experimental_connect_to_host"},
    "no op of the registry computes it, and it is no composition of them": {
        "tf.linalg.cholesky", "tf.strings.upper",
        "tf.raw_ops.ParameterizedTruncatedNormal", "tf.raw_ops.TensorArrayConcatV2"},
    "not for programs: placement writes these where edges cross devices (_Send, _Recv)": {
        "tf.raw_ops.Send", "tf.raw_ops.Recv"},
    "composites cannot stand in signatures yet": {
        "tf.IndexedSlicesSpec", "tf.RaggedTensorSpec", "tf.SparseTensorSpec"},
    "sparse tensors have only what control flow carries": {
        "tf.sparse.expand_dims", "tf.sparse.reduce_sum"},
    "a mechanism of TensorFlow's own that Gyre has no part for": {
        "tf.RegisterGradient", "tf.experimental.ExtensionType", "tf.experimental.StructuredTensor",
        "tf.experimental.function_executor_type", "tf.nondifferentiable_batch_function"},
}


def surface() -> list[str]:
    return SURFACE.read_text().split()


def resolves(name: str) -> bool:
    value = gyre
    for part in name.split(".")[1:]:
        try:
            value = getattr(value, part)
        except AttributeError:
            return False
    return True


def test_names_that_programs_use():
    allowed = set().union(*MISSING.values())
    missing = {name for name in surface() if not resolves(name)}
    assert missing - allowed == set()
    assert {name for name in allowed if resolves(name)} == set(), "these are here now"


def test_each_name_is_defined_once():
    folder = Path(facade.__file__).parent / "names"
    tables = [importlib.import_module(f"gyre._impl.names.{file.stem}").NAMES
              for file in folder.glob("[a-z]*.py")]
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


def test_import_is_quick_and_brings_no_numpy():
    code = ("import time, sys; t = time.process_time(); import gyre; t = time.process_time() - t; "
            "print(t, [m for m in ('numpy', 'ast', 'ml_dtypes') if m in sys.modules])")
    runs = [
        subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True
        ).stdout.split(" ", 1)
        for _ in range(5)
    ]
    assert {brought.strip() for _, brought in runs} == {"[]"}
    assert min(float(t) for t, _ in runs) < 0.06


def test_command_line():
    done = subprocess.run(
        [sys.executable, "-m", "gyre", "ops"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0 and "MatMul" in done.stdout

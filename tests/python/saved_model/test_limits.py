"""Loading models, and running what they were saved with, keeps to gyre.limits and to Ctrl-C."""

import os
import pathlib
import shutil
import signal
import subprocess
import sys
import time

import pytest

import gyre
from gyre._impl.proto import messages

GOLDEN = pathlib.Path(__file__).parents[2] / "saved_models"


def _altered(folder, alter):
    """The model in `folder`, with its graph changed by alter(MetaGraphDef)."""
    path = folder / "saved_model.pb"
    model = messages.SavedModel.FromString(path.read_bytes())
    alter(model.meta_graphs[0])
    path.write_bytes(model.SerializeToString())
    return folder


def _add_waiting(meta):
    """A node that waits for an element of a queue that nobody fills: its name."""
    queue = meta.graph_def.node.add(name="queue", op="FIFOQueueV2")
    queue.attr["component_types"].list.type.append(1)
    queue.attr["shared_name"].s = b"of this model"
    waiting = meta.graph_def.node.add(name="waiting", op="QueueDequeueV2", input=["queue"])
    waiting.attr["component_types"].list.type.append(1)
    return waiting.name


@pytest.fixture
def endless(tmp_path):
    """A model that never ends to initialize itself."""
    made = gyre.Module()
    made.v = gyre.Variable(1.0)
    gyre.saved_model.save(made, tmp_path / "m")

    def alter(meta):
        waiting = _add_waiting(meta)
        meta.collection_def["saved_model_main_op"].node_list.value.append(waiting)

    return _altered(tmp_path / "m", alter)


def test_an_init_op_without_end_is_held_to_the_limit(endless):
    start = time.monotonic()
    with gyre.limits(seconds=0.3), pytest.raises(gyre.errors.DeadlineExceededError):
        gyre.saved_model.load(endless)
    assert time.monotonic() - start < 20


def test_the_command_line_holds_it_to_its_timeout(endless):
    program = pathlib.Path(__file__).parents[3] / "build/release/bin/gyre"
    run = subprocess.run(
        [program, "run", endless, "--timeout", "300"], capture_output=True, text=True, timeout=60
    )
    assert run.returncode != 0 and "DEADLINE_EXCEEDED" in run.stderr


def test_ctrl_c_ends_loading(endless):
    program = f"import gyre; print('here', flush=True); gyre.saved_model.load({str(endless)!r})"
    root = pathlib.Path(__file__).parents[3]
    with subprocess.Popen(
        [sys.executable, "-c", program],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(root / "python")},
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    ) as process:
        assert process.stdout is not None and process.stderr is not None
        assert process.stdout.readline() == "here\n"
        time.sleep(0.5)
        process.send_signal(signal.SIGINT)
        told = process.stderr.read()
        process.wait(timeout=30)
    assert "KeyboardInterrupt" in told


def test_signatures_of_version_1_are_held_to_the_limit(tmp_path):
    shutil.copytree(GOLDEN / "v1_simple_ref/model", tmp_path / "m")

    def alter(meta):
        waiting = _add_waiting(meta)
        outputs = {
            info.name.split(":")[0]
            for signature in meta.signature_def.values()
            for info in signature.outputs.values()
        }
        for node in meta.graph_def.node:
            if node.name in outputs and node.op != "Exit":
                node.input.append(f"^{waiting}")

    model = gyre.saved_model.load(_altered(tmp_path / "m", alter))
    name, signature = next(iter(model.signatures.items()))
    _, specs = signature.structured_input_signature
    inputs = {key: gyre.zeros([d or 1 for d in s.shape], s.dtype) for key, s in specs.items()}
    with gyre.limits(seconds=0.3), pytest.raises(gyre.errors.DeadlineExceededError):
        model.signatures[name](**inputs)


def test_an_op_that_gyre_does_not_know_stops_no_load(tmp_path):
    made = gyre.Module()
    made.double = gyre.function(lambda x: x * 2.0, input_signature=[gyre.TensorSpec([], name="x")])
    gyre.saved_model.save(made, tmp_path / "m")
    _altered(tmp_path / "m", lambda meta: meta.graph_def.node.add(name="odd", op="MyCompanysOp"))
    loaded = gyre.saved_model.load(tmp_path / "m")
    assert float(loaded.signatures["double"](x=3.0)["output_0"]) == 6.0


def test_gradients_of_calls_are_held_to_the_limit():
    @gyre.function
    def slow(x):
        for _ in gyre.range(2_000_000_000):
            x = gyre.sin(x)
        return x

    @gyre.custom_gradient
    def quick(x):
        def grad(dy):
            return slow(dy)

        return x * 1.0, grad

    called = gyre.function(lambda x: quick(x))
    x = gyre.Variable(1.0)
    with gyre.GradientTape() as tape:
        y = called(x)
    start = time.monotonic()
    with gyre.limits(seconds=0.3), pytest.raises(gyre.errors.DeadlineExceededError):
        tape.gradient(y, x)
    assert time.monotonic() - start < 20


def test_wrapped_functions_are_held_to_the_limit():
    def endless(x):
        return gyre.while_loop(lambda v: v < 2.0, lambda v: gyre.sin(v), [x])

    wrapped = gyre.compat.v1.wrap_function(endless, [gyre.TensorSpec([], gyre.float32)])
    with gyre.limits(seconds=0.3), pytest.raises(gyre.errors.DeadlineExceededError):
        wrapped(gyre.constant(1.0))

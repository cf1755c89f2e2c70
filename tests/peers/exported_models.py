"""Models that Gyre loads and saves again give, in TensorFlow, what TensorFlow recorded of the
originals.

Run by ./dev test --peers, in a virtual environment with tensorflow-cpu.

For each case of tests/saved_models build/venv's Python loads the model and saves it again;
TensorFlow loads that, and the case's steps run. Each model is written as it was; once more with
variables that have changed, where TensorFlow must give what Gyre gives; and those of version 2 also
from their signatures, as programs of Gyre are.
"""

import json
import os
import pathlib
import sys
import tempfile

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
import numpy as np
import tensorflow as tf

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/support"))

from golden_cases import array_of, difference  # noqa: E402
from gyre_python import run_gyre  # noqa: E402

AGAIN = """
import json, sys
import numpy as np, gyre
way, original, folder = sys.argv[1:]
model = gyre.saved_model.load(original)
if way == "changed":
    for variable in model.variables:
        if variable.dtype.is_floating:
            variable.assign(variable * gyre.cast(0.5, variable.dtype))
gyre.saved_model.save(gyre.Module() if way == "signatures" else model, folder,
                      signatures=model.signatures if way == "signatures" else None)
if way == "changed":
    step = json.load(sys.stdin)
    inputs = {name: gyre.reshape(gyre.constant(v["data"], v["dtype"]), v["shape"])
              for name, v in step["inputs"].items()}
    outputs = model.signatures[step["signature"]](**inputs)
    print(json.dumps({name: np.asarray(v.numpy(), float).ravel().tolist()
                      for name, v in outputs.items() if v.dtype.is_floating}))
"""


def save_again(way, original, folder, step=None):
    """What Gyre prints, having written the model to `folder`. RuntimeError with what it says."""
    return run_gyre("-W", "ignore", "-c", AGAIN, way, original, folder, input=json.dumps(step))


def inlined(step, folder):
    """A step whose inputs stand in it, the large ones too."""
    inputs = {}
    for name, value in step["inputs"].items():
        data = value["data"] if "data" in value else array_of(value, folder).ravel().tolist()
        inputs[name] = {"dtype": value["dtype"], "shape": value["shape"], "data": data}
    return {**step, "inputs": inputs}


def runner(folder, case, path):
    """A function that runs a step of the case in `folder` in TensorFlow, on the model at `path`."""
    if case["kind"] != "metagraph":
        signatures = tf.saved_model.load(path).signatures

        def run(step):
            inputs = {
                name: tf.constant(array_of(value, folder), value["dtype"])
                for name, value in step["inputs"].items()
            }
            return {
                name: value.numpy()
                for name, value in signatures[step["signature"]](**inputs).items()
            }

        return run
    session = tf.compat.v1.Session(graph=tf.Graph())
    with session.graph.as_default():
        tf.compat.v1.train.import_meta_graph(path).restore(session, path.removesuffix(".meta"))

    def run_targets(step):
        targets = [session.graph.get_operation_by_name(name) for name in step["targets"]]
        feeds = {name: array_of(value, folder) for name, value in step["feeds"].items()}
        return dict(zip(step["fetches"], session.run([step["fetches"], targets], feeds)[0]))

    return run_targets


def fault(way, folder, case, original, path):
    """What is wrong with the model that Gyre saves to `path`, or None."""
    first = next((inlined(step, folder) for step in case["steps"] if "inputs" in step), None)
    printed = save_again(way, original, path, first)
    run = runner(folder, case, path)
    if way == "changed":
        outputs, found = run(first), json.loads(printed)
        wrong = [
            name
            for name, values in found.items()
            if not np.allclose(outputs[name].ravel().astype(float), values, rtol=1e-5, atol=1e-6)
        ]
        return f"{', '.join(wrong)} differ from Gyre's" if wrong else None
    for number, step in enumerate(case["steps"]):
        outputs = run(step)
        for name, recorded in step["expect"].items():
            wrong = difference(outputs[name], array_of(recorded, folder), step)
            if wrong:
                return f"step {number}, {name}: {wrong}"
    return None


def ways_of(case):
    """How a case's model is written."""
    return ("again", "changed", "signatures") if case["kind"] == "savedmodel-v2" else ("again",)


def main():
    passed = failed = 0
    for path in sorted((ROOT / "tests/saved_models").glob("*/case.json")):
        case = json.loads(path.read_text())
        file = "v1/model.meta" if case["kind"] == "metagraph" else "model"
        for way in ways_of(case):
            with tempfile.TemporaryDirectory() as folder:
                try:
                    complaint = fault(
                        way,
                        path.parent,
                        case,
                        str(path.parent / file),
                        os.path.join(folder, os.path.basename(file)),
                    )
                except Exception as error:  # whatever a side says, the next case is to run
                    complaint = f"{type(error).__name__}: {error}"
            if complaint:
                print(f"FAIL  {path.parent.name} ({way}): {complaint[-600:]}")
            failed += bool(complaint)
            passed += not complaint
    print(f"{passed} passed, {failed} failed, 0 skipped")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())

"""Checkpoints that models save of themselves under Gyre hold, for TensorFlow, what they were
restored from.

Run by ./dev test --peers, in a virtual environment with tensorflow-cpu.

For each case of tests/saved_models: `gyre run MODEL` runs the save op of the model's SaverDef, and
TensorFlow reads what it wrote.
"""

import os
import pathlib
import subprocess
import sys
import tempfile

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
import numpy as np
import tensorflow as tf
from tensorflow.core.protobuf import meta_graph_pb2, saved_model_pb2

ROOT = pathlib.Path(__file__).resolve().parents[2]
# Keras models hold another object graph as a constant to be saved than was saved with them.
OBJECT_GRAPH = "_CHECKPOINTABLE_OBJECT_GRAPH"
GYRE = ROOT / "build/release/bin/gyre"


def read_model(folder):
    """(what `gyre run` takes, prefix of the checkpoint, SaverDef) of a case."""
    if (folder / "model").exists():
        model = saved_model_pb2.SavedModel.FromString(
            (folder / "model/saved_model.pb").read_bytes()
        )
        return (
            folder / "model",
            folder / "model/variables/variables",
            model.meta_graphs[0].saver_def,
        )
    meta = meta_graph_pb2.MetaGraphDef.FromString((folder / "v1/model.meta").read_bytes())
    return folder / "v1/model.meta", folder / "v1/model", meta.saver_def


def fault(folder, prefix):
    """What is wrong with the checkpoint that the case's model saves to `prefix`, or None."""
    path, original, saver = read_model(folder)
    run = subprocess.run(
        [
            GYRE,
            "run",
            path,
            "--feed",
            f'{saver.filename_tensor_name}="{prefix}"',
            "--fetch",
            saver.save_tensor_name,
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    if run.returncode != 0:
        return run.stderr.strip()
    want, got = (tf.train.load_checkpoint(str(p)) for p in (original, prefix))
    if want.get_variable_to_shape_map() != got.get_variable_to_shape_map():
        return "other names or shapes than in the original"
    for name, dtype in want.get_variable_to_dtype_map().items():
        if name == OBJECT_GRAPH:
            continue
        a, b = np.asarray(want.get_tensor(name)), np.asarray(got.get_tensor(name))
        if (
            got.get_variable_to_dtype_map()[name] != dtype
            or a.tobytes() != b.tobytes()
            and not np.array_equal(a, b)
        ):
            return f"{name} is another"
    return None


def main():
    passed = failed = 0
    for case in sorted((ROOT / "tests/saved_models").glob("*/case.json")):
        with tempfile.TemporaryDirectory() as folder:
            complaint = fault(case.parent, str(pathlib.Path(folder) / "saved"))
        if complaint:
            print(f"FAIL  {case.parent.name}: {complaint}")
        failed += bool(complaint)
        passed += not complaint
    print(f"{passed} passed, {failed} failed, 0 skipped")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())

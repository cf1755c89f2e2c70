"""Writes tests/python/saved_model/objects: a model with methods, overloads, structures and objects
below it, as TensorFlow saves it, and what TensorFlow's own loader makes of the calls of
tests/python/saved_model/object_calls.py.

In a virtual environment with tensorflow-cpu (./dev test --peers)."""

import json
import os
import pathlib
import shutil
import sys

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")
import tensorflow as tf

TESTS = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(TESTS / "python/saved_model"))
import object_calls  # noqa: E402
import object_program  # noqa: E402


def main():
    folder = TESTS / "python/saved_model/objects"
    shutil.rmtree(folder, ignore_errors=True)
    tf.saved_model.save(object_program.model(tf), str(folder / "model"))
    (folder / "model/fingerprint.pb").unlink(missing_ok=True)
    for empty in (folder / "model/assets",):
        if not any(empty.iterdir()):
            empty.rmdir()
    loaded = tf.saved_model.load(str(folder / "model"))
    results = {name: object_calls.plain(tf, call(tf, loaded)) for name, call in object_calls.CALLS}
    (folder / "results.json").write_text(json.dumps(results, indent=1) + "\n")


main()

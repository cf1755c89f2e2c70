"""Objects that Gyre saves are, in TensorFlow's own loader, what they were: methods with their
overloads, attributes, lists, dicts, tables, files, and variables that a saved step trains further.

Run by ./dev test --peers, in a virtual environment with tensorflow-cpu. build/venv's Python writes
the models; results.json of tests/python/saved_model/objects has what TensorFlow gives for a model
of the same program that it saved itself."""

import json
import os
import pathlib
import sys
import tempfile

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")
import tensorflow as tf

ROOT = pathlib.Path(__file__).resolve().parents[2]
TESTS = ROOT / "tests/python/saved_model"
sys.path[:0] = [str(TESTS), str(ROOT / "tests/support")]
import object_calls  # noqa: E402
from gyre_python import run_gyre  # noqa: E402

WRITE = """
import pathlib, sys
import gyre
sys.path.insert(0, sys.argv[1])
import object_program
folder = pathlib.Path(sys.argv[2])
gyre.saved_model.save(object_program.model(gyre), folder / "program")
(folder / "words.txt").write_text("a\\nb\\n")
gyre.saved_model.save(object_program.files(gyre, folder / "words.txt"), folder / "files")
(folder / "words.txt").unlink()
tuned = object_program.tuned(gyre, gyre.saved_model.load(sys.argv[1] + "/objects/model"))
print([float(tuned.step(object_program.rows(gyre))) for _ in range(2)])
gyre.saved_model.save(tuned, folder / "tuned")
print([float(tuned.step(object_program.rows(gyre))) for _ in range(2)])
"""


def close(got, want):
    if isinstance(want, dict):
        return got.keys() == want.keys() and all(close(got[key], want[key]) for key in want)
    if isinstance(want, list):
        return len(got) == len(want) and all(map(close, got, want))
    if isinstance(want, float):
        return abs(got - want) <= 1e-5 * max(1.0, abs(want))
    return got == want


def complaints(folder, printed):
    """(name of a call, what is wrong or None)."""
    model = tf.saved_model.load(f"{folder}/program")
    results = json.loads((TESTS / "objects/results.json").read_text())
    for name, call in object_calls.CALLS:
        try:
            got = object_calls.plain(tf, call(tf, model))
            yield name, None if close(got, results[name]) else f"{got}, not {results[name]}"
        except Exception as error:  # whatever TensorFlow says, the next call is to run
            yield name, f"{type(error).__name__}: {error}"
    files = tf.saved_model.load(f"{folder}/files")
    path = files.text.asset_path.numpy().decode()
    yield "where a file is", None if path == f"{folder}/files/assets/words.txt" else path
    found = files().numpy(), files.find(tf.constant(["b", "z"])).numpy().tolist()
    yield "files and tables of files", None if found == (b"a\nb\n", [1, -1]) else str(found)
    tuned = tf.saved_model.load(f"{folder}/tuned")
    x = tf.constant([[1.0, 2.0]])
    steps = [float(tuned.step(x)) for _ in range(2)]
    wanted = json.loads(printed.splitlines()[1])
    yield "a step that Gyre wrote", None if close(steps, wanted) else f"{steps}, not {wanted}"


def main():
    passed = failed = 0
    with tempfile.TemporaryDirectory() as folder:
        for name, complaint in complaints(folder, run_gyre("-c", WRITE, str(TESTS), folder)):
            if complaint:
                print(f"FAIL  {name}: {complaint[-600:]}")
            failed += bool(complaint)
            passed += not complaint
    print(f"{passed} passed, {failed} failed, 0 skipped")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())

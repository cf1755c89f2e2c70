"""Models that Gyre loads and saves again give, in TensorFlow, what TensorFlow recorded of the originals.

Run by ./dev test --peers, in a virtual environment with tensorflow-cpu.

For each case of tests/saved_models with resource variables: build/venv's Python loads the model and saves it again;
tf.saved_model.load loads that, and the case's steps run.
"""
import base64
import json
import os
import pathlib
import subprocess
import sys
import tempfile

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
import numpy as np  # noqa: E402
import tensorflow as tf  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[2]
PYTHON = ROOT / "build/venv/bin/python"
AGAIN = "import sys, gyre; gyre.saved_model.save(gyre.saved_model.load(sys.argv[1]), sys.argv[2])"
NUMBERS = {"nan": np.nan, "inf": np.inf, "-inf": -np.inf}


def value_of(recorded):
    data, dtype = recorded["data"], tf.as_dtype(recorded["dtype"])
    if dtype == tf.string:
        data = [base64.b64decode(x) if recorded.get("b64") else x for x in data]
    elif dtype.is_complex:
        data = [complex(*x) for x in data]
    else:
        data = [NUMBERS.get(x, x) if isinstance(x, str) else x for x in data]
    return tf.reshape(tf.constant(data, dtype), recorded["shape"])


def fault(case, original, folder):
    """What is wrong with the model that Gyre saves to `folder`, or None."""
    run = subprocess.run([PYTHON, "-W", "ignore", "-c", AGAIN, original, folder], capture_output=True, text=True,
                         check=False)
    if run.returncode != 0:
        return run.stderr.strip()
    signatures = tf.saved_model.load(folder).signatures
    for number, step in enumerate(case["steps"]):
        inputs = {name: value_of(value) for name, value in step["inputs"].items()}
        outputs = signatures[step["signature"]](**inputs)
        for name, recorded in step["expect"].items():
            got, want = outputs[name].numpy(), value_of(recorded).numpy()
            exact = outputs[name].dtype in (tf.string, tf.bool) or outputs[name].dtype.is_integer
            if not (np.array_equal(got, want) if exact else
                    np.allclose(got, want, rtol=step["rtol"], atol=step["atol"], equal_nan=True)):
                return f"step {number}: {name} is {got}, not {want}"
    return None


def main():
    passed = failed = skipped = 0
    for path in sorted((ROOT / "tests/saved_models").glob("*/case.json")):
        case = json.loads(path.read_text())
        # References are not written again; data beside the case needs safetensors.
        if case["kind"] != "savedmodel-v2" or (path.parent / "data.safetensors").exists():
            skipped += 1
            continue
        with tempfile.TemporaryDirectory() as folder:
            complaint = fault(case, str(path.parent / "model"), folder + "/model")
        if complaint:
            print(f"FAIL  {path.parent.name}: {complaint}")
        failed += bool(complaint)
        passed += not complaint
    print(f"{passed} passed, {failed} failed, {skipped} skipped")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())

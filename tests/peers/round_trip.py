"""Every golden graph that Gyre imports and exports again gives the same results in TensorFlow.

Run by ./dev test --peers, in a virtual environment with tensorflow-cpu.

For each case: `gyre convert GRAPH OUT` writes what Gyre read, TensorFlow imports that file and runs
the case's steps. What TensorFlow cannot run even as it was exported (tag not-run-by-tf) and what
must be refused is left out and counted.
"""

import base64
import json
import os
import pathlib
import subprocess
import sys
import tempfile

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
import numpy as np
import tensorflow as tf

tf1 = tf.compat.v1


def read_safetensors(path):
    """name -> array of a safetensors file."""
    data = path.read_bytes()
    size = int.from_bytes(data[:8], "little")
    header = json.loads(data[8 : 8 + size])
    kinds = {
        "F64": "f8",
        "F32": "f4",
        "F16": "f2",
        "I64": "i8",
        "I32": "i4",
        "I16": "i2",
        "I8": "i1",
        "U8": "u1",
        "U16": "u2",
        "U32": "u4",
        "U64": "u8",
        "BOOL": "?",
        "C64": "c8",
    }
    arrays = {}
    for name, entry in header.items():
        if name == "__metadata__":
            continue
        begin, end = entry["data_offsets"]
        raw = data[8 + size + begin : 8 + size + end]
        arrays[name] = np.frombuffer(raw, kinds[entry["dtype"]]).reshape(entry["shape"])
    return arrays


def to_array(value, folder):
    dtype = tf.dtypes.as_dtype(value["dtype"]).as_numpy_dtype
    if "ref" in value:
        return (
            read_safetensors(folder / "data.safetensors")[value["ref"]]
            .astype(dtype)
            .reshape(value["shape"])
        )
    data = value["data"]
    if value["dtype"] == "string":
        data = [base64.b64decode(s) if value.get("b64") else s.encode() for s in data]
        return np.array(data, dtype=object).reshape(value["shape"])
    if value["dtype"].startswith("complex"):
        data = [complex(float(re), float(im)) for re, im in data]
    elif value["dtype"].startswith(("float", "bfloat")):
        data = [float(x) for x in data]
    return np.array(data).astype(dtype).reshape(value["shape"])


def differs(got, want, step):
    got = np.asarray(got)
    if got.shape != want.shape:
        return f"shape {got.shape} instead of {want.shape}"
    if want.dtype == object or not np.issubdtype(want.dtype, np.inexact):
        return None if np.array_equal(got, want) else f"{got!r} instead of {want!r}"
    close = np.isclose(got, want, rtol=step["rtol"], atol=step["atol"], equal_nan=True)
    return None if close.all() else f"{got!r} instead of {want!r}"


def fails(session, step, feeds):
    targets = [session.graph.get_operation_by_name(t) for t in step["targets"]]
    try:
        session.run([step["fetches"], targets], feeds)
    except (tf.errors.OpError, ValueError):
        return True
    return False


def run_case(gyre, folder, case):
    with tempfile.TemporaryDirectory() as scratch:
        out = pathlib.Path(scratch) / "out.pb"
        subprocess.run([gyre, "convert", folder / "graph.pb", out], check=True, capture_output=True)
        graph_def = tf1.GraphDef.FromString(out.read_bytes())
    with tf1.Graph().as_default() as graph:
        tf1.import_graph_def(graph_def, name="")
        options = tf1.ConfigProto(device_count={"CPU": 2})
        options.graph_options.rewrite_options.disable_meta_optimizer = True
        with tf1.Session(graph=graph, config=options) as session:
            for op in case["init"]:
                session.run(graph.get_operation_by_name(op))
            for number, step in enumerate(case["steps"]):
                feeds = {name: to_array(value, folder) for name, value in step["feeds"].items()}
                if "timeout_ms" in step:  # TensorFlow's loops do not always end with their deadline
                    continue
                if "error" in step:  # what it did to variables before it failed is part of the case
                    if "client-check" not in case["tags"] and not fails(session, step, feeds):
                        return f"step {number} gives no error"
                    continue
                targets = [graph.get_operation_by_name(t) for t in step["targets"]]
                got, _ = session.run([step["fetches"], targets], feeds)
                for name, value, want in zip(step["fetches"], got, step["expect"]):
                    wrong = differs(value, to_array(want, folder), step)
                    if wrong:
                        return f"step {number}, {name}: {wrong}"
    return None


def main():
    root = pathlib.Path(__file__).resolve().parents[2]
    gyre, golden = root / "build/release/bin/gyre", root / "tests/golden"
    passed, failed, skipped = 0, 0, 0
    for path in sorted(golden.glob("*/*/case.json")):
        case = json.loads(path.read_text())
        if "load_error" in case or "not-run-by-tf" in case["tags"]:
            skipped += 1
            continue
        try:
            wrong = run_case(gyre, path.parent, case)
        except subprocess.CalledProcessError as error:
            wrong = error.stderr.decode()
        except Exception as error:  # whatever TensorFlow says, the next case is to run
            wrong = f"{type(error).__name__}: {error}"
        if wrong:
            failed += 1
            print(f"FAILED {case['group']}/{case['name']}: {wrong[:600]}", flush=True)
        else:
            passed += 1
    print(f"{passed} passed, {failed} failed, {skipped} skipped")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

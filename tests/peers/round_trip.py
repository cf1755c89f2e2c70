"""Every golden graph that Gyre imports and exports again gives the same results in TensorFlow.

Run by ./dev test --peers, in a virtual environment with tensorflow-cpu.

For each case: `gyre convert GRAPH OUT` writes what Gyre read, TensorFlow imports that file and runs
the case's steps. What TensorFlow cannot run even as it was exported (tag not-run-by-tf) and what
must be refused is left out and counted.
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
import tensorflow as tf

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/support"))

from golden_cases import array_of, difference  # noqa: E402

tf1 = tf.compat.v1


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
                feeds = {name: array_of(value, folder) for name, value in step["feeds"].items()}
                if "timeout_ms" in step:  # TensorFlow's loops do not always end with their deadline
                    continue
                if "error" in step:  # what it did to variables before it failed is part of the case
                    if "client-check" not in case["tags"] and not fails(session, step, feeds):
                        return f"step {number} gives no error"
                    continue
                targets = [graph.get_operation_by_name(t) for t in step["targets"]]
                got, _ = session.run([step["fetches"], targets], feeds)
                for name, value, want in zip(step["fetches"], got, step["expect"]):
                    wrong = difference(value, array_of(want, folder), step)
                    if wrong:
                        return f"step {number}, {name}: {wrong}"
    return None


def main():
    gyre, golden = ROOT / "build/release/bin/gyre", ROOT / "tests/golden"
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

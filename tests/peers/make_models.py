"""Writes models as TensorFlow exports them, with what must come out, and runs them in Gyre.

    make_models.py                 all, to a temporary folder, where `gyre check` runs them
    make_models.py --keep          those of GOLDEN, to tests/saved_models
    make_models.py --to DIR TITLE  the models named, to a folder of one's own

In a virtual environment with tensorflow-cpu (./dev test --peers). golden_models/ describes the
models: small ones with the structure of well-known ones, their weights seeded. What a step must
give is what TensorFlow gives on the model loaded again.
"""

import base64
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")
import numpy as np
import tensorflow as tf
from tensorflow.core.protobuf import saved_model_pb2

from golden_models import (
    agent,
    convnets,
    decoder,
    detector,
    encoder,
    keras_models,
    sequences,
    speech,
    tables,
)

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDER = ROOT / "tests/saved_models"
MODULES = (agent, convnets, decoder, detector, encoder, keras_models, sequences, speech, tables)
MODELS = {model.title: model for module in MODULES for model in module.MODELS}
GOLDEN = (
    "bert_encoder",
    "mobilenet_v2",
    "resnet",
    "ssd_detector",
    "t5_beam_search",
    "tacotron",
)
TOLERANCE = {"rtol": 1e-4, "atol": 5e-6}  # of float32, as in the cases that were there
LARGE = 100  # elements; more stand in data.safetensors


class Values:
    """Tensors as case.json has them. Large ones stand once in data.safetensors."""

    def __init__(self):
        self.large = {}

    def json(self, array):
        array = np.asarray(array)
        dtype = "string" if array.dtype == object else array.dtype.name
        value = {"dtype": dtype, "shape": list(array.shape)}
        if dtype == "string":
            flat = array.ravel().tolist()
            flat = [x.encode() if isinstance(x, str) else x for x in flat]
            try:
                value["data"] = [x.decode() for x in flat]
            except UnicodeDecodeError:
                value.update(data=[base64.b64encode(x).decode() for x in flat], b64=True)
        elif array.size > LARGE:
            key = (dtype, array.shape, array.tobytes())
            value["ref"] = self.large.setdefault(key, f"t{len(self.large)}")
        else:
            value["data"] = [
                repr(x) if isinstance(x, float) and not np.isfinite(x) else x
                for x in array.ravel().tolist()
            ]
        return value

    def write(self, path):
        if not self.large:
            return
        kinds = {"float32": "F32", "int32": "I32", "int64": "I64", "uint8": "U8", "bool": "BOOL"}
        header, data = {}, b""
        for (dtype, shape, values), name in self.large.items():
            header[name] = {
                "dtype": kinds[dtype],
                "shape": list(shape),
                "data_offsets": [len(data), len(data) + len(values)],
            }
            data += values
        text = json.dumps(header, separators=(",", ":")).encode()
        text += b" " * (-len(text) % 8)
        path.write_bytes(len(text).to_bytes(8, "little") + text + data)


def type_of(spec):
    return {"dtype": spec.dtype.name, "shape": [-1 if n is None else n for n in spec.shape]}


def variables_of(path):
    """What the checkpoint holds, in the numbers by which a reader is judged."""
    reader = tf.train.load_checkpoint(path)
    found = {}
    for name, shape in sorted(reader.get_variable_to_shape_map().items()):
        if name == "_CHECKPOINTABLE_OBJECT_GRAPH":
            continue
        value = np.asarray(reader.get_tensor(name))
        total = value.astype(np.float64).sum() if value.dtype != bool else int(value.sum())
        first = value.ravel()[:1].tolist()
        found[name] = {
            "dtype": value.dtype.name,
            "shape": list(shape),
            "sum": float(total),
            "first": first[0] if first else None,
        }
    return found


def operations_of(path):
    """The op types of a model, its functions' too."""
    saved = saved_model_pb2.SavedModel.FromString((path / "saved_model.pb").read_bytes())
    graph = saved.meta_graphs[0].graph_def
    nodes = [*graph.node, *(node for f in graph.library.function for node in f.node_def)]
    own = {f.signature.name for f in graph.library.function}
    return sorted({node.op for node in nodes} - own)


def run_steps(signatures, steps, values):
    """The case's steps, with what TensorFlow gives by the signatures of a loaded model."""
    done = []
    for name, inputs in steps:
        outputs = signatures[name](**{key: tf.constant(value) for key, value in inputs.items()})
        done.append(
            {
                "signature": name,
                "inputs": {key: values.json(value) for key, value in inputs.items()},
                "expect": {key: values.json(v.numpy()) for key, v in sorted(outputs.items())},
                **TOLERANCE,
            }
        )
    return done


def dump(path, value):
    """JSON whose lists of numbers stand in a line."""
    text = json.dumps(value, indent=1, ensure_ascii=False)
    text = re.sub(
        r"\[\s+([^\[\]{}]*?)\s+\]", lambda m: f"[{re.sub(chr(10) + ' *', ' ', m[1])}]", text
    )
    path.write_text(text + "\n")


def export(kind, folder):
    with tempfile.TemporaryDirectory() as scratch:
        model = kind(scratch) if kind.__init__.__code__.co_argcount > 1 else kind()
        first = dict(reversed(model.steps()))  # of each signature
        batch = {key: value for key, value in first["train"].items() if key != "rate"}
        for function, inputs in ((model.serve, first["serving_default"]), (model.loss, batch)):
            function(**{key: tf.constant(value) for key, value in inputs.items()})  # makes weights
        model.random.seed(1)
        steps = model.steps()
        functions = model.signatures()
        options = tf.saved_model.SaveOptions(experimental_debug_stripper=True)
        tf.saved_model.save(model, str(folder / "model"), functions, options)
    return steps


def write_case(title, parent):
    """Writes a case; what stands in index.json of it."""
    folder = parent / title
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    steps = export(MODELS[title], folder)
    values = Values()
    model = tf.saved_model.load(str(folder / "model"))
    case = {
        "name": title,
        "doc": MODELS[title].doc,
        "kind": "savedmodel-v2",
        "tf_version": tf.__version__,
        "restore": getattr(MODELS[title], "restore", "saver"),
        "signatures": {
            name: {
                "inputs": {
                    k: type_of(v) for k, v in sorted(f.structured_input_signature[1].items())
                },
                "outputs": {k: type_of(v) for k, v in sorted(f.structured_outputs.items())},
            }
            for name, f in sorted(model.signatures.items())
        },
        "steps": run_steps(model.signatures, steps, values),
        "variables": variables_of(str(folder / "model/variables/variables")),
    }
    dump(folder / "case.json", case)
    values.write(folder / "data.safetensors")
    files = [path for path in (folder / "model").rglob("*") if path.is_file()]
    return {
        "name": title,
        "kind": case["kind"],
        "doc": case["doc"],
        "signatures": sorted(case["signatures"]),
        "steps": len(case["steps"]),
        "variables": len(case["variables"]),
        "shards": 1,
        "bytes": sum(path.stat().st_size for path in files),
        "ops": operations_of(folder / "model"),
    }


def keep(titles):
    """Writes cases to tests/saved_models, and their lines in its index."""
    index = json.loads((FOLDER / "index.json").read_text())
    for title in titles:
        entry = write_case(title, FOLDER)
        others = [case for case in index["cases"] if case["name"] != title]
        index["cases"] = sorted([*others, entry], key=lambda case: case["name"])
        print(f"{title}: {entry['bytes']} bytes, {len(entry['ops'])} op types", flush=True)
    (FOLDER / "index.json").write_text(json.dumps(index, indent=1, ensure_ascii=False) + "\n")


def check():
    """All models, new, on both engines: the number of those that fail."""
    passed = failed = 0
    gyre = str(ROOT / "build/release/bin/gyre")
    with tempfile.TemporaryDirectory() as folder:
        for title in sorted(MODELS):
            write_case(title, pathlib.Path(folder))
            for engine in ("dataflow", "reference"):
                case = os.path.join(folder, title)
                run = subprocess.run(
                    [gyre, "check", case, "--engine", engine],
                    capture_output=True,
                    text=True,
                    check=False,
                )
                if run.returncode != 0:
                    print(f"FAIL  {title} ({engine}): {(run.stdout + run.stderr)[-600:]}")
                failed += run.returncode != 0
                passed += run.returncode == 0
    print(f"{passed} passed, {failed} failed, 0 skipped")
    return failed


def main(arguments):
    if arguments[:1] == ["--keep"]:
        keep(arguments[1:] or GOLDEN)
    elif arguments[:1] == ["--to"]:
        parent = pathlib.Path(arguments[1])
        parent.mkdir(parents=True, exist_ok=True)
        for title in arguments[2:] or sorted(MODELS):
            print(f"{title}: {write_case(title, parent)['bytes']} bytes", flush=True)
    else:
        return check() > 0
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

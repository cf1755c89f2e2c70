"""Models that Gyre writes pass ONNX's checker, and give the same results in ONNX Runtime.

Run by ./dev test --peers, in a virtual environment with onnx and onnxruntime; takes folders of
cases, or those of this repository.

`gyre check CASES --as-onnx FOLDER` writes each run that has a form in ONNX as a model with its
inputs and the results that are wanted. What ONNX Runtime has no kernel for is counted and left out.
"""

import pathlib
import subprocess
import sys
import tempfile

import numpy as np
import onnx.numpy_helper
import onnxruntime

import onnx

ROOT = pathlib.Path(__file__).resolve().parents[2]
RTOL, ATOL = 1e-3, 1e-5


def read_value(path, kind):
    data = path.read_bytes()
    if kind == "sequence_type":
        sequence = onnx.SequenceProto.FromString(data)
        return [onnx.numpy_helper.to_array(value) for value in sequence.tensor_values]
    return onnx.numpy_helper.to_array(onnx.TensorProto.FromString(data))


def read_values(folder, what, infos):
    return [
        read_value(folder / f"{what}_{i}.pb", info.type.WhichOneof("value"))
        for i, info in enumerate(infos)
    ]


def difference(got, want):
    if isinstance(want, list):
        if len(got) != len(want):
            return f"{len(got)} elements, not {len(want)}"
        return next(filter(None, map(difference, got, want)), None)
    got, want = np.asarray(got), np.asarray(want)
    if got.shape != want.shape:
        return f"shape {got.shape}, not {want.shape}"
    if want.dtype.kind in "fc":
        equal = np.allclose(got, want, RTOL, ATOL, equal_nan=True)
    else:
        equal = np.array_equal(got.astype(want.dtype), want)
    return None if equal else f"{got.reshape(-1)[:4]}, not {want.reshape(-1)[:4]}"


def check(model):
    """The checker takes no input or output whose rank is not known."""
    values = [*model.graph.input, *model.graph.output]
    if all(value.type.tensor_type.HasField("shape") for value in values if is_tensor(value)):
        onnx.checker.check_model(model, full_check=True)
    else:
        onnx.shape_inference.infer_shapes(model, check_type=True, strict_mode=True)


def is_tensor(value):
    return value.type.WhichOneof("value") == "tensor_type"


def run_case(folder):
    """None, a complaint, or, with `lacks: `, what ONNX Runtime has no kernel for."""
    data = folder / "test_data_set_0"
    model = onnx.load(folder / "model.onnx")
    check(model)
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    try:
        session = onnxruntime.InferenceSession(folder / "model.onnx", options)
    except Exception as error:
        text = str(error)
        if "NOT_IMPLEMENTED" in text:
            return "lacks: " + text.split("NOT_IMPLEMENTED :")[-1].strip()
        raise
    try:
        feeds = dict(
            zip(
                [value.name for value in model.graph.input],
                read_values(data, "input", model.graph.input),
            )
        )
        wanted = read_values(data, "output", model.graph.output)
    except FileNotFoundError:
        return None  # values that have no file: optionals
    except UnicodeDecodeError:
        return "lacks: texts that are not UTF-8"
    for output, got, want in zip(model.graph.output, session.run(None, feeds), wanted):
        wrong = difference(got, want)
        if wrong:
            return f"{output.name}: {wrong}"
    return None


def main():
    gyre = ROOT / "build/release/bin/gyre"
    cases = sys.argv[1:] or [ROOT / "tests/golden", ROOT / "tests/golden_onnx"]
    passed, failed, lacking = 0, 0, {}
    with tempfile.TemporaryDirectory() as scratch:
        command = [gyre, "check", *cases, "--as-onnx", scratch]
        subprocess.run(command, stdout=subprocess.DEVNULL)
        for model in sorted(pathlib.Path(scratch).glob("*/*/model.onnx")):
            name = "/".join(model.parts[-3:-1])
            try:
                complaint = run_case(model.parent)
            except Exception as error:
                complaint = f"{type(error).__name__}: {error}"
                if "umpy" in str(error) and isinstance(error, RuntimeError):
                    complaint = "lacks: values that numpy has no type for"
            if complaint is None:
                passed += 1
            elif complaint.startswith("lacks: "):
                lacking[complaint[7:]] = lacking.get(complaint[7:], 0) + 1
            else:
                failed += 1
                print(f"FAIL  {name}: {complaint[:600]}")
    for what, count in sorted(lacking.items(), key=lambda item: -item[1]):
        print(f"{count:6} without a kernel: {what[:120]}")
    print(f"{passed} passed, {failed} failed, {sum(lacking.values())} skipped")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())

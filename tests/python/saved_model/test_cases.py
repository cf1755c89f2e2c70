"""Every case of tests/saved_models gives from Python what TensorFlow recorded."""

import base64
import json
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file

import gyre

FOLDER = Path(__file__).parents[2] / "saved_models"
CASES = sorted(path.parent for path in FOLDER.glob("*/case.json"))
NUMBERS = {"nan": np.nan, "inf": np.inf, "-inf": -np.inf}


def value_of(recorded, folder):
    if "ref" in recorded:
        return load_file(folder / "data.safetensors")[recorded["ref"]]
    data, dtype = recorded["data"], recorded["dtype"]
    if dtype == "string":
        data = [base64.b64decode(x) if recorded.get("b64") else x.encode() for x in data]
        return np.array(data, object).reshape(recorded["shape"])
    if dtype.startswith("complex"):
        data = [complex(*x) for x in data]
    data = [NUMBERS.get(x, x) if isinstance(x, str) else x for x in data]
    return np.array(data).astype(gyre.as_dtype(dtype).as_numpy_dtype).reshape(recorded["shape"])


def same(got, want, step):
    got = np.asarray(got, object) if want.dtype.kind == "O" else got
    assert got.shape == want.shape
    if want.dtype.kind in "fc":
        np.testing.assert_allclose(got, want, rtol=step["rtol"], atol=step["atol"])
    else:
        np.testing.assert_array_equal(got, want)


def signature_cases():
    return [folder for folder in CASES if json.loads((folder / "case.json").read_text())["kind"] != "metagraph"]


@pytest.mark.parametrize("folder", signature_cases(), ids=lambda folder: folder.name)
def test_signatures(folder):
    case = json.loads((folder / "case.json").read_text())
    model = gyre.saved_model.load(folder / "model")
    assert set(model.signatures) == set(case["signatures"])
    for step in case["steps"]:
        inputs = {name: gyre.constant(value_of(value, folder), value["dtype"])
                  for name, value in step["inputs"].items()}
        outputs = model.signatures[step["signature"]](**inputs)
        assert set(outputs) == set(step["expect"])
        for name, want in step["expect"].items():
            same(outputs[name].numpy(), value_of(want, folder), step)


def test_all_kinds_of_cases_are_there():
    assert len(CASES) == 13 and len(signature_cases()) == 11

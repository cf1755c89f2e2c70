"""Golden cases for programs in Python: values as numpy arrays, and how they differ.

tests/golden/README.md has the format. It is read without Gyre, whose results are to be judged.
"""

import base64
import json

import numpy as np

NUMBERS = {"nan": np.nan, "inf": np.inf, "-inf": -np.inf}
KINDS = {
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


def read_safetensors(path):
    """name -> array of a safetensors file."""
    data = path.read_bytes()
    size = int.from_bytes(data[:8], "little")
    header = json.loads(data[8 : 8 + size])
    arrays = {}
    for name, entry in header.items():
        if name == "__metadata__":
            continue
        begin, end = entry["data_offsets"]
        raw = data[8 + size + begin : 8 + size + end]
        arrays[name] = np.frombuffer(raw, KINDS[entry["dtype"]]).reshape(entry["shape"])
    return arrays


def dtype_of(name):
    if name != "bfloat16":
        return np.dtype(name)
    import ml_dtypes  # which few cases need

    return np.dtype(ml_dtypes.bfloat16)


def array_of(value, folder):
    """A value of the case in `folder`; strings as bytes."""
    shape = value["shape"]
    if "ref" in value:
        array = read_safetensors(folder / "data.safetensors")[value["ref"]]
        return array.astype(dtype_of(value["dtype"])).reshape(shape)
    data = value["data"]
    if value["dtype"] == "string":
        data = [base64.b64decode(x) if value.get("b64") else x.encode() for x in data]
        return np.array(data, object).reshape(shape)
    if value["dtype"].startswith("complex"):
        data = [complex(*(NUMBERS.get(x, x) for x in pair)) for pair in data]
    data = [NUMBERS.get(x, x) if isinstance(x, str) else x for x in data]
    return np.array(data).astype(dtype_of(value["dtype"])).reshape(shape)


def difference(got, want, step):
    """What is wrong with what came out of a step, in a phrase, or None."""
    got = np.asarray(got, object) if want.dtype == object else np.asarray(got)
    if got.shape != want.shape:
        return f"shape {got.shape} instead of {want.shape}"
    if want.dtype.kind in "fc":
        same = np.isclose(got, want, rtol=step["rtol"], atol=step["atol"], equal_nan=True).all()
    else:
        same = np.array_equal(got, want)
    return None if same else f"{got!r} instead of {want!r}"

"""Runs a program of tests/programs under one library, and compares what it returns with a record.

    python tests/programs/runner.py v2/collatz --library gyre

prints the results as JSON. A program names its library in one line; here that line, and nothing
else, is replaced. See tests/programs/README.md for the format.
"""

import argparse
import base64
import json
import re
import sys
import types
from pathlib import Path

import numpy as np

FOLDER = Path(__file__).parent
LINES = {
    "v1": {
        "tensorflow": "import tensorflow.compat.v1 as tf",
        "gyre": "import gyre.compat.v1 as tf",
    },
    "v2": {"tensorflow": "import tensorflow as tf", "gyre": "import gyre as tf"},
}


def programs(kind: str) -> list[str]:
    """Names ("v2/collatz") of the programs of one style."""
    return sorted(f"{kind}/{path.stem}" for path in (FOLDER / kind).glob("*.py"))


def load(name: str, library: str) -> types.ModuleType:
    """The program as a module, with its one line of import changed.
    ValueError if it has not one."""
    kind = name.split("/")[0]
    path = FOLDER / f"{name}.py"
    source = path.read_text()
    line = LINES[kind]["tensorflow"]
    if len(re.findall(rf"^{re.escape(line)}$", source, re.MULTILINE)) != 1:
        raise ValueError(f"{path} must have the line {line!r} once")
    module = types.ModuleType("program_" + path.stem)
    module.__file__ = str(path)
    sys.modules[module.__name__] = module  # where inspect looks for the source of its functions
    source = re.sub(rf"^{re.escape(line)}$", LINES[kind][library], source, flags=re.MULTILINE)
    exec(compile(source, str(path), "exec"), vars(module))
    return module


def run(name: str, library: str) -> dict:
    """What the program returns, encoded."""
    module = load(name, library)
    if library == "tensorflow" and getattr(module, "PEER", None) == "expected":
        return encode(module.expected())
    return encode(module.main())


def _encode(value):
    array = np.asarray(value.numpy() if hasattr(value, "numpy") else value)
    if array.dtype.kind == "O" and all(isinstance(x, bytes) for x in array.flat):
        array = array.astype("S")
    kind = array.dtype.name
    if array.dtype.kind in "SU":
        kind = "bytes" if array.dtype.kind == "S" else "str"
        values = [v.decode("latin-1") if isinstance(v, bytes) else str(v) for v in array.flat]
    elif array.dtype.kind == "c":
        values = [[float(v.real), float(v.imag)] for v in array.flat]
    elif array.dtype.kind in "iub":
        values = [v.item() for v in array.flat]
    elif array.dtype.kind == "O":
        raise TypeError(f"a program must not return a {type(value).__name__}: {value!r}")
    else:
        values = [float(v) for v in array.flat]  # bfloat16 is kind V
    if len(values) > 4096:
        return {
            "dtype": kind,
            "shape": list(array.shape),
            "base64": base64.b64encode(array.tobytes()).decode(),
        }
    return {"dtype": kind, "shape": list(array.shape), "values": values}


def encode(results: dict) -> dict:
    """Results as what JSON has: dtype, shape and flat values of each."""
    return {name: _encode(value) for name, value in results.items()}


def _decode(entry: dict) -> np.ndarray:
    if "base64" in entry:
        flat = np.frombuffer(base64.b64decode(entry["base64"]), np.dtype(entry["dtype"]))
    elif entry["dtype"].startswith("complex"):
        flat = np.array([complex(*v) for v in entry["values"]])
    else:
        flat = np.array(entry["values"])
    return flat.reshape(entry["shape"])


def differences(got: dict, recorded: dict, tolerance: float) -> list[str]:
    """What differs, a line each: names, dtypes, shapes; floats beyond the tolerance, relative and
    absolute; everything else by any bit."""
    found = [f"{name}: only in one of the two" for name in sorted(got.keys() ^ recorded.keys())]
    for name in sorted(got.keys() & recorded.keys()):
        a, b = got[name], recorded[name]
        if (a["dtype"], a["shape"]) != (b["dtype"], b["shape"]):
            found.append(f"{name}: {a['dtype']}{a['shape']} instead of {b['dtype']}{b['shape']}")
            continue
        x, y = _decode(a), _decode(b)
        exact = x.dtype.kind not in "fc"
        same = (
            np.array_equal(x, y)
            if exact
            else np.allclose(x, y, rtol=tolerance, atol=tolerance, equal_nan=True)
        )
        if not same:
            found.append(f"{name}: {str(x.tolist())[:300]} instead of {str(y.tolist())[:300]}")
    return found


def tolerance_of(name: str) -> float:
    """The program's own, or 1e-5."""
    stated = re.search(r"^TOLERANCE = (\S+)$", (FOLDER / f"{name}.py").read_text(), re.MULTILINE)
    return float(stated[1]) if stated else 1e-5


def record_path(name: str) -> Path:
    """Where the results of a program are recorded."""
    return FOLDER / "results" / f"{name}.json"


def write_record(name: str, results: dict) -> None:
    """Records results, a line for each."""
    lines = ",\n".join(f"{json.dumps(key)}: {json.dumps(value)}" for key, value in results.items())
    record_path(name).parent.mkdir(parents=True, exist_ok=True)
    record_path(name).write_text("{\n" + lines + "\n}\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("name")
    parser.add_argument("--library", choices=("gyre", "tensorflow"), default="gyre")
    arguments = parser.parse_args()
    print(json.dumps(run(arguments.name, arguments.library)))


if __name__ == "__main__":
    main()

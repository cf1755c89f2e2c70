"""The example of a program of graphs and sessions."""

import importlib.util
from pathlib import Path

FILE = Path(__file__).parents[3] / "examples" / "python" / "v1_dynamic_rnn.py"


def test_it_learns():
    spec = importlib.util.spec_from_file_location("v1_dynamic_rnn", FILE)
    example = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(example)
    said = []
    first, last, answer = example.train(report=said.append)
    assert last < first / 10 and abs(answer - 0.75) < 0.25 and len(said) == 7
    source = FILE.read_text().splitlines()
    assert len(source) <= 120
    assert [line for line in source if line.startswith(("import", "from"))] == [
        "import numpy as np",
        "import gyre.compat.v1 as tf",
    ]

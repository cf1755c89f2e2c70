"""Functions of Python, called again and again and disturbed:
right values, and nothing that stays."""

import json
import os
import subprocess
import sys
from pathlib import Path

from child_signals import set_default_signals

PROGRAM = Path(__file__).with_name("soak_program.py")
KEPT = 8 << 20  # what allocators keep for later


def test_a_process_holds_what_it_held_however_many_functions_it_has_called():
    is_long = bool(os.environ.get("GYRE_TEST_LONG"))
    calls, seed = 1_000_000 if is_long else 10_000, os.environ.get("GYRE_TEST_SEED", "20261123")
    run = subprocess.run(
        [sys.executable, PROGRAM, str(calls), seed],
        capture_output=True,
        text=True,
        preexec_fn=set_default_signals,
        timeout=3600,
    )
    print(f"GYRE_TEST_SEED={seed}", run.stdout)
    assert run.returncode == 0, run.stderr
    told = json.loads(run.stdout)
    assert (
        told["functions"] >= 80 and told["disturbed"] > calls / 5 and told["signals"] > calls / 50
    )
    tenth, _, full = told["states"]
    assert full["descriptors"] == tenth["descriptors"]
    # The one that compiles and optimises begins when the first program is hot.
    assert full["threads"] - tenth["threads"] in (0, 1)
    assert full["objects"] < tenth["objects"] + 500
    assert full["resident"] < tenth["resident"] + KEPT

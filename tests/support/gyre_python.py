"""Gyre in a process of its own, for tests that run beside a peer: both would load protobuf."""

import os
import pathlib
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]


def run_gyre(*arguments, input=None) -> str:
    """What Python with Gyre (build/venv's, or that of GYRE_PYTHON) prints, called with these
    arguments. RuntimeError with what it says where it fails."""
    python = os.environ.get("GYRE_PYTHON", str(ROOT / "build/venv/bin/python"))
    run = subprocess.run(
        [python, *arguments],
        input=input,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
        env={**os.environ, "PYTHONPATH": str(ROOT / "python")},
    )
    if run.returncode != 0:
        raise RuntimeError(run.stderr.strip())
    return run.stdout

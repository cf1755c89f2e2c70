"""Programs of the control flow API: what gyre does with tensors, and what Python or numpy gives."""

import importlib
from pathlib import Path

PROGRAMS = []


def program(expected, *sets):
    """Registers a function of tensors; expected(*args) is what it must give, for each set of
    arguments."""

    def register(fn):
        for args in sets:
            PROGRAMS.append((fn, expected, args))
        return fn

    return register


for _file in sorted(Path(__file__).parent.glob("[a-z]*.py")):
    importlib.import_module(f"programs.{_file.stem}")

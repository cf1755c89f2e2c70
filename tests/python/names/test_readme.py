"""The programs in README.md and in the guides run."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
PROGRAMS = {
    page: re.findall(r"^```python\n(.*?)^```", (ROOT / page).read_text(), re.M | re.S)
    for page in ("README.md", "docs/guide/python.md", "docs/distribution.md")
}


def test_pages_have_programs():
    assert all(PROGRAMS.values())


@pytest.mark.parametrize(
    "program", [program for programs in PROGRAMS.values() for program in programs]
)
def test_program(program, tmp_path):
    file = tmp_path / "program.py"
    file.write_text(program)
    done = subprocess.run([sys.executable, file], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout

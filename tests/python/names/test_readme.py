"""The programs in README.md run."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

README = Path(__file__).parents[3] / "README.md"
PROGRAMS = re.findall(r"^```python\n(.*?)^```", README.read_text(), re.M | re.S)


def test_readme_has_programs():
    assert PROGRAMS


@pytest.mark.parametrize("program", PROGRAMS)
def test_program(program, tmp_path):
    file = tmp_path / "program.py"
    file.write_text(program)
    done = subprocess.run([sys.executable, file], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout

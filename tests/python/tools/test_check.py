"""gyre.check says what the command line says."""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import gyre

GOLDEN = Path(__file__).parents[2] / "golden"


def command_line(*words):
    """(output, counts of its last line) of `python -m gyre check …`."""
    done = subprocess.run(
        [sys.executable, "-m", "gyre", "check", *map(str, words)],
        capture_output=True,
        text=True,
        check=False,
    )
    counts = re.fullmatch(
        r"(\d+) passed, (\d+) failed, (\d+) skipped", done.stdout.splitlines()[-1]
    )
    return done.stdout, tuple(map(int, counts.groups()))


@pytest.mark.parametrize("folder", ["while_v1", "cond_v2"])
def test_counts_of_a_folder(folder):
    report = gyre.check(GOLDEN / folder)
    text, counts = command_line(GOLDEN / folder)
    assert report[:3] == counts and report.text == text
    assert report.passed > 20 and not report.failures


def test_options():
    report = gyre.check(
        str(GOLDEN), only=["collatz", "bfs"], engine="reference", jobs=1, verbose=True
    )
    text, counts = command_line(GOLDEN, "--only", "collatz,bfs", "--engine", "reference")
    assert report[:3] == counts and report.passed >= 2
    assert "ok    " in report.text


@pytest.fixture
def broken(tmp_path):
    """A folder of three cases: one sound, one that expects something else, one that is no case."""
    for case in ("collatz", "bfs", "binary_search"):
        shutil.copytree(GOLDEN / "while_v1" / case, tmp_path / case)
    path = tmp_path / "collatz" / "case.json"
    case = json.loads(path.read_text())
    value = case["steps"][0]["expect"][0]
    value["data"] = [x + 1 for x in value["data"]]
    path.write_text(json.dumps(case))
    (tmp_path / "bfs" / "case.json").write_text("{")
    return tmp_path


def test_failures_by_name(broken):
    report = gyre.check(broken)
    text, counts = command_line(broken)
    assert report[:3] == counts and report.text == text
    assert report.failed == len(report.failures) == text.count("FAIL  ") >= 2
    assert any("collatz" in name and why for name, why in report.failures.items())
    assert any("bfs" in name for name in report.failures)
    for name, why in report.failures.items():
        assert f"FAIL  {name}: {why}\n" in text


def test_misuse():
    with pytest.raises(ValueError, match="there is no folder"):
        gyre.check(GOLDEN / "nowhere")
    with pytest.raises(ValueError, match="there is no option --nonsense"):
        gyre.check(GOLDEN, nonsense=3)

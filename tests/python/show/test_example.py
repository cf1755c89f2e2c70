"""The example that trains a character LSTM, for some seconds."""

import os
import re
import subprocess
import sys
from pathlib import Path

from matplotlib.colors import to_rgb
from matplotlib.image import imread

EXAMPLE = Path(__file__).parents[3] / "examples" / "python" / "train_char_lstm.py"


def test_it_learns_and_leaves_everything(tmp_path):
    done = subprocess.run(
        [sys.executable, str(EXAMPLE), "--seconds", "8", "--out", str(tmp_path)],
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert done.returncode == 0, done.stderr
    losses = [float(text) for text in re.findall(r"loss ([\d.]+)", done.stdout)]
    assert losses[0] > 4 and losses[-1] < 3.8
    assert len((tmp_path / "generated.txt").read_text("ascii")) > 500
    picture = imread(tmp_path / "loss.png")[:, :, :3]
    line = (abs(picture - to_rgb("C0")) < 0.1).all(axis=2)
    assert picture.shape[1] > picture.shape[0] > 300
    # from one corner to the other
    assert line.any(axis=0).mean() > 0.7 and line.any(axis=1).mean() > 0.3
    page = (tmp_path / "program.html").read_text("utf-8")
    assert "∇ for" in page and "h, (h, c) = self.cell" in page
    assert "while" in (tmp_path / "generate.html").read_text("utf-8")
    assert (tmp_path / "step.trace.json").stat().st_size > 10_000

"""The example that trains a character LSTM, for some seconds."""

import os
import re
import struct
import subprocess
import sys
import zlib
from pathlib import Path

EXAMPLE = Path(__file__).parents[3] / "examples" / "python" / "train_char_lstm.py"


def pixels(path):
    """(width, height, set of colours) of a PNG of 8-bit RGB, which is checked."""
    data = path.read_bytes()
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    at, parts = 8, {}
    while at < len(data):
        size, kind = struct.unpack(">I4s", data[at:at + 8])
        body = data[at + 8:at + 8 + size]
        assert struct.unpack(">I", data[at + 8 + size:at + 12 + size])[0] == zlib.crc32(kind + body)
        parts[kind] = body
        at += 12 + size
    width, height, *form = struct.unpack(">IIBBBBB", parts[b"IHDR"])
    assert form == [8, 2, 0, 0, 0]
    rows = zlib.decompress(parts[b"IDAT"])
    assert len(rows) == height * (1 + 3 * width)
    return width, height, {rows[i:i + 3] for y in range(height) for i in range(
        y * (1 + 3 * width) + 1, (y + 1) * (1 + 3 * width), 3)}


def test_it_learns_and_leaves_everything(tmp_path):
    done = subprocess.run([sys.executable, str(EXAMPLE), "--seconds", "8", "--out", str(tmp_path)],
                          capture_output=True, text=True, timeout=240, check=False,
                          env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)})
    assert done.returncode == 0, done.stderr
    losses = [float(text) for text in re.findall(r"loss ([\d.]+)", done.stdout)]
    assert losses[0] > 4 and losses[-1] < 3.8
    assert len((tmp_path / "generated.txt").read_text("ascii")) > 500
    width, height, colours = pixels(tmp_path / "loss.png")
    assert width > height > 300 and len(colours) > 10
    page = (tmp_path / "program.html").read_text("utf-8")
    assert "∇ for" in page and "h, (h, c) = self.cell" in page
    assert "while" in (tmp_path / "generate.html").read_text("utf-8")
    assert (tmp_path / "step.trace.json").stat().st_size > 10_000

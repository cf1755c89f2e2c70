"""TensorFlow reads the event files that Gyre writes. Run by ./dev test --peers."""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

REPOSITORY = Path(__file__).parents[2]
WRITE = """
import sys, gyre
with gyre.summary.create_file_writer(sys.argv[1]).as_default() as writer:
    for step in range(300):
        gyre.summary.scalar("loss", step / 4, step=step)
    gyre.summary.scalar("negative", -1.5, step=2**40)
writer.close()
"""


def main() -> int:
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    import tensorflow as tf

    python = os.environ.get("GYRE_PYTHON", str(REPOSITORY / "build" / "venv" / "bin" / "python"))
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(
            [python, "-c", WRITE, folder],
            check=True,
            env={**os.environ, "PYTHONPATH": str(REPOSITORY / "python")},
        )
        (path,) = Path(folder).iterdir()
        first, *events = tf.compat.v1.train.summary_iterator(str(path))
        found = [
            (
                value.tag,
                event.step,
                float(tf.make_ndarray(value.tensor)),
                value.metadata.plugin_data.plugin_name,
            )
            for event in events
            for value in event.summary.value
        ]
    expected = [("loss", step, step / 4, "scalars") for step in range(300)]
    expected.append(("negative", 2**40, -1.5, "scalars"))
    good = first.file_version == "brain.Event:2" and found == expected
    if not good:
        print(f"FAILED: {first.file_version!r}, {found[:3]} … {found[-1:]}")
    print(f"{int(good)} passed, {int(not good)} failed, 0 skipped")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())

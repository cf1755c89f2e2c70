"""Runs the programs of tests/programs under TensorFlow, and holds Gyre's results to it.

    python tests/peers/programs.py [NAME...]           both sides, as `./dev test --peers` does
    python tests/peers/programs.py --write [NAME...]   records what TensorFlow gives

NAME is as in "v2/collatz"; none: all. Each program runs in a process of its own. Gyre's side runs
in the Python that GYRE_PYTHON names (build/venv/bin/python). The last line is "N passed, N failed,
N skipped".
"""

import argparse
import json
import multiprocessing
import os
import subprocess
import sys
import traceback
from pathlib import Path

REPOSITORY = Path(__file__).parents[2]
sys.path.insert(0, str(REPOSITORY / "tests" / "programs"))

import runner  # noqa: E402


def _send(name: str, pipe) -> None:
    try:
        pipe.send((runner.run(name, "tensorflow"), None))
    except BaseException:
        pipe.send((None, traceback.format_exc()))


def under_tensorflow(name: str) -> tuple[dict | None, str | None]:
    """(results, error) of a program, in a child that has TensorFlow's modules already."""
    context = multiprocessing.get_context("fork")
    receive, send = context.Pipe(duplex=False)
    child = context.Process(target=_send, args=(name, send))
    child.start()
    send.close()
    try:
        answer = receive.recv()
    except EOFError:
        answer = None, "the process died"
    child.join()
    return answer


def under_gyre(name: str) -> tuple[dict | None, str | None]:
    """(results, error) of a program, in a new process."""
    python = os.environ.get("GYRE_PYTHON", str(REPOSITORY / "build" / "venv" / "bin" / "python"))
    done = subprocess.run(
        [python, str(REPOSITORY / "tests" / "programs" / "runner.py"), name],
        env={**os.environ, "PYTHONPATH": str(REPOSITORY / "python")},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    if done.returncode:
        return None, done.stderr
    return json.loads(done.stdout.splitlines()[-1]), None


def compare(name: str) -> list[str]:
    """What differs between the two libraries."""
    theirs, error = under_tensorflow(name)
    if error:
        return ["under TensorFlow: " + error]
    ours, error = under_gyre(name)
    if error:
        return ["under Gyre: " + error]
    return runner.differences(ours, theirs, runner.tolerance_of(name))


def write(name: str) -> list[str]:
    """Records a program's results."""
    results, error = under_tensorflow(name)
    if error:
        return [error]
    runner.write_record(name, results)
    return []


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--write", action="store_true")
    parser.add_argument("names", nargs="*")
    arguments = parser.parse_args()
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")
    import tensorflow  # noqa: F401  (the children find it loaded)

    names = arguments.names or [n for kind in runner.LINES for n in runner.programs(kind)]
    failed = 0
    for name in names:
        found = write(name) if arguments.write else compare(name)
        failed += bool(found)
        for line in found:
            print(f"{name}: {line}")
    print(f"{len(names) - failed} passed, {failed} failed, 0 skipped")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

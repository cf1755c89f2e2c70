"""Programs on several ranks, as processes of this machine."""

import os
import signal
import socket
import subprocess
import sys
import tempfile
import textwrap
import time
from dataclasses import dataclass

_BEGIN = """
import os, sys, time
import numpy as np
import gyre
from gyre import distribute as d
rank, size = int(os.environ["GYRE_RANK"]), {n}
gyre.cluster.init(failure_timeout={failure_timeout}, {options})
"""


@dataclass
class Ended:
    """What became of a rank."""

    code: int
    out: str
    err: str
    seconds: float


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def start(n: int, body: str, *, failure_timeout: float = 5.0, options: str = "", env=None):
    """Processes that run `body` as ranks of one group: with gyre, d (gyre.distribute), np, rank and
    size."""
    hosts = ",".join([f"127.0.0.1:{free_port()}"] * n)
    code = _BEGIN.format(n=n, failure_timeout=failure_timeout, options=options)
    # A file: sources of functions are read.
    program = tempfile.NamedTemporaryFile("w", suffix=".py")
    program.write(code + textwrap.dedent(body))
    program.flush()
    processes = [
        subprocess.Popen(
            [sys.executable, program.name],
            env={**os.environ, "GYRE_HOSTS": hosts, "GYRE_RANK": str(rank), **(env or {})},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for rank in range(n)
    ]
    for process in processes:
        process.program = program
    return processes


def await_end(processes, timeout: float = 60.0) -> list[Ended]:
    """What became of them. AssertionError for one that has not ended by then, which is killed."""
    began = time.monotonic()
    ended = []
    try:
        for process in processes:
            left = began + timeout - time.monotonic()
            out, err = process.communicate(timeout=max(left, 0.1))
            ended.append(Ended(process.returncode, out, err, time.monotonic() - began))
    except subprocess.TimeoutExpired:
        raise AssertionError("a rank hangs") from None
    finally:
        for process in processes:
            if process.poll() is None:
                process.send_signal(signal.SIGKILL)
                process.communicate()
    return ended


def run(n: int, body: str, **options) -> list[str]:
    """What each rank has printed. AssertionError, with what it said, for one that failed."""
    ended = await_end(start(n, body, **options))
    for rank, one in enumerate(ended):
        assert one.code == 0, f"rank {rank}: {one.err}"
    return [one.out for one in ended]

"""Programs on several ranks, as processes of this machine."""

import os
import signal
import socket
import subprocess
import sys
import tempfile
import textwrap
import threading
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


class Supervised:
    """Ranks that are started again when they are killed, as launchers do; as a context, they end
    with it. `program` is what each of them runs, with what it says line by line in `said`."""

    def __init__(self, n: int, program: str, env=None):
        self._hosts = ",".join([f"127.0.0.1:{free_port()}"] * n)
        self._program = tempfile.NamedTemporaryFile("w", suffix=".py")
        self._program.write(textwrap.dedent(program))
        self._program.flush()
        self._env = env or {}
        self._changed = threading.Condition()
        self._ended: dict[int, int] = {}  # codes of those that have, by rank
        self.said: list[list[str]] = [[] for _ in range(n)]
        self.errors: list[list[str]] = [[] for _ in range(n)]
        self._keepers: list[threading.Thread] = []
        self._replaced: list[subprocess.Popen] = []
        self.processes: list[subprocess.Popen] = [self._begin(rank) for rank in range(n)]

    def _begin(self, rank: int) -> subprocess.Popen:
        process = self._start(rank)
        self._keepers.append(threading.Thread(target=self._keep, args=(rank, process)))
        self._keepers[-1].start()
        return process

    def _start(self, rank: int) -> subprocess.Popen:
        return subprocess.Popen(
            [sys.executable, self._program.name],
            env={**os.environ, "GYRE_HOSTS": self._hosts, "GYRE_RANK": str(rank), **self._env},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def _keep(self, rank: int, process: subprocess.Popen) -> None:
        while True:
            reader = threading.Thread(target=self._read, args=(process.stderr, self.errors[rank]))
            reader.start()
            self._read(process.stdout, self.said[rank])
            reader.join()
            if process.wait() != -signal.SIGKILL:
                break
            self.processes[rank] = process = self._start(rank)
        with self._changed:
            if process is self.processes[rank]:
                self._ended[rank] = process.returncode
            self._changed.notify_all()

    def _read(self, stream, into: list[str]) -> None:
        for line in stream:
            with self._changed:
                into.append(line.rstrip("\n"))
                self._changed.notify_all()

    def await_(self, holds, timeout: float = 60.0) -> None:
        """Until holds() is true. AssertionError, with what ranks have said, if it never is."""
        with self._changed:
            assert self._changed.wait_for(holds, timeout), f"{self.said}, {self.errors}"

    def code(self, rank: int) -> int | None:
        """With which code a rank has ended; None: it has not."""
        return self._ended.get(rank)

    def kill(self, rank: int, how=signal.SIGKILL) -> None:
        self.processes[rank].send_signal(how)

    def replace(self, rank: int, how) -> subprocess.Popen:
        """Starts another one in the place of a rank, which gets a signal, and is returned."""
        old = self.processes[rank]
        old.send_signal(how)
        self.processes[rank] = self._begin(rank)
        self._replaced.append(old)
        return old

    def await_end(self, timeout: float = 60.0) -> list[str]:
        """The last line of each, once all have ended well."""
        self.await_(lambda: len(self._ended) == len(self.processes), timeout)
        assert set(self._ended.values()) == {0}, f"{self._ended}, {self.errors}"
        return [lines[-1] for lines in self.said]

    def __enter__(self):
        return self

    def __exit__(self, *error):
        for process in [*self.processes, *self._replaced]:
            if process.poll() is None:
                process.send_signal(signal.SIGCONT)
                process.terminate()
        for keeper in self._keepers:
            keeper.join()

"""Workers of this machine, as child processes."""

import os
import secrets
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

from gyre._impl.cluster.connection import (
    TOKEN_VARIABLE,
    Cluster,
    connect,
    remember_token,
    target_of,
)
from gyre._impl.errors import UnavailableError

# A worker ends with the thread that has started it: with this one, which lasts as long as the
# process.
_starter = ThreadPoolExecutor(1, "gyre-workers")
_SECONDS_TO_STOP = 5


class Workers:
    """Processes on this machine that run programs; as a context, they end with it.

    Made by gyre.cluster.start_workers. They end with close(), or with this process, however that
    ends.
    """

    def __init__(self, processes: list[subprocess.Popen], token: str):
        self._processes = processes
        self._token = token
        self._addresses: list[str] = []

    @property
    def addresses(self) -> list[str]:
        """Where each is: "HOST:PORT"."""
        return list(self._addresses)

    @property
    def token(self) -> str:
        """What clients must know; drawn for these workers."""
        return self._token

    @property
    def target(self) -> str:
        """For sessions of this process: "gyre://HOST:PORT,HOST:PORT"."""
        return target_of(self._addresses)

    @property
    def processes(self) -> list[subprocess.Popen]:
        """The child processes, one per worker."""
        return list(self._processes)

    def connect(self, **options) -> Cluster:
        """gyre.cluster.connect to these workers."""
        return connect(self._addresses, self._token, **options)

    def close(self) -> None:
        """Ends them. What runs on them fails."""
        for process in self._processes:
            process.terminate()
        for process in self._processes:
            try:
                process.wait(_SECONDS_TO_STOP)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
            process.stdout.close()

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.close()

    def _await_addresses(self) -> None:
        for i, process in enumerate(self._processes):
            said = process.stdout.readline().split()  # "worker at HOST:PORT"
            if len(said) < 3:
                raise UnavailableError(
                    None,
                    None,
                    f"worker {i} has not started: it ended with code {process.wait()}, and said "
                    f"why on standard error",
                )
            self._addresses.append(said[2])
            remember_token(said[2], self._token)


def start_workers(
    n: int, devices_per_worker: int = 1, *, threads: int = 0, failure_timeout: float = 5.0
) -> Workers:
    """Starts n workers on this machine, as processes of `python -m gyre worker`.

        with gyre.cluster.start_workers(2) as workers, tf.Session(workers.target) as session: ...

    threads: how many of each work on a run; 0: one per core. failure_timeout: another worker that
    says nothing for so many seconds is gone. ValueError for less than one worker or device;
    UnavailableError where one does not start.
    """
    if n < 1 or devices_per_worker < 1:
        raise ValueError(
            f"at least one worker and one device are needed, not {n} of {devices_per_worker}"
        )
    token = secrets.token_hex(16)
    command = [
        sys.executable,
        "-P",
        "-m",
        "gyre",
        "worker",
        "--with-parent",
        "--devices",
        f"cpu:{devices_per_worker}",
        "--failure-timeout",
        str(round(failure_timeout * 1e3)),
    ]
    if threads:
        command += ["--threads", str(threads)]
    # They find what this process finds.
    path = os.pathsep.join(entry or os.getcwd() for entry in sys.path)
    environment = {**os.environ, TOKEN_VARIABLE: token, "PYTHONPATH": path}
    workers = Workers([], token)
    try:
        for _ in range(n):
            workers._processes.append(
                _starter.submit(
                    subprocess.Popen,
                    command,
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.PIPE,
                    text=True,
                    env=environment,
                ).result()
            )
        workers._await_addresses()
    except BaseException:
        workers.close()
        raise
    return workers

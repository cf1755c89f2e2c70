"""Server: a worker in this process."""

import os
import threading

from gyre import _gyre
from gyre._impl.cluster.connection import TOKEN_VARIABLE, own_token, remember_token, target_of
from gyre._impl.cluster.spec import ClusterSpec

# They serve until they are closed, whoever still holds them.
_serving: set = set()


class Server:
    """A task of a cluster, in this process: runs the parts of programs that are placed on it.

    server_or_cluster_def: a ClusterSpec, or what one is made of. job_name, task_index: which task
    this is; may be left out where there is but one. protocol: "grpc", or None. config: a
    ConfigProto, of which device_count["CPU"] and inter_op_parallelism_threads matter. start: False
    waits for start().
    token: what clients must know; by default what the environment has as GYRE_TOKEN, or else one
    that only sessions of this process know. Who knows it may run any program here.

    ValueError for a task that the cluster lacks; UnavailableError where nobody can listen;
    PermissionDeniedError for an address that other machines reach, without a token.
    """

    def __init__(
        self,
        server_or_cluster_def,
        job_name=None,
        task_index=None,
        protocol=None,
        config=None,
        start=True,
        token=None,
    ):
        if protocol not in (None, "grpc"):
            raise ValueError(f"the protocol is 'grpc', not {protocol!r}")
        self._cluster = ClusterSpec(server_or_cluster_def)
        self._job, self._task = _which(self._cluster, job_name, task_index)
        self._address = self._cluster.task_address(self._job, self._task)
        self._devices = (getattr(config, "device_count", None) or {}).get("CPU", 1)
        self._threads = getattr(config, "inter_op_parallelism_threads", 0)
        self._token = token or os.environ.get(TOKEN_VARIABLE)
        self._worker = None
        self._ended = threading.Event()
        if start:
            self.start()

    def start(self) -> None:
        """Begins to serve, if it does not yet."""
        if self._worker is not None:
            return
        token = self._token or own_token()
        self._worker = _gyre.Worker(
            self._address,
            token=token,
            token_is_given=bool(self._token),
            devices=self._devices,
            threads=self._threads,
        )
        _serving.add(self)
        asked, self._address = self._address, self._worker.address
        for address in (asked, self._address):  # sessions may name either
            remember_token(address, token)

    @property
    def target(self) -> str:
        """For a session on the whole cluster, which runs on this task what asks for no device."""
        own = f"/job:{self._job}/task:{self._task}={self._address}"
        others = [
            f"/job:{job}/task:{task}={self._cluster.task_address(job, task)}"
            for job in self._cluster.jobs
            for task in self._cluster.task_indices(job)
            if (job, task) != (self._job, self._task)
        ]
        return target_of([own, *others])

    def join(self) -> None:
        """Waits until the server is closed."""
        self._ended.wait()

    def close(self) -> None:
        """Ends it. What runs on it fails."""
        _serving.discard(self)
        if self._worker is not None:
            self._worker.close()
        self._ended.set()

    @staticmethod
    def create_local_server(config=None, start=True) -> "Server":
        """A cluster of one task, in this process: /job:localhost."""
        return Server({"localhost": ["127.0.0.1:0"]}, config=config, start=start)


def _which(cluster: ClusterSpec, job_name, task_index) -> tuple[str, int]:
    if job_name is None:
        if len(cluster.jobs) != 1:
            raise ValueError("Must specify an explicit job_name.")
        job_name = cluster.jobs[0]
    if task_index is None:
        if cluster.num_tasks(job_name) != 1:
            raise ValueError("Must specify an explicit task_index.")
        task_index = cluster.task_indices(job_name)[0]
    return job_name, task_index

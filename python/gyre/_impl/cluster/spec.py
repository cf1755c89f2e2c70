"""ClusterSpec: which jobs a cluster has, and where their tasks are."""


class ClusterSpec:
    """Jobs, and the addresses of their tasks.

        gyre.train.ClusterSpec(
            {"ps": ["10.0.0.1:2222"], "worker": ["10.0.0.2:2222", "10.0.0.3:2222"]}
        )

    cluster: {job: addresses}, where addresses are a list or {number of the task: address}; or
    another ClusterSpec. TypeError for anything else.
    """

    def __init__(self, cluster):
        if isinstance(cluster, ClusterSpec):
            cluster = cluster._jobs
        elif not isinstance(cluster, dict):
            raise TypeError(
                "`cluster` must be a dictionary of jobs, or a ClusterSpec, not "
                f"{type(cluster).__name__}"
            )
        self._jobs = {job: _tasks(job, tasks) for job, tasks in sorted(cluster.items())}

    @property
    def jobs(self) -> list[str]:
        """The names of the jobs."""
        return list(self._jobs)

    def num_tasks(self, job_name: str) -> int:
        """How many tasks a job has."""
        return len(self._of(job_name))

    def task_indices(self, job_name: str) -> list[int]:
        """The numbers of a job's tasks."""
        return list(self._of(job_name))

    def task_address(self, job_name: str, task_index: int) -> str:
        """The address of a task. ValueError if there is none of this number."""
        try:
            return self._of(job_name)[task_index]
        except KeyError:
            raise ValueError(f"No task with index {task_index!r} in job {job_name!r}") from None

    def job_tasks(self, job_name: str) -> list[str | None]:
        """The addresses of a job's tasks by number; None where there is no task of a number."""
        tasks = self._of(job_name)
        return [tasks.get(i) for i in range(max(tasks, default=-1) + 1)]

    def as_dict(self) -> dict:
        """{job: addresses}, as the cluster can be made of."""
        return {
            job: list(tasks.values()) if list(tasks) == list(range(len(tasks))) else dict(tasks)
            for job, tasks in self._jobs.items()
        }

    def _of(self, job_name: str) -> dict[int, str]:
        try:
            return self._jobs[job_name]
        except KeyError:
            raise ValueError(f"No such job in cluster: {job_name!r}") from None

    def __bool__(self) -> bool:
        return bool(self._jobs)

    def __eq__(self, other) -> bool:
        return isinstance(other, ClusterSpec) and self._jobs == other._jobs

    __hash__ = None  # pyright: ignore[reportAssignmentType] (as Python spells it)

    def __repr__(self) -> str:
        return f"ClusterSpec({self.as_dict()!r})"


def _tasks(job: str, tasks) -> dict[int, str]:
    if isinstance(tasks, (list, tuple)):
        tasks = dict(enumerate(tasks))
    elif not isinstance(tasks, dict):
        raise TypeError(
            f"The tasks for job {job!r} must be a list or a dictionary, not {type(tasks).__name__}"
        )
    for index, address in tasks.items():
        if not isinstance(index, int) or not isinstance(address, str):
            raise TypeError(
                f"a task of job {job!r} is a number with an address, not {index!r}: {address!r}"
            )
    return dict(sorted(tasks.items()))

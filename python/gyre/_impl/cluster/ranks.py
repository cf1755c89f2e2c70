"""Ranks: processes that run one program side by side, as a launcher has started them."""

from __future__ import annotations

import atexit
import dataclasses
import os

from gyre import _gyre
from gyre._impl.cluster.connection import TOKEN_VARIABLE
from gyre._impl.errors import FailedPreconditionError


@dataclasses.dataclass(frozen=True)
class ClusterEnv:
    """Which rank this process is, of how many, and where they meet."""

    launcher: str
    rank: int
    size: int
    coordinator: str
    incarnation: str
    local_rank: int
    local_size: int


def detect() -> ClusterEnv:
    """What the launcher of this process says in its environment: torchrun, mpirun (Open MPI, PMI,
    PMIx), Slurm, a Kubernetes Indexed Job, GYRE_HOSTS and GYRE_RANK, or TF_CONFIG. One rank, if
    nobody says anything. FailedPreconditionError and InvalidArgumentError, with the variable, where
    it is not enough, or makes no sense."""
    return ClusterEnv(*_gyre.detect_cluster_env())


def init(
    *,
    rank: int | None = None,
    size: int | None = None,
    coordinator: str | None = None,
    token: str | None = None,
    transport: str = "auto",
    join_timeout: float = 300.0,
    failure_timeout: float = 5.0,
    spin: float | None = None,
) -> ClusterEnv:
    """Makes this process a rank of its launch, and waits until all others are there.

    What is left out is as detect() says. coordinator: "HOST:PORT", where rank 0 listens meanwhile.
    token: what all ranks know, by default GYRE_TOKEN; without one they meet on this machine alone.
    transport: how values travel: "memory" (shared, within a machine), "tcp", or "auto".
    join_timeout: within so many seconds all must be there. failure_timeout: a rank that says
    nothing for so many seconds is gone, and ranks that wait for each other for so long have
    diverged. spin: for how many seconds who waits polls before it sleeps; by default as this
    machine's cores allow.

    DeadlineExceededError, with the ranks that are missing; PermissionDeniedError without a token
    where other machines could join; UnauthenticatedError for another one; FailedPreconditionError
    if it is a rank already.
    """
    env = env_of(rank, size, coordinator)
    join(
        env,
        token=token,
        transport=transport,
        join_timeout=join_timeout,
        failure_timeout=failure_timeout,
        spin=spin,
    )
    return env


def env_of(rank: int | None, size: int | None, coordinator: str | None) -> ClusterEnv:
    """What detect() says, but for what is given."""
    if rank is not None and size is not None and coordinator is not None:
        return ClusterEnv("the program", rank, size, coordinator, "", 0, 1)
    given = {"rank": rank, "size": size, "coordinator": coordinator}
    return dataclasses.replace(detect(), **{k: v for k, v in given.items() if v is not None})


def join(
    env: ClusterEnv,
    *,
    token: str | None = None,
    transport: str = "auto",
    join_timeout: float = 300.0,
    failure_timeout: float = 5.0,
    spin: float | None = None,
    epoch: int = 0,
    tries_again: bool = False,
) -> None:
    """Becomes a rank, as init() does. epoch: of the group that this process was in before.
    tries_again: ranks that are lost on the way are waited for."""
    if _gyre.rank_and_size()[1] > 1:
        raise FailedPreconditionError(None, None, "this process is a rank already")
    if env.size <= 1:
        return
    _gyre.join_group(
        env.rank,
        env.size,
        env.coordinator,
        token=os.environ.get(TOKEN_VARIABLE, "") if token is None else token,
        launch=env.incarnation,
        transport=transport,
        join_timeout_ms=round(join_timeout * 1e3),
        failure_timeout_ms=round(failure_timeout * 1e3),
        spin_us=-1 if spin is None else round(spin * 1e6),
        epoch=epoch,
        tries_again=tries_again,
    )
    atexit.register(leave)


def leave(why: str = "") -> None:
    """Ends what init() began: the others see this rank go, and hear why. What they still take of
    what it has sent is waited for."""
    atexit.unregister(leave)
    _gyre.leave_group(why)


def rank() -> int:
    """This process's rank; 0 if it is alone."""
    return _gyre.rank_and_size()[0]


def size() -> int:
    """How many ranks there are; 1 if this process is alone."""
    return _gyre.rank_and_size()[1]

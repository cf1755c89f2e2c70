"""run: a program on all ranks of a launch, which begins anew when one of them is lost."""

from __future__ import annotations

import dataclasses
import gc
import sys
import time
from collections.abc import Callable
from typing import Any

from gyre import _gyre
from gyre._impl import errors
from gyre._impl.cluster import ranks
from gyre._impl.distribute.collectives import barrier

_LOOK_SECONDS = 0.01
_ASK_SECONDS = 2.0  # how often a coordinator that may move is asked for
# What an attempt to join ends with when its time is over.
_MAY_PASS = (
    errors.AbortedError,
    errors.AlreadyExistsError,
    errors.DeadlineExceededError,
    errors.UnavailableError,
)


def run(
    fn: Callable[..., Any],
    args=(),
    *,
    restarts: int = 100,
    rank: int | None = None,
    size: int | None = None,
    coordinator: str | Callable[[], str] | None = None,
    token: str | None = None,
    transport: str = "auto",
    join_timeout: float = 300.0,
    failure_timeout: float = 5.0,
    spin: float | None = None,
) -> Any:
    """What fn(*args) returns, called as a rank of the launch; the other arguments are those of
    cluster.init.

    When a rank is lost, the others end their call, wait for whoever the launcher starts in its
    place (join_timeout seconds), and all call fn again: what distribute.Checkpoint has saved in it
    is where they go on. Random numbers without a seed begin in each call as in the first. restarts:
    so often at most; then the error that names the lost rank is raised, as errors of fn itself are.
    A process whose place another one has taken meanwhile ends with FailedPreconditionError.
    """
    where, at = (coordinator, coordinator()) if callable(coordinator) else (None, coordinator)
    env = ranks.env_of(rank, size, at)
    seed, runs = _gyre.random_state()
    epoch = 0
    for left in range(restarts, -1, -1):
        epoch = _join(
            env,
            where,
            join_timeout,
            epoch,
            token=token,
            transport=transport,
            failure_timeout=failure_timeout,
            spin=spin,
        )
        why = "its program has failed"
        try:
            result = fn(*args)
            if ranks.size() > 1:
                barrier(name="end")  # nobody goes before all are done
            why = ""
            return result
        except errors.OpError as error:
            lost = _lost_rank(error, failure_timeout)
            if not lost or left == 0:
                raise
            why = f"it begins anew, for {lost}"
        finally:
            ranks.leave(why)
        gc.collect()  # what the call has made goes before it is made anew
        print(f"gyre: {why}", file=sys.stderr, flush=True)
        _gyre.set_random_state(seed, runs)
    raise AssertionError("the last call returns or raises")


def _join(env: ranks.ClusterEnv, where, join_timeout: float, epoch: int, **options) -> int:
    """Becomes a rank again, where the last epoch was this one; the epoch of its group."""
    latest = time.monotonic() + join_timeout
    while True:
        left = max(latest - time.monotonic(), 0.001)
        if where is not None:
            env = dataclasses.replace(env, coordinator=where())
            left = min(left, _ASK_SECONDS)
        try:
            ranks.join(env, join_timeout=left, epoch=epoch, tries_again=True, **options)
            return _gyre.group_epoch()
        except _MAY_PASS:
            epoch = _gyre.told_epoch()
            if time.monotonic() >= latest:
                raise


def _lost_rank(error: errors.OpError, failure_timeout: float) -> str:
    """Which rank is gone, and why, if that is what the error says; else "". It may come before that
    is known here."""
    if not isinstance(error, (errors.UnavailableError, errors.AbortedError)):
        return ""
    latest = time.monotonic() + failure_timeout + 1.0
    while not (lost := _gyre.lost_rank()) and time.monotonic() < latest:
        time.sleep(_LOOK_SECONDS)
    return lost

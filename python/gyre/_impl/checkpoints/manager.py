"""CheckpointManager: the last few checkpoints of a program, in one folder."""

import numbers
import os
import time
from typing import Any

from gyre._impl.checkpoints.checkpoint import Checkpoint
from gyre._impl.checkpoints.state import (
    checkpoint_exists,
    remove_checkpoint,
    state_of_file,
    update_checkpoint_state,
)


class CheckpointManager:
    """Saves a train.Checkpoint again and again, and removes what is outdated.

    directory: of the files, made if need be; its file "checkpoint" says which there are, also to
    the manager of the next process. max_to_keep: how many stay; None: all.
    keep_checkpoint_every_n_hours: of those that go, one in so many hours stays for good.
    checkpoint_name: how paths begin: directory/ckpt-1, directory/ckpt-2, ….
    step_counter, checkpoint_interval: a variable, and by how much it must have grown since the last
    checkpoint for another one. init_fn: called by restore_or_initialize where there is nothing to
    restore. ValueError, TypeError for numbers that are not positive, and an interval without a
    counter.

    Whatever stops the process: what the file "checkpoint" names last is complete, and there. One
    manager per folder.
    """

    def __init__(
        self,
        checkpoint: Checkpoint,
        directory,
        max_to_keep,
        keep_checkpoint_every_n_hours=None,
        checkpoint_name="ckpt",
        step_counter=None,
        checkpoint_interval=None,
        init_fn=None,
    ):
        if not isinstance(checkpoint, Checkpoint):
            raise TypeError(
                f"a CheckpointManager takes a train.Checkpoint, not a {type(checkpoint).__name__}"
            )
        self._max_to_keep = _positive("max_to_keep", max_to_keep, numbers.Integral)
        self._hours = _positive(
            "keep_checkpoint_every_n_hours", keep_checkpoint_every_n_hours, numbers.Real
        )
        self._interval = _positive("checkpoint_interval", checkpoint_interval, numbers.Integral)
        if checkpoint_interval is not None and step_counter is None:
            raise ValueError(
                "checkpoint_interval needs a step_counter: the variable that counts steps"
            )
        self._checkpoint, self._directory = checkpoint, os.fspath(directory)
        self._prefix = os.path.join(self._directory, checkpoint_name)
        self._step_counter, self._init_fn = step_counter, init_fn
        self._last_step: int | None = None
        self._latest: str | None = None
        self._times: dict[str, float] = {}  # of saving, by path, oldest first
        self._last_preserved = time.time()
        self._recover()

    def _recover(self) -> None:
        """What an earlier process left."""
        state = state_of_file(self._directory)
        if state is None:
            return
        latest = os.path.join(self._directory, state.model_checkpoint_path)
        if checkpoint_exists(latest):
            self._latest = latest
        self._last_preserved = state.last_preserved_timestamp or self._last_preserved
        paths = [os.path.join(self._directory, path) for path in state.all_model_checkpoint_paths]
        times = list(state.all_model_checkpoint_timestamps)
        if len(times) != len(paths):
            times = [self._last_preserved] * len(paths)
        # What lies elsewhere is not its own to remove.
        self._times = {
            path: saved
            for path, saved in zip(paths, times, strict=True)
            if self._is_inside(path) and checkpoint_exists(path)
        }

    def _is_inside(self, path: str) -> bool:
        return os.path.realpath(os.path.dirname(path)) == os.path.realpath(self._directory)

    @property
    def checkpoint(self) -> Checkpoint:
        """What it saves."""
        return self._checkpoint

    @property
    def directory(self) -> str:
        """Where it saves."""
        return self._directory

    @property
    def checkpoint_interval(self) -> int | None:
        """By how much the counter of steps grows from one checkpoint to the next."""
        return self._interval

    @property
    def latest_checkpoint(self) -> str | None:
        """The path of the last checkpoint; None if there is none."""
        return self._latest

    @property
    def checkpoints(self) -> list[str]:
        """The paths of those that are there and may go one day, oldest first."""
        return list(self._times)

    def save(self, checkpoint_number=None, check_interval=True) -> str | None:
        """Writes a checkpoint, and returns its path. None if checkpoint_interval says that it is
        too soon, unless check_interval is False. checkpoint_number: what its path ends in; the
        number of saves else."""
        step = None if self._step_counter is None else int(self._step_counter)
        if (
            self._interval is not None
            and check_interval
            and self._last_step is not None
            and (step < self._last_step + self._interval)
        ):
            return None
        number = (
            int(self._checkpoint.save_counter) + 1
            if checkpoint_number is None
            else int(checkpoint_number)
        )
        path = self._checkpoint._save_next(self._prefix, number)
        self._last_step = step
        self._times.pop(path, None)  # one that is written again is the last
        self._times[path] = time.time()
        self._latest = path
        # before any file goes: what stops the process here leaves the rest to the next manager
        self._record()
        outdated = self._outdated()
        for old in outdated:
            remove_checkpoint(old)
        if outdated:
            self._record()
        return path

    def _outdated(self) -> list[str]:
        """Forgets the paths that are too many; returns those of them that do not stay for good.
        Those that do are not named any more, or the file "checkpoint" would grow without end."""
        outdated = []
        while self._max_to_keep is not None and len(self._times) > self._max_to_keep:
            path, saved = next(iter(self._times.items()))
            del self._times[path]
            if self._hours is not None and saved - self._hours * 3600 >= self._last_preserved:
                self._last_preserved = saved
            else:
                outdated.append(path)
        return outdated

    def _record(self) -> None:
        update_checkpoint_state(
            self._directory,
            self._latest,
            list(self._times),
            all_model_checkpoint_timestamps=list(self._times.values()),
            last_preserved_timestamp=self._last_preserved,
            save_relative_paths=True,
        )

    def restore_or_initialize(self) -> str | None:
        """Restores the last checkpoint, and returns its path. Where there is none: calls init_fn,
        and returns None."""
        if self._latest is not None:
            self._checkpoint.restore(self._latest)
            self._last_step = None if self._step_counter is None else int(self._step_counter)
            return self._latest
        if self._init_fn is not None:
            self._init_fn()
        return None


def _positive(name: str, value, kind) -> Any:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, kind):
        raise TypeError(
            f"{name} must be {'an integer' if kind is numbers.Integral else 'a number'} or None, "
            f"not {value!r}"
        )
    if not value > 0:
        raise ValueError(f"{name} must be positive, or None, not {value}")
    return value

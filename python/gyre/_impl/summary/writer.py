"""Writers of summaries, and what is written: in Python, or whenever a graph comes by."""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Iterator

from gyre import _gyre
from gyre._gyre import Tensor
from gyre._impl.annotations import Any, TensorLike
from gyre._impl.control_flow.cond import cond
from gyre._impl.control_flow.host_function import py_function
from gyre._impl.convert import call, convert_to_tensor, is_value
from gyre._impl.device import name_in_scope
from gyre._impl.summary.events import EventFile, scalar_event


class _Defaults(threading.local):
    def __init__(self):
        self.writer: SummaryWriter | None = None
        self.step = None
        self.record = True


_defaults = _Defaults()


class SummaryWriter:
    """Writes to an event file. In its `as_default()`, gyre.summary.scalar writes to it."""

    def __init__(self, file: EventFile | None):
        self._file = file

    @contextlib.contextmanager
    def as_default(self, step=None):
        """A context: summaries go here, by default with this step."""
        before = _defaults.writer, _defaults.step
        _defaults.writer = self
        if step is not None:
            _defaults.step = step
        try:
            yield self
        finally:
            _defaults.writer, _defaults.step = before

    def set_as_default(self, step=None) -> None:
        """From now on, summaries of this thread go here."""
        _defaults.writer = self
        if step is not None:
            _defaults.step = step

    def init(self) -> None:
        """Nothing: the file is there."""

    def flush(self) -> None:
        """Hands what was written to the file system; in a graph, when it runs."""
        _effect(lambda: self._file and self._file.flush())

    def close(self) -> None:
        """Flushes, and ends the file: writing to it is a ValueError from then on."""
        _effect(lambda: self._file and self._file.close())

    def add_scalar(self, tag: str, value: float, step: int, description: str | None) -> None:
        """Writes one number."""
        if self._file is not None:
            self._file.add(scalar_event(tag, value, step, description))


def _effect(action) -> None:
    if _gyre.current_graph() is None:
        action()
        return

    def run():
        action()

    py_function(run, [], [])


def create_file_writer(
    logdir,
    max_queue=None,
    flush_millis=None,
    filename_suffix=None,
    name=None,
    experimental_trackable=False,
) -> SummaryWriter:
    """A writer to a new event file in the folder `logdir`. What it writes is handed to the file
    system after max_queue (10) events, and at the latest flush_millis (two minutes) later with the
    next one."""
    del name, experimental_trackable
    with _gyre.init_scope():
        return SummaryWriter(
            EventFile(
                os.fspath(logdir),
                ".v2" if filename_suffix is None else filename_suffix,
                10 if max_queue is None else max_queue,
                120000 if flush_millis is None else flush_millis,
            )
        )


def create_noop_writer() -> SummaryWriter:
    """A writer that writes nothing."""
    return SummaryWriter(None)


def flush(writer=None, name=None) -> None:
    """Flushes a writer; without one, the default."""
    writer = writer or _defaults.writer
    if writer is not None:
        writer.flush()


def should_record_summaries() -> bool:
    """Whether there is a default writer, and record_if does not say no;
    a tensor where it says one."""
    if _defaults.writer is None:
        return False
    record = _defaults.record
    return record() if callable(record) else record


@contextlib.contextmanager
def record_if(condition) -> Iterator[None]:
    """A context: summaries are written only if the condition, a bool (a tensor, or a function that
    returns one), is true."""
    before = _defaults.record
    _defaults.record = condition
    try:
        yield
    finally:
        _defaults.record = before


def set_step(step) -> None:
    """The step of summaries that are given none, from now on; None: there is no such step."""
    _defaults.step = step


def get_step() -> Any:
    """What set_step, or a writer's as_default, has set."""
    return _defaults.step


def scalar(name: str, data: TensorLike, step=None, description: str | None = None) -> Tensor:
    """Writes a number under a name (behind those of the open name scopes), if there is a default
    writer: whether it did, a bool tensor. In a graph: each time that it runs.

    step: an integer; by default that of set_step or as_default: ValueError if there is none.
    """
    writer = _defaults.writer
    if writer is None:
        return _gyre.convert(False)
    step = _defaults.step if step is None else step
    if step is None:
        raise ValueError(
            "no step: give gyre.summary.scalar a step, or set one with "
            "gyre.summary.experimental.set_step"
        )
    tag = name_in_scope(name)
    value = convert_to_tensor(data)
    if value._dims not in ((), None):
        raise ValueError(f"the summary {tag!r} must be a scalar, but is of shape {value.shape}")

    def write():
        def add(number, at):
            writer.add_scalar(tag, float(number), int(at), description)

        numbers = [call("Cast", value, DstT=_gyre.as_dtype("float32")), _int64(step)]
        if _gyre.current_graph() is None:
            add(*numbers)
        else:
            py_function(add, numbers, [])
        return _gyre.convert(True)

    return cond(should_record_summaries(), write, lambda: _gyre.convert(False))


def _int64(step):
    int64 = _gyre.as_dtype("int64")
    return (
        call("Cast", convert_to_tensor(step), DstT=int64)
        if is_value(step)
        else _gyre.convert(step, int64)
    )

"""Event files: records of Event messages, each framed by its length and checksums.

uint64 length | uint32 masked CRC-32C of the length | bytes | uint32 masked CRC-32C of the bytes
"""

from __future__ import annotations

import itertools
import os
import socket
import struct
import time
import warnings
import weakref

from gyre import _gyre
from gyre._impl.locks import lock
from gyre._impl.proto import messages

_numbers = itertools.count()


def version_event() -> messages.Event:
    """The first of a file."""
    return messages.Event(wall_time=time.time(), file_version="brain.Event:2")


def scalar_event(
    tag: str, value: float, step: int, description: str | None = None
) -> messages.Event:
    """A summary with a float32 scalar, as the plug-in "scalars" reads it."""
    metadata = {
        "plugin_data": {"plugin_name": "scalars"},
        "summary_description": description,
        "data_class": "DATA_CLASS_SCALAR",
    }
    tensor = {"dtype": "DT_FLOAT", "tensor_shape": {}, "float_val": [value]}
    return messages.Event(
        wall_time=time.time(),
        step=step,
        summary={"value": [{"tag": tag, "tensor": tensor, "metadata": metadata}]},
    )


class _Appended:
    """A file that is appended to, and what waits to be written to it."""

    def __init__(self, path):
        self._path, self._waiting = path, bytearray()
        self._file = open(path, "ab", buffering=0)

    def write(self, data):
        if self._file.closed:
            raise ValueError(f"the event file {self._path} is closed")
        self._waiting += data

    def flush(self):
        try:
            while self._waiting:
                del self._waiting[: self._file.write(self._waiting)]
        except OSError as error:
            raise OSError(error.errno, error.strerror, self._path) from None

    def close(self):
        try:
            self.flush()
        finally:
            self._waiting.clear()
            self._file.close()

    def close_late(self):
        """Where nobody is left to raise an error to."""
        try:
            self.close()
        except OSError as error:
            warnings.warn(f"the last events are lost: {error}", RuntimeWarning, stacklevel=2)


class EventFile:
    """A new event file in a folder, which is made if need be. Any thread may write."""

    def __init__(
        self, logdir: str, suffix: str = "", max_queue: int = 10, flush_millis: int = 120000
    ):
        os.makedirs(logdir, exist_ok=True)
        name = (
            f"events.out.tfevents.{int(time.time()):010d}.{socket.gethostname()}.{os.getpid()}."
            f"{next(_numbers)}{suffix}"
        )
        self.path = os.path.join(logdir, name)
        self._file = _Appended(self.path)
        self._max_queue, self._seconds = max_queue, flush_millis / 1000
        self._waiting, self._flushed = 0, time.monotonic()
        self._lock = lock()
        weakref.finalize(self, self._file.close_late)
        self.add(version_event())
        self.flush()

    def add(self, event: messages.Event) -> None:
        """Appends a record. ValueError after close()."""
        data = event.SerializeToString()
        length = struct.pack("<Q", len(data))
        record = (
            length
            + struct.pack("<I", _gyre.masked_crc32c(length))
            + data
            + struct.pack("<I", _gyre.masked_crc32c(data))
        )
        with self._lock:
            self._file.write(record)
            self._waiting += 1
            due = (
                self._waiting > self._max_queue or time.monotonic() - self._flushed > self._seconds
            )
        if due:
            self.flush()

    def flush(self) -> None:
        """Hands what was written to the file system. OSError, with the path, where that takes it
        not: the next flush goes on with it."""
        with self._lock:
            self._file.flush()
            self._waiting, self._flushed = 0, time.monotonic()

    def close(self) -> None:
        """Flushes, and ends the file."""
        with self._lock:
            self._file.close()

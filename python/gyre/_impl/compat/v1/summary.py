"""Summaries as programs of TensorFlow 1 write them: tensors of serialized Summary messages, which
sessions run and a FileWriter puts into event files."""

from __future__ import annotations

import os
import re
import time
from typing import Any

import numpy as np

from gyre import _gyre
from gyre._gyre import Tensor
from gyre._impl.compat.v1.collections import GraphKeys
from gyre._impl.control_flow.host_function import numpy_function
from gyre._impl.convert import call, call_list
from gyre._impl.graphs.constant import convert_to_tensor
from gyre._impl.graphs.graph import current, has_default_graph
from gyre._impl.proto import messages
from gyre._impl.summary import writer
from gyre._impl.summary.events import EventFile
from gyre._impl.unsupported import refuse


def scalar(name: str, tensor, collections=None, family=None) -> Tensor:
    """A number under a tag, the name with the name scopes around it: a string tensor, which is
    added to `collections` ([GraphKeys.SUMMARIES]). family: stands in front of the tag. Outside of
    graphs, as gyre.summary.scalar. ValueError for what is no scalar."""
    if not has_default_graph():
        return writer.scalar(name, tensor)
    return _summary(name, tensor, collections, family, _of_number, is_scalar=True)


def histogram(name: str, values, collections=None, family=None) -> Tensor:
    """How often values of which size occur, likewise. InvalidArgumentError of the run for values
    that are not finite."""
    return _summary(name, values, collections, family, _of_values, is_scalar=False)


def _summary(name: str, value, collections, family, fill, is_scalar: bool) -> Tensor:
    graph, value = current(), convert_to_tensor(value)
    if is_scalar and value._dims not in ((), None):
        raise ValueError(f"the summary '{name}' must be a scalar, but is of shape {value.shape}")
    name = re.sub(r"[^-/\w.]", "_", name).lstrip("/")
    with graph.name_scope(f"{family}/{name}" if family else name) as scope:
        tag = f"{family}/{scope[:-1]}" if family else scope[:-1]

        def serialized(array):
            made = messages.Summary.Value(tag=tag)
            fill(made, np.asarray(array, np.float64))
            return messages.Summary(value=[made]).SerializeToString()

        made = numpy_function(serialized, [value], _gyre.as_dtype("string"))
        made.set_shape([])
        made = call("Identity", made, name=scope)
    graph.add_to_collections([GraphKeys.SUMMARIES] if collections is None else collections, made)
    return made


def _of_number(made: messages.Summary.Value, value: np.ndarray) -> None:
    made.simple_value = value.item()


def _limits() -> np.ndarray:
    """The upper limits of buckets: TensorFlow's, each a tenth larger than the last."""
    upwards = [1e-12]
    while upwards[-1] < 1e20:
        upwards.append(upwards[-1] * 1.1)
    most = np.finfo(np.float64).max
    return np.array([-most, *(-limit for limit in reversed(upwards)), 0.0, *upwards, most])


def _of_values(made: messages.Summary.Value, value: np.ndarray) -> None:
    if not np.isfinite(value).all():
        raise ValueError(f"the histogram '{made.tag}' has values that are not finite")
    histo, values, limits = made.histo, value.ravel(), _limits()
    histo.num = values.size
    if not values.size:
        return
    histo.min, histo.max, histo.sum = values.min(), values.max(), values.sum()
    histo.sum_squares = np.square(values).sum()
    counts = np.bincount(np.searchsorted(limits, values, "right"), minlength=limits.size)
    # Empty buckets that stand side by side are one.
    last = np.append((counts[:-1] > 0) | (counts[1:] > 0), True)
    histo.bucket_limit.extend(limits[last])
    histo.bucket.extend(counts[last])


def merge(inputs, collections=None, name=None) -> Tensor:
    """Several summaries as one string tensor, added to `collections` (none by default).
    ValueError for none at all."""
    inputs = list(inputs)
    if not inputs:
        raise ValueError("there are no summaries to merge")
    graph = current()
    with graph.name_scope(name or "Merge"):
        # Serialized messages one after the other are the message of all their fields.
        made = call_list("StringJoin", inputs, name="MergeSummary")
    graph.add_to_collections(collections or [], made)
    return made


def merge_all(key=GraphKeys.SUMMARIES, scope=None, name=None) -> Tensor | None:
    """All summaries of a collection as one; None if there are none. scope: only those whose names
    it matches at their beginning."""
    found = current().get_collection(key, scope)
    return merge(found, name=name) if found else None


class FileWriter:
    """Writes summaries and graphs to a new event file in the folder `logdir`.

    max_queue, flush_secs: after how many events, and seconds, they are handed to the file system.
    A context, at whose end it is closed. NotImplementedError for `session`."""

    def __init__(
        self,
        logdir,
        graph=None,
        max_queue: int = 10,
        flush_secs: float = 120,
        graph_def=None,
        filename_suffix: str | None = None,
        session=None,
    ):
        refuse(session is not None, "session", "run the summaries, and hand them to add_summary")
        self._logdir = os.fspath(logdir)
        self._options = filename_suffix or "", max_queue, int(flush_secs * 1000)
        self._file = EventFile(self._logdir, *self._options)
        if graph is not None or graph_def is not None:
            self.add_graph(graph, graph_def=graph_def)

    def get_logdir(self) -> str:
        """The folder."""
        return self._logdir

    def add_summary(self, summary, global_step: Any = None) -> None:
        """Writes what a session computed (bytes), or a Summary. ValueError for other bytes."""
        if isinstance(summary, bytes):
            try:
                summary = messages.Summary.FromString(summary)
            except Exception as error:  # of protobuf, whose classes are not loaded by this module
                raise ValueError(f"these bytes are no summary: {error}") from None
        self._add(global_step, summary=summary)

    def add_event(self, event: messages.Event) -> None:
        """Writes an Event as it is."""
        self._file.add(event)

    def add_graph(self, graph, global_step: Any = None, graph_def=None) -> None:
        """Writes a graph. TypeError for what is none."""
        if graph_def is None and not hasattr(graph, "as_graph_def"):
            raise TypeError(f"add_graph takes a Graph, not a {type(graph).__name__}")
        made = graph.as_graph_def(add_shapes=True) if graph_def is None else graph_def
        self._add(global_step, graph_def=made.SerializeToString())

    def add_meta_graph(self, meta_graph_def, global_step: Any = None) -> None:
        """Writes a MetaGraphDef."""
        self._add(global_step, meta_graph_def=meta_graph_def.SerializeToString())

    def _add(self, step, **what) -> None:
        step = 0 if step is None else int(step)
        self._file.add(messages.Event(wall_time=time.time(), step=step, **what))

    def flush(self) -> None:
        """Hands what was written to the file system. OSError where that fails."""
        self._file.flush()

    def close(self) -> None:
        """Flushes, and ends the file: writing is a ValueError from then on."""
        self._file.close()

    def reopen(self) -> None:
        """Goes on with a new file in the folder, after close()."""
        self._file.close()
        self._file = EventFile(self._logdir, *self._options)

    def __enter__(self) -> FileWriter:
        return self

    def __exit__(self, *error) -> None:
        self.close()

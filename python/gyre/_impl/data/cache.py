"""Elements that are computed once, and kept in memory."""

from gyre import _gyre
from gyre._impl import nest
from gyre._impl.convert import call
from gyre._impl.data import elements, iteration
from gyre._impl.data.source import INFINITE, Source
from gyre._impl.data.sources import Rows
from gyre._impl.locks import lock


class Cache(Source):
    """The elements of a dataset, which are computed when the first of them is asked for."""

    def __init__(self, dataset):
        elements.tensors_only(dataset.element_spec, "cache")
        if dataset.length == INFINITE:
            raise ValueError("an endless dataset cannot be kept in memory: cache() before repeat()")
        if _gyre.current_graph() is not None:
            raise NotImplementedError(
                "a dataset that a function makes cannot be kept: make it, and cache() it, outside"
            )
        super().__init__(dataset.element_spec, dataset.length)
        self._dataset, self._rows, self._lock = dataset, None, lock()

    def _kept(self) -> Rows:
        with self._lock:
            if self._rows is None:
                with _gyre.init_scope():
                    found = [nest.flatten(e) for e in iteration.Iterator(self._dataset)]
                    self._rows = Rows(
                        nest.pack_sequence_as(self.element_spec, self._stacked(found))
                    )
                    self._dataset = None  # whose elements nobody will ask for any more
        return self._rows

    def _stacked(self, found: list) -> list:
        specs = nest.flatten(self.element_spec)
        if not found:
            return [call("ExpandDims", elements.zeros(leaf), 0)[:0] for leaf in specs]
        for parts in zip(*found, strict=True):
            shapes = {part._dims for part in parts}
            if len(shapes) > 1:
                raise ValueError(
                    f"cache() takes elements of one shape, and one is of shape {min(shapes)}, "
                    f"another of {max(shapes)}: cache() before batch(), or use padded_batch() or "
                    f"drop_remainder=True"
                )
        return [call("Pack", list(parts)) for parts in zip(*found, strict=True)]

    def begin(self):
        return self._kept().begin()

    def advance(self, state):
        return self._kept().advance(state)

    def pull(self, state):
        row, state = self._kept().pull(state)
        return elements.refined(row, self.element_spec), state

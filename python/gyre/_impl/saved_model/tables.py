"""Tables of functions that are saved, as tables of a model's graph."""

from __future__ import annotations

import os

from gyre import _gyre
from gyre._impl.convert import call
from gyre._impl.lookup.initializers import TextFileInitializer
from gyre._impl.lookup.tables import KnownTable


class GraphTable:
    """A table of the graph that is being made, in the place of one that a function uses. What is in
    that one now, or the file that has filled it, fills the other where the model is loaded."""

    def __init__(self, eager, known: KnownTable, number: int):
        self._eager, self._known = eager, known
        self._name = f"table_{number}"
        self.handle = self.make()

    def make(self):
        """Adds the operation that makes it, or finds it: its handle."""
        kind = "HashTableV2" if self._known.is_static else "MutableHashTableV2"
        attrs = {"key_dtype": self._known.key_dtype, "value_dtype": self._known.value_dtype}
        if len(self._known.shape):
            kind, attrs["value_shape"] = "MutableHashTableOfTensorsV2", list(self._known.shape)
        return call(kind, name=self._name, shared_name=f"{self._name}_of_model", **attrs)

    def file(self) -> str | None:
        """The path of the file that has filled it; None: there is none."""
        initializer = self._known.initializer
        if not isinstance(initializer, TextFileInitializer):
            return None
        return os.fspath(initializer.path)

    def fill(self, handle, *path) -> None:
        """Adds the operation that fills it, by its handle: from the file at `path`, a tensor, if
        there is one."""
        if path:
            attrs = self._known.initializer.attrs
            _gyre.execute("InitializeTableFromTextFileV2", [handle, *path], attrs, "fill")
            return
        with _gyre.init_scope():
            keys, values = (
                part.numpy()
                for part in _gyre.execute(
                    "LookupTableExportV2",
                    [self._eager],
                    {"Tkeys": self._known.key_dtype, "Tvalues": self._known.value_dtype},
                )
            )
        entries = [
            _gyre.convert(keys, self._known.key_dtype),
            _gyre.convert(values, self._known.value_dtype),
        ]
        _gyre.execute("LookupTableImportV2", [handle, *entries], {}, "fill")

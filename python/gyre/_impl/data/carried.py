"""Datasets in loops of a graph: their state goes round with that of the loop."""

from gyre import _gyre
from gyre._impl import nest
from gyre._impl.control_flow.cond import cond


class Carried:
    """The state of a dataset as part of the flat state of a loop: first whether there is another
    element, then the dataset's own tensors, `count` in all."""

    def __init__(self, dataset):
        self._dataset = dataset
        self._state = dataset.begin()
        self._flat = nest.flatten(self._state, expand_composites=True)
        self.count = 1 + len(self._flat)
        self.paths = ["more", *(f"place[{i}]" for i in range(len(self._flat)))]
        # Sizes may change on the way: buffers, batches.
        self.dims = [(), *(None if t._dims is None else (None,) * len(t._dims) for t in self._flat)]

    def begin(self, go_on) -> list:
        """The flat state before the first element."""
        return self.advance(self._flat, go_on)

    def pull(self, flat: list):
        """(the flat state after the element, the element)."""
        state = nest.pack_sequence_as(self._state, flat, expand_composites=True)
        element, state = self._dataset.pull(state)
        return nest.flatten(state, expand_composites=True), element

    def advance(self, flat: list, go_on) -> list:
        """The flat state for the next element, which is asked for only if the loop goes on."""
        state = nest.pack_sequence_as(self._state, flat, expand_composites=True)
        if go_on is True:
            more, state = self._dataset.advance(state)
        else:
            more, state = cond(
                go_on, lambda: self._dataset.advance(state), lambda: (_gyre.convert(False), state)
            )
        return [more, *nest.flatten(state, expand_composites=True)]

"""What datasets are made of: a sequence of elements, and how a loop goes through it."""

from typing import Any

INFINITE = -1
UNKNOWN = -2


class Source:
    """A sequence of elements. Subclasses say how a loop goes through it: see gyre/_impl/data.

    length: how many there are, INFINITE or UNKNOWN."""

    # Whether there is `pull_block(state, size)`, which pulls up to `size` elements, as rows.
    blocks = False

    def __init__(self, element_spec, length: int):
        self._element_spec, self.length = element_spec, length

    @property
    def element_spec(self):
        """The specs of an element's tensors, in its structure."""
        return self._element_spec

    # ---- What a loop carries. Subclasses say it.

    def begin(self) -> Any:
        """The state before the first element."""
        raise NotImplementedError

    def advance(self, state) -> Any:
        """(whether there is another element, the state in which `pull` gives it)."""
        raise NotImplementedError

    def pull(self, state) -> Any:
        """(the element that `advance` found, the state after it)."""
        raise NotImplementedError

    def pull_block(self, state, size) -> Any:
        """(a block of up to `size` elements, as rows; the state after them), if `blocks`."""
        raise NotImplementedError

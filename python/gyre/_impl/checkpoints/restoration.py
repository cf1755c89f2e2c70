"""Restoring a Checkpoint: what is there gets its value at once, what is made later gets it then."""

import sys
import warnings
import weakref

from gyre import _gyre
from gyre._impl import errors
from gyre._impl.checkpoints.reader import text_of
from gyre._impl.module import named_variables
from gyre._impl.shape import TensorShape
from gyre._impl.tracing import late_values


def give(named: dict, arrays: dict, names: list, path) -> None:
    """Gives variables the arrays of these names. InvalidArgumentError: other dtypes or shapes;
    then no variable has changed."""
    values, wrong = {}, []
    for name in names:
        value, variable = _gyre.tensor(arrays[name]), named[name]
        if value.dtype != variable.dtype or not variable.shape.is_compatible_with(value._dims):
            wrong.append(
                f"{name!r} is {value.dtype.name} of shape {TensorShape(value._dims)} there, but "
                f"the variable is {variable.dtype.name} of shape {variable.shape}"
            )
        values[name] = value
    if wrong:
        raise errors.InvalidArgumentError(
            None, None, f"{text_of(path)} does not fit: {'; '.join(wrong)}"
        )
    with _gyre.init_scope():
        for name, value in values.items():
            named[name].assign(value)


class Restoration:
    """Values on their way to the variables below what a Checkpoint has. It keeps those that no
    variable has taken as long as the Checkpoint lives, or one of the objects that it has; dicts,
    lists and tuples, which cannot be watched, do not count."""

    def __init__(self, checkpoint, path, arrays: dict):
        self.path = path
        self.left = dict(arrays)  # by name
        self.given: set[int] = set()  # ids of the handles of variables that have theirs
        self._checkpoint = weakref.ref(checkpoint)
        self._objects: dict = {}  # weak references, by name

    def start(self) -> list[str]:
        """The names of the variables that are there, which have their values now."""
        before = set(self.left)
        late_values.waiting.insert(0, self._find)
        try:
            late_values.look()
        except errors.OpError:
            self._stop()
            raise
        return [name for name in self.variables() if name in before]

    def variables(self) -> dict:
        """What there is now, by name."""
        checkpoint = self._checkpoint()
        if checkpoint is not None:  # which may have got more
            items = checkpoint._tracked_items()
            self._objects = {
                name: weakref.ref(value)
                for name, value in items.items()
                if not isinstance(value, (dict, list, tuple))
            }
            return dict(named_variables(items))
        alive = {name: value for name, ref in self._objects.items() if (value := ref()) is not None}
        return dict(named_variables(alive))

    def _find(self, given: set[int]) -> None:
        named = self.variables()
        found = [name for name in named if name in self.left]
        values = {name: self.left.pop(name) for name in found}
        mine = [name for name in found if named[name].handle.id not in given]
        if not self.left or not self._may_come():
            self._stop()
        give(named, values, mine, self.path)
        given.update(named[name].handle.id for name in mine)
        self.given.update(named[name].handle.id for name in found)

    def _may_come(self) -> bool:
        """Whether there is anything left that could get another variable."""
        alive = any(ref() is not None for ref in self._objects.values())
        return alive or self._checkpoint() is not None

    def _stop(self) -> None:
        if self._find in late_values.waiting:
            late_values.waiting.remove(self._find)


class CheckpointLoadStatus(list):
    """What a restored Checkpoint found: a list of the names of the variables that had values at
    once. The methods look at what there is when they are called, and return the status.

    Variables that the file does not have stay as they are, with a warning, unless a method of the
    status is called first.
    """

    def __init__(self, checkpoint, restoration: Restoration | None):
        self._checkpoint, self._restoration = checkpoint, restoration
        super().__init__([] if restoration is None else restoration.start())
        self._missing = [] if restoration is None else self._unmatched()

    def _unmatched(self) -> list[str]:
        """Variables that there are and that have no value of the file."""
        assert self._restoration is not None
        named = named_variables(self._checkpoint)
        return [name for name, v in named if v.handle.id not in self._restoration.given]

    def _started(self) -> Restoration:
        self._missing = []
        if self._restoration is None:
            raise AssertionError("there was no checkpoint to be restored: its path was None")
        return self._restoration

    def assert_consumed(self) -> "CheckpointLoadStatus":
        """AssertionError: the file has values that no variable has taken, or there are variables
        that it does not have."""
        restoration = self._started()
        if restoration.left:
            raise AssertionError(
                f"no variable has taken these values of {text_of(restoration.path)}: "
                f"{sorted(restoration.left)}"
            )
        return self.assert_existing_objects_matched()

    def assert_existing_objects_matched(self) -> "CheckpointLoadStatus":
        """AssertionError: there are variables that the file does not have."""
        restoration = self._started()
        missing = self._unmatched()
        if missing:
            raise AssertionError(
                f"{text_of(restoration.path)} has no values of these variables: {missing}"
            )
        return self

    def assert_nontrivial_match(self) -> "CheckpointLoadStatus":
        """AssertionError: no variable has a value of the file."""
        restoration = self._started()
        if not restoration.given:
            raise AssertionError(f"no variable has a value of {text_of(restoration.path)}")
        return self

    def expect_partial(self) -> "CheckpointLoadStatus":
        """Says that file and objects need not fit: there is no warning."""
        self._missing = []
        return self

    def __del__(self):
        if getattr(self, "_missing", None) and not sys.is_finalizing():
            warnings.warn(
                f"{self._restoration and text_of(self._restoration.path)} has no values of these "
                f"variables, which stay as they are: {self._missing}; "
                "restore(…).expect_partial() says that this is meant",
                stacklevel=2,
            )

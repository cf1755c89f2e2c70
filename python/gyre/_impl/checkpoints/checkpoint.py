"""Checkpoints: variables in a file of the safetensors layout.
TensorFlow's checkpoints are read as well."""

import os
import re
import warnings

from gyre import _gyre
from gyre._impl import errors
from gyre._impl.checkpoints.reader import CheckpointReader, file_of, open_file, text_of
from gyre._impl.checkpoints.restoration import CheckpointLoadStatus, Restoration, give
from gyre._impl.checkpoints.safetensors import write_arrays
from gyre._impl.checkpoints.state import SAFETENSORS, bundle_exists, update_checkpoint_state
from gyre._impl.module import is_tracked, named_variables, untracked_state
from gyre._impl.tracing import late_values
from gyre._impl.variable import Variable

_NUMBER = "gyre.save_counter"
_COUNTER = "save_counter"
# In TensorFlow's checkpoints of objects: their graph, and what ends the key of a variable.
_OBJECT_GRAPH, _OF_OBJECTS = "_CHECKPOINTABLE_OBJECT_GRAPH", "/.ATTRIBUTES/VARIABLE_VALUE"


def _named(source) -> dict:
    """Variables by name: of a module, an optimizer, a dict, or a sequence (by their own names)."""
    if isinstance(source, (list, tuple)):
        for value in source:
            if not isinstance(value, Variable):
                raise TypeError(
                    f"a list of variables holds {_described(value)}; give a dict, which names what "
                    "is no variable"
                )
        named = [(v._name, v) for v in source]
        if len({name for name, _ in named}) != len(named):
            raise ValueError("Two variables have one name; give a dict.")
        return dict(named)
    named = dict(found := named_variables(source))
    if len(named) != len(found):
        twice = sorted({name for name, variable in found if named[name] is not variable})
        raise ValueError(
            f"several variables are called {twice}: names are joined by '/', and must differ"
        )
    return named


def _described(value) -> str:
    return f"a value of type {type(value).__name__}"


def save_variables(path, source) -> str:
    """Writes the values of variables, and returns the file's name.

    path: a file that ends in ".safetensors", or a folder, made if need be. source: a Module, an
    optimizer, a (nested) dict of these and of variables, or a list of variables.
    ValueError: nothing to save, or a dtype that files cannot hold (string, variant). OSError: the
    file system refused; the file is what it was.
    """
    return _save(path, source, {})


def _save(path, source, notes: dict[str, str]) -> str:
    named = _named(source)
    if not named:
        raise ValueError("There are no variables to save.")
    for name, value in untracked_state(source):
        warnings.warn(
            f"the checkpoint leaves out {name!r}, {_described(value)}: it holds variables only. "
            "Make it a gyre.Variable, or hand over the variables that it holds",
            stacklevel=3,
        )
    file = file_of(path)
    write_arrays(file, {name: (v.dtype.name, v.numpy()) for name, v in named.items()}, notes)
    return file


def load_arrays(path) -> dict:
    """The values in a file by name, as numpy arrays. path: as save_variables takes it, or that of a
    checkpoint of TensorFlow's, without endings.

    NotFoundError: no such file. DataLossError: it is damaged, or not of this layout
    (InvalidArgumentError: a damaged one of TensorFlow's).
    """
    return _load(path)[0]


def _load(path) -> tuple[dict, int | None]:
    """(the values by name, the number that Checkpoint.save gave them)."""
    if bundle_exists(text_of(path)):
        return _load_bundle(path)
    file = open_file(path)
    number = file.note(_NUMBER)
    if number is not None and not number.isdecimal():
        raise file.damaged(f"{_NUMBER} is {number!r}")
    return {name: file.read(name) for name in file.entries()}, int(number) if number else None


def _load_bundle(path) -> tuple[dict, int | None]:
    """Of a checkpoint of TensorFlow's: the values by name (of objects, their paths in these),
    and its number."""
    reader = CheckpointReader(path)
    keys = [key for key in reader.get_variable_to_shape_map() if key != _OBJECT_GRAPH]
    names = {key: key.removesuffix(_OF_OBJECTS) for key in keys}
    # what objects save besides is nobody's variable
    if any(name != key for key, name in names.items()):
        names = {
            key: _unescaped(name) for key, name in names.items() if name not in (key, _COUNTER)
        }
    number = (
        int(reader.get_tensor(_COUNTER + _OF_OBJECTS)) if _COUNTER + _OF_OBJECTS in keys else None
    )
    return {name: reader.get_tensor(key) for key, name in names.items()}, number


def _unescaped(path: str) -> str:
    """TensorFlow writes "/" and "." in names of attributes and keys as ".S" and ".."."""
    return re.sub(r"\.(S|\.)", lambda found: "/" if found[1] == "S" else ".", path)


def restore_variables(path, target, partial: bool = False) -> list[str]:
    """Gives variables the values that were saved, and returns their names.

    path: of a file that was saved, or of a checkpoint that TensorFlow wrote: a Saver's, or that of
    objects, whose paths are the names. target: as save_variables takes it. partial: variables that
    are not in the file stay as they are, and what no variable is called is passed over; else both
    are errors.
    NotFoundError: no file, or other names. InvalidArgumentError: other dtypes or shapes.
    DataLossError: a damaged file. After an error no variable has changed.
    """
    return _restore(target, path, load_arrays(path), partial)


def _restore(target, path, arrays: dict, partial: bool) -> list[str]:
    named = _named(target)
    missing, extra = named.keys() - arrays.keys(), arrays.keys() - named.keys()
    if not partial and (missing or extra):
        raise errors.NotFoundError(
            None,
            None,
            f"{file_of(path)} does not fit: "
            f"not in it: {sorted(missing)}; no variable: {sorted(extra)}.",
        )
    chosen = [name for name in named if name in arrays]
    give(named, arrays, chosen, path)
    return chosen


class Checkpoint:
    """Objects that are saved together: `Checkpoint(model=model, optimizer=optimizer)`, or
    attributes that it is given later.

    `save(prefix)` writes prefix-1, prefix-2, …, and names the last in the folder's file
    "checkpoint", where train.latest_checkpoint finds it; train.CheckpointManager keeps the last
    few. `write(path)` writes one file, `restore(path)` reads one.

    What is saved are variables: those handed over, and those below modules, optimizers, random
    generators, other checkpoints, and dicts, lists and tuples of these; a gyre.function may be
    named, and has nothing to be saved. ValueError for anything else. What stands beside variables
    in dicts and lists and is none is warned of when a file is written.
    """

    def __init__(self, **objects):
        self._counter: Variable | None = None
        for name, value in objects.items():
            if hasattr(type(self), name) or name == "_counter":
                raise ValueError(
                    f"a Checkpoint has {name!r} itself: give what it is to save another name"
                )
            if not is_tracked(value) and not isinstance(value, _gyre.QuietCallable):
                raise ValueError(
                    f"a Checkpoint cannot save {name!r}, {_described(value)}: hand over a "
                    "gyre.Variable, a gyre.Module, an optimizer, or a dict, list or tuple of these"
                )
            setattr(self, name, value)

    def __setattr__(self, name: str, value) -> None:
        super().__setattr__(name, value)
        if late_values.waiting:
            late_values.look()

    def _tracked_items(self) -> dict:
        """What it saves, by name."""
        return {name: value for name, value in sorted(vars(self).items()) if name != "_counter"}

    @property
    def save_counter(self) -> Variable:
        """How often it was saved, in this process and in those before: restored with the rest."""
        if self._counter is None:
            with _gyre.init_scope():
                self._counter = Variable(0, trainable=False, name=_COUNTER, dtype="int64")
        return self._counter

    def write(self, path) -> str:
        """Writes one file, and returns its name."""
        return _save(path, self, {})

    def save(self, file_prefix) -> str:
        """Writes the next file of a series, names it in the file "checkpoint" of its folder, and
        returns its path without ending."""
        path = self._save_next(file_prefix, int(self.save_counter) + 1)
        update_checkpoint_state(os.path.dirname(path), path, [path], save_relative_paths=True)
        return path

    def _save_next(self, file_prefix, number: int) -> str:
        """Writes the file of a number, and returns its path without ending."""
        count = int(self.save_counter) + 1
        path = f"{text_of(file_prefix)}-{number}"
        _save(path + SAFETENSORS, self, {_NUMBER: str(count)})
        self.save_counter.assign(count)
        return path

    def restore(self, save_path) -> CheckpointLoadStatus:
        """Gives variables the values that were saved, here or by TensorFlow's Checkpoint of
        objects of the same names, and returns a status: a list of their names, whose methods
        (`assert_consumed`, `assert_existing_objects_matched`, `expect_partial`) say how well file
        and objects fit. save_path: as restore_variables takes it; nothing happens for None, which
        train.latest_checkpoint gives where there is no checkpoint yet.

        Variables that are made later below the same objects get their values then: an optimizer's
        slots, those of a layer that waits for its first input. InvalidArgumentError: other dtypes
        or shapes; at a restore, no variable has changed then.
        """
        if save_path is None:
            return CheckpointLoadStatus(self, None)
        arrays, number = _load(save_path)
        status = CheckpointLoadStatus(self, Restoration(self, save_path, arrays))
        if number is not None:
            self.save_counter.assign(number)
        return status

    read = restore

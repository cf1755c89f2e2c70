"""Checkpoints: variables in a file of the safetensors layout, which other programs read, too. TensorFlow's
checkpoints are read as well.

    8 bytes     length n of the header, little-endian
    n bytes     JSON: {name: {dtype, shape, data_offsets}, "__metadata__": {…}}, padded with spaces
    the rest    the values, row-major, little-endian

The metadata holds a CRC-32 of each value. A file is replaced in one step: what is restored is the
last checkpoint that was saved, whole.
Source: https://github.com/huggingface/safetensors
"""

import json
import os
import re
import struct
import zlib

from gyre import _gyre
from gyre._impl import errors
from gyre._impl.checkpoints.reader import CheckpointReader
from gyre._impl.checkpoints.state import SAFETENSORS, bundle_exists, update_checkpoint_state
from gyre._impl.files import make_folder, write_file
from gyre._impl.module import named_variables
from gyre._impl.shape import TensorShape
from gyre._impl.variable import Variable

_TYPES = {"float64": "F64", "float32": "F32", "float16": "F16", "bfloat16": "BF16", "int64": "I64",
          "int32": "I32", "int16": "I16", "int8": "I8", "uint64": "U64", "uint32": "U32",
          "uint16": "U16", "uint8": "U8", "bool": "BOOL", "complex64": "C64"}
_NAMES = {short: name for name, short in _TYPES.items()}
_CHECKSUMS, _NUMBER = "gyre.crc32", "gyre.save_counter"
_COUNTER = "save_counter"
# In TensorFlow's checkpoints of objects: their graph, and what ends the key of a variable.
_OBJECT_GRAPH, _OF_OBJECTS = "_CHECKPOINTABLE_OBJECT_GRAPH", "/.ATTRIBUTES/VARIABLE_VALUE"


def _text(path) -> str:
    """A path as text. TypeError, ValueError for what is none."""
    if path is None:
        raise TypeError("a checkpoint needs a path, not None")
    text = os.fspath(path)
    if not text:
        raise ValueError("a checkpoint needs a path, not ''")
    return text


def _place(path) -> str:
    """The file of a path: itself, one that is called so but for its ending, or, for a folder (or a path without an
    ending), one in it."""
    path = _text(path)
    if path.endswith(SAFETENSORS):
        return path
    return path + SAFETENSORS if os.path.isfile(path + SAFETENSORS) else os.path.join(path, "variables" + SAFETENSORS)


def _named(source) -> dict:
    """Variables by name: of a module, an optimizer, a dict, or a sequence (by their own names)."""
    if isinstance(source, (list, tuple)):
        named = [(v._name, v) for v in source]
        if len({name for name, _ in named}) != len(named):
            raise ValueError("Two variables have one name; give a dict.")
        return dict(named)
    return dict(named_variables(source))


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
    return save_arrays(path, {name: (v.dtype.name, v.numpy()) for name, v in named.items()}, notes)


def save_arrays(path, arrays: dict, notes: dict[str, str] | None = None) -> str:
    """Writes {name: (name of the dtype, numpy array)}, and returns the file's name. notes: what else is in its
    metadata. Otherwise as save_variables."""
    header: dict = {}
    blocks, checksums, at = [], {}, 0
    for name, (dtype, array) in arrays.items():
        kind = _TYPES.get(dtype)
        if kind is None:
            raise ValueError(f"{name!r} is of dtype {dtype}, which files cannot hold.")
        data = array.tobytes()
        header[name] = {"dtype": kind, "shape": list(array.shape),
                        "data_offsets": [at, at + len(data)]}
        checksums[name] = zlib.crc32(data)
        blocks.append(data)
        at += len(data)
    header["__metadata__"] = {"format": "gyre", _CHECKSUMS: json.dumps(checksums), **(notes or {})}
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    file = _place(path)
    make_folder(os.path.dirname(file))
    write_file(file, struct.pack("<Q", len(text)), text, *blocks)
    return file


def load_arrays(path) -> dict:
    """The values in a file by name, as numpy arrays. path: as save_variables takes it, or that of a checkpoint
    of TensorFlow's, without endings.

    NotFoundError: no such file. DataLossError: it is damaged, or not of this layout (InvalidArgumentError: a
    damaged one of TensorFlow's).
    """
    return _load(path)[0]


def _load(path) -> tuple[dict, int | None]:
    """(the values by name, the number that Checkpoint.save gave them)."""
    import numpy

    if bundle_exists(_text(path)):
        return _load_bundle(path)
    file = _place(path)
    try:
        with open(file, "rb") as source:
            content = source.read()
    except FileNotFoundError:
        raise errors.NotFoundError(None, None, f"There is no checkpoint at {_text(path)}.") from None
    try:
        (length,) = struct.unpack_from("<Q", content)
        header = json.loads(content[8:8 + length])
        metadata = header.pop("__metadata__", {})
        checksums = json.loads(metadata.get(_CHECKSUMS, "{}"))
        data, arrays = memoryview(content)[8 + length:], {}
        for name, entry in header.items():
            begin, end = entry["data_offsets"]
            block = data[begin:end]
            if len(block) != end - begin or zlib.crc32(block) != checksums.get(
                name, zlib.crc32(block)
            ):
                raise ValueError(f"the value of {name!r} is not what was saved")
            dtype = numpy.dtype(_gyre.as_dtype(_NAMES[entry["dtype"]]).as_numpy_dtype)
            arrays[name] = numpy.frombuffer(block, dtype).reshape(entry["shape"])
        return arrays, metadata.get(_NUMBER) and int(metadata[_NUMBER])
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError, struct.error) as error:
        raise errors.DataLossError(None, None, f"{file} is damaged: {error}.") from error


def _load_bundle(path) -> tuple[dict, int | None]:
    """Of a checkpoint of TensorFlow's: the values by name (of objects, their paths in these), and its number."""
    reader = CheckpointReader(path)
    keys = [key for key in reader.get_variable_to_shape_map() if key != _OBJECT_GRAPH]
    names = {key: key.removesuffix(_OF_OBJECTS) for key in keys}
    if any(name != key for key, name in names.items()):  # what objects save besides is nobody's variable
        names = {key: _unescaped(name) for key, name in names.items() if name not in (key, _COUNTER)}
    number = int(reader.get_tensor(_COUNTER + _OF_OBJECTS)) if _COUNTER + _OF_OBJECTS in keys else None
    return {name: reader.get_tensor(key) for key, name in names.items()}, number


def _unescaped(path: str) -> str:
    """TensorFlow writes "/" and "." in names of attributes and keys as ".S" and ".."."""
    return re.sub(r"\.(S|\.)", lambda found: "/" if found[1] == "S" else ".", path)


def restore_variables(path, target, partial: bool = False) -> list[str]:
    """Gives variables the values that were saved, and returns their names.

    path: of a file that was saved, or of a checkpoint that TensorFlow wrote: a Saver's, or that of objects, whose
    paths are the names. target: as save_variables takes it. partial: variables that are not in the file stay as they
    are, and what no variable is called is passed over; else both are errors.
    NotFoundError: no file, or other names. InvalidArgumentError: other dtypes or shapes.
    DataLossError: a damaged file. After an error no variable has changed.
    """
    return _restore(target, path, load_arrays(path), partial)


def _restore(target, path, arrays: dict, partial: bool) -> list[str]:
    named = _named(target)
    missing, extra = named.keys() - arrays.keys(), arrays.keys() - named.keys()
    if not partial and (missing or extra):
        raise errors.NotFoundError(None, None, f"{_place(path)} does not fit: "
                                   f"not in it: {sorted(missing)}; no variable: {sorted(extra)}.")
    chosen = [name for name in named if name in arrays]
    values, wrong = {}, []
    for name in chosen:
        value, variable = _gyre.tensor(arrays[name]), named[name]
        if value.dtype != variable.dtype or not variable.shape.is_compatible_with(value._dims):
            wrong.append(f"{name!r} is {value.dtype.name} of shape {TensorShape(value._dims)} there, but the "
                         f"variable is {variable.dtype.name} of shape {variable.shape}")
        values[name] = value
    if wrong:
        raise errors.InvalidArgumentError(None, None, f"{_text(path)} does not fit: {'; '.join(wrong)}")
    for name, value in values.items():
        named[name].assign(value)
    return chosen


class Checkpoint:
    """Objects that are saved together: `Checkpoint(model=model, optimizer=optimizer)`.

    `save(prefix)` writes prefix-1, prefix-2, …, and names the last in the folder's file "checkpoint", where
    train.latest_checkpoint finds it; train.CheckpointManager keeps the last few. `write(path)` writes one file,
    `restore(path)` reads one. The optimizer's slots must exist when it is restored
    (`optimizer.build(variables)`).
    """

    def __init__(self, **objects):
        self._objects = objects
        self._counter: Variable | None = None
        for name, value in objects.items():
            setattr(self, name, value)

    @property
    def save_counter(self) -> Variable:
        """How often it was saved, in this process and in those before: restored with the rest."""
        if self._counter is None:
            with _gyre.init_scope():
                self._counter = Variable(0, trainable=False, name=_COUNTER, dtype="int64")
        return self._counter

    def write(self, path) -> str:
        """Writes one file, and returns its name."""
        return save_variables(path, self._objects)

    def save(self, file_prefix) -> str:
        """Writes the next file of a series, names it in the file "checkpoint" of its folder, and returns its path
        without ending."""
        path = self._save_next(file_prefix, int(self.save_counter) + 1)
        update_checkpoint_state(os.path.dirname(path), path, [path], save_relative_paths=True)
        return path

    def _save_next(self, file_prefix, number: int) -> str:
        """Writes the file of a number, and returns its path without ending."""
        count = int(self.save_counter) + 1
        path = f"{_text(file_prefix)}-{number}"
        _save(path + SAFETENSORS, self._objects, {_NUMBER: str(count)})
        self.save_counter.assign(count)
        return path

    def restore(self, path, partial: bool = False) -> list[str]:
        """Gives all variables the values that were saved, here or by TensorFlow's Checkpoint of objects of the
        same names, and returns their names; see restore_variables. Nothing happens for None, which
        train.latest_checkpoint gives where there is no checkpoint yet."""
        if path is None:
            return []
        arrays, number = _load(path)
        names = _restore(self._objects, path, arrays, partial)
        if number is not None:
            self.save_counter.assign(number)
        return names

    read = restore

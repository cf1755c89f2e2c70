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
from gyre._impl.checkpoints.state import checkpoint_exists
from gyre._impl.files import make_folder, write_file
from gyre._impl.module import named_variables

_TYPES = {"float64": "F64", "float32": "F32", "float16": "F16", "bfloat16": "BF16", "int64": "I64",
          "int32": "I32", "int16": "I16", "int8": "I8", "uint64": "U64", "uint32": "U32",
          "uint16": "U16", "uint8": "U8", "bool": "BOOL", "complex64": "C64"}
_NAMES = {short: name for name, short in _TYPES.items()}
_CHECKSUMS = "gyre.crc32"
# In TensorFlow's checkpoints of objects: their graph, and what ends the key of a variable.
_OBJECT_GRAPH, _OF_OBJECTS = "_CHECKPOINTABLE_OBJECT_GRAPH", "/.ATTRIBUTES/VARIABLE_VALUE"


def _place(path) -> str:
    """The file of a path: itself, or for a folder (or a path without an ending) one in it."""
    path = os.fspath(path)
    return path if path.endswith(".safetensors") else os.path.join(path, "variables.safetensors")


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
    named = _named(source)
    if not named:
        raise ValueError("There are no variables to save.")
    return save_arrays(path, {name: (v.dtype.name, v.numpy()) for name, v in named.items()})


def save_arrays(path, arrays: dict) -> str:
    """Writes {name: (name of the dtype, numpy array)}, and returns the file's name. Otherwise as
    save_variables."""
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
    header["__metadata__"] = {"format": "gyre", _CHECKSUMS: json.dumps(checksums)}
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
    import numpy

    if checkpoint_exists(path):
        return _load_bundle(path)
    file = _place(path)
    try:
        with open(file, "rb") as source:
            content = source.read()
    except FileNotFoundError:
        raise errors.NotFoundError(None, None, f"There is no checkpoint at {file}.") from None
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
        return arrays
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError, struct.error) as error:
        raise errors.DataLossError(None, None, f"{file} is damaged: {error}.") from error


def _load_bundle(path) -> dict:
    """The values in a checkpoint of TensorFlow's by name: of objects, their paths in these."""
    reader = CheckpointReader(path)
    keys = [key for key in reader.get_variable_to_shape_map() if key != _OBJECT_GRAPH]
    names = {key: key.removesuffix(_OF_OBJECTS) for key in keys}
    if any(name != key for key, name in names.items()):  # what objects save besides is nobody's variable
        names = {key: _unescaped(name) for key, name in names.items() if name not in (key, "save_counter")}
    return {name: reader.get_tensor(key) for key, name in names.items()}


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
    named, arrays = _named(target), load_arrays(path)
    missing, extra = named.keys() - arrays.keys(), arrays.keys() - named.keys()
    if not partial and (missing or extra):
        raise errors.NotFoundError(None, None, f"{_place(path)} does not fit: "
                                   f"not in it: {sorted(missing)}; no variable: {sorted(extra)}.")
    chosen = [name for name in named if name in arrays]
    values, wrong = {}, []
    for name in chosen:
        value, variable = _gyre.tensor(arrays[name]), named[name]
        if value.dtype != variable.dtype or not variable.shape.is_compatible_with(value._dims):
            wrong.append(f"{name}: {value.dtype.name}{list(value._dims)} saved, "
                         f"{variable.dtype.name}{variable.shape} wanted")
        values[name] = value
    if wrong:
        raise errors.InvalidArgumentError(None, None, "; ".join(wrong))
    for name, value in values.items():
        named[name].assign(value)
    return chosen


class Checkpoint:
    """Objects that are saved together: `Checkpoint(model=model, optimizer=optimizer)`.

    `save(prefix)` writes prefix-1, prefix-2, …; `write(path)` and `restore(path)` one file. The
    optimizer's slots must exist when it is restored (`optimizer.build(variables)`).
    """

    def __init__(self, **objects):
        self._objects = objects
        self._saved = 0
        for name, value in objects.items():
            setattr(self, name, value)

    def write(self, path) -> str:
        """Writes one file, and returns its name."""
        return save_variables(path, self._objects)

    def save(self, file_prefix) -> str:
        """Writes the next file of a series, and returns its name."""
        self._saved += 1
        return self.write(f"{os.fspath(file_prefix)}-{self._saved}.safetensors")

    def restore(self, path, partial: bool = False) -> list[str]:
        """Gives all variables the values that were saved, here or by TensorFlow's Checkpoint of objects of the
        same names; see restore_variables."""
        return restore_variables(path, self._objects, partial)

    read = restore

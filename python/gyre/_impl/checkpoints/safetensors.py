"""Files of the safetensors layout, which other programs read, too.

    8 bytes     length n of the header, little-endian
    n bytes     JSON: {name: {dtype, shape, data_offsets}, "__metadata__": {…}}, padded with spaces
    the rest    the values, row-major, little-endian

The metadata holds a CRC-32 of each value. A file is replaced in one step: who has it open reads
what it held then.
Source: https://github.com/huggingface/safetensors
"""

import json
import math
import operator
import os
import struct
import weakref
import zlib

from gyre import _gyre
from gyre._impl import errors
from gyre._impl.files import make_folder, write_file

_TYPES = {
    "float64": "F64",
    "float32": "F32",
    "float16": "F16",
    "bfloat16": "BF16",
    "int64": "I64",
    "int32": "I32",
    "int16": "I16",
    "int8": "I8",
    "uint64": "U64",
    "uint32": "U32",
    "uint16": "U16",
    "uint8": "U8",
    "bool": "BOOL",
    "complex64": "C64",
}
_NAMES = {short: name for name, short in _TYPES.items()}
_METADATA, _CHECKSUMS = "__metadata__", "gyre.crc32"


def can_hold(dtype: str) -> bool:
    """Whether files can hold values of a dtype."""
    return dtype in _TYPES


def write_arrays(file: str, arrays: dict, notes: dict[str, str]) -> None:
    """Writes {name: (name of the dtype, numpy array)}, and makes the folder if need be. notes: what
    else is in the metadata.

    ValueError: a dtype that files cannot hold. OSError: the file system refused; the file is what
    it was."""
    header: dict = {}
    blocks, checksums, at = [], {}, 0
    for name, (dtype, array) in arrays.items():
        kind = _TYPES.get(dtype)
        if kind is None:
            raise ValueError(f"{name!r} is of dtype {dtype}, which files cannot hold.")
        data = _bytes_of(array)
        header[name] = {
            "dtype": kind,
            "shape": list(array.shape),
            "data_offsets": [at, at + len(data)],
        }
        checksums[name] = zlib.crc32(data)
        blocks.append(data)
        at += len(data)
    header[_METADATA] = {"format": "gyre", _CHECKSUMS: json.dumps(checksums), **notes}
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    make_folder(os.path.dirname(file))
    write_file(file, struct.pack("<Q", len(text)), text, *blocks)


def _bytes_of(array):
    """The elements of an array as a vector of bytes: a copy only where they do not lie in a row."""
    import numpy

    return numpy.ascontiguousarray(array).reshape(-1).view(numpy.uint8).data


class SafetensorsFile:
    """The tensors of a file, by name. The header is read when it is opened, values when they are
    asked for.

    It stays open: what replaces it later is not seen. FileNotFoundError: there is none.
    DataLossError: it is damaged, or not of this layout.
    """

    def __init__(self, path: str):
        self._path, self._file = path, os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        weakref.finalize(self, os.close, self._file)
        try:
            self._parse()
        except (
            ValueError,
            KeyError,
            TypeError,
            AttributeError,
            RecursionError,
            struct.error,
        ) as error:
            raise self.damaged(error) from error

    def _parse(self):
        size = os.fstat(self._file).st_size
        (length,) = struct.unpack("<Q", self._bytes(0, min(size, 8)))
        self._values_at = 8 + length
        header = json.loads(self._bytes(8, min(size - 8, length)))
        self._metadata = header.pop(_METADATA, {})
        self._checksums = dict(json.loads(self._metadata.get(_CHECKSUMS, "{}")))
        self._parts = {}  # (name of the dtype in files, shape, begin, end) by name
        for name, entry in header.items():
            begin, end = map(operator.index, entry["data_offsets"])
            if not 0 <= begin <= end <= size - self._values_at:
                raise ValueError(f"the value of {name!r} is not in it")
            shape = list(map(operator.index, entry["shape"]))
            if any(dim < 0 for dim in shape):
                raise ValueError(f"the shape of {name!r} is {shape}")
            self._parts[name] = (str(entry["dtype"]), shape, begin, end)

    def _bytes(self, at: int, size: int) -> bytearray:
        block = bytearray(size)
        rest = memoryview(block)
        while rest:
            count = os.preadv(self._file, [rest], at)
            if count == 0:
                raise ValueError("it ends early")
            rest, at = rest[count:], at + count
        return block

    def damaged(self, why) -> Exception:
        """What is raised of it."""
        return errors.DataLossError(None, None, f"{self._path} is damaged: {why}.")

    def note(self, name: str) -> str | None:
        """What the writer noted beside the values; None: nothing of this name."""
        return self._metadata.get(name)

    def entries(self) -> dict:
        """{name: (dtype, shape)}; for dtypes that Gyre does not have, None."""
        return {
            name: (_gyre.as_dtype(_NAMES[kind]) if kind in _NAMES else None, shape)
            for name, (kind, shape, _, _) in self._parts.items()
        }

    def read(self, name: str):
        """A value, as numpy has it. NotFoundError: there is none of this name.
        InvalidArgumentError: its dtype is one that Gyre does not have. DataLossError: it is not
        what was saved."""
        import numpy

        if name not in self._parts:
            raise errors.NotFoundError(None, None, f"there is no tensor {name!r} in {self._path}")
        kind, shape, begin, end = self._parts[name]
        if kind not in _NAMES:
            raise errors.InvalidArgumentError(
                None, None, f"{name!r} in {self._path} is of type {kind}, which Gyre does not have"
            )
        dtype = numpy.dtype(_gyre.as_dtype(_NAMES[kind]).as_numpy_dtype)
        try:
            block = self._bytes(self._values_at + begin, end - begin)
        except ValueError as error:
            raise self.damaged(error) from error
        checksum = zlib.crc32(block)
        if (
            self._checksums.get(name, checksum) != checksum
            or len(block) != math.prod(shape) * dtype.itemsize
        ):
            raise self.damaged(f"the value of {name!r} is not what was saved")
        return numpy.frombuffer(block, dtype).reshape(shape)

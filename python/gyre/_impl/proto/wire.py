"""Messages in the wire format of protocol buffers: as much of them as graphs of programs need.

A class says its fields, `_fields = {name: Field(number, kind, …)}`; reading, writing, comparing,
copying and printing follow from that. Fields that a class does not know are kept, and written
again. https://protobuf.dev/programming-guides/encoding/
"""

import functools
import struct
from typing import Any, NamedTuple, Self

_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
_WIRE = {
    "int": _VARINT,
    "uint": _VARINT,
    "bool": _VARINT,
    "float": _FIXED32,
    "double": _FIXED64,
    "string": _BYTES,
    "bytes": _BYTES,
    "message": _BYTES,
}
_DEFAULTS = {
    "int": 0,
    "uint": 0,
    "bool": False,
    "float": 0.0,
    "double": 0.0,
    "string": "",
    "bytes": b"",
}


class DecodeError(ValueError):
    """Bytes that are no message of the kind that was asked for."""


class Field(NamedTuple):
    """One field of a message: its number, what it holds, and whether there are many of it.

    kind: "int", "uint", "bool", "float", "double", "string", "bytes", "message". type: the class of
    a message.
    label: "one", "many", or "map" (of strings to messages). oneof: the group of which one is set.
    """

    number: int
    kind: str
    label: str = "one"
    type: Any = None
    oneof: str | None = None


def _write_varint(out: bytearray, value: int) -> None:
    value &= (1 << 64) - 1
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)


def _read_varint(data, at: int) -> tuple[int, int]:
    result = shift = 0
    while True:
        if at >= len(data) or shift > 63:
            raise DecodeError("the message ends, or goes wrong, within a number")
        byte = data[at]
        at += 1
        result |= (byte & 0x7F) << shift
        if byte < 0x80:
            return result & ((1 << 64) - 1), at
        shift += 7


def _write_value(out: bytearray, kind: str, value) -> None:
    if kind in ("int", "uint", "bool"):
        _write_varint(out, int(value))
    elif kind == "float":
        out += struct.pack("<f", value)
    elif kind == "double":
        out += struct.pack("<d", value)
    else:
        data = (
            value.encode()
            if kind == "string"
            else value.SerializeToString()
            if kind == "message"
            else value
        )
        _write_varint(out, len(data))
        out += data


def _from_raw(kind: str, raw):
    """The value of a field, of what the wire holds: a number, or bytes."""
    if kind == "int":
        return raw - (1 << 64) if raw >> 63 else raw
    if kind == "bool":
        return bool(raw)
    if kind == "float":
        return struct.unpack("<f", raw)[0]
    if kind == "double":
        return struct.unpack("<d", raw)[0]
    if kind == "string":
        return bytes(raw).decode(errors="surrogateescape")
    return bytes(raw) if kind == "bytes" else raw


def _read_raw(data, at: int, wire: int) -> tuple[Any, int]:
    if wire == _VARINT:
        return _read_varint(data, at)
    size = {_FIXED64: 8, _FIXED32: 4}.get(wire)
    if wire == _BYTES:
        size, at = _read_varint(data, at)
    if size is None or at + size > len(data):
        raise DecodeError(
            "the message ends too early, or has a field of a kind that does not exist"
        )
    return data[at : at + size], at + size


class _Many(list):
    """A repeated field. `add()` appends a new message."""

    __slots__ = ("_type",)

    def __init__(self, kind=None, items=()):
        super().__init__(items)
        self._type = kind

    def add(self, **values):
        """Appends a new message with these fields, and returns it."""
        self.append(self._type(**values))
        return self[-1]


class _Map(dict):
    """A map of names to messages: what is asked for is made."""

    __slots__ = ("_type",)

    def __init__(self, kind):
        super().__init__()
        self._type = kind

    def __missing__(self, key):
        value = self[key] = self._type()
        return value


class Message:
    """A message. Fields are attributes; those that are not set have the default of their kind."""

    _fields: dict[str, Field] = {}
    __slots__ = ("_values", "_unknown")

    def __init__(self, **values):
        object.__setattr__(self, "_values", {})
        object.__setattr__(self, "_unknown", b"")
        for name, value in values.items():
            if name not in self._fields:
                raise ValueError(f"Message {type(self).__name__} has no field {name!r}")
            field = self._fields[name]
            if field.label == "map":
                for key, item in value.items():
                    getattr(self, name)[key].CopyFrom(item)
            elif field.label == "many":
                getattr(self, name).extend(value)
            elif value is not None:
                if field.kind == "message":
                    self._values[name] = value
                else:
                    setattr(self, name, value)

    # ---- Fields

    def __getattr__(self, name):
        field = type(self)._fields.get(name)
        if field is None:
            raise AttributeError(f"Message {type(self).__name__} has no field {name!r}")
        if name not in self._values:
            if field.label == "one" and field.kind != "message":
                return _DEFAULTS[field.kind]
            self._values[name] = (
                _Many(field.type)
                if field.label == "many"
                else _Map(field.type)
                if field.label == "map"
                else field.type()
            )
            if field.label == "one":
                self._values[name]._mark_unset()
        return self._values[name]

    def __setattr__(self, name, value):
        field = self._fields.get(name)
        if field is None:
            raise AttributeError(f"Message {type(self).__name__} has no field {name!r}")
        if field.label != "one" or field.kind == "message":
            raise AttributeError(
                f"field {name!r} cannot be assigned to: change what it holds, or CopyFrom"
            )
        if field.kind == "string" and isinstance(value, bytes):
            value = value.decode()
        elif field.kind == "bytes" and isinstance(value, str):
            value = value.encode()
        self._unset_others(field.oneof)
        self._values[name] = value

    def _unset_others(self, oneof) -> None:
        if oneof:
            for name, field in self._fields.items():
                if field.oneof == oneof:
                    self._values.pop(name, None)

    def _mark_unset(self) -> None:
        """There for who asks, but not set as long as it is empty."""
        object.__setattr__(self, "_unknown", None)

    def SetInParent(self) -> None:
        """Counts as set, although it is empty."""
        if self._unknown is None:
            object.__setattr__(self, "_unknown", b"")

    def _is_set(self) -> bool:
        return self._unknown is not None or any(self._has(name) for name in self._fields)

    def _has(self, name: str) -> bool:
        value = self._values.get(name)
        if isinstance(value, Message):
            return value._is_set()
        return bool(value) if isinstance(value, (_Many, _Map)) else value is not None

    def HasField(self, name: str) -> bool:
        """Whether a field, or one of a group, is set."""
        if any(field.oneof == name for field in self._fields.values()):
            return self.WhichOneof(name) is not None
        if name not in self._fields:
            raise ValueError(f"Message {type(self).__name__} has no field {name!r}")
        return self._has(name)

    def WhichOneof(self, group: str) -> Any:
        """The field of a group that is set."""
        return next(
            (
                name
                for name, field in self._fields.items()
                if field.oneof == group and self._has(name)
            ),
            None,
        )

    def ClearField(self, name: str) -> None:
        """Unsets a field."""
        self._values.pop(name, None)

    def Clear(self) -> None:
        """Unsets all fields."""
        self._values.clear()
        object.__setattr__(self, "_unknown", b"")

    def ListFields(self) -> list:
        """(name, value) of the fields that are set."""
        return [(name, self._values[name]) for name in self._fields if self._has(name)]

    # ---- The wire

    def SerializeToString(self, deterministic=None) -> bytes:
        """Its bytes. (Maps are always written in order.)"""
        del deterministic
        out = bytearray()
        for name, field in self._fields.items():
            if self._has(name):
                self._write(out, field, self._values[name])
        return bytes(out + (self._unknown or b""))

    @classmethod
    def serialized_field(cls, name: str, data: bytes) -> bytes:
        """A field with the bytes of its message, as it stands in the bytes of one of these:
        messages are joined by joining their bytes."""
        out = bytearray()
        _write_varint(out, cls._fields[name].number << 3 | _BYTES)
        _write_value(out, "bytes", data)
        return bytes(out)

    @staticmethod
    def _write(out: bytearray, field: Field, value) -> None:
        tag = field.number << 3 | _WIRE[field.kind]
        if field.label == "map":
            for key in sorted(value):
                entry = bytearray(b"\x0a")
                _write_value(entry, "string", key)
                entry += b"\x12"
                _write_value(entry, "message", value[key])
                _write_varint(out, tag)
                _write_value(out, "bytes", bytes(entry))
        elif field.label == "many" and _WIRE[field.kind] != _BYTES:
            packed = bytearray()
            for item in value:
                _write_value(packed, field.kind, item)
            _write_varint(out, field.number << 3 | _BYTES)
            _write_value(out, "bytes", bytes(packed))
        else:
            for item in value if field.label == "many" else (value,):
                _write_varint(out, tag)
                _write_value(out, field.kind, item)

    def MergeFromString(self, data) -> int:
        """Adds what bytes say. DecodeError, a ValueError, if they are no such message."""
        data = memoryview(bytes(data))
        by_number = _by_number(type(self))
        self.SetInParent()
        at = 0
        while at < len(data):
            start = at
            tag, at = _read_varint(data, at)
            raw, at = _read_raw(data, at, tag & 7)
            name, field = by_number.get(tag >> 3, (None, None))
            if field is None:
                object.__setattr__(self, "_unknown", self._unknown + bytes(data[start:at]))
            else:
                self._read(name, field, tag & 7, raw)
        return len(data)

    def _read(self, name, field: Field, wire: int, raw) -> None:
        expected = _WIRE[field.kind]
        if field.label == "many" and expected != _BYTES and wire == _BYTES:  # packed
            at = 0
            while at < len(raw):
                item, at = _read_raw(raw, at, expected)
                getattr(self, name).append(_from_raw(field.kind, item))
            return
        if wire != expected:
            raise DecodeError(
                f"field {name!r} of {type(self).__name__} is written as something else"
            )
        if field.label == "map":
            entry = _Entry.FromString(raw)
            getattr(self, name)[entry.key].MergeFromString(entry.value)
        elif field.kind == "message":
            if field.label == "one" and field.oneof and name not in self._values:
                self._unset_others(field.oneof)
            target = getattr(self, name).add() if field.label == "many" else getattr(self, name)
            target.MergeFromString(raw)
        elif field.label == "many":
            getattr(self, name).append(_from_raw(field.kind, raw))
        else:
            setattr(self, name, _from_raw(field.kind, raw))

    def ParseFromString(self, data) -> int:
        """Becomes what bytes say. DecodeError, a ValueError, if they are no such message."""
        self.Clear()
        return self.MergeFromString(data)

    @classmethod
    def FromString(cls, data) -> Self:
        """The message that bytes say."""
        message = cls()
        message.MergeFromString(data)
        return message

    def CopyFrom(self, other: "Message") -> None:
        """Becomes a copy of another message of its class. TypeError for one of another class."""
        if type(other) is not type(self):
            raise TypeError(f"a {type(self).__name__} cannot become a {type(other).__name__}")
        data = other.SerializeToString()
        self.ParseFromString(data)

    def MergeFrom(self, other: "Message") -> None:
        """Adds the fields of another message of its class."""
        self.MergeFromString(other.SerializeToString())

    def ByteSize(self) -> int:
        """How many bytes it takes."""
        return len(self.SerializeToString())

    def __eq__(self, other) -> bool:
        return type(other) is type(self) and self.SerializeToString() == other.SerializeToString()

    __hash__ = None  # pyright: ignore[reportAssignmentType] (as Python spells it)

    def __deepcopy__(self, memo) -> Self:
        return type(self).FromString(self.SerializeToString())

    def __reduce__(self):
        return type(self).FromString, (self.SerializeToString(),)

    # ---- Text

    def _lines(self, indent: str):
        for name, value in self.ListFields():
            field = self._fields[name]
            items = (
                value
                if field.label == "many"
                else [_Entry.shown(k, value[k]) for k in sorted(value)]
                if field.label == "map"
                else [value]
            )
            for item in items:
                if isinstance(item, Message):
                    yield f"{indent}{name} {{"
                    yield from item._lines(indent + "  ")
                    yield f"{indent}}}"
                else:
                    yield f"{indent}{name}: {_text(field.kind, item)}"

    def __str__(self) -> str:
        return "".join(line + "\n" for line in self._lines(""))

    __repr__ = __str__


@functools.cache
def _by_number(kind: type[Message]) -> dict[int, tuple[str, Field]]:
    return {field.number: (name, field) for name, field in kind._fields.items()}


def _text(kind: str, value) -> str:
    if kind == "bool":
        return "true" if value else "false"
    if kind == "string":
        value = value.encode(errors="surrogateescape")
    if isinstance(value, bytes):
        quoted = "".join(
            {34: '\\"', 92: "\\\\", 10: "\\n"}.get(b) or (chr(b) if 32 <= b < 127 else f"\\{b:03o}")
            for b in value
        )
        return f'"{quoted}"'
    return repr(value)


class _Entry(Message):
    """An entry of a map, whose value is yet to be read."""

    _fields = {"key": Field(1, "string"), "value": Field(2, "bytes")}

    @staticmethod
    def shown(key: str, value: Message) -> Message:
        """The entry as text shows it."""
        entry = type(
            "Entry",
            (Message,),
            {
                "_fields": {
                    "key": Field(1, "string"),
                    "value": Field(2, "message", type=type(value)),
                }
            },
        )
        return entry(key=key, value=value)

"""The classes of all messages, made of the descriptors that the build compiles from the .proto
files of src/. Loading this loads the protobuf package: gyre._impl.proto.messages does, once a class
is asked for."""

import copyreg
from pathlib import Path

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

_PLACE = "gyre._impl.proto.messages"  # where programs, and pickles, find the classes


def _named(kind, name: str):
    """`kind`, and what stands in it, under the names by which they are found."""
    kind.__module__, kind.__qualname__ = _PLACE, name
    copyreg.pickle(kind, _reduced)  # protobuf's own way takes the default pool
    for inner in kind.DESCRIPTOR.nested_types:
        if not inner.GetOptions().map_entry:
            found = _named(message_factory.GetMessageClass(inner), f"{name}.{inner.name}")
            setattr(kind, inner.name, found)  # protobuf's version without C does not
    return kind


def _reduced(message):
    return _restored, (type(message), message.SerializeToString())


def _restored(kind, data: bytes):
    return kind.FromString(data)


def _comments(file) -> dict[int, str]:
    """What stands before the messages of a file, by their places in it."""
    field = descriptor_pb2.FileDescriptorProto.MESSAGE_TYPE_FIELD_NUMBER
    return {
        location.path[1]: location.leading_comments.strip()
        for location in file.source_code_info.location
        if len(location.path) == 2 and location.path[0] == field
    }


def _load() -> dict:
    """All classes by name. In a pool of their own, which knows no others: what else is in the
    process may have definitions of the same names."""
    pool = descriptor_pool.DescriptorPool()
    data = Path(__file__).with_name("messages.binpb").read_bytes()
    found = {}
    for file in descriptor_pb2.FileDescriptorSet.FromString(data).file:
        pool.AddSerializedFile(file.SerializeToString())
        if not file.package.startswith("gyre."):
            continue
        comments = _comments(file)
        for place, message in enumerate(file.message_type):
            descriptor = pool.FindMessageTypeByName(f"{file.package}.{message.name}")
            kind = _named(message_factory.GetMessageClass(descriptor), message.name)
            kind.__doc__ = comments.get(place, "")
            found[message.name] = kind
    return found


BY_NAME = _load()

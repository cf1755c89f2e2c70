"""Gyre's messages are TensorFlow's: fields have the names, numbers and types that they have there.
Run by ./dev test --peers."""

import importlib
import os
import sys
from pathlib import Path

from google.protobuf import descriptor_pb2, descriptor_pool

DESCRIPTORS = Path(__file__).resolve().parents[2] / "python/gyre/_impl/proto/messages.binpb"
# With what they import, all that Gyre has definitions of.
MODULES = (
    "tensorflow.core.example.example_pb2",
    "tensorflow.core.protobuf.saved_model_pb2",
    "tensorflow.core.protobuf.tensor_bundle_pb2",
    "tensorflow.core.util.event_pb2",
    "tensorflow.python.training.checkpoint_state_pb2",
)
OURS, THEIRS = ".gyre.wire.", ".tensorflow."


def fields(message):
    """{name: (number, type, whether there are many, name of the type)} of a DescriptorProto."""
    return {
        field.name: (
            field.number,
            field.type,
            field.label == field.LABEL_REPEATED,
            field.type_name.replace(OURS, THEIRS),
        )
        for field in message.field
    }


def differences(ours, theirs, name):
    """Where a message, and those that stand in it, say other than TensorFlow's."""
    found = fields(theirs)
    for field, said in fields(ours).items():
        if found.get(field) != said:
            yield f"{name}.{field} is {said}, in TensorFlow {found.get(field)}"
    for kind in ("nested_type", "enum_type"):
        inner = {message.name: message for message in getattr(theirs, kind)}
        for message in getattr(ours, kind):
            compare = differences if kind == "nested_type" else differences_of_values
            yield from compare(message, inner[message.name], f"{name}.{message.name}")


def differences_of_values(ours, theirs, name):
    """Where an enumeration says other than TensorFlow's."""
    found = {value.name: value.number for value in theirs.value}
    for value in ours.value:
        if found.get(value.name) != value.number:
            yield f"{name}.{value.name} is {value.number}, in TensorFlow {found.get(value.name)}"


def main() -> int:
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    for module in MODULES:
        importlib.import_module(module)
    pool, failed, passed = descriptor_pool.Default(), 0, 0
    for file in descriptor_pb2.FileDescriptorSet.FromString(DESCRIPTORS.read_bytes()).file:
        if f".{file.package}." != OURS:
            continue
        for ours in (*file.message_type, *file.enum_type):
            name = f"{THEIRS[1:]}{ours.name}"
            is_message = isinstance(ours, descriptor_pb2.DescriptorProto)
            theirs = type(ours)()
            find = pool.FindMessageTypeByName if is_message else pool.FindEnumTypeByName
            find(name).CopyToProto(theirs)
            compare = differences if is_message else differences_of_values
            wrong = list(compare(ours, theirs, ours.name))
            print(*(f"FAILED: {line}" for line in wrong), sep="\n", end="\n" if wrong else "")
            failed, passed = failed + bool(wrong), passed + (not wrong)
    print(f"{passed} passed, {failed} failed, 0 skipped")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

"""The messages of protocol buffers that programs hold: GraphDef, NodeDef, MetaGraphDef, Event, ….

They are classes of the protobuf package, which takes as long to load as all of gyre: so they are
made when the first of them is asked for. src/wire says what they hold."""

import importlib
from typing import Any


def __getattr__(name: str) -> Any:
    if not name.startswith("_"):
        classes = importlib.import_module("gyre._impl.proto.classes").BY_NAME
        if name in classes:
            globals().update(classes)
            return classes[name]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

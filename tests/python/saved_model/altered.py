"""Saved models that are altered: what a writer could have written otherwise, and damage."""

import pathlib
import shutil

import gyre
from gyre import raw_ops
from gyre._impl.proto import messages

MODEL = pathlib.Path(__file__).parent / "objects/model"
OBJECTS = "_CHECKPOINTABLE_OBJECT_GRAPH"


def altered(folder, change, base=MODEL):
    """A copy of a model in which `change` was called with its objects and its MetaGraph."""
    if folder != base:
        shutil.copytree(base, folder)
    file = folder / "saved_model.pb"
    model = messages.SavedModel.FromString(file.read_bytes())
    change(model.meta_graphs[0].object_graph_def, model.meta_graphs[0])
    file.write_bytes(model.SerializeToString())
    return folder


def loaded(folder, change, base=MODEL):
    """That copy, loaded."""
    return gyre.saved_model.load(altered(folder, change, base))


def add(objects, name: str | None, kind: str = "_generic_user_object", **children):
    """Adds an object, as an attribute of the one that was saved: its SavedObject. kind: that of
    what has children, or a field of SavedObject."""
    number = len(objects.nodes)
    if name is not None:
        objects.nodes[0].children.add(local_name=name, node_id=number)
    node = objects.nodes.add()
    if "_" in kind and kind != "bare_concrete_function":
        node.user_object.identifier = kind
    else:
        getattr(node, kind).SetInParent()
    for local_name, child in children.items():
        node.children.add(local_name=local_name, node_id=child)
    return node


def function_of(objects, name: str) -> str:
    """The first trace of an attribute that is a function: its name."""
    number = next(c.node_id for c in objects.nodes[0].children if c.local_name == name)
    return objects.nodes[number].function.concrete_functions[0]


def checkpoint(folder, change) -> None:
    """Writes a model's checkpoint anew: `change` is called with {key: value}, and with the
    TrackableObjectGraph in it."""
    prefix = folder / "variables/variables"
    bundle = gyre._gyre.open_bundle(str(prefix))
    values = {key: bundle.read(key) for key in bundle.entries()}
    graph = messages.TrackableObjectGraph.FromString(values[OBJECTS].numpy())
    values[OBJECTS] = gyre.constant(b"")
    change(values, graph)
    if values[OBJECTS].dtype.name == "string":
        values[OBJECTS] = gyre.constant(graph.SerializeToString())
    shutil.rmtree(prefix.parent)
    prefix.parent.mkdir()
    raw_ops.SaveV2(
        prefix=gyre.constant(str(prefix)),
        tensor_names=gyre.constant(list(values)),
        shape_and_slices=gyre.constant([""] * len(values)),
        tensors=list(values.values()),
    )


def with_another_variable(folder, dtype="float32", dims=(2,)):
    """A copy of the model with a variable `extra`, [42.5, 1.0], that its graph has not, of which
    the objects say this type and this shape."""
    place = []

    def add_variable(objects, _):
        place.append(len(objects.nodes))
        saved = add(objects, "extra", "variable").variable
        saved.name, saved.trainable = "extra", True
        saved.dtype = gyre.as_dtype(dtype).as_datatype_enum
        saved.shape.SetInParent()
        for size in dims:
            saved.shape.dim.add(size=size)

    def add_value(values, graph):
        while len(graph.nodes) <= place[0]:
            graph.nodes.add()
        graph.nodes[place[0]].attributes.add(
            name="VARIABLE_VALUE", full_name="extra", checkpoint_key="extra"
        )
        values["extra"] = gyre.constant([42.5, 1.0])

    altered(folder, add_variable)
    checkpoint(folder, add_value)
    return folder

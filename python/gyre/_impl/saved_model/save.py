"""gyre.saved_model.save: programs as models that TensorFlow loads, and gyre.saved_model.load."""

from __future__ import annotations

import os
import warnings

from gyre._impl import errors
from gyre._impl.files import ModelFolder, make_folder, write_file
from gyre._impl.function.function import Function, Method
from gyre._impl.graphs.graph import Graph
from gyre._impl.proto import messages
from gyre._impl.proto.functions import merge_equal_functions, recursive_functions
from gyre._impl.proto.graphs import shape_proto
from gyre._impl.proto.own_ops import all_nodes, drop_own_attrs, replace_products, warn_of_own_ops
from gyre._impl.saved_model.export import LOCAL_OPS, Export, has_names
from gyre._impl.saved_model.load import PREDICT, LoadedModel
from gyre._impl.saved_model.object_graph import ObjectGraph

# The collection in which loaders look for the operation that they run once. As a signature, which
# TensorFlow 2 also knows, it would have to take the paths of assets.
_MAIN_OP = "saved_model_main_op"


def save(obj, export_dir, signatures=None, options=None) -> None:
    """Writes an object, its functions and the variables that they use as a SavedModel, which
    TensorFlow 1 and 2 load, serving systems run, and gyre.saved_model.load gives as objects again.

    obj: a Module or any object. Its attributes and those below are written: variables, tensors,
    gyre.functions with their traces (so far as files can hold them: a warning names what is left
    out), objects, lists, tuples and dicts. Or a loaded model, which without signatures is written
    as it was, with the values that its variables have now.
    signatures: a function, which becomes "serving_default", or {name: function}. Each is a
    gyre.function with an input_signature of tensors, a ConcreteFunction, or a signature of a loaded
    model. None: the attributes of obj that are such functions, by their names (`__call__`:
    "serving_default"). A result that is no dict is called "output_0", those of a tuple "output_0",
    … options: SaveOptions; those that can be made change nothing.
    A model that is there is replaced as a whole: at any time the folder holds the old one or the
    new one. Files in it that are no part of a model are kept.
    ValueError: nothing to be written, or a signature without input_signature. TypeError: arguments
    or results of a signature that are no tensors. InvalidArgumentError: a signature that calls
    Python. OSError: an asset that is not there."""
    del options
    if isinstance(obj, LoadedModel) and signatures is None:
        if not LoadedModel.has_changed_others(obj):
            LoadedModel.write(obj, export_dir)
            return
        signatures = obj.signatures  # it is written anew
    objects = ObjectGraph(obj)
    functions = _signatures(obj, signatures)
    if not functions and not objects.nodes("variable") and not objects.nodes("function"):
        raise ValueError(
            "there is nothing to be saved: hand over signatures, or an object with variables or "
            "gyre.functions"
        )
    export = Export(Graph(), objects)
    with export.graph.as_default():
        described = {name: export.add_signature(name, f) for name, f in functions.items()}
        export.add_functions()
        export.finish()
    _write(os.fspath(export_dir), export, _model_of(export, described))


def _signatures(obj, signatures) -> dict:
    if signatures is None:
        return _functions_of(obj)
    return signatures if isinstance(signatures, dict) else {PREDICT: signatures}


def _functions_of(obj) -> dict:
    """Those of its functions that take and return tensors with names."""
    found = {}
    for name in dir(obj):
        if name == "__call__" or not name.startswith("__"):
            value = getattr(obj, name, None)
            if isinstance(value, (Function, Method)) and value.input_signature is not None:
                concrete = value.get_concrete_function()
                if has_names(concrete):
                    found[PREDICT if name == "__call__" else name] = concrete
    return found


def _check_ops(graph_def) -> None:
    for node in all_nodes(graph_def):
        if node.op in LOCAL_OPS:
            raise errors.InvalidArgumentError(
                None,
                None,
                f"'{node.name}' calls a function of Python ({node.op}), which no file can hold",
            )


def _info(tensor) -> messages.TensorInfo:
    return messages.TensorInfo(
        name=tensor.name,
        dtype=tensor.dtype.as_datatype_enum,
        tensor_shape=shape_proto(tensor._dims),
    )


def _model_of(export: Export, described: dict) -> messages.SavedModel:
    # With control flow and calls as functions, whatever graphs of sessions are made of.
    graph_def = messages.GraphDef.FromString(export.graph.graph_def())
    _check_ops(graph_def)
    replace_products(graph_def)
    drop_own_attrs(graph_def)
    warn_of_own_ops(graph_def, stacklevel=4)
    recursive = recursive_functions(graph_def)
    if recursive:
        warnings.warn(
            f"the graph has functions that call themselves ({', '.join(recursive)}): Gyre runs it, "
            "TensorFlow does not",
            stacklevel=3,
        )
    functions = export.saved_functions(graph_def)
    merge_equal_functions(graph_def, kept=set(functions))
    told = export.objects.in_model(functions)
    for place in reversed(range(len(graph_def.node))):
        if graph_def.node[place].name in export.scaffold:
            del graph_def.node[place]
    model = messages.SavedModel(saved_model_schema_version=1)
    meta = model.meta_graphs.add()
    meta.meta_info_def.tags.append("serve")
    meta.graph_def.CopyFrom(graph_def)
    meta.object_graph_def.CopyFrom(told)
    if export.saver is not None:
        meta.saver_def.CopyFrom(export.saver)
    for variable in export.described:
        for collection in ("variables", *(["trainable_variables"] if variable.trainable else [])):
            meta.collection_def[collection].bytes_list.value.append(variable.SerializeToString())
    for name, (inputs, outputs) in described.items():
        signature = meta.signature_def[name]
        signature.method_name = "tensorflow/serving/predict"
        for entries, tensors in ((signature.inputs, inputs), (signature.outputs, outputs)):
            for key, tensor in tensors.items():
                entries[key].CopyFrom(_info(tensor))
    for path, _, name in export.assets:
        meta.asset_file_def.add(tensor_info=_info(path), filename=name)
    if export.init is not None:
        meta.collection_def[_MAIN_OP].node_list.value.append(export.init.name)
    return model


def _write(folder: str, export: Export, model: messages.SavedModel) -> None:
    with ModelFolder(folder) as unfinished:
        make_folder(os.path.join(unfinished, "variables"))
        export.write_variables(os.path.join(unfinished, "variables", "variables"))
        for _, source, name in export.assets:
            make_folder(os.path.join(unfinished, "assets"))
            with open(source, "rb") as asset:
                write_file(os.path.join(unfinished, "assets", name), asset.read())
        write_file(
            os.path.join(unfinished, "saved_model.pb"), model.SerializeToString(deterministic=True)
        )

"""gyre.saved_model.save: programs as models that TensorFlow loads, and gyre.saved_model.load."""

from __future__ import annotations

import os
import re

from gyre import _gyre
from gyre._impl import errors, nest
from gyre._impl.convert import call
from gyre._impl.files import ModelFolder, make_folder, write_file
from gyre._impl.function.concrete import ConcreteFunction
from gyre._impl.function.function import Function, Method
from gyre._impl.graphs.constant import placeholder
from gyre._impl.graphs.graph import Graph
from gyre._impl.lookup.tables import table_of
from gyre._impl.module import named_variables
from gyre._impl.proto import messages
from gyre._impl.proto.graphs import shape_proto
from gyre._impl.proto.own_ops import all_nodes, replace_own_ops
from gyre._impl.saved_model.assets import asset_of
from gyre._impl.saved_model.load import PREDICT, LoadedModel, Signature
from gyre._impl.saved_model.tables import GraphTable
from gyre._impl.spec import TensorSpec

# Ops that mean something in this process alone.
_LOCAL = {"PyFunc", "EagerPyFunc", "PyFuncStateless"}
# The collection in which loaders look for the operation that they run once. As a signature, which
# TensorFlow 2 also knows, it would have to take the paths of assets.
_MAIN_OP = "saved_model_main_op"


def save(obj, export_dir, signatures=None, options=None) -> None:
    """Writes functions and the variables that they use as a SavedModel (version 1's layout, which
    TensorFlow 1 and 2 load, and serving systems run).

    obj: what holds the variables: a Module or any object; their names in it become their keys. Or a
    loaded model, which without signatures is written as it was, with the values that its variables
    have now.
    signatures: a function, which becomes "serving_default", or {name: function}. Each is a
    gyre.function with an input_signature of tensors, a ConcreteFunction, or a signature of a loaded
    model. None: the attributes of obj that are such functions, by their names (`__call__`:
    "serving_default"). A result that is no dict is called "output_0", those of a tuple "output_0",
    … options: SaveOptions; those that can be made change nothing.
    A model that is there is replaced as a whole: at any time the folder holds the old one or the
    new one. Files in it that are no part of a model are kept.
    ValueError: nothing to be written, or a function without input_signature. TypeError: arguments
    or results that are no tensors. InvalidArgumentError: a function that calls Python. OSError: an
    asset that is not there."""
    del options
    if isinstance(obj, LoadedModel) and signatures is None:
        obj.write(export_dir)
        return
    functions = _signatures(obj, signatures)
    graph = Graph()
    export = _Export(graph, dict((id(v), name) for name, v in named_variables(obj)))
    with graph.as_default():
        described = {name: export.add(name, function) for name, function in functions.items()}
        export.finish()
    _write(os.fspath(export_dir), export, _model_of(export, described))


def _signatures(obj, signatures) -> dict:
    if signatures is None:
        signatures = _functions_of(obj)
    elif not isinstance(signatures, dict):
        signatures = {PREDICT: signatures}
    if not signatures:
        raise ValueError(
            "there is nothing to be saved: hand over signatures, or an object with gyre.functions "
            "that have an input_signature"
        )
    return signatures


def _functions_of(obj) -> dict:
    found = {}
    for name in dir(obj):
        if name == "__call__" or not name.startswith("__"):
            value = getattr(obj, name, None)
            if isinstance(value, (Function, Method)) and value.input_signature is not None:
                found[PREDICT if name == "__call__" else name] = value
    return found


def _inputs_of(name: str, function) -> dict:
    """{argument: TensorSpec} of a function that is to be a signature."""
    if isinstance(function, Signature):
        return function.structured_input_signature[1]
    if isinstance(function, (Function, Method)):
        if function.input_signature is None:
            raise ValueError(
                f"signature '{name}': '{function.name}' has no input_signature, which says what it "
                f"takes: give it one, or hand over its get_concrete_function(…)"
            )
        function = function.get_concrete_function()
    if not isinstance(function, ConcreteFunction):
        raise TypeError(f"signature '{name}' is a {type(function).__name__}, not a gyre.function")
    args, kwargs = function.structured_input_signature
    specs = nest.flatten((args, kwargs))
    names = function._names_of_parameters()
    parts = any(map(nest.is_nested, [*args, *kwargs.values()]))
    if (
        not all(isinstance(spec, TensorSpec) for spec in specs)
        or parts
        and len(names) != len(specs)
    ):
        raise TypeError(
            f"signature '{name}' takes {args} {kwargs}: only tensors have names in a SavedModel"
        )
    if parts:  # numbered, as TensorFlow has them
        return dict(zip(names, specs, strict=True))
    return {spec.name: spec for spec in specs}


def _outputs_of(name: str, results) -> dict:
    if isinstance(results, (tuple, list)):
        results = {f"output_{i}": value for i, value in enumerate(results)}
    elif not isinstance(results, dict):
        results = {"output_0": results}
    for key, value in results.items():
        if not isinstance(key, str) or not isinstance(value, _gyre.Tensor):
            raise TypeError(
                f"signature '{name}' gives {value!r} as {key!r}: only tensors have names in a "
                "SavedModel"
            )
    return results


def _node_name(text: str) -> str:
    """A name of a node that says `text`, of which names of nodes may hold letters and digits of
    ASCII only. Signatures keep their own names and their arguments'."""
    name = re.sub(r"[^A-Za-z0-9_.\\/-]", "_", text)
    return name if re.match("[A-Za-z0-9.]", name) else f"signature{name}"


class _Export:
    """The graph of a model while it is made."""

    def __init__(self, graph: Graph, keys: dict):
        self._graph, self._keys = graph, keys
        self._used = {}  # by id: variables
        self._tables = {}  # by the id of the handle: tables
        self.variables = {}  # by key: what the checkpoint holds
        self.assets = []  # (placeholder, path of the file, its name in the folder of assets)
        self.saver = None  # a SaverDef, if there are variables
        self.described = []  # a VariableDef for each
        self.init = None  # the operation that runs once when the model is loaded

    def add(self, name: str, function) -> tuple[dict, dict]:
        """A signature: {input: placeholder}, {output: tensor}."""
        inputs = {
            argument: placeholder(spec.dtype, spec.shape, _node_name(f"{name}_{argument}"))
            for argument, spec in _inputs_of(name, function).items()
        }
        # Names of functions may begin as no name of a node may.
        with self._graph.name_scope(_node_name(name)):
            if isinstance(function, Signature):
                concrete, used = function.concrete(), function.variables
                arguments = [inputs[argument] for argument in sorted(inputs)]
            else:
                concrete = (
                    function
                    if isinstance(function, ConcreteFunction)
                    else function.get_concrete_function()
                )
                arguments = list(inputs.values())
                used = list(concrete.variables)
            captured = [self._in_graph(tensor) for tensor in concrete.captured_inputs]
            results = concrete.run_in_graph(arguments, captured)
        self._used.update((id(variable), variable) for variable in used)
        outputs = {
            key: call("Identity", value, name=_node_name(f"{name}_{key}"))
            for key, value in _outputs_of(name, results).items()
        }
        return inputs, outputs

    def _in_graph(self, captured):
        """What stands for a tensor that a function has captured: of a table, one of the graph."""
        known = table_of(captured) if captured.dtype.name == "resource" else None
        if known is None:
            return captured
        if captured.id not in self._tables:
            self._tables[captured.id] = GraphTable(captured, known, len(self._tables))
        return self._tables[captured.id].handle

    def finish(self) -> None:
        """Adds what gives variables their values: the checkpoint, or the paths of assets."""
        keys = []
        for variable in self._used.values():
            if asset_of(variable) is None:
                keys.append(self._keys.get(id(variable), variable.name.removesuffix(":0")))
                self.variables[keys[-1]] = variable
        if len(self.variables) < len(keys):
            raise ValueError(
                f"variables share a name: {sorted(key for key in keys if keys.count(key) > 1)}"
            )
        if self.variables:
            self._add_saver()
        self._add_assets()

    def _add_saver(self) -> None:
        prefix = call(
            "PlaceholderWithDefault", _gyre.convert("model"), shape=(), name="saver_filename"
        )
        slices = _gyre.convert([""] * len(self.variables), _gyre.as_dtype("string"))
        names = _gyre.convert(list(self.variables), _gyre.as_dtype("string"))
        variables = list(self.variables.values())
        restored = _gyre.execute(
            "RestoreV2",
            [prefix, names, slices],
            {"dtypes": [variable.dtype for variable in variables]},
            "saver/RestoreV2",
        )
        assigned, values = [], []
        for variable, value in zip(variables, restored, strict=True):
            if None not in (variable.shape._dims or [None]):
                value = call(
                    "EnsureShape", value, shape=variable.shape.as_list(), name="saver/EnsureShape"
                )
            assigned.append(self._assign(variable, value, "saver"))
            values.append(
                call("ReadVariableOp", variable.handle, dtype=variable.dtype, name="saver/Read")
            )
            self._describe(variable, assigned[-1], values[-1], value)
        with self._graph.control_dependencies(assigned):
            _gyre.execute("NoOp", [], {}, "saver/restore_all")
        restore = self._graph.last_operation()
        _gyre.execute("SaveV2", [prefix, names, slices, values], {}, "saver/SaveV2")
        with self._graph.control_dependencies([self._graph.last_operation()]):
            saved = call("Identity", prefix, name="saver/saved")
        self.saver = messages.SaverDef(
            filename_tensor_name=prefix.name,
            save_tensor_name=saved.name,
            restore_op_name=restore.name,
            version=messages.SaverDef.V2,
        )

    def _add_assets(self) -> None:
        """The init op stores the paths, as they are where the model is loaded, and fills tables."""
        assigned, names = [], set()
        for variable in self._used.values():
            source = asset_of(variable)
            if source is None:
                continue
            path = placeholder(variable.dtype, [], "asset_path")
            assigned.append(self._assign(variable, path, "init"))
            read = call("ReadVariableOp", variable.handle, dtype=variable.dtype, name="init/Read")
            self._describe(variable, assigned[-1], read, path)
            self.assets.append((path, source, _unused_name(os.path.basename(source), names)))
        for table in self._tables.values():
            source = table.file()
            path = None
            if source is not None:
                path = placeholder(_gyre.as_dtype("string"), [], "asset_path")
                self.assets.append((path, source, _unused_name(os.path.basename(source), names)))
            table.fill(path)
            assigned.append(self._graph.last_operation())
        if assigned:
            with self._graph.control_dependencies(assigned):
                _gyre.execute("NoOp", [], {}, "init/all")
            self.init = self._graph.last_operation()

    def _assign(self, variable, value, scope: str):
        _gyre.execute(
            "AssignVariableOp",
            [variable.handle, value],
            {"dtype": variable.dtype},
            f"{scope}/Assign",
        )
        return self._graph.last_operation()

    def _describe(self, variable, assign, read, value) -> None:
        self.described.append(
            messages.VariableDef(
                variable_name=assign.inputs[0].name,
                initializer_name=assign.name,
                snapshot_name=read.name,
                initial_value_name=value.name,
                is_resource=True,
                trainable=bool(variable.trainable),
            )
        )

    def write_variables(self, prefix: str) -> None:
        """The checkpoint."""
        _gyre.execute(
            "SaveV2",
            [
                _gyre.convert(prefix),
                _gyre.convert(list(self.variables)),
                _gyre.convert([""] * len(self.variables)),
                [variable.read_value() for variable in self.variables.values()],
            ],
            {},
        )


def _unused_name(name: str, taken: set) -> str:
    """`name`, or one with a number in it if that is taken."""
    stem, ending = os.path.splitext(name)
    number = 0
    while name in taken:
        number += 1
        name = f"{stem}_{number}{ending}"
    taken.add(name)
    return name


def _check_ops(graph_def) -> None:
    for node in all_nodes(graph_def):
        if node.op in _LOCAL:
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


def _model_of(export: _Export, described: dict) -> messages.SavedModel:
    graph_def = export._graph.as_graph_def()
    _check_ops(graph_def)
    replace_own_ops(graph_def)
    model = messages.SavedModel(saved_model_schema_version=1)
    meta = model.meta_graphs.add()
    meta.meta_info_def.tags.append("serve")
    meta.graph_def.CopyFrom(graph_def)
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


def _write(folder: str, export: _Export, model: messages.SavedModel) -> None:
    with ModelFolder(folder) as unfinished:
        make_folder(os.path.join(unfinished, "variables"))
        if export.variables:
            export.write_variables(os.path.join(unfinished, "variables", "variables"))
        for _, source, name in export.assets:
            make_folder(os.path.join(unfinished, "assets"))
            with open(source, "rb") as asset:
                write_file(os.path.join(unfinished, "assets", name), asset.read())
        write_file(
            os.path.join(unfinished, "saved_model.pb"), model.SerializeToString(deterministic=True)
        )

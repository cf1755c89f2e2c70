"""gyre.saved_model.save: programs as models that TensorFlow loads, and gyre.saved_model.load."""

import os
import warnings

from gyre import _gyre
from gyre._impl import errors, nest
from gyre._impl.convert import call
from gyre._impl.function.concrete import ConcreteFunction
from gyre._impl.function.function import Function, Method
from gyre._impl.module import named_variables
from gyre._impl.saved_model import messages
from gyre._impl.saved_model.load import PREDICT, LoadedModel, Signature
from gyre._impl.spec import TensorSpec
from gyre._impl.v1.constant import placeholder
from gyre._impl.v1.graph import Graph
from gyre._impl.v1.messages import shape_proto
from gyre._impl.variable import variable_of

# Ops that mean something in this process alone.
_LOCAL = {"PyFunc", "EagerPyFunc", "PyFuncStateless"}


def save(obj, export_dir, signatures=None, options=None) -> None:
    """Writes functions and the variables that they use as a SavedModel (version 1's layout, which
    TensorFlow 1 and 2 load, and serving systems run).

    obj: what holds the variables: a Module or any object; their names in it become their keys. Or a
    loaded model, which is written again.
    signatures: a function, which becomes "serving_default", or {name: function}. Each is a gyre.function
    with an input_signature of tensors, a ConcreteFunction, or a signature of a loaded model. None: the
    attributes of obj that are such functions, by their names (`__call__`: "serving_default"); of a loaded
    model its signatures. A result that is no dict is called "output_0", those of a tuple "output_0", …
    ValueError: nothing to be written, or a function without input_signature. TypeError: arguments or
    results that are no tensors. InvalidArgumentError: a function that calls Python."""
    del options
    functions = _signatures(obj, signatures)
    graph = Graph()
    export = _Export(graph, dict((id(v), name) for name, v in named_variables(obj)))
    with graph.as_default():
        described = {name: export.add(name, function) for name, function in functions.items()}
        saver = export.add_saver()
    _write(os.fspath(export_dir), export, described, saver)


def _signatures(obj, signatures) -> dict:
    if signatures is None:
        signatures = obj.signatures if isinstance(obj, LoadedModel) else _functions_of(obj)
    elif not isinstance(signatures, dict):
        signatures = {PREDICT: signatures}
    if not signatures:
        raise ValueError("there is nothing to be saved: hand over signatures, or an object with gyre.functions "
                         "that have an input_signature")
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
            raise ValueError(f"signature '{name}': '{function.name}' has no input_signature, which says what it "
                             f"takes: give it one, or hand over its get_concrete_function(…)")
        function = function.get_concrete_function()
    if not isinstance(function, ConcreteFunction):
        raise TypeError(f"signature '{name}' is a {type(function).__name__}, not a gyre.function")
    args, kwargs = function.structured_input_signature
    specs = nest.flatten((args, kwargs))
    if not all(isinstance(spec, TensorSpec) for spec in specs) or any(map(nest.is_nested, args)):
        raise TypeError(f"signature '{name}' takes {args} {kwargs}: only tensors have names in a SavedModel")
    return {spec.name: spec for spec in specs}


def _outputs_of(name: str, results) -> dict:
    if isinstance(results, (tuple, list)):
        results = {f"output_{i}": value for i, value in enumerate(results)}
    elif not isinstance(results, dict):
        results = {"output_0": results}
    for key, value in results.items():
        if not isinstance(key, str) or not isinstance(value, _gyre.Tensor):
            raise TypeError(f"signature '{name}' gives {value!r} as {key!r}: only tensors have names in a SavedModel")
    return results


class _Export:
    """The graph of a model while it is made."""

    def __init__(self, graph: Graph, keys: dict):
        self._graph, self._keys = graph, keys
        self.variables = {}  # by id: (key, variable)

    def add(self, name: str, function) -> tuple[dict, dict]:
        """A signature: {input: placeholder}, {output: tensor}."""
        inputs = {argument: placeholder(spec.dtype, spec.shape, f"{name}_{argument}")
                  for argument, spec in _inputs_of(name, function).items()}
        # Names of functions may begin as no name of a node may.
        with self._graph.name_scope(name):
            if isinstance(function, Signature):
                results, used = function(**inputs), function.variables
            else:
                concrete = function if isinstance(function, ConcreteFunction) else function.get_concrete_function()
                results = concrete(*inputs.values())
                used = [variable_of(handle) for handle in concrete.variables]
        for variable in used:
            key = self._keys.get(id(variable), variable.name.removesuffix(":0"))
            self.variables.setdefault(id(variable), (key, variable))
        outputs = {key: call("Identity", value, name=f"{name}_{key}")
                   for key, value in _outputs_of(name, results).items()}
        return inputs, outputs

    def add_saver(self) -> tuple[messages.SaverDef | None, list]:
        """What saves and restores the variables, and a VariableDef for each; None where there are none."""
        if not self.variables:
            return None, []
        keys = [key for key, _ in self.variables.values()]
        if len(set(keys)) < len(keys):
            raise ValueError(f"variables share a name: {sorted(key for key in keys if keys.count(key) > 1)}")
        prefix = call("PlaceholderWithDefault", _gyre.convert("model"), shape=(), name="saver_filename")
        slices = _gyre.convert([""] * len(keys), _gyre.as_dtype("string"))
        names = _gyre.convert(keys, _gyre.as_dtype("string"))
        variables = [variable for _, variable in self.variables.values()]
        restored = _gyre.execute("RestoreV2", [prefix, names, slices],
                                 {"dtypes": [variable.dtype for variable in variables]}, "saver/RestoreV2")
        assigned, values, described = [], [], []
        for variable, value in zip(variables, restored):
            if None not in (variable.shape.dims or [None]):
                value = call("EnsureShape", value, shape=variable.shape.as_list(), name="saver/EnsureShape")
            _gyre.execute("AssignVariableOp", [variable.handle, value], {"dtype": variable.dtype}, "saver/Assign")
            assigned.append(self._graph.last_operation())
            values.append(call("ReadVariableOp", variable.handle, dtype=variable.dtype, name="saver/Read"))
            described.append(messages.VariableDef(
                variable_name=assigned[-1].inputs[0].name, initializer_name=assigned[-1].name,
                snapshot_name=values[-1].name, initial_value_name=value.name, is_resource=True,
                trainable=bool(variable.trainable)))
        with self._graph.control_dependencies(assigned):
            _gyre.execute("NoOp", [], {}, "saver/restore_all")
        restore = self._graph.last_operation()
        _gyre.execute("SaveV2", [prefix, names, slices, values], {}, "saver/SaveV2")
        with self._graph.control_dependencies([self._graph.last_operation()]):
            saved = call("Identity", prefix, name="saver/saved")
        saver = messages.SaverDef(filename_tensor_name=prefix.name, save_tensor_name=saved.name,
                                  restore_op_name=restore.name, version=2)
        return saver, described

    def write_variables(self, prefix: str) -> None:
        """The checkpoint."""
        pairs = list(self.variables.values())
        _gyre.execute("SaveV2", [_gyre.convert(prefix), _gyre.convert([key for key, _ in pairs]),
                                 _gyre.convert([""] * len(pairs)), [v.read_value() for _, v in pairs]], {})


def _check_ops(graph_def) -> None:
    nodes = [*graph_def.node, *(node for function in graph_def.library.function for node in function.node_def)]
    for node in nodes:
        if node.op in _LOCAL:
            raise errors.InvalidArgumentError(
                None, None, f"'{node.name}' calls a function of Python ({node.op}), which no file can hold")
    own = sorted({node.op for node in nodes if node.op.startswith("_") and node.op not in ("_Arg", "_Retval")})
    if own:
        warnings.warn(f"the model has ops of Gyre's own ({', '.join(own)}): Gyre runs it, TensorFlow does not",
                      stacklevel=4)


def _info(tensor) -> messages.TensorInfo:
    return messages.TensorInfo(name=tensor.name, dtype=tensor.dtype.as_datatype_enum,
                               tensor_shape=shape_proto(tensor._dims))


def _write(folder: str, export: _Export, described: dict, saver: tuple) -> None:
    graph_def = export._graph.as_graph_def()
    _check_ops(graph_def)
    model = messages.SavedModel(saved_model_schema_version=1)
    meta = model.meta_graphs.add()
    meta.meta_info_def.tags.append("serve")
    meta.graph_def.CopyFrom(graph_def)
    if saver[0] is not None:
        meta.saver_def.CopyFrom(saver[0])
    for variable in saver[1]:
        for collection in ("variables", *(["trainable_variables"] if variable.trainable else [])):
            meta.collection_def[collection].bytes_list.value.append(variable.SerializeToString())
    for name, (inputs, outputs) in described.items():
        signature = meta.signature_def[name]
        signature.method_name = "tensorflow/serving/predict"
        for entries, tensors in ((signature.inputs, inputs), (signature.outputs, outputs)):
            for key, tensor in tensors.items():
                entries[key].CopyFrom(_info(tensor))
    os.makedirs(os.path.join(folder, "variables"), exist_ok=True)
    if export.variables:
        export.write_variables(os.path.join(folder, "variables", "variables"))
    # Last, and at once: a folder with this file is a model.
    temporary = os.path.join(folder, "saved_model.pb.new")
    with open(temporary, "wb") as file:
        file.write(model.SerializeToString())
        file.flush()
        os.fsync(file.fileno())
    os.replace(temporary, os.path.join(folder, "saved_model.pb"))

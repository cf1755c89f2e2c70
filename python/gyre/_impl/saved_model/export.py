"""The graph of a model while it is made: signatures, functions of objects, what fills variables."""

from __future__ import annotations

import functools
import os
import re
import warnings
from typing import Any

from gyre import _gyre
from gyre._impl import nest
from gyre._impl.convert import call
from gyre._impl.function.concrete import ConcreteFunction
from gyre._impl.function.function import function
from gyre._impl.function.interface import concrete_of, inputs_of, named_outputs
from gyre._impl.graphs.constant import placeholder
from gyre._impl.graphs.graph import Graph
from gyre._impl.lookup.tables import table_of
from gyre._impl.proto import messages
from gyre._impl.proto.functions import recursive_functions
from gyre._impl.proto.own_ops import all_nodes, own_ops_in
from gyre._impl.saved_model.assets import asset_of
from gyre._impl.saved_model.functions import LoadedFunction, LoadedTrace
from gyre._impl.saved_model.load import Signature
from gyre._impl.saved_model.object_graph import OBJECTS, Node, ObjectGraph, function_spec
from gyre._impl.saved_model.structures import encode
from gyre._impl.saved_model.tables import GraphTable
from gyre._impl.spec import TensorSpec, type_spec_from_value

# Ops that mean something in this process alone.
LOCAL_OPS = {"PyFunc", "EagerPyFunc", "PyFuncStateless"}
_STRING = _gyre.as_dtype("string")
_RESOURCE = TensorSpec([], "resource")


class Trace:
    """A concrete function that is saved: the operation that calls it, of how many arguments (what
    it has captured follows), and the SavedConcreteFunction that tells of it."""

    def __init__(self, takes, gives, names: list[str] | None = None):
        self.told: Any = messages.SavedConcreteFunction()
        self.told.canonicalized_input_signature.CopyFrom(encode(takes))
        self.told.output_signature.CopyFrom(encode(gives))
        specs = nest.flatten(takes, expand_composites=True)
        self.specs = [spec for spec in specs if isinstance(spec, TensorSpec)]
        self.names = names or [spec.name or "" for spec in self.specs]  # of its arguments
        self.call = ""
        self.function = ""  # its name in the library

    def found_in(self, nodes: dict, stand_for: dict) -> None:
        """Learns from the graph's nodes, by name, what it is called there and what it captures."""
        node = nodes[self.call]
        inputs = [source.split(":")[0] for source in node.input if not source.startswith("^")]
        self.function = node.attr["f"].func.name
        captured = inputs[len(self.specs) :]
        self.told.bound_inputs.extend(stand_for[operation].number for operation in captured)


class Export:
    """The graph of a model while it is made, and the objects that it is made of."""

    def __init__(self, graph: Graph, objects: ObjectGraph):
        self.graph, self.objects = graph, objects
        self.variables = {}  # by key: what the checkpoint holds
        self.assets = []  # (placeholder, path of the file, its name in the folder of assets)
        self.saver = None  # a SaverDef, if there are variables
        self.described = []  # a VariableDef for each
        self.init = None  # the operation that runs once when the model is loaded
        self.scaffold: set[str] = set()  # operations that are there to have a call, by name
        self._stand_for: dict[str, Node] = {}  # by operation: the object that its result stands for
        self._constants = {}  # by the id of an eager tensor: the graph's
        self._tables: dict[int, tuple[GraphTable, Node]] = {}  # by the id of the handle
        self._paths = {}  # by id: variables that are paths of assets
        self._traces: dict[int, Trace | None] = {}  # by id of the concrete function
        self._of_nodes: dict[Node, list[Trace]] = {}  # by object: the traces that tell of it
        self._all: list[Trace] = []
        self._signatures: Node | None = None  # the object that holds them
        self._kept: list = []  # whose ids are keys
        self._asset_names: set[str] = set()
        for node in objects.nodes("asset"):
            self._paths[id(node.value._path)] = node.value._path

    # ---- Functions

    def add_signature(self, name: str, given) -> tuple[dict, dict]:
        """{input: placeholder}, {output: tensor} of a function that is to be a signature."""
        what = f"signature '{name}'"
        if isinstance(given, Signature):
            concrete, specs = given.concrete(), given.structured_input_signature[1]
            order = sorted(specs)
        else:
            concrete = concrete_of(given, what)
            specs = inputs_of(concrete, what, "a SavedModel")
            order = list(specs)

        node_name = _node_name(name)
        specs = {
            argument: TensorSpec(spec._dims, spec.dtype, argument)
            for argument, spec in specs.items()
        }
        inputs = {
            argument: placeholder(spec.dtype, spec._dims, _node_name(f"{name}_{argument}"))
            for argument, spec in specs.items()
        }
        run = functools.partial(_run_named, concrete, order, what)
        wrapped = function(run, name=f"signature_{node_name}", autograph=False)
        wrapped = wrapped.get_concrete_function(**specs)
        order = sorted(specs)
        trace = Trace(((), specs), _specs(wrapped.structured_outputs), order)
        results: Any = self._call(
            wrapped, trace, [inputs[argument] for argument in order], node_name
        )
        self._of_nodes[self._signature_node(name)] = [trace]
        outputs = {
            key: call("Identity", value, name=_node_name(f"{name}_{key}"))
            for key, value in results.items()
        }
        return inputs, outputs

    def add_functions(self) -> None:
        """The functions of the objects. Warns of traces that cannot be saved."""
        for node in [
            *self.objects.nodes("function"),
            *self.objects.nodes("bare_concrete_function"),
        ]:
            if node not in self._of_nodes:
                traces = [self._trace(*found) for found in _traces_of(node.value)]
                self._of_nodes[node] = [trace for trace in traces if trace is not None]
                if node.kind != "function" and None in traces:
                    del self._of_nodes[node]
                    self.objects.drop(node)

    def _trace(self, concrete: ConcreteFunction, takes) -> Trace | None:
        if id(concrete) in self._traces:
            return self._traces[id(concrete)]
        self._kept.append(concrete)
        self._traces[id(concrete)] = None
        try:
            trace = Trace(takes, _specs(concrete.structured_outputs))
            _check(concrete)
        except TypeError as error:
            warnings.warn(
                f"a trace of '{concrete.name}' is not saved with the object that has it: {error}",
                stacklevel=5,
            )
            return None
        arguments = [placeholder(spec.dtype, spec._dims, "argument") for spec in trace.specs]
        self.scaffold.update(argument.op.name for argument in arguments)
        self._call(concrete, trace, arguments, _node_name(concrete.name))
        self.scaffold.add(trace.call)
        self._traces[id(concrete)] = trace
        return trace

    def _call(self, concrete: ConcreteFunction, trace: Trace, arguments: list, scope: str):
        """Adds a call of it to the graph, in a scope of names."""
        self._note_variables(concrete)
        captured = [self._in_graph(tensor) for tensor in concrete.captured_inputs]
        with self.graph.name_scope(scope):
            results = concrete.run_in_graph(arguments, captured)
        trace.call = self.graph.last_operation().name
        self._all.append(trace)
        return results

    def _note_variables(self, concrete: ConcreteFunction) -> None:
        for variable in concrete.variables:
            handle = _gyre.convert(variable.handle)  # of the graph: one, in no scope
            if asset_of(variable) is None:
                self._stand_for[handle.op.name] = self.objects.node_of(variable)
            else:
                self._paths[id(variable)] = variable

    def _in_graph(self, captured):
        """What stands in the graph for a tensor that a function has captured."""
        known = table_of(captured) if captured.dtype.name == "resource" else None
        if known is not None:
            if captured.id not in self._tables:
                table = GraphTable(captured, known, len(self._tables))
                self._tables[captured.id] = table, self.objects.add("resource")
                self._stand_for[table.handle.op.name] = self._tables[captured.id][1]
            return self._tables[captured.id][0].handle
        if captured.dtype.name in ("resource", "variant"):
            return captured
        return self._constant(self.objects.node_of(captured))

    def _constant(self, node: Node):
        tensor = node.value
        if tensor.id not in self._constants:
            attrs = {"value": tensor, "dtype": tensor.dtype}
            made = _gyre.execute("Const", [], attrs, "constant")[0]
            self._constants[tensor.id] = made
            self._stand_for[made.op.name] = node
            node.told = messages.SavedConstant(operation=made.op.name)
        return self._constants[tensor.id]

    def _signature_node(self, name: str) -> Node:
        if self._signatures is None:
            self._signatures = self.objects.add("signatures")
            self.objects.root.children["signatures"] = self._signatures
        node = self._signatures.children[name] = self.objects.add("bare_concrete_function")
        return node

    def saved_functions(self, graph_def) -> dict[str, messages.SavedConcreteFunction]:
        """{name in the library: what tells of it}, once the graph is made."""
        nodes = {node.name: node for node in graph_def.node}
        for trace in self._all:
            trace.found_in(nodes, self._stand_for)
        for node, traces in self._of_nodes.items():
            if node.kind == "function":
                signature, given = _called_as(node.value)
                node.told = messages.SavedFunction(
                    concrete_functions=[trace.function for trace in traces],
                    function_spec=function_spec(signature, given),
                )
            else:
                node.told = messages.SavedBareConcreteFunction(
                    concrete_function_name=traces[0].function,
                    argument_keywords=traces[0].names,
                    allowed_positional_arguments=len(traces[0].names),
                )
        return {trace.function: trace.told for trace in self._all}

    # ---- What variables and tables are given where the model is loaded

    def finish(self) -> None:
        """Adds what gives variables their values: the checkpoint, or the paths of assets."""
        self._add_init()
        for node in self.objects.nodes("constant"):
            self._constant(node)
        self.objects.add_variables_that_nothing_holds()
        self.objects.number()
        self.variables = {key: node for node, key in self.objects.keys().items()}
        if self.variables:
            self._add_saver()

    def _add_saver(self) -> None:
        prefix = call(
            "PlaceholderWithDefault", _gyre.convert("model"), shape=(), name="saver_filename"
        )
        variables = [node.value for node in self.variables.values()]
        slices = _gyre.convert([""] * len(variables), _STRING)
        names = _gyre.convert(list(self.variables), _STRING)
        restored = _gyre.execute(
            "RestoreV2",
            [prefix, names, slices],
            {"dtypes": [variable.dtype for variable in variables]},
            "saver/RestoreV2",
        )
        assigned, values = [], []
        for node, value in zip(self.variables.values(), restored, strict=True):
            variable = node.value
            if None not in (variable.shape._dims or [None]):
                value = call(
                    "EnsureShape", value, shape=variable.shape.as_list(), name="saver/EnsureShape"
                )
            attrs = {"dtype": variable.dtype}
            _gyre.execute("AssignVariableOp", [variable.handle, value], attrs, "saver/Assign")
            assigned.append(self.graph.last_operation())
            values.append(
                call("ReadVariableOp", variable.handle, dtype=variable.dtype, name="saver/Read")
            )
            self._describe(variable, assigned[-1], values[-1], value)
        with self.graph.control_dependencies(assigned):
            _gyre.execute("NoOp", [], {}, "saver/restore_all")
        restore = self.graph.last_operation()
        _gyre.execute("SaveV2", [prefix, *self._items(values)], {}, "saver/SaveV2")
        with self.graph.control_dependencies([self.graph.last_operation()]):
            saved = call("Identity", prefix, name="saver/saved")
        self.saver = messages.SaverDef(
            filename_tensor_name=prefix.name,
            save_tensor_name=saved.name,
            restore_op_name=restore.name,
            version=messages.SaverDef.V2,
        )

    def _items(self, values: list) -> list:
        """Names, slices and values of what a checkpoint holds."""
        names = [*self.variables, OBJECTS]
        told = _gyre.convert(self.objects.in_checkpoint(), _STRING)
        return [
            _gyre.convert(names, _STRING),
            _gyre.convert([""] * len(names), _STRING),
            [*values, told],
        ]

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
        """The checkpoint, which says what objects there are also where none is a variable."""
        values = [node.value.read_value() for node in self.variables.values()]
        _gyre.execute("SaveV2", [_gyre.convert(prefix), *self._items(values)], {})

    def _add_init(self) -> None:
        """The init op stores the paths of assets, as they are where the model is loaded, and fills
        tables. Loaders of objects do so, too: object by object."""
        filled = []
        assets = {id(node.value._path): node for node in self.objects.nodes("asset")}
        for place, variable in enumerate(self._paths.values()):
            asset = assets.get(id(variable)) or self.objects.add("asset")
            path = self._path(asset, asset_of(variable) or "")
            node = self.objects.add("resource")

            def make(variable=variable, place=place):
                attrs = {"dtype": variable.dtype, "shape": [], "shared_name": f"path_{place}"}
                return _gyre.execute("VarHandleOp", [], attrs)[0]

            def fill(handle, path):
                _gyre.execute("AssignVariableOp", [handle, path], {"dtype": path.dtype})

            filled.append(self._resource(node, variable.handle, make, fill, [path]))
        for table, node in self._tables.values():
            file = table.file()
            paths = [] if file is None else [self._path(self.objects.add("asset"), file)]
            filled.append(self._resource(node, table.handle, table.make, table.fill, paths))
        if filled:
            with self.graph.control_dependencies(filled):
                _gyre.execute("NoOp", [], {}, "init/all")
            self.init = self.graph.last_operation()

    def _path(self, node: Node, file: str):
        """A placeholder for the path of a file of the model, which the object tells of."""
        path = placeholder(_STRING, [], "asset_path")
        node.told = messages.SavedAsset(asset_file_def_index=len(self.assets))
        self._stand_for[path.op.name] = node
        self.assets.append((path, file, _unused_name(os.path.basename(file), self._asset_names)))
        return path

    def _resource(self, node: Node, handle, make, fill, paths: list):
        """The operation that fills what is behind a handle, by a function of the object, which has
        another that makes it."""

        made = function(
            functools.partial(make), name="create_resource", autograph=False, input_signature=[]
        )
        specs = [_RESOURCE, *(TensorSpec([], _STRING) for _ in paths)]
        filling = function(functools.partial(_filled, fill), name="initialize", autograph=False)
        created = self._trace(made.get_concrete_function(), ((), {}))
        initialized = Trace(((), {}), TensorSpec([], "int32"))
        self._call(filling.get_concrete_function(*specs), initialized, [handle, *paths], "init")
        done = self.graph.last_operation()
        self._stand_for[done.inputs[0].op.name] = node
        for name, trace in (("_create_resource", created), ("_initialize", initialized)):
            if trace is not None:
                child = node.children[name] = self.objects.add("bare_concrete_function")
                self._of_nodes[child] = [trace]
        return done


def _run_named(concrete: ConcreteFunction, order: list[str], what: str, **inputs) -> dict:
    """What a signature does. (Of partials of it and of others, nobody says that they are traced
    again and again.)"""
    results = concrete.run([inputs[argument] for argument in order])
    return named_outputs(results, what, "a SavedModel")


def has_names(concrete: ConcreteFunction) -> bool:
    """Whether what it takes and returns are tensors with names, as signatures have them."""
    try:
        inputs_of(concrete, "", "")
        named_outputs(concrete.structured_outputs, "", "")
    except TypeError:
        return False
    return True


def _filled(fill, handle, *paths) -> int:
    """Fills what is behind the handle; returns a number, as functions that initialize do."""
    fill(handle, *paths)
    return 1


def _traces_of(value) -> list[tuple[ConcreteFunction, tuple]]:
    """[(concrete function, what it takes)] of a function."""
    if isinstance(value, LoadedTrace):
        return [(value.concrete(), value.structured_input_signature)]
    if isinstance(value, LoadedFunction):
        return [found for trace in value.concrete_functions for found in _traces_of(trace)]
    if isinstance(value, ConcreteFunction):
        return [(value, value.structured_input_signature)]
    try:
        if value.input_signature is not None:
            value.get_concrete_function()
        value._trace_nested()
    except Exception as error:  # whatever the Python function says
        warnings.warn(f"'{value.name}' cannot be traced, to be saved: {error}", stacklevel=5)
    return [found for one in value._list_all_concrete_functions() for found in _traces_of(one)]


def _called_as(value) -> tuple:
    """The parameters of a function, and its input_signature."""
    if isinstance(value, LoadedFunction):
        return value.parameters, None
    return value.parameters.signature, value.input_signature


def _specs(results):
    """Results, with a spec for each tensor."""
    return nest.map_structure(lambda x: None if x is None else type_spec_from_value(x), results)


def _check(concrete: ConcreteFunction) -> None:
    """TypeError: no file can hold what the function is."""
    for tensor in concrete.captured_inputs:
        if tensor.dtype.name in ("resource", "variant") and table_of(tensor) is None:
            raise TypeError(f"it uses {tensor!r}, which no file holds")
    graph_def = messages.GraphDef.FromString(concrete.graph.graph_def())
    local = sorted(LOCAL_OPS.intersection(node.op for node in all_nodes(graph_def)))
    lacking = local or own_ops_in(graph_def)
    if lacking:
        raise TypeError(f"TensorFlow has no {', '.join(lacking)}")
    recursive = recursive_functions(graph_def)
    if recursive:
        raise TypeError(f"TensorFlow takes no function that calls itself ('{recursive[0]}')")


def _node_name(text: str) -> str:
    """A name of a node that says `text`, of which names of nodes may hold letters and digits of
    ASCII only. Signatures keep their own names and their arguments'."""
    name = re.sub(r"[^A-Za-z0-9_.\\/-]", "_", text)
    return name if re.match("[A-Za-z0-9.]", name) else f"signature{name}"


def _unused_name(name: str, taken: set) -> str:
    """`name`, or one with a number in it if that is taken."""
    stem, ending = os.path.splitext(name)
    number = 0
    while name in taken:
        number += 1
        name = f"{stem}_{number}{ending}"
    taken.add(name)
    return name

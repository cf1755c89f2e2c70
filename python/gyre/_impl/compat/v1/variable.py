"""Variables of graphs: tensors that sessions keep from run to run."""

from __future__ import annotations

import contextlib

from gyre import _gyre
from gyre._impl import variable as variables
from gyre._impl.annotations import Any
from gyre._impl.autodiff import tape
from gyre._impl.compat.v1 import variable_proto
from gyre._impl.compat.v1.collections import GraphKeys
from gyre._impl.compat.v1.control import cond
from gyre._impl.compat.v1.group import group
from gyre._impl.convert import call, convert_to_tensor, holds_tensor
from gyre._impl.graphs.constant import constant
from gyre._impl.graphs.default_session import session_for
from gyre._impl.graphs.graph import current, has_default_graph
from gyre._impl.graphs.switches import modes
from gyre._impl.shape import TensorShape, as_dims
from gyre._impl.tracing.variables import of_graphs
from gyre._impl.unsupported import refuse

_Base = variables.Variable


class _Making(type(_Base)):
    """Outside of graphs, a Variable is the one that eager code uses."""

    def __call__(cls, *args, **kwargs):
        if has_default_graph():
            return super().__call__(*args, **kwargs)
        kwargs.update(zip(_PARAMETERS, args, strict=False))
        known = (
            "initial_value",
            "trainable",
            "validate_shape",
            "name",
            "dtype",
            "constraint",
            "shape",
        )
        return _Base(**{k: v for k, v in kwargs.items() if k in known})


_PARAMETERS = (
    "initial_value",
    "trainable",
    "collections",
    "validate_shape",
    "caching_device",
    "name",
    "variable_def",
    "dtype",
    "expected_shape",
    "import_scope",
    "constraint",
    "use_resource",
    "synchronization",
    "aggregation",
    "shape",
)


class Variable(_Base, metaclass=_Making):
    """A tensor that each session keeps from run to run, once its `initializer` has run.

    Wherever a tensor is wanted, it means a read: after what control_dependencies name there, and in
    no order with other reads and writes. Comparison and hash are by identity.

    initial_value: what converts to a tensor, or a function without arguments that returns it.
    collections: of the graph, that it is added to; by default GraphKeys.GLOBAL_VARIABLES, and if it
    is trainable TRAINABLE_VARIABLES. validate_shape=False: its shape may change.
    use_resource: whether its operations are named as resource variables' are; references run alike.
    ValueError without an initial value, or if it is of an unknown shape that is to be validated.
    """

    _is_reference = False
    _save_slice_info = None  # of a variable that is part of a tensor of a checkpoint

    def __init__(
        self,
        initial_value=None,
        trainable=None,
        collections=None,
        validate_shape=True,
        caching_device=None,
        name=None,
        variable_def=None,
        dtype=None,
        expected_shape=None,
        import_scope=None,
        constraint=None,
        use_resource=None,
        synchronization=None,
        aggregation=None,
        shape=None,
        full_name=None,
    ):
        del caching_device, expected_shape, import_scope, synchronization, aggregation
        refuse(
            variable_def is not None,
            "variable_def",
            "import the MetaGraph, or use Variable.from_proto",
        )
        if initial_value is None:
            raise ValueError("initial_value must be specified.")
        if constraint is not None and not callable(constraint):
            raise ValueError("The `constraint` argument must be a callable.")
        self._graph = graph = current()
        self._constraint = constraint
        self._is_resource = modes.resource_variables if use_resource is None else use_resource
        outside = callable(initial_value) or _gyre.in_body()
        if outside and isinstance(initial_value, _gyre.Tensor):
            initial_value = _gyre.lifted(initial_value)
        place = graph.main_scope() if outside else contextlib.nullcontext()
        with place, graph.name_scope(full_name or name or "Variable") as scope:
            self._name = scope[:-1]
            self._initial_value = self._first_value(initial_value, dtype, scope)
            self._dtype = self._initial_value.dtype
            self._dims = self._checked_dims(shape, validate_shape)
            self.handle = _gyre.execute(
                "VarHandleOp",
                [],
                {
                    "dtype": self._dtype,
                    "shape": self._dims,
                    "shared_name": self._name,
                    "container": graph._container,
                },
                scope,
            )[0]
            self._add_operations(graph, scope)
        self._trainable = True if trainable is None else bool(trainable)
        self.is_watched = self._trainable and (self._dtype.is_floating or self._dtype.is_complex)
        of_graphs[self.handle.id] = self
        self._collect(graph, collections)

    def _first_value(self, value, dtype, scope):
        with self._graph.name_scope(scope):
            if callable(value):
                with self._graph.name_scope("Initializer"):
                    return self._made(value(), dtype)
            if holds_tensor(value):
                return _cast(convert_to_tensor(value), dtype)
            with self._graph.name_scope("Initializer" if self._is_resource else scope):
                return constant(value, dtype, name="initial_value")

    @staticmethod
    def _made(value, dtype):
        return (
            _cast(convert_to_tensor(value), dtype)
            if holds_tensor(value)
            else constant(value, dtype)
        )

    def _checked_dims(self, shape, validate_shape: bool):
        if shape is not None:
            return as_dims(shape)
        if not validate_shape:
            return None
        dims = self._initial_value._dims
        if not TensorShape(dims).is_fully_defined():
            raise ValueError(
                f"initial_value must have a shape specified: {self._initial_value!r}. Say "
                f"validate_shape=False for a variable whose shape may change."
            )
        return dims

    def _add_operations(self, graph, scope) -> None:
        with graph.name_scope(scope):
            if self._is_resource:
                self._initialized = call(
                    "VarIsInitializedOp", self.handle, name="IsInitialized/VarIsInitializedOp"
                )
            _gyre.execute(
                "AssignVariableOp",
                [self.handle, self._initial_value],
                {"dtype": self._dtype},
                "Assign",
            )
            self._initializer = graph.last_operation()
            with graph.control_dependencies(None):
                self._snapshot = call(
                    "ReadVariableOp",
                    self.handle,
                    dtype=self._dtype,
                    name=("Read/ReadVariableOp" if self._is_resource else "read"),
                )

    def _collect(self, graph, collections) -> None:
        names = [GraphKeys.GLOBAL_VARIABLES] if collections is None else list(collections)
        if self._trainable and GraphKeys.TRAINABLE_VARIABLES not in names:
            names.append(GraphKeys.TRAINABLE_VARIABLES)
        graph.add_to_collections(names, self)

    # ---- What it is

    @property
    def graph(self):
        """The graph that it is part of."""
        return self._graph

    @property
    def op(self):
        """The operation that stands for it: of its name."""
        return self._graph.operation_of(_gyre.node_of(self.handle))

    @property
    def initializer(self):
        """The operation that gives it its initial value."""
        return self._initializer

    @property
    def initial_value(self):
        """The tensor that it starts with."""
        return self._initial_value

    @property
    def device(self) -> str:
        """Where it was asked to be."""
        return self.op.device

    @property
    def _shared_name(self) -> str:
        return self._name

    def to_proto(self, export_scope=None):
        """It as a message (VariableDef), names without export_scope; None if it is not in that."""
        return variable_proto.to_proto(self, export_scope)

    @staticmethod
    def from_proto(variable_def, import_scope=None) -> Variable:
        """The variable that a message (VariableDef) describes, whose operations are in the default
        graph behind import_scope. KeyError if they are not."""
        kind = Variable if variable_def.is_resource else RefVariable
        return variable_proto.from_proto(kind.__new__(kind), variable_def, import_scope)

    def set_shape(self, shape) -> None:
        """Says what is known of its shape by other means.
        ValueError if that contradicts what is known."""
        self._dims = TensorShape(self._dims).merge_with(shape)._dims

    def _as_graph_element(self):
        return self._snapshot

    def _ref(self) -> Variable:
        """A reference to it: it may itself be handed to what changes variables."""
        return self

    # ---- Reading

    def _resource(self):
        if self.is_watched and tape.recording():
            _gyre.accessed(self.handle, self.handle)
        return self.handle

    def read_value(self):
        """The value that it has when this is computed: a tensor of its own."""
        argument = self._argument()
        if argument is not None:
            return argument
        return call("ReadVariableOp", self._resource(), dtype=self._dtype)

    __gyre_tensor__ = read_value

    def value(self):
        """The value that it has when this is computed."""
        return self.read_value()

    def initialized_value(self):
        """Its value or, while it has none, its initial value."""
        return cond(self.is_initialized(), self.read_value, lambda: self._initial_value)

    def is_initialized(self, name=None):
        """Whether it has a value: a bool tensor."""
        return call("VarIsInitializedOp", self.handle, name=name)

    def eval(self, session=None):
        """Its value in a session, as a numpy array."""
        return self._snapshot.eval(session=session)

    def load(self, value, session=None) -> None:
        """Makes `value`, an array, its value in a session."""
        session_for(session, self._graph, "load()", "operation").run(
            self._initializer, {self._initial_value: value}
        )

    def numpy(self):
        """Refused: a variable of a graph has a value in each session. NotImplementedError."""
        raise NotImplementedError(
            "numpy() is only available when eager execution is enabled: use "
            "eval(session) or session.run(variable)"
        )

    # ---- Writing

    def _written(self, op: str, inputs, attrs, name=None, read_value: bool = True):
        """A write: a tensor of the value after it (of a resource, the variable after it), or the
        operation."""
        _gyre.execute(op, [self.handle, *inputs], attrs, name)
        if not has_default_graph():  # in a function, which writes and reads in its order
            return self.read_value() if read_value else None
        graph = current()
        write = graph.last_operation()
        if not read_value:
            return write
        with graph.control_dependencies([write]):
            value = call("ReadVariableOp", self.handle, dtype=self._dtype)
        return _Written._of(self, write, value) if self._is_resource else value

    def _run(self, op: str, *inputs, **attrs):
        return self._written(op, inputs, attrs)

    def _assign(self, op: str, value, name, read_value: bool):
        if self._is_resource or not isinstance(value, (bool, int, float)):
            value = self._checked(value)
        if name is None:
            name = op if self._is_resource else op.replace("VariableOp", "")
        return self._written(op, [value], {"dtype": self._dtype}, name, read_value)

    def _operand(self, value):
        return _as_value(value, self._dtype)

    def assign(self, value, use_locking=False, name=None, read_value=True):
        """Makes `value` its value: a tensor of the value afterwards (or, without read_value, the
        operation). ValueError if the shape or dtype does not fit."""
        del use_locking
        return self._assign("AssignVariableOp", value, name, read_value)

    def assign_add(self, delta, use_locking=False, name=None, read_value=True):
        """Adds to its value: a tensor of the value afterwards (or, without read_value, the
        operation)."""
        del use_locking
        return self._assign("AssignAddVariableOp", delta, name, read_value)

    def assign_sub(self, delta, use_locking=False, name=None, read_value=True):
        """Subtracts from its value: a tensor of the value afterwards (or, without read_value, the
        operation)."""
        del use_locking
        return self._assign("AssignSubVariableOp", delta, name, read_value)

    def __iter__(self):
        raise TypeError("'Variable' object is not iterable.")

    def __eq__(self, other):
        return self is other

    def __ne__(self, other):
        return self is not other

    def __hash__(self) -> int:
        return id(self)

    def __deepcopy__(self, memo):
        raise NotImplementedError("a variable of a graph cannot be copied: use initialized_value()")

    def __repr__(self) -> str:
        ref = "" if self._is_resource else "_ref"
        return f"<gyre.Variable '{self.name}' shape={self.shape} dtype={self._dtype.name}{ref}>"


class _Written(Variable):
    """A variable after a write: reads of it, and further writes, wait for that."""

    _write: Any

    @classmethod
    def _of(cls, variable, write, value) -> _Written:
        made = cls.__new__(cls)
        vars(made).update(vars(variable), _write=write, _snapshot=value)
        return made

    @property
    def op(self):
        """The operation that writes."""
        return self._write

    def read_value(self):
        """The value that it has when this is computed: a tensor of its own."""
        if not has_default_graph():
            return super().read_value()
        with current().control_dependencies([self._write]):
            return super().read_value()

    __gyre_tensor__ = read_value

    def _written(self, op: str, inputs, attrs, name=None, read_value: bool = True):
        if not has_default_graph():
            return super()._written(op, inputs, attrs, name, read_value)
        with current().control_dependencies([self._write]):
            return super()._written(op, inputs, attrs, name, read_value)


_AS_REFERENCE = {
    "AssignVariableOp": "Assign",
    "AssignAddVariableOp": "AssignAdd",
    "AssignSubVariableOp": "AssignSub",
}


class RefVariable(Variable):
    """A variable whose node (VariableV2) gives a reference, as TensorFlow 1 made them. It comes
    from a MetaGraph (train.import_meta_graph); variables that programs make are resources.

    Everything of a Variable, but for updates of single rows (NotImplementedError)."""

    _is_reference = True

    def read_value(self):
        """The value that it has when this is computed: a tensor of its own."""
        return call("Identity", self.handle)

    __gyre_tensor__ = read_value

    def is_initialized(self, name=None):
        """Whether it has a value: a bool tensor."""
        return call("IsVariableInitialized", self.handle, name=name)

    def _written(self, op: str, inputs, attrs, name=None, read_value: bool = True):
        if op not in _AS_REFERENCE:
            raise NotImplementedError(
                f"variable '{self.name}' is a reference variable of an imported graph: it can "
                f"be assigned to, added to and subtracted from as a whole, not by {op}"
            )
        graph = current()
        attrs = {"validate_shape": self._dims is not None} if op == "AssignVariableOp" else {}
        _gyre.execute(_AS_REFERENCE[op], [self.handle, *inputs], attrs, name)
        write = graph.last_operation()
        if not read_value:
            return write
        with graph.control_dependencies([write]):
            return self.read_value()


def _as_value(value, dtype):
    """A tensor of the graph. ValueError for a tensor of another dtype."""
    return convert_to_tensor(value, dtype) if holds_tensor(value) else constant(value, dtype)


def _cast(value, dtype):
    if dtype is None or value.dtype == _gyre.as_dtype(dtype):
        return value
    return call("Cast", value, DstT=_gyre.as_dtype(dtype))


def _of(key, scope=None):
    return current().get_collection(key, scope)


def global_variables(scope=None) -> list:
    """The variables of the graph; `scope`: those whose names it matches at their beginning."""
    return _of(GraphKeys.GLOBAL_VARIABLES, scope)


def local_variables(scope=None) -> list:
    """The variables that are not saved."""
    return _of(GraphKeys.LOCAL_VARIABLES, scope)


def model_variables(scope=None) -> list:
    """The variables in GraphKeys.MODEL_VARIABLES."""
    return _of(GraphKeys.MODEL_VARIABLES, scope)


def moving_average_variables(scope=None) -> list:
    """The variables that keep moving averages."""
    return _of(GraphKeys.MOVING_AVERAGE_VARIABLES, scope)


def trainable_variables(scope=None) -> list:
    """The variables that optimizers change."""
    return _of(GraphKeys.TRAINABLE_VARIABLES, scope)


def all_variables() -> list:
    """As global_variables."""
    return global_variables()


def variables_initializer(var_list, name="init") -> Any:
    """An operation that gives all of them their initial values."""
    return group(*[v.initializer for v in var_list], name=name)


def global_variables_initializer() -> Any:
    """An operation that gives all variables of the graph so far their initial values."""
    if not has_default_graph():
        return group(name="init")
    return variables_initializer(global_variables())


def initialize_all_variables() -> Any:
    """As global_variables_initializer."""
    return global_variables_initializer()


def local_variables_initializer() -> Any:
    """An operation that gives the local variables their initial values."""
    return variables_initializer(local_variables())


def is_variable_initialized(variable) -> Any:
    """Whether it has a value: a bool tensor."""
    if isinstance(variable, _gyre.Tensor):  # a reference
        return call("IsVariableInitialized", variable)
    return variable.is_initialized()


def report_uninitialized_variables(var_list=None, name="report_uninitialized_variables") -> Any:
    """The names of variables that have no value: a vector of strings."""
    if var_list is None:
        var_list = global_variables() + local_variables()
    with current().name_scope(name):
        if not var_list:
            return constant([], "string")
        missing = call("LogicalNot", call("Pack", [v.is_initialized() for v in var_list]))
        names = constant([v.op.name for v in var_list], "string")
        places = call("Reshape", call("Where", missing), constant([-1], "int32"))
        return call("GatherV2", names, places, constant(0, "int32"))

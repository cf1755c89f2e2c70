"""Graph: operations that are added one by one, and run by sessions;
and which graph is the default."""

from __future__ import annotations

import contextlib
import re
import threading
from contextlib import AbstractContextManager
from typing import Any

from gyre import _gyre
from gyre._impl.control_flow.group import control_dependencies as others
from gyre._impl.device import device as eager_device
from gyre._impl.device import name_scope as newer_name_scope
from gyre._impl.graphs.operation import Operation
from gyre._impl.graphs.switches import modes
from gyre._impl.proto import messages
from gyre._impl.proto.graphs import attr_of
from gyre._impl.tracing import lines
from gyre._impl.unsupported import refuse

_SCOPE_NAME = re.compile(r"[A-Za-z0-9_.\\\-/]*")
_ROOT_SCOPE_NAME = re.compile(r"[A-Za-z0-9.][A-Za-z0-9_.\\\-/]*")

lines.install()


class Graph(_gyre.Graph):
    """Operations on tensors, run by sessions as far as what is fetched needs them.

    Nothing runs because of where it stands in the program: only data and control_dependencies order
    operations. Operations may be added between runs, until `finalize`. One thread at a time builds.
    """

    building_function = False
    is_control_flow_graph = property(
        lambda self: _gyre.current_graph() is self and _gyre.in_body(),
        doc="Whether operations go into a body of a loop or branch.",
    )

    def __init__(self):
        super().__init__("graph", True)
        self._operations: list[Operation] = []
        self._by_name: dict[str, Operation] = {}
        self._inner: dict = {}  # of bodies of loops and branches, by their nodes
        self._collections: dict = {}
        self.gradient_scopes: list[str] = []  # in front of names of what gradients added
        self._finalized = False
        self._colocated: list[str] = []
        self._devices: list = []
        self.seed = None
        self._container = ""

    # ---- As the default

    @contextlib.contextmanager
    def as_default(self):
        """A context in which operations are added to this graph."""
        with self, _defaults.entered(self):
            yield self

    # ---- Operations

    @property
    def version(self) -> int:
        """A number that grows with each operation."""
        return len(self.get_operations())

    def get_operations(self) -> list[Operation]:
        """All operations, in the order in which they were added."""
        for node in _gyre.nodes_of(self, len(self._operations)):
            operation = Operation(node, self)
            self._operations.append(operation)
            self._by_name[operation.name] = operation
        return list(self._operations)

    def operation_of(self, node) -> Operation:
        """The Operation of a node: the same each time, for those of the graph itself."""
        if not node.in_main:
            if node not in self._inner:
                self._inner[node] = Operation(node, self)
            return self._inner[node]
        if node.id >= len(self._operations):
            self.get_operations()
        return self._operations[node.id]

    def last_operation(self) -> Operation:
        """The one that was added last, where operations are being added."""
        return self.operation_of(_gyre.last_node())

    def get_operation_by_name(self, name: str) -> Operation:
        """The operation of a name. KeyError if there is none; TypeError for what is no string."""
        if not isinstance(name, str):
            raise TypeError(f"Operation names are strings (or similar), not {type(name).__name__}.")
        self.get_operations()
        if name not in self._by_name:
            raise KeyError(f"The name '{name}' refers to an Operation not in the graph.")
        return self._by_name[name]

    def get_tensor_by_name(self, name: str):
        """The tensor "operation:slot". KeyError if there is none; ValueError for other forms."""
        if not isinstance(name, str):
            raise TypeError(f"Tensor names are strings (or similar), not {type(name).__name__}.")
        return self.as_graph_element(name, allow_operation=False)

    def as_graph_element(self, obj, allow_tensor: bool = True, allow_operation: bool = True):
        """The tensor or operation that a tensor, operation, variable or name stands for.

        ValueError for those of other graphs and of bodies of loops and branches; KeyError for names
        that nothing has; TypeError for all else.
        """
        wanted = " or ".join(["Tensor"] * allow_tensor + ["Operation"] * allow_operation)
        convert = getattr(obj, "_as_graph_element", None)
        if convert is not None:
            obj = convert()
        if isinstance(obj, str):
            obj = self._named(obj, allow_tensor, allow_operation)
        elif isinstance(obj, bytes):
            obj = self._named(obj.decode(), allow_tensor, allow_operation)
        if isinstance(obj, _gyre.Tensor) and obj.is_symbolic and allow_tensor:
            self._check_here(_gyre.node_of(obj), obj.graph, f"Tensor {obj!r}")
            return obj
        if isinstance(obj, Operation) and allow_operation:
            self._check_here(obj.node, obj.graph, f"Operation {obj.name!r}")
            return obj
        raise TypeError(f"Can not convert a {type(obj).__name__} into a {wanted}.")

    def _check_here(self, node, graph, what: str) -> None:
        if graph is not self:
            raise ValueError(f"{what} is not an element of this graph: it belongs to another one.")
        if not node.in_main:
            raise ValueError(
                f"{what} is not an element of this graph: it is made in {node.place}, at "
                f"{node.line or 'an unknown line'}, and is neither fetchable nor feedable. "
                f"Return it from there."
            )

    def _named(self, name: str, allow_tensor: bool, allow_operation: bool):
        if ":" in name and allow_tensor:
            operation, _, slot = name.partition(":")
            if not slot.isdigit():
                raise ValueError(
                    f"The name {name!r} looks a like a Tensor name, but is not a valid one. "
                    f'Tensor names must be of the form "<op_name>:<output_index>".'
                )
            self.get_operations()
            if operation not in self._by_name:
                raise KeyError(
                    f"The name {name!r} refers to a Tensor which does not exist. The operation, "
                    f"{operation!r}, does not exist in the graph."
                )
            outputs = self._by_name[operation].outputs
            if int(slot) >= len(outputs):
                raise KeyError(
                    f"The name {name!r} refers to a Tensor which does not exist. The operation, "
                    f"{operation!r}, exists but only has {len(outputs)} outputs."
                )
            return outputs[int(slot)]
        if not allow_operation:
            raise ValueError(
                f'Tensor names must be of the form "<op_name>:<output_index>", but got {name!r}.'
            )
        if ":" in name:
            raise ValueError(f"Name {name!r} appears to refer to a Tensor, not a Operation.")
        self.get_operations()
        if name not in self._by_name:
            raise KeyError(f"The name {name!r} refers to an Operation not in the graph.")
        return self._by_name[name]

    def is_feedable(self, tensor) -> bool:
        """Whether a session may be fed a value for it."""
        return not isinstance(tensor, Operation) and self.is_fetchable(tensor)

    def is_fetchable(self, tensor_or_op) -> bool:
        """Whether a session may be asked for it."""
        try:
            self.as_graph_element(tensor_or_op)
        except (TypeError, ValueError, KeyError):
            return False
        return True

    # ---- The end

    @property
    def finalized(self) -> bool:
        """Whether operations can no longer be added."""
        return self._finalized

    def finalize(self) -> None:
        """From now on, adding an operation is a RuntimeError."""
        self._finalized = True
        self.freeze(True)

    # ---- Names, places, order

    def _get_control_flow_context(self) -> None:
        """None: what stands in branches and loops is in functions, not in contexts."""

    def unique_name(self, name: str, mark_as_used: bool = True) -> str:
        """The name that an operation asking for `name` here gets."""
        return _gyre.claim_name(self, name, mark_as_used)

    def get_name_scope(self) -> str:
        """What stands in front of names here, without a slash at its end."""
        return _gyre.scope_name(self)

    @contextlib.contextmanager
    def name_scope(self, name: str | None):
        """Names of operations made within it begin with `name`, made unique, and a slash: that is
        what the context gives. With a slash at its end `name` is taken as it is; None or "": no
        scope. ValueError for a name that cannot be one."""
        before = _gyre.scope_name(self)
        if name:
            allowed = _SCOPE_NAME if before else _ROOT_SCOPE_NAME
            if not isinstance(name, str) or not allowed.fullmatch(name):
                raise ValueError(f"'{name}' is not a valid {'' if before else 'root '}scope name")
        scope = (
            "" if not name else name[:-1] if name.endswith("/") else _gyre.claim_name(self, name)
        )
        _gyre.set_scope_name(self, scope)
        try:
            yield scope + "/" if scope else ""
        finally:
            _gyre.set_scope_name(self, before)

    @contextlib.contextmanager
    def device(self, device_name_or_function):
        """Operations made within it ask for this device: a name, a function of the operation (which
        is asked once, for an operation without a type), or None for no device."""
        given: Any = device_name_or_function
        if callable(given):
            given = given(_Unplaced())
        before = self._devices[-1] if self._devices else ""
        name = ""
        if given is not None:
            name = given.to_string() if hasattr(given, "to_string") else given
            _gyre.check_device(name)
            name = _merged(before, name)
        self._devices.append(name)
        try:
            with self.device_scope(name):
                yield
        finally:
            self._devices.pop()

    @contextlib.contextmanager
    def colocate_with(self, op, ignore_existing: bool = False):
        """Operations made within it are recorded as to be in one place with `op` (a tensor,
        operation or variable; None: with nothing). There is one place, so far."""
        before, devices = self._colocated, self._devices
        if op is not None and not hasattr(op, "name"):
            op = _gyre.convert(op)
        group = None if op is None else "loc:@" + _name_of(op)
        self._colocated = ([] if ignore_existing or op is None else list(before)) + (
            [group] if group else []
        )
        if op is not None:  # what is asked for around does not count
            self._devices = []
        device = getattr(op, "device", None)
        try:
            with (
                self.colocation_scope(self._colocated),
                contextlib.nullcontext() if op is None else self.device(device or None),
            ):
                yield
        finally:
            self._colocated, self._devices = before, devices

    @contextlib.contextmanager
    def control_dependencies(self, control_inputs):
        """Operations made within it run after these. None: after nothing, whatever stands
        around."""
        if control_inputs is None:
            with self.no_control_scope():
                yield
            return
        before = [_awaited(self, item) for item in control_inputs]
        with self.control_scope(before):
            yield

    @contextlib.contextmanager
    def container(self, container_name: str):
        """Queues and variables made within it are in a container of this name."""
        before, self._container = self._container, container_name
        try:
            yield container_name
        finally:
            self._container = before

    # ---- Collections

    @property
    def collections(self) -> list:
        """The names of collections that hold something."""
        return [name for name, values in self._collections.items() if values]

    def get_all_collection_keys(self) -> list:
        """The names of collections that are strings."""
        return [name for name in self._collections if isinstance(name, str)]

    def add_to_collection(self, name, value) -> None:
        """Adds a value to a collection."""
        if self._finalized:
            raise RuntimeError("Graph is finalized and cannot be modified.")
        self._collections.setdefault(name, []).append(value)

    def add_to_collections(self, names, value) -> None:
        """Adds a value to each of several collections (or of one)."""
        for name in (names,) if isinstance(names, str) else dict.fromkeys(names):
            self.add_to_collection(name, value)

    def get_collection_ref(self, name) -> list:
        """A collection itself."""
        return self._collections.setdefault(name, [])

    def get_collection(self, name, scope=None) -> list:
        """A copy of a collection; `scope`: only of what has a name that it matches at its
        beginning."""
        values = self._collections.get(name, [])
        if scope is None:
            return list(values)
        pattern = re.compile(scope)
        return [v for v in values if hasattr(v, "name") and pattern.match(v.name)]

    def clear_collection(self, name) -> None:
        """Empties a collection."""
        self._collections.pop(name, None)

    # ---- As a message

    def as_graph_def(self, from_version=None, add_shapes: bool = False) -> messages.GraphDef:
        """The graph as a GraphDef: with control flow in the form that control_flow_v2_enabled()
        says.
        add_shapes: its nodes say the shapes of their outputs (`_output_shapes`).
        NotImplementedError for from_version."""
        return as_message(self, self.serialized(), from_version, add_shapes)

    def serialized(self) -> bytes:
        """As as_graph_def, in bytes: many times quicker, where nobody looks into it."""
        return self.graph_def() if modes.control_flow_v2 else _gyre.lowered_graph_def(self)

    @property
    def graph_def_versions(self) -> messages.VersionDef:
        """The versions that its GraphDef says."""
        return self.as_graph_def().versions


def as_message(graph, data: bytes, from_version, add_shapes: bool) -> messages.GraphDef:
    """What a graph was written as, as Graph.as_graph_def returns it."""
    refuse(from_version is not None, "from_version", "a graph is written as a whole")
    graph_def = messages.GraphDef.FromString(data)
    marked = {o.name: o._marks for o in graph.get_operations() if o._marks}
    for node in graph_def.node if marked else ():
        for name, value in marked.get(node.name, {}).items():
            node.attr[name].CopyFrom(value)
    if add_shapes:
        operations = {operation.name: operation for operation in graph.get_operations()}
        for node in graph_def.node:
            if node.name in operations:  # else control flow that was written out
                shapes = [output._dims for output in operations[node.name].outputs]
                node.attr["_output_shapes"].CopyFrom(attr_of(shapes, "list(shape)"))
    return graph_def


class _Unplaced:
    """What a device function is asked about."""

    name = type = device = ""


def _merged(outer: str, inner: str) -> str:
    """A device within another: parts that it does not name stay."""

    def parts(device: str) -> dict[str, str]:
        found = {}
        for part in device.strip("/").split("/"):
            if not part:
                continue
            kind, _, rest = part.partition(":")
            if kind.lower() in ("cpu", "gpu"):
                kind, rest = "device", f"{kind.upper()}:{rest}"
            found[kind] = rest
        return found

    both = {**parts(outer), **parts(inner)}
    return "".join(
        f"/{kind}:{both[kind]}" for kind in ("job", "replica", "task", "device") if kind in both
    )


def _name_of(item) -> str:
    operation = getattr(item, "op", item)
    return operation.name.partition(":")[0]


def _awaited(graph: Graph, item):
    """A tensor or node that can be waited for."""
    if isinstance(item, Operation):
        return item.node
    element = getattr(item, "_as_graph_element", None)
    if element is not None:
        item = element()
    for part in ("values", "flow"):
        if not isinstance(item, (_gyre.Tensor, Operation)) and isinstance(
            getattr(item, part, None), _gyre.Tensor
        ):
            item = getattr(item, part)
    if isinstance(item, str):
        item = graph.as_graph_element(item)
    if isinstance(item, Operation):
        return item.node
    if not isinstance(item, _gyre.Tensor):
        raise TypeError(
            f"Can not convert a {type(item).__name__} into an Operation or a Tensor to wait for."
        )
    return item


# ---- The default graph


class _Defaults(threading.local):
    """The graphs of as_default on this thread; below them, one for all that is not in any."""

    def __init__(self):
        self.stack: list[Graph] = []
        self.base: Graph | None = None
        self.eager = False  # whether eager_mode() is the innermost of it and of the graphs

    @contextlib.contextmanager
    def entered(self, graph: Graph):
        before, self.eager = self.eager, False
        self.stack.append(graph)
        try:
            yield
        finally:
            self.stack.pop()
            self.eager = before


_defaults = _Defaults()


def start_default_graph() -> None:
    """Makes a default graph current for good."""
    _defaults.base = _defaults.base or Graph()
    _defaults.base.__enter__()


def get_default_graph() -> Graph:
    """The graph that operations are added to (in which tensors are made, if eager execution is
    off)."""
    current = _gyre.current_graph()
    if isinstance(current, Graph):
        return current
    if _defaults.stack:
        return _defaults.stack[-1]
    if _defaults.base is None:
        _defaults.base = Graph()
    return _defaults.base


def graph_here() -> Any:
    """The graph that operations are added to: of a function that is being traced, too."""
    graph = _gyre.current_graph()
    return graph if hasattr(graph, "capture_call_time_value") else get_default_graph()


def stop_default_graph() -> bool:
    """Undoes start_default_graph. Whether it could: not once the graph has operations."""
    if _defaults.stack or _defaults.base is None or _defaults.base.version:
        return False
    _defaults.base.__exit__(None, None, None)
    _defaults.base = None
    return True


def reset_default_graph() -> None:
    """Goes on with an empty default graph. AssertionError within Graph.as_default()."""
    if _defaults.stack:
        raise AssertionError(
            "Do not use tf.reset_default_graph() to clear nested graphs. If you need a "
            "cleared graph, exit the nesting and create a new graph."
        )
    old, _defaults.base = _defaults.base, Graph()
    if not modes.eager:
        if old is not None:
            old.__exit__(None, None, None)
        _defaults.base.__enter__()


def has_default_graph() -> bool:
    """Whether a Graph is the default here."""
    return isinstance(_gyre.current_graph(), Graph)


def current() -> Graph:
    """The Graph that is being built; RuntimeError where ops run at once."""
    graph = _gyre.current_graph()
    if isinstance(graph, Graph):
        return graph
    if graph is not None:
        raise RuntimeError(
            "this belongs to graphs of sessions, and cannot be used within gyre.function"
        )
    raise RuntimeError(
        "this needs a graph: call disable_eager_execution() first, or use "
        "`with Graph().as_default():`"
    )


def device(device_name_or_function) -> Any:
    """A context: operations made within it ask for this device (see Graph.device)."""
    if not has_default_graph():
        return eager_device(device_name_or_function)
    return current().device(device_name_or_function)


def colocate_with(op, ignore_existing: bool = False) -> AbstractContextManager[object]:
    """A context: operations made within it are recorded as to be in one place with `op`."""
    return get_default_graph().colocate_with(op, ignore_existing)


def container(container_name: str) -> AbstractContextManager[object]:
    """A context: queues and variables made within it are in a container of this name."""
    return get_default_graph().container(container_name)


def control_dependencies(control_inputs) -> Any:
    """A context: operations made within it run after these tensors, operations and variables. None:
    after nothing, whatever stands around."""
    if not has_default_graph():
        return others(control_inputs)
    return current().control_dependencies(control_inputs)


@contextlib.contextmanager
def init_scope() -> Any:
    """Within it, operations stand outside of loops, branches and functions that are being built,
    and wait for nothing."""
    if not _defaults.eager and (_defaults.stack or not modes.eager):
        with get_default_graph() as graph, graph.main_scope():
            yield
    else:
        with _gyre.init_scope():
            yield


@contextlib.contextmanager
def eager_mode() -> Any:
    """Within it ops run at once, whatever graph is the default around."""
    before, _defaults.eager = _defaults.eager, True
    try:
        with _gyre.init_scope():
            yield
    finally:
        _defaults.eager = before


class name_scope:
    """A context: names of operations made within it begin with `name`, made unique, and a slash;
    that is what the context gives. default_name is taken if name is None. In eager execution names
    of variables do.
    """

    def __init__(self, name, default_name=None, values=None):
        del values
        self._name = default_name if name is None else name
        self._scope = None

    @property
    def name(self):
        """The name that was asked for."""
        return self._name

    def __enter__(self):
        if not has_default_graph():
            self._scope = newer_name_scope(self._name)
            return self._scope.__enter__()
        self._scope = current().name_scope(self._name)
        return self._scope.__enter__()

    def __exit__(self, *error):
        return None if self._scope is None else self._scope.__exit__(*error)

"""The core, bound by nanobind: what the Python package is made of. Users import `gyre`.

Two kinds of Tensor share one class: eager ones hold data; symbolic ones are outputs of a graph that
is being traced. `execute` runs an op at once, or adds it to the graph that is current.
"""

from collections.abc import Callable, Iterator, Sequence
from types import TracebackType
from typing import Any, Self, final

import numpy as np

from gyre._impl.graphs.operation import Operation
from gyre._impl.shape import TensorShape
from gyre._impl.tensor import Reference

# Objects with a method `__gyre_tensor__()` (variables) are read wherever a tensor is wanted; those
# with `__gyre_operand__` and without that method keep their own reflected operators.

Dims = tuple[int | None, ...] | None  # None: the rank is not known

# ---- Types

class DType:
    """An element type. One object per type: compare with `is` or `==` (also with names and numpy
    dtypes). float16 … complex128, bool, string, resource, variant, quantized types, and `*_ref`."""

    name: str
    size: int  # bytes of an element; 0 where that makes no sense
    as_datatype_enum: int
    is_floating: bool
    is_integer: bool
    is_unsigned: bool
    is_complex: bool
    is_bool: bool
    is_numeric: bool
    is_quantized: bool
    is_numpy_compatible: bool  # not resource, variant
    is_ref: bool
    base_dtype: DType
    real_dtype: DType
    as_numpy_dtype: Any  # imports numpy, and ml_dtypes for bfloat16
    min: Any  # of floating types a numpy scalar; TypeError if there is none
    max: Any
    limits: tuple[Any, Any]  # (min, max)
    def is_compatible_with(self, other: Any) -> bool: ...  # references are of their base type

def as_dtype(value: Any) -> DType: ...

float32: DType  # and so on: each dtype is an attribute of the module

def all_dtypes() -> dict[str, DType]: ...

# ---- Tensors

@final
class Tensor:
    """Immutable, but for set_shape. `==` and `!=` work element by element;
    hash by identity is left to `.ref()`."""

    dtype: DType
    _dims: Any  # Dims, of which most code knows, or has asked, that the rank is known
    is_symbolic: bool
    _known: Tensor | None  # the value, if it is known while a graph is built
    _is_reference: bool  # what reads it may change it
    id: int  # unique while the process lives: never given to another tensor
    name: str  # symbolic only
    device: str
    graph: Graph | None
    # In graphs with session_rules: name "node:slot"; == and != compare, and hash() is, by identity
    # of the output, save while a function is traced.
    # A scalar: one of numpy, or bytes. Shares memory, read-only, where the layout allows it.
    def numpy(self) -> np.ndarray[Any, Any]: ...
    def _become(self, other: Tensor) -> None:
        """Stands for another tensor of the same graph from now on: see Tensor.set_shape."""
    def __dlpack__(self, *, stream=None, max_version=None, dl_device=None, copy=None): ...
    def __dlpack_device__(self) -> tuple[int, int]: ...
    def __hash__(self) -> int: ...  # TypeError, but of graphs with session_rules
    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any: ...
    def __add__(self, other: Any) -> Tensor: ...
    def __radd__(self, other: Any) -> Tensor: ...
    def __sub__(self, other: Any) -> Tensor: ...
    def __rsub__(self, other: Any) -> Tensor: ...
    def __mul__(self, other: Any) -> Tensor: ...
    def __rmul__(self, other: Any) -> Tensor: ...
    def __truediv__(self, other: Any) -> Tensor: ...
    def __rtruediv__(self, other: Any) -> Tensor: ...
    def __floordiv__(self, other: Any) -> Tensor: ...
    def __rfloordiv__(self, other: Any) -> Tensor: ...
    def __mod__(self, other: Any) -> Tensor: ...
    def __rmod__(self, other: Any) -> Tensor: ...
    def __pow__(self, other: Any) -> Tensor: ...
    def __rpow__(self, other: Any) -> Tensor: ...
    def __matmul__(self, other: Any) -> Tensor: ...
    def __rmatmul__(self, other: Any) -> Tensor: ...
    def __and__(self, other: Any) -> Tensor: ...
    def __rand__(self, other: Any) -> Tensor: ...
    def __or__(self, other: Any) -> Tensor: ...
    def __ror__(self, other: Any) -> Tensor: ...
    def __xor__(self, other: Any) -> Tensor: ...
    def __rxor__(self, other: Any) -> Tensor: ...
    def __lt__(self, other: Any) -> Tensor: ...
    def __le__(self, other: Any) -> Tensor: ...
    def __gt__(self, other: Any) -> Tensor: ...
    def __ge__(self, other: Any) -> Tensor: ...
    def __eq__(self, other: Any) -> Tensor: ...
    def __ne__(self, other: Any) -> Tensor: ...
    def __neg__(self) -> Tensor: ...
    def __pos__(self) -> Tensor: ...
    def __abs__(self) -> Tensor: ...
    def __invert__(self) -> Tensor: ...
    # ints, slices with steps, ellipsis, newaxis/None, scalar tensors, boolean masks
    def __getitem__(self, index: Any) -> Tensor: ...
    # Symbolic: TypeError, saying what to do.
    def __len__(self) -> int: ...
    def __iter__(self) -> Iterator[Tensor]: ...
    def __bool__(self) -> bool: ...
    def __int__(self) -> int: ...
    def __float__(self) -> float: ...
    def __complex__(self) -> complex: ...
    def __index__(self) -> int: ...
    # What the package adds: gyre._impl.tensor,
    @property
    def shape(self) -> TensorShape: ...
    def get_shape(self) -> TensorShape: ...
    def set_shape(self, shape: Any) -> None: ...
    @property
    def ndim(self) -> int | None: ...
    def ref(self) -> Reference: ...
    # and of graphs that sessions run gyre._impl.graphs.tensor_members.
    @property
    def op(self) -> Operation: ...
    @property
    def value_index(self) -> int: ...
    def consumers(self) -> list[Operation]: ...
    def eval(self, feed_dict: Any = None, session: Any = None) -> Any: ...

def tensor(value: Any, dtype: DType | None = None, dims: Dims = None) -> Tensor:
    """An eager tensor of anything: Python scalars and nested lists (float -> float32, int -> int32,
    or int64 where it does not fit, bool, complex -> complex128, str/bytes -> string), numpy arrays,
    objects with __dlpack__ or __array__, Tensors (returned as they are). ValueError / TypeError
    with the place ("element [2][0]") where lists are ragged or types do not fit."""

def from_dlpack(exporter: Any) -> Tensor: ...
def convert(value: Any, dtype: DType | None = None) -> Tensor:
    """A Tensor as it is (TypeError if dtype differs), a Variable read, everything else by `tensor`.
    While a graph is current: a symbolic tensor (constants and captures are made as needed)."""

def holds_tensors(value: Any) -> bool:
    """Whether it is a list or a tuple that holds tensors, or what converts to them,
    at any depth."""

# ---- Executing

def execute(
    op: str, inputs: Sequence[Any], attrs: dict[str, Any] | None = None, name: str | None = None
) -> list[Tensor]:
    """One item of `inputs` per formal input of the op's schema: a Tensor or what converts to one,
    or a list of them where the schema says so. Python scalars take the dtype of the other operands.
    Attributes that the inputs tell may be left out; values are Python objects (int, float, bool,
    str/bytes, DType, Dims, Tensor for tensor attributes, lists of these; a function's name as
    FunctionRef). Runs at once, or adds a node to the current graph. Returns the outputs, flat."""

def op_info(op: str) -> dict[str, Any]:
    """{'name','doc','inputs':[{'name','dtype'|'type_attr','number_attr','type_list_attr','doc'}],
    'outputs':[…],'attrs':[{'name','type','default','allowed','doc'}],'api':its public names,
    'elementwise':bool,'stateful':bool}."""

def op_names() -> list[str]: ...
def public_names() -> dict[str, list[str]]:
    """Of each op that is a public function by itself: its names, below `gyre`."""

def public_functions() -> list[dict[str, Any]]:
    """All other functions of the registry: {'names': below `gyre`,'doc','parameters':
    [{'name','kind','optional','default'}],'results': how many}."""

def call_function(function: str, arguments: Sequence[Any], name: str | None = None) -> Any:
    """Calls one of them, by its own name, with all its arguments. Its ops run at once, or go to
    the current graph."""

def variance_spread(scale: float, mode: str, distribution: str, shape: Sequence[int]) -> float:
    """Of random numbers of variance scale / fan: the limit of the uniform distribution, or what
    numbers of a normal one are multiplied by. ValueError for words and scales that are none."""

@final
class OptimizerRule:
    """Which op changes a variable by its gradient, what is remembered of the variable, and which
    numbers the op takes. ValueError for numbers that cannot be."""

    @staticmethod
    def sgd(momentum: float = 0.0, nesterov: bool = False) -> OptimizerRule: ...
    @staticmethod
    def adam(beta1: float = 0.9, beta2: float = 0.999, epsilon: float = 1e-8) -> OptimizerRule: ...
    op: str
    slots: list[str]
    slot_variables: list[str]  # what the slots' variables are called, below their variable
    number_names: list[str]
    def numbers(self, iterations: Any, rate: Any, dtypes: Sequence[DType]) -> list[list[Tensor]]:
        """For each dtype the numbers of the step after so many."""
    def check(self, variable: str, dtype: DType) -> None:
        """ValueError unless a variable of this name and dtype can be trained."""
    def apply(
        self,
        variable: Tensor,
        slots: Sequence[Tensor],
        numbers: Sequence[Any],
        gradient: Tensor,
        name: str | None = None,
    ) -> None:
        """One step of a variable; it and its slots are handles."""

def executing_eagerly() -> bool: ...
def init_scope() -> Any:
    """Context manager: outside of all graphs while it lasts."""

# InvalidArgumentError, TypeError for what is no name of a device, and no memory policy.
def check_device(device: str) -> None: ...

# the first that there is, "/cpu:1"; an error if there is none, unless placement is soft
def device_here(device: str) -> str: ...
def check_memory_policy(memory: str) -> None: ...
def hold_handlers() -> Any:
    """Context manager: handlers of signals wait for its end."""

# ---- Tapes

class Tape:
    """What one gradient tape sees of what runs at once, and of graphs that are built meanwhile."""

    recording: bool
    # handles, in the order in which they came to be watched
    variables: list[Tensor]
    def __init__(self, persistent: bool = False, watches_accessed: bool = True): ...
    def watch(self, tensor: Tensor) -> None: ...
    # stand_in: what is read in its stead, in a graph
    def watch_variable(self, handle: Tensor, stand_in: Tensor | None) -> None: ...
    def is_watched(self, tensor: Tensor) -> bool: ...
    # innermost on this thread. ValueError where they change nothing
    def start(self) -> None: ...
    def stop(self) -> None: ...
    # before gradients: one that is not persistent stops. RuntimeError if it was used before
    def use(self) -> None: ...
    def reset(self) -> None: ...
    def gradient(
        self, targets: list[tuple[Tensor, Any]], sources: list[Tensor | None]
    ) -> list[Tensor | tuple | None]:
        """Of each source the gradient of the sum of targets times their weights (None: ones): a
        tensor, (values, indices, dense_shape), or None."""

class PausedTapes:
    """Context manager: no tape of this thread records that did before."""
    def __enter__(self) -> Self: ...
    def __exit__(self, *error: Any) -> None: ...
    # within it: watched by the paused tapes, and used under tapes that have been started meanwhile
    used: list[Tensor]

# whether a tape records on this thread; how many do
def recording() -> bool: ...
def num_recording() -> int: ...

class EffectLog:
    """What ops with effects gave in record(); in replay() they give it again, and don't run. Both
    are context managers, of one thread. `orders`: of how many derivatives it may be asked."""
    def __init__(self, orders: int) -> None: ...
    def record(self) -> _EffectScope: ...
    def replay(self) -> _EffectScope: ...

class _EffectScope:
    def __enter__(self) -> None: ...
    def __exit__(self, *error: Any) -> None: ...

# whether this thread is in an EffectLog; in one, or a tape records on it
def logs_effects() -> bool: ...
def is_heard() -> bool: ...
def run_once(name: str, compute: Callable[[int], Any]) -> Any:
    """What compute(orders) returned when an EffectLog recorded this; else it is called."""

def require_unchanged(name: str, variables: list[Tensor]) -> None:
    """FailedPreconditionError where the EffectLog saw other values of these, by their handles."""

# a trainable variable is read
def accessed(handle: Tensor, stand_in: Tensor | None) -> None: ...

# of each tensor, whether a tape that records watches it; how many tapes watch some
def watched(tensors: list[Tensor] | tuple[Tensor, ...]) -> tuple[tuple[bool, ...], int]: ...
def record(op: Any, inputs: list[Tensor], outputs: list[Tensor]) -> None:
    """Tells the tapes of this thread of something that execute() does not see, such as a call of a
    function: an object with backward(inputs, outputs, dys), unless its goes_back is false, or with
    replay(inputs), which adds it to the graph that is current; `key`, (id, int), is that of what is
    replayed alike; without_memory() is the same without values."""

# ---- Graphs

class Graph:
    """A program while it is traced. `with graph:` makes it current on this thread. Nesting works.
    session_rules: effects have no order of their own, nodes TensorFlow's names; may be
    subclassed."""
    def __init__(self, name: str = "graph", session_rules: bool = False): ...
    def __enter__(self) -> Self: ...
    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None: ...
    name: str
    compile: str  # when small loops become native code: "auto", "always", "never"
    def placeholder(self, dtype: DType, dims: Dims, name: str = "") -> Tensor: ...
    size: int  # how many operations Python has added, to bodies, too
    # Eager tensors used in the graph, in order: (eager tensor, its placeholder). Floating and
    # complex ones, resources and variants become placeholders, so that tapes can see them; others
    # constants.
    captures: list[tuple[Tensor, Tensor]]
    def variable(self, handle: Tensor, dtype: DType, dims: Dims) -> Tensor:
        """The resource of an eager variable, in this graph (the same each time)."""
    variables: list[tuple[Tensor, Tensor]]  # (eager handle, symbolic handle) used so far
    def prepare(
        self,
        feeds: list[Tensor],
        fetches: list[Tensor],
        targets: list[Tensor | Node] | None = None,
        effects: bool = True,
        session: SessionState | None = None,
    ) -> Executable:
        """Compiled once. `effects`: all effects of the main graph run, in program order. `session`:
        whose variables and queues it runs on; else those of the process."""
    def text(self) -> str: ...  # Gyre's text form
    def shapes(self) -> dict[str, list[tuple[str, Dims]]]:
        """What is known of each node's outputs: "node" of the main graph, or "function/node"."""
    def graph_def(self) -> bytes: ...
    def names_scope(self, name: str) -> Any: ...  # context managers
    def device_scope(self, name: str) -> Any: ...
    def control_scope(self, before: list[Tensor | Node]) -> Any: ...
    def no_control_scope(self) -> Any: ...  # nothing around is waited for
    def colocation_scope(self, groups: list[str]) -> Any: ...  # nodes get attribute _class
    # false while a function is traced in a graph of sessions, too
    @property
    def follows_session_rules(self) -> bool: ...
    # names of the nodes after which all effects so far have happened; later ones do not wait
    def take_effects(self) -> list[str]: ...
    # the main graph, outside of bodies being traced
    def main_scope(self) -> Any: ...
    def freeze(self, frozen: bool) -> None: ...  # adding nodes is a RuntimeError

def current_graph() -> Graph | None: ...
def note_value(tensor: Tensor, value: Tensor) -> None:
    """A symbolic tensor always has this value: `_known`, and what sizes follow from it."""

def lifted(tensor: Tensor) -> Tensor:
    """The same value, computed in the main graph of its graph. InvalidArgumentError if it hangs on
    an argument of a body."""

def in_body() -> bool:
    """Whether a body of a loop, branch or function is being traced."""

def open_scopes() -> tuple[int, ...]:
    """The numbers of the scopes whose values the current graph's innermost one can use, it
    first, the main graph last. No other scope of the process has the same number."""

class Executable:
    # "none", "reads" (variables), or "more"
    effects: str
    def __call__(self, feeds: Sequence[Tensor]) -> list[Tensor]:
        """Without the GIL. Ctrl-C stops it: KeyboardInterrupt within 100 ms."""
    def run(
        self,
        feeds,
        *,
        timeout_ms: int = 0,
        budget_bytes: int = 0,
        progress=None,
        trace: bool = False,
        progress_ms: int = 200,
        timeline: str | None = None,
    ) -> tuple[list[Tensor], dict]:
        """The dict: what `trace` saw, {"nodes", "loops", "saved", "peak_bytes"}. `progress` is
        called about every progress_ms, on any thread, with {"node", "waiting", "nanos", "loops":
        [{"name", "iteration"}]}; its exceptions end the run. `timeline`: a file for Perfetto."""

class Cluster:
    """A connection to workers (gyre/core/session.h: ConnectCluster)."""
    def __init__(
        self,
        workers: Sequence[str],
        *,
        token: str,
        transport: str = "auto",
        shared_state: str = "",
        failure_timeout_ms: int = 5000,
        spin_us: int = 0,
    ): ...
    devices: list[str]  # full names, the default first

class Worker:
    """A worker in this process, until it is closed or forgotten."""
    def __init__(
        self, address: str, *, token: str, token_is_given: bool, devices: int = 1, threads: int = 0
    ): ...
    address: str  # "127.0.0.1:4001": with the port that it is
    def close(self) -> None: ...

def join_group(
    rank: int,
    size: int,
    coordinator: str,
    *,
    token: str = "",
    launch: str = "",
    transport: str = "auto",
    join_timeout_ms: int = 300000,
    failure_timeout_ms: int = 5000,
    spin_us: int = -1,
    epoch: int = 0,
    tries_again: bool = False,
) -> None:
    """Becomes a rank of a group (src/cluster/group/join.h), once all are there."""

def told_epoch() -> int:
    """Of the last group that join_group was told of, also where that came to nothing."""

def leave_group(why: str = "") -> None:
    """Ends what this process is in its group; the others are told why."""

def group_epoch() -> int:
    """Of the group of ranks; 0: there is none."""

def lost_rank() -> str:
    """Which rank of the group is gone, and why; "": none is."""

def rank_and_size() -> tuple[int, int]:
    """This process's rank, and of how many: (0, 1) if alone."""

def detect_cluster_env() -> tuple[str, int, int, str, str, int, int]:
    """The fields of a ClusterEnv (src/cluster/env/cluster_env.h), as this process's environment
    has them."""

class SessionState:
    """Variables and queues of executables that are prepared with it: in this process, or on
    workers. soft_placement: requests for devices that are not there are dropped; None: as set for
    the process, and not on workers. num_cpus: devices of this process; 0: as set for it."""
    def __init__(
        self,
        cluster: Cluster | None = None,
        soft_placement: bool | None = None,
        num_cpus: int = 0,
    ): ...

class Node:
    """A node of a graph, or of a body in it. Equal and hashable by what it is."""

    id: int
    name: str
    type: str
    device: str
    line: str  # of the user's code
    graph: Graph
    place: str  # "the main graph", "the body of loop 'while'"
    in_main: bool
    inputs: list[Tensor]
    outputs: list[Tensor]
    control_inputs: list[Node]
    attrs: dict[str, Any]
    def set_input(self, slot: int, tensor: Tensor) -> None: ...
    def add_control_input(self, before: Node) -> None: ...

def node_of(tensor: Tensor) -> Node: ...
def slot_of(tensor: Tensor) -> int: ...
def last_node() -> Node | None:
    """The node added last to the body, or graph, that is being traced."""

def nodes_of(graph: Graph, start: int = 0) -> list[Node]: ...
def refine_shape(tensor: Tensor, dims: Dims) -> None:
    """More is known of its shape. InvalidArgumentError if that contradicts what is known."""

def import_graph_def(bytes: bytes, inputs: dict[str, Tensor]) -> list[tuple[str, Node]]:
    """Adds all nodes of a GraphDef to the current graph; (name there, node here)."""

def lowered_graph_def(graph: Graph) -> bytes:
    """The graph as a GraphDef with primitives in place of If, Case, While and calls."""

def claim_name(graph: Graph, name: str, take: bool = True, absolute: bool = False) -> str:
    """The name that a node, or scope, asking for `name` gets in a graph with session_rules."""

def scope_name(graph: Graph) -> str: ...
def set_scope_name(graph: Graph, name: str) -> None: ...

# ---- Control flow in the graph that is current. Bodies take and return flat lists of Tensors.

def trace_cond(
    pred: Tensor,
    then_fn: Callable[[], list],
    else_fn: Callable[[], list],
    paths: list[str] | None = None,
    name: str = "cond",
) -> list[Tensor]: ...
def trace_case(
    index: Tensor, branches: list[Callable[[], list]], name: str = "case"
) -> list[Tensor]: ...
def trace_while(
    cond_fn: Callable[[list[Tensor]], Any],
    body_fn: Callable[[list[Tensor]], list],
    initial: list[Tensor],
    paths: list[str] | None = None,
    *,
    name: str = "while",
    maximum_iterations: Tensor | int | None = None,
    window: int = 10,
    memory: str = "",
    invariants: list[Dims] | None = None,
) -> list[Tensor]: ...
def trace_range(
    start,
    limit,
    step,
    body_fn: Callable[[Tensor, list[Tensor]], list],
    initial: list[Tensor],
    paths=None,
    *,
    name="for",
    maximum_iterations=None,
    window=10,
    memory="",
    invariants=None,
) -> list[Tensor]: ...
def trace_map(
    fn: Callable[[list[Tensor]], list],
    rows: list[Tensor],
    *,
    name="map",
    window=10,
    memory="",
    reverse=False,
) -> list[Tensor]: ...
def trace_vectorized_map(
    fn: Callable[[list[Tensor]], list], rows: list[Tensor], *, name="vectorized_map", fall_back=True
) -> tuple[list[Tensor], list[tuple[str, str, str, str]]]: ...
def trace_fold(
    fn: Callable[[list[Tensor], list[Tensor]], list],
    rows: list[Tensor],
    initial: list[Tensor],
    paths: list[str] | None = None,
    *,
    keep: bool,
    reverse=False,
    name="scan",
    window=10,
    memory="",
) -> list[Tensor]: ...

class GraphFunction:
    """A function of the graph that is current, traced once per signature; may call itself when
    declared with result specs. recompute: gradients run calls again, and keep nothing of them."""
    def __init__(
        self,
        name: str,
        args: list[tuple[DType, Dims]] | None = None,
        results: list[tuple[DType, Dims]] | None = None,
        *,
        recompute: bool = False,
    ): ...
    @staticmethod
    def of_graph(
        name: str,
        graph: Graph,
        feeds: list[Tensor],
        fetches: list[Tensor],
        effects: list[str] | None = None,
    ) -> GraphFunction:
        """A graph that has been traced, with its effects (or those that take_effects named);
        calling it adds a call of it."""
    def define(self, fn: Callable[[list[Tensor]], list]) -> None: ...
    @property
    def needs_scope(self) -> bool:
        """Whether it can be called only in the scope that it was made in (it uses values of it)."""
    def __call__(
        self,
        args: list[Tensor],
        fn: Callable[[list[Tensor]], list] | None = None,
        dims: Sequence[Dims] | None = None,
    ) -> list[Tensor]:
        """dims: all that the function is to know of the shapes of its arguments."""

# ---- Gradients in the graph that is current

def gradients(
    ys: list[Tensor],
    xs: list[Tensor],
    grad_ys: list[Tensor] | None = None,
    *,
    stops: list[Tensor] = ...,
    unconnected: str = "none",
    memory: str = "",
    sparse: bool = False,
    tape: Tape | None = None,
) -> list:
    """xs: tensors or symbolic variable handles. unconnected: "none" (None in the list), "zero",
    "error". sparse: items may be (values, indices, dense_shape). tape: only through what it
    saw; the items are as with sparse."""

def custom_gradient(
    xs: list[Tensor],
    fn: Callable[[list], list],
    grad: Callable[[list, list], list],
    name: str = "custom",
) -> list[Tensor]:
    """name: of the function in the graph; a PartitionedCall of it in the gradient calls fn."""

def crossing(values: list[Tensor], seeds: list[Tensor], results: list[Tensor]) -> list[Tensor]:
    """What nodes that run after a call, which computes values, take from those that run in it: to
    compute results from seeds."""

def add_traced(
    graph: Graph, feeds: list[Tensor], fetches: list[Tensor], args: list[Tensor]
) -> tuple[list[Tensor], list[Node]]:
    """Adds the nodes of a graph that has been traced, under the same names: (fetches, the nodes
    after which all its effects have happened)."""

def again_with(seed: Tensor, value: Tensor, results: list[Tensor]) -> list[Tensor]:
    """The results with a value in the place of the seed that they are computed from, in the body
    that is traced."""

def are_gathered(tensors: list[Tensor]) -> list[bool]:
    """Of each tensor, or handle of a variable: whether rows of it are looked up by number in the
    graph that is current, or in what its nodes call."""

def jvp(y: Tensor, x: Tensor, direction: Tensor) -> Tensor: ...

# ---- Variables, host functions, settings

def signature(args: tuple) -> bytes | None:
    """A key for the dtypes and dims of eager tensors; None if one is none, or a graph is
    current."""

def create_variable(
    initial: Tensor, dims: Dims = None, name: str = "Variable", device: str = ""
) -> Tensor:
    """An eager handle: a scalar of dtype resource with a name of its own in the one store that all
    graphs of the process share, which ask for `device`. The store forgets it when the last handle
    is gone."""

def read_variable(handle: Tensor) -> Tensor: ...
def assign_variable(handle: Tensor, value: Tensor) -> None: ...
def register_host_function(fn: Callable[[list[Tensor]], list[Tensor]]) -> str:
    """The token for PyFunc/EagerPyFunc nodes. Exceptions of fn surface with their traceback."""

def set_seed(seed: int) -> None: ...
def random_state() -> tuple[int, int]:
    """(seed, count of runs): from where random ops without a seed of their own go on."""

def set_random_state(seed: int, runs: int) -> None:
    """Random ops go on from such a state."""

def set_options(
    *, threads: int = 0, window: int = 0, engine: str = "", form: str = "", compile: str = ""
) -> None: ...
def compiled_loops() -> int: ...  # how many loops have become native code in this process

# "cpu:4"; "": one, whatever is asked for
def set_devices(devices: str, soft_placement: bool) -> None: ...
def graph_size_limit() -> int: ...
def set_graph_size_limit(operations: int) -> None: ...
def set_nan_trap(is_on: bool) -> None:
    """Whether what this thread runs fails where it makes a NaN or an infinity."""

def load_plugin(path: str) -> None: ...
def cli(args: list[str]) -> int: ...
def check_golden(folder: str, args: list[str]) -> dict: ...

class Model:
    """A loaded SavedModel or MetaGraph."""
    # inputs, outputs: {name: (tensor, dtype, dims, default)}
    def signatures(self) -> dict[str, tuple[dict, dict]]: ...
    # (name, handles, dtype, dims, trainable, value or None, key in the checkpoint)
    def variables(self) -> list[tuple]: ...
    def import_graph(self, outputs: list[str], inputs: dict[str, Any]) -> list[Tensor]: ...
    def call(self, function: str, inputs: list[Any]) -> list[Tensor]: ...
    def constant(self, name: str) -> Tensor | None: ...
    def checkpoint(self) -> str: ...  # its prefix; empty: there is none
    def object_graph(self) -> bytes: ...  # a SavedObjectGraph
    def object_tensors(self) -> dict[int, str]: ...
    def assets(self) -> list[str]: ...  # paths
    # (handle, key dtype or None, value dtype or None, the handle as a tensor)
    def resources(self, *, timeout_ms: int = 0, budget_bytes: int = 0) -> list[tuple]: ...
    def run(
        self,
        signature: str,
        inputs: dict[str, Tensor],
        *,
        timeout_ms: int = 0,
        budget_bytes: int = 0,
    ) -> dict[str, Tensor]: ...
    def assign_variables(self, values: dict[str, Tensor]) -> None: ...
    def save(self, path: str) -> None: ...

class OnnxModel:
    """A model of ONNX that has been read."""
    # (name, endpoint, dtype, dims)
    def inputs(self) -> list[tuple]: ...
    def outputs(self) -> list[tuple]: ...
    def initializers(self) -> list[tuple]: ...  # (name, endpoint, value)
    def import_graph(self, outputs: list[str], inputs: dict[str, Any]) -> list[Tensor]: ...

class Bundle:
    """A checkpoint as TensorFlow writes it."""
    def entries(self) -> dict[str, tuple[DType | None, Any]]: ...  # name: (dtype, dims)
    def read(self, name: str) -> Tensor: ...

def open_bundle(prefix: str, within: str | None = None) -> Bundle:
    """`within`: a folder; files that lie outside of it are PermissionDeniedErrors."""

class CheckpointFolder:
    """A checkpoint as C++ writes it (gyre/core/session.h)."""
    def entries(self) -> dict[str, tuple[DType | None, Any]]: ...  # name: (dtype, dims)
    def read(self, name: str) -> Tensor: ...

def open_checkpoint(folder: str) -> CheckpointFolder: ...

# of buffers; in one step; raises OSError
def write_file(path: bytes, pieces: Sequence[Any]) -> None: ...
def make_folder(path: bytes) -> None: ...
def masked_crc32c(data: Any) -> int: ...  # of a buffer, as records of TensorFlow's files have it

class ModelFolder:
    """The folder of a SavedModel while it is written; uncommitted, nothing is left of it."""
    def unfinished(self) -> str: ...  # where to write
    def commit(self) -> None: ...  # it takes the place of the old one
    def discard(self) -> None: ...  # the end of its use

def new_model_folder(path: bytes) -> ModelFolder: ...
def load_model(
    path: str, tags: Sequence[str], *, timeout_ms: int = 0, budget_bytes: int = 0
) -> Model: ...
def load_onnx(path: str) -> OnnxModel: ...
def save_onnx(
    graph: Any,
    inputs: list[tuple[str, Tensor]],
    outputs: list[tuple[str, Tensor]],
    variables: list[tuple[str, Tensor]],
    path: str,
) -> None: ...
def import_graph(path: str, outputs: list[str], inputs: dict[str, Any]) -> list[Tensor]: ...
def version() -> str: ...

# ---- Errors: statuses of the core are raised as exceptions of gyre.errors, by code; the binding
# asks this function once, which the package sets: code name ("INVALID_ARGUMENT"), message ->
# exception.
def set_error_factory(  # the one before
    factory: Callable[[str, str, int], Exception] | None,
) -> Any: ...

class QuietCallable:
    """A base of callable classes: calls run their method `_call(args, kwargs or None)`; what it
    raises goes through the traceback filter, so that no frame of the package need stay."""
    def __call__(self, *args: Any, **kwargs: Any) -> Any: ...

def set_traceback_filter(filter: Callable[[BaseException], None] | None) -> None: ...

# The line of the user's code that nodes get: called when a node is added; returns "file.py:12".
def set_line_provider(provider: Callable[[], str] | None) -> None: ...

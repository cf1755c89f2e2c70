"""Session: runs what is fetched from a graph, with state of its own."""

import warnings

import numpy as np

from gyre import _gyre
from gyre._impl.cluster.connection import Cluster, connect
from gyre._impl.compat.v1.config import UNHEARD_OF_RUNS, UNHEARD_OF_SESSIONS
from gyre._impl.compat.v1.feeds import Feed, expand
from gyre._impl.compat.v1.fetches import Fetches
from gyre._impl.config import LogicalDevice, list_logical_devices
from gyre._impl.errors import OpError
from gyre._impl.function import watching
from gyre._impl.graphs.default_session import open_sessions
from gyre._impl.graphs.graph import Graph, get_default_graph
from gyre._impl.tracing import watchers
from gyre._impl.tracing.tracebacks import filter_traceback
from gyre._impl.unsupported import warn_unheard

_Tensor = _gyre.Tensor
_HERE = ("", b"", None)
# The name under which sessions share what is on workers.
_SHARED_STATE = "gyre.compat.v1.Session"


class _Plan:
    """A signature of a graph, compiled: feeds in order, then results in the structure of the
    fetches."""

    __slots__ = ("run", "executable", "feeds", "finish")

    def __init__(self, executable, feeds: list, fetches, fetched: Fetches):
        self.executable = self.run = executable
        self.feeds = feeds
        self.finish = (
            _only
            if isinstance(fetches, _Tensor)
            else (lambda values: fetched.pack([_array(value) for value in values]))
        )


def _array(value):
    """A result as numpy has it, the caller's own."""
    array = value.numpy()
    return array.copy() if type(array) is np.ndarray else array


def _only(values):
    array = values[0].numpy()
    return array.copy() if type(array) is np.ndarray else array


class BaseSession(watching.Watched):
    """What sessions have in common.

    target: where it runs: "" (in this process), "gyre://HOST:PORT,HOST:PORT" (on these workers;
    "grpc://" is the same), or a gyre.cluster.Cluster. Sessions with a text as target share the
    variables and queues that are on the workers, if config does not isolate them. graph: the one
    that is run, by default the default graph. config: a ConfigProto.

    Errors of gyre.cluster.connect for workers that cannot be reached.
    """

    def __init__(self, target="", graph=None, config=None):
        if graph is not None and not isinstance(graph, Graph):
            raise TypeError(
                f'Argument `graph` must be a tf.Graph, but got "{type(graph).__name__}"'
            )
        self._graph = graph if graph is not None else get_default_graph()
        self._config = config
        self._cluster = _cluster_for(target, config)
        self._num_cpus = _cpus_of(config, self._cluster)
        self._state = _gyre.SessionState(
            None if self._cluster is None else self._cluster.core,
            getattr(config, "__dict__", {}).get("allow_soft_placement"),  # None: not given
            self._num_cpus,
        )
        self._plans: dict = {}  # by fetches and feeds as they are written
        self._compiled: dict = {}  # by the tensors and operations that these stand for
        self._closed = False
        self._timeout = getattr(config, "operation_timeout_in_ms", 0) or 0
        threads = _threads_of(config)
        warn_unheard(config, UNHEARD_OF_SESSIONS, "ConfigProto")
        if threads:
            _gyre.set_options(threads=threads)

    # ---- What it is

    @property
    def graph(self) -> Graph:
        """The graph that it runs."""
        return self._graph

    @property
    def graph_def(self):
        """The graph as a message."""
        return self._graph.as_graph_def()

    @property
    def sess_str(self) -> bytes:
        """Where it runs: b"", in this process, or the target of its workers."""
        return b"" if self._cluster is None else self._cluster.target.encode()

    def list_devices(self) -> list:
        """What it runs on."""
        if self._cluster is None and self._num_cpus:
            return [LogicalDevice(f"/device:CPU:{i}", "CPU") for i in range(self._num_cpus)]
        if self._cluster is None:
            return list_logical_devices()
        return [LogicalDevice(name, "CPU") for name in self._cluster.devices]

    # ---- Runs

    def run(self, fetches, feed_dict=None, options=None, run_metadata=None):
        """Runs what `fetches` need, and returns their values in the same structure.

        fetches: tensors, operations (whose value is None), variables, names, and structures of
        these: lists, tuples, dicts, named tuples. A variable's handle, which has the variable's
        name ("w:0"), means its value. feed_dict: values to use instead of what tensors (or names of
        them) would be: numbers, arrays, lists.

        RuntimeError of a closed session; ValueError for fetches of another graph or of a body, and
        for fed values of another shape; TypeError for what cannot be fetched or fed; errors of the
        run.
        """
        try:
            key = (
                fetches if type(fetches) is not list else (list, *fetches),
                tuple(feed_dict) if feed_dict else (),
            )
            plan = self._plans.get(key)
        except TypeError:  # a structure that does not hash
            key = plan = None
        if plan is None or self._closed:
            plan, feed_dict = self._prepare(key, fetches, feed_dict)
        try:
            values = (
                [
                    feed.convert(value)
                    for feed, value in zip(plan.feeds, feed_dict.values(), strict=True)
                ]
                if feed_dict
                else ()
            )
            if (
                options is None
                and run_metadata is None
                and not self._timeout
                and watchers.current() is None
            ):
                return plan.finish(plan.run(values))
            return plan.finish(self._watched(plan, values, options, run_metadata))
        except OpError as error:
            self._explain(error)
            filter_traceback(error)
            raise

    def _prepare(self, key, fetches, feed_dict):
        if self._closed:
            raise RuntimeError("Attempted to use a closed Session.")
        if not self._graph.version:
            raise RuntimeError(
                "The Session graph is empty. Add operations to the graph before calling run()."
            )
        fed = expand(feed_dict)
        fetched = Fetches(self._graph, fetches)
        signature = tuple(fetched.tensors), tuple(fetched.operations), tuple(fed)
        compiled = self._compiled.get(signature)
        if compiled is None:
            compiled = self._compiled[signature] = self._compile(fetched, fed)
        executable, feeds = compiled
        plan = _Plan(executable, feeds, fetches, fetched)
        if key is not None and (fed is feed_dict or not feed_dict):
            self._plans[key] = plan
        return plan, fed

    def _compile(self, fetched: Fetches, fed) -> tuple:
        feeds = [Feed(self._graph, key) for key in fed]
        return self._graph.prepare(
            [feed.tensor for feed in feeds],
            fetched.tensors,
            [o.node for o in fetched.operations],
            effects=False,
            session=self._state,
        ), feeds

    def _watched(self, plan, values, options, run_metadata):
        timeout = getattr(options, "timeout_in_ms", 0) or self._timeout
        trace = bool(getattr(options, "trace_level", 0))
        warn_unheard(options, UNHEARD_OF_RUNS, "RunOptions")
        by = watchers.current()
        asked = {} if by is None else dict(by.options)
        if timeout:
            asked["timeout_ms"] = timeout
        try:
            results, told = plan.executable.run(values, trace=trace, **asked)
        finally:
            if by is not None:
                by.finished()
        if run_metadata is not None and trace:
            run_metadata.fill(told)
        return results

    def _explain(self, error: OpError) -> None:
        """Gives an error the operation that it happened at."""
        if error.node is not None and error.op is None:
            try:
                error._op = self._graph.get_operation_by_name(error.node)
                error._node_def = error._op.node_def
            except (KeyError, TypeError):
                pass

    def make_callable(self, fetches, feed_list=None, accept_options=False):
        """A function of the values of `feed_list` that runs `fetches`: quicker than run.
        With accept_options it also takes `options` and `run_metadata`; else these are a
        TypeError."""
        fed = list(feed_list or [])

        def call(*values, options=None, run_metadata=None):
            if not accept_options and (options is not None or run_metadata is not None):
                raise TypeError(
                    "this callable takes no options and run_metadata: make it with "
                    "accept_options=True"
                )
            if len(values) != len(fed):
                raise ValueError(f"the callable takes {len(fed)} values, not {len(values)}")
            return self.run(fetches, dict(zip(fed, values, strict=True)), options, run_metadata)

        return call

    def partial_run_setup(self, fetches, feeds=None):
        """Refused: a run is one program, which is compiled as a whole. Fetch what is needed in
        steps with several runs, and hand values on by feeding them. NotImplementedError."""
        raise NotImplementedError(
            "partial runs are not supported: fetch the first part with run(), and feed what it "
            "gave to the next run()"
        )

    def partial_run(self, handle, fetches, feed_dict=None):
        """Refused, as partial_run_setup. NotImplementedError."""
        return self.partial_run_setup(fetches)

    # ---- The end

    def close(self) -> None:
        """Forgets variables and queues, save those that it shares with other sessions. Running it
        is a RuntimeError from now on."""
        self._closed = True
        self._plans.clear()
        self._compiled.clear()
        self._state = self._cluster = None

    @staticmethod
    def reset(target, containers=None, config=None) -> None:
        """Nothing: in this process state belongs to sessions, and goes with them.
        NotImplementedError for the target of a cluster, whose state goes with its workers."""
        if target not in _HERE:
            raise NotImplementedError(
                "what sessions share on workers lasts as long as the workers: start them "
                "anew, or isolate sessions with ConfigProto(isolate_session_state=True)"
            )

    def as_default(self):
        """A context in which eval() and run() of tensors and operations use this session."""
        return _AsDefault(self)


def _count(value, name) -> int:
    """What an option counts."""
    if not isinstance(value, int) or value < 0:
        raise ValueError(f"{name} must be a number from 0 on, not {value!r}")
    return value


def _cpus_of(config, cluster) -> int:
    """How many devices of this process a session is to have; 0: as set for the process."""
    name = 'ConfigProto.device_count["CPU"]'
    count = _count((getattr(config, "device_count", None) or {}).get("CPU", 0), name)
    if count and cluster is not None:
        warnings.warn(
            f"{name} has no effect on workers: they have been started with theirs", stacklevel=4
        )
        return 0
    return count


def _threads_of(config) -> int:
    """How many threads a session's runs may use; 0: as set for the process. One pool serves both
    kinds."""
    inline = getattr(config, "inter_op_parallelism_threads", 0) == -1  # on the caller's thread
    if inline:
        return 1
    counts = [
        _count(getattr(config, name, 0) or 0, f"ConfigProto.{name}")
        for name in ("inter_op_parallelism_threads", "intra_op_parallelism_threads")
    ]
    return counts[0] or counts[1]


def _cluster_for(target, config) -> Cluster | None:
    """The workers that a session is to run on; None: this process."""
    if target in _HERE:
        return None
    if isinstance(target, Cluster):
        return target
    if isinstance(target, bytes):
        target = target.decode()
    if not isinstance(target, str):
        raise TypeError(f"a target is a str or a gyre.cluster.Cluster, not {type(target).__name__}")
    is_isolated = getattr(config, "isolate_session_state", False)
    return connect(target, shared_state="" if is_isolated else _SHARED_STATE)


class _AsDefault:
    def __init__(self, session):
        self._session = session

    def __enter__(self):
        open_sessions.stack.append(self._session)
        return self._session

    def __exit__(self, *error):
        if not open_sessions.stack or open_sessions.stack[-1] is not self._session:
            raise RuntimeError("default sessions end in the opposite order of their starts")
        open_sessions.stack.pop()


class Session(BaseSession):
    __doc__ = (
        BaseSession.__doc__
        + """
    As a context, it is the default session, and its graph the default graph; at the end it is
    closed.
    """
    )

    def __init__(self, target="", graph=None, config=None):
        super().__init__(target, graph, config)
        self._contexts: list = []

    def __enter__(self):
        contexts = (self._graph.as_default(), self.as_default())
        for context in contexts:
            context.__enter__()
        self._contexts.append(contexts)
        return self

    def __exit__(self, *error):
        for context in reversed(self._contexts.pop()):
            context.__exit__(None, None, None)
        if not self._contexts:
            self.close()


class InteractiveSession(BaseSession):
    """A session that is the default from the start until it is closed:
    for notebooks and prompts."""

    def __init__(self, target="", graph=None, config=None):
        super().__init__(target, graph, config)
        self._graph_context = None
        if graph is not None:
            self._graph_context = self._graph.as_default()
            self._graph_context.__enter__()
        open_sessions.stack.append(self)

    def close(self) -> None:
        """Ends it, and being the default."""
        super().close()
        if self in open_sessions.stack:
            open_sessions.stack.remove(self)
        if self._graph_context is not None:
            self._graph_context.__exit__(None, None, None)
            self._graph_context = None

"""wrap_function: code written for graphs and sessions as a function of eager tensors."""

from gyre import _gyre
from gyre._impl import facade, nest
from gyre._impl.compat.v1.variable import global_variables, global_variables_initializer
from gyre._impl.graphs.constant import placeholder
from gyre._impl.graphs.graph import Graph
from gyre._impl.graphs.operation import Operation
from gyre._impl.tracing import watchers


class WrappedFunction:
    """A function whose graph was built once, with its variables, which have their initial values at
    the start. Calling it with one value per input runs the graph, and returns eager tensors; where
    the graph of a session is built and it has no variables, it becomes part of that.

    graph: what was built. inputs: its placeholders. structured_outputs: what the function returned.
    """

    def __init__(self, graph, state, inputs: list, outputs, variables: list):
        self.graph, self.inputs, self.structured_outputs = graph, inputs, outputs
        self.variables = variables
        self._state = state
        flat = nest.flatten(outputs, expand_composites=True)
        self._tensors = [t for t in flat if isinstance(t, _gyre.Tensor)]
        operations = [o for o in flat if isinstance(o, Operation)]
        self._operations = [o.name for o in operations]
        self._executable = graph.prepare(
            inputs, self._tensors, [o.node for o in operations], effects=False, session=state
        )

    @property
    def outputs(self) -> list:
        """The tensors among what it returns."""
        return list(self._tensors)

    def __call__(self, *args):
        given = list(args)
        if len(given) != len(self.inputs):
            raise TypeError(
                f"the wrapped function takes {len(self.inputs)} tensors, not {len(given)}"
            )
        given = [_gyre.convert(v, x.dtype) for v, x in zip(given, self.inputs, strict=True)]
        if facade.builds_session() and not self.variables:
            values = iter(self._added(given))
        else:
            values = iter(watchers.call(self._executable, given))
        return nest.map_structure(
            lambda leaf: next(values) if isinstance(leaf, _gyre.Tensor) else None,
            self.structured_outputs,
            expand_composites=True,
        )

    def _added(self, given: list) -> list:
        """The results of a call that is added to the graph of a session, which keeps variables of
        its own: the function has none."""
        function = _gyre.GraphFunction.of_graph(
            "wrapped", self.graph, self.inputs, self._tensors, self._operations
        )
        return function(given)

    def prune(self, feeds, fetches, name=None, input_signature=None) -> "WrappedFunction":
        """The part of it from some tensors (or names of them) to others, with the same
        variables."""
        del name, input_signature
        element = self.graph.as_graph_element
        feeds = [element(f) for f in nest.flatten(feeds)]
        return WrappedFunction(
            self.graph, self._state, feeds, nest.map_structure(element, fetches), self.variables
        )


def wrap_function(fn, signature, name=None) -> WrappedFunction:
    """fn, built once in a graph of its own with placeholders for `signature`, a list of
    TensorSpecs: what it does with variables, collections and operations means what it means in a
    session."""
    del name
    graph, state = Graph(), _gyre.SessionState()
    with graph.as_default():
        specs = nest.flatten(signature)
        inputs = [placeholder(s.dtype, s.shape, s.name) for s in specs]
        outputs = fn(*nest.pack_sequence_as(signature, inputs))
        variables, initializer = global_variables(), global_variables_initializer()
    graph.prepare([], [], [initializer.node], effects=False, session=state)([])
    return WrappedFunction(graph, state, inputs, outputs, variables)

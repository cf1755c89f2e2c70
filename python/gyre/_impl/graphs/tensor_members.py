"""What tensors of graphs have beside what all tensors have:
the operation, evaluation, consumers."""

from gyre import _gyre
from gyre._impl.composites.sparse_tensor import SparseTensor
from gyre._impl.graphs.default_session import session_for
from gyre._impl.graphs.graph import Graph
from gyre._impl.graphs.operation import Operation
from gyre._impl.shape import as_dims


def op(self) -> Operation:
    """The operation that computes it. AttributeError of eager tensors."""
    if not self.is_symbolic:
        raise AttributeError("Tensor.op is undefined when eager execution is enabled.")
    node, graph = _gyre.node_of(self), self.graph
    of_graph = getattr(graph, "operation_of", None)
    return Operation(node, graph) if of_graph is None else of_graph(node)


def value_index(self) -> int:
    """Which of its operation's outputs it is."""
    return _gyre.slot_of(self)


def consumers(self) -> list:
    """The operations that take it."""
    place = _gyre.node_of(self), _gyre.slot_of(self)
    return [
        operation
        for operation in self.graph.get_operations()
        if any((_gyre.node_of(x), _gyre.slot_of(x)) == place for x in operation.inputs)
    ]


def evaluate(self, feed_dict=None, session=None):
    """Its value as a numpy array: what a session computes (the default one if none is given;
    ValueError if there is none), or simply what an eager tensor holds."""
    if not self.is_symbolic:
        return self.numpy()
    return session_for(session, self.graph, "eval()", "tensor").run(self, feed_dict)


def evaluate_sparse(self, feed_dict=None, session=None):
    """Of a session's graph: what the session (or the default one) computes, a SparseTensorValue."""
    return session_for(session, self.graph, "eval()", "sparse tensor").run(self, feed_dict)


def _set_shape(others):
    """Tensor.set_shape, which is `others` for tensors of functions, where there is one."""

    def set_shape(self, shape) -> None:
        """Says what is known of its shape by other means.
        ValueError if that contradicts what is known."""
        if self.is_symbolic and (others is None or isinstance(self.graph, Graph)):
            dims = as_dims(shape)
            if dims is not None:
                _gyre.refine_shape(self, dims)
        elif others is not None:
            others(self, shape)
        elif not self.shape.is_compatible_with(shape):
            raise ValueError(
                f"Tensor's shape {self.shape} is not compatible with supplied shape {shape}"
            )

    return set_shape


def install() -> None:
    """Sets the members on the class."""
    members = {
        "op": property(op),
        "value_index": property(value_index),
        "consumers": consumers,
        "eval": evaluate,
        "set_shape": _set_shape(getattr(_gyre.Tensor, "set_shape", None)),
    }
    for name, member in members.items():
        setattr(_gyre.Tensor, name, member)
    SparseTensor.eval = evaluate_sparse  # pyright: ignore[reportAttributeAccessIssue]

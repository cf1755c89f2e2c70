"""Fetches: what a run is asked for, of any structure, as tensors and operations, and back."""

from gyre import _gyre
from gyre._impl import nest
from gyre._impl.compat.v1.values import IndexedSlicesValue, RaggedTensorValue, SparseTensorValue
from gyre._impl.composites.indexed_slices import IndexedSlices
from gyre._impl.composites.ragged import RaggedTensor
from gyre._impl.composites.sparse_tensor import SparseTensor
from gyre._impl.convert import call
from gyre._impl.graphs.operation import Operation


class Fetches:
    """The tensors and operations behind a structure of fetches, each once.

    tensors: to be fetched; operations: to be run. `pack(values)` has the results in the structure.
    """

    def __init__(self, graph, fetches):
        self.tensors: list = []
        self.operations: list[Operation] = []
        self._places: dict = {}
        self._graph = graph
        if (
            fetches is None
            or isinstance(fetches, (int, float))
            and not isinstance(fetches, _gyre.Tensor)
        ):
            raise TypeError(
                f'Argument `fetch` = {fetches} has invalid type "{type(fetches).__name__}". '
                f"Must be a string or Tensor. (Can not convert a {type(fetches).__name__} into "
                f"a Tensor or Operation.)"
            )
        self.pack = self._packer(fetches)

    def _packer(self, fetch):
        """What makes the result of a part of the structure of a list of all values."""
        if isinstance(fetch, (list, tuple, dict)) or (
            nest.is_nested(fetch) and not isinstance(fetch, _gyre.Tensor)
        ):
            return self._structure(fetch)
        if fetch is None:
            raise TypeError(
                'Argument `fetch` = None has invalid type "NoneType". Must be a string or '
                "Tensor. (Can not convert a NoneType into a Tensor or Operation.)"
            )
        for kind, parts, made in _COMPOSITES:
            if isinstance(fetch, kind):
                return self._composite([getattr(fetch, p) for p in parts], made)
        if isinstance(fetch, RaggedTensor):
            return self._composite([fetch.flat_values, *fetch.nested_row_splits], _ragged)
        element = self._element(fetch)
        if isinstance(element, Operation):
            self.operations.append(element)
            return lambda values: None
        if _gyre.node_of(element).type == "VarHandleOp":
            element = _value_of(self._graph, element)
        return _item(self._place(element))

    def _structure(self, fetch):
        kind = nest._kind_of(fetch, False)
        parts = [self._packer(child) for _, child in kind.items(fetch)]
        if type(fetch) is list:
            return lambda values: [part(values) for part in parts]
        return lambda values: kind.build(fetch, [part(values) for part in parts])

    def _composite(self, parts, made):
        packers = [None if part is None else self._packer(part) for part in parts]
        return lambda values: made(*[None if p is None else p(values) for p in packers])

    def _element(self, fetch):
        try:
            return self._graph.as_graph_element(fetch)
        except TypeError as error:
            raise TypeError(
                f'Argument `fetch` = {fetch} has invalid type "{type(fetch).__name__}". Must '
                f"be a string or Tensor. ({error})"
            ) from None
        except (ValueError, KeyError) as error:
            raise ValueError(
                f"Argument `fetch` = {fetch} cannot be interpreted as a Tensor. ({error.args[0]})"
            ) from None

    def _place(self, tensor) -> int:
        if tensor not in self._places:
            self._places[tensor] = len(self.tensors)
            self.tensors.append(tensor)
        return self._places[tensor]


def _value_of(graph, handle):
    """What a variable holds when a run starts to read it, given its handle ("name:0"): a read that
    waits for nothing, which the graph mostly has."""
    node = _gyre.node_of(handle)
    for operation in graph.get_operations():
        if (
            operation.type == "ReadVariableOp"
            and _gyre.node_of(operation.inputs[0]) == node
            and not operation.control_inputs
        ):
            return operation.outputs[0]
    with graph, graph.main_scope(), graph.control_dependencies(None):
        dtype = graph.operation_of(node).get_attr("dtype")
        return call("ReadVariableOp", handle, dtype=dtype, name=f"{node.name}/Read")


def _item(place: int):
    return lambda values: values[place]


def _ragged(values, *splits):
    for row_splits in reversed(splits):
        values = RaggedTensorValue(values, row_splits)
    return values


_COMPOSITES = (
    (SparseTensor, ("indices", "values", "dense_shape"), SparseTensorValue),
    (IndexedSlices, ("values", "indices", "dense_shape"), IndexedSlicesValue),
)

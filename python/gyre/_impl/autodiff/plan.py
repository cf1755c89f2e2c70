"""Plans: gradients of what a tape recorded, as graphs that are traced once and run often."""

import collections

from gyre import _gyre
from gyre._impl.composites.indexed_slices import IndexedSlices


def slices(values, indices, dense_shape):
    """IndexedSlices."""
    return IndexedSlices(values, indices, dense_shape)


def frozen(value):
    """A hashable stand-in for the value of an attribute."""
    if isinstance(value, (list, tuple)):
        return tuple(frozen(v) for v in value)
    if isinstance(value, dict):
        return tuple(sorted((k, frozen(v)) for k, v in value.items()))
    if isinstance(value, _gyre.Tensor):
        return ("tensor", value.id)
    if isinstance(value, _gyre.DType):
        return value.name
    return value


class Literal(collections.namedtuple("Literal", ["dtype", "value"])):
    """An input that is a constant of the plan: the name of its dtype, its value as Python has
    it."""

    __slots__ = ()

    @classmethod
    def of(cls, tensor) -> "Literal":
        """The value of a small eager tensor."""
        return cls(tensor.dtype.name, frozen(tensor.numpy().tolist()))

    def add(self):
        """The constant in the graph that is current."""
        value = list(self.value) if isinstance(self.value, tuple) else self.value
        return _gyre.convert(value, _gyre.as_dtype(self.dtype))


class Plan:
    """The gradients of a segment as a graph, for all segments of one structure."""

    def __init__(self, segment, weighted: bool):
        self._steps = [
            (op.without_memory() if hasattr(op, "without_memory") else op, attrs, refs, outs)
            for (op, attrs), (_, _, refs, outs, _) in zip(segment.ops, segment.steps, strict=True)
        ]
        self._leaves = [
            (n, t.dtype, t._dims, t if t.dtype.name == "resource" else None)
            for n, t in segment.leaves
        ]
        self._ys = [(n, t.dtype, t._dims) for n, t in segment.ys]
        self._xs = list(segment.xs)
        self._weighted = weighted
        self._fed = [n for n, t in segment.results if t.dtype.name not in ("resource", "variant")]
        self._forms: list[str] = []
        self._executable = None

    def build(self, leaves: list, dys: list) -> tuple[list, list]:
        """The steps and their gradients in the graph that is current: (results, known values)."""
        values = {n: leaf for (n, _, _, _), leaf in zip(self._leaves, leaves, strict=True)}
        nested = []
        for op, attrs, refs, outs in self._steps:
            inputs = [
                ref.add()
                if isinstance(ref, Literal)
                else [values[r] for r in ref]
                if isinstance(ref, tuple)
                else values[ref]
                for ref in refs
            ]
            if isinstance(op, str):
                results = _gyre.execute(op, inputs, attrs)
            elif isinstance(op, GradientCall):
                results, known = op.add(inputs)
                nested.extend(known)
            else:
                results = op.replay(inputs)
            for number, result in zip(outs, results, strict=True):
                values.setdefault(number, result)
        ys = [values[n] for n, _, _ in self._ys]
        xs = [values[n] for n in self._xs]
        found = _gyre.gradients(
            ys, xs, dys if self._weighted else None, unconnected="none", sparse=True
        )
        self._forms = [
            "none" if g is None else "slices" if isinstance(g, tuple) else "tensor" for g in found
        ]
        flat = [t for g in found if g is not None for t in (g if isinstance(g, tuple) else (g,))]
        return flat, [values[n] for n in self._fed] + nested

    def known_of(self, segment) -> list:
        """The values that a segment saw, in the order in which `build` returns them."""
        seen = dict(segment.results)
        known = [seen[n] for n in self._fed]
        for memory in segment.memories:
            known.extend(memory)
        return known

    def run(self, leaves: list, dys: list, known: list) -> list:
        """The gradients, flat."""
        if self._executable is None:
            self._prepare()
        fed = [
            leaf
            for leaf, (_, _, _, handle) in zip(leaves, self._leaves, strict=True)
            if handle is None
        ]
        values = [*fed, *dys, *known, *self._captured]
        return self._executable([values[i] for i in self._order])

    def _prepare(self) -> None:
        graph = _gyre.Graph("gradient")
        with graph:
            leaves = [
                graph.placeholder(dtype, dims) if handle is None else _gyre.convert(handle)
                for _, dtype, dims, handle in self._leaves
            ]
            dys = (
                [graph.placeholder(dtype, dims) for _, dtype, dims in self._ys]
                if self._weighted
                else []
            )
            results, known = self.build(leaves, dys)
        fed = [
            leaf
            for leaf, (_, _, _, handle) in zip(leaves, self._leaves, strict=True)
            if handle is None
        ]
        captures = list(graph.captures)
        self._captured = [outer for outer, _ in captures]
        feeds = [*fed, *dys, *known, *(inner for _, inner in captures)]
        # Nested gradients may know one tensor twice.
        first = {tensor.name: i for i, tensor in reversed(list(enumerate(feeds)))}
        self._order = sorted(first.values())
        self._executable = graph.prepare([feeds[i] for i in self._order], results, effects=False)

    def pack(self, flat: list) -> list:
        """Results by source: tensors, IndexedSlices, None."""
        items, at = [], 0
        for form in self._forms:
            if form == "none":
                items.append(None)
            elif form == "tensor":
                items.append(flat[at])
                at += 1
            else:
                items.append(slices(*flat[at : at + 3]))
                at += 3
        return items


class GradientCall:
    """Gradients that a tape computed, as an entry of the tapes around it."""

    def __init__(self, plan: Plan, memory: list):
        self._plan = plan
        self.memory = memory
        self.key = id(plan)

    def without_memory(self) -> "GradientCall":
        """The same, as part of a plan, which holds no values."""
        return GradientCall(self._plan, [])

    def add(self, inputs: list) -> tuple[list, list]:
        """The same gradients in the graph that is current, and the values that are known in it."""
        count = len(self._plan._leaves)
        return self._plan.build(inputs[:count], inputs[count:])

    def replay(self, inputs: list) -> list:
        """The same gradients in the graph that is current."""
        return self.add(inputs)[0]

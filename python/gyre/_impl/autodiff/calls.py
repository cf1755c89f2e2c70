"""Calls of functions that tapes go back over, without running them again.

A function that is called while a tape records runs as the forward half of a graph that holds its
gradient, too: it also returns what the backward half needs. So a gradient has no effects, draws no
random numbers, and belongs to the values that the call had.

    arguments ──[ function ]── results
                     └─ saved ──[ gradient ]── adjoints of arguments and variables
                                     adjoints of results ─┘
"""

from gyre import _gyre
from gyre._impl.autodiff import backprop
from gyre._impl.autodiff.plan import slices


class Halves:
    """A function and its gradient by some of its inputs, in one graph, whose forward half draws the
    random numbers that the function draws without it.

    inputs, outputs: of its graph. variables: eager variables, or None for handles of others.
    wanted: for each input, then each variable, whether its adjoint is wanted."""

    def __init__(self, name, graph, inputs, outputs, variables, wanted):
        # In which effects have no order of their own: the gradient's wait for no call.
        own = _gyre.Graph(name, session_rules=True)
        with own:
            args = [own.placeholder(t.dtype, t._dims) for t in inputs]
            # Not as a call: random numbers depend on the calls around them.
            results, done = _gyre.add_traced(graph, inputs, outputs, args)
            found = self._differentiate(own, args, variables, wanted, results)
            seeds = [seed for seed in self._seeds if seed is not None]
            saved = _gyre.crossing(results, seeds, found)
        self._count = len(results)
        self._forward = own.prepare(args, [*results, *saved], done, effects=False)
        self._backward = own.prepare([*saved, *seeds], found, effects=False)

    def _differentiate(self, graph, args, variables, wanted, results) -> list:
        """The adjoints, flat."""
        places = [*args, *variables]
        self._sources = [i for i, is_wanted in enumerate(wanted) if is_wanted]
        sources = [
            places[i]
            if i < len(args)
            else graph.variable(places[i].handle, places[i].dtype, places[i]._dims)
            for i in self._sources
        ]
        self._seeds = [
            graph.placeholder(y.dtype, y._dims) if backprop.differentiable(y) else None
            for y in results
        ]
        pairs = [(y, s) for y, s in zip(results, self._seeds, strict=True) if s is not None]
        found = _gyre.gradients(
            [y for y, _ in pairs], sources, [s for _, s in pairs], unconnected="none", sparse=True
        )
        self._forms = [0 if g is None else len(g) if isinstance(g, tuple) else 1 for g in found]
        return [t for g in found if g is not None for t in (g if isinstance(g, tuple) else (g,))]

    def forward(self, run, tensors) -> tuple[list, list]:
        """(results, what is saved). `run` runs an executable."""
        outputs = run(self._forward, tensors)
        return outputs[: self._count], outputs[self._count :]

    def backward(self, saved: list, dys: list, count: int) -> list:
        """The adjoints of `count` inputs and variables: tensors, IndexedSlices, None."""
        seeds = [dy for dy, s in zip(dys, self._seeds, strict=True) if s is not None]
        flat = iter(self._backward([*saved, *seeds]))
        adjoints: list = [None] * count
        for i, parts in zip(self._sources, self._forms, strict=True):
            if parts == 1:
                adjoints[i] = next(flat)
            elif parts:
                adjoints[i] = slices(*(next(flat) for _ in range(parts)))
        return adjoints


class Call:
    """One call, as an entry of tapes."""

    def __init__(self, function, halves: Halves, saved: list):
        self._function, self._halves, self._saved = function, halves, saved
        self.key = id(function)

    def backward(self, inputs, outputs, dys) -> list:
        """The adjoints of its inputs."""
        del outputs
        return self._halves.backward(self._saved, dys, len(inputs))

    def without_memory(self):
        """The function, which plans call again where a tape records what a gradient computes."""
        return self._function


def may_have_halves(inputs, outputs) -> bool:
    """Whether all that goes in and out is numbers: lists have adjoints of other forms."""
    return all(t.dtype.name not in ("variant", "resource") for t in (*inputs, *outputs))

"""A trace without control flow: where a program decides, the graph so far is run with the
arguments, and the trace goes the way that the run would go."""

import contextlib
import itertools
import sys

import gyre
from gyre import _gyre


class _Unroller:
    """What stands in for the binding's constructs in one trace."""

    def __init__(self, graph, placeholders, values):
        self.graph, self.placeholders, self.values = graph, placeholders, values

    def value(self, tensor):
        """What a symbolic tensor is, as a number."""
        captured = self.graph.captures
        run = self.graph.prepare(
            self.placeholders + [inside for _, inside in captured],
            [_gyre.convert(tensor)],
            None,
            False,
        )
        return run(self.values + [outside for outside, _ in captured])[0].numpy().item()

    def condition(self, value):
        """What ifs, conds and cases decide by: known at once."""
        value = self.originals["condition"](value)
        if (
            isinstance(value, gyre.Tensor)
            and value.is_symbolic
            and value._dims == ()
            and not _gyre.in_body()
        ):
            return gyre.constant(self.value(value), value.dtype)
        return value

    def trace_while(
        self, cond_fn, body_fn, initial, paths=None, *, maximum_iterations=None, **options
    ):
        if _gyre.in_body():
            return self.originals["trace_while"](
                cond_fn, body_fn, initial, paths, maximum_iterations=maximum_iterations, **options
            )
        state = list(initial)
        limit = None if maximum_iterations is None else self.value(maximum_iterations)
        for count in itertools.count():
            if count == limit or not self.value(cond_fn(list(state))):
                return state
            state = body_fn(list(state))

    def trace_range(self, start, limit, step, body_fn, initial, paths=None, **options):
        state = list(initial)
        for i in range(self.value(start), self.value(limit), self.value(step)):
            state = body_fn(_gyre.convert(i, _gyre.convert(limit).dtype), list(state))
        return state

    def _rows(self, rows, reverse):
        count = self.value(gyre.shape(rows[0])[0])
        order = range(count - 1, -1, -1) if reverse else range(count)
        return [[row[i] for row in rows] for i in order]

    def trace_map(self, fn, rows, *, reverse=False, **options):
        found = [fn(row) for row in self._rows(rows, reverse)]
        return [gyre.stack(part) for part in zip(*(found[::-1] if reverse else found))]

    def trace_fold(self, fn, rows, initial, *, keep, reverse=False, **options):
        state, kept = list(initial), []
        for row in self._rows(rows, reverse):
            state = fn(state, row)
            kept.append(state)
        if not keep:
            return state
        return [gyre.stack(part) for part in zip(*(kept[::-1] if reverse else kept))]

    @contextlib.contextmanager
    def installed(self):
        """While it lasts, the constructs are these."""
        names = [name for name in vars(_Unroller) if name.startswith("trace_")]
        places = [(_gyre, name) for name in names] + [
            (module, "condition")
            for name, module in list(sys.modules.items())
            if name.startswith("gyre._impl.") and "condition" in vars(module)
        ]
        self.originals = {name: getattr(place, name) for place, name in places}
        try:
            for place, name in places:
                setattr(place, name, getattr(self, name))
            yield
        finally:
            for place, name in places:
                setattr(place, name, self.originals[name])


def unrolled(fn):
    """fn, run as one straight graph. (Functions that it calls stay calls.)"""

    def run(*tensors):
        graph = gyre._gyre.Graph("unrolled")
        with graph:
            inputs = [graph.placeholder(tensor.dtype, tensor._dims) for tensor in tensors]
            with _Unroller(graph, inputs, list(tensors)).installed():
                results = fn(*inputs)
            symbolic = gyre.nest.map_structure(_gyre.convert, results)
        captured = graph.captures
        execute = graph.prepare(
            inputs + [inside for _, inside in captured], gyre.nest.flatten(symbolic)
        )
        flat = execute(list(tensors) + [outside for outside, _ in captured])
        return gyre.nest.pack_sequence_as(symbolic, flat)

    return run

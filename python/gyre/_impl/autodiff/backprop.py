"""Backwards through what a tape recorded.

The entries between sources and targets become a Plan: a graph in which these ops stand again, with
their gradients. What was computed before is fed, not computed (or effected) again, so that only the
gradients run. Plans are kept by the structure of the entries: a training step is traced once.

What only Python can differentiate (custom gradients) parts the entries into segments, which are
gone through from the last to the first:

    sources ──[ segment ]── custom ──[ segment ]── targets
"""

from collections import OrderedDict

from gyre import _gyre
from gyre._impl.autodiff.plan import GradientCall, Literal, Plan, frozen, slices
from gyre._impl.convert import call, convert_to_tensor, is_value
from gyre._impl.tracing.variables import argument_for

_READS = ("ReadVariableOp",)
_GATHERS = {"ResourceGather": "GatherV2", "ResourceGatherNd": "GatherNd"}
# Inputs that are axes: constants of a plan, so that shapes are known and gathers' gradients sparse.
_AXES = {
    "Sum": 1,
    "Mean": 1,
    "Prod": 1,
    "Max": 1,
    "Min": 1,
    "Transpose": 1,
    "ConcatV2": 1,
    "ExpandDims": 1,
    "Split": 0,
    "SplitV": 2,
    "Cumsum": 1,
    "Cumprod": 1,
    "ReverseV2": 1,
    "GatherV2": 2,
}
_plans: "OrderedDict[tuple, Plan]" = OrderedDict()
_MOST_PLANS = 512


def is_variable(value) -> bool:
    """Whether it stands for a resource."""
    return hasattr(value, "handle") and hasattr(value, "read_value")


def parts_of(value) -> list:
    """The tensors that carry gradients of a tensor or composite."""
    if isinstance(value, _gyre.Tensor):
        return [value]
    parts = (getattr(value, name, None) for name in ("flat_values", "values"))
    part = next((p for p in parts if isinstance(p, _gyre.Tensor)), None)
    if part is not None:
        return [part]
    return [convert_to_tensor(value)] if is_value(value) else []


def zeros_of(x):
    """Zeros of the shape of a source."""
    return call("ZerosLike", convert_to_tensor(x))


def differentiable(tensor) -> bool:
    """Whether gradients flow through it."""
    return tensor.dtype.is_floating or tensor.dtype.is_complex or tensor.dtype.name == "variant"


def _of_source(x, gradient):
    """The gradient of a source: rows only of variables that were read by rows."""
    if gradient is None or isinstance(gradient, _gyre.Tensor):
        return gradient
    if is_variable(x) and getattr(x, "read_by_rows", True):
        return gradient
    dims = x._dims if is_variable(x) else parts_of(x)[0]._dims
    if not dims or dims[0] is None:
        return convert_to_tensor(gradient)
    rows = _gyre.convert(dims[0], gradient.indices.dtype)  # so that the shape is known
    return call("UnsortedSegmentSum", gradient.values, gradient.indices, rows)


# ---- In a graph


def symbolic(
    ys: list,
    xs: list,
    dys: list | None,
    unconnected: str = "none",
    stops: list | None = None,
    recorder=None,
) -> list:
    """Gradients in the graph that is current: through all of it, or what a recorder saw."""
    graph = _gyre.current_graph()
    targets, weights = [], []
    for i, y in enumerate(ys):
        for part in parts_of(y):
            if differentiable(part):
                targets.append(_gyre.convert(part))
                weights.append(None if dys is None else dys[i])
    sources = [_symbolic_source(graph, x) for x in xs]
    if not targets:
        return [None] * len(xs)
    if any(w is not None for w in weights):
        weights = [
            call("OnesLike", y) if w is None else convert_to_tensor(w, y.dtype)
            for w, y in zip(weights, targets, strict=True)
        ]
    else:
        weights = None
    found = _gyre.gradients(
        targets,
        sources,
        weights,
        stops=[_gyre.convert(s) for s in stops or ()],
        unconnected=unconnected,
        sparse=True,
        recorder=recorder,
    )
    return [
        _of_source(x, slices(*g) if isinstance(g, tuple) else g)
        for x, g in zip(xs, found, strict=True)
    ]


def _symbolic_source(graph, x):
    """A tensor, or the handle of a variable unless what is read of it is handed to the graph."""
    if not is_variable(x):
        return _gyre.convert(parts_of(x)[0])
    argument = argument_for(x)
    return graph.variable(x.handle, x.dtype, x._dims) if argument is None else argument


# ---- Eagerly


def eager(recorder, ys: list, xs: list, dys: list | None) -> list:
    """Gradients of what a recorder saw. One result per x: a tensor, IndexedSlices, or None."""
    sources = [x.handle if is_variable(x) else next(iter(parts_of(x)), None) for x in xs]
    adjoints = Adjoints()
    targets = []
    for i, y in enumerate(ys):
        if is_variable(y):
            if any(s is not None and s.id == y.handle.id for s in sources):
                targets.append(y.handle)
                adjoints.add(y.handle, _weight(y, dys, i, ones=True))
            continue
        for part in parts_of(y):
            if differentiable(part):
                targets.append(part)
                adjoints.add(part, _weight(part, dys, i, ones=False))
    watched = [s for s in sources if s is not None and recorder.is_watched(s)]
    entries = _between(recorder.entries, watched, targets)
    computed = {o.id for entry in entries for o in entry[3]}
    for segment in reversed(_segments(entries)):
        _backwards(segment, watched, computed, adjoints)
    reached = {s.id for s in watched}
    return [
        _of_source(x, adjoints.total(s)) if s is not None and s.id in reached else None
        for x, s in zip(xs, sources, strict=True)
    ]


def _weight(y, dys, i, ones: bool):
    if dys is not None and dys[i] is not None:
        given = dys[i]
        return convert_to_tensor(given) if is_value(given) else convert_to_tensor(given, y.dtype)
    return call("OnesLike", convert_to_tensor(y)) if ones else ONES


class _Ones:
    """The adjoint of a target that has no weight: ones of its shape, made where it is needed."""


ONES = _Ones()


class Adjoints:
    """The gradients found so far, by the tensor that they belong to."""

    def __init__(self):
        self._found: dict[int, list] = {}

    def add(self, tensor, gradient) -> None:
        """One more summand."""
        self._found.setdefault(tensor.id, []).append((tensor, gradient))

    def has(self, tensor) -> bool:
        """Whether there is one."""
        return tensor.id in self._found

    def take(self, tensor):
        """The sum, which is removed; ONES if that is all."""
        pairs = self._found.pop(tensor.id)
        if len(pairs) == 1:
            return pairs[0][1]
        return _sum([_given(t, g) for t, g in pairs])

    def total(self, tensor):
        """The sum, or None."""
        pairs = self._found.get(tensor.id)
        return _sum([_given(t, g) for t, g in pairs]) if pairs else None


def _given(tensor, gradient):
    return call("OnesLike", tensor) if gradient is ONES else gradient


def _sum(gradients: list):
    """The sum of tensors and IndexedSlices: sparse if all are."""
    if len(gradients) == 1:
        return gradients[0]
    if any(isinstance(g, _gyre.Tensor) for g in gradients):
        return call("AddN", [convert_to_tensor(g) for g in gradients])
    kinds = {g.indices.dtype.name for g in gradients}
    wide = _gyre.as_dtype("int64" if len(kinds) > 1 else next(iter(kinds)))
    indices = [
        g.indices if g.indices.dtype == wide else call("Cast", g.indices, DstT=wide)
        for g in gradients
    ]
    return slices(
        call("ConcatV2", [g.values for g in gradients], 0),
        call("ConcatV2", indices, 0),
        gradients[0].dense_shape,
    )


def _tensors(inputs):
    for item in inputs:
        if isinstance(item, list):
            yield from item
        else:
            yield item


def _between(entries: list, sources: list, targets: list) -> list:
    """The entries on paths from sources to targets, in order."""
    reached = {s.id for s in sources}
    ahead = []
    for entry in entries:
        if any(t.id in reached for t in _tensors(entry[2])):
            ahead.append(entry)
            reached.update(t.id for t in entry[3])
    needed = {t.id for t in targets}
    kept = []
    for entry in reversed(ahead):
        if any(t.id in needed for t in entry[3]):
            kept.append(entry)
            needed.update(t.id for t in _tensors(entry[2]))
    kept.reverse()
    return kept


def _goes_back_alone(op) -> bool:
    """Whether Python differentiates an entry: a custom gradient, or the call of a function."""
    return hasattr(op, "backward") and getattr(op, "goes_back", True)


def _segments(entries: list) -> list[list]:
    """Runs of entries that the core differentiates; an entry that Python does is one of its own."""
    segments: list[list] = []
    open_ = False
    for entry in entries:
        if _goes_back_alone(entry[0]):
            segments.append([entry])
            open_ = False
        elif open_:
            segments[-1].append(entry)
        else:
            segments.append([entry])
            open_ = True
    return segments


def _backwards(segment: list, sources: list, computed: set[int], adjoints: Adjoints) -> None:
    """Replaces the adjoints of what a segment computes by those of what it computes them from."""
    first = segment[0][0]
    if _goes_back_alone(first):
        _, _, inputs, outputs = segment[0]
        if not any(adjoints.has(o) for o in outputs):
            return
        dys = [
            _given(o, adjoints.take(o)) if adjoints.has(o) else call("ZerosLike", o)
            for o in outputs
        ]
        for tensor, gradient in zip(inputs, first.backward(inputs, outputs, dys), strict=True):
            if gradient is not None:
                adjoints.add(tensor, gradient)
        return
    found = Segment(segment, sources, computed, adjoints)
    if found.ys:
        found.run(adjoints)


class Segment:
    """Entries that the core differentiates, with the tensors that they saw.

    Values are numbered in the order of their appearance: leaves, which come from outside, and
    results. `xs` are the numbers of what is differentiated by, `x_tensors` what they belong to.
    """

    def __init__(self, entries: list, sources: list, computed: set[int], adjoints: Adjoints):
        self.numbers: dict[int, int] = {}
        self.leaves: list = []  # (number, eager tensor)
        self.results: list = []  # (number, eager tensor)
        self.memories: list[list] = []  # of nested gradients
        self._aliases: dict[int, _gyre.Tensor] = {}
        self.xs: list[int] = []
        self.x_tensors: list = []
        steps, self.ops = [], []
        by_id = {s.id: s for s in sources}
        for op, attrs, inputs, outputs in entries:
            if op in _READS:
                self._read(inputs[0], outputs[0], by_id)
                continue
            if op in _GATHERS:
                op, attrs, inputs = self._gather(op, attrs, inputs, by_id)
            refs = self._refs(op, inputs)
            outs = tuple(self._result(o) for o in outputs)
            key = op if isinstance(op, str) else (type(op).__name__, getattr(op, "key", id(op)))
            self.ops.append((op, attrs))
            self.memories.append(getattr(op, "memory", []))
            steps.append((key, frozen(attrs), refs, outs, len(self.memories[-1])))
        self._differentiate_by(by_id, computed)
        self.ys = [(n, t) for n, t in self.results if adjoints.has(t)]
        self.steps = tuple(steps)

    def _refs(self, op, inputs: list) -> tuple:
        axis = _AXES.get(op) if isinstance(op, str) else None
        return tuple(
            tuple(self._use(t) for t in item)
            if isinstance(item, list)
            else Literal.of(item)
            if i == axis
            else self._use(item)
            for i, item in enumerate(inputs)
        )

    def _number(self, identity: int) -> int:
        return self.numbers.setdefault(identity, len(self.numbers))

    def _use(self, tensor) -> int:
        if tensor.id not in self.numbers:
            self.leaves.append((self._number(tensor.id), tensor))
        return self.numbers[tensor.id]

    def _result(self, tensor) -> int:
        if tensor.id not in self.numbers:
            self.results.append((self._number(tensor.id), tensor))
        return self.numbers[tensor.id]

    def _read(self, handle, value, by_id) -> None:
        """A value that was read is a leaf; what it contributes belongs to the variable."""
        number = self._use(value)
        if handle.id in by_id:
            self.xs.append(number)
            self.x_tensors.append(handle)

    def _gather(self, op, attrs, inputs, by_id):
        """Rows that were read are gathered from the whole variable; only its shape counts."""
        handle, indices = inputs
        if handle.id not in self._aliases:
            value = _gyre.execute("ReadVariableOp", [handle], {"dtype": attrs["dtype"]})[0]
            number = self._use(value)
            self._aliases[handle.id] = value
            if handle.id in by_id:
                self.xs.append(number)
                self.x_tensors.append(handle)
        value = self._aliases[handle.id]
        if op == "ResourceGather":
            batch_dims = attrs.get("batch_dims", 0)
            axis = _gyre.convert(batch_dims)
            return "GatherV2", {"batch_dims": batch_dims}, [value, indices, axis]
        return "GatherNd", {}, [value, indices]

    def _differentiate_by(self, by_id: dict, computed: set[int]) -> None:
        """Adds to xs the sources, and what earlier segments have computed."""
        seen = set(self.xs)
        wanted = [(n, t) for n, t in self.leaves if t.id in by_id or t.id in computed]
        wanted += [(n, t) for n, t in self.results if t.id in by_id]
        for number, tensor in wanted:
            if number not in seen and (differentiable(tensor) or tensor.id in by_id):
                self.xs.append(number)
                self.x_tensors.append(tensor)

    def run(self, adjoints: Adjoints) -> None:
        """Computes and hands on the adjoints."""
        dys = [adjoints.take(t) for _, t in self.ys]
        weighted = any(d is not ONES for d in dys)
        dys = [_given(t, d) for d, (_, t) in zip(dys, self.ys, strict=True)] if weighted else []
        dys = [convert_to_tensor(d) for d in dys]
        key = (
            self.steps,
            tuple(n for n, _ in self.ys),
            tuple(self.xs),
            weighted,
            tuple(
                (n, t.dtype.name, t.id if t.dtype.name == "resource" else t._dims)
                for n, t in self.leaves
            ),
        )
        plan = _plans.get(key)
        if plan is None:
            plan = _plans[key] = Plan(self, weighted)
            if len(_plans) > _MOST_PLANS:
                _plans.popitem(last=False)
        else:
            _plans.move_to_end(key)
        leaves = [t for _, t in self.leaves]
        known = plan.known_of(self)
        found = plan.run(leaves, dys, known)
        _gyre.record(GradientCall(plan, known), leaves + dys, found)
        for tensor, gradient in zip(self.x_tensors, plan.pack(found), strict=True):
            if gradient is not None:
                adjoints.add(tensor, gradient)

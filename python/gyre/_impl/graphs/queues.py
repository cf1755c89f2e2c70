"""Queues: what one run of a session, or one call, puts in, another takes out."""

import contextlib
import itertools

from gyre import _gyre
from gyre._impl.convert import call, calls, convert_to_tensor, holds_tensor
from gyre._impl.graphs.constant import constant
from gyre._impl.graphs.graph import current, has_default_graph
from gyre._impl.shape import TensorShape, as_dims

_counter = itertools.count()


class QueueBase:
    """What queues have in common: made by their kinds.

    In graphs, its methods add operations that do what they say when they run; in eager execution
    and in functions they do it there (what is an operation in graphs is None then).
    """

    def __init__(self, dtypes, shapes, names, queue_ref, name):
        self._dtypes, self._names, self._queue_ref, self._name = dtypes, names, queue_ref, name
        self._shapes = shapes or [None] * len(dtypes)

    queue_ref = property(lambda self: self._queue_ref, doc="The handle.")
    dtypes = property(lambda self: list(self._dtypes), doc="The dtypes of a row's components.")
    shapes = property(
        lambda self: [TensorShape(s) for s in self._shapes], doc="The shapes of a row's components."
    )
    names = property(
        lambda self: self._names, doc="The names of a row's components, if it has names."
    )

    @property
    def name(self) -> str:
        """The name of its operation, or that it was given."""
        return self._name

    def _row(self, vals) -> list:
        if isinstance(vals, dict):
            if not self._names:
                raise ValueError("Queue must have names to enqueue a dictionary")
            if sorted(self._names) != sorted(vals):
                raise ValueError(
                    f"Keys in dictionary to enqueue do not match names of Queue. Dictionary: "
                    f"{sorted(vals)}, Queue: {sorted(self._names)}"
                )
            vals = [vals[name] for name in self._names]
        elif self._names:
            raise ValueError("You must enqueue a dictionary in a Queue with names")
        elif not isinstance(vals, (list, tuple)):
            vals = [vals]
        if len(vals) != len(self._dtypes):
            raise ValueError(
                f"a row of this queue has {len(self._dtypes)} components, not {len(vals)}"
            )
        return [
            convert_to_tensor(v, d) if holds_tensor(v) else constant(v, d, name="component")
            for v, d in zip(vals, self._dtypes, strict=True)
        ]

    def _named(self, suffix: str, name):
        return name or f"{self.name}_{suffix}"

    def _act(self, op: str, inputs, name, **attrs):
        _gyre.execute(op, [self._queue_ref, *inputs], attrs, name)
        return current().last_operation() if has_default_graph() else None

    def enqueue(self, vals, name=None):
        """An operation that puts a row in: a list of its components, or the only one. It waits
        while the queue is full. Of a closed queue: CancelledError."""
        row = self._row(vals)
        for value, dims in zip(row, self._shapes, strict=True):
            TensorShape(dims).assert_is_compatible_with(value._dims)
        return self._act(
            "QueueEnqueueV2", [row], self._named("enqueue", name), Tcomponents=self._dtypes
        )

    def enqueue_many(self, vals, name=None):
        """An operation that puts the rows of tensors in, one after the other."""
        return self._act(
            "QueueEnqueueManyV2",
            [self._row(vals)],
            self._named("EnqueueMany", name),
            Tcomponents=self._dtypes,
        )

    def _packed(self, values: list):
        if self._names:
            return dict(zip(self._names, values, strict=True))
        return values[0] if len(values) == 1 else values

    def dequeue(self, name=None):
        """A row that is taken out: a tensor, or a list (or dict) of them; it waits for one. Of a
        closed and empty queue: OutOfRangeError."""
        values = calls(
            "QueueDequeueV2",
            self._queue_ref,
            name=self._named("Dequeue", name),
            component_types=self._dtypes,
        )
        if has_default_graph():
            for value, dims in zip(values, self._shapes, strict=True):
                value.set_shape(dims)
        return self._packed(values)

    def dequeue_many(self, n, name=None):
        """`n` rows that are taken out, one after the other, stacked. `n` is a Python number."""
        in_graph = has_default_graph()
        with (
            current().name_scope(self._named("DequeueMany", name))
            if in_graph
            else contextlib.nullcontext()
        ):
            rows, before = [], []
            for _ in range(int(n)):
                with (
                    current().control_dependencies(before) if in_graph else contextlib.nullcontext()
                ):
                    values = calls("QueueDequeueV2", self._queue_ref, component_types=self._dtypes)
                rows.append(values)
                before = [current().operation_of(_gyre.node_of(values[0]))] if in_graph else []
            return self._packed([call("Pack", list(column)) for column in zip(*rows, strict=True)])

    def close(self, cancel_pending_enqueues=False, name=None):
        """An operation after which nothing can be put in."""
        return self._act(
            "QueueCloseV2",
            [],
            self._named("Close", name),
            cancel_pending_enqueues=cancel_pending_enqueues,
        )

    def size(self, name=None):
        """How many rows are in it: an int32 scalar."""
        return call("QueueSizeV2", self._queue_ref, name=self._named("Size", name))


class FIFOQueue(QueueBase):
    """A queue whose rows come out in the order in which they went in.

    capacity: how many rows it holds. dtypes: of a row's components; shapes: of these, if they are
    all of one shape. shared_name: queues of one name are one.
    """

    def __init__(
        self, capacity, dtypes, shapes=None, names=None, shared_name=None, name="fifo_queue"
    ):
        dtypes = [
            _gyre.as_dtype(d) for d in (dtypes if isinstance(dtypes, (list, tuple)) else [dtypes])
        ]
        if shapes is not None:
            shapes = [as_dims(s) for s in _shape_list(shapes, len(dtypes))]
        names = [names] if isinstance(names, str) else names
        attrs = {"component_types": dtypes, "shapes": shapes or [], "capacity": int(capacity)}
        if has_default_graph():
            graph = current()
            with graph.main_scope():
                queue = call(
                    "FIFOQueueV2",
                    name=name,
                    container=graph._container,
                    shared_name=shared_name or graph.unique_name(name, False),
                    **attrs,
                )
            name = _gyre.node_of(queue).name
        else:
            with _gyre.init_scope():
                queue = call(
                    "FIFOQueueV2", shared_name=shared_name or f"{name}_{next(_counter)}", **attrs
                )
        super().__init__(dtypes, shapes, names, queue, name)


def _shape_list(shapes, count: int) -> list:
    single = isinstance(shapes, TensorShape) or not any(
        isinstance(s, (list, tuple, TensorShape)) for s in shapes
    )
    found = [shapes] if single and (count == 1 or shapes) else list(shapes)
    if len(found) != count:
        raise ValueError(
            f"Queue shapes must have the same length as dtypes, received len(shapes)={len(found)},"
            f" len(dtypes)={count}"
        )
    return found

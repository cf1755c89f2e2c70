"""Calls of functions that tapes go back over, without running them again.

A function that is called while tapes record runs as the first stage of a graph that holds its
derivatives, too: it also returns what later stages need. So a gradient has no effects, draws no
random numbers, and belongs to the values that the call had; and so has the gradient of a gradient,
where as many tapes record.

    call          arguments ── results                            ┐
    first order   adjoints of results ── adjoints of arguments    │ each is handed what those
    second order  adjoints of these ── adjoints of arguments,     │ above it saved
                                       and of adjoints of results ┘
"""

from gyre import _gyre
from gyre._impl import errors
from gyre._impl.autodiff import backprop
from gyre._impl.convert import convert_to_tensor
from gyre._impl.tracing import watchers


class _Order:
    """Derivatives of ys by some of `places` (`wanted`: which), in the graph that is current.

    seeds: the adjoints of ys; None for those that have none.  found: what they give, flat: for each
    that is wanted a tensor, the three of IndexedSlices, or nothing."""

    def __init__(self, ys: list, places: list, wanted: list, seeds: list):
        self.wanted, self.seeds = wanted, seeds
        pairs = [(y, s) for y, s in zip(ys, seeds, strict=True) if s is not None]
        found = _gyre.gradients(
            [y for y, _ in pairs],
            [places[i] for i in wanted],
            [s for _, s in pairs],
            unconnected="none",
            sparse=True,
        )
        self._forms = [0 if g is None else len(g) if isinstance(g, tuple) else 1 for g in found]
        self.found = [
            t for g in found if g is not None for t in (g if isinstance(g, tuple) else (g,))
        ]

    def given(self, dys: list) -> list:
        """Of the adjoints of all ys, those that count."""
        return [dy for dy, s in zip(dys, self.seeds, strict=True) if s is not None]

    def pack(self, found: list, count: int) -> list:
        """The adjoints of `count` places: tensors, IndexedSlices, None."""
        flat = iter(found)
        adjoints: list = [None] * count
        for i, parts in zip(self.wanted, self._forms, strict=True):
            if parts == 1:
                adjoints[i] = next(flat)
            elif parts:
                adjoints[i] = backprop.adjoint(tuple(next(flat) for _ in range(parts)))
        return adjoints


def _orders(graph, ys, places, wanted, count) -> list[_Order]:
    """The derivatives of ys by places; of these by places and the adjoints of ys; and so on."""
    places, wanted = list(places), [i for i, is_wanted in enumerate(wanted) if is_wanted]
    orders: list[_Order] = []
    while len(orders) < count and any(backprop.differentiable(y) for y in ys):
        seeds = [
            graph.placeholder(y.dtype, y._dims) if backprop.differentiable(y) else None for y in ys
        ]
        try:
            one = _Order(ys, places, list(wanted), seeds)
        except errors.OpError:
            if orders:
                break  # A tape that is asked for it will tell why there is none.
            raise
        orders.append(one)
        ys = one.found
        for seed in one.given(seeds):
            wanted.append(len(places))
            places.append(seed)
    return orders


class Derivatives:
    """A function and its derivatives by some of its inputs, in one graph that runs in stages: the
    call, which draws the random numbers that it draws without a tape, and each order.

    inputs, outputs: of its graph. variables: eager variables, or None for handles of others.
    wanted: for each input, then each variable, whether its adjoint is wanted. count: how many
    orders, of which there are fewer if the function has no more."""

    def __init__(self, name, graph, inputs, outputs, variables, wanted, count):
        # In which effects have no order of their own: the gradient's wait for no call.
        own = _gyre.Graph(name, session_rules=True)
        own.compile = graph.compile
        with own:
            args = [own.placeholder(t.dtype, t._dims) for t in inputs]
            # Not as a call: random numbers depend on the calls around them.
            results, done = _gyre.add_traced(graph, inputs, outputs, args)
            places = args + [
                own.variable(v.handle, v.dtype, v._dims) if is_wanted else None
                for v, is_wanted in zip(variables, wanted[len(args) :], strict=True)
            ]
            self._num_places = len(places)
            self._orders = _orders(own, results, places, wanted, count)
            self._prepare(own, args, results, done)

    def _prepare(self, own, args, results, done) -> None:
        """Compiles the stages: an order's alone, and with what later ones need."""
        values, known = list(results), []

        def needed_by(orders):
            seeds = [seed for one in orders for seed in one.given(one.seeds)]
            found = [t for one in orders for t in one.found]
            names = {t.name for t in known}
            return [t for t in _gyre.crossing(values, seeds, found) if t.name not in names]

        known += needed_by(self._orders)
        self._num_results = len(results)
        self._call = own.prepare(args, [*results, *known], done, effects=False)
        self._stages = []
        for i, one in enumerate(self._orders):
            feeds = [*known, *one.given(one.seeds)]
            values += one.found
            saved = needed_by(self._orders[i + 1 :])
            alone = own.prepare(feeds, one.found, effects=False)
            more = own.prepare(feeds, [*one.found, *saved], effects=False) if saved else alone
            self._stages.append((alone, more))
            known += saved

    def has(self, order: int) -> bool:
        """Whether it has the derivatives of an order; 0 are the first."""
        return order < len(self._orders)

    def call(self, run, tensors) -> tuple[list, list]:
        """(results, what is saved). `run` runs an executable."""
        outputs = run(self._call, tensors)
        return outputs[: self._num_results], outputs[self._num_results :]

    def derive(self, order: int, saved: list, dys: list, saves: bool) -> tuple[list, list]:
        """(what the derivatives give, flat, what is saved). `saves`: for those of later orders."""
        one = self._orders[order]
        # A stage takes tensors: what is IndexedSlices becomes one.
        given = [convert_to_tensor(backprop.adjoint(dy)) for dy in one.given(dys)]
        outputs = watchers.call(self._stages[order][saves], [*saved, *given])
        count = len(one.found)
        return outputs[:count], [*saved, *outputs[count:]]

    def given(self, order: int, dys: list) -> list:
        """Of the adjoints of all that an order is derived from, those that count."""
        return self._orders[order].given(dys)

    def pack(self, order: int, found: list, count: int) -> list:
        """The adjoints of `count` inputs: tensors, IndexedSlices, None."""
        return self._orders[order].pack(found, count)

    def replay(self, function, order: int, inputs: list) -> list:
        """A call of the function, or what the derivatives before an order give, in the graph that
        is current."""
        ys = function.replay(inputs[: self._num_places])
        adjoints = iter(inputs[self._num_places :])
        for one in self._orders[:order]:
            seeds = [None if seed is None else next(adjoints) for seed in one.seeds]
            ys = _Order(ys, inputs, one.wanted, seeds).found
        return ys


class Call:
    """A call, or what its derivatives before an order gave, as an entry of tapes."""

    def __init__(self, function, derivatives: Derivatives, saved: list, order: int = 0):
        self._function, self._derivatives = function, derivatives
        self._saved, self._order = saved, order
        self.key = (id(derivatives), order)

    @property
    def goes_back(self) -> bool:
        """Whether it has what `backward` needs. If not, plans run the function again."""
        return self._derivatives.has(self._order)

    def backward(self, inputs, outputs, dys) -> list:
        """The adjoints of its inputs."""
        del outputs
        derivatives, order = self._derivatives, self._order
        is_recorded = _gyre.recording()
        found, saved = derivatives.derive(order, self._saved, dys, is_recorded)
        if is_recorded:
            entry = Call(self._function, derivatives, saved, order + 1)
            _gyre.record(entry, [*inputs, *derivatives.given(order, dys)], found)
        return derivatives.pack(order, found, len(inputs))

    def without_memory(self) -> "Call":
        """The same, as part of a plan, which holds no values."""
        return Call(self._function, self._derivatives, [], self._order)

    def replay(self, inputs: list) -> list:
        """The same in the graph that is current."""
        return self._derivatives.replay(self._function, self._order, inputs)


def may_have_derivatives(inputs, outputs) -> bool:
    """Whether all that goes in and out is numbers: lists have adjoints of other forms."""
    return all(t.dtype.name not in ("variant", "resource") for t in (*inputs, *outputs))

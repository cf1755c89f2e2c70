"""`while` and `for`.

A loop over Python values runs while tracing, and leaves its body in the graph once per iteration. A
loop whose test or range is a tensor becomes one loop of the graph: the names that its body assigns,
and that are used in later iterations or after it, are its state.
"""

import functools
import itertools
import warnings
from collections.abc import Callable

from gyre import _gyre
from gyre._impl import handlers, nest
from gyre._impl.autograph import conditionals, objects
from gyre._impl.autograph.truth import truth
from gyre._impl.control_flow import loop_options
from gyre._impl.errors import GraphSizeError
from gyre._impl.shape import as_dims
from gyre._impl.tracing import aliases, raising, ranges
from gyre._impl.tracing import layout as layouts
from gyre._impl.tracing.effects import Watch
from gyre._impl.tracing.layout import Mismatch, Refusal, Taken
from gyre._impl.tracing.lines import place, stack_level
from gyre._impl.tracing.lists import CONTAINERS, TracedList, fresh, own, owning
from gyre._impl.tracing.rows import Rows, SymbolicRange, rows_of
from gyre._impl.tracing.state import Recursion, Restart, is_symbolic, probe, shown, state
from gyre._impl.tracing.undefined import PartlyDefined, is_undefined, settled

_MANY = 3000  # iterations of a Python loop that are worth a word


class _Unrolled:
    """A loop of Python that runs while its function is traced: says when it has run very often.
    Where the graph gets too large, the error names the loop, the innermost one of those that have
    added most of it."""

    def __init__(self, kind):
        self.kind, self.count, self.graph = kind, 0, _gyre.current_graph()

    def __enter__(self):
        if self.graph is not None:
            self.at, self.size = place(), self.graph.size
        return self

    def again(self):
        """One more iteration has been made."""
        self.count += 1
        if self.count == _MANY and self.graph is not None:
            warnings.warn(
                f"the loop at {self.at} runs over Python values and has made {_MANY} iterations "
                "while tracing: each of them adds its body to the graph. Make its test or its "
                f"range a tensor (gyre.constant, gyre.range) to trace it once",
                stacklevel=stack_level(),
            )

    def __exit__(self, kind, error, trace):
        if (
            isinstance(error, GraphSizeError)
            and error.loop is None
            and self.graph is not None
            and 2 * (self.graph.size - self.size) > _gyre.graph_size_limit()
        ):
            raise error.in_loop(f"{self.kind} loop at {self.at}").with_traceback(trace) from None


class _Loop:
    """Traces one loop: finds the layout of its state, tracing again where the first guess was
    wrong."""

    def __init__(self, kind, names, at, get_state, set_state, opts):
        self.kind, self.names, self.at = kind, [str(name) for name in names], at
        self.get_state, self.set_state = get_state, set_state
        self.before = get_state()
        self.taken = [Taken(value) for value in self.before]
        self.layouts = [layouts.layout_of(taken) for taken in self.taken]
        self.joined = set()
        self.guessed = self.guessed_lists = self.tracing = False
        self.assigned = {}  # which name -> what items of its list are assigned, as far as is known
        self.after = ()  # the values at the end of the body
        self.watch = None  # made when the blocks are known, before the first of them is traced
        self.options = _options(opts)
        self.invariants = opts.get("shape_invariants") if opts else None

    # ---- Into and out of the body

    def initial(self):
        tensors = []
        for i, (chosen, taken) in enumerate(zip(self.layouts, self.taken, strict=True)):
            try:
                tensors.extend(chosen.emit(taken))
            except Mismatch:
                self.refuse(i, taken, "it cannot be made the same")
        return tensors

    def enter(self, tensors):
        """Gives the names the values that these tensors are."""
        tensors = iter(tensors)
        values = []
        for name, chosen, before in zip(self.names, self.layouts, self.before, strict=True):
            if chosen.undefined:
                values.append(before)
                continue
            value, flag = chosen.pack(tensors)
            values.append(
                value if flag is None else PartlyDefined(value, flag, name, self.at, True)
            )
        self.given = tuple(values)
        for value, before in zip(values, self.before, strict=True):
            if isinstance(value, (TracedList, *CONTAINERS)):
                aliases.copy_mark(before, value)
        for i, (value, before) in enumerate(
            zip(values, self.before, strict=True) if self.tracing else ()
        ):
            own(value, functools.partial(self._make_list_of_graph, i), before)
        self.set_state(self.given)

    def leave(self):
        """The tensors of the state at the end of the body."""
        tensors, wrong = [], False
        values = self.get_state()
        # What the body leaves alone is after the loop what it was before: a number stays one of
        # Python's, so that Python can decide by it, also if a loop around has made a tensor of it.
        self.kept = [
            value is given and isinstance(value, _gyre.Tensor)
            for value, given in zip(values, self.given, strict=True)
        ]
        self.same = [value is given for value, given in zip(values, self.given, strict=True)]
        for i, value in enumerate(values):
            taken = Taken(value)
            try:
                tensors.extend(self.layouts[i].emit(taken))
            except Mismatch:
                self._join(i, taken)
                wrong = True
        if wrong:
            raise Restart(self)
        self.after = values
        return tensors

    def _join(self, i, after):
        try:
            joined = layouts.join(self.taken[i], after)
        except Refusal as why:
            self.refuse(i, after, why)
        if i in self.joined and not (joined.flagged and not self.layouts[i].flagged):
            self.refuse(i, after, "it cannot be made the same")
        self.joined.add(i)
        self.layouts[i] = joined

    def refuse(self, i, after, why):
        raise TypeError(
            f"{shown(self.names[i])} does not stay the same kind of value in the {self.kind} loop "
            f"at {self.at}: {why}. Before the loop it is {self.taken[i].describe()}, after one "
            f"iteration it is {after.describe()}. Give it its final kind before the loop"
        ) from None

    # ---- Tracing

    def trace(self, build, *blocks):
        """build(initial tensors, paths, invariants) makes the loop, and returns its results."""
        results, self.tracing = None, True
        with owning():
            while results is None:
                results = self._attempt(build, blocks)
        self.tracing = False
        for chosen, value in zip(self.layouts, self.after, strict=True):
            if not chosen.undefined and chosen.template is not None and not is_undefined(value):
                chosen.template = layouts.with_element_shapes(chosen.template, Taken(value).value)
        self.enter(results)
        self.set_state(
            tuple(
                before if kept else settled(name, value)
                for name, before, value, kept in zip(
                    self.names, self.before, self.get_state(), self.kept, strict=True
                )
            )
        )
        for name, before, value, same in zip(
            self.names, self.before, self.get_state(), self.same, strict=True
        ):
            what = f"the traced {self.kind} loop at {self.at}"
            aliases.check_names(name, before, value, same, what)

    def _attempt(self, build, blocks):
        """The results, or None where another layout has to be tried."""
        if self.watch is None:
            self.watch = Watch(*blocks, kind=f"{self.kind} loop", at=self.at, names=self.names)
        try:
            with self.watch:
                initial = self.initial()
                return build(initial, self.paths(), self.dims(initial))
        except Restart as restart:
            if restart.owner is not self:
                raise
        except Exception as error:
            if handlers.raised(error):
                raise
            if not self._guess():
                raising.explain(error, f"{self.kind} loop", self.at)
                raise
        return None

    def _guess(self):
        """After a failure: whether another layout is worth a try."""
        return self._guess_lists() or self._guess_dtypes()

    def _guess_lists(self):
        """Whether there are Python lists in the state, which a traced index could not read."""
        if self.guessed_lists:
            return False
        self.guessed_lists = True
        return any([self._list_of_graph(i) for i in range(len(self.taken)) if i not in self.joined])

    def _list_of_graph(self, i, *new):
        """Makes a Python list of the state a list of the graph, into which `new` fits. Whether that
        is one more layout to try."""
        values = self.taken[i].value
        if type(values) is not list or not values:
            return False
        self.assigned[i] = [*self.assigned.get(i, ()), *new]
        try:
            common = layouts.join_all([*values, *self.assigned[i]])
            if any(leaf.dtype is None for leaf in common.leaves):
                return False
            element, _ = common.pack(iter(common.emit(Taken(values[0]))))
        except (Refusal, Mismatch):
            return False
        made, current = TracedList.like(element), self.layouts[i].template
        if isinstance(current, TracedList) and current.is_like(made):
            return False
        self.layouts[i] = layouts.layout_of(Taken(made))
        self.joined.add(i)
        return True

    def _make_list_of_graph(self, i, *new):
        if self.tracing and self._list_of_graph(i, *new):
            raise Restart(self)

    def _guess_dtypes(self):
        """Whether Python numbers of the state become tensors of another dtype, as
        `s = 0` in `s = s + x`. Tries the body with the Python numbers themselves."""
        scalars = [
            i
            for i, taken in enumerate(self.taken)
            if len(taken.leaves) == 1 and taken.leaves[0].scalar and i not in self.joined
        ]
        if self.guessed or not scalars or self.rerun is None:
            return False
        self.guessed = True
        changed = False

        def attempt():
            self.set_state(fresh(self.before))
            self.rerun()
            return [Taken(value) for value in self.get_state()]

        try:
            found = probe(attempt)
        except Restart:
            raise
        except Exception as error:
            if handlers.raised(error):
                raise
            return False
        finally:
            self.set_state(fresh(self.before))
        for i in scalars:
            after = found[i]
            if (
                len(after.leaves) == 1
                and after.leaves[0].dtype is not None
                and after.leaves[0].dtype != self.layouts[i].leaves[0].dtype
            ):
                try:
                    self.layouts[i] = layouts.join(self.taken[i], after)
                except Refusal:
                    continue
                self.joined.add(i)
                changed = True
        return changed

    rerun: Callable[[], None] | None = None  # the body

    def paths(self):
        return [
            name
            for name, chosen in zip(self.names, self.layouts, strict=True)
            for _ in range(chosen.count())
        ]

    def dims(self, initial):
        """Shapes that the user says hold in all iterations, of all tensors of the state, which are
        at first `initial`; None if there are none."""
        if not self.invariants:
            return None
        stated = []
        for value, shape in self.invariants:
            stated.extend(
                (leaf, as_dims(shape)) for leaf in nest.flatten(value, expand_composites=True)
            )
        tensors = iter(initial)
        dims = []
        for chosen, taken in zip(self.layouts, self.taken, strict=True):
            given = list(itertools.islice(tensors, chosen.count()))
            found = self._dims_of(chosen, taken, stated)
            # A list that grows is none of the values that it begins with.
            dims += found if len(found) == len(given) else [tensor._dims for tensor in given]
        return dims

    @staticmethod
    def _dims_of(chosen, taken, stated):
        dims = []
        for leaf in taken.leaves:
            if leaf.dtype is not None:
                found = [d for value, d in stated if value is leaf.value]
                dims.append(found[0] if found else leaf.dims)
        if chosen.undefined or taken.undefined:
            dims.extend(leaf.dims for leaf in chosen.leaves if leaf.dtype is not None)
        if chosen.flagged:
            dims.append(())
        return dims


def _options(opts):
    opts = opts or {}
    options = loop_options.memory_option(opts.get("memory"))
    if opts.get("parallel_iterations") is not None:
        options["window"] = loop_options.window_of(opts["parallel_iterations"])
    if opts.get("maximum_iterations") is not None:
        options["maximum_iterations"] = loop_options.checked_iterations(opts["maximum_iterations"])
    return options


def _scalar(value):
    value = truth(value)
    if isinstance(value, _gyre.Tensor):
        return value
    return _gyre.convert(bool(value))


# ---- while


def while_stmt(test, body, get_state, set_state, symbol_names, opts):
    """A while statement."""
    if _gyre.current_graph() is None:
        while test():
            body()
        return
    at = place()
    with _Unrolled("while") as unrolled:
        while True:
            answer = truth(probe(test))
            if is_symbolic(answer):
                break
            if not answer:
                return
            body()
            unrolled.again()
    if state.probing:
        _run_once(body, get_state, set_state)
        return
    loop = _Loop("while", symbol_names, at, get_state, set_state, opts)
    loop.rerun = body

    def holds(tensors):
        loop.enter(tensors)
        return _scalar(test())

    def step(tensors):
        loop.enter(tensors)
        body()
        loop.watch.check(symbol_names)
        return loop.leave()

    loop.trace(
        lambda initial, paths, dims: _gyre.trace_while(
            holds, step, initial, paths, name="while", invariants=dims, **loop.options
        ),
        body,
        test,
    )


def _run_once(body, get_state, set_state):
    """In a probe for the results of a recursive function: what a body leaves behind, if it does not
    recurse."""
    before = get_state()
    try:
        body()
    except Recursion:
        set_state(before)


# ---- for


def for_stmt(iterable, extra_test, body, get_state, set_state, symbol_names, opts):
    """A for statement. extra_test: whether to go on, where the loop has a break or a return."""
    iterable = objects.iterable(iterable)
    if _gyre.current_graph() is not None and hasattr(iterable, "pull"):
        _for_dataset(iterable, extra_test, body, get_state, set_state, symbol_names, opts)
        return
    rows = _rows(iterable) if _gyre.current_graph() is not None else None
    if rows is None:
        _for_python(iterable, extra_test, body, get_state, set_state, symbol_names)
        return
    at = place()
    if state.probing:
        _run_once(lambda: body(rows.at(_gyre.convert(0))), get_state, set_state)
        return
    loop = _Loop("for", symbol_names, at, get_state, set_state, opts)
    loop.rerun = lambda: body(rows.at(_gyre.convert(0)))

    def step(target, tensors):
        loop.enter(tensors)
        body(target)
        loop.watch.check(symbol_names)
        return loop.leave()

    if extra_test is None and "maximum_iterations" not in loop.options and not loop.invariants:
        build = _for_rows(rows, step, loop)
    elif extra_test is None:
        build = _for_indices(rows, step, loop)
    else:
        build = _for_while(rows, step, loop, extra_test)
    loop.trace(build, body, *([extra_test] if extra_test else []))


def _rows(iterable):
    return ranges.counted(iterable) if is_symbolic(iterable) else rows_of(iterable)


def _for_rows(rows, step, loop):
    if type(rows) is Rows:
        return lambda initial, paths, dims: (
            _gyre.trace_fold(
                lambda values, row: step(row[0], values),
                [rows.tensor],
                initial,
                paths,
                keep=False,
                name="for",
                **loop.options,
            )
            if initial
            else _for_indices(rows, step, loop)(initial, paths, dims)
        )
    return _for_indices(rows, step, loop)


def _for_indices(rows, step, loop):
    def build(initial, paths, dims):
        if isinstance(rows, SymbolicRange):
            start, limit, stride = rows.bounds()
            return _gyre.trace_range(
                start,
                limit,
                stride,
                step,
                initial,
                paths,
                name="for",
                invariants=dims,
                **loop.options,
            )
        return _gyre.trace_range(
            0,
            rows.length(),
            1,
            lambda i, tensors: step(rows.at(i), tensors),
            initial,
            paths,
            name="for",
            invariants=dims,
            **loop.options,
        )

    return build


def _for_while(rows, step, loop, extra_test):
    """A loop that may end early: counts itself."""

    def build(initial, paths, dims):
        length = rows.length()
        zero = _gyre.convert(0, length.dtype)

        def holds(tensors):
            loop.enter(tensors[1:])
            more = tensors[0] < length
            go_on = truth(extra_test())
            if not isinstance(go_on, _gyre.Tensor):
                return more if go_on else _gyre.convert(False)
            return _gyre.execute("LogicalAnd", [more, go_on])[0]

        def advance(tensors):
            return [tensors[0] + 1, *step(rows.at(tensors[0]), tensors[1:])]

        return _gyre.trace_while(
            holds,
            advance,
            [zero, *initial],
            ["iteration", *paths],
            name="for",
            invariants=None if dims is None else [(), *dims],
            **loop.options,
        )[1:]

    return build


def _for_dataset(dataset, extra_test, body, get_state, set_state, symbol_names, opts):
    """Over a gyre.data.Dataset, whose own state (see gyre/_impl/data) goes round with the
    loop's."""
    if state.probing:
        _run_once(lambda: body(dataset.pull(dataset.begin())[0]), get_state, set_state)
        return
    loop = _Loop("for", symbol_names, place(), get_state, set_state, opts)
    loop.rerun = lambda: body(dataset.pull(dataset.begin())[0])

    def go_on():
        return True if extra_test is None else truth(extra_test())

    def build(initial, paths, dims):
        source = dataset._gyre_loop_state()

        def holds(tensors):
            return tensors[0]

        def step(tensors):
            inside, element = source.pull(tensors[1 : source.count])
            loop.enter(tensors[source.count :])
            body(element)
            loop.watch.check(symbol_names)
            after = loop.leave()
            return [*source.advance(inside, go_on()), *after]

        return _gyre.trace_while(
            holds,
            step,
            [*source.begin(go_on()), *initial],
            [*source.paths, *paths],
            name="for",
            invariants=None if dims is None else [*source.dims, *dims],
            **loop.options,
        )[source.count :]

    loop.trace(build, body, *([extra_test] if extra_test else []))


def _for_python(iterable, extra_test, body, get_state, set_state, symbol_names):
    """Over Python values. A break that depends on a tensor turns the rest into ifs."""
    with _Unrolled("for") as unrolled:
        go_on = True if extra_test is None else truth(extra_test())
        for target in iterable:
            if is_symbolic(go_on):

                def block(target=target):
                    body(target)

                conditionals.if_stmt(
                    go_on,
                    block,
                    lambda: None,
                    get_state,
                    set_state,
                    symbol_names,
                    len(symbol_names),
                )
            elif go_on:
                body(target)
            else:
                break
            unrolled.again()
            if extra_test is not None:
                go_on = truth(extra_test())

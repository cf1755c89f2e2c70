"""Gradients that the program gives itself: custom_gradient, recompute_grad, grad_pass_through."""

from __future__ import annotations

import functools
import inspect
import itertools
import threading
from collections.abc import Callable

from gyre import _gyre
from gyre._impl import errors, handlers, nest
from gyre._impl.annotations import Any
from gyre._impl.autodiff import kept_errors
from gyre._impl.autodiff.backprop import is_differentiable
from gyre._impl.autodiff.tape import GradientTape, accessed, flat, packed, paused
from gyre._impl.composites.indexed_slices import IndexedSlices
from gyre._impl.convert import call, convert_to_tensor, is_value
from gyre._impl.shape import TensorShape
from gyre._impl.tracing import lines
from gyre._impl.tracing.state import Restart
from gyre._impl.tracing.user_code import user_code
from gyre._impl.tracing.variables import ReadsAsArguments, variable_of

_NO_VARIABLES = (
    "The function reads variables, so its gradient function must take `variables` as a "
    "keyword, and return their gradients too."
)


class _CustomCall:
    """A call of such a function, as an entry of tapes: they call its gradient function."""

    def __init__(self, of: str, gradient, arguments: list, variables: tuple):
        self._of, self._gradient = of, gradient
        self._types = [(x.dtype, x._dims) for x in arguments]
        self._variables = variables

    def backward(self, inputs: list, outputs: list, dys: list) -> list:
        """The adjoints of the inputs: the arguments, then the handles of variables."""
        del inputs, outputs
        return _call_gradient(self._of, self._gradient, dys, self._types, self._variables)


def _call_gradient(of: str, gradient, dys: list, types: list, variables: tuple) -> list:
    """What the gradient function of `of` returns, flat: of arguments of these (dtype, dims), and of
    variables."""
    arguments = len(types)
    if variables:
        by_arguments, by_variables = user_code(gradient)(*dys, variables=list(variables))
    else:
        by_arguments, by_variables = user_code(gradient)(*dys), []
    if arguments == 1 and not isinstance(by_arguments, (list, tuple, dict)):
        found = [by_arguments]
    elif isinstance(by_arguments, (list, tuple)) and len(by_arguments) == arguments:
        found = list(by_arguments)  # None among them is an adjoint
    else:
        found = flat(by_arguments) if arguments else []
    found += list(by_variables)
    if len(found) != arguments + len(variables):
        raise ValueError(
            f"{_told(of, gradient)} returned {len(found)} gradients for "
            f"{arguments + len(variables)} inputs."
        )
    wanted = [(f"input {place + 1}", dtype, dims) for place, (dtype, dims) in enumerate(types)]
    wanted += [(f"variable '{v.name}'", v.dtype, v._dims) for v in variables]
    return [
        _checked(g, what, dtype, dims, of, gradient)
        if g is not None and is_differentiable(dtype)
        else g
        for g, (what, dtype, dims) in zip(found, wanted, strict=True)
    ]


def _told(of: str, gradient) -> str:
    """The gradient function, as errors call it."""
    place = lines.definition(gradient)
    name = getattr(gradient, "__name__", type(gradient).__name__)
    return f"the gradient function {name}{place and f' ({place})'} of custom_gradient '{of}'"


def _checked(found, of_what: str, dtype, dims, of: str, gradient):
    """An adjoint that fits what it is of. TypeError, ValueError."""

    def returned(what: str) -> str:
        return f"{_told(of, gradient)} returned {what} as the gradient of {of_what}, "

    if isinstance(found, IndexedSlices):
        given, given_dims = found.values.dtype, None
    else:
        try:
            found = convert_to_tensor(found, None if is_value(found) else dtype)
        except (TypeError, ValueError) as error:
            text = f"{returned(repr(found))}a tensor of {dtype.name}: {error}"
            raise TypeError(text) from None
        given, given_dims = found.dtype, found._dims
    if given != dtype and dtype.name != "variant":
        raise TypeError(
            f"{returned(f'a tensor of {given.name}')}which is of {dtype.name}: gyre.cast converts"
        )
    if not TensorShape(dims).is_compatible_with(given_dims):
        shape = TensorShape(given_dims)
        raise ValueError(
            f"{returned(f'a tensor of shape {shape}')}which has shape {TensorShape(dims)}"
        )
    return found


def _takes_variables(gradient) -> bool:
    parameters = inspect.signature(gradient).parameters.values()
    return any(p.name == "variables" or p.kind is p.VAR_KEYWORD for p in parameters)


def custom_gradient(f: Callable[..., Any]) -> Callable[..., Any]:
    """A function whose gradient it gives itself: f(*args) returns the results, and a function from
    the adjoints of these to those of the arguments.

        @gyre.custom_gradient
        def log1pexp(x):
            e = gyre.exp(x)
            def grad(dy):
                return dy * (1 - 1 / (1 + e))
            return gyre.math.log(1 + e), grad

    Where f reads variables, the gradient function takes `variables=` too, and returns a pair:
    adjoints of the arguments, and of the variables (TypeError otherwise). Nothing flows to keyword
    arguments, or to other tensors that f uses. What the gradient function raises is raised where
    gradients go through it. An adjoint that is no number or of another dtype
    than its argument is a TypeError of whoever asks for gradients; of another shape a ValueError.
    """

    return _Function(f)


class _Function:
    """What custom_gradient makes: of a method, one that its objects have."""

    def __init__(self, f):
        functools.update_wrapper(self, f)
        self._f = f

    def __get__(self, instance, owner=None):
        return self if instance is None else _Function(self._f.__get__(instance, owner))

    def __call__(self, *args, **kwargs):
        run = _eager if _gyre.current_graph() is None else _traced
        if any(map(_is_ragged, flat(args))):
            return _of_ragged(run, self._f, args, kwargs)
        return run(self._f, args, kwargs)


def _is_ragged(value) -> bool:
    return hasattr(value, "with_flat_values")


def _of_ragged(run, f, args: tuple, kwargs: dict):
    """A call with ragged tensors among the arguments: of what these are made of. Adjoints of ragged
    tensors are ragged."""
    made: list = []

    def of_parts(*parts):
        result, gradient = f(*nest.pack_sequence_as(args, parts, True), **kwargs)
        made.append(result)
        results = flat(result)

        def of_adjoints(*dys, **keywords):
            given, rest = [], iter(dys)
            for y in results:
                parts_of_y = [next(rest) for _ in nest.flatten(y, True)]
                given.append(y.with_flat_values(parts_of_y[0]) if _is_ragged(y) else parts_of_y[0])
            found = gradient(*given, **keywords)
            found, by_variables = found if "variables" in keywords else (found, None)
            single = len(flat(args)) == 1 and not isinstance(found, (list, tuple))
            found = _by_parts(flat(args), [found] if single else list(found))
            return found if by_variables is None else (found, by_variables)

        if _takes_variables(gradient):
            return nest.flatten(result, True), of_adjoints
        return nest.flatten(result, True), lambda *dys: of_adjoints(*dys)

    parts = nest.flatten(args, True)
    outputs = run(functools.update_wrapper(of_parts, f, updated=()), tuple(parts), {})
    return nest.pack_sequence_as(made[-1], outputs, True)


def _by_parts(arguments: list, adjoints: list) -> list:
    """Adjoints of arguments, for each part of these: of ragged ones the values have one."""
    found = []
    for argument, adjoint in zip(arguments, adjoints, strict=True):
        found.append(adjoint.flat_values if _is_ragged(adjoint) else adjoint)
        found += [None] * (len(nest.flatten(argument, True)) - 1)
    return found


def _eager(f, args: tuple, kwargs: dict):
    inputs = [convert_to_tensor(a) for a in flat(args)]
    # What f computes is recorded too: second derivatives may depend on it through `gradient`.
    with GradientTape() as own:
        result, gradient = f(*packed(args, inputs), **kwargs)
    variables = own.watched_variables()
    if variables and not _takes_variables(gradient):
        raise TypeError(_NO_VARIABLES)
    with paused():
        outputs = [call("Identity", convert_to_tensor(y)) for y in flat(result)]
    handles = [v.handle for v in variables]
    for handle in handles:
        accessed(handle)
    _gyre.record(_CustomCall(_name(f), gradient, inputs, variables), inputs + handles, outputs)
    return packed(result, outputs)


def _name(f) -> str:
    return getattr(f, "__name__", type(f).__name__)


class _Open(threading.local):
    def __init__(self):
        self.traces = []  # _Trace, outermost first


_open = _Open()
_names = itertools.count()


class _Trace:
    """f and its gradient function, traced together in a graph of their own.

    What they use of outside becomes arguments behind their own: the values of `variables`, and
    `captured` tensors.

    The gradient function may call f in turn, whose gradient is the one that is being traced: that
    is a call of the function that f becomes, by `name`. It hands over what stands behind the
    arguments, too, so where more than was known turns up later all is traced again.
    """

    def __init__(self, f, args: tuple, kwargs: dict, inputs: list):
        self._f, self._args, self._kwargs = f, args, kwargs
        self._inputs = inputs
        self.name = f"custom_{next(_names)}"
        self.variables, self.captured = [], []
        self._trained = None  # the trainable variables that f itself reads
        while self._finds_more():
            pass

    def _finds_more(self) -> bool:
        """Traces all. Whether calls of f by its own gradient function lack something."""
        self._graph = graph = _gyre.Graph("custom_gradient")
        self._handed_over = None  # by calls of itself: how many are behind the arguments
        with graph, ReadsAsArguments(graph) as self._reads:
            for variable in self.variables:
                self._reads.get(variable)
            for tensor in self.captured:
                _gyre.convert(tensor)
            self._xs = [self._stand_in(x) for x in self._inputs]
            self.result, gradient = user_code(self._f)(
                *packed(self._args, list(self._xs)), **self._kwargs
            )
            self._outputs = [convert_to_tensor(y) for y in flat(self.result)]
            self._effects = graph.take_effects()
            self._trace_gradient(gradient)
            self._effects_of_gradient = graph.take_effects()
        self._refuse_changes()
        behind = self._read_so_far()
        self.variables = [v for v, _ in behind]
        self.captured = [outer for outer, _ in graph.captures]
        self._behind = [p for _, p in behind] + [inner for _, inner in graph.captures]
        return self._handed_over not in (None, len(self._behind))

    def _stand_in(self, x):
        """What f is traced with for an input."""
        placeholder, known = self._graph.placeholder(x.dtype, x._dims), x._known
        if known is not None:
            _gyre.note_value(placeholder, known)
        return placeholder

    def _trace_gradient(self, gradient) -> None:
        if self._trained is None:
            found = self._reads.found.values()
            self._trained = tuple(v for v, _ in found if v.is_watched)
        if self._trained and not _takes_variables(gradient):
            raise TypeError(_NO_VARIABLES)
        self._dys = [self._graph.placeholder(y.dtype, y._dims) for y in self._outputs]
        _open.traces.append(self)
        self.error: Exception | None = None
        found = []
        try:
            types = [(x.dtype, x._dims) for x in self._inputs]
            found = _call_gradient(_name(self._f), gradient, self._dys, types, self._trained)
        except Exception as error:
            if handlers.raised(error) or isinstance(error, Restart):
                raise
            if isinstance(error, errors.NotFoundError) and f"'{self.name}'" in str(error):
                raise NotImplementedError(
                    f"the gradient function of {self._f.__name__} calls {self._f.__name__} and "
                    "takes the gradient of that, in a gyre.function: return the gradient as a "
                    "formula of it, or run it eagerly"
                ) from None
            self.error = error
        finally:
            _open.traces.pop()
        self._found = [None if g is None else convert_to_tensor(g) for g in found]

    def _read_so_far(self) -> list:
        """Pairs of a variable and its placeholder; what is trained comes first."""
        return sorted(self._reads.found.values(), key=lambda pair: not pair[0].is_watched)

    def _refuse_changes(self) -> None:
        changed = next((variable_of(outer) for outer, _ in self._graph.variables), None)
        if changed is not None:
            raise NotImplementedError(
                f"{self._f.__name__} has a custom_gradient and, in a gyre.function, uses the "
                f"variable '{changed.name}' other than by reading it: change it outside"
            )

    @property
    def calls_itself(self) -> bool:
        """Whether the gradient function calls f of such arguments."""
        return self._handed_over is not None

    def is_of(self, f, args: tuple, kwargs: dict, inputs: list) -> bool:
        """Whether such a call has the same code and types: tensors of equal dtypes and shapes in a
        structure of one form."""
        return (
            self._f is f
            and _paths(self._args) == _paths(args)
            and all(
                a.dtype == b.dtype and a._dims == b._dims
                for a, b in zip(self._inputs, inputs, strict=True)
            )
            and self._kwargs.keys() == kwargs.keys()
            and all(_is_same(value, kwargs[name]) for name, value in self._kwargs.items())
        )

    def call_itself(self, inputs: list):
        """f of these inputs, while its gradient function is traced."""
        behind = [p for _, p in self._read_so_far()]
        behind += [inner for _, inner in self._graph.captures]
        self._handed_over = len(behind)
        types = [y.dtype for y in self._outputs]
        results = _gyre.execute(
            "PartitionedCall", [inputs + behind], {"f": self.name, "Tout": types}
        )
        for result, output in zip(results, self._outputs, strict=True):
            result.set_shape(output._dims)
        return packed(self.result, results)

    def forward(self, values: list) -> list:
        """The results, of the arguments and what is behind them."""
        function = _gyre.GraphFunction.of_graph(
            "forward", self._graph, self._xs + self._behind, self._outputs, self._effects
        )
        return function(list(values))

    def backward(self, values: list, dys: list) -> list:
        """The adjoints of all values; None for what has none."""
        known = [g for g in self._found if g is not None]
        function = _gyre.GraphFunction.of_graph(
            "backward",
            self._graph,
            self._xs + self._behind + self._dys,
            known,
            self._effects_of_gradient,
        )
        results = iter(function([*values, *dys]))
        found = [None if g is None else next(results) for g in self._found]
        return found + [None] * (len(values) - len(found))


def _paths(args: tuple) -> list:
    return [path for path, _ in nest.flatten_with_paths(args)]


def _is_same(a, b) -> bool:
    return a is b or (type(a) is type(b) and isinstance(a, (int, float, str, bytes)) and a == b)


def _traced(f, args: tuple, kwargs: dict):
    inputs = [convert_to_tensor(a) for a in flat(args)]
    for open_trace in reversed(_open.traces):
        if open_trace.is_of(f, args, kwargs, inputs):
            return open_trace.call_itself(inputs)
    trace = _Trace(f, args, kwargs, inputs)
    if not (inputs or trace.variables or trace.captured):  # nothing that a gradient could be of
        return packed(trace.result, trace.forward([]))
    values = inputs + [v.read_value() for v in trace.variables]
    values += [_gyre.convert(c) for c in trace.captured]
    if trace.error is not None:
        return packed(trace.result, kept_errors.marked(trace.forward(values), trace.error))
    name = trace.name if trace.calls_itself else "custom"
    results = _gyre.custom_gradient(values, trace.forward, trace.backward, name)
    return packed(trace.result, results)


def recompute_grad(f: Callable[..., Any]) -> Callable[..., Any]:
    """f, whose intermediate values are not kept: its gradient computes them again.

    In a graph f becomes a function, and its gradient runs it again. Eagerly f is called again,
    with its Python. Variables are seen as they were, the same random numbers are drawn, and what f
    prints or changes happens once: what ops with effects gave is kept. f must compute the same each
    time, whatever the state of Python is; FailedPreconditionError where it runs ops with effects
    that it did not run before. A gyre.function that f calls eagerly keeps its intermediate values
    if it has effects, and may not be called again once variables that it reads have changed
    (FailedPreconditionError).
    """

    @functools.wraps(f)
    def decorated(*args, **kwargs):
        if _gyre.current_graph() is not None:
            return _called_again(f, args, kwargs)
        return _called_eagerly(f, args, kwargs) if _gyre.recording() else f(*args, **kwargs)

    return decorated


class _Recomputed:
    """A call at once, as an entry of tapes: they call the function again."""

    def __init__(self, call_again, log, tensors: list, variables: list):
        self._call_again, self._log = call_again, log
        self._tensors, self._variables = tensors, variables

    def backward(self, inputs: list, outputs: list, dys: list) -> list:
        """The adjoints of the inputs: tensors, then the handles of variables."""
        del inputs, outputs
        with GradientTape() as tape:
            tape.watch([*self._tensors, *self._variables])
            with self._log.replay():
                again = [convert_to_tensor(y) for y in flat(self._call_again())]
        pairs = [(y, dy) for y, dy in zip(again, dys, strict=True) if dy is not None]
        return tape.gradient(
            [y for y, _ in pairs], self._tensors + self._variables, [dy for _, dy in pairs]
        )


def _called_eagerly(f, args: tuple, kwargs: dict):
    """f at once, while tapes record, whose gradient calls it again."""
    log = _gyre.EffectLog(_gyre.num_recording())
    with paused() as tapes, GradientTape() as own:
        with log.record():
            result = f(*args, **kwargs)
        outputs = [call("Identity", convert_to_tensor(y)) for y in flat(result)]
        used = tapes.used
    # By identity: variables are compared by their values.
    variables = {id(v): v for v in own.watched_variables()}
    variables |= {id(v): v for v in map(variable_of, used) if v is not None}
    tensors = [t for t in used if is_differentiable(t.dtype)]
    handles = [v.handle for v in variables.values()]
    for handle in handles:
        accessed(handle)
    entry = _Recomputed(
        functools.partial(f, *args, **kwargs), log, tensors, list(variables.values())
    )
    _gyre.record(entry, tensors + handles, outputs)
    return packed(result, outputs)


def _called_again(f, args: tuple, kwargs: dict):
    """f as a call in the graph that is current, which gradients run again."""
    leaves = flat(args)
    places = [i for i, leaf in enumerate(leaves) if isinstance(leaf, _gyre.Tensor)]
    traced = []

    def body(inputs: list) -> list:
        given = list(leaves)
        for place, tensor in zip(places, inputs, strict=True):
            given[place] = tensor
        traced.append(user_code(f)(*packed(args, given), **kwargs))
        return [convert_to_tensor(y) for y in flat(traced[-1])]

    function = _gyre.GraphFunction(getattr(f, "__name__", "recomputed"), recompute=True)
    results = function([leaves[i] for i in places], body)
    return packed(traced[-1], results)


def grad_pass_through(f: Callable[..., Any]) -> Callable[..., Any]:
    """f of one argument, through which adjoints flow as if it were the identity."""

    @custom_gradient
    def decorated(x):
        def gradient(dy, variables=()):
            return (dy, [None] * len(variables)) if variables else dy

        return user_code(f)(x), gradient

    return functools.wraps(f)(decorated)

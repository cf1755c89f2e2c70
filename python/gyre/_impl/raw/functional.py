"""Raw ops whose attributes are functions, given as ConcreteFunctions.

    gyre.raw_ops.While(input=[i, x], cond=holds, body=step)

Inputs go to all of them, as in TensorFlow: what a function captured stands behind its arguments,
and is handed over with them, or else left out altogether.
"""

import functools

from gyre import _gyre
from gyre._impl.errors import InvalidArgumentError
from gyre._impl.function.function import Function


def _replay(function, inputs) -> list:
    """The results of a ConcreteFunction (or gyre.function) of these inputs, in the graph that is
    current."""
    concrete = getattr(function, "get_concrete_function", None)
    if concrete is not None:
        function = concrete(*inputs)
    inputs = [_gyre.convert(x) for x in inputs]
    if len(inputs) == len(function.inputs):
        return function.replay(inputs)
    return function.replay(inputs + list(function.captured_inputs))


def _in_graph(build, inputs: list) -> list:
    """build(inputs) in the graph that is current; eagerly: in one of its own, which runs at
    once."""
    inputs = [_gyre.convert(x) for x in inputs]
    if _gyre.current_graph() is not None:
        return build(inputs)
    return list(
        Function(lambda *args: tuple(build(list(args))), name="raw_op", autograph=False)(*inputs)
    )


def _invalid(text: str) -> InvalidArgumentError:
    return InvalidArgumentError(None, None, text)


def _of_body(op: str, found: list, count: int) -> list:
    """What a body gives: as many as the loop has variables. InvalidArgumentError."""
    if len(found) != count:
        raise _invalid(f"{op} loop body returned {len(found)} arguments. Expected: {count}")
    return found


def _truth(value):
    return value if value.dtype.is_bool else _gyre.execute("ToBool", [value])[0]


def if_(*, cond, input, Tout=None, then_branch, else_branch, output_shapes=(), name=None):
    """The results of then_branch or else_branch, by `cond`:
    a bool, or a scalar that is not zero."""

    def build(tensors):
        pred, *rest = tensors
        return _gyre.trace_cond(
            _truth(pred),
            lambda: _replay(then_branch, rest),
            lambda: _replay(else_branch, rest),
            None,
            name or "If",
        )

    return _in_graph(build, [cond, *input])


def case(*, branch_index, input, Tout=None, branches, output_shapes=(), name=None):
    """The results of branches[branch_index]; out of range: of the last."""

    def build(tensors):
        index, *rest = tensors
        return _gyre.trace_case(
            index, [functools.partial(_replay, branch, rest) for branch in branches], name or "Case"
        )

    return _in_graph(build, [branch_index, *input])


def while_(*, input, cond, body, output_shapes=(), parallel_iterations=10, name=None):
    """The inputs, replaced by body's results as long as cond's single result is true."""

    def holds(state):
        found = _replay(cond, state)
        if len(found) != 1:
            raise _invalid(f"Expected a single scalar of cond, but got {len(found)} tensors")
        return _truth(found[0])

    def build(tensors):
        return _gyre.trace_while(
            holds,
            lambda state: _of_body("While", _replay(body, state), len(state)),
            tensors,
            None,
            name=name or "While",
            window=int(parallel_iterations),
        )

    return _in_graph(build, input)


def for_(*, start, limit, delta, input, body, name=None):
    """The inputs, replaced by body(i, …) for i in range(start, limit, delta)."""

    def build(tensors):
        first, last, step, *state = tensors
        for what, bound in (("start", first), ("limit", last), ("delta", step)):
            if bound._dims not in ((), None):
                raise _invalid(f"{what} must be a scalar, not of shape {list(bound._dims)}")
        ends = (step > 0) & (first <= last) | (step < 0) & (first >= last)
        if ends.is_symbolic or not ends.numpy():
            told = [_gyre.convert("Invalid start/limit/delta"), first, last, step]
            _gyre.execute("Assert", [ends, told], {"summarize": 3})
            check = _gyre.last_node()
            with _gyre.current_graph().control_scope([] if check is None else [check]):
                first = _gyre.execute("Identity", [first])[0]
        return _gyre.trace_range(
            first,
            last,
            step,
            lambda i, now: _of_body("For", _replay(body, [i, *now]), len(now)),
            state,
            name=name or "For",
        )

    return _in_graph(build, [start, limit, delta, *input])


def call(*, args, Tout=None, f, config="", config_proto="", executor_type="", name=None):
    """The results of f."""
    return _in_graph(lambda tensors: _replay(f, tensors), args)


def remote_call(*, target, args, Tout=None, f, name=None):
    """The results of f. There is one process: `target` names a device of it."""
    return call(args=args, f=f)


def symbolic_gradient(*, input, Tout=None, f, name=None):
    """The adjoints of f's arguments, given these and the adjoints of its results."""

    def build(tensors):
        count = len(tensors) - len(f.outputs)
        xs = [_gyre.execute("Identity", [x])[0] for x in tensors[:count]]
        return _gyre.gradients(_replay(f, xs), xs, tensors[count:], unconnected="zero")

    return _in_graph(build, input)


# By the op's name: what makes it, and its attributes that are functions.
FUNCTIONS = {
    "If": (if_, ("then_branch", "else_branch")),
    "StatelessIf": (if_, ("then_branch", "else_branch")),
    "Case": (case, ("branches",)),
    "StatelessCase": (case, ("branches",)),
    "While": (while_, ("body", "cond")),
    "StatelessWhile": (while_, ("body", "cond")),
    "For": (for_, ("body",)),
    "PartitionedCall": (call, ("f",)),
    "StatefulPartitionedCall": (call, ("f",)),
    "RemoteCall": (remote_call, ("f",)),
    "SymbolicGradient": (symbolic_gradient, ("f",)),
}


def with_functions(op: str, by_name):
    """The raw op, which takes functions of Python; names of functions go to `by_name`."""
    if op not in FUNCTIONS:
        return by_name
    construct, attributes = FUNCTIONS[op]

    @functools.wraps(by_name)
    def function(**arguments):
        given = arguments.get(attributes[0])
        first = given[0] if isinstance(given, (list, tuple)) and given else given
        if isinstance(first, str):
            return by_name(**arguments)
        for name in attributes:
            if name in arguments:
                _check_functions(op, name, arguments[name])
        return construct(**arguments)

    return function


def _check_functions(op, name, given):
    """TypeError for what is no function where one, or a list of them, is wanted."""
    are_many = name == "branches"
    if are_many and not (isinstance(given, (list, tuple)) and given):
        raise TypeError(f"{name} of {op} must be a list of functions, not {given!r}")
    for function in given if are_many else [given]:
        if not hasattr(function, "get_concrete_function") and not hasattr(function, "replay"):
            raise TypeError(
                f"{name} of {op} must be a gyre.function or a ConcreteFunction, not {function!r}"
            )

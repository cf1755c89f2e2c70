"""py_function, numpy_function: Python as part of a graph."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NoReturn

from gyre import _gyre
from gyre._impl import errors, facade, handlers, nest
from gyre._impl.autodiff.backprop import zeros_of
from gyre._impl.autodiff.tape import GradientTape
from gyre._impl.dtypes import with_article
from gyre._impl.spec import TensorSpec, TypeSpec


def _types(Tout):
    """(flat dtypes, of all parts of composites, and the structure)."""
    if Tout is None:
        return [], None
    if isinstance(Tout, (list, tuple)) and any(
        isinstance(part, dict) and not part for part in Tout
    ):
        raise TypeError(f"Tout = {Tout!r} holds an empty dict, which is no dtype")
    flat = nest.flatten(Tout, expand_composites=True)
    return [_gyre.as_dtype(getattr(part, "dtype", part)) for part in flat], Tout


def _pack(outputs, structure):
    if structure is None or isinstance(structure, (list, tuple)) and not structure:
        if facade.builds_session():
            graph: Any = _gyre.current_graph()
            return graph.last_operation()
        return structure
    for output, part in zip(outputs, nest.flatten(structure, expand_composites=True), strict=True):
        if isinstance(part, TensorSpec) and output.is_symbolic:
            output.set_shape(part.shape)
    if not isinstance(structure, (list, tuple, dict, TypeSpec)):
        return outputs[0]
    return nest.pack_sequence_as(structure, outputs, expand_composites=True)


def _converted(leaf, dtype, refused):
    """A value that the Python function returned as a tensor; `refused`: of the error if it is no
    number, text or array of these."""
    try:
        return _gyre.convert(leaf, None if hasattr(leaf, "dtype") else dtype)
    except TypeError as error:
        if refused is TypeError or isinstance(leaf, (bool, int, float, complex, str, bytes)):
            raise
        raise refused(str(error)) from None


def _results(name, results, dtypes, structure=None, refused: type[TypeError] = TypeError):
    """What the Python function returned, as tensors of the promised dtypes."""
    _require_kinds(name, results, structure)
    if isinstance(structure, (list, tuple)) and len(structure) == len(dtypes) == 1:
        if isinstance(results, (list, tuple)) and len(results) == 1:  # the list of results
            results, structure = results[0], structure[0]
    if results is None:
        leaves = []
    elif isinstance(results, (list, tuple, dict)) and not (
        len(dtypes) == 1 and not isinstance(results, dict) and not _holds_tensors(results)
    ):
        leaves = nest.flatten(results, expand_composites=True)
    elif hasattr(results, "_type_spec") and not isinstance(results, _gyre.Tensor):
        leaves = nest.flatten(results, expand_composites=True)
    else:
        leaves = [results]
    if not dtypes:
        return []
    if len(leaves) != len(dtypes):
        raise ValueError(f"{name} returned {len(leaves)} values where Tout promises {len(dtypes)}")
    tensors = []
    for leaf, dtype in zip(leaves, dtypes, strict=True):
        tensor = leaf if isinstance(leaf, _gyre.Tensor) else _converted(leaf, dtype, refused)
        if tensor.dtype != dtype:
            raise TypeError(
                f"{name} returned {with_article(tensor.dtype)} tensor where Tout promises "
                f"{dtype.name}"
            )
        tensors.append(tensor)
    return tensors


def _require_kinds(name, results, structure) -> None:
    """ValueError where a composite is promised and something else is returned."""
    for spec, value in zip(nest.flatten(structure), nest.flatten(results), strict=False):
        promised = isinstance(spec, TypeSpec) and not isinstance(spec, TensorSpec)
        if promised and not isinstance(value, spec.value_type):
            raise ValueError(f"{name} returned {type(value).__name__}, where Tout promises {spec}")


def _holds_tensors(results):
    return any(isinstance(leaf, _gyre.Tensor) for leaf in nest.flatten(results))


def _raise_for(error, with_frames: bool = False) -> NoReturn:
    """In an except clause: raises what a run raises where a host function raised `error`. What a
    handler of a signal raised meanwhile is not the function's. with_frames: its message says where
    the function was."""
    told = error if handlers.raised(error) else errors.of_host_function(error, with_frames)
    if told is error:
        raise error
    raise told from error


def _add(op, call, leaves, dtypes):
    in_session = facade.builds_session()

    def guarded(tensors):
        try:
            return call(tensors)
        except Exception as error:
            _raise_for(error, with_frames=in_session)

    token = _gyre.register_host_function(guarded)
    return _gyre.execute(op, [leaves], {"token": token, "Tout": dtypes})


def _differentiable(dtypes) -> list:
    """Which of them have derivatives."""
    return [i for i, dtype in enumerate(dtypes) if dtype.is_floating or dtype.is_complex]


def _adjoints(call, inputs, dtypes, dys) -> list:
    """Of the inputs that have some; `dys`: of the results that have some. Calls the function once
    more, under a tape."""
    chosen = [inputs[i] for i in _differentiable([x.dtype for x in inputs])]
    with GradientTape() as tape:
        tape.watch(chosen)
        results = call(inputs)
    found = tape.gradient([results[i] for i in _differentiable(dtypes)], chosen, dys)
    return [
        zeros_of(x) if g is None else _gyre.convert(g) for x, g in zip(chosen, found, strict=True)
    ]


def _now(call, leaves):
    """The results of a call at once."""
    try:
        return call(leaves)
    except Exception as error:
        _raise_for(error)


class _HostCall:
    """A call at once, as an entry of tapes: they call the function once more."""

    def __init__(self, call, dtypes):
        self._call, self._dtypes = call, dtypes

    def backward(self, inputs, outputs, dys) -> list:
        """The adjoints of the inputs."""
        answers = _differentiable(self._dtypes)
        weights = [zeros_of(outputs[i]) if dys[i] is None else dys[i] for i in answers]
        found = iter(_adjoints(self._call, inputs, self._dtypes, weights))
        chosen = _differentiable([x.dtype for x in inputs])
        return [next(found) if i in chosen else None for i in range(len(inputs))]


def _once(label, call, leaves, dtypes):
    """The results of a call within a function that may be called again (see EffectLog)."""
    results = _gyre.run_once(label, lambda _orders: _now(call, leaves))
    results = [_gyre.execute("Identity", [result])[0] for result in results]
    if _gyre.recording() and _differentiable(dtypes):
        _gyre.record(_HostCall(call, dtypes), leaves, results)
    return results


def _add_with_gradient(call, leaves, dtypes):
    """EagerPyFunc, whose gradient calls the function once more, under a tape."""
    chosen = _differentiable([leaf.dtype for leaf in leaves])
    answers = _differentiable(dtypes)
    if not chosen or not answers:
        return _add("EagerPyFunc", call, leaves, dtypes)

    def adjoints(tensors):
        return _adjoints(call, tensors[: len(leaves)], dtypes, tensors[len(leaves) :])

    def forward(values):
        return _add("EagerPyFunc", call, values, dtypes)

    def backward(values, dys):
        weights = [dys[i] for i in answers]
        found = iter(
            _add("EagerPyFunc", adjoints, [*values, *weights], [leaves[i].dtype for i in chosen])
        )
        return [next(found) if i in chosen else None for i in range(len(leaves))]

    return _gyre.custom_gradient(leaves, forward, backward)


def py_function(func=None, inp=None, Tout=None, name=None) -> Any:
    """func(*inp), called by Python when the graph runs, with eager tensors.

    inp: tensors and composites (structures of them are handed over as such). Tout: dtypes (or
    specs) of the results, structured as they are; None or [] for none. Effects keep their order.
    The function may be called from another thread; gradients call it again. TypeError, ValueError
    if the results are not what Tout promises; what func raises comes out of the run, as its own
    class and as the OpError that fits (InvalidArgumentError for TypeError and ValueError)."""
    if not callable(func):
        raise ValueError(f"py_function takes a callable, not {func!r}")
    inp = [] if inp is None else inp
    dtypes, structure = _types(Tout)
    label = name or getattr(func, "__name__", "py_function")
    inputs = nest.map_structure(_gyre.convert, list(inp), expand_composites=True)

    def call(tensors):
        given = nest.pack_sequence_as(inputs, tensors, expand_composites=True)
        return _results(label, func(*given), dtypes, structure)

    leaves = nest.flatten(inputs, expand_composites=True)
    if _gyre.current_graph() is None:
        if _gyre.logs_effects():
            return _pack(_once(label, call, leaves, dtypes), structure)
        return _pack(_now(call, leaves), structure)
    return _pack(_add_with_gradient(call, leaves, dtypes), structure)


def numpy_function(
    func: Callable[..., Any] | None = None,
    inp=None,
    Tout=None,
    stateful: bool = True,
    name: str | None = None,
) -> Any:
    """func(*inp), called by Python when the graph runs, with numpy arrays; returns arrays.

    Otherwise as py_function; of results that are no numbers or texts a run makes an InternalError
    (also a TypeError). No gradient goes through it. stateful=False: func has no effects, so
    that it is called where its results are needed alone; without inputs once."""
    if not callable(func):
        raise ValueError(f"numpy_function takes a callable, not {func!r}")
    inp = [] if inp is None else list(inp)
    dtypes, structure = _types(Tout)
    label = name or getattr(func, "__name__", "numpy_function")

    def call(tensors):
        results = func(*(tensor.numpy() for tensor in tensors))
        return _results(label, results, dtypes, structure, errors.UnsupportedValueError)

    if _gyre.current_graph() is None:
        values = [_gyre.convert(value) for value in inp]
        results = _gyre.run_once(label, lambda _orders: call(values))
        return _pack(results, structure) if dtypes else None
    if not (stateful or dtypes) and facade.builds_session():
        return []  # nothing would run it
    if not (stateful or inp):  # a constant
        of_all = functools.cache(lambda: call([]))
        return _pack(_add("PyFuncStateless", lambda _: of_all(), [], dtypes), structure)
    op = "PyFunc" if stateful else "PyFuncStateless"
    return _pack(_add(op, call, [_gyre.convert(value) for value in inp], dtypes), structure)

"""case and switch_case: one of several branches."""

from __future__ import annotations

from collections.abc import Callable

from gyre import _gyre
from gyre._impl import facade, nest
from gyre._impl.annotations import Any
from gyre._impl.control_flow.branches import as_tensors, callable_of, is_static
from gyre._impl.control_flow.cond import cond
from gyre._impl.device import device_in_scope
from gyre._impl.device_spec import DeviceSpec
from gyre._impl.errors import StructureError
from gyre._impl.tracing.layout import Mismatch, Taken, layout_of
from gyre._impl.tracing.lines import place
from gyre._impl.tracing.state import Recursion, condition, state


def case(
    pred_fn_pairs,
    default: Callable[[], Any] | None = None,
    exclusive: bool = False,
    strict: bool = False,
    name: str = "case",
) -> Any:
    """The result of the first fn whose predicate is true; of default() if there is none.

    pred_fn_pairs: [(bool scalar, callable)], or a dict of them (with `exclusive`).
    exclusive: InvalidArgumentError if more than one predicate is true.
    Without a default one predicate must be true, else InvalidArgumentError.
    TypeError if the pairs are not such pairs."""
    del strict
    pairs = list(pred_fn_pairs.items()) if isinstance(pred_fn_pairs, dict) else list(pred_fn_pairs)
    for pair in pairs:
        if not isinstance(pair, tuple) or len(pair) != 2 or not callable(pair[1]):
            raise TypeError(f"case takes pairs (predicate, callable), not {pair!r}")
    if default is not None and not callable(default):
        raise TypeError("the default of case must be callable")
    if not pairs:
        if default is None:
            raise ValueError("case needs at least one pair, or a default")
        return as_tensors(default())
    predicates = [condition(predicate) for predicate, _ in pairs]
    if exclusive:
        _check_exclusive(predicates, name)
    if default is None:
        _check_some(predicates, name)
        default = pairs[-1][1]
        pairs, predicates = pairs[:-1], predicates[:-1]

    def rest(i):
        if i == len(pairs):
            return default()
        return cond(predicates[i], pairs[i][1], lambda: rest(i + 1), name=name)

    return as_tensors(rest(0))


def execute_fn_for_device(device_branch_fns: dict, default_fn, name="execute_fn") -> Any:
    """What the function for the kind of device here ("CPU", "GPU") returns; default_fn's where
    there is none. The kind is that of the innermost device scope, the CPU without one."""
    del name
    kind = DeviceSpec.from_string(device_in_scope() or "/device:CPU:0").device_type
    found = {str(key).upper(): fn for key, fn in device_branch_fns.items()}
    return as_tensors(found.get(kind or "CPU", default_fn)())


def _count(predicates):
    values = [
        _gyre.execute("Cast", [_gyre.convert(p)], {"DstT": _gyre.as_dtype("int32")})[0]
        for p in predicates
    ]
    total = values[0]
    for value in values[1:]:
        total = total + value
    return total


def _check_exclusive(predicates, name):
    _gyre.execute(
        "Assert",
        [
            _count(predicates) <= 1,
            [
                f"{name}: more than one predicate is true, and exclusive=True. Predicates:",
                *map(_gyre.convert, predicates),
            ],
        ],
    )


def _check_some(predicates, name):
    _gyre.execute(
        "Assert",
        [
            _count(predicates) >= 1,
            [
                f"{name}: no predicate is true, and there is no default. Predicates:",
                *map(_gyre.convert, predicates),
            ],
        ],
    )


def _branch_list(branch_fns):
    if isinstance(branch_fns, dict):
        branch_fns = sorted(branch_fns.items())
    branch_fns = list(branch_fns)
    if not branch_fns:
        raise ValueError("switch_case needs at least one branch")
    if all(isinstance(fn, tuple) for fn in branch_fns):
        for key, _ in branch_fns:
            if not isinstance(key, int):
                raise TypeError(f"the key of a branch of switch_case must be an int, not {key!r}")
        pairs = sorted(branch_fns, key=lambda pair: pair[0])
        keys = [key for key, _ in pairs]
        if keys != list(range(len(pairs))):
            raise ValueError(
                f"the keys of the branches of switch_case must be 0 … {len(pairs) - 1}, not {keys}"
            )
        branch_fns = [fn for _, fn in pairs]
    return branch_fns


@facade.has_form("compat.v1.control:switch_case")
def switch_case(
    branch_index: Any,
    branch_fns,
    default: Callable[[], Any] | None = None,
    name: str = "switch_case",
) -> Any:
    """branch_fns[branch_index](). Out of range: default() if given, else the last branch.

    branch_index: an int32 scalar tensor. branch_fns: callables, or pairs (index, callable), or a
    dict. All branches return equal structures with equal dtypes: TypeError."""
    if isinstance(branch_index, (bool, int)):
        raise TypeError("branch_index must not be a Python int: call the branch yourself")
    branches = [callable_of(fn, "a branch of switch_case") for fn in _branch_list(branch_fns)]
    if default is not None:
        branches.append(callable_of(default, "the default of switch_case"))
    index = condition(branch_index)
    if is_static(index):
        index = int(index)
        return as_tensors(branches[index if 0 <= index < len(branches) else -1]())
    if state.probing:
        return _first(branches)
    return _trace(index, branches, name, place())


def _first(branches):
    for i, branch in enumerate(branches):
        try:
            return branch()
        except Recursion:
            if i == len(branches) - 1:
                raise


def _trace(index, branches, name, at):
    if index.dtype.name != "int32":
        index = _gyre.execute("Cast", [index], {"DstT": _gyre.as_dtype("int32")})[0]
    seen = []

    def traced(number, branch):
        def run():
            taken = Taken(as_tensors(branch()))
            if number == 0:
                seen[:] = [layout_of(taken), taken]
            try:
                return seen[0].emit(taken)
            except Mismatch:
                why = nest.difference(seen[1].value, taken.value)
                kind, why = (StructureError, why) if why else (TypeError, "dtypes differ")
                raise kind(
                    f"the branches of {name} at {at} must return values of the same structure and "
                    f"dtypes: {why}. Branch 0 returns {seen[1].describe()}, branch {number} "
                    f"returns {taken.describe()}"
                ) from None

        return run

    results = _gyre.trace_case(index, [traced(i, fn) for i, fn in enumerate(branches)], name)
    return seen[0].pack(iter(results))[0]

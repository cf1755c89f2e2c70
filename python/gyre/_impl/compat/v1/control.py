"""cond, case and while_loop of graphs: their functions are taken as they are written, plain Python
control flow in them is Python's."""

from __future__ import annotations

from collections.abc import Callable

from gyre import _gyre
from gyre._impl import nest
from gyre._impl.annotations import Any
from gyre._impl.compat.v1.asserts import Assert
from gyre._impl.compat.v1.group import with_dependencies
from gyre._impl.composites.ragged import RaggedTensor
from gyre._impl.composites.sparse_tensor import SparseTensor
from gyre._impl.control_flow import case as cases
from gyre._impl.control_flow import cond as conds
from gyre._impl.control_flow import while_loop as loops
from gyre._impl.control_flow.branches import as_tensor
from gyre._impl.graphs.graph import current, has_default_graph
from gyre._impl.graphs.operation import Operation
from gyre._impl.graphs.switches import modes
from gyre._impl.tracing.user_code import user_code

_PRIMITIVES = {
    "If": "Merge",
    "StatelessIf": "Merge",
    "Case": "Merge",
    "StatelessCase": "Merge",
    "While": "Exit",
    "StatelessWhile": "Exit",
}


def called(fn):
    """A function that calls `fn`, and counts as one of the library: it is not converted."""

    def call(*args):
        return fn(*args)

    return call


def _branch(fn, is_single=False):
    """A branch whose operations become tensors that wait for them. is_single: a list or tuple of
    one result becomes that result."""

    def call():
        result = nest.map_structure(_done, fn(), expand_composites=True)
        return _single(result) if is_single else result

    return call


def _done(leaf):
    if not isinstance(leaf, Operation):
        return as_tensor(leaf)
    graph: Any = _gyre.current_graph()
    if has_default_graph():
        return with_dependencies([leaf], _gyre.convert(True))
    with graph.control_scope([leaf.node]):
        return _gyre.execute("Identity", [_gyre.convert(True)])[0]


def named_results(results, first: int = 0):
    """Results of a construct under the names that the peer gives them."""

    def rename(leaf):
        nonlocal number
        if not isinstance(leaf, _gyre.Tensor) or not leaf.is_symbolic:
            return leaf
        node = _gyre.node_of(leaf)
        if node.type not in _PRIMITIVES or not node.in_main:
            return leaf
        if modes.control_flow_v2:
            suffix = f"Identity_{number}" if number else "Identity"
        else:
            suffix = _PRIMITIVES[node.type]
        number += 1
        name = _gyre.claim_name(graph, f"{node.name}/{suffix}", True, True)
        return _gyre.execute("Identity", [leaf], None, name + "/")[0]

    graph, number = current(), first
    return nest.map_structure(rename, results, expand_composites=True)


def _branches(true_fn, false_fn, fn1, fn2):
    for new, old, names in (
        (true_fn, fn1, ("true_fn", "fn1")),
        (false_fn, fn2, ("false_fn", "fn2")),
    ):
        if new is not None and old is not None:
            raise TypeError(f"cond(): {names[0]} and {names[1]} may not be set simultaneously.")
        if new is None and old is None:
            raise TypeError(f"cond(): '{names[0]}' argument required")
        if not callable(old if new is None else new):
            raise TypeError(f"'{names[0]}' must be callable.")
    return fn1 if true_fn is None else true_fn, fn2 if false_fn is None else false_fn


def cond(
    pred,
    true_fn=None,
    false_fn=None,
    strict: bool = False,
    name: str | None = None,
    fn1=None,
    fn2=None,
) -> Any:
    """true_fn() if `pred` is true, else false_fn(). Only that branch runs; what branches use of
    outside runs before them.

    pred: a bool scalar tensor (TypeError for a Python bool). fn1, fn2: older names of the branches.
    Both return the same structure of tensors of the same dtypes (TypeError); operations count as
    tensors that are there when they have run. A list or tuple of one result becomes that result,
    unless `strict`, where control flow is kept as primitives.
    """
    true_fn, false_fn = _branches(true_fn, false_fn, fn1, fn2)
    if not has_default_graph():
        if _gyre.current_graph() is not None:
            true_fn, false_fn = _branch(user_code(true_fn)), _branch(user_code(false_fn))
        result = conds.cond(pred, true_fn, false_fn, name)
        return result if strict else _single(result)
    if isinstance(pred, bool):
        raise TypeError("'pred' must not be a Python bool.")
    is_single = not (strict or modes.control_flow_v2)
    branches = _branch(true_fn, is_single), _branch(false_fn, is_single)
    return named_results(conds.cond(pred, *branches, name or "cond"))


def _single(result):
    return result[0] if isinstance(result, (list, tuple)) and len(result) == 1 else result


def case(
    pred_fn_pairs, default=None, exclusive: bool = False, strict: bool = False, name: str = "case"
) -> Any:
    """The result of the first function whose predicate is true; of default() if there is none.

    pred_fn_pairs: [(bool scalar, callable)], or a dict. exclusive: InvalidArgumentError if more
    than one is true. Without a default one must be true: InvalidArgumentError. TypeError if the
    pairs are none.
    """
    if not has_default_graph():
        return cases.case(pred_fn_pairs, default, exclusive, strict, name)
    if not isinstance(pred_fn_pairs, (list, tuple, dict)):
        raise TypeError("'pred_fn_pairs' must be a list, tuple, or dict.")
    pairs = list(pred_fn_pairs.items()) if isinstance(pred_fn_pairs, dict) else list(pred_fn_pairs)
    for pair in pairs:
        if not isinstance(pair, tuple) or len(pair) != 2:
            raise TypeError("Each entry in 'pred_fn_pairs' must be a 2-tuple.")
        if isinstance(pair[0], bool) or not isinstance(_read(pair[0]), _gyre.Tensor):
            raise TypeError("pred must be Tensor, not a Python bool")
        if not callable(pair[1]):
            raise TypeError(f"fn for pred {pair[0]} must be callable.")
    if default is not None and not callable(default):
        raise TypeError("'default' must be callable.")
    graph = current()
    with graph.name_scope(name or "case"):
        checks = _checks(pairs, default, exclusive, name)
        if default is None:
            default = pairs[-1][1]
            pairs = pairs[:-1]
        with graph.control_dependencies(checks):
            return _chain(pairs, default, strict)


def _read(value):
    return _gyre.convert(value) if hasattr(value, "__gyre_tensor__") else value


def _chain(pairs, default, strict):
    if not pairs:
        return nest.map_structure(_done, default(), expand_composites=True)
    pred, fn = pairs[0]
    if len(pairs) == 1:
        return cond(pred, fn, default, strict=strict)
    return cond(pred, fn, lambda: _chain(pairs[1:], default, strict), strict=strict)


def _checks(pairs, default, exclusive, name) -> list[Operation]:
    if default is not None and not exclusive:
        return []
    predicates = [_read(pred) for pred, _ in pairs]
    count = cases._count(predicates)
    made = []
    if exclusive:
        made.append(
            Assert(
                count <= 1,
                [
                    f"{name}: more than one predicate is true, but exclusive=True. Predicates:",
                    *predicates,
                ],
            )
        )
    if default is None:
        made.append(
            Assert(
                count >= 1,
                [
                    (
                        f"{name}: None of conditions evaluated as True, and there is no default. "
                        "Predicates:"
                    ),
                    *predicates,
                ],
            )
        )
    return made


def while_loop(
    cond: Callable[..., Any],
    body: Callable[..., Any],
    loop_vars,
    shape_invariants=None,
    parallel_iterations: int | None = 10,
    back_prop: bool = True,
    swap_memory: bool = False,
    name: str | None = None,
    maximum_iterations=None,
    return_same_structure: bool = False,
) -> Any:
    """Starts with loop_vars and replaces them by body(*loop_vars) while cond(*loop_vars) is true.

    loop_vars: a list or tuple of structures of tensors; the body returns the same (TypeError for
    others, and for other dtypes). Shapes stay as they are, unless shape_invariants, structured as
    loop_vars, say less of them (ValueError otherwise). maximum_iterations: the loop ends after this
    many.
    parallel_iterations: how many iterations may be in flight at once. back_prop=False: no gradient
    goes through. swap_memory has no effect.
    Returns the last loop_vars; of a single one itself, unless return_same_structure.
    """
    if not callable(cond):
        raise TypeError("'cond' must be callable.")
    if not callable(body):
        raise TypeError("'body' must be callable.")
    if isinstance(parallel_iterations, int) and parallel_iterations < 1:
        raise TypeError("'parallel_iterations' must be a positive integer.")
    if loop_vars is None or isinstance(loop_vars, (list, tuple)) and not loop_vars:
        raise ValueError("'loop_vars' must be provided.")
    if not nest.is_nested(loop_vars):
        loop_vars = [loop_vars]
    options = {
        "parallel_iterations": parallel_iterations,
        "back_prop": back_prop,
        "swap_memory": swap_memory,
        "maximum_iterations": maximum_iterations,
    }
    if not has_default_graph():
        results = loops.while_loop(
            cond, body, loop_vars, shape_invariants, name=name or "while", **options
        )
    else:
        loop_vars = nest.map_structure(as_tensor, loop_vars, expand_composites=True)
        results = named_results(
            loops.while_loop(
                called(cond),
                called(body),
                loop_vars,
                shape_invariants or _shapes(loop_vars),
                name=name or "while",
                **options,
            ),
            first=2,
        )
    if not return_same_structure and isinstance(results, (list, tuple)):
        if len(results) == 1:
            return results[0]
        leaves = nest.flatten(results)
        return leaves[0] if len(leaves) == 1 and maximum_iterations is None else results
    return results


def _shapes(loop_vars):
    """The shapes that loop variables start with, as invariants: of ragged and sparse tensors how
    many rows, or dimensions, there are. None where some are other composites, whose parts may
    change."""
    leaves = nest.flatten(loop_vars)
    if not all(isinstance(leaf, (_gyre.Tensor, RaggedTensor, SparseTensor)) for leaf in leaves):
        return None
    return nest.map_structure(
        lambda leaf: leaf.shape if isinstance(leaf, _gyre.Tensor) else leaf._type_spec, loop_vars
    )


_switch_case: Any = cases.switch_case.__wrapped__  # type: ignore[attr-defined]


def switch_case(branch_index, branch_fns, default=None, name: str = "switch_case") -> Any:
    """branch_fns[branch_index](). Out of range: default() if given, else the last branch."""
    if not has_default_graph():
        return _switch_case(branch_index, branch_fns, default, name)
    if isinstance(branch_fns, dict):
        branch_fns = sorted(branch_fns.items())
    plain = [(fn[0], _branch(fn[1])) if isinstance(fn, tuple) else _branch(fn) for fn in branch_fns]
    return named_results(
        _switch_case(branch_index, plain, None if default is None else _branch(default), name)
    )

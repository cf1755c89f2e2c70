"""while_loop: the state of a loop, replaced as long as a condition holds."""

from __future__ import annotations

from collections.abc import Callable

from gyre import _gyre
from gyre._impl import nest
from gyre._impl.annotations import Any, TensorLike
from gyre._impl.composites.composite import dims_of_parts
from gyre._impl.control_flow.branches import as_tensors, callable_of, stopped
from gyre._impl.control_flow.loop_options import checked_iterations, memory_option, window_of
from gyre._impl.device import within_construct
from gyre._impl.errors import StructureError
from gyre._impl.shape import TensorShape, as_dims
from gyre._impl.spec import TensorSpec, TypeSpec
from gyre._impl.tracing.layout import Mismatch, Taken, layout_of, with_element_shapes
from gyre._impl.tracing.lines import place
from gyre._impl.tracing.state import Recursion, condition, state


def while_loop(
    cond: Callable[..., Any],
    body: Callable[..., Any],
    loop_vars,
    shape_invariants=None,
    parallel_iterations: int | None = 10,
    back_prop: bool = True,
    swap_memory: bool = False,
    maximum_iterations: TensorLike | None = None,
    name: str | None = "while",
    memory: str | None = None,
    return_same_structure: bool = True,
) -> Any:
    """Starts with loop_vars and replaces them by body(*loop_vars) while cond(*loop_vars) is true.

    loop_vars: a tuple or list of structures of tensors. body returns the same structure (for a
    single variable, it alone will do); dtypes stay, shapes may change.
    shape_invariants: shapes that hold in all iterations, structured as loop_vars. Else found out.
    parallel_iterations: how many iterations may be in flight at once; None: 10.
    maximum_iterations: the loop ends after this many.
    memory: what a gradient keeps of iterations: "save", "recompute(k)", "checkpoint(bytes)".
    back_prop=False: no gradient goes through.
    swap_memory, return_same_structure: for TensorFlow's sake. Values are where they are; the
    structure is always that of loop_vars.
    Returns the last loop_vars. TypeError if the body changes structure or dtypes."""
    del swap_memory, return_same_structure
    cond, body = callable_of(cond, "cond"), callable_of(body, "body")
    if not nest.is_nested(loop_vars):
        raise ValueError("while_loop needs loop_vars: a tuple or list of at least one variable")
    if not loop_vars:
        raise ValueError("while_loop needs at least one loop variable")
    window = window_of(parallel_iterations)
    maximum_iterations = checked_iterations(maximum_iterations)
    options = memory_option(memory)
    loop_vars = as_tensors(loop_vars)
    if not back_prop:
        loop_vars = nest.map_structure(stopped, loop_vars, expand_composites=True)
    call = _calls(loop_vars)
    if _gyre.current_graph() is None:
        return _run(cond, body, call, loop_vars, shape_invariants, maximum_iterations)
    if state.probing:
        try:
            return _next(loop_vars, call(body, loop_vars))
        except Recursion:
            return loop_vars
    return _trace(
        cond,
        body,
        call,
        loop_vars,
        shape_invariants,
        window,
        maximum_iterations,
        name,
        options,
        place(),
        back_prop,
    )


def _calls(loop_vars):
    if isinstance(loop_vars, (tuple, list)):
        return lambda fn, values: fn(*values)
    return lambda fn, values: fn(values)


def _next(before, after):
    """The new state in the structure of the old."""
    if isinstance(before, (tuple, list)):
        if len(before) == 1 and not (isinstance(after, (tuple, list)) and len(after) == 1):
            after = (after,)
        if (
            isinstance(after, (tuple, list))
            and type(after) is not type(before)
            and (len(after) == len(before))
        ):
            make = getattr(before, "_make", type(before))
            after = make(after)
    return as_tensors(after)


def _check(before, after, name, at):
    why = nest.difference(before, after)
    if why is None:
        for i, (x, y) in enumerate(
            zip(nest.flatten(before, True), nest.flatten(after, True), strict=True)
        ):
            if isinstance(x, _gyre.Tensor) and isinstance(y, _gyre.Tensor) and x.dtype != y.dtype:
                why = f"variable {i} enters as {x.dtype.name} and becomes {y.dtype.name}"
                break
    if why:
        where = f" at {at}" if at else ""
        raise StructureError(
            f"the body of {name}{where} must return values of the structure and dtypes of its loop "
            f"variables: {why}. Before the loop they are {Taken(before).describe()}, after one "
            f"iteration {Taken(after).describe()}"
        )


def _tested(answer):
    """What cond has returned; of a list of one, that one."""
    if isinstance(answer, (list, tuple)) and len(answer) == 1:
        answer = answer[0]
    if answer is None or nest.is_nested(answer):
        raise TypeError(
            f"cond of while_loop must return a scalar that says whether to go on, not {answer!r}"
        )
    return answer


def _run(cond, body, call, values, shape_invariants, maximum_iterations):
    shapes = None
    if shape_invariants is not None:
        shapes = _invariants(shape_invariants, layout_of(Taken(values)))
        _require_shapes(shapes, values, "starts with")
    count = 0
    while (maximum_iterations is None or count < maximum_iterations) and _tested(
        call(cond, values)
    ):
        after = _next(values, call(body, values))
        _check(values, after, "while_loop", place())
        if shapes is not None:
            _require_shapes(shapes, after, "the body returns")
        values = after
        count += 1
    return values


def _require_shapes(invariants, values, verb):
    """ValueError: a variable of a loop that runs eagerly has another shape than is promised."""
    tensors = [leaf for leaf in nest.flatten(values, True) if isinstance(leaf, _gyre.Tensor)]
    for i, (dims, tensor) in enumerate(zip(invariants, tensors, strict=True)):
        if not TensorShape(dims).is_compatible_with(tensor.shape):
            raise ValueError(
                f"variable {i} of while_loop at {place()} is to have shape {TensorShape(dims)}, as "
                f"its shape_invariants say, but {verb} {tensor.shape}"
            )


def _trace(
    cond,
    body,
    call,
    loop_vars,
    shape_invariants,
    window,
    maximum_iterations,
    name,
    options,
    at,
    back_prop,
):
    layout = layout_of(Taken(loop_vars))
    last = [loop_vars]
    paths = [
        f"loop_vars{path}"
        for (path, _), leaf in zip(
            nest.flatten_with_paths(loop_vars, expand_composites=True), layout.leaves, strict=True
        )
        if leaf.dtype is not None
    ]

    def unpack(tensors):
        return layout.pack(iter(tensors))[0]

    def within(fn, tensors):
        with within_construct(name):
            return call(fn, unpack(tensors))

    def holds(tensors):
        answer = condition(_tested(within(cond, tensors)))
        answer = answer if isinstance(answer, _gyre.Tensor) else _gyre.convert(bool(answer))
        if answer._dims not in ((), None):
            answer = _gyre.execute("Squeeze", [answer])[0]
        return answer

    def step(tensors):
        after = _next(loop_vars, within(body, tensors))
        _check(loop_vars, after, name, at)
        last[:] = [after]
        try:
            return layout.emit(Taken(after))
        except Mismatch:
            raise TypeError(
                f"a Python object among the loop variables of {name} at {at} changes: "
                f"{Taken(after).describe()}"
            ) from None

    flat = _gyre.trace_while(
        holds,
        step,
        layout.emit(Taken(loop_vars)),
        paths,
        name=name,
        window=window,
        maximum_iterations=maximum_iterations,
        invariants=None if shape_invariants is None else _invariants(shape_invariants, layout),
        **options,
    )
    layout.template = with_element_shapes(layout.template, last[0])
    results = unpack(flat)
    if not back_prop:
        results = nest.map_structure(stopped, results, expand_composites=True)
    return results


def _require_kind(spec, value) -> None:
    """TypeError: the spec among a loop's shape invariants is of another kind of values."""
    if not isinstance(spec, TensorSpec):
        fits = isinstance(value, (spec.value_type, type(spec)))
    else:
        fits = not hasattr(value, "_type_spec") or isinstance(value, _gyre.Tensor)
        fits = fits and getattr(value, "dtype", spec.dtype) in (spec.dtype, None)
    if not fits:
        raise TypeError(f"the shape invariant {spec} does not fit the loop variable {value!r}")


def _invariants(shapes, layout):
    flat = []

    def walk(part: Any, like):
        if like is None:
            return
        if isinstance(part, TypeSpec) and not nest.is_nested(like):
            _require_kind(part, like)
        if (
            not nest.is_nested(like)
            and nest._kind_of(like, True) is not None
            and hasattr(like, "_type_spec")
        ):
            flat.extend(dims_of_parts(part, like))
            return
        if hasattr(part, "shape") and not hasattr(part, "as_list"):
            part = getattr(part, "shape", None)  # of a TensorSpec
        if not nest.is_nested(like) or hasattr(part, "as_list"):
            flat.append(as_dims(part))
            return
        children = nest._kind_of(like, False).items(like)
        given: Any = part
        parts = [given[key] for key in sorted(given)] if isinstance(part, dict) else list(given)
        if len(parts) != len(children):
            raise ValueError(
                f"shape_invariants must be structured as loop_vars: {len(parts)} shapes for "
                f"{len(children)} variables"
            )
        for one, (_, child) in zip(parts, children, strict=True):
            walk(one, child)

    walk(shapes, layout.template)
    # What is no tensor has no shape.
    return [dims for dims, leaf in zip(flat, layout.leaves, strict=True) if leaf.dtype is not None]

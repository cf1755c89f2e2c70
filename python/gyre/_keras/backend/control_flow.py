"""Conditionals, loops, and functions over elements: all of them parts of the graph."""

import functools

from keras.src import tree

import gyre
from gyre._keras.backend.symbolic import spec_of, traced
from gyre._keras.backend.tensors import convert_to_tensor, is_tensor, shape


def cond(pred, true_fn, false_fn):
    if not is_tensor(pred):
        return true_fn() if pred else false_fn()
    if not isinstance(pred, gyre.Tensor):
        pred = gyre.convert_to_tensor(pred)
    known = gyre.get_static_value(pred)
    if known is not None:
        return true_fn() if known else false_fn()
    return gyre.cond(gyre.cast(pred, "bool"), true_fn, false_fn)


def switch(index, branches, *operands):
    index = gyre.clip_by_value(convert_to_tensor(index, "int32"), 0, len(branches) - 1)
    return gyre.switch_case(index, [functools.partial(one, *operands) for one in branches])


def while_loop(cond, body, loop_vars, maximum_iterations=None):
    is_tuple = isinstance(loop_vars, (tuple, list))
    loop_vars = tuple(loop_vars) if is_tuple else (loop_vars,)
    loop_vars = tree.map_structure(convert_to_tensor, loop_vars)

    def next_values(*values):
        values = body(*values)
        return tuple(values) if is_tuple else (values,)

    def test(*values):
        return gyre.cast(cond(*values), "bool")

    results = gyre.while_loop(test, next_values, loop_vars, maximum_iterations=maximum_iterations)
    return results if is_tuple else results[0]


def fori_loop(lower, upper, body_fun, init_val):
    lower, upper = convert_to_tensor(lower), convert_to_tensor(upper)
    init_val = tree.map_structure(convert_to_tensor, init_val)
    return gyre.while_loop(
        lambda i, value: i < gyre.cast(upper, i.dtype),
        lambda i, value: (i + 1, body_fun(i, value)),
        (lower, init_val),
    )[1]


def vectorized_map(function, elements):
    return gyre.vectorized_map(function, tree.map_structure(convert_to_tensor, elements))


def _specs_of_rows(structure):
    return tree.map_structure(lambda x: gyre.TensorSpec(x.shape[1:], x.dtype), structure)


def map(f, xs):
    xs = tree.map_structure(convert_to_tensor, xs)
    signature = traced(lambda x: f(x), (_specs_of_rows(xs),))
    return gyre.map_fn(f, xs, fn_output_signature=signature)


def _array(spec, size, values=None):
    array = gyre.TensorArray(spec.dtype, size=size, element_shape=spec.shape)
    return array if values is None else array.unstack(values)


def scan(f, init, xs=None, length=None, reverse=False, unroll=1):
    if not callable(f):
        raise TypeError(f"`f` should be a callable. Received: f={f}")
    if not isinstance(unroll, bool) and (not isinstance(unroll, int) or unroll < 1):
        raise ValueError(
            f"`unroll` must be an positive integer or boolean. Received: unroll={unroll}"
        )
    if xs is None and length is None:
        raise ValueError("Got no `xs` to scan over and `length` not provided.")
    init = tree.map_structure(convert_to_tensor, init)
    xs = tree.map_structure(convert_to_tensor, xs)
    flat = tree.flatten(xs)
    flat = [] if xs is None else flat
    size = int(length) if length is not None else shape(flat[0])[0]
    specs = _specs_of_rows(xs) if xs is not None else None
    _, ys = traced(f, (tree.map_structure(spec_of, init), specs))
    outputs = [_array(one, size) for one in tree.flatten(ys) if isinstance(one, gyre.TensorSpec)]
    rows = [_array(spec_of(x[0]), size, x) for x in flat]

    def body(i, carry, arrays):
        place = size - 1 - i if reverse else i
        x = None if xs is None else tree.pack_sequence_as(xs, [row.read(place) for row in rows])
        carry, y = f(carry, x)
        y = [convert_to_tensor(one) for one in tree.flatten(y) if one is not None]
        arrays = [array.write(place, one) for array, one in zip(arrays, y, strict=True)]
        return i + 1, tree.map_structure(convert_to_tensor, carry), arrays

    _, carry, outputs = gyre.while_loop(
        lambda i, *_: i < size, body, (gyre.constant(0), init, outputs)
    )
    stacked = [array.stack() for array in outputs]
    for one in stacked:
        if isinstance(size, int):
            one.set_shape([size, *one.shape[1:]])
    return carry, tree.pack_sequence_as(ys, stacked) if stacked else ys


def associative_scan(f, elems, reverse=False, axis=0):
    """After the round with distance d each place holds the combination of 2 d places up to it.

    Hillis and Steele, "Data parallel algorithms", 1986.
    """
    if not callable(f):
        raise TypeError(f"`f` should be a callable. Received: f={f}")
    elems = tree.map_structure(convert_to_tensor, elems)
    flat = tree.flatten(elems)
    axis = axis + flat[0].shape.rank if axis < 0 else axis
    sizes = [shape(one)[axis] for one in flat]
    if any(isinstance(a, int) and isinstance(sizes[0], int) and a != sizes[0] for a in sizes):
        raise ValueError(
            "Array inputs to associative_scan must have the same first dimension. "
            f"(saw: {[tuple(one.shape) for one in flat]})"
        )

    def turned(structure):
        return tree.map_structure(lambda x: gyre.reverse(x, [axis]), structure)

    def part(x, begin, end):
        return x[(slice(None),) * axis + (slice(begin, end),)]

    def round_of(distance, size, structure):
        left = tree.map_structure(lambda x: part(x, 0, size - distance), structure)
        right = tree.map_structure(lambda x: part(x, distance, size), structure)
        return tree.map_structure(
            lambda whole, combined: gyre.concat([part(whole, 0, distance), combined], axis),
            structure,
            f(left, right),
        )

    elems = turned(elems) if reverse else elems
    size = sizes[0]
    if isinstance(size, int):
        distance = 1
        while distance < size:
            elems = round_of(distance, size, elems)
            distance *= 2
    else:
        _, flat = gyre.while_loop(
            lambda distance, _: distance < size,
            lambda distance, flat: (
                distance * 2,
                tree.flatten(round_of(distance, size, tree.pack_sequence_as(elems, flat))),
            ),
            (gyre.constant(1), tree.flatten(elems)),
        )
        elems = tree.pack_sequence_as(elems, flat)
    return turned(elems) if reverse else elems


def custom_gradient(fun):
    return gyre.custom_gradient(fun)


def remat(f):
    return gyre.recompute_grad(f)

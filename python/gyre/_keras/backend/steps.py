"""Steps of training as functions of Gyre."""

from keras.src import tree

import gyre
from gyre._keras.backend.tensors import convert_to_tensor


def _tensors(data):
    return tree.map_structure(lambda one: None if one is None else convert_to_tensor(one), data)


def _signature(data):
    return [(one.shape.as_list(), one.dtype.name) for one in tree.flatten(data) if one is not None]


def concatenated(parts, concatenate):
    """One structure, of which each leaf has the rows of all parts."""
    if len(parts) == 1:
        return parts[0]
    return tree.map_structure_up_to(parts[0], lambda *rows: concatenate(rows, axis=0), *parts)


class StepFunction:
    """Takes a list of batches, and returns what the step gives for the last one, or all rows.

    A step is traced once for each shape of batches. Batches of the same shape are taken by a loop
    of the graph, so that Python is not asked between them. jit_compile: as of gyre.function.
    """

    def __init__(self, step, run_eagerly, jit_compile, gives_rows=False):
        self._gives_rows = gives_rows
        if run_eagerly:
            self._one, self._several = step, None
            return
        self._one = gyre.function(step, autograph=False, jit_compile=jit_compile)

        def steps(data):
            row = tree.map_structure(lambda one: one[0], data)
            logs = _tensors(step(row))
            count = gyre.shape(next(one for one in tree.flatten(data) if one is not None))[0]

            def body(i, _):
                return i + 1, _tensors(step(tree.map_structure(lambda one: one[i], data)))

            return gyre.while_loop(lambda i, _: i < count, body, (gyre.constant(1), logs))[1]

        def rows(data):
            first = _tensors(step(tree.map_structure(lambda one: one[0], data)))
            count = gyre.shape(next(one for one in tree.flatten(data) if one is not None))[0]
            arrays = [
                gyre.TensorArray(one.dtype, size=count, element_shape=one.shape).write(0, one)
                for one in tree.flatten(first)
            ]

            def body(i, arrays):
                found = _tensors(step(tree.map_structure(lambda one: one[i], data)))
                found = tree.flatten(found)
                return i + 1, [a.write(i, one) for a, one in zip(arrays, found, strict=True)]

            arrays = gyre.while_loop(lambda i, _: i < count, body, (gyre.constant(1), arrays))[1]
            stacked = [one.stack() for one in arrays]
            flat = [
                gyre.reshape(one, gyre.concat([[-1], gyre.shape(one)[2:]], 0)) for one in stacked
            ]
            return tree.pack_sequence_as(first, flat)

        self._several = gyre.function(
            rows if gives_rows else steps, autograph=False, jit_compile=jit_compile
        )

    def __call__(self, batches):
        batches = [_tensors(one) for one in batches]
        alike = all(_signature(one) == _signature(batches[0]) for one in batches[1:])
        if self._several is not None and len(batches) > 1 and alike:
            stacked = tree.map_structure(
                lambda *rows: None if rows[0] is None else gyre.stack(rows), *batches
            )
            return self._several(stacked)
        results = [self._one(one) for one in batches]
        return concatenated(results, gyre.concat) if self._gives_rows else results[-1]

"""Recurrent networks over time: dynamic_rnn and its kin."""

from __future__ import annotations

from gyre import _gyre
from gyre._impl import nest
from gyre._impl.annotations import Any
from gyre._impl.compat.v1.control import while_loop
from gyre._impl.compat.v1.variable_scope import variable_scope
from gyre._impl.control_flow.tensor_array import TensorArray
from gyre._impl.convert import call, convert_to_tensor, rank_of
from gyre._impl.graphs.constant import constant
from gyre._impl.ops import table
from gyre._impl.shape import TensorShape


def _require_cell(cell, name="cell") -> None:
    if not (hasattr(cell, "state_size") and hasattr(cell, "output_size") and callable(cell)):
        raise TypeError(
            f"The argument {name!r} is not an RNNCell: it has no state_size and output_size"
        )


def _time_major(x):
    """[batch, time, …] as [time, batch, …], and back."""
    x = convert_to_tensor(x)
    rank = rank_of(x, "dynamic_rnn", "inputs", least=2)
    return call("Transpose", x, constant([1, 0, *range(2, rank)], "int32"))


def _lengths(sequence_length, batch):
    """The lengths as an int32 vector, checked when it runs."""
    if sequence_length is None:
        return None
    lengths = convert_to_tensor(sequence_length)
    if lengths._dims is not None and len(lengths._dims) != 1:
        raise ValueError(
            f"sequence_length must be a vector of length batch_size, but saw shape: {lengths.shape}"
        )
    if lengths._dims and batch is not None and lengths._dims[0] not in (None, batch):
        raise ValueError(f"sequence_length has {lengths._dims[0]} entries for a batch of {batch}")
    return call("Cast", lengths, DstT=_gyre.as_dtype("int32"))


def _first_state(cell, state, batch_size, dtype):
    if state is not None:
        return nest.map_structure(convert_to_tensor, state)
    if dtype is None:
        raise ValueError("If there is no initial_state, you must give a dtype.")
    return cell.zero_state(batch_size, dtype)


def _size(x, axis: int):
    """The size of an axis: a number where it is known, else a scalar tensor."""
    known = None if x._dims is None else x._dims[axis]
    return known if known is not None else call("GatherV2", call("Shape", x), axis, 0)


def _where(rows, new, old):
    """Rows of new where `rows`, a bool vector, is true, else of old.
    Values without rows are new."""
    if new._dims is not None and len(new._dims) == 0:
        return new
    mask = rows
    for _ in range(len(new._dims) - 1 if new._dims is not None else 1):
        mask = call("ExpandDims", mask, -1)
    return call("SelectV2", mask, new, old)


def dynamic_rnn(
    cell,
    inputs,
    sequence_length=None,
    initial_state=None,
    dtype=None,
    parallel_iterations=None,
    swap_memory=False,
    time_major=False,
    scope=None,
) -> tuple[Any, Any]:
    """Runs a cell over time; the number of steps is that of the inputs when the graph runs.

    inputs: [batch, time, …] (with time_major [time, batch, …]), or a structure of them.
    sequence_length: [batch], how long each sequence is: beyond that, outputs are zeros, and states
    stay.
    initial_state: structured as the cell's; zeros of `dtype` otherwise (ValueError without either).
    Returns (outputs as inputs, with the cell's output_size last; the final state).
    """
    _require_cell(cell)
    with variable_scope(scope or "rnn"):
        flat = [convert_to_tensor(x) for x in nest.flatten(inputs)]
        if not time_major:
            flat = [_time_major(x) for x in flat]
        for x in flat:
            rank_of(x, "dynamic_rnn", "inputs", least=2)
        static_batch = flat[0]._dims[1]
        lengths = _lengths(sequence_length, static_batch)
        batch_size = _size(flat[0], 1)
        state = _first_state(cell, initial_state, batch_size, dtype)
        outputs, state = _over_time(
            cell,
            nest.pack_sequence_as(inputs, flat),
            state,
            lengths,
            batch_size,
            parallel_iterations or 32,
            swap_memory,
        )
        if not time_major:
            outputs = nest.map_structure(_time_major, outputs)
        return outputs, state


def _over_time(cell, inputs, state, lengths, batch_size, parallel_iterations, swap_memory):
    """The loop: time, an array of each output, the state."""
    flat = nest.flatten(inputs)
    steps = _size(flat[0], 0)
    dtype = _output_dtype(flat, state)
    sizes = nest.flatten(cell.output_size)
    rows = [TensorArray(x.dtype, size=steps, name="input").unstack(x) for x in flat]
    arrays = [
        TensorArray(
            dtype,
            size=steps,
            element_shape=[flat[0]._dims[1], *TensorShape(size).as_list()],
            name="output",
        )
        for size in sizes
    ]

    def body(time, arrays, state):
        step = nest.pack_sequence_as(inputs, [array.read(time) for array in rows])
        for part, whole in zip(nest.flatten(step), flat, strict=True):
            part.set_shape(whole._dims[1:])
        if lengths is None:
            output, new_state = _stepped(cell, step, state)
        else:
            output, new_state = _masked(cell, step, state, time, lengths, batch_size, sizes, dtype)
        written = [
            array.write(time, value)
            for array, value in zip(arrays, nest.flatten(output), strict=True)
        ]
        for old, new in zip(nest.flatten(state), nest.flatten(new_state), strict=True):
            new.set_shape(old._dims)
        return time + 1, written, new_state

    _, arrays, state = while_loop(
        lambda time, *_: time < steps,
        body,
        (constant(0, "int32"), arrays, state),
        parallel_iterations=parallel_iterations,
        swap_memory=swap_memory,
    )
    outputs = [array.stack() for array in arrays]
    for output, size in zip(outputs, sizes, strict=True):
        output.set_shape([flat[0]._dims[0], flat[0]._dims[1], *TensorShape(size).as_list()])
    return nest.pack_sequence_as(cell.output_size, outputs), state


def _output_dtype(flat, state):
    leaves = nest.flatten(state)
    return leaves[0].dtype if leaves else flat[0].dtype


def _stepped(cell, inputs, state):
    """One step of a cell. ValueError where it gives another structure than it says."""
    output, new_state = cell(inputs, state)
    nest.assert_same_structure(cell.output_size, output, check_types=False)
    nest.assert_same_structure(state, new_state)
    return output, new_state


def _masked(cell, step, state, time, lengths, batch_size, sizes, dtype):
    """A step whose outputs are zeros, and whose states stay, where a sequence has ended."""
    output, new_state = _stepped(cell, step, state)
    goes_on = call("Less", time, lengths)
    zeros = [table.zeros([batch_size, *TensorShape(size).as_list()], dtype) for size in sizes]
    outputs = [
        _where(goes_on, new, zero) for new, zero in zip(nest.flatten(output), zeros, strict=True)
    ]
    states = [
        _where(goes_on, new, old)
        for new, old in zip(nest.flatten(new_state), nest.flatten(state), strict=True)
    ]
    return nest.pack_sequence_as(output, outputs), nest.pack_sequence_as(new_state, states)


def bidirectional_dynamic_rnn(
    cell_fw,
    cell_bw,
    inputs,
    sequence_length=None,
    initial_state_fw=None,
    initial_state_bw=None,
    dtype=None,
    parallel_iterations=None,
    swap_memory=False,
    time_major=False,
    scope=None,
) -> tuple[Any, Any]:
    """Runs one cell forwards and another backwards over time. Arguments as dynamic_rnn. Returns
    ((outputs of one, outputs of the other), (final states)), each at its place in time."""
    _require_cell(cell_fw, "cell_fw")
    _require_cell(cell_bw, "cell_bw")
    options = {
        "dtype": dtype,
        "parallel_iterations": parallel_iterations,
        "swap_memory": swap_memory,
        "time_major": time_major,
    }
    time_axis, batch_axis = (0, 1) if time_major else (1, 0)

    def backwards(x):
        if sequence_length is None:
            return call("ReverseV2", x, constant([time_axis], "int32"))
        return call(
            "ReverseSequence",
            x,
            convert_to_tensor(sequence_length),
            seq_dim=time_axis,
            batch_dim=batch_axis,
        )

    with variable_scope(scope or "bidirectional_rnn"):
        output_fw, state_fw = dynamic_rnn(
            cell_fw, inputs, sequence_length, initial_state_fw, scope="fw", **options
        )
        with variable_scope("bw") as scope_bw:
            turned = nest.map_structure(lambda x: backwards(convert_to_tensor(x)), inputs)
            output_bw, state_bw = dynamic_rnn(
                cell_bw, turned, sequence_length, initial_state_bw, scope=scope_bw, **options
            )
        output_bw = nest.map_structure(backwards, output_bw)
    return (output_fw, output_bw), (state_fw, state_bw)


def static_rnn(
    cell, inputs, initial_state=None, dtype=None, sequence_length=None, scope=None
) -> tuple[Any, Any]:
    """Runs a cell over a list of inputs, one a step, [batch, size] each: as many copies of it.
    Returns (list of outputs, final state). sequence_length as dynamic_rnn. ValueError for no
    inputs."""
    _require_cell(cell)
    if not isinstance(inputs, (list, tuple)):
        raise TypeError("inputs must be a sequence")
    if not inputs:
        raise ValueError("inputs must not be empty")
    with variable_scope(scope or "rnn"):
        steps = [nest.map_structure(convert_to_tensor, x) for x in inputs]
        first = nest.flatten(steps[0])[0]
        batch_size = _size(first, 0)
        rank_of(first, "static_rnn", "inputs", least=1)
        lengths = _lengths(sequence_length, first._dims[0])
        state = _first_state(cell, initial_state, batch_size, dtype)
        sizes, kind = nest.flatten(cell.output_size), _output_dtype([first], state)
        outputs = []
        for time, step in enumerate(steps):
            if lengths is None:
                output, state = cell(step, state)
            else:
                output, state = _masked(
                    cell, step, state, constant(time, "int32"), lengths, batch_size, sizes, kind
                )
            outputs.append(output)
        return outputs, state


def static_bidirectional_rnn(
    cell_fw,
    cell_bw,
    inputs,
    initial_state_fw=None,
    initial_state_bw=None,
    dtype=None,
    sequence_length=None,
    scope=None,
) -> tuple[Any, Any, Any]:
    """static_rnn forwards and backwards: (list of joined outputs, final state of one,
    of the other)."""
    with variable_scope(scope or "bidirectional_rnn"):
        with variable_scope("fw") as scope_fw:
            output_fw, state_fw = static_rnn(
                cell_fw, inputs, initial_state_fw, dtype, sequence_length, scope_fw
            )
        with variable_scope("bw") as scope_bw:
            turned, state_bw = static_rnn(
                cell_bw,
                _turned(inputs, sequence_length),
                initial_state_bw,
                dtype,
                sequence_length,
                scope_bw,
            )
        output_bw = _turned(turned, sequence_length)
    return (
        [call("ConcatV2", [f, b], 1) for f, b in zip(output_fw, output_bw, strict=True)],
        state_fw,
        state_bw,
    )


def _turned(steps, sequence_length) -> list:
    """Steps from last to first: of each sequence, as far as it goes."""
    if sequence_length is None:
        return list(reversed(steps))
    joined = call("Pack", [convert_to_tensor(x) for x in steps])
    turned = call(
        "ReverseSequence", joined, convert_to_tensor(sequence_length), seq_dim=0, batch_dim=1
    )
    return [turned[i] for i in range(len(steps))]


def raw_rnn(
    cell, loop_fn, parallel_iterations=None, swap_memory=False, scope=None
) -> tuple[Any, Any, Any]:
    """Runs a cell over time as `loop_fn` says.

    loop_fn(time, cell output, cell state, loop state) gives (finished: a bool vector, or scalar;
    next input; next cell state; what to give out; next loop state). First it is called with time 0
    and None for the others, and then gives the first input and state, and the shape and dtype of
    what is given out (None: as the cell's output). Rows that are finished give out zeros, and their
    states stay. Returns (TensorArray of what was given out; final cell state; final loop state).
    """
    _require_cell(cell)
    if not callable(loop_fn):
        raise TypeError("loop_fn must be a callable")
    with variable_scope(scope or "rnn"):
        return _RawLoop(cell, loop_fn).run(parallel_iterations or 32, swap_memory)


class _RawLoop:
    """The loop of raw_rnn: time, finished rows, input, arrays, cell state, loop state."""

    def __init__(self, cell, loop_fn):
        self._cell, self._loop_fn = cell, loop_fn
        time = constant(0, "int32", name="time")
        (self._finished, self._input, self._state, emitted, self._loop_state) = loop_fn(
            time, None, None, None
        )
        self._finished = convert_to_tensor(self._finished)
        self._state = nest.map_structure(convert_to_tensor, self._state)
        self._input = nest.map_structure(convert_to_tensor, self._input)
        self._has_loop_state = self._loop_state is not None
        if not self._has_loop_state:
            self._loop_state = constant(0, "int32")
        batch = nest.flatten(self._input)[0]
        rank_of(batch, "raw_rnn", "next_input of loop_fn", least=1)
        self._batch = _size(batch, 0)
        self._known_batch = batch._dims[0]
        self._emit = cell.output_size if emitted is None else emitted
        default = nest.flatten(self._state)[0].dtype
        self._specs = [
            (_sizes_of(part, emitted is None), getattr(part, "dtype", default))
            for part in nest.flatten(self._emit)
        ]
        self._time = time

    def run(self, parallel_iterations, swap_memory):
        """The results."""
        arrays = [
            TensorArray(
                dtype,
                size=0,
                dynamic_size=True,
                clear_after_read=False,
                element_shape=[self._known_batch, *sizes],
            )
            for sizes, dtype in self._specs
        ]
        _, _, _, arrays, state, loop_state = while_loop(
            lambda time, finished, *_: call("LogicalNot", _all(finished)),
            self._step,
            (self._time, self._finished, self._input, arrays, self._state, self._loop_state),
            shape_invariants=None,
            parallel_iterations=parallel_iterations,
            swap_memory=swap_memory,
        )
        emitted = nest.pack_sequence_as(self._emit, arrays)
        return emitted, state, loop_state if self._has_loop_state else None

    def _step(self, time, finished, step, arrays, state, loop_state):
        output, new_state = self._cell(step, state)
        after = time + 1
        next_finished, next_input, next_state, emitted, next_loop_state = self._loop_fn(
            after, output, new_state, loop_state if self._has_loop_state else None
        )
        if next_loop_state is None:
            next_loop_state = loop_state
        nest.assert_same_structure(self._emit, emitted, check_types=False)
        nest.assert_same_structure(state, next_state, check_types=False)
        goes_on = call("LogicalNot", finished)
        zeros = [table.zeros([self._batch, *sizes], dtype) for sizes, dtype in self._specs]
        given = [
            _chosen(goes_on, convert_to_tensor(new), zero)
            for new, zero in zip(nest.flatten(emitted), zeros, strict=True)
        ]
        kept = [
            _chosen(goes_on, convert_to_tensor(new), old)
            for new, old in zip(nest.flatten(next_state), nest.flatten(state), strict=True)
        ]
        written = [array.write(time, value) for array, value in zip(arrays, given, strict=True)]
        return (
            after,
            call("LogicalOr", finished, convert_to_tensor(next_finished)),
            nest.map_structure(convert_to_tensor, next_input),
            written,
            nest.pack_sequence_as(state, kept),
            next_loop_state,
        )


def _sizes_of(part, is_size: bool) -> list:
    if is_size:
        return TensorShape(part).as_list()
    return list(convert_to_tensor(part)._dims) if not hasattr(part, "_dims") else list(part._dims)


def _chosen(goes_on, new, old):
    if goes_on._dims == ():
        return call("SelectV2", goes_on, new, old)
    return _where(goes_on, new, old)


def _all(finished):
    if finished._dims == ():
        return finished
    return call("All", finished, constant([0], "int32"))

"""Recurrent networks as loops of the graph."""

from keras.src import tree

import gyre
from gyre._keras.backend.tensors import cast, convert_to_tensor


def _time_first(x):
    return gyre.transpose(x, [1, 0, *range(2, x.shape.rank)])


def _like(mask, x):
    """The mask of samples with axes of size 1, until it has the rank of x."""
    while mask.shape.rank < x.shape.rank:
        mask = gyre.expand_dims(mask, -1)
    return mask


def _chosen(mask, new, old):
    """By sample: what is new, or where the mask is off what was before."""
    return tree.map_structure(lambda a, b: gyre.where(_like(mask, a), a, b), new, old)


def _is_whole(length, steps):
    """Whether the length of all samples is known to be that of the inputs."""
    return isinstance(length, int) and length == steps


def _within(lengths, steps):
    """The mask, time first, of samples of these lengths, or of one for all."""
    lengths = gyre.reshape(convert_to_tensor(lengths, "int32"), [1, -1])
    return gyre.range(steps)[:, None] < lengths


def rnn(
    step_function,
    inputs,
    initial_states,
    go_backwards=False,
    mask=None,
    constants=None,
    unroll=False,
    input_length=None,
    time_major=False,
    zero_output_for_mask=False,
    return_all_outputs=True,
):
    inputs = tree.map_structure(convert_to_tensor, inputs)
    if not time_major:
        inputs = tree.map_structure(_time_first, inputs)
    flat = tree.flatten(inputs)
    steps, known = gyre.shape(flat[0])[0], flat[0].shape[0]
    if mask is not None:
        mask = cast(mask, "bool")
        mask = mask if time_major else _time_first(mask)
    elif input_length is not None and not _is_whole(input_length, known):
        mask = _within(input_length, steps)
    if go_backwards:
        inputs = tree.map_structure(lambda x: gyre.reverse(x, [0]), inputs)
        mask = None if mask is None else gyre.reverse(mask, [0])
    constants = list(constants or [])
    states = tree.map_structure(convert_to_tensor, initial_states)

    def step(x, states):
        return step_function(x, tuple(states) + tuple(constants))

    if unroll:
        if known is None:
            raise ValueError("Unrolling requires a fixed number of timesteps.")
        loop = _unrolled
    else:
        loop = _looped
    last, outputs, states = loop(
        step,
        inputs,
        states,
        mask,
        known if unroll else steps,
        zero_output_for_mask,
        return_all_outputs,
    )
    for one in tree.flatten(outputs):
        one.set_shape([known if return_all_outputs else 1, *one.shape[1:]])
    if not time_major:
        outputs = tree.map_structure(_time_first, outputs)
    return last, outputs, states


def _masked_step(step, x, states, mask, previous, zero_output):
    """One step, of which masked samples keep their state and their output."""
    output, new_states = step(x, states)
    new_states = tree.pack_sequence_as(states, tree.flatten(new_states))
    if mask is None:
        return output, new_states
    if previous is None or zero_output:
        previous = tree.map_structure(gyre.zeros_like, output)
    return _chosen(mask, output, previous), _chosen(mask, new_states, states)


def _unrolled(step, inputs, states, mask, steps, zero_output, all_outputs):
    output, outputs = None, []
    for i in range(steps):
        x = tree.map_structure(lambda one: one[i], inputs)  # noqa: B023 (called at once)
        row = None if mask is None else mask[i]
        output, states = _masked_step(step, x, states, row, output, zero_output)
        outputs = [*outputs, output] if all_outputs else [output]
    stacked = tree.map_structure(lambda *rows: gyre.stack(rows), *outputs)
    return output, stacked, states


def _array(size, like, values=None):
    array = gyre.TensorArray(
        like.dtype, size=size, element_shape=like.shape, clear_after_read=values is not None
    )
    return array if values is None else array.unstack(values)


def _looped(step, inputs, states, mask, steps, zero_output, all_outputs):
    flat = tree.flatten(inputs)
    # tells the shapes of outputs; nothing asks for the values
    first, _ = step(tree.map_structure(lambda x: x[0], inputs), states)
    rows = [_array(steps, x[0], x) for x in flat]
    masks = None if mask is None else _array(steps, mask[0], mask)
    kept = steps if all_outputs else 1
    arrays = [_array(kept, one) for one in tree.flatten(first)]
    zeros = tree.map_structure(gyre.zeros_like, first)

    def body(i, arrays, output, states):
        x = tree.pack_sequence_as(inputs, [row.read(i) for row in rows])
        row = None if masks is None else masks.read(i)
        output, states = _masked_step(step, x, states, row, output, zero_output)
        if all_outputs:
            arrays = [
                array.write(i, one) for array, one in zip(arrays, tree.flatten(output), strict=True)
            ]
        return i + 1, arrays, output, states

    _, arrays, last, states = gyre.while_loop(
        lambda i, *_: i < steps,
        body,
        (gyre.constant(0), arrays if all_outputs else [], zeros, states),
        parallel_iterations=32,
    )
    if all_outputs:
        return last, tree.pack_sequence_as(first, [one.stack() for one in arrays]), states
    return last, tree.map_structure(lambda one: gyre.expand_dims(one, 0), last), states


def cudnn_ok(activation, recurrent_activation, unroll, use_bias=True, reset_after=None):
    return False


def _over_steps(step, inputs, states, mask, kernel, bias, return_sequences, options):
    """rnn over what the inputs of all steps add to the gates, by one product."""
    if mask is not None:  # the layer knows what masked outputs are to be
        raise NotImplementedError
    projected = gyre.tensordot(convert_to_tensor(inputs), convert_to_tensor(kernel), 1)
    projected = projected if bias is None else projected + bias
    return rnn(step, projected, states, return_all_outputs=return_sequences, **options)


def lstm(
    inputs,
    initial_state_h,
    initial_state_c,
    mask,
    kernel,
    recurrent_kernel,
    bias,
    activation,
    recurrent_activation,
    return_sequences=False,
    **options,
):
    """options: go_backwards, unroll and time_major, as rnn takes them."""
    recurrent_kernel = convert_to_tensor(recurrent_kernel)

    def step(x, states):
        h, c = states
        i, f, g, o = gyre.split(x + gyre.matmul(h, recurrent_kernel), 4, axis=-1)
        c = recurrent_activation(f) * c + recurrent_activation(i) * activation(g)
        h = recurrent_activation(o) * activation(c)
        return h, [h, c]

    states = [initial_state_h, initial_state_c]
    return _over_steps(step, inputs, states, mask, kernel, bias, return_sequences, options)


def gru(
    inputs,
    initial_state,
    mask,
    kernel,
    recurrent_kernel,
    bias,
    activation,
    recurrent_activation,
    return_sequences=False,
    reset_after=True,
    **options,
):
    """options: go_backwards, unroll and time_major, as rnn takes them."""
    recurrent_kernel = convert_to_tensor(recurrent_kernel)
    units = recurrent_kernel.shape[0]
    recurrent_bias = None
    if bias is not None and reset_after:
        bias, recurrent_bias = gyre.unstack(convert_to_tensor(bias))

    def after(x, h):
        inner = gyre.matmul(h, recurrent_kernel)
        inner = inner if recurrent_bias is None else inner + recurrent_bias
        (xz, xr, xh), (hz, hr, hh) = gyre.split(x, 3, -1), gyre.split(inner, 3, -1)
        z, r = recurrent_activation(xz + hz), recurrent_activation(xr + hr)
        return z, activation(xh + r * hh)

    def before(x, h):
        xz, xr, xh = gyre.split(x, 3, -1)
        hz, hr = gyre.split(gyre.matmul(h, recurrent_kernel[:, : 2 * units]), 2, -1)
        z, r = recurrent_activation(xz + hz), recurrent_activation(xr + hr)
        return z, activation(xh + gyre.matmul(r * h, recurrent_kernel[:, 2 * units :]))

    def step(x, states):
        (h,) = states
        z, candidate = (after if reset_after else before)(x, h)
        h = z * h + (1 - z) * candidate
        return h, [h]

    states = [initial_state]
    return _over_steps(step, inputs, states, mask, kernel, bias, return_sequences, options)


def bidirectional_lstm(*args, **kwargs):
    raise NotImplementedError


def bidirectional_gru(*args, **kwargs):
    raise NotImplementedError

"""Connectionist temporal classification."""

from keras.src import backend

import gyre
from gyre._keras.backend.nn.ctc_loss import loss
from gyre._keras.backend.tensors import convert_to_tensor


def ctc_loss(target, output, target_length, output_length, mask_index=0):
    output = convert_to_tensor(output)
    kind = backend.result_type(output.dtype, "float32")
    found = loss(
        convert_to_tensor(target, "int32"),
        gyre.cast(output, kind),
        convert_to_tensor(target_length, "int32"),
        convert_to_tensor(output_length, "int32"),
        mask_index,
    )
    return gyre.cast(found, kind)


def ctc_decode(
    inputs,
    sequence_lengths,
    strategy="greedy",
    beam_width=100,
    top_paths=1,
    merge_repeated=True,
    mask_index=0,
):
    inputs = convert_to_tensor(inputs)
    inputs = gyre.cast(inputs, backend.result_type(inputs.dtype, "float32"))
    samples, steps = gyre.unstack(gyre.shape(inputs)[:2])
    classes = inputs.shape[-1]
    inputs = gyre.transpose(inputs, [1, 0, 2])
    lengths = convert_to_tensor(sequence_lengths, "int32")
    if strategy == "greedy":
        found, scores = gyre.nn.ctc_greedy_decoder(
            inputs, lengths, merge_repeated=merge_repeated, blank_index=mask_index
        )
        moved = False
    elif strategy == "beam_search":
        moved = mask_index is not None
        if moved:  # the decoder has the blank last
            blank = mask_index % classes
            order = [*range(blank), *range(blank + 1, classes), blank]
            inputs = gyre.gather(inputs, order, axis=-1)
        found, scores = gyre.nn.ctc_beam_search_decoder(
            inputs, lengths, beam_width=beam_width, top_paths=top_paths
        )
    else:
        raise ValueError(
            f"Invalid strategy {strategy}. Supported values are 'greedy' and 'beam_search'."
        )
    shape = gyre.cast(gyre.stack([samples, steps]), "int64")
    paths = [
        gyre.sparse.to_dense(gyre.SparseTensor(one.indices, one.values, shape), default_value=-1)
        for one in found
    ]
    paths = gyre.cast(gyre.stack(paths), "int32")
    return gyre.where(paths >= blank, paths + 1, paths) if moved else paths, scores

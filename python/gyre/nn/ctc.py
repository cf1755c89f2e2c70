"""Connectionist temporal classification: labels of sequences of which it is not known where they
stand. Source: Graves et al. (2006)."""

from __future__ import annotations

from gyre._gyre import Tensor
from gyre._impl.annotations import TensorLike
from gyre._impl.composites.sparse_tensor import SparseTensor
from gyre._impl.convert import call, calls, convert_to_tensor
from gyre._impl.ops.elementwise import cast


def _time_major(logits, is_so):
    logits = convert_to_tensor(logits)
    return logits if is_so else call("Transpose", logits, [1, 0, 2])


def _reordered(logits, blank, first):
    """The logits with the blank in front of, or behind, the others."""
    before, after = logits[:, :, :blank], logits[:, :, blank + 1 :]
    own = logits[:, :, blank : blank + 1]
    parts = [own, before, after] if first else [before, after, own]
    return call("ConcatV2", parts, 2)


def _blank(logits, blank_index):
    """The number of the blank, counted from the front, and how many classes there are."""
    classes = None if logits._dims is None else logits._dims[2]
    if classes is None:
        raise ValueError("ctc_loss needs to know how many classes there are: give logits a shape")
    blank = blank_index + classes if blank_index < 0 else blank_index
    if not 0 <= blank < classes:
        raise ValueError(f"blank_index {blank_index} is not in [{-classes}, {classes})")
    return blank, classes


def _lengths(lengths):
    return cast(convert_to_tensor(lengths, dtype_hint="int32"), "int32")


def _sparse_loss(labels, logits, logit_length, blank_index):
    if blank_index is None:
        raise ValueError("Argument `blank_index` must be provided when labels is a SparseTensor.")
    blank, classes = _blank(logits, blank_index)
    values = cast(labels.values, "int32")
    if blank != classes - 1:
        logits = _reordered(logits, blank, False)
        values = call("SelectV2", call("Less", values, blank), values, call("Sub", values, 1))
    return calls("CTCLoss", logits, labels.indices, values, _lengths(logit_length))[0]


def _dense_loss(labels, logits, label_length, logit_length, blank_index):
    blank, classes = _blank(logits, blank_index or 0)
    labels = cast(convert_to_tensor(labels, dtype_hint="int32"), "int32")
    if blank != 0:
        logits = _reordered(logits, blank, True)
        labels = call("SelectV2", call("Less", labels, blank), call("AddV2", labels, 1), labels)
    longest = call("GatherV2", call("Shape", labels), 1, 0)
    places = call("Range", 0, longest, 1)
    present = call("Less", places, call("ExpandDims", _lengths(label_length), 1))
    indices = call("Where", present)
    values = call("GatherNd", labels, indices)
    wide = cast(logits, "float32")
    loss = calls("CTCLossV2", wide, indices, values, _lengths(logit_length))[0]
    return cast(loss, logits.dtype)


def ctc_loss(
    labels,
    logits: TensorLike,
    label_length: TensorLike | None,
    logit_length: TensorLike,
    logits_time_major: bool = True,
    unique=None,
    blank_index: int | None = None,
    name: str | None = None,
) -> Tensor:
    """How unlikely labels are, given logits of each step, [time, batch, classes] (or [batch, time,
    classes], not time-major): [batch].

    Labels are a SparseTensor of [batch, labels], or a tensor, of which `label_length` says how many
    count in each row. `blank_index`: the class that stands for no label; 0 for dense labels unless
    it is said. `unique` is not used.
    """
    del unique, name
    logits = _time_major(logits, logits_time_major)
    if isinstance(labels, SparseTensor):
        return _sparse_loss(labels, logits, logit_length, blank_index)
    if label_length is None:
        raise ValueError("label_length must be given for dense labels")
    return _dense_loss(labels, logits, label_length, logit_length, blank_index)


def ctc_loss_v1(
    labels,
    inputs=None,
    sequence_length=None,
    preprocess_collapse_repeated: bool = False,
    ctc_merge_repeated: bool = True,
    ignore_longer_outputs_than_inputs: bool = False,
    time_major: bool = True,
    logits=None,
) -> Tensor:
    """As nn.ctc_loss of sparse labels, whose blank is the last class."""
    logits = _time_major(inputs if logits is None else logits, time_major)
    return calls(
        "CTCLoss",
        logits,
        labels.indices,
        cast(labels.values, "int32"),
        _lengths(sequence_length),
        preprocess_collapse_repeated=preprocess_collapse_repeated,
        ctc_merge_repeated=ctc_merge_repeated,
        ignore_longer_outputs_than_inputs=ignore_longer_outputs_than_inputs,
    )[0]


def ctc_greedy_decoder(
    inputs: TensorLike,
    sequence_length: TensorLike,
    merge_repeated: bool = True,
    blank_index: int | None = None,
) -> tuple[list[SparseTensor], Tensor]:
    """The likeliest class of each step of [time, batch, classes] logits, without blanks (the last
    class unless it is said): a list of one SparseTensor, and the negative sums of their logits."""
    indices, values, shape, score = calls(
        "CTCGreedyDecoder",
        convert_to_tensor(inputs),
        _lengths(sequence_length),
        merge_repeated=merge_repeated,
        blank_index=-1 if blank_index is None else blank_index,
    )
    return [SparseTensor(indices, values, shape)], score


def _beam_search(inputs, sequence_length, beam_width, top_paths, merge_repeated):
    *parts, scores = calls(
        "CTCBeamSearchDecoder",
        convert_to_tensor(inputs),
        _lengths(sequence_length),
        beam_width=beam_width,
        top_paths=top_paths,
        merge_repeated=merge_repeated,
    )
    paths = [SparseTensor(*parts[i::top_paths]) for i in range(top_paths)]
    return paths, scores


def ctc_beam_search_decoder(
    inputs: TensorLike, sequence_length: TensorLike, beam_width: int = 100, top_paths: int = 1
) -> tuple[list[SparseTensor], Tensor]:
    """The likeliest labels of [time, batch, classes] logits (the last class is the blank), found by
    following the best beams: a SparseTensor for each path, and the logarithms of their
    probabilities."""
    return _beam_search(inputs, sequence_length, beam_width, top_paths, False)


def ctc_beam_search_decoder_v1(
    inputs: TensorLike,
    sequence_length: TensorLike,
    beam_width: int = 100,
    top_paths: int = 1,
    merge_repeated: bool = True,
) -> tuple[list[SparseTensor], Tensor]:
    """As nn.ctc_beam_search_decoder; labels that follow each other are merged unless it is said."""
    return _beam_search(inputs, sequence_length, beam_width, top_paths, merge_repeated)

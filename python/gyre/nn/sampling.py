"""Training with a few of many classes: which are drawn, and losses over them."""

from __future__ import annotations

import collections

from gyre._gyre import Tensor
from gyre._impl.annotations import TensorLike
from gyre._impl.convert import call, calls, convert_to_tensor
from gyre._impl.ops import table
from gyre._impl.ops.elementwise import cast
from gyre._impl.ops.select import gather
from gyre._impl.random import op_seed

Candidates = collections.namedtuple(
    "Candidates", ["sampled_candidates", "true_expected_count", "sampled_expected_count"]
)


def _drawn(op, true_classes, num_true, num_sampled, unique, seed, name, **attrs) -> Candidates:
    return Candidates(
        *calls(
            op,
            cast(convert_to_tensor(true_classes, dtype_hint="int64"), "int64"),
            num_true=num_true,
            num_sampled=num_sampled,
            unique=unique,
            seed=op_seed(seed),
            name=name,
            **attrs,
        )
    )


def uniform_candidate_sampler(
    true_classes: TensorLike,
    num_true: int,
    num_sampled: int,
    unique: bool,
    range_max: int,
    seed=None,
    name: str | None = None,
) -> Candidates:
    """Classes of [0, range_max) drawn evenly, and how often they and the true ones are expected."""
    return _drawn(
        "UniformCandidateSampler",
        true_classes,
        num_true,
        num_sampled,
        unique,
        seed,
        name,
        range_max=range_max,
    )


def log_uniform_candidate_sampler(
    true_classes: TensorLike,
    num_true: int,
    num_sampled: int,
    unique: bool,
    range_max: int,
    seed=None,
    name: str | None = None,
) -> Candidates:
    """Classes of [0, range_max) drawn as words are frequent (in this order), and how often they and
    the true ones are expected."""
    return _drawn(
        "LogUniformCandidateSampler",
        true_classes,
        num_true,
        num_sampled,
        unique,
        seed,
        name,
        range_max=range_max,
    )


def fixed_unigram_candidate_sampler(
    true_classes: TensorLike,
    num_true: int,
    num_sampled: int,
    unique: bool,
    range_max: int,
    vocab_file: str = "",
    distortion: float = 1.0,
    num_reserved_ids: int = 0,
    num_shards: int = 1,
    shard: int = 0,
    unigrams=(),
    seed=None,
    name: str | None = None,
) -> Candidates:
    """Classes drawn by weights, `unigrams` to the power of `distortion`, and how often they and the
    true ones are expected."""
    return _drawn(
        "FixedUnigramCandidateSampler",
        true_classes,
        num_true,
        num_sampled,
        unique,
        seed,
        name,
        range_max=range_max,
        vocab_file=vocab_file,
        distortion=distortion,
        num_reserved_ids=num_reserved_ids,
        num_shards=num_shards,
        shard=shard,
        unigrams=[float(x) for x in unigrams],
    )


def all_candidate_sampler(
    true_classes: TensorLike,
    num_true: int,
    num_sampled: int,
    unique: bool,
    seed=None,
    name: str | None = None,
) -> Candidates:
    """All classes, each of which is expected once: for tests of losses over samples."""
    return _drawn("AllCandidateSampler", true_classes, num_true, num_sampled, unique, seed, name)


AccidentalHits = collections.namedtuple("AccidentalHits", ["indices", "ids", "weights"])


def compute_accidental_hits(
    true_classes: TensorLike,
    sampled_candidates: TensorLike,
    num_true: int,
    seed=None,
    name: str | None = None,
) -> AccidentalHits:
    """Which sampled classes are true ones: the row, the place among the sampled, and the lowest
    float, to be added to their logits."""
    return AccidentalHits(
        *calls(
            "ComputeAccidentalHits",
            cast(convert_to_tensor(true_classes, dtype_hint="int64"), "int64"),
            cast(convert_to_tensor(sampled_candidates, dtype_hint="int64"), "int64"),
            num_true=num_true,
            seed=op_seed(seed),
            name=name,
        )
    )


def _one_table(table):
    if isinstance(table, (list, tuple)):
        if len(table) == 1:
            return table[0]
        raise NotImplementedError("weights over several shards are not supported: concat them")
    return table


def _without_hits(logits, labels, sampled, num_true):
    """The logits of sampled classes, as low as can be where they are true ones."""
    rows, places, lowest = compute_accidental_hits(labels, sampled, num_true)
    at = call("Pack", [rows, cast(places, "int32")], axis=1)
    return call("TensorScatterAdd", logits, at, cast(lowest, logits.dtype))


def _sampled_logits(
    weights, biases, labels, inputs, num_sampled, num_classes, num_true, sampled_values, **options
):
    """Logits of the true classes and of sampled ones, and their labels: [batch, num_true +
    num_sampled]."""
    inputs = convert_to_tensor(inputs)
    labels = cast(convert_to_tensor(labels, dtype_hint="int64"), "int64")
    weights, biases = _one_table(weights), _one_table(biases)
    if sampled_values is None:
        sampled_values = log_uniform_candidate_sampler(
            labels, num_true, num_sampled, True, num_classes, options["seed"]
        )
    sampled, true_count, sampled_count = (call("StopGradient", s) for s in sampled_values)
    sampled = cast(sampled, "int64")
    flat = call("Reshape", labels, [-1])
    true_rows = cast(gather(weights, flat), inputs.dtype)
    sampled_rows = cast(gather(weights, sampled), inputs.dtype)
    true_biases = cast(gather(biases, flat), inputs.dtype)
    sampled_biases = cast(gather(biases, sampled), inputs.dtype)

    size = call("Slice", call("Shape", inputs), [1], [1])
    by_row = call("Reshape", true_rows, call("ConcatV2", [[-1, num_true], size], 0))
    products = call("Mul", call("ExpandDims", inputs, 1), by_row)
    true_logits = call("AddV2", call("Sum", products, [2]), _in_rows(true_biases, num_true))
    logits = call("MatMul", inputs, sampled_rows, transpose_b=True)
    logits = call("AddV2", logits, sampled_biases)
    if options["remove_accidental_hits"]:
        logits = _without_hits(logits, labels, sampled, num_true)
    # By how likely it was that each was drawn.
    true_logits = call("Sub", true_logits, call("Log", cast(true_count, inputs.dtype)))
    logits = call("Sub", logits, call("Log", cast(sampled_count, inputs.dtype)))
    ones = call("RealDiv", call("OnesLike", true_logits), float(num_true))
    return (
        call("ConcatV2", [true_logits, logits], 1),
        call("ConcatV2", [ones, call("ZerosLike", logits)], 1),
    )


def _in_rows(biases, num_true):
    """A row for each example."""
    return call("Reshape", biases, [-1, num_true])


def sampled_softmax_loss(
    weights,
    biases,
    labels: TensorLike,
    inputs: TensorLike,
    num_sampled: int,
    num_classes: int,
    num_true: int = 1,
    sampled_values=None,
    remove_accidental_hits: bool = True,
    seed=None,
    name: str | None = "sampled_softmax_loss",
) -> Tensor:
    """The softmax cross entropy of each example over its true classes and some that are sampled,
    instead of all: for training alone. Source: Jean et al., On using very large target vocabulary
    (2014)."""
    del name
    logits, targets = _sampled_logits(
        weights,
        biases,
        labels,
        inputs,
        num_sampled,
        num_classes,
        num_true,
        sampled_values,
        remove_accidental_hits=remove_accidental_hits,
        seed=seed,
    )
    targets = call("StopGradient", targets)
    return calls("SoftmaxCrossEntropyWithLogits", logits, targets)[0]


def nce_loss(
    weights,
    biases,
    labels: TensorLike,
    inputs: TensorLike,
    num_sampled: int,
    num_classes: int,
    num_true: int = 1,
    sampled_values=None,
    remove_accidental_hits: bool = False,
    name: str | None = "nce_loss",
) -> Tensor:
    """The sum over each example's true classes and some that are sampled of the cross entropy of
    whether they are true. Source: Gutmann and Hyvärinen, Noise-contrastive estimation (2010)."""
    del name
    logits, targets = _sampled_logits(
        weights,
        biases,
        labels,
        inputs,
        num_sampled,
        num_classes,
        num_true,
        sampled_values,
        remove_accidental_hits=remove_accidental_hits,
        seed=None,
    )
    losses = table.sigmoid_cross_entropy_with_logits(targets, logits)
    return call("Sum", losses, [1])

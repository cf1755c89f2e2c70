"""Features of serialized SequenceExamples: of their context, and lists with one for each step."""

from __future__ import annotations

from gyre import _gyre
from gyre._impl.annotations import Any, TensorLike
from gyre._impl.composites.composite import INT64
from gyre._impl.composites.ragged import RaggedTensor
from gyre._impl.composites.sparse_tensor import SparseTensor
from gyre._impl.convert import convert_to_tensor
from gyre._impl.parsing.examples import _Plan
from gyre._impl.parsing.features import (
    FixedLenFeature,
    FixedLenSequenceFeature,
    RaggedFeature,
    VarLenFeature,
)

_STRING = _gyre.as_dtype("string")


class _Half:
    """The features of the context, or those of the lists."""

    def __init__(self, features, allowed: tuple, what: str):
        features = features or {}
        for key, feature in features.items():
            if not isinstance(feature, allowed):
                raise ValueError(f"{what} takes no {type(feature).__name__}, as that of {key!r}")
        self.plan = _Plan(features)
        self.ragged = [one.value_key or key for key, one in self.plan.ragged.items()]

    def keys(self) -> list:
        """Of the sparse, the dense and the ragged features: texts."""
        parts = list(self.plan.sparse), list(self.plan.dense), self.ragged
        return [_gyre.convert(part, _STRING) for part in parts]

    def dtypes(self) -> tuple[list, list, list]:
        """Of the sparse, the dense and the ragged features."""
        plan = self.plan
        return (
            list(plan.sparse.values()),
            [one.dtype for one in plan.dense.values()],
            [one.dtype for one in plan.ragged.values()],
        )

    def shapes(self, of_steps: bool) -> list:
        """Of the dense features; of_steps: of one step of each."""
        return [self.plan.dense_shape(key)[1 if of_steps else 0 :] for key in self.plan.dense]


def _parsed(serialized, context_features, sequence_features, names, name) -> tuple:
    if not context_features and not sequence_features:
        raise ValueError("there must be context_features or sequence_features")
    kinds = (VarLenFeature, RaggedFeature)
    context = _Half(context_features, (*kinds, FixedLenFeature), "the context")
    lists = _Half(sequence_features, (*kinds, FixedLenSequenceFeature), "sequence_features")
    context_types, list_types = context.dtypes(), lists.dtypes()
    may_lack = [one.allow_missing for one in lists.plan.dense.values()]
    outputs = iter(
        _gyre.execute(
            "ParseSequenceExampleV2",
            [
                serialized,
                _gyre.convert([], _STRING) if names is None else convert_to_tensor(names, _STRING),
                *context.keys(),
                *lists.keys(),
                _gyre.convert(may_lack, _gyre.as_dtype("bool")),
                [context.plan.default(key) for key in context.plan.dense],
            ],
            {
                "Ncontext_sparse": len(context_types[0]),
                "context_sparse_types": context_types[0],
                "Tcontext_dense": context_types[1],
                "context_ragged_value_types": context_types[2],
                "context_ragged_split_types": [INT64] * len(context_types[2]),
                "context_dense_shapes": context.shapes(False),
                "Nfeature_list_sparse": len(list_types[0]),
                "feature_list_sparse_types": list_types[0],
                "Nfeature_list_dense": len(list_types[1]),
                "feature_list_dense_types": list_types[1],
                "feature_list_ragged_value_types": list_types[2],
                "feature_list_ragged_split_types": [INT64] * len(list_types[2]),
                "feature_list_dense_shapes": lists.shapes(True),
            },
            name,
        )
    )

    def taken(keys):
        return {key: next(outputs) for key in keys}

    def sparse_of(keys):
        parts = [taken(keys) for _ in range(3)]
        return {key: SparseTensor.of_parts(*(part[key] for part in parts)) for key in keys}

    found = {**sparse_of(context.plan.sparse), **taken(context.plan.dense)}
    values, splits = taken(context.plan.ragged), taken(context.plan.ragged)
    found.update((key, RaggedTensor(values[key], splits[key])) for key in values)
    steps = {**sparse_of(lists.plan.sparse), **taken(lists.plan.dense)}
    lengths = taken(lists.plan.dense)
    values, outer, inner = (taken(lists.plan.ragged) for _ in range(3))
    for key in values:
        steps[key] = RaggedTensor(RaggedTensor(values[key], inner[key]), outer[key])
    return (
        {key: found[key] for key in context_features or ()},
        {key: steps[key] for key in sequence_features or ()},
        lengths,
    )


def parse_sequence_example(
    serialized: TensorLike,
    context_features: dict | None = None,
    sequence_features: dict | None = None,
    example_names=None,
    name: str | None = None,
) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
    """Of a vector of serialized SequenceExamples: ({name: tensor} of their contexts, as
    parse_example gives them; {name: tensor} of their feature lists, whose second axis are the
    steps; {name: how many steps each has} of those that are dense).

    sequence_features: FixedLenSequenceFeature, VarLenFeature or RaggedFeature.
    InvalidArgumentError for bytes that are none, and for features that do not fit."""
    return _parsed(
        convert_to_tensor(serialized, "string"),
        context_features,
        sequence_features,
        example_names,
        name,
    )


def parse_single_sequence_example(
    serialized: TensorLike,
    context_features: dict | None = None,
    sequence_features: dict | None = None,
    example_name=None,
    name: str | None = None,
) -> tuple[dict[str, Any], dict[str, Any]]:
    """The same of one SequenceExample, a scalar: without the dimension of examples."""
    context, lists, _ = _parsed(
        convert_to_tensor(serialized, "string"),
        context_features,
        sequence_features,
        example_name,
        name,
    )
    return (
        {key: _row(value) for key, value in context.items()},
        {key: _row(value) for key, value in lists.items()},
    )


def _row(value):
    return value.values if isinstance(value, RaggedTensor) else value

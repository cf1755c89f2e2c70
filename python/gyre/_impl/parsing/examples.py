"""Features of serialized Examples as tensors: parse_example and parse_single_example."""

from __future__ import annotations

from gyre import _gyre
from gyre._impl.annotations import Any, TensorLike
from gyre._impl.composites.composite import to_int64
from gyre._impl.composites.ragged import RaggedTensor
from gyre._impl.composites.sparse import reorder
from gyre._impl.composites.sparse_tensor import SparseTensor
from gyre._impl.convert import call, convert_to_tensor
from gyre._impl.parsing.features import (
    FixedLenFeature,
    FixedLenSequenceFeature,
    RaggedFeature,
    SparseFeature,
    VarLenFeature,
)
from gyre._impl.shape import TensorShape


class _Plan:
    """Which features of Examples are asked for: their keys and dtypes, by what they become."""

    def __init__(self, features: dict):
        self.sparse: dict = {}
        self.dense: dict = {}
        self.ragged: dict = {}
        for key in sorted(features):
            self._add(key, features[key])

    def _add(self, key: str, feature) -> None:
        if isinstance(feature, VarLenFeature):
            self._want(self.sparse, key, feature.dtype)
        elif isinstance(feature, SparseFeature):
            for index in self.index_keys(feature):
                self._want(self.sparse, index, _gyre.as_dtype("int64"))
            self._want(self.sparse, feature.value_key, feature.dtype)
        elif isinstance(feature, (FixedLenFeature, FixedLenSequenceFeature)):
            self.dense[key] = feature
        elif isinstance(feature, RaggedFeature):
            self.ragged[key] = feature
        else:
            raise ValueError(f"Invalid feature {key}:{feature}.")

    @staticmethod
    def index_keys(feature: SparseFeature) -> list:
        """The names of the features that hold indices."""
        keys = feature.index_key
        return [keys] if isinstance(keys, str) else list(keys)

    @staticmethod
    def _want(wanted: dict, key: str, dtype) -> None:
        if wanted.setdefault(key, dtype) != dtype:
            raise ValueError(f"the feature {key!r} is asked for with two dtypes")

    def dense_shape(self, key: str) -> list:
        """Of a dense feature; None: as large as need be."""
        feature = self.dense[key]
        dims = TensorShape(feature.shape)._dims
        if dims is None:
            raise ValueError(f"the feature {key!r} needs a shape of known rank")
        shape = list(dims)
        return [None, *shape] if isinstance(feature, FixedLenSequenceFeature) else shape

    def default(self, key: str):
        """Of a dense feature: an empty tensor where there is none."""
        feature = self.dense[key]
        if feature.default_value is None:
            is_sequence = isinstance(feature, FixedLenSequenceFeature)
            if is_sequence and feature.allow_missing:
                return convert_to_tensor("" if feature.dtype.name == "string" else 0, feature.dtype)
            return _gyre.convert([], feature.dtype)
        value = convert_to_tensor(feature.default_value, feature.dtype)
        is_sequence = isinstance(feature, FixedLenSequenceFeature)
        dims = [] if is_sequence else self.dense_shape(key)
        return call("Reshape", value, _gyre.convert(dims, _gyre.as_dtype("int32")))


def _parse(serialized, features: dict, names, name) -> dict:
    if not features:
        raise ValueError("Missing: features was {}.")
    plan = _Plan(features)
    ragged = [(feature.value_key or key, feature) for key, feature in plan.ragged.items()]
    keys = [list(plan.sparse), list(plan.dense), [key for key, _ in ragged]]
    defaults = [plan.default(key) for key in plan.dense]
    outputs = _gyre.execute(
        "ParseExampleV2",
        [
            serialized,
            _gyre.convert([], _gyre.as_dtype("string"))
            if names is None
            else convert_to_tensor(names, "string"),
            *(_gyre.convert(part, _gyre.as_dtype("string")) for part in keys),
            defaults,
        ],
        {
            "Tdense": [feature.dtype for feature in plan.dense.values()],
            "num_sparse": len(plan.sparse),
            "sparse_types": list(plan.sparse.values()),
            "ragged_value_types": [feature.dtype for _, feature in ragged],
            "ragged_split_types": [_gyre.as_dtype("int64")] * len(ragged),
            "dense_shapes": [plan.dense_shape(key) for key in plan.dense],
        },
        name,
    )
    count = len(plan.sparse)
    sparse = {
        key: SparseTensor.of_parts(outputs[i], outputs[count + i], outputs[2 * count + i])
        for i, key in enumerate(plan.sparse)
    }
    rest = iter(outputs[3 * count :])
    dense = {key: next(rest) for key in plan.dense}
    values = [next(rest) for _ in ragged]
    rows = {
        key: RaggedTensor(value, next(rest)) for key, value in zip(plan.ragged, values, strict=True)
    }
    result = {}
    for key, feature in features.items():
        if isinstance(feature, SparseFeature):
            result[key] = _sparse(feature, sparse)
        else:
            result[key] = dense.get(key, sparse.get(key, rows.get(key)))
    return result


def _sparse(feature: SparseFeature, parts: dict) -> SparseTensor:
    """Values at the indices that other features say, behind the Example's own."""
    values = parts[feature.value_key]
    sizes = [feature.size] if hasattr(feature.size, "__index__") else list(feature.size)
    rank = len(values.indices._dims) and values.indices._dims[1]
    heads = call("Slice", values.indices, [0, 0], [-1, rank - 1])
    columns = [call("ExpandDims", parts[key].values, 1) for key in _Plan.index_keys(feature)]
    indices = call("ConcatV2", [heads, *columns], 1)
    shape = call("ConcatV2", [values.dense_shape[:-1], to_int64([int(size) for size in sizes])], 0)
    result = SparseTensor.of_parts(indices, values.values, shape)
    return result if feature.already_sorted else reorder(result)


def parse_example(
    serialized: TensorLike, features: dict, example_names=None, name: str | None = None
) -> dict[str, Any]:
    """{name: tensor} of a vector of serialized Examples: a tensor for each FixedLenFeature, a
    SparseTensor for each VarLenFeature and SparseFeature, a RaggedTensor for each RaggedFeature.
    InvalidArgumentError for bytes that are no Example, and for features that do not fit."""
    return _parse(convert_to_tensor(serialized, "string"), features, example_names, name)


def parse_single_example(
    serialized: TensorLike, features: dict, example_names=None, name: str | None = None
) -> dict[str, Any]:
    """The same of one Example, a scalar: without the dimension of Examples. Of a RaggedFeature, its
    values."""
    parsed = _parse(convert_to_tensor(serialized, "string"), features, example_names, name)
    return {
        key: value.values if isinstance(value, RaggedTensor) else value
        for key, value in parsed.items()
    }

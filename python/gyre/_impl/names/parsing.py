"""Tensors out of bytes."""

_P = "gyre._impl.parsing."
_FEATURES = (
    "FixedLenFeature",
    "FixedLenSequenceFeature",
    "VarLenFeature",
    "SparseFeature",
    "RaggedFeature",
)
_EXAMPLES = ("parse_example", "parse_single_example")
_SEQUENCES = ("parse_sequence_example", "parse_single_sequence_example")
_RAW = ("decode_raw", "decode_csv", "parse_tensor", "encode_base64", "decode_compressed")
_PARTS = {
    **{name: f"{_P}features:{name}" for name in _FEATURES},
    **{name: f"{_P}examples:{name}" for name in _EXAMPLES},
    **{name: f"{_P}raw:{name}" for name in _RAW},
    **{name: f"{_P}sequences:{name}" for name in _SEQUENCES},
}
_MESSAGES = (
    "BytesList",
    "FloatList",
    "Int64List",
    "Feature",
    "Features",
    "FeatureList",
    "FeatureLists",
    "Example",
    "SequenceExample",
)
NAMES = {
    **{f"io.{name}": place for name, place in _PARTS.items()},
    **{f"train.{name}": f"gyre._impl.proto.messages:{name}" for name in _MESSAGES},
    **{
        f"compat.v1.{name}": place
        for name, place in _PARTS.items()
        if name not in ("RaggedFeature",)
    },
}

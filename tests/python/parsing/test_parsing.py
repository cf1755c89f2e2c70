"""gyre.io: features of Examples, lines of text and raw bytes. The Examples were serialized by
TensorFlow."""

import numpy as np
import pytest

import gyre

io = gyre.io
# a: [1, 2], b: [3, -4, 5], s: ["x", "yy"]; and a: [7, 8], b: [9].
FIRST = bytes.fromhex(
    "0a3a0a110a0161120c120a0a080000803f000000400a0e0a017312090a070a01780a0279790a150a016212101a0e"
    "0a0c03fcffffffffffffffff0105"
)
SECOND = bytes.fromhex("0a1f0a110a0161120c120a0a080000e040000000410a0a0a016212051a030a0109")


def test_features_of_examples():
    parsed = io.parse_example(
        [FIRST, SECOND],
        {
            "a": io.FixedLenFeature([2], "float32"),
            "b": io.VarLenFeature("int64"),
            "s": io.FixedLenSequenceFeature([], "string", allow_missing=True),
            "d": io.FixedLenFeature([], "int64", default_value=5),
            "r": io.RaggedFeature("string", value_key="s2"),
        },
    )
    assert list(parsed) == ["a", "b", "s", "d", "r"]
    np.testing.assert_array_equal(parsed["a"].numpy(), [[1, 2], [7, 8]])
    assert gyre.sparse.to_dense(parsed["b"]).numpy().tolist() == [[3, -4, 5], [9, 0, 0]]
    assert parsed["s"].numpy().tolist() == [[b"x", b"yy"], [b"", b""]]
    assert parsed["d"].numpy().tolist() == [5, 5]
    assert parsed["r"].to_list() == [[], []]
    with pytest.raises(gyre.errors.InvalidArgumentError, match="required"):
        io.parse_example([SECOND], {"s": io.FixedLenFeature([], "string")})


def test_one_example_in_a_function():
    @gyre.function
    def parse(serialized):
        features = {"a": io.FixedLenFeature([2], "float32"), "b": io.RaggedFeature("int64")}
        parsed = io.parse_single_example(serialized, features)
        return parsed["a"], parsed["b"]

    a, b = parse(gyre.constant(FIRST))
    assert a.numpy().tolist() == [1, 2] and b.numpy().tolist() == [3, -4, 5]


def test_lines_and_bytes():
    fields = io.decode_csv(['1,a b,"x,""y"""', "2,,z"], [[0], ["d"], gyre.constant([], "string")])
    assert [field.numpy().tolist() for field in fields] == [
        [1, 2],
        [b"a b", b"d"],
        [b'x,"y"', b"z"],
    ]
    assert io.decode_raw([b"\x01\x02"], "uint8").numpy().tolist() == [[1, 2]]
    assert io.decode_raw([b"\x01\x02\x03"], "uint8", fixed_length=2).numpy().tolist() == [[1, 2]]
    assert io.decode_base64(io.encode_base64(["hi"])).numpy().tolist() == [b"hi"]
    matrix = gyre.constant([[1, 2], [3, 4]])
    again = io.parse_tensor(io.serialize_tensor(matrix), "int32")
    np.testing.assert_array_equal(again.numpy(), matrix.numpy())

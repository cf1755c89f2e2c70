"""SequenceExamples. What is expected, TensorFlow 2.21 gives."""

import struct

import pytest

import gyre


def varint(n):
    head = b""
    while n > 127:
        head, n = head + bytes([n & 127 | 128]), n >> 7
    return head + bytes([n])


def field(number, value):
    return varint(number << 3 | 2) + varint(len(value)) + value


def feature(values):
    if not values:
        return b""
    if isinstance(values[0], bytes):
        return field(1, b"".join(field(1, value) for value in values))
    if isinstance(values[0], float):
        return field(2, field(1, struct.pack(f"<{len(values)}f", *values)))
    return field(3, field(1, b"".join(map(varint, values))))


def entries(parts):
    return b"".join(field(1, field(1, key) + field(2, value)) for key, value in parts.items())


def sequence(context, lists):
    lists = {key: b"".join(field(1, feature(s)) for s in steps) for key, steps in lists.items()}
    return field(1, entries({k: feature(v) for k, v in context.items()})) + field(2, entries(lists))


FIRST = sequence(
    {b"n": [3], b"w": [b"x", b"y"]}, {b"t": [[1, 2], [3]], b"d": [[1.0, 2.0], [3.0, 4.0]]}
)
SECOND = sequence({b"n": [4]}, {b"t": [[]], b"d": [[5.0, 6.0]], b"e": [[b"q"], [b"r", b"s"]]})
CONTEXT = {
    "n": gyre.io.FixedLenFeature([], gyre.int64),
    "w": gyre.io.VarLenFeature(gyre.string),
}
LISTS = {
    "t": gyre.io.VarLenFeature(gyre.int64),
    "d": gyre.io.FixedLenSequenceFeature([2], gyre.float32),
    "e": gyre.io.RaggedFeature(gyre.string),
}


def sparse(value):
    return [part.numpy().tolist() for part in (value.indices, value.values, value.dense_shape)]


@pytest.mark.parametrize("wrap", [lambda f: f, gyre.function], ids=["eager", "function"])
def test_of_several(wrap):
    context, lists, lengths = wrap(
        lambda: gyre.io.parse_sequence_example([FIRST, SECOND], CONTEXT, LISTS)
    )()
    assert context["n"].numpy().tolist() == [3, 4]
    assert sparse(context["w"]) == [[[0, 0], [0, 1]], [b"x", b"y"], [2, 2]]
    assert lists["d"].numpy().tolist() == [[[1, 2], [3, 4]], [[5, 6], [0, 0]]]
    assert lengths["d"].numpy().tolist() == [2, 1]
    assert lists["e"].to_list() == [[], [[b"q"], [b"r", b"s"]]]
    assert sparse(lists["t"]) == [[[0, 0, 0], [0, 0, 1], [0, 1, 0]], [1, 2, 3], [2, 2, 2]]


def test_of_one():
    context, lists = gyre.io.parse_single_sequence_example(SECOND, CONTEXT, LISTS)
    assert int(context["n"]) == 4 and sparse(context["w"]) == [[], [], [0]]
    assert lists["d"].numpy().tolist() == [[5, 6]]
    assert lists["e"].to_list() == [[b"q"], [b"r", b"s"]]
    assert sparse(lists["t"]) == [[], [], [1, 0]]
    raw = gyre.raw_ops.ParseSingleSequenceExample(
        serialized=FIRST,
        feature_list_dense_missing_assumed_empty=[],
        context_sparse_keys=["w"],
        context_dense_keys=["n"],
        feature_list_sparse_keys=["t"],
        feature_list_dense_keys=["d"],
        context_dense_defaults=[gyre.constant([], gyre.int64)],
        debug_name="",
        context_sparse_types=[gyre.string],
        feature_list_dense_types=[gyre.float32],
        context_dense_shapes=[[]],
        feature_list_sparse_types=[gyre.int64],
        feature_list_dense_shapes=[[2]],
    )
    assert int(raw.context_dense_values[0]) == 3
    assert raw.feature_list_dense_values[0].numpy().tolist() == [[1, 2], [3, 4]]


def test_what_does_not_fit():
    def parsed(context=None, lists=None, example=FIRST):
        return gyre.io.parse_sequence_example([example], context, lists)

    steps = gyre.io.FixedLenSequenceFeature
    wrong = [
        ("is required", lambda: parsed(lists={"z": steps([], gyre.int64)})),
        ("types don't match", lambda: parsed({"w": gyre.io.VarLenFeature(gyre.int64)})),
        ("step 0: number of float", lambda: parsed(lists={"d": steps([3], gyre.float32)})),
        ("could not parse", lambda: parsed(CONTEXT, example=b"bad")),
    ]
    for text, call in wrong:
        with pytest.raises(gyre.errors.InvalidArgumentError, match=text):
            call()
    _, lists, lengths = parsed(lists={"z": steps([], gyre.int64, allow_missing=True)})
    assert lists["z"].numpy().tolist() == [[]] and lengths["z"].numpy().tolist() == [0]
    with pytest.raises(ValueError, match="takes no FixedLenFeature"):
        parsed(lists={"n": CONTEXT["n"]})

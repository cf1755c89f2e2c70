"""SequenceExamples. What is expected, TensorFlow 2.21 gives."""

import pytest

import gyre

# n: 3, w: ["x", "y"]; t: [[1, 2], [3]], d: [[1, 2], [3, 4]]. And n: 4; t: [[]], d: [[5, 6]],
# e: [["q"], ["r", "s"]].
FIRST = bytes.fromhex(
    "0a1b0a0a0a016e12051a030a01030a0d0a017712080a060a01780a017912390a140a0174120f0a061a040a02"
    "01020a051a030a01030a210a0164121c0a0c120a0a080000803f000000400a0c120a0a080000404000008040"
)
SECOND = bytes.fromhex(
    "0a0c0a0a0a016e12051a030a010412360a070a017412020a000a130a0164120e0a0c120a0a080000a0400000"
    "c0400a160a016512110a050a030a01710a080a060a01720a0173"
)
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


def test_records_are_made_of_messages():
    train = gyre.train

    def numbers(*values):
        return train.Feature(int64_list=train.Int64List(value=values))

    texts = train.Feature(bytes_list=train.BytesList(value=[b"x", b"y"]))
    context = train.Features(feature={"n": numbers(3), "w": texts})
    lists = {"t": train.FeatureList(feature=[numbers(1, 2), numbers(3)])}
    for values in ([1.0, 2.0], [3.0, 4.0]):
        one = train.Feature(float_list=train.FloatList(value=values))
        lists.setdefault("d", train.FeatureList()).feature.append(one)
    record = train.SequenceExample(
        context=context, feature_lists=train.FeatureLists(feature_list=lists)
    )
    assert train.SequenceExample.FromString(FIRST) == record
    example = train.Example(features=context)
    found = gyre.io.parse_single_example(example.SerializeToString(), CONTEXT)
    assert int(found["n"]) == 3 and found["w"].values.numpy().tolist() == [b"x", b"y"]

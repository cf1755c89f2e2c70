"""Functions of tensors that keep sparse ones sparse; crosses of features; sparse tensors as bytes.
What they give, TensorFlow 2.21 gives."""

import gzip
import zlib

import numpy as np
import pytest

import gyre

SPARSE = gyre.SparseTensor([[0, 1], [1, 0], [1, 2]], [1.0, -2.0, 3.0], [2, 3])
WORDS = gyre.SparseTensor([[0, 0], [0, 1], [1, 0]], ["a", "b", "c"], [2, 2])
MORE = gyre.SparseTensor([[0, 0], [1, 0], [1, 1]], ["x", "y", "z"], [2, 2])


@pytest.mark.parametrize("wrap", [lambda f: f, gyre.function], ids=["eager", "function"])
def test_zeros_stay_zeros(wrap):
    squares, numbers, roots = wrap(
        lambda x: (gyre.square(x), gyre.cast(x, gyre.int32), gyre.sqrt(gyre.abs(x)))
    )(SPARSE)
    assert all(isinstance(one, gyre.SparseTensor) for one in (squares, numbers, roots))
    assert squares.values.numpy().tolist() == [1, 4, 9]
    assert numbers.dtype == gyre.int32 and numbers.values.numpy().tolist() == [1, -2, 3]
    np.testing.assert_allclose(roots.values, [1, 2**0.5, 3**0.5], rtol=1e-6)
    assert isinstance(gyre.exp(SPARSE), gyre.Tensor)

    def gradient(values):
        with gyre.GradientTape() as tape:
            tape.watch(values)
            total = gyre.reduce_sum(gyre.square(SPARSE.with_values(values)).values)
        return tape.gradient(total, values)

    assert wrap(gradient)(SPARSE.values).numpy().tolist() == [2, -4, 6]


def test_crosses():
    crossed = gyre.sparse.cross([WORDS, gyre.constant([[1], [2]], gyre.int64), MORE], separator="-")
    assert crossed.values.numpy().tolist() == [b"a-x-1", b"b-x-1", b"c-y-2", b"c-z-2"]
    assert crossed.indices.numpy().tolist() == [[0, 0], [0, 1], [1, 0], [1, 1]]
    hashed = gyre.sparse.cross_hashed([WORDS, MORE], num_buckets=100)
    assert hashed.values.numpy().tolist() == [92, 4, 60, 80]
    assert gyre.sparse.cross_hashed([WORDS, MORE]).values.numpy().tolist()[0] == 1484974617627318892
    ids = gyre.ragged.constant([[3, 1], [2]])
    texts = gyre.ragged.constant([["a"], ["b", "c"]])
    assert gyre.ragged.cross([ids, texts]).to_list() == [
        [b"3_X_a", b"1_X_a"],
        [b"2_X_b", b"2_X_c"],
    ]
    assert gyre.ragged.cross_hashed([ids, texts], num_buckets=100).to_list() == [[52, 45], [49, 82]]
    with pytest.raises(ValueError, match="texts or integers"):
        gyre.sparse.cross([SPARSE])


def test_sparse_tensors_as_bytes():
    rows = gyre.io.serialize_many_sparse(SPARSE)
    back = gyre.io.deserialize_many_sparse(rows, gyre.float32)
    assert back.indices.numpy().tolist() == SPARSE.indices.numpy().tolist()
    assert back.values.numpy().tolist() == [1, -2, 3] and back.dense_shape.numpy().tolist() == [
        2,
        3,
    ]
    whole = gyre.raw_ops.DeserializeSparse(
        serialized_sparse=gyre.stack([gyre.io.serialize_sparse(SPARSE)] * 2), dtype=gyre.float32
    )
    assert whole.sparse_shape.numpy().tolist() == [2, 2, 3]
    assert whole.sparse_values.numpy().tolist() == [1, -2, 3] * 2
    with pytest.raises(gyre.errors.InvalidArgumentError, match="could not parse"):
        gyre.io.deserialize_many_sparse([["x", "y", "z"]], gyre.float32)


def test_decode_compressed():
    plain = [b"hello " * 1000, b""]
    for kind, packed in (("ZLIB", zlib.compress), ("GZIP", gzip.compress), ("", lambda x: x)):
        found = gyre.io.decode_compressed([packed(text) for text in plain], kind)
        assert found.numpy().tolist() == plain
    with pytest.raises(gyre.errors.InvalidArgumentError, match="decompressed"):
        gyre.io.decode_compressed(["no zlib"], "ZLIB")
    with pytest.raises(gyre.errors.InvalidArgumentError, match="too early"):
        gyre.io.decode_compressed([zlib.compress(b"hello")[:-5]], "ZLIB")


def test_unicode_script():
    codes = gyre.ragged.constant([[65, 1488], [0x4E00, 48, 0x110000]])
    assert gyre.strings.unicode_script(codes).to_list() == [[25, 19], [17, 0, -1]]


def test_embeddings_of_ragged_ids():
    table = gyre.constant([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    ids, weights = gyre.ragged.constant([[0, 2], [1]]), gyre.ragged.constant([[1.0, 2.0], [3.0]])
    summed = gyre.nn.embedding_lookup_sparse(table, ids, None, combiner="sum")
    assert summed.numpy().tolist() == [[6, 8], [3, 4]]
    mean = gyre.nn.embedding_lookup_sparse(table, ids, weights, combiner="mean")
    np.testing.assert_allclose(mean, [[11 / 3, 14 / 3], [3, 4]], rtol=1e-6)
    assert gyre.nn.embedding_lookup(table, ids).to_list() == [[[1, 2], [5, 6]], [[3, 4]]]

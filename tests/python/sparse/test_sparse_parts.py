"""gyre.sparse, gyre.ragged and embeddings of sparse ids. Values from TensorFlow."""

import numpy as np
import pytest

import gyre

sparse, ragged = gyre.sparse, gyre.ragged


def _three():
    return gyre.SparseTensor([[0, 0], [0, 2], [2, 1]], [1.0, 2.0, 3.0], [3, 4])


def _dense(x):
    return sparse.to_dense(x).numpy().tolist()


def test_more_segments_than_an_int32_counts():
    for function in (sparse.segment_sum, sparse.segment_mean, sparse.segment_sqrt_n):
        with pytest.raises(ValueError, match="num_segments: 4294967299 does not fit int32"):
            function([[1.0]], [0], [0], num_segments=2**32 + 3)


def test_parts():
    x = _three()
    assert _dense(x) == [[1, 0, 2, 0], [0, 0, 0, 0], [0, 3, 0, 0]]
    assert _dense(sparse.slice(x, [0, 1], [3, 5])) == [[0, 2, 0], [0, 0, 0], [3, 0, 0]]
    left, right = sparse.split(x, num_split=2, axis=1)
    assert _dense(left) == [[1, 0], [0, 0], [0, 3]] and _dense(right)[0] == [2, 0]
    assert _dense(sparse.concat(1, [left, right])) == _dense(x)
    assert _dense(sparse.reshape(x, [2, -1])) == [[1, 0, 2, 0, 0, 0], [0, 0, 0, 3, 0, 0]]
    assert _dense(sparse.transpose(x)) == np.transpose(_dense(x)).tolist()
    assert _dense(sparse.retain(x, [True, False, True]))[0] == [1, 0, 0, 0]
    filled, is_empty = sparse.fill_empty_rows(x, 9.0)
    assert _dense(filled)[1] == [9, 0, 0, 0] and is_empty.numpy().tolist() == [False, True, False]
    assert sparse.reset_shape(x).dense_shape.numpy().tolist() == [3, 3]
    assert _dense(sparse.eye(2, 3)) == [[1, 0, 0], [0, 1, 0]]


def test_values():
    x = _three()
    np.testing.assert_array_equal(sparse.reduce_sum(x, 1).numpy(), [3, 0, 3])
    np.testing.assert_array_equal(sparse.reduce_sum(x).numpy(), 6)
    np.testing.assert_array_equal(sparse.reduce_max(x, 0).numpy(), [1, 3, 2, 0])
    sums = sparse.reduce_sum(x, 1, output_is_sparse=True)
    assert sums.indices.numpy().tolist() == [[0], [2]]
    np.testing.assert_allclose(
        sparse.softmax(x).values.numpy(), [0.26894143, 0.7310586, 1.0], rtol=1e-6
    )
    assert sparse.maximum(x, sparse.map_values(gyre.negative, x)).values.numpy().tolist() == [
        1,
        2,
        3,
    ]
    assert sparse.add(x, gyre.ones([3, 4])).numpy().tolist()[0] == [2, 1, 3, 1]


def test_products_have_gradients():
    x, b = _three(), gyre.constant(np.arange(8.0, dtype=np.float32).reshape(4, 2))
    with gyre.GradientTape() as tape:
        tape.watch([x.values, b])
        y = gyre.reduce_sum(sparse.sparse_dense_matmul(x, b) ** 2)
    by_values, by_b = tape.gradient(y, [x.values, b])
    dense = np.array(_dense(x))
    product = 2 * dense @ b.numpy()
    np.testing.assert_allclose(by_b.numpy(), dense.T @ product)
    all_values = product @ b.numpy().T
    np.testing.assert_allclose(by_values.numpy(), all_values[[0, 0, 2], [0, 2, 1]])
    left = sparse.sparse_dense_matmul(gyre.ones([2, 3]), x)
    np.testing.assert_array_equal(left.numpy(), [[1, 3, 2, 0], [1, 3, 2, 0]])


def test_embeddings_of_sparse_ids():
    table = gyre.constant([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    places = [[0, 0], [0, 1], [2, 0]]
    ids = gyre.SparseTensor(places, [0, 2, 1], [3, 2])
    weights = gyre.SparseTensor(places, [1.0, 3.0, 2.0], [3, 2])
    np.testing.assert_allclose(
        gyre.nn.embedding_lookup_sparse(table, ids, weights, combiner="sqrtn").numpy(),
        [[5.0596442222595215, 6.324555397033691], [0, 0], [3, 4]],
        rtol=1e-6,
    )
    np.testing.assert_array_equal(
        gyre.nn.safe_embedding_lookup_sparse(
            table, gyre.SparseTensor(places, [0, -1, 1], [3, 2])
        ).numpy(),
        [[1, 2], [0, 0], [3, 4]],
    )


def test_ragged_tensors_and_what_makes_them():
    rows = ragged.constant([[1, 2], [], [3, 4, 5]])
    assert rows.to_tensor().numpy().tolist() == [[1, 2, 0], [0, 0, 0], [3, 4, 5]]
    assert rows.to_tensor(-1, shape=[None, 2]).numpy().tolist() == [[1, 2], [-1, -1], [3, 4]]
    assert gyre.RaggedTensor.from_sparse(rows.to_sparse()).to_list() == [[1, 2], [], [3, 4, 5]]
    assert ragged.range([0, 5, 8], [3, 5, 2], [1, 1, -2]).to_list() == [[0, 1, 2], [], [8, 6, 4]]
    assert ragged.row_splits_to_segment_ids([0, 2, 2, 5]).numpy().tolist() == [0, 0, 2, 2, 2]
    assert ragged.segment_ids_to_row_splits([0, 0, 2]).numpy().tolist() == [0, 2, 2, 3]
    assert ragged.map_flat_values(gyre.negative, rows).to_list() == [[-1, -2], [], [-3, -4, -5]]
    mask = [[True, False], [True, True]]
    assert ragged.boolean_mask([[1, 2], [3, 4]], mask).to_list() == [[1], [3, 4]]
    stacked = ragged.stack([gyre.constant([1, 2]), gyre.constant([3])])
    assert stacked.to_list() == [[1, 2], [3]]

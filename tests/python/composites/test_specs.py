"""Ragged and sparse tensors and IndexedSlices in signatures;
functions of sparse and ragged tensors."""

import operator

import numpy as np
import pytest

import gyre

ROWS = gyre.ragged.constant([[1.0, 2.0], [], [3.0]])
MATRIX = gyre.SparseTensor([[0, 1], [2, 0]], [2.0, 3.0], [3, 2])
SLICES = gyre.IndexedSlices(gyre.ones([2, 3]), gyre.constant([4, 0]), gyre.constant([5, 3]))


@pytest.mark.parametrize(
    "value,spec",
    [
        (ROWS, gyre.RaggedTensorSpec([None, None])),
        (MATRIX, gyre.SparseTensorSpec([None, None])),
        (SLICES, gyre.IndexedSlicesSpec([5, 3], gyre.float32, gyre.int32, gyre.int32)),
    ],
)
def test_signatures(value, spec):
    count = []

    @gyre.function(input_signature=[spec])
    def twice(x):
        count.append(1)
        return x, x.values * 2.0

    same, doubled = twice(value)
    assert type(same) is type(value)
    np.testing.assert_array_equal(doubled, value.values.numpy() * 2)
    twice(same)
    assert len(count) == 1
    assert spec.is_compatible_with(value) and gyre.type_spec_from_value(value).is_compatible_with(
        value
    )
    with pytest.raises(TypeError, match="input_signature says"):
        twice(gyre.ones([2]))
    concrete = twice.get_concrete_function()
    (stated,), _ = concrete.structured_input_signature
    assert type(stated) is type(spec) and stated.shape.rank == spec.shape.rank
    np.testing.assert_array_equal(concrete(value)[1], doubled)


def test_specs_compare():
    assert gyre.RaggedTensorSpec([2, None]) == gyre.RaggedTensorSpec([2, None])
    assert gyre.RaggedTensorSpec([2, None]) != gyre.RaggedTensorSpec([3, None])
    assert hash(gyre.SparseTensorSpec([2])) == hash(gyre.SparseTensorSpec([2]))
    assert gyre.SparseTensorSpec([2]) != gyre.RaggedTensorSpec([2, None])
    assert gyre.RaggedTensorSpec([None, None, None]).ragged_rank == 2
    assert not gyre.SparseTensorSpec([3, 2], gyre.int32).is_compatible_with(MATRIX)
    assert "RaggedTensorSpec" in repr(gyre.type_spec_from_value(ROWS))
    with pytest.raises(ValueError, match="ragged_rank"):
        gyre.RaggedTensorSpec(None)
    with pytest.raises(ValueError, match="int64"):
        gyre.RaggedTensorSpec([None, None], row_splits_dtype=gyre.int32)


def test_nested_ragged_signature():
    deep = gyre.ragged.constant([[[1, 2], []], [[3]]])

    @gyre.function(input_signature=[gyre.RaggedTensorSpec([None, None, None], gyre.int32)])
    def total(x):
        return gyre.reduce_sum(x.flat_values), x.nrows()

    assert [int(v) for v in total(deep)] == [6, 2]


def test_loops_with_stated_shapes():
    grown = gyre.while_loop(
        lambda i, s: i < 2,
        lambda i, s: (i + 1, gyre.SparseTensor(s.indices, s.values * 2.0, s.dense_shape)),
        [gyre.constant(0), MATRIX],
        shape_invariants=[gyre.TensorShape([]), gyre.TensorShape([2])],
    )[1]
    assert grown.values.numpy().tolist() == [8.0, 12.0]

    @gyre.function
    def ragged(n):
        spec = gyre.RaggedTensorSpec([None, None])
        return gyre.while_loop(
            lambda i, r: i < n,
            lambda i, r: (
                i + 1,
                gyre.RaggedTensor.from_row_lengths(
                    gyre.concat([r.values, [0.0]], 0), gyre.concat([r.row_lengths(), [1]], 0)
                ),
            ),
            [0, ROWS],
            shape_invariants=[gyre.TensorShape([]), spec],
        )[1]

    assert ragged(gyre.constant(2)).to_list() == [[1.0, 2.0], [], [3.0], [0.0], [0.0]]


def test_sparse_functions():
    dense = np.array([[0, 2], [0, 0], [3, 0]], np.float32)
    np.testing.assert_array_equal(gyre.sparse.to_dense(MATRIX), dense)
    np.testing.assert_array_equal(
        gyre.sparse.to_dense(MATRIX, -1.0), np.where(dense == 0, -1, dense)
    )
    for axis in (None, 0, 1, -1, [0, 1]):
        for keep in (False, True):
            np.testing.assert_array_equal(
                gyre.sparse.reduce_sum(MATRIX, axis, keep),
                dense.sum(tuple(axis) if isinstance(axis, list) else axis, keepdims=keep),
            )
    for axis in (0, 1, 2, -1, -3):
        wide = gyre.sparse.expand_dims(MATRIX, axis)
        np.testing.assert_array_equal(gyre.sparse.to_dense(wide), np.expand_dims(dense, axis))
    right = np.arange(6.0, dtype=np.float32).reshape(2, 3)
    np.testing.assert_array_equal(gyre.sparse.sparse_dense_matmul(MATRIX, right), dense @ right)
    np.testing.assert_array_equal(
        gyre.sparse.sparse_dense_matmul(MATRIX, np.ones((3, 1), np.float32), adjoint_a=True),
        dense.T @ np.ones((3, 1)),
    )
    mixed = gyre.SparseTensor([[2, 0], [0, 1]], [3.0, 2.0], [3, 2])
    assert gyre.sparse.reorder(mixed).indices.numpy().tolist() == [[0, 1], [2, 0]]
    total = gyre.sparse.add(MATRIX, gyre.sparse.reorder(mixed))
    np.testing.assert_array_equal(gyre.sparse.to_dense(total), 2 * dense)
    np.testing.assert_array_equal(gyre.sparse.add(MATRIX, np.ones((3, 2), np.float32)), dense + 1)
    words = gyre.sparse.from_dense([["a", ""], ["", "b"]])
    assert words.values.numpy().tolist() == [b"a", b"b"]
    with pytest.raises(ValueError, match="but got 2"):
        gyre.sparse.reduce_sum(MATRIX, 2)
    with pytest.raises(TypeError, match="SparseTensor is wanted"):
        gyre.sparse.to_dense(gyre.ones([2]))


def test_ragged_forms():
    np.testing.assert_array_equal(ROWS.to_tensor(), [[1, 2], [0, 0], [3, 0]])
    deep = gyre.ragged.constant([[[1, 2], []], [[3]]])
    np.testing.assert_array_equal(deep.to_tensor(-1), [[[1, 2], [-1, -1]], [[3, -1], [-1, -1]]])
    assert ROWS.value_rowids().numpy().tolist() == [0, 0, 2]
    assert ROWS.row_limits().numpy().tolist() == [2, 2, 3]
    assert ROWS.bounding_shape().numpy().tolist() == [3, 2]
    again = gyre.RaggedTensor.from_value_rowids([1.0, 2.0, 3.0], [0, 0, 2], nrows=4)
    assert again.to_list() == [[1.0, 2.0], [], [3.0], []]
    cut = gyre.RaggedTensor.from_tensor(gyre.constant([[1, 2], [3, 4]]), lengths=[1, 2])
    assert cut.to_list() == [[1], [3, 4]]
    assert gyre.RaggedTensor.from_nested_row_splits(
        gyre.range(3), [[0, 1, 2], [0, 2, 3]]
    ).to_list() == [[[0, 1]], [[2]]]
    assert (1.0 - ROWS).to_list() == [[0.0, -1.0], [], [-2.0]]
    assert ROWS.numpy()[2].tolist() == [3.0]
    with pytest.raises(ValueError, match="to_tensor"):
        gyre.convert_to_tensor(ROWS)


@pytest.mark.parametrize("wrap", [lambda f: f, gyre.function], ids=["eager", "function"])
def test_map_fn_of_sparse_tensors(wrap):
    sparse = gyre.SparseTensor([[0, 1], [2, 0], [2, 3]], [1.0, 2.0, 3.0], [4, 5])
    doubled = wrap(lambda x: gyre.map_fn(lambda row: row * 2, x))(sparse)
    assert doubled.shape.as_list() == [4, 5]
    assert doubled.indices.numpy().tolist() == [[0, 1], [2, 0], [2, 3]]
    assert doubled.values.numpy().tolist() == [2.0, 4.0, 6.0]
    both = wrap(
        lambda x, y: gyre.map_fn(
            lambda row: (row[0], gyre.sparse.reduce_sum(row[0]) + row[1]),
            (x, y),
            fn_output_signature=(gyre.SparseTensorSpec([5], gyre.float32), gyre.float32),
        )
    )(sparse, gyre.constant([10.0, 20.0, 30.0, 40.0]))
    assert gyre.sparse.to_dense(both[0]).numpy()[2].tolist() == [2.0, 0.0, 0.0, 3.0, 0.0]
    assert both[1].numpy().tolist() == [11.0, 20.0, 35.0, 40.0]
    with pytest.raises(TypeError, match="give fn_output_signature"):
        wrap(lambda x: gyre.map_fn(lambda row: gyre.sparse.reduce_sum(row), x))(sparse)


@pytest.mark.parametrize("wrap", [lambda f: f, gyre.function])
def test_operators_of_ragged_tensors(wrap):
    a = gyre.ragged.constant([[1, -2], [], [3]])
    b = gyre.ragged.constant([[1, 5], [], [3]])

    def rows(function, *of):
        return wrap(function)(*of).to_list()

    assert rows(lambda x, y: x == y, a, b) == [[True, False], [], [True]]
    assert rows(lambda x, y: x != y, a, b) == [[False, True], [], [False]]
    assert rows(lambda x: x == 3, a) == [[False, False], [], [True]]
    assert rows(lambda x, y: (x >= y) & (x <= 1), a, b) == [[True, False], [], [False]]
    assert rows(lambda x: (x == 1) | (x != 3), a) == [[True, True], [], [False]]
    assert rows(lambda x: ~(x == 1), a) == [[False, True], [], [True]]
    assert rows(lambda x: ~x, a) == [[-2, 1], [], [-4]]
    assert rows(lambda x: x // 2, a) == [[0, -1], [], [1]]
    assert rows(lambda x: 7 // x, a) == [[7, -4], [], [2]]
    assert rows(lambda x: 7 % x, a) == [[0, -1], [], [1]]
    assert rows(lambda x: abs(x), a) == [[1, 2], [], [3]]


def test_ragged_tensors_that_do_not_compare():
    a, b = gyre.ragged.constant([[1, 2], [], [3]]), gyre.ragged.constant([[1], [2], [3]])
    for op in (operator.add, operator.eq):
        with pytest.raises(gyre.errors.InvalidArgumentError, match="different lengths"):
            op(a, b)
    assert (a == None) is False and (a != None) is True  # noqa: E711
    with pytest.raises(TypeError, match="no truth value"):
        bool(a == a.with_values(a.values))
    assert {a: 1}[a] == 1


@pytest.mark.parametrize("wrap", [lambda f: f, gyre.function])
def test_sparse_and_dense_tensors(wrap):
    x = gyre.SparseTensor([[0, 1], [1, 0]], [2.0, 3.0], [2, 2])
    for dense in ([[1.0, 4.0], [5.0, 8.0]], [[4.0, 2.0]], [2.0, 10.0], [[2.0], [10.0]], 2.0):
        y = gyre.constant(dense)
        product, quotient = wrap(lambda x, y: (x * y, x / y))(x, y)
        whole = np.array([[0, 2], [3, 0]], np.float32)
        for got, want in ((product, whole * y.numpy()), (quotient, whole / y.numpy())):
            assert got.values.shape == [2] and got.dtype == gyre.float32
            np.testing.assert_array_equal(gyre.sparse.to_dense(got).numpy(), want)


def test_sparse_and_dense_tensors_of_other_types():
    x = gyre.SparseTensor([[0, 1], [1, 0]], [2.0, 3.0], [2, 2])
    places = np.array([2, 10], np.float32)
    for product in (x * [2, 10], [2, 10] * x, places * x, x * gyre.Variable(places)):
        assert product.values.numpy().tolist() == [20, 6]
    for dtype in ("int8", "int32", "int64"):
        whole = gyre.SparseTensor([[0], [2]], gyre.constant([7, 4], dtype), [3])
        for other in ([2, 1, 8], gyre.constant([2, 1, 8], dtype), 2, gyre.constant(2, dtype)):
            quotient = whole / other
            assert quotient.dtype == (whole.values / whole.values).dtype
            assert quotient.values.numpy()[0] == 3.5
    for op in (operator.mul, operator.truediv):
        with pytest.raises(TypeError, match="two SparseTensors"):
            op(x, x)
        with pytest.raises(gyre.errors.InvalidArgumentError, match="cannot be broadcast"):
            op(x, gyre.ones([2, 2, 2]))


def test_gradients_of_sparse_and_dense_tensors():
    values, y = gyre.constant([2.0, 3.0]), gyre.constant([2.0, 10.0])
    with gyre.GradientTape() as tape:
        tape.watch([values, y])
        x = gyre.SparseTensor([[0, 1], [1, 0]], values, [2, 2])
        total = gyre.reduce_sum((x * y).values) + gyre.reduce_sum((x / y).values)
    by_values, by_dense = tape.gradient(total, [values, y])
    np.testing.assert_allclose(by_values.numpy(), [10.1, 2.5], rtol=1e-6)
    np.testing.assert_allclose(by_dense.numpy(), [3 - 0.75, 2 - 0.02], rtol=1e-6)

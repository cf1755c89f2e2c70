"""Making, reshaping and joining tensors against numpy."""

import numpy as np
import pytest

import gyre

X = np.arange(24.0).reshape(2, 3, 4)


def same(result, expected):
    np.testing.assert_array_equal(result.numpy(), expected)


def test_constant():
    assert gyre.constant([1.5]).dtype == gyre.float32
    assert gyre.constant(2**40).dtype == gyre.int64
    same(gyre.constant(3, shape=[2, 2]), np.full((2, 2), 3))
    same(gyre.constant([1, 2, 3, 4], shape=(2, 2)), [[1, 2], [3, 4]])
    with pytest.raises(TypeError, match="cannot be a constant of shape"):
        gyre.constant([1, 2, 3], shape=[2, 2])


def test_convert_to_tensor():
    x = gyre.constant(1.0)
    assert gyre.convert_to_tensor(x) is x
    same(gyre.convert_to_tensor([x, 2.0, gyre.Variable(3.0)]), [1, 2, 3])
    assert gyre.convert_to_tensor(1, dtype_hint=gyre.float64).dtype == gyre.float64
    same(gyre.convert_to_tensor(gyre.TensorShape([2, 3])), [2, 3])
    with pytest.raises(ValueError):
        gyre.convert_to_tensor(x, gyre.int32)


def test_fill():
    same(gyre.zeros([2, 3]), np.zeros((2, 3)))
    same(gyre.zeros(2, gyre.bool), [False, False])
    same(gyre.zeros([1], gyre.string), np.array([b""], object))
    same(gyre.ones((2,), gyre.int64), [1, 1])
    same(gyre.fill([2], 7), [7, 7])
    same(gyre.zeros_like(X), np.zeros_like(X))
    assert gyre.ones_like(gyre.constant([1, 2]), gyre.float64).dtype == gyre.float64
    same(gyre.zeros([gyre.constant(2), 1]), np.zeros((2, 1)))


def test_ranges():
    same(gyre.range(5), np.arange(5))
    same(gyre.range(2, 10, 3), [2, 5, 8])
    same(gyre.range(1.0, 2.0, 0.25), [1, 1.25, 1.5, 1.75])
    assert gyre.range(3, dtype=gyre.int64).dtype == gyre.int64
    assert gyre.range(gyre.constant(3, gyre.int64)).dtype == gyre.int64
    np.testing.assert_allclose(gyre.linspace(0.0, 1.0, 5).numpy(), np.linspace(0, 1, 5))
    np.testing.assert_allclose(
        gyre.linspace([0.0, 1.0], [1.0, 3.0], 3, axis=-1).numpy(), [[0, 0.5, 1], [1, 2, 3]]
    )


def test_eye_and_masks():
    same(gyre.eye(3, 2), np.eye(3, 2))
    same(gyre.eye(2, batch_shape=[3]), np.broadcast_to(np.eye(2), (3, 2, 2)))
    same(gyre.one_hot([0, 2, -1], 3), [[1, 0, 0], [0, 0, 1], [0, 0, 0]])
    same(gyre.one_hot([1], 2, on_value=5, off_value=-1, axis=0), [[-1], [5]])
    same(gyre.sequence_mask([1, 3]), [[True, False, False], [True, True, True]])
    same(gyre.sequence_mask([1], 2, gyre.int32), [[1, 0]])


def test_meshgrid():
    for indexing in ("xy", "ij"):
        expected = np.meshgrid([1, 2, 3], [4, 5], indexing=indexing)
        for a, b in zip(gyre.meshgrid([1, 2, 3], [4, 5], indexing=indexing), expected, strict=True):
            same(a, b)


def test_reshaping():
    same(gyre.reshape(X, [4, -1]), X.reshape(4, -1))
    same(gyre.reshape(X, [gyre.constant(6), 4]), X.reshape(6, 4))
    same(gyre.expand_dims(X, -1), X[..., None])
    same(gyre.squeeze(X[None, :, :, :1]), X[..., 0])
    same(gyre.squeeze(X[None], 0), X)
    same(gyre.transpose(X), X.T)
    same(gyre.transpose(X, [1, 0, 2]), X.transpose(1, 0, 2))
    same(gyre.linalg.matrix_transpose(X), X.transpose(0, 2, 1))
    with pytest.raises(gyre.errors.InvalidArgumentError):
        gyre.reshape(X, [5, 5])


def test_joining_and_cutting():
    same(gyre.concat([X, X], 1), np.concatenate([X, X], 1))
    same(gyre.concat([X], 0), X)
    same(gyre.stack([1, gyre.constant(2.0)]), [1, 2])
    same(gyre.stack([X, X], axis=-1), np.stack([X, X], -1))
    for a, b in zip(gyre.unstack(X, axis=1), X.transpose(1, 0, 2), strict=True):
        same(a, b)
    assert [t.shape.as_list() for t in gyre.split(X, 2, axis=2)] == [[2, 3, 2]] * 2
    assert [t.shape.as_list() for t in gyre.split(X, [1, -1], axis=1)] == [[2, 1, 4], [2, 2, 4]]


def test_repeating():
    same(gyre.tile([1, 2], [2]), [1, 2, 1, 2])
    same(gyre.broadcast_to([1, 2], [3, 2]), np.broadcast_to([1, 2], (3, 2)))
    same(gyre.repeat([1, 2, 3], [0, 2, 1]), [2, 2, 3])
    same(gyre.repeat(X, 2, axis=1), X.repeat(2, 1))
    same(gyre.repeat(X, 2), X.repeat(2))
    same(gyre.repeat(X, [1, 0, 2, 3], axis=-1), X.repeat([1, 0, 2, 3], -1))


def test_pad_reverse_roll():
    same(
        gyre.pad([[1, 2]], [[1, 0], [0, 2]], constant_values=9),
        np.pad([[1, 2]], [[1, 0], [0, 2]], constant_values=9),
    )
    same(gyre.pad([1, 2, 3], [[2, 2]], "REFLECT"), np.pad([1, 2, 3], 2, "reflect"))
    same(gyre.pad([1, 2, 3], [[2, 2]], "SYMMETRIC"), np.pad([1, 2, 3], 2, "symmetric"))
    same(gyre.reverse(X, [0, 2]), X[::-1, :, ::-1])
    same(gyre.reverse_sequence([[1, 2, 3], [4, 5, 6]], [2, 3], seq_axis=1), [[2, 1, 3], [6, 5, 4]])
    same(gyre.roll(X, 1, 2), np.roll(X, 1, 2))
    same(gyre.roll(X, [2, -1], [0, 1]), np.roll(X, [2, -1], [0, 1]))


def test_masks_and_sets():
    mask = X % 2 == 0
    same(gyre.boolean_mask(X, mask), X[mask])
    same(gyre.boolean_mask(X, [True, False]), X[[True, False]])
    same(gyre.boolean_mask(X, [False, True, True], axis=1), X[:, [False, True, True]])
    y, index, count = gyre.unique_with_counts([3, 1, 3])
    same(y, [3, 1])
    same(index, [0, 1, 0])
    same(count, [2, 1])
    parts = gyre.dynamic_partition([1, 2, 3], [0, 1, 0], 2)
    same(parts[0], [1, 3])
    same(gyre.dynamic_stitch([[0, 2], [1]], [[10, 30], [20]]), [10, 20, 30])


def test_shapes_at_run_time():
    same(gyre.shape(X), [2, 3, 4])
    assert gyre.shape(X, gyre.int64).dtype == gyre.int64
    assert int(gyre.size(X)) == 24 and int(gyre.rank(X)) == 3
    same(gyre.broadcast_dynamic_shape([2, 1], [3]), [2, 3])
    assert gyre.broadcast_static_shape([2, 1], [None]) == gyre.TensorShape([2, None])
    with pytest.raises(gyre.errors.InvalidArgumentError):
        gyre.ensure_shape(X, [2, 3, 5])


def test_a_mask_of_another_shape_is_refused():
    for mask in ([True], [True, False, True, True]):
        with pytest.raises(
            ValueError, match=r"the mask has shape .*, but the dimensions of the tensor from axis 0"
        ):
            gyre.boolean_mask([1, 2, 3], mask)
        with pytest.raises(
            IndexError, match=r"a mask of shape .* does not fit a tensor of int32 \[3\]"
        ):
            gyre.constant([1, 2, 3])[mask]

    @gyre.function(input_signature=[gyre.TensorSpec([None, 2]), gyre.TensorSpec([None], gyre.bool)])
    def masked(x, mask):
        return gyre.boolean_mask(x, mask)

    assert masked(gyre.ones([3, 2]), gyre.constant([True, False, True])).shape == [2, 2]
    with pytest.raises(gyre.errors.InvalidArgumentError):
        masked(gyre.ones([3, 2]), gyre.constant([True]))

"""Control flow and functions of keras.ops on Gyre."""

import numpy as np
import pytest

import gyre


def test_loops_and_branches_are_parts_of_graphs(keras):
    ops = keras.ops

    @gyre.function(input_signature=[gyre.TensorSpec([None], "float32")], autograph=False)
    def program(x):
        total = ops.fori_loop(0, 4, lambda i, value: value + ops.cast(i, "float32"), ops.sum(x))
        doubled = ops.while_loop(lambda v: v < 100.0, lambda v: (v * 2.0,), (total,))[0]
        chosen = ops.cond(doubled > 150.0, lambda: doubled, lambda: -doubled)
        last, sums = ops.scan(lambda c, v: (c + v, c * v), ops.zeros(()), x)
        return chosen, last, sums, ops.associative_scan(ops.add, x, reverse=True)

    chosen, last, sums, scanned = program(gyre.constant([1.0, 2.0, 3.0]))
    assert (float(chosen), float(last)) == (192.0, 6.0)
    np.testing.assert_allclose(sums, [0.0, 2.0, 9.0])
    np.testing.assert_allclose(scanned, [6.0, 5.0, 3.0])
    found = {node.type for node in program.get_concrete_function().graph.get_operations()}
    assert found & {"While", "StatelessWhile"} and found & {"If", "StatelessIf"}


def test_shapes_are_found_without_values(keras):
    from keras.src import backend

    def function(x):
        return keras.ops.concatenate([keras.ops.transpose(x), keras.ops.ones((2, 5))])

    found = backend.compute_output_spec(function, keras.KerasTensor((5, 3)))
    assert found.shape == (5, 5) and found.dtype == "float32"
    assert keras.ops.reshape(keras.KerasTensor((None, 6)), (-1, 2, 3)).shape == (None, 2, 3)


@pytest.mark.parametrize("padding", ["valid", "same"])
@pytest.mark.parametrize("strides, dilation", [(1, 1), (2, 1), (1, 2), (3, 1)])
def test_a_transposed_convolution_is_the_gradient_of_one(keras, padding, strides, dilation):
    draw = np.random.RandomState(0)
    y = draw.randn(2, 4, 5, 3).astype("float32")
    kernel = draw.randn(3, 4, 2, 3).astype("float32")
    options = {"strides": strides, "padding": padding, "dilation_rate": dilation}
    found = keras.ops.conv_transpose(y, kernel, **options)
    x = gyre.zeros(found.shape)
    with gyre.GradientTape() as tape:
        tape.watch(x)
        result = keras.ops.conv(x, kernel, **options)
    assert result.shape == y.shape
    np.testing.assert_allclose(found, tape.gradient(result, x, y), rtol=1e-4, atol=1e-5)


def test_labels_of_ctc_may_be_padded_with_the_blank(keras):
    """By all paths: each sequence of classes, with repeats and then blanks taken out."""
    logits = np.random.RandomState(0).randn(1, 3, 3).astype("float32")
    found = keras.ops.ctc_loss(np.array([[1, 2]]), logits, np.array([2]), np.array([3]), 0)
    p = np.exp(logits[0]) / np.exp(logits[0]).sum(-1, keepdims=True)
    paths = [(1, 1, 2), (1, 2, 2), (0, 1, 2), (1, 0, 2), (1, 2, 0)]
    expected = -np.log(sum(np.prod([p[t, c] for t, c in enumerate(path)]) for path in paths))
    np.testing.assert_allclose(found, [expected], rtol=1e-5)
    padded = keras.ops.ctc_loss(np.array([[1, 0]]), logits, np.array([2]), np.array([3]), 0)
    assert np.isfinite(padded.numpy()).all()


@pytest.mark.parametrize("mode", ["lower", "higher", "midpoint", "nearest", "linear"])
def test_quantiles_are_numpys(keras, mode):
    x = np.random.RandomState(0).randn(4, 3, 5).astype("float32")
    for axis in (None, 1, (0, 2)):
        found = keras.ops.quantile(x, [0.1, 0.5, 0.77], axis=axis, method=mode)
        expected = np.quantile(x, [0.1, 0.5, 0.77], axis=axis, method=mode)
        np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)


def test_random_numbers_depend_on_the_seed_alone(keras):
    first, again = (keras.random.normal((3,), seed=5).numpy() for _ in range(2))
    np.testing.assert_array_equal(first, again)
    generator = keras.random.SeedGenerator(5)
    one, other = (keras.random.normal((3,), seed=generator).numpy() for _ in range(2))
    assert (one != other).all()

"""Poolings against loops over places in numpy."""

import numpy as np
import pytest

import gyre


def windows(x, size, stride, padding):
    """Of [batch, height, width, channels]: what the window meets, place by place."""
    places = []
    for axis in (1, 2):
        n, k, s = x.shape[axis], size[axis - 1], stride[axis - 1]
        if padding == "SAME":
            count = -(-n // s)
            before = max((count - 1) * s + k - n, 0) // 2
        else:
            count, before = (n - k) // s + 1, 0
        starts = [i * s - before for i in range(count)]
        places.append([slice(max(a, 0), min(a + k, n)) for a in starts])
    return [[x[:, rows, columns] for columns in places[1]] for rows in places[0]]


def pooled(x, size, stride, padding, reduce):
    rows = windows(x, size, stride, padding)
    return np.stack([np.stack([reduce(w, axis=(1, 2)) for w in row], 1) for row in rows], 1)


@pytest.mark.parametrize("padding", ["VALID", "SAME"])
@pytest.mark.parametrize("stride", [(1, 1), (2, 3)])
@pytest.mark.parametrize("kind", ["max", "avg"])
def test_as_a_loop(kind, stride, padding):
    x = np.random.RandomState(0).randn(2, 7, 6, 3).astype(np.float32)
    function = getattr(gyre.nn, kind + "_pool")
    wanted = pooled(x, (3, 2), stride, padding, np.max if kind == "max" else np.mean)
    np.testing.assert_allclose(function(x, (3, 2), stride, padding), wanted, rtol=1e-6, atol=1e-7)
    turned = function(np.transpose(x, (0, 3, 1, 2)), (3, 2), stride, padding, "NCHW")
    np.testing.assert_allclose(np.transpose(turned, (0, 2, 3, 1)), wanted, rtol=1e-6, atol=1e-7)
    rows = x[:, :1, :, :]
    np.testing.assert_allclose(
        getattr(gyre.nn, kind + "_pool1d")(rows[:, 0], 2, stride[1], padding),
        pooled(rows, (1, 2), (1, stride[1]), padding, np.max if kind == "max" else np.mean)[:, 0],
        rtol=1e-6,
        atol=1e-7,
    )
    deep = getattr(gyre.nn, kind + "_pool3d")(x[:, None], (1, 3, 2), (1, *stride), padding)
    np.testing.assert_allclose(deep[:, 0], wanted, rtol=1e-6, atol=1e-7)


def test_the_largest_of_several_channels():
    x = np.arange(24, dtype=np.float32).reshape(1, 2, 2, 6)
    np.testing.assert_array_equal(
        gyre.nn.max_pool(x, [1, 1, 1, 3], [1, 1, 1, 3], "VALID"), x[..., 2::3]
    )


def test_explicit_padding_and_nan():
    x = np.arange(9, dtype=np.float32).reshape(1, 3, 3, 1) - 20
    y = gyre.nn.max_pool2d(x, 2, 2, [[0, 0], [1, 0], [0, 1], [0, 0]])
    np.testing.assert_array_equal(y[0, :, :, 0], [[-19, -18], [-13, -12]])
    x[0, 1, 1, 0] = np.nan
    assert np.isnan(np.asarray(gyre.nn.max_pool2d(x, 3, 1, "VALID"))).all()


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float64", "int32", "uint8"])
def test_types(dtype):
    x = gyre.cast(gyre.reshape(gyre.range(16), [1, 4, 4, 1]), dtype)
    y = gyre.cast(gyre.nn.max_pool2d(x, 2, 2, "VALID"), "int32")
    np.testing.assert_array_equal(y[0, :, :, 0], [[5, 7], [13, 15]])


def test_where_the_largest_stand():
    x = np.random.RandomState(1).randn(2, 4, 5, 3).astype(np.float32)
    largest, where = gyre.nn.max_pool_with_argmax(x, 2, 2, "SAME")
    np.testing.assert_array_equal(largest, gyre.nn.max_pool2d(x, 2, 2, "SAME"))
    for b in range(2):
        np.testing.assert_array_equal(x[b].ravel()[np.asarray(where[b])], largest[b])
    _, in_all = gyre.nn.max_pool_with_argmax(
        x, 2, 2, "SAME", output_dtype=gyre.int32, include_batch_in_index=True
    )
    np.testing.assert_array_equal(x.ravel()[np.asarray(in_all)], largest)


def test_the_first_of_equals_has_the_gradient():
    x = gyre.ones([1, 3, 3, 1])
    with gyre.GradientTape() as tape:
        tape.watch(x)
        y = gyre.nn.max_pool2d(x, 2, 1, "VALID")
    np.testing.assert_array_equal(
        tape.gradient(y, x)[0, :, :, 0], [[1, 1, 0], [1, 1, 0], [0, 0, 0]]
    )


def test_dilated():
    x = np.random.RandomState(2).randn(1, 7, 6, 2).astype(np.float32)
    y = gyre.nn.pool(x, [2, 3], "MAX", dilations=[3, 2])
    wanted = np.max([x[:, r : r + 4, c : c + 2] for r in (0, 3) for c in (0, 2, 4)], axis=0)
    np.testing.assert_array_equal(y, wanted)
    turned = gyre.nn.pool(
        np.transpose(x, (0, 3, 1, 2)), [2, 3], "MAX", dilations=[3, 2], data_format="NCHW"
    )
    np.testing.assert_array_equal(np.transpose(turned, (0, 2, 3, 1)), wanted)


def test_rows_together():
    x = np.random.RandomState(3).randn(4, 2, 5, 5, 3).astype(np.float32)
    kernel = np.random.RandomState(4).randn(3, 3, 3, 2).astype(np.float32)

    def row(images):
        return gyre.nn.avg_pool2d(gyre.nn.conv2d(images, kernel, 1, "SAME"), 2, 2, "VALID")

    np.testing.assert_allclose(
        gyre.vectorized_map(row, x), np.stack([row(images) for images in x]), rtol=1e-5, atol=1e-5
    )


@pytest.mark.parametrize(
    "arguments,text",
    [
        ((2, 2, "HALF"), "'VALID', 'SAME'"),
        ((2, 0, "SAME"), "positive"),
        (([2, 1, 1, 1], 1, "SAME"), "along the batch"),
        (([1, 2, 1, 2], 1, "SAME"), "over both"),
    ],
)
def test_what_is_refused(arguments, text):
    with pytest.raises((ValueError, gyre.errors.OpError), match=text):
        gyre.nn.max_pool(gyre.ones([1, 4, 4, 2]), *arguments)


def test_largest_and_their_places_have_names():
    x = np.arange(4, dtype=np.float32).reshape(1, 2, 2, 1)
    for function in (gyre.nn.max_pool_with_argmax, gyre.compat.v1.nn.max_pool_with_argmax):
        made = function(x, 2, 2, "VALID")
        assert made._fields == ("output", "argmax")
        assert float(made.output[0, 0, 0, 0]) == int(made.argmax[0, 0, 0, 0]) == 3

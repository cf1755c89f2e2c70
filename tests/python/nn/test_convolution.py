"""conv2d against a loop over places in numpy."""

import numpy as np
import pytest

import gyre


def expected(x, kernel, strides, pads, dilations):
    x = np.pad(x, [(0, 0), *pads, (0, 0)])
    rows, columns, _, count = kernel.shape
    high = (x.shape[1] - (rows - 1) * dilations[0] - 1) // strides[0] + 1
    wide = (x.shape[2] - (columns - 1) * dilations[1] - 1) // strides[1] + 1
    y = np.zeros((x.shape[0], high, wide, count))
    for i in range(high):
        for j in range(wide):
            top, left = i * strides[0], j * strides[1]
            part = x[
                :,
                top : top + rows * dilations[0] : dilations[0],
                left : left + columns * dilations[1] : dilations[1],
            ][:, :rows, :columns]
            y[:, i, j] = np.einsum("brcx,rcxn->bn", part, kernel)
    return y


def same(size, kernel, stride, dilation):
    total = max((-(-size // stride) - 1) * stride + (kernel - 1) * dilation + 1 - size, 0)
    return total // 2, total - total // 2


@pytest.mark.parametrize("strides", [1, 2, (2, 1), [1, 1, 3, 1]])
@pytest.mark.parametrize("padding", ["VALID", "SAME", [[0, 0], [1, 2], [0, 1], [0, 0]]])
@pytest.mark.parametrize("dilations", [None, 2])
def test_as_a_loop(strides, padding, dilations):
    rng = np.random.RandomState(0)
    x, kernel = rng.randn(2, 8, 7, 3), rng.randn(3, 2, 3, 4)
    step = {1: (1, 1), 2: (2, 2), (2, 1): (2, 1)}.get(
        strides if not isinstance(strides, list) else None, (1, 3)
    )
    gap = (dilations or 1,) * 2
    pads = (
        [(0, 0)] * 2
        if padding == "VALID"
        else padding[1:3]
        if isinstance(padding, list)
        else [same(8, 3, step[0], gap[0]), same(7, 2, step[1], gap[1])]
    )
    wanted = expected(x, kernel, step, pads, gap)
    np.testing.assert_allclose(
        gyre.nn.conv2d(x, kernel, strides, padding, dilations=dilations), wanted
    )
    turned = gyre.nn.conv2d(
        np.transpose(x, (0, 3, 1, 2)),
        kernel,
        step,
        padding if isinstance(padding, str) else [padding[i] for i in (0, 3, 1, 2)],
        "NCHW",
        dilations,
    )
    np.testing.assert_allclose(np.transpose(turned, (0, 2, 3, 1)), wanted)


def test_gradients_and_unknown_sizes():
    @gyre.function(input_signature=[gyre.TensorSpec([None, None, None, 1])])
    def total(x):
        kernel = gyre.reshape(gyre.range(4.0), [2, 2, 1, 1])
        with gyre.GradientTape() as tape:
            tape.watch([x, kernel])
            y = gyre.reduce_sum(gyre.nn.conv2d(x, kernel, 1, "VALID"))
        return y, *tape.gradient(y, [x, kernel])

    y, by_image, by_kernel = total(gyre.ones([1, 3, 3, 1]))
    assert float(y) == 24
    np.testing.assert_array_equal(by_image[0, :, :, 0], [[0, 1, 1], [2, 6, 4], [2, 5, 3]])
    np.testing.assert_array_equal(by_kernel, np.full((2, 2, 1, 1), 4.0))


@pytest.mark.parametrize(
    "arguments,text",
    [
        ((1, "HALF"), "'VALID', 'SAME'"),
        (([2, 1, 1, 1], "SAME"), "batch and channels"),
        ((0, "SAME"), "positive"),
        ((1, "SAME", "NC"), "'NHWC' or 'NCHW'"),
    ],
)
def test_what_is_refused(arguments, text):
    with pytest.raises(ValueError, match=text):
        gyre.nn.conv2d(gyre.ones([1, 3, 3, 1]), gyre.ones([2, 2, 1, 1]), *arguments)

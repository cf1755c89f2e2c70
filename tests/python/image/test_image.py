"""Images, sequences and random numbers beside TensorFlow 2.21, as recorded by cases.py."""

import contextlib
import json

import numpy as np
import pytest

import gyre
from image import cases

# What numbers may differ by: the order of sums, and how exponentials are rounded.
_TOLERANCES = {"likeness": 1e-4, "random": 1e-5}


@pytest.fixture(scope="module")
def recorded():
    with open(cases.RECORDED) as file:
        return json.load(file)


def _compare(got, want, what, tolerance):
    if isinstance(want, list):
        assert len(got) == len(want), what
        for g, w in zip(got, want, strict=True):
            _compare(g, w, what, tolerance)
        return
    assert (got["dtype"], got["shape"]) == (want["dtype"], want["shape"]), what
    kwargs = {"rtol": tolerance, "atol": tolerance} if want["dtype"].startswith("float") else {}
    if kwargs:
        np.testing.assert_allclose(got["data"], want["data"], err_msg=what, **kwargs)
    else:
        np.testing.assert_array_equal(got["data"], want["data"], err_msg=what)


@pytest.mark.parametrize("case", [name for name in cases.CASES])
def test_as_tensorflow(case, recorded):
    got = cases.run(gyre, case)
    assert list(got) == list(recorded[case])
    for name, want in recorded[case].items():
        _compare(got[name], want, f"{case}: {name}", _TOLERANCES.get(case, 2e-5))


def test_shapes_are_known_in_functions():
    @gyre.function
    def f(x):
        y = gyre.image.resize(x, [4, 6])
        assert y.shape.as_list() == [2, 4, 6, 3]
        z = gyre.image.central_crop(gyre.image.resize_with_crop_or_pad(y, 8, 8), 0.5)
        assert z.shape.as_list() == [2, 4, 4, 3]
        return gyre.image.rot90(z, 3)

    assert f(gyre.ones([2, 5, 5, 3])).shape == (2, 4, 4, 3)


def test_sizes_that_the_run_knows():
    @gyre.function(input_signature=[gyre.TensorSpec([None, None, None, 3])])
    def f(x):
        padded = gyre.image.resize_with_pad(x, 8, 6)
        return padded, gyre.image.resize_with_crop_or_pad(x, 3, 9), gyre.image.central_crop(x, 0.5)

    x = np.random.RandomState(0).uniform(size=[2, 4, 6, 3]).astype("float32")
    for got, want in zip(
        f(x),
        (
            gyre.image.resize_with_pad(x, 8, 6),
            gyre.image.resize_with_crop_or_pad(x, 3, 9),
            gyre.image.central_crop(x, 0.5),
        ),
        strict=True,
    ):
        np.testing.assert_allclose(got, want, rtol=1e-6)


def test_sizes_that_fit_no_int32():
    image, wide = gyre.image, 2**32 + 3
    for spec in (gyre.TensorSpec([2, 2, 1]), gyre.TensorSpec([None, None, 1])):
        for function, arguments, parameter in (
            (image.resize_with_crop_or_pad, (2, wide), "target_width"),
            (image.pad_to_bounding_box, (0, 0, np.int64(wide), 2), "target_height"),
            (image.crop_to_bounding_box, (np.int64(wide), 0, 1, 1), "offset_height"),
        ):
            changed = gyre.function(lambda x: function(x, *arguments), input_signature=[spec])
            with pytest.raises(ValueError, match=f"{parameter}: {wide} does not fit int32"):
                changed(gyre.zeros([2, 2, 1]))
    x = gyre.reshape(gyre.range(4), [2, 2, 1])
    np.testing.assert_array_equal(image.rot90(x, np.int64(wide)).numpy(), image.rot90(x, 3).numpy())


def test_random_changes_repeat_by_seed():
    image = np.random.RandomState(1).uniform(size=[3, 8, 8, 3]).astype("float32")
    for name in ("flip_left_right", "flip_up_down"):
        change = getattr(gyre.image, f"stateless_random_{name}")
        a, b = change(image, [1, 2]).numpy(), change(image, [1, 2]).numpy()
        np.testing.assert_array_equal(a, b)
        flip = getattr(gyre.image, name)(image).numpy()
        for got, same, other in zip(a, image, flip, strict=True):
            assert np.array_equal(got, same) or np.array_equal(got, other)
    for name, args in (
        ("brightness", [0.2]),
        ("contrast", [0.5, 1.5]),
        ("hue", [0.3]),
        ("saturation", [0.5, 2.0]),
    ):
        seeded = getattr(gyre.image, f"stateless_random_{name}")
        assert np.array_equal(seeded(image, *args, seed=[1, 2]), seeded(image, *args, seed=[1, 2]))
        assert getattr(gyre.image, f"random_{name}")(image, *args).shape == image.shape
    crop = gyre.image.stateless_random_crop(image[0], [3, 4, 3], [5, 6]).numpy()
    assert crop.shape == (3, 4, 3) and crop[0, 0, 0] in image[0, :, :, 0]


def test_mistakes_say_what_is_wrong():
    image = gyre.ones([4, 4, 3])
    with pytest.raises(ValueError, match="method"):
        gyre.image.resize(image, [2, 2], "cubic")
    with pytest.raises(ValueError, match="2 elements"):
        gyre.image.resize(image, [2, 2, 2])
    with pytest.raises(ValueError, match="target"):
        gyre.image.pad_to_bounding_box(image, 1, 0, 4, 4)
    with pytest.raises(ValueError, match="dimensions"):
        gyre.image.resize(gyre.ones([4, 4]), [2, 2])
    with pytest.raises(gyre.errors.InvalidArgumentError, match="3 channels"):
        gyre.image.rgb_to_hsv(gyre.ones([2, 2]))
    with pytest.raises(gyre.errors.InvalidArgumentError, match="Unknown image file format"):
        gyre.io.decode_image(b"text")
    with pytest.raises(gyre.errors.InvalidArgumentError, match="PNG"):
        gyre.io.decode_png(cases.png(np.zeros([2, 2, 3]), 8, 2)[:50])


def test_files_cannot_make_decoders_fail_otherwise():
    pixels = np.random.RandomState(3).randint(0, 256, [8, 9, 3]).astype("uint8")
    files = [
        cases.png(pixels, 8, 2),
        cases.bmp(pixels),
        gyre.io.encode_jpeg(pixels).numpy(),
        gyre.io.encode_jpeg(pixels, progressive=True).numpy(),
        cases.GIF,
    ]
    draw = np.random.RandomState(4)
    for number in range(600):
        file = bytearray(files[number % len(files)])
        for _ in range(draw.randint(1, 6)):
            file[draw.randint(len(file))] = draw.randint(256)
        if draw.randint(4) == 0:
            del file[draw.randint(len(file)) :]
        try:
            gyre.io.decode_image(bytes(file))
        except (gyre.errors.InvalidArgumentError, gyre.errors.ResourceExhaustedError):
            pass


def test_jpeg_is_lossy_but_near():
    y, x = np.mgrid[0:40, 0:60]
    pixels = np.stack([4 * x, 6 * y, 2 * x + 2 * y], -1).astype("uint8")
    again = gyre.io.decode_jpeg(gyre.io.encode_jpeg(pixels, quality=95)).numpy()
    assert np.abs(again.astype(int) - pixels).mean() < 3
    worse = gyre.image.adjust_jpeg_quality(pixels, 20).numpy()
    assert worse.shape == pixels.shape and np.abs(worse.astype(int) - pixels).mean() < 12


def test_sampled_losses():
    draw = np.random.RandomState(2)
    weights, biases = draw.normal(size=[20, 4]).astype("float32"), np.zeros(20, "float32")
    inputs, labels = draw.normal(size=[5, 4]).astype("float32"), draw.randint(0, 20, [5, 1])
    every = gyre.random.all_candidate_sampler(labels, 1, 20, True)
    loss = gyre.nn.sampled_softmax_loss(
        weights, biases, labels, inputs, 20, 20, sampled_values=every
    )
    exact = gyre.nn.sparse_softmax_cross_entropy_with_logits(labels[:, 0], inputs @ weights.T)
    np.testing.assert_allclose(loss, exact, rtol=1e-5)
    assert gyre.nn.nce_loss(weights, biases, labels, inputs, 5, 20).shape == (5,)
    drawn = gyre.random.log_uniform_candidate_sampler(labels, 1, 10, True, 20)
    classes = drawn.sampled_candidates.numpy()
    assert len(set(classes.tolist())) == 10 and classes.max() < 20


def test_distributions_have_their_means():
    gyre.random.set_seed(5)
    gamma = gyre.random.gamma([20000], [0.5, 3.0], [1.0, 2.0]).numpy()
    np.testing.assert_allclose(gamma.mean(0), [0.5, 1.5], rtol=0.05)
    poisson = gyre.random.poisson([20000], [0.5, 30.0]).numpy()
    np.testing.assert_allclose(poisson.mean(0), [0.5, 30.0], rtol=0.05)
    np.testing.assert_allclose(poisson.var(0), [0.5, 30.0], rtol=0.08)
    drawn = gyre.random.stateless_binomial([20000], [1, 2], 40.0, 0.3).numpy()
    np.testing.assert_allclose([drawn.mean(), drawn.var()], [12.0, 8.4], rtol=0.05)


def test_an_encoding_that_is_given_up_leaves_nothing_behind():
    pixels = np.random.default_rng(1).integers(0, 255, (3000, 3000, 3), np.uint8)
    encode = gyre.function(gyre.io.encode_jpeg)
    whole = encode(gyre.constant(pixels)).numpy()
    for seconds in (0.02, 0.04, 0.06):
        with gyre.limits(seconds=seconds), contextlib.suppress(gyre.errors.DeadlineExceededError):
            encode(gyre.constant(pixels))
    assert encode(gyre.constant(pixels)).numpy() == whole

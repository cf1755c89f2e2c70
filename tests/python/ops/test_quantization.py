"""Quantization, against numbers that TensorFlow 2.21 gives."""

import numpy as np
import pytest

import gyre

quantization = gyre.quantization
X = np.float32([[-7.3, -2.5, -1.0, -0.26], [0, 0.26, 1.4, 6.1], [8.9, 3.3, -0.75, 2.5]])
PLAIN = {"quint8": "uint8", "qint8": "int8", "qint16": "int16"}
# Type, mode, range; the integers; the range that they stand for; what they are.
QUANTIZED = [
    (
        ("quint8", "MIN_COMBINED", -2.5, 6.0),
        [0, 0, 45, 67, 75, 83, 117, 255, 255, 174, 53, 150],
        [-2.5, 6.0],
        [
            -2.5,
            -2.5,
            -0.9999999,
            -0.2666667,
            2.384186e-07,
            0.2666669,
            1.4,
            6.0,
            6.0,
            3.3,
            -0.7333332,
            2.5,
        ],
    ),
    (
        ("quint8", "MIN_COMBINED", 1.0, 3.0),
        [0, 0, 0, 0, 0, 22, 119, 255, 255, 255, 0, 213],
        [0.0, 3.0],
        [1.0, 1.0, 1.0, 1.0, 1.0, 1.172549, 1.933333, 3.0, 3.0, 3.0, 1.0, 2.670588],
    ),
    (
        ("quint8", "MIN_FIRST", -2.5, 6.0),
        [0, 0, 45, 67, 75, 83, 117, 255, 255, 174, 52, 150],
        [-2.5, 6.0],
        [-2.5, -2.5, -1.0, -0.2666669, 0.0, 0.2666667, 1.4, 6.0, 6.0, 3.3, -0.7666668, 2.5],
    ),
    (
        ("quint8", "MIN_FIRST", 1.0, 3.0),
        [0, 0, 0, 0, 0, 22, 119, 255, 255, 255, 0, 212],
        [0.0, 3.0],
        [
            0.9960785,
            0.9960785,
            0.9960785,
            0.9960785,
            0.9960785,
            1.168628,
            1.929412,
            2.996078,
            2.996078,
            2.996078,
            0.9960785,
            2.658824,
        ],
    ),
    (
        ("quint8", "SCALED", -2.5, 6.0),
        [0, 0, 0, 0, 0, 11, 60, 255, 255, 140, 0, 106],
        [0.0, 6.0],
        [0.0, 0.0, 0.0, 0.0, 0.0, 0.2588235, 1.411765, 6.0, 6.0, 3.294118, 0.0, 2.494118],
    ),
    (
        ("quint8", "SCALED", 1.0, 3.0),
        [0, 0, 0, 0, 0, 22, 119, 255, 255, 255, 0, 213],
        [0.0, 3.0],
        [0.0, 0.0, 0.0, 0.0, 0.0, 0.2588235, 1.4, 3.0, 3.0, 3.0, 0.0, 2.505883],
    ),
    (
        ("qint8", "MIN_COMBINED", -2.5, 6.0),
        [-128, -128, -83, -61, -53, -45, -11, 127, 127, 46, -76, 22],
        [-2.5, 6.0],
        [
            -2.5,
            -2.5,
            -0.9999999,
            -0.2666667,
            2.384186e-07,
            0.2666669,
            1.4,
            6.0,
            6.0,
            3.3,
            -0.7666665,
            2.5,
        ],
    ),
    (
        ("qint8", "MIN_COMBINED", 1.0, 3.0),
        [-128, -128, -128, -128, -128, -106, -9, 127, 127, 127, -128, 85],
        [0.0, 3.0],
        [1.0, 1.0, 1.0, 1.0, 1.0, 1.172549, 1.933333, 3.0, 3.0, 3.0, 1.0, 2.670588],
    ),
    (
        ("qint8", "MIN_FIRST", -2.5, 6.0),
        [-128, -128, -83, -61, -53, -45, -11, 127, 127, 46, -76, 22],
        [-2.5, 6.0],
        [
            -2.5,
            -2.5,
            -1.0,
            -0.2666669,
            -1.192093e-07,
            0.2666665,
            1.4,
            6.0,
            6.0,
            3.3,
            -0.7666669,
            2.5,
        ],
    ),
    (
        ("qint8", "MIN_FIRST", 1.0, 3.0),
        [-128, -128, -128, -128, -128, -106, -9, 127, 127, 127, -128, 85],
        [0.0, 3.0],
        [
            0.9960784,
            0.9960784,
            0.9960784,
            0.9960784,
            0.9960784,
            1.168627,
            1.929412,
            2.996078,
            2.996078,
            2.996078,
            0.9960784,
            2.666667,
        ],
    ),
    (
        ("qint8", "SCALED", -2.5, 6.0),
        [-128, -53, -21, -6, 0, 6, 30, 127, 127, 70, -16, 53],
        [-6.047244, 6.0],
        [
            -6.047244,
            -2.503937,
            -0.992126,
            -0.2834646,
            0.0,
            0.2834646,
            1.417323,
            6.0,
            6.0,
            3.307087,
            -0.7559055,
            2.503937,
        ],
    ),
    (
        ("qint8", "SCALED", 1.0, 3.0),
        [-128, -106, -42, -11, 0, 11, 59, 127, 127, 127, -32, 106],
        [-3.023622, 3.0],
        [
            -3.023622,
            -2.503937,
            -0.992126,
            -0.2598425,
            0.0,
            0.2598425,
            1.393701,
            3.0,
            3.0,
            3.0,
            -0.7559055,
            2.503937,
        ],
    ),
    (
        ("qint16", "MIN_COMBINED", -2.5, 6.0),
        [-32768, -32768, -21203, -15498, -13493, -11488, -2699, 32767, 32767, 11950, -19276, 5782],
        [-2.5, 6.0],
        [-2.5, -2.5, -1.0, -0.260052, 0.0, 0.260052, 1.4, 6.0, 6.0, 3.3, -0.7500648, 2.5],
    ),
    (
        ("qint16", "MIN_FIRST", -2.5, 6.0),
        [-32768, -32768, -21203, -15498, -13493, -11488, -2699, 32767, 32767, 11950, -19276, 5782],
        [-2.5, 6.0],
        [-2.5, -2.5, -1.0, -0.260052, 0.0, 0.2600518, 1.4, 6.0, 6.0, 3.3, -0.7500648, 2.5],
    ),
    (
        ("qint16", "SCALED", -2.5, 6.0),
        [-32768, -13653, -5461, -1420, 0, 1420, 7646, 32767, 32767, 18022, -4096, 13653],
        [-6.000183, 6.0],
        [
            -6.000183,
            -2.500015,
            -0.9999695,
            -0.2600177,
            0.0,
            0.2600177,
            1.400067,
            6.0,
            6.0,
            3.300027,
            -0.7500229,
            2.500015,
        ],
    ),
]


@pytest.mark.parametrize("case", QUANTIZED, ids=lambda case: str(case[0]))
def test_to_integers_and_back(case):
    (dtype, mode, low, high), integers, ends, numbers = case
    made, first, last = quantization.quantize(X, low, high, getattr(gyre, dtype), mode=mode)
    got = np.asarray(gyre.bitcast(made, PLAIN[dtype])).ravel()
    # One number is half-way, where vector code of TensorFlow's rounds the other way.
    at_half = (dtype, mode, low) == ("quint8", "MIN_FIRST", 1.0)
    np.testing.assert_allclose(got.astype(int), integers, atol=1 if at_half else 0)
    np.testing.assert_allclose([first, last], ends, rtol=1e-6)
    if not at_half:
        back = quantization.dequantize(made, low, high, mode)
        np.testing.assert_allclose(np.asarray(back).ravel(), numbers, rtol=2e-6, atol=5e-7)


def test_with_a_range_for_each_slice():
    made, first, last = quantization.quantize(
        X,
        [-1.0, -2.0, -3.0, 0.0],
        [1.0, 2.0, 6.0, 5.0],
        gyre.qint8,
        mode="SCALED",
        axis=-1,
        narrow_range=True,
        round_mode="HALF_TO_EVEN",
    )
    np.testing.assert_array_equal(
        gyre.bitcast(made, "int8"), [[-127, -127, -21, -7], [0, 17, 30, 127], [127, 127, -16, 64]]
    )
    np.testing.assert_allclose(first, [-1.0, -2.0, -6.0, -5.0])
    np.testing.assert_allclose(last, [1.0, 2.0, 6.0, 5.0])


FEW = {"num_bits": 4, "narrow_range": True}
ARGS_0 = [
    [-2.309019, -2.309019, -1.003922, -0.2509804],
    [0.0, 0.2509804, 1.40549, 4.09098],
    [4.09098, 3.287843, -0.7529411, 2.509804],
]
ARGS_1 = [
    [-2.285714, -2.285714, -0.9142857, -0.4571428],
    [0.0, 0.4571428, 1.371428, 4.114285],
    [4.114285, 3.2, -0.9142857, 2.285714],
]
PC_0 = [[-0.9960785, 0.0, 0.0, -0.2588235], [0.0, 0.0, 1.4, 0.0], [1.003922, 0.0, 0.0, 0.0]]
PC_1 = [[-1.0, 0.0, 0.0, -0.2142857], [0.0, 0.0, 1.392857, 0.0], [1.0, 0.0, 0.0, 0.0]]
PCG_0 = [
    [[0.0, 2.0, 0.0, 4.0], [5.0, 6.0, 7.0, 0.0], [0.0, 10.0, 0.0, 0.0]],
    [1.0, 0.0, 14.0, 0.0],
    [9.0, 0.0, 0.0, 20.0],
]
PCG_1 = [
    [[0.0, 2.0, 0.0, 4.0], [5.0, 6.0, 7.0, 0.0], [0.0, 10.0, 0.0, 0.0]],
    [1.0, 0.0, 14.0, 0.0],
    [9.0, 0.0, 0.0, 20.0],
]


def test_fake_quantization():
    for options, by_args, by_channel in (({}, ARGS_0, PC_0), (FEW, ARGS_1, PC_1)):
        args = quantization.fake_quant_with_min_max_args(X, -2.3, 4.1, **options)
        np.testing.assert_allclose(args, by_args, rtol=1e-6)
        rest = quantization.fake_quant_with_min_max_vars(X, -2.3, 4.1, **options)
        np.testing.assert_allclose(rest, by_args, rtol=1e-6)
        channels = quantization.fake_quant_with_min_max_vars_per_channel(
            X, [-1.0, 0.0, 0.5, -4.0], [1.0, 0.0, 2.0, -1.0], **options
        )
        np.testing.assert_allclose(channels, by_channel, rtol=1e-6)


def test_gradients_of_fake_quantization():
    grads = np.arange(1, 13, dtype=np.float32).reshape(3, 4)
    xs = [gyre.constant(v) for v in (X, [-1.0, 0.0, 0.5, -4.0], [1.0, 0.0, 2.0, -1.0])]
    with gyre.GradientTape() as tape:
        tape.watch(xs)
        y = quantization.fake_quant_with_min_max_vars_per_channel(*xs)
    for got, wanted in zip(tape.gradient(y, xs, grads), PCG_0, strict=True):
        np.testing.assert_array_equal(got, wanted)
    with gyre.GradientTape() as tape:
        tape.watch(xs[0])
        y = quantization.fake_quant_with_min_max_args(xs[0], -2.3, 4.1)
    np.testing.assert_array_equal(tape.gradient(y, xs[0], grads), grads * ((X > -2.3) & (X < 4.1)))


# {'range_given': True}
ROUNDED_0 = [
    [-6.047244, -2.503937, -0.992126, -0.2834646],
    [0.0, 0.2834646, 1.417323, 6.0],
    [6.0, 3.307087, -0.7559055, 2.503937],
]
# {'range_given': False}
ROUNDED_1 = [
    [-7.288189, -2.522835, -0.9811023, -0.280315],
    [0.0, 0.280315, 1.401575, 6.09685],
    [8.9, 3.293701, -0.7708661, 2.522835],
]
# {'range_given': True, 'signed_input': False, 'num_bits': 4}
ROUNDED_2 = [[0.0, 0.0, 0.0, 0.0], [0.0, 0.4, 1.6, 6.0], [6.0, 3.2, 0.0, 2.4]]
# {'range_given': True, 'round_mode': 'HALF_UP', 'narrow_range': True}
ROUNDED_3 = [
    [-6.0, -2.503937, -0.992126, -0.2834646],
    [0.0, 0.2834646, 1.417323, 6.0],
    [6.0, 3.307087, -0.7559055, 2.503937],
]
ROUNDED_AXIS = [
    [-7.288189, -2.494488, -1.00315, -0.2401575],
    [0.0, 0.2598425, 1.4, 6.1],
    [8.9, 3.3, -0.7496063, 2.497638],
]


def test_rounding():
    round_to = quantization.quantize_and_dequantize_v2
    options = [
        {"range_given": True},
        {},
        {"range_given": True, "signed_input": False, "num_bits": 4},
        {"range_given": True, "round_mode": "HALF_UP", "narrow_range": True},
    ]
    for given, wanted in zip(options, (ROUNDED_0, ROUNDED_1, ROUNDED_2, ROUNDED_3), strict=True):
        np.testing.assert_allclose(round_to(X, -2.5, 6.0, **given), wanted, rtol=1e-6)
    ends = [-1.0, -2.0, -3.0, 0.0], [1.0, 2.0, 6.0, 5.0]
    np.testing.assert_allclose(round_to(X, *ends, axis=1), ROUNDED_AXIS, rtol=1e-6)
    x = gyre.constant(X)
    with gyre.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = round_to(x, -2.5, 6.0, range_given=True)
        z = quantization.quantize_and_dequantize(x, -2.5, 6.0, range_given=True)
    np.testing.assert_array_equal(tape.gradient(y, x), (X >= -2.5) & (X <= 6))
    np.testing.assert_array_equal(tape.gradient(z, x), np.ones_like(X))


def test_results_have_names():
    made = gyre.quantization.quantize([0.0, 1.0], 0.0, 1.0, gyre.quint8)
    assert made._fields == ("output", "output_min", "output_max")
    assert made.output.dtype == gyre.quint8 and float(made.output_max) == 1

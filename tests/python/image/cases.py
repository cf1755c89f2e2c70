"""Calls that TensorFlow and Gyre answer alike: each takes the module (`tensorflow` or `gyre`) and
returns what is compared. `python cases.py` with TensorFlow installed records what it says."""

import json
import os
import struct
import zlib

import numpy as np

RECORDED = os.path.join(os.path.dirname(os.path.abspath(__file__)), "recorded.json")


def _draw(*shape, low=-1.0, high=1.0, seed=0):
    values = np.random.RandomState(seed).uniform(low, high, shape)
    return np.round(values, 3).astype("float32")


def _bytes_image(*shape, seed=1, top=256):
    return np.random.RandomState(seed).randint(0, top, shape)


_IMAGES = _draw(2, 5, 4, 3)
_SMALL = _IMAGES[:1, :, :, :2]
_ONE = _draw(4, 6, 2, seed=2)
_COLORS = _draw(2, 4, 3, low=0, high=1, seed=3)
_PIXELS = _bytes_image(5, 7, 3).astype("uint8")
_BOXES = np.array(
    [
        [0.0, 0.0, 0.5, 0.5],
        [0.05, 0.0, 0.5, 0.55],
        [0.9, 0.9, 0.4, 0.4],
        [0.45, 0.4, 0.9, 0.95],
        [0.1, 0.6, 0.3, 1.1],
        [0.0, 0.0, 0.0, 0.3],
    ],
    "float32",
)
_SCORES = np.array([0.9, 0.85, 0.7, 0.75, 0.3, 0.6], "float32")
_METHODS = (
    "bilinear",
    "nearest",
    "bicubic",
    "area",
    "lanczos3",
    "lanczos5",
    "gaussian",
    "mitchellcubic",
)
_SIZES = ((7, 3), (3, 9), (1, 1), (5, 4), (10, 8))


def _tape(m, function, *xs):
    xs = [m.constant(x) for x in xs]
    with m.GradientTape() as tape:
        for x in xs:
            tape.watch(x)
        y = function(*xs)
        weights = m.reshape(m.range(int(np.prod(y.shape)), dtype=y.dtype), y.shape)
        y = m.reduce_sum(y * weights)
    return tape.gradient(y, xs)


def _resizes(m):
    out = {}
    for method in _METHODS:
        for size in _SIZES:
            out[f"{method}{size}"] = m.image.resize(_SMALL, size, method)
            out[f"{method}{size} antialias"] = m.image.resize(_SMALL, size, method, antialias=True)
        out[f"{method} uint8"] = m.image.resize(_PIXELS, (3, 6), method)
        out[f"{method} ratio"] = m.image.resize(_PIXELS, (4, 9), method, preserve_aspect_ratio=True)
    for method in range(4):
        for align in (False, True):
            out[f"v1 {method} {align}"] = m.compat.v1.image.resize(
                _SMALL, (8, 3), method, align_corners=align
            )
    out["pad"] = m.image.resize_with_pad(_PIXELS, 8, 8)
    out["pad nearest"] = m.image.resize_with_pad(_IMAGES, 3, 9, "nearest")
    return out


def _resize_gradients(m):
    out = {}
    for method in ("bilinear", "bicubic", "nearest", "lanczos3", "gaussian"):
        for size in ((7, 3), (3, 9)):
            out[f"{method}{size}"] = _tape(
                m, lambda x, s=size, k=method: m.image.resize(x, s, k), _IMAGES[:1]
            )[0]
    for align in (False, True):
        for op in ("ResizeBilinear", "ResizeBicubic", "ResizeNearestNeighbor"):
            function = getattr(m.raw_ops, op)
            out[f"{op} {align}"] = _tape(
                m, lambda x, f=function, a=align: f(images=x, size=[3, 7], align_corners=a), _IMAGES
            )[0]
    return out


def _crops(m):
    indices = [0, 1, 1, 0, 0, 1]
    out = {}
    for method in ("bilinear", "nearest"):
        out[method] = m.image.crop_and_resize(
            _IMAGES, _BOXES, indices, (3, 4), method, extrapolation_value=-2.0
        )
    out["one"] = m.image.crop_and_resize(_IMAGES, _BOXES, indices, (1, 1))
    out["uint8"] = m.image.crop_and_resize(_PIXELS[None], _BOXES[:2], [0, 0], (2, 3))
    grads = _tape(m, lambda x, b: m.image.crop_and_resize(x, b, indices, (3, 4)), _IMAGES, _BOXES)
    out["by image"], out["by boxes"] = grads
    out["to box"] = m.image.crop_to_bounding_box(_IMAGES, 1, 0, 3, 2)
    out["pad to box"] = m.image.pad_to_bounding_box(_ONE, 1, 2, 6, 9)
    out["crop or pad"] = m.image.resize_with_crop_or_pad(_ONE, 7, 3)
    out["central"] = m.image.central_crop(_IMAGES, 0.6)
    return out


def _patches(m):
    out = {}
    for padding in ("VALID", "SAME"):
        args = {"sizes": [1, 3, 2, 1], "strides": [1, 2, 1, 1], "rates": [1, 1, 2, 1]}
        out[padding] = m.image.extract_patches(_IMAGES, padding=padding, **args)
        out[padding + " gradient"] = _tape(
            m, lambda x, p=padding, a=args: m.image.extract_patches(x, padding=p, **a), _IMAGES
        )[0]
    return out


def _flips(m):
    out = {"left": m.image.flip_left_right(_ONE), "up": m.image.flip_up_down(_IMAGES)}
    for k in range(5):
        out[f"turn {k}"] = m.image.rot90(_ONE, k)
    out["transpose"] = m.image.transpose(_IMAGES)
    out["variation"] = m.image.total_variation(m.constant(_IMAGES))
    out["edges"] = m.image.sobel_edges(m.constant(_IMAGES))
    out["down"], out["right"] = m.image.image_gradients(m.constant(_IMAGES))
    return out


def _colors(m):
    i = m.image
    out = {
        "hsv": i.rgb_to_hsv(_COLORS),
        "rgb": i.hsv_to_rgb(_COLORS),
        "gray": i.rgb_to_grayscale(_COLORS),
        "gray uint8": i.rgb_to_grayscale(_PIXELS),
        "of gray": i.grayscale_to_rgb(m.constant(_COLORS[..., :1])),
        "yiq": i.rgb_to_yiq(_COLORS),
        "of yiq": i.yiq_to_rgb(_COLORS),
        "yuv": i.rgb_to_yuv(_COLORS),
        "of yuv": i.yuv_to_rgb(_COLORS),
        "brightness": i.adjust_brightness(_PIXELS, 0.3),
        "contrast": i.adjust_contrast(_IMAGES, 1.7),
        "contrast uint8": i.adjust_contrast(_PIXELS, 0.4),
        "gamma": i.adjust_gamma(_COLORS, 2.2, 0.9),
        "hue": i.adjust_hue(_COLORS, -0.3),
        "hue uint8": i.adjust_hue(_PIXELS, 0.4),
        "saturation": i.adjust_saturation(_COLORS, 0.5),
        "saturation more": i.adjust_saturation(_COLORS, 3.0),
        "standard": i.per_image_standardization(_IMAGES),
        "hsv gradient": _tape(m, i.rgb_to_hsv, _COLORS)[0],
    }
    for name in ("uint8", "uint16", "int16", "int32", "float16", "float64"):
        out[f"from float {name}"] = i.convert_image_dtype(_COLORS, name, saturate=True)
        out[f"from uint8 {name}"] = i.convert_image_dtype(_PIXELS, name)
    return out


def _suppression(m):
    i = m.image
    scores, boxes = m.constant(_SCORES), m.constant(_BOXES)
    out = {
        "plain": i.non_max_suppression(boxes, scores, 10),
        "few": i.non_max_suppression(boxes, scores, 2, 0.9),
        "score": i.non_max_suppression(boxes, scores, 10, 0.3, 0.5),
        "padded": i.non_max_suppression_padded(
            m.constant(_BOXES[[0, 1, 3, 4]]),
            m.constant(_SCORES[[0, 1, 3, 4]]),
            5,
            pad_to_max_output_size=True,
        ),
    }
    for sigma in (0.0, 0.3, 2.0):
        pair = i.non_max_suppression_with_scores(boxes, scores, 10, 0.5, 0.05, sigma)
        out[f"soft {sigma}"], out[f"soft scores {sigma}"] = pair
    overlaps = np.array([[1, 0.6, 0.2], [0.6, 1, 0.7], [0.2, 0.7, 1]], "float32")
    out["overlaps"] = i.non_max_suppression_overlaps(overlaps, [0.5, 0.9, 0.8], 3)
    by_class = np.stack([_SCORES, _SCORES[::-1]], axis=1)
    for pad in (False, True):
        found = i.combined_non_max_suppression(
            _BOXES[None, :, None, :], by_class[None], 2, 7, 0.5, 0.4, pad_per_class=pad
        )
        for name, value in zip(("boxes", "scores", "classes", "valid"), found, strict=True):
            out[f"combined {pad} {name}"] = value
    out["drawn"] = i.draw_bounding_boxes(
        _IMAGES, _BOXES[None, :4].repeat(2, 0), [[1.0, 0.5, 0.25], [0.0, 2.0, 3.0]]
    )
    return out


def _transforms(m):
    out = {}
    turn = [[0.9, -0.3, 0.5, 0.2, 1.1, -0.4, 0.01, -0.02]]
    for mode in ("CONSTANT", "REFLECT", "WRAP", "NEAREST"):
        for kind in ("NEAREST", "BILINEAR"):
            out[f"{mode} {kind}"] = m.raw_ops.ImageProjectiveTransformV3(
                images=_IMAGES,
                transforms=turn,
                output_shape=[6, 5],
                fill_value=0.5,
                interpolation=kind,
                fill_mode=mode,
            )
    return out


def _likeness(m):
    a, b = _draw(2, 24, 21, 2, low=0, high=1, seed=5), _draw(2, 24, 21, 2, low=0, high=1, seed=6)
    a, b = m.constant(a), m.constant(0.7 * a + 0.3 * b)
    return {
        "psnr": m.image.psnr(a, b, 1.0),
        "psnr uint8": m.image.psnr(m.constant(_PIXELS), m.constant(_PIXELS // 2), 255),
        "ssim": m.image.ssim(a, b, 1.0),
        "ssim map": m.image.ssim(a, b, 1.0, filter_size=21, return_index_map=True),
        "multiscale": m.image.ssim_multiscale(a, b, 1.0, (0.5, 0.3, 0.2), filter_size=5),
    }


def png(pixels: np.ndarray, bits: int, color: int, palette: bytes = b"") -> bytes:
    """A PNG file of rows of bytes."""
    height, width = pixels.shape[0], pixels.shape[1]

    def chunk(kind, data):
        check = struct.pack(">I", zlib.crc32(kind + data))
        return struct.pack(">I", len(data)) + kind + data + check

    wide = pixels.astype(">u2") if bits == 16 else pixels.astype("uint8")
    rows = b"".join(b"\0" + row.tobytes() for row in wide)
    head = struct.pack(">IIBBBBB", width, height, bits, color, 0, 0, 0)
    colors = chunk(b"PLTE", palette) if palette else b""
    data = chunk(b"IDAT", zlib.compress(rows))
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + colors + data + chunk(b"IEND", b"")


def bmp(pixels: np.ndarray, upside_down: bool = False) -> bytes:
    """A BMP file of blue, green, red (, alpha)."""
    height, width, channels = pixels.shape
    rows = pixels if upside_down else pixels[::-1]
    pad = b"\0" * (-width * channels % 4)
    data = b"".join(row.tobytes() + pad for row in rows)
    shape = struct.pack("<iiHH", width, -height if upside_down else height, 1, 8 * channels)
    head = b"BM" + struct.pack("<IHHI", 54 + len(data), 0, 0, 54)
    return head + struct.pack("<I", 40) + shape + b"\0" * 24 + data


GIF = bytes.fromhex(
    "47494638396103000200a10300ff000000ff000000ffffffff21f904000a0000002c000000000300020000020484"
    "8f2905003b"
)


def _files(m):
    io = m.io
    wide = _bytes_image(3, 4, 2, seed=9, top=65536).astype("uint16")
    gray = _bytes_image(4, 5, 1, seed=8).astype("uint8")
    alpha = _bytes_image(3, 2, 4, seed=7).astype("uint8")
    out = {}
    for channels in (0, 1, 3, 4):
        out[f"gray {channels}"] = io.decode_png(png(gray[..., 0], 8, 0), channels)
        out[f"color {channels}"] = io.decode_png(png(_PIXELS, 8, 2), channels)
        out[f"alpha {channels}"] = io.decode_png(png(alpha, 8, 6), channels)
        out[f"wide {channels}"] = io.decode_png(png(wide, 16, 4), channels, "uint16")
        out[f"wide as 8 {channels}"] = io.decode_png(png(wide, 16, 4), channels)
    palette = bytes(range(9))
    out["palette"] = io.decode_png(png(gray[..., 0] % 3, 8, 3, palette))
    out["8 as 16"] = io.decode_png(png(_PIXELS, 8, 2), 0, "uint16")
    out["float"] = io.decode_image(png(wide, 16, 4), dtype="float32")
    out["bmp"] = io.decode_bmp(bmp(_PIXELS))
    out["bmp 4"] = io.decode_bmp(bmp(alpha, True), 4)
    out["bmp to 3"] = io.decode_image(bmp(alpha), 3)
    for each in (gray, _PIXELS, alpha):
        out[f"again {each.shape}"] = io.decode_png(io.encode_png(each))
    smooth = np.arange(20 * 24 * 3).reshape(20, 24, 3) // 6 % 256
    smooth = smooth.astype("uint8")
    file = io.encode_jpeg(smooth, quality=90)
    out["jpeg shape"] = io.extract_jpeg_shape(file)
    out["jpeg gray"] = io.decode_jpeg(io.encode_jpeg(smooth[..., :1]))
    for method in ("INTEGER_ACCURATE",):
        out[f"jpeg {method}"] = io.decode_jpeg(file, dct_method=method)
        out[f"jpeg small {method}"] = io.decode_jpeg(file, ratio=2, dct_method=method)
        out[f"jpeg window {method}"] = io.decode_and_crop_jpeg(
            file, [3, 5, 7, 9], dct_method=method
        )
    progressive = io.encode_jpeg(smooth, progressive=True, optimize_size=True)
    out["jpeg progressive"] = io.decode_image(progressive)
    return out


def _sequences(m):
    logits = _draw(7, 3, 5, seed=11)
    lengths = [7, 5, 6]
    out = {}
    for merge in (True, False):
        paths, score = m.nn.ctc_greedy_decoder(logits, lengths, merge_repeated=merge)
        out[f"greedy {merge}"] = [paths[0].indices, paths[0].values, paths[0].dense_shape, score]
    paths, score = m.nn.ctc_beam_search_decoder(logits, lengths, beam_width=4, top_paths=3)
    for i, path in enumerate(paths):
        out[f"beam {i}"] = [path.indices, path.values, path.dense_shape]
    out["beam scores"] = score
    labels = [[1, 2, 2], [3, 1, 0], [4, 4, 1]]
    counts = [3, 2, 3]
    out["dense"] = m.nn.ctc_loss(labels, logits, counts, lengths)
    out["dense gradient"] = _tape(
        m, lambda x: m.nn.ctc_loss(labels, x, counts, lengths, blank_index=0), logits
    )[0]
    sparse = m.SparseTensor(
        [[0, 0], [0, 1], [0, 2], [1, 0], [1, 1], [2, 0]], m.constant([1, 2, 2, 3, 1, 0]), [3, 3]
    )
    for blank in (4, -1, 2):
        picked = sparse
        if blank == 2:
            picked = m.SparseTensor(
                sparse.indices, m.constant([1, 3, 3, 3, 1, 0]), sparse.dense_shape
            )
        out[f"sparse {blank}"] = m.nn.ctc_loss(picked, logits, None, lengths, blank_index=blank)
    out["sparse gradient"] = _tape(
        m, lambda x: m.nn.ctc_loss(sparse, x, None, lengths, blank_index=-1), logits
    )[0]
    return out


def _random(m):
    logits = np.log(np.array([[0.1, 0.2, 0.7], [0.5, 0.25, 0.25]], "float32"))
    r = m.random
    return {
        "classes": r.stateless_categorical(logits, 9, [3, 7]),
        "gamma": r.stateless_gamma([3, 4], [3, 7], [0.3, 1.0, 2.5, 40.0]),
        "gamma double": r.stateless_gamma([5], [3, 7], 0.7, 2.0, "float64"),
        "poisson": r.stateless_poisson([4, 4], [3, 7], [0.3, 4.0, 12.0, 900.0], "float32"),
        "binomial": r.stateless_binomial(
            [3, 4], [3, 7], [5.0, 50.0, 50.0, 9e5], [0.2, 0.3, 0.9, 0.5]
        ),
        "box": m.image.stateless_sample_distorted_bounding_box(
            [40, 60, 3], [[[0.1, 0.2, 0.8, 0.9]]], [3, 7], 0.3
        ),
    }


CASES = {
    "resizes": _resizes,
    "resize_gradients": _resize_gradients,
    "crops": _crops,
    "patches": _patches,
    "flips": _flips,
    "colors": _colors,
    "suppression": _suppression,
    "transforms": _transforms,
    "likeness": _likeness,
    "files": _files,
    "sequences": _sequences,
    "random": _random,
}


def _plain(value):
    if isinstance(value, (list, tuple)):
        return [_plain(v) for v in value]
    array = np.asarray(value.numpy() if hasattr(value, "numpy") else value)
    flat = [float(f"{v:.7g}") if array.dtype.kind == "f" else int(v) for v in array.ravel()]
    return {"dtype": array.dtype.name, "shape": list(array.shape), "data": flat}


def run(m, case):
    """What a case gives, as plain numbers."""
    return {name: _plain(value) for name, value in CASES[case](m).items()}


if __name__ == "__main__":
    import tensorflow as tf

    with open(RECORDED, "w") as file:
        json.dump({name: run(tf, name) for name in CASES}, file, separators=(",", ":"))
        file.write("\n")

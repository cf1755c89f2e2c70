"""Image files: decoding and encoding their bytes."""

from __future__ import annotations

from gyre import _gyre
from gyre._gyre import Tensor
from gyre._impl.annotations import TensorLike
from gyre._impl.convert import call, convert_to_tensor
from gyre._impl.dtypes import DTypeLike
from gyre._impl.image.colors import convert_image_dtype


def _bytes(contents) -> Tensor:
    return convert_to_tensor(contents, "string")


def decode_jpeg(
    contents: TensorLike,
    channels: int = 0,
    ratio: int = 1,
    fancy_upscaling: bool = True,
    try_recover_truncated: bool = False,
    acceptable_fraction: float = 1,
    dct_method: str = "",
    name: str | None = None,
) -> Tensor:
    """The pixels of a JPEG file, uint8 of [height, width, channels]. `ratio`: 1, 2, 4 or 8 times
    smaller."""
    return call(
        "DecodeJpeg",
        _bytes(contents),
        channels=channels,
        ratio=ratio,
        fancy_upscaling=fancy_upscaling,
        try_recover_truncated=try_recover_truncated,
        acceptable_fraction=acceptable_fraction,
        dct_method=dct_method,
        name=name,
    )


def decode_and_crop_jpeg(
    contents: TensorLike,
    crop_window: TensorLike,
    channels: int = 0,
    ratio: int = 1,
    fancy_upscaling: bool = True,
    try_recover_truncated: bool = False,
    acceptable_fraction: float = 1,
    dct_method: str = "",
    name: str | None = None,
) -> Tensor:
    """A window (y, x, height, width) of the pixels of a JPEG file."""
    return call(
        "DecodeAndCropJpeg",
        _bytes(contents),
        convert_to_tensor(crop_window, dtype_hint="int32"),
        channels=channels,
        ratio=ratio,
        fancy_upscaling=fancy_upscaling,
        try_recover_truncated=try_recover_truncated,
        acceptable_fraction=acceptable_fraction,
        dct_method=dct_method,
        name=name,
    )


def decode_png(
    contents: TensorLike, channels: int = 0, dtype: DTypeLike = "uint8", name: str | None = None
) -> Tensor:
    """The pixels of a PNG file, uint8 or uint16 of [height, width, channels]."""
    return call(
        "DecodePng", _bytes(contents), channels=channels, dtype=_gyre.as_dtype(dtype), name=name
    )


def decode_gif(contents: TensorLike, name: str | None = None) -> Tensor:
    """The frames of a GIF file, uint8 of [frames, height, width, 3]."""
    return call("DecodeGif", _bytes(contents), name=name)


def decode_bmp(contents: TensorLike, channels: int = 0, name: str | None = None) -> Tensor:
    """The pixels of a BMP file, uint8 of [height, width, channels]."""
    return call("DecodeBmp", _bytes(contents), channels=channels, name=name)


def decode_image(
    contents: TensorLike,
    channels: int | None = None,
    dtype: DTypeLike = "uint8",
    name: str | None = None,
    expand_animations: bool = True,
) -> Tensor:
    """The pixels of a JPEG, PNG, GIF or BMP file: uint8, uint16, or float32 of [0, 1]. Frames of a
    GIF are [frames, height, width, 3], unless `expand_animations` is false: the first one then."""
    kind = _gyre.as_dtype(dtype)
    exact = kind.name in ("uint8", "uint16", "float32")
    image = call(
        "DecodeImage",
        _bytes(contents),
        channels=0 if channels is None else channels,
        dtype=kind if exact else _gyre.as_dtype("uint16"),
        expand_animations=expand_animations,
        name=name,
    )
    return image if exact else convert_image_dtype(image, kind)


def encode_jpeg(
    image: TensorLike,
    format: str = "",
    quality: int = 95,
    progressive: bool = False,
    optimize_size: bool = False,
    chroma_downsampling: bool = True,
    density_unit: str = "in",
    x_density: int = 300,
    y_density: int = 300,
    xmp_metadata: str = "",
    name: str | None = None,
) -> Tensor:
    """Pixels, uint8 of [height, width, 1 or 3], as a JPEG file."""
    return call(
        "EncodeJpeg",
        convert_to_tensor(image, dtype_hint="uint8"),
        format=format,
        quality=quality,
        progressive=progressive,
        optimize_size=optimize_size,
        chroma_downsampling=chroma_downsampling,
        density_unit=density_unit,
        x_density=x_density,
        y_density=y_density,
        xmp_metadata=xmp_metadata,
        name=name,
    )


def encode_png(image: TensorLike, compression: int = -1, name: str | None = None) -> Tensor:
    """Pixels, uint8 or uint16 of [..., height, width, 1 to 4], as PNG files."""
    image = convert_to_tensor(image, dtype_hint="uint8")
    return call("EncodePng", image, compression=compression, name=name)


def extract_jpeg_shape(
    contents: TensorLike, output_type: DTypeLike = "int32", name: str | None = None
) -> Tensor:
    """Height, width and channels of a JPEG file, of which only the beginning is read."""
    return call(
        "ExtractJpegShape", _bytes(contents), output_type=_gyre.as_dtype(output_type), name=name
    )


def is_jpeg(contents: TensorLike, name: str | None = None) -> Tensor:
    """Whether bytes begin as those of a JPEG file."""
    start = call("Substr", _bytes(contents), 0, 3)
    return call("Equal", start, _gyre.convert(b"\xff\xd8\xff"), name=name)


def adjust_jpeg_quality(
    image: TensorLike, jpeg_quality: TensorLike, dct_method: str = "", name: str | None = None
) -> Tensor:
    """An image as it is after JPEG of some quality of [0, 100]."""
    image = convert_to_tensor(image)
    pixels = convert_image_dtype(image, "uint8", saturate=True)
    quality = convert_to_tensor(jpeg_quality, dtype_hint="int32")
    encoded = call("EncodeJpegVariableQuality", pixels, quality)
    channels = image._dims[-1] if image._dims is not None else None
    decoded = decode_jpeg(encoded, channels=channels or 0, dct_method=dct_method)
    return convert_image_dtype(decoded, image.dtype, saturate=True, name=name)

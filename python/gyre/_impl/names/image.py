"""Images and image files."""

_I = "gyre._impl.image."
_GEOMETRY = (
    "flip_left_right",
    "flip_up_down",
    "transpose",
    "rot90",
    "crop_to_bounding_box",
    "pad_to_bounding_box",
    "resize_with_crop_or_pad",
    "central_crop",
    "extract_patches",
    "total_variation",
    "image_gradients",
    "sobel_edges",
)
_RESIZING = ("ResizeMethod", "resize", "resize_with_pad", "crop_and_resize")
_COLORS = (
    "convert_image_dtype",
    "rgb_to_grayscale",
    "grayscale_to_rgb",
    "rgb_to_yiq",
    "yiq_to_rgb",
    "rgb_to_yuv",
    "yuv_to_rgb",
    "adjust_brightness",
    "adjust_contrast",
    "adjust_gamma",
    "adjust_hue",
    "adjust_saturation",
    "per_image_standardization",
)
_RANDOM = tuple(
    f"{prefix}{name}"
    for name in (
        "flip_left_right",
        "flip_up_down",
        "brightness",
        "contrast",
        "hue",
        "saturation",
        "jpeg_quality",
        "crop",
    )
    for prefix in ("random_", "stateless_random_")
)
_BOXES = (
    "non_max_suppression",
    "non_max_suppression_with_scores",
    "non_max_suppression_overlaps",
    "non_max_suppression_padded",
    "combined_non_max_suppression",
    "draw_bounding_boxes",
    "sample_distorted_bounding_box",
    "stateless_sample_distorted_bounding_box",
)
_FILES = (
    "decode_jpeg",
    "decode_and_crop_jpeg",
    "decode_png",
    "decode_gif",
    "decode_bmp",
    "decode_image",
    "encode_jpeg",
    "encode_png",
    "extract_jpeg_shape",
    "is_jpeg",
)

NAMES = {
    **{f"image.{name}": f"{_I}geometry:{name}" for name in _GEOMETRY},
    **{f"image.{name}": f"{_I}resizing:{name}" for name in _RESIZING},
    **{f"image.{name}": f"{_I}colors:{name}" for name in _COLORS},
    **{f"image.{name}": f"{_I}randomized:{name}" for name in _RANDOM},
    **{f"image.{name}": f"{_I}boxes:{name}" for name in _BOXES},
    **{f"image.{name}": f"{_I}quality:{name}" for name in ("psnr", "ssim", "ssim_multiscale")},
    **{f"image.{name}": f"{_I}files:{name}" for name in _FILES},
    "image.adjust_jpeg_quality": _I + "files:adjust_jpeg_quality",
    **{f"io.{name}": f"{_I}files:{name}" for name in _FILES},
    **{
        f"compat.v1.image.{name}": f"{_I}resizing:{place}"
        for name, place in (
            ("ResizeMethod", "ResizeMethodV1"),
            ("resize", "resize_v1"),
            ("resize_images", "resize_v1"),
            ("resize_image_with_pad", "resize_with_pad_v1"),
            ("resize_bilinear", "resize_bilinear"),
            ("resize_bicubic", "resize_bicubic"),
            ("resize_nearest_neighbor", "resize_nearest_neighbor"),
            ("resize_area", "resize_area"),
            ("crop_and_resize", "crop_and_resize_v1"),
        )
    },
    "compat.v1.image.resize_image_with_crop_or_pad": _I + "geometry:resize_with_crop_or_pad",
    "compat.v1.image.transpose_image": _I + "geometry:transpose",
    "compat.v1.image.extract_image_patches": _I + "geometry:extract_image_patches",
    "compat.v1.image.draw_bounding_boxes": _I + "boxes:draw_bounding_boxes_v1",
}

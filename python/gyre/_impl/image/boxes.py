"""Boxes in images: which of them to keep, and drawing and sampling them."""

from __future__ import annotations

import collections

from gyre._gyre import Tensor
from gyre._impl.annotations import TensorLike
from gyre._impl.convert import call, calls, convert_to_tensor, same_dtype
from gyre._impl.random import op_seed

_LOWEST = float("-inf")


def _float(value):
    return convert_to_tensor(value, dtype_hint="float32")


def non_max_suppression(
    boxes: TensorLike,
    scores: TensorLike,
    max_output_size: TensorLike,
    iou_threshold: TensorLike = 0.5,
    score_threshold: TensorLike = _LOWEST,
    name: str | None = None,
) -> Tensor:
    """Numbers of the boxes of the highest scores that do not overlap more than the threshold
    (intersection over union)."""
    boxes, scores = same_dtype([_float(boxes), _float(scores)])
    return call(
        "NonMaxSuppressionV3",
        boxes,
        scores,
        convert_to_tensor(max_output_size, dtype_hint="int32"),
        _float(iou_threshold),
        _float(score_threshold),
        name=name,
    )


def non_max_suppression_with_scores(
    boxes: TensorLike,
    scores: TensorLike,
    max_output_size: TensorLike,
    iou_threshold: TensorLike = 0.5,
    score_threshold: TensorLike = _LOWEST,
    soft_nms_sigma: TensorLike = 0.0,
    name: str | None = None,
) -> tuple[Tensor, Tensor]:
    """As non_max_suppression, and the scores; with a sigma, boxes that overlap have lower scores
    instead of being left out. Source: Bodla et al., Soft-NMS (2017)."""
    boxes, scores = same_dtype([_float(boxes), _float(scores)])
    numbers = [
        convert_to_tensor(value, boxes.dtype) if isinstance(value, (int, float)) else _float(value)
        for value in (iou_threshold, score_threshold, soft_nms_sigma)
    ]
    indices, kept, _ = calls(
        "NonMaxSuppressionV5",
        boxes,
        scores,
        convert_to_tensor(max_output_size, dtype_hint="int32"),
        *numbers,
        name=name,
    )
    return indices, kept


def non_max_suppression_overlaps(
    overlaps: TensorLike,
    scores: TensorLike,
    max_output_size: TensorLike,
    overlap_threshold: TensorLike = 0.5,
    score_threshold: TensorLike = _LOWEST,
    name: str | None = None,
) -> Tensor:
    """As non_max_suppression, of boxes of which their overlaps are given, [boxes, boxes]."""
    return call(
        "NonMaxSuppressionWithOverlaps",
        _float(overlaps),
        _float(scores),
        convert_to_tensor(max_output_size, dtype_hint="int32"),
        _float(overlap_threshold),
        _float(score_threshold),
        name=name,
    )


def _padded_one(boxes, scores, most, overlap, score, pads, name):
    return calls(
        "NonMaxSuppressionV4",
        boxes,
        scores,
        most,
        overlap,
        score,
        pad_to_max_output_size=pads,
        name=name,
    )


def non_max_suppression_padded(
    boxes: TensorLike,
    scores: TensorLike,
    max_output_size: TensorLike,
    iou_threshold: TensorLike = 0.5,
    score_threshold: TensorLike = _LOWEST,
    pad_to_max_output_size: bool = False,
    name: str | None = None,
    sorted_input: bool = False,
    canonicalized_coordinates: bool = False,
    tile_size: int = 512,
) -> tuple[Tensor, Tensor]:
    """As non_max_suppression, and how many there are; perhaps filled up with zeros, which batches
    of boxes, [..., boxes, 4], must be. (Boxes may be in any order, and tiles are not used.)"""
    del sorted_input, canonicalized_coordinates, tile_size
    boxes, scores = same_dtype([_float(boxes), _float(scores)])
    most = convert_to_tensor(max_output_size, dtype_hint="int32")
    overlap, score = _float(iou_threshold), _float(score_threshold)
    rank = None if boxes._dims is None else len(boxes._dims)
    if rank in (None, 2):
        one = _padded_one(boxes, scores, most, overlap, score, pad_to_max_output_size, name)
        return one[0], one[1]
    if not pad_to_max_output_size:
        raise ValueError(
            f"'pad_to_max_output_size' (value {pad_to_max_output_size}) must be True for "
            "batched input"
        )
    lead = boxes._dims[:-2]
    if None in lead:
        raise ValueError("non_max_suppression_padded needs to know the size of its batch")
    flat_boxes = call("Reshape", boxes, [-1, *_last(boxes, 2)])
    flat_scores = call("Reshape", scores, [-1, *_last(scores, 1)])
    count = 1
    for size in lead:
        count *= size
    found = [
        _padded_one(flat_boxes[i], flat_scores[i], most, overlap, score, True, None)
        for i in range(count)
    ]
    indices = call("Pack", [each[0] for each in found], axis=0)
    counts = call("Pack", [each[1] for each in found], axis=0)
    return (
        call("Reshape", indices, call("ConcatV2", [list(lead), call("ExpandDims", most, 0)], 0)),
        call("Reshape", counts, list(lead)),
    )


def _last(x, n):
    """The last dimensions, which must be known."""
    dims = list(x._dims[-n:])
    if None in dims:
        raise ValueError("non_max_suppression_padded needs to know how many boxes there are")
    return dims


CombinedNonMaxSuppression = collections.namedtuple(
    "CombinedNonMaxSuppression",
    ["nmsed_boxes", "nmsed_scores", "nmsed_classes", "valid_detections"],
)


def combined_non_max_suppression(
    boxes: TensorLike,
    scores: TensorLike,
    max_output_size_per_class: TensorLike,
    max_total_size: TensorLike,
    iou_threshold: TensorLike = 0.5,
    score_threshold: TensorLike = _LOWEST,
    pad_per_class: bool = False,
    clip_boxes: bool = True,
    name: str | None = None,
) -> CombinedNonMaxSuppression:
    """Of each image the best boxes of each class that do not overlap, and of these the best of
    all: boxes, scores, classes, and how many there are."""
    return CombinedNonMaxSuppression(
        *calls(
            "CombinedNonMaxSuppression",
            _float(boxes),
            _float(scores),
            convert_to_tensor(max_output_size_per_class, dtype_hint="int32"),
            convert_to_tensor(max_total_size, dtype_hint="int32"),
            _float(iou_threshold),
            _float(score_threshold),
            pad_per_class=pad_per_class,
            clip_boxes=clip_boxes,
            name=name,
        )
    )


def draw_bounding_boxes(
    images: TensorLike, boxes: TensorLike, colors: TensorLike | None, name: str | None = None
) -> Tensor:
    """Images with the edges of boxes (in parts of height and width) drawn in colors by turns."""
    if colors is None:
        return call("DrawBoundingBoxes", _float(images), _float(boxes), name=name)
    return call("DrawBoundingBoxesV2", _float(images), _float(boxes), _float(colors), name=name)


def draw_bounding_boxes_v1(
    images: TensorLike, boxes: TensorLike, name: str | None = None, colors=None
) -> Tensor:
    """As image.draw_bounding_boxes, in ten colors unless others are given."""
    return draw_bounding_boxes(images, boxes, colors, name)


SampleDistortedBoundingBox = collections.namedtuple(
    "SampleDistortedBoundingBox", ["begin", "size", "bboxes"]
)


def _ranges(aspect_ratio_range, area_range, max_attempts, use_image):
    return {
        "aspect_ratio_range": list(aspect_ratio_range or (0.75, 1.33)),
        "area_range": list(area_range or (0.05, 1)),
        "max_attempts": 100 if max_attempts is None else max_attempts,
        "use_image_if_no_bounding_boxes": bool(use_image),
    }


def sample_distorted_bounding_box(
    image_size: TensorLike,
    bounding_boxes: TensorLike,
    seed=0,
    min_object_covered: TensorLike = 0.1,
    aspect_ratio_range=None,
    area_range=None,
    max_attempts: int | None = None,
    use_image_if_no_bounding_boxes: bool | None = None,
    name: str | None = None,
) -> SampleDistortedBoundingBox:
    """A random part of an image that covers enough of one of the boxes: where it begins and its
    size (for slice), and as a box (for draw_bounding_boxes)."""
    return SampleDistortedBoundingBox(
        *calls(
            "SampleDistortedBoundingBoxV2",
            convert_to_tensor(image_size, dtype_hint="int32"),
            _float(bounding_boxes),
            _float(min_object_covered),
            seed=op_seed(seed) if seed else 0,
            name=name,
            **_ranges(aspect_ratio_range, area_range, max_attempts, use_image_if_no_bounding_boxes),
        )
    )


def stateless_sample_distorted_bounding_box(
    image_size: TensorLike,
    bounding_boxes: TensorLike,
    seed,
    min_object_covered: TensorLike = 0.1,
    aspect_ratio_range=None,
    area_range=None,
    max_attempts: int | None = None,
    use_image_if_no_bounding_boxes: bool | None = None,
    name: str | None = None,
) -> SampleDistortedBoundingBox:
    """As sample_distorted_bounding_box, determined by a seed: two integers."""
    return SampleDistortedBoundingBox(
        *calls(
            "StatelessSampleDistortedBoundingBox",
            convert_to_tensor(image_size, dtype_hint="int32"),
            _float(bounding_boxes),
            _float(min_object_covered),
            convert_to_tensor(seed, dtype_hint="int64"),
            name=name,
            **_ranges(aspect_ratio_range, area_range, max_attempts, use_image_if_no_bounding_boxes),
        )
    )

"""An SSD-like detector: anchors, boxes, two ways of suppression, training by matches."""

import numpy as np
import tensorflow as tf

from .base import Golden, spec
from .convnets import conv

SIZE, CLASSES = 32, 3
MAPS = ((8, 0.25), (4, 0.5))  # cells along an axis, scale of the anchors
RATIOS = (1.0, 2.0, 0.5)


def anchors():
    """[anchors, 4]: centre y, x, height, width, of each cell and ratio."""
    found = []
    for cells, scale in MAPS:
        centres = (tf.range(cells, dtype=tf.float32) + 0.5) / float(cells)
        y, x = tf.meshgrid(centres, centres, indexing="ij")
        root = tf.sqrt(tf.constant(RATIOS))
        y, x, h, w = (
            tf.broadcast_to(v, [cells, cells, len(RATIOS)])
            for v in (y[..., None], x[..., None], scale / root, scale * root)
        )
        found.append(tf.reshape(tf.stack([y, x, h, w], -1), [-1, 4]))
    return tf.concat(found, 0)


def corners(centred):
    y, x, h, w = tf.unstack(centred, axis=-1)
    return tf.stack([y - h / 2, x - w / 2, y + h / 2, x + w / 2], -1)


def decode(deltas, priors):
    """Boxes by corners, from what the net says relative to anchors."""
    centre = deltas[..., :2] * 0.1 * priors[:, 2:] + priors[:, :2]
    extent = tf.exp(deltas[..., 2:] * 0.2) * priors[:, 2:]
    return tf.clip_by_value(corners(tf.concat([centre, extent], -1)), 0.0, 1.0)


def encode(boxes, priors):
    centre, extent = (boxes[..., :2] + boxes[..., 2:]) / 2, boxes[..., 2:] - boxes[..., :2]
    return tf.concat(
        [
            (centre - priors[:, :2]) / priors[:, 2:] / 0.1,
            tf.math.log(tf.maximum(extent, 1e-3) / priors[:, 2:]) / 0.2,
        ],
        -1,
    )


def overlaps(a, b):
    """[a, b]: intersection over union of boxes by corners."""
    low = tf.maximum(a[:, None, :2], b[None, :, :2])
    high = tf.minimum(a[:, None, 2:], b[None, :, 2:])
    both = tf.reduce_prod(tf.maximum(high - low, 0.0), -1)
    areas = [tf.reduce_prod(x[:, 2:] - x[:, :2], -1) for x in (a, b)]
    return tf.math.divide_no_nan(both, areas[0][:, None] + areas[1][None, :] - both)


class Detector(Golden):
    title = "ssd_detector"
    doc = (
        "SSD-like: anchors of two feature maps joined from above, CombinedNonMaxSuppression; "
        "soft suppression by class in loops of a mapped function; crops of boxes; training by "
        "matches with mined negatives"
    )
    serve_inputs = {"image": spec([None, SIZE, SIZE, 3])}
    loss_inputs = {
        "image": spec([2, SIZE, SIZE, 3]),
        "boxes": spec([2, 3, 4]),
        "classes": spec([2, 3], tf.int32),
    }

    def predictions(self, image):
        x = tf.nn.relu(conv(self, "stem", image, 8, 3, 2))
        fine = tf.nn.relu(conv(self, "fine", x, 10, 3, 2))
        coarse = tf.nn.relu(conv(self, "coarse", fine, 12, 3, 2))
        above = tf.image.resize(conv(self, "lateral", coarse, 10, 1), [8, 8], "nearest")
        scores, deltas = [], []
        for name, x in (("fine", fine + above), ("coarse", coarse)):
            for kind, depth, found in (("score", CLASSES, scores), ("box", 4, deltas)):
                y = conv(self, f"{name}.{kind}", x, depth * len(RATIOS), 3)
                y = y + self.weight(f"{name}.{kind}.bias", [y.shape[-1]], value=0.0)
                found.append(tf.reshape(y, [tf.shape(image)[0], -1, depth]))
        return tf.concat(scores, 1), tf.concat(deltas, 1)

    def serve(self, image):
        scores, deltas = self.predictions(image)
        boxes = decode(deltas, anchors())
        found = tf.image.combined_non_max_suppression(
            boxes[:, :, None, :],
            tf.sigmoid(scores),
            max_output_size_per_class=6,
            max_total_size=10,
            iou_threshold=0.4,
            score_threshold=0.55,
        )
        return {"boxes": found[0], "scores": found[1], "classes": found[2], "count": found[3]}

    def softly(self, image):
        """Each class of each image by itself, in loops; crops of the best box of each class."""
        scores, deltas = self.predictions(image)

        def of_image(inputs):
            boxes, scores = inputs
            kept = tf.TensorArray(tf.float32, CLASSES, element_shape=[4, 5])
            for c in tf.range(CLASSES):
                indices, soft = tf.image.non_max_suppression_with_scores(
                    boxes, scores[:, c], 4, 0.5, 0.3, soft_nms_sigma=0.5
                )
                rows = tf.concat([tf.gather(boxes, indices), soft[:, None]], 1)
                kept = kept.write(c, tf.pad(rows, [[0, 4 - tf.shape(rows)[0]], [0, 0]]))
            return kept.stack()

        kept = tf.map_fn(
            of_image,
            (decode(deltas, anchors()), tf.sigmoid(scores)),
            fn_output_signature=spec([CLASSES, 4, 5]),
        )
        best = tf.reshape(kept[:, :, 0, :4], [-1, 4])
        of = tf.repeat(tf.range(tf.shape(image)[0]), CLASSES)
        return {"kept": kept, "crops": tf.image.crop_and_resize(image, best, of, [3, 3])}

    def more_signatures(self):
        return {"softly": (self.softly, self.serve_inputs)}

    def targets(self, boxes, classes, priors):
        """Of one image: the class of each anchor (-1: none), and its deltas."""
        overlap = overlaps(corners(priors), boxes)
        match = tf.argmax(overlap, 1, output_type=tf.int32)
        best = tf.argmax(overlap, 0, output_type=tf.int32)
        match = tf.tensor_scatter_nd_update(match, best[:, None], tf.range(tf.size(best)))
        close = tf.reduce_max(overlap, 1) > 0.4
        close = tf.tensor_scatter_nd_update(close, best[:, None], tf.ones_like(best, tf.bool))
        return (
            tf.where(close, tf.gather(classes, match), -1),
            encode(tf.gather(boxes, match), priors),
        )

    def loss(self, image, boxes, classes):
        priors = anchors()
        scores, deltas = self.predictions(image)
        wanted, wanted_deltas = tf.map_fn(
            lambda given: self.targets(given[0], given[1], priors),
            (boxes, classes),
            fn_output_signature=(tf.int32, tf.float32),
        )
        positive = tf.cast(wanted >= 0, tf.float32)
        count = tf.maximum(tf.reduce_sum(positive), 1.0)
        off = tf.abs(deltas - tf.stop_gradient(wanted_deltas))
        huber = tf.reduce_sum(tf.where(off < 1.0, 0.5 * off * off, off - 0.5), -1)
        of_class = tf.nn.sigmoid_cross_entropy_with_logits(
            labels=tf.one_hot(wanted, CLASSES), logits=scores
        )
        of_class = tf.reduce_sum(of_class, -1)
        hard = tf.math.top_k(of_class * (1.0 - positive), 20).values
        return (tf.reduce_sum(positive * (huber + of_class)) + tf.reduce_sum(hard)) / count

    def steps(self):
        image = self.draw(2, SIZE, SIZE, 3)
        low = self.random.uniform(0, 0.5, [2, 3, 2])
        extent = self.random.uniform(0.2, 0.5, [2, 3, 2])
        batch = {
            "image": image,
            "boxes": np.concatenate([low, low + extent], -1).astype(np.float32),
            "classes": self.random.randint(0, CLASSES, [2, 3]).astype(np.int32),
        }
        usual = self.usual_steps({"image": image}, batch, rate=0.02)
        return [
            *usual[:1],
            ("softly", {"image": image[:1]}),
            *usual[1:],
            ("softly", {"image": image}),
        ]


MODELS = [Detector]

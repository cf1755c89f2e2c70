"""What is known of shapes and types before a program runs."""

import numpy as np
import tensorflow as tf

known = {}


@tf.function(input_signature=[tf.TensorSpec([None, 3])])
def look(x):
    known["x"] = x.shape
    known["sum"] = tf.reduce_sum(x, axis=1).shape
    known["product"] = tf.matmul(x, x, transpose_b=True).shape
    known["stacked"] = tf.stack([x, x]).shape
    known["fixed"] = tf.ensure_shape(x, [2, 3]).shape
    known["static"] = tf.get_static_value(tf.constant([1, 2]) * 2) is not None
    return tf.shape(x)


def main():
    look(tf.ones([2, 3]))
    shape = tf.TensorShape([2, None, 4])
    merged = shape.merge_with([None, 3, 4])
    joined = shape.concatenate([5])
    general = tf.TensorShape([2, 3]).most_specific_compatible_shape([2, 4])
    spec = tf.TensorSpec.from_tensor(tf.ones([2, 2], tf.float64), name="t")
    try:
        shape.merge_with([1, 1, 1])
        conflict = "none"
    except ValueError as error:
        conflict = type(error).__name__
    types = [tf.float32, tf.bfloat16, tf.complex64, tf.qint8, tf.string, tf.bool, tf.int64]
    return {
        "ranks": [known[k].rank for k in ("x", "sum", "product", "stacked", "fixed")],
        "none": [
            known[k].as_list().count(None) for k in ("x", "sum", "product", "stacked", "fixed")
        ],
        "static": known["static"],
        "merged": merged.as_list(),
        "joined": joined.rank,
        "general": str(general),
        "texts": [str(shape), repr(shape), str(tf.TensorShape(None))],
        "defined": [shape.is_fully_defined(), merged.is_fully_defined()],
        "elements": merged.num_elements(),
        "length": len(shape),
        "last": shape[-1],
        "head": str(shape[:2]),
        "compatible": [shape.is_compatible_with([2, 9, 4]), shape.is_compatible_with([2, 4])],
        "equal": [
            tf.TensorShape([1]) == tf.TensorShape([1]),
            tf.TensorShape([1]) == [1],
            tf.TensorShape([1]) != (2,),
        ],
        "with_rank": tf.TensorShape(None).with_rank(2).as_list().count(None),
        "conflict": conflict,
        "spec": [str(spec.dtype.name), str(spec.shape), spec.name],
        "fits": [
            spec.is_compatible_with(tf.zeros([2, 2], tf.float64)),
            tf.TensorSpec([None], tf.int32) == tf.TensorSpec([None], tf.int32),
        ],
        "enums": [t.as_datatype_enum for t in types],
        "names": [t.name for t in types],
        "sizes": [t.size for t in types],
        "numpy": [np.dtype(t.as_numpy_dtype).name for t in types[:3]],
        "complex": [t.is_complex for t in types],
        "floating": [t.is_floating for t in types],
        "integer": [t.is_integer for t in types],
        "quantized": [t.is_quantized for t in types],
        "limits": [tf.int8.max, tf.uint16.max, tf.int32.min],
        "real": tf.complex64.real_dtype.name,
        "as": [tf.as_dtype(np.float64).name, tf.as_dtype("int16").name, tf.as_dtype(bool).name],
    }

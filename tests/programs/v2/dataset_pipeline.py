"""Datasets put together of other datasets, read by Python."""

import numpy as np
import tensorflow as tf

Dataset = tf.data.Dataset


def flat(dataset):
    return [np.asarray(x).tolist() for x in dataset.as_numpy_iterator()]


def main():
    numbers = Dataset.range(10)
    squares = numbers.map(lambda x: x * x)
    even = squares.filter(lambda x: x % 2 == 0)
    batched = numbers.batch(4)
    dropped = numbers.batch(4, drop_remainder=True)
    pairs = Dataset.zip((numbers, squares)).skip(2).take(3)
    letters = Dataset.from_tensor_slices({"letter": ["a", "b", "c"], "code": [97, 98, 99]})
    sums = [int(x) + int(y) for x, y in pairs]
    labelled = [
        (int(i), item["letter"].numpy().decode(), int(item["code"]))
        for i, item in letters.enumerate(start=5)
    ]
    total = numbers.reduce(np.int64(0), lambda s, x: s + x)
    state, count = numbers.reduce(
        (tf.constant(0.0), tf.constant(0)), lambda s, x: (s[0] + tf.cast(x, tf.float32), s[1] + 1)
    )
    repeated = flat(Dataset.range(3).repeat(2))
    endless = flat(Dataset.range(2).repeat().take(5))
    spec = letters.element_spec
    nested = flat(Dataset.range(6).batch(2).map(tf.reduce_sum))
    joined = flat(Dataset.range(2).concatenate(Dataset.range(10, 13)))
    single = [x.numpy().tolist() for x in Dataset.from_tensors([[1, 2], [3, 4]])]
    shuffled = sorted(flat(Dataset.range(20).shuffle(7, seed=3)))
    lengths = [
        int(d.cardinality())
        for d in (
            numbers,
            even,
            batched,
            dropped,
            pairs,
            numbers.repeat(),
            numbers.skip(20),
            squares,
        )
    ]
    iterator = iter(batched)
    first = next(iterator)
    return {
        "squares": flat(squares),
        "even": flat(even),
        "batches": [b.shape[0] for b in batched],
        "dropped": np.array(flat(dropped)),
        "sums": sums,
        "labelled": [str(x) for x in labelled],
        "total": total,
        "state": state,
        "count": count,
        "repeated": repeated,
        "endless": endless,
        "nested": nested,
        "joined": joined,
        "single": single,
        "shuffled": shuffled,
        "lengths": lengths,
        "first": first,
        "spec": str(spec["code"].dtype.name),
        "spec_shape": batched.element_spec.shape.as_list() == [None],
        "fixed_shape": dropped.element_spec.shape.as_list(),
        "len": len(batched),
    }

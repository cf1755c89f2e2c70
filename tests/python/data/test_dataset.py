"""Datasets: elements eagerly, in loops of graphs, lengths, specs, what is refused."""

import collections
import itertools
import subprocess
import sys
import threading

import numpy as np
import pytest

import gyre

Dataset = gyre.data.Dataset


def listed(dataset):
    return [gyre.nest.map_structure(lambda x: np.asarray(x).tolist(), e) for e in dataset]


def in_graph(dataset):
    """The elements (int64 scalars), as a loop of a graph collects them."""

    @gyre.function
    def collect():
        found = gyre.TensorArray(gyre.int64, 0, dynamic_size=True, element_shape=[])
        i = gyre.constant(0)
        for x in dataset:
            found = found.write(i, x)
            i += 1
        return found.stack()

    return collect().numpy().tolist()


def generated():
    yield from (5, 6, 7)


SCALARS = {
    "range": (Dataset.range(4), [0, 1, 2, 3]),
    "range_down": (Dataset.range(5, 0, -2), [5, 3, 1]),
    "rows": (Dataset.from_tensor_slices(np.array([3, 1, 2])), [3, 1, 2]),
    "single": (Dataset.from_tensors(np.int64(7)), [7]),
    "map": (Dataset.range(3).map(lambda x: x * x + 1), [1, 2, 5]),
    "filter": (Dataset.range(10).filter(lambda x: x % 3 == 1), [1, 4, 7]),
    "take": (Dataset.range(9).take(2), [0, 1]),
    "take_more": (Dataset.range(2).take(9), [0, 1]),
    "take_all": (Dataset.range(2).take(-1), [0, 1]),
    "skip": (Dataset.range(5).skip(3), [3, 4]),
    "shard": (Dataset.range(8).shard(3, 1), [1, 4, 7]),
    "shard_filtered": (Dataset.range(9).filter(lambda x: x > 1).shard(2, 0), [2, 4, 6, 8]),
    "shard_more": (Dataset.range(2).shard(4, 3), []),
    "cache": (Dataset.range(4).map(lambda x: x * 2).cache(), [0, 2, 4, 6]),
    "cache_of_nothing": (Dataset.range(0).cache(), []),
    "skip_more": (Dataset.range(2).skip(3), []),
    "repeat": (Dataset.range(2).repeat(3), [0, 1] * 3),
    "repeat_never": (Dataset.range(2).repeat(0), []),
    "endless": (Dataset.range(2).repeat().take(5), [0, 1, 0, 1, 0]),
    "nothing_endlessly": (Dataset.range(0).repeat(), []),
    "concatenate": (Dataset.range(2).concatenate(Dataset.range(7, 9)), [0, 1, 7, 8]),
    "take_while": (Dataset.range(9).take_while(lambda x: x < 3), [0, 1, 2]),
    "flat_map": (Dataset.range(4).flat_map(lambda n: Dataset.range(n)), [0, 0, 1, 0, 1, 2]),
    "unbatch": (Dataset.range(5).batch(2).unbatch(), [0, 1, 2, 3, 4]),
    "generator": (
        Dataset.from_generator(generated, output_signature=gyre.TensorSpec([], gyre.int64)),
        [5, 6, 7],
    ),
    "nested": (
        Dataset.range(6).filter(lambda x: x > 1).map(lambda x: x * 10).take(3).repeat(2),
        [20, 30, 40] * 2,
    ),
    "sum_of_batches": (Dataset.range(7).batch(3).map(gyre.reduce_sum), [3, 12, 6]),
    "branches": (Dataset.range(4).map(lambda x: x if x > 1 else -x), [0, -1, 2, 3]),
}


@pytest.mark.parametrize("name", SCALARS)
def test_elements(name):
    dataset, expected = SCALARS[name]
    assert listed(dataset) == expected
    assert listed(dataset) == expected, "the second time"
    assert in_graph(dataset) == expected
    known = int(dataset.cardinality())
    assert known in (len(expected), -1 if name == "nothing_endlessly" else -2)


Pair = collections.namedtuple("Pair", ["a", "b"])


def test_structures():
    rows = Dataset.from_tensor_slices({"x": [1, 2, 3], "y": ([1.0, 2.0, 3.0], ["a", "b", "c"])})
    assert listed(rows.take(1)) == [{"x": 1, "y": (1.0, b"a")}]
    swapped = rows.map(lambda e: Pair(e["y"][1], e["x"]))
    assert [(type(e).__name__, int(e.b)) for e in swapped] == [
        ("Pair", 1),
        ("Pair", 2),
        ("Pair", 3),
    ]
    pairs = Dataset.zip((Dataset.range(5), Dataset.range(2).map(lambda x: -x)))
    assert listed(pairs) == [(0, 0), (1, -1)] and len(pairs) == 2
    assert listed(Dataset.zip({"k": Dataset.range(1)})) == [{"k": 0}]
    assert listed(pairs.map(lambda a, b: a + b)) == [0, 0]
    assert listed(Dataset.range(2).enumerate(3)) == [(3, 0), (4, 1)]


def test_batches():
    pairs = Dataset.from_tensor_slices((np.arange(5), np.arange(10.0).reshape(5, 2)))
    shapes = [(a.shape, b.shape) for a, b in pairs.batch(2)]
    assert shapes == [([2], [2, 2])] * 2 + [([1], [1, 2])]
    assert pairs.batch(2).element_spec[1] == gyre.TensorSpec([None, 2], gyre.float64)
    whole = pairs.batch(2, drop_remainder=True)
    assert whole.element_spec[1] == gyre.TensorSpec([2, 2], gyre.float64) and len(whole) == 2
    assert len(list(whole)) == 2
    # The same of elements that are made one by one.
    one_by_one = pairs.map(lambda a, b: (a, b)).batch(2)
    for x, y in zip(pairs.batch(2), one_by_one, strict=True):
        np.testing.assert_array_equal(x[1], y[1])
    assert listed(Dataset.range(5).map(lambda x: x + 1).batch(3, drop_remainder=True)) == [
        [1, 2, 3]
    ]


GROWING = Dataset.range(1, 6).map(lambda n: gyre.fill([n], n))


def test_padded_batches():
    assert listed(GROWING.padded_batch(2)) == [
        [[1, 0], [2, 2]],
        [[3, 3, 3, 0], [4, 4, 4, 4]],
        [[5, 5, 5, 5, 5]],
    ]
    padded = GROWING.padded_batch(2, [6], padding_values=-1, drop_remainder=True)
    assert padded.element_spec == gyre.TensorSpec([2, 6], gyre.int64) and len(padded) == 2
    assert listed(padded) == [
        [[1, -1, -1, -1, -1, -1], [2, 2, -1, -1, -1, -1]],
        [[3, 3, 3, -1, -1, -1], [4, 4, 4, 4, -1, -1]],
    ]
    sizes = GROWING.padded_batch(3).map(lambda rows: gyre.size(rows, gyre.int64))
    assert in_graph(sizes) == [9, 10]


def test_padded_batches_of_structures():
    rows = Dataset.range(1, 4).map(
        lambda n: {"a": gyre.fill([n, 2], 1.0), "b": (n, gyre.strings.as_string(gyre.range(n)))}
    )
    padded = rows.padded_batch(3, {"a": [None, 3], "b": ([], [-1])}, {"a": 2.0, "b": (None, "?")})
    assert padded.element_spec["a"] == gyre.TensorSpec([None, None, 3], gyre.float32)
    (found,) = listed(padded)
    assert found["a"][1] == [[1, 1, 2], [1, 1, 2], [2, 2, 2]] and found["b"][0] == [1, 2, 3]
    assert found["b"][1] == [[b"0", b"?", b"?"], [b"0", b"1", b"?"], [b"0", b"1", b"2"]]
    ones = Dataset.from_tensor_slices(([[1, 2]], [[3]]))
    assert listed(ones.padded_batch(1, ([3], [2]), 7)) == [([[1, 2, 7]], [[3, 7]])]


def test_padding_that_cannot_be():
    with pytest.raises(gyre.errors.InvalidArgumentError, match="non-negative"):
        list(GROWING.padded_batch(5, [3]))
    with pytest.raises(ValueError, match="smaller shape"):
        Dataset.from_tensors([1, 2, 3]).padded_batch(2, [2])
    with pytest.raises(ValueError, match="cannot be padded to the shape"):
        GROWING.padded_batch(2, [2, 2])
    with pytest.raises(ValueError, match="structure of the elements"):
        Dataset.zip(GROWING, GROWING).padded_batch(2, ([2],))


def test_a_cache_asks_once():
    asked = []

    def generate():
        asked.append(1)
        yield from (1, 2, 3)

    spec = gyre.TensorSpec([], gyre.int64)
    kept = Dataset.from_generator(generate, output_signature=spec).cache()
    assert asked == []
    assert listed(kept.repeat(2)) == [1, 2, 3] * 2 and in_graph(kept) == [1, 2, 3]
    assert asked == [1]


def test_what_cannot_be_kept():
    with pytest.raises(ValueError, match="cache.. before repeat"):
        Dataset.range(2).repeat().cache()
    with pytest.raises(ValueError, match=r"one is of shape \(1,\), another of \(5,\)"):
        list(GROWING.cache())
    with pytest.raises(NotImplementedError, match="filename of cache"):
        Dataset.range(2).cache("/tmp/file")
    with pytest.raises(NotImplementedError, match="that a function makes"):
        gyre.function(lambda: Dataset.range(2).cache().reduce(0, lambda a, _: a))()


def test_methods_that_are_missing_say_what_serves():
    with pytest.raises(AttributeError, match=r"'window': it is not in Gyre. batch\(size\)"):
        Dataset.range(3).window(2)
    with pytest.raises(AttributeError, match="no attribute 'anything'$"):
        Dataset.range(3).anything()
    with pytest.raises(ValueError, match=r"must be in \[0, 2\), but is 2"):
        Dataset.range(3).shard(2, 2)


def test_shuffles():
    dataset = Dataset.range(50).shuffle(50, seed=1)
    first, second = listed(dataset), listed(dataset)
    assert sorted(first) == list(range(50)) and first != list(range(50)) and first != second
    fixed = Dataset.range(50).shuffle(10, reshuffle_each_iteration=False)
    assert listed(fixed) == listed(fixed)
    # From a buffer of 3, no element comes more than 2 places early.
    assert all(x <= i + 2 for i, x in enumerate(listed(Dataset.range(40).shuffle(3))))
    assert sorted(in_graph(dataset)) == list(range(50))


def test_reduce_and_single_elements():
    total, count = Dataset.range(5).reduce(
        (np.int64(0), 0), lambda state, x: (state[0] + x, state[1] + 1)
    )
    assert (int(total), int(count)) == (10, 5)
    assert int(Dataset.range(1).map(lambda x: x + 3).get_single_element()) == 3
    with pytest.raises(gyre.errors.InvalidArgumentError, match="more than one"):
        Dataset.range(2).get_single_element()
    with pytest.raises(gyre.errors.InvalidArgumentError, match="no element"):
        Dataset.range(0).get_single_element()


def test_loops_are_loops():
    traced = []

    @gyre.autograph.do_not_convert
    def note():
        traced.append(1)

    @gyre.function
    def total(n):
        s = gyre.constant(0, gyre.int64)
        for x in Dataset.range(n):
            note()
            if x == 3:
                continue
            if x > 6:
                break
            s += x
        return s

    assert int(total(gyre.constant(1000, gyre.int64))) == 18 and len(traced) == 1
    assert int(total(gyre.constant(3, gyre.int64))) == 3 and len(traced) == 1


def test_a_break_asks_for_no_more():
    """The filter would look for a third element for ever."""
    few = Dataset.range(2**62).filter(lambda x: x < 2)

    @gyre.function
    def two():
        n = gyre.constant(0)
        for _ in few:
            n += 1
            if n == 2:
                break
        return n

    assert int(two()) == 2
    assert [int(x) for x in itertools.islice(few, 2)] == [0, 1]
    assert listed(few.take(2)) == [0, 1]


def test_gradients_through_loops():
    data = Dataset.from_tensor_slices([1.0, 2.0, 3.0])

    @gyre.function
    def product(w):
        y = gyre.constant(1.0)
        for x in data:
            y *= w * x
        return y

    w = gyre.constant(2.0)
    with gyre.GradientTape() as tape:
        tape.watch(w)
        y = product(w)
    assert float(y) == 48 and float(tape.gradient(y, w)) == 72


def test_enumerate_and_zip_in_functions():
    @gyre.function
    def total():
        s = gyre.constant(0, gyre.int64)
        for i, (a, b) in enumerate(Dataset.zip((Dataset.range(3), Dataset.range(10, 20)))):
            s += i * (a + b)
        for a, b in zip(Dataset.range(4), Dataset.range(2)):
            s += a * b
        return s

    assert int(total()) == 1 * 12 + 2 * 14 + 1


def test_functions_of_elements_see_the_program():
    scale = gyre.Variable(2, dtype=gyre.int64)
    scaled = Dataset.range(3).map(lambda x: x * scale)
    assert listed(scaled) == [0, 2, 4]
    scale.assign(5)
    assert listed(scaled) == [0, 5, 10]

    @gyre.function
    def inside(k):
        return Dataset.range(4).map(lambda x: x * k).reduce(np.int64(0), lambda a, b: a + b)

    assert int(inside(gyre.constant(3, gyre.int64))) == 18


def test_map_traces_once():
    traces = []

    def noted(x):
        traces.append(x)
        return x

    dataset = Dataset.range(5).map(noted)
    assert listed(dataset) == listed(dataset) == [0, 1, 2, 3, 4] and len(traces) == 1


def test_generators_start_again_and_take_arguments():
    def up_to(n):
        yield from ({"i": i, "row": [float(i)] * i} for i in range(n))

    dataset = Dataset.from_generator(
        up_to,
        args=(3,),
        output_signature={
            "i": gyre.TensorSpec([], gyre.int32),
            "row": gyre.TensorSpec([None], gyre.float32),
        },
    )
    assert [e["row"].shape[0] for e in dataset] == [0, 1, 2]
    assert len(list(dataset)) == 3
    old = Dataset.from_generator(generated, gyre.int32)
    assert listed(old) == [5, 6, 7]
    wrong = Dataset.from_generator(
        lambda: iter(["a"]), output_signature=gyre.TensorSpec([], gyre.int32)
    )
    with pytest.raises((TypeError, ValueError)):
        list(wrong)


def test_iterators():
    iterator = iter(Dataset.range(3))
    assert iterator.element_spec == gyre.TensorSpec([], gyre.int64)

    @gyre.function
    def two():
        return next(iterator) + iterator.get_next()

    assert int(next(iterator)) == 0 and int(two()) == 3
    with pytest.raises(gyre.errors.OutOfRangeError, match="End of sequence"):
        two()
    with pytest.raises(StopIteration):
        next(iterator)


def test_numpy_and_options():
    assert list(Dataset.range(2).as_numpy_iterator()) == [0, 1]
    same = Dataset.range(2).prefetch(gyre.data.AUTOTUNE).with_options(gyre.data.Options())
    assert listed(same.apply(lambda d: d.take(1))) == [0]
    assert int(gyre.data.experimental.cardinality(Dataset.range(2).repeat())) == (
        gyre.data.INFINITE_CARDINALITY
    )
    assert int(Dataset.range(2).filter(lambda x: x > 0).cardinality()) == (
        gyre.data.experimental.UNKNOWN_CARDINALITY
    )


@pytest.mark.parametrize(
    "wrong,error,text",
    [
        (lambda: Dataset.from_tensor_slices(1.0), ValueError, "scalar has no rows"),
        (lambda: Dataset.from_tensor_slices(([1], [1, 2])), ValueError, r"\[1, 2\]"),
        (lambda: Dataset.range(0, 5, 0), ValueError, "must not be 0"),
        (lambda: Dataset.range(3).filter(lambda x: x), ValueError, "bool scalar"),
        (lambda: Dataset.range(3).map(3), TypeError, "not a int"),
        (lambda: Dataset.range(3).batch(0), ValueError, "positive"),
        (
            lambda: Dataset.range(3).concatenate(Dataset.from_tensors("a")),
            TypeError,
            "cannot be joined",
        ),
        (lambda: Dataset.range(3).flat_map(lambda x: x), TypeError, "must return a Dataset"),
        (lambda: Dataset.zip((Dataset.range(3), [1])), TypeError, "takes datasets"),
        (lambda: Dataset.zip(), TypeError, "at least one dataset"),
        (lambda: Dataset.zip(()), TypeError, "at least one dataset"),
        (lambda: Dataset.zip({}), TypeError, "at least one dataset"),
        (lambda: Dataset.zip(Dataset.range(3), datasets=Dataset.range(3)), TypeError, "not both"),
        (lambda: len(Dataset.range(3).repeat()), TypeError, "endless"),
        (lambda: len(Dataset.range(3).filter(lambda x: x > 1)), TypeError, "not known"),
        (lambda: Dataset.from_generator(generated), TypeError, "output_signature"),
    ],
)
def test_what_is_refused(wrong, error, text):
    with pytest.raises(error, match=text):
        wrong()


def test_python_cannot_iterate_while_tracing():
    @gyre.function(autograph=False)
    def f():
        return [x for x in Dataset.range(3)][0]

    with pytest.raises(RuntimeError, match="for statement"):
        f()


def test_errors_of_functions_name_their_lines_where_nothing_else_is_traced():
    # a process in which nobody has called gyre.function
    program = (
        "import gyre\n"
        "def prep(x):\n"
        "    return gyre.gather(gyre.range(3), x)\n"
        "list(gyre.data.Dataset.range(5).map(prep))\n"
    )
    ran = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert "GatherV2 (GatherV2), written at <string>:3" in ran.stderr


def test_threads_share_an_iterator():
    elements, seen = iter(Dataset.range(4000)), []

    def take():
        for _ in range(500):
            seen.append(int(next(elements)))

    threads = [threading.Thread(target=take) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(seen) == list(range(2000))


RAGGED = gyre.ragged.constant([[1, 2, 3], [4], [], [5, 6]])


def test_shuffle_of_elements_of_other_sizes():
    rows = Dataset.from_tensor_slices({"r": RAGGED, "n": [3, 1, 0, 2]})
    for size in (1, 2, 10):
        found = listed(rows.shuffle(size, seed=1))
        assert sorted((e["n"], e["r"]) for e in found) == [
            (0, []),
            (1, [4]),
            (2, [5, 6]),
            (3, [1, 2, 3]),
        ]
    orders = {tuple(e["n"] for e in listed(rows.shuffle(4, seed=k))) for k in range(8)}
    assert len(orders) > 1
    batches = Dataset.range(5).batch(2).shuffle(3)  # the last one has one row
    assert sorted(map(tuple, listed(batches))) == [(0, 1), (2, 3), (4,)]
    words = Dataset.from_tensor_slices(["a b", "c", ""]).map(gyre.strings.split).shuffle(3)
    assert sorted(map(tuple, listed(words))) == [(), (b"a", b"b"), (b"c",)]


def test_shuffle_of_composites():
    sparse = gyre.sparse.from_dense([[0, 1], [2, 3]])
    several = Dataset.range(3).map(lambda n: (RAGGED * gyre.cast(n, gyre.int32), sparse))
    found = [(int(gyre.reduce_sum(r)), s.values.numpy().tolist()) for r, s in several.shuffle(2)]
    assert sorted(found) == [(21 * n, [1, 2, 3]) for n in range(3)]


def test_a_generator_of_composites():
    def rows():
        for n in range(3):
            yield {"r": gyre.ragged.constant([[1] * n, [2]], gyre.int32), "s": sparse}

    sparse = gyre.sparse.from_dense([[0, 1]])
    spec = {
        "r": gyre.RaggedTensorSpec([2, None], gyre.int32),
        "s": gyre.SparseTensorSpec([1, 2], gyre.int32),
    }
    for _ in range(2):
        found = list(Dataset.from_generator(rows, output_signature=spec))
        assert [e["r"].to_list() for e in found] == [[[], [2]], [[1], [2]], [[1, 1], [2]]]
        assert all(e["s"].values.numpy().tolist() == [1] for e in found)
    wrong = Dataset.from_generator(
        lambda: iter([gyre.constant([[1, 2]])]), output_signature=spec["r"]
    )
    with pytest.raises(TypeError, match="the generator yields .* where its signature is Ragged"):
        list(wrong)

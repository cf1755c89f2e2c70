"""Functions of tensors that are given ragged ones. What they give, TensorFlow 2.21 gives."""

import numpy as np
import pytest

import gyre

FLOATS = gyre.ragged.constant([[1.0, 2.0, 3.0], [], [4.0, 5.0]])
OTHERS = gyre.ragged.constant([[3.0, 1.0, 2.0], [], [7.0, 6.0]])
INTS = gyre.ragged.constant([[3, 1, 2], [], [7, 6]])
DEEP = gyre.ragged.constant([[[1, 2], [3]], [], [[4], [], [5, 6, 7]]])
WORDS = gyre.ragged.constant([["a", "Bc"], [], ["def"]])
ROW = gyre.RaggedTensor.from_row_splits(gyre.reshape(gyre.range(10), [5, 2]), [0, 3, 3, 5])
MASK = gyre.ragged.constant([[True, False, True], [], [False, True]])
GIVEN = [FLOATS, OTHERS, INTS, DEEP, WORDS, ROW, MASK]

CASES = {
    "elements": [
        (lambda f, *_: gyre.square(f), [[1, 4, 9], [], [16, 25]]),
        (lambda f, o, *_: gyre.maximum(f, o), [[3, 2, 3], [], [7, 6]]),
        (lambda f, o, i, *_: gyre.cast(i, gyre.float64) / 2, [[1.5, 0.5, 1], [], [3.5, 3]]),
        (lambda f, *_: gyre.clip_by_value(f, 2.0, 4.0), [[2, 2, 3], [], [4, 4]]),
        (
            lambda f, o, i, d, w, r, m: gyre.where(m, f, o),
            [[1, 1, 3], [], [7, 5]],
        ),
        (lambda f, o, i, d, w, r, m: gyre.where(m), [[0, 0], [0, 2], [2, 1]]),
        (lambda f, *_: gyre.nn.relu(f - 3.0), [[0, 0, 0], [], [1, 2]]),
        (lambda f, o, i, d, w, *_: gyre.strings.length(w), [[1, 2], [], [3]]),
        (
            lambda f, o, i, d, w, *_: gyre.strings.join([w, "x"], "-"),
            [[b"a-x", b"Bc-x"], [], [b"def-x"]],
        ),
        (lambda f, o, i, *_: gyre.one_hot(i, 3)[0], [[0, 0, 0], [0, 1, 0], [0, 0, 1]]),
    ],
    "rows of others": [
        (
            lambda f, *_: f + gyre.constant([[10.0], [20.0], [30.0]]),
            [[11, 12, 13], [], [34, 35]],
        ),
        (lambda f, *_: gyre.constant([10.0]) + f, [[11, 12, 13], [], [14, 15]]),
        (
            lambda f, o, i, d, *_: d + gyre.constant([[[10]], [[20]], [[30]]]),
            [[[11, 12], [13]], [], [[34], [], [35, 36, 37]]],
        ),
        (
            lambda f, o, i, d, w, r, m: r + gyre.constant([10, 20]),
            [[[10, 21], [12, 23], [14, 25]], [], [[16, 27], [18, 29]]],
        ),
    ],
    "reductions": [
        (lambda f, *_: gyre.reduce_sum(f), 15),
        (lambda f, *_: gyre.reduce_sum(f, 0), [5, 7, 3]),
        (lambda f, *_: gyre.reduce_sum(f, 1, keepdims=True), [[6], [0], [9]]),
        (lambda f, o, i, d, *_: gyre.reduce_sum(d, 0), [[5, 2], [3], [5, 6, 7]]),
        (lambda f, o, i, d, *_: gyre.reduce_sum(d, 1), [[4, 2], [], [9, 6, 7]]),
        (lambda f, o, i, d, *_: gyre.reduce_sum(d, [1, 2]), [6, 0, 22]),
        (lambda f, o, i, *_: gyre.reduce_prod(i, 1), [6, 1, 42]),
        (lambda f, o, i, d, *_: gyre.reduce_max(d, 2)[2:, 2:], [[7]]),
        (lambda f, *_: gyre.reduce_mean(f, 0), [2.5, 3.5, 3]),
        (lambda f, *_: gyre.math.reduce_std(f, 0), [1.5, 1.5, 0]),
        (lambda f, o, i, d, w, r, m: gyre.reduce_any(m, 1), [True, False, True]),
        (lambda f, o, i, d, w, r, m: gyre.reduce_all(m, 1), [False, True, False]),
        (lambda f, o, i, d, w, *_: gyre.strings.reduce_join(w, 0), [b"adef", b"Bc"]),
        (
            lambda f, *_: gyre.math.unsorted_segment_sum(f, [0, 1, 0], 2),
            [[5, 7, 3], []],
        ),
        (lambda f, *_: gyre.cumsum(f, 1), [[1, 3, 6], [], [4, 9]]),
    ],
    "joined": [
        (lambda f, o, *_: gyre.concat([f, o], 0)[2:4], [[4, 5], [3, 1, 2]]),
        (lambda f, o, *_: gyre.concat([f, o], 1), [[1, 2, 3, 3, 1, 2], [], [4, 5, 7, 6]]),
        (
            lambda f, *_: gyre.concat([f, gyre.constant([[9.0], [8.0], [7.0]])], -1),
            [[1, 2, 3, 9], [8], [4, 5, 7]],
        ),
        (lambda f, o, *_: gyre.stack([f, o], 1)[2], [[4, 5], [7, 6]]),
        (lambda f, o, *_: gyre.stack([f, o], 2)[2], [[4, 7], [5, 6]]),
        (lambda f, *_: gyre.split(f, [1, 2])[1], [[], [4, 5]]),
    ],
    "parts": [
        (lambda f, *_: f[:, 1:], [[2, 3], [], [5]]),
        (lambda f, *_: f[::-1, ::-1], [[5, 4], [], [3, 2, 1]]),
        (lambda f, o, i, d, *_: d[2, 2, 1], 6),
        (lambda f, o, i, d, *_: d[..., :1], [[[1], [3]], [], [[4], [], [5]]]),
        (lambda f, *_: f[1:, gyre.newaxis], [[[]], [[4, 5]]]),
        (lambda f, *_: gyre.gather(f, [[2, 0]]), [[[4, 5], [1, 2, 3]]]),
        (
            lambda f, *_: gyre.gather(f, gyre.ragged.constant([[2, 0], [], [1]]), batch_dims=1),
            [[3, 1], [], [5]],
        ),
        (lambda f, o, i, *_: gyre.gather(gyre.range(10) * 2, i), [[6, 2, 4], [], [14, 12]]),
        (lambda f, o, i, d, *_: gyre.gather_nd(d, [[0, 0, 1], [2, 2, 0]]), [2, 5]),
        (lambda f, o, i, d, w, r, m: gyre.boolean_mask(f, m), [[1, 3], [], [5]]),
        (lambda f, *_: gyre.expand_dims(f, 0), [[[1, 2, 3], [], [4, 5]]]),
        (lambda f, *_: gyre.tile(f, [1, 2]), [[1, 2, 3, 1, 2, 3], [], [4, 5, 4, 5]]),
        (lambda f, o, i, d, *_: gyre.reverse(d, [1]), [[[3], [1, 2]], [], [[5, 6, 7], [], [4]]]),
    ],
}


def plain(value):
    if isinstance(value, gyre.RaggedTensor):
        return value.to_list()
    return value.numpy().tolist()


def _all_given(function):
    return lambda f, o, i, d, w, r, m: function(f, o, i, d, w, r, m)


def functions_of(values):
    specs = [gyre.type_spec_from_value(value) for value in values]
    open_specs = [
        gyre.RaggedTensorSpec(
            [None] * (1 + s.ragged_rank) + s.shape.as_list()[1 + s.ragged_rank :],
            s.dtype,
            s.ragged_rank,
        )
        for s in specs
    ]
    return lambda f: gyre.function(f, input_signature=open_specs)


@pytest.mark.parametrize("wrap", [lambda f: f, functions_of(GIVEN)], ids=["eager", "function"])
@pytest.mark.parametrize("group", CASES)
def test_what_they_give(group, wrap):
    for function, wanted in CASES[group]:
        found = plain(wrap(_all_given(function))(*GIVEN))
        assert found == wanted, (function(*GIVEN), wanted)


def test_what_does_not_fit_is_said():
    with pytest.raises(gyre.errors.InvalidArgumentError, match="rows are of different lengths"):
        FLOATS + gyre.ragged.constant([[1.0], [], [4.0, 5.0]])
    with pytest.raises(gyre.errors.InvalidArgumentError, match="numbers of rows differ"):
        FLOATS + gyre.constant([[1.0], [2.0]])
    with pytest.raises(gyre.errors.InvalidArgumentError, match="out of range of its row"):
        gyre.gather(FLOATS, [[1], [0], [0]], batch_dims=1)
    with pytest.raises(ValueError, match="cannot be indexed by a number"):
        FLOATS[:, 0]
    with pytest.raises(IndexError, match="out of range"):
        FLOATS[3]
    # As many values in other rows: the values could be added, so nothing but the rows is wrong.
    others = gyre.ragged.constant([[1.0], [], [2.0, 3.0, 4.0, 5.0]])
    with pytest.raises(gyre.errors.InvalidArgumentError, match="rows are of different lengths"):
        gyre.function(lambda a, b: a + b, autograph=False)(FLOATS, others)


GRADIENTS = [
    (lambda x: x * x, [2, 8, 18, 32, 50]),
    (lambda x: x * gyre.constant([[1.0], [2.0], [3.0]]), [1, 2, 3, 12, 15]),
    (lambda x: gyre.reduce_sum(x, 0), [1, 2, 3, 1, 2]),
    (lambda x: gyre.reduce_max(x, 1), [0, 0, 1, 0, 3]),
    (lambda x: gyre.gather(x, [2, 0, 2]), [3, 4, 5, 7, 9]),
    (lambda x: x[:, 1:], [0, 1, 2, 0, 3]),
    (lambda x: gyre.concat([x, x], 1), [5, 7, 9, 16, 18]),
    (lambda x: gyre.map_fn(lambda row: row * row, x), [2, 8, 18, 32, 50]),
]


@pytest.mark.parametrize("wrap", [lambda f: f, gyre.function], ids=["eager", "function"])
@pytest.mark.parametrize("case", range(len(GRADIENTS)))
def test_gradients(case, wrap):
    function, wanted = GRADIENTS[case]

    def gradient(values):
        with gyre.GradientTape() as tape:
            tape.watch(values)
            result = function(FLOATS.with_flat_values(values))
            flat = result.flat_values if isinstance(result, gyre.RaggedTensor) else result
            weights = gyre.cast(gyre.range(1, gyre.size(flat) + 1), flat.dtype)
            total = gyre.reduce_sum(flat * weights)
        return gyre.convert_to_tensor(tape.gradient(total, values))

    np.testing.assert_allclose(wrap(gradient)(FLOATS.flat_values), wanted)


@pytest.mark.parametrize("wrap", [lambda f: f, gyre.function], ids=["eager", "function"])
def test_map_fn_takes_and_gives_ragged_rows(wrap):
    rows = gyre.RaggedTensorSpec([None], gyre.int32)

    def mapped(numbers):
        return (
            gyre.map_fn(gyre.reduce_sum, INTS, fn_output_signature=gyre.int32),
            gyre.map_fn(lambda row: row + 1, INTS),
            gyre.map_fn(gyre.range, numbers, fn_output_signature=rows),
            gyre.map_fn(lambda x: gyre.reduce_sum(x, 1), DEEP, fn_output_signature=rows),
            gyre.map_fn(
                lambda x: {"both": x[0] + x[1]},
                (INTS, numbers),
                fn_output_signature={"both": rows},
            )["both"],
        )

    sums, more, ranges, inner, both = wrap(mapped)(gyre.constant([2, 0, 1]))
    assert plain(sums) == [6, 0, 13]
    assert plain(more) == [[4, 2, 3], [], [8, 7]]
    assert plain(ranges) == [[0, 1], [], [0]]
    assert plain(inner) == [[3, 3], [], [4, 0, 18]]
    assert plain(both) == [[5, 3, 4], [], [8, 7]]
    with pytest.raises(TypeError, match="say so by a RaggedTensorSpec|is asked for"):
        wrap(lambda: gyre.map_fn(lambda x: x, DEEP, fn_output_signature=gyre.int32))()


def test_control_flow_and_datasets():
    @gyre.function
    def chosen(k, x):
        return gyre.switch_case(k, [lambda: x, lambda: x * 2.0, lambda: x[:, 1:]])

    assert plain(chosen(gyre.constant(2), FLOATS)) == [[2, 3], [], [5]]

    @gyre.function(input_signature=[gyre.RaggedTensorSpec([None, None], gyre.float32)])
    def doubled(x):
        spec = gyre.RaggedTensorSpec([None, None], gyre.float32)
        return gyre.while_loop(
            lambda n, v: n < 2,
            lambda n, v: (n + 1, gyre.concat([v, v], 1)),
            (gyre.constant(0), x),
            shape_invariants=(gyre.TensorSpec([], gyre.int32), spec),
        )[1]

    assert plain(doubled(FLOATS).row_lengths()) == [12, 0, 8]
    rows = gyre.data.Dataset.from_tensor_slices(DEEP)
    assert [plain(row) for row in rows.map(lambda x: gyre.reduce_sum(x, 1))] == [
        [3, 3],
        [],
        [4, 0, 18],
    ]
    assert [plain(batch) for batch in rows.batch(2)] == [DEEP[:2].to_list(), DEEP[2:].to_list()]
    ranges = gyre.data.Dataset.range(1, 5).map(gyre.range)
    assert [plain(batch) for batch in ranges.ragged_batch(2)] == [
        [[0], [0, 1]],
        [[0, 1, 2], [0, 1, 2, 3]],
    ]


def test_made_of_other_parts():
    tensor = gyre.reshape(gyre.range(12), [2, 3, 2])
    assert gyre.RaggedTensor.from_tensor(tensor, ragged_rank=2).to_list() == tensor.numpy().tolist()
    assert plain(gyre.RaggedTensor.from_tensor([[1, 2, 0], [3, 0, 0]], padding=0)) == [[1, 2], [3]]
    assert plain(gyre.RaggedTensor.from_nested_row_lengths([1, 2, 3], [[2, 1], [1, 0, 2]])) == [
        [[1], []],
        [[2, 3]],
    ]
    assert plain(gyre.RaggedTensor.from_row_starts([1, 2, 3], [0, 2, 2])) == [[1, 2], [], [3]]
    assert DEEP.merge_dims(0, 1).to_list() == [[1, 2], [3], [4], [], [5, 6, 7]]
    assert DEEP.merge_dims(1, 2).to_list() == [[1, 2, 3], [], [4, 5, 6, 7]]
    assert plain(DEEP.row_lengths(2)) == [[2, 1], [], [1, 0, 3]]
    inner = gyre.ragged.constant([[[1, 2], [3, 4]], [[5, 6]]], inner_shape=(2,))
    assert inner.ragged_rank == 1 and inner.shape.as_list() == [2, None, 2]
    with pytest.raises(ValueError, match="equally deep"):
        gyre.ragged.constant([[1], [[2]]])


def test_rows_that_differ_in_number_are_told():
    """Also where one of them has rows that could be repeated, and where a graph finds it out."""
    rows = gyre.RaggedTensorSpec([None, None], gyre.float32)
    marks = gyre.RaggedTensorSpec([None, None], gyre.bool)
    calls = [
        (lambda x, m: gyre.ragged.boolean_mask(x, m), "the rows of the mask"),
        (lambda x, m: gyre.dynamic_partition(x, gyre.cast(m, gyre.int32), 2), "the partitions"),
        (lambda x, m: gyre.math.segment_sum(x, gyre.cast(m, gyre.int32)), "segment_ids must have"),
    ]
    for call, text in calls:
        for mask in ([[True], [False]], [[True, False]], [[True, True, False, True, False]]):
            for run in (call, gyre.function(call, input_signature=[rows, marks])):
                with pytest.raises(gyre.errors.InvalidArgumentError, match=text):
                    run(FLOATS, gyre.ragged.constant(mask))


def test_nested_counts_must_be_as_many():
    with pytest.raises(ValueError, match="nested_nrows must be as many as nested_value_rowids, 2"):
        gyre.RaggedTensor.from_nested_value_rowids([1, 2], [[0, 1], [0, 0]], [2])


def test_arrays_have_the_dtype_of_the_values():
    assert gyre.ragged.constant([[1, 2], [3, 4]]).numpy().dtype == np.int32
    found = INTS.numpy()
    assert found.dtype == object and {row.dtype for row in found} == {np.dtype("int32")}
    assert [row.tolist() for row in found] == INTS.to_list()
    inner = DEEP.numpy()
    assert [[one.tolist() for one in row] for row in inner] == DEEP.to_list()
    assert gyre.ragged.constant([], gyre.int64, ragged_rank=1).numpy().dtype == np.int64

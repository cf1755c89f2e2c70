"""Slices of ragged tensors and joining them, beside Python's lists."""

import pytest

import gyre

ROWS = [[1, 2], [3], [], [4, 5, 6]]
DEEP = [[[1, 2], [3], [4, 5, 6]], [[], [8, 9, 10]]]
SLICES = [slice(None, 2), slice(1, None), slice(None, None, 2), slice(-2, None), slice(0, 0)]
INNER = [slice(0, 1), slice(1, None), slice(None, -1), slice(-2, None), slice(None, None, 2)]


@pytest.mark.parametrize("part", SLICES)
def test_slices_of_rows(part):
    assert gyre.ragged.constant(ROWS)[part].to_list() == ROWS[part]
    assert gyre.ragged.constant(DEEP)[part].to_list() == DEEP[part]


@pytest.mark.parametrize("part", INNER)
def test_slices_within_rows(part):
    rows, deep = gyre.ragged.constant(ROWS), gyre.ragged.constant(DEEP)
    assert rows[:, part].to_list() == rows[..., part].to_list() == [row[part] for row in ROWS]
    assert rows[1:, part].to_list() == [row[part] for row in ROWS[1:]]
    assert deep[:, part].to_list() == [row[part] for row in DEEP]
    assert deep[..., part].to_list() == [[inner[part] for inner in row] for row in DEEP]
    assert deep[0, part].to_list() == DEEP[0][part]
    assert gyre.function(lambda r: r[:, part])(rows).to_list() == [row[part] for row in ROWS]


def test_no_single_place_of_ragged_rows():
    with pytest.raises(ValueError, match="take slices"):
        gyre.ragged.constant(ROWS)[:, 0]


def test_concat():
    rows, deep = gyre.ragged.constant(ROWS), gyre.ragged.constant(DEEP)
    assert gyre.concat([rows, [[100]]], 0).to_list() == [*ROWS, [100]]
    assert gyre.concat([rows, rows], -1).to_list() == [row + row for row in ROWS]
    assert gyre.concat([deep, deep[:, :1]], 1).to_list() == [row + row[:1] for row in DEEP]
    assert gyre.concat([deep, deep], 2).to_list() == [[i + i for i in row] for row in DEEP]
    with pytest.raises(ValueError, match="axis 2 is not in"):
        gyre.concat([rows, rows], 2)
    with pytest.raises(ValueError, match="one known rank"):
        gyre.concat([rows, deep], 0)


def test_concat_in_a_loop():
    @gyre.function
    def f(x):
        return gyre.while_loop(
            lambda i, _: i < 2,
            lambda i, x: (i + 1, gyre.concat([x, x[..., i : i + 1]], -1)),
            [gyre.constant(0), x],
        )[1]

    expected = DEEP
    for i in range(2):
        expected = [[inner + inner[i : i + 1] for inner in row] for row in expected]
    assert f(gyre.ragged.constant(DEEP)).to_list() == expected


def test_py_function_of_ragged_tensors():
    spec = gyre.RaggedTensorSpec([None, None], gyre.int32)
    rows = gyre.ragged.constant(ROWS)
    for call in (lambda f: f(rows), lambda f: gyre.function(f)(rows)):
        assert call(lambda r: gyre.py_function(lambda v: v + 1, [r], spec))[3].numpy().tolist() == [
            5,
            6,
            7,
        ]
        with pytest.raises(gyre.errors.InvalidArgumentError, match="Tout promises"):
            call(lambda r: gyre.py_function(lambda v: v.values, [r], spec))
    with pytest.raises(ValueError, match="callable"):
        gyre.py_function(3, [rows], spec)

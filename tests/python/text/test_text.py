"""gyre.strings: texts taken apart, joined and hashed, and their characters. Values from
TensorFlow."""

import numpy as np
import pytest

import gyre

strings = gyre.strings


def _list(value):
    if isinstance(value, gyre.RaggedTensor):
        return value.to_list()
    return np.asarray(value.numpy()).tolist()


def test_split_makes_ragged_rows():
    assert _list(strings.split("a b")) == [b"a", b"b"]
    assert _list(strings.split([["a b", "c"], ["", "d e f"]])) == [
        [[b"a", b"b"], [b"c"]],
        [[], [b"d", b"e", b"f"]],
    ]
    assert _list(strings.split(["a,b,,c"], ",", maxsplit=1)) == [[b"a", b"b,,c"]]
    assert _list(strings.bytes_split(["ab", "c"])) == [[b"a", b"b"], [b"c"]]
    halves = gyre.function(lambda x: strings.split(x, "-").to_tensor())
    assert _list(halves(gyre.constant(["a-b", "c"]))) == [[b"a", b"b"], [b"c", b""]]


def test_parts_and_joins():
    assert _list(strings.substr(["hello"], 1, 3)) == [b"ell"]
    assert _list(strings.substr(["h\u00e9llo"], 1, 2, unit="UTF8_CHAR")) == ["\u00e9l".encode()]
    assert _list(strings.reduce_join([["a", "b"], ["c", "d"]])) == b"abcd"
    assert _list(strings.reduce_join([["a", "b"], ["c", "d"]], axis=-1, separator=" ")) == [
        b"a b",
        b"c d",
    ]
    assert _list(strings.unsorted_segment_join(["a", "b", "c"], [1, 0, 1], 2, ":")) == [
        b"b",
        b"a:c",
    ]
    assert _list(strings.strip([" a "])) == [b"a"]


def test_ngrams():
    assert _list(strings.ngrams(["A", "B", "C", "D"], 2, pad_values=("<", ">"))) == [
        b"< A",
        b"A B",
        b"B C",
        b"C D",
        b"D >",
    ]
    assert _list(strings.ngrams(strings.split(["a b c", "d"]), [1, 2])) == [
        [b"a", b"b", b"c", b"a b", b"b c"],
        [b"d"],
    ]
    with pytest.raises(ValueError, match="ngram_widths"):
        strings.ngrams(["a"], 0)


def test_buckets():
    assert _list(strings.to_hash_bucket_fast(["a", "b"], 10)) == [9, 2]
    assert _list(strings.to_hash_bucket(["a"], 10)) == [8]
    assert _list(strings.to_hash_bucket_strong(["a"], 10, [1, 2])) == [6]


def test_characters():
    assert _list(strings.unicode_decode(["a\u20acb", ""], "UTF-8")) == [[97, 8364, 98], []]
    characters, offsets = strings.unicode_split_with_offsets(["a\u20acb", ""], "UTF-8")
    assert _list(characters) == [[b"a", "\u20ac".encode(), b"b"], []]
    assert _list(offsets) == [[0, 1, 4], []]
    assert _list(strings.unicode_encode([97, 8364], "UTF-8")) == "a\u20ac".encode()
    assert _list(strings.unicode_encode([[97], [98]], "UTF-8")) == [b"a", b"b"]
    rows = gyre.ragged.constant([[97, 98], [99]], "int32")
    assert _list(strings.unicode_encode(rows, "UTF-8")) == [b"ab", b"c"]
    assert _list(strings.unicode_transcode(["a"], "UTF-8", "UTF-16-BE")) == [b"\x00a"]
    with pytest.raises(gyre.errors.InvalidArgumentError, match="invalid formatting"):
        strings.unicode_decode([b"\xff"], "UTF-8", errors="strict")


def test_counting_and_places():
    np.testing.assert_array_equal(
        gyre.math.bincount([[1, 1], [0, 2]], axis=-1).numpy(), [[0, 2, 0], [1, 0, 1]]
    )
    np.testing.assert_array_equal(gyre.math.bincount([1, 1], weights=[0.5, 1.0]).numpy(), [0, 1.5])
    np.testing.assert_array_equal(
        gyre.searchsorted([[1, 3, 5], [2, 4, 6]], [[0, 3], [4, 7]], side="right").numpy(),
        [[0, 2], [2, 3]],
    )
    values = [-1.0, 0.0, 1.5, 2.0, 5.0, 15.0]
    np.testing.assert_array_equal(
        gyre.histogram_fixed_width(values, [0.0, 5.0], 5).numpy(), [2, 1, 1, 0, 2]
    )
    np.testing.assert_array_equal(
        gyre.histogram_fixed_width_bins(values, [0.0, 5.0], 5).numpy(), [0, 0, 1, 2, 4, 4]
    )
    distance = gyre.edit_distance(
        gyre.SparseTensor([[0, 0]], ["a"], [1, 1]),
        gyre.SparseTensor([[0, 0], [0, 1]], ["a", "b"], [1, 2]),
    )
    np.testing.assert_array_equal(distance.numpy(), [0.5])


def test_histograms_of_ranges_wider_than_their_type():
    least, most = -(2**31), 2**31 - 1
    values = gyre.constant([least, -1, 0, 1, most])
    counts = gyre.histogram_fixed_width(values, gyre.constant([least, most]), 4)
    assert counts.numpy().tolist() == [1, 1, 2, 1]
    ends = gyre.constant([-3e38, 3e38])
    assert gyre.histogram_fixed_width([-3e38, 0.0, 3e38], ends, 3).numpy().tolist() == [1, 1, 1]
    with pytest.raises(gyre.errors.InvalidArgumentError, match=r"values\[1\] is not a number"):
        gyre.histogram_fixed_width([1.0, float("nan")], [0.0, 2.0], 2)

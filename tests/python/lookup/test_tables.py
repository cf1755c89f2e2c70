"""gyre.lookup: tables that are filled once, that change, and those of words."""

import numpy as np
import pytest

import gyre

lookup = gyre.lookup


def _static(keys, values, default):
    return lookup.StaticHashTable(lookup.KeyValueTensorInitializer(keys, values), default)


def test_a_static_table_gives_values_of_keys():
    table = _static(["a", "b"], [1, 2], -1)
    np.testing.assert_array_equal(table.lookup(gyre.constant(["b", "z"])).numpy(), [2, -1])
    assert int(table.size()) == 2 and int(table["a"]) == 1
    keys, values = table.export()
    assert dict(zip(keys.numpy().tolist(), values.numpy().tolist(), strict=True)) == {
        b"a": 1,
        b"b": 2,
    }
    ragged = table.lookup(gyre.ragged.constant([["a"], ["b", "c"]]))
    assert ragged.to_list() == [[1], [2, -1]]


def test_a_function_reads_the_table_that_it_finds():
    table = _static([1, 2], ["one", "two"], "?")
    read = gyre.function(lambda keys: table.lookup(keys))
    assert read(gyre.constant([2, 3])).numpy().tolist() == [b"two", b"?"]


def test_a_mutable_table_changes_in_functions():
    table = lookup.experimental.MutableHashTable("string", "int64", -1)

    @gyre.function
    def count(words):
        for word in words:
            table.insert(word, table.lookup(word, gyre.constant(0, "int64")) + 1)
        return table.size()

    assert int(count(gyre.constant(["a", "b", "a"]))) == 2
    np.testing.assert_array_equal(table.lookup(["a", "b", "c"]).numpy(), [2, 1, -1])
    table.remove(["a"])
    np.testing.assert_array_equal(table.lookup(["a"]).numpy(), [-1])


def test_values_may_be_vectors():
    table = lookup.experimental.MutableHashTable("int64", "float32", [0.0, -1.0])
    table.insert([3], [[1.0, 2.0]])
    np.testing.assert_array_equal(table.lookup([3, 4]).numpy(), [[1, 2], [0, -1]])


def test_a_dense_table_reserves_two_keys():
    table = lookup.experimental.DenseHashTable("int64", "int64", -1, -1, -2)
    table.insert([1, 2], [10, 20])
    np.testing.assert_array_equal(table.lookup([2, 3]).numpy(), [20, -1])
    with pytest.raises(gyre.errors.InvalidArgumentError, match="empty_key"):
        table.insert([-1], [0])


def test_words_that_are_not_there_have_buckets():
    table = lookup.StaticVocabularyTable(
        lookup.KeyValueTensorInitializer(["em", "er"], [0, 1], value_dtype="int64"), 3
    )
    np.testing.assert_array_equal(table.lookup(["er", "zzz", "em"]).numpy(), [1, 2, 0])
    assert int(table.size()) == 5


def test_a_vocabulary_is_read_from_a_file(tmp_path):
    path = tmp_path / "words.txt"
    path.write_text("ape\nbee\ncat\n")
    table = lookup.StaticHashTable(
        lookup.TextFileInitializer(
            path,
            "string",
            lookup.TextFileIndex.WHOLE_LINE,
            "int64",
            lookup.TextFileIndex.LINE_NUMBER,
        ),
        -1,
    )
    np.testing.assert_array_equal(table.lookup(["cat", "dog"]).numpy(), [2, -1])


def test_sessions_fill_their_tables():
    v1 = gyre.compat.v1
    with v1.Graph().as_default():
        table = _static(["a", "b"], gyre.constant([1, 2], "int64"), -1)
        words = v1.placeholder("string", [None])
        ids = table.lookup(words)
        with v1.Session() as session:
            with pytest.raises(gyre.errors.FailedPreconditionError):
                session.run(ids, {words: ["b"]})
            session.run(v1.tables_initializer())
            assert session.run(ids, {words: ["b", "q"]}).tolist() == [2, -1]


def test_lookups_have_the_shape_of_their_keys():
    static = lookup.StaticHashTable(lookup.KeyValueTensorInitializer(["a", "b"], [1, 2]), -1)
    pairs = lookup.experimental.MutableHashTable(gyre.string, gyre.float32, [0.0, 0.0])

    @gyre.function(input_signature=[gyre.TensorSpec([None, 3], gyre.string)])
    def shapes(keys):
        assert static.lookup(keys).shape.as_list() == [None, 3]
        assert pairs.lookup(keys).shape.as_list() == [None, 3, 2]
        return gyre.shape(pairs.lookup(keys))

    assert shapes(gyre.fill([2, 3], "a")).numpy().tolist() == [2, 3, 2]
    texts = gyre.data.Dataset.from_tensor_slices(["a b", "b"]).map(gyre.strings.split)
    (batch,) = texts.map(static.lookup).padded_batch(2)
    assert batch.numpy().tolist() == [[1, 2], [2, 0]]

"""Tables, and what fills them."""

_L = "gyre._impl.lookup."
_INITIALIZERS = ("KeyValueTensorInitializer", "TextFileInitializer", "TextFileIndex")
_V1 = (
    "index_table_from_tensor",
    "index_table_from_file",
    "index_to_string_table_from_tensor",
    "index_to_string_table_from_file",
)
NAMES = {
    **{f"lookup.{name}": f"{_L}initializers:{name}" for name in _INITIALIZERS},
    "lookup.StaticHashTable": _L + "tables:StaticHashTable",
    "lookup.StaticVocabularyTable": _L + "vocabulary:StaticVocabularyTable",
    **{
        f"lookup.experimental.{name}": f"{_L}tables:{name}"
        for name in ("MutableHashTable", "DenseHashTable")
    },
    "compat.v1.lookup.StaticHashTable": _L + "tables:StaticHashTable",
    "compat.v1.lookup.StaticVocabularyTable": _L + "vocabulary:StaticVocabularyTable",
    **{f"compat.v1.lookup.{name}": f"{_L}vocabulary:{name}" for name in _V1},
    **{
        f"compat.v1.{name}": "gyre._impl.compat.v1.tables:tables_initializer"
        for name in (
            "tables_initializer",
            "initialize_all_tables",
            "initializers.tables_initializer",
        )
    },
}

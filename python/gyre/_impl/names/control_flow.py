"""Functions, plain Python control flow, control flow constructs, structures."""

_C = "gyre._impl.control_flow."


def _all(module, names, prefix=""):
    return {prefix + name: f"{_C}{module}:{name}" for name in names}


_ASSERTS = (
    "assert_equal",
    "assert_greater",
    "assert_greater_equal",
    "assert_integer",
    "assert_less",
    "assert_less_equal",
    "assert_near",
    "assert_negative",
    "assert_non_negative",
    "assert_non_positive",
    "assert_none_equal",
    "assert_positive",
    "assert_rank",
    "assert_rank_at_least",
    "assert_rank_in",
    "assert_same_float_dtype",
    "assert_scalar",
    "assert_shapes",
    "assert_type",
)

NAMES = {
    "autograph": "gyre.autograph",
    "nest": "gyre.nest",
    "function": "gyre._impl.function.function:function",
    "ConcreteFunction": "gyre._impl.function.concrete:ConcreteFunction",
    **_all("cond", ["cond"]),
    **_all("case", ["case", "switch_case"]),
    **_all("while_loop", ["while_loop"]),
    **_all("map_fn", ["map_fn"]),
    "vectorized_map": "gyre._impl.function.vectorized_map:vectorized_map",
    **_all("scan", ["scan", "foldl", "foldr"]),
    **_all("tensor_array", ["TensorArray"]),
    **_all("asserts", ["Assert"]),
    **_all("asserts", ["Assert", *_ASSERTS], "debugging."),
    **_all("asserts", ["assert_equal", "assert_greater", "assert_less", "assert_rank"]),
    **_all("host_function", ["py_function", "numpy_function"]),
    **_all("print", ["print"]),
    **_all("group", ["group", "tuple", "no_op", "control_dependencies"]),
    "IndexedSlices": "gyre._impl.composites.indexed_slices:IndexedSlices",
    "SparseTensor": "gyre._impl.composites.sparse_tensor:SparseTensor",
    "sparse.SparseTensor": "gyre._impl.composites.sparse_tensor:SparseTensor",
    **{
        f"sparse.{name}": f"gyre._impl.composites.sparse:{name}"
        for name in (
            "to_dense",
            "from_dense",
            "reduce_sum",
            "expand_dims",
            "sparse_dense_matmul",
            "reorder",
            "add",
        )
    },
    "RaggedTensor": "gyre._impl.composites.ragged:RaggedTensor",
    "ragged.constant": "gyre._impl.composites.ragged_lists:ragged_constant",
}

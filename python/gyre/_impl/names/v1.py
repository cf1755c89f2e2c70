"""gyre.compat.v1: what differs there from gyre's own names, to which all others lead."""

_V = "gyre._impl.compat.v1."


def _all(module, names, prefix=""):
    return {f"compat.v1.{prefix}{name}": f"{_V}{module}:{name}" for name in names}


_CONFIG = ("ConfigProto", "GPUOptions", "GraphOptions", "OptimizerOptions", "RunOptions", "RunMetadata")
_MESSAGES = ("GraphDef", "NodeDef", "AttrValue", "NameAttrList", "make_tensor_proto", "TensorProto",
             "TensorShapeProto", "VersionDef")
_VARIABLES = ("Variable", "global_variables", "local_variables", "model_variables",
              "moving_average_variables", "trainable_variables", "all_variables", "variables_initializer",
              "global_variables_initializer", "initialize_all_variables", "local_variables_initializer",
              "is_variable_initialized", "report_uninitialized_variables")
_INITIALIZERS = ("zeros_initializer", "ones_initializer", "constant_initializer",
                 "random_normal_initializer", "truncated_normal_initializer",
                 "random_uniform_initializer", "variance_scaling_initializer",
                 "uniform_unit_scaling_initializer", "glorot_uniform_initializer",
                 "glorot_normal_initializer", "orthogonal_initializer")
_SHORT = {"zeros": "zeros", "ones": "ones", "constant": "constant", "random_normal": "random_normal",
          "truncated_normal": "truncated_normal", "random_uniform": "random_uniform",
          "variance_scaling": "variance_scaling", "uniform_unit_scaling": "uniform_unit_scaling",
          "glorot_uniform": "glorot_uniform", "glorot_normal": "glorot_normal",
          "orthogonal": "orthogonal", "identity": "identity"}
_ASSERTS = ("assert_equal", "assert_greater", "assert_greater_equal", "assert_integer", "assert_less",
            "assert_less_equal", "assert_near", "assert_negative", "assert_non_negative",
            "assert_non_positive", "assert_none_equal", "assert_positive", "assert_rank",
            "assert_rank_at_least", "assert_rank_in", "assert_type")
_MODES = ("enable_eager_execution", "disable_eager_execution", "enable_v2_behavior",
          "disable_v2_behavior", "enable_resource_variables", "disable_resource_variables",
          "resource_variables_enabled", "enable_control_flow_v2", "disable_control_flow_v2",
          "control_flow_v2_enabled", "enable_v2_tensorshape", "disable_v2_tensorshape",
          "executing_eagerly", "executing_eagerly_outside_functions", "enable_tensor_equality",
          "disable_tensor_equality")
_REDUCTIONS = ("reduce_sum", "reduce_mean", "reduce_prod", "reduce_max", "reduce_min", "reduce_all",
               "reduce_any", "reduce_logsumexp")
_ARRAYS = (*_REDUCTIONS, "count_nonzero", "argmax", "argmin", "arg_max", "arg_min", "expand_dims",
           "squeeze", "gather", "gather_nd", "where", "transpose", "shape", "size", "rank", "zeros_like",
           "ones_like", "norm", "reverse_sequence", "sparse_to_dense", "sparse_add", "div", "to_float",
           "to_double", "to_int32", "to_int64", "to_bfloat16", "convert_to_tensor_or_indexed_slices",
           "clip_by_average_norm", "py_func", "reduce_join")
# Older names of functions that are the same now.
_ELEMENTWISE = ("acosh", "angle", "ceil", "conj", "erf", "erfc", "expm1", "floordiv", "floormod",
                "imag", "is_finite", "is_inf", "is_nan", "log", "log1p", "log_sigmoid",
                "logical_xor", "polyval", "real", "reciprocal", "rint", "rsqrt", "squared_difference",
                "xdivy", "xlogy", "accumulate_n", "divide_no_nan")
_SEGMENTS = ("segment_sum", "segment_mean", "segment_max", "segment_min", "segment_prod",
             "unsorted_segment_sum", "unsorted_segment_mean", "unsorted_segment_max",
             "unsorted_segment_min", "unsorted_segment_prod", "unsorted_segment_sqrt_n")
_OLDER = {
    **{name: f"ops.elementwise:{name}" for name in _ELEMENTWISE},
    **{name: f"ops.segments:{name}" for name in _SEGMENTS},
    "mod": "ops.elementwise:floormod", "neg": "ops.elementwise:negative",
    "mul": "ops.elementwise:multiply", "sub": "ops.elementwise:subtract",
    "div_no_nan": "ops.elementwise:divide_no_nan", "scalar_mul": "ops.elementwise:multiply",
    "cumprod": "ops.reductions:cumprod", "bincount": "ops.reductions:bincount",
    "confusion_matrix": "ops.reductions:confusion_matrix", "zero_fraction": "ops.reductions:zero_fraction",
    "invert_permutation": "ops.reshape:invert_permutation",
    "diag": "ops.linalg:tensor_diag", "diag_part": "ops.linalg:tensor_diag_part", "matrix_diag": "ops.linalg:diag",
    "matrix_diag_part": "ops.linalg:diag_part", "matrix_set_diag": "ops.linalg:set_diag",
    "matrix_band_part": "ops.linalg:band_part", "matrix_transpose": "ops.linalg:matrix_transpose",
    "trace": "ops.linalg:trace", "cross": "ops.linalg:cross", "global_norm": "ops.linalg:global_norm",
    "check_numerics": "ops.debugging:check_numerics", "verify_tensor_all_finite": "ops.debugging:check_numerics",
    "string_join": "ops.strings:join", "string_to_number": "ops.strings:to_number",
    "sparse_tensor_to_dense": "compat.v1.arrays:sparse_tensor_to_dense", "Tensor": "tensor:Tensor",
}

NAMES = {
    **_all("modes", _MODES),
    **_all("graph", ["Graph", "get_default_graph", "reset_default_graph", "device", "colocate_with",
                     "container", "control_dependencies", "init_scope", "name_scope"]),
    **_all("operation", ["Operation"]),
    **_all("collections", ["GraphKeys", "add_to_collection", "add_to_collections", "get_collection",
                           "get_collection_ref"]),
    **_all("session", ["Session", "InteractiveSession"]),
    **_all("default_session", ["get_default_session"]),
    **_all("config", _CONFIG),
    **{f"compat.v1.{name}": f"gyre._impl.proto.graphs:{name}" for name in _MESSAGES},
    **_all("values", ["SparseTensorValue", "IndexedSlicesValue"]),
    "compat.v1.ragged.RaggedTensorValue": _V + "values:RaggedTensorValue",
    **_all("dimension", ["Dimension", "dimension_value", "dimension_at_index"]),
    **_all("constant", ["constant", "placeholder", "placeholder_with_default", "sparse_placeholder",
                        "zeros", "ones", "convert_to_tensor"]),
    **_all("variable", _VARIABLES),
    **_all("variable_scope", ["variable_scope", "VariableScope", "AUTO_REUSE", "get_variable",
                              "get_variable_scope", "get_local_variable", "variable_op_scope",
                              "no_regularizer"]),
    **_all("initializers", _INITIALIZERS),
    **{f"compat.v1.initializers.{short}": f"{_V}initializers:{name}_initializer"
       for short, name in _SHORT.items()},
    **_all("assign", ["assign", "assign_add", "assign_sub", "scatter_update", "scatter_add",
                      "scatter_sub", "scatter_mul", "scatter_nd_update", "scatter_nd_add",
                      "scatter_nd_sub"]),
    **_all("group", ["group", "tuple", "no_op"]),
    **_all("control", ["cond", "case", "while_loop", "switch_case"]),
    **_all("functional", ["map_fn", "scan", "foldl", "foldr"]),
    **_all("gradients", ["gradients", "hessians"]),
    **_all("asserts", ["Assert", "print", "Print", *_ASSERTS]),
    **_all("asserts", ["Assert", *_ASSERTS], "debugging."),
    **_all("random", ["set_random_seed", "get_seed", "random_normal", "random_uniform",
                      "truncated_normal", "random_shuffle", "multinomial"]),
    **{f"compat.v1.random.{short}": f"{_V}random:{name}" for short, name in (
        ("normal", "random_normal"), ("uniform", "random_uniform"),
        ("truncated_normal", "truncated_normal"), ("shuffle", "random_shuffle"),
        ("set_random_seed", "set_random_seed"), ("get_seed", "get_seed"),
        ("multinomial", "multinomial"))},
    **_all("arrays", _ARRAYS),
    **_all("arrays", ["argmax", "argmin", "count_nonzero", *_REDUCTIONS], "math."),
    "compat.v1.linalg.norm": _V + "arrays:norm",
    "compat.v1.sparse.add": _V + "arrays:sparse_add",
    "compat.v1.sparse.placeholder": _V + "constant:sparse_placeholder",
    **_all("nn", ["softmax_cross_entropy_with_logits", "softmax_cross_entropy_with_logits_v2",
                  "sparse_softmax_cross_entropy_with_logits", "sigmoid_cross_entropy_with_logits",
                  "softmax", "log_softmax", "dropout", "embedding_lookup", "moments", "xw_plus_b"], "nn."),
    **_all("rnn.networks", ["dynamic_rnn", "bidirectional_dynamic_rnn", "static_rnn",
                            "static_bidirectional_rnn", "raw_rnn"], "nn."),
    **_all("rnn.cells", ["RNNCell", "BasicRNNCell", "BasicLSTMCell", "LSTMCell", "GRUCell",
                         "MultiRNNCell", "DropoutWrapper", "ResidualWrapper", "DeviceWrapper",
                         "LSTMStateTuple"], "nn.rnn_cell."),
    **_all("nn", ["dense", "Dense", "flatten"], "layers."),
    "compat.v1.layers.dropout": _V + "nn:dropout_layer",
    "compat.v1.layers.Layer": _V + "layer:Layer",
    **_all("losses", ["Reduction", "compute_weighted_loss", "mean_squared_error", "absolute_difference",
                      "log_loss", "softmax_cross_entropy", "sparse_softmax_cross_entropy",
                      "sigmoid_cross_entropy", "add_loss", "get_losses", "get_regularization_losses",
                      "get_regularization_loss", "get_total_loss"], "losses."),
    **_all("train.optimizer", ["Optimizer"], "train."),
    **_all("train.optimizers", ["GradientDescentOptimizer", "MomentumOptimizer", "AdamOptimizer",
                                "AdagradOptimizer", "RMSPropOptimizer"], "train."),
    **_all("train.schedules", [
        "get_global_step", "create_global_step", "get_or_create_global_step", "global_step",
        "exponential_decay", "natural_exp_decay", "inverse_time_decay", "polynomial_decay",
        "cosine_decay", "piecewise_constant"], "train."),
    "compat.v1.train.Saver": _V + "train.saver:Saver",
    "compat.v1.train.export_meta_graph": _V + "train.meta_graph:export_meta_graph",
    "compat.v1.train.import_meta_graph": _V + "train.meta_graph_import:import_meta_graph",
    **{f"compat.v1.train.{name}": f"gyre._impl.checkpoints.state:{name}" for name in (
        "checkpoint_exists", "remove_checkpoint", "update_checkpoint_state")},
    "compat.v1.train.NewCheckpointReader": "gyre._impl.checkpoints.reader:CheckpointReader",
    "compat.v1.train.SaverDef": "gyre._impl.proto.models:SaverDef",
    "compat.v1.MetaGraphDef": "gyre._impl.proto.models:MetaGraphDef",
    **_all("queues", ["QueueBase", "FIFOQueue"]),
    **_all("importer", ["import_graph_def"]),
    **_all("wrapped", ["wrap_function"]),
    "compat.v1.data.make_one_shot_iterator": _V + "iterators:make_one_shot_iterator",
    "compat.v1.experimental.output_all_intermediates": _V + "modes:output_all_intermediates",
    "compat.v1.strings.reduce_join": _V + "arrays:reduce_join",
    **_all("importer", ["extract_sub_graph", "remove_training_nodes"], "graph_util."),
    "compat.v1.extract_sub_graph": _V + "importer:extract_sub_graph",
    **{f"compat.v1.{older}": f"gyre._impl.{newer}" for older, newer in _OLDER.items()},
}

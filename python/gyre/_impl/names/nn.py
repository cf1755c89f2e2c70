"""Neural networks, optimizers."""

_N, _O, _M = "gyre.nn.", "gyre.optimizers.", "gyre._impl.ops."
_FUNCTIONS = (
    "dropout",
    "embedding_lookup",
)
_CONVOLUTIONS = (
    "conv1d",
    "conv2d",
    "conv3d",
    "convolution",
    "atrous_conv2d",
    "conv1d_transpose",
    "conv2d_transpose",
    "conv3d_transpose",
    "conv_transpose",
    "atrous_conv2d_transpose",
    "depthwise_conv2d",
    "separable_conv2d",
)
_POOLINGS = (
    "max_pool",
    "max_pool1d",
    "max_pool2d",
    "max_pool3d",
    "avg_pool",
    "avg_pool1d",
    "avg_pool2d",
    "avg_pool3d",
    "max_pool_with_argmax",
    "pool",
)
_QUANTIZATION = (
    "quantize",
    "dequantize",
    "quantize_and_dequantize",
    "quantize_and_dequantize_v2",
    "fake_quant_with_min_max_vars_gradient",
    "fake_quant_with_min_max_vars_per_channel_gradient",
)
_STATISTICS = (
    "sufficient_statistics",
    "normalize_moments",
    "weighted_moments",
    "batch_norm_with_global_normalization",
    "compute_average_loss",
    "scale_regularization_loss",
)
_LAYERS = ("Layer", "Dense", "Embedding", "LayerNorm", "Dropout", "Flatten", "Sequential")
NAMES = {
    **{f"nn.{name}": f"{_N}functional:{name}" for name in _FUNCTIONS},
    **{f"nn.{name}": f"{_M}reductions:{name}" for name in ("top_k", "in_top_k")},
    **{f"nn.{name}": f"{_N}convolutions:{name}" for name in _CONVOLUTIONS},
    **{f"nn.{name}": f"{_N}pooling:{name}" for name in _POOLINGS},
    **{f"nn.{name}": f"{_N}statistics:{name}" for name in _STATISTICS},
    **{
        f"math.{name}": f"{_N}statistics:{name}"
        for name in ("is_non_decreasing", "is_strictly_increasing", "reciprocal_no_nan")
    },
    **{f"quantization.{name}": f"{_M}quantization:{name}" for name in _QUANTIZATION},
    **{f"nn.{name}": f"{_N}layers:{name}" for name in _LAYERS},
    **{
        f"nn.{name}": f"{_N}recurrent:{name}"
        for name in ("LSTM", "GRU", "LSTMCell", "GRUCell", "RNN")
    },
    **{
        f"nn.{name}": f"{_N}attention:{name}"
        for name in ("scaled_dot_product_attention", "MultiHeadAttention")
    },
    **{
        f"nn.{name}": f"{_N}ctc:{name}"
        for name in ("ctc_loss", "ctc_greedy_decoder", "ctc_beam_search_decoder")
    },
    "compat.v1.nn.ctc_loss": _N + "ctc:ctc_loss_v1",
    "compat.v1.nn.ctc_beam_search_decoder": _N + "ctc:ctc_beam_search_decoder_v1",
    **{
        f"nn.{name}": f"{_N}sampling:{name}"
        for name in (
            "sampled_softmax_loss",
            "nce_loss",
            "compute_accidental_hits",
            "all_candidate_sampler",
            "fixed_unigram_candidate_sampler",
        )
    },
    "nn.initializers": "gyre.nn.initializers",
    **{
        f"optimizers.{name}": f"{_O}{module}:{name}"
        for name, module in (("Optimizer", "optimizer"), ("SGD", "sgd"), ("Adam", "adam"))
    },
    "optimizers.schedules": "gyre.optimizers.schedules",
}

"""Neural networks, optimizers."""

_N, _O, _M = "gyre.nn.", "gyre.optimizers.", "gyre._impl.ops."
_FUNCTIONS = (
    "dropout",
    "embedding_lookup",
)
_LAYERS = ("Layer", "Dense", "Embedding", "LayerNorm", "Dropout", "Flatten", "Sequential")
NAMES = {
    **{f"nn.{name}": f"{_N}functional:{name}" for name in _FUNCTIONS},
    **{f"nn.{name}": f"{_M}reductions:{name}" for name in ("top_k", "in_top_k")},
    "nn.conv2d": _N + "convolution:conv2d",
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

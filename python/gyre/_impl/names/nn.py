"""Neural networks, optimizers."""

_N, _O, _M = "gyre.nn.", "gyre.optimizers.", "gyre._impl.ops."
_FUNCTIONS = (
    "batch_normalization",
    "bias_add",
    "crelu",
    "dropout",
    "embedding_lookup",
    "gelu",
    "leaky_relu",
    "log_poisson_loss",
    "log_softmax",
    "moments",
    "sigmoid_cross_entropy_with_logits",
    "silu",
    "softmax",
    "softmax_cross_entropy_with_logits",
    "softsign",
    "sparse_softmax_cross_entropy_with_logits",
    "swish",
    "weighted_cross_entropy_with_logits",
)
_LAYERS = ("Layer", "Dense", "Embedding", "LayerNorm", "Dropout", "Flatten", "Sequential")
NAMES = {
    **{f"nn.{name}": f"{_N}functional:{name}" for name in _FUNCTIONS},
    **{f"nn.{name}": f"{_M}reductions:{name}" for name in ("top_k", "in_top_k", "zero_fraction")},
    "nn.conv2d": _N + "convolution:conv2d",
    "nn.l2_normalize": "gyre._impl.ops.linalg:l2_normalize",
    **{f"nn.{name}": f"{_N}layers:{name}" for name in _LAYERS},
    **{
        f"nn.{name}": f"{_N}recurrent:{name}"
        for name in ("LSTM", "GRU", "LSTMCell", "GRUCell", "RNN")
    },
    **{
        f"nn.{name}": f"{_N}attention:{name}"
        for name in ("scaled_dot_product_attention", "MultiHeadAttention")
    },
    "nn.losses": "gyre.nn.losses",
    "nn.initializers": "gyre.nn.initializers",
    **{
        f"optimizers.{name}": f"{_O}{module}:{name}"
        for name, module in (("Optimizer", "optimizer"), ("SGD", "sgd"), ("Adam", "adam"))
    },
    "optimizers.schedules": "gyre.optimizers.schedules",
}

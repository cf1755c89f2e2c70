"""The backend of Keras on Gyre: the parts of Keras' interface of backends, one module each.

The interface is what `keras.src.backend` imports from its other backends; the code is written on
Gyre's public names, as a program is.
"""

from gyre._keras.backend import (  # noqa: F401
    core,
    distribution_lib,
    image,
    linalg,
    math,
    nn,
    numpy,
    random,
    tensorboard,
)
from gyre._keras.backend.core import (  # noqa: F401
    IS_THREAD_SAFE,
    SUPPORTS_COMPLEX_DTYPES,
    SUPPORTS_RAGGED_TENSORS,
    SUPPORTS_SPARSE_TENSORS,
    Variable,
    cast,
    compute_output_spec,
    cond,
    convert_to_numpy,
    convert_to_tensor,
    device_scope,
    is_tensor,
    name_scope,
    random_seed_dtype,
    scatter,
    shape,
    stop_gradient,
    vectorized_map,
)
from gyre._keras.backend.rnn import (  # noqa: F401
    bidirectional_gru,
    bidirectional_lstm,
    cudnn_ok,
    gru,
    lstm,
    rnn,
)

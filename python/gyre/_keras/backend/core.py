"""Tensors, variables, scopes, and the control flow of `keras.ops`."""

from gyre._keras.backend.control_flow import (  # noqa: F401
    associative_scan,
    cond,
    custom_gradient,
    fori_loop,
    map,
    remat,
    scan,
    switch,
    vectorized_map,
    while_loop,
)
from gyre._keras.backend.scopes import device_scope, name_scope  # noqa: F401
from gyre._keras.backend.symbolic import compute_output_spec  # noqa: F401
from gyre._keras.backend.tensors import (  # noqa: F401
    cast,
    convert_to_numpy,
    convert_to_tensor,
    is_tensor,
    random_seed_dtype,
    scatter,
    scatter_update,
    shape,
    slice,
    slice_update,
    stop_gradient,
    unstack,
)
from gyre._keras.backend.variable import Variable  # noqa: F401

IS_THREAD_SAFE = True
SUPPORTS_COMPLEX_DTYPES = True
SUPPORTS_SPARSE_TENSORS = False
SUPPORTS_RAGGED_TENSORS = False

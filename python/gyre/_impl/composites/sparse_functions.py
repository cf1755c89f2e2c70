"""What functions of tensors do with sparse ones: those that keep zeros work on the values alone, so
that the result is sparse. All others take the dense tensor."""

from gyre._impl.composites.sparse_tensor import SparseTensor
from gyre._impl.dispatch import for_function


@for_function(
    SparseTensor,
    *(
        "abs angle asin asinh atan atanh bessel_i1 bessel_i1e cast ceil check_numerics "
        "conj dawsn erf erfinv expm1 floor identity imag log1p negative real relu "
        "relu6 rint round saturate_cast selu sign sin sinh softsign sqrt square stop_gradient tan "
        "tanh elu gelu leaky_relu silu"
    ).split(),
)
def of_values(function, x, *args, **kwargs):
    """The function of the values, at the same places."""
    return x.with_values(function(x.values, *args, **kwargs))

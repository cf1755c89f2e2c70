"""Element types: `float32`, `int32`, `bool`, `string`, `resource`, … and `as_dtype`."""

from gyre import _gyre
from gyre._gyre import DType

as_dtype = _gyre.as_dtype
DTypeLike = DType | str | type  # a name, a class of numpy's

globals().update(_gyre.all_dtypes())
half = _gyre.as_dtype("float16")
double = _gyre.as_dtype("float64")


def with_article(dtype: DType) -> str:
    """ "an int32", "a float32": for messages."""
    return f"{'an' if dtype.name.startswith('i') else 'a'} {dtype.name}"

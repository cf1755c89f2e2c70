"""Python's module `math`, where its arguments are traced."""

import math

from gyre import _gyre
from gyre._impl.ops import table
from gyre._impl.tracing.lines import place
from gyre._impl.tracing.state import condition, is_symbolic

# Functions of the module that an op computes: those that gyre.math has under the same name, and
_OPS = {
    math.fabs: "Abs",
    math.isfinite: "IsFinite",
    math.isinf: "IsInf",
    math.isnan: "IsNan",
    **{
        getattr(math, name): op
        for name, op in table.OPS.items()
        if hasattr(math, name) and name not in ("ceil", "floor", "log")
    },
}
# … these, which are no op alone: the results of rounding are integers, logarithms have a base.
_ROUNDED = {math.ceil: "Ceil", math.floor: "Floor", math.trunc: None}  # a cast truncates


def call(fn, args, kwargs):
    """fn(*args, **kwargs) of the module."""
    values = [condition(arg) for arg in args]
    if not any(map(is_symbolic, (*values, *kwargs.values()))):
        return fn(*args, **kwargs)
    if not kwargs and fn in _OPS:
        return _run(_OPS[fn], _floats(values))
    if not kwargs and fn in _ROUNDED:
        return _rounded(fn, values)
    if fn is math.log and not kwargs:
        logs = [_run("Log", [value]) for value in _floats(values)]
        return logs[0] if len(logs) == 1 else logs[0] / logs[1]
    if fn in (math.log2, math.log10):
        return _run("Log", _floats(values)) / math.log(2.0 if fn is math.log2 else 10.0)
    if fn is math.hypot:
        return _run("Sqrt", [sum(value * value for value in _floats(values))])
    if fn in (math.radians, math.degrees):
        return _floats(values)[0] * fn(1.0)
    raise TypeError(
        f"math.{fn.__name__} at {place()} is called with a tensor that is being traced, whose "
        "value is not known then, and has no counterpart in a graph. Compute it with functions of "
        "gyre, or of a Python number"
    )


def _run(op, values):
    return _gyre.execute(op, values)[0]


def _floats(values):
    """As floating tensors of one dtype: that of a floating one among them, else float32."""
    found = [
        value.dtype
        for value in values
        if isinstance(value, _gyre.Tensor) and value.dtype.is_floating
    ]
    dtype = found[0] if found else _gyre.as_dtype("float32")
    return [
        _gyre.execute("Cast", [value], {"DstT": dtype})[0]
        if isinstance(value, _gyre.Tensor) and not value.dtype.is_floating
        else value
        if isinstance(value, _gyre.Tensor)
        else _gyre.convert(value, dtype)
        for value in values
    ]


def _rounded(fn, values):
    value = values[0]
    if value.dtype.is_integer:
        return value
    if _ROUNDED[fn]:
        value = _run(_ROUNDED[fn], [value])
    return _gyre.execute("Cast", [value], {"DstT": _gyre.as_dtype("int32")})[0]

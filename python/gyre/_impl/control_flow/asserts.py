"""Assert, and assertions about values: checked at once in eager mode,
when the graph runs otherwise."""

from __future__ import annotations

from gyre import _gyre
from gyre._gyre import Tensor
from gyre._impl import errors, facade, nest
from gyre._impl.annotations import Any, TensorLike
from gyre._impl.dtypes import DTypeLike, with_article


def _truth(value):
    """The value of an eager bool; None if it is known at run time only."""
    if isinstance(value, _gyre.Tensor):
        return None if value.is_symbolic else bool(value.numpy())
    return bool(value)


def _reduced(condition):
    """Whether all elements are true."""
    if isinstance(condition, _gyre.Tensor) and condition._dims != ():
        dims = condition._dims
        if dims is None:
            rank = _gyre.execute("Rank", [condition])[0]
            axes = _gyre.execute("Range", [_gyre.convert(0), rank, _gyre.convert(1)])[0]
        else:
            axes = _gyre.convert(list(range(len(dims))), _gyre.as_dtype("int32"))
        return _gyre.execute("All", [condition, axes], {"keep_dims": False})[0]
    return condition


def _show(value, summarize):
    if isinstance(value, _gyre.Tensor):
        flat = value.numpy().reshape(-1)
        few = flat[:summarize] if summarize >= 0 else flat
        return (
            "["
            + " ".join(str(x.decode() if isinstance(x, bytes) else x) for x in few)
            + ("...]" if len(few) < len(flat) else "]")
        )
    return str(value)


@facade.makes_operation
def Assert(
    condition: TensorLike, data, summarize: int | None = None, name: str | None = None
) -> None:
    """InvalidArgumentError with `data` (a list of tensors and texts) if the condition is not true.

    In a traced function it is checked when the graph runs, in the order of the program."""
    summarize = 3 if summarize is None else summarize
    condition = _gyre.convert(condition) if hasattr(condition, "__gyre_tensor__") else condition
    known = _truth(condition)
    if known:
        return None
    data = list(data) if isinstance(data, (list, tuple)) else [data]
    if known is False and _gyre.current_graph() is None:
        shown = "\n".join(_show(part, summarize) for part in data)
        raise errors.InvalidArgumentError(
            None, None, f"Expected '{name or 'condition'}' to be true. Summarized data: {shown}"
        )
    _gyre.execute(
        "Assert", [condition, [_gyre.convert(part) for part in data]], {"summarize": summarize}
    )
    return None


def _names(x, y):
    return [f"x = {_label(x)}", x] + ([] if y is None else [f"y = {_label(y)}", y])


def _label(value):
    return f"{with_article(value.dtype)} tensor:"


def _check(what, holds, x, y, message, data, summarize, name):
    if data is None:
        data = [f"Condition {what} did not hold.", *_names(x, y)]
    if message:
        data = [message, *data]
    return Assert(_reduced(holds), data, summarize, name)


def _binary(op, what):
    def check(x, y, message=None, summarize=None, name=None):
        x, y = _pair(x, y)
        return _check(what, _gyre.execute(op, [x, y])[0], x, y, message, None, summarize, name)

    return check


def _pair(x, y):
    if isinstance(x, _gyre.Tensor) or hasattr(x, "__gyre_tensor__"):
        x = _gyre.convert(x)
        return x, y if isinstance(y, _gyre.Tensor) else _gyre.convert(y) if hasattr(
            y, "__gyre_tensor__"
        ) or hasattr(y, "dtype") else _gyre.convert(y, x.dtype)
    y = _gyre.convert(y)
    return (_gyre.convert(x) if hasattr(x, "dtype") else _gyre.convert(x, y.dtype)), y


_equal = _binary("Equal", "x == y")
_none_equal = _binary("NotEqual", "x != y")
_less = _binary("Less", "x < y")
_less_equal = _binary("LessEqual", "x <= y")
_greater = _binary("Greater", "x > y")
_greater_equal = _binary("GreaterEqual", "x >= y")


@facade.makes_operation
def assert_equal(
    x: TensorLike,
    y: TensorLike,
    message: str | None = None,
    summarize: int | None = None,
    name: str | None = None,
) -> None:
    """InvalidArgumentError unless x == y for all elements."""
    return _equal(x, y, message, summarize, name)


@facade.makes_operation
def assert_none_equal(
    x: TensorLike,
    y: TensorLike,
    message: str | None = None,
    summarize: int | None = None,
    name: str | None = None,
) -> None:
    """InvalidArgumentError unless x != y for all elements."""
    return _none_equal(x, y, message, summarize, name)


@facade.makes_operation
def assert_less(
    x: TensorLike,
    y: TensorLike,
    message: str | None = None,
    summarize: int | None = None,
    name: str | None = None,
) -> None:
    """InvalidArgumentError unless x < y for all elements."""
    return _less(x, y, message, summarize, name)


@facade.makes_operation
def assert_less_equal(
    x: TensorLike,
    y: TensorLike,
    message: str | None = None,
    summarize: int | None = None,
    name: str | None = None,
) -> None:
    """InvalidArgumentError unless x <= y for all elements."""
    return _less_equal(x, y, message, summarize, name)


@facade.makes_operation
def assert_greater(
    x: TensorLike,
    y: TensorLike,
    message: str | None = None,
    summarize: int | None = None,
    name: str | None = None,
) -> None:
    """InvalidArgumentError unless x > y for all elements."""
    return _greater(x, y, message, summarize, name)


@facade.makes_operation
def assert_greater_equal(
    x: TensorLike,
    y: TensorLike,
    message: str | None = None,
    summarize: int | None = None,
    name: str | None = None,
) -> None:
    """InvalidArgumentError unless x >= y for all elements."""
    return _greater_equal(x, y, message, summarize, name)


def _sign(op, what, x, message, summarize, name):
    x = _gyre.convert(x)
    zero = _gyre.convert(0, x.dtype)
    return _check(what, _gyre.execute(op, [x, zero])[0], x, None, message, None, summarize, name)


@facade.makes_operation
def assert_positive(
    x: TensorLike, message: str | None = None, summarize: int | None = None, name: str | None = None
) -> None:
    """InvalidArgumentError unless x > 0 for all elements."""
    return _sign("Greater", "x > 0", x, message, summarize, name)


@facade.makes_operation
def assert_negative(
    x: TensorLike, message: str | None = None, summarize: int | None = None, name: str | None = None
) -> None:
    """InvalidArgumentError unless x < 0 for all elements."""
    return _sign("Less", "x < 0", x, message, summarize, name)


@facade.makes_operation
def assert_non_negative(
    x: TensorLike, message: str | None = None, summarize: int | None = None, name: str | None = None
) -> None:
    """InvalidArgumentError unless x >= 0 for all elements."""
    return _sign("GreaterEqual", "x >= 0", x, message, summarize, name)


@facade.makes_operation
def assert_non_positive(
    x: TensorLike, message: str | None = None, summarize: int | None = None, name: str | None = None
) -> None:
    """InvalidArgumentError unless x <= 0 for all elements."""
    return _sign("LessEqual", "x <= 0", x, message, summarize, name)


@facade.makes_operation
def assert_near(
    x: TensorLike,
    y: TensorLike,
    rtol=None,
    atol=None,
    message: str | None = None,
    summarize: int | None = None,
    name: str | None = None,
) -> None:
    """InvalidArgumentError unless |x - y| <= atol + rtol * |y| for all elements. The tolerances are
    ten times the dtype's resolution, unless given."""
    x, y = _pair(x, y)
    fine = {
        "float64": 2.220446e-15,
        "float32": 1.1920929e-06,
        "float16": 0.009765625,
        "bfloat16": 0.078125,
    }.get(x.dtype.name, 1.1920929e-06)
    rtol, atol = fine if rtol is None else rtol, fine if atol is None else atol
    distance = _gyre.execute("Abs", [x - y])[0]
    bound = _gyre.execute("Abs", [y])[0] * _gyre.convert(rtol, y.dtype) + _gyre.convert(
        atol, y.dtype
    )
    return _check(
        "|x - y| <= atol + rtol * |y|", distance <= bound, x, y, message, None, summarize, name
    )


@facade.makes_operation
def assert_integer(x: TensorLike, message: str | None = None, name: str | None = None) -> None:
    """TypeError unless x is of an integer dtype."""
    dtype = _gyre.convert(x).dtype
    if not dtype.is_integer:
        raise TypeError(
            f"{message + ': ' if message else ''}expected an integer tensor, got {dtype.name}"
        )


@facade.makes_operation
def assert_type(
    tensor: TensorLike, tf_type: DTypeLike, message: str | None = None, name: str | None = None
) -> None:
    """TypeError unless the tensor is of this dtype."""
    dtype, wanted = _gyre.convert(tensor).dtype, _gyre.as_dtype(tf_type)
    if dtype != wanted:
        raise TypeError(
            f"{message + ': ' if message else ''}expected {wanted.name}, got {dtype.name}"
        )


@facade.makes_operation
def assert_scalar(
    tensor: TensorLike, message: str | None = None, name: str | None = None
) -> Tensor:
    """ValueError unless the tensor has no axes. Returns it."""
    value = _gyre.convert(tensor)
    if value._dims is not None and value._dims != ():
        raise ValueError(
            f"{message + ': ' if message else ''}expected a scalar, got the shape "
            f"{list(value._dims)}"
        )
    return value


def _rank_check(x, allowed, holds, message, name):
    x = _gyre.convert(x)
    text = f"{message + ': ' if message else ''}expected a tensor of rank {allowed}"
    if x._dims is not None:
        if not holds(len(x._dims)):
            raise ValueError(f"{text}, got rank {len(x._dims)}, shape {list(x._dims)}")
        return None
    return Assert(holds(_gyre.execute("Rank", [x])[0]), [text], None, name)


@facade.makes_operation
def assert_rank(x: TensorLike, rank, message: str | None = None, name: str | None = None) -> None:
    """ValueError (or, where ranks are not known, InvalidArgumentError at run time) for another
    rank."""
    return _rank_check(x, str(rank), lambda found: found == rank, message, name)


@facade.makes_operation
def assert_rank_at_least(
    x: TensorLike, rank, message: str | None = None, name: str | None = None
) -> None:
    """ValueError (or, where ranks are not known, InvalidArgumentError at run time) for a lower
    rank."""
    return _rank_check(x, f"{rank} or more", lambda found: found >= rank, message, name)


@facade.makes_operation
def assert_rank_in(
    x: TensorLike, ranks, message: str | None = None, name: str | None = None
) -> None:
    """ValueError (or, where ranks are not known, InvalidArgumentError at run time) for other
    ranks."""

    def holds(found):
        if isinstance(found, int):
            return found in ranks
        result = found == ranks[0]
        for rank in ranks[1:]:
            result = _gyre.execute("LogicalOr", [result, found == rank])[0]
        return result

    return _rank_check(x, " or ".join(map(str, ranks)), holds, message, name)


def assert_same_float_dtype(tensors=None, dtype=None) -> Any:
    """The common floating dtype; ValueError if they differ or are not floating."""
    dtype = None if dtype is None else _gyre.as_dtype(dtype)
    for tensor in nest.flatten(tensors or []):
        found = _gyre.convert(tensor).dtype
        if dtype is not None and found != dtype:
            raise ValueError(f"expected {dtype.name} tensors, got {with_article(found)} one")
        dtype = found
    dtype = dtype or _gyre.as_dtype("float32")
    if not dtype.is_floating:
        raise ValueError(f"expected floating tensors, got {dtype.name}")
    return dtype


@facade.makes_operation
def assert_shapes(
    shapes,
    data=None,
    summarize: int | None = None,
    message: str | None = None,
    name: str | None = None,
) -> None:
    """ValueError unless tensors have these shapes. shapes: {tensor: shape} or [(tensor, shape)];
    sizes are numbers, None, or symbols that stand for one size throughout."""
    pairs = shapes.items() if isinstance(shapes, dict) else shapes
    sizes = {}
    for tensor, shape in pairs:
        tensor = _gyre.convert(tensor.deref() if hasattr(tensor, "deref") else tensor)
        shape = list(shape) if isinstance(shape, (tuple, list, str)) else [shape]
        start = f"{message + ': ' if message else ''}"
        if tensor._dims is None:
            continue
        if len(shape) != len(tensor._dims):
            raise ValueError(
                f"{start}expected {len(shape)} axes, got the shape {list(tensor._dims)}"
            )
        for want, have in zip(shape, tensor._dims, strict=True):
            if isinstance(want, str) and want not in (".", "*"):
                want = sizes.setdefault(want, have)
            if isinstance(want, int) and have is not None and want != have:
                raise ValueError(f"{start}expected the shape {shape}, got {list(tensor._dims)}")

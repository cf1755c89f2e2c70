"""What the value of a name is made of, where it enters and leaves branches and bodies of loops.

A value is taken apart into tensors, which travel through the construct, and static parts (None,
objects), which must be the same on all paths. A layout says how: so that both branches of an if, or
the start and the end of a loop's body, hand over equally many tensors of equal dtypes.
"""

from gyre import _gyre
from gyre._impl import nest
from gyre._impl.dtypes import with_article
from gyre._impl.tracing.lists import TracedList
from gyre._impl.tracing.undefined import PartlyDefined, is_undefined

_NUMBERS = (bool, int, float, complex, str, bytes)


class Mismatch(Exception):
    """A value does not fit a layout."""


class Refusal(Exception):
    """No layout fits both values. args: (what is wrong,)."""


class Leaf:
    """dtype None: static, with `value`. dims: what is known of the shape. widened: int64, and what
    comes as int32 becomes it."""

    __slots__ = ("dtype", "dims", "value", "scalar", "widened")

    def __init__(self, dtype, dims=None, value=None, scalar=False, widened=False):
        self.dtype, self.dims, self.value, self.scalar = dtype, dims, value, scalar
        self.widened = widened


def _is_number(value):
    return isinstance(value, _NUMBERS)


def _dtype_of_number(value):
    if isinstance(value, int) and not isinstance(value, bool):
        return _gyre.as_dtype("int32" if -(2**31) <= value < 2**31 else "int64")
    for kind, name in ((bool, "bool"), (float, "float32"), (complex, "complex128")):
        if isinstance(value, kind):
            return _gyre.as_dtype(name)
    return _gyre.as_dtype("string")


def leaf_of(value):
    """How this leaf travels."""
    if isinstance(value, _gyre.Tensor):
        return Leaf(value.dtype, value._dims, value)
    if _is_number(value):
        return Leaf(_dtype_of_number(value), (), value, scalar=True)
    if hasattr(value, "__array__") and not hasattr(value, "__gyre_tensor__"):
        value = _gyre.convert(value)
        return Leaf(value.dtype, value._dims, value)
    return Leaf(None, None, value)


class Taken:
    """A value taken apart. `value` is the structure; undefined: there is none."""

    __slots__ = ("value", "leaves", "flag", "undefined")

    def __init__(self, value):
        self.flag = None
        self.undefined = is_undefined(value)
        if isinstance(value, PartlyDefined):
            self.flag, value = value.flag, value.value
        self.value = value
        self.leaves = (
            []
            if self.undefined
            else [leaf_of(leaf) for leaf in nest.flatten(value, expand_composites=True)]
        )

    def describe(self):
        if self.undefined:
            return "undefined"
        return describe(self.value)


def describe(value):
    """In a few words, for messages."""
    if value is None:
        return "None"
    if isinstance(value, _gyre.Tensor):
        return f"{with_article(value.dtype)} tensor of shape {show_dims(value._dims)}"
    if _is_number(value):
        return f"the Python {type(value).__name__} {value!r}"
    if isinstance(value, TracedList):
        return "a list that a traced loop changes"
    if nest.is_nested(value):
        inner = [describe(leaf) for leaf in nest.flatten(value)]
        size = f" of {len(value)}" if isinstance(value, (list, tuple, dict)) else ""
        shown = ", ".join(inner[:4] + ["…"] * (len(inner) > 4))
        return f"a {type(value).__name__}{size} ({shown})"
    return f"a {type(value).__name__}"


def show_dims(dims):
    if dims is None:
        return "unknown"
    return "[" + ", ".join("?" if d is None else str(d) for d in dims) + "]"


class Layout:
    """template: a value of this structure; None leaves nothing to say. flagged: a bool travels
    along that tells whether the name has a value."""

    __slots__ = ("template", "leaves", "flagged", "undefined")

    def __init__(self, template, leaves, flagged=False, undefined=False):
        self.template, self.leaves = template, leaves
        self.flagged, self.undefined = flagged, undefined

    def count(self):
        """How many tensors travel."""
        return sum(leaf.dtype is not None for leaf in self.leaves) + self.flagged

    def emit(self, taken):
        """The tensors of a value. Raises Mismatch."""
        if self.undefined:
            if not taken.undefined:
                raise Mismatch
            return []
        if taken.undefined:
            if not self.flagged:
                raise Mismatch
            return [placeholder(leaf) for leaf in self.leaves if leaf.dtype is not None] + [
                _gyre.convert(False)
            ]
        if taken.flag is not None and not self.flagged:
            raise Mismatch
        value = _as_template(self.template, taken.value)
        if value is not taken.value:
            taken = Taken(value)
        if nest.difference(self.template, taken.value):
            raise Mismatch
        tensors = []
        for want, have in zip(self.leaves, taken.leaves, strict=True):
            if want.dtype is not None:
                have = read(have)
            if want.dtype is None:
                if have.dtype is not None or not same(want.value, have.value):
                    raise Mismatch
            elif have.dtype is None:
                raise Mismatch
            elif have.dtype == want.dtype:
                tensors.append(_gyre.convert(have.value))
            elif have.scalar and converts(have.value, want.dtype):
                tensors.append(_gyre.convert(have.value, want.dtype))
            elif want.widened and have.dtype.name == "int32":
                tensors.append(_gyre.execute("Cast", [have.value], {"DstT": want.dtype})[0])
            else:
                raise Mismatch
        if self.flagged:
            tensors.append(_gyre.convert(True) if taken.flag is None else taken.flag)
        return tensors

    def pack(self, tensors):
        """(value, flag or None) of the tensors that `emit` gave.
        They are taken from an iterator."""
        leaves = [_own(leaf.value) if leaf.dtype is None else next(tensors) for leaf in self.leaves]
        flag = next(tensors) if self.flagged else None
        return nest.pack_sequence_as(self.template, leaves, expand_composites=True), flag


def _own(value):
    """A static value as a block may change it."""
    return set(value) if type(value) is set else value


def with_element_shapes(template, after):
    """The template, whose TensorArrays know of their elements what those of `after` have found
    out."""
    if nest.difference(template, after):  # a Python list, of which one of the graph has been made
        return template

    def learn(array, later):
        learn_from = getattr(array, "learn_from", None)
        return array if learn_from is None else learn_from(later)

    return nest.map_structure(learn, template, after)


def same(a, b):
    """Whether two static values are the same as far as a graph goes."""
    if a is b:
        return True
    try:
        return type(a) is type(b) and bool(a == b)
    except (TypeError, ValueError):
        return False


def converts(number, dtype):
    """Whether a Python number is one of this dtype without loss of kind."""
    if isinstance(number, bool):
        return dtype.is_bool
    if isinstance(number, int):
        return dtype.is_integer or dtype.is_floating or dtype.is_complex
    if isinstance(number, float):
        return dtype.is_floating or dtype.is_complex
    if isinstance(number, complex):
        return dtype.is_complex
    return dtype.name == "string"


def placeholder(leaf):
    """A tensor of this dtype that nobody reads."""
    if leaf.dtype.name in ("variant", "resource"):
        return _gyre.execute(
            "EmptyTensorList",
            [_gyre.convert(-1), _gyre.convert(-1)],
            {"element_dtype": _gyre.as_dtype("float32")},
        )[0]
    dims = [0 if d is None else d for d in leaf.dims or ()]
    if leaf.dtype.name == "string":
        zero = _gyre.convert("")
    else:
        zero = _gyre.convert(False if leaf.dtype.is_bool else 0, leaf.dtype)
    if not dims:
        return zero
    return _gyre.execute("Fill", [_gyre.convert(dims, _gyre.as_dtype("int32")), zero])[0]


def layout_of(taken, flagged=False):
    """The layout that a value asks for by itself."""
    if taken.undefined:
        return Layout(None, [], undefined=True)
    return Layout(taken.value, taken.leaves, flagged or taken.flag is not None)


def taken_of(layout):
    """A value of this layout, taken apart."""
    taken = Taken(layout.template)
    taken.leaves = layout.leaves
    return taken


def join_all(values):
    """A layout that fits all of these values. Raises Refusal."""
    common = layout_of(Taken(values[0]))
    for value in values[1:]:
        common = join(taken_of(common), Taken(value))
    return common


def join(a, b):
    """A layout that fits both. Raises Refusal."""
    if a.undefined or b.undefined:
        other = b if a.undefined else a
        if any(leaf.dtype is None for leaf in other.leaves):
            raise Refusal(f"it is {other.describe()} on one path and has no value on the other")
        return Layout(
            other.value, other.leaves, flagged=not other.undefined, undefined=other.undefined
        )
    flagged = a.flag is not None or b.flag is not None
    x, y = _grown(a.value, b.value)
    if x is not a.value or y is not b.value:
        a, b = Taken(x), Taken(y)
    difference = nest.difference(a.value, b.value)
    if difference:
        raise Refusal("its structure changes")
    leaves = []
    for i, (x, y) in enumerate(zip(a.leaves, b.leaves, strict=True)):
        widened = _are_row_numbers(a.value, i, x, y)
        leaves.append(
            Leaf(_gyre.as_dtype("int64"), widened=True) if widened else _join_leaves(x, y)
        )
    return Layout(b.value, leaves, flagged)


def _are_row_numbers(value, i: int, x, y) -> bool:
    """Whether leaf i of both is the indices of IndexedSlices, as int32 and as int64."""
    if x.dtype is None or y.dtype is None or x.scalar or y.scalar:
        return False
    if {x.dtype.name, y.dtype.name} != {"int32", "int64"}:
        return False
    path, _ = nest.flatten_with_paths(value, expand_composites=True)[i]
    return path.endswith(".indices")


def read(leaf):
    """A variable where something else is a tensor: its value."""
    if leaf.dtype is None and hasattr(leaf.value, "__gyre_tensor__"):
        return leaf_of(_gyre.convert(leaf.value))
    return leaf


def _join_leaves(x, y):
    if x.dtype is None and y.dtype is not None:
        x = read(x)
    elif y.dtype is None and x.dtype is not None:
        y = read(y)
    if x.dtype is None or y.dtype is None:
        if x.dtype is None and y.dtype is None and same(x.value, y.value):
            return x
        raise Refusal("a Python object cannot depend on a tensor (one of a dataclass can)")
    if x.dtype == y.dtype:
        return y
    if x.scalar and converts(x.value, y.dtype):
        return y
    if y.scalar and converts(y.value, x.dtype):
        return x
    raise Refusal(f"its dtype changes from {x.dtype.name} to {y.dtype.name}")


def _parts(x, y):
    """The keys under which two values of one kind hold others; empty if they do not."""
    if type(x) is not type(y) or type(x) not in (list, tuple, dict) or len(x) != len(y):
        return ()
    if type(x) is dict:
        return x.keys() if x.keys() == y.keys() else ()
    return range(len(x))


def _with_parts(value, parts):
    """`value`, or one like it where some of its parts are others."""
    if all(value[key] is part for key, part in parts.items()):
        return value
    return parts if type(value) is dict else type(value)(parts.values())


def _grown(x, y):
    """The two values, with lists of the graph where their lists are of different lengths."""
    if isinstance(x, TracedList) and isinstance(y, list):
        return x, x
    if isinstance(y, TracedList) and isinstance(x, list):
        return y, y
    if type(x) is list and type(y) is list and len(x) != len(y):
        made = TracedList.like((x if len(x) > len(y) else y)[-1])
        return made, made
    parts = {key: _grown(x[key], y[key]) for key in _parts(x, y)}
    if not parts:
        return x, y
    return (
        _with_parts(x, {key: pair[0] for key, pair in parts.items()}),
        _with_parts(y, {key: pair[1] for key, pair in parts.items()}),
    )


def _as_template(template, value):
    """A value whose Python lists are lists of the graph where those of the template are."""
    if isinstance(template, TracedList) and not isinstance(value, TracedList):
        if not isinstance(value, list):
            raise Mismatch
        return TracedList.from_list(value, template)
    parts = {key: _as_template(template[key], value[key]) for key in _parts(template, value)}
    return _with_parts(value, parts) if parts else value

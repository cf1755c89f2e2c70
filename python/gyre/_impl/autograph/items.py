"""Items in converted code: `v[i]` and `v[i][j] = x`, where v may be a tensor or a list, and where
indices may be known at run time only.

A tensor does not change: the name or the place that holds it gets another one. A list does, as in
Python; at a traced index each item becomes `x` or what it was. In a traced loop such a list becomes
one of the graph.

A place below a name is given by the name's value, by keys, and by the kinds of these: "." for the
name of an attribute, "[" for an index.
"""

import types

from gyre import _gyre
from gyre._impl.autograph import objects
from gyre._impl.dtypes import with_article
from gyre._impl.tracing import effects
from gyre._impl.tracing import layout as layouts
from gyre._impl.tracing.contents import is_array_of_numbers
from gyre._impl.tracing.layout import Refusal, Taken
from gyre._impl.tracing.lines import place
from gyre._impl.tracing.lists import CONTAINERS, TracedList, make_list_of_graph
from gyre._impl.tracing.state import condition, is_symbolic
from gyre._impl.tracing.undefined import Undefined, ld

_Tensor = _gyre.Tensor
_MISSING = (KeyError, AttributeError, NameError, IndexError, TypeError)
slice_ = slice


# ---- Reading


def get_item(target, key):
    """`target[key]`"""
    users = objects.method(type(target), "__getitem__")
    if users is not None:
        return objects.call(users, target, key)
    if isinstance(target, (list, tuple)) and is_symbolic(condition(key)):
        return _chosen(target, condition(key))
    return target[key]


def _chosen(values, index):
    """The item of a Python list or tuple at a traced index."""
    if not values:
        raise IndexError(f"an item is read at {place()} of a {type(values).__name__} that has none")
    make_list_of_graph(values)
    common = _common(values, "read")
    columns = zip(*(common.emit(Taken(value)) for value in values), strict=True)
    return common.pack(iter([_stacked(column)[index] for column in columns]))[0]


def _stacked(tensors):
    return _gyre.execute("Pack", [list(tensors)], {"axis": 0})[0]


def _common(values, how):
    """The layout of all items of a list, and of what one of them becomes."""
    first = Taken(values[0])
    common = layouts.layout_of(first)
    for value in values[1:]:
        other = Taken(value)
        try:
            common = layouts.join(layouts.taken_of(common), other)
            _check_shapes(first, other)
        except Refusal as why:
            raise TypeError(
                f"an item of a {type(values).__name__} is {how} at {place()}, at an index that "
                f"only a run tells: then all items must be alike, and {why}: one is "
                f"{first.describe()}, another {other.describe()}. Make them alike, or decide with "
                "gyre.switch_case"
            ) from None
    return common


def _check_shapes(a, b):
    for x, y in zip(a.leaves, b.leaves, strict=True):
        if x.dims is None or y.dims is None:
            continue
        if len(x.dims) != len(y.dims) or any(
            m != n and None not in (m, n) for m, n in zip(x.dims, y.dims, strict=True)
        ):
            raise Refusal("their shapes differ")


# ---- Writing


def set_item(target, keys, kinds, value, written, unused=False):
    """`target[…] = value` as a statement: what its name is then. written: the place, as it is;
    unused: whether nothing reads the name afterwards."""
    if unused and isinstance(target, _Tensor):
        name = written.partition("[")[0]
        raise TypeError(
            f"{written} at {place()} has no effect: a tensor does not change, so that the name "
            f"{name!r} alone gets another one, which nothing reads afterwards. Return {name} from "
            "the function"
        )
    if kinds[0] == ".":
        old = None if len(keys) == 1 else objects.get_attr(target, keys[0])
        new = value if len(keys) == 1 else set_item(old, keys[1:], kinds[1:], value, written)
        if new is not old or len(keys) == 1:
            objects.set_attr(target, keys[0], new)
        return target
    key = condition(keys[0])
    if isinstance(target, _Tensor):
        return _tensor_with(target, keys, kinds, value, written)
    if is_array_of_numbers(target):
        effects.check_array(target, keys[0], value, written)
    if is_symbolic(key) and type(target) is list:
        make_list_of_graph(target, *([value] if len(keys) == 1 else []))
        _set_where(target, keys, kinds, value, written, None)
    elif is_symbolic(key) and isinstance(target, (dict, tuple)):
        raise TypeError(
            f"{written} at {place()} is assigned at a traced key: the keys of a "
            f"{type(target).__name__} are Python's, and known while tracing. Use a list or a "
            "tensor, and a number as the index"
        )
    elif len(keys) == 1:
        effects.check_item(target, value, written)
        _put(target, "[", keys[0], value)
    else:
        if isinstance(target, TracedList) and "." not in kinds:
            target.make_room(target.element_with(keys[1:], value))
        old = get_item(target, key)
        new = set_item(old, keys[1:], kinds[1:], value, written)
        if new is not old or isinstance(target, TracedList):
            effects.check_item(target, new, written)
            _put(target, "[", key, new)
    return target


def set_item_of_outside(target, keys, kinds, value, written):
    """The same for a name of a scope around, which stays what it is."""
    if set_item(target, keys, kinds, value, written) is not target:
        raise TypeError(
            f"{written} at {place()} would make a new tensor of one that a scope around the "
            "function owns: tensors do not change. Pass the tensor in and return it, or make it a "
            "gyre.Variable"
        )


def _tensor_with(tensor, keys, kinds, value, written):
    """A tensor with another item, row or slice."""
    if len(keys) == 1:
        return _updated(tensor, keys[0], value)
    if "." in kinds:
        raise TypeError(
            f"{written} at {place()} is an attribute of a tensor's item, and cannot be assigned"
        )
    if all(map(_is_index, keys)):
        return _updated(tensor, tuple(keys), value)
    return _updated(tensor, keys[0], set_item(tensor[keys[0]], keys[1:], kinds[1:], value, written))


def _is_index(key):
    key = condition(key)
    if isinstance(key, _Tensor):
        return key.dtype.is_integer and key._dims == ()
    return not isinstance(key, bool) and hasattr(key, "__index__")


def _updated(tensor, key, value):
    """A tensor like this, but for what is at `key`."""
    keys = key if isinstance(key, tuple) else (key,)
    dims = tensor._dims
    if dims is not None and len(keys) <= len(dims) and all(map(_is_index, keys)):
        where = [_offset(condition(k), tensor, axis) for axis, k in enumerate(keys)]
        return _scattered(tensor, _stacked(_of_one_type(where)), value, list(dims[len(keys) :]))
    shape = _gyre.execute("Shape", [tensor])[0]
    size = _gyre.execute("Size", [tensor])[0]
    places = _gyre.execute(
        "Reshape", [_gyre.execute("Range", [_gyre.convert(0), size, _gyre.convert(1)])[0], shape]
    )[0][key]
    flat = _gyre.execute("Reshape", [tensor, _gyre.convert([-1])])[0]
    where = _gyre.execute("ExpandDims", [places, _gyre.convert(-1)])[0]
    made = _scattered(flat, where, value, places._dims)
    made = _gyre.execute("Reshape", [made, shape])[0]
    made.set_shape(tensor.shape)
    return made


def _extent(tensor, axis):
    """The size of an axis: a number where it is known."""
    known = tensor._dims[axis]
    if known is None and len(tensor._dims) == 1:
        return _gyre.execute("Size", [tensor])[0]
    return _gyre.execute("Shape", [tensor])[0][axis] if known is None else known


def _offset(index, tensor, axis):
    """An index of an axis, counted from the start: an int32 or int64 tensor. Where it is to be put
    to use, one out of range is an error of the run."""
    extent = _extent(tensor, axis)
    if not isinstance(index, _Tensor):
        if not isinstance(extent, int) or not -extent <= index.__index__() < extent:
            return _position(index, extent)
        return _gyre.convert(index.__index__() % extent, _gyre.as_dtype("int32"))
    if index.dtype not in (_gyre.as_dtype("int32"), _gyre.as_dtype("int64")):
        index = _gyre.execute("Cast", [index], {"DstT": _gyre.as_dtype("int64")})[0]
    if index.dtype == _gyre.as_dtype("int64") and isinstance(extent, _Tensor):
        extent = _gyre.execute("Cast", [extent], {"DstT": index.dtype})[0]
    zero = _gyre.convert(0, index.dtype)
    from_start = _gyre.execute("AddV2", [index, _gyre.convert(extent, index.dtype)])[0]
    is_from_end = _gyre.execute(
        "LogicalAnd",
        [
            _gyre.execute("Less", [index, zero])[0],
            _gyre.execute("GreaterEqual", [from_start, zero])[0],
        ],
    )[0]
    return _gyre.execute("SelectV2", [is_from_end, from_start, index])[0]


def _of_one_type(indices):
    """Integer tensors as int64 if one of them is."""
    wide = _gyre.as_dtype("int64")
    if all(index.dtype != wide for index in indices):
        return indices
    return [_gyre.execute("Cast", [index], {"DstT": wide})[0] for index in indices]


def _position(index, extent):
    """An index, counted from the start, as an int32 tensor.
    One out of range is an error of the run."""
    if isinstance(extent, int):
        places = _gyre.convert(list(range(extent)), _gyre.as_dtype("int32"))
    else:
        places = _gyre.execute("Range", [_gyre.convert(0), extent, _gyre.convert(1)])[0]
    return places[index]


def _scattered(tensor, where, value, dims):
    """A tensor whose slices at `where` are `value`, of these dims."""
    value = _as_dtype_of(tensor, value)
    if dims is None or None in dims:
        where_shape = _gyre.execute("Shape", [where])[0]
        shape = _gyre.execute(
            "ConcatV2",
            [
                [where_shape[:-1], _gyre.execute("Shape", [tensor])[0][where._dims[-1] :]],
                _gyre.convert(0),
            ],
        )[0]
    else:
        shape = _gyre.convert(list(dims), _gyre.as_dtype("int32"))
    if dims is None or value._dims is None or None in dims or list(value._dims) != list(dims):
        value = _gyre.execute("BroadcastTo", [value, shape])[0]
    return _gyre.execute("TensorScatterUpdate", [tensor, where, value])[0]


def _as_dtype_of(tensor, value):
    value = condition(value)
    if not isinstance(value, _Tensor):
        return _gyre.convert(value, tensor.dtype)
    if value.dtype != tensor.dtype:
        raise TypeError(
            f"an item of {with_article(tensor.dtype)} tensor is assigned "
            f"{with_article(value.dtype)} tensor at {place()}. Cast it, with gyre.cast"
        )
    return value


def _set_where(target, keys, kinds, value, written, chosen):
    """Gives an item of a list, or an attribute, another value: at a traced index, and where
    `chosen` is true."""
    key = condition(keys[0])
    if kinds[0] == "[" and is_symbolic(key):
        if type(target) is not list:
            raise TypeError(
                f"{written} at {place()} is assigned at a traced key of a "
                f"{type(target).__name__}: only lists and tensors can be"
            )
        if not target:
            raise IndexError(f"{written} at {place()} is assigned, but the list has no items")
        at = _position(key, len(target))
        found = [(k, _and(chosen, _equal(at, k))) for k in range(len(target))]
    else:
        found = [(key, chosen)]
    for k, here in found:
        old = _next(target, kinds[0], k)
        if len(keys) > 1 and (kinds[1] == "." or type(old) in (list, dict)):
            _set_where(old, keys[1:], kinds[1:], value, written, here)
            continue
        if len(keys) > 1 and not isinstance(old, _Tensor):
            raise TypeError(
                f"{written} at {place()} is assigned at a traced index: there {written} would "
                f"be an item of a {type(old).__name__}. Use lists or tensors"
            )
        new = value if len(keys) == 1 else set_item(old, keys[1:], kinds[1:], value, written)
        common = _common([old, new], "assigned")
        effects.check_item(target, new, written)
        _put(target, kinds[0], k, _select(common, here, new, old))


def _put(holder, kind, key, value):
    if kind == ".":
        objects.set_attr(holder, key, value)
        return
    users = objects.method(type(holder), "__setitem__")
    if users is None:
        holder[key] = value
    else:
        objects.call(users, holder, key, value)


def _next(holder, kind, key):
    return objects.get_attr(holder, key) if kind == "." else get_item(holder, key)


def _equal(tensor, number):
    return _gyre.execute("Equal", [tensor, _gyre.convert(number)])[0]


def _and(a, b):
    return b if a is None else _gyre.execute("LogicalAnd", [a, b])[0]


def _select(common, chosen, new, old):
    parts = [
        _gyre.execute("SelectV2", [chosen, x, y])[0]
        for x, y in zip(common.emit(Taken(new)), common.emit(Taken(old)), strict=True)
    ]
    return common.pack(iter(parts))[0]


# ---- Items as state of blocks: where a tensor or a list of the graph holds an item, or where the
# index is traced, what holds it is part of the state as a whole.


def _is_whole(root, firsts):
    """Whether all that a name holds is part of the state, which the name itself is not. firsts:
    gives the indices below the name at which items are part of it by themselves; False where there
    are others."""
    if isinstance(root, (_Tensor, TracedList)):
        return True
    if type(root) not in CONTAINERS:
        return False
    return not firsts or type(root) is list and any(is_symbolic(condition(key)) for key in firsts())


def whole(root, firsts):
    """What a name holds, if it is part of the state as a whole."""
    return root if _is_whole(root, firsts) else None


def whole_or(root, changed, resized):
    """What a name holds after the block. resized: whether that may have more or less items than
    before."""
    if changed is None:
        return root
    if isinstance(changed, TracedList) and not resized:
        changed.size = root.size if isinstance(root, TracedList) else len(root)
    return changed


def _stops(holder, kind, key):
    return kind == "[" and (
        isinstance(holder, (_Tensor, TracedList))
        or type(holder) is list
        and is_symbolic(condition(key))
    )


def _reach(root, keys, kinds):
    """(what holds the place, how far that is): the whole place, or as far as state goes."""
    holder = root
    last = len(keys) - 1
    for depth, (key, kind) in enumerate(zip(keys, kinds, strict=True)):
        if _stops(holder, kind, key):
            return holder, depth
        holder = _held(holder, kind, key) if depth == last else _next(holder, kind, key)
    return holder, len(keys)


def _base_method(holder, name):
    """What a list or a dict does under a special name, where its class has a method of the user's
    for it: what the block leaves is kept as it is, and not given to that method once more."""
    if not isinstance(holder, (list, dict)) or objects.method(type(holder), name) is None:
        return None
    classes = (cls.__dict__.get(name) for cls in type(holder).__mro__)
    return next(found for found in classes if found and type(found) is not types.FunctionType)


def _held(holder, kind, key):
    """What a holder holds at a place, as `_keep` puts it there."""
    base = _base_method(holder, "__getitem__") if kind == "[" else None
    return _next(holder, kind, key) if base is None else base(holder, key)


def _keep(holder, kind, key, value):
    """Puts the state that a block leaves at a place. It must be found there as it is."""
    base = _base_method(holder, "__setitem__") if kind == "[" else None
    if base is not None:
        base(holder, key, value)
        return
    _put(holder, kind, key, value)
    if (
        kind == "["
        and objects.method(type(holder), "__setitem__") is not None
        and _held(holder, kind, key) is not value
    ):
        raise TypeError(
            f"an item of a {type(holder).__name__} is assigned in the traced block at {place()}, "
            "but its __setitem__ keeps something else than it is given: what the block leaves "
            "cannot be put back. Compute the item in the block, and assign it after the block"
        )


def _is_covered(root, keys, kinds, above):
    """Whether a shorter place, of one of these lengths, is part of the state,
    and holds this one."""
    for length in above:
        found, depth = _reach(root, keys[:length], kinds[:length])
        if depth == length and _is_holder(found):
            return True
    return False


def _is_of_containers(root, keys, kinds):
    """Whether lists and dicts alone, or one that the graph has, lead from a value to a place."""
    holder = root
    for depth, kind in enumerate(kinds):
        if isinstance(holder, (_Tensor, TracedList)):
            return True
        if kind != "[" or type(holder) not in (list, dict):
            return False
        if depth < len(keys) - 1:
            holder = holder[keys[depth]]
    return True


def _is_part(root, keys, kinds, above, firsts):
    """Whether a place is part of what is state by itself: of the name, or of a shorter place."""
    if firsts is True:  # the name is part of the state itself
        if _is_of_containers(root, keys, kinds):
            return True
    elif firsts is not None and _is_whole(root, firsts):
        return True
    if _stops(root, kinds[0], keys[0]):
        return True
    return _is_covered(root, keys, kinds, above)


def _is_in_array(root, keys, kinds):
    """Whether a place is in an array of numpy, to which no block assigns (effects.check_array)."""
    holder = _reach(root, keys[:-1], kinds[:-1])[0] if kinds[-1] == "[" else None
    if not is_array_of_numbers(holder):
        return False
    effects.see_array(holder)
    return True


def item_of_state(place_of, kinds, inside, above, firsts, name):
    """What is at a place; Undefined if there is nothing. place_of: gives the value of the name, and
    the keys.
    inside: items of it are changed, and so it is part of the state if it can be; above: the lengths
    of shorter places of that kind."""
    try:
        root, keys = place_of()
        root = ld(root)
        if _is_part(root, keys, kinds, above, firsts):
            return None
        found, depth = _reach(root, keys, kinds)
        if _is_in_array(root, keys, kinds):
            return None
    except _MISSING:
        return Undefined(name)
    return found if depth < len(keys) or not inside or _is_holder(found) else None


def _is_holder(value):
    return isinstance(value, (_Tensor, TracedList)) or type(value) in CONTAINERS


def set_item_of_state(place_of, kinds, inside, above, firsts, value):
    """Puts there what `item_of_state` gave, or what became of it."""
    root, keys = place_of()
    if _is_part(root, keys, kinds, above, firsts):
        return
    holder, depth = root, 0
    last = len(keys) - 1
    while depth < last and not _stops(
        inner := _next(holder, kinds[depth], keys[depth]), kinds[depth + 1], keys[depth + 1]
    ):
        holder, depth = inner, depth + 1
    if inside and value is None or _is_in_array(root, keys, kinds):
        return
    _keep(holder, kinds[depth], keys[depth], value)


__all__ = [
    "get_item",
    "item_of_state",
    "set_item",
    "set_item_of_outside",
    "set_item_of_state",
    "slice_",
    "whole",
    "whole_or",
]

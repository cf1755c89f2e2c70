"""Python's built-in functions, where their arguments are traced."""

import builtins
from typing import Any

from gyre import _gyre
from gyre._impl import nest
from gyre._impl.autograph import arithmetic, objects
from gyre._impl.autograph.items import get_item
from gyre._impl.autograph.truth import truth
from gyre._impl.control_flow.print import print as print_traced
from gyre._impl.ops.select import argsort
from gyre._impl.tracing import rows
from gyre._impl.tracing.lines import place
from gyre._impl.tracing.lists import TracedList
from gyre._impl.tracing.state import condition, is_symbolic
from gyre._impl.tracing.user_code import user_code


def _traced(value):
    return is_symbolic(value) or rows.rows_of(value) is not None


def range_(*args):
    if any(is_symbolic(condition(arg)) for arg in args):
        args = [condition(arg) for arg in args]
        start, limit, step = (0, args[0], 1) if len(args) == 1 else (*args, 1)[:3]
        return rows.SymbolicRange(start, limit, step)
    return range(*args)


def iter_(*args):
    if len(args) == 1:
        found = rows.rows_of(args[0])
        if found is not None:
            return found if found.count() is None else iter(found)
        args = [objects.iterable(args[0])]
    return iter(*args)


def next_(iterator, *default):
    users = objects.method(type(iterator), "__next__")
    if users is None:
        return next(iterator, *default)
    try:
        return objects.call(users, iterator)
    except StopIteration:
        if not default:
            raise
        return default[0]


def abs_(value):
    users = objects.method(type(value), "__abs__")
    return abs(value) if users is None else objects.call(users, value)


def len_(value):
    users = objects.method(type(value), "__len__")
    if users is not None:
        return objects.call(users, value)
    if isinstance(value, TracedList):
        return value.length() if value.size is None else value.size
    if isinstance(value, _gyre.Tensor) and value.is_symbolic:
        dims = value._dims
        if dims is not None and dims and dims[0] is not None:
            return dims[0]
        return rows.Rows(value).length()
    found = rows.rows_of(value)
    return len(value) if found is None else found.length()


def isinstance_(value, classes):
    return (
        issubclass(list, classes) if isinstance(value, TracedList) else isinstance(value, classes)
    )


def type_(*args):
    is_list = len(args) == 1 and isinstance(args[0], TracedList)
    return list if is_list else type(*args)


def list_(*args):
    if len(args) == 1 and isinstance(args[0], TracedList):
        return args[0].copy()
    return list(*map(objects.iterable, args))


def tuple_(*args):
    return tuple(*map(objects.iterable, args))


def enumerate_(iterable, start=0):
    iterable = objects.iterable(iterable)
    if _is_dataset(iterable) and _gyre.current_graph() is not None:
        return iterable.enumerate(start)
    found = rows.rows_of(iterable)
    if found is None and not is_symbolic(start):
        return enumerate(iterable, start)
    return rows.Enumerated(rows.rows_or_constant(iterable) if found is None else found, start)


def _is_dataset(value):
    return hasattr(value, "pull") and hasattr(value, "element_spec")


def zip_(*iterables, strict=False):
    iterables = tuple(map(objects.iterable, iterables))
    if iterables and all(map(_is_dataset, iterables)) and _gyre.current_graph() is not None:
        return type(iterables[0]).zip(iterables)
    if any(rows.rows_of(iterable) is not None for iterable in iterables):
        if all(map(rows.is_of_python, iterables)) and not all(map(rows.is_of_numbers, iterables)):
            return zip(*map(rows.items_of_python, iterables), strict=strict)
        return rows.Zipped([rows.rows_or_constant(iterable) for iterable in iterables])
    return zip(*iterables, strict=strict)


def reversed_(iterable):
    users = objects.method(type(iterable), "__reversed__")
    if users is not None:
        return objects.call(users, iterable)
    found = rows.rows_of(iterable)
    return reversed(iterable) if found is None else rows.Reversed(found)


def _cast(dtype, plain):
    def convert(*args, **kwargs):
        if len(args) == 1 and not kwargs:
            users = objects.method(type(args[0]), f"__{plain.__name__}__")
            if users is not None:
                args = (objects.call(users, args[0]),)
            value = condition(args[0])
            if is_symbolic(value):
                return _gyre.execute("Cast", [value], {"DstT": _gyre.as_dtype(dtype)})[0]
        return plain(*args, **kwargs)

    return convert


int_ = _cast("int32", int)
float_ = _cast("float32", float)


def bool_(*args):
    value = truth(args[0]) if args else False
    return value if is_symbolic(value) else bool(value)


def _extreme(op, reduce_op, place_op, plain):
    def choose(*args, key=None, **kwargs):
        values: Any = args
        if len(args) == 1:
            values = (
                args[0]
                if is_symbolic(args[0]) and key is None
                else (list(rows.items_of_python(objects.iterable(args[0]))))
            )
            args = (values,)
        if key is not None and len(values) > 0:
            keys = _keys(key, values)
            if any(map(is_symbolic, keys)):
                stacked = _gyre.execute("Pack", [keys], {"axis": 0})[0]
                return get_item(
                    list(values), _gyre.execute(place_op, [stacked, _gyre.convert(0)])[0]
                )
        if is_symbolic(values):
            return _reduce(reduce_op, values)
        if kwargs or key is not None or not any(map(is_symbolic, values)):
            return plain(*args, **kwargs) if key is None else plain(*args, key=key, **kwargs)
        result = values[0]
        for value in values[1:]:
            result = _gyre.execute(op, [result, value])[0]
        return result

    return choose


def sorted_(iterable, *, key=None, reverse=False):
    values = list(rows.items_of_python(objects.iterable(iterable)))
    keys = _keys(key, values)
    if not any(map(is_symbolic, keys)):
        return [
            values[k] for k in sorted(range(len(values)), key=keys.__getitem__, reverse=reverse)
        ]
    stacked = _gyre.execute("Pack", [keys], {"axis": 0})[0]
    if stacked._dims != (len(keys),):
        raise TypeError(
            f"sorted() at {place()} compares tensors that are no scalars. Sort by a key that is one"
        )
    order = argsort(stacked, direction="DESCENDING" if reverse else "ASCENDING", stable=True)
    return [get_item(values, order[k]) for k in range(len(values))]


def _keys(key, values):
    return values if key is None else [user_code(key)(value) for value in values]


def _reduce(op, tensor):
    attributes = {"keep_dims": False}
    return _gyre.execute(op, [tensor, _gyre.convert(0)], attributes)[0]


min_ = _extreme("Minimum", "Min", "ArgMin", min)
max_ = _extreme("Maximum", "Max", "ArgMax", max)


def sum_(iterable, start=0):
    if isinstance(iterable, TracedList):
        iterable = iterable.stack()
    if is_symbolic(iterable):
        total = _reduce("Sum", iterable)
        return total if isinstance(start, int) and start == 0 else total + start
    total = start
    for value in objects.iterable(iterable):
        total = arithmetic.binary("+", total, value)
    return total


def _all_or_any(op, plain, join):
    def test(iterable):
        if is_symbolic(iterable):
            return _reduce(op, iterable)
        values = list(iterable)
        if not any(is_symbolic(value) for value in values):
            return plain(values)
        result = values[0]
        for value in values[1:]:
            result = _gyre.execute(join, [result, value])[0]
        return result

    return test


all_ = _all_or_any("All", all, "LogicalAnd")
any_ = _all_or_any("Any", any, "LogicalOr")


def print_(*objects, sep=" ", end="\n", file=None, flush=False):
    if not any(_traced(leaf) for leaf in objects):
        if not any(is_symbolic(leaf) for leaf in nest.flatten(objects)):
            return print(*objects, sep=sep, end=end, file=file, flush=flush)
    import sys

    objects = [item.stack() if isinstance(item, TracedList) else item for item in objects]
    stream = sys.stderr if file is sys.stderr else sys.stdout
    return print_traced(*objects, sep=sep, end=end, output_stream=stream)


OVERLOADS = {
    getattr(builtins, name[:-1]): overload
    for name, overload in list(globals().items())
    if name.endswith("_") and not name.startswith("_") and callable(overload)
}

"""`x in values`, where what decides is known at run time only."""

from gyre import _gyre
from gyre._impl.autograph import arithmetic, objects
from gyre._impl.autograph.truth import truth
from gyre._impl.tracing.lists import TracedList
from gyre._impl.tracing.state import condition, is_symbolic


def contains(values, item):
    """`item in values`"""
    users = objects.method(type(values), "__contains__")
    if users is not None:
        return truth(objects.call(users, values, item))
    if not hasattr(type(values), "__contains__"):
        values = objects.iterable(values)
    item = condition(item)
    if isinstance(values, TracedList):
        values = values.stack()
    if is_symbolic(values):
        return _any(arithmetic.compare("==", values, item))
    if isinstance(values, range) and is_symbolic(item):
        return _in_range(values, item)
    if isinstance(values, (list, tuple)) and any(
        is_symbolic(value) or objects.method(type(value), "__eq__") for value in (item, *values)
    ):
        return _in_sequence(values, item)
    return item in values


def _any(tensor):
    return _gyre.execute(
        "Any",
        [
            tensor,
            _gyre.execute(
                "Range", [_gyre.convert(0), _gyre.execute("Rank", [tensor])[0], _gyre.convert(1)]
            )[0],
        ],
        {"keep_dims": False},
    )[0]


def _in_range(values, item):
    low, high = sorted((values.start, values[-1] if values else values.start))
    within = _and(item >= low, item <= high) if values else _gyre.convert(False)
    return (
        within
        if abs(values.step) == 1
        else _and(within, arithmetic.compare("==", (item - values.start) % values.step, 0))
    )


def _and(a, b):
    return _gyre.execute("LogicalAnd", [a, b])[0]


def _in_sequence(values, item):
    found = False
    for value in values:
        if value is item:
            return True
        same = truth(arithmetic.compare("==", value, item))
        if not is_symbolic(same):
            if same:
                return True
            continue
        if same._dims != ():
            same = _any(same)
        found = same if found is False else _gyre.execute("LogicalOr", [found, same])[0]
    return found

"""What patterns of `match` ask, as Python's own statement does: of Python's values, by Python;
equality with a value is an operator's, and may be a tensor."""

import collections.abc

_WHOLE = (bool, bytearray, bytes, dict, float, frozenset, int, list, set, str, tuple)


def match_class(value, cls, count, names):
    """Whether `value` is of this class, and has `count` positional attributes and those of these
    names."""
    if not isinstance(value, cls):
        return False
    arguments = getattr(cls, "__match_args__", ())
    limit = 1 if cls in _WHOLE else len(arguments)
    if count > limit:
        raise TypeError(f"{cls.__name__}() accepts {limit} positional sub-patterns ({count} given)")
    positional = () if cls in _WHOLE else arguments[:count]
    return all(hasattr(value, name) for name in (*positional, *names))


def match_argument(value, cls, index):
    """The attribute that is the class's index-th in patterns."""
    return value if cls in _WHOLE else getattr(value, cls.__match_args__[index])


def match_sequence(value, count, more):
    """Whether `value` is a sequence of so many items, or of more."""
    if not isinstance(value, collections.abc.Sequence) or isinstance(
        value, (str, bytes, bytearray)
    ):
        return False
    return len(value) >= count if more else len(value) == count


def match_items(value, start, end):
    """The items that a starred name takes."""
    return list(value[start:end])


def match_mapping(value, keys):
    """Whether `value` is a mapping with these keys."""
    return isinstance(value, collections.abc.Mapping) and all(key in value for key in keys)


def match_rest(value, keys):
    """The items of a mapping that a pattern does not name."""
    return {key: item for key, item in value.items() if key not in keys}

"""Nested structures: what functions and bodies of loops take and return.

A structure is a tuple, list, dict (keys in sorted order), named tuple, dataclass, or a registered
type, whose parts are structures; None, which has no leaves; or a leaf, which is anything else.
Composite tensors (ragged, sparse, slices) are leaves, unless `expand_composites` asks for what they
are made of.
"""

import dataclasses

__all__ = [
    "flatten",
    "flatten_with_paths",
    "pack_sequence_as",
    "map_structure",
    "assert_same_structure",
    "is_nested",
    "register",
    "register_composite",
    "map_structure_with_paths",
]


class _Kind:
    """How a type is taken apart and put together."""

    __slots__ = ("items", "build")

    def __init__(self, items, build):
        self.items = items  # structure -> [(path part, child)]
        self.build = build  # (structure, children) -> structure


def _dict_items(structure):
    try:
        keys = sorted(structure)
    except TypeError:
        raise TypeError(f"the keys of a dict must be sortable: {list(structure)!r}") from None
    return [(f"[{key!r}]", structure[key]) for key in keys]


def _dict_build(structure, children):
    values = dict(zip(sorted(structure), children, strict=True))
    ordered = {key: values[key] for key in structure}  # in the order of the original
    if type(structure) is dict:
        return ordered
    factory = getattr(structure, "default_factory", None)
    return type(structure)(factory, ordered) if factory else type(structure)(ordered)


def _field_names(structure):
    return [field.name for field in dataclasses.fields(structure)]


def _dataclass_build(structure, children):
    copy = object.__new__(type(structure))
    for name, child in zip(_field_names(structure), children, strict=True):
        object.__setattr__(copy, name, child)
    for name, value in getattr(structure, "__dict__", {}).items():
        if name not in copy.__dict__:
            object.__setattr__(copy, name, value)
    return copy


_SEQUENCE = _Kind(lambda s: [(f"[{i}]", x) for i, x in enumerate(s)], lambda s, xs: type(s)(xs))
_NAMED_TUPLE = _Kind(
    lambda s: [(f".{name}", getattr(s, name)) for name in s._fields], lambda s, xs: type(s)(*xs)
)
_DICT = _Kind(_dict_items, _dict_build)
_DATACLASS = _Kind(
    lambda s: [(f".{name}", getattr(s, name)) for name in _field_names(s)], _dataclass_build
)
_NONE = _Kind(lambda s: [], lambda s, xs: None)

_kinds = {tuple: _SEQUENCE, list: _SEQUENCE, dict: _DICT, type(None): _NONE}
_composites = {}
_LEAF_TYPES = {int, float, bool, str, bytes, complex}


def register(cls, items, build):
    """Makes `cls` a structure. items(x): [(path part, child)]; build(x, children): one like x."""
    _kinds[cls] = _Kind(items, build)


def register_composite(cls, items, build):
    """Makes `cls` a composite: a leaf, taken apart where `expand_composites` is true."""
    _composites[cls] = _Kind(items, build)


def _find_kind(cls):
    if cls in _LEAF_TYPES:
        return None
    kind = None
    if issubclass(cls, tuple):
        kind = _NAMED_TUPLE if hasattr(cls, "_fields") else _SEQUENCE
    elif issubclass(cls, list):
        kind = _SEQUENCE
    elif issubclass(cls, dict):
        kind = _DICT
    elif dataclasses.is_dataclass(cls) and cls not in _composites:
        kind = _DATACLASS
    if kind is None:
        for base in cls.__mro__[1:]:  # pyright: ignore[reportAttributeAccessIssue]
            if base in _kinds:
                kind = _kinds[base]
                break
    if kind is None:
        _LEAF_TYPES.add(cls)
    else:
        _kinds[cls] = kind
    return kind


def _kind_of(structure, expand_composites):
    cls = type(structure)
    kind = _kinds.get(cls)
    if kind is None:
        if expand_composites and cls in _composites:
            return _composites[cls]
        kind = _find_kind(cls)
    return kind


def is_nested(structure):
    """Whether this is a structure with parts: not a leaf, and not None."""
    return structure is not None and _kind_of(structure, False) is not None


# As many parts as a structure may have that shares them; how many are visited before they are
# counted, which takes a step for each that it has in itself.
_MOST_SHARED, _UNSUSPICIOUS = 1 << 22, 1 << 15


class SharedTooOften(ValueError):
    """Lists within lists that are one and the same stand for more parts than could be visited.
    path: of the part at the top that is to blame."""

    def __init__(self, path, count):
        self.path, self.count = path, count
        super().__init__(f"a structure {self.told()}")

    def told(self):
        """What is wrong with it."""
        return (
            f"has {self.count:,} parts, since the lists in it share theirs with each other many "
            f"times over: hand over what they share once"
        )


class Walk:
    """A walk through a structure, which must say what it visits."""

    __slots__ = ("_root", "_expand", "_left")

    def __init__(self, root, expand):
        self._root, self._expand, self._left = root, expand, _UNSUSPICIOUS

    def visit(self, items):
        """SharedTooOften: there is no end of it."""
        self._left -= len(items)
        if self._left < 0:
            self._left = float("inf")
            self._count()

    def _count(self):
        known: dict = {}  # how many parts each has
        alive = []  # what is made while it is looked at: its id would be another's

        def count(structure):
            kind = _kind_of(structure, self._expand)
            if kind is None:
                return 1
            key = id(structure)
            if key not in known:
                alive.append(structure)
                items = kind.items(structure)
                known[key] = len(items)  # also for what contains itself, which is told elsewhere
                own.append(len(items))
                known[key] = 1 + sum(count(child) for _, child in items)
            return known[key]

        own: list[int] = []
        total = count(self._root)
        if total <= max(_MOST_SHARED, 16 * sum(own)):
            return
        path, structure = "", self._root
        for _ in range(2):  # of arguments, the one to blame
            items = _kind_of(structure, self._expand).items(structure)
            part, structure = max(items, key=lambda item: count(item[1]))
            path += part
        raise SharedTooOften(path, count(structure))


def _flatten(structure, path, expand, leaves, walk):
    kind = _kind_of(structure, expand)
    if kind is None:
        leaves.append((path, structure))
        return
    items = kind.items(structure)
    walk.visit(items)
    for part, child in items:
        _flatten(child, path + part, expand, leaves, walk)


def flatten(structure, expand_composites=False):
    """The leaves, in order."""
    return [leaf for _, leaf in flatten_with_paths(structure, expand_composites)]


def flatten_with_paths(structure, expand_composites=False):
    """[(path, leaf)]; a path reads as in Python: "['a'][0].field"; that of a lone leaf is ""."""
    leaves = []
    try:
        _flatten(structure, "", expand_composites, leaves, Walk(structure, expand_composites))
    except RecursionError:
        raise RecursionError("a structure is nested too deep, or contains itself") from None
    return leaves


def _pack(structure, leaves, expand):
    kind = _kind_of(structure, expand)
    if kind is None:
        return next(leaves)
    return kind.build(
        structure, [_pack(child, leaves, expand) for _, child in kind.items(structure)]
    )


def pack_sequence_as(structure, flat_sequence, expand_composites=False):
    """A structure like `structure` with these leaves. ValueError if their number differs."""
    flat = list(flat_sequence)
    wanted = len(flatten(structure, expand_composites))
    if len(flat) != wanted:
        raise ValueError(
            f"the structure has {wanted} leaves, but {len(flat)} were given: {_short(structure)}"
        )
    return _pack(structure, iter(flat), expand_composites)


def map_structure(func, *structures, expand_composites=False):
    """A structure like the first, of what func(leaf, …) returns for the leaves at each place."""
    if not structures:
        raise ValueError("map_structure needs at least one structure")
    for other in structures[1:]:
        assert_same_structure(structures[0], other, expand_composites=expand_composites)
    columns = [flatten(structure, expand_composites) for structure in structures]
    return _pack(
        structures[0], iter([func(*row) for row in zip(*columns, strict=True)]), expand_composites
    )


def map_structure_with_paths(func, structure, expand_composites=False):
    """As map_structure of one structure, with func(path, leaf)."""
    pairs = flatten_with_paths(structure, expand_composites)
    return _pack(structure, iter([func(path, leaf) for path, leaf in pairs]), expand_composites)


def _short(value):
    text = repr(value)
    return text if len(text) <= 80 else text[:77] + "…"


def _place(path):
    return f"at {path}" if path else "at the top"


def _describe(structure, kind):
    if kind is None:
        return f"a leaf ({_short(structure)})"
    if structure is None:
        return "None"
    if isinstance(structure, dict):
        return f"a {type(structure).__name__} with the keys {sorted(structure)!r}"
    if isinstance(structure, (list, tuple)):
        return f"a {type(structure).__name__} of {len(structure)}"
    return f"a {type(structure).__name__}"


def _same_type(a, b, check_types):
    if isinstance(a, dict) and isinstance(b, dict):
        return True
    if type(a) is type(b):
        return True
    if check_types or isinstance(a, dict) or isinstance(b, dict):
        return False
    return isinstance(a, (list, tuple)) and isinstance(b, (list, tuple))


def _compare(a, b, path_a, path_b, check_types, expand, walk):
    kind_a, kind_b = _kind_of(a, expand), _kind_of(b, expand)
    if kind_a is None and kind_b is None:
        return None
    items_a = kind_a.items(a) if kind_a else []
    items_b = kind_b.items(b) if kind_b else []
    if (
        (kind_a is None) != (kind_b is None)
        or not _same_type(a, b, check_types)
        or len(items_a) != len(items_b)
        or isinstance(a, dict)
        and sorted(a) != sorted(b)
    ):
        return (
            f"the first has {_describe(a, kind_a)} {_place(path_a)}, the second has "
            f"{_describe(b, kind_b)} {_place(path_b)}"
        )
    walk.visit(items_a)
    for (part_a, child_a), (part_b, child_b) in zip(items_a, items_b, strict=True):
        found = _compare(
            child_a, child_b, path_a + part_a, path_b + part_b, check_types, expand, walk
        )
        if found:
            return found
    return None


def assert_same_structure(a, b, check_types=True, expand_composites=False):
    """Says nothing if a and b differ in their leaves only. TypeError or ValueError otherwise,
    naming the place in each. Without `check_types` a list is like a tuple of the same length."""
    walk = Walk(a, expand_composites)
    found = _compare(a, b, "", "", check_types, expand_composites, walk)
    if found:
        message = (
            f"the two structures differ: {found}.\n  first:  {_short(a)}\n  second: {_short(b)}"
        )
        loosely = found
        if check_types:
            loosely = _compare(a, b, "", "", False, expand_composites, walk)
        raise ValueError(message) if loosely else TypeError(message)


def difference(a, b, expand_composites=True):
    """What assert_same_structure would say; None if the structures are the same."""
    return _compare(a, b, "", "", True, expand_composites, Walk(a, expand_composites))

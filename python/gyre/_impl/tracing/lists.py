"""Python lists that grow in traced code: `l.append(x)` in a traced loop makes one element per
iteration. Such a list is a TensorList per leaf of its elements."""

import contextlib
import threading

from gyre import _gyre
from gyre._impl import nest
from gyre._impl.tracing import aliases
from gyre._impl.tracing.lines import place
from gyre._impl.tracing.state import condition, is_symbolic

# Methods by which Python's containers change.
MUTATORS = frozenset(
    (
        "append",
        "extend",
        "insert",
        "remove",
        "pop",
        "clear",
        "sort",
        "reverse",
        "add",
        "discard",
        "update",
        "setdefault",
        "popitem",
        "__setitem__",
        "__delitem__",
        "appendleft",
        "popleft",
        "extendleft",
    )
)


def _unknown():
    return _gyre.convert(-1)


def _shape(dims):
    """The shape operand of list ops."""
    if dims is None:
        return _unknown()
    return _gyre.convert([-1 if d is None else d for d in dims], _gyre.as_dtype("int32"))


class TracedList:
    """A list of the graph. Elements are structures of one kind.

    size: how many, if that is known while tracing: where loops assigned items of a Python list.
    makers: functions of an item of other dtypes, of the loops around: each traces its loop anew
    with a list that it fits, or returns."""

    def __init__(self, handles, element, dtypes, dims, size=None, makers=()):
        self.handles, self.size, self.makers = list(handles), size, makers
        self._element = element  # a structure like the elements
        self._dtypes, self._dims = dtypes, dims

    @classmethod
    def like(cls, element):
        """An empty one for elements like this."""
        leaves = [_as_tensor(leaf) for leaf in nest.flatten(element, expand_composites=True)]
        dtypes = [leaf.dtype for leaf in leaves]
        # Later elements may have other shapes; the rank says what a read may count on.
        dims = [None if leaf._dims is None else tuple(leaf._dims) for leaf in leaves]
        return cls(_empty_handles(dtypes), element, dtypes, dims)

    @classmethod
    def from_list(cls, values, like):
        """The elements of a Python list, in one that is like `like`."""
        made = cls(_empty_handles(like._dtypes), like._element, like._dtypes, like._dims)
        for value in values:
            made.append(value)
        return made

    def is_like(self, other):
        """Whether the elements of both are of the same kind."""
        return self._dtypes == other._dtypes and not nest.difference(self._element, other._element)

    def append(self, value):
        self.size = None
        for i, tensor in enumerate(self._leaves(value)):
            self._dims[i] = _merge(self._dims[i], tensor._dims)
            self.handles[i] = _gyre.execute("TensorListPushBack", [self.handles[i], tensor])[0]

    def element_with(self, keys, value):
        """An element of which items are `value`; at a traced index, all."""
        return _filled(self._element, keys, value)

    def make_room(self, value):
        """Sees to it that an element of other dtypes fits, if that can be."""
        if not self.makers or nest.difference(self._element, value):
            return
        if not all(map(_fits, nest.flatten(value, expand_composites=True), self._dtypes)):
            for maker in self.makers:
                maker(value)

    def _leaves(self, value):
        """The tensors of an element."""
        difference = nest.difference(self._element, value)
        if difference:
            raise TypeError(
                f"the elements of a list that a traced loop changes must be alike: {difference}"
            )
        leaves = nest.flatten(value, expand_composites=True)
        tensors = []
        self.make_room(value)
        for leaf, dtype in zip(leaves, self._dtypes, strict=True):
            tensors.append(_as_tensor(leaf, dtype))
            if tensors[-1].dtype != dtype:
                raise TypeError(
                    "the elements of a list that a traced loop changes must be alike: they are of "
                    f"dtype {dtype.name}, but {tensors[-1].dtype.name} at {place()}. Begin with "
                    f"elements of that dtype, or cast with gyre.cast"
                )
        return tensors

    def extend(self, values):
        """Appends the elements of a list of either kind."""
        if isinstance(values, TracedList) and values.size is None:
            self._take(values, 0, values.length(), 1)
            return
        for value in values:
            self.append(value)

    def _take(self, other, start, limit, step):
        """Appends elements of a list of the graph, by number, in a loop."""
        made = self.copy()

        def push(i, handles):
            made.handles = handles
            made.append(other[i])
            return made.handles

        paths = [f"list[{k}]" for k in range(len(self.handles))]
        self.handles = _gyre.trace_range(start, limit, step, push, self.handles, paths, name="list")
        self.size, self._dims = None, made._dims

    def _empty(self):
        """One without elements, for elements like these."""
        return TracedList(
            _empty_handles(self._dtypes), self._element, self._dtypes, list(self._dims)
        )

    def __add__(self, values):
        if isinstance(values, _gyre.Tensor):  # as for Python's lists: element by element
            return self.stack() + values
        if not isinstance(values, (list, TracedList)):
            kind = type(values).__name__
            raise TypeError(f'can only concatenate list (not "{kind}") to list')
        made = self.copy()
        made.extend(values)
        return made

    def __radd__(self, values):
        if not isinstance(values, list):
            kind = type(values).__name__
            raise TypeError(f'can only concatenate {kind} (not "list") to {kind}')
        made = TracedList.from_list(values, self)
        made.extend(self)
        return made

    def __iadd__(self, values):
        self.extend(values)
        return self

    def __getattr__(self, name):
        if name in MUTATORS or name in ("index", "count"):
            raise _no(f"{name}()")
        raise AttributeError(name)

    def __delitem__(self, index):
        raise _no("items to delete")

    def __eq__(self, other):
        if other is self or not isinstance(other, (list, TracedList)):
            return other is self
        raise _no("comparison with a list")

    __hash__ = object.__hash__

    def __mul__(self, count):
        raise _no("multiples")

    __rmul__ = __imul__ = __mul__

    def __repr__(self):
        return f"<a list that a traced loop changes, of {self._element!r}>"

    def pop(self):
        """Takes the last element off."""
        self.size = None
        leaves = []
        for i, dtype in enumerate(self._dtypes):
            self.handles[i], leaf = _gyre.execute(
                "TensorListPopBack",
                [self.handles[i], _shape(self._dims[i])],
                {"element_dtype": dtype},
            )
            leaves.append(leaf)
        return self._pack(leaves)

    def _pack(self, leaves):
        return nest.pack_sequence_as(self._element, leaves, expand_composites=True)

    def length(self):
        return _gyre.execute("TensorListLength", [self.handles[0]])[0]

    def _place(self, index):
        """An index as list ops take it: not from the end."""
        if isinstance(index, int):
            return self.length() + index if index < 0 else index
        zero = _gyre.convert(0, index.dtype)
        length = _gyre.execute("Cast", [self.length()], {"DstT": index.dtype})[0]
        return _gyre.execute("SelectV2", [index < zero, index + length, index])[0]

    def __getitem__(self, index):
        if isinstance(index, slice) and self.size is not None:
            return [self[i] for i in range(*index.indices(self.size))]
        if isinstance(index, slice):
            made = self._empty()
            made._take(self, *_numbers_of(index, self.length()))
            return made
        index = self._place(index)
        leaves = [
            _gyre.execute(
                "TensorListGetItem", [handle, index, _shape(dims)], {"element_dtype": dtype}
            )[0]
            for handle, dtype, dims in zip(self.handles, self._dtypes, self._dims, strict=True)
        ]
        return self._pack(leaves)

    def __setitem__(self, index, value):
        if isinstance(index, slice):
            raise _no("slices that can be assigned")
        index = self._place(index)
        for i, tensor in enumerate(self._leaves(value)):
            self._dims[i] = _merge(self._dims[i], tensor._dims)
            self.handles[i] = _gyre.execute("TensorListSetItem", [self.handles[i], index, tensor])[
                0
            ]

    def stack(self):
        """The elements as rows."""
        return self._pack(
            [
                _gyre.execute("TensorListStack", [handle, _shape(dims)], {"element_dtype": dtype})[
                    0
                ]
                for handle, dtype, dims in zip(self.handles, self._dtypes, self._dims, strict=True)
            ]
        )

    def concat(self):
        """The elements one after the other, along their axis 0."""
        leaves = []
        for handle, dtype, dims in zip(self.handles, self._dtypes, self._dims, strict=True):
            shape = None if dims is None else (None, *dims[1:])
            leaves.append(
                _gyre.execute(
                    "TensorListConcatV2",
                    [handle, _shape(shape), _gyre.convert([], _gyre.as_dtype("int64"))],
                    {"element_dtype": dtype},
                )[0]
            )
        return self._pack(leaves)

    def copy(self):
        return TracedList(
            self.handles, self._element, self._dtypes, list(self._dims), self.size, self.makers
        )

    def to_list(self):
        """Of eager handles: a Python list."""
        return [self[i] for i in range(int(self.length()))]

    def __len__(self):
        if self.size is not None:
            return self.size
        raise TypeError(
            "the length of a list that grows in a traced loop is known at run time only; "
            "len() of it works in converted code"
        )

    def __iter__(self):
        if self.size is not None:
            return iter([self[i] for i in range(self.size)])
        raise TypeError(
            "a list that grows in a traced loop cannot be iterated by Python; "
            "use stack(), or a for statement in converted code"
        )


def _no(what):
    return TypeError(
        f"a list that a traced loop changes has no {what}: append to it, extend, pop, "
        f"read and assign its items, or stack() it for more"
    )


def _numbers_of(cut, length):
    """(start, limit, step) of the elements of a slice, where the length is a tensor."""
    step = 1 if cut.step is None else cut.step
    if not isinstance(step, int) or step == 0:
        raise _no("slices whose step is 0, or a tensor")
    # Where the first element may be, counted in the direction of the step, and behind the last.
    least, most = (0, length) if step > 0 else (-1, length - 1)

    def bound(given, default):
        if given is None:
            return default
        if isinstance(given, _gyre.Tensor):
            given = _gyre.execute("Cast", [given], {"DstT": length.dtype})[0]
            given = _gyre.execute("SelectV2", [given < 0, given + length, given])[0]
        elif given < 0:
            given = length + given
        given = _gyre.execute("Maximum", [_gyre.convert(given, length.dtype), least])[0]
        return _gyre.execute("Minimum", [given, most])[0]

    first, last = (least, most) if step > 0 else (most, least)
    return bound(cut.start, first), bound(cut.stop, last), step


def _empty_handles(dtypes):
    return [
        _gyre.execute("EmptyTensorList", [_unknown(), _unknown()], {"element_dtype": dtype})[0]
        for dtype in dtypes
    ]


def _merge(a, b):
    if a is None or b is None or len(a) != len(b):
        return None
    return tuple(x if x == y else None for x, y in zip(a, b, strict=True))


def _filled(structure, keys, value):
    if not keys:
        return value
    if type(structure) not in (list, dict):
        return structure
    key, made = keys[0], structure.copy()
    for k in range(len(made)) if is_symbolic(condition(key)) else [key]:
        made[k] = _filled(made[k], keys[1:], value)
    return made


def _fits(value, dtype):
    """Whether a leaf is, or becomes without loss of kind, a tensor of this dtype."""
    if isinstance(value, _gyre.Tensor):
        return value.dtype == dtype
    if isinstance(value, bool):
        return dtype.is_bool
    return dtype.is_floating or dtype.is_complex if isinstance(value, float) else True


def _as_tensor(value, dtype=None):
    if isinstance(value, _gyre.Tensor):
        return value
    return _gyre.convert(value, dtype) if dtype is not None else _gyre.convert(value)


def _build(like, handles):
    return TracedList(handles, like._element, like._dtypes, list(like._dims))


nest.register_composite(
    TracedList, lambda traced: [(f".handle{i}", h) for i, h in enumerate(traced.handles)], _build
)


def list_append(target, value):
    """`target.append(value)` as a statement."""
    aliases.check_write(target, "append()")
    target.append(value)
    return target


def list_pop(target):
    """`x = target.pop()` as a statement: (target, x)."""
    aliases.check_write(target, "pop()")
    value = target.pop()
    return target, value


# ---- Python lists as state of blocks

CONTAINERS = (list, dict, set)  # which blocks change in place


class _Owned(threading.local):
    """Python lists that are state of loops that are being traced: id -> (the list, functions of
    these loops, outermost first, that make it a list of the graph if they can)."""

    def __init__(self):
        self.lists, self.loops = {}, 0


_owned = _Owned()


@contextlib.contextmanager
def owning():
    """Around the tracing of a loop that calls `own`."""
    _owned.loops += 1
    try:
        yield
    finally:
        _owned.loops -= 1
        if not _owned.loops:
            _owned.lists.clear()


def own(value, maker, before):
    """States that a loop gave this value to a name. maker: a function that starts the tracing anew
    with a list of the graph, into which another value fits, or returns; before: what the name had
    before the loop."""
    outer = before.makers if isinstance(before, TracedList) else _makers(before)
    if type(value) is list:
        _owned.lists[id(value)] = value, (*outer, maker)
    elif isinstance(value, TracedList):
        value.makers = *outer, maker


def _makers(value):
    return _owned.lists.get(id(value), (None, ()))[1]


def make_list_of_graph(values, *new):
    """A list is used at a traced index: if it is state of a traced loop, that is traced anew with a
    list of the graph, where its items allow it. new: what an item will be."""
    for maker in _makers(values):
        maker(*new)


def fresh(values):
    """The state of a construct as one of its blocks may change it: lists and dicts are its own."""
    return tuple(map(_copy, values))


def _copy(value):
    made = value
    if isinstance(value, TracedList):
        made = value.copy()
    elif type(value) is dict:
        made = {key: _copy(item) for key, item in value.items()}
    elif type(value) is set:
        made = set(value)
    elif type(value) is list:
        made = [_copy(item) for item in value]
        if id(value) in _owned.lists:
            _owned.lists[id(made)] = made, _makers(value)
    if made is not value:
        aliases.copy_mark(value, made)
    return made

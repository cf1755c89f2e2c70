"""Python lists that grow in traced code: `l.append(x)` in a traced loop makes one element per
iteration. Such a list is a TensorList per leaf of its elements."""

from gyre import _gyre
from gyre._impl import nest
from gyre._impl.autograph import effects


def _unknown():
    return _gyre.convert(-1)


def _shape(dims):
    """The shape operand of list ops."""
    if dims is None:
        return _unknown()
    return _gyre.convert([-1 if d is None else d for d in dims], _gyre.as_dtype("int32"))


class TracedList:
    """A list of the graph. Elements are structures of one kind.

    count: how many, if that is known while tracing: where loops assigned items of a Python list."""

    def __init__(self, handles, element, dtypes, dims, count=None):
        self.handles, self.count = list(handles), count
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

    def append(self, value):
        self.count = None
        difference = nest.difference(self._element, value)
        if difference:
            raise TypeError(f"the elements of a list that grows in a traced loop must be alike: "
                            f"{difference}")
        leaves = nest.flatten(value, expand_composites=True)
        for i, (leaf, dtype) in enumerate(zip(leaves, self._dtypes)):
            tensor = _as_tensor(leaf, dtype)
            self._dims[i] = _merge(self._dims[i], tensor._dims)
            self.handles[i] = _gyre.execute("TensorListPushBack", [self.handles[i], tensor])[0]

    def pop(self):
        """Takes the last element off."""
        self.count = None
        leaves = []
        for i, dtype in enumerate(self._dtypes):
            self.handles[i], leaf = _gyre.execute(
                "TensorListPopBack", [self.handles[i], _shape(self._dims[i])], {"element_dtype": dtype})
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
        if isinstance(index, slice) and self.count is not None:
            return [self[i] for i in range(*index.indices(self.count))]
        if isinstance(index, slice):
            stacked = self.stack()
            return nest.map_structure(lambda tensor: tensor[index], stacked, expand_composites=True)
        index = self._place(index)
        leaves = [
            _gyre.execute("TensorListGetItem", [handle, index, _shape(dims)], {"element_dtype": dtype})[0]
            for handle, dtype, dims in zip(self.handles, self._dtypes, self._dims)]
        return self._pack(leaves)

    def __setitem__(self, index, value):
        index = self._place(index)
        leaves = nest.flatten(value, expand_composites=True)
        for i, (leaf, dtype) in enumerate(zip(leaves, self._dtypes)):
            self.handles[i] = _gyre.execute(
                "TensorListSetItem", [self.handles[i], index, _as_tensor(leaf, dtype)])[0]

    def stack(self):
        """The elements as rows."""
        return self._pack([
            _gyre.execute("TensorListStack", [handle, _shape(dims)], {"element_dtype": dtype})[0]
            for handle, dtype, dims in zip(self.handles, self._dtypes, self._dims)])

    def concat(self):
        """The elements one after the other, along their axis 0."""
        leaves = []
        for handle, dtype, dims in zip(self.handles, self._dtypes, self._dims):
            shape = None if dims is None else (None, *dims[1:])
            leaves.append(_gyre.execute(
                "TensorListConcatV2", [handle, _shape(shape), _gyre.convert([], _gyre.as_dtype("int64"))],
                {"element_dtype": dtype})[0])
        return self._pack(leaves)

    def copy(self):
        return TracedList(self.handles, self._element, self._dtypes, list(self._dims), self.count)

    def to_list(self):
        """Of eager handles: a Python list."""
        return [self[i] for i in range(int(self.length()))]

    def __len__(self):
        if self.count is not None:
            return self.count
        raise TypeError("the length of a list that grows in a traced loop is known at run time only; "
                        "len() of it works in converted code")

    def __iter__(self):
        if self.count is not None:
            return iter([self[i] for i in range(self.count)])
        raise TypeError("a list that grows in a traced loop cannot be iterated by Python; "
                        "use stack(), or a for statement in converted code")


def _empty_handles(dtypes):
    return [_gyre.execute("EmptyTensorList", [_unknown(), _unknown()], {"element_dtype": dtype})[0]
            for dtype in dtypes]


def _merge(a, b):
    if a is None or b is None or len(a) != len(b):
        return None
    return tuple(x if x == y else None for x, y in zip(a, b))


def _as_tensor(value, dtype=None):
    if isinstance(value, _gyre.Tensor):
        return value
    return _gyre.convert(value, dtype) if dtype is not None else _gyre.convert(value)


def _build(like, handles):
    return TracedList(handles, like._element, like._dtypes, list(like._dims))


nest.register_composite(TracedList, lambda l: [(f".handle{i}", h) for i, h in enumerate(l.handles)],
                        _build)


def fresh(values):
    """The state of a construct as one of its blocks may change it: lists are its own."""
    return tuple(value.copy() if isinstance(value, (TracedList, list)) else value for value in values)


def list_append(target, value):
    """`target.append(value)` as a statement."""
    target.append(value)
    return target


def list_pop(target):
    """`x = target.pop()` as a statement: (target, x)."""
    value = target.pop()
    return target, value


# Where a block changes items of what may be a list, a list of the graph is part of its state as a whole. So
# is a Python list, unless the items are `fixed`, the same in all iterations: then those are, one by one.

def _is_whole(target, fixed):
    return isinstance(target, TracedList) or not fixed and isinstance(target, list)


def list_only(target, fixed):
    """`target`, if it is part of the state as a whole."""
    return target if _is_whole(target, fixed) else None


def list_or(target, changed):
    """What `target` is after the block: it has as many items as before."""
    if changed is None:
        return target
    if isinstance(changed, TracedList):
        changed.count = target.count if isinstance(target, TracedList) else len(target)
    return changed


def item_only(target, load, fixed):
    """An item that is part of the state by itself."""
    return None if _is_whole(target, fixed) else load()


def item_set(target, index, value, fixed):
    """Gives it another value."""
    if not _is_whole(target, fixed):
        target[index] = value


def list_set(target, index, value, written):
    """`target[index] = value` as a statement, at an index that a loop changes. written: how it is."""
    effects.check_item(target, value, written)
    target[index] = value
    return target

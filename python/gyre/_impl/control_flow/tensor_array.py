"""TensorArray: tensors of one dtype by index, each written once and read, or taken all at once."""

import contextlib
import operator
import warnings
from typing import Any

from gyre import _gyre
from gyre._impl import errors, facade, nest
from gyre._impl.control_flow.group import no_op
from gyre._impl.dtypes import with_article
from gyre._impl.shape import TensorShape, as_dims
from gyre._impl.tracing import lines
from gyre._impl.tracing.rows import Items
from gyre._impl.unsupported import refuse


def _int32(value):
    if isinstance(value, _gyre.Tensor):
        return value
    number = value.__index__() if hasattr(value, "__index__") else value
    return _gyre.convert(number, _gyre.as_dtype("int32"))


def _is_strict() -> bool:
    """Whether arrays are as TensorFlow has them in sessions' graphs without control flow v2: what
    no run could do is refused, and an array has a gradient array of its own."""
    return facade.builds_session() and not facade.form("graphs.switches:modes").control_flow_v2


@contextlib.contextmanager
def _failing(error):
    """What is added within it fails, in the graph of a session, with an error that is known while
    it is built; None: nothing of that."""
    if error is None:
        yield
        return
    graph: Any = _gyre.current_graph()
    _gyre.execute("Assert", [False, [error.message]])
    with graph.control_scope([_gyre.last_node()]):
        yield


def _known(lengths):
    """What is known of sizes while a graph is built, as a numpy array; None if nothing is."""
    known = _gyre.convert(lengths)._known
    return None if known is None else known.numpy()


class TensorArray:
    """Holds `size` tensors of `dtype`, which may have different shapes.

    In a function that is traced it is a value: use what write, scatter, unstack and split return
    (ValueError where an array is read of which all that was written is lost; a warning where it
    reads as zeros, and in sessions' graphs). It may be part of the state of loops, and of what
    functions take and return.

    size: how many there are to begin with. ValueError without one.
    dynamic_size: writing beyond the end makes it larger; else OutOfRangeError.
    clear_after_read: an element is read once (True, the default of eager mode's check), or at will.
    element_shape: of all elements; what is not stated is found out from what is written, where
    infer_shape is true: ValueError for a value that does not fit.
    Elements that were not written read as zeros, if their shape is known; so do cleared ones where
    several are read at once."""

    def __init__(
        self,
        dtype,
        size=None,
        dynamic_size=None,
        clear_after_read=None,
        tensor_array_name=None,
        handle=None,
        flow=None,
        infer_shape=True,
        element_shape=None,
        colocate_with_first_write_call=True,
        name=None,
    ):
        del tensor_array_name, colocate_with_first_write_call, name
        refuse(handle is not None, "handle", "arrays are lists, which have none: hand on the flow")
        self._dtype = _gyre.as_dtype(dtype)
        self._dynamic = bool(dynamic_size)
        self._clear = clear_after_read is None or bool(clear_after_read)
        self._infer = infer_shape
        self._dims = as_dims(element_shape)
        self._values: Any = None  # of eager ones, a list of tensors
        self._flow = flow
        self._dropped = None  # of an empty array in a graph: where what it becomes was written
        self._is_empty = flow is None
        self._count: int | None = None  # in a graph: how many elements it has for good, if known
        # Where arrays are strict: the numbers of elements that were written, as far as they are
        # known; and whether what is written adds to what is there.
        self._written: frozenset = frozenset()
        self._adds = False
        if flow is not None:
            return
        if size is None:
            raise ValueError(
                "a TensorArray needs a size: 0 with dynamic_size=True where it is to grow, "
                "gyre.shape(x)[i] where x.shape[i] is None, which is not known here"
            )
        if _gyre.current_graph() is None:
            self._values = [None] * int(size)
            self._cleared = set()
        else:
            static: Any = size
            if hasattr(size, "__index__") and not isinstance(size, _gyre.Tensor):
                self._count = None if dynamic_size else operator.index(static)
            self._flow = _gyre.execute(
                "TensorListReserve",
                [self._shape(), _int32(size)],
                {"element_dtype": self._dtype},
            )[0]

    # ---- Properties

    @property
    def dtype(self):
        """Of the elements."""
        return self._dtype

    @property
    def flow(self):
        """What stands for the array in a graph; in eager mode a scalar that says nothing."""
        return self._flow if self._flow is not None else _gyre.convert(0.0)

    handle = flow

    @property
    def dynamic_size(self):
        """Whether writing may make it larger."""
        return self._dynamic

    @property
    def element_shape(self):
        """What is known of the shapes of elements."""
        return TensorShape(self._dims)

    @property
    def _gyre_eager(self):
        return self._values is not None

    def _shape(self, dims: Any = ...):
        dims = self._dims if dims is ... else dims
        if dims is None:
            return _gyre.convert(-1)
        return _gyre.convert([-1 if d is None else d for d in dims], _gyre.as_dtype("int32"))

    def _with_flow(self, flow, dims: Any = ...):
        made = TensorArray(
            self._dtype,
            flow=flow,
            dynamic_size=self._dynamic,
            clear_after_read=self._clear,
            infer_shape=self._infer,
        )
        made._dims = self._dims if dims is ... else dims
        made._count = self._count
        made._written, made._adds = self._written, self._adds
        return made

    def learn_from(self, later):
        """The same array, which knows what a loop that it went through found out of its
        elements."""
        if (
            self._values is not None
            or not isinstance(later, TensorArray)
            or later._dims == self._dims
        ):
            return self
        return self._with_flow(self._flow, later._dims)

    def _staged(self):
        """Itself; of an eager one while a graph is traced: what holds its values there."""
        if self._values is None or _gyre.current_graph() is None:
            return self
        made = TensorArray(
            self._dtype,
            len(self._values),
            self._dynamic,
            self._clear,
            infer_shape=self._infer,
            element_shape=self._dims,
        )
        for i, value in enumerate(self._values):
            if value is not None:
                made = made.write(i, value)
        return made

    def _value(self, value):
        tensor = (
            _gyre.convert(value)
            if isinstance(value, _gyre.Tensor)
            else _gyre.convert(value, self._dtype)
        )
        if tensor.dtype != self._dtype:
            raise errors.InvalidArgumentError(
                None,
                None,
                f"a TensorArray of {self._dtype.name} cannot hold {with_article(tensor.dtype)} "
                "tensor",
            )
        return tensor

    def _check_shape(self, dims):
        """The dims of elements, knowing that one has `dims`."""
        if (
            self._dims is not None
            and dims is not None
            and not TensorShape(self._dims).is_compatible_with(dims)
        ):
            raise ValueError(
                f"a value of shape {TensorShape(dims)} does not fit the element shape "
                f"{TensorShape(self._dims)} of the TensorArray"
            )
        if not self._infer or dims is None:
            return self._dims
        return (
            dims
            if self._dims is None
            else tuple(a if a is not None else b for a, b in zip(self._dims, dims, strict=True))
        )

    def _to_write(self):
        """What is written to, in the graph if there is one."""
        staged = self._staged()
        if not staged._gyre_eager and self._is_empty:
            self._dropped = lines.place()
        return staged

    def _to_read(self, by):
        """What is read from, likewise. If it is empty although it was written to, a ValueError, or
        a warning where it reads as zeros."""
        if self._dropped is not None and self._is_empty:
            text = (
                f"{by} at {lines.place()} reads a TensorArray that is empty: in a function that is "
                f"traced, write returns the array with the value, and what it returned at "
                f"{self._dropped} was dropped. Write ta = ta.write(index, value)"
            )
            if (self._dims is None or None in self._dims) and not facade.builds_session():
                raise ValueError(text)
            warnings.warn(text, stacklevel=lines.stack_level())
        return self._staged()

    # ---- Single elements

    def write(self, index, value, name=None):
        """The array with `value` at `index`. OutOfRangeError outside of a fixed size."""
        self = self._to_write()
        tensor = self._value(value)
        dims = self._check_shape(tensor._dims)
        if self._gyre_eager:
            self._write(int(index), tensor, dims)
            return self
        written = self._written
        if _is_strict():
            tensor, written = self._in_place(index, tensor)
        flow = _gyre.execute(
            "TensorListSetItem",
            [self._flow, _int32(index), tensor],
            {"resize_if_index_out_of_bounds": self._dynamic},
        )[0]
        made = self._with_flow(flow, dims)
        made._written = written
        return made

    def _in_place(self, index, tensor) -> tuple:
        """What is written at an index of a strict array, and which elements are written then.
        InvalidArgumentError for one that was written before, and that nothing is added to."""
        known = _known(index)
        number = None if known is None or known.ndim else int(known)
        if number is not None and number not in self._written:
            return tensor, self._written | {number}
        if not self._adds:
            if number is None:
                return tensor, self._written
            raise errors.InvalidArgumentError(
                None,
                None,
                f"Could not write to TensorArray index {number} because it has already been "
                "written to.",
            )
        there = self.read(index)
        if None not in (there._dims, tensor._dims) and there._dims != tensor._dims:
            raise errors.InvalidArgumentError(
                None,
                None,
                f"Could not aggregate to TensorArray index {number} because the existing shape is "
                f"{TensorShape(there._dims)} but the new input shape is "
                f"{TensorShape(tensor._dims)}",
            )
        return _gyre.execute("AddN", [[there, tensor]])[0], self._written  # of equal shapes

    def _write(self, index, tensor, dims):
        if index < 0:
            raise errors.OutOfRangeError(
                None, None, f"Writing to negative index {index} of a TensorArray."
            )
        if index >= len(self._values):
            if not self._dynamic:
                raise errors.OutOfRangeError(
                    None,
                    None,
                    f"Tried to write to index {index} but array is not resizeable and size is: "
                    f"{len(self._values)}",
                )
            self._values.extend([None] * (index + 1 - len(self._values)))
        self._dims, self._is_empty = dims, False
        self._values[index] = tensor
        self._cleared.discard(index)

    def read(self, index, name=None):
        """The element at `index`. OutOfRangeError outside; in eager mode InvalidArgumentError for
        an element that a read has cleared."""
        self = self._to_read("read")
        if self._gyre_eager:
            return self._read(int(index))
        return _gyre.execute(
            "TensorListGetItem",
            [self._flow, _int32(index), self._shape()],
            {"element_dtype": self._dtype},
        )[0]

    def _read(self, index):
        if not 0 <= index < len(self._values):
            raise errors.OutOfRangeError(
                None,
                None,
                f"Tried to read from index {index} but array size is: {len(self._values)}",
            )
        if index in self._cleared:
            raise errors.InvalidArgumentError(
                None,
                None,
                f"Could not read index {index} twice because it was cleared after a previous read "
                f"(perhaps try setting clear_after_read = false?)",
            )
        value = self._value_or_zeros(index)
        if self._clear:
            self._values[index] = None
            self._cleared.add(index)
        return value

    def _value_or_zeros(self, index):
        value = self._values[index]
        if value is not None:
            return value
        if self._dims is None or None in self._dims:
            raise errors.InvalidArgumentError(
                None,
                None,
                f"index {index} of a TensorArray is read before it is written, and its element "
                "shape is not known: write it first, or give the array an element_shape, for "
                "zeros",
            )
        zero = _gyre.convert(
            0 if self._dtype.is_numeric else ("" if self._dtype.name == "string" else False),
            self._dtype,
        )
        if not self._dims:
            return zero
        return _gyre.execute("Fill", [list(self._dims), zero])[0]

    # ---- All of them

    def _all(self):
        return [self._value_or_zeros(i) for i in range(len(self._values))]

    def stack(self, name=None):
        """All elements, as the rows of a tensor."""
        self = self._to_read("stack")
        if self._gyre_eager:
            if not self._values:
                dims = [0, *(self._dims or ())]
                return _gyre.execute(
                    "Fill", [[d or 0 for d in dims], _gyre.convert(0, self._dtype)]
                )[0]
            return _gyre.execute("Pack", [self._all()])[0]
        return _gyre.execute(
            "TensorListStack",
            [self._flow, self._shape()],
            {
                "element_dtype": self._dtype,
                "num_elements": -1 if self._count is None else self._count,
            },
        )[0]

    def gather(self, indices, name=None):
        """The elements at `indices`, as rows."""
        self = self._to_read("gather")
        if self._gyre_eager:
            indices = (
                [int(i) for i in _gyre.convert(indices).numpy()]
                if not isinstance(indices, (list, tuple, range))
                else indices
            )
            return _gyre.execute("Pack", [[self._value_or_zeros(int(i)) for i in indices]])[0]
        return _gyre.execute(
            "TensorListGather",
            [self._flow, _int32(indices), self._shape()],
            {"element_dtype": self._dtype},
        )[0]

    def concat(self, name=None):
        """The elements one after the other, along their axis 0; sizes may differ there."""
        self = self._to_read("concat")
        if self._gyre_eager:
            parts = self._all()
            return parts[0] if len(parts) == 1 else _gyre.execute("ConcatV2", [parts, 0])[0]
        dims = None if self._dims is None else (None, *self._dims[1:])
        empty = _gyre.convert([], _gyre.as_dtype("int64"))
        joined = _gyre.execute(
            "TensorListConcatV2",
            [self._flow, self._shape(dims), empty],
            {"element_dtype": self._dtype},
        )[0]
        rows = self._dims[0] if self._dims else None
        if rows is not None and self._count is not None:
            joined.set_shape([self._count * rows, *(self._dims or ())[1:]])
        return joined

    def unstack(self, value, name=None):
        """An array of the rows of `value`."""
        tensor = self._value(value)
        if tensor._dims == ():
            raise ValueError("unstack needs a tensor with at least one axis")
        dims = self._check_shape(None if tensor._dims is None else tensor._dims[1:])
        if self._gyre_eager and _gyre.current_graph() is None:
            rows = [tensor[i] for i in range(tensor._dims[0])]
            if len(rows) != len(self._values) and not self._dynamic and self._values:
                raise ValueError(
                    f"unstack of {len(rows)} rows into a TensorArray of size {len(self._values)}"
                )
            self._values, self._dims, self._cleared = rows, dims, set()
            self._is_empty = False
            return self
        flow = _gyre.execute("TensorListFromTensor", [tensor, self._shape(dims)])[0]
        if _is_strict():
            self._dims = dims
        made = self._with_flow(flow, dims)
        made._count = None if self._dynamic or tensor._dims is None else tensor._dims[0]
        return made

    def scatter(self, indices, value, name=None):
        """The array with the rows of `value` at `indices`."""
        self = self._to_write()
        tensor = self._value(value)
        dims = self._check_shape(None if tensor._dims is None else tensor._dims[1:])
        if self._gyre_eager:
            positions = (
                _gyre.convert(indices).numpy()
                if not isinstance(indices, (list, tuple, range))
                else indices
            )
            for row, index in enumerate(positions):
                self._write(int(index), tensor[row], dims)
            return self
        flow = _gyre.execute(
            "TensorListScatterIntoExistingList",
            [self._flow, tensor, _int32(indices)],
            {"element_dtype": self._dtype},
        )[0]
        return self._with_flow(flow, dims)

    def split(self, value, lengths, name=None):
        """An array of pieces of `value` along axis 0, of these lengths."""
        tensor = self._value(value)
        sizes = _known(lengths)
        if self._gyre_eager and _gyre.current_graph() is None:
            self._values = self._pieces(tensor, sizes, len(self._values))
            self._cleared, self._is_empty = set(), False
            return self
        dims = self._dims
        fails = None
        if _is_strict() and sizes is not None and tensor._dims is not None:
            try:
                self._check_pieces(tensor, sizes, self._count)
            except errors.InvalidArgumentError as error:
                fails = error
        if sizes is not None and sizes.ndim == 1 and len(set(sizes.tolist())) == 1:
            dims = self._check_shape(tensor._dims and (int(sizes[0]), *tensor._dims[1:]))
        int64 = _gyre.as_dtype("int64")
        if isinstance(lengths, _gyre.Tensor):
            lengths = _gyre.execute("Cast", [lengths], {"DstT": int64})[0]
        else:
            lengths = _gyre.convert(lengths, int64)
        with _failing(fails):
            flow = _gyre.execute("TensorListSplit", [tensor, self._shape(dims), lengths])[0]
        made = self._with_flow(flow, dims)
        made._count = None if self._dynamic or sizes is None else sizes.size
        return made

    def _check_pieces(self, tensor, sizes, count):
        """InvalidArgumentError: no pieces of a tensor along axis 0 have these sizes, or they are
        not as many as the array, of `count` elements if that is known, has."""

        def refuse_split(text):
            raise errors.InvalidArgumentError(None, None, text)

        if sizes.ndim != 1:
            refuse_split(f"Expected lengths to be a vector, received shape: {list(sizes.shape)}")
        if not tensor._dims:
            refuse_split("Expected value to be at least a vector, but received shape: []")
        if tensor._dims[0] is not None and sizes.sum() != tensor._dims[0]:
            refuse_split(
                "Expected sum of lengths to be equal to values.shape[0], but sum of lengths is "
                f"{sizes.sum()} and value's shape is: {list(tensor._dims)}"
            )
        if count is not None and len(sizes) != count and not self._dynamic:
            refuse_split(
                "TensorArray's size is not equal to the size of lengths "
                f"({count} vs. {len(sizes)}), and the TensorArray is not marked as "
                "dynamically resizeable"
            )

    def _pieces(self, tensor, sizes, count):
        """The parts of a tensor along axis 0 that split makes."""
        self._check_pieces(tensor, sizes, count)
        ends = sizes.cumsum().tolist()
        return [tensor[end - n : end] for end, n in zip(ends, sizes.tolist(), strict=True)]

    def size(self, name=None):
        """How many elements there are: an int32 scalar."""
        self = self._staged()
        if self._gyre_eager:
            return _gyre.convert(len(self._values))
        return _gyre.execute("TensorListLength", [self._flow])[0]

    def identity(self):
        """The array itself."""
        if self._gyre_eager:
            return self
        return self._with_flow(_gyre.execute("Identity", [self._flow])[0])

    def grad(self, source, flow=None, name=None):
        """In the graph of a session without control flow v2: an array of as many elements, to
        which writing adds. Elsewhere NotImplementedError, as gradients are found by themselves."""
        del source, flow, name
        if not _is_strict():
            raise NotImplementedError(
                "gradients of a TensorArray are computed by gyre.GradientTape"
            )
        size = self.size() if self._count is None else self._count
        made = TensorArray(
            self._dtype,
            size,
            self._dynamic,
            self._clear,
            infer_shape=self._infer,
            element_shape=self._dims,
        )
        made._adds = True
        return made

    def close(self, name=None) -> Any:
        """Lets the elements go. In a session's graph: an operation."""
        if self._gyre_eager:
            self._values = []
        return no_op(name)

    def mark_used(self) -> None:
        """Nothing: an array that nobody uses is no error."""

    def _gyre_rows(self):
        """For the for statements of converted code."""
        staged = self._staged()
        return Items(staged.size, staged.read)

    def __iter__(self):
        if not self._gyre_eager:
            raise TypeError(
                "a traced TensorArray cannot be iterated by Python: use stack(), or a for "
                "statement in converted code"
            )
        return (self._value_or_zeros(i) for i in range(len(self._values)))

    def __repr__(self):
        return f"<gyre.TensorArray of {self._dtype.name}, element shape {TensorShape(self._dims)}>"


def _parts(array):
    return [
        (
            ".flow",
            array._staged()._flow
            if array._flow is None and _gyre.current_graph() is not None
            else array._flow
            if array._flow is not None
            else _gyre.convert(0.0),
        )
    ]


def _build(like, children):
    (flow,) = children
    if like._values is not None and not (
        isinstance(flow, _gyre.Tensor) and flow.dtype.name == "variant"
    ):
        return like
    made = like._with_flow(flow)
    made._count = None  # of an array that a loop replaces it may be another one
    made._written = frozenset()
    return made


nest.register_composite(TensorArray, _parts, _build)

"""Variable: a tensor that programs can change."""

from __future__ import annotations

import contextlib
import functools
import threading
from collections.abc import Callable, Iterator

from gyre import _gyre
from gyre._impl import facade
from gyre._impl.annotations import Any, TensorLike
from gyre._impl.autodiff import tape
from gyre._impl.convert import call, constant, convert_to_tensor, is_value
from gyre._impl.device import device_in_scope, name_in_scope
from gyre._impl.dtypes import DTypeLike
from gyre._impl.notebooks import html
from gyre._impl.shape import TensorShape, as_dims
from gyre._impl.tensor import Reference
from gyre._impl.tracing import late_values, variables
from gyre._impl.unsupported import refuse

_creators = threading.local()


@contextlib.contextmanager
def variable_creator_scope(creator: Callable[..., Any]) -> Iterator[None]:
    """Within it, variables are made by `creator(next_creator, **kwargs)`, which may change the
    arguments, or return something else. Scopes nest: the innermost is asked first."""
    stack = _creators.__dict__.setdefault("stack", [])
    stack.append(creator)
    try:
        yield
    finally:
        stack.pop()


_PARAMETERS = (
    "initial_value",
    "trainable",
    "validate_shape",
    "caching_device",
    "name",
    "variable_def",
    "dtype",
    "import_scope",
    "constraint",
    "synchronization",
    "aggregation",
    "shape",
)


class _Creating(type):
    """Asks the creators of variable_creator_scope when a Variable is made. In the graph of a
    session it is one of those that sessions keep."""

    def __call__(cls, *args, **kwargs):
        if cls is Variable and facade.builds_session():
            kwargs.update(zip(_PARAMETERS, args, strict=False))
            return facade.form("compat.v1.variable:Variable")(**kwargs, use_resource=True)
        stack = getattr(_creators, "stack", None)
        if not stack:
            return super().__call__(*args, **kwargs)
        kwargs.update(zip(_PARAMETERS, args, strict=False))
        make = super().__call__
        for creator in stack:
            make = functools.partial(creator, make)
        return make(**kwargs)


def _operator(name: str) -> Callable[..., _gyre.Tensor]:
    """A method: Tensor's of this name, of the value."""
    method = getattr(_gyre.Tensor, name)

    def function(self, *operands):
        return method(self.read_value(), *operands)

    function.__name__ = function.__qualname__ = name
    return function


class Variable(metaclass=_Creating):
    """A tensor that programs can change, shared by all graphs of the process.

    Wherever a tensor is wanted, a variable means a read at that place of the program. `assign` and
    its kind happen in program order, and return the variable itself. In a function, reads and
    writes become part of its graph. A variable compares element by element; `ref()` hashes.

    initial_value: what converts to a tensor, or a function without arguments that returns it.
    shape: which shapes it may take, if not just that of the initial value (None: unknown sizes).
    constraint: a function of the value, applied by optimizers after each step.
    ValueError without an initial value.
    """

    __gyre_operand__ = True
    __array_priority__ = 100

    def __init__(
        self,
        initial_value: TensorLike | Callable[[], Any] | None = None,
        trainable: bool | None = None,
        validate_shape: bool = True,
        caching_device=None,
        name: str | None = None,
        variable_def=None,
        dtype: DTypeLike | None = None,
        import_scope=None,
        constraint: Callable[..., Any] | None = None,
        synchronization=None,
        aggregation=None,
        shape=None,
    ):
        del caching_device, import_scope, synchronization, aggregation
        refuse(variable_def is not None, "variable_def", "make the variable of its initial_value")
        if initial_value is None:
            raise ValueError("A Variable needs an initial_value.")
        name = name_in_scope(name or "Variable")
        if _gyre.current_graph() is not None:
            variables.created(self)  # refuses it if this trace may not create variables
        with _gyre.init_scope():
            value = initial_value() if callable(initial_value) else initial_value
            if isinstance(value, _gyre.Tensor) and value.is_symbolic:
                value = variables.value_now(value)
            if is_value(value) and dtype is not None:
                value = convert_to_tensor(value)
                if value.dtype != _gyre.as_dtype(dtype):
                    value = call("Cast", value, DstT=_gyre.as_dtype(dtype))
            value = constant(value, dtype)
            dims = as_dims(shape) if shape is not None else value._dims if validate_shape else None
            if not TensorShape(dims).is_compatible_with(value._dims):
                raise ValueError(
                    f"The initial value of shape {TensorShape(value._dims)} does not fit "
                    f"shape {TensorShape(dims)}."
                )
            self.handle = _gyre.create_variable(value, dims, name, device_in_scope())
        self._dims = dims
        self._dtype = value.dtype
        self._name = name
        self._trainable = trainable is None or bool(trainable)
        self.is_watched = self._trainable and (value.dtype.is_floating or value.dtype.is_complex)
        self._constraint = constraint
        # Whether gathers read it: only then tapes give IndexedSlices as its gradient.
        self.read_by_rows = False
        variables.by_handle[self.handle.id] = self
        late_values.created(self)

    # ---- What it is

    @property
    def dtype(self) -> _gyre.DType:
        """The type of its elements."""
        return self._dtype

    @property
    def shape(self) -> TensorShape:
        """What shapes it may take."""
        return TensorShape(self._dims)

    def get_shape(self) -> TensorShape:
        """What shapes it may take."""
        return TensorShape(self._dims)

    @property
    def ndim(self) -> int | None:
        """The number of dimensions."""
        return None if self._dims is None else len(self._dims)

    @property
    def name(self) -> str:
        """Its name, followed by ":0"."""
        return self._name + ":0"

    @property
    def trainable(self) -> bool:
        """Whether Modules list it as trainable, and tapes watch it,
        if its numbers are differentiable."""
        return self._trainable

    @property
    def initializer(self):
        """The operation that gives it its initial value: None, it has it. (Variables of the graphs
        of sessions have one.)"""
        return None

    def is_initialized(self, name: str | None = None) -> _gyre.Tensor:
        """Whether it has a value: a bool tensor."""
        return call("VarIsInitializedOp", self._resource(), name=name)

    @property
    def constraint(self):
        """The function that optimizers apply to the value after each step."""
        return self._constraint

    @property
    def device(self) -> str:
        """The device for which it was made, where functions that use it read and write it."""
        return self.handle.device

    @property
    def _handle(self) -> _gyre.Tensor:
        return self.handle

    def ref(self) -> Reference:
        """A hashable stand-in."""
        return Reference(self)

    # ---- Reading

    def _resource(self):
        """The handle, in the graph that is current if there is one."""
        if self.is_watched:
            tape.accessed(self.handle)
        graph = _gyre.current_graph()
        if graph is None:
            return self.handle
        return graph.variable(self.handle, self._dtype, self._dims)

    def read_value(self) -> _gyre.Tensor:
        """The value it has at this place of the program: a tensor."""
        argument = self._argument()
        if argument is not None:
            return argument
        return _gyre.execute("ReadVariableOp", [self._resource()], {"dtype": self._dtype})[0]

    def _argument(self):
        """What is read instead of the variable, where ReadsAsArguments says so."""
        if late_values.new:
            late_values.look()
        argument = variables.argument_for(self)
        if argument is not None and self.is_watched:
            tape.accessed(self.handle)
        return argument

    value = read_value
    __gyre_tensor__ = read_value

    def numpy(self) -> Any:
        """The value as a numpy array. Eagerly only (TypeError in a graph)."""
        return self.read_value().numpy()

    def sparse_read(self, indices: TensorLike, name: str | None = None) -> _gyre.Tensor:
        """The rows that `indices` name; only these are read; the gradient is IndexedSlices."""
        self.read_by_rows = True
        argument = self._argument()
        if argument is not None:
            return call("GatherV2", argument, indices, 0, name=name)
        return call("ResourceGather", self._resource(), indices, dtype=self._dtype, name=name)

    def gather_nd(self, indices: TensorLike, name: str | None = None) -> _gyre.Tensor:
        """The slices that index vectors name."""
        self.read_by_rows = True
        return call("ResourceGatherNd", self._resource(), indices, dtype=self._dtype, name=name)

    # ---- Writing

    def _operand(self, value):
        if is_value(value):
            value = convert_to_tensor(value, self._dtype)
        else:
            value = constant(value, self._dtype)
        return value

    def _checked(self, value):
        value = self._operand(value)
        if value._dims != self._dims and not TensorShape(self._dims).is_compatible_with(
            value._dims
        ):
            raise ValueError(
                f"Variable {self._name!r} of shape {self.shape} cannot take a value of "
                f"shape {TensorShape(value._dims)}."
            )
        return value

    def _run(self, op: str, *inputs, **attrs) -> Variable:
        if late_values.new:
            late_values.look()
        graph = _gyre.current_graph()
        handle = (
            self.handle if graph is None else graph.variable(self.handle, self._dtype, self._dims)
        )
        _gyre.execute(op, [handle, *inputs], attrs)
        if graph is not None:
            vars(graph).setdefault("_changed", {})[self.handle.id] = _gyre.last_node()
        return self

    @property
    def op(self) -> Any:
        """While a function is traced: the operation that changed it last. AttributeError if there
        is none."""
        graph: Any = _gyre.current_graph()
        node = None if graph is None else vars(graph).get("_changed", {}).get(self.handle.id)
        if node is None:
            raise AttributeError(
                f"the Variable {self.name} has an operation only in a graph that changes it"
            )
        return graph.operation_of(node)

    def assign(
        self,
        value: TensorLike,
        use_locking: bool = False,
        name: str | None = None,
        read_value: bool = True,
    ) -> Variable:
        """Makes `value` its value. ValueError if shape or dtype do not fit."""
        del use_locking, name, read_value
        return self._run("AssignVariableOp", self._checked(value), dtype=self._dtype)

    def assign_add(
        self,
        delta: TensorLike,
        use_locking: bool = False,
        name: str | None = None,
        read_value: bool = True,
    ) -> Variable:
        """Adds to its value a tensor of its shape."""
        del use_locking, name, read_value
        return self._run("AssignAddVariableOp", self._checked(delta), dtype=self._dtype)

    def assign_sub(
        self,
        delta: TensorLike,
        use_locking: bool = False,
        name: str | None = None,
        read_value: bool = True,
    ) -> Variable:
        """Subtracts from its value a tensor of its shape."""
        del use_locking, name, read_value
        return self._run("AssignSubVariableOp", self._checked(delta), dtype=self._dtype)

    def _scatter(self, op: str, slices) -> Variable:
        return self._run(
            op, convert_to_tensor(slices.indices), self._operand(slices.values), dtype=self._dtype
        )

    def scatter_add(self, sparse_delta, use_locking=False, name=None) -> Variable:
        """Adds IndexedSlices to its rows; equal indices add up."""
        del use_locking, name
        return self._scatter("ResourceScatterAdd", sparse_delta)

    def scatter_sub(self, sparse_delta, use_locking=False, name=None) -> Variable:
        """Subtracts IndexedSlices from its rows."""
        del use_locking, name
        return self._scatter("ResourceScatterSub", sparse_delta)

    def scatter_mul(self, sparse_delta, use_locking=False, name=None) -> Variable:
        """Multiplies its rows by IndexedSlices."""
        del use_locking, name
        return self._scatter("ResourceScatterMul", sparse_delta)

    def scatter_update(self, sparse_delta, use_locking=False, name=None) -> Variable:
        """Replaces its rows by IndexedSlices."""
        del use_locking, name
        return self._scatter("ResourceScatterUpdate", sparse_delta)

    def _scatter_nd(self, op: str, indices, updates) -> Variable:
        return self.assign(call(op, self.read_value(), indices, self._operand(updates)))

    def scatter_nd_add(self, indices, updates, name=None) -> Variable:
        """Adds slices at index vectors."""
        del name
        return self._scatter_nd("TensorScatterAdd", indices, updates)

    def scatter_nd_sub(self, indices, updates, name=None) -> Variable:
        """Subtracts slices at index vectors."""
        del name
        return self._scatter_nd("TensorScatterSub", indices, updates)

    def __setitem__(self, index, value):
        raise TypeError(
            "items of a variable are not assigned: v.scatter_nd_update([[i]], [x]) changes v[i], "
            "and v.assign changes all of it"
        )

    def scatter_nd_update(self, indices, updates, name=None) -> Variable:
        """Replaces slices at index vectors."""
        del name
        return self._scatter_nd("TensorScatterUpdate", indices, updates)

    # ---- Python

    def __getitem__(self, key) -> _gyre.Tensor:
        return self.read_value()[key]

    def __len__(self) -> int:
        return len(self.read_value())

    def __iter__(self) -> Iterator[_gyre.Tensor]:
        return iter(self.read_value())

    def __bool__(self) -> bool:
        return bool(self.read_value())

    def __int__(self) -> int:
        return int(self.read_value())

    def __float__(self) -> float:
        return float(self.read_value())

    def __complex__(self) -> complex:
        return complex(self.read_value())

    def __index__(self) -> int:
        return self.read_value().__index__()

    def __array__(self, dtype=None, copy=None) -> Any:
        del copy
        import numpy

        value = numpy.asarray(self.numpy())
        return value if dtype is None else value.astype(dtype)

    __add__ = _operator("__add__")
    __radd__ = _operator("__radd__")
    __sub__ = _operator("__sub__")
    __rsub__ = _operator("__rsub__")
    __mul__ = _operator("__mul__")
    __rmul__ = _operator("__rmul__")
    __truediv__ = _operator("__truediv__")
    __rtruediv__ = _operator("__rtruediv__")
    __floordiv__ = _operator("__floordiv__")
    __rfloordiv__ = _operator("__rfloordiv__")
    __mod__ = _operator("__mod__")
    __rmod__ = _operator("__rmod__")
    __pow__ = _operator("__pow__")
    __rpow__ = _operator("__rpow__")
    __matmul__ = _operator("__matmul__")
    __rmatmul__ = _operator("__rmatmul__")
    __and__ = _operator("__and__")
    __rand__ = _operator("__rand__")
    __or__ = _operator("__or__")
    __ror__ = _operator("__ror__")
    __xor__ = _operator("__xor__")
    __rxor__ = _operator("__rxor__")
    __lt__ = _operator("__lt__")
    __le__ = _operator("__le__")
    __gt__ = _operator("__gt__")
    __ge__ = _operator("__ge__")
    __eq__ = _operator("__eq__")  # pyright: ignore[reportAssignmentType] (of elements)
    __ne__ = _operator("__ne__")  # pyright: ignore[reportAssignmentType]
    __neg__ = _operator("__neg__")
    __abs__ = _operator("__abs__")
    __invert__ = _operator("__invert__")
    __hash__ = None  # pyright: ignore[reportAssignmentType] (as Python spells it)

    def __deepcopy__(self, memo) -> Variable:
        copy = Variable(
            self.read_value(),
            self._trainable,
            name=self._name,
            shape=self._dims,
            constraint=self._constraint,
        )
        memo[id(self)] = copy
        return copy

    def __reduce__(self):
        return _restored, (self.numpy(), self._trainable, self._name, self._dtype.name, self._dims)

    _repr_html_ = html

    def __repr__(self) -> str:
        about = f"{self.name!r} shape={self.shape} dtype={self._dtype.name}"
        if _gyre.current_graph() is not None:
            return f"<gyre.Variable {about}>"
        return f"<gyre.Variable {about}, numpy={_gyre.read_variable(self.handle).numpy()!r}>"


def _restored(value, trainable, name, dtype, dims) -> Variable:
    return Variable(value, trainable, name=name, dtype=dtype, shape=dims)

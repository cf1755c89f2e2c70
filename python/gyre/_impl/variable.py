"""Variable: a tensor that programs can change."""

import contextlib
import functools
import threading

from gyre import _gyre
from gyre._impl.autodiff import tape
from gyre._impl.convert import call, constant, convert_to_tensor, is_value
from gyre._impl.device import name_in_scope
from gyre._impl.notebooks import html
from gyre._impl.shape import TensorShape, as_dims
from gyre._impl.tensor import Reference
from gyre._impl.tracing import late_values, variables
from gyre._impl.unsupported import refuse

_creators = threading.local()


@contextlib.contextmanager
def variable_creator_scope(creator):
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
    """Asks the creators of variable_creator_scope when a Variable is made."""

    def __call__(cls, *args, **kwargs):
        stack = getattr(_creators, "stack", None)
        if not stack:
            return super().__call__(*args, **kwargs)
        kwargs.update(zip(_PARAMETERS, args, strict=False))
        make = super().__call__
        for creator in stack:
            make = functools.partial(creator, make)
        return make(**kwargs)


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
        initial_value=None,
        trainable=None,
        validate_shape=True,
        caching_device=None,
        name=None,
        variable_def=None,
        dtype=None,
        import_scope=None,
        constraint=None,
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
            self.handle = _gyre.create_variable(value, dims, name)
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
    def dtype(self):
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
    def constraint(self):
        """The function that optimizers apply to the value after each step."""
        return self._constraint

    @property
    def device(self) -> str:
        """Where its value is."""
        return self.handle.device

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

    def read_value(self):
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

    def numpy(self):
        """The value as a numpy array. Eagerly only (TypeError in a graph)."""
        return self.read_value().numpy()

    def sparse_read(self, indices, name=None):
        """The rows that `indices` name; only these are read; the gradient is IndexedSlices."""
        self.read_by_rows = True
        argument = self._argument()
        if argument is not None:
            return call("GatherV2", argument, indices, 0, name=name)
        return call("ResourceGather", self._resource(), indices, dtype=self._dtype, name=name)

    def gather_nd(self, indices, name=None):
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

    def _run(self, op: str, *inputs, **attrs) -> "Variable":
        if late_values.new:
            late_values.look()
        graph = _gyre.current_graph()
        handle = (
            self.handle if graph is None else graph.variable(self.handle, self._dtype, self._dims)
        )
        _gyre.execute(op, [handle, *inputs], attrs)
        return self

    def assign(self, value, use_locking=False, name=None, read_value=True) -> "Variable":
        """Makes `value` its value. ValueError if shape or dtype do not fit."""
        del use_locking, name, read_value
        return self._run("AssignVariableOp", self._checked(value), dtype=self._dtype)

    def assign_add(self, delta, use_locking=False, name=None, read_value=True) -> "Variable":
        """Adds to its value a tensor of its shape."""
        del use_locking, name, read_value
        return self._run("AssignAddVariableOp", self._checked(delta), dtype=self._dtype)

    def assign_sub(self, delta, use_locking=False, name=None, read_value=True) -> "Variable":
        """Subtracts from its value a tensor of its shape."""
        del use_locking, name, read_value
        return self._run("AssignSubVariableOp", self._checked(delta), dtype=self._dtype)

    def _scatter(self, op: str, slices) -> "Variable":
        return self._run(
            op, convert_to_tensor(slices.indices), self._operand(slices.values), dtype=self._dtype
        )

    def scatter_add(self, sparse_delta, use_locking=False, name=None) -> "Variable":
        """Adds IndexedSlices to its rows; equal indices add up."""
        del use_locking, name
        return self._scatter("ResourceScatterAdd", sparse_delta)

    def scatter_sub(self, sparse_delta, use_locking=False, name=None) -> "Variable":
        """Subtracts IndexedSlices from its rows."""
        del use_locking, name
        return self._scatter("ResourceScatterSub", sparse_delta)

    def scatter_mul(self, sparse_delta, use_locking=False, name=None) -> "Variable":
        """Multiplies its rows by IndexedSlices."""
        del use_locking, name
        return self._scatter("ResourceScatterMul", sparse_delta)

    def scatter_update(self, sparse_delta, use_locking=False, name=None) -> "Variable":
        """Replaces its rows by IndexedSlices."""
        del use_locking, name
        return self._scatter("ResourceScatterUpdate", sparse_delta)

    def _scatter_nd(self, op: str, indices, updates) -> "Variable":
        return self.assign(call(op, self.read_value(), indices, self._operand(updates)))

    def scatter_nd_add(self, indices, updates, name=None) -> "Variable":
        """Adds slices at index vectors."""
        del name
        return self._scatter_nd("TensorScatterAdd", indices, updates)

    def scatter_nd_sub(self, indices, updates, name=None) -> "Variable":
        """Subtracts slices at index vectors."""
        del name
        return self._scatter_nd("TensorScatterSub", indices, updates)

    def scatter_nd_update(self, indices, updates, name=None) -> "Variable":
        """Replaces slices at index vectors."""
        del name
        return self._scatter_nd("TensorScatterUpdate", indices, updates)

    # ---- Python

    def __getitem__(self, key):
        return self.read_value()[key]

    def __len__(self) -> int:
        return len(self.read_value())

    def __iter__(self):
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

    def __array__(self, dtype=None, copy=None):
        del copy
        value = self.numpy()
        return value if dtype is None else value.astype(dtype)

    __hash__ = None  # pyright: ignore[reportAssignmentType] (as Python spells it)

    def __deepcopy__(self, memo) -> "Variable":
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


def _operator(name: str):
    method = getattr(_gyre.Tensor, name)

    def function(self, *operands):
        return method(self.read_value(), *operands)

    function.__name__ = function.__qualname__ = name
    return function


for _name in (
    "add",
    "radd",
    "sub",
    "rsub",
    "mul",
    "rmul",
    "truediv",
    "rtruediv",
    "floordiv",
    "rfloordiv",
    "mod",
    "rmod",
    "pow",
    "rpow",
    "matmul",
    "rmatmul",
    "and",
    "rand",
    "or",
    "ror",
    "xor",
    "rxor",
    "lt",
    "le",
    "gt",
    "ge",
    "eq",
    "ne",
    "neg",
    "abs",
    "invert",
):
    setattr(Variable, f"__{_name}__", _operator(f"__{_name}__"))

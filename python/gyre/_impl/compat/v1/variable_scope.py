"""variable_scope and get_variable: variables by name, made once and shared where that is asked
for."""

from __future__ import annotations

import contextlib
import enum
import functools
from collections.abc import Iterator
from typing import Any

from gyre import _gyre
from gyre._impl.compat.v1 import initializers
from gyre._impl.compat.v1.collections import GraphKeys
from gyre._impl.compat.v1.variable import Variable
from gyre._impl.convert import convert_to_tensor, holds_tensor, is_value
from gyre._impl.device import get_name_scope
from gyre._impl.device import name_scope as newer_scope
from gyre._impl.dtypes import DTypeLike
from gyre._impl.graphs.constant import constant
from gyre._impl.graphs.graph import current, get_default_graph, has_default_graph
from gyre._impl.shape import TensorShape


class _ReuseMode(enum.Enum):
    """AUTO_REUSE: variables are made where they are not there."""

    AUTO_REUSE = 1


AUTO_REUSE = _ReuseMode.AUTO_REUSE
_UNSET = object()


class VariableScope:
    """What get_variable takes where it is not told: the prefix of names, reuse, initializer, dtype,
    …"""

    def __init__(
        self,
        reuse,
        name="",
        initializer=None,
        regularizer=None,
        caching_device=None,
        partitioner=None,
        custom_getter=None,
        name_scope="",
        dtype: DTypeLike = "float32",
        use_resource=None,
        constraint=None,
    ):
        del caching_device
        self._reuse, self._name, self._name_scope = reuse, name, name_scope
        self._initializer, self._regularizer = initializer, regularizer
        self._custom_getter, self._constraint = custom_getter, constraint
        self._dtype, self._use_resource = dtype, use_resource
        _refuse_partitioner(partitioner)

    name = property(lambda self: self._name, doc="What names of variables begin with.")
    original_name_scope = property(
        lambda self: self._name_scope, doc="The name scope that was opened with it."
    )
    reuse = property(lambda self: self._reuse, doc="Whether variables must be there already.")
    initializer = property(lambda self: self._initializer, doc="What makes initial values.")
    dtype = property(lambda self: self._dtype, doc="The dtype of variables.")
    use_resource = property(lambda self: self._use_resource, doc="Whether variables are resources.")
    regularizer = property(lambda self: self._regularizer, doc="What adds losses of variables.")
    custom_getter = property(lambda self: self._custom_getter, doc="What is asked for variables.")
    constraint = property(lambda self: self._constraint, doc="What is applied after steps.")

    def reuse_variables(self) -> None:
        """From now on, variables must be there already."""
        self._reuse = True

    def set_initializer(self, initializer) -> None:
        """Sets what makes initial values."""
        self._initializer = initializer

    def set_dtype(self, dtype) -> None:
        """Sets the dtype of variables."""
        self._dtype = dtype

    def set_regularizer(self, regularizer) -> None:
        """Sets what adds losses of variables."""
        self._regularizer = regularizer

    def set_use_resource(self, use_resource) -> None:
        """Sets whether variables are resources."""
        self._use_resource = use_resource

    def set_custom_getter(self, custom_getter) -> None:
        """Sets what is asked for variables."""
        self._custom_getter = custom_getter

    def _within(self) -> str:
        return self._name + "/" if self._name else ""

    def global_variables(self) -> list:
        """The variables whose names are within it."""
        return get_default_graph().get_collection(GraphKeys.GLOBAL_VARIABLES, self._within())

    def local_variables(self) -> list:
        """The local variables whose names are within it."""
        return get_default_graph().get_collection(GraphKeys.LOCAL_VARIABLES, self._within())

    def trainable_variables(self) -> list:
        """The trainable variables whose names are within it."""
        return get_default_graph().get_collection(GraphKeys.TRAINABLE_VARIABLES, self._within())

    def get_collection(self, name) -> list:
        """What a collection has of names within it."""
        return get_default_graph().get_collection(name, self._within())


class _Store:
    """The variables of a graph by name, the scope that holds,
    and how often names of scopes were taken."""

    def __init__(self):
        self.variables: dict[str, Variable] = {}
        self.scope = VariableScope(False)
        self.counts: dict[str, int] = {}
        self.again = 0  # how many bodies are being traced that were traced before

    def close_inner(self, name: str) -> None:
        """Scopes within one that is opened again are counted from the start."""
        for key in [k for k in self.counts if k.startswith(name + "/")]:
            self.counts[key] = 0

    def unique(self, prefix: str) -> str:
        """A name for a scope, from `prefix`, that none had here before."""
        full = f"{self.scope.name}/{prefix}" if self.scope.name else prefix
        if not self.counts.get(full):
            return prefix
        i = 1
        while self.counts.get(f"{full}_{i}"):
            i += 1
        return f"{prefix}_{i}"


def _store() -> _Store:
    return vars(get_default_graph()).setdefault("_variable_store", _Store())


def as_body(fn):
    """A body of a construct, which may be traced several times: with the variables of the first
    time."""
    times = 0

    @functools.wraps(fn)
    def call(*args):
        nonlocal times
        times += 1
        store, again = _store(), int(times > 1 and has_default_graph())
        store.again += again
        try:
            return fn(*args)
        finally:
            store.again -= again

    return call


def get_variable_scope() -> VariableScope:
    """The scope that holds here."""
    return _store().scope


def _refuse_partitioner(partitioner) -> None:
    if partitioner is not None:
        raise NotImplementedError(
            "variables are not partitioned: there is one place that they are in. Leave "
            "out `partitioner`."
        )


class variable_scope:
    """A context: names of variables that get_variable makes within it begin with its name and a
    slash; other operations stand in a name scope of that name.

    name_or_scope: a name, or a VariableScope to enter again; None: a new name made from
    default_name.
    reuse: True, variables must be there already; AUTO_REUSE, they are made where they are not;
    None, as around. auxiliary_name_scope=False: no name scope. partitioner is refused
    (NotImplementedError). ValueError without a name.
    """

    def __init__(
        self,
        name_or_scope,
        default_name: Any = None,
        values=None,
        initializer=None,
        regularizer=None,
        caching_device=None,
        partitioner=None,
        custom_getter=None,
        reuse=None,
        dtype=None,
        use_resource=None,
        constraint=None,
        auxiliary_name_scope=True,
    ):
        del values, caching_device
        if name_or_scope is None and default_name is None:
            raise ValueError("If default_name is None then name_or_scope is required")
        _refuse_partitioner(partitioner)
        self._given, self._default_name = name_or_scope, default_name
        self._options = {
            "initializer": initializer,
            "regularizer": regularizer,
            "custom_getter": custom_getter,
            "dtype": dtype,
            "use_resource": use_resource,
            "constraint": constraint,
        }
        self._reuse, self._auxiliary = reuse, auxiliary_name_scope
        self._contexts: list = []

    def __enter__(self) -> VariableScope:
        context = self._opened()
        self._contexts.append(context)
        return context.__enter__()

    def __exit__(self, *error):
        return self._contexts.pop().__exit__(*error)

    @contextlib.contextmanager
    def _opened(self):
        store = _store()
        before, counts = store.scope, None
        if self._given is None:
            if self._reuse:
                raise ValueError("reuse=True cannot be used without a name_or_scope")
            own = store.unique(self._default_name)
        else:
            own = self._given
        entered = isinstance(own, VariableScope)
        name = own.name if entered else f"{before.name}/{own}" if before.name else own
        with self._names(
            own if not entered else own.name.split("/")[-1] or None, entered
        ) as name_scope:
            made = self._make(own if entered else before, name, before, name_scope, entered)
            if entered:
                counts = {k: v for k, v in store.counts.items() if k.startswith(name + "/")}
                store.close_inner(name)
            else:
                store.counts[name] = store.counts.get(name, 0) + 1
                store.close_inner(name)
            store.scope = made
            try:
                yield made
            finally:
                store.scope = before
                if counts is not None:
                    store.counts.update(counts)

    def _names(self, name, entered: bool):
        if not self._auxiliary or not name:
            around = get_name_scope()
            return contextlib.nullcontext(around + "/" if around else "")
        return newer_scope(name) if not has_default_graph() else current().name_scope(name)

    def _make(self, base, name, around, name_scope, entered) -> VariableScope:
        reuse = self._reuse if self._reuse is not None else base.reuse
        if around.reuse is True and self._reuse is None:
            reuse = True
        made = VariableScope(
            reuse,
            name,
            base.initializer,
            base.regularizer,
            custom_getter=base.custom_getter,
            dtype=base.dtype,
            use_resource=base.use_resource,
            constraint=base.constraint,
            name_scope=base.original_name_scope if entered else name_scope,
        )
        for option, value in self._options.items():
            if value is None:
                continue
            if option == "custom_getter" and base.custom_getter is not None:
                value = _nested(value, base.custom_getter)
            setattr(made, "_" + option, value)
        return made


def _nested(inner, outer):
    def getter(getter, *args, **kwargs):
        return inner(lambda *a, **k: outer(getter, *a, **k), *args, **kwargs)

    return getter


def get_variable(
    name: str,
    shape=None,
    dtype=None,
    initializer=None,
    regularizer=None,
    trainable=None,
    collections=None,
    caching_device=None,
    partitioner=None,
    validate_shape=True,
    use_resource=None,
    custom_getter=None,
    constraint=None,
    synchronization=None,
    aggregation=None,
) -> Any:
    """The variable of a name within the variable scope that holds, made if it is not there.

    initializer: a function of (shape, dtype), a tensor, or a value; by default glorot_uniform for
    floating types, zeros for others. regularizer: a function of the variable whose result joins
    GraphKeys.REGULARIZATION_LOSSES.
    ValueError if it is there and the scope does not reuse, if it is not there and the scope does,
    or if its shape or dtype is another one.
    """
    del caching_device, synchronization, aggregation
    _refuse_partitioner(partitioner)
    store = _store()
    scope = store.scope
    full = f"{scope.name}/{name}" if scope.name else name
    options = {
        "shape": shape,
        "dtype": _gyre.as_dtype(dtype if dtype is not None else _dtype_of(initializer, scope)),
        "initializer": scope.initializer if initializer is None else initializer,
        "regularizer": scope.regularizer if regularizer is None else regularizer,
        "reuse": scope.reuse,
        "trainable": trainable,
        "collections": collections,
        "validate_shape": validate_shape,
        "use_resource": scope.use_resource if use_resource is None else use_resource,
        "constraint": scope.constraint if constraint is None else constraint,
    }
    getter = custom_getter or scope.custom_getter
    if custom_getter and scope.custom_getter:
        getter = _nested(custom_getter, scope.custom_getter)
    if getter is None:
        return _found(full, **options)
    return getter(_found, full, **options)


def _dtype_of(initializer, scope):
    if initializer is not None and not callable(initializer):
        if holds_tensor(initializer):
            return convert_to_tensor(initializer).dtype
        return initializer.dtype if hasattr(initializer, "dtype") else constant_dtype(initializer)
    return scope.dtype


def constant_dtype(value):
    """The dtype that a constant of a value has."""
    with _gyre.init_scope():
        return _gyre.tensor(value).dtype


def _found(
    name,
    shape=None,
    dtype: DTypeLike = "float32",
    initializer=None,
    regularizer=None,
    reuse=None,
    **options,
):
    """The variable of a full name: the true getter, at the end of custom ones."""
    if not has_default_graph():  # without a graph, each is another one
        return _made(name, shape, dtype, initializer, options)
    variables = _store().variables
    known = variables.get(name)
    if known is None:
        if reuse is True:
            raise ValueError(
                f"Variable {name} does not exist, or was not created with tf.get_variable(). Did "
                f"you mean to set reuse=tf.AUTO_REUSE in VarScope?"
            )
        known = variables[name] = _made(name, shape, dtype, initializer, options)
        if regularizer is not None:
            _regularize(known, name, regularizer)
        return known
    if not reuse and not _store().again:
        line = known.op.node.line
        raise ValueError(
            f"Variable {name} already exists, disallowed. Did you mean to set reuse=True or "
            f"reuse=tf.AUTO_REUSE in VarScope? Originally defined at {line}"
        )
    if shape is not None and not TensorShape(shape).is_compatible_with(known._dims):
        raise ValueError(
            f"Trying to share variable {name}, but specified shape {TensorShape(shape)} and "
            f"found shape {TensorShape(known._dims)}."
        )
    if _gyre.as_dtype(dtype) != known.dtype:
        raise ValueError(
            f"Trying to share variable {name}, but specified dtype {_gyre.as_dtype(dtype).name} "
            f"and found dtype {known.dtype.name}."
        )
    return known


def _made(name, shape, dtype, initializer: Any, options) -> Variable:
    if initializer is None:
        initializer = _default_initializer(name, dtype)
    shape = None if shape is None else TensorShape(shape)
    if callable(initializer) and not is_value(initializer):
        if shape is None or not shape.is_fully_defined():
            raise ValueError(
                f"Shape of a new variable ({name}) must be fully defined, but instead was "
                f"{TensorShape(shape)}."
            )
        maker = initializer() if isinstance(initializer, type) else initializer
        initial = functools.partial(maker, shape.as_list(), dtype=dtype)

    else:
        if shape is not None and shape.rank is not None:
            if not is_value(initializer) and not hasattr(initializer, "shape"):
                initial_shape = value_shape(initializer)
            else:
                initial_shape = TensorShape(initializer.shape)
            if not shape.is_compatible_with(initial_shape):
                raise ValueError("If initializer is a constant, do not specify shape: they differ.")

        def initial():
            if is_value(initializer):
                return initializer
            if holds_tensor(initializer):
                return convert_to_tensor(initializer, dtype)
            return constant(initializer, dtype)

    if not has_default_graph():
        with newer_scope(None):  # the name is a full one
            return Variable(initial, dtype=dtype, name=name, **options)
    graph = current()
    scope = graph.get_name_scope()
    _gyre.set_scope_name(graph, "")
    try:
        return Variable(initial, dtype=dtype, full_name=name, **options)
    finally:
        _gyre.set_scope_name(graph, scope)


def value_shape(value) -> TensorShape:
    """The shape that a constant of a value has."""
    with _gyre.init_scope():
        return TensorShape(_gyre.tensor(value)._dims)


def _default_initializer(name, dtype):
    if dtype.is_floating:
        return initializers.glorot_uniform_initializer()
    if dtype.is_integer or dtype.is_bool or dtype.is_complex or dtype.name == "string":
        return initializers.zeros_initializer()
    raise ValueError(f"An initializer for variable {name} of type {dtype.name} is required")


def _regularize(variable, name, regularizer) -> None:
    graph = current()
    with graph.name_scope(name + "/Regularizer/"):
        loss = regularizer(variable.read_value())
    if loss is not None:
        graph.add_to_collection(GraphKeys.REGULARIZATION_LOSSES, loss)


def get_local_variable(name: str, *args, collections=None, **kwargs) -> Any:
    """As get_variable, of a variable that is neither trained nor saved."""
    names = [*(collections or []), GraphKeys.LOCAL_VARIABLES]
    return get_variable(name, *args, **{**kwargs, "collections": names, "trainable": False})


@contextlib.contextmanager
def variable_op_scope(values, name_or_scope, default_name=None, **options) -> Iterator[Any]:
    """As variable_scope."""
    del values
    with variable_scope(name_or_scope, default_name, **options) as scope:
        yield scope


def no_regularizer(_) -> None:
    """A regularizer that adds nothing."""
    return None

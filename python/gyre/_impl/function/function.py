"""`gyre.function`: a Python function, traced once per signature and run as a graph."""

from __future__ import annotations

import functools
import inspect
import types
import weakref
from typing import Any

from gyre import _gyre
from gyre._impl import nest
from gyre._impl.config import Switches
from gyre._impl.control_flow.loop_options import checked_memory
from gyre._impl.convert import convert_to_tensor
from gyre._impl.dtypes import with_article
from gyre._impl.function import concrete, recursion, retracing
from gyre._impl.function.members import FunctionMembers
from gyre._impl.function.signature import Parameters, covers, generalise, same_ranks
from gyre._impl.locks import lazily, reentrant_lock
from gyre._impl.spec import TensorSpec, TypeSpec
from gyre._impl.tracing import lines
from gyre._impl.tracing.state import anew
from gyre._impl.tracing.tracebacks import quiet
from gyre._impl.tracing.variables import Creation

_signature = _gyre.signature


class _Trace:
    """A concrete function, the dims that it takes, and the how-manieth it is."""

    __slots__ = ("leaves", "dims", "concrete", "number")

    def __init__(self, leaves, dims, made, number):
        self.leaves, self.dims, self.concrete, self.number = leaves, dims, made, number


class Function(FunctionMembers):
    """What `gyre.function` makes. Call it like the Python function.

    python_function: what it was made of.  name: of its graphs."""

    def __init__(
        self,
        python_function,
        name=None,
        input_signature=None,
        autograph=True,
        reduce_retracing=True,
        memory=None,
        compile="auto",
        owner=None,
        options=None,
    ):
        lines.install()
        _wrap(self, python_function)
        self.python_function = python_function
        self.name = name or getattr(python_function, "__name__", "function").replace(
            "<lambda>", "lambda"
        )
        self.__name__ = getattr(python_function, "__name__", self.name)
        self.input_signature = _checked_signature(input_signature)
        self.autograph, self.reduce_retracing = autograph, reduce_retracing
        self.memory = checked_memory(memory)
        self.compile, self._options = compile, options or {}
        self._owner = None if owner is None else weakref.ref(owner)
        self._bound = weakref.WeakKeyDictionary()  # of methods: instance -> Function
        self._lock = reentrant_lock()
        self._traces = {}  # token -> [_Trace]
        self._exact = {}  # (token, dims) -> ConcreteFunction
        self._fast = {}  # key of tensors -> runs
        self._nested = {}  # (token, dims) of calls in other functions -> their arguments, as specs
        self._created = False  # whether the first trace is over
        self._count = 0
        if inspect.iscoroutinefunction(python_function) or inspect.isasyncgenfunction(
            python_function
        ):
            code = python_function.__code__
            raise TypeError(
                f"{self.name} ({code.co_filename}:{code.co_firstlineno}) is async: a graph "
                f"has no event loop. Make it a plain function; gyre runs in parallel what "
                f"does not depend on each other"
            )
        if inspect.isgeneratorfunction(python_function):
            code = python_function.__code__
            raise TypeError(
                f"{self.name} ({code.co_filename}:{code.co_firstlineno}) is a generator: a run "
                f"of a graph has its results at once. Return a list, or append to one in a loop"
            )

    @lazily
    def parameters(self):
        """The parameters that calls hand over."""
        return Parameters(self.python_function, self.name, skip_first=self._owner is not None)

    @lazily
    def _python(self):
        return concrete.converted(self.python_function, self.autograph)

    def _traced(self):
        """What is traced, bound to its instance."""
        if self._owner is None:
            return self._python
        owner = self._owner()
        if owner is None:
            raise ReferenceError(f"the object of the method {self.name} is gone")
        return types.MethodType(self._python, owner)

    # ---- Calls

    def _call(self, args, kwargs):
        if Switches.functions_eager:
            return self._run_eagerly(args, kwargs or {})
        if not kwargs:
            run = self._fast.get(_signature(args))
            if run is not None:
                return run(args)
            kwargs = {}
        return self._run(args, kwargs)

    def _run(self, args, kwargs):
        leaves = self._leaves(args, kwargs)
        if _gyre.current_graph() is not None:
            if (leaves.token, leaves.dims) not in self._nested:
                self._nested[leaves.token, leaves.dims] = leaves.specs()
            return recursion.call(self, self._traced(), leaves)
        tensors = leaves.tensors
        found = self._find_or_trace(leaves)
        key = _signature(args) if not kwargs and not self._owner_gone() else None
        if key is not None and len(args) == len(tensors):
            self._fast[key] = found.run_tuple
        return found.run(tensors)

    def _run_eagerly(self, args, kwargs):
        """As plain Python: see gyre.config.run_functions_eagerly."""
        owner = () if self._owner is None else (self._owner(),)
        return self.python_function(*owner, *args, **kwargs)

    def _owner_gone(self):
        return self._owner is not None and self._owner() is None

    def _leaves(self, args, kwargs):
        args, kwargs = self.parameters.bind(args, kwargs)
        if self.input_signature is not None:
            values = self._fit(self.input_signature, args, kwargs)
            args, kwargs = values[: len(args)], dict(zip(kwargs, values[len(args) :], strict=True))
        if "implements" in self._options:
            args, kwargs = tuple(map(_as_input, args)), {k: _as_input(v) for k, v in kwargs.items()}
        return self.parameters.leaves(args, kwargs)

    def _fit(self, signature: tuple, args, kwargs):
        """Arguments as the input signature has them."""
        values = (*args, *kwargs.values())
        if len(values) > len(signature):
            given = values[len(signature) :]
            defaults = [
                parameter.default for parameter in self.parameters.signature.parameters.values()
            ][len(signature) :]
            if any(a is not b for a, b in zip(given, defaults, strict=False)) or len(
                defaults
            ) < len(given):
                raise TypeError(
                    f"{self.name} takes {len(signature)} arguments, as its "
                    f"input_signature says, but was given {len(values)}"
                )
        head = tuple(values[: len(signature)])
        if len(head) < len(signature):
            raise TypeError(
                f"{self.name} takes {len(signature)} arguments, as its "
                f"input_signature says, but was given {len(head)}"
            )

        def fit(spec, value) -> Any:
            if nest.is_nested(spec):
                self._check_form(spec, value)
                if isinstance(spec, dict):
                    return {key: fit(part, value[key]) for key, part in spec.items()}
                parts = [fit(*pair) for pair in zip(spec, value, strict=True)]
                return type(spec)(*parts) if hasattr(spec, "_fields") else type(spec)(parts)
            if isinstance(spec, TypeSpec) and not isinstance(spec, TensorSpec):
                return fit_composite(spec, value)
            return fit_tensor(spec, value)

        def fit_tensor(spec, value):
            if not isinstance(spec, TensorSpec) or isinstance(value, TensorSpec):
                return value
            tensor = (
                _gyre.convert(value)
                if isinstance(value, _gyre.Tensor)
                else _gyre.convert(value, spec.dtype)
            )
            if tensor.dtype != spec.dtype or not spec.shape.is_compatible_with(tensor._dims):
                raise TypeError(
                    f"{self.name} was given {with_article(tensor.dtype)} tensor of shape "
                    f"{tensor.shape} where its input_signature says {spec}"
                )
            if tensor.is_symbolic and not covers(spec._dims, tensor._dims):
                tensor = _gyre.execute("EnsureShape", [tensor], {"shape": spec._dims})[0]
            return tensor

        def fit_composite(spec, value):
            if not isinstance(value, (spec.value_type, type(spec))) or len(
                nest.flatten(spec, True)
            ) != len(nest.flatten(value, True)):
                raise TypeError(
                    f"{self.name} was given {value!r} where its input_signature says {spec}"
                )
            parts = [
                fit_tensor(*pair)
                for pair in zip(nest.flatten(spec, True), nest.flatten(value, True), strict=True)
            ]
            return nest.pack_sequence_as(value, parts, expand_composites=True)

        return (*fit(signature, head), *values[len(signature) :])

    def _check_form(self, spec, value) -> None:
        """TypeError: a part of the input signature holds parts, and what is given has others."""
        if isinstance(spec, dict):
            has, wants = value.keys() if isinstance(value, dict) else None, spec.keys()
            if has == wants:
                return
            given = (
                f"a {type(value).__name__}" if has is None else f"a dict with the keys {list(has)}"
            )
            asked = f"one with the keys {list(wants)}"
        else:
            if isinstance(value, (list, tuple)) and len(value) == len(spec):
                return
            size = f" of {len(value)} items" if isinstance(value, (list, tuple)) else ""
            given = f"a {type(value).__name__}{size}"
            asked = f"a {type(spec).__name__} of {len(spec)}"
        raise TypeError(f"{self.name} was given {given} where its input_signature says {asked}")

    # ---- Traces

    def _find_or_trace(self, leaves):
        found = self._exact.get((leaves.token, leaves.dims))
        if found is not None:
            return found
        with self._lock:
            for trace in self._traces.get(leaves.token, ()):
                if all(map(covers, trace.dims, leaves.dims)):
                    self._exact[leaves.token, leaves.dims] = trace.concrete
                    return trace.concrete
            return self._trace(leaves)

    def _trace(self, leaves):
        dims = self._dims(leaves)
        retracing.note(self, leaves, self._traces)
        with Creation(self) as creation, anew(self.memory):
            made = concrete.trace(self, leaves, dims, self._traced())
        if creation.variables:  # those must be the last: they are not made again
            with Creation(self), anew(self.memory):
                made = concrete.trace(self, leaves, dims, self._traced())
        leaves.forget()
        self._count += 1
        self._traces.setdefault(leaves.token, []).append(_Trace(leaves, dims, made, self._count))
        self._exact[leaves.token, leaves.dims] = made
        return made

    def _dims(self, leaves):
        """The dims to trace for: those given, left open where an earlier trace had others."""
        if self.input_signature is not None:
            specs = [
                spec
                for spec in nest.flatten(self.input_signature, expand_composites=True)
                if isinstance(spec, TensorSpec)
            ]
            if len(specs) == len(leaves.dims):
                return tuple(spec._dims for spec in specs)
        dims = leaves.dims
        if self.reduce_retracing is not False:
            for trace in self._traces.get(leaves.token, ()):
                if same_ranks(trace.dims, dims):
                    dims = tuple(map(generalise, trace.dims, dims))
        return dims

    @quiet
    def get_concrete_function(self, *args, **kwargs):
        """The trace for these arguments: tensors, TensorSpecs for tensors, or what else calls take.
        With an input_signature no arguments are needed."""
        if not args and not kwargs and self.input_signature is not None:
            args = self.input_signature
        specs, names = [], []

        def example(value):
            if not isinstance(value, TensorSpec):
                return value
            specs.append(value)
            with _gyre.Graph("signature") as graph:
                made = graph.placeholder(value.dtype, value._dims, value.name or "")
            names.append((made, value.name))
            return made

        args, kwargs = nest.map_structure(example, (args, kwargs), expand_composites=True)
        if self.input_signature is not None and specs:
            leaves = self.parameters.leaves(*self.parameters.bind(args, kwargs))
            self._require_within_signature(leaves)
        else:
            leaves = self._leaves(args, kwargs)
        if names:
            leaves.names = [next((n for t, n in names if t is x), None) for x in leaves.tensors]
        with self._lock, _gyre.init_scope():
            found = self._traced_for(leaves)
            return found or self._trace_exactly(leaves)

    def _trace_nested(self) -> None:
        """Makes traces of its own for the arguments of calls in other functions, as far as none
        that it has takes them."""
        for (token, dims), specs in list(self._nested.items()):
            traces = self._traces.get(token, ())
            if specs and not any(all(map(covers, trace.dims, dims)) for trace in traces):
                args, kwargs = specs
                self.get_concrete_function(*args, **kwargs)

    def _traced_for(self, leaves):
        """The concrete function for such arguments, the one of just their sizes if there is one;
        None if there is none whose inputs have the names that are asked for."""
        found = None
        for trace in self._traces.get(leaves.token, ()):
            if not trace.concrete.has_names(leaves.names):
                continue
            if trace.dims == leaves.dims:
                return trace.concrete
            if found is None and all(map(covers, trace.dims, leaves.dims)):
                found = trace.concrete
        return found

    def _require_within_signature(self, leaves) -> None:
        """TypeError: a spec among these arguments is not within the input signature."""
        specs = nest.flatten(self.input_signature, expand_composites=True)
        for spec, tensor in zip(specs, leaves.tensors, strict=False):
            if isinstance(spec, TensorSpec) and not (
                spec.dtype == tensor.dtype and spec.shape.is_compatible_with(tensor._dims)
            ):
                raise TypeError(
                    f"{self.name} was asked for {with_article(tensor.dtype)} tensor of shape "
                    f"{tensor.shape} where its input_signature says {spec}"
                )

    def _trace_exactly(self, leaves):
        relax, self.reduce_retracing = self.reduce_retracing, False
        try:
            return self._trace(leaves)
        finally:
            self.reduce_retracing = relax

    @property
    def latest(self):
        """The newest concrete function; None if it was never traced."""
        traces = [trace for traces in self._traces.values() for trace in traces]
        return max(traces, key=lambda trace: trace.number).concrete if traces else None

    def traced(self, args, kwargs):
        """(concrete function, the tensors to run it with) of a call with these arguments."""
        leaves = self._leaves(args, kwargs)
        tensors = list(leaves.tensors)
        return self._find_or_trace(leaves), tensors

    def experimental_get_tracing_count(self):
        """How many traces there are."""
        return self._count

    def pretty_printed_concrete_signatures(self, verbose=True):
        """The signatures that were traced, a line each."""
        return "\n".join(
            f"{self.name}{trace.concrete.structured_input_signature}"
            for traces in self._traces.values()
            for trace in traces
        )

    # ---- Methods

    def __get__(self, instance, owner=None):
        if instance is None:
            return self
        return Method(self._of(instance), instance)

    def _of(self, instance):
        """The function of one instance: it has traces of its own, and does not keep the
        instance."""
        try:
            return self._bound[instance]
        except KeyError:
            pass
        except TypeError:  # not hashable, or not weakly referable
            kept = getattr(instance, "__dict__", {}).get(f"_gyre_{id(self)}")
            if kept is not None:
                return kept
        bound = Function(
            self.python_function,
            self.name,
            self.input_signature,
            self.autograph,
            bool(self.reduce_retracing),
            self.memory,
            self.compile,
            owner=instance,
            options=self._options,
        )
        bound.__dict__["_python"] = self._python
        try:
            self._bound[instance] = bound
        except TypeError:
            object.__setattr__(instance, f"_gyre_{id(self)}", bound)
        return bound

    def __repr__(self):
        return f"<gyre.function {self.name}>"


def _as_input(value):
    """An argument of a function that implements an interface: variables by what they hold, numbers
    and lists of them as tensors, so that it has one trace for all."""
    leaves = nest.flatten(value)
    if all(isinstance(leaf, (bool, int, float, complex)) for leaf in leaves) and leaves:
        return convert_to_tensor(value)
    return nest.map_structure(
        lambda leaf: convert_to_tensor(leaf) if hasattr(leaf, "read_value") else leaf, value
    )


def _checked_signature(signature) -> tuple | None:
    """An input_signature, whose leaves say types."""
    if signature is None:
        return None
    for leaf in nest.flatten(tuple(signature)):
        if not isinstance(leaf, TypeSpec):
            raise TypeError(
                f"input_signature holds {leaf!r}, which is no TypeSpec: say "
                "gyre.TensorSpec(shape, dtype) of each argument"
            )
    return tuple(signature)


def _wrap(function, python_function):
    """As functools.update_wrapper: tools and decorators take the one for the other. Attributes of a
    function come along, but for names that mean something of a Function."""
    functools.update_wrapper(function, python_function, updated=())
    if isinstance(python_function, types.FunctionType):
        vars(function).update(
            {
                name: value
                for name, value in vars(python_function).items()
                if name != "__wrapped__" and not hasattr(Function, name)
            }
        )


class Method(_gyre.QuietCallable):
    """A function of an instance: what `instance.name` gives, as Python's bound methods. Keeps the
    instance; everything else is the function's, traces and all, which are there as long as it
    is."""

    def __init__(self, function, instance):
        self.function, self.__self__ = function, instance
        self.__module__, self.__doc__ = function.__module__, function.__doc__

    @property
    def __func__(self):
        """The Python function."""
        return self.function.python_function

    @property
    def __signature__(self):
        """Without the instance."""
        return inspect.signature(types.MethodType(self.__func__, self.__self__))

    def _call(self, args, kwargs):
        return self.function._call(args, kwargs)

    def __getattr__(self, name):
        return getattr(self.function, name)

    def __eq__(self, other):
        return isinstance(other, Method) and self.function is other.function

    def __hash__(self):
        return hash(self.function)

    def __repr__(self):
        return f"{self.function!r} of {self.__self__!r}"


@quiet
def function(
    func=None,
    input_signature=None,
    autograph: bool = True,
    reduce_retracing: bool = True,
    name: str | None = None,
    memory: str | None = None,
    jit_compile: bool | None = None,
    contract: bool = False,
    experimental_implements=None,
    experimental_autograph_options=None,
    experimental_attributes=None,
    experimental_relax_shapes=None,
) -> Any:
    """Makes a Python function run as a graph: traced when it is first called with arguments of a
    new kind, run without Python from then on.

    Tensors (and numpy arrays) are arguments of the graph: there is one trace per dtype and rank,
    and shape; the second shape that differs from an earlier one leaves the differing sizes open.
    Python numbers, strings and so on are part of the signature by value, objects by identity.
    Variables may be created by the first call only.

    input_signature: TensorSpecs of the arguments: then there is one trace.
    autograph: whether plain Python `if`, `while`, `for` on tensors become part of the graph.
    memory: what gradients keep of loops that do not say themselves: "save", "recompute(k)", …
    jit_compile: whether small loops become native code: before the first run (True), never
    (False), or once they have run for some milliseconds, while they run on (None). Results have
    the same bits. Calls of other functions within this one are part of it.
    contract: compiles as jit_compile=True does, and lets native code round a * b + c once, which is
    faster and changes the last bits.
    experimental_implements, experimental_autograph_options: for TensorFlow's sake. Nothing replaces
    functions by their names; conversion is complete.
    experimental_attributes: {"_disable_acd": True}: what has effects runs where results need it
    alone. Others are notes for other programs.

    As a decorator, with or without arguments, on functions and methods. TypeError for async
    ones."""
    if not (jit_compile is None or isinstance(jit_compile, bool)):
        raise TypeError(f"jit_compile must be True, False or None, not {jit_compile!r}")
    if not isinstance(contract, bool):
        raise TypeError(f"contract must be True or False, not {contract!r}")
    if contract and jit_compile is False:
        raise ValueError("contract=True is about native code, and jit_compile=False wants none")
    if experimental_relax_shapes is not None:
        reduce_retracing = experimental_relax_shapes
    if func is None:
        return functools.partial(
            function,
            input_signature=input_signature,
            autograph=autograph,
            reduce_retracing=reduce_retracing,
            name=name,
            memory=memory,
            jit_compile=jit_compile,
            contract=contract,
            experimental_implements=experimental_implements,
            experimental_autograph_options=experimental_autograph_options,
            experimental_attributes=experimental_attributes,
        )
    options = {
        key: value
        for key, value in (
            ("implements", experimental_implements),
            ("autograph_options", experimental_autograph_options),
            ("attributes", experimental_attributes),
        )
        if value is not None
    }
    given = (name, input_signature, autograph, reduce_retracing, memory)
    native = {None: "auto", True: "always", False: "never"}[jit_compile]
    compile = "contract" if contract else native
    if isinstance(func, Method):
        func = types.MethodType(func.python_function, func.__self__)
    if isinstance(func, Function):
        func = func.python_function
    if isinstance(func, types.MethodType):
        made = Function(func.__func__, *given, compile, options=options)
        return made.__get__(func.__self__)
    if not callable(func):
        raise TypeError(f"gyre.function takes a callable, not a {type(func).__name__}")
    return Function(func, *given, compile, options=options)

"""ConcreteFunction: one trace of a Python function, compiled."""

import collections
import contextlib
import re
import types

from gyre import _gyre
from gyre._impl import errors, nest
from gyre._impl.annotations import Any
from gyre._impl.autodiff import calls, tape
from gyre._impl.autodiff.backprop import is_differentiable
from gyre._impl.autograph import calls as conversion
from gyre._impl.convert import convert_to_tensor
from gyre._impl.function import known
from gyre._impl.function.concrete_members import ConcreteMembers
from gyre._impl.function.graph import FunctionGraph
from gyre._impl.function.signature import by_name
from gyre._impl.notebooks import html
from gyre._impl.shape import TensorShape
from gyre._impl.spec import TensorSpec
from gyre._impl.tracing import raising, watchers
from gyre._impl.tracing.lists import TracedList
from gyre._impl.tracing.variables import Arguments, variable_of

_Tensor = _gyre.Tensor


class ConcreteFunction(ConcreteMembers):
    """A graph with inputs and outputs. Calling it with tensors of its signature runs it; so does
    handing it all arguments as the Python function takes them.

    graph: what was traced (a FunctionGraph).  inputs: its placeholders, of captured tensors last.
    outputs: flat tensors of the graph.  structured_outputs: as the Python function returned them.
    captured_inputs: eager tensors of outside that it uses.  variables: those it uses."""

    def __init__(self, name, graph, leaves, placeholders, structured_outputs, parameters=None):
        self.name, self.parameters = name, parameters
        self.graph: FunctionGraph = graph
        self.structured_outputs = structured_outputs
        self._leaves = leaves
        self._arguments = placeholders
        self.outputs = nest.flatten(structured_outputs, expand_composites=True)
        captures, late = graph.captures, graph.late_captures
        self.set_external_captures([*(eager for eager, _ in captures), *late])
        self.inputs = placeholders + [inside for _, inside in captures]
        self.inputs += [placeholder for one in late for placeholder in one.placeholders]
        self._handles = graph.handles
        self._executable = graph.prepare(
            self.inputs, self.outputs, effects=graph.effects_are_results
        )
        self._pack = _packer(structured_outputs)
        graph.structured_outputs = structured_outputs
        graph._arguments = leaves, placeholders

    @property
    def structured_input_signature(self):
        """(args, kwargs) with a TensorSpec for each tensor."""
        return self.graph.structured_input_signature

    def _call(self, args, kwargs):
        return self.run(self.tensors_of(args, kwargs))

    def tensors_of(self, args, kwargs):
        """The tensors among the arguments of a call, in order."""
        if (
            kwargs
            or len(args) != len(self._arguments)
            or not all(isinstance(arg, _Tensor) for arg in args)
        ):
            args = self._bind(args, kwargs or {})
        return list(args)

    def _bind(self, args, kwargs):
        """The tensors of a call with all arguments or, else, with a tensor for each tensor."""
        try:
            return self._bound(args, kwargs)
        except (TypeError, ValueError) as error:
            try:
                return self._flat(args, kwargs)
            except TypeError:
                raise error from None

    def _bound(self, args, kwargs):
        """Of all arguments: what is no tensor must be what it was traced for."""
        if self.parameters is None:
            raise TypeError(f"{self.name} takes {len(self._arguments)} tensors")
        self._require_given(args, kwargs)
        given = self.parameters.bind(args, kwargs)
        leaves = self.parameters.leaves(*given)
        if leaves.token == self._leaves.token:
            return leaves.tensors
        wanted = self.structured_input_signature
        pairs = nest.flatten_with_paths(wanted, expand_composites=True)
        found = nest.flatten_with_paths(given, expand_composites=True)
        if [path for path, _ in pairs] != [path for path, _ in found]:
            raise TypeError(f"{self.name} was traced for arguments of another structure")
        tensors = []
        for (path, spec), (_, value) in zip(pairs, found, strict=True):
            if isinstance(spec, TensorSpec):
                tensors.append(self._tensor_for(spec, value, path))
            elif value is not spec and value != spec:
                raise TypeError(
                    f"{self.name} was traced for {spec!r} as {self.parameters.name_of(path)}, and "
                    f"Can not cast {value!r} to it"
                )
        return tensors

    def _require_given(self, args, kwargs):
        """TypeError: an argument is left to its default, for which the function was traced as a
        tensor."""
        given = self.parameters.given(args, kwargs)
        for path in self._leaves.paths():
            name = self.parameters.name_of(path).partition("[")[0]
            if name in self.parameters.signature.parameters and name not in given:
                raise TypeError(f"{self.name} misses a required argument: '{name}'")

    def _tensor_for(self, spec, value, path):
        """A tensor of the dtype that the function was traced for."""
        if not isinstance(value, _Tensor):
            value = _gyre.convert(value, None if hasattr(value, "__gyre_tensor__") else spec.dtype)
        if value.dtype != spec.dtype:
            raise TypeError(
                f"{self.name} was traced for a tensor of {spec.dtype.name} as "
                f"{self.parameters.name_of(path)}, not of {value.dtype.name}"
            )
        return value

    def has_names(self, names) -> bool:
        """Whether its inputs have these names, as far as they are given."""
        return all(
            name is None or argument.name == _identifier(name)
            for argument, name in zip(self._arguments, names or (), strict=False)
        )

    def _names_of_parameters(self) -> dict:
        """By names of parameters, numbered where they have several tensors ("x", "x_1"): the names
        of its inputs."""
        if self.parameters is None:
            return {}
        found: dict = {}
        counts: collections.Counter = collections.Counter()
        for path, argument in zip(self._leaves.paths(), self._arguments, strict=True):
            base = _identifier(re.split(r"[\[.]", self.parameters.name_of(path))[0])
            found[f"{base}_{counts[base]}" if counts[base] else base] = argument.name
            counts[base] += 1
        return found

    def _flat(self, args, kwargs):
        """Of a tensor for each that it takes, in order or by the names of its inputs, or of its
        parameters."""
        names = [argument.name for argument in self._arguments]
        if any(name not in names for name in kwargs):
            others = self._names_of_parameters()
            kwargs = {others.get(name, name): value for name, value in kwargs.items()}
        given = by_name(self.name, names, args, kwargs)
        for name, value in given.items():
            if not (isinstance(value, _Tensor) or hasattr(value, "__array__")):
                raise TypeError(
                    f"{self.name} takes a tensor as '{name}', not a {type(value).__name__}"
                )
        return [_gyre.convert(given[name]) for name in names]

    def _call_with_flat_signature(self, args, kwargs):
        """The results, of a tensor for each that it takes, in order or by names of inputs."""
        return self.run(self._flat(args, kwargs))

    def run(self, tensors):
        """Of the tensors among the arguments, in order: the structured results."""
        if self._captured:
            tensors = tensors + self._captures()
        if _gyre.current_graph() is not None:
            return self._pack(self.replay(tensors))
        if _gyre.is_heard():
            return self._pack(self._run_recorded(tensors))
        by = watchers.current()
        if by is not None:
            return self._pack(watchers.run(self._executable, tensors, by))
        try:
            return self._pack(self._executable(tensors))
        except errors.InvalidArgumentError:
            if _fit(self.inputs, tensors):
                raise
        return self._pack(self._for_others(tensors)(tensors))

    def _for_others(self, tensors):
        """The same graph for tensors of other shapes than it was traced for: what its operations
        make of them."""
        table = self.__dict__.setdefault("_of_others", {})
        dims = tuple(tensor._dims for tensor in tensors)
        if dims not in table:
            with FunctionGraph(self.name) as graph:
                inputs = [graph.placeholder(tensor.dtype, tensor._dims) for tensor in tensors]
                results, _ = _gyre.add_traced(self.graph, self.inputs, self.outputs, inputs)
            table[dims] = graph.prepare(inputs, results)
        return table[dims]

    def run_in_graph(self, tensors, captured):
        """Adds a call to the current graph, with these in the place of the captured inputs."""
        return self._pack(self.replay([*tensors, *captured]))

    @staticmethod
    def _asked(graph: Any, value: Any) -> list:
        return graph.captured_late(value)

    def _captures(self) -> list:
        """What it uses of outside. Values that it asks for are those of this call; within a
        function that is being traced, of its calls."""
        if not self._asks:
            return self._captured
        graph: Any = _gyre.current_graph()
        if not isinstance(graph, FunctionGraph):
            return self.captured_inputs
        captures: list[Any] = self._captured
        return [
            tensor
            for value in captures
            for tensor in (self._asked(graph, value) if callable(value) else [value])
        ]

    def run_tuple(self, tensors):
        """As run, of eager tensors in a tuple while no graph is current: the quick way."""
        if self._captured:
            tensors = (*tensors, *self._captures())
        if _gyre.is_heard():
            return self._pack(self._run_recorded(tensors))
        by = watchers.current()
        return self._pack(
            self._executable(tensors) if by is None else watchers.run(self._executable, tensors, by)
        )

    def _run_recorded(self, tensors):
        """The results, of a call that tapes hear of, or that is in what may be called again."""
        if _gyre.logs_effects():
            effects = self._executable.effects
            if effects == "more":
                return self._run_once(tensors)
            if effects == "reads":
                _gyre.require_unchanged(self.name, self._handles)
        self._tell_accessed()
        inputs = [*tensors, *self._handles]
        wanted, order = tape.watched(inputs)
        derivatives = self._derivatives_for(wanted, order) if order else None
        if derivatives is None:
            outputs, entry = _run(self._executable, tensors), self
        else:
            outputs, saved = derivatives.call(_run, tensors)
            entry = calls.Call(self, derivatives, saved)
        _gyre.record(entry, inputs, outputs)
        return outputs

    def _run_once(self, tensors):
        """The results of a call with effects, within a function that may be called again: then
        it gives the same, and tapes go back over what was saved."""
        inputs = [*tensors, *self._handles]

        def first(orders):
            wanted = [is_differentiable(tensor.dtype) for tensor in tensors]
            for handle in self._handles:
                variable = variable_of(handle)
                wanted.append(variable is not None and is_differentiable(variable.dtype))
            # The log's owner has a tape of its own, of which nobody asks for derivatives.
            orders += _gyre.num_recording() - 1
            derivatives = self._derivatives_for(tuple(wanted), orders)
            if derivatives is None:
                return _run(self._executable, tensors), [], None
            return *derivatives.call(_run, tensors), derivatives

        outputs, saved, derivatives = _gyre.run_once(self.name, first)
        self._tell_accessed()
        entry = self if derivatives is None else calls.Call(self, derivatives, saved)
        _gyre.record(entry, inputs, outputs)
        return outputs

    def _derivatives_for(self, wanted, order):
        """The function with its derivatives by some inputs and variables; None where it has none,
        of which a tape that is asked for them will tell."""
        table = self.__dict__.setdefault("_derivatives", {})
        if (wanted, order) not in table:
            variables = [variable_of(handle) for handle in self._handles]
            made = None
            if calls.may_have_derivatives(self.inputs, self.outputs):
                with tape.paused(), contextlib.suppress(errors.OpError):
                    made = calls.Derivatives(
                        self.name, self.graph, self.inputs, self.outputs, variables, wanted, order
                    )
            table[wanted, order] = made
        return table[wanted, order]

    def _tell_accessed(self):
        """Tells the tapes of the variables that it reads."""
        if not tape.recording():
            return
        for handle in self._handles:
            variable = variable_of(handle)
            if variable is not None and variable.is_watched:
                tape.accessed(handle)

    def replay(self, inputs):
        """Adds a call to the graph that is current. `inputs`: arguments, captured inputs, and
        handles of variables, which the graph finds by itself."""
        inputs = inputs[: len(self.inputs)]
        if not _fit(self.inputs, inputs):
            given = ", ".join(str(TensorSpec(x._dims, x.dtype)) for x in inputs)
            taken = ", ".join(str(TensorSpec(x._dims, x.dtype)) for x in self.inputs)
            raise TypeError(
                f"{self.name} was traced for other shapes: Can not cast {given} to {taken}"
            )
        self._tell_accessed()
        graph = _gyre.current_graph()
        function = known.find(graph, self)
        if function is not None:
            return function(inputs)
        effects = None if self.graph.effects_are_results else []
        function = _gyre.GraphFunction.of_graph(
            self.name, self.graph, self.inputs, self.outputs, effects
        )
        results = function(inputs)
        known.note(graph, self, function, not function.needs_scope)
        return results

    def run_with_options(self, tensors, **options):
        """(results, what Executable.run tells) of a run with a deadline, a budget, a trace, ….
        Takes the options of `_gyre.Executable.run`, beside those of who watches."""
        by = watchers.current()
        options = {**({} if by is None else by.options), **options}
        outputs, told = self._executable.run(list(tensors) + self._captures(), **options)
        return self._pack(outputs), told

    _repr_html_ = html

    def __repr__(self):
        return (
            f"<ConcreteFunction {self.name}{self.pretty_printed_signature(False)} at {id(self):#x}>"
        )


def _fit(inputs, tensors) -> bool:
    """Whether tensors may be of the shapes that inputs were traced for."""
    return all(
        mine is None
        or theirs is None
        or len(mine) == len(theirs)
        and all(a is None or b is None or a == b for a, b in zip(mine, theirs, strict=True))
        for mine, theirs in ((i._dims, t._dims) for i, t in zip(inputs, tensors, strict=False))
    )


def _run(executable, tensors):
    by = watchers.current()
    return executable(tensors) if by is None else watchers.run(executable, tensors, by)


def _packer(structure):
    """From flat results to the structure; quick for what is common."""
    if isinstance(structure, _Tensor):
        return lambda outputs: outputs[0]
    if structure is None:
        return lambda outputs: None
    if type(structure) in (tuple, list) and all(isinstance(part, _Tensor) for part in structure):
        return tuple if type(structure) is tuple else lambda outputs: outputs
    holds_lists = _any_list(structure)

    def pack(outputs):
        values = nest.pack_sequence_as(structure, outputs, expand_composites=True)
        if holds_lists and _gyre.current_graph() is None:
            return nest.map_structure(
                lambda value: value.to_list() if isinstance(value, TracedList) else value, values
            )
        return values

    return pack


def _any_list(structure):
    return any(isinstance(leaf, TracedList) for leaf in nest.flatten(structure))


def flat_results(name, results):
    """(structure whose leaves are tensors of the current graph, those leaves)."""

    def convert(path, leaf):
        if isinstance(leaf, _Tensor):
            return _gyre.convert(leaf)
        if (
            isinstance(leaf, (bool, int, float, complex, str, bytes))
            or hasattr(leaf, "__array__")
            or (hasattr(leaf, "__gyre_tensor__"))
        ):
            return _gyre.convert(leaf)
        if isinstance(leaf, TensorShape) and leaf.is_fully_defined():
            return convert_to_tensor(leaf)
        place = f" at {path}" if path else ""
        raise TypeError(
            f"{name} returns a {type(leaf).__name__}{place}: a gyre.function returns tensors, "
            f"and structures of them"
        )

    structure = nest.map_structure_with_paths(convert, results, expand_composites=True)
    return structure, nest.flatten(structure, expand_composites=True)


def trace(function, leaves, dims, python):
    """Traces python(*args, **kwargs) with placeholders of these dims for the tensors."""
    graph = FunctionGraph(function.name)
    graph.compile = function.compile
    graph.effects_are_results = not function._attributes.get("_disable_acd")
    with graph:
        said = leaves.names or [None] * len(leaves.tensors)
        placeholders = [
            graph.placeholder(
                tensor.dtype, shape, _identifier(name or function.parameters.name_of(path))
            )
            for tensor, shape, path, name in zip(
                leaves.tensors, dims, leaves.paths(), said, strict=True
            )
        ]
        args, kwargs = leaves.rebuild(placeholders)
        _require_names(function.name, kwargs)
        before = nest.flatten_with_paths((args, kwargs), expand_composites=True)
        try:
            with Arguments(graph, placeholders, list(leaves.tensors)):
                results = python(*args, **kwargs)
                require_kept(function, before, (args, kwargs))
                structure, _ = flat_results(function.name, results)
        except RecursionError as error:
            raising.explain_recursion(error)
            raise
        return ConcreteFunction(
            function.name, graph, leaves, placeholders, structure, function.parameters
        )


def require_kept(function, before: list, arguments: tuple) -> None:
    """ValueError: a function has changed a list or dict that it was handed. A call hands over
    tensors, so that nobody would see the change. `before`: the leaves, with their paths."""
    now = nest.flatten_with_paths(arguments, expand_composites=True)
    if len(now) == len(before) and all(
        path == old_path and leaf is old
        for (path, leaf), (old_path, old) in zip(now, before, strict=True)
    ):
        return
    raise ValueError(
        f"{function.name} should not modify its arguments: a call does not hand such a change "
        "back. Copy a list or dict before it is changed, and return it"
    )


def _require_names(name: str, kwargs: dict) -> None:
    """ValueError: two keyword arguments would be inputs of one name."""
    seen: dict = {}
    for key in kwargs:
        other = seen.setdefault(_identifier(key), key)
        if other != key:
            raise ValueError(
                f"the arguments {other!r} and {key!r} of {name} would both be inputs of the name "
                f"'{_identifier(key)}': rename one of them"
            )


def _identifier(name):
    cleaned = "".join(c if c.isalnum() or c == "_" else "_" for c in name)
    return cleaned.strip("_") or "x"


def converted(fn, autograph):
    """What is traced: the converted function, or the function itself."""
    if not autograph:
        return fn
    # a partial, an object with __call__, a built-in function
    if not isinstance(fn, types.FunctionType):
        return lambda *args, **kwargs: conversion.converted_call(fn, args, kwargs)
    return conversion.convert_or_none(fn) or fn

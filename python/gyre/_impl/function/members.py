"""What a Function says of how it was made, and copies of it, under TensorFlow's names."""

from __future__ import annotations

from typing import Any

from gyre import _gyre

_JIT_COMPILE = {"auto": None, "always": True, "contract": True, "never": False}


class FunctionMembers(_gyre.QuietCallable):
    """Members of a Function that only look at it, or make another one of it."""

    name: str
    python_function: Any
    autograph: bool
    reduce_retracing: bool | None
    compile: str
    memory: str | None
    _options: dict

    _name = property(lambda self: self.name, doc="Of its graphs.")
    _python_function = property(lambda self: self.python_function, doc="What it was made of.")
    _autograph = property(lambda self: self.autograph, doc="Whether control flow is converted.")
    _reduce_retracing = property(
        lambda self: self.reduce_retracing, doc="Whether sizes that differ are left open."
    )
    _jit_compile = property(
        lambda self: _JIT_COMPILE[self.compile], doc="Whether loops become native code."
    )
    _experimental_autograph_options = property(
        lambda self: self._options.get("autograph_options"), doc="As they were given."
    )

    @property
    def _attributes(self) -> dict:
        """Of its graphs, for other programs: which interface it implements."""
        implements = self._options.get("implements")
        notes = {} if implements is None else {"api_implements": implements}
        return {**notes, **(self._options.get("attributes") or {})}

    def _arguments(self) -> tuple:
        """What makes such a Function of a Python function."""
        return (
            self.name,
            self.input_signature,  # pyright: ignore[reportAttributeAccessIssue]
            self.autograph,
            self.reduce_retracing,
            self.memory,
            self.compile,
            self._options,
        )

    def _clone(self, python_function) -> Any:
        """A Function of other Python code with all else of this one, but not its traces."""
        return _made(type(self), python_function, self._arguments())

    def _decorate(self, decorator) -> None:
        """Replaces its Python function by decorator(of it). ValueError once it is traced."""
        if self.latest is not None:  # pyright: ignore[reportAttributeAccessIssue]
            raise ValueError("Functions cannot be decorated after they have been traced.")
        self.python_function = decorator(self.python_function)
        for made in ("_python", "parameters"):
            self.__dict__.pop(made, None)

    def _list_all_concrete_functions(self) -> list:
        """Its traces."""
        traces: dict = self._traces  # pyright: ignore[reportAttributeAccessIssue]
        return [trace.concrete for group in traces.values() for trace in group]

    def _list_all_concrete_functions_for_serialization(self) -> list:
        """Its traces."""
        return self._list_all_concrete_functions()

    def __reduce__(self):
        return _made, (type(self), self.python_function, self._arguments())


def _made(kind: type, python_function, arguments: tuple) -> Any:
    name, signature, autograph, reduce_retracing, memory, compile, options = arguments
    return kind(
        python_function,
        name,
        signature,
        autograph,
        reduce_retracing,
        memory,
        compile,
        options=options,
    )

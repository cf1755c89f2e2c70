"""gyre.function as editors and type checkers see it: what a decorated function takes and returns.

Stands in the place of gyre/_impl/function/function.py in the package of stubs
(python/tools/make_stubs.py), so that its types cost programs nothing."""

from collections.abc import Callable
from typing import (
    Any,
    Concatenate,
    Generic,
    ParamSpec,
    Protocol,
    Self,
    TypedDict,
    TypeVar,
    Unpack,
    overload,
)

from gyre._gyre import Tensor
from gyre._impl.function.concrete import ConcreteFunction

_P = ParamSpec("_P")
_Q = ParamSpec("_Q")
_R = TypeVar("_R")
_T = TypeVar("_T")

class _Fields(Protocol):
    """A named tuple, which functions return as they get it."""

    def _asdict(self) -> dict[str, Any]: ...

_N = TypeVar("_N", bound=_Fields)

# Numbers that a function returns are tensors once it runs as a graph.
_Number = complex | Tensor

class Function(Generic[_P, _R]):
    """What `gyre.function` makes. Call it like the Python function.

    python_function: what it was made of.  name: of its graphs."""

    name: str
    __name__: str
    __wrapped__: Callable[_P, _R]
    python_function: Callable[_P, _R]
    input_signature: tuple[Any, ...] | None
    autograph: bool
    reduce_retracing: bool
    memory: str | None
    def __init__(self, python_function: Callable[_P, Any], *args: Any, **kwargs: Any) -> None: ...
    def __call__(self, *args: _P.args, **kwargs: _P.kwargs) -> _R: ...
    @overload
    def __get__(self, instance: None, owner: Any = None) -> Self: ...
    @overload
    def __get__(
        self: Function[Concatenate[Any, _Q], _T], instance: object, owner: Any = None
    ) -> Function[_Q, _T]: ...
    def get_concrete_function(self, *args: Any, **kwargs: Any) -> ConcreteFunction:
        """The trace for these arguments: tensors, TensorSpecs for tensors, or what else calls take.
        With an input_signature no arguments are needed."""

    def experimental_get_tracing_count(self) -> int:
        """How many traces there are."""

    def pretty_printed_concrete_signatures(self, verbose: bool = True) -> str:
        """The signatures that were traced, a line each."""

    @property
    def latest(self) -> ConcreteFunction | None:
        """The newest concrete function; None if it was never traced."""

    def traced(self, args: Any, kwargs: Any) -> tuple[ConcreteFunction, list[Tensor]]:
        """(concrete function, the tensors to run it with) of a call with these arguments."""

Method = Function

class _Options(TypedDict, total=False):
    input_signature: Any
    autograph: bool
    reduce_retracing: bool
    name: str | None
    memory: str | None
    jit_compile: bool | None
    contract: bool
    experimental_implements: Any
    experimental_autograph_options: Any
    experimental_attributes: Any
    experimental_relax_shapes: bool | None

class _Decorator(Protocol):
    @overload
    def __call__(self, func: Callable[_P, _N]) -> Function[_P, _N]: ...
    @overload
    def __call__(self, func: Callable[_P, _Number]) -> Function[_P, Tensor]: ...
    @overload
    def __call__(
        self, func: Callable[_P, tuple[_Number, _Number]]
    ) -> Function[_P, tuple[Tensor, Tensor]]: ...
    @overload
    def __call__(
        self, func: Callable[_P, tuple[_Number, _Number, _Number]]
    ) -> Function[_P, tuple[Tensor, Tensor, Tensor]]: ...
    @overload
    def __call__(self, func: Callable[_P, _R]) -> Function[_P, _R]: ...

@overload
def function(func: Callable[_P, _N], **options: Unpack[_Options]) -> Function[_P, _N]: ...
@overload
def function(func: Callable[_P, _Number], **options: Unpack[_Options]) -> Function[_P, Tensor]: ...
@overload
def function(
    func: Callable[_P, tuple[_Number, _Number]], **options: Unpack[_Options]
) -> Function[_P, tuple[Tensor, Tensor]]: ...
@overload
def function(
    func: Callable[_P, tuple[_Number, _Number, _Number]], **options: Unpack[_Options]
) -> Function[_P, tuple[Tensor, Tensor, Tensor]]: ...
@overload
def function(func: Callable[_P, _R], **options: Unpack[_Options]) -> Function[_P, _R]: ...
@overload
def function(
    func: None = None,
    input_signature: Any = None,
    autograph: bool = True,
    reduce_retracing: bool = True,
    name: str | None = None,
    memory: str | None = None,
    jit_compile: bool | None = None,
    contract: bool = False,
    experimental_implements: Any = None,
    experimental_autograph_options: Any = None,
    experimental_attributes: Any = None,
    experimental_relax_shapes: bool | None = None,
) -> _Decorator:
    """Makes a Python function run as a graph: traced when it is first called with arguments of a
    new kind, run without Python from then on. See gyre._impl.function.function."""
